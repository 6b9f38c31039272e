//! Checks that a model can compute independent streams, each as a row with a state of its own.

use super::subject::CheckContext;
use crate::core::streams::repeated_shapes;
use crate::core::{CoreModel, element_count};
use crate::diagnostic::{Diagnostic, Diagnostics, message, quoted};
use crate::model::Model;
use crate::request::flag;
use crate::rules::report::{at_layer, layer_named, whole_model};
use crate::rules::size_limits::too_large_text;

/// Refuses operations whose work would differ between independent streams (loops that end by a
/// condition, computed tables, outputs of a run-time length), models without a state, and tensors
/// that exceed the limits with `rows` streams. `None` after an error.
pub(crate) fn streams(
    context: CheckContext,
    core: &CoreModel,
    rows: usize,
    diagnostics: &mut Diagnostics,
) -> Option<()> {
    let before = diagnostics.0.len();
    let model = context.model;
    differences(model, core, diagnostics);
    let most = context.options.machine.target.memory.most_elements;
    let shapes = repeated_shapes(core);
    let sizes = shapes.iter().map(|shape| element_count(shape)?.checked_mul(rows));
    let largest = shapes.iter().zip(sizes).max_by_key(|(_, size)| size.unwrap_or(usize::MAX));
    if let Some((shape, size)) = largest
        && size.is_none_or(|size| size > most)
    {
        let [text, valid, _] = too_large_text(shape, most);
        let found = format!("{text}, in each of {rows} independent streams");
        let problem = Diagnostic::error(whole_model(model), found).valid(valid);
        diagnostics.push(problem.help(message!("give fewer streams, {}", flag::BATCH.setting())));
    }
    (diagnostics.0.len() == before).then_some(())
}

/// Refuses differences between independent streams.
fn differences(model: &Model, core: &CoreModel, diagnostics: &mut Diagnostics) {
    let help = || message!("leave out {}", flag::BATCH.setting());
    for node in core.all_nodes() {
        let Some(found) = node.op.facts().between_streams else { continue };
        let found = format!("{found}, {}, in independent streams", quoted(&node.name));
        let problem = at_layer(model, layer_named(model, &node.name), found);
        diagnostics.push(problem.valid("what has one size in all streams").help(help()));
    }
    if core.results.iter().any(|result| result.parts.is_some()) {
        let found = "an output of a length that only a call knows, in independent streams";
        let problem = Diagnostic::error(whole_model(model), found);
        diagnostics.push(problem.valid("outputs of one size in all streams").help(help()));
    }
    if core.states.is_empty() && core.variables.is_empty() {
        let found = "independent streams of a model that keeps no state between steps";
        let problem = Diagnostic::error(whole_model(model), found);
        diagnostics.push(problem.valid("a model with a state").help(message!(
            "leave the number of steps open, or leave out {}",
            flag::BATCH.setting()
        )));
    }
}
