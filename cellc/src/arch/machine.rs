//! Targets: their machines, sizes of memory, and costs of code.

use super::spell::{CRules, RustRules};
use super::work::Instructions;
use super::{ANY, GENERIC, Isa, SCALAR_FORMS, TARGETS};

/// A target: the baseline of all its machines, further instruction sets of some machines, and
/// costs.
#[derive(Debug)]
pub struct Arch {
    /// The name on the command line; macros have `_` in place of `-`.
    pub name: &'static str,
    /// Prefixes of the Rust target triples whose machines belong to this target.
    pub triples: &'static [&'static str],
    /// The instruction set of every machine of the target.
    pub baseline: &'static Isa,
    /// Further instruction sets with bodies in a file, best last. A machine with an instruction set
    /// that the compiler chooses has none that is detected at run time.
    pub isas: &'static [&'static Isa],
    /// Costs of code, for the plan.
    pub costs: Costs,
    /// Instruction counts of each kind of work, if measured.
    pub instructions: Option<Instructions>,
    /// Largest number of instructions per cycle on the target's machines. 0: varies too much.
    pub instructions_per_cycle: u64,
    /// The language of the files that plans and costs describe.
    pub estimated_in: EstimatedIn,
    /// Rules for generated C.
    pub c: CRules,
    /// Rules for generated Rust.
    pub rust: RustRules,
    /// Sizes and distances of data.
    pub memory: DataLayout,
}

/// The language of the files that plans and costs of a target describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EstimatedIn {
    /// Rust.
    Rust,
    /// C of the target's own compiler. Generated Rust for the target lacks fused multiply-adds or
    /// tuning.
    C,
}

/// Sizes and distances of data on a target.
#[derive(Clone, Copy, Debug)]
pub struct DataLayout {
    /// Alignment of weights, states and scratch memory, in bytes.
    pub alignment: usize,
    /// Minimum distance in bytes between data written by different threads (avoids false sharing).
    pub thread_distance: usize,
    /// Largest tensor, in elements, that a kernel keeps on the stack. Larger tensors use scratch
    /// memory in `State`.
    pub stack_limit: usize,
    /// Largest computed tensor, in elements: 2^28 (1 GiB of f32) on targets with more than 4 GiB of
    /// addresses per program, else 2^24.
    pub most_elements: usize,
    /// Bytes of a cache line, or of a group of columns on cores without a cache. At least the size
    /// of the longest vector.
    pub line: usize,
}

/// Costs of code in cycles of one core: the input of the plan. All instruction sets share one
/// packing of the weights, so the choice of panels does not depend on the instruction set.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// Multiply-adds per cycle; also loads per cycle.
    pub multiply_adds_per_cycle: f64,
    /// Lanes per multiply-add, in the estimate for two threads.
    pub lanes: f64,
    /// Latency of a multiply-add in cycles.
    pub latency: f64,
    /// Cycles of independent multiply-adds that hide the latency of one.
    pub latency_hiding: f64,
    /// Extra cycles of a convolution for each vector that straddles two cache lines.
    pub line_split: f64,
    /// Extra cycles per panel, for the start of the loop over rows and the first weights.
    pub panel: f64,
    /// Extra cycles for a panel of a further size, with separate code.
    pub other_panel: f64,
    /// Cycles of an activation of one cache line of values, if no other work hides the latency.
    pub activation: f64,
    /// Fraction of the time of a panel's rows that hides the activations of the previous panel. The
    /// reorder window limits this fraction.
    pub hidden: f64,
    /// Extra cycles of a step on two threads: handing over work, waiting, and moving states between
    /// cores.
    pub hand_over: f64,
    /// Sizes and rates of caches.
    pub caches: Caches,
    /// Limits of kernels.
    pub limits: Limits,
}

/// The caches of one core.
#[derive(Clone, Copy, Debug)]
pub struct Caches {
    /// Bytes of the L1 cache of the smallest machine. Panels that several rows share fit this cache
    /// if panels of one cache line of columns do.
    pub first_level: usize,
    /// Range of weight sizes, in bytes, for which alternating order keeps a part of the weights in
    /// L1; a panel has at most the lower bound. Zeros: no alternating order for L1.
    pub alternate_near: [usize; 2],
    /// Weights of more than this number of bytes are read from beyond L2. Cells then read panels in
    /// alternating order.
    pub alternate_from: usize,
    /// Largest size of weights, in bytes, of which L2 keeps a useful part in alternating order.
    pub partly_near: usize,
    /// Bytes per cycle from L1 to one core.
    pub first_level_rate: f64,
    /// Sustained bytes per cycle from L2 to one core. Levels beyond L2 are slower.
    pub second_level_rate: f64,
}

/// Limits of kernels on all instruction sets of a target.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Largest number of rows of a batch, or steps of a sequence, that vectors compute together
    /// unless the user asks for a number: the most sums that fit into the registers of any
    /// instruction set.
    pub most_rows: usize,
    /// Largest number of output channels with interleaved weights: the most sums that any
    /// instruction set keeps in registers.
    pub most_channels: usize,
    /// Largest number of cache lines of sums per pass: the registers of every instruction set with
    /// vectors hold this number.
    pub most_sums: usize,
    /// Widest panel, in columns, if several rows of a batch share each weight.
    pub most_shared: usize,
    /// For a GRU with the reset gate before the product: largest weight size, in bytes per lane,
    /// for which the x terms of the candidate are summed after the sigmoid of r, to hide the
    /// latency of the sigmoid on out-of-order cores. 0: never; on RISC-V and AArch64 this order
    /// takes up to 1.11 and 1.05 times the instructions, and was not timed.
    pub late_apart: usize,
    /// For a GRU with the reset gate before the product: the most units that form one panel.
    pub most_at_once: usize,
}

impl Arch {
    /// The target's form for networks that fill no vector.
    pub fn in_scalars(&'static self) -> &'static Self {
        SCALAR_FORMS
            .iter()
            .find(|form| form.name == self.name)
            .expect("arch: every target has a scalar form")
    }

    /// Instruction counts of an instruction set on the target, if measured.
    pub fn instructions_of<'a>(&'a self, isa: &'a Isa) -> Option<&'a Instructions> {
        let instructions = self.instructions.as_ref()?;
        Some(isa.instructions.as_ref().unwrap_or(instructions))
    }

    /// The target with this name.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        TARGETS.into_iter().find(|arch| arch.name == name)
    }

    /// The target for a Rust target triple, such as cargo's `TARGET`. `any` if no target is
    /// specific to the triple.
    pub fn of_triple(triple: &str) -> &'static Self {
        let is_for =
            |arch: &&'static Self| arch.triples.iter().any(|begin| triple.starts_with(begin));
        TARGETS.into_iter().find(is_for).unwrap_or_default()
    }

    /// True if files of the target may run on a processor, given by Rust's name: `x86_64`.
    pub fn may_be(&self, processor: &str) -> bool {
        self.triples.is_empty() || self.triples.iter().any(|triple| triple.starts_with(processor))
    }

    /// Vectors per cache line, from 1 to 4. 1 if the registers are too few for a cache line of each
    /// of several sums.
    pub(crate) fn vectors_of_line(&self, isa: &Isa) -> usize {
        let most = if isa.registers < GENERIC.registers { 1 } else { 4 };
        (self.memory.line / 4 / isa.lanes).clamp(1, most)
    }
}

/// Targets are static tables and compared by address.
impl PartialEq for Arch {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Default for &'static Arch {
    fn default() -> Self {
        &ANY
    }
}
