//! NAM's LSTM.

use super::super::json::{Json, Object};
use super::super::refusal;
use crate::diagnostic::{Diagnostic, Diagnostics, quoted};
use crate::front::keys::Spanned;
use crate::front::layer::Declared;
use crate::front::layout::{Framework, NamedTensor, WeightSet};
use crate::front::stack::Stack;
use crate::front::weights::DenseLayer;
use crate::model::{Family, Tensor, counted};

/// Name of the layers in messages.
const DECLARED_BY: &str = "NAM's LSTM";

/// The sizes of an LSTM.
pub(super) struct LstmSizes {
    input_size: usize,
    hidden_size: usize,
    num_layers: usize,
}

impl LstmSizes {
    /// Reads the configuration of an LSTM.
    pub(super) fn parse(config: Json) -> Result<Self, Diagnostic> {
        const PLACE: &str = "\"config\"";
        let found = config.to_string();
        let Some(mut config) = Object::from_json(config) else {
            return Err(refusal(PLACE, format!("the configuration is {found}")).valid("an object"));
        };
        let sizes = Self {
            input_size: config.size("input_size", PLACE)?,
            hidden_size: config.size("hidden_size", PLACE)?,
            num_layers: config.size("num_layers", PLACE)?,
        };
        for key in ["in_channels", "out_channels"].into_iter().filter(|_| sizes.input_size == 1) {
            if config.has(key) && config.size(key, PLACE)? != 1 {
                let found = format!("{} other than 1", quoted(key));
                return Err(refusal(PLACE, found).valid("1"));
            }
        }
        match config.rest().next() {
            None => Ok(sizes),
            Some((key, value)) => Err(refusal(
                PLACE,
                format!("{} is {value}, and cellc does not know what it means", quoted(&key)),
            )
            .valid("input_size, hidden_size and num_layers alone")),
        }
    }

    /// Input size of a layer.
    fn input_size_of(&self, layer: usize) -> usize {
        if layer == 0 { self.input_size } else { self.hidden_size }
    }

    /// Number of weights in a file. Each layer has a matrix `[4H, in + H]`, biases, and initial h
    /// and c. The head and its bias follow.
    fn weight_count(&self) -> u64 {
        let [inputs, hidden, layers] =
            [self.input_size, self.hidden_size, self.num_layers].map(|size| size as u64);
        let layer = |inputs: u64| 4 * hidden * (inputs + hidden) + 4 * hidden + 2 * hidden;
        layer(inputs) + (layers - 1) * layer(hidden) + hidden + 1
    }

    /// The layers with the weights `values`, in the order of the file.
    pub(super) fn stack(
        &self,
        values: &[f32],
        name: Spanned<String>,
    ) -> Result<Stack, Diagnostics> {
        let hidden = self.hidden_size;
        let needed = self.weight_count();
        if values.len() as u64 != needed {
            let [inputs, units] =
                [(self.input_size, "input"), (hidden, "unit")].map(|(n, what)| counted(n, what));
            let layers = counted(self.num_layers, "layer");
            let found =
                format!("{} for {layers} of {units} and {inputs}", counted(values.len(), "weight"));
            return Err(refusal("\"weights\"", found).valid(format!("{needed} weights")).into());
        }
        let mut rest = values;
        let mut next = |count: usize| {
            let (taken, after) = rest.split_at(count);
            rest = after;
            taken
        };
        let mut stack =
            Stack::new(DECLARED_BY, name.clone(), Spanned::unplaced(self.input_size), None, None);
        for layer in 0..self.num_layers {
            let inputs = self.input_size_of(layer);
            // a row of the matrix multiplies x, then h
            let matrix = next(4 * hidden * (inputs + hidden));
            let columns = |from: usize, to: usize| -> Vec<f32> {
                matrix.chunks(inputs + hidden).flat_map(|row| &row[from..to]).copied().collect()
            };
            let named = |name: &str, shape: &[usize], values: &[f32]| NamedTensor {
                name: name.to_owned(),
                tensor: tensor(shape, values),
                flat: false,
            };
            let rows = 4 * hidden;
            let set = WeightSet {
                w: named("W", &[rows, inputs], &columns(0, inputs)),
                r: named("R", &[rows, hidden], &columns(inputs, inputs + hidden)),
                // the file has the sum of PyTorch's two biases
                biases: vec![
                    named("B", &[rows], next(rows)),
                    named("zero", &[rows], &vec![0.0; rows]),
                ],
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
        stack.push_dense(DenseLayer {
            weight,
            bias: Some(tensor(&[1], next(1))),
            activation: None,
        });
        Ok(stack)
    }
}

fn tensor(shape: &[usize], values: &[f32]) -> Tensor {
    Tensor::from_f32(shape.to_vec(), values).expect("as many values as the shape has")
}
