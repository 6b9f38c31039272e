//! The square root, correctly rounded with plain arithmetic: no target needs a special instruction
//! or a library.
//!
//! A power of four scales the argument to `m` from 1 to 4. Newton's method gives `y` within one
//! unit in the last place of the root of `m`. The exact residual `m - y^2`, with `y` in two parts
//! of 12 bits, then decides between `y` and its neighbours.

use super::{
    Constants, Definition, ErrorBound, Evidence, FunctionBuilder, Image, add, and, constant, div,
    from_bits, minus_bits, mul, plus_bits, select_less, shift_right, sub, to_bits,
};
use crate::kernel::{Expr, LaneOp, ScalarFunction};

pub(super) const DEFINITION: Definition = Definition {
    exact: |_, v| v.sqrt(),
    expand: |_, _| expand(),
    error: |_, _, _| ErrorBound::ulp(0.5),
    // the slope is infinite at 0, and the root is undefined below
    image: |_, _, ends| Image {
        slope: f64::INFINITY,
        jump: 0.0,
        low: 0.0,
        high: ends[1],
        least: 0.0,
        most: f64::INFINITY,
    },
    image_between: |_, at| match at.low >= 0.0 {
        // the difference of two roots is at most the root of the difference
        true => at.monotone((0.5 / at.ends[0]).min(at.error.sqrt() / at.error)),
        // the root of a negative argument is NaN
        false => None,
    },
    evidence: Evidence::Measured,
    constants: Constants::Rounded,
};

/// The distance of neighbouring f32 from 1 to 2.
const UNIT: f32 = f32::EPSILON;

fn expand() -> ScalarFunction {
    let (mut body, x) = FunctionBuilder::new("sqrt", "The square root of x; NaN below 0.");
    body.comment("w = 4^e m is normal, m from 1 to 4");
    let tiny = f32::MIN_POSITIVE;
    let w =
        body.float("w", mul(&x, &select_less(&x, tiny, &constant(16_777_216.0), &constant(1.0))));
    let rest = body.float("rest", select_less(&x, tiny, &constant(1.0 / 4096.0), &constant(1.0)));
    // `even` holds 128 + e in the exponent bits, where e is the exponent of w rounded down to an
    // even number
    let even = body.bits("even", and(&plus_bits(&to_bits(&w), 0x0080_0000), 0x7f00_0000));
    let m = body.float("m", from_bits(&plus_bits(&minus_bits(&to_bits(&w), &even), 0x4000_0000)));
    body.comment("y is the root of m, or next to it");
    let first = body.float("y0", add(&mul(&m, &constant(0.343_75)), &constant(0.687_5)));
    let y = (1..4).fold(first, |y, k| {
        let better = mul(&add(&y, &div(&m, &y)), &constant(0.5));
        body.float(&format!("y{k}"), better)
    });
    body.comment("d = m - y y");
    let high = body.float("high", from_bits(&and(&to_bits(&y), 0xffff_f000)));
    let low = body.float("low", sub(&y, &high));
    let near =
        body.float("near", sub(&sub(&m, &mul(&high, &high)), &mul(&add(&high, &high), &low)));
    let d = body.float("d", sub(&near, &mul(&low, &low)));
    let half = body.float("half", mul(&y, &constant(UNIT)));
    let negative = body.float("negative", sub(&constant(0.0), &half));
    let up = body.float("up", add(&y, &constant(UNIT)));
    let down = body.float("down", sub(&y, &constant(UNIT)));
    let above = body.float("above", Expr::Op(LaneOp::SelectLess, vec![half, d.clone(), up, y]));
    // down if d <= -half
    let root = body.float("root", Expr::Op(LaneOp::SelectLess, vec![negative, d, above, down]));
    let scale = body.float("scale", from_bits(&plus_bits(&shift_right(&even, 1), 0x1f80_0000)));
    let root = body.float("scaled", mul(&mul(&root, &scale), &rest));
    body.comment("0 and infinity are their own roots, and so is NaN");
    let finite = body.float("finite", select_less(&x, f32::INFINITY, &root, &x));
    let below = body.float("below", select_less(&x, 0.0, &constant(f32::NAN), &x));
    body.finish(Expr::Op(LaneOp::SelectLess, vec![constant(0.0), x, finite, below]))
}
