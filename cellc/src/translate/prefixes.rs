//! Slices with a computed stop, whose output has a run-time length, and matrix products over such
//! slices.

use super::elementwise::compute;
use super::integers::converted;
use super::layout::slices::slices;
use super::matmul::product;
use super::operands::Operands;
use super::parts::{Lengthened, OpenOperand, padded_behind};
use super::refusal::Rule;
use super::translator::Translator;
use crate::core::{
    CoreBuilder, CoreOp, Divider, DynamicLength, Geometry, Known, Source, View, axis_index, signed,
    strides,
};
use crate::model::{Binary, Comparison, ElementType, Node, Primitive};

impl<'a> Translator<'_, 'a> {
    /// Slice, with a constant stop or a computed stop.
    pub(super) fn slice(&mut self, node: &'a Node) {
        let args = self.operands(node);
        let Some(axis) = axis_of_prefix(&self.core, &args) else {
            self.slice_by(node, |core, args| slices(core, args));
            return;
        };
        if let Some(prefix) = self.build(node, |core| prefix(core, &args, axis)) {
            self.current_length = Some(prefix.length);
            self.set(node, 0, prefix.known);
        }
    }
}

fn number(value: i64) -> Known {
    Known::integers(Vec::new(), &[value], ElementType::I64)
}

/// The axis of a Slice of a run-time tensor from 0 to a computed stop, with step 1. `None` for
/// other slices.
pub(super) fn axis_of_prefix(core: &CoreBuilder, args: &Operands) -> Option<usize> {
    let constant = |port: usize| match args.known(port)? {
        Known::Constant(tensor, _) if tensor.len() == 1 => tensor.get_i64(0),
        _ => None,
    };
    let data = args.known(0)?;
    if !matches!(data, Known::Source(Source::Parameter(_) | Source::Value(_), _)) {
        return None;
    }
    let stop = args.known(2).filter(|stop| matches!(stop, Known::Source(..)))?;
    let is_one = core.shape_of(stop).iter().all(|&size| size == 1) && !stop.element().is_float();
    let axis = if args.len() > 4 { constant(4)? } else { 0 };
    let axis = axis_index(axis, core.shape_of(data).len())?;
    (is_one && constant(1)? == 0 && constant(3)? == 1).then_some(axis)
}

/// All elements of a Slice's operand. The run-time length is the number of elements before the
/// computed stop.
pub(super) fn prefix(core: &mut CoreBuilder, args: &Operands, axis: usize) -> Rule<Lengthened> {
    let (input, stop) = (args.get(0)?, args.get(2)?);
    let shape = core.shape_of(&input);
    let size = number(shape[axis] as i64);
    let stop = core.view(&stop, Geometry::reshaped(Vec::new()))?;
    let stop = converted(core, &stop, ElementType::I64)?;
    // negative stops count from the end
    let from_end = compute(core, Binary::Add, vec![stop.clone(), size.clone()])?;
    let is_from_end = compute(core, Comparison::Less, vec![stop.clone(), number(0)])?;
    let stop = compute(core, Primitive::Select, vec![is_from_end, from_end, stop])?;
    let stop = compute(core, Binary::Maximum, vec![stop, number(0)])?;
    let count = compute(core, Binary::Minimum, vec![stop, size])?;
    let count = core.source(&count)?;
    core.computable(&shape)?;
    let (source, out) = (core.source(&input)?, core.value(shape.clone()));
    let strides = signed(strides(&shape));
    core.emit(CoreOp::View(View { input: source, offset: 0, strides, out }));
    let known = Known::Source(Source::Value(out), input.element());
    core.facts.set_range(&known, core.facts.range_of(&input));
    let length = DynamicLength {
        count,
        by: Divider::Slice,
        is_zero: false,
        truncated: None,
        parts_along: Some(axis),
    };
    Ok(Lengthened { known, length })
}

/// The axis of a matrix product with a run-time length, if one factor has a run-time length. `None`
/// if the product sums along the run-time length, for a product with a vector, and if the other
/// factor has a batch of fixed size along the axis. `transposed`: true for a transposed factor.
pub(super) fn axis_of_product(
    core: &CoreBuilder,
    args: &Operands,
    OpenOperand { port, axis, .. }: OpenOperand,
    transposed: bool,
) -> Option<usize> {
    let (factor, other) = (args.known(port)?, args.known(1 - port)?);
    let (factor, other) = (core.shape_of(factor), core.shape_of(other));
    if factor.len() < 2 || other.len() < 2 {
        return None;
    }
    let rank = factor.len().max(other.len());
    let from_end = factor.len() - axis;
    if from_end <= 2 {
        let is_inner = (from_end == 1) == ((port == 0) != transposed);
        return (!is_inner).then(|| if port == 0 { rank - 2 } else { rank - 1 });
    }
    let meets = other.len().checked_sub(from_end).is_some_and(|axis| other[axis] != 1);
    (!meets).then_some(rank - from_end)
}

/// The product of two factors with the same run-time length along the summed axis. `Ok(None)` for
/// other factors.
pub(super) fn product_over_parts(
    core: &mut CoreBuilder,
    args: &Operands,
    open: &[OpenOperand],
    transposed: [bool; 2],
) -> Rule<Option<Known>> {
    let &[a @ OpenOperand { port: 0, .. }, b @ OpenOperand { port: 1, .. }] = open else {
        return Ok(None);
    };
    let inputs = args.all()?;
    let is_inner = |OpenOperand { port, axis, .. }: OpenOperand| {
        let rank = core.shape_of(&inputs[port]).len();
        let last = (port == 0) != transposed[port];
        rank >= 2 && axis + if last { 1 } else { 2 } == rank
    };
    if a.length.count != b.length.count || !is_inner(a) || !is_inner(b) {
        return Ok(None);
    }
    let mut factors = Vec::new();
    for (known, length) in inputs.iter().zip([a.length, b.length]) {
        let zero = Known::number_like(known, 0.0);
        factors.push(padded_behind(core, known, length, &zero)?);
    }
    product(core, &factors, transposed[0], transposed[1]).map(Some)
}
