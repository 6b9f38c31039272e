//! Changes of the expressions of a body.

use super::{Body, Expr, Stmt};

impl Body {
    /// Applies `change` to every operation and call of functions and kernels, to its operands
    /// first.
    pub(crate) fn rewrite(&mut self, change: fn(&mut Expr)) {
        for function in &mut self.functions {
            block(&mut function.body, change);
            function.result.iter_mut().for_each(|result| expr(result, change));
        }
        for kernel in &mut self.kernels {
            block(&mut kernel.body, change);
        }
    }
}

fn block(body: &mut [Stmt], change: fn(&mut Expr)) {
    for stmt in body {
        match stmt {
            Stmt::Let { value, .. } | Stmt::Set { value, .. } | Stmt::Store { value, .. } => {
                expr(value, change)
            }
            Stmt::For { body, .. } => block(body, change),
            Stmt::Pick { at, body, .. } => {
                expr(at, change);
                block(body, change);
            }
            Stmt::If { less, then, otherwise } => {
                expr(&mut less.0, change);
                expr(&mut less.1, change);
                block(then, change);
                block(otherwise, change);
            }
            Stmt::LeaveUnless { less } => {
                expr(&mut less.0, change);
                expr(&mut less.1, change);
            }
            Stmt::Copy(_) | Stmt::Tiles(_) | Stmt::Blocks(_) | Stmt::Comment(_) => {}
        }
    }
}

fn expr(e: &mut Expr, change: fn(&mut Expr)) {
    let (Expr::Op(_, args) | Expr::Call(_, args)) = e else { return };
    args.iter_mut().for_each(|arg| expr(arg, change));
    change(e);
}
