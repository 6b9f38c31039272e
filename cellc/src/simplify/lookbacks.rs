//! Operations that read earlier elements along an axis, and the padding before the first element.

use super::translator::Translator;
use crate::check::step_facts::{Before, Front, Lookback};
use crate::core::Known;
use crate::model::Node;

impl<'a> Translator<'_, 'a> {
    /// Notes the padding before the axes of an operation.
    pub(crate) fn note_lookback(
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
            self.steps.lookbacks.iter().any(|other| std::ptr::eq(other.node, lookback.node));
        if self.depth == 0 && !lookback.fronts.is_empty() && !is_known {
            self.steps.lookbacks.push(lookback);
        }
    }

    /// Notes a Concat of one number in front of a tensor. The tensor may lack its last elements.
    pub(crate) fn note_front(&mut self, node: &'a Node, inputs: &[Known], axis: i64) {
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
        // a tensor of one step is empty without its last step
        let is_given = |known: &&Known| known.tensor().is_none_or(|tensor| tensor.is_empty());
        let Some(behind) = behind.iter().find(is_given) else { return };
        let (reach, size) =
            (front.shape()[axis], self.core.shape_of(behind).get(axis).copied().unwrap_or(0));
        let sizes = [size, reach + size].into_iter().filter(|&size| size > 0);
        let fronts = sizes.map(|size| Front { size, reach, is_causal: true }).collect();
        self.note_lookback(node, behind, Before::Pads, fronts);
    }
}
