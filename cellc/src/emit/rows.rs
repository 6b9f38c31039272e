//! Additions of weight rows in loop bodies. A row adds, to every sum, the weights of the sum's
//! columns times one element; each sum has a statement.

use crate::kernel::{Expr, LaneOp, Place, Stmt, Var};

/// A weight row, added by consecutive statements.
pub(super) struct AddedRow {
    pub(super) sums: Vec<Var>,
    /// Columns of each sum.
    pub(super) lanes: usize,
    /// The weights of the first sum.
    pub(super) weights: Place,
    /// The distance between the weights of neighbouring sums, in elements.
    pub(super) sum_stride: usize,
    pub(super) element: Place,
    /// True for fused multiply-adds.
    pub(super) is_fused: bool,
    /// True if all weights are loaded before the first multiplication.
    pub(super) is_loaded_first: bool,
    /// The number of statements.
    pub(super) statements: usize,
}

impl AddedRow {
    /// The row that the first statements of `body` add, if no other statement uses their loads.
    pub(super) fn first_of(body: &[Stmt]) -> Option<Self> {
        let load = |stmt: &Stmt| match stmt {
            Stmt::Let { var, mutable: false, value: Expr::Load { from, lanes } } => {
                Some((*var, *from, *lanes))
            }
            _ => None,
        };
        let loaded: Vec<_> = body.iter().map_while(load).collect();
        let Some(Stmt::Let { var: element, mutable: false, value: Expr::Splat { from, lanes } }) =
            body.get(loaded.len())
        else {
            return None;
        };
        let (rest, element) = (&body[loaded.len() + 1..], (*element, *from));
        let sums: Vec<_> = rest.iter().map_while(|stmt| sum_of(stmt, element.0)).collect();
        let weights = |(_, weights, _): &(Var, Expr, bool)| match weights {
            Expr::Load { from, lanes: loaded_lanes }
                if loaded.is_empty() && loaded_lanes == lanes =>
            {
                Some(*from)
            }
            Expr::Var(var) => loaded
                .iter()
                .find(|(other, _, found_lanes)| other == var && found_lanes == lanes)
                .map(|(_, from, _)| *from),
            _ => None,
        };
        let places = sums.iter().map(weights).collect::<Option<Vec<_>>>()?;
        let first = *places.first()?;
        let sum_stride = places.get(1).map_or(0, |second| second.offset.wrapping_sub(first.offset));
        let is_even = places.iter().enumerate().all(|(at, place)| {
            place.base == first.base && place.offset == first.offset.wrapping_add(at * sum_stride)
        });
        let is_fused = sums[0].2;
        let is_same = sums.iter().all(|(.., fused)| *fused == is_fused);
        let is_complete = loaded.is_empty() || loaded.len() == sums.len();
        let names: Vec<_> = loaded.iter().map(|(var, ..)| *var).chain([element.0]).collect();
        let after = &rest[sums.len()..];
        let is_used = after.iter().any(|stmt| mentions(stmt, &names));
        (is_even && is_same && is_complete && !is_used && sum_stride < 1 << 31).then(|| Self {
            sums: sums.iter().map(|(var, ..)| *var).collect(),
            lanes: *lanes,
            weights: first,
            sum_stride,
            element: element.1,
            is_fused,
            is_loaded_first: !loaded.is_empty(),
            statements: loaded.len() + 1 + sums.len(),
        })
    }
}

/// The sum, the weights, and true for a fused multiply-add, if a statement adds weights times an
/// element.
fn sum_of(stmt: &Stmt, element: Var) -> Option<(Var, Expr, bool)> {
    let Stmt::Set { var, value: Expr::Op(operation, args) } = stmt else { return None };
    let added = |weights: &Expr, by: &Expr, sum: &Expr, is_fused| {
        (*by == Expr::Var(element) && *sum == Expr::Var(*var))
            .then(|| (*var, weights.clone(), is_fused))
    };
    match (operation, &args[..]) {
        (LaneOp::MulAdd, [weights, by, sum]) => added(weights, by, sum, true),
        (LaneOp::Add, [Expr::Op(LaneOp::Mul, product), sum]) => match &product[..] {
            [weights, by] => added(weights, by, sum, false),
            _ => None,
        },
        _ => None,
    }
}

/// True if a statement reads one of `vars`.
fn mentions(stmt: &Stmt, vars: &[Var]) -> bool {
    let reads =
        |expr: &Expr| expr.any(&mut |part| matches!(part, Expr::Var(var) if vars.contains(var)));
    let any = |body: &[Stmt]| body.iter().any(|stmt| mentions(stmt, vars));
    match stmt {
        Stmt::Let { value, .. } | Stmt::Set { value, .. } | Stmt::Store { value, .. } => {
            reads(value)
        }
        Stmt::For { body, .. } => any(body),
        Stmt::Pick { at, body, .. } => reads(at) || any(body),
        Stmt::If { less: (a, b), then, otherwise } => {
            reads(a) || reads(b) || any(then) || any(otherwise)
        }
        Stmt::LeaveUnless { less: (a, b) } => reads(a) || reads(b),
        Stmt::Copy(_) | Stmt::Tiles(_) | Stmt::Blocks(_) | Stmt::Comment(_) => false,
    }
}
