//! Instruction sets as data: what a kernel may assume and how the two languages name it.

mod x86;

/// An instruction set that generated code can hold a body for.
#[derive(Debug, PartialEq)]
pub struct Isa {
    /// The name on the command line and in generated code.
    pub name: &'static str,
    /// f32 lanes of a vector register.
    pub lanes: usize,
    /// Vector registers.
    pub registers: usize,
    /// Whether it multiplies and adds with one rounding.
    pub fma: bool,
    /// The architecture that has it; `None`: every one.
    pub arch: Option<&'static str>,
    /// Rust's names for its features, comma separated; empty for the baseline.
    pub rust_features: &'static str,
    /// C's (gcc, clang) names for its features, comma separated; empty for the baseline.
    pub c_features: &'static str,
    /// How an x86-64 processor says that it has it.
    pub cpuid: Cpuid,
    /// Rust: one fused multiply-add `a * b + c` of f32 scalars by intrinsics; empty where there is none.
    pub rust_mul_add: &'static str,
    /// Rust: the f32 of a binary16, whose bits are `half`, by intrinsics; empty where there is none.
    pub rust_half: &'static str,
    /// C: the header that declares its intrinsics; empty where there are none.
    pub c_header: &'static str,
    /// C: its vectors, where intrinsics spell them; others are written with operators alone.
    pub c_vectors: &'static [CVector],
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

/// Bits that must be set for an instruction set to be usable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpuid {
    /// Leaf 1, register ecx.
    pub leaf1_ecx: u32,
    /// Leaf 7, register ebx.
    pub leaf7_ebx: u32,
    /// Register XCR0: the state that the operating system keeps.
    pub xcr0: u32,
}

/// FMA (12), XSAVE (26), OSXSAVE (27), AVX (28), F16C (29).
const FMA_AVX_F16C: u32 = 1 << 12 | 1 << 26 | 1 << 27 | 1 << 28 | 1 << 29;
/// AVX2 (5).
const LEAF7_AVX2: u32 = 1 << 5;
/// AVX-512 F (16), DQ (17), BW (30), VL (31).
const LEAF7_AVX512: u32 = 1 << 16 | 1 << 17 | 1 << 30 | 1 << 31;

/// One lane of a fused multiply-add on x86-64: safe where the feature is enabled, and LLVM widens it.
const X86_MUL_ADD: &str = "core::arch::x86_64::_mm_cvtss_f32(core::arch::x86_64::_mm_fmadd_ss(\
    core::arch::x86_64::_mm_set_ss(a), core::arch::x86_64::_mm_set_ss(b), core::arch::x86_64::_mm_set_ss(c)))";

/// One lane: as [`X86_MUL_ADD`].
const X86_HALF: &str = "core::arch::x86_64::_mm_cvtss_f32(core::arch::x86_64::_mm_cvtph_ps(\
    core::arch::x86_64::_mm_cvtsi32_si128(i32::from(half))))";

/// The body that every machine can run: what the compiler makes of four lanes on its baseline.
pub static GENERIC: Isa = Isa {
    name: "generic",
    lanes: 4,
    registers: 16,
    fma: false,
    arch: None,
    rust_features: "",
    c_features: "",
    cpuid: Cpuid { leaf1_ecx: 0, leaf7_ebx: 0, xcr0: 0 },
    rust_mul_add: "",
    rust_half: "",
    c_header: "",
    c_vectors: &[],
};

/// AVX2 with FMA and F16C, which came before both.
pub static AVX2: Isa = Isa {
    name: "avx2",
    lanes: 8,
    registers: 16,
    fma: true,
    arch: Some("x86_64"),
    rust_features: "avx2,fma,f16c",
    c_features: "avx2,fma,f16c",
    cpuid: Cpuid { leaf1_ecx: FMA_AVX_F16C, leaf7_ebx: LEAF7_AVX2, xcr0: 0x6 },
    rust_mul_add: X86_MUL_ADD,
    rust_half: X86_HALF,
    c_header: "immintrin.h",
    c_vectors: &x86::AVX2,
};

/// The AVX-512 that every machine since Skylake-SP has.
pub static AVX512: Isa = Isa {
    name: "avx512",
    lanes: 16,
    registers: 32,
    fma: true,
    arch: Some("x86_64"),
    rust_features: "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c",
    c_features: "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c",
    cpuid: Cpuid { leaf1_ecx: FMA_AVX_F16C, leaf7_ebx: LEAF7_AVX2 | LEAF7_AVX512, xcr0: 0xe6 },
    rust_mul_add: X86_MUL_ADD,
    rust_half: X86_HALF,
    c_header: "immintrin.h",
    c_vectors: &x86::AVX512,
};

/// Every instruction set, best last.
pub static ALL: [&Isa; 3] = [&GENERIC, &AVX2, &AVX512];

impl Isa {
    /// The instruction set of that name.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        ALL.into_iter().find(|isa| isa.name == name)
    }
}
