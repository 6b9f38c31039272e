//! Replaces additions of products by multiply-adds in the body of an instruction set without fused
//! multiply-add. `mul_add` of its vector types rounds twice, so results do not change. Kernels and
//! activations then have one text for all instruction sets.

use crate::kernel::{Body, Expr, LaneOp};

/// The body with every addition of a product replaced by a multiply-add.
pub(super) fn added(mut body: Body) -> Body {
    body.rewrite(|e| {
        if let Expr::Op(operation @ LaneOp::Add, args) = e
            && let [Expr::Op(LaneOp::Mul, factors), _] = &mut args[..]
        {
            let factors = std::mem::take(factors);
            *operation = LaneOp::MulAdd;
            args.splice(..1, factors);
        }
    });
    body
}
