//! Tensors without elements, such as the outputs of a split with parts of length 0. These tensors
//! are constants that no run-time operation reads.

use super::operands::Operands;
use super::reduce::listed_axes;
use super::refusal::{Refusal, Rule};
use super::translator::Translator;
use crate::core::{CoreBuilder, Known, broadcast, without_axes};
use crate::model::{Axes, Node, Op, Reduce, Reduction, shape_text};

impl<'a> Translator<'_, 'a> {
    /// True if a node computes with a tensor of floats without elements. The node is then folded or
    /// refused.
    pub(super) fn reads_empty(&mut self, node: &'a Node) -> bool {
        let is_empty = |known: &Known| {
            known.element().is_float()
                && known.tensor().is_some_and(|tensor| tensor.shape().contains(&0))
        };
        let moves = match node.op.facts().axes {
            Axes::Same | Axes::Sizes | Axes::Joined | Axes::Split | Axes::Sliced => true,
            Axes::Masked(_) | Axes::Reshaped | Axes::Removed | Axes::Inserted => true,
            Axes::Permuted => true,
            _ => matches!(node.op, Op::If(_)),
        };
        let mut inputs = node.inputs.iter().filter_map(|input| self.known[input.0].as_ref());
        let Some(known) = inputs.find(|known| is_empty(known)).filter(|_| !moves) else {
            return false;
        };
        let found =
            format!("an input of shape {}: a size of 0", shape_text(&self.core.shape_of(known)));
        let output = self.rule(node, |core, args| match result_of_none(core, args)? {
            Some(known) => Ok(vec![known]),
            None => {
                let help = "correct the shape, or leave the layer out: there is nothing to compute";
                Err(Refusal::new(found, "sizes of 1 or more", help))
            }
        });
        self.set_all(node, output);
        true
    }
}

/// The result of an operation on tensors without elements. `Ok(None)` if the operation has no
/// result, or none that cellc computes.
fn result_of_none(core: &mut CoreBuilder, args: &Operands) -> Rule<Option<Known>> {
    let shapes: Vec<Vec<usize>> = args.all()?.iter().map(|known| core.shape_of(known)).collect();
    let result = match &args.node.op {
        Op::Elementwise(_) => broadcast(shapes.iter().map(Vec::as_slice)).zip(Some(0.0)),
        Op::Softmax(_) => Some((shapes[0].clone(), 0.0)),
        Op::MatMul { transpose_a, transpose_b } => {
            product(&shapes, *transpose_a, *transpose_b).zip(Some(0.0))
        }
        Op::Reduce(Reduce { reduction, keep, .. }) => {
            let given = if args.len() > 1 { args.integers(1, "the axes")? } else { Vec::new() };
            let axes = listed_axes(args, &given, shapes[0].len())?;
            Some(without_axes(&shapes[0], &axes, *keep)).zip(reduction_of_none(*reduction))
        }
        _ => None,
    };
    let Some((shape, number)) = result else { return Ok(None) };
    if shape.contains(&0) {
        return Ok(Some(core.empty(args.element(), shape)?));
    }
    core.foldable(&shape, args.element())?;
    let count = shape.iter().product();
    Ok(Some(Known::floats(shape, &vec![number; count], args.element())))
}

/// The shape of a product of matrices with an inner size of 0. `None` for vectors and for shapes
/// that do not fit.
fn product(shapes: &[Vec<usize>], transpose_a: bool, transpose_b: bool) -> Option<Vec<usize>> {
    let [a, b] = shapes else { return None };
    let (a_batch, [a_rows, a_columns]) = a.split_last_chunk()?;
    let (b_batch, [b_rows, b_columns]) = b.split_last_chunk()?;
    let (rows, inner) = if transpose_a { (a_columns, a_rows) } else { (a_rows, a_columns) };
    let (b_inner, columns) = if transpose_b { (b_columns, b_rows) } else { (b_rows, b_columns) };
    let mut shape = broadcast([a_batch, b_batch]).filter(|_| inner == b_inner)?;
    shape.extend([rows, columns]);
    Some(shape)
}

/// The reduction of no elements; `None` if undefined.
fn reduction_of_none(reduction: Reduction) -> Option<f32> {
    match reduction {
        Reduction::Sum | Reduction::L1 | Reduction::L2 | Reduction::SumSquare => Some(0.0),
        Reduction::Product => Some(1.0),
        Reduction::Max | Reduction::LogSum | Reduction::LogSumExp => Some(f32::NEG_INFINITY),
        Reduction::Min => Some(f32::INFINITY),
        Reduction::Mean | Reduction::All | Reduction::Any => None,
    }
}
