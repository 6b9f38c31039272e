//! Spellings of targets and instruction sets in generated code.

mod c;
mod rust;

pub use c::{CAcross, CFlushes, CLoads, CRules, CSpelling, CVector};
pub use rust::{RustRules, RustSpelling, RustVector};
