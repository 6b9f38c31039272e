//! The attributes of a layer's `data` element, parsed as words, numbers and truth values.

use std::collections::HashSet;

use super::layers::{GraphReader, SAVE_AGAIN};
use super::text::{parse_integer, parse_signed};
use super::xml::{AttributeId, Document, ElementId};
use crate::diagnostic::{Diagnostic, Origin, quoted};
use crate::model::limits::MOST_DIMS;
use crate::model::{ElementType, WrongAttribute, parse_f32};

/// Supported element types of Parameters and variables.
pub(super) const COMPUTED: [ElementType; 9] = [
    ElementType::F32,
    ElementType::F16,
    ElementType::Bf16,
    ElementType::F64,
    ElementType::I8,
    ElementType::U8,
    ElementType::I32,
    ElementType::I64,
    ElementType::Bool,
];

/// The presence of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// A missing attribute is an error.
    Required,
    /// A missing attribute is an empty list.
    Optional,
}

/// The text of an attribute, and its place in the file.
pub(super) struct GivenAttribute<'a> {
    pub(super) text: &'a str,
    pub(super) origin: Origin,
}

/// The attributes of a layer's `data` element, with the set of attributes taken so far.
pub(super) struct Data {
    /// Index of the layer.
    pub(super) index: usize,
    /// Number of the operation set with the layer's definition.
    pub(super) set: u64,
    element: ElementId,
    has_element: bool,
    taken: HashSet<AttributeId>,
    /// All names requested so far, present or not.
    known: Vec<String>,
}

impl Data {
    /// The place of an attribute in the file. `None` if the attribute was not taken.
    pub(super) fn origin_of(&self, document: &Document, name: &str) -> Option<Origin> {
        let attribute =
            document.attribute(self.element, name).filter(|a| self.taken.contains(a))?;
        Some(document.attribute_origin(attribute))
    }

    /// The attributes taken so far, by name, with their places in the file.
    pub(super) fn places(&self, document: &Document) -> Vec<(String, Origin)> {
        let taken = document.attributes(self.element).filter(|a| self.taken.contains(a));
        let name_and_origin =
            |a| (document.attribute_name(a).to_owned(), document.attribute_origin(a));
        taken.map(name_and_origin).collect()
    }

    /// The text of an attribute, without taking the attribute.
    pub(super) fn peek<'a>(&self, document: &'a Document, name: &str) -> Option<&'a str> {
        let attribute = document.attribute(self.element, name).filter(|_| self.has_element)?;
        Some(document.value(attribute).trim())
    }

    /// Takes an attribute. `None` if the attribute is missing.
    pub(super) fn take<'a>(
        &mut self,
        document: &'a Document,
        name: &str,
    ) -> Option<GivenAttribute<'a>> {
        if !self.known.iter().any(|known| known == name) {
            self.known.push(name.to_owned());
        }
        let attribute = document.attribute(self.element, name).filter(|_| self.has_element)?;
        self.taken.insert(attribute);
        Some(GivenAttribute {
            text: document.value(attribute),
            origin: document.attribute_origin(attribute),
        })
    }
}

impl<'a> GraphReader<'a, '_> {
    /// The attributes of a layer, and its operation set.
    pub(super) fn data(&self, index: usize, set: u64) -> Data {
        let layer = self.layers[index].element;
        let data = self.document.children_named(layer, "data").next();
        let (element, has_element) = (data.unwrap_or(layer), data.is_some());
        Data { index, set, element, has_element, taken: HashSet::new(), known: Vec::new() }
    }

    /// Refuses the attributes not taken. `has_no_effect`: true for the name and the text of an
    /// attribute without effect.
    pub(super) fn left_over(&mut self, data: &Data, has_no_effect: impl Fn(&str, &str) -> bool) {
        if !data.has_element {
            return;
        }
        let document = self.document;
        let type_name = self.layers[data.index].type_name;
        let known = if data.known.is_empty() { "none".to_owned() } else { data.known.join(", ") };
        for attribute in document.attributes(data.element).filter(|a| !data.taken.contains(a)) {
            let (name, text) = (document.attribute_name(attribute), document.value(attribute));
            if has_no_effect(name, text) {
                continue;
            }
            let origin = document.attribute_origin(attribute);
            let refused =
                Diagnostic::unknown_attribute(origin, name, &quoted(type_name), known.clone());
            self.report(data.index, refused);
        }
    }

    /// A required attribute. `None` after an error.
    pub(super) fn required(
        &mut self,
        data: &mut Data,
        name: &str,
        valid: &str,
    ) -> Option<GivenAttribute<'a>> {
        let given = data.take(self.document, name);
        if given.is_none() {
            let origin = self.document.origin(data.element);
            let help =
                format!("add the attribute {name} to the data element, or save the model again");
            self.error(
                data.index,
                origin,
                format!("the attribute {name} is missing"),
                format!("{name}: {valid}"),
                help,
            );
        }
        given
    }

    /// A required element type out of `elements`. `None` after an error.
    pub(super) fn element_type(
        &mut self,
        data: &mut Data,
        name: &str,
        elements: &[ElementType],
    ) -> Option<ElementType> {
        let valid = elements.iter().map(|element| element.name()).collect::<Vec<_>>().join(", ");
        let given = self.required(data, name, &valid)?;
        let element =
            elements.iter().copied().find(|e| e.name().eq_ignore_ascii_case(given.text.trim()));
        if element.is_none() {
            let help = "give the tensor a type that is read, with a Convert behind it if need be";
            self.error(
                data.index,
                given.origin,
                format!("{name}={}", quoted(given.text)),
                valid,
                help,
            );
        }
        element
    }

    /// An attribute taken earlier.
    pub(super) fn given(&self, data: &Data, name: &str) -> Option<GivenAttribute<'a>> {
        let origin = data.origin_of(self.document, name)?;
        let text = self
            .document
            .attribute(data.element, name)
            .map(|attribute| self.document.value(attribute))?;
        Some(GivenAttribute { text, origin })
    }

    /// The meaning of an attribute's word, compared without case. `default`: the word of a missing
    /// attribute. `None` after an error, or if `words` lacks the default.
    pub(super) fn word<T: Copy>(
        &mut self,
        data: &mut Data,
        name: &'static str,
        default: &'static str,
        words: &[(&'static str, T)],
    ) -> Option<T> {
        let given = data.take(self.document, name);
        let text = given.as_ref().map_or(default, |given| given.text.trim());
        let value =
            words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text)).map(|(_, value)| *value);
        if let (None, Some(given)) = (value, given) {
            let valid = words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
            self.error(
                data.index,
                given.origin,
                format!("{name}={}", quoted(given.text)),
                valid,
                "write one of these",
            );
        }
        value
    }

    /// A truth value. Without a default, the attribute is required. `None` after an error.
    pub(super) fn boolean(
        &mut self,
        data: &mut Data,
        name: &'static str,
        default: Option<bool>,
    ) -> Option<bool> {
        const VALID: &str = "true, false, 1, 0";
        let given = match default {
            Some(default) => match data.take(self.document, name) {
                Some(given) => given,
                None => return Some(default),
            },
            None => self.required(data, name, VALID)?,
        };
        // spaces are not trimmed: OpenVINO ignores a text with spaces
        match given.text.to_ascii_lowercase().as_str() {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => {
                let found = format!("{name}={} is not a truth value", quoted(given.text));
                self.error(data.index, given.origin, found, VALID, "write one of these");
                None
            }
        }
    }

    /// An integer within `range`. Without a default, the attribute is required. `None` after an
    /// error.
    pub(super) fn integer(
        &mut self,
        data: &mut Data,
        name: &'static str,
        default: Option<i64>,
        range: std::ops::RangeInclusive<i64>,
    ) -> Option<i64> {
        let valid = match *range.start() {
            i64::MIN => "an integer".to_owned(),
            first => format!("an integer of {first} or more"),
        };
        let given = match default {
            Some(default) => match data.take(self.document, name) {
                Some(given) => given,
                None => return Some(default),
            },
            None => self.required(data, name, &valid)?,
        };
        let value = parse_signed(given.text).filter(|value| range.contains(value));
        if value.is_none() {
            self.error(
                data.index,
                given.origin,
                format!("{name}={}", quoted(given.text)),
                valid,
                "correct the number",
            );
        }
        value
    }

    /// A required number. `None` after an error.
    pub(super) fn number(&mut self, data: &mut Data, name: &'static str) -> Option<f32> {
        const VALID: &str = "a number, with a point where it has a fraction";
        let given = self.required(data, name, VALID)?;
        let number = parse_f32(given.text);
        if let Err(problem) = number {
            let found = format!("{name}={} is {problem}", quoted(given.text));
            self.error(data.index, given.origin, found, VALID, "correct the number");
        }
        number.ok()
    }

    /// A required number that becomes a constant of the model. NaN and infinity are errors, as in
    /// attributes of operations. `None` after an error.
    pub(super) fn finite(&mut self, data: &mut Data, name: &'static str) -> Option<f32> {
        let number = self.number(data, name)?;
        let type_name = self.layers[data.index].type_name;
        let Some(wrong) = WrongAttribute::not_finite(type_name, name, number) else {
            return Some(number);
        };
        let given = self.given(data, name)?;
        self.report(data.index, wrong.problem.at(given.origin));
        None
    }

    /// A list of truth values, written as 0 and 1 separated by commas. An empty text is an empty
    /// list. `None` after an error.
    pub(super) fn mask(
        &mut self,
        data: &mut Data,
        name: &'static str,
        presence: Presence,
    ) -> Option<Vec<bool>> {
        const VALID: &str = "0 and 1 separated by commas, one for each dimension, or nothing";
        let given = match presence {
            Presence::Required => self.required(data, name, VALID)?,
            Presence::Optional => match data.take(self.document, name) {
                Some(given) => given,
                None => return Some(Vec::new()),
            },
        };
        if given.text.trim().is_empty() {
            return Some(Vec::new());
        }
        let bits = given.text.split(',').map(|text| match parse_integer(text) {
            Some(0) => Some(false),
            Some(1) => Some(true),
            _ => None,
        });
        let mask: Option<Vec<bool>> = bits.take(MOST_DIMS + 1).collect();
        let mask = mask.filter(|mask| mask.len() <= MOST_DIMS);
        if mask.is_none() {
            self.error(
                data.index,
                given.origin,
                format!("{name}={}", quoted(given.text)),
                VALID,
                SAVE_AGAIN,
            );
        }
        mask
    }

    /// A list of integers separated by commas. An empty text is an empty list. `None` after an
    /// error.
    pub(super) fn integers(
        &mut self,
        data: &mut Data,
        name: &str,
        presence: Presence,
    ) -> Option<Vec<i64>> {
        const VALID: &str =
            "integers separated by commas, one for each dimension behind the channels";
        let given = match presence {
            Presence::Required => self.required(data, name, VALID)?,
            Presence::Optional => match data.take(self.document, name) {
                Some(given) => given,
                None => return Some(Vec::new()),
            },
        };
        if given.text.trim().is_empty() {
            return Some(Vec::new());
        }
        let numbers: Option<Vec<i64>> =
            given.text.split(',').take(MOST_DIMS + 1).map(parse_signed).collect();
        let numbers = numbers.filter(|numbers| numbers.len() <= MOST_DIMS);
        if numbers.is_none() {
            self.error(
                data.index,
                given.origin,
                format!("{name}={}", quoted(given.text)),
                VALID,
                SAVE_AGAIN,
            );
        }
        numbers
    }

    /// As [`Self::integers`], for integers of 0 or more.
    pub(super) fn sizes(
        &mut self,
        data: &mut Data,
        name: &str,
        presence: Presence,
    ) -> Option<Vec<usize>> {
        let numbers = self.integers(data, name, presence)?;
        let sizes: Option<Vec<usize>> = numbers.iter().map(|&n| usize::try_from(n).ok()).collect();
        if sizes.is_none() {
            let origin =
                data.origin_of(self.document, name).unwrap_or_else(|| self.origin(data.index));
            self.error(
                data.index,
                origin,
                format!("{name}={numbers:?}"),
                "integers of 0 or more",
                "correct the attribute",
            );
        }
        sizes
    }
}
