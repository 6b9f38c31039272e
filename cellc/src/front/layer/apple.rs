//! The keys of Apple's `gru` beyond OpenVINO's attributes.

use crate::diagnostic::{Diagnostic, Origin};
use crate::front::apple::AppleResetGate;
use crate::front::graph::Graph;
use crate::front::keys::{Key, Keys, Spanned};
use crate::model::{Activation, Direction, ResetGate, ValueId};

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
    let value = reset_gate(keys).reset_gate() == ResetGate::AfterMatMul;
    Spanned { value, origin: origin.cloned().unwrap_or(Origin::Unknown) }
}

/// The errors for keys that contradict each other, and for values that Apple's `gru` lacks.
pub(in crate::front) fn problems(keys: &Keys) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    if let Some(gate) = contradiction(keys) {
        let found =
            format!("the reset gate is {} here, and the flag says otherwise", gate.value.name());
        let valid = "true with after_mat_mul, false with one of the others: \
            apply_reset_gate_after_mat_mul";
        let problem = Diagnostic::error(gate.origin, found).valid(valid);
        problems.push(problem.help("give one of the two"));
    }
    if let Some(Spanned { value: Direction::Bidirectional, origin }) = keys.get(Key::Direction) {
        let found = "Apple's gru has no bidirectional direction";
        problems.push(Diagnostic::error(origin, found).valid("forward, reverse"));
    }
    problems
}

/// The key `reset_gate`, if the flag contradicts it.
fn contradiction(keys: &Keys) -> Option<Spanned<AppleResetGate>> {
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
    let stated = candidate.as_ref().or(gates.as_ref())?;
    let activation_or = |key: &Option<Spanned<Activation>>, default| {
        key.as_ref().map_or(default, |stated| stated.value)
    };
    Some(stated.with(vec![
        activation_or(&gates, Activation::Sigmoid),
        activation_or(&candidate, Activation::Tanh),
    ]))
}

/// The input `initial_hidden_states [N, H]`, reshaped to the sequence's `[N, 1, H]`.
pub(super) fn initial_states(graph: &mut Graph, shape: &[usize], origin: &Origin) -> ValueId {
    let rows = vec![shape[0], shape[2]];
    let given = graph.input("initial_hidden_states", rows, origin);
    graph.reshaped("initial_hidden_states_of_sequence", given, shape.to_vec(), origin)
}

/// The values of Apple's own keys, for the comment at the top of generated files.
pub(super) fn ledger(keys: &Keys) -> [(Key, String); 3] {
    let gate = reset_gate(keys);
    [
        (Key::ApplyResetGateAfterMatMul, (gate == AppleResetGate::AfterMatMul).to_string()),
        (Key::ResetGate, gate.name().to_owned()),
        (Key::OutputSequence, output_sequence(keys).to_string()),
    ]
}
