//! Conversions between integers of the interface and f32 numbers of kernels.

use super::builder::{KernelBuilder, Lowered, op};
use crate::core::{IntegerInput, Source};
use crate::kernel::{Expr, LaneOp, Place, Stmt};
use crate::model::{ElementType, counted};

/// 2^23: from 2^23 to 2^24, the low bits of an f32 are its distance from 2^23.
const WHOLE: f32 = 8_388_608.0;

/// A u32 below 2^23 as f32.
pub(super) fn float(number: Expr) -> Expr {
    let bits = op(LaneOp::Or, vec![number, Expr::u32(WHOLE.to_bits(), 1)]);
    op(LaneOp::Sub, vec![op(LaneOp::FromBits, vec![bits]), Expr::f32(WHOLE, 1)])
}

/// An integral f32 from 0 to below 2^23, as u32.
pub(super) fn number(float: Expr) -> Expr {
    let bits = op(LaneOp::ToBits, vec![op(LaneOp::Add, vec![float, Expr::f32(WHOLE, 1)])]);
    op(LaneOp::WrappingSub, vec![bits, Expr::u32(WHOLE.to_bits(), 1)])
}

/// An f32 clamped to 0..=`most`. A NaN becomes 0.
pub(super) fn between(float: Expr, most: usize) -> Expr {
    let inside = op(LaneOp::Max, vec![float, Expr::f32(0.0, 1)]);
    op(LaneOp::Min, vec![inside, Expr::f32(most as f32, 1)])
}

impl<'m> KernelBuilder<'_, 'm> {
    pub(super) fn integers(&mut self, integers: &'m IntegerInput) -> Lowered {
        let from: Place = self.lowering.memory.parameters[integers.parameter].into();
        let to = self.lowering.source(Source::Value(integers.out));
        let len = self.lowering.len(Source::Value(integers.out));
        let IntegerInput { least, most, .. } = *integers;
        let body = self.each(len, ["integer", "out_element"], from, to, |from, to| {
            let above = float(Expr::Length { from, least, most: most.abs_diff(least) as usize });
            let value = if least == 0 {
                above
            } else {
                op(LaneOp::Add, vec![above, Expr::f32(least as f32, 1)])
            };
            Stmt::Store { to, value }
        });
        Lowered::new(format!("{} as f32.", counted(len, "integer")), body)
    }

    /// Stores f32 values as integers or as truth values.
    pub(super) fn integer_result(
        &mut self,
        from: Place,
        to: Place,
        len: usize,
        element: ElementType,
    ) -> Lowered {
        let names = ["number", "out_element"];
        let body = self.each(len, names, from, to, |from, to| {
            let value = Expr::Load { from, lanes: 1 };
            Stmt::Store { to, value }
        });
        let doc = match element {
            ElementType::Bool => {
                format!("{} from f32: true where the number is not 0.", counted(len, "truth value"))
            }
            _ => format!("{} from f32.", counted(len, "integer")),
        };
        Lowered::new(doc, body)
    }

    /// One statement per element. `names` are the names of the windows that are read and written.
    fn each(
        &mut self,
        len: usize,
        names: [&str; 2],
        from: Place,
        to: Place,
        stmt: impl Fn(Place, Place) -> Stmt,
    ) -> Vec<Stmt> {
        if len == 1 {
            return vec![stmt(from, to)];
        }
        let (from, read) = self.walk(names[0], from, 1, false);
        let (to, written) = self.walk(names[1], to, 1, true);
        let body = vec![stmt(from, to)];
        vec![Stmt::repeat(len, vec![read, written], body)]
    }
}
