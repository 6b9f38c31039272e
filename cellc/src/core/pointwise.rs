//! Operations element by element.

use super::{
    CoreModel, CoreOp, Effort, Facts, Numbers, Operation, OverTime, Reference, Source, Treatment,
    Work, Zeros, listed,
};
use crate::model::Activation;

/// An operation element by element; inputs broadcast to the shape of the output by NumPy's rules.
#[derive(Clone, Debug, PartialEq)]
pub struct Pointwise {
    /// The operation.
    pub function: PointwiseFunction,
    /// The operands.
    pub inputs: Vec<Source>,
    /// The value.
    pub out: usize,
}

/// The operation of a [`Pointwise`], rounded once.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)] // the names say it
pub enum PointwiseFunction {
    Activation(Activation),
    Add,
    Subtract,
    Multiply,
    Divide,
    /// The second operand if one is NaN.
    Maximum,
    /// The second operand if one is NaN.
    Minimum,
    /// v if v > 0, else v times the second input.
    PRelu,
    /// 1 if the first is below the second, else 0.
    Less,
    /// 1 if the first is at most the second, else 0; 0 for NaN.
    LessEqual,
    /// 1 if both are equal, else 0; 0 for NaN.
    Equal,
    /// The second if the first is 1, the third if the first is 0.
    Select,
}

impl PointwiseFunction {
    /// The name in text.
    pub fn name(self) -> &'static str {
        match self {
            Self::Activation(activation) => activation.name(),
            Self::Add => "add",
            Self::Subtract => "subtract",
            Self::Multiply => "multiply",
            Self::Divide => "divide",
            Self::Maximum => "maximum",
            Self::Minimum => "minimum",
            Self::PRelu => "prelu",
            Self::Less => "less",
            Self::LessEqual => "less or equal",
            Self::Equal => "equal",
            Self::Select => "select",
        }
    }
}

impl Operation for Pointwise {
    fn facts(&self) -> Facts {
        use PointwiseFunction as P;
        let effort = match self.function {
            P::Activation(_) => Effort::Function,
            P::Divide => Effort::Divide,
            _ => Effort::Arithmetic,
        };
        let zeros = match self.function {
            P::Multiply => Zeros::IfOne,
            P::Subtract if self.inputs[0] == self.inputs[1] => Zeros::Always,
            P::Add | P::Subtract => Zeros::IfAll,
            _ => Zeros::Unknown,
        };
        Facts {
            name: "pointwise",
            operands: self.inputs.clone(),
            weights: Vec::new(),
            outputs: vec![self.out],
            work: Work::elements(Source::Value(self.out), effort),
            over_time: OverTime::Elementwise,
            zeros,
            numbers: Numbers::Any,
        }
    }

    fn treatment(&self) -> Treatment {
        Treatment::Streams
    }

    fn same_attributes(&self, other: &CoreOp) -> bool {
        matches!(other, CoreOp::Pointwise(other) if self.function == other.function)
    }

    fn visit(&mut self, visit: &mut dyn FnMut(Reference)) {
        self.inputs.iter_mut().for_each(|input| visit(Reference::Source(input)));
        visit(Reference::Value(&mut self.out));
    }

    fn activations(&self) -> Vec<Activation> {
        match self.function {
            PointwiseFunction::Activation(activation) => vec![activation],
            _ => Vec::new(),
        }
    }

    fn text(&self, _: &CoreModel) -> String {
        format!("{} of {}", self.function.name(), listed(&self.inputs))
    }
}
