//! GRUCell, the pointwise part: gates z, r, n and `h' = n + z.(h - n)`, which is (1-z).n + z.h with one rounding less.

use super::gates::{Accumulator, Cell, Column, Rows};
use crate::kernel::{BufferId, Expr, Kernel, Operation, Place, Stmt};
use crate::model::{CellKind, ResetGate};
use crate::plan::{self, Panels, Phase, Tiling};

/// Positions in [`plan::sums`] of a GRU.
const Z: usize = 0;
const R: usize = 1;
const N: usize = 2;
const M: usize = 3;

pub(super) fn lower(cell: Cell<'_, '_>) -> Kernel {
    match cell.cell.kind {
        CellKind::Gru(ResetGate::AfterMatMul) => after(cell),
        CellKind::Gru(ResetGate::BeforeMatMul) => before(cell),
        CellKind::Rnn => unreachable!("lower: a GRU was expected"),
    }
}

/// The gates of one vector of columns.
struct Gates {
    /// The first column, from the panel's first.
    lane: usize,
    lanes: usize,
    /// By position in [`plan::sums`].
    values: Vec<Expr>,
    /// Whether z and r are activated already.
    active: bool,
}

/// The early phases of one panel: gives, for each vector of columns, its sums.
fn early(
    cell: &mut Cell<'_, '_>,
    body: &mut Vec<Stmt>,
    group: usize,
    panels: &Panels,
    weights: Place,
    rows: Rows,
    stored: Option<BufferId>,
    mut pointwise: impl FnMut(&mut Cell<'_, '_>, &mut Vec<Stmt>, Gates),
) {
    let sums = cell.sums();
    let both = |cell: &mut Cell<'_, '_>, body: &mut Vec<Stmt>, accumulators: &[Accumulator]| {
        cell.accumulate(body, panels, Phase::Input, weights.at(panels.input), rows.x, accumulators);
        cell.accumulate(body, panels, Phase::Hidden, weights.at(panels.hidden), rows.h, accumulators);
    };
    match cell.tiling(group) {
        Tiling::Columns(passes) => {
            for pass in passes {
                let parts: Vec<_> = pass
                    .iter()
                    .enumerate()
                    .flat_map(|(v, (lane, lanes))| {
                        sums.iter().enumerate().map(move |(i, s)| (i, *lane, *lanes, format!("{}{v}", s.name)))
                    })
                    .collect();
                let accumulators = cell.start(body, panels, weights, &parts);
                both(cell, body, &accumulators);
                for vector in accumulators.chunks(sums.len()) {
                    let values = vector.iter().map(|a| Expr::Var(a.var)).collect();
                    let Accumulator { lane, lanes, .. } = vector[0];
                    pointwise(cell, body, Gates { lane, lanes, values, active: false });
                }
            }
        }
        Tiling::Runs => {
            let stored = stored.expect("lower: runs are stored");
            let mut parts = Vec::new();
            for (first, n) in cell.runs() {
                let name: String = sums[first..first + n].iter().map(|s| s.name).collect();
                for (v, (lane, lanes)) in plan::vectors(n * panels.columns, cell.isa.lanes).into_iter().enumerate() {
                    parts.push((first, lane, lanes, format!("{name}{v}")));
                }
            }
            for pass in parts.chunks(plan::accumulators(cell.isa)) {
                let accumulators = cell.start(body, panels, weights, pass);
                both(cell, body, &accumulators);
                for a in accumulators {
                    // one activation over all lanes of z and r; the candidate waits for r
                    let value = match a.sum {
                        Z => cell.activate(cell.cell.activations[0], Expr::Var(a.var), a.lanes),
                        _ => Expr::Var(a.var),
                    };
                    body.push(Stmt::Store { to: Place::from(stored).at(a.sum * panels.columns + a.lane), value });
                }
            }
            for (lane, lanes) in plan::vectors(panels.columns, cell.isa.lanes) {
                let values = (0..sums.len())
                    .map(|i| Expr::Load { from: Place::from(stored).at(i * panels.columns + lane), lanes })
                    .collect();
                pointwise(cell, body, Gates { lane, lanes, values, active: true });
            }
        }
    }
}

/// z or r of a vector: activated where that has not been done on the whole run.
fn gate(cell: &mut Cell<'_, '_>, gates: &Gates, which: usize) -> Expr {
    let value = gates.values[which].clone();
    if gates.active { value } else { cell.activate(cell.cell.activations[0], value, gates.lanes) }
}

/// Where runs of the widest panel are stored, if any panel is tiled by runs.
fn runs_buffer(cell: &mut Cell<'_, '_>) -> Option<BufferId> {
    let widest = cell
        .plan
        .panels
        .iter()
        .enumerate()
        .filter(|(i, _)| *cell.tiling(*i) == Tiling::Runs)
        .map(|(_, p)| p.columns)
        .max()?;
    let sums = cell.sums().len();
    Some(cell.scratch("gates", sums * widest))
}

/// The new state of one vector of columns.
fn update(cell: &mut Cell<'_, '_>, body: &mut Vec<Stmt>, lanes: usize, z: Expr, candidate: Expr, h: Place, out: Place) {
    let n = cell.activate(cell.cell.activations[1], candidate, lanes);
    let n = cell.let_(body, "n", lanes, n);
    let h = Expr::Load { from: h, lanes };
    let difference = Expr::Op(Operation::Sub, vec![h, Expr::Var(n)]);
    body.push(Stmt::Store { to: out, value: Expr::Op(Operation::MulAdd, vec![z, difference, Expr::Var(n)]) });
}

fn after(cell: Cell<'_, '_>) -> Kernel {
    let doc = vec![
        "GRUCell, linear_before_reset = 1:".to_string(),
        "z = f(clip(Wz x + Rz h + Bz)), r = f(clip(Wr x + Rr h + Br)),".to_string(),
        "n = g(clip(Wh x + Wbh + r.(Rh h + Rbh))), h' = n + z.(h - n)".to_string(),
    ];
    cell.finish(doc, |cell, rows| {
        let stored = runs_buffer(cell);
        let mut all = Vec::new();
        for (group, panels) in cell.plan.panels.iter().enumerate() {
            let columns =
                [Column { name: "h", of: rows.h, written: false }, Column { name: "out", of: rows.out, written: true }];
            all.extend(cell.panels(panels, panels.offset, panels.stride, &columns, |cell, weights, columns| {
                let (h, out) = (columns[0], columns[1]);
                let mut body = Vec::new();
                early(cell, &mut body, group, panels, weights, rows, stored, |cell, body, gates| {
                    let lanes = gates.lanes;
                    let z = gate(cell, &gates, Z);
                    let z = cell.let_(body, "z", lanes, z);
                    let r = gate(cell, &gates, R);
                    let r = cell.let_(body, "r", lanes, r);
                    let candidate = Expr::Op(
                        Operation::MulAdd,
                        vec![Expr::Var(r), gates.values[M].clone(), gates.values[N].clone()],
                    );
                    update(cell, body, lanes, Expr::Var(z), candidate, h.at(gates.lane), out.at(gates.lane));
                });
                body
            }));
        }
        all
    })
}

fn before(cell: Cell<'_, '_>) -> Kernel {
    let doc = vec![
        "GRUCell, linear_before_reset = 0:".to_string(),
        "z = f(clip(Wz x + Rz h + Bz)), r = f(clip(Wr x + Rr h + Br)),".to_string(),
        "n = g(clip(Wh x + Rh (r.h) + Bh)), h' = n + z.(h - n)".to_string(),
    ];
    cell.finish(doc, |cell, rows| {
        let hidden_size = cell.cell.hidden_size;
        let stored = runs_buffer(cell);
        // r.h of all columns is needed before the first row of the late phase
        let reset = cell.scratch("reset_h", hidden_size);
        let update_gate = cell.scratch("update", hidden_size);
        let candidate = cell.scratch("candidate", hidden_size);
        let mut all = Vec::new();
        for (group, panels) in cell.plan.panels.iter().enumerate() {
            let columns = [
                Column { name: "h", of: rows.h, written: false },
                Column { name: "reset", of: reset.into(), written: true },
                Column { name: "update", of: update_gate.into(), written: true },
                Column { name: "candidate", of: candidate.into(), written: true },
            ];
            all.extend(cell.panels(panels, panels.offset, panels.stride, &columns, |cell, weights, columns| {
                let mut body = Vec::new();
                early(cell, &mut body, group, panels, weights, rows, stored, |cell, body, gates| {
                    let (lane, lanes) = (gates.lane, gates.lanes);
                    let z = gate(cell, &gates, Z);
                    let r = gate(cell, &gates, R);
                    let h = Expr::Load { from: columns[0].at(lane), lanes };
                    body.push(Stmt::Store { to: columns[1].at(lane), value: Expr::Op(Operation::Mul, vec![r, h]) });
                    body.push(Stmt::Store { to: columns[2].at(lane), value: z });
                    body.push(Stmt::Store { to: columns[3].at(lane), value: gates.values[N].clone() });
                });
                body
            }));
        }
        for panels in &cell.plan.panels {
            let columns = [
                Column { name: "h", of: rows.h, written: false },
                Column { name: "update", of: update_gate.into(), written: false },
                Column { name: "candidate", of: candidate.into(), written: false },
                Column { name: "out", of: rows.out, written: true },
            ];
            all.extend(cell.panels(
                panels,
                panels.late_offset,
                panels.late_stride,
                &columns,
                |cell, weights, columns| {
                    let mut body = Vec::new();
                    for pass in plan::vectors(panels.columns, cell.isa.lanes).chunks(plan::accumulators(cell.isa)) {
                        let sums: Vec<_> = pass
                            .iter()
                            .enumerate()
                            .map(|(v, (lane, lanes))| {
                                let var = cell.accumulator(&mut body, format!("n{v}"), columns[2].at(*lane), *lanes);
                                Accumulator { sum: N, lane: *lane, lanes: *lanes, var }
                            })
                            .collect();
                        cell.accumulate(&mut body, panels, Phase::ResetHidden, weights, reset.into(), &sums);
                        for Accumulator { lane, lanes, var, .. } in sums {
                            let z = Expr::Load { from: columns[1].at(lane), lanes };
                            update(cell, &mut body, lanes, z, Expr::Var(var), columns[0].at(lane), columns[3].at(lane));
                        }
                    }
                    body
                },
            ));
        }
        all
    })
}
