//! Texts of expressions and subscripts.

use std::fmt::{self, Display, Formatter, Write};

/// The text of an expression.
pub(in crate::emit) struct Text {
    pub(in crate::emit) text: String,
    pub(in crate::emit) kind: TextKind,
}

/// The binding strength of an expression as an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::emit) enum TextKind {
    /// A literal.
    Number,
    /// A name, a call.
    Atom,
    /// A product or quotient: no parentheses next to `+` and `-` in C.
    Product,
    /// Any other expression with an operator.
    Compound,
}

impl Text {
    pub(in crate::emit) fn number(text: impl Into<String>) -> Self {
        Self { text: text.into(), kind: TextKind::Number }
    }

    pub(in crate::emit) fn atom(text: impl Into<String>) -> Self {
        Self { text: text.into(), kind: TextKind::Atom }
    }

    pub(in crate::emit) fn product(text: impl Into<String>) -> Self {
        Self { text: text.into(), kind: TextKind::Product }
    }

    pub(in crate::emit) fn compound(text: impl Into<String>) -> Self {
        Self { text: text.into(), kind: TextKind::Compound }
    }

    /// The operand, in parentheses if needed.
    pub(in crate::emit) fn operand(self) -> String {
        match self.kind {
            TextKind::Number | TextKind::Atom => self.text,
            TextKind::Product | TextKind::Compound => format!("({})", self.text),
        }
    }
}

/// An offset and multiples of counters.
#[derive(Clone)]
pub(in crate::emit) struct Subscript {
    offset: usize,
    /// The largest value.
    last: usize,
    /// The positive terms, then the negative terms, in this order to avoid values below 0.
    terms: [String; 2],
}

impl Subscript {
    pub(super) fn new(offset: usize) -> Self {
        Self { offset, last: offset, terms: [String::new(), String::new()] }
    }

    /// The largest value.
    pub(in crate::emit) fn last(&self) -> usize {
        self.last
    }

    /// The value, if the subscript has no counters.
    pub(in crate::emit) fn constant(&self) -> Option<usize> {
        self.terms.iter().all(String::is_empty).then_some(self.offset)
    }

    /// The subscript of the element `by` elements after this one.
    pub(super) fn moved(&self, by: isize) -> Self {
        let offset = self
            .offset
            .checked_add_signed(by)
            .expect("emit: a copy reads and writes from the start on");
        Self { offset, last: self.last.saturating_add_signed(by.max(0)), ..self.clone() }
    }

    /// Adds a multiple of the counter of a loop with `count` iterations.
    pub(super) fn add_counter(&mut self, counter: &str, count: usize, stride: isize) {
        self.last += (count - 1) * usize::try_from(stride).unwrap_or(0);
        self.add(counter, stride);
    }

    pub(in crate::emit) fn add(&mut self, counter: &str, stride: isize) {
        let (sign, terms) = if stride < 0 { ('-', 1) } else { ('+', 0) };
        let _ = match stride.unsigned_abs() {
            0 => Ok(()),
            1 => write!(self.terms[terms], " {sign} {counter}"),
            stride => write!(self.terms[terms], " {sign} {counter} * {stride}"),
        };
    }
}

impl Display for Subscript {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { offset, terms: [added, subtracted], .. } = self;
        match added.strip_prefix(" + ") {
            Some(added) if *offset == 0 => write!(f, "{added}{subtracted}"),
            _ => write!(f, "{offset}{added}{subtracted}"),
        }
    }
}

/// A finite f32 in a notation that both languages read back exactly; in decimal if short.
pub(in crate::emit) fn decimal(value: f32) -> String {
    let text = format!("{value:?}");
    debug_assert_eq!(text.parse::<f32>().map(f32::to_bits), Ok(value.to_bits()));
    text
}
