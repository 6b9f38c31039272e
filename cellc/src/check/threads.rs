//! The number of threads: outputs with a second thread, and cells that two threads can share.

use crate::check::report::at_layer;
use crate::check::subject::Subject;
use crate::core::{CoreModel, CoreNode, CoreOp};
use crate::diagnostic::{Diagnostic, Diagnostics, Origin, quoted};
use crate::model::ResetGate;
use crate::request::Threads;

/// Refuses two threads for outputs that cannot have them, and for loops, sequences and cells that
/// would synchronise within a step.
pub(crate) fn threads(subject: Subject, core: &CoreModel, diagnostics: &mut Diagnostics) {
    let Subject { model, options, .. } = subject;
    if options.machine.threads == Threads::One {
        return;
    }
    let mut refuse_option = |found: String, help: &str| {
        let problem = Diagnostic::error(Origin::Unknown, found).valid("one thread").help(help);
        diagnostics.push(problem);
    };
    if options.c_only() {
        let target = options.machine.target.name;
        let found = format!(
            "two threads: they need more than C11, which is all that the target {target} uses"
        );
        refuse_option(found, "leave out the number of threads, or choose another target");
    }
    if options.output.interface.is_some() {
        let found = "the common interface cannot give a step the pool of a second thread";
        let help =
            "leave out the number of threads, or call the functions of the model's own header";
        refuse_option(found.to_owned(), help);
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
            CoreOp::Cell(cell) if cell.sequence.is_some() => {
                let why = match cell.steps() {
                    1 => "a sequence of one step: only cells are shared",
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
