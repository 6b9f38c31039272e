//! Kinds of values of keys, and values written as text: in options of the command and in the
//! metadata of a file.

use std::fmt;

use super::Key;
use crate::diagnostic::quoted;
use crate::front::apple::AppleResetGate;
use crate::front::layout::GateOrder;
use crate::model::{Activation, Direction, Family, LstmGateOrder, parse_f32};
use crate::request::flag::Flag;
use crate::request::is_size;

/// The kind of a key's value.
pub(crate) enum Takes {
    /// A whole number from 1.
    Size,
    /// true or false.
    Switch,
    /// A number that f32 holds.
    Bound,
    Activation,
    Activations,
    /// One of the listed words, each with its value.
    Word(fn() -> Vec<(&'static str, Value)>),
    /// The letters of an order of gates.
    GateOrder,
    /// A text that is not empty.
    Text,
    /// A file, relative to the folder of Cargo.toml.
    Path,
    /// The value of a flag.
    Flag(&'static Flag),
}

/// A type of values of keys.
pub(crate) trait FromValue: Sized {
    /// The value, or `None` if the value has another type.
    fn from_value(value: &Value) -> Option<Self>;
}

macro_rules! values {
    ($($variant:ident($kind:ty)),* $(,)?) => {
        /// A value of a key.
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) enum Value { $($variant($kind)),* }

        $(
            impl From<$kind> for Value {
                fn from(value: $kind) -> Self {
                    Self::$variant(value)
                }
            }

            impl FromValue for $kind {
                fn from_value(value: &Value) -> Option<Self> {
                    if let Value::$variant(value) = value { Some(value.clone()) } else { None }
                }
            }
        )*
    };
}

values! {
    Family(Family),
    Size(usize),
    Switch(bool),
    Number(f32),
    Direction(Direction),
    Activation(Activation),
    Activations(Vec<Activation>),
    GateOrder(GateOrder),
    LstmGateOrder(LstmGateOrder),
    AppleResetGate(AppleResetGate),
    Text(String),
    Texts(Vec<String>),
}

/// The value of a key on the command line or in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyValue(pub(super) Value);

impl KeyValue {
    /// True if both values are equal.
    pub(crate) fn is(&self, value: &Value) -> bool {
        self.0 == *value
    }

    /// Reads the value of a key.
    ///
    /// # Errors
    /// The valid values, if `text` is not valid.
    pub fn parse(key: Key, text: &str) -> Result<Self, String> {
        let text = text.trim();
        let value = match key.takes() {
            Takes::Size => text.parse().ok().filter(|&size| is_size(size)).map(Value::Size),
            Takes::Switch => text.parse().ok().map(Value::Switch),
            Takes::Bound => parse_f32(text).ok().map(Value::Number),
            Takes::Word(words) => {
                words().into_iter().find(|(word, _)| *word == text).map(|(_, value)| value)
            }
            Takes::Activations => Some(Value::Activations(activations(text)?)),
            Takes::Activation => match activations(text)?[..] {
                [activation] => Some(Value::Activation(activation)),
                ref list => {
                    return Err(format!(
                        "{} activations are given; {}",
                        list.len(),
                        key.valid_in_files()
                    ));
                }
            },
            Takes::GateOrder => GateOrder::new(text).map(Value::GateOrder),
            Takes::Text => (!text.is_empty()).then(|| Value::Text(text.to_owned())),
            // files have no keys with these kinds of values
            Takes::Path | Takes::Flag(_) => None,
        };
        value.map(Self).ok_or_else(|| key.valid_in_files().to_owned())
    }
}

/// Reads activations separated by commas. Commas in parentheses separate the numbers of an
/// activation.
fn activations(text: &str) -> Result<Vec<Activation>, String> {
    let mut depth = 0usize;
    let mut part = String::new();
    let mut parts = Vec::new();
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(std::mem::take(&mut part));
                continue;
            }
            _ => {}
        }
        part.push(c);
    }
    parts.push(part);
    let parsed = |text: &String| {
        text.trim().parse::<Activation>().map_err(|why| format!("{}: {why}", quoted(text)))
    };
    parts.iter().map(parsed).collect()
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Family(family) => f.write_str(family.name()),
            Self::Size(size) => write!(f, "{size}"),
            Self::Switch(on) => write!(f, "{on}"),
            Self::Number(number) => write!(f, "{number:?}"),
            Self::Direction(direction) => f.write_str(direction.name()),
            Self::Activation(activation) => write!(f, "{activation}"),
            Self::Activations(list) => {
                f.write_str(&list.iter().map(|a| a.label()).collect::<Vec<_>>().join(", "))
            }
            Self::GateOrder(order) => f.write_str(&order.letters()),
            Self::LstmGateOrder(order) => f.write_str(order.name()),
            Self::AppleResetGate(gate) => f.write_str(gate.name()),
            Self::Text(text) => f.write_str(text),
            Self::Texts(texts) => f.write_str(&texts.join(", ")),
        }
    }
}

impl fmt::Display for KeyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Options and metadata accept every number of f32 as a clip and as a parameter of an
    /// activation. The check of the model refuses wrong ones.
    #[test]
    fn clips_and_parameters_are_any_numbers_of_f32() {
        for (clip, ..) in crate::rules::cell::CLIPS {
            let read = KeyValue::parse(Key::Clip, &clip.to_string());
            let Ok(KeyValue(Value::Number(number))) = read else { panic!("{clip}: {read:?}") };
            assert_eq!(number.to_bits(), clip.to_bits(), "{clip}");
        }
        for (alpha, _) in crate::rules::cell::PARAMETERS_OF_ACTIVATIONS {
            let read = KeyValue::parse(Key::Activations, &format!("leaky_relu({alpha})"));
            let Ok(KeyValue(Value::Activations(list))) = read else { panic!("{alpha}: {read:?}") };
            assert_eq!(list, [Activation::LeakyRelu { alpha }], "{alpha}");
        }
        for text in ["1e60", "-1e60", "1e-60", "3 4", ""] {
            assert!(KeyValue::parse(Key::Clip, text).is_err(), "{text:?}");
        }
    }
}
