//! GRU and AUGRU cells, the pointwise part: gates z, r, n and `h' = (1 - z).n + z.h`.

use super::builder::{load, op};
use super::product::{Column, Operands, RowGroup, Sums};
use super::step::CellStep;
use crate::core::CoreCell;
use crate::kernel::{Expr, LaneOp, Place, Stmt};
use crate::model::ResetGate;

/// Positions in [`Product::sums`](crate::plan::Product::sums) of a GRU: `N` is the candidate's sum,
/// `M` the candidate's h terms if the reset gate multiplies them. z and r are before `N`, in either
/// order.
const N: usize = 2;
const M: usize = 3;

pub(super) fn doc(cell: &CoreCell) -> Vec<String> {
    let after = cell.kind.reset_gate() == Some(ResetGate::AfterMatMul);
    let name = cell.kind.family().name().to_uppercase();
    let title = format!("{name} cell, linear_before_reset = {}:", u8::from(after));
    [vec![title], cell.equations()].concat()
}

pub(super) fn step<'m>(rows: RowGroup<'_, '_, 'm>, step: &CellStep<'_, 'm>) -> Vec<Stmt> {
    match step.cell.kind.reset_gate() {
        Some(ResetGate::AfterMatMul) => after(rows, step),
        Some(ResetGate::BeforeMatMul) => before(rows, step),
        None => unreachable!("lower: a GRU was expected"),
    }
}

/// Activates the sums of z and r in a run. The candidate's sums stay unchanged, as they need r
/// first.
fn activate_run(rows: &mut RowGroup<'_, '_, '_>, cell: &CoreCell, sum: usize, value: Expr) -> Expr {
    match sum {
        0..N => rows.builder.activate(cell, cell.activations[0], value),
        _ => value,
    }
}

/// z or r of a vector, activated now unless the whole run has been activated.
fn gate(rows: &mut RowGroup<'_, '_, '_>, cell: &CoreCell, sums: &Sums, which: usize) -> Expr {
    let value = sums.values[which].clone();
    if sums.active { value } else { rows.builder.activate(cell, cell.activations[0], value) }
}

/// z of a vector. With attention a: `(1 - a) * z`.
fn update_gate(rows: &mut RowGroup<'_, '_, '_>, step: &CellStep<'_, '_>, sums: &Sums) -> Expr {
    let z = gate(rows, step.cell, sums, rows.place_of("z"));
    match step.a {
        None => z,
        Some(from) => {
            let a = Expr::Splat { from, lanes: sums.lanes };
            let a = step.cell.a.map_or(a.clone(), |source| rows.builder.flushed_element(source, a));
            op(LaneOp::Mul, vec![op(LaneOp::Sub, vec![Expr::f32(1.0, sums.lanes), a]), z])
        }
    }
}

/// Computes and stores the new state of one vector of columns. `columns` are h and the columns of
/// [`CellStep::new_state`].
fn update<'m>(
    rows: &mut RowGroup<'_, '_, 'm>,
    step: &CellStep<'_, 'm>,
    body: &mut Vec<Stmt>,
    (lane, lanes): (usize, usize),
    [z, candidate]: [Expr; 2],
    columns: (Place, &[Place]),
) {
    let n = rows.builder.activate(step.cell, step.cell.activations[1], candidate);
    let rest = op(LaneOp::Sub, vec![Expr::f32(1.0, lanes), z.clone()]);
    let new = op(LaneOp::Mul, vec![rest, n]);
    let value = op(LaneOp::MulAdd, vec![z, load(columns.0.at(lane), lanes), new]);
    step.store(rows.builder, body, columns.1, (lane, lanes), value);
}

fn after<'m>(mut rows: RowGroup<'_, '_, 'm>, step: &CellStep<'_, 'm>) -> Vec<Stmt> {
    let cell = step.cell;
    let operands = Operands { x: step.x, h: Some(step.h) };
    let mut columns = vec![Column::new("h", step.h, false)];
    columns.extend(step.new_state());
    let run = |rows: &mut RowGroup<'_, '_, '_>, sum, value| activate_run(rows, cell, sum, value);
    rows.early(operands, &columns, run, |rows, body, panel, pass| {
        // Compute the gates of all vectors first, as the candidates wait for the gates. If gates
        // and candidates alternated, the window of an out-of-order core would be too short to
        // overlap several vectors.
        let mut ready = Vec::new();
        for sums in pass {
            let lanes = sums.lanes;
            let z = update_gate(rows, step, &sums);
            let z = rows.builder.let_unit(body, "z", (sums.lane, lanes), z);
            let r = gate(rows, cell, &sums, rows.place_of("r"));
            let (n, m) = (sums.values[N].clone(), sums.values[M].clone());
            let candidate = op(LaneOp::MulAdd, vec![r, m, n]);
            let candidate = rows.builder.let_unit(body, "n_sum", (sums.lane, lanes), candidate);
            ready.push((sums, z, candidate));
        }
        for (Sums { lane, lanes, .. }, z, candidate) in ready {
            update(
                rows,
                step,
                body,
                (lane, lanes),
                [z, candidate],
                (panel.columns[0], &panel.columns[1..]),
            );
        }
    })
}

fn before<'m>(mut rows: RowGroup<'_, '_, 'm>, step: &CellStep<'_, 'm>) -> Vec<Stmt> {
    let cell = step.cell;
    let operands = Operands { x: step.x, h: Some(step.h) };
    // memory holds r.h: the late phase multiplies r.h of all columns
    let reset = rows.scratch("reset_h");
    if rows.keeps_late_apart() {
        rows.builder.elements(reset);
    }
    let update_gates = rows.scratch("update");
    // memory for the candidates' x terms, unless stored sums already hold them
    let candidates = (!rows.stores_sums()).then(|| rows.scratch("x_terms"));
    let mut columns = vec![
        Column::new("h", step.h, false),
        Column::new("reset", reset, true),
        Column::new("update", update_gates, true),
    ];
    columns.extend(
        candidates.map(|place| Column { takes_late: true, ..Column::new("x_terms", place, true) }),
    );
    let run = |rows: &mut RowGroup<'_, '_, '_>, sum, value| activate_run(rows, cell, sum, value);
    let mut stmts = rows.early(operands, &columns, run, |rows, body, panel, pass| {
        for sums in pass {
            let (lane, lanes) = (sums.lane, sums.lanes);
            let r = gate(rows, cell, &sums, rows.place_of("r"));
            let reset_h = op(LaneOp::Mul, vec![r, load(panel.columns[0].at(lane), lanes)]);
            body.push(Stmt::Store { to: panel.columns[1].at(lane), value: reset_h });
            let z = update_gate(rows, step, &sums);
            body.push(Stmt::Store { to: panel.columns[2].at(lane), value: z });
            if let (Some(candidate), Some(value)) = (panel.columns.get(3), sums.values.get(N)) {
                body.push(Stmt::Store { to: candidate.at(lane), value: value.clone() });
            }
        }
    });
    let mut columns =
        vec![Column::new("h", step.h, false), Column::new("update", update_gates, false)];
    columns.extend(step.new_state());
    stmts.extend(rows.late(reset, N, candidates, &columns, |rows, body, panel, pass| {
        for Sums { lane, lanes, mut values, .. } in pass {
            let candidate = values.pop().expect("lower: the late phase completes the candidate");
            let z = rows.builder.let_(body, "z", lanes, load(panel.columns[1].at(lane), lanes));
            update(
                rows,
                step,
                body,
                (lane, lanes),
                [z, candidate],
                (panel.columns[0], &panel.columns[2..]),
            );
        }
    }));
    stmts
}
