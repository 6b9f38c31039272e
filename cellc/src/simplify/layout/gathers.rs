//! Elements and parts at indices that are known when compiling.

use super::slices::{Along, geometry};
use crate::core::{Concat, CoreOp, Geometry, Known, Source, counted, fold, signed, strides};
use crate::model::{Node, shape_text};
use crate::simplify::translator::Translator;

/// The most indices of a Gather of a computed tensor that are no progression.
const MOST_GATHERED: usize = 256;

impl<'a> Translator<'_, 'a> {
    pub(in crate::simplify) fn gather(&mut self, node: &Node, batch_dims: i64) {
        let (Some(data), Some(indices)) = (self.input(node, 0), self.input(node, 1)) else {
            return;
        };
        let Some(axis) = self.integer(node, 2, "the axis") else { return };
        let (shape, of_indices) = (self.shape_of(&data), self.shape_of(&indices));
        let Some(axis) = self.axis(node, axis, shape.len()) else { return };
        if batch_dims != 0 {
            // a negative number counts from the last axis of the indices
            let all = of_indices.len();
            let batch = if batch_dims == all as i64 { Some(all) } else { counted(batch_dims, all) };
            match batch.filter(|&batch| batch <= axis) {
                Some(batch) => self.gather_by_rows(node, [&data, &indices], axis, batch),
                None => {
                    let found = format!("{} of {batch_dims}", node.spelling.batch_dims);
                    let valid = format!("0 to {}", axis.min(all));
                    let origin = node.attribute_origin(node.spelling.batch_dims);
                    self.error(node, origin, found, valid, "correct the number");
                }
            }
            return;
        }
        if matches!(indices, Known::Source(..)) && !indices.element().is_float() {
            if let Some(found) = self.look_up(node, &data, &indices, axis) {
                self.set(node, 0, found);
            }
            return;
        }
        let Some(numbers) = self.integers(node, 1, "the indices") else { return };
        let places: Option<Vec<usize>> = numbers.iter().map(|&i| counted(i, shape[axis])).collect();
        let Some(places) = places else {
            let found = format!("an index that is not among the {} along axis {axis}", shape[axis]);
            let valid = format!("{} to {}", -(shape[axis] as i64), shape[axis] as i64 - 1);
            self.error(node, &node.origin, found, valid, "correct the indices");
            return;
        };
        if let Some(taken) = self.gathered(node, &data, axis, &places, &of_indices) {
            self.set(node, 0, taken);
        }
    }

    /// The elements at indices along an axis; the dimensions of the indices replace the axis.
    pub(in crate::simplify) fn gathered(
        &mut self,
        node: &Node,
        data: &Known,
        axis: usize,
        places: &[usize],
        dimensions: &[usize],
    ) -> Option<Known> {
        let shape = self.shape_of(data);
        let to: Vec<usize> = [&shape[..axis], dimensions, &shape[axis + 1..]].concat();
        let own = strides(&shape);
        let step = match places[..] {
            [] | [_] => 0,
            [first, second, ..] => second as isize - first as isize,
        };
        if places.windows(2).all(|w| w[1] as isize - w[0] as isize == step) {
            let along =
                signed(strides(dimensions)).into_iter().map(|s| s * step * own[axis] as isize);
            let before = own[..axis].iter().map(|&s| s as isize);
            let after = own[axis + 1..].iter().map(|&s| s as isize);
            let geometry = Geometry {
                offset: places.first().map_or(0, |&first| first * own[axis]),
                strides: before.chain(along).chain(after).collect(),
                shape: to,
            };
            return self.view(node, data, geometry);
        }
        match data {
            Known::Constant(tensor, element) => {
                self.foldable(node, &to, *element)?;
                Some(Known::Constant(fold::gather(tensor, axis, places, to), *element))
            }
            Known::Source(..) | Known::Iteration(..) => {
                self.gather_one_by_one(node, data, axis, places, to)
            }
        }
    }

    fn gather_one_by_one(
        &mut self,
        node: &Node,
        data: &Known,
        axis: usize,
        places: &[usize],
        to: Vec<usize>,
    ) -> Option<Known> {
        // neighbouring indices form runs, each with its first index and its length
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for &place in places {
            let many = runs.len() == MOST_GATHERED;
            match runs.last_mut() {
                Some((start, count)) if *start + *count == place => *count += 1,
                _ if many => {
                    let found = format!("more than {MOST_GATHERED} runs of indices in no order");
                    let valid = format!("{MOST_GATHERED} or fewer, or a progression");
                    self.error(
                        node,
                        &node.origin,
                        found,
                        valid,
                        "gather from a constant, or fewer at once",
                    );
                    return None;
                }
                _ => runs.push((place, 1)),
            }
        }
        let shape = self.shape_of(data);
        let mut inputs = Vec::new();
        for (start, count) in runs {
            let mut along: Vec<Along> = shape.iter().map(|&size| Along::whole(size)).collect();
            along[axis] = Along { start, count, step: 1 };
            let part = self.view(node, data, geometry(&shape, &along))?;
            inputs.extend(self.source(&part));
        }
        let mut all = shape;
        all[axis] = places.len();
        self.computable(node, &all)?;
        let out = self.value(all);
        self.emit(node, CoreOp::Concat(Concat { axis, inputs, out }));
        let side_by_side = Known::Source(Source::Value(out), data.element());
        self.core.facts.set_range(&side_by_side, self.core.facts.range_of(data));
        self.view(node, &side_by_side, Geometry::reshaped(to))
    }

    pub(in crate::simplify) fn scatter_update(&mut self, node: &Node) {
        let (Some(data), Some(indices), Some(new)) =
            (self.input(node, 0), self.input(node, 1), self.input(node, 2))
        else {
            return;
        };
        let (Some(numbers), Some(axis)) =
            (self.integers(node, 1, "the indices"), self.integer(node, 3, "the axis"))
        else {
            return;
        };
        let (shape, of_indices, of_new) =
            (self.shape_of(&data), self.shape_of(&indices), self.shape_of(&new));
        let Some(axis) = self.axis(node, axis, shape.len()) else { return };
        let first = numbers.first().and_then(|&i| counted(i, shape[axis]));
        let follow = numbers.windows(2).all(|w| w[1].checked_sub(w[0]) == Some(1));
        let Some(first) = first.filter(|first| follow && first + numbers.len() <= shape[axis])
        else {
            let found = format!(
                "the indices {} along an axis of {} elements",
                shape_text(&numbers),
                shape[axis]
            );
            self.error(
                node,
                &node.origin,
                found,
                "indices that follow one another",
                "replace the parts one by one",
            );
            return;
        };
        if of_new != [&shape[..axis], &of_indices, &shape[axis + 1..]].concat() {
            self.shapes_differ(
                node,
                &[shape, of_indices, of_new],
                "new parts as large as the old ones",
                "correct the shapes",
            );
            return;
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
            let part = match start == first {
                true => self.view(node, &new, Geometry::reshaped(old.shape)),
                false => self.view(node, &data, old),
            };
            let Some(part) = part else { return };
            parts.push(part);
        }
        if let Some(whole) = self.put_together(node, &parts, axis as i64) {
            self.set(node, 0, whole);
        }
    }

    pub(in crate::simplify) fn reverse_sequence(
        &mut self,
        node: &Node,
        batch_axis: i64,
        seq_axis: i64,
    ) {
        let Some(data) = self.input(node, 0) else { return };
        let shape = self.shape_of(&data);
        let (batch, steps) =
            (self.axis(node, batch_axis, shape.len()), self.axis(node, seq_axis, shape.len()));
        let (Some(batch), Some(steps)) = (batch, steps) else { return };
        if let Some(lengths @ Known::Source(..)) = self.input(node, 1) {
            if let Some(reversed) = self.reversed_at_run_time(node, &data, &lengths, batch, steps) {
                self.set(node, 0, reversed);
            }
            return;
        }
        let Some(lengths) = self.integers(node, 1, "the lengths") else { return };
        let inside: Option<Vec<usize>> =
            lengths.iter().map(|&length| usize::try_from(length).ok()).collect();
        let inside = inside.filter(|all| {
            all.len() == shape[batch] && all.iter().all(|&length| length <= shape[steps])
        });
        let Some(lengths) = inside else {
            let found = format!(
                "lengths of {} for {} by {}",
                shape_text(&lengths),
                shape[batch],
                shape[steps]
            );
            let valid = "a length for each sequence, no longer than the axis";
            self.error(node, &node.origin, found, valid, "correct the lengths");
            return;
        };
        let whole = |lengths: &[usize]| {
            let mut along: Vec<Along> = shape.iter().map(|&size| Along::whole(size)).collect();
            along[steps] = Along::range(shape[steps], None, None, -1);
            lengths.iter().all(|&length| length == shape[steps]).then(|| geometry(&shape, &along))
        };
        if let Some(geometry) = whole(&lengths) {
            self.set_view(node, 0, &data, geometry);
            return;
        }
        let mut sequences = Vec::new();
        for (k, &length) in lengths.iter().enumerate() {
            let mut one: Vec<Along> = shape.iter().map(|&size| Along::whole(size)).collect();
            one[batch] = Along::range(shape[batch], Some(k as i64), Some(k as i64 + 1), 1);
            let Some(sequence) = self.view(node, &data, geometry(&shape, &one)) else { return };
            let of_one = self.shape_of(&sequence);
            let places: Vec<usize> = (0..length).rev().chain(length..shape[steps]).collect();
            let Some(sequence) =
                self.gathered(node, &sequence, steps, &places, &of_one[steps..=steps])
            else {
                return;
            };
            sequences.push(sequence);
        }
        if let Some(reversed) = self.put_together(node, &sequences, batch as i64) {
            self.set(node, 0, reversed);
        }
    }
}
