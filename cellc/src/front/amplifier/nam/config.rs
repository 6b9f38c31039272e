//! Objects, sizes and lists of sizes of a configuration. Every key must be read.

use super::super::causal::{ConvSizes, groups_are_legal};
use super::super::json::{Json, Object, valid_size};
use super::super::refusal;
use crate::diagnostic::{Diagnostic, quoted};
use crate::model::{counted, wrong_past};

/// An object at a place of the file.
pub(super) struct Config {
    object: Object,
    pub(super) key_path: String,
}

impl Config {
    /// The object of a value. `key_path`: its place in messages.
    pub(super) fn parse(value: Json, key_path: &str) -> Result<Self, Diagnostic> {
        let found = value.to_string();
        let object = Object::from_json(value)
            .ok_or_else(|| refusal(key_path, format!("{found} is no object")).valid("an object"))?;
        Ok(Self { object, key_path: key_path.to_owned() })
    }

    /// The error for a wrong part of this object.
    pub(super) fn refused(&self, found: impl Into<String>) -> Diagnostic {
        refusal(&self.key_path, found.into())
    }

    /// The place of a key in messages.
    pub(super) fn path_of(&self, key: &str) -> String {
        format!("{}, \"{key}\"", self.key_path)
    }

    /// Takes a key. `None` for a missing key and for null.
    pub(super) fn take(&mut self, key: &str) -> Option<Json> {
        self.object.take(key).filter(|value| *value != Json::Null)
    }

    /// Takes a key. A missing key is an error.
    pub(super) fn need(&mut self, key: &str) -> Result<Json, Diagnostic> {
        self.object.need(key, &self.key_path)
    }

    /// Takes a size of 1 or more.
    pub(super) fn size(&mut self, key: &str) -> Result<usize, Diagnostic> {
        self.object.size(key, &self.key_path)
    }

    /// Takes a size of 1 or more, or `default` if the key is missing.
    pub(super) fn size_or(&mut self, key: &str, default: usize) -> Result<usize, Diagnostic> {
        match self.object.has(key) {
            true => self.size(key),
            false => Ok(default),
        }
    }

    /// True if the key is given and not null.
    pub(super) fn has(&self, key: &str) -> bool {
        self.object.get(key).is_some_and(|value| *value != Json::Null)
    }

    /// Takes true or false.
    pub(super) fn flag(&mut self, key: &str) -> Result<bool, Diagnostic> {
        match self.need(key)? {
            Json::Bool(flag) => Ok(flag),
            other => Err(self.refused(format!("\"{key}\" is {other}")).valid("true or false")),
        }
    }

    /// Takes true or false, or `default` if the key is missing.
    pub(super) fn flag_or(&mut self, key: &str, default: bool) -> Result<bool, Diagnostic> {
        match self.object.has(key) {
            true => self.flag(key),
            false => Ok(default),
        }
    }

    /// Takes a number that f32 holds, or `default` if the key is missing or null.
    pub(super) fn number_or(&mut self, key: &str, default: f32) -> Result<f32, Diagnostic> {
        match self.take(key) {
            Some(number) => number.f32(&self.path_of(key)),
            None => Ok(default),
        }
    }

    /// Takes a list of sizes of 1 or more that is not empty.
    pub(super) fn sizes(&mut self, key: &str) -> Result<Vec<usize>, Diagnostic> {
        let valid = || format!("a list, each {}", valid_size());
        let key_path = self.path_of(key);
        let Json::List(items) = self.need(key)? else {
            return Err(refusal(&key_path, format!("\"{key}\" is no list")).valid(valid()));
        };
        if items.is_empty() {
            return Err(refusal(&key_path, "the list is empty").valid(valid()));
        }
        let size = |item: &Json| {
            item.size()
                .ok_or_else(|| refusal(&key_path, format!("{item} in the list")).valid(valid()))
        };
        items.iter().map(size).collect()
    }

    /// Checks the sizes of a convolution. `groups`: the key of its groups.
    ///
    /// # Errors
    /// If the channels are no multiples of the groups, or the convolution reaches too far back.
    pub(super) fn check(&self, conv: ConvSizes, groups: &str) -> Result<(), Diagnostic> {
        let ConvSizes { inputs, outputs, kernel, dilation, groups: count, .. } = conv;
        groups_are_legal(count, [inputs, outputs], &self.path_of(groups))?;
        if let Some(valid) = wrong_past(conv.kept()) {
            let found = format!(
                "{}, a dilation of {dilation} and {}",
                counted(kernel, "tap"),
                counted(inputs, "channel")
            );
            return Err(self.refused(found).valid(valid));
        }
        Ok(())
    }

    /// Refuses keys that no reader took. `valid`: the keys that have a meaning.
    pub(super) fn finish(self, valid: &str) -> Result<(), Diagnostic> {
        let Some((key, value)) = self.object.rest().next() else { return Ok(()) };
        let found = format!("{} is {value}, and cellc does not know what it means", quoted(&key));
        Err(refusal(&self.key_path, found).valid(valid))
    }
}
