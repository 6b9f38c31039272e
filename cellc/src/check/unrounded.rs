//! The warning about values of f16 and bf16, which are computed in f32.

use crate::diagnostic::Diagnostic;
use crate::model::{ElementType, Elements, Model, Node, Op, PoolKind, Reduction};

/// The warning about the first operation that computes values of f16 or bf16 in a call, bodies of
/// loops and branches included. Conversions have a warning of their own.
pub(crate) fn unrounded(model: &Model) -> Option<Diagnostic> {
    // by value: true if a call computes it, false if it is known when compiling
    let mut of_call = vec![false; model.values.len()];
    model.nodes.iter().find_map(|node| {
        let elements = node.op.facts().elements;
        let is_of_call = match node.op {
            Op::Parameter | Op::ReadValue { .. } | Op::Loop(_) | Op::If(_) => true,
            _ => elements != Elements::None && node.inputs.iter().any(|input| of_call[input.0]),
        };
        node.outputs.iter().for_each(|output| of_call[output.0] = is_of_call);
        match &node.op {
            Op::Loop(repeated) => unrounded(&repeated.body),
            Op::If(choice) => {
                unrounded(&choice.then.body).or_else(|| unrounded(&choice.otherwise.body))
            }
            op if keeps_format(op) => None,
            _ if !is_of_call || matches!(elements, Elements::None | Elements::Moved) => None,
            _ => of_node(model, node),
        }
    })
}

/// True if the type of the operands holds the outputs exactly. The outputs are elements of operands
/// or of variables, or results of a function with [`Elementwise::keeps_format`].
fn keeps_format(op: &Op) -> bool {
    match op {
        Op::TopK(_) | Op::OneHot(_) | Op::ReadValue { .. } | Op::Assign { .. } => true,
        Op::Pool(pool) => matches!(pool.kind, PoolKind::Max),
        Op::Reduce(reduce) => matches!(reduce.reduction, Reduction::Max | Reduction::Min),
        Op::Elementwise(function) => function.keeps_format(),
        _ => false,
    }
}

/// The warning about a node, if an output is of f16 or bf16.
fn of_node(model: &Model, node: &Node) -> Option<Diagnostic> {
    let elements = node.outputs.iter().map(|value| model.values[value.0].element);
    let mut short = elements.filter(|e| matches!(e, ElementType::F16 | ElementType::Bf16));
    let name = short.next()?.name();
    let found = format!(
        "values of {name} are computed in f32 and not rounded to {name}: results differ from \
         those of a program that rounds each of them"
    );
    Some(Diagnostic::warning(node.origin.clone(), found).layer(node.label()))
}
