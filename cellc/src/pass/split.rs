use crate::kernel::{Body, Expr, LaneOp};

/// Replaces every multiply-add by a multiplication and an addition, each rounded. Used for
/// instruction sets without fused multiply-add in the language of the file, and if the user asks
/// for equal results on all instruction sets.
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
