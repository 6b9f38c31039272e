//! LSTMCell, the pointwise part: gates f, i, o, the candidate, `c' = f.c + i.c~` and `h' = o.h(c')`.

use super::builder::{load, op};
use super::cell::Step;
use super::product::{Column, Operands, Rows, Sums};
use crate::kernel::{Expr, Operation, Place, Stmt};
use crate::model::ValidCell;
use crate::plan::Panels;

pub(super) fn doc(cell: &ValidCell) -> Vec<String> {
    let (pf, pi, po) = if cell.p.is_some() { (" + Pf.c", " + Pi.c", " + Po.c'") } else { ("", "", "") };
    let i = match cell.input_forget {
        true => "i = 1 - f".to_owned(),
        false => format!("i = f(clip(Wi x + Ri h + Bi{pi}))"),
    };
    vec![
        format!("LSTMCell: f = f(clip(Wf x + Rf h + Bf{pf})), {i},"),
        format!("c~ = g(clip(Wc x + Rc h + Bc)), o = f(clip(Wo x + Ro h + Bo{po})),"),
        "c' = f.c + i.c~, h' = o.h(c')".to_owned(),
    ]
}

pub(super) fn step(mut rows: Rows<'_, '_, '_>, step: &Step<'_>) -> Vec<Stmt> {
    let c = step.c.expect("validate: an LSTM has a cell state");
    let stored = rows.runs_buffer();
    let operands = Operands { x: step.x, h: Some(step.h) };
    // where c becomes c' in its place, one window serves both
    let in_place = step.c_out == Some(c);
    let mut columns =
        vec![Column { name: "out", of: step.out, written: true }, Column { name: "c", of: c, written: in_place }];
    if let Some(of) = step.c_out.filter(|_| !in_place) {
        columns.push(Column { name: "c_out", of, written: true });
    }
    let mut all = Vec::new();
    for (group, panels) in rows.plan.panels.iter().enumerate() {
        all.extend(rows.panels(panels, panels.offset, panels.stride, &columns, |rows, weights, columns| {
            rows.early(
                group,
                panels,
                weights,
                operands,
                stored,
                |_, _, value| value,
                |rows, body, pass| {
                    for sums in pass {
                        let c_out = match (step.c_out, in_place) {
                            (None, _) => None,
                            (Some(_), true) => Some(columns[1]),
                            (Some(_), false) => Some(columns[2]),
                        };
                        update(rows, body, step.cell, panels, weights, &sums, [columns[0], columns[1]], c_out);
                    }
                },
            )
        }));
    }
    all
}

/// The new states of one vector of columns; `places` are those of h' and c.
#[allow(clippy::too_many_arguments)] // each says something of its own
fn update(
    rows: &mut Rows<'_, '_, '_>,
    body: &mut Vec<Stmt>,
    cell: &ValidCell,
    panels: &Panels,
    weights: Place,
    sums: &Sums,
    places: [Place; 2],
    c_out: Option<Place>,
) {
    let (lane, lanes) = (sums.lane, sums.lanes);
    let product = rows.product();
    let [f, g, h] = [0, 1, 2].map(|i| cell.activations[i]);
    // the sum of a gate, with what its peephole sees of a cell state
    let sum = |name: &str, state: &Expr| -> Option<Expr> {
        let at = product.sums.iter().position(|s| s.name == name)?;
        let value = sums.values[at].clone();
        Some(match product.sums[at].peephole {
            None => value,
            Some(_) => {
                let p = load(weights.at(product.peephole_row(at) * panels.columns + lane), lanes);
                op(Operation::MulAdd, vec![p, state.clone(), value])
            }
        })
    };
    let builder = &mut *rows.builder;
    let c = builder.let_(body, "c", lanes, load(places[1].at(lane), lanes));
    let forget = builder.activate(cell, f, sum("f", &c).expect("plan: an LSTM has a forget gate"));
    let forget = builder.let_(body, "f", lanes, forget);
    let input = match sum("i", &c) {
        Some(sum) => builder.activate(cell, f, sum),
        None => op(Operation::Sub, vec![Expr::f32(1.0, lanes), forget.clone()]),
    };
    let candidate = builder.activate(cell, g, sum("c", &c).expect("plan: an LSTM has a candidate"));
    let new = op(Operation::MulAdd, vec![forget, c, op(Operation::Mul, vec![input, candidate])]);
    let new = builder.let_(body, "c_new", lanes, new);
    let output = builder.activate(cell, f, sum("o", &new).expect("plan: an LSTM has an output gate"));
    if let Some(to) = c_out {
        builder.store_state(body, to.at(lane), new.clone(), lanes);
    }
    let shown = builder.call(h, new);
    let value = op(Operation::Mul, vec![output, shown]);
    builder.store_state(body, places[0].at(lane), value, lanes);
}
