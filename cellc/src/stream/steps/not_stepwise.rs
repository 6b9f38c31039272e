//! Reasons why the steps of a model cannot be computed one by one. [`crate::check`] words them.

use super::StepAnalysis;
use crate::core::CoreNode;

/// A place of a model, and the reason why its steps cannot be computed one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotStepwise {
    /// The node that first puts elements in front of the first step. `None` if no operand of the
    /// place has such elements.
    pub(crate) in_front: Option<InFront>,
    pub(crate) place: ModelPlace,
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
        NotStepwise { in_front: None, place: self, why }
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
    /// Steps at a side are reflected: so many steps are read ahead.
    Reflects(usize),
    /// A step at a side is repeated.
    Repeats,
    /// Each output moves on by `by` steps.
    Moves { by: usize },
    /// So many steps are read ahead, or left out.
    Shortens(usize),
    /// So many elements stand behind the last step.
    PadsAfter(usize),
    /// Elements in front of the first step are steps of a cell.
    TakesFrontAsSteps,
    /// Elements in front of the first step are added up.
    AddsFront,
    /// So many elements in front of the first step are left.
    HasFront(usize),
    /// The number of steps is an operand.
    Counts,
    /// A state is read by value, and steps change the state.
    Changed,
    /// A matrix product of two operands that steps change.
    ChangedMatrices,
    /// There are several rows, each with its own steps.
    SeveralRows,
    /// A state has a size for every step.
    StateOfEverySize,
    /// A constant is as long as there are steps.
    LongConstant,
    /// Every step is combined with a result of the last step.
    LastWithEvery,
    /// A variable takes another value than a result of the last step.
    NotOfLast,
    /// A cell does not run over the steps.
    OutsideSteps,
    /// A recurrent operator does not run over the steps.
    OperatorOutsideSteps,
    /// A sequence runs in reverse.
    RunsInReverse,
    /// A sequence runs in both directions.
    RunsInBoth,
    /// A sequence has lengths of its rows.
    OwnLengths,
    /// A sequence reads another tensor than the steps.
    OtherThanSteps,
    /// A sequence starts from an input that is no state.
    StartsFromInput,
    /// A sequence starts from a state that is not its own last one.
    StartsFromOtherState,
    /// A sequence starts from a computed value.
    StartsFromComputed,
    /// A loop. `of_cell`: true for a recurrent operator with computed weights.
    Loop { of_cell: bool },
    /// The model of one step computes the place in another way.
    Otherwise,
}

impl StepAnalysis<'_> {
    /// A reason at a node, with the origin of its padding.
    pub(super) fn refused(&self, node: &CoreNode, why: Why) -> NotStepwise {
        NotStepwise {
            in_front: self.in_front(&node.op.reads()),
            ..ModelPlace::new(node).refused(why)
        }
    }
}
