use std::f32::consts::LOG2_E;

use super::{
    Body, add, and, at_most, constant, div, exp, from_bits, magnitude, mul, mul_add, or, polynomial, select_less, sub,
    to_bits,
};
use crate::kernel::{Expr, Function};

pub(super) fn exact(v: f64) -> f64 {
    v.tanh()
}

/// With fused multiply-add and without; measured over every f32.
pub(super) const MAX_ULP: [f64; 2] = [2.33, 2.32];

/// The relative error in units of 2^-24 where the value is normal, the larger one of the two; measured over every
/// f32 of magnitude 0.25 to 1.5, where it is largest, and one in 31 of the others.
pub(super) const MAX_RELATIVE: f64 = 3.27;

/// ln(2)/2, which as a f32 ends in three zeros: its product with n is exact up to n = 8, and tanh is flat beyond.
const HALF_LN2: f32 = 0.346_573_6;

/// Where tanh is 1/2.
const HALF: f32 = 0.549_306_15;

pub(super) fn expand() -> Function {
    let (mut body, x) = Body::new("tanh", "tanh(x), odd to the last bit.");
    let y = arithmetic(&mut body, &x);
    body.finish(y)
}

/// tanh of any value.
pub(super) fn arithmetic(body: &mut Body, x: &Expr) -> Expr {
    let sign = body.bits("sign", and(&to_bits(x), 0x8000_0000));
    body.comment("beyond 10 the value is 1");
    let a = body.float("a", at_most(10.0, &magnitude(x)));
    body.comment("a = r + n ln(2)/2, s = 2^n");
    let (n, s) = exp::nearest(body, &a, 2.0 * LOG2_E, 0, false);
    let r = body.float("r", mul_add(&n, &constant(-HALF_LN2), &a));
    body.comment("t = tanh(r)");
    // for |r| <= ln(2)/4; minimax for the relative error, coefficients rounded to f32 one after the other, the rest
    // refitted: 2^-32
    let r2 = body.float("r2", mul(&r, &r));
    let c = body.float("c", polynomial(&r2, &[-0.333_333_22, 0.133_311_4, -0.052_714_53]));
    let t = body.float("t", mul_add(&mul(&r2, &r), &c, &r));
    // with u = tanh(n ln(2)/2) = (s - 1) / (s + 1): tanh(a) = (t + u) / (1 + t u), which is also
    // 1 - (1 - t) (1 - u) / (1 + t u); each is the more exact one on its side of tanh(a) = 1/2
    body.comment("tanh(a) = (less + more t) / (more + less t) = 1 + (2 t - 2) / (more + less t)");
    let less = body.float("less", sub(&s, &constant(1.0)));
    let more = body.float("more", add(&s, &constant(1.0)));
    let small = body.float("small", mul_add(&more, &t, &less));
    let large = body.float("large", mul_add(&constant(2.0), &t, &constant(-2.0)));
    let q = body.float("q", div(&select_less(&a, HALF, &small, &large), &mul_add(&less, &t, &more)));
    let y = body.float("y", add(&select_less(&a, HALF, &constant(0.0), &constant(1.0)), &q));
    from_bits(&or(&to_bits(&y), &sign))
}
