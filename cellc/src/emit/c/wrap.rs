//! Line breaks in argument lists of long statements.

/// The longest line.
pub(super) const COLUMNS: usize = 118;

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
        None => {
            out.extend(std::iter::repeat_n(' ', indent));
            out.push_str(text);
            out.push('\n');
        }
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

/// Appends arguments, one per line. Many short arguments fill lines.
fn list(out: &mut String, indent: usize, arguments: &[&str]) {
    const MANY: usize = 8;
    const SHORT: usize = 24;
    if arguments.len() <= MANY || arguments.iter().any(|argument| argument.trim().len() > SHORT) {
        return arguments.iter().for_each(|argument| statement(out, indent, argument.trim()));
    }
    let mut line = String::new();
    for argument in arguments.iter().map(|argument| argument.trim()) {
        if !line.is_empty() && indent + line.len() + 1 + argument.len() > COLUMNS {
            statement(out, indent, &std::mem::take(&mut line));
        }
        line.extend([if line.is_empty() { "" } else { " " }, argument]);
    }
    statement(out, indent, &line);
}

/// The offsets of the longest outermost pair of parentheses.
fn longest_group(text: &str) -> Option<(usize, usize)> {
    let mut depth = 0;
    let mut open = 0;
    let mut longest = None;
    for (at, c) in text.bytes().enumerate() {
        match c {
            b'(' => {
                if depth == 0 {
                    open = at;
                }
                depth += 1;
            }
            b')' if depth > 0 => {
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
    let mut all = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, c) in list.bytes().enumerate() {
        match c {
            b'(' | b'{' => depth += 1,
            b')' | b'}' => depth -= 1,
            b',' if depth == 0 => {
                all.push(&list[start..=at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    all.push(&list[start..]);
    all
}

#[cfg(test)]
mod tests {
    use super::lines;

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
