//! Target rules and vector intrinsics, as text of generated C and Rust.

mod c;
mod rust;

pub use c::{CAcross, CFlushes, CLoads, CRules, CSpelling, CVector};
pub use rust::{RustRules, RustSpelling, RustVector};
