//! The implementation of cellc-runtime's trait, by way of the type's own methods.

use super::types::{array, zero};
use crate::emit::names::{Field, Interface};
use crate::emit::signature::{Signature, Tensors};
use crate::emit::text::Word;
use crate::kernel::Element;

/// What differs in it.
pub(super) fn words(interface: &Interface) -> [Word; 8] {
    let step = Signature::step(interface);
    let input = match step.inputs() {
        None => "()".to_owned(),
        Some(Tensors { record: None, fields, .. }) => format!("&'a {}", array(fields[0])),
        Some(Tensors { record: Some(record), .. }) => format!("&'a {record}<'a>"),
    };
    let (bound, argument) = if step.inputs().is_some() { ("input", "input, ") } else { ("_", "") };
    let (output, zeroed) = match step.outputs() {
        Tensors { record: None, fields, .. } => (array(fields[0]), zero(fields[0])),
        Tensors { record: Some(record), .. } => ((*record).to_owned(), format!("{record}::new()")),
    };
    let states = interface.states.iter().map(|state| &interface.inputs[state.input]).chain(&interface.variables);
    [
        ("INPUT_PORTS", ports(interface.step_inputs())),
        ("OUTPUT_PORTS", ports(interface.outputs.iter())),
        ("STATE_PORTS", ports(states)),
        ("INPUT;", input + ";"),
        ("OUTPUT;", output + ";"),
        ("ZERO", zeroed),
        ("BOUND", bound.to_owned()),
        ("ARGUMENT, ", argument.to_owned()),
    ]
}

/// Names, shapes and elements as a constant expression.
fn ports<'a>(fields: impl Iterator<Item = &'a Field>) -> String {
    let ports: Vec<_> = fields
        .map(|Field { name, shape, element, .. }| {
            let element = match element {
                Element::I32 => "I32",
                Element::I64 => "I64",
                Element::Bool => "Bool",
                _ => "F32",
            };
            let element = format!("::cellc_runtime::Element::{element}");
            format!("::cellc_runtime::Port {{ name: {name:?}, shape: &{shape:?}, element: {element} }}")
        })
        .collect();
    format!("&[{}]", ports.join(", "))
}
