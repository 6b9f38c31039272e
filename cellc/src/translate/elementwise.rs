//! Element-wise operations.

use super::arithmetic::fold_or_emit;
use super::compositions::{compose, remainder};
use super::powers::power;
use super::refusal::Rule;
use crate::core::{CoreBuilder, Known};
use crate::model::Elementwise;

/// Computes any element-wise operation: by one or several core operations, or when compiling.
pub(super) fn compute(
    core: &mut CoreBuilder,
    function: impl Into<Elementwise>,
    inputs: Vec<Known>,
) -> Rule<Known> {
    match function.into() {
        Elementwise::Primitive(primitive) => fold_or_emit(core, primitive, inputs),
        Elementwise::Remainder(kind) => remainder(core, kind, &inputs),
        Elementwise::Power => power(core, &inputs),
        Elementwise::Composed(composed) => compose(core, composed, &inputs),
    }
}
