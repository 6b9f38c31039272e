//! The largest or smallest elements of every row: one pass over the row per result.

use super::builder::{KernelBuilder, op};
use super::product::for_rows;
use crate::core::{Source, TopK};
use crate::kernel::{Expr, LaneOp, Place, Stmt};
use crate::model::counted;

/// `then` if `a` is below `b`, else `otherwise`.
fn select_less(a: &Expr, b: &Expr, then: Expr, otherwise: Expr) -> Expr {
    op(LaneOp::SelectLess, vec![a.clone(), b.clone(), then, otherwise])
}

fn number(value: f32) -> Expr {
    Expr::f32(value, 1)
}

impl<'m> KernelBuilder<'_, 'm> {
    pub(super) fn top_k(&mut self, top: &'m TopK) -> (Vec<String>, Vec<Stmt>) {
        let mut body = Vec::new();
        let from = self.lowering.source(top.input);
        let from = self.given(&mut body, "input", top.input, from);
        let mut whole = vec![("row", from, top.size, false)];
        let outs = [("values", top.values), ("places", top.places)];
        for (name, out) in outs {
            if let Some(out) = out {
                whole.push((name, self.lowering.source(Source::Value(out)), top.count, true));
            }
        }
        body.extend(for_rows(self, top.rows, &whole, |builder, places| {
            let mut outs = places[1..].iter().copied();
            let values = top.values.and_then(|_| outs.next());
            let numbers = top.places.and_then(|_| outs.next());
            builder.best_of_row(top, places[0], values, numbers)
        }));
        let which = if top.largest { "largest" } else { "smallest" };
        let of = counted(top.rows, "row");
        (vec![format!("The {} {which} of {} elements, of {of}.", top.count, top.size)], body)
    }

    fn best_of_row(
        &mut self,
        top: &TopK,
        row: Place,
        values: Option<Place>,
        places: Option<Place>,
    ) -> Vec<Stmt> {
        let mut body = Vec::new();
        let mut before: Option<(Expr, Expr)> = None;
        // the place of no element, beyond all places
        let nowhere = if top.last { -1.0 } else { top.size as f32 };
        for k in 0..top.count {
            let best = self.accumulator(&mut body, "best", 1, number(0.0));
            let place = self.accumulator(&mut body, "place", 1, number(nowhere));
            let at = self.accumulator(&mut body, "at", 1, number(0.0));
            let (element, walk) = self.walk("element", row, 1, false);
            let mut turn = Vec::new();
            let value = self.let_(&mut turn, "v", 1, Expr::Load { from: element, lanes: 1 });
            let [best_now, place_now, at_now] = [best, place, at].map(Expr::Var);
            // true if the element is better than the best so far; any number is better than none,
            // and NaN never is
            let better = |a: &Expr, b: &Expr, then: Expr, otherwise: Expr| match top.largest {
                true => select_less(b, a, then, otherwise),
                false => select_less(a, b, then, otherwise),
            };
            let ties = |then: Expr, otherwise: Expr| better(&best_now, &value, otherwise, then);
            let tied = if top.last { ties(number(1.0), number(0.0)) } else { number(0.0) };
            let wins = better(&value, &best_now, number(1.0), tied);
            let if_none = |then: Expr, otherwise: Expr| match top.last {
                true => select_less(&place_now, &number(0.0), then, otherwise),
                false => select_less(&place_now, &number(nowhere), otherwise, then),
            };
            let wins = if_none(number(1.0), wins);
            // and worse than the element chosen before
            let wins = match &before {
                None => wins,
                Some((last, last_at)) => {
                    let after = match top.last {
                        true => select_less(&at_now, last_at, wins.clone(), number(0.0)),
                        false => select_less(last_at, &at_now, wins.clone(), number(0.0)),
                    };
                    let equal = better(last, &value, wins, after);
                    better(&value, last, number(0.0), equal)
                }
            };
            // a number is below 0 or above -1, NaN is neither: NaNs come after all numbers
            let if_number = |then: Expr, otherwise: Expr| {
                let other = select_less(&number(-1.0), &value, then.clone(), otherwise);
                select_less(&value, &number(0.0), then, other)
            };
            let wins = if_number(wins, number(0.0));
            let wins = self.let_(&mut turn, "wins", 1, wins);
            let kept = |new: Expr, old: Expr| select_less(&number(0.5), &wins, new, old);
            let left = if_number(best_now.clone(), if_none(value.clone(), best_now.clone()));
            turn.push(Stmt::Set { var: best, value: kept(value.clone(), left) });
            turn.push(Stmt::Set { var: place, value: kept(at_now.clone(), place_now.clone()) });
            turn.push(Stmt::Set { var: at, value: op(LaneOp::Add, vec![at_now, number(1.0)]) });
            let walks = vec![walk];
            body.push(Stmt::For {
                count: top.size,
                turn: None,
                backwards: None,
                walks,
                body: turn,
            });
            let is_last = k + 1 == top.count;
            if is_last && values.is_none() {
                self.store_place(&mut body, places, k, nowhere, place_now);
                continue;
            }
            let chosen = self.let_(&mut body, "chosen", 1, best_now);
            if let Some(to) = values {
                let value = self.made(top.values.unwrap_or_default(), chosen.clone());
                body.push(Stmt::Store { to: to.at(k), value });
            }
            if is_last {
                self.store_place(&mut body, places, k, nowhere, place_now);
                continue;
            }
            let chosen_at = self.let_(&mut body, "chosen_at", 1, place_now);
            self.store_place(&mut body, places, k, nowhere, chosen_at.clone());
            before = Some((chosen, chosen_at));
        }
        body
    }

    /// Stores a place, or 0 if no number is left.
    fn store_place(
        &self,
        body: &mut Vec<Stmt>,
        to: Option<Place>,
        k: usize,
        nowhere: f32,
        at: Expr,
    ) {
        if let Some(to) = to {
            let value = match nowhere < 0.0 {
                true => select_less(&at, &number(0.0), number(0.0), at.clone()),
                false => select_less(&at, &number(nowhere), at.clone(), number(0.0)),
            };
            body.push(Stmt::Store { to: to.at(k), value });
        }
    }
}
