//! GRUCell, the pointwise part: gates z, r, n and `h' = (1 - z).n + z.h`.

use super::builder::{load, op};
use super::cell::Step;
use super::product::{Column, Operands, Part, Rows, Sums, add};
use crate::kernel::{BufferId, Expr, Operation, Place, Stmt};
use crate::model::{ResetGate, ValidCell};
use crate::plan::{self, Phase};

/// Positions in [`plan::Product::sums`] of a GRU.
const Z: usize = 0;
const R: usize = 1;
const N: usize = 2;
const M: usize = 3;

pub(super) fn doc(cell: &ValidCell) -> Vec<String> {
    let (reset, candidate) = match cell.kind.reset_gate() {
        Some(ResetGate::AfterMatMul) => (1, "Wh x + Wbh + r.(Rh h + Rbh)"),
        _ => (0, "Wh x + Rh (r.h) + Bh"),
    };
    let op = cell.kind.op_name();
    let attention = if cell.kind.has_attention() { ", z <- (1 - a).z" } else { "" };
    vec![
        format!("{op}, linear_before_reset = {reset}:"),
        format!("z = f(clip(Wz x + Rz h + Bz)), r = f(clip(Wr x + Rr h + Br)){attention},"),
        format!("n = g(clip({candidate})), h' = (1 - z).n + z.h"),
    ]
}

pub(super) fn step(rows: Rows<'_, '_, '_>, step: &Step<'_>) -> Vec<Stmt> {
    match step.cell.kind.reset_gate() {
        Some(ResetGate::AfterMatMul) => after(rows, step),
        Some(ResetGate::BeforeMatMul) => before(rows, step),
        None => unreachable!("lower: a GRU was expected"),
    }
}

/// One activation over all lanes of z and r; the candidate waits for r.
fn activate_run(rows: &mut Rows<'_, '_, '_>, cell: &ValidCell, sum: usize, value: Expr) -> Expr {
    match sum {
        Z => rows.builder.activate(cell, cell.activations[0], value),
        _ => value,
    }
}

/// z or r of a vector: activated where that has not been done on the whole run.
fn gate(rows: &mut Rows<'_, '_, '_>, cell: &ValidCell, sums: &Sums, which: usize) -> Expr {
    let value = sums.values[which].clone();
    if sums.active { value } else { rows.builder.activate(cell, cell.activations[0], value) }
}

/// z of a vector, less what an attention takes from it.
fn update_gate(rows: &mut Rows<'_, '_, '_>, step: &Step<'_>, sums: &Sums) -> Expr {
    let z = gate(rows, step.cell, sums, Z);
    match step.a {
        None => z,
        Some(from) => {
            let a = Expr::Splat { from, lanes: sums.lanes };
            op(Operation::Mul, vec![op(Operation::Sub, vec![Expr::f32(1.0, sums.lanes), a]), z])
        }
    }
}

/// The new state of one vector of columns.
fn update(
    rows: &mut Rows<'_, '_, '_>,
    cell: &ValidCell,
    body: &mut Vec<Stmt>,
    lanes: usize,
    [z, candidate]: [Expr; 2],
    [h, out]: [Place; 2],
) {
    let n = rows.builder.activate(cell, cell.activations[1], candidate);
    let rest = op(Operation::Sub, vec![Expr::f32(1.0, lanes), z.clone()]);
    let new = op(Operation::Mul, vec![rest, n]);
    let value = op(Operation::MulAdd, vec![z, load(h, lanes), new]);
    rows.builder.store_state(body, out, value, lanes);
}

fn after(mut rows: Rows<'_, '_, '_>, step: &Step<'_>) -> Vec<Stmt> {
    let cell = step.cell;
    let stored = rows.runs_buffer();
    let operands = Operands { x: step.x, h: Some(step.h) };
    let columns =
        [Column { name: "h", of: step.h, written: false }, Column { name: "out", of: step.out, written: true }];
    let mut all = Vec::new();
    for (group, panels) in rows.plan.panels.iter().enumerate() {
        all.extend(rows.panels(panels, panels.offset, panels.stride, &columns, |rows, weights, columns| {
            let run = |rows: &mut Rows<'_, '_, '_>, sum, value| activate_run(rows, cell, sum, value);
            rows.early(group, panels, weights, operands, stored, run, |rows, body, pass| {
                // the gates of all vectors before the candidates, which wait for them: a processor looks only so far
                // ahead for something else to do
                let mut ready = Vec::new();
                for sums in pass {
                    let lanes = sums.lanes;
                    let z = update_gate(rows, step, &sums);
                    let z = rows.builder.let_(body, "z", lanes, z);
                    let r = gate(rows, cell, &sums, R);
                    let (n, m) = (sums.values[N].clone(), sums.values[M].clone());
                    let candidate = op(Operation::MulAdd, vec![r, m, n]);
                    let candidate = rows.builder.let_(body, "n", lanes, candidate);
                    ready.push((sums, z, candidate));
                }
                for (Sums { lane, lanes, .. }, z, candidate) in ready {
                    let places = [columns[0].at(lane), columns[1].at(lane)];
                    update(rows, cell, body, lanes, [z, candidate], places);
                }
            })
        }));
    }
    all
}

fn before(mut rows: Rows<'_, '_, '_>, step: &Step<'_>) -> Vec<Stmt> {
    let cell = step.cell;
    let hidden_size = cell.hidden_size;
    let stored = rows.runs_buffer();
    let operands = Operands { x: step.x, h: Some(step.h) };
    // r.h of all columns is needed before the first row of the late phase
    let [reset, update_gates, candidates]: [BufferId; 3] =
        ["reset_h", "update", "candidate"].map(|name| rows.builder.scratch(name, hidden_size));
    let columns = [
        Column { name: "h", of: step.h, written: false },
        Column { name: "reset", of: reset.into(), written: true },
        Column { name: "update", of: update_gates.into(), written: true },
        Column { name: "candidate", of: candidates.into(), written: true },
    ];
    let mut all = Vec::new();
    for (group, panels) in rows.plan.panels.iter().enumerate() {
        all.extend(rows.panels(panels, panels.offset, panels.stride, &columns, |rows, weights, columns| {
            let run = |rows: &mut Rows<'_, '_, '_>, sum, value| activate_run(rows, cell, sum, value);
            rows.early(group, panels, weights, operands, stored, run, |rows, body, pass| {
                for sums in pass {
                    let (lane, lanes) = (sums.lane, sums.lanes);
                    let r = gate(rows, cell, &sums, R);
                    let reset_h = op(Operation::Mul, vec![r, load(columns[0].at(lane), lanes)]);
                    body.push(Stmt::Store { to: columns[1].at(lane), value: reset_h });
                    let z = update_gate(rows, step, &sums);
                    body.push(Stmt::Store { to: columns[2].at(lane), value: z });
                    body.push(Stmt::Store { to: columns[3].at(lane), value: sums.values[N].clone() });
                }
            })
        }));
    }
    let columns = [
        Column { name: "h", of: step.h, written: false },
        Column { name: "update", of: update_gates.into(), written: false },
        Column { name: "candidate", of: candidates.into(), written: false },
        Column { name: "out", of: step.out, written: true },
    ];
    for panels in &rows.plan.panels {
        all.extend(rows.panels(panels, panels.late_offset, panels.late_stride, &columns, |rows, weights, columns| {
            let mut body = Vec::new();
            let lanes = rows.builder.lowering.isa.lanes;
            for pass in plan::vectors(panels.columns, lanes).chunks(rows.at_once(panels)) {
                let part =
                    |(v, &(lane, lanes)): (usize, &(usize, usize))| Part { sum: N, lane, lanes, name: format!("n{v}") };
                let parts: Vec<_> = pass.iter().enumerate().map(part).collect();
                let late = weights.at(panels.late_rows);
                let terms = rows.accumulate(&mut body, panels, Phase::ResetHidden, late, reset.into(), &parts);
                for (Part { lane, lanes, .. }, terms) in parts.into_iter().zip(terms.into_iter().flatten()) {
                    let x = load(columns[2].at(lane), lanes);
                    let candidate = add(add(x, terms), load(weights.at(lane), lanes));
                    let z = rows.builder.let_(&mut body, "z", lanes, load(columns[1].at(lane), lanes));
                    let places = [columns[0].at(lane), columns[3].at(lane)];
                    update(rows, cell, &mut body, lanes, [z, candidate], places);
                }
            }
            body
        }));
    }
    all
}
