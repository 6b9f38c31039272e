//! The translation of a model to core operations: the tensors of the current graph, and the core
//! model under construction. The rules for operations are in the other files.

use std::collections::HashMap;

use super::operands::Operands;
use super::refusal::{Refusal, Rule};
use crate::core::{
    CoreBuilder, CoreModel, CoreNode, DynamicLength, Known, Layer, LayerPlace, Source,
};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::encoding::WeightFormat;
use crate::model::{Model, Node, Op, Tensor, ValueId, shape_text};
use crate::request::Options;
use crate::rules::input_sizes::InputSizes;
use crate::rules::shape::admits_shape;
use crate::rules::step_facts::StepFacts;

/// The model to translate and its options.
#[derive(Clone, Copy)]
pub(crate) struct TranslateInput<'a> {
    pub(crate) model: &'a Model,
    pub(crate) options: &'a Options,
    /// True if only a part of the model was read.
    pub(crate) is_partial: bool,
}

/// A form of a loop other than one body for all iterations. The later form takes precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LoopForm {
    /// Unrolled iterations.
    WrittenOut,
    /// A loop whose number of iterations depends on a run-time condition.
    Conditional,
}

/// The forms that the loops of a model need.
#[derive(Clone, Copy, Default)]
pub(super) struct LoopForms {
    /// The form that may succeed where a form of the current loop has failed. `None` before a form
    /// has failed, and if every form would fail.
    pub(super) wanted: Option<LoopForm>,
    /// True if a loop takes its upper limit from the options.
    pub(super) needs_max_steps: bool,
}

impl LoopForms {
    /// Notes that the current loop needs a form.
    pub(super) fn want(&mut self, form: LoopForm) {
        self.wanted = self.wanted.max(Some(form));
    }
}

/// The variables that nodes of the model read and assign.
#[derive(Default)]
pub(super) struct Variables<'a> {
    /// By name: the index into [`CoreModel::variables`].
    pub(super) read: HashMap<&'a str, usize>,
    /// The name, the node and the tensor of each Assign.
    pub(super) assigned: Vec<(&'a str, &'a Node, Option<Known>)>,
}

/// The translation of a model to core operations.
pub(super) struct Translator<'c, 'a> {
    pub(super) context: TranslateInput<'a>,
    /// The current graph: the model, or the body of a loop or a branch.
    pub(super) model: &'a Model,
    pub(super) inputs: &'c InputSizes,
    /// The tensors of the current graph, by value. `None`: the node of the value has not been
    /// translated or had an error, or the last reader of the value has been translated.
    pub(super) known: Vec<Option<Known>>,
    /// The core model so far.
    pub(super) core: CoreBuilder,
    /// The nesting depth of loops and branches.
    pub(super) depth: usize,
    /// The number of visited nodes. Nodes of bodies count each time that they are translated: in
    /// unrolled loops once per iteration.
    pub(super) visited: usize,
    pub(super) loops: LoopForms,
    /// The run-time length of the outputs of the current operation.
    pub(super) current_length: Option<DynamicLength>,
    /// Values whose end a slice may drop, with the operands of their nodes.
    pub(super) cuttable: HashMap<ValueId, Operands<'a>>,
    /// The variables that ReadValue and Assign name.
    pub(super) variables: Variables<'a>,
    pub(super) steps: StepFacts<'a>,
    pub(super) diagnostics: &'c mut Diagnostics,
}

impl<'c, 'a> Translator<'c, 'a> {
    /// The state of a translation before the first node.
    pub(super) fn new(
        context: TranslateInput<'a>,
        inputs: &'c InputSizes,
        core: CoreModel,
        diagnostics: &'c mut Diagnostics,
    ) -> Self {
        Self {
            context,
            model: context.model,
            inputs,
            known: vec![None; context.model.values.len()],
            core: CoreBuilder::new(
                core,
                context.options.machine.target.memory.most_elements,
                inputs.open.is_some(),
            ),
            depth: 0,
            visited: 0,
            loops: LoopForms::default(),
            current_length: None,
            cuttable: HashMap::new(),
            variables: Variables::default(),
            steps: StepFacts::default(),
            diagnostics,
        }
    }

    /// Makes a node the layer of the next operations.
    pub(super) fn begin(&mut self, args: &Operands, node_path: LayerPlace) {
        let node = args.node;
        let is_integer =
            |known: &Known| matches!(known, Known::Source(..)) && !known.element().is_float();
        let becomes_float = args.known.iter().flatten().any(is_integer)
            && node.outputs.first().is_some_and(|output| self.becomes_float(*output));
        let precision = self.context.options.numerics.precision_in(&node.name);
        let given = args.known.iter().flatten().filter_map(Known::tensor);
        self.core.layer = Layer {
            name: node.name.clone(),
            kind: node.operator().to_owned(),
            ledger: node.ledger.clone(),
            path: node_path,
            is_outermost: self.depth == 0,
            most_given: given.map(Tensor::len).fold(0, usize::saturating_add),
            becomes_float,
            is_quantised: precision.stored() != WeightFormat::F32,
        };
    }

    /// Tries one translation of several. A translation that ends in `Err` leaves no operation and
    /// no diagnostic behind.
    pub(super) fn speculate<T, E>(
        &mut self,
        attempt: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let (diagnostics, core) = (self.diagnostics.0.len(), self.core.checkpoint());
        let most_lengths = self.steps.most_lengths;
        let result = attempt(self);
        if result.is_err() {
            self.diagnostics.0.truncate(diagnostics);
            self.steps.layers.retain(|&value, _| value < core.values);
            self.steps.most_lengths = most_lengths;
            self.core.roll_back(core);
        }
        result
    }

    /// Appends the operations that `add` emits to a body, and returns the body.
    pub(super) fn appended<T>(
        &mut self,
        body: Vec<CoreNode>,
        add: impl FnOnce(&mut Self) -> T,
    ) -> (T, Vec<CoreNode>) {
        let outside = self.core.swap_nodes(body);
        let result = add(self);
        (result, self.core.swap_nodes(outside))
    }

    /// The tensor of a node's input. `None` for a missing input or after an error.
    pub(super) fn input(&self, node: &Node, port: usize) -> Option<Known> {
        self.known[node.inputs.get(port)?.0].clone()
    }

    /// The tensors of all inputs of a node. `None` after an error in one of them.
    pub(super) fn inputs(&self, node: &Node) -> Option<Vec<Known>> {
        (0..node.inputs.len()).map(|port| self.input(node, port)).collect()
    }

    /// A node with its operands.
    pub(super) fn operands<'n>(&self, node: &'n Node) -> Operands<'n>
    where
        'a: 'n,
    {
        Operands {
            node,
            known: (0..node.inputs.len()).map(|port| self.input(node, port)).collect(),
            model: self.model,
        }
    }

    /// Applies a rule to the operands of a node. `None` after the report of an error.
    pub(super) fn rule<T>(
        &mut self,
        node: &'a Node,
        rule: impl FnOnce(&mut CoreBuilder, &Operands) -> Rule<T>,
    ) -> Option<T> {
        let operands = self.operands(node);
        self.build(node, |core| rule(core, &operands))
    }

    /// Builds a part of the translation of a node. `None` after the report of an error.
    pub(super) fn build<T>(
        &mut self,
        node: &'a Node,
        rule: impl FnOnce(&mut CoreBuilder) -> Rule<T>,
    ) -> Option<T> {
        let built = rule(&mut self.core);
        for value in self.core.take_layer_values() {
            self.steps.layers.insert(value, node);
        }
        built.map_err(|refusal| self.refuse(node, refusal)).ok()
    }

    /// Sets the tensor of a node's output.
    pub(super) fn set(&mut self, node: &Node, port: usize, known: Known) {
        let Some(output) = node.outputs.get(port) else { return };
        self.check_stated(node, *output, &self.core.shape_of(&known));
        if let (Some(length), Known::Source(Source::Value(value), _)) =
            (self.current_length, &known)
            && !matches!(node.op, Op::ShapeOf)
        {
            self.core.facts.lengths.insert(*value, length);
        }
        self.known[output.0] = Some(known);
    }

    /// Sets the tensors of a node's outputs, in order. Sets nothing if `outputs` is `None`.
    pub(super) fn set_all(&mut self, node: &Node, outputs: Option<Vec<Known>>) {
        for (port, known) in outputs.into_iter().flatten().enumerate() {
            self.set(node, port, known);
        }
    }

    /// Reports the refusal of a node.
    pub(super) fn refuse(&mut self, node: &Node, refusal: Refusal) {
        if let Some(diagnostic) = refusal.diagnostic(node, self.diagnostics) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Warns of a node.
    pub(super) fn warn(&mut self, node: &Node, found: String) {
        let warning = Diagnostic::warning(node.origin.clone(), found).layer(node.label());
        self.diagnostics.push(warning);
    }

    /// Warns if the shape of a tensor differs from the shape that the model states.
    pub(super) fn check_stated(&mut self, node: &Node, output: ValueId, shape: &[usize]) {
        let value = &self.model.values[output.0];
        let Some(stated) = &value.shape else { return };
        if !admits_shape(stated, shape) && !shape.contains(&0) {
            let found = format!(
                "the output has the shape {} in the model, but the computed shape is {shape:?}, \
                 which is used",
                shape_text(stated)
            );
            self.diagnostics
                .push(Diagnostic::warning(value.origin.clone(), found).layer(node.label()));
        }
    }
}
