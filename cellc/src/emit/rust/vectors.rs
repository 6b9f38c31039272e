//! The vector types of generated modules: registers of `core::arch` where the machine has them,
//! else arrays of lanes.
//!
//! A trait names the operations that kernels and activations use. A macro implements the trait for
//! a type, from one expression for each operation: a [`RustVector`] has those of a register; arrays
//! and single numbers compute lane by lane. Text that no kernel of the file uses is not printed.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::arch::{Arch, Isa, RustVector, TURNS};
use crate::emit::text::{FORMATTED, filled, listed, parts, when};
use crate::emit::traversal::decimal;
use crate::kernel::{Element, FLUSH_BELOW};

/// The attribute of an item that only some bodies use: a compiler leaves bodies for other machines
/// out.
macro_rules! allowed {
    ($lint:literal) => {
        concat!("#[allow(", $lint, ", reason = \"a compiler for another machine takes bodies that do not use it\")]\n")
    };
}

pub(super) const ALLOWED: &str = allowed!("dead_code");
const MACROS_ALLOWED: &str = allowed!("unused_macros");
const IMPORTS_ALLOWED: &str = allowed!("unused_imports");

/// The attribute of functions whose bodies are unsafe blocks.
macro_rules! maybe_safe {
    () => {
        "#[allow(unused_unsafe, reason = \"newer versions of core make some intrinsics safe\")]"
    };
}

const MAYBE_SAFE: &str = maybe_safe!();

/// The attribute of a type whose field no operation of some networks reads.
const UNREAD: &str = "#[allow(dead_code, reason = \"not every network has an operation that reads the value\")]";

/// What the modules of a file use: operations of all, vector lengths of each.
#[derive(Clone, Debug, Default)]
pub(super) struct Used {
    operations: BTreeSet<&'static str>,
    /// Numbers of lanes.
    lanes: BTreeSet<usize>,
    /// Functions of the file that the module calls.
    shared: BTreeSet<&'static str>,
    /// Dot products of this many lanes, which are methods of one type of one module.
    dots: BTreeSet<(&'static str, usize)>,
    /// Numbers of sums to which rows of weights are added.
    sums: BTreeSet<usize>,
    /// The most rows that stand one after the other in the code of a loop.
    at_once: usize,
    /// Conversions of the weights of such rows.
    weights: BTreeSet<&'static str>,
    /// What is done with columns of panels.
    columns: BTreeSet<&'static str>,
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

    /// Notes that a kernel adds rows of weights to so many sums, so many rows at once.
    pub(super) fn sums(&mut self, count: usize, at_once: usize) {
        self.sums.insert(count);
        self.at_once = self.at_once.max(at_once);
    }

    /// Notes what a kernel does with columns of panels.
    pub(super) fn columns(&mut self, use_of: &'static str) {
        self.columns.insert(use_of);
    }

    /// Notes what the weights of such rows are.
    pub(super) fn weights(&mut self, element: Element) {
        let conversion = match element {
            Element::F16 => "from_halves",
            Element::I8 => "from_bytes",
            _ => "from_lanes",
        };
        self.operation(conversion);
        self.weights.insert(conversion);
    }

    /// Notes that a module calls a function of the file.
    pub(super) fn shared(&mut self, name: &'static str) {
        self.shared.insert(name);
    }

    /// What kernels outside of the modules of instruction sets import for a text.
    pub(super) fn imported<'t>(&'t self, text: &'t str) -> impl Iterator<Item = &'static str> + 't {
        let called = |name: &&str| ["(", "::<"].iter().any(|after| text.contains(&format!("{name}{after}")));
        let functions = self.shared.iter().copied().filter(|name| !OF_NUMBERS.contains(name)).filter(called);
        let traits = [
            ("Columns", text.contains("Columns::<")),
            ("Rows", text.contains("Rows::<")),
            ("Bits", OF_BITS.iter().any(|method| text.contains(method))),
            ("Vector", true),
            ("Pairs", text.contains(".pairs(")),
        ];
        traits.into_iter().filter_map(|(name, is_used)| is_used.then_some(name)).chain(functions)
    }

    /// Adds the operations that another module uses.
    pub(super) fn merge(&mut self, other: &Self) {
        self.shared.extend(&other.shared);
        self.operations.extend(&other.operations);
        self.lanes.extend(&other.lanes);
        self.dots.extend(&other.dots);
        self.sums.extend(&other.sums);
        self.at_once = self.at_once.max(other.at_once);
        self.weights.extend(&other.weights);
        self.columns.extend(&other.columns);
    }

    fn operations(&self, of: Of) -> impl Iterator<Item = &'static Operation> + '_ {
        OPERATIONS.iter().filter(move |operation| operation.of == of && self.operations.contains(operation.name))
    }

    fn dots(&self, lanes: usize) -> impl Iterator<Item = (&'static str, &'static str)> + '_ {
        DOTS.into_iter().filter(move |(name, _)| self.dots.contains(&(*name, lanes)))
    }

    /// True if kernels or activations use the bits of vectors.
    pub(super) fn has_bits(&self) -> bool {
        let converts = ["to_bits", "from_bits", "from_signed"].iter().any(|name| self.operations.contains(name));
        converts || !self.dots.is_empty() || self.operations(Of::Bits).next().is_some()
    }
}

/// How kernels call methods of the bits of vectors; the bits of one lane are numbers, which have
/// operators.
const OF_BITS: [&str; 6] = [".shift_left(", ".shift_right(", ".and(", ".or(", ".xor(", "::Bits::all("];

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

/// What a vector is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Register,
    Array,
    Number,
}

/// How types are written: by macros of the file, or as those would expand, where a macro of the
/// user's crate hands the text on. In a crate that forbids `unsafe` code, what another crate's
/// macro expands to may hold it, but no macro of the crate itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::emit) enum Form {
    Macros,
    Expanded,
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
const fn provided(
    name: &'static str,
    needs: &'static [&'static str],
    doc: &'static str,
    lane: &'static str,
) -> Operation {
    Operation { name, of: Of::Vector, shape: Shape::Provided, doc, lane, needs }
}

use Of::{Bits, Vector};
use Shape::{From, Lanes, OfBits, Shift, Splat, To, ToBits};

/// All operations, in the order in which traits and macros have them.
const OPERATIONS: &[Operation] = &[
    operation("from_lanes", Vector, From("f32"), "", "a"),
    operation("from_halves", Vector, From("[u8; 2]"), "Of binary16.", "super::half_to_f32(u16::from_le_bytes(a))"),
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
        "store",
        &["to_lanes"],
        "Writes the elements from `AT` on.",
        "fn store<const AT: usize, const N: usize>(self, to: &mut [f32; N]) { self.to_lanes(part_of_mut::<AT, L, _, N>(to)) }",
    ),
    operation("add", Vector, Lanes(2), "", "a + b"),
    operation("sub", Vector, Lanes(2), "", "a - b"),
    operation("mul", Vector, Lanes(2), "", "a * b"),
    operation("div", Vector, Lanes(2), "", "a / b"),
    operation(
        "mul_add",
        Vector,
        Lanes(3),
        "`self * b + c`, rounded once by an instruction set that fuses, else twice.",
        "$mul_add",
    ),
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
    operation(
        "flush",
        Vector,
        Lanes(1),
        "0 where the magnitude is below 2^-100.",
        "if a.abs() < super::FLUSH_LIMIT { 0.0 } else { a }",
    ),
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

    fn of(&self, kind: Kind) -> String {
        match kind {
            Kind::Register => self.of_register(),
            Kind::Array => self.of_array(),
            Kind::Number => self.of_number(),
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
        format!(
            "            #[inline(always)] {} {{ {} }}\n",
            self.head("$lanes"),
            body.replace("$NAME", &format!("${}", self.name))
        )
    }

    /// The method of an array, lane by lane.
    fn of_array(&self) -> String {
        let lane = self.lane;
        let zero = if self.of == Of::Bits { "[0; $lanes]" } else { "[0.0; $lanes]" };
        let into = |from: &str, out: &str, zero: &str| {
            format!(
                "let mut lanes = {zero}; for (lane, a) in lanes.iter_mut().pairs({from}) {{ let a = *a; *lane = {lane}; }} {out}(lanes)"
            )
        };
        let body = match self.shape {
            Shape::From("f32") => "Self(*from)".to_owned(),
            Shape::From(_) => into("from", "Self", zero),
            Shape::To => "*to = self.0;".to_owned(),
            Shape::Splat => "Self([x; $lanes])".to_owned(),
            Shape::Lanes(_) if lane == "$mul_add" => {
                "let mut c = c; for ((x, y), lane) in self.0.iter().pairs(&b.0).pairs(c.0.iter_mut()) { let ($a, $b, $c) = (*x, *y, *lane); *lane = unsafe { $mul_add }; } c".to_owned()
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
        format!("            #[inline] {} {{ {body} }}\n", self.head("$lanes"))
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
        format!("            #[inline(always)] {} {{ {body} }}\n", self.head("1"))
    }

    /// The method of two vectors side by side.
    fn of_joined(&self) -> String {
        let name = self.method();
        let both = |arguments: [&str; 2]| {
            let [a, b] = arguments.map(|arguments| format!("{name}({arguments})"));
            format!("Joined(self.0.{a}, self.1.{b})")
        };
        let made = |[a, b]: [&str; 2]| format!("Joined(A::{name}({a}), B::{name}({b}))");
        let body = match self.shape {
            Shape::From(_) => made(["part_of::<0, LA, _, L>(from)", "part_of::<LA, LB, _, L>(from)"]),
            Shape::To => {
                let parts = ["0, LA", "LA, LB"].map(|part| format!("part_of_mut::<{part}, _, L>(to)"));
                format!("self.0.{name}({}); self.1.{name}({});", parts[0], parts[1])
            }
            Shape::Splat => made(["x"; 2]),
            Shape::Lanes(count) => {
                let others = |half: usize| {
                    let others = ["b", "c", "d"].iter().take(count - 1).map(|other| format!("{other}.{half}"));
                    others.collect::<Vec<_>>().join(", ")
                };
                both([&others(0), &others(1)])
            }
            Shape::Shift => both(["n"; 2]),
            Shape::ToBits => both([""; 2]),
            Shape::OfBits => made(["bits.0", "bits.1"]),
            Shape::Provided => return String::new(),
        };
        format!("    #[inline(always)] {} {{ {body} }}\n", self.head("L"))
    }

    /// The method of the bits of one lane, which are a number.
    fn of_u32(&self) -> String {
        let body = match self.shape {
            Shape::Splat => "x".to_owned(),
            _ => format!("let a = self; {}", self.lane),
        };
        format!("#[inline(always)] {} {{ {body} }}\n", self.head("1"))
    }
}

/// The traits and macros that the modules of a file share.
pub(super) fn shared(used: &Used, text: &str, form: Form, alignment: usize) -> String {
    let has_bits = used.has_bits();
    let bits = if has_bits { "/// The bits of as many lanes.\ntype Bits: Bits<L>;\n" } else { "" };
    let declared = |of| used.operations(of).map(Operation::declared).collect::<String>();
    let mut out = String::new();
    let vector = declared(Of::Vector);
    if !used.operations.is_empty() {
        let _ = write!(
            out,
            "/// `L` numbers, and what kernels compute of them.\ntrait Vector<const L: usize>: Copy {{ {bits} {vector} }}\n"
        );
    }
    if has_bits {
        let _ = write!(
            out,
            "/// The bits of `L` numbers.\ntrait Bits<const L: usize>: Copy {{ {} }}\n",
            declared(Of::Bits)
        );
    }
    if form == Form::Macros {
        let macros = [("register!(", register as fn(&Used) -> String), ("array!(", array), ("number!(", number)];
        out.extend(macros.iter().filter(|(call, _)| text.contains(call)).map(|(_, text)| formatted(&text(used))));
    }
    // a compiler for another machine may take bodies that use none of these
    let guarded = |items: String| if text.contains("#[cfg(") { allowed_items(&items) } else { items };
    if !used.weights.is_empty() {
        out.push_str(&guarded(weights(used)));
    }
    if !used.columns.is_empty() {
        out.push_str(&guarded(columns(used)));
    }
    if !used.sums.is_empty() {
        out.push_str(&guarded(row_sums(used)));
    }
    if text.contains("Joined<") {
        out.push_str(&formatted(&guarded(joined(used))));
    }
    if has_bits && (text.contains("number!(F32x1") || text.contains("struct F32x1(")) {
        out.push_str(&u32_bits(used));
    }
    let (tiny, alignment) = (decimal(FLUSH_BELOW), alignment.to_string());
    for (name, part) in parts(SHARED) {
        let called = match name {
            // imported by modules, too
            "Pairs" => "Pairs".to_owned(),
            "FLUSH_LIMIT" => "super::FLUSH_LIMIT".to_owned(),
            // of operations of vectors
            "part_of" | "part_of_mut" => format!("{name}::<"),
            "chunks" => "hidden_chunks".to_owned(),
            name if OF_NUMBERS.contains(&name) => format!("super::{name}("),
            _ => format!("{name}("),
        };
        if used.shared.contains(name) || text.contains(&called) || out.contains(&called) {
            // where a compiler takes other bodies, nothing may call it
            let is_allowed = name == "Pairs" || part.contains("#[unused]");
            let is_guarded = !is_allowed && text.contains("#[cfg(");
            out.push_str(if is_guarded { ALLOWED } else { "" });
            out.push_str(&filled(part, &[("FLUSH_BELOW", &tiny), ("ALIGNMENT", &alignment), ("#[unused]\n", ALLOWED)]));
        }
    }
    out
}

/// Functions of single numbers, which modules call by their path.
const OF_NUMBERS: [&str; 4] = ["greater", "smaller", "select_less", "flush"];

/// The names of what modules share.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    parts(SHARED).map(|(name, _)| name)
}

/// Functions that modules call besides, each behind the functions that it calls itself. Some have
/// [`ALLOWED`]: a machine with registers compiles no array, and then nothing calls the functions
/// that arrays alone call.
const SHARED: &str = include_str!("text/vectors.rs");

/// The operations that a register has an expression for.
fn expressions(used: &Used) -> impl Iterator<Item = &'static Operation> + '_ {
    let all = used.operations(Of::Vector).chain(used.operations(Of::Bits));
    all.filter(|operation| operation.shape != Shape::Provided)
}

/// The parameter of a macro that lists dot products.
const DOT_PARAMETERS: &str = "$(; $(#[$doc:meta])* $dot:ident: $sum:expr)*";

const DOTS_OF_REGISTER: &str = concat!(
    "        impl $bits {
            $($(#[$doc])*
            #[inline(always)]
            ",
    maybe_safe!(),
    "
            fn $dot(self, b: Self, c: Self) -> Self { let ($a, $b, $c) = (self.0, b.0, c.0); Self(unsafe { $sum }) })*
        }
"
);

const DOTS_OF_ARRAY: &str = "        impl $bits {
            $($(#[$doc])*
            #[inline(always)]
            fn $dot(self, b: Self, c: Self) -> Self {
                let mut c = c;
                for ((x, y), lane) in self.0.iter().pairs(&b.0).pairs(c.0.iter_mut()) { let ($a, $b, $c) = (*x, *y, *lane); *lane = $sum; }
                c
            })*
        }
";

/// The most columns of a line of a list.
const LINE: usize = 120;

/// A list on as few lines as hold it, each after an indentation.
fn flowed(indent: &str, list: impl Iterator<Item = String>) -> String {
    let mut lines: Vec<String> = Vec::new();
    for item in list {
        match lines.last_mut() {
            Some(line) if line.len() + item.len() + 3 <= LINE => {
                line.push_str(", ");
                line.push_str(&item);
            }
            _ => lines.push(format!("{indent}{item}")),
        }
    }
    lines.join(",\n")
}

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
    format!("        {MAYBE_SAFE}\n        impl {name}<{lanes}> for {ty} {{\n{bits}{methods}        }}\n")
}

/// The types and implementations that a macro makes, but for dot products, with the parameters of
/// the macro.
fn body(used: &Used, kind: Kind) -> String {
    let methods = |of| used.operations(of).map(|operation| operation.of(kind)).collect::<String>();
    let has_bits = used.has_bits();
    let (fields, integers, lanes, bits) = match kind {
        Kind::Register => ("$register", "$integers", "$lanes", "$bits"),
        Kind::Array => ("[f32; $lanes]", "[u32; $lanes]", "$lanes", "$bits"),
        Kind::Number => ("f32", "u32", "1", "u32"),
    };
    let ty = if has_bits { format!("            type Bits = {bits};\n") } else { String::new() };
    let mut body = format!("        #[derive(Clone, Copy)]\n        {UNREAD}\n        struct $vector({fields});\n");
    body += &implementation(Of::Vector, lanes, &(ty + &methods(Of::Vector)));
    if has_bits && kind != Kind::Number {
        let _ = write!(body, "        #[derive(Clone, Copy)]\n        {UNREAD}\n        struct $bits({integers});\n");
        body += &implementation(Of::Bits, lanes, &methods(Of::Bits));
    }
    body
}

fn register(used: &Used) -> String {
    let own = expressions(used).map(|operation| format!("{0}: ${0}:expr", operation.name));
    let parameters = format!(",\n{}", flowed("     ", own));
    let bits = if used.has_bits() { ", $bits:ident($integers:ty)" } else { "" };
    let (mut parameters, mut body) = (parameters, body(used, Kind::Register));
    if !used.dots.is_empty() {
        let _ = write!(parameters, "\n     {DOT_PARAMETERS}");
        body += DOTS_OF_REGISTER;
    }
    format!(
        "/// A register of `core::arch` as a [`Vector`]: an expression for each operation, of its operands. A kernel need
/// not use every operation, and some intrinsics are safe functions in newer versions of `core`: two lints are silenced.
{MACROS_ALLOWED}macro_rules! register {{
    ($vector:ident($register:ty){bits}, $lanes:literal, |$a:ident, $b:ident, $c:ident, $d:ident|{parameters}) => {{
        // SAFETY, of every expression: functions with the features of its instructions alone use the type, and an `Isa` lets them be
        // called only where the processor has these; memory is read and written inside an array of lanes
{body}    }};
}}
"
    )
}

fn array(used: &Used) -> String {
    let bits = if used.has_bits() { ", $bits:ident" } else { "" };
    let (mut parameters, mut body) = (String::new(), body(used, Kind::Array));
    if !used.dots.is_empty() {
        parameters = format!("\n     {DOT_PARAMETERS}");
        body += DOTS_OF_ARRAY;
    }
    format!(
        "/// An array of lanes as a [`Vector`].
{MACROS_ALLOWED}macro_rules! array {{
    ($vector:ident{bits}, $lanes:literal, |$a:ident, $b:ident, $c:ident| $mul_add:expr{parameters}) => {{
{body}    }};
}}
"
    )
}

fn number(used: &Used) -> String {
    let body = body(used, Kind::Number);
    format!(
        "/// A number as a [`Vector`].
{MACROS_ALLOWED}macro_rules! number {{
    ($vector:ident, |$a:ident, $b:ident, $c:ident| $mul_add:expr) => {{
{body}    }};
}}
"
    )
}

/// The types that a macro would make with these arguments.
fn expanded(used: &Used, kind: Kind, lanes: usize, arguments: &[(String, String)], dots: &[(&str, String)]) -> String {
    let names = [("$vector", format!("F32x{lanes}")), ("$bits", format!("U32x{lanes}")), ("$lanes", lanes.to_string())];
    let mut words: Vec<(&str, &str)> = names.iter().map(|(word, value)| (*word, value.as_str())).collect();
    words.extend(arguments.iter().map(|(word, value)| (word.as_str(), value.as_str())));
    words.extend([("$a", "a"), ("$b", "b"), ("$c", "c"), ("$d", "d")]);
    words.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
    let mut out = filled(&body(used, kind), &words);
    let dot_text = if kind == Kind::Register { DOTS_OF_REGISTER } else { DOTS_OF_ARRAY };
    for (name, sum) in dots {
        let one = dot_text.replace("$($(#[$doc])*", "").replace("})*", "}");
        let words =
            [("$bits", names[1].1.as_str()), ("$dot", name), ("$sum", sum), ("$a", "a"), ("$b", "b"), ("$c", "c")];
        out += &filled(&one, &words);
    }
    out
}

/// The parts of a vector that no single type of an instruction set holds, whose widest vectors have
/// `widest` lanes.
pub(super) fn parts_of(lanes: usize, widest: usize) -> Option<(usize, usize)> {
    if lanes <= widest && lanes.is_power_of_two() {
        return None;
    }
    let first = lanes.next_power_of_two() / 2;
    Some((first, lanes - first))
}

/// Items that may be unused.
fn allowed_items(items: &str) -> String {
    let is_item = |line: &str| ["struct ", "impl<", "trait "].iter().any(|start| line.starts_with(start));
    items.lines().map(|line| format!("{}{line}\n", if is_item(line) { ALLOWED } else { "" })).collect()
}

/// What adds rows of weights to sums.
fn row_sums(used: &Used) -> String {
    let added = |count: &usize| {
        let names: Vec<_> = (0..*count).map(|at| format!("s{at}")).collect();
        let product = |(at, name): (usize, &String)| {
            let place = match at {
                0 => "row".to_owned(),
                1 => "row.add(apart)".to_owned(),
                at => format!("row.add({at} * apart)"),
            };
            format!("T::vector(&*{place}.cast()).mul_add(x, {name})")
        };
        let products: Vec<_> = names.iter().enumerate().map(product).collect();
        let apart = if *count == 1 { "_: usize" } else { "apart: usize" };
        vec![
            ("COUNT", count.to_string()),
            ("NAMES", names.join(", ")),
            ("PRODUCTS", products.join(",\n            ")),
            ("APART_NAME", apart.to_owned()),
        ]
    };
    let turn = |first: usize| vec![("BEFORE", first.to_string())];
    let is_unrolled = used.at_once > 1;
    let turns = (TURNS..used.at_once).step_by(TURNS).map(turn).collect();
    let lists = [
        ("sums", used.sums.iter().map(added).collect()),
        ("turns", turns),
        when("unrolled", is_unrolled),
        when("plain", !is_unrolled),
    ];
    listed(ROW_SUMS, &lists, &[("TURNS_AT_ONCE", TURNS.to_string())])
}

/// The conversions of weights to vectors.
fn weights(used: &Used) -> String {
    let conversion = |name: &&'static str| {
        let element = match *name {
            "from_halves" => "[u8; 2]",
            "from_bytes" => "[u8; 1]",
            _ => "f32",
        };
        vec![("ELEMENT", element.to_owned()), ("CONVERSION", (*name).to_owned())]
    };
    listed(WEIGHTS, &[("weights", used.weights.iter().map(conversion).collect())], &[])
}

/// Some columns of a panel.
fn columns(used: &Used) -> String {
    let lists = ["first", "all", "load", "store"].map(|name| when(name, used.columns.contains(name)));
    listed(COLUMNS, &lists, &[])
}

const COLUMNS: &str = include_str!("text/columns.rs");
const ROW_SUMS: &str = include_str!("text/row_sums.rs");
const WEIGHTS: &str = include_str!("text/weights.rs");

/// The type of two vectors side by side.
fn joined(used: &Used) -> String {
    let methods = |of| used.operations(of).map(Operation::of_joined).collect::<String>();
    let bits = if used.has_bits() { "    type Bits = Joined<A::Bits, B::Bits, LA, LB, L>;\n" } else { "" };
    let parameters = "const LA: usize, const LB: usize, const L: usize";
    let mut out = format!(
        "/// Two vectors side by side, of `LA` and `LB` lanes.
#[derive(Clone, Copy)]
struct Joined<A, B, {parameters}>(A, B);
impl<A: Vector<LA>, B: Vector<LB>, {parameters}> Vector<L> for Joined<A, B, LA, LB, L> {{
{bits}{}}}
",
        methods(Of::Vector)
    );
    if used.has_bits() {
        let _ = write!(
            out,
            "impl<A: Bits<LA>, B: Bits<LB>, {parameters}> Bits<L> for Joined<A, B, LA, LB, L> {{\n{}}}\n",
            methods(Of::Bits)
        );
    }
    out
}

/// The bits of one lane.
fn u32_bits(used: &Used) -> String {
    format!("impl Bits<1> for u32 {{ {} }}\n", used.operations(Of::Bits).map(Operation::of_u32).collect::<String>())
}

/// The types of the vectors of a module.
pub(super) struct Types<'a> {
    /// What the module uses.
    pub(super) own: &'a Used,
    /// What the file uses.
    pub(super) all: &'a Used,
    pub(super) isa: &'a Isa,
    /// The instruction set that runs in the module's body besides, and fuses multiply-adds.
    pub(super) fused_by: Option<&'a Isa>,
    pub(super) arch: &'a Arch,
    pub(super) form: Form,
}

impl Types<'_> {
    /// What stands at the beginning of the module, whose functions are `text`.
    pub(super) fn text(&self, text: &str) -> String {
        let (mut out, mut aliases) = (String::new(), String::new());
        let all = self.lanes();
        for lanes in &all {
            if let Some((first, second)) = parts_of(*lanes, self.isa.lanes) {
                let alias = |letter: char| {
                    format!(
                        "type {letter}32x{lanes} = Joined<{letter}32x{first}, {letter}32x{second}, {first}, {second}, {lanes}>;\n"
                    )
                };
                aliases += &alias('F');
                aliases += &if text.contains(&format!("U32x{lanes}")) { alias('U') } else { String::new() };
                continue;
            }
            let mut conditions = Vec::new();
            for isa in [Some(self.isa), self.fused_by].into_iter().flatten() {
                let rows = isa.rust_vectors.iter().filter(|row| self.arch.may_be(row.processor));
                let Some(row) = rows.into_iter().find(|row| row.lanes == *lanes) else { continue };
                let condition = if row.condition == self.arch.rust_held() { "" } else { row.condition };
                out.push_str(&self.item(&[condition], |types| types.of_row(row)));
                conditions.push(condition);
            }
            if !conditions.contains(&"") {
                out.push_str(&self.of_lanes(*lanes, &conditions));
            }
        }
        out += &aliases;
        let traits = [
            ("Columns", text.contains("Columns::<")),
            ("Rows", text.contains("Rows::<")),
            ("Joined", !aliases.is_empty()),
            ("Bits", self.all.has_bits() && !self.own.lanes.is_empty()),
            ("Vector", !self.own.lanes.is_empty()),
            ("Pairs", text.contains(".pairs(") || out.contains("array!(") || out.contains(".pairs(")),
        ];
        let traits = traits.into_iter().filter(|(_, is_used)| *is_used).map(|(name, _)| name);
        let called = |name: &&str| text.contains(*name) || out.contains(*name);
        let imported = self.own.shared.iter().copied().filter(|name| !OF_NUMBERS.contains(name)).filter(called);
        let traits: Vec<_> = traits.chain(imported).collect();
        let mut head = String::new();
        if !traits.is_empty() {
            let _ = writeln!(head, "{IMPORTS_ALLOWED}use super::{{{}}};", traits.join(", "));
        }
        head + &formatted(&out)
    }

    /// The lanes of all vectors that the module uses, parts of joined ones included.
    fn lanes(&self) -> BTreeSet<usize> {
        let mut all = BTreeSet::new();
        let mut left: Vec<usize> = self.own.lanes.iter().copied().collect();
        while let Some(lanes) = left.pop() {
            if all.insert(lanes) {
                left.extend(parts_of(lanes, self.isa.lanes).into_iter().flat_map(|(first, second)| [first, second]));
            }
        }
        all
    }

    /// Types under conditions; a macro's expansion is several items, which need one each.
    fn item(&self, conditions: &[&str], text: impl Fn(&Self) -> String) -> String {
        let cfg: String = conditions.iter().filter(|c| !c.is_empty()).map(|c| format!("#[cfg({c})]\n")).collect();
        let text = text(self);
        match self.form {
            Form::Macros => cfg + &text,
            // items of an expansion begin with these
            Form::Expanded => text
                .replace("#[derive(Clone, Copy)]", &format!("{cfg}#[derive(Clone, Copy)]"))
                .replace(&format!("{MAYBE_SAFE}\n        impl"), &format!("{cfg}{MAYBE_SAFE}\n        impl")),
        }
    }

    fn of_row(&self, row: &RustVector) -> String {
        let text = |name: &str| {
            let text = row.operation(name).unwrap_or_else(|| panic!("emit: {} has no {name}", row.register));
            row.with_paths(text)
        };
        let RustVector { lanes, register, integers, .. } = row;
        let [register, integers] = [register, integers].map(|name| row.with_paths(name));
        let dots: Vec<_> = self.own.dots(*lanes).collect();
        match self.form {
            Form::Expanded => {
                let mut arguments: Vec<(String, String)> =
                    expressions(self.all).map(|o| (format!("${}", o.name), text(o.name))).collect();
                arguments.extend([("$register".to_owned(), register), ("$integers".to_owned(), integers)]);
                let dots: Vec<_> = dots.into_iter().map(|(name, _)| (name, text(name))).collect();
                expanded(self.all, Kind::Register, *lanes, &arguments, &dots)
            }
            Form::Macros => {
                let operation = |operation: &Operation| format!("{}: {}", operation.name, text(operation.name));
                let operations = format!(",\n{}", flowed("    ", expressions(self.all).map(operation)));
                let dot = |(name, doc): (&str, &str)| format!(";\n    /// {doc}\n    {name}: {}", text(name));
                let dots: String = dots.into_iter().map(dot).collect();
                let bits = if self.all.has_bits() { format!(", U32x{lanes}({integers})") } else { String::new() };
                format!("register!(F32x{lanes}({register}){bits}, {lanes}, |a, b, c, d|{operations}{dots});\n")
            }
        }
    }

    /// An array of lanes, or one number, with a multiply-add.
    fn of_array(&self, lanes: usize, mul_add: &str) -> String {
        let dots: Vec<_> = self.own.dots(lanes).collect();
        if self.form == Form::Expanded {
            let kind = if lanes == 1 { Kind::Number } else { Kind::Array };
            let dots: Vec<_> =
                dots.into_iter().map(|(name, _)| (name, format!("super::{name}_lane(a, b, c)"))).collect();
            return expanded(self.all, kind, lanes, &[("$mul_add".to_owned(), mul_add.to_owned())], &dots);
        }
        let bits = if self.all.has_bits() { format!(", U32x{lanes}") } else { String::new() };
        let dot = |(name, doc): (&str, &str)| format!(";\n    /// {doc}\n    {name}: super::{name}_lane(a, b, c)");
        let dots: String = dots.into_iter().map(dot).collect();
        match lanes {
            1 => format!("number!(F32x1, |a, b, c| {mul_add});\n"),
            _ => format!("array!(F32x{lanes}{bits}, {lanes}, |a, b, c| {mul_add}{dots});\n"),
        }
    }

    /// An array of lanes, or one number, where no register is: in the baseline of a file whose
    /// machines may fuse, both ways.
    fn of_lanes(&self, lanes: usize, registers: &[&str]) -> String {
        let (isa, none) = (self.isa, none_of_conditions(registers));
        let (condition, fused, unfused) = match (isa.rust_mul_add, self.fused_by) {
            (_, Some(fused)) => (fused.condition().map_or("", |c| c.rust), fused.rust_mul_add, "a * b + c"),
            ("", None) => ("", "a * b + c", ""),
            (fused, None) => (isa.rust_mul_add_where, fused, "super::mul_add_in_software(a, b, c)"),
        };
        // registers that hold under the same condition leave nothing of it
        if registers.contains(&condition) && !condition.is_empty() {
            return self.item(&[&none], |types| types.of_array(lanes, unfused));
        }
        let first = self.item(&[&none, condition], |types| types.of_array(lanes, fused));
        if condition.is_empty() {
            return first;
        }
        first + &self.item(&[&none, &format!("not({condition})")], |types| types.of_array(lanes, unfused))
    }
}

/// The condition `not(any(..))` of all conditions; empty without conditions.
fn none_of_conditions(conditions: &[&str]) -> String {
    match conditions {
        [] => String::new(),
        [one] => format!("not({one})"),
        all => format!("not(any({}))", all.join(", ")),
    }
}
