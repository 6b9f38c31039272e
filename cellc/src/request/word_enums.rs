//! Options whose values have a word each.

/// A word for the value of an option.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    /// The word on the command line, in macros and in the comment at the top of generated files.
    pub text: &'static str,
    /// The help of the command line. Empty: the word says everything.
    pub help: &'static str,
}

/// An enum whose values have a word each. The first value is the default.
pub trait Words: Copy + Default + PartialEq + 'static {
    /// Every value with its word, in the order of the help.
    const WORDS: &'static [(Self, Word)];

    /// The word for this value.
    fn word(self) -> &'static str {
        let row = Self::WORDS.iter().find(|(value, _)| *value == self);
        row.expect("request: every value is a row of the table").1.text
    }

    /// The value for a word.
    fn from_word(text: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(_, word)| word.text == text).map(|(value, _)| *value)
    }

    /// The words alone.
    fn words() -> Vec<Word> {
        Self::WORDS.iter().map(|(_, word)| *word).collect()
    }
}

/// Defines an enum of options with its table of words. Doc comments of the values are the help of
/// the command line, and the first value is the default.
macro_rules! words {
    (
        $(#[$attribute:meta])*
        pub enum $name:ident {
            $(#[doc = $first_help:literal])+
            $first:ident = $first_word:literal,
            $($(#[doc = $help:literal])+ $value:ident = $word:literal,)*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum $name {
            $(#[doc = $first_help])+
            #[default]
            $first,
            $($(#[doc = $help])+ $value,)*
        }

        impl $name {
            /// Every value; the first is the default.
            pub const ALL: [Self; [$first_word, $($word),*].len()] =
                [Self::$first, $(Self::$value),*];
        }

        impl $crate::request::Words for $name {
            const WORDS: &'static [(Self, $crate::request::Word)] = &[
                (Self::$first, $crate::request::Word {
                    text: $first_word,
                    help: concat!($($first_help),+),
                }),
                $((Self::$value, $crate::request::Word {
                    text: $word,
                    help: concat!($($help),+),
                }),)*
            ];
        }
    };
}

/// Words as a list in a sentence: "auto, full or none".
pub(crate) fn listed(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [all @ .., last] => format!("{} or {last}", all.join(", ")),
    }
}
