//! Reductions: neighbouring axes are reduced to one element, in an order that depends on the model
//! alone.
//!
//! If axes follow the reduced axes, lanes are along the following axes, and each lane reduces its
//! elements in order. If the reduced axes are the innermost, lanes are chains of one row.

use super::builder::{KernelBuilder, Lowered, MovingPlace, load, op};
use super::product::for_rows;
use crate::core::{Combiner, Reduce, Source};
use crate::kernel::{Expr, LaneOp, Place, Stmt, Var};
use crate::plan;

/// Neighbouring elements that are reduced to one.
#[derive(Clone, Debug)]
pub(super) struct ReducedRow {
    /// The number of elements.
    pub(super) size: usize,
    /// The number of chains: a power of two, at most the number of elements.
    pub(super) chains: usize,
    /// By operand: the place of the first element; true if all elements of the row share this
    /// element.
    pub(super) from: Vec<(Place, bool)>,
    /// The place of the numbers 0, 1, 2 and so on, one for each chain. `None` if the reduction does
    /// not need the places of elements.
    pub(super) numbers: Option<Place>,
}

impl ReducedRow {
    /// A row of elements in memory.
    pub(super) fn new(size: usize, chains: usize, from: Place) -> Self {
        Self { size, chains, from: vec![(from, false)], numbers: None }
    }

    /// The elements at the constant place `before + at`, one in each lane. `at`: a place among the
    /// chains.
    fn vector(&self, at: usize, before: usize, lanes: usize) -> Elements {
        let index = match self.numbers {
            Some(numbers) if before == 0 => load(numbers.at(at), lanes),
            Some(numbers) => {
                let before = Expr::f32(before as f32, lanes);
                op(LaneOp::Add, vec![load(numbers.at(at), lanes), before])
            }
            None => Expr::f32(0.0, lanes),
        };
        let operand = |&(from, shared): &(Place, bool)| operand(from, shared, before + at, lanes);
        Elements { operands: self.from.iter().map(operand).collect(), index }
    }
}

/// Elements of a row, one in each lane.
pub(super) struct Elements {
    /// The elements, or the operands from which they are computed.
    pub(super) operands: Vec<Expr>,
    /// The places of the elements in the row; 0 if the row has no numbers.
    pub(super) index: Expr,
}

impl Elements {
    /// The first operand: the elements themselves if the row is in memory.
    pub(super) fn value(mut self) -> Expr {
        self.operands.remove(0)
    }
}

/// Elements of an operand from the place `at` on, or the shared element in every lane.
fn operand(from: Place, shared: bool, at: usize, lanes: usize) -> Expr {
    if shared { Expr::Splat { from, lanes } } else { load(from.at(at), lanes) }
}

impl<'m> KernelBuilder<'_, 'm> {
    pub(super) fn reduce(&mut self, reduce: &'m Reduce) -> Lowered {
        let [outer, size, inner] = reduce.extents(self.lowering.model.shape(reduce.input));
        let mut body = Vec::new();
        let from = self.lowering.source(reduce.input);
        let from = self.flushed_tensor(&mut body, "input", reduce.input, from);
        let to = self.lowering.source(Source::Value(reduce.out));
        let whole = [
            MovingPlace::new("part", from, size * inner, false),
            MovingPlace::new("out_part", to, inner, true),
        ];
        body.extend(for_rows(self, outer, &whole, |builder, places| match inner {
            1 => builder.reduce_row(reduce, size, places[0], places[1]),
            _ => builder.reduce_columns(reduce, size, inner, places[0], places[1]),
        }));
        let name = reduce.combiner.function().name();
        let size_text = match outer * inner {
            1 => "once".to_owned(),
            times => format!("{times} times"),
        };
        Lowered::new(format!("All elements by {name}: {size} become one, {size_text}."), body)
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
            LaneOp::Max | LaneOp::Min => {
                self.propagating_nan(body, operation, first, second, lanes)
            }
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
                let mut iteration = Vec::new();
                for (&(at, lanes), &var) in pass.iter().zip(&sums) {
                    self.combine(
                        &mut iteration,
                        reduce.combiner,
                        var,
                        load(row.at(at), lanes),
                        lanes,
                    );
                }
                body.push(Stmt::repeat(size - 1, vec![walk], iteration));
            }
            for (&(at, _), &var) in pass.iter().zip(&sums) {
                let value = self.flushed_result(reduce.out, Expr::Var(var));
                body.push(Stmt::Store { to: to.at(at), value });
            }
        }
        body
    }

    /// Reduces a row of `size` elements to one element.
    fn reduce_row(&mut self, reduce: &Reduce, size: usize, from: Place, to: Place) -> Vec<Stmt> {
        let row = ReducedRow::new(size, reduce.chains, from);
        self.reduce_elements(reduce, row, to, |_, _, element, _| element.value())
    }

    /// Reduces the elements that `each` computes to one element.
    pub(super) fn reduce_elements(
        &mut self,
        reduce: &Reduce,
        row: ReducedRow,
        to: Place,
        each: impl FnMut(&mut Self, &mut Vec<Stmt>, Elements, usize) -> Expr,
    ) -> Vec<Stmt> {
        let combiner = reduce.combiner;
        let mut body = Vec::new();
        let combine = |builder: &mut Self, body: &mut Vec<Stmt>, a, b, lanes| {
            builder.combined(body, combiner, a, b, lanes)
        };
        let last = self.reduced(&mut body, row, each, combine);
        let value = self.flushed_result(reduce.out, last);
        body.push(Stmt::Store { to, value });
        body
    }

    /// Reduces the elements of a row, each after `each`, to one element with `combine`. Chain `c`
    /// combines elements c, c + chains and so on; the last `size % chains` elements remain. Then
    /// the second half of the chains is combined with the first half, until one chain is left.
    /// After a halving to n chains, each chain is combined with one remaining element if
    /// `size % chains` has the bit n.
    pub(super) fn reduced(
        &mut self,
        body: &mut Vec<Stmt>,
        row: ReducedRow,
        mut each: impl FnMut(&mut Self, &mut Vec<Stmt>, Elements, usize) -> Expr,
        mut combine: impl FnMut(&mut Self, &mut Vec<Stmt>, Expr, Expr, usize) -> Expr,
    ) -> Expr {
        let ReducedRow { size, chains, .. } = row;
        let width = self.lowering.plan.width(self.lowering.isa);
        let vectors = plan::vectors(chains, width);
        let iterations = size / chains - 1;
        if size == 1 {
            return each(self, body, row.vector(0, 0, 1), 1);
        }
        let mut sums = Vec::new();
        for (v, &(at, lanes)) in vectors.iter().enumerate() {
            let first = each(self, body, row.vector(at, 0, lanes), lanes);
            sums.push(self.accumulator(body, &format!("y{v}"), lanes, first));
        }
        if iterations > 0 {
            let mut walks = Vec::new();
            let mut walked = Vec::new();
            for &(from, shared) in &row.from {
                if shared {
                    walked.push((from, true));
                    continue;
                }
                let (elements, walk) = self.walk("elements", from.at(chains), chains, false);
                walked.push((elements, false));
                walks.push(walk);
            }
            let mut iteration = Vec::new();
            for (&(at, lanes), &var) in vectors.iter().zip(&sums) {
                let mut element = row.vector(at, 0, lanes);
                let operands =
                    walked.iter().map(|&(from, shared)| operand(from, shared, at, lanes));
                element.operands = operands.collect();
                if row.numbers.is_some() {
                    let index = self.accumulator(body, "place", lanes, element.index);
                    let step = Expr::f32(chains as f32, lanes);
                    let value = op(LaneOp::Add, vec![Expr::Var(index), step]);
                    iteration.push(Stmt::Set { var: index, value });
                    element.index = Expr::Var(index);
                }
                let next = each(self, &mut iteration, element, lanes);
                let value = combine(self, &mut iteration, Expr::Var(var), next, lanes);
                iteration.push(Stmt::Set { var, value });
            }
            body.push(Stmt::repeat(iterations, walks, iteration));
        }
        // elements after the last full iteration, largest part first: for example 8, 4, 2 and 1
        let mut rest = (iterations + 1) * chains;
        let mut lanes = vectors[0].1;
        let mut chains_left: Vec<Expr> = sums.into_iter().map(Expr::Var).collect();
        while chains_left.len() > 1 {
            let second = chains_left.split_off(chains_left.len() / 2);
            let part = chains_left.len() * lanes;
            let joins = (size % chains) & part != 0;
            for (v, (first, second)) in chains_left.iter_mut().zip(second).enumerate() {
                let mut half = combine(self, body, first.clone(), second, lanes);
                if joins {
                    let last = each(self, body, row.vector(v * lanes, rest, lanes), lanes);
                    half = combine(self, body, half, last, lanes);
                }
                *first = self.let_(body, "half", lanes, half);
            }
            rest += if joins { part } else { 0 };
        }
        let mut chain = chains_left.remove(0);
        if lanes == 1 {
            return chain;
        }
        // halves of a vector are passed through memory
        let halves: Place = self.scratch("chains", lanes).into();
        while lanes > 1 {
            body.push(Stmt::Store { to: halves, value: chain });
            lanes /= 2;
            chain = combine(self, body, load(halves, lanes), load(halves.at(lanes), lanes), lanes);
            if (size % chains) & lanes != 0 {
                let last = each(self, body, row.vector(0, rest, lanes), lanes);
                chain = combine(self, body, chain, last, lanes);
                rest += lanes;
            }
        }
        chain
    }
}
