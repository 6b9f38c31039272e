//! The generated files: language, names, place of the weights and interface.

use std::path::PathBuf;

use crate::arch::{Arch, EstimatedIn};

words! {
    /// The language of generated code.
    pub enum Language {
        /// Rust, editions 2015 to 2024, no_std.
        Rust = "rust",
        /// C11 and its header.
        C = "c",
    }
}

impl Language {
    /// The name in messages and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "Rust",
            Self::C => "C",
        }
    }

    /// The language of plans and costs for a target.
    pub(crate) fn of_target(arch: &Arch) -> Self {
        match arch.estimated_in {
            EstimatedIn::Rust => Self::Rust,
            EstimatedIn::C => Self::C,
        }
    }

    /// The extension of a source file.
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Self::Rust => "rs",
            Self::C => "c",
        }
    }
}

words! {
    /// Where to put the weights.
    #[non_exhaustive]
    pub enum WeightsAs {
        /// Up to 1 MiB in the source, else in a .bin file next to the source.
        Auto = "auto",
        /// In the source.
        Inline = "inline",
        /// In a .bin file next to the source.
        File = "file",
        /// In a file of `cellc pack`, loaded by the program.
        RunTime = "run-time",
    }
}

settings! {
    /// The files to write.
    Output in output {
        /// The language.
        language, with_language: Language;
        /// The name of the type and of the function. `None`: the name of the model.
        name, with_name: Option<String>;
        /// Where to put the weights.
        weights_as, with_weights_as: WeightsAs;
        /// The header file that declares the struct of function pointers. `None`: generated C
        /// defines no such struct.
        interface, with_interface: Option<PathBuf>;
        /// True if generated Rust implements the trait of cellc-runtime.
        runtime, with_runtime: bool;
    }
}
