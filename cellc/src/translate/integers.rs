//! Arithmetic, comparisons and conversions of integers at run time, as floating-point operations on
//! integers stored as f32.

use std::collections::HashSet;

use super::operands::{all_exact, too_large_integer};
use super::primitives::{absolute, clamp, pointwise};
use super::refusal::{Refusal, Rule};
use super::translator::Translator;
use crate::core::CoreBuilder;
use crate::core::interval::{EXACT, Interval, TRUTH, ends};
use crate::core::{Combiner, CoreOp, IntegerInput, Known, PointwiseFunction, Source};
use crate::model::{
    Axes, Binary, Comparison, ElementType, Elementwise, Groups, Logic, MathFunction, Node, Op,
    Primitive, Remainder, Tensor, Unary, ValueId,
};

impl Translator<'_, '_> {
    /// True if every use of an integer value ends in a conversion to floating point, with only
    /// moves, additions and subtractions before the conversion.
    pub(super) fn becomes_float(&self, value: ValueId) -> bool {
        let nodes = &self.model.nodes;
        let (mut waiting, mut seen) = (vec![value], HashSet::from([value]));
        while let Some(value) = waiting.pop() {
            for node in nodes.iter().filter(|node| node.inputs.contains(&value)) {
                let output = node.outputs.first();
                let is_float = |output: &ValueId| self.model.values[output.0].element.is_float();
                match node.op.facts().axes {
                    Axes::Same if output.is_some_and(is_float) => {}
                    Axes::Broadcast(Elementwise::Primitive(Primitive::Binary(
                        Binary::Add | Binary::Subtract,
                    )))
                    | Axes::Reshaped
                    | Axes::Permuted
                    | Axes::Removed
                    | Axes::Inserted => {
                        waiting.extend(output.filter(|&&output| seen.insert(output)));
                    }
                    _ => return false,
                }
            }
        }
        true
    }

    /// Notes the range of a floating-point difference of numbers that are integers.
    pub(super) fn range_of_difference(&mut self, node: &Node, function: Elementwise) {
        if let (Elementwise::Primitive(Primitive::Binary(Binary::Subtract)), [a, b]) =
            (function, &node.inputs[..])
            && let (Some(a), Some(b)) = (self.bounded(*a), self.bounded(*b))
        {
            self.bound_float(node, ends(a, b, |a, b| a - b));
        }
    }

    /// Notes the range of floating-point sums of products of numbers that are integers, as in
    /// quantised operators.
    pub(super) fn range_of_products(&mut self, node: &Node) {
        let &[a, b] = &node.inputs[..] else { return };
        let (Some(of_a), Some(of_b)) = (self.bounded(a), self.bounded(b)) else { return };
        let Some(w) = self.known[b.0].as_ref().map(|known| self.core.shape_of(known)) else {
            return;
        };
        let terms: usize = match &node.op {
            Op::MatMul { transpose_b, .. } => {
                w.iter().rev().nth(usize::from(!transpose_b && w.len() > 1)).map_or(1, |n| *n)
            }
            Op::Convolution(convolution)
                if !convolution.transposed && matches!(convolution.groups, Groups::Count(_)) =>
            {
                w.iter().skip(1).product()
            }
            _ => w.iter().product(),
        };
        let most = of_a.iter().chain(&of_b).map(|end| end.abs());
        let [a, b] = [most.clone().take(2).fold(0.0, f64::max), most.skip(2).fold(0.0, f64::max)];
        let most = a * b * terms as f64;
        self.bound_float(node, [-most, most]);
    }

    /// The interval of a value of the graph. `None` if the interval is unknown or infinite, or if a
    /// constant has an element with a fraction.
    fn bounded(&self, value: ValueId) -> Option<Interval> {
        let known = self.known[value.0].as_ref()?;
        // most weights have a fraction among their first elements, so the search ends soon
        let is_integral =
            |tensor: &Tensor| (0..tensor.len()).all(|i| tensor.get_f64(i).fract() == 0.0);
        if known.tensor().is_some_and(|tensor| !is_integral(tensor)) {
            return None;
        }
        let range = self.core.facts.range_of(known);
        range.iter().all(|end| end.is_finite()).then_some(range)
    }

    fn bound_float(&mut self, node: &Node, range: Interval) {
        if let Some(Known::Source(Source::Value(value), element)) = &self.known[node.outputs[0].0]
            && element.is_float()
        {
            self.core.facts.ranges.insert(*value, range);
        }
    }
}

/// A tensor of integers with a range. Refused unless f32 represents all integers of the range
/// exactly.
fn exact_integers(
    core: &mut CoreBuilder,
    source: Source,
    element: ElementType,
    range: Interval,
) -> Rule<Known> {
    if range.iter().any(|end| end.is_nan() || end.abs() > EXACT) {
        let text = |v: f64| if v.is_finite() { v.to_string() } else { "any number".to_owned() };
        return Err(too_large_integer(format!(
            "{} from {} to {}",
            element.name(),
            text(range[0]),
            text(range[1])
        )));
    }
    wrapped(core, source, element, range)
}

/// Integers converted to a type: integers of 16 bits or fewer wrap around.
pub(super) fn wrapped(
    core: &mut CoreBuilder,
    source: Source,
    element: ElementType,
    range: Interval,
) -> Rule<Known> {
    let [least, most] = IntegerInput::limits(element).map(f64::from);
    let known = Known::Source(source, element);
    let is_narrow = element.bits() <= 16 && !element.is_float() && element != ElementType::Bool;
    if !is_narrow || least <= range[0] && range[1] <= most {
        core.facts.set_range(&known, range);
        return Ok(known);
    }
    // subtracts `size` as often as `size` fits into the number minus `least`. The first subtraction
    // may round above 2^24, but never across a multiple of `size`; all other steps are exact.
    let shape = core.shape_of(&known);
    let size = (most - least + 1.0) as f32;
    let [first, size, part] = [least as f32, size, 1.0 / size].map(|number| core.scalar(number));
    let from_first = pointwise(core, Binary::Subtract, &[source, first], &shape)?;
    let times = pointwise(core, Binary::Multiply, &[from_first, part], &shape)?;
    let times = pointwise(core, MathFunction::Floor, &[times], &shape)?;
    let beyond = pointwise(core, Binary::Multiply, &[times, size], &shape)?;
    let wrapped =
        Known::Source(pointwise(core, Binary::Subtract, &[source, beyond], &shape)?, element);
    core.facts.set_range(&wrapped, [least, most]);
    Ok(wrapped)
}

/// The one or two operands of an operation on integers at run time.
struct IntegerOperands {
    sources: Vec<Source>,
    shapes: Vec<Vec<usize>>,
    /// The range of the first operand.
    a: Interval,
    /// The range of the second operand. Without a second operand [`TRUTH`], which nothing reads.
    b: Interval,
}

impl IntegerOperands {
    fn new(core: &mut CoreBuilder, inputs: &[Known]) -> Rule<Self> {
        all_exact(inputs)?;
        let a = core.facts.range_of(&inputs[0]);
        let b = inputs.get(1).map_or(TRUTH, |known| core.facts.range_of(known));
        let shapes = inputs.iter().map(|input| core.shape_of(input)).collect();
        let sources = inputs.iter().map(|input| core.source(input)).collect::<Result<_, _>>()?;
        Ok(Self { sources, shapes, a, b })
    }

    /// True if the divisor may be 0.
    fn may_divide_by_zero(&self) -> bool {
        self.b[0] <= 0.0 && self.b[1] >= 0.0
    }

    /// True if the divisor times the rounded-down quotient may exceed [`EXACT`] in magnitude. The
    /// magnitude of this product exceeds the dividend by up to the divisor minus 1 if the operands
    /// differ in sign.
    fn products_exceed(&self) -> bool {
        let may_differ_in_sign = self.a[0] < 0.0 || self.b[0] < 0.0;
        let divisor = self.b[0].abs().max(self.b[1].abs());
        may_differ_in_sign && self.most() + divisor - 1.0 > EXACT
    }

    /// The largest magnitude of the first operand.
    fn most(&self) -> f64 {
        self.a[0].abs().max(self.a[1].abs())
    }
}

/// Arithmetic of one integer at run time.
pub(super) fn unary(
    core: &mut CoreBuilder,
    unary: Unary,
    inputs: &[Known],
    shape: &[usize],
) -> Rule<Known> {
    let operands = IntegerOperands::new(core, inputs)?;
    let (a, x) = (operands.a, operands.sources[0]);
    let (source, range) = match unary {
        Unary::Negative => {
            let factors = [x, core.scalar(-1.0)];
            (pointwise(core, Binary::Multiply, &factors, shape)?, [-a[1], -a[0]])
        }
        Unary::Abs => {
            let least = if a[0] > 0.0 { a[0] } else { (-a[1]).max(0.0) };
            (absolute(core, x, shape)?, [least, operands.most()])
        }
        Unary::Ceiling => return Ok(inputs[0].clone()),
        Unary::Sign => (sign(core, x, shape)?, [-1.0, 1.0]),
        Unary::Clamp { min, max } => {
            let [min, max] = integer_bounds(min, max)?;
            (clamp(core, x, min as f32, max as f32, shape)?, a.map(|v| v.clamp(min, max)))
        }
    };
    // none of these operations rounds
    wrapped(core, source, inputs[0].element(), range)
}

/// The bounds of a Clamp of integers.
fn integer_bounds(min: f32, max: f32) -> Rule<[f64; 2]> {
    let bounds = Unary::integer_bounds(min, max).ok_or_else(|| {
        let found = format!("Clamp of integers from {min} to {max}");
        Refusal::new(found, "bounds with an integer between them", "correct min or max")
    })?;
    Ok(bounds.map(|bound| bound as f64))
}

/// Arithmetic of two integers at run time.
pub(super) fn binary(
    core: &mut CoreBuilder,
    binary: Binary,
    inputs: &[Known],
    shape: &[usize],
) -> Rule<Known> {
    let element = inputs[0].element();
    let operands = IntegerOperands::new(core, inputs)?;
    let (a, b) = (operands.a, operands.b);
    let source = match binary {
        Binary::Divide => whole_quotient(core, &operands, MathFunction::Floor, shape)?,
        binary => pointwise(core, binary, &operands.sources, shape)?,
    };
    let range = match binary {
        Binary::Add => ends(a, b, |a, b| a + b),
        Binary::Subtract => ends(a, b, |a, b| a - b),
        Binary::Multiply => ends(a, b, |a, b| a * b),
        Binary::Divide => [-operands.most(), operands.most()],
        Binary::Maximum => [a[0].max(b[0]), a[1].max(b[1])],
        Binary::Minimum => [a[0].min(b[0]), a[1].min(b[1])],
    };
    match binary {
        // a sum above 2^24 in magnitude is rounded to f32; the conversion to floating point that
        // follows would round, too
        Binary::Add | Binary::Subtract if element.bits() > 16 && core.layer.becomes_float => {
            let known = Known::Source(source, element);
            core.facts.set_range(&known, range);
            Ok(known)
        }
        Binary::Add | Binary::Subtract | Binary::Multiply | Binary::Divide => {
            exact_integers(core, source, element, range)
        }
        // maxima and minima do not round
        Binary::Maximum | Binary::Minimum => wrapped(core, source, element, range),
    }
}

/// The quotient of two integers, rounded to an integer. 0 if the divisor is 0.
fn whole_quotient(
    core: &mut CoreBuilder,
    operands: &IntegerOperands,
    rounded: MathFunction,
    shape: &[usize],
) -> Rule<Source> {
    let mut quotient = pointwise(core, Binary::Divide, &operands.sources, shape)?;
    if operands.may_divide_by_zero() {
        let zero = core.scalar(0.0);
        let no_divisor = pointwise(
            core,
            PointwiseFunction::Equal,
            &[operands.sources[1], zero],
            &operands.shapes[1],
        )?;
        quotient =
            pointwise(core, PointwiseFunction::Select, &[no_divisor, zero, quotient], shape)?;
    }
    // for integers below 2^24, f32 does not round a fractional quotient to an integer, so the
    // result of `rounded` is exact
    pointwise(core, rounded, &[quotient], shape)
}

/// The remainder of a division of integers at run time. The dividend if the divisor is 0.
pub(super) fn remainder(
    core: &mut CoreBuilder,
    remainder: Remainder,
    inputs: &[Known],
    shape: &[usize],
) -> Rule<Known> {
    let operands = IntegerOperands::new(core, inputs)?;
    let [dividend, divisor] = [0, 1].map(|at| operands.sources[at]);
    let truncates = remainder == Remainder::OfDividend || operands.products_exceed();
    let rounded = if truncates { MathFunction::Truncate } else { remainder.rounding() };
    let quotient = whole_quotient(core, &operands, rounded, shape)?;
    let product = pointwise(core, Binary::Multiply, &[quotient, divisor], shape)?;
    let mut rest = pointwise(core, Binary::Subtract, &[dividend, product], shape)?;
    if truncates && remainder == Remainder::OfDivisor {
        // a rest with the other sign than the divisor lacks one divisor
        let zero = core.scalar(0.0);
        let signs = pointwise(core, Binary::Multiply, &[rest, divisor], shape)?;
        let lacks = pointwise(core, PointwiseFunction::Less, &[signs, zero], shape)?;
        let missing = pointwise(core, Binary::Multiply, &[lacks, divisor], shape)?;
        rest = pointwise(core, Binary::Add, &[rest, missing], shape)?;
    }
    let divisor = operands.b[0].abs().max(operands.b[1].abs());
    let dividend = if operands.may_divide_by_zero() { operands.most() } else { 0.0 };
    let most = dividend.max(divisor - 1.0);
    exact_integers(core, rest, inputs[0].element(), [-most, most])
}

/// The sign: -1, 0 or 1; NaN for NaN.
pub(super) fn sign(core: &mut CoreBuilder, input: Source, shape: &[usize]) -> Rule<Source> {
    let zero = core.scalar(0.0);
    let above = pointwise(core, PointwiseFunction::Less, &[zero, input], shape)?;
    let below = pointwise(core, PointwiseFunction::Less, &[input, zero], shape)?;
    let sign = pointwise(core, Binary::Subtract, &[above, below], shape)?;
    // the sign of NaN is NaN
    let number = pointwise(core, PointwiseFunction::Equal, &[input, input], shape)?;
    pointwise(core, PointwiseFunction::Select, &[number, sign, input], shape)
}

/// A comparison of two numbers; the result is a truth value.
pub(super) fn comparison(
    core: &mut CoreBuilder,
    comparison: Comparison,
    inputs: &[Known],
    shape: &[usize],
) -> Rule<Known> {
    all_exact(inputs)?;
    let [a, b] = [core.source(&inputs[0])?, core.source(&inputs[1])?];
    let truth = match comparison {
        Comparison::Less => pointwise(core, PointwiseFunction::Less, &[a, b], shape)?,
        Comparison::Greater => pointwise(core, PointwiseFunction::Less, &[b, a], shape)?,
        Comparison::LessEqual => pointwise(core, PointwiseFunction::LessEqual, &[a, b], shape)?,
        Comparison::GreaterEqual => pointwise(core, PointwiseFunction::LessEqual, &[b, a], shape)?,
        Comparison::Equal => pointwise(core, PointwiseFunction::Equal, &[a, b], shape)?,
        Comparison::NotEqual => {
            let equal = pointwise(core, PointwiseFunction::Equal, &[a, b], shape)?;
            not(core, equal, shape)?
        }
    };
    Ok(Known::Source(truth, ElementType::Bool))
}

/// An operation on truth values; the result is a truth value.
pub(super) fn logic(
    core: &mut CoreBuilder,
    logic: Logic,
    inputs: &[Known],
    shape: &[usize],
) -> Rule<Known> {
    let element = inputs[0].element();
    if element != ElementType::Bool {
        let found = format!("a logical operation on {} at run time", element.name());
        return Err(Refusal::new(found, "booleans", "compare the integers with 0 before"));
    }
    let sources = inputs.iter().map(|input| core.source(input)).collect::<Result<Vec<_>, _>>()?;
    let truth = match logic {
        Logic::And => pointwise(core, Binary::Minimum, &sources, shape)?,
        Logic::Or => pointwise(core, Binary::Maximum, &sources, shape)?,
        Logic::Not => not(core, sources[0], shape)?,
    };
    Ok(Known::Source(truth, ElementType::Bool))
}

/// The elements of the second input where the first input is true, elsewhere of the third input.
pub(super) fn selection(core: &mut CoreBuilder, inputs: &[Known], shape: &[usize]) -> Rule<Known> {
    all_exact(inputs)?;
    let sources = inputs.iter().map(|input| core.source(input)).collect::<Result<Vec<_>, _>>()?;
    let condition = match inputs[0].element() {
        ElementType::Bool => sources[0],
        _ => {
            let shape = core.shape_of(&inputs[0]);
            is_not_zero(core, sources[0], &shape)?
        }
    };
    let operands = [condition, sources[1], sources[2]];
    let chosen = pointwise(core, PointwiseFunction::Select, &operands, shape)?;
    let known = Known::Source(chosen, inputs[1].element());
    core.facts.set_range(&known, core.facts.range_of_all(&inputs[1..]));
    Ok(known)
}

fn not(core: &mut CoreBuilder, truth: Source, shape: &[usize]) -> Rule<Source> {
    let one = core.scalar(1.0);
    pointwise(core, Binary::Subtract, &[one, truth], shape)
}

fn is_not_zero(core: &mut CoreBuilder, source: Source, shape: &[usize]) -> Rule<Source> {
    let zero = core.scalar(0.0);
    let equal = pointwise(core, PointwiseFunction::Equal, &[source, zero], shape)?;
    not(core, equal, shape)
}

/// A conversion at run time. A conversion to floating point changes only the element type.
pub(super) fn converted(
    core: &mut CoreBuilder,
    known: &Known,
    element: ElementType,
) -> Rule<Known> {
    let shape = core.shape_of(known);
    let (source, before) = (core.source(known)?, known.element());
    let range = core.facts.range_of(known);
    if element == before || element.is_float() {
        return Ok(Known::Source(source, element));
    }
    if element == ElementType::Bool {
        return Ok(Known::Source(is_not_zero(core, source, &shape)?, element));
    }
    if before.is_float() {
        let whole = MathFunction::Truncate;
        let whole = pointwise(core, whole, &[source], &shape)?;
        if element.bits() > 16 {
            let converted = Known::Source(whole, element);
            core.facts.set_range(&converted, range.map(f64::trunc));
            return Ok(converted);
        }
        // no standard defines conversions beyond the range of a narrow type: the nearest number of
        // the range is taken
        let [least, most] = IntegerInput::limits(element);
        let inside = clamp(core, whole, least as f32, most as f32, &shape)?;
        let converted = Known::Source(inside, element);
        core.facts.set_range(&converted, [least.into(), most.into()]);
        return Ok(converted);
    }
    wrapped(core, source, element, range)
}

/// Adds the conversion of an integer input, and returns the converted tensor.
pub(super) fn integers_of(core: &mut CoreBuilder, parameter: usize, element: ElementType) -> Known {
    let out = core.value(core.model.parameters[parameter].shape.clone());
    let [least, most] = IntegerInput::limits(element);
    core.emit(CoreOp::IntegerInput(IntegerInput { parameter, least, most, out }));
    core.facts.ranges.insert(out, [least.into(), most.into()]);
    core.facts.parameter_of.insert(out, (parameter, true));
    Known::Source(Source::Value(out), element)
}

/// The range of a reduction of `size` integers. Refused above [`EXACT`]. For floats: the range of
/// the input, which nothing reads.
pub(super) fn reduced_range(
    core: &mut CoreBuilder,
    combiner: Combiner,
    input: &Known,
    size: usize,
) -> Rule<Interval> {
    let range = core.facts.range_of(input);
    if input.element().is_float() {
        return Ok(range);
    }
    let range = match combiner {
        Combiner::Add => range.map(|end| end * size as f64),
        Combiner::Multiply => {
            let most = range[0]
                .abs()
                .max(range[1].abs())
                .max(1.0)
                .powi(i32::try_from(size).unwrap_or(i32::MAX));
            [-most, most]
        }
        Combiner::Maximum | Combiner::Minimum => range,
    };
    if range.iter().any(|end| end.abs() > EXACT) {
        return Err(too_large_integer(format!(
            "{size} integers by {}",
            combiner.function().name()
        )));
    }
    Ok(range)
}
