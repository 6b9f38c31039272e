//! Reductions along axes.

use super::arithmetic::squared;
use super::elementwise::compute;
use super::integers::{converted, reduced_range, wrapped};
use super::operands::Operands;
use super::parts::padded_behind;
use super::refusal::{Refusal, Rule};
use crate::core::CoreBuilder;
use crate::core::{Combiner, CoreOp, DynamicLength, Geometry, Known, Reduce, Source, fold};
use crate::model::{
    self, Binary, Composed, ElementType, MathFunction, NoAxes, Reduction, Tensor, Unary,
};

/// A reduction. `keep`: true if reduced axes stay with size 1.
pub(super) fn reduce(
    core: &mut CoreBuilder,
    args: &Operands,
    model::Reduce { reduction, keep, no_axes }: model::Reduce,
) -> Rule<Known> {
    let input = args.get(0)?;
    let rank = core.shape_of(&input).len();
    let given = match args.len() {
        1 => Vec::new(),
        _ => args.integers(1, "the axes")?,
    };
    let axes = match no_axes {
        NoAxes::Same if given.is_empty() => {
            return Ok(input);
        }
        NoAxes::Each if given.is_empty() => Vec::new(),
        _ => listed_axes(args, &given, rank)?,
    };
    match core.facts.dynamic_length(&input) {
        Some(length @ DynamicLength { parts_along: Some(along), .. }) => {
            reduced_parts(core, reduction, (&input, length, along), &axes, keep)
        }
        _ => reduced(core, reduction, &input, &axes, keep),
    }
}

/// A reduction of a tensor with a run-time length.
fn reduced_parts(
    core: &mut CoreBuilder,
    reduction: Reduction,
    (input, length, along): (&Known, DynamicLength, usize),
    axes: &[usize],
    keep: bool,
) -> Rule<Known> {
    if !axes.contains(&along) {
        let before = axes.iter().filter(|&&axis| axis < along).count();
        let along = if keep { along } else { along - before };
        let reduced = reduced(core, reduction, input, axes, keep)?;
        let length = DynamicLength { parts_along: Some(along), is_zero: false, ..length };
        core.facts.set_length(&reduced, length);
        return Ok(reduced);
    }
    let is_float = input.element().is_float();
    let count = Known::Source(length.count, ElementType::I64);
    let may_be_none = core.facts.range_of(&count)[0] < 1.0;
    if !is_float && may_be_none && matches!(reduction, Reduction::Max | Reduction::Min) {
        let found = "the largest or the smallest of integers of which a call may have none";
        let valid = "at least one integer, by Clip or Max of their number, or floating point";
        return Err(Refusal::new(found, valid, "convert the integers to floating point before"));
    }
    let [least, most] =
        if is_float { [f64::NEG_INFINITY, f64::INFINITY] } else { core.facts.range_of(input) };
    let neutral = match reduction {
        Reduction::Product | Reduction::All => 1.0,
        Reduction::Max | Reduction::LogSumExp => least,
        Reduction::Min => most,
        _ => 0.0,
    };
    let neutral = Known::number_like(input, neutral as f32);
    let parts = padded_behind(core, input, length, &neutral)?;
    if reduction != Reduction::Mean {
        return reduced(core, reduction, &parts, axes, keep);
    }
    if !is_float {
        let found = "a mean of integers of which only a call knows how many there are";
        return Err(Refusal::new(found, "a mean of floating point", "convert the integers before"));
    }
    let sum = reduced(core, Reduction::Sum, &parts, axes, keep)?;
    let shape = core.shape_of(input);
    let others: usize =
        axes.iter().filter(|&&axis| axis != along).map(|&axis| shape[axis]).product();
    let count = converted(core, &count, ElementType::F32)?;
    let others = Known::number_like(&sum, others as f32);
    let count = compute(core, Binary::Multiply, vec![count, others])?;
    compute(core, Binary::Divide, vec![sum, count])
}

/// The given axes in ascending order, or all axes if none are given.
pub(super) fn listed_axes(args: &Operands, given: &[i64], rank: usize) -> Rule<Vec<usize>> {
    if given.is_empty() {
        return Ok((0..rank).collect());
    }
    let mut axes = args.axes_once(given, rank)?;
    axes.sort_unstable();
    Ok(axes)
}

/// A reduction along `axes`, which are in ascending order.
pub(super) fn reduced(
    core: &mut CoreBuilder,
    reduction: Reduction,
    input: &Known,
    axes: &[usize],
    keep: bool,
) -> Rule<Known> {
    let shape = core.shape_of(input);
    let is_float = input.element().is_float();
    let logical = matches!(reduction, Reduction::All | Reduction::Any);
    if logical && is_float {
        let found = "a logical reduction of floating point";
        return Err(Refusal::new(found, "booleans", "make it a boolean: compare it with a number"));
    }
    let value = match reduction {
        Reduction::Sum => combined(core, Combiner::Add, input, axes)?,
        Reduction::Max | Reduction::Any => combined(core, Combiner::Maximum, input, axes)?,
        Reduction::Min | Reduction::All => combined(core, Combiner::Minimum, input, axes)?,
        Reduction::Product => combined(core, Combiner::Multiply, input, axes)?,
        Reduction::Mean => {
            let sum = combined(core, Combiner::Add, input, axes)?;
            let count: usize = axes.iter().map(|&axis| shape[axis]).product();
            let count = Known::number_like(&sum, count as f32);
            compute(core, Composed::TruncatedQuotient, vec![sum, count])?
        }
        Reduction::L1 => {
            let magnitudes = compute(core, Unary::Abs, vec![input.clone()])?;
            combined(core, Combiner::Add, &magnitudes, axes)?
        }
        Reduction::SumSquare | Reduction::L2 => {
            let squares = squared(core, input)?;
            let sum = combined(core, Combiner::Add, &squares, axes)?;
            match reduction {
                Reduction::L2 => compute(core, MathFunction::Sqrt, vec![sum])?,
                _ => sum,
            }
        }
        Reduction::LogSum => {
            let sum = combined(core, Combiner::Add, input, axes)?;
            compute(core, MathFunction::Log, vec![sum])?
        }
        Reduction::LogSumExp => {
            let most = combined(core, Combiner::Maximum, input, axes)?;
            let finite = finite(core, &most)?;
            let below = compute(core, Binary::Subtract, vec![input.clone(), finite])?;
            let exponentials = compute(core, MathFunction::Exp, vec![below])?;
            let sum = combined(core, Combiner::Add, &exponentials, axes)?;
            let logarithm = compute(core, MathFunction::Log, vec![sum])?;
            compute(core, Binary::Add, vec![logarithm, most])?
        }
    };
    if keep {
        return Ok(value);
    }
    let kept = shape
        .iter()
        .enumerate()
        .filter(|(axis, _)| !axes.contains(axis))
        .map(|(_, &size)| size)
        .collect();
    Ok(core.view(&value, Geometry::reshaped(kept))?)
}

/// The tensor with the largest finite numbers in place of infinities. An infinity minus this number
/// stays infinite, where infinity minus infinity would be NaN.
fn finite(core: &mut CoreBuilder, input: &Known) -> Rule<Known> {
    let is_finite = |tensor: &Tensor| (0..tensor.len()).all(|i| tensor.get_f64(i).is_finite());
    if !input.element().is_float() || input.tensor().is_some_and(is_finite) {
        return Ok(input.clone());
    }
    let max = match input.element() {
        ElementType::F16 => 65504.0,
        ElementType::Bf16 => f32::from_bits(0x7f7f_0000),
        _ => f32::MAX,
    };
    compute(core, Unary::Clamp { min: -max, max }, vec![input.clone()])
}

/// The reduction of all elements along axes by one combiner. The reduced axes keep size 1.
fn combined(
    core: &mut CoreBuilder,
    combiner: Combiner,
    input: &Known,
    axes: &[usize],
) -> Rule<Known> {
    let mut value = input.clone();
    // one reduction for each run of neighbouring axes, the last run first
    let mut open = axes;
    while let Some(&last) = open.last() {
        let mut first = open.len() - 1;
        while first > 0 && open[first - 1] + 1 == open[first] {
            first -= 1;
        }
        value = combined_run(core, combiner, &value, open[first], last + 1)?;
        open = &open[..first];
    }
    Ok(value)
}

fn combined_run(
    core: &mut CoreBuilder,
    combiner: Combiner,
    input: &Known,
    first: usize,
    end: usize,
) -> Rule<Known> {
    let shape = core.shape_of(input);
    let mut to = shape.clone();
    to[first..end].fill(1);
    let [size, inner] =
        [&shape[first..end], &shape[end..]].map(|sizes| sizes.iter().product::<usize>());
    if size == 1 {
        return Ok(input.clone());
    }
    if let Known::Constant(tensor, element) = input {
        core.foldable(&to, *element)?;
        core.folding(tensor.len())?;
        return match fold::reduce(combiner, tensor, *element, size, inner, to) {
            Ok(tensor) => Ok(Known::Constant(tensor, *element)),
            Err(reason) => Err(Refusal::undefined(reason)),
        };
    }
    core.computable(&to)?;
    let range = reduced_range(core, combiner, input, size)?;
    let (source, out) = (core.source(input)?, core.value(to));
    let chains = Reduce::chains(size, inner);
    core.emit(CoreOp::Reduce(Reduce { combiner, first, end, chains, input: source, out }));
    wrapped(core, Source::Value(out), input.element(), range)
}
