//! Windows dropped by a slice. PyTorch's causal convolutions pad both sides of an axis and cut off
//! the last outputs. Such a convolution becomes a convolution with less padding at the end: the
//! remaining outputs keep their bits, and the convolution does not read later elements.

use std::collections::HashMap;

use super::convolution::{DroppedEnd, convolution};
use super::elementwise::compute;
use super::layout::slices::{AxisSlice, Slices};
use super::operands::Operands;
use super::translator::Translator;
use crate::core::Known;
use crate::model::{Axes, Convolution, Model, Node, Padding, ValueId};

/// True if a convolution pads the end of an axis, or is transposed.
fn pads_behind(convolution: &Convolution) -> bool {
    // a transposed convolution can leave out its last outputs without padding
    convolution.transposed
        || match &convolution.window.padding {
            Padding::Explicit { end, .. } => end.iter().any(|&end| end > 0),
            Padding::SameUpper | Padding::SameLower => true,
            Padding::Valid => false,
        }
}

/// The most values between a slice and the convolutions whose outputs the slice cuts.
const MOST_VALUES_BETWEEN: usize = 64;

/// The end of an axis that a slice drops.
#[derive(Clone, Copy)]
struct Shortening {
    axis: usize,
    /// The rank of the tensor.
    rank: usize,
    /// The number of dropped elements.
    count: usize,
}

/// By value: true for the outputs of convolutions with [`pads_behind`], and for element-wise
/// functions of these outputs, if all readers of these values lie between the convolutions and a
/// single slice.
pub(super) fn between(model: &Model) -> Vec<bool> {
    let mut producers: Vec<Option<usize>> = vec![None; model.values.len()];
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); model.values.len()];
    for (at, node) in model.nodes.iter().enumerate() {
        node.outputs.iter().for_each(|output| producers[output.0] = Some(at));
        node.inputs.iter().for_each(|input| readers[input.0].push(at));
    }
    let mut between = vec![false; model.values.len()];
    for (slice, node) in model.nodes.iter().enumerate() {
        if !matches!(node.op.facts().axes, Axes::Sliced | Axes::Masked(_)) {
            continue;
        }
        let (mut nodes, mut values, mut is_padded) = (vec![slice], Vec::new(), false);
        let mut open: Vec<ValueId> = node.inputs.first().copied().into_iter().collect();
        while let Some(value) = open.pop()
            && values.len() <= MOST_VALUES_BETWEEN
        {
            let Some(at) = producers[value.0].filter(|_| !values.contains(&value)) else {
                continue;
            };
            match model.nodes[at].op.facts().axes {
                Axes::Convolved(convolution) if pads_behind(convolution) => is_padded = true,
                Axes::Broadcast(_) => open.extend(&model.nodes[at].inputs),
                // `shortened` accepts other operands only if they broadcast along the axis
                _ => continue,
            }
            values.push(value);
            nodes.push(at);
        }
        let alone = |value: &ValueId| readers[value.0].iter().all(|reader| nodes.contains(reader));
        if is_padded && values.len() <= MOST_VALUES_BETWEEN && values.iter().all(alone) {
            values.iter().for_each(|value| between[value.0] = true);
        }
    }
    between
}

/// Values that were computed without their last elements.
type Shortened = HashMap<ValueId, Known>;

impl<'a> Translator<'_, 'a> {
    /// Keeps the operands of a node whose output a slice may cut.
    pub(super) fn keep_for_cut(&mut self, node: &'a Node) {
        self.cuttable.insert(node.outputs[0], self.operands(node));
    }

    /// The output of a slice. If the slice drops the last windows along an axis and no other
    /// operation reads these windows, the operand is computed without them.
    pub(super) fn sliced(&mut self, node: &'a Node, mut slices: Slices) -> Option<Known> {
        let mut input = self.input(node, 0)?;
        let shape = self.core.shape_of(&input);
        let cut = |(axis, along): (usize, &AxisSlice)| {
            let prefix =
                along.start == 0 && along.step == 1 && (1..shape[axis]).contains(&along.count);
            prefix.then(|| Shortening { axis, rank: shape.len(), count: shape[axis] - along.count })
        };
        let cuts: Vec<Shortening> = slices.along.iter().enumerate().filter_map(cut).collect();
        for cut in cuts {
            if let Some(shorter) = self.shortened(node.inputs[0], cut, &mut HashMap::new()) {
                slices.along[cut.axis] = AxisSlice::all(self.core.shape_of(&shorter)[cut.axis]);
                input = shorter;
                break;
            }
        }
        let geometry = slices.geometry(&self.core.shape_of(&input));
        self.build(node, |core| Ok(core.view(&input, geometry)?))
    }

    /// A value without its last elements along an axis. `None` if the value cannot be computed
    /// without these elements.
    fn shortened(
        &mut self,
        value: ValueId,
        cut: Shortening,
        done: &mut Shortened,
    ) -> Option<Known> {
        if let Some(known) = done.get(&value) {
            return Some(known.clone());
        }
        let args = self.cuttable.get(&value)?.clone();
        let (node, layer) = (args.node, self.core.layer.clone());
        let known = match node.op.facts().axes {
            Axes::Convolved(attributes) => cut.axis.checked_sub(2).and_then(|axis| {
                self.begin(&args, layer.path);
                let cut = DroppedEnd { axis, count: cut.count };
                self.build(node, |core| convolution(core, &args, attributes, Some(cut)))?
            }),
            Axes::Broadcast(function) => {
                let shorter = self.shorter_operands(&args, cut, done);
                self.begin(&args, layer.path);
                shorter
                    .and_then(|shorter| self.build(node, |core| compute(core, function, shorter)))
            }
            _ => None,
        };
        self.core.layer = layer;
        let known = known?;
        done.insert(value, known.clone());
        Some(known)
    }

    /// The operands of a node, without the elements that compute the dropped elements of its
    /// output.
    fn shorter_operands(
        &mut self,
        args: &Operands<'a>,
        cut: Shortening,
        done: &mut Shortened,
    ) -> Option<Vec<Known>> {
        let mut shorter = Vec::new();
        for (input, known) in args.node.inputs.iter().zip(&args.known) {
            let known = known.clone()?;
            let shape = self.core.shape_of(&known);
            let own_axis = (cut.axis + shape.len()).checked_sub(cut.rank);
            shorter.push(match own_axis {
                Some(axis) if shape[axis] != 1 => {
                    let cut = Shortening { axis, rank: shape.len(), ..cut };
                    self.shortened(*input, cut, done)?
                }
                _ => known,
            });
        }
        Some(shorter)
    }
}
