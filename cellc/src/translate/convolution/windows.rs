//! The windows of convolutions and pools along each axis.

use crate::core::{CoreBuilder, ElementsBefore, Front, Geometry, Known, ShortOf, signed, strides};
use crate::diagnostic::quoted;
use crate::model::{Padding, Rounding, Window, counted, shape_text};
use crate::translate::operands::{Operands, legal_extents, one_for_each_axis};
use crate::translate::refusal::{Refusal, Rule};

/// One axis of a convolution or a pool, with all sizes known.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Axis {
    pub(super) size: usize,
    pub(super) kernel: usize,
    pub(super) stride: usize,
    pub(super) dilation: usize,
    pub(super) begin: i64,
    pub(super) end: i64,
}

impl Axis {
    /// The number of elements from the first tap of a window to the last.
    pub(super) fn reach(self) -> usize {
        (self.kernel - 1) * self.dilation + 1
    }

    /// True if one of the windows contains padding only.
    pub(super) fn has_window_of_pads(self, windows: usize) -> bool {
        (0..windows).any(|window| {
            let first = (window * self.stride) as i64 - self.begin;
            !(0..self.kernel)
                .any(|tap| (0..self.size as i64).contains(&(first + (tap * self.dilation) as i64)))
        })
    }

    /// The axis with padding for `ceil(size / stride)` windows. `upper`: an odd element of padding
    /// goes to the end, otherwise to the front.
    fn padded_to_same(mut self, upper: bool) -> Self {
        let windows = self.size.div_ceil(self.stride);
        let total = (windows.saturating_sub(1) * self.stride + self.reach())
            .saturating_sub(self.size) as i64;
        let less = total / 2;
        (self.begin, self.end) = if upper { (less, total - less) } else { (total - less, less) };
        self
    }

    /// The number of windows. `None` if the padded axis is shorter than a window.
    pub(super) fn windows(self, rounding: Rounding) -> Option<usize> {
        let padded = self.size as i64 + self.begin + self.end;
        let rest = usize::try_from(padded - self.reach() as i64).ok()?;
        let full = rest / self.stride + 1;
        let more = match rounding {
            Rounding::Floor => false,
            Rounding::Ceil => true,
            Rounding::CeilInside => ((full * self.stride) as i64) < self.size as i64 + self.begin,
        };
        Some(full + usize::from(more && !rest.is_multiple_of(self.stride)))
    }
}

pub(super) fn common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// The windows of a tensor `[N, C, ..]`: for each dimension, the size and the stride in the tensor.
pub(super) struct Patches {
    pub(super) x: Known,
    pub(super) batch: (usize, isize),
    pub(super) channels: (usize, isize),
    pub(super) positions: Vec<(usize, isize)>,
    pub(super) taps: Vec<(usize, isize)>,
}

impl Patches {
    /// The view with these sizes and strides, from element `offset` on.
    pub(super) fn view(offset: usize, dims: impl IntoIterator<Item = (usize, isize)>) -> Geometry {
        let (shape, strides) = dims.into_iter().unzip();
        Geometry { offset, strides, shape }
    }

    /// The distance of a tap from the first tap of its window.
    pub(super) fn offset(&self, tap: usize) -> usize {
        let mut rest = tap;
        let mut offset = 0;
        for &(count, stride) in self.taps.iter().rev() {
            offset += rest % count * stride as usize;
            rest /= count;
        }
        offset
    }

    /// The windows of a tensor `[N, C, ..]`.
    pub(super) fn new(core: &CoreBuilder, x: Known, axes: &[Axis], counts: &[usize]) -> Self {
        let shape = core.shape_of(&x);
        let row_major = signed(strides(&shape));
        let along = axes.iter().zip(counts).zip(&row_major[2..]);
        let positions =
            along.map(|((axis, &count), &stride)| (count, stride * axis.stride as isize)).collect();
        let taps = axes
            .iter()
            .zip(&row_major[2..])
            .map(|(axis, &stride)| (axis.kernel, stride * axis.dilation as isize));
        Self {
            batch: (shape[0], row_major[0]),
            channels: (shape[1], row_major[1]),
            positions,
            taps: taps.collect(),
            x,
        }
    }
}

/// The axes of an operation whose windows move over the last dimensions of a tensor.
pub(super) fn window_axes(window: &Window, spatial: &[usize], kernel: &[usize]) -> Rule<Vec<Axis>> {
    let rank = spatial.len();
    let or = |given: &[usize], default: usize| {
        if given.is_empty() { vec![default; rank] } else { given.to_vec() }
    };
    let (steps, dilations) = (or(&window.strides, 1), or(&window.dilations, 1));
    one_for_each_axis("strides", &steps, rank)?;
    one_for_each_axis("dilations", &dilations, rank)?;
    one_for_each_axis("the kernel", kernel, rank)?;
    if let Padding::Explicit { begin, end } = &window.padding
        && !(begin.is_empty() && end.is_empty())
    {
        one_for_each_axis("pads at the beginning", begin, rank)?;
        one_for_each_axis("pads at the end", end, rank)?;
    }
    if steps.iter().chain(&dilations).chain(kernel).any(|&n| n == 0) {
        let found = format!(
            "strides {}, dilations {} and a kernel {} on {rank} dimensions",
            shape_text(&steps),
            shape_text(&dilations),
            shape_text(kernel)
        );
        let valid = "a number of 1 or more for each dimension";
        return Err(Refusal::new(found, valid, "correct the attributes"));
    }
    let sizes = [("a stride", &steps[..]), ("a dilation", &dilations), ("a kernel", kernel)];
    for (what, sizes) in sizes {
        legal_extents(what, sizes.iter().map(|&n| i64::try_from(n).unwrap_or(i64::MAX)))?;
    }
    let unpadded = |at: usize| Axis {
        size: spatial[at],
        kernel: kernel[at],
        stride: steps[at],
        dilation: dilations[at],
        begin: 0,
        end: 0,
    };
    (0..rank).map(|at| padded_axis(unpadded(at), at, &window.padding)).collect()
}

/// Axis `at` with its padding.
fn padded_axis(axis: Axis, at: usize, padding: &Padding) -> Rule<Axis> {
    match padding {
        Padding::Valid => Ok(axis),
        Padding::SameUpper => Ok(axis.padded_to_same(true)),
        Padding::SameLower => Ok(axis.padded_to_same(false)),
        Padding::Explicit { begin, end } if begin.is_empty() && end.is_empty() => Ok(axis),
        Padding::Explicit { begin, end } => {
            legal_extents("a pad", [begin[at], end[at]])?;
            Ok(Axis { begin: begin[at], end: end[at], ..axis })
        }
    }
}

/// The number of windows along each axis.
pub(super) fn window_counts(
    core: &mut CoreBuilder,
    args: &Operands,
    axes: &[Axis],
    rounding: Rounding,
) -> Rule<Vec<usize>> {
    let counts: Option<Vec<usize>> = axes.iter().map(|axis| axis.windows(rounding)).collect();
    counts.ok_or_else(|| {
        note_short(core, axes);
        let sizes: Vec<usize> = axes.iter().map(|axis| axis.size).collect();
        let reach: Vec<usize> = axes.iter().map(|axis| axis.reach()).collect();
        let found =
            format!("a kernel that reaches over {} of {}", shape_text(&reach), shape_text(&sizes));
        let valid = "an input, with its pads, as long as the kernel";
        Refusal::new(found, valid, longer_input(core, args))
    })
}

/// The remedy for an axis that is shorter than the windows of the operation.
fn longer_input(core: &CoreBuilder, args: &Operands) -> String {
    const LONGER: &str = "give a longer input";
    let layer = &core.layer;
    let is_own = |short: &&ShortOf| layer.is_outermost && short.node == layer.path.outer;
    match core.history.short_of.as_ref().filter(is_own) {
        Some(short) if short.size == 1 => {
            let inputs = counted(short.missing, "input");
            let each = inputs.strip_prefix("1 ").unwrap_or(&inputs);
            format!(
                "{LONGER}; or, if a call computes one step, put the last {each} of {} in front of \
                the step: give them to the model as an input, and return the next as an output",
                quoted(&args.node.name)
            )
        }
        _ => LONGER.to_owned(),
    }
}

/// Notes the axis that is shorter than its windows, with the number of missing elements, if exactly
/// one axis is shorter.
fn note_short(core: &mut CoreBuilder, axes: &[Axis]) {
    let missing = |axis: &Axis| axis.reach() as i64 - axis.size as i64 - axis.begin - axis.end;
    let mut short = axes.iter().enumerate().filter(|(_, axis)| missing(axis) > 0);
    if let (Some((at, axis)), None) = (short.next(), short.next()) {
        let (node, missing) = (core.layer.path.outer, missing(axis) as usize);
        core.note_short(ShortOf { node, axis: at, rank: axes.len(), size: axis.size, missing });
    }
}

/// Notes the axes whose first windows reach into the padding.
pub(super) fn note_windows(core: &mut CoreBuilder, x: &Known, axes: &[Axis]) {
    let padded = axes.iter().filter(|axis| axis.begin > 0 && axis.kernel > 1);
    let fronts = padded.map(|axis| Front {
        size: axis.size,
        reach: axis.reach() - 1,
        is_causal: axis.begin + 1 >= axis.reach() as i64 && axis.stride == 1,
    });
    core.note_lookback(x, ElementsBefore::Pads, fronts.collect());
}
