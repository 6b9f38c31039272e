//! Division of a product between two threads.

use std::ops::Range;

use super::cost;
use super::panels::Panels;
use super::product::Product;
use super::reason::{Sharing, Threading};
use crate::core::PlannedProduct;
use crate::request::{Options, Threads};

/// The half of a cell for one of two threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Half {
    /// True if rows are divided, false if units are divided.
    pub is_of_rows: bool,
    /// The range of batch rows.
    pub rows: Range<usize>,
    /// The range of units of each row.
    pub units: Range<usize>,
    /// The range of [`ProductPlan::panels`](super::ProductPlan::panels) with the units.
    pub panels: Range<usize>,
}

/// Decides whether two threads share a product.
pub(super) fn threads(
    operation: PlannedProduct<'_>,
    product: &Product,
    options: &Options,
) -> Threading {
    match (options.machine.threads, operation) {
        (Threads::One, _) => Threading::Unasked,
        (Threads::Two, PlannedProduct::Cell(_)) => match options.tuning.halves {
            Some(true) => Threading::Two(Sharing::Asked),
            Some(false) => Threading::One(Sharing::Asked),
            None => cost::two_threads(product, &options.machine.target.costs),
        },
        (Threads::Two, PlannedProduct::Dense(_)) => Threading::One(Sharing::NoCell),
    }
}

/// The halves of a product: halves of its rows, or of its panels; the panels of the first half are
/// a separate group. `None` for one row and one group of panels.
pub(super) fn halves(product: &Product, panels: &[Panels]) -> Option<[Half; 2]> {
    let (rows, units) = (product.rows, product.units);
    if rows > 1 {
        let half = |rows| Half { is_of_rows: true, rows, units: 0..units, panels: 0..panels.len() };
        return Some([half(0..rows.div_ceil(2)), half(rows.div_ceil(2)..rows)]);
    }
    let cut = panels.get(1)?.first;
    let half = |units, panels| Half { is_of_rows: false, rows: 0..1, units, panels };
    Some([half(0..cut, 0..1), half(cut..units, 1..panels.len())])
}
