//! Softmax and its logarithm.

use super::{
    CoreModel, CoreOp, Effort, Facts, KernelForm, Notation, Operation, OutputNumbers, OverTime,
    Reach, Reference, Source, StateEndsMut, StreamRows, Treatment, Work, Zeros,
};
use crate::model::MathFunction;

/// `exp(v) / sum exp(v)` or its logarithm.
///
/// Along the last axis, [`super::chains_of_short_rows`] gives the number of chains that add the
/// exponentials, in the order of [`super::Reduce`]. Along other axes, one chain adds the
/// exponentials.
#[derive(Clone, Debug, PartialEq)]
pub struct Softmax {
    /// The axis.
    pub axis: usize,
    /// True for the logarithm.
    pub log: bool,
    /// The input.
    pub input: Source,
    /// The value, of the same shape.
    pub out: usize,
}

impl Operation for Softmax {
    fn facts(&self) -> Facts<'_> {
        let functions = match self.log {
            true => vec![MathFunction::Exp, MathFunction::Log],
            false => vec![MathFunction::Exp],
        };
        Facts {
            name: "softmax",
            operands: vec![self.input],
            weights: Vec::new(),
            outputs: vec![self.out],
            work: Work::elements(self.input, Effort::Function),
            over_time: OverTime::Combines(self.axis..self.axis + 1),
            zeros: Zeros::Unknown,
            numbers: OutputNumbers::Any,
            product: None,
            kernel: KernelForm::Alone,
            notation: Notation::Function(if self.log { "log_softmax" } else { "softmax" }),
            functions,
            denormals: Treatment::Computes,
            constants: "constant",
            reach: Reach::Far,
            between_streams: None,
        }
    }

    fn states(&mut self) -> Vec<StateEndsMut<'_>> {
        Vec::new()
    }

    fn repeat(&mut self, rows: &mut StreamRows<'_>) {
        self.axis += 1;
        rows.copy(&mut self.input);
    }

    fn same_attributes(&self, other: &CoreOp) -> bool {
        matches!(other, CoreOp::Softmax(other) if (self.axis, self.log) == (other.axis, other.log))
    }

    fn visit(&mut self, visit: &mut dyn FnMut(Reference)) {
        visit(Reference::Source(&mut self.input));
        visit(Reference::Value(&mut self.out));
    }

    fn drop_outputs(&mut self, _: &[bool]) {
        // nothing to drop: a softmax in the model has a needed output
    }

    fn text(&self, _: &CoreModel) -> String {
        let log = if self.log { "logarithm of " } else { "" };
        format!("{log}softmax of {} along axis {}", self.input, self.axis)
    }
}
