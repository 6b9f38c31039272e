//! Windows that a slice leaves out: a convolution padded at both sides of an axis whose last outputs are cut off, as PyTorch's causal ones are, is one with
//! fewer pads behind. What is left has the same bits, and needs nothing of what comes later.

use super::{Known, Validation};
use crate::model::{Model, Node, Op, Padding, ValueId};

/// What gives a tensor of which a slice may leave out the end, and what it read.
#[derive(Clone)]
pub(super) struct Cuttable<'a> {
    node: &'a Node,
    inputs: Vec<Option<Known>>,
}

/// Whether a convolution puts pads behind the data.
fn pads_behind(op: &Op) -> bool {
    let Op::Convolution(of) = op else { return false };
    // the last outputs of a transposed one are made of fewer elements, as if pads were behind these
    of.transposed
        || match &of.window.padding {
            Padding::Explicit { end, .. } => end.iter().any(|&end| end > 0),
            Padding::SameUpper | Padding::SameLower => true,
            Padding::Valid => false,
        }
}

/// By value: whether it lies between a padded convolution and the one slice that reads it, with nothing but operations element by element on the way.
pub(super) fn between(model: &Model) -> Vec<bool> {
    let mut producers: Vec<Option<&Node>> = vec![None; model.values.len()];
    let mut readers = vec![0usize; model.values.len()];
    for node in &model.nodes {
        node.outputs.iter().for_each(|output| producers[output.0] = Some(node));
        node.inputs.iter().for_each(|input| readers[input.0] += 1);
    }
    let mut between = vec![false; model.values.len()];
    let slices = model.nodes.iter().filter(|node| matches!(node.op, Op::Slice | Op::StridedSlice { .. }));
    for mut next in slices.filter_map(|node| node.inputs.first().copied()) {
        let mut chain = Vec::new();
        while readers[next.0] == 1
            && !between[next.0]
            && let Some(node) = producers[next.0]
        {
            chain.push(next);
            if pads_behind(&node.op) {
                chain.iter().for_each(|value| between[value.0] = true);
                break;
            }
            // the operand that is computed; others are the same all along the axis, or nothing is cut
            let computed = |input: &&ValueId| producers[input.0].is_some_and(|of| !matches!(of.op, Op::Constant(_)));
            match (&node.op, node.inputs.iter().find(computed)) {
                (Op::Elementwise(_), Some(&input)) => next = input,
                _ => break,
            }
        }
    }
    between
}

impl<'a> Validation<'a> {
    /// Keeps what a node reads, as its output may be cut.
    pub(super) fn keep_for_cut(&mut self, node: &'a Node) {
        let inputs = node.inputs.iter().map(|input| self.known[input.0].clone()).collect();
        self.cuttable.insert(node.outputs[0], Cuttable { node, inputs });
    }

    /// A tensor without the last `cut` elements of an axis, computed without them. `None`: it cannot be.
    pub(super) fn computed_without(&mut self, value: ValueId, axis: usize, cut: usize) -> Option<Known> {
        let Cuttable { node, inputs } = self.cuttable.get(&value)?.clone();
        let whole = self.shape_of(self.known[value.0].as_ref()?);
        match &node.op {
            Op::Convolution(of) => {
                let before: Vec<Option<Known>> = node.inputs.iter().map(|i| self.known[i.0].take()).collect();
                let give = |this: &mut Self, inputs: Vec<Option<Known>>| {
                    node.inputs.iter().zip(inputs).for_each(|(input, known)| this.known[input.0] = known);
                };
                give(self, inputs);
                let y = self.convolved(node, of, Some((axis.checked_sub(2)?, cut)));
                give(self, before);
                y
            }
            Op::Elementwise(function) => {
                let mut shorter = Vec::new();
                for (input, known) in node.inputs.iter().zip(inputs) {
                    let known = known?;
                    let shape = self.shape_of(&known);
                    let own = (axis + shape.len()).checked_sub(whole.len());
                    shorter.push(match own.map(|own| (own, shape[own])) {
                        None | Some((_, 1)) => known,
                        Some((own, _)) => {
                            self.known[input.0] = Some(known);
                            let cut = self.computed_without(*input, own, cut);
                            self.known[input.0] = None;
                            cut?
                        }
                    });
                }
                self.computed(node, *function, shorter)
            }
            _ => None,
        }
    }
}
