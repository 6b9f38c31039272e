//! exp, and its argument reduction for related functions.
//!
//! With `n` the integer nearest to `x / step`, `exp` of a multiple of `x` is a product: a power of
//! two, made from the bits of `n`, times `exp` of a multiple of `r = x - n step`. A short
//! polynomial gives the second factor.

use std::f32::consts::{LN_2, LOG2_E};

use super::{
    Constants, Definition, Evidence, FunctionBuilder, Image, Measured, UNDERFLOW, add, at_least,
    at_most, constant, from_bits, minus_bits, mul, mul_add, plus_bits, polynomial, shift_left,
    shift_right, sub, to_bits,
};
use crate::kernel::{Expr, ScalarFunction};
use crate::request::Accuracy;

pub(super) const DEFINITION: Definition = Definition {
    exact: |_, v| v.exp(),
    expand: |_, accuracy| expand(accuracy),
    error: |_, accuracy, fused| ERRORS.error(accuracy, fused),
    image: |_, _, ends| Image::between(ends[1], ends, [0.0, f64::INFINITY]),
    image_between: |_, at| at.monotone(at.ends[1]),
    evidence: Evidence::Measured,
    constants: Constants::Exact,
};

pub(super) const ERRORS: Measured = Measured {
    ulp: [1.04, 1.01],
    fast: [2.7e-7, 2.65e-7],
    audio: [8.8e-6, 1.27e-5],
    absolute: UNDERFLOW,
};

/// 1.5 * 2^23: adding this number rounds a small number to an integer in the low bits of the sum.
const ROUND: f32 = 12_582_912.0;

/// ln 2 as a sum of two parts. The first part has 16 bits: the product with any n here is exact.
pub(super) const LN2: [f32; 2] = [0.693_145_75, 1.428_606_8e-6];

/// `n`, the integer nearest to `x * per_step`, and the power of two `2^(n + exponent)`, or
/// `-2^(n + exponent)` if `negative`.
///
/// `|x * per_step|` must be at most 2^8, and `n + exponent` the exponent of a normal number.
pub(super) fn nearest(
    body: &mut FunctionBuilder,
    x: &Expr,
    per_step: f32,
    exponent: i32,
    negative: bool,
) -> (Expr, Expr) {
    // the low nine bits of the sum become sign and exponent
    let magic = ROUND + (exponent + 127 + if negative { 256 } else { 0 }) as f32;
    let sum = body.float("k", mul_add(x, &constant(per_step), &constant(magic)));
    let n = body.float("n", sub(&sum, &constant(magic)));
    let scale = body.float("s", from_bits(&shift_left(&to_bits(&sum), 23)));
    (n, scale)
}

/// Like [`nearest`], for `n` in `-250..=250`: `n`, and two normal numbers with the product `2^n`.
/// If a number is multiplied by both in order, only the second product is rounded.
pub(super) fn nearest_wide(
    body: &mut FunctionBuilder,
    x: &Expr,
    per_step: f32,
) -> (Expr, [Expr; 2]) {
    let magic = ROUND + 256.0;
    let sum = body.float("k", mul_add(x, &constant(per_step), &constant(magic)));
    let n = body.float("n", sub(&sum, &constant(magic)));
    // n + 256 is split into two halves of 128 + n / 2 each; the biased exponent of 2^(n / 2) is
    // 127 + n / 2, one less
    let both = body.bits("both", plus_bits(&to_bits(&sum), ROUND.to_bits().wrapping_neg()));
    let half = body.bits("half", shift_right(&both, 1));
    let second_half = minus_bits(&both, &half);
    let power = |bits: &Expr| from_bits(&shift_left(&plus_bits(bits, 1_u32.wrapping_neg()), 23));
    let s1 = body.float("s1", power(&half));
    let s2 = body.float("s2", power(&second_half));
    (n, [s1, s2])
}

/// `v - n ln(2)`
pub(super) fn remainder(
    body: &mut FunctionBuilder,
    v: &Expr,
    n: &Expr,
    accuracy: Accuracy,
) -> Expr {
    let r = match accuracy {
        Accuracy::Exact | Accuracy::Fast => {
            mul_add(n, &constant(-LN2[1]), &mul_add(n, &constant(-LN2[0]), v))
        }
        // without fused multiply-add, the error of r is at most 2^-18
        Accuracy::Audio => mul_add(n, &constant(-LN_2), v),
    };
    body.float("r", r)
}

/// `exp(r) - 1`
pub(super) fn exp_m1(body: &mut FunctionBuilder, r: &Expr, accuracy: Accuracy) -> Expr {
    body.comment("p = exp(r) - 1");
    // for |r| <= ln(2)/2; minimax polynomials for the relative error, refitted after the rounding
    // of each coefficient to f32: errors 2^-26, 2^-21, 2^-15.6
    let q: &[f32] = match accuracy {
        Accuracy::Exact => {
            &[0.499_999_97, 0.166_665_39, 0.041_667_75, 0.008_367_088, 0.001_383_786_1]
        }
        Accuracy::Fast => &[0.499_994, 0.166_668_31, 0.041_872_77, 0.008_338_077],
        Accuracy::Audio => &[0.500_016_57, 0.167_497_11, 0.041_609_954],
    };
    let q = body.float("q", polynomial(r, q));
    body.float("p", mul_add(&mul(r, r), &q, r))
}

fn expand(accuracy: Accuracy) -> ScalarFunction {
    let (mut body, x) = FunctionBuilder::new("exp", "exp(x), right down to the smallest f32.");
    body.comment("beyond these, the value is infinite and 0");
    let v = body.float("v", at_most(89.0, &at_least(-104.0, &x)));
    body.comment("v = r + n ln(2), s1 s2 = 2^n");
    let (n, [s1, s2]) = nearest_wide(&mut body, &v, LOG2_E);
    let r = remainder(&mut body, &v, &n, accuracy);
    let p = exp_m1(&mut body, &r, accuracy);
    body.finish(mul(&mul(&add(&constant(1.0), &p), &s1), &s2))
}
