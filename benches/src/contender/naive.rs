//! A cell as one writes it down first: loops over gates, units and inputs, the standard library's
//! exp and tanh.

use std::hint::black_box;
use std::time::Duration;

use cellc::Activation;
use cellc::internals::model::{CellKind, ResetGate};
use cellc::internals::timing::turns::timed;

use super::Contender;
use crate::workload::{Cell, CellWeights, Variant, Workload};

pub(super) struct Naive {
    cell: Cell,
    weights: CellWeights,
    inputs: Vec<f32>,
    /// Elements of x in a call.
    input_len: usize,
    /// Calls since the state was zero.
    calls: usize,
    /// Of every row.
    h: Vec<f32>,
    c: Vec<f32>,
    new: Vec<f32>,
    /// r.h
    reset: Vec<f32>,
    out: Vec<f32>,
}

impl Naive {
    /// Of a workload that is that cell.
    pub(super) fn new(workload: &Workload, cell: &Cell) -> Self {
        let Cell { hidden_size, batch, .. } = *cell;
        let [h, c] = [(); 2].map(|()| vec![0.0; batch * hidden_size]);
        let [new, reset] = [(); 2].map(|()| vec![0.0; hidden_size]);
        let inputs = workload.inputs(Variant::Itself);
        let out = vec![0.0; workload.output_len(Variant::Itself)];
        Self {
            cell: *cell,
            weights: cell.weights(Variant::Itself),
            inputs,
            input_len: workload.input_len(Variant::Itself),
            calls: 0,
            h,
            c,
            new,
            reset,
            out,
        }
    }

    fn advance(&mut self) {
        let Cell { input_size, hidden_size, batch, steps, .. } = self.cell;
        let first = self.calls % (self.inputs.len() / self.input_len) * self.input_len;
        for row in 0..batch {
            for step in 0..steps {
                let place = row * steps + step;
                let x = first + place * input_size;
                self.step(x, row * hidden_size);
                let h = &self.h[row * hidden_size..][..hidden_size];
                match &self.weights.head {
                    Some((matrix, bias)) => self.out[place] = dot(matrix, 0, h) + bias,
                    None => self.out[place * hidden_size..][..hidden_size].copy_from_slice(h),
                }
            }
        }
        self.calls += 1;
    }

    /// A step of the row whose x and whose state start there.
    #[expect(clippy::needless_range_loop, reason = "as one writes it down first")]
    fn step(&mut self, x: usize, state: usize) {
        let Cell { kind, input_size, hidden_size, activations, .. } = self.cell;
        let CellWeights { w, r, b, .. } = &self.weights;
        let (x, h) = (black_box(&self.inputs[x..][..input_size]), &self.h[state..][..hidden_size]);
        // the element of W x and of R v for unit j of a gate
        let wx = |gate: usize, j: usize| dot(w, gate * hidden_size + j, x);
        let rv = |gate: usize, j: usize, v: &[f32]| dot(r, gate * hidden_size + j, v);
        let b = |part: usize, j: usize| b[part * hidden_size + j];
        let f = activations[0];
        let gate =
            |f: Activation, g: usize, j: usize| activate(f, wx(g, j) + rv(g, j, h) + b(g, j));
        match kind {
            CellKind::Rnn => {
                for j in 0..hidden_size {
                    self.new[j] = gate(f, 0, j);
                }
            }
            CellKind::Gru(ResetGate::AfterMatMul) => {
                for j in 0..hidden_size {
                    let (z, r) = (gate(f, 0, j), gate(f, 1, j));
                    let n =
                        activate(activations[1], wx(2, j) + b(2, j) + r * (rv(2, j, h) + b(3, j)));
                    self.new[j] = (1.0 - z) * n + z * h[j];
                }
            }
            CellKind::Gru(ResetGate::BeforeMatMul) => {
                for j in 0..hidden_size {
                    self.reset[j] = gate(f, 1, j) * h[j];
                }
                for j in 0..hidden_size {
                    let z = gate(f, 0, j);
                    let n = activate(activations[1], wx(2, j) + rv(2, j, &self.reset) + b(2, j));
                    self.new[j] = (1.0 - z) * n + z * h[j];
                }
            }
            CellKind::Lstm => {
                let c = &mut self.c[state..][..hidden_size];
                for j in 0..hidden_size {
                    c[j] = gate(f, 0, j) * c[j] + gate(f, 1, j) * gate(activations[1], 2, j);
                    self.new[j] = gate(f, 3, j) * activate(activations[2], c[j]);
                }
            }
            CellKind::Augru(_) => unreachable!("no workload is one"),
        }
        self.h[state..][..hidden_size].copy_from_slice(&self.new);
    }
}

/// A row of a matrix times a vector.
fn dot(matrix: &[f32], row: usize, v: &[f32]) -> f32 {
    let mut sum = 0.0;
    for k in 0..v.len() {
        sum += matrix[row * v.len() + k] * v[k];
    }
    sum
}

fn activate(activation: Activation, v: f32) -> f32 {
    match activation {
        Activation::Relu => v.max(0.0),
        Activation::Sigmoid => 1.0 / (1.0 + (-v).exp()),
        Activation::Tanh => v.tanh(),
        other => unreachable!("no workload has {}", other.name()),
    }
}

impl Contender for Naive {
    fn name(&self) -> &str {
        "naive Rust"
    }

    fn reset(&mut self) -> Result<(), String> {
        self.h.fill(0.0);
        self.c.fill(0.0);
        self.calls = 0;
        Ok(())
    }

    fn call(&mut self) -> Result<Vec<f32>, String> {
        self.advance();
        Ok(self.out.clone())
    }

    fn run(&mut self, calls: usize) -> Result<Duration, String> {
        Ok(timed(|| {
            for _ in 0..calls {
                self.advance();
            }
            black_box(&mut self.out);
        }))
    }
}
