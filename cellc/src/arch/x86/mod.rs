//! x86-64: AVX2, AVX-512, their dot products of bytes (VNNI) and AMX, detected at run time.

#[cfg(target_arch = "x86_64")]
pub(super) mod floor;
pub(super) mod vectors;

use super::spell::gcc;
use super::{
    Arch, CRules, CSpelling, Caches, Code, Condition, Copies, Costs, DataLayout, Detection, Dot,
    GENERIC, Isa, IsaId, Limits, NEUTRAL, NEUTRAL_C_RULES, NEUTRAL_CODE, NEUTRAL_COSTS, Processor,
    Question, RustRules, RustSpelling,
};

/// C: the condition for run-time detection. gcc for Windows aligns the stack to 16 bytes only, but
/// stores longer vectors on the stack with aligned moves (gcc bug 54412).
const C_ASKED: &str = "\
defined(__x86_64__) \\
    && (defined(__clang__) || !(defined(_WIN64) || defined(__CYGWIN__)) || \
    defined(CELLC_UNALIGNED_VECTOR_MOVES))";

/// C: the condition for run-time detection, with a compiler that knows AVX-VNNI and AVX-512 VNNI.
const C_ASKED_VNNI: &str = "\
defined(__x86_64__) \\
    && (defined(__clang__) ? __clang_major__ >= 13 \\
                           : __GNUC__ >= 11 && (!(defined(_WIN64) || defined(__CYGWIN__)) || \
                           defined(CELLC_UNALIGNED_VECTOR_MOVES)))";

/// C: the condition for run-time detection of tiles: Linux must permit tiles.
const C_ASKED_AMX: &str = "\
defined(__x86_64__) && defined(__linux__) && defined(__LP64__) \\
    && (defined(__clang__) ? __clang_major__ >= 13 : __GNUC__ >= 11)";

/// Detection by the features of [`CPUID`], by bits of leaf 7 in ebx, and by bits of XCR0, the
/// registers saved by the operating system. C conditions on other registers of leaf 7 are spelled
/// out. Rust has one function per instruction set.
macro_rules! cpuid {
    ($asked:expr, $leaf7_ebx:literal, $xcr0:literal, $c:literal, $rust:literal, $rust_functions:expr) => {
        cpuid!($asked, RUST_ASKED, $leaf7_ebx, $xcr0, $c, $rust, $rust_functions)
    };
    (
        $asked:expr, $rust_asked:expr, $leaf7_ebx:literal, $xcr0:literal, $c:literal, $rust:literal,
        $rust_functions:expr
    ) => {
        Detection::Running(
            Condition { c: $asked, rust: $rust_asked },
            Question {
                processor: &CPUID,
                c: concat!(
                    "(leaf1_ecx & FEATURES) == FEATURES && (leaf7_ebx & ",
                    $leaf7_ebx,
                    "u) == ",
                    $leaf7_ebx,
                    "u\n\
            \x20           && (xcr0 & ",
                    $xcr0,
                    "u) == ",
                    $xcr0,
                    "u",
                    $c
                ),
                rust: $rust,
                rust_functions: $rust_functions,
            },
        )
    };
}

/// Rust: the condition for run-time detection.
const RUST_ASKED: &str = "target_arch = \"x86_64\"";

/// x86-64. C files also compile for other machines, which run the baseline body.
pub static X86_64: Arch = Arch {
    name: "x86-64",
    triples: &["x86_64-"],
    isas: &[&AVX2, &AVX_VNNI, &AVX512, &AVX512_VNNI, &AMX],
    costs: COSTS,
    c: C_RULES,
    rust: RustRules {
        held: "target_arch = \"x86_64\"",
        otherwise: "compile it for x86-64, or generate it with --target any",
        ..RUST_RULES
    },
    memory: MEMORY,
    ..NEUTRAL
};

/// Costs of x86-64.
pub(super) const COSTS: Costs = Costs {
    caches: Caches {
        // from somewhat more than the usual L1 cache of 48 KiB to about five times as much
        // (measured on a Zen 5 with integers: 0.67 to 1.07 of the time)
        alternate_near: [56 << 10, 224 << 10],
        ..NEUTRAL_COSTS.caches
    },
    limits: Limits {
        // compilers spill sums in loops over more than two tiles: 16 channels took 1.9 times as
        // long as 12
        most_channels: 12,
        most_sums: 12,
        most_shared: 128,
        // with one panel, GRUs of 128 units take 0.94 to 1.00 of the time, of 160 units 1.00 to
        // 1.05 (AVX2 and AVX-512 of a Sapphire Rapids)
        most_at_once: 128,
        // with 8 lanes, a GRU of 24 units takes 0.95 of the time, of 32 units 1.03; with 16 lanes,
        // of 32 units 0.96, of 48 units and 90 inputs 1.3
        late_apart: 2 << 10,
        ..NEUTRAL_COSTS.limits
    },
    ..NEUTRAL_COSTS
};

/// Rules for C on x86-64.
pub(super) const C_RULES: CRules = CRules {
    pragmas: &[gcc::OF_X86],
    copies: Copies::ByMemcpy,
    float_flags: "32-bit x86: -msse2 -mfpmath=sse",
    baseline_refused: (
        "(defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2)) || (defined(__ARM_NEON) && \
         !defined(__aarch64__))",
        "vectors make 0 of subnormal numbers here; generate it with scalar in --isa, or \
             without --isa",
    ),
    ..NEUTRAL_C_RULES
};

/// Rules for Rust in files that x86-64 may compile.
pub(super) const RUST_RULES: RustRules = RustRules {
    // loads of state vectors that straddle two cache lines take twice as long
    structs: "#[cfg_attr(target_arch = \"x86_64\", repr(align(64)))]",
    ..NEUTRAL.rust
};

/// Sizes and distances on x86-64.
pub(super) const MEMORY: DataLayout = DataLayout { alignment: 64, line: 64, ..NEUTRAL.memory };

/// The smallest distance, in bytes, between the loads of one instruction in successive iterations
/// that avoids prefetches. Zen 5 prefetches for distances below about 8 KiB, which slows loads from
/// the L2 cache. At this distance, an LSTM of 128 units takes 0.7 of the time, and a GRU 0.77 with
/// AVX2 and 0.96 with AVX-512.
const LOAD_DISTANCE: usize = 8 << 10;

/// AVX2 with FMA and F16C.
pub static AVX2: Isa = Isa {
    id: IsaId::Avx2,
    name: "avx2",
    lanes: 8,
    fma: true,
    // leaf 7: AVX2 (5); XCR0: registers of 128 and 256 bits
    detection: cpuid!(C_ASKED, "0x20", "0x6", "", "has_avx2()", include_str!("text/has_avx2.rs")),
    code: Code { joins: true, vectors_per_pass: 0, load_distance: LOAD_DISTANCE, ..NEUTRAL_CODE },
    c: CSpelling {
        features: "avx2,fma,f16c",
        header: "immintrin.h",
        vectors: &vectors::AVX2,
        ..GENERIC.c
    },
    rust: RustSpelling {
        features: "avx2,fma,f16c",
        mul_add: MUL_ADD,
        vectors: &vectors::RUST_AVX2,
        ..GENERIC.rust
    },
    ..GENERIC
};

/// AVX-512 with the extensions of Skylake-SP and later servers.
pub static AVX512: Isa = Isa {
    id: IsaId::Avx512,
    name: "avx512",
    lanes: 16,
    registers: 32,
    integer_registers: 32,
    // as AVX2; leaf 7: F (16), DQ (17), BW (30), VL (31); XCR0: masks and registers of 512 bits
    detection: cpuid!(
        C_ASKED,
        "0xc0030020",
        "0xe6",
        "",
        "has_avx512()",
        include_str!("text/has_avx512.rs")
    ),
    c: CSpelling {
        features: "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c",
        vectors: &vectors::AVX512,
        ..AVX2.c
    },
    rust: RustSpelling {
        features: "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c",
        vectors: &vectors::RUST_AVX512,
        ..AVX2.rust
    },
    ..AVX2
};

/// AVX2 with AVX-VNNI.
pub static AVX_VNNI: Isa = Isa {
    id: IsaId::AvxVnni,
    name: "avx_vnni",
    dots: &[Dot::Pairs, Dot::UnsignedQuads],
    extends: Some(&AVX2),
    // as AVX2; leaf 7.1, eax: AVX-VNNI (4)
    detection: cpuid!(
        C_ASKED_VNNI,
        "0x20",
        "0x6",
        "\n            && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax & 0x10u) != 0",
        "has_avx_vnni()",
        include_str!("text/has_avx_vnni.rs")
    ),
    c: CSpelling { features: "avx2,fma,f16c,avxvnni", vectors: &vectors::AVX_VNNI, ..AVX2.c },
    rust: RustSpelling {
        features: "avx2,fma,f16c,avxvnni",
        vectors: &vectors::RUST_AVX_VNNI,
        ..AVX2.rust
    },
    ..AVX2
};

/// AVX-512 with AVX-512 VNNI.
pub static AVX512_VNNI: Isa = Isa {
    id: IsaId::Avx512Vnni,
    name: "avx512_vnni",
    dots: &[Dot::Pairs, Dot::UnsignedQuads],
    extends: Some(&AVX512),
    // as AVX-512; leaf 7, ecx: VNNI (11)
    detection: cpuid!(
        C_ASKED_VNNI,
        "0xc0030020",
        "0xe6",
        "\n            && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ecx & 0x800u) != 0",
        "has_avx512_vnni()",
        include_str!("text/has_avx512_vnni.rs")
    ),
    c: CSpelling {
        features: "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c",
        vectors: &vectors::AVX512_VNNI,
        ..AVX512.c
    },
    rust: RustSpelling {
        features: "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c",
        vectors: &vectors::RUST_AVX512_VNNI,
        ..AVX512.rust
    },
    ..AVX512
};

/// AVX-512 and byte tiles of machines with AMX. Programs must ask Linux for permission, as Linux
/// reserves memory for tiles only on request.
pub static AMX: Isa = Isa {
    id: IsaId::Amx,
    name: "amx",
    dots: &[Dot::Pairs, Dot::UnsignedQuads, Dot::Tiles { rows: 16 }],
    extends: Some(&AVX512_VNNI),
    // as AVX-512 with VNNI; leaf 7, edx: AMX-TILE (24), AMX-INT8 (25); XCR0: tiles and their shapes
    detection: cpuid!(
        C_ASKED_AMX,
        "all(target_arch = \"x86_64\", target_pointer_width = \"64\", target_os = \"linux\")",
        "0xc0030020",
        "0x600e6",
        "\n            && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ecx & 0x800u) != 0 \
         && (edx & 0x3000000u) == 0x3000000u && PREFIX_tiles_allowed()",
        "has_tiles()",
        include_str!("text/has_tiles.rs")
    ),
    c: CSpelling { functions: include_str!("text/tiles.c"), ..AVX512_VNNI.c },
    rust: RustSpelling { functions: include_str!("text/tiles.rs"), ..AVX512_VNNI.rust },
    ..AVX512_VNNI
};

/// Rust: a scalar fused multiply-add. LLVM vectorises it.
const MUL_ADD: &str =
    "unsafe { _mm_cvtss_f32(_mm_fmadd_ss(_mm_set_ss(a), _mm_set_ss(b), _mm_set_ss(c))) }";

/// Detection of processor and operating system features. cpuid is a safe function in newer versions
/// of Rust, an unsafe function in older versions.
static CPUID: Processor = Processor {
    c_header: "cpuid.h",
    // FMA (12), XSAVE (26), OSXSAVE (27), AVX (28); with binary16 weights also F16C (29)
    c_features: ["0x1c001000u", "0x3c001000u"],
    c: "
#if CONDITION
/* The instruction sets of the processor and the operating system, one bit each. The answer is kept, because cpuid is
 * slow, on virtual machines very slow. Threads that ask at the same time get the same answer. */
static unsigned PREFIX_machine(void) {
    static unsigned known;
    unsigned have = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (have == 0) {
        unsigned eax, ebx = 0, ecx, edx, leaf1_ecx = 0, leaf7_ebx = 0, xcr0 = 0;
        if (__get_cpuid(1, &eax, &ebx, &leaf1_ecx, &edx) && (leaf1_ecx & bit_OSXSAVE)) {
            /* xgetbv, as bytes for old assemblers: which registers the operating system saves */
            __asm__ volatile(\".byte 0x0f, 0x01, 0xd0\" : \"=a\"(xcr0), \"=d\"(edx) : \"c\"(0));
        }
        if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
            leaf7_ebx = ebx;
        }
        have = 1u << BASELINE;
SETS
        __atomic_store_n(&known, have, __ATOMIC_RELAXED);
    }
    return have;
}
#endif
",
    // __cpuid is unsafe in Rust 1.89 and safe in newer versions, which warn of the `unsafe` block
    rust: include_str!("text/has.rs"),
};
