//! The header of a `.safetensors` file. The crate `safetensors` reads the same headers (tests
//! compare the two), but would add serde to the first build of every user of a macro.
//!
//! A header is a length of eight bytes and a JSON object of tensors by name. Each tensor has
//! `dtype`, `shape` and `data_offsets`, counted from the end of the header. The key `__metadata__`
//! maps texts to texts.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::diagnostic::quoted;
use crate::model::{ElementType, shape_text};

/// Maximum length of a header in bytes, equal to the crate's limit.
const LONGEST: usize = 100_000_000;

/// All element types: name, bits, and the element type of models. `None`: unsupported.
const DTYPES: [(&str, usize, Option<ElementType>); 22] = [
    ("BOOL", 8, None),
    ("F4", 4, None),
    ("F6_E2M3", 6, None),
    ("F6_E3M2", 6, None),
    ("U8", 8, Some(ElementType::U8)),
    ("I8", 8, Some(ElementType::I8)),
    ("F8_E5M2", 8, None),
    ("F8_E4M3", 8, None),
    ("F8_E8M0", 8, None),
    ("F8_E4M3FNUZ", 8, None),
    ("F8_E5M2FNUZ", 8, None),
    ("I16", 16, None),
    ("U16", 16, None),
    ("F16", 16, Some(ElementType::F16)),
    ("BF16", 16, Some(ElementType::Bf16)),
    ("I32", 32, Some(ElementType::I32)),
    ("U32", 32, None),
    ("F32", 32, Some(ElementType::F32)),
    ("C64", 64, None),
    ("F64", 64, Some(ElementType::F64)),
    ("I64", 64, Some(ElementType::I64)),
    ("U64", 64, None),
];

pub(super) struct Header {
    pub(super) metadata: BTreeMap<String, String>,
    /// In the order of their bytes.
    pub(super) tensors: Vec<TensorInfo>,
}

pub(super) struct TensorInfo {
    pub(super) name: String,
    /// Name of the element type, and the element type of models. `None`: unsupported.
    pub(super) element: (&'static str, Option<ElementType>),
    pub(super) shape: Vec<usize>,
    /// The range of bytes in the file.
    pub(super) bytes: Range<usize>,
}

/// Reads the header of a complete file.
///
/// # Errors
/// If the header is invalid, or the file is cut. The text is a sentence in which "it" is the file.
pub(super) fn read(file: &[u8]) -> Result<Header, String> {
    let Some((length, rest)) = file.split_first_chunk() else {
        return Err(format!(
            "it has {} bytes, fewer than the 8 that every header begins with",
            file.len()
        ));
    };
    let length = u64::from_le_bytes(*length);
    let Some(length) = usize::try_from(length).ok().filter(|length| *length <= LONGEST) else {
        return Err(format!(
            "its header would have {length} bytes, and at most {LONGEST} are read"
        ));
    };
    let Some((header, data)) = rest.split_at_checked(length) else {
        return Err(format!(
            "it has {} bytes and is cut: its header ends at byte {}",
            file.len(),
            length + 8
        ));
    };
    let text =
        str::from_utf8(header).map_err(|e| format!("byte {} is not UTF-8", e.valid_up_to() + 8))?;
    let (mut metadata, mut tensors) = (BTreeMap::new(), Vec::new());
    let mut json = JsonReader { text, at: 0 };
    json.object("the header", &mut |json, name| {
        if name != "__metadata__" {
            tensors.push(tensor(json, name)?);
        } else if json.peek() == Some('n') {
            "null".chars().try_for_each(|c| json.expect(c))?;
        } else {
            json.object("`__metadata__`", &mut |json, key| {
                metadata.insert(key, json.string()?);
                Ok(())
            })?;
        }
        Ok(())
    })?;
    json.skip_space();
    if json.peek().is_some() {
        return Err(json.unexpected("the end of the header"));
    }
    tensors.sort_by_key(|tensor| (tensor.bytes.start, tensor.bytes.end));
    let mut end = 0;
    for tensor in &tensors {
        if tensor.bytes.start != end {
            let (name, start) = (quoted(&tensor.name), tensor.bytes.start);
            return Err(format!(
                "the data of the tensor {name} start at byte {start} and should at byte {end}, \
                 without a gap or an overlap"
            ));
        }
        end = tensor.bytes.end;
    }
    if end != data.len() {
        let cut = if data.len() < end { "and is cut" } else { "too many" };
        return Err(format!("it has {} bytes of data {cut}: its tensors have {end}", data.len()));
    }
    for tensor in &mut tensors {
        // the ranges were checked against the file above
        tensor.bytes = tensor.bytes.start + 8 + length..tensor.bytes.end + 8 + length;
    }
    Ok(Header { metadata, tensors })
}

/// Reads the entry of a tensor. Its byte range counts from the start of the data.
fn tensor(json: &mut JsonReader<'_>, name: String) -> Result<TensorInfo, String> {
    let shown = format!("the tensor {}", quoted(&name));
    let (mut dtype, mut shape, mut offsets) = (None, None, None);
    json.object(&shown, &mut |json, key| {
        match &key[..] {
            "dtype" => dtype = Some(json.string()?),
            "shape" => shape = Some(json.numbers()?),
            "data_offsets" => offsets = Some(json.numbers()?),
            _ => {
                return Err(format!(
                    "{shown} has the unknown key {} beside dtype, shape and data_offsets",
                    quoted(&key)
                ));
            }
        }
        Ok(())
    })?;
    let missing = |key: &str| format!("{shown} has no {key}");
    let (dtype, shape) =
        (dtype.ok_or_else(|| missing("dtype"))?, shape.ok_or_else(|| missing("shape"))?);
    let offsets = offsets.ok_or_else(|| missing("data_offsets"))?;
    let Some(&(dtype, bits, element)) = DTYPES.iter().find(|(known, ..)| *known == dtype) else {
        let known = DTYPES.map(|(known, ..)| known).join(", ");
        return Err(format!(
            "{shown} is of the unknown type {}; known are {known}",
            quoted(&dtype)
        ));
    };
    let &[start, end] = &offsets[..] else {
        return Err(format!("{shown} has {} data_offsets in place of 2", offsets.len()));
    };
    let stated = format!("{dtype} of shape {}", shape_text(&shape));
    let bits = shape
        .iter()
        .try_fold(1, |count: usize, size| count.checked_mul(*size))
        .and_then(|n| n.checked_mul(bits));
    match (bits, end.checked_sub(start)) {
        (None, _) => Err(format!("{shown} is {stated}: more bytes than can be counted")),
        (_, None) => Err(format!(
            "{shown} ends at byte {end} of the data, before it starts, at byte {start}"
        )),
        (Some(bits), _) if bits % 8 != 0 => {
            Err(format!("{shown} is {stated}: it ends within a byte"))
        }
        (Some(bits), Some(bytes)) if bits / 8 != bytes => {
            Err(format!("{shown} has {bytes} bytes of data, and {stated} has {}", bits / 8))
        }
        _ => Ok(TensorInfo { name, element: (dtype, element), shape, bytes: start..end }),
    }
}

/// A reader of the subset of JSON allowed in headers.
struct JsonReader<'a> {
    text: &'a str,
    at: usize,
}

impl JsonReader<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn unexpected(&self, wanted: &str) -> String {
        let rest = &self.text[self.at..];
        let word =
            rest.find(|c: char| c.is_whitespace() || ",:\"[]{}".contains(c)).unwrap_or(rest.len());
        let shown = word.max(self.peek().map_or(0, char::len_utf8));
        let found = if rest.is_empty() { "the end".to_owned() } else { quoted(&rest[..shown]) };
        format!(
            "its header has {found} at byte {} of the file, where {wanted} should be",
            self.at + 8
        )
    }

    fn skip_space(&mut self) {
        self.at = self.text.len()
            - self.text[self.at..].trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    /// Takes the next character if it is `c`.
    fn accept(&mut self, c: char) -> bool {
        let is_next = self.text[self.at..].starts_with(c);
        self.at += if is_next { c.len_utf8() } else { 0 };
        is_next
    }

    fn expect(&mut self, c: char) -> Result<(), String> {
        if self.accept(c) { Ok(()) } else { Err(self.unexpected(&format!("`{c}`"))) }
    }

    /// Reads items between brackets, separated by commas.
    fn items(
        &mut self,
        brackets: [char; 2],
        item: &mut dyn FnMut(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        let [open, close] = brackets;
        self.skip_space();
        self.expect(open)?;
        self.skip_space();
        if self.accept(close) {
            return Ok(());
        }
        loop {
            self.skip_space();
            item(self)?;
            self.skip_space();
            if self.accept(close) {
                return Ok(());
            }
            if !self.accept(',') {
                return Err(self.unexpected(&format!("`,` or `{close}`")));
            }
        }
    }

    /// Reads an object, calling `value` behind each key. `shown`: the object in messages.
    fn object(
        &mut self,
        shown: &str,
        value: &mut dyn FnMut(&mut Self, String) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        self.items(['{', '}'], &mut |json| {
            let key = json.string()?;
            if !seen.insert(key.clone()) {
                return Err(format!("{shown} has the key {} twice", quoted(&key)));
            }
            json.skip_space();
            json.expect(':')?;
            json.skip_space();
            value(json, key)
        })
    }

    /// Reads a list of integers.
    fn numbers(&mut self) -> Result<Vec<usize>, String> {
        let mut numbers = Vec::new();
        self.items(['[', ']'], &mut |json| {
            let rest = &json.text[json.at..];
            let digits = &rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())];
            let is_integral = !rest[digits.len()..].starts_with(['.', 'e', 'E'])
                && (digits == "0" || !digits.starts_with('0'));
            let number = digits.parse().ok().filter(|_| is_integral);
            numbers.push(
                number.ok_or_else(|| {
                    json.unexpected(&format!("a whole number up to {}", usize::MAX))
                })?,
            );
            json.at += digits.len();
            Ok(())
        })?;
        Ok(numbers)
    }

    fn string(&mut self) -> Result<String, String> {
        self.expect('"')?;
        let mut string = String::new();
        loop {
            let rest = &self.text[self.at..];
            let plain =
                rest.find(|c| matches!(c, '"' | '\\' | '\0'..='\x1f')).unwrap_or(rest.len());
            string.push_str(&rest[..plain]);
            self.at += plain;
            if self.accept('"') {
                return Ok(string);
            }
            if !self.accept('\\') {
                return Err(self.unexpected("the rest of a text"));
            }
            string.push(self.escaped()?);
        }
    }

    /// Reads an escape sequence, without its backslash.
    fn escaped(&mut self) -> Result<char, String> {
        const LETTERS: &str = "\"\\/bfnrt";
        const MEANINGS: &str = "\"\\/\x08\x0c\n\r\t";
        if let Some((_, meaning)) =
            LETTERS.chars().zip(MEANINGS.chars()).find(|(letter, _)| self.accept(*letter))
        {
            return Ok(meaning);
        }
        let at = self.at;
        let mut units = vec![self.utf16_unit()?];
        // a high surrogate needs a second unit
        if (0xd800..0xdc00).contains(&units[0]) && self.accept('\\') {
            units.push(self.utf16_unit()?);
        }
        match char::decode_utf16(units).collect::<Result<Vec<char>, _>>().as_deref() {
            Ok([c]) => Ok(*c),
            _ => {
                self.at = at;
                Err(self.unexpected("`u` and both halves of a pair of surrogates"))
            }
        }
    }

    fn utf16_unit(&mut self) -> Result<u16, String> {
        let digits = self.text[self.at..].strip_prefix('u').and_then(|rest| rest.get(..4));
        match digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit())) {
            Some(digits) => {
                self.at += 5;
                u16::from_str_radix(digits, 16)
                    .map_err(|_| self.unexpected("four hexadecimal digits"))
            }
            None => Err(self.unexpected("one of \"\\/bfnrt, or `u` with four hexadecimal digits")),
        }
    }
}

#[cfg(test)]
mod tests;
