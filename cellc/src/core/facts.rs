//! The facts about each core operation, for stages that need no more than facts. `evaluate` and
//! `lower` match all operations.

use std::ops::Range;

use super::{Convolve, CoreCell, CoreModel, Dense, PointwiseFunction, Source, View, WeightSource};
use crate::model::MathFunction;

/// The facts about one operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts<'o> {
    /// The operation's name within names of kernels.
    pub name: &'static str,
    /// The operands, except [`Self::weights`]; the filters of a convolution are operands. For a
    /// loop also the next carried values, the values of results, and the operands of all operations
    /// of the body.
    pub operands: Vec<Source>,
    /// The weights.
    pub weights: Vec<WeightSource>,
    /// The values computed for later nodes.
    pub outputs: Vec<usize>,
    /// The work of one execution.
    pub work: Work,
    /// The steps of the operands that one step of the outputs needs.
    pub over_time: OverTime,
    /// The operands that make the outputs zero.
    pub zeros: Zeros,
    /// The numbers that the outputs may hold.
    pub numbers: OutputNumbers,
    /// The product with fixed matrices whose precision can be chosen, if the operation is one.
    pub(crate) product: Option<FixedProduct<'o>>,
    /// Whether the operation has a kernel, alone or together with its neighbours.
    pub(crate) kernel: KernelForm,
    /// The operation in equations.
    pub(crate) notation: Notation<'o>,
    /// The functions of one number that the operation computes; for a loop, without the functions
    /// of its body.
    pub(crate) functions: Vec<MathFunction>,
    /// The treatment of denormals.
    pub(crate) denormals: Treatment,
    /// The role of constant operands, for names of constants in generated code.
    pub(crate) constants: &'static str,
    /// The smallest reach with which a search for the tensors computed from a tensor passes the
    /// operation.
    pub(crate) reach: Reach,
    /// The reason why independent streams cannot run as rows of the operation. `None`: the
    /// operation computes a row for each stream.
    pub(crate) between_streams: Option<&'static str>,
}

/// The work of one execution of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Multiply-adds of matrices, filters or states.
    Products {
        /// Steps of a sequence. 1 for other operations.
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
    /// The selection of an element from one column of this table, by an index.
    Select(Source),
    /// An addition, a multiplication, a comparison, a selection, a maximum or a minimum.
    Arithmetic,
    /// A division.
    Divide,
    /// An activation, an element of a softmax, or a comparison with many elements.
    Function,
}

/// The steps of the operands that one step of the outputs needs, if the operands have an axis of
/// time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OverTime {
    /// The step of the output alone; operands broadcast.
    Pointwise,
    /// All steps, if the axis of time is among these axes of the operand. Otherwise the step of the
    /// output alone.
    Combines(Range<usize>),
    /// As `Combines`, for the last axis of the operand.
    CombinesLast,
    /// All steps, if the axis of time lies within the trailing axes that hold this number of
    /// elements of the operand. Otherwise the step of the output alone.
    CombinesRows(usize),
    /// If this axis of the operand is the axis of time, the step of the output and all steps
    /// before: each sum is the previous sum plus one element. Otherwise the step of the output
    /// alone.
    Accumulates(usize),
    /// The step of the index, if the table does not depend on time.
    Selects,
    /// Neighbouring steps.
    Windows,
    /// The step of the output, and the states that steps pass on.
    Recurrent(RecurrentSteps),
    /// Any steps. The analysis in `stream/steps` refuses these operations, unless it has a rule for
    /// them.
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
    /// Elements of the operand, chosen by their order, in which a NaN is behind all numbers; or
    /// their indices.
    Chosen,
    /// Any numbers. `numerics/ranges` knows more about pointwise operations and loops.
    Any,
}

/// The operations through which a search follows computed tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// Views, concatenations, element-wise operations and loops of one iteration.
    Near,
    /// All operations but cells, linear attention and loops of several iterations.
    Far,
    /// All operations.
    Any,
}

/// The steps of a recurrent operation, and the states that the steps pass on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecurrentSteps {
    /// The states: h, then c, of a cell; the matrices of a linear attention.
    pub states: Vec<StateEnds>,
    /// The operands with one element for each step, along axis 1 if [`Self::steps`] is not `None`;
    /// x of a cell or the query of a linear attention first.
    pub over_time: Vec<Source>,
    /// The number of steps. `None`: one step, and operands without an axis of time.
    pub steps: Option<usize>,
    /// The order of the steps.
    pub order: StepOrder,
    /// The result with one element for each step, and its axis of time. `None` if unused.
    pub each: Option<(usize, usize)>,
    /// True if a new state may overwrite the state before the step.
    pub in_place: bool,
}

/// A state before the first step and after the last step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateEnds {
    /// The state before the first step.
    pub initial: Source,
    /// The state after the last step, as a value. `None` if unused.
    pub last: Option<usize>,
    /// True if [`RecurrentSteps::each`] is the state after each step.
    pub is_each: bool,
}

/// The state before the first step and after the last step, for changes of a model.
pub(crate) struct StateEndsMut<'o> {
    /// The name within names of variables.
    pub(crate) name: &'static str,
    /// The shape of the state.
    pub(crate) shape: Vec<usize>,
    /// As [`StateEnds::initial`].
    pub(crate) initial: &'o mut Source,
    /// As [`StateEnds::last`].
    pub(crate) last: &'o mut Option<usize>,
}

/// The order of the steps of a recurrent operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepOrder {
    /// From the first step to the last, all steps for every row.
    Forward,
    /// From the last step to the first.
    Reverse,
    /// Each row has its own number of steps.
    Lengths,
}

impl RecurrentSteps {
    /// The value that identifies the operation: the first of its last states, else the result with
    /// one element for each step.
    pub(crate) fn place(&self) -> usize {
        let last = self.states.iter().find_map(|state| state.last);
        last.or(self.each.map(|(value, _)| value))
            .expect("check: a recurrent operation has outputs before the sweep")
    }
}

/// A product with fixed matrices whose precision can be chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FixedProduct<'o> {
    /// x of a cell or a dense layer; for a depthwise convolution the windows of a channel.
    pub(crate) x: Factor,
    /// h of a cell. `None` for other operations.
    pub(crate) h: Option<Factor>,
    /// The matrices.
    pub(crate) matrices: FixedMatrices<'o>,
}

/// The fixed matrices of a product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum FixedMatrices<'o> {
    /// Matrices with sizes in the plan.
    Planned(PlannedProduct<'o>),
    /// The taps of a depthwise convolution.
    Windows(&'o Convolve),
}

/// A product with sizes in the plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PlannedProduct<'o> {
    /// The gates of a cell.
    Cell(&'o CoreCell),
    /// A dense layer.
    Dense(&'o Dense),
}

/// Whether an operation has a kernel, alone or together with its neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KernelForm {
    /// A kernel of its own.
    Alone,
    /// A kernel that continues with pointwise operations along rows of this many columns.
    Rows(usize),
    /// As `Rows`, for the new state of each step. The state is stored, too, and operands of the
    /// pointwise operations are computed before.
    NewState(usize),
    /// Part of the kernel of an operand or of a reader with an equal shape.
    Elements,
    /// No kernel if readers find the elements at their places in the operand.
    Viewed,
    /// No kernel if the operands are computed at their places in the output.
    Joined,
    /// Kernels of the body.
    Body,
}

/// An operation in equations.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Notation<'o> {
    /// A function of the operands.
    Function(&'static str),
    /// A function of the operands for each output.
    Functions(Vec<String>),
    /// A function of x, named after the weights that define the function.
    Weighted,
    /// An operator between elements, or a function of elements.
    Pointwise(PointwiseFunction),
    /// Elements of the operand at other places.
    Elements(&'o View),
    /// The operand.
    Operand,
}

/// The vectors that fixed matrices multiply. For a depthwise convolution, the windows of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Factor {
    /// The tensor of the vectors. `None` for h of several steps: each step computes the next h.
    pub(crate) source: Option<Source>,
    /// The length of a vector; for a depthwise convolution the taps of a window.
    pub(crate) len: usize,
}

/// How an operation treats denormals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Treatment {
    /// Flushes new states and the result of each step in every step.
    EveryStep,
    /// Moves elements of its operand: the operation that computes the operand, or the reader of an
    /// input, has to flush.
    Moves,
    /// Moves elements; flushes elements of inputs and states, which no operation has flushed.
    Copies,
    /// Flushes each sum, then adds the next element.
    EachSum,
    /// Flushes outputs that a Result, a variable or a carried value needs. For a loop, the
    /// operations of the body decide.
    Computes,
    /// As `Computes`. Operands of the output's size are read once per element, so flushing on load
    /// costs no extra pass.
    Streams,
}

impl Facts<'_> {
    /// The steps of a recurrent operation. `None` for other operations, also for a loop, whose
    /// carried values may be states.
    pub(crate) fn recurrence(&self) -> Option<&RecurrentSteps> {
        if let OverTime::Recurrent(steps) = &self.over_time { Some(steps) } else { None }
    }

    /// True if the operation moves elements of its operands and computes nothing.
    pub(crate) fn is_move(&self) -> bool {
        matches!(self.work, Work::Elements { effort: Effort::Move, .. })
    }
}

impl Work {
    /// One element operation for each element of a tensor.
    pub(super) fn elements(source: Source, effort: Effort) -> Self {
        Self::Elements { tensor: source, times: 1, effort }
    }

    /// The multiply-adds of [`Self::Products`]; 0 for other operations and for bodies.
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
