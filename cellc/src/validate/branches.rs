//! If: the branch that is chosen takes the node's place.

use super::{Known, Validation};
use crate::model::{Branch, If, Node};

impl<'a> Validation<'a> {
    pub(super) fn choose(&mut self, node: &'a Node, choice: &'a If) {
        let Some(condition) = self.input(node, 0) else { return };
        let Some(condition) = condition.tensor().filter(|tensor| tensor.len() == 1) else {
            let found = "a condition that is known at run time only";
            let help = "fix the input that decides it, if there is one";
            self.error(node, &node.origin, found, "a condition of one element that is known when compiling", help);
            return;
        };
        let branch = if condition.get_f64(0) != 0.0 { &choice.then } else { &choice.otherwise };
        let Some(results) = self.branch(node, branch) else { return };
        for (port, known) in results.into_iter().enumerate() {
            self.set(node, port, known);
        }
    }

    /// Looks at a branch as if its operations stood in place of the node. `None` after an error.
    fn branch(&mut self, node: &Node, branch: &'a Branch) -> Option<Vec<Known>> {
        let mut known: Vec<Option<Known>> = vec![None; branch.body.values.len()];
        for (&parameter, &input) in branch.body.parameters.iter().zip(&branch.inputs) {
            let value = branch.body.nodes[parameter].outputs[0];
            known[value.0] = self.input(node, input);
        }
        let (results, nodes) = self.body(&branch.body, known)?;
        self.nodes.extend(nodes);
        Some(results)
    }
}
