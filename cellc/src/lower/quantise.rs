//! Vectors that are rounded to integers before they multiply weights: `v` becomes a whole number times a scale, that of the largest element.

use super::builder::{KernelBuilder, load, op};
use crate::encoding::LEAST_LARGEST;
use crate::kernel::{Expr, LaneOp, Place, Stmt};
use crate::plan;

/// 1.5 times 2^23: a small number plus that is rounded to a whole number, half to even.
const ROUNDING: f32 = 12_582_912.0;

impl KernelBuilder<'_, '_> {
    /// One vector: its whole numbers of a range as f32, or, in `words`, two of them in the bits of each f32; and its scale.
    pub(super) fn quantise(
        &mut self,
        (len, range): (usize, u16),
        from: Place,
        to: Place,
        words: Option<Place>,
        scale: Place,
    ) -> Vec<Stmt> {
        let range = Expr::f32(f32::from(range), 1);
        let mut body = Vec::new();
        let width = 1 << len.min(self.lowering.isa.lanes).ilog2();
        // the largest magnitude, and 0 unless one is not finite: lane by lane
        let largest = self.accumulator(&mut body, "largest", width, Expr::f32(0.0, width));
        let poison = self.accumulator(&mut body, "poison", width, Expr::f32(0.0, width));
        let (elements, walk) = self.walk("elements", from, width, false);
        let mut turn = Vec::new();
        let value = self.let_(&mut turn, "v", width, load(elements, width));
        turn.push(Stmt::Set {
            var: largest,
            value: op(LaneOp::Max, vec![Expr::Var(largest), magnitude(value.clone(), width)]),
        });
        let args = vec![value, Expr::f32(0.0, width), Expr::Var(poison)];
        turn.push(Stmt::Set { var: poison, value: op(LaneOp::MulAdd, args) });
        let turns = len / width;
        body.push(Stmt::For { count: turns, turn: None, backwards: None, walks: vec![walk], body: turn });
        // lanes meet in memory
        let [all, bad] = ["largest_lanes", "poison_lanes"].map(|name| Place::from(self.lane_room(name, width)));
        body.push(Stmt::Store { to: all, value: Expr::Var(largest) });
        body.push(Stmt::Store { to: bad, value: Expr::Var(poison) });
        for (at, lanes) in plan::vectors(len % width, width) {
            let value = self.let_(&mut body, "v", lanes, load(from.at(turns * width + at), lanes));
            let most = op(LaneOp::Max, vec![load(all, lanes), magnitude(value.clone(), lanes)]);
            body.push(Stmt::Store { to: all, value: most });
            let value = op(LaneOp::MulAdd, vec![value, Expr::f32(0.0, lanes), load(bad, lanes)]);
            body.push(Stmt::Store { to: bad, value });
        }
        let mut half = width / 2;
        while half > 0 {
            for (place, operation) in [(all, LaneOp::Max), (bad, LaneOp::Add)] {
                let value = op(operation, vec![load(place, half), load(place.at(half), half)]);
                body.push(Stmt::Store { to: place, value });
            }
            half /= 2;
        }
        let most = op(LaneOp::Max, vec![Expr::f32(LEAST_LARGEST, 1), load(all, 1)]);
        let most = self.let_(&mut body, "most", 1, most);
        let step = op(LaneOp::Div, vec![most.clone(), range.clone()]);
        body.push(Stmt::Store { to: scale, value: op(LaneOp::Add, vec![step, load(bad, 1)]) });
        // its inverse, for every lane
        body.push(Stmt::Store { to: all, value: op(LaneOp::Div, vec![range, most]) });
        self.vectors(&mut body, len, from, to, |_, value, lanes| {
            let scaled = op(LaneOp::Mul, vec![value, Expr::Splat { from: all, lanes }]);
            let rounded = op(LaneOp::Add, vec![scaled, Expr::f32(ROUNDING, lanes)]);
            // the low bits of that are the whole number
            if words.is_some() { rounded } else { op(LaneOp::Sub, vec![rounded, Expr::f32(ROUNDING, lanes)]) }
        });
        let Some(words) = words else { return body };
        let bits = |place: Place| op(LaneOp::ToBits, vec![load(place, 1)]);
        let low = |place: Place| op(LaneOp::And, vec![bits(place), Expr::u32(0xffff, 1)]);
        let (pair, walk) = self.walk("pair", to, 2, false);
        let (word, walk_word) = self.walk("word", words, 1, true);
        let both = op(LaneOp::Or, vec![low(pair), op(LaneOp::ShiftLeft(16), vec![bits(pair.at(1))])]);
        let turn = vec![Stmt::Store { to: word, value: op(LaneOp::FromBits, vec![both]) }];
        if len > 1 {
            let walks = vec![walk, walk_word];
            body.push(Stmt::For { count: len / 2, turn: None, backwards: None, walks, body: turn });
        }
        if !len.is_multiple_of(2) {
            let value = op(LaneOp::FromBits, vec![low(to.at(len - 1))]);
            body.push(Stmt::Store { to: words.at(len / 2), value });
        }
        body
    }
}

/// `v` or `-v`; a NaN stays one.
fn magnitude(value: Expr, lanes: usize) -> Expr {
    op(LaneOp::Max, vec![value.clone(), op(LaneOp::Sub, vec![Expr::f32(0.0, lanes), value])])
}
