//! The inputs of the search for states.

use std::collections::HashMap;

use super::Recurrences;
use crate::core::CoreModel;
use crate::model::Node;

/// The inputs that all parts of the search for states read.
pub(super) struct Search<'s, 'm, 'a> {
    pub(super) model: &'m CoreModel,
    pub(super) recurrences: &'s Recurrences<'m>,
    /// By value: true if a Result or a variable depends on the value.
    pub(super) needed: &'s [bool],
    pub(super) layers: &'s HashMap<usize, &'a Node>,
}

impl<'a> Search<'_, '_, 'a> {
    /// The layer of the recurrence that `value` identifies.
    pub(super) fn layer(&self, value: usize) -> Option<&'a Node> {
        self.layers.get(&value).copied()
    }
}
