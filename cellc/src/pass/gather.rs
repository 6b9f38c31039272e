use std::collections::BTreeMap;

use crate::kernel::{Body, Expr, Kernel, Stmt, Type, Var};

/// In runs of constant variables and the stores after such a run, assigns the results of scalar
/// function calls to variables, and groups independent calls of one function: one C call computes a
/// group. Stores and the loads after stores keep their order.
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
                    std::iter::from_fn(|| rest.next_if(|next| matches!(next, Stmt::Store { .. })))
                        .collect();
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

/// Reorders a run of definitions of values, and assigns the calls in the stores after the run to
/// variables, except calls with loads.
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
    // the length of the longest chain of calls that each value depends on
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
    out.extend(order.into_iter().filter_map(|(_, _, at)| {
        named[at].take().map(|(var, value)| Stmt::Let { var, mutable: false, value })
    }));
}

/// Assigns the scalar calls in an expression to variables, inner calls first. With `apart`, only
/// calls without loads.
fn name_calls(kernel: &mut Kernel, expr: &mut Expr, apart: bool, named: &mut Vec<(Var, Expr)>) {
    let (Expr::Op(_, args) | Expr::Call(_, args)) = expr else { return };
    args.iter_mut().for_each(|arg| name_calls(kernel, arg, apart, named));
    let loads =
        |part: &Expr| matches!(part, Expr::Load { .. } | Expr::Splat { .. } | Expr::Length { .. });
    let stays = apart && expr.any(&mut |part| loads(part));
    if matches!(expr, Expr::Call(..)) && expr.ty(&kernel.locals).lanes == 1 && !stays {
        let var = kernel.local("activated", Type::f32(1));
        named.push((var, std::mem::replace(expr, Expr::Var(var))));
    }
}
