//! Why nothing was written.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::diagnostic::{Diagnostic, Diagnostics};

/// Why nothing was written: the input was refused, or the output could not be written.
///
/// Its `Display` is every problem of the input, each with its place, what was found, what would be valid and what
/// to do. Its `Debug` is the same text, so that a build script that returns it from `main` shows it.
pub struct Error(Kind);

enum Kind {
    Refused(Diagnostics),
    Write(PathBuf, io::Error),
}

/// What kind of problem an [`Error`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file of the input cannot be read; the error's `source` is an [`io::Error`]. Other problems may be listed beside it.
    Read,
    /// The model, its weights or an option is refused. Nothing was written.
    Refused,
    /// The output cannot be written; the error's `source` is an [`io::Error`].
    Write,
}

impl Error {
    /// What kind of problem this is.
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
            Kind::Refused(diagnostics) if cause(diagnostics).is_some() => ErrorKind::Read,
            Kind::Refused(_) => ErrorKind::Refused,
            Kind::Write(..) => ErrorKind::Write,
        }
    }

    pub(crate) fn write(path: impl Into<PathBuf>, error: io::Error) -> Self {
        Self(Kind::Write(path.into(), error))
    }
}

impl From<Diagnostics> for Error {
    fn from(diagnostics: Diagnostics) -> Self {
        Self(Kind::Refused(diagnostics))
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
            Kind::Refused(diagnostics) => f.write_str(diagnostics.to_string().trim_end()),
            Kind::Write(path, error) => write!(f, "{} cannot be written: {error}", path.display()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            Kind::Refused(diagnostics) => cause(diagnostics).map(|error| error as _),
            Kind::Write(_, error) => Some(error),
        }
    }
}

/// The first error of reading a file.
fn cause(diagnostics: &Diagnostics) -> Option<&io::Error> {
    diagnostics.0.iter().find_map(|diagnostic| diagnostic.cause.as_ref()).map(|cause| &*cause.0)
}
