//! Options without effect.

use crate::diagnostic::{Diagnostic, Origin, message};
use crate::request::{Precision, flag};

/// An option without effect on the model, with the reason. The pass that finds the reason adds the
/// warning to the diagnostics.
pub(crate) enum Unused {
    /// The batch size: no input has an open batch.
    Batch,
    /// The limit for iterations: no loop ends by its condition alone.
    MaxSteps,
    /// The option against states: the states of a model with open steps are always kept.
    NoState,
    /// The precision: no layer has a matrix for it.
    Precision(Precision),
    /// The second thread: no cell is shared. One reason for each cell.
    SecondThread(Vec<String>),
}

impl Unused {
    /// The warning.
    pub(crate) fn warning(self) -> Diagnostic {
        let warning = |found| Diagnostic::warning(Origin::Unknown, found);
        match self {
            Self::Batch => warning(
                "the batch size that was given has no effect: the model leaves the batch of no \
                 input open"
                    .into(),
            ),
            Self::MaxSteps => warning(message!(
                "{} has no effect: no loop of the model needs a largest count",
                flag::MAX_STEPS.setting()
            )),
            Self::NoState => warning(message!(
                "{} has no effect where the number of steps is open: the state goes on from call \
                 to call",
                flag::NO_STATE.setting()
            ))
            .help("call reset before each sequence, or fix the number of steps"),
            Self::Precision(precision) => warning(message!(
                "{} has no effect: no layer of the model has a matrix for {}",
                flag::PRECISION.setting(),
                precision.name()
            )),
            Self::SecondThread(reasons) => {
                let why = reasons.join("; ");
                warning(
                    format!("a second thread has nothing to do, as no cell is shared: {why}")
                        .into(),
                )
            }
        }
    }
}
