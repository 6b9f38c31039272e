//! Helper functions and types that all modules of a file share.

use std::collections::BTreeSet;

use crate::emit::text::parts;

/// Functions of single numbers, called by path.
pub(super) const OF_NUMBERS: [&str; 4] = ["greater", "smaller", "select_less", "flush"];

/// The helper functions and types that the text of a helper function names.
const NEEDS: [(&str, &[&str]); 15] = [
    ("length_i32", &["part_of"]),
    ("length_i64", &["part_of"]),
    ("length_bool", &["part_of"]),
    ("above_i32", &["part_of"]),
    ("above_i64", &["part_of"]),
    ("length_u32", &["part_of"]),
    ("copy", &["part_from", "part_from_mut"]),
    ("low_bytes", &["Pairs"]),
    ("add_elements", &["part_from", "part_from_mut", "Pairs"]),
    ("copy_one", &["part_from", "part_from_mut"]),
    ("blocks_quads", &["blocks", "dot_quads_lane"]),
    ("blocks_widened_quads", &["blocks", "dot_odd_bytes_lane", "dot_even_bytes_lane"]),
    ("blocks_pairs", &["blocks", "dot_pairs_lane"]),
    ("hidden_chunks", &["chunks"]),
    ("dot_odd_bytes_lane", &["dot_even_bytes_lane"]),
];

/// Helper functions and types, with the ones that their texts name.
pub(super) fn with_needs(mut names: BTreeSet<&'static str>) -> BTreeSet<&'static str> {
    let mut open: Vec<_> = names.iter().copied().collect();
    while let Some(name) = open.pop() {
        let needs = NEEDS.iter().filter(|(caller, _)| *caller == name);
        open.extend(needs.flat_map(|(_, needs)| *needs).filter(|need| names.insert(need)));
    }
    names
}

/// The names of the functions and types that modules share.
pub(in crate::emit::rust) fn names() -> impl Iterator<Item = &'static str> {
    parts(SHARED).map(|(name, _)| name)
}

/// Further shared functions, by name, callers before callees. Loops use `pairs` instead of the
/// standard library's `zip`: `zip` is not inline, so several codegen units compile `zip`
/// separately, and a function loses its constant number of iterations.
pub(super) const SHARED: &str = include_str!("../text/vectors.rs");

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{NEEDS, SHARED, names};
    use crate::emit::text::parts;

    #[test]
    fn needs_are_the_names_in_the_texts() {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        for (name, text) in parts(SHARED) {
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            let code: Vec<_> = code.collect();
            let mut words: BTreeSet<&str> =
                code.iter().flat_map(|line| line.split(|c| !is_part(c))).collect();
            if words.remove("pairs") {
                words.insert("Pairs");
            }
            let called = |other: &&str| {
                let is_function = |line: &&&str| {
                    [format!("{other}("), format!("{other}::<")]
                        .iter()
                        .any(|call| line.contains(call))
                };
                words.contains(other)
                    && (*other == "Pairs" || code.iter().any(|line| is_function(&line)))
            };
            let found: BTreeSet<_> =
                names().filter(|other| *other != name).filter(called).collect();
            let stated = NEEDS.iter().filter(|(caller, _)| *caller == name);
            let stated: BTreeSet<_> = stated.flat_map(|(_, needs)| needs.iter().copied()).collect();
            assert_eq!(found, stated, "{name}");
        }
    }
}
