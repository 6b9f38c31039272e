//! If: the branch that is chosen takes the node's place.

use super::shape::Geometry;
use super::{Known, Validation};
use crate::diagnostic::Setting;
use crate::model::{Branch, ElementType, Elementwise, If, Node, Unread, shape_text};

impl<'a> Validation<'a> {
    pub(super) fn choose(&mut self, node: &'a Node, choice: &'a If) {
        let Some(condition) = self.input(node, 0) else { return };
        let Some(condition) = condition.tensor().filter(|tensor| tensor.len() == 1) else {
            self.choose_at_run_time(node, choice, &condition);
            return;
        };
        let branch = if condition.get_f64(0) != 0.0 { &choice.then } else { &choice.otherwise };
        let Some(results) = self.branch(node, branch) else { return };
        for (port, known) in results.into_iter().enumerate() {
            self.set(node, port, known);
        }
    }

    /// Both branches take the node's place, and of each output what the condition says is taken. What only one side wants the plan leaves to that side.
    fn choose_at_run_time(&mut self, node: &'a Node, choice: &'a If, condition: &Known) {
        let shape = self.shape_of(condition);
        if shape.iter().product::<usize>() != 1 || condition.element() != ElementType::Bool {
            let found = format!("a condition of type {} and shape {}", condition.element().name(), shape_text(&shape));
            self.error(node, &node.origin, found, "one boolean", "compare numbers, and reduce what is several");
            return;
        }
        let Some(condition) = self.view(node, condition, Geometry::reshaped(Vec::new())) else { return };
        self.at_run_time += 1;
        let branches = (self.branch(node, &choice.then), self.branch(node, &choice.otherwise));
        self.at_run_time -= 1;
        let (Some(then), Some(otherwise)) = branches else { return };
        for (port, (then, otherwise)) in then.into_iter().zip(otherwise).enumerate() {
            let shapes = [&then, &otherwise].map(|known| self.shape_of(known));
            if shapes[0] != shapes[1] {
                let valid = "branches whose outputs have the same shape";
                self.shapes_differ(node, &shapes, valid, "fix the input that decides between them, if there is one");
                return;
            }
            let inputs = vec![condition.clone(), then, otherwise];
            let Some(chosen) = self.computed(node, Elementwise::Select, inputs) else { return };
            self.set(node, port, chosen);
        }
    }

    /// Refuses what the reader did not know: something takes it, or may.
    pub(super) fn unread(&mut self, node: &Node, why: &Unread) {
        let mut help = why.help.clone();
        if self.at_run_time > 0 {
            let option = self.options.wording.of(Setting::Constant);
            help += &format!("; or, if an input decides whether it is taken, fix that input: {option}");
        }
        self.error(node, &node.origin, &why.found[..], &why.valid[..], help);
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
