//! The implementation of cellc-runtime's trait, by way of the type's own methods.

use super::types::{array, zero};
use crate::emit::names::{Field, Interface};
use crate::emit::signature::{Signature, Tensors};
use crate::kernel::Element;

/// `impl ::cellc_runtime::Cell for ...`; `borrows` where the type borrows packed weights.
pub(super) fn text(interface: &Interface, borrows: bool) -> String {
    let step = Signature::step(interface);
    let input = match step.inputs() {
        None => "()".to_owned(),
        Some(Tensors { record: None, fields, .. }) => format!("&'a {}", array(fields[0])),
        Some(Tensors { record: Some(record), .. }) => format!("&'a {record}<'a>"),
    };
    let (bound, argument) = if step.inputs().is_some() { ("input", "input,") } else { ("_", "") };
    let (output, zeroed) = match step.outputs() {
        Tensors { record: None, fields, .. } => (array(fields[0]), zero(fields[0])),
        Tensors { record: Some(record), .. } => ((*record).to_owned(), format!("{record}::new()")),
    };
    let states = interface.states.iter().map(|state| &interface.inputs[state.input]).chain(&interface.variables);
    format!(
        "impl{life} ::cellc_runtime::Cell for {name}{life} {{
            type Input<'a> = {input};
            type Output = {output};
            const INPUTS: &'static [::cellc_runtime::Port] = {inputs};
            const OUTPUTS: &'static [::cellc_runtime::Port] = {outputs};
            const STATES: &'static [::cellc_runtime::Port] = {states};
            fn zeroed_output() -> Self::Output {{ {zeroed} }}
            fn step(&mut self, {bound}: Self::Input<'_>, output: &mut Self::Output) {{ Self::step(self, {argument} output) }}
            fn reset(&mut self) {{ Self::reset(self) }}
            fn isa_name(&self) -> &'static str {{ Self::isa(self).name() }}
        }}\n",
        life = if borrows { "<'w>" } else { "" },
        name = interface.type_name,
        inputs = ports(interface.step_inputs()),
        outputs = ports(interface.outputs.iter()),
        states = ports(states),
    )
}

/// Names, shapes and elements as a constant expression.
fn ports<'a>(fields: impl Iterator<Item = &'a Field>) -> String {
    let ports: Vec<_> = fields
        .map(|Field { name, shape, element, .. }| {
            let element = match element {
                Element::I32 => "I32",
                Element::I64 => "I64",
                _ => "F32",
            };
            let element = format!("::cellc_runtime::Element::{element}");
            format!("::cellc_runtime::Port {{ name: {name:?}, shape: &{shape:?}, element: {element} }}")
        })
        .collect();
    format!("&[{}]", ports.join(", "))
}
