//: isa

int PREFIX_isa_available(PREFIX_isa isa) {
    AVAILABLE;
}

PREFIX_isa PREFIX_isa_detect(void) {
    DETECT;
    return BASELINE;
}

const char *PREFIX_isa_name(PREFIX_isa isa) {
    switch (isa) {
    NAMES;
    }
    return "unknown";
}
//: flush

/* The values, with 0 for magnitudes below 2^-100. */
UPPER_INLINE void PREFIX_flush(float *restrict to, const float *restrict from, size_t count) {
    for (size_t i = 0; i < count; i++) {
        to[i] = IS_SMALL ? 0.0f : from[i];
    }
}
//: function

void PREFIX_run(PREFIX_isa isa, RUN_PARAMETERS) {
    FLUSHED;
    switch (PREFIX_isa_available(isa) ? isa : BASELINE) {
    CASES;
    default:
        OTHERWISE;
        return;
    }
}
//: state

void PREFIX_state_reset(PREFIX_state *state) {
    RESET_STATE;
}
//: struct

void PREFIX_init(PREFIX *self PACKED_PARAMETER) {
    PREFIX_init_isa(self, PREFIX_isa_detect() PACKED_ARGUMENT);
}

void PREFIX_init_isa(PREFIX *self, PREFIX_isa isa PACKED_PARAMETER) {
    self->isa = PREFIX_isa_available(isa) ? isa : BASELINE;
    INIT;
    PREFIX_reset(self);
}

void PREFIX_reset(PREFIX *self) {
    RESET;
}

STEP_HEAD;
    STEP;
}
//: copy
    /* INPUT is still read after OUTPUT is written */
    float PREFIX_copy[INPUT_SIZE];
    if (INPUT == OUTPUT) {
        COPIED
        INPUT = PREFIX_copy;
    }
//: steps

STEPS_HEAD;
    for (size_t steps_done = 0; steps_done < steps; steps_done++) {
        STEP_CALL;
    }
}
