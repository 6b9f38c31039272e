#![doc = include_str!("../README.md")]
#![no_std]

use core::ops::{Deref, DerefMut};

#[cfg(feature = "macros")]
pub use cellc_macros::{
    augru_cell, augru_sequence, gru, gru_cell, gru_sequence, lstm_cell, lstm_sequence, rnn_cell,
    rnn_sequence,
};

/// A compiled model that holds its state between steps.
///
/// Types from macros and `cellc::Builder` implement this trait. Their inherent methods have equal
/// names, so code with a concrete type needs no trait in scope. Generic code over all models of a
/// shape uses the trait:
///
/// ```
/// use cellc_runtime::Cell;
///
/// /// Runs a cell with 16 inputs and one row of 128 outputs over a block of frames; keeps the last output.
/// fn run<C>(cell: &mut C, frames: &[[f32; 16]]) -> [f32; 128]
/// where
///     C: for<'a> Cell<Input<'a> = &'a [f32; 16], Output = [f32; 128]>,
/// {
///     let mut output = C::zeroed_output();
///     for frame in frames {
///         cell.step(frame, &mut output);
///     }
///     output
/// }
/// ```
///
/// `step` and `reset` do not allocate, block or panic. Their time does not depend on values, except
/// for denormal numbers, so a real-time thread may call both.
pub trait Cell {
    /// The inputs of a step, without states. One input: a reference to its array (`&'a [f32; I]`,
    /// for a batch `&'a [[f32; I]; N]`). Several inputs: a reference to a struct of references. No
    /// input: `()`.
    type Input<'a>;

    /// The outputs of a step. One output: its array. Several outputs: a struct of arrays.
    type Output;

    /// The inputs of a step in the order of the model, without states.
    const INPUTS: &'static [Port];

    /// The outputs of a step in the order of the model.
    const OUTPUTS: &'static [Port];

    /// The states kept between steps: state inputs, then variables, each in the order of the model.
    const STATES: &'static [Port];

    /// An output of zeros, to be overwritten by `step`.
    #[must_use]
    fn zeroed_output() -> Self::Output;

    /// Computes one step: reads `input` and the state, writes all of `output`, and keeps the new
    /// state.
    fn step(&mut self, input: Self::Input<'_>, output: &mut Self::Output);

    /// Sets every state to its initial value: for variables the initial value of the model,
    /// otherwise zero.
    fn reset(&mut self);

    /// The instruction set of the steps: `generic`, `avx2`, ...
    #[must_use]
    fn isa_name(&self) -> &'static str;
}

/// The element type of a [`Port`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Element {
    /// f32.
    F32,
    /// i32: lengths of sequences and other integers.
    I32,
    /// i64: lengths of sequences and other integers.
    I64,
    /// bool.
    Bool,
}

/// Name and shape of an input, output or state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// The name of the argument or field.
    pub name: &'static str,
    /// The sizes, outermost first; `[N, I]` has N rows of I elements.
    pub shape: &'static [usize],
    /// The element type.
    pub element: Element,
}

impl Port {
    /// The number of elements.
    #[must_use]
    pub const fn len(&self) -> usize {
        let mut len = 1;
        let mut i = 0;
        while i < self.shape.len() {
            len *= self.shape[i];
            i += 1;
        }
        len
    }

    /// True if the port has no elements. No compiled model has an empty port.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Storage that starts at a multiple of 64 bytes: a cache line, and the widest vector of any
/// instruction set.
///
/// No kernel needs aligned inputs; vectors that do not straddle cache lines load faster.
///
/// ```
/// use cellc_runtime::Aligned;
///
/// static WINDOW: Aligned<[f32; 480]> = Aligned([0.0; 480]);
/// assert_eq!(WINDOW.as_ptr().addr() % 64, 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(C, align(64))]
pub struct Aligned<T: ?Sized>(pub T);

impl<T: ?Sized> Deref for Aligned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> DerefMut for Aligned<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// Includes generated code of `cellc::Builder`: `include_model!("denoiser")` is the text of
/// `$OUT_DIR/denoiser.rs`.
///
/// Every generated file defines types such as `Isa`, so two models in one crate each want a module:
///
/// ```text
/// mod denoiser {
///     cellc_runtime::include_model!("denoiser");
/// }
/// mod vad {
///     cellc_runtime::include_model!("vad");
/// }
/// ```
///
/// The file calls intrinsics of `core::arch`, and functions for one instruction set, in `unsafe`
/// blocks that state their reasons. In a crate that denies `unsafe_code`, allow it on these
/// modules, or declare the cell by a macro.
#[macro_export]
macro_rules! include_model {
    ($name:literal $(,)?) => {
        ::core::include!(::core::concat!(::core::env!("OUT_DIR"), "/", $name, ".rs"));
    };
}
