//! Softmax and its logarithm.

use super::value::{Value, growth};
use super::{Profile, U, UNDERFLOW};
use crate::activation;
use crate::model::Activation;

/// `e_i / s`, or `(v_i - m) - log s`, with `m = max v`, `e_k = exp(v_k - m)` and `s = e_0 + e_1 + ..` in this order.
pub(super) fn softmax(values: &[Value], log: bool, profile: Profile) -> Vec<Value> {
    let nothing = Value::within(f64::INFINITY);
    if !values.iter().all(|v| v.is_bounded()) {
        return vec![nothing; values.len()];
    }
    let error_of = |function: Activation, value: f64| {
        activation::error(function, profile.accuracy, profile.fused).within(0.0, value)
    };
    let most = values.iter().map(|v| v.high()).fold(f64::NEG_INFINITY, f64::max);
    let most_error = values.iter().map(|v| v.error()).fold(0.0, f64::max);
    // how far below the largest an element may be
    let depth = |v: &Value| most - v.low();
    let deepest = values.iter().map(depth).fold(0.0, f64::max);
    // e_k is off by a factor 1 + exp_growth: its argument by `u depth`, exp by what it errs by at 1; and by an underflow
    let of_exp = error_of(Activation::Exp, 1.0);
    let exp_growth = |depth: f64| (U * depth).exp() * (1.0 + of_exp) - 1.0;
    let exp_underflow = error_of(Activation::Exp, 0.0) + UNDERFLOW;
    // s, which is 1 or more, by a factor 1 + sum_growth
    let count = values.len() as f64;
    let sum_growth = (1.0 + exp_growth(deepest)) * (1.0 + growth(values.len())) - 1.0 + 2.0 * count * exp_underflow;
    // nothing is said where that is no small number
    if sum_growth.is_nan() || sum_growth > 0.5 {
        return vec![nothing; values.len()];
    }
    let element = |(i, v): (usize, &Value)| {
        let others = || values.iter().enumerate().filter(move |(k, _)| *k != i).map(|(_, other)| other);
        if log {
            // v_i - log sum exp v_k: what the inputs' errors make of it; v - m; log s; the difference of the two
            let below_one = -(-sum_growth).ln_1p();
            let log_most = (count * (1.0 + sum_growth)).ln().max(below_one);
            let of_log = below_one + error_of(Activation::Log, log_most);
            let mut error = v.error() + most_error + U * depth(v) + UNDERFLOW + of_log;
            let magnitude = depth(v) + log_most;
            error += U * (magnitude + error) + UNDERFLOW;
            return Value::new(-magnitude - error, error, error);
        }
        // the largest share, whatever the others are
        let sum: f64 = others().map(|other| (other.low() - v.high()).exp()).sum();
        let share = 1.0 / (1.0 + sum);
        let shifted = -(-(v.error() + most_error)).exp_m1();
        let factor = (1.0 + exp_growth(depth(v))) * (1.0 + U) / (1.0 - sum_growth) - 1.0;
        let error = share * (shifted + factor) + 3.0 * exp_underflow + UNDERFLOW;
        Value::new(0.0, share + error, error)
    };
    values.iter().enumerate().map(element).collect()
}
