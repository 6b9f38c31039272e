//! Shell lines to open axes in a model's file by Python.

use super::HintContext;

impl HintContext<'_, '_> {
    /// The lines that open axes of inputs in the file and compile the new file. Empty for formats
    /// other than ONNX and OpenVINO, and if the file or an input has no name that fits between
    /// quotes.
    pub(crate) fn open_in_file(&self, axes: &[(usize, usize)]) -> Vec<String> {
        let plain = |name: &str| {
            !name.is_empty() && name.chars().all(|c| !c.is_control() && !"\"\\'".contains(c))
        };
        let Some(file) =
            self.context.model.files.first().map(|file| &file.name[..]).filter(|name| plain(name))
        else {
            return Vec::new();
        };
        let name_of = |input: usize| {
            let node = &self.context.model.nodes[self.context.model.parameters[input]];
            self.context.model.values[node.outputs[0].0]
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
        let change = match &ending[..] {
            "onnx" => open_onnx(file, &names, axes),
            "xml" => self.open_openvino(file, &names, axes),
            _ => return Vec::new(),
        };
        let language = self.context.options.output.language.extension();
        let mut lines = vec!["python3 - <<'END' &&".to_owned()];
        lines.extend(change);
        lines.extend(["END".to_owned(), format!("cellc open.{ending} -o net.{language}")]);
        lines
    }

    fn open_openvino(&self, file: &str, names: &[&str], axes: &[(usize, usize)]) -> Vec<String> {
        let shape = |(name, &(input, open)): (&&str, &(usize, usize))| {
            let sizes = self.inputs.shapes[input].iter().flatten().enumerate();
            let sizes = sizes.map(|(axis, size)| match axis == open {
                true => "-1".to_owned(),
                false => size.to_string(),
            });
            format!("\"{name}\": [{}]", sizes.collect::<Vec<_>>().join(", "))
        };
        let shapes = names.iter().zip(axes).map(shape).collect::<Vec<_>>().join(", ");
        vec![
            "import openvino".to_owned(),
            format!("model = openvino.Core().read_model(\"{file}\")"),
            format!("model.reshape({{{shapes}}})"),
            "openvino.save_model(model, \"open.xml\", compress_to_fp16=False)".to_owned(),
        ]
    }

    /// The name of an axis of an input, if the options give a size to the name.
    pub(crate) fn fixed_by_name(&self, input: usize, axis: usize) -> Option<&str> {
        let names = self.context.names_of_input(input);
        let given = |name: &str| {
            self.context
                .options
                .bindings
                .dims
                .iter()
                .any(|(own, size)| own == name && size.is_some())
        };
        let of_axis = |other: &&crate::model::AxisName| {
            other.axis == axis && names.contains(&other.input) && given(&other.name)
        };
        self.context.model.axis_names.iter().find(of_axis).map(|axis_name| &axis_name.name[..])
    }
}

fn open_onnx(file: &str, names: &[&str], axes: &[(usize, usize)]) -> Vec<String> {
    let mut lines = vec!["import onnx".to_owned(), format!("model = onnx.load(\"{file}\")")];
    for (name, (_, axis)) in names.iter().zip(axes) {
        lines.extend([
            format!("x = next(x for x in model.graph.input if x.name == \"{name}\")"),
            format!("x.type.tensor_type.shape.dim[{axis}].dim_param = \"steps\""),
        ]);
    }
    lines.push("onnx.save(model, \"open.onnx\")".to_owned());
    lines
}
