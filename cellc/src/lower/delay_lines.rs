//! Delay lines: views gather their taps from the row of the step, and at the end of a step each
//! line takes the frame of the step.

use super::builder::{KernelBuilder, load};
use super::layout::strided;
use crate::kernel::{Expr, Place, Role, Stmt};
use crate::plan::{self, History, Taken, Taps};

/// Upper limit for unrolled vectors that move the frames of a row.
const MOST_MOVED: usize = 16;

impl<'m> KernelBuilder<'_, 'm> {
    /// A view of a history and the frame of the step.
    pub(super) fn gathered(&mut self, taps: &Taps, out: Place) -> (Vec<String>, Vec<Stmt>) {
        let plan = self.lowering.plan;
        let history = &plan.delay_lines.histories[taps.history];
        let mut body = Vec::new();
        if let Some(earlier) = &taps.earlier {
            body.extend(self.with_row(history, false, |_, row| vec![taken(row, out, earlier)]));
        }
        if let Some(newest) = &taps.newest {
            let frame = self.lowering.source(history.frame);
            let frame = self.given(&mut body, "frame", history.frame, frame);
            body.push(taken(frame, out, newest));
        }
        (vec![format!("Elements of {}, and of the newest frame.", history.line)], body)
    }

    /// Moves the frames of the step's row by one place and writes the frame of the step behind
    /// them. The other rows stay.
    pub(super) fn take_frame(&mut self, history: &History) -> Vec<Stmt> {
        let source = history.frame;
        let from = self.lowering.source(source);
        let (frame, row) = (history.line.frame(), history.line.row());
        self.with_row(history, true, |builder, place| {
            let mut body = builder.moved(place, row - frame, frame);
            body.extend(builder.read_rows(source, from, place.at(row - frame), frame));
            body
        })
    }

    /// Moves `len` elements to `to` from `by` elements behind it, the first elements first.
    fn moved(&mut self, to: Place, len: usize, by: usize) -> Vec<Stmt> {
        let lanes = self.lowering.isa.lanes;
        let step = |to: Place, lanes: usize| Stmt::Store { to, value: load(to.at(by), lanes) };
        let (mut body, mut done) = (Vec::new(), 0);
        if len / lanes > MOST_MOVED {
            let (window, walk) = self.stride("frames", to, (by + lanes, lanes), true);
            done = len / lanes * lanes;
            body.push(Stmt::For {
                count: len / lanes,
                turn: None,
                backwards: None,
                walks: vec![walk],
                body: vec![step(window, lanes)],
            });
        }
        let rest = plan::vectors(len - done, lanes).into_iter();
        body.extend(rest.map(|(at, lanes)| step(to.at(done + at), lanes)));
        body
    }

    /// The statements of `body` with the row of the step.
    pub(super) fn with_row(
        &mut self,
        history: &History,
        written: bool,
        body: impl FnOnce(&mut Self, Place) -> Vec<Stmt>,
    ) -> Vec<Stmt> {
        let (phases, row) = (history.line.phases, history.line.row());
        let line: Place = self.lowering.memory.variables[history.variable].into();
        if phases == 1 {
            return body(self, line);
        }
        let phase = self.lowering.memory.program.find(Role::Phase(phases));
        let from = phase.expect("lower: every number of phases has a count of steps").into();
        let at = Expr::Length { from, least: 0, most: phases - 1 };
        let (place, walk) = self.stride("row", line, (row, row), written);
        vec![Stmt::Pick { at, count: phases, walk, body: body(self, place) }]
    }
}

/// The copy of some taps.
fn taken(from: Place, to: Place, taken: &Taken) -> Stmt {
    let dims = taken.dims.iter().map(|(extent, from, to)| (*extent, from.cast_signed(), *to));
    strided(from.at(taken.from), to.at(taken.to), dims)
}
