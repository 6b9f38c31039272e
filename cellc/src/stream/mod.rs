//! The analysis of time in core models: changes of tensors from call to call, states, and models of
//! one step for an open number of steps.

pub(crate) mod dependence;
mod flow;
pub(crate) mod states;
pub(crate) mod steps;
