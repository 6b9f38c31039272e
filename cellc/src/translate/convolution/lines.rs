//! Convolutions of stride 1 along the lines of several axes, joined into one line.

use super::pads::padded;
use super::windows::Axis;
use super::{Channels, with_bias};
use crate::core::{ConstantId, Convolve, CoreBuilder, CoreOp, Geometry, Known, Source, strides};
use crate::model::Tensor;
use crate::translate::operands::Operands;
use crate::translate::primitives::of_lines;
use crate::translate::refusal::Rule;

/// The most computed positions for four valid positions, if lines are joined into one.
pub(super) const MOST_OF_FOUR: usize = 6;

/// Windows that move element by element along several axes, as one axis.
pub(super) struct Lines {
    /// The axes with padding. Lines have no padding at their end, as the padding in front of the
    /// next line serves both lines.
    pub(super) padded: Vec<Axis>,
    /// The first element that is read.
    pub(super) start: usize,
    /// The number of positions, positions across line ends included.
    pub(super) positions: usize,
    /// By axis: the number of taps, and their distance.
    pub(super) taps: Vec<(usize, usize)>,
    /// By axis: positions between neighbours.
    pub(super) strides: Vec<usize>,
}

impl Lines {
    /// `None` for strides above 1 and for negative padding.
    pub(super) fn new(axes: &[Axis], counts: &[usize]) -> Option<Self> {
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

/// Windows of stride 1 over the last axis. Lines are joined into one line with zeros between them.
pub(super) fn along_lines(
    core: &mut CoreBuilder,
    args: &Operands,
    x: &Known,
    weights: &Tensor,
    of: Channels,
    lines: &Lines,
    counts: &[usize],
) -> Rule<Known> {
    let Channels { batch, groups, inputs, outputs } = of;
    let element = x.element();
    // kernels of one and of two axes add the padding while they read windows
    let (x, pads, line_gaps) = match &lines.padded[..] {
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
    let length = pads.0 + given + line_gaps.0 * line_gaps.1 + pads.1;
    let (source, channels) = (core.source(&x)?, groups * outputs);
    let w = ConstantId(core.intern(weights));
    let flat = vec![batch, channels, lines.positions];
    core.computable(&flat)?;
    let out = core.value(flat);
    core.note_layer_value(out);
    core.emit(CoreOp::Convolve(Convolve {
        batch,
        groups,
        inputs,
        outputs,
        length,
        pads,
        lines: line_gaps,
        start: lines.start,
        positions: lines.positions,
        wanted: counts.iter().product(),
        taps: lines.taps.clone(),
        x: source,
        w,
        has_run_time_weights: false,
        out,
    }));
    let y = with_bias(core, args, Known::Source(Source::Value(out), element), 1)?;
    let own = [channels * lines.positions, lines.positions]
        .into_iter()
        .chain(lines.strides.iter().copied());
    let geometry = Geometry {
        offset: 0,
        strides: own.map(|stride| stride as isize).collect(),
        shape: [&[batch, channels], counts].concat(),
    };
    Ok(of_lines(core, &y, geometry)?)
}
