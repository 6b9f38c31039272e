//! Views: elements in another order.

use super::{
    CoreModel, CoreOp, Effort, Facts, KernelForm, Notation, Operation, OutputNumbers, OverTime,
    Reach, Reference, Source, StateEndsMut, StreamRows, Treatment, Work, Zeros,
};

/// Elements of the input in another order: `out[i0, i1, ..] = input[offset + sum i_d * strides_d]`.
/// Offset and strides count elements of the input in C order, and every index is in range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The input.
    pub input: Source,
    /// The index of the first element.
    pub offset: usize,
    /// The strides, by dimension of the output. A stride of 0 repeats elements.
    pub strides: Vec<isize>,
    /// The value.
    pub out: usize,
}

impl View {
    /// True if the elements of the value, of this shape, are contiguous in the input, in C order.
    pub fn is_contiguous(&self, shape: &[usize]) -> bool {
        let mut wanted = 1;
        shape.iter().zip(&self.strides).rev().all(|(&size, &stride)| {
            let fits = size == 1 || stride == wanted;
            wanted *= size.cast_signed();
            fits
        })
    }

    /// True if the value has all elements of its input, in order: only the shape differs.
    pub fn only_reshapes(&self, model: &CoreModel) -> bool {
        let shape = &model.values[self.out].shape;
        self.offset == 0
            && model.len(self.input) == shape.iter().product::<usize>()
            && self.is_contiguous(shape)
    }
}

impl Operation for View {
    fn facts(&self) -> Facts<'_> {
        Facts {
            name: "view",
            operands: vec![self.input],
            weights: Vec::new(),
            outputs: vec![self.out],
            work: Work::elements(Source::Value(self.out), Effort::Move),
            over_time: OverTime::AnyStep,
            zeros: Zeros::IfAll,
            numbers: OutputNumbers::Moved(vec![self.input]),
            product: None,
            kernel: KernelForm::Viewed,
            notation: Notation::Elements(self),
            functions: Vec::new(),
            denormals: Treatment::Moves,
            constants: "constant",
            reach: Reach::Near,
            between_streams: None,
        }
    }

    fn states(&mut self) -> Vec<StateEndsMut<'_>> {
        Vec::new()
    }

    fn repeat(&mut self, rows: &mut StreamRows<'_>) {
        let is_shared = matches!(self.input, Source::Constant(_));
        let stride = if is_shared { 0 } else { rows.len(self.input) };
        self.strides.insert(0, stride.cast_signed());
    }

    fn same_attributes(&self, other: &CoreOp) -> bool {
        // offset and strides follow from sizes: `stream/steps` compares views by its own rule
        matches!(other, CoreOp::View(_))
    }

    fn visit(&mut self, visit: &mut dyn FnMut(Reference)) {
        visit(Reference::Source(&mut self.input));
        visit(Reference::Value(&mut self.out));
    }

    fn drop_outputs(&mut self, _: &[bool]) {
        // nothing to drop: a view in the model has a needed output
    }

    fn text(&self, _: &CoreModel) -> String {
        format!("view of {} from {}, strides {:?}", self.input, self.offset, self.strides)
    }
}
