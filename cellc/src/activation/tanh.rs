use std::f32::consts::LOG2_E;

use super::{
    Definition, FunctionBuilder, Image, Measured, UNDERFLOW, add, and, at_least, at_most, constant, div, exp,
    from_bits, magnitude, mul, mul_add, or, polynomial, select_less, sub, to_bits,
};
use crate::kernel::{Expr, Function};
use crate::options::Accuracy;

pub(super) const DEFINITION: Definition = Definition {
    exact: |_, v| v.tanh(),
    expand: |_, accuracy| expand(accuracy),
    error: |_, accuracy, fused| ERRORS.error(accuracy, fused),
    image: |_, _, ends| Image::between(1.0, ends, [-1.0, 1.0]),
};

pub(super) const ERRORS: Measured =
    Measured { ulp: [1.33, 1.33], fast: [1.3e-6, 1.3e-6], audio: [1.75e-5, 1.75e-5], absolute: 2.0 * UNDERFLOW };

/// ln(2)/2, which as a f32 ends in three zeros: its product with n is exact up to n = 8, and tanh is flat beyond.
const HALF_LN2: f32 = 0.346_573_6;

/// The arguments below it take the polynomial, the others the quotient.
const NEAR: f32 = 0.7;

fn expand(accuracy: Accuracy) -> Function {
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

/// tanh of any value. Both forms are monotone: rounding keeps the order of two numbers, the quotient has a numerator and a
/// denominator that grow with the argument, and the polynomial adds to the argument a term whose rounding errors are smaller
/// than the distance of neighbouring f32. The value grows from each `n` to the next, and from the polynomial to the quotient:
/// a test visits every f32.
fn arithmetic(body: &mut FunctionBuilder, x: &Expr) -> Expr {
    let sign = body.bits("sign", and(&to_bits(x), 0x8000_0000));
    let a = saturated(body, &magnitude(x));
    let Reduced { t, less, more } = reduced(body, &a);
    let far = body.float("far", div(&mul_add(&constant(2.0), &t, &constant(-2.0)), &mul_add(&less, &t, &more)));
    body.comment("near 0: tanh(a) = a + a^3 p");
    let a2 = body.float("a2", mul(&a, &a));
    // minimax for the error of tanh up to NEAR, coefficients rounded to f32 one after the other, the rest refitted: 2^-26
    let p = polynomial(&a2, &[-0.333_331_9, 0.133_291_32, -0.053_559_97, 0.020_094_374, -0.005_140_512_7]);
    let p = body.float("p", p);
    let near = body.float("near", mul_add(&mul(&a2, &a), &p, &a));
    let y = body.float("y", select_less(&a, NEAR, &near, &add(&constant(1.0), &far)));
    from_bits(&or(&to_bits(&y), &sign))
}

/// What is left of an argument whose tanh is 1.
pub(super) fn saturated(body: &mut FunctionBuilder, a: &Expr) -> Expr {
    body.comment("beyond 10 the value is 1");
    body.float("a", at_most(10.0, a))
}

/// Of an `a` of 0 to 10: `tanh(a) = 1 + (2 t - 2) / (more + less t)`.
pub(super) struct Reduced {
    pub(super) t: Expr,
    pub(super) less: Expr,
    pub(super) more: Expr,
}

pub(super) fn reduced(body: &mut FunctionBuilder, a: &Expr) -> Reduced {
    body.comment("a = r + n ln(2)/2, s = 2^n");
    let (n, s) = exp::nearest(body, a, 2.0 * LOG2_E, 0, false);
    let r = body.float("r", mul_add(&n, &constant(-HALF_LN2), a));
    body.comment("t = tanh(r)");
    // for |r| <= ln(2)/4; minimax for the relative error, coefficients rounded to f32 one after the other, the rest
    // refitted: 2^-32
    let r2 = body.float("r2", mul(&r, &r));
    let c = body.float("c", polynomial(&r2, &[-0.333_333_22, 0.133_311_4, -0.052_714_53]));
    let t = body.float("t", mul_add(&mul(&r2, &r), &c, &r));
    // with u = tanh(n ln(2)/2) = (s - 1) / (s + 1): tanh(a) = (t + u) / (1 + t u) = 1 - (1 - t) (1 - u) / (1 + t u)
    body.comment("tanh(a) = 1 + (2 t - 2) / (more + less t)");
    let less = body.float("less", sub(&s, &constant(1.0)));
    let more = body.float("more", add(&s, &constant(1.0)));
    Reduced { t, less, more }
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
    // minimax for the relative error, 2^-16.7 and 2^-19.9; in parts that need not wait for each other
    let (above, low, high) = if audio {
        let v3 = mul(&v, &v2);
        let above = mul_add(&v3, &polynomial(&v2, &[0.114_450_79, 0.001_490_086_4]), &mul(&v, &constant(0.999_990_94)));
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
