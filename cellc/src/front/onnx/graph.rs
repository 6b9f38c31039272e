//! The graph of a file under construction: names resolve to values, and operators append
//! operations.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::attributes::Attributes;
use super::lists::Sequence;
use super::nodes::Functions;
use super::proto::{GraphProto, SparseTensorProto, TensorProto, Versions};
use super::tensors::{Folder, TensorRefusal};
use crate::diagnostic::{Diagnostic, Diagnostics, Message, Origin, Problem, Severity, quoted};
use crate::front::graph::Graph;
use crate::front::{not_finite, not_finite_in};
use crate::model::limits::MOST_NESTED;
use crate::model::{
    ActivationLists, AxisName, Dim, ElementType, Elementwise, LedgerEntry, Loop, Op, OpFacts, Rank,
    ResultType, Spelling, Tensor, Value, ValueId,
};
use crate::request::NamedSize;

/// ONNX's names of attributes, for messages.
static SPELLING: Spelling = Spelling {
    element_type: "to",
    activation_lists: ActivationLists::ForEach,
    initial_h: "initial_h",
    initial_c: "initial_c",
    sequence_lengths: "sequence_lens",
    ..Spelling::OWN
};

/// [`SPELLING`] for sequences whose attribute `layout` is 0.
static BATCH_SECOND: Spelling = Spelling { batch_second: true, ..SPELLING };

/// The graph under construction at one depth: the model itself, or a graph inside a node.
pub(super) struct Level {
    pub(super) graph: Graph,
    pub(super) names: HashMap<String, ValueId>,
    /// Values captured from the surrounding graph: the value in the surrounding graph, and the
    /// index of the Parameter in this graph.
    pub(super) captured: Vec<(ValueId, usize)>,
    /// Values that stand for sequences, with their sequences.
    pub(super) sequences: HashMap<ValueId, Sequence>,
    /// Outputs of the graph that are sequences, as pairs of output index and value. `None` if
    /// outputs of the graph must be tensors.
    pub(super) sequence_outputs: Option<Vec<(usize, ValueId)>>,
    /// Last elements of sequences before an iteration, by the index of the loop-carried sequence:
    /// the value and the index of its Parameter.
    pub(super) last_elements: BTreeMap<usize, (ValueId, usize)>,
    /// Last elements of sequences after an iteration, by the index of the loop-carried sequence.
    pub(super) next_elements: HashMap<usize, ValueId>,
    /// Known ranks of constants and of operations' outputs.
    ranks: HashMap<ValueId, usize>,
}

/// The graph under construction and the state of reading its file.
pub(super) struct GraphReader<'f> {
    pub(super) folder: &'f mut Folder,
    pub(super) functions: Functions,
    /// The operator sets of the graph under construction.
    pub(super) versions: Arc<Versions>,
    /// Number of nodes read or expanded from functions so far.
    pub(super) count: usize,
    pub(super) dims: &'f [NamedSize],
    /// Names of the named sizes of inputs, without duplicates.
    pub(super) dimensions: Vec<String>,
    /// Axes of inputs with a named size, and the names.
    pub(super) axis_names: Vec<AxisName>,
    pub(super) diagnostics: Diagnostics,
    /// The model first, then the nested graphs, outermost first. The last one is the graph under
    /// construction.
    pub(super) levels: Vec<Level>,
    /// The label of messages: the current node with name, operator, index and operator set, or the
    /// current input, output or initializer.
    pub(super) label: String,
    /// Name of the current node.
    pub(super) name: String,
    /// Reads the graph of an attribute into the current level. A function pointer, because the
    /// operators' modules depend on this module, and not the reverse.
    pub(super) read_body: fn(&mut GraphReader<'_>, GraphProto, Option<&[ValueId]>),
}

impl<'f> GraphReader<'f> {
    /// The innermost level.
    pub(super) fn level(&mut self) -> &mut Level {
        self.levels.last_mut().expect("the model's own")
    }

    /// Reports an error of the file as a whole.
    pub(super) fn refuse(&mut self, problem: Problem) {
        self.diagnostics.push(problem.at(Origin::Unknown));
    }

    /// Reports an error of the current node.
    pub(super) fn error(
        &mut self,
        found: impl Into<Message>,
        valid: impl Into<Message>,
        help: impl Into<Message>,
    ) {
        self.report(Problem::new(found, valid, help));
    }

    /// Reports a problem of the current node.
    pub(super) fn report(&mut self, problem: Problem) {
        self.diagnostics.push(problem.at(Origin::Unknown).layer(self.label.clone()));
    }

    /// Refuses the current node because a required attribute or input is missing.
    pub(super) fn missing<T>(&mut self, name: &str, valid: impl Into<Message>) -> Option<T> {
        self.error(format!("no {name}"), valid, "export the model again");
        None
    }

    /// Refuses the current node for a valid use of the operator that no operation of the model
    /// expresses. [`crate::model`], [`crate::check`] and [`crate::translate`] refuse invalid
    /// operations.
    pub(super) fn inexpressible<T>(
        &mut self,
        found: impl Into<Message>,
        valid: impl Into<Message>,
        help: impl Into<Message>,
    ) -> Option<T> {
        self.error(found, valid, help);
        None
    }

    /// Warns about the current node, with help.
    pub(super) fn warning_with_help(
        &mut self,
        found: impl Into<Message>,
        help: impl Into<Message>,
    ) {
        let problem = Diagnostic::warning(Origin::Unknown, found).help(help);
        self.diagnostics.push(problem.layer(self.label.clone()));
    }

    /// Warns about the current node.
    pub(super) fn warning(&mut self, found: impl Into<Message>) {
        let problem = Diagnostic::warning(Origin::Unknown, found);
        self.diagnostics.push(problem.layer(self.label.clone()));
    }

    /// The user's size for a named dimension. `Some(None)` if the user keeps the dimension open,
    /// `None` if the user does not name it.
    pub(super) fn size_of(&self, name: &str) -> Option<Option<usize>> {
        self.dims.iter().find(|(own, _)| own == name).map(|(_, size)| *size)
    }

    /// Number of errors so far.
    pub(super) fn errors(&self) -> usize {
        self.diagnostics.0.iter().filter(|d| d.severity == Severity::Error).count()
    }

    /// Adds a Parameter to the current level.
    pub(super) fn parameter(
        &mut self,
        name: &str,
        element: ElementType,
        shape: Option<Vec<Dim>>,
    ) -> ValueId {
        let level = self.level();
        let value = level.graph.add(Value {
            names: vec![name.to_owned()],
            shape,
            element,
            origin: Origin::Unknown,
        });
        level.graph.kind = "input".to_owned();
        let node = level.graph.node(
            name,
            Op::Parameter,
            Vec::new(),
            vec![value],
            Vec::new(),
            &Origin::Unknown,
        );
        level.graph.model.parameters.push(node);
        value
    }

    /// Adds a Result to the current level.
    pub(super) fn result(&mut self, name: &str, value: ValueId) {
        let level = self.level();
        let element = level.graph.model.values[value.0].element;
        let added = level.graph.add(Value {
            names: vec![name.to_owned()],
            shape: None,
            element,
            origin: Origin::Unknown,
        });
        level.graph.kind = "output".to_owned();
        let node = level.graph.node(
            name,
            Op::Result,
            vec![value],
            vec![added],
            Vec::new(),
            &Origin::Unknown,
        );
        level.graph.model.results.push(node);
    }

    /// Names a value of the current level. False if the level already has a value of this name.
    pub(super) fn define(&mut self, name: &str, value: ValueId) -> bool {
        self.level().names.insert(name.to_owned(), value).is_none()
    }

    /// The value of a name in the current level. A value of a surrounding graph is captured. `None`
    /// if no level knows the name.
    pub(super) fn value(&mut self, name: &str) -> Option<ValueId> {
        let at =
            (0..self.levels.len()).rev().find(|&at| self.levels[at].names.contains_key(name))?;
        let mut value = self.levels[at].names[name];
        // an empty constant stands for an omitted input: the nested graph gets a copy of the
        // constant instead of a Parameter
        if at + 1 < self.levels.len()
            && let Some(tensor) = self.known_at(at, value).filter(Tensor::is_empty)
        {
            let constant = self.constant_named(name, &tensor);
            self.level().names.insert(name.to_owned(), constant);
            return Some(constant);
        }
        // every level inside the level of the value gets a Parameter for the value
        for inner in at + 1..self.levels.len() {
            value = match self.levels[inner - 1].sequences.contains_key(&value) {
                true => self.captured_sequence(inner, value, name),
                false => self.captured(inner, value, name),
            };
            self.levels[inner].names.insert(name.to_owned(), value);
        }
        Some(value)
    }

    /// Adds a Parameter to the level `inner` for a value of the surrounding level.
    pub(super) fn captured(&mut self, inner: usize, value: ValueId, name: &str) -> ValueId {
        let Value { element, shape, .. } =
            self.levels[inner - 1].graph.model.values[value.0].clone();
        let level = &mut self.levels[inner];
        let added = level.graph.add(Value {
            names: vec![name.to_owned()],
            shape,
            element,
            origin: Origin::Unknown,
        });
        let node = level.graph.node(
            name,
            Op::Parameter,
            Vec::new(),
            vec![added],
            Vec::new(),
            &Origin::Unknown,
        );
        level.graph.model.parameters.push(node);
        level.captured.push((value, level.graph.model.parameters.len() - 1));
        added
    }

    /// The element type of a value.
    pub(super) fn element(&mut self, value: ValueId) -> ElementType {
        self.level().graph.model.values[value.0].element
    }

    /// The rank of a value, declared or derived from its operation. `None` if unknown.
    pub(super) fn rank(&mut self, value: ValueId) -> Option<usize> {
        let level = self.level();
        let written = level.graph.model.values[value.0].shape.as_ref().map(Vec::len);
        written.or_else(|| level.ranks.get(&value).copied())
    }

    /// The rank of an output, by the rank in the facts of the operation. `None` if the ranks and
    /// constants of the inputs do not determine the rank.
    fn rank_of(&mut self, rank: Rank, inputs: &[ValueId]) -> Option<usize> {
        match rank {
            Rank::Fixed(rank) => Some(rank),
            Rank::First => self.rank(inputs[0]),
            Rank::Largest => {
                inputs.iter().try_fold(0, |most, &input| Some(most.max(self.rank(input)?)))
            }
            Rank::Product => {
                let ranks = [self.rank(inputs[0])?, self.rank(inputs[1])?];
                ranks.iter().all(|&rank| rank > 1).then(|| ranks[0].max(ranks[1]))
            }
            Rank::FirstAndOne => Some(self.rank(inputs[0])? + 1),
            Rank::Inserted => Some(self.rank(inputs[0])? + self.known(inputs[1])?.len()),
            Rank::Removed => self.rank(inputs[0])?.checked_sub(self.known(*inputs.get(1)?)?.len()),
            Rank::Reduced => match inputs.get(1) {
                None => Some(0),
                Some(&axes) => match (self.known(axes)?.len(), self.rank(inputs[0])) {
                    (0, _) => Some(0),
                    (axes, rank) => rank?.checked_sub(axes),
                },
            },
            Rank::Listed => Some(self.known(inputs[1])?.len()),
            Rank::AtLeastListed => Some(self.rank(inputs[0])?.max(self.known(inputs[1])?.len())),
            Rank::Indexed => (self.rank(inputs[0])? + self.rank(inputs[1])?).checked_sub(1),
            Rank::Unknown => None,
        }
    }

    /// The constant behind a value of the current level, also through captures. `None` if the value
    /// is computed or an input.
    pub(super) fn known(&mut self, value: ValueId) -> Option<Tensor> {
        self.known_at(self.levels.len() - 1, value)
    }

    fn known_at(&self, mut at: usize, mut value: ValueId) -> Option<Tensor> {
        loop {
            let Level { graph, captured, .. } = &self.levels[at];
            let nodes = &graph.model.nodes;
            let made = nodes.iter().rposition(|node| node.outputs.first() == Some(&value))?;
            match &nodes[made].op {
                Op::Constant(tensor) => return Some(tensor.clone()),
                Op::Parameter => {
                    let is_made = |(_, parameter): &&(ValueId, usize)| {
                        graph.model.parameters[*parameter] == made
                    };
                    (at, value) = (at.checked_sub(1)?, captured.iter().find(is_made)?.0);
                }
                _ => return None,
            }
        }
    }

    /// Adds a constant with the current node's name.
    pub(super) fn constant(&mut self, tensor: &Tensor) -> ValueId {
        let name = self.name.clone();
        self.constant_named(&name, tensor)
    }

    /// Adds a named constant. Warns of NaN, and of infinities in tensors of several elements.
    pub(super) fn constant_named(&mut self, name: &str, tensor: &Tensor) -> ValueId {
        if let Some(value) = not_finite_in(tensor) {
            self.diagnostics.push(not_finite(Origin::Unknown, &quoted(name), value));
        }
        let level = self.level();
        level.graph.kind = "Constant".to_owned();
        let value = level.graph.constant(name, tensor, &Origin::Unknown);
        level.ranks.insert(value, tensor.shape().len());
        value
    }

    /// Adds a constant list of integers.
    pub(super) fn integers(&mut self, values: &[i64]) -> ValueId {
        let tensor =
            Tensor::from_i64(vec![values.len()], values).expect("as many values as the shape has");
        self.constant(&tensor)
    }

    /// Adds a constant list of f32.
    pub(super) fn numbers(&mut self, values: &[f32]) -> ValueId {
        let tensor =
            Tensor::from_f32(vec![values.len()], values).expect("as many values as the shape has");
        self.constant(&tensor)
    }

    /// Adds a constant integer of shape `[]`.
    pub(super) fn integer(&mut self, value: i64) -> ValueId {
        let tensor = Tensor::from_i64(Vec::new(), &[value]).expect("one value");
        self.constant(&tensor)
    }

    /// Adds a constant floating-point number of shape `[]`.
    pub(super) fn number(&mut self, value: f32) -> ValueId {
        let tensor = Tensor::from_f32(Vec::new(), &[value]).expect("one value");
        self.constant(&tensor)
    }

    /// Adds a constant number of shape `[]`: a floating-point number if `like` is floating point,
    /// else an integer of the type of `like`.
    pub(super) fn number_like(&mut self, like: ValueId, value: f32) -> ValueId {
        let element = self.element(like);
        if element.is_float() {
            return self.number(value);
        }
        let bytes: Vec<u8> =
            (value as i64).to_le_bytes().into_iter().take(element.size()).collect();
        let len = bytes.len();
        let tensor = Tensor::new(Vec::new(), element, Arc::new(bytes), 0..len).expect("one value");
        self.constant(&tensor)
    }

    /// Adds an operation with one output of the given element type.
    pub(super) fn op_of(&mut self, op: Op, inputs: Vec<ValueId>, element: ElementType) -> ValueId {
        self.ops_of(op, inputs, vec![element], Vec::new())[0]
    }

    /// Adds an operation with one output of its first input's element type.
    pub(super) fn op(&mut self, op: Op, inputs: Vec<ValueId>) -> ValueId {
        let element = self.element(inputs[0]);
        self.op_of(op, inputs, element)
    }

    /// Adds an elementwise operation. The operation determines the element type of the output.
    pub(super) fn elementwise(
        &mut self,
        operation: impl Into<Elementwise>,
        inputs: &[ValueId],
    ) -> ValueId {
        let operation = operation.into();
        let element = match operation.facts().result {
            ResultType::Truth => ElementType::Bool,
            ResultType::OfInput(at) => self.element(inputs[at]),
        };
        self.op_of(Op::Elementwise(operation), inputs.to_vec(), element)
    }

    /// Adds an operation with one output for each element type.
    pub(super) fn ops_of(
        &mut self,
        op: Op,
        inputs: Vec<ValueId>,
        elements: Vec<ElementType>,
        ledger: Vec<LedgerEntry>,
    ) -> Vec<ValueId> {
        let (name, label) = (self.name.clone(), self.kind());
        let OpFacts { rank, later_rank, .. } = op.facts();
        let rank = self.rank_of(rank, &inputs);
        let later_rank = later_rank.and_then(|later| self.rank_of(later, &inputs));
        let level = self.level();
        let outputs: Vec<ValueId> = elements
            .into_iter()
            .map(|element| {
                level.graph.add(Value {
                    names: Vec::new(),
                    shape: None,
                    element,
                    origin: Origin::Unknown,
                })
            })
            .collect();
        level.graph.kind = label;
        level.graph.node(&name, op, inputs, outputs.clone(), ledger, &Origin::Unknown);
        let ranks = std::iter::once(rank).chain(std::iter::repeat(later_rank));
        level
            .ranks
            .extend(outputs.iter().zip(ranks).filter_map(|(&output, rank)| Some((output, rank?))));
        outputs
    }

    /// Makes messages about the last operation, an [`Op::Sequence`], name the batch as the second
    /// axis.
    pub(super) fn word_batch_second(&mut self) {
        let last = self.level().graph.model.nodes.last_mut();
        last.expect("the sequence").spelling = &BATCH_SECOND;
    }

    /// Operator and index of the current node: the part of the label in brackets.
    fn kind(&self) -> String {
        let inner = self.label.rfind(" (").map(|at| &self.label[at + 2..]);
        inner.and_then(|inner| inner.strip_suffix(')')).unwrap_or(&self.label).to_owned()
    }

    /// The outputs of a stand-in operation for a node whose graphs exceed the limit of nesting,
    /// which a later check refuses. `None` within the limit.
    pub(super) fn too_deep(&mut self, call: &Call<'_>) -> Outputs {
        let depth = self.levels.len() - 1;
        (depth >= MOST_NESTED).then(|| {
            let elements = vec![ElementType::F32; call.outputs()];
            self.ops_of(Op::Loop(Box::new(Loop::too_deep())), Vec::new(), elements, Vec::new())
        })
    }

    /// Begins a nested graph.
    pub(super) fn enter(&mut self) {
        self.levels.push(Level::new());
    }

    /// Ends the innermost graph.
    pub(super) fn leave(&mut self) -> Level {
        self.levels.pop().expect("a graph that was entered")
    }

    /// Reads a dense tensor. `None` after an error.
    pub(super) fn tensor(&mut self, tensor: &TensorProto) -> Option<Tensor> {
        let read = self.folder.tensor(tensor);
        self.or_error(read)
    }

    /// Reads a sparse tensor. `None` after an error.
    pub(super) fn sparse(&mut self, sparse: &SparseTensorProto) -> Option<Tensor> {
        let read = self.folder.sparse(sparse);
        self.or_error(read)
    }

    fn or_error(&mut self, read: Result<Tensor, TensorRefusal>) -> Option<Tensor> {
        let wrong = match read {
            Ok(tensor) => return Some(tensor),
            Err(wrong) => wrong,
        };
        match &wrong.file {
            None => self.report(wrong.problem),
            // one error for each file, not for each tensor in the file
            Some(file) if self.folder.refused.insert(file.clone()) => self.refuse(wrong.problem),
            Some(_) => {}
        }
        None
    }

    /// Label and name of the current node, to be restored after a nested graph.
    pub(super) fn named(&mut self) -> (String, String) {
        (self.label.clone(), self.name.clone())
    }

    /// Makes the node with this label and name the current node.
    pub(super) fn rename(&mut self, (label, name): (String, String)) {
        (self.label, self.name) = (label, name);
    }
}

/// The outputs of a node. `None` if the node was refused with an error.
pub(super) type Outputs = Option<Vec<ValueId>>;

/// One node and its resolved inputs.
pub(super) struct Call<'c> {
    /// The operator set that introduced the operator's definition in force.
    pub(super) version: i64,
    pub(super) inputs: Vec<Option<ValueId>>,
    /// Number of outputs of the node, trailing unnamed outputs excluded.
    pub(super) written: usize,
    /// For each output up to the last output in use: true if a node or the graph reads the output.
    pub(super) read: Vec<bool>,
    pub(super) attributes: &'c mut Attributes,
}

impl Call<'_> {
    /// An input by index. `None` if the input is omitted.
    pub(super) fn input(&self, at: usize) -> Option<ValueId> {
        self.inputs.get(at).copied().flatten()
    }

    /// Number of outputs up to the last output in use.
    pub(super) fn outputs(&self) -> usize {
        self.read.len()
    }

    /// True if a node or the graph reads the output.
    pub(super) fn is_read(&self, output: usize) -> bool {
        self.read.get(output) == Some(&true)
    }

    /// The first input.
    pub(super) fn x(&self) -> ValueId {
        self.inputs[0].expect("the first input is required")
    }
}

impl Level {
    pub(super) fn new() -> Self {
        Self {
            graph: Graph::new("", &SPELLING),
            names: HashMap::new(),
            captured: Vec::new(),
            sequences: HashMap::new(),
            sequence_outputs: None,
            last_elements: BTreeMap::new(),
            next_elements: HashMap::new(),
            ranks: HashMap::new(),
        }
    }
}
