//! The implementation of cellc-runtime's trait, by way of the type's own methods.

use crate::emit::names::Interface;
use crate::emit::signature::{Signature, Tensors};
use crate::emit::tensors::{array, zero};
use crate::emit::text::Word;

/// What differs in it.
pub(super) fn words(interface: &Interface) -> [Word; 3] {
    let step = Signature::step(interface);
    let input = match step.inputs() {
        None => "()".to_owned(),
        Some(Tensors { record: None, fields, .. }) => format!("&'a {}", array(fields[0])),
        Some(Tensors { record: Some(record), .. }) => format!("&'a {record}<'a>"),
    };
    let (output, zeroed) = match step.outputs() {
        Tensors { record: None, fields, .. } => (array(fields[0]), zero(fields[0])),
        Tensors { record: Some(record), .. } => ((*record).to_owned(), format!("{record}::new()")),
    };
    [("STEP_INPUT", input), ("STEP_OUTPUT", output), ("STEP_ZERO", zeroed)]
}
