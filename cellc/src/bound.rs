//! How far one step of generated code can be from the exact result: worst-case rounding analysis.
//!
//! With `u = 2^-24` every f32 operation gives the exact result times `1 + d`, `|d| <= u`, plus at most `2^-150` where it
//! can underflow (Higham, Accuracy and Stability of Numerical Algorithms, chapters 2 and 3). For every value of the
//! computation two numbers are carried: one that neither the exact nor the computed value exceeds in magnitude, and one
//! that their difference does not exceed.
//!
//! * A pre-activation sum is `(sum of W x + sum of R h) + b`, each of the two sums formed in order, perhaps dealt out to
//!   chains that are added up: term k of K goes through at most K - k roundings there, `JOINS` more where parts meet, and
//!   one more where multiply-add is split. After n roundings a term is off by at most `((1+u)^n - 1)` times its magnitude.
//! * Clipping and relu add nothing. sigmoid and tanh pass on at most 1/4 and 1 of their argument's error and add their own,
//!   [`activation::max_ulp`].
//! * A GRU ends in `z h + (1 - z) n`: three roundings, four where split.
//!
//! The weights of the model are the f32 that kernels compute with; a f64 tensor counts as rounded. Every step's inputs count
//! as exact: nothing is said about many steps.

use crate::activation::{self, exact};
use crate::model::{Activation, ResetGate, Source, Tensor, ValidCell, ValidModel, WeightSource};
use crate::plan;

/// Additions in which the parts of a sum meet: two chains, the terms of x with those of h, both with the bias.
const JOINS: usize = 3;

/// Half the spacing of f32 at 1: the largest relative error of a rounding.
const U: f64 = 1.0 / 16_777_216.0;

/// The largest absolute error of a rounding that underflows.
const UNDERFLOW: f64 = 7.006_492_321_624_085e-46;

/// For the roundings of this analysis and of the reference, both in f64.
const MARGIN: f64 = 1.0 + 1e-9;

/// What generated code does to the numbers beside rounding them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Whether a multiply-add rounds once.
    pub fused: bool,
    /// Whether states below [`plan::FLUSH_BELOW`] become 0.
    pub flush_denormals: bool,
}

/// For every element of every result, what the difference between generated code and the exact result does not exceed;
/// infinite where an intermediate value may overflow.
///
/// `magnitudes` holds, for every element of every parameter, weights too, what it does not exceed in magnitude: the
/// values themselves, for a bound at one input.
///
/// # Panics
/// If there are not as many parameters, or elements of one, as the model has.
pub fn bound(model: &ValidModel, profile: Profile, magnitudes: &[Vec<f64>]) -> Vec<Vec<f64>> {
    assert_eq!(magnitudes.len(), model.parameters.len(), "magnitudes for every parameter");
    for (parameter, values) in model.parameters.iter().zip(magnitudes) {
        assert_eq!(values.len(), parameter.shape.iter().product(), "elements of {:?}", parameter.names);
    }
    let weights = |source: WeightSource| match source {
        WeightSource::Constant(i) => Weights::Constant(&model.constants[i]),
        WeightSource::Parameter(i) => Weights::Given(&magnitudes[i]),
        WeightSource::Zero => Weights::Zero,
    };
    let mut states: Vec<Vec<Value>> = Vec::new();
    let value = |source: Source, states: &[Vec<Value>]| -> Vec<Value> {
        match source {
            Source::Parameter(i) => magnitudes[i].iter().map(|m| Value::exact(m.abs())).collect(),
            Source::Constant(i) => {
                let tensor = &model.constants[i];
                (0..tensor.len()).map(|k| Value::exact(f64::from(tensor.get_f32(k)).abs())).collect()
            }
            Source::Value(i) => states[i].clone(),
            Source::Variable(_) => unreachable!("bound: a model without variables"),
        }
    };
    for cell in model.cells() {
        let analysis = Analysis {
            cell,
            profile,
            w: weights(cell.w),
            r: weights(cell.r),
            b: weights(cell.b),
            growth: (0..=cell.input_size.max(cell.hidden_size) + JOINS + 1).map(growth).collect(),
        };
        let (x, h) = (value(cell.x, &states), value(cell.h, &states));
        let rows = x.chunks_exact(cell.input_size).zip(h.chunks_exact(cell.hidden_size));
        states.push(rows.flat_map(|(x, h)| analysis.step(x, h)).collect());
    }
    let error = |value: &Value| value.error * MARGIN;
    model.results.iter().map(|result| value(result.source, &states).iter().map(error).collect()).collect()
}

/// For every result, the bound for all inputs with `|v| <= h` in every parameter that is a state or a cell's h, and
/// `|v| <= x` in every other one; infinite where there is none, and where weights are parameters (see [`formula`]).
pub fn over_range(model: &ValidModel, profile: Profile, x: f64, h: f64) -> Vec<f64> {
    if model.parameters.iter().any(|p| p.weight) {
        return vec![f64::INFINITY; model.results.len()];
    }
    let is_state = |i: usize| {
        model.states.iter().any(|s| s.parameter == i) || model.cells().iter().any(|c| c.h == Source::Parameter(i))
    };
    let magnitudes: Vec<Vec<f64>> = model
        .parameters
        .iter()
        .enumerate()
        .map(|(i, p)| vec![if is_state(i) { h } else { x }; p.shape.iter().product()])
        .collect();
    bound(model, profile, &magnitudes).iter().map(|b| b.iter().copied().fold(0.0, f64::max)).collect()
}

/// What is known of a value whatever the input: a magnitude that neither the exact nor the computed value exceeds, and
/// the largest difference between them.
#[derive(Clone, Copy)]
struct Value {
    magnitude: f64,
    error: f64,
}

impl Value {
    fn exact(magnitude: f64) -> Self {
        Self { magnitude, error: 0.0 }.or_unbounded()
    }

    /// A value that may be too large for f32, or of which nothing is known, has no bound.
    fn or_unbounded(self) -> Self {
        let finite = self.magnitude <= f64::from(f32::MAX) && self.error.is_finite();
        if finite { self } else { Self { magnitude: f64::INFINITY, error: f64::INFINITY } }
    }
}

/// What is known of an activation's value: both the exact and the computed one are in `low..=high`.
#[derive(Clone, Copy)]
struct Activated {
    low: f64,
    high: f64,
    error: f64,
}

impl Activated {
    fn value(self) -> Value {
        Value { magnitude: self.low.abs().max(self.high.abs()), error: self.error }.or_unbounded()
    }
}

struct Analysis<'a> {
    cell: &'a ValidCell,
    profile: Profile,
    w: Weights<'a>,
    r: Weights<'a>,
    b: Weights<'a>,
    /// `(1+u)^n - 1` for every n that a sum of the cell needs.
    growth: Vec<f64>,
}

/// W, R or B where they stand: a copy in f64 would be twice as large as the model.
#[derive(Clone, Copy)]
enum Weights<'a> {
    Constant(&'a Tensor),
    Given(&'a [f64]),
    Zero,
}

impl Weights<'_> {
    /// The magnitude of element `i`.
    fn magnitude(self, i: usize) -> f64 {
        match self {
            Self::Constant(tensor) => f64::from(tensor.get_f32(i)).abs(),
            Self::Given(magnitudes) => magnitudes[i].abs(),
            Self::Zero => 0.0,
        }
    }
}

impl Analysis<'_> {
    /// One row of the batch: the new h.
    fn step(&self, x: &[Value], h: &[Value]) -> Vec<Value> {
        let state = |v: Value| {
            let flushed = if self.profile.flush_denormals { f64::from(plan::FLUSH_BELOW) } else { 0.0 };
            Value { error: v.error + flushed, ..v }
        };
        self.units(x, h).into_iter().map(state).collect()
    }

    fn units(&self, x: &[Value], h: &[Value]) -> Vec<Value> {
        let cell = self.cell;
        let units = cell.hidden_size;
        let f = |v: Value| self.activation(cell.activations[0], v);
        let g = |v: Value| self.activation(cell.activations[1], v).value();
        let wx = |g: usize, j: usize| self.terms(self.w, g * units + j, x);
        let rv = |g: usize, j: usize, v: &[Value]| self.terms(self.r, g * units + j, v);
        let b = |g: usize, j: usize| self.bias(self.b.magnitude(g * units + j));
        let gate = |g: usize, j: usize| f(sum([wx(g, j), rv(g, j, h), b(g, j)]));
        let Some(reset) = cell.kind.reset_gate() else { return (0..units).map(|j| gate(0, j).value()).collect() };

        let r: Vec<Value> = (0..units).map(|j| gate(1, j).value()).collect();
        let reset_h: Vec<Value> = r.iter().zip(h).map(|(r, h)| product(*r, *h)).collect();
        (0..units)
            .map(|j| {
                let n = match reset {
                    ResetGate::BeforeMatMul => sum([wx(2, j), rv(2, j, &reset_h), b(2, j)]),
                    ResetGate::AfterMatMul => self.mul_add(r[j], sum([rv(2, j, h), b(3, j)]), sum([wx(2, j), b(2, j)])),
                };
                self.blend(gate(0, j), h[j], g(n))
            })
            .collect()
    }

    /// The terms of one row of a matrix, once they have become part of a sum.
    fn terms(&self, matrix: Weights<'_>, row: usize, values: &[Value]) -> Value {
        let most = values.len() + JOINS + usize::from(!self.profile.fused);
        let mut magnitude = 0.0;
        let mut error = most as f64 * UNDERFLOW * (1.0 + self.growth[most]);
        for (k, v) in values.iter().enumerate() {
            let w = matrix.magnitude(row * values.len() + k);
            magnitude += w * v.magnitude;
            error += w * (v.error + self.growth[most - k] * v.magnitude);
        }
        Value { magnitude: magnitude + error, error }.or_unbounded()
    }

    /// A bias, once it has become part of a sum.
    fn bias(&self, b: f64) -> Value {
        let error = self.growth[1] * b;
        Value { magnitude: b + error, error }.or_unbounded()
    }

    /// `a b + c`
    fn mul_add(&self, a: Value, b: Value, c: Value) -> Value {
        let exact = a.magnitude * b.magnitude + c.magnitude;
        let mut error = a.magnitude * b.error + a.error * b.magnitude + c.error;
        if !self.profile.fused {
            error += a.magnitude * b.magnitude * U + UNDERFLOW;
        }
        error += (exact + error) * U + UNDERFLOW;
        Value { magnitude: exact + error, error }.or_unbounded()
    }

    /// The activation of a sum, clipped first where the cell clips.
    fn activation(&self, activation: Activation, v: Value) -> Activated {
        let Value { mut magnitude, mut error } = v;
        if !error.is_finite() {
            // perhaps NaN, which no range holds
            return Activated { low: f64::NEG_INFINITY, high: f64::INFINITY, error: f64::INFINITY };
        }
        if let Some(clip) = self.cell.clip {
            magnitude = magnitude.min(f64::from(clip));
            error = error.min(2.0 * magnitude);
        }
        let image = activation::image(activation, magnitude);
        let own = activation::own_error(activation, self.profile.fused, magnitude);
        let step = if error > 0.0 { image.jump } else { 0.0 };
        let error = (image.slope * error + step).min(image.high - image.low) + own;
        Activated { low: (image.low - own).max(image.least), high: (image.high + own).min(image.most), error }
    }

    /// `z h + (1 - z) n`
    ///
    /// Its exact counterpart differs from what the operands' errors make of it by
    /// `dn (1 - z) + z dh + dz (h - n)`, z being the computed one in the first two terms.
    fn blend(&self, z: Activated, h: Value, n: Value) -> Value {
        let rest = (1.0 - z.low).abs().max((1.0 - z.high).abs());
        let share = z.value().magnitude;
        let exact = if z.low >= 0.0 && z.high <= 1.0 {
            h.magnitude.max(n.magnitude)
        } else {
            rest * n.magnitude + share * h.magnitude
        };
        let mut error = n.error * rest + share * h.error + z.error * (h.magnitude + n.magnitude);
        // 1 - z, and that times n
        error += rest * n.magnitude * (2.0 * U + U * U) + UNDERFLOW;
        if !self.profile.fused {
            error += share * h.magnitude * U + UNDERFLOW;
        }
        error += (exact + error) * U + UNDERFLOW;
        let value = Value { magnitude: exact + error, error }.or_unbounded();
        // nothing on the way there may overflow either
        let parts = [rest * (1.0 + U), rest * n.magnitude * (1.0 + 3.0 * U), share * h.magnitude * (1.0 + U)];
        if parts.iter().all(|p| *p <= f64::from(f32::MAX)) { value } else { Value::exact(f64::INFINITY) }
    }
}

/// `(1+u)^n - 1`
fn growth(n: usize) -> f64 {
    (n as f64 * U.ln_1p()).exp_m1()
}

/// The sum of values as it would be without rounding: [`Analysis::terms`] and [`Analysis::bias`] have accounted for that.
fn sum<const N: usize>(values: [Value; N]) -> Value {
    let add = |a: Value, b: &Value| Value { magnitude: a.magnitude + b.magnitude, error: a.error + b.error };
    values.iter().fold(Value { magnitude: 0.0, error: 0.0 }, add).or_unbounded()
}

/// `a b`, rounded once.
fn product(a: Value, b: Value) -> Value {
    let exact = a.magnitude * b.magnitude;
    let error = a.magnitude * b.error + a.error * b.magnitude + exact * U + UNDERFLOW;
    Value { magnitude: exact + error, error }.or_unbounded()
}

/// The bound as text, for models whose weights are known at run time only: what `|generated - exact|` of every unit does
/// not exceed in one step.
///
/// Simpler and wider than [`bound`]: the gates' ranges are not used.
pub fn formula(model: &ValidModel, profile: Profile) -> Vec<String> {
    let joins = JOINS + usize::from(!profile.fused);
    let mut lines = vec![
        "u = 2^-24; G(n) = (1+u)^n - 1; for a sum of I terms w x, H terms r v and b:".to_owned(),
        "S = sum |w x| + sum |r v| + |b|,".to_owned(),
        format!(
            "E = G(I+{joins}) sum |w x| + G(H+{joins}) sum |r v| + u |b| + (I+H+9) 2^-149 \
             + (1+G(I+{joins})) sum |w| err(x) + (1+G(H+{joins})) sum |r| err(v)"
        ),
    ];
    let error = |a: Activation| error_text(a, profile.fused);
    let range = range_text;
    for (i, cell) in model.cells().into_iter().enumerate() {
        if model.cells().len() > 1 {
            lines.push(format!("cell {i}, whose inputs err by what the cells before it say:"));
        }
        let f = cell.activations[0];
        let Some(reset) = cell.kind.reset_gate() else {
            lines.push(format!("RNNCell: error <= {}", error(f)));
            continue;
        };
        let g = cell.activations[1];
        let image = activation::image(f, f64::MAX);
        let rest = match (image.least >= 0.0 && image.most <= 1.0, image.most == 1.0) {
            (true, _) => "1".to_owned(),
            (_, true) => "2".to_owned(),
            _ => format!("(1+{})", range(f)),
        };
        lines.push(format!("GRUCell: err(z), err(r) = {}; |z|, |r| <= {}; |1-z| <= {rest}", error(f), range(f)));
        lines.push(match reset {
            ResetGate::BeforeMatMul => format!(
                "v = r h: err(v) = |r| err(h) + |h| err(r) + u |r||h| + 2^-149; err(n) = {}; |n| <= {}",
                error(g),
                range(g)
            ),
            ResetGate::AfterMatMul => format!(
                "n = g(s + r m), m = Rh h + Rbh: S = S_s+E_s + |r| (S_m+E_m), \
                 E = (1+u) (E_s + |r| E_m + err(r) (S_m+E_m)) + {} u S + 2^-148; err(n) = {}; |n| <= {}",
                if profile.fused { 2 } else { 3 },
                error(g),
                range(g)
            ),
        });
        lines.push(format!(
            "error <= (1+u) (|1-z| err(n) + |z| err(h) + err(z) (|h|+|n|) + {} u (|1-z||n| + |z||h|) + 2^-147)",
            if profile.fused { 4 } else { 5 }
        ));
    }
    if profile.flush_denormals {
        lines.push("and 2^-100 for states that are flushed to zero".to_owned());
    }
    lines
}

/// What an activation of a sum makes of the sum's error E, as text.
fn error_text(activation: Activation, fused: bool) -> String {
    let (image, own) = (activation::image(activation, f64::from(f32::MAX)), activation::error(activation, fused));
    let mut text = match image.slope {
        1.0 => "E".to_owned(),
        0.25 => "E/4".to_owned(),
        slope => format!("{slope} E"),
    };
    if image.jump > 0.0 {
        text += &format!(" + {}", image.jump);
    }
    let limit = image.least.abs().max(image.most.abs());
    match own.ulp {
        0.0 => {}
        // just below 1 the spacing is u
        ulp if limit == 1.0 => text += &format!(" + {ulp} u"),
        ulp if limit.is_finite() => text += &format!(" + {} u {limit} + 2^-149", 2.0 * ulp),
        ulp => text += &format!(" + {} u ({}) + 2^-149", 2.0 * ulp, range_text(activation)),
    }
    if own.of_argument > 0.0 {
        text += &format!(" + {:e} (S+E)", own.of_argument);
    }
    if own.absolute > 0.0 {
        text += &format!(" + {:e}", own.absolute);
    }
    text
}

/// What the computed activation of a sum does not exceed in magnitude, as text.
fn range_text(activation: Activation) -> String {
    let image = activation::image(activation, f64::from(f32::MAX));
    let limit = image.least.abs().max(image.most.abs());
    if limit.is_finite() {
        return limit.to_string();
    }
    let sum = match (image.slope, exact(activation, 0.0).abs()) {
        (1.0, 0.0) => "S+E".to_owned(),
        (slope, 0.0) => format!("{slope} (S+E)"),
        (slope, at_zero) => format!("{slope} (S+E) + {at_zero}"),
    };
    match activation::error(activation, false).ulp {
        0.0 => sum,
        // wider than what any function without a limit adds
        _ => format!("(1+5u) ({sum}) + 2^-149"),
    }
}

#[cfg(test)]
mod tests;
