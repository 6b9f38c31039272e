//! Checks that a model can compute independent streams or channels, each as a row with a state of
//! its own.

use super::subject::CheckContext;
use crate::core::streams::{RowKind, repeated_shapes};
use crate::core::{CoreModel, element_count};
use crate::diagnostic::{Diagnostic, Diagnostics, Problem, message, quoted};
use crate::model::Model;
use crate::request::flag;
use crate::rules::report::{at_layer, layer_named, whole_model};
use crate::rules::size_limits::larger_than;

/// Refuses operations whose work would differ between rows (loops that end by a condition, computed
/// tables, outputs of a run-time length), streams without a state, and tensors that have more
/// elements with `count` rows than the target allows. `None` after an error.
pub(crate) fn rows(
    context: CheckContext,
    core: &CoreModel,
    (count, kind): (usize, RowKind),
    diagnostics: &mut Diagnostics,
) -> Option<()> {
    let before = diagnostics.0.len();
    let model = context.model;
    differences(model, core, kind, diagnostics);
    let most = context.options.machine.target.memory.most_elements;
    let shapes = repeated_shapes(core);
    let sizes = shapes.iter().map(|shape| element_count(shape)?.checked_mul(count));
    let largest = shapes.iter().zip(sizes).max_by_key(|(_, size)| size.unwrap_or(usize::MAX));
    if let Some((shape, size)) = largest
        && size.is_none_or(|size| size > most)
    {
        let name = name(kind);
        let problem = larger_than(shape, most);
        let problem = Problem {
            found: message!("{}, in each of {} {}", problem.found, count, name),
            help: message!("give fewer {}, {}", name, flag::BATCH.setting()),
            ..problem
        };
        diagnostics.push(problem.at(whole_model(model)));
    }
    (diagnostics.0.len() == before).then_some(())
}

/// The rows in messages.
fn name(kind: RowKind) -> &'static str {
    match kind {
        RowKind::Streams => "independent streams",
        RowKind::Channels => "channels",
    }
}

/// Refuses differences between rows.
fn differences(model: &Model, core: &CoreModel, kind: RowKind, diagnostics: &mut Diagnostics) {
    let name = name(kind);
    let help = || message!("leave out {}", flag::BATCH.setting());
    for node in core.all_nodes() {
        let Some(found) = node.op.facts().between_streams else { continue };
        let found = format!("{found}, {}, in {name}", quoted(&node.name));
        let problem = at_layer(model, layer_named(model, &node.name), found);
        diagnostics.push(problem.valid(format!("what has one size in all {name}")).help(help()));
    }
    if core.results.iter().any(|result| result.parts.is_some()) {
        let found = format!("an output of a length that only a call knows, in {name}");
        let problem = Diagnostic::error(whole_model(model), found);
        let valid = format!("outputs of one size in all {name}");
        diagnostics.push(problem.valid(valid).help(help()));
    }
    let is_stateless = core.states.is_empty() && core.variables.is_empty();
    if kind == RowKind::Streams && is_stateless {
        let found = "independent streams of a model that keeps no state between steps";
        let problem = Diagnostic::error(whole_model(model), found);
        diagnostics.push(problem.valid("a model with a state").help(message!(
            "leave the number of steps open, or leave out {}",
            flag::BATCH.setting()
        )));
    }
}
