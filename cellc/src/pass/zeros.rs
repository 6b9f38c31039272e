//! Products of zero weights.

use std::collections::BTreeSet;

use crate::kernel::{Base, Body, BufferId, Expr, LaneOp, Loops, Place, Stmt, Var, params};

/// Removes products of zero weights from kernels whose products have no loops. Sums of finite
/// elements keep their bits: sums of integers are exact, and sums of f32 begin at +0, to which the
/// addition of a product with 0 adds nothing. `is_zero`: true if, from a place on, this number of
/// neighbouring elements is zero.
pub(crate) fn remove_zeros(body: &mut Body, is_zero: &impl Fn(Place, usize) -> bool) {
    for kernel in body.kernels.iter_mut().filter(|kernel| kernel.loops == Loops::WithoutZeros) {
        let is_product_of_zeros = |stmt: &Stmt| match stmt {
            Stmt::Set { value, .. } => {
                factor(value).is_some_and(|(from, lanes)| is_zero(from, lanes))
            }
            _ => false,
        };
        kernel.body.retain(|stmt| !is_product_of_zeros(stmt));
        remove_unread(&mut kernel.body);
        let read = params(&kernel.body);
        let is_read = |id: &BufferId| read.iter().any(|(own, _)| own == id);
        kernel.params.retain(|(id, _)| is_read(id));
        kernel.scratch.retain(is_read);
    }
}

/// The place and the lanes of the first factor, if the value is a sum plus a product with a loaded
/// factor.
fn factor(value: &Expr) -> Option<(Place, usize)> {
    let Expr::Op(operation, args) = value else { return None };
    let first = args.first()?;
    match (operation, first) {
        (LaneOp::MulAdd, Expr::Load { from, lanes }) => Some((*from, *lanes)),
        (LaneOp::Add, Expr::Op(LaneOp::Mul, product)) => match product.first()? {
            Expr::Load { from, lanes } => Some((*from, *lanes)),
            _ => None,
        },
        (operation, Expr::Op(LaneOp::ToBits, bits)) if operation.is_dot() => match bits[..] {
            [Expr::Load { from, lanes }] => Some((from, lanes)),
            _ => None,
        },
        _ => None,
    }
}

/// Removes unread values, and marks unchanged accumulators as constant.
fn remove_unread(body: &mut Vec<Stmt>) {
    let (mut read, mut set) = (BTreeSet::new(), BTreeSet::new());
    let mut kept = Vec::new();
    while let Some(mut stmt) = body.pop() {
        if let Stmt::Let { var, mutable, .. } = &mut stmt {
            if !read.contains(var) {
                continue;
            }
            *mutable &= set.contains(var);
        }
        variables(std::slice::from_ref(&stmt), &mut read, &mut set);
        kept.push(stmt);
    }
    kept.reverse();
    *body = kept;
}

/// Adds to `read` the variables read by statements, and to `set` the variables changed.
fn variables(body: &[Stmt], read: &mut BTreeSet<Var>, set: &mut BTreeSet<Var>) {
    fn expr(tree: &Expr, read: &mut BTreeSet<Var>) {
        match tree {
            Expr::Var(var) => {
                read.insert(*var);
            }
            Expr::Op(_, args) | Expr::Call(_, args) => args.iter().for_each(|arg| expr(arg, read)),
            _ => {}
        }
    }
    for stmt in body {
        match stmt {
            Stmt::Let { value, .. } | Stmt::Store { value, .. } => expr(value, read),
            Stmt::Set { var, value } => {
                set.insert(*var);
                expr(value, read);
            }
            Stmt::For { backwards, body, .. } => {
                read.extend(backwards);
                variables(body, read, set);
            }
            Stmt::Pick { at, body, .. } => {
                expr(at, read);
                variables(body, read, set);
            }
            Stmt::If { less: (a, b), then, otherwise } => {
                expr(a, read);
                expr(b, read);
                variables(then, read, set);
                variables(otherwise, read, set);
            }
            Stmt::LeaveUnless { less: (a, b) } => {
                expr(a, read);
                expr(b, read);
            }
            Stmt::Copy(_) | Stmt::Tiles(_) | Stmt::Blocks(_) | Stmt::Comment(_) => {}
        }
    }
}

/// The condition of [`remove_zeros`] for the packed weights in `bytes`. `at`: the place of a buffer
/// in `bytes`, in units of 4 bytes.
pub(crate) fn zeros<'b>(
    bytes: &'b [u8],
    at: impl Fn(BufferId) -> Option<usize> + 'b,
) -> impl Fn(Place, usize) -> bool + 'b {
    move |from, lanes| {
        let Base::Buffer(id) = from.base else { return false };
        at(id).is_some_and(|at| {
            let first = 4 * (at + from.offset);
            // zero of either sign; the last byte 0x80 cannot be the weight -128, which is unused
            let is_zero = |word: &[u8]| matches!(word, [0, 0, 0, 0 | 0x80]);
            bytes[first..first + 4 * lanes].chunks_exact(4).all(is_zero)
        })
    }
}
