//! The surface of a generated file: the items around its kernels, their order, and the words and
//! lists for their texts.

use super::names::{Field, Interface, Phase};
use super::record::record;
use super::signature::Signature;
use super::text::{List, Word, when};
use super::{Contents, tensors};
use crate::arch::Isa;
use crate::kernel::Element;
use crate::pack::Loaded;
use crate::request::Language;

/// An item around the kernels of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// The instruction sets of the file, and their detection.
    InstructionSets,
    /// The record of inputs of the function.
    Inputs,
    /// The record of inputs of the struct's step. Rust alone.
    StepInputs,
    /// The record of outputs.
    Outputs,
    /// The weights as inputs of the model.
    GivenWeights,
    /// The memory of packed weights.
    Packed,
    /// The function that packs weights.
    Pack,
    /// The function that loads packed weights from bytes.
    Load,
    /// The memory of a step: state and scratch memory.
    Memory,
    /// Threads for the halves of cells.
    Pool,
    /// The pure function.
    Function,
    /// The error of slices with different numbers of steps. Rust alone.
    UnequalSteps,
    /// The struct with the state.
    Struct,
    /// The function of several steps. C alone: in Rust, it is a method of the struct.
    Steps,
    /// Independent streams.
    Streams,
}

/// Words of one language for entries of lists, in addition to words of both languages.
pub(super) trait OwnWords {
    /// Words of an instruction set.
    fn isa(&self, isa: &'static Isa) -> Vec<Word>;
    /// Words of a state of the struct. `output` has the state's next value.
    fn state(&self, state: &Field, output: &Field) -> Vec<Word>;
    /// Words of a variable. `at`: the number of variables before.
    fn variable(&self, at: usize, variable: &Field) -> Vec<Word>;
    /// Words of the input and output that may share one array.
    fn in_place(&self, input: &Field, output: &Field) -> Vec<Word>;
}

impl Contents<'_> {
    /// The file's items, in order.
    pub(super) fn items(&self, language: Language) -> Vec<Item> {
        let (interface, rust) = (self.interface, language == Language::Rust);
        let (function, step) =
            (Signature::function(interface, language), Signature::step(interface));
        let record = |signature: &Signature<'_>| {
            signature.inputs().is_some_and(|inputs| inputs.record.is_some())
        };
        let steps = interface.steps.is_some();
        [
            (Item::InstructionSets, !rust || interface.has_isas()),
            (Item::Inputs, record(&function)),
            (Item::StepInputs, rust && record(&step) && !interface.states.is_empty()),
            (Item::Outputs, function.outputs().record.is_some()),
            (Item::GivenWeights, !interface.weights.is_empty()),
            (Item::Packed, !self.is_baked()),
            (Item::Pack, !interface.weights.is_empty()),
            (Item::Load, interface.layout.loads_weights),
            (Item::Memory, interface.has_memory()),
            (Item::Pool, interface.pool && !rust),
            (Item::Function, true),
            (Item::Pool, interface.pool && rust),
            (Item::UnequalSteps, steps && rust),
            (Item::Struct, true),
            (Item::Steps, steps && !rust),
            (Item::Streams, interface.layout.streams.is_some()),
        ]
        .into_iter()
        .filter_map(|(item, is_there)| is_there.then_some(item))
        .collect()
    }

    /// The lists for texts of both languages: tensors, and optional parts of a file.
    pub(super) fn lists(&self, own: &dyn OwnWords) -> Vec<List> {
        let keeps = self.interface.sets_memory();
        let is_empty = !keeps && self.interface.block_len == 0;
        let (interface, upper) = (self.interface, self.interface.function.to_ascii_uppercase());
        let words = |field: &Field| tensors::words(field, &upper);
        let words_of = |fields: &[Field]| fields.iter().map(words).collect::<Vec<_>>();
        let with = |field: &Field, word, value: &str| {
            [words(field), vec![(word, value.to_owned())]].concat()
        };
        let kinds = [
            (&interface.inputs, "input"),
            (&interface.weights, "weights"),
            (&interface.outputs, "output"),
            (&interface.variables, "variable"),
        ];
        let kinds = kinds
            .into_iter()
            .flat_map(|(fields, kind)| fields.iter().map(move |field| (field, kind)));
        let mut elements =
            interface.inputs.iter().chain(&interface.outputs).map(|field| field.element);
        let integers = interface.layout.alternates
            || !interface.layout.phases.is_empty()
            || self.packed.run_time_pairs > 0
            || elements.any(|element| element != Element::F32);
        let each_step = interface.step_tensors().filter(|tensor| tensor.each_step);
        let becomes = |field: &Field, output: &Field, own: Vec<Word>| {
            [with(field, "OUTPUT", &output.name), own].concat()
        };
        let pair = interface
            .in_place()
            .map(|(input, output)| becomes(input, output, own.in_place(input, output)));
        let pair_of = |is: bool| pair.iter().filter(|_| is).cloned().collect::<Vec<_>>();
        let pair_of_steps = interface.in_place().zip(interface.steps.as_ref()).is_some_and(
            |((input, output), steps)| steps.inputs[input.index] && steps.outputs[output.index],
        );
        let kept =
            |(state, output): (&Field, &Field)| becomes(state, output, own.state(state, output));
        let variable =
            |(at, field): (usize, &Field)| [words(field), own.variable(at, field)].concat();
        let flushes = self.flushed_before().next().is_some();
        let all_isas = || self.isas.iter().map(|planned| planned.isa);
        let mut lists = vec![
            ("isas", all_isas().map(|isa| own.isa(isa)).collect()),
            (
                "known when asked",
                all_isas()
                    .filter(|_| self.asked().next().is_some())
                    .map(|isa| own.isa(isa))
                    .collect(),
            ),
            ("asked, best first", self.best_first().into_iter().map(|isa| own.isa(isa)).collect()),
            (
                "chosen",
                all_isas().filter(|isa| isa.question().is_none()).map(|isa| own.isa(isa)).collect(),
            ),
            when("asks", self.asked().next().is_some()),
            when("isas to choose", interface.has_isas()),
            when("one isa", !interface.has_isas()),
            when("flushes", flushes),
            when("advances", self.advances()),
            when("advances on an isa", interface.has_isas() && self.advances()),
            (
                "isas when chosen",
                all_isas().filter(|_| interface.has_isas()).map(|isa| own.isa(isa)).collect(),
            ),
            when("rows", interface.inputs.iter().any(|field| !tensors::flat(field))),
            when("rows written", interface.outputs.iter().any(|field| !tensors::flat(field))),
            ("fields", kinds.map(|(field, kind)| with(field, "KIND", kind)).collect()),
            ("inputs", words_of(&interface.inputs)),
            ("outputs", words_of(&interface.outputs)),
            ("weights", words_of(&interface.weights)),
            ("variables", interface.variables.iter().enumerate().map(variable).collect()),
            ("variables in order", interface.ordered_variables().map(words).collect()),
            ("step inputs", interface.step_inputs().map(words).collect()),
            ("each step", each_step.map(|tensor| words(tensor.field)).collect()),
            ("states", self.states().map(kept).collect()),
            ("states with a pool", self.states().filter(|_| interface.pool).map(kept).collect()),
            ("in place", pair_of(true)),
            ("in place with a copy", pair_of(self.copies())),
            when("not in place", interface.in_place.is_none()),
            when("some inputs", !interface.inputs.is_empty()),
            when("no step inputs", interface.step_inputs().next().is_none()),
            when("steps", interface.steps.is_some()),
            when("states that are swapped", interface.swaps_states()),
            when("some step inputs", interface.step_inputs().next().is_some()),
            when("pool", interface.pool),
            when("no pool", !interface.pool),
            when("packed", !self.is_baked()),
            when("packed pairs", self.packed.run_time_pairs > 0),
            when("no packed pairs", self.packed.run_time_pairs == 0),
            when("baked", self.is_baked()),
            when("empty memory", is_empty),
            when("nothing kept", self.keeps_nothing()),
            when("block", interface.block_len > 0),
            when("order", interface.layout.alternates),
            ("phases", self.phases()),
            when(
                "nothing to reset",
                !self.keeps_nothing() && !keeps && interface.states.is_empty(),
            ),
            when("integers", integers),
            when("aligned", self.program.alignment > 4),
            when("aligned memory", self.program.alignment > 4 && !is_empty),
            when("not aligned memory", self.program.alignment <= 4 && !is_empty),
            when("not aligned", self.program.alignment <= 4),
            when("extensions", self.options.machine.target.c.extensions),
            when("no extensions", !self.options.machine.target.c.extensions),
            when("zero at first", self.starts_at_zero()),
            when("not zero at first", !self.starts_at_zero()),
        ];
        lists.extend(self.memory());
        lists.extend(self.several(pair_of(pair_of_steps)));
        lists
    }

    /// The lists for functions of many steps. `of_steps`: the words of the input and output that
    /// may share memory in a call of many steps.
    fn several(&self, of_steps: Vec<Vec<Word>>) -> [List; 4] {
        let several = self.interface.layout.steps_at_once > 1;
        let only = |is: bool, pair: &[Vec<Word>]| if is { pair.to_vec() } else { Vec::new() };
        [
            when("several at once", several),
            when("no states that are swapped", !self.interface.swaps_states() && !several),
            ("steps in place", only(!several, &of_steps)),
            ("steps in place, several at once", only(several, &of_steps)),
        ]
    }

    /// The lists about the memory of a step: variables or scratch memory alone, provided by the
    /// caller or by the function.
    fn memory(&self) -> [List; 17] {
        let Interface { takes_memory, variables, layout, .. } = self.interface;
        let has_variables = !variables.is_empty();
        let is_own = !takes_memory && self.interface.has_memory();
        let keeps = self.interface.sets_memory();
        let is_empty = !keeps && self.interface.block_len == 0;
        let is_filled = |field: &Field| {
            !layout.loads_weights
                && layout.delay_lines.contains_key(&field.index)
                && self.initial(field).is_some_and(|initial| initial.repeat > 1)
        };
        [
            when("memory", self.interface.has_memory()),
            when("memory that is not empty", has_variables || !is_empty),
            when("own memory", is_own),
            when("own memory to set", is_own && keeps),
            when("memory to set", keeps),
            when("memory of the caller to set", *takes_memory && keeps),
            when("variables of the caller", *takes_memory && has_variables),
            when("order of the caller", *takes_memory && keeps && !has_variables),
            when("state of the caller between steps", *takes_memory && has_variables),
            when("scratch of the caller", *takes_memory && !has_variables && !is_empty),
            when("no scratch of the caller", *takes_memory && !has_variables && is_empty),
            when("own state in order", is_own && layout.alternates),
            when("own scratch", is_own && !layout.alternates),
            when("some variables", has_variables),
            when("filled rows", variables.iter().any(is_filled)),
            when("keeps states", self.keeps_states()),
            when("keeps no states", !self.keeps_states()),
        ]
    }

    /// The words of every count of steps in the state.
    pub(super) fn phases(&self) -> Vec<Vec<Word>> {
        let words = |Phase { name, steps }: &Phase| {
            vec![
                ("PHASE_NAME", name.clone()),
                ("PHASE_STEPS", steps.to_string()),
                ("PHASE_LAST", (steps - 1).to_string()),
            ]
        };
        self.interface.layout.phases.iter().map(words).collect()
    }

    /// The words for all texts of both languages: names and sizes.
    pub(super) fn names_and_sizes(&self) -> Vec<Word> {
        let (block, packed) = (self.interface.block_len, self.packed.run_time_len);
        let variables = self.interface.variables.iter().map(Field::len).sum::<usize>();
        let counters =
            usize::from(self.interface.layout.alternates) + self.interface.layout.phases.len();
        let memory = block + variables + counters;
        vec![
            ("TYPE_NAME", self.interface.type_name.clone()),
            ("FUNCTION", self.interface.function.clone()),
            ("PREFIX", self.interface.function.clone()),
            ("UPPER", self.interface.function.to_ascii_uppercase()),
            ("ALIGNMENT", self.program.alignment.to_string()),
            ("AT_ONCE", self.interface.layout.steps_at_once.to_string()),
            ("BLOCK_BYTES", (block * 4).to_string()),
            ("BLOCK_LEN", block.to_string()),
            ("PACKED_BYTES", self.packed.run_time_bytes().to_string()),
            ("PACKED_PAIRS", self.packed.run_time_pairs.to_string()),
            ("PACKED_LEN", packed.to_string()),
            ("MEMORY_BYTES", (memory * 4).to_string()),
            ("MEMORY_TYPE", self.interface.memory().type_name().to_owned()),
            ("MEMORY_NAME", self.interface.memory().name().to_owned()),
            ("MEMORY_SET", self.interface.memory().setter().to_owned()),
            ("AT_FIRST", self.at_first().to_owned()),
            ("LAYOUT_RECORD", self.layout_record()),
            ("LOADED_BYTES", self.packed.loaded.as_ref().map_or(0, Loaded::file_len).to_string()),
            ("CELLC_RELEASE", env!("CARGO_PKG_VERSION").to_owned()),
        ]
    }

    /// A hash of the model and of its states, each with its name and number of elements: generated
    /// code refuses saved states with another hash.
    pub(super) fn state_hash<'n>(&self, states: impl Iterator<Item = (&'n str, usize)>) -> [u8; 8] {
        let digests = self.sha256.concat();
        // macros do not know the digests of the model's files: the constants are hashed instead
        let model = if digests.is_empty() { &self.packed.bytes } else { digests.as_bytes() };
        let mut text = model.to_vec();
        for (name, len) in states {
            text.extend(format!(" {name} {len}").into_bytes());
        }
        // FNV-1a
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        text.iter().fold(0xcbf2_9ce4_8422_2325, step).to_le_bytes()
    }

    /// The record for `cellc pack`: the layout of loaded weights, and the options. Empty for files
    /// that load no weights.
    fn layout_record(&self) -> String {
        let record = |loaded: &Loaded| record(loaded.layout, self.options);
        self.packed.loaded.as_ref().map(record).unwrap_or_default()
    }

    /// True if initial values of variables are among the loaded weights.
    pub(super) fn loads_initials(&self) -> bool {
        self.interface.layout.loads_weights && !self.starts_at_zero()
    }

    /// True if a step of the struct calls a function other than the pure one: with memory that the
    /// pure function does not take as an argument, or with inputs to flush.
    pub(super) fn advances(&self) -> bool {
        let holds_memory = self.interface.has_memory() && !self.interface.takes_memory;
        holds_memory || self.flushed_before().next().is_some()
    }

    /// True if the struct has no members.
    fn keeps_nothing(&self) -> bool {
        let interface = self.interface;
        let kept =
            interface.has_isas() || interface.has_memory() || interface.pool || !self.is_baked();
        !kept && interface.states.is_empty()
    }

    /// True if a step depends on earlier steps.
    pub(super) fn keeps_states(&self) -> bool {
        !self.interface.variables.is_empty() || !self.interface.states.is_empty()
    }

    /// True if the struct holds an input as a state.
    pub(super) fn is_kept(&self, input: &Field) -> bool {
        self.states().any(|(state, _)| state == input)
    }

    /// True if an input is flushed before the first kernel.
    pub(super) fn is_flushed_before(&self, field: &Field) -> bool {
        self.flushed_before().any(|flushed| flushed.index == field.index)
    }

    /// True if a step in place needs a copy of its input.
    pub(super) fn copies(&self) -> bool {
        self.interface.in_place.is_some_and(|pair| pair.copies)
    }

    /// The initial states, in words.
    pub(super) fn at_first(&self) -> &'static str {
        if self.starts_at_zero() { "state zero" } else { "the initial state" }
    }
}
