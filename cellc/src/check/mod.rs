//! The checks of a model, whatever reader made the model: ranks, types, shapes, options, states and
//! limits. [`crate::compile`] lists the passes in order.
//!
//! * Before the translation: `structure`, the numbers of `options`, and `inputs`.
//! * [`crate::rules`] has the rules that the translation asks too. Rules for one operation stand
//!   beside its translation.
//! * After the translation: `states` puts the findings of [`crate::stream`] into words, and
//!   `options` checks the options alone. `steps` puts the errors of a model with an open number of
//!   steps into words. `rows` checks a model before each independent stream or channel becomes a
//!   row.
//! * With all rows: `integers`, `precision`, `threads`, `common_interface`, `loaded_weights`. After
//!   these checks, nothing can fail.
//! * `hints` runs the pipeline with the shapes and options that a message proposes.

mod batch_axes;
mod common_interface;
mod hints;
mod input_shapes;
mod inputs;
mod integers;
mod loaded_weights;
pub(crate) mod options;
mod precision;
mod pytorch_export;
mod rows;
mod sequence_axes;
mod states;
pub(crate) mod steps;
mod structure;
mod subject;
#[cfg(test)]
mod tests;
mod threads;
mod unrounded;
mod uses;

pub(crate) use common_interface::common_interface;
pub(crate) use hints::{HintContext, notice_batch_named_steps};
pub(crate) use inputs::inputs;
pub(crate) use integers::limits_of_integers;
pub(crate) use loaded_weights::loaded_weights;
pub(crate) use options::{numbers, options};
pub(crate) use precision::precision;
pub(crate) use rows::rows;
pub(crate) use states::{states, wanted_states};
pub(crate) use steps::{OpenSteps, advised, distinct_steps, open_steps, proven};
pub(crate) use structure::structure;
pub(crate) use subject::{CheckContext, CheckedCore, CoreAtSize, Outcome, Pipeline};
pub(crate) use threads::threads;
