//! Operations element by element.

use super::{
    CoreModel, CoreOp, Effort, Facts, Numbers, Operation, OverTime, Reference, Source, Treatment,
    Work, Zeros, listed,
};
use crate::model::{Activation, Elementwise};

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
    /// The name in text, and the number of operands.
    fn row(self) -> (&'static str, usize) {
        match self {
            Self::Activation(activation) => (activation.name(), 1),
            Self::Add => ("add", 2),
            Self::Subtract => ("subtract", 2),
            Self::Multiply => ("multiply", 2),
            Self::Divide => ("divide", 2),
            Self::Maximum => ("maximum", 2),
            Self::Minimum => ("minimum", 2),
            Self::PRelu => ("prelu", 2),
            Self::Less => ("less", 2),
            Self::LessEqual => ("less or equal", 2),
            Self::Equal => ("equal", 2),
            Self::Select => ("select", 3),
        }
    }

    /// The name in text.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// The number of operands.
    pub fn arity(self) -> usize {
        self.row().1
    }

    /// The same operation of a model on floating-point numbers. `None`: several core operations
    /// compute it.
    pub(crate) fn of_elementwise(function: Elementwise) -> Option<Self> {
        use Elementwise as E;
        Some(match function {
            E::Activation(activation) => Self::Activation(activation),
            E::Exp => Self::Activation(Activation::Exp),
            E::Log => Self::Activation(Activation::Log),
            E::Floor => Self::Activation(Activation::Floor),
            E::Round => Self::Activation(Activation::Round),
            E::Truncate => Self::Activation(Activation::Truncate),
            E::Add => Self::Add,
            E::Subtract => Self::Subtract,
            E::Multiply => Self::Multiply,
            E::Divide => Self::Divide,
            E::Maximum => Self::Maximum,
            E::Minimum => Self::Minimum,
            E::PRelu => Self::PRelu,
            _ => return None,
        })
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
