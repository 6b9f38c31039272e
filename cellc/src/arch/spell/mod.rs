//! Target rules and vector intrinsics, as text of generated C and Rust.

mod c;
mod rust;

pub use c::{CAcross, CFlushes, CLoads, CRules, CSpelling, CVector, Copies, FloatUnit, Tuning};
pub use rust::{RustRules, RustSpelling, RustVector};
