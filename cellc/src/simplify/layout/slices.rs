//! Slices and splits.

use crate::core::{Geometry, Known, counted, strides};
use crate::model::{Node, SliceMasks, shape_text};
use crate::simplify::refusal::Refusal;
use crate::simplify::translator::Translator;

/// A slice along one axis: first element, count, step.
pub(in crate::simplify) struct Along {
    pub(in crate::simplify) start: usize,
    pub(in crate::simplify) count: usize,
    pub(in crate::simplify) step: isize,
}

impl Along {
    /// The whole axis.
    pub(in crate::simplify) fn whole(size: usize) -> Self {
        Self { start: 0, count: size, step: 1 }
    }

    /// The slice from `start` to before `stop`. Negative numbers count from the end. Both are
    /// clamped by ONNX's rules: a backward slice starts within the axis. `None`: the first or last
    /// element of the axis.
    pub(in crate::simplify) fn range(
        size: usize,
        start: Option<i64>,
        stop: Option<i64>,
        step: i64,
    ) -> Self {
        if size == 0 {
            return Self::whole(0);
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
        // a slice of one element has no distance to a next element
        let step = if count > 1 { step } else { 1 };
        Self { start: start.max(0) as usize, count: count as usize, step: step as isize }
    }
}

/// One entry of the begin, end and strides of a StridedSlice, by the masks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SliceEntry {
    /// All axes that have no entry.
    Ellipsis,
    /// An axis of size 1 that the output has in addition.
    NewAxis,
    /// One element along an axis, which the output lacks. Without a begin, the first element.
    Index { has_begin: bool },
    /// A range along an axis, from its first to its last element without a begin or an end.
    Range { has_begin: bool, has_end: bool },
}

impl SliceEntry {
    /// Entry `i` of a StridedSlice.
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

    /// True if the entry describes one axis of the input.
    fn has_an_axis(self) -> bool {
        matches!(self, Self::Index { .. } | Self::Range { .. })
    }
}

/// The slices along all axes.
pub(in crate::simplify) fn geometry(shape: &[usize], along: &[Along]) -> Geometry {
    let own = strides(shape);
    Geometry {
        // an empty slice reads no element, so the offset may be 0
        offset: if along.iter().any(|a| a.count == 0) {
            0
        } else {
            along.iter().zip(&own).map(|(a, s)| a.start * s).sum()
        },
        strides: along.iter().zip(&own).map(|(a, &s)| a.step * s as isize).collect(),
        shape: along.iter().map(|a| a.count).collect(),
    }
}

impl<'a> Translator<'_, 'a> {
    pub(in crate::simplify) fn split(&mut self, node: &'a Node, parts: usize) {
        let Some((input, axis)) = self.split_along(node) else { return };
        let size = self.core.shape_of(&input)[axis];
        if parts == 0 || !size.is_multiple_of(parts) {
            let found = format!("{size} elements along axis {axis} split into {parts} equal parts");
            self.refuse(
                node,
                Refusal::new(found, "a number of parts that divides them", "use VariadicSplit"),
            );
            return;
        }
        self.parts(node, &input, axis, &vec![size / parts; parts]);
    }

    pub(in crate::simplify) fn variadic_split(&mut self, node: &'a Node) {
        let Some((input, axis)) = self.split_along(node) else { return };
        let Some(lengths) = self.integers(node, 2, "the lengths") else { return };
        let size = self.core.shape_of(&input)[axis];
        let known = lengths
            .iter()
            .filter(|&&n| n != -1)
            .try_fold(0i64, |sum, &n| sum.checked_add(n.max(0)));
        let rest = known.and_then(|known| i64::try_from(size).ok()?.checked_sub(known));
        let rests = lengths.iter().filter(|&&n| n == -1).count();
        let fits = lengths.iter().all(|&n| n >= -1)
            && lengths.len() == node.outputs.len()
            && match rests {
                0 => rest == Some(0),
                1 => rest.is_some_and(|rest| rest >= 0),
                _ => false,
            };
        let Some(rest) = rest.filter(|_| fits) else {
            let found = format!(
                "{size} elements along axis {axis} split into parts of {}",
                shape_text(&lengths)
            );
            let valid = format!(
                "{} lengths that add up to {size}, of which one may be -1",
                node.outputs.len()
            );
            self.refuse(node, Refusal::new(found, valid, "correct the lengths"));
            return;
        };
        let lengths: Vec<usize> =
            lengths.iter().map(|&n| if n == -1 { rest } else { n } as usize).collect();
        self.parts(node, &input, axis, &lengths);
    }

    fn split_along(&mut self, node: &'a Node) -> Option<(Known, usize)> {
        let input = self.input(node, 0)?;
        let axis = self.integer(node, 1, "the axis")?;
        let rank = self.core.shape_of(&input).len();
        Some((input, self.axis(node, axis, rank)?))
    }

    fn parts(&mut self, node: &'a Node, input: &Known, axis: usize, lengths: &[usize]) {
        let shape = self.core.shape_of(input);
        let mut start = 0;
        for (port, &count) in lengths.iter().enumerate() {
            let mut along: Vec<Along> = shape.iter().map(|&size| Along::whole(size)).collect();
            along[axis] = Along { start, count, step: 1 };
            start += count;
            self.set_view(node, port, input, geometry(&shape, &along));
        }
    }

    pub(in crate::simplify) fn slice(&mut self, node: &'a Node) {
        if self.slices_by_run_time(node) {
            return;
        }
        let Some(input) = self.input(node, 0) else { return };
        let (Some(starts), Some(stops), Some(steps)) = (
            self.integers(node, 1, "the start"),
            self.integers(node, 2, "the stop"),
            self.integers(node, 3, "the step"),
        ) else {
            return;
        };
        let axes = match node.inputs.len() {
            5 => match self.integers(node, 4, "the axes") {
                Some(axes) => axes,
                None => return,
            },
            _ => (0..starts.len() as i64).collect(),
        };
        let lengths = [starts.len(), stops.len(), steps.len(), axes.len()];
        if lengths.iter().any(|&n| n != lengths[0]) || steps.contains(&0) {
            let found = "start, stop, step and axes of different lengths, or a step of 0";
            self.refuse(node, Refusal::new(found, "as many of each, no step of 0", "correct them"));
            return;
        }
        let shape = self.core.shape_of(&input);
        let mut along: Vec<Along> = shape.iter().map(|&size| Along::whole(size)).collect();
        let mut seen = vec![false; shape.len()];
        for (i, &axis) in axes.iter().enumerate() {
            let Some(axis) = self.axis(node, axis, shape.len()) else { return };
            if std::mem::replace(&mut seen[axis], true) {
                let found = format!("axis {axis} sliced twice");
                self.refuse(node, Refusal::new(found, "each once", "correct the axes"));
                return;
            }
            along[axis] = Along::range(shape[axis], Some(starts[i]), Some(stops[i]), steps[i]);
        }
        let (input, shape) = self.without_the_end(node, input, shape, &mut along);
        self.set_view(node, 0, &input, geometry(&shape, &along));
    }

    /// The operand of a slice. If the slice drops windows at the end of an axis and no other
    /// operation reads them, the operand is computed without the windows.
    fn without_the_end(
        &mut self,
        node: &'a Node,
        input: Known,
        shape: Vec<usize>,
        along: &mut [Along],
    ) -> (Known, Vec<usize>) {
        let cut = |(axis, along): (usize, &Along)| {
            let prefix =
                along.start == 0 && along.step == 1 && (1..shape[axis]).contains(&along.count);
            prefix.then(|| (axis, shape[axis] - along.count))
        };
        for (axis, cut) in along.iter().enumerate().filter_map(cut) {
            if let Some(shorter) = self.computed_without(node.inputs[0], axis, cut) {
                let shape = self.core.shape_of(&shorter);
                along[axis] = Along::whole(shape[axis]);
                return (shorter, shape);
            }
        }
        (input, shape)
    }

    pub(in crate::simplify) fn strided_slice(&mut self, node: &'a Node, masks: &SliceMasks) {
        let Some(input) = self.input(node, 0) else { return };
        let (Some(begin), Some(end)) =
            (self.integers(node, 1, "the begin"), self.integers(node, 2, "the end"))
        else {
            return;
        };
        let steps = match node.inputs.len() {
            4 => match self.integers(node, 3, "the strides") {
                Some(steps) => steps,
                None => return,
            },
            _ => vec![1; begin.len()],
        };
        let shape = self.core.shape_of(&input);
        let entries: Vec<SliceEntry> =
            (0..begin.len()).map(|i| SliceEntry::new(masks, i)).collect();
        let ellipses = entries.iter().filter(|entry| **entry == SliceEntry::Ellipsis).count();
        let own = entries.iter().filter(|entry| entry.has_an_axis()).count();
        if begin.len() != end.len()
            || begin.len() != steps.len()
            || steps.contains(&0)
            || ellipses > 1
            || own > shape.len()
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
            self.refuse(node, Refusal::new(found, valid, "correct them"));
            return;
        }
        let numbers: Vec<[i64; 3]> =
            (0..begin.len()).map(|i| [begin[i], end[i], steps[i]]).collect();
        let Some((mut along, kept)) = self.slices(node, &entries, &numbers, &shape) else { return };
        let (input, shape) = self.without_the_end(node, input, shape, &mut along);
        let all = geometry(&shape, &along);
        // the strides of the kept axes in order; an added axis has size 1 and any stride
        let mut strides = Vec::new();
        let mut own_strides = all.strides.iter();
        for entry in &entries {
            match entry {
                SliceEntry::Ellipsis => {
                    strides.extend(own_strides.by_ref().take(shape.len() - own));
                }
                SliceEntry::NewAxis => strides.push(0),
                SliceEntry::Index { .. } => _ = own_strides.next(),
                SliceEntry::Range { .. } => strides.extend(own_strides.next()),
            }
        }
        strides.extend(own_strides);
        self.set_view(node, 0, &input, Geometry { offset: all.offset, strides, shape: kept });
    }

    /// The slices along the axes of a tensor, and the sizes of the output without the axes that
    /// the slice removes. `numbers`: by entry, begin, end and stride. `None` after an error.
    fn slices(
        &mut self,
        node: &'a Node,
        entries: &[SliceEntry],
        numbers: &[[i64; 3]],
        shape: &[usize],
    ) -> Option<(Vec<Along>, Vec<usize>)> {
        let own = entries.iter().filter(|entry| entry.has_an_axis()).count();
        let (mut along, mut kept): (Vec<Along>, Vec<usize>) = (Vec::new(), Vec::new());
        for (entry, &[begin, end, step]) in entries.iter().zip(numbers) {
            match *entry {
                SliceEntry::Ellipsis => {
                    let sizes = &shape[along.len()..][..shape.len() - own];
                    kept.extend(sizes);
                    along.extend(sizes.iter().map(|&size| Along::whole(size)));
                }
                SliceEntry::NewAxis => kept.push(1),
                SliceEntry::Index { has_begin } => {
                    let size = shape[along.len()];
                    let start =
                        if has_begin { counted(begin, size) } else { Some(0).filter(|_| size > 0) };
                    let Some(start) = start else {
                        let axis = along.len();
                        let found = format!("index {begin} of {size} elements along axis {axis}");
                        let valid = format!("0 to {}", size.max(1) - 1);
                        self.refuse(node, Refusal::new(found, valid, "correct begin"));
                        return None;
                    };
                    along.push(Along { start, count: 1, step: 1 });
                }
                SliceEntry::Range { has_begin, has_end } => {
                    let from = Some(begin).filter(|_| has_begin);
                    let to = Some(end).filter(|_| has_end);
                    let taken = Along::range(shape[along.len()], from, to, step);
                    kept.push(taken.count);
                    along.push(taken);
                }
            }
        }
        let rest = &shape[along.len()..];
        kept.extend(rest);
        along.extend(rest.iter().map(|&size| Along::whole(size)));
        Some((along, kept))
    }
}
