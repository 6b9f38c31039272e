//! What does not change between the steps of one model: without it, most of the time would go into
//! making integers of the same weights.

use std::collections::BTreeMap;

use super::Multiplied;
use crate::evaluate::MatrixRow;
use crate::request::{Arithmetic, WeightFormat};

/// Rows as they are multiplied, and the vector that came last, which as a rule meets all rows of a
/// matrix.
#[derive(Default)]
pub(crate) struct Memory {
    /// By format and place.
    rows: BTreeMap<(WeightFormat, (usize, usize)), Multiplied>,
    last: Option<(Arithmetic, Vec<f64>, Multiplied)>,
}

impl Memory {
    /// The product of a row of the model's constants in a format with a vector in an arithmetic.
    /// One memory serves one model.
    pub(super) fn row(
        &mut self,
        (format, of_vector): (WeightFormat, Arithmetic),
        place: (usize, usize),
        row: MatrixRow<'_>,
        values: &[f64],
    ) -> f64 {
        let row = self.rows.entry((format, place)).or_insert_with(|| Multiplied::row(format, row.weights()));
        // a vector with a NaN equals none, and is made anew
        if !self.last.as_ref().is_some_and(|(its, last, _)| *its == of_vector && last == values) {
            self.last = Some((of_vector, values.to_vec(), Multiplied::vector(of_vector, values)));
        }
        self.last.as_ref().map_or(f64::NAN, |(_, _, vector)| row.dot(vector))
    }
}
