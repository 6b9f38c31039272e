//! Operations that other core operations express: running sums, one-hot rows, triangles, repeated
//! elements, resizing.

use super::translator::Translator;
use crate::check::report::UNDEFINED;
use crate::check::step_facts::{Before, Front};
use crate::core::{
    CoreOp, Geometry, Known, LARGEST_INTEGER, RunningSum, Source, broadcast_strides, fold, signed,
    strides,
};
use crate::model::{
    Blocks, ElementType, Elementwise, Nearest, Node, Resize, ResizeBy, Sampling, Scaling, Tensor,
    shape_text,
};

/// Largest size of an axis that Resize computes.
const MOST_BETWEEN: usize = 1 << 20;

impl<'a> Translator<'_, 'a> {
    /// A constant tensor of one number, of the type of another tensor.
    fn filled(
        &mut self,
        node: &Node,
        like: &Known,
        shape: Vec<usize>,
        value: f32,
    ) -> Option<Known> {
        self.foldable(node, &shape, like.element())?;
        let count = shape.iter().product();
        let tensor = match like.element().is_float() {
            true => Tensor::from_f32(shape, &vec![value; count])?,
            false => Tensor::from_i64(shape, &vec![value as i64; count])?,
        };
        Some(Known::Constant(tensor, like.element()))
    }

    /// A tensor shifted by `by` places along an axis, toward the front if `back`. Zeros fill the
    /// places that become free.
    fn shifted(
        &mut self,
        node: &Node,
        x: &Known,
        axis: usize,
        by: usize,
        back: bool,
    ) -> Option<Known> {
        let shape = self.shape_of(x);
        let mut front = shape.clone();
        front[axis] = by;
        let zeros = self.filled(node, x, front, 0.0)?;
        let parts = if back { [x.clone(), zeros] } else { [zeros, x.clone()] };
        let padded = self.put_together(node, &parts, axis as i64)?;
        let own = strides(&self.shape_of(&padded));
        let offset = if back { by * own[axis] } else { 0 };
        self.view(node, &padded, Geometry { offset, strides: signed(own), shape })
    }

    /// CumSum. Inputs: x, axis.
    pub(super) fn running_sum(&mut self, node: &'a Node, exclusive: bool, reverse: bool) {
        let Some(x) = self.input(node, 0) else { return };
        let Some(axis) = self.integer(node, 1, "the axis") else { return };
        let shape = self.shape_of(&x);
        let Some(axis) = self.axis(node, axis, shape.len()) else { return };
        let front = Front { size: shape[axis], reach: 1, is_causal: false };
        self.note_lookback(node, &x, Before::Zero, if reverse { Vec::new() } else { vec![front] });
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
        let shape = self.shape_of(&x);
        let size = shape[axis];
        // floats alone: the range of integers needs a known number of steps
        if x.tensor().is_none() && x.element().is_float() {
            let sum = self.running_sum_of(node, &x, axis, reverse)?;
            return if exclusive { self.shifted(node, &sum, axis, 1, reverse) } else { Some(sum) };
        }
        if let Known::Constant(tensor, element) = &x {
            self.foldable(node, &shape, *element)?;
            self.folding(node, tensor.len())?;
            let running = fold::Running { axis, exclusive, reverse };
            return match fold::running_sum(&running, tensor, *element) {
                Ok(sums) => Some(Known::Constant(sums, *element)),
                Err(reason) => {
                    let valid = "an operation that has a result";
                    self.error(node, &node.origin, reason, valid, UNDEFINED);
                    None
                }
            };
        }
        let mut sum = if exclusive { self.shifted(node, &x, axis, 1, reverse)? } else { x };
        // after k steps an element is the sum of 2^k elements, or of all elements up to its own
        let mut by = 1;
        while by < size {
            let before = self.shifted(node, &sum, axis, by, reverse)?;
            sum = self.computed(node, Elementwise::Add, vec![sum, before])?;
            by *= 2;
        }
        Some(sum)
    }

    /// Running sums of floats at run time.
    fn running_sum_of(
        &mut self,
        node: &Node,
        x: &Known,
        axis: usize,
        reverse: bool,
    ) -> Option<Known> {
        let shape = self.shape_of(x);
        let mut strides = signed(strides(&shape));
        let last = (shape[axis] - 1) * strides[axis] as usize;
        strides[axis] = -strides[axis];
        let turned = Geometry { offset: last, strides, shape: shape.clone() };
        let input = if reverse { self.view(node, x, turned.clone())? } else { x.clone() };
        self.computable(node, &shape)?;
        let (source, out) = (self.source(&input)?, self.value(shape));
        self.emit(node, CoreOp::RunningSum(RunningSum { axis, input: source, out }));
        let sum = Known::Source(Source::Value(out), x.element());
        if reverse { self.view(node, &sum, turned) } else { Some(sum) }
    }

    /// A row for each index, with `on` at the index and `off` elsewhere. Inputs: indices, depth,
    /// on, off.
    pub(super) fn one_hot(&mut self, node: &Node, axis: i64, from_end: bool) {
        let Some(indices) = self.input(node, 0) else { return };
        let (Some(on), Some(off)) = (self.input(node, 2), self.input(node, 3)) else { return };
        let Some(depth) = self.integer(node, 1, "the depth") else { return };
        let shape = self.shape_of(&indices);
        let Some(axis) = self.axis(node, axis, shape.len() + 1) else { return };
        let Some(depth) = usize::try_from(depth)
            .ok()
            .filter(|depth| (1..=LARGEST_INTEGER as usize).contains(depth))
        else {
            let found = format!("a depth of {depth}");
            self.error(
                node,
                &node.origin,
                found,
                format!("1 to {LARGEST_INTEGER}"),
                "correct the depth",
            );
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
        let mut is_here =
            self.computed(node, Elementwise::Equal, vec![column.clone(), numbers.clone()])?;
        if from_end {
            let all = self.number_like(indices, depth as f32)?;
            let counted = self.computed(node, Elementwise::Subtract, vec![numbers, all])?;
            let is_there = self.computed(node, Elementwise::Equal, vec![column, counted])?;
            is_here = self.computed(node, Elementwise::LogicalOr, vec![is_here, is_there])?;
        }
        self.computed(node, Elementwise::Select, vec![is_here, on, off])
    }

    /// One or many matrices with zeros on one side of a diagonal. Inputs: data and, optionally, the
    /// diagonal.
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
        let Some(mask) = self.of_places(node, rows, columns, ElementType::Bool, stays) else {
            return;
        };
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

    pub(super) fn eye(&mut self, node: &Node) {
        let (Some(rows), Some(columns)) =
            (self.integer(node, 0, "the rows"), self.integer(node, 1, "the columns"))
        else {
            return;
        };
        let Some(diagonal) = self.diagonal(node, 2) else { return };
        let size = |size: i64| {
            usize::try_from(size).ok().filter(|size| (1..=LARGEST_INTEGER as usize).contains(size))
        };
        let (Some(rows), Some(columns)) = (size(rows), size(columns)) else {
            let found = format!("{rows} rows and {columns} columns");
            let valid = format!("1 to {LARGEST_INTEGER} of each");
            self.error(node, &node.origin, found, valid, "correct the sizes");
            return;
        };
        let element = self.model.values[node.outputs[0].0].element;
        let is_one = |row: usize, column: usize| column as i64 - row as i64 == diagonal;
        if let Some(eye) = self.of_places(node, rows, columns, element, is_one) {
            self.set(node, 0, eye);
        }
    }

    /// Roll: parts change places by the given shifts, one for all axes or one for each axis.
    pub(super) fn roll(&mut self, node: &Node) {
        let Some(mut data) = self.input(node, 0) else { return };
        let (Some(shifts), Some(axes)) =
            (self.integers(node, 1, "the shift"), self.integers(node, 2, "the axes"))
        else {
            return;
        };
        if shifts.len() != 1 && shifts.len() != axes.len() {
            let found = format!("{} shifts for {} axes", shifts.len(), axes.len());
            self.error(
                node,
                &node.origin,
                found,
                "one shift, or one for each axis",
                "correct the shifts",
            );
            return;
        }
        let shape = self.shape_of(&data);
        for (at, axis) in axes.into_iter().enumerate() {
            let Some(axis) = self.axis(node, axis, shape.len()) else { return };
            let size = shape[axis];
            let shift = shifts[at % shifts.len()].rem_euclid(size.max(1) as i64) as usize;
            let places: Vec<usize> = (size - shift..size).chain(0..size - shift).collect();
            let Some(rolled) = self.gathered(node, &data, axis, &places, &[size]) else { return };
            data = rolled;
        }
        self.set(node, 0, data);
    }

    /// The diagonal given by an input; the main diagonal without the input.
    fn diagonal(&mut self, node: &Node, port: usize) -> Option<i64> {
        // larger diagonals lie outside of every matrix
        let bounded = |diagonal: i64| diagonal.clamp(-(1 << 32), 1 << 32);
        if node.inputs.len() <= port {
            Some(0)
        } else {
            self.integer(node, port, "the diagonal").map(bounded)
        }
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

    /// DepthToSpace and SpaceToDepth: channels become blocks in space, or blocks become channels.
    pub(super) fn blocks(&mut self, node: &Node, of: Blocks) {
        let Some(x) = self.input(node, 0) else { return };
        let shape = self.shape_of(&x);
        let (size, axes) = (of.size, shape.len().saturating_sub(2));
        let power = (0..axes).try_fold(1usize, |product, _| product.checked_mul(size));
        let fits = power.filter(|&power| match of.to_space {
            true => power > 0 && axes > 0 && shape[1].is_multiple_of(power),
            false => size > 0 && axes > 0 && shape[2..].iter().all(|n| n.is_multiple_of(size)),
        });
        let Some(power) = fits else {
            let found = format!("blocks of {size} for the shape {}", shape_text(&shape));
            let valid = "data [N, C, ..], of which C or the other sizes can be divided into blocks";
            self.error(node, &node.origin, found, valid, "correct the block size");
            return;
        };
        // the axes of channels and of places within a block, in the split shape
        let block = vec![size; axes];
        let (split, order): (Vec<usize>, Vec<usize>) = if of.to_space {
            let channels = shape[1] / power;
            let inner = match of.channel_first {
                true => [&[channels], &block[..]].concat(),
                false => [&block[..], &[channels]].concat(),
            };
            let (channel, first) = if of.channel_first { (1, 2) } else { (1 + axes, 1) };
            let places = (0..axes).flat_map(|k| [2 + axes + k, first + k]);
            (
                [&shape[..1], &inner, &shape[2..]].concat(),
                [0, channel].into_iter().chain(places).collect(),
            )
        } else {
            let inner = shape[2..].iter().flat_map(|n| [n / size, size]);
            let places: Vec<usize> = (0..axes).map(|k| 3 + 2 * k).collect();
            let channels = match of.channel_first {
                true => [&[1], &places[..]].concat(),
                false => [&places[..], &[1]].concat(),
            };
            let order = [&[0], &channels[..]]
                .concat()
                .into_iter()
                .chain((0..axes).map(|k| 2 + 2 * k))
                .collect();
            (shape[..2].iter().copied().chain(inner).collect(), order)
        };
        let own = strides(&split);
        let geometry = Geometry {
            offset: 0,
            strides: order.iter().map(|&d| own[d] as isize).collect(),
            shape: order.iter().map(|&d| split[d]).collect(),
        };
        let to: Vec<usize> = match of.to_space {
            true => [shape[0], shape[1] / power]
                .into_iter()
                .chain(shape[2..].iter().map(|n| n * size))
                .collect(),
            false => [shape[0], shape[1] * power]
                .into_iter()
                .chain(shape[2..].iter().map(|n| n / size))
                .collect(),
        };
        if let Some(moved) = self.view(node, &x, geometry) {
            self.set_view(node, 0, &moved, Geometry::reshaped(to));
        }
    }

    /// Resize: an element of the output is the nearest element of the data, or a weighted sum of
    /// neighbours.
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
            // the size is judged before tensors of the size are made
            let to: Vec<usize> = self
                .shape_of(&x)
                .into_iter()
                .enumerate()
                .map(|(d, own)| if d == axis { size } else { own })
                .collect();
            let fits = self.core.fits_constant(&to);
            let Some(()) = self.built(node, fits) else { return };
            let is_cut = of.by == ResizeBy::Factors && scale * from as f32 != size as f32;
            if is_cut
                && of.scaling == Scaling::AlignCorners
                && !matches!(of.sampling, Sampling::Nearest(_))
            {
                let found = format!(
                    "align_corners with the factor {scale} on {from} elements, on which engines do \
                     not agree"
                );
                let valid = "a factor that gives a whole number of elements";
                self.error(
                    node,
                    &node.origin,
                    found,
                    valid,
                    "give the sizes in place of the factors",
                );
                return;
            }
            let places: Vec<f32> =
                (0..size).map(|out| of.scaling.place(out, scale, from, size)).collect();
            let taken = match of.sampling {
                Sampling::Nearest(nearest) => {
                    let places: Vec<usize> =
                        places.iter().map(|&at| nearest.place(at, scale, from)).collect();
                    self.repeated(node, &x, axis, &places)
                }
                // the sizes are equal, so no element lies between others
                _ if size == from
                    && places.iter().enumerate().all(|(at, &place)| place == at as f32) =>
                {
                    Some(x)
                }
                _ => self.between(node, &x, axis, &places, of.sampling),
            };
            let Some(taken) = taken else { return };
            x = taken;
        }
        self.set(node, 0, x);
    }

    /// The new size along each axis, and the scale factor.
    fn scaled(
        &mut self,
        node: &Node,
        of: Resize,
        shape: &[usize],
        axes: &[usize],
    ) -> Option<Vec<(usize, f32)>> {
        let wrong = |reader: &mut Self, found: String| {
            let valid = "a factor above 0, or a size of 1 or more, for each axis";
            reader.error(node, &node.origin, found, valid, "correct the factors or the sizes");
        };
        let mut all = Vec::new();
        if of.by != ResizeBy::Factors {
            let sizes = self.integers(node, 1, "the sizes")?;
            for (&size, &axis) in sizes.iter().zip(axes) {
                let Some(size) =
                    usize::try_from(size).ok().filter(|&size| (1..=1 << 24).contains(&size))
                else {
                    wrong(self, format!("a size of {size}"));
                    return None;
                };
                all.push((size, size as f32 / shape[axis] as f32));
            }
            let factors = all.iter().map(|&(_, factor)| factor);
            let factor = match of.by {
                ResizeBy::NotLarger => factors.reduce(f32::min),
                ResizeBy::NotSmaller => factors.reduce(f32::max),
                ResizeBy::Factors | ResizeBy::Sizes => None,
            };
            if let Some(factor) = factor {
                for (one, &axis) in all.iter_mut().zip(axes) {
                    let size = (factor * shape[axis] as f32).round();
                    if !(1.0..=16_777_216.0).contains(&size) {
                        wrong(self, format!("a factor of {factor}"));
                        return None;
                    }
                    *one = (size as usize, factor);
                }
            }
        } else {
            let Some(Known::Constant(factors, _)) = self.input(node, 1) else {
                wrong(self, "factors that are not constant".to_owned());
                return None;
            };
            for (at, &axis) in (0..factors.len()).zip(axes) {
                let factor = factors.get_f32(at);
                // the product is rounded to f32, as engines do: 1.4 times 5 is 7
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

    /// Interpolation along an axis: weighted sums of neighbouring elements, added from the first.
    fn between(
        &mut self,
        node: &Node,
        x: &Known,
        axis: usize,
        at: &[f32],
        sampling: Sampling,
    ) -> Option<Known> {
        let shape = self.shape_of(x);
        if at.len() > MOST_BETWEEN {
            let found = format!("{} elements between others", at.len());
            self.error(
                node,
                &node.origin,
                found,
                format!("{MOST_BETWEEN} or fewer"),
                "resize to fewer, or by nearest",
            );
            return None;
        }
        let last = shape[axis] as i64 - 1;
        let mut of_axis = vec![1; shape.len()];
        of_axis[axis] = at.len();
        let around: Vec<(i64, Vec<f32>)> = at.iter().map(|&at| sampling.around(at, last)).collect();
        let mut sum = None;
        for tap in 0..around[0].1.len() {
            let places: Vec<usize> = around
                .iter()
                .map(|(first, _)| (first + tap as i64).clamp(0, last) as usize)
                .collect();
            let weights: Vec<f32> = around.iter().map(|(_, weights)| weights[tap]).collect();
            if weights.iter().all(|&weight| weight == 0.0) {
                continue;
            }
            let taken = self.repeated(node, x, axis, &places)?;
            let weights =
                Known::Constant(Tensor::from_f32(of_axis.clone(), &weights)?, x.element());
            let part = self.computed(node, Elementwise::Multiply, vec![taken, weights])?;
            sum = Some(match sum {
                None => part,
                Some(sum) => self.computed(node, Elementwise::Add, vec![sum, part])?,
            });
        }
        sum
    }

    /// The elements at ascending places along an axis.
    fn repeated(&mut self, node: &Node, x: &Known, axis: usize, places: &[usize]) -> Option<Known> {
        let shape = self.shape_of(x);
        let times = places.len() / shape[axis].max(1);
        if times * shape[axis] == places.len()
            && places.iter().enumerate().all(|(at, &place)| place == at / times)
        {
            // each element is repeated
            let mut from = shape.clone();
            from.insert(axis + 1, 1);
            let mut to = from.clone();
            to[axis + 1] = times;
            let strides = signed(broadcast_strides(&from, &to));
            let repeated = self.view(node, x, Geometry { offset: 0, strides, shape: to })?;
            let mut shape = shape;
            shape[axis] = places.len();
            return self.view(node, &repeated, Geometry::reshaped(shape));
        }
        self.gathered(node, x, axis, places, &[places.len()])
    }
}

impl Sampling {
    /// The weights for an output position, and the place of the first weighted element, which may
    /// lie outside of the data.
    fn around(self, at: f32, last: i64) -> (i64, Vec<f32>) {
        let whole = at.floor();
        let (first, rest) = (whole as i64, at - whole);
        match self {
            Self::Nearest(_) => (first, vec![1.0]),
            Self::Linear => (first, vec![1.0 - rest, rest]),
            Self::Cubic { a, exclude_outside } => {
                let inner = |d: f32| ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0;
                let outer = |d: f32| ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a;
                let mut weights =
                    vec![outer(rest + 1.0), inner(rest), inner(1.0 - rest), outer(2.0 - rest)];
                if exclude_outside {
                    for (weight, at) in weights.iter_mut().zip(first - 1..) {
                        if !(0..=last).contains(&at) {
                            *weight = 0.0;
                        }
                    }
                    let all: f32 = weights.iter().sum();
                    weights.iter_mut().for_each(|weight| *weight /= all);
                }
                (first - 1, weights)
            }
        }
    }
}

impl Scaling {
    /// The place in the data for an element of the result, computed in f32 as engines do.
    fn place(self, out: usize, scale: f32, from: usize, to: usize) -> f32 {
        let out = out as f32;
        match self {
            Self::Asymmetric => out / scale,
            Self::HalfPixel => (out + 0.5) / scale - 0.5,
            Self::PytorchHalfPixel if to <= 1 => 0.0,
            Self::PytorchHalfPixel => (out + 0.5) / scale - 0.5,
            Self::HalfPixelSymmetric => {
                let middle = from as f32 / 2.0;
                middle * (1.0 - to as f32 / (scale * from as f32)) + (out + 0.5) / scale - 0.5
            }
            Self::HalfPixelForNearest => (out + 0.5) / scale,
            Self::AlignCorners if to <= 1 => 0.0,
            Self::AlignCorners => out * (from as f32 - 1.0) / (to as f32 - 1.0),
        }
    }
}

impl Nearest {
    /// The index for a fractional place.
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
