//! Element-wise operations, by group. Passes handle a group as a whole, or the operations within
//! one group.

use super::{Activation, CurveShape, MathFunction};

/// The operation of [`Op::Elementwise`](super::Op::Elementwise).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Elementwise {
    /// A primitive operation. Other operations are composed of primitive operations.
    Primitive(Primitive),
    /// The remainder of a division.
    Remainder(Remainder),
    /// The first input to the power of the second. Both have one element type, which must be
    /// floating point at run time.
    Power,
    /// An operation that is composed of primitive operations.
    Composed(Composed),
}

/// An operation of which other operations are composed. Operations on constants are computed when
/// compiling. At run time, one core operation or a few core operations compute the result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Primitive {
    /// A function of one floating-point number. Integers are accepted by the rounding functions
    /// alone, which return them unchanged.
    Math(MathFunction),
    /// The first input if above 0, else its product with the second input, the slope. Floating
    /// point only.
    PRelu,
    /// Arithmetic of one number.
    Unary(Unary),
    /// Arithmetic of two numbers.
    Binary(Binary),
    /// A comparison of two numbers; the result is a truth value.
    Comparison(Comparison),
    /// An operation on truth values; the result is a truth value.
    Logic(Logic),
    /// Inputs: condition, then, else.
    Select,
}

/// Arithmetic of one number, floating point or integer.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)] // the names document the variants
pub enum Unary {
    Negative,
    Abs,
    Ceiling,
    /// -1, 0 or 1.
    Sign,
    Clamp {
        min: f32,
        max: f32,
    },
}

/// Arithmetic of two numbers, floating point or integer. One core operation computes the result;
/// quotients of integers need a second operation, which rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names document the variants
pub enum Binary {
    Add,
    Subtract,
    Multiply,
    /// Quotients of integers are rounded down.
    Divide,
    Maximum,
    Minimum,
}

/// The remainder of a division, by the sign of the remainder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remainder {
    /// The sign of the dividend: the quotient is truncated.
    OfDividend,
    /// The sign of the divisor: the quotient is rounded down.
    OfDivisor,
}

/// A comparison of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names document the variants
pub enum Comparison {
    Equal,
    NotEqual,
    Greater,
    GreaterEqual,
    Less,
    LessEqual,
}

/// An operation on truth values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names document the variants
pub enum Logic {
    And,
    Or,
    Not,
}

/// An operation that is composed of primitive operations. Integers are accepted by
/// [`Self::SquaredDifference`] and [`Self::TruncatedQuotient`] alone.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)] // the names document the variants
pub enum Composed {
    /// Inputs: v, alpha, beta. Alpha and beta are constants of one element.
    HardSigmoid,
    /// v times the sigmoid of v, or of v times the second input.
    Swish {
        scaled: bool,
    },
    /// v tanh(log(1 + exp(v)))
    Mish,
    /// v times hard sigmoid, alpha 1/6 and beta 1/2.
    HardSwish,
    /// gamma times elu. Inputs: v, alpha, gamma. Alpha and gamma are constants of one element.
    Selu,
    /// v, alpha (exp(v / alpha) - 1) where v < 0. Alpha is above 0.
    Celu {
        alpha: f32,
    },
    /// v where v > alpha, else 0. [`Activation::ThresholdedRelu`] has v also where v = alpha.
    ThresholdedRelu {
        alpha: f32,
    },
    /// v / 2 (1 + tanh(sqrt(2 / pi) (v + 0.044715 v^3)))
    GeluTanh,
    /// v / 2 (1 + erf(v / sqrt(2)))
    Gelu,
    Tan,
    Sinh,
    Cosh,
    Asin,
    Acos,
    Asinh,
    Acosh,
    Atanh,
    /// The square of the difference of two numbers, floating point or integer.
    SquaredDifference,
    /// The quotient of two numbers. Quotients of integers are rounded towards zero.
    TruncatedQuotient,
}

/// The facts about one operation element by element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementwiseFacts {
    /// The operation's name in messages that advise to add a layer.
    pub name: &'static str,
    /// The number of inputs.
    pub inputs: usize,
    /// The element type of the result.
    pub result: ResultType,
}

/// The element type of the result of an operation element by element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultType {
    /// Booleans.
    Truth,
    /// The type of the input at this place.
    OfInput(usize),
}

impl ElementwiseFacts {
    /// An operation whose result has the element type of its first input.
    const fn numbers(name: &'static str, inputs: usize) -> Self {
        Self { name, inputs, result: ResultType::OfInput(0) }
    }

    /// An operation whose result is truth values.
    const fn truth(name: &'static str, inputs: usize) -> Self {
        Self { name, inputs, result: ResultType::Truth }
    }
}

impl Elementwise {
    /// The facts about the operation.
    pub fn facts(self) -> ElementwiseFacts {
        let numbers = ElementwiseFacts::numbers;
        match self {
            Self::Primitive(primitive) => primitive.facts(),
            Self::Remainder(Remainder::OfDividend) => numbers("Mod", 2),
            Self::Remainder(Remainder::OfDivisor) => numbers("FloorMod", 2),
            Self::Power => numbers("Power", 2),
            Self::Composed(composed) => composed.facts(),
        }
    }

    /// True for the sum of two numbers.
    pub fn is_sum(self) -> bool {
        self == Binary::Add.into()
    }
}

impl Primitive {
    /// The facts about the operation.
    pub fn facts(self) -> ElementwiseFacts {
        let (numbers, truth) = (ElementwiseFacts::numbers, ElementwiseFacts::truth);
        match self {
            Self::Math(function) => numbers(function.name(), 1),
            Self::PRelu => numbers("PRelu", 2),
            Self::Unary(unary) => numbers(unary.name(), 1),
            Self::Binary(binary) => numbers(binary.name(), 2),
            Self::Comparison(comparison) => truth(comparison.name(), 2),
            Self::Logic(Logic::And) => truth("LogicalAnd", 2),
            Self::Logic(Logic::Or) => truth("LogicalOr", 2),
            Self::Logic(Logic::Not) => truth("LogicalNot", 1),
            Self::Select => {
                ElementwiseFacts { result: ResultType::OfInput(1), ..numbers("Select", 3) }
            }
        }
    }

    /// The index of the first data input: 1 for a Select, whose first input is the condition,
    /// otherwise 0.
    pub(crate) fn first_operand(self) -> usize {
        usize::from(self == Self::Select)
    }
}

impl Unary {
    /// The bounds of a Clamp of integers: the floating-point bounds, rounded inwards. `None` if no
    /// integer is between the bounds.
    pub(crate) fn integer_bounds(min: f32, max: f32) -> Option<[i64; 2]> {
        let [min, max] = [min.ceil() as i64, max.floor() as i64];
        (min <= max).then_some([min, max])
    }

    fn name(self) -> &'static str {
        match self {
            Self::Negative => "Negative",
            Self::Abs => "Abs",
            Self::Ceiling => "Ceiling",
            Self::Sign => "Sign",
            Self::Clamp { .. } => "Clamp",
        }
    }
}

impl Binary {
    fn name(self) -> &'static str {
        match self {
            Self::Add => "Add",
            Self::Subtract => "Subtract",
            Self::Multiply => "Multiply",
            Self::Divide => "Divide",
            Self::Maximum => "Maximum",
            Self::Minimum => "Minimum",
        }
    }
}

impl Elementwise {
    /// True if a floating-point type that holds the operands holds the results, too: operands,
    /// negated operands, operands rounded to whole numbers, or truth values.
    pub(crate) fn keeps_format(self) -> bool {
        match self {
            Self::Primitive(primitive) => match primitive {
                Primitive::Comparison(_) | Primitive::Logic(_) | Primitive::Select => true,
                Primitive::Unary(unary) => !matches!(unary, Unary::Clamp { .. }),
                Primitive::Binary(binary) => matches!(binary, Binary::Maximum | Binary::Minimum),
                Primitive::Math(MathFunction::Activation(Activation::ThresholdedRelu {
                    ..
                })) => true,
                Primitive::Math(function) => {
                    matches!(function.curve(), CurveShape::Stairs | CurveShape::Ramp)
                }
                Primitive::PRelu => false,
            },
            Self::Composed(composed) => matches!(composed, Composed::ThresholdedRelu { .. }),
            Self::Remainder(_) | Self::Power => false,
        }
    }
}

impl Remainder {
    /// The rounding of the quotient.
    pub(crate) fn rounding(self) -> MathFunction {
        match self {
            Self::OfDividend => MathFunction::Truncate,
            Self::OfDivisor => MathFunction::Floor,
        }
    }
}

impl Comparison {
    fn name(self) -> &'static str {
        match self {
            Self::Equal => "Equal",
            Self::NotEqual => "NotEqual",
            Self::Greater => "Greater",
            Self::GreaterEqual => "GreaterEqual",
            Self::Less => "Less",
            Self::LessEqual => "LessEqual",
        }
    }
}

impl Composed {
    /// True if the operands may be integers.
    pub(crate) fn takes_integers(self) -> bool {
        matches!(self, Self::SquaredDifference | Self::TruncatedQuotient)
    }

    /// The facts about the operation.
    pub fn facts(self) -> ElementwiseFacts {
        let numbers = ElementwiseFacts::numbers;
        match self {
            Self::HardSigmoid => numbers("HardSigmoid", 3),
            Self::Swish { scaled } => numbers("Swish", 1 + usize::from(scaled)),
            Self::Mish => numbers("Mish", 1),
            Self::HardSwish => numbers("HardSwish", 1),
            Self::Selu => numbers("Selu", 3),
            Self::Celu { .. } => numbers("Celu", 1),
            Self::ThresholdedRelu { .. } => numbers("ThresholdedRelu", 1),
            Self::GeluTanh | Self::Gelu => numbers("Gelu", 1),
            Self::Tan => numbers("Tan", 1),
            Self::Sinh => numbers("Sinh", 1),
            Self::Cosh => numbers("Cosh", 1),
            Self::Asin => numbers("Asin", 1),
            Self::Acos => numbers("Acos", 1),
            Self::Asinh => numbers("Asinh", 1),
            Self::Acosh => numbers("Acosh", 1),
            Self::Atanh => numbers("Atanh", 1),
            Self::SquaredDifference => numbers("SquaredDifference", 2),
            Self::TruncatedQuotient => numbers(Binary::Divide.name(), 2),
        }
    }
}

impl From<Primitive> for Elementwise {
    fn from(primitive: Primitive) -> Self {
        Self::Primitive(primitive)
    }
}

impl From<Remainder> for Elementwise {
    fn from(remainder: Remainder) -> Self {
        Self::Remainder(remainder)
    }
}

impl From<Composed> for Elementwise {
    fn from(composed: Composed) -> Self {
        Self::Composed(composed)
    }
}

/// Conversions from the operations of a group, which is a variant of [`Primitive`].
macro_rules! group {
    ($($group:ident($operation:ident))*) => {
        $(
            impl From<$operation> for Primitive {
                fn from(operation: $operation) -> Self {
                    Self::$group(operation)
                }
            }

            impl From<$operation> for Elementwise {
                fn from(operation: $operation) -> Self {
                    Self::Primitive(operation.into())
                }
            }
        )*
    };
}

group! { Math(MathFunction) Unary(Unary) Binary(Binary) Comparison(Comparison) Logic(Logic) }

impl From<Activation> for Primitive {
    fn from(activation: Activation) -> Self {
        Self::Math(activation.into())
    }
}

impl From<Activation> for Elementwise {
    fn from(activation: Activation) -> Self {
        Self::Primitive(activation.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_integers_are_rounded_inwards() {
        assert_eq!(Unary::integer_bounds(0.5, 2.0), Some([1, 2]));
        assert_eq!(Unary::integer_bounds(-4.0, -2.5), Some([-4, -3]));
        assert_eq!(Unary::integer_bounds(0.2, 0.8), None);
        let everything = Some([i64::MIN, i64::MAX]);
        assert_eq!(Unary::integer_bounds(f32::NEG_INFINITY, f32::INFINITY), everything);
    }
}
