use std::collections::BTreeMap;

use crate::kernel::{Base, Body, Copied, Expr, Kernel, Place, Stmt, Tiles, Walk, WindowId};

/// Replaces loops of one iteration by their bodies, unless the statements need the loop. If a
/// kernel has as many loops in another body of the program, and the corresponding loop there has
/// several iterations, the loop stays: emitted kernels of several instruction sets may then share
/// one text.
pub(crate) fn single(bodies: &mut [Body]) {
    let counts: Vec<Vec<(String, Vec<Counted>)>> =
        bodies.iter().map(|body| counts_of(&body.kernels)).collect();
    for body in bodies {
        for kernel in &mut body.kernels {
            let mut kernel_counts = Vec::new();
            count(kernel, &kernel.body, &mut kernel_counts);
            let same = counts
                .iter()
                .flatten()
                .filter(|(name, other)| *name == kernel.name && other.len() == kernel_counts.len());
            let mut is_single: Vec<_> =
                kernel_counts.iter().map(|loops| loops.is_single()).collect();
            for (_, other) in same {
                is_single
                    .iter_mut()
                    .zip(other)
                    .for_each(|(is_single, other)| *is_single &= other.is_single());
            }
            if is_single.contains(&true) {
                let statements = std::mem::take(&mut kernel.body);
                let mut scope =
                    Scope { is_single: is_single.into_iter(), kernel, places: BTreeMap::new() };
                let mut out = Vec::new();
                scope.block(statements, &mut out);
                scope.kernel.body = out;
            }
        }
    }
}

/// A loop of a kernel.
struct Counted {
    count: usize,
    /// True if the statements need the loop: they leave the loop, read the iteration number, or
    /// access windows whose relation is hidden from compilers.
    is_needed: bool,
}

impl Counted {
    fn is_single(&self) -> bool {
        self.count == 1 && !self.is_needed
    }
}

/// The loops of every kernel, by the kernel's name.
fn counts_of(kernels: &[Kernel]) -> Vec<(String, Vec<Counted>)> {
    let loops = |kernel: &Kernel| {
        let mut counts = Vec::new();
        count(kernel, &kernel.body, &mut counts);
        (kernel.name.clone(), counts)
    };
    kernels.iter().map(loops).collect()
}

/// Appends the loops of statements, outer loops first.
fn count(kernel: &Kernel, body: &[Stmt], all: &mut Vec<Counted>) {
    for stmt in body {
        match stmt {
            Stmt::For { count: iterations, counter, walks, body, .. } => {
                let is_left = matches!(body.last(), Some(Stmt::LeaveUnless { .. }));
                let is_apart =
                    walks.iter().any(|walk| kernel.hints.unrelated.contains(&walk.window));
                all.push(Counted {
                    count: *iterations,
                    is_needed: counter.is_some() || is_left || is_apart,
                });
                count(kernel, body, all);
            }
            Stmt::Pick { body, .. } => count(kernel, body, all),
            Stmt::If { then, otherwise, .. } => {
                count(kernel, then, all);
                count(kernel, otherwise, all);
            }
            _ => {}
        }
    }
}

/// The rewriting of the statements of one kernel. `is_single`: for each loop in order, true if the
/// loop is replaced.
struct Scope<'a, I> {
    is_single: I,
    kernel: &'a mut Kernel,
    /// The places of the windows of removed loops.
    places: BTreeMap<WindowId, Place>,
}

impl<I: Iterator<Item = bool>> Scope<'_, I> {
    fn place(&self, place: Place) -> Place {
        match place.base {
            Base::Window(window) => {
                self.places.get(&window).map_or(place, |start| start.at(place.offset))
            }
            Base::Buffer(_) => place,
        }
    }

    fn walk(&self, walk: Walk) -> Walk {
        Walk { start: self.place(walk.start), ..walk }
    }

    fn block(&mut self, body: Vec<Stmt>, out: &mut Vec<Stmt>) {
        for stmt in body {
            let stmt = match stmt {
                Stmt::For { count, counter, backwards, walks, body } => {
                    let is_single = self.is_single.next().unwrap_or(false);
                    let walks: Vec<_> = walks.into_iter().map(|walk| self.walk(walk)).collect();
                    if is_single {
                        self.places.extend(walks.iter().map(|walk| (walk.window, walk.start)));
                        self.kernel
                            .hints
                            .passes
                            .retain(|pass| walks.iter().all(|walk| walk.window != *pass));
                        self.block(body, out);
                        continue;
                    }
                    Stmt::For { count, counter, backwards, walks, body: self.inner(body) }
                }
                Stmt::Pick { at, count, walk, body } => Stmt::Pick {
                    at: self.expr(at),
                    count,
                    walk: self.walk(walk),
                    body: self.inner(body),
                },
                Stmt::If { less: (a, b), then, otherwise } => {
                    let less = (self.expr(a), self.expr(b));
                    Stmt::If { less, then: self.inner(then), otherwise: self.inner(otherwise) }
                }
                Stmt::LeaveUnless { less: (a, b) } => {
                    Stmt::LeaveUnless { less: (self.expr(a), self.expr(b)) }
                }
                Stmt::Let { var, mutable, value } => {
                    Stmt::Let { var, mutable, value: self.expr(value) }
                }
                Stmt::Set { var, value } => Stmt::Set { var, value: self.expr(value) },
                Stmt::Store { to, value } => {
                    Stmt::Store { to: self.place(to), value: self.expr(value) }
                }
                Stmt::Copy(copied) => {
                    let (from, to) = (self.place(copied.from), self.place(copied.to));
                    Stmt::Copy(Copied { from, to, ..copied })
                }
                Stmt::Tiles(tiles) => {
                    let [elements, weights, to] =
                        [tiles.elements, tiles.weights, tiles.to].map(|place| self.place(place));
                    Stmt::Tiles(Tiles { elements, weights, to, ..tiles })
                }
                Stmt::Blocks(sums) => Stmt::Blocks(sums.at(|place| self.place(place))),
                Stmt::Comment(text) => Stmt::Comment(text),
            };
            out.push(stmt);
        }
    }

    fn inner(&mut self, body: Vec<Stmt>) -> Vec<Stmt> {
        let mut out = Vec::new();
        self.block(body, &mut out);
        out
    }

    fn expr(&self, expr: Expr) -> Expr {
        let exprs = |args: Vec<Expr>| args.into_iter().map(|arg| self.expr(arg)).collect();
        match expr {
            Expr::Load { from, lanes } => Expr::Load { from: self.place(from), lanes },
            Expr::Splat { from, lanes } => Expr::Splat { from: self.place(from), lanes },
            Expr::Length { from, least, most } => {
                Expr::Length { from: self.place(from), least, most }
            }
            Expr::Op(operation, args) => Expr::Op(operation, exprs(args)),
            Expr::Call(function, args) => Expr::Call(function, exprs(args)),
            Expr::Const { .. } | Expr::Var(_) => expr,
        }
    }
}
