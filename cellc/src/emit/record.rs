//! The record for `cellc pack` in a generated file: one string without spaces and quotes.

use crate::pack::Layout;
use crate::request::Options;

/// The start of a record.
pub(crate) const RECORD: &str = "cellc-weights:";

/// The record of a file with this layout and these options: the version of cellc, the layout and
/// [`Options::given`].
pub(super) fn record(layout: Layout, options: &Options) -> String {
    let words = options.given().into_iter().map(|word| format!(":{}", encoded(&word)));
    format!("{RECORD}{}:{layout}{}", env!("CARGO_PKG_VERSION"), words.collect::<String>())
}

/// A word with its special characters as %XX, colons included: valid inside strings of C and Rust.
pub(crate) fn encoded(word: &str) -> String {
    let spelled = |byte: u8| match byte {
        b'-' | b'.' | b',' | b'=' | b'_' => char::from(byte).to_string(),
        _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        _ => format!("%{byte:02x}"),
    };
    word.bytes().map(spelled).collect()
}
