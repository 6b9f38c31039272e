//! Functions of one number: activations, and functions as in C's `math.h`. Each has its exact value
//! in float64, an expansion to plain arithmetic, an error bound of the expansion, and its effect on
//! a range of arguments.
//!
//! Expansions are branch-free and use only operations with equal rounding in Rust and C. Every
//! language, number of lanes and instruction set of one arithmetic profile therefore gives equal
//! bits. Both profiles share one expansion: in the split profile [`crate::pass::split`] turns every
//! multiply-add into two operations. Error bounds are stated for both profiles.
//!
//! Less accurate levels have shorter polynomials and fewer dependent operations. Some functions
//! have one expansion for all levels.

mod affine;
mod atan;
mod elu;
mod erf;
mod exp;
mod floor;
mod hard_sigmoid;
mod leaky_relu;
mod log;
mod relu;
mod round;
mod scaled_tanh;
mod sigmoid;
mod sin;
mod softplus;
mod softsign;
mod sqrt;
mod square;
mod tanh;
#[cfg(test)]
mod tests;
mod thresholded_relu;
mod truncate;

use std::fmt;

use crate::kernel::{Expr, LaneOp, Local, Scalar, ScalarFunction, Stmt, Type, Var};
use crate::model::{Activation, MathFunction};
use crate::request::Accuracy;

/// The definition of a function with one argument and up to two parameters, alpha and beta.
struct Definition {
    /// The value in float64.
    exact: fn([f32; 2], f64) -> f64,
    /// The expansion: straight-line arithmetic for an accuracy.
    expand: fn([f32; 2], Accuracy) -> ScalarFunction,
    /// The error bound of the expansion, with fused multiply-add (`true`) or without.
    error: fn([f32; 2], Accuracy, bool) -> ErrorBound,
    /// The evidence for the error bound.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests of the bounds read it"))]
    evidence: Evidence,
    /// The image of the arguments up to a magnitude, given the values at both ends.
    image: fn([f32; 2], f64, [f64; 2]) -> Image,
    /// The image of a range of arguments. `None` for a square root of numbers that may be negative.
    image_between: fn([f32; 2], &Arguments) -> Option<Image>,
    /// The evaluation of constant arguments.
    constants: Constants,
}

/// The evidence for an error bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Evidence {
    /// The bound is the largest measured error of the function with the default parameters. Tests
    /// refuse a wider bound.
    Measured,
    /// The bound is derived for all parameters. With some parameters, the errors may stay far
    /// below the bound.
    Derived,
}

/// How the function of a constant is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Constants {
    /// cellc evaluates the function: the expansion gives the f32 nearest to the exact value.
    Rounded,
    /// cellc evaluates the function, because sizes and scales of models are exponentials and
    /// logarithms of constants. The value is the f32 nearest to the exact value; the expansion may
    /// give another f32.
    Exact,
    /// The generated code evaluates the expansion. The value may differ from the exact value,
    /// except for Relu and ThresholdedRelu.
    AtRunTime,
}

/// The definition of a function, and its parameters.
fn definition(function: MathFunction) -> (Definition, [f32; 2]) {
    let definition = match function {
        MathFunction::Activation(activation) => match activation {
            Activation::Relu => relu::DEFINITION,
            Activation::Sigmoid => sigmoid::DEFINITION,
            Activation::Tanh => tanh::DEFINITION,
            Activation::Affine { .. } => affine::DEFINITION,
            Activation::LeakyRelu { .. } => leaky_relu::DEFINITION,
            Activation::ThresholdedRelu { .. } => thresholded_relu::DEFINITION,
            Activation::ScaledTanh { .. } => scaled_tanh::DEFINITION,
            Activation::HardSigmoid { .. } => hard_sigmoid::DEFINITION,
            Activation::Elu { .. } => elu::DEFINITION,
            Activation::Softsign => softsign::DEFINITION,
            Activation::Softplus => softplus::DEFINITION,
        },
        MathFunction::Exp => exp::DEFINITION,
        MathFunction::Log => log::DEFINITION,
        MathFunction::Square => square::DEFINITION,
        MathFunction::Sqrt => sqrt::DEFINITION,
        MathFunction::Floor => floor::DEFINITION,
        MathFunction::Round => round::DEFINITION,
        MathFunction::Truncate => truncate::DEFINITION,
        MathFunction::Erf => erf::DEFINITION,
        MathFunction::Sin => sin::SIN,
        MathFunction::Cos => sin::COS,
        MathFunction::Atan => atan::DEFINITION,
    };
    let mut parameters = function.parameters().into_iter();
    (definition, [(); 2].map(|()| parameters.next().unwrap_or_default()))
}

/// The function's value in float64.
pub(crate) fn exact(function: MathFunction, v: f64) -> f64 {
    let (definition, parameters) = definition(function);
    (definition.exact)(parameters, v)
}

/// The function as straight-line arithmetic for an accuracy. `profiles`: as for [`stated`].
pub(crate) fn expand(
    function: MathFunction,
    accuracy: Accuracy,
    profiles: &[bool],
) -> ScalarFunction {
    let (definition, parameters) = definition(function);
    let mut expansion = (definition.expand)(parameters, accuracy);
    let stated = stated(function, accuracy, profiles);
    expansion.doc.extend(stated.map(|error| format!("At most {error}.")));
    expansion
}

/// The error bound of the expansion in words, for files whose bodies have these `profiles`: true
/// with fused multiply-add. `None` if the expansion is exact.
pub(crate) fn stated(
    function: MathFunction,
    accuracy: Accuracy,
    profiles: &[bool],
) -> Option<String> {
    let bound = |fused| error(function, accuracy, fused);
    let [fused, split] = match (profiles.contains(&true), profiles.contains(&false)) {
        (true, false) => [bound(true); 2],
        (false, true) => [bound(false); 2],
        _ => [bound(true), bound(false)],
    };
    let from = if fused.relative > 0.0 { "from the exact value y" } else { "from the exact value" };
    let without = || format!(", {split} without fused multiply-add");
    let without = if fused == split { String::new() } else { without() };
    (fused != ErrorBound::default()).then(|| format!("{fused} {from}{without}"))
}

/// The error bound of an expansion for all finite arguments without overflow: the sum of four
/// terms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ErrorBound {
    /// The term in units of the spacing of f32 at the exact value (ulp).
    pub ulp: f64,
    /// The term relative to the exact value.
    pub relative: f64,
    /// The term relative to the argument, for expansions whose terms cancel.
    pub of_argument: f64,
    /// The absolute term.
    pub absolute: f64,
}

impl ErrorBound {
    const fn ulp(ulp: f64) -> Self {
        Self { ulp, relative: 0.0, of_argument: 0.0, absolute: 0.0 }
    }

    /// The largest error for arguments and exact values of at most these magnitudes.
    pub(crate) fn within(&self, argument: f64, value: f64) -> f64 {
        // 0 times infinity is 0 here
        let part = |factor: f64, term: f64| if factor == 0.0 { 0.0 } else { factor * term };
        let of_value = part(self.ulp, spacing(value)) + part(self.relative, value);
        of_value + part(self.of_argument, argument) + self.absolute
    }
}

/// For example `2.45 ulp + 5.96e-8 |x|`, with x as the argument and y as the exact value. Empty for
/// an exact expansion.
impl fmt::Display for ErrorBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if self.ulp > 0.0 {
            parts.push(format!("{} ulp", self.ulp));
        }
        if self.relative > 0.0 {
            parts.push(format!("{} |y|", digits(self.relative)));
        }
        if self.of_argument > 0.0 {
            parts.push(format!("{} |x|", digits(self.of_argument)));
        }
        if self.absolute > 0.0 {
            parts.push(digits(self.absolute));
        }
        f.write_str(&parts.join(" + "))
    }
}

/// The number with four digits, rounded up.
fn digits(v: f64) -> String {
    let text = format!("{v:.3e}");
    if text.parse::<f64>().is_ok_and(|near| near < v) {
        format!("{:.3e}", v * 1.0005)
    } else {
        text
    }
}

/// Measured errors of a function, each with fused multiply-add and without.
struct Measured {
    /// Errors of the exact expansion in ulp, over every f32 unless noted otherwise.
    ulp: [f64; 2],
    /// Relative errors of the fast and audio expansions, over every f32 from 2^-4 to 2^7 in
    /// magnitude and one in 61 elsewhere.
    fast: [f64; 2],
    audio: [f64; 2],
    /// The absolute term of the error bounds of the fast and audio expansions.
    absolute: f64,
}

impl Measured {
    fn error(&self, accuracy: Accuracy, fused: bool) -> ErrorBound {
        let at = usize::from(!fused);
        let relative = |errors: [f64; 2]| ErrorBound {
            relative: errors[at],
            absolute: self.absolute,
            ..ErrorBound::default()
        };
        match accuracy {
            Accuracy::Exact => ErrorBound::ulp(self.ulp[at]),
            Accuracy::Fast => relative(self.fast),
            Accuracy::Audio => relative(self.audio),
        }
    }
}

/// The error bound of the expansion.
///
/// Errors of approximations are measured. A manual run of this module's tests repeats the
/// measurement over every f32.
pub(crate) fn error(function: MathFunction, accuracy: Accuracy, fused: bool) -> ErrorBound {
    let (definition, parameters) = definition(function);
    (definition.error)(parameters, accuracy, fused)
}

/// The largest error of the expansion for arguments of at most `magnitude` with values in `image`.
pub(crate) fn own_error(
    function: MathFunction,
    accuracy: Accuracy,
    fused: bool,
    magnitude: f64,
    image: &Image,
) -> f64 {
    let Image { low, high, least, most, .. } = *image;
    let (value, limit) = (low.abs().max(high.abs()), least.abs().max(most.abs()));
    // values at the limit are exact, and values below have at most the spacing of f32 just below
    // the limit
    let value = if value < limit { value } else { limit * (1.0 - U) };
    error(function, accuracy, fused).within(magnitude, value)
}

/// The effect of an exact function on a range of arguments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Image {
    /// `|f(a) - f(b)|` is at most `slope |a - b| + jump`.
    pub slope: f64,
    /// The height of the steps. 0: the function is continuous.
    pub jump: f64,
    /// A lower limit of the exact values for the range of arguments.
    pub low: f64,
    /// An upper limit of the exact values for the range of arguments.
    pub high: f64,
    /// A lower limit of exact and computed values for all arguments.
    pub least: f64,
    /// An upper limit of exact and computed values for all arguments.
    pub most: f64,
}

impl Image {
    /// The image of a function whose extreme values are at the ends of the arguments.
    fn between(slope: f64, ends: [f64; 2], [least, most]: [f64; 2]) -> Self {
        Self {
            slope,
            jump: 0.0,
            low: ends[0].min(ends[1]),
            high: ends[0].max(ends[1]),
            least,
            most,
        }
    }
}

/// The image of the arguments up to `magnitude`, which is at least 0.
pub(crate) fn image(function: MathFunction, magnitude: f64) -> Image {
    let ends = [-magnitude, magnitude].map(|v| exact(function, v));
    let (definition, parameters) = definition(function);
    (definition.image)(parameters, magnitude, ends)
}

/// A range of arguments.
struct Arguments {
    low: f64,
    high: f64,
    /// The largest distance of a computed argument from the exact argument.
    error: f64,
    /// The values of the function at `low` and `high`.
    ends: [f64; 2],
    /// The image of the arguments up to the largest magnitude of the range.
    all: Image,
}

impl Arguments {
    /// The magnitude of the argument nearest to 0.
    fn nearest(&self) -> f64 {
        self.low.max(-self.high).max(0.0)
    }

    /// The largest slope within the range, for a function with slope 1 above 0 and at most `slope`
    /// below 0.
    fn slope_below_zero(&self, slope: f64) -> f64 {
        match (self.low < 0.0, self.high > 0.0) {
            (true, true) => slope.max(1.0),
            (true, false) => slope,
            (false, _) => 1.0,
        }
    }

    /// The image of a function whose extreme values are at the ends of the arguments.
    fn monotone(&self, slope: f64) -> Option<Image> {
        let [a, b] = self.ends;
        Some(Image { slope, low: a.min(b), high: a.max(b), ..self.all })
    }
}

/// `1 / cosh(v)^2`
fn squared_sech(v: f64) -> f64 {
    4.0 * (-2.0 * v).exp() / (1.0 + (-2.0 * v).exp()).powi(2)
}

/// The image of the arguments `low..=high`, if computed arguments are at most `error` away from
/// exact arguments. At most as wide as [`image`], and narrower for asymmetric ranges of most
/// functions. `None` for a square root of numbers that may be negative.
pub(crate) fn image_between(
    function: MathFunction,
    [low, high]: [f64; 2],
    error: f64,
) -> Option<Image> {
    let (definition, parameters) = definition(function);
    let ends = [low, high].map(|v| exact(function, v));
    let whole_range = image(function, low.abs().max(high.abs()));
    (definition.image_between)(parameters, &Arguments { low, high, error, ends, all: whole_range })
}

/// How the function of a constant is evaluated.
pub(crate) fn constants(function: MathFunction) -> Constants {
    definition(function).0.constants
}

/// Half the spacing of f32 at 1: the largest relative error of a rounding.
pub(crate) const U: f64 = 1.0 / 16_777_216.0;

/// The largest absolute error of a rounding that underflows: 2^-150.
pub(crate) const UNDERFLOW: f64 = 7.006_492_321_624_085e-46;

/// The spacing of f32 at `v`.
fn spacing(v: f64) -> f64 {
    let exponent = (v.to_bits() >> 52 & 0x7ff).max(1023 - 126);
    f64::from_bits((exponent - 23) << 52)
}

const F32: Type = Type { scalar: Scalar::F32, lanes: 1 };
const U32: Type = Type { scalar: Scalar::U32, lanes: 1 };

/// A function of one argument under construction.
struct FunctionBuilder {
    function: ScalarFunction,
}

impl FunctionBuilder {
    /// Begins a function. Returns the builder and the argument of the function.
    fn new(name: &str, doc: &str) -> (Self, Expr) {
        let function = ScalarFunction {
            name: name.to_owned(),
            doc: vec![doc.to_owned()],
            locals: vec![Local { name: "x".to_owned(), ty: F32 }],
            params: 1,
            body: Vec::new(),
            result: None,
        };
        (Self { function }, Expr::Var(Var(0)))
    }

    /// Adds a comment to the generated code.
    fn comment(&mut self, text: &str) {
        self.function.body.push(Stmt::Comment(text.to_owned()));
    }

    /// Declares an f32 variable.
    fn float(&mut self, name: &str, value: Expr) -> Expr {
        self.define(name, F32, value)
    }

    /// Declares a u32 variable.
    fn bits(&mut self, name: &str, value: Expr) -> Expr {
        self.define(name, U32, value)
    }

    fn define(&mut self, name: &str, ty: Type, value: Expr) -> Expr {
        let var = Var(self.function.locals.len());
        self.function.locals.push(Local { name: name.to_owned(), ty });
        self.function.body.push(Stmt::Let { var, mutable: false, value });
        Expr::Var(var)
    }

    fn finish(mut self, result: Expr) -> ScalarFunction {
        self.function.result = Some(result);
        self.function
    }
}

fn constant(value: f32) -> Expr {
    Expr::f32(value, 1)
}

fn add(a: &Expr, b: &Expr) -> Expr {
    Expr::Op(LaneOp::Add, vec![a.clone(), b.clone()])
}

fn sub(a: &Expr, b: &Expr) -> Expr {
    Expr::Op(LaneOp::Sub, vec![a.clone(), b.clone()])
}

fn mul(a: &Expr, b: &Expr) -> Expr {
    Expr::Op(LaneOp::Mul, vec![a.clone(), b.clone()])
}

fn div(a: &Expr, b: &Expr) -> Expr {
    Expr::Op(LaneOp::Div, vec![a.clone(), b.clone()])
}

fn mul_add(a: &Expr, b: &Expr, c: &Expr) -> Expr {
    Expr::Op(LaneOp::MulAdd, vec![a.clone(), b.clone(), c.clone()])
}

/// |v|
fn magnitude(v: &Expr) -> Expr {
    from_bits(&and(&to_bits(v), 0x7fff_ffff))
}

/// The minimum of `bound` and `v`. A NaN in `v` stays NaN.
fn at_most(bound: f32, v: &Expr) -> Expr {
    Expr::Op(LaneOp::Min, vec![constant(bound), v.clone()])
}

/// The maximum of `bound` and `v`. A NaN in `v` stays NaN.
fn at_least(bound: f32, v: &Expr) -> Expr {
    Expr::Op(LaneOp::Max, vec![constant(bound), v.clone()])
}

/// `below` if `a` is less than `bound`, else `other`.
fn select_less(a: &Expr, bound: f32, below: &Expr, other: &Expr) -> Expr {
    Expr::Op(LaneOp::SelectLess, vec![a.clone(), constant(bound), below.clone(), other.clone()])
}

fn to_bits(v: &Expr) -> Expr {
    Expr::Op(LaneOp::ToBits, vec![v.clone()])
}

fn from_bits(v: &Expr) -> Expr {
    Expr::Op(LaneOp::FromBits, vec![v.clone()])
}

fn and(a: &Expr, bits: u32) -> Expr {
    Expr::Op(LaneOp::And, vec![a.clone(), Expr::u32(bits, 1)])
}

fn xor(a: &Expr, b: &Expr) -> Expr {
    Expr::Op(LaneOp::Xor, vec![a.clone(), b.clone()])
}

fn or(a: &Expr, b: &Expr) -> Expr {
    Expr::Op(LaneOp::Or, vec![a.clone(), b.clone()])
}

/// `a + bits`, wrapping
fn plus_bits(a: &Expr, bits: u32) -> Expr {
    Expr::Op(LaneOp::WrappingAdd, vec![a.clone(), Expr::u32(bits, 1)])
}

/// `a - b`, wrapping
fn minus_bits(a: &Expr, b: &Expr) -> Expr {
    Expr::Op(LaneOp::WrappingSub, vec![a.clone(), b.clone()])
}

fn shift_right(a: &Expr, by: u32) -> Expr {
    Expr::Op(LaneOp::ShiftRight(by), vec![a.clone()])
}

fn shift_left(a: &Expr, by: u32) -> Expr {
    Expr::Op(LaneOp::ShiftLeft(by), vec![a.clone()])
}

/// `c[0] + v (c[1] + v (c[2] + ..))`
fn polynomial(v: &Expr, coefficients: &[f32]) -> Expr {
    let (last, rest) = coefficients.split_last().expect("a polynomial has coefficients");
    rest.iter().rfold(constant(*last), |sum, c| mul_add(&sum, v, &constant(*c)))
}
