//! Arithmetic, comparisons and activations: constants are folded, the rest becomes operations.

use super::integers::{decision, integer_arithmetic, sign};
use super::layout::broadcasts::broadcast_to;
use super::operands::{all_floats, differ_in_type, shapes_differ};
use super::primitives::{absolute, clamp, pointwise};
use super::refusal::{Refusal, Rule};
use crate::activation::{self, Constants};
use crate::check::report::UNDEFINED;
use crate::core::{CoreBuilder, Geometry, Known, PointwiseFunction, Source, broadcast, fold};
use crate::model::{Activation, ElementType, Elementwise, ElementwiseKind, Tensor, shape_text};

/// Folds an operation of constants, or emits the core operation. For operations that are no
/// composition of others.
pub(super) fn fold_or_emit(
    core: &mut CoreBuilder,
    function: Elementwise,
    mut inputs: Vec<Known>,
) -> Rule<Known> {
    use Elementwise as E;
    if function == Elementwise::PRelu {
        slope_by_channel(core, &mut inputs)?;
    }
    let shape = shape_of_output(core, function, &inputs)?;
    let constants: Option<Vec<(&Tensor, ElementType)>> =
        inputs.iter().map(|input| Some((input.tensor()?, input.element()))).collect();
    // kernels compute these activations, also for constants: folding would need a second
    // implementation with the same bits
    let is_computed_in_kernels = match function {
        Elementwise::Activation(of) => activation::constants(of) == Constants::AtRunTime,
        _ => false,
    };
    match constants {
        Some(_) if is_computed_in_kernels => emit(core, function, &inputs, &shape),
        Some(constants) => {
            let first = usize::from(function == E::Select);
            core.foldable(&shape, inputs[first].element())?;
            match fold::elementwise(function, &constants, shape, activation::exact) {
                Ok((tensor, element)) => Ok(Known::Constant(tensor, element)),
                Err(reason) => {
                    Err(Refusal::new(reason, "an operation that has a result", UNDEFINED))
                }
            }
        }
        None => match decided(function, &inputs) {
            Some(operand) => broadcast_to(core, &inputs[operand], shape),
            None => emit(core, function, &inputs, &shape),
        },
    }
}

/// The shape that the operands broadcast to. Refuses operands of different types.
pub(super) fn shape_of_output(
    core: &CoreBuilder,
    function: Elementwise,
    inputs: &[Known],
) -> Rule<Vec<usize>> {
    let shapes: Vec<Vec<usize>> = inputs.iter().map(|input| core.shape_of(input)).collect();
    let Some(shape) = broadcast(shapes.iter().map(Vec::as_slice)) else {
        let valid = "sizes that are equal or 1, compared from the last one to the first";
        return Err(shapes_differ(&shapes, valid, "reshape or broadcast one of them"));
    };
    types_agree(function, inputs)?;
    Ok(shape)
}

/// The operand chosen by a Select with a known uniform condition.
fn decided(function: Elementwise, inputs: &[Known]) -> Option<usize> {
    let condition = inputs[0]
        .tensor()
        .filter(|condition| function == Elementwise::Select && !condition.is_empty())?;
    let is_true = |i: usize| condition.get_f64(i) != 0.0;
    let same = (1..condition.len()).all(|i| is_true(i) == is_true(0));
    same.then(|| if is_true(0) { 1 } else { 2 })
}

/// Refuses conditions of floats, and operands of which some are floats and others are not.
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

/// Emits the core operations that compute an operation at run time.
pub(super) fn emit(
    core: &mut CoreBuilder,
    function: Elementwise,
    inputs: &[Known],
    shape: &[usize],
) -> Rule<Known> {
    let kind = function.facts().kind;
    let is_select = function == Elementwise::Select;
    if is_select || matches!(kind, ElementwiseKind::Comparison | ElementwiseKind::Logic) {
        return decision(core, function, inputs, shape);
    }
    if !inputs[0].element().is_float() {
        return integer_arithmetic(core, function, inputs, shape);
    }
    all_floats(inputs)?;
    let sources = inputs.iter().map(|input| core.source(input)).collect::<Result<Vec<_>, _>>()?;
    let result = match PointwiseFunction::of_elementwise(function) {
        Some(function) => one_operation(core, function, inputs, &sources, shape),
        None => several_operations(core, function, sources[0], shape),
    };
    Ok(Known::Source(result?, inputs[0].element()))
}

/// Emits the core operation of a function of floating-point numbers.
fn one_operation(
    core: &mut CoreBuilder,
    function: PointwiseFunction,
    inputs: &[Known],
    sources: &[Source],
    shape: &[usize],
) -> Rule<Source> {
    use PointwiseFunction as P;
    match function {
        P::PRelu => match inputs[1].tensor() {
            Some(slope) if slope.len() == 1 && slope.get_f32(0).is_finite() => {
                let leaky = P::Activation(Activation::LeakyRelu { alpha: slope.get_f32(0) });
                pointwise(core, leaky, &sources[..1], shape)
            }
            _ => pointwise(core, P::PRelu, sources, shape),
        },
        // the constant is the first operand, as lower::builder expects
        P::Maximum | P::Minimum => {
            let swapped = matches!(sources[1], Source::Constant(_));
            let sources = if swapped { [sources[1], sources[0]] } else { [sources[0], sources[1]] };
            pointwise(core, function, &sources, shape)
        }
        _ => pointwise(core, function, &sources[..function.arity()], shape),
    }
}

/// Emits the core operations of a function of one floating-point number.
fn several_operations(
    core: &mut CoreBuilder,
    function: Elementwise,
    source: Source,
    shape: &[usize],
) -> Rule<Source> {
    use Elementwise as E;
    use PointwiseFunction as P;
    match function {
        E::Clamp { min, max } => clamp(core, source, min, max, shape),
        E::Sign => sign(core, source, shape),
        E::Ceiling => {
            let minus = core.scalar(-1.0);
            let negative = pointwise(core, P::Multiply, &[source, minus], shape)?;
            let below = pointwise(core, P::Activation(Activation::Floor), &[negative], shape)?;
            pointwise(core, P::Multiply, &[below, minus], shape)
        }
        E::Negative => {
            // 0 - v is never a negative zero
            let minus = core.scalar(-1.0);
            pointwise(core, P::Multiply, &[source, minus], shape)
        }
        E::Abs => absolute(core, source, shape),
        E::Activation(_)
        | E::PRelu
        | E::Add
        | E::Subtract
        | E::Multiply
        | E::Divide
        | E::Maximum
        | E::Minimum
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
        | E::Power
        | E::Mod
        | E::FloorMod
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
            let found = "this operation is computed on constants only";
            let valid = "inputs that are known when compiling";
            let help = "compute it outside of the model, or write it with arithmetic that is \
                supported";
            Err(Refusal::new(found, valid, help))
        }
    }
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

/// Every element times itself.
pub(super) fn squared(core: &mut CoreBuilder, input: &Known) -> Rule<Known> {
    match input.element().is_float() {
        true => {
            fold_or_emit(core, Elementwise::Activation(Activation::Square), vec![input.clone()])
        }
        false => fold_or_emit(core, Elementwise::Multiply, vec![input.clone(), input.clone()]),
    }
}
