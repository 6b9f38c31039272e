//! Pools: maxima and means of windows.

use super::pads::{PadValue, pad_axis, padded};
use super::pointwise_of;
use super::windows::{Axis, Patches, note_windows, window_axes, window_counts};
use crate::core::{CoreBuilder, CoreOp, Dense, Known, Source, WeightSource};
use crate::model::{Binary, PadMode, Pool, PoolKind, Tensor};
use crate::translate::operands::{Operands, all_floats, shapes_differ};
use crate::translate::refusal::{Refusal, Rule};

/// The input and the windows of a pool.
struct Pooled {
    x: Known,
    /// The axes with the padding of the model.
    stated: Vec<Axis>,
    /// The axes with padding up to the end of the last window.
    axes: Vec<Axis>,
    /// The number of windows, by axis.
    counts: Vec<usize>,
    /// The number of elements of a window.
    taps: usize,
    /// The shape of the result.
    to: Vec<usize>,
}

/// The valid windows, for errors about windows that contain padding alone.
const EACH_WINDOW: &str = "an element of the data in each window";

/// The maxima or means of the windows of `[N, C, ..]`.
pub(in crate::translate) fn pool(
    core: &mut CoreBuilder,
    args: &Operands,
    attributes: &Pool,
) -> Rule<Known> {
    if let Some(&indices) = args.node.outputs.get(1)
        && args.model.nodes.iter().any(|other| other.inputs.contains(&indices))
    {
        let found = "the indices of a maximum pool's elements are used";
        let valid = "the elements themselves, output 0";
        return Err(Refusal::new(found, valid, "leave the indices unused"));
    }
    let x = args.get(0)?;
    // a maximum rounds nothing, so its operands may be integers
    let range = (attributes.kind == PoolKind::Max && !x.element().is_float())
        .then(|| core.facts.range_of(&x));
    if range.is_none() {
        all_floats(std::slice::from_ref(&x))?;
    }
    let is_constant = x.tensor().is_some();
    let pooled = pooled(core, args, attributes, x)?;
    core.computable(&pooled.to)?;
    if is_constant {
        core.affords(pooled.to.iter().product::<usize>().saturating_mul(pooled.taps))?;
    }
    match attributes.kind {
        PoolKind::Max => maximum_of_windows(core, pooled, range),
        PoolKind::Average { count_pads } => average_of_windows(core, pooled, count_pads),
    }
}

/// The windows of a pool.
fn pooled(core: &mut CoreBuilder, args: &Operands, pool: &Pool, x: Known) -> Rule<Pooled> {
    let shape = core.shape_of(&x);
    if shape.len() < 3 || shape.len() > 5 {
        let valid = "[N, C, ..] with one to three more dimensions";
        return Err(shapes_differ(&[shape], valid, "reshape the input"));
    }
    let (batch, channels, spatial) = (shape[0], shape[1], &shape[2..]);
    let kernel = if pool.kernel.is_empty() { spatial.to_vec() } else { pool.kernel.clone() };
    let stated = window_axes(&pool.window, spatial, &kernel)?;
    if stated.iter().any(|axis| {
        axis.begin < 0 || axis.end < 0 || axis.begin.max(axis.end) >= axis.reach() as i64
    }) {
        let found = "a pad that is negative, or as long as the kernel";
        return Err(Refusal::new(found, "pads shorter than the kernel", "correct the pads"));
    }
    let counts = window_counts(core, args, &stated, pool.rounding)?;
    let is_behind = |(axis, &count): (&Axis, &usize)| {
        (count - 1) as i64 * axis.stride as i64 >= axis.size as i64 + axis.begin
    };
    if stated.iter().zip(&counts).any(is_behind) {
        let found = "a last window that holds nothing but pads";
        let help = "round the number of windows down, or as PyTorch does, or use other pads";
        return Err(Refusal::new(found, EACH_WINDOW, help));
    }
    note_windows(core, &x, &stated);
    let mut axes = stated.clone();
    // extends the padding to the end of the last window
    for (axis, &count) in axes.iter_mut().zip(&counts) {
        let reached = (count - 1) * axis.stride + axis.reach();
        axis.end = axis.end.max(reached as i64 - axis.size as i64 - axis.begin);
    }
    let to = [&[batch, channels], &counts[..]].concat();
    let taps = kernel.iter().product();
    Ok(Pooled { x, stated, axes, counts, taps, to })
}

/// The largest element of each window. `range`: the range of x, for integers.
fn maximum_of_windows(
    core: &mut CoreBuilder,
    Pooled { x, axes, counts, taps, to, .. }: Pooled,
    range: Option<[f64; 2]>,
) -> Rule<Known> {
    let gapped = axes.iter().any(|axis| axis.dilation > 1 && axis.begin.max(axis.end) > 0);
    if gapped && axes.iter().zip(&counts).any(|(axis, &count)| axis.has_window_of_pads(count)) {
        let found = "a window that holds nothing but pads";
        return Err(Refusal::new(found, EACH_WINDOW, "pad the input by an operator of its own"));
    }
    // Without gaps between taps, a window that reaches into the padding contains the element at the
    // border, so copies of this element do not change the maximum. With gaps, and in a model of one
    // step, the padding is the smallest number.
    let (mode, least) = if gapped || core.is_one_step {
        (PadMode::Constant, range.map_or(f32::NEG_INFINITY, |[least, _]| least as f32))
    } else {
        (PadMode::Edge, 0.0)
    };
    let mut padded = x;
    for (at, axis) in axes.iter().enumerate() {
        let pads = (axis.begin, axis.end);
        padded = pad_axis(core, &padded, 2 + at, pads, mode, &PadValue::Number(least))?;
    }
    let patches = Patches::new(core, padded, &axes, &counts);
    let of_tap = |core: &mut CoreBuilder, tap: usize| {
        let dims = [&[patches.batch, patches.channels], &patches.positions[..]].concat();
        core.view(&patches.x, Patches::view(patches.offset(tap), dims))
    };
    let mut most = of_tap(core, 0)?;
    for tap in 1..taps {
        let next = of_tap(core, tap)?;
        most = pointwise_of(core, Binary::Maximum, &[next, most], to.clone())?;
    }
    if let Some(range) = range {
        core.facts.set_range(&most, range);
    }
    Ok(most)
}

/// The mean of the elements of each window. `count_pads`: true if the padding that the model states
/// counts as elements.
fn average_of_windows(
    core: &mut CoreBuilder,
    Pooled { x, stated, axes, counts, taps, to }: Pooled,
    count_pads: bool,
) -> Rule<Known> {
    let element = x.element();
    let padded = padded(core, &x, &axes, 0.0)?;
    let patches = Patches::new(core, padded, &axes, &counts);
    let dims = [&[patches.batch, patches.channels], &patches.positions[..], &patches.taps].concat();
    let patches = core.view(&patches.x, Patches::view(0, dims))?;
    let ones = Tensor::from_f32(vec![1, taps], &vec![1.0; taps]);
    let ones = ones.expect("translate: one number for each tap");
    let x = core.source(&patches)?;
    let w = WeightSource::Constant(core.intern(&ones));
    let out = core.value(to.clone());
    let rows = to.iter().product();
    let (inputs, outputs, transposed, chains) = (taps, 1, true, 1);
    core.emit(CoreOp::Dense(Dense { rows, inputs, outputs, x, w, transposed, chains, out }));
    let sum = Known::Source(Source::Value(out), element);
    let mut counted = elements_of_windows(&stated, &counts, count_pads);
    let mut shape = [&[1, 1], &counts[..]].concat();
    // one divisor suffices if all windows contain equally many elements
    if counted.iter().all(|&n| n == counted[0]) {
        counted.truncate(1);
        shape.fill(1);
    }
    let counted = Known::floats(shape, &counted, element);
    pointwise_of(core, Binary::Divide, &[sum, counted], to)
}

/// The number of elements in each window, in C order.
fn elements_of_windows(axes: &[Axis], counts: &[usize], count_pads: bool) -> Vec<f32> {
    let mut counted = vec![1.0f32];
    for (axis, &count) in axes.iter().zip(counts) {
        let (begin, end) = if count_pads { (axis.begin, axis.end) } else { (0, 0) };
        let inside = |window: usize| {
            let first = (window * axis.stride) as i64 - axis.begin;
            let places = (0..axis.kernel).map(|tap| first + (tap * axis.dilation) as i64);
            places
                .filter(|&position| position >= -begin && position < axis.size as i64 + end)
                .count()
        };
        let along: Vec<f32> = (0..count).map(|window| inside(window) as f32).collect();
        counted = counted.iter().flat_map(|&n| along.iter().map(move |&m| n * m)).collect();
    }
    counted
}
