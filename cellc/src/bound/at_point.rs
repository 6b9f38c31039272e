//! Error analysis at one input: carries each exact value together with a range and an error of the
//! computed value.
//!
//! At one input, ranges are as narrow as the errors: an activation scales an error by its local
//! slope, and a divisor is nearly one number. At comparisons, roundings and TopK, exact values give
//! the right decision. If errors may change the decision, the bound covers all possible decisions.

use super::ErrorAnalysis;
use super::value::Value;
use crate::core::{CoreCell, PointwiseFunction, TopK};
use crate::evaluate::{
    BatchRow, CellWeights, Column, Domain, MatrixRow, State, StepInputs, steps_of,
};
use crate::model::{Binary, CurveShape};
use crate::reference::{self, FLOAT64, order, place_of};

/// Relative allowance for the rounding errors of the float64 arithmetic in this module.
const MARGIN: f64 = 1e-9;

/// An exact value, with a range and an error of the computed value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AtPoint {
    exact: f64,
    pub(super) value: Value,
}

impl AtPoint {
    /// Narrows the range of `value` to `exact` ± the error of `value`.
    fn new(exact: f64, value: Value) -> Self {
        let around = value.error() * (1.0 + MARGIN) + exact.abs() * 1e-12;
        if !value.is_bounded() || !around.is_finite() {
            return Self { exact, value };
        }
        let (low, high) = (value.low().max(exact - around), value.high().min(exact + around));
        Self {
            exact,
            value: if low <= high { Value::new(low, high, value.error()) } else { value },
        }
    }

    /// True if rounding errors cannot change the order of the two values.
    fn is_apart(self, other: Self) -> bool {
        let errors = self.value.error() + other.value.error();
        let all_exact = self.value.is_exact() && other.value.is_exact();
        all_exact
            || (self.exact - other.exact).abs()
                > errors * (1.0 + MARGIN) + MARGIN * self.exact.abs()
    }

    /// Result of a comparison: the exact result `right` if certain, else 0 or 1.
    fn decided(right: f64, certain: bool) -> Value {
        if certain { Value::exactly(right) } else { Value::new(0.0, 1.0, 1.0) }
    }
}

/// True if all first factors and all products are integers, and the sum of the products is exact in
/// f32 in any order.
fn is_whole(terms: impl Iterator<Item = (f64, f64)>) -> bool {
    const EXACT: f64 = 16_777_216.0;
    let mut most = 0.0;
    for (a, b) in terms {
        let product = a * b;
        most += product.abs();
        // the fraction of NaN is NaN, which is not 0: a NaN is no integer
        if product.fract() != 0.0 || a.fract() != 0.0 || most.is_nan() || most > EXACT {
            return false;
        }
    }
    true
}

/// The domain of [`AtPoint`]: float64 for the exact values, the error analysis for the ranges.
pub(super) struct AtOneInput(pub(super) ErrorAnalysis);

/// Splits values into exact values and ranges.
fn split(values: &[AtPoint]) -> (Vec<f64>, Vec<Value>) {
    values.iter().map(|v| (v.exact, v.value)).unzip()
}

/// Joins exact values and ranges.
fn join(exact: Vec<f64>, values: Vec<Value>) -> Vec<AtPoint> {
    exact.into_iter().zip(values).map(|(exact, value)| AtPoint::new(exact, value)).collect()
}

impl Domain for AtOneInput {
    type Value = AtPoint;
    /// Row for the exact values, and row for the ranges.
    type Row<'r> = (reference::Encoded<'r>, super::Encoded<'r>);

    fn input(&self, number: f64) -> AtPoint {
        AtPoint::new(number, self.0.input(number))
    }

    fn flush_below(&self) -> Option<f32> {
        self.0.flush_below()
    }

    fn flushed(&self, v: AtPoint) -> AtPoint {
        AtPoint::new(v.exact, self.0.flushed(v.value))
    }

    fn constant(&self, number: f64) -> AtPoint {
        AtPoint { exact: number, value: self.0.constant(number) }
    }

    fn known(&self, value: &AtPoint) -> Option<f64> {
        value.value.is_exact().then_some(value.exact)
    }

    /// No bound if the sequence length is unknown (NaN).
    fn sequence(
        &self,
        cell: &CoreCell,
        weights: &CellWeights<'_>,
        row: &BatchRow<'_, AtPoint>,
        length: f64,
    ) -> (Vec<Vec<AtPoint>>, State<AtPoint>) {
        let (mut y, mut last) = steps_of(self, cell, weights, row, length);
        if length.is_nan() {
            let values = y.iter_mut().flatten().chain(&mut last.h).chain(&mut last.c);
            values.for_each(|v| v.value = Value::within(f64::INFINITY));
        }
        (y, last)
    }

    fn step(
        &self,
        cell: &CoreCell,
        weights: &CellWeights<'_>,
        step: StepInputs<'_, AtPoint>,
    ) -> State<AtPoint> {
        let (x, h, c) = (split(step.x), split(step.h), split(step.c));
        let a = step.a.map(|a| (a.exact, a.value));
        let exact = StepInputs { x: &x.0, h: &h.0, c: &c.0, a: a.as_ref().map(|a| &a.0) };
        let known = StepInputs { x: &x.1, h: &h.1, c: &c.1, a: a.as_ref().map(|a| &a.1) };
        let (exact, known) =
            (FLOAT64.step(cell, weights, exact), self.0.step(cell, weights, known));
        State { h: join(exact.h, known.h), c: join(exact.c, known.c) }
    }

    fn rounded(&self, operation: usize, taps: usize, channel: &[AtPoint]) -> Option<Vec<AtPoint>> {
        let (exact, known) = split(channel);
        // exact values are not rounded: the error of the ranges covers the rounding
        Some(join(exact, self.0.rounded(operation, taps, &known)?))
    }

    fn encoded<'r>(&self, row: MatrixRow<'r>) -> Self::Row<'r> {
        (FLOAT64.encoded(row), self.0.encoded(row))
    }

    fn row(&self, (of_exact, of_known): &Self::Row<'_>, values: &[AtPoint]) -> AtPoint {
        let (exact, known) = split(values);
        if known.iter().all(|v| v.is_exact())
            && of_known.stored.is_none()
            && is_whole(of_known.row.weights().zip(exact.iter().copied()))
        {
            return self.constant(FLOAT64.row(of_exact, &exact));
        }
        AtPoint::new(FLOAT64.row(of_exact, &exact), self.0.row(of_known, &known))
    }

    fn dot(&self, terms: impl ExactSizeIterator<Item = (AtPoint, AtPoint)>) -> AtPoint {
        let terms: Vec<_> = terms.collect();
        let exact = FLOAT64.dot(terms.iter().map(|(a, b)| (a.exact, b.exact)));
        let all_exact = terms.iter().all(|(a, b)| a.value.is_exact() && b.value.is_exact());
        if all_exact && is_whole(terms.iter().map(|(a, b)| (a.exact, b.exact))) {
            return self.constant(exact);
        }
        AtPoint::new(exact, self.0.dot(terms.iter().map(|(a, b)| (a.value, b.value))))
    }

    fn pointwise(&self, function: PointwiseFunction, operands: &[AtPoint]) -> AtPoint {
        use Binary::{Add, Divide, Multiply, Subtract};
        use PointwiseFunction as P;
        let (exact, known) = split(operands);
        let right = FLOAT64.pointwise(function, &exact);
        let is_bounded = known.iter().all(|v| v.is_bounded());
        let value = match (function, operands) {
            (P::Less | P::LessEqual | P::Equal, &[a, b]) if is_bounded => {
                AtPoint::decided(right, a.is_apart(b))
            }
            // results that f32 represents are not rounded
            (P::Binary(Add | Subtract | Multiply | Divide), &[a, b])
                if a.value.is_exact() && b.value.is_exact() && f64::from(right as f32) == right =>
            {
                Value::exactly(right)
            }
            (P::Select, &[condition, then, otherwise]) if is_bounded => {
                match condition.value.is_exact() {
                    true => {
                        if condition.exact > 0.5 {
                            then.value
                        } else {
                            otherwise.value
                        }
                    }
                    false => {
                        let either = then.value.either(otherwise.value);
                        let apart = (then.exact - otherwise.exact).abs();
                        Value::new(either.low(), either.high(), apart + either.error())
                    }
                }
            }
            (P::Math(math), &[v]) if math.curve() == CurveShape::Stairs && is_bounded => {
                let error = v.value.error() * (1.0 + MARGIN);
                let [low, high] =
                    [v.exact - error, v.exact + error].map(|v| FLOAT64.pointwise(function, &[v]));
                Value::new(low, high, (right - low).max(high - right))
            }
            (
                P::Math(_)
                | P::Binary(_)
                | P::PRelu
                | P::Less
                | P::LessEqual
                | P::Equal
                | P::Select,
                _,
            ) => self.0.pointwise(function, &known),
        };
        AtPoint::new(right, value)
    }

    fn lookup(&self, (rows, at): Column<'_, AtPoint>, number: &AtPoint) -> AtPoint {
        let chosen = at(crate::reference::row_index(number.exact, rows));
        let value = match number.value.is_exact() {
            true => chosen.value,
            false => self.0.lookup((rows, &|row| at(row).value), &number.value),
        };
        AtPoint { exact: chosen.exact, value }
    }

    fn top_k(&self, top: &TopK, row: &[AtPoint]) -> Vec<(AtPoint, AtPoint)> {
        let (exact, known) = split(row);
        let anywhere = self.0.top_k(top, &known);
        let chosen = order(top, &exact).into_iter().zip(anywhere);
        chosen
            .map(|(at, (value, index))| {
                let candidate = row[at];
                let is_certain = candidate.value.is_bounded()
                    && row.iter().enumerate().all(|(i, v)| i == at || candidate.is_apart(*v));
                let (value, index) = match is_certain {
                    true => (candidate.value, Value::exactly(at as f64)),
                    false => (value, index),
                };
                (
                    AtPoint { exact: exact[at], value },
                    AtPoint { exact: place_of(at, exact[at]), value: index },
                )
            })
            .collect()
    }

    fn softmax(&self, values: &[AtPoint], log: bool) -> Vec<AtPoint> {
        let (exact, known) = split(values);
        join(FLOAT64.softmax(&exact, log), self.0.softmax(&known, log))
    }
}
