//! Diagnostics about nodes of a model, about layers by their names, and about the whole model.

use crate::diagnostic::{Diagnostic, Diagnostics, Origin, Problem};
use crate::model::{ElementType, Model, Node, WrongAttribute};

/// The help for a malformed model, which no reader makes.
pub(crate) const MALFORMED: &str =
    "no input file can express this model: correct the code that built it";

/// The help for an operation on constants whose result is undefined, such as a division by 0.
pub(crate) const UNDEFINED: &str = "correct the constants it is given";

/// The error of a node, at `origin` or, if unknown, at the place of the node.
pub(crate) fn refusal(node: &Node, origin: &Origin, problem: Problem) -> Diagnostic {
    let origin = if *origin == Origin::Unknown { &node.origin } else { origin };
    problem.at(origin.clone()).layer(node.label())
}

/// Refuses a node for each wrong attribute. True if no attribute is wrong.
pub(crate) fn attributes_are_legal(
    node: &Node,
    wrong: &[WrongAttribute],
    diagnostics: &mut Diagnostics,
) -> bool {
    for WrongAttribute { attribute, problem } in wrong {
        let origin = node.attribute_origin(attribute);
        diagnostics.push(refusal(node, origin, problem.clone()));
    }
    wrong.is_empty()
}

/// An error about `node`, or about the whole model if `None`.
pub(crate) fn at_layer(model: &Model, node: Option<&Node>, found: String) -> Diagnostic {
    match node {
        Some(node) => Diagnostic::error(node.origin.clone(), found).layer(node.label()),
        None => Diagnostic::error(whole_model(model), found),
    }
}

/// The first node with a name. `None` for an empty name.
pub(crate) fn layer_named<'a>(model: &'a Model, name: &str) -> Option<&'a Node> {
    model.nodes.iter().find(|node| !name.is_empty() && node.name == name)
}

/// The place of problems of the whole model: the first Result, whose place names the file.
pub(crate) fn whole_model(model: &Model) -> Origin {
    let result = model.results.first().map(|&node| &model.nodes[node]);
    result.map_or(Origin::Unknown, |node| node.origin.clone())
}

/// The names of the floating point types.
pub(crate) fn floats() -> String {
    let floats: Vec<&str> =
        ElementType::ALL.into_iter().filter(|e| e.is_float()).map(ElementType::name).collect();
    floats.join(", ")
}
