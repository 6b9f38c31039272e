//! One step of a cell: operands of its rows, and the end of the step.

use super::builder::KernelBuilder;
use super::pointwise::End;
use super::product::{Column, X};
use crate::core::CoreCell;
use crate::kernel::{Expr, Place, Stmt, Var};

/// One step of one row, or of several rows computed together.
#[derive(Clone, Copy)]
pub(super) struct CellStep<'e, 'm> {
    pub(super) cell: &'m CoreCell,
    /// The number of rows. Lengths below are per row.
    pub(super) rows: usize,
    /// 1 at run time if panels are walked from the last to the first. `None`: always from the
    /// first.
    pub(super) backwards: Option<Var>,
    /// x, `input_size` elements, or the x terms of all sums.
    pub(super) x: X,
    /// h, `hidden_size` elements.
    pub(super) h: Place,
    /// c, `hidden_size` elements. `None` for cells without a cell state.
    pub(super) c: Option<Place>,
    /// True if the step flushes c on load.
    pub(super) c_given: bool,
    /// The attention a, one element. `None` for cells without attention.
    pub(super) a: Option<Place>,
    /// The place of the new h, distinct from `h`. `None`: only the pointwise work uses the new h.
    pub(super) out: Option<Place>,
    /// The place of the new c, possibly equal to `c`. `None`: not stored.
    pub(super) c_out: Option<Place>,
    /// The pointwise work on the new h.
    pub(super) end: Option<&'e End<'m>>,
}

impl<'m> CellStep<'_, 'm> {
    /// The columns that [`Self::store`] uses: the new h, then the result and operands of the
    /// pointwise work.
    pub(super) fn new_state(&self) -> Vec<Column> {
        let out = self.out.map(|place| Column::new("out", place, true));
        out.into_iter().chain(self.end.into_iter().flat_map(|end| end.columns()).copied()).collect()
    }

    /// Stores one vector of the new h and the result of its pointwise work. `places` are the places
    /// of [`Self::new_state`] for a panel; `lane` is the first column of the vector.
    pub(super) fn store(
        &self,
        builder: &mut KernelBuilder<'_, 'm>,
        body: &mut Vec<Stmt>,
        places: &[Place],
        (lane, lanes): (usize, usize),
        value: Expr,
    ) {
        let mut value = builder.state(value);
        if self.out.is_some() {
            if self.end.is_some() {
                value = builder.let_(body, "state", lanes, value);
            }
            body.push(Stmt::Store { to: places[0].at(lane), value: value.clone() });
        }
        if let Some(end) = self.end {
            end.store(
                builder,
                body,
                &places[usize::from(self.out.is_some())..],
                (lane, lanes),
                value,
            );
        }
    }
}
