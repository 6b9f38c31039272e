//! The micro-kernel for dot products in each lane: a vector of words of weights times one word of
//! elements in every lane.

use super::RowGroup;
use super::rows::{Accumulator, Broadcasts, Factor, MultiplyAdd, WeightRow};
use crate::kernel::{Expr, LaneOp, Stmt};
use crate::plan::DotWord;

/// Dot products of words of weights and broadcast words.
pub(super) struct Dot {
    word: DotWord,
    elements: Broadcasts,
}

impl Dot {
    pub(super) fn new(word: DotWord) -> Self {
        Self { word, elements: Broadcasts::default() }
    }
}

impl MultiplyAdd for Dot {
    fn begin(&mut self, _: &mut RowGroup<'_, '_, '_>, _: &mut Vec<Stmt>, _: WeightRow<'_>) {
        self.elements.clear();
    }

    /// The operation that multiplies also loads the weights, if one operand multiplies them.
    fn weight(
        &mut self,
        rows: &mut RowGroup<'_, '_, '_>,
        body: &mut Vec<Stmt>,
        row: WeightRow<'_>,
        accumulator: &Accumulator,
    ) -> Expr {
        let weight = row.weights(rows, accumulator);
        match row.elements {
            [_] => weight,
            _ => rows.builder.let_bits(body, "w", accumulator.lanes, weight),
        }
    }

    fn factor(
        &mut self,
        rows: &mut RowGroup<'_, '_, '_>,
        body: &mut Vec<Stmt>,
        row: WeightRow<'_>,
        factor: Factor,
    ) -> (LaneOp, Expr) {
        let operation = self.word.operations()[factor.part];
        (operation, self.elements.element(rows, body, row, factor))
    }
}
