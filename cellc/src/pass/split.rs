use crate::kernel::{Body, Expr, LaneOp};

/// Makes every multiply-add a multiplication and an addition, each rounded: what an instruction set
/// without a fused one computes, and what makes all instruction sets agree.
pub(crate) fn split(body: &mut Body) {
    body.rewrite(|e| {
        if let Expr::Op(operation @ LaneOp::MulAdd, args) = e {
            let addend = args.pop().expect("a multiply-add has three operands");
            let product = Expr::Op(LaneOp::Mul, std::mem::take(args));
            *operation = LaneOp::Add;
            *args = vec![product, addend];
        }
    });
}
