//! Delay lines: views gather taps from a delay line and the newest frames, and the delay line takes
//! these frames. In single steps the line takes the frame at the end of the step. In kernels of
//! several steps the line takes the frames first, and all taps come from the line.

use super::builder::{KernelBuilder, Lowered, load, op};
use super::layout::strided;
use crate::kernel::{DelayLine, Expr, FrameOrder, LaneOp, Place, Role, Stmt};
use crate::plan::{self, CopiedElements, KeptHistory, Taps};

/// Upper limit for unrolled vectors that move the frames of a row.
const MOST_MOVED: usize = 16;

impl<'m> KernelBuilder<'_, 'm> {
    /// A view of a history and the frame of the step.
    pub(super) fn gathered(&mut self, taps: &Taps, out: Place) -> Lowered {
        let plan = self.lowering.plan;
        let history = &plan.delay_lines.histories[taps.history];
        let mut body = Vec::new();
        if let Some(earlier) = &taps.earlier {
            body.extend(self.with_row(history, false, |_, row| vec![taken(row, out, earlier)]));
        }
        if let Some(newest) = &taps.newest {
            let frame = self.lowering.source(history.frame);
            let frame = self.flushed_tensor(&mut body, "frame", history.frame, frame);
            body.push(taken(frame, out, newest));
        }
        Lowered::new(format!("Elements of {}, and of the newest frame.", history.line), body)
    }

    /// Stores the frames of the steps in a delay line. In [`FrameOrder::Rows`], the frames of the
    /// step's row move by one place, the new frame follows them, and the other rows stay.
    pub(super) fn take_frame(&mut self, history: &KeptHistory) -> Vec<Stmt> {
        if let FrameOrder::Rings { steps } = history.line.order {
            return self.take_into_rings(history, steps);
        }
        let source = history.frame;
        let from = self.lowering.source(source);
        let (frame, row) = (history.line.frame(), history.line.row());
        self.with_row(history, true, |builder, place| {
            let mut body = builder.moved(place, row - frame, frame);
            body.extend(builder.copy_elements(source, from, place.at(row - frame), frame));
            body
        })
    }

    /// Stores the frames of the steps in rings. Each frame has two places, one period apart, and is
    /// written to both.
    fn take_into_rings(&mut self, history: &KeptHistory, most: usize) -> Vec<Stmt> {
        let (line, steps) = (history.line, self.lowering.steps);
        let (period, before) = (line.period(), most + line.history());
        let mut body = Vec::new();
        let from = self.lowering.source(history.frame);
        let from = self.flushed_tensor(&mut body, "frame", history.frame, from);
        let ring: Place = self.lowering.memory.variables[history.variable].into();
        let mut write = |first: usize, least: usize, count: usize| {
            let len = (line.frame() - 1) * line.pitch() + steps;
            if count == 1 {
                return self.put_in_rings(&line, from, ring.at(first));
            }
            let (place, walk) = self.stride("frames", ring.at(first), (len, 1), true);
            let body = self.put_in_rings(&line, from, place);
            let at = match least {
                0 => self.phase(period),
                _ => op(LaneOp::WrappingSub, vec![self.phase(period), number(least)]),
            };
            vec![Stmt::Pick { at, count, walk, body }]
        };
        body.extend(write(before, 0, period));
        let behind = period - before;
        let in_front = write(0, behind, before);
        if behind == 0 {
            body.extend(in_front);
            return body;
        }
        let then = write(before + period, 0, behind);
        let less = (self.phase(period), number(behind));
        body.push(Stmt::If { less, then, otherwise: in_front });
        body
    }

    /// Copies the frames of the steps to one place of each ring. Taps are loaded as whole vectors,
    /// so frames are stored as whole vectors: processors do not forward several smaller stores to
    /// one load.
    fn put_in_rings(&mut self, line: &DelayLine, from: Place, to: Place) -> Vec<Stmt> {
        let (steps, count) = (self.lowering.steps, line.frame());
        if steps == 1 {
            return vec![strided(from, to, [(count, 1, line.pitch())])];
        }
        let copied = |from: Place, to: Place| {
            let vectors = plan::vectors(steps, self.lowering.isa.lanes).into_iter();
            let copied = |(at, lanes): (usize, usize)| Stmt::Store {
                to: to.at(at),
                value: load(from.at(at), lanes),
            };
            vectors.map(copied).collect()
        };
        if count == 1 {
            return copied(from, to);
        }
        let (from, of_from) = self.walk("steps", from, steps, false);
        let (to, of_to) = self.stride("ring", to, (steps, line.pitch()), true);
        let body = copied(from, to);
        let walks = vec![of_from, of_to];
        vec![Stmt::repeat(count, walks, body)]
    }

    /// The count of steps modulo `period`.
    fn phase(&self, period: usize) -> Expr {
        let phase = self.lowering.memory.program.find(Role::Phase(period));
        let from = phase.expect("lower: every period has a count of steps").into();
        Expr::Length { from, least: 0, most: period - 1 }
    }

    /// Moves `len` elements by `by` elements toward the start of memory, to `to`, in ascending
    /// order.
    fn moved(&mut self, to: Place, len: usize, by: usize) -> Vec<Stmt> {
        let lanes = self.lowering.isa.lanes;
        let step = |to: Place, lanes: usize| Stmt::Store { to, value: load(to.at(by), lanes) };
        let (mut body, mut done) = (Vec::new(), 0);
        if len / lanes > MOST_MOVED {
            let (window, walk) = self.stride("frames", to, (by + lanes, lanes), true);
            done = len / lanes * lanes;
            body.push(Stmt::repeat(len / lanes, vec![walk], vec![step(window, lanes)]));
        }
        let rest = plan::vectors(len - done, lanes).into_iter();
        body.extend(rest.map(|(at, lanes)| step(to.at(done + at), lanes)));
        body
    }

    /// The statements of `body` for the place of the step's row, or of the oldest frame in rings.
    pub(super) fn with_row(
        &mut self,
        history: &KeptHistory,
        written: bool,
        body: impl FnOnce(&mut Self, Place) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        let (line, period) = (history.line, history.line.period());
        let memory: Place = self.lowering.memory.variables[history.variable].into();
        if period == 1 {
            return body(self, memory);
        }
        let (first, len, stride) = match line.order {
            FrameOrder::Rows => (0, line.row(), line.row()),
            FrameOrder::Rings { steps: most } => {
                let steps = if self.lowering.steps == 1 { 0 } else { self.lowering.steps };
                (most, (line.frame() - 1) * line.pitch() + line.history() + steps, 1)
            }
        };
        let at = self.phase(period);
        let (place, walk) = self.stride("row", memory.at(first), (len, stride), written);
        vec![Stmt::Pick { at, count: period, walk, body: body(self, place) }]
    }
}

/// A number of places in a delay line, as u32.
fn number(places: usize) -> Expr {
    Expr::u32(u32::try_from(places).expect("plan: periods fit 32 bits"), 1)
}

/// Copies some taps.
fn taken(from: Place, to: Place, taken: &CopiedElements) -> Stmt {
    let dims = taken.dims.iter().map(|(extent, from, to)| (*extent, from.cast_signed(), *to));
    strided(from.at(taken.from), to.at(taken.to), dims)
}
