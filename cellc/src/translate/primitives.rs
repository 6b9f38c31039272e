//! Single element-wise operations, and the joined lines of convolutions that they may read.

use super::refusal::Rule;
use crate::core::{
    Built, CoreBuilder, CoreOp, Geometry, Known, Pointwise, PointwiseFunction, Source,
};
use crate::model::{Binary, ElementType};

/// Emits one pointwise operation.
pub(super) fn pointwise(
    core: &mut CoreBuilder,
    function: impl Into<PointwiseFunction>,
    inputs: &[Source],
    shape: &[usize],
) -> Rule<Source> {
    let function = function.into();
    core.computable(shape)?;
    if let Some(Known::Source(source, _)) = pointwise_of_lines(core, function, inputs, shape)? {
        return Ok(source);
    }
    let out = core.value(shape.to_vec());
    core.emit(CoreOp::Pointwise(Pointwise { function, inputs: inputs.to_vec(), out }));
    Ok(Source::Value(out))
}

/// The input clamped to two bounds. A bound that clamps nothing is left out. NaN stays NaN.
pub(super) fn clamp(
    core: &mut CoreBuilder,
    input: Source,
    min: f32,
    max: f32,
    shape: &[usize],
) -> Rule<Source> {
    let bounds = [(min, f32::NEG_INFINITY, Binary::Maximum), (max, f32::INFINITY, Binary::Minimum)];
    let mut value = input;
    for (bound, _, function) in bounds.into_iter().filter(|(bound, open, _)| bound != open) {
        let bound = core.scalar(bound);
        // v is the second operand, so that the result for NaN is NaN
        value = pointwise(core, function, &[bound, value], shape)?;
    }
    Ok(value)
}

/// The magnitude of each element. The magnitude of a negative zero is zero.
pub(super) fn absolute(core: &mut CoreBuilder, input: Source, shape: &[usize]) -> Rule<Source> {
    let (minus, zero) = (core.scalar(-1.0), core.scalar(0.0));
    let value = pointwise(core, PointwiseFunction::PRelu, &[input, minus], shape)?;
    // 0 times -1 is a negative zero, and a negative zero plus zero is zero
    pointwise(core, Binary::Add, &[value, zero], shape)
}

/// The view of the valid elements of joined lines, noted for later operations.
pub(super) fn of_lines(core: &mut CoreBuilder, lines: &Known, geometry: Geometry) -> Built<Known> {
    let view = core.view(lines, geometry.clone())?;
    if let (Known::Source(Source::Value(view), _), Known::Source(Source::Value(viewed), _)) =
        (&view, lines)
    {
        core.facts.lines.insert(*view, (*viewed, geometry));
    }
    Ok(view)
}

/// A pointwise operation on the valid elements of joined lines, if all other operands are constants
/// per channel. The operation is computed on whole lines, so that the convolution applies it to
/// sums before they are stored. `None` for other operands.
fn pointwise_of_lines(
    core: &mut CoreBuilder,
    function: PointwiseFunction,
    inputs: &[Source],
    shape: &[usize],
) -> Built<Option<Known>> {
    let line = inputs.iter().enumerate().find_map(|(at, input)| match input {
        Source::Value(value) => {
            core.facts.lines.get(value).map(|(viewed, geometry)| (at, *viewed, geometry.clone()))
        }
        _ => None,
    });
    let Some((at, viewed, geometry)) = line else { return Ok(None) };
    let to = core.model.values[viewed].shape.clone();
    let channels = geometry.shape[1];
    // each operand, with the constant per channel that needs the shape of joined lines
    let mut flat = Vec::new();
    for (i, input) in inputs.iter().enumerate() {
        match input {
            _ if i == at => flat.push((Source::Value(viewed), None)),
            Source::Constant(constant) => {
                let tensor = &core.model.constants[*constant];
                let tensor_shape = tensor.shape();
                let axis = (tensor_shape.len() + 1).checked_sub(geometry.shape.len());
                match tensor.len() {
                    1 => flat.push((*input, None)),
                    len if len == channels
                        && axis.is_some_and(|axis| tensor_shape.get(axis) == Some(&len)) =>
                    {
                        flat.push((*input, Some(tensor.clone())));
                    }
                    _ => return Ok(None),
                }
            }
            _ => return Ok(None),
        }
    }
    if geometry.shape != shape {
        return Ok(None);
    }
    let mut sources = Vec::new();
    for (source, tensor) in flat {
        let Some(tensor) = tensor else {
            sources.push(source);
            continue;
        };
        let element = tensor.element();
        let per_channel =
            core.view(&Known::Constant(tensor, element), Geometry::reshaped(vec![1, channels, 1]))?;
        sources.push(core.source(&per_channel)?);
    }
    let out = core.value(to);
    core.emit(CoreOp::Pointwise(Pointwise { function, inputs: sources, out }));
    of_lines(core, &Known::Source(Source::Value(out), ElementType::F32), geometry).map(Some)
}
