/* The same signal through the same C on this machine: `make check` compares the bits. */

#include <stdint.h>
#include <stdio.h>
#include <string.h>

float *samples(void);
void reset(void);
void process(int count);

int main(void) {
    uint32_t hash = 2166136261u;
    reset();
    for (int at = 0; at < 48000; at += 128) {
        for (int i = 0; i < 128; i++) samples()[i] = (float)((at + i) * 7919 % 2000 - 1000) / 2048.0f;
        process(128);
        for (int i = 0; i < 128; i++) {
            uint32_t bits;
            memcpy(&bits, &samples()[i], sizeof bits);
            hash = (hash ^ bits) * 16777619u;
        }
    }
    printf("%08x\n", (unsigned)hash);
    return 0;
}
