//! The batch axes and step axes of inputs, derived from the recurrent operators.

use std::collections::HashMap;

use crate::model::{Axes, Model, Op, Tensor};
use crate::rules::cell::{CellPort, roles};
use crate::rules::input_sizes::SequenceAxes;

/// The origin of a value's axes: the index of an input, and by axis of the value the axis of the
/// input. `None`: an axis with another origin.
type AxisOrigins = (usize, Vec<Option<usize>>);

/// The axes that sequences read, by parameter of the model. `None` if no sequence reads the
/// parameter, or if sequences read different axes.
pub(crate) fn sequence_axes(model: &Model) -> Vec<Option<SequenceAxes>> {
    let mut constants: HashMap<usize, &Tensor> = HashMap::new();
    let mut origins: Vec<Option<AxisOrigins>> = vec![None; model.values.len()];
    for (index, &node) in model.parameters.iter().enumerate() {
        let value = model.nodes[node].outputs[0].0;
        let rank = model.values[value].shape.as_ref().map(Vec::len);
        origins[value] = rank.map(|rank| (index, (0..rank).map(Some).collect()));
    }
    let mut found: Vec<Vec<SequenceAxes>> = vec![Vec::new(); model.parameters.len()];
    for (node_index, node) in model.nodes.iter().enumerate() {
        if let Op::Constant(tensor) = &node.op {
            constants.insert(node.outputs[0].0, tensor);
        }
        let constant =
            |port: usize| node.inputs.get(port).and_then(|value| constants.get(&value.0)).copied();
        let Some(port) = node.inputs.iter().position(|value| origins[value.0].is_some()) else {
            continue;
        };
        let Some((index, axes)) = origins[node.inputs[port].0].clone() else { continue };
        if matches!(node.op, Op::Sequence(..)) {
            let is_x =
                roles(&node.op, node.inputs.len()).is_some_and(|roles| roles[port] == CellPort::X);
            if let (true, [Some(rows), Some(steps), ..]) = (is_x, &axes[..]) {
                found[index].push(SequenceAxes { rows: *rows, steps: *steps, node: node_index });
            }
        } else if let Some(axes) = passed(&node.op, port, node.inputs.len(), axes, &constant)
            && let Some(output) = node.outputs.first()
        {
            origins[output.0] = Some((index, axes));
        }
    }
    let agree = |a: &SequenceAxes, b: &SequenceAxes| (a.rows, a.steps) == (b.rows, b.steps);
    found
        .into_iter()
        .map(|all| all.first().copied().filter(|first| all.iter().all(|axes| agree(axes, first))))
        .collect()
}

/// The origins of the axes of a node's output. `axes`: the origins of the axes of the operand at
/// `port`. `None` if the origins are unknown.
fn passed<'a>(
    op: &Op,
    port: usize,
    inputs: usize,
    mut axes: Vec<Option<usize>>,
    constant: &dyn Fn(usize) -> Option<&'a Tensor>,
) -> Option<Vec<Option<usize>>> {
    let other_ports = || (0..inputs).filter(move |&other| other != port);
    match op.facts().axes {
        Axes::Same => Some(axes),
        Axes::Broadcast(_) => {
            let is_small =
                |other| constant(other).is_some_and(|tensor| tensor.shape().len() <= axes.len());
            other_ports().all(is_small).then_some(axes)
        }
        Axes::Product { transpose_a: false, .. }
            if port == 0 && constant(1).is_some_and(|b| b.shape().len() == 2) =>
        {
            *axes.last_mut()? = None;
            Some(axes)
        }
        Axes::Permuted if port == 0 => {
            let order = constant(1).filter(|order| order.len() == axes.len())?;
            let axis = |at| {
                usize::try_from(order.get_i64(at)?).ok().and_then(|axis| axes.get(axis).copied())
            };
            (0..axes.len()).map(axis).collect()
        }
        _ => None,
    }
}
