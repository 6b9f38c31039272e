//! Numbers, shapes and names in tables and pictures.

use super::Report;

/// Maximum length in characters of a name.
const LONGEST: usize = 40;

/// A number in groups of three digits: `12,345`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Shapes as a list: `[1, 24], [1, 4]`.
pub fn shapes(all: &[Vec<usize>]) -> String {
    all.iter().map(|sizes| format!("{sizes:?}")).collect::<Vec<_>>().join(", ")
}

/// A text of the model on one line: escaped, and shortened in the middle. The end of a name is kept
/// because it is the most specific part.
pub fn visible(text: &str) -> String {
    cut(text, LONGEST)
}

/// As [`visible`], with at most `longest` characters.
pub fn cut(text: &str, longest: usize) -> String {
    let shown = |c: char| c.is_alphanumeric() || c == ' ' || c.is_ascii_graphic();
    let pieces: Vec<String> = text
        .chars()
        .map(|c| if shown(c) { c.to_string() } else { c.escape_unicode().to_string() })
        .collect();
    let length =
        |pieces: &[String]| pieces.iter().map(|piece| piece.chars().count()).sum::<usize>();
    if pieces.len() <= longest && length(&pieces) <= longest {
        return pieces.concat();
    }
    let (mut start, mut end) = (0, pieces.len());
    while length(&pieces[..start + 1]) < longest / 3 {
        start += 1;
    }
    while end > start && length(&pieces[end - 1..]) < longest - longest / 3 {
        end -= 1;
    }
    format!("{}…{}", pieces[..start].concat(), pieces[end..].concat())
}

/// Breaks a text at spaces into lines of at most `most` characters.
pub fn wrap(text: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_inclusive(' ') {
        let last = lines.last_mut().expect("there is a line");
        if !last.is_empty() && last.chars().count() + word.trim_end().chars().count() > most {
            lines.push(word.to_owned());
        } else {
            last.push_str(word);
        }
    }
    lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
}

/// Layers removed by compilation, the most frequent types first, in at most `longest` characters.
pub fn folded(report: &Report, longest: usize) -> String {
    let mut removed: Vec<(usize, String)> =
        report.folded.iter().map(|folded| (folded.count, visible(&folded.kind))).collect();
    removed.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let gone: usize = removed.iter().map(|(count, _)| count).sum();
    let plural = |n: usize| if n == 1 { "" } else { "s" };
    let (layers, constants) = (report.totals.layers_read, report.totals.constants_read);
    let whole_model = format!(
        "of {layers} layer{} and {constants} constant{}",
        plural(layers),
        plural(constants)
    );
    let mut line = match gone {
        0 => return format!("nothing, {whole_model}"),
        _ => format!("{gone} layer{}, {whole_model}", plural(gone)),
    };
    const REST: &str = ", ...";
    for (i, (count, kind)) in removed.iter().enumerate() {
        let more = format!("{} {count} {kind}", if i == 0 { ":" } else { "," });
        if line.chars().count() + more.chars().count() + REST.len() > longest {
            line += REST;
            break;
        }
        line += &more;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        for (n, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(n), text);
        }
    }

    #[test]
    fn names_stay_on_one_line_and_short() {
        assert_eq!(visible("module.fc1/MatMul"), "module.fc1/MatMul");
        assert_eq!(visible("größe\n\u{202e}"), "größe\\u{a}\\u{202e}");
        let cut = visible(&format!("start{}end", "x".repeat(100_000)));
        assert!(
            cut.starts_with("startx") && cut.ends_with("xend") && cut.chars().count() <= LONGEST,
            "{cut}"
        );
        assert!(visible(&"\n".repeat(100)).chars().count() <= LONGEST);
    }
}
