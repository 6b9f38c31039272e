//! The work and memory spent on constants, and their limits.

use std::collections::HashSet;

use super::build_error::BuildError;
use crate::model::limits::{
    FOLDED_PER_BYTE, FOLDS_PER_BYTE, MOST_FOLDED, MOST_FOLDED_BYTES, MOST_FOLDED_EVER,
};
use crate::model::{ElementType, Tensor};

/// The work and memory spent on constants.
#[derive(Default)]
pub(crate) struct Folded {
    /// Elements and products that operations on constants computed.
    elements: usize,
    /// Bytes of all results.
    bytes: usize,
    /// Bytes of the model's own constants.
    given: usize,
    /// Constants counted in `given`, by address and length: several nodes may share a constant.
    known: HashSet<(usize, usize)>,
}

impl Folded {
    /// Counts a constant of the model.
    pub(crate) fn given(&mut self, tensor: &Tensor) {
        let bytes = tensor.bytes();
        if self.known.insert((bytes.as_ptr().addr(), bytes.len())) {
            self.given = self.given.saturating_add(bytes.len());
        }
    }
    /// Counts the result of an operation on constants. Refuses more bytes or elements than the
    /// limits.
    pub(super) fn result(&mut self, count: usize, element: ElementType) -> Result<(), BuildError> {
        // folded integers and booleans are stored in 64 bits
        let size = if element.is_float() && element != ElementType::F64 { 4 } else { 8 };
        self.bytes = self.bytes.saturating_add(count.saturating_mul(size));
        let most = MOST_FOLDED_BYTES.saturating_add(self.given.saturating_mul(FOLDED_PER_BYTE));
        if self.bytes > most {
            return Err(BuildError::FoldedBytes { bytes: self.bytes, most });
        }
        self.work(count)
    }

    /// Counts elements and products that an operation on constants computes. Refuses more than the
    /// limit.
    pub(super) fn work(&mut self, elements: usize) -> Result<(), BuildError> {
        self.affords(elements)?;
        self.elements = self.elements.saturating_add(elements);
        Ok(())
    }

    /// Refuses more elements and products than the limit, and counts nothing.
    pub(super) fn affords(&self, elements: usize) -> Result<(), BuildError> {
        let elements = self.elements.saturating_add(elements);
        let most = MOST_FOLDED.saturating_add(self.given.saturating_mul(FOLDS_PER_BYTE));
        let most = most.min(MOST_FOLDED_EVER);
        if elements > most {
            return Err(BuildError::FoldedElements { elements, most });
        }
        Ok(())
    }
}
