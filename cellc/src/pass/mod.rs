//! Passes: each takes a body and leaves one that computes the same, in the sense that its text
//! states.

mod expand;
mod gather;
mod split;
mod unroll;

pub(crate) use expand::expand;
pub(crate) use gather::gather;
pub(crate) use split::split;
pub(crate) use unroll::unroll;
