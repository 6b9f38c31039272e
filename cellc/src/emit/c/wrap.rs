//! Line breaks in long statements, comments and preprocessor lines of generated C.

/// The longest line.
pub(super) const COLUMNS: usize = 100;

/// A text with every long line broken into several.
pub(super) fn file(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut in_comment, mut in_directive) = (false, false);
    // the words that the next line of a comment begins with
    let mut carried = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        let is_comment = in_comment || code.starts_with("/*");
        if !carried.is_empty() {
            let words = code.trim_start_matches("* ");
            let joined = format!("* {} {words}", std::mem::take(&mut carried));
            carried = comment(&mut out, indent, &joined, lines.peek());
            in_comment = !code.contains("*/");
            continue;
        }
        let is_directive = in_directive || !is_comment && code.starts_with('#');
        if line.len() <= COLUMNS {
            out.extend([line, "\n"]);
        } else if is_comment {
            carried = comment(&mut out, indent, code, lines.peek());
        } else {
            let (code, remark) = remarked(code);
            if let Some(remark) = remark.filter(|_| !in_directive) {
                comment(&mut out, indent, remark, None);
            }
            match is_directive {
                true => directive(&mut out, indent, code),
                false => statement(&mut out, indent, code),
            }
        }
        in_comment = is_comment && !code.contains("*/");
        in_directive = is_directive && line.ends_with('\\');
    }
    out
}

/// A text with every function of one short statement on one line. No empty line separates such
/// functions from each other.
pub(super) fn short_functions(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut out = String::with_capacity(text.len());
    let (mut at, mut follows) = (0, false);
    while at < lines.len() {
        let rest = &lines[at..];
        if let Some(function) = short_function(rest) {
            out.extend([&*function, "\n"]);
            (at, follows) = (at + 3, true);
            continue;
        }
        let remark = rest.get(1).filter(|line| line.starts_with("/*") && line.ends_with("*/"));
        let next = if remark.is_some() { 2 } else { 1 };
        let is_space = rest[0].is_empty() && follows;
        if is_space && rest.get(next..).and_then(short_function).is_some() {
            out.extend(remark.into_iter().flat_map(|remark| [*remark, "\n"]));
            at += next;
            continue;
        }
        out.extend([rest[0], "\n"]);
        (at, follows) = (at + 1, false);
    }
    out
}

/// The function that begins with the first of these lines, if its one statement fits on its line.
fn short_function(lines: &[&str]) -> Option<String> {
    let [head, statement, "}", ..] = lines else { return None };
    let code = statement.strip_prefix("    ")?;
    let is_head = head.starts_with(|c: char| c.is_ascii_alphabetic()) && head.ends_with(") {");
    let is_statement = code.starts_with(|c: char| c.is_ascii_alphabetic() || c == '*' || c == '(')
        && code.ends_with(';')
        && !["for", "if", "while", "switch", "do"].iter().any(|word| code.starts_with(word));
    let line = format!("{head} {code} }}");
    (is_head && is_statement && line.len() <= COLUMNS).then_some(line)
}

/// A line of code, and the comment at its end.
fn remarked(code: &str) -> (&str, Option<&str>) {
    match masked(code).find("/*").filter(|_| code.ends_with("*/")) {
        Some(at) => (code[..at].trim_end(), Some(&code[at..])),
        None => (code, None),
    }
}

/// Appends a line of a comment, with breaks between words. Returns the words after the last break
/// if the next line continues their sentence; they are not appended then.
fn comment(out: &mut String, indent: usize, text: &str, next_line: Option<&&str>) -> String {
    let continues = |line: &&str| {
        let words = line.trim_start().strip_prefix("* ");
        words.is_some_and(|words| words.starts_with(|c: char| c.is_ascii_lowercase()))
    };
    let spaces = " ".repeat(indent);
    let next = if text.starts_with("/*") { " * " } else { "* " };
    let (mut begin, mut rest) = ("", text);
    while indent + begin.len() + rest.len() > COLUMNS {
        let limit = COLUMNS - indent - begin.len();
        // no break behind the sign of the comment
        let Some(at) = rest[..=limit].rfind(' ').filter(|at| *at > 3) else { break };
        // the sign that ends the comment follows a word
        let is_sign = rest[at..].trim() == "*/";
        let at = rest[..at].rfind(' ').filter(|at| is_sign && *at > 3).unwrap_or(at);
        out.extend([&*spaces, begin, &rest[..at], "\n"]);
        (begin, rest) = (next, rest[at..].trim_start());
    }
    let is_inside = !begin.is_empty() && !rest.ends_with(['.', ':', ';', '/']);
    if is_inside && next_line.is_some_and(continues) {
        return rest.to_owned();
    }
    out.extend([&*spaces, begin, rest, "\n"]);
    String::new()
}

/// Appends a preprocessor line. A long `#error` becomes several; other long lines end in a
/// backslash and continue on the next line.
fn directive(out: &mut String, indent: usize, text: &str) {
    const ERROR: &str = "#error \"";
    let spaces = " ".repeat(indent);
    if let Some(message) = text.strip_prefix(ERROR) {
        let mut rest = message;
        while ERROR.len() + rest.len() > COLUMNS {
            let limit = COLUMNS - ERROR.len() - 1;
            let Some(at) = rest[..=limit].rfind(' ') else { break };
            out.extend([ERROR, &rest[..at], "\"\n"]);
            rest = &rest[at + 1..];
        }
        out.extend([ERROR, rest, "\n"]);
        return;
    }
    let (body, end) = match text.strip_suffix('\\') {
        Some(body) => (body.trim_end(), " \\"),
        None => (text, ""),
    };
    let (mut begin, mut rest) = ("", body);
    while indent + begin.len() + rest.len() + end.len() > COLUMNS {
        let limit = COLUMNS - indent - begin.len() - 2;
        let Some(at) = masked(rest)[..=limit].rfind(' ').filter(|at| *at > 0) else { break };
        out.extend([&*spaces, begin, &rest[..at], " \\\n"]);
        (begin, rest) = ("    ", &rest[at + 1..]);
    }
    out.extend([&*spaces, begin, rest, end, "\n"]);
}

/// A text with `_` in place of every byte between quotation marks or outside ASCII.
fn masked(text: &str) -> String {
    let mut quote = None;
    let mut escaped = false;
    let mask = |c: u8| {
        let inside = quote.is_some();
        match quote {
            _ if escaped => escaped = false,
            Some(_) if c == b'\\' => escaped = true,
            Some(end) if c == end => quote = None,
            None if matches!(c, b'"' | b'\'') => quote = Some(c),
            _ => {}
        }
        if inside || !c.is_ascii() { '_' } else { char::from(c) }
    };
    text.bytes().map(mask).collect()
}

/// A text with long statements broken into several lines. Comments and preprocessor lines stay
/// unchanged.
pub(super) fn lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut continues = false;
    for line in text.lines() {
        let code = line.trim_start();
        let is_code = !continues && !["#", "/*", "* "].iter().any(|start| code.starts_with(start));
        continues = line.ends_with('\\');
        match is_code && line.len() > COLUMNS {
            true => statement(&mut out, line.len() - code.len(), code),
            false => out.extend([line, "\n"]),
        }
    }
    out
}

/// Appends a statement. In a long statement, the longest argument list moves to a separate line, or
/// to one line per argument.
fn statement(out: &mut String, indent: usize, text: &str) {
    let group = if indent + text.len() <= COLUMNS { None } else { longest_group(text) };
    match group {
        None => pieces(out, indent, text),
        Some((open, _)) if !is_call(text, open) && operators(out, indent, text) => {}
        Some((open, close)) if text[close..] == *");" && two_lines(out, indent, (text, open)) => {}
        Some((open, close)) => {
            statement(out, indent, &text[..=open]);
            let inside = text[open + 1..close].trim();
            match indent + 4 + inside.len() <= COLUMNS {
                true => statement(out, indent + 4, inside),
                false => list(out, indent + 4, &arguments(inside)),
            }
            statement(out, indent, &text[close..]);
        }
    }
}

/// True if the parenthesis or brace at `open` begins a list of arguments or values.
fn is_call(text: &str, open: usize) -> bool {
    let before = text[..open].chars().next_back();
    !text[open..].starts_with('(') || before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Appends a call on two lines, with the break between two arguments. Returns false, and appends
/// nothing, if two lines are too short.
fn two_lines(out: &mut String, indent: usize, (text, open): (&str, usize)) -> bool {
    let mut at = open + 1;
    let ends = arguments(&text[open + 1..text.len() - 2]).into_iter().map(|argument| {
        at += argument.len();
        at
    });
    let fits = |at: &usize| {
        indent + at <= COLUMNS && indent + 4 + text[*at..].trim_start().len() <= COLUMNS
    };
    let Some(at) = ends.filter(fits).last().filter(|at| text[..*at].ends_with(',')) else {
        return false;
    };
    let spaces = " ".repeat(indent);
    out.extend([&*spaces, &text[..at], "\n", &*spaces, "    ", text[at..].trim_start(), "\n"]);
    true
}

/// Appends an expression on two lines, with the break before an operator outside parentheses.
/// Returns false, and appends nothing, if two lines are too short.
fn operators(out: &mut String, indent: usize, text: &str) -> bool {
    let (mut depth, mut breaks) = (0, Vec::new());
    let masked = masked(text);
    for (at, c) in masked.bytes().enumerate() {
        match c {
            b'(' | b'{' => depth += 1,
            b')' | b'}' => depth -= 1,
            b' ' if depth == 0 && indent + at <= COLUMNS => {
                let is_operator = |sign: &&str| masked[at..].starts_with(&format!(" {sign} "));
                breaks.extend(["+", "-", "*"].iter().any(is_operator).then_some(at));
            }
            _ => {}
        }
    }
    let rest = |at: &usize| indent + 4 + text[*at..].trim_start().len() <= COLUMNS;
    let Some(at) = breaks.into_iter().rev().find(rest) else { return false };
    let spaces = " ".repeat(indent);
    out.extend([&*spaces, &text[..at], "\n", &*spaces, "    ", text[at..].trim_start(), "\n"]);
    true
}

/// Appends a statement without long argument lists, with breaks after semicolons, commas and
/// operands.
fn pieces(out: &mut String, indent: usize, text: &str) {
    let spaces = " ".repeat(indent);
    let (mut begin, mut rest) = ("", text);
    while indent + begin.len() + rest.len() > COLUMNS {
        let limit = COLUMNS - indent - begin.len();
        let masked = masked(rest);
        let last = |sign: &str| masked[..limit].rfind(sign).map(|at| at + sign.trim_end().len());
        let before = |sign: &str| masked[..limit].rfind(sign);
        let Some(at) = last("; ")
            .or_else(|| last(", "))
            .or_else(|| before(" && ").max(before(" || ")))
            .or_else(|| ["+", "-", "*"].iter().filter_map(|s| before(&format!(" {s} "))).max())
        else {
            break;
        };
        let is_end = rest[..at].ends_with(';');
        out.extend([&*spaces, begin, &rest[..at], "\n"]);
        (begin, rest) = (if is_end { "" } else { "    " }, rest[at..].trim_start());
    }
    out.extend([&*spaces, begin, rest, "\n"]);
}

/// Appends arguments, which fill lines. An argument longer than a line has lines of its own.
fn list(out: &mut String, indent: usize, arguments: &[&str]) {
    let mut line = String::new();
    for argument in arguments.iter().map(|argument| argument.trim()) {
        if !line.is_empty() && indent + line.len() + 1 + argument.len() > COLUMNS {
            statement(out, indent, &std::mem::take(&mut line));
        }
        line.extend([if line.is_empty() { "" } else { " " }, argument]);
    }
    statement(out, indent, &line);
}

/// The offsets of the longest outermost pair of parentheses or braces.
fn longest_group(text: &str) -> Option<(usize, usize)> {
    let mut depth = 0;
    let mut open = 0;
    let mut longest = None;
    for (at, c) in masked(text).bytes().enumerate() {
        match c {
            b'(' | b'{' => {
                if depth == 0 {
                    open = at;
                }
                depth += 1;
            }
            b')' | b'}' if depth > 0 => {
                depth -= 1;
                let length = |(open, close): (usize, usize)| close - open;
                if depth == 0 && longest.is_none_or(|l| length(l) < at - open) {
                    longest = Some((open, at));
                }
            }
            _ => {}
        }
    }
    // breaking `(x)` gains nothing
    longest.filter(|(open, close)| close - open > 8)
}

/// The arguments of a list, each with its comma.
fn arguments(list: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, c) in masked(list).bytes().enumerate() {
        match c {
            b'(' | b'{' => depth += 1,
            b')' | b'}' => depth -= 1,
            b',' if depth == 0 => {
                found.push(&list[start..=at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&list[start..]);
    found
}

#[cfg(test)]
mod tests {
    use super::{COLUMNS, file, lines, short_functions};

    #[test]
    fn every_kind_of_line_is_broken() {
        let word = "word ".repeat(30);
        for text in [
            format!("/* {word}*/\n"),
            format!("/* A comment\n * {word}\n * ends. */\n"),
            format!("#error \"{word}\"\n"),
            format!("#if a{}\n", " && defined(b)".repeat(12)),
            format!("#define A(x) \\\n    f({word}); \\\n    g(x)\n"),
            format!("    const int x = {{{}}}; /* {word}*/\n", ".a = a, ".repeat(20)),
            format!("    a = b{};\n", " + b * c".repeat(20)),
        ] {
            let broken = file(&text);
            assert!(broken.lines().all(|line| line.len() <= COLUMNS), "{broken}");
            let words = |text: &str| {
                let text = text.replace("#error", "").replace(" * ", " ");
                text.split(|c: char| c.is_whitespace() || "\\\"/*{}".contains(c))
                    .filter(|word| !word.is_empty())
                    .map(str::to_owned)
                    .collect::<std::collections::BTreeSet<_>>()
            };
            assert_eq!(words(&broken), words(&text));
            assert_eq!(file(&broken), broken);
        }
    }

    #[test]
    fn functions_of_one_short_statement_are_one_line() {
        let wrapped =
            |name: &str, statement: &str| format!("int {name}(int a) {{\n    {statement}\n}}\n");
        let (f, g) = (wrapped("f", "return a;"), wrapped("g", "return -a;"));
        assert_eq!(
            short_functions(&format!("{f}\n/* -a */\n{g}\nint b;\n")),
            "int f(int a) { return a; }\n/* -a */\nint g(int a) { return -a; }\n\nint b;\n"
        );
        let long = wrapped("f", &format!("return {};", "a + ".repeat(30) + "a"));
        for text in [long, wrapped("f", "if (a) return 1;"), "x = {\n    1,\n}\n".to_owned()] {
            assert_eq!(short_functions(&text), text);
        }
    }

    #[test]
    fn long_calls_are_broken_and_short_ones_are_not() {
        assert_eq!(lines("    a = f(b, c);\n\n}\n"), "    a = f(b, c);\n\n}\n");
        let long = "x".repeat(70);
        let expected = format!(
            "    a = f(\n        g(\n            {long},\n            {long}\n        ),\n        \
             (u)c\n    );\n"
        );
        assert_eq!(lines(&format!("    a = f(g({long}, {long}), (u)c);\n")), expected);
        let comment = format!("    /* of {long} ({long}) */\n");
        assert_eq!(lines(&comment), comment);
    }
}
