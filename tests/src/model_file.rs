//! Writes OpenVINO IR: the text of the `.xml` and the bytes of the `.bin`.

use std::fmt::Write;

/// An IR that is being written. Layers are numbered as they come.
#[derive(Clone, Debug, Default)]
pub struct ModelFile {
    layers: String,
    edges: String,
    count: usize,
    /// The contents of the `.bin`.
    pub weights: Vec<u8>,
    /// Multiplications of a step.
    pub work: usize,
}

/// An output of a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    layer: usize,
    port: usize,
    /// The tensor's shape.
    pub shape: Vec<usize>,
}

/// How a constant is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// As it is.
    F32,
    /// Rounded, and converted by the model.
    F16,
}

impl ModelFile {
    /// Adds a layer; all but a Result have one output.
    fn layer(&mut self, name: &str, kind: &str, data: &str, inputs: &[&Port], shape: &[usize]) -> Port {
        let layer = self.count;
        self.count += 1;
        let _ = write!(
            self.layers,
            "<layer id=\"{layer}\" name=\"{name}\" type=\"{kind}\" version=\"opset3\"><data {data}/>"
        );
        self.layers.push_str("<input>");
        for (to, from) in inputs.iter().enumerate() {
            port(&mut self.layers, to, &from.shape, "");
            let _ = write!(
                self.edges,
                "<edge from-layer=\"{}\" from-port=\"{}\" to-layer=\"{layer}\" to-port=\"{to}\"/>",
                from.layer, from.port
            );
        }
        self.layers.push_str("</input><output>");
        if kind != "Result" {
            port(&mut self.layers, inputs.len(), shape, name);
        }
        self.layers.push_str("</output></layer>\n");
        Port { layer, port: inputs.len(), shape: shape.to_vec() }
    }

    /// An input of the model.
    pub fn parameter(&mut self, name: &str, shape: &[usize]) -> Port {
        let data = format!("shape=\"{}\" element_type=\"f32\"", list(shape));
        self.layer(name, "Parameter", &data, &[], shape)
    }

    /// Weights.
    pub fn constant(&mut self, shape: &[usize], stored: Stored, values: impl Iterator<Item = f32>) -> Port {
        let offset = self.weights.len();
        match stored {
            Stored::F32 => self.weights.extend(values.flat_map(f32::to_le_bytes)),
            Stored::F16 => self.weights.extend(values.flat_map(|v| half::f16::from_f32(v).to_le_bytes())),
        }
        let element = if stored == Stored::F32 { "f32" } else { "f16" };
        let size = self.weights.len() - offset;
        let data = format!("element_type=\"{element}\" shape=\"{}\" offset=\"{offset}\" size=\"{size}\"", list(shape));
        let constant = self.layer("", "Const", &data, &[], shape);
        match stored {
            Stored::F32 => constant,
            Stored::F16 => self.layer("", "Convert", "destination_type=\"f32\"", &[&constant], shape),
        }
    }

    /// A GRUCell or RNNCell over x, h, W, R and, if there is one, B. `hidden_size` is added to its attributes.
    pub fn cell(&mut self, name: &str, kind: &str, attributes: &str, inputs: &[&Port]) -> Port {
        let shape = inputs[1].shape.clone();
        self.work += inputs[2..].iter().map(|w| shape[0] * w.shape.iter().product::<usize>()).sum::<usize>();
        self.layer(name, kind, &format!("hidden_size=\"{}\" {attributes}", shape[1]), inputs, &shape)
    }

    /// An output of the model.
    pub fn result(&mut self, of: &Port) {
        self.layer("", "Result", "", &[of], &[]);
    }

    /// The `.xml`.
    pub fn text(&self) -> String {
        let Self { layers, edges, .. } = self;
        format!("<net name=\"net\" version=\"11\"><layers>\n{layers}</layers><edges>{edges}</edges></net>\n")
    }
}

fn port(out: &mut String, id: usize, shape: &[usize], name: &str) {
    let sizes: String = shape.iter().map(|size| format!("<dim>{size}</dim>")).collect();
    let names = if name.is_empty() { String::new() } else { format!(" names=\"{name}\"") };
    let _ = write!(out, "<port id=\"{id}\"{names}>{sizes}</port>");
}

fn list(shape: &[usize]) -> String {
    shape.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}
