//! Element-wise operations.

use super::arithmetic::fold_or_emit;
use super::compositions::{compose, remainder};
use super::powers::power;
use super::refusal::Rule;
use super::translator::Translator;
use crate::core::{CoreBuilder, Known};
use crate::model::{Elementwise, Node};

impl<'a> Translator<'_, 'a> {
    pub(super) fn elementwise(&mut self, node: &'a Node, function: Elementwise) {
        self.apply(node, |core, args| compute(core, function, args.all()?));
        self.range_of_difference(node, function);
    }
}

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
