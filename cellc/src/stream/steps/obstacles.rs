//! The reasons why the steps of a model cannot be computed one by one. [`crate::check`] puts the
//! reasons into words.

use super::StepAnalysis;
use crate::core::CoreNode;

/// The reason why the steps of a model cannot be computed one by one, with the place in the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotStepwise {
    /// The node that first puts elements in front of the first step of an operand or of an output.
    /// `None` if there is no such node, and for reasons at other places than nodes, except
    /// [`Why::HasFront`].
    pub(crate) in_front: Option<InFront>,
    pub(crate) subject: ModelPlace,
    pub(crate) why: Why,
}

/// A node that puts elements in front of the first step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InFront {
    pub(crate) name: String,
    pub(crate) kind: String,
    /// The number of elements.
    pub(crate) before: usize,
}

/// A place of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ModelPlace {
    Node {
        name: String,
        kind: String,
    },
    /// A layer, by its name.
    Layer(String),
    /// An input, by its index.
    Input(usize),
    /// An output, by its index.
    Output(usize),
    Variable,
    /// Elements in front of the first step.
    Padding,
    Cell,
}

impl ModelPlace {
    pub(super) fn new(node: &CoreNode) -> Self {
        Self::Node { name: node.name.clone(), kind: node.kind.clone() }
    }

    /// The reason at this place.
    pub(super) fn refused(self, why: Why) -> NotStepwise {
        NotStepwise { in_front: None, subject: self, why }
    }
}

/// The reason why steps cannot be computed one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// Different steps are combined.
    Across,
    /// All steps are combined.
    CombinesAll,
    /// Single steps out of all are taken.
    TakesSingle,
    /// The steps are reversed.
    Reverses,
    /// Steps at the start or the end are reflected: this many steps are read ahead.
    Reflects(usize),
    /// The first or last step is repeated.
    Repeats,
    /// From one output to the next, the window moves by `by` steps.
    Moves { by: usize },
    /// This many steps are read ahead, or left out.
    Shortens(usize),
    /// This many elements follow the last step.
    PadsAfter(usize),
    /// A cell or a linear attention reads elements in front of the first step as steps.
    TakesFrontAsSteps,
    /// A running sum adds elements in front of the first step.
    AddsFront,
    /// This many elements in front of the first step are left in an output.
    HasFront(usize),
    /// The number of steps is an operand, or a number computed from the number of steps.
    Counts,
    /// An operation or an output reads the value of a state, which steps change.
    Changed,
    /// The second factor of a matrix product depends on the steps, or a factor is a state.
    ChangedMatrices,
    /// A tensor has several rows, each with its own steps.
    SeveralRows,
    /// A state has an axis with one element for each step.
    StateOfEverySize,
    /// A constant has an axis with one element for each step, and is no padding: its elements
    /// differ, or it has several such axes.
    LongConstant,
    /// Every step is combined with a result of the last step.
    LastWithEvery,
    /// A variable takes another value than a result of the last step.
    NotOfLast,
    /// A cell in the model of one step is not a sequence.
    OutsideSteps,
    /// A cell or a linear attention does not run over the steps.
    OperatorOutsideSteps,
    /// A sequence runs in reverse.
    RunsInReverse,
    /// A layer runs in both directions.
    RunsInBoth,
    /// The rows of a sequence have lengths of their own.
    OwnLengths,
    /// A cell or a linear attention reads a tensor without one element for each step along axis 1.
    OtherThanSteps,
    /// A cell or a linear attention starts from an input that is no state.
    StartsFromInput,
    /// A cell or a linear attention starts from a state whose next value is not the last state of
    /// the operator.
    StartsFromOtherState,
    /// A cell or a linear attention starts from a computed value that is no state.
    StartsFromComputed,
    /// A loop. `of_cell`: true for a recurrent operator with computed weights.
    Loop { of_cell: bool },
    /// The model of one step does not match the model of many steps at this place.
    Otherwise,
}

impl StepAnalysis<'_> {
    /// The reason at a node, together with the node that put elements in front of its operands.
    pub(super) fn refused(&self, node: &CoreNode, why: Why) -> NotStepwise {
        NotStepwise {
            in_front: self.in_front(&node.op.reads()),
            ..ModelPlace::new(node).refused(why)
        }
    }
}
