//! Spells a program in Rust or C, and decides nothing.

mod c;
pub mod names;
mod runtime_impl;
mod rust;
mod walk;
mod weights;

use std::sync::Arc;

use proc_macro2::TokenStream;

use crate::compile::Compilation;
use crate::options::{Language, WeightsAs};

/// A file of the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputFile {
    /// Its name: the stem that was asked for and an extension.
    pub name: String,
    /// Its contents.
    pub bytes: Arc<Vec<u8>>,
}

/// Weights up to this many bytes stand in the source unless asked otherwise.
const INLINE_LIMIT: usize = 1 << 20;

/// Whether the weights of a compilation stand in the source.
pub(crate) fn is_inline(compilation: &Compilation) -> bool {
    match compilation.options.weights_as {
        WeightsAs::Auto => compilation.packed.bytes.len() <= INLINE_LIMIT,
        WeightsAs::Inline => true,
        WeightsAs::File => compilation.packed.bytes.is_empty(),
    }
}

/// The name of the file of packed weights: never that of the model's own `.bin` beside a model of the same stem.
pub(crate) fn weights_file(stem: &str) -> String {
    format!("{stem}.weights.bin")
}

/// The files of a compilation, in the order in which they must appear: weights first, the source last.
pub(crate) fn files(compilation: &Compilation, stem: &str) -> Vec<OutputFile> {
    let mut files = Vec::new();
    if !is_inline(compilation) {
        files.push(OutputFile { name: weights_file(stem), bytes: Arc::clone(&compilation.packed.bytes) });
    }
    match compilation.options.language {
        Language::Rust => {
            let text = rust(compilation, stem);
            files.push(OutputFile { name: format!("{stem}.rs"), bytes: Arc::new(text.into_bytes()) });
        }
        Language::C => {
            let file = c::File {
                interface: &compilation.interface,
                programs: &compilation.programs,
                packed: &compilation.packed,
                comment: &compilation.header,
                summary: &compilation.summary,
                stem,
                inline: is_inline(compilation),
            };
            files.push(OutputFile { name: format!("{stem}.h"), bytes: Arc::new(file.header().into_bytes()) });
            files.push(OutputFile { name: format!("{stem}.c"), bytes: Arc::new(file.source().into_bytes()) });
        }
    }
    files
}

/// The Rust source: header comment, then the items, formatted.
fn rust(compilation: &Compilation, stem: &str) -> String {
    let items = items(compilation);
    let file = syn::parse_file(&items).expect("emit: generated Rust parses");
    let items = prettyplease::unparse(&file);
    let mut text = String::new();
    for line in &compilation.header {
        text.push_str(if line.is_empty() { "//" } else { "// " });
        text.push_str(line);
        text.push('\n');
    }
    text.push('\n');
    match items.split_once(rust::WEIGHTS) {
        None => text.push_str(&items),
        Some((before, after)) => {
            text.push_str(before);
            if is_inline(compilation) {
                text.push('*');
                weights::byte_string(&compilation.packed.bytes, &mut text);
            } else {
                text.push_str(&format!("*include_bytes!({:?})", weights_file(stem)));
            }
            text.push_str(after);
        }
    }
    text
}

/// The Rust items as tokens, the weights as one literal: what the macros expand to.
pub(crate) fn rust_tokens(compilation: &Compilation) -> TokenStream {
    let tokens: TokenStream = items(compilation).parse().expect("emit: generated Rust is made of tokens");
    weights::fill(tokens, &compilation.packed.bytes)
}

fn items(compilation: &Compilation) -> String {
    let mut doc = compilation.summary.clone();
    doc.push("Made by cellc; the state lives in the struct, [`Self::step`] advances it.".to_string());
    rust::File {
        interface: &compilation.interface,
        programs: &compilation.programs,
        packed: &compilation.packed,
        runtime: compilation.options.runtime,
        doc: &doc,
    }
    .text()
}
