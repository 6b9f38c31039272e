//! Which tensors hold whole numbers, and between which: what quantised operators make, who round and clip before they multiply.

use super::{Activation, Lookup, Pointwise, PointwiseFunction, Reduce, Source, ValidModel, ValidNode, ValidOp};

/// The least and the largest of the whole numbers that a tensor holds, if it holds no others; beside them it may hold NaN.
type Range = Option<[f64; 2]>;

/// Of every value of a model what is known.
pub(crate) struct WholeNumbers<'m> {
    model: &'m ValidModel,
    values: Vec<Range>,
}

fn union(a: Range, b: Range) -> Range {
    let ([a_least, a_most], [b_least, b_most]) = (a?, b?);
    Some([a_least.min(b_least), a_most.max(b_most)])
}

impl<'m> WholeNumbers<'m> {
    pub(crate) fn new(model: &'m ValidModel) -> Self {
        let mut all = Self { model, values: vec![None; model.values.len()] };
        all.read(&model.nodes);
        all
    }

    /// The largest magnitude of a tensor of whole numbers, where 16 bits hold it with its sign.
    pub(crate) fn most(&self, of: Source) -> Option<u16> {
        let [least, most] = self.range(of)?;
        let most = most.abs().max(least.abs());
        (most <= f64::from(i16::MAX)).then_some(most as u16)
    }

    fn range(&self, of: Source) -> Range {
        match of {
            Source::Value(value) => self.values[value],
            Source::Constant(i) => {
                let tensor = &self.model.constants[i];
                let all = (0..tensor.len()).map(|i| tensor.get_f64(i));
                all.map(|v| (v.fract() == 0.0).then_some([v, v])).reduce(union)?
            }
            Source::Parameter(_) | Source::Variable(_) => None,
        }
    }

    fn read(&mut self, nodes: &[ValidNode]) {
        for node in nodes {
            match &node.op {
                ValidOp::Pointwise(of) => self.values[of.out] = self.pointwise(of),
                ValidOp::View(view) => self.values[view.out] = self.range(view.input),
                ValidOp::Concat(concat) => {
                    let all = concat.inputs.iter().map(|input| self.range(*input));
                    self.values[concat.out] = all.reduce(union).flatten();
                }
                ValidOp::Reduce(Reduce { function, input, out, .. }) => {
                    let keeps = matches!(function, PointwiseFunction::Maximum | PointwiseFunction::Minimum);
                    self.values[*out] = self.range(*input).filter(|_| keeps);
                }
                ValidOp::Integers(of) => self.values[of.out] = Some([of.least.into(), of.most.into()]),
                ValidOp::Lookup(Lookup { table, out, .. }) => self.values[*out] = self.range(*table),
                ValidOp::Loop(body) => {
                    for slice in &body.slices {
                        self.values[slice.piece] = self.range(slice.of);
                    }
                    self.read(&body.body);
                    for result in &body.results {
                        // where a loop ends before its last trip, pieces are zeros
                        let none = result.pieces.map_or(self.range(result.of), |_| Some([0.0, 0.0]));
                        self.values[result.out] = union(self.range(result.of), none);
                    }
                }
                ValidOp::Cell(_) | ValidOp::Dense(_) | ValidOp::MatMul(_) | ValidOp::Convolve(_) => {}
                ValidOp::Softmax(_) | ValidOp::TopK(_) => {}
            }
        }
    }

    /// Sums and products of whole numbers are whole after rounding too: from 2^23 on every f32 is.
    fn pointwise(&self, of: &Pointwise) -> Range {
        use PointwiseFunction as P;
        let of_input = |i: usize| self.range(of.inputs[i]);
        let both = |of: fn([f64; 2], [f64; 2]) -> [f64; 2]| {
            let range = of(of_input(0)?, of_input(1)?);
            (!range.iter().any(|end| end.is_nan())).then_some(range)
        };
        match of.function {
            P::Activation(Activation::Floor | Activation::Round | Activation::Truncate) => {
                of_input(0).or(Some([f64::NEG_INFINITY, f64::INFINITY]))
            }
            P::Add => both(|a, b| [a[0] + b[0], a[1] + b[1]]),
            P::Subtract => both(|a, b| [a[0] - b[1], a[1] - b[0]]),
            P::Maximum => both(|a, b| [a[0].max(b[0]), a[1].max(b[1])]),
            P::Minimum => both(|a, b| [a[0].min(b[0]), a[1].min(b[1])]),
            P::Select => union(of_input(1), of_input(2)),
            P::Less | P::LessEqual | P::Equal => Some([0.0, 1.0]),
            P::Activation(_) | P::Multiply | P::Divide | P::PRelu => None,
        }
    }
}
