//! Costs of a step on a microcontroller, without a compiler: memory is exact; instructions and code
//! size are estimates. Only a compiler knows the stack.

mod work;

use std::fmt::Write;

use crate::arch::Instructions;
use crate::arch::{Isa, PlannedIsa, WorkKind};
use crate::core::{CoreModel, CoreNode, CoreOp};
use crate::emit::names::{Field, Interface};
use crate::kernel::{BodyRef, Kernel, Program};
use crate::pack::Packed;
use crate::plan::Plan;

pub use work::Amounts;

/// Costs of a step. Arrays of inputs and outputs belong to the caller.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Multiply-adds of one step.
    pub multiply_adds: u64,
    /// Bytes of packed weights in flash.
    pub weight_bytes: u64,
    /// Bytes of other constants in flash.
    pub constant_bytes: u64,
    /// Bytes of state kept between steps.
    pub state_bytes: u64,
    /// Bytes of the enum that names the instruction set, including padding before floats.
    pub isa_bytes: u64,
    /// Bytes of intermediate values.
    pub scratch_bytes: u64,
    /// A text with the bytes of the arrays that a step in C keeps on the stack. Empty: no arrays.
    pub stack: String,
    /// Bytes of the caller's outputs.
    pub output_bytes: u64,
    /// Bytes of weights packed at run time.
    pub packed_bytes: u64,
    /// Estimates for each body of the target; empty for targets without instruction counts.
    pub code: Vec<Code>,
}

/// Estimates for the code of one body, compiled with `-O2`.
#[derive(Clone, Debug, PartialEq)]
pub struct Code {
    /// The instruction set of the body.
    pub isa: &'static Isa,
    /// True if the target's compiler chooses this body by default.
    pub usual: bool,
    /// Instructions of one step, at the full length of every sequence.
    pub instructions: u64,
    /// Code size in bytes.
    pub bytes: u64,
    /// Work of one step.
    pub work: Amounts,
}

impl Estimate {
    /// The estimate for a compiled model.
    pub fn new(
        model: &CoreModel,
        plan: &Plan,
        program: &Program,
        packed: &Packed,
        interface: &Interface,
    ) -> Self {
        let weight_bytes = packed.weight_bytes(program);
        let kept: usize = kept_elements(interface);
        let variables: usize = interface.variables.iter().map(Field::len).sum();
        let code = |(at, PlannedIsa { isa, .. }): (usize, &PlannedIsa)| {
            let (costs, body) = (plan.arch.instructions_of(isa)?, program.body(at));
            let mut work = work::of_step(body, isa, costs);
            work.add(WorkKind::Step, 1.0);
            work.add(WorkKind::Kept, kept as f64);
            for id in &program.flushed_before {
                let elements = program.buffer(*id).len as f64;
                [WorkKind::Load, WorkKind::Flush, WorkKind::Store, WorkKind::Iteration]
                    .into_iter()
                    .for_each(|each| work.add(each, elements));
            }
            let mut text = work::of_text(body, isa, costs);
            if isa.c.flushes.is_some() {
                text.add_all(&work::of_text(program.body(0), plan.isas[0].isa, costs), 1.0);
            }
            text.add(WorkKind::Step, 2.0);
            Some(Code {
                isa,
                usual: at == plan.usual(),
                instructions: rounded(work.instructions(costs).round() as u64),
                bytes: text.bytes(costs).round() as u64,
                work,
            })
        };
        Self {
            multiply_adds: multiply_adds(model).iter().sum(),
            weight_bytes: weight_bytes as u64,
            constant_bytes: (packed.bytes.len() - weight_bytes + program.index_bytes()) as u64,
            state_bytes: 4
                * (kept
                    + variables
                    + usize::from(interface.layout.alternates)
                    + interface.layout.phases.len()) as u64,
            isa_bytes: if interface.has_isas() { 4 } else { 0 },
            scratch_bytes: 4 * interface.block_len as u64,
            stack: match interface.stack.step {
                0 => String::new(),
                _ => {
                    let names =
                        ["step", "run"].map(|name| format!("{}_{name}", interface.function));
                    interface.stack.text(names.each_ref().map(String::as_str))
                }
            },
            output_bytes: 4 * interface.outputs.iter().map(Field::len).sum::<usize>() as u64,
            packed_bytes: packed.run_time_bytes() as u64,
            code: plan.isas.iter().enumerate().filter_map(code).collect(),
        }
    }

    /// Estimates for the body of an instruction set. `None` without a body for it, or for targets
    /// without instruction counts.
    pub fn code(&self, isa: &Isa) -> Option<&Code> {
        self.code.iter().find(|code| code.isa == isa)
    }

    /// The lines of a comment; empty for targets without instruction counts.
    pub(crate) fn lines(&self, target: &str) -> Vec<String> {
        let Some(code) = self.code.iter().find(|code| code.usual) else { return Vec::new() };
        // the estimates of a body with and without fused multiply-adds are equal: one is enough
        let has_body_of = |isa: &Isa| self.code.iter().any(|code| code.isa == isa);
        let others = self.code.iter().skip_while(|code| !code.usual).skip(1);
        let others = others.filter(|code| {
            code.isa.instructions.is_some() && !code.isa.body_of.is_some_and(has_body_of)
        });
        let mut instructions = format!("about {} instructions", code.instructions);
        for other in others {
            _ = write!(instructions, ", {} with {}", other.instructions, other.isa.name);
        }
        let mut flash = format!("Flash: {} bytes of weights", self.weight_bytes);
        if self.constant_bytes > 0 {
            _ = write!(flash, ", {} of constants", self.constant_bytes);
        }
        let mut ram = format!("RAM: {} bytes of state", self.state_bytes);
        if self.isa_bytes > 0 {
            _ = write!(ram, ", {} for the instruction set", self.isa_bytes);
        }
        match self.scratch_bytes {
            // C has no empty struct: an empty scratch takes one byte, and padding before the state
            0 => {
                _ = write!(
                    ram,
                    ", {} for an empty scratch",
                    if self.state_bytes > 0 { 4 } else { 1 }
                )
            }
            bytes => _ = write!(ram, ", {bytes} of scratch memory"),
        }
        if self.packed_bytes > 0 {
            _ = write!(ram, ", {} of packed weights", self.packed_bytes);
        }
        let stack = match &self.stack[..] {
            "" => "stack for calls".to_owned(),
            arrays => format!("stack for calls and arrays of up to {arrays}"),
        };
        vec![
            format!("A step on {}, C by gcc -O2:", self.named(target, code.isa)),
            format!("    {} multiply-adds, {instructions}.", self.multiply_adds),
            format!("    {flash}, and code."),
            format!("    {ram}, and {stack}."),
            format!("    RAM of the caller: {} bytes of outputs.", self.output_bytes),
            "    cellc inspect measures code and stack with the target's compiler.".to_owned(),
        ]
    }

    /// The target with the instruction set, such as `armv7 (neon)`. If files have one body, the
    /// target alone.
    pub(crate) fn named(&self, target: &str, isa: &Isa) -> String {
        if self.code.len() > 1 { format!("{target} ({})", isa.name) } else { target.to_owned() }
    }
}

/// Instructions of a kernel in one step.
pub(crate) fn of_kernel(
    kernel: &Kernel,
    body: BodyRef<'_>,
    isa: &Isa,
    costs: &Instructions,
) -> f64 {
    work::of_kernel(kernel, body, isa, costs, false).instructions(costs)
}

/// Elements of states in the struct, without the model's variables.
fn kept_elements(interface: &Interface) -> usize {
    interface.states.iter().map(|state| interface.inputs[state.input].len()).sum()
}

/// Multiply-adds of every operation in one step, in the order of [`CoreModel::all_nodes`].
pub(crate) fn multiply_adds(model: &CoreModel) -> Vec<u64> {
    let mut counts = Vec::new();
    // the operations not yet counted, each with the number of executions in one step
    let mut rest: Vec<(&CoreNode, u64)> = model.nodes.iter().rev().map(|node| (node, 1)).collect();
    while let Some((node, runs)) = rest.pop() {
        counts.push(node.op.facts().work.multiply_adds() as u64 * runs);
        if let CoreOp::Loop(body) = &node.op {
            rest.extend(body.body.iter().rev().map(|node| (node, runs * body.trips as u64)));
        }
    }
    counts
}

/// A number of instructions, rounded up to three digits, the precision of an estimate.
pub(crate) fn rounded(instructions: u64) -> u64 {
    let unit = 10_u64.pow(instructions.max(1).ilog10().saturating_sub(2));
    instructions.div_ceil(unit) * unit
}
