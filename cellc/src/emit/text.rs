//! Texts of generated code that never vary, but for words in them: they stand in files of the language itself, in the folders `text`.

/// A word of a text, and what stands there.
pub(super) type Word = (&'static str, String);

/// A text with words replaced, the first of them first; nothing is replaced in what they become.
pub(super) fn filled(text: &str, words: &[(&str, &str)]) -> String {
    match words {
        [] => text.to_owned(),
        [(word, value), others @ ..] => {
            text.split(word).map(|piece| filled(piece, others)).collect::<Vec<_>>().join(value)
        }
    }
}

/// The parts of a text by name, in order: each begins with a line `//: name`.
pub(super) fn parts(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    text.split("//: ").skip(1).filter_map(|part| part.split_once('\n'))
}

/// The part of that name.
pub(super) fn part(text: &'static str, name: &str) -> &'static str {
    let found = parts(text).find(|(other, _)| *other == name);
    found.unwrap_or_else(|| panic!("emit: no text is called {name}")).1
}

#[cfg(test)]
mod tests {
    use super::{filled, part};

    #[test]
    fn what_a_word_becomes_is_no_text() {
        let words = [("NAME", "UPPER_limit"), ("UPPER", "NAME"), ("    LINES;\n", "")];
        assert_eq!(filled("NAME UPPER\n    LINES;\nend", &words), "UPPER_limit NAME\nend");
    }

    #[test]
    fn a_part_ends_where_another_begins() {
        let text = "//: a\none\n\n//: a b\ntwo // : no\n";
        assert_eq!((part(text, "a"), part(text, "a b")), ("one\n\n", "two // : no\n"));
    }
}
