//! Cells with several rows.

use cellc::Options;

use crate::model_file::{ModelFile, Port, Stored};
use crate::random;
use crate::subject::Subject;

/// The seed of the calls.
pub const CALLS: u64 = 5;

/// Numbers without much structure.
pub fn values(len: usize, seed: usize) -> impl Iterator<Item = f32> {
    (0..len).map(move |i| ((i * 37 + seed * 101 + i / 64 * 13 + 11) % 61) as f32 / 128.0 - 0.23)
}

/// A cell.
#[derive(Clone, Copy, Debug)]
pub struct Layer {
    /// The operation.
    pub kind: &'static str,
    /// The attributes, without the number of units.
    pub attributes: &'static str,
    /// The batch.
    pub rows: usize,
    /// The length of x.
    pub inputs: usize,
    /// The length of h.
    pub units: usize,
}

impl Layer {
    fn gates(self) -> usize {
        match self.kind {
            "LSTMCell" => 4,
            "RNNCell" => 1,
            _ => 3,
        }
    }

    fn biases(self) -> usize {
        if self.attributes.contains("true") { 4 } else { self.gates() }
    }

    /// A model of this layer alone. `is_given`: true if the weights are Parameters.
    pub fn subject(self, name: &str, options: Options, is_given: bool) -> Subject {
        let Self { kind, attributes, rows, inputs, units } = self;
        let mut file = ModelFile::default();
        let mut ports: Vec<Port> =
            vec![file.parameter("x", &[rows, inputs]), file.parameter("h", &[rows, units])];
        let of_lstm = kind == "LSTMCell";
        if of_lstm {
            ports.push(file.parameter("c", &[rows, units]));
        }
        let gates = self.gates() * units;
        for (seed, shape) in [vec![gates, inputs], vec![gates, units], vec![self.biases() * units]]
            .iter()
            .enumerate()
        {
            ports.push(match is_given {
                true => file.parameter("", shape),
                false => file.constant(shape, Stored::F32, values(shape.iter().product(), seed)),
            });
        }
        let data = format!("hidden_size=\"{units}\" {attributes}");
        let set = if of_lstm { "opset4" } else { "opset3" };
        let states = vec![vec![rows, units]; if of_lstm { 2 } else { 1 }];
        for state in file.operations(kind, set, &data, &ports.iter().collect::<Vec<_>>(), &states) {
            file.result(&state);
        }
        random::compiled(name, file, options, CALLS)
    }
}
