//! The implementation of cellc-runtime's trait.

use super::names::Interface;

/// `impl ::cellc_runtime::Cell for ...`; `borrows` where the type borrows packed weights.
pub(super) fn text(_interface: &Interface, _borrows: bool) -> String {
    String::new()
}
