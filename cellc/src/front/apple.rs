//! Where the reset gate stands in Apple's `gru` of BNNSGraph.Builder.

use crate::model::ResetGate;

/// Where the reset gate of Apple's `gru` stands.
///
/// x is the input, h the state, W and R the rows of the candidate n in the two weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppleResetGate {
    /// `n = g(W x + R (r.h) + bias)`: what Apple's own reference test computes where
    /// `applyResetGateAfterMatMul` is false.
    BeforeMatMul,
    /// `n = g(W x + input_bias + r.(R h + bias))`: `applyResetGateAfterMatMul` = true.
    AfterMatMul,
    /// `n = g(W x + r.(R h) + bias)`: what Apple's documentation prints for
    /// `applyResetGateAfterMatMul` = false.
    AfterMatMulOuterBias,
}

impl AppleResetGate {
    /// Every place, in the order in which messages list them.
    pub const ALL: [Self; 3] = [Self::BeforeMatMul, Self::AfterMatMul, Self::AfterMatMulOuterBias];

    /// Its name in macros.
    pub fn name(self) -> &'static str {
        match self {
            Self::BeforeMatMul => "before_mat_mul",
            Self::AfterMatMul => "after_mat_mul",
            Self::AfterMatMulOuterBias => "after_mat_mul_outer_bias",
        }
    }

    /// OpenVINO's place of the gate; with the outer bias, Rbh is zero.
    pub(crate) fn place(self) -> ResetGate {
        match self {
            Self::BeforeMatMul => ResetGate::BeforeMatMul,
            Self::AfterMatMul | Self::AfterMatMulOuterBias => ResetGate::AfterMatMul,
        }
    }
}
