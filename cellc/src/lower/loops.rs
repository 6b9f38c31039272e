//! TensorIterator and Loop: the statements of a body inside a loop over iterations ("trips").
//!
//! A piece is the slice of a tensor that one trip reads or writes. Pieces along the outermost axis
//! in memory are windows. For other axes, a copy before or after the loop reorders the tensor. Each
//! carried value has a buffer, and the end of a trip assigns its next value. A loop with a
//! condition ends after the first trip with a false condition; therefore zeros fill all result
//! pieces in advance.

use super::builder::{KernelBuilder, Lowered, copy};
use super::layout::strided;
use super::storage::Destinations;
use crate::core::{CoreLoop, LoopCarried, LoopResult, LoopSlice, Source, strides};
use crate::kernel::{Place, Stmt, Walk};
use crate::model::counted;

/// The parts of a loop's kernel besides its body.
#[derive(Default)]
struct LoopParts<'m> {
    /// Statements before the loop.
    before: Vec<Stmt>,
    walks: Vec<Walk>,
    /// Statements after the loop.
    after: Vec<Stmt>,
    /// The results whose buffers keep carried values.
    settled: Vec<usize>,
    /// The results with a piece for each trip, with the place of the piece.
    pieces: Vec<(&'m LoopResult, Place)>,
    /// The places at which the body computes pieces.
    wanted: Destinations,
}

impl<'m> KernelBuilder<'_, 'm> {
    pub(super) fn body(&mut self, body: &'m CoreLoop) -> Lowered {
        let trips = body.trips;
        let mut parts = LoopParts::default();
        for slice in &body.slices {
            self.slice(&mut parts, slice, trips);
        }
        for carried in &body.carried {
            self.carried(&mut parts, carried, &body.results);
        }
        for result in &body.results {
            if let Some(pieces) = result.pieces {
                self.pieces(&mut parts, body, result, pieces);
            }
        }
        self.lowering.assign_places(&body.body, std::mem::take(&mut parts.wanted));
        let trip = self.trip(body, &parts);
        let LoopParts { before: mut stmts, walks, after, .. } = parts;
        stmts.push(Stmt::repeat(trips, walks, trip));
        stmts.extend(after);
        let most = if body.running.is_some() { "At most " } else { "" };
        Lowered::new(format!("{most}{}.", counted(trips, "trip")), stmts)
    }

    /// Walks over the pieces of a sliced input.
    fn slice(&mut self, parts: &mut LoopParts<'m>, slice: &LoopSlice, trips: usize) {
        let whole = self.lowering.source(slice.whole);
        let start = self.outermost(&mut parts.before, slice.whole, whole, (slice.axis, trips));
        let len = self.lowering.len(Source::Value(slice.piece));
        let (place, mut walk) = self.walk("piece", start, len, false);
        walk.reverse = slice.reverse;
        parts.walks.push(walk);
        self.lowering.places[slice.piece] = Some(place);
    }

    /// Copies the initial value of a carried value to its buffer. A carried value whose last value
    /// is a result is kept in the buffer of the result, unless the result must be flushed.
    fn carried(
        &mut self,
        parts: &mut LoopParts<'m>,
        carried: &LoopCarried,
        results: &[LoopResult],
    ) {
        let flushed = self.lowering.is_flushed(carried.next);
        let last = |r: &&LoopResult| {
            flushed
                && r.pieces.is_none()
                && r.value == carried.next
                && !parts.settled.contains(&r.out)
        };
        let place = match results.iter().find(last) {
            Some(result) => {
                parts.settled.push(result.out);
                self.lowering.source(Source::Value(result.out))
            }
            None => self.block("carried", self.lowering.len(Source::Value(carried.value))),
        };
        let initial = self.lowering.source(carried.initial);
        parts.before.extend(self.copy_to_result(carried.initial, initial, place));
        self.lowering.places[carried.value] = Some(place);
    }

    /// Walks over the pieces of a result. Pieces are computed in place if possible.
    fn pieces(
        &mut self,
        parts: &mut LoopParts<'m>,
        body: &CoreLoop,
        result: &'m LoopResult,
        (axis, reverse): (usize, bool),
    ) {
        let trips = body.trips;
        let to = self.lowering.source(Source::Value(result.out));
        let shape = &self.lowering.model.values[result.out].shape;
        let start = if shape[..axis].iter().all(|&n| n == 1) {
            to
        } else {
            let gathered = self.block("gathered", shape.iter().product());
            // after the loop: from pieces one after the other to pieces along `axis`
            let piece = shape[axis] / trips;
            let len: usize = shape.iter().product::<usize>() / trips;
            let to_strides = strides(shape);
            let mut inner = shape.clone();
            inner[axis] = piece;
            let from_strides = strides(&inner);
            let mut dims = vec![(trips, len as isize, piece * to_strides[axis])];
            dims.extend(
                (0..shape.len()).map(|d| (inner[d], from_strides[d] as isize, to_strides[d])),
            );
            parts.after.push(strided(gathered, to, dims));
            gathered
        };
        let len = self.lowering.len(result.value);
        let (place, mut walk) = self.walk("result_piece", start, len, true);
        walk.reverse = reverse;
        parts.walks.push(walk);
        if let Source::Value(value) = result.value
            && !self.lowering.is_given(result.value)
        {
            parts.wanted.entry(value).or_insert(place);
        }
        // skipped trips leave 0
        if body.running.is_some() {
            parts.before.extend(self.zeros(start, shape.iter().product()));
        }
        parts.pieces.push((result, place));
    }

    /// The statements of one trip.
    fn trip(&mut self, body: &'m CoreLoop, parts: &LoopParts<'m>) -> Vec<Stmt> {
        let mut trip = Vec::new();
        for node in &body.body {
            if self.lowering.is_computed(node) {
                let statements = self.statements_on_sides(node).body;
                append(&mut trip, statements);
            }
        }
        for &(result, place) in &parts.pieces {
            let from = self.lowering.source(result.value);
            if from != place {
                trip.extend(self.copy_tensor(result.value, from, place));
            }
        }
        // copies last values out of buffers that the next trip overwrites
        let is_last = |r: &&LoopResult| r.pieces.is_none() && !parts.settled.contains(&r.out);
        for result in body.results.iter().filter(is_last) {
            let from = self.lowering.source(result.value);
            let to = self.lowering.source(Source::Value(result.out));
            if from != to {
                trip.extend(self.copy_tensor(result.value, from, to));
            }
        }
        self.hand_on(&mut trip, body);
        if let Some(running) = body.running.filter(|_| body.trips > 1) {
            trip.push(Stmt::LeaveUnless { less: self.side(Source::Value(running), true) });
        }
        trip
    }

    /// Assigns the carried values for the next trip.
    fn hand_on(&mut self, trip: &mut Vec<Stmt>, body: &'m CoreLoop) {
        let mut then = Vec::new();
        for carried in &body.carried {
            if carried.next == Source::Value(carried.value) {
                continue;
            }
            let len = self.lowering.len(carried.next);
            let to = self.lowering.source(Source::Value(carried.value));
            let mut from = self.lowering.source(carried.next);
            // the next value is in the buffer of another carried value: save the next value before
            // an assignment to that buffer
            let is_overwritten = body.carried.iter().any(|c| {
                let place = self.lowering.places[c.value];
                c.value != carried.value && place.is_some_and(|place| place.base == from.base)
            });
            if is_overwritten || (from.base == to.base && from != to) {
                let kept = self.block("kept", len);
                trip.push(copy(from, kept, len));
                from = kept;
            }
            if from != to {
                then.extend(self.copy_to_result(carried.next, from, to));
            }
        }
        trip.extend(then);
    }

    /// The place of a tensor's pieces along an axis, one after the other. A copy in scratch memory,
    /// or the tensor itself if its pieces are contiguous.
    fn outermost(
        &mut self,
        before: &mut Vec<Stmt>,
        source: Source,
        whole: Place,
        (axis, trips): (usize, usize),
    ) -> Place {
        let shape = self.lowering.model.shape(source).to_vec();
        if shape[..axis].iter().all(|&n| n == 1) {
            return whole;
        }
        let turned = self.block("turned", shape.iter().product());
        let from = strides(&shape);
        let mut piece = shape.clone();
        piece[axis] /= trips;
        let to = strides(&piece);
        let mut dims = vec![(trips, (piece[axis] * from[axis]) as isize, piece.iter().product())];
        dims.extend((0..shape.len()).map(|d| (piece[d], from[d] as isize, to[d])));
        before.push(strided(whole, turned, dims));
        turned
    }
}

/// Appends statements. If the last statement and the first new statement are branches on one
/// condition, the two branches are merged.
fn append(body: &mut Vec<Stmt>, mut statements: Vec<Stmt>) {
    if let Some(Stmt::If { less, then, otherwise }) = body.last_mut()
        && let [Stmt::If { less: other, then: more, otherwise: none }] = &mut statements[..]
        && less == other
        && otherwise.is_empty()
        && none.is_empty()
    {
        append(then, std::mem::take(more));
    } else {
        body.append(&mut statements);
    }
}
