//! Breaks long statements where their argument lists allow it.

/// The longest line.
const COLUMNS: usize = 110;

/// Appends a statement, over several lines where it is long: the longest argument list is broken, one argument a line.
pub(super) fn statement(out: &mut String, indent: usize, text: &str) {
    let group = if indent + text.len() <= COLUMNS { None } else { longest_group(text) };
    match group {
        None => {
            out.extend(std::iter::repeat_n(' ', indent));
            out.push_str(text);
            out.push('\n');
        }
        Some((open, close)) => {
            statement(out, indent, &text[..=open]);
            for argument in arguments(&text[open + 1..close]) {
                statement(out, indent + 4, argument.trim());
            }
            statement(out, indent, &text[close..]);
        }
    }
}

/// A statement, as lines.
pub(super) fn lines(indent: usize, text: &str) -> String {
    let mut out = String::new();
    statement(&mut out, indent, text);
    out
}

/// Where the longest outermost pair of parentheses stands.
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
    // nothing is gained by breaking `(x)`
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
    use super::statement;

    #[test]
    fn long_calls_are_broken_and_short_ones_are_not() {
        let mut out = String::new();
        statement(&mut out, 4, "a = f(b, c);");
        assert_eq!(out, "    a = f(b, c);\n");
        out.clear();
        let long = "x".repeat(70);
        statement(&mut out, 4, &format!("a = f(g({long}, {long}), (u)c);"));
        let expected = format!(
            "    a = f(\n        g(\n            {long},\n            {long}\n        ),\n        (u)c\n    );\n"
        );
        assert_eq!(out, expected);
    }
}
