//! Costs of a step in one precision.

use crate::compile::Compilation;
use crate::report::TargetCost;

/// Costs of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Costs {
    /// Bytes of weights and constants, and of the code if `with_code`.
    pub(super) flash: u64,
    /// True if `flash` includes the code.
    pub(super) with_code: bool,
    /// Instructions of a step on the target. `None`: the target has no estimate.
    pub(super) instructions: Option<u64>,
}

impl Costs {
    /// The costs of the body that the target's compiler chooses by default.
    pub(super) fn new(compilation: &Compilation) -> Self {
        let isa = compilation.plan.isas[compilation.plan.usual()].isa;
        match TargetCost::new(compilation, isa, None) {
            Some(cost) => Self {
                flash: cost.flash.total,
                with_code: cost.flash.code.is_some(),
                instructions: cost.instructions_estimate,
            },
            None => {
                let estimate = &compilation.description.estimate;
                let flash = estimate.weight_bytes + estimate.constant_bytes;
                Self { flash, with_code: false, instructions: None }
            }
        }
    }
}
