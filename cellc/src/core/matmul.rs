//! Products of two tensors of matrices.

use super::{
    CoreModel, CoreOp, Facts, KernelForm, Notation, Operation, OutputNumbers, OverTime, Reach,
    Reference, Source, StateEndsMut, StreamRows, Treatment, Work, Zeros, product,
};

/// Products of two tensors of matrices, in C order. Either tensor may be computed or constant.
#[derive(Clone, Debug, PartialEq)]
pub struct MatMul {
    /// The number of matrices in a, b and the output.
    pub batch: usize,
    /// Rows of a.
    pub rows: usize,
    /// Columns of a, rows of b.
    pub inner: usize,
    /// Columns of b.
    pub columns: usize,
    /// `[batch, rows, inner]`
    pub a: Source,
    /// `[batch, inner, columns]`
    pub b: Source,
    /// `[batch, rows, columns]`, as a value.
    pub out: usize,
}

impl Operation for MatMul {
    fn facts(&self) -> Facts<'_> {
        Facts {
            name: "matmul",
            operands: vec![self.a, self.b],
            weights: Vec::new(),
            outputs: vec![self.out],
            work: Work::Products {
                steps: 1,
                each: product(&[self.batch, self.rows, self.inner, self.columns]),
            },
            over_time: OverTime::AnyStep,
            zeros: Zeros::IfOne,
            numbers: OutputNumbers::Any,
            product: None,
            kernel: KernelForm::Rows(self.columns),
            notation: Notation::Function("matmul"),
            functions: Vec::new(),
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
        self.batch *= rows.count;
        rows.copy(&mut self.a);
        rows.copy(&mut self.b);
    }

    fn same_attributes(&self, other: &CoreOp) -> bool {
        // a product has no attributes but sizes
        matches!(other, CoreOp::MatMul(_))
    }

    fn visit(&mut self, visit: &mut dyn FnMut(Reference)) {
        visit(Reference::Source(&mut self.a));
        visit(Reference::Source(&mut self.b));
        visit(Reference::Value(&mut self.out));
    }

    fn drop_outputs(&mut self, _: &[bool]) {
        // nothing to drop: a product in the model has a needed output
    }

    fn text(&self, _: &CoreModel) -> String {
        let Self { batch, rows, inner, columns, a, b, .. } = self;
        format!("{a} times {b}, {batch} of [{rows}, {inner}] [{inner}, {columns}]")
    }
}
