//! Helper functions of single modules: results of other types, packing at run time, operations of
//! one instruction set. Functions shared by all modules are in [`super::vectors`].
//!
//! The functions are `#[inline]`, never `inline(always)`. LLVM inlines `inline(always)` functions
//! before it unrolls their loops; in a kernel with hundreds of such loops, loop passes then
//! dominate compile time.

use std::collections::BTreeSet;

use crate::arch::{self, Isa};
use crate::emit::text::{filled, parts};

/// Helper functions, by name.
const LANES: &str = include_str!("text/lanes.rs");

/// Quantisation of weights. cellc itself compiles this text, too.
const ROWS: &str = include_str!("../../encoding/rows.rs");

/// Appends the helper functions in `used` to `module`. `attribute` is the attribute of the module's
/// functions.
pub(super) fn write(module: &mut String, used: &BTreeSet<&str>, isa: &Isa, attribute: &str) {
    let mut text = String::new();
    for (name, own) in parts(isa.rust.functions).chain(parts(ROWS)).chain(parts(LANES)) {
        if used.contains(name) {
            text.push_str(own);
        }
    }
    module.push_str(&filled(&text, &[("#[attribute]", attribute)]));
}

/// The names of all helper functions.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let of_isas = arch::ALL.iter().flat_map(|isa| parts(isa.rust.functions));
    parts(LANES).chain(parts(ROWS)).chain(of_isas).map(|(name, _)| name)
}
