//: declared
//* several bodies

/* ---- what the header declares ---- */
//.
//: isa
//* instead

/* What every machine has that this file is compiled for. */
//.
//* baselines when instead
CONDITION
#define BASELINE ENUMERATOR
//.
//* instead
#endif
//.
PROCESSORS;

int PREFIX_isa_available(PREFIX_isa isa) {
//* available
CONDITION
    return (unsigned)isa <= ENUMERATOR && (PREFIX_machine() >> isa & 1u) != 0;
//.
//* asks
#else
//.
    return isa == BASELINE;
//* asks
#endif
//.
}

PREFIX_isa PREFIX_isa_detect(void) {
    return
//* asked, best first
        PREFIX_isa_available(ENUMERATOR) ? ENUMERATOR :
//.
        BASELINE;
}

const char *PREFIX_isa_name(PREFIX_isa isa) {
    static const char *const names[] = {QUOTED_ISAS};
    return (unsigned)isa < sizeof names / sizeof names[0] ? names[isa] : "unknown";
}
//: flush

/* Copies values, with 0 for magnitudes below 2^-100. */
UPPER_INLINE void PREFIX_flush(float *to, const float *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        to[i] = IS_SMALL ? 0.0f : values[i];
    }
}
//: function
//* isas to choose

void PREFIX_run(RUN_PARAMETERS) {
    PREFIX_run_on(PREFIX_isa_detect(), RUN_NAMES);
}
//.
//* own memory and memory to set

static void PREFIX_MEMORY_SET(PREFIX_MEMORY_NAME *MEMORY_NAME INITIALS_PARAMETER);
//.
//* isas to choose and advances

static void PREFIX_advance(PREFIX_isa isa, ADVANCE_PARAMETERS);
//.
//* isas to choose

void PREFIX_run_on(PREFIX_isa isa, RUN_PARAMETERS) {
//.
//* no isas to choose

void PREFIX_run(RUN_PARAMETERS) {
//.
//* flushed
    float flushed_FIELD[FIELD_SIZE];
//.
//* own memory
    PREFIX_MEMORY_NAME own;
    PREFIX_MEMORY_NAME *const MEMORY_NAME = &own;
//.
//* own memory and memory to set
    PREFIX_MEMORY_SET(MEMORY_NAME);
//.
//* flushed
    PREFIX_flush(flushed_FIELD, inputs->FIELD, FIELD_SIZE);
//.
//* flushes
    const PREFIX_inputs flushed = {FLUSHED_PLACES};
    inputs = &flushed;
//.
//* no isas to choose
    PREFIX_run_ONE_BODY(ADVANCE_NAMES);
}
//.
//* isas to choose and advances
    PREFIX_advance(isa, ADVANCE_NAMES);
}

/* One step: PREFIX_run and the functions of the struct call it. */
static void PREFIX_advance(PREFIX_isa isa, ADVANCE_PARAMETERS) {
//.
//* isas to choose
    switch (PREFIX_isa_available(isa) ? isa : BASELINE) {
//.
//* asked
BEFORE
    case ENUMERATOR:
        PREFIX_run_BODY(ADVANCE_NAMES);
        return;
AFTER
//.
//* isas to choose
    default:
//.
//* baselines when chosen
CONDITION
        PREFIX_run_BODY(ADVANCE_NAMES);
//.
//* chosen by conditions
#endif
//.
//* isas to choose
        return;
    }
}
//.
//: function alone

void PREFIX_run(RUN_PARAMETERS) {
//* flushed
    float flushed_FIELD[FIELD_SIZE];
    PREFIX_flush(flushed_FIELD, inputs->FIELD, FIELD_SIZE);
//.
//* flushes
    const PREFIX_inputs flushed = {FLUSHED_PLACES};
    inputs = &flushed;
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
//: load

int PREFIX_load(PREFIX_packed *packed, const void *bytes, size_t size) {
    static const unsigned char head[16] = {LOADED_HEAD};
    const unsigned char *from = (const unsigned char *)bytes;
    if (size != LOADED_BYTESu) {
        return 0;
    }
    for (size_t i = 0; i < 16u; i++) {
        if (*from++ != head[i]) {
            return 0;
        }
    }
    for (size_t i = 0; i < PACKED_LENu; i++) {
        union { uint32_t bits; float number; } word = {0};
        for (unsigned place = 0; place < 32u; place += 8u) {
            word.bits |= (uint32_t)*from++ << place;
        }
        packed->values[i] = word.number;
    }
    return 1;
}
//: memory

LINKAGEvoid PREFIX_MEMORY_SET(PREFIX_MEMORY_NAME *MEMORY_NAME INITIALS_PARAMETER) {
//* order
    MEMORY_NAME->backwards = 0;
//.
//* variables
    RESET
//.
//* phases
    MEMORY_NAME->PHASE_NAME = 0;
//.
}
//: struct

//* isas to choose
void PREFIX_init(PREFIX *self PACKED_PARAMETER) {
    PREFIX_init_isa(self, PREFIX_isa_detect() PACKED_ARGUMENT);
}

void PREFIX_init_isa(PREFIX *self, PREFIX_isa isa PACKED_PARAMETER) {
    self->isa = PREFIX_isa_available(isa) ? isa : BASELINE;
//.
//* no isas to choose
void PREFIX_init(PREFIX *self PACKED_PARAMETER) {
//.
//* packed
    self->packed = packed;
//.
//* pool
    self->pool = NULL;
//.
    PREFIX_reset(self);
}

size_t PREFIX_size(void) {
    return sizeof(PREFIX);
}

size_t PREFIX_alignment(void) {
    return _Alignof(PREFIX);
}

void PREFIX_reset(PREFIX *self) {
//* memory to set
    PREFIX_MEMORY_SET(&self->MEMORY_NAME INITIALS_ARGUMENT);
//.
//* states
    RESET
//.
//* empty struct
    self->stateless = 0;
//.
//* not empty struct and no memory to set and no states
    (void)self;
//.
}

void PREFIX_step(PREFIX *restrict self STEP_PARAMETERS) {
//* in place and copied
    /* FIELD is still read after OUTPUT is written */
    float PREFIX_copy[FIELD_SIZE];
    if (FIELD == OUTPUT) {
        COPY
        FIELD = PREFIX_copy;
    }
//.
//* empty struct
    (void)self;
//.
//* some inputs
    const PREFIX_inputs inputs = {INPUT_PLACES};
//.
    const PREFIX_outputs outputs = {OUTPUT_PLACES};
//* flushed in the struct
    PREFIX_flush(self->FIELD, self->FIELD, FIELD_SIZE);
//.
    ADVANCE(ADVANCE_ARGUMENTS);
//* states
    KEEP
//.
}
//: several

/* Up to AT_ONCE steps. */
static void PREFIX_several(PREFIX *self, size_t steps, const PREFIX_inputs *inputs, const PREFIX_outputs *outputs) {
//* isas to choose
    switch (self->isa) {
//.
//* asked
BEFORE
    case ENUMERATOR:
        PREFIX_several_BODY(SEVERAL_PACKED &self->MEMORY_NAME, steps, inputs, outputs);
        return;
AFTER
//.
//* isas to choose
    default:
//.
//* baselines when chosen
CONDITION
        PREFIX_several_BODY(SEVERAL_PACKED &self->MEMORY_NAME, steps, inputs, outputs);
//.
//* chosen by conditions
#endif
//.
//* isas to choose
        return;
    }
//.
//* no isas to choose
    PREFIX_several_ONE_BODY(SEVERAL_PACKED &self->MEMORY_NAME, steps, inputs, outputs);
//.
}
//: steps

void PREFIX_steps(PREFIX *restrict self, size_t steps STEP_PARAMETERS) {
//* no states that are swapped and not several at once
    for (size_t steps_done = 0; steps_done < steps; steps_done++) {
        PREFIX_step(self STEPS_ARGUMENTS);
    }
//.
//* several at once
    for (size_t steps_done = 0, steps_now; steps_done < steps; steps_done += steps_now) {
        const PREFIX_inputs inputs = {SEVERAL_INPUTS};
        const PREFIX_outputs outputs = {SEVERAL_OUTPUTS};
        steps_now = steps - steps_done < AT_ONCEu ? steps - steps_done : AT_ONCEu;
        PREFIX_several(self, steps_now, &inputs, &outputs);
    }
//.
//* states that are swapped
    PREFIX_inputs inputs = {INPUT_PLACES};
    PREFIX_outputs outputs = {OUTPUT_PLACES};
    if (steps == 0u) {
        return;
    }
    PREFIX_step(self STEPS_NAMES);
    for (size_t steps_done = 1; steps_done < steps; steps_done++) {
        /* the states are read where the last step wrote them */
        STEPS_PLACES
        ADVANCE(ADVANCE_ARGUMENTS);
    }
    if (steps % 2u == 0u) {
        STEPS_KEEP
    } else {
        STEPS_GIVE
    }
//.
}
//: streams

//* not zero at first
void PREFIX_row_state_init(PREFIX_row_state *row_state) {
    PREFIX_MEMORY_NAME initial;
    PREFIX_MEMORY_SET(&initial);
//.
//* zero at first
void PREFIX_row_state_init(PREFIX_row_state *row_state) {
//.
//* kept
    for (size_t i = 0; i < ROW_LENu; i++) {
        row_state->FIELD[i] = INITIALLY;
    }
//.
}

int PREFIX_row(const PREFIX *self, size_t row, PREFIX_row_state *row_state) {
    if (row >= STREAM_COUNTu) {
        return 0;
    }
//* kept
    for (size_t i = 0; i < ROW_LENu; i++) {
        row_state->FIELD[i] = self->FIELD_PLACE[row * ROW_LENu + i];
    }
//.
    return 1;
}

int PREFIX_set_row(PREFIX *self, size_t row, const PREFIX_row_state *row_state) {
    if (row >= STREAM_COUNTu) {
        return 0;
    }
//* kept
    for (size_t i = 0; i < ROW_LENu; i++) {
        self->FIELD_PLACE[row * ROW_LENu + i] = row_state->FIELD[i];
    }
//.
    return 1;
}

int PREFIX_reset_row(PREFIX *self, size_t row) {
    PREFIX_row_state row_state;
    PREFIX_row_state_init(&row_state);
    return PREFIX_set_row(self, row, &row_state);
}

void PREFIX_step_active(PREFIX *restrict self, const unsigned char *active STEP_PARAMETERS) {
//* kept
    float before_FIELD[FIELD_SIZE];
    for (size_t i = 0; i < FIELD_SIZE; i++) {
        before_FIELD[i] = self->FIELD_PLACE[i];
    }
//.
    PREFIX_step(self STREAM_NAMES);
//* kept
    for (size_t i = 0; i < FIELD_SIZE; i++) {
        self->FIELD_PLACE[i] = active[i / ROW_LENu] != 0 ? self->FIELD_PLACE[i] : before_FIELD[i];
    }
//.
}

/* One step of fewer streams than rows. */
static void PREFIX_step_some(PREFIX *self, size_t count STEP_PARAMETERS) {
//* many inputs
    FIELD_TYPE rows_FIELD[FIELD_SIZE] = {0};
    for (size_t i = 0; i < count * FIELD_ROW_LENu; i++) {
        rows_FIELD[i] = FIELD[i];
    }
//.
//* many outputs
    FIELD_TYPE rows_FIELD[FIELD_SIZE];
//.
    PREFIX_step(self ROWS_NAMES);
//* many outputs
    for (size_t i = 0; i < count * FIELD_ROW_LENu; i++) {
        FIELD[i] = rows_FIELD[i];
    }
//.
}

void PREFIX_step_many(PREFIX *restrict self, size_t count, PREFIX_row_state *const *states STEP_PARAMETERS) {
    for (size_t rows_done = 0, rows; rows_done < count; rows_done += rows) {
        rows = count - rows_done < STREAM_COUNTu ? count - rows_done : STREAM_COUNTu;
        for (size_t row = 0; row < rows; row++) {
            (void)PREFIX_set_row(self, row, states[rows_done + row]);
        }
        if (rows == STREAM_COUNTu) {
            PREFIX_step(self MANY_ARGUMENTS);
        } else {
            PREFIX_step_some(self, rows MANY_ARGUMENTS);
        }
        for (size_t row = 0; row < rows; row++) {
            (void)PREFIX_row(self, row, states[rows_done + row]);
        }
    }
}

/* The first bytes of a state: a hash of the model and of the layout. */
static const unsigned char PREFIX_state_layout[8] = {LAYOUT_HASH};

size_t PREFIX_row_state_size(void) {
    return ROW_BYTESu;
}

void PREFIX_row_state_save(const PREFIX_row_state *row_state, void *bytes) {
    unsigned char *to = (unsigned char *)bytes;
    for (size_t i = 0; i < 8u; i++) {
        *to++ = PREFIX_state_layout[i];
    }
//* kept
    for (size_t i = 0; i < ROW_LENu; i++) {
        const union { float number; uint32_t bits; } word = {row_state->FIELD[i]};
        for (unsigned place = 0; place < 32u; place += 8u) {
            *to++ = (unsigned char)(word.bits >> place & 0xffu);
        }
    }
//.
}

int PREFIX_row_state_load(PREFIX_row_state *row_state, const void *bytes, size_t size) {
    const unsigned char *from = (const unsigned char *)bytes;
    if (size != ROW_BYTESu) {
        return 0;
    }
    for (size_t i = 0; i < 8u; i++) {
        if (*from++ != PREFIX_state_layout[i]) {
            return 0;
        }
    }
//* kept
    for (size_t i = 0; i < ROW_LENu; i++) {
        union { uint32_t bits; float number; } word = {0};
        for (unsigned place = 0; place < 32u; place += 8u) {
            word.bits |= (uint32_t)*from++ << place;
        }
        row_state->FIELD[i] = word.number;
    }
//.
    return 1;
}
