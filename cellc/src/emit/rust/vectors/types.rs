//! The vector types of one module.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::forms::Forms;
use super::joined::parts_of;
use super::lines::{flowed, folded, formatted};
use super::macros::{Form, dot_of_bits, expanded, expressions, lanes_arguments, lists};
use super::methods::{Kind, with_operands};
use super::operations::Shape;
use super::shared_items::{OF_NUMBERS, names};
use super::used::{DOTS, Used};
use crate::arch::{Arch, Isa, RustVector};

/// The declarations of a module's vectors, by lanes.
pub(in crate::emit::rust) type TypeTexts = BTreeMap<usize, String>;

/// The beginning of a module.
pub(in crate::emit::rust) struct Beginning {
    /// The imports and the declarations of vectors.
    pub(in crate::emit::rust) text: String,
    pub(in crate::emit::rust) types: TypeTexts,
    pub(in crate::emit::rust) forms: Forms,
}

/// The declarations of vectors with one number of lanes.
struct OfLanes {
    /// Registers and single numbers.
    items: String,
    /// The type of two vectors side by side.
    alias: String,
    /// The lanes of the two vectors side by side.
    parts: Option<(usize, usize)>,
    forms: Forms,
}

/// A module whose vectors another module may import.
pub(in crate::emit::rust) struct Declared<'a> {
    pub(in crate::emit::rust) module: &'a str,
    /// The attribute with the condition under which the module is compiled.
    pub(in crate::emit::rust) condition: &'a str,
    pub(in crate::emit::rust) types: TypeTexts,
}

/// The types of the vectors of a module.
pub(in crate::emit::rust) struct Types<'a> {
    /// The needs of the module.
    pub(in crate::emit::rust) used: &'a Used,
    /// The needs of the text in the module: without the kernels that several modules share.
    pub(in crate::emit::rust) used_in_text: &'a Used,
    /// The needs of the file.
    pub(in crate::emit::rust) used_in_file: &'a Used,
    pub(in crate::emit::rust) isa: &'a Isa,
    /// The instruction set that shares the module's body and has fused multiply-add, if any.
    pub(in crate::emit::rust) fused_by: Option<&'a Isa>,
    pub(in crate::emit::rust) arch: &'a Arch,
    pub(in crate::emit::rust) form: Form,
}

impl Types<'_> {
    /// The beginning of a module with the functions `text`. Types that another module declares
    /// under the same condition are imported.
    pub(in crate::emit::rust) fn text(
        &self,
        text: &str,
        condition: &str,
        others: &[Declared<'_>],
    ) -> Beginning {
        let (mut out, mut aliases, mut forms) = (String::new(), String::new(), Forms::default());
        let (mut types, mut taken) = (TypeTexts::new(), BTreeMap::new());
        for (lanes, elsewhere) in self.lanes() {
            let declarations = self.of_lanes(lanes, &elsewhere, text);
            let of_lanes = [&*declarations.items, &declarations.alias].concat();
            let declares = |other: &&Declared<'_>| {
                let has_parts = |(first, second): &(usize, usize)| {
                    [first, second].iter().all(|part| taken.get(*part) == Some(&other.module))
                };
                other.condition == condition
                    && other.types.get(&lanes) == Some(&of_lanes)
                    && declarations.parts.as_ref().is_none_or(has_parts)
            };
            match others.iter().find(declares) {
                Some(other) => {
                    taken.insert(lanes, other.module);
                }
                None => {
                    forms.merge(&declarations.forms);
                    out += &declarations.items;
                    aliases += &declarations.alias;
                }
            }
            types.insert(lanes, of_lanes);
        }
        out += &aliases;
        let imported = self.imported(&forms);
        let mut head = String::new();
        if forms.registers || forms.fused_numbers && self.has_intrinsics() {
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
        Beginning { text: head + &formatted(&out), types, forms }
    }

    /// The imports of the module.
    fn imported(&self, forms: &Forms) -> Vec<&'static str> {
        let has_vectors = !self.used.lanes.is_empty();
        let traits = [
            ("Joined", forms.joined),
            ("Bits", self.used_in_file.has_bits() && has_vectors),
            ("Vector", has_vectors),
        ];
        let traits = traits.into_iter().filter_map(|(name, is_named)| is_named.then_some(name));
        let dots =
            DOTS.iter().filter(|(_, name, _)| self.used.dots.iter().any(|(own, _)| own == name));
        let Used { shared, by_path, .. } = self.used_in_text;
        let is_named = |name: &&str| {
            let sets = [shared, by_path, &forms.helpers];
            !OF_NUMBERS.contains(name) && sets.iter().any(|names| names.contains(name))
        };
        let named = self.used_in_text.named(self.used_in_file).chain(traits);
        named
            .chain(dots.map(|(trait_name, ..)| *trait_name))
            .chain(names().filter(is_named))
            .collect()
    }

    /// True if the multiply-add of single numbers has intrinsics.
    fn has_intrinsics(&self) -> bool {
        let isa = self.fused_by.unwrap_or(self.isa);
        // assembly has no names with underscores
        isa.rust.mul_add.contains('_')
            && isa.rust.vectors.iter().any(|row| self.arch.may_be(row.processor))
    }

    /// The declarations of vectors with a number of lanes.
    fn of_lanes(&self, lanes: usize, elsewhere: &[&'static str], text: &str) -> OfLanes {
        let (mut items, mut alias, mut forms) = (String::new(), String::new(), Forms::default());
        let registers = self.registers(lanes, elsewhere);
        for (row, condition) in &registers {
            items.push_str(&self.item(&[*condition], |types| types.of_row(row)));
            forms.registers = true;
            let operations = &self.used_in_file.operations;
            let called = row.helpers.iter().filter(|(name, _)| operations.contains(name));
            forms.helpers.extend(called.map(|(_, helper)| helper));
            for dot in self.used.dots(lanes) {
                items.push_str(&self.item(&[*condition], |types| types.dot_of_row(row, dot)));
                forms.dots = true;
            }
        }
        let conditions: Vec<_> =
            elsewhere.iter().copied().chain(registers.iter().map(|(_, c)| *c)).collect();
        let parts = self.parts(lanes).filter(|_| !conditions.contains(&""));
        match parts {
            Some(parts) => {
                alias = side_by_side(lanes, parts, &none_of_conditions(&conditions), text);
                forms.joined = true;
            }
            None if conditions.contains(&"") => {}
            None => items.push_str(&self.of_number(&conditions, &mut forms)),
        }
        OfLanes { items, alias, parts, forms }
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
    fn of_number(&self, registers: &[&str], forms: &mut Forms) -> String {
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
        let is_unfused = registers.contains(&condition) && !condition.is_empty();
        let operations = || expressions(self.used_in_file);
        forms.numbers = true;
        forms.helpers.extend(operations().flat_map(|operation| operation.helpers));
        if operations().any(|operation| operation.name == "mul_add") {
            forms.fused_numbers = !is_unfused;
            let in_software = !condition.is_empty() && self.fused_by.is_none();
            forms.helpers.extend(in_software.then_some("mul_add_in_software"));
        }
        if is_unfused {
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
