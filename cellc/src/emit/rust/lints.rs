//! Lints silenced by generated code, with reasons: users may enable any lint.

use super::types::has_long_list;

/// The module's user need not call every item.
pub(super) const UNUSED: &str = "#[allow(dead_code, reason = \"a user need not call every item\")]";

/// Like [`UNUSED`], for items re-exported from an inner module.
pub(super) const UNUSED_IMPORT: &str =
    "#[allow(unused_imports, reason = \"a user need not call every item\")]";

/// Like [`UNUSED`]. `new` is the only constructor: a `Default` would be a second.
pub(super) const UNUSED_NEW: &str = "#[allow(dead_code, clippy::new_without_default, \
reason = \"a user may call less; new is the one constructor\")]";

/// For kernels shared by several modules.
pub(super) const SHARED: &str =
    "#[allow(dead_code, reason = \"machines differ in what they use\")]\n";

/// For modules with vector types.
pub(super) const TYPES: &str = "#[allow(dead_code, unused_imports, unused_unsafe, \
reason = \"machines and versions of core differ\")]";

/// For modules of kernels: the lints that their text may trigger.
pub(super) fn kernels(text: &str) -> String {
    let has_number = text.match_indices('.').any(|(at, _)| {
        text[..at].ends_with(|c: char| c.is_ascii_digit())
            && text[at + 1..].starts_with(|c: char| c.is_ascii_digit())
    });
    let lints = [
        (has_number, ACTIVATIONS),
        (
            text.contains(" + "),
            "#[allow(clippy::assign_op_pattern, reason = \"a sum keeps the order of its \
             operands\")]",
        ),
        (
            text.contains("&*"),
            "#[allow(clippy::borrow_deref_ref, reason = \"LLVM must not know the address\")]",
        ),
        (
            text.lines().any(has_long_list),
            "#[allow(clippy::too_many_arguments, reason = \"a kernel takes every buffer as an \
             argument\")]",
        ),
    ];
    lints.into_iter().filter(|(is_so, _)| *is_so).map(|(_, lint)| format!("{lint}\n")).collect()
}

/// For activations.
pub(super) const ACTIVATIONS: &str = "#[allow(clippy::approx_constant, \
reason = \"a coefficient may be near a constant of mathematics\")]";

/// For functions with more parameters than clippy allows.
pub(super) const MANY: &str = "#[allow(clippy::too_many_arguments, reason = \"a function takes \
    every tensor as an argument\")]\n";
