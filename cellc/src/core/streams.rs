//! Independent streams: every input, output and state with a row for each stream.

use super::{
    CoreCell, CoreLoop, CoreModel, CoreNode, CoreOp, CoreValue, Lengths, Pointwise, Source, View,
};
use crate::model::Tensor;

/// Gives every input, state, value and output a first axis of `rows` independent streams. Weights
/// and constants are shared. Each stream computes what the model computed, in the same order.
pub fn repeat(model: &mut CoreModel, rows: usize) {
    let mut repeated = Repeated { rows, tiled: Vec::new(), model };
    let nodes = std::mem::take(&mut repeated.model.nodes);
    let nodes = repeated.nodes(nodes);
    repeated.finish(nodes);
}

/// A model while its tensors get their first axis. Shapes are those of one stream until
/// [`Self::finish`].
struct Repeated<'m> {
    model: &'m mut CoreModel,
    rows: usize,
    /// Constants with a copy for each stream, with the index of the constant of one stream.
    tiled: Vec<(usize, Tensor)>,
}

impl Repeated<'_> {
    fn nodes(&mut self, nodes: Vec<CoreNode>) -> Vec<CoreNode> {
        let mut repeated = Vec::with_capacity(nodes.len());
        for mut node in nodes {
            if let CoreOp::Pointwise(pointwise) = &mut node.op {
                let views = self.aligned(pointwise);
                repeated.extend(views.into_iter().map(|view| CoreNode {
                    name: node.name.clone(),
                    kind: "Reshape".to_owned(),
                    op: CoreOp::View(view),
                    ledger: Vec::new(),
                    layer: node.layer,
                }));
            }
            self.op(&mut node.op);
            repeated.push(node);
        }
        repeated
    }

    fn op(&mut self, op: &mut CoreOp) {
        let rows = self.rows;
        match op {
            CoreOp::Cell(cell) => self.cell(cell),
            CoreOp::Dense(dense) => {
                dense.rows *= rows;
                self.tile(&mut dense.x);
            }
            CoreOp::MatMul(product) => {
                product.batch *= rows;
                self.tile(&mut product.a);
                self.tile(&mut product.b);
            }
            CoreOp::Convolve(convolve) => {
                convolve.batch *= rows;
                self.tile(&mut convolve.x);
            }
            // an input without the first axis broadcasts
            CoreOp::Pointwise(_) | CoreOp::Integers(_) => {}
            CoreOp::Softmax(softmax) => {
                softmax.axis += 1;
                self.tile(&mut softmax.input);
            }
            CoreOp::Reduce(reduce) => {
                reduce.first += 1;
                reduce.end += 1;
                self.tile(&mut reduce.input);
            }
            CoreOp::RunningSum(sum) => {
                sum.axis += 1;
                self.tile(&mut sum.input);
            }
            CoreOp::View(view) => {
                let is_shared = matches!(view.input, Source::Constant(_));
                let stride = if is_shared { 0 } else { self.model.len(view.input) };
                view.strides.insert(0, stride.cast_signed());
            }
            CoreOp::Concat(concat) => {
                concat.axis += 1;
                concat.inputs.iter_mut().for_each(|input| self.tile(input));
            }
            CoreOp::Loop(looped) => self.looped(looped),
            CoreOp::Lookup(lookup) => self.tile(&mut lookup.indices),
            CoreOp::TopK(top_k) => {
                top_k.rows *= rows;
                self.tile(&mut top_k.input);
            }
        }
    }

    fn cell(&mut self, cell: &mut CoreCell) {
        cell.batch *= self.rows;
        let sources = [Some(&mut cell.x), Some(&mut cell.h), cell.c.as_mut(), cell.a.as_mut()];
        sources.into_iter().flatten().for_each(|source| self.tile(source));
        match cell.sequence.as_mut().map(|sequence| &mut sequence.lengths) {
            Some(Lengths::Constant(lengths)) => *lengths = lengths.repeat(self.rows),
            Some(Lengths::Computed(source)) => self.tile(source),
            Some(Lengths::Full | Lengths::Parameter(_)) | None => {}
        }
    }

    fn looped(&mut self, looped: &mut CoreLoop) {
        for slice in &mut looped.slices {
            slice.axis += 1;
            self.tile(&mut slice.of);
        }
        for carried in &mut looped.carried {
            self.tile(&mut carried.initial);
            self.tile(&mut carried.next);
        }
        for result in &mut looped.results {
            self.tile(&mut result.of);
            if let Some((axis, _)) = &mut result.pieces {
                *axis += 1;
            }
        }
        looped.body = self.nodes(std::mem::take(&mut looped.body));
    }

    /// Replaces a constant by a constant with a copy for each stream.
    fn tile(&mut self, source: &mut Source) {
        if let Source::Constant(constant) = source {
            *constant = self.tiled(*constant);
        }
    }

    /// The index of the constant with a copy of this constant for each stream.
    fn tiled(&mut self, constant: usize) -> usize {
        let first = self.model.constants.len();
        if let Some(at) = self.tiled.iter().position(|(one, _)| *one == constant) {
            return first + at;
        }
        let one = &self.model.constants[constant];
        let values: Vec<f32> = (0..one.len()).map(|at| one.get_f32(at)).collect();
        let shape = [&[self.rows], one.shape()].concat();
        let tensor = Tensor::from_f32(shape, &values.repeat(self.rows));
        self.tiled.push((constant, tensor.expect("core: the elements fill the shape")));
        first + self.tiled.len() - 1
    }

    /// Gives the operands of an operation the rank of its value: the axes after the first one
    /// broadcast from the last one on.
    fn aligned(&mut self, pointwise: &mut Pointwise) -> Vec<View> {
        let rank = self.model.values[pointwise.out].shape.len();
        let mut views = Vec::new();
        for input in &mut pointwise.inputs {
            let shape = self.model.shape(*input);
            if matches!(input, Source::Constant(_)) || shape.len() == rank {
                continue;
            }
            let shape = [&vec![1; rank - shape.len()], shape].concat();
            let mut stride = shape.iter().product::<usize>();
            let mut strides = vec![stride.cast_signed()];
            for size in &shape {
                stride /= size;
                strides.push(stride.cast_signed());
            }
            let out = self.model.values.len();
            self.model.values.push(CoreValue { shape });
            views.push(View { input: *input, offset: 0, strides, out });
            *input = Source::Value(out);
        }
        views
    }

    fn finish(mut self, nodes: Vec<CoreNode>) {
        let mut variables = std::mem::take(&mut self.model.variables);
        for variable in &mut variables {
            variable.initial = variable.initial.map(|constant| self.tiled(constant));
            variable.next.iter_mut().for_each(|source| self.tile(source));
            // rings have one place of the newest frame for all rows, but each stream has its own
            variable.history = None;
        }
        let mut results = std::mem::take(&mut self.model.results);
        results.iter_mut().for_each(|result| self.tile(&mut result.source));
        let Self { model, rows, tiled } = self;
        model.constants.extend(tiled.into_iter().map(|(_, tensor)| tensor));
        let inputs = model.parameters.iter_mut().filter(|parameter| !parameter.weight);
        let shapes = inputs
            .map(|parameter| &mut parameter.shape)
            .chain(model.values.iter_mut().map(|value| &mut value.shape))
            .chain(variables.iter_mut().map(|variable| &mut variable.shape))
            .chain(results.iter_mut().map(|result| &mut result.shape));
        shapes.for_each(|shape| shape.insert(0, rows));
        (model.variables, model.results, model.nodes) = (variables, results, nodes);
        model.streams = Some(rows);
    }
}
