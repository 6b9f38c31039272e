//! A cell as one writes it down first: loops over gates, units and inputs, the standard library's exp and tanh.

use std::hint::black_box;

use cellc::Activation;
use cellc::model::{CellKind, ResetGate};

use super::Contender;
use crate::workload::Workload;

pub(super) struct Naive {
    workload: Workload,
    w: Vec<f32>,
    r: Vec<f32>,
    b: Vec<f32>,
    h: Vec<f32>,
    new: Vec<f32>,
    /// r.h
    reset: Vec<f32>,
}

impl Naive {
    pub(super) fn new(workload: &Workload) -> Self {
        let [w, r, b] = workload.weights();
        let [h, new, reset] = [(); 3].map(|()| vec![0.0; workload.hidden_size]);
        Self { workload: *workload, w, r, b, h, new, reset }
    }

    #[expect(clippy::needless_range_loop, reason = "as one writes it down first")]
    fn advance(&mut self, x: &[f32]) {
        let Workload { kind, hidden_size, activations, .. } = self.workload;
        // the element of W x and of R v for unit j of a gate
        let wx = |gate: usize, j: usize| dot(&self.w, gate * hidden_size + j, x);
        let rv = |gate: usize, j: usize, v: &[f32]| dot(&self.r, gate * hidden_size + j, v);
        let b = |part: usize, j: usize| self.b[part * hidden_size + j];
        let (f, h) = (activations[0], &self.h);
        let gate = |g: usize, j: usize| activate(f, wx(g, j) + rv(g, j, h) + b(g, j));
        match kind {
            CellKind::Rnn => {
                for j in 0..hidden_size {
                    self.new[j] = gate(0, j);
                }
            }
            CellKind::Gru(ResetGate::AfterMatMul) => {
                for j in 0..hidden_size {
                    let (z, r) = (gate(0, j), gate(1, j));
                    let n = activate(activations[1], wx(2, j) + b(2, j) + r * (rv(2, j, h) + b(3, j)));
                    self.new[j] = (1.0 - z) * n + z * h[j];
                }
            }
            CellKind::Gru(ResetGate::BeforeMatMul) => {
                for j in 0..hidden_size {
                    self.reset[j] = gate(1, j) * h[j];
                }
                for j in 0..hidden_size {
                    let z = gate(0, j);
                    let n = activate(activations[1], wx(2, j) + rv(2, j, &self.reset) + b(2, j));
                    self.new[j] = (1.0 - z) * n + z * h[j];
                }
            }
            CellKind::Augru(_) | CellKind::Lstm => unreachable!("no workload is a {}", kind.op_name()),
        }
        std::mem::swap(&mut self.h, &mut self.new);
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

    fn isa(&self) -> Option<&str> {
        None
    }

    fn reset(&mut self) {
        self.h.fill(0.0);
    }

    fn step(&mut self, x: &[f32], out: &mut [f32]) {
        self.advance(x);
        out.copy_from_slice(&self.h);
    }

    fn run(&mut self, inputs: &[f32], steps: usize) {
        for x in inputs.chunks_exact(self.workload.input_size).cycle().take(steps) {
            self.advance(black_box(x));
        }
        black_box(&mut self.h);
    }
}
