//! The semantics of pointwise operations, defined once for all number types.

use super::PointwiseFunction;
use crate::model::{Binary, MathFunction};

/// A number that pointwise operations compute with: f64, or a value with an error bound.
pub(crate) trait Number: Copy {
    fn add(self, other: Self) -> Self;
    fn subtract(self, other: Self) -> Self;
    fn multiply(self, other: Self) -> Self;
    fn divide(self, other: Self) -> Self;
    /// The larger number; NaN if either is NaN.
    fn maximum(self, other: Self) -> Self;
    /// The smaller number; NaN if either is NaN.
    fn minimum(self, other: Self) -> Self;
    /// The number if the number is above 0, else the number times `slope`.
    fn prelu(self, slope: Self) -> Self;
    /// 1 if the number is below the other, else 0.
    fn less(self, other: Self) -> Self;
    /// 1 if the number is at most the other, else 0.
    fn less_equal(self, other: Self) -> Self;
    /// 1 if the numbers are equal, else 0.
    fn equal(self, other: Self) -> Self;
    /// `then` if the number is 1, `otherwise` if the number is 0.
    fn select(self, then: Self, otherwise: Self) -> Self;
}

impl PointwiseFunction {
    /// The result for [`Self::arity`] operands. `math` computes a function of one number.
    pub(crate) fn compute<N: Number>(
        self,
        operands: &[N],
        math: impl FnOnce(MathFunction, N) -> N,
    ) -> N {
        assert_eq!(operands.len(), self.arity(), "core: operands of {}", self.name());
        let first = operands[0];
        match self {
            Self::Math(function) => math(function, first),
            Self::Binary(binary) => binary.of(first, operands[1]),
            Self::PRelu => first.prelu(operands[1]),
            Self::Less => first.less(operands[1]),
            Self::LessEqual => first.less_equal(operands[1]),
            Self::Equal => first.equal(operands[1]),
            Self::Select => first.select(operands[1], operands[2]),
        }
    }
}

impl Binary {
    /// The result for two numbers.
    pub(crate) fn of<N: Number>(self, a: N, b: N) -> N {
        match self {
            Self::Add => a.add(b),
            Self::Subtract => a.subtract(b),
            Self::Multiply => a.multiply(b),
            Self::Divide => a.divide(b),
            Self::Maximum => a.maximum(b),
            Self::Minimum => a.minimum(b),
        }
    }
}

impl Number for f64 {
    fn add(self, other: Self) -> Self {
        self + other
    }

    fn subtract(self, other: Self) -> Self {
        self - other
    }

    fn multiply(self, other: Self) -> Self {
        self * other
    }

    fn divide(self, other: Self) -> Self {
        self / other
    }

    fn maximum(self, other: Self) -> Self {
        if self > other || self.is_nan() { self } else { other }
    }

    fn minimum(self, other: Self) -> Self {
        if self < other || self.is_nan() { self } else { other }
    }

    fn prelu(self, slope: Self) -> Self {
        if self > 0.0 { self } else { self * slope }
    }

    fn less(self, other: Self) -> Self {
        f64::from(u8::from(self < other))
    }

    fn less_equal(self, other: Self) -> Self {
        f64::from(u8::from(self <= other))
    }

    fn equal(self, other: Self) -> Self {
        f64::from(u8::from(self == other))
    }

    fn select(self, then: Self, otherwise: Self) -> Self {
        if self > 0.5 { then } else { otherwise }
    }
}
