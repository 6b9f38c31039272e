//! Dense layers: every row of x times a matrix of weights, then the fused pointwise work.

use super::builder::{KernelBuilder, Lowered, MovingPlace};
use super::product::{Operands, RowGroup, Sums, TapPlaces, X, for_tiles};
use crate::core::{Dense, Source};
use crate::kernel::{Place, Stmt};

impl<'m> KernelBuilder<'_, 'm> {
    pub(super) fn dense(&mut self, dense: &'m Dense) -> Lowered {
        if self.lowering.steps > 1 {
            return self.dense_of_steps(dense);
        }
        let (inputs, outputs) = (dense.inputs, dense.outputs);
        let names = self.end(dense.out, outputs).names();
        let doc = format!("Dense layer, {inputs} to {outputs}{names}.");
        if let Source::Value(x) = dense.x
            && let Some(row) = self.lowering.plan.delay_lines.rows.get(&x)
        {
            let doc = vec![doc, "x is read where it stands in a delay line.".to_owned()];
            let history = &self.lowering.plan.delay_lines.histories[row.history];
            let mut body = Vec::new();
            let frame = self.lowering.source(history.frame);
            let frame = self.flushed_tensor(&mut body, "x", history.frame, frame);
            let newest = frame.at(row.newest);
            body.extend(self.with_row(history, false, |builder, place| {
                let taps = TapPlaces { row: *row, earlier: place.at(row.first), newest };
                let end = builder.end(dense.out, outputs);
                let ends: Vec<Place> =
                    end.rows(outputs, 1).into_iter().map(|row| row.start).collect();
                builder.dense_rows(dense, 1, X::Taps(taps), &ends)
            }));
            return Lowered { doc, body };
        }
        let product = self.lowering.product(dense.out);
        let x = self.lowering.source(dense.x);
        let mut rows = vec![MovingPlace::new("x_row", x, inputs, false)];
        rows.extend(self.end(dense.out, outputs).rows(outputs, 1));
        let at_once = product.plan.rows_at_once[self.lowering.isa_index];
        let body = for_tiles(self, dense.rows, at_once, &rows, |builder, count, places| {
            let mut body = Vec::new();
            let x = builder.flushed_rows(&mut body, "x", dense.x, places[0], count * inputs);
            body.extend(builder.dense_rows(dense, count, X::Elements(x), &places[1..]));
            body
        });
        Lowered::new(doc, body)
    }

    /// Some rows of a dense layer. `ends`: the places of these rows in the result and in the
    /// operands of the pointwise work.
    fn dense_rows(&mut self, dense: &'m Dense, count: usize, x: X, ends: &[Place]) -> Vec<Stmt> {
        let product = self.lowering.product(dense.out);
        let end = self.end(dense.out, dense.outputs);
        let end = end.at(ends);
        let kept = |_: &mut RowGroup<'_, '_, '_>, _, value| value;
        RowGroup::new(self, product, count, None).early(
            Operands { x, h: None },
            end.columns(),
            kept,
            |rows, body, panel, pass| {
                for Sums { lane, lanes, mut values, .. } in pass {
                    let value = values.pop().expect("plan: a dense layer has one sum");
                    end.store(rows.builder, body, panel.columns, (lane, lanes), value);
                }
            },
        )
    }
}
