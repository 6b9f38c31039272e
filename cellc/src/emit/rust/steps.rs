//! The method that takes a run-time number of steps.

use std::fmt::Write;

use super::lints::UNUSED;
use super::tuple;
use super::types::{array, step_inputs_type};
use crate::emit::names::{Field, Interface};

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
    let each = |field: &Field, flags: &[bool]| flags[field.index];
    let inputs: Vec<(&Field, bool)> = interface.step_inputs().map(|f| (f, each(f, &steps.inputs))).collect();
    let outputs: Vec<(&Field, bool)> = interface.outputs.iter().map(|f| (f, each(f, &steps.outputs))).collect();
    let mut params = String::new();
    let mut lengths: Vec<String> = Vec::new();
    let (mut names, mut places) = (Vec::new(), Vec::new());
    let all = inputs.iter().map(|(f, each)| (f, each, false)).chain(outputs.iter().map(|(f, each)| (f, each, true)));
    for (field, each, written) in all {
        let (name, ty) = (&field.name, array(field));
        let mutable = if written { "mut " } else { "" };
        if !each {
            let _ = write!(params, "{name}: &{mutable}{ty},");
            continue;
        }
        let _ = write!(params, "{name}: &{mutable}[{ty}],");
        lengths.push(format!("{name}.len()"));
        names.push(format!("Some({name})"));
        places.push(format!("{name}.get{}(steps_done)", if written { "_mut" } else { "" }));
    }
    let argument = match (&inputs[..], step_inputs_type(interface)) {
        ([one], _) => format!("{},", one.0.name),
        (_, ty) => {
            let fields: String = inputs.iter().map(|(f, _)| format!("{0}: {0},", f.name)).collect();
            format!("&{} {{ {fields} }},", ty.unwrap_or("Inputs"))
        }
    };
    let (before, step) = match &outputs[..] {
        [one] => (String::new(), format!("self.step({argument} {});", one.0.name)),
        _ => {
            let copies: String = outputs.iter().map(|(f, _)| format!("*{0} = outputs.{0};", f.name)).collect();
            let before = "let mut outputs = Outputs::new();".to_owned();
            (before, format!("self.step({argument} &mut outputs); {copies}"))
        }
    };
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
