//! Limits for the sizes of inputs and outputs, of the whole model and of its source.

use crate::core::{CoreModel, CoreNode, CoreOp, Work, element_count};
use crate::diagnostic::{Diagnostic, Diagnostics, Origin, Problem, message};
use crate::model::limits::{MOST_ELEMENTS_IN_ALL, MOST_INTERFACE_BYTES, MOST_UNROLLED};
use crate::model::{ElementType, Model, Node, shape_text, wrong_count};
use crate::request::flag;
use crate::request::{Options, Unroll};
use crate::rules::report::{refusal, whole_model};

/// Refuses inputs and outputs with too many bytes together. `None` after an error. Called before
/// the translation with the inputs alone, as their sizes decide the work of the translation, after
/// the translation with inputs and outputs, and once more if streams or channels become rows.
pub(crate) fn interface_size(
    model: &Model,
    core: &CoreModel,
    diagnostics: &mut Diagnostics,
) -> Option<()> {
    let inputs = core.parameters.iter().filter(|p| !p.weight);
    let inputs = inputs.map(|p| bytes(&p.shape, if p.element == ElementType::I64 { 8 } else { 4 }));
    let outputs = core.results.iter().map(|result| bytes(&result.shape, 4));
    let total = inputs.chain(outputs).fold(0, usize::saturating_add);
    if total > MOST_INTERFACE_BYTES {
        let found = format!("inputs and outputs of {total} bytes, all together");
        let valid = format!("{MOST_INTERFACE_BYTES} bytes (64 MiB) or fewer");
        let help = message!(
            "give a smaller {} or {}, or split the model",
            flag::BATCH.setting(),
            flag::SHAPE.setting()
        );
        diagnostics.push(Diagnostic::error(whole_model(model), found).valid(valid).help(help));
    }
    (total <= MOST_INTERFACE_BYTES).then_some(())
}

/// Refuses tensors with too many elements together.
pub(crate) fn total_size(model: &Model, core: &CoreModel, diagnostics: &mut Diagnostics) {
    let sizes = core.parameters.iter().map(|p| element_count(&p.shape));
    let sizes = sizes.chain(core.constants.iter().map(|t| Some(t.len())));
    let mut sizes = sizes.chain(core.values.iter().map(|v| element_count(&v.shape)));
    let total = sizes.try_fold(0usize, |total, size| total.checked_add(size?));
    if total.is_none_or(|total| total > MOST_ELEMENTS_IN_ALL) {
        let found = "all tensors together have too many elements";
        let valid = format!("{MOST_ELEMENTS_IN_ALL} or fewer");
        diagnostics.push(
            Diagnostic::error(whole_model(model), found).valid(valid).help("split the model"),
        );
    }
}

/// Refuses models whose source would be too long for compilers.
pub(crate) fn source_size(
    model: &Model,
    options: &Options,
    core: &CoreModel,
    diagnostics: &mut Diagnostics,
) {
    let origin = whole_model(model);
    let counts = [
        ("cells", core.cells().len()),
        ("inputs", core.parameters.len()),
        ("outputs", core.results.len()),
        ("variables", core.variables.len()),
    ];
    for (what, count) in counts {
        if let Some(valid) = wrong_count(count, 0) {
            let found = format!("the model has {count} {what}");
            let diagnostic = Diagnostic::error(origin.clone(), found).valid(valid);
            diagnostics.push(diagnostic.help("split the model, and compile its parts one by one"));
        }
    }
    let work = multiply_adds(&core.nodes);
    if options.tuning.unroll == Unroll::Full && work > MOST_UNROLLED as u128 {
        let found = format!("full unrolling of {work} multiply-adds");
        let diagnostic =
            Diagnostic::error(origin, found).valid(format!("{MOST_UNROLLED} or fewer"));
        diagnostics
            .push(diagnostic.help("leave unrolling to the plan: it unrolls where that pays"));
    }
}

/// The error of a tensor with more elements than a limit.
pub(crate) fn too_large(node: &Node, origin: &Origin, shape: &[usize], most: usize) -> Diagnostic {
    refusal(node, origin, larger_than(shape, most))
}

/// The problem of a tensor with more elements than a limit.
pub(crate) fn larger_than(shape: &[usize], most: usize) -> Problem {
    let bytes = element_count(shape).and_then(|count| count.checked_mul(4));
    let bytes = bytes.map_or_else(String::new, |bytes| format!(": {bytes} bytes"));
    let found = format!("a tensor of shape {}{bytes}", shape_text(shape));
    let valid = format!("{most} elements, {} bytes, or fewer", 4 * most);
    Problem::new(found, valid, "split the model")
}

fn bytes(shape: &[usize], element: usize) -> usize {
    shape.iter().fold(element, |bytes, &size| bytes.saturating_mul(size))
}

/// The multiply-adds that full unrolling writes out. Loops over time and loops of the model stay.
fn multiply_adds(nodes: &[CoreNode]) -> u128 {
    let work = |node: &CoreNode| match (&node.op, node.op.facts().work) {
        (CoreOp::Loop(body), _) => multiply_adds(&body.body),
        (_, Work::Products { each, .. }) => each as u128,
        (_, Work::Elements { .. } | Work::Body) => 0,
    };
    nodes.iter().map(work).sum()
}
