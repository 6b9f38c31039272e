//! Softmax and its logarithm.

use super::value::{Value, growth};
use super::{Profile, U, UNDERFLOW};
use crate::math;
use crate::model::MathFunction;

/// `e_i / s`, or `(v_i - m) - log s`, with `m = max v`, `e_k = exp(v_k - m)` and `s` the sum of
/// `e_k` in any order.
pub(super) fn softmax(values: &[Value], log: bool, profile: &Profile) -> Vec<Value> {
    let nothing = Value::within(f64::INFINITY);
    if !values.iter().all(|v| v.is_bounded()) {
        return vec![nothing; values.len()];
    }
    let error_of = |function: MathFunction, value: f64| {
        math::error(function, profile.accuracy, profile.fused).within(0.0, value)
    };
    let most = values.iter().map(|v| v.high()).fold(f64::NEG_INFINITY, f64::max);
    let most_error = values.iter().map(|v| v.error()).fold(0.0, f64::max);
    // largest distance of an element below the maximum
    let depth = |v: &Value| most - v.low();
    let deepest = values.iter().map(depth).fold(0.0, f64::max);
    // relative error of e_k: the rounding of the argument, at most `u depth`, and the error of exp
    // at 1; plus an absolute error of exp near 0
    let of_exp = error_of(MathFunction::Exp, 1.0);
    let exp_growth = |depth: f64| (U * depth).exp() * (1.0 + of_exp) - 1.0;
    let exp_underflow = error_of(MathFunction::Exp, 0.0) + UNDERFLOW;
    // relative error of s; s is at least 1, so absolute errors are at most as large relative to s
    let count = values.len() as f64;
    let sum_growth = (1.0 + exp_growth(deepest)) * (1.0 + growth(values.len())) - 1.0
        + 2.0 * count * exp_underflow;
    // the formulas below hold only for a small error of s
    if sum_growth.is_nan() || sum_growth > 0.5 {
        return vec![nothing; values.len()];
    }
    // for each element, the smallest sum of all other exponentials, divided by exp(largest)
    let largest = values.iter().map(|v| v.low()).fold(f64::NEG_INFINITY, f64::max);
    let least: Vec<f64> = values.iter().map(|v| (v.low() - largest).exp()).collect();
    let sums = sums_of_others(&least, |sum, term| sum + term);
    let element = |(v, sums): (&Value, f64)| {
        if log {
            // v_i - log sum exp v_k: errors of the inputs, of v - m, of log s, and of their
            // difference
            let below_one = -(-sum_growth).ln_1p();
            let log_most = (count * (1.0 + sum_growth)).ln().max(below_one);
            let of_log = below_one + error_of(MathFunction::Log, log_most);
            let mut error = v.error() + most_error + U * depth(v) + UNDERFLOW + of_log;
            let magnitude = depth(v) + log_most;
            error += U * (magnitude + error) + UNDERFLOW;
            return Value::new(-magnitude - error, error, error);
        }
        // largest exact result of this element
        let sum = sums * (largest - v.high()).exp();
        let share = 1.0 / (1.0 + sum);
        let shifted = -(-(v.error() + most_error)).exp_m1();
        let factor = (1.0 + exp_growth(depth(v))) * (1.0 + U) / (1.0 - sum_growth) - 1.0;
        let error = share * (shifted + factor) + 3.0 * exp_underflow + UNDERFLOW;
        Value::new(0.0, share + error, error)
    };
    values.iter().zip(sums).map(element).collect()
}

/// For each term, the sum of all other terms, computed with three additions per term.
fn sums_of_others(terms: &[f64], mut add: impl FnMut(f64, f64) -> f64) -> Vec<f64> {
    let mut sums = vec![0.0; terms.len()];
    let mut before = 0.0;
    for (&term, sums) in terms.iter().zip(&mut sums) {
        *sums = before;
        before = add(before, term);
    }
    let mut behind = 0.0;
    for (&term, sums) in terms.iter().zip(&mut sums).rev() {
        *sums = add(*sums, behind);
        behind = add(behind, term);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numerics::Precisions;
    use crate::request::Numerics;

    #[test]
    fn the_work_for_an_element_does_not_grow_with_its_row() {
        for len in [1, 7, 1 << 10] {
            let terms: Vec<f64> = (0..len).map(|i| f64::from(i % 5)).collect();
            let mut additions = 0;
            let sums = sums_of_others(&terms, |sum, term| {
                additions += 1;
                sum + term
            });
            assert_eq!(additions, 3 * terms.len());
            let sum: f64 = terms.iter().sum();
            assert!(terms.iter().zip(&sums).all(|(term, sums)| term + sums == sum), "{sums:?}");
        }
    }

    #[test]
    fn shares_of_a_long_row_are_bounded() {
        let mut row = vec![Value::within(1.0); 1 << 16];
        row[7] = Value::within(30.0);
        let shares =
            softmax(&row, false, &Profile::new(true, &Numerics::default(), &Precisions::F32));
        // relative to element 1, the sum of all other exponentials is at least about
        // 65,534 exp(-2); relative to element 7, at least 65,535 exp(-31)
        assert!(
            shares[1].high() > 1.0 / 65_536.0 && shares[1].high() < 1e-3,
            "{}",
            shares[1].high()
        );
        assert!(shares[7].high() > 0.999 && shares[7].high() < 1.01, "{}", shares[7].high());
    }
}
