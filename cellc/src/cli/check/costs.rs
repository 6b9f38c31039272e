//! What a step costs in one arithmetic.

use crate::compile::Compilation;
use crate::report::TargetCost;

/// What a step costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Costs {
    /// Bytes of what cannot change; of a target that is no machine of its own, without the code.
    pub(super) flash: u64,
    /// Whether `flash` counts the code.
    pub(super) with_code: bool,
    /// Instructions of a step on the target; `None` where they are not known.
    pub(super) instructions: Option<u64>,
}

impl Costs {
    /// Of the body that the target's compiler makes if it is told nothing else.
    pub(super) fn of(compilation: &Compilation) -> Self {
        let (isa, _) = compilation.plan.isas[compilation.plan.usual()];
        match TargetCost::new(compilation, isa, None) {
            Some(cost) => Self {
                flash: cost.flash.total,
                with_code: cost.flash.code.is_some(),
                instructions: cost.instructions_estimate,
            },
            None => {
                let estimate = &compilation.estimate;
                let flash = estimate.weight_bytes + estimate.constant_bytes;
                Self { flash, with_code: false, instructions: None }
            }
        }
    }
}
