//! The lines of a new export from PyTorch with an open number of steps.

use crate::model::{Dim, Model, SizesOf};

/// Steps of the example input. Not 1: exporters take a single step for a constant.
const STEPS_OF_EXPORT: usize = 16;

/// The first of the lines, a comment: PyTorch 2.15 opens sizes only in a new process.
const NEW_PROCESS: &str = "# in a new process: PyTorch 2.15 ignores dynamic_shapes if the process \
    has exported this module without them";

/// The lines that export a PyTorch model with open axes of inputs, each an input and an axis. Empty
/// without open axes, for recorded calls, for models of other programs, and if an input has an
/// unknown shape. `counted`: the name of the open size.
pub(crate) fn export_again(model: &Model, open: &[(usize, usize)], counted: &str) -> Vec<String> {
    let from_pytorch =
        model.producer.as_deref() == Some("pytorch") && model.sizes != SizesOf::Calls;
    if !from_pytorch || open.is_empty() {
        return Vec::new();
    }
    let (mut examples, mut names, mut shapes) = (Vec::new(), Vec::new(), Vec::new());
    for (index, &node) in model.parameters.iter().enumerate() {
        let value = &model.values[model.nodes[node].outputs[0].0];
        let Some(stated) = &value.shape else { return Vec::new() };
        let axis = open.iter().find(|(input, _)| *input == index).map(|(_, axis)| *axis);
        let size = |(at, dim): (usize, &Dim)| match *dim {
            _ if Some(at) == axis => STEPS_OF_EXPORT.to_string(),
            Dim::Fixed(size) => size.to_string(),
            Dim::Dynamic { min, .. } => min.max(1).to_string(),
        };
        let sizes = stated.iter().enumerate().map(size).collect::<Vec<_>>().join(", ");
        let name = value.names.first().map_or("", String::as_str);
        examples.push((format!("torch.zeros({sizes})"), name));
        shapes.push(axis.map_or("None".to_owned(), |axis| format!("{{{axis}: {counted}}}")));
        names.push(name);
    }
    let all_words = names.iter().all(|name| is_word(name));
    let variable = |at: usize| if all_words { names[at].to_owned() } else { format!("x{at}") };
    let zeros =
        examples.iter().enumerate().map(|(at, (zeros, _))| format!("{} = {zeros}", variable(at)));
    let mut lines: Vec<String> = std::iter::once(NEW_PROCESS.to_owned()).chain(zeros).collect();
    let arguments: String = (0..names.len()).map(|at| format!("{}, ", variable(at))).collect();
    let arguments =
        if names.len() == 1 { arguments.trim_end() } else { arguments.trim_end_matches(", ") };
    // shapes by argument name, or by position if a name is no Python variable
    let shapes = shapes.into_iter().zip(&names);
    let shapes: Vec<String> = match all_words {
        true => shapes.map(|(shape, name)| format!("\"{name}\": {shape}")).collect(),
        false => shapes.map(|(shape, _)| format!("{shape},")).collect(),
    };
    let shapes = match all_words {
        true => format!("{{{}}}", shapes.join(", ")),
        false => format!("({})", shapes.join(" ")),
    };
    let sizes = match open.len() {
        1 => shapes.replace(&format!("{counted}}}"), &format!("torch.export.Dim(\"{counted}\")}}")),
        _ => {
            lines.push(format!("{counted} = torch.export.Dim(\"{counted}\")"));
            shapes
        }
    };
    lines.push(format!(
        "torch.onnx.export(net.eval(), ({arguments}), \"net.onnx\", dynamic_shapes={sizes})"
    ));
    lines
}

/// True for a valid Python variable name.
fn is_word(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
