//! The recurrence of layers that compute at another sample rate than the model's.

use super::graph::Graph;
use crate::diagnostic::Origin;
use crate::model::{Binary, Op, Tensor, ValueId};

/// The distance in steps from a state of a recurrent layer to the next state computed from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StateDelay {
    /// Whole steps, 1 or more.
    pub(crate) steps: usize,
    /// The fraction of a step beyond `steps`, below 1. The layer interpolates linearly between two
    /// states.
    pub(crate) fraction: f32,
}

impl StateDelay {
    /// Every state follows from the state one step ago.
    pub(crate) const ONE: Self = Self { steps: 1, fraction: 0.0 };

    /// Number of states that the layer stores.
    pub(super) fn stored(self) -> usize {
        self.steps + usize::from(self.fraction > 0.0)
    }

    /// The state from which the layer computes its next state. `stored`: the states one step ago,
    /// two steps ago and so on.
    pub(super) fn state(
        self,
        graph: &mut Graph,
        name: &str,
        stored: &[ValueId],
        origin: &Origin,
    ) -> ValueId {
        let newer = stored[self.steps - 1];
        let Some(&older) = stored.get(self.steps) else { return newer };
        let at = |part: &str| format!("{name}_{part}");
        // computed from the change, so that a state at rest keeps its bits
        let change = Op::elementwise(Binary::Subtract);
        let change = graph.computed(&at("change"), change, vec![older, newer], origin);
        let fraction = Tensor::from_f32(vec![1], &[self.fraction]).expect("one value");
        let fraction = graph.constant(&at("fraction"), &fraction, origin);
        let part = Op::elementwise(Binary::Multiply);
        let part = graph.computed(&at("part"), part, vec![change, fraction], origin);
        let sum = Op::elementwise(Binary::Add);
        graph.computed(&at("delayed"), sum, vec![newer, part], origin)
    }
}
