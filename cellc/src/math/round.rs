use super::{
    Constants, Definition, ErrorBound, Evidence, FunctionBuilder, Image, add, constant, magnitude,
    select_less, sub,
};
use crate::kernel::{Expr, ScalarFunction};

pub(super) const DEFINITION: Definition = Definition {
    exact: |_, v| v.round_ties_even(),
    expand: |_, _| expand(),
    error: |_, _, _| ErrorBound::default(),
    image: |_, _, ends| Image {
        jump: 1.0,
        ..Image::between(1.0, ends, [f64::NEG_INFINITY, f64::INFINITY])
    },
    image_between: |_, at| at.monotone(at.all.slope),
    evidence: Evidence::Measured,
    constants: Constants::Rounded,
};

/// 2^23: every f32 from this magnitude on is a whole number.
const WHOLE: f32 = 8_388_608.0;

/// The nearest whole number, half to even. A negative number that is rounded to 0 gives +0.
pub(super) fn nearest(body: &mut FunctionBuilder, x: &Expr) -> Expr {
    body.comment("the sum has no room for a fraction, and is rounded");
    let above = body.float("above", sub(&add(x, &constant(WHOLE)), &constant(WHOLE)));
    let below = body.float("below", add(&sub(x, &constant(WHOLE)), &constant(WHOLE)));
    let near = body.float("near", select_less(x, 0.0, &below, &above));
    let size = body.float("size", magnitude(x));
    // NaN stays NaN
    body.float("whole", select_less(&size, WHOLE, &near, x))
}

fn expand() -> ScalarFunction {
    let (mut body, x) = FunctionBuilder::new(
        "round",
        "The whole number that is nearest to x; the even one of two.",
    );
    let whole = nearest(&mut body, &x);
    body.finish(whole)
}
