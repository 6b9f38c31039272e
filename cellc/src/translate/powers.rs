//! Powers at run time.

use super::arithmetic::{fold_or_emit, squared};
use super::layout::broadcasts::broadcast_to;
use super::operands::all_floats;
use super::refusal::Rule;
use crate::core::{CoreBuilder, Known};
use crate::model::{Activation, Elementwise, Tensor};

/// Largest whole exponent computed by multiplications alone.
const MOST_MULTIPLIED: f32 = 128.0;

/// A power of a run-time tensor.
pub(super) fn power(core: &mut CoreBuilder, inputs: &[Known], shape: &[usize]) -> Rule<Known> {
    let exponent = inputs[1].tensor().filter(|tensor| !tensor.is_empty());
    let same = |tensor: &&Tensor| (1..tensor.len()).all(|i| tensor.get_f64(i) == tensor.get_f64(0));
    let exponent = exponent.filter(same).map(|tensor| tensor.get_f32(0)).filter(|e| e.is_finite());
    let Some(exponent) = exponent else {
        return raised_to_any(core, &inputs[0], &inputs[1]);
    };
    let base = broadcast_to(core, &inputs[0], shape.to_vec())?;
    raised(core, &base, exponent)
}

/// `base^exponent` as `exp(exponent log(|base|))`, with the sign of the base for odd exponents,
/// and NaN for a negative base with a fractional exponent.
fn raised_to_any(core: &mut CoreBuilder, base: &Known, exponent: &Known) -> Rule<Known> {
    use Elementwise as E;
    all_floats(std::slice::from_ref(exponent))?;
    let [zero, half, one, two] =
        [0.0, 0.5, 1.0, 2.0].map(|number| Known::number_like(exponent, number));
    let floor = fold_or_emit(core, E::Activation(Activation::Floor), vec![exponent.clone()])?;
    let is_whole = fold_or_emit(core, E::Equal, vec![exponent.clone(), floor])?;
    let size = fold_or_emit(core, E::Abs, vec![base.clone()])?;
    let size = fold_or_emit(core, E::Select, vec![is_whole, size, base.clone()])?;
    let logarithm = fold_or_emit(core, E::Activation(Activation::Log), vec![size])?;
    let scaled = fold_or_emit(core, E::Multiply, vec![logarithm, exponent.clone()])?;
    let power = fold_or_emit(core, E::Activation(Activation::Exp), vec![scaled])?;
    let is_zero = fold_or_emit(core, E::Equal, vec![exponent.clone(), zero.clone()])?;
    let is_one = fold_or_emit(core, E::Equal, vec![base.clone(), one.clone()])?;
    let is_plain = fold_or_emit(core, E::LogicalOr, vec![is_zero, is_one])?;
    let power = fold_or_emit(core, E::Select, vec![is_plain, one.clone(), power])?;
    let even = fold_or_emit(core, E::Multiply, vec![exponent.clone(), half])?;
    let even = fold_or_emit(core, E::Activation(Activation::Floor), vec![even])?;
    let even = fold_or_emit(core, E::Multiply, vec![even, two])?;
    let odd = fold_or_emit(core, E::Subtract, vec![exponent.clone(), even])?;
    let is_odd = fold_or_emit(core, E::Equal, vec![odd, one])?;
    let is_below = fold_or_emit(core, E::Less, vec![base.clone(), zero])?;
    let is_negative = fold_or_emit(core, E::LogicalAnd, vec![is_odd, is_below])?;
    let minus = fold_or_emit(core, E::Negative, vec![power.clone()])?;
    fold_or_emit(core, E::Select, vec![is_negative, minus, power])
}

/// `base^exponent`: by multiplications for a small whole exponent, by a root for a whole number
/// and a half, else `exp(exponent log(base))`.
fn raised(core: &mut CoreBuilder, base: &Known, exponent: f32) -> Rule<Known> {
    use Elementwise as E;
    let one = Known::number_like(base, 1.0);
    if exponent < 0.0
        && (exponent.fract() == 0.0 || exponent.fract() == -0.5)
        && exponent >= -MOST_MULTIPLIED
    {
        let inverse = raised(core, base, -exponent)?;
        return fold_or_emit(core, E::Divide, vec![one, inverse]);
    }
    if exponent == 0.0 {
        let shape = core.shape_of(base);
        return broadcast_to(core, &one, shape);
    }
    let root = E::Activation(Activation::Sqrt);
    if exponent > 0.0 && exponent <= MOST_MULTIPLIED && exponent.fract() == 0.5 {
        let root = fold_or_emit(core, root, vec![base.clone()])?;
        if exponent == 0.5 {
            return Ok(root);
        }
        let whole = raised(core, base, exponent.trunc())?;
        return fold_or_emit(core, E::Multiply, vec![whole, root]);
    }
    if exponent > 0.0 && exponent <= MOST_MULTIPLIED && exponent.fract() == 0.0 {
        let (mut rest, mut square, mut product) = (exponent as u32, base.clone(), None::<Known>);
        loop {
            if rest & 1 == 1 {
                let all = match product {
                    None => square.clone(),
                    Some(product) => {
                        fold_or_emit(core, E::Multiply, vec![product, square.clone()])?
                    }
                };
                if rest == 1 {
                    return Ok(all);
                }
                product = Some(all);
            }
            rest >>= 1;
            square = squared(core, &square)?;
        }
    }
    // every f32 of 2^24 or more is even
    let whole = exponent.fract() == 0.0;
    let odd = whole && exponent.abs() < 16_777_216.0 && exponent as i64 % 2 != 0;
    let size = if whole { fold_or_emit(core, E::Abs, vec![base.clone()])? } else { base.clone() };
    let logarithm = fold_or_emit(core, E::Activation(Activation::Log), vec![size])?;
    // an odd power is an even power times or over the base: the product keeps the sign, and
    // avoids 0 times infinity
    let even = if odd { exponent - exponent.signum() } else { exponent };
    let by = Known::number_like(base, even);
    let scaled = fold_or_emit(core, E::Multiply, vec![logarithm, by])?;
    let power = fold_or_emit(core, E::Activation(Activation::Exp), vec![scaled])?;
    match odd {
        true if exponent > 0.0 => fold_or_emit(core, E::Multiply, vec![power, base.clone()]),
        true => fold_or_emit(core, E::Divide, vec![power, base.clone()]),
        false => Ok(power),
    }
}
