//! The distance of a computed value from the exact value.

/// The distance between `got` and `exact`. Zero if both are NaN, or both are infinite once `exact`
/// is rounded to f32, with equal signs. Infinite for other pairs with a NaN or an infinite value.
pub(super) fn error(exact: f64, got: f32) -> f64 {
    if (exact.is_nan() && got.is_nan()) || exact as f32 == got {
        // beyond the largest f32 the correct result is infinity
        return if got.is_finite() { (exact - f64::from(got)).abs() } else { 0.0 };
    }
    let error = (exact - f64::from(got)).abs();
    if error.is_nan() { f64::INFINITY } else { error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_a_distance() {
        assert_eq!(error(1.0, 1.0), 0.0);
        assert_eq!(error(0.1, 0.1), 0.1f32 as f64 - 0.1);
        assert_eq!(error(1.0, 1.5), 0.5);
        assert_eq!(error(f64::NAN, f32::NAN), 0.0);
        assert_eq!(error(f64::INFINITY, f32::INFINITY), 0.0);
        assert_eq!(error(1e300, f32::INFINITY), 0.0);
        for (exact, got) in [
            (f64::NAN, 1.0),
            (1.0, f32::NAN),
            (1.0, f32::INFINITY),
            (f64::INFINITY, f32::NEG_INFINITY),
        ] {
            assert_eq!(error(exact, got), f64::INFINITY);
        }
    }
}
