//! A dense layer: every row of x times a fixed matrix, then the pointwise work that is fused into it.

use super::builder::Builder;
use super::product::{Column, Operands, Rows, for_rows};
use crate::kernel::Stmt;
use crate::model::Dense;

impl<'m> Builder<'_, 'm> {
    pub(super) fn dense(&mut self, dense: &'m Dense) -> (Vec<String>, Vec<Stmt>) {
        let (inputs, outputs) = (dense.inputs, dense.outputs);
        let product = {
            let index = self.lowering.products[&dense.out];
            (&self.lowering.plan.products[index], self.lowering.weights[index])
        };
        let x = self.lowering.source(dense.x);
        let out = self.stored(dense.out);
        let epilogue = self.epilogue(dense.out, outputs);
        let operands = self.operand_rows(&epilogue, outputs);
        let mut rows = vec![("x_row", x, inputs, false), ("out_row", out, outputs, true)];
        // where an operand's row is among the rows that are walked
        let walked: Vec<Option<usize>> = operands
            .iter()
            .map(|(place, len)| {
                len.map(|len| {
                    rows.push(("operand_row", *place, len, false));
                    rows.len() - 1
                })
            })
            .collect();
        let body = for_rows(self, dense.rows, &rows, |builder, places| {
            let own: Vec<_> =
                operands.iter().zip(&walked).map(|((place, _), walked)| walked.map_or(*place, |i| places[i])).collect();
            let mut rows = Rows::new(builder, product);
            // those that have an element for each column move with the panels
            let by_column: Vec<bool> = epilogue.by_column();
            let mut columns = vec![Column { name: "out", of: places[1], written: true }];
            let moving = own.iter().zip(&by_column).filter(|(_, by)| **by).map(|(place, _)| *place);
            columns.extend(moving.map(|of| Column { name: "operand", of, written: false }));
            let with = Operands { x: places[0], h: None };
            let mut all = Vec::new();
            for (group, panels) in rows.plan.panels.iter().enumerate() {
                all.extend(rows.panels(panels, panels.offset, panels.stride, &columns, |rows, weights, columns| {
                    rows.early(
                        group,
                        panels,
                        weights,
                        with,
                        None,
                        |_, _, value| value,
                        |rows, body, pass| {
                            for sums in pass {
                                let mut moving = columns[1..].iter();
                                let mut at = |(place, by): (&crate::kernel::Place, &bool)| match by {
                                    true => moving.next().map_or(*place, |place| place.at(sums.lane)),
                                    false => *place,
                                };
                                let places: Vec<_> = own.iter().zip(&by_column).map(&mut at).collect();
                                let value = sums.values[0].clone();
                                let value = rows.builder.finish_vector(body, &epilogue, value, sums.lanes, &places);
                                body.push(Stmt::Store { to: columns[0].at(sums.lane), value });
                            }
                        },
                    )
                }));
            }
            all
        });
        let names: String = epilogue.names().iter().map(|name| format!(", {name}")).collect();
        (vec![format!("Dense layer, {inputs} to {outputs}{names}.")], body)
    }
}
