//! What a step costs on the target: what is known, what a compiler that is installed makes of the
//! code, and what is estimated.

use serde::Serialize;

use super::measured::Measured;
use crate::arch::Isa;
use crate::compile::Compilation;

/// What a step costs on the target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TargetCost {
    /// The target.
    pub target: &'static str,
    /// The compiler of which the estimates are.
    pub compiler: &'static str,
    /// The target, with the instruction set where its files have bodies for several.
    pub name: String,
    /// Of one step.
    pub multiply_adds: u64,
    /// Instructions of one step, an estimate for C by its compiler with -O2; none where nothing is
    /// known of the target.
    pub instructions_estimate: Option<u64>,
    /// What cannot change.
    pub flash: Flash,
    /// What can.
    pub ram: Ram,
    /// The compiler that measured the code, its constants and its stack; none: they are estimates,
    /// and such constants are not counted.
    pub measured_by: Option<String>,
    /// The compiler that would measure it, where it is installed; none is known for some targets.
    pub measurer: Option<&'static str>,
    /// Whether the target's compiler makes this code.
    pub measurable: bool,
    /// The time, where a clock was given.
    pub clock: Option<Clock>,
}

/// Bytes of what cannot change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Flash {
    /// Packed weights.
    pub weights: u64,
    /// Other constants.
    pub constants: u64,
    /// The code; none where it is neither measured nor estimated.
    pub code: Option<u64>,
    /// All of these.
    pub total: u64,
}

/// Bytes of what can change. The arrays of inputs and outputs are the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Ram {
    /// What is kept between steps.
    pub state: u64,
    /// Which instruction set the steps run on.
    pub isa: u64,
    /// Intermediate values.
    pub scratch: u64,
    /// Weights that are packed at run time.
    pub packed_weights: u64,
    /// The deepest chain of frames of a step, without those of the C library; none where it is
    /// neither measured nor estimated.
    pub stack: Option<u64>,
    /// All of these.
    pub total: u64,
}

/// A clock, and the least time of a step at it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Clock {
    /// Its frequency.
    pub hertz: f64,
    /// The most instructions that begin in a cycle.
    pub instructions_a_cycle: u64,
    /// The time of a step in which no cycle is lost. Wait states of the flash are not modelled.
    pub least_seconds: f64,
}

impl TargetCost {
    /// Of the body of an instruction set; `None` for a target that is no machine of its own.
    pub fn new(compilation: &Compilation, isa: &Isa, measured: Option<&Measured>) -> Option<Self> {
        let (estimate, arch) = (&compilation.estimate, compilation.options.machine.target);
        let estimated = estimate.code(isa);
        if estimated.is_none() && arch.c_compiler.is_empty() {
            return None;
        }
        let known = estimate.weight_bytes + estimate.constant_bytes;
        let constants = measured.map_or(known, |measured| measured.constants.max(known)) - estimate.weight_bytes;
        let code = measured.map(|m| m.code).or(estimated.map(|code| code.bytes));
        let stack = measured.map(|m| m.stack).or(estimated.map(|code| code.stack));
        let kept = estimate.state_bytes + estimate.isa_bytes + estimate.scratch_bytes + estimate.packed_bytes;
        Some(Self {
            target: arch.name,
            compiler: arch.instructions_of(isa).map_or("gcc", |known| known.compiler),
            name: estimate.named(arch.name, isa),
            multiply_adds: estimate.multiply_adds,
            instructions_estimate: estimated.map(|code| code.instructions),
            flash: Flash {
                weights: estimate.weight_bytes,
                constants,
                code,
                total: estimate.weight_bytes + constants + code.unwrap_or(0),
            },
            ram: Ram {
                state: estimate.state_bytes,
                isa: estimate.isa_bytes,
                scratch: estimate.scratch_bytes,
                packed_weights: estimate.packed_bytes,
                stack,
                total: kept + stack.unwrap_or(0),
            },
            measurer: arch.c_compiler.first().copied(),
            measurable: *isa == *arch.baseline || isa.c_flags.is_some(),
            measured_by: measured.map(|measured| measured.compiler.clone()),
            clock: None,
        })
    }

    /// With the time at a clock, where instructions are known.
    pub fn at(self, hertz: f64, instructions_a_cycle: u64) -> Self {
        let clock = self.instructions_estimate.map(|instructions| Clock {
            hertz,
            instructions_a_cycle,
            least_seconds: instructions as f64 / instructions_a_cycle as f64 / hertz,
        });
        Self { clock, ..self }
    }
}
