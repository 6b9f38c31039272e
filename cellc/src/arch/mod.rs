//! Targets and instruction sets as tables: assumptions of kernels, detection at run time or by the
//! compiler, and the spelling in both languages.

mod arm;
pub(crate) mod floor;
mod riscv;
mod work;
mod x86;

use std::cmp::Ordering;
use std::fmt;

use crate::kernel::{Element, LaneOp};

pub use arm::{
    AARCH64, ARMV7, CORTEX_M0, CORTEX_M3, CORTEX_M4F, CORTEX_M7, CORTEX_M33, CORTEX_M55,
};
use arm::{HELIUM, HELIUM_OF_ANY, NEON_DOTPROD, NEON_FMA, NEON_OF_ANY};
use riscv::RVV_OF_ANY;
pub use riscv::{RISCV32, RISCV64, RVV};
pub use work::{Instructions, Work};
pub use x86::{AMX, AVX_VNNI, AVX2, AVX512, AVX512_VNNI, X86_64};

/// A target: the baseline of all its machines, further instruction sets of some machines, and
/// costs.
#[derive(Debug)]
pub struct Arch {
    /// The name on the command line.
    pub name: &'static str,
    /// The name in macros.
    pub key: &'static str,
    /// Prefixes of the Rust targets (triples) with the machines of this target.
    pub triples: &'static [&'static str],
    /// The instruction set of every machine of the target.
    pub baseline: &'static Isa,
    /// Further instruction sets with bodies in a file, best last. A machine with one that the
    /// compiler chooses has none of the others.
    pub isas: &'static [&'static Isa],
    /// C: true if the file uses extensions of gcc and clang; otherwise plain C11.
    pub c_extensions: bool,
    /// C: pragma lines for gcc.
    pub c_tuning: &'static [&'static str],
    /// C: words of an error message: the flags that make f32 arithmetic round to f32, by machine.
    pub c_float_flags: &'static str,
    /// C: the condition under which the file stops with an `#error`, and the remedy. Empty: none.
    pub c_refused: (&'static str, &'static str),
    /// Rust: the condition under which the file stops with a `compile_error!`, and the remedy.
    /// Empty: none.
    pub rust_refused: (&'static str, &'static str),
    /// C: the condition under which a baseline of several lanes stops with an `#error`, and the
    /// remedy.
    pub c_baseline_refused: (&'static str, &'static str),
    /// C: the condition under which loads add a constant offset at no cost, so that compilers must
    /// not compute addresses separately. Empty: never.
    pub c_rows: &'static str,
    /// Rust: an attribute of structs with fields that are read as vectors.
    pub rust_struct: &'static str,
    /// Alignment of weights, states and scratch memory, in bytes.
    pub alignment: usize,
    /// Minimum distance in bytes between data written by different threads (avoids false sharing).
    pub apart: usize,
    /// Largest tensor, in elements, that a kernel keeps on the stack. Larger tensors use scratch
    /// memory in `State`.
    pub stack_limit: usize,
    /// Largest computed tensor, in elements: 2^28 (1 GiB of f32) on targets with more than 4 GiB of
    /// addresses per program, else 2^24.
    pub most_elements: usize,
    /// Bytes of a cache line; at least the longest vector.
    pub line: usize,
    /// Costs of code, for the plan.
    pub costs: Costs,
    /// Instruction counts of each kind of work, if measured.
    pub instructions: Option<Instructions>,
    /// A C compiler with its flags, for `cellc inspect` to measure code size and stack if the
    /// compiler is installed. Empty: none.
    pub c_compiler: &'static [&'static str],
    /// Largest number of instructions per cycle on the target's machines. 0: varies too much.
    pub begin: u64,
}

/// Costs of code in cycles of one core: the input of the plan. All instruction sets share one
/// packing of the weights, so the choice of panels does not depend on the instruction set.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// Bytes of L1 cache that one panel may use.
    pub first_level: usize,
    /// Range of weight sizes, in bytes, for which alternating order keeps a part of the weights in
    /// L1; a panel has at most the lower bound. Zeros: no alternating order for L1.
    pub alternate_near: [usize; 2],
    /// Smallest size of weights, in bytes, that uses alternating order for L2.
    pub alternate_from: usize,
    /// Largest size of weights, in bytes, of which L2 keeps a useful part in alternating order.
    pub partly_near: usize,
    /// Bytes per cycle from L1 to one core.
    pub first_level_rate: f64,
    /// Sustained bytes per cycle from L2 to one core. Levels beyond L2 are slower.
    pub second_level_rate: f64,
    /// Multiply-adds per cycle; also loads per cycle.
    pub begun: f64,
    /// Lanes of multiply-adds in the cost of two threads.
    pub lanes: f64,
    /// Latency of a multiply-add in cycles.
    pub latency: f64,
    /// Cycles of independent multiply-adds that hide the latency of one.
    pub hidden_from: f64,
    /// Extra cycles of a convolution for each vector that straddles two cache lines.
    pub crossing: f64,
    /// Largest number of rows computed together: the most sums that fit into registers of any
    /// instruction set.
    pub most_rows: usize,
    /// Largest number of output channels with interleaved weights: the most sums that any
    /// instruction set keeps in registers.
    pub most_channels: usize,
    /// Largest number of lines of sums per pass: fits the registers of every instruction set with
    /// vectors.
    pub most_sums: usize,
    /// Widest panel, in columns, for which several rows share each weight.
    pub most_shared: usize,
    /// For a GRU with the reset gate before the product: largest weight size, in bytes per lane,
    /// for which the x terms of the candidate are summed after the sigmoid of r, to hide its
    /// latency on out-of-order cores. 0: never; on RISC-V and AArch64 the order takes up to 1.11
    /// and 1.05 times the instructions and was not timed.
    pub late_apart: usize,
    /// Widest panel, in columns, of a GRU with the reset gate before the product.
    pub most_at_once: usize,
    /// Cycles per panel in addition to its rows: loop start and first weights.
    pub panel: f64,
    /// Extra cycles for a panel of a further size, with separate code.
    pub other_panel: f64,
    /// Cycles of an activation of one line, if no other work hides its latency.
    pub activation: f64,
    /// Fraction of the time of a panel's rows that hides activations of the panel before (limited
    /// reorder window).
    pub hidden: f64,
    /// Extra cycles of a step on two threads: hand-over, waiting, and states moving between cores.
    pub hand_over: f64,
}

/// An instruction set for bodies of generated code.
pub struct Isa {
    /// The unique name on the command line and in generated code.
    pub name: &'static str,
    /// f32 lanes of a vector register.
    pub lanes: usize,
    /// Vector registers.
    pub registers: usize,
    /// Registers for integer sums.
    pub integer_registers: usize,
    /// Smallest number of weight rows per loop iteration.
    pub rows: usize,
    /// Largest number of neighbouring weight vectors per load instruction.
    pub loads: usize,
    /// C: the load of several vectors.
    pub c_loads: &'static [CLoads],
    /// True if the body calls activations as functions instead of inlining them, to save code.
    pub calls: bool,
    /// True if floating point is computed in software. C then compares and rounds by integer
    /// operations.
    pub in_software: bool,
    /// C: true if one call computes an activation of several values, to share the loads of
    /// constants.
    pub calls_each: bool,
    /// C: true if a value holds all columns of a pass in several registers. False where compilers
    /// make more instructions of such values, and where an operand must be one register.
    pub joins: bool,
    /// Largest number of neighbouring column vectors per pass over the weight rows, with passes of
    /// equal size in a loop. 0: as many as registers allow, each pass with separate code.
    pub pass: usize,
    /// Minimum distance in bytes between two loads of one instruction in a loop over weights from
    /// L2, due to unrolling by compilers. 0: neighbours.
    pub load_distance: usize,
    /// True if multiply-adds are fused (one rounding).
    pub fma: bool,
    /// Widths of the dot products that this instruction set adds to [`Self::extends`]. A file that
    /// uses none of these widths contains no body. Empty: every file contains a body.
    pub words: &'static [usize],
    /// The instruction set that its machines run if a file contains no body.
    pub extends: Option<&'static Self>,
    /// True if byte elements are unsigned in products with byte weights.
    pub unsigned_quads: bool,
    /// True if products of all lanes are added to one sum: lanes are neighbours in a weight row,
    /// not columns.
    pub across: bool,
    /// The instruction that multiplies every lane of weights by one lane of elements.
    pub by_lane: &'static [ByLane],
    /// True if 8-bit weights are widened and multiplied by 16-bit activations, two per instruction
    /// (`SMLAD`). Scalar bodies only.
    pub wide_elements: bool,
    /// Largest number of element rows per tile; a tile has `TILE_WORDS` words and columns of
    /// weights. 0: no tiles.
    pub tile_rows: usize,
    /// The instruction set whose body this one shares, if the file contains the body. The two
    /// differ only in fusing, and a machine with this one has both.
    pub body_of: Option<&'static Isa>,
    /// Detection of the instruction set by generated code.
    pub detection: Detection,
    /// Rust's feature names, comma separated. Empty: the compiler assumes the features.
    pub rust_features: &'static str,
    /// Feature names of gcc and clang, comma separated. Empty: the compiler assumes the features.
    pub c_features: &'static str,
    /// Rust: a fused multiply-add `a * b + c` of f32 scalars, by intrinsics or assembly. Empty:
    /// none.
    pub rust_mul_add: &'static str,
    /// Rust: the `cfg` of the fused multiply-add, if the file also compiles for other machines.
    /// Software computes equal bits there.
    pub rust_mul_add_where: &'static str,
    /// Rust: the vector registers. Vectors of other lengths are arrays of lanes.
    pub rust_vectors: &'static [RustVector],
    /// Rust: helper functions, each after a line with its name.
    pub rust_functions: &'static str,
    /// C: additional compiler flags for this body. `None`: no such flags exist. The baseline needs
    /// no flags.
    pub c_flags: Option<&'static [&'static str]>,
    /// C: the header file of the intrinsics. Empty: none.
    pub c_header: &'static str,
    /// C: vectors that need intrinsics. Other vectors use operators.
    pub c_vectors: &'static [CVector],
    /// C: helper functions of the vectors.
    pub c_functions: &'static str,
    /// C: sums of products across lanes, if available.
    pub c_across: Option<CAcross>,
    /// Detection of flushed subnormal numbers, if the unit flushes them. The file then contains a
    /// body of one lane that repeats such steps.
    pub c_flushes: Option<CFlushes>,
    /// Instruction counts different from the target's. `None`: the target's counts.
    pub instructions: Option<Instructions>,
}

/// Iterations by which loops are unrolled, or a multiple of them: LLVM unrolls loops of this
/// length.
pub const TURNS: usize = 8;

/// Words per row of elements in a tile, words of weights per column, and columns.
pub const TILE_WORDS: usize = 16;

/// C: detection of subnormal operands or results that an instruction set flushed to zero.
#[derive(Clone, Copy, Debug)]
pub struct CFlushes {
    /// Statements before the step.
    pub begin: &'static str,
    /// Statements after the step.
    pub end: &'static str,
    /// The condition that is true if a subnormal number was flushed.
    pub flushed: &'static str,
}

/// A sum of products of weight words and the words of one lane of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByLane {
    /// Integers per word: 2 for [`DotApart`](LaneOp::DotApart), 4 for
    /// [`DotQuadsOf`](LaneOp::DotQuadsOf).
    pub in_word: usize,
    /// C: weights, elements and sums are `{0}` to `{2}`, {3} is the lane, {4} and {5} are the
    /// halves of that.
    pub c: &'static str,
    /// Rust: a function of those, with the lane or its halves as parameters.
    pub rust: &'static str,
}

impl ByLane {
    /// The spelling of `operation`, or `None` if this instruction set has no such instruction.
    pub fn of(all: &'static [Self], operation: LaneOp) -> Option<&'static Self> {
        let in_word = match operation {
            LaneOp::DotApart(_) => 2,
            LaneOp::DotQuadsOf(_) => 4,
            _ => return None,
        };
        all.iter().find(|own| own.in_word == in_word)
    }
}

/// A vector register in Rust, by the intrinsics of `core::arch`.
#[derive(Clone, Copy, Debug)]
pub struct RustVector {
    /// f32 lanes.
    pub lanes: usize,
    /// The module of `core::arch`.
    pub processor: &'static str,
    /// The `cfg` of the type. Empty: the body is compiled only for machines with the type.
    pub condition: &'static str,
    /// The type of f32 lanes.
    pub register: &'static str,
    /// The type of their bits.
    pub integers: &'static str,
    /// Operations by name, as expressions of their operands `a`, `b`, `c` and `d`. Earlier lists
    /// take precedence.
    pub operations: &'static [&'static [(&'static str, &'static str)]],
}

impl RustVector {
    /// The condition for a processor's module in `core::arch`.
    pub fn condition_of(processor: &str) -> String {
        format!("target_arch = {processor:?}")
    }

    /// The feature that every compiler's target for a processor has unless floats are computed in
    /// software, with the name of its vectors. `None`: such vectors are asked for.
    pub fn baseline_of(processor: &str) -> Option<(&'static str, &'static str)> {
        match processor {
            "x86_64" => Some(("sse2", "SSE2")),
            "aarch64" => Some(("neon", "Neon")),
            _ => None,
        }
    }

    /// The expression for an operation.
    pub fn operation(&self, name: &str) -> Option<&'static str> {
        self.operations
            .iter()
            .copied()
            .flatten()
            .find(|(other, _)| *other == name)
            .map(|(_, text)| *text)
    }
}

/// Detection of an instruction set by generated code.
#[derive(Clone, Copy, Debug)]
pub enum Detection {
    /// Every machine of the target has the instruction set.
    Baseline,
    /// The compiler decides. If the condition holds, the instruction set replaces the baseline; of
    /// several, the last.
    Compiling(Condition),
    /// The program asks the processor, if the condition holds.
    Running(Condition, Question),
}

/// True if generated Rust computes in vector registers of the processor: `x86_64`, as Rust calls
/// it.
pub fn names_vectors_of(processor: &str) -> bool {
    ALL.iter().flat_map(|isa| isa.rust_vectors).any(|row| row.processor == processor)
}

/// A condition on the machine for which a compiler compiles. Empty for a language without such a
/// condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Of the preprocessor.
    pub c: &'static str,
    /// Of `cfg`.
    pub rust: &'static str,
}

#[cfg(feature = "builder")]
impl Condition {
    /// True if the preprocessor's condition has several terms.
    pub(crate) fn has_terms(self) -> bool {
        self.c.contains("&&") || self.c.contains("||")
    }
}

/// The run-time question for an instruction set.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// The part shared by all instruction sets of the architecture.
    pub processor: &'static Processor,
    /// C: the condition.
    pub c: &'static str,
    /// Rust: the condition.
    pub rust: &'static str,
    /// Rust: helper functions of the condition.
    pub rust_functions: &'static str,
}

/// Run-time detection of instruction sets.
#[derive(Debug)]
pub struct Processor {
    /// C: the header file that `c` needs.
    pub c_header: &'static str,
    /// C: a function that returns a bit for each instruction set of the machine. PREFIX is replaced
    /// by the prefix of the file, BASELINE by the baseline's number, and a line with SETS by the
    /// questions.
    pub c: &'static str,
    /// C: the value of FEATURES in questions, in files without and with binary16 weights.
    pub c_features: [&'static str; 2],
    /// Rust: helper functions of the questions. Lines between `//* halves` and `//.` belong to
    /// files
    /// with binary16 weights, those of `//* no halves` to others.
    pub rust: &'static str,
}

/// The feature of x86-64 for conversions of binary16, which files without binary16 weights do not
/// ask for.
pub(crate) const HALVES_FEATURE: &str = "f16c";

/// C: loads of several vectors by one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CLoads {
    /// Lanes per vector.
    pub lanes: usize,
    /// The loaded elements.
    pub element: Element,
    /// Vectors per load. `None`: any number.
    pub count: Option<usize>,
    /// The template of a function that loads from `from` to `*to0`, `*to1`, ... A line with EACH is
    /// repeated for every vector, with # as its number. A line with PAIR is repeated for every two
    /// vectors, with # and $ as their numbers; a line with ODD is for a single vector left over. A
    /// line with PLAIN stands for assignments by operators. COUNT is the number of vectors, LAST
    /// the number of the last vector, and HALF the number of the last half if vectors have two
    /// halves. LIST stands for the elements of EACH within a line.
    pub text: &'static str,
    /// The element of LIST, and the separator.
    pub list: &'static str,
}

/// Assembly for sums of integer products across lanes, one instruction each. `weights` and
/// `elements` are post-incremented pointers, `sumN` is the sum of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CAcross {
    /// Load of a vector of elements.
    pub elements: &'static str,
    /// Load of a vector of weights.
    pub weights: &'static str,
    /// Load of a vector of weights with pairs of bytes.
    pub pairs_of_bytes: &'static str,
    /// Sum of byte products, overwriting.
    pub quads: &'static str,
    /// Sum of products, accumulating.
    pub add_quads: &'static str,
    /// Sum of 16-bit products, overwriting.
    pub pairs: &'static str,
    /// Sum of products, accumulating.
    pub add_pairs: &'static str,
    /// A sum set to 0.
    pub zero: &'static str,
    /// Skip over the weights of other columns, in bytes.
    pub beyond: &'static str,
    /// Begin of a loop of a given number of iterations.
    pub begin: &'static str,
    /// End of the loop.
    pub end: &'static str,
    /// Move of four sums to the lanes of a vector, two by two.
    pub meet: [&'static str; 2],
    /// The constraint of the pointer to weights with pairs of bytes.
    pub pointer_to_bytes: &'static str,
    /// The constraint of a sum.
    pub sum: &'static str,
    /// Clobbered registers, except the sums.
    pub clobbered: &'static str,
}

/// C: operations on a vector of f32 that no operator provides. `{0}`, `{1}`, .. are the arguments,
/// PREFIX is the prefix of names in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CVector {
    /// Lanes.
    pub lanes: usize,
    /// Load from a pointer with the alignment of f32. Empty: plain C.
    pub load: &'static str,
    /// Load from constant memory. Empty: like other loads.
    pub load_constant: &'static str,
    /// Load of binary16 values, converted to f32, from a pointer with the alignment of binary16.
    pub load_f16: &'static str,
    /// Load of signed bytes, converted to f32.
    pub load_i8: &'static str,
    /// Store to a pointer.
    pub store: &'static str,
    /// One f32 in every lane.
    pub splat: &'static str,
    /// `{0} * {1} + {2}`, rounded once; rounded twice if the instruction set does not fuse.
    pub mul_add: &'static str,
    /// Multiply-add with an f32 scalar as {1}. Empty: no separate instruction.
    pub mul_add_one: &'static str,
    /// `{0} + {1}`; empty, as for the next three: the operator.
    pub add: &'static str,
    /// `{0} - {1}`.
    pub sub: &'static str,
    /// `{0} * {1}`.
    pub mul: &'static str,
    /// `{0} / {1}`.
    pub div: &'static str,
    /// [`Max`](crate::kernel::LaneOp::Max), NaN and zeros included.
    pub max: &'static str,
    /// [`Min`](crate::kernel::LaneOp::Min), NaN and zeros included.
    pub min: &'static str,
    /// [`MaxMagnitude`](crate::kernel::LaneOp::MaxMagnitude). Empty: plain C.
    pub max_magnitude: &'static str,
    /// [`SelectLess`](crate::kernel::LaneOp::SelectLess).
    pub select_less: &'static str,
    /// [`Flush`](crate::kernel::LaneOp::Flush).
    pub flush: &'static str,
    /// Load of pairs of signed bytes, widened to 16 bits each. Empty: plain C.
    pub load_i8_pairs: &'static str,
    /// [`FromSigned`](crate::kernel::LaneOp::FromSigned). Empty: plain C.
    pub from_signed: &'static str,
    /// [`DotPairs`](crate::kernel::LaneOp::DotPairs). Empty: plain C. For sums with members, one
    /// value per member.
    pub dot_pairs: &'static str,
    /// [`DotQuads`](crate::kernel::LaneOp::DotQuads), or with unsigned bytes of elements
    /// [`DotUnsignedQuads`](crate::kernel::LaneOp::DotUnsignedQuads), in the form of `dot_pairs`.
    pub dot_quads: &'static str,
    /// Members of the struct of integer sums, each a machine vector. Empty: sums are lanes.
    pub sums: &'static str,
}

/// The body for every machine: four lanes, compiled for the compiler's baseline.
pub static GENERIC: Isa = Isa {
    name: "generic",
    lanes: 4,
    registers: 16,
    integer_registers: 16,
    rows: 1,
    loads: 1,
    c_loads: &[],
    calls: false,
    in_software: false,
    calls_each: false,
    joins: false,
    // as many as registers hold
    pass: 12,
    load_distance: 0,
    fma: false,
    words: &[],
    extends: None,
    unsigned_quads: false,
    across: false,
    by_lane: &[],
    wide_elements: false,
    tile_rows: 0,
    body_of: None,
    detection: Detection::Baseline,
    rust_features: "",
    c_features: "",
    rust_mul_add: "",
    rust_mul_add_where: "",
    rust_vectors: &x86::vectors::SSE2,
    rust_functions: "",
    c_flags: None,
    c_header: "",
    c_vectors: &[],
    c_functions: "",
    c_across: None,
    c_flushes: None,
    instructions: None,
};

/// A load of several single lanes: Arm with FPU.
const ONE_LANE_LOADS: CLoads = CLoads {
    lanes: 1,
    element: Element::F32,
    count: None,
    text: "\
#if defined(__ARM_FP) && !defined(__clang__)
EACH     register float value# __asm__(\"s#\");
    __asm__(\"vldmia %COUNT, {s0-sLAST}\"
        : LIST
        : \"r\"(from), \"m\"(*(const float(*)[COUNT])from));
EACH     *to# = value#;
#else
PLAIN#endif
",
    list: "\"=t\"(value#)",
};

/// A load of several binary16 lanes, two per word: Arm with an FPU that converts binary16.
const ONE_LANE_HALVES: CLoads = CLoads {
    lanes: 1,
    element: Element::F16,
    count: None,
    text: "\
#if defined(__ARM_FP) && defined(__ARM_FEATURE_FMA) && __ARM_ARCH_PROFILE == 'M'
PAIR     union {
PAIR         uint32_t bits;
PAIR         float value;
PAIR     } pair#;
PAIR     __builtin_memcpy(&pair#, from + #, sizeof pair#);
PAIR     __asm__(\"vcvtb.f32.f16 %0, %2\\n\\tvcvtt.f32.f16 %1, %2\" : \"=&t\"(*to#), \"=t\"(*to$) : \"t\"(pair#.value));
ODD     *to# = LOAD(from + #);
#else
PLAIN#endif
",
    list: "",
};

/// A load of a word of two pairs of bytes: Arm with products of 16-bit pairs.
const ONE_LANE_BYTES: CLoads = CLoads {
    lanes: 1,
    element: Element::I8Pair,
    count: Some(2),
    text: "\
#if defined(__ARM_FEATURE_SIMD32) && defined(__GNUC__) && !defined(__ARM_BIG_ENDIAN)
    uint32_t all, low, high, pair0, pair1;
    __builtin_memcpy(&all, from, sizeof all);
    __asm__(\"sxtb16 %0, %1\" : \"=r\"(low) : \"r\"(all));
    __asm__(\"sxtb16 %0, %1, ror #8\" : \"=r\"(high) : \"r\"(all));
    __asm__(\"pkhbt %0, %1, %2, lsl #16\" : \"=r\"(pair0) : \"r\"(low), \"r\"(high));
    __asm__(\"pkhtb %0, %2, %1, asr #16\" : \"=r\"(pair1) : \"r\"(low), \"r\"(high));
EACH     *to# = FROM_BITS(pair#);
#else
PLAIN#endif
",
    list: "",
};

/// A load of two words of integers: Arm with Thumb, into any two registers.
const ONE_LANE_WORDS: CLoads = CLoads {
    lanes: 1,
    element: Element::U32,
    count: Some(2),
    text: "\
#if defined(__ARM_FEATURE_SIMD32) && defined(__thumb2__) && defined(__GNUC__)
    typedef uint64_t both __attribute__((aligned(4), may_alias));
    uint32_t word0, word1;
    __asm__(\"ldrd %0, %1, %2\" : \"=r\"(word0), \"=r\"(word1) : \"Uv\"(*(const both *)from));
EACH     *to# = word#;
#else
PLAIN#endif
",
    list: "",
};

/// One lane with fused multiply-add: cores with an FPU and without vectors.
pub static SCALAR_FMA: Isa = Isa {
    name: "scalar_fma",
    lanes: 1,
    registers: 32,
    // the core's registers without pointers to weights and elements
    integer_registers: 8,
    rows: 4,
    loads: 12,
    c_loads: &[ONE_LANE_LOADS, ONE_LANE_HALVES, ONE_LANE_BYTES, ONE_LANE_WORDS],
    calls: true,
    pass: 24,
    fma: true,
    wide_elements: true,
    ..GENERIC
};

/// One lane without fused multiply-add: cores with a small FPU.
pub static SCALAR: Isa = Isa { name: "scalar", fma: false, ..SCALAR_FMA };

/// One lane on a core that computes floats in software.
pub static SOFT: Isa = Isa {
    name: "scalar_soft",
    lanes: 1,
    integer_registers: 8,
    calls: true,
    in_software: true,
    pass: 24,
    wide_elements: true,
    ..GENERIC
};

/// One lane in plain C or Rust.
pub static PLAIN: Isa = Isa { name: "plain", rows: 1, loads: 1, c_loads: &[], ..SCALAR };

/// Costs of machines with vectors of about four lanes.
static FOUR_LANES: Costs = Costs {
    alternate_near: [0, 0],
    most_channels: 5,
    most_sums: 3,
    most_shared: 16,
    most_at_once: 48,
    late_apart: 0,
    ..X86_64.costs
};

/// The shared part of targets of one lane: groups of four columns, no cache.
static ONE_LANE: Arch = Arch {
    isas: &[],
    c_tuning: &[],
    c_float_flags: "no flag of gcc or clang does otherwise there",
    rust_refused: ("", ""),
    rust_struct: "",
    alignment: 4,
    apart: 4,
    stack_limit: 8,
    most_elements: 1 << 24,
    line: 16,
    costs: Costs {
        alternate_near: [0, 0],
        most_rows: 2,
        most_channels: 5,
        most_sums: 3,
        most_shared: 4,
        most_at_once: 4,
        late_apart: 0,
        ..X86_64.costs
    },
    ..X86_64
};

/// C11 without extensions, for any compiler.
pub static PORTABLE: Arch = Arch {
    name: "portable",
    key: "portable",
    triples: &[],
    baseline: &PLAIN,
    c_extensions: false,
    c_float_flags: "32-bit x86: -msse2 -mfpmath=sse, /arch:SSE2; s390x: -fexcess-precision=fast",
    ..ONE_LANE
};

/// C: the condition for compilers for WebAssembly.
const WASM: &str = "defined(__wasm__)";

/// WebAssembly, with or without simd128.
pub static WASM32: Arch = Arch {
    name: "wasm32",
    key: "wasm32",
    triples: &["wasm32-"],
    isas: &[],
    c_tuning: &[],
    c_float_flags: "no flag of clang does otherwise there",
    c_baseline_refused: ("", ""),
    c_rows: WASM,
    rust_refused: ("", ""),
    rust_struct: "",
    alignment: 16,
    most_elements: 1 << 24,
    // eight columns
    line: 32,
    costs: Costs { most_at_once: 24, ..FOUR_LANES },
    ..X86_64
};

/// The body of one lane in files for every machine, for machines without suitable vectors of four
/// lanes. Vectors of 32-bit Arm flush subnormal numbers. Rust's compilers do not describe small
/// cores.
static SCALAR_OF_ANY: Isa = Isa {
    detection: Detection::Compiling(Condition {
        c: "!defined(__SSE2__) && !defined(__aarch64__) && !defined(__wasm__) && \
            !defined(__riscv_vector)",
        rust: "",
    }),
    // panels are wide here
    pass: 4,
    ..SCALAR
};

/// The body of one lane in files for every machine, with fused multiply-add.
static SCALAR_FMA_OF_ANY: Isa = Isa {
    body_of: Some(&SCALAR_OF_ANY),
    detection: Detection::Compiling(Condition {
        c: "(defined(__arm__) && defined(__ARM_FEATURE_FMA)) || (defined(__riscv_flen) && \
            !defined(__riscv_vector))",
        rust: "",
    }),
    pass: SCALAR_OF_ANY.pass,
    ..SCALAR_FMA
};

/// The target `any`: files for every machine, with further bodies and plan sizes for x86-64.
pub static ANY: Arch = Arch {
    name: "any",
    key: "any",
    triples: &[],
    rust_refused: ("", ""),
    isas: &[
        &NEON_OF_ANY,
        &RVV_OF_ANY,
        &SCALAR_OF_ANY,
        &SCALAR_FMA_OF_ANY,
        &HELIUM_OF_ANY,
        &AVX2,
        &AVX_VNNI,
        &AVX512,
        &AVX512_VNNI,
        &AMX,
    ],
    c_tuning: &[x86::C_TUNING, arm::C_TUNING],
    c_float_flags: PORTABLE.c_float_flags,
    c_refused: (arm::CLANG_WITH_HELIUM, arm::WITHOUT_HELIUM),
    c_rows: WASM,
    ..X86_64
};

/// Networks with fewer weights are computed in scalars.
pub const MOST_SCALAR_WEIGHTS: usize = 64;

/// Creates the target for networks that fill no vector: name, costs and compiler of a target, and
/// the scalar body of [`PORTABLE`].
macro_rules! scalar_form {
    ($arch:expr) => {
        Arch {
            name: $arch.name,
            key: $arch.key,
            triples: $arch.triples,
            most_elements: $arch.most_elements,
            instructions: $arch.instructions,
            c_compiler: $arch.c_compiler,
            begin: $arch.begin,
            ..PORTABLE
        }
    };
}

/// The scalar form of each target.
static SCALAR_FORMS: [Arch; 14] = [
    scalar_form!(ANY),
    scalar_form!(X86_64),
    scalar_form!(AARCH64),
    scalar_form!(ARMV7),
    scalar_form!(CORTEX_M0),
    scalar_form!(CORTEX_M3),
    scalar_form!(CORTEX_M4F),
    scalar_form!(CORTEX_M7),
    scalar_form!(CORTEX_M33),
    scalar_form!(CORTEX_M55),
    scalar_form!(RISCV32),
    scalar_form!(RISCV64),
    scalar_form!(WASM32),
    scalar_form!(PORTABLE),
];

/// Every target.
pub static TARGETS: [&Arch; 14] = [
    &ANY,
    &X86_64,
    &AARCH64,
    &ARMV7,
    &CORTEX_M0,
    &CORTEX_M3,
    &CORTEX_M4F,
    &CORTEX_M7,
    &CORTEX_M33,
    &CORTEX_M55,
    &RISCV32,
    &RISCV64,
    &WASM32,
    &PORTABLE,
];

/// Every instruction set that targets add to a baseline, best last.
pub static ALL: [&Isa; 13] = [
    &GENERIC,
    &NEON_OF_ANY,
    &NEON_DOTPROD,
    &NEON_FMA,
    &SCALAR_OF_ANY,
    &SCALAR_FMA_OF_ANY,
    &HELIUM,
    &RVV,
    &AVX2,
    &AVX_VNNI,
    &AVX512,
    &AVX512_VNNI,
    &AMX,
];

/// C: the condition under which operators on vectors of four lanes are instructions.
pub(crate) const C_FOUR_LANES: &str = "defined(__SSE2__) || defined(__ARM_NEON)";

/// C: the hint to the processor that a loop waits.
pub(crate) const C_PAUSE: &str = "\
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile(\"yield\");
#endif
";

/// Vectors that cover `columns`, widest first, none wider than `lanes`: 17 columns on 16 lanes are
/// 16 + 1.
pub fn vectors(columns: usize, lanes: usize) -> Vec<(usize, usize)> {
    let mut at = 0;
    let mut width = lanes;
    let mut all = Vec::new();
    while at < columns {
        while width > columns - at {
            width /= 2;
        }
        all.push((at, width));
        at += width;
    }
    all
}

impl Arch {
    /// True if gcc copies long float arrays slowly on a processor of this target.
    pub(crate) fn has_slow_copies(&self) -> bool {
        self.c_tuning.contains(&x86::C_TUNING)
    }

    /// The pragma lines for gcc, in a file whose kernels hold values in registers or in structs of
    /// registers.
    pub(crate) fn c_tuning_lines(&self, of_structs: bool) -> String {
        let chosen = |text: &&'static str| {
            if of_structs && *text == x86::C_TUNING { x86::C_TUNING_OF_STRUCTS } else { text }
        };
        self.c_tuning.iter().map(chosen).collect()
    }

    /// The target's form for networks with less than a vector of units.
    pub fn in_scalars(&'static self) -> &'static Self {
        SCALAR_FORMS.iter().find(|form| form.name == self.name).unwrap_or(self)
    }

    /// Instruction counts of an instruction set on the target, if measured.
    pub fn instructions_of<'a>(&'a self, isa: &'a Isa) -> Option<&'a Instructions> {
        let own = self.instructions.as_ref()?;
        Some(isa.instructions.as_ref().unwrap_or(own))
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

/// The loops of the floor of an instruction set. `None` if this machine lacks the instruction set.
pub(crate) fn loops(isa: &Isa) -> Option<floor::Loops> {
    #[cfg(target_arch = "x86_64")]
    return x86::floor::loops(isa);
    #[cfg(not(target_arch = "x86_64"))]
    (*isa == GENERIC).then_some(floor::PLAIN)
}

impl CLoads {
    /// The body for `count` vectors.
    pub(crate) fn text(&self, count: usize) -> String {
        let each =
            |text: &str| (0..count).map(|i| text.replace('#', &i.to_string())).collect::<Vec<_>>();
        let mut all = String::new();
        let mut lines = self.text.split_inclusive('\n').peekable();
        while let Some(line) = lines.next() {
            if let Some(line) = line.strip_prefix("PAIR ") {
                let mut pair = line.to_owned();
                while let Some(next) = lines.peek().and_then(|next| next.strip_prefix("PAIR ")) {
                    pair += next;
                    lines.next();
                }
                let of =
                    |i: usize| pair.replace('#', &i.to_string()).replace('$', &(i + 1).to_string());
                all.extend((0..count / 2).map(|i| of(2 * i)));
            } else if let Some(line) = line.strip_prefix("ODD ") {
                all.extend((count / 2 * 2..count).map(|i| line.replace('#', &i.to_string())));
            } else {
                match line.strip_prefix("EACH ") {
                    Some(line) => all += &each(line).concat(),
                    None => all += line,
                }
            }
        }
        let numbers =
            all.replace("LIST", &each(self.list).join(", ")).replace("COUNT", &count.to_string());
        numbers
            .replace("LAST", &(count - 1).to_string())
            .replace("HALF", &(2 * count - 1).to_string())
    }
}

impl Arch {
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

    /// True if a compiler may compile the target's C for an Arm core that computes floats in
    /// software, though the target does not say so.
    #[cfg(feature = "builder")]
    pub(crate) fn may_lack_fpu(&self) -> bool {
        self.may_be("arm")
            && !self.c_refused.0.contains("__ARM_FEATURE_FMA")
            && !self.baseline.in_software
    }

    /// True if files of the target may run on a processor, given by Rust's name: `x86_64`.
    pub fn may_be(&self, processor: &str) -> bool {
        self.triples.is_empty() || self.triples.iter().any(|triple| triple.starts_with(processor))
    }

    /// Rust: the condition under which the file may be compiled. Empty: always.
    pub fn rust_held(&self) -> &'static str {
        self.rust_refused
            .0
            .strip_prefix("not(")
            .and_then(|held| held.strip_suffix(')'))
            .unwrap_or_default()
    }

    /// Vectors per cache line, from 1 to 4. 1 if registers do not hold a line for several sums.
    pub(crate) fn vectors_of_line(&self, isa: &Isa) -> usize {
        let most = if isa.registers < GENERIC.registers { 1 } else { 4 };
        (self.line / 4 / isa.lanes).clamp(1, most)
    }
}

impl Isa {
    /// The instruction set with this name.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        ALL.into_iter().find(|isa| isa.name == name)
    }

    /// The instruction sets that machines of this one run if a file contains no body of this one,
    /// best first.
    pub fn extended(&self) -> impl Iterator<Item = &'static Self> {
        std::iter::successors(self.extends, |isa| isa.extends)
    }

    /// The compile-time condition of the instruction set. `None`: every machine of the target has
    /// the instruction set.
    pub(crate) fn condition(&self) -> Option<Condition> {
        match self.detection {
            Detection::Baseline => None,
            Detection::Compiling(condition) | Detection::Running(condition, _) => Some(condition),
        }
    }

    /// The run-time question for the instruction set, if a program asks the processor.
    pub(crate) fn question(&self) -> Option<Question> {
        match self.detection {
            Detection::Running(_, question) => Some(question),
            Detection::Baseline | Detection::Compiling(_) => None,
        }
    }

    /// True if the compiler chooses the body.
    pub(crate) fn is_chosen_when_compiling(&self) -> bool {
        matches!(self.detection, Detection::Compiling(_))
    }
}

impl fmt::Debug for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Isa {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Isa {}

impl PartialOrd for Isa {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Isa {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name.cmp(other.name)
    }
}
