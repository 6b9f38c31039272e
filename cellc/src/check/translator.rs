//! The translation of a model to core operations: the tensors of the walk over its nodes, and the
//! core model so far. The rules for operations stand in [`crate::simplify`].

use super::findings::{Current, Findings, InputSizes, Interned, Known, StepFacts, Variables};
use super::limits::{MOST_DIMS, MOST_ELEMENTS, MOST_FOLDED_ALONE, MOST_OPERATIONS};
use super::report::{floats, refusal};
use super::shape::{admits_shape, element_count};
use super::size_limits::too_large;
use super::subject::Subject;
use crate::core::{CoreModel, CoreNode, CoreOp, CoreValue, Source};
use crate::diagnostic::{Diagnostic, Diagnostics, Message, Origin};
use crate::model::{ElementType, Model, Node, Op, Tensor, ValueId, shape_text};

/// The translation of a model to core operations.
pub(crate) struct Translator<'c, 'a> {
    pub(crate) subject: Subject<'a>,
    /// The current graph: the model, or the body of a loop.
    pub(crate) model: &'a Model,
    pub(crate) inputs: &'c InputSizes,
    /// By value of the current graph; `None` before its node, after its last reader, or after an
    /// error.
    pub(crate) known: Vec<Option<Known>>,
    pub(crate) current: Current,
    pub(crate) findings: Findings<'a>,
    /// The variables that ReadValue and Assign name.
    pub(crate) variables: Variables<'a>,
    pub(crate) interned: Interned,
    /// The core model so far.
    pub(crate) core: &'c mut CoreModel,
    pub(crate) steps: &'c mut StepFacts<'a>,
    pub(crate) diagnostics: &'c mut Diagnostics,
}

impl<'c, 'a> Translator<'c, 'a> {
    /// A translation before its first node.
    pub(crate) fn new(
        subject: Subject<'a>,
        inputs: &'c InputSizes,
        steps: &'c mut StepFacts<'a>,
        core: &'c mut CoreModel,
        diagnostics: &'c mut Diagnostics,
    ) -> Self {
        Self {
            subject,
            model: subject.model,
            inputs,
            known: vec![None; subject.model.values.len()],
            current: Current::default(),
            findings: Findings::default(),
            variables: Variables::default(),
            interned: Interned::default(),
            core,
            steps,
            diagnostics,
        }
    }

    /// Runs one attempt of several. An attempt that ends in `Err` leaves neither diagnostics nor
    /// operations behind.
    pub(crate) fn speculate<T, E>(
        &mut self,
        attempt: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let (diagnostics, nodes) = (self.diagnostics.0.len(), self.current.nodes.len());
        let result = attempt(self);
        if result.is_err() {
            self.diagnostics.0.truncate(diagnostics);
            self.current.nodes.truncate(nodes);
        }
        result
    }

    /// Appends the operations of `add` to a body, and returns the body.
    pub(crate) fn appended<T>(
        &mut self,
        body: Vec<CoreNode>,
        add: impl FnOnce(&mut Self) -> T,
    ) -> (T, Vec<CoreNode>) {
        let outside = std::mem::replace(&mut self.current.nodes, body);
        let result = add(self);
        (result, std::mem::replace(&mut self.current.nodes, outside))
    }

    /// The tensor of a node's input. `None` after an error.
    pub(crate) fn input(&self, node: &Node, port: usize) -> Option<Known> {
        self.known[node.inputs.get(port)?.0].clone()
    }

    /// The tensors of all inputs of a node. `None` after an error in one of them.
    pub(crate) fn inputs(&self, node: &Node) -> Option<Vec<Known>> {
        (0..node.inputs.len()).map(|port| self.input(node, port)).collect()
    }

    /// Sets the tensor of a node's output.
    pub(crate) fn set(&mut self, node: &Node, port: usize, known: Known) {
        let Some(output) = node.outputs.get(port) else { return };
        self.check_stated(node, *output, &self.shape_of(&known));
        if let (Some(length), Known::Source(Source::Value(value), _)) =
            (self.findings.current_length, &known)
            && !matches!(node.op, Op::ShapeOf)
        {
            self.findings.lengths.insert(*value, length);
        }
        self.known[output.0] = Some(known);
    }

    /// Adds a value computed by a node.
    pub(crate) fn value(&mut self, shape: Vec<usize>) -> usize {
        self.core.values.push(CoreValue { shape });
        self.core.values.len() - 1
    }

    /// Adds an operation.
    pub(crate) fn emit(&mut self, node: &Node, op: CoreOp) {
        let kind = match &op {
            CoreOp::Cell(cell) if cell.sequence.is_some() => cell.kind.sequence_name(),
            CoreOp::Cell(cell) => cell.kind.op_name(),
            _ => node.kind.split(',').next().unwrap_or_default(),
        };
        self.current.spent.operations += 1;
        let (name, kind, ledger) = (node.name.clone(), kind.to_owned(), node.ledger.clone());
        self.current.nodes.push(CoreNode { name, kind, op, ledger, layer: self.current.layer });
    }

    /// Refuses a shape above the limit for computed values.
    pub(crate) fn computable(&mut self, node: &Node, shape: &[usize]) -> Option<()> {
        self.computable_up_to(node, shape, self.subject.options.machine.target.memory.most_elements)
    }

    /// The upper limit for elements of an operation on constants: at least the elements of the
    /// operands together.
    pub(crate) fn most_folded(&self, node: &Node) -> usize {
        let inputs = node.inputs.iter().filter_map(|input| self.known[input.0].as_ref()?.tensor());
        inputs
            .map(Tensor::len)
            .fold(0, usize::saturating_add)
            .clamp(MOST_FOLDED_ALONE, MOST_ELEMENTS)
    }

    pub(crate) fn computable_up_to(
        &mut self,
        node: &Node,
        shape: &[usize],
        most: usize,
    ) -> Option<()> {
        if self.current.spent.operations >= MOST_OPERATIONS {
            let found = format!("the model has more than {MOST_OPERATIONS} operations");
            let help = "split the model, and compile its parts one by one";
            self.error_of_many(node, found, format!("{MOST_OPERATIONS} or fewer"), help);
            return None;
        }
        if shape.contains(&0) {
            let found = format!("a tensor of shape {}: a size of 0", shape_text(shape));
            self.error(
                node,
                &node.origin,
                found,
                "sizes of 1 or more",
                "an empty tensor has no use: remove the layer",
            );
            return None;
        }
        if shape.len() > MOST_DIMS {
            let found = format!("a tensor of {} dimensions", shape.len());
            self.error(
                node,
                &node.origin,
                found,
                format!("{MOST_DIMS} or fewer"),
                "reshape it to fewer",
            );
            return None;
        }
        if element_count(shape).is_none_or(|n| n > most) {
            self.too_large(node, &node.origin, shape, most);
            return None;
        }
        Some(())
    }

    /// Refuses a shape above the limit for operations on constants.
    pub(crate) fn foldable(
        &mut self,
        node: &Node,
        shape: &[usize],
        element: ElementType,
    ) -> Option<()> {
        let none = !element.is_float() && shape.contains(&0);
        let sizes: Vec<usize> =
            shape.iter().map(|&size| if none { size.max(1) } else { size }).collect();
        self.computable_up_to(node, &sizes, self.most_folded(node))?;
        let count: usize = shape.iter().product();
        self.folds(node, count, element)
    }

    /// Reports an error shared by later nodes only once.
    pub(crate) fn error_of_many(
        &mut self,
        node: &Node,
        found: impl Into<Message>,
        valid: String,
        help: &str,
    ) {
        if !self.diagnostics.has_errors() {
            self.error(node, &node.origin, found, valid, help);
        }
    }

    /// Reports a promise of the model about a tensor that does not hold.
    pub(crate) fn check_stated(&mut self, node: &Node, output: ValueId, shape: &[usize]) {
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
    pub(crate) fn source(&mut self, known: &Known) -> Option<Source> {
        match known {
            Known::Source(source, _) => Some(*source),
            Known::Constant(tensor, _) => Some(Source::Constant(self.intern(tensor))),
            Known::Iteration(..) => None,
        }
    }

    /// The place of a constant in the list.
    pub(crate) fn intern(&mut self, tensor: &Tensor) -> usize {
        let constants = &mut self.core.constants;
        let (bytes, start) = tensor.place();
        *self
            .interned
            .places
            .entry((bytes, start, tensor.element(), tensor.shape().to_vec()))
            .or_insert_with(|| {
                constants.push(tensor.clone());
                constants.len() - 1
            })
    }

    pub(crate) fn shape_of(&self, known: &Known) -> Vec<usize> {
        match known {
            Known::Constant(tensor, _) => tensor.shape().to_vec(),
            Known::Source(source, _) => self.core.shape(*source).to_vec(),
            Known::Iteration(shape, _) => shape.clone(),
        }
    }

    /// Refuses integer or boolean tensors computed at run time.
    pub(crate) fn all_floats(&mut self, node: &Node, inputs: &[Known]) -> Option<()> {
        let Some(wrong) = inputs.iter().map(Known::element).find(|element| !element.is_float())
        else {
            return Some(());
        };
        let found = format!("{} at run time", wrong.name());
        let help = "integers and booleans are known when compiling, or lengths of sequences: \
            compute in f32";
        self.error(node, &node.origin, found, floats(), help);
        None
    }

    pub(crate) fn too_large(&mut self, node: &Node, origin: &Origin, shape: &[usize], most: usize) {
        self.diagnostics.push(too_large(node, origin, shape, most));
    }

    pub(crate) fn error(
        &mut self,
        node: &Node,
        origin: &Origin,
        found: impl Into<Message>,
        valid: impl Into<Message>,
        help: impl Into<Message>,
    ) {
        self.diagnostics.push(refusal(node, origin, found, valid, help));
    }
}
