//! cellc compiles recurrent networks to source.
//!
//! See `ARCHITECTURE.md` beside this crate for the map.

pub mod activation;
pub mod bound;
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
pub mod reference;
pub mod target;
pub mod validate;

mod error;
mod expand;

pub use error::Error;
pub use front::builder::Builder;
pub use model::{Activation, Model};
pub use options::{Fma, Language, Options, Range, State, Unroll, WeightsAs};
pub use target::Isa;

/// What the macro crate calls.
#[doc(hidden)]
pub mod macros {
    pub use crate::expand::expand;
    pub use crate::front::declaration::Macro;
}
