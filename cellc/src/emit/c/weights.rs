//! The constants of a file: an array in the source, or a file that the assembler takes in.

use super::CFile;
use crate::emit::names::c_type;
use crate::emit::text::{filled, part};
use crate::emit::weights::{assembler_string, hexadecimal, weights_file};
use crate::kernel::{Element, Role};
use crate::options::Language;

/// How a caller names the section of weights that are in the source.
const SECTION: &str = "\
\x20* -DUPPER_WEIGHTS_SECTION='\".name\"' puts them into a section of the linker's. */
#ifdef UPPER_WEIGHTS_SECTION
__attribute__((section(UPPER_WEIGHTS_SECTION)))
#endif
";

/// The same, in the words of the caller's compiler.
const SECTION_PORTABLE: &str = "\
\x20* UPPER_WEIGHTS_PLACE, if it is defined, is what the compiler wants before a constant that belongs to a section of its own. */
#ifdef UPPER_WEIGHTS_PLACE
UPPER_WEIGHTS_PLACE
#endif
";

/// Declares `<prefix>_weight_data`, if the file has constants.
pub(super) fn write(out: &mut String, file: &CFile<'_>) {
    let bytes = &file.packed.bytes;
    if bytes.is_empty() {
        return;
    }
    match file.inline {
        true => array(out, file, bytes),
        false => out.push_str(&text(file, "beside", &narrow_members(file))),
    }
}

/// What holds elements of that kind.
pub(super) fn member(element: Element) -> &'static str {
    match element {
        Element::F16 => "halves",
        Element::I8 => "small",
        Element::I8Pair => "pairs",
        _ => "values",
    }
}

/// The kinds of narrow weights in a file.
fn narrow(file: &CFile<'_>) -> Vec<Element> {
    let weights = file.program.buffers.iter().filter(|b| b.role == Role::Weights);
    let mut all: Vec<_> = weights.map(|b| b.element).filter(|element| *element != Element::F32).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The members of what holds the weights that narrow ones are read by.
fn narrow_members(file: &CFile<'_>) -> String {
    let declared = |element: Element| {
        let len = file.packed.bytes.len() / element.size();
        format!("    {} {}[{len}];\n", c_type(element), member(element))
    };
    narrow(file).into_iter().map(declared).collect()
}

/// A text of that file, from what has members beside the values.
fn text(file: &CFile<'_>, name: &str, members: &str) -> String {
    let kind = if members.is_empty() { "struct" } else { "union" };
    let section = match file.extensions() {
        true => SECTION,
        false => SECTION_PORTABLE,
    };
    // what is filled in is not searched again
    let section = filled(section, &[("UPPER", &file.upper())]);
    let words = [
        ("IN_PLACE;\n", section.as_str()),
        ("ALIGNED", &super::aligned(file.program.alignment)),
        ("    MEMBERS;\n", members),
        ("KIND", kind),
        ("ALIGNMENT", &file.program.alignment.to_string()),
        ("LENGTH", &(file.packed.bytes.len() / 4).to_string()),
        ("NAME", &assembler_string(&weights_file(file.stem, Language::C))),
        ("PREFIX_weight", &format!("{}_weight", file.prefix())),
        ("UPPER", &file.upper()),
    ];
    format!("\n{}", filled(part(include_str!("text/weights.c"), name), &words))
}

fn array(out: &mut String, file: &CFile<'_>, bytes: &[u8]) {
    let members = narrow_members(file);
    if !members.is_empty() {
        out.push_str(&text(file, "narrow", &members));
    }
    out.push_str(&text(file, "array", &members));
    hexadecimal(bytes, out);
    out.push_str("}};\n");
}
