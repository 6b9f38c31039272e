//! The digest of a file, for the comment at the top of generated files.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// SHA-256 of a file's bytes, lower-case hexadecimal.
pub(super) fn sha256(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(bytes) {
        // writing to a string cannot fail
        let _ = write!(text, "{byte:02x}");
    }
    text
}
