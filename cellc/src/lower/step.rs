//! One step of a cell: what its rows are given, and what becomes of the new state.

use super::builder::KernelBuilder;
use super::pointwise::End;
use super::product::{Column, X};
use crate::kernel::{Expr, Place, Stmt, Var};
use crate::model::ValidCell;

/// One step of one row, or of several that are computed together.
#[derive(Clone, Copy)]
pub(super) struct CellStep<'e, 'm> {
    pub(super) cell: &'m ValidCell,
    /// How many rows; what follows has that many times its elements.
    pub(super) rows: usize,
    /// Whether panels are walked from the last to the first: 1 if so.
    pub(super) backwards: Option<Var>,
    /// x, input_size long, or what has been made of it.
    pub(super) x: X,
    /// h, hidden_size long.
    pub(super) h: Place,
    /// c, hidden_size long; where the cell has one.
    pub(super) c: Option<Place>,
    /// Whether c is to be flushed where it is read.
    pub(super) c_given: bool,
    /// a, one element; where the cell has one.
    pub(super) a: Option<Place>,
    /// The new h, unless it only goes on to the pointwise work; not where h is.
    pub(super) out: Option<Place>,
    /// The new c, where it is wanted; perhaps where c is.
    pub(super) c_out: Option<Place>,
    /// The pointwise work on the new h.
    pub(super) end: Option<&'e End<'m>>,
}

impl<'m> CellStep<'_, 'm> {
    /// What [`Self::store`] writes and reads.
    pub(super) fn new_state(&self) -> Vec<Column> {
        let out = self.out.map(|of| Column::new("out", of, true));
        out.into_iter().chain(self.end.into_iter().flat_map(|end| end.columns()).copied()).collect()
    }

    /// Stores one vector of the new h, and what the pointwise work makes of it. `places` are those
    /// of [`Self::new_state`] for a panel, `lane` the vector's first column.
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
            end.store(builder, body, &places[usize::from(self.out.is_some())..], (lane, lanes), value);
        }
    }
}
