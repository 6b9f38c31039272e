//! Rows of a table at run-time indices.

use super::operands::all_exact;
use super::refusal::{Refusal, Rule};
use crate::core::CoreBuilder;
use crate::core::{CoreOp, Geometry, INTEGER_LIMIT, Known, Lookup, Source, strides};

/// Parts of data along an axis, at computed indices.
pub(super) fn look_up(
    core: &mut CoreBuilder,
    data: &Known,
    indices: &Known,
    axis: usize,
) -> Rule<Known> {
    let (shape, of_indices) = (core.shape_of(data), core.shape_of(indices));
    let size = shape[axis];
    if size == 0 || size > INTEGER_LIMIT as usize {
        let found = format!("a table of {size} rows");
        let valid = format!("1 to {INTEGER_LIMIT} rows");
        return Err(Refusal::new(found, valid, "split the table"));
    }
    all_exact(&[data.clone(), indices.clone()])?;
    let row_major = strides(&shape);
    let others = |sizes_along: &[usize]| [&sizes_along[..axis], &sizes_along[axis + 1..]].concat();
    let (inner, inner_strides) = (others(&shape), others(&row_major));
    // the axis of the lookup becomes the first axis
    let table = Geometry {
        offset: 0,
        strides: [&[row_major[axis]][..], &inner_strides]
            .concat()
            .iter()
            .map(|&stride| stride as isize)
            .collect(),
        shape: [&[size][..], &inner].concat(),
    };
    let len: usize = inner.iter().product();
    let found_shape = [&of_indices[..], &inner].concat();
    core.computable(&found_shape)?;
    if let Known::Source(Source::Value(value), _) = indices
        && let Some(&(parameter, _)) = core.facts.parameter_of.get(value)
    {
        let fewest_rows = &mut core.model.parameters[parameter].rows;
        *fewest_rows = Some(fewest_rows.map_or(size, |fewest| fewest.min(size)));
    }
    let shape = [&inner[..axis], &of_indices[..], &inner[axis..]].concat();
    if size == 1 {
        // every index selects the only row
        let repeated = vec![0; of_indices.len()];
        let strides = [&inner_strides[..axis], &repeated, &inner_strides[axis..]].concat();
        let strides = strides.iter().map(|&stride| stride as isize).collect();
        return Ok(core.view(data, Geometry { offset: 0, strides, shape })?);
    }
    let table = core.view(data, table)?;
    let (table_source, indices) = (core.source(&table)?, core.source(indices)?);
    let out = core.value(found_shape.clone());
    core.emit(CoreOp::Lookup(Lookup { table: table_source, size, len, indices, out }));
    let found = Known::Source(Source::Value(out), data.element());
    core.facts.set_range(&found, core.facts.range_of(data));
    // the axis of the lookup returns to its place
    let row_major = strides(&found_shape);
    let (numbers, parts) = row_major.split_at(of_indices.len());
    let places = [&parts[..axis], numbers, &parts[axis..]].concat();
    Ok(core.view(
        &found,
        Geometry { offset: 0, strides: places.iter().map(|&s| s as isize).collect(), shape },
    )?)
}
