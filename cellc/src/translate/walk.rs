//! The walk over the nodes of a graph.

use std::collections::HashMap;

use super::cut::between;
use super::refusal::Refusal;
use super::translator::{LoopForm, TranslateInput, Translator};
use crate::core::{CoreModel, Known, LayerPlace, ResultValue};
use crate::diagnostic::Diagnostics;
use crate::model::limits::MOST_VISITED;
use crate::model::{Model, Node, Op};
use crate::rules::input_sizes::InputSizes;
use crate::rules::size_limits::interface_size;
use crate::rules::step_facts::StepFacts;

/// Translates a model whose inputs have known sizes to core operations. Returns no model after an
/// error or for a part of a model.
pub(crate) fn translate<'a>(
    context: TranslateInput<'a>,
    inputs: &InputSizes,
    diagnostics: &mut Diagnostics,
) -> (Option<CoreModel>, StepFacts<'a>) {
    let Model { name, files, code_rate, .. } = context.model;
    let without_nodes = CoreModel {
        name: name.clone(),
        files: files.clone(),
        code_rate: *code_rate,
        ..CoreModel::default()
    };
    let mut translator = Translator::new(context, inputs, without_nodes, diagnostics);
    let translated = translator.translated();
    let Translator { mut core, mut steps, .. } = translator;
    steps.history = std::mem::take(&mut core.history);
    let core = core.finish();
    (translated.map(|()| core), steps)
}

impl<'a> Translator<'_, 'a> {
    /// Translates the model. `None` after an error.
    fn translated(&mut self) -> Option<()> {
        self.parameters();
        interface_size(self.model, &self.core.model, self.diagnostics)?;
        self.operations()?;
        self.add_length_outputs();
        self.warn_of_unused_max_steps();
        Some(())
    }

    /// Translates every operation of the model and collects the results. `None` after an error.
    fn operations(&mut self) -> Option<()> {
        let mut results: HashMap<usize, ResultValue> = HashMap::new();
        self.graph(|this, index, node| {
            if let Some(result) = this.result(node) {
                results.insert(index, result);
            }
        });
        self.assignments();
        if self.context.is_partial || self.diagnostics.has_errors() {
            return None;
        }
        assert_eq!(
            results.len(),
            self.model.results.len(),
            "translate: an output is missing and nothing was said"
        );
        self.core.model.results =
            self.model.results.iter().filter_map(|node| results.remove(node)).collect();
        Some(())
    }

    /// Visits every node of the graph in order. `result` handles the Results.
    pub(super) fn graph(&mut self, mut result: impl FnMut(&mut Self, usize, &'a Node)) {
        let model = self.model;
        let mut readers = vec![0usize; model.values.len()];
        model.nodes.iter().flat_map(|node| &node.inputs).for_each(|input| readers[input.0] += 1);
        let between = if self.depth == 0 { between(model) } else { Vec::new() };
        for (index, node) in model.nodes.iter().enumerate() {
            self.visited += 1;
            let outer = if self.depth == 0 { index } else { self.core.layer.path.outer };
            let args = self.operands(node);
            self.begin(&args, LayerPlace { outer, inner: index });
            if self.visited > MOST_VISITED && self.depth > 0 {
                self.bodies_too_large(node);
                return;
            }
            match &node.op {
                Op::Result => result(self, index, node),
                // the caller has set the tensors of Parameters
                Op::Parameter => {}
                // an unread constant is not checked: an empty tensor may stand for an omitted input
                Op::Constant(_) if readers[node.outputs[0].0] == 0 => {}
                _ if self.refuse_iteration_number(node)
                    || self.note_dynamic_length(node)
                    || self.reads_empty(node) => {}
                _ => self.operation(node),
            }
            self.current_length = None;
            if node.outputs.first().is_some_and(|output| between.get(output.0) == Some(&true)) {
                self.keep_for_cut(node);
            }
            // drops tensors after their last reader, as folded weights take much memory
            for input in &node.inputs {
                readers[input.0] -= 1;
                if readers[input.0] == 0 {
                    self.known[input.0] = None;
                }
            }
        }
    }

    fn bodies_too_large(&mut self, node: &'a Node) {
        let found = "loops of too many layers and iterations";
        let valid = format!(
            "{MOST_VISITED} layers or fewer, those of loops that are written out counted again \
             and again"
        );
        self.refuse(
            node,
            Refusal::new(found, valid, "let every iteration compute the same").once_per_model(),
        );
    }

    /// Refuses nodes that read the iteration number, as neither shapes nor kernels know the number.
    /// True if the node is refused.
    fn refuse_iteration_number(&mut self, node: &'a Node) -> bool {
        let reads = node
            .inputs
            .iter()
            .any(|input| matches!(self.known[input.0], Some(Known::Iteration(..))));
        if !reads || node.op == Op::ShapeOf {
            return false;
        }
        self.iteration_is_read(node);
        true
    }

    pub(super) fn iteration_is_read(&mut self, node: &'a Node) {
        self.loops.want(LoopForm::WrittenOut);
        let found = "the number of the iteration is read";
        let help =
            "rewrite the body so that every iteration computes the same from what it is given";
        self.refuse(node, Refusal::new(found, "a body that does not depend on it", help));
    }
}
