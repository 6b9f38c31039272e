//! The largest or smallest elements along an axis.

use super::operands::{Operands, all_exact};
use super::refusal::{Refusal, Rule};
use crate::core::{CoreBuilder, CoreOp, Geometry, Known, Source, TopK, strides};
use crate::model::{self, ElementType};

/// The most elements that TopK selects from a row. Generated code reads the row once
/// for each selected element.
const MOST_WANTED: usize = 64;

/// The most elements in a row: f32 stores their indices exactly.
const MOST_PLACES: usize = 1 << 24;

/// TopK. Inputs: data, count. Outputs: the elements and their indices.
pub(super) fn top_k(
    core: &mut CoreBuilder,
    args: &Operands,
    attributes: model::TopKAttributes,
) -> Rule<Vec<Known>> {
    let model::TopKAttributes { axis, largest, last, sorted_by_index } = attributes;
    let input = args.get(0)?;
    let count = args.integer(1, "the number of elements")?;
    let shape = core.shape_of(&input);
    let axis = args.axis(axis, shape.len())?;
    let size = shape[axis];
    let Some(count) =
        usize::try_from(count).ok().filter(|&count| count > 0 && count <= size.min(MOST_WANTED))
    else {
        let found = format!("{count} of {size} elements");
        let valid = format!("1 to {}", size.min(MOST_WANTED));
        return Err(Refusal::new(found, valid, "take fewer elements"));
    };
    if sorted_by_index && count > 1 {
        let found = "the best elements in the order of their places";
        return Err(Refusal::new(found, "the best one first", "sort them by their values"));
    }
    let best = BestAlongAxis { axis, size, count, largest, last };
    best.selected(core, args, &input).map(Vec::from)
}

/// The selection of the best elements along an axis.
struct BestAlongAxis {
    axis: usize,
    size: usize,
    count: usize,
    largest: bool,
    last: bool,
}

impl BestAlongAxis {
    /// Selects the elements of `input`. Returns the elements and their indices.
    fn selected(self, core: &mut CoreBuilder, args: &Operands, input: &Known) -> Rule<[Known; 2]> {
        let Self { axis, size, count, largest, last } = self;
        all_exact(std::slice::from_ref(input))?;
        if size > MOST_PLACES {
            let found = format!("the best of {} elements", size);
            return Err(Refusal::new(
                found,
                format!("{MOST_PLACES} elements or fewer"),
                "split the tensor",
            ));
        }
        let shape = core.shape_of(input);
        let row_major = strides(&shape);
        let axis_last = |others: &[usize], last: usize| {
            [&others[..axis], &others[axis + 1..], &[last]].concat()
        };
        // the axis becomes the last axis, so that rows are contiguous
        let rows_view = Geometry {
            offset: 0,
            strides: axis_last(&row_major, row_major[axis])
                .iter()
                .map(|&stride| stride as isize)
                .collect(),
            shape: axis_last(&shape, size),
        };
        let rows_view = core.view(input, rows_view)?;
        let source = core.source(&rows_view)?;
        let best = axis_last(&shape, count);
        core.computable(&best)?;
        let [values, indices] = [0; 2].map(|_| core.value(best.clone()));
        core.emit(CoreOp::TopK(TopK {
            input: source,
            rows: best.iter().product::<usize>() / count,
            size,
            count,
            largest,
            last,
            values: Some(values),
            indices: Some(indices),
        }));
        let values = Known::Source(Source::Value(values), input.element());
        core.facts.set_range(&values, core.facts.range_of(input));
        let element = args.node.outputs.get(1).map(|output| args.model.values[output.0].element);
        let element = element.filter(|element| !element.is_float()).unwrap_or(ElementType::I64);
        let indices = Known::Source(Source::Value(indices), element);
        core.facts.set_range(&indices, [0.0, (size - 1) as f64]);
        // the axis moves back to its place
        let row_major = strides(&best);
        let (stride, others) = row_major.split_last().expect("translate: an axis");
        let (count, sizes) = best.split_last().expect("translate: an axis");
        let back = |sizes_along: &[usize], one: usize| {
            [&sizes_along[..axis], &[one], &sizes_along[axis..]].concat()
        };
        let geometry = || Geometry {
            offset: 0,
            strides: back(others, *stride).iter().map(|&stride| stride as isize).collect(),
            shape: back(sizes, *count),
        };
        Ok([core.view(&values, geometry())?, core.view(&indices, geometry())?])
    }
}
