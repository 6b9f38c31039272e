//: isa
#ifndef UPPER_H_INCLUDED
#define UPPER_H_INCLUDED

#include <stddef.h>

//* pool
#include <pthread.h>

//.
//* common
#include "COMMON_FILE"
#if CELLC_INTERFACE != COMMON_NUMBER
#error "COMMON_FILE is of another version of cellc than this file: generate all models with one version"
#endif

//.
#define UPPER_CELLC_VERSION "CELLC_RELEASE"
//* model's files
#define UPPER_HASH_OF_FILE "HEXADECIMAL_DIGEST"
//.
//* host
#define UPPER_HOST_CONSTANT (HOST_VALUE) /* HOST_NOTE. */
//.

//* fields
#define FIELD_SIZE FIELD_LEN /* KIND, shape FIELD_SHAPE */
//.
//* block
#define UPPER_BLOCK_SIZE BLOCK_LEN /* BLOCK_FLOATS of scratch memory */
//.
//* integers

#include <stdint.h>
//.

#ifdef __cplusplus
extern "C" {
#endif

/* Pointers that must not overlap any other argument. */
#if defined(__GNUC__) || defined(_MSC_VER)
#define UPPER_RESTRICT __restrict
#elif !defined(__cplusplus)
#define UPPER_RESTRICT restrict
#else
#define UPPER_RESTRICT
#endif

//* isas to choose
/* The instruction sets that a step can run on. */
typedef enum PREFIX_isa {
//.
//* isas and isas to choose
    ENUMERATOR_NOTED
//.
//* isas to choose
} PREFIX_isa;

/* The best one that this machine has. It asks the processor once. */
PREFIX_isa PREFIX_isa_detect(void);

/* Whether this machine has it. */
int PREFIX_isa_available(PREFIX_isa isa);

/* Its name, a string constant. */
const char *PREFIX_isa_name(PREFIX_isa isa);
//.
//: inputs

/* The inputs in the model's order, each in C order. */
typedef struct PREFIX_inputs {
//* inputs
    const FIELD_TYPE *FIELD; /* FIELD_LEN FIELD_ELEMENTS */
//.
} PREFIX_inputs;
//: outputs

/* The outputs in the model's order. None may overlap any other memory of a call. */
typedef struct PREFIX_outputs {
//* outputs
    FIELD_TYPE *FIELD; /* FIELD_LEN FIELD_ELEMENTS */
//.
} PREFIX_outputs;
//: given weights

/* The weights in the shapes of the model's inputs, in C order. */
typedef struct PREFIX_weights {
//* weights
    const FIELD_TYPE *FIELD; /* FIELD_LEN FIELD_ELEMENTS */
//.
} PREFIX_weights;
//: packed

//* aligned
#ifdef __cplusplus
#define UPPER_ALIGNED alignas(ALIGNMENT)
#else
#define UPPER_ALIGNED _Alignas(ALIGNMENT)
#endif

//.
/* The weights in the order in which the kernels read them, PACKED_BYTES bytes. PREFIX_FILLED_BY fills it. */
typedef struct PREFIX_packed {
    MEMBER_ALIGNEDfloat values[PACKED_LEN];
//* packed pairs
    MEMBER_ALIGNEDuint16_t pairs[PACKED_PAIRS];
//.
} PREFIX_packed;

//* aligned
#undef UPPER_ALIGNED

//.
//: pack

/* Puts weights into the order in which the kernels read them. */
void PREFIX_pack(const PREFIX_weights *weights, PREFIX_packed *packed);
//: load

/* The layout of the weights and the options of this file, which cellc pack --like reads. */
#define UPPER_LAYOUT "LAYOUT_RECORD"

/* Takes the weights from a file of cellc pack, LOADED_BYTES bytes. Returns 1. Returns 0 and changes nothing if
 * the bytes are no such file, are not complete, or hold weights of other layers, shapes or options. */
int PREFIX_load(PREFIX_packed *packed, const void *bytes, size_t size);
//: memory

//* aligned and not empty memory
#ifdef __cplusplus
#define UPPER_ALIGNED alignas(ALIGNMENT)
#else
#define UPPER_ALIGNED _Alignas(ALIGNMENT)
#endif

/* MEMORY_HOLDS: MEMORY_BYTES bytes, and padding to multiples of ALIGNMENT.
 * Memory from the heap has to come from aligned_alloc. */
//.
//* not aligned and not empty memory
/* MEMORY_HOLDS: MEMORY_BYTES bytes. */
//.
//* empty memory
/* A step of this model takes no scratch memory. */
//.
typedef struct PREFIX_MEMORY_NAME {
//* block
    MEMBER_ALIGNEDfloat block[UPPER_BLOCK_SIZE]; /* scratch memory: nothing in it outlives a step */
//.
//* variables
    FIRST_ALIGNEDfloat FIELD[FIELD_SIZE];LAID_OUT
//.
//* phases
    uint32_t PHASE_NAME; /* steps so far, modulo PHASE_STEPS: the row of delay lines that the next step uses */
//.
//* order
    ORDER_ALIGNEDuint32_t backwards; /* the order in which large weights are read, 0 and 1 alternately; no result depends on it */
//.
//* empty memory
    unsigned char unused; /* C wants a member */
//.
} PREFIX_MEMORY_NAME;

//* aligned and not empty memory
#undef UPPER_ALIGNED

//.
//* memory of the caller and some variables
/* Sets every variable to its initial value: call it before the first step. */
//.
//* memory of the caller and order and no variables
/* Makes memory a PREFIX_MEMORY_NAME: call it before the first step. */
//.
//* memory of the caller and memory to set
void PREFIX_MEMORY_SET(PREFIX_MEMORY_NAME *MEMORY_NAME INITIALS_PARAMETER);
//.
//: function

//* no pool
/* One step: reads every input and writes every output. No pointer may be NULL.ON_THE_STACK */
//.
//* pool
/* One step: reads every input and writes every output. Without a pool (NULL) the caller computes
 * both halves of a cell.ON_THE_STACK */
//.
void PREFIX_run(RUN_PARAMETERS);
//* isas to choose

/* The same on a given instruction set (FALLBACK if this machine lacks it). */
void PREFIX_run_on(PREFIX_isa isa, RUN_PARAMETERS);
//.
//: struct

/* The model with its state between steps NO_STATE. Threads may run different models at once. */
typedef struct PREFIX {
//* isas to choose
    PREFIX_isa isa;
//.
//* empty struct
    unsigned char stateless; /* C wants a member */
//.
//* pool
    const PREFIX_pool *pool; /* initially NULL: the caller's thread alone */
//.
//* packed
    const PREFIX_packed *packed; /* must outlive the struct */
//.
//* memory
    PREFIX_MEMORY_NAME MEMORY_NAME;
//.
//* states
    float FIELD[FIELD_SIZE]; /* becomes OUTPUT */
//.
} PREFIX;

//* no isas to choose
/* Makes memory a model with AT_FIRST. */
void PREFIX_init(PREFIX *self PACKED_PARAMETER);
//.
//* isas to choose
/* Makes memory a model with AT_FIRST, on the best instruction set of this machine. */
void PREFIX_init(PREFIX *self PACKED_PARAMETER);

/* Makes memory a model with AT_FIRST, on a given instruction set (FALLBACK if this machine lacks it). */
void PREFIX_init_isa(PREFIX *self, PREFIX_isa isa PACKED_PARAMETER);
//.

/* Sets the state to what it was after PREFIX_init. */
void PREFIX_reset(PREFIX *self);

//* not in place
/* One step: reads the inputs, writes every output, keeps the new state. */
//.
//* in place
/* One step: reads the inputs, writes every output, keeps the new state.
 * In place: FIELD and OUTPUT may be the same pointer; COPIES then.
 */
//.
void PREFIX_step(PREFIX *UPPER_RESTRICT self STEP_PARAMETERS);

/* Size and alignment of PREFIX in bytes, for memory from the heap or from another language. */
size_t PREFIX_size(void);
size_t PREFIX_alignment(void);
//: steps

/* Calls PREFIX_step for each step, in order.
//* each step
 * FIELD holds steps * FIELD_SIZE.
//.
 * An output without an axis for steps is that of the last step; without steps nothing is written.
 * The state continues from call to call. PREFIX_reset starts another sequence.
//* in place
 * In place: FIELD and OUTPUT may be the same pointer; COPIES then.
//.
 */
void PREFIX_steps(PREFIX *UPPER_RESTRICT self, size_t steps STEP_PARAMETERS);
//: streams

/* The rows of a step, each of them an independent stream with a state of its own. */
#define UPPER_ROWS STREAM_COUNT

/* The state of one stream: plain data. */
typedef struct PREFIX_row_state {
//* kept
    float FIELD[ROW_LEN];
//.
} PREFIX_row_state;

/* Sets the state of a stream to its initial value. */
void PREFIX_row_state_init(PREFIX_row_state *row_state);

/* Reads, sets or resets the state of a row: a stream leaves, continues or begins there. Returns 0, without effect, if there is no such row; else 1. */
int PREFIX_row(const PREFIX *self, size_t row, PREFIX_row_state *row_state);
int PREFIX_set_row(PREFIX *self, size_t row, const PREFIX_row_state *row_state);
int PREFIX_reset_row(PREFIX *self, size_t row);

/* PREFIX_step for the rows with active[row] != 0. The other rows keep their states; their outputs mean nothing. */
void PREFIX_step_active(PREFIX *UPPER_RESTRICT self, const unsigned char *active STEP_PARAMETERS);

/* One step of each of these streams, STREAM_COUNT at a time: stream i reads *states[i] and the inputs i, and writes the outputs i and *states[i]. The bits are those of a step of one row.
 * The rows of self are working memory: their states change. */
void PREFIX_step_many(PREFIX *UPPER_RESTRICT self, size_t count, PREFIX_row_state *const *states STEP_PARAMETERS);

/* The state of a stream as bytes, on every machine alike, after a hash of the model and of the layout. PREFIX_row_state_load returns 0, without effect, for bytes of another model; else 1. */
size_t PREFIX_row_state_size(void);
void PREFIX_row_state_save(const PREFIX_row_state *row_state, void *bytes);
int PREFIX_row_state_load(PREFIX_row_state *row_state, const void *bytes, size_t size);
//: end
//* common

/* The model as a table of functions, which all models have in common. An instance is a PREFIX. */
extern const cellc_model PREFIX_model;
//.

#undef UPPER_RESTRICT

#ifdef __cplusplus
}
#endif

#endif /* UPPER_H_INCLUDED */
