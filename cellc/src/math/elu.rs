use super::{
    Constants, Definition, ErrorBound, Evidence, FunctionBuilder, Image, Measured, U, UNDERFLOW,
    at_least, constant, exp, mul, mul_add, select_less, sub,
};
use crate::kernel::ScalarFunction;
use crate::request::Accuracy;

pub(super) const DEFINITION: Definition = Definition {
    exact: |[alpha, _], v| exact(alpha.into(), v),
    expand: |[alpha, _], accuracy| expand(alpha, accuracy),
    error: |[alpha, _], accuracy, fused| error(alpha, accuracy, fused),
    image: |[alpha, _], magnitude, _| image(alpha.into(), magnitude),
    image_between: |[alpha, _], at| match alpha >= 0.0 {
        true => at.monotone(at.slope_below_zero(f64::from(alpha) * at.high.min(0.0).exp())),
        false => Some(at.all),
    },
    evidence: Evidence::Measured,
    constants: Constants::AtRunTime,
};

fn exact(alpha: f64, v: f64) -> f64 {
    if v < 0.0 { alpha * v.exp_m1() } else { v }
}

/// The errors for alpha 1.
const ERRORS: Measured = Measured {
    ulp: [0.96, 1.01],
    fast: [5.2e-7, 5.25e-7],
    audio: [2.07e-5, 2.07e-5],
    absolute: UNDERFLOW,
};

/// The relative error of the exact `exp(x) - 1` in units of 2^-24, with fused multiply-add and
/// without; measured over every f32.
pub(super) const MAX_RELATIVE: [f64; 2] = [1.52, 1.52];

/// The error bound. For alpha other than 1, the product is rounded once more. The error of the
/// factor `exp(x) - 1` counts in ulp of the product, because an ulp is at least 2^-24 of a value.
fn error(alpha: f32, accuracy: Accuracy, fused: bool) -> ErrorBound {
    let ErrorBound { ulp, relative, absolute, .. } = ERRORS.error(accuracy, fused);
    let alpha = f64::from(alpha.abs());
    match accuracy {
        Accuracy::Exact if alpha == 1.0 => ErrorBound::ulp(ulp),
        Accuracy::Exact => ErrorBound::ulp(MAX_RELATIVE[usize::from(!fused)] + 0.5),
        Accuracy::Fast | Accuracy::Audio => {
            let rounded = if alpha == 1.0 { 0.0 } else { U * (1.0 + relative) };
            ErrorBound {
                relative: relative + rounded,
                absolute: alpha * absolute + UNDERFLOW,
                ..ErrorBound::default()
            }
        }
    }
}

fn image(alpha: f64, magnitude: f64) -> Image {
    let end = exact(alpha, -magnitude);
    Image {
        slope: alpha.abs().max(1.0),
        jump: 0.0,
        low: end.min(0.0),
        high: end.max(magnitude),
        least: (-alpha).min(0.0),
        most: f64::INFINITY,
    }
}

fn expand(alpha: f32, accuracy: Accuracy) -> ScalarFunction {
    let doc = format!("x, or {alpha:?} (exp(x) - 1) where x is below 0; NaN stays NaN.");
    let (mut body, x) = FunctionBuilder::new("elu", &doc);
    body.comment("below this, exp(x) is lost against 1");
    let v = body.float("v", at_least(-20.0, &x));
    body.comment("v = r + n ln(2), s = 2^n");
    let (n, s) = exp::nearest(&mut body, &v, std::f32::consts::LOG2_E, 0, false);
    let r = exp::remainder(&mut body, &v, &n, accuracy);
    let p = exp::exp_m1(&mut body, &r, accuracy);
    body.comment("exp(v) - 1 = (s - 1) + s p");
    let e = body.float("e", mul_add(&s, &p, &sub(&s, &constant(1.0))));
    let below = body.float("below", mul(&e, &constant(alpha)));
    body.finish(select_less(&x, 0.0, &below, &x))
}
