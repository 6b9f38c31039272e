//! The translation of each operation of a model: the walk over the nodes of a graph, and the rule
//! for each kind of node.

use std::collections::HashMap;

use super::cut::between;
use super::rounding::rounded;
use super::translator::Translator;
use crate::check::input_sizes::InputSizes;
use crate::check::interface::names;
use crate::check::limits::MOST_VISITED;
use crate::check::report::UNDEFINED;
use crate::check::size_limits::too_large;
use crate::check::step_facts::StepFacts;
use crate::check::{Subject, interface_size};
use crate::core::fold::to_integers;
use crate::core::limits::MOST_ELEMENTS;
use crate::core::{CoreModel, DynamicLength, Known, LayerPlace, Parameter, ResultValue, Source};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::model::{ElementType, Node, Op, Tensor, shape_text};

/// Translates a model, whose inputs are known, to core operations. `None` after an error.
pub(crate) fn translate<'a>(
    subject: Subject<'a>,
    inputs: &InputSizes,
    steps: &mut StepFacts<'a>,
    core: &mut CoreModel,
    diagnostics: &mut Diagnostics,
) -> Option<()> {
    let without_nodes = std::mem::take(core);
    let mut translator = Translator::new(subject, inputs, steps, without_nodes, diagnostics);
    let translated = translator.translated();
    *core = translator.core.finish();
    translated
}

impl<'a> Translator<'_, 'a> {
    /// Translates the model. `None` after an error.
    fn translated(&mut self) -> Option<()> {
        self.parameters();
        interface_size(self.model, &self.core.model, self.diagnostics)?;
        self.operations()?;
        self.add_length_outputs();
        self.warn_of_unused_max_steps();
        Some(())
    }

    /// Adds the inputs of the model.
    fn parameters(&mut self) {
        let model = self.model;
        for (index, &node) in model.parameters.iter().enumerate() {
            let node = &model.nodes[node];
            let value = &model.values[node.outputs[0].0];
            let (shape, uses) = (&self.inputs.shapes[index], &self.inputs.uses[index]);
            self.core.model.parameters.push(Parameter {
                names: names(&[&value.names[..]], &node.name),
                shape: shape.clone().unwrap_or_default(),
                element: value.element,
                weight: uses.weight.is_some(),
                length: None,
                rows: None,
            });
            // inputs without a shape have an error
            if shape.is_some() {
                let is_number = value.element.is_float() || uses.is_length();
                let known = match is_number {
                    true => Known::Source(Source::Parameter(index), value.element),
                    false => {
                        self.begin(node, LayerPlace::default());
                        self.integers_of(node, index, value.element)
                    }
                };
                self.known[node.outputs[0].0] = Some(known);
            }
        }
    }

    /// Translates every operation of the model and collects its outputs. `None` after an error.
    fn operations(&mut self) -> Option<()> {
        let mut results: HashMap<usize, ResultValue> = HashMap::new();
        self.graph(|this, index, node| {
            if let Some(result) = this.result(node) {
                results.insert(index, result);
            }
        });
        self.assignments();
        if self.subject.is_partial() || self.diagnostics.has_errors() {
            return None;
        }
        assert_eq!(
            results.len(),
            self.model.results.len(),
            "simplify: an output is missing and nothing was said"
        );
        self.core.model.results =
            self.model.results.iter().filter_map(|node| results.remove(node)).collect();
        Some(())
    }

    /// Visits every node of the graph in order. The caller handles Results.
    pub(super) fn graph(&mut self, mut result: impl FnMut(&mut Self, usize, &'a Node)) {
        let model = self.model;
        let mut readers = vec![0usize; model.values.len()];
        model.nodes.iter().flat_map(|node| &node.inputs).for_each(|input| readers[input.0] += 1);
        let between = if self.depth == 0 { between(model) } else { Vec::new() };
        for (index, node) in model.nodes.iter().enumerate() {
            self.visited += 1;
            let outer = if self.depth == 0 { index } else { self.core.layer.place.outer };
            self.begin(node, LayerPlace { outer, inner: index });
            if self.visited > MOST_VISITED && self.depth > 0 {
                self.bodies_too_large(node);
                return;
            }
            match &node.op {
                Op::Result => result(self, index, node),
                // the caller has set the tensors of Parameters
                Op::Parameter => {}
                // an unread empty tensor may stand for an omitted input
                Op::Constant(_) if readers[node.outputs[0].0] == 0 => {}
                _ if self.reads_iteration(node)
                    || self.reads_dynamic_length(node)
                    || self.reads_empty(node) => {}
                op => self.operation(node, op),
            }
            self.current_length = None;
            if node.outputs.first().is_some_and(|output| between.get(output.0) == Some(&true)) {
                self.keep_for_cut(node);
            }
            // folded weights are large, so tensors are dropped after their last reader
            for input in &node.inputs {
                readers[input.0] -= 1;
                if readers[input.0] == 0 {
                    self.known[input.0] = None;
                }
            }
        }
    }

    fn operation(&mut self, node: &'a Node, op: &'a Op) {
        match op {
            Op::Parameter | Op::Result => {}
            Op::Constant(tensor) => self.constant(node, tensor),
            Op::Convert => self.convert(node),
            Op::Cell(cell) => self.cell(node, cell, None),
            Op::Sequence(cell, direction) => self.cell(node, cell, Some(*direction)),
            Op::Elementwise(function) => {
                self.elementwise(node, *function);
                self.range_of_difference(node, *function);
            }
            Op::MatMul { transpose_a, transpose_b } => {
                self.matmul(node, *transpose_a, *transpose_b);
                self.range_of_products(node, op);
            }
            Op::Softmax { axis, log } => self.softmax(node, *axis, *log),
            Op::Reduce { reduction, keep, no_axes } => {
                self.reduce(node, *reduction, *keep, *no_axes)
            }
            Op::Normalize(normalization) => self.normalize(node, *normalization),
            Op::Concat { axis } => self.concat(node, *axis),
            Op::Split { parts } => self.split(node, *parts),
            Op::VariadicSplit => self.variadic_split(node),
            Op::Reshape { zero_keeps } => self.reshape(node, *zero_keeps),
            Op::Squeeze { skip } => self.squeeze(node, *skip),
            Op::Unsqueeze => self.unsqueeze(node),
            Op::Transpose => self.transpose(node),
            Op::Gather { batch_dims } => self.gather(node, *batch_dims),
            Op::Slice => self.slice(node),
            Op::StridedSlice { .. } => self.strided_slice(node, op),
            Op::Broadcast(mode) => self.broadcast(node, *mode),
            Op::ReverseSequence { batch_axis, seq_axis } => {
                self.reverse_sequence(node, *batch_axis, *seq_axis)
            }
            Op::ScatterUpdate => self.scatter_update(node),
            Op::ScatterNd { combine } => self.scatter_nd(node, *combine),
            Op::ScatterElements { combine } => self.scatter_elements(node, *combine),
            Op::GatherElements { axis } => self.gather_elements(node, *axis),
            Op::GatherNd(of) => self.gather_nd(node, *of),
            Op::Dft(of) => self.dft(node, *of),
            Op::Stft { half } => self.stft(node, *half),
            Op::SpectralWindow(of) => self.spectral_window(node, *of),
            Op::MelWeights => self.mel_weights(node),
            Op::Attention { causal } => self.attention(node, *causal),
            Op::Tile => self.tile(node),
            Op::RunningSum { exclusive, reverse } => self.running_sum(node, *exclusive, *reverse),
            Op::OneHot { axis, from_end } => self.one_hot(node, *axis, *from_end),
            Op::Triangle { upper } => self.triangle(node, *upper),
            Op::EyeLike { diagonal } => self.eye_like(node, *diagonal),
            Op::Eye => self.eye(node),
            Op::Roll => self.roll(node),
            Op::Unread(why) => self.unread(node, why),
            Op::Blocks(of) => self.blocks(node, *of),
            Op::Einsum { equation } => self.einsum(node, equation),
            Op::Resize(of) => self.resize(node, *of),
            Op::ShapeOf => self.shape_of_op(node),
            Op::Range => self.range(node),
            Op::ReadValue { variable, shape, element } => {
                self.read_value(node, variable, shape.as_deref(), *element);
            }
            Op::Assign { variable } => self.assign(node, variable),
            Op::Convolution(of) => {
                self.convolution(node, of);
                self.range_of_products(node, op);
            }
            Op::Pool(of) => self.pool(node, of),
            Op::Pad(mode) => self.pad(node, *mode),
            Op::TopK { axis, largest, last, sorted_by_place } => {
                self.top_k(node, *axis, *largest, *last, *sorted_by_place);
            }
            Op::Loop(body) => self.iterate(node, body),
            Op::If(choice) => self.choose(node, choice),
        }
    }

    fn bodies_too_large(&mut self, node: &Node) {
        let found = "loops of too many layers and iterations";
        let valid = format!(
            "{MOST_VISITED} layers or fewer, those of loops that are written out counted again \
             and again"
        );
        self.error_of_many(node, found, valid, "let every iteration compute the same");
    }

    /// Refuses values computed from the number of an iteration: neither shapes nor kernels know the
    /// number.
    fn reads_iteration(&mut self, node: &Node) -> bool {
        let reads = node
            .inputs
            .iter()
            .any(|input| matches!(self.known[input.0], Some(Known::Iteration(..))));
        if !reads || node.op == Op::ShapeOf {
            return false;
        }
        self.iteration_is_read(node);
        true
    }

    pub(super) fn iteration_is_read(&mut self, node: &Node) {
        self.loops.wants_unrolling = true;
        let found = "the number of the iteration is read";
        let help =
            "rewrite the body so that every iteration computes the same from what it is given";
        self.error(node, &node.origin, found, "a body that does not depend on it", help);
    }

    fn constant(&mut self, node: &Node, tensor: &Tensor) {
        let value = node.outputs[0];
        if tensor.len() > MOST_ELEMENTS {
            let origin = &self.model.values[value.0].origin;
            self.diagnostics.push(too_large(node, origin, tensor.shape(), MOST_ELEMENTS));
        } else {
            self.core.folded.given(tensor);
            self.core.model.has_bytes |=
                matches!(tensor.element(), ElementType::I8 | ElementType::U8);
            self.known[value.0] = Some(Known::Constant(tensor.clone(), tensor.element()));
        }
    }

    fn convert(&mut self, node: &Node) {
        let element = self.model.values[node.outputs[0].0].element;
        let Some(known) = self.input(node, 0) else { return };
        let before = known.element();
        let converted = match known {
            Known::Constant(tensor, _) if element.is_float() => {
                // folded tensors are f32, even if the model has another type for them
                let same = before == element
                    || tensor.element() == ElementType::F32 && before != ElementType::F32;
                let same = same && before.is_float();
                match Some(&tensor).filter(|_| !same).and_then(|tensor| rounded(tensor, element)) {
                    None => Known::Constant(tensor, element),
                    Some(rounded) => {
                        let Some(()) = self.folds(node, rounded.len(), element) else { return };
                        Known::Constant(rounded, element)
                    }
                }
            }
            Known::Constant(tensor, _) => {
                let Some(()) = self.foldable(node, tensor.shape(), element) else { return };
                match to_integers(&tensor, element) {
                    Ok(tensor) => Known::Constant(tensor, element),
                    Err(reason) => {
                        self.error(
                            node,
                            &node.origin,
                            reason,
                            "an operation that has a result",
                            UNDEFINED,
                        );
                        return;
                    }
                }
            }
            Known::Source(source @ Source::Parameter(i), _)
                if self.inputs.uses[i].is_length() && !element.is_float() =>
            {
                Known::Source(source, element)
            }
            Known::Source(source, _) if element.is_float() && before.is_float() => {
                if matches!(element, ElementType::F16 | ElementType::Bf16) && before != element {
                    let found = format!(
                        "the conversion from {} to {} has no effect: the generated code computes \
                         in f32",
                        before.name(),
                        element.name()
                    );
                    self.diagnostics
                        .push(Diagnostic::warning(node.origin.clone(), found).layer(node.label()));
                }
                Known::Source(source, element)
            }
            Known::Source(..) | Known::Iteration(..) => match self.converted(node, &known, element)
            {
                Some(converted) => converted,
                None => return,
            },
        };
        self.set(node, 0, converted);
    }

    fn result(&mut self, node: &Node) -> Option<ResultValue> {
        let input = node.inputs[0];
        let known = self.with_zeros_behind(node, self.input(node, 0)?)?;
        let (shape, element) = (self.shape_of(&known), known.element());
        let value = &self.model.values[input.0];
        if shape.contains(&0) {
            let found = format!("an output of shape {}: a size of 0", shape_text(&shape));
            self.error(node, &node.origin, found, "sizes of 1 or more", "remove the output");
            return None;
        }
        if !element.is_float() {
            self.all_exact(node, std::slice::from_ref(&known))?;
            if !matches!(element, ElementType::I32 | ElementType::I64 | ElementType::Bool) {
                let wide = if element.bits() < 32 { "i32" } else { "i64" };
                let found = format!(
                    "the output is {} in the model; the generated code gives {wide}",
                    element.name()
                );
                self.diagnostics
                    .push(Diagnostic::warning(node.origin.clone(), found).layer(node.label()));
            }
        } else if element != ElementType::F32 {
            let found = format!(
                "the output is {} in the model; the generated code gives f32",
                element.name()
            );
            self.diagnostics
                .push(Diagnostic::warning(node.origin.clone(), found).layer(node.label()));
        }
        // the stated shape of the value has been compared before
        if let Some(&output) =
            node.outputs.first().filter(|output| self.model.values[output.0].shape != value.shape)
        {
            self.check_stated(node, output, &shape);
        }
        let own = node.outputs.first().map_or(&[][..], |output| &self.model.values[output.0].names);
        let names = names(&[own, &value.names], &node.name);
        Some(ResultValue { names, shape, element, source: self.source(&known)?, parts: None })
    }

    /// An output with a run-time length, padded with zeros.
    fn with_zeros_behind(&mut self, node: &Node, known: Known) -> Option<Known> {
        let open = self
            .core
            .facts
            .dynamic_length(&known)
            .filter(|length| length.parts_along.is_some() && !length.is_zero);
        let Some(length) = open else { return Some(known) };
        let zero = self.number_like(&known, 0.0)?;
        let out = self.padded_behind(node, &known, length, &zero)?;
        if let Known::Source(Source::Value(value), _) = out {
            self.core.facts.lengths.insert(value, DynamicLength { is_zero: true, ..length });
        }
        Some(out)
    }
}
