//! What is wrong with an input, where, and what to do about it.

use std::fmt;
use std::sync::Arc;

/// Where in the input something was said. The only thing that is known of the way in after the front end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// Nowhere in particular: the command line, a builder call, the file as a whole.
    #[default]
    Unknown,
    /// A range of bytes of the (UTF-8 transcoded) text of a file.
    Text {
        /// The file, as the user named it.
        file: Arc<str>,
        /// First byte.
        start: usize,
        /// One past the last byte.
        end: usize,
    },
    /// A token of a macro declaration: an index into the declaration's table of spans.
    Token(u32),
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The input is compiled, but something in it has no effect or may surprise.
    Warning,
    /// The input is refused.
    Error,
}

/// One problem of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Where it was said.
    pub origin: Origin,
    /// The layer (name, type and id) or key that is concerned.
    pub layer: Option<String>,
    /// What was found.
    pub found: String,
    /// What would be valid.
    pub valid: Option<String>,
    /// What to do.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A refusal: `found` says what was found, as one sentence without a full stop.
    pub fn error(origin: Origin, found: impl Into<String>) -> Self {
        Self { severity: Severity::Error, origin, layer: None, found: found.into(), valid: None, help: None }
    }

    /// A warning.
    pub fn warning(origin: Origin, found: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(origin, found) }
    }

    /// Names the layer or key.
    pub fn layer(mut self, layer: impl Into<String>) -> Self {
        self.layer = Some(layer.into());
        self
    }

    /// Says what would be valid.
    pub fn valid(mut self, valid: impl Into<String>) -> Self {
        self.valid = Some(valid.into());
        self
    }

    /// Says what to do.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.found)
    }
}

/// All problems of one input, in the order in which they were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl Diagnostics {
    /// Adds one.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    /// Whether the input is refused.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|d| d.severity == Severity::Error)
    }
}
