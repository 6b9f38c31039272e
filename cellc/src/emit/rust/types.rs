//! Types, values and attributes as Rust spells them.

use crate::arch::Isa;
use crate::emit::names::Field;
use crate::emit::signature::Argument;
use crate::emit::traversal::Block;
use crate::kernel::Element;

/// A parameter of a public function.
pub(super) fn parameter(argument: &Argument<'_>) -> String {
    let ty = match argument {
        Argument::Pool => "&mut dyn Join".to_owned(),
        Argument::State => "&mut State".to_owned(),
        Argument::Packed => "&Packed".to_owned(),
        Argument::Inputs(tensors) => match tensors.record {
            None => format!("&{}", array(tensors.fields[0])),
            Some(record) => format!("&{record}<'_>"),
        },
        Argument::Outputs(tensors) => match tensors.record {
            None => format!("&mut {}", array(tensors.fields[0])),
            Some(record) => format!("&mut {record}"),
        },
    };
    format!("{}: {ty}", argument.name())
}

/// A tensor's type: `[[f32; I]; N]` for `[N, I]`, `[f32; I]` for `[1, I]`, else one flat array.
pub(crate) fn array(field: &Field) -> String {
    match *field.shape {
        [n, i] if !flat(field) => format!("[[f32; {i}]; {n}]"),
        _ => format!("[{}; {}]", element(field.element), field.len()),
    }
}

/// Whether that is one array: rows of integers always are.
pub(super) fn flat(field: &Field) -> bool {
    !matches!(*field.shape, [n, _] if n != 1) || field.element != Element::F32
}

/// The same, with an array for every dimension: what holds weights.
pub(crate) fn nested(field: &Field) -> String {
    field.shape.iter().rev().fold(element(field.element).to_string(), |ty, n| format!("[{ty}; {n}]"))
}

pub(in crate::emit) fn zero(field: &Field) -> String {
    match *field.shape {
        [n, i] if !flat(field) => format!("[[0.0; {i}]; {n}]"),
        _ => {
            let zero = match field.element {
                Element::F32 => "0.0",
                Element::Bool => "false",
                _ => "0",
            };
            format!("[{zero}; {}]", field.len())
        }
    }
}

/// An element's type.
pub(in crate::emit) fn element(element: Element) -> &'static str {
    match element {
        Element::F32 => "f32",
        Element::I32 => "i32",
        Element::I64 => "i64",
        Element::Bool => "bool",
        Element::U32 => "u32",
        Element::F16 | Element::I8 | Element::I8Pair => unreachable!("emit: narrow weights are bytes"),
    }
}

pub(super) fn block_type(block: &Block) -> String {
    let element = match block.bytes {
        true => format!("[u8; {}]", block.element.size()),
        false => element(block.element).to_owned(),
    };
    format!("[{element}; {}]", block.len)
}

/// Where none of these holds.
pub(super) fn none_of(conditions: &[&str]) -> String {
    match conditions {
        [one] => format!("#[cfg(not({one}))]"),
        all => format!("#[cfg(not(any({})))]", all.join(", ")),
    }
}

/// Under which its body is compiled.
pub(super) fn cfg(isa: &Isa) -> String {
    isa.condition().map(|condition| format!("#[cfg({})]", condition.rust)).unwrap_or_default()
}

/// What functions are compiled with in the body of an instruction set, and for the one that runs in it besides.
pub(super) fn attribute(isa: &Isa, fused_by: Option<&Isa>) -> String {
    match (isa.rust_features, fused_by.and_then(|other| Some((other.rust_features, other.condition()?)))) {
        (_, Some((features, condition))) if !features.is_empty() => {
            format!("#[cfg_attr({}, target_feature(enable = {features:?}))]", condition.rust)
        }
        ("", _) => String::new(),
        (features, _) => format!("#[target_feature(enable = {features:?})]"),
    }
}
