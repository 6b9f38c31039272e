//! Vectors without a register: two vectors side by side, down to single numbers.

use std::fmt::Write;

use super::forms::Forms;
use super::lines::{flowed, formatted};
use super::macros::Form;
use super::methods::method;
use super::operations::{Operation, OperationTrait, Shape};
use super::used::{DOTS, Used, lane_function};

/// The traits of dot products, with the implementations that are equal for all instruction sets:
/// for one lane, and for two vectors side by side.
pub(super) fn dots(used: &Used, forms: &Forms) -> String {
    let is_used = |name: &str| used.dots.iter().any(|(other, _)| *other == name);
    let mut out = String::new();
    for (trait_name, name, doc) in DOTS.into_iter().filter(|(_, name, _)| is_used(name)) {
        let head = format!("fn {name}(self, b: Self, c: Self) -> Self");
        let _ = write!(
            out,
            "/// Dot products of integers.\ntrait {trait_name}<const L: usize>: Copy {{\n    /// \
             {doc}\n    {head};\n}}\n"
        );
        if forms.numbers {
            let body = format!("{}(self, b, c)", lane_function(name));
            let _ = write!(
                out,
                "impl {trait_name}<1> for u32 {{\n{}}}\n",
                method("    ", "#[inline(always)]", &head, &body)
            );
        }
        if forms.joined {
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

/// The lanes of the two parts of a vector with `lanes` lanes, if registers have at most `widest`
/// lanes. `None`: the vector has no parts.
pub(in crate::emit::rust) fn parts_of(lanes: usize, widest: usize) -> Option<(usize, usize)> {
    if lanes <= widest && lanes.is_power_of_two() {
        return None;
    }
    let first = lanes.next_power_of_two() / 2;
    Some((first, lanes - first))
}

/// The type of two vectors side by side.
pub(super) fn joined(used: &Used, form: Form) -> String {
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
        methods(OperationTrait::Vector)
    );
    if used.has_bits() {
        let _ = write!(
            out,
            "impl<A: Bits<LA>, B: Bits<LB>, {parameters}> Bits<L>
    for Joined<A, B, LA, LB, L>
{{\n{}}}\n",
            methods(OperationTrait::Bits)
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
pub(super) fn u32_bits(used: &Used) -> String {
    let methods: String = used.operations(OperationTrait::Bits).map(Operation::of_u32).collect();
    formatted(&format!("impl Bits<1> for u32 {{\n{methods}}}\n"))
}
