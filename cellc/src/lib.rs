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

// The stages of the compiler and their data. `compile` lists the stages in order.
mod arch;
mod check;
mod compilation;
mod compile;
mod core;
mod diagnostic;
mod emit;
mod encoding;
mod front;
#[cfg(feature = "builder")]
mod header;
mod kernel;
mod lower;
mod math;
mod model;
mod model_names;
mod numerics;
mod pack;
mod pass;
mod plan;
mod random;
mod request;
mod rules;
mod stream;
mod summary;
mod translate;

// The value of a model in float64, and bounds of the errors of generated code.
#[cfg(feature = "builder")]
mod bound;
#[cfg(feature = "builder")]
mod evaluate;
#[cfg(feature = "builder")]
mod free_run;
#[cfg(feature = "builder")]
mod reference;

// The interfaces for build scripts and macros.
#[cfg(feature = "builder")]
mod builder;
#[cfg(feature = "builder")]
mod description;
#[cfg(feature = "builder")]
mod error;
#[cfg(feature = "builder")]
mod estimate;
mod expand;
#[cfg(feature = "builder")]
mod files;
#[cfg(feature = "builder")]
mod temporary;

// The tools around the compiler: the command, measurements and reports. A test of the layering
// checks that no module above imports them.
#[cfg(feature = "cli")]
mod cli;
#[cfg(feature = "cli")]
mod harness;
#[cfg(feature = "report")]
#[doc(hidden)]
pub mod playground;
#[cfg(feature = "report")]
mod report;
#[cfg(feature = "cli")]
mod timing;

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
