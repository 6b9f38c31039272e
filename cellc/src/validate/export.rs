//! The lines by which PyTorch exports a model again with an open number of steps.

use super::Validation;
use crate::model::Dim;

/// Steps of the input that the export is given: several, as one would be taken for a constant.
const EXAMPLE_STEPS: usize = 16;

impl Validation<'_> {
    /// The lines that export a model of PyTorch with these axes of its inputs open, each the place of an
    /// input and an axis. Empty where another program wrote the model, or an input has no known shape.
    pub(super) fn export_again(&self, open: &[(usize, usize)]) -> Vec<String> {
        if self.model.producer.as_deref() != Some("pytorch") || open.is_empty() {
            return Vec::new();
        }
        let (mut examples, mut names, mut shapes) = (Vec::new(), Vec::new(), Vec::new());
        for (index, &node) in self.model.parameters.iter().enumerate() {
            let value = &self.model.values[self.model.nodes[node].outputs[0].0];
            let Some(stated) = &value.shape else { return Vec::new() };
            let axis = open.iter().find(|(input, _)| *input == index).map(|(_, axis)| *axis);
            let size = |(at, dim): (usize, &Dim)| match *dim {
                _ if Some(at) == axis => EXAMPLE_STEPS.to_string(),
                Dim::Fixed(size) => size.to_string(),
                Dim::Dynamic { min, .. } => min.max(1).to_string(),
            };
            let sizes = stated.iter().enumerate().map(size).collect::<Vec<_>>().join(", ");
            let name = value.names.first().map_or("", String::as_str);
            examples.push((format!("torch.zeros({sizes})"), name));
            shapes.push(axis.map_or("None".to_owned(), |axis| format!("{{{axis}: steps}}")));
            names.push(name);
        }
        let all_words = names.iter().all(|name| is_word(name));
        let variable = |at: usize| if all_words { names[at].to_owned() } else { format!("x{at}") };
        let mut lines: Vec<String> =
            examples.iter().enumerate().map(|(at, (zeros, _))| format!("{} = {zeros}", variable(at))).collect();
        let arguments: String = (0..names.len()).map(|at| format!("{}, ", variable(at))).collect();
        let arguments = if names.len() == 1 { arguments.trim_end() } else { arguments.trim_end_matches(", ") };
        // by the names of forward's arguments where the file has them, else by their places
        let shapes = shapes.into_iter().zip(&names);
        let shapes: Vec<String> = match all_words {
            true => shapes.map(|(shape, name)| format!("\"{name}\": {shape}")).collect(),
            false => shapes.map(|(shape, _)| format!("{shape},")).collect(),
        };
        let shapes = match all_words {
            true => format!("{{{}}}", shapes.join(", ")),
            false => format!("({})", shapes.join(" ")),
        };
        let steps = match open.len() {
            1 => shapes.replace("steps}", "torch.export.Dim(\"steps\")}"),
            _ => {
                lines.push("steps = torch.export.Dim(\"steps\")".to_owned());
                shapes
            }
        };
        lines.push(format!("torch.onnx.export(net.eval(), ({arguments}), \"net.onnx\", dynamic_shapes={steps})"));
        lines
    }
}

/// True for a name that Python takes for a variable.
fn is_word(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
