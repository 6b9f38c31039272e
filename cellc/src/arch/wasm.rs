//! WebAssembly.

use super::{Arch, CRules, Copies, Costs, FOUR_LANES, Limits, Memory, RustRules, X86_64};

/// C: the condition for compilers for WebAssembly.
pub(super) const WASM: &str = "defined(__wasm__)";

/// WebAssembly, with or without simd128.
pub static WASM32: Arch = Arch {
    name: "wasm32",
    triples: &["wasm32-"],
    isas: &[],
    costs: Costs { limits: Limits { most_at_once: 24, ..FOUR_LANES.limits }, ..FOUR_LANES },
    c: CRules {
        tuning: &[],
        copies: Copies::Inlined,
        float_flags: "no flag of clang does otherwise there",
        baseline_refused: ("", ""),
        rows: WASM,
        ..X86_64.c
    },
    rust: RustRules { refused: ("", ""), structs: "" },
    memory: Memory {
        alignment: 16,
        most_elements: 1 << 24,
        // eight columns
        line: 32,
        ..X86_64.memory
    },
    ..X86_64
};
