//! The syntax of a declaration: attributes, visibility, a name, and unparsed entries.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Token, token};

use crate::diagnostic::Origin;

/// The tokens behind [`Origin::Token`], by index.
#[derive(Default)]
pub(crate) struct TokenTable(Vec<TokenStream>);

/// The type's name is always token 0.
pub(super) const NAME: Origin = Origin::Token(0);

impl TokenTable {
    /// Stores tokens. Returns the origin by which [`Self::get`] finds them.
    pub(super) fn add(&mut self, tokens: impl ToTokens) -> Origin {
        self.0.push(tokens.into_token_stream());
        Origin::Token(u32::try_from(self.0.len() - 1).unwrap_or(u32::MAX))
    }

    /// The tokens of an origin. `None` for other kinds of origins.
    pub(crate) fn get(&self, origin: &Origin) -> Option<&TokenStream> {
        match origin {
            Origin::Token(i) => self.0.get(usize::try_from(*i).ok()?),
            Origin::Unknown | Origin::Text { .. } => None,
        }
    }
}

/// A declaration with unparsed entries.
pub(super) struct Form {
    pub(super) attributes: TokenStream,
    pub(super) visibility: TokenStream,
    pub(super) name: Ident,
    /// The tokens between commas.
    pub(super) entries: Vec<TokenStream>,
}

impl Form {
    /// Parses the tokens of a macro call.
    pub(super) fn parse(input: TokenStream) -> syn::Result<Self> {
        Self::recognise.parse2(input)
    }

    fn recognise(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.is_empty() {
            return Err(syn::Error::new(Span::call_site(), "nothing is declared"));
        }
        let (mut attributes, mut visibility) = (TokenStream::new(), TokenStream::new());
        while input.peek(Token![#]) && input.peek2(token::Bracket) {
            attributes.extend([input.parse::<TokenTree>()?, input.parse()?]);
        }
        if input.peek(Token![pub]) {
            visibility.extend([input.parse::<TokenTree>()?]);
            if input.peek(token::Paren) {
                visibility.extend([input.parse::<TokenTree>()?]);
            }
        }
        let name = input.parse()?;
        input.parse::<Token![<]>()?;
        let mut entries = Vec::new();
        let mut entry = TokenStream::new();
        loop {
            if input.is_empty() {
                return Err(input.error("`>` is missing at the end"));
            }
            if input.peek(Token![>]) || input.peek(Token![,]) {
                if !entry.is_empty() {
                    entries.push(std::mem::take(&mut entry));
                } else if input.peek(Token![,]) {
                    return Err(input.error("a key is missing before this comma"));
                }
                if input.parse::<Option<Token![,]>>()?.is_none() {
                    break;
                }
            } else {
                entry.extend([input.parse::<TokenTree>()?]);
            }
        }
        input.parse::<Token![>]>()?;
        if !input.is_empty() {
            return Err(input.error("nothing may follow the `>`"));
        }
        Ok(Self { attributes, visibility, name, entries })
    }
}

/// Splits `key = value`.
pub(super) fn split(entry: TokenStream) -> Option<(Ident, TokenStream)> {
    let parts = |input: ParseStream<'_>| {
        let name = input.call(Ident::parse_any)?;
        input.parse::<Token![=]>()?;
        Ok((name, input.parse::<TokenStream>()?))
    };
    parts.parse2(entry).ok()
}
