//! Arithmetic, decisions and conversions of integers at run time, as operations on floating-point
//! numbers that hold integers.

use std::collections::HashSet;

use super::operands::{all_exact, too_large_integer};
use super::primitives::{absolute, clamp, pointwise};
use super::refusal::{Refusal, Rule};
use super::translator::Translator;
use crate::check::report::floats;
use crate::core::CoreBuilder;
use crate::core::interval::{EXACT, Interval, TRUTH, ends};
use crate::core::{Combiner, CoreOp, Integers, Known, PointwiseFunction, Source};
use crate::model::{Activation, Axes, ElementType, Elementwise, Groups, Node, Op, Tensor, ValueId};

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
                    Axes::Broadcast(Elementwise::Add | Elementwise::Subtract)
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

    /// Notes the range of a difference of integers in floating point.
    pub(super) fn range_of_difference(&mut self, node: &Node, function: Elementwise) {
        if let (Elementwise::Subtract, [a, b]) = (function, &node.inputs[..])
            && let (Some(a), Some(b)) = (self.bounded(*a), self.bounded(*b))
        {
            self.bound_float(node, ends(a, b, |a, b| a - b));
        }
    }

    /// Notes the range of sums of products of integers in floating point, as quantised operators
    /// compute.
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
            Op::Convolution(of) if !of.transposed && matches!(of.groups, Groups::Count(_)) => {
                w.iter().skip(1).product()
            }
            _ => w.iter().product(),
        };
        let most = of_a.iter().chain(&of_b).map(|end| end.abs());
        let [a, b] = [most.clone().take(2).fold(0.0, f64::max), most.skip(2).fold(0.0, f64::max)];
        let most = a * b * terms as f64;
        self.bound_float(node, [-most, most]);
    }

    /// Interval of a value of the graph; `None` if unknown, or if a constant holds a number with a
    /// fraction.
    fn bounded(&self, value: ValueId) -> Option<Interval> {
        let known = self.known[value.0].as_ref()?;
        // most weights have a fraction among their first elements, so this search is short
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

/// A tensor of integers in a range.
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

/// Numbers converted to a type: narrow integers wrap around.
pub(super) fn wrapped(
    core: &mut CoreBuilder,
    source: Source,
    element: ElementType,
    range: Interval,
) -> Rule<Known> {
    use PointwiseFunction as P;
    let [least, most] = Integers::limits(element).map(f64::from);
    let known = Known::Source(source, element);
    let is_narrow = element.bits() <= 16 && !element.is_float() && element != ElementType::Bool;
    if !is_narrow || least <= range[0] && range[1] <= most {
        core.facts.set_range(&known, range);
        return Ok(known);
    }
    // subtracts the largest multiple of `size` not above the number; every step is exact
    let shape = core.shape_of(&known);
    let size = (most - least + 1.0) as f32;
    let [first, size, part] = [least as f32, size, 1.0 / size].map(|number| core.scalar(number));
    let from_first = pointwise(core, P::Subtract, &[source, first], &shape)?;
    let times = pointwise(core, P::Multiply, &[from_first, part], &shape)?;
    let times = pointwise(core, P::Activation(Activation::Floor), &[times], &shape)?;
    let beyond = pointwise(core, P::Multiply, &[times, size], &shape)?;
    let wrapped = Known::Source(pointwise(core, P::Subtract, &[source, beyond], &shape)?, element);
    core.facts.set_range(&wrapped, [least, most]);
    Ok(wrapped)
}

/// Operands of an operation on integers at run time, one or two.
struct IntegerOperands {
    sources: Vec<Source>,
    shapes: Vec<Vec<usize>>,
    /// The range of the first operand.
    a: Interval,
    /// The range of the second operand, or [`TRUTH`].
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

    /// The largest magnitude of the first operand.
    fn most(&self) -> f64 {
        self.a[0].abs().max(self.a[1].abs())
    }
}

/// An operation on integers at run time.
pub(super) fn integer_arithmetic(
    core: &mut CoreBuilder,
    function: Elementwise,
    inputs: &[Known],
    shape: &[usize],
) -> Rule<Known> {
    use Elementwise as E;
    let element = inputs[0].element();
    let of = IntegerOperands::new(core, inputs)?;
    let IntegerOperands { a, b, ref sources, .. } = of;
    let apply = |core: &mut CoreBuilder, range: Interval| -> Rule<(Source, Interval)> {
        let function =
            PointwiseFunction::of_elementwise(function).expect("translate: a pointwise operation");
        Ok((pointwise(core, function, sources, shape)?, range))
    };
    let (source, range) = match function {
        E::Add => apply(core, ends(a, b, |a, b| a + b))?,
        E::Subtract => apply(core, ends(a, b, |a, b| a - b))?,
        E::Multiply => apply(core, ends(a, b, |a, b| a * b))?,
        E::Maximum => apply(core, [a[0].max(b[0]), a[1].max(b[1])])?,
        E::Minimum => apply(core, [a[0].min(b[0]), a[1].min(b[1])])?,
        E::Negative => {
            let minus = core.scalar(-1.0);
            let factors = [sources[0], minus];
            let negative = pointwise(core, PointwiseFunction::Multiply, &factors, shape)?;
            (negative, [-a[1], -a[0]])
        }
        E::Abs => {
            let least = if a[0] > 0.0 { a[0] } else { (-a[1]).max(0.0) };
            (absolute(core, sources[0], shape)?, [least, of.most()])
        }
        E::Clamp { min, max } => {
            let [min_of, max_of] = [f64::from(min).ceil(), f64::from(max).floor()];
            let source = clamp(core, sources[0], min_of as f32, max_of as f32, shape)?;
            (source, a.map(|v| v.clamp(min_of, max_of)))
        }
        E::Divide => {
            let most = of.most();
            (whole_quotient(core, &of, Activation::Floor, shape)?, [-most, most])
        }
        E::Mod => remainder(core, &of, Activation::Truncate, shape)?,
        E::FloorMod => remainder(core, &of, Activation::Floor, shape)?,
        E::Activation(Activation::Floor | Activation::Round | Activation::Truncate)
        | E::Ceiling => return Ok(inputs[0].clone()),
        E::Sign => (sign(core, sources[0], shape)?, [-1.0, 1.0]),
        E::Activation(_)
        | E::PRelu
        | E::Power
        | E::HardSigmoid
        | E::Swish { .. }
        | E::Mish
        | E::HardSwish
        | E::Selu
        | E::Celu { .. }
        | E::GeluTanh
        | E::Gelu
        | E::Tan
        | E::Sinh
        | E::Cosh
        | E::Asin
        | E::Acos
        | E::Asinh
        | E::Acosh
        | E::Atanh
        | E::SquaredDifference
        | E::Equal
        | E::NotEqual
        | E::Greater
        | E::GreaterEqual
        | E::Less
        | E::LessEqual
        | E::LogicalAnd
        | E::LogicalOr
        | E::LogicalNot
        | E::Select => {
            let found = format!("{} at run time", element.name());
            let help = "convert the integers to floating point before";
            return Err(Refusal::new(found, floats(), help));
        }
    };
    match function {
        // a sum above 2^24 is rounded as its conversion to f32 would round it
        E::Add | E::Subtract if element.bits() > 16 && core.layer.becomes_float => {
            let known = Known::Source(source, element);
            core.facts.set_range(&known, range);
            Ok(known)
        }
        // these functions round nothing
        E::Maximum | E::Minimum | E::Negative | E::Abs | E::Clamp { .. } | E::Sign => {
            wrapped(core, source, element, range)
        }
        _ => exact_integers(core, source, element, range),
    }
}

/// The quotient of two integers, rounded to an integer; 0 for a divisor of 0.
fn whole_quotient(
    core: &mut CoreBuilder,
    of: &IntegerOperands,
    rounded: Activation,
    shape: &[usize],
) -> Rule<Source> {
    use PointwiseFunction as P;
    let mut quotient = pointwise(core, P::Divide, &of.sources, shape)?;
    if of.may_divide_by_zero() {
        let zero = core.scalar(0.0);
        let no_divisor = pointwise(core, P::Equal, &[of.sources[1], zero], &of.shapes[1])?;
        quotient = pointwise(core, P::Select, &[no_divisor, zero, quotient], shape)?;
    }
    // f32 rounds a quotient of integers below 2^24 to an integer only if it is one
    pointwise(core, P::Activation(rounded), &[quotient], shape)
}

/// The remainder of a division of integers, and its range; the dividend for a divisor of 0.
fn remainder(
    core: &mut CoreBuilder,
    of: &IntegerOperands,
    rounded: Activation,
    shape: &[usize],
) -> Rule<(Source, Interval)> {
    use PointwiseFunction as P;
    let quotient = whole_quotient(core, of, rounded, shape)?;
    let product = pointwise(core, P::Multiply, &[quotient, of.sources[1]], shape)?;
    let rest = pointwise(core, P::Subtract, &[of.sources[0], product], shape)?;
    let divisor = of.b[0].abs().max(of.b[1].abs());
    let dividend = if of.may_divide_by_zero() { of.most() } else { 0.0 };
    let most = dividend.max(divisor - 1.0);
    Ok((rest, [-most, most]))
}

/// The sign: -1, 0 or 1.
pub(super) fn sign(core: &mut CoreBuilder, input: Source, shape: &[usize]) -> Rule<Source> {
    use PointwiseFunction as P;
    let zero = core.scalar(0.0);
    let above = pointwise(core, P::Less, &[zero, input], shape)?;
    let below = pointwise(core, P::Less, &[input, zero], shape)?;
    let sign = pointwise(core, P::Subtract, &[above, below], shape)?;
    // the sign of NaN is NaN
    let number = pointwise(core, P::Equal, &[input, input], shape)?;
    pointwise(core, P::Select, &[number, sign, input], shape)
}

/// Comparisons, logical operations and selections.
pub(super) fn decision(
    core: &mut CoreBuilder,
    function: Elementwise,
    inputs: &[Known],
    shape: &[usize],
) -> Rule<Known> {
    use Elementwise as E;
    use PointwiseFunction as P;
    all_exact(inputs)?;
    let sources: Vec<Source> = inputs.iter().filter_map(|input| core.source(input).ok()).collect();
    let swapped: Vec<Source> = sources.iter().rev().copied().collect();
    let truth = |source: Source| Ok(Known::Source(source, ElementType::Bool));
    let is_truth = inputs[0].element() == ElementType::Bool;
    match function {
        E::Less => truth(pointwise(core, P::Less, &sources, shape)?),
        E::Greater => truth(pointwise(core, P::Less, &swapped, shape)?),
        E::LessEqual => truth(pointwise(core, P::LessEqual, &sources, shape)?),
        E::GreaterEqual => truth(pointwise(core, P::LessEqual, &swapped, shape)?),
        E::Equal => truth(pointwise(core, P::Equal, &sources, shape)?),
        E::NotEqual => {
            let equal = pointwise(core, P::Equal, &sources, shape)?;
            truth(not(core, equal, shape)?)
        }
        E::LogicalNot if is_truth => truth(not(core, sources[0], shape)?),
        E::LogicalAnd if is_truth => truth(pointwise(core, P::Minimum, &sources, shape)?),
        E::LogicalOr if is_truth => truth(pointwise(core, P::Maximum, &sources, shape)?),
        E::Select => {
            let condition = match inputs[0].element() {
                ElementType::Bool => sources[0],
                _ => {
                    let own = core.shape_of(&inputs[0]);
                    is_not_zero(core, sources[0], &own)?
                }
            };
            let element = inputs[1].element();
            let of = [condition, sources[1], sources[2]];
            let known = Known::Source(pointwise(core, P::Select, &of, shape)?, element);
            core.facts.set_range(&known, core.facts.range_of_all(&inputs[1..]));
            Ok(known)
        }
        _ => {
            let found =
                format!("a logical operation on {} at run time", inputs[0].element().name());
            Err(Refusal::new(found, "booleans", "compare the integers with 0 before"))
        }
    }
}

fn not(core: &mut CoreBuilder, truth: Source, shape: &[usize]) -> Rule<Source> {
    let one = core.scalar(1.0);
    pointwise(core, PointwiseFunction::Subtract, &[one, truth], shape)
}

fn is_not_zero(core: &mut CoreBuilder, source: Source, shape: &[usize]) -> Rule<Source> {
    let zero = core.scalar(0.0);
    let equal = pointwise(core, PointwiseFunction::Equal, &[source, zero], shape)?;
    not(core, equal, shape)
}

/// A conversion at run time from or to integers or booleans.
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
        let whole = PointwiseFunction::Activation(Activation::Truncate);
        let whole = pointwise(core, whole, &[source], &shape)?;
        if element.bits() > 16 {
            let converted = Known::Source(whole, element);
            core.facts.set_range(&converted, range.map(f64::trunc));
            return Ok(converted);
        }
        // no standard defines conversions beyond the range of a narrow type: the range's end is
        // taken
        let [least, most] = Integers::limits(element);
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
    let [least, most] = Integers::limits(element);
    core.emit(CoreOp::Integers(Integers { parameter, least, most, out }));
    core.facts.ranges.insert(out, [least.into(), most.into()]);
    core.facts.parameter_of.insert(out, (parameter, true));
    Known::Source(Source::Value(out), element)
}

/// The range of `size` elements reduced to one.
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
