//! Threads for the halves of a cell: a trait for the caller's pool, and a pair of threads for
//! callers without a pool.

use super::lints::{UNUSED, UNUSED_IMPORT};
use crate::emit::text::filled;

/// The trait, and its implementation by threads of std. `thread_distance`: the distance in bytes
/// that avoids false sharing.
pub(super) fn items(thread_distance: usize) -> String {
    let join = filled(include_str!("text/join.rs"), &[("#[unused]", UNUSED)]);
    let threads =
        filled(include_str!("text/threads.rs"), &[("APART", &thread_distance.to_string())]);
    format!(
        "{join}{UNUSED_IMPORT}\npub use self::threads::Pair;\n{UNUSED}\nmod threads \
         {{\n{threads}}}\n"
    )
}
