//! Errors of one output.

use crate::bound::{Seen, Useless};
use crate::free_run::Gathered;

use super::compared::Compared;
use super::distance::error;

/// Errors of one result or variable.
#[derive(Default)]
pub(super) struct Table {
    /// The largest error of one step, and the bound of the same value.
    pub(super) error: f64,
    pub(super) bound: f64,
    /// The largest ratio of an error to the bound of the same value.
    pub(super) share: f64,
    /// The number of values with an infinite or NaN bound.
    pub(super) unbounded: usize,
    /// The number of values with an error above their bound.
    pub(super) broken: usize,
    /// The first value with an error above its bound.
    pub(super) first_broken: Option<Broken>,
    /// Statistics of steps from the reference's state.
    one_step: Gathered,
    /// Statistics of steps from the state of generated code.
    pub(super) own_state: Gathered,
    /// Errors with integers in a single layer, for each layer that multiplies integers.
    pub(super) layers: Vec<(String, Gathered)>,
    /// Distances from the recording.
    pub(super) recording: Option<Compared>,
}

/// A value with an error above its bound.
pub(super) struct Broken {
    pub(super) step: usize,
    pub(super) element: usize,
    pub(super) exact: f64,
    pub(super) got: f32,
    pub(super) bound: f64,
}

impl Table {
    /// Adds a step from the reference's state.
    pub(super) fn one_step(&mut self, step: usize, exact: &[f64], got: &[f32], bounds: &[f64]) {
        for (element, ((&exact, &got), &bound)) in exact.iter().zip(got).zip(bounds).enumerate() {
            let error = error(exact, got);
            self.one_step.add(exact, error);
            if error >= self.error {
                (self.error, self.bound) = (error, bound);
            }
            if !bound.is_finite() {
                self.unbounded += 1;
            } else if error > bound {
                self.broken += 1;
                self.first_broken.get_or_insert(Broken { step, element, exact, got, bound });
            }
            if bound > 0.0 && bound.is_finite() {
                self.share = self.share.max(error / bound);
            }
        }
    }

    /// Adds a step from the state of generated code.
    pub(super) fn own_state(&mut self, exact: &[f64], got: &[f32]) {
        for (&exact, &got) in exact.iter().zip(got) {
            self.own_state.add(exact, error(exact, got));
        }
    }

    /// The largest magnitude in the reference.
    pub(super) fn largest(&self) -> f64 {
        self.one_step.largest()
    }

    /// Why the bound of the value with the largest error is useless; `None` if the bound is useful.
    pub(super) fn useless(&self) -> Option<Useless> {
        let Seen { low, high, .. } = self.one_step.seen(1);
        let seen = Seen { low, high, error: Some(self.error) };
        Useless::find(self.bound, [f64::NEG_INFINITY, f64::INFINITY], Some(&seen))
    }

    /// The largest error of all steps, and of the comparison with the recording.
    pub(super) fn largest_error(&self) -> f64 {
        let recorded = self.recording.as_ref().map_or(0.0, |compared| compared.error);
        self.error.max(self.own_state.error).max(recorded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_bound_is_kept() {
        let mut table = Table::default();
        table.one_step(0, &[1.0, -2.0], &[1.0, -2.0], &[0.0, 0.25]);
        assert_eq!((table.broken, table.share, table.largest()), (0, 0.0, 2.0));
        table.one_step(1, &[1.0, 1.0, 1.0], &[1.125, 1.5, 2.0], &[0.25, 0.25, f64::INFINITY]);
        assert_eq!((table.broken, table.unbounded, table.share, table.error), (1, 1, 2.0, 1.0));
        let first = table.first_broken.as_ref().unwrap();
        assert_eq!((first.step, first.element), (1, 1));
        assert_eq!(table.useless(), Some(Useless::Infinite));
        // a bound of zero has no ratio, but an error above it counts as broken
        table.one_step(2, &[0.0], &[1e-30], &[0.0]);
        assert_eq!(table.broken, 2);
    }

    /// A bound as wide as the range of the values is useless.
    #[test]
    fn a_bound_of_the_whole_range_is_useless() {
        let mut table = Table::default();
        table.one_step(0, &[0.5, -0.5], &[0.5, -0.4999999], &[2.0, 2.0]);
        assert_eq!(table.useless(), Some(Useless::Range { low: -0.5, high: 0.5, measured: true }));
        let mut table = Table::default();
        table.one_step(0, &[0.5, -0.5], &[0.5, -0.4999999], &[2e-6, 1e-6]);
        assert_eq!(table.useless(), None);
    }
}
