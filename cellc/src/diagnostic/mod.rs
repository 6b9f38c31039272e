//! Diagnostics: problem, place and remedy.

mod message;
mod problem;
mod remedies;
mod render;
mod setting;

use std::fmt;
use std::io;
use std::sync::Arc;

pub use message::Message;
pub(crate) use message::{holes, message};
pub use problem::Problem;
pub(crate) use remedies::{EXAMPLE_STEPS, WITHOUT_PROJECTIONS};
pub use setting::{FlagNames, Setting, option};
pub(crate) use setting::{in_shell, method, method_name};

/// The text of an input file, shown by diagnostics.
#[derive(PartialEq, Eq)]
pub struct SourceText {
    /// The file, as the user named it.
    pub name: String,
    /// The text of the file, transcoded to UTF-8.
    pub text: String,
}

impl fmt::Debug for SourceText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SourceText({:?}, {} bytes)", self.name, self.text.len())
    }
}

/// A place in the input, for messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// Nowhere in particular: the command line, a builder call, the file as a whole.
    #[default]
    Unknown,
    /// A range of bytes of the (UTF-8 transcoded) text of a file.
    Text {
        /// The file.
        source: Arc<SourceText>,
        /// First byte.
        start: usize,
        /// One past the last byte.
        end: usize,
    },
    /// A token of a macro declaration: an index into the declaration's table of tokens.
    Token(u32),
}

/// The severity of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The input is compiled; a part of the input may have been meant otherwise.
    Notice,
    /// The input is compiled. A part of the input has no effect, or an unexpected effect.
    Warning,
    /// The input is refused.
    Error,
}

/// The cause of a problem, for code that treats some problems in a special way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cause {
    /// No cause that code asks for: only the text describes the problem.
    #[default]
    InText,
    /// The operating system could not read a file. [`Diagnostic::found`] contains the text of the
    /// error.
    Unreadable(ReadError),
    /// An input has no shape.
    NoShape,
    /// An input has open sizes.
    OpenSizes,
    /// A layer starts every call from the same state.
    StartsAnew,
    /// An operation over steps, such as a window with padding, sees the steps of one call only.
    SeesOneCall,
}

impl Cause {
    /// True if a layer or an operation does not continue from the call before.
    pub(crate) fn begins_anew(&self) -> bool {
        matches!(self, Self::StartsAnew | Self::SeesOneCall)
    }
}

impl From<io::Error> for Cause {
    fn from(error: io::Error) -> Self {
        Self::Unreadable(ReadError(Arc::new(error)))
    }
}

/// An error of the operating system. Errors of one kind are equal.
#[derive(Clone, Debug)]
pub struct ReadError(pub Arc<io::Error>);

impl PartialEq for ReadError {
    fn eq(&self, other: &Self) -> bool {
        self.0.kind() == other.0.kind()
    }
}

impl Eq for ReadError {}

/// One problem of an input.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// The severity of the problem.
    pub severity: Severity,
    /// The place of the problem in the input.
    pub origin: Origin,
    /// The layer (name, type and id) or key with the problem.
    pub layer: Option<String>,
    /// The problem, as one sentence without a full stop.
    pub found: Message,
    /// The input that would be valid.
    pub valid: Option<Message>,
    /// The remedy.
    pub help: Option<Message>,
    /// Lines to copy into a shell, shown below the help.
    pub lines: Vec<String>,
    /// The cause of the problem.
    pub cause: Cause,
}

impl Diagnostic {
    /// An error. `found`: the problem, as one sentence without a full stop.
    pub fn error(origin: Origin, found: impl Into<Message>) -> Self {
        Self {
            severity: Severity::Error,
            origin,
            layer: None,
            found: found.into(),
            valid: None,
            help: None,
            lines: Vec::new(),
            cause: Cause::InText,
        }
    }

    /// A warning.
    pub fn warning(origin: Origin, found: impl Into<Message>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(origin, found) }
    }

    /// A notice.
    pub fn notice(origin: Origin, found: impl Into<Message>) -> Self {
        Self { severity: Severity::Notice, ..Self::error(origin, found) }
    }

    /// The error for an attribute that the definition of the operator `on` lacks. Its effect is
    /// unknown, so readers must not ignore it. `valid`: the attributes of the definition.
    pub fn unknown_attribute(
        origin: Origin,
        name: &str,
        on: &str,
        valid: impl Into<Message>,
    ) -> Self {
        Self::error(origin, format!("the attribute {} has no known meaning on {on}", quoted(name)))
            .valid(valid)
            .help("remove the attribute if it has no effect, or correct its name")
    }

    /// True if both problems have the same cause, place and layer. The texts may differ.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        let location = |problem: &Self| (problem.origin.clone(), problem.layer.clone());
        self.cause == other.cause && location(self) == location(other)
    }

    /// Names the layer or key.
    pub fn layer(mut self, layer: impl Into<String>) -> Self {
        self.layer = Some(layer.into());
        self
    }

    /// Says what would be valid.
    pub fn valid(mut self, valid: impl Into<Message>) -> Self {
        self.valid = Some(valid.into());
        self
    }

    /// Says what to do.
    pub fn help(mut self, help: impl Into<Message>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds lines to copy into a shell.
    pub fn lines(mut self, lines: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.lines.extend(lines.into_iter().map(Into::into));
        self
    }

    /// The diagnostic with the names of settings in a user interface.
    pub(crate) fn worded(self, name: fn(&Setting) -> String) -> Self {
        let words = |message: Message| Message::from(message.worded(name));
        Self {
            found: words(self.found),
            valid: self.valid.map(words),
            help: self.help.map(words),
            ..self
        }
    }

    /// Sets the cause.
    pub fn cause(mut self, cause: impl Into<Cause>) -> Self {
        self.cause = cause.into();
        self
    }
}

/// The quoted names as a list: `"a", "b" and "c"`.
pub(crate) fn listed(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
    match &names[..] {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.join(""),
    }
}

/// A text of the input, quoted for use inside a message: control and bidirectional characters
/// escaped, cut when long.
pub fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut out = String::from("\"");
    for (i, c) in text.chars().enumerate() {
        if i == LONGEST {
            out.push('…');
            break;
        }
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c => push_visible(&mut out, c),
        }
    }
    out.push('"');
    out
}

/// Adds a character, escaped if it is not printable.
fn push_visible(out: &mut String, c: char) {
    if is_invisible(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
}

/// True for control, formatting and bidirectional characters, line separators, code points of
/// private use, and code points that are no characters.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(c, '\u{e0000}'..='\u{e0fff}')
        || matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{fdd0}'..='\u{fdef}')
        || (c as u32) & 0xfffe == 0xfffe
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.found.with_options())
    }
}

/// All problems of one input, in the order of discovery.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(vec![diagnostic])
    }
}

impl Diagnostics {
    /// Upper limit for stored diagnostics. One further entry stands for the rest.
    pub const MOST: usize = 1000;

    /// Adds a diagnostic unless it is a duplicate. Beyond [`Self::MOST`], one entry at the end
    /// stands for the rest.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.0.len() < Self::MOST {
            if !self.0.contains(&diagnostic) {
                self.0.push(diagnostic);
            }
            return;
        }
        match self.0.get_mut(Self::MOST) {
            Some(rest) => rest.severity = rest.severity.max(diagnostic.severity),
            None => self.0.push(Diagnostic {
                severity: diagnostic.severity,
                ..Diagnostic::error(
                    Origin::Unknown,
                    format!("more than {} problems; the rest is not listed", Self::MOST),
                )
            }),
        }
    }

    /// Adds all diagnostics of `other`.
    pub fn extend(&mut self, other: Self) {
        other.0.into_iter().for_each(|d| self.push(d));
    }

    /// The diagnostics with the names of settings in a user interface.
    pub(crate) fn worded(self, name: fn(&Setting) -> String) -> Self {
        Self(self.0.into_iter().map(|diagnostic| diagnostic.worded(name)).collect())
    }

    /// True if the input is refused: a diagnostic is an error.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|d| d.severity == Severity::Error)
    }
}
