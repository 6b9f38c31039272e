//! The translation of powers.

use super::arithmetic::{broadcast_shape, fold_or_emit, folded, one_type, squared};
use super::layout::broadcasts::broadcast_to;
use super::operands::all_floats;
use super::refusal::Rule;
use crate::core::{CoreBuilder, Known, fold};
use crate::model::{Binary, Comparison, Logic, MathFunction, Primitive, Tensor, Unary};

/// Largest exponent for which multiplications compute a power.
const MOST_MULTIPLIED: f32 = 128.0;

/// The first input to the power of the second.
pub(super) fn power(core: &mut CoreBuilder, inputs: &[Known]) -> Rule<Known> {
    let shape = broadcast_shape(core, inputs)?;
    one_type(inputs)?;
    if let Some(folded) = folded(core, inputs, (&shape, inputs[0].element()), fold::power)? {
        return Ok(folded);
    }
    all_floats(&inputs[..1])?;
    core.model.powers.insert(core.layer.path);
    let exponent = inputs[1].tensor().filter(|tensor| !tensor.is_empty());
    let same = |tensor: &&Tensor| (1..tensor.len()).all(|i| tensor.get_f64(i) == tensor.get_f64(0));
    let exponent = exponent.filter(same).map(|tensor| tensor.get_f32(0)).filter(|e| e.is_finite());
    let Some(exponent) = exponent else {
        return raised_to_any(core, &inputs[0], &inputs[1]);
    };
    let base = broadcast_to(core, &inputs[0], shape)?;
    raised(core, &base, exponent)
}

/// `base^exponent` as `exp(exponent log(|base|))`, with the sign of the base for odd exponents, 1
/// for an exponent of 0 or a base of 1, and NaN for a negative base with a fractional exponent.
fn raised_to_any(core: &mut CoreBuilder, base: &Known, exponent: &Known) -> Rule<Known> {
    let [zero, half, one, two] =
        [0.0, 0.5, 1.0, 2.0].map(|number| Known::number_like(exponent, number));
    let floor = fold_or_emit(core, MathFunction::Floor, vec![exponent.clone()])?;
    let is_integral = fold_or_emit(core, Comparison::Equal, vec![exponent.clone(), floor])?;
    let size = fold_or_emit(core, Unary::Abs, vec![base.clone()])?;
    let size = fold_or_emit(core, Primitive::Select, vec![is_integral, size, base.clone()])?;
    let logarithm = fold_or_emit(core, MathFunction::Log, vec![size])?;
    let scaled = fold_or_emit(core, Binary::Multiply, vec![logarithm, exponent.clone()])?;
    let power = fold_or_emit(core, MathFunction::Exp, vec![scaled])?;
    let is_zero = fold_or_emit(core, Comparison::Equal, vec![exponent.clone(), zero.clone()])?;
    let is_one = fold_or_emit(core, Comparison::Equal, vec![base.clone(), one.clone()])?;
    let is_plain = fold_or_emit(core, Logic::Or, vec![is_zero, is_one])?;
    let power = fold_or_emit(core, Primitive::Select, vec![is_plain, one.clone(), power])?;
    let even = fold_or_emit(core, Binary::Multiply, vec![exponent.clone(), half])?;
    let even = fold_or_emit(core, MathFunction::Floor, vec![even])?;
    let even = fold_or_emit(core, Binary::Multiply, vec![even, two])?;
    let odd = fold_or_emit(core, Binary::Subtract, vec![exponent.clone(), even])?;
    let is_odd = fold_or_emit(core, Comparison::Equal, vec![odd, one])?;
    let is_below = fold_or_emit(core, Comparison::Less, vec![base.clone(), zero])?;
    let is_negative = fold_or_emit(core, Logic::And, vec![is_odd, is_below])?;
    let minus = fold_or_emit(core, Unary::Negative, vec![power.clone()])?;
    fold_or_emit(core, Primitive::Select, vec![is_negative, minus, power])
}

/// `base^exponent`: by multiplications for a small whole exponent, by multiplications and a root
/// for a small whole number and a half, otherwise as `exp(exponent log(|base|))` with the sign of
/// the base for odd exponents, and NaN for a negative base with a fractional exponent. A small
/// negative exponent of the first two kinds becomes a division.
fn raised(core: &mut CoreBuilder, base: &Known, exponent: f32) -> Rule<Known> {
    let one = Known::number_like(base, 1.0);
    if exponent < 0.0
        && (exponent.fract() == 0.0 || exponent.fract() == -0.5)
        && exponent >= -MOST_MULTIPLIED
    {
        let inverse = raised(core, base, -exponent)?;
        return fold_or_emit(core, Binary::Divide, vec![one, inverse]);
    }
    if exponent == 0.0 {
        let shape = core.shape_of(base);
        return broadcast_to(core, &one, shape);
    }
    let root = MathFunction::Sqrt;
    if exponent > 0.0 && exponent <= MOST_MULTIPLIED && exponent.fract() == 0.5 {
        let root = fold_or_emit(core, root, vec![base.clone()])?;
        if exponent == 0.5 {
            return Ok(root);
        }
        let whole = raised(core, base, exponent.trunc())?;
        return fold_or_emit(core, Binary::Multiply, vec![whole, root]);
    }
    if exponent > 0.0 && exponent <= MOST_MULTIPLIED && exponent.fract() == 0.0 {
        let (mut rest, mut square, mut product) = (exponent as u32, base.clone(), None::<Known>);
        loop {
            if rest & 1 == 1 {
                let power = match product {
                    None => square.clone(),
                    Some(product) => {
                        fold_or_emit(core, Binary::Multiply, vec![product, square.clone()])?
                    }
                };
                if rest == 1 {
                    return Ok(power);
                }
                product = Some(power);
            }
            rest >>= 1;
            square = squared(core, &square)?;
        }
    }
    // an f32 of 2^24 or more is an even number
    let whole = exponent.fract() == 0.0;
    let odd = whole && exponent.abs() < 16_777_216.0 && exponent as i64 % 2 != 0;
    let size =
        if whole { fold_or_emit(core, Unary::Abs, vec![base.clone()])? } else { base.clone() };
    let logarithm = fold_or_emit(core, MathFunction::Log, vec![size])?;
    // an odd power is computed from the even power nearer to 0, multiplied or divided by the base:
    // this keeps the sign, and avoids 0 times infinity
    let even = if odd { exponent - exponent.signum() } else { exponent };
    let by = Known::number_like(base, even);
    let scaled = fold_or_emit(core, Binary::Multiply, vec![logarithm, by])?;
    let power = fold_or_emit(core, MathFunction::Exp, vec![scaled])?;
    match odd {
        true if exponent > 0.0 => fold_or_emit(core, Binary::Multiply, vec![power, base.clone()]),
        true => fold_or_emit(core, Binary::Divide, vec![power, base.clone()]),
        false => Ok(power),
    }
}
