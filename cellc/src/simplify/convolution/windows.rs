//! The windows of convolutions and pools along each axis.

use crate::check::limits::MOST_ALONG_AXIS;
use crate::check::step_facts::{Before, Front, ShortOf};
use crate::core::{Geometry, Known, signed, strides};
use crate::diagnostic::quoted;
use crate::model::{Node, Padding, Rounding, Window, counted, shape_text};
use crate::simplify::refusal::Refusal;
use crate::simplify::translator::Translator;

/// One axis of a convolution; all sizes are known.
#[derive(Clone, Copy)]
pub(super) struct Axis {
    pub(super) size: usize,
    pub(super) kernel: usize,
    pub(super) stride: usize,
    pub(super) dilation: usize,
    pub(super) begin: i64,
    pub(super) end: i64,
}

impl Axis {
    /// How far the taps of one window reach.
    pub(super) fn reach(self) -> usize {
        (self.kernel - 1) * self.dilation + 1
    }

    /// True if a window contains padding only.
    pub(super) fn has_window_of_pads(self, windows: usize) -> bool {
        (0..windows).any(|window| {
            let first = (window * self.stride) as i64 - self.begin;
            !(0..self.kernel)
                .any(|tap| (0..self.size as i64).contains(&(first + (tap * self.dilation) as i64)))
        })
    }

    /// The number of windows; `None` for an axis shorter than a window.
    pub(super) fn windows(self, rounding: Rounding) -> Option<usize> {
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

/// The windows of a tensor `[N, C, ..]`: sizes, and strides in the tensor.
pub(super) struct Patches {
    pub(super) x: Known,
    pub(super) batch: (usize, isize),
    pub(super) channels: (usize, isize),
    pub(super) positions: Vec<(usize, isize)>,
    pub(super) taps: Vec<(usize, isize)>,
}

impl Patches {
    /// A tensor of some dimensions, from one element on.
    pub(super) fn view(offset: usize, dims: impl IntoIterator<Item = (usize, isize)>) -> Geometry {
        let (shape, strides) = dims.into_iter().unzip();
        Geometry { offset, strides, shape }
    }

    /// The distance between a tap and the first tap of its window.
    pub(super) fn offset(&self, tap: usize) -> usize {
        let mut rest = tap;
        let mut offset = 0;
        for &(count, stride) in self.taps.iter().rev() {
            offset += rest % count * stride as usize;
            rest /= count;
        }
        offset
    }
}

impl<'a> Translator<'_, 'a> {
    /// The axes of an operation whose windows move over the last dimensions of a tensor; `None`
    /// after an error.
    pub(super) fn axes(
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
            self.refuse(
                node,
                Refusal::new(
                    found,
                    "a number of 1 or more for each dimension",
                    "correct the attributes",
                ),
            );
            return None;
        }
        let large = |n: &usize| *n > MOST_ALONG_AXIS;
        if steps.iter().chain(&dilations).chain(kernel).any(large) {
            self.refuse(
                node,
                Refusal::new(
                    "a stride or dilation above 2^24",
                    "smaller ones",
                    "correct the attributes",
                ),
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
                        if begin.unsigned_abs().max(end.unsigned_abs())
                            <= MOST_ALONG_AXIS as u64 =>
                    {
                        (begin, end)
                    }
                    _ => {
                        let found = format!("pads {} and {}", shape_text(begin), shape_text(end));
                        self.refuse(
                            node,
                            Refusal::new(
                                found,
                                format!("{rank} at either side"),
                                "correct the pads",
                            ),
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
    pub(super) fn windows(
        &mut self,
        node: &Node,
        axes: &[Axis],
        rounding: Rounding,
    ) -> Option<Vec<usize>> {
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
            self.refuse(
                node,
                Refusal::new(found, "an input, with its pads, as long as the kernel", help),
            );
        }
        counts
    }

    /// The remedy for an axis that is shorter than the windows of the operation.
    pub(super) fn longer_input(&self, node: &Node) -> String {
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
    pub(super) fn note_short(&mut self, axes: &[Axis]) {
        let missing = |axis: &Axis| axis.reach() as i64 - axis.size as i64 - axis.begin - axis.end;
        let mut short = axes.iter().enumerate().filter(|(_, axis)| missing(axis) > 0);
        if let (Some((at, axis)), None, 0, None) =
            (short.next(), short.next(), self.depth, &self.steps.short_of)
        {
            let (node, missing) = (self.core.layer.place.outer, missing(axis) as usize);
            self.steps.short_of =
                Some(ShortOf { node, axis: at, rank: axes.len(), size: axis.size, missing });
        }
    }

    /// Notes the axes with padding in the first windows.
    pub(super) fn note_windows(&mut self, node: &'a Node, x: &Known, axes: &[Axis]) {
        let padded = axes.iter().filter(|axis| axis.begin > 0 && axis.kernel > 1);
        let fronts = padded.map(|axis| Front {
            size: axis.size,
            reach: axis.reach() - 1,
            is_causal: axis.begin + 1 >= axis.reach() as i64 && axis.stride == 1,
        });
        self.note_lookback(node, x, Before::Pads, fronts.collect());
    }

    /// The windows of a tensor `[N, C, ..]`.
    pub(super) fn patches(&mut self, x: Known, axes: &[Axis], counts: &[usize]) -> Patches {
        let shape = self.core.shape_of(&x);
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
}
