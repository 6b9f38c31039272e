//! JSON as a tree that preserves all keys, with conversions to f32 and tensors.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::refusal;
use crate::diagnostic::{Diagnostic, Origin, SourceText, quoted};
use crate::model::{NumberError, Tensor, nearest_f32, shape_text};

/// The most units, channels, groups or taps.
const MOST_SIZE: u32 = 1 << 16;

/// The valid sizes.
pub(super) fn valid_size() -> String {
    format!("a whole number from 1 to {MOST_SIZE}")
}

/// The most dimensions of a tensor.
const MOST_DIMENSIONS: usize = 4;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
}

/// Parses the text of a file.
///
/// # Errors
/// If the text is no JSON, with the place of the error.
pub(super) fn parse(name: &str, bytes: &[u8]) -> Result<Json, Diagnostic> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    serde_json::from_slice(bytes).map_err(|error| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let line_start = text
            .split_inclusive('\n')
            .take(error.line().saturating_sub(1))
            .map(str::len)
            .sum::<usize>();
        let at = (line_start + error.column().saturating_sub(1)).min(text.len());
        // Python writes these words, which are not valid JSON
        let word = text.get(at..).or(text.get(line_start..)).unwrap_or_default();
        let not_finite = ["NaN", "-Infinity", "Infinity"].iter().find(|not_finite| {
            word.starts_with(*not_finite)
                || text
                    .get(at.saturating_sub(1)..)
                    .is_some_and(|word| word.starts_with(*not_finite))
        });
        // the message of the parser, without the place: the origin shows it
        let found = match (not_finite, error.classify()) {
            (Some(not_finite), _) => format!("a number is {not_finite}"),
            (None, serde_json::error::Category::Eof) => {
                "the text ends before the JSON does: the file is cut short".to_owned()
            }
            _ => {
                let message = error.to_string();
                let message =
                    message.rsplit_once(" at line ").map_or(&message[..], |(message, _)| message);
                match message.starts_with("recursion limit") {
                    true => "lists and objects are nested more than 127 deep".to_owned(),
                    false => format!("not JSON: {message}"),
                }
            }
        };
        let source = SourceText { name: name.to_owned(), text };
        let origin = Origin::Text { source: Arc::new(source), start: at, end: at };
        let problem = Diagnostic::error(origin, found);
        if not_finite.is_some() {
            problem
                .valid("a finite number")
                .help("if it is a weight, the training has failed: train the model again")
        } else {
            problem
        }
    })
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Tree)
    }
}

struct Tree;

impl<'de> Visitor<'de> for Tree {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Json, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Json::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut entries: Vec<(String, Json)> = Vec::new();
        let mut seen = BTreeSet::new();
        while let Some((key, value)) = map.next_entry::<String, Json>()? {
            if !seen.insert(key.clone()) {
                return Err(de::Error::custom(format!("the key {} is there twice", quoted(&key))));
            }
            entries.push((key, value));
        }
        Ok(Json::Object(entries))
    }
}

/// A short text for people. Texts are quoted, lists and objects are shown by their sizes.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Number(value) => write!(f, "{value}"),
            Self::Text(text) => f.write_str(&quoted(text)),
            Self::List(values) => write!(f, "a list of {}", values.len()),
            Self::Object(entries) => {
                let keys: Vec<&str> = entries.iter().map(|(key, _)| &key[..]).collect();
                write!(f, "{{{}}}", keys.join(", "))
            }
        }
    }
}

/// An object with keys to be taken once each.
pub(super) struct Object(Vec<(String, Json)>);

impl Object {
    /// The object of a value. `None` for other values.
    pub(super) fn from_json(value: Json) -> Option<Self> {
        match value {
            Json::Object(entries) => Some(Self(entries)),
            _ => None,
        }
    }

    /// True if the object has the key, also with the value null.
    pub(super) fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(other, _)| other == key)
    }

    /// The value of a key, which stays in the object.
    pub(super) fn get(&self, key: &str) -> Option<&Json> {
        self.0.iter().find(|(other, _)| other == key).map(|(_, value)| value)
    }

    /// Adds a key with a value to an object that lacks the key. `None`: adds nothing.
    pub(super) fn with_default(mut self, key: &str, value: Option<Json>) -> Self {
        if let Some(value) = value.filter(|_| !self.has(key)) {
            self.0.push((key.to_owned(), value));
        }
        self
    }

    /// Removes a key and returns its value.
    pub(super) fn take(&mut self, key: &str) -> Option<Json> {
        let at = self.0.iter().position(|(other, _)| other == key)?;
        Some(self.0.remove(at).1)
    }

    /// Takes a required key.
    pub(super) fn need(&mut self, key: &str, key_path: &str) -> Result<Json, Diagnostic> {
        self.take(key).ok_or_else(|| {
            let found = refusal(key_path, format!("there is no \"{key}\""));
            // the parser refuses files that are cut, so a missing key suggests another format
            if key_path.is_empty() {
                found.help("the file may be of another format")
            } else {
                found
            }
        })
    }

    /// Takes a size of 1 or more.
    pub(super) fn size(&mut self, key: &str, key_path: &str) -> Result<usize, Diagnostic> {
        let value = self.need(key, key_path)?;
        value
            .size()
            .ok_or_else(|| refusal(key_path, format!("\"{key}\" is {value}")).valid(valid_size()))
    }

    /// The keys that no reader took.
    pub(super) fn rest(self) -> impl Iterator<Item = (String, Json)> {
        self.0.into_iter()
    }
}

impl Json {
    /// An integer from 1 to [`MOST_SIZE`]. `None` for other values.
    pub(super) fn size(&self) -> Option<usize> {
        match *self {
            Self::Number(number)
                if number.fract() == 0.0 && (1.0..=f64::from(MOST_SIZE)).contains(&number) =>
            {
                Some(number as usize)
            }
            _ => None,
        }
    }

    /// The number as f32. Refuses numbers beyond the range of f32, and numbers other than 0 that
    /// round to 0. `key_path`: the number's place in messages.
    pub(super) fn f32(&self, key_path: &str) -> Result<f32, Diagnostic> {
        match self.nearest_f32() {
            Ok(number) => Ok(number),
            Err(problem) => Err(refusal(key_path, format!("{} is {problem}", self.short()))),
        }
    }

    /// An element of a weight tensor. As in tensors of other formats, an element may round to 0.
    pub(super) fn weight(&self, key_path: &str) -> Result<f32, Diagnostic> {
        match self.nearest_f32() {
            Err(NumberError::Underflow) => Ok(0.0),
            _ => self.f32(key_path),
        }
    }

    /// As [`fmt::Display`], with an exponent for numbers.
    fn short(&self) -> String {
        match self {
            Self::Number(number) => format!("{number:e}"),
            other => other.to_string(),
        }
    }

    fn nearest_f32(&self) -> Result<f32, NumberError> {
        match *self {
            Self::Number(number) => nearest_f32(number),
            _ => Err(NumberError::Text),
        }
    }

    /// Nested lists of equal lengths at each level, as a tensor.
    pub(super) fn tensor(&self, key_path: &str) -> Result<Tensor, Diagnostic> {
        let mut shape = Vec::new();
        let mut at = self;
        while let Self::List(values) = at {
            if shape.len() == MOST_DIMENSIONS {
                return Err(refusal(
                    key_path,
                    format!("lists in lists, more than {MOST_DIMENSIONS} deep"),
                ));
            }
            shape.push(values.len());
            let Some(first) = values.first() else { break };
            at = first;
        }
        let mut values = Vec::new();
        self.collect(&shape, key_path, &mut values)?;
        let tensor = Tensor::from_f32(shape.clone(), &values);
        tensor.ok_or_else(|| {
            refusal(
                key_path,
                format!("{} values for the shape {}", values.len(), shape_text(&shape)),
            )
        })
    }

    fn collect(
        &self,
        shape: &[usize],
        key_path: &str,
        values: &mut Vec<f32>,
    ) -> Result<(), Diagnostic> {
        match (self, shape) {
            (Self::List(list), [len, inner @ ..]) if list.len() == *len => {
                list.iter().try_for_each(|value| value.collect(inner, key_path, values))
            }
            (Self::List(list), [len, ..]) => Err(refusal(
                key_path,
                format!(
                    "lists of {len} and of {} values, where all should have one length",
                    list.len()
                ),
            )),
            (Self::List(_), []) => Err(refusal(key_path, "a list among numbers")),
            (_, []) => {
                values.push(self.weight(key_path)?);
                Ok(())
            }
            (_, [..]) => Err(refusal(key_path, format!("{self} among lists"))),
        }
    }
}
