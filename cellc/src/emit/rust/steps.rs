//! The method that takes a run-time number of steps.

use std::fmt::Write;

use super::lints::UNUSED;
use super::tuple;
use super::types::array;
use crate::emit::names::Interface;
use crate::emit::signature::{Argument, Signature, Tensors};

/// `step_in_place` and `steps_in_place`, for a model whose input and output are of one type.
pub(super) fn in_place(interface: &Interface) -> String {
    let Some((input, output)) = interface.in_place() else { return String::new() };
    let ty = array(output);
    let step = match &interface.outputs[..] {
        [_] => "self.step(&input, io);".to_owned(),
        _ => {
            format!("let mut outputs = Outputs::new(); self.step(&input, &mut outputs); *io = outputs.{};", output.name)
        }
    };
    let mut text = format!(
        "/// [`Self::step`] in place: `io` is `{}` before and `{}` after.
        pub fn step_in_place(&mut self, io: &mut {ty}) {{ let input = *io; {step} }}\n",
        input.name, output.name
    );
    if interface.steps.as_ref().is_some_and(|steps| steps.inputs[input.index] && steps.outputs[output.index]) {
        let _ = writeln!(
            text,
            "/// [`Self::steps`] in place: calls [`Self::step_in_place`] for each step of `io`.
            pub fn steps_in_place(&mut self, io: &mut [{ty}]) {{ for io in io {{ self.step_in_place(io); }} }}"
        );
    }
    text
}

/// What the module needs beside the struct.
pub(super) fn items(interface: &Interface) -> String {
    if interface.steps.is_none() {
        return String::new();
    }
    format!(
        "/// The slices given to [`{}::steps`] have different numbers of steps.
        {UNUSED}
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct UnequalSteps;
        impl core::fmt::Display for UnequalSteps {{
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {{
                f.write_str(\"the slices do not hold the same number of steps\")
            }}
        }}
        impl core::error::Error for UnequalSteps {{}}\n",
        interface.type_name
    )
}

/// `steps`, which repeats `step`.
pub(super) fn method(interface: &Interface) -> String {
    let Some(steps) = &interface.steps else { return String::new() };
    let signature = Signature::step(interface);
    let mut params = Vec::new();
    let mut lengths: Vec<String> = Vec::new();
    let (mut names, mut places) = (Vec::new(), Vec::new());
    for argument in &signature.0 {
        let (tensors, flags, mutable, get) = match argument {
            Argument::Inputs(tensors) => (tensors, &steps.inputs, "", "get"),
            Argument::Outputs(tensors) => (tensors, &steps.outputs, "mut ", "get_mut"),
            Argument::Pool | Argument::State | Argument::Packed => continue,
        };
        for field in &tensors.fields {
            let (name, ty) = (&field.name, array(field));
            if !flags[field.index] {
                params.push(format!("{name}: &{mutable}{ty}"));
                continue;
            }
            params.push(format!("{name}: &{mutable}[{ty}]"));
            lengths.push(format!("{name}.len()"));
            names.push(format!("Some({name})"));
            places.push(format!("{name}.{get}(steps_done)"));
        }
    }
    let params = params.join(", ");
    let (mut before, mut after) = ("", String::new());
    let args = signature.spelled(|argument| match argument {
        Argument::Inputs(tensors) => tensors.value(|field| field.name.clone()),
        Argument::Outputs(Tensors { name, record: Some(_), fields }) => {
            before = "let mut outputs = Outputs::new();";
            after = fields.iter().map(|f| format!("*{0} = outputs.{0};", f.name)).collect();
            format!("&mut {name}")
        }
        other => other.name().to_owned(),
    });
    let step = format!("self.step({args}); {after}");
    let unequal: Vec<String> = lengths[1..].iter().map(|len| format!("{len} != {}", lengths[0])).collect();
    let check = match unequal.is_empty() {
        true => String::new(),
        false => format!("if {} {{ return Err(UnequalSteps); }}", unequal.join(" || ")),
    };
    format!(
        "/// Calls [`Self::step`] for each step of the slices, in order.
        ///
        /// An output that is not a slice is that of the last step; without steps nothing is written. The state continues
        /// from call to call. [`Self::reset`] starts another sequence.
        pub fn steps(&mut self, {params}) -> Result<(), UnequalSteps> {{
            {check}
            {before}
            for steps_done in 0..{} {{
                let {} = {} else {{ break; }};
                {step}
            }}
            Ok(())
        }}\n",
        lengths[0],
        tuple(&names),
        tuple(&places),
    )
}
