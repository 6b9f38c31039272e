//! Operations that move elements without arithmetic: reshapes, transpositions, slices and
//! concatenations.

use super::fold;
use crate::check::findings::Known;
use crate::check::shape::element_count;
use crate::check::shape::{Geometry, broadcast, broadcast_strides, counted, signed, strides};
use crate::check::translator::Translator;
use crate::core::{Concat, CoreOp, Source, View};
use crate::diagnostic::Severity;
use crate::model::{BroadcastMode, ElementType, Node, Op, Tensor, shape_text};

/// The most indices of a Gather of a computed tensor that are no progression.
const MOST_GATHERED: usize = 256;

/// A slice along one axis: first element, count, step.
struct Along {
    start: usize,
    count: usize,
    step: isize,
}

impl Along {
    /// The whole axis.
    fn whole(size: usize) -> Self {
        Self { start: 0, count: size, step: 1 }
    }

    /// The slice from `start` to before `stop`. Negative numbers count from the end. Both are
    /// clamped by ONNX's rules: a backward slice starts within the axis. `None`: the first or last
    /// element of the axis.
    fn range(size: usize, start: Option<i64>, stop: Option<i64>, step: i64) -> Self {
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
    fn new(op: &Op, i: usize) -> Self {
        let Op::StridedSlice {
            begin_mask,
            end_mask,
            new_axis_mask,
            shrink_axis_mask,
            ellipsis_mask,
        } = op
        else {
            return Self::Range { has_begin: true, has_end: true };
        };
        let is_set = |mask: &[bool]| mask.get(i).copied().unwrap_or(false);
        let has_begin = !is_set(begin_mask);
        match () {
            () if is_set(ellipsis_mask) => Self::Ellipsis,
            () if is_set(new_axis_mask) => Self::NewAxis,
            () if is_set(shrink_axis_mask) => Self::Index { has_begin },
            () => Self::Range { has_begin, has_end: !is_set(end_mask) },
        }
    }

    /// True if the entry describes one axis of the input.
    fn has_an_axis(self) -> bool {
        matches!(self, Self::Index { .. } | Self::Range { .. })
    }
}

/// The slices along all axes.
fn geometry(shape: &[usize], along: &[Along]) -> Geometry {
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
    /// A tensor whose elements are elements of another tensor.
    pub(super) fn view(&mut self, node: &Node, input: &Known, geometry: Geometry) -> Option<Known> {
        let same = self.shape_of(input) == geometry.shape
            && geometry.offset == 0
            && geometry.is_contiguous();
        match input {
            _ if same => Some(input.clone()),
            Known::Constant(..) | Known::Source(..) if geometry.shape.contains(&0) => {
                self.empty(node, input.element(), geometry.shape)
            }
            Known::Constant(tensor, element) => {
                Some(Known::Constant(self.view_constant(node, tensor, &geometry)?, *element))
            }
            Known::Source(source, element) => {
                self.computable(node, &geometry.shape)?;
                let in_order = geometry.offset == 0 && geometry.is_contiguous();
                let Geometry { offset, strides, shape } = geometry;
                let out = self.value(shape);
                self.emit(node, CoreOp::View(View { input: *source, offset, strides, out }));
                let view = Known::Source(Source::Value(out), *element);
                self.set_range(&view, self.range_of(input));
                if let Source::Value(value) = source
                    && let Some(&(parameter, is_whole)) = self.findings.parameter_of.get(value)
                {
                    let all = self.core.len(*source) == self.core.len(Source::Value(out));
                    self.findings
                        .parameter_of
                        .insert(out, (parameter, is_whole && in_order && all));
                }
                Some(view)
            }
            Known::Iteration(..) => None,
        }
    }

    fn view_constant(
        &mut self,
        node: &Node,
        tensor: &Tensor,
        geometry: &Geometry,
    ) -> Option<Tensor> {
        if geometry.is_contiguous() {
            if tensor.element().is_float() {
                self.computable_up_to(node, &geometry.shape, self.most_folded(node))?;
            }
            return tensor.part(geometry.offset, geometry.shape.clone());
        }
        self.foldable(node, &geometry.shape, tensor.element())?;
        Some(fold::strided(tensor, geometry))
    }

    pub(super) fn set_view(&mut self, node: &Node, port: usize, input: &Known, geometry: Geometry) {
        if let Some(view) = self.view(node, input, geometry) {
            self.set(node, port, view);
        }
    }

    pub(super) fn shape_of_op(&mut self, node: &Node) {
        let Some(known) = self.input(node, 0) else { return };
        let shape: Vec<i64> = self.shape_of(&known).iter().map(|&size| size as i64).collect();
        let stated = self.model.values[node.outputs[0].0].element;
        let element = if stated == ElementType::I32 { stated } else { ElementType::I64 };
        if let Some(tensor) = Tensor::from_i64(vec![shape.len()], &shape) {
            self.set(node, 0, Known::Constant(tensor, element));
        }
    }

    pub(super) fn reshape(&mut self, node: &Node, zero_keeps: bool) {
        let Some(input) = self.input(node, 0) else { return };
        let Some(wanted) = self.integers(node, 1, "the shape") else { return };
        let shape = self.shape_of(&input);
        match reshaped(&shape, &wanted, zero_keeps) {
            Some(to) => self.set_view(node, 0, &input, Geometry::reshaped(to)),
            None => {
                let found = format!(
                    "a tensor of shape {} reshaped to {}",
                    shape_text(&shape),
                    shape_text(&wanted)
                );
                let valid = "as many elements, and at most one size of -1";
                self.error(node, &node.origin, found, valid, "correct the shape");
            }
        }
    }

    pub(super) fn squeeze(&mut self, node: &Node, skip: bool) {
        let Some(input) = self.input(node, 0) else { return };
        let shape = self.shape_of(&input);
        let axes = match node.inputs.len() {
            1 => Vec::new(),
            _ => match self.integers(node, 1, "the axes") {
                Some(axes) => axes,
                None => return,
            },
        };
        let mut gone: Vec<bool> = shape.iter().map(|&size| size == 1 && axes.is_empty()).collect();
        for axis in axes {
            let Some(axis) = self.axis(node, axis, shape.len()) else { return };
            if shape[axis] != 1 && skip {
                continue;
            }
            if shape[axis] != 1 {
                let found =
                    format!("axis {axis} of a tensor of shape {} squeezed", shape_text(&shape));
                self.error(node, &node.origin, found, "an axis of size 1", "correct the axes");
                return;
            }
            gone[axis] = true;
        }
        let kept =
            shape.iter().zip(gone).filter(|(_, gone)| !gone).map(|(&size, _)| size).collect();
        self.set_view(node, 0, &input, Geometry::reshaped(kept));
    }

    pub(super) fn unsqueeze(&mut self, node: &Node) {
        let Some(input) = self.input(node, 0) else { return };
        let Some(axes) = self.integers(node, 1, "the axes") else { return };
        let shape = self.shape_of(&input);
        let rank = shape.len() + axes.len();
        let mut added = vec![false; rank];
        for axis in axes {
            let Some(axis) = self.axis(node, axis, rank) else { return };
            if std::mem::replace(&mut added[axis], true) {
                let found = format!("axis {axis} added twice");
                self.error(node, &node.origin, found, "each once", "correct the axes");
                return;
            }
        }
        let mut sizes = shape.into_iter();
        let shape = added
            .into_iter()
            .map(|added| if added { 1 } else { sizes.next().unwrap_or(1) })
            .collect();
        self.set_view(node, 0, &input, Geometry::reshaped(shape));
    }

    pub(super) fn transpose(&mut self, node: &Node) {
        let Some(input) = self.input(node, 0) else { return };
        let Some(order) = self.integers(node, 1, "the order") else { return };
        let shape = self.shape_of(&input);
        let axes: Option<Vec<usize>> = match order.is_empty() {
            true => Some((0..shape.len()).rev().collect()),
            false => order.iter().map(|&axis| counted(axis, shape.len())).collect(),
        };
        let permutation = axes.filter(|order| {
            let mut seen = vec![false; shape.len()];
            order.len() == shape.len()
                && order.iter().all(|&axis| !std::mem::replace(&mut seen[axis], true))
        });
        let Some(order) = permutation else {
            self.no_permutation(node, &order, &shape);
            return;
        };
        let own = strides(&shape);
        let geometry = Geometry {
            offset: 0,
            strides: order.iter().map(|&axis| own[axis] as isize).collect(),
            shape: order.iter().map(|&axis| shape[axis]).collect(),
        };
        self.set_view(node, 0, &input, geometry);
    }

    /// Refuses an order of axes for another rank. The error names the operator that a reader has
    /// translated to a Transpose, and is reported once.
    fn no_permutation(&mut self, node: &Node, order: &[i64], shape: &[usize]) {
        let operator = node.kind.split(',').next().unwrap_or_default();
        if operator == "Transpose" {
            let of = format!("{} dimensions, {}", shape.len(), shape_text(shape));
            if order.len() == shape.len() {
                let found = format!("the order {order:?} of {of}");
                self.error(
                    node,
                    &node.origin,
                    found,
                    "an order that names each dimension once",
                    "correct the order",
                );
                return;
            }
            let found =
                format!("an order of {} numbers, {order:?}, for a tensor of {of}", order.len());
            let valid = "an order of as many numbers as there are dimensions";
            let help = "correct the sizes of the inputs of the model, from which the tensor has \
                its dimensions, or the order";
            self.error(node, &node.origin, found, valid, help);
            return;
        }
        let label = node.label();
        if self
            .diagnostics
            .0
            .iter()
            .any(|d| d.severity == Severity::Error && d.layer.as_ref() == Some(&label))
        {
            return;
        }
        let found = format!(
            "{operator} reads a tensor of {} dimensions, {}",
            shape.len(),
            shape_text(shape)
        );
        let valid = match operator {
            "LSTM" | "GRU" | "RNN" => "X of 3 dimensions, steps, batch and features; states of 3",
            _ => "as many dimensions as the operator defines",
        };
        self.error(
            node,
            &node.origin,
            found,
            valid,
            "correct the sizes of the inputs of the model, or the operator",
        );
    }

    pub(super) fn split(&mut self, node: &Node, parts: usize) {
        let Some((input, axis)) = self.split_along(node) else { return };
        let size = self.shape_of(&input)[axis];
        if parts == 0 || !size.is_multiple_of(parts) {
            let found = format!("{size} elements along axis {axis} split into {parts} equal parts");
            self.error(
                node,
                &node.origin,
                found,
                "a number of parts that divides them",
                "use VariadicSplit",
            );
            return;
        }
        self.parts(node, &input, axis, &vec![size / parts; parts]);
    }

    pub(super) fn variadic_split(&mut self, node: &Node) {
        let Some((input, axis)) = self.split_along(node) else { return };
        let Some(lengths) = self.integers(node, 2, "the lengths") else { return };
        let size = self.shape_of(&input)[axis];
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
            self.error(node, &node.origin, found, valid, "correct the lengths");
            return;
        };
        let lengths: Vec<usize> =
            lengths.iter().map(|&n| if n == -1 { rest } else { n } as usize).collect();
        self.parts(node, &input, axis, &lengths);
    }

    fn split_along(&mut self, node: &Node) -> Option<(Known, usize)> {
        let input = self.input(node, 0)?;
        let axis = self.integer(node, 1, "the axis")?;
        let rank = self.shape_of(&input).len();
        Some((input, self.axis(node, axis, rank)?))
    }

    fn parts(&mut self, node: &Node, input: &Known, axis: usize, lengths: &[usize]) {
        let shape = self.shape_of(input);
        let mut start = 0;
        for (port, &count) in lengths.iter().enumerate() {
            let mut along: Vec<Along> = shape.iter().map(|&size| Along::whole(size)).collect();
            along[axis] = Along { start, count, step: 1 };
            start += count;
            self.set_view(node, port, input, geometry(&shape, &along));
        }
    }

    pub(super) fn slice(&mut self, node: &Node) {
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
            self.error(node, &node.origin, found, "as many of each, no step of 0", "correct them");
            return;
        }
        let shape = self.shape_of(&input);
        let mut along: Vec<Along> = shape.iter().map(|&size| Along::whole(size)).collect();
        let mut seen = vec![false; shape.len()];
        for (i, &axis) in axes.iter().enumerate() {
            let Some(axis) = self.axis(node, axis, shape.len()) else { return };
            if std::mem::replace(&mut seen[axis], true) {
                let found = format!("axis {axis} sliced twice");
                self.error(node, &node.origin, found, "each once", "correct the axes");
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
        node: &Node,
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
                let shape = self.shape_of(&shorter);
                along[axis] = Along::whole(shape[axis]);
                return (shorter, shape);
            }
        }
        (input, shape)
    }

    pub(super) fn strided_slice(&mut self, node: &Node, op: &Op) {
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
        let shape = self.shape_of(&input);
        let entries: Vec<SliceEntry> = (0..begin.len()).map(|i| SliceEntry::new(op, i)).collect();
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
            self.error(node, &node.origin, found, valid, "correct them");
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
        node: &Node,
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
                        self.error(node, &node.origin, found, valid, "correct begin");
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

    pub(super) fn broadcast(&mut self, node: &Node, mode: BroadcastMode) {
        let Some(input) = self.input(node, 0) else { return };
        let Some(wanted) = self.integers(node, 1, "the shape") else { return };
        let own = self.shape_of(&input);
        let target: Option<Vec<usize>> =
            wanted.iter().map(|&size| usize::try_from(size).ok()).collect();
        let to = match (mode, target) {
            (BroadcastMode::Numpy, Some(to)) => Some(to)
                .filter(|to| broadcast([&own[..], to]).as_ref() == Some(to))
                .map(|to| (own.clone(), to)),
            (BroadcastMode::Bidirectional, Some(to)) => {
                broadcast([&own[..], &to]).map(|to| (own.clone(), to))
            }
            (BroadcastMode::Explicit, Some(to)) => {
                if node.inputs.len() < 3 {
                    let found = "an explicit Broadcast without axes";
                    self.error(
                        node,
                        &node.origin,
                        found,
                        "which axis each of the input's becomes",
                        "connect the axes",
                    );
                    return;
                }
                let Some(axes) = self.integers(node, 2, "the axes") else { return };
                spread(&own, &axes, &to).map(|spread| (spread, to))
            }
            (_, None) => None,
        };
        let Some((own, to)) = to else {
            let found = format!(
                "a tensor of shape {} broadcast to {}",
                shape_text(&own),
                shape_text(&wanted)
            );
            let valid = "sizes that are equal or 1, compared from the last one to the first";
            self.error(node, &node.origin, found, valid, "correct the shape");
            return;
        };
        let strides = signed(broadcast_strides(&own, &to));
        self.set_view(node, 0, &input, Geometry { offset: 0, strides, shape: to });
    }

    /// A tensor repeated to a broadcast shape: for a Select with a uniform constant condition, the
    /// chosen operand.
    pub(super) fn selected(
        &mut self,
        node: &Node,
        chosen: &Known,
        shape: Vec<usize>,
    ) -> Option<Known> {
        let strides = signed(broadcast_strides(&self.shape_of(chosen), &shape));
        self.view(node, chosen, Geometry { offset: 0, strides, shape })
    }

    pub(super) fn tile(&mut self, node: &Node) {
        let Some(input) = self.input(node, 0) else { return };
        let Some(repeats) = self.integers(node, 1, "the repeats") else { return };
        let mut own = self.shape_of(&input);
        own.splice(0..0, std::iter::repeat_n(1, repeats.len().saturating_sub(own.len())));
        let mut times = vec![1; own.len()];
        let skipped = own.len() - repeats.len();
        for (times, &n) in times[skipped..].iter_mut().zip(&repeats) {
            let Some(n) = usize::try_from(n).ok().filter(|&n| n > 0) else {
                let found = format!("repeated {} times", shape_text(&repeats));
                self.error(node, &node.origin, found, "each 1 or more", "correct the repeats");
                return;
            };
            *times = n;
        }
        // each axis [size] is read as [times, size], with a stride of 0 along the times
        let (mut shape, mut steps) = (Vec::new(), Vec::new());
        for ((&times, &size), stride) in times.iter().zip(&own).zip(signed(strides(&own))) {
            if times > 1 {
                shape.push(times);
                steps.push(0);
            }
            shape.push(size);
            steps.push(stride);
        }
        let Some(spread) = self.view(node, &input, Geometry { offset: 0, strides: steps, shape })
        else {
            return;
        };
        let whole = times.iter().zip(&own).map(|(times, size)| times * size).collect();
        self.set_view(node, 0, &spread, Geometry::reshaped(whole));
    }

    pub(super) fn gather(&mut self, node: &Node, batch_dims: i64) {
        let (Some(data), Some(indices)) = (self.input(node, 0), self.input(node, 1)) else {
            return;
        };
        let Some(axis) = self.integer(node, 2, "the axis") else { return };
        let (shape, of_indices) = (self.shape_of(&data), self.shape_of(&indices));
        let Some(axis) = self.axis(node, axis, shape.len()) else { return };
        if batch_dims != 0 {
            // a negative number counts from the last axis of the indices
            let all = of_indices.len();
            let batch = if batch_dims == all as i64 { Some(all) } else { counted(batch_dims, all) };
            match batch.filter(|&batch| batch <= axis) {
                Some(batch) => self.gather_by_rows(node, [&data, &indices], axis, batch),
                None => {
                    let found = format!("{} of {batch_dims}", node.spelling.batch_dims);
                    let valid = format!("0 to {}", axis.min(all));
                    let origin = node.attribute_origin(node.spelling.batch_dims);
                    self.error(node, origin, found, valid, "correct the number");
                }
            }
            return;
        }
        if matches!(indices, Known::Source(..)) && !indices.element().is_float() {
            if let Some(found) = self.look_up(node, &data, &indices, axis) {
                self.set(node, 0, found);
            }
            return;
        }
        let Some(numbers) = self.integers(node, 1, "the indices") else { return };
        let places: Option<Vec<usize>> = numbers.iter().map(|&i| counted(i, shape[axis])).collect();
        let Some(places) = places else {
            let found = format!("an index that is not among the {} along axis {axis}", shape[axis]);
            let valid = format!("{} to {}", -(shape[axis] as i64), shape[axis] as i64 - 1);
            self.error(node, &node.origin, found, valid, "correct the indices");
            return;
        };
        if let Some(taken) = self.gathered(node, &data, axis, &places, &of_indices) {
            self.set(node, 0, taken);
        }
    }

    /// The elements at indices along an axis; the dimensions of the indices replace the axis.
    pub(super) fn gathered(
        &mut self,
        node: &Node,
        data: &Known,
        axis: usize,
        places: &[usize],
        dimensions: &[usize],
    ) -> Option<Known> {
        let shape = self.shape_of(data);
        let to: Vec<usize> = [&shape[..axis], dimensions, &shape[axis + 1..]].concat();
        let own = strides(&shape);
        let step = match places[..] {
            [] | [_] => 0,
            [first, second, ..] => second as isize - first as isize,
        };
        if places.windows(2).all(|w| w[1] as isize - w[0] as isize == step) {
            let along =
                signed(strides(dimensions)).into_iter().map(|s| s * step * own[axis] as isize);
            let before = own[..axis].iter().map(|&s| s as isize);
            let after = own[axis + 1..].iter().map(|&s| s as isize);
            let geometry = Geometry {
                offset: places.first().map_or(0, |&first| first * own[axis]),
                strides: before.chain(along).chain(after).collect(),
                shape: to,
            };
            return self.view(node, data, geometry);
        }
        match data {
            Known::Constant(tensor, element) => {
                self.foldable(node, &to, *element)?;
                Some(Known::Constant(fold::gather(tensor, axis, places, to), *element))
            }
            Known::Source(..) | Known::Iteration(..) => {
                self.gather_one_by_one(node, data, axis, places, to)
            }
        }
    }

    fn gather_one_by_one(
        &mut self,
        node: &Node,
        data: &Known,
        axis: usize,
        places: &[usize],
        to: Vec<usize>,
    ) -> Option<Known> {
        // neighbouring indices form runs, each with its first index and its length
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for &place in places {
            let many = runs.len() == MOST_GATHERED;
            match runs.last_mut() {
                Some((start, count)) if *start + *count == place => *count += 1,
                _ if many => {
                    let found = format!("more than {MOST_GATHERED} runs of indices in no order");
                    let valid = format!("{MOST_GATHERED} or fewer, or a progression");
                    self.error(
                        node,
                        &node.origin,
                        found,
                        valid,
                        "gather from a constant, or fewer at once",
                    );
                    return None;
                }
                _ => runs.push((place, 1)),
            }
        }
        let shape = self.shape_of(data);
        let mut inputs = Vec::new();
        for (start, count) in runs {
            let mut along: Vec<Along> = shape.iter().map(|&size| Along::whole(size)).collect();
            along[axis] = Along { start, count, step: 1 };
            let part = self.view(node, data, geometry(&shape, &along))?;
            inputs.extend(self.source(&part));
        }
        let mut all = shape;
        all[axis] = places.len();
        self.computable(node, &all)?;
        let out = self.value(all);
        self.emit(node, CoreOp::Concat(Concat { axis, inputs, out }));
        let side_by_side = Known::Source(Source::Value(out), data.element());
        self.set_range(&side_by_side, self.range_of(data));
        self.view(node, &side_by_side, Geometry::reshaped(to))
    }

    pub(super) fn scatter_update(&mut self, node: &Node) {
        let (Some(data), Some(indices), Some(new)) =
            (self.input(node, 0), self.input(node, 1), self.input(node, 2))
        else {
            return;
        };
        let (Some(numbers), Some(axis)) =
            (self.integers(node, 1, "the indices"), self.integer(node, 3, "the axis"))
        else {
            return;
        };
        let (shape, of_indices, of_new) =
            (self.shape_of(&data), self.shape_of(&indices), self.shape_of(&new));
        let Some(axis) = self.axis(node, axis, shape.len()) else { return };
        let first = numbers.first().and_then(|&i| counted(i, shape[axis]));
        let follow = numbers.windows(2).all(|w| w[1].checked_sub(w[0]) == Some(1));
        let Some(first) = first.filter(|first| follow && first + numbers.len() <= shape[axis])
        else {
            let found = format!(
                "the indices {} along an axis of {} elements",
                shape_text(&numbers),
                shape[axis]
            );
            self.error(
                node,
                &node.origin,
                found,
                "indices that follow one another",
                "replace the parts one by one",
            );
            return;
        };
        if of_new != [&shape[..axis], &of_indices, &shape[axis + 1..]].concat() {
            self.shapes_differ(
                node,
                &[shape, of_indices, of_new],
                "new parts as large as the old ones",
                "correct the shapes",
            );
            return;
        }
        let after = first + numbers.len();
        let mut parts = Vec::new();
        for (start, count) in [(0, first), (first, numbers.len()), (after, shape[axis] - after)] {
            if count == 0 {
                continue;
            }
            let mut along: Vec<Along> = shape.iter().map(|&size| Along::whole(size)).collect();
            along[axis] = Along { start, count, step: 1 };
            let old = geometry(&shape, &along);
            let part = match start == first {
                true => self.view(node, &new, Geometry::reshaped(old.shape)),
                false => self.view(node, &data, old),
            };
            let Some(part) = part else { return };
            parts.push(part);
        }
        if let Some(whole) = self.put_together(node, &parts, axis as i64) {
            self.set(node, 0, whole);
        }
    }

    pub(super) fn reverse_sequence(&mut self, node: &Node, batch_axis: i64, seq_axis: i64) {
        let Some(data) = self.input(node, 0) else { return };
        let shape = self.shape_of(&data);
        let (batch, steps) =
            (self.axis(node, batch_axis, shape.len()), self.axis(node, seq_axis, shape.len()));
        let (Some(batch), Some(steps)) = (batch, steps) else { return };
        if let Some(lengths @ Known::Source(..)) = self.input(node, 1) {
            if let Some(reversed) = self.reversed_at_run_time(node, &data, &lengths, batch, steps) {
                self.set(node, 0, reversed);
            }
            return;
        }
        let Some(lengths) = self.integers(node, 1, "the lengths") else { return };
        let inside: Option<Vec<usize>> =
            lengths.iter().map(|&length| usize::try_from(length).ok()).collect();
        let inside = inside.filter(|all| {
            all.len() == shape[batch] && all.iter().all(|&length| length <= shape[steps])
        });
        let Some(lengths) = inside else {
            let found = format!(
                "lengths of {} for {} by {}",
                shape_text(&lengths),
                shape[batch],
                shape[steps]
            );
            let valid = "a length for each sequence, no longer than the axis";
            self.error(node, &node.origin, found, valid, "correct the lengths");
            return;
        };
        let whole = |lengths: &[usize]| {
            let mut along: Vec<Along> = shape.iter().map(|&size| Along::whole(size)).collect();
            along[steps] = Along::range(shape[steps], None, None, -1);
            lengths.iter().all(|&length| length == shape[steps]).then(|| geometry(&shape, &along))
        };
        if let Some(geometry) = whole(&lengths) {
            self.set_view(node, 0, &data, geometry);
            return;
        }
        let mut sequences = Vec::new();
        for (k, &length) in lengths.iter().enumerate() {
            let mut one: Vec<Along> = shape.iter().map(|&size| Along::whole(size)).collect();
            one[batch] = Along::range(shape[batch], Some(k as i64), Some(k as i64 + 1), 1);
            let Some(sequence) = self.view(node, &data, geometry(&shape, &one)) else { return };
            let of_one = self.shape_of(&sequence);
            let places: Vec<usize> = (0..length).rev().chain(length..shape[steps]).collect();
            let Some(sequence) =
                self.gathered(node, &sequence, steps, &places, &of_one[steps..=steps])
            else {
                return;
            };
            sequences.push(sequence);
        }
        if let Some(reversed) = self.put_together(node, &sequences, batch as i64) {
            self.set(node, 0, reversed);
        }
    }

    pub(super) fn concat(&mut self, node: &'a Node, axis: i64) {
        let Some(inputs) = self.inputs(node) else { return };
        self.note_front(node, &inputs, axis);
        if let Some(whole) = self.put_together(node, &inputs, axis) {
            self.set(node, 0, whole);
        }
    }

    /// Tensors, one or more, side by side along an axis.
    pub(super) fn put_together(
        &mut self,
        node: &Node,
        inputs: &[Known],
        axis: i64,
    ) -> Option<Known> {
        let shapes: Vec<Vec<usize>> = inputs.iter().map(|input| self.shape_of(input)).collect();
        let axis = self.axis(node, axis, shapes[0].len())?;
        let agree = |shape: &Vec<usize>| {
            shape.len() == shapes[0].len()
                && shape.iter().zip(&shapes[0]).enumerate().all(|(d, (a, b))| d == axis || a == b)
        };
        if !shapes.iter().all(agree) {
            let valid = format!("shapes that differ along axis {axis} only");
            self.shapes_differ(
                node,
                &shapes,
                &valid,
                "correct the axis, or the shapes of the inputs",
            );
            return None;
        }
        let mut shape = shapes[0].clone();
        shape[axis] = shapes.iter().map(|shape| shape[axis]).fold(0, usize::saturating_add);
        let element = inputs[0].element();
        if shape.contains(&0) && element.is_float() {
            return self.empty(node, element, shape);
        }
        let mut full: Vec<Known> = inputs.to_vec();
        full.retain(|input| !element.is_float() || self.shape_of(input)[axis] > 0);
        let inputs = &full[..];
        if let [one] = inputs {
            return Some(one.clone());
        }
        let tensors: Option<Vec<&Tensor>> = inputs.iter().map(Known::tensor).collect();
        if let Some(tensors) = tensors {
            if inputs.iter().any(|input| input.element().is_float() != element.is_float()) {
                self.differ_in_type(node, inputs);
                return None;
            }
            self.foldable(node, &shape, element)?;
            return Some(Known::Constant(fold::concat(&tensors, axis, shape, element), element));
        }
        if inputs.iter().any(|input| input.element().is_float() != element.is_float()) {
            self.differ_in_type(node, inputs);
            return None;
        }
        self.all_exact(node, inputs)?;
        self.computable(node, &shape)?;
        let range = self.range_of_all(inputs);
        let inputs: Vec<Source> = inputs.iter().filter_map(|input| self.source(input)).collect();
        let out = self.value(shape);
        self.emit(node, CoreOp::Concat(Concat { axis, inputs, out }));
        let whole = Known::Source(Source::Value(out), element);
        self.set_range(&whole, range);
        Some(whole)
    }
}

/// The output shape of a Reshape; `None` if the elements do not fit.
fn reshaped(shape: &[usize], wanted: &[i64], zero_keeps: bool) -> Option<Vec<usize>> {
    let mut open = None;
    let mut to = Vec::with_capacity(wanted.len());
    for (d, &size) in wanted.iter().enumerate() {
        to.push(match size {
            -1 if open.is_some() => return None,
            -1 => {
                open = Some(d);
                1
            }
            0 if zero_keeps => *shape.get(d)?,
            size => usize::try_from(size).ok()?,
        });
    }
    let (have, said) = (element_count(shape)?, element_count(&to)?);
    match open {
        None => (have == said).then_some(to),
        Some(_) if said == 0 || !have.is_multiple_of(said) => None,
        Some(d) => {
            to[d] = have / said;
            Some(to)
        }
    }
}

/// The shape of an input for broadcasting to `to`, with the input's axes at the given places.
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
