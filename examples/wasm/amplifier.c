/* What the page calls: the network with its state, and room for a block of samples. */

#include "net.h"

#define EXPORTED __attribute__((visibility("default")))
#define BLOCK 128 /* samples of a block of an AudioWorklet */

/* The names of the model's input and output, as net.h gives them. */
_Static_assert(NET_X_SIZE == 1 && NET_OUT_SIZE == 1, "one input and one output of one element");

static net amplifier;
static float block[BLOCK];

/* Where a block's samples are. */
EXPORTED float *samples(void) { return block; }

/* Sets the state to zero: call it before the first block. */
EXPORTED void reset(void) { net_init(&amplifier); }

/* Amplifies the first samples of the block in place. */
EXPORTED void process(int count) {
    for (int i = 0; i < count && i < BLOCK; i++) net_step(&amplifier, &block[i], &block[i]);
}
