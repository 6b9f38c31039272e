//! Products that are added to something, in the body of an instruction set that rounds both:
//! `mul_add` of its vectors does so. Bodies of all instruction sets, and activations, then have one
//! text, and the vectors' types say how often a multiply-add rounds.

use crate::kernel::{Body, Expr, LaneOp};

/// The body with a multiply-add in the place of every product that is added to something.
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
