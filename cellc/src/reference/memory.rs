//! A cache of the integers of weights. Without the cache, the reference would quantise the same
//! weights at every step, which takes most of the time.

use std::collections::BTreeMap;

use super::Multiplied;
use crate::encoding::{Arithmetic, WeightFormat};
use crate::evaluate::MatrixRow;

/// Quantised rows of matrices and the last quantised vector. One vector usually multiplies all rows
/// of a matrix.
#[derive(Default)]
pub(crate) struct QuantisationCache {
    /// Quantised rows, by the format and the place of the row.
    rows: BTreeMap<(WeightFormat, (usize, usize)), Multiplied>,
    last: Option<(Arithmetic, Vec<f64>, Multiplied)>,
}

impl QuantisationCache {
    /// The product of a row of model constants in a format with a vector in an arithmetic. A cache
    /// serves one model only.
    pub(super) fn row(
        &mut self,
        (format, of_vector): (WeightFormat, Arithmetic),
        key: (usize, usize),
        row: MatrixRow<'_>,
        values: &[f64],
    ) -> f64 {
        let row = self
            .rows
            .entry((format, key))
            .or_insert_with(|| Multiplied::row(format, row.weights()));
        // a vector with a NaN equals no vector and is quantised anew
        if !self.last.as_ref().is_some_and(|(its, last, _)| *its == of_vector && last == values) {
            self.last = Some((of_vector, values.to_vec(), Multiplied::vector(of_vector, values)));
        }
        self.last.as_ref().map_or(f64::NAN, |(_, _, vector)| row.dot(vector))
    }
}
