//! Operations element by element.

use super::{
    CoreModel, CoreOp, Effort, Facts, KernelForm, Notation, Operation, OutputNumbers, OverTime,
    Reach, Reference, Source, StateEndsMut, StreamRows, Treatment, Work, Zeros, listed,
};
use crate::model::{Binary, MathFunction};

/// An operation element by element; inputs broadcast to the shape of the output by NumPy's rules.
#[derive(Clone, Debug, PartialEq)]
pub struct Pointwise {
    /// The operation.
    pub function: PointwiseFunction,
    /// The operands.
    pub inputs: Vec<Source>,
    /// The output, as a value.
    pub out: usize,
}

/// The operation of a [`Pointwise`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)] // the names document the variants
pub enum PointwiseFunction {
    /// A function of one number.
    Math(MathFunction),
    /// Arithmetic of two operands.
    Binary(Binary),
    /// The first operand if above 0, else the product of both operands.
    PRelu,
    /// 1 if the first operand is below the second, else 0; 0 for NaN.
    Less,
    /// 1 if the first operand is at most the second, else 0; 0 for NaN.
    LessEqual,
    /// 1 if both operands are equal, else 0; 0 for NaN.
    Equal,
    /// The second operand if the first is 1, the third if the first is 0.
    Select,
}

/// The facts about a [`PointwiseFunction`].
struct PointwiseFacts {
    /// The name in printed models.
    name: &'static str,
    /// The number of operands.
    arity: usize,
    effort: Effort,
    /// The operands that make the result zero.
    zeros: Zeros,
}

impl PointwiseFunction {
    fn facts(self) -> PointwiseFacts {
        use Effort::{Arithmetic, Divide, Function};
        use Zeros::{IfAll, IfOne, Unknown};
        let row = |name, arity, effort, zeros| PointwiseFacts { name, arity, effort, zeros };
        match self {
            Self::Math(function) => row(function.name(), 1, Function, Unknown),
            Self::Binary(binary) => match binary {
                Binary::Add => row("add", 2, Arithmetic, IfAll),
                Binary::Subtract => row("subtract", 2, Arithmetic, IfAll),
                Binary::Multiply => row("multiply", 2, Arithmetic, IfOne),
                Binary::Divide => row("divide", 2, Divide, Unknown),
                Binary::Maximum => row("maximum", 2, Arithmetic, Unknown),
                Binary::Minimum => row("minimum", 2, Arithmetic, Unknown),
            },
            Self::PRelu => row("prelu", 2, Arithmetic, Unknown),
            Self::Less => row("less", 2, Arithmetic, Unknown),
            Self::LessEqual => row("less or equal", 2, Arithmetic, Unknown),
            Self::Equal => row("equal", 2, Arithmetic, Unknown),
            Self::Select => row("select", 3, Arithmetic, Unknown),
        }
    }

    /// The name in printed models.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// The number of operands.
    pub fn arity(self) -> usize {
        self.facts().arity
    }
}

impl From<MathFunction> for PointwiseFunction {
    fn from(function: MathFunction) -> Self {
        Self::Math(function)
    }
}

impl From<Binary> for PointwiseFunction {
    fn from(binary: Binary) -> Self {
        Self::Binary(binary)
    }
}

impl Operation for Pointwise {
    fn facts(&self) -> Facts<'_> {
        let PointwiseFacts { effort, zeros, .. } = self.function.facts();
        let is_difference_of_one =
            self.function == Binary::Subtract.into() && self.inputs.first() == self.inputs.last();
        let zeros = if is_difference_of_one { Zeros::Always } else { zeros };
        let functions = match self.function {
            PointwiseFunction::Math(function) => vec![function],
            _ => Vec::new(),
        };
        let constants = match self.function {
            PointwiseFunction::Binary(Binary::Add) => "bias",
            PointwiseFunction::Binary(Binary::Multiply) => "factor",
            _ => "constant",
        };
        Facts {
            name: "pointwise",
            operands: self.inputs.clone(),
            weights: Vec::new(),
            outputs: vec![self.out],
            work: Work::elements(Source::Value(self.out), effort),
            over_time: OverTime::Pointwise,
            zeros,
            numbers: OutputNumbers::Any,
            product: None,
            kernel: KernelForm::Elements,
            notation: Notation::Pointwise(self.function),
            functions,
            denormals: Treatment::Streams,
            constants,
            reach: Reach::Near,
            between_streams: None,
        }
    }

    fn states(&mut self) -> Vec<StateEndsMut<'_>> {
        Vec::new()
    }

    fn repeat(&mut self, rows: &mut StreamRows<'_>) {
        // an operand of lower rank first gets the rank of the output, so that the new first axes
        // align
        rows.align(&mut self.inputs, self.out);
    }

    fn same_attributes(&self, other: &CoreOp) -> bool {
        matches!(other, CoreOp::Pointwise(other) if self.function == other.function)
    }

    fn visit(&mut self, visit: &mut dyn FnMut(Reference)) {
        self.inputs.iter_mut().for_each(|input| visit(Reference::Source(input)));
        visit(Reference::Value(&mut self.out));
    }

    fn drop_outputs(&mut self, _: &[bool]) {
        // nothing to drop: a pointwise operation in the model has a needed output
    }

    fn text(&self, _: &CoreModel) -> String {
        format!("{} of {}", self.function.name(), listed(&self.inputs))
    }
}
