//! The reasons why a rule does not translate a node.

use crate::core::BuildError;
use crate::diagnostic::{Diagnostic, Diagnostics, Message, Origin, Problem, Severity};
use crate::model::limits::{FOLDED_PER_BYTE, FOLDS_PER_BYTE, MOST_FOLDED, MOST_OPERATIONS};
use crate::model::{Node, shape_text, too_many_dims};
use crate::rules::report::{UNDEFINED, refusal};
use crate::rules::size_limits::larger_than;

/// The reason why a rule does not translate a node.
#[derive(Debug)]
pub(super) enum Refusal {
    /// An earlier report gives the reason: the node of an operand or a node of a body was refused.
    Reported,
    /// The node is wrong or beyond a limit.
    Because(Box<RefusalReason>),
}

/// The result of a rule, or the reason why the rule does not translate the node.
pub(super) type Rule<T> = Result<T, Refusal>;

/// An error of a node, without the node.
#[derive(Debug)]
pub(super) struct RefusalReason {
    /// The place of the error. [`Origin::Unknown`]: the place of the node.
    origin: Origin,
    problem: Problem,
    repetition: Repetition,
}

/// The earlier errors that make an error superfluous.
#[derive(Debug)]
enum Repetition {
    /// No error.
    Always,
    /// An error of the same layer.
    OncePerLayer,
    /// Any error: one error stands for all later nodes.
    OncePerModel,
}

impl Refusal {
    /// An error at the place of the node.
    pub(super) fn new(
        found: impl Into<Message>,
        valid: impl Into<Message>,
        help: impl Into<Message>,
    ) -> Self {
        Self::from(Problem::new(found, valid, help))
    }

    /// An error at a place in the input. [`Origin::Unknown`]: at the place of the node.
    pub(super) fn at(
        origin: &Origin,
        found: impl Into<Message>,
        valid: impl Into<Message>,
        help: impl Into<Message>,
    ) -> Self {
        Self::from(Problem::new(found, valid, help)).located(origin)
    }

    /// The error at a place in the input. [`Origin::Unknown`]: at the place of the node.
    pub(super) fn located(mut self, origin: &Origin) -> Self {
        if let Self::Because(reason) = &mut self {
            reason.origin = origin.clone();
        }
        self
    }

    /// The error, reported only if no error was reported before.
    pub(super) fn once_per_model(self) -> Self {
        self.repeated(Repetition::OncePerModel)
    }

    /// The refusal of an operation on constants that has no result.
    pub(super) fn undefined(reason: &str) -> Self {
        Self::new(reason, "an operation that has a result", UNDEFINED)
    }

    /// The error, reported only if no error was reported for the layer.
    pub(super) fn once_per_layer(self) -> Self {
        self.repeated(Repetition::OncePerLayer)
    }

    fn repeated(mut self, repetition: Repetition) -> Self {
        if let Self::Because(reason) = &mut self {
            reason.repetition = repetition;
        }
        self
    }

    /// The diagnostic of a node. `None` if earlier reports make it superfluous.
    pub(super) fn diagnostic(self, node: &Node, reported: &Diagnostics) -> Option<Diagnostic> {
        let Self::Because(reason) = self else { return None };
        let RefusalReason { origin, problem, repetition } = *reason;
        let label = Some(node.label());
        let is_superfluous = match repetition {
            Repetition::Always => false,
            Repetition::OncePerLayer => {
                reported.0.iter().any(|d| d.severity == Severity::Error && d.layer == label)
            }
            Repetition::OncePerModel => reported.has_errors(),
        };
        (!is_superfluous).then(|| refusal(node, &origin, problem))
    }
}

/// An error at the place of the node.
impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        let (origin, repetition) = (Origin::Unknown, Repetition::Always);
        Self::Because(Box::new(RefusalReason { origin, problem, repetition }))
    }
}

impl From<BuildError> for Refusal {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::Iteration => Self::Reported,
            BuildError::Operations => {
                let found = format!("the model has more than {MOST_OPERATIONS} operations");
                let help = "split the model, and compile its parts one by one";
                Self::new(found, format!("{MOST_OPERATIONS} or fewer"), help).once_per_model()
            }
            BuildError::NoElements(shape) => {
                let found = format!("a tensor of shape {}: a size of 0", shape_text(&shape));
                let help = "an empty tensor has no use: remove the layer";
                Self::new(found, "sizes of 1 or more", help)
            }
            BuildError::Dims(rank) => too_many_dims(rank).into(),
            BuildError::Elements { shape, most } => larger_than(&shape, most).into(),
            BuildError::FoldedBytes { bytes, most } => {
                let found = format!("operations on constants give {bytes} bytes");
                let valid = format!(
                    "256 MiB and {FOLDED_PER_BYTE} times the bytes of the model's constants: \
                     {most} bytes or fewer, all together"
                );
                let help = "compute with smaller tensors, and let operators broadcast them";
                Self::new(found, valid, help).once_per_model()
            }
            BuildError::FoldedElements { elements, most } => {
                let found =
                    format!("operations on constants compute {elements} elements and products");
                let valid = format!(
                    "{MOST_FOLDED} and {FOLDS_PER_BYTE} for each byte of the model's constants: \
                     {most} or fewer, all together"
                );
                let help = "compute the constants before the model is saved";
                Self::new(found, valid, help).once_per_model()
            }
        }
    }
}
