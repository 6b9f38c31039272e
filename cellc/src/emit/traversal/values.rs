//! Values that blocks of statements declare and store.

use std::collections::BTreeSet;

use super::dialect::{Dialect, LoadsTogether, Support};
use super::stored::Stored;
use super::walk::Traversal;
use crate::arch::Calls;
use crate::kernel::{Base, BufferId, Expr, LaneOp, Local, Place, Scalar, Stmt, Type, Var};

/// The place and type of an expression that is only a load, of values or of bits.
fn loaded(value: &Expr) -> Option<(Place, Type)> {
    match value {
        Expr::Load { from, lanes } => Some((*from, Type::f32(*lanes))),
        Expr::Op(LaneOp::ToBits, args) => match args[..] {
            [Expr::Load { from, lanes }] => Some((from, Type { scalar: Scalar::U32, lanes })),
            _ => None,
        },
        _ => None,
    }
}

/// Consecutive independent calls of a function of one argument: the variable and the arguments of
/// each call.
fn same_calls<'a>(
    var: Var,
    function: usize,
    args: &'a [Expr],
    others: &'a [Stmt],
) -> Vec<(Var, &'a [Expr])> {
    let mut calls = vec![(var, args)];
    for stmt in others {
        match stmt {
            Stmt::Let { var, mutable: false, value: Expr::Call(next, args) }
                if *next == function
                    && !args.iter().any(|arg| {
                        arg.any(&mut |part| calls.iter().any(|(var, _)| *part == Expr::Var(*var)))
                    }) =>
            {
                calls.push((*var, args));
            }
            _ => break,
        }
    }
    calls
}

/// True if a statement is a store to a buffer or window.
fn stores_to(stmt: &Stmt, base: Base) -> bool {
    matches!(stmt, Stmt::Store { to, .. } if to.base == base)
}

/// True if a store is the last vector store to a place and later loads cross the boundaries of the
/// stored vectors. `done`: the statements up to the store.
fn is_read_across(done: &[Stmt], locals: &[Local], rest: &[Stmt], dialect: &impl Dialect) -> bool {
    let stored = |stmt: &Stmt| match stmt {
        Stmt::Store { to, value } => Some((*to, value.ty(locals).lanes)),
        _ => None,
    };
    let Some((last, _)) = done.last().and_then(stored) else { return false };
    let store_to_base = |stmt: &Stmt| stored(stmt).filter(|(to, _)| to.base == last.base);
    if rest.first().and_then(store_to_base).is_some() {
        return false;
    }
    let parts = |(place, lanes): (Place, usize)| {
        dialect
            .registers(lanes)
            .into_iter()
            .map(move |(first, lanes)| (place.offset + first, lanes))
    };
    let ends: Vec<_> = done
        .iter()
        .rev()
        .map_while(store_to_base)
        .flat_map(parts)
        .map(|(first, lanes)| first + lanes)
        .collect();
    let across = |from: &Place, lanes: usize| {
        let ends_within =
            |(first, lanes)| ends.iter().any(|end| (first + 1..first + lanes).contains(end));
        from.base == last.base && parts((*from, lanes)).any(ends_within)
    };
    rest.iter().any(|stmt| match stmt {
        Stmt::Let { value, .. } | Stmt::Store { value, .. } => value
            .any(&mut |part| matches!(part, Expr::Load { from, lanes } if across(from, *lanes))),
        _ => false,
    })
}

impl Traversal<'_> {
    /// Tells the dialect if a pass over elements begins: the next statements declare sums.
    pub(super) fn read_again(&self, body: &[Stmt], dialect: &mut impl Dialect) {
        let declared = body.iter().take_while(|stmt| matches!(stmt, Stmt::Let { .. }));
        let sums = declared.filter(|stmt| matches!(stmt, Stmt::Let { mutable: true, .. })).count();
        if sums == 0 {
            return;
        }
        let mut bases = BTreeSet::new();
        let pass = body.iter().take_while(|stmt| !matches!(stmt, Stmt::Store { .. }));
        for stmt in pass {
            if let Stmt::Let { value, .. } = stmt {
                value.any(&mut |expr| {
                    if let Expr::Splat { from: Place { base, .. }, .. } = expr {
                        bases.insert(*base);
                    }
                    false
                });
            }
        }
        let is_private =
            |base: Base| matches!(base, Base::Buffer(id) if self.kernel.scratch.contains(&id));
        let elements: Vec<_> =
            bases.into_iter().map(|base| (self.base(base), is_private(base))).collect();
        dialect.read_again(&elements);
    }

    /// Declares the first value of some statements, together with the next values if the dialect
    /// has one text for all. Returns the number of statements.
    pub(super) fn values(&mut self, body: &[Stmt], dialect: &mut impl Dialect) -> usize {
        if let [Stmt::Let { var, value: Expr::Call(function, args), .. }, others @ ..] = body
            && dialect.calls() == Calls::SeveralValues
        {
            let calls = same_calls(*var, *function, args, others);
            if let [_] = calls[..] {
                self.declare(&body[0], dialect);
                return 1;
            }
            let args = calls.iter().flat_map(|(_, args)| *args);
            let args = args.map(|arg| self.expr(arg, dialect)).collect();
            let between = self.scope.unique("values");
            let names: Vec<_> = calls.iter().map(|(var, _)| &*self.names[var.0]).collect();
            dialect.declare_calls(&names, &between, &self.shared.functions[*function], args);
            return calls.len();
        }
        if let Some((sums, statements)) = self.zero_sums(body)
            && dialect.row_sums(&sums) == Support::Written
        {
            return statements;
        }
        match self.adds_row(body, dialect) {
            Some(statements) => statements,
            None => self.loads(body, dialect),
        }
    }

    /// Declares the first value of some statements. If the value is a load, the next values in
    /// memory follow in the same statement, as many as the dialect loads together. Returns the
    /// number of statements.
    fn loads(&mut self, body: &[Stmt], dialect: &mut impl Dialect) -> usize {
        let first = match &body[0] {
            Stmt::Let { value, .. } => loaded(value),
            _ => None,
        };
        let first = first.map(|(from, ty)| (from, ty, self.base(from.base)));
        let is_next = |(at, stmt): (usize, &Stmt)| match stmt {
            Stmt::Let { var, mutable: false, value } => {
                let (from, ty, _) = first?;
                let next = (from.at(at * ty.lanes), ty);
                (loaded(value) == Some(next)).then_some(&*self.names[var.0])
            }
            _ => None,
        };
        let together =
            first.map_or(LoadsTogether::ALONE, |(_, ty, block)| dialect.loads(block, ty));
        let names: Vec<_> =
            body.iter().take(together.most).enumerate().map_while(is_next).collect();
        match first {
            Some((from, ty, block)) if names.len() >= together.least => {
                dialect.declare_loads(&names, block, from.offset, ty);
                names.len()
            }
            _ => {
                self.declare(&body[0], dialect);
                1
            }
        }
    }

    /// Stores a vector. `done` are the statements up to the store, `others` the statements after.
    pub(super) fn store(
        &mut self,
        (to, value): (Place, &Expr),
        [done, others]: [&[Stmt]; 2],
        stored: &mut Stored,
        dialect: &mut impl Dialect,
    ) {
        let lanes = value.ty(self.locals).lanes;
        let kept = match value {
            Expr::Op(LaneOp::Flush, args) => lanes > 1 && !matches!(args[..], [Expr::Load { .. }]),
            _ => false,
        };
        let value = self.expr(value, dialect);
        if stored.overlaps(to, lanes) {
            dialect.stored_again(self.base(to.base));
        }
        let base = self.base(to.base);
        dialect.store(base, base.at(to.offset), lanes, value);
        if kept {
            dialect.after_flush();
        }
        let is_read_otherwise = |id: &BufferId| {
            is_read_across(done, self.locals, others, dialect)
                || self.kernel.hints.elements.contains(id)
                    && !others.iter().any(|stmt| stores_to(stmt, to.base))
        };
        let whole = match to.base {
            Base::Buffer(id) => Some(id),
            Base::Window(window) => self.wholes.get(&window).copied(),
        };
        if whole.is_some_and(|id| self.kernel.scratch.contains(&id) && is_read_otherwise(&id)) {
            dialect.read_otherwise(self.base(to.base));
        }
    }
}
