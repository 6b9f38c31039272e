//! Slices and splits.

use crate::core::{CoreBuilder, Geometry, Known, axis_index, strides};
use crate::model::{SliceMasks, shape_text};
use crate::translate::operands::Operands;
use crate::translate::refusal::{Refusal, Rule};

/// A slice along one axis: first element, count, step.
pub(in crate::translate) struct AxisSlice {
    pub(in crate::translate) start: usize,
    pub(in crate::translate) count: usize,
    pub(in crate::translate) step: isize,
}

impl AxisSlice {
    /// Every element of an axis.
    pub(in crate::translate) fn all(size: usize) -> Self {
        Self { start: 0, count: size, step: 1 }
    }

    /// The slice from `start` to before `stop`. Negative numbers count from the end. Both are
    /// clamped by ONNX's rules: a backward slice starts within the axis. `None` as `start`: the
    /// first element in the direction of `step`; as `stop`: all elements up to the last in this
    /// direction.
    pub(in crate::translate) fn range(
        size: usize,
        start: Option<i64>,
        stop: Option<i64>,
        step: i64,
    ) -> Self {
        if size == 0 {
            return Self::all(0);
        }
        let size = size as i128;
        let step = i128::from(step);
        let from_end = |i: i64| if i < 0 { i128::from(i) + size } else { i128::from(i) };
        let (start, stop) = if step > 0 {
            (
                start.map_or(0, |i| from_end(i).clamp(0, size)),
                stop.map_or(size, |i| from_end(i).clamp(0, size)),
            )
        } else {
            let last = size - 1;
            (
                start.map_or(last, |i| from_end(i).clamp(0, last)),
                stop.map_or(-1, |i| from_end(i).clamp(-1, last)),
            )
        };
        let span = if step > 0 { stop - start } else { start - stop };
        let count = if span <= 0 { 0 } else { (span + step.abs() - 1) / step.abs() };
        // the step of a slice of one element is not used
        let step = if count > 1 { step } else { 1 };
        Self { start: start.max(0) as usize, count: count as usize, step: step as isize }
    }
}

/// The meaning of one entry of begin, end and strides, by the masks of a StridedSlice.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SliceEntry {
    /// The axes without an entry.
    Ellipsis,
    /// An axis of size 1 that the operation inserts.
    NewAxis,
    /// One element along an axis, which the output drops. Without a begin, the first element.
    Index { has_begin: bool },
    /// A range along an axis. Without a begin or an end, the range begins or ends with the
    /// outermost element of the axis.
    Range { has_begin: bool, has_end: bool },
}

impl SliceEntry {
    /// The meaning of entry `i` of a StridedSlice.
    fn new(masks: &SliceMasks, i: usize) -> Self {
        let is_set = |mask: &[bool]| mask.get(i).copied().unwrap_or(false);
        let has_begin = !is_set(&masks.begin);
        match () {
            () if is_set(&masks.ellipsis) => Self::Ellipsis,
            () if is_set(&masks.new_axis) => Self::NewAxis,
            () if is_set(&masks.shrink_axis) => Self::Index { has_begin },
            () => Self::Range { has_begin, has_end: !is_set(&masks.end) },
        }
    }

    /// True if the entry slices an axis of the input.
    fn has_an_axis(self) -> bool {
        matches!(self, Self::Index { .. } | Self::Range { .. })
    }
}

/// The slices of a tensor along all of its axes.
pub(in crate::translate) struct Slices {
    /// By axis of the tensor.
    pub(in crate::translate) along: Vec<AxisSlice>,
    /// By axis of the output, the axis of the tensor. `None`: an added axis of size 1.
    axes: Vec<Option<usize>>,
}

impl Slices {
    /// Slices whose output has every axis of the input.
    fn of_every_axis(along: Vec<AxisSlice>) -> Self {
        let axes = (0..along.len()).map(Some).collect();
        Self { along, axes }
    }

    /// Appends axes that keep every element.
    fn extend_by(&mut self, sizes: &[usize]) {
        let first = self.along.len();
        self.along.extend(sizes.iter().map(|&size| AxisSlice::all(size)));
        self.axes.extend((first..self.along.len()).map(Some));
    }

    /// The view of the slices in a tensor of shape `shape`.
    pub(in crate::translate) fn geometry(&self, shape: &[usize]) -> Geometry {
        let view = geometry(shape, &self.along);
        Geometry {
            offset: view.offset,
            // an added axis has size 1, so any stride is valid
            strides: self.axes.iter().map(|axis| axis.map_or(0, |at| view.strides[at])).collect(),
            shape: self.axes.iter().map(|axis| axis.map_or(1, |at| view.shape[at])).collect(),
        }
    }
}

/// The view of one slice per axis in a tensor of shape `shape`.
pub(in crate::translate) fn geometry(shape: &[usize], along: &[AxisSlice]) -> Geometry {
    let row_major = strides(shape);
    Geometry {
        // an empty slice reads no element, so the offset may be 0
        offset: if along.iter().any(|a| a.count == 0) {
            0
        } else {
            along.iter().zip(&row_major).map(|(a, s)| a.start * s).sum()
        },
        strides: along.iter().zip(&row_major).map(|(a, &s)| a.step * s as isize).collect(),
        shape: along.iter().map(|a| a.count).collect(),
    }
}

/// Equal parts of a tensor along an axis.
pub(in crate::translate) fn split(
    core: &mut CoreBuilder,
    args: &Operands,
    parts: usize,
) -> Rule<Vec<Known>> {
    let (input, axis) = (args.get(0)?, axis_of_split(core, args)?);
    let size = core.shape_of(&input)[axis];
    if parts == 0 || !size.is_multiple_of(parts) {
        let found = format!("{size} elements along axis {axis} split into {parts} equal parts");
        let valid = "a number of parts that divides them";
        return Err(Refusal::new(found, valid, "use VariadicSplit"));
    }
    parts_of(core, &input, axis, &vec![size / parts; parts])
}

/// Parts of given lengths of a tensor along an axis.
pub(in crate::translate) fn variadic_split(
    core: &mut CoreBuilder,
    args: &Operands,
) -> Rule<Vec<Known>> {
    let (input, axis) = (args.get(0)?, axis_of_split(core, args)?);
    let lengths = args.integers(2, "the lengths")?;
    let (size, outputs) = (core.shape_of(&input)[axis], args.node.outputs.len());
    let known =
        lengths.iter().filter(|&&n| n != -1).try_fold(0i64, |sum, &n| sum.checked_add(n.max(0)));
    let rest = known.and_then(|known| i64::try_from(size).ok()?.checked_sub(known));
    let rests = lengths.iter().filter(|&&n| n == -1).count();
    let fits = lengths.iter().all(|&n| n >= -1)
        && lengths.len() == outputs
        && match rests {
            0 => rest == Some(0),
            1 => rest.is_some_and(|rest| rest >= 0),
            _ => false,
        };
    let Some(rest) = rest.filter(|_| fits) else {
        let text = shape_text(&lengths);
        let found = format!("{size} elements along axis {axis} split into parts of {text}");
        let valid = format!("{outputs} lengths that add up to {size}, of which one may be -1");
        return Err(Refusal::new(found, valid, "correct the lengths"));
    };
    let lengths: Vec<usize> =
        lengths.iter().map(|&n| if n == -1 { rest } else { n } as usize).collect();
    parts_of(core, &input, axis, &lengths)
}

fn axis_of_split(core: &CoreBuilder, args: &Operands) -> Rule<usize> {
    let axis = args.integer(1, "the axis")?;
    args.axis(axis, core.shape_of(&args.get(0)?).len())
}

fn parts_of(
    core: &mut CoreBuilder,
    input: &Known,
    axis: usize,
    lengths: &[usize],
) -> Rule<Vec<Known>> {
    let shape = core.shape_of(input);
    let mut start = 0;
    let mut parts = Vec::new();
    for &count in lengths {
        let mut along: Vec<AxisSlice> = shape.iter().map(|&size| AxisSlice::all(size)).collect();
        along[axis] = AxisSlice { start, count, step: 1 };
        start += count;
        parts.push(core.view(input, geometry(&shape, &along))?);
    }
    Ok(parts)
}

/// The slices of Slice.
pub(in crate::translate) fn slices(core: &CoreBuilder, args: &Operands) -> Rule<Slices> {
    let input = args.get(0)?;
    let starts = args.integers(1, "the start")?;
    let stops = args.integers(2, "the stop")?;
    let steps = args.integers(3, "the step")?;
    let axes = match args.len() {
        5 => args.integers(4, "the axes")?,
        _ => (0..starts.len() as i64).collect(),
    };
    let lengths = [starts.len(), stops.len(), steps.len(), axes.len()];
    if lengths.iter().any(|&n| n != lengths[0]) || steps.contains(&0) {
        let found = "start, stop, step and axes of different lengths, or a step of 0";
        return Err(Refusal::new(found, "as many of each, no step of 0", "correct them"));
    }
    let shape = core.shape_of(&input);
    let mut along: Vec<AxisSlice> = shape.iter().map(|&size| AxisSlice::all(size)).collect();
    for (i, axis) in args.axes_once(&axes, shape.len())?.into_iter().enumerate() {
        along[axis] = AxisSlice::range(shape[axis], Some(starts[i]), Some(stops[i]), steps[i]);
    }
    Ok(Slices::of_every_axis(along))
}

/// The slices of StridedSlice.
pub(in crate::translate) fn masked_slices(
    core: &CoreBuilder,
    args: &Operands,
    masks: &SliceMasks,
) -> Rule<Slices> {
    let input = args.get(0)?;
    let (begin, end) = (args.integers(1, "the begin")?, args.integers(2, "the end")?);
    let steps = match args.len() {
        4 => args.integers(3, "the strides")?,
        _ => vec![1; begin.len()],
    };
    let shape = core.shape_of(&input);
    let entries: Vec<SliceEntry> = (0..begin.len()).map(|i| SliceEntry::new(masks, i)).collect();
    let ellipses = entries.iter().filter(|entry| **entry == SliceEntry::Ellipsis).count();
    let axis_count = entries.iter().filter(|entry| entry.has_an_axis()).count();
    if begin.len() != end.len()
        || begin.len() != steps.len()
        || steps.contains(&0)
        || ellipses > 1
        || axis_count > shape.len()
    {
        let found = format!(
            "begin, end and strides of {}, {} and {} numbers for {} dimensions",
            begin.len(),
            end.len(),
            steps.len(),
            shape.len()
        );
        let valid =
            "as many of each, one ellipsis, no more than there are dimensions, no stride of 0";
        return Err(Refusal::new(found, valid, "correct them"));
    }
    let mut slices = Slices { along: Vec::new(), axes: Vec::new() };
    for (i, entry) in entries.iter().enumerate() {
        let axis = slices.along.len();
        match *entry {
            SliceEntry::Ellipsis => slices.extend_by(&shape[axis..][..shape.len() - axis_count]),
            SliceEntry::NewAxis => slices.axes.push(None),
            SliceEntry::Index { has_begin } => {
                slices.along.push(one_element(begin[i], has_begin, axis, shape[axis])?);
            }
            SliceEntry::Range { has_begin, has_end } => {
                let from = Some(begin[i]).filter(|_| has_begin);
                let to = Some(end[i]).filter(|_| has_end);
                slices.along.push(AxisSlice::range(shape[axis], from, to, steps[i]));
                slices.axes.push(Some(axis));
            }
        }
    }
    let rest = &shape[slices.along.len()..];
    slices.extend_by(rest);
    Ok(slices)
}

/// One element along an axis. Without a begin, the first element.
fn one_element(begin: i64, has_begin: bool, axis: usize, size: usize) -> Rule<AxisSlice> {
    let start = if has_begin { axis_index(begin, size) } else { Some(0).filter(|_| size > 0) };
    let Some(start) = start else {
        let found = format!("index {begin} of {size} elements along axis {axis}");
        let valid = format!("0 to {}", size.max(1) - 1);
        return Err(Refusal::new(found, valid, "correct begin"));
    };
    Ok(AxisSlice { start, count: 1, step: 1 })
}
