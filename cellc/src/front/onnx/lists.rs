//! Sequences of tensors as lists of values, and the elements appended by loops.

use crate::model::{LoopOutput, Slicing, ValueId};

/// A part of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SequencePiece {
    /// One element.
    One(ValueId),
    /// A tensor with the elements stacked along its first axis.
    Stacked(ValueId),
    /// All elements of a loop-carried sequence at the start of an iteration.
    Carried(Carried),
    /// All parts of a cut tensor.
    Cut(Chunked),
}

/// A tensor cut along an axis into parts of computed lengths. Scripted `torch.chunk` is exported in
/// this form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunked {
    pub(super) tensor: ValueId,
    pub(super) axis: i64,
    /// A list with the length of each part, or one integer for all parts if `one_length`.
    pub(super) lengths: ValueId,
    pub(super) one_length: bool,
}

/// A loop-carried sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Carried {
    /// Depth of the loop's body: the number of levels down to and including the body.
    pub(super) level: usize,
    /// Index among the loop-carried values.
    pub(super) at: usize,
}

/// The pieces of a sequence, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sequence {
    pub(super) pieces: Vec<SequencePiece>,
}

/// The elements added to a sequence in an iteration, at the front and at the back. One flag for
/// each Result of the body: true if the Result has several elements.
pub(super) struct Appended {
    /// Index of the sequence among the loop-carried values.
    pub(super) at: usize,
    pub(super) front: Vec<bool>,
    pub(super) back: Vec<bool>,
}

impl Appended {
    /// The loop's stacked outputs for these elements. `first`: index of the first Result. Elements
    /// inserted in front are stacked in reverse.
    pub(super) fn outputs(&self, first: usize) -> impl Iterator<Item = LoopOutput> {
        let front = self.front.len();
        (0..front + self.back.len()).map(move |k| LoopOutput {
            result: first + k,
            concatenation: Some(Slicing::one_by_one(0, k < front)),
        })
    }
}
