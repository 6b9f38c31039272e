//! A workload as an ONNX model, for libraries that read no other: the few messages of the format
//! that it takes.

use cellc::internals::model::{CellKind, ResetGate};

use crate::workload::{Cell, CellWeights, Convolution, Network, Variant, Workload};

/// The version of the operators, in which GRU, LSTM and RNN have had their present form since 7.
const OPSET: u64 = 14;

/// The version of the format.
const IR: u64 = 7;

/// A message of protocol buffers, field by field.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    fn text(self, field: u64, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    fn message(self, field: u64, message: &Self) -> Self {
        self.bytes(field, &message.0)
    }
}

/// An input or output: f32 of that shape.
fn value(name: &str, shape: &[usize]) -> Message {
    let dims = shape
        .iter()
        .fold(Message::default(), |m, &n| m.message(1, &Message::default().number(1, n as u64)));
    let tensor = Message::default().number(1, 1).message(2, &dims);
    Message::default().text(1, name).message(2, &Message::default().message(1, &tensor))
}

fn tensor(name: &str, shape: &[usize], values: &[f32]) -> Message {
    let dims = shape.iter().fold(Message::default(), |m, &n| m.number(1, n as u64));
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    dims.number(2, 1).text(8, name).bytes(9, &bytes)
}

fn node(kind: &str, inputs: &[&str], outputs: &[&str], attributes: &[Message]) -> Message {
    let node = inputs.iter().fold(Message::default(), |m, input| m.text(1, input));
    let node = outputs.iter().fold(node, |m, output| m.text(2, output)).text(4, kind);
    attributes.iter().fold(node, |m, attribute| m.message(5, attribute))
}

fn whole(name: &str, value: u64) -> Message {
    Message::default().text(1, name).number(3, value).number(20, 2)
}

fn wholes(name: &str, values: impl Iterator<Item = usize>) -> Message {
    values
        .fold(Message::default().text(1, name), |m, value| m.number(8, value as u64))
        .number(20, 7)
}

fn texts(name: &str, values: &[&str]) -> Message {
    values.iter().fold(Message::default().text(1, name), |m, value| m.text(9, value)).number(20, 8)
}

/// The model.
pub(super) fn model(workload: &Workload) -> Vec<u8> {
    let graph = match &workload.network {
        Network::Cell(cell) => cell_graph(workload.name, cell),
        Network::Convolution(convolution) => convolution_graph(workload.name, convolution),
    };
    let opset = Message::default().text(1, "").number(2, OPSET);
    Message::default().number(1, IR).text(2, "cellc-bench").message(7, &graph).message(8, &opset).0
}

/// The shape of x.
pub(super) fn input_shape(workload: &Workload) -> Vec<usize> {
    match &workload.network {
        Network::Cell(cell) => vec![cell.steps, cell.batch, cell.input_size],
        Network::Convolution(convolution) => convolution.shapes()[0].clone(),
    }
}

fn convolution_graph(name: &str, convolution: &Convolution) -> Message {
    let (w, b) = convolution.weights();
    let [x, y] = convolution.shapes();
    let (front, behind) = convolution.pads;
    let pads = wholes("pads", front.iter().chain(behind).copied());
    let ones = || convolution.size.iter().map(|_| 1);
    let attributes = [
        whole("group", convolution.groups as u64),
        wholes("strides", ones()),
        wholes("dilations", ones()),
        pads,
    ];
    Message::default()
        .message(1, &node("Conv", &["x", "w", "b"], &["y"], &attributes))
        .text(2, name)
        .message(5, &tensor("w", &convolution.weight_shape(), &w))
        .message(5, &tensor("b", &[b.len()], &b))
        .message(11, &value("x", &x))
        .message(12, &value("y", &y))
}

/// x `[T, N, I]` and the states `[1, N, H]` in; the output that is compared, where it is no state,
/// and the states out.
fn cell_graph(name: &str, cell: &Cell) -> Message {
    let Cell { kind, input_size, hidden_size, batch, steps, .. } = *cell;
    let CellWeights { w, r, b, head } = cell.weights(Variant::Itself);
    let gates = kind.gates();
    // OpenVINO's f, i, c, o is i, o, f, c here; those of a GRU are alike
    let order: &[usize] = if kind == CellKind::Lstm { &[1, 3, 0, 2] } else { &[0, 1, 2][..gates] };
    let ordered = |rows: &[f32], len: usize| -> Vec<f32> {
        let gate = |&gate: &usize| rows[gate * hidden_size * len..][..hidden_size * len].to_vec();
        order.iter().flat_map(gate).collect()
    };
    // a bias for W and one for R: OpenVINO has their sum, but for the candidate whose reset gate
    // stands after the product
    let mut bias = ordered(&b, 1);
    bias.resize(2 * gates * hidden_size, 0.0);
    let last = bias.len() - hidden_size;
    if kind == CellKind::Gru(ResetGate::AfterMatMul) {
        bias[last..].copy_from_slice(&b[gates * hidden_size..]);
    }
    let (operator, named): (_, &[&str]) = match kind {
        CellKind::Rnn => ("RNN", &["Tanh"]),
        CellKind::Lstm => ("LSTM", &["Sigmoid", "Tanh", "Tanh"]),
        CellKind::Gru(_) => {
            let relu = cell.activations(Variant::Itself) != cell.activations(Variant::Tanh);
            ("GRU", if relu { &["Sigmoid", "Relu"] } else { &["Sigmoid", "Tanh"] })
        }
        CellKind::Augru(_) => unreachable!("no workload is one"),
    };
    let mut attributes =
        vec![whole("hidden_size", hidden_size as u64), texts("activations", named)];
    if let CellKind::Gru(reset) = kind {
        attributes.push(whole("linear_before_reset", u64::from(reset == ResetGate::AfterMatMul)));
    }
    let (mut inputs, mut outputs) = (vec!["x", "w", "r", "b", "", "h"], vec!["", "h_out"]);
    if kind == CellKind::Lstm {
        inputs.push("c");
        outputs.push("c_out");
    }
    if steps > 1 {
        outputs[0] = "y";
    }
    let state = [1, batch, hidden_size];
    let mut graph = Message::default().message(1, &node(operator, &inputs, &outputs, &attributes));
    if let Some((matrix, bias)) = &head {
        let product = node("MatMul", &["h_out", "head"], &["product"], &[]);
        let sum = node("Add", &["product", "head_bias"], &["y"], &[]);
        let tensors =
            [tensor("head", &[hidden_size, 1], matrix), tensor("head_bias", &[1], &[*bias])];
        graph = graph
            .message(1, &product)
            .message(1, &sum)
            .message(5, &tensors[0])
            .message(5, &tensors[1]);
    }
    graph = graph.text(2, name);
    for (name, shape, values) in [
        ("w", vec![1, gates * hidden_size, input_size], ordered(&w, input_size)),
        ("r", vec![1, gates * hidden_size, hidden_size], ordered(&r, hidden_size)),
        ("b", vec![1, bias.len()], bias),
    ] {
        graph = graph.message(5, &tensor(name, &shape, &values));
    }
    graph = graph.message(11, &value("x", &[steps, batch, input_size]));
    for state_in in &inputs[5..] {
        graph = graph.message(11, &value(state_in, &state));
    }
    if steps > 1 {
        graph = graph.message(12, &value("y", &[steps, 1, batch, hidden_size]));
    } else if head.is_some() {
        graph = graph.message(12, &value("y", &[1, batch, 1]));
    }
    for state_out in &outputs[1..] {
        graph = graph.message(12, &value(state_out, &state));
    }
    graph
}

#[cfg(test)]
mod tests {
    use super::Message;

    /// The example of the description of protocol buffers: field 1 is 150; field 2 is "testing".
    #[test]
    fn messages_are_those_of_protocol_buffers() {
        let message = Message::default().number(1, 150).text(2, "testing");
        assert_eq!(message.0, b"\x08\x96\x01\x12\x07testing");
        assert_eq!(
            Message::default().message(3, &Message::default().number(1, 150)).0,
            b"\x1a\x03\x08\x96\x01"
        );
    }
}
