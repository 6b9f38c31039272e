//! The costs of a step on the target: known, measured by an installed compiler, or estimated.

use serde::Serialize;

use super::measured::Measured;
use crate::arch::Isa;
use crate::compile::Compilation;

/// The costs of a step on the target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TargetCost {
    /// The target.
    pub target: &'static str,
    /// The compiler that estimates refer to.
    pub compiler: &'static str,
    /// The target, with the instruction set if files have several bodies.
    pub name: String,
    /// Multiply-adds of one step.
    pub multiply_adds: u64,
    /// Estimated instructions of one step, for C from the estimate's compiler with -O2. `None` if
    /// the target has no estimates.
    pub instructions_estimate: Option<u64>,
    /// Bytes of read-only memory.
    pub flash: Flash,
    /// Bytes of writable memory.
    pub ram: Ram,
    /// The compiler that measured code, constants and stack. `None`: code is an estimate, the stack
    /// is unknown, and constants that a compiler adds are not counted.
    pub measured_by: Option<String>,
    /// The compiler for measurements, installed or not. `None` for targets without a known
    /// compiler.
    pub measurer: Option<&'static str>,
    /// True if the target's compiler can compile the code.
    pub measurable: bool,
    /// The time of a step. `None` without a given clock.
    pub clock: Option<Clock>,
}

/// Bytes of read-only memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Flash {
    /// Packed weights.
    pub weights: u64,
    /// Other constants.
    pub constants: u64,
    /// The code. `None` if neither measured nor estimated.
    pub code: Option<u64>,
    /// The sum of weights, constants and, if known, code.
    pub total: u64,
}

/// Bytes of writable memory. The caller owns the arrays of inputs and outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Ram {
    /// State between steps.
    pub state: u64,
    /// The index of the chosen instruction set.
    pub isa: u64,
    /// Intermediate values.
    pub scratch: u64,
    /// Weights packed at run time.
    pub packed_weights: u64,
    /// The deepest chain of stack frames of a step, without the C library. `None` if not measured.
    pub stack: Option<u64>,
    /// The sum of state, instruction set, scratch, packed weights and, if measured, stack.
    pub total: u64,
}

/// A clock, and the minimum time of a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Clock {
    /// The frequency in hertz.
    pub hertz: f64,
    /// The largest number of instructions issued per cycle.
    pub instructions_a_cycle: u64,
    /// The time of a step without stalls, in seconds. Excludes wait states of flash memory.
    pub least_seconds: f64,
}

impl TargetCost {
    /// The costs of the body for an instruction set. `None` for an abstract target.
    pub fn new(compilation: &Compilation, isa: &Isa, measured: Option<&Measured>) -> Option<Self> {
        let (estimate, arch) =
            (&compilation.description.estimate, compilation.options.machine.target);
        let estimated = estimate.code(isa);
        if estimated.is_none() && arch.c.compiler.is_empty() {
            return None;
        }
        let known = estimate.weight_bytes + estimate.constant_bytes;
        let constants = measured.map_or(known, |measured| measured.constants.max(known))
            - estimate.weight_bytes;
        let code = measured.map(|m| m.code).or(estimated.map(|code| code.bytes));
        let stack = measured.map(|measured| measured.stack);
        let kept = estimate.state_bytes
            + estimate.isa_bytes
            + estimate.scratch_bytes
            + estimate.packed_bytes;
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
            measurer: arch.c.compiler.first().copied(),
            measurable: *isa == *arch.baseline || isa.c.flags.is_some(),
            measured_by: measured.map(|measured| measured.compiler.clone()),
            clock: None,
        })
    }

    /// Adds the time at a clock, if instructions are estimated.
    pub fn at(self, hertz: f64, instructions_a_cycle: u64) -> Self {
        let clock = self.instructions_estimate.map(|instructions| Clock {
            hertz,
            instructions_a_cycle,
            least_seconds: instructions as f64 / instructions_a_cycle as f64 / hertz,
        });
        Self { clock, ..self }
    }
}
