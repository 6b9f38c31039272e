//! `.nam`, the files of Neural Amp Modeler: its LSTM.

use super::json::{Json, Object};
use super::{Found, about, of_metadata, refusal, remaining};
use crate::diagnostic::{Diagnostic, Diagnostics, quoted};
use crate::front::keys::{Family, Spanned};
use crate::front::layer::Declared;
use crate::front::layout::{Framework, Named, WeightSet};
use crate::front::stack::Stack;
use crate::front::weights::DenseLayer;
use crate::model::{Tensor, counted};

/// What diagnostics call the layers.
const DECLARED_BY: &str = "NAM's LSTM";

/// Keys that are about the model.
const ABOUT: [&str; 1] = ["sample_rate"];

/// Versions of the format in which an LSTM means the same: 0.5.0 to 0.7.x.
fn is_known(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
    let known = matches!((parts.next(), parts.next(), parts.next()), (Some(Some(0)), Some(Some(5..=7)), Some(Some(_))));
    known && parts.next().is_none()
}

pub(super) fn read(mut file: Object, name: Spanned<String>) -> Result<Found, Diagnostics> {
    let version = file.need("version", "")?;
    if !matches!(&version, Json::Text(text) if is_known(text)) {
        let found = refusal("\"version\"", format!("the version is {}", quoted(&version.to_string())));
        return Err(found.valid("0.5.0 to 0.7.x").into());
    }
    match file.need("architecture", "")? {
        Json::Text(architecture) if architecture == "LSTM" => {}
        other => {
            let found = refusal("\"architecture\"", format!("the architecture is {}", quoted(&other.to_string())));
            let help = "cellc compiles recurrent networks: train an LSTM with the same recordings";
            return Err(found.valid("LSTM, of NAM's architectures").help(help).into());
        }
    }
    let mut ledger = vec![about("version", &version)];
    let mut warnings = Diagnostics::default();
    if let Some(metadata) = file.take("metadata") {
        ledger.extend(of_metadata(metadata, &["loudness", "input_level_dbu", "output_level_dbu"]));
    }
    let config = file.need("config", "")?;
    let sizes = Sizes::of(config)?;
    let Json::List(weights) = file.need("weights", "")? else {
        return Err(refusal("\"weights\"", "the weights are no list").valid("a list of numbers").into());
    };
    let mut values = Vec::with_capacity(weights.len());
    for (i, weight) in weights.iter().enumerate() {
        values.push(weight.f32(&format!("\"weights\", number {i}"))?);
    }
    remaining(file, &ABOUT, &mut ledger, &mut warnings);
    Ok(Found { stack: sizes.stack(&values, name)?, ledger, warnings })
}

struct Sizes {
    input_size: usize,
    hidden_size: usize,
    num_layers: usize,
}

impl Sizes {
    fn of(config: Json) -> Result<Self, Diagnostic> {
        const PLACE: &str = "\"config\"";
        let found = config.to_string();
        let Some(mut config) = Object::of(config) else {
            return Err(refusal(PLACE, format!("the configuration is {found}")).valid("an object"));
        };
        let sizes = Self {
            input_size: config.size("input_size", PLACE)?,
            hidden_size: config.size("hidden_size", PLACE)?,
            num_layers: config.size("num_layers", PLACE)?,
        };
        match config.rest().next() {
            None => Ok(sizes),
            Some((key, value)) => {
                Err(refusal(PLACE, format!("{} is {value}, and cellc does not know what it means", quoted(&key)))
                    .valid("input_size, hidden_size and num_layers alone"))
            }
        }
    }

    /// The length of a row that layer `layer` reads.
    fn inputs(&self, layer: usize) -> usize {
        if layer == 0 { self.input_size } else { self.hidden_size }
    }

    /// How many weights there have to be: of each layer rows of `[4H, in + H]`, biases, h and c at first; then the head and its bias.
    fn weights(&self) -> u64 {
        let [inputs, hidden, layers] = [self.input_size, self.hidden_size, self.num_layers].map(|size| size as u64);
        let layer = |inputs: u64| 4 * hidden * (inputs + hidden) + 4 * hidden + 2 * hidden;
        layer(inputs) + (layers - 1) * layer(hidden) + hidden + 1
    }

    fn stack(&self, values: &[f32], name: Spanned<String>) -> Result<Stack, Diagnostics> {
        let hidden = self.hidden_size;
        let needed = self.weights();
        if values.len() as u64 != needed {
            let [inputs, units] = [(self.input_size, "input"), (hidden, "unit")].map(|(n, what)| counted(n, what));
            let layers = counted(self.num_layers, "layer");
            let found = format!("{} for {layers} of {units} and {inputs}", counted(values.len(), "weight"));
            return Err(refusal("\"weights\"", found).valid(format!("{needed} weights")).into());
        }
        let mut rest = values;
        let mut next = |count: usize| {
            let (taken, after) = rest.split_at(count);
            rest = after;
            taken
        };
        let mut stack = Stack::new(DECLARED_BY, name.clone(), Spanned::unplaced(self.input_size), None, None);
        for layer in 0..self.num_layers {
            let inputs = self.inputs(layer);
            // a row of the matrix multiplies x, and then h
            let matrix = next(4 * hidden * (inputs + hidden));
            let columns = |from: usize, to: usize| -> Vec<f32> {
                matrix.chunks(inputs + hidden).flat_map(|row| &row[from..to]).copied().collect()
            };
            let named = |name: &str, shape: &[usize], values: &[f32]| Named {
                name: name.to_owned(),
                tensor: tensor(shape, values),
                flat: false,
            };
            let rows = 4 * hidden;
            let set = WeightSet {
                w: named("W", &[rows, inputs], &columns(0, inputs)),
                r: named("R", &[rows, hidden], &columns(inputs, inputs + hidden)),
                // PyTorch has two, of which this is the sum
                biases: vec![named("B", &[rows], next(rows)), named("zero", &[rows], &vec![0.0; rows])],
                peepholes: None,
            };
            let initial = [next(hidden), next(hidden)].map(|state| tensor(&[hidden], state)).into();
            let declared = Declared::new(
                Family::Lstm,
                DECLARED_BY,
                name.clone(),
                Spanned::unplaced(hidden),
                Spanned::unplaced(inputs),
            );
            stack.add_recurrent(declared, Framework::PyTorch, set, initial)?;
        }
        let weight = tensor(&[1, hidden], next(hidden));
        stack.push_dense(DenseLayer { weight, bias: Some(tensor(&[1], next(1))), activation: None });
        Ok(stack)
    }
}

fn tensor(shape: &[usize], values: &[f32]) -> Tensor {
    Tensor::from_f32(shape.to_vec(), values).expect("as many values as the shape has")
}
