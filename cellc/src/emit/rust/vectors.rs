//! The vector types of generated modules: registers of `core::arch` where the machine has them, else arrays of lanes.
//!
//! A trait names the operations that kernels and activations use. A macro implements the trait for a type, from one expression for each operation:
//! a [`RustVector`] has those of a register; arrays and single numbers compute lane by lane. Text that no kernel of the file uses is not printed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::types::none_of;
use crate::arch::{Arch, Isa, RustVector};
use crate::emit::files::FORMATTED;
use crate::emit::text::{filled, parts};
use crate::emit::traversal::decimal;
use crate::kernel::FLUSH_BELOW;

/// What the modules of a file use: operations of all, vector lengths of each.
#[derive(Clone, Debug, Default)]
pub(super) struct Used {
    operations: BTreeSet<&'static str>,
    /// Numbers of lanes.
    lanes: BTreeSet<usize>,
    /// Dot products of this many lanes, which are methods of one type of one module.
    dots: BTreeSet<(&'static str, usize)>,
}

/// Dot products of integers, and what they compute.
const DOTS: [(&str, &str); 3] = [
    ("dot_pairs", "`c` and the products of the halves of `self` with those of `b`: 16 bits each, with a sign."),
    ("dot_quads", "`c` and the products of the bytes of `self` with those of `b`, each with a sign."),
    ("dot_unsigned_quads", "`c` and the products of the bytes of `self`, with a sign, with those of `b`, without one."),
];

impl Used {
    /// Notes that a kernel uses an operation.
    pub(super) fn operation(&mut self, name: &'static str) {
        let found = OPERATIONS.iter().find(|operation| operation.name == name);
        let found = found.unwrap_or_else(|| panic!("emit: no operation of vectors is called {name}"));
        self.operations.insert(name);
        self.operations.extend(found.needs);
    }

    /// Notes that a kernel has vectors of `lanes` lanes.
    pub(super) fn lanes(&mut self, lanes: usize) {
        self.lanes.insert(lanes);
    }

    /// Notes that a kernel uses a dot product of several lanes.
    pub(super) fn dot(&mut self, name: &'static str, lanes: usize) {
        self.dots.insert((name, lanes));
    }

    /// Adds the operations that another module uses.
    pub(super) fn merge(&mut self, other: &Self) {
        self.operations.extend(&other.operations);
        self.lanes.extend(&other.lanes);
        self.dots.extend(&other.dots);
    }

    fn operations(&self, of: Of) -> impl Iterator<Item = &'static Operation> + '_ {
        OPERATIONS.iter().filter(move |operation| operation.of == of && self.operations.contains(operation.name))
    }

    fn dots(&self, lanes: usize) -> impl Iterator<Item = (&'static str, &'static str)> + '_ {
        DOTS.into_iter().filter(move |(name, _)| self.dots.contains(&(*name, lanes)))
    }

    /// True if kernels or activations use the bits of vectors.
    fn has_bits(&self) -> bool {
        let converts = ["to_bits", "from_bits", "from_signed"].iter().any(|name| self.operations.contains(name));
        converts || !self.dots.is_empty() || self.operations(Of::Bits).next().is_some()
    }
}

/// Which trait an operation belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Vector,
    /// The trait of the bits of vectors.
    Bits,
}

/// The operands and the result of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// From an array of lanes, whose element type is this.
    From(&'static str),
    /// To an array of lanes.
    To,
    /// From one number.
    Splat,
    /// From this many vectors.
    Lanes(usize),
    /// From bits and a number of places.
    Shift,
    ToBits,
    OfBits,
    /// Has a body of its own, the same for all types.
    Provided,
}

struct Operation {
    name: &'static str,
    of: Of,
    shape: Shape,
    /// Doc comment.
    doc: &'static str,
    /// What it computes of the lanes `a`, `b`, `c` and `d`; the whole of a provided one.
    lane: &'static str,
    /// Other operations that it calls.
    needs: &'static [&'static str],
}

/// An operation that needs no other.
const fn operation(name: &'static str, of: Of, shape: Shape, doc: &'static str, lane: &'static str) -> Operation {
    Operation { name, of, shape, doc, lane, needs: &[] }
}

/// An operation that has one body for all types.
const fn provided(name: &'static str, needs: &'static [&'static str], doc: &'static str, lane: &'static str) -> Operation {
    Operation { name, of: Of::Vector, shape: Shape::Provided, doc, lane, needs }
}

use Of::{Bits, Vector};
use Shape::{From, Lanes, OfBits, Shift, Splat, To, ToBits};

/// All operations, in the order in which traits and macros have them.
const OPERATIONS: &[Operation] = &[
    operation("from_lanes", Vector, From("f32"), "", "a"),
    operation("from_weights", Vector, From("[u8; 4]"), "", "f32::from_le_bytes(a)"),
    operation("from_halves", Vector, From("[u8; 2]"), "Of binary16.", "super::half(u16::from_le_bytes(a))"),
    operation("from_bytes", Vector, From("[u8; 1]"), "Of integers.", "f32::from(i8::from_le_bytes(a))"),
    operation(
        "from_pairs",
        Vector,
        From("[u8; 2]"),
        "Of pairs of integers, which become the halves of the lanes' bits.",
        "f32::from_bits(a[0] as i8 as i16 as u16 as u32 | (a[1] as i8 as i16 as u16 as u32) << 16)",
    ),
    operation("to_lanes", Vector, To, "", "a"),
    operation("all", Vector, Splat, "The number in every lane.", "a"),
    provided(
        "load",
        &["from_lanes"],
        "The elements from `AT` on.",
        "fn load<const AT: usize, const N: usize>(from: &[f32; N]) -> Self { Self::from_lanes(part_of::<AT, L, _, N>(from)) }",
    ),
    provided(
        "weights",
        &["from_weights"],
        "The weights from `AT` on.",
        "fn weights<const AT: usize, const N: usize>(from: &[[u8; 4]; N]) -> Self { Self::from_weights(part_of::<AT, L, _, N>(from)) }",
    ),
    provided(
        "halves",
        &["from_halves"],
        "The weights of 16 bits from `AT` on.",
        "fn halves<const AT: usize, const N: usize>(from: &[[u8; 2]; N]) -> Self { Self::from_halves(part_of::<AT, L, _, N>(from)) }",
    ),
    provided(
        "bytes",
        &["from_bytes"],
        "The weights of 8 bits from `AT` on.",
        "fn bytes<const AT: usize, const N: usize>(from: &[[u8; 1]; N]) -> Self { Self::from_bytes(part_of::<AT, L, _, N>(from)) }",
    ),
    provided(
        "pairs_of_bytes",
        &["from_pairs"],
        "The pairs of weights of 8 bits from `AT` on.",
        "fn pairs_of_bytes<const AT: usize, const N: usize>(from: &[[u8; 2]; N]) -> Self { Self::from_pairs(part_of::<AT, L, _, N>(from)) }",
    ),
    provided(
        "splat",
        &["all"],
        "Element `AT` in every lane.",
        "fn splat<const AT: usize, const N: usize>(from: &[f32; N]) -> Self { let [x] = *part_of::<AT, 1, _, N>(from); Self::all(x) }",
    ),
    provided(
        "splat_weight",
        &["all"],
        "Weight `AT` in every lane.",
        "fn splat_weight<const AT: usize, const N: usize>(from: &[[u8; 4]; N]) -> Self { let [x] = *part_of::<AT, 1, _, N>(from); Self::all(f32::from_le_bytes(x)) }",
    ),
    provided(
        "store",
        &["to_lanes"],
        "Writes the elements from `AT` on.",
        "fn store<const AT: usize, const N: usize>(self, to: &mut [f32; N]) { self.to_lanes(part_of_mut::<AT, L, _, N>(to)) }",
    ),
    operation("add", Vector, Lanes(2), "", "a + b"),
    operation("sub", Vector, Lanes(2), "", "a - b"),
    operation("mul", Vector, Lanes(2), "", "a * b"),
    operation("div", Vector, Lanes(2), "", "a / b"),
    operation("mul_add", Vector, Lanes(3), "`self * b + c`, rounded once.", "$mul_add"),
    operation("max", Vector, Lanes(2), "The greater one; `b` if either is NaN.", "if a > b { a } else { b }"),
    operation("min", Vector, Lanes(2), "The smaller one; `b` if either is NaN.", "if a < b { a } else { b }"),
    operation(
        "max_magnitude",
        Vector,
        Lanes(2),
        "`|self|` or `b`, whose bits are the greater number: NaN is greater than infinity.",
        "if a.to_bits() & 0x7fff_ffff > b.to_bits() { f32::from_bits(a.to_bits() & 0x7fff_ffff) } else { b }",
    ),
    operation("select_less", Vector, Lanes(4), "`c` where `self < b`, else `d`.", "if a < b { c } else { d }"),
    operation("flush", Vector, Lanes(1), "0 where the magnitude is below 2^-100.", "if a.abs() < super::TINY { 0.0 } else { a }"),
    operation("to_bits", Vector, ToBits, "", "a.to_bits()"),
    operation("from_bits", Vector, OfBits, "", "f32::from_bits(a)"),
    operation("from_signed", Vector, OfBits, "The numbers in two's complement, rounded to f32.", "a as i32 as f32"),
    operation("all_bits", Bits, Splat, "The number in every lane.", "a"),
    operation("and", Bits, Lanes(2), "", "a & b"),
    operation("or", Bits, Lanes(2), "", "a | b"),
    operation("xor", Bits, Lanes(2), "", "a ^ b"),
    operation("shift_left", Bits, Shift, "", "a << n"),
    operation("shift_right", Bits, Shift, "Zeros are shifted in.", "a >> n"),
    operation("wrapping_add", Bits, Lanes(2), "", "a.wrapping_add(b)"),
    operation("wrapping_sub", Bits, Lanes(2), "", "a.wrapping_sub(b)"),
];

impl Operation {
    /// The method's name: what both traits call `all` is one word.
    fn method(&self) -> &'static str {
        if self.name == "all_bits" { "all" } else { self.name }
    }

    fn number(&self) -> &'static str {
        if self.of == Of::Bits { "u32" } else { "f32" }
    }

    /// The head of the method, with L lanes.
    fn head(&self, lanes: &str) -> String {
        let name = self.method();
        match self.shape {
            Shape::From(element) => format!("fn {name}(from: &[{element}; {lanes}]) -> Self"),
            Shape::To => format!("fn {name}(self, to: &mut [f32; {lanes}])"),
            Shape::Splat => format!("fn {name}(x: {}) -> Self", self.number()),
            Shape::Lanes(count) => {
                let others: String = ["b", "c", "d"].iter().take(count - 1).map(|b| format!(", {b}: Self")).collect();
                format!("fn {name}(self{others}) -> Self")
            }
            Shape::Shift => format!("fn {name}(self, n: u32) -> Self"),
            Shape::ToBits => format!("fn {name}(self) -> Self::Bits"),
            Shape::OfBits => format!("fn {name}(bits: Self::Bits) -> Self"),
            Shape::Provided => String::new(),
        }
    }

    fn declared(&self) -> String {
        let doc = if self.doc.is_empty() { String::new() } else { format!("/// {}\n", self.doc) };
        match self.shape {
            Shape::Provided => format!("{doc}#[inline(always)]\n{}\n", self.lane),
            _ => format!("{doc}{};\n", self.head("L")),
        }
    }

    /// The method of a register, whose expression is a parameter of the macro.
    fn of_register(&self) -> String {
        let body = match self.shape {
            Shape::From(_) => "let $a = from; Self(unsafe { $NAME })".to_owned(),
            Shape::To => "let ($a, $b) = (self.0, to); unsafe { $NAME }".to_owned(),
            Shape::Splat => "let $a = x; Self(unsafe { $NAME })".to_owned(),
            Shape::Lanes(1) => "let $a = self.0; Self(unsafe { $NAME })".to_owned(),
            Shape::Lanes(count) => {
                let names = ["$a", "$b", "$c", "$d"][..count].join(", ");
                let values = ["self.0", "b.0", "c.0", "d.0"][..count].join(", ");
                format!("let ({names}) = ({values}); Self(unsafe {{ $NAME }})")
            }
            Shape::Shift => "let ($a, $b) = (self.0, n); Self(unsafe { $NAME })".to_owned(),
            Shape::ToBits => "let $a = self.0; $bits(unsafe { $NAME })".to_owned(),
            Shape::OfBits => "let $a = bits.0; Self(unsafe { $NAME })".to_owned(),
            Shape::Provided => return String::new(),
        };
        format!("            #[inline(always)]\n            {} {{ {} }}\n", self.head("$lanes"), body.replace("$NAME", &format!("${}", self.name)))
    }

    /// The method of an array, lane by lane.
    fn of_array(&self) -> String {
        let lane = self.lane;
        let zero = if self.of == Of::Bits { "[0; $lanes]" } else { "[0.0; $lanes]" };
        let into = |from: &str, out: &str, zero: &str| {
            format!("let mut lanes = {zero}; for (lane, a) in lanes.iter_mut().pairs({from}) {{ let a = *a; *lane = {lane}; }} {out}(lanes)")
        };
        let body = match self.shape {
            Shape::From("f32") => "Self(*from)".to_owned(),
            Shape::From(_) => into("from", "Self", zero),
            Shape::To => "*to = self.0;".to_owned(),
            Shape::Splat => "Self([x; $lanes])".to_owned(),
            Shape::Lanes(_) if lane == "$mul_add" => {
                "let mut c = c; for ((a, b), c) in self.0.iter().pairs(&b.0).pairs(c.0.iter_mut()) { let ($a, $b, $c) = (*a, *b, *c); *c = unsafe { $mul_add }; } c".to_owned()
            }
            Shape::Lanes(1) => {
                format!("let mut out = self; for lane in out.0.iter_mut() {{ let a = *lane; *lane = {lane}; }} out")
            }
            Shape::Lanes(count) => {
                let others = &["b", "c", "d"][..count - 1];
                let (mut pattern, mut source) = ("lane".to_owned(), "out.0.iter_mut()".to_owned());
                let mut values = String::from("*lane");
                for other in others {
                    pattern = format!("({pattern}, {other})");
                    let _ = write!(source, ".pairs(&{other}.0)");
                    let _ = write!(values, ", *{other}");
                }
                let names: Vec<_> = std::iter::once("a").chain(others.iter().copied()).collect();
                format!(
                    "let mut out = self; for {pattern} in {source} {{ let ({}) = ({values}); *lane = {lane}; }} out",
                    names.join(", ")
                )
            }
            Shape::Shift => {
                format!("let mut out = self; for lane in out.0.iter_mut() {{ let a = *lane; *lane = {lane}; }} out")
            }
            Shape::ToBits => into("&self.0", "$bits", "[0; $lanes]"),
            Shape::OfBits => into("&bits.0", "Self", "[0.0; $lanes]"),
            Shape::Provided => return String::new(),
        };
        format!("            #[inline]\n            {} {{ {body} }}\n", self.head("$lanes"))
    }

    /// The method of a vector of one lane, which is a number.
    fn of_number(&self) -> String {
        let lane = self.lane;
        let body = match self.shape {
            Shape::From(_) => format!("let [a] = *from; Self({lane})"),
            Shape::To => "*to = [self.0];".to_owned(),
            Shape::Splat => "Self(x)".to_owned(),
            Shape::Lanes(3) if lane == "$mul_add" => {
                "let ($a, $b, $c) = (self.0, b.0, c.0); Self(unsafe { $mul_add })".to_owned()
            }
            Shape::Lanes(1) => format!("let a = self.0; Self({lane})"),
            Shape::Lanes(count) => {
                let names = ["a", "b", "c", "d"][..count].join(", ");
                let values = ["self.0", "b.0", "c.0", "d.0"][..count].join(", ");
                format!("let ({names}) = ({values}); Self({lane})")
            }
            Shape::Shift => unreachable!("emit: a number of one lane has bits of its own"),
            Shape::ToBits => format!("let a = self.0; {lane}"),
            Shape::OfBits => format!("let a = bits; Self({lane})"),
            Shape::Provided => return String::new(),
        };
        format!("            #[inline(always)]\n            {} {{ {body} }}\n", self.head("1"))
    }

    /// The method of the bits of one lane, which are a number.
    fn of_u32(&self) -> String {
        let (lane, of) = (self.lane, if self.shape == Shape::Splat { "x" } else { "self" });
        format!("#[inline(always)] {} {{ let a = {of}; {lane} }}\n", self.head("1"))
    }
}

/// The traits and macros that the modules of a file share.
pub(super) fn shared(used: &Used, text: &str) -> String {
    if used.operations.is_empty() && used.lanes.is_empty() {
        return String::new();
    }
    let has_bits = used.has_bits();
    let bits = if has_bits { "/// The bits of as many lanes.\ntype Bits: Bits<L>;\n" } else { "" };
    let declared = |of| used.operations(of).map(Operation::declared).collect::<String>();
    let mut out = String::new();
    let vector = declared(Of::Vector);
    let _ = write!(out, "/// `L` numbers, and what kernels compute of them.\ntrait Vector<const L: usize>: Copy {{ {bits} {vector} }}\n");
    if has_bits {
        let _ = write!(out, "/// The bits of `L` numbers.\ntrait Bits<const L: usize>: Copy {{ {} }}\n", declared(Of::Bits));
    }
    if text.contains("register!(") {
        out.push_str(&formatted(&register(used, has_bits)));
    }
    if text.contains("array!(") {
        out.push_str(&formatted(&array(used, has_bits)));
    }
    if text.contains("number!(") {
        out.push_str(&formatted(&number(used, has_bits)));
        if has_bits {
            out.push_str(&u32_bits(used));
        }
    }
    let tiny = decimal(FLUSH_BELOW);
    for (name, part) in parts(SHARED) {
        let called = match name {
            "Pairs" => ".pairs(".to_owned(),
            "TINY" => "super::TINY".to_owned(),
            "part_of" | "part_of_mut" => format!("{name}::<"),
            _ => format!("{name}("),
        };
        if text.contains(&called) || out.contains(&called) {
            out.push_str(&filled(part, &[("FLUSH_BELOW", &tiny)]));
        }
    }
    out
}

/// What modules call besides, each behind what it calls itself.
const SHARED: &str = include_str!("text/vectors.rs");

/// The operations that a register has an expression for.
fn expressions(used: &Used) -> impl Iterator<Item = &'static Operation> + '_ {
    let all = used.operations(Of::Vector).chain(used.operations(Of::Bits));
    all.filter(|operation| operation.shape != Shape::Provided)
}

/// The parameter of a macro that lists dot products.
const DOT_PARAMETERS: &str = "$(; $(#[$doc:meta])* $dot:ident: $sum:expr)*";

const DOTS_OF_REGISTER: &str = "        impl $bits {
            $($(#[$doc])*
            #[inline(always)]
            #[allow(unused_unsafe)]
            fn $dot(self, b: Self, c: Self) -> Self { let ($a, $b, $c) = (self.0, b.0, c.0); Self(unsafe { $sum }) })*
        }
";

const DOTS_OF_ARRAY: &str = "        impl $bits {
            $($(#[$doc])*
            #[inline(always)]
            fn $dot(self, b: Self, c: Self) -> Self {
                let mut c = c;
                for ((a, b), c) in self.0.iter().pairs(&b.0).pairs(c.0.iter_mut()) { let ($a, $b, $c) = (*a, *b, *c); *c = $sum; }
                c
            })*
        }
";

/// Lines that are formatted already.
fn formatted(text: &str) -> String {
    text.lines().map(|line| format!("{FORMATTED}{line}\n")).collect()
}

/// The implementation of a trait in a macro.
fn implementation(of: Of, lanes: &str, methods: &str) -> String {
    let (name, ty, bits) = match of {
        Of::Vector => ("Vector", "$vector", ""),
        Of::Bits => ("Bits", "$bits", ""),
    };
    format!("        #[allow(unused_unsafe)]\n        impl {name}<{lanes}> for {ty} {{\n{bits}{methods}        }}\n")
}

fn register(used: &Used, has_bits: bool) -> String {
    let methods = |of| used.operations(of).map(Operation::of_register).collect::<String>();
    let parameters = |of| -> String {
        let own = used.operations(of).filter(|operation| operation.shape != Shape::Provided);
        own.map(|operation| format!(",\n     {0}: ${0}:expr", operation.name)).collect()
    };
    let (mut declared, mut parameters) = (String::from("$vector:ident($register:ty)"), parameters(Of::Vector) + &parameters(Of::Bits));
    let mut body = String::from("        #[derive(Clone, Copy)]\n        struct $vector($register);\n");
    let bits = if has_bits { "            type Bits = $bits;\n" } else { "" };
    body += &implementation(Of::Vector, "$lanes", &(bits.to_owned() + &methods(Of::Vector)));
    if has_bits {
        declared += ", $bits:ident($integers:ty)";
        body += "        #[derive(Clone, Copy)]\n        struct $bits($integers);\n";
        body += &implementation(Of::Bits, "$lanes", &methods(Of::Bits));
    }
    if !used.dots.is_empty() {
        let _ = write!(parameters, "\n     {DOT_PARAMETERS}");
        body += DOTS_OF_REGISTER;
    }
    format!(
        "/// A register of `core::arch` as a [`Vector`]: an expression for each operation, of its operands.
#[allow(unused_macros)]
macro_rules! register {{
    ({declared}, $lanes:literal, |$a:ident, $b:ident, $c:ident, $d:ident|{parameters}) => {{
        // SAFETY, of every expression: functions with the features of its instructions alone use the type, and an `Isa` lets them be
        // called only where the processor has these; memory is read and written inside an array of lanes
{body}    }};
}}
"
    )
}

fn array(used: &Used, has_bits: bool) -> String {
    let methods = |of| used.operations(of).map(Operation::of_array).collect::<String>();
    let (mut declared, mut parameters) = ("$vector:ident", String::new());
    let mut body = String::from("        #[derive(Clone, Copy)]\n        struct $vector([f32; $lanes]);\n");
    let bits = if has_bits { "            type Bits = $bits;\n" } else { "" };
    body += &implementation(Of::Vector, "$lanes", &(bits.to_owned() + &methods(Of::Vector)));
    if has_bits {
        declared = "$vector:ident, $bits:ident";
        body += "        #[derive(Clone, Copy)]\n        struct $bits([u32; $lanes]);\n";
        body += &implementation(Of::Bits, "$lanes", &methods(Of::Bits));
    }
    if !used.dots.is_empty() {
        parameters = format!("\n     {DOT_PARAMETERS}");
        body += DOTS_OF_ARRAY;
    }
    format!(
        "/// An array of lanes as a [`Vector`].
#[allow(unused_macros)]
macro_rules! array {{
    ({declared}, $lanes:literal, |$a:ident, $b:ident, $c:ident| $mul_add:expr{parameters}) => {{
        #[allow(unused_imports)]
        use super::Pairs;
{body}    }};
}}
"
    )
    .replace("        #[allow(unused_imports)]\n        use super::Pairs;\n", "")
}

fn number(used: &Used, has_bits: bool) -> String {
    let methods = used.operations(Of::Vector).map(Operation::of_number).collect::<String>();
    let bits = if has_bits { "            type Bits = u32;\n" } else { "" };
    let mut body = String::from("        #[derive(Clone, Copy)]\n        struct $vector(f32);\n");
    body += &implementation(Of::Vector, "1", &(bits.to_owned() + &methods));
    format!(
        "/// A number as a [`Vector`].
#[allow(unused_macros)]
macro_rules! number {{
    ($vector:ident, |$a:ident, $b:ident, $c:ident| $mul_add:expr) => {{
{body}    }};
}}
"
    )
}

/// The bits of one lane.
fn u32_bits(used: &Used) -> String {
    format!("impl Bits<1> for u32 {{ {} }}\n", used.operations(Of::Bits).map(Operation::of_u32).collect::<String>())
}

/// The types of a module with this text, which uses `own`; `all` is what the file uses.
pub(super) fn types(own: &Used, all: &Used, (isa, fused_by): (&Isa, Option<&Isa>), arch: &Arch, text: &str) -> String {
    let mut out = String::new();
    let mut processors: BTreeMap<&str, &str> = BTreeMap::new();
    for lanes in &own.lanes {
        let mut conditions = Vec::new();
        for isa in [Some(isa), fused_by].into_iter().flatten() {
            let row = isa.rust_vectors.iter().find(|row| row.lanes == *lanes && arch.may_be(row.processor));
            let Some(row) = row else { continue };
            let cfg = if row.condition.is_empty() { String::new() } else { format!("#[cfg({})]\n", row.condition) };
            processors.insert(row.processor, row.condition);
            out.push_str(&cfg);
            out.push_str(&of_row(row, own, all));
            conditions.push(row.condition);
        }
        if !conditions.contains(&"") {
            let cfg = if conditions.is_empty() { String::new() } else { none_of(&conditions) + "\n" };
            out.push_str(&of_lanes(*lanes, own, all.has_bits(), (isa, fused_by), &cfg));
        }
    }
    let mut head = String::new();
    let traits = [
        ("Bits", all.has_bits() && !own.lanes.is_empty()),
        ("Vector", !own.lanes.is_empty()),
        ("Pairs", text.contains(".pairs(") || out.contains("array!(")),
    ];
    let traits: Vec<_> = traits.into_iter().filter(|(_, is_used)| *is_used).map(|(name, _)| name).collect();
    if !traits.is_empty() {
        let _ = writeln!(head, "#[allow(unused_imports)]\nuse super::{{{}}};", traits.join(", "));
    }
    for (processor, condition) in processors {
        let cfg = if condition.is_empty() { String::new() } else { format!("#[cfg({condition})]\n") };
        let _ = write!(head, "{cfg}extern crate core;\n{cfg}use self::core::arch::{processor}::*;\n");
    }
    head + &formatted(&out)
}

fn of_row(row: &RustVector, own: &Used, all: &Used) -> String {
    let text = |name: &str| row.operation(name).unwrap_or_else(|| panic!("emit: {} has no {name}", row.register));
    let operation = |operation: &Operation| format!(",\n    {0}: {1}", operation.name, text(operation.name));
    let operations: String = expressions(all).map(operation).collect();
    let dots: String = own.dots(row.lanes).map(|(name, doc)| format!(";\n    /// {doc}\n    {name}: {}", text(name))).collect();
    let RustVector { lanes, register, integers, .. } = row;
    let bits = if all.has_bits() { format!(", U32x{lanes}({integers})") } else { String::new() };
    format!("register!(F32x{lanes}({register}){bits}, {lanes}, |a, b, c, d|{operations}{dots});\n")
}

/// An array of lanes, or one number: in the baseline of a file whose machines may fuse, both ways.
fn of_lanes(lanes: usize, own: &Used, has_bits: bool, (isa, fused_by): (&Isa, Option<&Isa>), cfg: &str) -> String {
    let dots: String = own.dots(lanes).map(|(name, doc)| format!(";\n    /// {doc}\n    {name}: super::{name}_lane(a, b, c)")).collect();
    let bits = if has_bits { format!(", U32x{lanes}") } else { String::new() };
    let item = |mul_add: &str| match lanes {
        1 => format!("number!(F32x1, |a, b, c| {mul_add});\n"),
        _ => format!("array!(F32x{lanes}{bits}, {lanes}, |a, b, c| {mul_add}{dots});\n"),
    };
    let unfused = "a * b + c";
    match (isa.rust_mul_add, fused_by) {
        (_, Some(fused)) => {
            let condition = fused.condition().map_or("", |condition| condition.rust);
            let not = format!("#[cfg(not({condition}))]");
            format!("{cfg}#[cfg({condition})]{}{cfg}{not}{}", item(fused.rust_mul_add), item(unfused))
        }
        ("", None) => format!("{cfg}{}", item(unfused)),
        (fused, None) if isa.rust_mul_add_where.is_empty() => format!("{cfg}{}", item(fused)),
        (fused, None) => {
            let condition = isa.rust_mul_add_where;
            format!("{cfg}#[cfg({condition})]\n{}{cfg}#[cfg(not({condition}))]\n{}", item(fused), item("super::mul_add_in_software(a, b, c)"))
        }
    }
}
