//! What the generated functions that compute a step take. Which arguments there are, and in which
//! order, is said here alone: printers and the programs around generated code go through them.

use super::names::{Field, Interface, StepFlags};
use super::tensors::array;
use crate::request::Language;

/// The arguments of a generated function, in order. An instruction set, or the struct, comes before
/// them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature<'a>(pub Vec<Argument<'a>>);

/// An argument of a generated function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument<'a> {
    /// The threads for the halves of cells.
    Pool,
    /// Variables, and the memory for intermediate values.
    State,
    /// Weights that a program gives at run time, packed.
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
    /// The struct in Rust that has a field for each; `None`: the argument is the one tensor.
    pub record: Option<&'static str>,
    /// The tensors.
    pub fields: Vec<&'a Field>,
}

impl<'a> Signature<'a> {
    /// The arguments of the pure function. Rust takes a single tensor as it is, C in a struct like
    /// several.
    pub fn function(interface: &'a Interface, language: Language) -> Self {
        Self::with_state(interface, language, interface.takes_state)
    }

    /// The arguments of a body: those of the pure function, and the state where that function makes
    /// it.
    pub fn body(interface: &'a Interface, language: Language) -> Self {
        Self::with_state(interface, language, interface.has_state())
    }

    fn with_state(interface: &'a Interface, language: Language, state: bool) -> Self {
        let inputs = interface.inputs.iter().collect();
        let step = Self::tensors(inputs, "Inputs", interface.outputs.iter().collect(), language);
        let mut kept = vec![
            (interface.pool, Argument::Pool),
            (state, Argument::State),
            (!interface.weights.is_empty(), Argument::Packed),
        ];
        if language == Language::C {
            kept.swap(1, 2);
        }
        let kept = kept.into_iter().filter(|(is_there, _)| *is_there).map(|(_, argument)| argument);
        Self(kept.chain(step.0).collect())
    }

    /// The arguments of the struct's method in Rust: what the struct does not hold.
    pub fn step(interface: &'a Interface) -> Self {
        let inputs: Vec<_> = interface.step_inputs().collect();
        let record = if inputs.len() == interface.inputs.len() { "Inputs" } else { "StepInputs" };
        Self::tensors(inputs, record, interface.outputs.iter().collect(), Language::Rust)
    }

    fn tensors(inputs: Vec<&'a Field>, record: &'static str, outputs: Vec<&'a Field>, language: Language) -> Self {
        let tensors = |name, record, fields: Vec<&'a Field>| match fields[..] {
            [one] if language == Language::Rust => Tensors { name: &one.name, record: None, fields },
            _ => Tensors { name, record: Some(record), fields },
        };
        let mut arguments = Vec::new();
        if !inputs.is_empty() {
            arguments.push(Argument::Inputs(tensors("inputs", record, inputs)));
        }
        arguments.push(Argument::Outputs(tensors("outputs", "Outputs", outputs)));
        Self(arguments)
    }

    /// What each argument is spelled as, separated by commas.
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

/// A tensor that a step of the struct takes.
pub struct StepTensor<'a> {
    /// The tensor.
    pub field: &'a Field,
    /// Whether it is an output.
    pub written: bool,
    /// Whether several steps have one for each, where their number is open.
    pub each_step: bool,
}

impl Interface {
    /// What a step of the struct takes: the inputs but for states, then the outputs.
    pub fn step_tensors(&self) -> impl Iterator<Item = StepTensor<'_>> {
        let each = |flags: Option<&Vec<bool>>, field: &Field| flags.is_some_and(|flags| flags[field.index]);
        let (inputs, outputs) = (self.steps.as_ref().map(|s| &s.inputs), self.steps.as_ref().map(|s| &s.outputs));
        let input = move |field| StepTensor { field, written: false, each_step: each(inputs, field) };
        let output = move |field| StepTensor { field, written: true, each_step: each(outputs, field) };
        self.step_inputs().map(input).chain(self.outputs.iter().map(output))
    }

    /// Whether calls of several steps need no copy of the states between these: a step writes its
    /// states where those of the step before the last were.
    pub fn swaps_states(&self) -> bool {
        let last_alone =
            |steps: &StepFlags| self.states.iter().all(|state| !steps.outputs[self.outputs[state.output].index]);
        let copies = self.pool || self.in_place.is_some_and(|pair| pair.copies);
        !copies && !self.states.is_empty() && self.outputs.len() > 1 && self.steps.as_ref().is_some_and(last_alone)
    }
}

impl Argument<'_> {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Argument::Pool => "pool",
            Argument::State => "state",
            Argument::Packed => "packed",
            Argument::Inputs(tensors) | Argument::Outputs(tensors) => tensors.name,
        }
    }
}

impl Tensors<'_> {
    /// What the argument refers to, in Rust: the one tensor's array, or the struct with
    /// `lifetimes`.
    pub fn ty(&self, lifetimes: &str) -> String {
        match self.record {
            None => array(self.fields[0]),
            Some(record) => format!("{record}{lifetimes}"),
        }
    }

    /// Where a tensor of the argument is, in Rust.
    pub fn place(&self, field: &Field) -> String {
        match self.record {
            None => field.name.clone(),
            Some(_) => format!("{}.{}", self.name, field.name),
        }
    }

    /// The argument in Rust, each tensor with a value of its own.
    pub fn value(&self, of: impl Fn(&Field) -> String) -> String {
        match (self.record, &self.fields[..]) {
            (None, [one]) => of(one),
            (record, fields) => {
                let filled = |field: &&Field| match of(field) {
                    value if value == field.name => format!("{value},"),
                    value => format!("{}: {value},", field.name),
                };
                let fields: String = fields.iter().map(filled).collect();
                format!("&{} {{ {fields} }}", record.unwrap_or_default())
            }
        }
    }
}
