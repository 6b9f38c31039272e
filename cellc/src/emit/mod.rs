//! Spells a program in Rust or C, and decides nothing.

#[cfg(feature = "builder")]
mod c;
#[cfg(feature = "builder")]
mod files;
pub mod names;
mod reserved;
mod runtime_impl;
mod rust;
mod walk;
mod weights;

use proc_macro2::TokenStream;

use crate::arch::{Isa, Processor};
use crate::kernel::Program;
use crate::options::Options;
use crate::pack::Packed;
#[cfg(feature = "builder")]
pub use files::OutputFile;
#[cfg(feature = "builder")]
pub(crate) use files::{files, weights_file};
use names::Interface;

/// What is spelled.
pub(crate) struct Contents<'a> {
    pub(crate) options: &'a Options,
    /// The instruction sets, generic first, and whether each fuses multiply-add.
    pub(crate) isas: &'a [(&'static Isa, bool)],
    /// A body for each of them.
    pub(crate) program: &'a Program,
    pub(crate) packed: &'a Packed,
    pub(crate) interface: &'a Interface,
    /// The comment at the top, by line.
    #[cfg(feature = "builder")]
    pub(crate) header: &'a [String],
    /// What the type's documentation says of the model, by line.
    pub(crate) summary: &'a [String],
}

/// What programs ask, each once.
fn processors(isas: &[(&'static Isa, bool)]) -> Vec<&'static Processor> {
    let mut all: Vec<&'static Processor> = Vec::new();
    for question in isas.iter().filter_map(|(isa, _)| isa.question()) {
        if !all.iter().any(|known| std::ptr::eq(*known, question.processor)) {
            all.push(question.processor);
        }
    }
    all
}

/// The Rust items as tokens, the weights as one literal: what the macros expand to.
pub(crate) fn rust_tokens(contents: &Contents<'_>) -> TokenStream {
    let tokens: TokenStream = items(contents).parse().expect("emit: generated Rust is made of tokens");
    weights::fill(tokens, &contents.packed.bytes)
}

fn items(contents: &Contents<'_>) -> String {
    let mut doc = contents.summary.to_vec();
    doc.push("Made by cellc; the state lives in the struct, [`Self::step`] advances it.".to_string());
    rust::File {
        arch: contents.options.arch,
        interface: contents.interface,
        isas: contents.isas,
        program: contents.program,
        packed: contents.packed,
        runtime: contents.options.runtime,
        doc: &doc,
    }
    .text()
}
