//! WebAssembly.

use super::{Arch, CRules, Costs, Limits, Memory, NEUTRAL, NEUTRAL_C_RULES, NEUTRAL_COSTS};

/// C: the condition for compilers for WebAssembly.
pub(super) const WASM: &str = "defined(__wasm__)";

/// WebAssembly, with or without simd128.
pub static WASM32: Arch = Arch {
    name: "wasm32",
    triples: &["wasm32-"],
    costs: Costs { limits: Limits { most_at_once: 24, ..NEUTRAL_COSTS.limits }, ..NEUTRAL_COSTS },
    c: CRules {
        float_flags: "no flag of clang does otherwise there",
        rows: WASM,
        ..NEUTRAL_C_RULES
    },
    memory: Memory {
        most_elements: 1 << 24,
        // eight columns
        line: 32,
        ..NEUTRAL.memory
    },
    ..NEUTRAL
};
