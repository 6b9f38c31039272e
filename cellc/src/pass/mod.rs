//! Passes: each takes a body and leaves one that computes the same, in the sense that its text states.

mod expand;
mod split;
mod unroll;

pub use expand::expand;
pub use split::split;
pub use unroll::unroll;
