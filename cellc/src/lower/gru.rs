//! GRUCell, the pointwise part: gates z, r, n and `h' = (1 - z).n + z.h`.

use super::gates::{Cell, Column, Part, Rows, add};
use crate::kernel::{BufferId, Expr, Kernel, Operation, Place, Stmt, Var};
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
        _ => unreachable!("lower: a GRU was expected"),
    }
}

/// The sums of one vector of columns.
struct Gates {
    /// The first column, from the panel's first.
    lane: usize,
    lanes: usize,
    /// By position in [`plan::sums`].
    values: Vec<Expr>,
    /// Whether z and r are activated already.
    active: bool,
}

/// The early phases of one panel: gives, for each pass, the sums of its vectors of columns.
fn early(
    cell: &mut Cell<'_, '_>,
    group: usize,
    panels: &Panels,
    weights: Place,
    rows: Rows,
    stored: Option<BufferId>,
    mut pointwise: impl FnMut(&mut Cell<'_, '_>, &mut Vec<Stmt>, Vec<Gates>),
) -> Vec<Stmt> {
    let sums = cell.sums();
    let mut body = Vec::new();
    match cell.tiling(group) {
        Tiling::Columns(passes) => {
            for pass in passes {
                let mut parts = Vec::new();
                for (v, &(lane, lanes)) in pass.iter().enumerate() {
                    let part =
                        |(sum, s): (usize, &plan::Sum)| Part { sum, lane, lanes, name: format!("{}{v}", s.name) };
                    parts.extend(sums.iter().enumerate().map(part));
                }
                let mut values = cell.early(&mut body, panels, weights, rows, &parts).into_iter();
                let gates = |&(lane, lanes): &(usize, usize)| {
                    let values = values.by_ref().take(sums.len()).collect();
                    Gates { lane, lanes, values, active: false }
                };
                let gates = pass.iter().map(gates).collect();
                pointwise(cell, &mut body, gates);
            }
        }
        Tiling::Runs => {
            let stored = stored.expect("lower: runs are stored");
            let mut parts = Vec::new();
            for (first, n) in cell.runs() {
                let name: String = sums[first..first + n].iter().map(|s| s.name).collect();
                for (v, (lane, lanes)) in plan::vectors(n * panels.columns, cell.isa.lanes).into_iter().enumerate() {
                    parts.push(Part { sum: first, lane, lanes, name: format!("{name}{v}") });
                }
            }
            for pass in parts.chunks(cell.at_once(panels)) {
                let values = cell.early(&mut body, panels, weights, rows, pass);
                for (part, value) in pass.iter().zip(values) {
                    // one activation over all lanes of z and r; the candidate waits for r
                    let value = match part.sum {
                        Z => cell.activate(cell.cell.activations[0], value, part.lanes),
                        _ => value,
                    };
                    let to = Place::from(stored).at(part.sum * panels.columns + part.lane);
                    body.push(Stmt::Store { to, value });
                }
            }
            for (lane, lanes) in plan::vectors(panels.columns, cell.isa.lanes) {
                let load = |sum: usize| Expr::Load { from: Place::from(stored).at(sum * panels.columns + lane), lanes };
                let values = (0..sums.len()).map(load).collect();
                pointwise(cell, &mut body, vec![Gates { lane, lanes, values, active: true }]);
            }
        }
    }
    body
}

/// z or r of a vector: activated where that has not been done on the whole run.
fn gate(cell: &mut Cell<'_, '_>, gates: &Gates, which: usize) -> Expr {
    let value = gates.values[which].clone();
    if gates.active { value } else { cell.activate(cell.cell.activations[0], value, gates.lanes) }
}

/// Where runs of the widest panel are stored, if any panel is tiled by runs.
fn runs_buffer(cell: &mut Cell<'_, '_>) -> Option<BufferId> {
    let panels = cell.plan.panels.iter().enumerate();
    let widest = panels.filter(|(i, _)| *cell.tiling(*i) == Tiling::Runs).map(|(_, p)| p.columns).max()?;
    let sums = cell.sums().len();
    Some(cell.scratch("gates", sums * widest))
}

/// The new state of one vector of columns.
fn update(cell: &mut Cell<'_, '_>, body: &mut Vec<Stmt>, lanes: usize, z: Var, candidate: Expr, h: Place, out: Place) {
    let n = cell.activate(cell.cell.activations[1], candidate, lanes);
    let rest = Expr::Op(Operation::Sub, vec![Expr::f32(1.0, lanes), Expr::Var(z)]);
    let new = Expr::Op(Operation::Mul, vec![rest, n]);
    let h = Expr::Load { from: h, lanes };
    let value = Expr::Op(Operation::MulAdd, vec![Expr::Var(z), h, new]);
    cell.store_state(body, out, value, lanes);
}

fn after(cell: Cell<'_, '_>) -> Kernel {
    let doc = vec![
        "GRUCell, linear_before_reset = 1:".to_string(),
        "z = f(clip(Wz x + Rz h + Bz)), r = f(clip(Wr x + Rr h + Br)),".to_string(),
        "n = g(clip(Wh x + Wbh + r.(Rh h + Rbh))), h' = (1 - z).n + z.h".to_string(),
    ];
    cell.finish(doc, |cell, rows| {
        let stored = runs_buffer(cell);
        let columns =
            [Column { name: "h", of: rows.h, written: false }, Column { name: "out", of: rows.out, written: true }];
        let mut all = Vec::new();
        for (group, panels) in cell.plan.panels.iter().enumerate() {
            all.extend(cell.panels(panels, panels.offset, panels.stride, &columns, |cell, weights, columns| {
                early(cell, group, panels, weights, rows, stored, |cell, body, pass| {
                    // the gates of all vectors before the candidates, which wait for them: a processor looks only so far
                    // ahead for something else to do
                    let mut ready = Vec::new();
                    for gates in pass {
                        let lanes = gates.lanes;
                        let z = gate(cell, &gates, Z);
                        let z = cell.let_(body, "z", lanes, z);
                        let r = gate(cell, &gates, R);
                        let (n, m) = (gates.values[N].clone(), gates.values[M].clone());
                        let candidate = Expr::Op(Operation::MulAdd, vec![r, m, n]);
                        let candidate = cell.let_(body, "n", lanes, candidate);
                        ready.push((gates, z, candidate));
                    }
                    for (Gates { lane, lanes, .. }, z, candidate) in ready {
                        let (h, out) = (columns[0].at(lane), columns[1].at(lane));
                        update(cell, body, lanes, z, Expr::Var(candidate), h, out);
                    }
                })
            }));
        }
        all
    })
}

fn before(cell: Cell<'_, '_>) -> Kernel {
    let doc = vec![
        "GRUCell, linear_before_reset = 0:".to_string(),
        "z = f(clip(Wz x + Rz h + Bz)), r = f(clip(Wr x + Rr h + Br)),".to_string(),
        "n = g(clip(Wh x + Rh (r.h) + Bh)), h' = (1 - z).n + z.h".to_string(),
    ];
    cell.finish(doc, |cell, rows| {
        let hidden_size = cell.cell.hidden_size;
        let stored = runs_buffer(cell);
        // r.h of all columns is needed before the first row of the late phase
        let reset = cell.scratch("reset_h", hidden_size);
        let update_gate = cell.scratch("update", hidden_size);
        let candidate = cell.scratch("candidate", hidden_size);
        let columns = [
            Column { name: "h", of: rows.h, written: false },
            Column { name: "reset", of: reset.into(), written: true },
            Column { name: "update", of: update_gate.into(), written: true },
            Column { name: "candidate", of: candidate.into(), written: true },
        ];
        let mut all = Vec::new();
        for (group, panels) in cell.plan.panels.iter().enumerate() {
            all.extend(cell.panels(panels, panels.offset, panels.stride, &columns, |cell, weights, columns| {
                early(cell, group, panels, weights, rows, stored, |cell, body, pass| {
                    for gates in pass {
                        let (lane, lanes) = (gates.lane, gates.lanes);
                        let r = gate(cell, &gates, R);
                        let h = Expr::Load { from: columns[0].at(lane), lanes };
                        let reset_h = Expr::Op(Operation::Mul, vec![r, h]);
                        body.push(Stmt::Store { to: columns[1].at(lane), value: reset_h });
                        let z = gate(cell, &gates, Z);
                        body.push(Stmt::Store { to: columns[2].at(lane), value: z });
                        body.push(Stmt::Store { to: columns[3].at(lane), value: gates.values[N].clone() });
                    }
                })
            }));
        }
        let columns = [
            Column { name: "h", of: rows.h, written: false },
            Column { name: "update", of: update_gate.into(), written: false },
            Column { name: "candidate", of: candidate.into(), written: false },
            Column { name: "out", of: rows.out, written: true },
        ];
        for panels in &cell.plan.panels {
            all.extend(cell.panels(
                panels,
                panels.late_offset,
                panels.late_stride,
                &columns,
                |cell, weights, columns| {
                    let mut body = Vec::new();
                    for pass in plan::vectors(panels.columns, cell.isa.lanes).chunks(cell.at_once(panels)) {
                        let part = |(v, &(lane, lanes)): (usize, &(usize, usize))| Part {
                            sum: N,
                            lane,
                            lanes,
                            name: format!("n{v}"),
                        };
                        let parts: Vec<_> = pass.iter().enumerate().map(part).collect();
                        let late_rows = weights.at(panels.late_rows);
                        let terms =
                            cell.accumulate(&mut body, panels, Phase::ResetHidden, late_rows, reset.into(), &parts);
                        for (Part { lane, lanes, .. }, terms) in parts.into_iter().zip(terms.into_iter().flatten()) {
                            let x = Expr::Load { from: columns[2].at(lane), lanes };
                            let bias = Expr::Load { from: weights.at(lane), lanes };
                            let candidate = add(add(x, terms), bias);
                            let z = Expr::Load { from: columns[1].at(lane), lanes };
                            let z = cell.let_(&mut body, "z", lanes, z);
                            update(cell, &mut body, lanes, z, candidate, columns[0].at(lane), columns[3].at(lane));
                        }
                    }
                    body
                },
            ));
        }
        all
    })
}
