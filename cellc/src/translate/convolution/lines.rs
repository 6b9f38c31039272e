//! Convolutions along one or several axes, whose lines are joined into one line. With strides, x is
//! first divided into phases, over which windows move element by element.

use super::pads::padded;
use super::windows::{Axis, common_divisor};
use super::{Channels, LEAST_POSITIONS, with_bias};
use crate::core::{
    ConstantId, Convolve, CoreBuilder, CoreOp, Geometry, Known, Phased, Source, TapLoop, strides,
};
use crate::model::Tensor;
use crate::translate::primitives::of_lines;
use crate::translate::refusal::Rule;

/// The most computed positions for each four valid positions, if lines are joined into one.
const MOST_OF_FOUR: usize = 6;

/// As [`MOST_OF_FOUR`], for depthwise convolutions, which without joined lines become scalar
/// products.
const MOST_OF_FOUR_DEPTHWISE: usize = 12;

/// The most phases of all axes together: each phase has a copying loop of its own.
const MOST_PHASES: usize = 16;

/// Windows that move element by element along several axes, joined into one axis.
pub(super) struct Lines {
    /// The axes with padding. Of several axes without strides, the last one has no padding at its
    /// end: the padding in front of the next line serves both lines.
    pub(super) padded: Vec<Axis>,
    /// The first element of the joined lines that windows read.
    pub(super) start: usize,
    /// The axes in phases. Empty: no strides.
    phases: Vec<Phased>,
    /// The number of positions, positions across line ends included.
    pub(super) positions: usize,
    /// By axis: the taps.
    pub(super) taps: Vec<Vec<TapLoop>>,
    /// By axis: the distance between neighbouring windows, in positions.
    pub(super) strides: Vec<usize>,
}

impl Lines {
    /// The joined lines. `None` if too many of the computed positions lie across line ends, for too
    /// many phases, or if windows with strides read padding alone.
    pub(super) fn new(axes: &[Axis], counts: &[usize], is_depthwise: bool) -> Option<Self> {
        let most = if is_depthwise { MOST_OF_FOUR_DEPTHWISE } else { MOST_OF_FOUR };
        let valid: usize = counts.iter().product();
        Self::whole(axes, counts)
            .or_else(|| Self::in_phases(axes, counts))
            .filter(|lines| lines.positions * 4 <= valid * most)
    }

    /// True if the convolution computes in f32 whatever precision the options ask for.
    pub(super) fn stays_f32(&self, counts: &[usize]) -> bool {
        !self.phases.is_empty() || counts.iter().product::<usize>() < LEAST_POSITIONS
    }

    /// Windows over x in phases. `None` for too many phases, or if the windows read padding alone.
    fn in_phases(axes: &[Axis], counts: &[usize]) -> Option<Self> {
        let mut phases: Vec<Phased> =
            axes.iter().zip(counts).map(|(axis, &count)| phased(axis, count)).collect();
        let is_read = |axis: &Phased| (0..axis.count).any(|i| axis.run(i).count > 0);
        if phases.iter().map(|axis| axis.count).product::<usize>() > MOST_PHASES
            || !phases.iter().all(is_read)
        {
            return None;
        }
        let lens: Vec<usize> = phases.iter().map(|axis| axis.len).collect();
        let strides = strides(&lens);
        // the phases of the last axis follow each other, then the phases of the axis before
        let mut next = lens.iter().product();
        for (axis, &step) in phases.iter_mut().zip(&strides).rev() {
            (axis.step, axis.phase) = (step, next);
            next *= axis.count;
        }
        let positions =
            counts.iter().zip(&strides).map(|(count, stride)| (count - 1) * stride).sum::<usize>()
                + 1;
        let taps =
            axes.iter().zip(&phases).map(|(axis, phased)| taps_in_phases(axis.kernel, phased));
        let taps = taps.collect();
        Some(Self { padded: axes.to_vec(), start: 0, phases, positions, taps, strides })
    }

    /// Windows over x in C order. `None` for strides above 1 or negative padding.
    fn whole(axes: &[Axis], counts: &[usize]) -> Option<Self> {
        if axes.iter().any(|axis| axis.stride != 1 || axis.begin < 0 || axis.end < 0) {
            return None;
        }
        let mut padded = axes.to_vec();
        let mut start = 0;
        if let [.., before, last] = &mut padded[..] {
            let gap = last.begin.max(last.end);
            start = (gap - last.begin) as usize;
            // the last line needs padding behind it, as no line follows
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
            .map(|(axis, stride)| vec![TapLoop::even(axis.kernel, axis.dilation * stride)])
            .collect();
        Some(Self { padded, start, phases: Vec::new(), positions, taps, strides })
    }
}

/// An axis with `count` windows, in phases. [`Lines::in_phases`] sets the places of the phases.
fn phased(axis: &Axis, count: usize) -> Phased {
    let Axis { size, kernel, dilation, begin, .. } = *axis;
    // each tap of a single window of few taps has a phase of its own
    let stride = if count == 1 && kernel <= MOST_PHASES { axis.reach() } else { axis.stride };
    let period = stride / common_divisor(stride, dilation);
    Phased {
        size,
        before: begin as isize,
        stride,
        dilation,
        count: kernel.min(period),
        len: count - 1 + axis.reach().div_ceil(stride),
        phase: 0,
        step: 0,
    }
}

/// The taps along an axis in phases: tap `t` is in phase `t` modulo the number of phases.
fn taps_in_phases(kernel: usize, phased: &Phased) -> Vec<TapLoop> {
    let offset = |tap: usize| {
        tap % phased.count * phased.phase + tap * phased.dilation / phased.stride * phased.step
    };
    let (rounds, rest) = (kernel / phased.count, kernel % phased.count);
    let step = if phased.count > 1 { offset(1) } else { 0 };
    if (0..phased.count).all(|i| offset(i) == i * step) {
        let round = |first: usize, outer: usize, inner: usize| TapLoop {
            first,
            outer: (outer, if outer > 1 { offset(phased.count) } else { 0 }),
            inner: (inner, step),
        };
        let whole_rounds = round(0, rounds, phased.count);
        let last = (rest > 0).then(|| round(offset(rounds * phased.count), 1, rest));
        return [whole_rounds].into_iter().chain(last).collect();
    }
    (0..kernel).map(|tap| TapLoop { first: offset(tap), ..TapLoop::even(1, 0) }).collect()
}

/// Windows over lines that are joined into one line, with zeros between the lines, or over x in
/// phases.
pub(super) fn along_lines(
    core: &mut CoreBuilder,
    x: &Known,
    (weights, bias): (&Tensor, Option<&Known>),
    channel_counts: Channels,
    lines: &Lines,
    counts: &[usize],
) -> Rule<Known> {
    let Channels { batch, groups, inputs, outputs } = channel_counts;
    let stays_f32 = lines.stays_f32(counts);
    let element = x.element();
    // kernels add the padding of one or two axes while they read windows
    let (x, pads, line_gaps) = match &lines.padded[..] {
        _ if !lines.phases.is_empty() => (x.clone(), (0, 0), (1, 0)),
        [axis] => (x.clone(), (axis.begin as usize, axis.end as usize), (1, 0)),
        [before, last] => {
            let gap = last.begin as usize;
            let line = gap + last.size;
            let pads = (before.begin as usize * line, before.end as usize * line);
            (x.clone(), pads, (before.size, gap))
        }
        axes => (padded(core, x, axes, 0.0)?, (0, 0), (1, 0)),
    };
    let given: usize = core.shape_of(&x)[2..].iter().product();
    let length = match &lines.phases[..] {
        [] => pads.0 + given + line_gaps.0 * line_gaps.1 + pads.1,
        phases => phases.iter().map(|axis| axis.count * axis.len).product(),
    };
    let (source, channels) = (core.source(&x)?, groups * outputs);
    let w = ConstantId(core.intern(weights));
    let flat = vec![batch, channels, lines.positions];
    core.computable(&flat)?;
    let out = core.value(flat);
    core.emit(CoreOp::Convolve(Convolve {
        batch,
        groups,
        inputs,
        outputs,
        length,
        pads,
        lines: line_gaps,
        phases: lines.phases.clone(),
        start: lines.start,
        positions: lines.positions,
        wanted: counts.iter().product(),
        taps: lines.taps.clone(),
        x: source,
        w,
        stays_f32,
        out,
    }));
    let y = with_bias(core, bias, Known::Source(Source::Value(out), element), 1)?;
    let line_strides = [channels * lines.positions, lines.positions]
        .into_iter()
        .chain(lines.strides.iter().copied());
    let geometry = Geometry {
        offset: 0,
        strides: line_strides.map(|stride| stride as isize).collect(),
        shape: [&[batch, channels], counts].concat(),
    };
    Ok(of_lines(core, &y, geometry)?)
}
