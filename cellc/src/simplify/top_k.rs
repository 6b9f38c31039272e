//! The best elements along an axis.

use super::translator::Translator;
use crate::core::{CoreOp, Geometry, Known, Source, TopK, strides};
use crate::model::{ElementType, Node};

/// The largest number of elements that TopK selects from a row. Generated code reads the row once
/// for each selected element.
const MOST_WANTED: usize = 64;

/// The largest number of elements in a row: their indices are stored in f32.
const MOST_PLACES: usize = 1 << 24;

impl Translator<'_, '_> {
    pub(super) fn top_k(
        &mut self,
        node: &Node,
        axis: i64,
        largest: bool,
        last: bool,
        sorted_by_place: bool,
    ) {
        let Some(input) = self.input(node, 0) else { return };
        let Some(count) = self.integer(node, 1, "the number of elements") else { return };
        let shape = self.shape_of(&input);
        let Some(axis) = self.axis(node, axis, shape.len()) else { return };
        let size = shape[axis];
        let Some(count) = usize::try_from(count)
            .ok()
            .filter(|&count| count > 0 && count <= size.min(MOST_WANTED))
        else {
            let found = format!("{count} of {size} elements");
            let valid = format!("1 to {}", size.min(MOST_WANTED));
            self.error(node, &node.origin, found, valid, "take fewer elements");
            return;
        };
        if sorted_by_place && count > 1 {
            let found = "the best elements in the order of their places";
            self.error(
                node,
                &node.origin,
                found,
                "the best one first",
                "sort them by their values",
            );
            return;
        }
        if let Some([values, places]) = self.best(
            node,
            &input,
            axis,
            TopK {
                input: Source::Parameter(0),
                rows: 1,
                size,
                count,
                largest,
                last,
                values: None,
                places: None,
            },
        ) {
            self.set(node, 0, values);
            self.set(node, 1, places);
        }
    }

    fn best(&mut self, node: &Node, input: &Known, axis: usize, top: TopK) -> Option<[Known; 2]> {
        self.all_exact(node, std::slice::from_ref(input))?;
        if top.size > MOST_PLACES {
            let found = format!("the best of {} elements", top.size);
            self.error(
                node,
                &node.origin,
                found,
                format!("{MOST_PLACES} elements or fewer"),
                "split the tensor",
            );
            return None;
        }
        let shape = self.shape_of(input);
        let own = strides(&shape);
        let with =
            |others: &[usize], own: usize| [&others[..axis], &others[axis + 1..], &[own]].concat();
        // the axis last
        let turned = Geometry {
            offset: 0,
            strides: with(&own, own[axis]).iter().map(|&stride| stride as isize).collect(),
            shape: with(&shape, top.size),
        };
        let turned = self.view(node, input, turned)?;
        let source = self.source(&turned)?;
        let best = with(&shape, top.count);
        self.computable(node, &best)?;
        let [values, places] = [0; 2].map(|_| self.value(best.clone()));
        let rows = best.iter().product::<usize>() / top.count;
        let size = top.size;
        let (values_out, places_out) = (Some(values), Some(places));
        self.emit(
            node,
            CoreOp::TopK(TopK {
                input: source,
                rows,
                values: values_out,
                places: places_out,
                ..top
            }),
        );
        let values = Known::Source(Source::Value(values), input.element());
        self.core.facts.set_range(&values, self.core.facts.range_of(input));
        let element = node.outputs.get(1).map(|output| self.model.values[output.0].element);
        let element = element.filter(|element| !element.is_float()).unwrap_or(ElementType::I64);
        let places = Known::Source(Source::Value(places), element);
        self.core.facts.set_range(&places, [0.0, (size - 1) as f64]);
        // and back to its place
        let own = strides(&best);
        let (last, others) = own.split_last()?;
        let (count, sizes) = best.split_last()?;
        let back = |of: &[usize], one: usize| [&of[..axis], &[one], &of[axis..]].concat();
        let geometry = || Geometry {
            offset: 0,
            strides: back(others, *last).iter().map(|&stride| stride as isize).collect(),
            shape: back(sizes, *count),
        };
        Some([self.view(node, &values, geometry())?, self.view(node, &places, geometry())?])
    }
}
