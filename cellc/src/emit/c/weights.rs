//! The constants of a file: an array in the source, or a file included by the assembler.

use std::collections::BTreeMap;

use super::CFile;
use super::dialect::plus;
use crate::arch::MOST_SCALAR_WEIGHTS;
use crate::emit::elements::spelling;
use crate::emit::names::Scope;
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
        out.push_str(&text(
            file,
            match file.inline {
                _ if WeightStruct::find(file).is_some() => "few",
                true => "inline",
                false => "beside",
            },
        ));
    }
}

/// Defines `<prefix>_weight_data` at the end of the source, if the numbers are in the source.
pub(super) fn define(out: &mut String, file: &CFile<'_>) {
    let bytes = &file.packed.bytes;
    if !file.inline || bytes.is_empty() || WeightStruct::find(file).is_some() {
        return;
    }
    out.push_str(&text(file, "numbers"));
    hexadecimal(bytes, out);
    out.push_str("}};\n");
}

/// The weights of a small network as a struct, with one member for each array.
pub(super) struct WeightStruct {
    members: Vec<Member>,
}

/// An array of weights as a member of a struct.
struct Member {
    name: String,
    /// The offset among all weights, in elements.
    at: usize,
    description: String,
    numbers: Vec<f32>,
}

impl WeightStruct {
    /// `None` for [`MOST_SCALAR_WEIGHTS`] and more, for files with extensions, and for weights
    /// without a decimal form.
    pub(super) fn find(file: &CFile<'_>) -> Option<Self> {
        let bytes = &file.packed.bytes;
        let numbers: Vec<f32> = bytes
            .chunks_exact(4)
            .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .take(MOST_SCALAR_WEIGHTS)
            .collect();
        let are_few = (1..MOST_SCALAR_WEIGHTS).contains(&numbers.len())
            && file.narrow_weights().is_empty()
            && !file.extensions()
            && file.inline;
        if !are_few || !numbers.iter().all(|number| number.is_finite()) {
            return None;
        }
        let mut members: Vec<Member> = Vec::new();
        let mut scope = Scope::new(&[]);
        let arrays = arrays(file);
        for (nth, (at, (name, description))) in arrays.iter().enumerate() {
            let end = arrays.get(nth + 1).map_or(numbers.len(), |(next, _)| *next);
            members.push(Member {
                name: scope.unique(name),
                at: *at,
                description: description.clone(),
                numbers: numbers[*at..end].to_vec(),
            });
        }
        Some(Self { members })
    }

    /// The member with an element, and the element's offset in the member.
    fn expression(&self, at: usize) -> String {
        let next = self.members.partition_point(|member| member.at <= at);
        let member = &self.members[next - 1];
        plus(&member.name, at - member.at)
    }

    fn descriptions(&self) -> String {
        let described = |member: &Member| format!("{}: {}", member.name, member.description);
        self.members.iter().map(described).collect::<Vec<_>>().join("\n * ")
    }

    fn words(&self) -> Vec<Vec<Word>> {
        let words = |member: &Member| {
            let numbers: Vec<_> =
                member.numbers.iter().map(|number| format!("{}f", decimal(*number))).collect();
            vec![
                ("MEMBER", member.name.clone()),
                ("COUNT", member.numbers.len().to_string()),
                ("NUMBERS", numbers.join(", ")),
            ]
        };
        self.members.iter().map(words).collect()
    }
}

/// The expression in C for the address of a baked weight: element `at` of the elements of a type.
pub(super) fn address(file: &CFile<'_>, element: Element, at: usize) -> String {
    if file.interface.layout.loads_weights {
        return plus("packed->values", at);
    }
    let data = format!("{}_weight_data", file.prefix());
    match WeightStruct::find(file) {
        Some(few) => format!("{data}.{}", few.expression(at)),
        None => plus(&format!("{data}.{}", member(element)), at),
    }
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

/// The arrays of the weights: the place of each in floats, its name and its description.
fn arrays(file: &CFile<'_>) -> Vec<(usize, (String, String))> {
    let readers = file.readers();
    let mut by_offset = BTreeMap::new();
    for (id, at) in &file.packed.parts {
        let buffer = file.program.buffer(*id);
        if buffer.len > 0 {
            let (_, doc) = file.named_by(readers.get(id).copied(), *id);
            let doc = doc.replace('`', "");
            let doc = doc[..1].to_ascii_lowercase() + &doc[1..];
            by_offset.entry(*at).or_insert((buffer.name.clone(), doc));
        }
    }
    for variable in &file.interface.variables {
        if let Some(initial) = file.initial(variable) {
            let name = format!("{}_initial", variable.name);
            let part = initial.part(variable.len());
            let doc = format!("the initial value of {}{part}.", variable.name);
            by_offset.entry(initial.at).or_insert((name, doc));
        }
    }
    by_offset.into_iter().collect()
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
    let placed = |(at, (_, doc)): (usize, (String, String))| {
        vec![("PLACE", at.to_string()), ("DESCRIPTION", doc)]
    };
    let mut lists = file.contents.lists(file);
    lists.extend([
        ("narrow", narrow.iter().map(member).collect()),
        ("arrays", arrays(file).into_iter().map(placed).collect()),
    ]);
    let few = WeightStruct::find(file);
    let descriptions = few.as_ref().map_or_else(String::new, WeightStruct::descriptions);
    lists.push(("few", few.map(|few| few.words()).unwrap_or_default()));
    let tail = Tail::new(&file.packed.bytes, Language::C);
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
        ("DESCRIPTIONS", descriptions),
    ];
    listed(part(include_str!("text/weights.c"), name), &lists, &words)
}
