//! Repeated elements: broadcasts and tiles.

use crate::core::CoreBuilder;
use crate::core::{Geometry, Known, broadcast, broadcast_strides, signed, strides};
use crate::model::{BroadcastMode, shape_text};
use crate::translate::operands::Operands;
use crate::translate::refusal::{Refusal, Rule};

/// The shape with which an input broadcasts to `to`: the axes of the input are at the places
/// `axes`, other axes have size 1. `None` if the input does not fit.
fn spread(own: &[usize], axes: &[i64], to: &[usize]) -> Option<Vec<usize>> {
    let mut spread = vec![1; to.len()];
    let mut next = 0;
    if axes.len() != own.len() {
        return None;
    }
    for (&size, &axis) in own.iter().zip(axes) {
        let axis = usize::try_from(axis).ok().filter(|&axis| axis >= next && axis < to.len())?;
        if size != 1 && size != to[axis] {
            return None;
        }
        spread[axis] = size;
        next = axis + 1;
    }
    Some(spread)
}

/// Broadcast. Inputs: data, target shape, and the axes for an explicit broadcast.
pub(in crate::translate) fn broadcast_input(
    core: &mut CoreBuilder,
    args: &Operands,
    mode: BroadcastMode,
) -> Rule<Known> {
    let input = args.get(0)?;
    let wanted = args.integers(1, "the shape")?;
    let input_shape = core.shape_of(&input);
    let target: Option<Vec<usize>> =
        wanted.iter().map(|&size| usize::try_from(size).ok()).collect();
    let to = match (mode, target) {
        (BroadcastMode::Numpy, Some(to)) => Some(to)
            .filter(|to| broadcast([&input_shape[..], to]).as_ref() == Some(to))
            .map(|to| (input_shape.clone(), to)),
        (BroadcastMode::Bidirectional, Some(to)) => {
            broadcast([&input_shape[..], &to]).map(|to| (input_shape.clone(), to))
        }
        (BroadcastMode::Explicit, Some(to)) => {
            if args.len() < 3 {
                let found = "an explicit Broadcast without axes";
                return Err(Refusal::new(
                    found,
                    "for each axis of the input, the axis of the output",
                    "connect the axes as the third input",
                ));
            }
            let axes = args.integers(2, "the axes")?;
            spread(&input_shape, &axes, &to).map(|spread| (spread, to))
        }
        (_, None) => None,
    };
    let Some((input_shape, to)) = to else {
        let found = format!(
            "a tensor of shape {} broadcast to {}",
            shape_text(&input_shape),
            shape_text(&wanted)
        );
        let valid = "sizes that are equal or 1, compared from the last one to the first";
        return Err(Refusal::new(found, valid, "correct the shape"));
    };
    let strides = signed(broadcast_strides(&input_shape, &to));
    Ok(core.view(&input, Geometry { offset: 0, strides, shape: to })?)
}

/// A tensor repeated to a broadcast shape, such as the operand that a constant condition of a
/// Select chooses.
pub(in crate::translate) fn broadcast_to(
    core: &mut CoreBuilder,
    chosen: &Known,
    shape: Vec<usize>,
) -> Rule<Known> {
    let strides = signed(broadcast_strides(&core.shape_of(chosen), &shape));
    Ok(core.view(chosen, Geometry { offset: 0, strides, shape })?)
}

/// Tile. Inputs: data, repeats of each axis.
pub(in crate::translate) fn tile(core: &mut CoreBuilder, args: &Operands) -> Rule<Known> {
    let input = args.get(0)?;
    let repeats = args.integers(1, "the repeats")?;
    let mut input_shape = core.shape_of(&input);
    input_shape
        .splice(0..0, std::iter::repeat_n(1, repeats.len().saturating_sub(input_shape.len())));
    let mut times = vec![1; input_shape.len()];
    let skipped = input_shape.len() - repeats.len();
    for (times, &n) in times[skipped..].iter_mut().zip(&repeats) {
        let Some(n) = usize::try_from(n).ok().filter(|&n| n > 0) else {
            let found = format!("repeated {} times", shape_text(&repeats));
            return Err(Refusal::new(found, "each 1 or more", "correct the repeats"));
        };
        *times = n;
    }
    // each axis [size] is read as [times, size], with a stride of 0 along the times
    let (mut shape, mut steps) = (Vec::new(), Vec::new());
    for ((&times, &size), stride) in
        times.iter().zip(&input_shape).zip(signed(strides(&input_shape)))
    {
        if times > 1 {
            shape.push(times);
            steps.push(0);
        }
        shape.push(size);
        steps.push(stride);
    }
    let spread = core.view(&input, Geometry { offset: 0, strides: steps, shape })?;
    let whole = times.iter().zip(&input_shape).map(|(times, size)| times * size).collect();
    Ok(core.view(&spread, Geometry::reshaped(whole))?)
}
