//: isa
#ifndef UPPER_H_INCLUDED
#define UPPER_H_INCLUDED

INCLUDES;
SIZES;

#ifdef __cplusplus
extern "C" {
#endif

/* Pointers that must not overlap any other argument. */
RESTRICT_DEFINED

/* The instruction sets that a step can run on. */
typedef enum PREFIX_isa {
    ENUMERATORS;
} PREFIX_isa;

/* The best one that this machine has. It asks the processor once. */
PREFIX_isa PREFIX_isa_detect(void);

/* Whether this machine has it. */
int PREFIX_isa_available(PREFIX_isa isa);

/* Its name, a string constant. */
const char *PREFIX_isa_name(PREFIX_isa isa);
//: inputs

/* The inputs in the model's order, each in C order. */
typedef struct PREFIX_inputs {
    INPUTS;
} PREFIX_inputs;
//: outputs

/* The outputs in the model's order. None may overlap an input or another output. */
typedef struct PREFIX_outputs {
    OUTPUTS;
} PREFIX_outputs;
//: packed

/* The weights in the shapes of the model's inputs, in C order. */
typedef struct PREFIX_weights {
    WEIGHTS;
} PREFIX_weights;

ALIGNED_DEFINED
/* The weights in the order in which the kernels read them, PACKED_BYTES bytes. PREFIX_pack fills it. */
typedef struct PREFIX_packed {
    MEMBER_ALIGNEDfloat values[PACKED_LENGTH];
} PREFIX_packed;

ALIGNED_UNDEFINED
/* Puts weights into the order in which the kernels read them. */
void PREFIX_pack(const PREFIX_weights *weights, PREFIX_packed *packed);
//: state

ALIGNED_DEFINED
/* The state between steps, and scratch memory: STATE_BYTES bytesPADDED. */
typedef struct PREFIX_state {
    MEMORY;
} PREFIX_state;

ALIGNED_UNDEFINED
/* Sets every variable to its initial value: call it before the first step. */
void PREFIX_state_reset(PREFIX_state *state);
//: function

/* One step, as a pure function: reads every input and writes every output. An instruction set that this machine lacks
 * is replaced by FALLBACK. WITHOUT_POOL */
void PREFIX_run(PREFIX_isa isa, RUN_PARAMETERS);
//: struct

/* The model with its state between steps NO_STATE. */
typedef struct PREFIX {
    PREFIX_isa isa;
    MEMBERS;
} PREFIX;

/* AT_FIRST, on the best instruction set of this machine. */
void PREFIX_init(PREFIX *self PACKED_PARAMETER);

/* AT_FIRST, on a given instruction set (FALLBACK if this machine lacks it). */
void PREFIX_init_isa(PREFIX *self, PREFIX_isa isa PACKED_PARAMETER);

/* Sets the state to what it was after PREFIX_init. */
void PREFIX_reset(PREFIX *self);

STEP_DECLARATION;
//: steps

STEPS_DECLARATION;
//: end

#undef UPPER_RESTRICT

#ifdef __cplusplus
}
#endif

#endif /* UPPER_H_INCLUDED */
