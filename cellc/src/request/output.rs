//! What is written, and how it is called.

use std::path::PathBuf;

use super::{Options, Words};
use crate::arch::Arch;

/// The language of generated code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Language {
    /// Rust, editions 2015 to 2024, no_std.
    #[cfg_attr(feature = "cli", value(help = None::<&str>))]
    #[default]
    Rust,
    /// C11 and its header.
    #[cfg_attr(feature = "cli", value(help = None::<&str>))]
    C,
}

impl Language {
    /// The name in messages and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::C => "C",
        }
    }

    /// The language of plans and costs for a target: C for a machine with a C compiler of its own,
    /// where Rust has no fused multiply-add.
    #[cfg(feature = "cli")]
    pub(crate) fn of_target(arch: &Arch) -> Self {
        if arch.c_compiler.is_empty() { Self::Rust } else { Self::C }
    }

    /// The extension of a source file.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Self::Rust => "rs",
            Self::C => "c",
        }
    }
}

/// Where to put the weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum WeightsAs {
    /// Up to 1 MiB in the source, else in a .bin file next to it.
    #[cfg_attr(feature = "cli", value(skip))]
    #[default]
    Auto,
    /// In the source.
    Inline,
    /// In a .bin file next to the source.
    File,
}

/// The files to write.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Output {
    /// The language.
    pub language: Language,
    /// The name of the type and of the function. `None`: the name of the model.
    pub name: Option<String>,
    /// Where to put the weights.
    pub weights_as: WeightsAs,
    /// The header file with the type of the tables of functions. `None`: generated C has no table.
    pub interface: Option<PathBuf>,
    /// Generated Rust implements the trait of cellc-runtime.
    pub runtime: bool,
}

impl Output {
    /// The options that differ from their defaults and that the files do not show.
    pub(super) fn given(&self, words: &mut Words) {
        let Self { language: _, name: _, weights_as: _, interface: _, runtime } = self;
        if *runtime {
            words.switch("--runtime");
        }
    }
}

impl Options {
    /// Sets the language.
    #[must_use]
    pub fn with_language(mut self, language: Language) -> Self {
        self.output.language = language;
        self
    }

    /// Sets the name of the type and of the function.
    #[must_use]
    pub fn with_name(mut self, name: Option<String>) -> Self {
        self.output.name = name;
        self
    }

    /// Sets the place of the weights.
    #[must_use]
    pub fn with_weights_as(mut self, weights_as: WeightsAs) -> Self {
        self.output.weights_as = weights_as;
        self
    }

    /// Sets the header file with the type of the tables of functions.
    #[must_use]
    pub fn with_interface(mut self, interface: Option<PathBuf>) -> Self {
        self.output.interface = interface;
        self
    }

    /// Sets whether generated Rust implements the trait of cellc-runtime.
    #[must_use]
    pub fn with_runtime(mut self, runtime: bool) -> Self {
        self.output.runtime = runtime;
        self
    }
}
