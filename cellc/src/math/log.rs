//! log, and the logarithm near 1 that softplus shares.

use super::{
    Constants, Definition, Evidence, FunctionBuilder, Image, Measured, UNDERFLOW, add, and,
    constant, exp, from_bits, minus_bits, mul, mul_add, or, plus_bits, polynomial, select_less,
    shift_left, shift_right, sub, to_bits,
};
use crate::kernel::{Expr, LaneOp, ScalarFunction};
use crate::request::Accuracy;

pub(super) const DEFINITION: Definition = Definition {
    exact: |_, v| v.ln(),
    expand: |_, accuracy| expand(accuracy),
    error: |_, accuracy, fused| ERRORS.error(accuracy, fused),
    // the slope is infinite at 0, and the logarithm is undefined below
    image: |_, _, ends| {
        Image::between(
            f64::INFINITY,
            [f64::NEG_INFINITY, ends[1]],
            [f64::NEG_INFINITY, f64::INFINITY],
        )
    },
    image_between: |_, at| match at.low > 0.0 {
        true => at.monotone(at.low.recip()),
        false => Some(at.all),
    },
    evidence: Evidence::Measured,
    constants: Constants::Exact,
};

pub(super) const ERRORS: Measured = Measured {
    ulp: [0.89, 0.89],
    fast: [1.39e-6, 1.39e-6],
    audio: [8.6e-6, 8.6e-6],
    absolute: UNDERFLOW,
};

/// The polynomial `q` in `log(1 + f) = f + f^2 q`.
pub(super) fn log_1p(body: &mut FunctionBuilder, f: &Expr, accuracy: Accuracy) -> Expr {
    // for 1 + f from sqrt(1/2) to sqrt(2); minimax polynomials for the relative error, with
    // coefficients rounded to f32: errors 2^-26, 2^-19.5, 2^-16.8
    let coefficients: &[f32] = match accuracy {
        Accuracy::Exact => &[
            -0.499_999_88,
            0.333_333_26,
            -0.250_015_86,
            0.200_019_83,
            -0.166_09,
            0.141_815_81,
            -0.132_434_72,
            0.129_063_23,
            -0.076_229_32,
        ],
        Accuracy::Fast => {
            &[-0.500_008_46, 0.333_192_2, -0.249_190_64, 0.204_491_21, -0.185_875_88, 0.119_494_09]
        }
        Accuracy::Audio => {
            &[-0.499_917_42, 0.332_740_34, -0.253_879_67, 0.219_280_85, -0.142_160_27]
        }
    };
    body.float("q", polynomial(f, coefficients))
}

/// The bits of sqrt(1/2), the smallest significand.
const START: u32 = 0x3f35_04f3;

/// The offset of exponents, so that biased exponents are not negative.
const BIAS: u32 = 128;

/// 2^23: an f32 whose upper bits are those of 2^23 is 2^23 plus the integer in the low bits.
const INTEGER: f32 = 8_388_608.0;

fn expand(accuracy: Accuracy) -> ScalarFunction {
    let (mut body, x) = FunctionBuilder::new("log", "log(x); -inf at 0, NaN below.");
    body.comment("w = 2^e (1 + f) is normal, 1 + f between sqrt(1/2) and sqrt(2)");
    let tiny = f32::MIN_POSITIVE;
    let w =
        body.float("w", mul(&x, &select_less(&x, tiny, &constant(33_554_432.0), &constant(1.0))));
    let above = plus_bits(&to_bits(&w), (BIAS << 23).wrapping_sub(START));
    let e = body.bits("e", shift_right(&above, 23));
    let significand =
        minus_bits(&to_bits(&w), &shift_left(&plus_bits(&e, BIAS.wrapping_neg()), 23));
    let f = body.float("f", sub(&from_bits(&significand), &constant(1.0)));
    body.comment("n = e, less the 25 by which a denormal x was scaled");
    let integer = from_bits(&or(&and(&e, 0x1ff), &Expr::u32(INTEGER.to_bits(), 1)));
    let less = |by: f32| constant(INTEGER + BIAS as f32 + by);
    let n = body.float("n", sub(&integer, &select_less(&x, tiny, &less(25.0), &less(0.0))));
    let q = log_1p(&mut body, &f, accuracy);
    let rest = mul_add(&mul(&f, &f), &q, &mul(&n, &constant(exp::LN2[1])));
    let y = body.float("y", mul_add(&n, &constant(exp::LN2[0]), &add(&rest, &f)));
    body.comment(
        "infinity stays, 0 becomes -inf, and so does no other number that is not positive",
    );
    let large = select_less(&x, f32::INFINITY, &y, &x);
    let special = select_less(&x, 0.0, &constant(f32::NAN), &sub(&x, &constant(f32::INFINITY)));
    body.finish(Expr::Op(LaneOp::SelectLess, vec![constant(0.0), x, large, special]))
}
