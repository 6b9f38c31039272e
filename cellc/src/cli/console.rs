//! Output of the command on standard error: coloured diagnostics, and a line of success on a
//! terminal. With `--quiet`, errors only.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anstyle::{AnsiColor, Style};

use crate::compile::Compilation;
use crate::core::CoreCell;
use crate::diagnostic::{Diagnostics, Severity};
use crate::model::counted;
use crate::summary::escape;

/// The largest number of cells that the line of success names. Further cells are only counted.
const MOST_CELLS: usize = 3;

/// True if only errors are printed.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Restricts output to errors from now on.
pub(super) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// True if only errors are printed.
pub(super) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Prints diagnostics for a human.
pub(super) fn report(diagnostics: &Diagnostics) {
    if !is_quiet() {
        return write(&coloured(&diagnostics.to_string()));
    }
    let errors = diagnostics.0.iter().filter(|problem| problem.severity == Severity::Error);
    write(&coloured(&Diagnostics(errors.cloned().collect()).to_string()));
}

/// Prints the files and a summary of the model, if standard error is a terminal and output is not
/// restricted to errors.
pub(super) fn report_success(files: &[String], compilation: &Compilation) {
    if !is_quiet() && io::stderr().is_terminal() {
        write(&format!("{}\n", success(files, compilation)));
    }
}

/// Writes to standard error, without colours unless standard error is a terminal. Respects
/// `NO_COLOR`. Write errors are ignored.
fn write(text: &str) {
    _ = anstream::stderr().lock().write_all(text.as_bytes());
}

/// Colours the words `error`, `warning` and `notice` at the start of a line, as rustc does.
fn coloured(text: &str) -> String {
    let bold = |color: AnsiColor| Style::new().bold().fg_color(Some(color.into()));
    let words = [
        ("error", bold(AnsiColor::BrightRed)),
        ("warning", bold(AnsiColor::BrightYellow)),
        ("notice", bold(AnsiColor::BrightCyan)),
    ];
    let mut out = String::with_capacity(text.len() + 64);
    for line in text.split_inclusive('\n') {
        let begins = |(word, _): &&(&str, Style)| {
            line.strip_prefix(word).is_some_and(|rest| rest.starts_with(": "))
        };
        match words.iter().find(begins) {
            // writing to a string cannot fail
            Some((word, style)) => _ = write!(out, "{style}{word}{style:#}{}", &line[word.len()..]),
            None => out.push_str(line),
        }
    }
    out
}

/// The line of success: `net.c, net.h: GRU 24 -> 48, 44 kB of weights, state kept, steps open`.
fn success(files: &[String], compilation: &Compilation) -> String {
    let model = &compilation.model;
    let cells: Vec<&CoreCell> = model.cells();
    let mut parts: Vec<String> =
        cells.iter().take(MOST_CELLS).map(|cell| cell_text(cell)).collect();
    match cells.len().saturating_sub(MOST_CELLS) {
        0 => {}
        more => parts.push(format!("{more} more")),
    }
    if cells.is_empty() {
        parts.push(counted(model.operations().len(), "operation"));
    }
    parts.push(format!("{} of weights", size_text(compilation.packed.bytes.len())));
    let kept = !model.states.is_empty() || !model.variables.is_empty();
    match (kept, model.restarts.is_empty()) {
        (_, false) => parts.push("state not kept".to_owned()),
        (true, true) => parts.push("state kept".to_owned()),
        (false, true) => {}
    }
    if model.steps.is_some() {
        parts.push("steps open".to_owned());
    }
    format!("{}: {}", files.join(", "), parts.join(", "))
}

/// The kind of a cell, its inputs and its units: `GRU 24 -> 48`.
fn cell_text(cell: &CoreCell) -> String {
    let kind = escape(cell.kind.op_name());
    let kind = kind.strip_suffix("Cell").unwrap_or(&kind);
    format!("{kind} {} -> {}", cell.input_size, cell.hidden_size)
}

/// Bytes in B, kB or MB.
fn size_text(bytes: usize) -> String {
    match bytes {
        0..1000 => format!("{bytes} B"),
        1000..10_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        10_000..1_000_000 => format!("{:.0} kB", bytes as f64 / 1e3),
        1_000_000..10_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.0} MB", bytes as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::{Diagnostic, Origin};

    #[test]
    fn the_words_that_begin_a_diagnostic_are_coloured_and_no_others() {
        let warning = Diagnostic::warning(Origin::Unknown, "error: of a name").help("error: x");
        let diagnostics =
            Diagnostics(vec![warning, Diagnostic::error(Origin::Unknown, "wrong\nerror: no line")]);
        let text = coloured(&diagnostics.to_string());
        assert_eq!(text.matches("\u{1b}[0m").count(), 2, "{text}");
        assert!(text.contains("\u{1b}[1m\u{1b}[91merror\u{1b}[0m: wrong"), "{text:?}");
        assert!(text.contains("\u{1b}[1m\u{1b}[93mwarning\u{1b}[0m: error: of a name"), "{text:?}");
    }

    #[test]
    fn sizes_have_two_digits_or_more() {
        let texts = [999, 1000, 9_949, 44_160, 999_499, 1_500_000, 24_500_000].map(size_text);
        assert_eq!(texts, ["999 B", "1.0 kB", "9.9 kB", "44 kB", "999 kB", "1.5 MB", "24 MB"]);
    }
}
