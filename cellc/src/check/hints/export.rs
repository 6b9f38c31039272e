//! The lines for an open number of steps: a new export from PyTorch, or a Python program for the
//! file.

use super::Hints;
use crate::model::{Dim, Model};

/// Steps of the input that the export is given: several, as one would be taken for a constant.
const EXAMPLE_STEPS: usize = 16;

/// The condition under which PyTorch 2.15 opens sizes.
const NEW_PROCESS: &str = "# in a new process: PyTorch 2.15 ignores dynamic_shapes if the process \
    has exported this module without them";

/// The lines that export a PyTorch model with open axes of inputs, each an input and an axis.
/// Empty for models of other programs, and for an input with an unknown shape. `counted`: the
/// name of the open size.
pub(crate) fn export_again(model: &Model, open: &[(usize, usize)], counted: &str) -> Vec<String> {
    let from_pytorch = model.producer.as_deref() == Some("pytorch") && !model.sizes_of_call;
    if !from_pytorch || open.is_empty() {
        return Vec::new();
    }
    let (mut examples, mut names, mut shapes) = (Vec::new(), Vec::new(), Vec::new());
    for (index, &node) in model.parameters.iter().enumerate() {
        let value = &model.values[model.nodes[node].outputs[0].0];
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

impl Hints<'_, '_> {
    /// The lines that open axes of inputs in the file. Empty for other formats than ONNX and
    /// OpenVINO, and for inputs without a name.
    pub(crate) fn open_in_file(&self, axes: &[(usize, usize)]) -> Vec<String> {
        let plain = |name: &str| {
            !name.is_empty() && name.chars().all(|c| !c.is_control() && !"\"\\'".contains(c))
        };
        let Some(file) =
            self.subject.model.files.first().map(|file| &file.name[..]).filter(|name| plain(name))
        else {
            return Vec::new();
        };
        let name_of = |input: usize| {
            let node = &self.subject.model.nodes[self.subject.model.parameters[input]];
            self.subject.model.values[node.outputs[0].0]
                .names
                .first()
                .map(String::as_str)
                .filter(|name| plain(name))
        };
        let Some(names) = axes.iter().map(|&(input, _)| name_of(input)).collect::<Option<Vec<_>>>()
        else {
            return Vec::new();
        };
        let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
        let mut lines = vec!["python3 - <<'END' &&".to_owned()];
        match &ending[..] {
            "onnx" => {
                lines.extend(["import onnx".to_owned(), format!("model = onnx.load(\"{file}\")")]);
                for (name, (_, axis)) in names.iter().zip(axes) {
                    lines.push(format!(
                        "x = next(x for x in model.graph.input if x.name == \"{name}\")"
                    ));
                    lines.push(format!(
                        "x.type.tensor_type.shape.dim[{axis}].dim_param = \"steps\""
                    ));
                }
                lines.push("onnx.save(model, \"open.onnx\")".to_owned());
            }
            "xml" => {
                let shape =
                    |(name, &(input, open)): (&&str, &(usize, usize))| {
                        let sizes = self.inputs.shapes[input].iter().flatten().enumerate();
                        let sizes = sizes.map(|(axis, size)| {
                            if axis == open { "-1".to_owned() } else { size.to_string() }
                        });
                        format!("\"{name}\": [{}]", sizes.collect::<Vec<_>>().join(", "))
                    };
                let shapes = names.iter().zip(axes).map(shape).collect::<Vec<_>>().join(", ");
                lines.extend([
                    "import openvino".to_owned(),
                    format!("model = openvino.Core().read_model(\"{file}\")"),
                ]);
                lines.push(format!("model.reshape({{{shapes}}})"));
                lines.push(
                    "openvino.save_model(model, \"open.xml\", compress_to_fp16=False)".to_owned(),
                );
            }
            _ => return Vec::new(),
        }
        lines.extend([
            "END".to_owned(),
            format!(
                "cellc open.{ending} -o net.{}",
                self.subject.options.output.language.extension()
            ),
        ]);
        lines
    }

    /// The name of an axis with a size given by name.
    pub(crate) fn fixed_by_name(&self, input: usize, axis: usize) -> Option<&str> {
        let names = self.subject.names_of_input(input);
        let given = |name: &str| {
            self.subject
                .options
                .bindings
                .dims
                .iter()
                .any(|(own, size)| own == name && size.is_some())
        };
        let of_axis = |of: &&crate::model::AxisName| {
            of.axis == axis && names.contains(&of.input) && given(&of.name)
        };
        self.subject.model.axis_names.iter().find(of_axis).map(|of| &of.name[..])
    }
}

/// True for a valid Python variable name.
fn is_word(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
