//! Elements that are taken, or replaced, one by one at places along an axis.

use super::translator::Translator;
use crate::core::{Geometry, Known, strides};
use crate::model::{Elementwise, Node, Tensor, shape_text};

/// The most updates at places that are computed: every one is compared with every place.
pub(super) const MOST_SCATTERED: usize = 64;

/// Largest number of pieces of a tensor.
const MOST_PIECES: usize = 4096;

/// A run of elements: its tensor, first element and length.
type Run = (usize, usize, usize);

/// Adds an element to a list of runs. Adds nothing above the largest number of runs.
fn add(runs: &mut Vec<Run>, of: usize, at: usize) {
    let many = runs.len() > MOST_PIECES;
    match runs.last_mut() {
        Some((last, start, count)) if *last == of && *start + *count == at => *count += 1,
        _ if many => {}
        _ => runs.push((of, at, 1)),
    }
}

impl Translator<'_, '_> {
    /// A tensor whose elements are runs of elements of others, one after the other.
    fn of_runs(
        &mut self,
        node: &Node,
        of: &[&Known],
        runs: &[Run],
        shape: Vec<usize>,
    ) -> Option<Known> {
        if runs.len() > MOST_PIECES {
            let found = format!(
                "more than {MOST_PIECES} pieces of a tensor at places that are not next to each \
                 other"
            );
            self.error(
                node,
                &node.origin,
                found,
                format!("{MOST_PIECES} or fewer"),
                "order the indices",
            );
            return None;
        }
        let mut pieces = Vec::new();
        for &(which, offset, count) in runs {
            let piece = Geometry { offset, strides: vec![1], shape: vec![count] };
            pieces.push(self.view(node, of[which], piece)?);
        }
        let whole = self.put_together(node, &pieces, 0)?;
        self.view(node, &whole, Geometry::reshaped(shape))
    }

    /// An index along an axis, counted from the end where negative; `None` after an error.
    pub(super) fn place(&mut self, node: &Node, index: i64, size: usize) -> Option<usize> {
        let counted = if index < 0 { index + size as i64 } else { index };
        let place = usize::try_from(counted).ok().filter(|&place| place < size);
        if place.is_none() {
            let found = format!("the index {index} on {size} elements");
            self.error(node, &node.origin, found, "an index inside", "correct the indices");
        }
        place
    }

    /// Data with the updates at their places among its elements.
    pub(super) fn scattered(
        &mut self,
        node: &Node,
        data: &Known,
        updates: &Known,
        places: &[usize],
        combine: Option<Elementwise>,
    ) -> Option<Known> {
        let shape = self.shape_of(data);
        let len = shape.iter().product();
        let Some(function) = combine else {
            let mut sources = vec![None; len];
            places.iter().enumerate().for_each(|(k, &at)| sources[at] = Some(k));
            return self.replaced(node, data, updates, &sources, shape);
        };
        // of several updates of one place, each is in a round of its own
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
                self.error(
                    node,
                    &node.origin,
                    found,
                    valid,
                    "reduce the updates by another operator",
                );
                return None;
            }
        }
        let mut whole = data.clone();
        for mut sources in rounds {
            let (mut there, mut new, mut count) = (Vec::new(), Vec::new(), 0);
            for (at, source) in sources.iter_mut().enumerate() {
                let Some(k) = source.replace(count) else {
                    *source = None;
                    continue;
                };
                add(&mut there, 0, at);
                add(&mut new, 0, k);
                count += 1;
            }
            let there = self.of_runs(node, &[&whole], &there, vec![count])?;
            let new = self.of_runs(node, &[updates], &new, vec![count])?;
            let combined = self.computed(node, function, vec![there, new])?;
            whole = self.replaced(node, &whole, &combined, &sources, shape.clone())?;
        }
        Some(whole)
    }

    /// Data with elements replaced by updates, or kept.
    fn replaced(
        &mut self,
        node: &Node,
        data: &Known,
        updates: &Known,
        sources: &[Option<usize>],
        shape: Vec<usize>,
    ) -> Option<Known> {
        let mut runs = Vec::new();
        for (at, source) in sources.iter().enumerate() {
            match source {
                None => add(&mut runs, 0, at),
                Some(k) => add(&mut runs, 1, *k),
            }
        }
        self.of_runs(node, &[data, updates], &runs, shape)
    }

    /// Indices and the shape they have, along an axis of a shape with as many dimensions; `None`
    /// after an error.
    fn along(
        &mut self,
        node: &Node,
        axis: i64,
        shape: &[usize],
    ) -> Option<(Vec<usize>, Vec<usize>, usize)> {
        let axis = self.axis(node, axis, shape.len())?;
        let indices = self.integers(node, 1, "the indices")?;
        let of_indices = self.input(node, 1).map(|known| self.shape_of(&known))?;
        let fits = of_indices.len() == shape.len()
            && of_indices.iter().zip(shape).enumerate().all(|(d, (a, b))| d == axis || a <= b);
        if !fits {
            let found = format!(
                "indices of shape {} along axis {axis} of {}",
                shape_text(&of_indices),
                shape_text(shape)
            );
            self.error(
                node,
                &node.origin,
                found,
                "a shape that is inside, along the other axes",
                "correct the indices",
            );
            return None;
        }
        // where in the data each index points
        let (own, of) = (strides(shape), strides(&of_indices));
        let mut places = Vec::with_capacity(indices.len());
        for (k, &index) in indices.iter().enumerate() {
            let place = self.place(node, index, shape[axis])?;
            let at: usize = (0..shape.len())
                .map(
                    |d| if d == axis { place * own[d] } else { k / of[d] % of_indices[d] * own[d] },
                )
                .sum();
            places.push(at);
        }
        Some((places, of_indices, axis))
    }

    /// Data with elements replaced by, or combined with, updates: each index names a place along an
    /// axis.
    pub(super) fn scatter_elements(&mut self, node: &Node, combine: Option<Elementwise>) {
        let (Some(data), Some(updates)) = (self.input(node, 0), self.input(node, 2)) else {
            return;
        };
        let Some(axis) = self.integer(node, 3, "the axis") else { return };
        let shape = self.shape_of(&data);
        if let Some(indices @ Known::Source(..)) = self.input(node, 1)
            && !indices.element().is_float()
        {
            if let Some(whole) =
                self.scattered_at_run_time(node, axis, [&data, &indices, &updates], combine)
            {
                self.set(node, 0, whole);
            }
            return;
        }
        let Some((places, of_indices, _)) = self.along(node, axis, &shape) else { return };
        if self.shape_of(&updates) != of_indices {
            let shapes = [of_indices, self.shape_of(&updates)];
            self.shapes_differ(
                node,
                &shapes,
                "updates of the shape of the indices",
                "correct the updates",
            );
            return;
        }
        if let Some(whole) = self.scattered(node, &data, &updates, &places, combine) {
            self.set(node, 0, whole);
        }
    }

    /// Computed places along an axis, counted from the start.
    pub(super) fn counted(&mut self, node: &Node, indices: &Known, size: usize) -> Option<Known> {
        let [least, most] = self.core.facts.range_of(indices);
        if least >= 0.0 && most < size as f64 {
            return Some(indices.clone());
        }
        let zero = self.number_like(indices, 0.0)?;
        let all = self.number_like(indices, size as f32)?;
        let from_end = self.computed(node, Elementwise::Add, vec![indices.clone(), all])?;
        let is_below = self.computed(node, Elementwise::Less, vec![indices.clone(), zero])?;
        let counted =
            self.computed(node, Elementwise::Select, vec![is_below, from_end, indices.clone()])?;
        let (min, max) = (0.0, (size - 1) as f32);
        self.computed(node, Elementwise::Clamp { min, max }, vec![counted])
    }

    /// 0, 1, .. along an axis.
    pub(super) fn numbers_along(
        &mut self,
        like: &Known,
        axis: usize,
        rank: usize,
        size: usize,
        step: usize,
    ) -> Option<Known> {
        let mut shape = vec![1; rank];
        shape[axis] = size;
        let numbers: Vec<i64> = (0..size).map(|k| (k * step) as i64).collect();
        Some(Known::Constant(Tensor::from_i64(shape, &numbers)?, like.element()))
    }

    /// One update after the other: each element of the data is replaced if the index names its
    /// place.
    fn scattered_at_run_time(
        &mut self,
        node: &Node,
        axis: i64,
        [data, indices, updates]: [&Known; 3],
        combine: Option<Elementwise>,
    ) -> Option<Known> {
        let shapes = [data, indices, updates].map(|known| self.shape_of(known));
        let axis = self.axis(node, axis, shapes[0].len())?;
        let fits = shapes[1] == shapes[2]
            && shapes[1].len() == shapes[0].len()
            && shapes[1].iter().zip(&shapes[0]).enumerate().all(|(d, (a, b))| d == axis || a <= b);
        if !fits {
            let valid = "indices and updates of one shape, which is inside that of the data along \
                the other axes";
            self.shapes_differ(node, &shapes, valid, "correct the indices");
            return None;
        }
        let (size, count, rank) = (shapes[0][axis], shapes[1][axis], shapes[0].len());
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
        let indices = self.counted(node, indices, size)?;
        let numbers = self.numbers_along(&indices, axis, rank, size, 1)?;
        // what the indices do not reach along other axes stays as it is
        let mut reached = shapes[1].clone();
        reached[axis] = size;
        let own = strides(&shapes[0]);
        let part = |offset: usize, shape: &[usize]| {
            let strides = own.iter().map(|&stride| stride as isize).collect();
            Geometry { offset, strides, shape: shape.to_vec() }
        };
        let mut whole = self.view(node, data, part(0, &reached))?;
        for k in 0..count {
            let [index, update] = [&indices, updates].map(|of| {
                let own = strides(&shapes[1]);
                let mut shape = shapes[1].clone();
                shape[axis] = 1;
                let strides = own.iter().map(|&stride| stride as isize).collect();
                self.view(node, of, Geometry { offset: k * own[axis], strides, shape })
            });
            let is_meant =
                self.computed(node, Elementwise::Equal, vec![numbers.clone(), index?])?;
            let new = match combine {
                None => update?,
                Some(function) => self.computed(node, function, vec![whole.clone(), update?])?,
            };
            whole = self.computed(node, Elementwise::Select, vec![is_meant, new, whole])?;
        }
        for d in (0..rank).rev().filter(|&d| shapes[1][d] < shapes[0][d] && d != axis) {
            let offset = reached[d] * own[d];
            reached[d] = shapes[0][d] - reached[d];
            let rest = self.view(node, data, part(offset, &reached))?;
            reached[d] = shapes[0][d];
            whole = self.put_together(node, &[whole, rest], d as i64)?;
        }
        Some(whole)
    }

    /// The first steps of each sequence backwards, as many as its length says, which is taken as
    /// one from 0 to all.
    pub(super) fn reversed_at_run_time(
        &mut self,
        node: &Node,
        data: &Known,
        lengths: &Known,
        batch: usize,
        steps: usize,
    ) -> Option<Known> {
        let shape = self.shape_of(data);
        let (sequences, size) = (shape[batch], shape[steps]);
        if self.shape_of(lengths) != [sequences] || lengths.element().is_float() {
            let shapes = [self.shape_of(lengths), shape];
            self.shapes_differ(
                node,
                &shapes,
                "an integer for each sequence",
                "correct the lengths",
            );
            return None;
        }
        let lengths = self.view(node, lengths, Geometry::reshaped(vec![sequences, 1]))?;
        let range = Elementwise::Clamp { min: 0.0, max: size as f32 };
        let lengths = self.computed(node, range, vec![lengths])?;
        let [numbers, first] = [(1, size, 1), (0, sequences, size)]
            .map(|(axis, count, step)| self.numbers_along(&lengths, axis, 2, count, step));
        let (numbers, first) = (numbers?, first?);
        let one = self.number_like(&lengths, 1.0)?;
        let last = self.computed(node, Elementwise::Subtract, vec![lengths.clone(), one])?;
        let backwards = self.computed(node, Elementwise::Subtract, vec![last, numbers.clone()])?;
        let is_inside = self.computed(node, Elementwise::Less, vec![numbers.clone(), lengths])?;
        let places =
            self.computed(node, Elementwise::Select, vec![is_inside, backwards, numbers])?;
        let places = self.computed(node, Elementwise::Add, vec![places, first])?;
        // the steps of all sequences as rows of one table
        let own = strides(&shape);
        let rest: Vec<usize> = (0..shape.len()).filter(|&d| d != batch && d != steps).collect();
        let order: Vec<usize> = [batch, steps].into_iter().chain(rest.iter().copied()).collect();
        let geometry = Geometry {
            offset: 0,
            strides: order.iter().map(|&d| own[d] as isize).collect(),
            shape: order.iter().map(|&d| shape[d]).collect(),
        };
        let rows = self.view(node, data, geometry)?;
        let of_rows: Vec<usize> = rest.iter().map(|&d| shape[d]).collect();
        let rows = self.view(
            node,
            &rows,
            Geometry::reshaped([&[sequences * size], &of_rows[..]].concat()),
        )?;
        let found = self.look_up(node, &rows, &places, 0)?;
        let own = strides(&self.shape_of(&found));
        let place =
            |d: usize| order.iter().position(|&at| at == d).map_or(0, |at| own[at] as isize);
        self.view(
            node,
            &found,
            Geometry { offset: 0, strides: (0..shape.len()).map(place).collect(), shape },
        )
    }

    /// Every element by its place among all elements of the data.
    fn gathered_at_run_time(
        &mut self,
        node: &Node,
        axis: i64,
        data: &Known,
        indices: &Known,
    ) -> Option<Known> {
        let (shape, to) = (self.shape_of(data), self.shape_of(indices));
        let axis = self.axis(node, axis, shape.len())?;
        let fits = to.len() == shape.len()
            && to.iter().zip(&shape).enumerate().all(|(d, (a, b))| d == axis || a <= b);
        if !fits {
            let valid = "a shape that is inside, along the other axes";
            self.shapes_differ(node, &[to, shape], valid, "correct the indices");
            return None;
        }
        let own = strides(&shape);
        let mut places = self.counted(node, indices, shape[axis])?;
        let stride = self.number_like(indices, own[axis] as f32)?;
        places = self.computed(node, Elementwise::Multiply, vec![places, stride])?;
        for d in (0..shape.len()).filter(|&d| d != axis && shape[d] > 1) {
            let numbers = self.numbers_along(indices, d, shape.len(), to[d], own[d])?;
            places = self.computed(node, Elementwise::Add, vec![places, numbers])?;
        }
        let all = Geometry::reshaped(vec![shape.iter().product()]);
        let all = self.view(node, data, all)?;
        self.look_up(node, &all, &places, 0)
    }

    /// The element at each index along an axis.
    pub(super) fn gather_elements(&mut self, node: &Node, axis: i64) {
        let Some(data) = self.input(node, 0) else { return };
        let shape = self.shape_of(&data);
        if let Some(indices @ Known::Source(..)) = self.input(node, 1)
            && !indices.element().is_float()
        {
            if let Some(found) = self.gathered_at_run_time(node, axis, &data, &indices) {
                self.set(node, 0, found);
            }
            return;
        }
        let Some((places, to, _)) = self.along(node, axis, &shape) else { return };
        let mut runs = Vec::new();
        places.iter().for_each(|&at| add(&mut runs, 0, at));
        if let Some(whole) = self.of_runs(node, &[&data], &runs, to) {
            self.set(node, 0, whole);
        }
    }
}
