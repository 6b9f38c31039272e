/* Twelve frames through RNNoise's network, as a stream would bring them, and what they cost: `make run`. */

#include <stdio.h>
#include <string.h>

#include "board.h"
#include "rnnoise.h"

/* of the linker script */
extern const uint8_t network_code[], network_constants[], network_end[];

static const uint32_t frames[] = {
#include "frames.h"
};

/* The network with its state: no heap, place it anywhere. */
static rnnoise net;
static float features[RNNOISE_FEATURES_SIZE], gains[RNNOISE_GAINS_SIZE], vad[RNNOISE_VAD_SIZE];

static void step(void *unused) {
    (void)unused;
    rnnoise_step(&net, features, gains, vad);
}

int main(void) {
    rnnoise_init(&net);
    printf("frame  speech  gains of 22 bands, from 0 to 9\n");
    uint32_t ticks = 0, stack = 0;
    const size_t count = sizeof frames / sizeof features;
    for (size_t frame = 0; frame < count; frame++) {
        memcpy(features, &frames[frame * RNNOISE_FEATURES_SIZE], sizeof features);
        if (frame == 0) {
            stack = board_stack_of(step, NULL);
        } else {
            board_timer_start();
            step(NULL);
            const uint32_t now = board_timer_ticks();
            ticks = now > ticks ? now : ticks;
        }
        printf("%5u  %.5f  ", (unsigned)frame, (double)vad[0]);
        for (size_t band = 0; band < RNNOISE_GAINS_SIZE; band++) putchar('0' + (int)(gains[band] * 9.99f));
        putchar('\n');
    }
    const unsigned long instructions = (unsigned long)ticks * BOARD_INSTRUCTIONS_A_TICK;
    printf("a step: %lu instructions at most, %.1f ms at 64 MHz if each took a cycle; a frame lasts 10 ms\n", instructions,
           (double)instructions / 64e3);
    printf("flash: %u bytes of weights and constants, %u of code\n", (unsigned)(network_end - network_constants),
           (unsigned)(network_constants - network_code));
    printf("RAM: %u bytes of states and scratch memory, %u of stack\n", (unsigned)sizeof net, (unsigned)stack);
    return 0;
}
