//! Element types of tensors in both languages.

use crate::kernel::Element;

/// The names of an element type. Empty if a language has no name.
pub(crate) struct Spelling {
    /// The type in C.
    pub(crate) c: &'static str,
    /// The type in Rust. Narrow weights are bytes.
    pub(crate) rust: &'static str,
    /// Zero, in Rust.
    pub(crate) zero: &'static str,
    /// One element, in words.
    pub(crate) one: &'static str,
    /// Several elements, in words.
    pub(crate) several: &'static str,
    /// The suffix of the constant `CELLC_...` in the common C interface.
    pub(crate) model: &'static str,
    /// The name of the element type of ports in cellc-runtime.
    pub(crate) port: &'static str,
}

/// The names of an element type.
#[rustfmt::skip]
pub(crate) fn spelling(element: Element) -> Spelling {
    let [c, rust, zero, one, several, model, port] = match element {
        Element::F32 =>    ["float",    "f32",  "0.0",   "float",     "floats",    "FLOAT32", "F32"],
        Element::I32 =>    ["int32_t",  "i32",  "0",     "integer",   "integers",  "INT32",   "I32"],
        Element::I64 =>    ["int64_t",  "i64",  "0",     "integer",   "integers",  "INT64",   "I64"],
        Element::Bool =>   ["uint8_t",  "bool", "false", "of 0 or 1", "of 0 or 1", "BOOL",    "Bool"],
        Element::U32 =>    ["uint32_t", "u32",  "0",     "integer",   "integers",  "",        ""],
        Element::U8 =>     ["uint8_t",  "u8",   "0",     "integer",   "integers",  "",        ""],
        Element::U16 =>    ["uint16_t", "u16",  "0",     "integer",   "integers",  "",        ""],
        Element::F16 =>    ["uint16_t", "",     "",      "float",     "floats",    "",        ""],
        Element::I8 =>     ["int8_t",   "",     "",      "integer",   "integers",  "",        ""],
        Element::I8Pair => ["uint16_t", "",     "",      "integer",   "integers",  "",        ""],
    };
    Spelling { c, rust, zero, one, several, model, port }
}

/// The word for `count` elements.
pub(crate) fn counted(element: Element, count: usize) -> &'static str {
    let Spelling { one, several, .. } = spelling(element);
    if count == 1 { one } else { several }
}
