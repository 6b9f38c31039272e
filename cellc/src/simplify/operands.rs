//! Inputs of operations that are axes, sizes and lists of integers.

use super::translator::Translator;
use crate::check::shape::{LONGEST_LIST, verb};
use crate::core::{Known, counted};
use crate::diagnostic::Message;
use crate::model::{Node, shape_text};

impl Translator<'_, '_> {
    /// The index of an axis; a negative axis counts from the end. `None` after an error.
    pub(crate) fn axis(&mut self, node: &Node, axis: i64, rank: usize) -> Option<usize> {
        let found = counted(axis, rank);
        if found.is_none() {
            let valid = match rank {
                0 => "a tensor of one dimension or more".to_owned(),
                _ => format!("{} to {}", -(rank as i64), rank - 1),
            };
            let origin = node.attribute_origin(node.spelling.axis);
            let found = format!("the axis {axis} of a tensor of {rank} dimensions");
            self.error(node, origin, found, valid, "correct the axis, or the shape of the tensor");
        }
        found
    }

    /// The integers of a constant input. `None` after an error, also for computed inputs.
    pub(crate) fn integers(&mut self, node: &Node, port: usize, what: &str) -> Option<Vec<i64>> {
        let known = self.input(node, port)?;
        let tensor = match &known {
            Known::Constant(tensor, element) if !element.is_float() => tensor,
            Known::Constant(_, element) => {
                let found = format!("{what} {} of type {}", verb(what), element.name());
                self.error(node, &node.origin, found, "integers", "convert them to i64");
                return None;
            }
            Known::Source(..) | Known::Iteration(..) => {
                let found = format!("{what} {} computed at run time", verb(what));
                let valid = "integers that are known when compiling";
                let help = "connect a constant, or compute it from shapes that are known";
                self.error(node, &node.origin, found, valid, help);
                return None;
            }
        };
        if tensor.len() > LONGEST_LIST {
            let found = format!("{} numbers as {what}", tensor.len());
            self.error(
                node,
                &node.origin,
                found,
                format!("{LONGEST_LIST} or fewer"),
                "split the layer",
            );
            return None;
        }
        (0..tensor.len()).map(|i| tensor.get_i64(i)).collect()
    }

    /// The integer of a constant input with one element. `None` after an error.
    pub(crate) fn integer(&mut self, node: &Node, port: usize, what: &str) -> Option<i64> {
        let list = self.integers(node, port, what)?;
        if let [one] = list[..] {
            return Some(one);
        }
        let found = format!("{} numbers as {what}", list.len());
        self.error(node, &node.origin, found, "one", "connect a scalar");
        None
    }

    /// Refuses inputs with different shapes.
    pub(crate) fn shapes_differ(
        &mut self,
        node: &Node,
        shapes: &[Vec<usize>],
        valid: &str,
        help: impl Into<Message>,
    ) {
        let texts: Vec<String> = shapes.iter().take(8).map(|shape| shape_text(shape)).collect();
        let found = format!("inputs of the shapes {}", texts.join(", "));
        self.error(node, &node.origin, found, valid, help);
    }
}
