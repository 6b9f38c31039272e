//! The rule of each operation of a model.

use super::arrange::{blocks, eye, eye_like, one_hot, resize, roll, running_sum, triangle};
use super::attention::attention;
use super::convolution::{convolution, pad, pool};
use super::einsum::einsum;
use super::layout::broadcasts::{broadcast_input, tile};
use super::layout::concats::{append_to_state, concat};
use super::layout::slices::{Slices, masked_slices, split, variadic_split};
use super::layout::{reshape, shape_of_op, squeeze, transpose, unsqueeze};
use super::linear_attention::linear_attention;
use super::matmul::product;
use super::normalize::normalize;
use super::operands::Operands;
use super::places::{gather, gather_nd, scatter_nd};
use super::ranges::range;
use super::reduce::reduce;
use super::refusal::Rule;
use super::scatter::{gather_elements, reverse_sequence, scatter_elements, scatter_update};
use super::softmax::softmax;
use super::top_k::top_k;
use super::transform::{dft, mel_weights, spectral_window, stft};
use super::translator::Translator;
use super::variables::Declaration;
use crate::core::{CoreBuilder, Known};
use crate::model::{Node, Op};
use crate::rules::report::attributes_are_legal;

impl<'a> Translator<'_, 'a> {
    /// Translates a node by the rule of its operation.
    pub(super) fn operation(&mut self, node: &'a Node) {
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
            Op::Unread(ref problem) => self.unread(node, problem),
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
            Op::AppendToState => self.apply(node, append_to_state),
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
    pub(super) fn apply(
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

    /// A slice. Its operand may be computed without the elements that the slice drops.
    pub(super) fn slice_by(
        &mut self,
        node: &'a Node,
        rule: impl FnOnce(&mut CoreBuilder, &Operands) -> Rule<Slices>,
    ) {
        let slices = self.rule(node, rule);
        let output = slices.and_then(|slices| self.sliced(node, slices));
        self.set_all(node, output.map(|known| vec![known]));
    }
}
