//! Layers that always stay in f32, rewritten in the core model.

use std::collections::BTreeSet;

use crate::core::{CoreModel, CoreNode, CoreOp, LayerPlace, is_f32_product};

/// Marks the depthwise convolutions of a model with run-time weights as f32, and adds an entry to
/// [`CoreModel::in_f32`] for each of them.
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

/// Keeps one entry of [`CoreModel::in_f32`] for each layer with a product or a convolution in f32,
/// and removes all other entries.
pub(crate) fn layers_in_f32(core: &mut CoreModel) {
    let nodes = core.all_nodes().into_iter().filter(|node| is_f32_product(node));
    let mut layers: BTreeSet<LayerPlace> = nodes.map(|node| node.layer).collect();
    core.in_f32.retain(|(layer, _)| layers.remove(layer));
}
