//! Independent streams, or channels of a sound: every input, output and state gets a row for each
//! stream or channel.

use super::{CoreModel, CoreNode, CoreOp, CoreValue, Source, View};
use crate::model::Tensor;

/// The rows of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// Independent streams, which begin and end at any step.
    Streams,
    /// Channels of a sound, which take every step together.
    Channels,
}

/// Gives every input, state, value and output a first axis of `count` rows. Weights, filters,
/// tables and constants that broadcast are shared; other constants are copied for each row. Each
/// row computes what the model computed, in the same order.
///
/// `check` has checked the shapes with `count` rows, and refused models with run-time sizes.
pub fn repeat(model: &mut CoreModel, count: usize, kind: RowKind) {
    let copied = StreamRows::new(model, count, kind).run();
    for constant in copied {
        let tensor = &model.constants[constant];
        let values: Vec<f32> = (0..tensor.len()).map(|at| tensor.get_f32(at)).collect();
        let shape = [&[count], tensor.shape()].concat();
        let tensor = Tensor::from_f32(shape, &values.repeat(count));
        model.constants.push(tensor.expect("core: the elements fill the shape"));
    }
    let inputs = model.parameters.iter_mut().filter(|parameter| !parameter.weight);
    let shapes = inputs
        .map(|parameter| &mut parameter.shape)
        .chain(model.values.iter_mut().map(|value| &mut value.shape))
        .chain(model.variables.iter_mut().map(|variable| &mut variable.shape))
        .chain(model.results.iter_mut().map(|result| &mut result.shape));
    shapes.for_each(|shape| shape.insert(0, count));
    model.streams = (kind == RowKind::Streams).then_some(count);
}

/// The shapes of one row to which [`repeat`] adds a first axis: the shapes of inputs, values,
/// variables, results, and of the constants that are copied for each row.
pub(crate) fn repeated_shapes(model: &CoreModel) -> Vec<&[usize]> {
    // the copy has no constants: finding the repeated tensors does not read their elements
    let mut copy = CoreModel {
        parameters: model.parameters.clone(),
        variables: model.variables.clone(),
        values: model.values.clone(),
        nodes: model.nodes.clone(),
        results: model.results.clone(),
        ..CoreModel::default()
    };
    let copied = StreamRows::new(&mut copy, 1, RowKind::Streams).run();
    let inputs = model.parameters.iter().filter(|parameter| !parameter.weight);
    inputs
        .map(|parameter| &parameter.shape[..])
        .chain(model.values.iter().map(|value| &value.shape[..]))
        .chain(model.variables.iter().map(|variable| &variable.shape[..]))
        .chain(model.results.iter().map(|result| &result.shape[..]))
        .chain(copied.into_iter().map(|constant| model.constants[constant].shape()))
        .collect()
}

/// A model while its operations get rows. Shapes keep the sizes of one row until all operations
/// have their rows.
pub(super) struct StreamRows<'m> {
    model: &'m mut CoreModel,
    /// The number of rows.
    pub(super) count: usize,
    kind: RowKind,
    /// The constants that are copied for each row. The copies are stored after the constants of the
    /// model.
    copied: Vec<usize>,
    /// Views to insert in front of the current operation.
    views: Vec<View>,
}

impl<'m> StreamRows<'m> {
    fn new(model: &'m mut CoreModel, count: usize, kind: RowKind) -> Self {
        Self { model, count, kind, copied: Vec::new(), views: Vec::new() }
    }

    /// Gives operations, variables and results a row for each stream. Returns [`Self::copied`].
    fn run(mut self) -> Vec<usize> {
        let mut nodes = std::mem::take(&mut self.model.nodes);
        self.repeat(&mut nodes);
        let mut variables = std::mem::take(&mut self.model.variables);
        for variable in &mut variables {
            variable.initial = variable.initial.map(|constant| self.copy_of(constant));
            variable.next.iter_mut().for_each(|source| self.copy(source));
            variable.history = match self.kind {
                // the rows of a ring buffer share one place of the newest frame, but streams
                // advance alone
                RowKind::Streams => None,
                RowKind::Channels => variable.history.map(|axis| axis + 1),
            };
        }
        let mut results = std::mem::take(&mut self.model.results);
        results.iter_mut().for_each(|result| self.copy(&mut result.source));
        let Self { model, copied, .. } = self;
        (model.variables, model.results, model.nodes) = (variables, results, nodes);
        copied
    }

    /// Gives operations a row for each stream.
    pub(super) fn repeat(&mut self, nodes: &mut Vec<CoreNode>) {
        for mut node in std::mem::take(nodes) {
            node.op.repeat(self);
            nodes.extend(self.views.drain(..).map(|view| CoreNode {
                name: node.name.clone(),
                kind: "Reshape".to_owned(),
                op: CoreOp::View(view),
                ledger: Vec::new(),
                layer: node.layer,
            }));
            nodes.push(node);
        }
    }

    /// The number of elements in one row.
    pub(super) fn len(&self, source: Source) -> usize {
        self.model.len(source)
    }

    /// Replaces a constant by the constant that has a copy for each row.
    pub(super) fn copy(&mut self, source: &mut Source) {
        if let Source::Constant(constant) = source {
            *constant = self.copy_of(*constant);
        }
    }

    /// The index of the constant that has a copy of `constant` for each row.
    fn copy_of(&mut self, constant: usize) -> usize {
        let first = self.model.constants.len();
        let known = self.copied.iter().position(|one| *one == constant);
        first
            + known.unwrap_or_else(|| {
                self.copied.push(constant);
                self.copied.len() - 1
            })
    }

    /// Extends the rank of broadcast operands to the rank of the value, so that all axes but the
    /// new one still align from the last axis on. Constants are shared by all rows and stay
    /// unchanged.
    pub(super) fn align(&mut self, inputs: &mut [Source], out: usize) {
        let rank = self.model.values[out].shape.len();
        for input in inputs {
            let is_shared = matches!(input, Source::Constant(_));
            if is_shared || self.model.shape(*input).len() == rank {
                continue;
            }
            let shape = self.model.shape(*input);
            let shape = [&vec![1; rank - shape.len()], shape].concat();
            let mut stride = shape.iter().product::<usize>();
            let mut strides = vec![stride.cast_signed()];
            for size in &shape {
                stride /= size;
                strides.push(stride.cast_signed());
            }
            let out = self.model.values.len();
            self.model.values.push(CoreValue { shape });
            self.views.push(View { input: *input, offset: 0, strides, out });
            *input = Source::Value(out);
        }
    }
}
