//! RNNCell, the pointwise part.

use super::product::{Operands, RowGroup};
use super::step::CellStep;
use crate::core::CoreCell;
use crate::kernel::Stmt;

pub(super) fn doc(cell: &CoreCell) -> Vec<String> {
    vec![format!("RNN cell: {}", cell.equations().concat())]
}

pub(super) fn step<'m>(mut rows: RowGroup<'_, '_, 'm>, step: &CellStep<'_, 'm>) -> Vec<Stmt> {
    let operands = Operands { x: step.x, h: Some(step.h) };
    let kept = |_: &mut RowGroup<'_, '_, '_>, _, value| value;
    rows.early(operands, &step.new_state(), kept, |rows, body, panel, pass| {
        for sums in pass {
            let sum = sums.values[0].clone();
            let value = rows.builder.activate(step.cell, step.cell.activations[0], sum);
            step.store(rows.builder, body, panel.columns, (sums.lane, sums.lanes), value);
        }
    })
}
