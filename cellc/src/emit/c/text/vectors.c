//: type
typedef float FLOAT __attribute__((vector_size(BYTES)));
typedef uint32_t BITS __attribute__((vector_size(BYTES)));
typedef FLOAT FLOAT_in_memory __attribute__((aligned(4), may_alias));
//: copy_floats
//* extensions and calls of memcpy
/* Copies floats by a call of memcpy: a rep movsq of gcc takes up to three times as long. */
UPPER_INLINE void NAME(float *to, const float *from, size_t count) {
#if defined(__x86_64__) && !defined(__clang__) && !defined(__OPTIMIZE_SIZE__) && !defined(__CPROVER__)
    __asm__("" : "+r"(count));
#endif
    __builtin_memcpy(to, from, count * sizeof(float));
}
//.
//* extensions and no calls of memcpy
/* Copies floats. */
UPPER_INLINE void NAME(float *to, const float *from, size_t count) {
    __builtin_memcpy(to, from, count * sizeof(float));
}
//.
//* no extensions
/* Copies floats. */
static void NAME(float *to, const float *from, size_t count) {
    for (size_t i = 0; i < count; i++) {
        to[i] = from[i];
    }
}
//.
//: zero_floats
/* Makes floats zero. */
static void NAME(float *to, size_t count) {
    for (size_t i = 0; i < count; i++) {
        to[i] = 0.0f;
    }
}
//: load

UPPER_INLINE FLOAT NAME(const float *from) {
    return *(const FLOAT_in_memory *)from;
}
//: store

UPPER_INLINE void NAME(float *to, FLOAT lanes) {
    *(FLOAT_in_memory *)to = lanes;
}
//: splat

UPPER_INLINE FLOAT NAME(float x) {
    return (FLOAT){EACH};
}
//: below

/* Whether a < b. */
UPPER_INLINE int NAME(float a, float b) {
    const union {
        float value;
        uint32_t bits;
    } x = {a}, y = {b};
    if ((x.bits << 1) > 0xff000000u || (y.bits << 1) > 0xff000000u || ((x.bits | y.bits) << 1) == 0u) {
        return 0;
    }
    const int32_t first = (int32_t)(x.bits >> 31 ? x.bits ^ 0x7fffffffu : x.bits);
    const int32_t second = (int32_t)(y.bits >> 31 ? y.bits ^ 0x7fffffffu : y.bits);
    return first < second;
}
//: max in software

/* The greater one; b if either is NaN. */
UPPER_INLINE float NAME(float a, float b) {
    return PREFIX_below(b, a) ? a : b;
}
//: max of one

/* The greater one; b if either is NaN. */
UPPER_INLINE float NAME(float a, float b) {
    return a > b ? a : b;
}
//: max

/* The greater one; b if either is NaN. */
UPPER_INLINE FLOAT NAME(FLOAT a, FLOAT b) {
    const BITS a_is = (BITS)(a > b);
    return (FLOAT)((a_is & (BITS)a) | (~a_is & (BITS)b));
}
//: min in software

/* The smaller one; b if either is NaN. */
UPPER_INLINE float NAME(float a, float b) {
    return PREFIX_below(a, b) ? a : b;
}
//: min of one

/* The smaller one; b if either is NaN. */
UPPER_INLINE float NAME(float a, float b) {
    return a < b ? a : b;
}
//: min

/* The smaller one; b if either is NaN. */
UPPER_INLINE FLOAT NAME(FLOAT a, FLOAT b) {
    const BITS a_is = (BITS)(a < b);
    return (FLOAT)((a_is & (BITS)a) | (~a_is & (BITS)b));
}
//: max_magnitude of one

/* |a| or b, whose bits are the greater number: NaN is greater than infinity. */
UPPER_INLINE float NAME(float a, float b) {
    union {
        float value;
        uint32_t bits;
    } first = {a}, second = {b};
    first.bits &= 0x7fffffffu;
    return first.bits > second.bits ? first.value : b;
}
//: max_magnitude

/* |a| or b, whose bits are the greater number: NaN is greater than infinity. */
UPPER_INLINE FLOAT NAME(FLOAT a, FLOAT b) {
    typedef int32_t integers __attribute__((vector_size(BYTES)));
    const BITS magnitude = (BITS)a & 0x7fffffffu, is_greater = (BITS)((integers)magnitude > (integers)b);
    return (FLOAT)((is_greater & magnitude) | (~is_greater & (BITS)b));
}
//: select_less in software

/* c if a < b, else d. */
UPPER_INLINE float NAME(float a, float b, float c, float d) {
    return PREFIX_below(a, b) ? c : d;
}
//: select_less of one

/* c if a < b, else d. */
UPPER_INLINE float NAME(float a, float b, float c, float d) {
    return a < b ? c : d;
}
//: select_less

/* c if a < b, else d. */
UPPER_INLINE FLOAT NAME(FLOAT a, FLOAT b, FLOAT c, FLOAT d) {
    const BITS less = (BITS)(a < b);
    return (FLOAT)((less & (BITS)c) | (~less & (BITS)d));
}
//: to_bits

UPPER_INLINE uint32_t NAME(float a) {
    return (union { float f; uint32_t u; }){a}.u;
}
//: from_bits

UPPER_INLINE float NAME(uint32_t a) {
    return (union { uint32_t u; float f; }){a}.f;
}
//: low_bytes
/* Words of the low bytes of four neighbours each. */
UPPER_INLINE void NAME(float *to, const float *from, size_t words) {
#if defined(__SSE2__)
    const size_t fours = words / 4;
    const __m128i low = _mm_set1_epi32(255);
    for (size_t i = 0; i < fours; i++) {
        const float *four = from + 16 * i;
        const __m128i a = _mm_and_si128(_mm_castps_si128(_mm_loadu_ps(four)), low);
        const __m128i b = _mm_and_si128(_mm_castps_si128(_mm_loadu_ps(four + 4)), low);
        const __m128i c = _mm_and_si128(_mm_castps_si128(_mm_loadu_ps(four + 8)), low);
        const __m128i d = _mm_and_si128(_mm_castps_si128(_mm_loadu_ps(four + 12)), low);
        const __m128i bytes = _mm_packus_epi16(_mm_packs_epi32(a, b), _mm_packs_epi32(c, d));
        _mm_storeu_ps(to + 4 * i, _mm_castsi128_ps(bytes));
    }
#else
    const size_t fours = 0;
#endif
    for (size_t i = 4 * fours; i < words; i++) {
        const float *four = from + 4 * i;
        to[i] = PREFIX_from_bits(
            (PREFIX_to_bits(four[0]) & 255u) | (PREFIX_to_bits(four[1]) & 255u) << 8 |
            (PREFIX_to_bits(four[2]) & 255u) << 16 | (PREFIX_to_bits(four[3]) & 255u) << 24
        );
    }
}
//: from_signed of one

/* The number in two's complement, rounded. */
UPPER_INLINE float NAME(uint32_t bits) {
#ifdef __GNUC__
    return (float)(int32_t)bits;
#else
    return bits >> 31 ? -(float)(0u - bits) : (float)bits;
#endif
}
//: from_signed

/* The numbers in two's complement, rounded. */
UPPER_INLINE FLOAT NAME(BITS bits) {
    return (FLOAT){EACH};
}
//: sums

/* Sums of products of pairs of 16 bits, LANES lanes when their halves are added. */
typedef struct {
    SUMS
} NAME;
//: dot_pairs of one

/* Adds the products of the halves of a with those of b: 16 bits each, with a sign. */
UPPER_INLINE uint32_t NAME(uint32_t a, uint32_t b, uint32_t sum) {
//* extensions
#if defined(__ARM_FEATURE_SIMD32) && defined(__GNUC__)
    return (uint32_t)__builtin_arm_smlad((int)a, (int)b, (int)sum);
#else
//.
    const int32_t low = (int32_t)(int16_t)(uint16_t)a * (int16_t)(uint16_t)b;
    const int32_t high = (int32_t)(int16_t)(uint16_t)(a >> 16) * (int16_t)(uint16_t)(b >> 16);
    return sum + (uint32_t)low + (uint32_t)high;
//* extensions
#endif
//.
}
//: dot_pairs of four

/* Adds the products of the halves of a with those of b: 16 bits each, with a sign. */
UPPER_INLINE BITS NAME(BITS a, BITS b, BITS sum) {
#if defined(__SSE2__)
    typedef short halves __attribute__((vector_size(16)));
    return (BITS)__builtin_ia32_pmaddwd128((halves)a, (halves)b) + sum;
#elif defined(__wasm_simd128__)
    typedef short halves __attribute__((vector_size(16)));
    return (BITS)__builtin_wasm_dot_s_i32x4_i16x8((halves)a, (halves)b) + sum;
//* sharing
#elif IS_SHARING
    return (BITS)DOT_PAIRS;
//.
#else
    const BITS low = (((a & 0xffffu) ^ 0x8000u) - 0x8000u) * (((b & 0xffffu) ^ 0x8000u) - 0x8000u);
    const BITS high = (((a >> 16) ^ 0x8000u) - 0x8000u) * (((b >> 16) ^ 0x8000u) - 0x8000u);
    return sum + low + high;
#endif
}
//: dot_pairs

/* Adds the products of the halves of a with those of b: 16 bits each, with a sign. */
UPPER_INLINE BITS NAME(BITS a, BITS b, BITS sum) {
    const BITS low = (((a & 0xffffu) ^ 0x8000u) - 0x8000u) * (((b & 0xffffu) ^ 0x8000u) - 0x8000u);
    const BITS high = (((a >> 16) ^ 0x8000u) - 0x8000u) * (((b >> 16) ^ 0x8000u) - 0x8000u);
    return sum + low + high;
}
//: dot_quads of one

/* Adds the products of the bytes of a with those of b, each with a sign. */
UPPER_INLINE uint32_t NAME(uint32_t a, uint32_t b, uint32_t sum) {
//* extensions
#if defined(__ARM_FEATURE_SIMD32) && defined(__GNUC__)
    uint32_t even, odd, other_even, other_odd;
    __asm__("sxtb16 %0, %1" : "=r"(even) : "r"(a));
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(odd) : "r"(a));
    __asm__("sxtb16 %0, %1" : "=r"(other_even) : "r"(b));
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(other_odd) : "r"(b));
    sum = (uint32_t)__builtin_arm_smlad((int)even, (int)other_even, (int)sum);
    return (uint32_t)__builtin_arm_smlad((int)odd, (int)other_odd, (int)sum);
#else
//.
    sum += (uint32_t)((int32_t)(int8_t)(uint8_t)a * (int8_t)(uint8_t)b);
    sum += (uint32_t)((int32_t)(int8_t)(uint8_t)(a >> 8) * (int8_t)(uint8_t)(b >> 8));
    sum += (uint32_t)((int32_t)(int8_t)(uint8_t)(a >> 16) * (int8_t)(uint8_t)(b >> 16));
    sum += (uint32_t)((int32_t)(int8_t)(uint8_t)(a >> 24) * (int8_t)(uint8_t)(b >> 24));
    return sum;
//* extensions
#endif
//.
}
//: dot_quads of four

/* Adds the products of the bytes of a with those of b, each with a sign. */
UPPER_INLINE BITS NAME(BITS a, BITS b, BITS sum) {
#if defined(__SSE2__) || defined(__wasm_simd128__)
    typedef int16_t halves __attribute__((vector_size(16)));
    typedef uint16_t unsigned_halves __attribute__((vector_size(16)));
    const halves even = (halves)((unsigned_halves)a << 8) >> 8, other_even = (halves)((unsigned_halves)b << 8) >> 8;
    const halves odd = (halves)a >> 8, other_odd = (halves)b >> 8;
#ifdef __SSE2__
    return sum + (BITS)__builtin_ia32_pmaddwd128(even, other_even) + (BITS)__builtin_ia32_pmaddwd128(odd, other_odd);
#else
    return sum + (BITS)__builtin_wasm_dot_s_i32x4_i16x8(even, other_even) +
           (BITS)__builtin_wasm_dot_s_i32x4_i16x8(odd, other_odd);
#endif
//* sharing
#elif IS_SHARING
    return (BITS)DOT_QUADS;
//.
#else
    sum += (((a & 0xffu) ^ 0x80u) - 0x80u) * (((b & 0xffu) ^ 0x80u) - 0x80u);
    sum += ((((a >> 8) & 0xffu) ^ 0x80u) - 0x80u) * ((((b >> 8) & 0xffu) ^ 0x80u) - 0x80u);
    sum += ((((a >> 16) & 0xffu) ^ 0x80u) - 0x80u) * ((((b >> 16) & 0xffu) ^ 0x80u) - 0x80u);
    sum += ((((a >> 24) & 0xffu) ^ 0x80u) - 0x80u) * ((((b >> 24) & 0xffu) ^ 0x80u) - 0x80u);
    return sum;
#endif
}
//: dot_quads

/* Adds the products of the bytes of a with those of b, each with a sign. */
UPPER_INLINE BITS NAME(BITS a, BITS b, BITS sum) {
    sum += (((a & 0xffu) ^ 0x80u) - 0x80u) * (((b & 0xffu) ^ 0x80u) - 0x80u);
    sum += ((((a >> 8) & 0xffu) ^ 0x80u) - 0x80u) * ((((b >> 8) & 0xffu) ^ 0x80u) - 0x80u);
    sum += ((((a >> 16) & 0xffu) ^ 0x80u) - 0x80u) * ((((b >> 16) & 0xffu) ^ 0x80u) - 0x80u);
    sum += ((((a >> 24) & 0xffu) ^ 0x80u) - 0x80u) * ((((b >> 24) & 0xffu) ^ 0x80u) - 0x80u);
    return sum;
}
//: dot_unsigned_quads of one

/* Adds the products of the bytes of a, with a sign, with those of b, without one. */
UPPER_INLINE uint32_t NAME(uint32_t a, uint32_t b, uint32_t sum) {
    sum += (uint32_t)((int32_t)(int8_t)(uint8_t)a * (uint8_t)b);
    sum += (uint32_t)((int32_t)(int8_t)(uint8_t)(a >> 8) * (uint8_t)(b >> 8));
    sum += (uint32_t)((int32_t)(int8_t)(uint8_t)(a >> 16) * (uint8_t)(b >> 16));
    sum += (uint32_t)((int32_t)(int8_t)(uint8_t)(a >> 24) * (uint8_t)(b >> 24));
    return sum;
}
//: dot_unsigned_quads

/* Adds the products of the bytes of a, with a sign, with those of b, without one. */
UPPER_INLINE BITS NAME(BITS a, BITS b, BITS sum) {
    sum += (((a & 0xffu) ^ 0x80u) - 0x80u) * (b & 0xffu);
    sum += ((((a >> 8) & 0xffu) ^ 0x80u) - 0x80u) * ((b >> 8) & 0xffu);
    sum += ((((a >> 16) & 0xffu) ^ 0x80u) - 0x80u) * ((b >> 16) & 0xffu);
    sum += ((((a >> 24) & 0xffu) ^ 0x80u) - 0x80u) * ((b >> 24) & 0xffu);
    return sum;
}
//: dot_even_bytes
/* Adds the products of the bytes 0 and 2 of a with the halves of b, each with a sign. */
UPPER_INLINE BITS NAME(BITS a, BITS b, BITS sum) {
//* extensions
#if defined(__ARM_FEATURE_SIMD32) && defined(__GNUC__)
    uint32_t even;
    __asm__("sxtb16 %0, %1" : "=r"(even) : "r"(a));
    return (uint32_t)__builtin_arm_smlad((int)even, (int)b, (int)sum);
#else
//.
    sum += (uint32_t)((int32_t)(int8_t)(uint8_t)a * (int16_t)(uint16_t)b);
    return sum + (uint32_t)((int32_t)(int8_t)(uint8_t)(a >> 16) * (int16_t)(uint16_t)(b >> 16));
//* extensions
#endif
//.
}
//: dot_odd_bytes
/* Adds the products of the bytes 1 and 3 of a with the halves of b, each with a sign. */
UPPER_INLINE BITS NAME(BITS a, BITS b, BITS sum) {
//* extensions
#if defined(__ARM_FEATURE_SIMD32) && defined(__GNUC__)
    uint32_t odd;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(odd) : "r"(a));
    return (uint32_t)__builtin_arm_smlad((int)odd, (int)b, (int)sum);
#else
//.
    sum += (uint32_t)((int32_t)(int8_t)(uint8_t)(a >> 8) * (int16_t)(uint16_t)b);
    return sum + (uint32_t)((int32_t)(int8_t)(uint8_t)(a >> 24) * (int16_t)(uint16_t)(b >> 16));
//* extensions
#endif
//.
}
//: load_f16_ of one

/* Values of IEEE 754 binary16. Normal numbers: the exponent is moved. Denormals, multiples of 2^-24: by a subtraction, which
 * gives more than the value for a normal number. */
UPPER_INLINE float NAME(const uint16_t *from) {
    const uint32_t half = *from;
    const uint32_t magnitude = (half & 0x7fffu) << 13;
    const float small = PREFIX_from_bits(magnitude + 0x38800000u) - 0x1p-14f;
    const float value = PREFIX_min1(small, PREFIX_from_bits(magnitude + 0x38000000u));
    return PREFIX_from_bits(PREFIX_to_bits(value) | (half & 0x8000u) << 16);
}
//: load_f16_

/* Values of IEEE 754 binary16. Normal numbers: the exponent is moved. Denormals, multiples of 2^-24: by a subtraction, which
 * gives more than the value for a normal number. */
UPPER_INLINE FLOAT NAME(const uint16_t *from) {
//* sharing
#if IS_SHARING
    return LOAD_HALVES;
#else
//.
    const BITS half = {EACH};
    const BITS magnitude = (half & 0x7fffu) << 13;
    const FLOAT small = (FLOAT)(magnitude + 0x38800000u) - 0x1p-14f;
    const FLOAT value = PREFIX_minLANES(small, (FLOAT)(magnitude + 0x38000000u));
    return (FLOAT)((BITS)value | (half & 0x8000u) << 16);
//* sharing
#endif
//.
}
//: load_i8_ of one

UPPER_INLINE float NAME(const int8_t *from) {
    return EACH;
}
//: load_i8_ of four

UPPER_INLINE FLOAT NAME(const int8_t *from) {
//* sharing
#if IS_SHARING
    uint32_t word;
    __builtin_memcpy(&word, from, sizeof word);
    return LOAD_BYTES;
#else
//.
#if FOUR_LANES
    typedef int32_t integers __attribute__((vector_size(16)));
    const uint32_t word = (uint32_t)(uint8_t)from[0] | (uint32_t)(uint8_t)from[1] << 8 |
                          (uint32_t)(uint8_t)from[2] << 16 | (uint32_t)(uint8_t)from[3] << 24;
    const BITS all = {word, word, word, word}, signs = {0x80u, 0x8000u, 0x800000u, 0u};
    const BITS own = {0xffu, 0xff00u, 0xff0000u, 0xff000000u};
    const FLOAT unit = {1.0f, 0x1p-8f, 0x1p-16f, 0x1p-24f}, least = {128.0f, 128.0f, 128.0f, 0.0f};
    return __builtin_convertvector((integers)((all ^ signs) & own), FLOAT) * unit - least;
#else
    return (FLOAT){(float)from[0], (float)from[1], (float)from[2], (float)from[3]};
#endif
//* sharing
#endif
//.
}
//: load_i8_

UPPER_INLINE FLOAT NAME(const int8_t *from) {
    return (FLOAT){EACH};
}
//: load_i8_pairs_ of one

/* Two weights of 8 bits in the halves of the bits. */
UPPER_INLINE float NAME(const uint16_t *from) {
    const uint32_t low = (uint32_t)(int8_t)(uint8_t)*from, high = (uint32_t)(int8_t)(uint8_t)(*from >> 8);
    return PREFIX_from_bits((low & 0xffffu) | high << 16);
}
//: load_i8_pairs_ of four

/* Two weights of 8 bits in the halves of the bits of each lane. */
UPPER_INLINE FLOAT NAME(const uint16_t *from) {
#if defined(__SSE2__) && (defined(__clang__) || __GNUC__ >= 12)
    typedef int8_t bytes __attribute__((vector_size(16)));
    typedef int16_t halves __attribute__((vector_size(16)));
    typedef uint64_t words __attribute__((vector_size(16)));
    uint64_t word;
    __builtin_memcpy(&word, from, 8);
    const bytes all = (bytes)(words){word, 0};
    return (FLOAT)((halves)__builtin_shufflevector(all, all, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7) >> 8);
//* sharing
#elif IS_SHARING
    return (FLOAT)LOAD_PAIRS;
//.
#elif defined(__clang__)
    typedef int8_t bytes __attribute__((vector_size(8)));
    typedef int16_t halves __attribute__((vector_size(16)));
    bytes all;
    __builtin_memcpy(&all, from, 8);
    return (FLOAT)__builtin_convertvector(all, halves);
#else
    const BITS pair = {EACH};
    const BITS low = ((pair & 0xffu) ^ 0x80u) - 0x80u, high = ((pair >> 8) ^ 0x80u) - 0x80u;
    return (FLOAT)((low & 0xffffu) | high << 16);
#endif
}
//: load_i8_pairs_

/* Two weights of 8 bits in the halves of the bits of each lane. */
UPPER_INLINE FLOAT NAME(const uint16_t *from) {
    const BITS pair = {EACH};
    const BITS low = ((pair & 0xffu) ^ 0x80u) - 0x80u, high = ((pair >> 8) ^ 0x80u) - 0x80u;
    return (FLOAT)((low & 0xffffu) | high << 16);
}
//: row

/* What a row of weights becomes: whole numbers up to a range, and what these are multiplied by, which is NaN where a weight is not finite. */
struct NAME {
    float scale, range;
};

/* A number rounded to a whole one, half to even. Above 2^22 it may be another large one. */
static float PREFIX_whole_number(float value) {
    return (value + 12582912.0f) - 12582912.0f;
}

static float PREFIX_magnitude(float value) {
    return value < 0.0f ? -value : value;
}

/* The whole number that a weight becomes. */
static int32_t PREFIX_whole_of(struct NAME row, float weight) {
    if (row.scale > 0.0f) {
        const float whole = PREFIX_whole_number(weight / row.scale);
        return (int32_t)(whole > row.range ? row.range : whole < -row.range ? -row.range : whole);
    }
    return 0;
}

/* The largest magnitude of a row; NaN where a weight is not finite. */
static float PREFIX_largest_of(const float *from, size_t stride, size_t count) {
    float largest = 0.0f;
    for (size_t k = 0; k < count; k++) {
        const float magnitude = PREFIX_magnitude(from[k * stride]);
        if (magnitude > largest) {
            largest = magnitude;
        }
        /* the product is NaN where one is not finite */
        largest += magnitude * 0.0f;
    }
    return largest;
}

/* Whether all weights are a scale times whole numbers up to a range, but for the slack. */
static int PREFIX_is_own_scale(const float *from, size_t stride, size_t count, float scale, int range, float slack) {
    for (size_t k = 0; k < count; k++) {
        const float weight = from[k * stride], times = PREFIX_whole_number(weight / scale);
        const float product = times * scale;
        if (!(PREFIX_magnitude(product - weight) <= slack && PREFIX_magnitude(times) <= (float)range)) {
            return 0;
        }
    }
    return 1;
}

/* The scale of which all weights of a row are multiples, by whole numbers up to a range: 1 for whole numbers, else the largest such
 * scale; multiples may be off by 2^-21 of the largest weight, as models compute them in float. 0 if there is none. */
static float PREFIX_own_scale_of(const float *from, size_t stride, size_t count, float largest, int range) {
    if (!(largest > 0.0f)) {
        return 0.0f;
    }
    if (PREFIX_is_own_scale(from, stride, count, 1.0f, range, 0.0f)) {
        return 1.0f;
    }
    /* the largest weight is a multiple too */
    for (int times = 1; times <= range; times++) {
        const uint32_t share = PREFIX_to_bits(largest / (float)times);
        const uint32_t all[3] = {share, share + 1, share - 1};
        for (int i = 0; i < 3; i++) {
            const float scale = PREFIX_from_bits(all[i]);
            if (PREFIX_is_own_scale(from, stride, count, scale, range, 0.0f)) {
                return scale;
            }
        }
    }
    for (int times = 1; times <= range; times++) {
        const float share = largest / (float)times;
        if (PREFIX_is_own_scale(from, stride, count, share, range, largest / 2097152.0f)) {
            return share;
        }
    }
    return 0.0f;
}
//: row_of_bytes

/* What a row becomes in 8 bits: the largest weight is 127, unless the row has a scale already. */
static struct PREFIX_row NAME(const float *from, size_t stride, size_t count) {
    const float largest = PREFIX_largest_of(from, stride, count);
    const float own = PREFIX_own_scale_of(from, stride, count, largest, 127);
    const struct PREFIX_row row = {own > 0.0f ? own : largest / 127.0f, 127.0f};
    return row;
}
//: row_of_pairs

/* The sum of the magnitudes of a row. */
static uint64_t PREFIX_magnitudes_of(struct PREFIX_row row, const float *from, size_t stride, size_t count) {
    uint64_t sum = 0;
    for (size_t k = 0; k < count; k++) {
        const int32_t whole = PREFIX_whole_of(row, from[k * stride]);
        sum += (uint64_t)(whole < 0 ? -whole : whole);
    }
    return sum;
}

static struct PREFIX_row PREFIX_row_within(float largest, uint64_t range) {
    const struct PREFIX_row row = {largest / (float)range, (float)range};
    return row;
}

/* What a row becomes in 16 bits: the largest weight is the largest number for which the sum of the magnitudes is at most the given
 * one, unless the row has a scale already. */
static struct PREFIX_row NAME(const float *from, size_t stride, size_t count, uint32_t most) {
    const float largest = PREFIX_largest_of(from, stride, count);
    const struct PREFIX_row own = {PREFIX_own_scale_of(from, stride, count, largest, 255), 255.0f};
    if (own.scale > 0.0f && PREFIX_magnitudes_of(own, from, stride, count) <= most) {
        return own;
    }
    struct PREFIX_row row = PREFIX_row_within(largest, 32767);
    const uint64_t sum = PREFIX_magnitudes_of(row, from, stride, count);
    if (sum > most) {
        /* each number may be rounded up by a half */
        const uint64_t left = most > count / 2 ? most - count / 2 : 0;
        uint64_t range = left * 32767 / sum;
        range = range < 1 ? 1 : range > 32766 ? 32766 : range;
        row = PREFIX_row_within(largest, range);
        while (range > 1 && PREFIX_magnitudes_of(row, from, stride, count) > most) {
            range--;
            row = PREFIX_row_within(largest, range);
        }
    }
    return row;
}
//: row_word

/* The `k`-th word of a row of whole numbers: a row is cut into as many parts as a word holds numbers, and this word holds the `k`-th
 * ones of all. */
static uint32_t NAME(struct PREFIX_row row, size_t parts, const float *from, size_t stride, size_t count, size_t k) {
    const size_t words = (count + parts - 1) / parts, bits = 32 / parts;
    uint32_t word = 0;
    for (size_t part = 0; part < parts; part++) {
        const size_t at = part * words + k;
        if (at < count) {
            const uint32_t whole = (uint32_t)PREFIX_whole_of(row, from[at * stride]);
            word |= (whole & UINT32_MAX >> (32 - bits)) << (bits * part);
        }
    }
    return word;
}
//: pack_words

/* Packs a row of whole numbers, so many in each word. Some words are neighbours, and such groups lie `step` apart. */
static void NAME(float *to, size_t step, size_t abreast, struct PREFIX_row row, size_t parts, const float *from, size_t stride,
                 size_t count) {
    for (size_t k = 0; k * parts < count; k++) {
        to[k / abreast * step + k % abreast] = PREFIX_from_bits(PREFIX_row_word(row, parts, from, stride, count, k));
    }
}
//: pack_pairs

/* Packs a row of whole numbers, two bytes in each element. Some elements are neighbours, and such groups lie `step` apart. */
static void NAME(uint16_t *to, size_t step, size_t abreast, struct PREFIX_row row, const float *from, size_t stride, size_t count) {
    for (size_t k = 0; k * 2 < count; k++) {
        const uint32_t word = PREFIX_row_word(row, 2, from, stride, count, k);
        to[k / abreast * step + k % abreast] = (uint16_t)((word & 0xffu) | (word >> 8 & 0xff00u));
    }
}
//: pack_words_apart

/* Packs a row of whole numbers, two in each word, such words `step` apart. Of each four words from a multiple of four on, the first halves
 * stand in front of the second ones. */
static void NAME(float *to, size_t at, size_t step, struct PREFIX_row row, const float *from, size_t stride, size_t count) {
    const size_t column = at % 4, shift = column % 2 * 16;
    for (size_t k = 0; k * 2 < count; k++) {
        const uint32_t word = PREFIX_row_word(row, 2, from, stride, count, k);
        float *half = to + (at - column + column / 2 + k * step);
        for (size_t part = 0; part < 2; part++, half += 2) {
            const uint32_t before = column % 2 == 0 ? 0u : PREFIX_to_bits(*half) & 0xffffu;
            *half = PREFIX_from_bits(before | (word >> 16 * part & 0xffffu) << shift);
        }
    }
}
//: pack_pairs_apart

/* The same of numbers of a byte. */
static void NAME(uint16_t *to, size_t at, size_t step, struct PREFIX_row row, const float *from, size_t stride, size_t count) {
    const size_t column = at % 4, shift = column % 2 * 8;
    for (size_t k = 0; k * 2 < count; k++) {
        const uint32_t word = PREFIX_row_word(row, 2, from, stride, count, k);
        uint16_t *half = to + (at - column + column / 2 + k * step);
        for (size_t part = 0; part < 2; part++, half += 2) {
            const uint32_t before = column % 2 == 0 ? 0u : *half & 0xffu;
            *half = (uint16_t)(before | (word >> 16 * part & 0xffu) << shift);
        }
    }
}
//: row_start

/* What the sums of a row begin at where each number that it multiplies is 128 more than what it stands for. */
static float NAME(struct PREFIX_row row, const float *from, size_t stride, size_t count) {
    uint32_t sum = 0;
    for (size_t k = 0; k < count; k++) {
        sum -= (uint32_t)PREFIX_whole_of(row, from[k * stride]);
    }
    return PREFIX_from_bits(sum * 128u);
}
//: loads
/* Loads COUNT neighbouring valuesBY_ONE_LOAD. */
HEAD
BODY}
//: add_large

/* x + c, where c is a whole number near 1.5 * 2^23: by integers where x is not large too, which takes less. */
UPPER_INLINE float NAME(float x, float c) {
    const uint32_t bits = PREFIX_to_bits(x), exponent = (bits >> 23) & 255u, by = 150u - exponent;
    if (exponent > 147u) {
        return x + c;
    }
    uint32_t whole = 0u;
    if (by < 25u) {
        /* half to what makes the sum even */
        const uint32_t number = (bits & 0x007fffffu) | 0x00800000u;
        const uint32_t odd = ((number >> by) ^ PREFIX_to_bits(c)) & 1u;
        whole = (number + (1u << (by - 1u)) - 1u + odd) >> by;
    }
    return PREFIX_from_bits(PREFIX_to_bits(c) + (bits >> 31 ? 0u - whole : whole));
}
//: sub_large

/* x - c, where c is such a number: by integers where x is one too. */
UPPER_INLINE float NAME(float x, float c) {
    const uint32_t bits = PREFIX_to_bits(x);
    return bits - 0x4b000000u < 0x00800000u ? (float)(int32_t)(bits - PREFIX_to_bits(c)) : x - c;
}
//: across

/* Sums of products of integers, of neighbouring columns of weights. */
HEAD
BODY}
//: length_i32

/* The length of a sequence, below 0 as 0, at most `most`. */
UPPER_INLINE uint32_t NAME(int32_t length, uint32_t most) {
    return length < 0 ? 0u : (uint32_t)length > most ? most : (uint32_t)length;
}
//: length_i64

/* The length of a sequence, below 0 as 0, at most `most`. */
UPPER_INLINE uint32_t NAME(int64_t length, uint32_t most) {
    return length < 0 ? 0u : (uint64_t)length > most ? most : (uint32_t)length;
}
//: length_bool

/* 1 where it is true, else 0; at most `most`. */
UPPER_INLINE uint32_t NAME(uint8_t truth, uint32_t most) {
    return truth && most > 0u ? 1u : 0u;
}
//: above_i32

/* How far a number is above `least`, at most `most`. */
UPPER_INLINE uint32_t NAME(int32_t number, int32_t least, uint32_t most) {
    const uint32_t above = (uint32_t)number - (uint32_t)least;
    return number < least ? 0u : above > most ? most : above;
}
//: above_i64

/* How far a number is above `least`, at most `most`. */
UPPER_INLINE uint32_t NAME(int64_t number, int32_t least, uint32_t most) {
    const uint64_t above = (uint64_t)number - (uint64_t)least;
    return number < least ? 0u : above > most ? most : (uint32_t)above;
}
//: whole_i32

/* A whole number as an integer: the nearest one there is, 0 for NaN. */
UPPER_INLINE int32_t NAME(float value) {
    return value >= 2147483648.0f ? INT32_MAX : value >= -2147483648.0f ? (int32_t)value : value < 0.0f ? INT32_MIN : 0;
}
//: whole_i64

/* A whole number as an integer: the nearest one there is, 0 for NaN. */
UPPER_INLINE int64_t NAME(float value) {
    return value >= 9223372036854775808.0f    ? INT64_MAX
           : value >= -9223372036854775808.0f ? (int64_t)value
           : value < 0.0f                     ? INT64_MIN
                                              : 0;
}
//: whole_bool

/* 1 where it is not 0. */
UPPER_INLINE uint8_t NAME(float value) {
    return value != 0.0f ? 1 : 0;
}
//: length_u32

/* The length of a sequence, at most `most`. */
UPPER_INLINE uint32_t NAME(uint32_t length, uint32_t most) {
    return length > most ? most : (uint32_t)length;
}
//: mul_add
/* a * b + c, rounded once. */
UPPER_INLINE ATTRIBUTE FLOAT NAME(FLOAT a, FLOAT b, FLOAT c) {
    return (FLOAT){EACH};
}
//: mul_add where fused
/* a * b + c, rounded once where the machine does that. */
UPPER_INLINE ATTRIBUTE FLOAT NAME(FLOAT a, FLOAT b, FLOAT c) {
//* fusing
WORD IS_FUSED
    return FUSED;
//.
#else
    return UNFUSED;
#endif
}
//: flush of one
/* a, or 0 if its magnitude is below 2^-100. */
UPPER_INLINE ATTRIBUTE float NAME(float a) {
//* bits or floats
#ifdef __SOFTFP__
    const union { float value; uint32_t bits; } same = {a};
    return (same.bits & 0x7fffffffu) < 0x0d800000u ? 0.0f : a;
#else
//.
//* bits
    const union { float value; uint32_t bits; } same = {a};
    return (same.bits & 0x7fffffffu) < 0x0d800000u ? 0.0f : a;
//.
//* no bits
    return IS_SMALL ? 0.0f : a;
//.
//* bits or floats
#endif
//.
}
//: flush by intrinsics
/* a, or 0 if its magnitude is below 2^-100. */
UPPER_INLINE ATTRIBUTE FLOAT NAME(FLOAT a) {
    return INTRINSIC;
}
//: flush
/* a, or 0 if its magnitude is below 2^-100. */
UPPER_INLINE ATTRIBUTE FLOAT NAME(FLOAT a) {
    const BITS magnitude = (BITS)a & 0x7fffffffu;
    const BITS small = (BITS)((FLOAT)magnitude < LIMIT);
    return (FLOAT)(~small & (BITS)a);
}
