//! The header's lines about recurrent cells: equations, names of operands, gate order, attributes.

use std::collections::BTreeSet;

use crate::core::{CoreCell, CoreModel, CoreNode, CoreOp, Source, WeightSource};
use crate::emit::names::Interface;
use crate::model::{BiasPart, CellKind, LedgerEntry, LstmGateOrder, ResetGate, WeightLayout};
use crate::summary::{escape, title};

/// The lines for all cells, and for the attributes of other operations if there is no cell.
pub(super) fn lines(model: &CoreModel, interface: &Interface) -> Vec<String> {
    let mut lines = Vec::new();
    let cells = model.cell_nodes();
    for (i, (node, cell)) in cells.iter().enumerate() {
        lines.push(String::new());
        lines.push(format!("cell {i}: {}", title(&node.name, cell, model.steps.is_some())));
        lines.extend(cell.equations().iter().map(|equation| format!("  {equation}")));
        lines.extend(operands(cell, model, interface));
        lines.extend(initial_states(cell, model));
        lines.push(format!("  {}", gate_order(cell, model, interface)));
        lines.extend(node.ledger.iter().filter(|entry| !is_default(entry, cell)).map(ledger_line));
    }
    // in a model with cells, the other operations of a recurrent layer have the same attributes
    let nodes = model.nodes.iter().filter(|node| cells.is_empty() && !node.ledger.is_empty());
    let mut before: Option<&CoreNode> = None;
    for node in nodes {
        // several operations may come from one operation of the model
        let is_same = |before: &CoreNode| before.name == node.name && before.ledger == node.ledger;
        if before.replace(node).is_some_and(is_same) {
            continue;
        }
        lines.push(String::new());
        lines.push(format!("{} \"{}\":", escape(&node.kind), escape(&node.name)));
        lines.extend(node.ledger.iter().map(ledger_line));
    }
    lines
}

/// The line with the names of inputs and outputs that are operands in a cell's equations, except
/// operands that have the same name in the equations. `None` if no operand is left.
fn operands(cell: &CoreCell, model: &CoreModel, interface: &Interface) -> Option<String> {
    let before = |value: usize| {
        let view = |node: &&CoreNode| matches!(&node.op, CoreOp::View(view) if view.out == value);
        match &model.nodes.iter().find(view)?.op {
            CoreOp::View(view) => Some(view.input),
            _ => None,
        }
    };
    let viewed = |mut source: Source| {
        while let Source::Value(value) = source
            && let Some(input) = before(value)
        {
            source = input;
        }
        source
    };
    let input = |source: Source| match viewed(source) {
        Source::Parameter(at) => interface.inputs.iter().find(|field| field.index == at),
        Source::Variable(at) => interface.variables.iter().find(|field| field.index == at),
        Source::Constant(_) | Source::Value(_) => None,
    };
    let output = |value: usize| {
        let mut outputs = interface.outputs.iter();
        outputs.find(|field| {
            model
                .results
                .get(field.index)
                .is_some_and(|result| viewed(result.source) == viewed(Source::Value(value)))
        })
    };
    let last = if cell.sequence.is_some() { " after the last time step" } else { "" };
    let operands = [
        ("x", Some(cell.x).and_then(input)),
        ("hidden state h", Some(cell.h).and_then(input)),
        ("cell state c", cell.c.and_then(input)),
        ("attention a", cell.a.and_then(input)),
        ("h' of every time step", cell.out.y.and_then(output)),
        (&format!("h'{last}"), cell.out.h.and_then(output)),
        (&format!("c'{last}"), cell.out.c.and_then(output)),
    ];
    let named = operands.into_iter().filter_map(|(operand, field)| {
        let name = &field?.name;
        (!operand.ends_with(&format!(" {name}")) && operand != name)
            .then(|| format!("{operand} is {name}"))
    });
    let named: Vec<_> = named.collect();
    (!named.is_empty()).then(|| format!("  {}", named.join(", ")))
}

/// True if an attribute has its default value, or if the title of the cell states the attribute.
fn is_default(entry: &LedgerEntry, cell: &CoreCell) -> bool {
    let Some(given) = &entry.text else { return true };
    let functions: Vec<_> =
        cell.kind.default_activations().iter().map(|function| function.label()).collect();
    let listed = |text: &str| {
        text.split([',', ' '])
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect::<Vec<_>>()
    };
    match &entry.attribute[..] {
        "hidden_size" | "input_size" => true,
        "direction" => given == "forward",
        "activations" => listed(given) == functions,
        "activations_alpha" | "activations_beta" => given.is_empty(),
        "clip" => given.parse() == Ok(0.0f64),
        "linear_before_reset" | "input_forget" | "layout" => matches!(&given[..], "0" | "false"),
        _ => false,
    }
}

/// The line about an attribute of the model's file, with cellc's interpretation.
fn ledger_line(entry: &LedgerEntry) -> String {
    let (name, taken) = (escape(&entry.attribute), escape(&entry.meaning));
    match &entry.text {
        None => format!("  {name} absent: {taken}"),
        // the interpretation repeats the text of the file
        Some(given) if taken.starts_with(&escape(given)) => format!("  {name}: {taken}"),
        Some(given) => format!("  {name} \"{}\": {taken}", escape(given)),
    }
}

/// The lines about initial states of a cell that are constants in each step of the model.
fn initial_states(cell: &CoreCell, model: &CoreModel) -> Vec<String> {
    let is_zero = |source: Source| match source {
        Source::Constant(at) => {
            let tensor = &model.constants[at];
            Some((0..tensor.len()).all(|index| tensor.get_f32(index) == 0.0))
        }
        Source::Parameter(_) | Source::Variable(_) | Source::Value(_) => None,
    };
    let states = [("h", Some(cell.h)), ("c", cell.c)];
    let states: Vec<_> =
        states.into_iter().filter_map(|(name, state)| Some((name, is_zero(state?)?))).collect();
    let value = |zero: bool| if zero { "0" } else { "constants of the model" };
    match states[..] {
        [(h, zero), (c, other)] if zero == other => {
            vec![format!("  {h} and {c} start from {} in each step", value(zero))]
        }
        _ => {
            let line = |(name, zero)| format!("  {name} starts from {} in each step", value(zero));
            states.into_iter().map(line).collect()
        }
    }
}

/// True unless all biases of the cell are zero.
fn adds_biases(model: &CoreModel, cell: &CoreCell) -> bool {
    cell.weights.b.iter().any(|b| match *b {
        WeightSource::Parameter(_) => true,
        WeightSource::Constant(index) => {
            let tensor = &model.constants[index];
            (0..tensor.len()).any(|index| tensor.get_f32(index) != 0.0)
        }
        WeightSource::Zero => false,
    })
}

/// The note that biases are added, if each gate of the cell has two biases in the model, one for x
/// and one for h. Else empty.
fn added_biases(cell: &CoreCell) -> &'static str {
    let is_in_halves = |terms: &Vec<BiasPart>| matches!(&terms[..], [a, b] if a.tensor == b.tensor);
    let biases = &cell.weights.layout.biases;
    match biases.iter().all(|terms| terms.len() == 2) {
        true if biases.iter().all(is_in_halves) => "; the two halves of B are added",
        true => "; the two biases of a gate are added",
        false => "",
    }
}

/// The line about the order of gates in the model's weights, and about the terms of the biases.
fn gate_order(cell: &CoreCell, model: &CoreModel, interface: &Interface) -> String {
    let order = cell.weights.layout.order(cell.kind);
    let order = order.chars().map(String::from).collect::<Vec<_>>().join(", ");
    // for an omitted B the model contains zeros
    let biased = adds_biases(model, cell);
    let parts: &[&str] = match (cell.kind, cell.kind.reset_gate()) {
        (CellKind::Rnn, _) => return "W and R have one gate".to_owned(),
        (_, None) if biased => {
            let added = added_biases(cell);
            return format!("gate order of W, R and B in the model: {order}{added}");
        }
        _ if !biased => return format!("gate order of W and R in the model: {order}"),
        (_, Some(ResetGate::AfterMatMul)) => &["z", "r", "Wbh", "Rbh"],
        _ => &["z", "r", "h"],
    };
    if cell.weights.layout == WeightLayout::new(cell.kind, LstmGateOrder::default()) {
        return format!("gate order of W and R in the model: {order}; of B: {}", parts.join(", "));
    }
    let name = |tensor: usize| {
        let given = interface
            .weights
            .iter()
            .find(|field| cell.weights.b[tensor] == WeightSource::Parameter(field.index));
        given.map_or("B", |field| &field.name)
    };
    // the line shows the rows of a tensor that has more parts than gates, or two parts in one sum
    let biases = &cell.weights.layout.biases;
    let in_parts = |tensor: usize| {
        let parts =
            biases.iter().flatten().filter(|term| term.tensor == tensor).map(|term| term.part);
        let twice =
            |terms: &Vec<BiasPart>| terms.iter().filter(|term| term.tensor == tensor).count() > 1;
        parts.collect::<BTreeSet<_>>().len() > cell.weights.layout.gates.len()
            || biases.iter().any(twice)
    };
    let parts = parts.iter().zip(biases).map(|(part, terms)| {
        let term = |term: &BiasPart| {
            let rows = term.part * cell.hidden_size..(term.part + 1) * cell.hidden_size;
            let rows = if in_parts(term.tensor) { format!("[{rows:?}]") } else { String::new() };
            format!("{}{rows}", name(term.tensor))
        };
        let given = |term: &&BiasPart| cell.weights.b[term.tensor] != WeightSource::Zero;
        let terms: Vec<_> = terms.iter().filter(given).map(term).collect();
        format!("{part} = {}", if terms.is_empty() { "0".to_owned() } else { terms.join(" + ") })
    });
    format!(
        "gate order of W and R in the model: {order}; B: {}",
        parts.collect::<Vec<_>>().join(", ")
    )
}
