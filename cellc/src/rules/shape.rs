//! Comparison of sizes with those that a model states, and the verb for a noun in messages.

use crate::model::Dim;

/// True if a stated size admits a size.
pub(crate) fn admits(dim: Dim, size: usize) -> bool {
    size > 0
        && match dim {
            Dim::Fixed(n) => n == size,
            Dim::Dynamic { min, max } => min <= size && max.is_none_or(|max| size <= max),
        }
}

/// True if a stated shape admits a shape.
pub(crate) fn admits_shape(stated: &[Dim], shape: &[usize]) -> bool {
    stated.len() == shape.len() && stated.iter().zip(shape).all(|(dim, &size)| admits(*dim, size))
}

/// The verb behind an article and a noun: "are" if the noun is a plural, as in "the axes", else
/// "is".
pub(crate) fn verb(what: &str) -> &'static str {
    let noun = what.split(' ').nth(1).unwrap_or_default();
    if noun.ends_with('s') && noun != "axis" { "are" } else { "is" }
}
