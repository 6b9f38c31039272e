//! Loop unrolling. rustc has no unroll attribute but unrolls short loops. An unrolled loop is
//! therefore a loop over short loops.

use crate::arch::SHORT_LOOP_ITERATIONS;
use crate::emit::hints;
use crate::kernel::{Body, Kernel, Place, Stmt, Walk, WindowId};

/// The body with unrolled loops, for an instruction set with vectors of `lanes` f32.
pub(super) fn unrolled(body: &Body, lanes: usize) -> Body {
    let mut body = body.clone();
    for kernel in body.kernels.iter_mut().filter(|kernel| !kernel.hints.unrolled_by.is_empty()) {
        let factors =
            kernel.hints.unrolled_by.iter().filter(|(_, factor)| *factor > 1).copied().collect();
        let hints = Kernel { body: Vec::new(), ..kernel.clone() };
        let registers = kernel.locals.iter().map(|local| local.ty.lanes.div_ceil(lanes)).collect();
        let mut scope = Unrolling { hints, factors, registers, windows: windows(&kernel.body) };
        kernel.body = scope.block(std::mem::take(&mut kernel.body));
    }
    body
}

struct Unrolling {
    /// The kernel, without its body.
    hints: Kernel,
    factors: Vec<(WindowId, usize)>,
    /// Vector registers of each local variable.
    registers: Vec<usize>,
    /// The number of windows.
    windows: usize,
}

impl Unrolling {
    fn block(&mut self, body: Vec<Stmt>) -> Vec<Stmt> {
        body.into_iter().flat_map(|stmt| self.statement(stmt)).collect()
    }

    fn statement(&mut self, stmt: Stmt) -> Vec<Stmt> {
        match stmt {
            Stmt::For { count, counter, backwards, walks, body } => {
                let first = walks.first().map(|walk| walk.window);
                match self.factors.iter().find(|(window, _)| first == Some(*window)) {
                    // a function of the file unrolls the loop, or the loop is kept:
                    // [`hints::PAIRS_SPLIT`]
                    Some(_)
                        if self.hints.row_sums(&walks, &body).is_some()
                            || hints::splits_pairs(&body) =>
                    {
                        vec![Stmt::For { count, counter, backwards, walks, body }]
                    }
                    Some(&(_, factor)) => self.unrolled_by(count, factor, &walks, &body),
                    None => {
                        let body = self.block(body);
                        vec![Stmt::For { count, counter, backwards, walks, body }]
                    }
                }
            }
            Stmt::Pick { at, count, walk, body } => {
                vec![Stmt::Pick { at, count, walk, body: self.block(body) }]
            }
            Stmt::If { less, then, otherwise } => {
                let (then, otherwise) = (self.block(then), self.block(otherwise));
                vec![Stmt::If { less, then, otherwise }]
            }
            stmt => vec![stmt],
        }
    }

    /// A loop of `count` iterations, unrolled by `factor`.
    fn unrolled_by(
        &mut self,
        count: usize,
        factor: usize,
        walks: &[Walk],
        body: &[Stmt],
    ) -> Vec<Stmt> {
        let registers =
            |stmt: &Stmt| if let Stmt::Set { var, .. } = stmt { self.registers[var.0] } else { 0 };
        let sums: usize = body.iter().map(registers).sum();
        let each = if sums <= hints::FEW_SUMS && factor.is_multiple_of(2 * SHORT_LOOP_ITERATIONS) {
            2 * SHORT_LOOP_ITERATIONS
        } else {
            SHORT_LOOP_ITERATIONS
        };
        let part = |places: &[Place], first: usize, count: usize| {
            let walks = walks
                .iter()
                .zip(places)
                .map(|(walk, place)| Walk { start: place.at(first * walk.stride), ..walk.clone() });
            Stmt::repeat(count, walks.collect(), body.to_vec())
        };
        let wide: Vec<_> = walks
            .iter()
            .map(|walk| {
                self.windows += 1;
                Walk {
                    window: WindowId(self.windows - 1),
                    name: format!("{}s", walk.name),
                    len: (factor - 1) * walk.stride + walk.len,
                    stride: factor * walk.stride,
                    ..walk.clone()
                }
            })
            .collect();
        let windows: Vec<Place> = wide.iter().map(|walk| walk.window.into()).collect();
        let parts = (0..factor).step_by(each).map(|first| part(&windows, first, each));
        let unrolled = match factor / each {
            1 => format!("rustc unrolls a loop of {each} turns"),
            parts => {
                format!("rustc unrolls loops of {each} turns; {parts} of them make one of {factor}")
            }
        };
        let why = Stmt::Comment(format!("{unrolled}: {}", hints::PREFETCHED.printed));
        let parts = [why].into_iter().chain(parts).collect();
        let long = Stmt::repeat(count / factor, wide, parts);
        let rest = (!count.is_multiple_of(factor)).then(|| {
            let starts: Vec<_> = walks.iter().map(|walk| walk.start).collect();
            part(&starts, count - count % factor, count % factor)
        });
        [long].into_iter().chain(rest).collect()
    }
}

/// The number of windows: the largest window index plus one.
fn windows(body: &[Stmt]) -> usize {
    let of_walk = |walk: &Walk| walk.window.0 + 1;
    let of_stmt = |stmt: &Stmt| match stmt {
        Stmt::For { walks, body, .. } => {
            walks.iter().map(of_walk).max().unwrap_or(0).max(windows(body))
        }
        Stmt::Pick { walk, body, .. } => of_walk(walk).max(windows(body)),
        Stmt::If { then, otherwise, .. } => windows(then).max(windows(otherwise)),
        _ => 0,
    };
    body.iter().map(of_stmt).max().unwrap_or(0)
}
