//! The constants of a file: an array in the source, or a file that the assembler takes in.

use std::fmt::Write;

use super::CFile;
use crate::emit::names::c_type;
use crate::emit::weights::weights_file;
use crate::kernel::{Element, Role};
use crate::options::Language;

/// Weights on a line.
const PER_LINE: usize = 8;

/// Declares `<prefix>_weight_data`, if the file has constants.
pub(super) fn write(out: &mut String, file: &CFile<'_>) {
    let bytes = &file.packed.bytes;
    if bytes.is_empty() {
        return;
    }
    if file.inline { array(out, file, bytes) } else { beside(out, file) }
}

/// What holds elements of that kind.
pub(super) fn member(element: Element) -> &'static str {
    match element {
        Element::F16 => "halves",
        Element::I8 => "small",
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

fn array(out: &mut String, file: &CFile<'_>, bytes: &[u8]) {
    let (prefix, alignment) = (file.prefix(), file.program.alignment);
    let len = bytes.len() / 4;
    let members = narrow_members(file);
    if !members.is_empty() {
        out.push_str(
            "
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error \"weights narrower than a float are laid out for little-endian machines: generate this file with --weight-format f32\"
#endif
",
        );
    }
    let _ = write!(
        out,
        "
/* The weights in the order in which the kernels read them, as bits: exact, and fast to compile. */
static const _Alignas({alignment}) union {{
    uint32_t bits[{len}];
    float values[{len}];
{members}}} {prefix}_weight_data = {{{{
"
    );
    out.reserve(bytes.len() * 3 + bytes.len() / 8);
    for line in bytes.chunks(4 * PER_LINE) {
        let mut separator = "    ";
        for word in line.chunks_exact(4) {
            let _ = write!(out, "{separator}0x{:08x},", u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
            separator = " ";
        }
        out.push('\n');
    }
    out.push_str("}};\n");
}

fn beside(out: &mut String, file: &CFile<'_>) {
    let (prefix, alignment) = (file.prefix(), file.program.alignment);
    let upper = file.upper();
    let len = file.packed.bytes.len() / 4;
    let members = narrow_members(file);
    let kind = if members.is_empty() { "struct" } else { "union" };
    let name = assembler_string(&weights_file(file.stem, Language::C));
    let _ = write!(
        out,
        "
/* The weights in the order in which the kernels read them, as little-endian numbers in a file beside this one. The
 * assembler looks for it in the working directory and in those given by -I; -D{upper}_WEIGHTS_FILE='\"path\"' names
 * another place (with -flto: a place that the linker finds too). */
#ifndef {upper}_WEIGHTS_FILE
#define {upper}_WEIGHTS_FILE \"{name}\"
#endif
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error \"the weights file is little-endian: generate this file with --weights-as inline\"
#elif !defined({upper}_EMBED) && (defined(__ELF__) || defined(__APPLE__) || defined(_WIN32))
#define {upper}_STRING_(text) #text
#define {upper}_STRING(text) {upper}_STRING_(text)
#define {upper}_SYMBOL {upper}_STRING(__USER_LABEL_PREFIX__) \"{prefix}_weight_data\"
#if defined(__APPLE__)
#define {upper}_BEGIN \".section __TEXT,__const\\n.private_extern \" {upper}_SYMBOL \"\\n\"
#define {upper}_END \".text\\n\"
#elif defined(_WIN32)
#define {upper}_BEGIN \".section .rdata,\\\"dr\\\"\\n\"
#define {upper}_END \".text\\n\"
#else
#define {upper}_BEGIN \".pushsection .rodata\\n.hidden \" {upper}_SYMBOL \"\\n\"
#define {upper}_END \".popsection\\n\"
#endif
__asm__({upper}_BEGIN
        \".globl \" {upper}_SYMBOL \"\\n\"
        \".balign {alignment}\\n\" /* a cache line */
        {upper}_SYMBOL \":\\n\"
        \".incbin \\\"\" {upper}_WEIGHTS_FILE \"\\\"\\n\"
        {upper}_END);
#if defined(__ELF__)
__attribute__((visibility(\"hidden\")))
#endif
extern const {kind} {{
    float values[{len}];
{members}}} {prefix}_weight_data;
#elif defined(__has_embed)
#if defined(__clang__)
#pragma clang diagnostic ignored \"-Wc23-extensions\"
#endif
static const _Alignas({alignment}) union {{
    unsigned char bytes[{len} * sizeof(float)];
    float values[{len}];
{members}}} {prefix}_weight_data = {{{{
#embed {upper}_WEIGHTS_FILE
}}}};
#else
#error \"no way to take in the weights file: generate this file with --weights-as inline\"
#endif
"
    );
}

/// A file's name as a C string that holds an assembler's string: what either gives a meaning to is escaped for both.
fn assembler_string(name: &str) -> String {
    let mut out = String::new();
    for byte in name.bytes() {
        match byte {
            b'"' | b'\\' | b'?' | 0..=31 | 127 => {
                let _ = write!(out, "\\\\{byte:03o}");
            }
            _ if byte.is_ascii() => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "\\{byte:03o}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::assembler_string;

    #[test]
    fn a_file_name_does_not_end_its_string() {
        assert_eq!(assembler_string("gru.bin"), "gru.bin");
        assert_eq!(assembler_string("a\"b\\c\n.bin"), "a\\\\042b\\\\134c\\\\012.bin");
        assert_eq!(assembler_string("\u{e9}"), "\\303\\251");
    }
}
