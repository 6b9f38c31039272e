//! Operations that look at earlier elements along an axis: what stands in front of the first one.

use super::{Known, Validation};
use crate::model::Node;

/// An operation that computes the first elements along an axis from elements in front of the axis,
/// which no input gives.
pub(super) struct Lookback<'a> {
    pub(super) node: &'a Node,
    pub(super) before: Before,
    pub(super) fronts: Vec<Front>,
}

/// What an operation finds in front of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// Pads, given by the operation or as a constant.
    Pads,
    /// The sum of no elements.
    Zero,
}

/// What stands in front of an axis.
#[derive(Clone, Copy)]
pub(super) struct Front {
    /// The size of the axis.
    pub(super) size: usize,
    /// How many elements in front of an element the operation reads.
    pub(super) reach: usize,
    /// True if nothing behind an element is read, as far as the operation itself says.
    pub(super) is_causal: bool,
}

impl Lookback<'_> {
    /// What stands in front of the only axis that has one of these sizes. Windows over maps of one
    /// pixel have two.
    pub(super) fn along(&self, sizes: &[usize]) -> Option<Front> {
        let mut fitting = self.fronts.iter().filter(|front| sizes.contains(&front.size));
        fitting.next().copied().filter(|_| fitting.next().is_none())
    }
}

impl<'a> Validation<'a> {
    /// Notes what stands in front of the axes of an operation on a tensor.
    pub(super) fn note_lookback(
        &mut self,
        node: &'a Node,
        x: &Known,
        before: Before,
        fronts: Vec<Front>,
    ) {
        if x.tensor().is_none_or(|tensor| tensor.is_empty()) {
            self.add_lookback(Lookback { node, before, fronts });
        }
    }

    fn add_lookback(&mut self, lookback: Lookback<'a>) {
        let is_known =
            self.over_time.lookbacks.iter().any(|other| std::ptr::eq(other.node, lookback.node));
        if self.current.depth == 0 && !lookback.fronts.is_empty() && !is_known {
            self.over_time.lookbacks.push(lookback);
        }
    }

    /// Notes a Concat that puts one number in front of a tensor, which may lack its last elements.
    pub(super) fn note_front(&mut self, node: &'a Node, inputs: &[Known], axis: i64) {
        let [Known::Constant(front, _), behind @ ..] = inputs else { return };
        let rank = front.shape().len();
        let at = usize::try_from(if axis < 0 { axis + rank as i64 } else { axis });
        let Some(axis) = at.ok().filter(|axis| *axis < rank) else { return };
        let bits = |at: usize| front.get_f32(at).to_bits();
        if !front.element().is_float()
            || front.is_empty()
            || (1..front.len()).any(|at| bits(at) != bits(0))
        {
            return;
        }
        // one step without its last one is empty
        let is_given = |known: &&Known| known.tensor().is_none_or(|tensor| tensor.is_empty());
        let Some(behind) = behind.iter().find(is_given) else { return };
        let (reach, size) =
            (front.shape()[axis], self.shape_of(behind).get(axis).copied().unwrap_or(0));
        let sizes = [size, reach + size].into_iter().filter(|&size| size > 0);
        let fronts = sizes.map(|size| Front { size, reach, is_causal: true }).collect();
        self.note_lookback(node, behind, Before::Pads, fronts);
    }
}
