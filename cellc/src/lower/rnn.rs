//! RNNCell: `H' = f(clip(x W' + h R' + B))`.

use super::cell::Step;
use super::product::{Column, Operands, Rows};
use crate::kernel::Stmt;

pub(super) fn doc() -> Vec<String> {
    vec!["RNNCell: h' = f(clip(W x + R h + B))".to_string()]
}

pub(super) fn step(mut rows: Rows<'_, '_, '_>, step: &Step<'_>) -> Vec<Stmt> {
    let operands = Operands { x: step.x, h: Some(step.h) };
    let out = Column::new("out", step.out, true);
    let kept = |_: &mut Rows<'_, '_, '_>, _, value| value;
    rows.early(operands, &[out], kept, |rows, body, panel, pass| {
        for sums in pass {
            let sum = sums.values[0].clone();
            let value = rows.builder.activate(step.cell, step.cell.activations[0], sum);
            rows.builder.store_state(body, panel.columns[0].at(sums.lane), value, sums.lanes);
        }
    })
}
