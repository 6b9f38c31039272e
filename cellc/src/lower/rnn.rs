//! RNNCell: `H' = f(clip(x W' + h R' + B))`.

use super::gates::{Cell, Column, Part};
use crate::kernel::{Kernel, Stmt};
use crate::plan::Tiling;

pub(super) fn lower(cell: Cell<'_, '_>) -> Kernel {
    let doc = vec!["RNNCell: h' = f(clip(W x + R h + B))".to_string()];
    cell.finish(doc, |cell, rows| {
        let mut all = Vec::new();
        for (group, panels) in cell.plan.panels.iter().enumerate() {
            let Tiling::Columns(passes) = cell.tiling(group) else {
                unreachable!("plan: a cell of one sum is tiled by columns");
            };
            let out = Column { name: "out", of: rows.out, written: true };
            all.extend(cell.panels(panels, panels.offset, panels.stride, &[out], |cell, weights, columns| {
                let mut body: Vec<Stmt> = Vec::new();
                for pass in passes {
                    let parts: Vec<_> = pass
                        .iter()
                        .enumerate()
                        .map(|(i, &(lane, lanes))| Part { sum: 0, lane, lanes, name: format!("s{i}") })
                        .collect();
                    let sums = cell.early(&mut body, panels, weights, rows, &parts);
                    for (part, sum) in parts.iter().zip(sums) {
                        let value = cell.activate(cell.cell.activations[0], sum, part.lanes);
                        cell.store_state(&mut body, columns[0].at(part.lane), value, part.lanes);
                    }
                }
                body
            }));
        }
        all
    })
}
