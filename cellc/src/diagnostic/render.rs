//! Diagnostics as text for people: problem, place in the file, valid input, remedy.
//!
//! Texts of the input are always escaped, and their length is limited.

use std::fmt::{self, Write};

use super::{Diagnostic, Diagnostics, Message, Origin, Severity, SourceText, push_visible};

/// The most problems printed.
const MOST_PRINTED: usize = 50;
/// Maximum length of a message in characters.
const LONGEST_MESSAGE: usize = 2000;
/// Maximum length of a source line in characters, before escaping.
const LONGEST_LINE: usize = 120;
/// Maximum number of characters in front of the marked place.
const LONGEST_LEAD: usize = 60;

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // errors first, so that warnings do not displace them
        let (errors, warnings): (Vec<&Diagnostic>, Vec<&Diagnostic>) =
            self.0.iter().partition(|d| d.severity == Severity::Error);
        let printed = errors.iter().chain(&warnings).take(MOST_PRINTED);
        for diagnostic in printed {
            f.write_str(&diagnostic.render())?;
        }
        match self.0.len().saturating_sub(MOST_PRINTED) {
            0 => Ok(()),
            1 => writeln!(f, "and 1 more problem"),
            more => writeln!(f, "and {more} more problems"),
        }
    }
}

impl std::error::Error for Diagnostics {}

impl Diagnostic {
    /// The diagnostic as lines of text, with the marked part of the file.
    pub fn render(&self) -> String {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Notice => "notice",
        };
        let mut out = format!("{severity}: ");
        push_message(&mut out, &self.found.with_options());
        out.push('\n');
        let mut margin = 1;
        if let Origin::Text { source, start, end } = &self.origin {
            margin = push_snippet(&mut out, source, *start, *end);
        }
        let text = |message: &Option<Message>| message.as_ref().map(Message::with_options);
        let parts = [
            ("layer", self.layer.clone()),
            ("valid", text(&self.valid)),
            ("help", text(&self.help)),
        ];
        for (what, text) in parts {
            if let Some(text) = text {
                out.extend(std::iter::repeat_n(' ', margin));
                out.push_str("= ");
                out.push_str(what);
                out.push_str(": ");
                push_message(&mut out, &text);
                out.push('\n');
            }
        }
        self.push_lines(&mut out);
        out
    }

    /// Adds an empty line and the lines to copy. The lines are not indented: indentation has a
    /// meaning in Python.
    pub(crate) fn push_lines(&self, out: &mut String) {
        if !self.lines.is_empty() {
            out.push('\n');
        }
        for line in &self.lines {
            push_message(out, line);
            out.push('\n');
        }
    }

    /// File, line and column for an editor, both counted from 1. `None` if the place is unknown.
    pub fn location(&self) -> Option<(&str, usize, usize)> {
        let Origin::Text { source, start, .. } = &self.origin else { return None };
        let position = TextPosition::new(&source.text, *start);
        Some((&source.name, position.line, position.column))
    }
}

/// The position of a byte in a text.
struct TextPosition {
    /// The byte, moved back to the start of its character.
    at: usize,
    /// Offset of the first byte of the line.
    line_start: usize,
    /// Line, counted from 1.
    line: usize,
    /// Column in characters, counted from 1.
    column: usize,
}

impl TextPosition {
    fn new(text: &str, at: usize) -> Self {
        let at = character_start(text, at);
        let before = &text[..at];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.matches('\n').count() + 1;
        Self { at, line_start, line, column: text[line_start..at].chars().count() + 1 }
    }
}

/// The nearest start of a character at or before `at`.
fn character_start(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0)
}

/// Adds the place and the source line. Returns the width of the margin.
fn push_snippet(out: &mut String, source: &SourceText, start: usize, end: usize) -> usize {
    let text = &source.text[..];
    let position = TextPosition::new(text, start);
    let number = position.line.to_string();
    let margin = number.len() + 1;
    let blank = " ".repeat(margin);
    out.push_str(&blank[1..]);
    out.push_str("--> ");
    push_message(out, &source.name);
    // writing to a string cannot fail
    let _ = writeln!(out, ":{}:{}", position.line, position.column);

    let lead_start = text[position.line_start..position.at]
        .char_indices()
        .rev()
        .nth(LONGEST_LEAD - 1)
        .map_or(position.line_start, |(offset, _)| position.line_start + offset);
    // at most [`LONGEST_LINE`] characters, because a file may be a single line
    let mut shown_end = text.len();
    let mut cut = false;
    for (count, (offset, c)) in text[lead_start..].char_indices().enumerate() {
        let at = lead_start + offset;
        cut = count == LONGEST_LINE;
        if cut || at >= position.at && matches!(c, '\n' | '\r') {
            shown_end = at;
            break;
        }
    }
    let end = character_start(text, end).clamp(position.at, shown_end.max(position.at));

    let mut line = String::new();
    if lead_start > position.line_start {
        line.push('…');
    }
    text[lead_start..position.at].chars().for_each(|c| push_character(&mut line, c));
    let caret = line.chars().count();
    text[position.at..end].chars().for_each(|c| push_character(&mut line, c));
    let carets = (line.chars().count() - caret).max(1);
    text[end..shown_end].chars().for_each(|c| push_character(&mut line, c));
    if cut {
        line.push('…');
    }
    // removes the indentation, also from the line of carets
    let indent = line.chars().take_while(|&c| c == ' ').count().min(caret);
    let line = &line[indent..];
    let caret = caret - indent;

    let _ = writeln!(out, "{blank}|");
    let _ = writeln!(out, "{number} | {}", line.trim_end());
    let _ = writeln!(out, "{blank}| {}{}", " ".repeat(caret), "^".repeat(carets));
    margin
}

fn push_character(out: &mut String, c: char) {
    if c == '\t' { out.push(' ') } else { push_visible(out, c) }
}

/// Adds a text with its invisible characters escaped, truncated to [`LONGEST_MESSAGE`] characters.
fn push_message(out: &mut String, text: &str) {
    for (i, c) in text.chars().enumerate() {
        if i == LONGEST_MESSAGE {
            out.push('…');
            return;
        }
        push_visible(out, c);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::diagnostic::quoted;

    fn at(text: &str, start: usize, end: usize) -> Diagnostic {
        let source = Arc::new(SourceText { name: "model.xml".to_owned(), text: text.to_owned() });
        Diagnostic::error(Origin::Text { source, start, end }, "something")
            .layer("\"cell\" (GRUCell, id 8)")
            .valid("x")
    }

    #[test]
    fn the_place_and_the_line_are_shown() {
        let text = "<net>\n\t<layer id=\"a\"/>\n</net>\n";
        let start = text.find("id").unwrap();
        let rendered = at(text, start, start + 6).help("do this").render();
        let lines: Vec<&str> = rendered.lines().collect();
        assert_eq!(
            lines,
            [
                "error: something",
                " --> model.xml:2:9",
                "  |",
                "2 | <layer id=\"a\"/>",
                "  |        ^^^^^^",
                "  = layer: \"cell\" (GRUCell, id 8)",
                "  = valid: x",
                "  = help: do this",
            ]
        );
        assert_eq!(at(text, start, start).location(), Some(("model.xml", 2, 9)));
    }

    #[test]
    fn any_range_of_any_text_can_be_rendered() {
        for text in ["", "a", "\n", "é\u{202e}x\r\ny", "𝄞\u{0}", "\t\t\n\n𝄞"] {
            for start in 0..text.len() + 3 {
                for end in 0..text.len() + 3 {
                    let rendered = at(text, start, end).render();
                    assert!(
                        rendered.contains("model.xml:") && rendered.contains('^'),
                        "{text:?} {start} {end}"
                    );
                    assert!(!rendered.contains(['\u{202e}', '\u{0}', '\r']), "{text:?}");
                }
            }
        }
        let diagnostic = at("x", usize::MAX, 0);
        assert!(diagnostic.render().contains("model.xml:1:2"));
        assert_eq!(Diagnostic::error(Origin::Token(7), "a").render(), "error: a\n");
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let text = format!("{}\"here\"{}", "x".repeat(100_000), "y".repeat(100_000));
        let rendered = at(&text, 100_000, 100_006).render();
        assert!(rendered.len() < 700, "{}", rendered.len());
        assert!(rendered.contains("model.xml:1:100001"));
        assert!(rendered.contains("xxx\"here\"yyy"));
        let rendered = at(&text, 0, text.len()).render();
        assert!(rendered.len() < 800, "{}", rendered.len());
    }

    #[test]
    fn nothing_of_the_input_controls_the_terminal() {
        let name = "\u{1b}[31m\u{202e}\n*/ \u{2066}";
        let diagnostic =
            Diagnostic::error(Origin::Unknown, format!("the name {}", quoted(name))).layer(name);
        assert_eq!(
            diagnostic.render(),
            "error: the name \"\\u{1b}[31m\\u{202e}\\u{a}*/ \\u{2066}\"\n \
             = layer: \\u{1b}[31m\\u{202e}\\u{a}*/ \\u{2066}\n"
        );
        assert!(Diagnostic::error(Origin::Unknown, "x".repeat(1_000_000)).render().len() < 2100);
    }

    #[test]
    fn errors_come_first_and_the_rest_is_counted() {
        let mut diagnostics = Diagnostics::default();
        for i in 0..40 {
            diagnostics.push(Diagnostic::warning(Origin::Unknown, format!("warning {i}")));
            diagnostics.push(Diagnostic::error(Origin::Unknown, format!("error {i}")));
        }
        let text = diagnostics.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 51);
        assert_eq!(lines[0], "error: error 0");
        assert_eq!(lines[39], "error: error 39");
        assert_eq!(lines[40], "warning: warning 0");
        assert_eq!(lines[50], "and 30 more problems");
    }

    #[test]
    fn a_problem_is_said_once() {
        let mut diagnostics = Diagnostics::default();
        for text in ["one", "other", "one"] {
            diagnostics.push(Diagnostic::error(Origin::Unknown, text));
        }
        assert_eq!(diagnostics.to_string(), "error: one\nerror: other\n");
    }

    #[test]
    fn a_flood_of_problems_is_bounded_and_stays_a_refusal() {
        let mut diagnostics = Diagnostics::default();
        for i in 0..100_000 {
            diagnostics.push(Diagnostic::warning(Origin::Unknown, format!("{i}")));
        }
        assert!(!diagnostics.has_errors());
        diagnostics.push(Diagnostic::error(Origin::Unknown, "the one that counts"));
        assert!(diagnostics.has_errors());
        assert_eq!(diagnostics.0.len(), Diagnostics::MOST + 1);
        assert!(
            diagnostics
                .to_string()
                .starts_with("error: more than 1000 problems; the rest is not listed\n")
        );
    }
}
