//! The machine that runs the generated code.

use super::Options;
use crate::arch::{Arch, Isa};

words! {
    /// The number of threads of a step.
    #[non_exhaustive]
    pub enum Threads {
        /// One thread: the caller.
        One = "1",
        /// The caller and a helper thread, if the planner expects less time. Results have equal
        /// bits. Generated Rust then needs std, generated C pthreads.
        Two = "2",
    }
}

/// The machine that runs the generated code.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Machine {
    /// The target: the instruction sets of the file, and the machine to choose sizes for.
    pub target: &'static Arch,
    /// The instruction sets to add to the baseline. `None`: all of the target.
    pub isas: Option<Vec<&'static Isa>>,
    /// The number of threads of a step.
    pub threads: Threads,
}

setters! {
    Options;
    /// Sets the target.
    with_target(machine.target: &'static Arch);
    /// Sets the instruction sets to add to the baseline.
    with_isas(machine.isas: Option<Vec<&'static Isa>>);
    /// Sets the number of threads of a step.
    with_threads(machine.threads: Threads);
}
