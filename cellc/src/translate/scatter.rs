//! Elements that are selected or replaced one by one, by indices along an axis.

use super::elementwise::compute;
use super::layout::concats::put_together;
use super::layout::gathers::gathered;
use super::layout::slices::{AxisSlice, geometry};
use super::lookup::look_up;
use super::operands::Operands;
use super::operands::shapes_differ;
use super::refusal::{Refusal, Rule};
use crate::core::CoreBuilder;
use crate::core::axis_index;
use crate::core::{Geometry, Known, strides};
use crate::model::{Binary, Comparison, Primitive, ReverseSequence, Unary, shape_text};

/// The most updates at run-time indices: kernels compare each update with each place along the
/// axis. Also the most combined updates of one element at constant indices.
const MOST_SCATTERED: usize = 64;

/// Refuses more updates at computed indices than [`MOST_SCATTERED`].
pub(super) fn few_scattered(count: usize) -> Rule<()> {
    if count > MOST_SCATTERED {
        let found = format!("{count} updates at places that are computed");
        let valid = format!("{MOST_SCATTERED} or fewer");
        return Err(Refusal::new(found, valid, "use constant indices"));
    }
    Ok(())
}

/// The most runs from which a tensor is concatenated.
const MOST_PIECES: usize = 4096;

/// A run of elements: its tensor, first element and length.
type Run = (usize, usize, usize);

/// Appends an element to a list of runs. A list of more than [`MOST_PIECES`] runs gets no further
/// run.
fn add(runs: &mut Vec<Run>, operand: usize, at: usize) {
    let many = runs.len() > MOST_PIECES;
    match runs.last_mut() {
        Some((last, start, count)) if *last == operand && *start + *count == at => *count += 1,
        _ if many => {}
        _ => runs.push((operand, at, 1)),
    }
}

/// A tensor that consists of runs of elements of other tensors, in order.
fn of_runs(
    core: &mut CoreBuilder,
    operands: &[&Known],
    runs: &[Run],
    shape: Vec<usize>,
) -> Rule<Known> {
    if runs.len() > MOST_PIECES {
        let found = format!(
            "more than {MOST_PIECES} pieces of a tensor at places that are not next to each \
             other"
        );
        return Err(Refusal::new(found, format!("{MOST_PIECES} or fewer"), "order the indices"));
    }
    let mut pieces = Vec::new();
    for &(which, offset, count) in runs {
        let piece = Geometry { offset, strides: vec![1], shape: vec![count] };
        pieces.push(core.view(operands[which], piece)?);
    }
    let whole = put_together(core, &pieces, 0)?;
    Ok(core.view(&whole, Geometry::reshaped(shape))?)
}

/// The place of a constant index along an axis. Negative indices count from the end.
pub(super) fn checked_index(index: i64, size: usize) -> Rule<usize> {
    axis_index(index, size).ok_or_else(|| {
        let found = format!("the index {index} along an axis of {size} elements");
        let valid = format!("{} to {}", -(size as i64), size as i64 - 1);
        Refusal::new(found, valid, "correct the indices")
    })
}

/// Data with elements replaced by, or combined with, the updates. `places`: by update, the index of
/// the element in C order.
pub(super) fn scattered(
    core: &mut CoreBuilder,
    data: &Known,
    updates: &Known,
    places: &[usize],
    combine: Option<Binary>,
) -> Rule<Known> {
    let shape = core.shape_of(data);
    let len = shape.iter().product();
    let Some(function) = combine else {
        let mut sources = vec![None; len];
        places.iter().enumerate().for_each(|(k, &at)| sources[at] = Some(k));
        return replaced(core, data, updates, &sources, shape);
    };
    // the updates of one element belong to different rounds
    let mut rounds: Vec<Vec<Option<usize>>> = Vec::new();
    let mut met = vec![0; len];
    for (k, &at) in places.iter().enumerate() {
        if met[at] == rounds.len() {
            rounds.push(vec![None; len]);
        }
        rounds[met[at]][at] = Some(k);
        met[at] += 1;
        if rounds.len() > MOST_SCATTERED {
            let found = format!("more than {MOST_SCATTERED} updates of one element");
            let valid = format!("{MOST_SCATTERED} or fewer");
            return Err(Refusal::new(found, valid, "reduce the updates by another operator"));
        }
    }
    let mut whole = data.clone();
    for mut sources in rounds {
        let (mut kept, mut new, mut count) = (Vec::new(), Vec::new(), 0);
        for (at, source) in sources.iter_mut().enumerate() {
            let Some(k) = source.replace(count) else {
                *source = None;
                continue;
            };
            add(&mut kept, 0, at);
            add(&mut new, 0, k);
            count += 1;
        }
        let kept = of_runs(core, &[&whole], &kept, vec![count])?;
        let new = of_runs(core, &[updates], &new, vec![count])?;
        let combined = compute(core, function, vec![kept, new])?;
        whole = replaced(core, &whole, &combined, &sources, shape.clone())?;
    }
    Ok(whole)
}

/// Data with some elements replaced. `sources`: by element, the index of the update; `None` keeps
/// the element.
fn replaced(
    core: &mut CoreBuilder,
    data: &Known,
    updates: &Known,
    sources: &[Option<usize>],
    shape: Vec<usize>,
) -> Rule<Known> {
    let mut runs = Vec::new();
    for (at, source) in sources.iter().enumerate() {
        match source {
            None => add(&mut runs, 0, at),
            Some(k) => add(&mut runs, 1, *k),
        }
    }
    of_runs(core, &[data, updates], &runs, shape)
}

/// The elements of data at constant indices.
struct NamedElements {
    /// By index: the place of the element in data, in C order.
    places: Vec<usize>,
    /// The shape of the indices.
    shape: Vec<usize>,
}

/// The elements at constant indices along an axis of data. `shape`: the shape of data.
fn named_elements(
    core: &CoreBuilder,
    args: &Operands,
    axis: i64,
    shape: &[usize],
) -> Rule<NamedElements> {
    let axis = args.axis(axis, shape.len())?;
    let indices = args.integers(1, "the indices")?;
    let of_indices = args.get(1).map(|known| core.shape_of(&known))?;
    let fits = of_indices.len() == shape.len()
        && of_indices.iter().zip(shape).enumerate().all(|(d, (a, b))| d == axis || a <= b);
    if !fits {
        let found = format!(
            "indices of shape {} along axis {axis} of {}",
            shape_text(&of_indices),
            shape_text(shape)
        );
        return Err(Refusal::new(
            found,
            "a shape that is inside, along the other axes",
            "correct the indices",
        ));
    }
    // the place of the element in data, for each index
    let (own, index_strides) = (strides(shape), strides(&of_indices));
    let mut places = Vec::with_capacity(indices.len());
    for (k, &index) in indices.iter().enumerate() {
        let index = checked_index(index, shape[axis])?;
        let at: usize = (0..shape.len())
            .map(|d| {
                if d == axis {
                    index * own[d]
                } else {
                    k / index_strides[d] % of_indices[d] * own[d]
                }
            })
            .sum();
        places.push(at);
    }
    Ok(NamedElements { places, shape: of_indices })
}

/// ScatterElements: data with elements replaced by, or combined with, updates at indices along an
/// axis.
pub(super) fn scatter_elements(
    core: &mut CoreBuilder,
    args: &Operands,
    combine: Option<Binary>,
) -> Rule<Known> {
    let (data, updates) = (args.get(0)?, args.get(2)?);
    let axis = args.integer(3, "the axis")?;
    let shape = core.shape_of(&data);
    if let Some(indices @ Known::Source(..)) = args.known(1)
        && !indices.element().is_float()
    {
        return scattered_at_run_time(core, args, axis, [&data, indices, &updates], combine);
    }
    let NamedElements { places, shape: of_indices } = named_elements(core, args, axis, &shape)?;
    if core.shape_of(&updates) != of_indices {
        let shapes = [of_indices, core.shape_of(&updates)];
        return Err(shapes_differ(
            &shapes,
            "updates of the shape of the indices",
            "correct the updates",
        ));
    }
    scattered(core, &data, &updates, &places, combine)
}

/// Computed indices along an axis, counted from the start and clamped to the axis.
pub(super) fn counted_places(core: &mut CoreBuilder, indices: &Known, size: usize) -> Rule<Known> {
    let [least, most] = core.facts.range_of(indices);
    if least >= 0.0 && most < size as f64 {
        return Ok(indices.clone());
    }
    let zero = Known::number_like(indices, 0.0);
    let size_of_axis = Known::number_like(indices, size as f32);
    let from_end = compute(core, Binary::Add, vec![indices.clone(), size_of_axis])?;
    let is_below = compute(core, Comparison::Less, vec![indices.clone(), zero])?;
    let counted = compute(core, Primitive::Select, vec![is_below, from_end, indices.clone()])?;
    let (min, max) = (0.0, size.saturating_sub(1) as f32);
    compute(core, Unary::Clamp { min, max }, vec![counted])
}

/// The multiples of `step` from 0 on, along an axis.
pub(super) fn numbers_along(
    like: &Known,
    axis: usize,
    rank: usize,
    size: usize,
    step: usize,
) -> Known {
    let mut shape = vec![1; rank];
    shape[axis] = size;
    let numbers: Vec<i64> = (0..size).map(|k| (k * step) as i64).collect();
    Known::integers(shape, &numbers, like.element())
}

/// ScatterElements with computed indices: one update after the other replaces the elements whose
/// place equals the index.
fn scattered_at_run_time(
    core: &mut CoreBuilder,
    args: &Operands,
    axis: i64,
    [data, indices, updates]: [&Known; 3],
    combine: Option<Binary>,
) -> Rule<Known> {
    let shapes = [data, indices, updates].map(|known| core.shape_of(known));
    let axis = args.axis(axis, shapes[0].len())?;
    let fits = shapes[1] == shapes[2]
        && shapes[1].len() == shapes[0].len()
        && shapes[1].iter().zip(&shapes[0]).enumerate().all(|(d, (a, b))| d == axis || a <= b);
    if !fits {
        let valid = "indices and updates of one shape, which is inside that of the data along \
            the other axes";
        return Err(shapes_differ(&shapes, valid, "correct the indices"));
    }
    let (size, count, rank) = (shapes[0][axis], shapes[1][axis], shapes[0].len());
    few_scattered(count)?;
    let indices = counted_places(core, indices, size)?;
    let numbers = numbers_along(&indices, axis, rank, size, 1);
    // the part of the data within the shape of the indices; elements outside keep their values
    let mut reached = shapes[1].clone();
    reached[axis] = size;
    let row_major = strides(&shapes[0]);
    let part = |offset: usize, shape: &[usize]| {
        let strides = row_major.iter().map(|&stride| stride as isize).collect();
        Geometry { offset, strides, shape: shape.to_vec() }
    };
    let mut whole = core.view(data, part(0, &reached))?;
    for k in 0..count {
        let [index, update] = [&indices, updates].map(|tensor| {
            let row_major = strides(&shapes[1]);
            let mut shape = shapes[1].clone();
            shape[axis] = 1;
            let strides = row_major.iter().map(|&stride| stride as isize).collect();
            core.view(tensor, Geometry { offset: k * row_major[axis], strides, shape })
        });
        let is_meant = compute(core, Comparison::Equal, vec![numbers.clone(), index?])?;
        let new = match combine {
            None => update?,
            Some(function) => compute(core, function, vec![whole.clone(), update?])?,
        };
        whole = compute(core, Primitive::Select, vec![is_meant, new, whole])?;
    }
    for d in (0..rank).rev().filter(|&d| shapes[1][d] < shapes[0][d] && d != axis) {
        let offset = reached[d] * row_major[d];
        reached[d] = shapes[0][d] - reached[d];
        let rest = core.view(data, part(offset, &reached))?;
        reached[d] = shapes[0][d];
        whole = put_together(core, &[whole, rest], d)?;
    }
    Ok(whole)
}

/// ReverseSequence with computed lengths: the first steps of each sequence in reverse order, up to
/// its length. Lengths are clamped to 0 and the number of steps.
pub(super) fn reversed_at_run_time(
    core: &mut CoreBuilder,
    data: &Known,
    lengths: &Known,
    batch: usize,
    steps: usize,
) -> Rule<Known> {
    let shape = core.shape_of(data);
    let (sequences, size) = (shape[batch], shape[steps]);
    if core.shape_of(lengths) != [sequences] || lengths.element().is_float() {
        let shapes = [core.shape_of(lengths), shape];
        return Err(shapes_differ(&shapes, "an integer for each sequence", "correct the lengths"));
    }
    let lengths = core.view(lengths, Geometry::reshaped(vec![sequences, 1]))?;
    let range = Unary::Clamp { min: 0.0, max: size as f32 };
    let lengths = compute(core, range, vec![lengths])?;
    let [numbers, first] = [(1, size, 1), (0, sequences, size)]
        .map(|(axis, count, step)| numbers_along(&lengths, axis, 2, count, step));
    let one = Known::number_like(&lengths, 1.0);
    let last = compute(core, Binary::Subtract, vec![lengths.clone(), one])?;
    let backwards = compute(core, Binary::Subtract, vec![last, numbers.clone()])?;
    let is_inside = compute(core, Comparison::Less, vec![numbers.clone(), lengths])?;
    let places = compute(core, Primitive::Select, vec![is_inside, backwards, numbers])?;
    let places = compute(core, Binary::Add, vec![places, first])?;
    // the steps of all sequences become rows of one table
    let row_major = strides(&shape);
    let rest: Vec<usize> = (0..shape.len()).filter(|&d| d != batch && d != steps).collect();
    let order: Vec<usize> = [batch, steps].into_iter().chain(rest.iter().copied()).collect();
    let geometry = Geometry {
        offset: 0,
        strides: order.iter().map(|&d| row_major[d] as isize).collect(),
        shape: order.iter().map(|&d| shape[d]).collect(),
    };
    let rows = core.view(data, geometry)?;
    let of_rows: Vec<usize> = rest.iter().map(|&d| shape[d]).collect();
    let rows =
        core.view(&rows, Geometry::reshaped([&[sequences * size], &of_rows[..]].concat()))?;
    let found = look_up(core, &rows, &places, 0)?;
    let row_major = strides(&core.shape_of(&found));
    let stride =
        |d: usize| order.iter().position(|&at| at == d).map_or(0, |at| row_major[at] as isize);
    Ok(core.view(
        &found,
        Geometry { offset: 0, strides: (0..shape.len()).map(stride).collect(), shape },
    )?)
}

/// GatherElements with computed indices: each index becomes the place of the element in C order.
fn gathered_at_run_time(
    core: &mut CoreBuilder,
    args: &Operands,
    axis: i64,
    data: &Known,
    indices: &Known,
) -> Rule<Known> {
    let (shape, to) = (core.shape_of(data), core.shape_of(indices));
    let axis = args.axis(axis, shape.len())?;
    let fits = to.len() == shape.len()
        && to.iter().zip(&shape).enumerate().all(|(d, (a, b))| d == axis || a <= b);
    if !fits {
        let valid = "a shape that is inside, along the other axes";
        return Err(shapes_differ(&[to, shape], valid, "correct the indices"));
    }
    let row_major = strides(&shape);
    let mut places = counted_places(core, indices, shape[axis])?;
    let stride = Known::number_like(indices, row_major[axis] as f32);
    places = compute(core, Binary::Multiply, vec![places, stride])?;
    for d in (0..shape.len()).filter(|&d| d != axis && shape[d] > 1) {
        let numbers = numbers_along(indices, d, shape.len(), to[d], row_major[d]);
        places = compute(core, Binary::Add, vec![places, numbers])?;
    }
    let flat = Geometry::reshaped(vec![shape.iter().product()]);
    let elements = core.view(data, flat)?;
    look_up(core, &elements, &places, 0)
}

/// GatherElements: the element at each index along an axis.
pub(super) fn gather_elements(core: &mut CoreBuilder, args: &Operands, axis: i64) -> Rule<Known> {
    let data = args.get(0)?;
    let shape = core.shape_of(&data);
    if let Some(indices @ Known::Source(..)) = args.known(1)
        && !indices.element().is_float()
    {
        return gathered_at_run_time(core, args, axis, &data, indices);
    }
    let NamedElements { places, shape: to } = named_elements(core, args, axis, &shape)?;
    let mut runs = Vec::new();
    places.iter().for_each(|&at| add(&mut runs, 0, at));
    of_runs(core, &[&data], &runs, to)
}

/// ScatterUpdate with constant indices that follow one another. Inputs: data, indices, updates,
/// axis.
pub(super) fn scatter_update(core: &mut CoreBuilder, args: &Operands) -> Rule<Known> {
    let (data, indices, new) = (args.get(0)?, args.get(1)?, args.get(2)?);
    let (numbers, axis) = (args.integers(1, "the indices")?, args.integer(3, "the axis")?);
    let (shape, of_indices, of_new) =
        (core.shape_of(&data), core.shape_of(&indices), core.shape_of(&new));
    let axis = args.axis(axis, shape.len())?;
    let first = numbers.first().and_then(|&i| axis_index(i, shape[axis]));
    let follow = numbers.windows(2).all(|w| w[1].checked_sub(w[0]) == Some(1));
    let Some(first) = first.filter(|first| follow && first + numbers.len() <= shape[axis]) else {
        let found = format!(
            "the indices {} along an axis of {} elements",
            shape_text(&numbers),
            shape[axis]
        );
        return Err(Refusal::new(
            found,
            "indices that follow one another",
            "replace the parts one by one",
        ));
    };
    if of_new != [&shape[..axis], &of_indices, &shape[axis + 1..]].concat() {
        return Err(shapes_differ(
            &[shape, of_indices, of_new],
            "new parts as large as the old ones",
            "correct the shapes",
        ));
    }
    let after = first + numbers.len();
    let mut parts = Vec::new();
    for (start, count) in [(0, first), (first, numbers.len()), (after, shape[axis] - after)] {
        if count == 0 {
            continue;
        }
        let mut along: Vec<AxisSlice> = shape.iter().map(|&size| AxisSlice::all(size)).collect();
        along[axis] = AxisSlice { start, count, step: 1 };
        let old = geometry(&shape, &along);
        parts.push(match start == first {
            true => core.view(&new, Geometry::reshaped(old.shape))?,
            false => core.view(&data, old)?,
        });
    }
    put_together(core, &parts, axis)
}

/// ReverseSequence. Inputs: data, lengths of the sequences.
pub(super) fn reverse_sequence(
    core: &mut CoreBuilder,
    args: &Operands,
    ReverseSequence { batch_axis, seq_axis }: ReverseSequence,
) -> Rule<Known> {
    let data = args.get(0)?;
    let shape = core.shape_of(&data);
    let (batch, steps) = (args.axis(batch_axis, shape.len())?, args.axis(seq_axis, shape.len())?);
    if let Some(lengths @ Known::Source(..)) = args.known(1) {
        return reversed_at_run_time(core, &data, lengths, batch, steps);
    }
    let lengths = args.integers(1, "the lengths")?;
    let inside: Option<Vec<usize>> =
        lengths.iter().map(|&length| usize::try_from(length).ok()).collect();
    let inside = inside.filter(|all| {
        all.len() == shape[batch] && all.iter().all(|&length| length <= shape[steps])
    });
    let Some(lengths) = inside else {
        let found =
            format!("lengths of {} for {} by {}", shape_text(&lengths), shape[batch], shape[steps]);
        let valid = "a length for each sequence, no longer than the axis";
        return Err(Refusal::new(found, valid, "correct the lengths"));
    };
    let whole = |lengths: &[usize]| {
        let mut along: Vec<AxisSlice> = shape.iter().map(|&size| AxisSlice::all(size)).collect();
        along[steps] = AxisSlice::range(shape[steps], None, None, -1);
        lengths.iter().all(|&length| length == shape[steps]).then(|| geometry(&shape, &along))
    };
    if let Some(geometry) = whole(&lengths) {
        return Ok(core.view(&data, geometry)?);
    }
    let mut sequences = Vec::new();
    for (k, &length) in lengths.iter().enumerate() {
        let mut slices: Vec<AxisSlice> = shape.iter().map(|&size| AxisSlice::all(size)).collect();
        slices[batch] = AxisSlice::range(shape[batch], Some(k as i64), Some(k as i64 + 1), 1);
        let sequence = core.view(&data, geometry(&shape, &slices))?;
        let of_one = core.shape_of(&sequence);
        let places: Vec<usize> = (0..length).rev().chain(length..shape[steps]).collect();
        let sequence = gathered(core, &sequence, steps, &places, &of_one[steps..=steps])?;
        sequences.push(sequence);
    }
    put_together(core, &sequences, batch)
}
