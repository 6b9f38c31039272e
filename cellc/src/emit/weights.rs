//! Weights as text: one byte-string literal, so that neither syn nor rustc sees a million tokens.

use proc_macro2::{Group, Literal, TokenStream, TokenTree};

use super::rust::WEIGHTS;
#[cfg(feature = "builder")]
use crate::options::Language;

/// Appends `b"..."` over several lines.
#[cfg(feature = "builder")]
pub(super) fn byte_string(bytes: &[u8], out: &mut String) {
    /// Columns of the source that a line of weights fills.
    const COLUMNS: usize = 120;

    out.reserve(bytes.len() * 3 + bytes.len() / 16);
    out.push_str("b\"");
    let mut column = COLUMNS;
    for &byte in bytes {
        if column >= COLUMNS {
            // a backslash at the end of a line swallows the line break; a space is escaped, or it would be swallowed too
            out.push_str("\\\n");
            column = 0;
        }
        if byte.is_ascii_graphic() && byte != b'"' && byte != b'\\' {
            out.push(char::from(byte));
            column += 1;
        } else {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            out.push_str("\\x");
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
            column += 4;
        }
    }
    out.push('"');
}

/// Puts `*b"..."` in the place of the identifier that stands for the weights.
pub(super) fn fill(tokens: TokenStream, bytes: &[u8]) -> TokenStream {
    tokens
        .into_iter()
        .flat_map(|tree| match tree {
            TokenTree::Ident(ident) if ident == WEIGHTS => {
                let literal = TokenTree::Literal(Literal::byte_string(bytes));
                vec![TokenTree::Punct(proc_macro2::Punct::new('*', proc_macro2::Spacing::Alone)), literal]
            }
            TokenTree::Group(group) => {
                let mut filled = Group::new(group.delimiter(), fill(group.stream(), bytes));
                filled.set_span(group.span());
                vec![TokenTree::Group(filled)]
            }
            other => vec![other],
        })
        .collect()
}

/// The name of the file of packed weights: never that of the model's own `.bin` beside a model of the same stem, nor that of the other
/// language's, which may have been written with other options.
#[cfg(feature = "builder")]
pub(super) fn weights_file(stem: &str, language: Language) -> String {
    let source = match language {
        Language::Rust => "rs",
        Language::C => "c",
    };
    format!("{stem}.{source}.weights.bin")
}

#[cfg(all(test, feature = "builder"))]
mod tests {
    use super::*;

    #[test]
    fn a_byte_string_reads_back_as_it_was() {
        let bytes: Vec<u8> = (0..=255).chain([b' '; 300]).chain(0..=255).collect();
        let mut text = String::new();
        byte_string(&bytes, &mut text);
        let literal: syn::LitByteStr = syn::parse_str(&text).expect("a literal");
        assert_eq!(literal.value(), bytes);
    }
}
