//! Activation functions: for each its exact value in float64, its expansion to plain arithmetic, and how far the
//! expansion is from the exact value.
//!
//! The expansions are branch-free and use only operations that Rust and C round alike, so that every language, lane count
//! and instruction set of one arithmetic profile gives the same bits. There is one text for both profiles: in the split
//! profile [`crate::pass::split`] makes every multiply-add two operations, and the errors are stated for both.

mod exp;
mod relu;
mod sigmoid;
mod tanh;
#[cfg(test)]
mod tests;

use crate::kernel::{Expr, Function, Local, Operation, Scalar, Stmt, Type, Var};
use crate::model::Activation;

/// The activation's value, in float64.
pub fn exact(activation: Activation, v: f64) -> f64 {
    match activation {
        Activation::Relu => relu::exact(v),
        Activation::Sigmoid => sigmoid::exact(v),
        Activation::Tanh => tanh::exact(v),
    }
}

/// The activation as straight-line arithmetic.
pub fn expand(activation: Activation) -> Function {
    match activation {
        Activation::Relu => relu::expand(),
        Activation::Sigmoid => sigmoid::expand(),
        Activation::Tanh => tanh::expand(),
    }
}

/// The largest error of the expansion over all finite f32, in units of the spacing of f32 at the exact value.
///
/// Measured over every f32; a run by hand of the test of this module repeats it.
pub fn max_ulp(activation: Activation, fused: bool) -> f64 {
    let [with, without] = match activation {
        Activation::Relu => [0.0; 2],
        Activation::Sigmoid => sigmoid::MAX_ULP,
        Activation::Tanh => tanh::MAX_ULP,
    };
    if fused { with } else { without }
}

const F32: Type = Type { scalar: Scalar::F32, lanes: 1 };
const U32: Type = Type { scalar: Scalar::U32, lanes: 1 };

/// A function of one argument that is being written.
struct Body {
    function: Function,
}

impl Body {
    /// Begins a function; gives back its argument.
    fn new(activation: Activation, doc: &str) -> (Self, Expr) {
        let mut doc = vec![doc.to_owned()];
        match [true, false].map(|fused| max_ulp(activation, fused)) {
            [0.0, 0.0] => {}
            [with, without] if with == without => doc.push(format!("At most {with} ulp from the exact value.")),
            [with, without] => {
                doc.push(format!("At most {with} ulp from the exact value, {without} without fused multiply-add."))
            }
        }
        let function = Function {
            name: activation.name().to_owned(),
            doc,
            locals: vec![Local { name: "x".to_owned(), ty: F32 }],
            params: 1,
            body: Vec::new(),
            result: None,
        };
        (Self { function }, Expr::Var(Var(0)))
    }

    /// A line for the reader of generated code.
    fn comment(&mut self, text: &str) {
        self.function.body.push(Stmt::Comment(text.to_owned()));
    }

    /// Names a f32 value.
    fn float(&mut self, name: &str, value: Expr) -> Expr {
        self.define(name, F32, value)
    }

    /// Names a u32 value.
    fn bits(&mut self, name: &str, value: Expr) -> Expr {
        self.define(name, U32, value)
    }

    fn define(&mut self, name: &str, ty: Type, value: Expr) -> Expr {
        let var = Var(self.function.locals.len());
        self.function.locals.push(Local { name: name.to_owned(), ty });
        self.function.body.push(Stmt::Let { var, mutable: false, value });
        Expr::Var(var)
    }

    fn finish(mut self, result: Expr) -> Function {
        self.function.result = Some(result);
        self.function
    }
}

fn constant(value: f32) -> Expr {
    Expr::f32(value, 1)
}

fn add(a: &Expr, b: &Expr) -> Expr {
    Expr::Op(Operation::Add, vec![a.clone(), b.clone()])
}

fn sub(a: &Expr, b: &Expr) -> Expr {
    Expr::Op(Operation::Sub, vec![a.clone(), b.clone()])
}

fn mul(a: &Expr, b: &Expr) -> Expr {
    Expr::Op(Operation::Mul, vec![a.clone(), b.clone()])
}

fn div(a: &Expr, b: &Expr) -> Expr {
    Expr::Op(Operation::Div, vec![a.clone(), b.clone()])
}

fn mul_add(a: &Expr, b: &Expr, c: &Expr) -> Expr {
    Expr::Op(Operation::MulAdd, vec![a.clone(), b.clone(), c.clone()])
}

/// `bound` where it is the smaller one, else `v`, which may be NaN.
fn at_most(bound: f32, v: &Expr) -> Expr {
    Expr::Op(Operation::Min, vec![constant(bound), v.clone()])
}

/// `bound` where it is the larger one, else `v`, which may be NaN.
fn at_least(bound: f32, v: &Expr) -> Expr {
    Expr::Op(Operation::Max, vec![constant(bound), v.clone()])
}

/// `below` where `a` is less than `bound`, else `other`.
fn select_less(a: &Expr, bound: f32, below: &Expr, other: &Expr) -> Expr {
    Expr::Op(Operation::SelectLess, vec![a.clone(), constant(bound), below.clone(), other.clone()])
}

fn to_bits(v: &Expr) -> Expr {
    Expr::Op(Operation::ToBits, vec![v.clone()])
}

fn from_bits(v: &Expr) -> Expr {
    Expr::Op(Operation::FromBits, vec![v.clone()])
}

fn and(a: &Expr, bits: u32) -> Expr {
    Expr::Op(Operation::And, vec![a.clone(), Expr::u32(bits, 1)])
}

fn or(a: &Expr, b: &Expr) -> Expr {
    Expr::Op(Operation::Or, vec![a.clone(), b.clone()])
}

fn shift_left(a: &Expr, by: u32) -> Expr {
    Expr::Op(Operation::ShiftLeft(by), vec![a.clone()])
}

/// `c[0] + v (c[1] + v (c[2] + ..))`
fn polynomial(v: &Expr, coefficients: &[f32]) -> Expr {
    let (last, rest) = coefficients.split_last().expect("a polynomial has coefficients");
    rest.iter().rfold(constant(*last), |sum, c| mul_add(&sum, v, &constant(*c)))
}
