//! Cells and sequences of every kind.

use cellc::internals::model::Activation;

use super::choices::{Choices, SIZES};
use super::drawing::{Drawing, MOST};
use crate::model_file::Port;

/// The sizes of cells. Some are larger than those of other tensors.
const CELL_SIZES: [usize; 20] =
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15, 16, 17, 20, 24, 31, 33, 40, 66];

impl Drawing {
    /// A state of a cell: a value, an input of the model, or a constant.
    pub(super) fn state(&mut self, choices: &mut Choices<'_>, shape: &[usize]) -> Port {
        match choices.below("state", 6) {
            0..=2 if self.level == 0 => self.parameter("f32", shape),
            5 => self.constant(choices, shape, 1.0),
            _ => {
                let item = self.item(choices);
                self.fit(&item.port, shape)
            }
        }
    }

    pub(super) fn cell(&mut self, choices: &mut Choices<'_>) {
        let kind = choices.pick("kind", &Recurrent::ALL);
        let item = self.item(choices);
        let batch = choices.pick("batch", &[1, 1, 2, 3, 5]);
        let [inputs, hidden] = ["inputs", "hidden"].map(|name| choices.pick(name, &CELL_SIZES));
        let x = match item.port.shape[..] {
            [n, _] if n <= 5 => item.port,
            _ => self.fit(&item.port, &[batch, inputs]),
        };
        let (batch, inputs) = (x.shape[0], x.shape[1]);
        let state = [batch, hidden];
        let mut ports = vec![x, self.state(choices, &state)];
        let attributes = Attributes::draw(choices, kind, false);
        if kind == Recurrent::Lstm {
            ports.push(self.state(choices, &state));
        }
        let at_run_time = choices.one_in("at_run_time", 7);
        let (gates, parts) = attributes.sizes();
        self.file.work += batch * gates * hidden * (inputs + hidden);
        ports.push(self.weights(choices, at_run_time, &[gates * hidden, inputs]));
        ports.push(self.weights(choices, at_run_time, &[gates * hidden, hidden]));
        let optional =
            kind == Recurrent::Gru || attributes.set == "opset1" && kind == Recurrent::Lstm;
        if !(optional && !attributes.peepholes && choices.one_in("no_bias", 4)) {
            ports.push(self.weights(choices, at_run_time, &[parts * hidden]));
        }
        if attributes.peepholes {
            ports.push(self.weights(choices, at_run_time, &[3 * hidden]));
        }
        if kind == Recurrent::Augru {
            let item = self.item(choices);
            let a = self.fit(&item.port, &[batch, 1]);
            ports.push(self.plain("Sigmoid", &a));
        }
        let inputs: Vec<&Port> = ports.iter().collect();
        let name = format!("{}Cell", kind.name());
        let data = format!("hidden_size=\"{hidden}\" {}", attributes.text);
        let outputs = vec![state.to_vec(); if kind == Recurrent::Lstm { 2 } else { 1 }];
        let outputs = self.file.operations(&name, attributes.set, &data, &inputs, &outputs);
        self.some_of(choices, &outputs, attributes.most);
    }

    /// Makes some of the outputs available, at least one.
    pub(super) fn some_of(&mut self, choices: &mut Choices<'_>, outputs: &[Port], most: f32) {
        let first = choices.below("read", outputs.len());
        for (i, output) in outputs.iter().enumerate() {
            if i == first || choices.one_in("read_too", 2) {
                self.push(output.clone(), most);
            }
        }
    }

    pub(super) fn sequence(&mut self, choices: &mut Choices<'_>) {
        let kind = choices.pick("kind", &Recurrent::ALL);
        let item = self.item(choices);
        let (batch, steps) = (choices.pick("batch", &[1, 1, 2, 3]), 1 + choices.below("steps", 6));
        let [inputs, hidden] = ["inputs", "hidden"].map(|name| choices.pick(name, &SIZES));
        let x = match item.port.shape[..] {
            [n, t, _] if n <= 5 && t <= 6 => item.port,
            _ => self.fit(&item.port, &[batch, steps, inputs]),
        };
        let (batch, steps, inputs) = (x.shape[0], x.shape[1], x.shape[2]);
        let direction = match kind {
            Recurrent::Augru => "forward",
            _ => choices.pick("direction", &["forward", "reverse", "bidirectional"]),
        };
        let d = if direction == "bidirectional" { 2 } else { 1 };
        let state = [batch, d, hidden];
        let mut ports = vec![x, self.state(choices, &state)];
        if kind == Recurrent::Lstm {
            ports.push(self.state(choices, &state));
        }
        let how = choices.below("lengths", 5);
        let at_call = self.level == 0 && matches!(how, 2 | 3);
        let lengths = match how {
            2 | 3 if at_call => self.parameter(choices.pick("of", &["i64", "i32"]), &[batch]),
            4 => {
                let lengths: Vec<i64> =
                    (0..batch).map(|_| choices.below("length", steps + 1) as i64).collect();
                self.file.integers(&[batch], &lengths)
            }
            _ => self.file.integers(&[batch], &vec![steps as i64; batch]),
        };
        ports.push(lengths);
        let attributes = Attributes::draw(choices, kind, true);
        let at_run_time = choices.one_in("at_run_time", 8);
        let (gates, parts) = attributes.sizes();
        self.file.work += batch * steps * d * gates * hidden * (inputs + hidden);
        ports.push(self.weights(choices, at_run_time, &[d, gates * hidden, inputs]));
        ports.push(self.weights(choices, at_run_time, &[d, gates * hidden, hidden]));
        ports.push(self.weights(choices, at_run_time, &[d, parts * hidden]));
        if kind == Recurrent::Augru {
            let item = self.item(choices);
            let a = self.fit(&item.port, &[batch, steps, 1]);
            ports.push(self.plain("Sigmoid", &a));
        }
        let ports: Vec<&Port> = ports.iter().collect();
        let name = format!("{}Sequence", kind.name());
        let direction = format!("direction=\"{direction}\"");
        let data = format!("hidden_size=\"{hidden}\" {direction} {}", attributes.text);
        let mut outputs = vec![vec![batch, d, steps, hidden], state.to_vec()];
        if kind == Recurrent::Lstm {
            outputs.push(state.to_vec());
        }
        let set = if kind == Recurrent::Augru { "ie_internal_opset" } else { "opset5" };
        let outputs = self.file.operations(&name, set, &data, &ports, &outputs);
        if at_call {
            self.needed.push(outputs[choices.below("needed", outputs.len())].clone());
        }
        self.some_of(choices, &outputs, attributes.most);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recurrent {
    Rnn,
    Gru,
    Lstm,
    Augru,
}

impl Recurrent {
    const ALL: [Self; 4] = [Self::Rnn, Self::Gru, Self::Lstm, Self::Augru];

    fn name(self) -> &'static str {
        match self {
            Self::Rnn => "RNN",
            Self::Gru => "GRU",
            Self::Lstm => "LSTM",
            Self::Augru => "AUGRU",
        }
    }
}

/// The attributes of a cell or sequence, without `hidden_size` and `direction`.
struct Attributes {
    kind: Recurrent,
    set: &'static str,
    text: String,
    peepholes: bool,
    resets_after: bool,
    /// The approximate magnitude of a state.
    most: f32,
}

impl Attributes {
    fn draw(choices: &mut Choices<'_>, kind: Recurrent, sequence: bool) -> Self {
        let set = match kind {
            Recurrent::Rnn => "opset1",
            Recurrent::Gru => "opset3",
            Recurrent::Lstm if sequence => "opset5",
            Recurrent::Lstm => choices.pick("set", &["opset4", "opset1"]),
            Recurrent::Augru => "ie_internal_opset",
        };
        let mut drawn = Self {
            kind,
            set,
            text: String::new(),
            peepholes: false,
            resets_after: false,
            most: 2.0,
        };
        if kind == Recurrent::Augru {
            return drawn;
        }
        let mut bounded = true;
        if choices.one_in("activations", 2) {
            let count = match kind {
                Recurrent::Rnn => 1,
                Recurrent::Gru => 2,
                Recurrent::Lstm | Recurrent::Augru => 3,
            };
            let names: Vec<&str> =
                (0..count).map(|_| choices.pick("activation", &Activation::NAMES)).collect();
            bounded = names.iter().all(|name| {
                matches!(*name, "sigmoid" | "tanh" | "hardsigmoid" | "softsign" | "scaledtanh")
            });
            drawn.text += &format!("activations=\"{}\" ", names.join(","));
            // without numbers, activations have defaults; scaledtanh has none
            if names.contains(&"scaledtanh") || choices.one_in("with_numbers", 2) {
                for (attribute, numbers) in [
                    ("activations_alpha", [0.5, 1.0, -0.3, 1.3, 0.01]),
                    ("activations_beta", [0.5, 0.0, 1.0, -0.25, 0.7]),
                ] {
                    let numbers: Vec<String> = names
                        .iter()
                        .map(|_| choices.pick("number", &numbers).to_string())
                        .collect();
                    drawn.text += &format!("{attribute}=\"{}\" ", numbers.join(","));
                }
            }
        }
        if !bounded || choices.one_in("clips", 3) {
            drawn.text +=
                &format!("clip=\"{}\" ", choices.pick("clip", &["1", "0.5", "2", "0.1", "1.25"]));
        }
        if kind == Recurrent::Gru {
            drawn.resets_after = choices.one_in("resets_after", 2);
            if drawn.resets_after || choices.one_in("says_so", 2) {
                drawn.text += &format!("linear_before_reset=\"{}\" ", drawn.resets_after);
            }
        }
        if kind == Recurrent::Lstm && set == "opset1" {
            drawn.peepholes = choices.one_in("peepholes", 2);
            if choices.one_in("input_forget", 2) {
                drawn.text += "input_forget=\"true\" ";
            }
            if choices.one_in("weights_format", 2) {
                let order = choices.pick("order", &["fico", "icof", "ifco", "ifoc", "iofc"]);
                drawn.text += &format!("weights_format=\"{order}\" ");
            }
        }
        if !bounded {
            drawn.most = MOST;
        }
        drawn
    }

    /// The numbers of gates and of parts of B.
    fn sizes(&self) -> (usize, usize) {
        match self.kind {
            Recurrent::Rnn => (1, 1),
            Recurrent::Gru => (3, if self.resets_after { 4 } else { 3 }),
            Recurrent::Augru => (3, 3),
            Recurrent::Lstm => (4, 4),
        }
    }
}
