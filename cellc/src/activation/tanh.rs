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
    Measured { ulp: [2.33, 2.32], fast: [1.3e-6, 1.3e-6], audio: [1.75e-5, 1.75e-5], absolute: 2.0 * UNDERFLOW };

/// ln(2)/2, which as a f32 ends in three zeros: its product with n is exact up to n = 8, and tanh is flat beyond.
const HALF_LN2: f32 = 0.346_573_6;

/// Where tanh is 1/2.
const HALF: f32 = 0.549_306_15;

fn expand(accuracy: Accuracy) -> Function {
    let (mut body, x) = FunctionBuilder::new("tanh", "tanh(x), odd to the last bit.");
    let y = match accuracy {
        Accuracy::Exact => arithmetic(&mut body, &x),
        Accuracy::Fast | Accuracy::Audio => quotient(&mut body, &x, accuracy),
    };
    body.finish(y)
}

/// tanh of any value.
fn arithmetic(body: &mut FunctionBuilder, x: &Expr) -> Expr {
    let sign = body.bits("sign", and(&to_bits(x), 0x8000_0000));
    let a = saturated(body, &magnitude(x));
    let Reduced { t, less, more } = reduced(body, &a);
    // each form is the more exact one on its side of tanh(a) = 1/2
    let small = body.float("small", mul_add(&more, &t, &less));
    let large = body.float("large", mul_add(&constant(2.0), &t, &constant(-2.0)));
    let q = body.float("q", div(&select_less(&a, HALF, &small, &large), &mul_add(&less, &t, &more)));
    let y = body.float("y", add(&select_less(&a, HALF, &constant(0.0), &constant(1.0)), &q));
    from_bits(&or(&to_bits(&y), &sign))
}

/// What is left of an argument whose tanh is 1.
pub(super) fn saturated(body: &mut FunctionBuilder, a: &Expr) -> Expr {
    body.comment("beyond 10 the value is 1");
    body.float("a", at_most(10.0, a))
}

/// Of an `a` of 0 to 10: `tanh(a) = (less + more t) / (more + less t) = 1 + (2 t - 2) / (more + less t)`.
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
    // with u = tanh(n ln(2)/2) = (s - 1) / (s + 1): tanh(a) = (t + u) / (1 + t u), which is also
    // 1 - (1 - t) (1 - u) / (1 + t u)
    body.comment("tanh(a) = (less + more t) / (more + less t) = 1 + (2 t - 2) / (more + less t)");
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
