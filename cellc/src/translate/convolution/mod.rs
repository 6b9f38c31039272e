//! Convolutions and pools. A convolution with constant weights and many windows becomes a Convolve.
//! Otherwise the windows become patches of the padded input, which are the rows of a dense layer or
//! of a matrix product. All forms give equal bits: a model of one step has one position, whose
//! window is a row of a dense layer.
//!
//! Sums run in the order of the weights: over input channels, and within a channel over the taps of
//! the kernel. Groups of a depthwise convolution have one input channel.

mod lines;
mod pads;
mod pools;
mod transposed;
mod windows;

use crate::core::{
    CoreBuilder, CoreOp, Dense, DynamicLength, Geometry, Known, MOST_DENSE_GROUPS, MatMul,
    Pointwise, Source, WeightSource, signed, strides,
};
use crate::model::{
    Binary, Convolution, ElementType, Groups, Op, OutputSizes, Rounding, Tensor, legal_groups,
    shape_text,
};
use crate::translate::elementwise::compute;
use crate::translate::layout::concats::put_together;
use crate::translate::operands::{Operands, all_floats, shapes_differ};
use crate::translate::parts::{Lengthened, padded_behind};
use crate::translate::refusal::{Refusal, Rule};
use lines::{Lines, along_lines};
pub(super) use pads::pad;
use pads::padded;
pub(super) use pools::pool;
use transposed::transposed;
use windows::{Axis, Patches, note_windows, window_axes, window_counts};

/// The least number of window positions for which lanes run along the positions. Depthwise
/// convolutions have no such limit.
const LEAST_POSITIONS: usize = 8;

/// The end of an axis of a convolution's output that a slice drops.
#[derive(Clone, Copy)]
pub(super) struct DroppedEnd {
    /// The index among the axes of the windows.
    pub(super) axis: usize,
    /// The number of dropped elements.
    pub(super) count: usize,
}

/// The batch size, the groups, and the channels of a group.
#[derive(Clone, Copy)]
struct Channels {
    batch: usize,
    groups: usize,
    /// Input channels of a group.
    inputs: usize,
    /// Output channels of a group.
    outputs: usize,
}

/// The operands of a convolution.
struct Factors {
    x: Known,
    /// `[M, C / groups, ..]`; transposed `[C, M / groups, ..]`.
    w: Known,
    groups: usize,
    /// The sizes of the kernel.
    kernel: Vec<usize>,
}

/// The output of a convolution. `Ok(None)` if the output cannot be computed without the elements
/// that `cut` drops.
pub(super) fn convolution(
    core: &mut CoreBuilder,
    args: &Operands,
    attributes: &Convolution,
    cut: Option<DroppedEnd>,
) -> Rule<Option<Known>> {
    let factors = factors(core, args, attributes)?;
    let mut axes =
        window_axes(&attributes.window, &core.shape_of(&factors.x)[2..], &factors.kernel)?;
    if attributes.transposed {
        return transposed(core, args, attributes, (&factors, &axes), cut);
    }
    if let Some(DroppedEnd { axis, count }) = cut {
        let Some(axis) = axes.get_mut(axis) else { return Ok(None) };
        axis.end -= (count * axis.stride) as i64;
        if axis.end < 0 {
            return Ok(None);
        }
    }
    note_windows(core, &factors.x, &axes);
    let bias = bias(core, args, core.shape_of(&factors.w)[0])?;
    Ok(Some(sums(core, args, (&factors, bias.as_ref()), &axes)?))
}

/// The operands of a convolution, with shapes that fit.
fn factors(core: &mut CoreBuilder, args: &Operands, convolution: &Convolution) -> Rule<Factors> {
    let (x, mut w) = (args.get(0)?, args.get(1)?);
    all_floats(&[x.clone(), w.clone()])?;
    let (shape, mut weights) = (core.shape_of(&x), core.shape_of(&w));
    let stated = match convolution.groups {
        Groups::Count(count) => Some(count),
        // the first dimension of the weights is the number of groups
        Groups::InWeights if weights.len() == shape.len() + 1 => {
            let groups = weights.remove(0);
            weights[0] *= groups;
            w = core.view(&w, Geometry::reshaped(weights.clone()))?;
            Some(groups as i64)
        }
        Groups::InWeights => None,
    };
    let have_form = (3..=5).contains(&shape.len())
        && weights.len() == shape.len()
        && weights.iter().chain(&shape).all(|&size| size > 0);
    let valid = "data [N, C, ..], weights [M, C / groups, ..] (transposed [C, M / groups, ..]) of \
        as many dimensions";
    let Some(stated) = stated.filter(|_| have_form) else {
        return Err(shapes_differ(&[shape, weights], valid, "correct the shapes"));
    };
    let channels = shape[1];
    let outputs = (weights[0], "output channel");
    let sizes = [(channels, "input channel"), outputs];
    let divided = if convolution.transposed { &sizes[..1] } else { &sizes };
    let groups = legal_groups("group", stated, divided)?;
    let fits = match convolution.transposed {
        true => weights[0] == channels,
        false => weights[1].checked_mul(groups) == Some(channels),
    };
    if !fits {
        let help = format!("correct the shapes, or the number of groups, {stated}");
        return Err(shapes_differ(&[shape, weights], valid, help));
    }
    let kernel = weights[2..].to_vec();
    if !(convolution.kernel.is_empty() || convolution.kernel == kernel) {
        let found = format!(
            "a kernel of the shape {}, and weights of the shape {}",
            shape_text(&convolution.kernel),
            shape_text(&weights)
        );
        return Err(Refusal::new(found, "the last sizes of the weights", "correct the shape"));
    }
    Ok(Factors { x, w, groups, kernel })
}

/// A convolution along an axis with a run-time number of elements, with zeros behind the last
/// element. `Ok(None)` for transposed convolutions, for negative padding along the axis, and unless
/// windows move element by element along the axis.
pub(super) fn convolution_of_open_length(
    core: &mut CoreBuilder,
    args: &Operands,
    attributes: &Convolution,
    length: DynamicLength,
    along: usize,
) -> Rule<Option<Lengthened>> {
    let (x, w) = (args.get(0)?, args.get(1)?);
    let (shape, weights) = (core.shape_of(&x), core.shape_of(&w));
    if attributes.transposed || shape.len() < 2 || weights.len() < shape.len() {
        return Ok(None);
    }
    let spatial = &shape[2..];
    let kernel = &weights[weights.len() - spatial.len()..];
    let axes = window_axes(&attributes.window, spatial, kernel)?;
    let Some(&axis) = along.checked_sub(2).and_then(|along| axes.get(along)) else {
        return Ok(None);
    };
    if axis.stride != 1 || axis.begin < 0 || axis.end < 0 {
        return Ok(None);
    }
    let number = |value: i64| Known::integers(Vec::new(), &[value], ElementType::I64);
    let more = number(axis.begin + axis.end - (axis.reach() as i64 - 1));
    let count = Known::Source(length.count, ElementType::I64);
    let count = compute(core, Binary::Add, vec![count, more])?;
    let count = compute(core, Binary::Maximum, vec![count, number(0)])?;
    let zero = Known::number_like(&x, 0.0);
    let parts = padded_behind(core, &x, length, &zero)?;
    let y = convolution(core, &args.with(0, parts), attributes, None)?;
    let length = DynamicLength { count: core.source(&count)?, is_zero: false, ..length };
    Ok(y.map(|known| Lengthened { known, length }))
}

/// The sums of a convolution: x `[N, C, ..]`, w `[M, C / g, ..]`, bias `[M]`.
fn sums(
    core: &mut CoreBuilder,
    args: &Operands,
    (factors, bias): (&Factors, Option<&Known>),
    axes: &[Axis],
) -> Rule<Known> {
    let Factors { x, w, groups, kernel } = factors;
    let counts = window_counts(core, args, axes, Rounding::Floor)?;
    let (shape, outputs) = (core.shape_of(x), core.shape_of(w)[0]);
    let (batch, groups, inputs) = (shape[0], *groups, shape[1] / groups);
    let channels = Channels { batch, groups, inputs, outputs: outputs / groups };
    let positions: usize = counts.iter().product();
    core.computable(&[&[batch, outputs], &counts[..]].concat())?;
    let is_depthwise = inputs == 1 && groups > MOST_DENSE_GROUPS;
    let depthwise = w.tensor().filter(|_| is_depthwise);
    // without a Convolve, a depthwise convolution would become scalar products
    let least = if is_depthwise { 1 } else { LEAST_POSITIONS };
    // among layers that are not depthwise, only dense layers have quantised weights and integer
    // arithmetic, so other quantised convolutions become dense layers
    let may_run_along_lines = !core.is_one_step && (is_depthwise || !core.layer.is_quantised);
    if let Some(weights) = w.tensor().filter(|_| may_run_along_lines)
        && positions >= least
        && let Some(lines) = Lines::new(axes, &counts, is_depthwise)
    {
        let why = match () {
            () if !is_depthwise => None,
            () if kernel.iter().product::<usize>() == 1 => Some("windows of one element"),
            () if lines.stays_f32(&counts) => Some(why_not_along_lines(core, axes, positions)),
            () => None,
        };
        core.model.in_f32.extend(why.map(|why| (core.layer.path, why)));
        return along_lines(core, x, (weights, bias), channels, &lines, &counts);
    }
    let patches = |core: &mut CoreBuilder| -> Rule<Patches> {
        let x = padded(core, x, axes, 0.0)?;
        Ok(Patches::new(core, x, axes, &counts))
    };
    if let Some(weights) = depthwise {
        let why = why_not_along_lines(core, axes, positions);
        core.model.in_f32.push((core.layer.path, why));
        let patches = patches(core)?;
        let y = channel_by_channel(core, &patches, weights, channels, &counts)?;
        return with_bias(core, bias, y, 1);
    }
    let patches = patches(core)?;
    let mut parts = Vec::new();
    for group in 0..groups {
        parts.push(sums_of_group(core, &patches, w, group, channels, &counts)?);
    }
    let last = counts.len() + 1;
    let y = put_together(core, &parts, last)?;
    let y = with_bias(core, bias, y, last)?;
    // channels move back in front of the positions
    let shape = core.shape_of(&y);
    let row_major = signed(strides(&shape));
    let order: Vec<usize> = [0, last].into_iter().chain(1..last).collect();
    let geometry = Geometry {
        offset: 0,
        strides: order.iter().map(|&d| row_major[d]).collect(),
        shape: order.iter().map(|&d| shape[d]).collect(),
    };
    Ok(core.view(&y, geometry)?)
}

/// The reason why a depthwise convolution computes in f32, for the report.
fn why_not_along_lines(core: &CoreBuilder, axes: &[Axis], positions: usize) -> &'static str {
    match axes {
        _ if core.is_one_step => "a model that is computed step by step",
        _ if axes.iter().any(|axis| axis.stride != 1) => "windows with strides",
        _ if axes.iter().any(|axis| axis.begin < 0 || axis.end < 0) => "x cut off",
        _ if positions < LEAST_POSITIONS => "fewer than 8 positions",
        _ => "a small plane",
    }
}

/// One group of a convolution, as a matrix product: `[N, positions.., M / g]`.
fn sums_of_group(
    core: &mut CoreBuilder,
    patches: &Patches,
    w: &Known,
    group: usize,
    channels: Channels,
    counts: &[usize],
) -> Rule<Known> {
    let Channels { batch, inputs, outputs, .. } = channels;
    let positions: usize = counts.iter().product();
    let taps: usize = patches.taps.iter().map(|(count, _)| count).product();
    // [N, positions.., C, taps..] of the group's channels: a row for each position
    let stride = patches.channels.1;
    let dims =
        [&[patches.batch][..], &patches.positions, &[(inputs, stride)], &patches.taps].concat();
    let first = group * inputs * stride as usize;
    let rows_of_taps = core.view(&patches.x, Patches::view(first, dims))?;
    let size = inputs * taps;
    let x = core.source(&rows_of_taps)?;
    let rows = batch * positions;
    let shape = [&[batch], counts, &[outputs]].concat();
    let offset = group * outputs * size;
    let out = if let Some(weights) = w.tensor() {
        let matrix = weights.part(offset, vec![outputs, size]);
        let matrix = matrix.expect("translate: the weights of a group lie within the weights");
        let w = WeightSource::Constant(core.intern(&matrix));
        let out = core.value(shape);
        let (inputs, transposed, chains) = (size, true, 1);
        core.emit(CoreOp::Dense(Dense { rows, inputs, outputs, x, w, transposed, chains, out }));
        out
    } else {
        let columns =
            Geometry { offset, strides: vec![1, size as isize], shape: vec![size, outputs] };
        let b = core.view(w, columns)?;
        let b = core.source(&b)?;
        let out = core.value(shape);
        let (batch, inner, columns) = (1, size, outputs);
        core.emit(CoreOp::MatMul(MatMul { batch, rows, inner, columns, a: x, b, out }));
        out
    };
    Ok(Known::Source(Source::Value(out), patches.x.element()))
}

/// Groups with one input channel: the patches of each channel, times the weights of the channel.
fn channel_by_channel(
    core: &mut CoreBuilder,
    patches: &Patches,
    weights: &Tensor,
    channels: Channels,
    counts: &[usize],
) -> Rule<Known> {
    let Channels { batch, groups, outputs: each, .. } = channels;
    let taps: usize = patches.taps.iter().map(|(count, _)| count).product();
    let (element, rows) = (patches.x.element(), counts.iter().product());
    let dims = [&[patches.batch, patches.channels], &patches.positions[..], &patches.taps].concat();
    let rows_of_taps = core.view(&patches.x, Patches::view(0, dims))?;
    // [groups, taps, outputs of a group], for every row of x
    let weight_at = |k: usize| {
        weights.get_f32((k / (taps * each) % groups * each + k % each) * taps + k / each % taps)
    };
    let shape = vec![batch * groups, taps, each];
    core.foldable(&shape, ElementType::F32)?;
    let matrix: Vec<f32> = (0..batch * groups * taps * each).map(weight_at).collect();
    let b = core.source(&Known::floats(shape, &matrix, element))?;
    let a = core.source(&rows_of_taps)?;
    let out = core.value([&[batch, groups], counts, &[each]].concat());
    let matmul = MatMul { batch: batch * groups, rows, inner: taps, columns: each, a, b, out };
    core.emit(CoreOp::MatMul(matmul));
    // the outputs of a group move in front of the positions
    let row_major = signed(strides(&[&[batch, groups], counts, &[each]].concat()));
    let last = counts.len() + 2;
    let order: Vec<usize> = [0, 1, last].into_iter().chain(2..last).collect();
    let shape = [&[batch, groups, each], counts].concat();
    let strides = order.iter().map(|&d| row_major[d]).collect();
    let y = Known::Source(Source::Value(out), element);
    let y = core.view(&y, Geometry { offset: 0, strides, shape })?;
    Ok(core.view(&y, Geometry::reshaped([&[batch, groups * each], counts].concat()))?)
}

/// The bias: a third input with a number for each of `channels` output channels. `None` without a
/// third input, or if the third input gives the shape of the output.
fn bias(core: &CoreBuilder, args: &Operands, channels: usize) -> Rule<Option<Known>> {
    let gives_shape = match &args.node.op {
        Op::Convolution(attributes) => attributes.output_sizes == OutputSizes::Input,
        _ => false,
    };
    if gives_shape || args.len() < 3 {
        return Ok(None);
    }
    let bias = args.get(2)?;
    if !bias.element().is_float() {
        let found = "a third input of integers";
        let valid = "pads in place of a shape of the output";
        return Err(Refusal::new(found, valid, "save the model with pads"));
    }
    let shape = core.shape_of(&bias);
    if shape != [channels] {
        let valid = "a bias for each output channel";
        return Err(shapes_differ(
            &[vec![channels], shape],
            valid,
            "correct the shape of the bias",
        ));
    }
    Ok(Some(bias))
}

/// Adds a number for each channel along `axis`.
fn with_bias(core: &mut CoreBuilder, bias: Option<&Known>, y: Known, axis: usize) -> Rule<Known> {
    let Some(bias) = bias else { return Ok(y) };
    let to = core.shape_of(&y);
    let mut wide = vec![1; to.len()];
    wide[axis] = to[axis];
    let bias = core.view(bias, Geometry::reshaped(wide))?;
    pointwise_of(core, Binary::Add, &[y, bias], to)
}

/// An element-wise operation at run time on floats; Maximum also on integers.
fn pointwise_of(
    core: &mut CoreBuilder,
    function: Binary,
    inputs: &[Known],
    shape: Vec<usize>,
) -> Rule<Known> {
    // a maximum rounds nothing, so its operands may be integers
    if function != Binary::Maximum {
        all_floats(inputs)?;
    }
    core.computable(&shape)?;
    let element = inputs[0].element();
    let inputs = inputs.iter().map(|input| core.source(input)).collect::<Result<_, _>>()?;
    let out = core.value(shape);
    core.emit(CoreOp::Pointwise(Pointwise { function: function.into(), inputs, out }));
    Ok(Known::Source(Source::Value(out), element))
}
