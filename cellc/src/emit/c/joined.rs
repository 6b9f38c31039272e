//! Values of several registers: structs of two values side by side. One macro of the file declares
//! the type of a value and the operations, applied to both parts. Files with shared texts declare
//! the types of single registers by a macro, too.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::vectors;
use crate::emit::elements::spelling;
use crate::kernel::{Element, LaneOp, Scalar};

/// The types and operations that macros of the file declare for bodies.
#[derive(Default)]
pub(super) struct Joined {
    /// The lanes of the types of a body.
    pub(super) lanes: BTreeSet<usize>,
    /// The operations, by name.
    pub(super) operations: BTreeMap<String, Operation>,
    /// Operations on registers in activations, by name.
    pub(super) registers: BTreeMap<String, Operation>,
    /// Functions of a body for additions of weight rows: names and texts.
    pub(super) functions: BTreeMap<String, String>,
    /// Operations with one expression on every register of the file, by name.
    pub(super) common: BTreeMap<String, String>,
    /// True if the file has values of several registers.
    pub(super) joins: bool,
}

/// The operation of a function on a value.
#[derive(Clone, Debug)]
pub(super) enum Operation {
    /// A load from elements. Constants of the file may have a separate instruction.
    Load {
        element: Element,
        is_constant: bool,
    },
    Store,
    /// A number in every lane.
    Number(Scalar),
    Lanes(LaneOp),
    /// Adds a row of weights of type `element` times an element to `count` sums.
    Row {
        element: Element,
        count: usize,
    },
    /// An activation with a number of arguments.
    Call {
        function: String,
        is_outlined: bool,
        arguments: usize,
    },
}

impl Operation {
    /// The number of operands, their type, and the type of the result.
    pub(super) fn signature(&self) -> (usize, Scalar, Scalar) {
        use LaneOp as O;
        match self {
            Self::Load { .. } | Self::Store | Self::Number(Scalar::F32) => {
                (0, Scalar::F32, Scalar::F32)
            }
            Self::Number(Scalar::U32) => (0, Scalar::U32, Scalar::U32),
            Self::Row { .. } => (0, Scalar::F32, Scalar::F32),
            Self::Call { arguments, .. } => (*arguments, Scalar::F32, Scalar::F32),
            Self::Lanes(O::FromBits | O::FromSigned) => (1, Scalar::U32, Scalar::F32),
            Self::Lanes(O::ToBits) => (1, Scalar::F32, Scalar::U32),
            Self::Lanes(O::Flush) => (1, Scalar::F32, Scalar::F32),
            Self::Lanes(O::ShiftLeft(_) | O::ShiftRight(_)) => (1, Scalar::U32, Scalar::U32),
            Self::Lanes(O::And | O::Or | O::Xor | O::WrappingAdd | O::WrappingSub) => {
                (2, Scalar::U32, Scalar::U32)
            }
            Self::Lanes(O::MulAdd) => (3, Scalar::F32, Scalar::F32),
            Self::Lanes(O::SelectLess) => (4, Scalar::F32, Scalar::F32),
            Self::Lanes(_) => (2, Scalar::F32, Scalar::F32),
        }
    }

    fn has_bits(&self) -> bool {
        let (_, operand, result) = self.signature();
        operand == Scalar::U32 || result == Scalar::U32
    }
}

/// The names of operands.
pub(super) const OPERANDS: [&str; 4] = ["x", "y", "z", "w"];

/// The name of a type. `ty` is the suffix, or the macro's parameter for the suffix.
pub(super) fn spelled(prefix: &str, scalar: Scalar, ty: &str, paste: &str) -> String {
    match scalar {
        Scalar::F32 => format!("{prefix}_{paste}{ty}"),
        Scalar::U32 => format!("{prefix}_{paste}{ty}{paste}_bits"),
    }
}

/// The maximum line length of a macro, without the line continuation.
const COLUMNS: usize = 98;

/// A list in parentheses after a word, with line breaks after [`COLUMNS`] columns.
pub(super) fn flowing(word: &str, elements: &[String], indent: &str, end: &str) -> String {
    let mut lines = vec![format!("{indent}{word}(")];
    for (at, element) in elements.iter().enumerate() {
        let comma = if at + 1 < elements.len() { "," } else { ")" };
        let line = lines.last_mut().expect("emit: a list has a line");
        if line.len() + element.len() + 2 > COLUMNS && at > 0 {
            lines.push(format!("{indent}    {element}{comma}"));
        } else {
            let space = if at == 0 { "" } else { " " };
            let _ = write!(line, "{space}{element}{comma}");
        }
    }
    lines.join(&format!("{end}\n"))
}

impl Joined {
    /// Adds the needs of another body.
    pub(super) fn extend(&mut self, other: &Self) {
        let cloned = |(name, operation): (&String, &Operation)| (name.clone(), operation.clone());
        self.operations.extend(other.operations.iter().map(cloned));
        self.registers.extend(other.registers.iter().map(cloned));
    }

    /// True if a body has types that macros declare.
    pub(super) fn has_types(&self) -> bool {
        !self.lanes.is_empty()
    }

    /// True if operations use the bits of values.
    pub(super) fn has_bits(&self) -> bool {
        self.operations.contains_key("flush")
            || !self.registers.is_empty()
            || self.operations.values().any(Operation::has_bits)
    }

    /// The operations on registers needed only by activations.
    fn only_of_registers(&self) -> impl Iterator<Item = (&String, &Operation)> {
        self.registers.iter().filter(|(name, _)| !self.operations.contains_key(*name))
    }

    /// The activations of values.
    pub(super) fn calls(&self) -> impl Iterator<Item = &Operation> {
        self.operations.values().filter(|operation| matches!(operation, Operation::Call { .. }))
    }

    /// All operations on a register, in the order of the parameters of the file's macros.
    pub(super) fn expressed(&self) -> impl Iterator<Item = (&String, &Operation)> {
        self.of_registers().chain(self.only_of_registers())
    }

    /// The operations with an expression for each type of registers.
    pub(super) fn different(&self) -> impl Iterator<Item = (&String, &Operation)> {
        self.expressed().filter(|(name, _)| !self.common.contains_key(*name))
    }

    /// Finds the operations with one expression in all of `types`, the expressions of
    /// [`Self::expressed`] on the registers of the file.
    pub(super) fn share(&mut self, types: &[Vec<String>]) {
        let Some((first, others)) = types.split_first() else { return };
        let is_common = |at: usize| others.iter().all(|other| other[at] == first[at]);
        let names = self.expressed().map(|(name, _)| name.clone()).zip(first).enumerate();
        let common = names.filter(|(at, _)| is_common(*at));
        self.common = common.map(|(_, (name, value))| (name, value.clone())).collect();
    }

    /// The operations on registers. Excludes activations and additions of rows, which use other
    /// operations.
    fn of_registers(&self) -> impl Iterator<Item = (&String, &Operation)> {
        let is_other = |operation: &Operation| {
            matches!(operation, Operation::Call { .. } | Operation::Row { .. })
        };
        self.operations.iter().filter(move |(_, operation)| !is_other(operation))
    }

    /// The macros for types of one register, and of two values side by side. Empty if the file has
    /// no such types.
    pub(super) fn declaration(&self, prefix: &str) -> String {
        match (self.operations.is_empty() && self.registers.is_empty(), self.joins) {
            (true, _) => String::new(),
            (false, false) => self.of_one(prefix),
            (false, true) => {
                format!("{}{}{}", self.of_both(prefix), self.of_one(prefix), self.of_two(prefix))
            }
        }
    }

    /// The macro for types of one register.
    fn of_one(&self, prefix: &str) -> String {
        let (upper, end) = (prefix.to_ascii_uppercase(), " \\");
        let scalars = [(Scalar::F32, "F"), (Scalar::U32, "U")];
        let scalars = &scalars[..if self.has_bits() { 2 } else { 1 }];
        let names = self.different().map(|(name, _)| name.to_ascii_uppercase());
        let types = scalars.iter().map(|(_, spelling)| (*spelling).to_owned());
        let parameters: Vec<_> = ["T".to_owned()]
            .into_iter()
            .chain(types)
            .chain(["TARGET".to_owned()])
            .chain(names)
            .collect();
        let mut lines = vec![flowing(&format!("#define {upper}_VALUES"), &parameters, "", end)];
        lines.extend(scalars.iter().map(|(scalar, spelling)| {
            format!("    typedef {spelling} {};", spelled(prefix, *scalar, "T", "##"))
        }));
        let spell = |scalar: Scalar| match scalar {
            Scalar::F32 => "F".to_owned(),
            Scalar::U32 => "U".to_owned(),
        };
        let value = |name: &String| match self.common.get(name) {
            Some(common) => common.clone(),
            None => name.to_ascii_uppercase(),
        };
        if self.joins {
            let values = self.of_registers().map(|(name, _)| value(name));
            let values: Vec<_> =
                ["T".to_owned(), "TARGET".to_owned()].into_iter().chain(values).collect();
            lines.push(flowing(&format!("{upper}_OPERATIONS"), &values, "    ", end));
        } else {
            lines.extend(self.functions((prefix, &spell), self.of_registers(), value));
            lines.extend(self.added_rows((prefix, &spell)));
        }
        lines.extend(self.functions((prefix, &spell), self.only_of_registers(), value));
        let flushes = self.different().any(|(name, _)| name == "flush");
        let flushed = match flushes {
            true => format!(
                "\n/* x, or 0 in place of magnitudes below 2^-100. */\n\
                 #define {upper}_FLUSHED(F, U) {}\n",
                flushed("F", "U")
            ),
            false => String::new(),
        };
        let nan = self.registers.keys().any(|name| matches!(name.as_str(), "max" | "min"));
        let nan = if nan { " max and min give y if either operand is NaN." } else { "" };
        let purpose = match self.joins {
            true => "The type T of one register, with its operations.",
            false => {
                "The type T of one register. Operations are expressions of x, y, z, w, a number \
                 or a place."
            }
        };
        format!("{flushed}\n/* {purpose}{nan} */\n{}\n", lines.join(&format!("{end}\n")))
    }

    /// The functions of a macro for operations. `value`: the expression for an operation.
    fn functions<'o>(
        &self,
        types: (&str, &dyn Fn(Scalar) -> String),
        operations: impl Iterator<Item = (&'o String, &'o Operation)>,
        value: impl Fn(&String) -> String,
    ) -> Vec<String> {
        let text = |(name, operation): (&String, &Operation)| {
            let statement = match operation {
                Operation::Store => value(name),
                _ => format!("return {}", value(name)),
            };
            function(types, name, operation, &statement)
        };
        operations.flat_map(text).collect()
    }

    /// The functions of a macro that add rows of weights.
    fn added_rows(&self, types: (&str, &dyn Fn(Scalar) -> String)) -> Vec<String> {
        let row = |(name, operation): (&String, &Operation)| match operation {
            Operation::Row { element, count } => added_row(types, name, *element, *count),
            _ => Vec::new(),
        };
        self.operations.iter().flat_map(row).collect()
    }

    /// The macro for the operations of every type.
    fn of_both(&self, prefix: &str) -> String {
        let (upper, end) = (prefix.to_ascii_uppercase(), " \\");
        let spell = |scalar: Scalar| spelled(prefix, scalar, "T", "##");
        let names = self.of_registers().map(|(name, _)| name.to_ascii_uppercase());
        let parameters: Vec<_> =
            ["T".to_owned(), "TARGET".to_owned()].into_iter().chain(names).collect();
        let head = flowing(&format!("#define {upper}_OPERATIONS"), &parameters, "", end);
        let functions =
            self.functions((prefix, &spell), self.of_registers(), |name| name.to_ascii_uppercase());
        let lines: Vec<_> =
            [head].into_iter().chain(functions).chain(self.added_rows((prefix, &spell))).collect();
        format!(
            "\n/* The operations on values of type T, each as an expression of x, y, z, w, a \
             number or a place. */\n{}\n",
            lines.join(&format!("{end}\n"))
        )
    }

    /// The macro for types of two values side by side.
    fn of_two(&self, prefix: &str) -> String {
        let (upper, end) = (prefix.to_ascii_uppercase(), " \\");
        let mut lines = vec![format!("#define {upper}_JOINED(T, A, LANES_OF_A, B, TARGET)")];
        for scalar in if self.has_bits() { &[Scalar::F32, Scalar::U32][..] } else { &[Scalar::F32] }
        {
            let spell = |ty| spelled(prefix, *scalar, ty, "##");
            lines.push(format!(
                "    typedef struct {{ {} a; {} b; }} {};",
                spell("A"),
                spell("B"),
                spell("T")
            ));
        }
        for (name, operation) in &self.operations {
            if matches!(operation, Operation::Call { .. }) {
                let statement = format!("return {}", both(prefix, name, operation));
                let spell = |scalar: Scalar| spelled(prefix, scalar, "T", "##");
                lines.extend(function((prefix, &spell), name, operation, &statement));
            }
        }
        let values = self.of_registers().map(|(name, operation)| both(prefix, name, operation));
        let values: Vec<_> =
            ["T".to_owned(), "TARGET".to_owned()].into_iter().chain(values).collect();
        lines.push(flowing(&format!("{upper}_OPERATIONS"), &values, "    ", end));
        format!(
            "\n/* The type T: a value of type A and one of type B side by side. Operations compute \
             both parts. */\n{}\n",
            lines.join(&format!("{end}\n"))
        )
    }
}

/// A function of the file's macros, on one line or on three.
fn function(
    (prefix, spell): (&str, &dyn Fn(Scalar) -> String),
    name: &str,
    operation: &Operation,
    statement: &str,
) -> Vec<String> {
    let (operands, operand, result) = operation.signature();
    let (result, params) = match operation {
        Operation::Load { element, .. } => {
            (spell(result), format!("const {} *from", spelling(*element).c))
        }
        Operation::Store => ("void".to_owned(), format!("float *to, {} x", spell(Scalar::F32))),
        Operation::Number(Scalar::F32) => (spell(result), "float number".to_owned()),
        Operation::Number(Scalar::U32) => (spell(result), "uint32_t number".to_owned()),
        _ => {
            let params: Vec<_> = OPERANDS[..operands]
                .iter()
                .map(|name| format!("{} {name}", spell(operand)))
                .collect();
            (spell(result), params.join(", "))
        }
    };
    let head = format!(
        "    {}_INLINE TARGET {result} {prefix}_{name}_##T({params}) {{",
        prefix.to_ascii_uppercase()
    );
    match head.len() + statement.len() + 4 <= COLUMNS {
        true => vec![format!("{head} {statement}; }}")],
        false => vec![head, format!("        {statement};"), "    }".to_owned()],
    }
}

/// The number of sums in words.
pub(super) fn counted(sums: usize) -> String {
    if sums == 1 { "a sum".to_owned() } else { format!("{sums} sums") }
}

/// The name of the load function for weights of a type.
pub(super) fn loading(element: Element, is_constant: bool) -> &'static str {
    match element {
        Element::F16 => "load_f16",
        Element::I8Pair => "load_i8_pairs",
        Element::I8 => "load_i8",
        _ if is_constant => "load_constant",
        _ => "load",
    }
}

/// A function of the file's macros: adds a row of weights to `count` sums, at a distance `apart`
/// between the weights of neighbouring sums.
fn added_row(
    (prefix, ty): (&str, &dyn Fn(Scalar) -> String),
    name: &str,
    element: Element,
    count: usize,
) -> Vec<String> {
    let ty = ty(Scalar::F32);
    let apart = (count > 1).then(|| "size_t apart".to_owned());
    let row = [format!("const {} *row", spelling(element).c)];
    let sums = (0..count).map(|at| format!("{ty} *sum{at}"));
    let params: Vec<_> =
        row.into_iter().chain(apart).chain(["float x".to_owned()]).chain(sums).collect();
    let inline = format!("{}_INLINE", prefix.to_ascii_uppercase());
    let head = flowing(&format!("{inline} TARGET void {prefix}_{name}_##T"), &params, "    ", "");
    let mut lines: Vec<_> = format!("{head} {{").lines().map(str::to_owned).collect();
    lines.push(format!("        const {ty} x_k = {prefix}_splat_##T(x);"));
    for at in 0..count {
        let row = match at {
            0 => "row".to_owned(),
            1 => "row + apart".to_owned(),
            _ => format!("row + {at} * apart"),
        };
        let weights = format!("{prefix}_{}_##T({row})", loading(element, false));
        lines.push(format!("        *sum{at} = {prefix}_mul_add_##T({weights}, x_k, *sum{at});"));
    }
    lines.push("    }".to_owned());
    lines
}

/// An operation on both parts of a value, in the file's macro.
fn both(prefix: &str, name: &str, operation: &Operation) -> String {
    let (operands, _, result) = operation.signature();
    let on = |part: &str, args: &str| format!("{prefix}_{name}_##{part}({args})");
    let parts = |a: &str, b: &str| [on("A", a), on("B", b)];
    let half = |part: &str| {
        OPERANDS[..operands]
            .iter()
            .map(|name| format!("{name}.{part}"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let parts = match operation {
        Operation::Store => return parts("to, x.a", "to + LANES_OF_A, x.b").join("; "),
        Operation::Load { .. } => parts("from", "from + LANES_OF_A"),
        Operation::Number(_) => parts("number", "number"),
        _ => parts(&half("a"), &half("b")),
    };
    format!("(({}){{{}}})", spelled(prefix, result, "T", "##"), parts.join(", "))
}

/// The expression for x with 0 in place of denormals, for a type of numbers and the type of
/// their bits.
pub(super) fn flushed(numbers: &str, bits: &str) -> String {
    let limit = vectors::flush_limit();
    format!("({numbers})(~({bits})(({numbers})(({bits})x & 0x7fffffffu) < {limit}) & ({bits})x)")
}

/// The lanes of both parts of a value with these registers.
pub(super) fn halves(registers: &[usize]) -> (usize, usize) {
    let (a, b) = registers.split_at(registers.len().next_power_of_two() / 2);
    (a.iter().sum(), b.iter().sum())
}

/// The members of a value's struct for each of its registers.
pub(super) fn members(registers: usize) -> Vec<String> {
    if registers == 1 {
        return vec![String::new()];
    }
    let a = registers.next_power_of_two() / 2;
    let numbered = |name: &str, count| {
        let inner = members(count).into_iter();
        inner
            .map(
                |member| {
                    if member.is_empty() { name.to_owned() } else { format!("{name}.{member}") }
                },
            )
            .collect::<Vec<_>>()
    };
    [numbered("a", a), numbered("b", registers - a)].concat()
}
