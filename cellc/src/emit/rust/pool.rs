//! Where the halves of a cell run: a trait for the caller's own pool, and a pair of threads for
//! those who have none.

use super::lints::{UNUSED, UNUSED_IMPORT};
use crate::emit::text::filled;

/// The trait and its implementation by threads of std.
pub(super) fn items(apart: usize) -> String {
    let join = filled(include_str!("text/join.rs"), &[("#[unused]", UNUSED)]);
    let threads = filled(include_str!("text/threads.rs"), &[("APART", &apart.to_string())]);
    format!(
        "{join}{UNUSED_IMPORT}\npub use self::threads::Pair;\n{UNUSED}\nmod threads \
         {{\n{threads}}}\n"
    )
}
