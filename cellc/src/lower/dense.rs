//! Dense layers: every row of x times a constant matrix, then the fused pointwise work.

use super::builder::KernelBuilder;
use super::product::{Operands, Rows, Sums, X, for_tiles};
use crate::core::Dense;
use crate::kernel::Stmt;

impl<'m> KernelBuilder<'_, 'm> {
    pub(super) fn dense(&mut self, dense: &'m Dense) -> (Vec<String>, Vec<Stmt>) {
        let (inputs, outputs) = (dense.inputs, dense.outputs);
        let product = self.lowering.product(dense.out);
        let x = self.lowering.source(dense.x);
        let end = self.end(dense.out, outputs);
        let mut rows = vec![("x_row", x, inputs, false)];
        rows.extend(end.rows(outputs, 1));
        let at_once = product.0.rows_at_once[self.lowering.isa_index];
        let body = for_tiles(self, dense.rows, at_once, &rows, |builder, count, places| {
            let end = end.at(&places[1..]);
            let mut body = Vec::new();
            let x = builder.given_rows(&mut body, "x", dense.x, places[0], count * inputs);
            let with = Operands { x: X::Elements(x), h: None };
            let kept = |_: &mut Rows<'_, '_, '_>, _, value| value;
            body.extend(Rows::new(builder, product, count, None).early(
                with,
                end.columns(),
                kept,
                |rows, body, panel, pass| {
                    for Sums { lane, lanes, mut values, .. } in pass {
                        let value = values.pop().expect("plan: a dense layer has one sum");
                        end.store(rows.builder, body, panel.columns, (lane, lanes), value);
                    }
                },
            ));
            body
        });
        (vec![format!("Dense layer, {inputs} to {outputs}{}.", end.names())], body)
    }
}
