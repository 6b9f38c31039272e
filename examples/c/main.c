/* A recurrent cell run on a signal, a step for every frame of it: `make run`. */

#include <stdio.h>
#include <string.h>

#include "gru.h"

/* A triangle wave from -1 to 1, each channel a little later than the one before. */
static float triangle(int frame, int channel) {
    const int phase = (3 * frame + 2 * channel) % 16;
    return (float)(phase < 8 ? phase : 16 - phase) / 4.0f - 1.0f;
}

int main(void) {
    /* The cell holds its state, and asks the processor once which instruction set to use. No heap: place it anywhere. */
    static gru cell;
    gru_init(&cell);
    fprintf(stderr, "instruction set: %s\n", gru_isa_name(cell.isa));

    float x[GRU_X_SIZE];
    float h_out[GRU_H_OUT_SIZE];
    for (int frame = 0; frame < 12; frame++) {
        for (int i = 0; i < GRU_X_SIZE; i++) {
            x[i] = triangle(frame, i);
        }
        gru_step(&cell, x, h_out);
        for (int i = 0; i < GRU_H_OUT_SIZE; i++) {
            printf("%s%.9g", i == 0 ? "" : " ", (double)h_out[i]);
        }
        printf("\n");
    }

    /* The same step as a pure function: state in, state out. */
    float pure[GRU_H_OUT_SIZE];
    const gru_inputs inputs = {.x = x, .h = cell.h};
    const gru_outputs outputs = {.h_out = pure};
    gru_run(&inputs, &outputs);
    gru_step(&cell, x, h_out);
    if (memcmp(pure, h_out, sizeof pure) != 0) {
        fprintf(stderr, "the struct and the function disagree\n");
        return 1;
    }
    return 0;
}
