//! The surface of a generated file: the items around its kernels, their order, and the words and
//! lists for their texts.

use super::names::{Field, Phase};
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

    /// The lists for texts of both languages: instruction sets, tensors, and optional parts of a
    /// file.
    pub(super) fn lists(&self, own: &dyn OwnWords) -> Vec<List> {
        let mut lists = self.isa_lists(own);
        lists.extend(self.tensor_lists());
        lists.extend(self.state_lists(own));
        lists.extend(self.memory_lists());
        lists.extend(self.option_lists());
        lists
    }

    /// The lists of instruction sets, and of their detection.
    fn isa_lists(&self, own: &dyn OwnWords) -> Vec<List> {
        let words = |isas: &mut dyn Iterator<Item = &'static Isa>| {
            isas.map(|isa| own.isa(isa)).collect::<Vec<_>>()
        };
        let mut isas = self.isas.iter().map(|planned| planned.isa);
        let mut chosen = isas.clone().filter(|isa| isa.question().is_none());
        vec![
            ("isas", words(&mut isas)),
            ("chosen", words(&mut chosen)),
            ("asked, best first", words(&mut self.best_first().into_iter())),
            when("asks", self.asked().next().is_some()),
            when("isas to choose", self.interface.has_isas()),
            when("flushes", self.flushed_before().next().is_some()),
            when("advances", self.advances()),
        ]
    }

    /// The lists of inputs, weights and outputs.
    fn tensor_lists(&self) -> Vec<List> {
        let (interface, upper) = (self.interface, self.interface.function.to_ascii_uppercase());
        let words = |field: &Field| tensors::words(field, &upper);
        let words_of = |fields: &[Field]| fields.iter().map(words).collect::<Vec<_>>();
        let kinds = [
            (&interface.inputs, "input"),
            (&interface.weights, "weights"),
            (&interface.outputs, "output"),
            (&interface.variables, "variable"),
        ];
        let fields = kinds.into_iter().flat_map(|(fields, kind)| {
            let upper = &upper;
            fields.iter().map(move |field| {
                [tensors::words(field, upper), vec![("KIND", kind.to_owned())]].concat()
            })
        });
        let mut elements =
            interface.inputs.iter().chain(&interface.outputs).map(|field| field.element);
        let integers = interface.layout.alternates
            || !interface.layout.phases.is_empty()
            || self.packed.run_time_pairs > 0
            || elements.any(|element| element != Element::F32);
        let each_step = interface.step_tensors().filter(|tensor| tensor.each_step);
        vec![
            ("fields", fields.collect()),
            ("inputs", words_of(&interface.inputs)),
            ("outputs", words_of(&interface.outputs)),
            ("weights", words_of(&interface.weights)),
            ("step inputs", interface.step_inputs().map(words).collect()),
            ("each step", each_step.map(|tensor| words(tensor.field)).collect()),
            when("rows", interface.inputs.iter().any(|field| !tensors::flat(field))),
            when("rows written", interface.outputs.iter().any(|field| !tensors::flat(field))),
            when("integers", integers),
        ]
    }

    /// The lists of variables and of states of the struct, of tensors that may share memory, and of
    /// functions of many steps.
    fn state_lists(&self, own: &dyn OwnWords) -> Vec<List> {
        let (interface, upper) = (self.interface, self.interface.function.to_ascii_uppercase());
        let words = |field: &Field| tensors::words(field, &upper);
        let becomes = |field: &Field, output: &Field, own: Vec<Word>| {
            [words(field), vec![("OUTPUT", output.name.clone())], own].concat()
        };
        let pair = interface
            .in_place()
            .map(|(input, output)| becomes(input, output, own.in_place(input, output)));
        let pair_of_steps = interface.in_place().zip(interface.steps.as_ref()).is_some_and(
            |((input, output), steps)| steps.inputs[input.index] && steps.outputs[output.index],
        );
        let kept =
            |(state, output): (&Field, &Field)| becomes(state, output, own.state(state, output));
        let variable =
            |(at, field): (usize, &Field)| [words(field), own.variable(at, field)].concat();
        let is_filled = |field: &Field| {
            !interface.layout.loads_weights
                && interface.layout.delay_lines.contains_key(&field.index)
                && self.initial(field).is_some_and(|initial| initial.repeat > 1)
        };
        vec![
            ("variables", interface.variables.iter().enumerate().map(variable).collect()),
            ("variables in order", interface.ordered_variables().map(words).collect()),
            when("filled rows", interface.variables.iter().any(is_filled)),
            ("states", self.states().map(kept).collect()),
            when("states that are swapped", interface.swaps_states()),
            when("state between steps", self.keeps_states()),
            when("zero at first", self.starts_at_zero()),
            ("steps in place", pair.clone().filter(|_| pair_of_steps).into_iter().collect()),
            ("in place", pair.into_iter().collect()),
            when("copied", self.copies()),
            when("steps", interface.steps.is_some()),
            when("several at once", interface.layout.steps_at_once > 1),
            ("phases", self.phases()),
            when("order", interface.layout.alternates),
        ]
    }

    /// The lists about the memory of a step and of packed weights, provided by the caller or by the
    /// function.
    fn memory_lists(&self) -> Vec<List> {
        let interface = self.interface;
        let keeps = interface.sets_memory();
        let has_memory = interface.has_memory();
        vec![
            when("memory", has_memory),
            when("memory to set", keeps),
            when("memory of the caller", interface.takes_memory),
            when("own memory", !interface.takes_memory && has_memory),
            when("empty memory", !keeps && interface.block_len == 0),
            when("empty struct", self.keeps_nothing()),
            when("block", interface.block_len > 0),
            when("packed", !self.is_baked()),
            when("packed pairs", self.packed.run_time_pairs > 0),
            when("aligned", self.program.alignment > 4),
        ]
    }

    /// The lists about options of the file.
    fn option_lists(&self) -> [List; 2] {
        [
            when("pool", self.interface.pool),
            when("extensions", self.options.machine.target.c.extensions),
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
