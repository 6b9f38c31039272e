//! The method that takes a run-time number of steps.

use super::{RustFile, tuple};
use crate::emit::signature::{Argument, Signature, StepTensor, Tensors};
use crate::emit::tensors::array;
use crate::emit::text::Word;

/// What `steps` differs in, where the number of steps is open.
pub(super) fn several(file: &RustFile<'_>) -> Vec<Vec<Word>> {
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
