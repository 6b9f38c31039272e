//! What the user of a generated file sees, and what its functions do: which items there are, in which order, and which statements their
//! bodies consist of. Languages spell them: an item is a text of that name.

use super::names::Field;
use super::signature::Signature;
use super::text::{List, Word, when};
use super::{Contents, tensors};
use crate::kernel::Element;
use crate::options::Language;

impl Contents<'_> {
    /// The items in order.
    pub(super) fn items(&self, language: Language) -> Vec<&'static str> {
        let (interface, rust) = (self.interface, language == Language::Rust);
        let (function, step) = (Signature::function(interface, language), Signature::step(interface));
        let record = |signature: &Signature<'_>| signature.inputs().is_some_and(|inputs| inputs.record.is_some());
        let steps = interface.steps.is_some();
        [
            ("isa", true),
            ("inputs", record(&function)),
            ("step inputs", rust && record(&step) && !interface.states.is_empty()),
            ("outputs", function.outputs().record.is_some()),
            ("packed", !self.is_baked()),
            ("state", interface.has_state()),
            ("pool", interface.pool && !rust),
            ("function", true),
            ("pool", interface.pool && rust),
            ("unequal steps", steps && rust),
            ("struct", true),
            ("steps", steps && !rust),
        ]
        .into_iter()
        .filter_map(|(name, is_there)| is_there.then_some(name))
        .collect()
    }

    /// What texts list in both languages: tensors, and what a file may have or lack.
    pub(super) fn lists(&self) -> Vec<List> {
        let (interface, upper) = (self.interface, self.interface.function.to_ascii_uppercase());
        let words = |field: &Field| tensors::words(field, &upper);
        let all = |fields: &[Field]| fields.iter().map(words).collect::<Vec<_>>();
        let with = |field: &Field, word, value: &str| [words(field), vec![(word, value.to_owned())]].concat();
        let kinds = [
            (&interface.inputs, "input"),
            (&interface.weights, "weights"),
            (&interface.outputs, "output"),
            (&interface.variables, "variable"),
        ];
        let kinds = kinds.into_iter().flat_map(|(fields, kind)| fields.iter().map(move |field| (field, kind)));
        let mut elements = interface.inputs.iter().chain(&interface.outputs).map(|field| field.element);
        let integers = interface.alternates || elements.any(|element| element != Element::F32);
        let each_step = interface.step_tensors().filter(|tensor| tensor.each_step);
        let pair = interface.in_place().map(|(input, output)| with(input, "OUTPUT", &output.name));
        let [pair, copied] = [true, self.copies()].map(|is| pair.clone().filter(|_| is).into_iter().collect());
        vec![
            ("fields", kinds.map(|(field, kind)| with(field, "KIND", kind)).collect()),
            ("inputs", all(&interface.inputs)),
            ("outputs", all(&interface.outputs)),
            ("weights", all(&interface.weights)),
            ("variables", all(&interface.variables)),
            ("step inputs", interface.step_inputs().map(words).collect()),
            ("each step", each_step.map(|tensor| words(tensor.field)).collect()),
            ("states", self.states().map(|(state, output)| with(state, "OUTPUT", &output.name)).collect()),
            ("in place", pair),
            ("in place with a copy", copied),
            when("not in place", interface.in_place.is_none()),
            when("some inputs", !interface.inputs.is_empty()),
            when("no step inputs", interface.step_inputs().next().is_none()),
            when("steps", interface.steps.is_some()),
            when("some step inputs", interface.step_inputs().next().is_some()),
            when("pool", interface.pool),
            when("no pool", !interface.pool),
            when("packed", !self.is_baked()),
            when("baked", self.is_baked()),
            when("state", interface.has_state()),
            when("block", interface.block_len > 0),
            when("order", interface.alternates),
            when("integers", integers),
            when("zero at first", self.starts_at_zero()),
            when("not zero at first", !self.starts_at_zero()),
        ]
    }

    /// What texts say in both languages of sizes.
    pub(super) fn sizes(&self) -> Vec<Word> {
        let (block, packed) = (self.interface.block_len, self.packed.run_time_len);
        let state = block + self.interface.variables.iter().map(Field::len).sum::<usize>();
        vec![
            ("ALIGNMENT", self.program.alignment.to_string()),
            ("BLOCK_BYTES", (block * 4).to_string()),
            ("BLOCK_LEN", block.to_string()),
            ("PACKED_BYTES", (packed * 4).to_string()),
            ("PACKED_LEN", packed.to_string()),
            ("STATE_BYTES", (state * 4).to_string()),
            ("AT_FIRST", self.at_first().to_owned()),
        ]
    }

    /// Whether the struct holds an input as a state.
    pub(super) fn is_kept(&self, input: &Field) -> bool {
        self.states().any(|(state, _)| state == input)
    }

    /// Whether a step in place needs a copy of its input.
    pub(super) fn copies(&self) -> bool {
        self.interface.in_place.is_some_and(|pair| pair.copies)
    }

    /// What new states are, in words.
    pub(super) fn at_first(&self) -> &'static str {
        if self.starts_at_zero() { "With state zero" } else { "With the initial state" }
    }
}
