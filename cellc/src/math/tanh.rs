use std::f32::consts::LOG2_E;

use super::{
    Constants, Definition, Evidence, FunctionBuilder, Image, Measured, UNDERFLOW, and, at_least,
    at_most, constant, div, exp, from_bits, magnitude, mul, mul_add, or, polynomial, select_less,
    squared_sech, sub, to_bits,
};
use crate::kernel::{Expr, ScalarFunction};
use crate::request::Accuracy;

pub(super) const DEFINITION: Definition = Definition {
    exact: |_, v| v.tanh(),
    expand: |_, accuracy| expand(accuracy),
    error: |_, accuracy, fused| ERRORS.error(accuracy, fused),
    image: |_, _, ends| Image::between(1.0, ends, [-1.0, 1.0]),
    image_between: |_, at| at.monotone(squared_sech(at.nearest())),
    evidence: Evidence::Measured,
    constants: Constants::AtRunTime,
};

pub(super) const ERRORS: Measured = Measured {
    ulp: [1.35, 1.36],
    fast: [1.3e-6, 1.3e-6],
    audio: [1.75e-5, 1.75e-5],
    absolute: 2.0 * UNDERFLOW,
};

/// ln(2)/2 as f32 with three zero bits at the end: the product with n is exact up to n = 8. Beyond,
/// tanh is flat.
const HALF_LN2: f32 = 0.346_573_6;

/// The argument with tanh 1/2. Smaller arguments use the polynomial, larger ones the exponential.
const HALF: f32 = 0.549_306_15;

fn expand(accuracy: Accuracy) -> ScalarFunction {
    let doc = match accuracy {
        Accuracy::Exact => "tanh(x), odd to the last bit, monotone, within [-1, 1].",
        Accuracy::Fast | Accuracy::Audio => "tanh(x), odd to the last bit.",
    };
    let (mut body, x) = FunctionBuilder::new("tanh", doc);
    let y = match accuracy {
        Accuracy::Exact => arithmetic(&mut body, &x),
        Accuracy::Fast | Accuracy::Audio => quotient(&mut body, &x, accuracy),
    };
    body.finish(y)
}

/// tanh of any value. Both forms are monotone: rounding keeps the order of two numbers, and each
/// polynomial adds to its argument a term whose rounding errors are smaller than the distance of
/// neighbouring f32. The value also grows from each `n` to the next, and from the polynomial to the
/// exponential: a test visits every f32.
fn arithmetic(body: &mut FunctionBuilder, x: &Expr) -> Expr {
    let sign = body.bits("sign", and(&to_bits(x), 0x8000_0000));
    let a = saturated(body, &magnitude(x));
    let d = half_of_exp_and_1(body, &a);
    let large = body.float("large", sub(&constant(1.0), &div(&constant(1.0), &d)));
    body.comment("where tanh(a) is below 1/2: tanh(a) = a + a^3 c");
    let a2 = body.float("a2", mul(&a, &a));
    // a minimax polynomial for the relative error of tanh up to HALF, refitted after the rounding
    // of each coefficient to f32: error 2^-29.7
    let c = polynomial(
        &a2,
        &[-0.333_333_16, 0.133_325_44, -0.053_847_548, 0.021_050_714, -0.006_242_849],
    );
    let c = body.float("c", c);
    let small = body.float("small", mul_add(&mul(&a2, &a), &c, &a));
    let y = body.float("y", select_less(&a, HALF, &small, &large));
    from_bits(&or(&to_bits(&y), &sign))
}

/// The argument, limited to 10. tanh of larger arguments is 1 in f32.
pub(super) fn saturated(body: &mut FunctionBuilder, a: &Expr) -> Expr {
    body.comment("beyond 10 the value is 1");
    body.float("a", at_most(10.0, a))
}

/// `d = (exp(2 a) + 1) / 2` for an `a` from 0 to 10: `tanh(a) = 1 - 1/d`.
pub(super) fn half_of_exp_and_1(body: &mut FunctionBuilder, a: &Expr) -> Expr {
    body.comment("a = r + n ln(2)/2, s = 2^n");
    let (n, s) = exp::nearest(body, a, 2.0 * LOG2_E, 0, false);
    let r = body.float("r", mul_add(&n, &constant(-HALF_LN2), a));
    body.comment("p = (exp(2 r) - 1) / 2");
    // for |r| <= ln(2)/4; a minimax polynomial for the error of 2 p relative to exp(2 r), refitted
    // after the rounding of each coefficient to f32: error 2^-28; evaluated in independent parts
    let r2 = body.float("r2", mul(&r, &r));
    let low = polynomial(&r, &[0.999_999_9, 0.666_660_85]);
    let high =
        mul_add(&r2, &constant(0.044_225_313), &polynomial(&r, &[0.333_346_16, 0.133_898_84]));
    let q = body.float("q", mul_add(&r2, &high, &low));
    let p = body.float("p", mul_add(&r2, &q, &r));
    body.comment("tanh(a) = 1 - 1/d, d = (exp(2 a) + 1) / 2 = s p + (s + 1) / 2");
    body.float("d", mul_add(&s, &p, &mul_add(&s, &constant(0.5), &constant(0.5))))
}

/// tanh of any value as one quotient of polynomials; at most 1 in magnitude.
pub(super) fn quotient(body: &mut FunctionBuilder, x: &Expr, accuracy: Accuracy) -> Expr {
    let audio = accuracy == Accuracy::Audio;
    let end = if audio { 6.2 } else { 7.0 };
    body.comment("beyond these the value stays at about 1 and -1");
    let v = body.float("v", at_most(end, &at_least(-end, x)));
    let v2 = body.float("v2", mul(&v, &v));
    let v4 = body.float("v4", mul(&v2, &v2));
    body.comment("tanh(v) = above / below");
    // minimax quotients for the relative error: errors 2^-16.7 and 2^-19.9; evaluated in
    // independent parts
    let (above, low, high) = if audio {
        let v3 = mul(&v, &v2);
        let above = mul_add(
            &v3,
            &polynomial(&v2, &[0.114_450_79, 0.001_490_086_4]),
            &mul(&v, &constant(0.999_990_94)),
        );
        (above, [1.0, 0.447_723_54], [0.017_467_232, 5.471_978e-5])
    } else {
        let low = mul(&v, &polynomial(&v2, &[0.999_999, 0.123_220_44]));
        let above = mul_add(&mul(&v, &v4), &polynomial(&v2, &[0.002_293_079, 3.995_825e-6]), &low);
        (above, [1.0, 0.456_546_04], [0.021_151_567, 0.000_143_983_39])
    };
    let above = body.float("above", above);
    let below = body.float("below", mul_add(&v4, &polynomial(&v2, &high), &polynomial(&v2, &low)));
    div(&above, &below)
}
