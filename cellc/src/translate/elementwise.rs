//! Operations element by element.

use super::arithmetic::{fold_or_emit, shape_of_output};
use super::compositions::{compose, remainder};
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
        E::Power if inputs.iter().any(|input| input.tensor().is_none()) => {
            let shape = shape_of_output(core, function, &inputs)?;
            all_floats(&inputs[..1])?;
            return power(core, &inputs, &shape);
        }
        E::Mod | E::FloorMod if inputs[0].tensor().is_none() && inputs[0].element().is_float() => {
            return remainder(core, function, &inputs);
        }
        _ => {}
    }
    if function.facts().kind == ElementwiseKind::Composed {
        all_floats(&inputs)?;
    }
    compose(core, function, &inputs).unwrap_or_else(|| fold_or_emit(core, function, inputs))
}
