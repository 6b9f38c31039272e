//! The data of the checks: tensors, and facts about inputs, steps, loops and values.

use std::collections::HashMap;

use super::limits::Folded;
use super::shape::Geometry;
use crate::core::{CoreNode, LayerPlace, Source};
use crate::model::{ElementType, Node, Tensor, ValueId};

/// A tensor during the check of a model.
#[derive(Clone, Debug)]
pub(crate) enum Known {
    /// A compile-time tensor with the element type of the model. The bytes may have another type
    /// with equal values.
    Constant(Tensor, ElementType),
    /// A run-time tensor: an input, a variable or a computed value.
    Source(Source, ElementType),
    /// The number of a loop's iteration, of this shape.
    Iteration(Vec<usize>, ElementType),
}

impl Known {
    pub(crate) fn element(&self) -> ElementType {
        match self {
            Self::Constant(_, element) | Self::Source(_, element) | Self::Iteration(_, element) => {
                *element
            }
        }
    }

    pub(crate) fn tensor(&self) -> Option<&Tensor> {
        match self {
            Self::Constant(tensor, _) => Some(tensor),
            Self::Source(..) | Self::Iteration(..) => None,
        }
    }
}

/// The identity of a constant: bytes, element type, shape.
type ConstantKey = (*const u8, usize, ElementType, Vec<usize>);

/// The readers of a Parameter, found through Converts and inputs of loop bodies.
#[derive(Clone, Default)]
pub(crate) struct Uses {
    /// The role as weights, in words for messages.
    pub(crate) weight: Option<String>,
    /// True if a cell reads the input and its first size is the batch.
    pub(crate) batch: bool,
    /// The last size required by a matrix product.
    pub(crate) features: Option<usize>,
    /// The role as lengths of a sequence, in words for messages.
    pub(crate) lengths: Option<String>,
    /// Any other role, in words for messages.
    pub(crate) data: Option<String>,
}

impl Uses {
    /// True if the input is only read as lengths of sequences.
    pub(crate) fn is_length(&self) -> bool {
        self.lengths.is_some() && self.data.is_none() && self.weight.is_none()
    }
}

/// The axes of an input that count the rows of a batch.
#[derive(Clone, Debug, Default)]
pub(crate) struct BatchAxes {
    pub(crate) axes: Vec<usize>,
    /// True if a name in the file or a recurrent operator says so; else the first axis is taken for
    /// the batch.
    pub(crate) is_known: bool,
    /// True if recurrent operators start from the input, which then has no steps.
    pub(crate) is_state: bool,
}

/// The axes of an input read by a sequence as `[N, T, I]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SequenceAxes {
    pub(crate) rows: usize,
    pub(crate) steps: usize,
    /// The place of the sequence among the nodes of the model.
    pub(crate) node: usize,
}

/// The sizes of the inputs.
#[derive(Default)]
pub(crate) struct InputSizes {
    /// By parameter of the model.
    pub(crate) uses: Vec<Uses>,
    /// By parameter of the model.
    pub(crate) batch_axes: Vec<BatchAxes>,
    /// By parameter.
    pub(crate) sequence_axes: Vec<Option<SequenceAxes>>,
    /// By parameter of the model; `None` after an error.
    pub(crate) shapes: Vec<Option<Vec<usize>>>,
    /// The size that a check assumes for unknown axes behind the first. `None`: an unknown size is
    /// an error.
    pub(crate) open: Option<usize>,
    /// The number of errors about open sizes of inputs.
    pub(crate) unknown_sizes: usize,
    /// By parameter of the model: the axes with the assumed size.
    pub(crate) open_axes: Vec<Vec<usize>>,
}

impl InputSizes {
    /// The sizes before any is known; `open`: the assumed size.
    pub(crate) fn new(inputs: usize, open: Option<usize>) -> Self {
        Self {
            uses: vec![Uses::default(); inputs],
            shapes: vec![None; inputs],
            open,
            open_axes: vec![Vec::new(); inputs],
            ..Self::default()
        }
    }
}

/// The places of constants in the list.
#[derive(Default)]
pub(crate) struct Interned {
    /// By identity.
    pub(crate) places: HashMap<ConstantKey, usize>,
    /// Constants of one element that the model does not contain, by their bits.
    pub(crate) scalars: HashMap<u32, Tensor>,
}

/// Facts about the operations over steps, for later checks of steps and states.
#[derive(Default)]
pub(crate) struct StepFacts<'a> {
    /// Recurrent layers by their last states, loops by their carried values, products by their
    /// results.
    pub(crate) layers: HashMap<usize, &'a Node>,
    /// The largest constant number of steps, with its reader, if the number of steps of X is open
    /// and no row has as many.
    pub(crate) most_lengths: Option<(usize, &'a Node)>,
    /// The operations whose windows reach in front of the first element of an axis.
    pub(crate) lookbacks: Vec<Lookback<'a>>,
    /// The first window longer than its axis.
    pub(crate) short_of: Option<ShortOf>,
}

/// The place in the current graph: the model, or the body of a loop.
#[derive(Default)]
pub(crate) struct Current {
    /// The operations of the graph.
    pub(crate) nodes: Vec<CoreNode>,
    /// The nesting depth of loops.
    pub(crate) depth: usize,
    /// The current node.
    pub(crate) layer: LayerPlace,
    pub(crate) spent: Spent,
    pub(crate) loops: LoopForms,
}

/// The work so far, for limits.
#[derive(Default)]
pub(crate) struct Spent {
    /// The number of visited nodes; nodes of bodies count once per iteration.
    pub(crate) visited: usize,
    /// The number of operations, bodies included.
    pub(crate) operations: usize,
    /// The work of operations on constants.
    pub(crate) folded: Folded,
}

/// Loops that cannot stay loops.
#[derive(Clone, Copy, Default)]
pub(crate) struct LoopForms {
    /// True if a loop failed because of its form, not because of its body.
    pub(crate) wants_unrolling: bool,
    /// True if a loop failed because of its run-time condition.
    pub(crate) wants_condition: bool,
    /// True if a loop takes its upper limit from the options.
    pub(crate) needs_max_steps: bool,
}

/// A node with an output to shorten by a slice, and the tensors read by the node.
#[derive(Clone)]
pub(crate) struct Cuttable<'a> {
    pub(crate) node: &'a Node,
    pub(crate) inputs: Vec<Option<Known>>,
}

/// Facts about values, found by their operations and read by later operations.
#[derive(Default)]
pub(crate) struct Findings<'a> {
    /// By value: run-time lengths of outputs of loops that end by a condition.
    pub(crate) lengths: HashMap<usize, DynamicLength>,
    /// The run-time length of the outputs of the current operation.
    pub(crate) current_length: Option<DynamicLength>,
    /// By value: the range of the integers.
    pub(crate) ranges: HashMap<usize, Interval>,
    /// By value: the integer input with these elements; true if the value has all elements in
    /// order.
    pub(crate) parameter_of: HashMap<usize, (usize, bool)>,
    /// Values with an end that a slice may remove.
    pub(crate) cuttable: HashMap<ValueId, Cuttable<'a>>,
    /// By value without the elements across line ends of a convolution: the value with these
    /// elements, and the selection.
    pub(crate) lines: HashMap<usize, (usize, Geometry)>,
}

/// An operation that computes the first elements along an axis from elements in front of the axis,
/// given by no input.
pub(crate) struct Lookback<'a> {
    pub(crate) node: &'a Node,
    pub(crate) before: Before,
    pub(crate) fronts: Vec<Front>,
}

/// The elements before an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// Pads, given by the operation or as a constant.
    Pads,
    /// The sum of no elements.
    Zero,
}

/// The elements that an operation reads before an element of an axis.
#[derive(Clone, Copy)]
pub(crate) struct Front {
    /// The size of the axis.
    pub(crate) size: usize,
    /// The number of earlier elements that the operation reads.
    pub(crate) reach: usize,
    /// True if the operation's own attributes read no later elements.
    pub(crate) is_causal: bool,
}

impl Lookback<'_> {
    /// The elements before the only axis of one of the sizes. Windows over maps of one pixel have
    /// two such axes.
    pub(crate) fn along(&self, sizes: &[usize]) -> Option<Front> {
        let mut fitting = self.fronts.iter().filter(|front| sizes.contains(&front.size));
        fitting.next().copied().filter(|_| fitting.next().is_none())
    }
}

/// A window longer than its axis, pads included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShortOf {
    /// The place of the operation in the model.
    pub(crate) node: usize,
    /// The axis, counted among the axes of the windows.
    pub(crate) axis: usize,
    /// The number of those axes.
    pub(crate) rank: usize,
    /// The size of the axis.
    pub(crate) size: usize,
    /// The number of missing elements.
    pub(crate) missing: usize,
}

/// The variables of a model, in the order of the first reads.
#[derive(Default)]
pub(crate) struct Variables<'a> {
    /// By name, the index into the list of the valid model.
    pub(crate) read: HashMap<&'a str, usize>,
    /// The name, the node and the tensor of each Assign.
    pub(crate) assigned: Vec<(&'a str, &'a Node, Option<Known>)>,
}

/// The least and the largest value of a tensor of integers.
pub(crate) type Interval = [f64; 2];

/// The kind of operation that divides a tensor into a number of parts known only at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Divider {
    /// The iterations of a loop with a run-time end.
    Loop,
    /// A Range whose limit is computed.
    Range,
    /// A Slice whose stop is computed.
    Slice,
}

/// The length, known at run time, of an output of a loop that ends by its condition, or of a Range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DynamicLength {
    /// The number of iterations or elements.
    pub(crate) count: Source,
    /// The kind of the operation with the parts.
    pub(crate) by: Divider,
    /// True if the elements behind the last part are zero.
    pub(crate) is_zero: bool,
    /// A truth value: true if the output was cut off at the limit. `None` if the model states the
    /// limit.
    pub(crate) truncated: Option<Source>,
    /// The axis along which the output has a part for each iteration.
    pub(crate) parts_along: Option<usize>,
}
