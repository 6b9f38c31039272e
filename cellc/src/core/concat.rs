//! Concatenations.

use super::{
    CoreModel, CoreOp, Effort, Facts, KernelForm, Notation, Operation, OutputNumbers, OverTime,
    Reach, Reference, Source, StateEndsMut, StreamRows, Treatment, Work, Zeros, listed,
};

/// The concatenation of the inputs along one axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Concat {
    /// The axis.
    pub axis: usize,
    /// The concatenated tensors, in order.
    pub inputs: Vec<Source>,
    /// True for `AppendToState` of the model: the first input holds earlier elements.
    pub is_window: bool,
    /// The value.
    pub out: usize,
}

impl Operation for Concat {
    fn facts(&self) -> Facts<'_> {
        Facts {
            name: "concat",
            operands: self.inputs.clone(),
            weights: Vec::new(),
            outputs: vec![self.out],
            work: Work::elements(Source::Value(self.out), Effort::Move),
            over_time: OverTime::AnyStep,
            zeros: Zeros::IfAll,
            numbers: OutputNumbers::Moved(self.inputs.clone()),
            product: None,
            kernel: KernelForm::Joined,
            notation: Notation::Function("concat"),
            functions: Vec::new(),
            denormals: Treatment::Copies,
            constants: "constant",
            reach: Reach::Near,
            between_streams: None,
        }
    }

    fn states(&mut self) -> Vec<StateEndsMut<'_>> {
        Vec::new()
    }

    fn repeat(&mut self, rows: &mut StreamRows<'_>) {
        self.axis += 1;
        self.inputs.iter_mut().for_each(|input| rows.copy(input));
    }

    fn same_attributes(&self, other: &CoreOp) -> bool {
        matches!(other, CoreOp::Concat(other) if self.axis == other.axis)
    }

    fn visit(&mut self, visit: &mut dyn FnMut(Reference)) {
        self.inputs.iter_mut().for_each(|input| visit(Reference::Source(input)));
        visit(Reference::Value(&mut self.out));
    }

    fn drop_outputs(&mut self, _: &[bool]) {
        // nothing to drop: a Concat in the model has a needed output
    }

    fn text(&self, _: &CoreModel) -> String {
        format!("{} along axis {}", listed(&self.inputs), self.axis)
    }
}
