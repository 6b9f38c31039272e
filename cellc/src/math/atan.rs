//! The arc tangent.

use std::f32::consts::FRAC_PI_2;

use super::{
    Constants, Definition, Evidence, FunctionBuilder, Image, Measured, add, and, at_least, at_most,
    constant, div, from_bits, magnitude, mul, mul_add, or, polynomial, select_less, sub, to_bits,
};
use crate::kernel::ScalarFunction;
use crate::request::Accuracy;

pub(super) const DEFINITION: Definition = Definition {
    exact: |_, v| v.atan(),
    expand: |_, accuracy| expand(accuracy),
    error: |_, accuracy, fused| ERRORS.error(accuracy, fused),
    image: |_, _, ends| Image::between(1.0, ends, [-LIMIT, LIMIT]),
    image_between: |_, at| Some(at.all),
    evidence: Evidence::Measured,
    constants: Constants::AtRunTime,
};

/// The largest result: pi/2 rounded up to f32.
const LIMIT: f64 = FRAC_PI_2 as f64;

/// The difference of [`FRAC_PI_2`] and pi/2.
const EXCESS: f32 = 4.371_139e-8;

const ERRORS: Measured = Measured {
    ulp: [1.21, 1.32],
    fast: [8.06e-7, 8.13e-7],
    audio: [5.08e-6, 5.08e-6],
    absolute: 0.0,
};

fn expand(accuracy: Accuracy) -> ScalarFunction {
    let (mut body, x) = FunctionBuilder::new("atan", "The arc tangent of x, odd to the last bit.");
    let sign = body.bits("sign", and(&to_bits(&x), 0x8000_0000));
    let a = body.float("a", magnitude(&x));
    body.comment("t = a, or 1 / a where a is 1 or more: atan(a) = pi/2 - atan(1 / a)");
    let t = body.float("t", div(&at_most(1.0, &a), &at_least(1.0, &a)));
    let t2 = body.float("t2", mul(&t, &t));
    // atan(t) = t + t^3 q for t from 0 to 1; minimax polynomials for the relative error, refitted
    // after the rounding of each coefficient to f32: errors 2^-28.5, 2^-20.4, 2^-17.6
    let coefficients: &[f32] = match accuracy {
        Accuracy::Exact => &[
            -0.333_333,
            0.199_985_3,
            -0.142_640_14,
            0.109_508_61,
            -0.083_992_09,
            0.057_878_915,
            -0.031_093_631,
            0.010_866_363,
            -0.001_782_176,
        ],
        Accuracy::Fast => &[
            -0.333_284_9,
            0.198_978_68,
            -0.135_445_54,
            0.084_840_62,
            -0.037_796_356,
            0.008_106_249,
        ],
        Accuracy::Audio => &[-0.333_089, 0.196_183_04, -0.122_514_87, 0.058_770_09, -0.013_955_036],
    };
    let q = body.float("q", polynomial(&t2, coefficients));
    let excess = select_less(&a, 1.0, &constant(0.0), &constant(EXCESS));
    let y = body.float("y", add(&t, &mul_add(&mul(&t, &t2), &q, &excess)));
    let y = body.float("above", select_less(&a, 1.0, &y, &sub(&constant(FRAC_PI_2), &y)));
    body.finish(from_bits(&or(&to_bits(&y), &sign)))
}
