//! The user's request: bindings, output, machine, numerics and tuning.

/// Defines a part of the options. A row has a doc comment, the name of a field, the name of the
/// method of [`Options`] that sets the field, and the field's type.
macro_rules! settings {
    ($(#[$of_struct:meta])* $name:ident in $part:ident {
        $($(#[$doc:meta])* $field:ident, $with:ident: $type:ty;)*
    }) => {
        $(#[$of_struct])*
        #[derive(Clone, Debug, Default, PartialEq)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl $crate::request::Options {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $with(mut self, value: $type) -> Self {
                    self.$part.$field = value;
                    self
                }
            )*
        }
    };
}

#[macro_use]
mod word_enums;

mod bindings;
pub mod flag;
mod flag_field;
mod machine;
mod numerics;
mod output;
mod precision;
mod tuning;

pub use bindings::{Bindings, NamedSize, State};
pub(crate) use bindings::{is_size, size_text};
pub use machine::{Machine, Threads};
pub use numerics::{Accuracy, Fma, Numerics, Range};
pub use output::{Language, Output, WeightsAs};
pub use precision::Precision;
pub use tuning::{TUNING_KEYS, Tuning, TuningKey, Unroll};
pub(crate) use word_enums::listed;
pub use word_enums::{Word, Words};

use crate::arch::Isa;

/// The options of the generated code. The defaults are right for most models.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// Sizes, constants and states left open by the model.
    pub bindings: Bindings,
    /// The files to write.
    pub output: Output,
    /// The machine that runs the generated code.
    pub machine: Machine,
    /// The arithmetic, and the ranges of the error bound.
    pub numerics: Numerics,
    /// Decisions of the planner.
    pub tuning: Tuning,
}

impl Options {
    /// The options different from their defaults, as words of the command line. Language, name,
    /// place of the weights and common interface are left out: the files show these options.
    pub fn given(&self) -> Vec<String> {
        flag::given(self)
    }

    /// Stores the options that [`Self::given`] lists. `None` if an option or a value is unknown, as
    /// in a file by another version of cellc.
    pub fn take(&mut self, words: &[String]) -> Option<()> {
        flag::take(self, words)
    }

    /// True if C is written without extensions of compilers.
    pub(crate) fn c_only(&self) -> bool {
        self.output.language == Language::C && !self.machine.target.c.extensions
    }

    /// True if C takes extensions of compilers for the place of the weights or for threads.
    pub(crate) fn needs_extensions(&self) -> bool {
        let Self { output, machine, .. } = self;
        let is_needed = output.weights_as == WeightsAs::File || machine.threads == Threads::Two;
        output.language == Language::C && is_needed
    }

    /// The instruction sets of the target that the language can express: the baseline, then from
    /// the least to the best.
    pub fn known_isas(&self) -> impl Iterator<Item = &'static Isa> {
        let (language, threads) = (self.output.language, self.machine.threads);
        let known = move |isa: &&'static Isa| {
            // vector units that flush denormals need a check for flushed denormals, which two
            // threads cannot share
            let checked = isa.c.flushes.is_none() || threads == Threads::One;
            checked
                && isa.condition().is_none_or(|condition| match language {
                    Language::C => !condition.c.is_empty(),
                    Language::Rust => !condition.rust.is_empty(),
                })
        };
        std::iter::once(self.machine.target.baseline)
            .chain(self.machine.target.isas.iter().copied())
            .filter(known)
    }
}
