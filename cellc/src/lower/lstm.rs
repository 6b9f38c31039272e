//! LSTMCell, the pointwise part: gates f, i, o, the candidate, `c' = f.c + i.c~` and
//! `h' = o.h(c')`.

use super::builder::{flush, load, op};
use super::product::{Column, Operands, Panel, RowGroup, Sums};
use super::step::CellStep;
use crate::core::CoreCell;
use crate::kernel::{Expr, LaneOp, Place, Stmt};

pub(super) fn doc(cell: &CoreCell) -> Vec<String> {
    [vec!["LSTM cell:".to_owned()], cell.equations()].concat()
}

pub(super) fn step<'m>(mut rows: RowGroup<'_, '_, 'm>, step: &CellStep<'_, 'm>) -> Vec<Stmt> {
    let c = step.c.expect("check: an LSTM has a cell state");
    let operands = Operands { x: step.x, h: Some(step.h) };
    // if c' overwrites c, one window serves both
    let in_place = step.c_out == Some(c);
    let mut columns = step.new_state();
    let new_columns = columns.len();
    columns.push(Column::new("c", c, in_place));
    columns.extend(step.c_out.filter(|_| !in_place).map(|place| Column::new("c_out", place, true)));
    let kept = |_: &mut RowGroup<'_, '_, '_>, _, value| value;
    rows.early(operands, &columns, kept, |rows, body, panel, pass| {
        let (new, c) = panel.columns.split_at(new_columns);
        let c_out = step.c_out.and(c.last().copied());
        // Compute the cell states of all vectors first, as the outputs wait for the states. If
        // states and outputs alternated, the window of an out-of-order core would be too short to
        // overlap several vectors.
        let mut ready = Vec::new();
        for sums in pass {
            let (output, state) = update(rows, body, step, panel, &sums, (c[0], c_out));
            ready.push(((sums.lane, sums.lanes), output, state));
        }
        for (lanes, output, state) in ready {
            let shown = rows.builder.call(step.cell.activations[2], state);
            let value = op(LaneOp::Mul, vec![output, shown]);
            step.store(rows.builder, body, new, lanes, value);
        }
    })
}

/// Computes the output gate and the new c of one vector of columns. Stores the new c at `c_out`.
fn update(
    rows: &mut RowGroup<'_, '_, '_>,
    body: &mut Vec<Stmt>,
    step: &CellStep<'_, '_>,
    panel: &Panel<'_>,
    sums: &Sums,
    (c, c_out): (Place, Option<Place>),
) -> (Expr, Expr) {
    let (lane, lanes) = (sums.lane, sums.lanes);
    let cell = step.cell;
    let product = rows.product();
    let (f, g) = (cell.activations[0], cell.activations[1]);
    // the sum of a gate, plus the gate's peephole times `state`; `None`: the gate is coupled to
    // another
    let sum = |name: &str, state: &Expr| -> Option<Expr> {
        let at = product.sums.iter().position(|s| s.name == name)?;
        let value = sums.values[at].clone();
        Some(match product.sums[at].peephole {
            None => value,
            Some(_) => {
                let biases =
                    panel.biases.expect("lower: a cell with peepholes takes one row at a time");
                let p =
                    load(biases.at(product.peephole_row(at) * panel.panels.columns + lane), lanes);
                op(LaneOp::MulAdd, vec![p, state.clone(), value])
            }
        })
    };
    let builder = &mut *rows.builder;
    let c = load(c.at(lane), lanes);
    let c = if step.c_given { flush(c) } else { c };
    let c = builder.let_unit(body, "c", (lane, lanes), c);
    let complement = |expr: &Expr| op(LaneOp::Sub, vec![Expr::f32(1.0, lanes), expr.clone()]);
    let (forget, input) = match (sum("f", &c), sum("i", &c)) {
        (Some(of_f), of_i) => {
            let forget = builder.activate(cell, f, of_f);
            let forget = builder.let_unit(body, "f", (lane, lanes), forget);
            let input = match of_i {
                Some(sum) => builder.activate(cell, f, sum),
                None => complement(&forget),
            };
            (forget, input)
        }
        (None, of_i) => {
            let input = builder.activate(
                cell,
                f,
                of_i.expect("plan: an LSTM has a forget or an input gate"),
            );
            let input = builder.let_unit(body, "i", (lane, lanes), input);
            (complement(&input), input)
        }
    };
    let candidate = builder.activate(cell, g, sum("c", &c).expect("plan: an LSTM has a candidate"));
    let new = op(LaneOp::MulAdd, vec![forget, c, op(LaneOp::Mul, vec![input, candidate])]);
    let new = builder.let_unit(body, "c_new", (lane, lanes), new);
    let output =
        builder.activate(cell, f, sum("o", &new).expect("plan: an LSTM has an output gate"));
    let output = builder.let_unit(body, "o", (lane, lanes), output);
    if let Some(to) = c_out {
        let value = builder.state(new.clone());
        body.push(Stmt::Store { to: to.at(lane), value });
    }
    (output, new)
}
