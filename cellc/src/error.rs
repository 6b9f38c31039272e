//! The error of a compilation.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::diagnostic::{Cause, Diagnostic, Diagnostics};

/// The error of a compilation: the input was refused, or the output could not be written.
///
/// `Display` shows every problem of the input, each with its place, the fault, the valid input and
/// the remedy. `Debug` shows the same text without the first `error: `, so build scripts that
/// return the error from `main` show all problems.
pub struct Error(ErrorSource);

enum ErrorSource {
    Refused(Diagnostics),
    Write(PathBuf, io::Error),
}

/// The kind of an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file of the input cannot be read; the error's `source` is an [`io::Error`]. The error may
    /// list other problems, too.
    Read,
    /// The model, its weights or an option is refused. Nothing was written.
    Refused,
    /// The output cannot be written; the error's `source` is an [`io::Error`].
    Write,
}

impl Error {
    /// The kind of the problem.
    ///
    /// ```
    /// use cellc::{Builder, ErrorKind};
    ///
    /// let error = Builder::gru(0, 16).out_dir(".").compile().unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Refused);
    /// ```
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match &self.0 {
            ErrorSource::Refused(diagnostics) if cause(diagnostics).is_some() => ErrorKind::Read,
            ErrorSource::Refused(_) => ErrorKind::Refused,
            ErrorSource::Write(..) => ErrorKind::Write,
        }
    }

    pub(crate) fn write(path: impl Into<PathBuf>, error: io::Error) -> Self {
        Self(ErrorSource::Write(path.into(), error))
    }
}

impl From<Diagnostics> for Error {
    fn from(diagnostics: Diagnostics) -> Self {
        Self(ErrorSource::Refused(diagnostics))
    }
}

impl From<Diagnostic> for Error {
    fn from(diagnostic: Diagnostic) -> Self {
        Diagnostics(vec![diagnostic]).into()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            ErrorSource::Refused(diagnostics) => f.write_str(diagnostics.to_string().trim_end()),
            ErrorSource::Write(path, error) => {
                write!(f, "{} cannot be written: {error}", path.display())
            }
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `main` prints "Error: " in front, so the "error: " of the first problem is left out
        let text = self.to_string();
        f.write_str(text.strip_prefix("error: ").unwrap_or(&text))
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            ErrorSource::Refused(diagnostics) => cause(diagnostics).map(|error| error as _),
            ErrorSource::Write(_, error) => Some(error),
        }
    }
}

/// The first error of reading a file.
fn cause(diagnostics: &Diagnostics) -> Option<&io::Error> {
    diagnostics.0.iter().find_map(|diagnostic| match &diagnostic.cause {
        Cause::Unreadable(error) => Some(&*error.0),
        _ => None,
    })
}
