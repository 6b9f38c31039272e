
/* Tiles, as bytes for assemblers that do not know them: from and to rax, rows of rcx bytes apart. Tiles 0 to 3 are sums, 4
 * and 5 elements and weights, 6 and 7 those at the end of a row of elements. */
#define UPPER_TILE_SHAPES(from) __asm__ volatile(".byte 0xc4, 0xe2, 0x78, 0x49, 0x00" : : "a"(from) : "memory")
#define UPPER_TILE_END() __asm__ volatile(".byte 0xc4, 0xe2, 0x78, 0x49, 0xc0")
#define UPPER_TILE_ZERO(tile) __asm__ volatile(".byte 0xc4, 0xe2, 0x7b, 0x49, %c0" : : "i"(0xc0 + 8 * (tile)))
#define UPPER_TILE_LOAD(tile, from, step) \
    __asm__ volatile(".byte 0xc4, 0xe2, 0x7b, 0x4b, %c0, 0x08" \
        : \
        : "i"(0x04 + 8 * (tile)), "a"(from), "c"(step) \
        : "memory")
#define UPPER_TILE_STORE(tile, to, step) \
    __asm__ volatile(".byte 0xc4, 0xe2, 0x7a, 0x4b, %c0, 0x08" \
        : \
        : "i"(0x04 + 8 * (tile)), "a"(to), "c"(step) \
        : "memory")
/* Adds the products of bytes with a sign. */
#define UPPER_TILE_DOT(sums, elements, weights) \
    __asm__ volatile(".byte 0xc4, 0xe2, %c0, 0x5e, %c1" \
        : \
        : "i"(0x03 + 8 * (15 - (weights))), "i"(0xc0 + 8 * (sums) + (elements)))
/* The same of up to four tiles of weights beside each other. */
#define UPPER_TILE_DOTS(elements, weights, from, step, count) \
    do { \
        UPPER_TILE_LOAD(weights, from, step); \
        UPPER_TILE_DOT(0, elements, weights); \
        if ((count) > 1) { \
            UPPER_TILE_LOAD(weights, (from) + 16, step); \
            UPPER_TILE_DOT(1, elements, weights); \
        } \
        if ((count) > 2) { \
            UPPER_TILE_LOAD(weights, (from) + 32, step); \
            UPPER_TILE_DOT(2, elements, weights); \
        } \
        if ((count) > 3) { \
            UPPER_TILE_LOAD(weights, (from) + 48, step); \
            UPPER_TILE_DOT(3, elements, weights); \
        } \
    } while (0)

/* Whether Linux lets the program use them: from then on it saves them with the registers of the program's threads. */
static int PREFIX_tiles_allowed(void) {
    /* arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) */
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "0"(158L), "D"(0x1023L), "S"(18L) : "rcx", "r11", "memory");
    return result == 0;
}

/* Sums of products of bytes, four in the bits of each float: to[row * pitch + panel * columns + column] is that of
 * elements[row * words + k] and weights[panel * stride + k * columns + column] for all k. There are up to 16 rows. All
 * tiles of 16 columns come first, then those of the columns that are left, which have other shapes. */
static __attribute__((noinline, unused)) UPPER_AMX void PREFIX_tiles_of_amx(
    const float *elements,
    const float *weights,
    float *to,
    size_t rows,
    size_t words,
    size_t columns,
    size_t panels,
    size_t stride,
    size_t pitch
) {
    const size_t rest = words % 16, end = words - rest, narrow = columns % 16, wide = columns - narrow;
    const size_t of_words = words * sizeof(float), of_columns = columns * sizeof(float), of_sums = pitch * sizeof(float);
    struct {
        uint8_t palette, start, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } shapes = {1, 0, {0}, {0}, {0}};
    for (size_t i = 0; i < 5; i++) {
        shapes.rows[i] = (uint8_t)rows;
    }
    shapes.rows[5] = 16;
    shapes.bytes[4] = 64;
    shapes.rows[6] = (uint8_t)(rest > 0 ? rows : 0);
    shapes.bytes[6] = (uint16_t)(4 * rest);
    shapes.rows[7] = (uint8_t)rest;
    for (size_t part = wide > 0 ? 0 : 1; part < (narrow > 0 ? 2 : 1); part++) {
        const size_t first = part == 0 ? 0 : wide, beyond = part == 0 ? wide : columns;
        const uint16_t bytes = (uint16_t)(4 * (part == 0 ? 16 : narrow));
        for (size_t i = 0; i < 4; i++) {
            shapes.bytes[i] = bytes;
        }
        shapes.bytes[5] = bytes;
        shapes.bytes[7] = rest > 0 ? bytes : 0;
        UPPER_TILE_SHAPES(&shapes);
        for (size_t panel = 0; panel < panels; panel++) {
            for (size_t at = first; at < beyond; at += 64) {
                const size_t count = (beyond - at + 15) / 16;
                const float *from = weights + panel * stride + at;
                float *sums = to + panel * columns + at;
                UPPER_TILE_ZERO(0);
                UPPER_TILE_ZERO(1);
                UPPER_TILE_ZERO(2);
                UPPER_TILE_ZERO(3);
                for (size_t k = 0; k < end; k += 16) {
                    UPPER_TILE_LOAD(4, elements + k, of_words);
                    UPPER_TILE_DOTS(4, 5, from, of_columns, count);
                    from += 16 * columns;
                }
                if (rest > 0) {
                    UPPER_TILE_LOAD(6, elements + end, of_words);
                    UPPER_TILE_DOTS(6, 7, from, of_columns, count);
                }
                UPPER_TILE_STORE(0, sums, of_sums);
                if (count > 1) {
                    UPPER_TILE_STORE(1, sums + 16, of_sums);
                }
                if (count > 2) {
                    UPPER_TILE_STORE(2, sums + 32, of_sums);
                }
                if (count > 3) {
                    UPPER_TILE_STORE(3, sums + 48, of_sums);
                }
            }
        }
    }
    UPPER_TILE_END();
}
