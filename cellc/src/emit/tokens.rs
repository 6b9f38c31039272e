//! Generated Rust as tokens: the expansion of a macro.

use proc_macro2::{Group, Literal, TokenStream, TokenTree};

use super::rust::WEIGHTS;
use super::text::FORMATTED;
use super::{Contents, items, rust};

/// The Rust items as tokens, the weights as one literal.
pub(crate) fn rust_tokens(contents: &Contents<'_>) -> TokenStream {
    let tokens: TokenStream = items(contents, rust::Form::Expanded)
        .replace(FORMATTED, "")
        .parse()
        .expect("emit: generated Rust is made of tokens");
    fill(tokens, &contents.packed.bytes)
}

/// Replaces the identifier of the weights by `*b"..."`.
fn fill(tokens: TokenStream, bytes: &[u8]) -> TokenStream {
    tokens
        .into_iter()
        .flat_map(|tree| match tree {
            TokenTree::Ident(ident) if ident == WEIGHTS => {
                let literal = TokenTree::Literal(Literal::byte_string(bytes));
                vec![
                    TokenTree::Punct(proc_macro2::Punct::new('*', proc_macro2::Spacing::Alone)),
                    literal,
                ]
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
