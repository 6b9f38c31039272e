//! Standard output and standard error, and what cannot be replaced by a file.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;
use std::sync::OnceLock;

use crate::diagnostic::{Diagnostic, Origin};
use crate::files;

/// The path of the file that holds a model from a pipe, and the name by which the command line gave
/// the model.
static PIPED: OnceLock<(String, String)> = OnceLock::new();

/// Prints `name` in place of `path` from now on: a command in a hint can be typed again, and no
/// message names a file that is gone.
pub(super) fn name_piped(path: &Path, name: String) {
    // a command reads one model
    _ = PIPED.set((path.display().to_string(), name));
}

/// The text with the model's name as the command line gave it.
pub(super) fn as_named(text: &[u8]) -> Cow<'_, [u8]> {
    match (PIPED.get(), std::str::from_utf8(text)) {
        (Some((path, name)), Ok(text)) if text.contains(path) => Cow::Owned(text.replace(path, name).into_bytes()),
        _ => Cow::Borrowed(text),
    }
}

/// Writes to standard output. A reader that has read enough (`| head`) is no failure.
pub(crate) fn write_stdout(bytes: &[u8]) -> Result<(), Diagnostic> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(&as_named(bytes)).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(cannot_write(Path::new("standard output"), error))
        }
        _ => Ok(()),
    }
}

/// Writes to standard error. Nothing can be done about one that cannot be written, and it is no reason to write no file.
pub(crate) fn write_stderr(bytes: &[u8]) {
    _ = io::stderr().lock().write_all(&as_named(bytes));
}

/// Writes into an existing device or pipe at `path`.
pub(crate) fn write_device(path: &Path, bytes: &[u8]) -> Result<(), Diagnostic> {
    files::write_through(path, bytes).map_err(|error| cannot_write(path, error))
}

/// That `path` cannot be written, and why.
pub(crate) fn cannot_write(path: &Path, error: io::Error) -> Diagnostic {
    Diagnostic::error(Origin::Unknown, format!("{} cannot be written: {error}", path.display()))
}
