//! Reductions.

use super::{
    CoreModel, CoreOp, Effort, Facts, KernelForm, Notation, Number, Operation, OutputNumbers,
    OverTime, PointwiseFunction, Reach, Reference, Source, StateEndsMut, StreamRows, Treatment,
    Work, Zeros,
};
use crate::model::{Binary, counted};

/// An operation on two elements, by which a reduction combines all elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combiner {
    /// The sum.
    Add,
    /// The product.
    Multiply,
    /// The larger element.
    Maximum,
    /// The smaller element.
    Minimum,
}

impl Combiner {
    /// The result of the reduction, in a word.
    pub fn result(self) -> &'static str {
        match self {
            Self::Add => "sum",
            Self::Multiply => "product",
            Self::Maximum => "maximum",
            Self::Minimum => "minimum",
        }
    }

    /// The operation as arithmetic of two numbers.
    pub(crate) fn binary(self) -> Binary {
        match self {
            Self::Add => Binary::Add,
            Self::Multiply => Binary::Multiply,
            Self::Maximum => Binary::Maximum,
            Self::Minimum => Binary::Minimum,
        }
    }

    /// The operation as a pointwise function of two elements.
    pub fn function(self) -> PointwiseFunction {
        self.binary().into()
    }

    /// The operation on two numbers.
    pub(crate) fn combine<N: Number>(self, a: N, b: N) -> N {
        self.binary().of(a, b)
    }
}

/// A reduction of all elements along neighbouring axes by one operation.
///
/// The order for n elements and k chains:
///
/// 1. Chain c combines the elements c, c + k, c + 2k and so on. The last n mod k elements remain.
/// 2. Each chain of the second half is combined into one chain of the first half. If at least as
///    many elements remain as chains are left, each chain is combined with one of the remaining
///    elements.
/// 3. Step 2 repeats until one chain is left.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduce {
    /// The operation.
    pub combiner: Combiner,
    /// The first axis.
    pub first: usize,
    /// The axis after the last one.
    pub end: usize,
    /// The number of chains: a power of two, at most the number of elements.
    pub chains: usize,
    /// The input.
    pub input: Source,
    /// The result, as a value. The reduced axes have size 1.
    pub out: usize,
}

impl Reduce {
    /// The number of chains for rows of `size` elements. `inner`: the distance from one element of
    /// a row to the next.
    pub fn chains(size: usize, inner: usize) -> usize {
        if inner == 1 && size >= 32 { 16 } else { 1 }
    }

    /// Elements along the axes in front of the reduced axes, along the reduced axes, and along the
    /// axes behind.
    pub fn extents(&self, shape: &[usize]) -> [usize; 3] {
        [&shape[..self.first], &shape[self.first..self.end], &shape[self.end..]]
            .map(|sizes| sizes.iter().product())
    }
}

/// The number of chains for reductions within softmax and TopK, over rows of `size` adjacent
/// elements. Softmax and TopK wait for the result of the reduction, and several chains hide the
/// latency of additions and comparisons.
pub fn chains_of_short_rows(size: usize) -> usize {
    [16, 8, 4].into_iter().find(|chains| 2 * chains <= size).unwrap_or(1)
}

impl Operation for Reduce {
    fn facts(&self) -> Facts<'_> {
        Facts {
            name: "reduce",
            operands: vec![self.input],
            weights: Vec::new(),
            outputs: vec![self.out],
            work: Work::elements(self.input, Effort::Arithmetic),
            over_time: OverTime::Combines(self.first..self.end),
            zeros: match self.combiner {
                Combiner::Add => Zeros::IfAll,
                _ => Zeros::Unknown,
            },
            numbers: match self.combiner {
                Combiner::Maximum | Combiner::Minimum => OutputNumbers::Moved(vec![self.input]),
                _ => OutputNumbers::Any,
            },
            product: None,
            kernel: KernelForm::Alone,
            notation: Notation::Function(self.combiner.result()),
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
        self.first += 1;
        self.end += 1;
        rows.copy(&mut self.input);
    }

    fn same_attributes(&self, other: &CoreOp) -> bool {
        let key = |reduce: &Self| (reduce.combiner, reduce.first, reduce.end);
        matches!(other, CoreOp::Reduce(other) if key(self) == key(other))
    }

    fn visit(&mut self, visit: &mut dyn FnMut(Reference)) {
        visit(Reference::Source(&mut self.input));
        visit(Reference::Value(&mut self.out));
    }

    fn drop_outputs(&mut self, _: &[bool]) {
        // nothing to drop: a reduction in the model has a needed output
    }

    fn text(&self, _: &CoreModel) -> String {
        let (name, chains) = (self.combiner.function().name(), counted(self.chains, "chain"));
        let (input, first, last) = (self.input, self.first, self.end - 1);
        format!("{name} of {input} along axes {first} to {last}, {chains}")
    }
}
