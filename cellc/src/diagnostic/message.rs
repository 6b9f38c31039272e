//! The texts of diagnostics. A text names settings of the user as values; the command line, the
//! Builder and the macros put their own names in place of the values.

use super::setting::{Setting, option};

/// A text that may name settings of the user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message(Vec<Piece>);

/// A piece of a message.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    Setting(Setting),
}

/// A message from a sentence with a `{}` for each argument. Arguments are texts, numbers, settings
/// and messages. The sentence is a literal; its number of `{}` is checked at compile time.
macro_rules! message {
    ($sentence:literal $(, $argument:expr)* $(,)?) => {{
        const {
            assert!(
                $crate::diagnostic::holes($sentence)
                    == <[&str]>::len(&[$(stringify!($argument)),*]),
                "a sentence of a diagnostic has one hole for each argument"
            );
        }
        $crate::diagnostic::Message::filled(
            $sentence,
            vec![$($crate::diagnostic::Message::from(&$argument)),*],
        )
    }};
}
pub(crate) use message;

/// The placeholder of an argument in a sentence.
const HOLE: &str = "{}";

/// The number of `{}` in a sentence.
pub(crate) const fn holes(sentence: &str) -> usize {
    let bytes = sentence.as_bytes();
    let (mut at, mut count) = (1, 0);
    while at < bytes.len() {
        if bytes[at - 1] == b'{' && bytes[at] == b'}' {
            count += 1;
        }
        at += 1;
    }
    count
}

impl Message {
    /// A sentence with an argument in place of each `{}`.
    pub(crate) fn filled(sentence: &str, arguments: Vec<Self>) -> Self {
        let mut message = Self::default();
        let mut texts = sentence.split(HOLE);
        message.push(texts.next().unwrap_or_default());
        for (argument, text) in arguments.into_iter().zip(texts) {
            message.push(argument);
            message.push(text);
        }
        message
    }

    /// Messages with `separator` between them.
    pub(crate) fn joined(messages: impl IntoIterator<Item = Self>, separator: &str) -> Self {
        let mut joined = Self::default();
        for (at, message) in messages.into_iter().enumerate() {
            if at > 0 {
                joined.push(separator);
            }
            joined.push(message);
        }
        joined
    }

    /// Adds a text, a setting or a message at the end.
    pub(crate) fn push(&mut self, more: impl Into<Self>) {
        for piece in more.into().0 {
            match (self.0.last_mut(), piece) {
                (Some(Piece::Text(text)), Piece::Text(more)) => text.push_str(&more),
                (_, piece) => self.0.push(piece),
            }
        }
    }

    /// The message as text. `name`: the name of a setting in a user interface.
    pub fn worded(&self, name: fn(&Setting) -> String) -> String {
        let pieces = self.0.iter().map(|piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Setting(setting) => name(setting),
        });
        pieces.collect()
    }

    /// The message as text, with the options of the command line.
    pub fn with_options(&self) -> String {
        self.worded(option)
    }

    /// True if the message with the options of the command line contains `part`.
    pub fn contains(&self, part: &str) -> bool {
        self.with_options().contains(part)
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        if text.is_empty() { Self::default() } else { Self(vec![Piece::Text(text)]) }
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<usize> for Message {
    fn from(number: usize) -> Self {
        number.to_string().into()
    }
}

impl From<Setting> for Message {
    fn from(setting: Setting) -> Self {
        Self(vec![Piece::Setting(setting)])
    }
}

impl<T: Clone + Into<Self>> From<&T> for Message {
    fn from(borrowed: &T) -> Self {
        borrowed.clone().into()
    }
}

/// A message without settings is equal to its text.
impl PartialEq<str> for Message {
    fn eq(&self, text: &str) -> bool {
        match &self.0[..] {
            [] => text.is_empty(),
            [Piece::Text(own)] => own == text,
            _ => false,
        }
    }
}

impl PartialEq<&str> for Message {
    fn eq(&self, text: &&str) -> bool {
        *self == **text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_interface_names_settings_in_its_own_words() {
        let message = message!("give {} or {}", Setting::BatchOf(2), "nothing");
        assert_eq!(message.with_options(), "give --batch 2 or nothing");
        assert_eq!(message.worded(|_| "`batch`".to_owned()), "give `batch` or nothing");
        let other = Message::joined([Setting::OpenShape.into(), message], "; ");
        assert_eq!(other.with_options(), "--shape; give --batch 2 or nothing");
    }

    #[test]
    fn a_message_without_settings_is_its_text() {
        assert!(message!("{}, {}", "a", 2) == "a, 2");
        assert!(Message::default() == "");
        assert!(message!("{}", Setting::Weights) != "--weights");
    }
}
