//! The forms of the vectors of a file: registers, single numbers, two vectors side by side.

use std::collections::BTreeSet;

/// The forms of vectors that modules declare, and the needs of the declarations.
#[derive(Default)]
pub(in crate::emit::rust) struct Forms {
    /// True if some vectors are registers.
    pub(super) registers: bool,
    /// True if registers have dot products of integers.
    pub(super) dots: bool,
    /// True if some vectors are single numbers.
    pub(super) numbers: bool,
    /// True if the multiply-add of single numbers may be fused.
    pub(super) fused_numbers: bool,
    /// True if some vectors are two vectors side by side.
    pub(super) joined: bool,
    /// Helper functions of the file.
    pub(super) helpers: BTreeSet<&'static str>,
}

impl Forms {
    /// Adds the forms of another module.
    pub(in crate::emit::rust) fn merge(&mut self, other: &Self) {
        self.registers |= other.registers;
        self.dots |= other.dots;
        self.numbers |= other.numbers;
        self.fused_numbers |= other.fused_numbers;
        self.joined |= other.joined;
        self.helpers.extend(&other.helpers);
    }
}
