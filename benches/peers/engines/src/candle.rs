//! candle's layers, which are those of PyTorch: a GRU that resets after the product, and an LSTM.

use candle_core::{DType, Device, Tensor};
use candle_nn::rnn::{GRU, GRUConfig, GRUState, LSTM, LSTMConfig, LSTMState, RNN};
use candle_nn::{Linear, Module, VarBuilder};
use std::collections::HashMap;

use crate::{Engine, Result, Spec, Weights};

struct Candle<L: RNN> {
    layer: L,
    head: Option<Linear>,
    h: fn(&L::State) -> &Tensor,
    x_shape: Vec<usize>,
    batch: usize,
    state: L::State,
    output: Tensor,
}

pub(crate) fn engine(spec: &Spec) -> Result<Box<dyn Engine>> {
    let (i, h) = (spec.inputs, spec.units);
    match spec.word("cell")? {
        "gru_after" => {
            let weights = spec.weights(3, 4)?;
            // the reset gate first; the biases of W, then those of R, of which OpenVINO has the sum
            // but for the candidate
            let order = [1, 0, 2];
            let b = |parts: [Option<usize>; 3]| {
                parts.map(|part| part.map_or(vec![0.0; h], |p| weights.b[p * h..][..h].to_vec())).concat()
            };
            let biases = [b([Some(1), Some(0), Some(2)]), b([None, None, Some(3)])];
            let layer = GRU::new(i, h, GRUConfig::default(), tensors(spec, &weights, &order, biases)?)?;
            candle(spec, layer, &weights, GRUState::h)
        }
        "lstm" => {
            let weights = spec.weights(4, 4)?;
            // i before f
            let order = [1, 0, 2, 3];
            let b = order.iter().flat_map(|gate| &weights.b[gate * h..][..h]).copied().collect();
            let layer =
                LSTM::new(i, h, LSTMConfig::default(), tensors(spec, &weights, &order, [b, vec![0.0; 4 * h]])?)?;
            candle(spec, layer, &weights, LSTMState::h)
        }
        "gru_before" => Err("it has no GRU that resets before the product".into()),
        cell => Err(format!("it has no {}", cell.to_uppercase()).into()),
    }
}

/// The weights by PyTorch's names, the gates in that order.
fn tensors(
    spec: &Spec,
    weights: &Weights,
    order: &[usize],
    [b_ih, b_hh]: [Vec<f32>; 2],
) -> Result<VarBuilder<'static>> {
    let (h, rows) = (spec.units, order.len() * spec.units);
    let ordered = |all: &[f32], len: usize| -> Vec<f32> {
        order.iter().flat_map(|gate| &all[gate * h * len..][..h * len]).copied().collect()
    };
    let cpu = &Device::Cpu;
    let all = HashMap::from([
        ("weight_ih_l0".to_owned(), Tensor::from_vec(ordered(&weights.w, spec.inputs), (rows, spec.inputs), cpu)?),
        ("weight_hh_l0".to_owned(), Tensor::from_vec(ordered(&weights.r, h), (rows, h), cpu)?),
        ("bias_ih_l0".to_owned(), Tensor::from_vec(b_ih, rows, cpu)?),
        ("bias_hh_l0".to_owned(), Tensor::from_vec(b_hh, rows, cpu)?),
    ]);
    Ok(VarBuilder::from_tensors(all, DType::F32, cpu))
}

fn candle<L: RNN + 'static>(
    spec: &Spec,
    layer: L,
    weights: &Weights,
    h: fn(&L::State) -> &Tensor,
) -> Result<Box<dyn Engine>> {
    let head = match weights.head.split_last() {
        Some((&bias, matrix)) => {
            let matrix = Tensor::from_slice(matrix, (1, spec.units), &Device::Cpu)?;
            Some(Linear::new(matrix, Some(Tensor::new(&[bias], &Device::Cpu)?)))
        }
        None => None,
    };
    let x_shape =
        if spec.steps > 1 { vec![spec.batch, spec.steps, spec.inputs] } else { vec![spec.batch, spec.inputs] };
    let state = layer.zero_state(spec.batch)?;
    let output = h(&state).clone();
    Ok(Box::new(Candle { layer, head, h, x_shape, batch: spec.batch, state, output }))
}

impl<L: RNN> Engine for Candle<L> {
    fn reset(&mut self) -> Result<()> {
        self.state = self.layer.zero_state(self.batch)?;
        Ok(())
    }

    fn call(&mut self, x: &[f32]) -> Result<()> {
        let x = Tensor::from_slice(x, &self.x_shape[..], &Device::Cpu)?;
        self.output = if self.x_shape.len() == 3 {
            let mut states = self.layer.seq_init(&x, &self.state)?;
            let hs: Vec<&Tensor> = states.iter().map(self.h).collect();
            let all = Tensor::stack(&hs, 1)?;
            self.state = states.pop().ok_or("a sequence has steps")?;
            all
        } else {
            self.state = self.layer.step(&x, &self.state)?;
            (self.h)(&self.state).clone()
        };
        if let Some(head) = &self.head {
            self.output = head.forward(&self.output)?;
        }
        Ok(())
    }

    fn output(&self) -> Result<Vec<f32>> {
        Ok(self.output.flatten_all()?.to_vec1()?)
    }
}
