//! Running sums.

use super::{
    CoreModel, CoreOp, Effort, Facts, KernelForm, Notation, Operation, OutputNumbers, OverTime,
    Reach, Reference, Source, StateEndsMut, StreamRows, Treatment, Work, Zeros,
};

/// `out[k] = out[k - 1] + input[k]` along one axis, from `out[-1] = 0`, in the order of `k`.
///
/// Each sum is flushed before the next element is added, unless the options keep denormals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningSum {
    /// The axis of the sums.
    pub axis: usize,
    /// The input, of any shape.
    pub input: Source,
    /// The value with the sums, in the shape of the input.
    pub out: usize,
}

impl RunningSum {
    /// Elements along the axes in front of the axis of the sums, along this axis, and along the
    /// axes behind.
    pub fn extents(&self, shape: &[usize]) -> [usize; 3] {
        let (before, after) = (&shape[..self.axis], &shape[self.axis + 1..]);
        [before.iter().product(), shape[self.axis], after.iter().product()]
    }
}

impl Operation for RunningSum {
    fn facts(&self) -> Facts<'_> {
        Facts {
            name: "running_sum",
            operands: vec![self.input],
            weights: Vec::new(),
            outputs: vec![self.out],
            work: Work::elements(self.input, Effort::Arithmetic),
            over_time: OverTime::Accumulates(self.axis),
            zeros: Zeros::IfAll,
            numbers: OutputNumbers::Any,
            product: None,
            kernel: KernelForm::Alone,
            notation: Notation::Function("running_sum"),
            functions: Vec::new(),
            denormals: Treatment::EachSum,
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
        matches!(other, CoreOp::RunningSum(other) if self.axis == other.axis)
    }

    fn visit(&mut self, visit: &mut dyn FnMut(Reference)) {
        visit(Reference::Source(&mut self.input));
        visit(Reference::Value(&mut self.out));
    }

    fn drop_outputs(&mut self, _: &[bool]) {
        // nothing to drop: a running sum in the model has a needed output
    }

    fn text(&self, _: &CoreModel) -> String {
        format!("running sum of {} along axis {}", self.input, self.axis)
    }
}
