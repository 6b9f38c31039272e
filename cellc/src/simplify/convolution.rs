//! Convolutions and pools. Many windows of stride 1 become a Convolve; others become patches of
//! the padded input, the rows of a dense layer. Both forms give the same bits: in a model of one
//! step, windows have one position and are rows of a dense layer.
//!
//! Sums run in the order of the weights: over input channels, and within a channel over the taps of
//! the kernel. Depthwise convolutions have one channel.

use crate::check::findings::{Before, DynamicLength, Front, Known, ShortOf};
use crate::check::shape::{Geometry, signed, strides};
use crate::check::translator::Translator;
use crate::core::{
    ConstantId, Convolve, CoreOp, Dense, MOST_PRODUCTS, MatMul, Pointwise, PointwiseFunction,
    Source, WeightSource,
};
use crate::diagnostic::quoted;
use crate::encoding::WeightFormat;
use crate::model::{
    Convolution, ElementType, Elementwise, Groups, Node, Op, OutputSizes, PadMode, Padding, Pool,
    PoolKind, Rounding, Tensor, Window, counted, shape_text,
};

/// Number of window positions from which lanes run along the positions.
const LEAST_POSITIONS: usize = 8;

/// Largest number of computed positions for four valid positions, if lines are joined into one.
const MOST_OF_FOUR: usize = 6;

/// One axis of a convolution; all sizes are known.
#[derive(Clone, Copy)]
struct Axis {
    size: usize,
    kernel: usize,
    stride: usize,
    dilation: usize,
    begin: i64,
    end: i64,
}

impl Axis {
    /// How far the taps of one window reach.
    fn reach(self) -> usize {
        (self.kernel - 1) * self.dilation + 1
    }

    /// True if a window contains padding only.
    fn has_window_of_pads(self, windows: usize) -> bool {
        (0..windows).any(|window| {
            let first = (window * self.stride) as i64 - self.begin;
            !(0..self.kernel)
                .any(|tap| (0..self.size as i64).contains(&(first + (tap * self.dilation) as i64)))
        })
    }

    /// The number of windows; `None` for an axis shorter than a window.
    fn windows(self, rounding: Rounding) -> Option<usize> {
        let all = self.size as i64 + self.begin + self.end;
        let rest = usize::try_from(all - self.reach() as i64).ok()?;
        let full = rest / self.stride + 1;
        let more = match rounding {
            Rounding::Floor => false,
            Rounding::Ceil => true,
            Rounding::CeilInside => ((full * self.stride) as i64) < self.size as i64 + self.begin,
        };
        Some(full + usize::from(more && !rest.is_multiple_of(self.stride)))
    }
}

/// Windows that move element by element along several axes, as one axis.
struct Lines {
    /// The axes with padding. Lines have no padding at their end, as the padding in front of the
    /// next line serves both lines.
    padded: Vec<Axis>,
    /// The first element that is read.
    start: usize,
    /// The number of positions, positions across line ends included.
    positions: usize,
    /// By axis: the number of taps, and their distance.
    taps: Vec<(usize, usize)>,
    /// By axis: positions between neighbours.
    strides: Vec<usize>,
}

impl Lines {
    /// `None` for strides above 1 and for negative padding.
    fn new(axes: &[Axis], counts: &[usize]) -> Option<Self> {
        if axes.iter().any(|axis| axis.stride != 1 || axis.begin < 0 || axis.end < 0) {
            return None;
        }
        let mut padded = axes.to_vec();
        let mut start = 0;
        if let [.., before, last] = &mut padded[..] {
            let gap = last.begin.max(last.end);
            start = (gap - last.begin) as usize;
            // padding at the end of the last line
            before.end += i64::from(last.end > 0);
            (last.begin, last.end) = (gap, 0);
        }
        let sizes: Vec<usize> =
            padded.iter().map(|axis| axis.size + (axis.begin + axis.end) as usize).collect();
        let strides = strides(&sizes);
        let positions =
            counts.iter().zip(&strides).map(|(count, stride)| (count - 1) * stride).sum::<usize>()
                + 1;
        let taps = padded
            .iter()
            .zip(&strides)
            .map(|(axis, stride)| (axis.kernel, axis.dilation * stride))
            .collect();
        Some(Self { padded, start, positions, taps, strides })
    }
}

/// The input and the windows of a pool.
struct Pooled {
    x: Known,
    /// The axes with the pads of the model.
    stated: Vec<Axis>,
    /// The axes with pads up to the end of the last window.
    axes: Vec<Axis>,
    /// The number of windows, by axis.
    counts: Vec<usize>,
    /// The number of elements of a window.
    taps: usize,
    /// The shape of the result.
    to: Vec<usize>,
}

/// The windows of a tensor `[N, C, ..]`: sizes, and strides in the tensor.
struct Patches {
    x: Known,
    batch: (usize, isize),
    channels: (usize, isize),
    positions: Vec<(usize, isize)>,
    taps: Vec<(usize, isize)>,
}

impl Patches {
    /// A tensor of some dimensions, from one element on.
    fn view(offset: usize, dims: impl IntoIterator<Item = (usize, isize)>) -> Geometry {
        let (shape, strides) = dims.into_iter().unzip();
        Geometry { offset, strides, shape }
    }

    /// The distance between a tap and the first tap of its window.
    fn offset(&self, tap: usize) -> usize {
        let mut rest = tap;
        let mut offset = 0;
        for &(count, stride) in self.taps.iter().rev() {
            offset += rest % count * stride as usize;
            rest /= count;
        }
        offset
    }
}

/// The elements of padding.
enum PadValue {
    Number(f32),
    /// One element.
    Computed(Known),
}

impl<'a> Translator<'_, 'a> {
    /// The axes of an operation whose windows move over the last dimensions of a tensor; `None`
    /// after an error.
    fn axes(
        &mut self,
        node: &Node,
        window: &Window,
        spatial: &[usize],
        kernel: &[usize],
    ) -> Option<Vec<Axis>> {
        let rank = spatial.len();
        let or = |given: &[usize], default: usize| {
            if given.is_empty() { vec![default; rank] } else { given.to_vec() }
        };
        let (steps, dilations) = (or(&window.strides, 1), or(&window.dilations, 1));
        let lengths = [steps.len(), dilations.len(), kernel.len()];
        let zero = steps.iter().chain(&dilations).chain(kernel).any(|&n| n == 0);
        if lengths.iter().any(|&n| n != rank) || zero {
            let found = format!(
                "strides {}, dilations {} and a kernel {} on {rank} dimensions",
                shape_text(&steps),
                shape_text(&dilations),
                shape_text(kernel)
            );
            self.error(
                node,
                &node.origin,
                found,
                "a number of 1 or more for each dimension",
                "correct the attributes",
            );
            return None;
        }
        let large = |n: &usize| *n > 1 << 24;
        if steps.iter().chain(&dilations).chain(kernel).any(large) {
            self.error(
                node,
                &node.origin,
                "a stride or dilation above 2^24",
                "smaller ones",
                "correct the attributes",
            );
            return None;
        }
        let mut axes = Vec::new();
        for at in 0..rank {
            let mut axis = Axis {
                size: spatial[at],
                kernel: kernel[at],
                stride: steps[at],
                dilation: dilations[at],
                begin: 0,
                end: 0,
            };
            (axis.begin, axis.end) = match &window.padding {
                Padding::Explicit { begin, end } if begin.is_empty() && end.is_empty() => (0, 0),
                Padding::Explicit { begin, end } => match (begin.get(at), end.get(at)) {
                    (Some(&begin), Some(&end))
                        if begin.unsigned_abs().max(end.unsigned_abs()) <= 1 << 24 =>
                    {
                        (begin, end)
                    }
                    _ => {
                        let found = format!("pads {} and {}", shape_text(begin), shape_text(end));
                        self.error(
                            node,
                            &node.origin,
                            found,
                            format!("{rank} at either side"),
                            "correct the pads",
                        );
                        return None;
                    }
                },
                Padding::Valid => (0, 0),
                Padding::SameUpper | Padding::SameLower => {
                    let windows = axis.size.div_ceil(axis.stride);
                    let total = ((windows - 1) * axis.stride + axis.reach())
                        .saturating_sub(axis.size) as i64;
                    let less = total / 2;
                    if window.padding == Padding::SameUpper {
                        (less, total - less)
                    } else {
                        (total - less, less)
                    }
                }
            };
            axes.push(axis);
        }
        Some(axes)
    }

    /// The number of windows along each axis; `None` after an error.
    fn windows(&mut self, node: &Node, axes: &[Axis], rounding: Rounding) -> Option<Vec<usize>> {
        let counts: Option<Vec<usize>> = axes.iter().map(|axis| axis.windows(rounding)).collect();
        if counts.is_none() {
            self.note_short(axes);
            let sizes: Vec<usize> = axes.iter().map(|axis| axis.size).collect();
            let reach: Vec<usize> = axes.iter().map(|axis| axis.reach()).collect();
            let help = self.longer_input(node);
            let found = format!(
                "a kernel that reaches over {} of {}",
                shape_text(&reach),
                shape_text(&sizes)
            );
            self.error(
                node,
                &node.origin,
                found,
                "an input, with its pads, as long as the kernel",
                help,
            );
        }
        counts
    }

    /// A tensor with more elements along its last axes, or fewer where a pad is negative.
    fn padded(&mut self, node: &Node, x: &Known, axes: &[Axis], value: f32) -> Option<Known> {
        let first = self.shape_of(x).len() - axes.len();
        let mut x = x.clone();
        let value = PadValue::Number(value);
        for (at, axis) in axes.iter().enumerate() {
            x = self.pad_axis(
                node,
                &x,
                first + at,
                (axis.begin, axis.end),
                PadMode::Constant,
                &value,
            )?;
        }
        Some(x)
    }

    /// A tensor with more elements at the sides of an axis, or fewer.
    fn pad_axis(
        &mut self,
        node: &Node,
        x: &Known,
        axis: usize,
        (begin, end): (i64, i64),
        mode: PadMode,
        value: &PadValue,
    ) -> Option<Known> {
        let part = |this: &mut Self, x: &Known, start: usize, step: isize, count: usize| {
            let mut shape = this.shape_of(x);
            let mut own = signed(strides(&shape));
            let offset = start * own[axis] as usize;
            own[axis] *= step;
            shape[axis] = count;
            this.view(node, x, Geometry { offset, strides: own, shape })
        };
        // negative padding is cut off before positive padding is added
        let mut x = x.clone();
        if begin < 0 || end < 0 {
            let size = self.shape_of(&x)[axis] as i64;
            let (start, cut) = ((-begin).max(0), (-end).max(0));
            let Some(count) = usize::try_from(size - start - cut).ok().filter(|&count| count > 0)
            else {
                let found = format!("pads of {begin} and {end} on {size} elements");
                self.error(node, &node.origin, found, "something that is left", "correct the pads");
                return None;
            };
            x = part(self, &x, start as usize, 1, count)?;
        }
        let (begin, end) = (begin.max(0) as usize, end.max(0) as usize);
        let shape = self.shape_of(&x);
        let size = shape[axis];
        let most = match mode {
            PadMode::Constant => usize::MAX,
            PadMode::Edge => usize::MAX,
            PadMode::Reflect => size - 1,
            PadMode::Symmetric | PadMode::Wrap => size,
        };
        if begin > most || end > most {
            let found =
                format!("pads of {begin} and {end} by the elements of a side, on {size} elements");
            self.error(node, &node.origin, found, format!("at most {most}"), "correct the pads");
            return None;
        }
        let element = x.element();
        // the first element of the padding at either side, and the direction of the next
        let (before, after) = match mode {
            PadMode::Constant | PadMode::Edge => ((0, 0), (size - 1, 0)),
            PadMode::Reflect => ((begin, -1), (size.saturating_sub(2), -1)),
            PadMode::Symmetric => ((begin.saturating_sub(1), -1), (size - 1, -1)),
            PadMode::Wrap => ((size - begin, 1), (0, 1)),
        };
        let side = |this: &mut Self,
                    count: usize,
                    (start, step): (usize, isize)|
         -> Option<Option<Known>> {
            if count == 0 {
                return Some(None);
            }
            if mode != PadMode::Constant {
                return part(this, &x, start, step, count).map(Some);
            }
            let mut shape = shape.clone();
            shape[axis] = count;
            let number = match value {
                PadValue::Number(number) => *number,
                PadValue::Computed(value) => {
                    let strides = vec![0; shape.len()];
                    return this
                        .view(node, value, Geometry { offset: 0, strides, shape })
                        .map(Some);
                }
            };
            this.foldable(node, &shape, ElementType::F32)?;
            let len = shape.iter().product();
            Some(Some(Known::Constant(Tensor::from_f32(shape, &vec![number; len])?, element)))
        };
        let (first, last) = (side(self, begin, before)?, side(self, end, after)?);
        let pieces: Vec<Known> = first.into_iter().chain([x.clone()]).chain(last).collect();
        self.put_together(node, &pieces, axis as i64)
    }

    /// Pad. The padding is given for each axis of the data, or for the axes of the fifth input.
    pub(super) fn pad(&mut self, node: &'a Node, mode: PadMode) {
        let Some(x) = self.input(node, 0) else { return };
        let (Some(begin), Some(end)) =
            (self.integers(node, 1, "the pads"), self.integers(node, 2, "the pads"))
        else {
            return;
        };
        let value = match self.input(node, 3) {
            None => PadValue::Number(0.0),
            Some(value) => match (value.tensor(), self.shape_of(&value)) {
                (Some(tensor), _) if tensor.len() == 1 => PadValue::Number(tensor.get_f32(0)),
                (None, shape) if shape.iter().product::<usize>() == 1 => PadValue::Computed(value),
                (_, shape) => {
                    let found = format!("a value for pads of shape {}", shape_text(&shape));
                    self.error(node, &node.origin, found, "one number", "connect one number");
                    return;
                }
            },
        };
        let rank = self.shape_of(&x).len();
        let axes: Option<Vec<usize>> = match node.inputs.len() {
            5 => match self.integers(node, 4, "the axes") {
                Some(axes) => axes.into_iter().map(|axis| self.axis(node, axis, rank)).collect(),
                None => return,
            },
            _ => Some((0..rank).collect()),
        };
        let Some(axes) = axes else { return };
        let mut once = axes.clone();
        once.sort_unstable();
        once.dedup();
        if begin.len() != axes.len() || end.len() != axes.len() || once.len() != axes.len() {
            let found = format!("{} and {} pads for {} axes", begin.len(), end.len(), axes.len());
            self.error(
                node,
                &node.origin,
                found,
                "two for each axis, each axis once",
                "correct the pads",
            );
            return;
        }
        if begin.iter().chain(&end).any(|pad| pad.unsigned_abs() > 1 << 24) {
            self.error(node, &node.origin, "a pad above 2^24", "smaller pads", "correct the pads");
            return;
        }
        let shape = self.shape_of(&x);
        let fronts = axes.iter().zip(begin.iter().zip(&end)).filter(|(_, (begin, _))| **begin > 0);
        let fronts = fronts.map(|(&axis, (&begin, &end))| Front {
            size: shape[axis],
            reach: begin as usize,
            is_causal: end <= 0,
        });
        self.note_lookback(node, &x, Before::Pads, fronts.collect());
        let mut padded = x;
        for ((axis, begin), end) in axes.into_iter().zip(begin).zip(end) {
            let Some(next) = self.pad_axis(node, &padded, axis, (begin, end), mode, &value) else {
                return;
            };
            padded = next;
        }
        self.set(node, 0, padded);
    }

    /// The remedy for an axis that is shorter than the windows of the operation.
    fn longer_input(&self, node: &Node) -> String {
        const LONGER: &str = "give a longer input";
        match &self.steps.short_of {
            Some(short)
                if std::ptr::eq(&raw const self.model.nodes[short.node], node)
                    && short.size == 1 =>
            {
                let inputs = counted(short.missing, "input");
                let each = inputs.strip_prefix("1 ").unwrap_or(&inputs);
                format!(
                    "{LONGER}; or, if a call computes one step, put the last {each} of {} in \
                    front of the step: give them to the model as an input, and return the next as \
                    an output",
                    quoted(&node.name)
                )
            }
            _ => LONGER.to_owned(),
        }
    }

    /// Notes the axis that is shorter than its windows and the number of missing elements, if there
    /// is one such axis.
    fn note_short(&mut self, axes: &[Axis]) {
        let missing = |axis: &Axis| axis.reach() as i64 - axis.size as i64 - axis.begin - axis.end;
        let mut short = axes.iter().enumerate().filter(|(_, axis)| missing(axis) > 0);
        if let (Some((at, axis)), None, 0, None) =
            (short.next(), short.next(), self.current.depth, &self.steps.short_of)
        {
            let (node, missing) = (self.current.layer.outer, missing(axis) as usize);
            self.steps.short_of =
                Some(ShortOf { node, axis: at, rank: axes.len(), size: axis.size, missing });
        }
    }

    /// Notes the axes with padding in the first windows.
    fn note_windows(&mut self, node: &'a Node, x: &Known, axes: &[Axis]) {
        let padded = axes.iter().filter(|axis| axis.begin > 0 && axis.kernel > 1);
        let fronts = padded.map(|axis| Front {
            size: axis.size,
            reach: axis.reach() - 1,
            is_causal: axis.begin + 1 >= axis.reach() as i64 && axis.stride == 1,
        });
        self.note_lookback(node, x, Before::Pads, fronts.collect());
    }

    /// The windows of a tensor `[N, C, ..]`.
    fn patches(&mut self, x: Known, axes: &[Axis], counts: &[usize]) -> Patches {
        let shape = self.shape_of(&x);
        let own = signed(strides(&shape));
        let along = axes.iter().zip(counts).zip(&own[2..]);
        let positions =
            along.map(|((axis, &count), &stride)| (count, stride * axis.stride as isize)).collect();
        let taps = axes
            .iter()
            .zip(&own[2..])
            .map(|(axis, &stride)| (axis.kernel, stride * axis.dilation as isize));
        Patches {
            batch: (shape[0], own[0]),
            channels: (shape[1], own[1]),
            positions,
            taps: taps.collect(),
            x,
        }
    }

    pub(super) fn convolution(&mut self, node: &'a Node, of: &Convolution) {
        if let Some(y) = self.convolved(node, of, None) {
            self.set(node, 0, y);
        }
    }

    /// The output of a convolution. `cut`: an axis of the windows, and a number of last elements to
    /// leave out. `None` after an error, and if a cut would change other elements.
    pub(super) fn convolved(
        &mut self,
        node: &'a Node,
        of: &Convolution,
        cut: Option<(usize, usize)>,
    ) -> Option<Known> {
        let (x, w) = (self.input(node, 0)?, self.input(node, 1)?);
        self.all_floats(node, &[x.clone(), w.clone()])?;
        let (shape, mut weights) = (self.shape_of(&x), self.shape_of(&w));
        let mut w = w;
        let valid = "data [N, C, ..], weights [M, C / groups, ..] (transposed [C, M / groups, ..]) \
            of as many dimensions";
        let groups = match of.groups {
            Groups::Count(count) => count,
            // the first dimension of the weights counts the groups
            Groups::InWeights if weights.len() == shape.len() + 1 => {
                let groups = weights.remove(0);
                weights[0] *= groups;
                w = self.view(node, &w, Geometry::reshaped(weights.clone()))?;
                groups
            }
            Groups::InWeights => 0,
        };
        let channels = shape.get(1).copied().unwrap_or(0);
        let fits = shape.len() >= 3
            && shape.len() <= 5
            && weights.len() == shape.len()
            && groups > 0
            && weights.iter().chain(&shape).all(|&size| size > 0)
            && weights[0].is_multiple_of(groups)
            && channels.is_multiple_of(groups)
            && if of.transposed { weights[0] == channels } else { weights[1] * groups == channels };
        if !fits {
            let shapes = [shape, weights];
            self.shapes_differ(
                node,
                &shapes,
                valid,
                format!("correct the shapes, or the number of groups, {groups}"),
            );
            return None;
        }
        let kernel = weights[2..].to_vec();
        let axes = self.axes(node, &of.window, &shape[2..], &kernel)?;
        let without = |axes: &mut [Axis]| match cut {
            None => Some(()),
            Some((axis, count)) => {
                let axis = axes.get_mut(axis)?;
                axis.end -= (count * axis.stride) as i64;
                (axis.end >= 0).then_some(())
            }
        };
        if !of.transposed {
            let mut axes = axes;
            without(&mut axes)?;
            self.note_windows(node, &x, &axes);
            return self.sums(node, &x, &w, groups, &axes, &kernel);
        }
        let (x, mut axes) = self.transposed_axes(node, of, &x, axes)?;
        without(&mut axes)?;
        // weights [C, M / g, k] become [M, C / g, k], with the taps of each kernel reversed
        let (inner, outer) = (channels / groups, weights[1]);
        let own = signed(strides(&weights));
        let taps: usize = kernel.iter().product();
        let mut geometry = Geometry {
            offset: taps - 1,
            strides: vec![own[0] * inner as isize, own[1], own[0]],
            shape: vec![groups, outer, inner],
        };
        geometry.strides.extend(own[2..].iter().map(|stride| -stride));
        geometry.shape.extend(&kernel);
        let w = self.view(node, &w, geometry)?;
        let w = self.view(
            node,
            &w,
            Geometry::reshaped([&[groups * outer, inner], &kernel[..]].concat()),
        )?;
        self.sums(node, &x, &w, groups, &axes, &kernel)
    }

    /// A convolution along an axis with a run-time number of elements: zeros follow the last
    /// element. `None` unless windows move element by element along the axis, and after an error.
    pub(super) fn convolution_of_parts(
        &mut self,
        node: &'a Node,
        of: &Convolution,
        length: DynamicLength,
        along: usize,
    ) -> Option<(Known, DynamicLength)> {
        let (x, w) = (self.input(node, 0)?, self.input(node, 1)?);
        let (shape, weights) = (self.shape_of(&x), self.shape_of(&w));
        let spatial = shape.get(2..).filter(|_| !of.transposed && weights.len() >= shape.len())?;
        let kernel = &weights[weights.len() - spatial.len()..];
        let axis = *self.axes(node, &of.window, spatial, kernel)?.get(along.checked_sub(2)?)?;
        if axis.stride != 1 || axis.begin < 0 || axis.end < 0 {
            return None;
        }
        let number = |value: i64| {
            Some(Known::Constant(Tensor::from_i64(Vec::new(), &[value])?, ElementType::I64))
        };
        let more = number(axis.begin + axis.end - (axis.reach() as i64 - 1))?;
        let count = Known::Source(length.count, ElementType::I64);
        let count = self.computed(node, Elementwise::Add, vec![count, more])?;
        let count = self.computed(node, Elementwise::Maximum, vec![count, number(0)?])?;
        let zero = self.number_like(&x, 0.0)?;
        let parts = self.padded_behind(node, &x, length, &zero)?;
        let whole = self.known[node.inputs[0].0].replace(parts);
        let y = self.convolved(node, of, None);
        self.known[node.inputs[0].0] = whole;
        Some((y?, DynamicLength { count: self.source(&count)?, is_zero: false, ..length }))
    }

    /// A transposed convolution as a convolution of stride 1 over the elements with zeros between
    /// them.
    fn transposed_axes(
        &mut self,
        node: &'a Node,
        of: &Convolution,
        x: &Known,
        axes: Vec<Axis>,
    ) -> Option<(Known, Vec<Axis>)> {
        let sizes = match &of.output_sizes {
            OutputSizes::Follow => None,
            OutputSizes::Given(sizes) => Some(sizes.iter().map(|&size| size as i64).collect()),
            OutputSizes::Input => Some(self.integers(node, 2, "the shape of the output")?),
        };
        // an exporter may state the whole shape
        let sizes: Option<Vec<i64>> = sizes.map(|sizes: Vec<i64>| match &of.output_sizes {
            OutputSizes::Given(_) if sizes.len() == axes.len() + 2 => sizes[2..].to_vec(),
            _ => sizes,
        });
        if let Some(sizes) = sizes.as_ref().filter(|sizes| {
            sizes.len() != axes.len() || sizes.iter().any(|size| !(1..=1 << 24).contains(size))
        }) {
            let found = format!("an output of {} for {} dimensions", shape_text(sizes), axes.len());
            self.error(
                node,
                &node.origin,
                found,
                "a size of 1 or more for each",
                "correct the shape of the output",
            );
            return None;
        }
        let mut x = x.clone();
        let mut all = Vec::new();
        for (at, axis) in axes.into_iter().enumerate() {
            let extra = of.output_padding.get(at).copied().unwrap_or(0);
            if extra >= axis.stride.max(axis.dilation) && extra > 0 {
                let found = format!("an output padding of {extra}");
                self.error(
                    node,
                    &node.origin,
                    found,
                    "less than the stride or the dilation",
                    "correct the attribute",
                );
                return None;
            }
            let full = axis.stride * (axis.size - 1) + axis.reach() + extra;
            let (mut begin, mut end) = (axis.begin, axis.end);
            let same = matches!(of.window.padding, Padding::SameUpper | Padding::SameLower);
            let wanted = match &sizes {
                Some(sizes) => Some(sizes[at]),
                None if same => Some((axis.size * axis.stride) as i64),
                None => None,
            };
            if let Some(wanted) = wanted {
                let total = full as i64 - wanted;
                let less = total.max(0) / 2;
                begin = match (&of.output_sizes, &of.window.padding) {
                    (OutputSizes::Input, Padding::SameUpper) => total.max(0) - less,
                    (OutputSizes::Input, Padding::SameLower) => less,
                    (OutputSizes::Input, _) => begin,
                    (_, Padding::SameUpper) => less,
                    _ => total.max(0) - less,
                };
                if matches!(of.output_sizes, OutputSizes::Given(_)) && -total >= axis.stride as i64
                {
                    let found = format!("an output of {wanted} elements along an axis");
                    let valid = format!(
                        "at most {}, {full} and less than a stride more",
                        full + axis.stride - 1
                    );
                    self.error(node, &node.origin, found, valid, "correct output_shape");
                    return None;
                }
                end = total - begin;
            }
            let out = full as i64 - begin - end;
            if !(1..=1 << 24).contains(&out) {
                let found = format!("an output of {out} elements along an axis");
                self.error(node, &node.origin, found, "1 or more", "correct the pads");
                return None;
            }
            let reach = axis.reach() as i64 - 1;
            x = self.spread_out(node, &x, 2 + at, axis.stride)?;
            all.push(Axis {
                size: axis.stride * (axis.size - 1) + 1,
                stride: 1,
                begin: reach - begin,
                end: reach - end + extra as i64,
                ..axis
            });
        }
        Some((x, all))
    }

    /// A tensor with zeros between the elements along an axis.
    fn spread_out(&mut self, node: &Node, x: &Known, axis: usize, stride: usize) -> Option<Known> {
        let shape = self.shape_of(x);
        if stride == 1 || shape[axis] == 1 {
            return Some(x.clone());
        }
        let mut column = shape.clone();
        column.insert(axis + 1, 1);
        let x = self.view(node, x, Geometry::reshaped(column.clone()))?;
        column[axis + 1] = stride - 1;
        self.foldable(node, &column, ElementType::F32)?;
        let len = column.iter().product();
        let zeros = Known::Constant(Tensor::from_f32(column, &vec![0.0; len])?, x.element());
        let whole = self.put_together(node, &[x, zeros], axis as i64 + 1)?;
        let mut wide = shape;
        wide[axis] *= stride;
        let whole = self.view(node, &whole, Geometry::reshaped(wide.clone()))?;
        // no zeros follow the last element
        let own = signed(strides(&wide));
        wide[axis] -= stride - 1;
        self.view(node, &whole, Geometry { offset: 0, strides: own, shape: wide })
    }

    /// The convolution itself: x `[N, C, ..]`, w `[M, C / g, ..]`.
    fn sums(
        &mut self,
        node: &'a Node,
        x: &Known,
        w: &Known,
        groups: usize,
        axes: &[Axis],
        kernel: &[usize],
    ) -> Option<Known> {
        let counts = self.windows(node, axes, Rounding::Floor)?;
        let (batch, channels) = (self.shape_of(x)[0], self.shape_of(x)[1]);
        let (outputs, inner) = (self.shape_of(w)[0], channels / groups);
        let known = w.tensor();
        let (positions, count): (usize, usize) = (counts.iter().product(), kernel.iter().product());
        let to = [&[batch, outputs], &counts[..]].concat();
        self.computable(node, &to)?;
        let depthwise = known.filter(|_| inner == 1 && groups > MOST_PRODUCTS);
        // only dense layers have weights of fewer bits and integer arithmetic
        let floats =
            self.subject.options.numerics.precision_in(&node.name).stored() == WeightFormat::F32;
        if let Some(weights) =
            known.filter(|_| self.inputs.open.is_none() && (depthwise.is_some() || floats))
        {
            let line = Lines::new(axes, &counts)
                .filter(|line| line.positions * 4 <= positions * MOST_OF_FOUR);
            if let Some(lines) = line.filter(|_| positions >= LEAST_POSITIONS) {
                if depthwise.is_some() && count == 1 {
                    self.core.in_f32.push((node.name.clone(), "windows of one element"));
                }
                return self.along_lines(
                    node,
                    x,
                    weights,
                    [batch, groups, inner, outputs / groups],
                    &lines,
                    &counts,
                );
            }
        }
        if depthwise.is_some() {
            let why = match axes {
                _ if self.inputs.open.is_some() => "a model that is computed step by step",
                _ if axes.iter().any(|axis| axis.stride != 1) => "windows with strides",
                _ if axes.iter().any(|axis| axis.begin < 0 || axis.end < 0) => "x cut off",
                _ if positions < LEAST_POSITIONS => "fewer than 8 positions",
                _ => "a small plane",
            };
            self.core.in_f32.push((node.name.clone(), why));
        }
        let x = self.padded(node, x, axes, 0.0)?;
        let patches = self.patches(x, axes, &counts);
        if let Some(weights) = depthwise {
            let y = self.channel_by_channel(
                node,
                &patches,
                weights,
                [batch, groups, outputs / groups, count],
                &counts,
            )?;
            return self.with_bias(node, y, 1);
        }
        let mut parts = Vec::new();
        for group in 0..groups {
            let sizes = [batch, inner, outputs / groups, count];
            parts.push(self.sums_of_group(node, &patches, w, group, sizes, &counts)?);
        }
        let last = counts.len() as i64 + 1;
        let y = self.put_together(node, &parts, last)?;
        let y = self.with_bias(node, y, counts.len() + 1)?;
        // channels move back in front of the positions
        let shape = self.shape_of(&y);
        let own = signed(strides(&shape));
        let order: Vec<usize> = [0, counts.len() + 1].into_iter().chain(1..=counts.len()).collect();
        let geometry = Geometry {
            offset: 0,
            strides: order.iter().map(|&d| own[d]).collect(),
            shape: order.iter().map(|&d| shape[d]).collect(),
        };
        self.view(node, &y, geometry)
    }

    /// One group of a convolution, as a matrix product: `[N, positions.., M / g]`. `sizes`: batch
    /// size, input channels and output channels of the group, elements of the kernel.
    fn sums_of_group(
        &mut self,
        node: &'a Node,
        patches: &Patches,
        w: &Known,
        group: usize,
        [batch, inner, per_group, count]: [usize; 4],
        counts: &[usize],
    ) -> Option<Known> {
        let positions: usize = counts.iter().product();
        // [N, positions.., C, taps..] of the group's channels: a row for each position
        let stride = patches.channels.1;
        let dims =
            [&[patches.batch][..], &patches.positions, &[(inner, stride)], &patches.taps].concat();
        let rows =
            self.view(node, &patches.x, Patches::view(group * inner * stride as usize, dims))?;
        let size = inner * count;
        let source = self.source(&rows)?;
        let rows = batch * positions;
        let shape = [&[batch], counts, &[per_group]].concat();
        let offset = group * per_group * size;
        let out = if let Some(weights) = w.tensor() {
            let matrix = weights.part(offset, vec![per_group, size])?;
            let w = WeightSource::Constant(self.intern(&matrix));
            let out = self.value(shape);
            let dense = Dense {
                rows,
                inputs: size,
                outputs: per_group,
                x: source,
                w,
                transposed: true,
                chains: 1,
                out,
            };
            self.emit(node, CoreOp::Dense(dense));
            out
        } else {
            let columns =
                Geometry { offset, strides: vec![1, size as isize], shape: vec![size, per_group] };
            let b = self.view(node, w, columns)?;
            let b = self.source(&b)?;
            let out = self.value(shape);
            let of = MatMul { batch: 1, rows, inner: size, columns: per_group, a: source, b, out };
            self.emit(node, CoreOp::MatMul(of));
            out
        };
        self.steps.layers.insert(out, node);
        Some(Known::Source(Source::Value(out), patches.x.element()))
    }

    /// Windows of stride 1 over the last axis. Lines are joined into one line with zeros between
    /// them.
    fn along_lines(
        &mut self,
        node: &'a Node,
        x: &Known,
        weights: &Tensor,
        [batch, groups, inputs, outputs]: [usize; 4],
        lines: &Lines,
        counts: &[usize],
    ) -> Option<Known> {
        let element = x.element();
        // kernels of one and of two axes add the padding while they read windows
        let (x, pads, of_lines) = match &lines.padded[..] {
            [axis] => (x.clone(), (axis.begin as usize, axis.end as usize), (1, 0)),
            [before, last] => {
                let gap = last.begin as usize;
                let line = gap + last.size;
                (
                    x.clone(),
                    (before.begin as usize * line, before.end as usize * line),
                    (before.size, gap),
                )
            }
            axes => (self.padded(node, x, axes, 0.0)?, (0, 0), (1, 0)),
        };
        let given: usize = self.shape_of(&x)[2..].iter().product();
        let length = pads.0 + given + of_lines.0 * of_lines.1 + pads.1;
        let (source, channels) = (self.source(&x)?, groups * outputs);
        let w = ConstantId(self.intern(weights));
        let flat = vec![batch, channels, lines.positions];
        self.computable(node, &flat)?;
        let out = self.value(flat);
        self.steps.layers.insert(out, node);
        self.emit(
            node,
            CoreOp::Convolve(Convolve {
                batch,
                groups,
                inputs,
                outputs,
                length,
                pads,
                lines: of_lines,
                start: lines.start,
                positions: lines.positions,
                wanted: counts.iter().product(),
                taps: lines.taps.clone(),
                x: source,
                w,
                has_run_time_weights: false,
                out,
            }),
        );
        let y = self.with_bias(node, Known::Source(Source::Value(out), element), 1)?;
        let own = [channels * lines.positions, lines.positions]
            .into_iter()
            .chain(lines.strides.iter().copied());
        let geometry = Geometry {
            offset: 0,
            strides: own.map(|stride| stride as isize).collect(),
            shape: [&[batch, channels], counts].concat(),
        };
        self.of_lines(node, &y, geometry)
    }

    /// The valid elements of lines computed as one line.
    fn of_lines(&mut self, node: &Node, lines: &Known, geometry: Geometry) -> Option<Known> {
        let view = self.view(node, lines, geometry.clone())?;
        if let (Known::Source(Source::Value(view), _), Known::Source(Source::Value(of), _)) =
            (&view, lines)
        {
            self.findings.lines.insert(*view, (*of, geometry));
        }
        Some(view)
    }

    /// A pointwise operation on the valid elements of lines, if all other operands are constants
    /// per channel: computed on whole lines, so that the convolution applies the operation before
    /// its sums are stored. `None` for other operands.
    pub(super) fn pointwise_of_lines(
        &mut self,
        node: &Node,
        function: PointwiseFunction,
        inputs: &[Source],
        shape: &[usize],
    ) -> Option<Known> {
        let (at, of, geometry) = inputs.iter().enumerate().find_map(|(at, input)| match input {
            Source::Value(value) => {
                self.findings.lines.get(value).map(|(of, geometry)| (at, *of, geometry.clone()))
            }
            _ => None,
        })?;
        let to = self.core.values[of].shape.clone();
        let channels = geometry.shape[1];
        // the operand's shape for the operation, and for joined lines
        let mut flat = Vec::new();
        for (i, input) in inputs.iter().enumerate() {
            match input {
                _ if i == at => flat.push((Source::Value(of), None)),
                Source::Constant(constant) => {
                    let tensor = &self.core.constants[*constant];
                    let own = tensor.shape();
                    let axis = (own.len() + 1).checked_sub(geometry.shape.len());
                    match tensor.len() {
                        1 => flat.push((*input, None)),
                        len if len == channels
                            && axis.is_some_and(|axis| own.get(axis) == Some(&len)) =>
                        {
                            flat.push((*input, Some(tensor.clone())));
                        }
                        _ => return None,
                    }
                }
                _ => return None,
            }
        }
        if geometry.shape != shape {
            return None;
        }
        let mut sources = Vec::new();
        for (source, tensor) in flat {
            let Some(tensor) = tensor else {
                sources.push(source);
                continue;
            };
            let element = tensor.element();
            let one = self.view(
                node,
                &Known::Constant(tensor, element),
                Geometry::reshaped(vec![1, channels, 1]),
            )?;
            sources.push(self.source(&one)?);
        }
        let out = self.value(to);
        self.emit(node, CoreOp::Pointwise(Pointwise { function, inputs: sources, out }));
        self.of_lines(node, &Known::Source(Source::Value(out), ElementType::F32), geometry)
    }

    /// One channel for each group: the patches of each channel times its own weights.
    fn channel_by_channel(
        &mut self,
        node: &'a Node,
        patches: &Patches,
        weights: &Tensor,
        [batch, groups, each, taps]: [usize; 4],
        counts: &[usize],
    ) -> Option<Known> {
        let (element, rows) = (patches.x.element(), counts.iter().product());
        let dims =
            [&[patches.batch, patches.channels], &patches.positions[..], &patches.taps].concat();
        let rows_of_taps = self.view(node, &patches.x, Patches::view(0, dims))?;
        // [groups, taps, outputs of a group], for every row of x
        let of = |k: usize| {
            weights.get_f32((k / (taps * each) % groups * each + k % each) * taps + k / each % taps)
        };
        let shape = vec![batch * groups, taps, each];
        self.foldable(node, &shape, ElementType::F32)?;
        let matrix: Vec<f32> = (0..batch * groups * taps * each).map(of).collect();
        let b = self.source(&Known::Constant(Tensor::from_f32(shape, &matrix)?, element))?;
        let a = self.source(&rows_of_taps)?;
        let out = self.value([&[batch, groups], counts, &[each]].concat());
        self.steps.layers.insert(out, node);
        let of = MatMul { batch: batch * groups, rows, inner: taps, columns: each, a, b, out };
        self.emit(node, CoreOp::MatMul(of));
        // the outputs of a group move in front of the positions
        let own = signed(strides(&[&[batch, groups], counts, &[each]].concat()));
        let last = counts.len() + 2;
        let order: Vec<usize> = [0, 1, last].into_iter().chain(2..last).collect();
        let shape = [&[batch, groups, each], counts].concat();
        let strides = order.iter().map(|&d| own[d]).collect();
        let y = Known::Source(Source::Value(out), element);
        let y = self.view(node, &y, Geometry { offset: 0, strides, shape })?;
        self.view(node, &y, Geometry::reshaped([&[batch, groups * each], counts].concat()))
    }

    /// Adds the optional third input: a number for each channel along `axis`.
    fn with_bias(&mut self, node: &'a Node, y: Known, axis: usize) -> Option<Known> {
        let shaped =
            matches!(&node.op, Op::Convolution(of) if of.output_sizes == OutputSizes::Input);
        if shaped || node.inputs.len() < 3 {
            return Some(y);
        }
        let bias = self.input(node, 2)?;
        if !bias.element().is_float() {
            let found = "a third input of integers";
            self.error(
                node,
                &node.origin,
                found,
                "pads in place of a shape of the output",
                "save the model with pads",
            );
            return None;
        }
        let to = self.shape_of(&y);
        let shape = self.shape_of(&bias);
        if shape != [to[axis]] {
            let shapes = [to, shape];
            self.shapes_differ(
                node,
                &shapes,
                "a bias for each output channel",
                "correct the shape of the bias",
            );
            return None;
        }
        let mut wide = vec![1; to.len()];
        wide[axis] = to[axis];
        let bias = self.view(node, &bias, Geometry::reshaped(wide))?;
        self.pointwise_of(node, PointwiseFunction::Add, &[y, bias], to)
    }

    /// An operation element by element on floats of which one at least is computed.
    fn pointwise_of(
        &mut self,
        node: &Node,
        function: PointwiseFunction,
        inputs: &[Known],
        shape: Vec<usize>,
    ) -> Option<Known> {
        // the larger of two integers is an integer, so nothing is rounded
        if function != PointwiseFunction::Maximum {
            self.all_floats(node, inputs)?;
        }
        self.computable(node, &shape)?;
        let element = inputs[0].element();
        let inputs = inputs.iter().map(|input| self.source(input)).collect::<Option<_>>()?;
        let out = self.value(shape);
        self.emit(node, CoreOp::Pointwise(Pointwise { function, inputs, out }));
        Some(Known::Source(Source::Value(out), element))
    }

    pub(super) fn pool(&mut self, node: &'a Node, of: &Pool) {
        if let Some(y) = self.pooled(node, of) {
            self.set(node, 0, y);
        }
    }

    fn pooled(&mut self, node: &'a Node, of: &Pool) -> Option<Known> {
        if let Some(&indices) = node.outputs.get(1)
            && self.model.nodes.iter().any(|other| other.inputs.contains(&indices))
        {
            let found = "the indices of a maximum pool's elements are used";
            self.error(
                node,
                &node.origin,
                found,
                "the elements themselves, output 0",
                "leave the indices unused",
            );
            return None;
        }
        let x = self.input(node, 0)?;
        // the largest of integers is an integer, so nothing is rounded
        let range =
            (of.kind == PoolKind::Max && !x.element().is_float()).then(|| self.range_of(&x));
        if range.is_none() {
            self.all_floats(node, std::slice::from_ref(&x))?;
        }
        let shape = self.shape_of(&x);
        if shape.len() < 3 || shape.len() > 5 {
            let valid = "[N, C, ..] with one to three more dimensions";
            self.shapes_differ(node, &[shape], valid, "reshape the input");
            return None;
        }
        let (batch, channels, spatial) = (shape[0], shape[1], &shape[2..]);
        let kernel = if of.kernel.is_empty() { spatial.to_vec() } else { of.kernel.clone() };
        let mut axes = self.axes(node, &of.window, spatial, &kernel)?;
        if axes.iter().any(|axis| {
            axis.begin < 0 || axis.end < 0 || axis.begin.max(axis.end) >= axis.reach() as i64
        }) {
            let found = "a pad that is negative, or as long as the kernel";
            self.error(
                node,
                &node.origin,
                found,
                "pads shorter than the kernel",
                "correct the pads",
            );
            return None;
        }
        let counts = self.windows(node, &axes, of.rounding)?;
        let behind = |(axis, &count): (&Axis, &usize)| {
            (count - 1) as i64 * axis.stride as i64 >= axis.size as i64 + axis.begin
        };
        if axes.iter().zip(&counts).any(behind) {
            let found = "a last window that holds nothing but pads";
            let help = "round the number of windows down, or as PyTorch does, or use other pads";
            self.error(node, &node.origin, found, "an element of the data in each window", help);
            return None;
        }
        self.note_windows(node, &x, &axes);
        let stated = axes.clone();
        // the elements of the last windows beyond the end
        for (axis, &count) in axes.iter_mut().zip(&counts) {
            let reached = (count - 1) * axis.stride + axis.reach();
            axis.end = axis.end.max(reached as i64 - axis.size as i64 - axis.begin);
        }
        let to = [&[batch, channels], &counts[..]].concat();
        self.computable(node, &to)?;
        let taps: usize = kernel.iter().product();
        if x.tensor().is_some() {
            self.affords(node, to.iter().product::<usize>().saturating_mul(taps))?;
        }
        let pooled = Pooled { x, stated, axes, counts, taps, to };
        match of.kind {
            PoolKind::Max => self.maximum_of_windows(node, pooled, range),
            PoolKind::Average { count_pads } => self.average_of_windows(node, pooled, count_pads),
        }
    }

    /// The largest element of each window. `range`: the range of integers.
    fn maximum_of_windows(
        &mut self,
        node: &'a Node,
        Pooled { x, axes, counts, taps, to, .. }: Pooled,
        range: Option<[f64; 2]>,
    ) -> Option<Known> {
        let gapped = axes.iter().any(|axis| axis.dilation > 1 && axis.begin.max(axis.end) > 0);
        if gapped && axes.iter().zip(&counts).any(|(axis, &count)| axis.has_window_of_pads(count)) {
            let found = "a window that holds nothing but pads";
            let help = "pad the input by an operator of its own";
            self.error(node, &node.origin, found, "an element of the data in each window", help);
            return None;
        }
        // an element of the data in every window at the border may stand for the padding; without
        // such an element, and in a model of one step, the smallest number stands for it
        let (mode, least) = match self.inputs.open {
            None if !gapped => (PadMode::Edge, 0.0),
            _ => (PadMode::Constant, range.map_or(f32::NEG_INFINITY, |[least, _]| least as f32)),
        };
        let mut padded = x;
        for (at, axis) in axes.iter().enumerate() {
            padded = self.pad_axis(
                node,
                &padded,
                2 + at,
                (axis.begin, axis.end),
                mode,
                &PadValue::Number(least),
            )?;
        }
        let patches = self.patches(padded, &axes, &counts);
        let mut most: Option<Known> = None;
        for tap in 0..taps {
            let dims = [&[patches.batch, patches.channels], &patches.positions[..]].concat();
            let next = self.view(node, &patches.x, Patches::view(patches.offset(tap), dims))?;
            most = Some(match most {
                None => next,
                Some(most) => {
                    self.pointwise_of(node, PointwiseFunction::Maximum, &[next, most], to.clone())?
                }
            });
        }
        if let (Some(most), Some(range)) = (&most, range) {
            self.set_range(most, range);
        }
        most
    }

    /// The mean of the elements of each window. `count_pads`: true if pads count as elements.
    fn average_of_windows(
        &mut self,
        node: &'a Node,
        Pooled { x, stated, axes, counts, taps, to }: Pooled,
        count_pads: bool,
    ) -> Option<Known> {
        let element = x.element();
        let padded = self.padded(node, &x, &axes, 0.0)?;
        let patches = self.patches(padded, &axes, &counts);
        let dims =
            [&[patches.batch, patches.channels], &patches.positions[..], &patches.taps].concat();
        let patches = self.view(node, &patches.x, Patches::view(0, dims))?;
        let rows: usize = to.iter().product();
        let ones = Tensor::from_f32(vec![1, taps], &vec![1.0; taps])?;
        let source = self.source(&patches)?;
        let w = WeightSource::Constant(self.intern(&ones));
        let out = self.value(to.clone());
        let dense = Dense {
            rows,
            inputs: taps,
            outputs: 1,
            x: source,
            w,
            transposed: true,
            chains: 1,
            out,
        };
        self.emit(node, CoreOp::Dense(dense));
        let sum = Known::Source(Source::Value(out), element);
        // the number of elements in each window
        let held: Vec<Vec<f32>> = stated
            .iter()
            .zip(&counts)
            .map(|(axis, &count)| {
                let inside = |window: usize| {
                    let first = (window * axis.stride) as i64 - axis.begin;
                    let places = (0..axis.kernel).map(|tap| first + (tap * axis.dilation) as i64);
                    let size = axis.size as i64;
                    let pads = if count_pads { (axis.begin, axis.end) } else { (0, 0) };
                    places.filter(|&place| place >= -pads.0 && place < size + pads.1).count() as f32
                };
                (0..count).map(inside).collect()
            })
            .collect();
        let mut counted = vec![1.0f32];
        for axis in &held {
            counted = counted.iter().flat_map(|&n| axis.iter().map(move |&m| n * m)).collect();
        }
        let mut shape = [&[1, 1], &counts[..]].concat();
        // one number suffices if all windows contain equally many elements
        if counted.iter().all(|&n| n == counted[0]) {
            counted.truncate(1);
            shape.fill(1);
        }
        let counted = Known::Constant(Tensor::from_f32(shape, &counted)?, element);
        self.pointwise_of(node, PointwiseFunction::Divide, &[sum, counted], to)
    }
}
