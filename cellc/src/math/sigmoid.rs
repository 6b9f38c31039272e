use std::f32::consts::{LN_2, LOG2_E};

use super::{
    Constants, Definition, Evidence, FunctionBuilder, Image, Measured, add, at_least, at_most,
    constant, div, exp, mul, mul_add, polynomial, squared_sech, sub,
};
use crate::kernel::ScalarFunction;
use crate::request::Accuracy;

pub(super) const DEFINITION: Definition = Definition {
    exact: |_, v| exact(v),
    expand: |_, accuracy| expand(accuracy),
    error: |_, accuracy, fused| ERRORS.error(accuracy, fused),
    image: |_, _, ends| Image::between(0.25, ends, [0.0, 1.0]),
    image_between: |_, at| at.monotone(0.25 * squared_sech(at.nearest() / 2.0)),
    evidence: Evidence::Measured,
    constants: Constants::AtRunTime,
};

pub(super) fn exact(v: f64) -> f64 {
    // for large -v, exp(-v) overflows, and 1 / (1 + exp(-v)) would be 0 instead of exp(v)
    if v < 0.0 { v.exp() / (1.0 + v.exp()) } else { 1.0 / (1.0 + (-v).exp()) }
}

pub(super) const ERRORS: Measured = Measured {
    ulp: [2.45, 2.45],
    fast: [6.8e-7, 2.58e-6],
    audio: [2.55e-5, 2.74e-5],
    absolute: BELOW,
};

/// The absolute error below x = -64. A separately rounded `n ln(2)` causes larger errors there than
/// the relative errors of the quick expansions, but values are only 1.6e-28 or less.
const BELOW: f64 = 4e-34;

/// The power of two that scales 1 + exp(-x), since exp(104) exceeds f32.
const SCALE: i32 = -64;

/// 2^SCALE
const ONE: f32 = f32::from_bits(((SCALE + 127) as u32) << 23);

fn expand(accuracy: Accuracy) -> ScalarFunction {
    match accuracy {
        Accuracy::Exact => expand_exact(),
        Accuracy::Fast | Accuracy::Audio => expand_quick(accuracy),
    }
}

fn expand_exact() -> ScalarFunction {
    let (mut body, x) =
        FunctionBuilder::new("sigmoid", "1 / (1 + exp(-x)), right down to the smallest f32.");
    body.comment("beyond these, the value is 1 and 0");
    let v = body.float("v", at_most(20.0, &at_least(-105.0, &x)));
    body.comment("v = r - n ln(2), s = -2^(n - 64)");
    let (n, s) = exp::nearest(&mut body, &v, -LOG2_E, SCALE, true);
    let r = body
        .float("r", mul_add(&n, &constant(exp::LN2[1]), &mul_add(&n, &constant(exp::LN2[0]), &v)));
    body.comment("p = 1 - exp(-r)");
    // for |r| <= ln(2)/2; a minimax polynomial for the error relative to exp(-r), refitted after
    // the rounding of each coefficient to f32: error 2^-28
    let q = body.float(
        "q",
        polynomial(
            &r,
            &[-0.499_999_94, 0.166_665_17, -0.041_668_102, 0.008_369_192_5, -0.001_383_881_2],
        ),
    );
    let p = body.float("p", mul_add(&mul(&r, &r), &q, &r));
    body.comment("2^-64 (1 + exp(-v)) = 2^-64 - s + s p");
    let d = body.float("d", mul_add(&s, &p, &sub(&constant(ONE), &s)));
    body.finish(div(&constant(ONE), &d))
}

/// `1 / (1 + exp(-x))` with exp(-r) as a quotient of polynomials: the function divides only once.
fn expand_quick(accuracy: Accuracy) -> ScalarFunction {
    let (mut body, x) = FunctionBuilder::new("sigmoid", "1 / (1 + exp(-x)).");
    body.comment("beyond these, the value is 1 and 0, as s = 2^128 is infinite");
    let v = body.float("v", at_most(64.0, &at_least(-89.0, &x)));
    body.comment("v = r - n ln(2), s = 2^n");
    let (n, s) = exp::nearest(&mut body, &v, -LOG2_E, 0, false);
    let r = body.float("r", mul_add(&n, &constant(LN_2), &v));
    // for |r| <= ln(2)/2; minimax quotients for the relative error, with errors as stated
    body.comment("exp(-r) = less / more");
    let (less, more) = if accuracy == Accuracy::Audio {
        // error 2^-15.3
        let more = body.float("more", add(&r, &constant(3.008_031)));
        let less = body.float("less", polynomial(&r, &[3.008_106, -2.008_000_9, 0.499_000_82]));
        (less, more)
    } else {
        // (e - r) / (e + r) with e = r coth(r/2): error 2^-21
        let e = body.float("e", polynomial(&mul(&r, &r), &[2.000_012_6, 0.166_250_08]));
        let less = body.float("less", sub(&e, &r));
        let more = body.float("more", add(&e, &r));
        (less, more)
    };
    let d = body.float("d", mul_add(&s, &less, &more));
    body.finish(div(&more, &d))
}
