//! The translation of a model to core operations: the tensors of the walk over its nodes, and the
//! core model under construction. The rules for operations stand in the other files.

use std::collections::HashMap;

use super::operands::all_exact;
use super::operands::{Operands, all_floats};
use super::refusal::{Refusal, Rule};
use crate::check::Subject;
use crate::check::input_sizes::InputSizes;
use crate::check::shape::admits_shape;
use crate::check::step_facts::StepFacts;
use crate::core::{
    Built, CoreBuilder, CoreModel, CoreNode, DynamicLength, Geometry, Known, Layer, LayerPlace,
    Source,
};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::encoding::WeightFormat;
use crate::model::{ElementType, Model, Node, Op, Tensor, ValueId, shape_text};

/// Loops that cannot stay loops.
#[derive(Clone, Copy, Default)]
pub(super) struct LoopForms {
    /// True if a loop failed because of its form, not because of its body.
    pub(super) wants_unrolling: bool,
    /// True if a loop failed because of its run-time condition.
    pub(super) wants_condition: bool,
    /// True if a loop takes its upper limit from the options.
    pub(super) needs_max_steps: bool,
}

/// A node with an output to shorten by a slice, and the tensors read by the node.
#[derive(Clone)]
pub(super) struct Cuttable<'a> {
    pub(super) node: &'a Node,
    pub(super) inputs: Vec<Option<Known>>,
}

/// The variables of a model, in the order of the first reads.
#[derive(Default)]
pub(super) struct Variables<'a> {
    /// By name, the index into the list of the valid model.
    pub(super) read: HashMap<&'a str, usize>,
    /// The name, the node and the tensor of each Assign.
    pub(super) assigned: Vec<(&'a str, &'a Node, Option<Known>)>,
}

/// The translation of a model to core operations.
pub(super) struct Translator<'c, 'a> {
    pub(super) subject: Subject<'a>,
    /// The current graph: the model, or the body of a loop.
    pub(super) model: &'a Model,
    pub(super) inputs: &'c InputSizes,
    /// By value of the current graph; `None` before its node, after its last reader, or after an
    /// error.
    pub(super) known: Vec<Option<Known>>,
    /// The core model so far.
    pub(super) core: CoreBuilder,
    /// The nesting depth of loops.
    pub(super) depth: usize,
    /// The number of visited nodes; nodes of bodies count once per iteration.
    pub(super) visited: usize,
    pub(super) loops: LoopForms,
    /// The run-time length of the outputs of the current operation.
    pub(super) current_length: Option<DynamicLength>,
    /// Values with an end that a slice may remove.
    pub(super) cuttable: HashMap<ValueId, Cuttable<'a>>,
    /// The variables that ReadValue and Assign name.
    pub(super) variables: Variables<'a>,
    pub(super) steps: &'c mut StepFacts<'a>,
    pub(super) diagnostics: &'c mut Diagnostics,
}

impl<'c, 'a> Translator<'c, 'a> {
    /// A translation before its first node.
    pub(super) fn new(
        subject: Subject<'a>,
        inputs: &'c InputSizes,
        steps: &'c mut StepFacts<'a>,
        core: CoreModel,
        diagnostics: &'c mut Diagnostics,
    ) -> Self {
        Self {
            subject,
            model: subject.model,
            inputs,
            known: vec![None; subject.model.values.len()],
            core: CoreBuilder::new(
                core,
                subject.options.machine.target.memory.most_elements,
                inputs.open.is_some(),
            ),
            depth: 0,
            visited: 0,
            loops: LoopForms::default(),
            current_length: None,
            cuttable: HashMap::new(),
            variables: Variables::default(),
            steps,
            diagnostics,
        }
    }

    /// Makes a node the layer of the next operations.
    pub(super) fn begin(&mut self, node: &Node, place: LayerPlace) {
        let is_integer =
            |known: &Known| matches!(known, Known::Source(..)) && !known.element().is_float();
        let mut operands = node.inputs.iter().filter_map(|input| self.known[input.0].as_ref());
        let becomes_float = operands.any(is_integer)
            && node.outputs.first().is_some_and(|output| self.becomes_float(*output));
        let precision = self.subject.options.numerics.precision_in(&node.name);
        let given = node.inputs.iter().filter_map(|input| self.known[input.0].as_ref()?.tensor());
        self.core.layer = Layer {
            name: node.name.clone(),
            kind: node.kind.split(',').next().unwrap_or_default().to_owned(),
            ledger: node.ledger.clone(),
            place,
            most_given: given.map(Tensor::len).fold(0, usize::saturating_add),
            becomes_float,
            is_quantised: precision.stored() != WeightFormat::F32,
        };
    }

    /// Runs one attempt of several. An attempt that ends in `Err` leaves nothing behind but the
    /// work that it spent.
    pub(super) fn speculate<T, E>(
        &mut self,
        attempt: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let (diagnostics, core) = (self.diagnostics.0.len(), self.core.checkpoint());
        let (lookbacks, most_lengths, short_of) =
            (self.steps.lookbacks.len(), self.steps.most_lengths, self.steps.short_of);
        let result = attempt(self);
        if result.is_err() {
            self.diagnostics.0.truncate(diagnostics);
            self.steps.layers.retain(|&value, _| value < core.values);
            self.steps.lookbacks.truncate(lookbacks);
            (self.steps.most_lengths, self.steps.short_of) = (most_lengths, short_of);
            self.core.roll_back(core);
        }
        result
    }

    /// Appends the operations of `add` to a body, and returns the body.
    pub(super) fn appended<T>(
        &mut self,
        body: Vec<CoreNode>,
        add: impl FnOnce(&mut Self) -> T,
    ) -> (T, Vec<CoreNode>) {
        let outside = self.core.swap_nodes(body);
        let result = add(self);
        (result, self.core.swap_nodes(outside))
    }

    /// The tensor of a node's input. `None` after an error.
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
        for product in self.core.take_products() {
            self.steps.layers.insert(product, node);
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

    /// A part of the core model; `None` after the report of an error.
    pub(super) fn built<T>(&mut self, node: &Node, built: Built<T>) -> Option<T> {
        built.map_err(|error| self.refuse(node, Refusal::from(error))).ok()
    }

    /// Reports the refusal of a node.
    pub(super) fn refuse(&mut self, node: &Node, refusal: Refusal) {
        if let Some(diagnostic) = refusal.diagnostic(node, self.diagnostics) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Refuses a shape above the limit for computed values.
    pub(super) fn computable(&mut self, node: &Node, shape: &[usize]) -> Option<()> {
        let built = self.core.computable(shape);
        self.built(node, built)
    }

    pub(super) fn empty(
        &mut self,
        node: &Node,
        element: ElementType,
        shape: Vec<usize>,
    ) -> Option<Known> {
        let built = self.core.empty(element, shape);
        self.built(node, built)
    }

    /// Refuses a shape above the limit for operations on constants.
    pub(super) fn foldable(
        &mut self,
        node: &Node,
        shape: &[usize],
        element: ElementType,
    ) -> Option<()> {
        let built = self.core.foldable(shape, element);
        self.built(node, built)
    }

    pub(super) fn folds(&mut self, node: &Node, count: usize, element: ElementType) -> Option<()> {
        let built = self.core.folds(count, element);
        self.built(node, built)
    }

    pub(super) fn affords(&mut self, node: &Node, elements: usize) -> Option<()> {
        let built = self.core.affords(elements);
        self.built(node, built)
    }

    pub(super) fn view(&mut self, node: &Node, input: &Known, geometry: Geometry) -> Option<Known> {
        let built = self.core.view(input, geometry);
        self.built(node, built)
    }

    /// Reports a promise of the model about a tensor that does not hold.
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

    /// The source of a tensor; adds constants to the list. `None` for the number of an iteration,
    /// after a report.
    pub(super) fn source(&mut self, known: &Known) -> Option<Source> {
        self.core.source(known).ok()
    }

    /// Refuses integer or boolean tensors computed at run time.
    pub(super) fn all_floats(&mut self, node: &Node, inputs: &[Known]) -> Option<()> {
        all_floats(inputs).map_err(|refusal| self.refuse(node, refusal)).ok()
    }

    /// Refuses constants that f32 does not hold exactly.
    pub(super) fn all_exact(&mut self, node: &Node, inputs: &[Known]) -> Option<()> {
        all_exact(inputs).map_err(|refusal| self.refuse(node, refusal)).ok()
    }

    /// The integers of a constant input. `None` after an error, also for computed inputs.
    pub(super) fn integers(&mut self, node: &Node, port: usize, what: &str) -> Option<Vec<i64>> {
        let integers = self.operands(node).integers(port, what);
        integers.map_err(|refusal| self.refuse(node, refusal)).ok()
    }

    /// The integer of a constant input with one element. `None` after an error.
    pub(super) fn integer(&mut self, node: &Node, port: usize, what: &str) -> Option<i64> {
        let integer = self.operands(node).integer(port, what);
        integer.map_err(|refusal| self.refuse(node, refusal)).ok()
    }

    /// The index of an axis; a negative axis counts from the end. `None` after an error.
    pub(super) fn axis(&mut self, node: &Node, axis: i64, rank: usize) -> Option<usize> {
        let axis = self.operands(node).axis(axis, rank);
        axis.map_err(|refusal| self.refuse(node, refusal)).ok()
    }
}
