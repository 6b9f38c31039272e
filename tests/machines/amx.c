/* AMX for processors that lack it: a program that is linked with this has the tile instructions that cellc writes. Each of
 * them is invalid there; what Linux then calls carries it out, on tiles of the thread, and moves on behind it. As on the
 * processor, an instruction that does not fit the shapes of its tiles is invalid: this says which, and ends the program.
 * Every other invalid instruction ends it as it would without this.
 *
 * Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, of LDTILECFG to TILEZERO. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { TILES = 8, ROWS = 16, ROW_BYTES = 64 };

/* What ldtilecfg loads. */
struct shapes {
    uint8_t palette, start, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
};

/* Without a palette there are no tiles. */
static _Thread_local struct shapes shapes;
static _Thread_local uint8_t tiles[TILES][ROWS][ROW_BYTES];

/* A VEX prefix of three bytes, an opcode and what it works on. */
struct instruction {
    const uint8_t *at;
    size_t len;
    /* 0: none, 2: f3, 3: f2 */
    unsigned prefix;
    unsigned opcode;
    /* the register of the prefix, that of modrm, and the other of modrm where that is none in memory */
    unsigned third, first, second;
    int in_memory;
    /* the address without the index, and the index times its scale */
    uint8_t *base;
    intptr_t step;
};

static _Noreturn void refuse(const struct instruction *of, const char *why) {
    fprintf(stderr, "amx.c: %s:", why);
    for (size_t i = 0; i < of->len; i++) {
        fprintf(stderr, " %02x", of->at[i]);
    }
    fprintf(stderr, "\n");
    for (int i = 0; i < TILES; i++) {
        fprintf(stderr, "amx.c: tile %d: %d rows of %d bytes\n", i, shapes.rows[i], shapes.bytes[i]);
    }
    abort();
}

/* A register by its number in instructions. */
static uint64_t register_of(const ucontext_t *context, unsigned number) {
    static const int places[] = {
        REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
        REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
    };
    return (uint64_t)context->uc_mcontext.gregs[places[number]];
}

/* Whether there is an instruction of tiles: 128 bits, the opcodes behind 0f 38, W = 0. */
static int decode(const ucontext_t *context, struct instruction *found) {
    const uint8_t *at = (const uint8_t *)context->uc_mcontext.gregs[REG_RIP];
    if (at[0] != 0xc4 || (at[1] & 0x1f) != 2 || (at[2] & 0x84) != 0) {
        return 0;
    }
    const unsigned above_r = at[1] & 0x80 ? 0 : 8, above_x = at[1] & 0x40 ? 0 : 8, above_b = at[1] & 0x20 ? 0 : 8;
    const unsigned mode = at[4] >> 6, low = at[4] & 7;
    *found = (struct instruction){
        .at = at,
        .len = 5,
        .prefix = at[2] & 3,
        .opcode = at[3],
        .third = 15 - (at[2] >> 3 & 15),
        .first = (at[4] >> 3 & 7) + above_r,
        .second = low + above_b,
        .in_memory = mode != 3,
    };
    if (!found->in_memory) {
        return 1;
    }
    uint64_t base;
    if (low == 4) {
        const unsigned scale = at[5] >> 6, index = (at[5] >> 3 & 7) + above_x, from = at[5] & 7;
        if (from == 5 && mode == 0) {
            return 0;
        }
        base = register_of(context, from + above_b);
        found->step = index == 4 ? 0 : (intptr_t)(register_of(context, index) << scale);
        found->len = 6;
    } else if (low == 5 && mode == 0) {
        return 0;
    } else {
        base = register_of(context, found->second);
    }
    if (mode == 1) {
        base += (uint64_t)(int8_t)at[found->len];
        found->len += 1;
    } else if (mode == 2) {
        int32_t beyond;
        memcpy(&beyond, at + found->len, sizeof beyond);
        base += (uint64_t)beyond;
        found->len += 4;
    }
    found->base = (uint8_t *)base;
    return 1;
}

/* A tile that has a shape. */
static unsigned shaped(const struct instruction *of, unsigned tile) {
    if (tile >= TILES || shapes.palette == 0 || shapes.rows[tile] == 0) {
        refuse(of, "a tile without a shape");
    }
    return tile;
}

static void set_shapes(const struct instruction *of) {
    struct shapes given;
    memcpy(&given, of->base, sizeof given);
    /* an instruction that a page fault interrupts starts in the middle: nothing here does */
    int fits = given.palette == 1 && given.start == 0;
    for (int i = 0; i < 14; i++) {
        fits = fits && given.reserved[i] == 0;
    }
    for (int i = 0; i < 16; i++) {
        const int none = given.rows[i] == 0, few = given.rows[i] <= ROWS && given.bytes[i] <= ROW_BYTES;
        fits = fits && none == (given.bytes[i] == 0) && few && (none || i < TILES);
    }
    shapes = given;
    if (!fits) {
        refuse(of, "these shapes are none");
    }
    memset(tiles, 0, sizeof tiles);
}

/* What is beyond the rows and bytes of a tile becomes 0. */
static void load(const struct instruction *of) {
    const unsigned to = shaped(of, of->first);
    memset(tiles[to], 0, sizeof tiles[to]);
    for (int row = 0; row < shapes.rows[to]; row++) {
        memcpy(tiles[to][row], of->base + row * of->step, shapes.bytes[to]);
    }
}

static void store(const struct instruction *of) {
    const unsigned from = shaped(of, of->first);
    for (int row = 0; row < shapes.rows[from]; row++) {
        memcpy(of->base + row * of->step, tiles[from][row], shapes.bytes[from]);
    }
}

/* Adds the products of bytes with a sign, four to each sum. What is beyond the rows is 0 already. */
static void dot(const struct instruction *of) {
    const unsigned to = shaped(of, of->first), a = shaped(of, of->second), b = shaped(of, of->third);
    if (to == a || to == b || a == b) {
        refuse(of, "a tile twice");
    }
    if (shapes.bytes[to] % 4 != 0 || shapes.bytes[a] % 4 != 0 || shapes.bytes[b] % 4 != 0) {
        refuse(of, "rows that are not whole words");
    }
    if (shapes.rows[to] != shapes.rows[a]) {
        refuse(of, "not as many rows of sums as of the first factor");
    }
    if (shapes.bytes[to] != shapes.bytes[b]) {
        refuse(of, "not as many columns of sums as of the second factor");
    }
    if (shapes.bytes[a] / 4 != shapes.rows[b]) {
        refuse(of, "not as many words of the first factor as rows of the second");
    }
    for (int row = 0; row < shapes.rows[to]; row++) {
        uint32_t sums[ROW_BYTES / 4] = {0};
        memcpy(sums, tiles[to][row], shapes.bytes[to]);
        for (int k = 0; k < shapes.rows[b]; k++) {
            for (int byte = 0; byte < shapes.bytes[b]; byte++) {
                const int8_t x = (int8_t)tiles[a][row][4 * k + byte % 4], y = (int8_t)tiles[b][k][byte];
                sums[byte / 4] += (uint32_t)(x * y);
            }
        }
        memcpy(tiles[to][row], sums, sizeof sums);
    }
}

static void invalid(int signal_number, siginfo_t *info, void *given) {
    (void)info;
    ucontext_t *context = given;
    struct instruction of;
    int known = decode(context, &of);
    if (known) {
        const int no_third = of.third == 0, in_memory = of.in_memory && no_third, in_tile = !of.in_memory && no_third;
        if (of.opcode == 0x49 && of.prefix == 0 && in_memory && of.first == 0) {
            set_shapes(&of);
        } else if (of.opcode == 0x49 && of.prefix == 0 && in_tile && of.first == 0 && of.second == 0) {
            shapes = (struct shapes){0};
        } else if (of.opcode == 0x49 && of.prefix == 3 && in_tile && of.second == 0) {
            memset(tiles[shaped(&of, of.first)], 0, sizeof *tiles);
        } else if (of.opcode == 0x4b && of.prefix == 3 && in_memory && (of.at[4] & 7) == 4) {
            load(&of);
        } else if (of.opcode == 0x4b && of.prefix == 2 && in_memory && (of.at[4] & 7) == 4) {
            store(&of);
        } else if (of.opcode == 0x5e && of.prefix == 3 && !of.in_memory) {
            dot(&of);
        } else {
            known = 0;
        }
    }
    if (known) {
        context->uc_mcontext.gregs[REG_RIP] += (greg_t)of.len;
    } else {
        /* it is tried again, and ends the program */
        signal(signal_number, SIG_DFL);
    }
}

__attribute__((constructor)) static void begin(void) {
    struct sigaction action = {0};
    action.sa_sigaction = invalid;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGILL, &action, NULL) != 0) {
        abort();
    }
}
