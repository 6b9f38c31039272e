//! Decides whether the error bound of an output is small enough to be worth printing.

use std::fmt::{self, Display, Formatter};

use super::U;

/// Largest useful ratio of the bound to the measured error.
const MOST_TIMES: f64 = 1000.0;

/// Range and error of an output, measured in a run of steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// Smallest reference value, or 0 if no value is negative.
    pub low: f64,
    /// Largest reference value, or 0 if no value is positive.
    pub high: f64,
    /// The largest distance of a computed value from the reference. `None` if no step was run.
    pub error: Option<f64>,
}

/// Why the bound of an output is useless.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Useless {
    /// There is no finite bound.
    Infinite,
    /// The bound is at least as large as the range of the output's values.
    Range {
        /// The least value.
        low: f64,
        /// The largest value.
        high: f64,
        /// True for the values of a run, false for all possible values.
        measured: bool,
    },
    /// The bound exceeds the measured error by a factor of more than `MOST_TIMES`.
    Wide {
        /// The bound.
        bound: f64,
        /// The measured error.
        error: f64,
    },
}

impl Useless {
    /// Why a bound is useless for an output with values from `low` to `high`; `None` if the bound
    /// is useful.
    ///
    /// A measured error smaller than half an ulp of the largest value counts as this half ulp:
    /// results that are exact by chance have useful bounds, too.
    pub fn find(bound: f64, [low, high]: [f64; 2], seen: Option<&Seen>) -> Option<Self> {
        let seen = seen.filter(|seen| seen.high > seen.low);
        let possible = [low, high];
        let [low, high] = seen.map_or(possible, |seen| [low.max(seen.low), high.min(seen.high)]);
        if !bound.is_finite() {
            return Some(Self::Infinite);
        }
        if high > low && bound >= high - low {
            return Some(Self::Range { low, high, measured: [low, high] != possible });
        }
        let error =
            seen.and_then(|seen| Some((seen.error?, seen.low.abs().max(seen.high.abs()) * U)));
        let (error, rounding) = error?;
        (bound > MOST_TIMES * error.max(rounding)).then_some(Self::Wide { bound, error })
    }
}

impl Useless {
    /// One reason for two profiles: the larger bound if both are too wide, or the equal reason.
    /// `None` if the reasons differ.
    pub fn joined(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Wide { bound: a, error }, Self::Wide { bound: b, .. }) => {
                Some(Self::Wide { bound: a.max(b), error })
            }
            _ => (self == other).then_some(self),
        }
    }
}

impl Display for Useless {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Infinite => f.write_str(
                "within the ranges an intermediate value may overflow, or a divisor, a root or a \
                 logarithm may meet 0",
            ),
            Self::Range { low, high, measured } => {
                let [low, high] = [low, high].map(|v| rounded(*v));
                let values = if *measured { "the measured values" } else { "all values" };
                write!(f, "it exceeds the range of {values}, {low} to {high}")
            }
            Self::Wide { bound, .. } => {
                write!(f, "{} exceeds 1,000 times the measured error", rounded_up(*bound))
            }
        }
    }
}

/// The bound in three digits, rounded up.
pub(crate) fn rounded_up(bound: f64) -> String {
    let near = format!("{bound:.2e}");
    // rounding to three digits changes a number by half a percent at most
    if near.parse().is_ok_and(|near: f64| near >= bound) {
        near
    } else {
        format!("{:.2e}", bound * 1.0051)
    }
}

/// Three digits, without an exponent between 0.001 and 100,000.
fn rounded(v: f64) -> String {
    match v.abs() {
        0.0 => "0".to_owned(),
        0.001..100_000.0 => {
            let decimals = (2 - v.abs().log10().floor() as i32).max(0) as usize;
            let text = format!("{v:.decimals$}");
            if text.contains('.') {
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            } else {
                text
            }
        }
        _ => format!("{v:.2e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_useful_within_the_range_and_a_thousand_times_the_error() {
        let seen = |low, high, error| Some(Seen { low, high, error });
        let tanh = [-1.0, 1.0];
        for (bound, range, seen, useless) in [
            (1e-5, tanh, None, None),
            (2.0, tanh, None, Some(Useless::Range { low: -1.0, high: 1.0, measured: false })),
            (f64::INFINITY, [f64::NEG_INFINITY, f64::INFINITY], None, Some(Useless::Infinite)),
            (f64::NAN, tanh, None, Some(Useless::Infinite)),
            // the measured range is narrower than the range of all possible values
            (
                5.9e22,
                [-1e30, 1e30],
                seen(-3.0, 0.5, None),
                Some(Useless::Range { low: -3.0, high: 0.5, measured: true }),
            ),
            (1e-4, tanh, seen(-0.5, 0.5, Some(2e-7)), None),
            (
                3e-4,
                tanh,
                seen(-0.5, 0.5, Some(2e-7)),
                Some(Useless::Wide { bound: 3e-4, error: 2e-7 }),
            ),
            // two bounds with a measured error of 0, then two for outputs that are always 0
            (1e-6, tanh, seen(-0.5, 0.5, Some(0.0)), None),
            (
                1e-4,
                tanh,
                seen(-0.5, 0.5, Some(0.0)),
                Some(Useless::Wide { bound: 1e-4, error: 0.0 }),
            ),
            (0.0, [0.0, 0.0], seen(0.0, 0.0, Some(0.0)), None),
            (1e-6, tanh, seen(0.0, 0.0, Some(0.0)), None),
        ] {
            assert_eq!(Useless::find(bound, range, seen.as_ref()), useless, "{bound:e} {seen:?}");
        }
    }

    #[test]
    fn ranges_are_short() {
        for (v, text) in [
            (0.0, "0"),
            (-1.0, "-1"),
            (0.9876, "0.988"),
            (12.5, "12.5"),
            (12345.6, "12346"),
            (3e30, "3.00e30"),
        ] {
            assert_eq!(rounded(v), text);
        }
    }
}
