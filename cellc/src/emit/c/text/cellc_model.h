/* How a program runs any model that cellc compiled with --interface, and changes models while it runs.
 *
 * Every 0.1 version of cellc writes this file with the same bytes, for every model. Each model is one constant of type
 * cellc_model, which its own header declares; a program that includes only this file can be given any of them.
 * C11, and C++ from C++98 on.
 */
#ifndef CELLC_INTERFACE
/* The number of this interface. Another interface has another number. */
#define CELLC_INTERFACE 1

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the elements of an input or an output are. */
typedef enum cellc_element {
    CELLC_FLOAT32 = 1, /* float */
    CELLC_INT32 = 2,   /* int32_t */
    CELLC_INT64 = 3,   /* int64_t */
    CELLC_BOOL = 4     /* uint8_t, 0 or 1 */
} cellc_element;

/* An input or an output of a step. States are neither: they are in the instance. */
typedef struct cellc_tensor {
    const char *name; /* as in the model's own header */
    size_t size;      /* elements that one step reads or writes, in C order */
    unsigned element; /* what they are, a cellc_element: the size of an enum depends on the compiler */
    int each_step;    /* 1: many steps take an array for each step, one after the other; 0: all steps share one */
} cellc_tensor;

/* A model. The pointers are never NULL, but for `inputs` of a model without inputs.
 *
 * All that changes is in the instance, which is memory of the caller's: `instance_size` bytes at a multiple of
 * `instance_alignment`. The alignment is a power of two, and the size a multiple of it. No function allocates memory, waits
 * or keeps a pointer, so all of them may be called from a real-time thread. Threads may run at the same time if each has an
 * instance of its own. An instance holds no pointer to itself: between calls memcpy copies it with its state.
 *
 * `inputs` and `outputs` of a call are arrays of as many pointers as the model has inputs and outputs, in that order,
 * each to what `element` says. No array may overlap another one, but for the two of `in_place_output`. */
typedef struct cellc_model {
    unsigned interface_number; /* CELLC_INTERFACE as the model was compiled with: compare it where models are loaded */
    const char *name;          /* what the functions of the model's own header begin with */
    double sample_rate;        /* in Hz, if the model file gives one and a step is a sample; else 0 */

    size_t instance_size;
    size_t instance_alignment;

    size_t input_count;
    const cellc_tensor *inputs;
    size_t output_count;
    const cellc_tensor *outputs;

    /* The output that may be the same array as the first input, or -1. The results have the same bits. */
    int in_place_output;

    /* Makes memory an instance, on the best instruction set of this machine, with the initial state. */
    void (*init)(void *instance);

    /* Sets the state to what it was after `init`. */
    void (*reset)(void *instance);

    /* One step: reads the inputs, writes every output, keeps the new state. */
    void (*step)(void *instance, const void *const *inputs, void *const *outputs);

    /* Many steps, in order: a block of samples for a model that takes a sample a step. The state continues from call to
     * call, so blocks have the bits of the whole. Tensors with `each_step` hold steps * size elements. Without steps nothing
     * is written. */
    void (*steps)(void *instance, size_t steps, const void *const *inputs, void *const *outputs);

    /* The instruction set that an instance runs on: "generic", ... */
    const char *(*isa_name)(const void *instance);
} cellc_model;

#ifdef __cplusplus
}
#endif

#endif /* CELLC_INTERFACE */
