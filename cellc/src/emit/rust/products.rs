//! Products that are added to something, in the body of an instruction set that rounds both: `mul_add` of its vectors does so. Bodies of all
//! instruction sets, and activations, then have one text, and the vectors' types say how often a multiply-add rounds.

use crate::kernel::{Body, Expr, LaneOp, Stmt};

/// The body with a multiply-add in the place of every product that is added to something.
pub(super) fn added(mut body: Body) -> Body {
    for function in &mut body.functions {
        block(&mut function.body);
        function.result.iter_mut().for_each(expr);
    }
    for kernel in &mut body.kernels {
        block(&mut kernel.body);
    }
    body
}

fn block(body: &mut [Stmt]) {
    for stmt in body {
        match stmt {
            Stmt::Let { value, .. } | Stmt::Set { value, .. } | Stmt::Store { value, .. } => expr(value),
            Stmt::For { body, .. } => block(body),
            Stmt::Pick { at, body, .. } => {
                expr(at);
                block(body);
            }
            Stmt::If { less, then, otherwise } => {
                expr(&mut less.0);
                expr(&mut less.1);
                block(then);
                block(otherwise);
            }
            Stmt::LeaveUnless { less } => {
                expr(&mut less.0);
                expr(&mut less.1);
            }
            Stmt::Copy(_) | Stmt::Tiles(_) | Stmt::Comment(_) => {}
        }
    }
}

fn expr(e: &mut Expr) {
    let (Expr::Op(_, args) | Expr::Call(_, args)) = e else { return };
    args.iter_mut().for_each(expr);
    if let Expr::Op(operation @ LaneOp::Add, args) = e
        && let [Expr::Op(LaneOp::Mul, factors), _] = &mut args[..]
    {
        let factors = std::mem::take(factors);
        *operation = LaneOp::MulAdd;
        args.splice(..1, factors);
    }
}
