//! If. For a constant condition, the chosen branch takes the place of the node; for a run-time
//! condition, both branches are translated.

use super::elementwise::compute;
use super::operands::shapes_differ;
use super::refusal::Refusal;
use super::translator::Translator;
use crate::core::{Geometry, Known};
use crate::diagnostic::{Message, Problem, Setting, Severity, message, quoted};
use crate::model::{
    Branch, Comparison, ElementType, Elementwise, If, Logic, Node, Op, Primitive, ValueId,
    shape_text,
};
use crate::request::flag;
use crate::rules::names::parameter_names;

/// A condition that compares an input with a number.
struct Decision {
    /// The name of the input.
    input: String,
    number: f64,
    /// True if the condition holds for this number, false if for all other numbers.
    equal: bool,
}

impl<'a> Translator<'_, 'a> {
    /// Translates an If: one branch for a constant condition, both for a run-time condition.
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

    /// Translates both branches, and selects each output by the condition. The plan skips
    /// operations that only the branch not taken needs.
    fn choose_at_run_time(&mut self, node: &'a Node, choice: &'a If, condition: &Known) {
        let shape = self.core.shape_of(condition);
        if shape.iter().product::<usize>() != 1 || condition.element() != ElementType::Bool {
            let found = format!(
                "a condition of type {} and shape {}",
                condition.element().name(),
                shape_text(&shape)
            );
            self.refuse(
                node,
                Refusal::new(found, "one boolean", "compare numbers, and reduce what is several"),
            );
            return;
        }
        let Some(condition) =
            self.build(node, |core| Ok(core.view(condition, Geometry::reshaped(Vec::new()))?))
        else {
            return;
        };
        let branches =
            (self.side(node, &choice.then, true), self.side(node, &choice.otherwise, false));
        let (Some(then), Some(otherwise)) = branches else { return };
        let Some(()) = self.refuse_dynamic_lengths(node, &[&then[..], &otherwise[..]].concat())
        else {
            return;
        };
        for (port, (then, otherwise)) in then.into_iter().zip(otherwise).enumerate() {
            let shapes = [&then, &otherwise].map(|known| self.core.shape_of(known));
            if shapes[0] != shapes[1] {
                let valid = "branches whose outputs have the same shape";
                let help = self.one_branch(node, &shapes);
                self.refuse(node, shapes_differ(&shapes, valid, help));
                return;
            }
            let inputs = vec![condition.clone(), then, otherwise];
            let Some(chosen) = self.build(node, |core| compute(core, Primitive::Select, inputs))
            else {
                return;
            };
            self.set(node, port, chosen);
        }
    }

    /// Refuses an operation that the reader does not support. The operation may be needed, as no
    /// constant condition rules out its branch.
    pub(super) fn unread(&mut self, node: &Node, problem: &Problem) {
        self.refuse(node, problem.clone().into());
    }

    /// The results of one branch of a run-time condition. `holds`: the condition that selects the
    /// branch. Errors in the branch get the name of the branch, and the option that drops the
    /// branch.
    fn side(&mut self, node: &'a Node, branch: &'a Branch, holds: bool) -> Option<Vec<Known>> {
        let before = self.diagnostics.0.len();
        let results = self.branch(node, branch);
        if self.diagnostics.0.len() == before {
            return results;
        }
        let (side, way) = self.place_and_way(node, holds);
        for problem in
            self.diagnostics.0.iter_mut().skip(before).filter(|p| p.severity == Severity::Error)
        {
            problem.layer = Some(match problem.layer.take() {
                Some(layer) => format!("{layer}, {side}"),
                None => side.clone(),
            });
            let help = problem.help.take().into_iter().chain([way.clone()]);
            problem.help = Some(Message::joined(help, "; or "));
        }
        results
    }

    /// The name of a branch with its condition, and the advice to drop the branch by an option.
    fn place_and_way(&self, node: &Node, holds: bool) -> (String, Message) {
        let name = quoted(&node.name);
        let Some(Decision { input, number, equal }) =
            node.inputs.first().and_then(|&input| self.decides(input))
        else {
            let option = flag::CONST.setting();
            let branch = if holds { "then_branch" } else { "else_branch" };
            let way =
                message!("if an input decides which branch is taken, fix the input by {}", option);
            return (format!("in the {branch} of {name}"), way);
        };
        let name_of = quoted(&input);
        match equal == holds {
            true => {
                let option = flag::CONST.setting();
                let way = message!(
                    "leave the branch out: fix {} to another number than {} by \
                     {}",
                    name_of,
                    number.to_string(),
                    option
                );
                (format!("in the branch of {name} for {name_of} = {number}"), way)
            }
            false => {
                let bare = &name_of[1..name_of.len() - 1];
                let way = message!(
                    "leave the branch out, {}",
                    Setting::ConstantOf(bare.to_owned(), number)
                );
                (format!("in the branch of {name} for {name_of} other than {number}"), way)
            }
        }
    }

    /// The advice for branches with outputs of different shapes: the option that drops a branch, if
    /// an option does. `shapes`: first the shape for a condition that holds.
    fn one_branch(&self, node: &Node, shapes: &[Vec<usize>; 2]) -> Message {
        let Some(Decision { input, number, equal }) =
            node.inputs.first().and_then(|&input| self.decides(input))
        else {
            return "give the outputs of both branches the same shape, by padding for example"
                .into();
        };
        let name_of = quoted(&input);
        let bare = &name_of[1..name_of.len() - 1];
        let option = Setting::ConstantOf(bare.to_owned(), number);
        let [taken, other] =
            if equal { [&shapes[0], &shapes[1]] } else { [&shapes[1], &shapes[0]] };
        message!(
            "fix the input: {} gives {}, another number {}",
            option,
            shape_text(taken),
            shape_text(other)
        )
    }

    /// The input and the number that a condition compares. A condition that is an input is compared
    /// with 1. `None` for other conditions, and in bodies.
    fn decides(&self, condition: ValueId) -> Option<Decision> {
        if self.depth > 0 {
            return None;
        }
        let (mut made, mut equal) = (self.moved(condition)?, true);
        while made.op == Op::elementwise(Logic::Not) {
            (made, equal) = (self.moved(made.inputs[0])?, !equal);
        }
        let named = |at: usize| parameter_names(self.model, at).into_iter().next();
        let is = |node: &Node| {
            self.model.parameters.iter().find(|&&at| std::ptr::eq(node, &self.model.nodes[at]))
        };
        match made.op {
            Op::Parameter => {
                return Some(Decision { input: named(*is(made)?)?, number: 1.0, equal });
            }
            Op::Elementwise(Elementwise::Primitive(Primitive::Comparison(comparison))) => {
                match comparison {
                    Comparison::Equal => {}
                    Comparison::NotEqual => equal = !equal,
                    Comparison::Greater
                    | Comparison::GreaterEqual
                    | Comparison::Less
                    | Comparison::LessEqual => return None,
                }
            }
            _ => return None,
        }
        let sides = [self.moved(made.inputs[0])?, self.moved(made.inputs[1])?];
        let number = sides.iter().find_map(|side| match &side.op {
            Op::Constant(tensor) if tensor.len() == 1 => Some(tensor.get_f64(0)),
            _ => None,
        })?;
        let at = sides.into_iter().find_map(is)?;
        Some(Decision { input: named(*at)?, number, equal })
    }

    /// The node that computes a value, behind conversions, changes of shape and Gathers.
    fn moved(&self, mut value: ValueId) -> Option<&'a Node> {
        loop {
            let made = self.model.nodes.iter().find(|node| node.outputs.contains(&value))?;
            match made.op {
                Op::Convert
                | Op::Reshape { .. }
                | Op::Squeeze { .. }
                | Op::Unsqueeze
                | Op::Gather { .. } => {
                    value = made.inputs[0];
                }
                _ => return Some(made),
            }
        }
    }

    /// Translates a branch in place of the node. `None` after an error.
    fn branch(&mut self, node: &Node, branch: &'a Branch) -> Option<Vec<Known>> {
        let mut known: Vec<Option<Known>> = vec![None; branch.body.values.len()];
        for (&parameter, &input) in branch.body.parameters.iter().zip(&branch.inputs) {
            let value = branch.body.nodes[parameter].outputs[0];
            known[value.0] = self.input(node, input);
        }
        let (results, nodes) = self.body(&branch.body, known)?;
        self.core.nodes.extend(nodes);
        Some(results)
    }
}
