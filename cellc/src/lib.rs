#![doc = include_str!("../README.md")]

#[doc(hidden)]
pub mod activation;
#[doc(hidden)]
pub mod bound;
#[doc(hidden)]
pub mod compile;
#[doc(hidden)]
pub mod diagnostic;
#[doc(hidden)]
pub mod emit;
#[doc(hidden)]
pub mod encoding;
#[doc(hidden)]
pub mod files;
#[doc(hidden)]
pub mod front;
#[doc(hidden)]
pub mod kernel;
#[doc(hidden)]
pub mod lower;
#[doc(hidden)]
pub mod model;
#[doc(hidden)]
pub mod options;
#[doc(hidden)]
pub mod pack;
#[doc(hidden)]
pub mod pass;
#[doc(hidden)]
pub mod plan;
#[doc(hidden)]
pub mod random;
#[doc(hidden)]
pub mod reference;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod report;
pub mod target;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod timing;
#[doc(hidden)]
pub mod validate;

mod error;
mod evaluate;
mod expand;
mod free_run;
mod header;
mod interface;

pub use error::{Error, ErrorKind};
pub use front::apple::AppleResetGate;
pub use front::builder::Builder;
pub use front::layout::{Framework, GateOrder};
pub use model::{Activation, ActivationError, Direction, LstmGateOrder, Model};
pub use options::{Accuracy, Fma, Language, Options, Range, State, Threads, Tuning, Unroll, WeightFormat, WeightsAs};
pub use target::Isa;

/// What the macro crate calls.
#[doc(hidden)]
pub mod macros {
    pub use crate::expand::expand;
    pub use crate::front::declaration::Macro;
}
