//! The cells that two threads can share.

use crate::check::subject::CheckContext;
use crate::core::{CoreModel, CoreNode, CoreOp, PlannedProduct};
use crate::diagnostic::{Diagnostics, quoted};
use crate::model::{Op, ResetGate};
use crate::request::Threads;
use crate::rules::report::at_layer;

/// Refuses two threads for models without a cell, for loops and sequences, and for cells whose
/// threads would have to synchronise twice per step.
pub(crate) fn threads(context: CheckContext, core: &CoreModel, diagnostics: &mut Diagnostics) {
    let CheckContext { model, options, .. } = context;
    if options.machine.threads == Threads::One {
        return;
    }
    let mut refuse = |layer: Option<&CoreNode>, found: String| {
        let node = layer.and_then(|layer| model.nodes.get(layer.layer.outer));
        let problem = at_layer(model, node, found).valid(
            "GRUCell with linear_before_reset = true, LSTMCell and RNNCell, one step each and \
             outside of loops",
        );
        diagnostics.push(problem.help("leave out the number of threads"));
    };
    for node in &core.nodes {
        let layer = model.nodes.get(node.layer.outer);
        let is_repeated =
            core.steps.is_some() && layer.is_some_and(|layer| matches!(layer.op, Op::Sequence(..)));
        if let Some(why) = why_not_shared(node, is_repeated) {
            let name = match &node.name[..] {
                "" => format!("the {} without a name", node.kind),
                name => quoted(name),
            };
            refuse(Some(node), format!("two threads cannot share {name}, {why}"));
        }
    }
    if core.cells().is_empty() {
        refuse(None, "two threads, but the model has no cell for them".to_owned());
    }
}

/// The reason why two threads cannot share an operation. `is_repeated`: true for the step of a
/// sequence. `None`: they can, or the operation is no cell and one thread computes it.
fn why_not_shared(node: &CoreNode, is_repeated: bool) -> Option<&'static str> {
    if let CoreOp::Loop(_) = node.op {
        return Some("a loop: they would have to synchronise at every step");
    }
    let Some(PlannedProduct::Cell(cell)) = node.op.planned() else { return None };
    match () {
        () if is_repeated || cell.steps() > 1 => {
            Some("a sequence: they would have to synchronise at every step")
        }
        () if cell.sequence.is_some() => Some("a sequence of one step: only cells are shared"),
        () if cell.kind.reset_gate() == Some(ResetGate::BeforeMatMul) => Some(
            "whose linear_before_reset is false: they would have to synchronise twice per step",
        ),
        () => None,
    }
}
