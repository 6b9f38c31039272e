//! The error function, for the exact Gelu.

use std::f32::consts::LOG2_E;
use std::f64::consts::FRAC_2_SQRT_PI;

use super::{
    Constants, Definition, ErrorBound, Evidence, FunctionBuilder, Image, add, and, at_most,
    constant, exp, from_bits, magnitude, mul, mul_add, or, polynomial, select_less, to_bits,
};
use crate::kernel::ScalarFunction;
use crate::request::Accuracy;

pub(super) const DEFINITION: Definition = Definition {
    exact: |_, v| exact(v),
    expand: |_, _| expand(),
    // measured over every f32
    error: |_, _, fused| ErrorBound::ulp(if fused { 1.05 } else { 1.08 }),
    image: |_, _, ends| Image::between(FRAC_2_SQRT_PI, ends, [-1.0, 1.0]),
    image_between: |_, at| at.monotone(at.all.slope * (-at.nearest() * at.nearest()).exp()),
    evidence: Evidence::Measured,
    constants: Constants::AtRunTime,
};

/// The error function by a series of terms of one sign, which do not cancel: `2 / sqrt(pi)` times
/// `exp(-v v)` times the sum of `2^k v^(2k+1) / (1 3 5 .. (2k+1))`.
fn exact(v: f64) -> f64 {
    // beyond 6, the nearest f64 is 1 or -1
    if v.abs() > 6.0 {
        return v.signum();
    }
    let (mut term, mut sum) = (v, v);
    for k in 1..250 {
        term *= 2.0 * v * v / f64::from(2 * k + 1);
        sum += term;
        if term.abs() <= 1e-18 * sum.abs() {
            break;
        }
    }
    (FRAC_2_SQRT_PI * (-v * v).exp() * sum).clamp(-1.0, 1.0)
}

/// The argument up to which the polynomial applies. Larger arguments use the exponential.
const SEAM: f32 = 0.93;

fn expand() -> ScalarFunction {
    let (mut body, x) =
        FunctionBuilder::new("erf", "The error function of x, odd to the last bit.");
    let sign = body.bits("sign", and(&to_bits(&x), 0x8000_0000));
    body.comment("beyond 4 the value is 1");
    let a = body.float("a", at_most(4.0, &magnitude(&x)));
    let a2 = body.float("a2", mul(&a, &a));
    body.comment("small: erf(a) = a + a c");
    // a minimax polynomial for the relative error, refitted after the rounding of each coefficient
    // to f32: error 2^-30
    let c = body.float(
        "c",
        polynomial(
            &a2,
            &[
                0.128_379_17,
                -0.376_126_3,
                0.112_836_26,
                -0.026_855_731,
                0.005_192_405,
                -0.000_804_977,
                7.996_657e-5,
            ],
        ),
    );
    let small = body.float("small", mul_add(&a, &c, &a));
    body.comment("large: erf(a) = 1 - exp(v), v = r + n ln(2), s = -2^n");
    // v = a q for a from 0.93 to 4; minimax polynomial q for the relative error of erf: error 2^-30
    let q = polynomial(
        &a,
        &[
            -1.128_654_2,
            -0.635_128,
            -0.106_275_305,
            0.023_795_081,
            -0.003_658_034_6,
            0.000_326_626_47,
            -1.161_248_7e-5,
        ],
    );
    let v = body.float("v", mul(&a, &q));
    let (n, s) = exp::nearest(&mut body, &v, LOG2_E, 0, true);
    let r = exp::remainder(&mut body, &v, &n, Accuracy::Exact);
    let p = exp::exp_m1(&mut body, &r, Accuracy::Exact);
    let large = body.float("large", mul_add(&s, &p, &add(&constant(1.0), &s)));
    let y = body.float("y", select_less(&a, SEAM, &small, &large));
    body.finish(from_bits(&or(&to_bits(&y), &sign)))
}
