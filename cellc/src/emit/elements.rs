//! What both languages call the elements of tensors.

use crate::kernel::Element;

/// What an element is called; empty where a language has no word for it.
pub(crate) struct Spelling {
    /// Its type in C.
    pub(crate) c: &'static str,
    /// Its type in Rust, where narrow weights are bytes.
    pub(crate) rust: &'static str,
    /// Zero, in Rust.
    pub(crate) zero: &'static str,
    /// One of them, in words.
    pub(crate) one: &'static str,
    /// Several of them.
    pub(crate) several: &'static str,
    /// What the common interface of C adds to `CELLC_`.
    pub(crate) model: &'static str,
    /// A port's element in cellc-runtime.
    pub(crate) port: &'static str,
}

/// What an element is called.
#[rustfmt::skip]
pub(crate) fn spelling(element: Element) -> Spelling {
    let [c, rust, zero, one, several, model, port] = match element {
        Element::F32 =>    ["float",    "f32",  "0.0",   "float",     "floats",    "FLOAT32", "F32"],
        Element::I32 =>    ["int32_t",  "i32",  "0",     "integer",   "integers",  "INT32",   "I32"],
        Element::I64 =>    ["int64_t",  "i64",  "0",     "integer",   "integers",  "INT64",   "I64"],
        Element::Bool =>   ["uint8_t",  "bool", "false", "of 0 or 1", "of 0 or 1", "BOOL",    "Bool"],
        Element::U32 =>    ["uint32_t", "u32",  "0",     "integer",   "integers",  "",        ""],
        Element::F16 =>    ["uint16_t", "",     "",      "float",     "floats",    "",        ""],
        Element::I8 =>     ["int8_t",   "",     "",      "integer",   "integers",  "",        ""],
        Element::I8Pair => ["uint16_t", "",     "",      "integer",   "integers",  "",        ""],
    };
    Spelling { c, rust, zero, one, several, model, port }
}

/// So many of them, in words.
pub(crate) fn counted(element: Element, count: usize) -> &'static str {
    let Spelling { one, several, .. } = spelling(element);
    if count == 1 { one } else { several }
}
