//! The largest or smallest elements of every row: for each result one pass that finds the best
//! number, and one that finds its place. Both reduce the row in chains.

use super::builder::{KernelBuilder, Lowered, MovingPlace, load, op};
use super::product::for_rows;
use super::reduce::{Elements, ReducedRow};
use crate::core::{Source, TopK, chains_of_short_rows};
use crate::kernel::{Expr, LaneOp, Place, Stmt};
use crate::model::counted;

/// `then` if `a` is below `b`, else `otherwise`.
fn select_less(a: Expr, b: Expr, then: Expr, otherwise: Expr) -> Expr {
    op(LaneOp::SelectLess, vec![a, b, then, otherwise])
}

/// `then` if `value` is a number, `otherwise` if it is NaN: any number is below 0 or above -1.
fn select_number(value: &Expr, then: Expr, otherwise: Expr, lanes: usize) -> Expr {
    let other = select_less(Expr::f32(-1.0, lanes), value.clone(), then.clone(), otherwise);
    select_less(value.clone(), Expr::f32(0.0, lanes), then, other)
}

/// Which element of a row is chosen.
#[derive(Clone, Copy)]
struct Choice {
    /// True for the largest element, false for the smallest.
    largest: bool,
    /// True for the last of equal elements, false for the first.
    last: bool,
    /// A number that stands for no place: behind all places, or before all places if the last of
    /// equal elements is chosen.
    nowhere: f32,
}

impl Choice {
    fn new(top: &TopK) -> Self {
        let nowhere = if top.last { -1.0 } else { top.size as f32 };
        Self { largest: top.largest, last: top.last, nowhere }
    }

    /// The better one of two elements; the second one if either is NaN.
    fn better(self, first: Expr, second: Expr) -> Expr {
        op(if self.largest { LaneOp::Max } else { LaneOp::Min }, vec![first, second])
    }

    /// No number is worse.
    fn worst(self) -> f32 {
        if self.largest { f32::NEG_INFINITY } else { f32::INFINITY }
    }

    /// `then` if `a` is better than `b`, else `otherwise`.
    fn if_better(self, a: &Expr, b: &Expr, then: Expr, otherwise: Expr) -> Expr {
        let (low, high) = if self.largest { (b, a) } else { (a, b) };
        select_less(low.clone(), high.clone(), then, otherwise)
    }

    /// The preferred place of two equal elements.
    fn preferred(self, first: Expr, second: Expr) -> Expr {
        op(if self.last { LaneOp::Max } else { LaneOp::Min }, vec![first, second])
    }

    /// `then` if the order of choice has `first` before `second` for equal elements, else
    /// `otherwise`.
    fn if_before(self, first: &Expr, second: &Expr, then: Expr, otherwise: Expr) -> Expr {
        let (low, high) = if self.last { (second, first) } else { (first, second) };
        select_less(low.clone(), high.clone(), then, otherwise)
    }

    /// A place before all places in the order of choice.
    fn before_all(self) -> f32 {
        if self.last { f32::INFINITY } else { -1.0 }
    }
}

/// The state of a search, in memory because vectors broadcast from memory.
#[derive(Clone, Copy)]
struct BestSoFar {
    /// The best number, and its place.
    best: Place,
    /// The element that was chosen before, and its place.
    before: Place,
    /// The place after which an element equal to the best number may be chosen.
    limit: Place,
}

impl<'m> KernelBuilder<'_, 'm> {
    pub(super) fn top_k(&mut self, top: &'m TopK) -> Lowered {
        let mut body = Vec::new();
        let from = self.lowering.source(top.input);
        let from = self.flushed_tensor(&mut body, "input", top.input, from);
        let mut whole = vec![MovingPlace::new("row", from, top.size, false)];
        let outs = [("values", top.values), ("places", top.indices)];
        for (name, out) in outs {
            if let Some(out) = out {
                let place = self.lowering.source(Source::Value(out));
                whole.push(MovingPlace::new(name, place, top.count, true));
            }
        }
        let chains = chains_of_short_rows(top.size);
        let numbers: Place = self.scratch("numbers", chains).into();
        body.extend(
            (0..chains)
                .map(|at| Stmt::Store { to: numbers.at(at), value: Expr::f32(at as f32, 1) }),
        );
        let found: Place = self.scratch("found", 5).into();
        let found = BestSoFar { best: found, before: found.at(2), limit: found.at(4) };
        body.extend(for_rows(self, top.rows, &whole, |builder, places| {
            let row = ReducedRow {
                numbers: Some(numbers),
                ..ReducedRow::new(top.size, chains, places[0])
            };
            let mut outs = places[1..].iter().copied();
            let values = top.values.and_then(|_| outs.next());
            let places = top.indices.and_then(|_| outs.next());
            let mut body = Vec::new();
            for k in 0..top.count {
                let [values, places] = [values, places].map(|out| out.map(|to| to.at(k)));
                builder.find_best(&mut body, Choice::new(top), row.clone(), found, k > 0);
                builder.store_best(&mut body, top, found, values, places);
                if k + 1 < top.count {
                    for at in 0..2 {
                        let value = load(found.best.at(at), 1);
                        body.push(Stmt::Store { to: found.before.at(at), value });
                    }
                }
            }
            body
        }));
        let which = if top.largest { "largest" } else { "smallest" };
        let rows_text = counted(top.rows, "row");
        Lowered::new(
            format!("The {} {which} of {} elements, of {rows_text}.", top.count, top.size),
            body,
        )
    }

    /// Finds the best number of a row, and its place. With `is_further`, only elements after the
    /// previous choice in the order of choice count.
    fn find_best(
        &mut self,
        body: &mut Vec<Stmt>,
        choice: Choice,
        row: ReducedRow,
        found: BestSoFar,
        is_further: bool,
    ) {
        let splat = |from: Place, lanes: usize| Expr::Splat { from, lanes };
        let number = self.reduced(
            body,
            ReducedRow { numbers: row.numbers.filter(|_| is_further), ..row.clone() },
            |_, _, Elements { mut operands, index: at }, lanes| {
                let element = (operands.remove(0), at);
                let worst = Expr::f32(choice.worst(), lanes);
                let value = choice.better(element.0.clone(), worst.clone());
                if !is_further {
                    return value;
                }
                let before = splat(found.before, lanes);
                let at = splat(found.before.at(1), lanes);
                let equal = choice.if_before(&at, &element.1, value.clone(), worst.clone());
                let not_better = choice.if_better(&before, &element.0, value, equal);
                choice.if_better(&element.0, &before, worst, not_better)
            },
            |_, _, best, element, _| choice.better(element, best),
        );
        body.push(Stmt::Store { to: found.best, value: number });
        if is_further {
            let before = load(found.before.at(1), 1);
            let before_all = Expr::f32(choice.before_all(), 1);
            let limit =
                choice.if_better(&load(found.before, 1), &load(found.best, 1), before_all, before);
            body.push(Stmt::Store { to: found.limit, value: limit });
        }
        let index = self.reduced(
            body,
            row,
            |_, _, Elements { mut operands, index: at }, lanes| {
                let element = (operands.remove(0), at);
                let nowhere = Expr::f32(choice.nowhere, lanes);
                let best = splat(found.best, lanes);
                let mut index = element.1.clone();
                if is_further {
                    let limit = splat(found.limit, lanes);
                    index = choice.if_before(&limit, &element.1, index, nowhere.clone());
                    index = choice.if_better(&element.0, &best, nowhere.clone(), index);
                }
                let place = select_number(&element.0, index, nowhere.clone(), lanes);
                choice.if_better(&best, &element.0, nowhere, place)
            },
            |_, _, first, second, _| choice.preferred(first, second),
        );
        body.push(Stmt::Store { to: found.best.at(1), value: index });
    }

    /// Stores the best number and its place: NaN and 0 if no number is left.
    fn store_best(
        &mut self,
        body: &mut Vec<Stmt>,
        top: &TopK,
        found: BestSoFar,
        value: Option<Place>,
        place: Option<Place>,
    ) {
        let choice = Choice::new(top);
        let at = load(found.best.at(1), 1);
        let nowhere = Expr::f32(choice.nowhere, 1);
        if let (Some(to), Some(out)) = (value, top.values) {
            let nan = op(LaneOp::FromBits, vec![Expr::u32(f32::NAN.to_bits(), 1)]);
            let value = choice.if_before(&at, &nowhere, load(found.best, 1), nan);
            body.push(Stmt::Store { to, value: self.flushed_result(out, value) });
        }
        if let Some(to) = place {
            let value = choice.if_before(&at, &nowhere, at.clone(), Expr::f32(0.0, 1));
            body.push(Stmt::Store { to, value });
        }
    }
}
