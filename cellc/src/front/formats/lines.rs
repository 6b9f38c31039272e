//! Advice about a file, and the lines of it that a shell or Python takes.

use std::path::Path;

use crate::diagnostic;
use crate::front::model_file::ModelFile;

/// What to do about a file.
pub(super) struct Advice {
    /// What it is, with an article.
    pub(super) is: String,
    pub(super) help: String,
    pub(super) lines: Vec<String>,
}

pub(super) fn advice(is: &str, help: &str, lines: impl IntoIterator<Item = impl Into<String>>) -> Advice {
    Advice { is: is.to_owned(), help: help.to_owned(), lines: lines.into_iter().map(Into::into).collect() }
}

/// Lines for Python, which a shell takes as they are.
pub(super) fn python(lines: &[&str]) -> Vec<String> {
    let around = |lines: &[&str]| lines.iter().map(ToString::to_string).collect::<Vec<_>>();
    [around(&["python3 - <<'END'"]), around(lines), around(&["END"])].concat()
}

/// The path of a file for a shell.
pub(super) fn in_shell(path: &str) -> String {
    // what begins like an option is none with a folder in front
    let path = if path.starts_with('-') { format!("./{path}") } else { path.to_owned() };
    diagnostic::in_shell(&path)
}

/// The end of a command that compiles a model of this name: `-o net.rs`, or the user's own output.
pub(super) fn to_output(model: &ModelFile, stem: &str) -> String {
    match model.output {
        Some(output) if output == Path::new("-") => "-o -".to_owned(),
        Some(output) => format!("-o {}", in_shell(&output.to_string_lossy())),
        None => format!("-o {}", in_shell(&format!("{stem}.rs"))),
    }
}

/// A text for Python.
pub(super) fn in_python(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
