//! Names and types of tensors in both languages.

use super::elements::{counted, spelling};
use super::names::Field;
use super::text::Word;

/// A tensor's type in Rust: `[[f32; I]; N]` for `[N, I]`, `[f32; I]` for `[1, I]`, else one flat
/// array.
pub(crate) fn array(field: &Field) -> String {
    match *field.shape {
        [n, i] if !flat(field) => format!("[[f32; {i}]; {n}]"),
        _ => format!("[{}; {}]", spelling(field.element).rust, field.len()),
    }
}

/// True if the tensor is one flat array. Tensors of integers are always flat.
pub(super) fn flat(field: &Field) -> bool {
    !matches!(*field.shape, [n, _] if n != 1) || field.element != crate::kernel::Element::F32
}

/// A tensor's type in Rust with one nested array per dimension, for weights.
pub(crate) fn nested(field: &Field) -> String {
    field
        .shape
        .iter()
        .rev()
        .fold(spelling(field.element).rust.to_owned(), |ty, n| format!("[{ty}; {n}]"))
}

/// The tensor with all elements zero, in Rust.
pub(super) fn zero(field: &Field) -> String {
    match *field.shape {
        [n, i] if !flat(field) => format!("[[0.0; {i}]; {n}]"),
        _ => format!("[{}; {}]", spelling(field.element).zero, field.len()),
    }
}

/// The name of the macro for the number of elements, in C. `upper` is the prefix of all macros.
pub(super) fn size(field: &Field, upper: &str) -> String {
    format!("{upper}_{}_SIZE", field.name.to_ascii_uppercase())
}

/// The words of a tensor for texts. In C, `upper` is the prefix of all macros.
pub(super) fn words(field: &Field, upper: &str) -> Vec<Word> {
    let Field { name, shape, element, .. } = field;
    let spelling = spelling(*element);
    vec![
        ("FIELD_SIZE", size(field, upper)),
        ("FIELD_LEN", field.len().to_string()),
        ("FIELD_SHAPE", format!("{shape:?}")),
        ("FIELD_ELEMENTS", counted(*element, field.len()).to_owned()),
        ("FIELD_MODEL", format!("CELLC_{}", spelling.model)),
        ("FIELD_PORT", spelling.port.to_owned()),
        ("FIELD_TYPE", spelling.c.to_owned()),
        ("FIELD_ARRAY", array(field)),
        ("FIELD_NESTED", nested(field)),
        ("FIELD_ZERO", zero(field)),
        ("FIELD", name.clone()),
    ]
}
