//! The micro-kernel for tiles: the integer sums of all rows of a phase.

use super::{RowGroup, first_row};
use crate::kernel::{Place, Stmt, Tiles};
use crate::plan::Phase;

impl RowGroup<'_, '_, '_> {
    /// The sums of a phase of all rows, computed by tiles. A row has, for each panel, the columns
    /// of each sum of the phase.
    pub(super) fn tiles(&mut self, body: &mut Vec<Stmt>, phase: Phase, elements: Place) -> Place {
        let product = self.product();
        let (active, words) = (product.active(phase), self.taken_at_once(phase));
        let pitch = active * product.units;
        let sums = self.builder.tile_sums(phase, self.count * pitch);
        for (_, panels) in self.groups() {
            let blocks = panels.blocks(phase == Phase::ResetHidden);
            let weights =
                Place::from(self.weights.rows).at(blocks.offset + first_row(panels, phase));
            body.push(Stmt::Tiles(Tiles {
                elements,
                weights,
                to: sums.at(panels.first * active),
                rows: self.count,
                words,
                in_word: 4,
                abreast: 1,
                step: active * panels.columns,
                columns: active * panels.columns,
                panels: panels.count,
                stride: blocks.stride,
                pitch,
            }));
        }
        sums
    }
}
