//! Apple's `gru` of BNNSGraph.Builder in its own terms.

use super::declared::Said;
use super::graph::Graph;
use crate::diagnostic::Origin;
use crate::model::{LedgerEntry, ResetGate, ValueId};

/// Where the reset gate of Apple's `gru` stands.
///
/// x is the input, h the state, W and R the rows of the candidate n in the two weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppleResetGate {
    /// `n = g(W x + R (r.h) + bias)`: what Apple's own reference test computes where `applyResetGateAfterMatMul` is false.
    BeforeMatMul,
    /// `n = g(W x + input_bias + r.(R h + bias))`: `applyResetGateAfterMatMul` = true.
    AfterMatMul,
    /// `n = g(W x + r.(R h) + bias)`: what Apple's documentation prints for `applyResetGateAfterMatMul` = false.
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

/// What Apple's operation says that OpenVINO's does not.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AppleGru {
    /// None: false, as the documentation prints it.
    pub(crate) apply_reset_gate_after_mat_mul: Option<Said<bool>>,
    /// None: as the flag says.
    pub(crate) reset_gate: Option<Said<AppleResetGate>>,
    /// None: true.
    pub(crate) output_sequence: Option<Said<bool>>,
}

impl AppleGru {
    pub(crate) fn reset_gate(&self) -> AppleResetGate {
        match (&self.reset_gate, &self.apply_reset_gate_after_mat_mul) {
            (Some(said), _) => said.value,
            (None, Some(Said { value: true, .. })) => AppleResetGate::AfterMatMul,
            (None, _) => AppleResetGate::AfterMatMulOuterBias,
        }
    }

    /// What OpenVINO's attribute says of it.
    pub(crate) fn linear_before_reset(&self) -> Said<bool> {
        let origin = match (&self.reset_gate, &self.apply_reset_gate_after_mat_mul) {
            (Some(said), _) => said.origin.clone(),
            (None, Some(said)) => said.origin.clone(),
            (None, None) => Origin::Unknown,
        };
        Said { value: self.reset_gate().place() == ResetGate::AfterMatMul, origin }
    }

    /// Whether both keys are given and contradict each other.
    pub(crate) fn contradiction(&self) -> Option<&Said<AppleResetGate>> {
        let gate = self.reset_gate.as_ref()?;
        let flag = self.apply_reset_gate_after_mat_mul.as_ref()?;
        (flag.value != (gate.value == AppleResetGate::AfterMatMul)).then_some(gate)
    }

    pub(crate) fn output_sequence(&self) -> bool {
        self.output_sequence.as_ref().is_none_or(|said| said.value)
    }

    /// `initial_hidden_states [N, H]`, as the sequence takes them: `[N, 1, H]`.
    pub(super) fn initial_states(&self, graph: &mut Graph, shape: &[usize], origin: &Origin) -> ValueId {
        let rows = vec![shape[0], shape[2]];
        let given = graph.input("initial_hidden_states", rows, origin);
        graph.reshaped("initial_hidden_states_of_sequence", given, shape.to_vec(), origin)
    }

    pub(crate) fn ledger(&self) -> Vec<LedgerEntry> {
        fn entry(attribute: &str, said: Option<(String, &Origin)>, taken: String) -> LedgerEntry {
            LedgerEntry {
                attribute: attribute.to_owned(),
                origin: said.as_ref().map_or(Origin::Unknown, |&(_, origin)| origin.clone()),
                given: said.map(|(text, _)| text),
                taken,
            }
        }
        fn switch(said: &Option<Said<bool>>) -> Option<(String, &Origin)> {
            said.as_ref().map(|said| (said.value.to_string(), &said.origin))
        }
        let flag = entry(
            "apply_reset_gate_after_mat_mul",
            switch(&self.apply_reset_gate_after_mat_mul),
            (self.reset_gate() == AppleResetGate::AfterMatMul).to_string(),
        );
        let gate = self.reset_gate.as_ref().map(|said| (said.value.name().to_owned(), &said.origin));
        let gate = entry("reset_gate", gate, self.reset_gate().name().to_owned());
        let output = entry("output_sequence", switch(&self.output_sequence), self.output_sequence().to_string());
        vec![flag, gate, output]
    }
}
