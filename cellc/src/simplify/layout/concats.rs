//! Tensors side by side.

use crate::core::CoreBuilder;
use crate::core::{Concat, CoreOp, Known, Source, fold};
use crate::model::{Node, Tensor};
use crate::simplify::operands::shapes_differ;
use crate::simplify::operands::{all_exact, differ_in_type};
use crate::simplify::refusal::Rule;
use crate::simplify::translator::Translator;

impl<'a> Translator<'_, 'a> {
    pub(in crate::simplify) fn concat(&mut self, node: &'a Node, axis: i64) {
        let Some(inputs) = self.inputs(node) else { return };
        self.note_front(node, &inputs, axis);
        let Some(first) = inputs.first() else { return };
        let Some(axis) = self.axis(node, axis, self.core.shape_of(first).len()) else { return };
        if let Some(whole) = self.build(node, |core| put_together(core, &inputs, axis)) {
            self.set(node, 0, whole);
        }
    }
}

/// Tensors, one or more, side by side along an axis.
pub(in crate::simplify) fn put_together(
    core: &mut CoreBuilder,
    inputs: &[Known],
    axis: usize,
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
    core.emit(CoreOp::Concat(Concat { axis, inputs, out }));
    let whole = Known::Source(Source::Value(out), element);
    core.facts.set_range(&whole, range);
    Ok(whole)
}
