//! Sequences of tensors as lists of values, and what a loop appends to them.

use crate::model::{LoopOutput, Slicing, ValueId};

/// A part of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// One element.
    One(ValueId),
    /// The elements are the parts of a tensor along its first axis.
    Stacked(ValueId),
    /// The sequence that an iteration is given.
    Carried(Carried),
    /// All elements are the parts of a tensor.
    Cut(Cut),
}

/// A tensor in parts along an axis, of lengths that are computed, as `torch.chunk` of a script
/// writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) tensor: ValueId,
    pub(super) axis: i64,
    /// A list of integers; of one length for all parts, a single one.
    pub(super) lengths: ValueId,
    pub(super) one_length: bool,
}

/// A sequence that a loop hands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Carried {
    /// How many graphs are around the loop's body.
    pub(super) level: usize,
    /// Its place among the values that the loop hands on.
    pub(super) at: usize,
}

/// The parts of a sequence, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sequence {
    pub(super) pieces: Vec<Piece>,
}

/// What an iteration adds to a sequence: for each result of the body whether it has several
/// elements.
pub(super) struct Appended {
    /// The sequence's place among what the loop hands on.
    pub(super) at: usize,
    pub(super) front: Vec<bool>,
    pub(super) back: Vec<bool>,
}

impl Appended {
    /// The loop's outputs, whose results stand one after the other from `first` on.
    pub(super) fn outputs(&self, first: usize) -> impl Iterator<Item = LoopOutput> {
        let front = self.front.len();
        (0..front + self.back.len())
            .map(move |k| LoopOutput { result: first + k, concatenation: Some(Slicing::one_by_one(0, k < front)) })
    }
}
