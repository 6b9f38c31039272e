//! The buffers that statements read and write.

use std::collections::BTreeMap;

use super::{Base, BufferId, Expr, Place, Stmt};

/// The buffers of some statements, each with `true` if the statements write the buffer. Buffers
/// that are only read come first.
pub(crate) fn params(body: &[Stmt]) -> Vec<(BufferId, bool)> {
    let mut used = BTreeMap::new();
    uses(body, &mut used);
    let mut params: Vec<_> = used.into_iter().collect();
    params.sort_by_key(|(id, written)| (*written, *id));
    params
}

fn uses(body: &[Stmt], used: &mut BTreeMap<BufferId, bool>) {
    let mut note = |place: Place, written: bool| {
        if let Base::Buffer(id) = place.base {
            *used.entry(id).or_default() |= written;
        }
    };
    for stmt in body {
        match stmt {
            Stmt::Let { value, .. } | Stmt::Set { value, .. } => reads(value, &mut note),
            Stmt::Store { to, value } => {
                note(*to, true);
                reads(value, &mut note);
            }
            Stmt::Copy(copied) => {
                note(copied.from, false);
                note(copied.to, true);
            }
            Stmt::Tiles(tiles) => {
                note(tiles.elements, false);
                note(tiles.weights, false);
                note(tiles.to, true);
            }
            Stmt::Blocks(sums) => {
                sums.read().into_iter().for_each(|(from, _)| note(from, false));
                note(sums.to, true);
            }
            Stmt::For { walks, .. } => walks.iter().for_each(|walk| note(walk.start, walk.written)),
            Stmt::Pick { at, walk, .. } => {
                reads(at, &mut note);
                note(walk.start, walk.written);
            }
            Stmt::If { less, .. } | Stmt::LeaveUnless { less } => {
                reads(&less.0, &mut note);
                reads(&less.1, &mut note);
            }
            Stmt::Comment(_) => {}
        }
    }
    for stmt in body {
        match stmt {
            Stmt::For { body, .. } | Stmt::Pick { body, .. } => uses(body, used),
            Stmt::If { then, otherwise, .. } => {
                uses(then, used);
                uses(otherwise, used);
            }
            _ => {}
        }
    }
}

fn reads(expr: &Expr, note: &mut impl FnMut(Place, bool)) {
    match expr {
        Expr::Load { from, .. } | Expr::Splat { from, .. } | Expr::Length { from, .. } => {
            note(*from, false)
        }
        Expr::Op(_, args) | Expr::Call(_, args) => args.iter().for_each(|arg| reads(arg, note)),
        Expr::Const { .. } | Expr::Var(_) => {}
    }
}
