//! The texts of an error.

use super::{Diagnostic, Message, Origin, message};

/// A problem of an input, the valid input and the remedy: the texts of an error without its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The problem, as one sentence without a full stop.
    pub found: Message,
    /// The input that would be valid.
    pub valid: Message,
    /// The remedy.
    pub help: Message,
}

impl Problem {
    /// The three texts of a problem.
    pub(crate) fn new(
        found: impl Into<Message>,
        valid: impl Into<Message>,
        help: impl Into<Message>,
    ) -> Self {
        Self { found: found.into(), valid: valid.into(), help: help.into() }
    }

    /// The problem of a named value, such as `dtype=8`.
    pub(crate) fn of(self, value: &str) -> Self {
        Self { found: message!("{}: {}", value, self.found), ..self }
    }

    /// The error at a place in the input.
    pub(crate) fn at(self, origin: Origin) -> Diagnostic {
        Diagnostic::error(origin, self.found).valid(self.valid).help(self.help)
    }
}
