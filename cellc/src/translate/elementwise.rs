//! Operations element by element.

use super::arithmetic::{fold_or_emit, shape_of_output, squared};
use super::compositions::{compose, hard_sigmoid, remainder};
use super::operands::all_floats;
use super::powers::power;
use super::refusal::{Refusal, Rule};
use crate::core::{CoreBuilder, Known};
use crate::model::{Elementwise, ElementwiseKind};

/// Computes any operation element by element: with one core operation or several, or when
/// compiling.
pub(super) fn compute(
    core: &mut CoreBuilder,
    function: Elementwise,
    inputs: Vec<Known>,
) -> Rule<Known> {
    use Elementwise as E;
    match function {
        E::Clamp { min, max } if min.partial_cmp(&max).is_none_or(std::cmp::Ordering::is_gt) => {
            let found = format!("Clamp from {min} to {max}");
            return Err(Refusal::new(found, "min of max or less", "correct min or max"));
        }
        E::HardSigmoid => return hard_sigmoid(core, &inputs),
        E::SquaredDifference => {
            let difference = fold_or_emit(core, E::Subtract, inputs)?;
            return squared(core, &difference);
        }
        E::Power if inputs.iter().any(|input| input.tensor().is_none()) => {
            let shape = shape_of_output(core, function, &inputs)?;
            all_floats(&inputs[..1])?;
            return power(core, &inputs, &shape);
        }
        _ if function.facts().kind == ElementwiseKind::Composed => {
            all_floats(&inputs)?;
            return compose(core, function, &inputs);
        }
        _ => {}
    }
    if matches!(function, E::Mod | E::FloorMod)
        && inputs[0].tensor().is_none()
        && inputs[0].element().is_float()
    {
        return remainder(core, function, &inputs);
    }
    fold_or_emit(core, function, inputs)
}
