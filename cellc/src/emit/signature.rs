//! The arguments of generated step functions. Their list and order are defined only here; emitters
//! and test programs iterate over them.

use super::names::{Field, Interface, StepFlags, StepMemory};
use super::tensors::array;
use crate::request::Language;

/// The arguments of a generated function, in order, without the leading instruction set or struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature<'a>(pub Vec<Argument<'a>>);

/// An argument of a generated function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument<'a> {
    /// The threads for the halves of cells.
    Pool,
    /// Variables, and memory for intermediate values.
    Memory(StepMemory),
    /// Run-time weights, packed.
    Packed,
    /// One input or several.
    Inputs(Tensors<'a>),
    /// One output or several.
    Outputs(Tensors<'a>),
}

/// The tensors of one argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensors<'a> {
    /// The argument's name.
    pub name: &'a str,
    /// The struct in Rust with one field per tensor. `None`: the argument is a single tensor.
    pub record: Option<&'static str>,
    /// The tensors.
    pub fields: Vec<&'a Field>,
}

impl<'a> Signature<'a> {
    /// The arguments of the pure function. A single tensor is a plain argument in Rust, but a
    /// struct in C.
    pub fn function(interface: &'a Interface, language: Language) -> Self {
        Self::with_memory(interface, language, interface.takes_memory)
    }

    /// The arguments of a body: the pure function's, and the memory if the pure function creates
    /// the memory.
    pub fn body(interface: &'a Interface, language: Language) -> Self {
        Self::with_memory(interface, language, interface.has_memory())
    }

    fn with_memory(interface: &'a Interface, language: Language, memory: bool) -> Self {
        let inputs = interface.inputs.iter().collect();
        let step = Self::tensors(inputs, "Inputs", interface.outputs.iter().collect(), language);
        let mut kept = vec![
            (interface.pool, Argument::Pool),
            (memory, Argument::Memory(interface.memory())),
            (interface.takes_weights(), Argument::Packed),
        ];
        if language == Language::C {
            kept.swap(1, 2);
        }
        let kept = kept.into_iter().filter(|(is_there, _)| *is_there).map(|(_, argument)| argument);
        Self(kept.chain(step.0).collect())
    }

    /// The arguments of the struct's method `step` in Rust: the inputs apart from states, and all
    /// outputs.
    pub fn step(interface: &'a Interface) -> Self {
        let inputs: Vec<_> = interface.step_inputs().collect();
        let record = if inputs.len() == interface.inputs.len() { "Inputs" } else { "StepInputs" };
        Self::tensors(inputs, record, interface.outputs.iter().collect(), Language::Rust)
    }

    fn tensors(
        inputs: Vec<&'a Field>,
        record: &'static str,
        outputs: Vec<&'a Field>,
        language: Language,
    ) -> Self {
        let tensors = |name, record, fields: Vec<&'a Field>| match fields[..] {
            [one] if language == Language::Rust => {
                Tensors { name: &one.name, record: None, fields }
            }
            _ => Tensors { name, record: Some(record), fields },
        };
        let mut arguments = Vec::new();
        if !inputs.is_empty() {
            arguments.push(Argument::Inputs(tensors("inputs", record, inputs)));
        }
        arguments.push(Argument::Outputs(tensors("outputs", "Outputs", outputs)));
        Self(arguments)
    }

    /// The arguments, each spelled by `argument`, separated by commas.
    pub fn spelled(&self, argument: impl FnMut(&Argument<'a>) -> String) -> String {
        self.0.iter().map(argument).collect::<Vec<_>>().join(", ")
    }

    /// The names of the arguments, separated by commas.
    pub fn names(&self) -> String {
        self.spelled(|argument| argument.name().to_owned())
    }

    /// The inputs, as one argument.
    pub fn inputs(&self) -> Option<&Tensors<'a>> {
        self.0.iter().find_map(|argument| match argument {
            Argument::Inputs(tensors) => Some(tensors),
            _ => None,
        })
    }

    /// The outputs, as one argument.
    pub fn outputs(&self) -> &Tensors<'a> {
        match self.0.last() {
            Some(Argument::Outputs(tensors)) => tensors,
            _ => unreachable!("the outputs come last"),
        }
    }
}

/// An input or output of the struct's step.
pub struct StepTensor<'a> {
    /// The tensor.
    pub field: &'a Field,
    /// True for outputs.
    pub written: bool,
    /// True if each step of a call with a run-time number of steps has its own tensor.
    pub each_step: bool,
}

impl Interface {
    /// The tensors of the struct's step: inputs without states, then outputs.
    pub fn step_tensors(&self) -> impl Iterator<Item = StepTensor<'_>> {
        let each = |flags: Option<&Vec<bool>>, field: &Field| {
            flags.is_some_and(|flags| flags[field.index])
        };
        let (inputs, outputs) =
            (self.steps.as_ref().map(|s| &s.inputs), self.steps.as_ref().map(|s| &s.outputs));
        let input =
            move |field| StepTensor { field, written: false, each_step: each(inputs, field) };
        let output =
            move |field| StepTensor { field, written: true, each_step: each(outputs, field) };
        self.step_inputs().map(input).chain(self.outputs.iter().map(output))
    }

    /// True if a call of several steps copies the states once, not after every step. The steps
    /// write two sets of outputs in turn, and each step reads its states from the outputs of the
    /// previous step.
    pub fn swaps_states(&self) -> bool {
        let last_alone = |steps: &StepFlags| {
            self.states.iter().all(|state| !steps.outputs[self.outputs[state.output].index])
        };
        let copies = self.pool || self.in_place.is_some_and(|pair| pair.copies);
        !copies
            && !self.states.is_empty()
            && self.outputs.len() > 1
            && self.steps.as_ref().is_some_and(last_alone)
    }
}

impl Argument<'_> {
    /// The name of the argument.
    pub fn name(&self) -> &str {
        match self {
            Argument::Pool => "pool",
            Argument::Memory(memory) => memory.name(),
            Argument::Packed => "packed",
            Argument::Inputs(tensors) | Argument::Outputs(tensors) => tensors.name,
        }
    }
}

impl Tensors<'_> {
    /// The type of the argument in Rust: the array of the single tensor, or the struct with
    /// `lifetimes`.
    pub fn ty(&self, lifetimes: &str) -> String {
        match self.record {
            None => array(self.fields[0]),
            Some(record) => format!("{record}{lifetimes}"),
        }
    }

    /// The expression for a tensor of the argument in Rust.
    pub fn expression(&self, field: &Field) -> String {
        match self.record {
            None => field.name.clone(),
            Some(_) => format!("{}.{}", self.name, field.name),
        }
    }

    /// The argument in Rust, with a value for each tensor.
    pub fn value(&self, spell: impl Fn(&Field) -> String) -> String {
        match (self.record, &self.fields[..]) {
            (None, [one]) => spell(one),
            (record, fields) => {
                let filled = |field: &&Field| match spell(field) {
                    value if value == field.name => format!("{value},"),
                    value => format!("{}: {value},", field.name),
                };
                let fields: String = fields.iter().map(filled).collect();
                format!("&{} {{ {fields} }}", record.unwrap_or_default())
            }
        }
    }
}
