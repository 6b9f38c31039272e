//! The integration tests of cellc: one program, so that the compiler is linked once.
//!
//! The feature `full` adds the tests that only CI runs: every case through rustc and gcc, other
//! machines, counts of instructions, random models. Without the feature, `cargo test` takes a few
//! minutes and needs no tool beyond a C compiler.

mod book;
mod cli;
mod conformance;
mod delay_lines;
mod depth;
mod documents;
mod integers;
mod kernels;
mod lengths;
mod limits;
mod macros;
mod onnx;
mod reference;
mod reference_pages;
mod stages;
mod steps;
mod streams;
mod tidy;
mod ui;
mod useful_bounds;
mod weights_files;

#[cfg(feature = "full")]
mod amplifiers;
#[cfg(feature = "full")]
mod architectures;
#[cfg(feature = "full")]
mod c;
#[cfg(feature = "full")]
mod cmake;
#[cfg(feature = "full")]
mod common_interface;
#[cfg(feature = "full")]
mod denormals;
#[cfg(feature = "full")]
mod editions;
#[cfg(feature = "full")]
mod examples;
#[cfg(feature = "full")]
mod firmware;
#[cfg(feature = "full")]
mod in_place;
#[cfg(feature = "full")]
mod instructions;
#[cfg(feature = "full")]
mod machines;
#[cfg(feature = "full")]
mod misra;
#[cfg(feature = "full")]
mod names;
#[cfg(feature = "full")]
mod no_panic;
#[cfg(feature = "full")]
mod not_finite;
#[cfg(feature = "full")]
mod packages;
#[cfg(feature = "full")]
mod pictures;
#[cfg(feature = "full")]
mod playground;
#[cfg(feature = "full")]
mod proofs;
#[cfg(feature = "full")]
mod random_models;
#[cfg(feature = "full")]
mod run_time_weights;
#[cfg(feature = "full")]
mod sparse;
#[cfg(feature = "full")]
mod states;
#[cfg(feature = "full")]
mod ten_million_weights;
#[cfg(feature = "full")]
mod threads;
#[cfg(feature = "full")]
mod tiles;
#[cfg(feature = "full")]
mod user_crate;
#[cfg(feature = "full")]
mod wasm;
