/* The same network in f32 and in integers, side by side: what each costs, and how far its gains are from those of f32: `make compare`. */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "board.h"
#include "rnnoise_f32.h"
#include "rnnoise_int16.h"
#include "rnnoise_int8.h"
#include "rnnoise_int8x16.h"

static const uint32_t frames[] = {
#include "frames.h"
};

#define FEATURES RNNOISE_F32_FEATURES_SIZE
#define BANDS RNNOISE_F32_GAINS_SIZE

static float features[FEATURES], gains[BANDS], vad[RNNOISE_F32_VAD_SIZE];

/* A network's step and state, and where the linker script puts it. */
#define NETWORK(arithmetic) \
    extern const uint8_t arithmetic##_begin[], arithmetic##_end[]; \
    static rnnoise_##arithmetic arithmetic##_net; \
    static void arithmetic##_init(void) { rnnoise_##arithmetic##_init(&arithmetic##_net); } \
    static void arithmetic##_step(void *unused) { \
        (void)unused; \
        rnnoise_##arithmetic##_step(&arithmetic##_net, features, gains, vad); \
    }
NETWORK(f32)
NETWORK(int16)
NETWORK(int8x16)
NETWORK(int8)

#define ROW(arithmetic) \
    {#arithmetic, arithmetic##_init, arithmetic##_step, arithmetic##_begin, arithmetic##_end, sizeof arithmetic##_net}
static const struct {
    const char *name;
    void (*init)(void);
    void (*step)(void *);
    const uint8_t *begin, *end;
    size_t state;
} networks[] = {ROW(f32), ROW(int16), ROW(int8x16), ROW(int8)};

int main(void) {
    enum { COUNT = sizeof frames / sizeof features };
    static float exact[COUNT][BANDS];
    printf("            flash     RAM  stack  instructions   error of the gains\n");
    printf("            bytes   bytes  bytes     at a step   largest       rms\n");
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        uint32_t ticks = 0, stack = 0;
        double largest = 0, squares = 0;
        networks[i].init();
        for (size_t frame = 0; frame < COUNT; frame++) {
            memcpy(features, &frames[frame * FEATURES], sizeof features);
            if (frame == 0) {
                stack = board_stack_of(networks[i].step, NULL);
            } else {
                board_timer_start();
                networks[i].step(NULL);
                const uint32_t now = board_timer_ticks();
                ticks = now > ticks ? now : ticks;
            }
            if (i == 0) memcpy(exact[frame], gains, sizeof gains);
            for (size_t band = 0; band < BANDS; band++) {
                const double error = fabs((double)gains[band] - (double)exact[frame][band]);
                largest = error > largest ? error : largest;
                squares += error * error;
            }
        }
        printf("%-8s %8lu %7lu %6lu %13lu  %8.1e  %8.1e\n", networks[i].name,
               (unsigned long)(networks[i].end - networks[i].begin), (unsigned long)networks[i].state,
               (unsigned long)stack, (unsigned long)ticks * BOARD_INSTRUCTIONS_A_TICK, largest,
               sqrt(squares / (COUNT * BANDS)));
    }
    return 0;
}
