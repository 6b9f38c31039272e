//! The result of a reader.

use crate::diagnostic::Diagnostics;
use crate::model::Model;

/// A model and the problems of its source. If the problems have errors, faulty operations are
/// missing in the model.
#[derive(Debug)]
pub struct ReadModel {
    /// The model, or its valid part.
    pub model: Model,
    /// All problems that the reader found: warnings, and errors in parts of the source.
    pub problems: Diagnostics,
}

impl ReadModel {
    /// A model without problems.
    pub(crate) fn new(model: Model) -> Self {
        Self { model, problems: Diagnostics::default() }
    }
}
