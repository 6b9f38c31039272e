//! The vectors that a block of statements has stored.

use std::collections::BTreeMap;

use crate::kernel::{Base, Place};

/// Vectors that the statements of a block have stored, by buffer or window: first element and
/// lanes.
#[derive(Default)]
pub(super) struct Stored(BTreeMap<Base, BTreeMap<usize, usize>>);

impl Stored {
    /// Adds a vector. True if the vector partly overlaps an earlier vector; all earlier vectors of
    /// the buffer or window are then removed.
    pub(super) fn overlaps(&mut self, to: Place, lanes: usize) -> bool {
        let vectors = self.0.entry(to.base).or_default();
        let before = vectors.range(..to.offset + lanes).next_back();
        let shares = |(at, wide): (&usize, &usize)| {
            at + wide > to.offset && (*at, *wide) != (to.offset, lanes)
        };
        let overlaps = before.is_some_and(shares);
        if overlaps {
            vectors.clear();
        }
        vectors.insert(to.offset, lanes);
        overlaps
    }
}
