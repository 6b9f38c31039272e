//! Targets and instruction sets as tables: assumptions of kernels, detection at run time or by the
//! compiler, and the spelling in both languages.

/// The C condition of machines with one kind of suitable vectors of four lanes.
macro_rules! has_vectors {
    (sse) => {
        "defined(__SSE2__)"
    };
    (neon) => {
        "defined(__aarch64__)"
    };
    (wasm) => {
        "defined(__wasm__)"
    };
    (rvv) => {
        "defined(__riscv_vector)"
    };
}

mod arm;
mod detect;
mod dot;
pub(crate) mod floor;
mod machine;
mod riscv;
mod spell;
mod wasm;
mod work;
mod x86;

use std::cmp::Ordering;
use std::fmt;

pub use arm::{
    AARCH64, ARMV7, CORTEX_M0, CORTEX_M3, CORTEX_M4F, CORTEX_M7, CORTEX_M33, CORTEX_M55,
};
use arm::{HELIUM, HELIUM_OF_ANY, NEON_DOTPROD, NEON_FMA, NEON_OF_ANY};
pub use detect::{Condition, Detection, Processor, Question};
pub use dot::{ByLane, Dot};
pub use machine::{Arch, Caches, Costs, DataLayout, EstimatedIn, Limits};
use riscv::RVV_OF_ANY;
pub use riscv::{RISCV32, RISCV64, RVV};
use spell::gcc;
pub use spell::{
    CAcross, CFlushes, CLoads, CRules, CSpelling, CVector, Copies, FloatUnit, GccPragmas,
    RustRules, RustSpelling, RustVector,
};
use wasm::WASM;
pub use wasm::WASM32;
pub use work::{Instructions, WorkKind};
pub use x86::{AMX, AVX_VNNI, AVX2, AVX512, AVX512_VNNI, X86_64};

/// The identity of an instruction set. Files for one target and files for any machine may have
/// different forms of one instruction set; their identity is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IsaId {
    /// AMX, with AVX-512.
    Amx,
    /// AVX2 with FMA.
    Avx2,
    /// AVX-512.
    Avx512,
    /// AVX-512 VNNI.
    Avx512Vnni,
    /// AVX-VNNI.
    AvxVnni,
    /// Four lanes of the baseline.
    Generic,
    /// Helium of Cortex-M.
    Helium,
    /// NEON.
    Neon,
    /// NEON with dot products.
    NeonDotprod,
    /// NEON of 32-bit Arm with fused multiply-add.
    NeonFma,
    /// One lane in plain C or Rust.
    Plain,
    /// RISC-V vectors.
    Rvv,
    /// One lane without fused multiply-add.
    Scalar,
    /// One lane with fused multiply-add.
    ScalarFma,
    /// One lane, floats in software.
    ScalarSoft,
}

/// An instruction set for bodies of generated code.
pub struct Isa {
    /// The identity.
    pub id: IsaId,
    /// The name on the command line and in generated code, unique within a target.
    pub name: &'static str,
    /// f32 lanes of a vector register.
    pub lanes: usize,
    /// Vector registers.
    pub registers: usize,
    /// Registers for integer sums.
    pub integer_registers: usize,
    /// True if the instruction set has a fused multiply-add (one rounding).
    pub fma: bool,
    /// The instruction set whose body runs instead if a file contains no body of this instruction
    /// set. `None`: whether a file contains a body does not depend on the weights.
    pub extends: Option<&'static Self>,
    /// The instruction set whose body this one shares, if the file contains that body. The two
    /// bodies differ only in fused multiply-adds, and every machine with this one has both.
    pub body_of: Option<&'static Isa>,
    /// Detection of the instruction set by generated code.
    pub detection: Detection,
    /// Instruction counts different from the target's. `None`: the target's counts.
    pub instructions: Option<Instructions>,
    /// Dot products of integers.
    pub dots: &'static [Dot],
    /// The form of the code.
    pub code: Code,
    /// The spelling in C.
    pub c: CSpelling,
    /// The spelling in Rust.
    pub rust: RustSpelling,
}

/// An instruction set with a body in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedIsa {
    /// The instruction set.
    pub isa: &'static Isa,
    /// True if multiply-adds are fused: one rounding.
    pub fuses: bool,
}

/// Calls of activations in the code of an instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// Activations are inlined.
    Inlined,
    /// Activations are functions of one value, to save code.
    OneValue,
    /// As `OneValue`. In C also functions of several values, to load constants once.
    SeveralValues,
}

/// The form of the code of an instruction set.
#[derive(Clone, Copy)]
pub struct Code {
    /// Smallest number of weight rows per loop iteration.
    pub rows: usize,
    /// Largest number of neighbouring weight vectors per load instruction.
    pub loads: usize,
    /// Calls of activations.
    pub calls: Calls,
    /// True if floating point is computed in software. C then compares and rounds by integer
    /// operations.
    pub in_software: bool,
    /// C: true if one value holds all columns of a pass in several registers. False if compilers
    /// generate more instructions for values of several registers, or if intrinsics need one
    /// register.
    pub joins: bool,
    /// Largest number of neighbouring column vectors per pass over the weight rows, with passes of
    /// equal size in a loop. 0: as many as registers allow, each pass with separate code.
    pub vectors_per_pass: usize,
    /// Minimum distance in bytes between the loads of one instruction in successive iterations of
    /// a loop over weights from L2. Unrolling reaches this distance. 0: no minimum.
    pub load_distance: usize,
    /// C: true if sums of a loop are stored in memory before a loop over many rows adds other sums.
    pub stores_sums: bool,
    /// C: true if the struct's step calls the pure function, in a file with no other body and
    /// without scratch memory of the caller.
    pub steps_by_run: bool,
}

/// The code of one body for every machine.
const NEUTRAL_CODE: Code = Code {
    rows: 1,
    loads: 1,
    calls: Calls::Inlined,
    in_software: false,
    joins: false,
    // three quarters of the registers hold sums
    vectors_per_pass: 12,
    load_distance: 0,
    stores_sums: false,
    steps_by_run: false,
};

/// Generated Rust unrolls a loop as a loop over short loops of this many iterations, or twice as
/// many, which LLVM unrolls. Unroll factors are multiples of this number.
pub const SHORT_LOOP_ITERATIONS: usize = 8;

/// The size of a tile: words per row of elements, words per column of weights, and columns.
pub const TILE_WORDS: usize = 16;

/// True if generated Rust computes in vector registers of `processor`, an architecture of Rust such
/// as `x86_64`.
pub fn names_vectors_of(processor: &str) -> bool {
    ALL.iter().flat_map(|isa| isa.rust.vectors).any(|row| row.processor == processor)
}

/// The feature of x86-64 for conversions of binary16. Files without binary16 weights do not need
/// the feature.
pub(crate) const HALVES_FEATURE: &str = "f16c";

/// The body for every machine: four lanes, compiled for the compiler's baseline.
pub static GENERIC: Isa = Isa {
    id: IsaId::Generic,
    name: "generic",
    lanes: 4,
    registers: 16,
    integer_registers: 16,
    fma: false,
    dots: &[],
    extends: None,
    body_of: None,
    detection: Detection::Baseline,
    instructions: None,
    code: Code { stores_sums: true, ..NEUTRAL_CODE },
    c: CSpelling {
        loads: &[],
        features: "",
        flags: None,
        header: "",
        vectors: &[],
        functions: "",
        across: None,
        flushes: None,
    },
    rust: RustSpelling {
        features: "",
        mul_add: "",
        mul_add_where: "",
        vectors: &x86::vectors::SSE2,
        functions: "",
    },
};

/// One lane with fused multiply-add: cores with an FPU and without vectors.
pub static SCALAR_FMA: Isa = Isa {
    id: IsaId::ScalarFma,
    name: "scalar_fma",
    lanes: 1,
    registers: 32,
    // the registers of a core that hold no pointers to weights and elements
    integer_registers: 8,
    fma: true,
    dots: &[Dot::WidenedPairs],
    code: Code { rows: 4, loads: 12, calls: Calls::OneValue, vectors_per_pass: 24, ..NEUTRAL_CODE },
    c: CSpelling {
        loads: &[
            arm::loads::ONE_LANE_LOADS,
            arm::loads::ONE_LANE_HALVES,
            arm::loads::ONE_LANE_BYTES,
            arm::loads::ONE_LANE_WORDS,
        ],
        ..GENERIC.c
    },
    ..GENERIC
};

/// One lane without fused multiply-add: cores with a small FPU.
pub static SCALAR: Isa = Isa { id: IsaId::Scalar, name: "scalar", fma: false, ..SCALAR_FMA };

/// One lane on a core that computes floats in software.
pub static SOFT: Isa = Isa {
    id: IsaId::ScalarSoft,
    name: "scalar_soft",
    lanes: 1,
    integer_registers: 8,
    dots: &[Dot::WidenedPairs],
    code: Code { calls: Calls::OneValue, in_software: true, vectors_per_pass: 24, ..NEUTRAL_CODE },
    ..GENERIC
};

/// One lane in plain C or Rust.
pub static PLAIN: Isa = Isa {
    id: IsaId::Plain,
    name: "plain",
    code: Code { rows: 1, loads: 1, steps_by_run: true, ..SCALAR.code },
    c: CSpelling { loads: &[], ..SCALAR.c },
    ..SCALAR
};

/// Costs of machines with vectors of about four lanes.
const NEUTRAL_COSTS: Costs = Costs {
    multiply_adds_per_cycle: 2.0,
    lanes: 16.0,
    latency: 4.0,
    // half a cycle more than the latency: multiply-adds of eight sums took 1.04 times as long as
    // multiply-adds of ten or twelve sums
    latency_hiding: 4.5,
    line_split: 0.45,
    panel: 120.0,
    other_panel: 40.0,
    activation: 30.0,
    hidden: 0.3,
    hand_over: 2000.0,
    caches: Caches {
        // the L1 cache of the smallest machine with vectors
        first_level: 32 << 10,
        alternate_near: [0, 0],
        // half the L2 cache of a server core, since other data uses the other half, and the whole
        // L2 cache of a desktop core
        alternate_from: 512 << 10,
        // twice the L2 cache of a server core
        partly_near: 2 << 20,
        first_level_rate: 128.0,
        second_level_rate: 48.0,
    },
    limits: Limits {
        most_rows: 8,
        most_channels: 5,
        most_sums: 3,
        most_shared: 16,
        most_at_once: 48,
        late_apart: 0,
    },
};

/// Rules for C of gcc and clang without tuning.
const NEUTRAL_C_RULES: CRules = CRules {
    extensions: true,
    pragmas: &[],
    declares: |_| false,
    copies: Copies::Inlined,
    float_unit: FloatUnit::Known,
    float_flags: "",
    refused: ("", ""),
    baseline_refused: ("", ""),
    rows: "",
    compiler: &[],
};

/// The defaults of all targets: 64-bit machines with the baseline of all compilers. Each target
/// states only the differences.
const NEUTRAL: Arch = Arch {
    name: "",
    triples: &[],
    baseline: &GENERIC,
    isas: &[],
    costs: NEUTRAL_COSTS,
    instructions: None,
    instructions_per_cycle: 0,
    estimated_in: EstimatedIn::Rust,
    c: NEUTRAL_C_RULES,
    rust: RustRules { held: "", otherwise: "", structs: "" },
    memory: DataLayout {
        alignment: 16,
        thread_distance: 128,
        // 16 KiB
        stack_limit: 4096,
        most_elements: 1 << 28,
        line: 16,
    },
};

/// The shared part of targets of one lane: groups of four columns, no cache.
static ONE_LANE: Arch = Arch {
    costs: Costs {
        limits: Limits { most_rows: 2, most_shared: 4, most_at_once: 4, ..NEUTRAL_COSTS.limits },
        ..NEUTRAL_COSTS
    },
    c: CRules {
        float_flags: x86::C_RULES.float_flags,
        baseline_refused: x86::C_RULES.baseline_refused,
        ..NEUTRAL_C_RULES
    },
    memory: DataLayout {
        alignment: 4,
        thread_distance: 4,
        stack_limit: 8,
        most_elements: 1 << 24,
        line: 16,
    },
    ..NEUTRAL
};

/// C11 without extensions, for any compiler.
pub static PORTABLE: Arch = Arch {
    name: "portable",
    baseline: &PLAIN,
    c: CRules {
        extensions: false,
        float_unit: FloatUnit::Optional,
        float_flags: "x86: -msse2 -mfpmath=sse; s390x: -fexcess-precision=fast",
        ..ONE_LANE.c
    },
    ..ONE_LANE
};

/// The body of one lane in files for every machine, for machines without suitable vectors of four
/// lanes. Vectors of 32-bit Arm are not suitable: they flush denormals. C only: no `cfg` of Rust
/// describes small cores.
static SCALAR_OF_ANY: Isa = Isa {
    detection: Detection::Compiling(Condition {
        c: concat!(
            "!",
            has_vectors!(sse),
            " && !",
            has_vectors!(neon),
            " && !",
            has_vectors!(wasm),
            " && !",
            has_vectors!(rvv)
        ),
        rust: "",
    }),
    code: Code {
        // panels are as wide as for x86-64: a loop over passes of four columns
        vectors_per_pass: 4,
        ..SCALAR.code
    },
    ..SCALAR
};

/// The body of one lane in files for every machine, with fused multiply-add.
static SCALAR_FMA_OF_ANY: Isa = Isa {
    body_of: Some(&SCALAR_OF_ANY),
    detection: Detection::Compiling(Condition {
        c: concat!(
            "(defined(__arm__) && defined(__ARM_FEATURE_FMA)) || (defined(__riscv_flen) && !",
            has_vectors!(rvv),
            ")"
        ),
        rust: "",
    }),
    code: Code { vectors_per_pass: SCALAR_OF_ANY.code.vectors_per_pass, ..SCALAR_FMA.code },
    ..SCALAR_FMA
};

/// The target `any`: files for every machine, with bodies for x86-64, Arm and RISC-V, and with the
/// costs and sizes of x86-64.
pub static ANY: Arch = Arch {
    name: "any",
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
    costs: x86::COSTS,
    c: CRules {
        pragmas: &[gcc::OF_X86, gcc::OF_HELIUM_OF_ANY],
        float_unit: FloatUnit::Optional,
        float_flags: PORTABLE.c.float_flags,
        refused: (arm::CLANG_WITH_HELIUM, arm::WITHOUT_HELIUM),
        rows: WASM,
        ..x86::C_RULES
    },
    rust: x86::RUST_RULES,
    memory: x86::MEMORY,
    ..NEUTRAL
};

/// Networks with fewer weights than this number may be computed in scalars.
pub const MOST_SCALAR_WEIGHTS: usize = 64;

/// Creates the target for networks that fill no vector: name, triples, instruction counts, compiler
/// and largest tensor of a target, and everything else, such as the scalar body and the costs, of
/// [`PORTABLE`].
macro_rules! scalar_form {
    ($arch:expr) => {
        Arch {
            name: $arch.name,
            triples: $arch.triples,
            instructions: $arch.instructions,
            instructions_per_cycle: $arch.instructions_per_cycle,
            estimated_in: $arch.estimated_in,
            c: CRules { compiler: $arch.c.compiler, ..PORTABLE.c },
            memory: DataLayout { most_elements: $arch.memory.most_elements, ..PORTABLE.memory },
            ..PORTABLE
        }
    };
}

/// The table of targets.
macro_rules! targets {
    ($($arch:ident),* $(,)?) => {
        /// Every target.
        pub static TARGETS: [&Arch; [$(stringify!($arch)),*].len()] = [$(&$arch),*];

        /// The scalar form of each target.
        static SCALAR_FORMS: [Arch; TARGETS.len()] = [$(scalar_form!($arch)),*];
    };
}

targets! {
    ANY, X86_64, AARCH64, ARMV7, CORTEX_M0, CORTEX_M3, CORTEX_M4F, CORTEX_M7, CORTEX_M33,
    CORTEX_M55, RISCV32, RISCV64, WASM32, PORTABLE,
}

/// The instruction sets of all targets and of their scalar forms, with repetitions.
pub(crate) fn instruction_sets() -> impl Iterator<Item = &'static Isa> {
    let archs = TARGETS.into_iter().chain(&SCALAR_FORMS);
    archs.flat_map(|arch| arch.isas.iter().copied().chain([arch.baseline]))
}

/// [`GENERIC`], and one form of every instruction set that targets add to a baseline, best last.
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
pub(crate) const C_FOUR_LANES: &str = concat!(has_vectors!(sse), " || defined(__ARM_NEON)");

/// C: the hint to the processor that a loop waits.
pub(crate) const C_PAUSE: &str = "\
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile(\"yield\");
#endif
";

/// Vectors that cover `columns`, as (first column, lanes), widest first and none wider than
/// `lanes`: 17 columns with 16 lanes are 16 + 1.
pub fn vectors(columns: usize, lanes: usize) -> Vec<(usize, usize)> {
    let mut at = 0;
    let mut width = lanes;
    let mut vectors = Vec::new();
    while at < columns {
        while width > columns - at {
            width /= 2;
        }
        vectors.push((at, width));
        at += width;
    }
    vectors
}

/// The loops that measure the floor of an instruction set. `None` if this machine lacks the
/// instruction set, or if there are no loops for the instruction set.
pub(crate) fn loops(isa: &Isa) -> Option<floor::Loops> {
    #[cfg(target_arch = "x86_64")]
    return x86::floor::loops(isa);
    #[cfg(not(target_arch = "x86_64"))]
    (*isa == GENERIC).then_some(floor::PLAIN)
}

impl Isa {
    /// The instruction set with this name.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        ALL.into_iter().find(|isa| isa.name == name)
    }

    /// True if this instruction set has a dot product.
    pub fn has(&self, dot: Dot) -> bool {
        self.dots.contains(&dot)
    }

    /// The dot products that multiply words of weights by one lane of elements.
    pub fn by_lane(&self) -> impl Iterator<Item = &'static ByLane> {
        self.dots.iter().filter_map(|dot| match dot {
            Dot::ByLane(by_lane) => Some(by_lane),
            _ => None,
        })
    }

    /// Numbers of integers per word in the dot products that this instruction set adds to
    /// [`Self::extends`]. A file without words of such numbers contains no body of this instruction
    /// set. Empty: whether a file contains a body does not depend on the weights.
    pub fn words(&self) -> Vec<usize> {
        let Some(extended) = self.extends else { return Vec::new() };
        let added = self.dots.iter().filter(|dot| !extended.dots.contains(dot));
        added.map(Dot::in_word).collect()
    }

    /// The instruction sets whose bodies run instead if a file contains no body of this instruction
    /// set, best first.
    pub fn extended(&self) -> impl Iterator<Item = &'static Self> {
        std::iter::successors(self.extends, |isa| isa.extends)
    }

    /// The compile-time condition of the instruction set, or of the run-time question. `None`:
    /// every machine of the target has the instruction set.
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
        self.id == other.id
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
        self.id.cmp(&other.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No two names of `names` are equal.
    fn assert_unique<'a>(names: impl Iterator<Item = &'a str>) {
        let mut names: Vec<_> = names.collect();
        names.sort_unstable();
        let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
        assert_eq!(twice, None, "{names:?}");
    }

    /// A name chooses one instruction set on the command line, and one body in a file.
    #[test]
    fn names_are_unique_within_a_target() {
        assert_unique(TARGETS.iter().map(|arch| arch.name));
        assert_unique(ALL.iter().map(|isa| isa.name));
        for arch in TARGETS {
            let isas = std::iter::once(arch.baseline).chain(arch.isas.iter().copied());
            assert_unique(isas.map(|isa| isa.name));
        }
    }

    /// [`ALL`] contains every instruction set that a target lists, and no other.
    #[test]
    fn all_holds_the_instruction_sets_of_targets() {
        let lists = |arch: &Arch, isa: &Isa| arch.baseline == isa || arch.isas.contains(&isa);
        let listed = |isa: &&Isa| TARGETS.iter().any(|arch| lists(arch, isa));
        for isa in TARGETS.iter().flat_map(|arch| arch.isas) {
            assert!(ALL.contains(isa), "{}", isa.name);
        }
        let unlisted: Vec<_> =
            ALL.into_iter().filter(|isa| !listed(isa)).map(|isa| isa.name).collect();
        assert_eq!(unlisted, [""; 0]);
    }

    /// One name stands for one identity, and identities have the order of names.
    #[test]
    fn identities_have_names_of_their_own() {
        let of_targets =
            TARGETS.iter().flat_map(|arch| arch.isas.iter().copied().chain([arch.baseline]));
        let mut isas: Vec<_> = of_targets.chain(ALL).map(|isa| (isa.name, isa.id)).collect();
        isas.sort_unstable();
        isas.dedup();
        assert_unique(isas.iter().map(|(name, _)| *name));
        assert!(isas.windows(2).all(|pair| pair[0].1 < pair[1].1), "{isas:?}");
    }
}
