//! The vector types of generated modules: registers of `core::arch` where the machine has them,
//! else numbers side by side.
//!
//! A trait names the operations that kernels and activations use. A macro implements the trait for
//! a type, from one expression for each operation; a [`RustVector`] has the expressions of a
//! register. A vector without a register is two vectors side by side, down to single numbers. No
//! loop over lanes is left for LLVM to unroll, which happens at opt-level 3 only. Text that no
//! kernel of the file uses is not printed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::arch::{Arch, Isa, RustVector, TURNS};
use crate::emit::text::{FORMATTED, Word, filled, listed, parts, when};
use crate::kernel::Element;

/// The head of the module shared by kernels.
const MODULE: &str =
    "/// Vectors, parts of arrays whose bounds are checked when the file is compiled, and what else
/// kernels share.
#[allow(dead_code, unused_imports, unused_macros, reason = \"machines differ in what they use\")]
";

/// The head of the module of intrinsics for vector types: `use` has no path to `core` that works in
/// all editions.
const INTRINSICS: &str = "/// The intrinsics of the processor.
pub(super) mod intrinsics {
    #[allow(unused_extern_crates, reason = \"edition 2015 knows the crate by no other path\")]
    extern crate core;
";

/// The needs of modules: operations for the file, vector lengths for each module.
#[derive(Clone, Debug, Default)]
pub(super) struct Used {
    operations: BTreeSet<&'static str>,
    /// Numbers of lanes.
    lanes: BTreeSet<usize>,
    /// Functions of the file that the module calls.
    shared: BTreeSet<&'static str>,
    /// Dot products: the method, and the number of lanes.
    dots: BTreeSet<(&'static str, usize)>,
    /// Numbers of sums to which rows of weights are added.
    sums: BTreeSet<usize>,
    /// The largest number of rows per iteration in a loop's code.
    at_once: usize,
    /// Conversions of weights for additions of rows.
    weights: BTreeSet<&'static str>,
    /// Operations on columns of panels.
    columns: BTreeSet<&'static str>,
    /// Processors with intrinsics in types.
    processors: BTreeSet<&'static str>,
}

/// The traits of dot products of integers, their methods and formulas.
const DOTS: [(&str, &str, &str); 3] = [
    (
        "DotPairs",
        "dot_pairs",
        "`c` and the products of the halves of `self` with those of `b`: 16 bits each, with a \
         sign.",
    ),
    (
        "DotQuads",
        "dot_quads",
        "`c` and the products of the bytes of `self` with those of `b`, each with a sign.",
    ),
    (
        "DotUnsignedQuads",
        "dot_unsigned_quads",
        "`c` and the products of the bytes of `self`, with a sign, with those of `b`, without one.",
    ),
];

impl Used {
    /// Records an operation of a kernel.
    pub(super) fn operation(&mut self, name: &'static str) {
        let found = OPERATIONS.iter().find(|operation| operation.name == name);
        let found =
            found.unwrap_or_else(|| panic!("emit: no operation of vectors is called {name}"));
        self.operations.insert(name);
        self.operations.extend(found.needs);
    }

    /// Records vectors with `lanes` lanes.
    pub(super) fn lanes(&mut self, lanes: usize) {
        self.lanes.insert(lanes);
    }

    /// Records a dot product of several lanes.
    pub(super) fn dot(&mut self, name: &'static str, lanes: usize) {
        self.dots.insert((name, lanes));
    }

    /// Records additions of weight rows to `count` sums, `at_once` rows per iteration.
    pub(super) fn sums(&mut self, count: usize, at_once: usize) {
        self.sums.insert(count);
        self.at_once = self.at_once.max(at_once);
    }

    /// True if a loop over rows of weights adds several rows in each turn.
    pub(super) fn has_unrolled_rows(&self) -> bool {
        self.at_once > 1
    }

    /// True if every sum over rows of weights has one gate.
    pub(super) fn has_sums_of_one_gate(&self) -> bool {
        self.sums.iter().all(|count| *count == 1)
    }

    /// Records an operation on columns of panels.
    pub(super) fn columns(&mut self, use_of: &'static str) {
        self.columns.insert(use_of);
    }

    /// True if the file takes no columns of a panel but the first ones, and all weights are f32.
    pub(super) fn has_first_columns_alone(&self) -> bool {
        self.columns.iter().all(|use_of| *use_of == "first") && self.has_float_weights()
    }

    /// Records the conversion of weights of this element type to f32.
    pub(super) fn weights(&mut self, element: Element) {
        let conversion = match element {
            Element::F16 => "from_halves",
            Element::I8 => "from_bytes",
            _ => "from_lanes",
        };
        self.operation(conversion);
        self.weights.insert(conversion);
    }

    /// True if all weights that are added in rows are f32.
    pub(super) fn has_float_weights(&self) -> bool {
        self.weights.iter().all(|conversion| *conversion == "from_lanes")
    }

    /// The words for the type of weights in texts.
    fn words_of_weights(&self) -> [Word; 5] {
        let (parameter, generics, argument, element, conversion) = match self.has_float_weights() {
            true => ("", "", "", "f32", "V::from_lanes"),
            false => ("T: Weight<V, W>,", "<T: Weight<V, W>>", "T,", "T", "T::vector"),
        };
        let words = [
            ("WEIGHT_PARAMETER", parameter),
            ("WEIGHT_GENERICS", generics),
            ("WEIGHT_ARGUMENT", argument),
            ("WEIGHT", element),
            ("CONVERTED", conversion),
        ];
        words.map(|(word, value)| (word, value.to_owned()))
    }

    /// Records a call of a function of the file.
    pub(super) fn shared(&mut self, name: &'static str) {
        self.shared.insert(name);
    }

    /// The imports of `text`, for kernels outside the modules of instruction sets.
    pub(super) fn imported<'t>(&'t self, text: &'t str) -> impl Iterator<Item = &'static str> + 't {
        let called =
            |name: &&str| ["(", "::<"].iter().any(|after| text.contains(&format!("{name}{after}")));
        let functions =
            self.shared.iter().copied().filter(|name| !OF_NUMBERS.contains(name)).filter(called);
        let traits = [
            ("Columns", text.contains("Columns::<") && !self.has_first_columns_alone()),
            ("Rows", text.contains("Rows::<")),
            ("Hidden", text.contains("Hidden::<")),
            ("Bits", OF_BITS.iter().any(|method| text.contains(method))),
            ("Vector", text.contains("Vector<")),
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
        self.processors.extend(&other.processors);
    }

    /// Records the processors with intrinsics in the types of a module.
    pub(super) fn processors(&mut self, isas: [Option<&Isa>; 2], arch: &Arch) {
        let rows = isas.into_iter().flatten().flat_map(|isa| isa.rust.vectors);
        let rows = rows.filter(|row| !self.lanes.is_empty() && arch.may_be(row.processor));
        self.processors.extend(rows.map(|row| row.processor).collect::<Vec<_>>());
    }

    fn operations(&self, set: Of) -> impl Iterator<Item = &'static Operation> + '_ {
        OPERATIONS.iter().filter(move |operation| {
            operation.set == set && self.operations.contains(operation.name)
        })
    }

    fn dots(&self, lanes: usize) -> impl Iterator<Item = (&'static str, &'static str)> + '_ {
        let names = DOTS.into_iter().map(|(trait_name, name, _)| (trait_name, name));
        names.filter(move |(_, name)| self.dots.contains(&(*name, lanes)))
    }

    /// True if kernels or activations use the bits of vectors.
    pub(super) fn has_bits(&self) -> bool {
        let converts = ["to_bits", "from_bits", "from_signed"]
            .iter()
            .any(|name| self.operations.contains(name));
        converts || !self.dots.is_empty() || self.operations(Of::Bits).next().is_some()
    }
}

/// Calls of methods of vector bits in kernels. The bits of one lane are numbers with operators.
const OF_BITS: [&str; 6] =
    [".shift_left(", ".shift_right(", ".and(", ".or(", ".xor(", "::Bits::all("];

/// The trait of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Vector,
    /// The trait of the bits of vectors.
    Bits,
}

/// The operands and the result of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// From an array of lanes with this element type.
    From(&'static str),
    /// To an array of lanes.
    To,
    /// From one number.
    Splat,
    /// From this number of vectors.
    Lanes(usize),
    /// From bits and a number of places.
    Shift,
    ToBits,
    OfBits,
    /// Any operands; the body is the same for all types.
    Provided,
}

/// The representation of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Register,
    Number,
}

/// The form of types: macros of the file, or their expansion if a macro of the user's crate emits
/// the text. In a crate that forbids `unsafe` code, expansions of another crate's macros may
/// contain `unsafe`, but the crate's own macros may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::emit) enum Form {
    Macros,
    Expanded,
}

struct Operation {
    name: &'static str,
    set: Of,
    shape: Shape,
    /// Doc comment.
    doc: &'static str,
    /// The result for the lanes `a`, `b`, `c` and `d`. For a provided operation, the whole body.
    lane: &'static str,
    /// Other operations that the operation calls.
    needs: &'static [&'static str],
}

/// An operation without calls of other operations.
const fn operation(
    name: &'static str,
    set: Of,
    shape: Shape,
    doc: &'static str,
    lane: &'static str,
) -> Operation {
    Operation { name, set, shape, doc, lane, needs: &[] }
}

/// An operation with one body for all types.
const fn provided(
    name: &'static str,
    needs: &'static [&'static str],
    doc: &'static str,
    lane: &'static str,
) -> Operation {
    Operation { name, set: Of::Vector, shape: Shape::Provided, doc, lane, needs }
}

use Of::{Bits, Vector};
use Shape::{From, Lanes, OfBits, Shift, Splat, To, ToBits};

/// All operations, in the order of traits and macros.
const OPERATIONS: &[Operation] = &[
    operation("from_lanes", Vector, From("f32"), "", "a"),
    operation(
        "from_halves",
        Vector,
        From("[u8; 2]"),
        "Of binary16.",
        "half_to_f32(u16::from_le_bytes(a))",
    ),
    operation(
        "from_bytes",
        Vector,
        From("[u8; 1]"),
        "Of integers.",
        "f32::from(i8::from_le_bytes(a))",
    ),
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
        "fn load<const AT: usize, const N: usize>(from: &[f32; N]) -> Self \
         { Self::from_lanes(part_of::<AT, L, _, N>(from)) }",
    ),
    provided(
        "halves",
        &["from_halves"],
        "The weights of 16 bits from `AT` on.",
        "fn halves<const AT: usize, const N: usize>(from: &[[u8; 2]; N]) -> Self \
         { Self::from_halves(part_of::<AT, L, _, N>(from)) }",
    ),
    provided(
        "bytes",
        &["from_bytes"],
        "The weights of 8 bits from `AT` on.",
        "fn bytes<const AT: usize, const N: usize>(from: &[[u8; 1]; N]) -> Self \
         { Self::from_bytes(part_of::<AT, L, _, N>(from)) }",
    ),
    provided(
        "pairs_of_bytes",
        &["from_pairs"],
        "The pairs of weights of 8 bits from `AT` on.",
        "fn pairs_of_bytes<const AT: usize, const N: usize>(from: &[[u8; 2]; N]) -> Self \
         { Self::from_pairs(part_of::<AT, L, _, N>(from)) }",
    ),
    provided(
        "splat",
        &["all"],
        "Element `AT` in every lane.",
        "fn splat<const AT: usize, const N: usize>(from: &[f32; N]) -> Self \
         { let [x] = *part_of::<AT, 1, _, N>(from); Self::all(x) }",
    ),
    provided(
        "store",
        &["to_lanes"],
        "Writes the elements from `AT` on.",
        "fn store<const AT: usize, const N: usize>(self, to: &mut [f32; N]) \
         { self.to_lanes(part_of_mut::<AT, L, _, N>(to)) }",
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
    operation(
        "max",
        Vector,
        Lanes(2),
        "The greater one; `b` if either is NaN.",
        "if a > b { a } else { b }",
    ),
    operation(
        "min",
        Vector,
        Lanes(2),
        "The smaller one; `b` if either is NaN.",
        "if a < b { a } else { b }",
    ),
    operation(
        "max_magnitude",
        Vector,
        Lanes(2),
        "`|self|` or `b`, whose bits are the greater number: NaN is greater than infinity.",
        "if a.to_bits() & 0x7fff_ffff > b.to_bits() { f32::from_bits(a.to_bits() & 0x7fff_ffff) } \
         else { b }",
    ),
    operation(
        "select_less",
        Vector,
        Lanes(4),
        "`c` where `self < b`, else `d`.",
        "if a < b { c } else { d }",
    ),
    operation(
        "flush",
        Vector,
        Lanes(1),
        "0 where the magnitude is below 2^-100.",
        "if a.abs() < super::FLUSH_LIMIT { 0.0 } else { a }",
    ),
    operation(
        "bits_and",
        Vector,
        Lanes(2),
        "The bits that are set in both.",
        "f32::from_bits(a.to_bits() & b.to_bits())",
    ),
    operation(
        "bits_or",
        Vector,
        Lanes(2),
        "The bits that are set in either.",
        "f32::from_bits(a.to_bits() | b.to_bits())",
    ),
    operation(
        "bits_xor",
        Vector,
        Lanes(2),
        "The bits in which both differ.",
        "f32::from_bits(a.to_bits() ^ b.to_bits())",
    ),
    operation(
        "bits_to_exponent",
        Vector,
        Lanes(1),
        "The bits, 23 places to the left: the lowest ones become the exponent.",
        "f32::from_bits(a.to_bits() << 23)",
    ),
    operation(
        "bits_shift_left",
        Vector,
        Shift,
        "The bits, `n` places to the left.",
        "f32::from_bits(a.to_bits() << n)",
    ),
    operation(
        "bits_shift_right",
        Vector,
        Shift,
        "The bits, `n` places to the right; zeros are shifted in.",
        "f32::from_bits(a.to_bits() >> n)",
    ),
    operation(
        "bits_wrapping_add",
        Vector,
        Lanes(2),
        "The sum of the bits as integers.",
        "f32::from_bits(a.to_bits().wrapping_add(b.to_bits()))",
    ),
    operation(
        "bits_wrapping_sub",
        Vector,
        Lanes(2),
        "The difference of the bits as integers.",
        "f32::from_bits(a.to_bits().wrapping_sub(b.to_bits()))",
    ),
    operation("to_bits", Vector, ToBits, "", "a.to_bits()"),
    operation("from_bits", Vector, OfBits, "", "f32::from_bits(a)"),
    operation(
        "from_signed",
        Vector,
        OfBits,
        "The numbers in two's complement, rounded to f32.",
        "a as i32 as f32",
    ),
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
    /// The name of the method. `all` is the name in both traits.
    fn method(&self) -> &'static str {
        if self.name == "all_bits" { "all" } else { self.name }
    }

    fn number(&self) -> &'static str {
        if self.set == Of::Bits { "u32" } else { "f32" }
    }

    /// The head of the method, for a number of lanes or a parameter.
    fn head(&self, lanes: &str) -> String {
        let name = self.method();
        match self.shape {
            Shape::From(element) => format!("fn {name}(from: &[{element}; {lanes}]) -> Self"),
            Shape::To => format!("fn {name}(self, to: &mut [f32; {lanes}])"),
            Shape::Splat => format!("fn {name}(x: {}) -> Self", self.number()),
            Shape::Lanes(count) => {
                let parameters: String = ["b", "c", "d"]
                    .iter()
                    .take(count - 1)
                    .map(|b| format!(", {b}: Self"))
                    .collect();
                format!("fn {name}(self{parameters}) -> Self")
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

    fn text(&self, kind: Kind) -> String {
        match kind {
            Kind::Register => self.of_register(),
            Kind::Number => self.of_number("$mul_add"),
        }
    }

    /// The method of a register. Its expression is a parameter of the macro.
    fn of_register(&self) -> String {
        let body = match self.shape {
            Shape::From(_) | Shape::Splat => "Self(unsafe { $NAME })".to_owned(),
            Shape::To => "let $a = self.0; unsafe { $NAME }".to_owned(),
            Shape::Lanes(count) => {
                return of_lanes(self.name, count, "$NAME")
                    .replace("$NAME", &format!("${}", self.name));
            }
            Shape::Shift => "let $a = self.0; Self(unsafe { $NAME })".to_owned(),
            Shape::ToBits => "let $a = self.0; $bits(unsafe { $NAME })".to_owned(),
            Shape::OfBits => "let $a = bits.0; Self(unsafe { $NAME })".to_owned(),
            Shape::Provided => return String::new(),
        };
        let body = body.replace("$NAME", &format!("${}", self.name));
        let operands = [("from: ", "$a: "), ("x: f32", "$a: f32"), ("x: u32", "$a: u32")];
        let operands = operands.into_iter().chain([("to: ", "$b: "), ("n: u32", "$b: u32")]);
        let head = operands.fold(self.head("$lanes"), |head, (name, own)| {
            head.replacen(&format!("({name}"), &format!("({own}"), 1).replacen(
                &format!(", {name}"),
                &format!(", {own}"),
                1,
            )
        });
        method("            ", "#[inline(always)]", &head, &body)
    }

    /// The method of a vector of one lane, which is a number. `mul_add` is a fused or unfused
    /// multiply-add of `a`, `b` and `c`.
    fn of_number(&self, mul_add: &str) -> String {
        let lane = self.lane;
        let body = match self.shape {
            Shape::From(_) => format!("let [a] = *from; Self({lane})"),
            Shape::To => "*to = [self.0];".to_owned(),
            Shape::Splat => "Self(x)".to_owned(),
            Shape::Lanes(3) if lane == "$mul_add" => {
                format!("let ($a, $b, $c) = (self.0, b.0, c.0); Self({mul_add})")
            }
            Shape::Lanes(count) => {
                let operands = [("a", "self.0"), ("b", "b.0"), ("c", "c.0"), ("d", "d.0")];
                format!("Self({})", with_operands(lane, &operands[..count]))
            }
            Shape::Shift => format!("Self({})", with_operands(lane, &[("a", "self.0")])),
            Shape::ToBits => with_operands(lane, &[("a", "self.0")]),
            Shape::OfBits => format!("Self({})", with_operands(lane, &[("a", "bits")])),
            Shape::Provided => return String::new(),
        };
        method("            ", "#[inline(always)]", &self.head("1"), &body)
    }

    /// The method of two vectors side by side.
    fn of_joined(&self) -> String {
        let name = self.method();
        let in_halves = |arguments: [&str; 2]| {
            let [a, b] = arguments.map(|arguments| format!("{name}({arguments})"));
            format!("Joined(self.0.{a}, self.1.{b})")
        };
        let made = |[a, b]: [&str; 2]| format!("Joined(A::{name}({a}), B::{name}({b}))");
        let body = match self.shape {
            Shape::From(_) => {
                let parts =
                    "let (a, b) = (part_of::<0, LA, _, L>(from), part_of::<LA, LB, _, L>(from));";
                format!("{parts} {}", made(["a", "b"]))
            }
            Shape::To => {
                let parts =
                    ["0, LA", "LA, LB"].map(|part| format!("part_of_mut::<{part}, _, L>(to)"));
                format!("self.0.{name}({}); self.1.{name}({});", parts[0], parts[1])
            }
            Shape::Splat => made(["x"; 2]),
            Shape::Lanes(count) => {
                let arguments = |half: usize| {
                    let fields = ["b", "c", "d"]
                        .iter()
                        .take(count - 1)
                        .map(|other| format!("{other}.{half}"));
                    fields.collect::<Vec<_>>().join(", ")
                };
                in_halves([&arguments(0), &arguments(1)])
            }
            Shape::Shift => in_halves(["n"; 2]),
            Shape::ToBits => in_halves([""; 2]),
            Shape::OfBits => made(["bits.0", "bits.1"]),
            Shape::Provided => return String::new(),
        };
        method("    ", "#[inline(always)]", &self.head("L"), &body)
    }

    /// The method of the bits of one lane: a number.
    fn of_u32(&self) -> String {
        let body = match self.shape {
            Shape::Splat => "x".to_owned(),
            Shape::Shift => with_operands(self.lane, &[("a", "self"), ("n", "n")]),
            _ => with_operands(self.lane, &[("a", "self"), ("b", "b")]),
        };
        method("    ", "#[inline(always)]", &self.head("1"), &body)
    }
}

/// An expression with other words for its operands, which are words of one letter.
fn with_operands(expression: &str, operands: &[(&str, &str)]) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut out = String::with_capacity(expression.len());
    let mut rest = expression;
    while let Some(first) = rest.chars().next() {
        let same = |c: char| is_part(c) == is_part(first);
        let (word, after) = rest.split_at(rest.find(|c| !same(c)).unwrap_or(rest.len()));
        let found = operands.iter().find(|(name, _)| *name == word);
        out.push_str(found.map_or(word, |(_, operand)| operand));
        rest = after;
    }
    out
}

/// The method of an operation on lanes.
fn of_lanes(name: &str, count: usize, value: &str) -> String {
    let operands = &["b", "c", "d"][..count - 1];
    let for_others =
        |text: &str| operands.iter().map(|other| text.replace("OTHER", other)).collect::<String>();
    method_of_lanes((name, "a", value), &for_others)
}

/// The methods of all operations on lanes. Names, operands and values are parameters of a macro.
fn of_all_lanes(prefix: &str) -> String {
    let [name, first, other, value] =
        ["name", "x", "y", "value"].map(|parameter| format!("${prefix}{parameter}"));
    let for_others = |text: &str| format!("$({})*", text.replace("OTHER", &other));
    format!("            $({})*\n", method_of_lanes((&name, &first, &value), &for_others).trim())
}

/// The method of an operation on lanes of a register: `all` repeats a text for every operand but
/// the first.
fn method_of_lanes(
    (name, first, value): (&str, &str, &str),
    all: &dyn Fn(&str) -> String,
) -> String {
    let indent = "            ";
    let operands = all(", OTHER: Self").replace("$(,", " $(,");
    let (names, values) = (all(" OTHER,"), all(" OTHER.0,"));
    format!(
        "{indent}#[inline(always)]\n\
         {indent}fn {name}(self{operands}) -> Self {{\n\
         {indent}    let ({first},{names}) = (self.0,{values});\n\
         {indent}    Self(unsafe {{ {value} }})\n\
         {indent}}}\n"
    )
}

/// The text of a method: on one line, if it is short.
fn method(indent: &str, attribute: &str, head: &str, body: &str) -> String {
    let line = format!("{indent}{attribute} {head} {{ {body} }}\n");
    if line.len() <= LINE {
        return line;
    }
    let below = format!("{indent}{attribute}\n{indent}{head} {{ {body} }}\n");
    if below.lines().all(|line| line.len() < LINE) {
        return below;
    }
    let statements: String = body
        .split_inclusive("; ")
        .map(|statement| format!("{indent}    {}\n", statement.trim_end()))
        .collect();
    format!("{indent}{attribute}\n{indent}{head} {{\n{statements}{indent}}}\n")
}

/// The shared items of modules with the text `text`: functions of single numbers, then the module
/// of traits, macros and other functions.
pub(super) fn shared(used: &Used, text: &str, form: Form, alignment: usize, arch: &Arch) -> String {
    let mut out = traits(used);
    let macros: Vec<_> = match form {
        Form::Macros => macros(used, text),
        Form::Expanded => Vec::new(),
    };
    out.extend(macros.iter().map(|text| formatted(text)));
    let rows = [
        (used.has_float_weights(), weights as fn(&Used) -> String),
        (used.has_first_columns_alone(), columns),
        (used.sums.is_empty(), row_sums),
    ];
    out.extend(
        rows.into_iter().filter(|(is_unused, _)| !is_unused).map(|(_, text)| visible(&text(used))),
    );
    if text.contains("Joined<") {
        out.push_str(&formatted(&visible(&joined(used, form))));
    }
    let has_numbers = text.contains("number!(F32x1") || text.contains("struct F32x1(");
    if used.has_bits() && has_numbers {
        out.push_str(&u32_bits(used));
    }
    out.push_str(&formatted(&visible(&dots(used, has_numbers, text.contains("Joined<")))));
    let alignment = alignment.to_string();
    let mut of_numbers = String::new();
    for (name, part) in parts(SHARED) {
        let is_used = used.shared.contains(name) || is_called(name, text) || is_called(name, &out);
        if is_used {
            let part = filled(part, &[("ALIGNMENT", &alignment)]);
            match OF_NUMBERS.contains(&name) {
                true => of_numbers.push_str(&part),
                false => out.push_str(&visible(&part)),
            }
        }
    }
    out.push_str(&intrinsics(&used.processors, arch));
    match out.is_empty() {
        true => of_numbers,
        false => {
            let macros = if macros.is_empty() { "" } else { "#[macro_use]\n" };
            format!("{of_numbers}{MODULE}{macros}mod vectors {{\n{out}}}\n")
        }
    }
}

/// The macros that `text` calls, callees before callers.
fn macros(used: &Used, text: &str) -> Vec<String> {
    let numbers = text.contains("number!(");
    let numbers_are_registers = numbers && !used.has_bits();
    let registers = text.contains("register!(") || numbers_are_registers;
    let definitions = [
        registers.then(|| register(used, numbers_are_registers)),
        numbers.then(|| number(used)),
        text.contains("dot!(").then(dot),
    ];
    definitions.into_iter().flatten().collect()
}

/// The traits of vectors and of their bits.
fn traits(used: &Used) -> String {
    let has_bits = used.has_bits();
    let bits = if has_bits { "/// The bits of as many lanes.\ntype Bits: Bits<L>;\n" } else { "" };
    let declared = |set| used.operations(set).map(Operation::declared).collect::<String>();
    let mut out = String::new();
    if !used.operations.is_empty() {
        let vector = declared(Of::Vector);
        let _ = write!(
            out,
            "/// `L` numbers, and what kernels compute of them.\npub(super) trait Vector<const L: \
             usize>: Copy {{ {bits} {vector} }}\n"
        );
    }
    if has_bits {
        let bits = declared(Of::Bits);
        let _ = write!(
            out,
            "/// The bits of `L` numbers.\npub(super) trait Bits<const L: usize>: Copy {{ {bits} \
             }}\n"
        );
    }
    out
}

/// True if a text uses the shared item `name`.
fn is_called(name: &str, text: &str) -> bool {
    let called = match name {
        // a trait, used by its method
        "Pairs" => ".pairs(".to_owned(),
        // called with generic arguments, by operations of vectors
        "part_of" | "part_of_mut" => format!("{name}::<"),
        name if OF_ELEMENTS.contains(&name) => format!("{name}::<"),
        "chunks" => "hidden_chunks".to_owned(),
        name if OF_NUMBERS.contains(&name) => format!("super::{name}("),
        _ => format!("{name}("),
    };
    let is_other = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    text.match_indices(&called)
        .any(|(at, _)| called.starts_with('.') || !text[..at].ends_with(is_other))
}

/// The module of the intrinsics of some processors.
fn intrinsics(processors: &BTreeSet<&str>, arch: &Arch) -> String {
    if processors.is_empty() {
        return String::new();
    }
    let import = |processor: &&str| {
        let condition = RustVector::condition_of(processor);
        let cfg = if condition == arch.rust.held {
            String::new()
        } else {
            format!("#[cfg({condition})]\n")
        };
        let refused = match RustVector::baseline_of(processor) {
            None => String::new(),
            Some((feature, name)) => format!(
                "#[cfg(all({condition}, \
                 not(target_feature = {feature:?})))]\n\
                 compile_error!(\"this file needs {name}, which this target lacks\");\n"
            ),
        };
        format!("{refused}{cfg}pub(in super::super) use self::core::arch::{processor}::*;\n")
    };
    format!("{INTRINSICS}{}}}\n", processors.iter().map(import).collect::<String>())
}

/// Functions of single numbers, called by path.
const OF_NUMBERS: [&str; 4] = ["greater", "smaller", "select_less", "flush"];

/// Functions of elements of arrays, which no instruction set has in another form.
const OF_ELEMENTS: [&str; 9] = [
    "length_i32",
    "length_i64",
    "length_bool",
    "length_u32",
    "above_i32",
    "above_i64",
    "copy",
    "copy_one",
    "add_elements",
];

/// The names of the functions and types that modules share.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    parts(SHARED).map(|(name, _)| name)
}

/// Further shared functions, by name, callers before callees. Loops use `pairs` instead of the
/// standard library's `zip`: `zip` is not inline, so several codegen units compile `zip`
/// separately, and a function loses its constant number of iterations.
const SHARED: &str = include_str!("text/vectors.rs");

/// The operations with an expression per register.
fn expressions(used: &Used) -> impl Iterator<Item = &'static Operation> + '_ {
    let operations = used.operations(Of::Vector).chain(used.operations(Of::Bits));
    operations.filter(|operation| operation.shape != Shape::Provided)
}

/// The parameter of a macro for a list of operations on lanes: names, operands and values.
fn listed_lanes(prefix: &str) -> String {
    format!(
        "$(${prefix}name:ident(${prefix}x:ident $(, ${prefix}y:ident)*): ${prefix}value:expr),*"
    )
}

/// Operations on lanes, as the argument of a macro.
fn lanes_arguments(all: impl Iterator<Item = (&'static str, usize, String)>) -> String {
    let argument = |(name, count, value): (&str, usize, String)| {
        format!("{name}({}): {value}", ["a", "b", "c", "d"][..count].join(", "))
    };
    flowed("    ", all.map(argument))
}

/// The maximum line length of lists.
const LINE: usize = 96;

/// A list on as few lines as possible, each indented.
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
    lines.iter().map(|line| folded(indent, line)).collect::<Vec<_>>().join(",\n")
}

/// A long line, broken into several.
fn folded(indent: &str, line: &str) -> String {
    let mut rest = line;
    let mut out = String::new();
    while rest.len() > LINE {
        let breaks = || (indent.len() + 5..LINE).rev();
        let is_end = |at: &usize| ["; ", ", "].iter().any(|end| rest[..*at].ends_with(end));
        // an operand longer than a line begins a new line
        let Some(at) =
            breaks().find(is_end).or_else(|| breaks().find(|at| rest[..*at].ends_with('(')))
        else {
            break;
        };
        let _ = write!(out, "{}\n{indent}    ", rest[..at].trim_end());
        rest = &rest[at..];
    }
    out + rest
}

/// The lines of a text, marked as formatted.
fn formatted(text: &str) -> String {
    text.lines().map(|line| format!("{FORMATTED}{line}\n")).collect()
}

/// The implementation of a trait in a macro.
fn implementation(set: Of, lanes: &str, methods: &str) -> String {
    let (name, ty, bits) = match set {
        Of::Vector => ("Vector", "$vector", ""),
        Of::Bits => ("Bits", "$bits", ""),
    };
    format!("        impl {name}<{lanes}> for {ty} {{\n{bits}{methods}        }}\n")
}

/// The types and implementations that a macro makes, with the parameters of the macro.
fn body(used: &Used, kind: Kind, form: Form) -> String {
    let is_listed = |operation: &Operation| {
        (form, kind) == (Form::Macros, Kind::Register) && matches!(operation.shape, Shape::Lanes(_))
    };
    let methods = |set| {
        let (lists, others): (Vec<_>, Vec<_>) =
            used.operations(set).partition(|operation| is_listed(operation));
        let methods: String = others.into_iter().map(|operation| operation.text(kind)).collect();
        let prefix = if set == Of::Vector { "" } else { "bits_" };
        methods + &if lists.is_empty() { String::new() } else { of_all_lanes(prefix) }
    };
    let has_bits = used.has_bits();
    let (fields, integers, lanes, bits) = match kind {
        Kind::Register => ("$register", "$integers", "$lanes", "$bits"),
        Kind::Number => ("f32", "u32", "1", "u32"),
    };
    let ty = if has_bits { format!("            type Bits = {bits};\n") } else { String::new() };
    let mut body = format!(
        "        #[derive(Clone, Copy)]\n        pub(super) struct $vector(pub(super) {fields});\n"
    );
    body += &implementation(Of::Vector, lanes, &(ty + &methods(Of::Vector)));
    if has_bits && kind != Kind::Number {
        let _ = write!(
            body,
            "        #[derive(Clone, Copy)]\n        pub(super) struct $bits(pub(super) \
             {integers});\n"
        );
        body += &implementation(Of::Bits, lanes, &methods(Of::Bits));
    }
    body
}

/// The lists of operations on lanes in the parameters of a macro, each after a semicolon.
fn lists(used: &Used) -> Vec<(Vec<&'static Operation>, &'static str)> {
    let in_lanes = |set| {
        used.operations(set)
            .filter(|operation| matches!(operation.shape, Shape::Lanes(_)))
            .collect()
    };
    let lists: [(Vec<_>, _); 2] = [(in_lanes(Of::Vector), ""), (in_lanes(Of::Bits), "bits_")];
    lists.into_iter().filter(|(list, _)| !list.is_empty()).collect()
}

/// The parameters of a macro for its lists of operations on lanes.
fn list_parameters(used: &Used) -> String {
    lists(used).iter().map(|(_, prefix)| format!(";\n     {}", listed_lanes(prefix))).collect()
}

/// The macro that implements vectors of registers. `numbers`: true if the macro also implements the
/// vector of one lane, whose operations are safe.
fn register(used: &Used, numbers: bool) -> String {
    let whole_register =
        expressions(used).filter(|operation| !matches!(operation.shape, Shape::Lanes(_)));
    let parameters =
        flowed("     ", whole_register.map(|operation| format!("{0}: ${0}:expr", operation.name)));
    let bits = if used.has_bits() { ", $bits:ident($integers:ty)" } else { "" };
    let (lists, body) = (list_parameters(used), body(used, Kind::Register, Form::Macros));
    let body = match numbers {
        true => body.replacen(
            "        impl",
            "        #[allow(unused_unsafe, reason = \"operations of one number are safe\")]\n\
             \x20       impl",
            1,
        ),
        false => body,
    };
    format!(
        "/// A register of `core::arch` as a [`Vector`]: each operation is an expression of its \
         operands.
macro_rules! register {{
    ($vector:ident($register:ty){bits}, $lanes:literal,
     |$a:ident, $b:ident|\n{parameters}{lists}) => {{
        // SAFETY, of every expression: only functions with the features of its instructions use
        // the type, and they are called only where the processor has these features; memory is
        // read and written inside an array of lanes
{body}    }};
}}
"
    )
}

/// The macro that implements a dot product of a register.
fn dot() -> String {
    let body =
        "            let ($a, $b, $c) = (self.0, b.0, c.0);\n            Self(unsafe { $value })\n";
    format!(
        "/// A dot product of the bits of a register of `core::arch`.
macro_rules! dot {{
    ($of:ident, $bits:ident, $lanes:literal, $name:ident($a:ident, $b:ident, $c:ident): $value:expr) => {{
        // SAFETY: as of the register
        {}
    }};
}}
",
        dot_of_bits("$bits", "$lanes", ("$of", "$name"), body)
    )
}

/// The implementation of a dot product for the bits of a vector.
fn dot_of_bits(bits: &str, lanes: &str, (trait_name, name): (&str, &str), body: &str) -> String {
    format!(
        "impl {trait_name}<{lanes}> for {bits} {{
            #[inline(always)]
            fn {name}(self, b: Self, c: Self) -> Self {{
    {body}            }}
        }}"
    )
}

/// The traits of dot products, with the implementations that are equal for all instruction sets:
/// for one lane, and for two vectors side by side.
fn dots(used: &Used, has_numbers: bool, has_joined: bool) -> String {
    let is_used = |name: &str| used.dots.iter().any(|(other, _)| *other == name);
    let mut out = String::new();
    for (trait_name, name, doc) in DOTS.into_iter().filter(|(_, name, _)| is_used(name)) {
        let head = format!("fn {name}(self, b: Self, c: Self) -> Self");
        let _ = write!(
            out,
            "/// Dot products of integers.\ntrait {trait_name}<const L: usize>: Copy {{\n    /// \
             {doc}\n    {head};\n}}\n"
        );
        if has_numbers {
            let body = format!("{name}_lane(self, b, c)");
            let _ = write!(
                out,
                "impl {trait_name}<1> for u32 {{\n{}}}\n",
                method("    ", "#[inline(always)]", &head, &body)
            );
        }
        if has_joined {
            let body = format!("Joined(self.0.{name}(b.0, c.0), self.1.{name}(b.1, c.1))");
            let _ = write!(
                out,
                "impl<A: {trait_name}<LA>, B: {trait_name}<LB>, const LA: usize, const LB: usize, const L: usize> {trait_name}<L>
    for Joined<A, B, LA, LB, L>
{{\n{}}}\n",
                method("    ", "#[inline(always)]", &head, &body)
            );
        }
    }
    out
}

/// The macro that implements vectors of one number: without a trait of bits, by the macro of
/// registers.
fn number(used: &Used) -> String {
    let body = match used.has_bits() {
        true => body(used, Kind::Number, Form::Macros),
        false => number_as_register(used),
    };
    let (with, parameter) = match body.contains("$mul_add") {
        true => (", with its multiply-add", ", |$a:ident, $b:ident, $c:ident| $mul_add:expr"),
        false => ("", ""),
    };
    format!(
        "/// A number as a [`Vector`] of one lane{with}.
macro_rules! number {{
    ($vector:ident{parameter}) => {{
{body}    }};
}}
"
    )
}

/// The call of the macro of registers for a vector of one number.
fn number_as_register(used: &Used) -> String {
    let value = |operation: &Operation| match operation.shape {
        Shape::From(_) => format!("{{ let [a] = *a; {} }}", operation.lane),
        Shape::To => "*b = [a]".to_owned(),
        Shape::Shift => with_operands(operation.lane, &[("n", "b")]),
        _ => operation.lane.to_owned(),
    };
    let (lists, scalars): (Vec<_>, Vec<_>) =
        expressions(used).partition(|operation| matches!(operation.shape, Shape::Lanes(_)));
    let assigned =
        scalars.into_iter().map(|operation| format!("{}: {}", operation.name, value(operation)));
    let lists = lists.into_iter().map(|operation| {
        let operands = match (operation.lane, operation.shape) {
            ("$mul_add", _) => "$a, $b, $c".to_owned(),
            (_, Shape::Lanes(count)) => ["a", "b", "c", "d"][..count].join(", "),
            _ => String::new(),
        };
        format!("{}({operands}): {}", operation.name, value(operation))
    });
    let indent = "            ";
    let (assigned, lists) = (flowed(indent, assigned), flowed(indent, lists));
    let lists = if lists.is_empty() { lists } else { format!(";\n{lists}") };
    format!("        register!($vector(f32), 1, |a, b|\n{assigned}{lists});\n")
}

/// The expansion of a macro for types with these arguments.
fn expanded(used: &Used, kind: Kind, lanes: usize, arguments: &[(String, String)]) -> String {
    let names = [
        ("$vector", format!("F32x{lanes}")),
        ("$bits", format!("U32x{lanes}")),
        ("$lanes", lanes.to_string()),
    ];
    let mut words: Vec<(&str, &str)> =
        names.iter().map(|(word, value)| (*word, value.as_str())).collect();
    words.extend(arguments.iter().map(|(word, value)| (word.as_str(), value.as_str())));
    words.extend([("$a", "a"), ("$b", "b"), ("$c", "c"), ("$d", "d")]);
    words.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
    filled(&body(used, kind, Form::Expanded), &words)
}

/// The lanes of the two parts of a vector with `lanes` lanes, if registers have at most `widest`
/// lanes. `None`: the vector has no parts.
pub(super) fn parts_of(lanes: usize, widest: usize) -> Option<(usize, usize)> {
    if lanes <= widest && lanes.is_power_of_two() {
        return None;
    }
    let first = lanes.next_power_of_two() / 2;
    Some((first, lanes - first))
}

/// The items with visibility in surrounding modules.
fn visible(items: &str) -> String {
    let is_item = |line: &str| {
        ["struct ", "trait ", "fn ", "const "].iter().any(|start| line.starts_with(start))
    };
    items
        .lines()
        .map(|line| format!("{}{line}\n", if is_item(line) { "pub(super) " } else { "" }))
        .collect()
}

/// The functions that add rows of weights to sums.
fn row_sums(used: &Used) -> String {
    let added = |count: &usize| {
        let names: Vec<_> = (0..*count).map(|at| format!("s{at}")).collect();
        let product = |(at, name): (usize, &String)| {
            let row = match at {
                0 => "row".to_owned(),
                1 => "row.add(apart)".to_owned(),
                at => format!("row.add({at} * apart)"),
            };
            format!("CONVERTED(&*{row}.cast()).mul_add(x, {name})")
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
    let is_unrolled = used.has_unrolled_rows();
    let is_one = used.has_sums_of_one_gate();
    let turns = (TURNS..used.at_once).step_by(TURNS).map(turn).collect();
    let lists = [
        ("sums", used.sums.iter().filter(|_| !is_one).map(added).collect()),
        when("several gates", !is_one),
        when("one gate", is_one),
        when("several gates, unrolled", is_unrolled && !is_one),
        when("one gate, unrolled", is_unrolled && is_one),
        ("turns", turns),
        when("unrolled", is_unrolled),
        when("plain", !is_unrolled),
    ];
    let sizes = [("TURNS_AT_ONCE", TURNS.to_string()), ("MOST_AT_ONCE", used.at_once.to_string())];
    let [sums, start, bound, gates] = match is_one {
        true => ["[V; 1]", "[V::all(0.0)]", "", ""],
        false => ["[V; S]", "[V::all(0.0); S]", "where [V; S]: Sums<V, W>,", "APART * (S - 1) + "],
    };
    let at_once = if is_unrolled { ", AT_ONCE" } else { "" };
    let names = match is_one {
        true => format!("FIRST, STEP{at_once}"),
        false => format!("S, FIRST, STEP, APART{at_once}"),
    };
    let parameters: Vec<_> = names.split(", ").map(|name| format!("const {name}: usize")).collect();
    let of_rows = [("ROW_PARAMETERS", parameters.join(", ")), ("ROW_ARGUMENTS", names)];
    let of_sums = [
        ("SUMS_TYPE", sums),
        ("SUMS_START", start),
        ("SUMS_BOUND", bound),
        ("BEFORE_LAST_GATE + ", gates),
    ];
    let of_sums = of_sums.map(|(word, value)| (word, value.to_owned()));
    let sizes = sizes.into_iter().chain(of_sums).chain(of_rows);
    let sizes = sizes.chain(words_of_columns(used.has_first_columns_alone()));
    let text = listed(ROW_SUMS, &lists, &sizes.collect::<Vec<_>>());
    listed(&text, &[], &used.words_of_weights())
}

/// The words for the columns of a panel in the text of sums.
fn words_of_columns(are_first: bool) -> [Word; 5] {
    let [docs, size, parameter, width, first_column] = match are_first {
        true => ["the first columns", "", "", "W", ""],
        false => {
            ["these columns", "const C: usize,", "columns: Columns<V, W, C>,", "C", " + columns.0"]
        }
    };
    [
        ("SUMMED_COLUMNS", docs.to_owned()),
        ("SIZE_OF_COLUMNS", size.to_owned()),
        ("COLUMNS_PARAMETER", parameter.to_owned()),
        ("ALL_COLUMNS", width.to_owned()),
        ("FIRST_COLUMN", first_column.to_owned()),
    ]
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

/// The type for some columns of a panel.
fn columns(used: &Used) -> String {
    let lists =
        ["first", "all", "load", "store"].map(|name| when(name, used.columns.contains(name)));
    listed(COLUMNS, &lists, &used.words_of_weights())
}

const COLUMNS: &str = include_str!("text/columns.rs");
const ROW_SUMS: &str = include_str!("text/row_sums.rs");
const WEIGHTS: &str = include_str!("text/weights.rs");

/// The type of two vectors side by side.
fn joined(used: &Used, form: Form) -> String {
    let is_listed =
        |operation: &Operation| form == Form::Macros && matches!(operation.shape, Shape::Lanes(_));
    let methods = |set| {
        let (lists, others): (Vec<_>, Vec<_>) =
            used.operations(set).partition(|operation| is_listed(operation));
        let methods: String = others.into_iter().map(Operation::of_joined).collect();
        let listed = |operation: &Operation| match operation.shape {
            Shape::Lanes(count) => {
                format!("{}({})", operation.name, ["b", "c", "d"][..count - 1].join(", "))
            }
            _ => String::new(),
        };
        let lists = flowed("        ", lists.into_iter().map(listed));
        methods + &if lists.is_empty() { lists } else { format!("    both!(\n{lists}\n    );\n") }
    };
    let bits =
        if used.has_bits() { "    type Bits = Joined<A::Bits, B::Bits, LA, LB, L>;\n" } else { "" };
    let parameters = "const LA: usize, const LB: usize, const L: usize";
    let mut out = if form == Form::Macros { BOTH.to_owned() } else { String::new() };
    let _ = write!(
        out,
        "/// Two vectors side by side, of `LA` and `LB` lanes.
#[derive(Clone, Copy)]
struct Joined<A, B, {parameters}>(A, B);
impl<A: Vector<LA>, B: Vector<LB>, {parameters}> Vector<L>
    for Joined<A, B, LA, LB, L>
{{
{bits}{}}}
",
        methods(Of::Vector)
    );
    if used.has_bits() {
        let _ = write!(
            out,
            "impl<A: Bits<LA>, B: Bits<LB>, {parameters}> Bits<L>
    for Joined<A, B, LA, LB, L>
{{\n{}}}\n",
            methods(Of::Bits)
        );
    }
    out
}

/// The macro of operations of two vectors side by side.
const BOTH: &str = "/// Operations of two vectors side by side: those of both.
macro_rules! both {
    ($($name:ident($($b:ident),*)),*) => {
        $(#[inline(always)]
        fn $name(self $(, $b: Self)*) -> Self {
            Joined(self.0.$name($($b.0),*), self.1.$name($($b.1),*))
        })*
    };
}
";

/// The implementation of `Bits` for `u32`, the bits of one lane.
fn u32_bits(used: &Used) -> String {
    let methods: String = used.operations(Of::Bits).map(Operation::of_u32).collect();
    formatted(&format!("impl Bits<1> for u32 {{\n{methods}}}\n"))
}

/// The declarations of a module's vectors, by lanes.
pub(super) type TypeTexts = BTreeMap<usize, String>;

/// A module whose vectors another module may import.
pub(super) struct Declared<'a> {
    pub(super) module: &'a str,
    /// The attribute with the condition under which the module is compiled.
    pub(super) condition: &'a str,
    pub(super) types: TypeTexts,
}

/// The types of the vectors of a module.
pub(super) struct Types<'a> {
    /// The needs of the module.
    pub(super) used: &'a Used,
    /// The needs of the file.
    pub(super) used_in_file: &'a Used,
    pub(super) isa: &'a Isa,
    /// The instruction set that shares the module's body and has fused multiply-add, if any.
    pub(super) fused_by: Option<&'a Isa>,
    pub(super) arch: &'a Arch,
    pub(super) form: Form,
}

impl Types<'_> {
    /// The beginning of a module with the functions `text`. Types that another module declares
    /// under the same condition are imported.
    pub(super) fn text(
        &self,
        text: &str,
        condition: &str,
        others: &[Declared<'_>],
    ) -> (String, TypeTexts) {
        let (mut out, mut aliases, mut has_registers) = (String::new(), String::new(), false);
        let (mut all, mut taken) = (TypeTexts::new(), BTreeMap::new());
        for (lanes, elsewhere) in self.lanes() {
            let (of_registers, alias, parts) = self.of_lanes(lanes, &elsewhere, text);
            let of_lanes = [&*of_registers, &alias].concat();
            let declares = |other: &&Declared<'_>| {
                let has_parts = |(first, second): &(usize, usize)| {
                    [first, second].iter().all(|part| taken.get(*part) == Some(&other.module))
                };
                other.condition == condition
                    && other.types.get(&lanes) == Some(&of_lanes)
                    && parts.as_ref().is_none_or(has_parts)
            };
            match others.iter().find(declares) {
                Some(other) => {
                    taken.insert(lanes, other.module);
                }
                None => {
                    has_registers |= !self.registers(lanes, &elsewhere).is_empty();
                    out += &of_registers;
                    aliases += &alias;
                }
            }
            all.insert(lanes, of_lanes);
        }
        out += &aliases;
        let called = [text, &out, &self.of_macros(&out)].concat();
        let traits = [
            (
                "Columns",
                text.contains("Columns::<") && !self.used_in_file.has_first_columns_alone(),
            ),
            ("Rows", text.contains("Rows::<")),
            ("Hidden", text.contains("Hidden::<")),
            ("Joined", !aliases.is_empty()),
            ("Bits", self.used_in_file.has_bits() && !self.used.lanes.is_empty()),
            ("Vector", !self.used.lanes.is_empty()),
        ];
        let traits = traits.into_iter().filter(|(_, is_used)| *is_used).map(|(name, _)| name);
        let dots = DOTS
            .into_iter()
            .filter(|(_, name, _)| self.used.dots.iter().any(|(own, _)| own == name));
        let traits = traits.chain(dots.map(|(trait_name, ..)| trait_name));
        let is_imported = |name: &&str| {
            let is_own = self.used.shared.contains(name)
                && called.contains(*name)
                && !OF_ELEMENTS.contains(name);
            !OF_NUMBERS.contains(name) && (is_own || is_called(name, &called))
        };
        let imported: Vec<_> = traits.chain(names().filter(is_imported)).collect();
        let mut head = String::new();
        let is_fused = |isa: &Isa| {
            let has_intrinsics = isa.rust.vectors.iter().any(|row| self.arch.may_be(row.processor));
            // a long multiply-add stands on several lines: the name of its intrinsic is looked for
            let is_name = |word: &&str| word.contains('_');
            let intrinsic = isa.rust.mul_add.split([' ', '(', ':']).find(is_name);
            !self.used.lanes.is_empty()
                && has_intrinsics
                && intrinsic.is_some_and(|intrinsic| called.contains(intrinsic))
        };
        if has_registers || [Some(self.isa), self.fused_by].into_iter().flatten().any(is_fused) {
            head.push_str("use super::vectors::intrinsics::*;\n");
        }
        if !imported.is_empty() {
            let _ = writeln!(head, "use super::vectors::{{{}}};", imported.join(", "));
        }
        for other in others {
            let called = [text, &out].concat();
            let lengths = taken.iter().filter(|(_, module)| **module == other.module);
            let names = lengths.flat_map(|(lanes, _)| {
                let names = [format!("F32x{lanes}"), format!("U32x{lanes}")];
                names.into_iter().filter(|name| has_word(&other.types[lanes], name))
            });
            let names: Vec<_> = names.filter(|name| has_word(&called, name)).collect();
            if !names.is_empty() {
                let _ = writeln!(head, "use super::{}::{{{}}};", other.module, names.join(", "));
            }
        }
        (head + &formatted(&out), all)
    }

    /// The declarations of vectors with a number of lanes: as registers and numbers, and as two
    /// vectors side by side. Also the lanes of these two vectors.
    fn of_lanes(
        &self,
        lanes: usize,
        elsewhere: &[&'static str],
        text: &str,
    ) -> (String, String, Option<(usize, usize)>) {
        let (mut out, mut alias) = (String::new(), String::new());
        let registers = self.registers(lanes, elsewhere);
        for (row, condition) in &registers {
            out.push_str(&self.item(&[*condition], |types| types.of_row(row)));
            for dot in self.used.dots(lanes) {
                out.push_str(&self.item(&[*condition], |types| types.dot_of_row(row, dot)));
            }
        }
        let conditions: Vec<_> =
            elsewhere.iter().copied().chain(registers.iter().map(|(_, c)| *c)).collect();
        let parts = self.parts(lanes).filter(|_| !conditions.contains(&""));
        match parts {
            Some(parts) => {
                alias = side_by_side(lanes, parts, &none_of_conditions(&conditions), text)
            }
            None if conditions.contains(&"") => {}
            None => out.push_str(&self.of_number(&conditions)),
        }
        (out, alias, parts)
    }

    /// The code of the macro `number!` if `calls` contain a call. Shared items are looked for in
    /// this code.
    fn of_macros(&self, calls: &str) -> String {
        if calls.contains("number!(") {
            body(self.used_in_file, Kind::Number, Form::Macros)
        } else {
            String::new()
        }
    }

    /// The lanes of all vectors that the module uses, parts of vectors included, each with the
    /// conditions under which the module has no vector of these lanes.
    fn lanes(&self) -> BTreeMap<usize, Vec<&'static str>> {
        let mut open: BTreeMap<usize, Vec<&'static str>> =
            self.used.lanes.iter().map(|lanes| (*lanes, Vec::new())).collect();
        let mut by_lanes = BTreeMap::new();
        while let Some((lanes, elsewhere)) = open.pop_last() {
            let registers = self.registers(lanes, &elsewhere);
            let held: Vec<_> =
                elsewhere.iter().copied().chain(registers.iter().map(|(_, c)| *c)).collect();
            by_lanes.insert(lanes, elsewhere);
            let parts = self
                .parts(lanes)
                .filter(|_| !held.contains(&""))
                .map(|(first, second)| [first, second]);
            for part in parts.into_iter().flatten() {
                let known = open.entry(part).or_insert_with(|| held.clone());
                known.retain(|condition| held.contains(condition));
            }
        }
        by_lanes
    }

    /// The registers with this number of lanes, each with its condition, except the conditions
    /// `elsewhere`. An empty condition always holds.
    fn registers(
        &self,
        lanes: usize,
        elsewhere: &[&str],
    ) -> Vec<(&'static RustVector, &'static str)> {
        if parts_of(lanes, self.isa.lanes).is_some() {
            return Vec::new();
        }
        let of_isa = |isa: &Isa| {
            let mut rows = isa.rust.vectors.iter().filter(|row| self.arch.may_be(row.processor));
            let row = rows.find(|row| row.lanes == lanes)?;
            Some((row, if row.condition == self.arch.rust.held { "" } else { row.condition }))
        };
        let found = [Some(self.isa), self.fused_by].into_iter().flatten().filter_map(of_isa);
        found.filter(|(_, condition)| !elsewhere.contains(condition)).collect()
    }

    /// The lanes of the two vectors that replace a vector without a register. `None` for one lane.
    fn parts(&self, lanes: usize) -> Option<(usize, usize)> {
        parts_of(lanes, self.isa.lanes).or((lanes > 1).then_some((lanes / 2, lanes / 2)))
    }

    /// Types under conditions. The expansion of a macro is several items, and each item gets the
    /// conditions.
    fn item(&self, conditions: &[&str], text: impl Fn(&Self) -> String) -> String {
        let cfg: String =
            conditions.iter().filter(|c| !c.is_empty()).map(|c| format!("#[cfg({c})]\n")).collect();
        let text = text(self);
        match self.form {
            Form::Macros => cfg + &text,
            // the beginnings of items
            Form::Expanded => text
                .replace("#[derive(Clone, Copy)]", &format!("{cfg}#[derive(Clone, Copy)]"))
                .replace("        impl", &format!("{cfg}        impl")),
        }
    }

    fn of_row(&self, row: &RustVector) -> String {
        let RustVector { lanes, register, integers, .. } = row;
        match self.form {
            Form::Expanded => {
                let mut arguments: Vec<(String, String)> = expressions(self.used_in_file)
                    .map(|o| (format!("${}", o.name), expression(row, o.name)))
                    .collect();
                arguments.push(("$register".to_owned(), (*register).to_owned()));
                arguments.push(("$integers".to_owned(), (*integers).to_owned()));
                expanded(self.used_in_file, Kind::Register, *lanes, &arguments)
            }
            Form::Macros => {
                let whole_register = expressions(self.used_in_file)
                    .filter(|operation| !matches!(operation.shape, Shape::Lanes(_)));
                let assigned = whole_register.map(|operation| {
                    format!("{}: {}", operation.name, expression(row, operation.name))
                });
                let lists = self.list_arguments(row);
                let bits = if self.used_in_file.has_bits() {
                    format!(", U32x{lanes}({integers})")
                } else {
                    String::new()
                };
                let assigned = flowed("    ", assigned);
                let first = format!("F32x{lanes}({register}){bits}, {lanes}, |a, b|");
                format!("register!({first}\n{assigned}{lists});\n")
            }
        }
    }

    /// The dot product of a register, by the names of its trait and method.
    fn dot_of_row(
        &self,
        row: &RustVector,
        (trait_name, name): (&'static str, &'static str),
    ) -> String {
        let (lanes, value) = (row.lanes, expression(row, name));
        match self.form {
            Form::Expanded => {
                let body = format!(
                    "            let (a, b, c) = (self.0, b.0, c.0);\n            Self(unsafe {{ \
                     {value} }})\n"
                );
                format!(
                    "        {}\n",
                    dot_of_bits(
                        &format!("U32x{lanes}"),
                        &lanes.to_string(),
                        (trait_name, name),
                        &body
                    )
                )
            }
            Form::Macros => {
                let value = flowed("    ", [format!("{name}(a, b, c): {value}")].into_iter());
                format!("dot!({trait_name}, U32x{lanes}, {lanes},\n{value});\n")
            }
        }
    }

    /// The lists of operations on lanes in the arguments of a macro, each operation with its
    /// expression.
    fn list_arguments(&self, row: &RustVector) -> String {
        let mut out = String::new();
        for (operations, _) in lists(self.used_in_file) {
            let lists = operations.into_iter().filter_map(|operation| match operation.shape {
                Shape::Lanes(count) => {
                    Some((operation.name, count, expression(row, operation.name)))
                }
                _ => None,
            });
            let _ = write!(out, ";\n{}", lanes_arguments(lists));
        }
        out
    }

    /// The type of one number, with a multiply-add.
    fn number(&self, mul_add: &str) -> String {
        match self.form {
            Form::Expanded => expanded(
                self.used_in_file,
                Kind::Number,
                1,
                &[("$mul_add".to_owned(), mul_add.to_owned())],
            ),
            Form::Macros if self.used_in_file.operations.contains("mul_add") => {
                let line = format!("number!(F32x1, |a, b, c| {mul_add});");
                format!("{}{}\n", safety(mul_add), folded("", &line))
            }
            Form::Macros => "number!(F32x1);\n".to_owned(),
        }
    }

    /// The type of one number, unless one of the conditions `registers` holds. Has a fused and an
    /// unfused form if a condition decides between the two.
    fn of_number(&self, registers: &[&str]) -> String {
        let (isa, none) = (self.isa, none_of_conditions(registers));
        let (condition, fused, unfused) = match (isa.rust.mul_add, self.fused_by) {
            (_, Some(fused)) => {
                (fused.condition().map_or("", |c| c.rust), fused.rust.mul_add, "a * b + c")
            }
            ("", None) => ("", "a * b + c", ""),
            (fused, None) => (isa.rust.mul_add_where, fused, "mul_add_in_software(a, b, c)"),
        };
        // where the condition for fusing holds, a register has the lane: only the unfused form is
        // left
        if registers.contains(&condition) && !condition.is_empty() {
            return self.item(&[&none], |types| types.number(unfused));
        }
        let first = self.item(&[&none, condition], |types| types.number(fused));
        if condition.is_empty() {
            return first;
        }
        first + &self.item(&[&none, &format!("not({condition})")], |types| types.number(unfused))
    }
}

/// The safety comment of a multiply-add that calls intrinsics.
fn safety(mul_add: &str) -> &'static str {
    match mul_add.starts_with("unsafe") {
        true => "// SAFETY: only functions with the feature of this instruction use the type\n",
        false => "",
    }
}

/// The expression for an operation on registers. An operation on the bits of floats is the
/// operation on integers, between conversions, unless the row has an expression for it.
fn expression(row: &RustVector, name: &str) -> String {
    let text_of = |name: &str| {
        row.operation(name).unwrap_or_else(|| panic!("emit: {} has no {name}", row.register))
    };
    match (row.operation(name), name.strip_prefix("bits_")) {
        (None, Some(of_integers)) => {
            let bits = |operand| with_operands(text_of("to_bits"), &[("a", operand)]);
            let (a, b) = (bits("a"), bits("b"));
            let operands: &[_] = match name.contains("shift") {
                true => &[("a", a.as_str())],
                false => &[("a", a.as_str()), ("b", b.as_str())],
            };
            let result = with_operands(text_of(of_integers), operands);
            with_operands(text_of("from_bits"), &[("a", &result)])
        }
        _ => text_of(name).to_owned(),
    }
}

/// The type with `lanes` lanes as two vectors side by side, under a condition, and the type of its
/// bits if `text` names it.
fn side_by_side(
    lanes: usize,
    (first, second): (usize, usize),
    condition: &str,
    text: &str,
) -> String {
    let cfg = if condition.is_empty() { String::new() } else { format!("#[cfg({condition})]\n") };
    let bits = format!("U32x{lanes}");
    let mut out = format!(
        "{cfg}pub(super) type F32x{lanes} = \
         Joined<F32x{first}, F32x{second}, {first}, {second}, {lanes}>;\n"
    );
    if has_word(text, &bits) {
        let _ =
            writeln!(out, "{cfg}pub(super) type {bits} = <F32x{lanes} as Vector<{lanes}>>::Bits;");
    }
    out
}

/// True if a text contains `word`, which ends in a number, without further digits.
fn has_word(text: &str, word: &str) -> bool {
    let ends =
        |(at, _): (usize, &str)| !text[at + word.len()..].starts_with(|c: char| c.is_ascii_digit());
    text.match_indices(word).any(ends)
}

/// The condition `not(any(..))` of all conditions; empty without conditions.
fn none_of_conditions(conditions: &[&str]) -> String {
    match conditions {
        [] => String::new(),
        [one] => format!("not({one})"),
        all => format!("not(any({}))", all.join(", ")),
    }
}
