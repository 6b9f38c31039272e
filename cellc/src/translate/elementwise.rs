//! Operations element by element.

use super::arithmetic::fold_or_emit;
use super::compositions::{compose, remainder};
use super::powers::power;
use super::refusal::{Refusal, Rule};
use crate::core::{CoreBuilder, Known};
use crate::model::{Elementwise, Primitive, Unary};

/// Computes any operation element by element: with one core operation or several, or when
/// compiling.
pub(super) fn compute(
    core: &mut CoreBuilder,
    function: impl Into<Elementwise>,
    inputs: Vec<Known>,
) -> Rule<Known> {
    match function.into() {
        Elementwise::Primitive(primitive) => {
            if let Primitive::Unary(Unary::Clamp { min, max }) = primitive {
                ordered(min, max)?;
            }
            fold_or_emit(core, primitive, inputs)
        }
        Elementwise::Remainder(of) => remainder(core, of, &inputs),
        Elementwise::Power => power(core, &inputs),
        Elementwise::Composed(composed) => compose(core, composed, &inputs),
    }
}

/// Refuses bounds of a Clamp that are NaN or in the wrong order.
fn ordered(min: f32, max: f32) -> Rule<()> {
    if min <= max {
        return Ok(());
    }
    let found = format!("Clamp from {min} to {max}");
    Err(Refusal::new(found, "min of max or less", "correct min or max"))
}
