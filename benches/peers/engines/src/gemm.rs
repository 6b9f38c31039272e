//! The products of the gemm crate, and around them what anyone would write: the x part of all steps
//! in one product, then the recurrent part step by step, the activations of the standard library.

use gemm::Parallelism;

use crate::{Engine, Result, Spec, Weights};

#[derive(Clone, Copy, PartialEq)]
enum Cell {
    Rnn,
    GruAfter,
    GruBefore,
    Lstm,
}

struct Gemm {
    cell: Cell,
    relu: bool,
    gates: usize,
    inputs: usize,
    units: usize,
    batch: usize,
    steps: usize,
    weights: Weights,
    /// `[N, H]`, as c.
    h: Vec<f32>,
    c: Vec<f32>,
    /// `[N, T, G*H]`.
    x_part: Vec<f32>,
    /// `[N, G*H]`.
    h_part: Vec<f32>,
    /// `[N, H]`: h after the reset gate.
    kept: Vec<f32>,
    output: Vec<f32>,
}

pub(crate) fn engine(spec: &Spec) -> Result<Box<dyn Engine>> {
    let (cell, gates, bias_parts) = match spec.word("cell")? {
        "rnn" => (Cell::Rnn, 1, 1),
        "gru_after" => (Cell::GruAfter, 3, 4),
        "gru_before" => (Cell::GruBefore, 3, 3),
        "lstm" => (Cell::Lstm, 4, 4),
        other => return Err(format!("it is called for cells, not for a {other}").into()),
    };
    let &Spec { inputs, units, batch, steps, .. } = spec;
    let state = vec![0.0; batch * units];
    Ok(Box::new(Gemm {
        cell,
        relu: spec.word("activations")?.contains("relu"),
        gates,
        inputs,
        units,
        batch,
        steps,
        weights: spec.weights(gates, bias_parts)?,
        x_part: vec![0.0; batch * steps * gates * units],
        h_part: vec![0.0; batch * gates * units],
        kept: state.clone(),
        c: state.clone(),
        h: state,
        output: Vec::new(),
    }))
}

/// Rows of `into` plus rows of x times the transposed matrix `[rows, k]`; a row of `into` is that
/// many elements after the one before.
fn add_product(into: &mut [f32], stride: usize, x: &[f32], matrix: &[f32], k: usize) {
    let (n, rows) = (x.len() / k, matrix.len() / k);
    assert!((n - 1) * stride + rows <= into.len());
    let [stride, k_stride] = [stride, k].map(|len| len as isize);
    // SAFETY: `into` holds n rows of `rows` elements at that stride, x n rows of k, the matrix
    // `rows` of k
    unsafe {
        gemm::gemm(
            n,
            rows,
            k,
            into.as_mut_ptr(),
            1,
            stride,
            true,
            x.as_ptr(),
            1,
            k_stride,
            matrix.as_ptr(),
            k_stride,
            1,
            1.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

impl Gemm {
    fn step(&mut self, t: usize) {
        let &mut Self { cell, gates, units: h, batch, steps, relu, .. } = self;
        let rows = gates * h;
        let candidate = |v: f32| if relu { v.max(0.0) } else { v.tanh() };
        self.h_part.fill(0.0);
        if cell == Cell::GruAfter {
            for row in self.h_part.chunks_exact_mut(rows) {
                row[2 * h..].copy_from_slice(&self.weights.b[3 * h..]);
            }
        }
        let first = if cell == Cell::GruBefore { 2 * h } else { rows };
        add_product(&mut self.h_part, rows, &self.h, &self.weights.r[..first * h], h);
        let x_rows = self.x_part.chunks_exact(rows).skip(t).step_by(steps);
        if cell == Cell::GruBefore {
            for (n, x) in x_rows.clone().enumerate() {
                let (kept, state) = (&mut self.kept[n * h..][..h], &self.h[n * h..][..h]);
                let r = x[h..2 * h].iter().zip(&self.h_part[n * rows + h..][..h]);
                for ((kept, state), (x, r)) in kept.iter_mut().zip(state).zip(r) {
                    *kept = state * sigmoid(x + r);
                }
            }
            add_product(&mut self.h_part[2 * h..], rows, &self.kept, &self.weights.r[2 * h * h..], h);
        }
        for (n, x) in x_rows.enumerate() {
            let part = &self.h_part[n * rows..][..rows];
            let state = &mut self.h[n * h..][..h];
            let memory = &mut self.c[n * h..][..h];
            for j in 0..h {
                let sum = |gate: usize| x[gate * h + j] + part[gate * h + j];
                state[j] = match cell {
                    Cell::Rnn => candidate(sum(0)),
                    Cell::Lstm => {
                        memory[j] = sigmoid(sum(0)) * memory[j] + sigmoid(sum(1)) * sum(2).tanh();
                        sigmoid(sum(3)) * memory[j].tanh()
                    }
                    Cell::GruBefore | Cell::GruAfter => {
                        let z = sigmoid(sum(0));
                        let g = match cell {
                            Cell::GruAfter => candidate(x[2 * h + j] + sigmoid(sum(1)) * part[2 * h + j]),
                            _ => candidate(sum(2)),
                        };
                        z * state[j] + (1.0 - z) * g
                    }
                };
            }
        }
        debug_assert_eq!(self.h.len(), batch * h);
    }
}

impl Engine for Gemm {
    fn reset(&mut self) -> Result<()> {
        self.h.fill(0.0);
        self.c.fill(0.0);
        Ok(())
    }

    fn call(&mut self, x: &[f32]) -> Result<()> {
        let rows = self.gates * self.units;
        for row in self.x_part.chunks_exact_mut(rows) {
            row.copy_from_slice(&self.weights.b[..rows]);
        }
        add_product(&mut self.x_part, rows, x, &self.weights.w, self.inputs);
        self.output.clear();
        for t in 0..self.steps {
            self.step(t);
            if self.steps > 1 {
                self.output.extend_from_slice(&self.h);
            }
        }
        if let Some((bias, matrix)) = self.weights.head.split_last() {
            self.output.push(bias + matrix.iter().zip(&self.h).map(|(a, b)| a * b).sum::<f32>());
        }
        Ok(())
    }

    fn output(&self) -> Result<Vec<f32>> {
        Ok(if self.output.is_empty() { self.h.clone() } else { self.output.clone() })
    }
}
