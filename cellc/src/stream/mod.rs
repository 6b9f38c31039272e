//! Time in core models: which tensors change from call to call, what states are, and whether one
//! step of a model can be repeated for every step of a sequence.

pub(crate) mod dependence;
mod flow;
pub(crate) mod states;
pub(crate) mod steps;
