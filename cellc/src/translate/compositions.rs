//! Functions that are composed of primitive functions.

use super::arithmetic::{broadcast_shape, emit, fold_or_emit, folded, one_type, squared};
use super::hyperbolic::Formula;
use super::integers;
use super::operands::all_floats;
use super::refusal::{Refusal, Rule};
use crate::core::fold::{self, Broadcasts};
use crate::core::{CoreBuilder, Known};
use crate::model::{Activation, Binary, Composed, MathFunction, Remainder, WrongAttribute};

/// Computes a composed function.
pub(super) fn compose(core: &mut CoreBuilder, function: Composed, inputs: &[Known]) -> Rule<Known> {
    if !function.takes_integers() {
        all_floats(inputs)?;
    }
    let x = &inputs[0];
    match function {
        Composed::Swish { scaled } => swish(core, inputs, scaled),
        Composed::Mish => mish(core, x),
        Composed::HardSwish => hard_swish(core, x),
        Composed::GeluTanh => gelu_tanh(core, x),
        Composed::Gelu => gelu(core, x),
        Composed::Celu { alpha } => celu(core, x, alpha),
        // v > alpha is v >= the next number above alpha
        Composed::ThresholdedRelu { alpha } => {
            let above = Activation::ThresholdedRelu { alpha: alpha.next_up() };
            fold_or_emit(core, above, vec![x.clone()])
        }
        Composed::Selu => selu(core, inputs),
        Composed::HardSigmoid => hard_sigmoid(core, inputs),
        Composed::Tan => Formula { core }.tan(x),
        Composed::Sinh => Formula { core }.sinh(x),
        Composed::Cosh => Formula { core }.cosh(x),
        Composed::Asin => Formula { core }.asin(x),
        Composed::Acos => Formula { core }.acos(x),
        Composed::Asinh => Formula { core }.asinh(x),
        Composed::Acosh => Formula { core }.acosh(x),
        Composed::Atanh => Formula { core }.atanh(x),
        Composed::SquaredDifference => squared_difference(core, inputs),
        Composed::TruncatedQuotient => truncated_quotient(core, inputs),
    }
}

/// A function of a value.
fn math(core: &mut CoreBuilder, function: impl Into<MathFunction>, x: &Known) -> Rule<Known> {
    fold_or_emit(core, function.into(), vec![x.clone()])
}

fn product(core: &mut CoreBuilder, a: Known, b: Known) -> Rule<Known> {
    fold_or_emit(core, Binary::Multiply, vec![a, b])
}

fn swish(core: &mut CoreBuilder, inputs: &[Known], scaled: bool) -> Rule<Known> {
    let x = &inputs[0];
    let inner = match scaled {
        true => product(core, x.clone(), inputs[1].clone())?,
        false => x.clone(),
    };
    let gate = math(core, Activation::Sigmoid, &inner)?;
    product(core, x.clone(), gate)
}

fn mish(core: &mut CoreBuilder, x: &Known) -> Rule<Known> {
    let inner = math(core, Activation::Softplus, x)?;
    let gate = math(core, Activation::Tanh, &inner)?;
    product(core, x.clone(), gate)
}

fn hard_swish(core: &mut CoreBuilder, x: &Known) -> Rule<Known> {
    let gate = math(core, Activation::HardSigmoid { alpha: 1.0 / 6.0, beta: 0.5 }, x)?;
    product(core, x.clone(), gate)
}

/// `x (1 + tanh(v)) / 2` with `v = sqrt(2 / pi) (x + 0.044715 x^3)`, as `x sigmoid(2 v)`: small
/// sigmoids keep their digits.
fn gelu_tanh(core: &mut CoreBuilder, x: &Known) -> Rule<Known> {
    let square = squared(core, x)?;
    // 0.044715 * 2 sqrt(2 / pi), and 2 sqrt(2 / pi)
    let [most, least] = [0.071_354_814, 1.595_769_2].map(|v| Known::number_like(x, v));
    let scaled = product(core, square, most)?;
    let scaled = fold_or_emit(core, Binary::Add, vec![scaled, least])?;
    let inner = product(core, scaled, x.clone())?;
    let gate = math(core, Activation::Sigmoid, &inner)?;
    product(core, x.clone(), gate)
}

fn gelu(core: &mut CoreBuilder, x: &Known) -> Rule<Known> {
    let [scale, one, half] =
        [std::f32::consts::FRAC_1_SQRT_2, 1.0, 0.5].map(|v| Known::number_like(x, v));
    let scaled = product(core, x.clone(), scale)?;
    let error = math(core, MathFunction::Erf, &scaled)?;
    let above = fold_or_emit(core, Binary::Add, vec![error, one])?;
    let gate = product(core, above, half)?;
    product(core, x.clone(), gate)
}

/// The square of the difference of the two inputs.
fn squared_difference(core: &mut CoreBuilder, inputs: &[Known]) -> Rule<Known> {
    let difference = fold_or_emit(core, Binary::Subtract, inputs.to_vec())?;
    squared(core, &difference)
}

/// The quotient of two numbers, rounded towards zero if they are integers.
fn truncated_quotient(core: &mut CoreBuilder, inputs: &[Known]) -> Rule<Known> {
    let mut operands = inputs.to_vec();
    if !operands[0].element().is_float() {
        // a - a mod b is a multiple of b, so the rounding of the quotient does not matter
        let rest = remainder(core, Remainder::OfDividend, inputs)?;
        operands[0] = fold_or_emit(core, Binary::Subtract, vec![inputs[0].clone(), rest])?;
    }
    fold_or_emit(core, Binary::Divide, operands)
}

fn celu(core: &mut CoreBuilder, x: &Known, alpha: f32) -> Rule<Known> {
    let alpha = Known::number_like(x, alpha);
    let inner = fold_or_emit(core, Binary::Divide, vec![x.clone(), alpha.clone()])?;
    let elu = fold_or_emit(core, Activation::Elu { alpha: 1.0 }, vec![inner])?;
    fold_or_emit(core, Binary::Multiply, vec![elu, alpha])
}

fn selu(core: &mut CoreBuilder, inputs: &[Known]) -> Rule<Known> {
    let (x, [alpha, gamma]) = (&inputs[0], constants("Selu", ["alpha", "gamma"], &inputs[1..])?);
    let wrong = |name, value| WrongAttribute::not_finite("Selu", name, value);
    legal(wrong("alpha", alpha).or_else(|| wrong("gamma", gamma)))?;
    let elu = fold_or_emit(core, Activation::Elu { alpha }, vec![x.clone()])?;
    fold_or_emit(core, Binary::Multiply, vec![elu, Known::number_like(x, gamma)])
}

/// HardSigmoid with alpha and beta as constant inputs.
fn hard_sigmoid(core: &mut CoreBuilder, inputs: &[Known]) -> Rule<Known> {
    let [alpha, beta] = constants("HardSigmoid", ["alpha", "beta"], &inputs[1..])?;
    let activation = Activation::HardSigmoid { alpha, beta };
    legal(activation.wrong_parameters().into_iter().next())?;
    let shape = core.shape_of(&inputs[0]);
    emit(core, activation.into(), &inputs[..1], &shape)
}

/// The parameters of a function that are constant inputs of one element.
fn constants(function: &str, names: [&str; 2], inputs: &[Known]) -> Rule<[f32; 2]> {
    let number =
        |known: &Known| known.tensor().filter(|tensor| tensor.len() == 1).map(|t| t.get_f32(0));
    if let (Some(first), Some(second)) = (number(&inputs[0]), number(&inputs[1])) {
        return Ok([first, second]);
    }
    let [first, second] = names;
    let found = format!(
        "{function} whose {first} or {second} is not one number that is known when compiling"
    );
    Err(Refusal::new(found, "constants of one element", "connect constants"))
}

/// Refuses a wrong parameter.
fn legal(wrong: Option<WrongAttribute>) -> Rule<()> {
    wrong.map_or(Ok(()), |wrong| Err(wrong.problem.into()))
}

/// Computes the remainder of a division.
pub(super) fn remainder(core: &mut CoreBuilder, kind: Remainder, inputs: &[Known]) -> Rule<Known> {
    let shape = broadcast_shape(core, inputs)?;
    one_type(inputs)?;
    let element = inputs[0].element();
    let fold = |constants: &Broadcasts| fold::remainder(kind, constants);
    if let Some(folded) = folded(core, inputs, (&shape, element), fold)? {
        return Ok(folded);
    }
    match element.is_float() {
        true => remainder_of_floats(core, kind, inputs),
        false => integers::remainder(core, kind, inputs, &shape),
    }
}

/// The remainder of a division of floats by a constant power of two; other divisors are refused.
/// All operations but the last one are exact.
fn remainder_of_floats(
    core: &mut CoreBuilder,
    remainder: Remainder,
    inputs: &[Known],
) -> Rule<Known> {
    let x = &inputs[0];
    let divisor =
        inputs[1].tensor().filter(|tensor| tensor.len() == 1).map(|tensor| tensor.get_f32(0));
    let is_power = |by: &f32| by.is_normal() && by.recip().is_normal() && by.to_bits() << 9 == 0;
    let Some(by) = divisor.filter(is_power) else {
        let help = "write it as x - floor(x / b) * b";
        return Err(Refusal::new(
            "the remainder of floats",
            "a divisor that is a constant power of two",
            help,
        ));
    };
    let [by, inverse] = [by, by.recip()].map(|number| Known::number_like(x, number));
    let quotient = product(core, x.clone(), inverse)?;
    let whole = math(core, remainder.rounding(), &quotient)?;
    let whole = product(core, whole, by)?;
    fold_or_emit(core, Binary::Subtract, vec![x.clone(), whole])
}
