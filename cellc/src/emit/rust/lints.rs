//! The lints that generated code silences, and why: it is compiled under whatever lints its user
//! has turned on.

/// The module's user need not call every item.
pub(super) const UNUSED: &str = "#[allow(dead_code, reason = \"a user need not call every item\")]";

/// As [`UNUSED`], for items that a module re-exports from an inner module.
pub(super) const UNUSED_IMPORT: &str = "#[allow(unused_imports, reason = \"a user need not call every item\")]";

/// As [`UNUSED`]; and `new` is the one way to make the type: a `Default` would be a second.
pub(super) const UNUSED_NEW: &str = "#[allow(dead_code, clippy::new_without_default, \
reason = \"a user need not call every item; new is the one constructor\")]";

/// For modules of kernels.
pub(super) const KERNELS: &str = "#[allow(clippy::approx_constant, clippy::assign_op_pattern, clippy::borrow_deref_ref, \
clippy::too_many_arguments, \
reason = \"a coefficient may be near a constant of mathematics; a kernel takes every buffer as an argument, some by a reference; a sum keeps the order of its operands\")]";

/// For activations.
pub(super) const ACTIVATIONS: &str = "#[allow(clippy::approx_constant, \
reason = \"a coefficient may be near a constant of mathematics\")]";

/// For functions that pass fields on.
pub(super) const STYLE: &str = "#[allow(clippy::redundant_field_names, clippy::too_many_arguments, \
reason = \"all fields and buffers have names\")]";

/// As [`UNUSED`] and [`STYLE`].
pub(super) const UNUSED_STYLE: &str = "#[allow(dead_code, clippy::redundant_field_names, clippy::too_many_arguments, \
reason = \"a user need not call every function; all fields and buffers have names\")]";
