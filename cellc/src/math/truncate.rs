use super::round::nearest;
use super::{
    Constants, Definition, ErrorBound, Evidence, FunctionBuilder, Image, add, constant,
    select_less, sub,
};
use crate::kernel::{Expr, LaneOp, ScalarFunction};

pub(super) const DEFINITION: Definition = Definition {
    exact: |_, v| v.trunc(),
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
    let (mut body, x) = FunctionBuilder::new("truncate", "x without its fraction.");
    let whole = nearest(&mut body, &x);
    let less = body.float("less", sub(&whole, &constant(1.0)));
    let down = body.float(
        "down",
        Expr::Op(LaneOp::SelectLess, vec![x.clone(), whole.clone(), less, whole.clone()]),
    );
    let more = body.float("more", add(&whole, &constant(1.0)));
    let up =
        body.float("up", Expr::Op(LaneOp::SelectLess, vec![whole.clone(), x.clone(), more, whole]));
    body.finish(select_less(&x, 0.0, &up, &down))
}
