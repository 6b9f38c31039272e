//! Output to standard output, standard error, and devices.

use std::io::{self, Write};
use std::path::Path;

use crate::diagnostic::{Diagnostic, Origin};
use crate::files;

/// Writes to standard output. A closed pipe (`| head`) is no error.
pub(crate) fn write_stdout(bytes: &[u8]) -> Result<(), Diagnostic> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(cannot_write(Path::new("standard output"), error))
        }
        _ => Ok(()),
    }
}

/// Writes to standard error. Errors are ignored: they are no reason to fail.
pub(crate) fn write_stderr(bytes: &[u8]) {
    _ = io::stderr().lock().write_all(bytes);
}

/// Writes into an existing device or pipe at `path`.
pub(crate) fn write_device(path: &Path, bytes: &[u8]) -> Result<(), Diagnostic> {
    files::write_through(path, bytes).map_err(|error| cannot_write(path, error))
}

/// The error for a path that cannot be written.
pub(crate) fn cannot_write(path: &Path, error: io::Error) -> Diagnostic {
    Diagnostic::error(Origin::Unknown, format!("{} cannot be written: {error}", path.display()))
}
