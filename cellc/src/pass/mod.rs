//! Passes: transformations of a body that keep its results, as each pass documents.

mod expand;
mod gather;
mod single;
mod split;
mod unroll;
mod zeros;

pub(crate) use expand::expand;
pub(crate) use gather::gather;
pub(crate) use single::single;
pub(crate) use split::split;
pub(crate) use unroll::unroll;
pub(crate) use zeros::{remove_zeros, zeros};
