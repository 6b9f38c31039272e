//! Values of several registers in a body, and declarations of their types.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::dialect::{C, outlined, plus};
use super::joined::{
    Joined, OPERANDS, Operation, counted, flowing, flushed, halves, loading, members, spelled,
};
use super::vectors::{self, VectorFunction, fill, spaced};
use crate::arch::{self, CVector};
use crate::emit::elements::spelling;
use crate::emit::hints;
use crate::emit::traversal::{
    Block, Context, Dialect, Operand, RowText, Support, Text, TextKind, function_name,
};
use crate::kernel::{Element, LaneOp, Scalar, Type};

/// The fewest sums for which a macro adds a row of weights.
const LEAST_SUMS_OF_MACRO: usize = 4;

/// The most columns of neighbouring statements of a macro in one line.
const ABREAST: usize = 86;

impl C<'_> {
    /// The lanes of each register of a value.
    fn registers_that_hold(&self, lanes: usize) -> Vec<usize> {
        arch::vectors(lanes, self.isa.lanes).into_iter().map(|(_, lanes)| lanes).collect()
    }

    /// The number of registers of a value.
    pub(super) fn registers_of(&self, lanes: usize) -> usize {
        self.registers_that_hold(lanes).len()
    }

    /// True if a value takes several registers.
    pub(super) fn is_joined(&self, lanes: usize) -> bool {
        self.registers_of(lanes) > 1
    }

    /// The type of a value of several registers.
    pub(super) fn joined_type(&mut self, ty: Type) -> String {
        self.needs.joined.lanes.insert(ty.lanes);
        spelled(self.prefix, ty.scalar, &self.ending(ty.lanes), "")
    }

    /// The name of an operation on values with a number of lanes.
    fn joined(&mut self, name: &str, lanes: usize, operation: Operation) -> String {
        self.needs.joined.lanes.insert(lanes);
        self.needs.joined.operations.insert(name.to_owned(), operation);
        format!("{}_{name}_{}", self.prefix, self.ending(lanes))
    }

    /// A number in every lane.
    pub(super) fn joined_number(&mut self, ty: Type, number: &str) -> Text {
        let name = if ty.scalar == Scalar::F32 { "splat" } else { "splat_bits" };
        let name = self.joined(name, ty.lanes, Operation::Number(ty.scalar));
        Text::atom(format!("{name}({number})"))
    }

    pub(super) fn joined_load(&mut self, from: &Block, offset: usize, lanes: usize) -> Text {
        let is_own = from.bytes && from.element == Element::F32 && !self.shares;
        let is_constant = is_own && self.loads_constants(lanes);
        let name = self.joined(
            loading(from.element, is_constant),
            lanes,
            Operation::Load { element: from.element, is_constant },
        );
        Text::atom(format!("{name}({})", plus(&from.name, offset)))
    }

    /// True if the registers of a value have an instruction for constants of the file.
    fn loads_constants(&self, lanes: usize) -> bool {
        let has_own =
            |lanes| self.vector(lanes).is_some_and(|vector| !vector.load_constant.is_empty());
        self.registers_that_hold(lanes).into_iter().any(has_own)
    }

    pub(super) fn joined_store(&mut self, pointer: &str, lanes: usize, value: &Text) -> String {
        let name = self.joined("store", lanes, Operation::Store);
        format!("{name}({pointer}, {});", value.text)
    }

    pub(super) fn joined_operation(
        &mut self,
        operation: LaneOp,
        ty: Type,
        args: Vec<Text>,
    ) -> Text {
        let kind = match operation {
            LaneOp::ShiftLeft(by) => format!("shift_left_{by}"),
            LaneOp::ShiftRight(by) => format!("shift_right_{by}"),
            LaneOp::WrappingSub => "wrapping_sub".to_owned(),
            other => function_name(other).to_owned(),
        };
        let (_, operand, _) = Operation::Lanes(operation).signature();
        let name = self.joined(&kind, ty.lanes, Operation::Lanes(operation));
        self.needs.is_fused |= operation == LaneOp::MulAdd && self.fuses;
        let operand = Type { scalar: operand, ..ty };
        let args: Vec<_> = args.into_iter().map(|arg| self.value(arg, operand).text).collect();
        Text::atom(format!("{name}({})", args.join(", ")))
    }

    /// An operation on a register in an activation.
    pub(super) fn register_operation(
        &mut self,
        operation: LaneOp,
        ty: Type,
        args: Vec<Text>,
    ) -> Text {
        let (_, operand, _) = Operation::Lanes(operation).signature();
        let name = function_name(operation);
        self.needs.joined.lanes.insert(ty.lanes);
        self.needs.joined.registers.insert(name.to_owned(), Operation::Lanes(operation));
        self.needs.is_fused |= operation == LaneOp::MulAdd && self.fuses;
        let operand = Type { scalar: operand, ..ty };
        let args: Vec<_> = args.into_iter().map(|arg| self.value(arg, operand).text).collect();
        Text::atom(format!("{}_{name}_{}({})", self.prefix, self.ending(ty.lanes), args.join(", ")))
    }

    pub(super) fn joined_call(&mut self, function: &str, lanes: usize, args: Vec<Text>) -> Text {
        let registers = self.registers_that_hold(lanes);
        // the surrounding loop decides the name in each call
        let calls: Vec<_> =
            registers.iter().map(|lanes| self.named_call(function, *lanes)).collect();
        let is_outlined = calls.iter().any(|(_, is_outlined)| *is_outlined);
        let name = if is_outlined { outlined(function) } else { function.to_owned() };
        let ty = Type::f32(lanes);
        let args: Vec<_> = args.into_iter().map(|arg| self.value(arg, ty).text).collect();
        let call =
            Operation::Call { function: function.to_owned(), is_outlined, arguments: args.len() };
        let name = self.joined(&name, lanes, call);
        Text::atom(format!("{name}({})", args.join(", ")))
    }

    /// Declares neighbouring values of several registers, loaded by one statement.
    pub(super) fn declare_joined_loads(
        &mut self,
        names: &[&str],
        from: &Block,
        offset: usize,
        ty: Type,
    ) {
        let registers = self.registers_that_hold(ty.lanes);
        let register_type = Type { lanes: registers[0], ..ty };
        let loads = VectorFunction::loads(
            from.element,
            register_type,
            names.len() * registers.len(),
            self.isa,
        );
        self.used.borrow_mut().insert(loads);
        self.used_by_loads(vectors::loaded(from.element, ty.scalar), register_type.lanes);
        let members = members(registers.len());
        let places = names
            .iter()
            .flat_map(|name| members.iter().map(move |member| format!("&{name}.{member}")));
        let (ty, places) = (self.ty(ty), places.collect::<Vec<_>>().join(", "));
        self.line(&format!("{ty} {};", names.join(", ")));
        self.line(&format!("{}({}, {places});", loads.name(self.prefix), plus(&from.name, offset)));
    }

    /// Adds a row of weights with a function: of the file's macro, or of the body for joint loads
    /// of all weights.
    pub(super) fn joined_row(&mut self, text: &RowText<'_>) -> Support {
        let RowText { sums, weights, element, row } = text;
        let Operand { block: weights, offset: first } = weights;
        let Operand { block: element, offset: at } = element;
        let (ty, count) = (Type::f32(row.lanes), sums.len());
        let together = self.loads(weights, ty);
        let is_near = count == 1 || row.sum_stride == row.lanes;
        let is_together =
            row.is_loaded_first && is_near && (together.least..=together.most).contains(&count);
        if element.element != Element::F32 || row.is_loaded_first && !is_together {
            return Support::Missing;
        }
        self.needs.is_fused |= row.is_fused && self.fuses;
        let name = if weights.element == Element::F32 {
            String::new()
        } else {
            format!("{}_", weights.element)
        };
        let kind = format!("add_{}row_of_{name}{count}", if is_together { "loaded_" } else { "" });
        let name = match is_together {
            false => {
                for (name, operation) in [
                    ("splat", Operation::Number(Scalar::F32)),
                    ("mul_add", Operation::Lanes(LaneOp::MulAdd)),
                    (
                        loading(weights.element, false),
                        Operation::Load { element: weights.element, is_constant: false },
                    ),
                ] {
                    self.joined(name, row.lanes, operation);
                }
                self.joined(&kind, row.lanes, Operation::Row { element: weights.element, count })
            }
            true => format!("{}_{kind}_{}", self.prefix, self.ending(row.lanes)),
        };
        if is_together && !self.needs.joined.functions.contains_key(&name) {
            let text = self.row_function(&name, weights, ty, count);
            self.needs.joined.functions.insert(name.clone(), text);
        }
        let apart =
            if is_together || count == 1 { String::new() } else { format!("{}, ", row.sum_stride) };
        let places: Vec<_> = sums.iter().map(|sum| format!("&{sum}")).collect();
        let from = plus(&weights.name, *first);
        let x =
            if is_together { plus(&element.name, *at) } else { format!("{}[{at}]", element.name) };
        self.line(&format!("{name}({from}, {apart}{x}, {});", places.join(", ")));
        Support::Written
    }

    /// Adds a row of weights, all loaded at once, to sums of one register each by a macro.
    pub(super) fn loaded_row(&mut self, text: &RowText<'_>) -> Support {
        let RowText { sums, weights, element, row } = text;
        let Operand { block: weights, offset: first } = weights;
        let Operand { block: element, offset: at } = element;
        let (ty, count) = (Type::f32(row.lanes), sums.len());
        let together = self.loads(weights, ty);
        let is_of_floats = weights.element == Element::F32 && element.element == Element::F32;
        let is_together = row.is_loaded_first && row.sum_stride == row.lanes;
        if !is_of_floats || !is_together || count < LEAST_SUMS_OF_MACRO || together.most < 2 {
            return Support::Missing;
        }
        self.needs.is_fused |= row.is_fused && self.fuses;
        let ending = if self.is_alone && ty.lanes == 1 {
            String::new()
        } else {
            "_".to_owned() + &self.ending(ty.lanes)
        };
        let name = format!("{}_add_row_of_{count}{ending}", self.prefix).to_ascii_uppercase();
        if !self.needs.rows.contains_key(&name) {
            let text = self.row_macro(&name, weights, row.is_fused, (ty, count), together.most);
            self.needs.rows.insert(name.clone(), text);
        }
        let from = plus(&weights.name, *first);
        self.line(&format!("{name}({from}, {}[{at}], {});", element.name, sums.join(", ")));
        Support::Written
    }

    /// A macro that loads all weights of a row and adds the weights times an element to sums.
    fn row_macro(
        &mut self,
        name: &str,
        weights: &Block,
        is_fused: bool,
        (ty, count): (Type, usize),
        most: usize,
    ) -> String {
        let names = |prefix: &str| (0..count).map(|at| format!("{prefix}{at}")).collect::<Vec<_>>();
        let (weight, sum) = (names("w"), names("sum"));
        let row = Block { name: "row".to_owned(), ..weights.clone() };
        let spelled = self.ty(ty);
        let body = self.apart(|c| {
            let weights: Vec<_> = weight.iter().map(String::as_str).collect();
            for (at, weights) in weights.chunks(most).enumerate() {
                match weights {
                    [alone] => {
                        let value = c.load(&row, at * most * ty.lanes, ty.lanes);
                        c.declare(alone, ty, false, value, Context::Kernel);
                    }
                    _ => c.declare_loads(weights, &row, at * most * ty.lanes, ty),
                }
            }
            let x = match ty.lanes {
                1 => "x".to_owned(),
                _ => c.value(Text { text: "x".to_owned(), kind: TextKind::Number }, ty).text,
            };
            c.line(&format!("const {spelled} x_k = {x};"));
            let mut line = String::new();
            for (weight, sum) in weight.iter().zip(&sum) {
                let [weight, x, added] =
                    [weight, "x_k", sum].map(|text| Text::atom(text.to_owned()));
                let value = if is_fused {
                    c.operation(LaneOp::MulAdd, ty, vec![weight, x, added], Context::Kernel)
                } else {
                    let product = c.operation(LaneOp::Mul, ty, vec![weight, x], Context::Kernel);
                    c.operation(LaneOp::Add, ty, vec![product, added], Context::Kernel)
                };
                let statement = format!("{sum} = {};", c.value(value, ty).text);
                if line.is_empty() {
                    line = statement;
                } else if line.len() + statement.len() <= ABREAST {
                    line += &format!(" {statement}");
                } else {
                    c.line(&std::mem::replace(&mut line, statement));
                }
            }
            c.line(&line);
        });
        let head = format!("#define {name}");
        let parameters: Vec<_> =
            ["row".to_owned(), "x".to_owned()].into_iter().chain(sum).collect();
        let head = flowing(&head, &parameters, "", " \\");
        let body: String = body.lines().map(|line| format!("    {line} \\\n")).collect();
        format!(
            "\n/* Adds a row of weights times x to {}.{} */\n{head} \\\n    do {{ \\\n{body}    }} while \
             (0)\n",
            counted(count),
            hints::ADDRESSES_TAKEN.printed
        )
    }

    /// A function that loads all weights of a row and adds the weights times an element to sums.
    fn row_function(&mut self, name: &str, weights: &Block, ty: Type, count: usize) -> String {
        let spelled = self.ty(ty);
        let memory = Block { name: "row".to_owned(), ..weights.clone() };
        let body = self.apart(|c| {
            let names: Vec<_> = (0..count).map(|at| format!("w{at}")).collect();
            c.declare_loads(&names.iter().map(String::as_str).collect::<Vec<_>>(), &memory, 0, ty);
            // after the loads: x takes a register, and weights need neighbouring registers
            let x = c.joined_number(ty, "*x").text;
            c.line(&format!("const {spelled} x_k = {x};"));
            for (at, weight) in names.iter().enumerate() {
                let mul_add = c.joined("mul_add", ty.lanes, Operation::Lanes(LaneOp::MulAdd));
                c.line(&format!("*sum{at} = {mul_add}({weight}, x_k, *sum{at});"));
            }
        });
        let (upper, attribute) = (self.prefix.to_ascii_uppercase(), spaced(self.prefix, self.isa));
        let to: Vec<_> = (0..count).map(|at| format!(", {spelled} *sum{at}")).collect();
        let (element, to) = (spelling(weights.element).c, to.concat());
        let head = format!(
            "{upper}_INLINE {attribute}void {name}(const {element} *row, const float *x{to})"
        );
        format!(
            "\n/* Adds a row of weights times x to {}. */\n{head} {{\n{body}}}\n",
            counted(count)
        )
    }

    /// The statements written by `write`, for a separate function.
    fn apart(&mut self, write: impl FnOnce(&mut Self)) -> String {
        let (out, depth) =
            (std::mem::take(&mut self.out), std::mem::replace(&mut self.within.depth, 1));
        write(self);
        self.within.depth = depth;
        std::mem::replace(&mut self.out, out)
    }

    /// Declares the types of this body: first the operations on one register that the file's macro
    /// needs, then the types of several registers.
    pub(super) fn joined_types(&mut self, file: &Joined) -> [String; 2] {
        // the types of a body are not shared: their operations are spelled with instructions
        let shares = std::mem::replace(&mut self.shares, false);
        let types = self.spelled_types(file);
        self.shares = shares;
        types
    }

    /// The lanes of all types of this body, parts of values of several registers included.
    fn all_lanes(&self) -> BTreeSet<usize> {
        let mut lengths = BTreeSet::new();
        let mut rest: Vec<_> = self.needs.joined.lanes.iter().copied().collect();
        while let Some(lanes) = rest.pop() {
            if lengths.insert(lanes) && self.is_joined(lanes) {
                let (a, b) = halves(&self.registers_that_hold(lanes));
                rest.extend([a, b]);
            }
        }
        lengths
    }

    /// True if the body has values of several registers.
    pub(super) fn joins(&self) -> bool {
        self.all_lanes().into_iter().any(|lanes| self.is_joined(lanes))
    }

    /// The expressions of the file's operations on each type of one register of this body.
    pub(super) fn expressions(&mut self, file: &Joined) -> Vec<Vec<String>> {
        let shares = std::mem::replace(&mut self.shares, false);
        let registers: Vec<_> =
            self.all_lanes().into_iter().filter(|lanes| !self.is_joined(*lanes)).collect();
        let pieces = |lanes: usize| {
            file.expressed().filter_map(|(_, one)| self.of_register(one, lanes)).collect()
        };
        let expressions = registers.into_iter().map(pieces).collect();
        self.shares = shares;
        expressions
    }

    fn spelled_types(&mut self, file: &Joined) -> [String; 2] {
        // in ascending order: the parts of a value precede the value
        let lengths = self.all_lanes();
        let [mut out, mut joined] = [String::new(), String::new()];
        let prefix = self.prefix;
        let attribute = spaced(prefix, self.isa);
        let upper = prefix.to_ascii_uppercase();
        for lanes in lengths {
            let ending = self.ending(lanes);
            if self.is_joined(lanes) {
                let (a, b) = halves(&self.registers_that_hold(lanes));
                let target = attribute.trim_end();
                let (first, second) = (self.ending(a), self.ending(b));
                let _ =
                    writeln!(joined, "{upper}_JOINED({ending}, {first}, {a}, {second}, {target})");
                continue;
            }
            file.calls().for_each(|call| _ = self.of_register(call, lanes));
            let types = [Scalar::F32, Scalar::U32].map(|scalar| self.ty(Type { scalar, lanes }));
            let types = types.into_iter().take(if file.has_bits() { 2 } else { 1 });
            let values: Vec<_> = [ending]
                .into_iter()
                .chain(types)
                .chain([attribute.trim_end().to_owned()])
                .collect();
            let expressions: Vec<_> =
                file.different().filter_map(|(_, one)| self.of_register(one, lanes)).collect();
            let spelled = |expression: String| match &values[..] {
                [_, f, u, _] if expression == flushed("F", "U") => {
                    format!("{upper}_FLUSHED({f}, {u})")
                }
                [_, f, u, _] => {
                    expression.replace("(F)", &format!("({f})")).replace("(U)", &format!("({u})"))
                }
                _ => expression,
            };
            let expressions: Vec<_> = expressions.into_iter().map(spelled).collect();
            let values = [values, expressions].concat();
            let _ = writeln!(out, "\n{}", flowing(&format!("{upper}_VALUES"), &values, "", ""));
        }
        joined.extend(self.needs.joined.functions.values().map(String::as_str));
        [out, joined]
    }

    /// The expression for an operation without an instruction of the instruction set: C's own
    /// operations on lanes. `None` for other operations.
    fn plain_operation(&mut self, operation: &Operation, lanes: usize) -> Option<String> {
        let vector = self.vector(lanes).filter(|_| lanes > 1);
        let has = |template: fn(&CVector) -> &'static str| {
            vector.is_some_and(|vector| !template(vector).is_empty())
        };
        let of_vectors = match operation {
            Operation::Load { element: Element::F32, is_constant: false } => !has(|v| v.load),
            Operation::Store => !has(|v| v.store),
            Operation::Number(Scalar::F32) => !has(|v| v.splat),
            Operation::Lanes(LaneOp::Max | LaneOp::Min)
                if lanes > 1 && !has(|v| v.max) && !has(|v| v.select_less) =>
            {
                let select = self.name("select_less", lanes);
                let chosen = match operation {
                    Operation::Lanes(LaneOp::Max) => "(y, x, x, y)",
                    _ => "(x, y, x, y)",
                };
                return Some(select + chosen);
            }
            Operation::Lanes(LaneOp::FromBits) if lanes > 1 => return Some("(F)x".to_owned()),
            Operation::Lanes(LaneOp::ToBits) if lanes > 1 => return Some("(U)x".to_owned()),
            Operation::Lanes(LaneOp::Flush) if lanes > 1 => {
                let flushing = vector.filter(|_| self.isa.c.flushes.is_some());
                return Some(match flushing.filter(|own| !own.flush.is_empty()) {
                    None => flushed("F", "U"),
                    Some(row) => fill(row.flush, &["x".to_owned(), vectors::flush_limit()])
                        .replace("PREFIX", self.prefix),
                });
            }
            Operation::Lanes(LaneOp::Max | LaneOp::Min | LaneOp::SelectLess) => {
                let choice = match operation {
                    Operation::Lanes(LaneOp::Max) => "x > y ? x : y",
                    Operation::Lanes(LaneOp::Min) => "x < y ? x : y",
                    _ => "x < y ? z : w",
                };
                return (lanes == 1 && !self.isa.code.in_software).then(|| choice.to_owned());
            }
            _ => false,
        };
        if lanes == 1 || !of_vectors {
            return None;
        }
        let ty = self.ty(Type::f32(lanes));
        Some(match operation {
            Operation::Load { .. } => format!("*(const {ty}_in_memory *)from"),
            Operation::Store => format!("*({ty}_in_memory *)to = x"),
            // in parentheses, so that the commas do not separate arguments of the macro
            _ => format!("(({ty}){{{}}})", vec!["number"; lanes].join(", ")),
        })
    }

    /// The expression for an operation on one register. `None` for calls of activations and
    /// additions of rows.
    fn of_register(&mut self, operation: &Operation, lanes: usize) -> Option<String> {
        let block = |name: &str, element, bytes| Block {
            name: name.to_owned(),
            len: lanes,
            element,
            bytes,
            group: None,
        };
        let operands = |count: usize| {
            OPERANDS[..count].iter().map(|name| Text::atom(*name)).collect::<Vec<_>>()
        };
        if let Some(text) = self.plain_operation(operation, lanes) {
            return Some(text);
        }
        let (count, _, result) = operation.signature();
        let ty = Type { scalar: result, lanes };
        let text = match operation {
            Operation::Load { element, is_constant } => {
                self.load(&block("from", *element, *is_constant), 0, lanes)
            }
            Operation::Store => {
                let out = std::mem::take(&mut self.out);
                self.store(&block("to", Element::F32, false), 0, lanes, Text::atom("x"));
                let statement = std::mem::replace(&mut self.out, out);
                return Some(statement.trim().trim_end_matches(';').to_owned());
            }
            Operation::Number(_) if lanes == 1 => Text::atom("number"),
            Operation::Number(_) => {
                self.value(Text { text: "number".to_owned(), kind: TextKind::Number }, ty)
            }
            Operation::Lanes(LaneOp::MulAdd) if !self.fuses => {
                let [a, b, c] = <[Text; 3]>::try_from(operands(3)).ok()?;
                let product = self.operation(LaneOp::Mul, ty, vec![a, b], Context::Kernel);
                self.operation(LaneOp::Add, ty, vec![product, c], Context::Kernel)
            }
            Operation::Lanes(operation) => {
                self.operation(*operation, ty, operands(count), Context::Kernel)
            }
            Operation::Row { .. } => return None,
            // the function of the activation already has the name of the operation
            Operation::Call { function, is_outlined, .. } => {
                self.needs.calls(function, *is_outlined, lanes);
                return None;
            }
        };
        Some(self.value(text, ty).text)
    }
}
