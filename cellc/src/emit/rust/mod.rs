//! Rust: no_std apart from threads, editions 2015 to 2024, without bounds checks that could fail.
//!
//! Vectors are registers of `core::arch`, or numbers side by side on other machines ([`vectors`]).
//! Loops run over arrays of constant length, whose bounds are checked at compile time, so no code
//! can panic.

mod dialect;
mod generic;
mod kernels;
mod lanes;
mod lints;
mod numbers;
mod pool;
mod steps;
mod stored;
mod streams;
mod surface;
mod types;
mod unroll;
mod vectors;

use std::cell::OnceCell;
use std::ops::Deref;

use super::Contents;
use super::traversal::decimal;
use crate::arch::{Isa, MOST_SCALAR_WEIGHTS};
use crate::kernel::{Element, FLUSH_BELOW};
use crate::request::WeightsAs;
use stored::Stored;
use types::cfg;
pub(super) use vectors::Form;

/// The placeholder of the weights during formatting, to spare prettyplease megabytes.
pub(super) const WEIGHTS: &str = "CELLC_WEIGHTS";

/// The size in bytes above which weights are not copied to codegen units.
const LARGE_WEIGHTS: usize = 1 << 20;

/// The contents of a Rust file.
pub(super) struct RustFile<'a> {
    pub(super) contents: &'a Contents<'a>,
    /// Doc comment of the type.
    pub(super) doc: &'a [String],
    pub(super) form: Form,
    /// The fields of the struct of constants, once they are known.
    stored: OnceCell<Vec<Stored>>,
}

impl<'a> RustFile<'a> {
    pub(super) fn new(contents: &'a Contents<'a>, doc: &'a [String], form: Form) -> Self {
        Self { contents, doc, form, stored: OnceCell::new() }
    }
}

impl<'a> Deref for RustFile<'a> {
    type Target = Contents<'a>;

    fn deref(&self) -> &Contents<'a> {
        self.contents
    }
}

impl RustFile<'_> {
    /// The file's unformatted items, with [`WEIGHTS`] instead of the weights.
    pub(super) fn text(&self) -> String {
        let mut out = self.surface();
        if self.options.output.runtime {
            out.push_str(&self.text_of("runtime"));
        }
        let packing = (!self.interface.weights.is_empty()).then(|| self.pack_module());
        let modules: Vec<_> =
            packing.into_iter().chain(self.bodies().map(|body| self.body_module(&body))).collect();
        let is_aligned = !self.packed.bytes.is_empty() && !self.has_decimal_weights();
        let outside: &[_] = if is_aligned { &["Aligned"] } else { &[] };
        let is_flushed = self.flushed_before().next().is_some();
        let is_flushed = is_flushed || modules.iter().any(kernels::Module::flushes);
        let modules = kernels::modules(
            &modules,
            self.options.machine.target,
            self.form,
            self.program.alignment,
            outside,
        );
        if is_flushed {
            let limit = decimal(FLUSH_BELOW);
            out += "/// Smaller magnitudes than 2^-100 become 0: subnormal numbers are slow on \
                many processors.\n";
            out += &format!("const FLUSH_LIMIT: f32 = {limit};\n");
        }
        out.push_str(&modules);
        if !self.packed.bytes.is_empty() {
            out.push_str(&self.text_of(if self.has_decimal_weights() {
                "decimal weights"
            } else {
                "weights"
            }));
        }
        // conditions that always hold are removed
        let held = self.options.machine.target.rust.held;
        if held.is_empty() { out } else { out.replace(&format!("#[cfg({held})]\n"), "") }
    }

    /// The expression for the weights. Large weights come from a function that is never inlined:
    /// otherwise rustc copies the weights to every codegen unit with a use, which takes gigabytes
    /// of memory for 100 MB of weights.
    fn weights(&self) -> &'static str {
        if self.has_large_weights() { "weights()" } else { "WEIGHTS" }
    }

    /// True if codegen units must not have copies of the weights.
    fn has_large_weights(&self) -> bool {
        self.packed.bytes.len() > LARGE_WEIGHTS
    }

    /// True if the only body of the file computes with plain numbers of Rust, as far as its
    /// operations allow.
    fn is_of_numbers(&self) -> bool {
        matches!(self.isas, [own] if own.isa.lanes == 1 && own.isa.rust.mul_add.is_empty())
    }

    /// True if the weights are in the file as decimal numbers: for networks with fewer than
    /// [`MOST_SCALAR_WEIGHTS`] weights.
    fn has_decimal_weights(&self) -> bool {
        let are_floats = self.program.buffers.iter().all(|buffer| buffer.element == Element::F32);
        let are_few = self.packed.bytes.len() / 4 < MOST_SCALAR_WEIGHTS
            && self.options.output.weights_as != WeightsAs::File;
        self.is_of_numbers() && self.is_baked() && self.starts_at_zero() && are_floats && are_few
    }

    /// The condition for an instruction set. The baseline's condition excludes all replacing
    /// instruction sets.
    fn cfg(&self, isa: &Isa) -> String {
        let instead: Vec<_> = self.instead().map(|(_, condition)| condition).rev().collect();
        match isa.condition() {
            None if !instead.is_empty() => {
                let conditions: Vec<_> = instead.iter().map(|condition| condition.rust).collect();
                types::none_of(&conditions)
            }
            Some(condition) if condition.rust == self.options.machine.target.rust.held => {
                String::new()
            }
            _ => cfg(isa),
        }
    }
}
