//! Activation functions: for each its exact value in float64, its expansion to plain arithmetic,
//! how far the expansion is from the exact value, and what the function does to a range of
//! arguments.
//!
//! The expansions are branch-free and use only operations that Rust and C round alike, so that
//! every language, lane count and instruction set of one arithmetic profile gives the same bits.
//! There is one text for both profiles: in the split profile [`crate::pass::split`] makes every
//! multiply-add two operations, and the errors are stated for both.
//!
//! The less exact levels have shorter polynomials and fewer operations that wait for each other; a
//! function that is exact and cheap has one expansion.

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

use crate::kernel::{Expr, Function, LaneOp, Local, Scalar, Stmt, Type, Var};
use crate::model::Activation;
use crate::request::Accuracy;

/// What is known of a function of one argument with up to two parameters, alpha and beta.
struct Definition {
    /// The value, in float64.
    exact: fn([f32; 2], f64) -> f64,
    /// Straight-line arithmetic of that accuracy.
    expand: fn([f32; 2], Accuracy) -> Function,
    /// How far that is from the value, with fused multiply-add or without.
    error: fn([f32; 2], Accuracy, bool) -> Error,
    /// What it makes of the arguments up to a magnitude, whose values at both ends are given.
    image: fn([f32; 2], f64, [f64; 2]) -> Image,
}

/// The function's file, and its parameters.
fn definition(activation: Activation) -> (Definition, [f32; 2]) {
    let definition = match activation {
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
        Activation::Exp => exp::DEFINITION,
        Activation::Log => log::DEFINITION,
        Activation::Square => square::DEFINITION,
        Activation::Sqrt => sqrt::DEFINITION,
        Activation::Floor => floor::DEFINITION,
        Activation::Round => round::DEFINITION,
        Activation::Truncate => truncate::DEFINITION,
        Activation::Erf => erf::DEFINITION,
        Activation::Sin => sin::SIN,
        Activation::Cos => sin::COS,
        Activation::Atan => atan::DEFINITION,
    };
    let mut parameters = activation.parameters().into_iter();
    (definition, [(); 2].map(|()| parameters.next().unwrap_or_default()))
}

/// The activation's value, in float64.
pub(crate) fn exact(activation: Activation, v: f64) -> f64 {
    let (definition, parameters) = definition(activation);
    (definition.exact)(parameters, v)
}

/// The activation as straight-line arithmetic of that accuracy.
pub(crate) fn expand(activation: Activation, accuracy: Accuracy) -> Function {
    let (definition, parameters) = definition(activation);
    let mut function = (definition.expand)(parameters, accuracy);
    function.doc.extend(stated(activation, accuracy).map(|error| format!("At most {error}.")));
    function
}

/// The error of the expansion in words; none where it is exact.
pub(crate) fn stated(activation: Activation, accuracy: Accuracy) -> Option<String> {
    let [fused, split] = [true, false].map(|fused| error(activation, accuracy, fused));
    let from = if fused.relative > 0.0 { "from the exact value y" } else { "from the exact value" };
    let without = || format!(", {split} without fused multiply-add");
    let without = if fused == split { String::new() } else { without() };
    (fused != Error::default()).then(|| format!("{fused} {from}{without}"))
}

/// How far the expansion of an activation is from its exact value, whatever the finite argument, as
/// far as nothing overflows: the sum of the parts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Error {
    /// In units of the spacing of f32 at the exact value.
    pub ulp: f64,
    /// As a part of the exact value.
    pub relative: f64,
    /// As a part of the argument's magnitude: what is lost before terms cancel.
    pub of_argument: f64,
    /// Whatever the argument.
    pub absolute: f64,
}

impl Error {
    const fn ulp(ulp: f64) -> Self {
        Self { ulp, relative: 0.0, of_argument: 0.0, absolute: 0.0 }
    }

    /// The largest error for arguments and exact values of at most these magnitudes.
    pub(crate) fn within(&self, argument: f64, value: f64) -> f64 {
        // nothing times infinity is nothing here
        let part = |factor: f64, of: f64| if factor == 0.0 { 0.0 } else { factor * of };
        let of_value = part(self.ulp, spacing(value)) + part(self.relative, value);
        of_value + part(self.of_argument, argument) + self.absolute
    }
}

/// `2.45 ulp + 5.96e-8 |x|`, y being the exact value; nothing where there is no error.
impl fmt::Display for Error {
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

/// Four digits that are not below the number.
fn digits(v: f64) -> String {
    let text = format!("{v:.3e}");
    if text.parse::<f64>().is_ok_and(|near| near < v) { format!("{:.3e}", v * 1.0005) } else { text }
}

/// The errors of a function whose arithmetic approximates, each with fused multiply-add and
/// without.
struct Measured {
    /// Of the exact expansion, in ulp: over every f32 unless it is said otherwise.
    ulp: [f64; 2],
    /// Of the others, relative: over every f32 of magnitude 2^-4 to 2^7, and one in 61 of the
    /// others.
    fast: [f64; 2],
    audio: [f64; 2],
    /// What is added to the relative errors.
    absolute: f64,
}

impl Measured {
    fn error(&self, accuracy: Accuracy, fused: bool) -> Error {
        let at = usize::from(!fused);
        let relative = |errors: [f64; 2]| Error { relative: errors[at], absolute: self.absolute, ..Error::default() };
        match accuracy {
            Accuracy::Exact => Error::ulp(self.ulp[at]),
            Accuracy::Fast => relative(self.fast),
            Accuracy::Audio => relative(self.audio),
        }
    }
}

/// The error of the expansion.
///
/// Where the arithmetic approximates it is measured; a run by hand of the test of this module
/// repeats that over every f32.
pub(crate) fn error(activation: Activation, accuracy: Accuracy, fused: bool) -> Error {
    let (definition, parameters) = definition(activation);
    (definition.error)(parameters, accuracy, fused)
}

/// The largest error of the expansion for arguments of at most this magnitude, of which `image`
/// says what values they have.
pub(crate) fn own_error(activation: Activation, accuracy: Accuracy, fused: bool, magnitude: f64, image: &Image) -> f64 {
    let Image { low, high, least, most, .. } = *image;
    let (value, limit) = (low.abs().max(high.abs()), least.abs().max(most.abs()));
    // a limit is approached, or met without error: the spacing is that below it
    let value = if value < limit { value } else { limit * (1.0 - U) };
    error(activation, accuracy, fused).within(magnitude, value)
}

/// What an exact activation makes of a range of arguments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Image {
    /// `|f(a) - f(b)|` is at most `slope |a - b| + jump`.
    pub slope: f64,
    /// The height of the step, where there is one.
    pub jump: f64,
    /// The least value.
    pub low: f64,
    /// The largest value.
    pub high: f64,
    /// What no value is below, the computed one neither, whatever the argument.
    pub least: f64,
    /// What no value is above, the computed one neither, whatever the argument.
    pub most: f64,
}

impl Image {
    /// Of a function whose largest and least values are those at the ends.
    fn between(slope: f64, ends: [f64; 2], [least, most]: [f64; 2]) -> Self {
        Self { slope, jump: 0.0, low: ends[0].min(ends[1]), high: ends[0].max(ends[1]), least, most }
    }
}

/// What the exact activation makes of arguments of at most this magnitude, which is not below 0.
pub(crate) fn image(activation: Activation, magnitude: f64) -> Image {
    let ends = [-magnitude, magnitude].map(|v| exact(activation, v));
    let (definition, parameters) = definition(activation);
    (definition.image)(parameters, magnitude, ends)
}

/// What the exact activation makes of the arguments `low..=high`: tighter than [`image`] where the
/// range is not symmetric.
pub(crate) fn image_between(activation: Activation, low: f64, high: f64) -> Image {
    use Activation as A;
    let all = image(activation, low.abs().max(high.abs()));
    // the argument nearest to 0
    let near = low.max(-high).max(0.0);
    // 1 / cosh(v)^2
    let squared_sech = |v: f64| 4.0 * (-2.0 * v).exp() / (1.0 + (-2.0 * v).exp()).powi(2);
    let below_zero = |slope: f64| match (low < 0.0, high > 0.0) {
        (true, true) => slope.max(1.0),
        (true, false) => slope,
        (false, _) => 1.0,
    };
    let ends = [low, high].map(|v| exact(activation, v));
    let slope = match activation {
        A::Relu => below_zero(0.0),
        A::LeakyRelu { alpha } if alpha >= 0.0 => below_zero(alpha.into()),
        A::Elu { alpha } if alpha >= 0.0 => below_zero(f64::from(alpha) * high.min(0.0).exp()),
        A::Sigmoid => 0.25 * squared_sech(near / 2.0),
        A::Tanh => squared_sech(near),
        A::ScaledTanh { alpha, beta } => {
            let [alpha, beta] = [alpha, beta].map(|v| f64::from(v.abs()));
            alpha * beta * squared_sech(beta * near)
        }
        A::HardSigmoid { .. } if ends[0] == ends[1] => 0.0,
        A::Softsign => (1.0 + near).powi(-2),
        A::Softplus => exact(A::Sigmoid, high),
        A::Erf => all.slope * (-near * near).exp(),
        A::HardSigmoid { .. } | A::Affine { .. } | A::Floor | A::Round | A::Truncate => all.slope,
        _ => return all,
    };
    Image { slope, low: ends[0].min(ends[1]), high: ends[0].max(ends[1]), ..all }
}

/// Half the spacing of f32 at 1: the largest relative error of a rounding.
const U: f64 = 1.0 / 16_777_216.0;

/// The largest absolute error of a rounding that underflows: 2^-150.
const UNDERFLOW: f64 = 7.006_492_321_624_085e-46;

/// The spacing of f32 at `v`.
fn spacing(v: f64) -> f64 {
    let exponent = (v.to_bits() >> 52 & 0x7ff).max(1023 - 126);
    f64::from_bits((exponent - 23) << 52)
}

const F32: Type = Type { scalar: Scalar::F32, lanes: 1 };
const U32: Type = Type { scalar: Scalar::U32, lanes: 1 };

/// A function of one argument that is being written.
struct FunctionBuilder {
    function: Function,
}

impl FunctionBuilder {
    /// Begins a function; gives back its argument.
    fn new(name: &str, doc: &str) -> (Self, Expr) {
        let function = Function {
            name: name.to_owned(),
            doc: vec![doc.to_owned()],
            locals: vec![Local { name: "x".to_owned(), ty: F32 }],
            params: 1,
            body: Vec::new(),
            result: None,
        };
        (Self { function }, Expr::Var(Var(0)))
    }

    /// A line for the reader of generated code.
    fn comment(&mut self, text: &str) {
        self.function.body.push(Stmt::Comment(text.to_owned()));
    }

    /// Names a f32 value.
    fn float(&mut self, name: &str, value: Expr) -> Expr {
        self.define(name, F32, value)
    }

    /// Names a u32 value.
    fn bits(&mut self, name: &str, value: Expr) -> Expr {
        self.define(name, U32, value)
    }

    fn define(&mut self, name: &str, ty: Type, value: Expr) -> Expr {
        let var = Var(self.function.locals.len());
        self.function.locals.push(Local { name: name.to_owned(), ty });
        self.function.body.push(Stmt::Let { var, mutable: false, value });
        Expr::Var(var)
    }

    fn finish(mut self, result: Expr) -> Function {
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

/// `bound` where it is the smaller one, else `v`, which may be NaN.
fn at_most(bound: f32, v: &Expr) -> Expr {
    Expr::Op(LaneOp::Min, vec![constant(bound), v.clone()])
}

/// `bound` where it is the larger one, else `v`, which may be NaN.
fn at_least(bound: f32, v: &Expr) -> Expr {
    Expr::Op(LaneOp::Max, vec![constant(bound), v.clone()])
}

/// `below` where `a` is less than `bound`, else `other`.
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
