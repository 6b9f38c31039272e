//! The machine that runs the generated code.

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

settings! {
    /// The machine that runs the generated code.
    Machine in machine {
        /// The target: decides the instruction sets of the file, and the machine for which the
        /// planner chooses sizes.
        target, with_target: &'static Arch;
        /// The instruction sets to add to the baseline. `None`: all of the target.
        isas, with_isas: Option<Vec<&'static Isa>>;
        /// The number of threads of a step.
        threads, with_threads: Threads;
    }
}
