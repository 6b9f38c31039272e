use super::{Constants, Definition, ErrorBound, Evidence, FunctionBuilder, Image, at_least};
use crate::kernel::ScalarFunction;

pub(super) const DEFINITION: Definition = Definition {
    exact: |_, v| exact(v),
    expand: |_, _| expand(),
    error: |_, _, _| ErrorBound::default(),
    image: |_, _, ends| Image::between(1.0, ends, [0.0, f64::INFINITY]),
    image_between: |_, at| at.monotone(at.slope_below_zero(0.0)),
    evidence: Evidence::Measured,
    constants: Constants::AtRunTime,
};

fn exact(v: f64) -> f64 {
    // `max` would not keep a NaN
    if v < 0.0 { 0.0 } else { v }
}

fn expand() -> ScalarFunction {
    let (body, x) = FunctionBuilder::new("relu", "max(x, 0); NaN stays NaN.");
    body.finish(at_least(0.0, &x))
}
