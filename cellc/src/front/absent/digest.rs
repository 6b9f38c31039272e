//! Stands in for SHA-256 in a build without the feature `builder`. Macros are such a build, and
//! print no comment that states a digest.

pub(super) fn sha256(_: &[u8]) -> String {
    String::new()
}
