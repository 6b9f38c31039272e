//! Softmax along an axis.

use super::operands::{Operands, all_floats};
use super::parts::padded_behind;
use super::refusal::Rule;
use crate::core::{CoreBuilder, CoreOp, Known, Softmax, Source};
use crate::model;

/// Softmax along an axis, or its logarithm.
pub(super) fn softmax(
    core: &mut CoreBuilder,
    args: &Operands,
    attributes: model::Softmax,
) -> Rule<Known> {
    let input = args.get(0)?;
    let shape = core.shape_of(&input);
    let axis = args.axis(attributes.axis, shape.len())?;
    let length = core.facts.dynamic_length(&input);
    let input = match length.filter(|length| length.parts_along == Some(axis)) {
        Some(length) => {
            let least = Known::number_like(&input, f32::NEG_INFINITY);
            padded_behind(core, &input, length, &least)?
        }
        None => input,
    };
    softmax_along(core, &input, axis, attributes.log)
}

/// `exp(v) / sum exp(v)` along an axis, or its logarithm.
pub(super) fn softmax_along(
    core: &mut CoreBuilder,
    input: &Known,
    axis: usize,
    log: bool,
) -> Rule<Known> {
    all_floats(std::slice::from_ref(input))?;
    let shape = core.shape_of(input);
    core.computable(&shape)?;
    let source = core.source(input)?;
    let out = core.value(shape);
    core.emit(CoreOp::Softmax(Softmax { axis, log, input: source, out }));
    Ok(Known::Source(Source::Value(out), input.element()))
}
