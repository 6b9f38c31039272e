#![doc = include_str!("../README.md")]
#![cfg_attr(
    not(feature = "internals"),
    allow(
        dead_code,
        unused_imports,
        unreachable_pub,
        reason = "tests and benches use all of it, by `internals`"
    )
)]

mod activation;
mod arch;
#[cfg(feature = "builder")]
mod bound;
#[cfg(feature = "builder")]
mod builder;
mod check;
#[cfg(feature = "cli")]
mod cli;
mod compilation;
mod compile;
mod core;
#[cfg(feature = "builder")]
mod description;
mod diagnostic;
mod emit;
mod encoding;
#[cfg(feature = "builder")]
mod error;
#[cfg(feature = "builder")]
mod estimate;
#[cfg(feature = "builder")]
mod evaluate;
mod expand;
#[cfg(feature = "builder")]
mod files;
#[cfg(feature = "builder")]
mod free_run;
mod front;
#[cfg(feature = "cli")]
mod harness;
#[cfg(feature = "builder")]
mod header;
mod kernel;
mod lower;
mod model;
mod model_names;
mod numerics;
mod pack;
mod pass;
mod plan;
#[cfg(feature = "report")]
#[doc(hidden)]
pub mod playground;
mod random;
#[cfg(feature = "builder")]
mod reference;
#[cfg(feature = "report")]
mod report;
mod request;
mod rules;
mod stream;
mod summary;
#[cfg(feature = "builder")]
mod temporary;
#[cfg(feature = "cli")]
mod timing;
mod translate;

pub use arch::{Arch, Isa};
#[cfg(feature = "builder")]
pub use builder::Builder;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub use cli::command;
#[cfg(feature = "builder")]
pub use error::{Error, ErrorKind};
pub use front::apple::AppleResetGate;
pub use front::layout::{Framework, GateOrder};
pub use model::{Activation, ActivationError, Direction, LstmGateOrder, Model, ModelSize};
pub use request::{
    Accuracy, Fma, Language, NamedSize, Options, Precision, Range, State, Threads, Tuning, Unroll,
    WeightsAs,
};

/// The interface for the macro crate.
#[doc(hidden)]
pub mod macros {
    pub use crate::expand::expand;
    pub use crate::front::keys::Macro;
}

/// The interface for cellc's tests and benches. Private without the feature `internals`.
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals {
    macro_rules! public {
        ($($module:ident)*) => { $(pub mod $module { pub use crate::$module::*; })* };
    }
    public! {
        arch bound compile core description diagnostic emit encoding estimate files front harness
        header kernel model numerics pack plan random reference report request timing
    }
}
