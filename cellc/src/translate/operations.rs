//! The translation of each operation of a model: the walk over the nodes of a graph, and the rule
//! for each kind of node.

use std::collections::HashMap;

use super::arrange::{blocks, eye, eye_like, one_hot, resize, roll, running_sum, triangle};
use super::attention::attention;
use super::convolution::{convolution, pad, pool};
use super::cut::between;
use super::einsum::einsum;
use super::elementwise::compute;
use super::integers::integers_of;
use super::layout::broadcasts::{broadcast_input, tile};
use super::layout::concats::concat;
use super::layout::slices::{Slices, masked_slices, slices, split, variadic_split};
use super::layout::{reshape, shape_of_op, squeeze, transpose, unsqueeze};
use super::linear_attention::linear_attention;
use super::matmul::product;
use super::normalize::normalize;
use super::operands::{Operands, all_exact};
use super::parts::padded_behind;
use super::places::{gather, gather_nd, scatter_nd};
use super::prefixes::{axis_of_prefix, prefix};
use super::ranges::range;
use super::reduce::reduce;
use super::refusal::{Refusal, Rule};
use super::rounding::convert;
use super::scatter::{gather_elements, reverse_sequence, scatter_elements, scatter_update};
use super::softmax::softmax;
use super::top_k::top_k;
use super::transform::{dft, mel_weights, spectral_window, stft};
use super::translator::TranslateInput;
use super::translator::{LoopForm, Translator};
use super::variables::Declaration;
use crate::core::{
    CoreBuilder, CoreModel, DynamicLength, Known, LayerPlace, Parameter, ResultValue, Source,
};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::model::limits::MOST_ELEMENTS;
use crate::model::limits::MOST_VISITED;
use crate::model::{ElementType, Elementwise, Model, Node, Op, Tensor, shape_text};
use crate::rules::input_sizes::InputSizes;
use crate::rules::names::names;
use crate::rules::report::attributes_are_legal;
use crate::rules::size_limits::interface_size;
use crate::rules::size_limits::too_large;
use crate::rules::step_facts::StepFacts;

/// Translates a model whose inputs have known sizes to core operations. Returns no model after an
/// error or for a part of a model.
pub(crate) fn translate<'a>(
    context: TranslateInput<'a>,
    inputs: &InputSizes,
    diagnostics: &mut Diagnostics,
) -> (Option<CoreModel>, StepFacts<'a>) {
    let Model { name, files, code_rate, .. } = context.model;
    let without_nodes = CoreModel {
        name: name.clone(),
        files: files.clone(),
        code_rate: *code_rate,
        ..CoreModel::default()
    };
    let mut translator = Translator::new(context, inputs, without_nodes, diagnostics);
    let translated = translator.translated();
    let Translator { mut core, mut steps, .. } = translator;
    steps.history = std::mem::take(&mut core.history);
    let core = core.finish();
    (translated.map(|()| core), steps)
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
            // an input without a shape has an error already
            if shape.is_some() {
                let is_number = value.element.is_float() || uses.is_length();
                let known = match is_number {
                    true => Known::Source(Source::Parameter(index), value.element),
                    false => {
                        let args = self.operands(node);
                        self.begin(&args, LayerPlace::default());
                        integers_of(&mut self.core, index, value.element)
                    }
                };
                self.known[node.outputs[0].0] = Some(known);
            }
        }
    }

    /// Translates every operation of the model and collects the results. `None` after an error.
    fn operations(&mut self) -> Option<()> {
        let mut results: HashMap<usize, ResultValue> = HashMap::new();
        self.graph(|this, index, node| {
            if let Some(result) = this.result(node) {
                results.insert(index, result);
            }
        });
        self.assignments();
        if self.context.is_partial || self.diagnostics.has_errors() {
            return None;
        }
        assert_eq!(
            results.len(),
            self.model.results.len(),
            "translate: an output is missing and nothing was said"
        );
        self.core.model.results =
            self.model.results.iter().filter_map(|node| results.remove(node)).collect();
        Some(())
    }

    /// Visits every node of the graph in order. `result` handles the Results.
    pub(super) fn graph(&mut self, mut result: impl FnMut(&mut Self, usize, &'a Node)) {
        let model = self.model;
        let mut readers = vec![0usize; model.values.len()];
        model.nodes.iter().flat_map(|node| &node.inputs).for_each(|input| readers[input.0] += 1);
        let between = if self.depth == 0 { between(model) } else { Vec::new() };
        for (index, node) in model.nodes.iter().enumerate() {
            self.visited += 1;
            let outer = if self.depth == 0 { index } else { self.core.layer.path.outer };
            let args = self.operands(node);
            self.begin(&args, LayerPlace { outer, inner: index });
            if self.visited > MOST_VISITED && self.depth > 0 {
                self.bodies_too_large(node);
                return;
            }
            match &node.op {
                Op::Result => result(self, index, node),
                // the caller has set the tensors of Parameters
                Op::Parameter => {}
                // an unread constant is not checked: an empty tensor may stand for an omitted input
                Op::Constant(_) if readers[node.outputs[0].0] == 0 => {}
                _ if self.refuse_iteration_number(node)
                    || self.note_dynamic_length(node)
                    || self.reads_empty(node) => {}
                _ => self.operation(node),
            }
            self.current_length = None;
            if node.outputs.first().is_some_and(|output| between.get(output.0) == Some(&true)) {
                self.keep_for_cut(node);
            }
            // drops tensors after their last reader, as folded weights take much memory
            for input in &node.inputs {
                readers[input.0] -= 1;
                if readers[input.0] == 0 {
                    self.known[input.0] = None;
                }
            }
        }
    }

    /// Translates a node by the rule of its operation.
    fn operation(&mut self, node: &'a Node) {
        if !attributes_are_legal(node, &node.op.wrong_numbers(), self.diagnostics) {
            return;
        }
        match node.op {
            Op::Parameter | Op::Result => {}
            Op::Constant(ref tensor) => self.constant(node, tensor),
            Op::Convert => self.convert(node),
            Op::Cell(_) | Op::Sequence(..) => self.cell(node),
            Op::ReadValue { ref variable, ref shape, element } => {
                let declared = Declaration { shape: shape.as_deref(), element };
                self.read_value(node, variable, declared);
            }
            Op::Assign { ref variable } => self.assign(node, variable),
            Op::Unread(ref why) => self.unread(node, why),
            Op::Loop(ref body) => self.iterate(node, body),
            Op::If(ref choice) => self.choose(node, choice),
            Op::Slice => self.slice(node),
            Op::StridedSlice(ref masks) => {
                self.slice_by(node, |core, args| masked_slices(core, args, masks));
            }
            Op::Elementwise(function) => self.elementwise(node, function),
            Op::MatMul { transpose_a: a, transpose_b: b } => {
                self.apply(node, |core, args| product(core, &args.all()?, a, b));
                self.range_of_products(node);
            }
            Op::Convolution(ref attributes) => {
                let y = self.rule(node, |core, args| convolution(core, args, attributes, None));
                self.set_all(node, y.flatten().map(|y| vec![y]));
                self.range_of_products(node);
            }
            Op::Pool(ref attributes) => self.apply_with(node, pool, attributes),
            Op::Pad(mode) => self.apply_with(node, pad, mode),
            Op::Concat { axis } => self.apply_with(node, concat, axis),
            Op::Split { parts } => self.apply_all(node, |core, args| split(core, args, parts)),
            Op::VariadicSplit => self.apply_all(node, variadic_split),
            Op::RunningSum(sum) => self.apply_with(node, running_sum, sum),
            Op::Softmax(attributes) => self.apply_with(node, softmax, attributes),
            Op::Reduce(attributes) => self.apply_with(node, reduce, attributes),
            Op::Normalize(normalization) => self.apply_with(node, normalize, normalization),
            Op::Reshape { zero_keeps } => self.apply_with(node, reshape, zero_keeps),
            Op::Squeeze { skip } => self.apply_with(node, squeeze, skip),
            Op::Unsqueeze => self.apply(node, unsqueeze),
            Op::Transpose => self.apply(node, transpose),
            Op::Gather { batch_dims } => self.apply_with(node, gather, batch_dims),
            Op::Broadcast(mode) => self.apply_with(node, broadcast_input, mode),
            Op::ReverseSequence(reversed) => self.apply_with(node, reverse_sequence, reversed),
            Op::ScatterUpdate => self.apply(node, scatter_update),
            Op::ScatterNd { combine } => self.apply_with(node, scatter_nd, combine),
            Op::ScatterElements { combine } => self.apply_with(node, scatter_elements, combine),
            Op::GatherElements { axis } => self.apply_with(node, gather_elements, axis),
            Op::GatherNd(attributes) => self.apply_with(node, gather_nd, attributes),
            Op::Dft(attributes) => self.apply_with(node, dft, attributes),
            Op::Stft { one_sided } => self.apply_with(node, stft, one_sided),
            Op::SpectralWindow(spectral) => self.apply_with(node, spectral_window, spectral),
            Op::MelWeights => self.apply(node, mel_weights),
            Op::Attention { causal } => self.apply_with(node, attention, causal),
            Op::LinearAttention(ref attributes) => {
                self.apply_all(node, |core, args| linear_attention(core, args, attributes));
            }
            Op::Tile => self.apply(node, tile),
            Op::OneHot(attributes) => self.apply_with(node, one_hot, attributes),
            Op::Triangle { upper } => self.apply_with(node, triangle, upper),
            Op::EyeLike { diagonal } => self.apply_with(node, eye_like, diagonal),
            Op::Eye => self.apply(node, eye),
            Op::Roll => self.apply(node, roll),
            Op::Blocks(attributes) => self.apply_with(node, blocks, attributes),
            Op::Einsum { ref equation } => self.apply_with(node, einsum, equation.as_str()),
            Op::Resize(attributes) => self.apply_with(node, resize, attributes),
            Op::ShapeOf => self.apply(node, shape_of_op),
            Op::Range { .. } => self.apply(node, range),
            Op::TopK(attributes) => {
                self.apply_all(node, |core, args| top_k(core, args, attributes))
            }
        }
    }

    /// Applies a rule with one output.
    fn apply(
        &mut self,
        node: &'a Node,
        rule: impl FnOnce(&mut CoreBuilder, &Operands) -> Rule<Known>,
    ) {
        let output = self.rule(node, rule);
        self.set_all(node, output.map(|known| vec![known]));
    }

    /// Applies a rule with attributes and one output.
    fn apply_with<A>(
        &mut self,
        node: &'a Node,
        rule: impl FnOnce(&mut CoreBuilder, &Operands, A) -> Rule<Known>,
        attributes: A,
    ) {
        self.apply(node, |core, args| rule(core, args, attributes));
    }

    /// Applies a rule with several outputs.
    fn apply_all(
        &mut self,
        node: &'a Node,
        rule: impl FnOnce(&mut CoreBuilder, &Operands) -> Rule<Vec<Known>>,
    ) {
        let outputs = self.rule(node, rule);
        self.set_all(node, outputs);
    }

    fn elementwise(&mut self, node: &'a Node, function: Elementwise) {
        self.apply(node, |core, args| compute(core, function, args.all()?));
        self.range_of_difference(node, function);
    }

    /// Slice, with a constant stop or a computed stop.
    fn slice(&mut self, node: &'a Node) {
        let args = self.operands(node);
        let Some(axis) = axis_of_prefix(&self.core, &args) else {
            self.slice_by(node, |core, args| slices(core, args));
            return;
        };
        if let Some(prefix) = self.build(node, |core| prefix(core, &args, axis)) {
            self.current_length = Some(prefix.length);
            self.set(node, 0, prefix.known);
        }
    }

    /// A slice. Its operand may be computed without the elements that the slice drops.
    fn slice_by(
        &mut self,
        node: &'a Node,
        rule: impl FnOnce(&mut CoreBuilder, &Operands) -> Rule<Slices>,
    ) {
        let slices = self.rule(node, rule);
        let output = slices.and_then(|slices| self.sliced(node, slices));
        self.set_all(node, output.map(|known| vec![known]));
    }

    fn bodies_too_large(&mut self, node: &'a Node) {
        let found = "loops of too many layers and iterations";
        let valid = format!(
            "{MOST_VISITED} layers or fewer, those of loops that are written out counted again \
             and again"
        );
        self.refuse(
            node,
            Refusal::new(found, valid, "let every iteration compute the same").shared(),
        );
    }

    /// Refuses nodes that read the iteration number, as neither shapes nor kernels know the number.
    /// True if the node is refused.
    fn refuse_iteration_number(&mut self, node: &'a Node) -> bool {
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

    pub(super) fn iteration_is_read(&mut self, node: &'a Node) {
        self.loops.want(LoopForm::WrittenOut);
        let found = "the number of the iteration is read";
        let help =
            "rewrite the body so that every iteration computes the same from what it is given";
        self.refuse(node, Refusal::new(found, "a body that does not depend on it", help));
    }

    fn constant(&mut self, node: &'a Node, tensor: &Tensor) {
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

    fn convert(&mut self, node: &'a Node) {
        let element = self.model.values[node.outputs[0].0].element;
        let Some(known) = self.input(node, 0) else { return };
        let before = known.element();
        if let Known::Source(..) = known
            && matches!(element, ElementType::F16 | ElementType::Bf16)
            && before.is_float()
            && before != element
        {
            let found = format!(
                "the conversion from {} to {} has no effect: the generated code computes in f32",
                before.name(),
                element.name()
            );
            self.warn(node, found);
        }
        let is_length = |parameter: usize| self.inputs.uses[parameter].is_length();
        let output = match known {
            Known::Source(source @ Source::Parameter(i), _)
                if is_length(i) && !element.is_float() =>
            {
                Some(Known::Source(source, element))
            }
            known => self.build(node, |core| convert(core, &known, element)),
        };
        self.set_all(node, output.map(|known| vec![known]));
    }

    fn warn(&mut self, node: &Node, found: String) {
        let warning = Diagnostic::warning(node.origin.clone(), found).layer(node.label());
        self.diagnostics.push(warning);
    }

    fn result(&mut self, node: &'a Node) -> Option<ResultValue> {
        let input = node.inputs[0];
        let known = self.with_zeros_behind(node, self.input(node, 0)?)?;
        let (shape, element) = (self.core.shape_of(&known), known.element());
        let value = &self.model.values[input.0];
        if shape.contains(&0) {
            let found = format!("an output of shape {}: a size of 0", shape_text(&shape));
            self.refuse(node, Refusal::new(found, "sizes of 1 or more", "remove the output"));
            return None;
        }
        if !element.is_float() {
            self.build(node, |_| all_exact(std::slice::from_ref(&known)))?;
            if !matches!(element, ElementType::I32 | ElementType::I64 | ElementType::Bool) {
                let wide = if element.bits() < 32 { "i32" } else { "i64" };
                let found = format!(
                    "the output is {} in the model; the generated code gives {wide}",
                    element.name()
                );
                self.warn(node, found);
            }
        } else if element != ElementType::F32 {
            let found = format!(
                "the output is {} in the model; the generated code gives f32",
                element.name()
            );
            self.warn(node, found);
        }
        // the stated shape of the input's value has been compared already
        if let Some(&output) =
            node.outputs.first().filter(|output| self.model.values[output.0].shape != value.shape)
        {
            self.check_stated(node, output, &shape);
        }
        let output_names =
            node.outputs.first().map_or(&[][..], |output| &self.model.values[output.0].names);
        let names = names(&[output_names, &value.names], &node.name);
        Some(ResultValue {
            names,
            shape,
            element,
            source: self.core.source(&known).ok()?,
            parts: None,
        })
    }

    /// An output. Behind a run-time length, zeros replace the elements.
    fn with_zeros_behind(&mut self, node: &'a Node, known: Known) -> Option<Known> {
        let open = self
            .core
            .facts
            .dynamic_length(&known)
            .filter(|length| length.parts_along.is_some() && !length.is_zero);
        let Some(length) = open else { return Some(known) };
        let zero = Known::number_like(&known, 0.0);
        let out = self.build(node, |core| padded_behind(core, &known, length, &zero))?;
        if let Known::Source(Source::Value(value), _) = out {
            self.core.facts.lengths.insert(value, DynamicLength { is_zero: true, ..length });
        }
        Some(out)
    }
}
