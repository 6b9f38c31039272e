//! Standard output and standard error, and what cannot be replaced by a file.

use std::io::{self, Write};
use std::path::Path;

use crate::diagnostic::{Diagnostic, Origin};
use crate::files;

/// Writes to standard output. A reader that has read enough (`| head`) is no failure.
pub(crate) fn write_stdout(bytes: &[u8]) -> Result<(), Diagnostic> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(cannot_write(Path::new("standard output"), error))
        }
        _ => Ok(()),
    }
}

/// Writes to standard error. Nothing can be done about one that cannot be written, and it is no
/// reason to write no file.
pub(crate) fn write_stderr(bytes: &[u8]) {
    _ = io::stderr().lock().write_all(bytes);
}

/// Writes into an existing device or pipe at `path`.
pub(crate) fn write_device(path: &Path, bytes: &[u8]) -> Result<(), Diagnostic> {
    files::write_through(path, bytes).map_err(|error| cannot_write(path, error))
}

/// That `path` cannot be written, and why.
pub(crate) fn cannot_write(path: &Path, error: io::Error) -> Diagnostic {
    Diagnostic::error(Origin::Unknown, format!("{} cannot be written: {error}", path.display()))
}
