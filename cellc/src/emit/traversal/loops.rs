//! Loops over windows, and windows at run-time positions.

use std::rc::Rc;

use super::block::{Block, ColumnGroup};
use super::dialect::{Dialect, UnrollHints};
use super::statements::MovingWindow;
use super::sums::is_set;
use super::walk::Traversal;
use crate::emit::names::Scope;
use crate::kernel::{Base, Expr, Stmt, Var, Walk, WindowId};

/// True if a loop loads vectors from overlapping windows: LLVM would merge iterations and assemble
/// vectors from each other.
fn takes_overlapping(walks: &[Walk], body: &[Stmt]) -> bool {
    let plain =
        |stmt: &Stmt| matches!(stmt, Stmt::Let { .. } | Stmt::Set { .. } | Stmt::Comment(_));
    walks.iter().any(|walk| walk.stride < walk.len) && body.iter().all(plain)
}

/// True if a loop sums integers: unlike f32 sums, integer sums may be formed in any order.
fn has_integer_sums(body: &[Stmt]) -> bool {
    let is_dot = |value: &Expr| matches!(value, Expr::Op(operation, _) if operation.is_dot());
    body.iter().any(|stmt| matches!(stmt, Stmt::Set { value, .. } if is_dot(value)))
}

impl Traversal<'_> {
    /// True if compilers must not unroll a loop.
    fn is_kept(&self, walks: &[Walk], body: &[Stmt]) -> bool {
        let is_kept = |(window, factor): &(WindowId, usize)| {
            *factor == 1 && walks.first().is_some_and(|walk| walk.window == *window)
        };
        self.kernel.hints.unrolled_by.iter().any(is_kept)
            || self.kernel.hints.meanwhile.iter().any(|var| is_set(body, *var))
    }

    /// Declares the numbers of iterations of all loops that compilers must not unroll.
    pub(super) fn hide_counts(&mut self, body: &[Stmt], dialect: &mut impl Dialect) {
        for stmt in body {
            match stmt {
                Stmt::For { count, walks, body, .. } => {
                    if self.is_kept(walks, body) && !self.hidden.contains_key(count) {
                        let name = self.scope.unique("turns");
                        dialect.hidden_count(&name, *count);
                        self.hidden.insert(*count, name);
                    }
                    self.hide_counts(body, dialect);
                }
                Stmt::Pick { body, .. } => self.hide_counts(body, dialect),
                Stmt::If { then, otherwise, .. } => {
                    self.hide_counts(then, dialect);
                    self.hide_counts(otherwise, dialect);
                }
                _ => {}
            }
        }
    }

    fn has_only_vectors(&self, body: &[Stmt]) -> bool {
        let computes = |stmt: &Stmt| match stmt {
            Stmt::Store { value, .. } => {
                !matches!(value, Expr::Const { .. }) && value.ty(self.locals).lanes > 1
            }
            _ => false,
        };
        let plain =
            |stmt: &Stmt| matches!(stmt, Stmt::Let { .. } | Stmt::Store { .. } | Stmt::Comment(_));
        body.iter().any(computes) && body.iter().all(plain)
    }

    /// A loop.
    pub(super) fn repeated(
        &mut self,
        count: usize,
        [counter, backwards]: [Option<Var>; 2],
        (walks, body): (&[Walk], &[Stmt]),
        dialect: &mut impl Dialect,
    ) {
        // a window's name is free again after its loop
        let around = Rc::new(std::mem::take(&mut self.scope));
        self.scope = Scope::within(around);
        let windows: Vec<Block> = walks.iter().map(|w| self.window(w)).collect();
        if let Some(counter) = counter {
            self.names[counter.0] = self.scope.unique(&self.locals[counter.0].name);
        }
        let has_sums = body.iter().any(|stmt| matches!(stmt, Stmt::Set { .. }));
        let meanwhile: Vec<_> =
            self.kernel.hints.meanwhile.iter().filter(|var| is_set(body, **var)).collect();
        let hidden = self.hidden.get(&count).filter(|_| self.is_kept(walks, body));
        let rows = walks.iter().position(|w| !w.written && w.stride == w.len);
        let walking: Vec<_> = walks
            .iter()
            .zip(&windows)
            .enumerate()
            .map(|(at, (w, window))| MovingWindow {
                window,
                block: self.base(w.start.base),
                offset: self.base(w.start.base).at(w.start.offset),
                stride: w.stride,
                written: w.written,
                reverse: w.reverse,
                count: hidden.filter(|_| rows == Some(at)).map(String::as_str),
                hides_place: self.kernel.hints.unrelated.contains(&w.window),
                is_pass: self.kernel.hints.passes.contains(&w.window),
            })
            .collect();
        let first = walks.first().map(|walk| walk.window);
        match self.kernel.hints.unrolled_by.iter().find(|(window, _)| first == Some(*window)) {
            Some((_, factor)) => dialect.unrolled_by(count, *factor),
            None if has_sums && dialect.unroll_hints() == UnrollHints::OnAllSums => {
                dialect.unrolled_by(count, 1)
            }
            None => {}
        }
        let name = |var: Option<Var>| var.map(|var| &*self.names[var.0]);
        dialect.begin_for(count, name(counter), name(backwards), &walking);
        drop(walking);
        for (walk, window) in walks.iter().zip(windows) {
            if has_sums && !walk.written {
                dialect.row(&window);
            }
            self.enter(walk.window, window);
        }
        if self.has_only_vectors(body) || takes_overlapping(walks, body) || has_integer_sums(body) {
            dialect.only_vectors();
        }
        self.block(body, dialect);
        dialect.end_block();
        self.scope = std::mem::take(&mut self.scope).leave();
        for var in
            self.kernel.hints.chains.iter().filter(|var| is_set(body, **var)).chain(meanwhile)
        {
            dialect.after_sums(&self.names[var.0]);
        }
    }

    /// The body for one of `count` windows: the window with a computed index.
    pub(super) fn picked(
        &mut self,
        (at, count): (&Expr, usize),
        walk: &Walk,
        body: &[Stmt],
        dialect: &mut impl Dialect,
    ) {
        let is_inside = matches!(at, Expr::Length { most, .. } if *most < count);
        let most = (!is_inside).then(|| count - 1);
        let at = self.expr(at, dialect);
        let around = Rc::new(std::mem::take(&mut self.scope));
        self.scope = Scope::within(around);
        let name = self.scope.unique(&walk.name);
        let block = self.base(walk.start.base);
        let window = Block { name, len: walk.len, ..block.clone() };
        let (offset, stride) = (walk.start.offset, walk.stride);
        let walking = MovingWindow {
            window: &window,
            block,
            offset,
            stride,
            written: walk.written,
            reverse: false,
            count: None,
            hides_place: false,
            is_pass: false,
        };
        dialect.begin_pick(at, count, most, &walking);
        self.enter(walk.window, window);
        self.block(body, dialect);
        dialect.end_block();
        self.scope = std::mem::take(&mut self.scope).leave();
    }

    /// The window of a walk. Within a column group, the window holds all columns of the panel.
    fn window(&mut self, walk: &Walk) -> Block {
        let name = self.scope.unique(&walk.name);
        let block = self.base(walk.start.base);
        let group = block.group.as_ref().map(|(_, group)| (0, Rc::clone(group)));
        let columns_beyond = group.as_ref().map_or(0, |(_, group)| group.columns - group.width);
        Block { name, len: walk.len + columns_beyond, group, ..block.clone() }
    }

    /// True if a loop runs over column groups of a panel.
    pub(super) fn is_pass(&self, walks: &[Walk]) -> bool {
        walks.first().is_some_and(|walk| self.kernel.hints.passes.contains(&walk.window))
    }

    /// A loop over the column groups of a panel.
    pub(super) fn passes(
        &mut self,
        count: usize,
        walks: &[Walk],
        body: &[Stmt],
        dialect: &mut impl Dialect,
    ) {
        let around = Rc::new(std::mem::take(&mut self.scope));
        self.scope = Scope::within(around);
        let width = walks[0].stride;
        let name = self.scope.unique("columns");
        let group = Rc::new(ColumnGroup { name, width, columns: width * count });
        dialect.begin_passes(&group);
        for walk in walks {
            let block = self.base(walk.start.base).clone();
            let window =
                Block { group: Some((block.at(walk.start.offset), Rc::clone(&group))), ..block };
            if let Base::Buffer(id) = walk.start.base {
                self.wholes.insert(walk.window, id);
            }
            self.enter(walk.window, window);
        }
        self.block(body, dialect);
        dialect.end_block();
        self.scope = std::mem::take(&mut self.scope).leave();
    }
}
