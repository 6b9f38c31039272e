//! Who is timed: anything that can run a workload step by step.

mod c;
mod naive;
mod rust;

use crate::workload::Workload;

/// One implementation of one workload, with its state.
pub(crate) trait Contender {
    /// The language or library.
    fn name(&self) -> &str;

    /// The instruction set, if it is known: the floor that it is held against.
    fn isa(&self) -> Option<&str>;

    /// State zero.
    fn reset(&mut self);

    /// One step: `x`, input_size long, and the state give the new state, which is the output too.
    fn step(&mut self, x: &[f32], out: &mut [f32]);

    /// `steps` steps over the rows of `inputs`, again and again: what is timed.
    fn run(&mut self, inputs: &[f32], steps: usize);
}

/// Everyone who computes a workload.
pub(crate) fn contenders(workload: &Workload) -> Vec<Box<dyn Contender>> {
    let mut all = rust::kernels(workload);
    all.extend(c::kernels(workload));
    all.push(Box::new(naive::Naive::new(workload)));
    all
}

/// Whether the build found a C compiler.
pub(crate) const HAS_C: bool = cfg!(c_kernels);
