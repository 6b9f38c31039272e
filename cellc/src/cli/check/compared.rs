//! Comparison of generated code with recorded outputs.

use super::distance::error;

/// The distances of an output from its recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Compared {
    /// The largest distance.
    pub(super) error: f64,
    /// Sum of the squared distances of all elements. Sums over elements with finite values: squared
    /// recorded values, squared computed values, and products of recorded and computed values.
    squares: f64,
    recorded: f64,
    computed: f64,
    product: f64,
    /// The number of elements.
    pub(super) elements: usize,
    /// The number of rows along the last axis, and of rows with another arg max.
    pub(super) rows: usize,
    pub(super) other_places: usize,
    /// The number of elements on the other side of the threshold.
    pub(super) other_sides: usize,
}

impl Compared {
    /// Adds a step whose last axis has `columns` elements.
    pub(super) fn add(
        &mut self,
        recorded: &[f64],
        got: &[f32],
        columns: usize,
        threshold: Option<f64>,
    ) {
        for (&recorded, &got) in recorded.iter().zip(got) {
            let distance = error(recorded, got);
            self.error = self.error.max(distance);
            self.squares += distance * distance;
            let got = f64::from(got);
            // NaN and infinite values are left out of powers and of the cosine
            if recorded.is_finite() && got.is_finite() {
                self.recorded += recorded * recorded;
                self.computed += got * got;
                self.product += recorded * got;
            }
            self.elements += 1;
            self.other_sides +=
                usize::from(threshold.is_some_and(|at| (recorded > at) != (got > at)));
        }
        if columns > 1 {
            let exact: Vec<f64> = got.iter().map(|&v| f64::from(v)).collect();
            for (recorded, got) in recorded.chunks_exact(columns).zip(exact.chunks_exact(columns)) {
                self.rows += 1;
                self.other_places += usize::from(largest_at(recorded) != largest_at(got));
            }
        }
    }

    /// The root of the mean square of the distances.
    pub(super) fn rms(&self) -> f64 {
        (self.squares / self.elements.max(1) as f64).sqrt()
    }

    /// The power of the recording over the power of the distances, in decibels. Infinite if all
    /// distances are 0, NaN if the recording is 0, too.
    pub(super) fn snr(&self) -> f64 {
        10.0 * (self.recorded / self.squares).log10()
    }

    /// The cosine of the angle between recorded and computed values; NaN if either vector is zero.
    pub(super) fn cosine(&self) -> f64 {
        self.product / (self.recorded.sqrt() * self.computed.sqrt())
    }
}

/// The index of the largest element; of equal elements, the first.
fn largest_at(row: &[f64]) -> usize {
    (1..row.len()).fold(0, |best, at| if row[at] > row[best] { at } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_powers_and_decisions() {
        let mut compared = Compared::default();
        compared.add(&[0.5, 0.25, 1.0, 0.0], &[0.5, 0.25, 1.0, 0.0], 2, Some(0.4));
        assert_eq!((compared.error, compared.rms(), compared.snr()), (0.0, 0.0, f64::INFINITY));
        assert!((compared.cosine() - 1.0).abs() < 1e-15);
        assert_eq!((compared.rows, compared.other_places, compared.other_sides), (2, 0, 0));
        // a tie goes to the first; 0.25 and 0.5 are on either side of 0.4
        compared.add(&[0.5, 0.25], &[0.5, 0.5], 2, Some(0.4));
        assert_eq!((compared.other_places, compared.other_sides, compared.error), (0, 1, 0.25));
        compared.add(&[0.5, 0.25], &[0.125, 0.25], 2, None);
        assert_eq!((compared.rows, compared.other_places), (4, 1));
        let squares: f64 = 0.0625 + 0.140625;
        assert!((compared.rms() - (squares / 8.0).sqrt()).abs() < 1e-15);
        assert!(
            (compared.snr() - 10.0 * ((1.3125 + 0.3125 + 0.3125) / squares).log10()).abs() < 1e-12
        );
    }

    #[test]
    fn nan_equals_nan() {
        let mut compared = Compared::default();
        compared.add(&[f64::NAN, 1.0], &[f32::NAN, 1.0], 1, None);
        assert_eq!((compared.error, compared.rows), (0.0, 0));
        compared.add(&[1.0], &[f32::NAN], 1, None);
        assert_eq!(compared.error, f64::INFINITY);
    }
}
