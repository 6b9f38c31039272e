//! Gather, and GatherND and ScatterND, whose indices are coordinates.

use super::elementwise::compute;
use super::integers::converted;
use super::layout::gathers::gathered;
use super::lookup::look_up;
use super::operands::Operands;
use super::operands::all_exact;
use super::operands::shapes_differ;
use super::refusal::{Refusal, Rule};
use super::scatter::{checked_index, counted_places, few_scattered, numbers_along, scattered};
use crate::core::CoreBuilder;
use crate::core::{Geometry, Known, signed, strides};
use crate::model::{Binary, Comparison, ElementType, GatherNd, Primitive};

/// GatherND: parts of data, one for each row of the indices. Constant indices are resolved when
/// compiling. Computed indices outside of an axis are clamped.
pub(super) fn gather_nd(core: &mut CoreBuilder, args: &Operands, gather: GatherNd) -> Rule<Known> {
    let (data, indices) = (args.get(0)?, args.get(1)?);
    let (shape, of_indices) = (core.shape_of(&data), core.shape_of(&indices));
    let rank = shape.len().min(of_indices.len().saturating_sub(1));
    let batch = batch_axes(args, gather.batch_dims, [0, rank as i64], 0)?;
    let depth = of_indices.last().copied().unwrap_or(0);
    if depth == 0 || batch + depth > shape.len() || shape[..batch] != of_indices[..batch] {
        let valid = "equal sizes in the batch, and 1 index or more, at most one for each axis \
            behind the batch";
        return Err(shapes_differ(&[shape, of_indices], valid, "correct the indices"));
    }
    let found = gathered_parts(core, args, &data, &indices, batch)?;
    let outer = &of_indices[..of_indices.len() - 1];
    let first: usize = outer[..batch].iter().product();
    let of_batch =
        if gather.flattens_batch && batch > 1 { vec![first] } else { outer[..batch].to_vec() };
    let to = [&of_batch, &outer[batch..], &shape[batch + depth..]].concat();
    Ok(core.view(&found, Geometry::reshaped(to))?)
}

/// The number of leading axes that data and indices share, from `least` to `most`. A negative
/// number counts from `rank`.
fn batch_axes(args: &Operands, given: i64, [least, most]: [i64; 2], rank: i64) -> Rule<usize> {
    let counted = if given < 0 { given.saturating_add(rank) } else { given };
    match usize::try_from(counted) {
        Ok(batch) if given >= least && counted <= most => Ok(batch),
        _ => {
            let found = format!("{} of {given}", args.node.spelling.batch_dims);
            let origin = args.node.attribute_origin(args.node.spelling.batch_dims);
            let valid = format!("{least} to {most}");
            Err(Refusal::at(origin, found, valid, "correct the number"))
        }
    }
}

/// Gather with `batch_dims`: each row of the batch has indices of its own into the axis of data.
/// The axes of the indices behind the batch replace the axis.
pub(super) fn gather_by_rows(
    core: &mut CoreBuilder,
    args: &Operands,
    [data, indices]: [&Known; 2],
    axis: usize,
    batch: usize,
) -> Rule<Known> {
    let [shape, of_indices] = [data, indices].map(|known| core.shape_of(known));
    if shape[..batch] != of_indices[..batch] {
        return Err(shapes_differ(
            &[shape, of_indices],
            "equal sizes in the batch",
            "correct the indices",
        ));
    }
    // the axis moves behind the axes of the batch
    let from = (0..batch).chain([axis]).chain((batch..shape.len()).filter(|&d| d != axis));
    let data = transposed_by(core, data, from.collect())?;
    let each = Geometry::reshaped([&of_indices[..], &[1]].concat());
    let indices = core.view(indices, each)?;
    let found = gathered_parts(core, args, &data, &indices, batch)?;
    let to = [&of_indices[..], &shape[batch..axis], &shape[axis + 1..]].concat();
    let found = core.view(&found, Geometry::reshaped(to))?;
    let (behind, before) = (of_indices.len(), axis - batch);
    let from = (0..batch).chain(behind..behind + before).chain(batch..behind);
    let rest = behind + before..behind + shape.len() - batch - 1;
    transposed_by(core, &found, from.chain(rest).collect())
}

/// Transposes a tensor. `from`: by axis of the result, the axis of the tensor.
fn transposed_by(core: &mut CoreBuilder, known: &Known, from: Vec<usize>) -> Rule<Known> {
    let shape = core.shape_of(known);
    let row_major = signed(strides(&shape));
    let (strides, shape) = from.iter().map(|&axis| (row_major[axis], shape[axis])).unzip();
    Ok(core.view(known, Geometry { offset: 0, strides, shape })?)
}

/// The parts at the rows of the indices, as `[rows of the indices.., part..]`.
fn gathered_parts(
    core: &mut CoreBuilder,
    args: &Operands,
    data: &Known,
    indices: &Known,
    batch: usize,
) -> Rule<Known> {
    let (shape, of_indices) = (core.shape_of(data), core.shape_of(indices));
    let (&depth, outer) = of_indices.split_last().expect("translate: indices have a dimension");
    let (places, part) = shape.split_at(batch + depth);
    let table = [&[places.iter().product()], part].concat();
    let table = core.view(data, Geometry::reshaped(table))?;
    if let Some(numbers) = known_places(args, &of_indices, places, batch)? {
        return gathered(core, &table, 0, &numbers, outer);
    }
    let numbers = computed_places(core, indices, places, batch)?;
    look_up(core, &table, &numbers, 0)
}

/// By row of constant indices, the index of the part among all parts. `Ok(None)` if the indices are
/// computed.
fn known_places(
    args: &Operands,
    of_indices: &[usize],
    sizes: &[usize],
    batch: usize,
) -> Rule<Option<Vec<usize>>> {
    let indices = args.get(1)?;
    if matches!(indices, Known::Source(..)) && !indices.element().is_float() {
        return Ok(None);
    }
    let numbers = args.integers(1, "the indices")?;
    let (own, depth) = (strides(sizes), sizes.len() - batch);
    let of_rows = strides(&of_indices[..of_indices.len() - 1]);
    let mut places = Vec::with_capacity(numbers.len() / depth);
    for (row, index) in numbers.chunks(depth).enumerate() {
        let mut at: usize = (0..batch).map(|d| row / of_rows[d] % of_indices[d] * own[d]).sum();
        for (d, &index) in index.iter().enumerate() {
            at += checked_index(index, sizes[batch + d])? * own[batch + d];
        }
        places.push(at);
    }
    Ok(Some(places))
}

/// By row of computed indices, the index of the part among all parts.
fn computed_places(
    core: &mut CoreBuilder,
    indices: &Known,
    sizes: &[usize],
    batch: usize,
) -> Rule<Known> {
    let indices = converted(core, indices, ElementType::I64)?;
    let of_indices = core.shape_of(&indices);
    let (&depth, outer) = of_indices.split_last().expect("translate: indices have a dimension");
    let row_major = strides(sizes);
    let mut total = None;
    for d in 0..depth {
        let geometry = Geometry {
            offset: d,
            strides: signed(strides(&of_indices))[..outer.len()].to_vec(),
            shape: outer.to_vec(),
        };
        let index = core.view(&indices, geometry)?;
        let index = counted_places(core, &index, sizes[batch + d])?;
        total = Some(added(core, total, index, row_major[batch + d])?);
    }
    for d in (0..batch).filter(|&d| sizes[d] > 1) {
        let numbers = numbers_along(&indices, d, outer.len(), sizes[d], 1);
        total = Some(added(core, total, numbers, row_major[d])?);
    }
    total.ok_or(Refusal::Reported)
}

/// A sum, plus a term times a factor.
fn added(core: &mut CoreBuilder, sum: Option<Known>, term: Known, factor: usize) -> Rule<Known> {
    let factor = Known::number_like(&term, factor as f32);
    let term = compute(core, Binary::Multiply, vec![term, factor])?;
    match sum {
        Some(sum) => compute(core, Binary::Add, vec![sum, term]),
        None => Ok(term),
    }
}

/// ScatterND: data with parts replaced by the updates, or combined with the updates. Each row of
/// the indices selects one part.
pub(super) fn scatter_nd(
    core: &mut CoreBuilder,
    args: &Operands,
    combine: Option<Binary>,
) -> Rule<Known> {
    let (data, indices, updates) = (args.get(0)?, args.get(1)?, args.get(2)?);
    let [shape, of_indices, given] = [&data, &indices, &updates].map(|known| core.shape_of(known));
    let depth = of_indices.last().copied().unwrap_or(0);
    let outer = &of_indices[..of_indices.len().saturating_sub(1)];
    if depth == 0 || depth > shape.len() || given != [outer, &shape[depth..]].concat() {
        let shapes = [shape, of_indices, given];
        return Err(shapes_differ(
            &shapes,
            "updates of the shape of the indices and of the parts",
            "correct them",
        ));
    }
    let places = known_places(args, &of_indices, &shape[..depth], 0)?;
    match places {
        Some(parts) => {
            let len: usize = shape[depth..].iter().product();
            let places: Vec<usize> =
                parts.iter().flat_map(|&part| part * len..(part + 1) * len).collect();
            scattered(core, &data, &updates, &places, combine)
        }
        None => scattered_parts(core, [&data, &indices, &updates], combine),
    }
}

/// Data with parts replaced at computed indices, or combined with the updates, one update after the
/// other.
fn scattered_parts(
    core: &mut CoreBuilder,
    [data, indices, updates]: [&Known; 3],
    combine: Option<Binary>,
) -> Rule<Known> {
    let [shape, of_indices] = [data, indices].map(|known| core.shape_of(known));
    let (&depth, outer) = of_indices.split_last().expect("translate: indices have a dimension");
    let (count, len) = (outer.iter().product::<usize>(), shape[depth..].iter().product::<usize>());
    few_scattered(count)?;
    let places = computed_places(core, indices, &shape[..depth], 0)?;
    let parts = shape[..depth].iter().product();
    let numbers: Vec<i64> = (0..parts as i64).collect();
    let numbers = Known::integers(vec![parts, 1], &numbers, ElementType::I64);
    all_exact(std::slice::from_ref(&numbers))?;
    let mut whole = core.view(data, Geometry::reshaped(vec![parts, len]))?;
    for update in 0..count {
        let geometry = Geometry { offset: update, strides: vec![1; 2], shape: vec![1; 2] };
        let index = core.view(&places, geometry)?;
        let new =
            Geometry { offset: update * len, strides: vec![len as isize, 1], shape: vec![1, len] };
        let mut new = core.view(updates, new)?;
        if let Some(function) = combine {
            new = compute(core, function, vec![whole.clone(), new])?;
        }
        let is_here = compute(core, Comparison::Equal, vec![numbers.clone(), index])?;
        whole = compute(core, Primitive::Select, vec![is_here, new, whole])?;
    }
    Ok(core.view(&whole, Geometry::reshaped(shape))?)
}

/// Gather. Inputs: data, indices, axis.
pub(super) fn gather(core: &mut CoreBuilder, args: &Operands, batch_dims: i64) -> Rule<Known> {
    let (data, indices) = (args.get(0)?, args.get(1)?);
    let axis = args.integer(2, "the axis")?;
    let (shape, of_indices) = (core.shape_of(&data), core.shape_of(&indices));
    let axis = args.axis(axis, shape.len())?;
    if batch_dims != 0 {
        // a negative `batch_dims` counts from the rank of the indices
        let (rank, most) = (of_indices.len() as i64, axis.min(of_indices.len()) as i64);
        let batch = batch_axes(args, batch_dims, [-rank, most], rank)?;
        return gather_by_rows(core, args, [&data, &indices], axis, batch);
    }
    if matches!(indices, Known::Source(..)) && !indices.element().is_float() {
        return look_up(core, &data, &indices, axis);
    }
    let numbers = args.integers(1, "the indices")?;
    let places: Vec<usize> =
        numbers.iter().map(|&index| checked_index(index, shape[axis])).collect::<Rule<_>>()?;
    gathered(core, &data, axis, &places, &of_indices)
}
