//! The micro-kernel for blocks of weights that are not zero, each with the index of its inputs.

use super::RowGroup;
use super::terms::{Terms, Vectors};
use crate::kernel::{BlockSums, Place, Stmt};
use crate::lower::builder::load;
use crate::plan::{Phase, PresentBlocks};

impl RowGroup<'_, '_, '_> {
    /// The sums of a phase for one row. Each panel has the columns of each sum of the phase.
    pub(super) fn block_terms(
        &mut self,
        body: &mut Vec<Stmt>,
        phase: Phase,
        vectors: &Vectors,
    ) -> Terms {
        let active = self.product().active(phase);
        let len = active * self.product().units;
        let sums = self.builder.tile_sums(phase, len);
        for (_, panels) in self.groups() {
            let present = panels.present.iter().find(|present| present.phase == phase);
            let Some(present) = present else { continue };
            let to = sums.at(panels.first * active);
            self.block_sums(body, present, vectors.elements.neighbours(), to);
        }
        if let Some(scale) = vectors.scales {
            return Terms::Integers { sums, scale };
        }
        if let Some(guard) = vectors.guard {
            let (sum, walk) = self.builder.walk("sum", sums, 1, true);
            let value = super::add(load(sum, 1), load(guard, 1));
            let body_of_loop = vec![Stmt::Store { to: sum, value }];
            body.push(Stmt::repeat(len, vec![walk], body_of_loop));
        }
        Terms::Sums(sums)
    }

    /// The sums over the blocks of panels of equal size.
    fn block_sums(
        &mut self,
        body: &mut Vec<Stmt>,
        present: &PresentBlocks,
        elements: Place,
        to: Place,
    ) {
        let words = self.taken_at_once(present.phase);
        let block_rows = present.inputs.len();
        let index = self.weights.index.expect("lower: blocks have an index");
        let counts = Place::from(index).at(present.index);
        body.push(Stmt::Blocks(BlockSums {
            product: present.product,
            elements,
            words,
            weights: Place::from(self.weights.rows).at(present.first),
            counts,
            inputs: counts.at(block_rows),
            to,
            block_rows,
            rows: present.rows,
            present: present.count(),
        }));
    }
}
