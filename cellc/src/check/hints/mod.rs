//! Hints: shapes, options and exports that a message proposes. A hint is given only if the model is
//! right with it.

use crate::check::input_sizes::InputSizes;
use crate::check::step_facts::StepFacts;
use crate::check::subject::{Judgement, Subject};

mod file_change;
mod open_steps;
mod rows_as_steps;
mod shapes;
mod single_steps;

pub(super) use open_steps::MOST_CHOICES;
pub(crate) use rows_as_steps::notice_batch_named_steps;
pub(super) use shapes::Shapes;

/// What hints read: the model under its options, the inputs, and the facts about its steps.
#[derive(Clone, Copy)]
pub(crate) struct Hints<'c, 'a> {
    pub(crate) subject: Subject<'a>,
    pub(crate) inputs: &'c InputSizes,
    pub(crate) steps: &'c StepFacts<'a>,
}

impl<'a> Judgement<'a> {
    /// The hints that these results allow.
    pub(crate) fn hints(&self) -> Hints<'_, 'a> {
        Hints { subject: self.subject, inputs: &self.inputs, steps: &self.steps }
    }
}
