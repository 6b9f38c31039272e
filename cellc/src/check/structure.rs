//! The structure of a graph: producers of inputs, numbers of inputs and outputs, port maps of
//! loops. Builders and readers may pass any graph.

use std::collections::HashSet;

use crate::check::subject::CheckContext;
use crate::diagnostic::{Diagnostic, Diagnostics, Message, Origin, Problem};
use crate::model::limits::MOST_NESTED;
use crate::model::{Branch, If, Loop, Model, Node, Op, OpFacts, ValueId};
use crate::rules::cell::{CellPort, roles};
use crate::rules::report::{MALFORMED, refusal};

/// Refuses a graph with a wrong structure, bodies of loops and branches included. `None` after an
/// error.
pub(crate) fn structure(context: CheckContext, diagnostics: &mut Diagnostics) -> Option<()> {
    Structure { context, diagnostics }.structure(context.model, 0).then_some(())
}

struct Structure<'c, 'a> {
    context: CheckContext<'a>,
    diagnostics: &'c mut Diagnostics,
}

impl Structure<'_, '_> {
    fn error(
        &mut self,
        node: &Node,
        found: impl Into<Message>,
        valid: impl Into<Message>,
        help: &str,
    ) {
        self.diagnostics.push(refusal(node, &node.origin, Problem::new(found, valid, help)));
    }

    /// True if the structure of a graph and of the bodies in it is legal.
    fn structure(&mut self, model: &Model, depth: usize) -> bool {
        let mut produced = vec![false; model.values.len()];
        for node in &model.nodes {
            self.arity(node);
            let exists = |input: &ValueId| {
                produced.get(input.0).is_some_and(|&p| p || self.context.is_partial)
            };
            if !node.inputs.iter().all(exists) {
                let found = "no earlier operation produces this input";
                self.error(
                    node,
                    found,
                    "operations in the order in which they are computed",
                    MALFORMED,
                );
            }
            for output in &node.outputs {
                if produced.get_mut(output.0).is_none_or(|p| std::mem::replace(p, true)) {
                    let found =
                        "an output that something else produces too, or that does not exist";
                    self.error(node, found, "outputs of its own", MALFORMED);
                }
            }
            match &node.op {
                Op::Loop(body) => self.loop_structure(node, body, depth),
                Op::If(choice) => self.choice_structure(node, choice, depth),
                _ => {}
            }
        }
        for (list, what) in [(&model.parameters, "Parameter"), (&model.results, "Result")] {
            let listed: HashSet<usize> = list.iter().copied().collect();
            let is = |op: &Op| match op {
                Op::Parameter => what == "Parameter",
                Op::Result => what == "Result",
                _ => false,
            };
            let nodes = model.nodes.iter().enumerate().filter(|(_, node)| is(&node.op));
            if listed.len() != list.len() || !nodes.map(|(index, _)| index).eq(sorted(&listed)) {
                let found =
                    format!("the list of {what}s of the model does not name each of them once");
                let valid = "each of them, once";
                self.diagnostics
                    .push(Diagnostic::error(Origin::Unknown, found).valid(valid).help(MALFORMED));
            }
        }
        if model.results.is_empty() && depth == 0 && !self.context.is_partial {
            let diagnostic = Diagnostic::error(Origin::Unknown, "the model has no Result");
            self.diagnostics
                .push(diagnostic.valid("at least one Result").help("give the model an output"));
        }
        !self.diagnostics.has_errors()
    }

    /// Refuses a wrong number of inputs or outputs.
    fn arity(&mut self, node: &Node) {
        let OpFacts { inputs, outputs, .. } = node.op.facts();
        if !inputs.contains(&node.inputs.len()) || roles_missing(node) {
            let (name, valid) = match &node.op {
                Op::Cell(_) | Op::Sequence(..) => recurrent_inputs(&node.op),
                _ if inputs.start() == inputs.end() => {
                    ("a layer".to_owned(), inputs.end().to_string())
                }
                _ if *inputs.end() == usize::MAX => {
                    ("a layer".to_owned(), format!("{} or more", inputs.start()))
                }
                _ => ("a layer".to_owned(), format!("{} to {}", inputs.start(), inputs.end())),
            };
            let found = format!("{name} with {} inputs", node.inputs.len());
            self.error(
                node,
                found,
                valid,
                "connect the missing inputs, and remove the surplus ones",
            );
        }
        if !outputs.contains(&node.outputs.len()) {
            let found = format!("{} outputs", node.outputs.len());
            self.error(node, found, outputs.end().to_string(), MALFORMED);
        }
    }

    /// Refuses a body inside of too many other bodies. True if refused.
    fn too_deep(&mut self, node: &Node, depth: usize) -> bool {
        if depth < MOST_NESTED {
            return false;
        }
        let found = format!("more than {MOST_NESTED} loops or branches inside each other");
        self.error(node, found, format!("{MOST_NESTED} or fewer"), "unroll some of them");
        true
    }

    fn choice_structure(&mut self, node: &Node, choice: &If, depth: usize) {
        if self.too_deep(node, depth) {
            return;
        }
        for Branch { body, inputs } in [&choice.then, &choice.otherwise] {
            let given = inputs.len() == body.parameters.len()
                && inputs.iter().all(|&input| input < node.inputs.len());
            if !given || body.results.len() != node.outputs.len() {
                let found = "a branch whose inputs or outputs are not those of the layer";
                self.error(node, found, "as many outputs, and inputs of the layer", MALFORMED);
            }
            self.structure(body, depth + 1);
        }
    }

    fn loop_structure(&mut self, node: &Node, body: &Loop, depth: usize) {
        if self.too_deep(node, depth) {
            return;
        }
        if body.counted && node.inputs.len() < 2 {
            let found = format!("a loop with {} inputs", node.inputs.len());
            let valid = "the number of iterations, the condition, and what the port map names";
            self.error(node, found, valid, "connect the missing inputs");
        }
        if body.counted && body.condition.is_none() {
            let found = "a loop without the condition for its next iteration";
            let help = "add the condition, execution_condition, to the port map of the outputs";
            self.error(node, found, "one output of the body that is the condition", help);
        }
        let (parameters, results) = (body.body.parameters.len(), body.body.results.len());
        let ports = body.inputs.iter().all(|i| {
            let first = if body.counted { 2 } else { 0 };
            i.parameter < parameters && (first..node.inputs.len()).contains(&i.input)
        });
        let places = ports
            && body.inputs.iter().all(|i| i.back_edge.is_none_or(|r| r < results))
            && body.outputs.iter().all(|o| o.result < results)
            && body.current_iteration.is_none_or(|p| p < parameters)
            && body.condition.is_none_or(|r| r < results);
        if !places {
            let found = "the port map names an input or an output that does not exist";
            self.error(
                node,
                found,
                "inputs of the layer, Parameters and Results of its body",
                MALFORMED,
            );
        }
        let mut given = vec![0usize; parameters];
        let parameters_read = body.inputs.iter().map(|i| i.parameter).chain(body.current_iteration);
        parameters_read.filter(|&p| p < parameters).for_each(|p| given[p] += 1);
        if given.iter().any(|&n| n > 1) {
            let found = "a Parameter of the body is given more than once";
            self.error(node, found, "each of them once", "correct the port map");
        } else if given.contains(&0) && !self.context.is_partial {
            let found = "a Parameter of the body that the port map does not name";
            self.error(node, found, "each of them once", "connect it");
        }
        if body.outputs.len() != node.outputs.len() {
            let found = format!(
                "{} outputs, and {} in the port map",
                node.outputs.len(),
                body.outputs.len()
            );
            self.error(node, found, "as many", MALFORMED);
        }
        self.structure(&body.body, depth + 1);
    }
}

fn roles_missing(node: &Node) -> bool {
    matches!(node.op, Op::Cell(_) | Op::Sequence(..))
        && roles(&node.op, node.inputs.len()).is_none()
}

/// The name of a recurrent operation, and its inputs.
fn recurrent_inputs(op: &Op) -> (String, String) {
    let (cell, sequence) = match op {
        Op::Cell(cell) => (cell, false),
        Op::Sequence(cell, _) => (cell, true),
        _ => return (String::new(), String::new()),
    };
    let name = if sequence { cell.kind.sequence_name() } else { cell.kind.op_name() };
    let ports = (1..=9).rev().find_map(|n| roles(op, n)).unwrap_or_default();
    let wanted = if ports.last() == Some(&CellPort::B(0)) && !sequence && cell.kind.bias_parts() > 1
    {
        let (last, first) = (ports.len(), ports.len() - 1);
        let names: Vec<&str> = ports[..first].iter().map(|role| role.name(sequence)).collect();
        format!("{first} or {last}: {} and, if wanted, B", names.join(", "))
    } else {
        let names: Vec<&str> = ports.iter().map(|role| role.name(sequence)).collect();
        let (last, first) = names.split_last().unwrap_or((&"", &[]));
        format!("{}: {} and {last}", ports.len(), first.join(", "))
    };
    (name.to_owned(), wanted)
}

fn sorted(set: &HashSet<usize>) -> Vec<usize> {
    let mut list: Vec<usize> = set.iter().copied().collect();
    list.sort_unstable();
    list
}
