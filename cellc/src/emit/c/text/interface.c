//: include
#include "SHARED_FILE"
#if CELLC_INTERFACE != NUMBER
#error "SHARED_FILE is of another version of cellc than this file: generate all models with one version"
#endif

//: header

/* The model as a table of functions, which all models have in common. An instance is a PREFIX. */
extern const cellc_model PREFIX_model;
//: source

/* ---- the common interface ---- */

static void PREFIX_model_init(void *instance) {
    PREFIX_init(instance);
}

static void PREFIX_model_reset(void *instance) {
    PREFIX_reset(instance);
}

static void PREFIX_model_step(void *instance, const void *const *inputs, void *const *outputs) {
    UNUSED;
    STEP;
}

static void PREFIX_model_steps(void *instance, size_t steps, const void *const *inputs, void *const *outputs) {
    UNUSED;
    STEPS;
}

static const char *PREFIX_model_isa_name(const void *instance) {
    return PREFIX_isa_name(((const PREFIX *)instance)->isa);
}
TABLES;

const cellc_model PREFIX_model = {
    .interface_number = CELLC_INTERFACE,
    .name = "PREFIX",
    .sample_rate = SAMPLE_RATE,
    .instance_size = sizeof(PREFIX),
    .instance_alignment = _Alignof(PREFIX),
    .input_count = INPUT_COUNT,
    .inputs = INPUT_TABLE,
    .output_count = OUTPUT_COUNT,
    .outputs = OUTPUT_TABLE,
    .in_place_output = IN_PLACE,
    .init = PREFIX_model_init,
    .reset = PREFIX_model_reset,
    .step = PREFIX_model_step,
    .steps = PREFIX_model_steps,
    .isa_name = PREFIX_model_isa_name,
};
