//! The lints that generated code silences, and why: it is compiled under whatever lints its user has turned on.

/// The module's user need not call every item.
pub(super) const UNUSED: &str = "#[allow(dead_code)]";

/// As [`UNUSED`], for items that a module re-exports from an inner module.
pub(super) const UNUSED_IMPORT: &str = "#[allow(unused_imports)]";

/// As [`UNUSED`]; and `new` is the one way to make the type: a `Default` would be a second.
pub(super) const UNUSED_NEW: &str = "#[allow(dead_code, clippy::new_without_default)]";

/// Bodies are written for every model alike, not to clippy's taste in style.
pub(super) const STYLE: &str = "#[allow(clippy::all)]";

/// As [`UNUSED`] and [`STYLE`].
pub(super) const UNUSED_STYLE: &str = "#[allow(dead_code, clippy::all)]";
