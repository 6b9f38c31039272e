//! Primitive element-wise operations: operations on constants are folded, other operations become
//! core operations.

use super::integers::{self, comparison, logic, selection, sign};
use super::layout::broadcasts::broadcast_to;
use super::operands::{differ_in_type, shapes_differ};
use super::primitives::{absolute, clamp, pointwise};
use super::refusal::{Refusal, Rule};
use crate::core::fold::{self, Broadcasts};
use crate::core::{CoreBuilder, Geometry, Known, PointwiseFunction, Source, broadcast};
use crate::math::{self, Constants};
use crate::model::{
    Activation, Binary, CurveShape, ElementType, MathFunction, Primitive, Tensor, Unary, shape_text,
};
use crate::rules::report::floats;

/// Folds an operation of constants, or emits its core operations.
pub(super) fn fold_or_emit(
    core: &mut CoreBuilder,
    function: impl Into<Primitive>,
    mut inputs: Vec<Known>,
) -> Rule<Known> {
    let function = function.into();
    if function == Primitive::PRelu {
        slope_by_channel(core, &mut inputs)?;
    }
    let shape = broadcast_shape(core, &inputs)?;
    let (conditions, operands) = match function {
        Primitive::Logic(_) => inputs.split_at(inputs.len()),
        Primitive::Select => inputs.split_at(1),
        Primitive::Math(_)
        | Primitive::PRelu
        | Primitive::Unary(_)
        | Primitive::Binary(_)
        | Primitive::Comparison(_) => inputs.split_at(0),
    };
    no_float_conditions(conditions)?;
    one_type(operands)?;
    no_integers(function, operands)?;
    // Kernels compute these activations, also of constants. Folding would need a second
    // implementation that gives the same bits.
    let is_computed_in_kernels = match function {
        Primitive::Math(function) => math::constants(function) == Constants::AtRunTime,
        _ => false,
    };
    if !is_computed_in_kernels {
        let fold = |constants: &Broadcasts| fold::elementwise(function, constants, math::exact);
        let element = inputs[function.first_operand()].element();
        if let Some(folded) = folded(core, &inputs, (&shape, element), fold)? {
            return Ok(folded);
        }
        if let (Primitive::Select, Some(operand)) = (function, chosen(&inputs[0])) {
            return broadcast_to(core, &inputs[operand], shape);
        }
    }
    emit(core, function, &inputs, &shape)
}

/// An operation folded on constants. `element`: the type of the result, for the limits of
/// constants. `None` if an input is not constant.
pub(super) fn folded(
    core: &mut CoreBuilder,
    inputs: &[Known],
    (shape, element): (&[usize], ElementType),
    fold: impl FnOnce(&Broadcasts) -> Result<(Tensor, ElementType), &'static str>,
) -> Rule<Option<Known>> {
    let constants: Option<Vec<(&Tensor, ElementType)>> =
        inputs.iter().map(|input| Some((input.tensor()?, input.element()))).collect();
    let Some(constants) = constants else { return Ok(None) };
    core.foldable(shape, element)?;
    match Broadcasts::new(&constants, shape).and_then(|constants| fold(&constants)) {
        Ok((tensor, element)) => Ok(Some(Known::Constant(tensor, element))),
        Err(reason) => Err(Refusal::undefined(reason)),
    }
}

/// The shape that the inputs broadcast to.
pub(super) fn broadcast_shape(core: &CoreBuilder, inputs: &[Known]) -> Rule<Vec<usize>> {
    let shapes: Vec<Vec<usize>> = inputs.iter().map(|input| core.shape_of(input)).collect();
    broadcast(shapes.iter().map(Vec::as_slice)).ok_or_else(|| {
        let valid = "sizes that are equal or 1, compared from the last one to the first";
        shapes_differ(&shapes, valid, "reshape or broadcast one of them")
    })
}

/// The index of the operand that a constant condition selects for all elements. `None` for a
/// run-time or an empty condition, or if the elements of the condition differ.
fn chosen(condition: &Known) -> Option<usize> {
    let condition = condition.tensor().filter(|condition| !condition.is_empty())?;
    let is_true = |i: usize| condition.get_f64(i) != 0.0;
    let same = (1..condition.len()).all(|i| is_true(i) == is_true(0));
    same.then(|| if is_true(0) { 1 } else { 2 })
}

/// Refuses conditions of floating point.
fn no_float_conditions(conditions: &[Known]) -> Rule<()> {
    if conditions.iter().any(|condition| condition.element().is_float()) {
        let help = "make it a boolean: compare it with a number";
        return Err(Refusal::new("the condition is floating point", "booleans", help));
    }
    Ok(())
}

/// Refuses integers, constant or not, as operands of PRelu and of functions other than roundings.
fn no_integers(function: Primitive, operands: &[Known]) -> Rule<()> {
    let name = match function {
        Primitive::Math(function) if function.curve() != CurveShape::Stairs => function.name(),
        Primitive::PRelu => "prelu",
        _ => return Ok(()),
    };
    let element = operands[0].element();
    if element.is_float() {
        return Ok(());
    }
    let found = format!("the function {name} of {}", element.name());
    Err(Refusal::new(found, floats(), "convert the integers to floating point before"))
}

/// Refuses operands that mix floating point with integers or booleans.
pub(super) fn one_type(operands: &[Known]) -> Rule<()> {
    let is_float = |operand: &Known| operand.element().is_float();
    if operands.iter().any(|operand| is_float(operand) != is_float(&operands[0])) {
        return Err(differ_in_type(operands));
    }
    Ok(())
}

/// Emits the core operations for a primitive operation at run time.
pub(super) fn emit(
    core: &mut CoreBuilder,
    function: Primitive,
    inputs: &[Known],
    shape: &[usize],
) -> Rule<Known> {
    match (function, inputs[0].element().is_float()) {
        (Primitive::Math(function), true) => {
            with_sources(core, inputs, |core, x| pointwise(core, function, x, shape))
        }
        (Primitive::Math(function), false) if function.curve() == CurveShape::Stairs => {
            Ok(inputs[0].clone())
        }
        (Primitive::PRelu, true) => {
            let slope = inputs[1].tensor();
            with_sources(core, inputs, |core, x| prelu(core, slope, x, shape))
        }
        (Primitive::Math(_) | Primitive::PRelu, false) => {
            unreachable!("translate: an activation of integers is refused")
        }
        (Primitive::Unary(function), true) => {
            with_sources(core, inputs, |core, x| unary(core, function, x[0], shape))
        }
        (Primitive::Unary(function), false) => integers::unary(core, function, inputs, shape),
        (Primitive::Binary(function), true) => {
            with_sources(core, inputs, |core, x| binary(core, function, [x[0], x[1]], shape))
        }
        (Primitive::Binary(function), false) => integers::binary(core, function, inputs, shape),
        (Primitive::Comparison(function), _) => comparison(core, function, inputs, shape),
        (Primitive::Logic(function), _) => logic(core, function, inputs, shape),
        (Primitive::Select, _) => selection(core, inputs, shape),
    }
}

/// Emits operations on the sources of all inputs. The result has the first input's element type.
fn with_sources(
    core: &mut CoreBuilder,
    inputs: &[Known],
    emit: impl FnOnce(&mut CoreBuilder, &[Source]) -> Rule<Source>,
) -> Rule<Known> {
    let sources = inputs.iter().map(|input| core.source(input)).collect::<Result<Vec<_>, _>>()?;
    Ok(Known::Source(emit(core, &sources)?, inputs[0].element()))
}

/// Emits a PRelu. A finite constant slope of one element becomes the parameter of a LeakyRelu.
fn prelu(
    core: &mut CoreBuilder,
    slope: Option<&Tensor>,
    sources: &[Source],
    shape: &[usize],
) -> Rule<Source> {
    match slope {
        Some(slope) if slope.len() == 1 && slope.get_f32(0).is_finite() => {
            let leaky = Activation::LeakyRelu { alpha: slope.get_f32(0) };
            pointwise(core, MathFunction::from(leaky), &sources[..1], shape)
        }
        _ => pointwise(core, PointwiseFunction::PRelu, sources, shape),
    }
}

/// Emits arithmetic of two floating-point numbers.
fn binary(
    core: &mut CoreBuilder,
    binary: Binary,
    [a, b]: [Source; 2],
    shape: &[usize],
) -> Rule<Source> {
    // puts a constant first: lower::builder leaves out the check for NaN if the first operand of
    // Maximum or Minimum is a constant without NaNs
    let swapped =
        matches!(binary, Binary::Maximum | Binary::Minimum) && matches!(b, Source::Constant(_));
    let sources = if swapped { [b, a] } else { [a, b] };
    pointwise(core, binary, &sources, shape)
}

/// Emits arithmetic of one floating-point number.
fn unary(core: &mut CoreBuilder, unary: Unary, source: Source, shape: &[usize]) -> Rule<Source> {
    match unary {
        Unary::Clamp { min, max } => clamp(core, source, min, max, shape),
        Unary::Sign => sign(core, source, shape),
        Unary::Ceiling => {
            let minus = core.scalar(-1.0);
            let negative = pointwise(core, Binary::Multiply, &[source, minus], shape)?;
            let below = pointwise(core, MathFunction::Floor, &[negative], shape)?;
            pointwise(core, Binary::Multiply, &[below, minus], shape)
        }
        Unary::Negative => {
            // multiplies by -1, as 0 - v would not give a negative zero
            let minus = core.scalar(-1.0);
            pointwise(core, Binary::Multiply, &[source, minus], shape)
        }
        Unary::Abs => absolute(core, source, shape),
    }
}

/// Aligns the slopes of a PRelu: one slope for each channel lies along axis 1, or along the axis of
/// a vector. A single slope gets no more axes than the scaled operand. Refuses other slopes that do
/// not broadcast to the scaled operand.
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
        true => fold_or_emit(core, MathFunction::Square, vec![input.clone()]),
        false => fold_or_emit(core, Binary::Multiply, vec![input.clone(), input.clone()]),
    }
}
