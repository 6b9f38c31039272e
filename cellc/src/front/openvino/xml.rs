//! Parses XML into a tree of elements with their positions in the text.
//!
//! The tree is an arena with indices: deep or wide documents do not exhaust the stack, and every
//! step is linear in the length of the text.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use quick_xml::XmlVersion;
use quick_xml::encoding::{DetectedEncoding, detect_encoding};
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use crate::diagnostic::{Diagnostic, Origin, SourceText, quoted};
use crate::front::bounded::Limit;

/// Maximum size of the text in bytes, before and after transcoding.
const LARGEST_TEXT: usize = 1 << 28;
/// Limit for the file.
pub(super) const LIMIT: Limit =
    Limit { file_kind: "the text of a model", bytes: LARGEST_TEXT as u64 };
/// Maximum number of elements, and of attributes.
const MOST_ELEMENTS: usize = 1 << 23;

/// An element: an index into the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ElementId(u32);

/// An attribute: an index into the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct AttributeId(u32);

#[derive(Clone, Copy)]
struct Span {
    start: u32,
    end: u32,
}

impl Span {
    fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

struct XmlElement {
    /// The start tag, from `<` to `>`.
    tag: Span,
    name: Span,
    /// Indices into the attributes.
    attributes: Span,
    first_child: Option<ElementId>,
    last_child: Option<ElementId>,
    next_sibling: Option<ElementId>,
}

struct Attribute {
    name: Span,
    value: Span,
}

/// A well-formed document.
pub(super) struct Document {
    source: Arc<SourceText>,
    elements: Vec<XmlElement>,
    attributes: Vec<Attribute>,
    /// Attribute values that differ from the source text, because references are resolved or line
    /// ends and tabs replaced by spaces.
    normalized: HashMap<AttributeId, String>,
    /// Character data of elements, by index. White space alone is omitted.
    texts: HashMap<u32, String>,
}

impl Document {
    /// Parses a document from the bytes of a file.
    ///
    /// # Errors
    /// If the bytes are not well-formed XML, are in an unsupported encoding, exceed a limit of
    /// size, or have a document type declaration.
    pub(super) fn parse(name: &str, bytes: &[u8]) -> Result<Self, Diagnostic> {
        let text = match transcode(bytes) {
            Ok(text) if text.len() <= LARGEST_TEXT => text,
            Ok(_) => return Err(NotText::new("", too_large(), "split the model").diagnostic(name)),
            Err(problem) => return Err(problem.diagnostic(name)),
        };
        let source = Arc::new(SourceText { name: name.to_owned(), text });
        Parser::new(&source).run()
    }

    /// The root element.
    pub(super) fn root(&self) -> ElementId {
        ElementId(0)
    }

    /// An element's name.
    pub(super) fn name(&self, id: ElementId) -> &str {
        &self.source.text[self.element(id).name.range()]
    }

    /// The elements directly inside an element, in order.
    pub(super) fn children(&self, id: ElementId) -> impl Iterator<Item = ElementId> + '_ {
        std::iter::successors(self.element(id).first_child, |&id| self.element(id).next_sibling)
    }

    /// The child elements of the given name, in order.
    pub(super) fn children_named<'a>(
        &'a self,
        id: ElementId,
        name: &'a str,
    ) -> impl Iterator<Item = ElementId> + 'a {
        self.children(id).filter(move |&child| self.name(child) == name)
    }

    /// The character data directly inside an element, trimmed.
    pub(super) fn text(&self, id: ElementId) -> &str {
        self.texts.get(&id.0).map_or("", |text| text.trim())
    }

    /// All attributes of an element, in order.
    pub(super) fn attributes(&self, id: ElementId) -> impl Iterator<Item = AttributeId> + '_ {
        let range = self.element(id).attributes;
        (range.start..range.end).map(AttributeId)
    }

    /// The attribute of the given name.
    pub(super) fn attribute(&self, id: ElementId, name: &str) -> Option<AttributeId> {
        self.attributes(id).find(|&a| self.attribute_name(a) == name)
    }

    /// An attribute's name.
    pub(super) fn attribute_name(&self, id: AttributeId) -> &str {
        &self.source.text[self.attributes[id.0 as usize].name.range()]
    }

    /// An attribute's value with references resolved.
    pub(super) fn value(&self, id: AttributeId) -> &str {
        match self.normalized.get(&id) {
            Some(value) => value,
            None => &self.source.text[self.attributes[id.0 as usize].value.range()],
        }
    }

    /// The position of an element's start tag.
    pub(super) fn origin(&self, id: ElementId) -> Origin {
        let tag = self.element(id).tag;
        Origin::Text {
            source: self.source.clone(),
            start: tag.start as usize,
            end: tag.end as usize,
        }
    }

    /// The position of an attribute, from its name to its closing quote.
    pub(super) fn attribute_origin(&self, id: AttributeId) -> Origin {
        let attribute = &self.attributes[id.0 as usize];
        let (start, end) = (attribute.name.start as usize, attribute.value.end as usize + 1);
        Origin::Text { source: self.source.clone(), start, end }
    }

    fn element(&self, id: ElementId) -> &XmlElement {
        &self.elements[id.0 as usize]
    }
}

fn not_xml(origin: Origin, found: String) -> Diagnostic {
    Diagnostic::error(origin, found)
        .valid(
            "a well-formed XML document whose root element is net, as OpenVINO's save_model \
            writes it",
        )
        .help("check that the file was written to its end, and save the model again")
}

fn too_large() -> String {
    format!("more than {} MiB of text", LARGEST_TEXT >> 20)
}

/// An error in decoding the text.
struct NotText {
    found: String,
    help: &'static str,
    /// The text as far as it could be decoded.
    text: String,
    /// The faulty range of the text.
    range: Range<usize>,
}

impl NotText {
    fn new(text: &str, found: String, help: &'static str) -> Self {
        Self { found, help, text: text.to_owned(), range: 0..0 }
    }

    fn diagnostic(self, name: &str) -> Diagnostic {
        let source = Arc::new(SourceText { name: name.to_owned(), text: self.text });
        let origin = Origin::Text { source, start: self.range.start, end: self.range.end };
        Diagnostic::error(origin, self.found)
            .valid(
                "UTF-8, UTF-16 with a byte order mark, or ISO-8859-1 that the XML declaration \
                names",
            )
            .help(self.help)
    }
}

/// The whole text in UTF-8, without a byte order mark.
fn transcode(bytes: &[u8]) -> Result<String, NotText> {
    if bytes.len() > LARGEST_TEXT {
        return Err(NotText::new("", too_large(), "give the .xml file, not the .bin file"));
    }
    let detected = detect_encoding(bytes);
    let little = ("UTF-16LE", u16::from_le_bytes as fn([u8; 2]) -> u16);
    let big = ("UTF-16BE", u16::from_be_bytes as fn([u8; 2]) -> u16);
    let (utf16, bom) = match detected {
        Some(DetectedEncoding::Utf8Bom) => (None, 3),
        Some(DetectedEncoding::Utf16LeBom) => (Some(little), 2),
        Some(DetectedEncoding::Utf16BeBom) => (Some(big), 2),
        Some(DetectedEncoding::Utf16LeLike) => (Some(little), 0),
        Some(DetectedEncoding::Utf16BeLike) => (Some(big), 0),
        Some(DetectedEncoding::AsciiCompatible) | None => (None, 0),
    };
    let bytes = &bytes[bom..];
    if let Some((name, unit)) = utf16 {
        let (units, rest) = bytes.as_chunks();
        let text: Option<String> =
            char::decode_utf16(units.iter().map(|bytes| unit(*bytes))).map(Result::ok).collect();
        return text.filter(|_| rest.is_empty()).ok_or_else(|| {
            let found = format!("the file starts as {name}, but is not valid in it");
            NotText::new(
                "",
                found,
                "check that the file was written to its end, or save it as UTF-8",
            )
        });
    }
    // a byte order mark overrides the declaration
    let declared = declared_encoding(bytes).filter(|_| bom == 0);
    match declared.as_deref().map(str::to_ascii_lowercase).as_deref() {
        None | Some("utf-8" | "utf8" | "us-ascii" | "ascii") => utf8(bytes),
        Some("iso-8859-1" | "iso_8859-1" | "iso8859-1" | "latin1" | "latin-1" | "l1") => {
            Ok(bytes.iter().map(|&b| char::from(b)).collect())
        }
        Some(label) => {
            let found = format!("the XML declaration names the encoding {}", quoted(label));
            let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST_DECLARATION)])
                .into_owned();
            let range = 0..text.find("?>").map_or(0, |end| end + 2);
            Err(NotText { found, help: "save the file as UTF-8", text, range })
        }
    }
}

fn utf8(bytes: &[u8]) -> Result<String, NotText> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(e) => {
            let at = e.valid_up_to();
            let text =
                String::from_utf8_lossy(&bytes[..(at + LONGEST_DECLARATION).min(bytes.len())])
                    .into_owned();
            let found = "the text is not valid UTF-8 from here on".to_owned();
            let help = "save the file as UTF-8, or name its encoding in the XML declaration";
            Err(NotText { found, help, text, range: at..at + 1 })
        }
    }
}

/// Maximum length of an XML declaration in bytes.
const LONGEST_DECLARATION: usize = 1024;

/// The encoding in the XML declaration.
fn declared_encoding(bytes: &[u8]) -> Option<String> {
    let head = &bytes[..bytes.len().min(LONGEST_DECLARATION)];
    let end = head.windows(2).position(|w| w == b"?>")? + 2;
    let declaration = std::str::from_utf8(&head[..end]).ok()?;
    match Reader::from_str(declaration).read_event() {
        Ok(Event::Decl(declaration)) => declaration.encoding()?.ok().map(Cow::into_owned),
        _ => None,
    }
}

struct Parser<'a> {
    source: &'a Arc<SourceText>,
    document: Document,
    open: Vec<ElementId>,
}

impl<'a> Parser<'a> {
    fn new(source: &'a Arc<SourceText>) -> Self {
        let document = Document {
            source: source.clone(),
            elements: Vec::new(),
            attributes: Vec::new(),
            normalized: HashMap::new(),
            texts: HashMap::new(),
        };
        Self { source, document, open: Vec::new() }
    }

    fn run(mut self) -> Result<Document, Diagnostic> {
        let mut reader = Reader::from_str(&self.source.text);
        loop {
            let start = reader.buffer_position() as usize;
            let event = reader.read_event().map_err(|e| {
                let at = reader.error_position() as usize;
                self.error(at..at + 1, format!("this is not well-formed XML: {e}"))
            })?;
            let span = start..reader.buffer_position() as usize;
            match event {
                Event::Start(tag) => {
                    let id = self.element(&tag, span)?;
                    self.open.push(id);
                }
                Event::Empty(tag) => {
                    self.element(&tag, span)?;
                }
                // the reader checks that end tags match
                Event::End(_) => {
                    self.open.pop();
                }
                Event::Text(text) => self.text(&text.xml10_content(), span)?,
                Event::CData(text) => self.text(&text.xml10_content(), span)?,
                Event::GeneralRef(reference) => {
                    let resolved = match reference.resolve_char_ref() {
                        Ok(Some(c)) => Some(c),
                        Ok(None) => match &*reference {
                            "lt" => Some('<'),
                            "gt" => Some('>'),
                            "amp" => Some('&'),
                            "quot" => Some('"'),
                            "apos" => Some('\''),
                            _ => None,
                        },
                        Err(_) => None,
                    };
                    let Some(c) = resolved else {
                        return Err(self.error(
                            span,
                            "a reference to an entity that XML does not define".into(),
                        ));
                    };
                    self.text(c.encode_utf8(&mut [0; 4]), span)?;
                }
                Event::DocType(_) => {
                    return Err(self
                        .error(
                            span,
                            "a document type declaration: entities are never expanded".into(),
                        )
                        .help("remove the DOCTYPE; files that OpenVINO writes have none"));
                }
                Event::Decl(_) if start != 0 => {
                    return Err(self.error(
                        span,
                        "an XML declaration that is not at the start of the file".into(),
                    ));
                }
                Event::Decl(_) | Event::Comment(_) | Event::PI(_) => {}
                Event::Eof => break,
            }
        }
        if let Some(&id) = self.open.last() {
            let name = quoted(self.document.name(id));
            let tag = self.document.element(id).tag.range();
            return Err(self
                .error(tag, format!("the file ends inside the element {name}: it has been cut")));
        }
        if self.document.elements.is_empty() {
            return Err(self.error(0..0, "the file holds no XML element".into()));
        }
        Ok(self.document)
    }

    fn element(
        &mut self,
        tag: &BytesStart<'_>,
        span: Range<usize>,
    ) -> Result<ElementId, Diagnostic> {
        if self.open.is_empty() && !self.document.elements.is_empty() {
            return Err(self.error(span, "a second root element".into()));
        }
        if self.document.elements.len() >= MOST_ELEMENTS {
            return Err(self.error(span, format!("more than {MOST_ELEMENTS} elements")));
        }
        let name = tag.name();
        let name = name.as_ref();
        if name.is_empty() {
            return Err(self.error(span, "an element without a name".into()));
        }
        let first = self.document.attributes.len();
        // repeated names are checked here, because the check of quick-xml takes quadratic time
        let mut seen = HashSet::new();
        for attribute in tag.attributes().with_checks(false) {
            let attribute = attribute.map_err(|e| {
                self.error(span.clone(), format!("this is not well-formed XML: {e}"))
            })?;
            let key = self.span_of(attribute.key.as_ref());
            if self.document.attributes.len() >= MOST_ELEMENTS {
                return Err(self.error(span, format!("more than {MOST_ELEMENTS} attributes")));
            }
            if !seen.insert(attribute.key.as_ref().to_owned()) {
                let found =
                    format!("the attribute {} is given twice", quoted(attribute.key.as_ref()));
                return Err(self.error(key.range(), found));
            }
            let value = match &attribute.value {
                Cow::Borrowed(value) => self.span_of(value),
                Cow::Owned(_) => key,
            };
            let normalized = attribute.normalized_value(XmlVersion::Implicit1_0).map_err(|e| {
                self.error(value.range(), format!("this is not well-formed XML: {e}"))
            })?;
            if let Cow::Owned(text) = normalized {
                let id = AttributeId(self.document.attributes.len() as u32);
                self.document.normalized.insert(id, text);
            }
            self.document.attributes.push(Attribute { name: key, value });
        }
        let id = ElementId(self.document.elements.len() as u32);
        let element = XmlElement {
            tag: Span { start: span.start as u32, end: span.end as u32 },
            name: self.span_of(name),
            attributes: Span { start: first as u32, end: self.document.attributes.len() as u32 },
            first_child: None,
            last_child: None,
            next_sibling: None,
        };
        self.document.elements.push(element);
        if let Some(&parent) = self.open.last() {
            let parent = &mut self.document.elements[parent.0 as usize];
            let previous = parent.last_child.replace(id);
            match previous {
                None => parent.first_child = Some(id),
                Some(previous) => {
                    self.document.elements[previous.0 as usize].next_sibling = Some(id)
                }
            }
        }
        Ok(id)
    }

    fn text(&mut self, text: &str, span: Range<usize>) -> Result<(), Diagnostic> {
        match self.open.last() {
            Some(id) => {
                if !text.trim().is_empty() || self.document.texts.contains_key(&id.0) {
                    self.document.texts.entry(id.0).or_default().push_str(text);
                }
                Ok(())
            }
            None if text.trim().is_empty() => Ok(()),
            None if self.document.elements.is_empty() => {
                Err(self.error(span, "text before the first element: this is not XML".into()))
            }
            None => Err(self.error(span, "text after the last element".into())),
        }
    }

    /// The position of a part of the source text.
    fn span_of(&self, part: &str) -> Span {
        let start = (part.as_ptr() as usize).saturating_sub(self.source.text.as_ptr() as usize);
        let end = (start + part.len()).min(self.source.text.len());
        Span { start: start.min(end) as u32, end: end as u32 }
    }

    fn error(&self, range: Range<usize>, found: String) -> Diagnostic {
        let origin =
            Origin::Text { source: self.source.clone(), start: range.start, end: range.end };
        not_xml(origin, found)
    }
}
