use std::collections::BTreeMap;

use crate::kernel::{Body, Expr, Kernel, Stmt, Type, Var};

/// Names the results of functions on one lane, and orders statements such that those of one
/// function follow one another where none needs another's: one call in C computes them all. Nothing
/// is stored earlier or later, or read past a store.
pub(crate) fn gather(body: &mut Body) {
    for kernel in &mut body.kernels {
        let mut statements = std::mem::take(&mut kernel.body);
        block(kernel, &mut statements);
        kernel.body = statements;
    }
}

fn block(kernel: &mut Kernel, body: &mut Vec<Stmt>) {
    let mut out = Vec::new();
    let mut rest = std::mem::take(body).into_iter().peekable();
    while let Some(mut stmt) = rest.next() {
        match &mut stmt {
            Stmt::For { body, .. } | Stmt::Pick { body, .. } => block(kernel, body),
            Stmt::If { then, otherwise, .. } => {
                block(kernel, then);
                block(kernel, otherwise);
            }
            Stmt::Let { mutable: false, .. } => {
                let mut lets = vec![stmt];
                lets.extend(std::iter::from_fn(|| rest.next_if(is_named)));
                let mut stores: Vec<_> =
                    std::iter::from_fn(|| rest.next_if(|next| matches!(next, Stmt::Store { .. }))).collect();
                straight(kernel, lets, &mut stores, &mut out);
                out.append(&mut stores);
                continue;
            }
            _ => {}
        }
        out.push(stmt);
    }
    *body = out;
}

fn is_named(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Let { mutable: false, .. })
}

/// Values, and the stores that follow: of these, calls on what is no memory.
fn straight(kernel: &mut Kernel, lets: Vec<Stmt>, stores: &mut [Stmt], out: &mut Vec<Stmt>) {
    let mut named = Vec::new();
    for stmt in lets {
        if let Stmt::Let { var, mut value, .. } = stmt {
            if let Expr::Call(_, args) = &mut value {
                args.iter_mut().for_each(|arg| name_calls(kernel, arg, false, &mut named));
            } else {
                name_calls(kernel, &mut value, false, &mut named);
            }
            named.push((var, value));
        }
    }
    for stmt in stores {
        if let Stmt::Store { value, .. } = stmt {
            name_calls(kernel, value, true, &mut named);
        }
    }
    // how many calls each waits for, one after the other
    let mut waits: BTreeMap<Var, usize> = BTreeMap::new();
    let mut order = Vec::new();
    for (at, (var, value)) in named.iter().enumerate() {
        let mut rank = 0;
        value.any(&mut |part| {
            if let Expr::Var(used) = part {
                rank = rank.max(waits.get(used).copied().unwrap_or(0));
            }
            false
        });
        let function = if let Expr::Call(function, _) = value { Some(*function) } else { None };
        waits.insert(*var, rank + usize::from(function.is_some()));
        order.push((rank, function, at));
    }
    order.sort_unstable();
    let mut named: Vec<_> = named.into_iter().map(Some).collect();
    out.extend(
        order
            .into_iter()
            .filter_map(|(_, _, at)| named[at].take().map(|(var, value)| Stmt::Let { var, mutable: false, value })),
    );
}

/// Takes the calls on one lane out of an expression, the inner ones first; `apart`: only those that
/// read no memory.
fn name_calls(kernel: &mut Kernel, expr: &mut Expr, apart: bool, named: &mut Vec<(Var, Expr)>) {
    let (Expr::Op(_, args) | Expr::Call(_, args)) = expr else { return };
    args.iter_mut().for_each(|arg| name_calls(kernel, arg, apart, named));
    let loads = |part: &Expr| matches!(part, Expr::Load { .. } | Expr::Splat { .. } | Expr::Length { .. });
    let stays = apart && expr.any(&mut |part| loads(part));
    if matches!(expr, Expr::Call(..)) && expr.ty(&kernel.locals).lanes == 1 && !stays {
        let var = kernel.local("activated", Type::f32(1));
        named.push((var, std::mem::replace(expr, Expr::Var(var))));
    }
}
