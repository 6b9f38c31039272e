use super::{
    Constants, Definition, ErrorBound, Evidence, FunctionBuilder, Image, U, UNDERFLOW, at_least,
    at_most, constant, mul_add,
};
use crate::kernel::ScalarFunction;

pub(super) const DEFINITION: Definition = Definition {
    exact: |[alpha, beta], v| exact(alpha.into(), beta.into(), v),
    expand: |[alpha, beta], _| expand(alpha, beta),
    error: |[_, beta], _, fused| error(beta.into(), fused),
    image: |[alpha, _], _, ends| Image::between(f64::from(alpha).abs(), ends, [0.0, 1.0]),
    image_between: |_, at| match at.ends[0] == at.ends[1] {
        true => at.monotone(0.0),
        false => at.monotone(at.all.slope),
    },
    evidence: Evidence::Derived,
    constants: Constants::AtRunTime,
};

fn exact(alpha: f64, beta: f64, v: f64) -> f64 {
    let sum = alpha * v + beta;
    // `clamp` keeps a NaN, unlike `min` and `max`
    sum.clamp(0.0, 1.0)
}

/// One rounding. Without fused multiply-add, also the rounding of the product, whose magnitude is
/// at most `1 + |beta|` unless the value is exactly 0 or 1.
fn error(beta: f64, fused: bool) -> ErrorBound {
    match fused {
        true => ErrorBound::ulp(0.5),
        // 1 ulp: the computed sum may lie in the next binade
        false => ErrorBound {
            absolute: U * (1.0 + 2.0 * U) * (1.0 + beta.abs()) + UNDERFLOW,
            ..ErrorBound::ulp(1.0)
        },
    }
}

fn expand(alpha: f32, beta: f32) -> ScalarFunction {
    let doc = format!("{alpha:?} x + {beta:?}, but at least 0 and at most 1; NaN stays NaN.");
    let (body, x) = FunctionBuilder::new("hard_sigmoid", &doc);
    let sum = mul_add(&x, &constant(alpha), &constant(beta));
    body.finish(at_most(1.0, &at_least(0.0, &sum)))
}
