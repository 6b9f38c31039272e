use super::{
    Constants, Definition, ErrorBound, Evidence, FunctionBuilder, Image, constant, select_less,
};
use crate::kernel::ScalarFunction;

pub(super) const DEFINITION: Definition = Definition {
    exact: |[alpha, _], v| exact(alpha.into(), v),
    expand: |[alpha, _], _| expand(alpha),
    error: |_, _, _| ErrorBound::default(),
    image: |[alpha, _], magnitude, _| image(alpha.into(), magnitude),
    image_between: |_, at| Some(at.all),
    evidence: Evidence::Derived,
    constants: Constants::AtRunTime,
};

fn exact(alpha: f64, v: f64) -> f64 {
    // NaN stays NaN
    if v < alpha { 0.0 } else { v }
}

fn image(alpha: f64, magnitude: f64) -> Image {
    Image {
        slope: 1.0,
        jump: alpha.abs(),
        low: alpha.clamp(-magnitude, 0.0),
        high: if magnitude < alpha { 0.0 } else { magnitude },
        least: alpha.min(0.0),
        most: f64::INFINITY,
    }
}

fn expand(alpha: f32) -> ScalarFunction {
    let (body, x) = FunctionBuilder::new(
        "thresholded_relu",
        &format!("x, or 0 where x is below {alpha:?}; NaN stays NaN."),
    );
    body.finish(select_less(&x, alpha, &constant(0.0), &x))
}
