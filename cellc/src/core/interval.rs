//! Intervals of integers.

/// The least and the largest value of a tensor of integers, or of floats computed from integers.
pub(crate) type Interval = [f64; 2];

/// f32 represents every integer up to this magnitude exactly.
pub(crate) const EXACT: f64 = 16_777_216.0;

/// The range of unknown integers.
pub(crate) const ANY: Interval = [f64::NEG_INFINITY, f64::INFINITY];

/// The range of booleans.
pub(crate) const TRUTH: Interval = [0.0, 1.0];

/// The smallest interval around two intervals.
pub(crate) fn union(a: Interval, b: Interval) -> Interval {
    [a[0].min(b[0]), a[1].max(b[1])]
}

/// The range of a function that is monotonic in each operand, from the ends of the operands'
/// ranges.
pub(crate) fn ends(a: Interval, b: Interval, function: impl Fn(f64, f64) -> f64) -> Interval {
    let corners =
        [function(a[0], b[0]), function(a[0], b[1]), function(a[1], b[0]), function(a[1], b[1])];
    // 0 times infinity is NaN: the range is then unknown
    if corners.iter().any(|v| v.is_nan()) {
        return ANY;
    }
    [
        corners.iter().copied().fold(f64::INFINITY, f64::min),
        corners.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    ]
}
