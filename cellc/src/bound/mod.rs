//! How far one step of generated code can be from the exact result: worst-case rounding analysis.
//!
//! With `u = 2^-24` every f32 operation gives the exact result times `1 + d`, `|d| <= u`, plus at most `2^-150` where it
//! can underflow (Higham, Accuracy and Stability of Numerical Algorithms, chapters 2 and 3). For every value of the
//! computation a value is carried: a range that holds the exact and the computed value, and a number that their
//! difference does not exceed.
//!
//! * A pre-activation sum is `(sum of W x + sum of R h) + b`, each of the two sums formed in order, perhaps dealt out to
//!   chains that are added up: term k of K goes through at most K - k roundings there, `JOINS` more where parts meet, and
//!   one more where multiply-add is split. After n roundings a term is off by at most `((1+u)^n - 1)` times its magnitude.
//!   The same holds for other products of matrices.
//! * Clipping adds nothing. An activation passes on its argument's error times its largest slope and adds its own,
//!   `activation::error`.
//! * A GRU ends in `z h + (1 - z) n`: three roundings, four where split. An LSTM in `c' = f c + i
//! g` and `o h(c')`. A sigmoid that passes all
//!   is flat: what it lets pass and its own error are not both at their largest ([`Gate`]).
//! * What is computed element by element rounds once. There is no bound for a quotient whose divisor may be 0.
//! * Softmax: `v - max v` is the same for all, so the exact result depends on differences only: it changes by at most a
//!   factor `exp(e_i + max e)` where the inputs change by `e`. The arithmetic adds relative errors only: those of the
//!   argument of exp, of exp, of the sum in order, of the quotient.
//!
//! Time and loops are gone through, with what is known of one step as the input of the next: over many steps a bound grows,
//! until it is that of the range, or there is none.
//!
//! The weights of the model are f32; a f64 tensor counts as rounded. Where matrices are stored in another format, kernels compute
//! with `w~` (times the scale of its row, one rounding more), which adds `|w - w~| |x|` to each sum. Every step's inputs
//! count as exact: nothing is said about many calls.

mod at_point;
mod softmax;
#[cfg(feature = "builder")]
mod stated;
#[cfg(test)]
mod tests;
mod value;

use crate::encoding::{LEAST_LARGEST, Stored};
use crate::evaluate::{Arithmetic, CellWeights, Column, MatrixRow, Outcome, Row, State, StepInputs, evaluate};
use crate::model::{
    Activation, CellKind, Coupled, Lengths, Parameter, PointwiseFunction, ResetGate, Source, TopK, ValidCell,
    ValidModel, ValidNode, ValidOp,
};
use crate::options::{Accuracy, Multiples, Options, Products, Vector, WeightFormat};
use crate::plan;
use at_point::AtOneInput;

#[cfg(feature = "builder")]
pub use stated::{Seen, Useless};
use value::{Gate, Value};

/// Additions in which the parts of a sum meet: two chains, the terms of x with those of h, both with the bias.
const JOINS: usize = 3;

/// Half the spacing of f32 at 1: the largest relative error of a rounding.
const U: f64 = 1.0 / 16_777_216.0;

/// The largest absolute error of a rounding that underflows.
const UNDERFLOW: f64 = 7.006_492_321_624_085e-46;

/// For the roundings of this analysis and of the reference, both in f64.
const MARGIN: f64 = 1.0 + 1e-9;

/// What generated code does to the numbers beside rounding them.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Whether a multiply-add rounds once.
    pub fused: bool,
    /// How far activations may be from their exact values.
    pub accuracy: Accuracy,
    /// Below which magnitude inputs, states and outputs become 0, unless denormals are kept.
    pub flush_below: Option<f32>,
    /// The precision of matrices.
    pub products: Products,
}

impl Profile {
    /// What the options say, on an instruction set that fuses or does not.
    pub fn new(fused: bool, options: &Options) -> Self {
        let products = options.products();
        Self { fused, accuracy: options.accuracy, flush_below: plan::flush_below(options), products }
    }
}

/// For every element of every result, and of what every variable becomes, what the difference between generated code and
/// the exact result does not exceed; infinite where an intermediate value may overflow.
///
/// `values` and `variables` hold every element of every parameter, weights too, and of every
/// variable.
///
/// # Panics
/// If there are not as many parameters or variables, or elements of one, as the model has.
pub fn bound(model: &ValidModel, profile: &Profile, values: &[Vec<f64>], variables: &[Vec<f64>]) -> Outcome<f64> {
    let analysis = ErrorAnalysis { profile: profile.clone(), any_length: false };
    map(evaluate(&AtOneInput(analysis), model, values, variables), |v| error(&v.value))
}

/// What [`over_range`] takes, in products that it looks at; an element of any other operation takes as long as many of them.
pub fn work(model: &ValidModel) -> usize {
    const ELEMENT: usize = 256;
    fn of(model: &ValidModel, nodes: &[ValidNode]) -> usize {
        let node = |node: &ValidNode| match &node.op {
            ValidOp::Cell(cell) => {
                let steps = cell.steps();
                let terms = cell.input_size.saturating_add(cell.hidden_size).saturating_mul(cell.hidden_size);
                steps.saturating_mul(cell.kind.gates()).saturating_mul(terms)
            }
            ValidOp::Dense(dense) => dense.rows.saturating_mul(dense.inputs).saturating_mul(dense.outputs),
            ValidOp::MatMul(m) => [m.rows, m.inner, m.columns].into_iter().fold(m.batch, usize::saturating_mul),
            ValidOp::Convolve(c) => c.multiply_adds(),
            ValidOp::Loop(body) => body.trips.saturating_mul(of(model, &body.body)),
            ValidOp::Reduce(reduce) => model.len(reduce.input).saturating_mul(ELEMENT),
            ValidOp::TopK(top) => model.len(top.input).saturating_mul(top.count).saturating_mul(ELEMENT),
            // over a range, every row may be meant
            ValidOp::Lookup(lookup) => model.len(lookup.table),
            ValidOp::Integers(integers) => model.len(Source::Value(integers.out)),
            ValidOp::Pointwise(_) | ValidOp::Softmax(_) | ValidOp::View(_) | ValidOp::Concat(_) => {
                let outputs = node.op.outputs().into_iter();
                outputs.map(|out| model.len(Source::Value(out)).saturating_mul(ELEMENT)).sum()
            }
        };
        nodes.iter().map(node).fold(0, usize::saturating_add)
    }
    of(model, &model.nodes)
}

/// What holds for an output whatever the input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// What the difference between generated code and the exact result does not exceed; infinite
    /// where there is no bound.
    pub error: f64,
    /// No exact or computed value is below.
    pub low: f64,
    /// No exact or computed value is above.
    pub high: f64,
}

/// For every result, the bound for all inputs with `|v| <= h` in every variable and every parameter that is a state or a
/// cell's h or c, `|v| <= x` in every other one, and any sequence lengths; infinite where there is none, and where weights
/// are parameters.
pub fn over_range(model: &ValidModel, profile: &Profile, x: f64, h: f64) -> Vec<Claim> {
    let nothing = Claim { error: f64::INFINITY, low: f64::NEG_INFINITY, high: f64::INFINITY };
    if model.parameters.iter().any(|p| p.weight) {
        return vec![nothing; model.results.len()];
    }
    let states = states(model);
    let fill = |shape: &[usize], most: f64| vec![most; shape.iter().product()];
    let parameter = |(i, p): (usize, &Parameter)| fill(&p.shape, if states.contains(&i) { h } else { x });
    let magnitudes: Vec<_> = model.parameters.iter().enumerate().map(parameter).collect();
    let variables: Vec<_> = model.variables.iter().map(|v| fill(&v.shape, h)).collect();
    let claim = |v: &Value| Claim { error: error(v), low: v.low(), high: v.high() };
    let claims = map(up_to(model, profile, &magnitudes, &variables), claim);
    let widest =
        |a: Claim, b: &Claim| Claim { error: a.error.max(b.error), low: a.low.min(b.low), high: a.high.max(b.high) };
    let none = Claim { error: 0.0, low: f64::INFINITY, high: f64::NEG_INFINITY };
    claims.results.iter().map(|claims| claims.iter().fold(none, widest)).collect()
}

/// What is known of every output where parameters and variables do not exceed these magnitudes, and
/// lengths are any.
fn up_to(model: &ValidModel, profile: &Profile, values: &[Vec<f64>], variables: &[Vec<f64>]) -> Outcome<Value> {
    let analysis = ErrorAnalysis { profile: profile.clone(), any_length: true };
    evaluate(&analysis, model, values, variables)
}

/// True if a model has a state, as a parameter or as a variable.
pub fn has_states(model: &ValidModel) -> bool {
    !states(model).is_empty() || !model.variables.is_empty()
}

/// The parameters that hold states: of the model, or what a cell's h or c is at first, or has as a part.
pub fn states(model: &ValidModel) -> Vec<usize> {
    let mut states: Vec<_> = model.states.iter().map(|s| s.parameter).collect();
    for cell in model.cells() {
        states.extend([Some(cell.h), cell.c].into_iter().flatten().filter_map(|state| origin(model, state)));
    }
    states
}

/// The parameter that a state is, or is a part of.
fn origin(model: &ValidModel, mut state: Source) -> Option<usize> {
    while let Source::Value(value) = state {
        let before = |op: &ValidOp| match op {
            ValidOp::View(view) if view.out == value => Some(view.input),
            ValidOp::Loop(body) => body.carried.iter().find(|c| c.value == value).map(|c| c.initial),
            _ => None,
        };
        state = model.all_nodes().into_iter().find_map(|node| before(&node.op))?;
    }
    match state {
        Source::Parameter(i) => Some(i),
        _ => None,
    }
}

/// The largest difference between the computed and the exact value.
fn error(value: &Value) -> f64 {
    (value.error() * MARGIN).min(value.high() - value.low())
}

/// The same outcome, of other values.
fn map<V, T>(outcome: Outcome<V>, to: impl Fn(&V) -> T) -> Outcome<T> {
    let all = |all: Vec<Vec<V>>| -> Vec<Vec<T>> { all.iter().map(|values| values.iter().map(&to).collect()).collect() };
    Outcome { results: all(outcome.results), variables: all(outcome.variables) }
}

/// What is known of values, in place of values.
struct ErrorAnalysis {
    profile: Profile,
    /// Whether sequence lengths that are parameters may be any.
    any_length: bool,
}

impl Arithmetic for ErrorAnalysis {
    type Value = Value;
    type Row<'r> = Encoded<'r>;

    fn given(&self, number: f64) -> Value {
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

    fn step(&self, cell: &ValidCell, weights: &CellWeights<'_>, step: StepInputs<'_, Value>) -> State<Value> {
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

    /// As it is defined, but that the length may be any.
    fn sequence(
        &self,
        cell: &ValidCell,
        weights: &CellWeights<'_>,
        row: &Row<'_, Value>,
        length: f64,
    ) -> (Vec<Vec<Value>>, State<Value>) {
        let lengths = cell.sequence.as_ref().map(|s| &s.lengths);
        let any = length.is_nan() || self.any_length && matches!(lengths, Some(Lengths::Parameter(_)));
        let steps = row.steps();
        let length = if any { steps } else { length.clamp(0.0, steps as f64) as usize };
        let zero = Value::exactly(0.0);
        let nothing = State { h: vec![zero; row.initial.h.len()], c: vec![zero; row.initial.c.len()] };
        let mut y = vec![nothing.h.clone(); steps];
        let mut state = row.initial.clone();
        // what the last state may be: of any step run, or zero
        let mut last = nothing.clone();
        for k in 0..length {
            let t = if row.reverse { length - 1 - k } else { k };
            if any && row.reverse {
                // a row that is as long as this starts here
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

    fn rounded(&self, operation: (&str, usize), taps: usize, channel: &[Value]) -> Option<Vec<Value>> {
        let range = self.profile.products.of(operation.0).of_windows().largest(taps)?;
        let own = self.profile.products.own_of(operation, Vector::X, taps);
        // one that is no number makes the scale none
        let each = match channel.iter().all(|v| v.is_bounded()) {
            true => own.map_or_else(|| rounding(channel, range), |x| x.off),
            false => f64::INFINITY,
        };
        Some(channel.iter().map(|v| v.off_by(each)).collect())
    }

    fn encoded<'r>(&self, row: MatrixRow<'r>) -> Encoded<'r> {
        let arithmetic = self.profile.products.of(row.layer);
        let arithmetic = if row.is_of_rounded() { arithmetic.of_windows() } else { arithmetic };
        let format = match self.profile.products.own_format(row.layer) {
            Some(own) => own,
            None => arithmetic.stored(self.profile.products.storage(row.layer)),
        };
        let stored = (format != WeightFormat::F32).then(|| {
            let weights: Vec<f32> = row.weights().map(|w| w as f32).collect();
            let stored = Stored::new(format, &weights);
            let errors = stored.errors(&weights).collect();
            (stored, errors)
        });
        let own = self.profile.products.own_of_row(row.operation(), row.x_or_h());
        let range = own.map(|x| x.magnitude()).or_else(|| arithmetic.largest(row.weights().len()));
        Encoded { row, stored, own, range }
    }

    fn row(&self, encoded: &Encoded<'_>, values: &[Value]) -> Value {
        let Encoded { row, stored, range, .. } = encoded;
        let weights = row.weights();
        let most = weights.len() + JOINS + usize::from(!self.profile.fused);
        let Some((stored, errors)) = stored else {
            return Value::terms(weights.map(Value::exactly).zip(values.iter().copied()), most);
        };
        // what is stored, then how far that is from the model
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
        use PointwiseFunction as P;
        match (function, operands) {
            (P::Activation(activation), &[v]) => self.activation(activation, v),
            (P::Add, &[a, b]) => a.add(b),
            (P::Subtract, &[a, b]) => a.sub(b),
            (P::Multiply, &[a, b]) => a.mul(b),
            (P::Divide, &[a, b]) => a.div(b),
            (P::Maximum, &[a, b]) => a.max(b),
            (P::Minimum, &[a, b]) => a.min(b),
            (P::PRelu, &[v, slope]) => v.prelu(slope),
            (P::Less, &[a, b]) => Value::decided(a.surely_less(b), b.surely_not_above(a), a.is_exact() && b.is_exact()),
            (P::LessEqual, &[a, b]) => {
                Value::decided(a.surely_not_above(b), b.surely_less(a), a.is_exact() && b.is_exact())
            }
            (P::Equal, &[a, b]) => {
                Value::decided(false, a.surely_less(b) || b.surely_less(a), a.is_exact() && b.is_exact())
            }
            (P::Select, &[condition, then, otherwise]) => condition.selected(then, otherwise),
            _ => unreachable!("bound: {function:?} of {} operands", operands.len()),
        }
    }

    /// Any of the column, as nothing is known of the number but whether it is exact.
    fn lookup(&self, (rows, at): Column<'_, Value>, number: &Value) -> Value {
        let any = (1..rows).fold(at(0), |any, row| any.either(at(row)));
        match number.is_exact() {
            true => any,
            false => Value::new(any.low(), any.high(), any.high() - any.low()),
        }
    }

    /// The k-th best of computed values is no farther from the k-th best of the exact ones than the farthest value is.
    fn best(&self, top: &TopK, row: &[Value]) -> Vec<(Value, Value)> {
        let any = row.iter().skip(1).fold(row[0], |any, v| any.either(*v));
        let last = (row.len() - 1) as f64;
        let place = Value::new(0.0, last, if row.iter().all(|v| v.is_exact()) { 0.0 } else { last });
        vec![(any, place); top.count]
    }

    fn softmax(&self, values: &[Value], log: bool) -> Vec<Value> {
        softmax::softmax(values, log, &self.profile)
    }
}

/// A row of a matrix.
struct Encoded<'r> {
    row: MatrixRow<'r>,
    /// Its numbers, and how far each is from the weight that it stands for; `None`: it is f32.
    stored: Option<(Stored, Vec<f64>)>,
    /// Integers times a scale that the row's vector consists of, in a quantised model.
    own: Option<Multiples>,
    /// Up to what whole number its vectors become integers, if they do.
    range: Option<u16>,
}

impl Encoded<'_> {
    /// How far a sum over values that become whole numbers up to a range, or are such numbers times a scale already, may be from that over the values. Infinite where the sum of whole
    /// numbers times the row's scale may overflow, whatever the scale of the values is.
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
        // a rounded value is off by half of its scale at least; the product with the row's scale may underflow
        let of_values = self.own.map_or(2.0 * each, |x| f64::from(x.scale));
        let rounded = if is_of_rounded { 0.0 } else { magnitudes * each };
        rounded + of_values * UNDERFLOW
    }
}

/// How far each of some values may be from what it is rounded to.
///
/// With `m` their largest magnitude, `inv = range / m` and `s = m / range`, each is `s` times `v inv` rounded to a whole number: off by half of
/// `s`, and by four roundings of the whole. `inv` may underflow.
fn rounding(values: &[Value], range: u16) -> f64 {
    let most = values.iter().map(|v| v.magnitude()).fold(f64::from(LEAST_LARGEST), f64::max);
    most * ((0.5 + most * UNDERFLOW) / f64::from(range) + 4.0 * U) * (1.0 + 4.0 * U)
}

impl ErrorAnalysis {
    fn activation(&self, activation: Activation, v: Value) -> Value {
        v.activated(activation, &self.profile)
    }
}

/// What is known of a state that is one of two.
fn either(a: &State<Value>, b: &State<Value>) -> State<Value> {
    let each = |a: &[Value], b: &[Value]| a.iter().zip(b).map(|(a, b)| a.either(*b)).collect();
    State { h: each(&a.h, &b.h), c: each(&a.c, &b.c) }
}

/// `gate v + sum`, rounded once where that is fused.
fn gated_sum(gate: Gate, v: Value, sum: Value, fused: bool) -> Value {
    let product = v.gated(gate);
    if fused { product.plus(sum).rounded() } else { product.rounded().add(sum) }
}

/// The cells, one row of one step at a time.
struct Gates<'a> {
    analysis: &'a ErrorAnalysis,
    cell: &'a ValidCell,
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
        // p c + sum
        let peep = |gate: usize, j: usize, c: Value, sum: Value| match self.weights.p(gate, j) {
            Some(p) => Value::exactly(p).mul_add(c, sum, fused),
            None => sum,
        };
        let next = |j: usize| {
            let own = |gate: usize, place: usize| self.activate(0, peep(place, j, c[j], self.sum(gate, j, h)));
            let (f, i) = match self.cell.coupled {
                None => (own(f, 0), own(i, 1)),
                Some(Coupled::Input) => {
                    let f = own(f, 0);
                    (f, Gate::any(one.sub(f.value)))
                }
                Some(Coupled::Forget) => {
                    let i = own(i, 1);
                    (Gate::any(one.sub(i.value)), i)
                }
            };
            let g = self.gate(1, g, j, h).value;
            gated_sum(f, c[j], g.gated(i).rounded(), fused)
        };
        let c = self.units(next);
        let h = self.units(|j| {
            let o = self.activate(0, peep(2, j, c[j], self.sum(o, j, h)));
            self.analysis.activation(self.cell.activations[2], c[j]).gated(o).rounded()
        });
        (h, c)
    }

    /// For every unit.
    fn units(&self, element: impl Fn(usize) -> Value) -> Vec<Value> {
        (0..self.cell.hidden_size).map(element).collect()
    }

    /// The k-th activation of `W x + R v + B`, unit j of a gate.
    fn gate(&self, k: usize, gate: usize, j: usize, v: &[Value]) -> Gate {
        self.activate(k, self.sum(gate, j, v))
    }

    /// The k-th activation of the cell, of a sum that is clipped first where the cell clips.
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

    /// The terms of one row of a matrix, once they have become part of a sum.
    fn terms(&self, row: MatrixRow<'_>, values: &[Value]) -> Value {
        self.analysis.row(&self.analysis.encoded(row), values)
    }

    /// A bias, once it has become part of a sum, which is rounded.
    fn b(&self, part: usize, j: usize) -> Value {
        let terms = self.weights.b(part, j).map(Value::exactly);
        let b = terms.reduce(Value::add).unwrap_or_else(|| Value::exactly(0.0));
        b.off_by(b.magnitude() * U + UNDERFLOW)
    }
}
