//! Ranges and errors of numbers, and f32 arithmetic on them.

use super::{Profile, U, UNDERFLOW};
use crate::core::Number;
use crate::math;
use crate::model::{Activation, CurveShape, MathFunction};

/// A range of the exact and the computed value, and a bound of their difference.
///
/// All three numbers are finite, except in [`ANYTHING`], which includes NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Value {
    low: f64,
    high: f64,
    error: f64,
}

/// A value without a bound; may be NaN.
const ANYTHING: Value = Value { low: f64::NEG_INFINITY, high: f64::INFINITY, error: f64::INFINITY };

impl Value {
    pub(super) fn new(low: f64, high: f64, error: f64) -> Self {
        // comparisons with NaN are false, so NaN gives ANYTHING
        let finite = low >= -f64::from(f32::MAX)
            && high <= f64::from(f32::MAX)
            && low <= high
            && error >= 0.0;
        if finite { Self { low, high, error: error.min(high - low) } } else { ANYTHING }
    }

    /// A number of limited magnitude, without error.
    pub(super) fn within(magnitude: f64) -> Self {
        Self::new(-magnitude, magnitude, 0.0)
    }

    /// A known number.
    pub(super) fn exactly(number: f64) -> Self {
        Self::new(number, number, 0.0)
    }

    /// Bound of the difference. Infinite: no bound.
    pub(super) fn error(self) -> f64 {
        self.error
    }

    pub(super) fn low(self) -> f64 {
        self.low
    }

    pub(super) fn high(self) -> f64 {
        self.high
    }

    /// Largest magnitude of the exact and the computed value.
    pub(super) fn magnitude(self) -> f64 {
        self.low.abs().max(self.high.abs())
    }

    pub(super) fn is_bounded(self) -> bool {
        self.error.is_finite()
    }

    /// The value rounded to f32. Rounding is monotonic: the ends of the range are rounded to
    /// neighbouring f32, away from each other.
    pub(super) fn rounded(self) -> Self {
        let error = self.error + self.magnitude() * U + UNDERFLOW;
        Self::new(below(self.low), above(self.high), error)
    }

    /// The value with an additional error of the computed value.
    pub(super) fn off_by(self, more: f64) -> Self {
        Self::new(self.low - more, self.high + more, self.error + more)
    }

    /// One of two values: the union of their ranges.
    pub(super) fn either(self, other: Self) -> Self {
        Self::new(self.low.min(other.low), self.high.max(other.high), self.error.max(other.error))
    }

    /// The value, flushed to 0 if its magnitude is below `limit`.
    pub(super) fn or_zero_below(self, limit: f64) -> Self {
        if self.low >= limit || self.high <= -limit {
            return self;
        }
        Self::new(self.low.min(0.0), self.high.max(0.0), self.error + limit.min(self.magnitude()))
    }

    /// The value clipped to `-limit..=limit`. Clipping adds no error.
    pub(super) fn clipped(self, limit: f64) -> Self {
        let clip = |v: f64| v.clamp(-limit, limit);
        if self.is_bounded() {
            Self::new(clip(self.low), clip(self.high), self.error)
        } else {
            ANYTHING
        }
    }

    /// The unrounded sum: [`Self::terms`] already counts the rounding.
    pub(super) fn plus(self, other: Self) -> Self {
        Self::new(self.low + other.low, self.high + other.high, self.error + other.error)
    }

    /// `a + b`
    pub(super) fn add(self, other: Self) -> Self {
        self.plus(other).rounded()
    }

    /// `a - b`
    pub(super) fn sub(self, other: Self) -> Self {
        Self::new(self.low - other.high, self.high - other.low, self.error + other.error).rounded()
    }

    /// The products of the ends of both ranges.
    fn ends(self, other: Self) -> [f64; 4] {
        [self.low * other.low, self.low * other.high, self.high * other.low, self.high * other.high]
    }

    /// The unrounded product.
    fn times(self, other: Self) -> Self {
        if !self.is_bounded() || !other.is_bounded() {
            return ANYTHING;
        }
        let ends = self.ends(other);
        let error = self.magnitude() * other.error + self.error * other.magnitude();
        Self::new(least(&ends), most(&ends), error)
    }

    /// The unrounded product with a gate. The error is the smaller of two bounds: of any product,
    /// and of a product with a sigmoid, whose error is small near 0 and 1.
    pub(super) fn gated(self, gate: Gate) -> Self {
        let plain = gate.value.times(self);
        match gate.most(0.0, self.error, self.magnitude()) {
            Some(error) if plain.is_bounded() => {
                Self::new(plain.low, plain.high, plain.error.min(error))
            }
            _ => plain,
        }
    }

    /// `a b`
    pub(super) fn mul(self, other: Self) -> Self {
        self.times(other).rounded()
    }

    /// `a b + c`, rounded once if fused.
    pub(super) fn mul_add(self, b: Self, c: Self, fused: bool) -> Self {
        if fused { self.times(b).plus(c).rounded() } else { self.mul(b).add(c) }
    }

    /// `a / b`
    pub(super) fn div(self, other: Self) -> Self {
        let nearest = if other.low > 0.0 { other.low } else { -other.high };
        if !self.is_bounded() || !other.is_bounded() || nearest <= 0.0 {
            return ANYTHING;
        }
        let ends = [
            self.low / other.low,
            self.low / other.high,
            self.high / other.low,
            self.high / other.high,
        ];
        let quotient = Self::new(least(&ends), most(&ends), 0.0);
        // a/b - a~/b~ = (a - a~)/b~ + (a/b)(b~ - b)/b~
        let error = (self.error + quotient.magnitude() * other.error) / nearest;
        Self::new(quotient.low, quotient.high, error).rounded()
    }

    /// The larger value. The error of a maximum is at most the larger of both errors.
    pub(super) fn max(self, other: Self) -> Self {
        let error = self.error.max(other.error);
        Self::new(self.low.max(other.low), self.high.max(other.high), error).known_if(self, other)
    }

    /// The smaller value. The error of a minimum is at most the larger of both errors.
    pub(super) fn min(self, other: Self) -> Self {
        let error = self.error.max(other.error);
        Self::new(self.low.min(other.low), self.high.min(other.high), error).known_if(self, other)
    }

    /// `v` if v > 0, else `slope v`.
    pub(super) fn prelu(self, slope: Self) -> Self {
        let scaled = self.times(slope);
        if !scaled.is_bounded() {
            return ANYTHING;
        }
        let (low, high) = (self.low.min(scaled.low), self.high.max(scaled.high));
        let error = self.error * slope.magnitude().max(1.0) + self.magnitude() * slope.error;
        Self::new(low, high, error).rounded()
    }

    /// True if exact and computed value are below `other`.
    pub(super) fn surely_less(self, other: Self) -> bool {
        self.high < other.low
    }

    /// True if exact and computed value are not above `other`.
    pub(super) fn surely_not_above(self, other: Self) -> bool {
        self.high <= other.low && self.is_bounded() && other.is_bounded()
    }

    /// True if the computed value equals the exact value.
    pub(super) fn is_exact(self) -> bool {
        self.error == 0.0
    }

    /// A decision: 1 if `one`, 0 if `zero`, else unknown. `same` is true if exact and computed
    /// operands give the same decision.
    pub(super) fn decided(one: bool, zero: bool, same: bool) -> Self {
        match (one, zero) {
            (true, _) => Self::exactly(1.0),
            (_, true) => Self::exactly(0.0),
            _ => Self::new(0.0, 1.0, if same { 0.0 } else { 1.0 }),
        }
    }

    /// `then` if this value is above 0.5, `otherwise` if below, else the union of both.
    pub(super) fn selected(self, then: Self, otherwise: Self) -> Self {
        match (self.low > 0.5, self.high < 0.5) {
            (true, _) => return then,
            (_, true) => return otherwise,
            _ if !then.is_bounded() || !otherwise.is_bounded() => return ANYTHING,
            _ => {}
        }
        let either = then.either(otherwise);
        match self.is_exact() {
            true => either,
            // the exact decision may select one operand, and the computed decision the other
            false => Self::new(either.low, either.high, either.high - either.low),
        }
    }

    /// `self`, a maximum or minimum of `a` and `b`. [`ANYTHING`] if an operand may be NaN.
    fn known_if(self, a: Self, b: Self) -> Self {
        if a.is_bounded() && b.is_bounded() { self } else { ANYTHING }
    }

    /// A sum of terms `a b`, with all roundings: the first term is rounded `most` times, each
    /// following term once less.
    pub(super) fn terms(terms: impl Iterator<Item = (Self, Self)>, most: usize) -> Self {
        // (1+u)^n - 1 <= n u / (1 - most u) for all n <= most
        let scale = U / (1.0 - most as f64 * U).max(0.0);
        let (mut low, mut high, mut magnitude, mut passed) = (0.0, 0.0, 0.0, 0.0);
        let mut rounding = most as f64 * UNDERFLOW * (1.0 + most as f64 * scale);
        for (k, (a, b)) in terms.enumerate() {
            let (m, n) = (a.magnitude(), b.magnitude());
            let ends = a.ends(b);
            low += least(&ends);
            high += self::most(&ends);
            magnitude += m * n;
            passed += m * b.error + a.error * n;
            rounding += (most - k) as f64 * scale * m * n;
        }
        // the sum of all magnitudes does not overflow: then no partial sum does, in any order
        if magnitude + passed + rounding > f64::from(f32::MAX) {
            return ANYTHING;
        }
        Self::new(low - rounding, high + rounding, passed + rounding)
    }

    pub(super) fn activated(self, function: MathFunction, profile: &Profile) -> Self {
        if !self.is_bounded() {
            return ANYTHING;
        }
        let magnitude = self.magnitude();
        let Profile { accuracy, fused, .. } = *profile;
        let arguments = [self.low, self.high];
        let Some(image) = math::image_between(function, arguments, self.error) else {
            return ANYTHING;
        };
        let approximation = math::own_error(function, accuracy, fused, magnitude, &image);
        let step = if self.error > 0.0 { image.jump } else { 0.0 };
        let passed = if self.error > 0.0 { image.slope * self.error } else { 0.0 };
        let error = (passed + step).min(image.high - image.low) + approximation;
        Self::new(
            (image.low - approximation).max(image.least),
            (image.high + approximation).min(image.most),
            error,
        )
    }

    /// `z h + (1 - z) n` with a gate z.
    ///
    /// Errors dz, dh and dn of the operands change the result by `dn (1 - z) + z dh + dz (h - n)`,
    /// with the computed z in the first two terms.
    pub(super) fn blend(gate: Gate, h: Self, n: Self, fused: bool) -> Self {
        let z = gate.value;
        if ![z, h, n].iter().all(|v| v.is_bounded()) {
            return ANYTHING;
        }
        let rest = (1.0 - z.low).abs().max((1.0 - z.high).abs());
        let share = z.magnitude();
        let (h_most, n_most) = (h.magnitude(), n.magnitude());
        // no intermediate value may overflow
        let parts = [rest * (1.0 + U), rest * n_most * (1.0 + 3.0 * U), share * h_most * (1.0 + U)];
        if parts.iter().any(|p| *p > f64::from(f32::MAX)) {
            return ANYTHING;
        }
        // the result is linear in z: extremes are at the ends of the range of z
        let ends = [z.low, z.high];
        let mixed = |h: f64, n: f64| ends.map(|z| z * h + (1.0 - z) * n);
        let (low, high, passed) = if z.low >= 0.0 && z.high <= 1.0 {
            (
                least(&mixed(h.low, n.low)),
                most(&mixed(h.high, n.high)),
                most(&mixed(h.error, n.error)),
            )
        } else {
            let most = rest * n_most + share * h_most;
            (-most, most, n.error * rest + share * h.error)
        };
        let apart = (h.high - n.low).max(n.high - h.low);
        let error = passed + z.error * apart;
        let error = gate.most(n.error, h.error, apart).map_or(error, |most| most.min(error));
        // roundings of 1 - z and of (1 - z) n
        let mut rounding = rest * n_most * (2.0 * U + U * U) + UNDERFLOW;
        if !fused {
            rounding += share * h_most * U + UNDERFLOW;
        }
        let magnitude = low.abs().max(high.abs());
        rounding += (magnitude + error + rounding) * U + UNDERFLOW;
        Self::new(low - rounding, high + rounding, error + rounding)
    }
}

/// A gate: a value, and for sigmoids the dependence of the error on the value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gate {
    pub(super) value: Value,
    /// The error of the argument, and the error of the sigmoid's arithmetic. `None` for other
    /// functions, and if the argument has no bound.
    sigmoid: Option<[f64; 2]>,
}

impl Gate {
    /// A gate that is not directly the result of a sigmoid.
    pub(super) fn any(value: Value) -> Self {
        Self { value, sigmoid: None }
    }

    /// An activation of `argument`.
    pub(super) fn activated(argument: Value, activation: Activation, profile: &Profile) -> Self {
        let function = MathFunction::Activation(activation);
        let value = argument.activated(function, profile);
        let Profile { accuracy, fused, .. } = *profile;
        let image =
            (function.curve() == CurveShape::Logistic && argument.is_bounded()).then(|| {
                let arguments = [argument.low, argument.high];
                math::image_between(function, arguments, argument.error)
            });
        let sigmoid = image.flatten().map(|image| {
            let magnitude = argument.magnitude();
            [argument.error, math::own_error(function, accuracy, fused, magnitude, &image)]
        });
        Self { value, sigmoid }
    }

    /// Maximum of `(1 - z) a + z b + |z - z'| c` for the computed gate z and the exact gate z';
    /// `None` if the gate is no sigmoid, or if the gate's range exceeds 0..=1.
    ///
    /// The slope of a sigmoid with value z is `z (1 - z)`: small near 0 and 1. With an error E of
    /// the argument and an error o of the arithmetic, `|z - z'|` is at most
    /// `E (z (1 - z) + o + E / 4) + o`, because the slope changes by at most the change of z. The
    /// maximum is at the vertex of a parabola in z, or at an end of the range.
    fn most(self, a: f64, b: f64, c: f64) -> Option<f64> {
        let [argument, own] = self.sigmoid?;
        let Value { low, high, .. } = self.value;
        if !(0.0..=1.0).contains(&low) || !(low..=1.0).contains(&high) {
            return None;
        }
        let curved = argument * c;
        let at = |z: f64| (1.0 - z) * a + z * b + z * (1.0 - z) * curved;
        let vertex =
            if curved > 0.0 { (0.5 + (b - a) / (2.0 * curved)).clamp(low, high) } else { low };
        let most = at(low).max(at(high)).max(at(vertex));
        Some(most + (argument * (own + 0.25 * argument) + own) * c)
    }
}

/// `(1+u)^n - 1`
pub(super) fn growth(n: usize) -> f64 {
    (n as f64 * U.ln_1p()).exp_m1()
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn most(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// The largest f32 that is not above `v`.
fn below(v: f64) -> f64 {
    let near = v as f32;
    f64::from(if f64::from(near) > v { near.next_down() } else { near })
}

/// The smallest f32 that is not below `v`.
fn above(v: f64) -> f64 {
    -below(-v)
}

impl Number for Value {
    fn add(self, other: Self) -> Self {
        Value::add(self, other)
    }

    fn subtract(self, other: Self) -> Self {
        self.sub(other)
    }

    fn multiply(self, other: Self) -> Self {
        self.mul(other)
    }

    fn divide(self, other: Self) -> Self {
        self.div(other)
    }

    fn maximum(self, other: Self) -> Self {
        self.max(other)
    }

    fn minimum(self, other: Self) -> Self {
        self.min(other)
    }

    fn prelu(self, slope: Self) -> Self {
        Value::prelu(self, slope)
    }

    fn less(self, other: Self) -> Self {
        let same = self.is_exact() && other.is_exact();
        Self::decided(self.surely_less(other), other.surely_not_above(self), same)
    }

    fn less_equal(self, other: Self) -> Self {
        let same = self.is_exact() && other.is_exact();
        Self::decided(self.surely_not_above(other), other.surely_less(self), same)
    }

    fn equal(self, other: Self) -> Self {
        let same = self.is_exact() && other.is_exact();
        Self::decided(false, self.surely_less(other) || other.surely_less(self), same)
    }

    fn select(self, then: Self, otherwise: Self) -> Self {
        self.selected(then, otherwise)
    }
}
