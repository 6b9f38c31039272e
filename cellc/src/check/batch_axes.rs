//! The axes of inputs that count the rows of a batch, known or assumed.

use crate::model::{AxisName, Branch, Dim, Elements, Loop, Model, Op};
use crate::rules::cell::{CellPort, roles};
use crate::rules::input_sizes::{BatchAxes, SequenceAxes};
use crate::rules::names::parameter_names;

/// True if the name of a size means the rows of a batch. `n` and `b` also name other sizes: behind
/// a first axis of size 1, the two letters mean no batch.
fn names_batch(name: &str, shape: &[Dim], axis: usize) -> bool {
    let name = name.to_ascii_lowercase();
    match &name[..] {
        "n" | "b" => axis == 0 || shape[0] != Dim::Fixed(1),
        "bs" => true,
        _ => name.contains("batch") && !name.contains("len"),
    }
}

/// Prefixes of the names that converters give to unknown sizes: tf2onnx, keras2onnx and skl2onnx,
/// paddle2onnx. The first axis of an input is the batch in their frameworks.
const NAMED_BY_CONVERTERS: [&str; 3] = ["unk__", "None", "DynamicDimension."];

/// True if a converter has made the name of a size.
fn named_by_converter(name: &str) -> bool {
    NAMED_BY_CONVERTERS.iter().any(|prefix| name.starts_with(prefix))
}

/// True if the name of a size means steps.
pub(crate) fn names_steps(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let word = |word: &&str| name.contains(*word);
    let is_batch = name.contains("batch");
    !is_batch && (name == "t" || ["step", "time", "seq", "frame", "sample", "len"].iter().any(word))
}

/// The batch axes of each parameter. `sequences`: by parameter, the axes that a sequence reads.
pub(super) fn batch_axes(model: &Model, sequences: &[Option<SequenceAxes>]) -> Vec<BatchAxes> {
    let mut reads = vec![Reads::default(); model.parameters.len()];
    let mut root: Vec<Option<usize>> = vec![None; model.values.len()];
    for (index, &node) in model.parameters.iter().enumerate() {
        root[model.nodes[node].outputs[0].0] = Some(index);
    }
    follow(model, root, &mut reads);
    let axes_of = |(index, reads): (usize, Reads)| {
        let is_state = reads.as_state && !reads.otherwise;
        let value = &model.values[model.nodes[model.parameters[index]].outputs[0].0];
        let shape = value.shape.as_deref().unwrap_or_default();
        let names = parameter_names(model, model.parameters[index]);
        let open: Vec<usize> =
            (0..shape.len()).filter(|&axis| matches!(shape[axis], Dim::Dynamic { .. })).collect();
        let is_named = |axis: usize, says: &dyn Fn(&str) -> bool| {
            let of_axis =
                |axes_of: &&AxisName| axes_of.axis == axis && names.contains(&axes_of.input);
            model.axis_names.iter().any(|axes_of| of_axis(&axes_of) && says(&axes_of.name))
        };
        let is_batch = |axis: &&usize| is_named(**axis, &|name| names_batch(name, shape, **axis));
        let named: Vec<usize> = open.iter().filter(is_batch).copied().collect();
        let first_is = |says: &dyn Fn(&str) -> bool| open.contains(&0) && is_named(0, says);
        let (axes, is_known) = match (&open[..], sequences[index]) {
            _ if !named.is_empty() => (named, true),
            // a state: [D, N, H] or [N, H]
            ([axis], _) if is_state && axis + 1 < shape.len() => (vec![*axis], true),
            (_, Some(axes)) => (vec![axes.rows], true),
            (_, None) if first_is(&names_steps) => (Vec::new(), true),
            (_, None) => (vec![0], first_is(&named_by_converter)),
        };
        BatchAxes { axes, is_known, is_state }
    };
    reads.into_iter().enumerate().map(axes_of).collect()
}

/// How operations read a parameter, directly or after operations that move or map its elements.
#[derive(Clone, Copy, Default)]
struct Reads {
    /// True if a recurrent operator reads the parameter as an initial state.
    as_state: bool,
    /// True if any operation reads the parameter for another purpose.
    otherwise: bool,
}

/// Notes in `found` how a graph reads each parameter. `root`: by value, the source of its elements
/// among the parameters. Returns the source of each result.
fn follow(model: &Model, mut root: Vec<Option<usize>>, found: &mut [Reads]) -> Vec<Option<usize>> {
    for node in &model.nodes {
        let roots: Vec<Option<usize>> = node.inputs.iter().map(|value| root[value.0]).collect();
        match &node.op {
            Op::Result => {}
            Op::If(choice) => {
                for branch in [&choice.then, &choice.otherwise] {
                    let results = follow_branch(branch, &roots, found);
                    for (output, parameter) in node.outputs.iter().zip(results) {
                        root[output.0] = root[output.0].or(parameter);
                    }
                }
            }
            Op::Loop(body) => follow_loop(body, &roots, found),
            op if op.facts().elements == Elements::None => {}
            op if moves_one(op, &roots) => {
                let parameter = roots.iter().copied().flatten().next();
                node.outputs.iter().for_each(|output| root[output.0] = parameter);
            }
            op => note_reads(op, &roots, found),
        }
    }
    model.results.iter().map(|&result| root[model.nodes[result].inputs[0].0]).collect()
}

/// Notes in `found` how a branch of an If reads each parameter. `roots`: by input of the If, the
/// source of its elements among the parameters. Returns the source of each result.
fn follow_branch(
    branch: &Branch,
    roots: &[Option<usize>],
    found: &mut [Reads],
) -> Vec<Option<usize>> {
    let mut inner = vec![None; branch.body.values.len()];
    for (&parameter, &input) in branch.body.parameters.iter().zip(&branch.inputs) {
        inner[branch.body.nodes[parameter].outputs[0].0] = roots.get(input).copied().flatten();
    }
    follow(&branch.body, inner, found)
}

/// Notes in `found` how the body of a loop reads each parameter. `roots`: by input of the loop, the
/// source of its elements among the parameters.
fn follow_loop(body_loop: &Loop, roots: &[Option<usize>], found: &mut [Reads]) {
    let mut inner = vec![None; body_loop.body.values.len()];
    for input in &body_loop.inputs {
        let parameter = roots.get(input.input).copied().flatten();
        if input.slice.is_some() {
            parameter.into_iter().for_each(|sliced| found[sliced].otherwise = true);
        } else if let Some(value) = body_loop.parameter(input.parameter) {
            inner[value.0] = parameter;
        }
    }
    follow(&body_loop.body, inner, found);
}

/// True if an operation moves or maps the elements of at most one parameter. `roots`: by port, the
/// source of the operand's elements among the parameters.
fn moves_one(op: &Op, roots: &[Option<usize>]) -> bool {
    let moves = matches!(op.facts().elements, Elements::Moved | Elements::Elementwise { .. });
    moves && roots.iter().flatten().count() < 2
}

/// Notes the purposes of an operation's operands. `roots`: by port, the source of the operand's
/// elements among the parameters.
fn note_reads(op: &Op, roots: &[Option<usize>], found: &mut [Reads]) {
    let roles = roles(op, roots.len()).unwrap_or_default();
    for (port, root) in roots.iter().enumerate() {
        let Some(parameter) = *root else { continue };
        match roles.get(port) {
            Some(CellPort::H | CellPort::C) => found[parameter].as_state = true,
            _ => found[parameter].otherwise = true,
        }
    }
}
