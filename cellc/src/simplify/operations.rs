//! The translation of each operation of a model: the walk over the nodes of a graph, and the rule
//! for each kind of node.

use std::collections::HashMap;

use super::arrange::{blocks, eye, eye_like, one_hot, resize, roll, triangle};
use super::attention::attention;
use super::cut::between;
use super::einsum::einsum;
use super::elementwise::computed;
use super::integers::{converted, integers_of};
use super::layout::broadcasts::{broadcast_input, tile};
use super::layout::{reshape, shape_of_op, squeeze, transpose, unsqueeze};
use super::matmul::product;
use super::normalize::normalize;
use super::operands::Operands;
use super::parts::padded_behind;
use super::places::gather;
use super::places::{gather_nd, scatter_nd};
use super::ranges::range;
use super::reduce::reduce;
use super::refusal::Refusal;
use super::refusal::Rule;
use super::rounding::rounded;
use super::scatter::{gather_elements, scatter_elements};
use super::scatter::{reverse_sequence, scatter_update};
use super::softmax::softmax;
use super::top_k::top_k;
use super::transform::{dft, mel_weights, spectral_window, stft};
use super::translator::Translator;
use crate::check::cell::check_parameters;
use crate::check::input_sizes::InputSizes;
use crate::check::interface::names;
use crate::check::limits::MOST_VISITED;
use crate::check::report::UNDEFINED;
use crate::check::size_limits::too_large;
use crate::check::step_facts::StepFacts;
use crate::check::{Subject, Translated, interface_size};
use crate::core::fold::to_integers;
use crate::core::limits::MOST_ELEMENTS;
use crate::core::{
    CoreBuilder, CoreModel, DynamicLength, Known, LayerPlace, Parameter, ResultValue, Source,
};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::model::{Activation, ElementType, Elementwise, Node, Op, Tensor, shape_text};

/// Translates a model, whose inputs are known, to core operations. `None` after an error, and for
/// a part of a model.
pub(crate) fn translate<'a>(
    subject: Subject<'a>,
    inputs: &InputSizes,
    steps: &mut StepFacts<'a>,
    diagnostics: &mut Diagnostics,
) -> Option<Translated> {
    let (name, files) = (subject.model.name.clone(), subject.model.files.clone());
    let without_nodes = CoreModel { name, files, ..CoreModel::default() };
    let mut translator = Translator::new(subject, inputs, steps, without_nodes, diagnostics);
    translator.translated()?;
    Some(Translated(translator.core.finish()))
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
                        integers_of(&mut self.core, index, value.element)
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
        if self.subject.is_partial || self.diagnostics.has_errors() {
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
                _ if self.refuse_iteration_number(node)
                    || self.note_dynamic_length(node)
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
            Op::Concat { axis } => self.concat(node, *axis),
            Op::Split { parts } => self.split(node, *parts),
            Op::VariadicSplit => self.variadic_split(node),
            Op::Slice => self.slice(node),
            Op::StridedSlice(masks) => self.strided_slice(node, masks),
            Op::RunningSum { exclusive, reverse } => self.running_sum(node, *exclusive, *reverse),
            Op::Unread(why) => self.unread(node, why),
            Op::ReadValue { variable, shape, element } => {
                self.read_value(node, variable, shape.as_deref(), *element);
            }
            Op::Assign { variable } => self.assign(node, variable),
            Op::Convolution(of) => self.convolution(node, of),
            Op::Pool(of) => self.pool(node, of),
            Op::Pad(mode) => self.pad(node, *mode),
            Op::Loop(body) => self.iterate(node, body),
            Op::If(choice) => self.choose(node, choice),
            Op::Elementwise(Elementwise::Activation(activation))
                if !self.check_finite(node, *activation) => {}
            op => {
                let outputs = self.rule(node, |core, args| outputs(core, args, op));
                for (port, known) in outputs.into_iter().flatten().enumerate() {
                    self.set(node, port, known);
                }
            }
        }
        match op {
            Op::Elementwise(function) => self.range_of_difference(node, *function),
            Op::MatMul { .. } | Op::Convolution(_) => self.range_of_products(node, op),
            _ => {}
        }
    }

    /// Refuses an activation with a parameter that is infinite or NaN. True if not refused.
    fn check_finite(&mut self, node: &'a Node, activation: Activation) -> bool {
        let origin = node.attribute_origin("alpha");
        check_parameters(node, origin, activation, self.diagnostics)
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

    /// Refuses values computed from the number of an iteration: neither shapes nor kernels know the
    /// number. True if refused.
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
        self.loops.wants_unrolling = true;
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
                        self.refuse(
                            node,
                            Refusal::new(reason, "an operation that has a result", UNDEFINED),
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
            Known::Source(..) | Known::Iteration(..) => {
                match self.build(node, |core| converted(core, &known, element)) {
                    Some(converted) => converted,
                    None => return,
                }
            }
        };
        self.set(node, 0, converted);
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

/// The outputs of an operation that its operands alone decide.
fn outputs(core: &mut CoreBuilder, args: &Operands, op: &Op) -> Rule<Vec<Known>> {
    let output = match *op {
        Op::Elementwise(function) => computed(core, function, args.all()?),
        Op::MatMul { transpose_a, transpose_b } => {
            product(core, &args.all()?, transpose_a, transpose_b)
        }
        Op::Softmax { axis, log } => softmax(core, args, axis, log),
        Op::Reduce { reduction, keep, no_axes } => reduce(core, args, reduction, keep, no_axes),
        Op::Normalize(normalization) => normalize(core, args, normalization),
        Op::Reshape { zero_keeps } => reshape(core, args, zero_keeps),
        Op::Squeeze { skip } => squeeze(core, args, skip),
        Op::Unsqueeze => unsqueeze(core, args),
        Op::Transpose => transpose(core, args),
        Op::Gather { batch_dims } => gather(core, args, batch_dims),
        Op::Broadcast(mode) => broadcast_input(core, args, mode),
        Op::ReverseSequence { batch_axis, seq_axis } => {
            reverse_sequence(core, args, batch_axis, seq_axis)
        }
        Op::ScatterUpdate => scatter_update(core, args),
        Op::ScatterNd { combine } => scatter_nd(core, args, combine),
        Op::ScatterElements { combine } => scatter_elements(core, args, combine),
        Op::GatherElements { axis } => gather_elements(core, args, axis),
        Op::GatherNd(of) => gather_nd(core, args, of),
        Op::Dft(of) => dft(core, args, of),
        Op::Stft { half } => stft(core, args, half),
        Op::SpectralWindow(of) => spectral_window(core, args, of),
        Op::MelWeights => mel_weights(core, args),
        Op::Attention { causal } => attention(core, args, causal),
        Op::Tile => tile(core, args),
        Op::OneHot { axis, from_end } => one_hot(core, args, axis, from_end),
        Op::Triangle { upper } => triangle(core, args, upper),
        Op::EyeLike { diagonal } => eye_like(core, args, diagonal),
        Op::Eye => eye(core, args),
        Op::Roll => roll(core, args),
        Op::Blocks(of) => blocks(core, args, of),
        Op::Einsum { ref equation } => einsum(core, args, equation),
        Op::Resize(of) => resize(core, args, of),
        Op::ShapeOf => shape_of_op(core, args),
        Op::Range => range(core, args),
        Op::TopK { axis, largest, last, sorted_by_place } => {
            return top_k(core, args, axis, largest, last, sorted_by_place);
        }
        Op::Parameter
        | Op::Result
        | Op::Constant(_)
        | Op::Convert
        | Op::Cell(_)
        | Op::Sequence(..)
        | Op::Concat { .. }
        | Op::Split { .. }
        | Op::VariadicSplit
        | Op::Slice
        | Op::StridedSlice(_)
        | Op::RunningSum { .. }
        | Op::Unread(_)
        | Op::ReadValue { .. }
        | Op::Assign { .. }
        | Op::Convolution(_)
        | Op::Pool(_)
        | Op::Pad(_)
        | Op::Loop(_)
        | Op::If(_) => unreachable!("simplify: {:?} takes more than its operands", args.node.kind),
    };
    output.map(|known| vec![known])
}
