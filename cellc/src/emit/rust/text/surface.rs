//: version
/// The version of cellc that generated this file.
#[unused]
pub const CELLC_VERSION: &str = "CELLC_RELEASE";
//* model's files
/// SHA-256 of HASHED_FILE.
#[unused]
pub const HASH_OF_FILE: &str = "HEXADECIMAL_DIGEST";
//.
//* host
/// HOST_NOTE.
#[unused]
pub const HOST_CONSTANT: f64 = HOST_VALUE;
//.

//: isa
/// An instruction set of this machine. Only [`Isa::detect`] and [`Isa::from_name`] make one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isa(Kind);
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
//* isas
    CFG
    ISA_KIND = ISA_NUMBER,
//.
}
//* shared baseline
/// The name of the instruction set that every processor of the target has.
const BASELINE: &str = BASELINE_NAME;
//.
//* asks
/// The result of [`Isa::detect`] as a number; 0 before the first call.
static FOUND: core::sync::atomic::AtomicU8 = core::sync::atomic::AtomicU8::new(0);
//.
#[unused]
impl Isa {
    /// The best instruction set of this machine. The first call asks the processor.
    #[must_use]
    pub fn detect() -> Self {
//* asks
        match FOUND.load(core::sync::atomic::Ordering::Relaxed) {
//.
//* isas and asks
            CFG
            ISA_NUMBER => return Isa(Kind::ISA_KIND),
//.
//* asks
            _ => {}
        }
        let found = Self::ask();
        FOUND.store(found.0 as u8, core::sync::atomic::Ordering::Relaxed);
        found
    }
    /// The best instruction set that the processor says it has.
    fn ask() -> Self {
//.
//* asked, best first
        CFG
        if QUESTION {
            return Isa(Kind::ISA_KIND);
        }
//.
//* chosen
        CHOICE
//.
    }
    /// The instruction set of that name (ISA_NAMES); `None` if there is no code for it here or the machine lacks it.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
//* chosen
            CFG
            ISA_NAME => Some(Isa(Kind::ISA_KIND)),
//.
//* asked, best first
            CFG
            ISA_NAME if QUESTION => Some(Isa(Kind::ISA_KIND)),
//.
            _ => None,
        }
    }
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self.0 {
//* chosen
            CFG
            Kind::ISA_KIND => ISA_NAME,
//.
//* asked, best first
            CFG
            Kind::ISA_KIND => ISA_NAME,
//.
        }
    }
}

//: inputs
/// The inputs of [`FUNCTION()`], in the model's order.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
//* inputs
    /// Shape `FIELD_SHAPE`.
    pub FIELD: &'a FIELD_ARRAY,
//.
}

//: step inputs
/// The inputs of [`TYPE_NAME::step`]: all but the state.
#[derive(Clone, Copy, Debug)]
pub struct StepInputs<'a> {
//* step inputs
    /// Shape `FIELD_SHAPE`.
    pub FIELD: &'a FIELD_ARRAY,
//.
}

//: outputs
/// The outputs, in the model's order.
#[unused]
#[derive(Clone, Copy, Debug)]
pub struct Outputs {
//* outputs
    /// Shape `FIELD_SHAPE`.
    pub FIELD: FIELD_ARRAY,
//.
}
#[unused_new]
impl Outputs {
    /// All zero.
    #[must_use]
    pub const fn new() -> Self {
        Outputs {
//* outputs
            FIELD: FIELD_ZERO,
//.
        }
    }
}

//: given weights
/// The weights, as the model's inputs hold them.
#[unused]
#[derive(Clone, Copy, Debug)]
pub struct Weights<'a> {
//* weights
    /// Shape `FIELD_SHAPE`.
    pub FIELD: &'a FIELD_NESTED,
//.
}

//: packed
/// The weights in the order in which the kernels read them. FILLED_BY fills it.
#[unused]
#[derive(Clone, Debug)]
#[repr(C, align(ALIGNMENT))]
pub struct Packed {
    values: [f32; PACKED_LEN],
//* packed pairs
    pairs: [[u8; 2]; PACKED_PAIRS],
//.
}
#[unused_new]
impl Packed {
    /// All zero. It has PACKED_BYTES bytes: keep it in a static, or make it once.
    #[must_use]
    pub const fn new() -> Self {
        Packed {
            values: [0.0; PACKED_LEN],
//* packed pairs
            pairs: [[0; 2]; PACKED_PAIRS],
//.
        }
    }
}

//: pack
/// Puts weights into the order in which the kernels read them.
#[unused]
pub fn pack(weights: &Weights<'_>, packed: &mut Packed) {
//* no packed pairs
    pack::run(weights, &mut packed.values);
//.
//* packed pairs
    pack::run(weights, &mut packed.values, &mut packed.pairs);
//.
}

//: load
#[unused]
impl Packed {
    /// The layout of the weights and the options of this file, which `cellc pack --like` reads.
    pub const LAYOUT: &'static str = "LAYOUT_RECORD";
    /// The length of a file of weights in bytes.
    pub const FILE_BYTES: usize = LOADED_BYTES;
    /// Takes the weights from a file of `cellc pack`.
    ///
    /// # Errors
    /// Other bytes, or weights of another layout; nothing changes then.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), LoadError> {
        if !bytes.starts_with(&LOADED_MAGIC) {
            return Err(LoadError::NoWeights);
        }
        if bytes.get(8..16) != Some(&LOADED_HASH) {
            return Err(LoadError::OtherLayout);
        }
        if bytes.len() != Self::FILE_BYTES {
            return Err(LoadError::OtherLength);
        }
        for (to, word) in self.values.iter_mut().zip(bytes.as_chunks().0.iter().skip(4)) {
            *to = f32::from_le_bytes(*word);
        }
        Ok(())
    }
}
/// Why [`Packed::load`] refuses bytes.
#[unused]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// They are no file of `cellc pack`.
    NoWeights,
    /// They are weights of other layers, shapes or options.
    OtherLayout,
    /// They are incomplete, or more than a file of weights.
    OtherLength,
}
impl core::fmt::Display for LoadError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            LoadError::NoWeights => "the bytes are no file of cellc pack",
            LoadError::OtherLayout => "the weights are of other layers, shapes or options",
            LoadError::OtherLength => "the file of weights has another length",
        })
    }
}
impl core::error::Error for LoadError {}

//: memory
//* memory of the caller and some variables
/// The state of [`FUNCTION()`] between steps, and its scratch memory.
//.
//* memory of the caller and no variables and not empty memory
/// Scratch memory of [`FUNCTION()`]: no result depends on its contents before a step.
//.
//* memory of the caller and no variables and empty memory
/// Empty: a step of this file needs no scratch memory. [`FUNCTION()`] takes it as in files for
/// other targets.
//.
//* own memory and order
/// The order in which weights are read, which changes with each step, and scratch memory.
//.
//* own memory and no order
/// Scratch memory of a step.
//.
#[unused]
#[derive(Clone, Debug)]
//* not empty memory
#[repr(C, align(ALIGNMENT))]
//.
PUB struct MEMORY_TYPE {
//* block
    /// Scratch memory, BLOCK_BYTES bytes.
    block: BLOCK_ARRAY,
//.
//* variables
    /// ABOUT_VARIABLE.
    pub FIELD: [f32; FIELD_LEN],
//.
//* order
    /// The order in which large weights are read, 0 and 1 alternately. No result depends on it.
    backwards: u32,
//.
//* phases
    /// The number of steps so far, modulo PHASE_STEPS: the row of delay lines that the next step uses.
    PHASE_NAME: u32,
//.
}
#[unused_new]
impl MEMORY_TYPE {
//* zero at first
    /// All zero.
    #[must_use]
    PUB const fn new() -> Self {
        MEMORY_TYPE {
//.
//* not zero at first
    /// Every variable has its initial value.
    #[must_use]
    pub fn new(INITIALS: ()) -> Self {
        let mut state = State {
//.
//* order
            backwards: 0,
//.
//* phases
            PHASE_NAME: 0,
//.
//* block
            block: BLOCK_ZERO,
//.
//* variables
            FIELD: [0.0; FIELD_LEN],
//.
        }
//* not zero at first
        ;
        state.reset(INITIALS_GIVEN);
        state
//.
    }
//* some variables
    /// Sets every variable to its initial value.
    PUB fn reset(&mut self, INITIALS: ()) {
//.
//* variables
        RESET;
//.
//* phases
        self.PHASE_NAME = 0;
//.
//* some variables
    }
//.
//* filled rows
    #[inline(never)]
    fn fill<const ROW: usize>(rows: &mut [[f32; ROW]], values: &[f32]) {
        for (row, value) in rows.iter_mut().zip(values) {
            row.fill(*value);
        }
    }
//.
}

//: function
/// One step: reads every input and writes every output.
#[unused]
pub fn FUNCTION(RUN_PARAMETERS: ()) {
//* isas to choose
    FUNCTION_PATH_on(Isa::detect(), RUN_NAMES)
}
/// [`FUNCTION()`] on a given instruction set.
pub fn FUNCTION_on(isa: Isa, RUN_PARAMETERS: ()) {
//.
//* own memory
    let MEMORY_NAME = &mut MEMORY_TYPE::new();
//.
    RUN;
}
//* advances
/// One step, which the function and the struct share.
fn advance(ADVANCE_PARAMETERS: ()) {
    BODIES;
}
//.
//* flushes
/// The values, with 0 for magnitudes below 2^-100.
fn flushed<const N: usize>(values: &[f32; N]) -> [f32; N] {
    let mut left = *values;
    for v in left.iter_mut() {
        *v = if v.abs() < FLUSH_LIMIT { 0.0 } else { *v };
    }
    left
}
//.
//* rows
/// The rows as one array: another number of elements does not compile.
fn flat<const I: usize, const N: usize, const L: usize>(rows: &[[f32; I]; N]) -> &[f32; L] {
    const { assert!(I * N == L) };
    // SAFETY: the elements of rows stand one after the other, as many as asserted
    unsafe { &*rows.as_ptr().cast() }
}
//.
//* rows written
/// The rows as one array: another number of elements does not compile.
fn flat_mut<const I: usize, const N: usize, const L: usize>(rows: &mut [[f32; I]; N]) -> &mut [f32; L] {
    const { assert!(I * N == L) };
    // SAFETY: the elements of rows stand one after the other, as many as asserted
    unsafe { &mut *rows.as_mut_ptr().cast() }
}
//.

//: unequal steps
/// The slices given to [`TYPE_NAME::steps`] have different numbers of steps.
#[unused]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnequalSteps;
impl core::fmt::Display for UnequalSteps {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the slices do not hold the same number of steps")
    }
}
impl core::error::Error for UnequalSteps {}

//: struct
DOC!();
#[derive(Clone, Debug)]
#[aligned]
pub struct TYPE_NAME<'w> {
//* isas to choose
    isa: Isa,
//.
//* packed
    packed: &'w Packed,
//.
//* pool
    pair: Pair,
//.
//* memory
    MEMORY_NAME: MEMORY_TYPE,
//.
//* states
    FIELD: FIELD_ARRAY,
//.
}
#[unused]
impl<'w> TYPE_NAME<'w> {
//* isas to choose
    /// AT_FIRST, on the best instruction set of this machine.
    #[must_use]
    pub fn new(packed: &'w Packed) -> Self {
        Self::with_isa(Isa::detect(), packed)
    }
    /// AT_FIRST, on a given instruction set.
    #[must_use]
    pub CONST_FN with_isa(isa: Isa, packed: &'w Packed) -> Self {
//.
//* no isas to choose
    /// AT_FIRST.
    #[must_use]
    pub CONST_FN new(packed: &'w Packed) -> Self {
//.
        TYPE_NAME {
//* isas to choose
            isa,
//.
//* packed
            packed,
//.
//* pool
            pair: Pair::new(),
//.
//* memory
            MEMORY_NAME: MEMORY_TYPE::new(INITIALS_GIVEN),
//.
//* states
            FIELD: FIELD_ZERO,
//.
        }
    }
//* isas to choose
    /// The instruction set in use.
    pub fn isa(&self) -> Isa {
        self.isa
    }
//.
//* state between steps
    /// Sets the state to ITS_INITIAL_VALUE.
//.
//* no state between steps
    /// Does nothing: the model has no state.
//.
    pub fn reset(&mut self) {
//* some variables
        self.state.reset(INITIALS_OWN);
//.
//* states
        self.FIELD = FIELD_ZERO;
//.
    }
//* no pool
    /// One step: reads the inputs, writes every outputKEEPS_STATE.
//.
//* pool
    /// One step: reads the inputs, writes every outputKEEPS_STATE. It uses two threads if that is faster; the first such step starts the helper of [`Pair`].
//.
    pub fn step(&mut self, STEP_PARAMETERS: ()) {
        STEP;
//* states
        self.FIELD = KEPT;
//.
    }
//* pool
    /// Like [`Self::step`], on threads of your own.
    pub fn step_with(&mut self, pool: &mut dyn Join, STEP_PARAMETERS: ()) {
        STEP_WITH;
//.
//* states and pool
        self.FIELD = KEPT;
//.
//* pool
    }
    /// The threads of [`Self::step`].
    pub fn pair(&mut self) -> &mut Pair {
        &mut self.pair
    }
//.
//* several steps
    /// The same as [`Self::step`] for each step of the slices, in order.
    ///
    /// An output that is not a slice is that of the last step; without steps nothing is written. The state continues
    /// from call to call. [`Self::reset`] starts another sequence.
    pub fn steps(&mut self, PARAMETERS: ()) -> Result<(), UnequalSteps> {
        CHECK;
        OUTPUTS;
        for NAMES in PLACES {
            STEP;
        }
        KEEP;
        Ok(())
    }
//.
//* in place
    /// [`Self::step`] in place: `io` is `FIELD` before and `OUTPUT` after.
    pub fn step_in_place(&mut self, io: &mut OUT_ARRAY) {
        let input = *io;
        STEP;
    }
//.
//* steps in place and not several at once
    /// [`Self::steps`] in place: calls [`Self::step_in_place`] for each step of `io`.
    pub fn steps_in_place(&mut self, io: &mut [OUT_ARRAY]) {
        for io in io {
            self.step_in_place(io);
        }
    }
//.
//* steps in place and several at once
    /// [`Self::steps`] in place: `io` holds `FIELD` before and `OUTPUT` after.
    pub fn steps_in_place(&mut self, io: &mut [OUT_ARRAY]) {
        for io in io.chunks_mut(AT_ONCE) {
            let mut input = [FIELD_ZERO; AT_ONCE];
            for (to, from) in input.iter_mut().zip(io.iter()) {
                *to = *from;
            }
            SEVERAL_IN_PLACE;
        }
    }
//.
//* states
    /// The state `FIELD`.
    pub fn FIELD(&self) -> &FIELD_ARRAY {
        &self.FIELD
    }
    /// Sets the state `FIELD`.
    pub fn set_FIELD(&mut self, FIELD: &FIELD_ARRAY) {
        self.FIELD = GIVEN;
    }
//.
//* variables in order
    /// The variable `FIELD`, shape `FIELD_SHAPE`.
    pub fn FIELD(&self) -> &[f32; FIELD_LEN] {
        &self.state.FIELD
    }
    /// Sets the variable `FIELD`.
    pub fn set_FIELD(&mut self, FIELD: &[f32; FIELD_LEN]) {
        self.state.FIELD = *FIELD;
    }
//.
//* memory of the caller and some variables
    /// The state and the scratch memory of [`FUNCTION()`].
    pub fn state(&self) -> &State {
        &self.state
    }
    /// The state and the scratch memory of [`FUNCTION()`].
    pub fn state_mut(&mut self) -> &mut State {
        &mut self.state
    }
//.
}
//* not packed
impl Default for TYPE_NAME {
    fn default() -> Self {
        Self::new()
    }
}
//.

//: runtime
impl<'w> ::cellc_runtime::Cell for TYPE_NAME<'w> {
    type Input<'a> = STEP_INPUT;
    type Output = STEP_OUTPUT;
    const INPUTS: &'static [::cellc_runtime::Port] = &[
//* step inputs
        ::cellc_runtime::Port { name: "FIELD", shape: &FIELD_SHAPE, element: ::cellc_runtime::Element::FIELD_PORT },
//.
    ];
    const OUTPUTS: &'static [::cellc_runtime::Port] = &[
//* outputs
        ::cellc_runtime::Port { name: "FIELD", shape: &FIELD_SHAPE, element: ::cellc_runtime::Element::FIELD_PORT },
//.
    ];
    const STATES: &'static [::cellc_runtime::Port] = &[
//* states
        ::cellc_runtime::Port { name: "FIELD", shape: &FIELD_SHAPE, element: ::cellc_runtime::Element::FIELD_PORT },
//.
//* variables
        ::cellc_runtime::Port { name: "FIELD", shape: &FIELD_SHAPE, element: ::cellc_runtime::Element::FIELD_PORT },
//.
    ];
    fn zeroed_output() -> Self::Output {
        STEP_ZERO
    }
//* no step inputs
    fn step(&mut self, _: Self::Input<'_>, output: &mut Self::Output) {
        Self::step(self, output)
    }
//.
//* some step inputs
    fn step(&mut self, input: Self::Input<'_>, output: &mut Self::Output) {
        Self::step(self, input, output)
    }
//.
    fn reset(&mut self) {
        Self::reset(self)
    }
    fn isa_name(&self) -> &'static str {
//* isas to choose
        Self::isa(self).name()
//.
//* no isas to choose
        "ONE_NAME"
//.
    }
}

//: decimal weights
/// Weights and constants, in the order in which the kernels read them.
static WEIGHTS: [f32; BAKED_LEN] = [DECIMAL_WEIGHTS];

//: weights
const _: () = assert!(cfg!(target_endian = "little"), "the weights are little-endian numbers");
/// Weights and constants.
#[repr(C)]
struct STORED_TYPE {
//* stored
    /// STORED_DOC
    STORED_NAME: vectors::Aligned<STORED_ARRAY>,
//.
}
//* large weights
/// The weights. Not inlined, or rustc copies them to each codegen unit that reads them.
#[inline(never)]
fn weights() -> &'static STORED_TYPE {
    &WEIGHTS
}
//.
// SAFETY: all bits are those of some number, and another number of bytes does not compile
static WEIGHTS: STORED_TYPE = unsafe { core::mem::transmute::<[u8; BAKED_BYTES], STORED_TYPE>(CELLC_WEIGHTS) };
