//! The value of a key, from its tokens.

use std::path::Path;

use proc_macro2::TokenStream;
use syn::Lit;

use super::form::TokenTable;
use super::written::ValueTokens;
use crate::diagnostic::{Diagnostic, Diagnostics, Message, Origin};
use crate::front::keys::{CLIP, Key, Macro, Takes, Value, in_macros};
use crate::front::layout::GateOrder;
use crate::model::{Activation, Direction, NumberError};
use crate::request::flag::{Flag, FlagValue};
use crate::request::is_size;

/// Reads the value of one key.
pub(super) struct Reader<'a> {
    pub(super) called: Macro,
    pub(super) key: Key,
    /// The place of the key with its value.
    pub(super) origin: Origin,
    pub(super) tokens: &'a mut TokenTable,
    pub(super) problems: &'a mut Diagnostics,
}

impl Reader<'_> {
    fn refuse<T>(&mut self, origin: Origin, found: String, valid: impl Into<Message>) -> Option<T> {
        self.problems.push(Diagnostic::error(origin, found).layer(self.key.name()).valid(valid));
        None
    }

    /// Refuses a value of the wrong kind for the key.
    fn wrong<T>(&mut self, value: &ValueTokens) -> Option<T> {
        let (name, source) = (self.key.name(), value.source());
        let found = if value.is_path() {
            format!(
                "`{name}` is the path `{source}`, and a macro cannot see what a path stands for"
            )
        } else {
            format!("`{name}` cannot be `{source}`")
        };
        self.refuse(self.origin.clone(), found, self.key.valid(self.called))
    }

    /// Reads the tokens behind the `=`. `None` after an error.
    pub(super) fn read(&mut self, tokens: TokenStream) -> Option<Value> {
        let value = &self.written(tokens)?;
        match self.key.takes() {
            Takes::Size => self.size(value).map(Value::Size),
            Takes::Switch => self.switch(value),
            Takes::Bound => self.bound(value),
            Takes::Activation => self.activation(value).map(Value::Activation),
            Takes::Activations => self.activations(value),
            Takes::Word(words) => self.word(value, words()),
            Takes::GateOrder => {
                let order = value.word().and_then(|letters| GateOrder::new(&letters));
                order.map(Value::GateOrder).or_else(|| self.wrong(value))
            }
            Takes::Text => self.text(value).map(Value::Text),
            Takes::Path => self.path(value),
            Takes::Flag(flag) => self.flag(value, flag),
        }
    }

    fn written(&mut self, tokens: TokenStream) -> Option<ValueTokens> {
        let value = ValueTokens::new(tokens);
        if value.is_empty() {
            let found = format!("`{}` has no value", self.key.name());
            return self.refuse(self.origin.clone(), found, self.key.valid(self.called));
        }
        Some(value)
    }

    fn size(&mut self, value: &ValueTokens) -> Option<usize> {
        if let Some(Lit::Int(int)) = value.literal()
            && matches!(int.suffix(), "" | "usize")
            && let Ok(size) = int.base10_parse()
            && is_size(size)
        {
            return Some(size);
        }
        self.wrong(value)
    }

    fn switch(&mut self, value: &ValueTokens) -> Option<Value> {
        match value.literal() {
            Some(Lit::Bool(switch)) => Some(Value::Switch(switch.value)),
            _ => self.wrong(value),
        }
    }

    fn bound(&mut self, value: &ValueTokens) -> Option<Value> {
        let problem = match value.number() {
            Ok(bound) => return Some(Value::Number(bound)),
            Err(NumberError::Text) => return self.wrong(value),
            Err(problem) => problem,
        };
        let found =
            format!("`{}` cannot be `{}`, which is {problem}", self.key.name(), value.source());
        self.refuse(self.origin.clone(), found, CLIP)
    }

    fn word(&mut self, value: &ValueTokens, words: Vec<(&'static str, Value)>) -> Option<Value> {
        let word = value.word();
        let known = words
            .into_iter()
            .find(|(name, _)| word.as_deref() == Some(*name))
            .map(|(_, meaning)| meaning);
        // Apple's gru runs forward or in reverse, never in both directions
        let known = known.filter(|meaning| {
            !self.called.is_apple() || *meaning != Value::Direction(Direction::Bidirectional)
        });
        known.or_else(|| self.wrong(value))
    }

    /// A text that is not empty.
    fn text(&mut self, value: &ValueTokens) -> Option<String> {
        match value.literal() {
            Some(Lit::Str(text)) if !text.value().is_empty() => Some(text.value()),
            _ => self.wrong(value),
        }
    }

    fn path(&mut self, value: &ValueTokens) -> Option<Value> {
        match self.text(value)? {
            path if Path::new(&path).has_root() => self.wrong(value),
            path => Some(Value::Text(path)),
        }
    }

    fn list(&mut self, value: &ValueTokens) -> Option<Vec<ValueTokens>> {
        value.list().or_else(|| self.wrong(value))
    }

    fn activations(&mut self, value: &ValueTokens) -> Option<Value> {
        let elements = self.list(value)?;
        let read: Vec<Option<Activation>> = elements.iter().map(|e| self.activation(e)).collect();
        let list: Option<Vec<Activation>> = read.into_iter().collect();
        list.map(Value::Activations)
    }

    /// Reads `tanh` or `hard_sigmoid(0.2, 0.5)`.
    fn activation(&mut self, element: &ValueTokens) -> Option<Activation> {
        let (called, arguments) = element.call().unwrap_or_else(|| (element.clone(), Vec::new()));
        let known =
            called.word().and_then(|name| Activation::takes(&name).map(|takes| (name, takes)));
        let Some((name, takes)) = known else {
            let origin = self.tokens.add(&called);
            let found = format!("`{}` is not an activation", called.source());
            return self.refuse(origin, found, Activation::WRITTEN.join(", "));
        };
        let has_defaults = Activation::new(&name, None, None).is_ok();
        let valid = match takes {
            0 => name.clone(),
            2 if !has_defaults => format!("{name}(alpha, beta)"),
            1 => format!("{name}, or {name}(alpha)"),
            _ => format!("{name}, or {name}(alpha, beta)"),
        };
        let mut numbers = [None; 2];
        for (i, argument) in arguments.iter().enumerate() {
            let origin = self.tokens.add(argument);
            let Some(slot) = numbers[..takes].get_mut(i) else {
                let found = format!("`{}` is one number too many for {name}", argument.source());
                return self.refuse(origin, found, valid);
            };
            match argument.number() {
                Ok(number) => *slot = Some(number),
                Err(problem) => {
                    let found = format!("`{}` is {problem}", argument.source());
                    return self.refuse(origin, found, valid);
                }
            }
        }
        match Activation::new(&name, numbers[0], numbers[1]) {
            Ok(activation) => Some(activation),
            // a number is missing, and the activation has no defaults
            Err(error) => {
                let origin = self.tokens.add(element);
                self.refuse(
                    origin,
                    format!("`{}`: {error}", element.source()),
                    format!("{name}(alpha, beta)"),
                )
            }
        }
    }

    /// Reads the value of a flag: true or false for a switch, a word, a number, or a list.
    pub(super) fn flag(&mut self, value: &ValueTokens, flag: &Flag) -> Option<Value> {
        match flag.operand {
            FlagValue::Switch => self.switch(value),
            FlagValue::Word(..) | FlagValue::NamedWord(..) => {
                let given = value.source();
                let words = flag.words();
                let word = words.iter().find(|word| in_macros(word.text) == given);
                word.map(|word| vec![word.text.to_owned()].into()).or_else(|| self.wrong(value))
            }
            FlagValue::Number(_) => match value.digits().map(|text| (flag.check(&text), text)) {
                Some((Ok(()), text)) => Some(vec![text].into()),
                Some((Err(valid), text)) => {
                    let found = format!("`{}` cannot be `{text}`", self.key.name());
                    self.refuse(self.origin.clone(), found, valid)
                }
                None => self.wrong(value),
            },
            FlagValue::List(..) => self.texts(value, flag, |element| element.word()),
            FlagValue::Text(_) | FlagValue::Each(_) | FlagValue::Texts(_) => {
                self.texts(value, flag, |element| match element.literal() {
                    Some(Lit::Str(text)) => Some(text.value()),
                    _ => None,
                })
            }
        }
    }

    /// Reads the elements of a list one by one.
    fn texts(
        &mut self,
        value: &ValueTokens,
        flag: &Flag,
        text: fn(&ValueTokens) -> Option<String>,
    ) -> Option<Value> {
        let elements = self.list(value)?;
        let mut texts = Vec::new();
        for element in &elements {
            let text = text(element).unwrap_or_default();
            match flag.check(&text) {
                Ok(()) => texts.push(text),
                Err(valid) => {
                    let origin = self.tokens.add(element);
                    let (name, source) = (self.key.name(), element.source());
                    let found = format!("`{name}` cannot hold `{source}`");
                    self.refuse::<()>(origin, found, valid);
                }
            }
        }
        (texts.len() == elements.len()).then_some(Value::Texts(texts))
    }
}
