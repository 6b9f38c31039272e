//! Convolutions whose windows move element by element: lanes are along the positions, and every weight is multiplied with whole vectors of them.
//!
//! A tile holds sums of some output channels at some vectors of positions in registers, over all channels and taps. Where the positions are no
//! multiple of a vector, the last vector overlaps the one before it and computes the same elements again; or it is a narrower one, of a tile with a single
//! channel, where that is all that is left.

use std::ops::Range;

use super::builder::{KernelBuilder, load, op};
use super::pointwise::Epilogue;
use super::product::for_rows;
use crate::kernel::{Expr, LaneOp, Place, Stmt, Var};
use crate::model::{Convolve, counted, offsets};
use crate::plan::{self, Along};

/// Where a part of a convolution reads and writes.
#[derive(Clone)]
struct Parts {
    /// The first element of the channels that are read.
    x: Place,
    /// The weights of the output channels, tile after tile.
    w: Place,
    /// The first position of the output channels.
    out: Place,
    /// What is done at the end reads besides.
    operands: Vec<Place>,
}

/// Channels that are padded at once, of groups with fewer.
const MOST_PADDED: usize = 16;

/// Multiply-adds of one channel that stand one after the other on cores without vectors, where loops over taps would take as long as these.
const MOST_IN_LINE: usize = 128;

/// What all parts have in common.
struct Work<'m> {
    of: &'m Convolve,
    /// How what the end reads lies along channels and positions.
    along: Vec<Along>,
    epilogue: Epilogue<'m>,
    /// Output channels whose weights stand side by side.
    packed: usize,
    /// Output channels and vectors of positions of a tile.
    tile: (usize, usize),
    /// How many taps there are.
    taps: usize,
    /// Of the last tap.
    reach: usize,
}

/// Sums that are held at once.
struct Tile<'v> {
    /// Output channels, of those whose weights stand side by side.
    channels: Range<usize>,
    /// How many those are.
    packed: usize,
    /// Vectors of positions: the first, and how many lanes.
    vectors: &'v [(usize, usize)],
}

impl Work<'_> {
    /// Elements of an operand for so many output channels.
    fn operand(&self, along: Along, channels: usize) -> Option<usize> {
        match along {
            Along::Both => Some(channels * self.of.positions),
            Along::Rows => Some(channels),
            Along::Columns | Along::Nothing => None,
        }
    }
}

impl<'m> KernelBuilder<'_, 'm> {
    pub(super) fn convolve(&mut self, of: &'m Convolve) -> (Vec<String>, Vec<Stmt>) {
        let Convolve { batch, groups, inputs, outputs, length, positions, .. } = *of;
        let mut body = Vec::new();
        let x = self.lowering.source(of.x);
        let is_padded = length > of.given();
        let x = if is_padded { x } else { self.given(&mut body, "x", of.x, x) };
        let epilogue = self.epilogue(of.out, positions);
        let along = epilogue.along();
        let operands: Vec<Place> =
            self.operand_rows(&epilogue, positions).into_iter().map(|(place, _)| place).collect();
        let parts =
            Parts { x, w: self.lowering.memory.convolutions[&of.out].into(), out: self.stored(of.out), operands };
        let offsets = of.offsets();
        let vectors = positions.div_ceil(self.lowering.isa.lanes);
        let arch = self.lowering.plan.arch;
        let work = Work {
            of,
            along,
            epilogue,
            packed: plan::window_channels(outputs, arch),
            tile: plan::window_tile(outputs, vectors, self.lowering.isa, arch),
            taps: offsets.len(),
            reach: *offsets.last().expect("validate: a window has taps"),
        };
        // with zeros at its sides: some channels, and then what is made of them, as a load waits for stores that it lies across
        let some = (MOST_PADDED / inputs).clamp(1, groups);
        let some = (1..=some).rev().find(|some| groups.is_multiple_of(*some)).unwrap_or(1);
        let padded = is_padded.then(|| {
            let padded = self.shared("padded", some * inputs * length, 1);
            let rows = [("padded_channel", padded, length, true)];
            body.extend(for_rows(self, some * inputs, &rows, |builder, places| {
                let mut zeros = builder.zeros(places[0], of.pads.0);
                if of.lines.1 > 0 {
                    let rows = [("padded_line", places[0].at(of.pads.0), of.line(), true)];
                    zeros.extend(for_rows(builder, of.lines.0, &rows, |builder, places| {
                        builder.zeros(places[0], of.lines.1)
                    }));
                }
                zeros.extend(builder.zeros(places[0].at(length - of.pads.1), of.pads.1));
                zeros
            }));
            padded
        });
        let given = of.given();
        let channels = [groups * inputs * given, 0, groups * outputs];
        body.extend(self.repeated(&work, batch, channels, &parts, |builder, parts| {
            let weights = outputs * inputs * work.taps;
            let Some(padded) = padded else {
                let channels = [inputs * given, weights, outputs];
                return builder.repeated(&work, groups, channels, parts, |builder, parts| builder.group(&work, parts));
            };
            let channels = [some * inputs * given, some * weights, some * outputs];
            builder.repeated(&work, groups / some, channels, parts, |builder, parts| {
                let rows = [("channel", parts.x, given, false), ("padded_channel", padded, length, true)];
                let mut body = for_rows(builder, some * inputs, &rows, |builder, places| {
                    let (lines, gap) = of.lines;
                    let to = places[1].at(of.pads.0);
                    let rows = [("line", places[0], given / lines, false), ("padded_line", to, of.line(), true)];
                    for_rows(builder, lines, &rows, |builder, places| {
                        builder.read_rows(of.x, places[0], places[1].at(gap), given / lines)
                    })
                });
                let parts = Parts { x: padded, ..parts.clone() };
                let channels = [inputs * length, weights, outputs];
                let group =
                    builder.repeated(&work, some, channels, &parts, |builder, parts| builder.group(&work, parts));
                body.extend(group);
                body
            })
        }));
        let names = work.epilogue.names();
        let (kernel, groups) = (shape(&of.taps), counted(groups, "group"));
        let doc = format!("Convolution of {inputs} to {outputs} channels in {groups}, windows of {kernel}{names}.");
        (vec![doc], body)
    }

    /// A loop over rows, or over groups: x moves by so many elements, the weights by so many, the outputs by so many channels.
    fn repeated(
        &mut self,
        work: &Work<'m>,
        count: usize,
        [x, w, channels]: [usize; 3],
        parts: &Parts,
        mut body: impl FnMut(&mut Self, &Parts) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        let mut rows = vec![("x_part", parts.x, x, false), ("out_part", parts.out, channels * work.of.positions, true)];
        rows.extend((w > 0).then_some(("w_part", parts.w, w, false)));
        let first = rows.len();
        let walked = |at: usize| work.operand(work.along[at], channels).map(|len| (at, len));
        let moving: Vec<_> = (0..work.along.len()).filter_map(walked).collect();
        rows.extend(moving.iter().map(|&(at, len)| ("operand_part", parts.operands[at], len, false)));
        for_rows(self, count, &rows, |builder, places| {
            let mut own = Parts { x: places[0], out: places[1], ..parts.clone() };
            if w > 0 {
                own.w = places[2];
            }
            for ((at, _), place) in moving.iter().zip(&places[first..]) {
                own.operands[*at] = *place;
            }
            body(builder, &own)
        })
    }

    /// All positions of a group: a loop over tiles of them, and what is left.
    fn group(&mut self, work: &Work<'m>, parts: &Parts) -> Vec<Stmt> {
        let Convolve { inputs, outputs, length, start, positions, .. } = *work.of;
        let lanes = self.lowering.isa.lanes;
        let mut body = Vec::new();
        if positions < lanes {
            return self.channels(work, parts, &plan::vectors(positions, lanes), (length, start, positions));
        }
        let width = work.tile.1 * lanes;
        let full = positions / width;
        let mut done = 0;
        if full > 1 {
            let len = (inputs - 1) * length + work.reach + width;
            let (x, walk) = self.stride("x_block", parts.x.at(start), (len, width), false);
            let mut walks = vec![walk];
            let len = (outputs - 1) * positions + width;
            let (out, walk) = self.stride("out_block", parts.out, (len, width), true);
            walks.push(walk);
            let mut own = Parts { x, out, ..parts.clone() };
            for (place, along) in own.operands.iter_mut().zip(&work.along) {
                let len = match along {
                    Along::Both => len,
                    Along::Columns => width,
                    Along::Rows | Along::Nothing => continue,
                };
                let (block, walk) = self.stride("operand_block", *place, (len, width), false);
                *place = block;
                walks.push(walk);
            }
            let vectors: Vec<_> = (0..work.tile.1).map(|v| (v * lanes, lanes)).collect();
            let block = self.channels(work, &own, &vectors, (work.reach + width, 0, width));
            body.push(Stmt::For { count: full, turn: None, backwards: None, walks, body: block });
            done = full * width;
        }
        // of equal size, the last of them ending where the positions do
        let mut rest: Vec<_> = (done..positions).step_by(lanes).map(|at| (at.min(positions - lanes), lanes)).collect();
        // Of a single channel there is no more to load than for this: a narrow vector lies across two lines of the cache less often, and LLVM would put one that
        // shares elements with its neighbour together from that. Several channels would load each weight once more, for both widths.
        if let [narrow] = plan::vectors(positions % lanes, lanes)[..]
            && work.tile.0 == 1
            && let Some(last) = rest.last_mut()
        {
            *last = (positions - narrow.1, narrow.1);
        }
        let passes = rest.len().div_ceil(work.tile.1).max(1);
        for vectors in rest.chunks(rest.len().div_ceil(passes).max(1)) {
            body.extend(self.channels(work, parts, vectors, (length, start, positions)));
        }
        body
    }

    /// Some vectors of positions of all output channels. So many elements of a channel of x are in reach, of which the windows begin at the `first`;
    /// and `width` of a channel of the output.
    fn channels(
        &mut self,
        work: &Work<'m>,
        parts: &Parts,
        vectors: &[(usize, usize)],
        (x_width, first, width): (usize, usize, usize),
    ) -> Vec<Stmt> {
        let Convolve { inputs, outputs, positions, .. } = *work.of;
        let mut body = Vec::new();
        let mut done = 0;
        for (turns, count) in plan::equal_parts(outputs, work.packed) {
            let mut own = parts.clone();
            own.w = parts.w.at(done * inputs * work.taps);
            own.out = parts.out.at(done * positions);
            for (place, along) in own.operands.iter_mut().zip(&work.along) {
                *place = place.at(work.operand(*along, done).unwrap_or(0));
            }
            done += turns * count;
            if turns == 1 {
                body.extend(self.packed(work, &own, count, vectors, (x_width, first)));
                continue;
            }
            let len = (count - 1) * positions + width;
            let (out, walk) = self.stride("out_tile", own.out, (len, count * positions), true);
            let mut walks = vec![walk];
            let (w, walk) = self.walk("w_tile", own.w, count * inputs * work.taps, false);
            walks.push(walk);
            let mut own = Parts { w, out, ..own };
            for (place, along) in own.operands.iter_mut().zip(&work.along) {
                let lens = match along {
                    Along::Both => (len, count * positions),
                    Along::Rows => (count, count),
                    Along::Columns | Along::Nothing => continue,
                };
                let (tile, walk) = self.stride("operand_tile", *place, lens, false);
                *place = tile;
                walks.push(walk);
            }
            let tiles = self.packed(work, &own, count, vectors, (x_width, first));
            body.push(Stmt::For { count: turns, turn: None, backwards: None, walks, body: tiles });
        }
        body
    }

    /// The same of the output channels whose weights stand side by side: as many tiles as their sums take.
    fn packed(
        &mut self,
        work: &Work<'m>,
        parts: &Parts,
        packed: usize,
        vectors: &[(usize, usize)],
        x: (usize, usize),
    ) -> Vec<Stmt> {
        let mut body = Vec::new();
        let mut done = 0;
        for (tiles, count) in plan::equal_parts(packed, work.tile.0) {
            for _ in 0..tiles {
                let tile = Tile { channels: done..done + count, packed, vectors };
                body.extend(self.tile(work, parts, &tile, x));
                done += count;
            }
        }
        body
    }

    /// The sums of a tile, over all channels and taps, and what is done with them at the end.
    fn tile(&mut self, work: &Work<'m>, parts: &Parts, tile: &Tile<'_>, (x_width, first): (usize, usize)) -> Vec<Stmt> {
        let Tile { channels, packed, vectors } = tile;
        let Convolve { inputs, length, positions, .. } = *work.of;
        let mut body = Vec::new();
        let mut sums: Vec<Vec<Var>> = Vec::new();
        for m in channels.clone() {
            let sum = |(v, (_, lanes)): (usize, &(usize, usize))| {
                self.accumulator(&mut body, &format!("y{m}_{v}"), *lanes, Expr::f32(0.0, *lanes))
            };
            sums.push(vectors.iter().enumerate().map(sum).collect());
        }
        if inputs > 1 {
            let (x, walk) = self.stride("channel", parts.x, (x_width, length), false);
            let (w, w_walk) = self.walk("w", parts.w, packed * work.taps, false);
            let walks = vec![walk, w_walk];
            let mut channel = Vec::new();
            self.taps(&mut channel, &work.of.taps, x.at(first), w, tile, &sums);
            body.push(Stmt::For { count: inputs, turn: None, backwards: None, walks, body: channel });
        } else {
            self.taps(&mut body, &work.of.taps, parts.x.at(first), parts.w, tile, &sums);
        }
        for (m, sums) in channels.clone().zip(&sums) {
            for (&(at, lanes), &sum) in vectors.iter().zip(sums) {
                let place = |(place, along): (&Place, &Along)| match along {
                    Along::Both => place.at(m * positions + at),
                    Along::Columns => place.at(at),
                    Along::Rows => place.at(m),
                    Along::Nothing => *place,
                };
                let operands: Vec<_> = parts.operands.iter().zip(&work.along).map(place).collect();
                let value = self.finish_vector(&mut body, &work.epilogue, Expr::Var(sum), lanes, &operands);
                body.push(Stmt::Store { to: parts.out.at(m * positions + at), value });
            }
        }
        body
    }

    /// The taps of one channel, in order: a loop over each of their dimensions. Written one after the other, LLVM sees that the vectors of neighbouring taps
    /// share elements and puts them together from each other, which takes three times as long.
    fn taps(
        &mut self,
        body: &mut Vec<Stmt>,
        taps: &[(usize, usize)],
        x: Place,
        w: Place,
        tile: &Tile<'_>,
        sums: &[Vec<Var>],
    ) {
        if self.lowering.isa.lanes == 1 && sums.len() * tile.vectors.len() * offsets(taps).len() <= MOST_IN_LINE {
            for (tap, at) in offsets(taps).into_iter().enumerate() {
                self.tap(body, x.at(at), w.at(tap * tile.packed), tile, sums);
            }
            return;
        }
        if let Some(outer) = taps.iter().position(|(count, _)| *count > 1) {
            let ((count, step), inner) = (taps[outer], &taps[outer + 1..]);
            let inside = offsets(inner);
            let (last, lanes) = *tile.vectors.last().expect("lower: a tile has vectors");
            let len = inside.last().expect("validate: a window has taps") + last + lanes;
            let (x, walk) = self.stride("tap", x, (len, step), false);
            let (w, w_walk) = self.walk("w", w, tile.packed * inside.len(), false);
            let walks = vec![walk, w_walk];
            let mut turn = Vec::new();
            self.taps(&mut turn, inner, x, w, tile, sums);
            body.push(Stmt::For { count, turn: None, backwards: None, walks, body: turn });
            return;
        }
        self.tap(body, x, w, tile, sums);
    }

    /// One tap of one channel.
    fn tap(&mut self, body: &mut Vec<Stmt>, x: Place, w: Place, tile: &Tile<'_>, sums: &[Vec<Var>]) {
        let vectors = tile.vectors;
        let weights: Vec<Place> = tile.channels.clone().map(|m| w.at(m)).collect();
        // the weights, or the vectors, are held: whichever are fewer
        if weights.len() < vectors.len() {
            let mut held: Vec<(usize, Vec<Expr>)> = Vec::new();
            for (v, &(at, lanes)) in vectors.iter().enumerate() {
                if held.iter().all(|(known, _)| *known != lanes) {
                    let splat = |w: &Place| self.let_(body, "w_k", lanes, Expr::Splat { from: *w, lanes });
                    held.push((lanes, weights.iter().map(splat).collect()));
                }
                let (_, of_width) = held.iter().find(|(known, _)| *known == lanes).expect("lower: held above");
                let x = match weights.len() {
                    1 => load(x.at(at), lanes),
                    _ => self.let_(body, "x_k", lanes, load(x.at(at), lanes)),
                };
                for (w, sums) in of_width.iter().zip(sums) {
                    let args = vec![x.clone(), w.clone(), Expr::Var(sums[v])];
                    body.push(Stmt::Set { var: sums[v], value: op(LaneOp::MulAdd, args) });
                }
            }
            return;
        }
        let held: Vec<_> =
            vectors.iter().map(|&(at, lanes)| self.let_(body, "x_k", lanes, load(x.at(at), lanes))).collect();
        for (w, sums) in weights.iter().zip(sums) {
            let mut known: Vec<(usize, Expr)> = Vec::new();
            for ((x, sum), &(_, lanes)) in held.iter().zip(sums).zip(vectors) {
                let w = match known.iter().find(|(l, _)| *l == lanes) {
                    Some((_, w)) => w.clone(),
                    None => {
                        let w = self.let_(body, "w_k", lanes, Expr::Splat { from: *w, lanes });
                        known.push((lanes, w.clone()));
                        w
                    }
                };
                let args = vec![x.clone(), w, Expr::Var(*sum)];
                body.push(Stmt::Set { var: *sum, value: op(LaneOp::MulAdd, args) });
            }
        }
    }
}

/// `3 x 3`
fn shape(taps: &[(usize, usize)]) -> String {
    taps.iter().map(|(count, _)| count.to_string()).collect::<Vec<_>>().join(" x ")
}
