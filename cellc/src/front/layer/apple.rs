//! The keys of Apple's `gru` beyond OpenVINO's attributes.

use crate::diagnostic::Origin;
use crate::front::apple::AppleResetGate;
use crate::front::graph::Graph;
use crate::front::keys::{Key, Keys, Spanned};
use crate::model::{Activation, ResetGate, ValueId};

/// The place of the reset gate: the key `reset_gate`, else the flag, else the place printed in
/// Apple's documentation.
pub(crate) fn reset_gate(keys: &Keys) -> AppleResetGate {
    match (keys.value(Key::ResetGate), keys.value(Key::ApplyResetGateAfterMatMul)) {
        (Some(gate), _) => gate,
        (None, Some(true)) => AppleResetGate::AfterMatMul,
        (None, _) => AppleResetGate::AfterMatMulOuterBias,
    }
}

/// The reset gate as OpenVINO's attribute `linear_before_reset`.
pub(super) fn linear_before_reset(keys: &Keys) -> Spanned<bool> {
    let origin = keys.origin(Key::ResetGate).or(keys.origin(Key::ApplyResetGateAfterMatMul));
    let value = reset_gate(keys).place() == ResetGate::AfterMatMul;
    Spanned { value, origin: origin.cloned().unwrap_or(Origin::Unknown) }
}

/// The key `reset_gate`, if the flag contradicts it.
pub(in crate::front) fn contradiction(keys: &Keys) -> Option<Spanned<AppleResetGate>> {
    let gate = keys.get::<AppleResetGate>(Key::ResetGate)?;
    let flag: bool = keys.value(Key::ApplyResetGateAfterMatMul)?;
    (flag != (gate.value == AppleResetGate::AfterMatMul)).then_some(gate)
}

/// True if the output contains all steps.
pub(in crate::front) fn output_sequence(keys: &Keys) -> bool {
    keys.value(Key::OutputSequence).unwrap_or(true)
}

/// The activations of z and r, and of n. `None` if neither key is given.
pub(super) fn activations(keys: &Keys) -> Option<Spanned<Vec<Activation>>> {
    let [gates, candidate] = [Key::RecurrentActivation, Key::Activation].map(|key| keys.get(key));
    let said = candidate.as_ref().or(gates.as_ref())?;
    let of = |said: &Option<Spanned<Activation>>, default| {
        said.as_ref().map_or(default, |said| said.value)
    };
    Some(said.with(vec![of(&gates, Activation::Sigmoid), of(&candidate, Activation::Tanh)]))
}

/// The input `initial_hidden_states [N, H]`, reshaped to the sequence's `[N, 1, H]`.
pub(super) fn initial_states(graph: &mut Graph, shape: &[usize], origin: &Origin) -> ValueId {
    let rows = vec![shape[0], shape[2]];
    let given = graph.input("initial_hidden_states", rows, origin);
    graph.reshaped("initial_hidden_states_of_sequence", given, shape.to_vec(), origin)
}

pub(super) fn ledger(keys: &Keys) -> [(Key, String); 3] {
    let gate = reset_gate(keys);
    [
        (Key::ApplyResetGateAfterMatMul, (gate == AppleResetGate::AfterMatMul).to_string()),
        (Key::ResetGate, gate.name().to_owned()),
        (Key::OutputSequence, output_sequence(keys).to_string()),
    ]
}
