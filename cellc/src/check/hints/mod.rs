//! Hints: shapes, options and exports that a message proposes. A hint is given only if the model is
//! right with it.

mod export;
mod open_steps;
mod rows_as_steps;
mod shapes;
mod single_steps;

use super::findings::{InputSizes, StepFacts};
use super::judge::Subject;

pub(super) use export::export_again;
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
