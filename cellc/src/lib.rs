#![doc = include_str!("../README.md")]

pub mod arch;
#[cfg(feature = "builder")]
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
#[cfg(feature = "builder")]
#[doc(hidden)]
pub mod files;
#[doc(hidden)]
pub mod front;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod harness;
#[doc(hidden)]
pub mod kernel;
#[doc(hidden)]
pub mod model;
#[doc(hidden)]
pub mod options;
#[doc(hidden)]
pub mod pack;
#[doc(hidden)]
pub mod plan;
#[cfg(any(test, feature = "builder"))]
#[doc(hidden)]
pub mod random;
#[cfg(any(test, feature = "builder"))]
#[doc(hidden)]
pub mod reference;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod report;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod timing;
#[doc(hidden)]
pub mod validate;

#[cfg_attr(not(any(test, feature = "builder")), allow(dead_code, reason = "macros state no errors"))]
mod activation;
#[cfg(feature = "builder")]
mod builder;
#[cfg(feature = "builder")]
mod error;
#[cfg(any(test, feature = "builder"))]
mod evaluate;
mod expand;
#[cfg(feature = "builder")]
mod free_run;
#[cfg(feature = "builder")]
mod header;
mod interface;
mod lower;
mod pass;
mod summary;

pub use arch::Isa;
#[cfg(feature = "builder")]
pub use builder::Builder;
#[cfg(feature = "builder")]
pub use error::{Error, ErrorKind};
pub use front::apple::AppleResetGate;
pub use front::layout::{Framework, GateOrder};
pub use model::{Activation, ActivationError, Direction, LstmGateOrder, Model};
pub use options::{Accuracy, Fma, Language, Options, Range, State, Threads, Tuning, Unroll, WeightFormat, WeightsAs};

/// What the macro crate calls.
#[doc(hidden)]
pub mod macros {
    pub use crate::expand::expand;
    pub use crate::front::keys::Macro;
}
