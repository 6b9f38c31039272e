use super::{Body, at_least};
use crate::kernel::Function;

pub(super) fn exact(v: f64) -> f64 {
    // not `max`, which loses NaN
    if v < 0.0 { 0.0 } else { v }
}

pub(super) fn expand() -> Function {
    let (body, x) = Body::new("relu", "max(x, 0); NaN stays NaN.");
    body.finish(at_least(0.0, &x))
}
