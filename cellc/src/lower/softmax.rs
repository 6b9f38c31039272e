//! Softmax and its logarithm, row by row.
//!
//! `m = max v`, `e = exp(v - m)`, `s` = the sum of e in order, `e / s`; the logarithm is
//! `(v - m) - log(s)`.

use super::builder::{KernelBuilder, load, op};
use super::layout::strided;
use super::pointwise::names_of_windows;
use super::product::for_rows;
use crate::core::{Softmax, Source};
use crate::kernel::{Expr, LaneOp, Place, Stmt};
use crate::model::{Activation, counted};
use crate::plan;

impl<'m> KernelBuilder<'_, 'm> {
    pub(super) fn softmax(&mut self, softmax: &'m Softmax) -> (Vec<String>, Vec<Stmt>) {
        let shape = &self.lowering.model.values[softmax.out].shape;
        let size = shape[softmax.axis];
        let outer: usize = shape[..softmax.axis].iter().product();
        let inner: usize = shape[softmax.axis + 1..].iter().product();
        let mut body = Vec::new();
        let from = self.lowering.source(softmax.input);
        let from = self.given(&mut body, "input", softmax.input, from);
        let to = self.lowering.source(Source::Value(softmax.out));
        // rows must lie in order
        let (rows_in, rows_out) = match inner {
            1 => (from, to),
            _ => {
                let turned = self.block("turned", outer * size * inner);
                let plane = (size * inner) as isize;
                let dims =
                    [(outer, plane, size * inner), (inner, 1, size), (size, inner as isize, 1)];
                body.push(strided(from, turned, dims));
                (turned, self.block("turned_back", outer * size * inner))
            }
        };
        let rows = [("row", rows_in, size, false), ("out_row", rows_out, size, true)];
        body.extend(for_rows(self, outer * inner, &rows, |builder, places| {
            builder.softmax_row(softmax, size, places[0], places[1])
        }));
        if inner > 1 {
            let plane = (size * inner) as isize;
            let dims = [(outer, plane, size * inner), (size, 1, inner), (inner, size as isize, 1)];
            body.push(strided(rows_out, to, dims));
        }
        let name = if softmax.log { "Logarithm of softmax" } else { "Softmax" };
        (vec![format!("{name}, {} of {size}.", counted(outer * inner, "row"))], body)
    }

    fn softmax_row(&mut self, softmax: &Softmax, size: usize, from: Place, to: Place) -> Vec<Stmt> {
        let log = softmax.log;
        let mut body = Vec::new();
        // a broadcast element must be in memory
        let row_values: Place = self.scratch("row_values", 2).into();
        let (at_most, at_sum) = (row_values, row_values.at(1));
        let most = self.accumulator(&mut body, "most", 1, load(from, 1));
        let (element, walk) = self.walk("element", from, 1, false);
        let larger = op(LaneOp::Max, vec![load(element, 1), Expr::Var(most)]);
        let turn = vec![Stmt::Set { var: most, value: larger }];
        body.push(Stmt::For {
            count: size,
            turn: None,
            backwards: None,
            walks: vec![walk],
            body: turn,
        });
        body.push(Stmt::Store { to: at_most, value: Expr::Var(most) });
        // first stored: e, or v - m
        self.vectors(&mut body, size, from, to, |builder, value, lanes| {
            let difference = op(LaneOp::Sub, vec![value, Expr::Splat { from: at_most, lanes }]);
            if log { difference } else { builder.call(Activation::Exp, difference) }
        });
        let sum = self.accumulator(&mut body, "sum", 1, Expr::f32(0.0, 1));
        let (element, walk) = self.walk("element", to, 1, false);
        let mut term = load(element, 1);
        if log {
            term = self.call(Activation::Exp, term);
        }
        let more = op(LaneOp::Add, vec![Expr::Var(sum), term]);
        let turn = vec![Stmt::Set { var: sum, value: more }];
        body.push(Stmt::For {
            count: size,
            turn: None,
            backwards: None,
            walks: vec![walk],
            body: turn,
        });
        let total = match log {
            true => self.call(Activation::Log, Expr::Var(sum)),
            false => Expr::Var(sum),
        };
        body.push(Stmt::Store { to: at_sum, value: total });
        let last = if log { LaneOp::Sub } else { LaneOp::Div };
        self.vectors(&mut body, size, to, to, |builder, value, lanes| {
            builder.made(softmax.out, op(last, vec![value, Expr::Splat { from: at_sum, lanes }]))
        });
        body
    }

    /// `size` elements, vector by vector, from one place to another or in place.
    pub(super) fn vectors(
        &mut self,
        body: &mut Vec<Stmt>,
        size: usize,
        from: Place,
        to: Place,
        mut each: impl FnMut(&mut Self, Expr, usize) -> Expr,
    ) {
        let width = self.lowering.plan.width(self.lowering.isa);
        let turns = size / width;
        if turns > 0 {
            let (window, walk) = self.walk(names_of_windows(width)[1], to, width, true);
            let mut walks = vec![walk];
            let mut source = window;
            if from != to {
                let (window, walk) = self.walk(names_of_windows(width)[0], from, width, false);
                walks.insert(0, walk);
                source = window;
            }
            let value = each(self, load(source, width), width);
            let turn = vec![Stmt::Store { to: window, value }];
            body.push(Stmt::For { count: turns, turn: None, backwards: None, walks, body: turn });
        }
        for (at, lanes) in plan::vectors(size % width, width) {
            let at = turns * width + at;
            let value = each(self, load(from.at(at), lanes), lanes);
            body.push(Stmt::Store { to: to.at(at), value });
        }
    }
}
