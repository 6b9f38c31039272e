//! Reductions: neighbouring axes are reduced to one element, in the model's order.
//!
//! With further inner axes, lanes are along the inner axes, and each lane reduces its elements in
//! order. With innermost reduced axes, lanes are chains.

use super::builder::{KernelBuilder, load, op};
use super::product::for_rows;
use crate::core::{Combiner, Reduce, Source};
use crate::kernel::{Expr, LaneOp, Place, Stmt, Var};
use crate::plan;

impl<'m> KernelBuilder<'_, 'm> {
    pub(super) fn reduce(&mut self, reduce: &'m Reduce) -> (Vec<String>, Vec<Stmt>) {
        let [outer, size, inner] = reduce.extents(self.lowering.model.shape(reduce.input));
        let mut body = Vec::new();
        let from = self.lowering.source(reduce.input);
        let from = self.given(&mut body, "input", reduce.input, from);
        let to = self.lowering.source(Source::Value(reduce.out));
        let whole = [("part", from, size * inner, false), ("out_part", to, inner, true)];
        body.extend(for_rows(self, outer, &whole, |builder, places| match inner {
            1 => builder.reduce_row(reduce, size, places[0], places[1]),
            _ => builder.reduce_columns(reduce, size, inner, places[0], places[1]),
        }));
        let name = reduce.combiner.function().name();
        let of = match outer * inner {
            1 => "once".to_owned(),
            times => format!("{times} times"),
        };
        (vec![format!("All elements by {name}: {size} become one, {of}.")], body)
    }

    /// `accumulator = accumulator . value`
    fn combine(
        &mut self,
        body: &mut Vec<Stmt>,
        combiner: Combiner,
        var: Var,
        value: Expr,
        lanes: usize,
    ) {
        let value = self.combined(body, combiner, Expr::Var(var), value, lanes);
        body.push(Stmt::Set { var, value });
    }

    fn combined(
        &mut self,
        body: &mut Vec<Stmt>,
        combiner: Combiner,
        first: Expr,
        second: Expr,
        lanes: usize,
    ) -> Expr {
        let operation = match combiner {
            Combiner::Add => LaneOp::Add,
            Combiner::Multiply => LaneOp::Mul,
            Combiner::Maximum => LaneOp::Max,
            Combiner::Minimum => LaneOp::Min,
        };
        match operation {
            LaneOp::Max | LaneOp::Min => self.chosen(body, operation, first, second, lanes),
            _ => op(operation, vec![first, second]),
        }
    }

    /// Reduces `size` rows of `columns` elements to one row.
    fn reduce_columns(
        &mut self,
        reduce: &Reduce,
        size: usize,
        columns: usize,
        from: Place,
        to: Place,
    ) -> Vec<Stmt> {
        let isa = self.lowering.isa;
        let mut body = Vec::new();
        // each accumulator may need two more registers for temporaries
        for pass in plan::vectors(columns, isa.lanes).chunks((plan::accumulators(isa) / 3).max(1)) {
            let pass = self.lowering.plan.values.of_pass(pass, isa);
            let mut sums = Vec::new();
            for (v, &(at, lanes)) in pass.iter().enumerate() {
                sums.push(self.accumulator(
                    &mut body,
                    &format!("y{v}"),
                    lanes,
                    load(from.at(at), lanes),
                ));
            }
            if size > 1 {
                let (row, walk) = self.walk("row", from.at(columns), columns, false);
                let mut turn = Vec::new();
                for (&(at, lanes), &var) in pass.iter().zip(&sums) {
                    self.combine(&mut turn, reduce.combiner, var, load(row.at(at), lanes), lanes);
                }
                body.push(Stmt::For {
                    count: size - 1,
                    turn: None,
                    backwards: None,
                    walks: vec![walk],
                    body: turn,
                });
            }
            for (&(at, _), &var) in pass.iter().zip(&sums) {
                let value = self.made(reduce.out, Expr::Var(var));
                body.push(Stmt::Store { to: to.at(at), value });
            }
        }
        body
    }

    /// Reduces a row of `size` elements to one element.
    fn reduce_row(&mut self, reduce: &Reduce, size: usize, from: Place, to: Place) -> Vec<Stmt> {
        let (combiner, chains) = (reduce.combiner, reduce.chains);
        let mut body = Vec::new();
        let vectors = plan::vectors(chains, self.lowering.plan.width(self.lowering.isa));
        let mut sums = Vec::new();
        for (v, &(at, lanes)) in vectors.iter().enumerate() {
            sums.push(self.accumulator(
                &mut body,
                &format!("y{v}"),
                lanes,
                load(from.at(at), lanes),
            ));
        }
        let turns = size / chains - 1;
        if turns > 0 {
            let (elements, walk) = self.walk("elements", from.at(chains), chains, false);
            let mut turn = Vec::new();
            for (&(at, lanes), &var) in vectors.iter().zip(&sums) {
                self.combine(&mut turn, combiner, var, load(elements.at(at), lanes), lanes);
            }
            body.push(Stmt::For {
                count: turns,
                turn: None,
                backwards: None,
                walks: vec![walk],
                body: turn,
            });
        }
        if chains == 1 {
            let value = self.made(reduce.out, Expr::Var(sums[0]));
            body.push(Stmt::Store { to, value });
            return body;
        }
        // memory passes the lanes to scalar code
        let row: Place = self.scratch("chains", chains).into();
        for (&(at, _), &var) in vectors.iter().zip(&sums) {
            body.push(Stmt::Store { to: row.at(at), value: Expr::Var(var) });
        }
        let rest = from.at((turns + 1) * chains);
        self.combine_places(&mut body, combiner, row, rest, size % chains);
        let mut half = chains / 2;
        while half > 1 {
            self.combine_places(&mut body, combiner, row, row.at(half), half);
            half /= 2;
        }
        let last = self.combined(&mut body, combiner, load(row, 1), load(row.at(1), 1), 1);
        let value = self.made(reduce.out, last);
        body.push(Stmt::Store { to, value });
        body
    }

    /// `first[i] = first[i] . second[i]` for the first `len` elements.
    fn combine_places(
        &mut self,
        body: &mut Vec<Stmt>,
        combiner: Combiner,
        first: Place,
        second: Place,
        len: usize,
    ) {
        for (at, lanes) in plan::vectors(len, self.lowering.plan.width(self.lowering.isa)) {
            let (a, b) = (load(first.at(at), lanes), load(second.at(at), lanes));
            let value = self.combined(body, combiner, a, b, lanes);
            body.push(Stmt::Store { to: first.at(at), value });
        }
    }
}
