//! Threads for the halves of a cell: a struct for the caller's pool, and a pair of threads for
//! callers without a pool.

use super::CFile;
use crate::arch::C_PAUSE;
use crate::emit::text::filled;

/// The declarations in the header.
pub(super) fn header(file: &CFile<'_>) -> String {
    named(file, include_str!("text/pool.h"))
}

/// The definitions of the thread pool, and the function that joins the halves of a cell if the file
/// has halves.
pub(super) fn source(file: &CFile<'_>) -> String {
    let mut out = named(file, include_str!("text/pool.c"));
    if file.has_halves() {
        out.push_str(&named(file, include_str!("text/join.c")));
    }
    out
}

fn named(file: &CFile<'_>, text: &str) -> String {
    let words = [
        ("    PAUSE;\n", C_PAUSE),
        ("APART", &file.options.machine.target.memory.thread_distance.to_string()),
        ("PREFIX", file.prefix()),
        ("UPPER", &file.upper()),
    ];
    format!("\n{}", filled(text, &words))
}
