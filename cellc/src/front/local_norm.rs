//! LRN of every format: `v / (bias + alpha mean(v^2))^beta`, with the mean over neighbours.

use crate::model::{
    Binary, Elementwise, MathFunction, Op, Padding, Pool, PoolKind, Rounding, Tensor, ValueId,
    Window,
};

/// The attributes of an LRN.
#[derive(Clone, Copy, Debug)]
pub struct LocalNorm {
    /// The factor of the mean.
    pub alpha: f32,
    /// The exponent.
    pub beta: f32,
    /// The addend.
    pub bias: f32,
}

/// The window of neighbours around an element, with the element. Neighbours beyond the ends are 0.
#[derive(Clone, Debug)]
pub struct Neighbours {
    /// True if the first axis of the window is the axis of channels, false if it is the axis behind
    /// the channels.
    pub of_channels: bool,
    /// By axis of the window: the elements before and after.
    pub around: Vec<[usize; 2]>,
}

impl LocalNorm {
    /// The divisor of the elements of `x`. `add`: adds an operation with one output.
    ///
    /// # Panics
    /// Never: the constants have as many elements as their shapes.
    pub fn divisor(
        self,
        x: ValueId,
        neighbours: &Neighbours,
        add: &mut dyn FnMut(Op, Vec<ValueId>) -> ValueId,
    ) -> ValueId {
        let side = |of: usize| neighbours.around.iter().map(|ends| ends[of] as i64).collect();
        let padding = Padding::Explicit { begin: side(0), end: side(1) };
        let window = Window { strides: Vec::new(), dilations: Vec::new(), padding };
        let kernel = neighbours.around.iter().map(|[before, after]| before + 1 + after).collect();
        let kind = PoolKind::Average { count_pads: true };
        let pool = Op::Pool(Box::new(Pool { kind, kernel, window, rounding: Rounding::Floor }));
        let mut mean = add(Op::elementwise(MathFunction::Square), vec![x]);
        // pools leave out axes 0 and 1: with a new axis 1, the window begins with the channels
        if neighbours.of_channels {
            let axis = Tensor::from_i64(vec![1], &[1]).expect("one axis");
            let axis = add(Op::Constant(axis), Vec::new());
            mean = add(Op::Unsqueeze, vec![mean, axis]);
            mean = add(pool, vec![mean]);
            mean = add(Op::Squeeze { skip: false }, vec![mean, axis]);
        } else {
            mean = add(pool, vec![mean]);
        }
        let [alpha, beta, bias] = [self.alpha, self.beta, self.bias].map(|number| {
            let number = Tensor::from_f32(Vec::new(), &[number]).expect("one number");
            add(Op::Constant(number), Vec::new())
        });
        let scaled = add(Op::elementwise(Binary::Multiply), vec![mean, alpha]);
        let sum = add(Op::elementwise(Binary::Add), vec![scaled, bias]);
        add(Op::elementwise(Elementwise::Power), vec![sum, beta])
    }
}
