//! Tensors with a run-time length: the elements behind this length, and the sizes of a tensor.

use super::elementwise::compute;
use super::operands::Operands;
use super::refusal::Rule;
use crate::core::{CoreBuilder, DynamicLength, Known};
use crate::model::{Binary, Comparison, ElementType, Primitive};

/// An operand with a run-time length.
#[derive(Clone, Copy)]
pub(super) struct OpenOperand {
    pub(super) port: usize,
    pub(super) length: DynamicLength,
    /// The axis with the run-time length.
    pub(super) axis: usize,
}

/// A tensor with a run-time length along an axis.
pub(super) struct Lengthened {
    pub(super) known: Known,
    pub(super) length: DynamicLength,
}

/// A tensor with the number `other` in place of the elements behind the run-time length.
pub(super) fn padded_behind(
    core: &mut CoreBuilder,
    known: &Known,
    length: DynamicLength,
    other: &Known,
) -> Rule<Known> {
    let Some(axis) = length.parts_along else { return Ok(known.clone()) };
    let shape = core.shape_of(known);
    let mut places = vec![1; shape.len()];
    places[axis] = shape[axis];
    let numbers: Vec<i64> = (0..shape[axis] as i64).collect();
    let numbers = Known::integers(places, &numbers, ElementType::I64);
    let count = Known::Source(length.count, ElementType::I64);
    let is_part = compute(core, Comparison::Less, vec![numbers, count])?;
    compute(core, Primitive::Select, vec![is_part, known.clone(), other.clone()])
}

/// The sizes of a node's first operand, which has a run-time length along an axis.
pub(super) fn sizes_at_run_time(
    core: &mut CoreBuilder,
    args: &Operands,
    length: DynamicLength,
    axis: usize,
) -> Rule<Known> {
    let mut sizes: Vec<i64> =
        core.shape_of(&args.get(0)?).iter().map(|&size| size as i64).collect();
    sizes[axis] = 0;
    let is_open: Vec<i64> = (0..sizes.len()).map(|at| i64::from(at == axis)).collect();
    let vector = |numbers: &[i64]| Known::integers(vec![numbers.len()], numbers, ElementType::I64);
    let count = Known::Source(length.count, ElementType::I64);
    let count = compute(core, Binary::Multiply, vec![count, vector(&is_open)])?;
    compute(core, Binary::Add, vec![count, vector(&sizes)])
}
