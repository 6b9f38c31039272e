//! The cells that two threads can share.

use crate::check::subject::CheckContext;
use crate::core::{CoreModel, CoreNode, CoreOp};
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
    let is_repeated = |node: &CoreNode| {
        let layer = model.nodes.get(node.layer.outer);
        core.steps.is_some() && layer.is_some_and(|layer| matches!(layer.op, Op::Sequence(..)))
    };
    for node in &core.nodes {
        let name = match &node.name[..] {
            "" => format!("the {} without a name", node.kind),
            name => quoted(name),
        };
        match &node.op {
            CoreOp::Loop(_) => refuse(
                Some(node),
                format!(
                    "two threads cannot share {name}, a loop: they would have to synchronise \
                     at every step"
                ),
            ),
            CoreOp::Cell(cell) if cell.sequence.is_some() || is_repeated(node) => {
                let why = match cell.steps() {
                    1 if !is_repeated(node) => "a sequence of one step: only cells are shared",
                    _ => "a sequence: they would have to synchronise at every step",
                };
                refuse(Some(node), format!("two threads cannot share {name}, {why}"));
            }
            CoreOp::Cell(cell) if cell.kind.reset_gate() == Some(ResetGate::BeforeMatMul) => {
                refuse(
                    Some(node),
                    format!(
                        "two threads cannot share {name}, whose linear_before_reset is false: \
                         they would have to synchronise twice per step"
                    ),
                )
            }
            _ => {}
        }
    }
    if core.cells().is_empty() {
        refuse(None, "two threads, but the model has no cell for them".to_owned());
    }
}
