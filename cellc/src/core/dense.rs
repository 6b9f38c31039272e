//! A product with a fixed matrix.

use super::{
    CoreModel, CoreOp, Factor, Facts, FixedMatrices, FixedProduct, KernelForm, Notation, Operation,
    OutputNumbers, OverTime, PlannedProduct, Reach, Reference, Source, StateEndsMut, StreamRows,
    Treatment, WeightSource, Work, Zeros, product,
};
use crate::model::counted;

/// `y = x W` with a fixed matrix W.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    /// Rows of x: the product of all outer dimensions.
    pub rows: usize,
    /// The length of a row of x.
    pub inputs: usize,
    /// The length of a row of y.
    pub outputs: usize,
    /// x
    pub x: Source,
    /// W: `[inputs, outputs]`, or transposed `[outputs, inputs]`.
    pub w: WeightSource,
    /// True if W is transposed.
    pub transposed: bool,
    /// The number of chains of additions per sum, a power of two.
    pub chains: usize,
    /// y as a value.
    pub out: usize,
}

impl Dense {
    /// The number of chains for a dense layer of these sizes. A layer with one output has up to 8
    /// chains, to hide the latency of additions, each with at least four terms; other layers have
    /// one. A convolution always has one chain.
    pub fn chains(inputs: usize, outputs: usize) -> usize {
        let most = if outputs == 1 { 8 } else { 1 };
        [8, 4, 2].into_iter().find(|&chains| chains <= most && chains * 4 <= inputs).unwrap_or(1)
    }

    /// The strides of W in its tensor: between neighbouring outputs, and between neighbouring
    /// inputs.
    pub fn strides(&self) -> [usize; 2] {
        if self.transposed { [self.inputs, 1] } else { [1, self.outputs] }
    }
}

impl Operation for Dense {
    fn facts(&self) -> Facts<'_> {
        let x = Factor { source: Some(self.x), len: self.inputs };
        let fixed = Some(FixedProduct {
            x,
            h: None,
            matrices: FixedMatrices::Planned(PlannedProduct::Dense(self)),
        });
        Facts {
            name: "dense",
            operands: vec![self.x],
            weights: vec![self.w],
            outputs: vec![self.out],
            work: Work::Products {
                steps: 1,
                each: product(&[self.rows, self.inputs, self.outputs]),
            },
            over_time: OverTime::CombinesRows(self.inputs),
            zeros: Zeros::IfOne,
            numbers: OutputNumbers::Any,
            product: fixed,
            kernel: KernelForm::Rows(self.outputs),
            notation: Notation::Weighted,
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
        self.rows *= rows.count;
        rows.copy(&mut self.x);
    }

    fn same_attributes(&self, other: &CoreOp) -> bool {
        let key = |dense: &Self| (dense.inputs, dense.outputs, dense.transposed);
        matches!(other, CoreOp::Dense(other) if key(self) == key(other))
    }

    fn visit(&mut self, visit: &mut dyn FnMut(Reference)) {
        visit(Reference::Source(&mut self.x));
        visit(Reference::Weight(&mut self.w));
        visit(Reference::Value(&mut self.out));
    }

    fn drop_outputs(&mut self, _: &[bool]) {
        // nothing to drop: a product in the model has a needed output
    }

    fn text(&self, _: &CoreModel) -> String {
        let w = if self.transposed { "W'" } else { "W" };
        let rows = counted(self.rows, "row");
        let (inputs, outputs) = (self.inputs, self.outputs);
        format!("{} {w}, {rows}, {w} [{inputs}, {outputs}], W = {}", self.x, self.w)
    }
}
