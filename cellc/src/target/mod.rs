//! Instruction sets as data: what a kernel may assume and how the two languages name it.

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
}

/// The body that every machine can run: what the compiler makes of four lanes on its baseline.
pub static GENERIC: Isa =
    Isa { name: "generic", lanes: 4, registers: 16, fma: false, arch: None, rust_features: "", c_features: "" };

/// AVX2 with FMA.
pub static AVX2: Isa = Isa {
    name: "avx2",
    lanes: 8,
    registers: 16,
    fma: true,
    arch: Some("x86_64"),
    rust_features: "avx2,fma",
    c_features: "avx2,fma",
};

/// The AVX-512 that every machine since Skylake-SP has.
pub static AVX512: Isa = Isa {
    name: "avx512",
    lanes: 16,
    registers: 32,
    fma: true,
    arch: Some("x86_64"),
    rust_features: "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma",
    c_features: "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512",
};

/// Every instruction set, best last.
pub static ALL: [&Isa; 3] = [&GENERIC, &AVX2, &AVX512];

impl Isa {
    /// The instruction set of that name.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        ALL.into_iter().find(|isa| isa.name == name)
    }
}
