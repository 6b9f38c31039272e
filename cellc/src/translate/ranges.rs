//! Range: the number of elements is known when compiling, or at run time up to a limit.

use super::dynamic_lengths::COUNT_ALL;
use super::elementwise::compute;
use super::integers::converted;
use super::operands::Operands;
use super::parts::padded_behind;
use super::refusal::{Refusal, Rule};
use crate::core::CoreBuilder;
use crate::core::{Divider, DynamicLength, Geometry, INTEGER_LIMIT, Known, fold};
use crate::diagnostic::quoted;
use crate::model::limits::MOST_ELEMENTS;
use crate::model::{Binary, ElementType, Op, Tensor};

/// Range. Inputs: start, stop, step.
pub(super) fn range(core: &mut CoreBuilder, args: &Operands) -> Rule<Known> {
    let number = |known: Known| {
        let one = |tensor: &&Tensor| known.element().is_float() && tensor.len() == 1;
        known.tensor().filter(one).map(|tensor| tensor.get_f64(0))
    };
    let numbers: Option<Vec<f64>> =
        args.all().ok().and_then(|all| all.into_iter().map(number).collect());
    if let Some(&[start, stop, step]) = numbers.as_deref() {
        return range_of_numbers(core, args, start, stop, step);
    }
    let ends = [(0, "the start"), (1, "the stop"), (2, "the step")];
    let is_open = |&(port, _): &(usize, _)| matches!(args.known(port), Some(Known::Source(..)));
    if let Some((_, what)) = ends.into_iter().find(is_open)
        && matches!(args.node.op, Op::Range { run_time: true })
    {
        return range_of_run_time(core, args, what);
    }
    let (start, stop, step) =
        (args.integer(0, "the start")?, args.integer(1, "the stop")?, args.integer(2, "the step")?);
    if step == 0 {
        return Err(Refusal::new("a step of 0", "any other", "correct the step"));
    }
    let span = if step > 0 {
        i128::from(stop) - i128::from(start)
    } else {
        i128::from(start) - i128::from(stop)
    };
    let step_size = i128::from(step).abs();
    let count = usize::try_from((span.max(0) + step_size - 1) / step_size).unwrap_or(usize::MAX);
    let stated = args.element();
    let element = if stated == ElementType::I32 { stated } else { ElementType::I64 };
    core.foldable(&[count], element)?;
    match fold::range(start, step, count, element) {
        Ok(tensor) => Ok(Known::Constant(tensor, element)),
        Err(reason) => Err(Refusal::undefined(reason)),
    }
}

/// A Range with a run-time length. Refused without an upper limit for the length.
fn range_of_run_time(core: &mut CoreBuilder, args: &Operands, what: &str) -> Rule<Known> {
    if let Some(range) = bounded_range(core, args, what) {
        core.foldable(&[range.most], ElementType::I64)?;
        return open_range(core, args, range);
    }
    let port = if what == "the start" { 0 } else { usize::from(what != "the stop") + 1 };
    let names = &args.model.values[args.node.inputs[port].0].names;
    let limit = names.first().map_or(String::new(), |name| format!(", {},", quoted(name)));
    let found =
        format!("{what} of Range{limit} is computed at run time: it says the size of a tensor");
    let valid = "a start and a step that are known when compiling, and a stop that is known, \
        a size of an input, or at most a constant, by Clip or Min before it";
    Err(Refusal::new(found, valid, COUNT_ALL))
}

/// A Range of integers with a computed stop.
#[derive(Clone, Copy)]
struct BoundedRange {
    start: i64,
    step: i64,
    /// The upper limit of the length.
    most: usize,
}

/// A Range of integers with a computed stop. `None` if the stop has no limit, and for other Ranges.
fn bounded_range(core: &CoreBuilder, args: &Operands, what: &str) -> Option<BoundedRange> {
    let known = |port: usize| match args.known(port) {
        Some(Known::Constant(tensor, element)) if !element.is_float() && tensor.len() == 1 => {
            tensor.get_i64(0)
        }
        _ => None,
    };
    let (start, step) = (known(0)?, known(2).filter(|&step| step != 0)?);
    let stop = args.known(1).filter(|stop| what == "the stop" && !stop.element().is_float())?;
    let [least, largest] = core.facts.range_of(stop);
    let last = if step > 0 { largest } else { least };
    // a stop that may reach the largest run-time integer has no limit
    if core.shape_of(stop).iter().any(|&size| size != 1)
        || last.abs() >= f64::from(INTEGER_LIMIT - 1)
    {
        return None;
    }
    let most = ((last - start as f64) / step as f64).ceil();
    let is_allowed = (1.0..=MOST_ELEMENTS as f64).contains(&most);
    is_allowed.then_some(BoundedRange { start, step, most: most as usize })
}

/// A tensor of the largest length. Zeros follow the elements before the stop.
fn open_range(
    core: &mut CoreBuilder,
    args: &Operands,
    BoundedRange { start, step, most }: BoundedRange,
) -> Rule<Known> {
    let number = |value: i64| Known::integers(Vec::new(), &[value], ElementType::I64);
    let stop = args.get(1)?;
    let stop = core.view(&stop, Geometry::reshaped(Vec::new()))?;
    let stop = converted(core, &stop, ElementType::I64)?;
    let ends = if step > 0 { vec![stop, number(start)] } else { vec![number(start), stop] };
    let span = compute(core, Binary::Subtract, ends)?;
    let mut count = compute(core, Binary::Maximum, vec![span, number(0)])?;
    if step.abs() > 1 {
        count = compute(core, Binary::Add, vec![count, number(step.abs() - 1)])?;
        count = compute(core, Binary::Divide, vec![count, number(step.abs())])?;
    }
    let stated = args.element();
    let element = if stated == ElementType::I32 { stated } else { ElementType::I64 };
    let numbers = fold::range(start, step, most, element);
    let numbers = numbers.map_err(Refusal::undefined)?;
    let numbers = Known::Constant(numbers, element);
    let length = DynamicLength {
        count: core.source(&count)?,
        by: Divider::Range,
        is_zero: true,
        truncated: None,
        parts_along: Some(0),
    };
    let zero = Known::integers(Vec::new(), &[0], element);
    let known = padded_behind(core, &numbers, length, &zero)?;
    core.facts.set_length(&known, length);
    Ok(known)
}

/// A constant Range. A Range without elements is refused.
fn range_of_numbers(
    core: &mut CoreBuilder,
    args: &Operands,
    start: f64,
    stop: f64,
    step: f64,
) -> Rule<Known> {
    let count = ((stop - start) / step).ceil();
    if !(1.0..=MOST_ELEMENTS as f64).contains(&count) {
        let found = format!("numbers from {start} to {stop} in steps of {step}");
        let valid = format!("1 to {MOST_ELEMENTS} numbers");
        return Err(Refusal::new(found, valid, "correct the start, the stop or the step"));
    }
    let element = args.element();
    let count = count as usize;
    core.foldable(&[count], element)?;
    let numbers: Vec<f32> = (0..count).map(|k| (start + k as f64 * step) as f32).collect();
    Ok(Known::floats(vec![count], &numbers, element))
}
