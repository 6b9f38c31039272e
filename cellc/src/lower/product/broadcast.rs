//! The micro-kernel for f32: a vector of weights times one element in every lane.

use super::RowGroup;
use super::rows::{Accumulator, Broadcasts, Factor, MultiplyAdd, WeightRow};
use crate::kernel::{Expr, LaneOp, Stmt};

/// Multiply-adds of vectors of weights and broadcast elements.
#[derive(Default)]
pub(super) struct Broadcast(Broadcasts);

impl MultiplyAdd for Broadcast {
    fn begin(&mut self, _: &mut RowGroup<'_, '_, '_>, _: &mut Vec<Stmt>, _: WeightRow<'_>) {
        self.0.clear();
    }

    /// A variable holds the weights if several operands multiply them or if one instruction loads
    /// several vectors.
    fn weight(
        &mut self,
        rows: &mut RowGroup<'_, '_, '_>,
        body: &mut Vec<Stmt>,
        row: WeightRow<'_>,
        accumulator: &Accumulator,
    ) -> Expr {
        let weight = row.weights(rows, accumulator);
        match row.elements {
            [_] if row.sum.loads == 1 => weight,
            _ => rows.builder.let_(body, "w", accumulator.lanes, weight),
        }
    }

    fn factor(
        &mut self,
        rows: &mut RowGroup<'_, '_, '_>,
        body: &mut Vec<Stmt>,
        row: WeightRow<'_>,
        factor: Factor,
    ) -> (LaneOp, Expr) {
        (LaneOp::MulAdd, self.0.element(rows, body, row, factor))
    }
}
