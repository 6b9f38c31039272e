//! Who is timed: anything that can run a workload call by call.

mod c;
mod naive;
mod onnx;
mod peer;
mod rust;

use std::time::Duration;

use crate::workload::{Variant, Workload};

/// One implementation of one workload, with its state, over the workload's inputs again and again.
pub(crate) trait Contender {
    /// The language or library.
    fn name(&self) -> &str;

    /// The instruction set, if it is known: the floor that it is held against.
    fn isa(&self) -> Option<&str> {
        None
    }

    /// Its version, of another's library.
    fn version(&self) -> &str {
        ""
    }

    /// What it computes.
    fn variant(&self) -> Variant {
        Variant::Itself
    }

    /// State zero, the first input.
    fn reset(&mut self) -> Result<(), String>;

    /// One call: the output.
    fn call(&mut self) -> Result<Vec<f32>, String>;

    /// Several calls: how long they took.
    fn run(&mut self, calls: usize) -> Result<Duration, String>;
}

/// Everyone of this repository who computes a workload.
pub(crate) fn contenders(workload: &Workload) -> Vec<Box<dyn Contender>> {
    let mut all = rust::kernels(workload);
    all.extend(c::kernels(workload));
    // where a call takes tens of milliseconds, the rounds are better spent
    if workload.multiply_adds() < 2_000_000 {
        all.push(Box::new(naive::Naive::new(workload)));
    }
    all
}

/// Other libraries, and the files that they read.
pub(crate) struct Peers {
    pub(crate) all: Vec<Box<dyn Contender>>,
    /// Who does not take part, and why.
    pub(crate) absent: Vec<(String, String)>,
    _files: peer::Files,
}

impl Peers {
    /// Those that are installed.
    ///
    /// # Errors
    /// If their files cannot be written.
    pub(crate) fn start(workload: &Workload) -> Result<Self, String> {
        let files = peer::Files::new(workload).map_err(|error| format!("files for other libraries: {error}"))?;
        let (all, absent) = peer::peers(workload, &files);
        Ok(Self { all, absent, _files: files })
    }
}

/// Whether the build found a C compiler.
pub(crate) const HAS_C: bool = cfg!(c_kernels);
