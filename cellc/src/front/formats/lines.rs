//! Advice for a file, with lines for a shell or for Python.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::diagnostic;
use crate::front::export::EXPORT_WITH_OPEN_STEPS;
use crate::front::model_file::ModelFile;

/// Advice for an unsupported file.
pub(super) struct Advice {
    /// The kind of file, which completes the message "FILE is ...".
    pub(super) is: String,
    pub(super) help: String,
    pub(super) lines: Vec<String>,
}

/// Advice with the commands `lines`, joined by `&&` if they are for a shell.
pub(super) fn advice(
    is: &str,
    help: &str,
    lines: impl IntoIterator<Item = impl Into<String>>,
) -> Advice {
    let lines = lines.into_iter().map(Into::into).collect();
    Advice { is: is.to_owned(), help: help.to_owned(), lines: chained(lines) }
}

/// Joins commands of a shell by `&&`, except for alternative calls of cellc. If the last line is no
/// call of cellc, the lines are a single command or statements of Python, and stay unchanged.
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

/// Name in commands for the file to which the user saves the bytes of a pipe.
pub(super) const SAVED_PIPE: &str = "piped_model";

/// An unsupported file and its names in commands.
pub(super) struct UnreadFile<'a> {
    pub(super) model: ModelFile<'a>,
    /// The path in commands.
    pub(super) path: PathBuf,
    /// The file name without its ending, for the names of converted files.
    pub(super) stem: String,
}

impl<'a> UnreadFile<'a> {
    /// The names of `model` in commands.
    pub(super) fn new(model: ModelFile<'a>) -> Self {
        let path = if model.is_piped() { Path::new(SAVED_PIPE) } else { model.path };
        let name = path.file_name().unwrap_or(path.as_os_str());
        let stem = Path::new(name).file_stem().unwrap_or(name).to_string_lossy().into_owned();
        Self { model, path: path.to_owned(), stem }
    }

    /// The path, quoted for a shell.
    pub(super) fn in_shell(&self) -> String {
        in_shell(&self.path.to_string_lossy())
    }

    /// The path, quoted for Python.
    pub(super) fn in_python(&self) -> String {
        in_python(&self.path.to_string_lossy())
    }

    /// The command to compile a file.
    pub(super) fn compile(&self, file: &str, stem: &str) -> String {
        format!("cellc {} {}", in_shell(file), to_output(&self.model, stem))
    }

    /// Replaces placeholders in a text. `$PATH`, `$PY`: the path, quoted for a shell and for
    /// Python. `$NAME`: the file name without its folder. `$AS_PB`, `$AS_TFLITE`: the path with
    /// this ending. `$FOLDER`: the folder of a model in several files. `$XML`, `$XML_PY`, `$ONNX`,
    /// `$ONNX_PY`: the converted file. `$OUT`, `$MODEL_OUT`: the output option of cellc, with the
    /// default `STEM.rs` or `model.rs`. `$EXPORT`: PyTorch's export.
    pub(super) fn filled(&self, text: &str) -> String {
        let made = |ending: &str| format!("{}.{ending}", self.stem);
        let with_ending =
            |ending: &str| in_shell(&self.path.with_extension(ending).to_string_lossy());
        let word = |word: &str| match word {
            "PATH" => self.in_shell(),
            "PY" => self.in_python(),
            "NAME" => {
                in_shell(&self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy())
            }
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
            let end =
                part.find(|c: char| !c.is_ascii_uppercase() && c != '_').unwrap_or(part.len());
            filled.push_str(&word(&part[..end]));
            filled.push_str(&part[end..]);
        }
        filled
    }

    /// Advice with placeholders replaced. A command `mv` is dropped if the file has the wanted
    /// ending.
    pub(super) fn advice(&self, is: &str, help: &str, lines: &[&str]) -> Advice {
        let has = |ending: &str| self.path.extension() == Some(OsStr::new(ending));
        let is_needed = |line: &&&str| match line.strip_prefix("mv $PATH $AS_") {
            Some(ending) => !has(&ending.to_ascii_lowercase()),
            None => true,
        };
        advice(is, &self.filled(help), lines.iter().filter(is_needed).map(|line| self.filled(line)))
    }

    /// The folder of a model in several files: the path itself, or the folder around the file.
    fn folder(&self) -> &Path {
        let folder =
            if self.path.is_dir() { Some(self.path.as_path()) } else { self.path.parent() };
        folder.filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."))
    }
}

/// A here-document that runs lines of Python.
pub(super) fn python(lines: &[&str]) -> Vec<String> {
    let around = |lines: &[&str]| lines.iter().map(ToString::to_string).collect::<Vec<_>>();
    [around(&["python3 - <<'END'"]), around(lines), around(&["END"])].concat()
}

/// A path quoted for a shell.
pub(super) fn in_shell(path: &str) -> String {
    // a name like -x would be read as an option
    let path = if path.starts_with('-') { format!("./{path}") } else { path.to_owned() };
    diagnostic::in_shell(&path)
}

/// The output option of a command: the user's output, or `-o STEM.rs`.
pub(super) fn to_output(model: &ModelFile, stem: &str) -> String {
    match model.output {
        Some(output) if output == Path::new("-") => "-o -".to_owned(),
        Some(output) => format!("-o {}", in_shell(&output.to_string_lossy())),
        None => format!("-o {}", in_shell(&format!("{stem}.rs"))),
    }
}

/// A text quoted for Python.
pub(super) fn in_python(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
