//! Transposed convolutions by phases. The output elements of a phase are a stride apart, and each
//! sums products with every stride-th tap: a phase is a convolution of stride 1. Phases with equal
//! windows are output channels of one convolution.
//!
//! Sums run over input channels, and within a channel over the taps in reverse.

use super::pads::{PadValue, pad_axis};
use super::windows::{Axis, common_divisor};
use super::{DroppedEnd, Factors, bias, sums};
use crate::core::{CoreBuilder, Geometry, Known, signed, strides};
use crate::model::{Binary, Convolution, OutputSizes, PadMode, Padding, shape_text};
use crate::translate::elementwise::compute;
use crate::translate::layout::concats::put_together;
use crate::translate::operands::{Operands, legal_extents, one_for_each_axis};
use crate::translate::refusal::{Refusal, Rule};

/// The output along one axis.
#[derive(Clone, Copy)]
struct Extent {
    axis: Axis,
    /// Output elements that are cut off at the front. Negative: zeros are added.
    begin: i64,
    /// Output elements.
    out: usize,
}

/// The phases along one axis that have equal windows over x.
#[derive(Clone)]
struct Phases {
    /// By phase: the first tap.
    first_taps: Vec<usize>,
    /// The distance between taps.
    taps_apart: usize,
    /// The output elements of each phase.
    positions: usize,
    /// The windows of stride 1, one for each output element of a phase. `None`: zeros.
    windows: Option<Axis>,
}

/// The output of a transposed convolution. `Ok(None)` if no output is left without the elements
/// that `cut` drops.
pub(super) fn transposed(
    core: &mut CoreBuilder,
    args: &Operands,
    convolution: &Convolution,
    (factors, axes): (&Factors, &[Axis]),
    cut: Option<DroppedEnd>,
) -> Rule<Option<Known>> {
    let sizes = output_sizes(args, convolution, axes.len())?;
    if !convolution.output_padding.is_empty() {
        one_for_each_axis("output_padding", &convolution.output_padding, axes.len())?;
    }
    let mut extents = Vec::new();
    for (at, &axis) in axes.iter().enumerate() {
        extents.push(extent(args, convolution, axis, at, sizes.as_ref().map(|sizes| sizes[at]))?);
    }
    if let Some(DroppedEnd { axis, count }) = cut {
        let Some(extent) = extents.get_mut(axis).filter(|extent| extent.out > count) else {
            return Ok(None);
        };
        extent.out -= count;
    }
    let channels = factors.groups * core.shape_of(&factors.w)[1];
    let shape = [&[core.shape_of(&factors.x)[0], channels], &outs(&extents)[..]].concat();
    core.computable(&shape)?;
    let bias = bias(core, args, channels)?;
    let mut along: Vec<Vec<Phases>> = extents.iter().map(Extent::phases).collect();
    let x = padded_once(core, &factors.x, &mut along)?;
    let padded = Factors { x, w: factors.w.clone(), kernel: factors.kernel.clone(), ..*factors };
    let mut chosen = Vec::new();
    let phases = all_phases(core, args, (&padded, bias.as_ref()), &along, &mut chosen)?;
    Ok(Some(in_order(core, &phases, &extents)?))
}

/// x with the padding of each axis along which all phases have equal windows, if another axis has
/// several phases. All phases then read one padded tensor, which needs one history in a stream.
fn padded_once(core: &mut CoreBuilder, x: &Known, along: &mut [Vec<Phases>]) -> Rule<Known> {
    let mut x = x.clone();
    if along.iter().all(|phases| phases.len() == 1) {
        return Ok(x);
    }
    for (at, phases) in along.iter_mut().enumerate() {
        if let [Phases { windows: Some(axis), .. }] = &mut phases[..] {
            let pads = (axis.begin, axis.end);
            let zero = PadValue::Number(0.0);
            x = pad_axis(core, &x, 2 + at, pads, PadMode::Constant, &zero)?;
            *axis = Axis { size: core.shape_of(&x)[2 + at], begin: 0, end: 0, ..*axis };
        }
    }
    Ok(x)
}

/// The phases of all axes, as `[N, M, phases.., positions..]`. `chosen`: the phases of the first
/// axes.
fn all_phases(
    core: &mut CoreBuilder,
    args: &Operands,
    factors: (&Factors, Option<&Known>),
    along: &[Vec<Phases>],
    chosen: &mut Vec<Phases>,
) -> Rule<Known> {
    let Some(next) = along.get(chosen.len()) else {
        return phases(core, args, factors, chosen);
    };
    let mut parts = Vec::new();
    for phases in next {
        chosen.push(phases.clone());
        parts.push(all_phases(core, args, factors, along, chosen)?);
        chosen.pop();
    }
    put_together(core, &parts, 2 + chosen.len())
}

/// The output of phases with equal windows along each axis, as `[N, M, phases.., positions..]`.
fn phases(
    core: &mut CoreBuilder,
    args: &Operands,
    (factors, bias): (&Factors, Option<&Known>),
    along: &[Phases],
) -> Rule<Known> {
    let shape = core.shape_of(&factors.x);
    let channels = factors.groups * core.shape_of(&factors.w)[1];
    let counts: Vec<usize> = along.iter().map(|phases| phases.first_taps.len()).collect();
    let positions: Vec<usize> = along.iter().map(|phases| phases.positions).collect();
    let axes: Option<Vec<Axis>> = along.iter().map(|phases| phases.windows).collect();
    let phase_count: usize = counts.iter().product();
    let repeated = |core: &mut CoreBuilder, bias: &Known| -> Rule<Known> {
        let each = Geometry { offset: 0, strides: vec![1, 0], shape: vec![channels, phase_count] };
        let bias = core.view(bias, each)?;
        Ok(core.view(&bias, Geometry::reshaped(vec![channels * phase_count]))?)
    };
    let bias = bias.map(|bias| repeated(core, bias)).transpose()?;
    let y = match axes {
        Some(axes) => {
            let w = weights(core, factors, along, &axes)?;
            let kernel = axes.iter().map(|axis| axis.kernel).collect();
            let phase = Factors { x: factors.x.clone(), w, groups: factors.groups, kernel };
            sums(core, args, (&phase, bias.as_ref()), &axes)?
        }
        None => {
            let flat = [&[shape[0], channels * phase_count], &positions[..]].concat();
            core.foldable(&flat, factors.x.element())?;
            let len = flat.iter().product();
            let zeros = Known::floats(flat, &vec![0.0; len], factors.x.element());
            match bias {
                None => zeros,
                Some(bias) => {
                    let mut wide = vec![1; positions.len() + 2];
                    wide[1] = channels * phase_count;
                    let bias = core.view(&bias, Geometry::reshaped(wide))?;
                    compute(core, Binary::Add, vec![zeros, bias])?
                }
            }
        }
    };
    let apart = [&[shape[0], channels], &counts[..], &positions].concat();
    Ok(core.view(&y, Geometry::reshaped(apart))?)
}

/// The weights `[C, M / g, k..]` of some phases as `[M phases, C / g, taps..]`: the taps of each
/// phase in reverse.
fn weights(
    core: &mut CoreBuilder,
    factors: &Factors,
    along: &[Phases],
    axes: &[Axis],
) -> Rule<Known> {
    let Factors { w, groups, .. } = factors;
    let shape = core.shape_of(w);
    let (inner, outer) = (shape[0] / groups, shape[1]);
    let row_major = signed(strides(&shape));
    let taps: Vec<usize> = axes.iter().map(|axis| axis.kernel).collect();
    // by phase: the offset of the last tap along all axes
    let mut last = vec![0];
    for ((phases, taps), stride) in along.iter().zip(&taps).zip(&row_major[2..]) {
        let tap = |first: &usize| (first + (taps - 1) * phases.taps_apart) * *stride as usize;
        let along = |at: usize| phases.first_taps.iter().map(move |first| at + tap(first));
        last = last.into_iter().flat_map(along).collect();
    }
    let mut parts = Vec::new();
    for offset in last {
        let mut geometry = Geometry {
            offset,
            strides: vec![row_major[0] * inner as isize, row_major[1], 0, row_major[0]],
            shape: [&[*groups, outer, 1, inner], &taps[..]].concat(),
        };
        let apart = along.iter().zip(&row_major[2..]);
        geometry.strides.extend(apart.map(|(phases, stride)| -stride * phases.taps_apart as isize));
        parts.push(core.view(w, geometry)?);
    }
    let count = parts.len();
    let w = put_together(core, &parts, 2)?;
    let shape = [&[groups * outer * count, inner], &taps[..]].concat();
    Ok(core.view(&w, Geometry::reshaped(shape))?)
}

/// The output `[N, M, out..]` of the phases `[N, M, phases.., positions..]`.
fn in_order(core: &mut CoreBuilder, all: &Known, extents: &[Extent]) -> Rule<Known> {
    let shape = core.shape_of(all);
    let row_major = signed(strides(&shape));
    let rank = extents.len();
    let mut geometry =
        Geometry { offset: 0, strides: row_major[..2].to_vec(), shape: shape[..2].to_vec() };
    for at in 0..rank {
        geometry.shape.extend([shape[2 + rank + at], shape[2 + at]]);
        geometry.strides.extend([row_major[2 + rank + at], row_major[2 + at]]);
    }
    let y = core.view(all, geometry)?;
    let whole: Vec<usize> = (0..rank).map(|at| shape[2 + at] * shape[2 + rank + at]).collect();
    let whole = [&shape[..2], &whole].concat();
    let y = core.view(&y, Geometry::reshaped(whole.clone()))?;
    // the last phases may have one element more than the output
    let wanted = [&shape[..2], &outs(extents)[..]].concat();
    Ok(core.view(&y, Geometry { offset: 0, strides: signed(strides(&whole)), shape: wanted })?)
}

fn outs(extents: &[Extent]) -> Vec<usize> {
    extents.iter().map(|extent| extent.out).collect()
}

impl Extent {
    /// The phases in the order of the output. Neighbouring phases with equal windows are joined.
    fn phases(&self) -> Vec<Phases> {
        let mut merged: Vec<Phases> = Vec::new();
        for phase in 0..self.axis.stride.min(self.out) {
            let (first, phases) = self.phase(phase);
            match merged.last_mut() {
                Some(before) if before.windows == phases.windows => before.first_taps.push(first),
                _ => merged.push(Phases { first_taps: vec![first], ..phases }),
            }
        }
        merged
    }

    /// The phase of element `phase` of the output: the first tap, and the phase without first taps.
    fn phase(&self, phase: usize) -> (usize, Phases) {
        let Self { axis: Axis { size, kernel, stride, dilation, .. }, begin, out } = *self;
        let positions = out.div_ceil(stride);
        let taps_apart = stride / common_divisor(stride, dilation);
        let apart = taps_apart * dilation / stride;
        // the place in the output before elements are cut off
        let full = begin + phase as i64;
        let is_own = |tap: &usize| (full - (tap * dilation) as i64).rem_euclid(stride as i64) == 0;
        let first = (0..taps_apart.min(kernel)).find(is_own);
        let windows = first.and_then(|first| {
            let taps = (kernel - first).div_ceil(taps_apart);
            // the elements of x under the last and the first tap, for the first window
            let to = (full - (first * dilation) as i64) / stride as i64;
            let from = to - ((taps - 1) * apart) as i64;
            let end = positions as i64 + to - size as i64;
            let axis = Axis { size, kernel: taps, stride: 1, dilation: apart, begin: -from, end };
            (from < size as i64 && positions as i64 + to > 0).then_some(axis)
        });
        let first_taps = Vec::new();
        (first.unwrap_or(0), Phases { first_taps, taps_apart, positions, windows })
    }
}

/// The given sizes of the output along `rank` axes. `None`: the sizes follow from the input.
fn output_sizes(args: &Operands, convolution: &Convolution, rank: usize) -> Rule<Option<Vec<i64>>> {
    let sizes: Vec<i64> = match &convolution.output_sizes {
        OutputSizes::Follow => return Ok(None),
        OutputSizes::Input => args.integers(2, "the shape of the output")?,
        // an exporter may state the whole shape, with N and C
        OutputSizes::Given(sizes) => {
            let first = if sizes.len() == rank + 2 { 2 } else { 0 };
            sizes[first..].iter().map(|&size| size as i64).collect()
        }
    };
    if sizes.len() != rank || sizes.iter().any(|&size| size < 1) {
        let found = format!("an output of {} for {rank} dimensions", shape_text(&sizes));
        let valid = "a size of 1 or more for each";
        return Err(Refusal::new(found, valid, "correct the shape of the output"));
    }
    legal_extents("an output", sizes.iter().copied())?;
    Ok(Some(sizes))
}

/// The output along axis `at`. `size`: the given size of the output, if any.
fn extent(
    args: &Operands,
    convolution: &Convolution,
    axis: Axis,
    at: usize,
    size: Option<i64>,
) -> Rule<Extent> {
    let extra = convolution.output_padding.get(at).copied().unwrap_or(0);
    if extra >= axis.stride.max(axis.dilation) && extra > 0 {
        let found = format!("an output padding of {extra}");
        let valid = "less than the stride or the dilation";
        return Err(Refusal::new(found, valid, "correct the attribute"));
    }
    let full = axis.stride * (axis.size - 1) + axis.reach() + extra;
    let is_same = matches!(convolution.window.padding, Padding::SameUpper | Padding::SameLower);
    let same = is_same.then_some((axis.size * axis.stride) as i64);
    let (begin, end) = match size.or(same) {
        None => (axis.begin, axis.end),
        Some(wanted) => {
            let begin = cut_at_begin(convolution, axis, full as i64 - wanted);
            if matches!(convolution.output_sizes, OutputSizes::Given(_))
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
    legal_extents("an output", [out])?;
    if out < 1 {
        let found = format!("an output of {out} elements along an axis");
        return Err(Refusal::new(found, "1 or more", "correct the pads"));
    }
    Ok(Extent { axis, begin, out: out as usize })
}

/// The elements cut off at the front of an axis. `total`: the elements cut off at both ends;
/// negative if zeros are added.
///
/// If an input gives the output's shape (OpenVINO): the larger half of `total` for same_upper, the
/// smaller half for same_lower, otherwise pads_begin. For ONNX's output_shape: the smaller half for
/// SAME_UPPER, otherwise the larger half.
fn cut_at_begin(convolution: &Convolution, axis: Axis, total: i64) -> i64 {
    let smaller = total.max(0) / 2;
    let larger = total.max(0) - smaller;
    match (&convolution.output_sizes, &convolution.window.padding) {
        (OutputSizes::Input, Padding::SameUpper) => larger,
        (OutputSizes::Input, Padding::SameLower) => smaller,
        (OutputSizes::Input, _) => axis.begin,
        (_, Padding::SameUpper) => smaller,
        _ => larger,
    }
}
