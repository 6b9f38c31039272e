use super::{
    Constants, Definition, ErrorBound, Evidence, FunctionBuilder, Image, constant, mul, select_less,
};
use crate::kernel::ScalarFunction;

pub(super) const DEFINITION: Definition = Definition {
    exact: |[alpha, _], v| exact(alpha.into(), v),
    expand: |[alpha, _], _| expand(alpha),
    // one rounding
    error: |_, _, _| ErrorBound::ulp(0.5),
    image: |[alpha, _], magnitude, _| image(alpha.into(), magnitude),
    image_between: |[alpha, _], at| match alpha >= 0.0 {
        true => at.monotone(at.slope_below_zero(alpha.into())),
        false => Some(at.all),
    },
    evidence: Evidence::Derived,
    constants: Constants::AtRunTime,
};

fn exact(alpha: f64, v: f64) -> f64 {
    if v < 0.0 { alpha * v } else { v }
}

fn image(alpha: f64, magnitude: f64) -> Image {
    let end = exact(alpha, -magnitude);
    Image {
        slope: alpha.abs().max(1.0),
        jump: 0.0,
        low: end.min(0.0),
        high: end.max(magnitude),
        least: if alpha > 0.0 { f64::NEG_INFINITY } else { 0.0 },
        most: f64::INFINITY,
    }
}

fn expand(alpha: f32) -> ScalarFunction {
    let (body, x) = FunctionBuilder::new(
        "leaky_relu",
        &format!("x, or {alpha:?} x where x is below 0; NaN stays NaN."),
    );
    let below = mul(&x, &constant(alpha));
    body.finish(select_less(&x, 0.0, &below, &x))
}
