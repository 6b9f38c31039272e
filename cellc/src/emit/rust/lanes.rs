//! Functions that generated modules bring along where they use them: copies, lengths, results of
//! other types, packing at run time.
//!
//! They are `#[inline]`, never `inline(always)`: LLVM inlines the latter before it has unrolled
//! their loops over lanes, and its loop passes then take longer than all else together in a kernel
//! with hundreds of such loops. For loops over lanes they have `pairs` in the place of the standard
//! library's `zip`, whose `new` is not inline: with several codegen units it is compiled apart, and
//! a helper then does not know how often its loop runs.

use std::collections::BTreeSet;

use crate::arch::{self, Isa};
use crate::emit::text::{filled, parts};
use crate::emit::traversal::decimal;
use crate::kernel::FLUSH_BELOW;

/// Functions that use others come first.
const LANES: &str = include_str!("text/lanes.rs");

/// How weights become whole numbers, which cellc does by the same text.
const ROWS: &str = include_str!("../../encoding/rows.rs");

/// Appends what `module`, which uses these, needs; `attribute` is that of its functions.
pub(super) fn write(
    module: &mut String,
    used: &BTreeSet<&str>,
    (isa, fused_by): (&Isa, Option<&Isa>),
    attribute: &str,
) {
    let limit = format!("{}f32", decimal(FLUSH_BELOW));
    let mut text = String::new();
    for (name, own) in parts(isa.rust_functions).chain(parts(ROWS)).chain(parts(LANES)) {
        if used.contains(name) {
            text.push_str(own);
        }
    }
    let words = [
        ("#[attribute]", attribute),
        ("FLUSH_BELOW", &limit),
        ("INTRINSIC", fused_by.unwrap_or(isa).rust_mul_add),
        ("IS_SPELLED", isa.rust_mul_add_where),
        ("IS_FUSED", fused_by.and_then(Isa::condition).map_or("", |condition| condition.rust)),
    ];
    module.push_str(&filled(&text, &words));
}

/// The names of all of them.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let own = arch::ALL.iter().flat_map(|isa| parts(isa.rust_functions));
    parts(LANES).chain(parts(ROWS)).chain(own).map(|(name, _)| name)
}
