//! The micro-kernel for dot products across lanes.

use super::terms::Vectors;
use super::{PanelWeights, RowGroup, SumVector, first_row, lane_sums};
use crate::kernel::{Expr, LaneOp, Place, Stmt, Tiles};
use crate::lower::builder::{load, op};
use crate::plan::{Panels, Phase};

impl RowGroup<'_, '_, '_> {
    /// The sums over the rows of one phase, with operations that add the products of all lanes to
    /// one sum. Lanes are neighbouring elements of an operand; each column has a sum of its own.
    /// Scratch memory collects the sums of a vector of columns.
    pub(super) fn accumulate_across(
        &mut self,
        body: &mut Vec<Stmt>,
        panels: &Panels,
        phase: Phase,
        weights: PanelWeights,
        vectors: &Vectors,
        parts: &[SumVector],
    ) -> Vec<Vec<Option<Expr>>> {
        let product = self.product();
        let words = self.words(phase).expect("plan: sums across lanes are of integers");
        let together = words.together();
        let columns = |part: &SumVector| {
            if product.sums[part.sum].gate(phase).is_some() { part.lanes } else { 0 }
        };
        let pitch: usize = parts.iter().map(columns).sum();
        if pitch == 0 {
            return vec![vec![None; parts.len()]; vectors.count];
        }
        let room = Place::from(self.builder.lane_room(lane_sums(phase), pitch * vectors.count));
        let mut terms = vec![Vec::new(); vectors.count];
        let mut met = 0;
        for part in parts {
            if columns(part) == 0 {
                terms.iter_mut().for_each(|terms| terms.push(None));
                continue;
            }
            let (first, step) =
                product.row_of(phase, panels.columns, product.position(phase, part.sum));
            let tiles = Tiles {
                elements: vectors.elements.neighbours(),
                weights: weights.rows.at(first_row(panels, phase) + first + part.lane * together),
                to: room.at(met),
                rows: vectors.count,
                words: self.taken_at_once(phase),
                in_word: words.each(),
                abreast: together,
                step,
                columns: part.lanes,
                panels: 1,
                stride: product.packed_rows(phase) / together * step,
                pitch,
            };
            body.push(Stmt::Tiles(tiles));
            for (row, terms) in terms.iter_mut().enumerate() {
                let sum = load(room.at(row * pitch + met), part.lanes);
                let sum = op(LaneOp::FromSigned, vec![op(LaneOp::ToBits, vec![sum])]);
                terms.push(Some(self.scaled(
                    panels,
                    weights,
                    phase,
                    part,
                    sum,
                    vectors.scale(row),
                )));
            }
            met += part.lanes;
        }
        terms
    }
}
