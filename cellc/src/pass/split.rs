use crate::kernel::{Body, Expr, LaneOp, Stmt};

/// Makes every multiply-add a multiplication and an addition, each rounded: what an instruction set without a fused one
/// computes, and what makes all instruction sets agree.
pub(crate) fn split(body: &mut Body) {
    for function in &mut body.functions {
        block(&mut function.body);
        if let Some(result) = &mut function.result {
            expr(result);
        }
    }
    for kernel in &mut body.kernels {
        block(&mut kernel.body);
    }
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
    if let Expr::Op(operation @ LaneOp::MulAdd, args) = e {
        let addend = args.pop().expect("a multiply-add has three operands");
        let product = Expr::Op(LaneOp::Mul, std::mem::take(args));
        *operation = LaneOp::Add;
        *args = vec![product, addend];
    }
}
