//! Operations that move elements without arithmetic: reshapes, transpositions, slices and
//! concatenations.

pub(super) mod broadcasts;
pub(super) mod concats;
pub(super) mod gathers;
pub(super) mod slices;

use crate::core::CoreBuilder;
use crate::core::{Geometry, Known, axis_index, element_count, strides};
use crate::model::{ElementType, Node, shape_text};
use crate::translate::operands::Operands;
use crate::translate::refusal::{Refusal, Rule};

/// ShapeOf: the sizes as a constant.
pub(in crate::translate) fn shape_of_op(core: &mut CoreBuilder, args: &Operands) -> Rule<Known> {
    let known = args.get(0)?;
    let shape: Vec<i64> = core.shape_of(&known).iter().map(|&size| size as i64).collect();
    let stated = args.element();
    let element = if stated == ElementType::I32 { stated } else { ElementType::I64 };
    Ok(Known::integers(vec![shape.len()], &shape, element))
}

/// Reshape. `zero_keeps`: true if a size of 0 keeps the size of the input.
pub(in crate::translate) fn reshape(
    core: &mut CoreBuilder,
    args: &Operands,
    zero_keeps: bool,
) -> Rule<Known> {
    let input = args.get(0)?;
    let wanted = args.integers(1, "the shape")?;
    let shape = core.shape_of(&input);
    match reshaped(&shape, &wanted, zero_keeps) {
        Some(to) => Ok(core.view(&input, Geometry::reshaped(to))?),
        None => {
            let found = format!(
                "a tensor of shape {} reshaped to {}",
                shape_text(&shape),
                shape_text(&wanted)
            );
            let valid = "as many elements, and at most one size of -1";
            Err(Refusal::new(found, valid, "correct the shape"))
        }
    }
}

/// Squeeze. `skip`: true to skip axes with a size other than 1.
pub(in crate::translate) fn squeeze(
    core: &mut CoreBuilder,
    args: &Operands,
    skip: bool,
) -> Rule<Known> {
    let input = args.get(0)?;
    let shape = core.shape_of(&input);
    let axes = match args.len() {
        1 => Vec::new(),
        _ => args.integers(1, "the axes")?,
    };
    let mut gone: Vec<bool> = shape.iter().map(|&size| size == 1 && axes.is_empty()).collect();
    for axis in axes {
        let axis = args.axis(axis, shape.len())?;
        if shape[axis] != 1 && skip {
            continue;
        }
        if shape[axis] != 1 {
            let found = format!("axis {axis} of a tensor of shape {} squeezed", shape_text(&shape));
            return Err(Refusal::new(found, "an axis of size 1", "correct the axes"));
        }
        gone[axis] = true;
    }
    let kept = shape.iter().zip(gone).filter(|(_, gone)| !gone).map(|(&size, _)| size).collect();
    Ok(core.view(&input, Geometry::reshaped(kept))?)
}

/// Unsqueeze. Inputs: data and the axes of the result.
pub(in crate::translate) fn unsqueeze(core: &mut CoreBuilder, args: &Operands) -> Rule<Known> {
    let input = args.get(0)?;
    let axes = args.integers(1, "the axes")?;
    let shape = core.shape_of(&input);
    let rank = shape.len() + axes.len();
    let mut added = vec![false; rank];
    for axis in args.axes_once(&axes, rank)? {
        added[axis] = true;
    }
    let mut sizes = shape.into_iter();
    let shape =
        added.into_iter().map(|added| if added { 1 } else { sizes.next().unwrap_or(1) }).collect();
    Ok(core.view(&input, Geometry::reshaped(shape))?)
}

/// Transpose. Without an order, the axes are reversed.
pub(in crate::translate) fn transpose(core: &mut CoreBuilder, args: &Operands) -> Rule<Known> {
    let input = args.get(0)?;
    let order = args.integers(1, "the order")?;
    let shape = core.shape_of(&input);
    let axes: Option<Vec<usize>> = match order.is_empty() {
        true => Some((0..shape.len()).rev().collect()),
        false => order.iter().map(|&axis| axis_index(axis, shape.len())).collect(),
    };
    let permutation = axes.filter(|order| {
        let mut seen = vec![false; shape.len()];
        order.len() == shape.len()
            && order.iter().all(|&axis| !std::mem::replace(&mut seen[axis], true))
    });
    let Some(order) = permutation else {
        return Err(no_permutation(args.node, &order, &shape));
    };
    let row_major = strides(&shape);
    let geometry = Geometry {
        offset: 0,
        strides: order.iter().map(|&axis| row_major[axis] as isize).collect(),
        shape: order.iter().map(|&axis| shape[axis]).collect(),
    };
    Ok(core.view(&input, geometry)?)
}

/// The refusal of a Transpose whose order is no permutation of the axes. If a reader has made the
/// Transpose from another operator, the message names the operator and the ranks of its input.
fn no_permutation(node: &Node, order: &[i64], shape: &[usize]) -> Refusal {
    let operator = node.operator();
    if operator == "Transpose" {
        let tensor_text = format!("{} dimensions, {}", shape.len(), shape_text(shape));
        if order.len() == shape.len() {
            let found = format!("the order {order:?} of {tensor_text}");
            let valid = "an order that names each dimension once";
            return Refusal::new(found, valid, "correct the order");
        }
        let found = format!(
            "an order of {} numbers, {order:?}, for a tensor of {tensor_text}",
            order.len()
        );
        let valid = "an order of as many numbers as there are dimensions";
        let help = "correct the sizes of the inputs of the model, from which the tensor has its \
            dimensions, or the order";
        return Refusal::new(found, valid, help);
    }
    let found =
        format!("{operator} reads a tensor of {} dimensions, {}", shape.len(), shape_text(shape));
    let valid = match operator {
        "LSTM" | "GRU" | "RNN" => "X of 3 dimensions, steps, batch and features; states of 3",
        _ => "as many dimensions as the operator defines",
    };
    let help = "correct the sizes of the inputs of the model, or the operator";
    Refusal::new(found, valid, help).once_per_layer()
}

/// The output shape of a Reshape; `None` if the elements do not fit.
fn reshaped(shape: &[usize], wanted: &[i64], zero_keeps: bool) -> Option<Vec<usize>> {
    let mut open = None;
    let mut to = Vec::with_capacity(wanted.len());
    for (d, &size) in wanted.iter().enumerate() {
        to.push(match size {
            -1 if open.is_some() => return None,
            -1 => {
                open = Some(d);
                1
            }
            0 if zero_keeps => *shape.get(d)?,
            size => usize::try_from(size).ok()?,
        });
    }
    let (have, said) = (element_count(shape)?, element_count(&to)?);
    match open {
        None => (have == said).then_some(to),
        Some(_) if said == 0 || !have.is_multiple_of(said) => None,
        Some(d) => {
            to[d] = have / said;
            Some(to)
        }
    }
}
