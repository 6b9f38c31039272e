use super::{
    Constants, Definition, ErrorBound, Evidence, FunctionBuilder, Image, add, constant, div,
    magnitude,
};
use crate::kernel::ScalarFunction;

pub(super) const DEFINITION: Definition = Definition {
    exact: |_, v| exact(v),
    expand: |_, _| expand(),
    // two roundings; measured over every f32
    error: |_, _, _| ErrorBound::ulp(1.5),
    image: |_, _, ends| Image::between(1.0, ends, [-1.0, 1.0]),
    image_between: |_, at| at.monotone((1.0 + at.nearest()).powi(-2)),
    evidence: Evidence::Measured,
    constants: Constants::AtRunTime,
};

fn exact(v: f64) -> f64 {
    v / (1.0 + v.abs())
}

fn expand() -> ScalarFunction {
    let (mut body, x) = FunctionBuilder::new("softsign", "x / (1 + |x|), odd to the last bit.");
    let d = body.float("d", add(&constant(1.0), &magnitude(&x)));
    body.finish(div(&x, &d))
}
