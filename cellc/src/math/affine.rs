use super::{
    Constants, Definition, ErrorBound, Evidence, FunctionBuilder, Image, U, UNDERFLOW, constant,
    mul_add,
};
use crate::kernel::ScalarFunction;

pub(super) const DEFINITION: Definition = Definition {
    exact: |[alpha, beta], v| exact(alpha.into(), beta.into(), v),
    expand: |[alpha, beta], _| expand(alpha, beta),
    error: |[alpha, _], _, fused| error(alpha.into(), fused),
    image: |[alpha, _], _, ends| {
        Image::between(f64::from(alpha).abs(), ends, [f64::NEG_INFINITY, f64::INFINITY])
    },
    image_between: |_, at| at.monotone(at.all.slope),
    evidence: Evidence::Derived,
    constants: Constants::AtRunTime,
};

fn exact(alpha: f64, beta: f64, v: f64) -> f64 {
    // the product of two f32 is exact in f64
    alpha * v + beta
}

/// One rounding. Without fused multiply-add, also the rounding of the product, which may be as
/// large as the sum if the terms cancel.
fn error(alpha: f64, fused: bool) -> ErrorBound {
    match fused {
        true => ErrorBound::ulp(0.5),
        // the computed sum may lie in the next binade, where half an ulp is one ulp of the exact
        // value
        false => {
            ErrorBound { of_argument: U * alpha.abs(), absolute: UNDERFLOW, ..ErrorBound::ulp(1.0) }
        }
    }
}

fn expand(alpha: f32, beta: f32) -> ScalarFunction {
    let (body, x) = FunctionBuilder::new("affine", &format!("{alpha:?} x + {beta:?}."));
    body.finish(mul_add(&x, &constant(alpha), &constant(beta)))
}
