//! Quantisation of vectors that multiply integer weights. An element is rounded to a whole number
//! times a scale. The scale depends on the largest magnitude, or comes from the model.

use std::ops::Range;

use super::builder::{KernelBuilder, load, op};
use super::product::{PackedWords, Scale};
use crate::core::Source;
use crate::encoding::{LEAST_LARGEST, OFFSET};
use crate::kernel::{BLOCK_INPUTS, Copied, CopiedDim, Encoding, Expr, LaneOp, Place, Stmt};
use crate::plan;

/// 1.5 * 2^23: adding this constant to a small number rounds the number to a whole number, half to
/// even.
const ROUNDING: f32 = 12_582_912.0;

/// The factor by which elements are multiplied before rounding: in memory, or known when compiling.
#[derive(Clone, Copy)]
pub(super) enum Factor {
    At(Place),
    Known(f32),
}

/// An element times `inverse` plus [`ROUNDING`]: the low bits are the rounded product.
fn rounded(element: Expr, inverse: Option<Expr>, lanes: usize) -> Expr {
    rounded_above(element, inverse, lanes, 0)
}

/// An element times `inverse` plus [`ROUNDING`] and an even offset: the low bits are the rounded
/// product plus the offset.
fn rounded_above(element: Expr, inverse: Option<Expr>, lanes: usize, offset: i32) -> Expr {
    let scaled = match inverse {
        Some(inverse) => op(LaneOp::Mul, vec![element, inverse]),
        None => element,
    };
    op(LaneOp::Add, vec![scaled, Expr::f32(ROUNDING + offset as f32, lanes)])
}

impl KernelBuilder<'_, '_> {
    /// Quantises one vector to packed words, in the order of packed weights. Stores the scale, NaN
    /// if any element is not finite.
    pub(super) fn quantise(
        &mut self,
        (len, given): (usize, Scale),
        from: Place,
        (to, words): (Place, PackedWords),
        scale: Place,
    ) -> Vec<Stmt> {
        let mut body = Vec::new();
        let inverse = self.scale_of(&mut body, (len, given), from, scale);
        if words.are_of_neighbours() && self.lowering.isa.lanes == 1 {
            self.neighbours(&mut body, (from, len), (to, words), inverse);
            return body;
        }
        if words.are_of_neighbours() {
            let offset = if words.is_unsigned() { OFFSET } else { 0 };
            let whole = self.stack_or_state_buffer("whole", len, 1);
            let same = |_: &mut Self, element| element;
            self.whole(&mut body, (inverse, offset), [from, whole], len, same);
            let line = vec![CopiedDim { extent: len, from_stride: 1, to_stride: 1 }];
            let encoding = Encoding::LowBytes;
            body.push(Stmt::Copy(Copied { encoding, ..Copied::new(whole, to, line) }));
            return body;
        }
        // word k holds element k of each part of the vector; the last parts may be shorter or empty
        let count = words.of_elements(len);
        let long = |part: usize| len.saturating_sub(part * count).min(count);
        let parts = (0..words.each()).filter(|part| long(*part) > 0).count();
        let all_of_them = long(parts - 1);
        for (at, end, parts) in [(0, all_of_them, parts), (all_of_them, count, parts - 1)] {
            self.words(&mut body, (from, count), (to, words), at..end, (parts, inverse));
        }
        // words that pad the last vector of words: their weights are zero
        for at in count..words.room(len) {
            body.push(Stmt::Store { to: to.at(at), value: Expr::f32(0.0, 1) });
        }
        body
    }

    /// Packs words of neighbouring elements, one block of [`BLOCK_INPUTS`] elements after the
    /// other. Missing elements of the last block are 0.
    fn neighbours(
        &mut self,
        body: &mut Vec<Stmt>,
        (from, len): (Place, usize),
        (to, words): (Place, PackedWords),
        factor: Option<Factor>,
    ) {
        let inverse = self.inverse(body, factor, 1);
        let bits = u32::BITS / words.each() as u32;
        let mask = u32::MAX >> (u32::BITS - bits);
        let block = |from: Place, to: Place, len: usize| {
            let word = |elements: &[usize]| {
                let inside = elements.iter().enumerate().filter(|(_, element)| **element < len);
                let part = |(part, element): (usize, &usize)| {
                    let whole = rounded(load(from.at(*element), 1), inverse.clone(), 1);
                    let whole = op(LaneOp::ToBits, vec![whole]);
                    let is_last = part + 1 == words.each();
                    let low = match is_last {
                        true => whole,
                        false => op(LaneOp::And, vec![whole, Expr::u32(mask, 1)]),
                    };
                    match part {
                        0 => low,
                        _ => op(LaneOp::ShiftLeft(bits * part as u32), vec![low]),
                    }
                };
                let word = inside.map(part).reduce(|a, b| op(LaneOp::Or, vec![a, b]));
                word.map_or(Expr::f32(0.0, 1), |word| op(LaneOp::FromBits, vec![word]))
            };
            let stores = words.of_block().iter().enumerate();
            stores
                .map(|(at, elements)| Stmt::Store { to: to.at(at), value: word(elements) })
                .collect::<Vec<_>>()
        };
        let (iterations, in_block) = (len / BLOCK_INPUTS, words.of_block().len());
        if iterations > 0 {
            let (elements, walk) = self.walk("elements", from, BLOCK_INPUTS, false);
            let (word, walk_words) = self.walk("words", to, in_block, true);
            let walks = vec![walk, walk_words];
            let iteration = block(elements, word, BLOCK_INPUTS);
            body.push(Stmt::repeat(iterations, walks, iteration));
        }
        let (done, rest) = (iterations * BLOCK_INPUTS, len % BLOCK_INPUTS);
        if rest > 0 {
            body.extend(block(from.at(done), to.at(iterations * in_block), rest));
        }
    }

    /// Stores the scale of a vector, NaN if any element is not finite. Returns the factor for
    /// rounding; `None`: 1.
    pub(super) fn scale_of(
        &mut self,
        body: &mut Vec<Stmt>,
        (len, given): (usize, Scale),
        from: Place,
        scale: Place,
    ) -> Option<Factor> {
        let largest = self.largest(body, len, from);
        let larger = |value, other| op(LaneOp::MaxMagnitude, vec![value, other]);
        let most = larger(Expr::f32(LEAST_LARGEST, 1), load(largest, 1));
        let most = self.let_(body, "most", 1, most);
        // 0, or NaN if any element is not finite
        let poison = op(LaneOp::Mul, vec![most.clone(), Expr::f32(0.0, 1)]);
        let step = match given {
            Scale::Dynamic(range) => {
                op(LaneOp::Div, vec![most.clone(), Expr::f32(f32::from(range), 1)])
            }
            Scale::Model(scale) => Expr::f32(scale, 1),
        };
        body.push(Stmt::Store { to: scale, value: op(LaneOp::Add, vec![step, poison]) });
        match given {
            Scale::Dynamic(range) => {
                // memory holds the factor, since vectors broadcast from memory
                let inverse = op(LaneOp::Div, vec![Expr::f32(f32::from(range), 1), most]);
                body.push(Stmt::Store { to: largest, value: inverse });
                Some(Factor::At(largest))
            }
            Scale::Model(1.0) => None,
            Scale::Model(scale) => Some(Factor::Known(1.0 / scale)),
        }
    }

    /// Stores -0, or NaN if any element of a vector is not finite.
    pub(super) fn guard(&mut self, body: &mut Vec<Stmt>, len: usize, from: Place, to: Place) {
        let largest = self.largest(body, len, from);
        let value = op(LaneOp::Mul, vec![load(largest, 1), Expr::f32(-0.0, 1)]);
        body.push(Stmt::Store { to, value });
    }

    /// Stores the largest magnitude of a vector and returns its place. Infinities and NaNs exceed
    /// all numbers.
    fn largest(&mut self, body: &mut Vec<Stmt>, len: usize, from: Place) -> Place {
        let width = 1 << len.min(self.lowering.isa.lanes).ilog2();
        // the largest magnitude of each lane
        let largest = self.accumulator(body, "largest", width, Expr::f32(0.0, width));
        let larger = |value, other| op(LaneOp::MaxMagnitude, vec![value, other]);
        let (elements, walk) = self.walk("elements", from, width, false);
        let iteration = vec![Stmt::Set {
            var: largest,
            value: larger(load(elements, width), Expr::Var(largest)),
        }];
        let iterations = len / width;
        body.push(Stmt::repeat(iterations, vec![walk], iteration));
        // memory passes the lanes to scalar code
        let lanes_room = Place::from(self.lane_room("largest_lanes", width));
        body.push(Stmt::Store { to: lanes_room, value: Expr::Var(largest) });
        for (at, lanes) in plan::vectors(len % width, width) {
            let value =
                larger(load(from.at(iterations * width + at), lanes), load(lanes_room, lanes));
            body.push(Stmt::Store { to: lanes_room, value });
        }
        let mut half = width / 2;
        while half > 0 {
            body.push(Stmt::Store {
                to: lanes_room,
                value: larger(load(lanes_room, half), load(lanes_room.at(half), half)),
            });
            half /= 2;
        }
        lanes_room
    }

    /// A rounding factor in `lanes` lanes.
    fn inverse(
        &mut self,
        body: &mut Vec<Stmt>,
        factor: Option<Factor>,
        lanes: usize,
    ) -> Option<Expr> {
        factor.map(|factor| match factor {
            Factor::At(from) => self.let_(body, "inverse", lanes, Expr::Splat { from, lanes }),
            Factor::Known(factor) => Expr::f32(factor, lanes),
        })
    }

    /// Rounds elements of a tensor: the low 16 bits of a stored element are the rounded number. The
    /// scale may be computed from unflushed elements, since the largest magnitude counts as at
    /// least the flush limit.
    pub(super) fn rounded(
        &mut self,
        source: Source,
        factor: Option<Factor>,
        from: Place,
        to: Place,
        len: usize,
    ) -> Vec<Stmt> {
        let mut body = Vec::new();
        let taken = |builder: &mut Self, element| builder.flushed_element(source, element);
        self.whole(&mut body, (factor, 0), [from, to], len, taken);
        body
    }

    /// Rounds elements to whole numbers, each after `taken` and times a factor, and adds an offset.
    fn whole(
        &mut self,
        body: &mut Vec<Stmt>,
        (factor, offset): (Option<Factor>, i32),
        [from, to]: [Place; 2],
        len: usize,
        taken: impl Fn(&mut Self, Expr) -> Expr,
    ) {
        let lanes = self.lowering.plan.width(self.lowering.isa);
        let mut widths: Vec<usize> =
            plan::vectors(len % lanes, lanes).into_iter().map(|(_, lanes)| lanes).collect();
        widths.extend((len >= lanes).then_some(lanes));
        let inverses: Vec<_> =
            widths.iter().map(|lanes| self.inverse(body, factor, *lanes)).collect();
        self.vectors(body, len, from, to, |builder, element, lanes| {
            let factor_of_width = widths.iter().zip(&inverses).find(|(width, _)| **width == lanes);
            let (_, inverse) =
                factor_of_width.expect("lower: vectors of every width have a factor");
            rounded_above(taken(builder, element), inverse.clone(), lanes, offset)
        });
    }

    /// Words of two 16-bit numbers, from elements of [`Self::rounded`]. The second number is the
    /// element `second` positions after the first.
    pub(super) fn pairs(&mut self, from: Place, second: usize, to: Place, len: usize) -> Vec<Stmt> {
        let mut body = Vec::new();
        let word = |from: [Place; 2], to: Place, lanes: usize| {
            let [low, high] = from.map(|from| op(LaneOp::ToBits, vec![load(from, lanes)]));
            let low = op(LaneOp::And, vec![low, Expr::u32(0xffff, lanes)]);
            let word = op(LaneOp::Or, vec![low, op(LaneOp::ShiftLeft(16), vec![high])]);
            Stmt::Store { to, value: op(LaneOp::FromBits, vec![word]) }
        };
        let lanes = self.lowering.isa.lanes;
        let (iterations, done) = (len / lanes, len / lanes * lanes);
        if iterations > 0 {
            let [(low, walk_low), (high, walk_high)] = [("low", from), ("high", from.at(second))]
                .map(|(name, from)| self.walk(name, from, lanes, false));
            let (words, walk) = self.walk("word", to, lanes, true);
            let walks = vec![walk_low, walk_high, walk];
            let iteration = vec![word([low, high], words, lanes)];
            body.push(Stmt::repeat(iterations, walks, iteration));
        }
        for (at, lanes) in plan::vectors(len - done, lanes) {
            let at = done + at;
            body.push(word([from.at(at), from.at(second + at)], to.at(at), lanes));
        }
        body
    }

    /// Packs a range of words from `parts` parts of a vector.
    fn words(
        &mut self,
        body: &mut Vec<Stmt>,
        (from, count): (Place, usize),
        (to, words): (Place, PackedWords),
        range: Range<usize>,
        (parts, inverse): (usize, Option<Factor>),
    ) {
        let bits = u32::BITS / words.each() as u32;
        let mask = u32::MAX >> (u32::BITS - bits);
        let word = |builder: &mut Self,
                    body: &mut Vec<Stmt>,
                    from: &[Place],
                    to: Place,
                    lanes: usize| {
            let inverse = builder.inverse(body, inverse, lanes);
            let part = |(part, from): (usize, &Place)| {
                let rounded =
                    op(LaneOp::ToBits, vec![rounded(load(*from, lanes), inverse.clone(), lanes)]);
                let is_last = part + 1 == words.each();
                let low = if is_last {
                    rounded
                } else {
                    op(LaneOp::And, vec![rounded, Expr::u32(mask, lanes)])
                };
                if part == 0 { low } else { op(LaneOp::ShiftLeft(bits * part as u32), vec![low]) }
            };
            let word = from.iter().enumerate().map(part).reduce(|a, b| op(LaneOp::Or, vec![a, b]));
            let word = word.expect("lower: a word has a part");
            let word = match words.is_unsigned() {
                // the offset is the top bit of a byte, so an exclusive or adds the offset
                true => op(
                    LaneOp::Xor,
                    vec![word, Expr::u32(OFFSET.cast_unsigned() * 0x0101_0101, lanes)],
                ),
                false => word,
            };
            body.push(Stmt::Store { to, value: op(LaneOp::FromBits, vec![word]) });
        };
        let places =
            |at: usize| (0..parts).map(|part| from.at(part * count + at)).collect::<Vec<_>>();
        let lanes = self.lowering.isa.lanes;
        let iterations = range.len() / lanes;
        let mut at = range.start;
        if iterations > 1 {
            let (mut windows, mut walks) = (Vec::new(), Vec::new());
            for place in places(at) {
                let (window, walk) = self.walk("part", place, lanes, false);
                windows.push(window);
                walks.push(walk);
            }
            let (window, walk) = self.walk("word", to.at(at), lanes, true);
            walks.push(walk);
            let mut iteration = Vec::new();
            word(self, &mut iteration, &windows, window, lanes);
            body.push(Stmt::repeat(iterations, walks, iteration));
            at += iterations * lanes;
        }
        for (lane, lanes) in plan::vectors(range.end - at, lanes) {
            word(self, body, &places(at + lane), to.at(at + lane), lanes);
        }
    }
}
