//! Identifiers of generated code, derived from names of the input. No other code turns input text
//! into identifiers.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::elements::spelling;
use super::reserved::{C_LIBRARY, OF_THREADS, RESERVED, is_intrinsic};
use crate::arch::{Isa, PlannedIsa, instruction_sets};
use crate::kernel::{DelayLine, Element};

/// A number of a model's file for the program around the model, such as a level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostConstant {
    /// The name in generated code: `LOUDNESS`.
    pub name: &'static str,
    /// The number, valid in Rust and C.
    pub value: String,
    /// The meaning, in a comment.
    pub note: &'static str,
}

/// The generated interface, equal in Rust and C: names, tensors and memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The struct in Rust: `Gru`.
    pub type_name: String,
    /// The pure function in Rust, and the prefix of all names in C: `gru`.
    pub function: String,
    /// Parameters read at every step, in document order.
    pub inputs: Vec<Field>,
    /// Parameters packed once, in document order.
    pub weights: Vec<Field>,
    /// Results, in document order.
    pub outputs: Vec<Field>,
    /// The states: inputs that the struct holds between steps.
    pub states: Vec<StateField>,
    /// Variables of the model (ReadValue, Assign), in the model's order: fields of the generated
    /// [`StepMemory::State`].
    pub variables: Vec<Field>,
    /// For calls with a run-time number of steps: the inputs and outputs that have one tensor per
    /// step. `None`: one step per call.
    pub steps: Option<StepFlags>,
    /// Length of the block for intermediate values in the [`StepMemory`], in f32: the maximum over
    /// all instruction sets.
    pub block_len: usize,
    /// The arrays that a step keeps on the stack.
    pub stack: StackArrays,
    /// The input and output with permission to share one array. `None`: no such pair.
    pub in_place: Option<InPlace>,
    /// True if a step takes a pool of threads for the halves of cells.
    pub pool: bool,
    /// Constants for the program around the model, from the file of an amplifier with one sample
    /// per step.
    pub host: Vec<HostConstant>,
    /// The layout of the memory, and the counts of steps and streams of a call.
    pub layout: Layout,
    /// The number of instruction sets of the file. Instruction sets that share a body count
    /// separately.
    pub isas: usize,
    /// True if the caller of the pure function provides the [`StepMemory`], on every target: for
    /// models with variables, a sequence, or several operations. The pure function of a single cell
    /// keeps scratch memory on the stack.
    pub takes_memory: bool,
}

/// The bytes of the arrays that a step keeps on the stack: the maximum over all instruction sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StackArrays {
    /// For a step of the struct: arrays of kernels, and the copy of an input for a step in place.
    pub step: usize,
    /// For the pure function: arrays of kernels, its own scratch memory, and copies of states with
    /// 0 for denormals.
    pub function: usize,
}

impl StackArrays {
    /// The bytes in words. `step` and `function` are the names of the step and of the pure
    /// function.
    pub(crate) fn text(&self, [step, function]: [&str; 2]) -> String {
        let Self { step: of_step, function: of_function } = self;
        match of_step == of_function {
            true => format!("{of_step} bytes"),
            false => format!("{of_step} bytes in {step}, {of_function} in {function}"),
        }
    }
}

/// The memory of a step beside its inputs and outputs, as a struct of the generated code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepMemory {
    /// The model's variables, and scratch memory.
    State,
    /// Scratch memory alone: no result depends on its contents before a step.
    Scratch,
}

impl StepMemory {
    /// The type in Rust.
    pub fn type_name(self) -> &'static str {
        match self {
            Self::State => "State",
            Self::Scratch => "Scratch",
        }
    }

    /// The name of the argument and of the member, and, after the prefix, of the type in C.
    pub fn name(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Scratch => "scratch",
        }
    }

    /// The function in C that sets the memory before the first step, after the prefix.
    pub fn setter(self) -> &'static str {
        match self {
            Self::State => "state_reset",
            Self::Scratch => "scratch_init",
        }
    }
}

/// The fewest steps of a call that are computed together. Fewer steps run one by one: kernels of
/// several steps always compute all steps of a block.
pub(crate) const LEAST_TOGETHER: usize = 4;

/// The layout of the [`StepMemory`], the counts of steps and streams of a call, and the source of
/// the weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// True if the memory stores the reading direction of large weights.
    pub alternates: bool,
    /// Counts of steps that select the rows of delay lines.
    pub phases: Vec<Phase>,
    /// By variable: the layout of a delay line. All other variables are in the model's order.
    pub delay_lines: BTreeMap<usize, DelayLine>,
    /// The most steps that a call computes together. 1: one step after the other.
    pub steps_at_once: usize,
    /// The number of independent streams: rows of every input, output and state.
    pub streams: Option<usize>,
    /// True if a program loads the weights from a file.
    pub loads_weights: bool,
}

/// A count of steps in the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// The identifier.
    pub name: String,
    /// The count is the number of steps so far, modulo this number.
    pub steps: usize,
}

/// An input or output of the generated code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The identifier.
    pub name: String,
    /// Index into the model's parameters, results or variables.
    pub index: usize,
    /// The shape.
    pub shape: Vec<usize>,
    /// The type of the elements: f32, except for sequence lengths and other integers.
    pub element: Element,
}

/// An input and an output of one type that may share one array: the only ones apart from states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InPlace {
    /// Index into [`Interface::inputs`].
    pub input: usize,
    /// Index into [`Interface::outputs`].
    pub output: usize,
    /// True if a step reads the input after beginning to write the output; the step then reads a
    /// copy.
    pub copies: bool,
}

impl InPlace {
    /// The copies of a step in place, as text. Instruction sets that may repeat a step copy the
    /// input.
    pub(crate) fn copied(&self, isas: &[PlannedIsa]) -> String {
        let again: Vec<_> = isas
            .iter()
            .filter(|planned| planned.isa.c.flushes.is_some())
            .map(|planned| planned.isa.name)
            .collect();
        match (self.copies, &again[..]) {
            (true, _) => "the input is copied first".to_owned(),
            (false, []) => "nothing is copied".to_owned(),
            (false, again) => format!("the input is copied first on {} alone", again.join(" and ")),
        }
    }
}

/// For each tensor, by its index: true if every step of a call has a tensor of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepFlags {
    /// For the model's parameters.
    pub inputs: Vec<bool>,
    /// For the model's results.
    pub outputs: Vec<bool>,
}

/// A state of the struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateField {
    /// Index into [`Interface::inputs`].
    pub input: usize,
    /// Index into [`Interface::outputs`].
    pub output: usize,
}

impl Field {
    /// The number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// True if the field has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Interface {
    /// Makes the weights, all constants of the model, an argument that a program loads from a file.
    /// Removes the constants for the program around the model: they are not true of other weights.
    pub(crate) fn load_weights(&mut self) {
        self.layout.loads_weights = true;
        self.host.clear();
    }

    /// True if the weights are an argument.
    pub fn takes_weights(&self) -> bool {
        self.layout.loads_weights || !self.weights.is_empty()
    }

    /// True if an input, weight or output has this name.
    pub fn has_field(&self, name: &str) -> bool {
        self.inputs.iter().chain(&self.weights).chain(&self.outputs).any(|field| field.name == name)
    }

    /// The name of the count of steps modulo `steps`.
    pub(crate) fn phase(&self, steps: usize) -> &str {
        let known = self.layout.phases.iter().find(|phase| phase.steps == steps);
        &known.expect("emit: every count of the program has a name").name
    }

    /// The variables in the model's order: all but delay lines.
    pub fn ordered_variables(&self) -> impl Iterator<Item = &Field> {
        self.variables.iter().filter(|field| !self.layout.delay_lines.contains_key(&field.index))
    }

    /// True if kernels use a [`StepMemory`].
    pub fn has_memory(&self) -> bool {
        self.takes_memory || self.layout.alternates || self.block_len > 0
    }

    /// The memory of a step.
    pub fn memory(&self) -> StepMemory {
        if self.variables.is_empty() { StepMemory::Scratch } else { StepMemory::State }
    }

    /// True if the memory must be set before the first step.
    pub fn sets_memory(&self) -> bool {
        self.layout.alternates || !self.variables.is_empty()
    }

    /// True if the caller can choose an instruction set.
    pub fn has_isas(&self) -> bool {
        self.isas > 1
    }

    /// The input and output that may share one array.
    pub fn in_place(&self) -> Option<(&Field, &Field)> {
        self.in_place.map(|pair| (&self.inputs[pair.input], &self.outputs[pair.output]))
    }

    /// The inputs of `step`: all inputs without states.
    pub fn step_inputs(&self) -> impl Iterator<Item = &Field> {
        let state = |i: usize| self.states.iter().any(|s| s.input == i);
        self.inputs.iter().enumerate().filter(move |(i, _)| !state(*i)).map(|(_, f)| f)
    }
}

/// The identifiers of one scope of generated code. Every identifier is declared once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// The surrounding scope. The declarations of the surrounding scope must not be hidden.
    around: Option<Rc<Scope>>,
    taken: BTreeSet<String>,
    /// By base name: the next number to try. Avoids quadratic time for many equal names.
    next: BTreeMap<String, usize>,
}

impl Scope {
    /// A scope with the reserved names `taken`.
    pub(crate) fn new(taken: &[&str]) -> Self {
        Self { taken: taken.iter().map(|s| s.to_string()).collect(), ..Self::default() }
    }

    /// The scope of the members of the struct `function` in C. `elements` are the element types of
    /// its fields.
    pub(crate) fn members(
        function: &str,
        pool: bool,
        steps: bool,
        elements: impl Iterator<Item = Element>,
    ) -> Self {
        let mut scope = Self::new(MEMBERS);
        // items that C functions use and that an argument must not hide
        let mut c_items = C_ITEMS.to_vec();
        if pool {
            scope.take(POOL_MEMBERS);
            c_items.extend(POOL_ITEMS);
        }
        if steps {
            scope.take(STEPS_MEMBERS);
            c_items.push("step");
        }
        scope.taken.extend(c_items.iter().map(|suffix| format!("{function}_{suffix}")));
        let bodies = instruction_sets().map(|isa| format!("{function}_run_{}", isa.name));
        scope.taken.extend(bodies);
        scope.taken.extend(elements.map(|element| spelling(element).c.to_owned()));
        scope
    }

    /// Reserves names.
    pub(crate) fn take<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) {
        self.taken.extend(names.into_iter().map(str::to_owned));
    }

    /// A scope inside `around`.
    pub(crate) fn within(around: Rc<Scope>) -> Self {
        Self { around: Some(around), ..Self::default() }
    }

    /// Ends this scope. Returns the surrounding scope.
    pub(crate) fn leave(self) -> Self {
        self.around.map(Rc::unwrap_or_clone).unwrap_or_default()
    }

    /// A new identifier like `hint`, unique in the scope: `h`, then `h_2`, `h_3`, ...
    pub(crate) fn unique(&mut self, hint: &str) -> String {
        let base = identifier(hint).unwrap_or_else(|| "value".to_string());
        let mut name = base.clone();
        let mut n = self.next(&base);
        while !self.is_free(&name) {
            name = format!("{}_{n}", base.trim_end_matches('_'));
            n += 1;
        }
        self.next.insert(base, n);
        // a getter `h` comes with a setter `set_h`, whose name is taken, too
        self.taken.insert(format!("set_{name}"));
        self.taken.insert(name.clone());
        name
    }

    fn next(&self, base: &str) -> usize {
        match (self.next.get(base), &self.around) {
            (Some(n), _) => *n,
            (None, Some(around)) => around.next(base),
            (None, None) => 2,
        }
    }

    fn has(&self, name: &str) -> bool {
        self.taken.contains(name) || self.around.as_ref().is_some_and(|around| around.has(name))
    }

    fn is_free(&self, name: &str) -> bool {
        !self.has(name) && !self.has(&format!("set_{name}"))
    }

    /// A unique identifier like the first of `names` that gives an identifier, else like `fallback`
    /// and `index`: `in0`, `out1`.
    pub(crate) fn field(&mut self, names: &[String], fallback: &str, index: usize) -> String {
        let hint = names.iter().find_map(|n| identifier(n));
        self.unique(&hint.unwrap_or_else(|| format!("{fallback}{index}")))
    }
}

/// The length at which identifiers are cut, before prefixes and suffixes make them unique and
/// valid.
const LONGEST: usize = 40;

/// `text` as a snake_case identifier, not reserved in any language. `None` if no character remains.
pub(crate) fn identifier(text: &str) -> Option<String> {
    let mut name = String::new();
    let mut previous = None;
    for c in text.chars() {
        if name.len() >= LONGEST {
            break;
        }
        if c.is_ascii_alphanumeric() {
            let camel = |p: char| p.is_ascii_lowercase() || p.is_ascii_digit();
            if c.is_ascii_uppercase() && previous.is_some_and(camel) {
                name.push('_');
            }
            name.push(c.to_ascii_lowercase());
        } else if !name.is_empty() && !name.ends_with('_') {
            name.push('_');
        }
        previous = Some(c);
    }
    let mut name = name.trim_matches('_').to_string();
    if name.is_empty() {
        return None;
    }
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        name.insert_str(0, "n_");
    }
    if RESERVED.contains(&name.as_str()) {
        name.push('_');
    }
    Some(name)
}

/// The prefix of a generated file: an identifier distinct from declarations of the file and of the
/// C library.
pub fn prefix(name: &str, pool: bool) -> String {
    match identifier(name) {
        None => "model".to_string(),
        Some(name) => {
            let bare = name.trim_end_matches('_');
            let of_threads = |word: &str| {
                bare.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
            };
            let clash = name != bare
                || FILE_ITEMS.contains(&bare)
                || Isa::from_name(bare.strip_prefix("has_").unwrap_or(bare)).is_some()
                || C_LIBRARY.contains(&bare)
                || is_intrinsic(bare);
            let clash = clash
                || pool && (POOL_ITEMS.contains(&bare) || OF_THREADS.into_iter().any(of_threads));
            if clash { format!("{bare}_cell") } else { name }
        }
    }
}

/// `gru_cell` as `GruCell`.
pub(crate) fn pascal_case(snake: &str) -> String {
    snake
        .split('_')
        .filter(|part| !part.is_empty())
        .map(|part| part[..1].to_ascii_uppercase() + &part[1..])
        .collect()
}

/// Methods and arguments of generated structs.
const MEMBERS: &[&str] = &[
    "new",
    "with_isa",
    "isa",
    "reset",
    "step",
    "step_in_place",
    "steps_in_place",
    "packed",
    "weights",
    "inputs",
    "outputs",
    "state",
    "scratch",
    "state_mut",
    "block",
    "backwards",
    "init",
    "init_isa",
    "run",
    "pack",
    "load",
    "memcpy",
    "memset",
];

/// Further members if a step takes a pool.
pub(crate) const POOL_MEMBERS: [&str; 7] =
    ["pool", "pair", "step_with", "join", "here", "there", "context"];

/// Further members if calls take a run-time number of steps.
const STEPS_MEMBERS: [&str; 4] = ["steps", "steps_done", "steps_now", "steps_before"];

/// Further members and arguments in files of independent streams.
pub(crate) const STREAM_MEMBERS: [&str; 13] = [
    "row",
    "rows",
    "row_state",
    "set_row",
    "reset_row",
    "active",
    "is_active",
    "step_active",
    "step_many",
    "states",
    "to",
    "from",
    "rows_done",
];

/// Further items of the file for pools, also used in C after the prefix.
const POOL_ITEMS: [&str; 4] = ["join", "pair", "pool", "threads"];

/// Types and functions of generated C, after the prefix and an underscore.
const C_ITEMS: [&str; 18] = [
    "load",
    "several",
    "isa",
    "inputs",
    "outputs",
    "weights",
    "packed",
    "state",
    "scratch",
    "run",
    "run_on",
    "size",
    "alignment",
    "advance",
    "copy",
    "copy_floats",
    "flush",
    "tiles_allowed",
];

/// Snake-case forms of other items of a generated file, and of names from Rust's prelude.
#[rustfmt::skip]
const FILE_ITEMS: &[&str] = &[
    "isa", "kind", "inputs", "outputs", "step_inputs", "weights", "constants", "weight", "packed", "pack", "load_error", "part", "flat", "flat_mut", "has", "has_tiles", "state", "scratch", "cut", "aligned",
    "option", "some", "none", "default", "clone", "copy", "debug", "partial_eq", "eq", "iterator",
    "into_iterator", "cell", "cellc", "cellc_element", "cellc_model", "cellc_runtime", "cellc_tensor", "core", "std", "main", "result", "ok", "err", "drop", "send", "sync",
    "sized", "vec", "string", "box", "fn", "fn_mut", "fn_once", "from", "into", "to_string", "as_ref", "as_mut",
    "extend", "ord", "partial_ord", "unequal_steps", "unequal_streams", "row_state", "other_state", "advance", "flushed", "found", "flush", "greater", "smaller", "select_less",
    "vector", "vectors", "intrinsics", "bits", "dot_pairs", "dot_quads", "dot_unsigned_quads", "dot", "pairs", "paired", "flush_limit", "half_to_f32", "part_of", "part_of_mut", "part_from", "part_from_mut",
    "chunks", "chunks_mut", "hidden_chunks", "windows", "windows_mut", "flattened", "turn_by_turn", "activations", "mul_add_in_software",
    "l", "n", "t", "at", "len", "dot_pairs_lane", "dot_quads_lane", "dot_unsigned_quads_lane", "dot_even_bytes_lane", "dot_odd_bytes_lane",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anything_becomes_an_identifier_or_nothing() {
        assert_eq!(identifier("h_out").as_deref(), Some("h_out"));
        assert_eq!(identifier("X").as_deref(), Some("x"));
        assert_eq!(identifier("hiddenState:0").as_deref(), Some("hidden_state_0"));
        assert_eq!(identifier("*/ }; system(\"x\");").as_deref(), Some("system_x"));
        assert_eq!(identifier("9lives").as_deref(), Some("n_9lives"));
        assert_eq!(identifier("fn").as_deref(), Some("fn_"));
        assert_eq!(identifier("\u{202e}\n"), None);
        assert_eq!(identifier(&"x".repeat(100_000)).map(|n| n.len()), Some(LONGEST));
    }

    #[test]
    fn no_name_is_given_twice() {
        let mut scope = Scope::new(&["step"]);
        // set_h_2 is the setter of h_2
        let names: Vec<_> = ["h", "h", "step", "set_h", "fn", "fn", "h_2"]
            .iter()
            .map(|n| scope.unique(n))
            .collect();
        assert_eq!(names, ["h", "h_2", "step_2", "set_h_3", "fn_", "fn_2", "h_2_2"]);
    }

    #[test]
    fn a_file_is_never_named_like_something_in_it() {
        assert_eq!(prefix("gru", false), "gru");
        assert_eq!(prefix("weights", false), "weights_cell");
        assert_eq!(prefix("exp", false), "exp_cell");
        assert_eq!(prefix("int", false), "int_cell");
        assert_eq!(prefix("...", false), "model");
        for name in [
            "vabsq_f32",
            "vabsq",
            "vget_lane_u8",
            "vreinterpret_f32_s32",
            "asrl",
            "float32x4_t",
            "vint32m1_t",
        ] {
            assert_eq!(prefix(name, false), format!("{name}_cell"));
        }
        assert_eq!(prefix("wasm_f32x4_add", false), "wasm_f32x4_add_cell");
        // names of models, such as `vad` for voice activity detection
        for name in [
            "vad", "vad_f32", "vq", "vgg16", "vit_f16", "vst3", "wasm_gru", "gru_f32", "net_t",
            "int8_gru",
        ] {
            assert_eq!(prefix(name, false), name);
        }
        assert_eq!(pascal_case("my_gru_2"), "MyGru2");
    }
}
