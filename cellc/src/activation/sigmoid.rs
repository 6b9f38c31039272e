use std::f32::consts::LOG2_E;

use super::{Body, at_least, at_most, constant, div, exp, mul, mul_add, polynomial, sub};
use crate::kernel::Function;
use crate::model::Activation;

pub(super) fn exact(v: f64) -> f64 {
    // for v < 0 the other form would lose its small values where exp overflows
    if v < 0.0 { v.exp() / (1.0 + v.exp()) } else { 1.0 / (1.0 + (-v).exp()) }
}

pub(super) fn max_ulp(fused: bool) -> f64 {
    if fused { 2.45 } else { 2.45 }
}

/// ln 2 in two parts: the first has 16 bits, so that its product with any n here is exact.
const LN2: [f32; 2] = [0.693_145_75, 1.428_606_8e-6];

/// Half the exponent range: 1 + exp(-x) is computed times 2^-64, as exp(104) is not a f32.
const SCALE: i32 = -64;

pub(super) fn expand() -> Function {
    let (mut body, x) = Body::new(Activation::Sigmoid, &["1 / (1 + exp(-x)), right down to the smallest f32."]);
    // 1 - sigmoid(20) is below the rounding of 1, sigmoid(-105) below half the smallest f32
    let v = body.float("v", at_most(20.0, &at_least(-105.0, &x)));
    let (n, s) = exp::nearest(&mut body, &v, -LOG2_E, SCALE, true);
    let r = body.float("r", mul_add(&n, &constant(LN2[1]), &mul_add(&n, &constant(LN2[0]), &v)));
    // 1 - exp(-r) for |r| <= ln(2)/2; minimax for the error relative to exp(-r), coefficients rounded to f32 one after
    // the other, the rest refitted: 2^-28
    let q = body
        .float("q", polynomial(&r, &[-0.499_999_94, 0.166_665_17, -0.041_668_102, 0.008_369_192_5, -0.001_383_881_2]));
    let p = body.float("p", mul_add(&mul(&r, &r), &q, &r));
    // s = -2^(n - 64): exp(-x) = 2^n - 2^n p
    let one = constant((SCALE as f32).exp2());
    let d = body.float("d", mul_add(&s, &p, &sub(&one, &s)));
    body.finish(div(&one, &d))
}
