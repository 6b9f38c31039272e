//! Rules that `check` and `translate` share: what cells, sizes and names may be, and the words of
//! refusals.

pub(crate) mod cell;
pub(crate) mod input_sizes;
pub(crate) mod names;
pub(crate) mod report;
pub(crate) mod shape;
pub(crate) mod size_limits;
pub(crate) mod step_facts;
pub(crate) mod unused;
