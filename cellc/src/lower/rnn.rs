//! RNNCell: `H' = f(clip(x W' + h R' + B))`.

use super::cell::Step;
use super::product::{Column, Operands, Rows};
use crate::kernel::Stmt;

pub(super) fn doc() -> Vec<String> {
    vec!["RNNCell: h' = f(clip(W x + R h + B))".to_string()]
}

pub(super) fn step(mut rows: Rows<'_, '_, '_>, step: &Step<'_>) -> Vec<Stmt> {
    let mut all = Vec::new();
    let operands = Operands { x: step.x, h: Some(step.h) };
    for (group, panels) in rows.plan.panels.iter().enumerate() {
        let out = Column { name: "out", of: step.out, written: true };
        all.extend(rows.panels(panels, panels.offset, panels.stride, &[out], |rows, weights, columns| {
            rows.early(
                group,
                panels,
                weights,
                operands,
                None,
                |_, _, value| value,
                |rows, body, pass| {
                    for sums in pass {
                        let sum = sums.values[0].clone();
                        let value = rows.builder.activate(step.cell, step.cell.activations[0], sum);
                        rows.builder.store_state(body, columns[0].at(sums.lane), value, sums.lanes);
                    }
                },
            )
        }));
    }
    all
}
