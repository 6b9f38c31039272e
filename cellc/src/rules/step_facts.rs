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
    /// The largest constant number of steps, with its reader, if the number of steps of X is open
    /// and no row has as many.
    pub(crate) most_lengths: Option<(usize, &'a Node)>,
    /// What operations read in front of their axes.
    pub(crate) history: History,
}
