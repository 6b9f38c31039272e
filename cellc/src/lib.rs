//! cellc compiles recurrent networks to source.
//!
//! See `ARCHITECTURE.md` beside this crate for the map.

pub mod activation;
pub mod compile;
pub mod diagnostic;
pub mod emit;
pub mod front;
pub mod kernel;
pub mod lower;
pub mod model;
pub mod options;
pub mod pack;
pub mod pass;
pub mod plan;
pub mod target;
pub mod validate;
