//! The methods that take a run-time number of steps, and those in place.

use super::{RustFile, tuple};
use crate::emit::names::Field;
use crate::emit::signature::{Argument, Signature, StepTensor, Tensors};
use crate::emit::tensors::array;
use crate::emit::text::{List, Word};

/// What texts list of them.
pub(super) fn lists(file: &RustFile<'_>) -> Vec<List> {
    let interface = file.interface;
    let mut in_place = Vec::new();
    if let Some((input, output)) = interface.in_place() {
        let step = match &interface.outputs[..] {
            [_] => "self.step(&input, io);".to_owned(),
            _ => {
                let name = &output.name;
                format!("let mut outputs = Outputs::new(); self.step(&input, &mut outputs); *io = outputs.{name};")
            }
        };
        let (input, name) = (input.name.clone(), output.name.clone());
        in_place.push(vec![("FIELD", input), ("OUT_ARRAY", array(output)), ("OUTPUT", name), ("STEP;", step)]);
    }
    let all = |(input, output): &(&Field, &Field)| {
        interface.steps.as_ref().is_some_and(|steps| steps.inputs[input.index] && steps.outputs[output.index])
    };
    let open = if interface.in_place().is_some_and(|pair| all(&pair)) { in_place.clone() } else { Vec::new() };
    vec![("several steps", several(file)), ("in place", in_place), ("steps in place", open)]
}

/// What `steps` differs in, where the number of steps is open.
fn several(file: &RustFile<'_>) -> Vec<Vec<Word>> {
    let interface = file.interface;
    if interface.steps.is_none() {
        return Vec::new();
    }
    let signature = Signature::step(interface);
    let mut params = Vec::new();
    let mut lengths: Vec<String> = Vec::new();
    let (mut names, mut places) = (Vec::new(), Vec::new());
    for StepTensor { field, written, each_step } in interface.step_tensors() {
        let (mutable, get) = if written { ("mut ", "get_mut") } else { ("", "get") };
        let (name, ty) = (&field.name, array(field));
        if !each_step {
            params.push(format!("{name}: &{mutable}{ty}"));
            continue;
        }
        params.push(format!("{name}: &{mutable}[{ty}]"));
        lengths.push(format!("{name}.len()"));
        names.push(format!("Some({name})"));
        places.push(format!("{name}.{get}(steps_done)"));
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
    vec![vec![
        ("PARAMETERS: ()", params),
        ("CHECK;", check),
        ("OUTPUTS;", before.to_owned()),
        ("LENGTH", lengths[0].clone()),
        ("NAMES", tuple(&names)),
        ("PLACES", tuple(&places)),
        ("STEP;", step),
    ]]
}
