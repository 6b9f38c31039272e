//! Parsing of numbers, shapes and lists of names in an IR.

use crate::model::limits::MOST_DIMS;
use crate::model::{Dim, ElementType};

/// The text, or the first 60 characters and an ellipsis.
pub(super) fn cut(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// OpenVINO's name for an element type on a port.
pub(super) fn precision(element: ElementType) -> &'static str {
    match element {
        ElementType::F16 => "FP16",
        ElementType::Bf16 => "BF16",
        ElementType::F32 => "FP32",
        ElementType::F64 => "FP64",
        ElementType::I4 => "I4",
        ElementType::U4 => "U4",
        ElementType::I8 => "I8",
        ElementType::U8 => "U8",
        ElementType::I16 => "I16",
        ElementType::U16 => "U16",
        ElementType::I32 => "I32",
        ElementType::U32 => "U32",
        ElementType::I64 => "I64",
        ElementType::U64 => "U64",
        ElementType::Bool => "BOOL",
    }
}

/// Parses decimal digits. White space at either end is allowed.
pub(super) fn parse_integer(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

/// Parses decimal digits after an optional minus sign. White space at either end is allowed.
pub(super) fn parse_signed(text: &str) -> Option<i64> {
    let text = text.trim();
    let digits = text.strip_prefix('-').unwrap_or(text);
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        text.parse().ok()
    } else {
        None
    }
}

/// Parses a dimension: `7`, `?` or `-1`, `1..8`, `1..`, `..8`.
pub(super) fn parse_dim(text: &str) -> Option<Dim> {
    let text = text.trim();
    let size = |text: &str| parse_integer(text).and_then(|n| usize::try_from(n).ok());
    if matches!(text, "?" | "-1") {
        return Some(Dim::Dynamic { min: 0, max: None });
    }
    let Some((min, max)) = text.split_once("..") else {
        return size(text).map(Dim::Fixed);
    };
    let min = if min.trim().is_empty() { 0 } else { size(min)? };
    let max = if max.trim().is_empty() { None } else { Some(size(max)?) };
    if max.is_some_and(|max| max < min) || text == ".." {
        return None;
    }
    Some(Dim::Dynamic { min, max })
}

/// Parses dimensions separated by commas, with or without square brackets. No dimension: a scalar.
/// `None` if a dimension is wrong, or for more than [`MOST_DIMS`] dimensions.
pub(super) fn parse_shape(text: &str) -> Option<Vec<Dim>> {
    let text = text.trim();
    let text = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
    if text.trim().is_empty() {
        return Some(Vec::new());
    }
    if text.split(',').count() > MOST_DIMS {
        return None;
    }
    text.split(',').map(parse_dim).collect()
}

/// Splits names at commas. `\,` is a comma inside a name. Empty names are dropped.
pub(super) fn split_names(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&',') => {
                names.last_mut().unwrap_or(&mut String::new()).extend(chars.next())
            }
            ',' => names.push(String::new()),
            c => names.last_mut().unwrap_or(&mut String::new()).push(c),
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// True if one tensor can have both shapes.
pub(super) fn compatible(a: &[Dim], b: &[Dim]) -> bool {
    let range = |dim: &Dim| match *dim {
        Dim::Fixed(n) => (n, n),
        Dim::Dynamic { min, max } => (min, max.unwrap_or(usize::MAX)),
    };
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| {
            let (a, b) = (range(a), range(b));
            a.0 <= b.1 && b.0 <= a.1
        })
}
