//! Parts of a tensor at places that rows of indices name: GatherND, Gather by rows, and ScatterND.

use super::scatter::MOST_SCATTERED;
use super::translator::Translator;
use crate::core::{Geometry, Known, signed, strides};
use crate::model::{ElementType, Elementwise, GatherNd, Node, Tensor};

impl Translator<'_, '_> {
    /// GatherND: parts of data, one for each row of the indices. Constant indices are resolved when
    /// compiling. Computed indices outside of an axis are clamped.
    pub(super) fn gather_nd(&mut self, node: &Node, of: GatherNd) {
        let (Some(data), Some(indices)) = (self.input(node, 0), self.input(node, 1)) else {
            return;
        };
        let (shape, of_indices) = (self.shape_of(&data), self.shape_of(&indices));
        let rank = shape.len().min(of_indices.len().saturating_sub(1));
        let Some(batch) = usize::try_from(of.batch_dims).ok().filter(|&batch| batch <= rank) else {
            let found = format!("{} of {}", node.spelling.batch_dims, of.batch_dims);
            let origin = node.attribute_origin(node.spelling.batch_dims);
            self.error(node, origin, found, format!("0 to {rank}"), "correct the number");
            return;
        };
        let depth = of_indices.last().copied().unwrap_or(0);
        if depth == 0 || batch + depth > shape.len() || shape[..batch] != of_indices[..batch] {
            let valid = "equal sizes in the batch, and 1 index or more, at most one for each axis \
                behind the batch";
            self.shapes_differ(node, &[shape, of_indices], valid, "correct the indices");
            return;
        }
        let Some(found) = self.gathered_parts(node, &data, &indices, batch) else { return };
        let outer = &of_indices[..of_indices.len() - 1];
        let first: usize = outer[..batch].iter().product();
        let of_batch =
            if of.flattens_batch && batch > 1 { vec![first] } else { outer[..batch].to_vec() };
        let to = [&of_batch, &outer[batch..], &shape[batch + depth..]].concat();
        self.set_view(node, 0, &found, Geometry::reshaped(to));
    }

    /// Gather with `batch_dims`: elements along an axis of data, by the indices of each row of the
    /// batch. They stand in the place of the axis.
    pub(super) fn gather_by_rows(
        &mut self,
        node: &Node,
        [data, indices]: [&Known; 2],
        axis: usize,
        batch: usize,
    ) {
        let [shape, of_indices] = [data, indices].map(|known| self.shape_of(known));
        if shape[..batch] != of_indices[..batch] {
            self.shapes_differ(
                node,
                &[shape, of_indices],
                "equal sizes in the batch",
                "correct the indices",
            );
            return;
        }
        // the axis moves behind the axes of the batch
        let from = (0..batch).chain([axis]).chain((batch..shape.len()).filter(|&d| d != axis));
        let Some(data) = self.transposed_by(node, data, from.collect()) else { return };
        let each = Geometry::reshaped([&of_indices[..], &[1]].concat());
        let Some(indices) = self.view(node, indices, each) else { return };
        let Some(found) = self.gathered_parts(node, &data, &indices, batch) else { return };
        let to = [&of_indices[..], &shape[batch..axis], &shape[axis + 1..]].concat();
        let Some(found) = self.view(node, &found, Geometry::reshaped(to)) else { return };
        let (behind, before) = (of_indices.len(), axis - batch);
        let from = (0..batch).chain(behind..behind + before).chain(batch..behind);
        let rest = behind + before..behind + shape.len() - batch - 1;
        if let Some(found) = self.transposed_by(node, &found, from.chain(rest).collect()) {
            self.set(node, 0, found);
        }
    }

    /// A tensor with its axes in another order: `from` names the old axis of each.
    fn transposed_by(&mut self, node: &Node, known: &Known, from: Vec<usize>) -> Option<Known> {
        let shape = self.shape_of(known);
        let own = signed(strides(&shape));
        let (strides, shape) = from.iter().map(|&axis| (own[axis], shape[axis])).unzip();
        self.view(node, known, Geometry { offset: 0, strides, shape })
    }

    /// The parts, in the shape of the rows of the indices and of a part.
    fn gathered_parts(
        &mut self,
        node: &Node,
        data: &Known,
        indices: &Known,
        batch: usize,
    ) -> Option<Known> {
        let (shape, of_indices) = (self.shape_of(data), self.shape_of(indices));
        let (&depth, outer) = of_indices.split_last()?;
        let (places, part) = shape.split_at(batch + depth);
        let table = [&[places.iter().product()], part].concat();
        let table = self.view(node, data, Geometry::reshaped(table))?;
        if let Some(numbers) = self.known_places(node, &of_indices, places, batch)? {
            return self.gathered(node, &table, 0, &numbers, outer);
        }
        let numbers = self.computed_places(node, indices, places, batch)?;
        self.look_up(node, &table, &numbers, 0)
    }

    /// By row of constant indices, the place among all parts; the inner `None` where indices are
    /// computed.
    #[expect(clippy::option_option, reason = "the outer one is an error")]
    fn known_places(
        &mut self,
        node: &Node,
        of_indices: &[usize],
        sizes: &[usize],
        batch: usize,
    ) -> Option<Option<Vec<usize>>> {
        let indices = self.input(node, 1)?;
        if matches!(indices, Known::Source(..)) && !indices.element().is_float() {
            return Some(None);
        }
        let numbers = self.integers(node, 1, "the indices")?;
        let (own, depth) = (strides(sizes), sizes.len() - batch);
        let of_rows = strides(&of_indices[..of_indices.len() - 1]);
        let mut places = Vec::with_capacity(numbers.len() / depth);
        for (row, index) in numbers.chunks(depth).enumerate() {
            let mut at: usize = (0..batch).map(|d| row / of_rows[d] % of_indices[d] * own[d]).sum();
            for (d, &index) in index.iter().enumerate() {
                at += self.place(node, index, sizes[batch + d])? * own[batch + d];
            }
            places.push(at);
        }
        Some(Some(places))
    }

    /// By row of computed indices, the place among all parts.
    fn computed_places(
        &mut self,
        node: &Node,
        indices: &Known,
        sizes: &[usize],
        batch: usize,
    ) -> Option<Known> {
        let indices = self.converted(node, indices, ElementType::I64)?;
        let of_indices = self.shape_of(&indices);
        let (&depth, outer) = of_indices.split_last()?;
        let own = strides(sizes);
        let mut all = None;
        for d in 0..depth {
            let geometry = Geometry {
                offset: d,
                strides: signed(strides(&of_indices))[..outer.len()].to_vec(),
                shape: outer.to_vec(),
            };
            let index = self.view(node, &indices, geometry)?;
            let index = self.counted(node, &index, sizes[batch + d])?;
            all = Some(self.added(node, all, index, own[batch + d])?);
        }
        for d in (0..batch).filter(|&d| sizes[d] > 1) {
            let numbers = self.numbers_along(&indices, d, outer.len(), sizes[d], 1)?;
            all = Some(self.added(node, all, numbers, own[d])?);
        }
        all
    }

    /// A sum and a term times a factor.
    fn added(
        &mut self,
        node: &Node,
        sum: Option<Known>,
        term: Known,
        factor: usize,
    ) -> Option<Known> {
        let factor = self.number_like(&term, factor as f32)?;
        let term = self.computed(node, Elementwise::Multiply, vec![term, factor])?;
        match sum {
            Some(sum) => self.computed(node, Elementwise::Add, vec![sum, term]),
            None => Some(term),
        }
    }

    /// Data with parts replaced, or combined with the updates: each row of the indices names the
    /// place of a part.
    pub(super) fn scatter_nd(&mut self, node: &Node, combine: Option<Elementwise>) {
        let inputs = (self.input(node, 0), self.input(node, 1), self.input(node, 2));
        let (Some(data), Some(indices), Some(updates)) = inputs else { return };
        let [shape, of_indices, given] =
            [&data, &indices, &updates].map(|known| self.shape_of(known));
        let depth = of_indices.last().copied().unwrap_or(0);
        let outer = &of_indices[..of_indices.len().saturating_sub(1)];
        if depth == 0 || depth > shape.len() || given != [outer, &shape[depth..]].concat() {
            let shapes = [shape, of_indices, given];
            self.shapes_differ(
                node,
                &shapes,
                "updates of the shape of the indices and of the parts",
                "correct them",
            );
            return;
        }
        let Some(places) = self.known_places(node, &of_indices, &shape[..depth], 0) else { return };
        let whole = match places {
            Some(parts) => {
                let len: usize = shape[depth..].iter().product();
                let places: Vec<usize> =
                    parts.iter().flat_map(|&part| part * len..(part + 1) * len).collect();
                self.scattered(node, &data, &updates, &places, combine)
            }
            None => self.scattered_parts(node, [&data, &indices, &updates], combine),
        };
        if let Some(whole) = whole {
            self.set(node, 0, whole);
        }
    }

    /// Data with parts replaced at computed places, one update after the other.
    fn scattered_parts(
        &mut self,
        node: &Node,
        [data, indices, updates]: [&Known; 3],
        combine: Option<Elementwise>,
    ) -> Option<Known> {
        let [shape, of_indices] = [data, indices].map(|known| self.shape_of(known));
        let (&depth, outer) = of_indices.split_last()?;
        let (count, len) =
            (outer.iter().product::<usize>(), shape[depth..].iter().product::<usize>());
        if count > MOST_SCATTERED {
            let found = format!("{count} updates at places that are computed");
            self.error(
                node,
                &node.origin,
                found,
                format!("{MOST_SCATTERED} or fewer"),
                "use constant indices",
            );
            return None;
        }
        let places = self.computed_places(node, indices, &shape[..depth], 0)?;
        let parts = shape[..depth].iter().product();
        let numbers: Vec<i64> = (0..parts as i64).collect();
        let numbers =
            Known::Constant(Tensor::from_i64(vec![parts, 1], &numbers)?, ElementType::I64);
        self.all_exact(node, std::slice::from_ref(&numbers))?;
        let mut whole = self.view(node, data, Geometry::reshaped(vec![parts, len]))?;
        for update in 0..count {
            let place = Geometry { offset: update, strides: vec![1; 2], shape: vec![1; 2] };
            let place = self.view(node, &places, place)?;
            let new = Geometry {
                offset: update * len,
                strides: vec![len as isize, 1],
                shape: vec![1, len],
            };
            let mut new = self.view(node, updates, new)?;
            if let Some(function) = combine {
                new = self.computed(node, function, vec![whole.clone(), new])?;
            }
            let is_here = self.computed(node, Elementwise::Equal, vec![numbers.clone(), place])?;
            whole = self.computed(node, Elementwise::Select, vec![is_here, new, whole])?;
        }
        self.view(node, &whole, Geometry::reshaped(shape))
    }
}
