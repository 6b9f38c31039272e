//! The uses of the inputs, found before the other checks of inputs.

use crate::diagnostic::{Diagnostics, Problem};
use crate::model::{Dim, Elements, Loop, LoopInput, Model, Node, Op, ValueId};
use crate::rules::cell::{CellPort, roles};
use crate::rules::input_sizes::Uses;
use crate::rules::report::refusal;

/// The uses of each input. Refuses inputs that are weights of cells and also data or lengths.
pub(super) fn uses(model: &Model, diagnostics: &mut Diagnostics) -> Vec<Uses> {
    let mut by_input = vec![Uses::default(); model.parameters.len()];
    let mut root: Vec<Option<usize>> = vec![None; model.values.len()];
    for (index, &node) in model.parameters.iter().enumerate() {
        root[model.nodes[node].outputs[0].0] = Some(index);
    }
    read_graph(&mut by_input, model, root, true);
    for (uses, &node) in by_input.iter().zip(&model.parameters) {
        let node = &model.nodes[node];
        if let (Some(weight), Some(data)) =
            (&uses.weight, uses.data.as_ref().or(uses.lengths.as_ref()))
        {
            let found = format!("the input is both {weight} and {data}");
            let weights = CellPort::WEIGHTS;
            let valid =
                format!("an input that is {weights} of cells and nothing else, or none of them");
            let help = "declare two inputs and give both the same contents";
            diagnostics.push(refusal(node, &node.origin, Problem::new(found, valid, help)));
        }
    }
    by_input
}

/// Adds the readers of one graph. `root`: by value, the input of the model that holds the value's
/// elements. `outermost`: false for the body of a loop.
fn read_graph(all: &mut [Uses], model: &Model, mut root: Vec<Option<usize>>, outermost: bool) {
    let handed_on = handed_on(model);
    for node in &model.nodes {
        let weights = node
            .inputs
            .iter()
            .filter_map(|input| Some((root[input.0]?, handed_on[input.0].clone()?)));
        for (parameter, text) in weights {
            all[parameter].weight.get_or_insert(text);
        }
        let root_of = |value: &ValueId| root[value.0];
        match &node.op {
            Op::Convert => {
                root[node.outputs[0].0] = root_of(&node.inputs[0]);
                continue;
            }
            Op::Loop(body) => {
                read_loop(all, node, body, root_of);
                continue;
            }
            op if op.facts().elements == Elements::None => continue,
            _ => {}
        }
        let roles = roles(&node.op, node.inputs.len()).unwrap_or_default();
        for (port, input) in node.inputs.iter().enumerate() {
            if let Some(parameter) = root[input.0].filter(|_| handed_on[input.0].is_none()) {
                if port == 0 {
                    let uses = &mut all[parameter];
                    uses.features = uses.features.or_else(|| features(model, node, &roles));
                }
                read(&mut all[parameter], node, roles.get(port).copied(), outermost);
            }
        }
    }
}

/// Adds the readers of a loop's body, and the loop as the reader of all inputs that do not enter
/// the body unchanged. `parameter_of`: the input of the model that holds the elements of a value.
fn read_loop(
    all: &mut [Uses],
    node: &Node,
    body: &Loop,
    parameter_of: impl Fn(&ValueId) -> Option<usize>,
) {
    let is_unchanged = |input: &&LoopInput| input.slice.is_none() && input.back_edge.is_none();
    let mut inner = vec![None; body.body.values.len()];
    let mut handed_on = vec![false; node.inputs.len()];
    for input in body.inputs.iter().filter(is_unchanged) {
        if let Some(value) = body.parameter(input.parameter) {
            inner[value.0] = parameter_of(&node.inputs[input.input]);
            handed_on[input.input] = true;
        }
    }
    for input in body.inputs.iter().filter(|input| !is_unchanged(input)) {
        handed_on[input.input] = false;
    }
    for (value, _) in node.inputs.iter().zip(handed_on).filter(|(_, on)| !on) {
        if let Some(parameter) = parameter_of(value) {
            read(&mut all[parameter], node, None, false);
        }
    }
    read_graph(all, &body.body, inner, false);
}

/// Adds a reader of an input.
fn read(uses: &mut Uses, node: &Node, role: Option<CellPort>, outermost: bool) {
    let sequence = matches!(node.op, Op::Sequence(..));
    let text = match role {
        Some(role) => format!("{} of {}", role.name(sequence), node.label()),
        None => format!("read by {}", node.label()),
    };
    match role {
        Some(CellPort::W | CellPort::R | CellPort::B(_) | CellPort::P) => {
            uses.weight.get_or_insert(text);
            return;
        }
        Some(CellPort::Lengths) => {
            uses.batch |= outermost;
            uses.lengths.get_or_insert(text);
            return;
        }
        Some(CellPort::X | CellPort::A | CellPort::H | CellPort::C) => uses.batch |= outermost,
        None => {}
    }
    uses.data.get_or_insert(text);
}

/// By value: the name of the weights, if cells read the value as weights, perhaps through other
/// operations, and no other operation reads the value.
fn handed_on(model: &Model) -> Vec<Option<String>> {
    #[derive(Clone)]
    enum Read {
        Not,
        Weight(String),
        Data,
    }
    let mut read = vec![Read::Not; model.values.len()];
    for node in model.nodes.iter().rev() {
        let roles = roles(&node.op, node.inputs.len()).unwrap_or_default();
        let elements = node.op.facts().elements;
        let through = match node.op {
            Op::Result => Read::Data,
            _ if elements == Elements::None => Read::Not,
            _ if !elements.keep_gates() => Read::Data,
            _ => node.outputs.iter().fold(Read::Not, |all, output| match (all, &read[output.0]) {
                (Read::Data, _) | (_, Read::Data) => Read::Data,
                (Read::Not, other) => other.clone(),
                (all, _) => all,
            }),
        };
        for (port, input) in node.inputs.iter().enumerate() {
            let by = match roles.get(port) {
                Some(role) if role.is_weight() => {
                    let sequence = matches!(node.op, Op::Sequence(..));
                    Read::Weight(format!("{} of {}", role.name(sequence), node.label()))
                }
                _ => through.clone(),
            };
            let known = &mut read[input.0];
            match (&known, by) {
                (Read::Data, _) | (Read::Weight(_), Read::Weight(_)) | (_, Read::Not) => {}
                (_, by) => *known = by,
            }
        }
    }
    let text = |read| if let Read::Weight(text) = read { Some(text) } else { None };
    read.into_iter().map(text).collect()
}

/// The last size of the first input, required by its weights: the matrix of a MatMul, or W of a
/// cell.
fn features(model: &Model, node: &Node, roles: &[CellPort]) -> Option<usize> {
    let (port, from_the_end) = match node.op {
        Op::MatMul { transpose_a: false, transpose_b } => (1, usize::from(!transpose_b)),
        _ => (roles.iter().position(|&role| role == CellPort::W)?, 0),
    };
    let shape = model.values[node.inputs.get(port)?.0].shape.as_ref()?;
    match *shape.iter().rev().nth(from_the_end)? {
        Dim::Fixed(size) => Some(size),
        Dim::Dynamic { .. } => None,
    }
}
