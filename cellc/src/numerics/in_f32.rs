//! Layers that always stay in f32, rewritten in the core model.

use std::collections::BTreeSet;

use crate::core::{CoreModel, CoreNode, CoreOp, LayerPlace, is_f32_product};

/// Keeps depthwise convolutions in f32 in a model with run-time weights.
pub(crate) fn keep_convolutions_in_f32(core: &mut CoreModel) {
    fn each(nodes: &mut [CoreNode], found: &mut Vec<(LayerPlace, &'static str)>) {
        for CoreNode { op, layer, .. } in nodes {
            match op {
                CoreOp::Convolve(convolution) if convolution.is_depthwise() => {
                    convolution.stays_f32 = true;
                    found.push((*layer, "a model with weights that are given at run time"));
                }
                CoreOp::Loop(core_loop) => each(&mut core_loop.body, found),
                _ => {}
            }
        }
    }
    if core.parameters.iter().any(|parameter| parameter.weight) {
        each(&mut core.nodes, &mut core.in_f32);
    }
}

/// Keeps one entry of [`CoreModel::in_f32`] for each layer with a product or a convolution in f32.
pub(crate) fn layers_in_f32(core: &mut CoreModel) {
    let nodes = core.all_nodes().into_iter().filter(|node| is_f32_product(node));
    let mut left: BTreeSet<LayerPlace> = nodes.map(|node| node.layer).collect();
    core.in_f32.retain(|(layer, _)| left.remove(layer));
}
