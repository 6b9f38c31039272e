//! Concatenations.

use crate::core::{
    Concat, CoreBuilder, CoreOp, ElementsBefore, Front, Known, Source, axis_index, fold,
};
use crate::model::Tensor;
use crate::translate::operands::{Operands, all_exact, differ_in_type, shapes_differ};
use crate::translate::refusal::Rule;

/// The concatenation of all operands.
pub(in crate::translate) fn concat(
    core: &mut CoreBuilder,
    args: &Operands,
    axis: i64,
) -> Rule<Known> {
    let inputs = args.all()?;
    note_front(core, &inputs, axis);
    let axis = args.axis(axis, core.shape_of(&inputs[0]).len())?;
    put_together(core, &inputs, axis)
}

/// A state, and new elements behind the state, along axis 2.
pub(in crate::translate) fn append_to_state(
    core: &mut CoreBuilder,
    args: &Operands,
) -> Rule<Known> {
    let inputs = args.all()?;
    note_front(core, &inputs, 2);
    let axis = args.axis(2, core.shape_of(&inputs[0]).len())?;
    concatenate(core, &inputs, axis, true)
}

/// Notes a Concat of a constant of equal elements in front of a tensor. The tensor may be a slice
/// that lacks the last elements.
fn note_front(core: &mut CoreBuilder, inputs: &[Known], axis: i64) {
    let [Known::Constant(front, _), behind @ ..] = inputs else { return };
    let Some(axis) = axis_index(axis, front.shape().len()) else { return };
    let bits = |at: usize| front.get_f32(at).to_bits();
    if !front.element().is_float()
        || front.is_empty()
        || (1..front.len()).any(|at| bits(at) != bits(0))
    {
        return;
    }
    // a slice that drops the only step is empty
    let is_given = |known: &&Known| known.tensor().is_none_or(Tensor::is_empty);
    let Some(behind) = behind.iter().find(is_given) else { return };
    let size = core.shape_of(behind).get(axis).copied().unwrap_or(0);
    let reach = front.shape()[axis];
    let sizes = [size, reach + size].into_iter().filter(|&size| size > 0);
    let fronts = sizes.map(|size| Front { size, reach, is_causal: true }).collect();
    core.note_lookback(behind, ElementsBefore::Pads, fronts);
}

/// The concatenation of one or more tensors along an axis.
pub(in crate::translate) fn put_together(
    core: &mut CoreBuilder,
    inputs: &[Known],
    axis: usize,
) -> Rule<Known> {
    concatenate(core, inputs, axis, false)
}

/// As [`put_together`]. `is_window`: [`Concat::is_window`].
fn concatenate(
    core: &mut CoreBuilder,
    inputs: &[Known],
    axis: usize,
    is_window: bool,
) -> Rule<Known> {
    let shapes: Vec<Vec<usize>> = inputs.iter().map(|input| core.shape_of(input)).collect();
    let agree = |shape: &Vec<usize>| {
        shape.len() == shapes[0].len()
            && shape.iter().zip(&shapes[0]).enumerate().all(|(d, (a, b))| d == axis || a == b)
    };
    if !shapes.iter().all(agree) {
        let valid = format!("shapes that differ along axis {axis} only");
        return Err(shapes_differ(
            &shapes,
            &valid,
            "correct the axis, or the shapes of the inputs",
        ));
    }
    let mut shape = shapes[0].clone();
    shape[axis] = shapes.iter().map(|shape| shape[axis]).fold(0, usize::saturating_add);
    let element = inputs[0].element();
    if shape.contains(&0) && element.is_float() {
        return Ok(core.empty(element, shape)?);
    }
    let mut full: Vec<Known> = inputs.to_vec();
    full.retain(|input| !element.is_float() || core.shape_of(input)[axis] > 0);
    let inputs = &full[..];
    if let [one] = inputs {
        return Ok(one.clone());
    }
    let tensors: Option<Vec<&Tensor>> = inputs.iter().map(Known::tensor).collect();
    if let Some(tensors) = tensors {
        if inputs.iter().any(|input| input.element().is_float() != element.is_float()) {
            return Err(differ_in_type(inputs));
        }
        core.foldable(&shape, element)?;
        return Ok(Known::Constant(fold::concat(&tensors, axis, shape, element), element));
    }
    if inputs.iter().any(|input| input.element().is_float() != element.is_float()) {
        return Err(differ_in_type(inputs));
    }
    all_exact(inputs)?;
    core.computable(&shape)?;
    let range = core.facts.range_of_all(inputs);
    let inputs: Vec<Source> = inputs.iter().filter_map(|input| core.source(input).ok()).collect();
    let out = core.value(shape);
    core.emit(CoreOp::Concat(Concat { axis, inputs, is_window, out }));
    let whole = Known::Source(Source::Value(out), element);
    core.facts.set_range(&whole, range);
    Ok(whole)
}
