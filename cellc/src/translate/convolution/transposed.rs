//! Transposed convolutions, as convolutions of stride 1 over spread elements.

use super::windows::Axis;
use crate::check::limits::MOST_ALONG_AXIS;
use crate::core::{CoreBuilder, Geometry, Known, signed, strides};
use crate::model::{Convolution, ElementType, OutputSizes, Padding, shape_text};
use crate::translate::layout::concats::put_together;
use crate::translate::operands::Operands;
use crate::translate::refusal::{Refusal, Rule};

/// A tensor with zeros between its elements, and the windows of stride 1 over it.
pub(super) struct Spread {
    pub(super) x: Known,
    pub(super) axes: Vec<Axis>,
}

/// A transposed convolution as a convolution of stride 1 over an input with zeros: `stride - 1`
/// between neighbours along each axis.
pub(super) fn spread(
    core: &mut CoreBuilder,
    args: &Operands,
    of: &Convolution,
    x: &Known,
    axes: Vec<Axis>,
) -> Rule<Spread> {
    let sizes = output_sizes(args, of, axes.len())?;
    let mut x = x.clone();
    let mut all = Vec::new();
    for (at, axis) in axes.into_iter().enumerate() {
        all.push(spread_axis(args, of, axis, at, sizes.as_ref().map(|sizes| sizes[at]))?);
        x = spread_out(core, &x, 2 + at, axis.stride)?;
    }
    Ok(Spread { x, axes: all })
}

/// The sizes of the output along `rank` axes. `None`: they follow from the input.
fn output_sizes(args: &Operands, of: &Convolution, rank: usize) -> Rule<Option<Vec<i64>>> {
    let sizes: Vec<i64> = match &of.output_sizes {
        OutputSizes::Follow => return Ok(None),
        OutputSizes::Input => args.integers(2, "the shape of the output")?,
        // an exporter may state the whole shape, with N and C
        OutputSizes::Given(sizes) => {
            let first = if sizes.len() == rank + 2 { 2 } else { 0 };
            sizes[first..].iter().map(|&size| size as i64).collect()
        }
    };
    if sizes.len() != rank || sizes.iter().any(|size| !(1..=MOST_ALONG_AXIS as i64).contains(size))
    {
        let found = format!("an output of {} for {rank} dimensions", shape_text(&sizes));
        let valid = "a size of 1 or more for each";
        return Err(Refusal::new(found, valid, "correct the shape of the output"));
    }
    Ok(Some(sizes))
}

/// Axis `at` of the windows of stride 1. `size`: the size of the output along the axis, if given.
fn spread_axis(
    args: &Operands,
    of: &Convolution,
    axis: Axis,
    at: usize,
    size: Option<i64>,
) -> Rule<Axis> {
    let extra = of.output_padding.get(at).copied().unwrap_or(0);
    if extra >= axis.stride.max(axis.dilation) && extra > 0 {
        let found = format!("an output padding of {extra}");
        let valid = "less than the stride or the dilation";
        return Err(Refusal::new(found, valid, "correct the attribute"));
    }
    let full = axis.stride * (axis.size - 1) + axis.reach() + extra;
    let is_same = matches!(of.window.padding, Padding::SameUpper | Padding::SameLower);
    let same = is_same.then_some((axis.size * axis.stride) as i64);
    let (begin, end) = match size.or(same) {
        None => (axis.begin, axis.end),
        Some(wanted) => {
            let begin = cut_at_begin(of, axis, full as i64 - wanted);
            if matches!(of.output_sizes, OutputSizes::Given(_))
                && wanted - full as i64 >= axis.stride as i64
            {
                let found = format!("an output of {wanted} elements along an axis");
                let most = full + axis.stride - 1;
                let valid = format!("at most {most}, {full} and less than a stride more");
                let help = format!("correct {}", args.node.spelling.output_shape);
                return Err(Refusal::new(found, valid, help));
            }
            (begin, full as i64 - wanted - begin)
        }
    };
    let out = full as i64 - begin - end;
    if !(1..=MOST_ALONG_AXIS as i64).contains(&out) {
        let found = format!("an output of {out} elements along an axis");
        return Err(Refusal::new(found, "1 or more", "correct the pads"));
    }
    let reach = axis.reach() as i64 - 1;
    Ok(Axis {
        size: axis.stride * (axis.size - 1) + 1,
        stride: 1,
        begin: reach - begin,
        end: reach - end + extra as i64,
        ..axis
    })
}

/// The elements cut off before the first one of an axis. `total`: the elements cut off at both
/// ends; negative if zeros are added.
///
/// For an input with the output's shape (OpenVINO): the larger half with same_upper, the smaller
/// half with same_lower, else pads_begin. For ONNX's output_shape: the smaller half with
/// SAME_UPPER, else the larger half.
fn cut_at_begin(of: &Convolution, axis: Axis, total: i64) -> i64 {
    let smaller = total.max(0) / 2;
    let larger = total.max(0) - smaller;
    match (&of.output_sizes, &of.window.padding) {
        (OutputSizes::Input, Padding::SameUpper) => larger,
        (OutputSizes::Input, Padding::SameLower) => smaller,
        (OutputSizes::Input, _) => axis.begin,
        (_, Padding::SameUpper) => smaller,
        _ => larger,
    }
}

/// A tensor with zeros between the elements along an axis.
fn spread_out(core: &mut CoreBuilder, x: &Known, axis: usize, stride: usize) -> Rule<Known> {
    let shape = core.shape_of(x);
    if stride == 1 || shape[axis] == 1 {
        return Ok(x.clone());
    }
    let mut column = shape.clone();
    column.insert(axis + 1, 1);
    let x = core.view(x, Geometry::reshaped(column.clone()))?;
    column[axis + 1] = stride - 1;
    core.foldable(&column, ElementType::F32)?;
    let len = column.iter().product();
    let zeros = Known::floats(column, &vec![0.0; len], x.element());
    let all = put_together(core, &[x, zeros], axis + 1)?;
    let mut wide = shape;
    wide[axis] *= stride;
    let all = core.view(&all, Geometry::reshaped(wide.clone()))?;
    // no zeros follow the last element
    let own = signed(strides(&wide));
    wide[axis] -= stride - 1;
    Ok(core.view(&all, Geometry { offset: 0, strides: own, shape: wide })?)
}
