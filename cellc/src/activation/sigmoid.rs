use std::f32::consts::LOG2_E;

use super::{Body, at_least, at_most, constant, div, exp, mul, mul_add, polynomial, sub};
use crate::kernel::Function;

pub(super) fn exact(v: f64) -> f64 {
    // for v < 0 the other form would lose its small values where exp overflows
    if v < 0.0 { v.exp() / (1.0 + v.exp()) } else { 1.0 / (1.0 + (-v).exp()) }
}

/// With fused multiply-add and without; measured over every f32.
pub(super) const MAX_ULP: [f64; 2] = [2.45, 2.45];

/// 1 + exp(-x) is computed times 2^-64, as exp(104) is not a f32.
const SCALE: i32 = -64;

/// 2^SCALE
const ONE: f32 = f32::from_bits(((SCALE + 127) as u32) << 23);

pub(super) fn expand() -> Function {
    let (mut body, x) = Body::new("sigmoid", "1 / (1 + exp(-x)), right down to the smallest f32.");
    body.comment("beyond these, the value is 1 and 0");
    let v = body.float("v", at_most(20.0, &at_least(-105.0, &x)));
    body.comment("v = r - n ln(2), s = -2^(n - 64)");
    let (n, s) = exp::nearest(&mut body, &v, -LOG2_E, SCALE, true);
    let r = body.float("r", mul_add(&n, &constant(exp::LN2[1]), &mul_add(&n, &constant(exp::LN2[0]), &v)));
    body.comment("p = 1 - exp(-r)");
    // for |r| <= ln(2)/2; minimax for the error relative to exp(-r), coefficients rounded to f32 one after the other, the
    // rest refitted: 2^-28
    let q = body
        .float("q", polynomial(&r, &[-0.499_999_94, 0.166_665_17, -0.041_668_102, 0.008_369_192_5, -0.001_383_881_2]));
    let p = body.float("p", mul_add(&mul(&r, &r), &q, &r));
    body.comment("2^-64 (1 + exp(-v)) = 2^-64 - s + s p");
    let d = body.float("d", mul_add(&s, &p, &sub(&constant(ONE), &s)));
    body.finish(div(&constant(ONE), &d))
}
