//! Operations on plain numbers, for a file with one body and without vectors: `f32` and `u32` with
//! the operators of Rust.

use super::vectors::Used;
use crate::emit::traversal::{Text, TextKind};
use crate::kernel::LaneOp;

/// The representation of values of one lane in a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    /// Types that implement the trait of vectors.
    Vectors,
    /// `f32` and `u32`.
    Numbers,
    /// Numbers, but with an operation that needs vectors: the module is spelled again with vectors.
    BeyondNumbers,
}

/// An operation. `None` for operations that need vectors.
pub(super) fn operation(operation: LaneOp, args: Vec<Text>, used: &mut Used) -> Option<Text> {
    use LaneOp as O;
    let function = |name: &str, args: Vec<Text>| {
        let args: Vec<_> = args.into_iter().map(|arg| arg.text).collect();
        Text::atom(format!("{name}({})", args.join(", ")))
    };
    let mut shared = |name: &'static str, args| {
        used.shared(name);
        Some(function(&format!("super::{name}"), args))
    };
    match operation {
        O::Add | O::Sub | O::Mul | O::Div | O::And | O::Or | O::Xor => Some(infix(operation, args)),
        O::ShiftLeft(by) | O::ShiftRight(by) => {
            let value = args.into_iter().next()?.operand();
            Some(Text::compound(format!("{value} {} {by}", operation.sign()?)))
        }
        O::MulAdd => {
            let mut args = args.into_iter();
            let product = infix(O::Mul, args.by_ref().take(2).collect());
            Some(infix(O::Add, vec![product, args.next()?]))
        }
        O::Max => shared("greater", args),
        O::Min => shared("smaller", args),
        O::SelectLess => shared("select_less", args),
        O::Flush => shared("flush", args),
        O::ToBits => Some(Text::atom(format!("{}.to_bits()", args.into_iter().next()?.operand()))),
        O::FromBits => Some(function("f32::from_bits", args)),
        _ => None,
    }
}

/// Two operands with an operator between them.
fn infix(operation: LaneOp, args: Vec<Text>) -> Text {
    let sign = operation.sign().unwrap_or_default();
    let is_sum = matches!(operation, LaneOp::Add | LaneOp::Sub);
    let operand = |arg: Text| match arg.kind {
        TextKind::Product if is_sum => arg.text,
        _ => arg.operand(),
    };
    let text = args.into_iter().map(operand).collect::<Vec<_>>().join(&format!(" {sign} "));
    match operation {
        LaneOp::Mul | LaneOp::Div => Text::product(text),
        _ => Text::compound(text),
    }
}
