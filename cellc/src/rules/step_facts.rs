//! Facts about operations over steps, which the translation finds for checks of steps and states.

use std::collections::HashMap;

use crate::core::History;
use crate::model::Node;

/// Facts about the operations over steps, for later checks of steps and states.
#[derive(Default)]
pub(crate) struct StepFacts<'a> {
    /// Recurrent layers by their last states, loops by their carried values, products by their
    /// results.
    pub(crate) layers: HashMap<usize, &'a Node>,
    /// The largest constant length of a sequence, with the sequence, if the number of steps is open
    /// and the length differs from the assumed number.
    pub(crate) most_lengths: Option<(usize, &'a Node)>,
    /// The elements that operations read in front of the first element of an axis.
    pub(crate) history: History,
}
