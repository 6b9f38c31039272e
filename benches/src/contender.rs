//! Who is timed: anything that can run a workload call by call.

mod c;
mod naive;
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

/// Everyone who computes a workload.
pub(crate) fn contenders(workload: &Workload) -> Vec<Box<dyn Contender>> {
    let mut all = rust::kernels(workload);
    all.extend(c::kernels(workload));
    // where a call takes tens of milliseconds, the rounds are better spent
    if workload.multiply_adds() < 2_000_000 {
        all.push(Box::new(naive::Naive::new(workload)));
    }
    all
}

/// Whether the build found a C compiler.
pub(crate) const HAS_C: bool = cfg!(c_kernels);
