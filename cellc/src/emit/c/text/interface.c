//: source

/* ---- the common interface ---- */

static void PREFIX_model_init(void *instance) {
    PREFIX_init(instance);
}

static void PREFIX_model_reset(void *instance) {
    PREFIX_reset(instance);
}

static void PREFIX_model_step(void *instance, const void *const *inputs, void *const *outputs) {
//* no step inputs
    (void)inputs;
//.
    PREFIX_step(instance POINTERS);
}

static void PREFIX_model_steps(void *instance, size_t steps, const void *const *inputs, void *const *outputs) {
//* no step inputs
    (void)inputs;
//.
//* steps
    PREFIX_steps(instance, steps POINTERS);
//.
//* read and no steps
    const FIELD_TYPE *input_AT = inputs[AT];
//.
//* written and no steps
    FIELD_TYPE *output_AT = outputs[AT];
//.
//* no steps
    for (size_t i = 0; i < steps; i++) {
        PREFIX_step(instance ADVANCING);
    }
//.
}

static const char *PREFIX_model_isa_name(const void *instance) {
//* isas to choose
    return PREFIX_isa_name(((const PREFIX *)instance)->isa);
//.
//* no isas to choose
    (void)instance;
    return "ONE_NAME";
//.
}
//* some step inputs

static const cellc_tensor PREFIX_model_inputs[] = {
//.
//* read
    {"FIELD", FIELD_SIZE, FIELD_MODEL, EACH_STEP},
//.
//* some step inputs
};
//.

static const cellc_tensor PREFIX_model_outputs[] = {
//* written
    {"FIELD", FIELD_SIZE, FIELD_MODEL, EACH_STEP},
//.
};

const cellc_model PREFIX_model = {
    .interface_number = CELLC_INTERFACE,
    .name = "PREFIX",
    .sample_rate = SAMPLE_RATE,
    .instance_size = sizeof(PREFIX),
    .instance_alignment = _Alignof(PREFIX),
    .input_count = INPUT_COUNT,
//* some step inputs
    .inputs = PREFIX_model_inputs,
//.
//* no step inputs
    .inputs = NULL,
//.
    .output_count = OUTPUT_COUNT,
    .outputs = PREFIX_model_outputs,
    .in_place_output = IN_PLACE,
    .init = PREFIX_model_init,
    .reset = PREFIX_model_reset,
    .step = PREFIX_model_step,
    .steps = PREFIX_model_steps,
    .isa_name = PREFIX_model_isa_name,
};
