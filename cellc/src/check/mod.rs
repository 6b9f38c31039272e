//! The checks of a model, whatever reader made the model: ranks, types, shapes, options, states and
//! limits. [`crate::compile`] lists the passes in order.
//!
//! * Before the translation: `options` alone, then `structure` and `inputs`.
//! * Called by [`crate::translate`]: `cell` checks all attributes and inputs of recurrent nodes.
//!   Rules for one other operation stand beside its translation.
//! * After the translation: `states` words the findings of [`crate::stream`], `steps` its proof for
//!   an open number of steps, `streams` precedes the rows of independent streams.
//! * With all rows: `integers`, `size_limits`, `precision`, `threads`, `common_interface`. After
//!   these checks, nothing can fail.
//! * `steps` words the errors of a model with an open number of steps. `hints` runs the pipeline
//!   with the shapes and options that a message proposes.

mod batch_axes;
pub(crate) mod cell;
mod common_interface;
mod hints;
mod input_shapes;
pub(crate) mod input_sizes;
mod inputs;
mod integers;
pub(crate) mod names;
pub(crate) mod options;
mod precision;
mod pytorch_export;
pub(crate) mod report;
mod sequence_axes;
pub(crate) mod shape;
pub(crate) mod size_limits;
mod states;
pub(crate) mod step_facts;
pub(crate) mod steps;
mod streams;
mod structure;
mod subject;
#[cfg(test)]
mod tests;
mod threads;
mod uses;

#[cfg(test)]
pub(crate) use cell::{CLIPS, NOT_FINITE, PARAMETERS_OF_ACTIVATIONS, WRONG_HIDDEN_SIZES};
pub(crate) use common_interface::common_interface;
pub(crate) use hints::{Hints, notice_batch_named_steps};
pub(crate) use inputs::inputs;
pub(crate) use integers::limits_of_integers;
pub(crate) use names::parameter_names;
pub(crate) use options::{Unused, numbers, options};
pub(crate) use precision::precision;
pub(crate) use size_limits::{interface_size, source_size, total_size};
pub(crate) use states::{states, wanted_states};
pub(crate) use steps::{OpenSteps, advised, distinct_steps, open_steps, proven};
pub(crate) use streams::streams;
pub(crate) use structure::structure;
pub(crate) use subject::{CheckContext, CheckResult, CheckedModel, Outcome, Pipeline};
pub(crate) use threads::threads;
