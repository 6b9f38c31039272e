//! The macros that implement vectors for registers and for single numbers, and the expansions of
//! these macros.

use std::fmt::Write;

use super::lines::flowed;
use super::methods::{Kind, of_all_lanes, with_operands};
use super::operations::{Operation, OperationTrait, Shape};
use super::used::Used;
use crate::emit::text::filled;

/// The form of types: macros of the file, or their expansion if a macro of the user's crate emits
/// the text. In a crate that forbids `unsafe` code, expansions of another crate's macros may
/// contain `unsafe`, but the crate's own macros may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::emit) enum Form {
    Macros,
    Expanded,
}

/// The operations with an expression per register.
pub(super) fn expressions(used: &Used) -> impl Iterator<Item = &'static Operation> + '_ {
    let operations =
        used.operations(OperationTrait::Vector).chain(used.operations(OperationTrait::Bits));
    operations.filter(|operation| operation.shape != Shape::Provided)
}

/// The parameter of a macro for a list of operations on lanes: names, operands and values.
fn listed_lanes(prefix: &str) -> String {
    format!(
        "$(${prefix}name:ident(${prefix}x:ident $(, ${prefix}y:ident)*): ${prefix}value:expr),*"
    )
}

/// Operations on lanes, as the argument of a macro.
pub(super) fn lanes_arguments(all: impl Iterator<Item = (&'static str, usize, String)>) -> String {
    let argument = |(name, count, value): (&str, usize, String)| {
        format!("{name}({}): {value}", ["a", "b", "c", "d"][..count].join(", "))
    };
    flowed("    ", all.map(argument))
}

/// The implementation of a trait in a macro.
fn implementation(set: OperationTrait, lanes: &str, methods: &str) -> String {
    let (name, ty, bits) = match set {
        OperationTrait::Vector => ("Vector", "$vector", ""),
        OperationTrait::Bits => ("Bits", "$bits", ""),
    };
    format!("        impl {name}<{lanes}> for {ty} {{\n{bits}{methods}        }}\n")
}

/// The types and implementations that a macro makes, with the parameters of the macro.
pub(super) fn body(used: &Used, kind: Kind, form: Form) -> String {
    let is_listed = |operation: &Operation| {
        (form, kind) == (Form::Macros, Kind::Register) && matches!(operation.shape, Shape::Lanes(_))
    };
    let methods = |set| {
        let (lists, others): (Vec<_>, Vec<_>) =
            used.operations(set).partition(|operation| is_listed(operation));
        let methods: String = others.into_iter().map(|operation| operation.text(kind)).collect();
        let prefix = if set == OperationTrait::Vector { "" } else { "bits_" };
        methods + &if lists.is_empty() { String::new() } else { of_all_lanes(prefix) }
    };
    let has_bits = used.has_bits();
    let (fields, integers, lanes, bits) = match kind {
        Kind::Register => ("$register", "$integers", "$lanes", "$bits"),
        Kind::Number => ("f32", "u32", "1", "u32"),
    };
    let ty = if has_bits { format!("            type Bits = {bits};\n") } else { String::new() };
    let mut body = format!(
        "        #[derive(Clone, Copy)]\n        pub(super) struct $vector(pub(super) {fields});\n"
    );
    body +=
        &implementation(OperationTrait::Vector, lanes, &(ty + &methods(OperationTrait::Vector)));
    if has_bits && kind != Kind::Number {
        let _ = write!(
            body,
            "        #[derive(Clone, Copy)]\n        pub(super) struct $bits(pub(super) \
             {integers});\n"
        );
        body += &implementation(OperationTrait::Bits, lanes, &methods(OperationTrait::Bits));
    }
    body
}

/// The lists of operations on lanes in the parameters of a macro, each after a semicolon.
pub(super) fn lists(used: &Used) -> Vec<(Vec<&'static Operation>, &'static str)> {
    let in_lanes = |set| {
        used.operations(set)
            .filter(|operation| matches!(operation.shape, Shape::Lanes(_)))
            .collect()
    };
    let lists: [(Vec<_>, _); 2] =
        [(in_lanes(OperationTrait::Vector), ""), (in_lanes(OperationTrait::Bits), "bits_")];
    lists.into_iter().filter(|(list, _)| !list.is_empty()).collect()
}

/// The parameters of a macro for its lists of operations on lanes.
fn list_parameters(used: &Used) -> String {
    lists(used).iter().map(|(_, prefix)| format!(";\n     {}", listed_lanes(prefix))).collect()
}

/// The macro that implements vectors of registers. `numbers`: true if the macro also implements the
/// vector of one lane, whose operations are safe.
pub(super) fn register(used: &Used, numbers: bool) -> String {
    let whole_register =
        expressions(used).filter(|operation| !matches!(operation.shape, Shape::Lanes(_)));
    let parameters =
        flowed("     ", whole_register.map(|operation| format!("{0}: ${0}:expr", operation.name)));
    let bits = if used.has_bits() { ", $bits:ident($integers:ty)" } else { "" };
    let (lists, body) = (list_parameters(used), body(used, Kind::Register, Form::Macros));
    let body = match numbers {
        true => body.replacen(
            "        impl",
            "        #[allow(unused_unsafe, reason = \"operations of one number are safe\")]\n\
             \x20       impl",
            1,
        ),
        false => body,
    };
    format!(
        "/// A register of `core::arch` as a [`Vector`]: each operation is an expression of its \
         operands.
macro_rules! register {{
    ($vector:ident($register:ty){bits}, $lanes:literal,
     |$a:ident, $b:ident|\n{parameters}{lists}) => {{
        // SAFETY, of every expression: only functions with the features of its instructions use
        // the type, and they are called only where the processor has these features; memory is
        // read and written inside an array of lanes
{body}    }};
}}
"
    )
}

/// The macro that implements a dot product of a register.
pub(super) fn dot() -> String {
    let body =
        "            let ($a, $b, $c) = (self.0, b.0, c.0);\n            Self(unsafe { $value })\n";
    format!(
        "/// A dot product of the bits of a register of `core::arch`.
macro_rules! dot {{
    ($of:ident, $bits:ident, $lanes:literal, $name:ident($a:ident, $b:ident, $c:ident): $value:expr) => {{
        // SAFETY: as of the register
        {}
    }};
}}
",
        dot_of_bits("$bits", "$lanes", ("$of", "$name"), body)
    )
}

/// The implementation of a dot product for the bits of a vector.
pub(super) fn dot_of_bits(
    bits: &str,
    lanes: &str,
    (trait_name, name): (&str, &str),
    body: &str,
) -> String {
    format!(
        "impl {trait_name}<{lanes}> for {bits} {{
            #[inline(always)]
            fn {name}(self, b: Self, c: Self) -> Self {{
    {body}            }}
        }}"
    )
}

/// The macro that implements vectors of one number: without a trait of bits, by the macro of
/// registers.
pub(super) fn number(used: &Used) -> String {
    let body = match used.has_bits() {
        true => body(used, Kind::Number, Form::Macros),
        false => number_as_register(used),
    };
    let (with, parameter) = match body.contains("$mul_add") {
        true => (", with its multiply-add", ", |$a:ident, $b:ident, $c:ident| $mul_add:expr"),
        false => ("", ""),
    };
    format!(
        "/// A number as a [`Vector`] of one lane{with}.
macro_rules! number {{
    ($vector:ident{parameter}) => {{
{body}    }};
}}
"
    )
}

/// The call of the macro of registers for a vector of one number.
fn number_as_register(used: &Used) -> String {
    let value = |operation: &Operation| match operation.shape {
        Shape::From(_) => format!("{{ let [a] = *a; {} }}", operation.lane),
        Shape::To => "*b = [a]".to_owned(),
        Shape::Shift => with_operands(operation.lane, &[("n", "b")]),
        _ => operation.lane.to_owned(),
    };
    let (lists, scalars): (Vec<_>, Vec<_>) =
        expressions(used).partition(|operation| matches!(operation.shape, Shape::Lanes(_)));
    let assigned =
        scalars.into_iter().map(|operation| format!("{}: {}", operation.name, value(operation)));
    let lists = lists.into_iter().map(|operation| {
        let operands = match (operation.lane, operation.shape) {
            ("$mul_add", _) => "$a, $b, $c".to_owned(),
            (_, Shape::Lanes(count)) => ["a", "b", "c", "d"][..count].join(", "),
            _ => String::new(),
        };
        format!("{}({operands}): {}", operation.name, value(operation))
    });
    let indent = "            ";
    let (assigned, lists) = (flowed(indent, assigned), flowed(indent, lists));
    let lists = if lists.is_empty() { lists } else { format!(";\n{lists}") };
    format!("        register!($vector(f32), 1, |a, b|\n{assigned}{lists});\n")
}

/// The expansion of a macro for types with these arguments.
pub(super) fn expanded(
    used: &Used,
    kind: Kind,
    lanes: usize,
    arguments: &[(String, String)],
) -> String {
    let names = [
        ("$vector", format!("F32x{lanes}")),
        ("$bits", format!("U32x{lanes}")),
        ("$lanes", lanes.to_string()),
    ];
    let mut words: Vec<(&str, &str)> =
        names.iter().map(|(word, value)| (*word, value.as_str())).collect();
    words.extend(arguments.iter().map(|(word, value)| (word.as_str(), value.as_str())));
    words.extend([("$a", "a"), ("$b", "b"), ("$c", "c"), ("$d", "d")]);
    words.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
    filled(&body(used, kind, Form::Expanded), &words)
}
