use std::f32::consts::{LN_2, LOG2_E};

use super::{
    Constants, Definition, Evidence, FunctionBuilder, Image, Measured, UNDERFLOW, add, at_least,
    at_most, constant, exp, from_bits, log, magnitude, mul, mul_add, or, select_less, sigmoid, sub,
    to_bits,
};
use crate::kernel::{Expr, ScalarFunction};
use crate::request::Accuracy;

pub(super) const DEFINITION: Definition = Definition {
    exact: |_, v| exact(v),
    expand: |_, accuracy| expand(accuracy),
    error: |_, accuracy, fused| ERRORS.error(accuracy, fused),
    image: |_, _, ends| Image::between(1.0, ends, [0.0, f64::INFINITY]),
    image_between: |_, at| at.monotone(sigmoid::exact(at.high)),
    evidence: Evidence::Measured,
    constants: Constants::AtRunTime,
};

fn exact(v: f64) -> f64 {
    // `max` would not keep a NaN
    let above = if v > 0.0 { v } else { 0.0 };
    above + (-v.abs()).exp().ln_1p()
}

/// The exact expansion is measured over every f32 with fused multiply-add. Without, it is measured
/// over every f32 from 0.3 to 1.2 in magnitude, the range of the largest errors, and over one in 61
/// elsewhere.
pub(super) const ERRORS: Measured = Measured {
    ulp: [1.58, 1.66],
    fast: [1.48e-6, 1.48e-6],
    audio: [1.56e-5, 1.56e-5],
    absolute: 2.0 * UNDERFLOW,
};

/// Below this argument, 1 + exp(-a) is above sqrt(2).
const NEAR: f32 = 0.88;

/// The rounding error of `LN_2`: f32(ln 2) - ln 2.
const LN_2_EXCESS: f32 = 1.904_654_2e-9;

fn expand(accuracy: Accuracy) -> ScalarFunction {
    let (mut body, x) = FunctionBuilder::new(
        "softplus",
        "log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)), right down to the smallest f32.",
    );
    body.comment("beyond this, exp(-a) is 0");
    let a = body.float("a", at_most(105.0, &magnitude(&x)));
    let v = body.float("v", from_bits(&or(&to_bits(&a), &Expr::u32(0x8000_0000, 1))));
    body.comment("v = -a = r + n ln(2), s = s1 s2 = 2^n");
    let (n, [s1, s2]) = exp::nearest_wide(&mut body, &v, LOG2_E);
    let s = body.float("s", mul(&s1, &s2));
    let r = exp::remainder(&mut body, &v, &n, accuracy);
    let p = exp::exp_m1(&mut body, &r, accuracy);
    body.comment("t = s e = exp(v), or f = (t - 1)/2, where 1 + t = 2 (1 + f)");
    let e = body.float("e", add(&constant(1.0), &p));
    let f = body.float("f", mul(&constant(0.5), &mul_add(&s, &p, &sub(&s, &constant(1.0)))));
    let z = body.float("z", select_less(&a, NEAR, &f, &mul(&s, &e)));
    let q = log::log_1p(&mut body, &z, accuracy);
    body.comment("log(1 + t) = ln(2) + f + f^2 q = s (1 + (p + s e^2 q))");
    let near = mul_add(&mul(&z, &z), &q, &sub(&f, &constant(LN_2_EXCESS)));
    let near = body.float("near", add(&constant(LN_2), &near));
    let far = add(&constant(1.0), &mul_add(&mul(&s, &mul(&e, &e)), &q, &p));
    let far = body.float("far", mul(&mul(&far, &s1), &s2));
    body.finish(add(&at_least(0.0, &x), &select_less(&a, NEAR, &near, &far)))
}
