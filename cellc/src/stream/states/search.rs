//! The facts that the search for states reads.

use std::collections::HashMap;

use super::Recurrences;
use crate::core::CoreModel;
use crate::model::Node;

/// The facts that each part of the search reads.
pub(super) struct Search<'s, 'm, 'a> {
    pub(super) model: &'m CoreModel,
    pub(super) recurrences: &'s Recurrences<'m>,
    /// By value: true if an output depends on the value.
    pub(super) needed: &'s [bool],
    pub(super) layers: &'s HashMap<usize, &'a Node>,
}

impl<'a> Search<'_, '_, 'a> {
    /// The layer of a recurrence.
    pub(super) fn layer(&self, place: usize) -> Option<&'a Node> {
        self.layers.get(&place).copied()
    }
}
