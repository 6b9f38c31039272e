//! Windows dropped by a slice: a convolution with padding on both sides of an axis and its last
//! outputs cut off, as PyTorch's causal convolutions are, becomes a convolution with less padding
//! behind. The remaining outputs have equal bits and do not read later elements.

use std::collections::HashMap;

use super::elementwise::computed;
use super::translator::{Cuttable, Translator};
use crate::core::{Known, LayerPlace};
use crate::model::{Axes, Convolution, Model, Node, Padding, ValueId};

/// True if a convolution pads the end of an axis.
fn pads_behind(of: &Convolution) -> bool {
    // the last outputs of a transposed convolution are sums of fewer elements, as with padding
    of.transposed
        || match &of.window.padding {
            Padding::Explicit { end, .. } => end.iter().any(|&end| end > 0),
            Padding::SameUpper | Padding::SameLower => true,
            Padding::Valid => false,
        }
}

/// The most values between a slice and the convolutions with the sliced ends.
const MOST_BETWEEN: usize = 64;

/// By value: true between padded convolutions and the single slice of their results, with only
/// element operations on the way.
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
            && values.len() <= MOST_BETWEEN
        {
            let Some(at) = producers[value.0].filter(|_| !values.contains(&value)) else {
                continue;
            };
            match model.nodes[at].op.facts().axes {
                Axes::Convolved(of) if pads_behind(of) => is_padded = true,
                Axes::Broadcast(_) => open.extend(&model.nodes[at].inputs),
                // `shortened` accepts other operands only if they are broadcast along the axis
                _ => continue,
            }
            values.push(value);
            nodes.push(at);
        }
        let alone = |value: &ValueId| readers[value.0].iter().all(|reader| nodes.contains(reader));
        if is_padded && values.len() <= MOST_BETWEEN && values.iter().all(alone) {
            values.iter().for_each(|value| between[value.0] = true);
        }
    }
    between
}

impl<'a> Translator<'_, 'a> {
    /// Keeps the operands of a node whose output may be cut.
    pub(super) fn keep_for_cut(&mut self, node: &'a Node) {
        let inputs = node.inputs.iter().map(|input| self.known[input.0].clone()).collect();
        self.cuttable.insert(node.outputs[0], Cuttable { node, inputs });
    }

    /// A tensor computed without the last `cut` elements of an axis. `None` if impossible.
    pub(super) fn computed_without(
        &mut self,
        value: ValueId,
        axis: usize,
        cut: usize,
    ) -> Option<Known> {
        self.shortened(value, axis, cut, &mut HashMap::new())
    }

    /// A value without its last elements along an axis. `done`: the values shortened so far.
    fn shortened(
        &mut self,
        value: ValueId,
        axis: usize,
        cut: usize,
        done: &mut HashMap<ValueId, Known>,
    ) -> Option<Known> {
        if let Some(known) = done.get(&value) {
            return Some(known.clone());
        }
        let Cuttable { node, inputs } = self.cuttable.get(&value)?.clone();
        let whole = self.core.shape_of(self.known[value.0].as_ref()?);
        let layer = self.core.layer.clone();
        let known = match node.op.facts().axes {
            Axes::Convolved(of) => axis.checked_sub(2).and_then(|axis| {
                self.convolved_without(node, of, inputs, (axis, cut), layer.place)
            }),
            Axes::Broadcast(function) => {
                let shorter = self.shorter(node, inputs, (axis, whole.len()), cut, done);
                self.begin(node, layer.place);
                shorter
                    .and_then(|shorter| self.build(node, |core| computed(core, function, shorter)))
            }
            _ => None,
        };
        self.core.layer = layer;
        let known = known?;
        done.insert(value, known.clone());
        Some(known)
    }

    /// A convolution of earlier operands without its last windows. `cut`: the axis of the windows,
    /// and their number.
    fn convolved_without(
        &mut self,
        node: &'a Node,
        of: &Convolution,
        inputs: Vec<Option<Known>>,
        cut: (usize, usize),
        place: LayerPlace,
    ) -> Option<Known> {
        let before: Vec<Option<Known>> =
            node.inputs.iter().map(|input| self.known[input.0].clone()).collect();
        node.inputs.iter().zip(inputs).for_each(|(input, known)| self.known[input.0] = known);
        self.begin(node, place);
        let y = self.convolved(node, of, Some(cut));
        node.inputs.iter().zip(before).for_each(|(input, known)| self.known[input.0] = known);
        y
    }

    /// The operands of a node without the last elements of an axis of its output. `axis`: the axis,
    /// and the rank of the output.
    fn shorter(
        &mut self,
        node: &'a Node,
        inputs: Vec<Option<Known>>,
        (axis, rank): (usize, usize),
        cut: usize,
        done: &mut HashMap<ValueId, Known>,
    ) -> Option<Vec<Known>> {
        let mut shorter = Vec::new();
        for (input, known) in node.inputs.iter().zip(inputs) {
            let known = known?;
            let shape = self.core.shape_of(&known);
            let own = (axis + shape.len()).checked_sub(rank);
            shorter.push(match own.map(|own| (own, shape[own])) {
                None | Some((_, 1)) => known,
                Some((own, _)) => {
                    let before = self.known[input.0].replace(known);
                    let cut = self.shortened(*input, own, cut, done);
                    self.known[input.0] = before;
                    cut?
                }
            });
        }
        Some(shorter)
    }
}
