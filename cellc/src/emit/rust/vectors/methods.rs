//! The methods of operations: in traits, and for registers, single numbers and two vectors side by
//! side.

use super::lines::LINE;
use super::operations::{Operation, OperationTrait, Shape};

/// The representation of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Register,
    Number,
}

impl Operation {
    /// The name of the method. `all` is the name in both traits.
    fn method(&self) -> &'static str {
        if self.name == "all_bits" { "all" } else { self.name }
    }

    fn number(&self) -> &'static str {
        if self.set == OperationTrait::Bits { "u32" } else { "f32" }
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

    pub(super) fn declared(&self) -> String {
        let doc = if self.doc.is_empty() { String::new() } else { format!("/// {}\n", self.doc) };
        match self.shape {
            Shape::Provided => format!("{doc}#[inline(always)]\n{}\n", self.lane),
            _ => format!("{doc}{};\n", self.head("L")),
        }
    }

    pub(super) fn text(&self, kind: Kind) -> String {
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
    pub(super) fn of_joined(&self) -> String {
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
    pub(super) fn of_u32(&self) -> String {
        let body = match self.shape {
            Shape::Splat => "x".to_owned(),
            Shape::Shift => with_operands(self.lane, &[("a", "self"), ("n", "n")]),
            _ => with_operands(self.lane, &[("a", "self"), ("b", "b")]),
        };
        method("    ", "#[inline(always)]", &self.head("1"), &body)
    }
}

/// An expression with other words for its operands, which are words of one letter.
pub(super) fn with_operands(expression: &str, operands: &[(&str, &str)]) -> String {
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
pub(super) fn of_all_lanes(prefix: &str) -> String {
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
pub(super) fn method(indent: &str, attribute: &str, head: &str, body: &str) -> String {
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
