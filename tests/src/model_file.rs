//! Writes OpenVINO IR: the text of the `.xml` and the bytes of the `.bin`.

use std::fmt::Write;

/// An IR under construction. Layers are numbered in the order in which they are added.
#[derive(Clone, Debug, Default)]
pub struct ModelFile {
    layers: String,
    edges: String,
    count: usize,
    /// The contents of the `.bin`.
    pub weights: Vec<u8>,
    /// Multiplications of a step.
    pub work: usize,
    /// True if weights are Parameters.
    pub weights_at_run_time: bool,
}

/// An output of a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    layer: usize,
    port: usize,
    /// The tensor's shape.
    pub shape: Vec<usize>,
}

/// The properties of an output in the IR: name and element type, unless empty, and shape.
#[derive(Clone, Copy, Default)]
struct Output<'a> {
    name: &'a str,
    element: &'a str,
    shape: &'a [usize],
}

/// How a constant is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// As f32.
    F32,
    /// Rounded to f16, and converted to f32 by the model.
    F16,
}

/// A body that is computed for each piece of its inputs along an axis, with values that are carried
/// from iteration to iteration.
#[derive(Clone, Debug)]
pub struct Iterated {
    /// The body. Its weights become those of the model.
    pub body: ModelFile,
    /// The Parameters of the body.
    pub inputs: Vec<IteratedInput>,
    /// The Results of the body.
    pub outputs: Vec<IteratedOutput>,
    /// For a Loop with a condition: the maximum number of iterations, the port that tells if the
    /// first iteration runs, and the port in the body that tells if another iteration runs.
    pub until: Option<(usize, Port, Port)>,
}

/// A Parameter of a body.
#[derive(Clone, Debug)]
pub struct IteratedInput {
    /// The port outside of the body.
    pub of: Port,
    /// The Parameter in the body.
    pub parameter: Port,
    /// The axis along which the input is cut into pieces of size 1, and true if the last piece is
    /// first.
    pub slice: Option<(usize, bool)>,
    /// The port in the body that gives the value from the second iteration on.
    pub next: Option<Port>,
}

/// A result of an iterated body.
#[derive(Clone, Debug)]
pub struct IteratedOutput {
    /// The port in the body.
    pub of: Port,
    /// The axis along which the pieces of all iterations are concatenated, and true if the first
    /// piece is last. `None`: the output is that of the last iteration.
    pub pieces: Option<(usize, bool)>,
    /// The shape outside of the body.
    pub shape: Vec<usize>,
}

/// A branch of an If.
#[derive(Clone, Debug)]
pub struct Branch {
    /// The body. Its weights are those of the model.
    pub body: ModelFile,
    /// The indices of ports of the If, each with the Parameter of the body that reads the port.
    pub inputs: Vec<(usize, Port)>,
    /// The Results of the body.
    pub results: Vec<Port>,
}

impl ModelFile {
    /// Adds a layer.
    fn layer(
        &mut self,
        name: &str,
        kind: &str,
        set: &str,
        data: &str,
        inputs: &[&Port],
        outputs: &[Output<'_>],
    ) -> Vec<Port> {
        self.layer_with(name, kind, set, data, inputs, outputs, "")
    }

    #[allow(clippy::too_many_arguments)] // a layer has so many parts
    fn layer_with(
        &mut self,
        name: &str,
        kind: &str,
        set: &str,
        data: &str,
        inputs: &[&Port],
        outputs: &[Output<'_>],
        body: &str,
    ) -> Vec<Port> {
        let layer = self.count;
        self.count += 1;
        let _ = write!(
            self.layers,
            "<layer id=\"{layer}\" name=\"{name}\" type=\"{kind}\" version=\"{set}\"><data {data}/>"
        );
        self.layers.push_str("<input>");
        for (to, from) in inputs.iter().enumerate() {
            port(&mut self.layers, to, &Output { shape: &from.shape, ..Output::default() });
            let _ = write!(
                self.edges,
                "<edge from-layer=\"{}\" from-port=\"{}\" to-layer=\"{layer}\" to-port=\"{to}\"/>",
                from.layer, from.port
            );
        }
        self.layers.push_str("</input><output>");
        for (i, output) in outputs.iter().enumerate() {
            port(&mut self.layers, inputs.len() + i, output);
        }
        let _ = writeln!(self.layers, "</output>{body}</layer>");
        let port = |(i, output): (usize, &Output<'_>)| Port {
            layer,
            port: inputs.len() + i,
            shape: output.shape.to_vec(),
        };
        outputs.iter().enumerate().map(port).collect()
    }

    /// An operation whose outputs are f32 and have names.
    pub fn named(
        &mut self,
        kind: &str,
        set: &str,
        data: &str,
        inputs: &[&Port],
        outputs: &[(&str, &[usize])],
    ) -> Vec<Port> {
        let output = |&(name, shape)| Output { name, element: "f32", shape };
        self.layer("", kind, set, data, inputs, &outputs.iter().map(output).collect::<Vec<_>>())
    }

    /// An operation with one output.
    pub fn operation(
        &mut self,
        kind: &str,
        set: &str,
        data: &str,
        inputs: &[&Port],
        shape: &[usize],
    ) -> Port {
        self.layer("", kind, set, data, inputs, &[Output { shape, ..Output::default() }]).remove(0)
    }

    /// An operation with any number of outputs.
    pub fn operations(
        &mut self,
        kind: &str,
        set: &str,
        data: &str,
        inputs: &[&Port],
        shapes: &[Vec<usize>],
    ) -> Vec<Port> {
        self.layer("", kind, set, data, inputs, &nameless(shapes))
    }

    /// A TopK: the values, and their indices as i64.
    pub fn best(&mut self, data: &str, of: &Port, count: &Port, shape: &[usize]) -> Vec<Port> {
        let outputs = ["f32", "i64"].map(|element| Output { name: "", element, shape });
        self.layer("", "TopK", "opset11", data, &[of, count], &outputs)
    }

    /// An input of the model.
    pub fn parameter(&mut self, name: &str, shape: &[usize]) -> Port {
        self.parameter_of(name, "f32", shape)
    }

    /// An input of the model with an element type.
    pub fn parameter_of(&mut self, name: &str, element: &str, shape: &[usize]) -> Port {
        let data = format!("shape=\"{}\" element_type=\"{element}\"", list(shape));
        self.layer(name, "Parameter", "opset1", &data, &[], &[Output { name, element, shape }])
            .remove(0)
    }

    fn stored(&mut self, element: &str, shape: &[usize], offset: usize) -> Port {
        let size = self.weights.len() - offset;
        let data = format!(
            "element_type=\"{element}\" shape=\"{}\" offset=\"{offset}\" size=\"{size}\"",
            list(shape)
        );
        self.layer("", "Const", "opset1", &data, &[], &[Output { name: "", element, shape }])
            .remove(0)
    }

    /// A constant of floating-point numbers.
    pub fn constant(
        &mut self,
        shape: &[usize],
        stored: Stored,
        values: impl Iterator<Item = f32>,
    ) -> Port {
        let offset = self.weights.len();
        match stored {
            Stored::F32 => self.weights.extend(values.flat_map(f32::to_le_bytes)),
            Stored::F16 => {
                self.weights.extend(values.flat_map(|v| half::f16::from_f32(v).to_le_bytes()))
            }
        }
        let constant =
            self.stored(if stored == Stored::F32 { "f32" } else { "f16" }, shape, offset);
        match stored {
            Stored::F32 => constant,
            Stored::F16 => {
                self.operation("Convert", "opset1", "destination_type=\"f32\"", &[&constant], shape)
            }
        }
    }

    /// A constant of i64.
    pub fn integers(&mut self, shape: &[usize], values: &[i64]) -> Port {
        let offset = self.weights.len();
        self.weights.extend(values.iter().flat_map(|v| v.to_le_bytes()));
        self.stored("i64", shape, offset)
    }

    /// A GRUCell or RNNCell over x, h, W, R and, if there is one, B. `hidden_size` is added to its
    /// attributes.
    pub fn cell(&mut self, name: &str, kind: &str, attributes: &str, inputs: &[&Port]) -> Port {
        let shape = inputs[1].shape.clone();
        self.work +=
            inputs[2..].iter().map(|w| shape[0] * w.shape.iter().product::<usize>()).sum::<usize>();
        let data = format!("hidden_size=\"{}\" {attributes}", shape[1]);
        self.called(name, (kind, "opset3"), &data, inputs, &shape)
    }

    /// An operation with one output of f32. The layer and the output are called `name`.
    pub fn called(
        &mut self,
        name: &str,
        (kind, set): (&str, &str),
        data: &str,
        inputs: &[&Port],
        shape: &[usize],
    ) -> Port {
        let output = Output { name, element: "f32", shape };
        self.layer(name, kind, set, data, inputs, &[output]).remove(0)
    }

    /// A TensorIterator, or a Loop.
    pub fn iterator(&mut self, iterated: Iterated) -> Vec<Port> {
        let Iterated { mut body, inputs, outputs, until } = iterated;
        // a Loop has the count and the condition in front of its inputs
        let first = if until.is_some() { 2 } else { 0 };
        let mut text = String::from("<port_map>");
        let along = |axis: Option<(usize, bool)>| match axis {
            None => String::new(),
            Some((axis, false)) => {
                format!(" axis=\"{axis}\" start=\"0\" end=\"-1\" stride=\"1\" part_size=\"1\"")
            }
            Some((axis, true)) => {
                format!(" axis=\"{axis}\" start=\"-1\" end=\"0\" stride=\"-1\" part_size=\"1\"")
            }
        };
        for (i, IteratedInput { parameter, slice, .. }) in inputs.iter().enumerate() {
            let (port, layer, slice) = (first + i, parameter.layer, along(*slice));
            let _ = write!(
                text,
                "<input external_port_id=\"{port}\" internal_layer_id=\"{layer}\"{slice}/>"
            );
        }
        let mut edges = String::new();
        for IteratedInput { parameter, next, .. } in &inputs {
            if let Some(next) = next {
                let from = body.result(next);
                let _ =
                    write!(edges, "<edge from-layer=\"{from}\" to-layer=\"{}\"/>", parameter.layer);
            }
        }
        for (i, IteratedOutput { of, pieces, .. }) in outputs.iter().enumerate() {
            let (port, layer, pieces) = (first + inputs.len() + i, body.result(of), along(*pieces));
            let _ = write!(
                text,
                "<output external_port_id=\"{port}\" internal_layer_id=\"{layer}\"{pieces}/>"
            );
        }
        if let Some((_, _, condition)) = &until {
            let (layer, purpose) = (body.result(condition), "execution_condition");
            let _ = write!(
                text,
                "<output external_port_id=\"-1\" internal_layer_id=\"{layer}\" purpose=\"{purpose}\"/>"
            );
        }
        let Self { layers, edges: inner, weights, work, .. } = body;
        let _ = write!(
            text,
            "</port_map><back_edges>{edges}</back_edges><body><layers>\n{layers}</layers><edges>{inner}</edges></body>"
        );
        self.weights = weights;
        self.work += work;
        let count = until.as_ref().map(|(most, ..)| self.integers(&[], &[*most as i64]));
        let go = until.as_ref().map(|(_, go, _)| go);
        let from: Vec<&Port> =
            count.iter().chain(go).chain(inputs.iter().map(|input| &input.of)).collect();
        let shapes: Vec<Vec<usize>> = outputs.into_iter().map(|output| output.shape).collect();
        let (kind, set) =
            if until.is_some() { ("Loop", "opset5") } else { ("TensorIterator", "opset1") };
        self.layer_with("", kind, set, "", &from, &nameless(&shapes), &text)
    }

    /// An If: the outputs of the first branch if the condition holds, else those of the second.
    pub fn either(
        &mut self,
        condition: &Port,
        values: &[&Port],
        branches: [Branch; 2],
    ) -> Vec<Port> {
        let shapes: Vec<Vec<usize>> =
            branches[0].results.iter().map(|result| result.shape.clone()).collect();
        let mut text = String::new();
        for (name, Branch { mut body, inputs, results }) in
            ["then", "else"].into_iter().zip(branches)
        {
            let _ = write!(text, "<{name}_port_map>");
            for (port, Port { layer, .. }) in inputs {
                let _ = write!(
                    text,
                    "<input external_port_id=\"{port}\" internal_layer_id=\"{layer}\"/>"
                );
            }
            for (i, of) in results.iter().enumerate() {
                let (port, layer) = (1 + values.len() + i, body.result(of));
                let _ = write!(
                    text,
                    "<output external_port_id=\"{port}\" internal_layer_id=\"{layer}\"/>"
                );
            }
            let Self { layers, edges, work, .. } = body;
            let _ = write!(
                text,
                "</{name}_port_map><{name}_body><layers>\n{layers}</layers><edges>{edges}</edges></{name}_body>"
            );
            self.work += work;
        }
        let inputs: Vec<&Port> = [condition].into_iter().chain(values.iter().copied()).collect();
        self.layer_with("", "If", "opset8", "", &inputs, &nameless(&shapes), &text)
    }

    /// Adds an output of the model. Returns the index of its layer.
    pub fn result(&mut self, of: &Port) -> usize {
        self.layer("", "Result", "opset1", "", &[of], &[]);
        self.count - 1
    }

    /// Adds an Assign. No layer reads its output.
    pub fn assign(&mut self, variable: &str, value: &Port) {
        self.operation(
            "Assign",
            "opset6",
            &format!("variable_id=\"{variable}\""),
            &[value],
            &value.shape.clone(),
        );
    }

    /// The `.xml`.
    pub fn text(&self) -> String {
        let Self { layers, edges, .. } = self;
        format!(
            "<net name=\"net\" version=\"11\"><layers>\n{layers}</layers><edges>{edges}</edges></net>\n"
        )
    }
}

fn nameless(shapes: &[Vec<usize>]) -> Vec<Output<'_>> {
    shapes.iter().map(|shape| Output { shape, ..Output::default() }).collect()
}

fn port(out: &mut String, id: usize, Output { name, element, shape }: &Output<'_>) {
    let sizes: String = shape.iter().map(|size| format!("<dim>{size}</dim>")).collect();
    let names = if name.is_empty() { String::new() } else { format!(" names=\"{name}\"") };
    // OpenVINO requires a precision, under its own name for the element type
    let precision = match element.split_at(element.len().min(1)) {
        ("", _) => String::new(),
        ("f", bits) => format!(" precision=\"FP{bits}\""),
        _ => format!(" precision=\"{}\"", element.to_uppercase()),
    };
    let _ = write!(out, "<port id=\"{id}\"{precision}{names}>{sizes}</port>");
}

fn list(shape: &[usize]) -> String {
    shape.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}
