//! RNNCell: `H' = f(clip(x W' + h R' + B))`.

use super::gates::{Cell, Column};
use crate::kernel::{Expr, Kernel, Stmt};
use crate::plan::{Phase, Tiling};

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
                    let parts: Vec<_> =
                        pass.iter().enumerate().map(|(i, (lane, lanes))| (0, *lane, *lanes, format!("s{i}"))).collect();
                    let sums = cell.start(&mut body, panels, weights, &parts);
                    cell.accumulate(&mut body, panels, Phase::Input, weights.at(panels.input), rows.x, &sums);
                    cell.accumulate(&mut body, panels, Phase::Hidden, weights.at(panels.hidden), rows.h, &sums);
                    for sum in sums {
                        let value = cell.activate(cell.cell.activations[0], Expr::Var(sum.var), sum.lanes);
                        body.push(Stmt::Store { to: columns[0].at(sum.lane), value });
                    }
                }
                body
            }));
        }
        all
    })
}
