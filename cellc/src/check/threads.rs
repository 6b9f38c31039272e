//! Which cells two threads can share.

use super::checker::Checker;
use crate::core::{CoreNode, CoreOp};
use crate::diagnostic::quoted;
use crate::model::ResetGate;
use crate::request::Threads;

impl Checker<'_> {
    /// Refuses two threads for loops, sequences and cells that would synchronise within a step.
    pub(crate) fn threads(&mut self) {
        if self.options.machine.threads == Threads::One {
            return;
        }
        let mut problems = Vec::new();
        let mut refuse = |layer: Option<&CoreNode>, found: String| {
            let node = layer.and_then(|layer| self.model.nodes.get(layer.layer.outer));
            let problem = self.at_layer(node, found).valid(
                "GRUCell with linear_before_reset = true, LSTMCell and RNNCell, one step each and \
                 outside of loops",
            );
            problems.push(problem.help("leave out the number of threads"));
        };
        for node in &self.core.model.nodes {
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
        if self.core.model.cells().is_empty() {
            refuse(None, "two threads, but the model has no cell for them".to_owned());
        }
        problems.into_iter().for_each(|problem| self.diagnostics.push(problem));
    }
}
