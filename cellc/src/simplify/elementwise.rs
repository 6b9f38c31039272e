//! Operations element by element, and along one axis.

use super::convolution::pointwise_of_lines;
use super::hyperbolic::hyperbolic;
use super::integers::{decision, of_integers, sign};
use super::layout::broadcasts::selected;
use super::operands::Operands;
use super::operands::{all_floats, shapes_differ};
use super::parts::padded_behind;
use super::reduce::{power, squared};
use super::refusal::{Refusal, Rule};
use crate::activation::{self, Constants};
use crate::check::cell::{wrong_parameter_text, wrong_parameters};
use crate::check::report::UNDEFINED;
use crate::core::CoreBuilder;
use crate::core::{
    CoreOp, Geometry, Known, Pointwise, PointwiseFunction, Softmax, Source, broadcast, fold,
};
use crate::model::{Activation, ElementType, Elementwise, Tensor, shape_text};

/// The operand chosen by a Select with a known uniform condition.
fn decided(function: Elementwise, inputs: &[Known]) -> Option<usize> {
    let condition = inputs[0]
        .tensor()
        .filter(|condition| function == Elementwise::Select && !condition.is_empty())?;
    let is_true = |i: usize| condition.get_f64(i) != 0.0;
    let same = (1..condition.len()).all(|i| is_true(i) == is_true(0));
    same.then(|| if is_true(0) { 1 } else { 2 })
}

/// The output of an operation; `None` after an error.
pub(super) fn computed(
    core: &mut CoreBuilder,
    function: Elementwise,
    mut inputs: Vec<Known>,
) -> Rule<Known> {
    use Elementwise as E;
    match function {
        E::Clamp { min, max } if min.partial_cmp(&max).is_none_or(std::cmp::Ordering::is_gt) => {
            let found = format!("Clamp from {min} to {max}");
            return Err(Refusal::new(found, "min of max or less", "correct min or max"));
        }
        E::HardSigmoid => return hard_sigmoid(core, &inputs),
        E::SquaredDifference => {
            let difference = computed(core, E::Subtract, inputs)?;
            return squared(core, &difference);
        }
        _ if function.is_composed() => {
            all_floats(&inputs)?;
            return match function.is_hyperbolic() {
                true => hyperbolic(core, function, &inputs[0]),
                false => composed(core, function, &inputs),
            };
        }
        _ => {}
    }
    if function == Elementwise::PRelu {
        slope_by_channel(core, &mut inputs)?;
    }
    if matches!(function, E::Mod | E::FloorMod)
        && inputs[0].tensor().is_none()
        && inputs[0].element().is_float()
    {
        return remainder(core, function, &inputs);
    }
    let shapes: Vec<Vec<usize>> = inputs.iter().map(|input| core.shape_of(input)).collect();
    let Some(shape) = broadcast(shapes.iter().map(Vec::as_slice)) else {
        let valid = "sizes that are equal or 1, compared from the last one to the first";
        return Err(shapes_differ(&shapes, valid, "reshape or broadcast one of them"));
    };
    types_agree(function, &inputs)?;
    let constants: Option<Vec<(&Tensor, ElementType)>> =
        inputs.iter().map(|input| Some((input.tensor()?, input.element()))).collect();
    // kernels compute these activations, also for constants: folding would need a second
    // implementation with the same bits
    let is_computed_in_kernels = match function {
        Elementwise::Activation(of) => activation::constants(of) == Constants::AtRunTime,
        _ => false,
    };
    match constants {
        Some(_) if is_computed_in_kernels => at_run_time(core, function, &inputs, &shape),
        Some(constants) => {
            let first = usize::from(function == E::Select);
            core.foldable(&shape, inputs[first].element())?;
            match fold::elementwise(function, &constants, shape) {
                Ok((tensor, element)) => Ok(Known::Constant(tensor, element)),
                Err(reason) => {
                    Err(Refusal::new(reason, "an operation that has a result", UNDEFINED))
                }
            }
        }
        None => match decided(function, &inputs) {
            Some(operand) => selected(core, &inputs[operand], shape),
            None => at_run_time(core, function, &inputs, &shape),
        },
    }
}

/// Refuses conditions of floats, and operands of which some are floats and others are not.
/// `None` after an error.
fn types_agree(function: Elementwise, inputs: &[Known]) -> Rule<()> {
    use Elementwise::{LogicalAnd, LogicalNot, LogicalOr, Select};
    let is_float = |input: &Known| input.element().is_float();
    let conditions = match function {
        LogicalAnd | LogicalNot | LogicalOr => inputs,
        Select => &inputs[..1],
        _ => &[],
    };
    if conditions.iter().any(is_float) {
        let help = "make it a boolean: compare it with a number";
        return Err(Refusal::new("the condition is floating point", "booleans", help));
    }
    let operands = if function == Select { &inputs[1..] } else { inputs };
    if operands.iter().any(|input| is_float(input) != is_float(&operands[0])) {
        return Err(differ_in_type(inputs));
    }
    Ok(())
}

/// Functions that other functions express.
fn composed(core: &mut CoreBuilder, function: Elementwise, inputs: &[Known]) -> Rule<Known> {
    use Activation as A;
    use Elementwise as E;
    let x = &inputs[0];
    let by = match function {
        E::Swish { scaled } => {
            let inner = match scaled {
                true => computed(core, E::Multiply, vec![x.clone(), inputs[1].clone()])?,
                false => x.clone(),
            };
            computed(core, E::Activation(A::Sigmoid), vec![inner])?
        }
        E::Mish => {
            let inner = computed(core, E::Activation(A::Softplus), vec![x.clone()])?;
            computed(core, E::Activation(A::Tanh), vec![inner])?
        }
        E::HardSwish => {
            let gate = E::Activation(A::HardSigmoid { alpha: 1.0 / 6.0, beta: 0.5 });
            computed(core, gate, vec![x.clone()])?
        }
        E::GeluTanh => {
            // (1 + tanh(v)) / 2 is the sigmoid of 2 v, and small sigmoids keep their digits
            let square = squared(core, x)?;
            let [most, least] = [0.071_354_814, 1.595_769_2].map(|v| Known::number_like(x, v));
            let scaled = computed(core, E::Multiply, vec![square, most])?;
            let scaled = computed(core, E::Add, vec![scaled, least])?;
            let inner = computed(core, E::Multiply, vec![scaled, x.clone()])?;
            computed(core, E::Activation(A::Sigmoid), vec![inner])?
        }
        E::Gelu => {
            let [scale, one, half] =
                [std::f32::consts::FRAC_1_SQRT_2, 1.0, 0.5].map(|v| Known::number_like(x, v));
            let scaled = computed(core, E::Multiply, vec![x.clone(), scale])?;
            let error = computed(core, E::Activation(A::Erf), vec![scaled])?;
            let above = computed(core, E::Add, vec![error, one])?;
            computed(core, E::Multiply, vec![above, half])?
        }
        E::Celu { alpha } => return celu(core, x, alpha),
        E::Selu => return selu(core, inputs),
        _ => unreachable!("simplify: {function:?} is no composition"),
    };
    computed(core, E::Multiply, vec![x.clone(), by])
}

fn celu(core: &mut CoreBuilder, x: &Known, alpha: f32) -> Rule<Known> {
    use Elementwise as E;
    if !(alpha.is_finite() && alpha != 0.0) {
        let found = format!("Celu with alpha {alpha}");
        return Err(Refusal::new(found, "a finite number other than 0", "correct it"));
    }
    let alpha = Known::number_like(x, alpha);
    let inner = computed(core, E::Divide, vec![x.clone(), alpha.clone()])?;
    let elu = computed(core, E::Activation(Activation::Elu { alpha: 1.0 }), vec![inner])?;
    computed(core, E::Multiply, vec![elu, alpha])
}

fn selu(core: &mut CoreBuilder, inputs: &[Known]) -> Rule<Known> {
    use Elementwise as E;
    let x = &inputs[0];
    let number = |known: &Known| {
        let number = known.tensor().filter(|tensor| tensor.len() == 1).map(|t| t.get_f32(0));
        number.filter(|number| number.is_finite())
    };
    let (Some(alpha), Some(gamma)) = (number(&inputs[1]), number(&inputs[2])) else {
        let found =
            "Selu whose alpha or gamma is not one finite number that is known when compiling";
        return Err(Refusal::new(found, "constants of one element", "connect constants"));
    };
    let elu = computed(core, E::Activation(Activation::Elu { alpha }), vec![x.clone()])?;
    computed(core, E::Multiply, vec![elu, Known::number_like(x, gamma)])
}

/// Inputs with both integers and floating point.
pub(super) fn differ_in_type(inputs: &[Known]) -> Refusal {
    let names: Vec<&str> = inputs.iter().take(8).map(|input| input.element().name()).collect();
    let found = format!("inputs of the types {}", names.join(", "));
    Refusal::new(found, "one type for all inputs", "convert the others")
}

fn at_run_time(
    core: &mut CoreBuilder,
    function: Elementwise,
    inputs: &[Known],
    shape: &[usize],
) -> Rule<Known> {
    use Elementwise as E;
    use PointwiseFunction as P;
    if function == E::Power {
        all_floats(&inputs[..1])?;
        return power(core, inputs, shape);
    }
    if matches!(
        function,
        E::Equal | E::NotEqual | E::Greater | E::GreaterEqual | E::Less | E::LessEqual | E::Select
    ) || matches!(function, E::LogicalAnd | E::LogicalOr | E::LogicalNot)
    {
        return decision(core, function, inputs, shape);
    }
    if !inputs[0].element().is_float() {
        return of_integers(core, function, inputs, shape);
    }
    let simple = match function {
        E::Activation(activation) => Some(P::Activation(activation)),
        E::Exp => Some(P::Activation(Activation::Exp)),
        E::Log => Some(P::Activation(Activation::Log)),
        E::Add => Some(P::Add),
        E::Subtract => Some(P::Subtract),
        E::Multiply => Some(P::Multiply),
        E::Divide => Some(P::Divide),
        E::Maximum => Some(P::Maximum),
        E::Minimum => Some(P::Minimum),
        E::PRelu => Some(match inputs[1].tensor() {
            Some(slope) if slope.len() == 1 && slope.get_f32(0).is_finite() => {
                P::Activation(Activation::LeakyRelu { alpha: slope.get_f32(0) })
            }
            _ => P::PRelu,
        }),
        E::Floor => Some(P::Activation(Activation::Floor)),
        E::Round => Some(P::Activation(Activation::Round)),
        E::Truncate => Some(P::Activation(Activation::Truncate)),
        E::Clamp { .. } | E::Negative | E::Abs | E::HardSigmoid | E::Ceiling | E::Sign => None,
        _ => {
            let found = "this operation is computed on constants only";
            let valid = "inputs that are known when compiling";
            let help = "compute it outside of the model, or write it with arithmetic that is \
                supported";
            return Err(Refusal::new(found, valid, help));
        }
    };
    all_floats(inputs)?;
    let sources: Vec<Source> = inputs.iter().filter_map(|input| core.source(input).ok()).collect();
    let result = match (function, simple) {
        (_, Some(function @ P::Activation(_))) => pointwise(core, function, &sources[..1], shape),
        // the constant is the first operand, as lower::builder expects
        (_, Some(function @ (P::Maximum | P::Minimum))) => {
            let swapped = matches!(sources[1], Source::Constant(_));
            let sources = if swapped { [sources[1], sources[0]] } else { [sources[0], sources[1]] };
            pointwise(core, function, &sources, shape)
        }
        (_, Some(function)) => pointwise(core, function, &sources, shape),
        (E::Clamp { min, max }, _) => clamp(core, sources[0], min, max, shape),
        (E::Sign, _) => sign(core, sources[0], shape),
        (E::Ceiling, _) => {
            let minus = core.scalar(-1.0);
            let negative = pointwise(core, P::Multiply, &[sources[0], minus], shape)?;
            let below = pointwise(core, P::Activation(Activation::Floor), &[negative], shape)?;
            pointwise(core, P::Multiply, &[below, minus], shape)
        }
        (E::Negative, _) => {
            // 0 - v is never a negative zero
            let minus = core.scalar(-1.0);
            pointwise(core, P::Multiply, &[sources[0], minus], shape)
        }
        _ => absolute(core, sources[0], shape),
    };
    Ok(Known::Source(result?, inputs[0].element()))
}

/// One operation.
pub(super) fn pointwise(
    core: &mut CoreBuilder,
    function: PointwiseFunction,
    inputs: &[Source],
    shape: &[usize],
) -> Rule<Source> {
    core.computable(shape)?;
    if let Some(Known::Source(source, _)) = pointwise_of_lines(core, function, inputs, shape)? {
        return Ok(source);
    }
    let out = core.value(shape.to_vec());
    core.emit(CoreOp::Pointwise(Pointwise { function, inputs: inputs.to_vec(), out }));
    Ok(Source::Value(out))
}

pub(super) fn clamp(
    core: &mut CoreBuilder,
    input: Source,
    min: f32,
    max: f32,
    shape: &[usize],
) -> Rule<Source> {
    let bounds = [(min, PointwiseFunction::Maximum), (max, PointwiseFunction::Minimum)];
    let mut value = input;
    for (bound, function) in bounds.into_iter().filter(|(bound, _)| bound.is_finite()) {
        let bound = core.scalar(bound);
        // v is the second operand, so that the result for NaN is NaN
        value = pointwise(core, function, &[bound, value], shape)?;
    }
    Ok(value)
}

pub(super) fn absolute(core: &mut CoreBuilder, input: Source, shape: &[usize]) -> Rule<Source> {
    let (minus, zero) = (core.scalar(-1.0), core.scalar(0.0));
    let value = pointwise(core, PointwiseFunction::PRelu, &[input, minus], shape)?;
    // 0 times -1 is a negative zero, and a negative zero plus zero is zero
    pointwise(core, PointwiseFunction::Add, &[value, zero], shape)
}

fn hard_sigmoid(core: &mut CoreBuilder, inputs: &[Known]) -> Rule<Known> {
    let number = |known: &Known| {
        known
            .tensor()
            .filter(|tensor| tensor.len() == 1 && known.element().is_float())
            .map(|t| t.get_f32(0))
    };
    let (Some(alpha), Some(beta)) = (number(&inputs[1]), number(&inputs[2])) else {
        let found =
            "HardSigmoid whose alpha or beta is not one number that is known when compiling";
        return Err(Refusal::new(found, "constants of one element", "connect constants"));
    };
    let activation = Activation::HardSigmoid { alpha, beta };
    if let Some((parameter, value)) = wrong_parameters(activation).next() {
        let [found, valid, help] = wrong_parameter_text(activation, parameter, value);
        return Err(Refusal::new(found, valid, help));
    }
    let shape = core.shape_of(&inputs[0]);
    let function = Elementwise::Activation(activation);
    at_run_time(core, function, &inputs[..1], &shape)
}

/// The remainder of floats divided by a power of two. Only the last step rounds.
fn remainder(core: &mut CoreBuilder, function: Elementwise, inputs: &[Known]) -> Rule<Known> {
    let x = &inputs[0];
    let divisor =
        inputs[1].tensor().filter(|tensor| tensor.len() == 1).map(|tensor| tensor.get_f32(0));
    let is_power = |by: &f32| by.is_normal() && by.recip().is_normal() && by.to_bits() << 9 == 0;
    let Some(by) = divisor.filter(is_power).filter(|_| inputs[1].element().is_float()) else {
        let help = "write it as x - floor(x / b) * b";
        return Err(Refusal::new(
            "the remainder of floats",
            "a divisor that is a constant power of two",
            help,
        ));
    };
    let round = if function == Elementwise::Mod { Activation::Truncate } else { Activation::Floor };
    let [by, inverse] = [by, by.recip()].map(|number| Known::number_like(x, number));
    let quotient = computed(core, Elementwise::Multiply, vec![x.clone(), inverse])?;
    let whole = computed(core, Elementwise::Activation(round), vec![quotient])?;
    let whole = computed(core, Elementwise::Multiply, vec![whole, by])?;
    computed(core, Elementwise::Subtract, vec![x.clone(), whole])
}

/// The slopes of a PRelu with one slope for each channel lie along axis 1. A single slope may
/// have more axes than the scaled operand.
fn slope_by_channel(core: &mut CoreBuilder, inputs: &mut [Known]) -> Rule<()> {
    let (shape, slope) = (core.shape_of(&inputs[0]), core.shape_of(&inputs[1]));
    let channel = usize::from(shape.len() > 1);
    if slope.len() == 1 && shape.get(channel) == Some(&slope[0]) {
        let mut aligned = vec![1; shape.len()];
        aligned[channel] = slope[0];
        inputs[1] = core.view(&inputs[1], Geometry::reshaped(aligned))?;
    } else if slope.len() > shape.len() && slope.iter().product::<usize>() == 1 {
        inputs[1] = core.view(&inputs[1], Geometry::reshaped(vec![1; shape.len()]))?;
    } else if broadcast([&shape[..], &slope]).as_ref() != Some(&shape) {
        let found = format!("a slope of shape {} for {}", shape_text(&slope), shape_text(&shape));
        return Err(Refusal::new(
            found,
            "one number, or one a channel",
            "correct the shape of the slope",
        ));
    }
    Ok(())
}

pub(super) fn softmax(
    core: &mut CoreBuilder,
    args: &Operands,
    axis: i64,
    log: bool,
) -> Rule<Known> {
    let input = args.get(0)?;
    let shape = core.shape_of(&input);
    let axis = args.axis(axis, shape.len())?;
    let length = core.facts.dynamic_length(&input);
    let input = match length.filter(|length| length.parts_along == Some(axis)) {
        Some(length) => {
            let least = Known::number_like(&input, f32::NEG_INFINITY);
            padded_behind(core, &input, length, &least)?
        }
        None => input,
    };
    softmax_along(core, &input, axis, log)
}

/// `exp(v) / sum exp(v)` along an axis, or its logarithm.
pub(super) fn softmax_along(
    core: &mut CoreBuilder,
    input: &Known,
    axis: usize,
    log: bool,
) -> Rule<Known> {
    all_floats(std::slice::from_ref(input))?;
    let shape = core.shape_of(input);
    core.computable(&shape)?;
    let source = core.source(input)?;
    let out = core.value(shape);
    core.emit(CoreOp::Softmax(Softmax { axis, log, input: source, out }));
    Ok(Known::Source(Source::Value(out), input.element()))
}
