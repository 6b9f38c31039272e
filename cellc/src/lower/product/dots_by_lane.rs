//! The micro-kernel for dot products by lane: a vector of words of weights times one lane of a
//! vector of words of elements.

use super::RowGroup;
use super::rows::{Accumulator, Broadcasts, Factor, MultiplyAdd, WeightRow};
use crate::kernel::{Expr, LaneOp, Stmt};
use crate::lower::builder::{load, op};
use crate::plan::DotWord;

/// Dot products of words of weights and lanes of elements.
pub(super) struct ByLane {
    /// The operation for a lane.
    operation: fn(usize) -> LaneOp,
    /// For each operand, the vector of words of which each row multiplies one lane.
    vectors: Vec<Option<Expr>>,
    /// Words for the last rows, which fill no vector, and for accumulators of fewer lanes.
    elements: Broadcasts,
    /// The operation for `elements`.
    of_lane: LaneOp,
}

impl ByLane {
    pub(super) fn new(word: DotWord, operands: usize) -> Self {
        let operation = match word {
            DotWord::Pairs | DotWord::WidenedPairs => LaneOp::DotPairsByLane,
            DotWord::Quads | DotWord::UnsignedQuads => LaneOp::DotQuadsByLane,
        };
        let of_lane = word.operations()[0];
        let (vectors, elements) = (vec![None; operands], Broadcasts::default());
        Self { operation, vectors, elements, of_lane }
    }

    /// The vector of words with the word of a row, loaded once for all rows that multiply one of
    /// its lanes.
    fn vector(
        &mut self,
        rows: &mut RowGroup<'_, '_, '_>,
        body: &mut Vec<Stmt>,
        row: WeightRow<'_>,
        operand: usize,
    ) -> Expr {
        if let Some(vector) = &self.vectors[operand] {
            return vector.clone();
        }
        let lanes = rows.lanes();
        let from = row.elements[operand][0].at(row.k - row.k % lanes);
        let words = op(LaneOp::ToBits, vec![load(from, lanes)]);
        let name = format!("{}_k", row.sum.name);
        let vector = rows.builder.let_bits(body, &name, lanes, words);
        self.vectors[operand] = Some(vector.clone());
        vector
    }
}

impl MultiplyAdd for ByLane {
    fn begin(&mut self, rows: &mut RowGroup<'_, '_, '_>, _: &mut Vec<Stmt>, row: WeightRow<'_>) {
        self.elements.clear();
        if row.k.is_multiple_of(rows.lanes()) {
            self.vectors.fill(None);
        }
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
        let lanes = rows.lanes();
        let lane = row.k % lanes;
        let is_in_vector = row.k - lane + lanes <= row.count;
        match factor.lanes == lanes {
            false => (self.of_lane, self.elements.element(rows, body, row, factor)),
            true if is_in_vector => {
                ((self.operation)(lane), self.vector(rows, body, row, factor.operand))
            }
            // every lane holds the word, so lane 0 serves
            true => ((self.operation)(0), self.elements.element(rows, body, row, factor)),
        }
    }
}
