//! A network of core operations, all sizes known.

use std::collections::BTreeSet;

use super::{CoreCell, CoreNode, CoreOp, LayerPlace, Source};
use crate::model::{ElementType, InputFile, MathFunction, Tensor};

/// An input of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The input's tensor names, then the layer name: the candidates for `emit::names`.
    pub names: Vec<String>,
    /// The shape, all sizes known.
    pub shape: Vec<usize>,
    /// The element type in the model. Kernels read floats as f32, i64, u32 and u64 as i64, other
    /// integers as i32, and booleans as booleans.
    pub element: ElementType,
    /// True if cells alone read the input, as W, R, B or P, directly or through moves and sums.
    /// Generated code packs these weights once and does not read the input in every step.
    pub weight: bool,
    /// T, if the input holds sequence lengths: lengths are clamped to 0..=T. `None` for other
    /// inputs.
    pub length: Option<usize>,
    /// Rows of the smallest table indexed by this input. `None`: the input indexes no table.
    pub rows: Option<usize>,
}

impl Parameter {
    /// Upper limit for random integers; the lower limit is 0. `None` for inputs of floats.
    pub fn largest_drawn(&self) -> Option<usize> {
        match (self.length, self.rows, self.element) {
            (Some(most), ..) => Some(most),
            (None, Some(rows), _) => Some(rows - 1),
            (None, None, ElementType::Bool) => Some(1),
            (None, None, element) => (!element.is_float()).then_some(7),
        }
    }
}

/// An output of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultValue {
    /// The output's tensor names, then the layer name.
    pub names: Vec<String>,
    /// The shape, all sizes known.
    pub shape: Vec<usize>,
    /// The element type in the model.
    pub element: ElementType,
    /// The source of the output.
    pub source: Source,
    /// The index of the result with the length along the first axis, if the length is known only at
    /// run time.
    pub parts: Option<usize>,
}

/// A state pair: the parameter that is kept between steps, and the result with the parameter's next
/// value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatePair {
    /// Index into [`CoreModel::parameters`].
    pub parameter: usize,
    /// Index into [`CoreModel::results`].
    pub result: usize,
}

/// A recurrent layer of one step whose last state is lost: every call starts the layer from the
/// initial state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restart {
    /// The layer's name; may be anything.
    pub name: String,
    /// The layer's type, for messages: `GRUSequence`.
    pub kind: String,
}

/// A tensor kept between steps: a variable of ReadValue and Assign, or a state that cellc adds.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// The `variable_id`, or a name that cellc makes; may be any text.
    pub name: String,
    /// The shape, all sizes known.
    pub shape: Vec<usize>,
    /// The value before the first step, as index into [`CoreModel::constants`]. `None`: zero.
    pub initial: Option<usize>,
    /// The value's next state. `None` if the value is constant across steps.
    pub next: Option<Source>,
    /// The axis of time, if cellc keeps the last frames of a stream in the variable. `None` for
    /// other variables, and with independent streams.
    pub history: Option<usize>,
}

/// A tensor that a node computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreValue {
    /// The shape, all sizes known. Elements are in C order.
    pub shape: Vec<usize>,
}

/// A model of core operations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CoreModel {
    /// The name in the model file, if any.
    pub name: Option<String>,
    /// The input files.
    pub files: Vec<InputFile>,
    /// The sample rate of the generated code, in Hz. `None`: the rate of the model, or no rate.
    pub code_rate: Option<u64>,
    /// Inputs, in document order.
    pub parameters: Vec<Parameter>,
    /// Compile-time tensors, after constant folding.
    pub constants: Vec<Tensor>,
    /// True if the model file has constants of type i8 or u8.
    pub has_bytes: bool,
    /// The variables of the model in the order of their first use, then the variables that cellc
    /// adds.
    pub variables: Vec<Variable>,
    /// The values of all nodes, including those in bodies of loops.
    pub values: Vec<CoreValue>,
    /// The operations, each after its operands.
    pub nodes: Vec<CoreNode>,
    /// The layers of depthwise convolutions and of products with constants that always compute in
    /// f32, each with the reason.
    pub in_f32: Vec<(LayerPlace, &'static str)>,
    /// The layers that compute powers.
    pub powers: BTreeSet<LayerPlace>,
    /// Outputs, in document order.
    pub results: Vec<ResultValue>,
    /// The state pairs kept between steps.
    pub states: Vec<StatePair>,
    /// The layers whose last states are lost at the end of every call.
    pub restarts: Vec<Restart>,
    /// The inputs and outputs of each step, if the number of steps is open. The operations then
    /// compute one step.
    pub steps: Option<Steps>,
    /// The number of independent streams: the size of the first axis that every input, output and
    /// variable has gained. `None`: no axis was added, or the added axis holds channels.
    pub streams: Option<usize>,
}

/// The inputs and outputs of each step, if the number of steps is open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// By parameter: true if every step has its own array.
    pub parameters: Vec<bool>,
    /// By result: true if every step has its own array; otherwise the result is that of the last
    /// step.
    pub results: Vec<bool>,
}

impl Steps {
    /// Every input and output has an array for each step.
    pub(crate) fn all(model: &CoreModel) -> Self {
        let parameters = vec![true; model.parameters.len()];
        Self { parameters, results: vec![true; model.results.len()] }
    }
}

/// True for a product of two matrices or a convolution whose precision the options cannot choose:
/// the operation computes in f32.
pub(crate) fn is_f32_product(node: &CoreNode) -> bool {
    matches!(node.op, CoreOp::MatMul(_) | CoreOp::Convolve(_)) && !node.op.has_precision()
}

impl CoreModel {
    /// The names of the layers in [`Self::in_f32`] with a product in f32, each with the reason.
    pub(crate) fn names_in_f32(&self) -> impl Iterator<Item = (&str, &'static str)> {
        let nodes = self.all_nodes();
        self.in_f32.iter().filter_map(move |&(layer, why)| {
            let node = nodes.iter().find(|node| node.layer == layer && is_f32_product(node))?;
            Some((&node.name[..], why))
        })
    }

    /// [`Self::names_in_f32`] grouped by reason, for the layers with `asked(name)`.
    pub fn in_f32_by_reason(&self, asked: impl Fn(&str) -> bool) -> Vec<(&'static str, Vec<&str>)> {
        let mut reasons: Vec<(&'static str, Vec<&str>)> = Vec::new();
        for (layer, why) in self.names_in_f32().filter(|(layer, _)| asked(layer)) {
            match reasons.iter_mut().find(|(known, _)| *known == why) {
                Some((_, layers)) if layers.contains(&layer) => {}
                Some((_, layers)) => layers.push(layer),
                None => reasons.push((why, vec![layer])),
            }
        }
        reasons
    }

    /// The shape of `source`.
    pub fn shape(&self, source: Source) -> &[usize] {
        match source {
            Source::Parameter(i) => &self.parameters[i].shape,
            Source::Constant(i) => self.constants[i].shape(),
            Source::Variable(i) => &self.variables[i].shape,
            Source::Value(i) => &self.values[i].shape,
        }
    }

    /// The number of elements of `source`.
    pub fn len(&self, source: Source) -> usize {
        self.shape(source).iter().product()
    }

    /// Every operation, each after its operands; a loop comes before the operations of its body.
    pub fn all_nodes(&self) -> Vec<&CoreNode> {
        fn walk<'a>(nodes: &'a [CoreNode], all: &mut Vec<&'a CoreNode>) {
            for node in nodes {
                all.push(node);
                if let CoreOp::Loop(body) = &node.op {
                    walk(&body.body, all);
                }
            }
        }
        let mut nodes = Vec::new();
        walk(&self.nodes, &mut nodes);
        nodes
    }

    /// [`Self::all_nodes`] without the conversions of integer inputs that cellc adds.
    pub fn operations(&self) -> Vec<&CoreNode> {
        let mut nodes = self.all_nodes();
        nodes.retain(|node| !matches!(node.op, CoreOp::IntegerInput(_)));
        nodes
    }

    /// Every recurrent cell, in the order of [`Self::all_nodes`].
    pub fn cells(&self) -> Vec<&CoreCell> {
        self.cell_nodes().into_iter().map(|(_, cell)| cell).collect()
    }

    /// Every recurrent cell with its node, bodies of loops included.
    pub fn cell_nodes(&self) -> Vec<(&CoreNode, &CoreCell)> {
        self.all_nodes()
            .into_iter()
            .filter_map(|node| match &node.op {
                CoreOp::Cell(cell) => Some((node, cell)),
                _ => None,
            })
            .collect()
    }

    /// Every function of one number in the model, without duplicates.
    pub fn functions(&self) -> Vec<MathFunction> {
        let mut functions: Vec<MathFunction> = Vec::new();
        for function in self.all_nodes().into_iter().flat_map(|node| node.op.facts().functions) {
            if !functions.contains(&function) {
                functions.push(function);
            }
        }
        functions
    }
}
