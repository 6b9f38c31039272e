//! cellc compiles recurrent networks to source.
//!
//! See `ARCHITECTURE.md` beside this crate for the map.

pub mod diagnostic;
pub mod kernel;
pub mod model;
pub mod options;
pub mod target;
