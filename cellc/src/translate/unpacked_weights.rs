//! Inputs with weights of cells that other operations also read.

use crate::core::{CoreModel, CoreNode, CoreOp, Source, WeightSource, needed};
use crate::diagnostic::{Diagnostics, Problem, quoted};
use crate::model::Model;
use crate::rules::report::refusal;

/// Clears the mark [`crate::core::Parameter::weight`] of inputs that operations read only as data:
/// `pack` then skips these inputs. Refuses an input that operations read as data and another cell
/// needs packed.
pub(crate) fn unpack_weights_read_as_data(
    model: &Model,
    core: &mut CoreModel,
    diagnostics: &mut Diagnostics,
) {
    let needed = needed(core);
    let mut read = vec![false; core.parameters.len()];
    read_as_data(&core.nodes, &needed, &mut read);
    let otherwise = (0..read.len()).filter(|&index| core.parameters[index].weight && read[index]);
    for index in otherwise.collect::<Vec<_>>() {
        let packed = core.all_nodes().into_iter().find(|node| packs(&node.op, index));
        let Some(packed) = packed.map(|node| node.name.clone()) else {
            core.parameters[index].weight = false;
            continue;
        };
        let node = &model.nodes[model.parameters[index]];
        let found = format!(
            "the input gives weights of {}, and a cell with computed weights reads it too",
            quoted(&packed)
        );
        let help = "declare two inputs and give both the same contents";
        let valid = "an input for the weights of one of them";
        diagnostics.push(refusal(node, &node.origin, Problem::new(found, valid, help)));
    }
}

/// Marks the parameters that needed operations read as operands. Weights of cells are no operands.
fn read_as_data(nodes: &[CoreNode], needed: &[bool], read: &mut [bool]) {
    for node in nodes.iter().filter(|node| node.op.outputs().iter().any(|&value| needed[value])) {
        for source in node.op.reads() {
            if let Source::Parameter(index) = source {
                read[index] = true;
            }
        }
    }
}

/// True if the parameter is a weight of the operation.
fn packs(op: &CoreOp, parameter: usize) -> bool {
    op.facts().weights.contains(&WeightSource::Parameter(parameter))
}
