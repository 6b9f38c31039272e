//! A dense layer: every row of x times a fixed matrix, then the pointwise work that is fused into it.

use super::builder::Builder;
use super::product::{Column, Operands, Rows, X, for_tiles};
use crate::kernel::{Place, Stmt};
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
        let mut columns = vec![Column::new("out", out, true)];
        columns.extend(self.operand_columns(&epilogue));
        let mut rows = vec![("x_row", x, inputs, false)];
        rows.extend(columns.iter().filter(|c| c.each_row).map(|c| (c.name, c.of, c.row(outputs), c.written)));
        let at_once = product.0.rows_at_once[self.lowering.isa_index];
        let body = for_tiles(self, dense.rows, at_once, &rows, |builder, count, places| {
            let mut columns = columns.clone();
            for (column, place) in columns.iter_mut().filter(|c| c.each_row).zip(&places[1..]) {
                column.of = *place;
            }
            let with = Operands { x: X::Elements(places[0]), h: None };
            let kept = |_: &mut Rows<'_, '_, '_>, _, value| value;
            Rows::new(builder, product, count, None).early(with, &columns, kept, |rows, body, panel, pass| {
                for sums in pass {
                    let place = |(place, column): (&Place, &Column)| place.at(column.width * sums.lane);
                    let places: Vec<_> = panel.columns.iter().zip(&columns).map(place).collect();
                    let value = sums.values[0].clone();
                    let value = rows.builder.finish_vector(body, &epilogue, value, sums.lanes, &places[1..]);
                    body.push(Stmt::Store { to: places[0], value });
                }
            })
        });
        let names: String = epilogue.names().iter().map(|name| format!(", {name}")).collect();
        (vec![format!("Dense layer, {inputs} to {outputs}{names}.")], body)
    }
}
