//! Values in their general form: literals, words, calls and lists. syn could parse them as
//! expressions, but its expressions are three quarters of syn's compile time, in the first build of
//! every user of a macro.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::Lit;

use crate::model::{NumberError, parse_f32};

/// Maximum length of a value in a message.
const LONGEST: usize = 40;

/// The tokens of a value, without the invisible groups around fragments of `macro_rules!`.
#[derive(Clone, Debug)]
pub(super) struct ValueTokens(Vec<TokenTree>);

impl ValueTokens {
    /// A value without invisible groups around it.
    pub(super) fn new(tokens: impl IntoIterator<Item = TokenTree>) -> Self {
        let mut tokens: Vec<TokenTree> = tokens.into_iter().collect();
        while let [TokenTree::Group(group)] = &tokens[..]
            && group.delimiter() == Delimiter::None
        {
            tokens = group.stream().into_iter().collect();
        }
        Self(tokens)
    }

    /// True if there are no tokens.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A number without a sign, a text, `true` or `false`.
    pub(super) fn literal(&self) -> Option<Lit> {
        let [TokenTree::Literal(_) | TokenTree::Ident(_)] = &self.0[..] else { return None };
        syn::parse2(self.to_token_stream()).ok()
    }

    /// A number.
    pub(super) fn number(&self) -> Result<f32, NumberError> {
        parse_f32(&self.digits().ok_or(NumberError::Text)?)
    }

    /// The decimal digits of a number with its sign, without suffix and underscores.
    pub(super) fn digits(&self) -> Option<String> {
        let (sign, magnitude) = match &self.0[..] {
            [TokenTree::Punct(sign), rest @ ..] if sign.as_char() == '-' => {
                ("-", Self::new(rest.iter().cloned()))
            }
            _ => ("", self.clone()),
        };
        let is_of_f32 = |suffix: &str| matches!(suffix, "" | "f32");
        match magnitude.literal()? {
            Lit::Float(float) if is_of_f32(float.suffix()) => {
                Some(format!("{sign}{}", float.base10_digits()))
            }
            Lit::Int(int) if is_of_f32(int.suffix()) => {
                Some(format!("{sign}{}", int.base10_digits()))
            }
            _ => None,
        }
    }

    /// A single word.
    pub(super) fn word(&self) -> Option<String> {
        match &self.0[..] {
            [TokenTree::Ident(word)] => Some(word.to_string()),
            _ => None,
        }
    }

    /// True if the value is a path, whose meaning a macro cannot see: `SIZE`, `sizes::hidden`.
    pub(super) fn is_path(&self) -> bool {
        let is_colon =
            |tree: &TokenTree| matches!(tree, TokenTree::Punct(punct) if punct.as_char() == ':');
        let constant = |word: &Ident| word.to_string().contains(char::is_uppercase);
        match &self.0[..] {
            [TokenTree::Ident(word)] => constant(word),
            [.., TokenTree::Ident(_)] => {
                self.0.iter().any(is_colon)
                    && self
                        .0
                        .iter()
                        .all(|tree| is_colon(tree) || matches!(tree, TokenTree::Ident(_)))
            }
            _ => false,
        }
    }

    /// The function and the arguments of `called(argument, ...)`.
    pub(super) fn call(&self) -> Option<(Self, Vec<Self>)> {
        let [called @ .., TokenTree::Group(arguments)] = &self.0[..] else { return None };
        let called = Self::new(called.iter().cloned());
        let is_call = arguments.delimiter() == Delimiter::Parenthesis
            && (called.word().is_some() || called.is_path());
        Some((called, split(arguments.stream()).filter(|_| is_call)?))
    }

    /// The elements of `[a, b, c]`.
    pub(super) fn list(&self) -> Option<Vec<Self>> {
        match &self.0[..] {
            [TokenTree::Group(group)] if group.delimiter() == Delimiter::Bracket => {
                split(group.stream())
            }
            _ => None,
        }
    }

    /// The source of the value, truncated to [`LONGEST`] characters.
    pub(super) fn source(&self) -> String {
        // tokens print with spaces between, but a sign belongs directly in front of its number
        let (sign, rest) = match &self.0[..] {
            [TokenTree::Punct(sign), rest @ ..] if "-!*".contains(sign.as_char()) => {
                (sign.to_string(), rest)
            }
            all => (String::new(), all),
        };
        let text = sign + &rest.iter().cloned().collect::<TokenStream>().to_string();
        match text.char_indices().nth(LONGEST) {
            Some((at, _)) => format!("{}…", &text[..at]),
            None => text,
        }
    }
}

impl ToTokens for ValueTokens {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.extend(self.0.iter().cloned());
    }
}

/// The values between commas. A trailing comma is allowed.
fn split(tokens: TokenStream) -> Option<Vec<ValueTokens>> {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let is_comma =
        |tree: &TokenTree| matches!(tree, TokenTree::Punct(punct) if punct.as_char() == ',');
    let mut values: Vec<ValueTokens> =
        trees.split(is_comma).map(|value| ValueTokens::new(value.iter().cloned())).collect();
    // a last value without tokens: behind a trailing comma, or in an empty list
    values.pop_if(|last| last.is_empty());
    values.iter().all(|value| !value.is_empty()).then_some(values)
}
