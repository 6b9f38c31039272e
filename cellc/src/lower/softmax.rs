//! Softmax and its logarithm.
//!
//! `m = max v`, `e = exp(v - m)`, `s` = the sum of e in chains, `e / s`; the logarithm is
//! `(v - m) - log(s)`. The kernel divides by `s`: a product with `1 / s` would flush a denormal e
//! to 0 in vectors of Helium. If the axis of the softmax is the last one, lanes are along this
//! axis; otherwise lanes are along the axes after it, and each lane computes a softmax of its own.

use super::builder::{KernelBuilder, Lowered, MovingPlace, load, op};
use super::pointwise::names_of_windows;
use super::product::for_rows;
use super::reduce::ReducedRow;
use crate::core::{Softmax, Source, chains_of_short_rows};
use crate::kernel::{Expr, LaneOp, Place, Stmt};
use crate::model::{MathFunction, counted};
use crate::plan;

impl<'m> KernelBuilder<'_, 'm> {
    pub(super) fn softmax(&mut self, softmax: &'m Softmax) -> Lowered {
        let shape = &self.lowering.model.values[softmax.out].shape;
        let size = shape[softmax.axis];
        let outer: usize = shape[..softmax.axis].iter().product();
        let inner: usize = shape[softmax.axis + 1..].iter().product();
        let mut body = Vec::new();
        let from = self.lowering.source(softmax.input);
        let from = self.flushed_tensor(&mut body, "input", softmax.input, from);
        let to = self.lowering.source(Source::Value(softmax.out));
        let len = size * inner;
        let rows =
            [MovingPlace::new("row", from, len, false), MovingPlace::new("out_row", to, len, true)];
        body.extend(for_rows(self, outer, &rows, |builder, places| match inner {
            1 => builder.softmax_row(softmax, size, places[0], places[1]),
            _ => builder.softmax_columns(softmax, [size, inner], places[0], places[1]),
        }));
        let name = if softmax.log { "Logarithm of softmax" } else { "Softmax" };
        Lowered::new(format!("{name}, {} of {size}.", counted(outer * inner, "row")), body)
    }

    fn softmax_row(&mut self, softmax: &Softmax, size: usize, from: Place, to: Place) -> Vec<Stmt> {
        let log = softmax.log;
        let chains = chains_of_short_rows(size);
        let mut body = Vec::new();
        // vectors broadcast the maximum and the sum from memory
        let row_values: Place = self.scratch("row_values", 2).into();
        let (at_most, at_sum) = (row_values, row_values.at(1));
        let row = ReducedRow::new(size, chains, from);
        let most = self.reduced(
            &mut body,
            row,
            |_, _, element, _| element.value(),
            |_, _, most, element, _| op(LaneOp::Max, vec![element, most]),
        );
        body.push(Stmt::Store { to: at_most, value: most });
        // `to` holds e, or v - m for the logarithm, until the sum is known
        self.vectors(&mut body, size, from, to, |builder, value, lanes| {
            let difference = op(LaneOp::Sub, vec![value, Expr::Splat { from: at_most, lanes }]);
            if log { difference } else { builder.call(MathFunction::Exp, difference) }
        });
        let stored = ReducedRow::new(size, chains, to);
        let sum = self.reduced(
            &mut body,
            stored,
            |builder, _, element, _| match log {
                true => builder.call(MathFunction::Exp, element.value()),
                false => element.value(),
            },
            |_, _, sum, element, _| op(LaneOp::Add, vec![sum, element]),
        );
        let value = self.of_sum(log, sum);
        body.push(Stmt::Store { to: at_sum, value });
        self.vectors(&mut body, size, to, to, |builder, value, lanes| {
            builder.share(softmax, value, Expr::Splat { from: at_sum, lanes })
        });
        body
    }

    /// One softmax in each of `inner` columns of `size` elements.
    fn softmax_columns(
        &mut self,
        softmax: &Softmax,
        [size, inner]: [usize; 2],
        from: Place,
        to: Place,
    ) -> Vec<Stmt> {
        let log = softmax.log;
        let mut body = Vec::new();
        for (at, lanes) in plan::vectors(inner, self.lowering.plan.width(self.lowering.isa)) {
            let walked = |builder: &mut Self, name: &str, place: Place, written| {
                let (window, walk) = builder.stride(name, place.at(at), (lanes, inner), written);
                (window, walk)
            };
            let each = |walks, iteration| Stmt::repeat(size, walks, iteration);
            let most = self.accumulator(&mut body, "most", lanes, load(from.at(at), lanes));
            let (column, walk) = walked(self, "column", from, false);
            let value = op(LaneOp::Max, vec![load(column, lanes), Expr::Var(most)]);
            body.push(each(vec![walk], vec![Stmt::Set { var: most, value }]));
            let sum = self.accumulator(&mut body, "sum", lanes, Expr::f32(0.0, lanes));
            let (column, read) = walked(self, "column", from, false);
            let (out, written) = walked(self, "out", to, true);
            let mut iteration = Vec::new();
            let difference = op(LaneOp::Sub, vec![load(column, lanes), Expr::Var(most)]);
            let [first, term] = if log {
                let difference = self.let_(&mut iteration, "difference", lanes, difference);
                [difference.clone(), self.call(MathFunction::Exp, difference)]
            } else {
                let exp = self.call(MathFunction::Exp, difference);
                let exp = self.let_(&mut iteration, "e", lanes, exp);
                [exp.clone(), exp]
            };
            iteration.push(Stmt::Store { to: out, value: first });
            let value = op(LaneOp::Add, vec![Expr::Var(sum), term]);
            iteration.push(Stmt::Set { var: sum, value });
            body.push(each(vec![read, written], iteration));
            let of_sum = self.of_sum(log, Expr::Var(sum));
            let of_sum = self.let_(&mut body, "of_sum", lanes, of_sum);
            let (out, written) = walked(self, "out", to, true);
            let value = self.share(softmax, load(out, lanes), of_sum);
            body.push(each(vec![written], vec![Stmt::Store { to: out, value }]));
        }
        body
    }

    /// `s`, or `log(s)`.
    fn of_sum(&mut self, log: bool, sum: Expr) -> Expr {
        if log { self.call(MathFunction::Log, sum) } else { sum }
    }

    /// The result, of `e` and `s` or of `v - m` and `log(s)`.
    fn share(&self, softmax: &Softmax, value: Expr, of_sum: Expr) -> Expr {
        let operation = if softmax.log { LaneOp::Sub } else { LaneOp::Div };
        self.flushed_result(softmax.out, op(operation, vec![value, of_sum]))
    }

    /// Applies `each` to `size` elements, vector by vector, from one place to another or in place.
    pub(super) fn vectors(
        &mut self,
        body: &mut Vec<Stmt>,
        size: usize,
        from: Place,
        to: Place,
        mut each: impl FnMut(&mut Self, Expr, usize) -> Expr,
    ) {
        let width = self.lowering.plan.width(self.lowering.isa);
        let iterations = size / width;
        if iterations > 0 {
            let (window, walk) = self.walk(names_of_windows(width)[1], to, width, true);
            let mut walks = vec![walk];
            let mut source = window;
            if from != to {
                let (window, walk) = self.walk(names_of_windows(width)[0], from, width, false);
                walks.insert(0, walk);
                source = window;
            }
            let value = each(self, load(source, width), width);
            let iteration = vec![Stmt::Store { to: window, value }];
            body.push(Stmt::repeat(iterations, walks, iteration));
        }
        for (at, lanes) in plan::vectors(size % width, width) {
            let at = iterations * width + at;
            let value = each(self, load(from.at(at), lanes), lanes);
            body.push(Stmt::Store { to: to.at(at), value });
        }
    }
}
