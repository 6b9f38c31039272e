//! Parser of the macros: the tokens `pub Name<key = value, ...>` become a `Declaration`. Every
//! value keeps its tokens, so that errors point at them.

mod checks;
mod form;
mod tokens;
mod written;

use proc_macro2::{Ident, TokenStream};
use syn::ext::IdentExt;

use super::keys::{Key, Keys, Macro, Spanned, Value};
use super::layer::Declared;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::request::flag::FLAGS;
use crate::request::{Options, WeightsAs};
use checks::is_tensor_file;
pub(crate) use checks::too_large;
pub(crate) use form::TokenTable;
use form::{Form, NAME, split};
use tokens::Reader;

/// The declaration in a macro call.
pub(crate) struct Declaration {
    pub(crate) called: Macro,
    /// Attributes and doc comments for the generated type.
    pub(crate) attributes: TokenStream,
    pub(crate) visibility: TokenStream,
    pub(crate) name: Ident,
    /// All keys with valid values, those of options included.
    pub(crate) keys: Keys,
    /// False after an error in a key that reading the model file requires, such as the batch size.
    pub(crate) readable: bool,
    /// Options of the generated code.
    pub(crate) options: Options,
}

/// The result of [`parse`].
pub(crate) struct Parsed {
    /// `None` after an error of syntax.
    pub(crate) declaration: Option<Declaration>,
    pub(crate) tokens: TokenTable,
    pub(crate) problems: Diagnostics,
}

/// Parses a macro's tokens. Reports all errors in the syntax, in keys and in the form of values.
pub(crate) fn parse(called: Macro, input: TokenStream) -> Parsed {
    let mut tokens = TokenTable::default();
    let mut problems = Diagnostics::default();
    let declaration = match Form::parse(input) {
        Ok(form) => Some(interpret(called, form, &mut tokens, &mut problems)),
        Err(error) => {
            // the error has a span but no tokens, so an identifier carries the span
            let origin = tokens.add(Ident::new("_at", error.span()));
            problems.push(Diagnostic::error(origin, error.to_string()).valid(example(called)));
            None
        }
    };
    Parsed { declaration, tokens, problems }
}

fn example(called: Macro) -> String {
    let steps = if called.is_sequence() { ", steps = 10" } else { "" };
    format!("{}(pub Denoiser<hidden_size = 128, input_size = 16{steps}>);", called.name())
}

fn interpret(
    called: Macro,
    form: Form,
    tokens: &mut TokenTable,
    problems: &mut Diagnostics,
) -> Declaration {
    tokens.add(&form.name);
    let name = Some(form.name.unraw().to_string());
    let mut declaration = Declaration {
        called,
        attributes: form.attributes,
        visibility: form.visibility,
        name: form.name,
        keys: Keys::default(),
        readable: true,
        options: Options::default()
            .with_name(name)
            .with_weights_as(WeightsAs::Inline)
            .with_runtime(true),
    };
    // keys with a wrong value and misspelt keys count, too: they are neither missing nor valid
    // twice
    let mut seen: Vec<Key> = Vec::new();
    for entry in form.entries {
        let Some((name, value)) = split(entry.clone()) else {
            let origin = tokens.add(entry);
            problems.push(
                Diagnostic::error(origin, "this is not of the form `key = value`")
                    .valid(format!("for example {}", example(called))),
            );
            continue;
        };
        let Some(key) = find(called, &name, tokens, problems) else {
            // a misspelt key does not count as missing
            seen.extend(closest(called, &name.unraw().to_string()));
            continue;
        };
        if seen.contains(&key) {
            let found = format!("`{}` is given twice", key.name());
            problems
                .push(Diagnostic::error(tokens.add(&name), found).help("remove one of the two"));
            continue;
        }
        seen.push(key);
        let origin = tokens.add(&entry);
        let read = Reader { called, key, origin: origin.clone(), tokens, problems }.read(value);
        match read {
            Some(value) => declaration.set(key, Spanned { value, origin }),
            None if [Key::Model, Key::Dim, Key::Const, Key::Weights, Key::Batch].contains(&key) => {
                declaration.readable = false
            }
            None => {}
        }
    }
    declaration.check_keys(&seen, problems);
    declaration
}

fn find(
    called: Macro,
    name: &Ident,
    tokens: &mut TokenTable,
    problems: &mut Diagnostics,
) -> Option<Key> {
    let text = name.unraw().to_string();
    if let Some(key) = called.keys().find(|key| key.name() == text) {
        return Some(key);
    }
    let reason = FLAGS.iter().find(|flag| flag.key_name() == text).and_then(|f| f.why_no_key);
    let mut diagnostic = match Key::of_macros().find(|key| key.name() == text) {
        Some(key) => {
            let unknown_key = Diagnostic::error(
                tokens.add(name),
                format!("`{text}` is not a key of {}", called.name()),
            );
            match key.elsewhere() {
                Some(help) => unknown_key.help(help),
                None => unknown_key,
            }
        }
        None => Diagnostic::error(tokens.add(name), format!("unknown key `{text}`")),
    };
    let valid: Vec<&str> = called.keys().map(Key::name).collect();
    diagnostic = diagnostic.valid(valid.join(", "));
    if let Some(reason) = reason {
        diagnostic = diagnostic.help(reason);
    } else if let Some(key) = closest(called, &text) {
        diagnostic = diagnostic.help(format!("did you mean `{}`?", key.name()));
    }
    problems.push(diagnostic);
    None
}

/// The most similar key. `None` if no key is similar.
fn closest(called: Macro, text: &str) -> Option<Key> {
    let distance = |key: &Key| edit_distance(text, key.name());
    called.keys().min_by_key(distance).filter(|key| distance(key) <= key.name().len() / 3)
}

/// Levenshtein's distance: the number of letters to insert, delete or replace.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let change = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

impl Declaration {
    fn set(&mut self, key: Key, value: Spanned<Value>) {
        key.choose(&mut self.options, &value.value);
        self.keys.set(key, value);
    }

    /// The model's file, relative to the folder of Cargo.toml.
    pub(crate) fn model_file(&self) -> Option<Spanned<String>> {
        self.keys.get(Key::Model)
    }

    /// The file of weights, relative to the folder of Cargo.toml: a `.bin` with a model, else a
    /// `.safetensors`. `None`: the `.bin` next to the model, or weights given at run time.
    pub(crate) fn weights_file(&self) -> Option<Spanned<String>> {
        self.keys.get(Key::Weights)
    }

    /// The `.safetensors` file with the weights. `None` with a model file, or without such weights.
    pub(crate) fn tensor_file(&self) -> Option<Spanned<String>> {
        // a macro of an AUGRU takes no such file, as PyTorch has no AUGRU
        let taken = self.model_file().is_none() && self.called.takes(Key::Prefix);
        self.weights_file().filter(|said| taken && is_tensor_file(&said.value))
    }

    /// The keys that declare the layers in a file of PyTorch's weights. `None` if a sequence lacks
    /// the key `steps`.
    pub(crate) fn keys_of_file(&self) -> Option<Keys> {
        if self.called.is_sequence() && self.keys.origin(Key::Steps).is_none() {
            return None;
        }
        let mut keys = self.keys.clone();
        keys.set(Key::Cell, Spanned::unplaced(self.called.family()));
        Some(keys)
    }

    /// The declared layers without weights. `sizes`: hidden size and input size in a file of
    /// tensors. `None` if a size or the number of steps is unknown.
    pub(crate) fn declared(&self, sizes: Option<(usize, usize)>) -> Option<Declared> {
        let name = Spanned { value: self.name.unraw().to_string(), origin: NAME };
        let size = |key: Key, told: Option<usize>| {
            self.keys.get(key).or_else(|| told.map(|value| Spanned { value, origin: NAME }))
        };
        let hidden_size = size(Key::HiddenSize, sizes.map(|(hidden, _)| hidden))?;
        let input_size = size(Key::InputSize, sizes.map(|(_, input)| input))?;
        if self.called.is_sequence() && self.keys.origin(Key::Steps).is_none() {
            return None;
        }
        Some(Declared {
            keys: self.keys.clone(),
            is_apples: self.called.is_apple(),
            ..Declared::new(self.called.family(), self.called.name(), name, hidden_size, input_size)
        })
    }
}

#[cfg(test)]
mod tests;
