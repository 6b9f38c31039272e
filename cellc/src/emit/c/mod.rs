//! C11 source and header: GNU vector types in named locals, with an architecture's intrinsics for
//! operations without operators.
//!
//! Fused operations are intrinsics, and a pragma prevents other fusing, so results do not depend on
//! optimisation flags; clang's -ffp-contract=fast alone overrides the pragma. The code calls no
//! library functions apart from those of threads and those that compilers insert. A file for a
//! target without extensions is plain C11.

mod api;
mod blocks;
mod column_sums;
mod dialect;
mod interface;
mod joined;
mod kernels;
mod pool;
mod shared_texts;
mod step_blocks;
mod streams;
mod values;
mod vectors;
mod weights;
mod wrap;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::Deref;

use sha2::{Digest, Sha256};

use super::names::Field;
use super::text::{listed, single_spaced, when};
use super::{Contents, Passes};
use crate::arch::{Calls, Condition, Isa};
pub(crate) use interface::FILE as INTERFACE;
use shared_texts::SharedTexts;
use vectors::VectorFunction;

/// The condition for gcc, without compilers that imitate gcc.
const C_IS_GCC: &str = "defined(__GNUC__) && !defined(__clang__)";

/// The contents of a C file and its header.
pub(super) struct CFile<'a> {
    pub(super) contents: &'a Contents<'a>,
    /// The files' names without extension.
    pub(super) stem: &'a str,
    /// True if the weights are in the source.
    pub(super) inline: bool,
}

impl<'a> Deref for CFile<'a> {
    type Target = Contents<'a>;

    fn deref(&self) -> &Contents<'a> {
        self.contents
    }
}

impl CFile<'_> {
    /// The source file.
    pub(super) fn source(&self) -> String {
        let apart = self.code(false);
        let shared =
            self.can_share().then(|| self.code(true)).filter(|code| code.lines() < apart.lines());
        let Code { once, shared, code, mut used } = shared.unwrap_or(apart);
        for name in ["copy_floats", "zero_floats"] {
            let function = VectorFunction::new(name, 1, None);
            let call = format!("{}(", function.name(self.prefix()));
            used.extend(Some(function).filter(|_| code.contains(&call)));
        }
        let mut out = String::new();
        block_comment(&mut out, "", self.header);
        out.push('\n');
        let (header, hash) = self.header_and_hash();
        if is_includable(self.stem) {
            out.push_str(&format!("#include \"{}.h\"\n", self.stem));
        } else {
            out.push_str(&header);
        }
        out.push_str(&format!(
            "#if {}_H_HASH != {hash}\n#error \"the header belongs to another version of this file: \
             generate both again\"\n#endif\n",
            self.upper()
        ));
        out.push_str(&shared);
        let mut declared = String::new();
        vectors::write(&mut declared, self, &used, &[&shared, &code]);
        let preamble = self.preamble(&format!("{shared}{code}"), !shared.is_empty());
        let conditions = self.conditions(&[&preamble, &declared, &*code].concat());
        out.push_str(single_spaced(&preamble.replace("CONDITIONS\n", &conditions)).trim_end());
        out.push('\n');
        out.push_str(&once.own_name(self.stem));
        out.push_str(&declared);
        weights::declare(&mut out, self);
        if self.interface.pool {
            out.push_str(&pool::source(self));
        }
        out.push_str(&code);
        out = wrap::short_functions(&wrap::file(&self.linkage(out)));
        weights::define(&mut out, self);
        out.push_str(&format!("\n#if {C_IS_GCC}\n#pragma GCC pop_options\n#endif\n#endif\n"));
        out.push_str(once.end());
        out
    }

    /// A text in which, for a file without extensions, C's keywords replace the macros for linkage.
    fn linkage(&self, text: String) -> String {
        if self.extensions() {
            return text;
        }
        let upper = self.upper();
        text.replace(&format!("{upper}_INLINE "), "static inline ")
            .replace(&format!("{upper}_CALLED "), "static ")
    }

    /// The code, with shared texts (`shares`) or with a separate text per body.
    fn code(&self, shares: bool) -> Code {
        let used = RefCell::default();
        let (bodies, once) = kernels::bodies(self, shares, &used);
        let mut code = wrap::lines(&self.linkage(bodies));
        api::source(&mut code, self);
        let shared = single_spaced(&wrap::lines(&once.text()));
        Code { once, shared, code: single_spaced(&code), used: used.into_inner() }
    }

    /// The header.
    pub(super) fn header(&self) -> String {
        self.header_and_hash().0
    }

    /// The header file, and its hash. The source checks the hash.
    fn header_and_hash(&self) -> (String, String) {
        let mut out = String::new();
        api::header(&mut out, self);
        let out = wrap::file(&single_spaced(&out));
        let digest = Sha256::digest(&out);
        let hash =
            format!("0x{:02x}{:02x}{:02x}{:02x}u", digest[0], digest[1], digest[2], digest[3]);
        let included = format!("#define {}_H_INCLUDED\n", self.upper());
        let (before, after) =
            out.split_once(&included).expect("emit: a header has an include guard");
        let compared =
            format!("#define {}_H_HASH {hash} /* which the source compares */\n", self.upper());
        (format!("{before}{included}{compared}{after}"), hash)
    }

    /// True if bodies may share texts: the file includes itself for each body.
    fn can_share(&self) -> bool {
        self.extensions() && is_includable(self.stem) && self.passes == Passes::Looped
    }

    /// True if the file uses extensions of gcc and clang.
    pub(super) fn extensions(&self) -> bool {
        self.options.machine.target.c.extensions
    }

    /// True if the target computes floats in software.
    pub(super) fn in_software(&self) -> bool {
        self.options.machine.target.baseline.code.in_software
    }

    /// A statement: copies the floats of a field.
    pub(super) fn copied(&self, to: &str, from: &str, field: &Field) -> String {
        vectors::copied(
            (self.prefix(), self.extensions()),
            to,
            from,
            (&self.size(field), field.len()),
        )
    }

    /// A statement: sets floats to zero.
    pub(super) fn zeroed(&self, pointer: &str, count: (&str, usize)) -> String {
        vectors::zeroed((self.prefix(), self.extensions()), pointer, count)
    }

    /// The prefix of all names.
    fn prefix(&self) -> &str {
        &self.interface.function
    }

    /// The prefix of all macros.
    fn upper(&self) -> String {
        self.prefix().to_ascii_uppercase()
    }

    /// The condition under which the body named after `isa` is compiled. `None`: always.
    fn condition(&self, isa: &'static Isa) -> Option<String> {
        match isa.condition() {
            None => {
                let conditions: Vec<_> = self
                    .bodies_instead()
                    .map(|other| format!("!{}", self.asked_as(other)))
                    .collect();
                Some(conditions.join(" && ")).filter(|_| !conditions.is_empty())
            }
            Some(condition) => Some(self.asked_as(condition)),
        }
    }

    /// A condition as the file spells it: a condition with several terms by the macro of an
    /// instruction set.
    fn asked_as(&self, condition: Condition) -> String {
        let macro_of =
            |isa: &&'static Isa| isa.condition() == Some(condition) && condition.has_terms();
        match self.special().find(macro_of) {
            Some(isa) => format!("defined({})", self.macro_of(isa)),
            None => condition.c.to_owned(),
        }
    }

    /// The macro for the condition of an instruction set, defined if the condition holds.
    fn macro_of(&self, isa: &Isa) -> String {
        format!("{}_HAS_{}", self.upper(), isa.name.to_ascii_uppercase())
    }

    /// Definitions of the macros for conditions that a text uses.
    fn conditions(&self, text: &str) -> String {
        let is_asked = |isa: &&'static Isa| {
            let spelled = format!("defined({})", self.macro_of(isa));
            isa.condition().is_some_and(|condition| self.asked_as(condition) == spelled)
                && text.contains(&spelled)
        };
        let defined = |isa: &'static Isa| {
            let condition = isa.condition().map_or("", |condition| condition.c);
            format!("#if {condition}\n#define {}\n#endif\n", self.macro_of(isa))
        };
        let definitions: String = self.special().filter(is_asked).map(defined).collect();
        match definitions.is_empty() {
            true => definitions,
            false => {
                let says = "/* The instruction sets of which this compilation has a body. */";
                format!("{says}\n{definitions}")
            }
        }
    }

    /// The preamble: checks of the compiler, headers, attributes.
    fn preamble(&self, code: &str, shares: bool) -> String {
        let (arch, file) = (self.options.machine.target, format!("{}.c", self.stem));
        let (refused, help) = arch.c.refused;
        let (baseline_refused, baseline_help) = arch.c.baseline_refused;
        let mut when_compiling =
            self.isas.iter().filter(|planned| planned.isa.is_chosen_when_compiling());
        let has_vectors =
            arch.baseline.lanes > 1 && when_compiling.all(|planned| planned.isa.lanes > 1);
        let no_other =
            self.bodies_instead().map(|other| format!(" && !{}", self.asked_as(other))).collect();
        let headers = self.headers();
        let included = |(condition, headers): &(Condition, Vec<&str>)| {
            let headers = headers.iter().map(|header| format!("#include <{header}>\n")).collect();
            vec![("CONDITION", self.asked_as(*condition)), ("HEADERS\n", headers)]
        };
        let attributes = |isa: &'static Isa| {
            vec![
                ("ATTRIBUTE", attribute(self.prefix(), isa)),
                ("FEATURES", self.features(isa.c.features)),
            ]
        };
        let baseline = self.isas[0].isa.c.header;
        let lists = [
            when("refused", !refused.is_empty()),
            when("for tests", refused.starts_with("defined(__arm__) && ")),
            when("baseline refused", has_vectors && !baseline_refused.is_empty()),
            when("baseline's header", !baseline.is_empty()),
            ("headers", headers.iter().map(included).collect()),
            when("outlined", code.contains("_OUTLINED ")),
            when("rows", code.contains("_ROW(")),
            when("kept", code.contains("_KEPT(")),
            when("passes", code.contains("_READ_AGAIN(")),
            when("unrolled", code.contains("_UNROLL(")),
            when(
                "called",
                self.extensions()
                    && self.isas.iter().any(|planned| planned.isa.code.calls != Calls::Inlined),
            ),
            (
                "attributes",
                self.special().filter(|isa| !isa.c.features.is_empty()).map(attributes).collect(),
            ),
        ];
        let words = [
            ("REFUSED", refused.to_owned()),
            ("FLUSHES", baseline_refused.to_owned()),
            ("INSTEAD", baseline_help.to_owned()),
            ("AND_NO_OTHER", no_other),
            ("ARCHITECTURE", arch.name.to_owned()),
            ("HELP", help.to_owned()),
            ("SOURCE_FILE", if is_plain(&file) { file } else { "FILE.c".to_owned() }),
            ("FLOAT_FLAGS", arch.c.float_flags.to_owned()),
            ("TUNING\n", arch.c.pragmas.iter().map(|pragmas| pragmas.text(shares)).collect()),
            ("IS_GCC", C_IS_GCC.to_owned()),
            ("BASELINE_HEADER", baseline.to_owned()),
            ("ADDS_OFFSETS", arch.c.rows.to_owned()),
            ("UPPER", self.upper()),
        ];
        listed(
            include_str!("text/preamble.c"),
            &[lists.to_vec(), self.contents.lists(self)].concat(),
            &words,
        )
    }
}

/// The code of a file.
struct Code {
    once: SharedTexts,
    /// The sections that the file includes.
    shared: String,
    code: String,
    /// The declarations used by the code.
    used: BTreeSet<VectorFunction>,
}

impl Code {
    fn lines(&self) -> usize {
        self.shared.lines().count() + self.code.lines().count()
    }
}

/// The alignment specifier for a number of bytes; empty up to the alignment of a float.
fn aligned(alignment: usize) -> String {
    if alignment > 4 { format!("_Alignas({alignment}) ") } else { String::new() }
}

/// The macro for the attribute of all functions of an instruction set. Empty if no attribute is
/// needed.
fn attribute(prefix: &str, isa: &Isa) -> String {
    match isa.c.features {
        "" => String::new(),
        _ => format!("{}_{}", prefix, isa.name).to_ascii_uppercase(),
    }
}

/// Writes `text`, within `#if` and `#endif` if there is a condition.
fn guarded(out: &mut String, condition: Option<&str>, text: &str) {
    match condition {
        None => out.push_str(text),
        Some(condition) => {
            let begin = format!("#if {condition}\n");
            match reopened(out, &begin) {
                Some(inside) => out.replace_range(inside.., "\n"),
                None => out.push_str(&begin),
            }
            out.push_str(text);
            out.push_str("#endif\n");
        }
    }
}

/// The offset at which a text can continue its last section under a condition: before the last
/// `#endif`, if the section opens with the line `begin` and has no `#else`.
fn reopened(out: &str, begin: &str) -> Option<usize> {
    let inside = out.strip_suffix("#endif\n\n").or_else(|| out.strip_suffix("#endif\n"))?;
    let at = inside.rfind(&format!("\n{begin}"))? + 1 + begin.len();
    let open = |line: &str| usize::from(line.starts_with("#if"));
    let close = |line: &str| usize::from(line.starts_with("#endif"));
    let mut depth = 0;
    for line in inside[at..].lines() {
        if depth == 0 && line.starts_with("#el") {
            return None;
        }
        depth += open(line);
        depth = depth.checked_sub(close(line))?;
    }
    (depth == 0).then_some(inside.len())
}

/// A block comment of lines with arbitrary contents.
fn block_comment(out: &mut String, indent: &str, lines: &[String]) {
    match lines {
        [] => {}
        [line] => {
            let _ = writeln!(out, "{indent}/* {} */", printable(line));
        }
        [first, rest @ ..] => {
            let _ = writeln!(out, "{indent}/* {}", printable(first));
            for line in rest {
                let _ = writeln!(out, "{}", format!("{indent} * {}", printable(line)).trim_end());
            }
            // the sign that ends the comment follows its last word
            let last = out.trim_end().rfind('\n').map_or(0, |at| at + 1);
            let is_short = out.trim_end().len() - last + 3 <= wrap::COLUMNS;
            if is_short && !out.ends_with(" *\n") {
                out.truncate(out.trim_end().len());
                out.push_str(" */\n");
            } else {
                let _ = writeln!(out, "{indent} */");
            }
        }
    }
}

/// A line for a block comment: printable ASCII, no comment sign, no trigraph, no backslash at the
/// end.
fn printable(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for c in line.chars() {
        match c {
            '/' if out.ends_with('*') => out.push_str(" /"),
            '*' if out.ends_with('/') => out.push_str(" *"),
            '?' if out.ends_with('?') => out.push_str(" ?"),
            ' '..='~' => out.push(c),
            c => {
                let _ = write!(out, "{}", c.escape_unicode());
            }
        }
    }
    let end = out.trim_end().len();
    out.truncate(end);
    if out.ends_with('\\') {
        out.push('.');
    }
    out
}

/// True if a file name needs no escapes in messages and in CMake.
fn is_plain(name: &str) -> bool {
    name.len() <= 50 && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
}

/// True if a file name can be part of an `#include`, which has no escapes.
fn is_includable(name: &str) -> bool {
    !name.chars().any(|c| c.is_control() || matches!(c, '"' | '\\' | '?'))
}

#[cfg(test)]
mod tests {
    use super::{block_comment, guarded, is_includable};

    #[test]
    fn neighbours_under_one_condition_stand_under_it_together() {
        let mut out = "a\n".to_owned();
        guarded(&mut out, Some("X"), "#ifdef Z\nb\n#endif\n");
        out.push('\n');
        guarded(&mut out, Some("X"), "c\n");
        guarded(&mut out, Some("Y"), "d\n");
        assert_eq!(out, "a\n#if X\n#ifdef Z\nb\n#endif\n\nc\n#endif\n#if Y\nd\n#endif\n");
        // text under another condition, or under the opposite one, is not continued
        for before in [
            "#if X\nb\n#else\nc\n#endif\n",
            "#if X\nb\n#endif\nc\n",
            "#if X\nb\n#endif\n#if Y\n#endif\n",
        ] {
            let mut out = format!("a\n{before}");
            guarded(&mut out, Some("X"), "d\n");
            assert_eq!(out, format!("a\n{before}#if X\nd\n#endif\n"));
        }
    }

    #[test]
    fn no_line_ends_a_comment_or_begins_another() {
        let comment = |lines: &[&str]| {
            let mut out = String::new();
            block_comment(&mut out, "", &lines.iter().map(|l| l.to_string()).collect::<Vec<_>>());
            out
        };
        assert_eq!(comment(&[]), "");
        assert_eq!(comment(&["one"]), "/* one */\n");
        assert_eq!(comment(&["one", "", "two"]), "/* one\n *\n * two */\n");
        assert_eq!(comment(&["*/ /* */*"]), "/* * / / * * / * */\n");
        assert_eq!(comment(&["??/", "\\", "\\  "]), "/* ? ?/\n * \\.\n * \\. */\n");
        assert_eq!(comment(&["a\nb\u{202e}\u{e9}"]), "/* a\\u{a}b\\u{202e}\\u{e9} */\n");
    }

    #[test]
    fn names_with_a_meaning_to_include_are_not_included() {
        assert!(is_includable("gru") && is_includable("my net") && is_includable("gr\u{fc}"));
        assert!(
            !is_includable("a\"b")
                && !is_includable("a\\b")
                && !is_includable("??)")
                && !is_includable("a\nb")
        );
    }
}
