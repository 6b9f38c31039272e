//! The method that takes a run-time number of steps.

use super::RustFile;
use crate::emit::names::Field;
use crate::emit::signature::{Argument, Signature, StepTensor, Tensors};
use crate::emit::tensors::array;
use crate::emit::text::Word;

/// The words of the method `steps`. Empty if each call is one step.
pub(super) fn several(file: &RustFile<'_>) -> Vec<Vec<Word>> {
    let interface = file.interface;
    if interface.steps.is_none() {
        return Vec::new();
    }
    let most = interface.layout.steps_at_once;
    let signature = Signature::step(interface);
    let mut params = Vec::new();
    let mut lengths: Vec<String> = Vec::new();
    let mut steps: Vec<(String, String)> = Vec::new();
    for StepTensor { field, written, each_step } in interface.step_tensors() {
        let (mutable, each) = match (written, most) {
            (true, 1) => ("mut ", "iter_mut()".to_owned()),
            (false, 1) => ("", "iter()".to_owned()),
            (true, _) => ("mut ", format!("chunks_mut({most})")),
            (false, _) => ("", format!("chunks({most})")),
        };
        let (name, ty) = (&field.name, array(field));
        if !each_step {
            params.push(format!("{name}: &{mutable}{ty}"));
            continue;
        }
        params.push(format!("{name}: &{mutable}[{ty}]"));
        lengths.push(format!("{name}.len()"));
        steps.push((name.clone(), format!("{name}.{each}")));
    }
    let params = params.join(", ");
    let (names, places) = zipped(&steps);
    let (before, step, after) = match interface.swaps_states() {
        true => swapped(file),
        false if most > 1 => {
            let (x, y) = (&interface.inputs[0].name, &interface.outputs[0].name);
            (String::new(), file.several_at_once(x, y), String::new())
        }
        false => copied(&signature),
    };
    let unequal: Vec<String> =
        lengths[1..].iter().map(|len| format!("{len} != {}", lengths[0])).collect();
    let check = match unequal.is_empty() {
        true => String::new(),
        false => format!("if {} {{ return Err(UnequalSteps); }}", unequal.join(" || ")),
    };
    vec![vec![
        ("PARAMETERS: ()", params),
        ("CHECK;", check),
        ("OUTPUTS;", before),
        ("NAMES", names),
        ("PLACES", places),
        ("STEP;", step),
        (
            "KEEP;",
            if after.is_empty() {
                String::new()
            } else {
                format!("if !{}.is_empty() {{ {after} }}", lengths[0].trim_end_matches(".len()"))
            },
        ),
    ]]
}

/// The statements before, in and after the loop over steps, if each step copies its states to the
/// struct.
fn copied(signature: &Signature<'_>) -> (String, String, String) {
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
    (before.to_owned(), format!("self.step({args}); {after}"), String::new())
}

/// The statements before, in and after the loop over steps, if each step reads its states from the
/// outputs of the previous step.
fn swapped(file: &RustFile<'_>) -> (String, String, String) {
    let mut before =
        "let (mut steps_before, mut outputs) = (&mut Outputs::new(), &mut Outputs::new());"
            .to_owned();
    let mut after = String::new();
    for (state, output) in file.states() {
        before += &format!("steps_before.{} = self.{};", output.name, state.name);
        after += &format!("self.{} = steps_before.{};", state.name, output.name);
    }
    let held = |state: &Field| {
        let (_, output) = file.states().find(|(other, _)| *other == state)?;
        Some(format!("&steps_before.{}", output.name))
    };
    let mut step = file.call("pool", |field| held(field).unwrap_or_else(|| field.name.clone()));
    for StepTensor { field, each_step, .. } in
        file.interface.step_tensors().filter(|tensor| tensor.written)
    {
        let copy = |from: &str| format!("*{0} = {from}.{0};", field.name);
        match each_step {
            true => step += &copy("outputs"),
            false => after += &copy("steps_before"),
        }
    }
    (before, step + "core::mem::swap(&mut steps_before, &mut outputs);", after)
}

/// The names of the items of several iterators, and the joint iterator: a tree of pairs, because
/// types nested by the hundred are too deep for rustc.
pub(super) fn zipped(all: &[(String, String)]) -> (String, String) {
    if let [one] = all {
        return one.clone();
    }
    let [(first, firsts), (second, seconds)] = {
        let (first, second) = all.split_at(all.len().div_ceil(2));
        [zipped(first), zipped(second)]
    };
    (format!("({first}, {second})"), format!("{firsts}.zip({seconds})"))
}
