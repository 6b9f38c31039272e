//! The machine that runs the generated code.

use super::{CommandWords, Options};
use crate::arch::{Arch, Isa};

/// The number of threads of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Threads {
    /// One thread: the caller.
    #[default]
    One,
    /// The caller and a helper thread, if the planner expects less time. Results have equal bits.
    /// Generated Rust then needs std, generated C pthreads.
    Two,
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

impl Machine {
    /// The options that differ from their defaults.
    pub(super) fn given(&self, words: &mut CommandWords) {
        let Self { target, isas, threads } = self;
        if target.name != Self::default().target.name {
            words.option("--target", target.name);
        }
        if let Some(isas) = isas {
            words.option("--isa", &isas.iter().map(|isa| isa.name).collect::<Vec<_>>().join(","));
        }
        match threads {
            Threads::One => {}
            Threads::Two => words.option("--threads", "2"),
        }
    }
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
