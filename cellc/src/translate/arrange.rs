//! Operations that rearrange or select elements: running sums, one-hot rows, triangles and
//! identities, Roll, blocks in space, resizing.

use super::elementwise::compute;
use super::layout::concats::put_together;
use super::layout::gathers::gathered;
use super::operands::{Operands, legal_extents, one_for_each_axis, shapes_differ};
use super::refusal::{Refusal, Rule};
use super::scatter::numbers_along;
use crate::core::{
    CoreBuilder, CoreOp, ElementsBefore, Front, Geometry, INTEGER_LIMIT, Known, RunningSum, Source,
    broadcast_strides, fold, signed, strides,
};
use crate::model::{
    self, Binary, Blocks, Comparison, ElementType, Logic, Nearest, OneHot, Primitive, Resize,
    ResizeBy, Sampling, Scaling, shape_text,
};

/// The most elements along an axis that Resize interpolates.
const MOST_RESIZED: usize = 1 << 20;

/// CumSum. Inputs: x, axis.
pub(super) fn running_sum(
    core: &mut CoreBuilder,
    args: &Operands,
    model::RunningSum { exclusive, reverse }: model::RunningSum,
) -> Rule<Known> {
    let (x, axis) = (args.get(0)?, args.integer(1, "the axis")?);
    let shape = core.shape_of(&x);
    let axis = args.axis(axis, shape.len())?;
    let front = Front { size: shape[axis], reach: 1, is_causal: false };
    core.note_lookback(&x, ElementsBefore::Zero, if reverse { Vec::new() } else { vec![front] });
    running_sum_along(core, x, axis, exclusive, reverse)
}

/// A constant tensor whose elements all are `value`, with the element type of another tensor.
fn filled(core: &mut CoreBuilder, like: &Known, shape: Vec<usize>, value: f32) -> Rule<Known> {
    core.foldable(&shape, like.element())?;
    let count = shape.iter().product();
    Ok(match like.element().is_float() {
        true => Known::floats(shape, &vec![value; count], like.element()),
        false => Known::integers(shape, &vec![value as i64; count], like.element()),
    })
}

/// A tensor shifted by `by` places along an axis, toward the front if `back`, otherwise toward the
/// end. Zeros fill the places that become free.
fn shifted(core: &mut CoreBuilder, x: &Known, axis: usize, by: usize, back: bool) -> Rule<Known> {
    let shape = core.shape_of(x);
    let mut front = shape.clone();
    front[axis] = by;
    let zeros = filled(core, x, front, 0.0)?;
    let parts = if back { [x.clone(), zeros] } else { [zeros, x.clone()] };
    let padded = put_together(core, &parts, axis)?;
    let row_major = strides(&core.shape_of(&padded));
    let offset = if back { by * row_major[axis] } else { 0 };
    Ok(core.view(&padded, Geometry { offset, strides: signed(row_major), shape })?)
}

fn running_sum_along(
    core: &mut CoreBuilder,
    x: Known,
    axis: usize,
    exclusive: bool,
    reverse: bool,
) -> Rule<Known> {
    let shape = core.shape_of(&x);
    let size = shape[axis];
    // RunningSum computes only floats. Sums of integers need a range: `compute` notes the range of
    // each addition below.
    if x.tensor().is_none() && x.element().is_float() {
        let sum = running_sum_of(core, &x, axis, reverse)?;
        return if exclusive { shifted(core, &sum, axis, 1, reverse) } else { Ok(sum) };
    }
    if let Known::Constant(tensor, element) = &x {
        core.foldable(&shape, *element)?;
        core.folding(tensor.len())?;
        let running = fold::RunningSumAttributes { axis, exclusive, reverse };
        return match fold::running_sum(&running, tensor, *element) {
            Ok(sums) => Ok(Known::Constant(sums, *element)),
            Err(reason) => Err(Refusal::undefined(reason)),
        };
    }
    let mut sum = if exclusive { shifted(core, &x, axis, 1, reverse)? } else { x };
    // after k rounds, each element is the sum of 2^k elements of the start value, its own and the
    // preceding ones (following ones if `reverse`), or of all of them if there are fewer
    let mut by = 1;
    while by < size {
        let before = shifted(core, &sum, axis, by, reverse)?;
        sum = compute(core, Binary::Add, vec![sum, before])?;
        by *= 2;
    }
    Ok(sum)
}

/// Running sums of floats at run time.
fn running_sum_of(core: &mut CoreBuilder, x: &Known, axis: usize, reverse: bool) -> Rule<Known> {
    let shape = core.shape_of(x);
    let mut strides = signed(strides(&shape));
    let last = (shape[axis] - 1) * strides[axis] as usize;
    strides[axis] = -strides[axis];
    let turned = Geometry { offset: last, strides, shape: shape.clone() };
    let input = if reverse { core.view(x, turned.clone())? } else { x.clone() };
    core.computable(&shape)?;
    let (source, out) = (core.source(&input)?, core.value(shape));
    core.emit(CoreOp::RunningSum(RunningSum { axis, input: source, out }));
    let sum = Known::Source(Source::Value(out), x.element());
    Ok(if reverse { core.view(&sum, turned)? } else { sum })
}

/// A row for each index, with `on` at the index and `off` elsewhere. Inputs: indices, depth,
/// on, off.
pub(super) fn one_hot(
    core: &mut CoreBuilder,
    args: &Operands,
    OneHot { axis, from_end }: OneHot,
) -> Rule<Known> {
    let indices = args.get(0)?;
    let (on, off) = (args.get(2)?, args.get(3)?);
    let depth = args.integer(1, "the depth")?;
    let shape = core.shape_of(&indices);
    let axis = args.axis(axis, shape.len() + 1)?;
    let Some(depth) =
        usize::try_from(depth).ok().filter(|depth| (1..=INTEGER_LIMIT as usize).contains(depth))
    else {
        let found = format!("a depth of {depth}");
        return Err(Refusal::new(found, format!("1 to {INTEGER_LIMIT}"), "correct the depth"));
    };
    if indices.element().is_float() {
        let found = format!("indices of type {}", indices.element().name());
        return Err(Refusal::new(found, "integers", "convert them to i64"));
    }
    let mut column = shape.clone();
    column.insert(axis, 1);
    one_hot_along(core, &indices, column, axis, depth, from_end, [on, off])
}

fn one_hot_along(
    core: &mut CoreBuilder,
    indices: &Known,
    column: Vec<usize>,
    axis: usize,
    depth: usize,
    from_end: bool,
    [on, off]: [Known; 2],
) -> Rule<Known> {
    let rank = column.len();
    let column = core.view(indices, Geometry::reshaped(column))?;
    let numbers = numbers_along(indices, axis, rank, depth, 1);
    let mut is_here = compute(core, Comparison::Equal, vec![column.clone(), numbers.clone()])?;
    if from_end {
        let size = Known::number_like(indices, depth as f32);
        let counted = compute(core, Binary::Subtract, vec![numbers, size])?;
        let is_there = compute(core, Comparison::Equal, vec![column, counted])?;
        is_here = compute(core, Logic::Or, vec![is_here, is_there])?;
    }
    compute(core, Primitive::Select, vec![is_here, on, off])
}

/// One or many matrices with zeros on one side of a diagonal. Inputs: data, optional diagonal.
pub(super) fn triangle(core: &mut CoreBuilder, args: &Operands, upper: bool) -> Rule<Known> {
    let x = args.get(0)?;
    let diagonal = diagonal(args, 1)?;
    let shape = core.shape_of(&x);
    let [.., rows, columns] = shape[..] else {
        return Err(shapes_differ(&[shape], "a matrix, or many", "reshape the input"));
    };
    let stays = |row: usize, column: usize| {
        let from = column as i64 - row as i64;
        if upper { from >= diagonal } else { from <= diagonal }
    };
    let mask = of_places(core, rows, columns, ElementType::Bool, stays)?;
    let zero = Known::number_like(&x, 0.0);
    compute(core, Primitive::Select, vec![mask, x, zero])
}

/// Ones on a diagonal of zeros, in the shape of the input.
pub(super) fn eye_like(core: &mut CoreBuilder, args: &Operands, diagonal: i64) -> Rule<Known> {
    let x = args.get(0)?;
    let [rows, columns] = core.shape_of(&x)[..] else {
        let shape = core.shape_of(&x);
        return Err(shapes_differ(&[shape], "a matrix", "reshape the input"));
    };
    let element = args.element();
    let is_one = |row: usize, column: usize| column as i64 - row as i64 == diagonal;
    of_places(core, rows, columns, element, is_one)
}

/// Eye. Inputs: rows, columns, diagonal.
pub(super) fn eye(core: &mut CoreBuilder, args: &Operands) -> Rule<Known> {
    let (rows, columns) = (args.integer(0, "the rows")?, args.integer(1, "the columns")?);
    let diagonal = diagonal(args, 2)?;
    let size = |size: i64| {
        usize::try_from(size).ok().filter(|size| (1..=INTEGER_LIMIT as usize).contains(size))
    };
    let (Some(rows), Some(columns)) = (size(rows), size(columns)) else {
        let found = format!("{rows} rows and {columns} columns");
        let valid = format!("1 to {INTEGER_LIMIT} of each");
        return Err(Refusal::new(found, valid, "correct the sizes"));
    };
    let element = args.element();
    let is_one = |row: usize, column: usize| column as i64 - row as i64 == diagonal;
    of_places(core, rows, columns, element, is_one)
}

/// Roll: rotates elements along axes by one shift for all axes or one shift for each axis.
pub(super) fn roll(core: &mut CoreBuilder, args: &Operands) -> Rule<Known> {
    let mut data = args.get(0)?;
    let (shifts, axes) = (args.integers(1, "the shift")?, args.integers(2, "the axes")?);
    if shifts.len() != 1 && shifts.len() != axes.len() {
        let found = format!("{} shifts for {} axes", shifts.len(), axes.len());
        return Err(Refusal::new(found, "one shift, or one for each axis", "correct the shifts"));
    }
    let shape = core.shape_of(&data);
    for (at, axis) in axes.into_iter().enumerate() {
        let axis = args.axis(axis, shape.len())?;
        let size = shape[axis];
        let shift = shifts[at % shifts.len()].rem_euclid(size.max(1) as i64) as usize;
        let places: Vec<usize> = (size - shift..size).chain(0..size - shift).collect();
        let rolled = gathered(core, &data, axis, &places, &[size])?;
        data = rolled;
    }
    Ok(data)
}

/// The diagonal given by an input; the main diagonal without the input.
fn diagonal(args: &Operands, port: usize) -> Rule<i64> {
    // diagonals beyond these bounds lie outside of every matrix
    let bounded = |diagonal: i64| diagonal.clamp(-(1 << 32), 1 << 32);
    if args.len() <= port { Ok(0) } else { args.integer(port, "the diagonal").map(bounded) }
}

/// A constant matrix of zeros and ones.
fn of_places(
    core: &mut CoreBuilder,
    rows: usize,
    columns: usize,
    element: ElementType,
    is_one: impl Fn(usize, usize) -> bool,
) -> Rule<Known> {
    core.foldable(&[rows, columns], element)?;
    let places = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    let ones = places.map(|(row, column)| is_one(row, column));
    let shape = vec![rows, columns];
    let tensor = if element.is_float() {
        let ones: Vec<f32> = ones.map(|one| f32::from(u8::from(one))).collect();
        Known::floats(shape, &ones, element)
    } else {
        Known::integers(shape, &ones.map(i64::from).collect::<Vec<_>>(), element)
    };
    Ok(tensor)
}

/// DepthToSpace and SpaceToDepth: channels become blocks in space, or blocks become channels.
pub(super) fn blocks(core: &mut CoreBuilder, args: &Operands, attributes: Blocks) -> Rule<Known> {
    let x = args.get(0)?;
    let shape = core.shape_of(&x);
    let (size, axes) = (attributes.size, shape.len().saturating_sub(2));
    let power = (0..axes).try_fold(1usize, |product, _| product.checked_mul(size));
    let fits = power.filter(|&power| match attributes.to_space {
        true => axes > 0 && shape[1].is_multiple_of(power),
        false => axes > 0 && shape[2..].iter().all(|n| n.is_multiple_of(size)),
    });
    let Some(power) = fits else {
        let found = format!("blocks of {size} for the shape {}", shape_text(&shape));
        let valid =
            "data [N, C, ..], of which C or the attributes sizes can be divided into blocks";
        return Err(Refusal::new(found, valid, "correct the block size"));
    };
    // the shape with blocks as axes of their own, and the order of these axes in the result
    let block = vec![size; axes];
    let (split, order): (Vec<usize>, Vec<usize>) = if attributes.to_space {
        let channels = shape[1] / power;
        let inner = match attributes.channel_first {
            true => [&[channels], &block[..]].concat(),
            false => [&block[..], &[channels]].concat(),
        };
        let (channel, first) = if attributes.channel_first { (1, 2) } else { (1 + axes, 1) };
        let places = (0..axes).flat_map(|k| [2 + axes + k, first + k]);
        (
            [&shape[..1], &inner, &shape[2..]].concat(),
            [0, channel].into_iter().chain(places).collect(),
        )
    } else {
        let inner = shape[2..].iter().flat_map(|n| [n / size, size]);
        let places: Vec<usize> = (0..axes).map(|k| 3 + 2 * k).collect();
        let channels = match attributes.channel_first {
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
    let row_major = strides(&split);
    let geometry = Geometry {
        offset: 0,
        strides: order.iter().map(|&d| row_major[d] as isize).collect(),
        shape: order.iter().map(|&d| split[d]).collect(),
    };
    let to: Vec<usize> = match attributes.to_space {
        true => [shape[0], shape[1] / power]
            .into_iter()
            .chain(shape[2..].iter().map(|n| n * size))
            .collect(),
        false => [shape[0], shape[1] * power]
            .into_iter()
            .chain(shape[2..].iter().map(|n| n / size))
            .collect(),
    };
    let moved = core.view(&x, geometry)?;
    Ok(core.view(&moved, Geometry::reshaped(to))?)
}

/// Resize: an element of the output is the nearest element of the data, or a weighted sum of
/// neighbours.
pub(super) fn resize(core: &mut CoreBuilder, args: &Operands, attributes: Resize) -> Rule<Known> {
    let mut x = args.get(0)?;
    let shape = core.shape_of(&x);
    let axes: Vec<usize> = if args.len() > 2 {
        args.axes_once(&args.integers(2, "the axes")?, shape.len())?
    } else {
        (0..shape.len()).collect()
    };
    let scaled = scaled(args, attributes, &shape, &axes)?;
    for (&axis, (size, scale)) in axes.iter().zip(scaled) {
        let from = shape[axis];
        // refuses a size above the limit before the list of positions is allocated
        let to: Vec<usize> = core
            .shape_of(&x)
            .into_iter()
            .enumerate()
            .map(|(d, own)| if d == axis { size } else { own })
            .collect();
        core.fits_constant(&to)?;
        let is_cut = attributes.by == ResizeBy::Factors && scale * from as f32 != size as f32;
        if is_cut
            && attributes.scaling == Scaling::AlignCorners
            && !matches!(attributes.sampling, Sampling::Nearest(_))
        {
            let found = format!(
                "align_corners with the factor {scale} on {from} elements, on which engines do \
                 not agree"
            );
            let valid = "a factor that gives a whole number of elements";
            return Err(Refusal::new(found, valid, "give the sizes in place of the factors"));
        }
        let places: Vec<f32> = (0..size)
            .map(|out| attributes.scaling.source_position(out, scale, from, size))
            .collect();
        x = match attributes.sampling {
            Sampling::Nearest(nearest) => {
                let places: Vec<usize> =
                    places.iter().map(|&at| nearest.index(at, scale, from)).collect();
                repeated(core, &x, axis, &places)?
            }
            // the position of each output element is that of the equal element of the data, so the
            // axis stays unchanged
            _ if size == from
                && places.iter().enumerate().all(|(at, &position)| position == at as f32) =>
            {
                x
            }
            _ => between(core, &x, axis, &places, attributes.sampling)?,
        };
    }
    Ok(x)
}

/// The new size along each axis, and the scale factor.
fn scaled(
    args: &Operands,
    resize: Resize,
    shape: &[usize],
    axes: &[usize],
) -> Rule<Vec<(usize, f32)>> {
    let wrong = |found: String| {
        let valid = "a factor above 0, or a size of 1 or more, for each axis";
        Refusal::new(found, valid, "correct the factors or the sizes")
    };
    let mut scaled_axes = Vec::new();
    if resize.by != ResizeBy::Factors {
        let sizes = args.integers(1, "the sizes")?;
        one_for_each_axis("the sizes", &sizes, axes.len())?;
        for (&size, &axis) in sizes.iter().zip(axes) {
            legal_extents("a size", [size])?;
            let Some(size) = usize::try_from(size).ok().filter(|&size| size > 0) else {
                return Err(wrong(format!("a size of {size}")));
            };
            scaled_axes.push((size, size as f32 / shape[axis] as f32));
        }
        let factors = scaled_axes.iter().map(|&(_, factor)| factor);
        let factor = match resize.by {
            ResizeBy::NotLarger => factors.reduce(f32::min),
            ResizeBy::NotSmaller => factors.reduce(f32::max),
            ResizeBy::Factors | ResizeBy::Sizes => None,
        };
        if let Some(factor) = factor {
            for (one, &axis) in scaled_axes.iter_mut().zip(axes) {
                let size = (factor * shape[axis] as f32).round();
                if !(1.0..=16_777_216.0).contains(&size) {
                    return Err(wrong(format!("a factor of {factor}")));
                }
                *one = (size as usize, factor);
            }
        }
    } else {
        let Some(Known::Constant(factors, _)) = args.known(1) else {
            return Err(wrong("factors that are not constant".to_owned()));
        };
        let factors: Vec<f32> = (0..factors.len()).map(|at| factors.get_f32(at)).collect();
        one_for_each_axis("the factors", &factors, axes.len())?;
        for (&factor, &axis) in factors.iter().zip(axes) {
            // the product is rounded to f32, as in other engines: 1.4 times 5 is 7
            let size = (factor * shape[axis] as f32).floor();
            if !(1.0..=16_777_216.0).contains(&size) {
                return Err(wrong(format!("a factor of {factor}")));
            }
            scaled_axes.push((size as usize, factor));
        }
    }
    Ok(scaled_axes)
}

/// Interpolation along an axis: weighted sums of neighbouring elements, added from the first
/// element to the last.
fn between(
    core: &mut CoreBuilder,
    x: &Known,
    axis: usize,
    at: &[f32],
    sampling: Sampling,
) -> Rule<Known> {
    let shape = core.shape_of(x);
    if at.len() > MOST_RESIZED {
        let found = format!("{} elements between others", at.len());
        return Err(Refusal::new(
            found,
            format!("{MOST_RESIZED} or fewer"),
            "resize to fewer, or by nearest",
        ));
    }
    let last = shape[axis] as i64 - 1;
    let mut of_axis = vec![1; shape.len()];
    of_axis[axis] = at.len();
    let around: Vec<(i64, Vec<f32>)> = at.iter().map(|&at| sampling.around(at, last)).collect();
    let mut sum: Option<Known> = None;
    for tap in 0..around[0].1.len() {
        let places: Vec<usize> =
            around.iter().map(|(first, _)| (first + tap as i64).clamp(0, last) as usize).collect();
        let weights: Vec<f32> = around.iter().map(|(_, weights)| weights[tap]).collect();
        if weights.iter().all(|&weight| weight == 0.0) {
            continue;
        }
        let taken = repeated(core, x, axis, &places)?;
        let weights = Known::floats(of_axis.clone(), &weights, x.element());
        let part = compute(core, Binary::Multiply, vec![taken, weights])?;
        sum = Some(match sum {
            None => part,
            Some(sum) => compute(core, Binary::Add, vec![sum, part])?,
        });
    }
    sum.ok_or(Refusal::Reported)
}

/// The elements at ascending places along an axis; places may repeat.
fn repeated(core: &mut CoreBuilder, x: &Known, axis: usize, places: &[usize]) -> Rule<Known> {
    let shape = core.shape_of(x);
    let times = places.len() / shape[axis].max(1);
    if times * shape[axis] == places.len()
        && places.iter().enumerate().all(|(at, &position)| position == at / times)
    {
        // every element is repeated equally often, so a view with a stride of 0 suffices
        let mut from = shape.clone();
        from.insert(axis + 1, 1);
        let mut to = from.clone();
        to[axis + 1] = times;
        let strides = signed(broadcast_strides(&from, &to));
        let repeated = core.view(x, Geometry { offset: 0, strides, shape: to })?;
        let mut shape = shape;
        shape[axis] = places.len();
        return Ok(core.view(&repeated, Geometry::reshaped(shape))?);
    }
    gathered(core, x, axis, places, &[places.len()])
}

impl Sampling {
    /// The place of the first weighted element, and the weights of this element and the following
    /// ones, for a position in the data. The place may lie outside of the data.
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
                    let total: f32 = weights.iter().sum();
                    weights.iter_mut().for_each(|weight| *weight /= total);
                }
                (first - 1, weights)
            }
        }
    }
}

impl Scaling {
    /// The position in the data for an element of the result, computed in f32 as in other engines.
    fn source_position(self, out: usize, scale: f32, from: usize, to: usize) -> f32 {
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
    /// The index of the element for a position between elements.
    fn index(self, at: f32, scale: f32, size: usize) -> usize {
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
