//! The place of the reset gate in Apple's `gru` of BNNSGraph.Builder.

use crate::model::ResetGate;

/// The place of the reset gate in Apple's `gru`.
///
/// x is the input, h the state, W and R the rows of the candidate n in the two weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppleResetGate {
    /// `n = g(W x + R (r.h) + bias)`: computed by Apple's own reference test for
    /// `applyResetGateAfterMatMul` = false.
    BeforeMatMul,
    /// `n = g(W x + input_bias + r.(R h + bias))`: `applyResetGateAfterMatMul` = true.
    AfterMatMul,
    /// `n = g(W x + r.(R h) + bias)`: printed in Apple's documentation for
    /// `applyResetGateAfterMatMul` = false.
    AfterMatMulOuterBias,
}

impl AppleResetGate {
    /// All places, in the order of messages.
    pub const ALL: [Self; 3] = [Self::BeforeMatMul, Self::AfterMatMul, Self::AfterMatMulOuterBias];

    /// The name of the place in macros.
    pub fn name(self) -> &'static str {
        match self {
            Self::BeforeMatMul => "before_mat_mul",
            Self::AfterMatMul => "after_mat_mul",
            Self::AfterMatMulOuterBias => "after_mat_mul_outer_bias",
        }
    }

    /// The place in OpenVINO's terms. With the outer bias, Rbh is zero.
    pub(crate) fn reset_gate(self) -> ResetGate {
        match self {
            Self::BeforeMatMul => ResetGate::BeforeMatMul,
            Self::AfterMatMul | Self::AfterMatMulOuterBias => ResetGate::AfterMatMul,
        }
    }
}
