//! Sine and cosine, with one reduction of the argument to an eighth of a turn.
//!
//! A quarter of a turn is subtracted in four parts. Products of the first three parts with up to
//! 2^13 quarters are exact. Beyond 2^22 quarters, about 6.6e6, the values are meaningless but stay
//! within -1 and 1. The stated error is relative to the argument and covers these values, too: at
//! 6.6e6 the error bound reaches 2, and neighbouring arguments are half a radian apart.

use std::f32::consts::FRAC_2_PI;
use std::f64::consts::{FRAC_PI_2, PI};

use super::{
    Constants, Definition, ErrorBound, Evidence, FunctionBuilder, Image, and, at_least, at_most,
    constant, from_bits, magnitude, mul, mul_add, plus_bits, polynomial, select_less, shift_left,
    sub, to_bits, xor,
};
use crate::kernel::ScalarFunction;

pub(super) const SIN: Definition = Definition {
    exact: |_, v| v.sin(),
    expand: |_, _| expand(false),
    error: |_, _, _| OF_ARGUMENT,
    image: |_, most, ends| {
        let ends = if most < FRAC_PI_2 { ends } else { [-1.0, 1.0] };
        Image::between(1.0, ends, [-1.0, 1.0])
    },
    image_between: |_, at| Some(at.all),
    evidence: Evidence::Measured,
    constants: Constants::AtRunTime,
};

pub(super) const COS: Definition = Definition {
    exact: |_, v| v.cos(),
    expand: |_, _| expand(true),
    error: |_, _, _| ErrorBound { ulp: 0.5, ..OF_ARGUMENT },
    image: |_, most, ends| {
        let least = if most < PI { ends[1] } else { -1.0 };
        Image::between(most.min(1.0), [least, 1.0], [-1.0, 1.0])
    },
    image_between: |_, at| Some(at.all),
    evidence: Evidence::Measured,
    constants: Constants::AtRunTime,
};

/// The error relative to the argument: at the first argument with meaningless values, the bound
/// reaches 2, the largest possible error.
const OF_ARGUMENT: ErrorBound =
    ErrorBound { ulp: 0.0, relative: 0.0, of_argument: 3.05e-7, absolute: 0.0 };

/// A quarter of a turn as a sum of numbers with 8, 11, 11 and 24 bits.
const QUARTER: [f32; 4] = [1.570_312_5, 0.000_483_751_3, 7.549_533_6e-8, 2.563_344e-12];

/// 1.5 * 2^23: adding this number rounds to an integer in the low bits of the sum.
const ROUND: f32 = 12_582_912.0;

fn expand(cosine: bool) -> ScalarFunction {
    let (name, doc) = match cosine {
        false => ("sin", "The sine of x up to 6.5e6, odd to the last bit."),
        true => ("cos", "The cosine of x up to 6.5e6, even to the last bit."),
    };
    let (mut body, x) = FunctionBuilder::new(name, doc);
    let a = body.float("a", magnitude(&x));
    body.comment("a = r + n pi/2");
    let sum = body.float("k", mul_add(&a, &constant(FRAC_2_PI), &constant(ROUND)));
    let n = body.float("n", sub(&sum, &constant(ROUND)));
    let r = QUARTER.iter().fold(a, |r, part| mul_add(&n, &constant(-part), &r));
    let r = body.float("r", at_most(1.0, &at_least(-1.0, &r)));
    let r2 = body.float("r2", mul(&r, &r));
    // for |r| <= pi/4; minimax polynomials for the relative error, refitted after the rounding of
    // each coefficient to f32: errors 2^-27.9 and 2^-33
    let c = body.float("c", polynomial(&r2, &[-0.166_666_55, 0.008_332_188, -0.000_195_181]));
    let sine = body.float("sine", mul_add(&mul(&r, &r2), &c, &r));
    let d =
        body.float("d", polynomial(&r2, &[-0.5, 0.041_666_646, -0.001_388_731, 2.443_255_3e-5]));
    let cosine_of = body.float("cosine", mul_add(&r2, &d, &constant(1.0)));
    body.comment("in an odd quarter the other one; in the third and the fourth the negative");
    let quarter =
        body.bits("quarter", if cosine { plus_bits(&to_bits(&sum), 1) } else { to_bits(&sum) });
    let odd = body.float("odd", from_bits(&shift_left(&and(&quarter, 1), 29)));
    let y = body.float("y", select_less(&odd, 1e-20, &sine, &cosine_of));
    let flipped = xor(&to_bits(&y), &shift_left(&and(&quarter, 2), 30));
    let result = if cosine { flipped } else { xor(&flipped, &and(&to_bits(&x), 0x8000_0000)) };
    body.finish(from_bits(&result))
}
