//! Architectures and their instruction sets as data: what a kernel may assume, how it is found out whether a machine has
//! that, and how the two languages name it.

mod arm;
#[cfg(feature = "cli")]
pub(crate) mod floor;
mod riscv;
mod work;
mod x86;

use std::cmp::Ordering;
use std::fmt;

use crate::kernel::{Element, LaneOp};

pub use arm::{AARCH64, ARMV7, CORTEX_M0, CORTEX_M3, CORTEX_M4F, CORTEX_M7, CORTEX_M33, CORTEX_M55};
use arm::{HELIUM, HELIUM_OF_ANY, NEON_DOTPROD, NEON_FMA, NEON_OF_ANY};
use riscv::RVV_OF_ANY;
pub use riscv::{RISCV32, RISCV64, RVV};
pub use work::{Instructions, Work};
pub use x86::{AMX, AVX_VNNI, AVX2, AVX512, AVX512_VNNI, X86_64};

/// A target: what every machine of it has, what some have besides, and what code costs there.
#[derive(Debug)]
pub struct Arch {
    /// The name on the command line.
    pub name: &'static str,
    /// The name in macros.
    pub key: &'static str,
    /// What a Rust target begins with whose machines it is for.
    pub triples: &'static [&'static str],
    /// What every machine has that a file is compiled for.
    pub baseline: &'static Isa,
    /// What else a file holds bodies for, best last. Where one that is chosen when compiling is there, no other of them is.
    pub isas: &'static [&'static Isa],
    /// C: whether the file is written with what gcc and clang add to the language; else it is C11 alone.
    pub c_extensions: bool,
    /// C: the lines that tell gcc how to compile for it.
    pub c_tuning: &'static [&'static str],
    /// C: flags without which it does not compute float as float, and where.
    pub c_float_flags: &'static str,
    /// C: where the file must not be compiled, and what to do about it; empty where it can be everywhere.
    pub c_refused: (&'static str, &'static str),
    /// Rust: where the file must not be compiled, and what to do about it; empty where it can be everywhere.
    pub rust_refused: (&'static str, &'static str),
    /// C: where the baseline's body must not be compiled, if it is of several lanes; and what to do about it.
    pub c_baseline_refused: (&'static str, &'static str),
    /// C: where loads add a constant to an address for nothing, and compilers that work out addresses of their own must be kept from it; empty: nowhere.
    pub c_rows: &'static str,
    /// Rust: an attribute of structs whose fields are read as vectors.
    pub rust_struct: &'static str,
    /// Bytes: weights, states and scratch memory start at multiples of so many.
    pub alignment: usize,
    /// Bytes between what two threads write, so that neither waits for the other.
    pub apart: usize,
    /// Elements of the stack that a kernel takes for a tensor at most; what is longer is scratch memory of the state.
    pub own: usize,
    /// Most elements of a tensor that a model computes: 2^28 (1 GiB of f32) where an operating system
    /// gives a program more than 4 GiB of addresses, else 2^24.
    pub most_elements: usize,
    /// Bytes of a line of the cache, which holds the longest vectors.
    pub line: usize,
    /// What code costs there.
    pub costs: Costs,
    /// How many instructions code takes, where that has been counted.
    pub instructions: Option<Instructions>,
    /// A C compiler for it, and what it takes: what `cellc inspect` measures code with, where it is installed; or none.
    pub c_compiler: &'static [&'static str],
    /// The most instructions that begin in a cycle on its machines; 0 where that differs too much.
    pub begin: u64,
}

/// What code costs, in cycles of one core: what the plan chooses by. Panels are part of how weights are packed, once for all instruction
/// sets, so what chooses them knows no instruction set.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// Bytes of the first level of the cache that a panel may take.
    pub first_level: usize,
    /// The fewest and the most bytes of weights of which, in alternating order, the first level holds a good part but not all, if a panel has at most the
    /// fewest; zeros: none is walked so for its sake.
    pub alternate_near: [usize; 2],
    /// Bytes of weights from which on they are walked in alternating order for the second level.
    pub alternate_from: usize,
    /// Bytes of weights of which, in that order, the second level still holds a good part.
    pub partly_near: usize,
    /// Bytes that a core reads in a cycle from the first level.
    pub first_level_rate: f64,
    /// Bytes that a core reads in a cycle from the second level, sustained; fewer from beyond.
    pub second_level_rate: f64,
    /// Multiply-adds that begin in a cycle, and loads.
    pub begun: f64,
    /// Lanes of the multiply-adds that two threads share.
    pub lanes: f64,
    /// Cycles until the result of a multiply-add can be added to.
    pub latency: f64,
    /// Cycles of multiply-adds of other rows and vectors that hide the latency of one.
    pub hidden_from: f64,
    /// Cycles that a convolution takes longer for a vector that lies across two lines of the cache, as multiply-adds wait for it.
    pub crossing: f64,
    /// The most rows that are computed at once: as many sums as any instruction set has registers for.
    pub most_rows: usize,
    /// Output channels of a convolution whose weights stand side by side, at most: as many as any instruction set holds sums of at once.
    pub most_channels: usize,
    /// Lines of sums that a pass holds at most: as many as every instruction set with vectors has registers for.
    pub most_sums: usize,
    /// Columns of a panel of which several rows share each weight, at most.
    pub most_shared: usize,
    /// Where the reset gate of a GRU stands before the product: bytes of weights for each lane up to which the x terms of the candidate are added up behind the sigmoid of r, while
    /// a core that looks ahead waits for it. 0: never; on RISC-V and AArch64 this takes up to 1.11 and 1.05 times the instructions, and is not timed.
    pub late_apart: usize,
    /// Columns of a GRU whose reset gate stands before the product that one panel holds, at most.
    pub most_at_once: usize,
    /// Cycles that a panel costs beside its rows: its loops begin, and its first weights come from afar.
    pub panel: f64,
    /// Cycles that a panel of another size costs besides: code of its own.
    pub other_panel: f64,
    /// Cycles of an activation of one line where nothing hides it.
    pub activation: f64,
    /// The part of the time of a panel's rows that hides activations of the panel before: a core looks only so far ahead.
    pub hidden: f64,
    /// Cycles that a step on two threads costs besides: handing a half over, waiting for its end, and states on their way from core
    /// to core.
    pub hand_over: f64,
}

/// An instruction set that generated code can hold a body for.
pub struct Isa {
    /// The name on the command line and in generated code: no other has it.
    pub name: &'static str,
    /// f32 lanes of a vector register.
    pub lanes: usize,
    /// Vector registers.
    pub registers: usize,
    /// Registers of what sums of integers are in.
    pub integer_registers: usize,
    /// Rows of weights that one iteration of a loop takes at least.
    pub rows: usize,
    /// Vectors of neighbouring weights that one instruction loads at most.
    pub loads: usize,
    /// C: how it does.
    pub c_loads: &'static [CLoads],
    /// Whether activations are functions that are called, not copied to every place: where code is scarce.
    pub calls: bool,
    /// Whether floats are computed in software: C then compares and rounds them by integers.
    pub in_software: bool,
    /// C: whether one call computes an activation of several values, as constants are no part of instructions and each call loads them.
    pub calls_each: bool,
    /// Vectors of neighbouring columns that a pass over the rows of weights takes at most, where passes of equal size are a loop; 0: as many
    /// as there are registers for, and each pass has text of its own.
    pub pass: usize,
    /// How far apart two loads of one instruction are at least in a loop over weights from the second level of the cache, in bytes, as compilers unroll it
    /// by so many turns; 0: they are neighbours.
    pub load_distance: usize,
    /// Whether it multiplies and adds with one rounding.
    pub fma: bool,
    /// How many integers the words have whose products are all that it has besides [`Self::extends`]: a file that multiplies none of
    /// these holds no body of it. Empty: every file does.
    pub words: &'static [usize],
    /// The instruction set on which its machines run a file that holds no body of it.
    pub extends: Option<&'static Self>,
    /// Whether bytes of elements have no sign where they multiply bytes of weights.
    pub unsigned_quads: bool,
    /// Whether it adds the products of all lanes to one sum, so that lanes are neighbours of a row of weights, not columns.
    pub across: bool,
    /// What multiplies every lane of weights by one lane of elements.
    pub by_lane: &'static [ByLane],
    /// Whether it is elements of 16 bits that multiply bytes of weights, two of a word at a time. One lane only.
    pub wide_elements: bool,
    /// How many rows of elements it multiplies by tiles of as many `TILE_WORDS` and columns of weights, at most; 0: it has no tiles.
    pub tile_rows: usize,
    /// The instruction set in whose body it runs, where a file holds that: the two differ only in how that body multiplies and adds, and where
    /// this one is, that one would be too.
    pub body_of: Option<&'static Isa>,
    /// How generated code knows that a machine has it.
    pub detection: Detection,
    /// Rust's names for its features, comma separated; empty for what the compiler assumes anyway.
    pub rust_features: &'static str,
    /// C's (gcc, clang) names for its features, comma separated; empty for what the compiler assumes anyway.
    pub c_features: &'static str,
    /// Rust: one fused multiply-add `a * b + c` of f32 scalars by intrinsics or an instruction; empty where there is none.
    pub rust_mul_add: &'static str,
    /// Rust: the `cfg` under which that compiles, where a file compiles for other machines too; there it computes the same bits in software.
    pub rust_mul_add_where: &'static str,
    /// Rust: its vector registers; vectors of other lengths are arrays of lanes.
    pub rust_vectors: &'static [RustVector],
    /// Rust: functions of its own, each behind a line with its name.
    pub rust_functions: &'static str,
    /// C: what the target's compiler is told besides, that it compiles this body; `None`: it has no flags for that. The baseline needs none.
    pub c_flags: Option<&'static [&'static str]>,
    /// C: the header that declares its intrinsics; empty where there are none.
    pub c_header: &'static str,
    /// C: its vectors, where intrinsics spell them; others are written with operators alone.
    pub c_vectors: &'static [CVector],
    /// C: functions that those call.
    pub c_functions: &'static str,
    /// C: how it adds products across lanes, if it does.
    pub c_across: Option<CAcross>,
    /// Where it makes 0 of subnormal numbers: how that is seen. Files then hold a body of one lane beside it, which makes such a step again.
    pub c_flushes: Option<CFlushes>,
    /// How many instructions code takes, where not as many as on the target.
    pub instructions: Option<Instructions>,
}

/// Turns by which loops are unrolled, or a multiple: LLVM unrolls a loop of so many.
pub const TURNS: usize = 8;

/// Words of a row of elements that a tile holds, and words of weights of a column; as many columns.
pub const TILE_WORDS: usize = 16;

/// How C sees that an instruction set has made 0 of a subnormal number, of an operand or of a result.
#[derive(Clone, Copy, Debug)]
pub struct CFlushes {
    /// Statements before all else.
    pub begin: &'static str,
    /// Statements behind it.
    pub end: &'static str,
    /// A condition.
    pub flushed: &'static str,
}

/// What adds the products of words of weights with those of one lane of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByLane {
    /// How many integers a word has: 2 for [`DotApart`](LaneOp::DotApart), 4 for [`DotQuadsOf`](LaneOp::DotQuadsOf).
    pub in_word: usize,
    /// C: weights, elements and sums are `{0}` to `{2}`, {3} is the lane, {4} and {5} are the halves of that.
    pub c: &'static str,
    /// Rust: a function of those, with the lane or its halves as parameters.
    pub rust: &'static str,
}

impl ByLane {
    /// That which stands for an operation.
    pub fn of(all: &'static [Self], operation: LaneOp) -> Option<&'static Self> {
        let in_word = match operation {
            LaneOp::DotApart(_) => 2,
            LaneOp::DotQuadsOf(_) => 4,
            _ => return None,
        };
        all.iter().find(|own| own.in_word == in_word)
    }
}

/// A vector register as Rust spells it, by the intrinsics of `core::arch`.
#[derive(Clone, Copy, Debug)]
pub struct RustVector {
    /// f32 lanes.
    pub lanes: usize,
    /// The module of `core::arch`.
    pub processor: &'static str,
    /// The `cfg` under which the type exists; empty where the body is compiled only there.
    pub condition: &'static str,
    /// The type of f32 lanes.
    pub register: &'static str,
    /// The type of their bits.
    pub integers: &'static str,
    /// Operations by name, as expressions of their operands `a`, `b`, `c` and `d`; those of an earlier list count.
    pub operations: &'static [&'static [(&'static str, &'static str)]],
}

impl RustVector {
    /// The expression for an operation.
    pub fn operation(&self, name: &str) -> Option<&'static str> {
        self.operations.iter().copied().flatten().find(|(other, _)| *other == name).map(|(_, text)| *text)
    }

    /// An expression whose intrinsics and types have the path of their module: `use` of `core` has another form in edition 2015.
    pub fn with_paths(&self, text: &str) -> String {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (mut out, mut rest) = (String::new(), text);
        while let Some(start) = rest.find(is_part) {
            let (before, from) = rest.split_at(start);
            let (word, after) = from.split_at(from.find(|c| !is_part(c)).unwrap_or(from.len()));
            let of_x86 = ["_mm", "__m", "_CMP_"].iter().any(|start| word.starts_with(start));
            let of_arm = word.starts_with('v') && word.contains('_') || word.ends_with("x4_t");
            out.push_str(before);
            if of_x86 || of_arm {
                out.push_str("core::arch::");
                out.push_str(self.processor);
                out.push_str("::");
            }
            out.push_str(word);
            rest = after;
        }
        out + rest
    }
}

/// How generated code knows that a machine has an instruction set.
#[derive(Clone, Copy, Debug)]
pub enum Detection {
    /// Every machine has it.
    Baseline,
    /// The compiler knows: where that holds, it takes the place of the baseline; where several hold, the last does.
    Compiling(Condition),
    /// The processor knows: where the condition holds, it is asked when the program runs.
    Running(Condition, Question),
}

/// True if generated Rust computes in vector registers of the processor: `x86_64`, as Rust calls it.
#[cfg(feature = "builder")]
pub fn names_vectors_of(processor: &str) -> bool {
    ALL.iter().flat_map(|isa| isa.rust_vectors).any(|row| row.processor == processor)
}

/// What a compiler knows of the machine that it compiles for. Where the condition of a language is empty, its compilers do not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Of the preprocessor.
    pub c: &'static str,
    /// Of `cfg`.
    pub rust: &'static str,
}

/// How a program asks the processor for an instruction set.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// What all instruction sets of the architecture need for theirs.
    pub processor: &'static Processor,
    /// C: the condition.
    pub c: &'static str,
    /// Rust: the condition.
    pub rust: &'static str,
    /// Rust: what that calls besides.
    pub rust_functions: &'static str,
}

/// How a program asks a processor what it has.
#[derive(Debug)]
pub struct Processor {
    /// C: the header of what `c` calls.
    pub c_header: &'static str,
    /// C: a function that gives a bit for each instruction set that the machine has. PREFIX is the file's, BASELINE the
    /// baseline's number, and in place of a line with SETS stand the questions.
    pub c: &'static str,
    /// Rust: what the questions call.
    pub rust: &'static str,
}

/// How C loads several vectors by one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CLoads {
    /// How many lanes each has.
    pub lanes: usize,
    /// What is loaded.
    pub element: Element,
    /// How many it loads; `None`: as many as there are.
    pub count: Option<usize>,
    /// The body of a function from `from` to `*to0`, `*to1`, ..; a line with EACH stands for one for each of them, # being its number,
    /// lines with PAIR for each two, # and $ being theirs, one with ODD for what is left of them, and PLAIN for assignments by operators. COUNT is how many there are, LAST the last one's number, HALF that of the last
    /// half where each has two, LIST what EACH is without a line of its own.
    pub text: &'static str,
    /// What stands for LIST, and between its elements.
    pub list: &'static str,
}

/// How assembly adds products of integers across lanes, an instruction each. `weights` and `elements` are pointers that move on, `sumN` is the sum of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CAcross {
    /// A vector of elements is loaded.
    pub elements: &'static str,
    /// A vector of weights is.
    pub weights: &'static str,
    /// One whose pairs are bytes is.
    pub pairs_of_bytes: &'static str,
    /// A sum becomes that of their products of bytes.
    pub quads: &'static str,
    /// Those are added to it.
    pub add_quads: &'static str,
    /// A sum becomes that of their products of 16 bits.
    pub pairs: &'static str,
    /// Those are added to it.
    pub add_pairs: &'static str,
    /// A sum becomes 0.
    pub zero: &'static str,
    /// Weights of other columns are left out: so many bytes.
    pub beyond: &'static str,
    /// A loop of so many turns begins.
    pub begin: &'static str,
    /// It ends.
    pub end: &'static str,
    /// Four sums become the lanes of a vector, two by two.
    pub meet: [&'static str; 2],
    /// The constraint of the pointer to weights whose pairs are bytes.
    pub pointer_to_bytes: &'static str,
    /// The constraint of a sum.
    pub sum: &'static str,
    /// What is overwritten beside the sums.
    pub clobbered: &'static str,
}

/// How C spells what no operator does on a vector of f32. `{0}`, `{1}`, .. stand for the arguments, PREFIX for what names of the file begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CVector {
    /// How many lanes.
    pub lanes: usize,
    /// The lanes at a pointer that is aligned as f32 is; empty: what the language has.
    pub load: &'static str,
    /// The same of memory that nothing writes; empty: as of any other.
    pub load_constant: &'static str,
    /// The lanes of as many binary16 at a pointer that is aligned as one of them is.
    pub load_f16: &'static str,
    /// The lanes of as many bytes with a sign.
    pub load_i8: &'static str,
    /// To that pointer, these lanes.
    pub store: &'static str,
    /// One f32 in every lane.
    pub splat: &'static str,
    /// `{0} * {1} + {2}`, rounded once; twice where the instruction set does not fuse.
    pub mul_add: &'static str,
    /// The same where the lanes of {1} are all one f32, which stands for it; empty: no other instruction.
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
    /// [`MaxMagnitude`](crate::kernel::LaneOp::MaxMagnitude); empty: what the language has.
    pub max_magnitude: &'static str,
    /// [`SelectLess`](crate::kernel::LaneOp::SelectLess).
    pub select_less: &'static str,
    /// [`Flush`](crate::kernel::LaneOp::Flush).
    pub flush: &'static str,
    /// The lanes of as many pairs of bytes with a sign, as 16 bits each; empty: what the language has.
    pub load_i8_pairs: &'static str,
    /// [`FromSigned`](crate::kernel::LaneOp::FromSigned); empty: what the language has.
    pub from_signed: &'static str,
    /// [`DotPairs`](crate::kernel::LaneOp::DotPairs); empty: what the language has. Where sums have members, the value of each.
    pub dot_pairs: &'static str,
    /// [`DotQuads`](crate::kernel::LaneOp::DotQuads), or, where bytes of elements have no sign, [`DotUnsignedQuads`](crate::kernel::LaneOp::DotUnsignedQuads), in
    /// the same way.
    pub dot_quads: &'static str,
    /// The members of a struct, each a vector of the machine, that holds sums of products until they become f32; empty: sums are lanes.
    pub sums: &'static str,
}

/// The body that every machine can run: what the compiler makes of four lanes on its baseline.
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

/// One lane of several loads: Arm's for the FPU.
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

/// One lane of several halves: Arm's for an FPU that converts them, two of a word.
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

/// One lane of two pairs of bytes, which are a word: Arm's where it multiplies pairs of 16 bits.
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

/// One lane of two words of integers: Arm's with Thumb, where any two registers do.
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

/// One lane with a fused multiply-add: a core with an FPU and without vectors.
pub static SCALAR_FMA: Isa = Isa {
    name: "scalar_fma",
    lanes: 1,
    registers: 32,
    // those of the core, less what points to weights and elements
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

/// One lane without: a core with a small FPU.
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

/// One lane, with nothing that is not in the language.
pub static PLAIN: Isa = Isa { name: "plain", rows: 1, loads: 1, c_loads: &[], ..SCALAR };

/// What code costs where vectors have four lanes or so.
static FOUR_LANES: Costs = Costs {
    alternate_near: [0, 0],
    most_channels: 5,
    most_sums: 3,
    most_shared: 16,
    most_at_once: 48,
    late_apart: 0,
    ..X86_64.costs
};

/// What targets of one lane have in common: four columns are a unit, for which there is no cache.
static ONE_LANE: Arch = Arch {
    isas: &[],
    c_tuning: &[],
    c_float_flags: "no flag of gcc or clang does otherwise there",
    rust_refused: ("", ""),
    rust_struct: "",
    alignment: 4,
    apart: 4,
    own: 8,
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

/// C11 without an extension, for any compiler.
pub static PORTABLE: Arch = Arch {
    name: "portable",
    key: "portable",
    triples: &[],
    baseline: &PLAIN,
    c_extensions: false,
    c_float_flags: "32-bit x86: -msse2 -mfpmath=sse, /arch:SSE2; s390x: -fexcess-precision=fast",
    ..ONE_LANE
};

/// C: where the compiler is one for WebAssembly.
const WASM: &str = "defined(__wasm__)";

/// WebAssembly, with simd128 or without.
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

/// One lane of a file for every machine, where it is not one whose vectors compilers use for four lanes. Arm's of 32 bits make 0 of what is
/// subnormal. Rust's compilers do not tell what a small core has.
static SCALAR_OF_ANY: Isa = Isa {
    detection: Detection::Compiling(Condition {
        c: "!defined(__SSE2__) && !defined(__aarch64__) && !defined(__wasm__) && !defined(__riscv_vector)",
        rust: "",
    }),
    // panels are wide here
    pass: 4,
    ..SCALAR
};

/// The same where a multiply-add is known to be one instruction.
static SCALAR_FMA_OF_ANY: Isa = Isa {
    body_of: Some(&SCALAR_OF_ANY),
    detection: Detection::Compiling(Condition {
        c: "(defined(__arm__) && defined(__ARM_FEATURE_FMA)) || (defined(__riscv_flen) && !defined(__riscv_vector))",
        rust: "",
    }),
    pass: SCALAR_OF_ANY.pass,
    ..SCALAR_FMA
};

/// Files for every machine, with bodies of their own for x86-64, for which sizes are chosen.
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

/// Weights that a network has fewer than that is computed in scalars.
pub const MOST_SCALAR_WEIGHTS: usize = 64;

/// A target for networks that fill no vector: its name, its costs, its compiler, and the one scalar body of [`PORTABLE`].
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

/// The scalar form of every target.
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

/// Every instruction set beside which a target has others, best last.
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

/// C: where operators on vectors of four lanes are instructions.
#[cfg(feature = "builder")]
pub(crate) const C_FOUR_LANES: &str = "defined(__SSE2__) || defined(__ARM_NEON)";

/// C: tells the processor that a loop waits.
#[cfg(feature = "builder")]
pub(crate) const C_PAUSE: &str = "\
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile(\"yield\");
#endif
";

impl Arch {
    /// The target for networks that fill no vector.
    pub fn in_scalars(&'static self) -> &'static Self {
        SCALAR_FORMS.iter().find(|form| form.name == self.name).unwrap_or(self)
    }

    /// How many instructions code of an instruction set takes, where that has been counted on the target.
    pub fn instructions_of<'a>(&'a self, isa: &'a Isa) -> Option<&'a Instructions> {
        let own = self.instructions.as_ref()?;
        Some(isa.instructions.as_ref().unwrap_or(own))
    }
}

/// Architectures are few and static: each is equal to itself alone.
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

/// The loops of the floor of an instruction set; `None` where this machine lacks it.
#[cfg(feature = "cli")]
pub(crate) fn loops(isa: &Isa) -> Option<floor::Loops> {
    #[cfg(target_arch = "x86_64")]
    return x86::floor::loops(isa);
    #[cfg(not(target_arch = "x86_64"))]
    (*isa == GENERIC).then_some(floor::PLAIN)
}

#[cfg(feature = "builder")]
impl CLoads {
    /// The body for so many vectors.
    pub(crate) fn text(&self, count: usize) -> String {
        let each = |text: &str| (0..count).map(|i| text.replace('#', &i.to_string())).collect::<Vec<_>>();
        let mut all = String::new();
        let mut lines = self.text.split_inclusive('\n').peekable();
        while let Some(line) = lines.next() {
            if let Some(line) = line.strip_prefix("PAIR ") {
                let mut pair = line.to_owned();
                while let Some(next) = lines.peek().and_then(|next| next.strip_prefix("PAIR ")) {
                    pair += next;
                    lines.next();
                }
                let of = |i: usize| pair.replace('#', &i.to_string()).replace('$', &(i + 1).to_string());
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
        let numbers = all.replace("LIST", &each(self.list).join(", ")).replace("COUNT", &count.to_string());
        numbers.replace("LAST", &(count - 1).to_string()).replace("HALF", &(2 * count - 1).to_string())
    }
}

impl Arch {
    /// The target of that name.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        TARGETS.into_iter().find(|arch| arch.name == name)
    }

    /// The target of a Rust target, as cargo tells build scripts in `TARGET`; `any` where none is for it alone.
    pub fn of_triple(triple: &str) -> &'static Self {
        let is_for = |arch: &&'static Self| arch.triples.iter().any(|begin| triple.starts_with(begin));
        TARGETS.into_iter().find(is_for).unwrap_or_default()
    }

    /// True if files of the target may run on that processor: `x86_64`, as Rust calls it.
    pub fn may_be(&self, processor: &str) -> bool {
        self.triples.is_empty() || self.triples.iter().any(|triple| triple.starts_with(processor))
    }

    /// Rust: a condition that holds wherever the file is compiled; empty where it can be everywhere.
    pub fn rust_held(&self) -> &'static str {
        self.rust_refused.0.strip_prefix("not(").and_then(|held| held.strip_suffix(')')).unwrap_or_default()
    }

    /// Vectors of an instruction set that a line of the cache holds; 1 where it holds not even one or where registers do not hold a line of
    /// several sums, and at most 4: on a core of one lane no line counts.
    pub(crate) fn vectors_of_line(&self, isa: &Isa) -> usize {
        let most = if isa.registers < GENERIC.registers { 1 } else { 4 };
        (self.line / 4 / isa.lanes).clamp(1, most)
    }
}

impl Isa {
    /// The instruction set of that name.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        ALL.into_iter().find(|isa| isa.name == name)
    }

    /// Those on which its machines run files that hold no body of it, the best first.
    pub fn extended(&self) -> impl Iterator<Item = &'static Self> {
        std::iter::successors(self.extends, |isa| isa.extends)
    }

    /// Where its body is compiled; `None`: wherever none takes its place.
    pub(crate) fn condition(&self) -> Option<Condition> {
        match self.detection {
            Detection::Baseline => None,
            Detection::Compiling(condition) | Detection::Running(condition, _) => Some(condition),
        }
    }

    /// How a program asks for it, if it does.
    pub(crate) fn question(&self) -> Option<Question> {
        match self.detection {
            Detection::Running(_, question) => Some(question),
            Detection::Baseline | Detection::Compiling(_) => None,
        }
    }

    /// Whether the compiler chooses its body.
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
