//: packing

void PREFIX_pack(const PREFIX_weights *weights, PREFIX_packed *packed) {
    ZEROED
//* packed pairs
    for (size_t i = 0; i < PACKED_PAIRS; i++) {
        packed->pairs[i] = 0;
    }
//.
//* calls
    CALL
//.
}
//: half

/* The arguments of FULL, and the function that a pool calls. */
struct FULL_args {
//* params
    CONSTANT TYPE *NAME;
//.
};

static ATTRIBUTE void FULL_call(void *argument) {
    const struct FULL_args *args = argument;
    FULL(MEMBERS);
}
//: run

/* WHAT */
//* alone
__attribute__((noinline))
//.
LINKAGE void PREFIX_KERNELS_ISA(RUN_PARAMETERS) {
//* unused pool
    (void)pool;
//.
//* tables
    static const TYPE NAME[LEN] = {VALUES};
//.
//* unused memory
    (void)MEMORY_NAME;
//.
//* unused inputs
    (void)inputs;
//.
//* calls
    CALL
//.
//* order
    MEMORY_NAME->backwards ^= 1u;
//.
//* phases
    MEMORY_NAME->PHASE_NAME = MEMORY_NAME->PHASE_NAME < PHASE_LASTu ? MEMORY_NAME->PHASE_NAME + 1u : 0u;
//.
}
//: run twice

/* One step. Where ISA has made 0 of a subnormal number, AGAIN, which does not, makes it again. */
static void PREFIX_run_ISA(RUN_PARAMETERS) {
//* in place without a copy
    /* for a step that is made again, FIELD as it was */
    float FIELD_before[FIELD_SIZE];
    PREFIX_inputs before = *inputs;
//.
BEGIN
//* in place without a copy
    if (inputs->FIELD == outputs->OUTPUT) {
        COPY
        before.FIELD = FIELD_before;
    }
//.
    PREFIX_kernels_ISA(RUN_NAMES);
END
    if (FLUSHED) {
//* in place without a copy
        inputs = &before;
//.
        PREFIX_run_AGAIN(RUN_NAMES);
//* more of the step
        return;
//.
    }
//* assigned
    CALL
//.
//* order
    MEMORY_NAME->backwards ^= 1u;
//.
//* phases
    MEMORY_NAME->PHASE_NAME = MEMORY_NAME->PHASE_NAME < PHASE_LASTu ? MEMORY_NAME->PHASE_NAME + 1u : 0u;
//.
}
