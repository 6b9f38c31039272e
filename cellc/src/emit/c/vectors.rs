//! Vector types, and functions on vectors beyond operators and intrinsics.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::column_sums::ColumnSums;
use super::{CFile, attribute, guarded, wrap};
use crate::arch::{C_FOUR_LANES, CLoads, CVector, Copies, FloatUnit, Isa};
use crate::emit::elements::spelling;
use crate::emit::hints;
use crate::emit::text::{filled, listed, parts, when};
use crate::kernel::{Element, FLUSH_BELOW, Scalar, Type};

/// The names and texts of declarations, in order of declaration.
static VECTORS: LazyLock<Vec<(&str, &str)>> =
    LazyLock::new(|| parts(include_str!("text/vectors.c")).collect());

/// A declaration at the top of the file for use in bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct VectorFunction {
    /// The index of the text in [`VECTORS`].
    order: usize,
    /// The number of lanes. 0: independent of lanes.
    lanes: usize,
    /// The number of values that one load reads; 0 for other operations and for single loads.
    count: usize,
    /// The element type in memory, for loads.
    element: Element,
    /// The type of a loaded lane: a value, or its bits.
    scalar: Scalar,
    /// The kind of the sum across lanes; `None` without such a sum.
    across: Option<ColumnSums>,
    /// The instruction set. `None`: all.
    isa: Option<&'static Isa>,
}

impl VectorFunction {
    /// Every number of lanes.
    pub(super) const ALL_LANES: [usize; 5] = [1, 2, 4, 8, 16];

    /// The declaration with a name, for a number of lanes and an instruction set if the text
    /// depends on these.
    pub(super) fn new(name: &str, lanes: usize, isa: Option<&'static Isa>) -> Self {
        let order = VECTORS
            .iter()
            .position(|(other, _)| *other == name)
            .expect("emit: what is declared has a text");
        let has = |word| VECTORS[order].1.contains(word);
        let lanes = if has("FLOAT") || has("BITS") || has("LANES") { lanes } else { 0 };
        let is_own = |isa: &&'static Isa| match name {
            // without an instruction of its own, the text is the same for all instruction sets
            "flush" => isa.c.vectors.iter().any(|own| own.lanes == lanes && !own.flush.is_empty()),
            "mul_add" => !isa.fma || isa.c.vectors.iter().any(|own| own.lanes == lanes),
            _ => has("ATTRIBUTE") || has("SUMS"),
        };
        let isa = isa.filter(is_own);
        Self {
            order,
            lanes,
            count: 0,
            element: Element::F32,
            scalar: Scalar::F32,
            across: None,
            isa,
        }
    }

    /// The declaration of sums across lanes.
    pub(super) fn across(across: ColumnSums, isa: &'static Isa) -> Self {
        Self { across: Some(across), isa: Some(isa), ..Self::new("across", 0, None) }
    }

    /// The declaration of a load of `count` values of a type.
    pub(super) fn loads(element: Element, ty: Type, count: usize, isa: &'static Isa) -> Self {
        let Type { scalar, lanes } = ty;
        Self {
            lanes,
            count,
            element: loaded(element, scalar),
            scalar,
            isa: Some(isa),
            ..Self::new("loads", lanes, None)
        }
    }

    fn kind(self) -> &'static str {
        VECTORS[self.order].0
    }

    /// The name in the file.
    pub(super) fn name(self, prefix: &str) -> String {
        if let Some(across) = self.across {
            return across.name(prefix);
        }
        match (self.kind(), self.lanes, self.isa) {
            ("loads", lanes, Some(isa)) => {
                let element = if self.element == Element::F32 {
                    String::new()
                } else {
                    format!("_{}", self.element)
                };
                let pairs = self.element == Element::I8Pair && self.scalar == Scalar::U32;
                let element = if pairs { element + "_bits" } else { element };
                format!("{prefix}_load{lanes}_{}{element}_{}", self.count, isa.name)
            }
            ("type", lanes, _) => float(prefix, lanes),
            (kind, 0, _) => format!("{prefix}_{kind}"),
            (kind, lanes, None) => format!("{prefix}_{kind}{lanes}"),
            (kind, lanes, Some(isa)) => format!("{prefix}_{kind}{lanes}_{}", isa.name),
        }
    }

    /// The head and body of a load of several values.
    fn head_and_body(self, prefix: &str) -> (String, String) {
        let Self { lanes, count, element, isa, .. } = self;
        let (float, each) = (float(prefix, lanes), 0..count);
        let of_bits = element == Element::U32;
        let to_bits = self.scalar == Scalar::U32;
        let to = if to_bits { bits(prefix, lanes) } else { float.clone() };
        let to: String = each.clone().map(|i| format!(", {to} *to{i}")).collect();
        let inline = format!("{}_INLINE", prefix.to_ascii_uppercase());
        let attribute = isa.map_or_else(String::new, |isa| spaced(prefix, isa));
        let (name, ty) = (self.name(prefix), if of_bits { "float" } else { spelling(element).c });
        let head =
            wrap::lines(&format!("{inline} {attribute}void {name}(const {ty} *from{to}) {{"));
        let one = match element {
            Element::F16 => Some(Self::new("load_f16_", lanes, None)),
            Element::I8 => Some(Self::new("load_i8_", lanes, None)),
            Element::I8Pair => Some(Self::new("load_i8_pairs_", lanes, None)),
            _ => None,
        };
        let one = one.map(|one| one.name(prefix));
        let bits_of = |value: String| match to_bits {
            true if lanes > 1 => format!("({}){value}", bits(prefix, lanes)),
            true => format!("{}({value})", Self::new("to_bits", 1, None).name(prefix)),
            false => value,
        };
        let plain = each.map(|i| match (&one, lanes) {
            (Some(one), _) => {
                format!("    *to{i} = {};\n", bits_of(format!("{one}(from + {})", i * lanes)))
            }
            (None, 1) => format!("    *to{i} = {};\n", bits_of(format!("from[{i}]"))),
            (None, _) => {
                format!(
                    "    *to{i} = {};\n",
                    bits_of(format!("*(const {float}_in_memory *)(from + {})", i * lanes))
                )
            }
        });
        let plain: String = plain.collect();
        // a template of the instruction set loads values of one type, unless its text has TYPE
        let isa_loads = isa.and_then(|isa| {
            let gives =
                |loads: &CLoads| lanes == 1 || of_bits || !to_bits || loads.text.contains("TYPE");
            let loads = |only| {
                isa.c.loads.iter().find(|loads| {
                    loads.lanes == lanes
                        && loads.element == element
                        && loads.count == only
                        && gives(loads)
                })
            };
            loads(Some(count)).or_else(|| loads(None))
        });
        let one = one.unwrap_or_default();
        let from_bits =
            if to_bits { String::new() } else { Self::new("from_bits", lanes, None).name(prefix) };
        let ty = if to_bits { bits(prefix, lanes) } else { float };
        let body = isa_loads.map_or(plain.clone(), |loads| {
            loads
                .text(count)
                .replace("PLAIN", &plain)
                .replace("TYPE", &ty)
                .replace("LOAD", &one)
                .replace("FROM_BITS", &from_bits)
        });
        (head, abreast(&body))
    }

    /// The vectors of the instruction set with this number of lanes.
    fn vector(self) -> Option<&'static CVector> {
        self.isa?.c.vectors.iter().find(|vector| vector.lanes == self.lanes)
    }

    /// The text of the declaration: where fused, by intrinsics, of one or four lanes, in software,
    /// or of any.
    fn text(self, file: &CFile<'_>, is_fusing: bool, by_intrinsics: bool) -> &'static str {
        let kind = self.kind();
        let special = match self.lanes {
            _ if is_fusing => " where fused",
            _ if by_intrinsics => " by intrinsics",
            1 => " of one",
            4 => " of four",
            _ => "",
        };
        let named =
            |special| VECTORS.iter().find(|(name, _)| name.strip_prefix(kind) == Some(special));
        let in_software = named(" in software").filter(|_| self.lanes == 1 && file.in_software());
        in_software.or_else(|| named(special)).unwrap_or(&VECTORS[self.order]).1
    }

    /// The expressions of all lanes.
    fn each(self) -> String {
        let lane = match self.kind() {
            "splat" => "x",
            "load_i8_" => "(float)from[LANE]",
            "from_signed" => "(float)(int32_t)bits[LANE]",
            "load_f16_" | "load_i8_pairs_" => "from[LANE]",
            _ => "__builtin_fmaf(a[LANE], b[LANE], c[LANE])",
        };
        let each: Vec<_> =
            (0..self.lanes).map(|at| lane.replace("LANE", &at.to_string())).collect();
        each.join(", ")
    }

    /// The instruction sets that fuse multiply-adds in the body of another, as rows of a list.
    fn fusing(self, file: &CFile<'_>, each: &str) -> Vec<Vec<(&'static str, String)>> {
        let Some(isa) = self.isa.filter(|_| self.kind() == "mul_add") else { return Vec::new() };
        let lanes = self.lanes;
        let fused = |isa: &Isa| match isa.c.vectors.iter().find(|vector| vector.lanes == lanes) {
            Some(vector) => fill(vector.mul_add, &["a", "b", "c"].map(str::to_owned)),
            None if lanes == 1 => "__builtin_fmaf(a, b, c)".to_owned(),
            None => format!("({}){{{each}}}", float(file.prefix(), lanes)),
        };
        let row = |(at, isa): (usize, &'static Isa)| {
            let condition =
                isa.condition().expect("emit: what runs in the body of another has a condition");
            let word = if at == 0 { "#if" } else { "#elif" };
            vec![
                ("WORD", word.to_owned()),
                ("IS_FUSED", file.asked_as(condition)),
                ("FUSED", fused(isa)),
            ]
        };
        file.fusing(isa).enumerate().map(row).collect()
    }

    /// The condition and the vectors of an instruction set that shares the body of another and has
    /// an instruction that the other lacks.
    fn sharing(self, file: &CFile<'_>) -> Option<(String, &'static CVector)> {
        let has = |own: &CVector| match self.kind() {
            "load_f16_" => !own.load_f16.is_empty(),
            "load_i8_" => !own.load_i8.is_empty(),
            "load_i8_pairs_" => !own.load_i8_pairs.is_empty(),
            _ => !own.dot_pairs.is_empty(),
        };
        file.special().filter(|isa| isa.body_of.is_some()).find_map(|isa| {
            let row = isa.c.vectors.iter().find(|row| row.lanes == self.lanes && has(row))?;
            Some((file.asked_as(isa.condition()?), row))
        })
    }

    fn write(self, out: &mut String, file: &CFile<'_>) {
        let (Self { lanes, isa, .. }, vector) = (self, self.vector());
        let (prefix, extensions) = (file.prefix(), file.extensions());
        let limit = flush_limit();
        let intrinsic = vector.filter(|vector| !vector.flush.is_empty());
        let intrinsic = intrinsic.map(|vector| {
            fill(vector.flush, &["a".to_owned(), limit.clone()]).replace("PREFIX", prefix)
        });
        let each = self.each();
        let fusing = self.fusing(file, &each);
        let text = self.text(file, !fusing.is_empty(), intrinsic.is_some());
        let unfused = match vector.filter(|_| isa.is_some_and(|isa| !isa.fma)) {
            Some(vector) => fill(vector.mul_add, &["a", "b", "c"].map(str::to_owned)),
            None => "a * b + c".to_owned(),
        };
        let sharing = self.sharing(file);
        let sharing_value = |template: fn(&CVector) -> &'static str, args: &[&str]| {
            let args: Vec<_> = args.iter().map(|arg| (*arg).to_owned()).collect();
            sharing.as_ref().map_or_else(String::new, |(_, own)| fill(template(own), &args))
        };
        let (head, body) = match (self.across, isa) {
            (Some(across), Some(isa)) => {
                across.head_and_body(prefix, isa, [&float(prefix, 4), &bits(prefix, 4)])
            }
            _ if self.count > 0 => self.head_and_body(prefix),
            _ => Default::default(),
        };
        let words = [
            ("BY_ONE_LOAD", if body.contains("vldmia") { VLDM } else { "" }),
            ("COUNT", &*self.count.to_string()),
            ("IS_SHARING", sharing.as_ref().map_or("", |(condition, _)| condition)),
            ("DOT_PAIRS", &sharing_value(|own| own.dot_pairs, &["a", "b", "sum"])),
            ("DOT_QUADS", &sharing_value(|own| own.dot_quads, &["a", "b", "sum"])),
            ("LOAD_HALVES", &sharing_value(|own| own.load_f16, &["from"])),
            ("LOAD_BYTES", &sharing_value(|own| own.load_i8, &["word"])),
            ("LOAD_PAIRS", &sharing_value(|own| own.load_i8_pairs, &["from"])),
            ("UNFUSED", &unfused),
            ("HEAD\n", &head),
            ("BODY", &body),
            ("ATTRIBUTE ", &isa.map_or_else(String::new, |isa| spaced(prefix, isa))),
            ("EACH", &each),
            ("FOUR_LANES", C_FOUR_LANES),
            ("IS_SMALL", &is_small("a", extensions)),
            ("LANES", &lanes.to_string()),
            ("FLOAT", &float(prefix, lanes)),
            ("BITS", &bits(prefix, lanes)),
            ("BYTES", &(lanes * 4).to_string()),
            ("NAME", &self.name(prefix)),
            ("PREFIX", prefix),
            ("UPPER", &prefix.to_ascii_uppercase()),
            ("LIMIT", &limit),
            ("SUMS", vector.map_or("", |vector| vector.sums)),
            ("INTRINSIC", &intrinsic.unwrap_or_default()),
        ];
        let words = words.map(|(word, value): (_, &str)| (word, value.to_owned()));
        let c = &file.options.machine.target.c;
        let lists = [
            when("extensions", extensions),
            when("bits", extensions && file.in_software()),
            when("bits or floats", extensions && c.float_unit == FloatUnit::Optional),
            when("calls of memcpy", c.copies == Copies::ByMemcpy),
            when("sharing", sharing.is_some()),
            ("fusing", fusing),
        ];
        let text = listed(text, &lists, &words);
        self.print(out, &text, file);
    }

    /// Prints the text: under the condition of its instruction set, or for all instruction sets,
    /// with long lists on several lines.
    fn print(&self, out: &mut String, text: &str, file: &CFile<'_>) {
        let (Self { lanes, isa, .. }, kind) = (self, self.kind());
        match isa {
            Some(isa) => {
                out.push('\n');
                guarded(
                    out,
                    isa.condition().map(|condition| file.asked_as(condition)).as_deref(),
                    text,
                );
            }
            // texts with long lists
            None if matches!(
                (kind, lanes),
                ("load_i8_", 1 | 2 | 8 | 16)
                    | ("from_signed", 2..)
                    | ("dot_pairs" | "dot_quads", _)
            ) =>
            {
                out.push_str(&wrap::lines(text))
            }
            None => {
                if matches!(kind, "flush" | "mul_add") {
                    out.push('\n');
                }
                out.push_str(text);
            }
        }
    }
}

/// Joins short neighbouring stores to lines of limited length, and declarations of registers to
/// one declaration for each line.
fn abreast(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        match lines.last_mut() {
            Some(last) => match joined(last, line) {
                Some(joined) if joined.len() < wrap::COLUMNS => *last = joined,
                _ => lines.push(line.to_owned()),
            },
            None => lines.push(line.to_owned()),
        }
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

/// Two neighbouring lines of a load as one line, if both store a value or both declare registers
/// of one type.
fn joined(first: &str, second: &str) -> Option<String> {
    const REGISTER: &str = "    register ";
    let is_store = |line: &str| line.starts_with("    *to") && line.ends_with(';');
    if is_store(first) && is_store(second) {
        return Some(format!("{first} {}", second.trim_start()));
    }
    let (ty, declarator) = second.strip_prefix(REGISTER)?.split_once(' ')?;
    let begun = first.strip_prefix(REGISTER)?.strip_prefix(ty)?;
    Some(format!("{REGISTER}{ty}{}, {declarator}", begun.strip_suffix(';')?))
}

/// Defines the vector types and functions in `used`, and the functions of instruction sets called
/// by `code`.
pub(super) fn write(
    out: &mut String,
    file: &CFile<'_>,
    used: &BTreeSet<VectorFunction>,
    code: &[&str],
) {
    let mut texts = String::new();
    let mut functions = used.clone();
    for function in used {
        let needed: &[&str] = match (function.kind(), function.lanes) {
            ("load_f16_", 1) if file.in_software() => &["min", "below", "to_bits", "from_bits"],
            ("load_f16_", 1) => &["min", "to_bits", "from_bits"],
            ("max" | "min" | "select_less", 1) if file.in_software() => &["below"],
            ("add_large" | "sub_large", _) => &["to_bits", "from_bits"],
            ("load_f16_", _) => &["min", "type"],
            ("load_i8_pairs_", 1) => &["from_bits"],
            ("loads", 1) if function.element == Element::I8Pair => &["to_bits", "from_bits"],
            ("loads", 1) if function.element == Element::U32 => &["to_bits"],
            // kernels request their helper functions themselves
            ("across" | "copy_floats" | "zero_floats" | "row", _) => &[],
            ("low_bytes", _) => &["to_bits", "from_bits"],
            ("row_of_bytes", _) => &["row", "to_bits", "from_bits"],
            ("row_of_pairs", _) => &["row", "to_bits", "from_bits"],
            ("pack_words", _) => &["row_word", "from_bits"],
            ("pack_words_apart", _) => &["row_word", "to_bits", "from_bits"],
            ("pack_pairs" | "pack_pairs_apart", _) => &["row_word"],
            ("row_start", _) => &["from_bits"],
            _ => &["type"],
        };
        functions.extend(needed.iter().map(|kind| VectorFunction::new(kind, function.lanes, None)));
    }
    // one lane is a type of the language
    functions.retain(|function| function.kind() != "type" || function.lanes > 1);
    if functions.iter().any(|function| function.kind() == "type") {
        texts.push_str(
            "\n/* Lanes as values, as bits, and in memory, with the alignment of one float. */\n",
        );
    }
    functions.iter().for_each(|function| function.write(&mut texts, file));
    texts = without_unread(&texts, code);
    // an instruction set in the body of another uses the other's functions
    let has_functions = |isa: &&'static Isa| !isa.c.functions.is_empty() && file.named(isa) == *isa;
    for isa in file.special().filter(has_functions) {
        let words = [("PREFIX", file.prefix()), ("UPPER", &file.upper())];
        let condition = isa.condition().map(|condition| file.asked_as(condition));
        let called = called(&filled(isa.c.functions, &words), &[code, &[&texts]].concat());
        if !called.is_empty() {
            guarded(out, condition.as_deref(), &called);
        }
    }
    out.push_str(&texts);
}

/// `declarations` without unused types of vectors in memory.
fn without_unread(declarations: &str, code: &[&str]) -> String {
    let texts = [&[declarations], code].concat();
    let is_read = |line: &&str| {
        let name = line.strip_prefix("typedef ").and_then(|rest| rest.split(' ').nth(1));
        let name = name.filter(|name| name.ends_with("_in_memory"));
        name.is_none_or(|name| {
            texts.iter().map(|text| text.matches(name).count()).sum::<usize>() > 1
        })
    };
    declarations.lines().filter(is_read).flat_map(|line| [line, "\n"]).collect()
}

/// The functions of a text that other functions or texts call, with the comments before the first.
/// Empty if none is called.
fn called(functions: &str, texts: &[&str]) -> String {
    let name = |function: &str| {
        let head = function.lines().find(|line| line.ends_with('{'))?;
        Some(head[..head.find('(')?].rsplit(' ').next()?.to_owned() + "(")
    };
    let blocks: Vec<&str> = functions.split("\n\n").collect();
    let is_called = |function: &&str| {
        name(function).is_some_and(|name| {
            let callers = blocks.iter().filter(|other| !std::ptr::eq(**other, *function));
            texts.iter().chain(callers).any(|text| text.contains(&name))
        })
    };
    let kept: Vec<_> =
        blocks.iter().filter(|part| name(part).is_none() || is_called(part)).copied().collect();
    match kept.iter().any(|part| name(part).is_some()) {
        true => kept.join("\n\n").trim_end().to_owned() + "\n",
        false => String::new(),
    }
}

/// The element type in names of load functions. U32 stands for bits of f32.
pub(super) fn loaded(element: Element, scalar: Scalar) -> Element {
    match (element, scalar) {
        (Element::F32, Scalar::U32) => Element::U32,
        (element, _) => element,
    }
}

/// The reason for a load of several values by assembly.
const VLDM: &str = " by one VLDM, which needs consecutive registers";

/// The limit below which magnitudes become 0: a power of 2 as a hexadecimal number.
pub(super) fn flush_limit() -> String {
    let (mantissa, biased) = (FLUSH_BELOW.to_bits() & 0x7f_ffff, FLUSH_BELOW.to_bits() >> 23);
    assert_eq!(mantissa, 0, "emit: the limit is a power of 2");
    format!("0x1p{}f", biased as i32 - 127)
}

/// A condition: the magnitude of a value is below the limit.
pub(super) fn is_small(value: &str, extensions: bool) -> String {
    let limit = flush_limit();
    match extensions {
        true => format!("__builtin_fabsf({value}) < {limit}"),
        false => format!("{value} < {limit} && {value} > -{limit}"),
    }
}

/// True if a function copies `len` floats: for compilers without a built-in `memcpy`, and for slow
/// built-in copies.
pub(super) fn copies_by_call(extensions: bool, len: usize) -> bool {
    !extensions || len >= hints::LONG_COPY
}

/// A statement: copies `len` floats, spelled `count`.
pub(super) fn copied(
    (prefix, extensions): (&str, bool),
    to: &str,
    from: &str,
    (count, len): (&str, usize),
) -> String {
    match copies_by_call(extensions, len) {
        _ if len == 1 && !extensions => format!("{to}[0] = {from}[0];"),
        false => format!("__builtin_memcpy({to}, {from}, {count} * sizeof(float));"),
        true => format!("{prefix}{}({to}, {from}, {count});", hints::STRING_MOVES.printed),
    }
}

/// A statement: sets `len` floats to zero, spelled `count`.
pub(super) fn zeroed(
    (prefix, extensions): (&str, bool),
    pointer: &str,
    (count, len): (&str, usize),
) -> String {
    match extensions {
        false if len == 1 => format!("{pointer}[0] = 0.0f;"),
        true => format!("__builtin_memset({pointer}, 0, {count} * sizeof(float));"),
        false => format!("{prefix}_zero_floats({pointer}, {count});"),
    }
}

/// All names that [`write`] may declare for a number of lanes.
pub(super) fn names(prefix: &str, lanes: usize, isa: &'static Isa) -> Vec<String> {
    let is_function = |kind: &str| !kind.contains(' ') && !["loads", "across"].contains(&kind);
    let kinds = VECTORS.iter().map(|(kind, _)| kind).filter(|kind| is_function(kind));
    let across = ColumnSums::all(isa).into_iter().map(|across| across.name(prefix));
    let elements = [Element::F32, Element::F16, Element::I8, Element::I8Pair, Element::U32];
    let loads = (2..=isa.code.loads).flat_map(|count| {
        let functions = |scalar| {
            elements
                .map(|element| VectorFunction::loads(element, Type { scalar, lanes }, count, isa))
        };
        [functions(Scalar::F32), functions(Scalar::U32)]
            .concat()
            .into_iter()
            .map(|loads| loads.name(prefix))
    });
    let named = kinds.map(|kind| VectorFunction::new(kind, lanes, Some(isa)).name(prefix));
    named.chain(loads).chain(across).chain([bits(prefix, lanes)]).collect()
}

/// The type of `lanes` f32.
pub(super) fn float(prefix: &str, lanes: usize) -> String {
    if lanes == 1 { "float".to_string() } else { format!("{prefix}_f32x{lanes}") }
}

/// The type of `lanes` u32.
pub(super) fn bits(prefix: &str, lanes: usize) -> String {
    if lanes == 1 { "uint32_t".to_string() } else { format!("{prefix}_u32x{lanes}") }
}

/// The attribute of an instruction set, followed by a space.
pub(super) fn spaced(prefix: &str, isa: &Isa) -> String {
    let attribute = attribute(prefix, isa);
    if attribute.is_empty() { attribute } else { attribute + " " }
}

/// A template of an instruction set with arguments filled in.
pub(super) fn fill(template: &str, args: &[String]) -> String {
    let mut out =
        String::with_capacity(template.len() + args.iter().map(String::len).sum::<usize>());
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        let digit = rest.as_bytes()[at + 1] - b'0';
        out.push_str(&args[usize::from(digit)]);
        rest = &rest[at + 3..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::VectorFunction;
    use crate::arch::SCALAR_FMA;
    use crate::kernel::{Element, Scalar, Type};

    #[test]
    fn pairs_are_loaded_as_values_and_as_bits() {
        let loads = VectorFunction::loads(
            Element::I8Pair,
            Type { scalar: Scalar::U32, lanes: 4 },
            2,
            &SCALAR_FMA,
        );
        let (head, body) = loads.head_and_body("p");
        assert!(
            head.contains("p_u32x4 *to1")
                && body.contains("*to1 = (p_u32x4)p_load_i8_pairs_4(from + 4);"),
            "{body}"
        );
        for (scalar, to, arm, elsewhere) in [
            (
                Scalar::F32,
                "float *to0",
                "*to0 = p_from_bits(pair0);",
                "*to0 = p_load_i8_pairs_1(from + 0);",
            ),
            (
                Scalar::U32,
                "uint32_t *to0",
                "*to0 = (pair0);",
                "*to0 = p_to_bits(p_load_i8_pairs_1(from + 0));",
            ),
        ] {
            let loads =
                VectorFunction::loads(Element::I8Pair, Type { scalar, lanes: 1 }, 2, &SCALAR_FMA);
            let (head, body) = loads.head_and_body("p");
            assert!(head.contains(to), "{head}");
            assert!(body.contains(arm) && body.contains(elsewhere), "{body}");
        }
    }
}
