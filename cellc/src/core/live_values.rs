//! The values that outputs and variables depend on.

use super::{CoreModel, CoreNode, CoreOp, Source};

/// By value: true if a Result or a variable depends on the value.
pub(crate) fn needed(model: &CoreModel) -> Vec<bool> {
    let mut reads: Vec<Vec<Source>> = vec![Vec::new(); model.values.len()];
    collect(&model.nodes, &mut reads);
    let mut needed = vec![false; model.values.len()];
    let roots = model
        .results
        .iter()
        .map(|result| result.source)
        .chain(model.variables.iter().filter_map(|v| v.next));
    let mut open: Vec<Source> = roots.collect();
    while let Some(source) = open.pop() {
        if let Source::Value(value) = source
            && !std::mem::replace(&mut needed[value], true)
        {
            open.append(&mut reads[value]);
        }
    }
    needed
}

/// Sets `reads[value]` to the operands of the operation that computes the value.
fn collect(nodes: &[CoreNode], reads: &mut [Vec<Source>]) {
    for node in nodes {
        let CoreOp::Loop(body) = &node.op else {
            for value in node.op.outputs() {
                reads[value] = node.op.reads();
            }
            continue;
        };
        body.slices.iter().for_each(|slice| reads[slice.piece] = vec![slice.whole]);
        body.carried
            .iter()
            .for_each(|carried| reads[carried.value] = vec![carried.initial, carried.next]);
        body.results.iter().for_each(|result| reads[result.out] = vec![result.value]);
        collect(&body.body, reads);
    }
}
