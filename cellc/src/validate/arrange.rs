//! What other operations express: running sums, rows with a single one, triangles, repeated elements.

use super::shape::{Geometry, broadcast_strides, signed, strides};
use super::{Known, Validation};
use crate::model::{ElementType, Elementwise, LARGEST_INTEGER, Nearest, Node, Resize, Scaling, Tensor};

impl Validation<'_> {
    /// A constant tensor of one number, of the type of another tensor.
    fn filled(&mut self, node: &Node, like: &Known, shape: Vec<usize>, value: f32) -> Option<Known> {
        self.foldable(node, &shape, like.element())?;
        let count = shape.iter().product();
        let tensor = match like.element().is_float() {
            true => Tensor::from_f32(shape, &vec![value; count])?,
            false => Tensor::from_i64(shape, &vec![value as i64; count])?,
        };
        Some(Known::Constant(tensor, like.element()))
    }

    /// The elements of a tensor `by` places further along an axis (back where `back`), with zeros in their place.
    fn shifted(&mut self, node: &Node, x: &Known, axis: usize, by: usize, back: bool) -> Option<Known> {
        let shape = self.shape_of(x);
        let own = strides(&shape);
        let with = |size: usize| {
            let mut shape = shape.clone();
            shape[axis] = size;
            shape
        };
        let zeros = self.filled(node, x, with(by.min(shape[axis])), 0.0)?;
        if by >= shape[axis] {
            return Some(zeros);
        }
        let offset = if back { by * own[axis] } else { 0 };
        let rest = Geometry { offset, strides: signed(own), shape: with(shape[axis] - by) };
        let rest = self.view(node, x, rest)?;
        let parts = if back { [rest, zeros] } else { [zeros, rest] };
        self.put_together(node, &parts, axis as i64)
    }

    /// Sums of all elements up to each. In the step after k every element holds the sum of 2^k elements, or of all before it.
    pub(super) fn running_sum(&mut self, node: &Node, exclusive: bool, reverse: bool) {
        let Some(x) = self.input(node, 0) else { return };
        let Some(axis) = self.integer(node, 1, "the axis") else { return };
        let shape = self.shape_of(&x);
        let Some(axis) = self.axis(node, axis, shape.len()) else { return };
        if let Some(sum) = self.running_sum_along(node, x, axis, exclusive, reverse) {
            self.set(node, 0, sum);
        }
    }

    fn running_sum_along(
        &mut self,
        node: &Node,
        x: Known,
        axis: usize,
        exclusive: bool,
        reverse: bool,
    ) -> Option<Known> {
        let size = self.shape_of(&x)[axis];
        let mut sum = if exclusive { self.shifted(node, &x, axis, 1, reverse)? } else { x };
        let mut by = 1;
        while by < size {
            let before = self.shifted(node, &sum, axis, by, reverse)?;
            sum = self.computed(node, Elementwise::Add, vec![sum, before])?;
            by *= 2;
        }
        Some(sum)
    }

    /// A row for each index, which holds `on` there and `off` elsewhere. Inputs: indices, depth, on, off.
    pub(super) fn one_hot(&mut self, node: &Node, axis: i64, from_end: bool) {
        let Some(indices) = self.input(node, 0) else { return };
        let (Some(on), Some(off)) = (self.input(node, 2), self.input(node, 3)) else { return };
        let Some(depth) = self.integer(node, 1, "the depth") else { return };
        let shape = self.shape_of(&indices);
        let Some(axis) = self.axis(node, axis, shape.len() + 1) else { return };
        let Some(depth) = usize::try_from(depth).ok().filter(|depth| (1..=LARGEST_INTEGER as usize).contains(depth))
        else {
            let found = format!("a depth of {depth}");
            self.error(node, &node.origin, found, format!("1 to {LARGEST_INTEGER}"), "correct the depth");
            return;
        };
        if indices.element().is_float() {
            let found = format!("indices of type {}", indices.element().name());
            self.error(node, &node.origin, found, "integers", "convert them to i64");
            return;
        }
        let mut column = shape.clone();
        column.insert(axis, 1);
        let rows = self.one_hot_along(node, &indices, column, axis, depth, from_end, [on, off]);
        if let Some(rows) = rows {
            self.set(node, 0, rows);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "each is another thing")]
    fn one_hot_along(
        &mut self,
        node: &Node,
        indices: &Known,
        column: Vec<usize>,
        axis: usize,
        depth: usize,
        from_end: bool,
        [on, off]: [Known; 2],
    ) -> Option<Known> {
        let rank = column.len();
        let column = self.view(node, indices, Geometry::reshaped(column))?;
        let numbers = self.numbers_along(indices, axis, rank, depth, 1)?;
        let mut is_here = self.computed(node, Elementwise::Equal, vec![column.clone(), numbers.clone()])?;
        if from_end {
            let all = self.number_like(indices, depth as f32)?;
            let counted = self.computed(node, Elementwise::Subtract, vec![numbers, all])?;
            let is_there = self.computed(node, Elementwise::Equal, vec![column, counted])?;
            is_here = self.computed(node, Elementwise::LogicalOr, vec![is_here, is_there])?;
        }
        self.computed(node, Elementwise::Select, vec![is_here, on, off])
    }

    /// A matrix, or many, with zeros on one side of a diagonal. Inputs: data and, where it is not the main one, which diagonal.
    pub(super) fn triangle(&mut self, node: &Node, upper: bool) {
        let Some(x) = self.input(node, 0) else { return };
        let Some(diagonal) = self.diagonal(node, 1) else { return };
        let shape = self.shape_of(&x);
        let [.., rows, columns] = shape[..] else {
            self.shapes_differ(node, &[shape], "a matrix, or many", "reshape the input");
            return;
        };
        let stays = |row: usize, column: usize| {
            let from = column as i64 - row as i64;
            if upper { from >= diagonal } else { from <= diagonal }
        };
        let Some(mask) = self.of_places(node, rows, columns, ElementType::Bool, stays) else { return };
        let Some(zero) = self.number_like(&x, 0.0) else { return };
        if let Some(part) = self.computed(node, Elementwise::Select, vec![mask, x, zero]) {
            self.set(node, 0, part);
        }
    }

    /// Ones on a diagonal of zeros, in the shape of the input.
    pub(super) fn eye_like(&mut self, node: &Node, diagonal: i64) {
        let Some(x) = self.input(node, 0) else { return };
        let [rows, columns] = self.shape_of(&x)[..] else {
            let shape = self.shape_of(&x);
            self.shapes_differ(node, &[shape], "a matrix", "reshape the input");
            return;
        };
        let element = self.model.values[node.outputs[0].0].element;
        let is_one = |row: usize, column: usize| column as i64 - row as i64 == diagonal;
        if let Some(eye) = self.of_places(node, rows, columns, element, is_one) {
            self.set(node, 0, eye);
        }
    }

    /// Which diagonal an input says; the main one where there is none.
    fn diagonal(&mut self, node: &Node, port: usize) -> Option<i64> {
        // no matrix is larger than that
        let bounded = |diagonal: i64| diagonal.clamp(-(1 << 32), 1 << 32);
        if node.inputs.len() <= port { Some(0) } else { self.integer(node, port, "the diagonal").map(bounded) }
    }

    /// A constant matrix of zeros and ones.
    fn of_places(
        &mut self,
        node: &Node,
        rows: usize,
        columns: usize,
        element: ElementType,
        is_one: impl Fn(usize, usize) -> bool,
    ) -> Option<Known> {
        self.foldable(node, &[rows, columns], element)?;
        let places = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
        let ones = places.map(|(row, column)| is_one(row, column));
        let shape = vec![rows, columns];
        let tensor = if element.is_float() {
            Tensor::from_f32(shape, &ones.map(|one| f32::from(u8::from(one))).collect::<Vec<_>>())
        } else {
            Tensor::from_i64(shape, &ones.map(i64::from).collect::<Vec<_>>())
        };
        Some(Known::Constant(tensor?, element))
    }

    /// The nearest elements at other places along axes.
    pub(super) fn resize(&mut self, node: &Node, of: Resize) {
        let Some(mut x) = self.input(node, 0) else { return };
        let shape = self.shape_of(&x);
        let axes: Option<Vec<usize>> = if node.inputs.len() > 2 {
            let Some(axes) = self.integers(node, 2, "the axes") else { return };
            axes.iter().map(|&axis| self.axis(node, axis, shape.len())).collect()
        } else {
            Some((0..shape.len()).collect())
        };
        let Some(axes) = axes else { return };
        let Some(scaled) = self.scaled(node, of, &shape, &axes) else { return };
        for (&axis, (size, scale)) in axes.iter().zip(scaled) {
            let from = shape[axis];
            let place = |out: usize| of.nearest.place(of.scaling.place(out, scale, from, size), scale, from);
            let places: Vec<usize> = (0..size).map(place).collect();
            let Some(taken) = self.repeated(node, &x, axis, &places) else { return };
            x = taken;
        }
        self.set(node, 0, x);
    }

    /// The new size along each axis, and the factor by which it counts as larger.
    fn scaled(&mut self, node: &Node, of: Resize, shape: &[usize], axes: &[usize]) -> Option<Vec<(usize, f32)>> {
        let wrong = |reader: &mut Self, found: String| {
            let valid = "a factor above 0, or a size of 1 or more, for each axis";
            reader.error(node, &node.origin, found, valid, "correct the factors or the sizes");
        };
        let mut all = Vec::new();
        if of.by_size {
            let sizes = self.integers(node, 1, "the sizes")?;
            for (&size, &axis) in sizes.iter().zip(axes) {
                let Some(size) = usize::try_from(size).ok().filter(|&size| (1..=1 << 24).contains(&size)) else {
                    wrong(self, format!("a size of {size}"));
                    return None;
                };
                all.push((size, size as f32 / shape[axis] as f32));
            }
        } else {
            let Some(Known::Constant(factors, _)) = self.input(node, 1) else {
                wrong(self, "factors that are not constant".to_owned());
                return None;
            };
            for (at, &axis) in (0..factors.len()).zip(axes) {
                let factor = factors.get_f32(at);
                // in f32, as engines do: 1.4 times 5 is 7
                let size = (factor * shape[axis] as f32).floor();
                if !(1.0..=16_777_216.0).contains(&size) {
                    wrong(self, format!("a factor of {factor}"));
                    return None;
                }
                all.push((size as usize, factor));
            }
        }
        if all.len() != axes.len() {
            wrong(self, format!("{} numbers for {} axes", all.len(), axes.len()));
            return None;
        }
        Some(all)
    }

    /// The elements at places along an axis, which ascend.
    fn repeated(&mut self, node: &Node, x: &Known, axis: usize, places: &[usize]) -> Option<Known> {
        let shape = self.shape_of(x);
        let times = places.len() / shape[axis].max(1);
        if times * shape[axis] == places.len() && places.iter().enumerate().all(|(at, &place)| place == at / times) {
            // each of them so many times
            let mut from = shape.clone();
            from.insert(axis + 1, 1);
            let mut to = from.clone();
            to[axis + 1] = times;
            let strides = signed(broadcast_strides(&from, &to));
            let apart = self.view(node, x, Geometry { offset: 0, strides, shape: to })?;
            let mut shape = shape;
            shape[axis] = places.len();
            return self.view(node, &apart, Geometry::reshaped(shape));
        }
        self.gathered(node, x, axis, places, &[places.len()])
    }
}

impl Scaling {
    /// Where an element of the result stands in the data. Computed in f32, as engines do.
    fn place(self, out: usize, scale: f32, from: usize, to: usize) -> f32 {
        let out = out as f32;
        match self {
            Self::Asymmetric => out / scale,
            Self::HalfPixel => (out + 0.5) / scale - 0.5,
            Self::PytorchHalfPixel if to <= 1 => 0.0,
            Self::PytorchHalfPixel => (out + 0.5) / scale - 0.5,
            Self::AlignCorners if to <= 1 => 0.0,
            Self::AlignCorners => out * (from as f32 - 1.0) / (to as f32 - 1.0),
        }
    }
}

impl Nearest {
    /// The whole place that stands for one in between.
    fn place(self, at: f32, scale: f32, size: usize) -> usize {
        let whole = match self {
            Self::RoundPreferFloor => (at - 0.5).ceil(),
            Self::RoundPreferCeil => (at + 0.5).floor(),
            Self::Floor => at.floor(),
            Self::Simple if scale >= 1.0 => at.floor(),
            Self::Simple => at.ceil(),
            Self::Ceil => at.ceil(),
        };
        whole.clamp(0.0, (size - 1) as f32) as usize
    }
}
