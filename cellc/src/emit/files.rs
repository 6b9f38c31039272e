//! The output files: formatted Rust, or C, with a header comment, and large weights in a separate
//! file.

use std::sync::Arc;

use super::text::{COLUMNS, FORMATTED};
use super::weights::{Tail, weights_file};
use super::{Contents, c, items, rust, weights};
use crate::request::{Language, WeightsAs};

/// A file of the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputFile {
    /// The name: the requested stem and an extension.
    pub name: String,
    /// The contents.
    pub bytes: Arc<Vec<u8>>,
}

/// By default, weights up to this size in bytes are in the source. C without extensions cannot
/// include a file: weights of any size are in the source.
const INLINE_LIMIT: usize = 1 << 20;

/// True if the weights are in the source.
pub(crate) fn is_inline(contents: &Contents<'_>) -> bool {
    match contents.options.output.weights_as {
        WeightsAs::Auto if contents.options.c_only() => true,
        WeightsAs::Auto => contents.packed.bytes.len() <= INLINE_LIMIT,
        WeightsAs::Inline | WeightsAs::RunTime => true,
        WeightsAs::File => contents.packed.bytes.is_empty(),
    }
}

/// The output files, in order of writing: weights first, the source last.
pub(crate) fn files(contents: &Contents<'_>, stem: &str) -> Vec<OutputFile> {
    let mut files = Vec::new();
    if !is_inline(contents) {
        let language = contents.options.output.language;
        let weights = &contents.packed.bytes;
        let bytes = Arc::new(Tail::new(weights, language).file(weights));
        files.push(OutputFile { name: weights_file(stem, language), bytes });
    }
    match contents.options.output.language {
        Language::Rust => {
            let text = rust(contents, stem);
            files.push(OutputFile {
                name: format!("{stem}.rs"),
                bytes: Arc::new(text.into_bytes()),
            });
        }
        Language::C => {
            let file = c::CFile { contents, stem, inline: is_inline(contents) };
            files.push(OutputFile {
                name: format!("{stem}.h"),
                bytes: Arc::new(file.header().into_bytes()),
            });
            files.push(OutputFile {
                name: format!("{stem}.c"),
                bytes: Arc::new(file.source().into_bytes()),
            });
        }
    }
    files
}

/// The Rust source: header comment, then the items, formatted.
fn rust(contents: &Contents<'_>, stem: &str) -> String {
    let items = items(contents, rust::Form::Macros);
    let (items, comments) = hide_comments(&items);
    let file = syn::parse_file(&items).expect("emit: generated Rust parses");
    let items = show_comments(&prettyplease::unparse(&file), &comments);
    // repeated: a list fits on a line only after an earlier pass has joined the lists inside
    let items =
        wrapped(&broken(&compact(&compact(&compact(&joined_lists(&joined_lists(&items)))))));
    let mut text = String::new();
    for line in contents.header {
        text.push_str(if line.is_empty() { "//" } else { "// " });
        text.push_str(line);
        text.push('\n');
    }
    text.push('\n');
    match items.split_once(rust::WEIGHTS) {
        None => text.push_str(&items),
        Some((before, after)) => {
            text.push_str(before);
            if is_inline(contents) {
                text.push('*');
                weights::byte_string(&contents.packed.bytes, &mut text);
            } else {
                text.push_str(&weights::included(
                    &contents.packed.bytes,
                    &weights_file(stem, Language::Rust),
                ));
            }
            text.push_str(after);
        }
    }
    text
}

/// The placeholder of a comment inside a function during formatting: prettyplease drops comments.
const COMMENT: &str = "cellc_comment!(";

/// Replaces comment lines and formatted lines by numbered calls of [`COMMENT`].
fn hide_comments(items: &str) -> (String, Vec<&str>) {
    let mut comments = Vec::new();
    let mut text = String::with_capacity(items.len());
    for line in items.lines() {
        let comment = line.trim_start();
        if comment.starts_with("// ") || comment.starts_with(FORMATTED) {
            text.push_str(&format!("{COMMENT}{});", comments.len()));
            comments.push(comment.strip_prefix(FORMATTED).unwrap_or(comment));
        } else {
            text.push_str(line);
        }
        text.push('\n');
    }
    (text, comments)
}

/// Joins lists to one line each, up to [`COLUMNS`]: prettyplease breaks lists earlier.
fn joined_lists(items: &str) -> String {
    let mut text = String::with_capacity(items.len());
    let lines: Vec<&str> = items.lines().collect();
    let mut at = 0;
    while at < lines.len() {
        match joined(&lines[at..]) {
            Some(rewritten) => {
                text.push_str(&rewritten.text);
                at += rewritten.lines;
            }
            None => {
                text.push_str(lines[at]);
                at += 1;
            }
        }
        text.push('\n');
    }
    text
}

/// The first of some lines of code in another form.
struct Rewritten {
    /// The lines in the other form, without the last line break.
    text: String,
    /// The number of replaced lines.
    lines: usize,
}

/// The list that begins at the end of the first line, joined to one line.
fn joined(lines: &[&str]) -> Option<Rewritten> {
    let first = lines[0];
    let indent = |line: &str| line.len() - line.trim_start().len();
    let (close, most) = match first {
        _ if first.trim_start().starts_with("//") => return None,
        // [`broken`] breaks a longer line behind its pattern
        _ if first.ends_with("::<") => ('>', 2 * COLUMNS),
        _ if first.ends_with('<') => ('>', COLUMNS),
        // a record as an argument
        _ if first.trim_start().starts_with('&') && first.ends_with(" {") => ('}', COLUMNS),
        // pairs and groups keep their form
        _ if first.ends_with('(') && !first.ends_with(" (") && !first.ends_with("((") => {
            (')', COLUMNS)
        }
        _ => return None,
    };
    let mut line = first.to_owned();
    for (nth, element) in lines.iter().enumerate().skip(1) {
        let part = element.trim_start();
        if indent(element) == indent(first) && part.starts_with(close) {
            line.push_str(if close == '}' { " " } else { "" });
            line.push_str(part);
            return (line.len() <= most).then_some(Rewritten { text: line, lines: nth + 1 });
        }
        let is_last = lines.get(nth + 1).is_some_and(|next| indent(next) == indent(first));
        let is_one = indent(element) == indent(first) + 4
            && !part.starts_with("//")
            && (is_last || part.ends_with(','));
        if !is_one || line.len() > most {
            return None;
        }
        line.push_str(if nth > 1 || close == '}' { " " } else { "" });
        line.push_str(if is_last { part.trim_end_matches(',') } else { part });
    }
    None
}

/// Puts statements and lists that prettyplease breaks over many lines on as few lines as possible.
fn compact(items: &str) -> String {
    let mut text = String::with_capacity(items.len());
    let lines: Vec<&str> = items.lines().collect();
    let mut at = 0;
    while at < lines.len() {
        let rewritten = on_one_line(&lines[at..])
            .or_else(|| block(&lines[at..]))
            .or_else(|| record(&lines[at..]))
            .or_else(|| imports(&lines[at..]))
            .or_else(|| unsafe_arm(&lines[at..]))
            .or_else(|| filled(&lines[at..]))
            .or_else(|| receiver(&lines[at..]))
            .or_else(|| chain(&lines[at..]))
            .unwrap_or_else(|| Rewritten { text: lines[at].to_owned(), lines: 1 });
        text.push_str(&rewritten.text);
        text.push('\n');
        at += rewritten.lines;
    }
    with_attributes(&text)
}

/// Puts short attributes in front of items that take one line.
fn with_attributes(items: &str) -> String {
    let is_short = |line: &str| {
        let attribute = line.trim_start();
        ["#[cfg(", "#[inline", "#[must_use]"].iter().any(|start| attribute.starts_with(start))
            && attribute.ends_with(']')
    };
    let mut lines: Vec<String> = Vec::new();
    for line in items.lines().rev() {
        let fits = |next: &&mut String| {
            let item = next.trim_start();
            indent(next) == indent(line)
                && !is_kept(next)
                && (item.ends_with([',', ';']) || item.ends_with('}') && item.contains('{'))
                && line.len() + 1 + item.len() <= COLUMNS
        };
        match lines.last_mut().filter(fits) {
            Some(next) if is_short(line) => *next = format!("{line} {}", next.trim_start()),
            _ => lines.push(line.to_owned()),
        }
    }
    lines.iter().rev().flat_map(|line| [line, "\n"]).collect()
}

/// A function with a body of one line, a value that is a block of one expression, or a conditional
/// jump, on one line.
fn block(lines: &[&str]) -> Option<Rewritten> {
    let (first, start) = (lines[0], lines[0].trim_start());
    let is_function = ["fn ", "pub fn ", "pub const fn ", "pub(super) fn "]
        .iter()
        .any(|head| start.starts_with(head));
    let is_value = ["let ", "const {"].iter().any(|head| start.starts_with(head));
    let is_jump = start.starts_with("if ")
        && lines.get(1).is_some_and(|jump| {
            ["return ", "break;"].iter().any(|word| jump.trim_start().starts_with(word))
        });
    let is_braced = is_function || is_jump;
    if is_kept(first) || !first.ends_with('{') || !(is_braced || is_value) {
        return None;
    }
    let mut line = first.to_owned();
    for (nth, next) in lines.iter().enumerate().skip(1) {
        let part = next.trim_start();
        let is_end = indent(next) == indent(first) && part == if is_braced { "}" } else { "};" };
        let is_else = is_value && indent(next) == indent(first) && part == "} else {";
        let is_body = indent(next) == indent(first) + 4 && !part.ends_with('{');
        let is_one = if is_braced { nth == 1 } else { !part.ends_with(';') };
        if is_kept(next) || !(is_end || is_else || is_body && is_one) {
            return None;
        }
        line.extend([" ", part]);
        if line.len() > COLUMNS {
            return None;
        }
        if is_end {
            return (nth > 1).then_some(Rewritten { text: line, lines: nth + 1 });
        }
    }
    None
}

/// Columns of a line's indentation.
fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// True if a line closes a list that began on a line with equal indentation.
fn closes(line: &str) -> bool {
    line.trim_start().starts_with([')', '>', ']'])
}

/// True if a line can neither begin nor continue a statement on one line.
fn is_kept(line: &str) -> bool {
    line.is_empty() || line.contains("//") || line.trim_start().starts_with('#')
}

/// The statement that begins with the first line, on one line. `None` if the statement is too long
/// or on one line already.
fn on_one_line(lines: &[&str]) -> Option<Rewritten> {
    let first = lines[0];
    if is_kept(first) || first.ends_with(['{', ';', ',']) {
        return None;
    }
    let mut line = first.to_owned();
    let mut count = 1;
    for next in &lines[1..] {
        let is_closer = indent(next) == indent(first) && closes(next);
        let opens = next.trim_start() == "{" && indent(next) == indent(first);
        if is_kept(next) || !(indent(next) > indent(first) || is_closer || opens && count > 1) {
            break;
        }
        let part = next.trim_start();
        if part.starts_with('}') || part.ends_with('{') && !is_closer && !opens {
            return None;
        }
        if closes(next) && line.ends_with(',') {
            line.pop();
        }
        let is_tight = line.ends_with(['(', '[']) || line.ends_with("::<");
        let is_attached = part.starts_with(['.', '?']) || closes(next);
        line.push_str(if is_tight || is_attached { "" } else { " " });
        line.push_str(part);
        count += 1;
        if line.len() > COLUMNS {
            return None;
        }
        if opens || part.ends_with([';', '{']) {
            break;
        }
    }
    (count > 1).then_some(Rewritten { text: line, lines: count })
}

/// The list that begins at the end of the first line, with several elements on each line.
fn filled(lines: &[&str]) -> Option<Rewritten> {
    let first = lines[0];
    let is_list = first.ends_with(['(', '<', '['])
        && (first.ends_with(" = (") || ![" (", "((", " <"].iter().any(|end| first.ends_with(end)));
    if is_kept(first) || !is_list {
        return None;
    }
    let margin = indent(first) + 4;
    let end = 1 + lines[1..].iter().position(|line| indent(line) < margin)?;
    let elements = &lines[1..end];
    let is_element = |line: &&str| indent(line) == margin && !is_kept(line) && line.ends_with(',');
    let closed = indent(lines[end]) == indent(first) && closes(lines[end]);
    if !closed || elements.len() < 2 || !elements.iter().all(is_element) {
        return None;
    }
    let mut filled_lines = vec![first.to_owned()];
    let mut line = String::new();
    for element in elements.iter().map(|element| element.trim_start()) {
        if !line.is_empty() && margin + line.len() + 1 + element.len() > COLUMNS {
            filled_lines.push(format!("{:margin$}{line}", ""));
            line.clear();
        }
        line.push_str(if line.is_empty() { "" } else { " " });
        line.push_str(element);
    }
    filled_lines.push(format!("{:margin$}{line}", ""));
    Some(Rewritten { text: filled_lines.join("\n"), lines: end })
}

/// The calls of methods that begin with the first line, with several calls on each line.
fn chain(lines: &[&str]) -> Option<Rewritten> {
    let is_call = |line: &&&str| {
        let call = line.trim_start();
        indent(line) == indent(lines[0])
            && call.starts_with('.')
            && !is_kept(line)
            && !call.ends_with(['(', '{', '|'])
    };
    let count = lines.iter().take_while(is_call).count();
    let mut chained: Vec<String> = Vec::new();
    for line in &lines[..count] {
        let call = line.trim_start();
        match chained.last_mut().filter(|last| last.len() + call.len() <= COLUMNS) {
            Some(last) => last.push_str(call),
            None => chained.push((*line).to_owned()),
        }
    }
    (count > chained.len()).then(|| Rewritten { text: chained.join("\n"), lines: count })
}

/// An import of several names on as few lines as possible.
fn imports(lines: &[&str]) -> Option<Rewritten> {
    let first = lines[0];
    if !first.trim_start().starts_with("use ") || !first.ends_with("::{") {
        return None;
    }
    let end = lines.iter().position(|line| line.trim_start() == "};")?;
    let names: Vec<_> = lines[1..end].iter().map(|line| line.trim_start()).collect();
    let line = format!("{first}{}}};", names.join(" ").trim_end_matches(','));
    (line.len() <= COLUMNS).then_some(Rewritten { text: line, lines: end + 1 })
}

/// An arm of a match whose block is one unsafe call: the comment of the call, then the arm without
/// a block.
fn unsafe_arm(lines: &[&str]) -> Option<Rewritten> {
    let [first, comment, call, end, ..] = lines else { return None };
    let is_block = first.ends_with(" => {") && end.trim_start() == "}";
    let is_call = comment.trim_start().starts_with("// SAFETY: ")
        && call.trim_start().starts_with("unsafe { ")
        && call.ends_with(" }");
    let line = format!("{} {},", first.trim_end_matches(" {"), call.trim_start());
    let margin = indent(first);
    let text = format!("{:margin$}{}\n{line}", "", comment.trim_start());
    (is_block && is_call && line.len() <= COLUMNS).then_some(Rewritten { text, lines: 4 })
}

/// Calls of methods behind their receiver, as many as the line of the receiver holds. The arguments
/// of one call may have lines of their own.
fn receiver(lines: &[&str]) -> Option<Rewritten> {
    let first = lines[0];
    let margin = indent(first) + 4;
    let is_call = |line: &&&str| {
        indent(line) == margin && line.trim_start().starts_with('.') && !is_kept(line)
    };
    let is_open = |line: &str| line.ends_with(['(', '{', '[', '<', ',', ';', '|', '&', '=']);
    let on_a_line = |from: usize| {
        lines[from..].iter().take_while(|line| is_call(line) && !line.ends_with(['(', '{', '|']))
    };
    if is_kept(first) || is_open(first) {
        return None;
    }
    let before = on_a_line(1).count();
    let joined = |from: &str, calls: &[&str]| {
        let calls = calls.iter().map(|call| call.trim_start());
        [from].into_iter().chain(calls).collect::<String>()
    };
    let opens = lines.get(before + 1).filter(|line| is_call(line) && line.ends_with('('));
    let Some(_) = opens else {
        let most = (1..=before).rev();
        let fits = |count: &usize| joined(first, &lines[1..=*count]).len() <= COLUMNS;
        let is_chain = !lines.get(before + 1).is_some_and(|next| is_call(&next));
        let count = most.into_iter().find(fits).filter(|_| is_chain)?;
        return Some(Rewritten { text: joined(first, &lines[1..=count]), lines: count + 1 });
    };
    let head = joined(first, &lines[1..=before + 1]);
    let end = lines.iter().skip(before + 2).position(|line| indent(line) <= margin)? + before + 2;
    let after = on_a_line(end + 1).count();
    let tail = joined(lines[end].get(4..)?, &lines[end + 1..=end + after]);
    let is_closed = indent(lines[end]) == margin
        && lines[end].trim_start().starts_with(')')
        && (after == 0 || lines[end].trim_start() == ")")
        && !lines.get(end + after + 1).is_some_and(|next| is_call(&next));
    if !is_closed || head.len().max(tail.len()) > COLUMNS {
        return None;
    }
    let arguments = lines[before + 2..end].iter().map(|line| line.get(4..).unwrap_or_default());
    let replaced: Vec<_> = [&*head].into_iter().chain(arguments).chain([&*tail]).collect();
    Some(Rewritten { text: replaced.join("\n"), lines: end + after + 1 })
}

/// A value of a struct on one line.
fn record(lines: &[&str]) -> Option<Rewritten> {
    let start = lines[0].trim_start();
    let is_value = start.strip_suffix(" {").is_some_and(|name| {
        name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.chars().all(|c| c.is_ascii_alphanumeric())
    });
    let end = lines.iter().position(|line| line.trim_start() == "}")?;
    let is_field = |line: &&str| indent(line) == indent(lines[0]) + 4 && line.ends_with(',');
    if !is_value || end < 2 || !lines[1..end].iter().all(is_field) {
        return None;
    }
    let fields: Vec<_> = lines[1..end].iter().map(|line| line.trim_start()).collect();
    let line = format!("{} {} }}", lines[0], fields.join(" ").trim_end_matches(','));
    let is_closed =
        indent(lines[end]) == indent(lines[0]) && !lines[1..end].iter().any(|l| is_kept(l));
    (is_closed && line.len() <= COLUMNS).then_some(Rewritten { text: line, lines: end + 1 })
}

/// Breaks long lines of code, as prettyplease breaks neither patterns nor arguments of paths.
fn broken(items: &str) -> String {
    let mut text = String::with_capacity(items.len());
    for line in items.lines() {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        let mut rest = if code.starts_with("//") { String::new() } else { line.to_owned() };
        while let Some(at) = break_of(&rest, indent) {
            text.extend([rest[..at].trim_end(), "\n"]);
            rest = format!("{:1$}{2}", "", indent + 4, rest[at..].trim_start());
        }
        text.push_str(if rest.is_empty() { line } else { &rest });
        text.push('\n');
    }
    text
}

/// The place at which a long line of code is broken: behind a pattern if the rest fits a line, else
/// behind an argument, else before a method or in front of an argument.
fn break_of(line: &str, indent: usize) -> Option<usize> {
    if line.len() <= COLUMNS || line.contains('"') {
        return None;
    }
    let fits = |at: &usize| indent + 4 + line.len() - at <= COLUMNS;
    let pattern = [" = ", " in "].iter().filter_map(|end| Some(line.find(end)? + end.len()));
    let within = |at: &usize| *at > indent + 4 && *at <= COLUMNS;
    let last = |end: &str, behind: usize| {
        line.match_indices(end).map(|(at, _)| at + behind).filter(within).last()
    };
    pattern
        .filter(within)
        .find(fits)
        .or_else(|| last(", ", 2))
        .or_else(|| last(".", 0))
        .or_else(|| last("(", 1))
}

/// Wraps long comments.
fn wrapped(items: &str) -> String {
    let mut text = String::with_capacity(items.len());
    for line in items.lines() {
        let comment = line.trim_start();
        let indent = &line[..line.len() - comment.len()];
        let marker = ["/// ", "// "].into_iter().find(|marker| comment.starts_with(marker));
        match marker.filter(|_| line.len() > COLUMNS) {
            None => text.push_str(line),
            Some(marker) => {
                let start = format!("{indent}{marker}");
                let mut len = 0;
                for word in comment[marker.len()..].split(' ') {
                    let separator = if len == 0 {
                        start.as_str()
                    } else if len + 1 + word.len() > COLUMNS {
                        len = 0;
                        text.push('\n');
                        start.as_str()
                    } else {
                        " "
                    };
                    text.push_str(separator);
                    text.push_str(word);
                    len += separator.len() + word.len();
                }
            }
        }
        text.push('\n');
    }
    text
}

/// Replaces the calls of [`COMMENT`] by the comments.
fn show_comments(items: &str, comments: &[&str]) -> String {
    let mut text = String::with_capacity(items.len());
    for line in items.lines() {
        let call = line.trim_start();
        let number = call
            .strip_prefix(COMMENT)
            .and_then(|rest| rest.strip_suffix(");")?.parse::<usize>().ok());
        match number {
            Some(number) => {
                text.push_str(&line[..line.len() - call.len()]);
                text.push_str(comments[number]);
            }
            None => text.push_str(line),
        }
        text.push('\n');
    }
    text
}
