//! The square. Interval arithmetic on `x * x` would not find that squares are at least 0.

use super::{Constants, Definition, ErrorBound, Evidence, FunctionBuilder, Image, UNDERFLOW, mul};

pub(super) const DEFINITION: Definition = Definition {
    exact: |_, v| v * v,
    expand: |_, _| {
        let (body, x) = FunctionBuilder::new("square", "x x");
        body.finish(mul(&x, &x))
    },
    // one rounding
    error: |_, _, _| ErrorBound { absolute: UNDERFLOW, ..ErrorBound::ulp(0.5) },
    image: |_, most, ends| Image {
        slope: 2.0 * most,
        jump: 0.0,
        low: 0.0,
        high: ends[1],
        least: 0.0,
        most: f64::INFINITY,
    },
    image_between: |_, at| {
        let low = if at.low > 0.0 { at.low * at.low } else { (-at.high).max(0.0).powi(2) };
        Some(Image { low, ..at.all })
    },
    evidence: Evidence::Measured,
    constants: Constants::Rounded,
};
