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
        let found = lists.iter().find(|(other, _)| *other == name);
        let (_, things) = found.unwrap_or_else(|| panic!("emit: no list is called {name}"));
        out.extend(things.iter().map(|own| filled_with(own, lines)));
        out.push_str(&filled_with(&[], after));
    }
    out
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
    use super::{filled, listed, part, when};

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
    fn a_part_ends_where_another_begins() {
        let text = "//: a\none\n\n//: a b\ntwo // : no\n";
        assert_eq!((part(text, "a"), part(text, "a b")), ("one\n\n", "two // : no\n"));
    }
}
