//! Worst-case rounding analysis of one step of generated code.
//!
//! With `u = 2^-24` every f32 addition, multiplication, division and fused multiply-add returns the
//! exact result times `1 + d`, `|d| <= u`, plus at most `2^-150` on underflow (Higham, Accuracy and
//! Stability of Numerical Algorithms, chapters 2 and 3). The analysis carries a [`Value`] for every
//! value of the computation: a range of the exact and the computed value, and a bound of their
//! difference.
//!
//! * A pre-activation sum is `(sum of W x + sum of R h) + b`. Both sums add their terms in order,
//!   in one or several chains. Term k of K goes through at most K - k roundings in its chain,
//!   `JOINS` more in the additions of chains, sums and bias, and one more if multiply-add is split.
//!   After n roundings the error of a term is at most `((1+u)^n - 1)` times the term's magnitude.
//!   Other matrix products are bounded alike.
//! * Clipping adds no error. An activation multiplies the error of its argument by its largest
//!   slope, and adds the height of its steps if the argument has an error, and
//!   `math::own_error`.
//! * A GRU ends with `z h + (1 - z) n`: three roundings, four if split. An LSTM ends with
//!   `c' = f c + i g` and `h' = o a(c')` with an activation `a`. A sigmoid near 1 is flat: its
//!   value and its error are not both at their maximum ([`Gate`]).
//! * Pointwise sums, differences, products and quotients round once. Maximum, minimum, comparisons
//!   and Select do not round. A quotient has no bound if the divisor may be 0.
//! * Softmax depends only on the differences `v_i - max v`. If the inputs change by `e`, the exact
//!   result changes by at most a factor `exp(e_i + max e)`. The arithmetic adds relative errors of
//!   the argument of exp, of exp, of the sum in any order, and of the quotient.
//!
//! The analysis runs through time and loops: ranges and errors after one iteration are the input of
//! the next. Over many iterations the bound grows up to the width of the range, or becomes
//! infinite.
//!
//! Weights are f32: the exact result, too, is computed from f64 weights rounded to f32. For
//! matrices in another format, kernels compute with `w~` (and round once more for the scale of the
//! row), so each sum gains an error of `|w - w~| |x|`. Products of integers also gain the error of
//! rounding x to integers. The inputs of a step count as exact: the bound does not cover several
//! calls.

mod at_point;
mod softmax;
mod stated;
#[cfg(test)]
mod tests;
mod value;

use crate::core::{
    CoreCell, CoreModel, CoreNode, CoreOp, Effort, Lengths, Parameter, PointwiseFunction, Source,
    TopK,
};
use crate::encoding::{LEAST_LARGEST, Stored, WeightFormat};
use crate::evaluate::{
    BatchRow, CellWeights, Column, Domain, MatrixRow, Outcome, State, StepInputs, evaluate,
};
use crate::math::{U, UNDERFLOW};
use crate::model::{CellKind, Coupled, MathFunction, ResetGate};
use crate::numerics::{Multiples, Precisions, Vector, flush_below};
use crate::request::{Accuracy, Numerics};
use at_point::AtOneInput;

pub(crate) use stated::rounded_up;
pub use stated::{Seen, Useless};
use value::{Gate, Value};

/// The most additions that join partial sums. In a cell: the addition of two chains, of the x terms
/// and the h terms, and of the bias. In a dense layer: the pairwise additions of eight chains.
const JOINS: usize = 3;

/// A factor on every error, for the f64 rounding errors of this analysis and of the reference.
const MARGIN: f64 = 1.0 + 1e-9;

/// The arithmetic of generated code, as far as it affects errors.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// True if multiply-add rounds once.
    pub fused: bool,
    /// The accuracy of activation functions.
    pub accuracy: Accuracy,
    /// Magnitude below which inputs, states and outputs are flushed to zero. `None`: denormals
    /// are kept.
    pub flush_below: Option<f32>,
    /// The precision of matrices.
    pub precisions: Precisions,
}

impl Profile {
    /// The profile of an instruction set with or without fused multiply-add.
    pub fn new(fused: bool, numerics: &Numerics, precisions: &Precisions) -> Self {
        let precisions = precisions.clone();
        let flush_below = flush_below(numerics);
        Self { fused, accuracy: numerics.accuracy, flush_below, precisions }
    }
}

/// Bounds of the error of generated code at one input, for every element of every result and of
/// every variable's next value. Infinite if there is no bound: an intermediate value may overflow,
/// a divisor may be 0, an argument may lie outside of the domain of a root or a logarithm, or the
/// length of a sequence is unknown.
///
/// `values` holds all elements of each parameter, including weights; `variables` holds all elements
/// of each variable.
///
/// # Panics
/// If the number of parameters, variables or elements differs from the model's.
pub fn bound(
    model: &CoreModel,
    profile: &Profile,
    values: &[Vec<f64>],
    variables: &[Vec<f64>],
) -> Outcome<f64> {
    let analysis = ErrorAnalysis { profile: profile.clone(), any_length: false };
    map(evaluate(&AtOneInput(analysis), model, values, variables), |v| error(&v.value))
}

/// Estimated time of [`over_range`], in multiply-adds. An element of an operation without
/// multiply-adds counts as `ELEMENT` multiply-adds, a converted integer as one, and a lookup as the
/// elements of the table.
pub fn work(model: &CoreModel) -> usize {
    const ELEMENT: usize = 256;
    fn work_of_nodes(model: &CoreModel, nodes: &[CoreNode]) -> usize {
        let node = |node: &CoreNode| {
            let work = node.op.facts().work;
            match (&node.op, work.element_operations(model)) {
                (CoreOp::Loop(body), _) => {
                    body.trips.saturating_mul(work_of_nodes(model, &body.body))
                }
                // over a range the index may select any row: the analysis reads the whole table
                (_, Some((_, Effort::Select(table)))) => model.len(table),
                (_, Some((count, Effort::Convert))) => count,
                (_, Some((count, _))) => count.saturating_mul(ELEMENT),
                (_, None) => work.multiply_adds(),
            }
        };
        nodes.iter().map(node).fold(0, usize::saturating_add)
    }
    work_of_nodes(model, &model.nodes)
}

/// A claim about an output for all inputs in a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// Bound of the difference between generated code and the exact result. Infinite: no bound.
    pub error: f64,
    /// Lower limit of exact and computed values.
    pub low: f64,
    /// Upper limit of exact and computed values.
    pub high: f64,
}

/// Claims about every result for all inputs in a range: `|v| <= h` for variables, states and the
/// initial h and c of cells, `|v| <= x` for all other parameters, and any sequence lengths. If
/// weights are parameters, errors and limits are infinite.
pub fn over_range(model: &CoreModel, profile: &Profile, x: f64, h: f64) -> Vec<Claim> {
    let nothing = Claim { error: f64::INFINITY, low: f64::NEG_INFINITY, high: f64::INFINITY };
    if model.parameters.iter().any(|p| p.weight) {
        return vec![nothing; model.results.len()];
    }
    let states = states(model);
    let fill = |shape: &[usize], most: f64| vec![most; shape.iter().product()];
    let parameter =
        |(i, p): (usize, &Parameter)| fill(&p.shape, if states.contains(&i) { h } else { x });
    let magnitudes: Vec<_> = model.parameters.iter().enumerate().map(parameter).collect();
    let variables: Vec<_> = model.variables.iter().map(|v| fill(&v.shape, h)).collect();
    let claim = |v: &Value| Claim { error: error(v), low: v.low(), high: v.high() };
    let claims = map(up_to(model, profile, &magnitudes, &variables), claim);
    let widest = |a: Claim, b: &Claim| Claim {
        error: a.error.max(b.error),
        low: a.low.min(b.low),
        high: a.high.max(b.high),
    };
    let none = Claim { error: 0.0, low: f64::INFINITY, high: f64::NEG_INFINITY };
    claims.results.iter().map(|claims| claims.iter().fold(none, widest)).collect()
}

/// Range and error of every output if parameters and variables have at most the given magnitudes,
/// for any sequence lengths.
fn up_to(
    model: &CoreModel,
    profile: &Profile,
    values: &[Vec<f64>],
    variables: &[Vec<f64>],
) -> Outcome<Value> {
    let analysis = ErrorAnalysis { profile: profile.clone(), any_length: true };
    evaluate(&analysis, model, values, variables)
}

/// True if a parameter or a variable of the model holds a state.
pub fn has_states(model: &CoreModel) -> bool {
    !states(model).is_empty() || !model.variables.is_empty()
}

/// The parameters with states: states of the model, and parameters with the initial h or c of a
/// cell.
pub fn states(model: &CoreModel) -> Vec<usize> {
    let mut states: Vec<_> = model.states.iter().map(|s| s.parameter).collect();
    for cell in model.cells() {
        states.extend(
            [Some(cell.h), cell.c].into_iter().flatten().filter_map(|state| origin(model, state)),
        );
    }
    states
}

/// The parameter that a cell's state is a view of, also across the carried values of loops. `None`
/// if the state comes from no parameter.
fn origin(model: &CoreModel, mut state: Source) -> Option<usize> {
    while let Source::Value(value) = state {
        let before = |op: &CoreOp| match op {
            CoreOp::View(view) if view.out == value => Some(view.input),
            CoreOp::Loop(body) => body.carried.iter().find(|c| c.value == value).map(|c| c.initial),
            _ => None,
        };
        state = model.all_nodes().into_iter().find_map(|node| before(&node.op))?;
    }
    match state {
        Source::Parameter(i) => Some(i),
        _ => None,
    }
}

/// The bound of the difference between the computed and the exact value, at most the width of the
/// range.
fn error(value: &Value) -> f64 {
    (value.error() * MARGIN).min(value.high() - value.low())
}

/// Converts every value of an outcome.
fn map<V, T>(outcome: Outcome<V>, to: impl Fn(&V) -> T) -> Outcome<T> {
    let tensors = |all: Vec<Vec<V>>| -> Vec<Vec<T>> {
        all.iter().map(|values| values.iter().map(&to).collect()).collect()
    };
    Outcome { results: tensors(outcome.results), variables: tensors(outcome.variables) }
}

/// The domain of [`Value`]: ranges and errors instead of numbers.
struct ErrorAnalysis {
    profile: Profile,
    /// True if sequence lengths that are parameters may have any value.
    any_length: bool,
}

impl Domain for ErrorAnalysis {
    type Value = Value;
    type Row<'r> = Encoded<'r>;

    fn input(&self, number: f64) -> Value {
        Value::within(number.abs())
    }

    fn flush_below(&self) -> Option<f32> {
        self.profile.flush_below
    }

    fn flushed(&self, v: Value) -> Value {
        self.profile.flush_below.map_or(v, |limit| v.or_zero_below(f64::from(limit)))
    }

    fn constant(&self, number: f64) -> Value {
        Value::exactly(number)
    }

    fn known(&self, value: &Value) -> Option<f64> {
        (value.is_exact() && value.low() == value.high()).then_some(value.low())
    }

    fn step(
        &self,
        cell: &CoreCell,
        weights: &CellWeights<'_>,
        step: StepInputs<'_, Value>,
    ) -> State<Value> {
        let gates = Gates { analysis: self, cell, weights, x: step.x };
        let (h, c) = match cell.kind {
            CellKind::Rnn => (gates.units(|j| gates.gate(0, 0, j, step.h).value), Vec::new()),
            CellKind::Gru(reset) => (gates.gru(reset, step.h, None), Vec::new()),
            CellKind::Augru(reset) => (gates.gru(reset, step.h, step.a), Vec::new()),
            CellKind::Lstm => gates.lstm(step.h, step.c),
        };
        let flushed = |all: Vec<Value>| all.into_iter().map(|v| self.flushed(v)).collect();
        State { h: flushed(h), c: flushed(c) }
    }

    /// As `evaluate::steps_of`. For an unknown length, every range and error covers all lengths.
    fn sequence(
        &self,
        cell: &CoreCell,
        weights: &CellWeights<'_>,
        row: &BatchRow<'_, Value>,
        length: f64,
    ) -> (Vec<Vec<Value>>, State<Value>) {
        let lengths = cell.sequence.as_ref().map(|s| &s.lengths);
        let any =
            length.is_nan() || self.any_length && matches!(lengths, Some(Lengths::Parameter(_)));
        let steps = row.steps();
        let length = if any { steps } else { length.clamp(0.0, steps as f64) as usize };
        let zero = Value::exactly(0.0);
        let nothing =
            State { h: vec![zero; row.initial.h.len()], c: vec![zero; row.initial.c.len()] };
        let mut y = vec![nothing.h.clone(); steps];
        let mut state = row.initial.clone();
        // the last state for an unknown length: the state after any step, or zero
        let mut last = nothing.clone();
        for k in 0..length {
            let t = if row.reverse { length - 1 - k } else { k };
            if any && row.reverse {
                // a row of length t + 1 begins with this step, and with the initial state
                state = either(&state, &row.initial);
            }
            state = self.step(cell, weights, row.step(t, &state));
            y[t].clone_from(&state.h);
            if any {
                y[t] = either(&state, &nothing).h;
                last = either(&last, &state);
            }
        }
        match (any, length) {
            (true, _) if row.reverse => (y, either(&state, &nothing)),
            (true, _) => (y, last),
            (false, 0) => (y, nothing),
            (false, _) => (y, state),
        }
    }

    fn rounded(&self, operation: usize, taps: usize, channel: &[Value]) -> Option<Vec<Value>> {
        let range =
            self.profile.precisions.get(operation).arithmetic().of_windows().largest(taps)?;
        let model_scale = self.profile.precisions.get(operation).own(Vector::X, taps);
        // an unbounded element may be NaN, which makes the scale NaN
        let each = match channel.iter().all(|v| v.is_bounded()) {
            true => model_scale.map_or_else(|| rounding(channel, range), |x| x.off),
            false => f64::INFINITY,
        };
        Some(channel.iter().map(|v| v.off_by(each)).collect())
    }

    fn encoded<'r>(&self, row: MatrixRow<'r>) -> Encoded<'r> {
        let precision = self.profile.precisions.get(row.value);
        let arithmetic = precision.arithmetic();
        let arithmetic = if row.is_of_rounded() { arithmetic.of_windows() } else { arithmetic };
        let format = match precision.own_format() {
            Some(own) => own,
            None => arithmetic.stored(precision.storage()),
        };
        let stored = (format != WeightFormat::F32).then(|| {
            let weights: Vec<f32> = row.weights().map(|w| w as f32).collect();
            let stored = Stored::new(format, &weights);
            let errors = stored.errors(&weights).collect();
            (stored, errors)
        });
        let multiples = precision.own_of_row(row.x_or_h());
        let range =
            multiples.map(|x| x.magnitude()).or_else(|| arithmetic.largest(row.weights().len()));
        Encoded { row, stored, own: multiples, range }
    }

    fn row(&self, encoded: &Encoded<'_>, values: &[Value]) -> Value {
        let Encoded { row, stored, range, .. } = encoded;
        let weights = row.weights();
        let most = weights.len() + JOINS + usize::from(!self.profile.fused);
        let Some((stored, errors)) = stored else {
            return Value::terms(weights.map(Value::exactly).zip(values.iter().copied()), most);
        };
        // first the error of the sum over stored weights, then the errors of the stored weights
        let numbers = stored.values.iter().map(|w| Value::exactly(f64::from(*w)));
        let sum = Value::terms(numbers.zip(values.iter().copied()), most);
        let sum = stored.scale.map_or(sum, |scale| sum.mul(Value::exactly(f64::from(scale))));
        let off = errors.iter().zip(values).map(|(error, v)| error * v.magnitude()).sum();
        let sum = sum.off_by(off);
        match range {
            None => sum,
            Some(range) => sum.off_by(encoded.in_integers(stored, *range, values)).rounded(),
        }
    }

    fn dot(&self, terms: impl ExactSizeIterator<Item = (Value, Value)>) -> Value {
        let most = terms.len() + JOINS + usize::from(!self.profile.fused);
        Value::terms(terms, most)
    }

    fn pointwise(&self, function: PointwiseFunction, operands: &[Value]) -> Value {
        function.compute(operands, |function, v| self.math(function, v))
    }

    /// The range of the whole column, as any row may be chosen. If the index is not exact, the
    /// computed row may be another one than the exact row: the error is the width of the range.
    fn lookup(&self, (rows, at): Column<'_, Value>, number: &Value) -> Value {
        let any = (1..rows).fold(at(0), |any, row| any.either(at(row)));
        match number.is_exact() {
            true => any,
            false => Value::new(any.low(), any.high(), any.high() - any.low()),
        }
    }

    /// Each chosen element has the union of all ranges and the largest error: sorting does not
    /// increase the largest error.
    fn top_k(&self, top: &TopK, row: &[Value]) -> Vec<(Value, Value)> {
        let any = row.iter().skip(1).fold(row[0], |any, v| any.either(*v));
        let last = (row.len() - 1) as f64;
        let index =
            Value::new(0.0, last, if row.iter().all(|v| v.is_exact()) { 0.0 } else { last });
        vec![(any, index); top.count]
    }

    fn softmax(&self, values: &[Value], log: bool) -> Vec<Value> {
        softmax::softmax(values, log, &self.profile)
    }
}

/// A row of a matrix as generated code stores it.
struct Encoded<'r> {
    row: MatrixRow<'r>,
    /// Stored weights, each with its error. `None`: the weights are f32.
    stored: Option<(Stored, Vec<f64>)>,
    /// The quantisation of the row's operand in the model. `None`: the model does not quantise it.
    own: Option<Multiples>,
    /// Largest integer of the rounded operand. `None`: the operand stays f32.
    range: Option<u16>,
}

impl Encoded<'_> {
    /// Error of a sum if `values` are rounded to integers up to `range`, or are already integers
    /// times a scale. Infinite if the sum of integers times the row's scale may overflow.
    fn in_integers(&self, stored: &Stored, range: u16, values: &[Value]) -> f64 {
        let scale = f64::from(stored.scale.unwrap_or(1.0));
        let magnitudes = scale * stored.values.iter().map(|w| f64::from(w.abs())).sum::<f64>();
        if magnitudes * f64::from(range) * (1.0 + 4.0 * U) > f64::from(f32::MAX) {
            return f64::INFINITY;
        }
        let is_of_rounded = self.row.is_of_rounded();
        let each = match self.own {
            Some(x) => x.off,
            None if is_of_rounded => values.iter().map(|v| v.error()).fold(0.0, f64::max),
            None => rounding(values, range),
        };
        // the sum times the row's scale may underflow, and is then multiplied by the operand's
        // scale, which is at most 2 `each`
        let of_values = self.own.map_or(2.0 * each, |x| f64::from(x.scale));
        let rounded = if is_of_rounded { 0.0 } else { magnitudes * each };
        rounded + of_values * UNDERFLOW
    }
}

/// Error of each value from rounding to integers up to `range` times one scale.
///
/// With the largest magnitude `m`, `inv = range / m` and `s = m / range`, a rounded value is `s`
/// times the integer nearest to `v inv`. The error is half of `s`, plus four roundings of the
/// result, plus the error of `inv` on underflow.
fn rounding(values: &[Value], range: u16) -> f64 {
    let most = values.iter().map(|v| v.magnitude()).fold(f64::from(LEAST_LARGEST), f64::max);
    most * ((0.5 + most * UNDERFLOW) / f64::from(range) + 4.0 * U) * (1.0 + 4.0 * U)
}

impl ErrorAnalysis {
    fn math(&self, function: MathFunction, v: Value) -> Value {
        v.activated(function, &self.profile)
    }
}

/// The union of the ranges of two states.
fn either(a: &State<Value>, b: &State<Value>) -> State<Value> {
    let each = |a: &[Value], b: &[Value]| a.iter().zip(b).map(|(a, b)| a.either(*b)).collect();
    State { h: each(&a.h, &b.h), c: each(&a.c, &b.c) }
}

/// `gate v + sum`, rounded once if fused.
fn gated_sum(gate: Gate, v: Value, sum: Value, fused: bool) -> Value {
    let product = v.gated(gate);
    if fused { product.plus(sum).rounded() } else { product.rounded().add(sum) }
}

/// One step of a cell, for one row of a batch.
struct Gates<'a> {
    analysis: &'a ErrorAnalysis,
    cell: &'a CoreCell,
    weights: &'a CellWeights<'a>,
    x: &'a [Value],
}

impl Gates<'_> {
    fn gru(&self, reset: ResetGate, h: &[Value], a: Option<&Value>) -> Vec<Value> {
        let one = Value::exactly(1.0);
        let fused = self.analysis.profile.fused;
        let r: Vec<Gate> = (0..h.len()).map(|j| self.gate(0, 1, j, h)).collect();
        let reset_h: Vec<Value> = r.iter().zip(h).map(|(r, h)| h.gated(*r).rounded()).collect();
        self.units(|j| {
            let n = match reset {
                ResetGate::BeforeMatMul => self.gate(1, 2, j, &reset_h).value,
                ResetGate::AfterMatMul => {
                    let outer = self.rv(2, j, h).plus(self.b(3, j));
                    let sum = gated_sum(r[j], outer, self.wx(2, j).plus(self.b(2, j)), fused);
                    self.activate(1, sum).value
                }
            };
            let z = self.gate(0, 0, j, h);
            let z = a.map_or(z, |a| Gate::any(one.sub(*a).mul(z.value)));
            Value::blend(z, h[j], n, fused)
        })
    }

    fn lstm(&self, h: &[Value], c: &[Value]) -> (Vec<Value>, Vec<Value>) {
        let [f, i, g, o] = [0, 1, 2, 3];
        let fused = self.analysis.profile.fused;
        let one = Value::exactly(1.0);
        // adds the peephole: p c + sum
        let peep = |gate: usize, j: usize, c: Value, sum: Value| match self.weights.p(gate, j) {
            Some(p) => Value::exactly(p).mul_add(c, sum, fused),
            None => sum,
        };
        let next = |j: usize| {
            let gate_value = |gate: usize, peephole: usize| {
                self.activate(0, peep(peephole, j, c[j], self.sum(gate, j, h)))
            };
            let (f, i) = match self.cell.coupled {
                None => (gate_value(f, 0), gate_value(i, 1)),
                Some(Coupled::Input) => {
                    let f = gate_value(f, 0);
                    (f, Gate::any(one.sub(f.value)))
                }
                Some(Coupled::Forget) => {
                    let i = gate_value(i, 1);
                    (Gate::any(one.sub(i.value)), i)
                }
            };
            let g = self.gate(1, g, j, h).value;
            gated_sum(f, c[j], g.gated(i).rounded(), fused)
        };
        let c = self.units(next);
        let h = self.units(|j| {
            let o = self.activate(0, peep(2, j, c[j], self.sum(o, j, h)));
            self.analysis.math(self.cell.activations[2].into(), c[j]).gated(o).rounded()
        });
        (h, c)
    }

    /// The value of `element` for every unit.
    fn units(&self, element: impl Fn(usize) -> Value) -> Vec<Value> {
        (0..self.cell.hidden_size).map(element).collect()
    }

    /// The k-th activation of `W x + R v + B` for unit j of a gate.
    fn gate(&self, k: usize, gate: usize, j: usize, v: &[Value]) -> Gate {
        self.activate(k, self.sum(gate, j, v))
    }

    /// The k-th activation of the cell, applied to the clipped sum.
    fn activate(&self, k: usize, sum: Value) -> Gate {
        let sum = self.cell.clip.map_or(sum, |clip| sum.clipped(f64::from(clip)));
        Gate::activated(sum, self.cell.activations[k], &self.analysis.profile)
    }

    fn sum(&self, gate: usize, j: usize, v: &[Value]) -> Value {
        self.wx(gate, j).plus(self.rv(gate, j, v)).plus(self.b(gate, j))
    }

    fn wx(&self, gate: usize, j: usize) -> Value {
        self.terms(self.weights.w(gate, j), self.x)
    }

    fn rv(&self, gate: usize, j: usize, v: &[Value]) -> Value {
        self.terms(self.weights.r(gate, j), v)
    }

    /// The sum of one matrix row's products, including the roundings of all later additions.
    fn terms(&self, row: MatrixRow<'_>, values: &[Value]) -> Value {
        self.analysis.row(&self.analysis.encoded(row), values)
    }

    /// The bias, including one rounding of the bias.
    fn b(&self, part: usize, j: usize) -> Value {
        let terms = self.weights.b(part, j).map(Value::exactly);
        let b = terms.reduce(Value::add).unwrap_or_else(|| Value::exactly(0.0));
        b.off_by(b.magnitude() * U + UNDERFLOW)
    }
}
