//! The facts about core operations that do not depend on the network.

use super::{CoreOp, Lengths, LoopSlice, Source};

impl CoreOp {
    /// True if the operation multiplies constant matrices by vectors, with sizes in the plan.
    pub fn is_product(&self) -> bool {
        matches!(self, Self::Cell(_) | Self::Dense(_))
    }

    /// True if the operation multiplies fixed matrices whose precision can be chosen: a cell, a
    /// dense layer or a depthwise convolution.
    pub fn has_precision(&self) -> bool {
        self.is_product() || matches!(self, Self::Convolve(convolve) if convolve.is_depthwise())
    }

    /// The first value that the operation computes.
    pub(crate) fn first_value(&self) -> usize {
        self.outputs()[0]
    }

    /// The length of the rows of x in products with constant matrices; for a depthwise convolution
    /// the taps of a window.
    pub fn input_size(&self) -> Option<usize> {
        match self {
            Self::Cell(cell) => Some(cell.input_size),
            Self::Dense(dense) => Some(dense.inputs),
            Self::Convolve(convolve) if convolve.is_depthwise() => Some(convolve.offsets().len()),
            _ => None,
        }
    }

    /// The operands without weights; for a loop also the outer values that its body reads.
    pub fn reads(&self) -> Vec<Source> {
        match self {
            Self::Cell(cell) => {
                let lengths = cell.sequence.as_ref().and_then(|s| match s.lengths {
                    Lengths::Parameter(i) => Some(Source::Parameter(i)),
                    Lengths::Computed(source) => Some(source),
                    Lengths::Full | Lengths::Constant(_) => None,
                });
                [Some(cell.x), Some(cell.h), cell.c, cell.a, lengths].into_iter().flatten().collect()
            }
            Self::Dense(dense) => vec![dense.x],
            Self::MatMul(matmul) => vec![matmul.a, matmul.b],
            Self::Convolve(convolve) => vec![convolve.x, convolve.w],
            Self::Pointwise(pointwise) => pointwise.inputs.clone(),
            Self::Softmax(softmax) => vec![softmax.input],
            Self::Reduce(reduce) => vec![reduce.input],
            Self::View(view) => vec![view.input],
            Self::Concat(concat) => concat.inputs.clone(),
            Self::Integers(integers) => vec![Source::Parameter(integers.parameter)],
            Self::Lookup(lookup) => vec![lookup.table, lookup.indices],
            Self::TopK(top) => vec![top.input],
            Self::Loop(body) => {
                let own = |s: &LoopSlice| s.of;
                let mut all: Vec<Source> = body.slices.iter().map(own).collect();
                all.extend(body.carried.iter().flat_map(|c| [c.initial, c.next]));
                all.extend(body.results.iter().map(|r| r.of));
                all.extend(body.body.iter().flat_map(|node| node.op.reads()));
                all
            }
        }
    }

    /// The values that the operation computes for later nodes.
    pub fn outputs(&self) -> Vec<usize> {
        match self {
            Self::Cell(cell) => [cell.y, cell.h_out, cell.c_out].into_iter().flatten().collect(),
            Self::Dense(dense) => vec![dense.out],
            Self::MatMul(matmul) => vec![matmul.out],
            Self::Convolve(convolve) => vec![convolve.out],
            Self::Pointwise(pointwise) => vec![pointwise.out],
            Self::Softmax(softmax) => vec![softmax.out],
            Self::Reduce(reduce) => vec![reduce.out],
            Self::View(view) => vec![view.out],
            Self::Concat(concat) => vec![concat.out],
            Self::Loop(body) => body.results.iter().map(|r| r.out).collect(),
            Self::Integers(integers) => vec![integers.out],
            Self::Lookup(lookup) => vec![lookup.out],
            Self::TopK(top) => [top.values, top.places].into_iter().flatten().collect(),
        }
    }
}
