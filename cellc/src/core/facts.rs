//! The facts about each core operation, for stages that do not compute it. `evaluate` and `lower`
//! match all operations.

use std::ops::Range;

use super::{CoreModel, Source, WeightSource};
use crate::model::Activation;

/// The facts about one operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The operation in names of kernels.
    pub name: &'static str,
    /// The operands without weights; for a loop also the outer values read by its body.
    pub operands: Vec<Source>,
    /// The weights.
    pub weights: Vec<WeightSource>,
    /// The values computed for later nodes.
    pub outputs: Vec<usize>,
    /// The work of one execution.
    pub work: Work,
    /// The steps needed for an element of the outputs.
    pub over_time: OverTime,
    /// The operands that make the outputs zero.
    pub zeros: Zeros,
    /// The numbers that the outputs may hold.
    pub numbers: OutputNumbers,
    /// The product with fixed matrices whose precision can be chosen, if the operation is one.
    pub(crate) product: Option<FixedProduct>,
    /// The activations that the operation computes; without the body of a loop.
    pub(crate) activations: Vec<Activation>,
    /// The treatment of denormals.
    pub(crate) denormals: Treatment,
    /// True if the operation chooses elements by their order, in which a NaN is behind all numbers.
    pub(crate) by_order: bool,
    /// The role of constant operands, in names of constants.
    pub(crate) constants: &'static str,
    /// The least reach of a search for the tensors computed from a state that passes the operation.
    pub(crate) reach: Reach,
    /// The reason why the work differs between independent streams. `None`: a row for each stream
    /// suffices.
    pub(crate) between_streams: Option<&'static str>,
}

/// The work of one execution of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Products of matrices.
    Products {
        /// Steps of a sequence.
        steps: usize,
        /// Multiply-adds of one step.
        each: usize,
    },
    /// Element operations, `times` for each element of a tensor.
    Elements {
        /// The tensor.
        tensor: Source,
        /// Element operations per element.
        times: usize,
        /// The cost class of an element operation.
        effort: Effort,
    },
    /// The work of the body in every iteration.
    Body,
}

/// The cost class of an element operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// A copy.
    Move,
    /// The conversion of an integer input.
    Convert,
    /// The selection of an element from a column of this table.
    Select(Source),
    /// An addition, a multiplication or a comparison.
    Arithmetic,
    /// A division.
    Divide,
    /// An activation, or a comparison with many elements.
    Function,
}

/// The steps needed for an element of the outputs, if the operands have an axis of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OverTime {
    /// The element's own step; operands broadcast.
    Pointwise,
    /// All steps, if the axis of time is among these axes of the operand. Otherwise the element's
    /// own step.
    Combines(Range<usize>),
    /// As `Combines`, for the last axis of the operand.
    CombinesLast,
    /// All steps, if the last this many elements of the operand include the axis of time. Otherwise
    /// the element's own step.
    CombinesRows(usize),
    /// The element's own step and, if this axis of the operand is the axis of time, the sum of the
    /// steps before: one addition to the sum of the step before.
    Accumulates(usize),
    /// The step of the index. The table must not depend on the step.
    Selects,
    /// Neighbouring steps.
    Windows,
    /// Any steps: refused, except for the operations with a rule of their own in `stream/steps`.
    AnyStep,
}

impl OverTime {
    /// True for [`Self::Accumulates`].
    pub(crate) fn accumulates(&self) -> bool {
        matches!(self, Self::Accumulates(_))
    }
}

/// The operands that make the outputs zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zeros {
    /// The outputs are always zero.
    Always,
    /// The outputs are zero if all operands are zero.
    IfAll,
    /// The outputs are zero if one operand, or the weights, are zero.
    IfOne,
    /// Outputs are not known to be zero.
    Unknown,
}

/// The numbers that the outputs may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputNumbers {
    /// Elements of these operands, unchanged.
    Moved(Vec<Source>),
    /// Integers between two limits.
    Integers([i32; 2]),
    /// Any numbers. `numerics/ranges` knows more about pointwise operations and loops.
    Any,
}

/// The operations that a search for computed tensors passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// Views, concatenations, element-wise operations and loops of one iteration.
    Near,
    /// All operations but recurrent cells and loops of several iterations.
    Far,
    /// All operations.
    Any,
}

/// A product with fixed matrices whose precision can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FixedProduct {
    /// x; for a depthwise convolution the windows of a channel.
    pub(crate) x: Factor,
    /// h of a recurrent cell.
    pub(crate) h: Option<Factor>,
    /// True if the plan has sizes for the product.
    pub(crate) is_planned: bool,
}

/// The vectors that fixed matrices multiply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Factor {
    /// The tensor of the vectors. `None` for h of a sequence, which each step computes.
    pub(crate) source: Option<Source>,
    /// The length of a vector; for a depthwise convolution the taps of a window.
    pub(crate) len: usize,
}

/// How an operation treats denormals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Treatment {
    /// Flushes its outputs in every step.
    EveryStep,
    /// Moves elements of its operand: the producer of the operand has flushed them.
    Moves,
    /// Moves elements, and flushes elements of inputs and states.
    Copies,
    /// Flushes each sum before it adds the next element.
    EachSum,
    /// Flushes outputs that a Result, a variable or a carried value needs. Operations of a body
    /// stand for their loop.
    Computes,
    /// As `Computes`; reads each element of an operand of the output's size once.
    Streams,
}

impl Work {
    /// `times` element operations for each element of a value.
    pub(super) fn elements(source: Source, effort: Effort) -> Self {
        Self::Elements { tensor: source, times: 1, effort }
    }

    /// Multiply-adds of matrix products; 0 for other operations and for bodies.
    pub fn multiply_adds(&self) -> usize {
        match self {
            Self::Products { steps, each } => steps.saturating_mul(*each),
            Self::Elements { .. } | Self::Body => 0,
        }
    }

    /// Element operations, and their cost class; `None` for products and bodies.
    pub fn element_operations(&self, model: &CoreModel) -> Option<(usize, Effort)> {
        match *self {
            Self::Elements { tensor: source, times, effort } => {
                Some((model.len(source).saturating_mul(times), effort))
            }
            Self::Products { .. } | Self::Body => None,
        }
    }
}

/// The product of sizes, at most `usize::MAX`.
pub(super) fn product(sizes: &[usize]) -> usize {
    sizes.iter().copied().fold(1, usize::saturating_mul)
}
