//! Running sums, each sum from the sum before. Lanes are along the axes after the axis of the sum.

use super::builder::{KernelBuilder, Lowered, MovingPlace, load, op};
use super::product::for_rows;
use crate::core::{RunningSum, Source};
use crate::kernel::{Expr, LaneOp, Place, Stmt};
use crate::model::counted;
use crate::plan;

impl<'m> KernelBuilder<'_, 'm> {
    pub(super) fn running_sum(&mut self, sum: &'m RunningSum) -> Lowered {
        let [outer, size, inner] = sum.extents(self.lowering.model.shape(sum.input));
        let mut body = Vec::new();
        let from = self.lowering.source(sum.input);
        let from = self.flushed_tensor(&mut body, "input", sum.input, from);
        let to = self.lowering.source(Source::Value(sum.out));
        let plane = size * inner;
        let whole = [
            MovingPlace::new("part", from, plane, false),
            MovingPlace::new("out_part", to, plane, true),
        ];
        body.extend(for_rows(self, outer, &whole, |builder, places| {
            builder.running_sum_of_rows(sum, [size, inner], places[0], places[1])
        }));
        let rows_text = counted(outer * inner, "row");
        Lowered::new(format!("Running sums, {rows_text} of {size}."), body)
    }

    /// Running sums of `inner` columns over `size` rows.
    fn running_sum_of_rows(
        &mut self,
        sum: &RunningSum,
        [size, inner]: [usize; 2],
        from: Place,
        to: Place,
    ) -> Vec<Stmt> {
        let isa = self.lowering.isa;
        let mut body = Vec::new();
        // each accumulator needs a register for its summand
        for pass in plan::vectors(inner, isa.lanes).chunks((plan::accumulators(isa) / 2).max(1)) {
            let pass = self.lowering.plan.values.of_pass(pass, isa);
            let sums: Vec<_> = (pass.iter().enumerate())
                .map(|(v, &(_, lanes))| {
                    self.accumulator(&mut body, &format!("y{v}"), lanes, Expr::f32(0.0, lanes))
                })
                .collect();
            let (row, read) = self.walk("row", from, inner, false);
            let (out_row, written) = self.walk("out_row", to, inner, true);
            let mut iteration = Vec::new();
            for (&(at, lanes), &var) in pass.iter().zip(&sums) {
                let next = op(LaneOp::Add, vec![Expr::Var(var), load(row.at(at), lanes)]);
                iteration.push(Stmt::Set { var, value: self.flushed_result(sum.out, next) });
                iteration.push(Stmt::Store { to: out_row.at(at), value: Expr::Var(var) });
            }
            body.push(Stmt::repeat(size, vec![read, written], iteration));
        }
        body
    }
}
