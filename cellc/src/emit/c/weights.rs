//! The constants of a file: an array in the source, or a file included by the assembler.

use std::collections::BTreeMap;

use super::CFile;
use crate::arch::MOST_SCALAR_WEIGHTS;
use crate::emit::elements::spelling;
use crate::emit::text::{Word, listed, part};
use crate::emit::traversal::decimal;
use crate::emit::weights::{Tail, assembler_string, hexadecimal, weights_file};
use crate::kernel::Element;
use crate::request::Language;

/// Declares `<prefix>_weight_data`, if the file has constants.
pub(super) fn declare(out: &mut String, file: &CFile<'_>) {
    if !file.narrow_weights().is_empty() && (file.inline || !file.is_baked()) {
        out.push_str(&text(file, "narrow"));
    }
    if !file.packed.bytes.is_empty() {
        out.push_str(&text(file, if file.inline { "inline" } else { "beside" }));
    }
}

/// Defines `<prefix>_weight_data` at the end of the source, if the numbers are in the source.
pub(super) fn define(out: &mut String, file: &CFile<'_>) {
    let bytes = &file.packed.bytes;
    if !file.inline || bytes.is_empty() {
        return;
    }
    match decimals(file) {
        Some(numbers) => {
            out.push_str(&text(file, "decimal numbers"));
            out.push_str(&numbers);
        }
        None => {
            out.push_str(&text(file, "numbers"));
            hexadecimal(bytes, out);
        }
    }
    out.push_str("}};\n");
}

/// The weights of a network with less than a vector of units, as decimal numbers, one per line.
/// `None` for larger networks.
fn decimals(file: &CFile<'_>) -> Option<String> {
    let bytes = &file.packed.bytes;
    let are_few = bytes.len() / 4 < MOST_SCALAR_WEIGHTS && file.narrow_weights().is_empty();
    let numbers = bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let mut lines = String::new();
    for number in numbers.filter(|_| are_few && !file.extensions()) {
        if !number.is_finite() {
            return None;
        }
        lines.push_str(&format!("    {}f,\n", decimal(number)));
    }
    (!lines.is_empty()).then_some(lines)
}

/// The union member for elements of a type.
pub(super) fn member(element: Element) -> &'static str {
    match element {
        Element::F16 => "halves",
        Element::I8 => "small",
        Element::I8Pair => "pairs",
        _ => "values",
    }
}

/// The arrays of the weights: the place of each in floats, and its description.
fn arrays(file: &CFile<'_>) -> Vec<Vec<Word>> {
    let readers = file.readers();
    let mut all = BTreeMap::new();
    for (id, at) in &file.packed.parts {
        if file.program.buffer(*id).len > 0 {
            let (_, doc) = file.named_by(readers.get(id).copied(), *id);
            let doc = doc.replace('`', "");
            all.entry(*at).or_insert(doc[..1].to_ascii_lowercase() + &doc[1..]);
        }
    }
    for variable in &file.interface.variables {
        if let Some(at) = file.initial(variable) {
            all.entry(at).or_insert(format!("the initial value of {}.", variable.name));
        }
    }
    let words = |(at, doc): (usize, String)| vec![("PLACE", at.to_string()), ("DESCRIPTION", doc)];
    all.into_iter().map(words).collect()
}

/// The text with a name.
fn text(file: &CFile<'_>, name: &str) -> String {
    let (narrow, len) = (file.narrow_weights(), file.packed.bytes.len());
    let kind = if narrow.is_empty() { "struct" } else { "union" };
    let member = |element: &Element| {
        let count = (len / element.size()).to_string();
        vec![
            ("TYPE", spelling(*element).c.to_owned()),
            ("MEMBER", member(*element).to_owned()),
            ("COUNT", count),
        ]
    };
    let mut lists = file.contents.lists(file);
    lists.extend([("narrow", narrow.iter().map(member).collect()), ("arrays", arrays(file))]);
    let tail = Tail::of(&file.packed.bytes, Language::C);
    let words = [
        ("DIGEST", format!("{:032x}", tail.hash)),
        ("HELD_BYTES", len.to_string()),
        ("TAIL_BYTES", tail.len.to_string()),
        ("ALIGNED_MEMBER", super::aligned(file.program.alignment)),
        ("KIND", kind.to_owned()),
        ("ALIGNMENT", file.program.alignment.to_string()),
        ("LENGTH", (len / 4).to_string()),
        ("FILE_NAME", assembler_string(&weights_file(file.stem, Language::C))),
        ("PREFIX_weight", format!("{}_weight", file.prefix())),
        ("UPPER", file.upper()),
    ];
    listed(part(include_str!("text/weights.c"), name), &lists, &words)
}
