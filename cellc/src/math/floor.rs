use super::round::nearest;
use super::{Constants, Definition, ErrorBound, Evidence, FunctionBuilder, Image, constant, sub};
use crate::kernel::{Expr, LaneOp, ScalarFunction};

pub(super) const DEFINITION: Definition = Definition {
    exact: |_, v| v.floor(),
    expand: |_, _| expand(),
    error: |_, _, _| ErrorBound::default(),
    image: |_, _, ends| Image {
        jump: 1.0,
        ..Image::between(1.0, ends, [f64::NEG_INFINITY, f64::INFINITY])
    },
    image_between: |_, at| at.monotone(at.all.slope),
    evidence: Evidence::Measured,
    constants: Constants::Rounded,
};

fn expand() -> ScalarFunction {
    let (mut body, x) =
        FunctionBuilder::new("floor", "The largest whole number that is not above x.");
    let whole = nearest(&mut body, &x);
    let less = body.float("less", sub(&whole, &constant(1.0)));
    body.finish(Expr::Op(LaneOp::SelectLess, vec![x, whole.clone(), less, whole]))
}
