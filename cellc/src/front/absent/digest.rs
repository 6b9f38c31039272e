//! Stands in for SHA-256 in macros, which print no header.

pub(super) fn sha256(_: &[u8]) -> String {
    String::new()
}
