//! The graph of a file under construction: names are values, operators add operations.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::attributes::Attributes;
use super::lists::Sequence;
use super::nodes::{Functions, Versions};
use super::proto::{GraphProto, SparseTensorProto, TensorProto};
use super::tensors::{Folder, Wrong};
use crate::diagnostic::{Diagnostic, Diagnostics, Origin, Severity, quoted};
use crate::front::graph::Graph;
use crate::front::not_finite;
use crate::model::{
    AxisName, BroadcastMode, Dim, ElementType, LedgerEntry, NoAxes, Op, Spelling, Tensor, Value, ValueId,
};
use crate::request::NamedSize;

/// What ONNX calls attributes.
static SPELLING: Spelling = Spelling { element_type: "to", ..Spelling::OWN };

/// The graph that is read, or one inside it.
pub(super) struct Level {
    pub(super) graph: Graph,
    pub(super) names: HashMap<String, ValueId>,
    /// What it reads of the graph around it: the value there, and its Parameter here.
    pub(super) captured: Vec<(ValueId, usize)>,
    /// The sequences that values stand for.
    pub(super) sequences: HashMap<ValueId, Sequence>,
    /// Outputs of the graph that are sequences, by place; `None` where no output may be one.
    pub(super) sequence_outputs: Option<Vec<(usize, ValueId)>>,
    /// By carried sequence of a loop: its last element, and the Parameter that this is.
    pub(super) last_elements: BTreeMap<usize, (ValueId, usize)>,
    /// By carried sequence of a loop: the last element after the iteration.
    pub(super) next_elements: HashMap<usize, ValueId>,
    /// How many dimensions values have, where that is not written but follows.
    ranks: HashMap<ValueId, usize>,
}

/// The graph under construction, and what is known of the file.
pub(super) struct GraphReader<'f> {
    pub(super) folder: &'f mut Folder,
    pub(super) functions: Functions,
    pub(super) versions: Versions,
    /// How many nodes there are.
    pub(super) count: usize,
    pub(super) dims: &'f [NamedSize],
    /// Names of sizes of inputs, each once.
    pub(super) dimensions: Vec<String>,
    /// The names of open sizes of inputs.
    pub(super) axis_names: Vec<AxisName>,
    pub(super) diagnostics: Diagnostics,
    /// Whether it was said that f16 and bf16 are not rounded to.
    pub(super) said_unrounded: bool,
    /// The model first, then the graphs that the one that is read is inside of.
    pub(super) levels: Vec<Level>,
    /// What messages call the node that is read.
    pub(super) label: String,
    /// What the node is called.
    pub(super) name: String,
    /// Reads the graph inside a node; its operators know this type, which does not know them.
    pub(super) read_body: fn(&mut GraphReader<'_>, GraphProto, Option<&[ValueId]>),
}

impl<'f> GraphReader<'f> {
    /// The graph that is read.
    pub(super) fn level(&mut self) -> &mut Level {
        self.levels.last_mut().expect("the model's own")
    }

    /// An error of the file as a whole.
    pub(super) fn refuse(&mut self, wrong: Wrong) {
        let problem = Diagnostic::error(Origin::Unknown, wrong.found).valid(wrong.valid).help(wrong.help);
        self.diagnostics.push(problem);
    }

    /// An error of the node that is read.
    pub(super) fn error(&mut self, found: impl Into<String>, valid: impl Into<String>, help: impl Into<String>) {
        let problem = Diagnostic::error(Origin::Unknown, found).valid(valid).help(help);
        self.diagnostics.push(problem.layer(self.label.clone()));
    }

    pub(super) fn warning(&mut self, found: impl Into<String>) {
        let problem = Diagnostic::warning(Origin::Unknown, found);
        self.diagnostics.push(problem.layer(self.label.clone()));
    }

    /// The size that the user gives a named dimension; inside, `None` leaves it open.
    pub(super) fn size_of(&self, name: &str) -> Option<Option<usize>> {
        self.dims.iter().find(|(own, _)| own == name).map(|(_, size)| *size)
    }

    /// How many errors there are.
    pub(super) fn errors(&self) -> usize {
        self.diagnostics.0.iter().filter(|d| d.severity == Severity::Error).count()
    }

    /// A Parameter of the current level.
    pub(super) fn parameter(&mut self, name: &str, element: ElementType, shape: Option<Vec<Dim>>) -> ValueId {
        let level = self.level();
        let value = level.graph.add(Value { names: vec![name.to_owned()], shape, element, origin: Origin::Unknown });
        level.graph.kind = "input".to_owned();
        let node = level.graph.node(name, Op::Parameter, Vec::new(), vec![value], Vec::new(), &Origin::Unknown);
        level.graph.model.parameters.push(node);
        value
    }

    /// A Result of the current level.
    pub(super) fn result(&mut self, name: &str, value: ValueId) {
        let level = self.level();
        let element = level.graph.model.values[value.0].element;
        let own =
            level.graph.add(Value { names: vec![name.to_owned()], shape: None, element, origin: Origin::Unknown });
        level.graph.kind = "output".to_owned();
        let node = level.graph.node(name, Op::Result, vec![value], vec![own], Vec::new(), &Origin::Unknown);
        level.graph.model.results.push(node);
    }

    /// Gives a value of the current level a name; false if the name is taken there.
    pub(super) fn define(&mut self, name: &str, value: ValueId) -> bool {
        self.level().names.insert(name.to_owned(), value).is_none()
    }

    /// The value of a name, from the graph that is read or one around it.
    pub(super) fn value(&mut self, name: &str) -> Option<ValueId> {
        let at = (0..self.levels.len()).rev().find(|&at| self.levels[at].names.contains_key(name))?;
        let mut value = self.levels[at].names[name];
        // nothing is read of an empty tensor, which stands for an input that is left out
        if at + 1 < self.levels.len()
            && let Some(tensor) = self.known_at(at, value).filter(Tensor::is_empty)
        {
            let own = self.constant_named(name, &tensor);
            self.level().names.insert(name.to_owned(), own);
            return Some(own);
        }
        // a body reads what is around it through Parameters of its own
        for inner in at + 1..self.levels.len() {
            value = match self.levels[inner - 1].sequences.contains_key(&value) {
                true => self.captured_sequence(inner, value, name),
                false => self.captured(inner, value, name),
            };
            self.levels[inner].names.insert(name.to_owned(), value);
        }
        Some(value)
    }

    /// A value of the graph around the one at `inner`, as a Parameter there.
    pub(super) fn captured(&mut self, inner: usize, value: ValueId, name: &str) -> ValueId {
        let Value { element, shape, .. } = self.levels[inner - 1].graph.model.values[value.0].clone();
        let level = &mut self.levels[inner];
        let own = level.graph.add(Value { names: vec![name.to_owned()], shape, element, origin: Origin::Unknown });
        let node = level.graph.node(name, Op::Parameter, Vec::new(), vec![own], Vec::new(), &Origin::Unknown);
        level.graph.model.parameters.push(node);
        level.captured.push((value, level.graph.model.parameters.len() - 1));
        own
    }

    /// What kind of element a value has.
    pub(super) fn element(&mut self, value: ValueId) -> ElementType {
        self.level().graph.model.values[value.0].element
    }

    /// How many dimensions a value has, where that is written or follows from what it is computed
    /// from.
    pub(super) fn rank(&mut self, value: ValueId) -> Option<usize> {
        let level = self.level();
        let written = level.graph.model.values[value.0].shape.as_ref().map(Vec::len);
        written.or_else(|| level.ranks.get(&value).copied())
    }

    /// The rank of what an operation computes, where that takes no more than the ranks of its
    /// inputs.
    fn rank_of(&mut self, op: &Op, inputs: &[ValueId]) -> Option<usize> {
        match op {
            Op::Elementwise(_) => inputs.iter().try_fold(0, |most, &input| Some(most.max(self.rank(input)?))),
            Op::MatMul { .. } => {
                let ranks = [self.rank(inputs[0])?, self.rank(inputs[1])?];
                ranks.iter().all(|&rank| rank > 1).then(|| ranks[0].max(ranks[1]))
            }
            Op::Unsqueeze => Some(self.rank(inputs[0])? + self.known(inputs[1])?.len()),
            Op::Reshape { .. } => Some(self.known(inputs[1])?.len()),
            Op::Reduce { keep: false, no_axes: NoAxes::All, .. } => match inputs.get(1) {
                None => Some(0),
                Some(&axes) => match (self.known(axes)?.len(), self.rank(inputs[0])) {
                    (0, _) => Some(0),
                    (axes, rank) => rank?.checked_sub(axes),
                },
            },
            Op::Gather { batch_dims: 0 } => (self.rank(inputs[0])? + self.rank(inputs[1])?).checked_sub(1),
            Op::Convert | Op::Softmax { .. } | Op::Normalize(_) | Op::Transpose | Op::Slice => self.rank(inputs[0]),
            Op::Concat { .. } | Op::Convolution(_) | Op::Pool(_) | Op::Pad(_) | Op::Reduce { keep: true, .. } => {
                self.rank(inputs[0])
            }
            Op::Split { .. } | Op::VariadicSplit | Op::Tile | Op::TopK { .. } | Op::RunningSum { .. } => {
                self.rank(inputs[0])
            }
            Op::ReverseSequence { .. } | Op::ScatterUpdate | Op::ScatterNd { .. } | Op::ScatterElements { .. } => {
                self.rank(inputs[0])
            }
            Op::GatherElements { .. } | Op::Triangle { .. } | Op::Resize(_) | Op::Blocks(_) => self.rank(inputs[0]),
            Op::Squeeze { skip: false } => self.rank(inputs[0])?.checked_sub(self.known(*inputs.get(1)?)?.len()),
            Op::Broadcast(BroadcastMode::Numpy | BroadcastMode::Bidirectional) => {
                Some(self.rank(inputs[0])?.max(self.known(inputs[1])?.len()))
            }
            Op::OneHot { .. } => Some(self.rank(inputs[0])? + 1),
            Op::Sequence(..) => Some(4),
            Op::EyeLike { .. } => Some(2),
            Op::ShapeOf | Op::Range => Some(1),
            Op::Einsum { equation } => {
                let (_, result) = equation.split_once("->").filter(|(_, result)| !result.contains('.'))?;
                Some(result.chars().filter(char::is_ascii_alphabetic).count())
            }
            _ => None,
        }
    }

    /// The tensor that a value is, if it is written in the graph that is read or in one around it.
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
                    let of = |(_, parameter): &&(ValueId, usize)| graph.model.parameters[*parameter] == made;
                    (at, value) = (at.checked_sub(1)?, captured.iter().find(of)?.0);
                }
                _ => return None,
            }
        }
    }

    /// A constant.
    pub(super) fn constant(&mut self, tensor: &Tensor) -> ValueId {
        let name = self.name.clone();
        self.constant_named(&name, tensor)
    }

    pub(super) fn constant_named(&mut self, name: &str, tensor: &Tensor) -> ValueId {
        if let Some(value) = tensor.not_finite().filter(|_| tensor.len() > 1) {
            self.diagnostics.push(not_finite(Origin::Unknown, &quoted(name), value));
        }
        let level = self.level();
        level.graph.kind = "Constant".to_owned();
        let value = level.graph.constant(name, tensor, &Origin::Unknown);
        level.ranks.insert(value, tensor.shape().len());
        value
    }

    /// A constant of integers.
    pub(super) fn integers(&mut self, values: &[i64]) -> ValueId {
        let tensor = Tensor::from_i64(vec![values.len()], values).expect("as many values as the shape has");
        self.constant(&tensor)
    }

    /// A constant list of numbers.
    pub(super) fn numbers(&mut self, values: &[f32]) -> ValueId {
        let tensor = Tensor::from_f32(vec![values.len()], values).expect("as many values as the shape has");
        self.constant(&tensor)
    }

    /// A constant integer without dimensions.
    pub(super) fn integer(&mut self, value: i64) -> ValueId {
        let tensor = Tensor::from_i64(Vec::new(), &[value]).expect("one value");
        self.constant(&tensor)
    }

    /// A constant number of the element type of a value, without dimensions.
    pub(super) fn number_like(&mut self, like: ValueId, value: f32) -> ValueId {
        let element = self.element(like);
        if element.is_float() {
            let tensor = Tensor::from_f32(Vec::new(), &[value]).expect("one value");
            return self.constant(&tensor);
        }
        let bytes: Vec<u8> = (value as i64).to_le_bytes().into_iter().take(element.size()).collect();
        let len = bytes.len();
        let tensor = Tensor::new(Vec::new(), element, Arc::new(bytes), 0..len).expect("one value");
        self.constant(&tensor)
    }

    /// An operation with one output, of an element type.
    pub(super) fn op_of(&mut self, op: Op, inputs: Vec<ValueId>, element: ElementType) -> ValueId {
        self.ops_of(op, inputs, vec![element], Vec::new())[0]
    }

    /// An operation with one output, of the element type of its first input.
    pub(super) fn op(&mut self, op: Op, inputs: Vec<ValueId>) -> ValueId {
        let element = self.element(inputs[0]);
        self.op_of(op, inputs, element)
    }

    /// An operation with outputs of these element types.
    pub(super) fn ops_of(
        &mut self,
        op: Op,
        inputs: Vec<ValueId>,
        elements: Vec<ElementType>,
        ledger: Vec<LedgerEntry>,
    ) -> Vec<ValueId> {
        let (name, label) = (self.name.clone(), self.kind());
        let rank = self.rank_of(&op, &inputs);
        let is_sequence = matches!(op, Op::Sequence(..));
        let level = self.level();
        let outputs: Vec<ValueId> = elements
            .into_iter()
            .map(|element| level.graph.add(Value { names: Vec::new(), shape: None, element, origin: Origin::Unknown }))
            .collect();
        level.graph.kind = label;
        level.graph.node(&name, op, inputs, outputs.clone(), ledger, &Origin::Unknown);
        // Y of a sequence has an axis of time, its last states have none
        let rest = if is_sequence { Some(3) } else { rank };
        let ranks = std::iter::once(rank).chain(std::iter::repeat(rest));
        level.ranks.extend(outputs.iter().zip(ranks).filter_map(|(&output, rank)| Some((output, rank?))));
        outputs
    }

    /// The operator and the place of the node that is read: what is in brackets behind its name.
    fn kind(&self) -> String {
        let inner = self.label.rfind(" (").map(|at| &self.label[at + 2..]);
        inner.and_then(|inner| inner.strip_suffix(')')).unwrap_or(&self.label).to_owned()
    }

    /// Begins a graph inside the one that is read; false if there are too many around it.
    pub(super) fn enter(&mut self) -> bool {
        if self.levels.len() > super::nodes::MOST_NESTED {
            let found = format!("more than {} graphs inside each other", super::nodes::MOST_NESTED);
            self.error(found, "fewer", "simplify the model");
            return false;
        }
        self.levels.push(Level::new());
        true
    }

    /// Ends it.
    pub(super) fn leave(&mut self) -> Level {
        self.levels.pop().expect("a graph that was entered")
    }

    /// Reads a tensor of an attribute.
    pub(super) fn tensor(&mut self, tensor: &TensorProto) -> Option<Tensor> {
        let read = self.folder.tensor(tensor);
        self.or_error(read)
    }

    /// Reads a tensor of which only some elements are written.
    pub(super) fn sparse(&mut self, sparse: &SparseTensorProto) -> Option<Tensor> {
        let read = self.folder.sparse(sparse);
        self.or_error(read)
    }

    fn or_error(&mut self, read: Result<Tensor, Wrong>) -> Option<Tensor> {
        let wrong = match read {
            Ok(tensor) => return Some(tensor),
            Err(wrong) => wrong,
        };
        match &wrong.file {
            None => self.error(wrong.found, wrong.valid, wrong.help),
            // many tensors may be in one file
            Some(file) if self.folder.refused.insert(file.clone()) => self.refuse(wrong),
            Some(_) => {}
        }
        None
    }

    /// Remembers what messages call the node that is read, while graphs inside it are.
    pub(super) fn named(&mut self) -> (String, String) {
        (self.label.clone(), self.name.clone())
    }

    pub(super) fn rename(&mut self, (label, name): (String, String)) {
        (self.label, self.name) = (label, name);
    }
}

/// A node that is read.
pub(super) struct Call<'c> {
    /// The version of the operator by whose definition it is read.
    pub(super) version: i64,
    pub(super) inputs: Vec<Option<ValueId>>,
    /// How many outputs are written.
    pub(super) written: usize,
    /// Whether something reads an output, for each up to the last one that is read.
    pub(super) read: Vec<bool>,
    pub(super) attributes: &'c mut Attributes,
}

impl Call<'_> {
    /// An input that is there.
    pub(super) fn input(&self, at: usize) -> Option<ValueId> {
        self.inputs.get(at).copied().flatten()
    }

    /// How many outputs are asked for: those behind the last one that something reads are not.
    pub(super) fn outputs(&self) -> usize {
        self.read.len()
    }

    /// Whether something reads an output.
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
