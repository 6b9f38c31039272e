//! candle's GRU and LSTM, which are PyTorch's.

use std::collections::HashMap;
use std::error::Error;

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::rnn::{GRU, GRUConfig, GRUState, LSTM, LSTMConfig, LSTMState, RNN};
use candle_nn::{Linear, Module, VarBuilder};

use crate::{Peer, Spec};

enum Cell {
    Gru(GRU, GRUState),
    Lstm(LSTM, LSTMState),
}

pub(crate) struct Candle {
    cell: Cell,
    head: Option<Linear>,
    batch: usize,
    steps: usize,
    inputs: usize,
    outputs: Vec<Tensor>,
}

impl Candle {
    pub(crate) fn new(spec: &Spec) -> std::result::Result<Self, Box<dyn Error>> {
        let [inputs, units, batch, steps] = ["inputs", "units", "batch", "steps"].map(|key| spec.number(key));
        // PyTorch's order of gates in OpenVINO's
        let order: &[usize] = match spec.word("cell") {
            "gru_after" => &[1, 0, 2],
            "lstm" => &[1, 0, 2, 3],
            other => return Err(format!("candle has no {other}").into()),
        };
        let gates = order.len();
        let all = spec.floats("weights")?;
        let (w, rest) = all.split_at(gates * units * inputs);
        let (r, rest) = rest.split_at(gates * units * units);
        let gru = gates == 3;
        let (b, head) = rest.split_at(if gru { 4 * units } else { gates * units });
        let ordered = |rows: &[f32], len: usize| -> Vec<f32> {
            order.iter().flat_map(|gate| rows[gate * units * len..][..units * len].to_vec()).collect()
        };
        let mut other_bias = vec![0.0; gates * units];
        if gru {
            other_bias[2 * units..].copy_from_slice(&b[3 * units..]);
        }
        let cpu = Device::Cpu;
        let rows = gates * units;
        let tensors = HashMap::from([
            ("weight_ih_l0".to_owned(), Tensor::from_vec(ordered(w, inputs), (rows, inputs), &cpu)?),
            ("weight_hh_l0".to_owned(), Tensor::from_vec(ordered(r, units), (rows, units), &cpu)?),
            ("bias_ih_l0".to_owned(), Tensor::from_vec(ordered(b, 1), rows, &cpu)?),
            ("bias_hh_l0".to_owned(), Tensor::from_vec(other_bias, rows, &cpu)?),
        ]);
        let weights = VarBuilder::from_tensors(tensors, DType::F32, &cpu);
        let cell = if gru {
            let gru = GRU::new(inputs, units, GRUConfig::default(), weights)?;
            let zero = gru.zero_state(batch)?;
            Cell::Gru(gru, zero)
        } else {
            let lstm = LSTM::new(inputs, units, LSTMConfig::default(), weights)?;
            let zero = lstm.zero_state(batch)?;
            Cell::Lstm(lstm, zero)
        };
        let head = match head {
            [] => None,
            [matrix @ .., bias] => {
                let matrix = Tensor::from_slice(matrix, (1, units), &cpu)?;
                Some(Linear::new(matrix, Some(Tensor::from_slice(&[*bias], 1, &cpu)?)))
            }
        };
        Ok(Self { cell, head, batch, steps, inputs, outputs: Vec::new() })
    }

    fn step(&mut self, x: &Tensor) -> Result<Tensor> {
        let h = match &mut self.cell {
            Cell::Gru(gru, state) => {
                *state = gru.step(x, state)?;
                state.h().clone()
            }
            Cell::Lstm(lstm, state) => {
                *state = lstm.step(x, state)?;
                state.h().clone()
            }
        };
        self.head.as_ref().map_or(Ok(h.clone()), |head| head.forward(&h))
    }
}

impl Peer for Candle {
    fn reset(&mut self) -> std::result::Result<(), Box<dyn Error>> {
        match &mut self.cell {
            Cell::Gru(gru, state) => *state = gru.zero_state(self.batch)?,
            Cell::Lstm(lstm, state) => *state = lstm.zero_state(self.batch)?,
        }
        Ok(())
    }

    fn call(&mut self, x: &[f32]) -> std::result::Result<(), Box<dyn Error>> {
        self.outputs.clear();
        // rows of a batch, or steps of one row: the bench has no batch of sequences
        for x in x.chunks_exact(x.len() / self.steps) {
            let x = Tensor::from_slice(x, (self.batch, self.inputs), &Device::Cpu)?;
            let output = self.step(&x)?;
            self.outputs.push(output);
        }
        Ok(())
    }

    fn output(&self) -> std::result::Result<Vec<f32>, Box<dyn Error>> {
        let mut all = Vec::new();
        for output in &self.outputs {
            all.extend(output.flatten_all()?.to_vec1::<f32>()?);
        }
        Ok(all)
    }
}
