//! Reductions.

use super::{
    CoreModel, Effort, Facts, Name, Numbers, Operation, OverTime, PointwiseFunction, Source, Work,
    Zeros,
};
use crate::model::counted;

/// A reduction of all elements along neighbouring axes by one operation.
///
/// Chain `c` combines the elements c, c + chains, c + 2 chains and so on, in order. Then the first
/// half of the chains is combined with the second half, until one chain is left.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduce {
    /// Add, Multiply, Maximum or Minimum.
    pub function: PointwiseFunction,
    /// The first axis.
    pub first: usize,
    /// The axis after the last one.
    pub end: usize,
    /// The number of chains: a power of two, at most the number of elements.
    pub chains: usize,
    /// The input.
    pub input: Source,
    /// The value; the reduced axes have size 1.
    pub out: usize,
}

impl Reduce {
    /// The number of chains for `count` elements. The elements are neighbours if `inner` is 1.
    pub fn chains(size: usize, inner: usize) -> usize {
        if inner == 1 && size >= 32 { 16 } else { 1 }
    }

    /// Products of the input's sizes before the reduced axes, along the reduced axes, and after.
    pub fn extents(&self, shape: &[usize]) -> [usize; 3] {
        [&shape[..self.first], &shape[self.first..self.end], &shape[self.end..]]
            .map(|sizes| sizes.iter().product())
    }
}

impl Operation for Reduce {
    fn facts(&self) -> Facts {
        use PointwiseFunction as P;
        Facts {
            name: "reduce",
            operands: vec![self.input],
            weights: Vec::new(),
            outputs: vec![self.out],
            work: Work::elements(self.input, Effort::Arithmetic),
            over_time: OverTime::Combines(self.first..self.end),
            zeros: if self.function == P::Add { Zeros::IfAll } else { Zeros::Unknown },
            numbers: match self.function {
                P::Maximum | P::Minimum => Numbers::Moved(vec![self.input]),
                _ => Numbers::Any,
            },
        }
    }

    fn visit(&mut self, visit: &mut dyn FnMut(Name)) {
        visit(Name::Source(&mut self.input));
        visit(Name::Value(&mut self.out));
    }

    fn text(&self, _: &CoreModel) -> String {
        let (name, chains) = (self.function.name(), counted(self.chains, "chain"));
        let (input, first, last) = (self.input, self.first, self.end - 1);
        format!("{name} of {input} along axes {first} to {last}, {chains}")
    }
}
