//! Stands in for SHA-256 in a build without the feature `builder`, as in macros: macros print no
//! header.

pub(super) fn sha256(_: &[u8]) -> String {
    String::new()
}
