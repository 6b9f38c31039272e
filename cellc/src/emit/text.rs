//! Templates of generated code: constant texts in which words and lists are filled in. Most are
//! files in the folders `text`.

/// The maximum line length of generated Rust.
pub(super) const COLUMNS: usize = 100;

/// The prefix of lines that must not be reformatted: bodies of macros.
pub(super) const FORMATTED: &str = "//|";

/// A word of a text, and its replacement.
pub(crate) type Word = (&'static str, String);

/// A named list: the words of each entry, in order.
pub(crate) type List = (&'static str, Vec<Vec<Word>>);

/// A list with one entry without words if `is_so`, else an empty list.
pub(super) fn when(name: &'static str, is_so: bool) -> List {
    (name, vec![Vec::new(); usize::from(is_so)])
}

/// A text with words replaced. Lines between `//* name` and `//.` are repeated for each entry of
/// the named list; words of an entry are replaced before `words`.
///
/// Lines between `//* some name` and `//.` stand once if the list has an entry, lines below
/// `//* no name` or `//* not name` if it has none. ` and name` adds a condition: a list that has an
/// entry, or a name with `some`, `no` or `not`.
pub(crate) fn listed(text: &str, lists: &[List], words: &[Word]) -> String {
    let filled_with = |own: &[Word], text: &str| {
        let words: Vec<_> =
            own.iter().chain(words).map(|(word, value)| (*word, value.as_str())).collect();
        filled(text, &words)
    };
    let mut pieces = text.split("//* ");
    let mut out = filled_with(&[], pieces.next().unwrap_or_default());
    for piece in pieces {
        let (name, rest) = piece.split_once('\n').expect("emit: a list has a name");
        let (lines, after) = rest.split_once("//.\n").expect("emit: a list has an end");
        out.extend(repetitions(name, lists).iter().map(|own| filled_with(own, lines)));
        out.push_str(&filled_with(&[], after));
    }
    out
}

/// What stands between the names of a line `//* name and name`.
const AND: &str = " and ";

/// The words of each repetition of the lines below `//* names`.
fn repetitions<'l>(names: &str, lists: &'l [List]) -> &'l [Vec<Word>] {
    let (repeated, conditions) = names.split_once(AND).unwrap_or((names, ""));
    let mut conditions = conditions.split(AND).filter(|condition| !condition.is_empty());
    match conditions.all(|condition| !entries(condition, lists).is_empty()) {
        true => entries(repeated, lists),
        false => &[],
    }
}

/// The entries of a list; for a list with a quantifier, one entry without words if it holds.
fn entries<'l>(name: &str, lists: &'l [List]) -> &'l [Vec<Word>] {
    const ONCE: &[Vec<Word>] = &[Vec::new()];
    let (some, name) = quantified(name);
    let found = lists.iter().find(|(other, _)| *other == name);
    let (_, entries) = found.unwrap_or_else(|| panic!("emit: no list is called {name}"));
    match some {
        None => entries,
        Some(some) if some != entries.is_empty() => ONCE,
        Some(_) => &[],
    }
}

/// A name without its quantifier. `Some(true)`: some entry. `Some(false)`: no entry.
fn quantified(name: &str) -> (Option<bool>, &str) {
    let quantifiers = [("some ", true), ("no ", false), ("not ", false)];
    let found = quantifiers.into_iter().find_map(|(quantifier, some)| {
        name.strip_prefix(quantifier).map(|name| (Some(some), name))
    });
    found.unwrap_or((None, name))
}

/// A text without repeated empty lines.
pub(super) fn single_spaced(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut was_empty = false;
    for line in text.lines() {
        if !(line.is_empty() && was_empty) {
            out.extend([line, "\n"]);
        }
        was_empty = line.is_empty();
    }
    out
}

/// A text with words replaced, earlier words first. Replacements are not searched again.
pub(super) fn filled(text: &str, words: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(text.len());
    fill(&mut out, text, words);
    out
}

fn fill(out: &mut String, text: &str, words: &[(&str, &str)]) {
    let [(word, value), others @ ..] = words else { return out.push_str(text) };
    let mut pieces = text.split(word);
    pieces.by_ref().take(1).for_each(|piece| fill(out, piece, others));
    for piece in pieces {
        out.push_str(value);
        fill(out, piece, others);
    }
}

/// The parts of a text by name, in order. A line `//: name` begins a part.
pub(super) fn parts(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    text.split("//: ").skip(1).filter_map(|part| part.split_once('\n'))
}

/// The part with a name.
pub(super) fn part(text: &'static str, name: &str) -> &'static str {
    let found = parts(text).find(|(other, _)| *other == name);
    found.unwrap_or_else(|| panic!("emit: no text is called {name}")).1
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::{AND, filled, listed, part, quantified, when};

    #[test]
    fn what_a_word_becomes_is_no_text() {
        let words = [("NAME", "UPPER_limit"), ("UPPER", "NAME"), ("    LINES;\n", "")];
        assert_eq!(filled("NAME UPPER\n    LINES;\nend", &words), "UPPER_limit NAME\nend");
    }

    #[test]
    fn lines_of_a_list_stand_once_for_each_thing() {
        let text = "PREFIX\n//* fields\nPREFIX FIELD;\n//.\n//* none\nnever\n//.\n//* \
            so\nonce\n//.\nend FIELD\n";
        let things = ["a", "PREFIX"].map(|name| vec![("FIELD", name.to_owned())]);
        let lists = [("fields", things.to_vec()), when("none", false), when("so", true)];
        let words = [("PREFIX", "FIELD".to_owned())];
        assert_eq!(
            listed(text, &lists, &words),
            "FIELD\nFIELD a;\nFIELD PREFIX;\nonce\nend FIELD\n"
        );
    }

    #[test]
    fn lines_of_a_list_stand_under_conditions() {
        let fields = vec![vec![("FIELD", "a".to_owned())], vec![("FIELD", "b".to_owned())]];
        let lists = [("fields", fields), when("so", true), when("otherwise", false)];
        let cases = [
            ("fields and so", "a\nb\n"),
            ("fields and so and otherwise", ""),
            ("fields and no otherwise", "a\nb\n"),
            ("some fields", "FIELD\n"),
            ("no fields", ""),
            ("not otherwise and some fields", "FIELD\n"),
            ("some otherwise", ""),
            ("so and not so", ""),
        ];
        for (names, wanted) in cases {
            let text = format!("//* {names}\nFIELD\n//.\n");
            assert_eq!(listed(&text, &lists, &[]), wanted, "{names}");
        }
    }

    /// The files below a folder, with their texts.
    fn files(folder: &Path) -> Vec<(PathBuf, String)> {
        let paths =
            fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").path());
        paths
            .flat_map(|path| match path.is_dir() {
                true => files(&path),
                false => {
                    let text = fs::read_to_string(&path).expect("a text");
                    vec![(path, text)]
                }
            })
            .collect()
    }

    #[test]
    fn printers_offer_the_lists_of_texts_and_no_others() {
        let all = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/emit"));
        let is_template = |path: &Path| path.components().any(|part| part.as_os_str() == "text");
        let (templates, printers): (Vec<_>, Vec<_>) =
            all.iter().partition(|(path, _)| is_template(path));
        let lines = templates.iter().flat_map(|(_, text)| text.lines());
        let asked: BTreeSet<&str> = lines
            .filter_map(|line| line.strip_prefix("//* "))
            .flat_map(|names| names.split(AND).map(|name| quantified(name).1))
            .collect();
        let printers: Vec<&str> = { printers }
            .iter()
            .filter(|(path, _)| !path.ends_with("emit/text.rs"))
            .map(|(_, text)| &text[..])
            .collect();
        let missing: Vec<_> = asked
            .iter()
            .filter(|name| !printers.iter().any(|text| text.contains(&format!("\"{name}\""))))
            .collect();
        assert!(missing.is_empty(), "no list has the names {missing:?}");
        let offered = printers.iter().flat_map(|text| text.split("when(\"").skip(1));
        let offered: BTreeSet<&str> =
            offered.filter_map(|rest| Some(rest.split_once('"')?.0)).collect();
        let unused: Vec<_> = offered.difference(&asked).collect();
        assert!(!offered.is_empty() && unused.is_empty(), "no text has {unused:?}");
    }

    #[test]
    fn a_part_ends_where_another_begins() {
        let text = "//: a\none\n\n//: a b\ntwo // : no\n";
        assert_eq!((part(text, "a"), part(text, "a b")), ("one\n\n", "two // : no\n"));
    }
}
