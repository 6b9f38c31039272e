use super::{Body, Error, Image, UNDERFLOW, constant, mul, tanh};
use crate::kernel::Function;

pub(super) fn exact(alpha: f64, beta: f64, v: f64) -> f64 {
    alpha * (beta * v).tanh()
}

/// The relative error of tanh in units of 2^-24, that of its argument, of which tanh takes over no more, and the last
/// rounding.
pub(super) fn error(alpha: f64) -> Error {
    Error { ulp: tanh::MAX_RELATIVE + 1.0 + 0.5, of_argument: 0.0, absolute: alpha.abs() * UNDERFLOW }
}

pub(super) fn image(alpha: f64, beta: f64, ends: [f64; 2]) -> Image {
    Image::between((alpha * beta).abs(), ends, [-alpha.abs(), alpha.abs()])
}

pub(super) fn expand(alpha: f32, beta: f32) -> Function {
    let (mut body, x) = Body::new("scaled_tanh", &format!("{alpha:?} tanh({beta:?} x)."));
    let v = body.float("v", mul(&x, &constant(beta)));
    let y = tanh::arithmetic(&mut body, &v);
    let y = body.float("t1", y);
    body.finish(mul(&y, &constant(alpha)))
}
