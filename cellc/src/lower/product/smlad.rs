//! The micro-kernel for one lane whose words are loaded in pairs, of neighbouring rows and of
//! neighbouring columns (`LDRD`, `LDM`, `SMLAD`).

use super::RowGroup;
use super::rows::{Accumulator, Broadcasts, Factor, MultiplyAdd, WeightRow};
use crate::encoding::WeightFormat;
use crate::kernel::{Expr, LaneOp, Stmt};
use crate::lower::builder::{load, op};
use crate::plan::DotWord;

/// Dot products of words that are loaded in pairs.
pub(super) struct Smlad {
    word: DotWord,
    elements: Broadcasts,
    /// Words of the next row, loaded with the words of the row before.
    next: Vec<(Factor, Expr)>,
}

/// Rows of weights per iteration, derived from the usual number `rows`. If one iteration would take
/// all `count` rows, there are two iterations, or four with two operations, as code memory is
/// scarce.
pub(super) fn rows_at_once(word: DotWord, rows: usize, count: usize) -> usize {
    let operations = word.operations().len();
    let rows = if operations == 1 { 2 * rows } else { rows };
    if count == rows { rows / 2 / operations } else { rows }
}

impl Smlad {
    pub(super) fn new(word: DotWord) -> Self {
        Self { word, elements: Broadcasts::default(), next: Vec::new() }
    }
}

impl MultiplyAdd for Smlad {
    fn most_together(&self) -> usize {
        2
    }

    /// One instruction loads the words of rows k and k + 1, if row k + 1 exists.
    fn begin(&mut self, rows: &mut RowGroup<'_, '_, '_>, body: &mut Vec<Stmt>, row: WeightRow<'_>) {
        self.elements.clear();
        let [parts] = row.elements else { return };
        for (factor, value) in self.next.drain(..) {
            self.elements.add(factor, value);
        }
        if !self.elements.is_empty() || row.k + 1 >= row.count {
            return;
        }
        for (part, place) in parts.iter().enumerate() {
            for (k, is_next) in [(row.k, false), (row.k + 1, true)] {
                let bits = op(LaneOp::ToBits, vec![load(place.at(k), 1)]);
                let name = format!("{}_k", row.sum.name);
                let value = rows.builder.let_bits(body, &name, 1, bits);
                let factor = Factor { operand: 0, part, lanes: 1 };
                match is_next {
                    true => self.next.push((factor, value)),
                    false => self.elements.add(factor, value),
                }
            }
        }
    }

    fn weight(
        &mut self,
        rows: &mut RowGroup<'_, '_, '_>,
        body: &mut Vec<Stmt>,
        row: WeightRow<'_>,
        accumulator: &Accumulator,
    ) -> Expr {
        let is_bytes = rows.product().layout.format == WeightFormat::Int8Pair;
        let lanes = accumulator.lanes;
        match (row.weights(rows, accumulator), row.elements) {
            // one instruction loads the bytes, others widen them
            (Expr::Op(LaneOp::ToBits, mut bytes), [_]) if is_bytes => {
                let bytes = rows.builder.let_(body, "w", lanes, bytes.remove(0));
                op(LaneOp::ToBits, vec![bytes])
            }
            (weight, _) => rows.builder.let_bits(body, "w", lanes, weight),
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
