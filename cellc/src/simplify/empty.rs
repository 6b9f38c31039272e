//! Tensors without elements, as a split into parts of 0 gives: constants that no operation reads
//! when the model runs.

use super::reduce::listed_axes;
use super::refusal::Refusal;
use super::translator::Translator;
use crate::core::{Known, broadcast, without_axes};
use crate::model::{Axes, Node, Op, Reduction, shape_text};

impl<'a> Translator<'_, 'a> {
    /// True if a node computes with a tensor without elements. The node is folded or refused.
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
        let known = known.clone();
        match self.of_empty(node) {
            Some(folded) => self.set(node, 0, folded),
            None => {
                let found = format!(
                    "an input of shape {}: a size of 0",
                    shape_text(&self.core.shape_of(&known))
                );
                let help = "correct the shape, or leave the layer out: there is nothing to compute";
                self.refuse(node, Refusal::new(found, "sizes of 1 or more", help));
            }
        }
        true
    }

    /// The result of an operation on tensors without elements; `None` where the operation has none.
    fn of_empty(&mut self, node: &'a Node) -> Option<Known> {
        let shapes: Vec<Vec<usize>> =
            self.inputs(node)?.iter().map(|known| self.core.shape_of(known)).collect();
        let element = self.model.values[node.outputs.first()?.0].element;
        let (shape, number) = match &node.op {
            Op::Elementwise(_) => (broadcast(shapes.iter().map(Vec::as_slice))?, 0.0),
            Op::Softmax { .. } => (shapes[0].clone(), 0.0),
            Op::MatMul { transpose_a, transpose_b } => {
                (product(&shapes, *transpose_a, *transpose_b)?, 0.0)
            }
            Op::Reduce { reduction, keep, .. } => {
                let given = if node.inputs.len() > 1 {
                    self.integers(node, 1, "the axes")?
                } else {
                    Vec::new()
                };
                let axes = self.rule(node, |_, args| listed_axes(args, &given, shapes[0].len()))?;
                (without_axes(&shapes[0], &axes, *keep), of_none(*reduction)?)
            }
            _ => return None,
        };
        if shape.contains(&0) {
            return self.empty(node, element, shape);
        }
        self.foldable(node, &shape, element)?;
        let count = shape.iter().product();
        Some(Known::floats(shape, &vec![number; count], element))
    }
}

/// The shape of a product of two tensors of matrices with an inner size of 0; `None` for vectors
/// and for shapes that do not fit.
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
fn of_none(reduction: Reduction) -> Option<f32> {
    match reduction {
        Reduction::Sum | Reduction::L1 | Reduction::L2 | Reduction::SumSquare => Some(0.0),
        Reduction::Product => Some(1.0),
        Reduction::Max | Reduction::LogSum | Reduction::LogSumExp => Some(f32::NEG_INFINITY),
        Reduction::Min => Some(f32::INFINITY),
        Reduction::Mean | Reduction::All | Reduction::Any => None,
    }
}
