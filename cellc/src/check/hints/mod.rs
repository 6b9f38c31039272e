//! Hints: shapes, options and exports that a message proposes. The pipeline runs with each hint
//! first and must find no error, except for a new export that is advised untried.

use crate::check::subject::{CheckContext, CoreAtSize};
use crate::rules::input_sizes::InputSizes;
use crate::rules::step_facts::StepFacts;

mod file_change;
mod open_steps;
mod rows_as_steps;
mod shapes;
mod single_steps;

pub(super) use open_steps::MOST_CHOICES;
pub(crate) use rows_as_steps::notice_batch_named_steps;
pub(super) use shapes::Shapes;

/// The facts that hints read: the model under its options, the inputs, and the steps.
#[derive(Clone, Copy)]
pub(crate) struct HintContext<'c, 'a> {
    pub(crate) context: CheckContext<'a>,
    pub(crate) inputs: &'c InputSizes,
    pub(crate) steps: &'c StepFacts<'a>,
}

impl<'a> CoreAtSize<'a> {
    /// The hints for this model.
    pub(crate) fn hints(&self) -> HintContext<'_, 'a> {
        HintContext { context: self.context, inputs: &self.inputs, steps: &self.steps }
    }
}
