//! Elements and parts at constant indices.

use super::slices::{AxisSlice, geometry};
use crate::core::CoreBuilder;
use crate::core::{Concat, CoreOp, Geometry, Known, Source, fold, signed, strides};
use crate::translate::refusal::{Refusal, Rule};

/// The most runs of neighbouring indices in a Gather from a computed tensor, unless the indices are
/// an arithmetic progression.
const MOST_GATHERED: usize = 256;

/// The elements at indices along an axis; the dimensions of the indices replace the axis.
pub(in crate::translate) fn gathered(
    core: &mut CoreBuilder,
    data: &Known,
    axis: usize,
    places: &[usize],
    dimensions: &[usize],
) -> Rule<Known> {
    let shape = core.shape_of(data);
    let to: Vec<usize> = [&shape[..axis], dimensions, &shape[axis + 1..]].concat();
    let row_major = strides(&shape);
    let step = match places[..] {
        [] | [_] => 0,
        [first, second, ..] => second as isize - first as isize,
    };
    if places.windows(2).all(|w| w[1] as isize - w[0] as isize == step) {
        let along =
            signed(strides(dimensions)).into_iter().map(|s| s * step * row_major[axis] as isize);
        let before = row_major[..axis].iter().map(|&s| s as isize);
        let after = row_major[axis + 1..].iter().map(|&s| s as isize);
        let geometry = Geometry {
            offset: places.first().map_or(0, |&first| first * row_major[axis]),
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
    // runs of neighbouring indices, each with its first index and its length
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &index in places {
        let many = runs.len() == MOST_GATHERED;
        match runs.last_mut() {
            Some((start, count)) if *start + *count == index => *count += 1,
            _ if many => {
                let found = format!("more than {MOST_GATHERED} runs of indices in no order");
                let valid = format!("{MOST_GATHERED} or fewer, or a progression");
                return Err(Refusal::new(found, valid, "gather from a constant, or fewer at once"));
            }
            _ => runs.push((index, 1)),
        }
    }
    let shape = core.shape_of(data);
    let mut inputs = Vec::new();
    for (start, count) in runs {
        let mut along: Vec<AxisSlice> = shape.iter().map(|&size| AxisSlice::all(size)).collect();
        along[axis] = AxisSlice { start, count, step: 1 };
        let part = core.view(data, geometry(&shape, &along))?;
        inputs.extend(core.source(&part));
    }
    let mut gathered = shape;
    gathered[axis] = places.len();
    core.computable(&gathered)?;
    let out = core.value(gathered);
    core.emit(CoreOp::Concat(Concat { axis, inputs, is_window: false, out }));
    let side_by_side = Known::Source(Source::Value(out), data.element());
    core.facts.set_range(&side_by_side, core.facts.range_of(data));
    Ok(core.view(&side_by_side, Geometry::reshaped(to))?)
}
