//! Advice about a file, and the lines of it that a shell or Python takes.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::diagnostic;
use crate::front::export::EXPORT_WITH_OPEN_STEPS;
use crate::front::model_file::ModelFile;

/// What to do about a file.
pub(super) struct Advice {
    /// What it is, with an article.
    pub(super) is: String,
    pub(super) help: String,
    pub(super) lines: Vec<String>,
}

pub(super) fn advice(is: &str, help: &str, lines: impl IntoIterator<Item = impl Into<String>>) -> Advice {
    let lines = lines.into_iter().map(Into::into).collect();
    Advice { is: is.to_owned(), help: help.to_owned(), lines: chained(lines) }
}

/// Lines for a shell, each command of which runs only if the one before it succeeds. Lines that do
/// not end with a compilation are for Python, and stay.
fn chained(mut lines: Vec<String>) -> Vec<String> {
    let Some((compile, before)) = lines.split_last_mut() else { return lines };
    if !compile.starts_with("cellc ") {
        return lines;
    }
    let mut is_python = false;
    for line in before {
        if is_python {
            is_python = line != "END";
        } else if !line.starts_with("cellc ") {
            is_python = line.ends_with("<<'END'");
            line.push_str(" &&");
        }
    }
    lines
}

/// The file in lines about a model that came through a pipe.
pub(super) const SAVED_PIPE: &str = "piped_model";

/// A file that is not read, and the names in lines about it.
pub(super) struct Named<'a> {
    pub(super) model: ModelFile<'a>,
    /// The file as the lines name it.
    pub(super) path: PathBuf,
    /// Its name without the ending, for files that the lines make.
    pub(super) stem: String,
}

impl<'a> Named<'a> {
    pub(super) fn new(model: ModelFile<'a>) -> Self {
        let path = if model.is_piped() { Path::new(SAVED_PIPE) } else { model.path };
        let name = path.file_name().unwrap_or(path.as_os_str());
        let stem = Path::new(name).file_stem().unwrap_or(name).to_string_lossy().into_owned();
        Self { model, path: path.to_owned(), stem }
    }

    /// The file for a shell.
    pub(super) fn in_shell(&self) -> String {
        in_shell(&self.path.to_string_lossy())
    }

    /// The file for Python.
    pub(super) fn in_python(&self) -> String {
        in_python(&self.path.to_string_lossy())
    }

    /// The command that compiles a file.
    pub(super) fn compile(&self, file: &str, stem: &str) -> String {
        format!("cellc {} {}", in_shell(file), to_output(&self.model, stem))
    }

    /// A text with names of this file in place of these words: `$PATH` and `$PY` the file for a
    /// shell and for Python, `$NAME` without its folder, `$AS_PB` and `$AS_TFLITE` with this
    /// ending; `$FOLDER` the folder of a model that is one; `$XML`, `$XML_PY`, `$ONNX` and
    /// `$ONNX_PY` the file that a conversion makes; `$OUT` and `$MODEL_OUT` what a command compiles
    /// to; `$EXPORT` PyTorch's export.
    pub(super) fn filled(&self, text: &str) -> String {
        let made = |ending: &str| format!("{}.{ending}", self.stem);
        let with_ending = |ending: &str| in_shell(&self.path.with_extension(ending).to_string_lossy());
        let word = |word: &str| match word {
            "PATH" => self.in_shell(),
            "PY" => self.in_python(),
            "NAME" => in_shell(&self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy()),
            "AS_PB" => with_ending("pb"),
            "AS_TFLITE" => with_ending("tflite"),
            "FOLDER" => in_shell(&self.folder().to_string_lossy()),
            "XML" => in_shell(&made("xml")),
            "XML_PY" => in_python(&made("xml")),
            "ONNX" => in_shell(&made("onnx")),
            "ONNX_PY" => in_python(&made("onnx")),
            "OUT" => to_output(&self.model, &self.stem),
            "MODEL_OUT" => to_output(&self.model, "model"),
            "EXPORT" => EXPORT_WITH_OPEN_STEPS.to_owned(),
            other => unreachable!("no word ${other}"),
        };
        let mut parts = text.split('$');
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let end = part.find(|c: char| !c.is_ascii_uppercase() && c != '_').unwrap_or(part.len());
            filled.push_str(&word(&part[..end]));
            filled.push_str(&part[end..]);
        }
        filled
    }

    /// Advice with the names of this file in it. A file that has its right name already is not
    /// renamed.
    pub(super) fn advice(&self, is: &str, help: &str, lines: &[&str]) -> Advice {
        let has = |ending: &str| self.path.extension() == Some(OsStr::new(ending));
        let is_needed = |line: &&&str| match line.strip_prefix("mv $PATH $AS_") {
            Some(ending) => !has(&ending.to_ascii_lowercase()),
            None => true,
        };
        advice(is, &self.filled(help), lines.iter().filter(is_needed).map(|line| self.filled(line)))
    }

    /// The folder of a model that is a folder.
    fn folder(&self) -> &Path {
        let folder = if self.path.is_dir() { Some(self.path.as_path()) } else { self.path.parent() };
        folder.filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."))
    }
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
