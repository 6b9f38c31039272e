//! The implementation of cellc-runtime's trait, by way of the type's own methods.

use super::types::{array, step_inputs_type, zero};
use crate::emit::names::{Field, Interface};
use crate::kernel::Element;

/// `impl ::cellc_runtime::Cell for ...`; `borrows` where the type borrows packed weights.
pub(super) fn text(interface: &Interface, borrows: bool) -> String {
    let step: Vec<&Field> = interface.step_inputs().collect();
    let (input, argument) = match (step.as_slice(), step_inputs_type(interface)) {
        ([], _) => ("()".to_owned(), ""),
        ([one], _) => (format!("&'a {}", array(one)), "input,"),
        (_, ty) => (format!("&'a {0}<'a>", ty.unwrap_or("Inputs")), "input,"),
    };
    let (output, zeroed) = match interface.outputs.as_slice() {
        [one] => (array(one), zero(one)),
        _ => ("Outputs".to_owned(), "Outputs::new()".to_owned()),
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
        inputs = ports(step.iter().copied()),
        outputs = ports(interface.outputs.iter()),
        states = ports(states),
        bound = if step.is_empty() { "_" } else { "input" },
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
