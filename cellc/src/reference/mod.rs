//! Definitions of all operations in float64, written for readers: the reference for generated code.
//!
//! `evaluate` iterates over operations and time steps; this module defines the arithmetic.

mod memory;

use std::cell::RefCell;

use crate::core::{CoreCell, CoreModel, PointwiseFunction, TopK, Variable};
use crate::encoding::{self, Stored, WeightFormat, quantise};
pub use crate::evaluate::Outcome;
use crate::evaluate::{CellWeights, Column, Domain, MatrixRow, State, StepInputs, evaluate};
use crate::math::exact;
use crate::model::{CellKind, Coupled, ResetGate};
use crate::numerics::{Precisions, Vector};
pub(crate) use memory::QuantisationCache;

/// One step for all parameters and variables of the model in C order. Whole numbers, such as
/// sequence lengths, are floats.
///
/// Constants are rounded to f32, as in kernels. All computations are float64.
///
/// # Panics
/// If the number of parameters or variables, or the number of their elements, differs from the
/// model's.
pub fn reference(
    model: &CoreModel,
    parameters: &[Vec<f64>],
    variables: &[Vec<f64>],
) -> Outcome<f64> {
    reference_in(&Precisions::F32, model, parameters, variables)
}

/// One step with quantised matrix products: weights and vectors are quantised, and nothing else is
/// rounded.
///
/// # Panics
/// As [`reference`].
pub fn reference_in(
    precisions: &Precisions,
    model: &CoreModel,
    parameters: &[Vec<f64>],
    variables: &[Vec<f64>],
) -> Outcome<f64> {
    Float64 { precisions: precisions.clone(), memory: None }.outcome(model, parameters, variables)
}

/// The initial value of every variable.
pub fn initial_variables(model: &CoreModel) -> Vec<Vec<f64>> {
    let initial = |variable: &Variable| match variable.initial {
        None => vec![0.0; variable.shape.iter().product()],
        Some(constant) => {
            let tensor = &model.constants[constant];
            (0..tensor.len()).map(|i| f64::from(tensor.get_f32(i))).collect()
        }
    };
    model.variables.iter().map(initial).collect()
}

pub(crate) struct Float64<'a> {
    /// The precision of matrix products.
    pub(crate) precisions: Precisions,
    /// A cache for many steps of one model.
    pub(crate) memory: Option<&'a RefCell<QuantisationCache>>,
}

/// All operations in float64.
pub(crate) const FLOAT64: Float64<'static> = Float64 { precisions: Precisions::F32, memory: None };

impl Float64<'_> {
    /// One step, as [`reference`] computes it.
    pub(crate) fn outcome(
        &self,
        model: &CoreModel,
        parameters: &[Vec<f64>],
        variables: &[Vec<f64>],
    ) -> Outcome<f64> {
        evaluate(self, model, parameters, variables)
    }
}

impl Domain for Float64<'_> {
    type Value = f64;
    type Row<'r> = Encoded<'r>;

    fn input(&self, number: f64) -> f64 {
        number
    }

    fn constant(&self, number: f64) -> f64 {
        number
    }

    fn known(&self, value: &f64) -> Option<f64> {
        Some(*value)
    }

    fn step(
        &self,
        cell: &CoreCell,
        weights: &CellWeights<'_>,
        step: StepInputs<'_, f64>,
    ) -> State<f64> {
        let gates = Gates { arithmetic: self, cell, weights, x: step.x };
        let (h, c) = match cell.kind {
            CellKind::Rnn => (gates.rnn(step.h), Vec::new()),
            CellKind::Gru(reset) => (gates.gru(reset, step.h, None), Vec::new()),
            CellKind::Augru(reset) => (gates.gru(reset, step.h, step.a.copied()), Vec::new()),
            CellKind::Lstm => gates.lstm(step.h, step.c),
        };
        State { h, c }
    }

    fn rounded(&self, operation: usize, taps: usize, channel: &[f64]) -> Option<Vec<f64>> {
        let arithmetic = self.precisions.get(operation).arithmetic().of_windows();
        let range = arithmetic.largest(taps)?;
        if self.precisions.get(operation).own(Vector::X, taps).is_some() {
            return Some(channel.to_vec());
        }
        let Multiplied { numbers, scale } = Multiplied::rounded(range, channel);
        Some(numbers.into_iter().map(|number| number * scale).collect())
    }

    fn encoded<'r>(&self, row: MatrixRow<'r>) -> Encoded<'r> {
        let format = self.precisions.get(row.value).multiplied();
        let in_memory = self.memory.is_some() && row.key().is_some();
        Encoded { row, numbers: (!in_memory).then(|| Multiplied::row(format, row.weights())) }
    }

    fn row(&self, Encoded { row, numbers }: &Encoded<'_>, values: &[f64]) -> f64 {
        let precision = self.precisions.get(row.value);
        // multiples of a scale are not rounded again
        let is_exact = row.is_of_rounded() || precision.own_of_row(row.x_or_h()).is_some();
        let of_vector = if is_exact { encoding::Arithmetic::F32 } else { precision.arithmetic() };
        match (numbers, self.memory, row.key()) {
            (Some(numbers), ..) => numbers.dot(&Multiplied::vector(of_vector, values)),
            (None, Some(memory), Some(key)) => {
                memory.borrow_mut().row((precision.multiplied(), of_vector), key, *row, values)
            }
            (None, ..) => unreachable!("reference: a row is encoded, or in the memory"),
        }
    }

    fn dot(&self, terms: impl ExactSizeIterator<Item = (f64, f64)>) -> f64 {
        terms.map(|(a, b)| a * b).sum()
    }

    fn pointwise(&self, function: PointwiseFunction, operands: &[f64]) -> f64 {
        function.compute(operands, exact)
    }

    fn lookup(&self, (rows, at): Column<'_, f64>, number: &f64) -> f64 {
        at(row_index(*number, rows))
    }

    fn top_k(&self, top: &TopK, row: &[f64]) -> Vec<(f64, f64)> {
        order(top, row).into_iter().map(|at| (row[at], place_of(at, row[at]))).collect()
    }

    /// `y_i = e_i / sum e_k` with `e_k = exp(v_k - max v)`, or `(v_i - max v) - log sum e_k`.
    fn softmax(&self, values: &[f64], log: bool) -> Vec<f64> {
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = values.iter().map(|v| (v - most).exp()).sum();
        let element = |v: &f64| if log { (v - most) - sum.ln() } else { (v - most).exp() / sum };
        values.iter().map(element).collect()
    }
}

/// The index of a table row, for a table of `size` rows. Negative numbers count from the end; NaN
/// is 0.
pub(crate) fn row_index(number: f64, size: usize) -> usize {
    let number = if number < 0.0 { number + size as f64 } else { number };
    (number as usize).min(size - 1)
}

/// The places of a row's best elements, best first. NaNs come last.
pub(crate) fn order(top: &TopK, row: &[f64]) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..row.len()).collect();
    let rank = |at: usize| if top.largest { row[at] + 0.0 } else { -row[at] + 0.0 };
    indices.sort_by(|&a, &b| {
        let places = if top.last { b.cmp(&a) } else { a.cmp(&b) };
        row[a].is_nan().cmp(&row[b].is_nan()).then(rank(b).total_cmp(&rank(a))).then(places)
    });
    indices.truncate(top.count);
    indices
}

/// The reported place of a chosen element. 0 for a NaN.
pub(crate) fn place_of(at: usize, element: f64) -> f64 {
    if element.is_nan() { 0.0 } else { at as f64 }
}

/// A row of a matrix.
pub(crate) struct Encoded<'r> {
    row: MatrixRow<'r>,
    /// `None`: the cache holds the numbers.
    numbers: Option<Multiplied>,
}

/// The integers of a quantised row or vector, and the scale. Unquantised numbers have the scale 1.
struct Multiplied {
    numbers: Vec<f64>,
    scale: f64,
}

impl Multiplied {
    /// A row of a matrix, as stored in a format.
    fn row(format: WeightFormat, weights: impl Iterator<Item = f64>) -> Self {
        if format == WeightFormat::F32 {
            return Self { numbers: weights.collect(), scale: 1.0 };
        }
        let row: Vec<_> = weights.map(|w| w as f32).collect();
        let Stored { values, scale } = Stored::new(format, &row);
        Self {
            numbers: values.into_iter().map(f64::from).collect(),
            scale: f64::from(scale.unwrap_or(1.0)),
        }
    }

    /// A vector, as multiplied in an arithmetic.
    fn vector(arithmetic: encoding::Arithmetic, values: &[f64]) -> Self {
        let Some(range) = arithmetic.largest(values.len()) else {
            return Self { numbers: values.to_vec(), scale: 1.0 };
        };
        Self::rounded(range, values)
    }

    /// A vector rounded to integers up to `range` times one scale.
    fn rounded(range: u16, values: &[f64]) -> Self {
        let (whole, scale) = quantise(&values.iter().map(|v| *v as f32).collect::<Vec<_>>(), range);
        Self { numbers: whole.into_iter().map(f64::from).collect(), scale: f64::from(scale) }
    }

    /// The sum of the products of a row with a vector.
    fn dot(&self, vector: &Self) -> f64 {
        let sum: f64 = self.numbers.iter().zip(&vector.numbers).map(|(w, v)| w * v).sum();
        sum * self.scale * vector.scale
    }
}

/// One step of a cell for one row of a batch.
struct Gates<'a> {
    arithmetic: &'a Float64<'a>,
    cell: &'a CoreCell,
    weights: &'a CellWeights<'a>,
    x: &'a [f64],
}

impl Gates<'_> {
    /// `f(clip(W x + R h + B))`
    fn rnn(&self, h: &[f64]) -> Vec<f64> {
        self.units(|j| self.activate(0, self.sum(0, j, h)))
    }

    /// `z, r = f(clip(W x + R h + B))`, with attention `z <- (1 - a).z`, `h' = (1 - z).n + z.h`,
    /// and
    /// * reset gate before the matmul: `n = g(clip(Wh x + Rh (r.h) + Bh))`
    /// * reset gate after the matmul: `n = g(clip(Wh x + Wbh + r.(Rh h + Rbh)))`
    fn gru(&self, reset: ResetGate, h: &[f64], a: Option<f64>) -> Vec<f64> {
        let z = self.units(|j| self.activate(0, self.sum(0, j, h)));
        let r = self.units(|j| self.activate(0, self.sum(1, j, h)));
        let n = match reset {
            ResetGate::BeforeMatMul => {
                let reset_h = self.units(|j| r[j] * h[j]);
                self.units(|j| self.activate(1, self.sum(2, j, &reset_h)))
            }
            ResetGate::AfterMatMul => self.units(|j| {
                let (wb, rb) = (self.b(2, j), self.b(3, j));
                self.activate(1, self.wx(2, j) + wb + r[j] * (self.rv(2, j, h) + rb))
            }),
        };
        let z = self.units(|j| a.map_or(z[j], |a| (1.0 - a) * z[j]));
        self.units(|j| (1.0 - z[j]) * n[j] + z[j] * h[j])
    }

    /// `f, i, o = F(clip(W x + R h + B))`, `c~ = G(clip(..))`, `c' = f.c + i.c~`, `h' = o.H(c')`
    /// with the activations F, G and H, and
    /// * peepholes: `Pf.c`, `Pi.c` and `Po.c'` are part of the sums of f, i and o
    /// * coupled gates: `i = 1 - f`, or `f = 1 - i`
    fn lstm(&self, h: &[f64], c: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let [f, i, g, o] = [0, 1, 2, 3];
        let peephole =
            |gate: usize, j: usize, c: f64| self.weights.p(gate, j).map_or(0.0, |p| p * c);
        let gate_values = |gate: usize, part: usize| {
            self.units(|j| self.activate(0, self.sum(gate, j, h) + peephole(part, j, c[j])))
        };
        let complement = |gates: &[f64]| gates.iter().map(|gate| 1.0 - gate).collect::<Vec<f64>>();
        let (f, i) = match self.cell.coupled {
            None => (gate_values(f, 0), gate_values(i, 1)),
            Some(Coupled::Input) => {
                let f = gate_values(f, 0);
                let i = complement(&f);
                (f, i)
            }
            Some(Coupled::Forget) => {
                let i = gate_values(i, 1);
                (complement(&i), i)
            }
        };
        let g = self.units(|j| self.activate(1, self.sum(g, j, h)));
        let c = self.units(|j| f[j] * c[j] + i[j] * g[j]);
        let o = self.units(|j| self.activate(0, self.sum(o, j, h) + peephole(2, j, c[j])));
        let h = self.units(|j| o[j] * exact(self.cell.activations[2].into(), c[j]));
        (h, c)
    }

    /// The value of `element` for every unit.
    fn units(&self, element: impl Fn(usize) -> f64) -> Vec<f64> {
        (0..self.cell.hidden_size).map(element).collect()
    }

    /// The k-th activation of a sum, clipped first if the cell clips.
    fn activate(&self, k: usize, sum: f64) -> f64 {
        let sum = self.cell.clip.map_or(sum, |clip| sum.clamp(-f64::from(clip), f64::from(clip)));
        exact(self.cell.activations[k].into(), sum)
    }

    /// `W x + R v + B`, unit j of a gate.
    fn sum(&self, gate: usize, j: usize, v: &[f64]) -> f64 {
        self.wx(gate, j) + self.rv(gate, j, v) + self.b(gate, j)
    }

    fn b(&self, part: usize, j: usize) -> f64 {
        self.weights.b(part, j).sum()
    }

    fn wx(&self, gate: usize, j: usize) -> f64 {
        self.arithmetic.row(&self.arithmetic.encoded(self.weights.w(gate, j)), self.x)
    }

    fn rv(&self, gate: usize, j: usize, v: &[f64]) -> f64 {
        self.arithmetic.row(&self.arithmetic.encoded(self.weights.r(gate, j)), v)
    }
}

#[cfg(test)]
mod tests;
