//! Normalisations: means, variances and the arithmetic with them, as reductions and pointwise
//! operations. Elements are not divided but multiplied by the reciprocal of the deviation of their
//! row.

use super::arithmetic::squared;
use super::elementwise::compute;
use super::operands::{Operands, all_floats, shapes_differ};
use super::reduce::{listed_axes, reduced};
use super::refusal::{Refusal, Rule};
use crate::core::CoreBuilder;
use crate::core::{Geometry, Known, axis_index};
use crate::model::{
    Binary, MathFunction, Normalization, Reduction, legal_groups, shape_text, wrong_deviation,
};

const ROOT: MathFunction = MathFunction::Sqrt;

/// A normalisation, composed of reductions and pointwise operations.
pub(super) fn normalize(
    core: &mut CoreBuilder,
    args: &Operands,
    normalization: Normalization,
) -> Rule<Known> {
    let inputs = args.all()?;
    floats(normalization, &inputs)?;
    match normalization {
        Normalization::Batch { eps } => batch_norm(core, &inputs, eps),
        Normalization::Layer { axis, eps, root_mean_square } => {
            layer_norm(core, args, &inputs, axis, eps, root_mean_square)
        }
        Normalization::Group { groups, eps } => group_norm(core, &inputs, groups, eps),
        Normalization::Variance { first, eps, eps_in_root, normalize_variance } => {
            axes_of(core, args, &inputs, first).and_then(|axes| {
                centred(core, &inputs[0], &axes, normalize_variance.then_some((eps, eps_in_root)))
            })
        }
        Normalization::Length { eps, adds } => axes_of(core, args, &inputs, 0)
            .and_then(|axes| unit_length(core, &inputs[0], &axes, eps, adds)),
    }
}

/// True if a normalisation computes each place along `axis` of the first input independently of the
/// other places.
pub(super) fn normalizes_inside(
    core: &CoreBuilder,
    args: &Operands,
    normalization: Normalization,
    axis: usize,
) -> bool {
    let Some(x) = args.known(0) else { return false };
    let rank = core.shape_of(x).len();
    match normalization {
        Normalization::Batch { .. } => axis != 1,
        Normalization::Layer { axis: first, .. } => {
            axis_index(first, rank).is_some_and(|first| axis < first)
        }
        Normalization::Variance { first, .. } if args.len() < 2 => axis < first,
        Normalization::Variance { .. } | Normalization::Length { .. } => {
            let axes = args.known(1).and_then(Known::tensor).and_then(|axes| {
                (0..axes.len()).map(|at| axes.get_i64(at)).collect::<Option<Vec<i64>>>()
            });
            axes.is_some_and(|axes| axes.iter().all(|&own| axis_index(own, rank) != Some(axis)))
        }
        Normalization::Group { .. } => axis == 0,
    }
}

/// Refuses integers, except as axes.
fn floats(normalization: Normalization, inputs: &[Known]) -> Rule<()> {
    match normalization {
        // the second input gives the axes
        Normalization::Variance { .. } | Normalization::Length { .. } => all_floats(&inputs[..1]),
        _ => all_floats(inputs),
    }
}

/// The axes that the second input gives, or without a second input all axes from `first` on.
fn axes_of(
    core: &mut CoreBuilder,
    args: &Operands,
    inputs: &[Known],
    first: usize,
) -> Rule<Vec<usize>> {
    let rank = core.shape_of(&inputs[0]).len();
    if inputs.len() > 1 {
        let given = args.integers(1, "the axes")?;
        if given.is_empty() {
            let found = "a normalization along no axes";
            return Err(Refusal::new(found, "one axis or more", "correct the axes"));
        }
        return listed_axes(args, &given, rank);
    }
    if first >= rank {
        let found =
            format!("a normalization of a tensor of {rank} dimensions along those from {first} on");
        return Err(Refusal::new(found, format!("more than {first}"), "reshape the input"));
    }
    Ok((first..rank).collect())
}

fn batch_norm(core: &mut CoreBuilder, inputs: &[Known], eps: f32) -> Rule<Known> {
    let shape = core.shape_of(&inputs[0]);
    let channels = shape.get(1).copied();
    for known in &inputs[1..] {
        let known_shape = core.shape_of(known);
        if known_shape.len() != 1 || Some(known_shape[0]) != channels {
            let found = format!(
                "{} for each place along axis 1 of {}",
                shape_text(&known_shape),
                shape_text(&shape)
            );
            return Err(Refusal::new(found, "one number for each", "correct the shapes"));
        }
    }
    let mut numbers = Vec::new();
    for known in &inputs[1..] {
        numbers.push(by_channel(core, known, shape.len())?);
    }
    let [scale, shift, mean, variance] = &numbers[..] else { return Err(Refusal::Reported) };
    if let Some(constant) = variance.tensor() {
        let wrong = |i: usize| wrong_deviation(constant.get_f64(i), f64::from(eps));
        if let Some(problem) = (0..constant.len()).find_map(wrong) {
            return Err(problem.into());
        }
    }
    let constants = [scale, shift, mean, variance].map(|known| known.tensor().cloned());
    if let [Some(scale), Some(shift), Some(mean), Some(variance)] = constants {
        // for constants, factor and offset are computed in f64 and rounded once
        let count = scale.len();
        let factor = |i: usize| scale.get_f64(i) / (variance.get_f64(i) + f64::from(eps)).sqrt();
        let factors: Vec<f32> = (0..count).map(|i| factor(i) as f32).collect();
        let offset = |i: usize| (shift.get_f64(i) - mean.get_f64(i) * factor(i)) as f32;
        let offsets: Vec<f32> = (0..count).map(offset).collect();
        let element = inputs[0].element();
        let constant = |values: &[f32]| Known::floats(scale.shape().to_vec(), values, element);
        let scaled = compute(core, Binary::Multiply, vec![inputs[0].clone(), constant(&factors)])?;
        return compute(core, Binary::Add, vec![scaled, constant(&offsets)]);
    }
    let eps = Known::number_like(variance, eps);
    let variance = compute(core, Binary::Add, vec![variance.clone(), eps])?;
    let deviation = compute(core, ROOT, vec![variance])?;
    let factor = compute(core, Binary::Divide, vec![scale.clone(), deviation])?;
    let centred = compute(core, Binary::Subtract, vec![inputs[0].clone(), mean.clone()])?;
    let scaled = compute(core, Binary::Multiply, vec![centred, factor])?;
    compute(core, Binary::Add, vec![scaled, shift.clone()])
}

/// A number for each place along axis 1 of a tensor of rank `rank`.
fn by_channel(core: &mut CoreBuilder, known: &Known, rank: usize) -> Rule<Known> {
    let mut shape = vec![1; rank];
    shape[1] = core.shape_of(known)[0];
    Ok(core.view(known, Geometry::reshaped(shape))?)
}

fn layer_norm(
    core: &mut CoreBuilder,
    args: &Operands,
    inputs: &[Known],
    axis: i64,
    eps: f32,
    root_mean_square: bool,
) -> Rule<Known> {
    let rank = core.shape_of(&inputs[0]).len();
    let first = args.axis(axis, rank)?;
    let axes: Vec<usize> = (first..rank).collect();
    let mut value = match root_mean_square {
        false => centred(core, &inputs[0], &axes, Some((eps, true)))?,
        true => {
            let squares = squared(core, &inputs[0])?;
            let mean = reduced(core, Reduction::Mean, &squares, &axes, true)?;
            let deviation = root(core, &mean, eps, true)?;
            divided(core, &inputs[0], &deviation)?
        }
    };
    for (known, function) in inputs[1..].iter().zip([Binary::Multiply, Binary::Add]) {
        let before = core.shape_of(&value);
        value = compute(core, function, vec![value, known.clone()])?;
        let after = core.shape_of(&value);
        if after != before {
            let found = format!(
                "a scale or shift that makes {} of {}",
                shape_text(&after),
                shape_text(&before)
            );
            return Err(Refusal::new(
                found,
                "one that broadcasts to the input",
                "correct the shapes",
            ));
        }
    }
    Ok(value)
}

fn group_norm(
    core: &mut CoreBuilder,
    inputs: &[Known],
    groups: Option<i64>,
    eps: f32,
) -> Rule<Known> {
    let shape = core.shape_of(&inputs[0]);
    let &[_, channels, _, ..] = &shape[..] else {
        return Err(shapes_differ(&[shape], "[N, C, ..], three dimensions or more", "reshape it"));
    };
    let stated = groups.unwrap_or(channels as i64);
    let groups = legal_groups("group", stated, &[(channels, "channel")])?;
    let mut numbers = Vec::new();
    for known in &inputs[1..] {
        let known_shape = core.shape_of(known);
        let per_group = known_shape == [groups] && groups != channels;
        if !per_group && known_shape != [channels] {
            let found = format!(
                "scale or shift of shape {} for {}",
                shape_text(&known_shape),
                shape_text(&shape)
            );
            return Err(Refusal::new(
                found,
                format!("[{channels}] or [{groups}]"),
                "correct the shape",
            ));
        }
        let mut known = known.clone();
        if per_group {
            let each =
                Geometry { offset: 0, strides: vec![1, 0], shape: vec![groups, channels / groups] };
            known = core.view(&known, each)?;
            known = core.view(&known, Geometry::reshaped(vec![channels]))?;
        }
        numbers.push(by_channel(core, &known, shape.len())?);
    }
    // each group becomes one row
    let rest: usize = shape[1..].iter().product::<usize>() / groups;
    let rows = core.view(&inputs[0], Geometry::reshaped(vec![shape[0], groups, rest]))?;
    let value = centred(core, &rows, &[2], Some((eps, true)))?;
    let value = core.view(&value, Geometry::reshaped(shape))?;
    let scaled = compute(core, Binary::Multiply, vec![value, numbers[0].clone()])?;
    compute(core, Binary::Add, vec![scaled, numbers[1].clone()])
}

/// A tensor minus its mean along axes. With an epsilon, also divided by the standard deviation; the
/// boolean is true to add the epsilon to the variance, false to add it to the deviation.
fn centred(
    core: &mut CoreBuilder,
    input: &Known,
    axes: &[usize],
    deviation_eps: Option<(f32, bool)>,
) -> Rule<Known> {
    let mean = reduced(core, Reduction::Mean, input, axes, true)?;
    let operands = vec![input.clone(), mean];
    let centred = compute(core, Binary::Subtract, operands.clone())?;
    let Some((eps, eps_in_root)) = deviation_eps else { return Ok(centred) };
    let squares = squared(core, &centred)?;
    let variance = reduced(core, Reduction::Mean, &squares, axes, true)?;
    let deviation = root(core, &variance, eps, eps_in_root)?;
    // subtracts again, so that the differences are not stored in memory
    let centred = compute(core, Binary::Subtract, operands)?;
    divided(core, &centred, &deviation)
}

/// A tensor divided by the deviation of each row. The reciprocal keeps all digits: the deviation is
/// the root of a finite f32 or infinite, so the reciprocal is never subnormal.
fn divided(core: &mut CoreBuilder, input: &Known, deviation: &Known) -> Rule<Known> {
    let one = Known::number_like(deviation, 1.0);
    let reciprocal = compute(core, Binary::Divide, vec![one, deviation.clone()])?;
    compute(core, Binary::Multiply, vec![input.clone(), reciprocal])
}

/// The root of a sum. `eps` is added to the sum if `eps_in_root`, otherwise to the root.
fn root(core: &mut CoreBuilder, sum: &Known, eps: f32, eps_in_root: bool) -> Rule<Known> {
    let eps = Known::number_like(sum, eps);
    let under = match eps_in_root {
        true => compute(core, Binary::Add, vec![sum.clone(), eps.clone()])?,
        false => sum.clone(),
    };
    let root = compute(core, ROOT, vec![under])?;
    if eps_in_root { Ok(root) } else { compute(core, Binary::Add, vec![root, eps]) }
}

fn unit_length(
    core: &mut CoreBuilder,
    input: &Known,
    axes: &[usize],
    eps: f32,
    adds: bool,
) -> Rule<Known> {
    let sum = reduced(core, Reduction::SumSquare, input, axes, true)?;
    let length = match adds {
        true => root(core, &sum, eps, true)?,
        false => {
            let eps = Known::number_like(&sum, eps);
            let sum = compute(core, Binary::Maximum, vec![sum, eps])?;
            compute(core, ROOT, vec![sum])?
        }
    };
    divided(core, input, &length)
}
