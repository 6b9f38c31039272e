use std::collections::BTreeMap;

use crate::kernel::{
    Base, Body, Copied, Expr, Kernel, Local, Loops, Place, Stmt, Tiles, Var, Walk, WindowId,
};

/// Unrolls the loops of kernels whose loops are [`Loops::Unrolled`]: windows become constant
/// offsets. Passes over columns stay, and loops whose direction or number of iterations is known
/// only at run time.
pub(crate) fn unroll(body: &mut Body) {
    for kernel in &mut body.kernels {
        if kernel.loops == Loops::Unrolled {
            let body = std::mem::take(&mut kernel.body);
            // each iteration gets new variables, and hints about the old variables are dropped
            let locals = std::mem::take(&mut kernel.locals);
            kernel.hints.chains.clear();
            kernel.hints.meanwhile.clear();
            let mut scope =
                Unroll { kernel, locals, windows: BTreeMap::new(), renamed: BTreeMap::new() };
            let mut out = Vec::new();
            scope.block(&body, &mut out);
            kernel.body = out;
        }
    }
}

struct Unroll<'a> {
    kernel: &'a mut Kernel,
    /// The kernel's variables before unrolling.
    locals: Vec<Local>,
    /// The place of each window in the current iteration.
    windows: BTreeMap<WindowId, Place>,
    /// The new variable for each variable of a loop body, in the current iteration.
    renamed: BTreeMap<Var, Var>,
}

impl Unroll<'_> {
    fn place(&self, place: Place) -> Place {
        match place.base {
            Base::Buffer(_) => place,
            Base::Window(window) => self.windows[&window].at(place.offset),
        }
    }

    /// A new variable for `var` in the current iteration.
    fn rename(&mut self, var: Var) -> Var {
        let local = self.locals[var.0].clone();
        let fresh = self.kernel.local(local.name, local.ty);
        self.renamed.insert(var, fresh);
        fresh
    }

    /// Begins iteration `k` of `count`: sets the places of the windows and the iteration number.
    fn enter(
        &mut self,
        (k, count): (usize, usize),
        counter: Option<Var>,
        walks: &[Walk],
        out: &mut Vec<Stmt>,
    ) {
        for walk in walks {
            let window = if walk.reverse { count - 1 - k } else { k };
            let place = self.place(walk.start).at(window * walk.stride);
            self.windows.insert(walk.window, place);
        }
        if let Some(counter) = counter {
            let number = u32::try_from(k).expect("unroll: iterations are numbered in 32 bits");
            let var = self.rename(counter);
            out.push(Stmt::Let { var, mutable: false, value: Expr::u32(number, 1) });
        }
    }

    fn block(&mut self, body: &[Stmt], out: &mut Vec<Stmt>) {
        for stmt in body {
            match stmt {
                Stmt::Let { var, mutable, value } => {
                    let value = self.expr(value);
                    let fresh = self.rename(*var);
                    out.push(Stmt::Let { var: fresh, mutable: *mutable, value });
                }
                Stmt::Set { var, value } => {
                    let value = self.expr(value);
                    out.push(Stmt::Set { var: self.renamed[var], value });
                }
                Stmt::Store { to, value } => {
                    let value = self.expr(value);
                    out.push(Stmt::Store { to: self.place(*to), value });
                }
                // these loops stay: direction or number of iterations are known only at run time,
                // or passes over columns depend on the instruction set while bodies share one text
                Stmt::For { count, counter, backwards, walks, body }
                    if backwards.is_some()
                        || walks
                            .iter()
                            .any(|walk| self.kernel.hints.passes.contains(&walk.window))
                        || matches!(body.last(), Some(Stmt::LeaveUnless { .. })) =>
                {
                    let counter = counter.map(|counter| self.rename(counter));
                    let walks: Vec<_> = walks
                        .iter()
                        .map(|w| Walk { start: self.place(w.start), ..w.clone() })
                        .collect();
                    for walk in &walks {
                        self.windows.insert(walk.window, walk.window.into());
                    }
                    let mut inner = Vec::new();
                    self.block(body, &mut inner);
                    let backwards = backwards.map(|var| self.renamed[&var]);
                    out.push(Stmt::For { count: *count, counter, backwards, walks, body: inner });
                }
                Stmt::For { count, counter, walks, body, .. } => {
                    for k in 0..*count {
                        self.enter((k, *count), *counter, walks, out);
                        self.block(body, out);
                    }
                }
                // the place of the window is known only at run time
                Stmt::Pick { at, count, walk, body } => {
                    let at = self.expr(at);
                    let walk = Walk { start: self.place(walk.start), ..walk.clone() };
                    self.windows.insert(walk.window, walk.window.into());
                    let mut inner = Vec::new();
                    self.block(body, &mut inner);
                    out.push(Stmt::Pick { at, count: *count, walk, body: inner });
                }
                Stmt::If { less: (a, b), then, otherwise } => {
                    let less = (self.expr(a), self.expr(b));
                    let [mut new_then, mut new_otherwise] = [Vec::new(), Vec::new()];
                    self.block(then, &mut new_then);
                    self.block(otherwise, &mut new_otherwise);
                    out.push(Stmt::If { less, then: new_then, otherwise: new_otherwise });
                }
                Stmt::LeaveUnless { less: (a, b) } => {
                    out.push(Stmt::LeaveUnless { less: (self.expr(a), self.expr(b)) });
                }
                Stmt::Copy(copied) => {
                    let (from, to) = (self.place(copied.from), self.place(copied.to));
                    out.push(Stmt::Copy(Copied { from, to, ..copied.clone() }));
                }
                Stmt::Tiles(tiles) => {
                    let [elements, weights, to] =
                        [tiles.elements, tiles.weights, tiles.to].map(|place| self.place(place));
                    out.push(Stmt::Tiles(Tiles { elements, weights, to, ..tiles.clone() }));
                }
                Stmt::Blocks(sums) => {
                    out.push(Stmt::Blocks(sums.at(|place| self.place(place))));
                }
                Stmt::Comment(text) => out.push(Stmt::Comment(text.clone())),
            }
        }
    }

    fn expr(&self, expr: &Expr) -> Expr {
        match expr {
            Expr::Load { from, lanes } => Expr::Load { from: self.place(*from), lanes: *lanes },
            Expr::Splat { from, lanes } => Expr::Splat { from: self.place(*from), lanes: *lanes },
            Expr::Const { .. } => expr.clone(),
            Expr::Length { from, least, most } => {
                Expr::Length { from: self.place(*from), least: *least, most: *most }
            }
            Expr::Var(var) => Expr::Var(self.renamed[var]),
            Expr::Op(operation, args) => {
                Expr::Op(*operation, args.iter().map(|a| self.expr(a)).collect())
            }
            Expr::Call(function, args) => {
                Expr::Call(*function, args.iter().map(|a| self.expr(a)).collect())
            }
        }
    }
}
