//! Trigonometric and hyperbolic functions, composed of activations.
//!
//! Small results keep their digits, as no step subtracts nearly equal rounded numbers. With
//! activations of full accuracy, the largest errors are 3 ulp (tan, asin, acos), 5 ulp (asinh,
//! acosh, atanh) and 8 ulp (sinh, cosh). The error of tan holds for arguments up to 1,000, the
//! range of sine and cosine.

use std::f32::consts::LN_2;

use super::arithmetic::fold_or_emit;
use super::refusal::Rule;
use crate::core::CoreBuilder;
use crate::core::Known;
use crate::model::{Activation, Binary, Comparison, MathFunction, Primitive, Unary};

/// From this magnitude on, asinh and acosh are log(2 v) to the last bit. The square of larger
/// numbers may overflow.
const LARGE: f32 = 1_073_741_824.0;

/// Below this magnitude, asinh is v to the last bit.
const SMALL: f32 = 1.0 / 8192.0;

/// The operations of one formula. Each public method computes a function of the tensor `x`.
pub(super) struct Formula<'b> {
    pub(super) core: &'b mut CoreBuilder,
}

impl Formula<'_> {
    fn apply(&mut self, function: impl Into<Primitive>, inputs: &[&Known]) -> Rule<Known> {
        fold_or_emit(self.core, function, inputs.iter().map(|&known| known.clone()).collect())
    }

    fn math(&mut self, function: impl Into<MathFunction>, x: &Known) -> Rule<Known> {
        self.apply(function.into(), &[x])
    }

    /// A function of a value and a number.
    fn with(&mut self, function: impl Into<Primitive>, x: &Known, number: f32) -> Rule<Known> {
        let number = Known::number_like(x, number);
        self.apply(function, &[x, &number])
    }

    /// `number - v`
    fn minus_from(&mut self, number: f32, x: &Known) -> Rule<Known> {
        let number = Known::number_like(x, number);
        self.apply(Binary::Subtract, &[&number, x])
    }

    fn sum(&mut self, a: &Known, b: &Known) -> Rule<Known> {
        self.apply(Binary::Add, &[a, b])
    }

    fn product(&mut self, a: &Known, b: &Known) -> Rule<Known> {
        self.apply(Binary::Multiply, &[a, b])
    }

    fn quotient(&mut self, a: &Known, b: &Known) -> Rule<Known> {
        self.apply(Binary::Divide, &[a, b])
    }

    /// `sin v / cos v`
    pub(super) fn tan(&mut self, x: &Known) -> Rule<Known> {
        let (sine, cosine) = (self.math(MathFunction::Sin, x)?, self.math(MathFunction::Cos, x)?);
        self.quotient(&sine, &cosine)
    }

    /// `e^2 / 2 + 1 / (2 e^2)` with `e = exp(|v| / 2)`: e does not overflow before the result does.
    pub(super) fn cosh(&mut self, x: &Known) -> Rule<Known> {
        let magnitude = self.apply(Unary::Abs, &[x])?;
        let half = self.with(Binary::Multiply, &magnitude, 0.5)?;
        let e = self.apply(MathFunction::Exp, &[&half])?;
        let large = self.with(Binary::Multiply, &e, 0.5)?;
        let large = self.product(&large, &e)?;
        let half = Known::number_like(x, 0.5);
        let small = self.quotient(&half, &e)?;
        let small = self.quotient(&small, &e)?;
        self.sum(&large, &small)
    }

    /// `tanh v cosh v`
    pub(super) fn sinh(&mut self, x: &Known) -> Rule<Known> {
        let tanh = self.math(Activation::Tanh, x)?;
        let cosh = self.cosh(x)?;
        self.product(&tanh, &cosh)
    }

    /// `1 - v` and `1 + v`
    fn factors(&mut self, x: &Known) -> Rule<[Known; 2]> {
        Ok([self.minus_from(1.0, x)?, self.with(Binary::Add, x, 1.0)?])
    }

    /// `2 atan(v / (1 + sqrt(1 - v^2)))`
    pub(super) fn asin(&mut self, x: &Known) -> Rule<Known> {
        let [below, above] = self.factors(x)?;
        let square = self.product(&below, &above)?;
        let root = self.math(MathFunction::Sqrt, &square)?;
        let root = self.with(Binary::Add, &root, 1.0)?;
        let half = self.quotient(x, &root)?;
        let half = self.math(MathFunction::Atan, &half)?;
        self.with(Binary::Multiply, &half, 2.0)
    }

    /// `2 atan(sqrt((1 - v) / (1 + v)))`
    pub(super) fn acos(&mut self, x: &Known) -> Rule<Known> {
        let [below, above] = self.factors(x)?;
        let square = self.quotient(&below, &above)?;
        let root = self.math(MathFunction::Sqrt, &square)?;
        let half = self.math(MathFunction::Atan, &root)?;
        self.with(Binary::Multiply, &half, 2.0)
    }

    /// `log(1 + v)` as `v log(w) / (w - 1)`, where `w` is `1 + v`, rounded: near 1, the rounding of
    /// `w` hardly changes `log(w) / (w - 1)`.
    fn log_1p(&mut self, x: &Known) -> Rule<Known> {
        let w = self.with(Binary::Add, x, 1.0)?;
        let rest = self.with(Binary::Subtract, &w, 1.0)?;
        let log = self.apply(MathFunction::Log, &[&w])?;
        let slope = self.quotient(&log, &rest)?;
        let y = self.product(x, &slope)?;
        let is_tiny = self.with(Comparison::Equal, &rest, 0.0)?;
        self.apply(Primitive::Select, &[&is_tiny, x, &y])
    }

    /// `log(2 v)` from [`LARGE`] on, `near` below.
    fn or_log(&mut self, x: &Known, near: &Known) -> Rule<Known> {
        let log = self.apply(MathFunction::Log, &[x])?;
        let log = self.with(Binary::Add, &log, LN_2)?;
        let is_large = self.with(Comparison::Greater, x, LARGE)?;
        self.apply(Primitive::Select, &[&is_large, &log, near])
    }

    /// `log(1 + a + a^2 / (1 + sqrt(1 + a^2)))` with `a = |v|`, with the sign of v.
    pub(super) fn asinh(&mut self, x: &Known) -> Rule<Known> {
        let magnitude = self.apply(Unary::Abs, &[x])?;
        let square = self.math(MathFunction::Square, &magnitude)?;
        let root = self.with(Binary::Add, &square, 1.0)?;
        let root = self.math(MathFunction::Sqrt, &root)?;
        let root = self.with(Binary::Add, &root, 1.0)?;
        let above = self.quotient(&square, &root)?;
        let above = self.sum(&magnitude, &above)?;
        let near = self.log_1p(&above)?;
        let y = self.or_log(&magnitude, &near)?;
        let negative = self.apply(Unary::Negative, &[&y])?;
        let is_below = self.with(Comparison::Less, x, 0.0)?;
        let y = self.apply(Primitive::Select, &[&is_below, &negative, &y])?;
        let is_small = self.with(Comparison::Less, &magnitude, SMALL)?;
        self.apply(Primitive::Select, &[&is_small, x, &y])
    }

    /// `log(1 + t + sqrt(t) sqrt(v + 1))` with `t = v - 1`. NaN if a root is NaN.
    pub(super) fn acosh(&mut self, x: &Known) -> Rule<Known> {
        let t = self.with(Binary::Subtract, x, 1.0)?;
        let above = self.with(Binary::Add, x, 1.0)?;
        let roots = [self.math(MathFunction::Sqrt, &t)?, self.math(MathFunction::Sqrt, &above)?];
        let root = self.product(&roots[0], &roots[1])?;
        let sum = self.sum(&t, &root)?;
        let near = self.log_1p(&sum)?;
        self.or_log(x, &near)
    }

    /// `(log(1 + v) - log(1 - v)) / 2`
    pub(super) fn atanh(&mut self, x: &Known) -> Rule<Known> {
        let negative = self.apply(Unary::Negative, &[x])?;
        let (above, below) = (self.log_1p(x)?, self.log_1p(&negative)?);
        let y = self.apply(Binary::Subtract, &[&above, &below])?;
        self.with(Binary::Multiply, &y, 0.5)
    }
}
