//! Products with additions, for an instruction set with two roundings: `mul_add` of its vectors
//! rounds twice. Bodies of all instruction sets, and activations, then have one text, and the
//! vector types decide the roundings.

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
