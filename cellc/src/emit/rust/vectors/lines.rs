//! The lines of macros, which prettyplease leaves as they are.

use std::fmt::Write;

use crate::emit::text::FORMATTED;

/// The maximum line length of lists.
pub(super) const LINE: usize = 96;

/// A list on as few lines as possible, each indented.
pub(super) fn flowed(indent: &str, list: impl Iterator<Item = String>) -> String {
    let mut lines: Vec<String> = Vec::new();
    for item in list {
        match lines.last_mut() {
            Some(line) if line.len() + item.len() + 3 <= LINE => {
                line.push_str(", ");
                line.push_str(&item);
            }
            _ => lines.push(format!("{indent}{item}")),
        }
    }
    lines.iter().map(|line| folded(indent, line)).collect::<Vec<_>>().join(",\n")
}

/// A long line, broken into several.
pub(super) fn folded(indent: &str, line: &str) -> String {
    let mut rest = line;
    let mut out = String::new();
    while rest.len() > LINE {
        let breaks = || (indent.len() + 5..LINE).rev();
        let is_end = |at: &usize| ["; ", ", "].iter().any(|end| rest[..*at].ends_with(end));
        // an operand longer than a line begins a new line
        let Some(at) =
            breaks().find(is_end).or_else(|| breaks().find(|at| rest[..*at].ends_with('(')))
        else {
            break;
        };
        let _ = write!(out, "{}\n{indent}    ", rest[..at].trim_end());
        rest = &rest[at..];
    }
    out + rest
}

/// The lines of a text, marked as formatted.
pub(super) fn formatted(text: &str) -> String {
    text.lines().map(|line| format!("{FORMATTED}{line}\n")).collect()
}
