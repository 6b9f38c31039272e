//! Pad, and the padding of convolutions and pools.

use super::windows::Axis;
use crate::core::{CoreBuilder, ElementsBefore, Front, Geometry, Known, signed, strides};
use crate::model::{ElementType, PadMode, shape_text};
use crate::translate::layout::concats::put_together;
use crate::translate::operands::{Operands, legal_extents};
use crate::translate::refusal::{Refusal, Rule};

/// The value of padding.
pub(super) enum PadValue {
    Number(f32),
    /// A computed tensor of one element.
    Computed(Known),
}

/// The padding of one axis.
struct AxisPads {
    axis: usize,
    /// The number of elements before the data. Negative: elements of the data are cut off.
    begin: i64,
    end: i64,
}

/// A tensor with padding along its last axes. Negative padding cuts elements off.
pub(super) fn padded(core: &mut CoreBuilder, x: &Known, axes: &[Axis], value: f32) -> Rule<Known> {
    let first = core.shape_of(x).len() - axes.len();
    let mut x = x.clone();
    let value = PadValue::Number(value);
    for (at, axis) in axes.iter().enumerate() {
        let pads = (axis.begin, axis.end);
        x = pad_axis(core, &x, first + at, pads, PadMode::Constant, &value)?;
    }
    Ok(x)
}

/// `count` elements of a tensor along an axis, from element `start` on, with a distance of `step`.
fn part(
    core: &mut CoreBuilder,
    x: &Known,
    axis: usize,
    (start, step, count): (usize, isize, usize),
) -> Rule<Known> {
    let mut shape = core.shape_of(x);
    let mut strides = signed(strides(&shape));
    let offset = start * strides[axis] as usize;
    strides[axis] *= step;
    shape[axis] = count;
    Ok(core.view(x, Geometry { offset, strides, shape })?)
}

/// A tensor with padding at both ends of an axis. Negative padding cuts elements off.
pub(super) fn pad_axis(
    core: &mut CoreBuilder,
    x: &Known,
    axis: usize,
    (begin, end): (i64, i64),
    mode: PadMode,
    value: &PadValue,
) -> Rule<Known> {
    // negative padding is cut off before positive padding is added
    let x = cropped(core, x, axis, (begin, end))?;
    let (begin, end) = (begin.max(0) as usize, end.max(0) as usize);
    let size = core.shape_of(&x)[axis];
    let most = match mode {
        PadMode::Constant => usize::MAX,
        PadMode::Edge if size > 0 => usize::MAX,
        PadMode::Reflect => size.saturating_sub(1),
        PadMode::Edge | PadMode::Symmetric | PadMode::Wrap => size,
    };
    if begin > most || end > most {
        let found =
            format!("pads of {begin} and {end} by the elements of a side, on {size} elements");
        return Err(Refusal::new(found, format!("at most {most}"), "correct the pads"));
    }
    // the first element that the padding at each end repeats, and the direction of the next element
    let (before, after) = match mode {
        PadMode::Constant | PadMode::Edge => ((0, 0), (size.saturating_sub(1), 0)),
        PadMode::Reflect => ((begin, -1), (size.saturating_sub(2), -1)),
        PadMode::Symmetric => ((begin.saturating_sub(1), -1), (size.saturating_sub(1), -1)),
        PadMode::Wrap => ((size - begin, 1), (0, 1)),
    };
    let mut pieces = Vec::new();
    for (count, (start, step), is_end) in [(begin, before, false), (end, after, true)] {
        if is_end {
            pieces.push(x.clone());
        }
        if count == 0 {
            continue;
        }
        pieces.push(match mode {
            PadMode::Constant => pads_of_value(core, &x, axis, count, value)?,
            _ => part(core, &x, axis, (start, step, count))?,
        });
    }
    put_together(core, &pieces, axis)
}

/// A tensor without the elements that negative padding cuts off.
fn cropped(
    core: &mut CoreBuilder,
    x: &Known,
    axis: usize,
    (begin, end): (i64, i64),
) -> Rule<Known> {
    if begin >= 0 && end >= 0 {
        return Ok(x.clone());
    }
    let size = core.shape_of(x)[axis] as i64;
    let (start, cut) = ((-begin).max(0), (-end).max(0));
    let Some(count) = usize::try_from(size - start - cut).ok().filter(|&count| count > 0) else {
        let found = format!("pads of {begin} and {end} on {size} elements");
        return Err(Refusal::new(found, "something that is left", "correct the pads"));
    };
    part(core, x, axis, (start as usize, 1, count))
}

/// `count` elements of constant padding along an axis of a tensor.
fn pads_of_value(
    core: &mut CoreBuilder,
    x: &Known,
    axis: usize,
    count: usize,
    value: &PadValue,
) -> Rule<Known> {
    let mut shape = core.shape_of(x);
    shape[axis] = count;
    match value {
        PadValue::Number(number) => {
            core.foldable(&shape, ElementType::F32)?;
            let len = shape.iter().product();
            Ok(Known::floats(shape, &vec![*number; len], x.element()))
        }
        PadValue::Computed(value) => {
            let strides = vec![0; shape.len()];
            Ok(core.view(value, Geometry { offset: 0, strides, shape })?)
        }
    }
}

/// Pad. The padding is given for each axis of the data, or for each axis that the fifth input
/// names.
pub(in crate::translate) fn pad(
    core: &mut CoreBuilder,
    args: &Operands,
    mode: PadMode,
) -> Rule<Known> {
    let x = args.get(0)?;
    let shape = core.shape_of(&x);
    let by_axis = pads_by_axis(args, shape.len())?;
    let value = pad_value(core, args)?;
    let fronts = by_axis.iter().filter(|pads| pads.begin > 0).map(|pads| Front {
        size: shape[pads.axis],
        reach: pads.begin as usize,
        is_causal: pads.end <= 0,
    });
    core.note_lookback(&x, ElementsBefore::Pads, fronts.collect());
    let mut padded = x;
    for AxisPads { axis, begin, end } in by_axis {
        padded = pad_axis(core, &padded, axis, (begin, end), mode, &value)?;
    }
    Ok(padded)
}

/// The pads of Pad, by axis.
fn pads_by_axis(args: &Operands, rank: usize) -> Rule<Vec<AxisPads>> {
    let (begin, end) = (args.integers(1, "the pads")?, args.integers(2, "the pads")?);
    let axes: Vec<usize> = match args.len() {
        5 => args.axes_once(&args.integers(4, "the axes")?, rank)?,
        _ => (0..rank).collect(),
    };
    if begin.len() != axes.len() || end.len() != axes.len() {
        let found = format!("{} and {} pads for {} axes", begin.len(), end.len(), axes.len());
        return Err(Refusal::new(found, "two for each axis", "correct the pads"));
    }
    legal_extents("a pad", begin.iter().chain(&end).copied())?;
    let pads = axes.into_iter().zip(begin.into_iter().zip(end));
    Ok(pads.map(|(axis, (begin, end))| AxisPads { axis, begin, end }).collect())
}

/// The value of constant padding.
fn pad_value(core: &CoreBuilder, args: &Operands) -> Rule<PadValue> {
    let Some(value) = args.known(3) else { return Ok(PadValue::Number(0.0)) };
    let shape = core.shape_of(value);
    match value.tensor() {
        Some(tensor) if tensor.len() == 1 => {
            let value = tensor.get_f32(0);
            match tensor.get_i64(0).filter(|_| !tensor.element().is_float()) {
                Some(integer) if integer as f32 != value || value as i64 != integer => {
                    let found = format!("pads of {integer}, which f32 does not hold");
                    Err(Refusal::new(found, "an integer that f32 holds", "pad with another number"))
                }
                _ => Ok(PadValue::Number(value)),
            }
        }
        None if shape.iter().product::<usize>() == 1 => Ok(PadValue::Computed(value.clone())),
        _ => {
            let found = format!("a value for pads of shape {}", shape_text(&shape));
            Err(Refusal::new(found, "one number", "connect one number"))
        }
    }
}
