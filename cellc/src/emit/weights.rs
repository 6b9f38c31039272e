//! Weights of generated files: in Rust a byte-string literal, which is one token instead of a
//! million, or an included file; in C integers of 32 bits, or a file that the assembler includes.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use crate::request::Language;

/// Appends `b"..."` over several lines.
pub(super) fn byte_string(bytes: &[u8], out: &mut String) {
    /// Columns of a line of weights.
    const COLUMNS: usize = 120;

    out.reserve(bytes.len() * 3 + bytes.len() / 16);
    out.push_str("b\"");
    let mut column = COLUMNS;
    for &byte in bytes {
        if column >= COLUMNS {
            // a backslash at the end of a line removes the line break and following spaces; a space
            // is therefore escaped
            out.push_str("\\\n");
            column = 0;
        }
        if byte.is_ascii_graphic() && byte != b'"' && byte != b'\\' {
            out.push(char::from(byte));
            column += 1;
        } else {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            out.push_str("\\x");
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
            column += 4;
        }
    }
    out.push('"');
}

/// Appends words of 32 bits in hexadecimal, several on a line.
pub(super) fn hexadecimal(bytes: &[u8], out: &mut String) {
    /// Words on a line.
    const PER_LINE: usize = 8;

    out.reserve(bytes.len() * 4);
    for line in bytes.chunks(4 * PER_LINE) {
        let mut separator = "    ";
        for word in line.chunks_exact(4) {
            let _ = write!(
                out,
                "{separator}0x{:08x}u,",
                u32::from_le_bytes([word[0], word[1], word[2], word[3]])
            );
            separator = " ";
        }
        out.push('\n');
    }
}

/// A file's name as an assembler string inside a C string: special characters are escaped for both.
pub(super) fn assembler_string(name: &str) -> String {
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

/// The name of the file of packed weights. The name differs from a `.bin` of the model with an
/// equal stem. Rust and C have different names, as their files may be made with different options.
pub(super) fn weights_file(stem: &str, language: Language) -> String {
    format!("{stem}.{}{WEIGHTS_FILE}", language.extension())
}

/// The end of the names of packed weights files.
pub(crate) const WEIGHTS_FILE: &str = ".weights.bin";

/// The bytes after the weights in their file, for checks that source and file belong together.
///
/// The tail begins with half of the SHA-256 of the weights; Rust compares this hash. An assembler
/// can only compare lengths. For C, the number of zeros after the hash therefore depends on the
/// hash: one of 65,536 files with equally many weights has an equal length.
pub(crate) struct Tail {
    /// The first half of the weights' SHA-256.
    pub(super) hash: u128,
    /// Length of the tail in bytes.
    pub(super) len: usize,
}

impl Tail {
    /// The tail of a file with these weights.
    pub(super) fn new(weights: &[u8], language: Language) -> Self {
        let digest = Sha256::digest(weights);
        let hash = u128::from_be_bytes(digest[..16].try_into().expect("half of 32 bytes"));
        let zeros = match language {
            Language::Rust => 0,
            Language::C => usize::from(u16::from_be_bytes([digest[30], digest[31]])),
        };
        Self { hash, len: 16 + zeros }
    }

    /// The whole file.
    pub(super) fn file(&self, weights: &[u8]) -> Vec<u8> {
        let mut file = Vec::with_capacity(weights.len() + self.len);
        file.extend_from_slice(weights);
        file.extend_from_slice(&self.hash.to_be_bytes());
        file.resize(weights.len() + self.len, 0);
        file
    }

    /// True if a file consists of weights and their tail, in either language.
    pub(crate) fn ends(file: &[u8]) -> bool {
        let zeros = file.iter().rev().take_while(|&&byte| byte == 0).count();
        // The hash may itself end in zeros.
        let ends = (file.len() - zeros..=file.len()).take(17).filter(|&end| end >= 16);
        let mut hashed = 0;
        let mut digest = Sha256::new();
        ends.into_iter().any(|end| {
            let weights = end - 16;
            digest.update(&file[hashed..weights]);
            hashed = weights;
            let digest = digest.clone().finalize();
            let for_c = usize::from(u16::from_be_bytes([digest[30], digest[31]]));
            digest[..16] == file[weights..end] && [0, for_c].contains(&(file.len() - end))
        })
    }
}

/// A Rust expression for the weights in a file. Compilation fails with a file of other weights.
pub(super) fn included(weights: &[u8], name: &str) -> String {
    let Tail { hash, len } = Tail::new(weights, Language::Rust);
    let bytes = weights.len();
    format!(
        "{{
    // The weights, and half of their SHA-256; rustc copies a constant several times, but not a variable.
    let file: &[u8; {bytes} + {len}] = include_bytes!({name:?});
    match file.split_last_chunk() {{
        Some((_, end)) if u128::from_be_bytes(*end) == {hash:#034x} => {{}}
        _ => panic!(\"the file holds other weights than those of this source: generate both again\"),
    }}
    *file.first_chunk().unwrap()
}}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_string_reads_back_as_it_was() {
        let bytes: Vec<u8> = (0..=255).chain([b' '; 300]).chain(0..=255).collect();
        let mut text = String::new();
        byte_string(&bytes, &mut text);
        let literal: syn::LitByteStr = syn::parse_str(&text).expect("a literal");
        assert_eq!(literal.value(), bytes);
    }

    #[test]
    fn the_tail_of_a_file_tells_its_weights() {
        let [one, other] = [[1u8; 8], [2; 8]];
        for language in [Language::Rust, Language::C] {
            let [a, b] = [one, other].map(|weights| Tail::new(&weights, language).file(&weights));
            assert!(a.starts_with(&one) && a[8..24] != b[8..24]);
            assert_eq!(a.len() == b.len(), language == Language::Rust);
            // each weight counts, and each byte of the tail
            for file in [a, b] {
                assert!(
                    Tail::ends(&file)
                        && !Tail::ends(&file[1..])
                        && !Tail::ends(&[&file[..], &[0]].concat())
                );
                assert!(
                    !Tail::ends(&file[..file.len() - 1])
                        && !Tail::ends(&[&[1], &file[1..], &[1]].concat())
                );
            }
        }
        for length in 0..40 {
            assert!(!Tail::ends(&vec![0; length]) && !Tail::ends(&vec![7; length]), "{length}");
        }
        // Of these weights, the first half of the hash ends in a zero.
        let numbers = (0u32..).map(u32::to_le_bytes);
        let weights =
            numbers.map(|bytes| bytes.to_vec()).find(|bytes| Sha256::digest(bytes)[15] == 0);
        let weights = weights.expect("one hash of 256 ends so");
        for language in [Language::Rust, Language::C] {
            assert!(Tail::ends(&Tail::new(&weights, language).file(&weights)));
        }
        let text = included(&one, "gru.rs.weights.bin");
        let file: syn::Expr = syn::parse_str(&text).expect("an expression");
        assert!(matches!(file, syn::Expr::Block(_)), "{text}");
    }

    #[test]
    fn a_file_name_does_not_end_its_string() {
        assert_eq!(assembler_string("gru.bin"), "gru.bin");
        assert_eq!(assembler_string("a\"b\\c\n.bin"), "a\\\\042b\\\\134c\\\\012.bin");
        assert_eq!(assembler_string("\u{e9}"), "\\303\\251");
    }
}
