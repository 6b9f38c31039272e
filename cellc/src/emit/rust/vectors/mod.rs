//! The vector types of generated modules: registers of `core::arch` where the machine has them,
//! else numbers side by side.
//!
//! A trait names the operations that kernels and activations use. A macro implements the trait for
//! a type, from one expression for each operation; a [`RustVector`] has the expressions of a
//! register. A vector without a register is two vectors side by side, down to single numbers. No
//! loop over lanes is left for LLVM to unroll, which happens at opt-level 3 only. Text that no
//! kernel of the file uses is not printed.

mod forms;
mod joined;
mod lines;
mod macros;
mod methods;
mod operations;
mod shared_items;
mod sums;
mod types;
mod used;

use std::collections::BTreeSet;
use std::fmt::Write;

use self::joined::{dots, joined, u32_bits};
use self::lines::formatted;
use self::macros::{dot, number, register};
use self::operations::{Operation, OperationTrait, Shape};
use self::shared_items::{OF_NUMBERS, SHARED, with_needs};
use self::sums::{columns, row_sums, weights};
use crate::arch::{Arch, RustVector};
use crate::emit::text::{filled, parts};

pub(super) use self::forms::Forms;
pub(super) use self::joined::parts_of;
pub(in crate::emit) use self::macros::Form;
pub(super) use self::shared_items::names;
pub(super) use self::types::{Beginning, Declared, Types};
pub(super) use self::used::{Used, lane_function};

/// The head of the module shared by kernels.
const MODULE: &str =
    "/// Vectors, parts of arrays whose bounds are checked when the file is compiled, and what else
/// kernels share.
#[allow(dead_code, unused_imports, unused_macros, reason = \"machines differ in what they use\")]
";

/// The head of the module of intrinsics for vector types: `use` has no path to `core` that works in
/// all editions.
const INTRINSICS: &str = "/// The intrinsics of the processor.
pub(super) mod intrinsics {
    #[allow(unused_extern_crates, reason = \"edition 2015 knows the crate by no other path\")]
    extern crate core;
";

/// The shared items of modules whose vectors have these forms: functions of single numbers, then
/// the module of traits, macros and other functions.
pub(super) fn shared(
    used: &Used,
    forms: &Forms,
    form: Form,
    alignment: usize,
    arch: &Arch,
) -> String {
    let mut out = traits(used);
    let macros: Vec<_> = match form {
        Form::Macros => macros(used, forms),
        Form::Expanded => Vec::new(),
    };
    out.extend(macros.iter().map(|text| formatted(text)));
    let rows = [
        (used.has_float_weights(), weights as fn(&Used) -> String),
        (used.has_first_columns_alone(), columns),
        (used.sums.is_empty(), row_sums),
    ];
    out.extend(
        rows.into_iter().filter(|(is_unused, _)| !is_unused).map(|(_, text)| visible(&text(used))),
    );
    if forms.joined {
        out.push_str(&formatted(&visible(&joined(used, form))));
    }
    if used.has_bits() && forms.numbers {
        out.push_str(&u32_bits(used));
    }
    out.push_str(&formatted(&visible(&dots(used, forms))));
    let alignment = alignment.to_string();
    let mut of_numbers = String::new();
    let helpers = helpers(used, forms);
    for (name, part) in parts(SHARED).filter(|(name, _)| helpers.contains(name)) {
        let part = filled(part, &[("ALIGNMENT", &alignment)]);
        match OF_NUMBERS.contains(&name) {
            true => of_numbers.push_str(&part),
            false => out.push_str(&visible(&part)),
        }
    }
    out.push_str(&intrinsics(&used.processors, arch));
    match out.is_empty() {
        true => of_numbers,
        false => {
            let macros = if macros.is_empty() { "" } else { "#[macro_use]\n" };
            format!("{of_numbers}{MODULE}{macros}mod vectors {{\n{out}}}\n")
        }
    }
}

/// The helper functions and types of a file.
fn helpers(used: &Used, forms: &Forms) -> BTreeSet<&'static str> {
    let mut names = forms.helpers.clone();
    names.extend(used.shared.union(&used.by_path));
    for operation in used.operations(OperationTrait::Vector) {
        match operation.shape {
            Shape::Provided => names.extend(operation.helpers),
            Shape::From(_) if forms.joined => _ = names.insert("part_of"),
            Shape::To if forms.joined => _ = names.insert("part_of_mut"),
            _ => {}
        }
    }
    if forms.numbers {
        names.extend(used.dots.iter().map(|(name, _)| lane_function(name)));
    }
    with_needs(names)
}

/// The macros that declare vectors, callees before callers.
fn macros(used: &Used, forms: &Forms) -> Vec<String> {
    let numbers_are_registers = forms.numbers && !used.has_bits();
    let registers = forms.registers || numbers_are_registers;
    let definitions = [
        registers.then(|| register(used, numbers_are_registers)),
        forms.numbers.then(|| number(used)),
        forms.dots.then(dot),
    ];
    definitions.into_iter().flatten().collect()
}

/// The traits of vectors and of their bits.
fn traits(used: &Used) -> String {
    let has_bits = used.has_bits();
    let bits = if has_bits { "/// The bits of as many lanes.\ntype Bits: Bits<L>;\n" } else { "" };
    let declared = |set| used.operations(set).map(Operation::declared).collect::<String>();
    let mut out = String::new();
    if !used.operations.is_empty() {
        let vector = declared(OperationTrait::Vector);
        let _ = write!(
            out,
            "/// `L` numbers, and what kernels compute of them.\npub(super) trait Vector<const L: \
             usize>: Copy {{ {bits} {vector} }}\n"
        );
    }
    if has_bits {
        let bits = declared(OperationTrait::Bits);
        let _ = write!(
            out,
            "/// The bits of `L` numbers.\npub(super) trait Bits<const L: usize>: Copy {{ {bits} \
             }}\n"
        );
    }
    out
}

/// The module of the intrinsics of some processors.
fn intrinsics(processors: &BTreeSet<&str>, arch: &Arch) -> String {
    if processors.is_empty() {
        return String::new();
    }
    let import = |processor: &&str| {
        let condition = RustVector::condition_of(processor);
        let cfg = if condition == arch.rust.held {
            String::new()
        } else {
            format!("#[cfg({condition})]\n")
        };
        let refused = match RustVector::baseline_of(processor) {
            None => String::new(),
            Some((feature, name)) => format!(
                "#[cfg(all({condition}, \
                 not(target_feature = {feature:?})))]\n\
                 compile_error!(\"this file needs {name}, which this target lacks\");\n"
            ),
        };
        format!("{refused}{cfg}pub(in super::super) use self::core::arch::{processor}::*;\n")
    };
    format!("{INTRINSICS}{}}}\n", processors.iter().map(import).collect::<String>())
}

/// The items with visibility in surrounding modules.
fn visible(items: &str) -> String {
    let is_item = |line: &str| {
        ["struct ", "trait ", "fn ", "const "].iter().any(|start| line.starts_with(start))
    };
    items
        .lines()
        .map(|line| format!("{}{line}\n", if is_item(line) { "pub(super) " } else { "" }))
        .collect()
}
