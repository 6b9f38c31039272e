//! Layers that always stay in f32, rewritten in the core model.

use std::collections::BTreeSet;

use crate::core::{CoreModel, CoreNode, CoreOp};

/// Keeps depthwise convolutions in f32 in a model with run-time weights.
pub(crate) fn keep_convolutions_in_f32(core: &mut CoreModel) {
    fn each(nodes: &mut [CoreNode], found: &mut Vec<(String, &'static str)>) {
        for CoreNode { op, name, .. } in nodes {
            match op {
                CoreOp::Convolve(of) if of.is_depthwise() => {
                    of.stays_f32 = true;
                    found.push((name.clone(), "a model with weights that are given at run time"));
                }
                CoreOp::Loop(of) => each(&mut of.body, found),
                _ => {}
            }
        }
    }
    if core.parameters.iter().any(|parameter| parameter.weight) {
        each(&mut core.nodes, &mut core.in_f32);
    }
}

/// Keeps one entry per f32 layer, without unused layers.
pub(crate) fn layers_in_f32(core: &mut CoreModel) {
    let mut left: BTreeSet<String> = BTreeSet::new();
    for node in core.all_nodes() {
        match &node.op {
            CoreOp::MatMul(_) | CoreOp::Convolve(_) if !node.op.has_precision() => {
                left.insert(node.name.clone())
            }
            _ => false,
        };
    }
    core.in_f32.retain(|(layer, _)| left.remove(layer));
}
