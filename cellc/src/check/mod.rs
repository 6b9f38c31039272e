//! The checks of a model, whatever reader made the model: ranks, types, shapes, options, states and
//! limits.
//!
//! Rules for a whole model, its inputs, cells and options stand here; rules for one operation stand
//! beside its translation, in [`crate::simplify`]. After both, nothing can fail.

mod axes;
mod axis_inputs;
mod batch;
pub(crate) mod cell;
pub(crate) mod checker;
mod choices;
mod common_interface;
mod export;
pub(crate) mod findings;
pub(crate) mod history;
mod inputs;
pub(crate) mod integers;
pub(crate) mod interface;
mod judge;
mod language_alone;
mod large;
pub(crate) mod limits;
mod mistaken;
mod one_step;
mod parameters;
mod precision;
pub(crate) mod shape;
mod states;
pub(crate) mod steps;
mod structure;
#[cfg(test)]
mod tests;
mod threads;
mod trials;
mod uses;
mod variables;

#[cfg(test)]
pub(crate) use cell::{CLIPS, PARAMETERS_OF_ACTIVATIONS};
pub(crate) use interface::parameter_names;
pub(crate) use judge::{judge, problems};
