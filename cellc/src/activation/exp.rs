//! What sigmoid and tanh share: the argument reduction of exp.
//!
//! With `n` the integer nearest to `x / step`, `exp` of a multiple of `x` is a power of two, made from the bits of `n`, times
//! `exp` of a multiple of `r = x - n step`, which a short polynomial gives.

use super::{Body, constant, from_bits, mul_add, shift_left, sub, to_bits};
use crate::kernel::Expr;

/// Adding it rounds a small number to an integer, which then stands in the low bits of the sum: 1.5 * 2^23.
const ROUND: f32 = 12_582_912.0;

/// `n`, the integer nearest to `x * per_step`, and the power of two `+-2^(n + exponent)`.
///
/// `|x * per_step|` is at most 2^8, and `n + exponent` in the range of normal numbers.
pub(super) fn nearest(body: &mut Body, x: &Expr, per_step: f32, exponent: i32, negative: bool) -> (Expr, Expr) {
    // the low nine bits of the sum become sign and exponent
    let magic = ROUND + (exponent + 127 + if negative { 256 } else { 0 }) as f32;
    let sum = body.float("k", mul_add(x, &constant(per_step), &constant(magic)));
    let n = body.float("n", sub(&sum, &constant(magic)));
    let scale = body.float("s", from_bits(&shift_left(&to_bits(&sum), 23)));
    (n, scale)
}
