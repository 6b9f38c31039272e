//! Division of a product between two threads.

use std::ops::Range;

use super::cost;
use super::panels::Panels;
use super::product::Product;
use crate::core::CoreOp;
use crate::request::{Options, Threads};

/// The prefix of reasons against two threads.
pub(super) const ONE_THREAD: &str = "one thread: ";

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

/// True if two threads share a product, with the reason. An empty `Err` if one thread was
/// requested.
pub(super) fn threads(op: &CoreOp, product: &Product, options: &Options) -> Result<String, String> {
    match (options.machine.threads, op) {
        (Threads::One, _) => Err(String::new()),
        (Threads::Two, CoreOp::Cell(_)) => match options.tuning.halves {
            Some(true) => Ok("two threads: asked for".to_string()),
            Some(false) => Err(format!("{ONE_THREAD}asked for")),
            None => cost::two_threads(product, product.format, &options.machine.target.costs)
                .map_err(|why| format!("{ONE_THREAD}{why}")),
        },
        (Threads::Two, _) => Err(format!("{ONE_THREAD}no cell")),
    }
}

/// The halves of a product: halves of its rows, or of its panels; the panels of the first half are
/// a separate group.
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
