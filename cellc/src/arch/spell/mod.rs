//! Target rules and vector intrinsics, as text of generated C and Rust.

mod c;
pub(super) mod gcc;
mod rust;

pub use c::{CAcross, CFlushes, CLoads, CRules, CSpelling, CVector, Copies, FloatUnit};
pub use gcc::GccPragmas;
pub use rust::{RustRules, RustSpelling, RustVector};

/// The beginnings of the names of vector types, before a number of bits.
const VECTORS: &[&str] =
    &["int", "uint", "float", "bfloat", "mfloat", "poly", "bool", "mve_pred", "v"];

/// True if a name may be the name of a vector type, such as `float32x4_t`, or `vfloat32m1_t` of
/// RISC-V.
pub(super) fn declares_vector(name: &str) -> bool {
    let is_vector = |word: &&str| {
        let after = |text: &str| {
            let rest = text.strip_prefix(*word);
            rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        after(name) || name.strip_prefix('v').is_some_and(after)
    };
    name.ends_with("_t") && VECTORS.iter().any(is_vector)
}
