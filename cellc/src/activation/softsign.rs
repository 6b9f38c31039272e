use super::{Definition, Error, FunctionBuilder, Image, add, at_least, at_most, constant, div, magnitude};
use crate::kernel::Function;

pub(super) const DEFINITION: Definition = Definition {
    exact: |_, v| exact(v),
    expand: |_, _| expand(),
    // two roundings; measured over every f32
    error: |_, _, _| Error::ulp(1.5),
    image: |_, _, ends| Image::between(1.0, ends, [-1.0, 1.0]),
};

fn exact(v: f64) -> f64 {
    if v.is_infinite() { v.signum() } else { v / (1.0 + v.abs()) }
}

fn expand() -> Function {
    let (mut body, x) = FunctionBuilder::new("softsign", "x / (1 + |x|), odd to the last bit.");
    body.comment("beyond these, the value is 1 and -1");
    let v = body.float("v", at_most(1e30, &at_least(-1e30, &x)));
    let d = body.float("d", add(&constant(1.0), &magnitude(&v)));
    body.finish(div(&v, &d))
}
