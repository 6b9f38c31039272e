//! Elements and parts at indices that are known when compiling.

use super::slices::{Along, geometry};
use crate::core::CoreBuilder;
use crate::core::{Concat, CoreOp, Geometry, Known, Source, counted, fold, signed, strides};
use crate::model::shape_text;
use crate::simplify::layout::concats::put_together;
use crate::simplify::lookup::look_up;
use crate::simplify::operands::Operands;
use crate::simplify::operands::shapes_differ;
use crate::simplify::places::gather_by_rows;
use crate::simplify::refusal::{Refusal, Rule};
use crate::simplify::scatter::reversed_at_run_time;

/// The most indices of a Gather of a computed tensor that are no progression.
const MOST_GATHERED: usize = 256;

pub(in crate::simplify) fn gather(
    core: &mut CoreBuilder,
    args: &Operands,
    batch_dims: i64,
) -> Rule<Known> {
    let (data, indices) = (args.get(0)?, args.get(1)?);
    let axis = args.integer(2, "the axis")?;
    let (shape, of_indices) = (core.shape_of(&data), core.shape_of(&indices));
    let axis = args.axis(axis, shape.len())?;
    if batch_dims != 0 {
        // a negative number counts from the last axis of the indices
        let all = of_indices.len();
        let batch = if batch_dims == all as i64 { Some(all) } else { counted(batch_dims, all) };
        return match batch.filter(|&batch| batch <= axis) {
            Some(batch) => gather_by_rows(core, args, [&data, &indices], axis, batch),
            None => {
                let found = format!("{} of {batch_dims}", args.node.spelling.batch_dims);
                let valid = format!("0 to {}", axis.min(all));
                let origin = args.node.attribute_origin(args.node.spelling.batch_dims);
                Err(Refusal::at(origin, found, valid, "correct the number"))
            }
        };
    }
    if matches!(indices, Known::Source(..)) && !indices.element().is_float() {
        return look_up(core, &data, &indices, axis);
    }
    let numbers = args.integers(1, "the indices")?;
    let places: Option<Vec<usize>> = numbers.iter().map(|&i| counted(i, shape[axis])).collect();
    let Some(places) = places else {
        let found = format!("an index that is not among the {} along axis {axis}", shape[axis]);
        let valid = format!("{} to {}", -(shape[axis] as i64), shape[axis] as i64 - 1);
        return Err(Refusal::new(found, valid, "correct the indices"));
    };
    gathered(core, &data, axis, &places, &of_indices)
}

/// The elements at indices along an axis; the dimensions of the indices replace the axis.
pub(in crate::simplify) fn gathered(
    core: &mut CoreBuilder,
    data: &Known,
    axis: usize,
    places: &[usize],
    dimensions: &[usize],
) -> Rule<Known> {
    let shape = core.shape_of(data);
    let to: Vec<usize> = [&shape[..axis], dimensions, &shape[axis + 1..]].concat();
    let own = strides(&shape);
    let step = match places[..] {
        [] | [_] => 0,
        [first, second, ..] => second as isize - first as isize,
    };
    if places.windows(2).all(|w| w[1] as isize - w[0] as isize == step) {
        let along = signed(strides(dimensions)).into_iter().map(|s| s * step * own[axis] as isize);
        let before = own[..axis].iter().map(|&s| s as isize);
        let after = own[axis + 1..].iter().map(|&s| s as isize);
        let geometry = Geometry {
            offset: places.first().map_or(0, |&first| first * own[axis]),
            strides: before.chain(along).chain(after).collect(),
            shape: to,
        };
        return Ok(core.view(data, geometry)?);
    }
    match data {
        Known::Constant(tensor, element) => {
            core.foldable(&to, *element)?;
            Ok(Known::Constant(fold::gather(tensor, axis, places, to), *element))
        }
        Known::Source(..) | Known::Iteration(..) => gather_one_by_one(core, data, axis, places, to),
    }
}

fn gather_one_by_one(
    core: &mut CoreBuilder,
    data: &Known,
    axis: usize,
    places: &[usize],
    to: Vec<usize>,
) -> Rule<Known> {
    // neighbouring indices form runs, each with its first index and its length
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &place in places {
        let many = runs.len() == MOST_GATHERED;
        match runs.last_mut() {
            Some((start, count)) if *start + *count == place => *count += 1,
            _ if many => {
                let found = format!("more than {MOST_GATHERED} runs of indices in no order");
                let valid = format!("{MOST_GATHERED} or fewer, or a progression");
                return Err(Refusal::new(found, valid, "gather from a constant, or fewer at once"));
            }
            _ => runs.push((place, 1)),
        }
    }
    let shape = core.shape_of(data);
    let mut inputs = Vec::new();
    for (start, count) in runs {
        let mut along: Vec<Along> = shape.iter().map(|&size| Along::whole(size)).collect();
        along[axis] = Along { start, count, step: 1 };
        let part = core.view(data, geometry(&shape, &along))?;
        inputs.extend(core.source(&part));
    }
    let mut all = shape;
    all[axis] = places.len();
    core.computable(&all)?;
    let out = core.value(all);
    core.emit(CoreOp::Concat(Concat { axis, inputs, out }));
    let side_by_side = Known::Source(Source::Value(out), data.element());
    core.facts.set_range(&side_by_side, core.facts.range_of(data));
    Ok(core.view(&side_by_side, Geometry::reshaped(to))?)
}

pub(in crate::simplify) fn scatter_update(core: &mut CoreBuilder, args: &Operands) -> Rule<Known> {
    let (data, indices, new) = (args.get(0)?, args.get(1)?, args.get(2)?);
    let (numbers, axis) = (args.integers(1, "the indices")?, args.integer(3, "the axis")?);
    let (shape, of_indices, of_new) =
        (core.shape_of(&data), core.shape_of(&indices), core.shape_of(&new));
    let axis = args.axis(axis, shape.len())?;
    let first = numbers.first().and_then(|&i| counted(i, shape[axis]));
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
        let mut along: Vec<Along> = shape.iter().map(|&size| Along::whole(size)).collect();
        along[axis] = Along { start, count, step: 1 };
        let old = geometry(&shape, &along);
        parts.push(match start == first {
            true => core.view(&new, Geometry::reshaped(old.shape))?,
            false => core.view(&data, old)?,
        });
    }
    put_together(core, &parts, axis)
}

pub(in crate::simplify) fn reverse_sequence(
    core: &mut CoreBuilder,
    args: &Operands,
    batch_axis: i64,
    seq_axis: i64,
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
        let mut along: Vec<Along> = shape.iter().map(|&size| Along::whole(size)).collect();
        along[steps] = Along::range(shape[steps], None, None, -1);
        lengths.iter().all(|&length| length == shape[steps]).then(|| geometry(&shape, &along))
    };
    if let Some(geometry) = whole(&lengths) {
        return Ok(core.view(&data, geometry)?);
    }
    let mut sequences = Vec::new();
    for (k, &length) in lengths.iter().enumerate() {
        let mut one: Vec<Along> = shape.iter().map(|&size| Along::whole(size)).collect();
        one[batch] = Along::range(shape[batch], Some(k as i64), Some(k as i64 + 1), 1);
        let sequence = core.view(&data, geometry(&shape, &one))?;
        let of_one = core.shape_of(&sequence);
        let places: Vec<usize> = (0..length).rev().chain(length..shape[steps]).collect();
        let sequence = gathered(core, &sequence, steps, &places, &of_one[steps..=steps])?;
        sequences.push(sequence);
    }
    put_together(core, &sequences, batch)
}
