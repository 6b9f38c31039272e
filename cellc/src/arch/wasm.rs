//! WebAssembly.

use super::{Arch, CRules, Costs, DataLayout, Limits, NEUTRAL, NEUTRAL_C_RULES, NEUTRAL_COSTS};

/// C: the condition for compilers for WebAssembly.
pub(super) const WASM: &str = has_vectors!(wasm);

/// WebAssembly, with or without simd128.
pub static WASM32: Arch = Arch {
    name: "wasm32",
    triples: &["wasm32-"],
    costs: Costs { limits: Limits { most_at_once: 24, ..NEUTRAL_COSTS.limits }, ..NEUTRAL_COSTS },
    c: CRules {
        float_flags: "no flag of clang does otherwise there",
        rows: WASM,
        declares,
        ..NEUTRAL_C_RULES
    },
    memory: DataLayout {
        most_elements: 1 << 24,
        // eight columns
        line: 32,
        ..NEUTRAL.memory
    },
    ..NEUTRAL
};

/// True if `wasm_simd128.h` may declare the name.
fn declares(name: &str) -> bool {
    let rest = name.strip_prefix("wasm_").unwrap_or_default();
    let digits = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    rest.strip_prefix(['v', 'i', 'u', 'f']).is_some_and(digits) && rest.contains('_')
}
