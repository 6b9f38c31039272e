//! Architectures and their instruction sets as data: what a kernel may assume, how it is found out whether a machine has
//! that, and how the two languages name it.

#[cfg(feature = "cli")]
pub(crate) mod floor;
mod x86;

use std::cmp::Ordering;
use std::fmt;

pub use x86::{AVX2, AVX512, X86_64};

/// An architecture: what every machine of it has, and what some have besides.
#[derive(Debug)]
pub struct Arch {
    /// What every machine has that a file is compiled for.
    pub baseline: &'static Isa,
    /// What else a file holds bodies for, best last. Where one that is chosen when compiling is there, no other of them is.
    pub isas: &'static [&'static Isa],
    /// C: the lines that tell gcc how to compile for it.
    pub c_tuning: &'static str,
    /// C: flags without which it does not compute float as float, and where.
    pub c_float_flags: &'static str,
    /// Rust: an attribute of structs whose fields are read as vectors.
    pub rust_struct: &'static str,
    /// Bytes: weights, states and scratch memory start at multiples of so many.
    pub alignment: usize,
    /// Bytes between what two threads write, so that neither waits for the other.
    pub apart: usize,
    /// Bytes of a line of the cache, which holds the longest vectors.
    pub line: usize,
    /// What code costs there.
    pub costs: Costs,
}

/// What code costs, in cycles of one core: what the plan chooses by. Panels are part of how weights are packed, once for all instruction
/// sets, so what chooses them knows no instruction set.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// Bytes of the first level of the cache that a panel may take.
    pub first_level: usize,
    /// Bytes of weights from which on they are walked in alternating order.
    pub alternate_from: usize,
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
    /// The most rows that are computed at once: as many sums as any instruction set has registers for.
    pub most_rows: usize,
    /// Lines of sums that a pass holds at most: as many as every instruction set with vectors has registers for.
    pub most_sums: usize,
    /// Columns of a panel of which several rows share each weight, at most.
    pub most_shared: usize,
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
    /// Whether it multiplies and adds with one rounding.
    pub fma: bool,
    /// How generated code knows that a machine has it.
    pub detection: Detection,
    /// Rust's names for its features, comma separated; empty for what the compiler assumes anyway.
    pub rust_features: &'static str,
    /// C's (gcc, clang) names for its features, comma separated; empty for what the compiler assumes anyway.
    pub c_features: &'static str,
    /// Rust: one fused multiply-add `a * b + c` of f32 scalars by intrinsics; empty where there is none.
    pub rust_mul_add: &'static str,
    /// Rust: the f32 of a binary16, whose bits are `half`, by intrinsics; empty where there is none.
    pub rust_half: &'static str,
    /// C: the header that declares its intrinsics; empty where there are none.
    pub c_header: &'static str,
    /// C: its vectors, where intrinsics spell them; others are written with operators alone.
    pub c_vectors: &'static [CVector],
}

/// How generated code knows that a machine has an instruction set.
#[derive(Clone, Copy, Debug)]
pub enum Detection {
    /// Every machine has it.
    Baseline,
    /// The compiler knows: where that holds, the body takes the place of the baseline's.
    Compiling(Condition),
    /// The processor knows: where the condition holds, it is asked when the program runs.
    Running(Condition, Question),
}

/// What a compiler knows of the machine that it compiles for.
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

/// How C spells what no operator does on a vector of f32. `{0}`, `{1}`, .. stand for the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CVector {
    /// How many lanes.
    pub lanes: usize,
    /// The lanes at a pointer that is aligned as f32 is.
    pub load: &'static str,
    /// The lanes of as many binary16 at a pointer that is aligned as one of them is.
    pub load_f16: &'static str,
    /// The lanes of as many bytes with a sign.
    pub load_i8: &'static str,
    /// To that pointer, these lanes.
    pub store: &'static str,
    /// One f32 in every lane.
    pub splat: &'static str,
    /// `{0} * {1} + {2}`, rounded once.
    pub mul_add: &'static str,
    /// [`Max`](crate::kernel::Operation::Max), NaN and zeros included.
    pub max: &'static str,
    /// [`Min`](crate::kernel::Operation::Min), NaN and zeros included.
    pub min: &'static str,
    /// [`SelectLess`](crate::kernel::Operation::SelectLess).
    pub select_less: &'static str,
    /// [`Flush`](crate::kernel::Operation::Flush).
    pub flush: &'static str,
}

/// The body that every machine can run: what the compiler makes of four lanes on its baseline.
pub static GENERIC: Isa = Isa {
    name: "generic",
    lanes: 4,
    registers: 16,
    fma: false,
    detection: Detection::Baseline,
    rust_features: "",
    c_features: "",
    rust_mul_add: "",
    rust_half: "",
    c_header: "",
    c_vectors: &[],
};

/// Every instruction set, best last.
pub static ALL: [&Isa; 3] = [&GENERIC, &AVX2, &AVX512];

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

/// Architectures are few and static: each is equal to itself alone.
impl PartialEq for Arch {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Default for &'static Arch {
    fn default() -> Self {
        &X86_64
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

impl Arch {
    /// Vectors of an instruction set that a line of the cache holds; 1 where it holds not even one.
    pub(crate) fn vectors_of_line(&self, isa: &Isa) -> usize {
        (self.line / 4 / isa.lanes).max(1)
    }
}

impl Isa {
    /// The instruction set of that name.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        ALL.into_iter().find(|isa| isa.name == name)
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
