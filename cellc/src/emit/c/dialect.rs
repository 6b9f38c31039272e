//! The C dialect of the traversal.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::super::traversal::{
    Block, BlockOperands, Context, Copying, Dialect, Line, LinePart, LineRow, LoadsTogether,
    MovingWindow, Operand, PrivateMemory, RowSums, RowText, Subscript, Support, Text, TextKind,
    TileOperands, UnrollHints, decimal, function_name,
};
use super::block_comment;
use super::column_sums::ColumnSums;
use super::joined::Joined;
use super::shared_texts::{self, Definition};
use super::vectors::{self, VectorFunction, fill, spaced};
use crate::arch::{ByLane, CLoads, CVector, Calls, Dot, GENERIC, Isa};
use crate::emit::elements::spelling;
use crate::emit::hints;
use crate::kernel::{BlockSums, Element, Kernel, LaneOp, Loops, Scalar, Tiles, Type};

/// Upper limit for nested loops, beyond the needs of lowering.
pub(super) const DEEPEST: usize = 24;

/// Loop counters, outermost first.
pub(super) fn counter(depth: usize) -> String {
    assert!(depth < DEEPEST, "emit: {depth} loops within each other");
    match depth {
        0 => "i".to_string(),
        1 => "j".to_string(),
        _ => format!("i{}", depth + 1),
    }
}

/// The suffix of types and functions for a number of lanes. A file with one scalar body omits the
/// instruction set.
pub(super) fn ending(lanes: usize, isa: &Isa, is_alone: bool) -> String {
    if is_alone && isa.lanes == 1 {
        format!("f32x{lanes}")
    } else {
        format!("f32x{lanes}_{}", isa.name)
    }
}

/// The name of the outlined version of an activation, for calls outside the loop with the inlined
/// copy.
pub(super) fn outlined(name: &str) -> String {
    format!("{name}_called")
}

/// The name of the version of an activation for an array of values.
pub(super) fn of_each(full: &str) -> String {
    format!("{full}_each")
}

/// A pointer advanced by some elements.
pub(super) fn plus(pointer: &str, elements: usize) -> String {
    if elements == 0 { pointer.to_string() } else { format!("{pointer} + {elements}") }
}

impl Needs {
    /// Records a call of an activation.
    pub(super) fn calls(&mut self, function: &str, is_outlined: bool, lanes: usize) {
        let key = (function.to_string(), lanes);
        self.outlined.extend(Some(key.clone()).filter(|_| is_outlined));
        self.called.insert(key);
    }
}

/// A block around a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Around {
    Loop,
    /// A loop over passes of columns.
    Passes,
    Condition,
}

/// The dialect: text of the current body, and its needs.
pub(super) struct C<'a> {
    pub(super) prefix: &'a str,
    pub(super) isa: &'static Isa,
    alignment: usize,
    /// True if the file uses extensions of gcc and clang.
    extensions: bool,
    pub(super) used: &'a RefCell<BTreeSet<VectorFunction>>,
    pub(super) out: String,
    /// The blocks and loops around the current statement.
    pub(super) within: Within,
    /// The kernel or function that is printed.
    pub(super) function: FunctionText,
    /// The needs of the kernels.
    pub(super) needs: Needs,
    /// The instruction set that shares the body and has fused multiply-add, if the body's own
    /// instruction set has none.
    pub(super) fused_by: Option<&'static Isa>,
    /// True if every activation is inlined into one loop of a kernel and called from other loops.
    pub(super) outlines: bool,
    /// True if multiply-adds are fused.
    pub(super) fuses: bool,
    /// True if the file has no other body.
    pub(super) is_alone: bool,
    /// True if the code keeps compilers from computing the addresses of rows separately.
    pub(super) rows: bool,
    /// True if other bodies of the file may share the text. Every vector value then has a type of
    /// the body.
    pub(super) shares: bool,
    /// The finished kernels and functions.
    pub(super) pieces: Vec<Definition>,
}

/// The blocks and loops around the current statement.
#[derive(Default)]
pub(super) struct Within {
    /// The number of blocks, the function's included.
    pub(super) depth: usize,
    /// The number of loops.
    loops: usize,
    /// The blocks.
    blocks: Vec<Around>,
    /// The numbers of the loops, and the number of loops so far in the kernel.
    numbers: (Vec<usize>, usize),
}

/// A kernel or function while it is printed.
#[derive(Default)]
pub(super) struct FunctionText {
    /// The name of the kernel.
    kernel: String,
    /// The parameters.
    params: Vec<String>,
    /// The lanes of an activation. 0 in kernels.
    lanes: usize,
    /// The sums of the last loop, if these sums stay in memory during the next loop.
    kept: Vec<String>,
    /// The types of accumulators.
    types: BTreeMap<String, Type>,
    /// Texts of broadcast f32 vectors, and the variables of the kernel with broadcast values.
    of_one: [BTreeSet<String>; 2],
    /// The loop of the kernel with the inlined copy of each activation.
    copied_to: BTreeMap<(String, usize), usize>,
}

/// Functions and types that the kernels of a body use, declared before the kernels.
#[derive(Default)]
pub(super) struct Needs {
    /// Activations called by kernels, with their lanes.
    called: BTreeSet<(String, usize)>,
    /// Activations with an outlined version, for calls from loops without the inlined copy.
    outlined: BTreeSet<(String, usize)>,
    /// Activations with a version for an array of values.
    called_each: BTreeSet<(String, usize)>,
    /// True if an operation is fused.
    pub(super) is_fused: bool,
    /// Values of several registers.
    pub(super) joined: Joined,
    /// By name: macros that add a row of weights to sums of one register each, and functions for
    /// blocks of weights.
    pub(super) rows: BTreeMap<String, String>,
}

impl<'a> C<'a> {
    /// The suffix of types and functions for a number of lanes.
    pub(super) fn ending(&self, lanes: usize) -> String {
        ending(lanes, self.isa, self.is_alone)
    }

    /// The name of an activation for a number of lanes.
    fn full(&self, name: &str, lanes: usize) -> String {
        format!("{}_{name}_{}", self.prefix, self.ending(lanes))
    }

    /// `alignment`: the alignment of scratch memory in bytes.
    pub(super) fn new(
        prefix: &'a str,
        isa: &'static Isa,
        alignment: usize,
        extensions: bool,
        used: &'a RefCell<BTreeSet<VectorFunction>>,
    ) -> Self {
        Self {
            prefix,
            isa,
            alignment,
            extensions,
            used,
            out: String::new(),
            within: Within { depth: 1, ..Within::default() },
            function: FunctionText::default(),
            needs: Needs::default(),
            fused_by: None,
            outlines: false,
            fuses: isa.fma,
            is_alone: false,
            rows: false,
            shares: false,
            pieces: Vec::new(),
        }
    }

    pub(super) fn line(&mut self, text: &str) {
        self.out.extend(std::iter::repeat_n("    ", self.within.depth).chain([text, "\n"]));
    }

    /// Adds a variable to the declaration in the last line, if its variables have the same type
    /// and the same initial number.
    fn declare_beside(&mut self, ty: &str, name: &str, value: &str) -> bool {
        let begin = self.out.trim_end_matches('\n').rfind('\n').map_or(0, |at| at + 1);
        let last = self.out[begin..].trim();
        let is_number =
            value.starts_with(|c: char| c.is_ascii_digit()) || value.ends_with("(0.0f)");
        let has_type = last.strip_prefix(ty).is_some_and(|rest| rest.starts_with(' '));
        if !is_number || !has_type || !last.ends_with(&format!(" = {value};")) {
            return false;
        }
        self.out.truncate(self.out.trim_end().len() - 1);
        self.out.push_str(&format!(", {name} = {value};\n"));
        true
    }

    /// The linkage and attribute of a function, followed by a space. Shared text has a macro
    /// instead.
    fn linked(&self, linkage: &str) -> String {
        if self.shares {
            shared_texts::target(self.prefix) + " "
        } else {
            format!("{linkage} {}", self.attribute())
        }
    }

    /// The attribute of a function, followed by a space.
    fn attribute(&self) -> String {
        spaced(self.prefix, self.isa)
    }

    /// Ends a kernel or a function.
    fn end_piece(&mut self, name: &str, lanes: usize) {
        let text = std::mem::take(&mut self.out);
        self.pieces.push(Definition { name: name.to_owned(), lanes, text });
    }

    /// The text of all kernels and functions.
    pub(super) fn text(&self) -> String {
        self.pieces.iter().map(|piece| piece.text.as_str()).collect()
    }

    /// True if a value has a type of the body, with functions as operations.
    pub(super) fn is_named(&self, lanes: usize) -> bool {
        let is_of_pass = || self.isa.lanes == 1 && self.within.blocks.contains(&Around::Passes);
        let is_of_body = || lanes > 1 || self.is_in_function() || is_of_pass();
        self.is_joined(lanes) || self.shares && is_of_body()
    }

    /// A number of elements. In a file without extensions the literal is unsigned, as MISRA C:2012
    /// requires (10.4).
    fn unsigned(&self, number: usize) -> String {
        if self.extensions { number.to_string() } else { format!("{number}u") }
    }

    /// A subscript. Numbers next to counters are spelled by [`Self::unsigned`].
    fn subscript(&self, subscript: &Subscript) -> String {
        let text = subscript.to_string();
        let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
        if self.extensions || is_number(&text) {
            return text;
        }
        let spelled =
            |word: &str| if is_number(word) { format!("{word}u") } else { word.to_owned() };
        text.split(' ').map(spelled).collect::<Vec<_>>().join(" ")
    }

    /// True inside an activation.
    fn is_in_function(&self) -> bool {
        self.function.lanes > 0
    }

    /// True if the operation is a function in activations, too.
    fn is_of_registers(operation: LaneOp) -> bool {
        use LaneOp as O;
        matches!(
            operation,
            O::MulAdd
                | O::Div
                | O::Max
                | O::Min
                | O::MaxMagnitude
                | O::SelectLess
                | O::FromSigned
                | O::Flush
                | O::ToBits
                | O::FromBits
        )
    }

    pub(super) fn ty(&mut self, ty: Type) -> String {
        if self.is_named(ty.lanes) {
            return self.joined_type(ty);
        }
        self.name("type", ty.lanes);
        match ty.scalar {
            Scalar::F32 => vectors::float(self.prefix, ty.lanes),
            Scalar::U32 => vectors::bits(self.prefix, ty.lanes),
        }
    }

    /// The type with the lanes of this body: functions have one lane in the program and several in
    /// the text.
    fn widened(&self, ty: Type, context: Context) -> Type {
        match context {
            Context::Kernel => ty,
            Context::Function => Type { lanes: self.function.lanes, ..ty },
        }
    }

    pub(super) fn name(&mut self, function: &str, lanes: usize) -> String {
        let function = VectorFunction::new(function, lanes, Some(self.isa));
        self.used.borrow_mut().insert(function);
        function.name(self.prefix)
    }

    /// Software floats: integer code for adding and subtracting the large constant of roundings.
    fn by_integers(&mut self, operation: LaneOp, lanes: usize, args: &[Text]) -> Option<Text> {
        let function = match operation {
            LaneOp::Add => "add_large",
            LaneOp::Sub => "sub_large",
            _ => return None,
        };
        let [a, b] = args else { return None };
        let large =
            b.text.strip_suffix('f').filter(|_| b.kind == TextKind::Number)?.parse().ok()?;
        let rounds = self.isa.code.in_software
            && lanes == 1
            && (10_485_760.0..=14_680_064.0_f32).contains(&large);
        rounds.then(|| Text::atom(format!("{}({}, {})", self.name(function, 1), a.text, b.text)))
    }

    /// Sums of products across lanes, for one row and one panel at a time.
    fn across(&mut self, operands: &TileOperands<'_>, tiles: &Tiles) {
        let TileOperands { elements, weights, sums } = operands;
        let (function, iterations) = ColumnSums::new(tiles, weights.block.element, self.isa);
        // conversions of sums to lanes or floats
        _ = if tiles.columns == 4 { self.name("type", 4) } else { self.name("from_bits", 1) };
        self.used.borrow_mut().insert(VectorFunction::across(function, self.isa));
        let (name, arguments) = (function.name(self.prefix), function.arguments(iterations, tiles));
        for row in 0..tiles.rows {
            for panel in 0..tiles.panels {
                let at = |operand: &Operand<'_>, beyond: usize| {
                    plus(&operand.block.name, operand.offset + beyond)
                };
                let elements = at(elements, row * tiles.words);
                let weights = at(weights, panel * tiles.stride);
                let sums = at(sums, row * tiles.pitch + panel * tiles.columns);
                self.line(&format!("{name}({weights}, {elements}, {sums}{arguments});"));
            }
        }
    }

    /// The struct of integer sums for a number of lanes. `None` if the target needs no struct.
    fn sums(&mut self, lanes: usize) -> Option<String> {
        self.vector(lanes).filter(|vector| !vector.sums.is_empty())?;
        Some(self.name("sums", lanes))
    }

    /// The name by which the current loop calls an activation, and true if the name is that of the
    /// outlined version.
    pub(super) fn named_call(&mut self, function: &str, lanes: usize) -> (String, bool) {
        let key = (function.to_string(), lanes);
        let block = self.within.numbers.0.last().copied().unwrap_or(0);
        let is_outlined = self.outlines
            && lanes > 1
            && *self.function.copied_to.entry(key).or_insert(block) != block;
        self.needs.calls(function, is_outlined, lanes);
        let name = if is_outlined { outlined(function) } else { function.to_owned() };
        (self.full(&name, lanes), is_outlined)
    }

    /// Declares the function that loads a single vector, for the part of a load of several
    /// neighbours that has no instruction of its own.
    pub(super) fn used_by_loads(&mut self, element: Element, lanes: usize) {
        match element {
            Element::U32 => _ = self.name("to_bits", lanes),
            Element::F16 => _ = self.name("load_f16_", lanes),
            Element::I8 => _ = self.name("load_i8_", lanes),
            Element::I8Pair => _ = self.name("load_i8_pairs_", lanes),
            _ => {}
        }
    }

    /// Declares the version of an activation for an array of values.
    pub(super) fn calls_each_of(&mut self, function: &str) {
        let key = (function.to_string(), 1);
        self.needs.called.insert(key.clone());
        self.needs.called_each.insert(key);
    }

    /// The target's vectors with a number of lanes. `None` if the target has none.
    pub(super) fn vector(&self, lanes: usize) -> Option<&'static CVector> {
        self.isa.c.vectors.iter().find(|v| v.lanes == lanes)
    }

    fn template(
        &mut self,
        template: fn(&CVector) -> &'static str,
        function: &str,
        lanes: usize,
        args: Vec<Text>,
    ) -> Text {
        let args: Vec<_> = args.into_iter().map(|a| a.text).collect();
        Text::atom(match self.vector(lanes) {
            Some(vector) if !template(vector).is_empty() => {
                fill(&template(vector).replace("PREFIX", self.prefix), &args)
            }
            _ => format!("{}({})", self.name(function, lanes), args.join(", ")),
        })
    }

    /// A value with all its lanes: constants are broadcast.
    pub(super) fn value(&mut self, text: Text, ty: Type) -> Text {
        if ty.lanes == 1 && !self.is_named(1) || text.kind != TextKind::Number {
            return text;
        }
        let is_of_function = self.is_in_function() && ty.scalar == Scalar::U32;
        if self.is_joined(ty.lanes) || self.is_named(ty.lanes) && !is_of_function {
            return self.joined_number(ty, &text.text);
        }
        match ty.scalar {
            Scalar::F32 => {
                self.template(|v| v.splat, "splat", ty.lanes, vec![Text::atom(text.text)])
            }
            Scalar::U32 => {
                let ty = self.ty(ty);
                Text::compound(format!("({ty}){{0}} + {}", text.text))
            }
        }
    }

    /// An operator between two operands. One constant may stay scalar: C widens it to the lanes of
    /// the other operand.
    fn infix(&mut self, operator: &str, ty: Type, args: Vec<Text>) -> Text {
        let [a, b] = <[Text; 2]>::try_from(args)
            .unwrap_or_else(|_| panic!("emit: {operator} takes two operands"));
        let a = if b.kind == TextKind::Number { self.value(a, ty) } else { a };
        let operand = |text: Text| match (operator, text.kind) {
            ("+" | "-", TextKind::Product) => text.text,
            _ => text.operand(),
        };
        let text = format!("{} {operator} {}", operand(a), operand(b));
        if matches!(operator, "*" | "/") { Text::product(text) } else { Text::compound(text) }
    }
}

/// The instruction set's spelling of an operation with a C operator. Empty: the operator.
fn own(operation: LaneOp, vector: &CVector) -> &'static str {
    match operation {
        LaneOp::Add => vector.add,
        LaneOp::Sub => vector.sub,
        LaneOp::Mul => vector.mul,
        LaneOp::Div => vector.div,
        _ => "",
    }
}

fn list(args: Vec<Text>) -> String {
    args.into_iter().map(|a| a.text).collect::<Vec<_>>().join(", ")
}

/// Powers of two with exponents of at least this magnitude are spelled in hexadecimal.
const LEAST_EXPONENT: i32 = 32;

/// The exponent of a normal power of two.
fn power_of_two(value: f32) -> Option<i32> {
    let is_power = value.is_normal() && value > 0.0 && value.to_bits() & 0x7f_ffff == 0;
    is_power.then(|| (value.to_bits() >> 23).cast_signed() - 127)
}

impl Dialect for C<'_> {
    fn begin_kernel(&mut self, kernel: &Kernel, name: &str, params: &[(&Block, bool)]) {
        self.out.push('\n');
        block_comment(&mut self.out, "", &kernel.doc);
        let param = |(block, written): &(&Block, bool)| {
            let constant = if *written { "" } else { "const " };
            format!("{constant}{} *restrict {}", spelling(block.element).c, block.name)
        };
        let params: Vec<_> = params.iter().map(param).collect();
        let (prefix, isa) = (self.prefix, self.isa);
        let is_called = isa.code.calls != Calls::Inlined
            && isa.lanes == 1
            && hints::fills_registers(kernel, isa)
            && kernel.loops != Loops::Unrolled
            && !self.shares;
        let linkage = if is_called {
            prefix.to_ascii_uppercase() + hints::SPILLED_IN_CALLER.printed
        } else {
            "static".to_owned()
        };
        let head = format!("{}void {prefix}_{name}_{}(", self.linked(&linkage), isa.name);
        self.function.kernel = name.to_owned();
        self.out.push_str(&format!("{head}{}) {{\n", params.join(", ")));
        self.function.of_one = Default::default();
        self.function.copied_to.clear();
        self.within.numbers = Default::default();
    }

    fn private_memory(&self) -> PrivateMemory {
        PrivateMemory::Undefined
    }

    fn scratch(&mut self, block: &Block, _vectors: bool) {
        let aligned = super::aligned(self.alignment);
        let (kind, array) = (format!("{aligned}float "), format!("{}[{}]", block.name, block.len));
        let begin = self.out.trim_end_matches('\n').rfind('\n').map_or(0, |at| at + 1);
        let last = self.out[begin..].trim();
        let follows = last.strip_prefix(&kind).is_some_and(|rest| rest.ends_with("];"));
        if follows && self.out.len() - begin + array.len() < 100 {
            self.out.truncate(self.out.trim_end().len() - 1);
            self.out.push_str(&format!(", {array};\n"));
            return;
        }
        self.line(&format!("{kind}{array};"));
    }

    fn end_kernel(&mut self) {
        self.out.push_str("}\n");
        let name = std::mem::take(&mut self.function.kernel);
        self.end_piece(&name, 0);
    }

    fn wanted(&self, functions: &[String]) -> Vec<(usize, usize)> {
        let at = |name: &String| {
            functions.iter().position(|f| f == name).expect("emit: a called function exists")
        };
        self.needs.called.iter().rev().map(|(name, lanes)| (at(name), *lanes)).collect()
    }

    fn begin_function(&mut self, doc: &[String], name: &str, lanes: usize, names: &[String]) {
        self.function.lanes = lanes;
        self.out.push('\n');
        block_comment(&mut self.out, "", doc);
        let ty = self.ty(Type::f32(lanes));
        let params: Vec<_> = names.iter().map(|name| format!("{ty} {name}")).collect();
        // a function with a version for an array of values is inlined into this version
        let is_called = self.isa.code.calls != Calls::Inlined
            && !self.needs.called_each.contains(&(name.to_string(), lanes));
        let kind = if is_called { "CALLED" } else { "INLINE" };
        let head = self.linked(&format!("{}_{kind}", self.prefix.to_ascii_uppercase()));
        self.out.push_str(&format!(
            "{head}{ty} {}({}) {{\n",
            self.full(name, lanes),
            params.join(", ")
        ));
        self.function.params = names.to_vec();
    }

    fn end_function(&mut self, name: &str, lanes: usize, result: Text) {
        let result = self.value(result, Type::f32(lanes)).text;
        self.line(&format!("return {result};"));
        self.out.push_str("}\n");
        if self.needs.called_each.contains(&(name.to_string(), lanes)) {
            let (ty, attribute) = (self.ty(Type::f32(lanes)), self.attribute());
            let (upper, full) = (self.prefix.to_ascii_uppercase(), self.full(name, lanes));
            let comment =
                "The same of each of so many values, for which constants are loaded once.";
            self.out.push_str(&format!(
                "\n/* {comment} */\n{upper}_CALLED {attribute}void {}({ty} *values, size_t count) {{\n    \
                 for (size_t i = 0; i < count; i++) {{\n        values[i] = {full}(values[i]);\n   \
                  }}\n}}\n",
                of_each(&full)
            ));
        }
        if self.needs.outlined.contains(&(name.to_string(), lanes)) {
            let (ty, attribute) = (self.ty(Type::f32(lanes)), self.attribute());
            let upper = self.prefix.to_ascii_uppercase();
            let copied = self.full(name, lanes);
            let called = self.full(&outlined(name), lanes);
            let names = self.function.params.join(", ");
            let params: Vec<_> =
                self.function.params.iter().map(|param| format!("{ty} {param}")).collect();
            let head = format!("{upper}_OUTLINED {attribute}{ty} {called}({})", params.join(", "));
            self.out.push_str(&format!("\n{head} {{\n    return {copied}({names});\n}}\n"));
        }
        self.end_piece(name, lanes);
    }

    fn load(&mut self, from: &Block, offset: usize, lanes: usize) -> Text {
        if self.is_named(lanes) {
            return self.joined_load(from, offset, lanes);
        }
        let pointer = || vec![Text::compound(plus(&from.name, offset))];
        match from.element {
            Element::F16 => return self.template(|v| v.load_f16, "load_f16_", lanes, pointer()),
            Element::I8Pair => {
                return self.template(|v| v.load_i8_pairs, "load_i8_pairs_", lanes, pointer());
            }
            Element::I8 => return self.template(|v| v.load_i8, "load_i8_", lanes, pointer()),
            _ => {}
        }
        if lanes == 1 {
            return Text::atom(format!("{}[{offset}]", from.name));
        }
        let is_constant =
            from.bytes && self.vector(lanes).is_some_and(|vector| !vector.load_constant.is_empty());
        self.template(
            if is_constant { |v| v.load_constant } else { |v| v.load },
            "load",
            lanes,
            pointer(),
        )
    }

    fn splat(&mut self, from: &Block, offset: usize, lanes: usize) -> Text {
        let element = Text::atom(format!("{}[{offset}]", from.name));
        if self.is_named(lanes) {
            return self.joined_number(Type::f32(lanes), &element.text);
        }
        if lanes == 1 {
            return element;
        }
        if self.vector(lanes).is_none_or(|vector| vector.mul_add_one.is_empty()) {
            return self.template(|v| v.splat, "splat", lanes, vec![element]);
        }
        // not the intrinsic: compilers know that all lanes of this vector are one element, and a
        // multiply-add reads lane 0
        let text = format!("{}({})", self.name("splat", lanes), element.text);
        self.function.of_one[0].insert(text.clone());
        Text::atom(text)
    }

    fn constant(&mut self, bits: u32, ty: Type, context: Context) -> Text {
        let value = f32::from_bits(bits);
        match ty.scalar {
            // in decimal: a count rather than a mask
            Scalar::U32 if context == Context::Kernel && bits < 1 << 16 => {
                Text::number(format!("{bits}u"))
            }
            Scalar::U32 => Text::number(format!("{bits:#x}u")),
            Scalar::F32 if !self.extensions && !value.is_finite() => {
                let quiet = if value.is_nan() { bits | 0x0040_0000 } else { bits };
                Text::atom(format!("{}({quiet:#x}u)", self.name("from_bits", 1)))
            }
            Scalar::F32 if value.is_nan() => {
                let sign = if value.is_sign_negative() { "-" } else { "" };
                Text::number(format!("{sign}__builtin_nanf(\"{:#x}\")", bits & 0x003f_ffff))
            }
            Scalar::F32 if value == f32::INFINITY => Text::number("__builtin_inff()"),
            Scalar::F32 if value == f32::NEG_INFINITY => Text::number("-__builtin_inff()"),
            Scalar::F32 => Text::number(match power_of_two(value) {
                Some(exponent) if exponent.abs() >= LEAST_EXPONENT => format!("0x1p{exponent}f"),
                _ => format!("{}f", decimal(value)),
            }),
        }
    }

    fn operation(
        &mut self,
        operation: LaneOp,
        ty: Type,
        args: Vec<Text>,
        context: Context,
    ) -> Text {
        use LaneOp as O;
        let ty = self.widened(ty, context);
        let (lanes, bits) = (ty.lanes, Type { scalar: Scalar::U32, lanes: ty.lanes });
        if let Some(text) = self.by_integers(operation, lanes, &args) {
            return text;
        }
        let is_of_kernel =
            self.is_named(lanes) && context == Context::Kernel && !operation.is_dot();
        if self.is_joined(lanes) || is_of_kernel {
            return self.joined_operation(operation, ty, args);
        }
        if self.is_named(lanes) && Self::is_of_registers(operation) {
            return self.register_operation(operation, ty, args);
        }
        if operation == LaneOp::MulAdd && !self.fuses {
            let [a, b, c] = <[Text; 3]>::try_from(args)
                .unwrap_or_else(|_| panic!("emit: mul_add takes three operands"));
            let product = self.operation(LaneOp::Mul, ty, vec![a, b], context);
            return self.operation(LaneOp::Add, ty, vec![product, c], context);
        }
        let mut args = args;
        match (operation.sign(), operation) {
            (Some(sign), O::ShiftLeft(by) | O::ShiftRight(by)) => {
                let value = self.value(args.remove(0), bits);
                return Text::compound(format!("{} {sign} {by}", value.operand()));
            }
            (Some(sign), _)
                if self.vector(lanes).is_none_or(|vector| own(operation, vector).is_empty()) =>
            {
                return self.infix(sign, ty, args);
            }
            _ => {}
        }
        let operand = match operation {
            O::FromBits | O::FromSigned => bits,
            _ if operation.is_dot() => bits,
            _ => Type::f32(lanes),
        };
        let mut args: Vec<_> = args.into_iter().map(|a| self.value(a, operand)).collect();
        let name = function_name(operation);
        let template: fn(&CVector) -> &'static str = match operation {
            O::MulAdd => {
                self.needs.is_fused = true;
                if self.fused_by.is_some() {
                    return Text::atom(format!("{}({})", self.name("mul_add", lanes), list(args)));
                }
                assert!(self.isa.fma, "emit: a fused operation on an instruction set without one");
                if self.function.of_one[1].contains(&args[1].text) {
                    args[1].text += "[0]";
                    |v| v.mul_add_one
                } else {
                    |v| v.mul_add
                }
            }
            O::Add => |v| v.add,
            O::Sub => |v| v.sub,
            O::Mul => |v| v.mul,
            O::Div => |v| v.div,
            O::Max => |v| v.max,
            O::Min => |v| v.min,
            O::MaxMagnitude => |v| v.max_magnitude,
            O::FromSigned => |v| v.from_signed,
            O::DotPairs | O::DotQuads | O::DotUnsignedQuads => {
                let template = if operation == O::DotPairs {
                    |v: &CVector| v.dot_pairs
                } else {
                    |v: &CVector| v.dot_quads
                };
                let sum = self.template(template, name, lanes, args).text;
                if let Some(sums) = self.sums(lanes) {
                    return Text::atom(format!("({sums}){{{sum}}}"));
                }
                return Text::atom(if lanes == 1 {
                    sum
                } else {
                    format!("(({}){sum})", self.ty(ty))
                });
            }
            O::DotPairsByLane(lane) | O::DotQuadsByLane(lane) => {
                let by_lane = ByLane::find(self.isa.dots, operation)
                    .expect("emit: what multiplies by a lane has a text");
                args.extend(
                    [lane, 2 * lane, 2 * lane + 1].map(|number| Text::atom(number.to_string())),
                );
                let args: Vec<_> = args.into_iter().map(|a| a.text).collect();
                return Text::atom(format!("(({}){})", self.ty(ty), fill(by_lane.c, &args)));
            }
            O::SelectLess => |v| v.select_less,
            O::ToBits | O::FromBits if lanes > 1 => {
                return Text::atom(format!("({}){}", self.ty(ty), args.remove(0).operand()));
            }
            // a function of the file, which may use intrinsics
            _ => return Text::atom(format!("{}({})", self.name(name, lanes), list(args))),
        };
        match (operation, lanes) {
            (O::MulAdd, 1) => Text::atom(format!("__builtin_fmaf({})", list(args))),
            _ => self.template(template, name, lanes, args),
        }
    }

    fn call(&mut self, function: &str, lanes: usize, args: Vec<Text>) -> Text {
        let lanes = if self.function.lanes > 0 { self.function.lanes } else { lanes };
        if self.is_joined(lanes) {
            return self.joined_call(function, lanes, args);
        }
        let args: Vec<_> = args.into_iter().map(|a| self.value(a, Type::f32(lanes)).text).collect();
        let (name, _) = self.named_call(function, lanes);
        Text::atom(format!("{name}({})", args.join(", ")))
    }

    fn declare(&mut self, name: &str, ty: Type, mutable: bool, value: Text, context: Context) {
        let ty = self.widened(ty, context);
        // sums of integers, initially 0, have a struct on some targets
        if let Some(sums) = Some(())
            .filter(|_| mutable && ty.scalar == Scalar::U32)
            .and_then(|()| self.sums(ty.lanes))
        {
            self.function.types.insert(name.to_string(), ty);
            return self.line(&format!("{sums} {name} = {{0}};"));
        }
        let value = self.value(value, ty).text;
        let spelled = self.ty(ty);
        // a value of an earlier block may have had the name: its properties are forgotten
        self.function.of_one[1].remove(name);
        self.function.types.remove(name);
        if !mutable && self.function.of_one[0].contains(&value) {
            self.function.of_one[1].insert(name.to_string());
        }
        if mutable {
            self.function.types.insert(name.to_string(), ty);
        }
        if mutable && self.declare_beside(&spelled, name, &value) {
            return;
        }
        let constant = if mutable { "" } else { "const " };
        self.line(&format!("{constant}{spelled} {name} = {value};"));
    }

    fn loads(&self, from: &Block, ty: Type) -> LoadsTogether {
        if self.shares {
            return LoadsTogether::ALONE;
        }
        let element = vectors::loaded(from.element, ty.scalar);
        let registers = match self.isa.c.loads.iter().find(|loads| loads.element == element) {
            Some(CLoads { count: Some(only), .. }) => *only,
            Some(_) => self.isa.code.loads,
            None if element == Element::F32 => self.isa.code.loads,
            None => 1,
        };
        match self.registers_of(ty.lanes) {
            1 => LoadsTogether { least: 2, most: registers },
            // the registers of a value are loaded together
            each if ty.lanes == each * self.isa.lanes => {
                LoadsTogether { least: 1, most: registers / each }
            }
            _ => LoadsTogether::ALONE,
        }
    }

    fn declare_loads(&mut self, names: &[&str], from: &Block, offset: usize, ty: Type) {
        if self.is_joined(ty.lanes) {
            return self.declare_joined_loads(names, from, offset, ty);
        }
        let (element, lanes) = (vectors::loaded(from.element, ty.scalar), ty.lanes);
        let function = VectorFunction::loads(from.element, ty, names.len(), self.isa);
        let ty = self.ty(ty);
        self.used.borrow_mut().insert(function);
        self.used_by_loads(element, lanes);
        let function = function.name(self.prefix);
        self.line(&format!("{ty} {};", names.join(", ")));
        self.line(&format!("{function}({}, &{});", plus(&from.name, offset), names.join(", &")));
    }

    /// Prevents gcc from keeping broadcast elements: [`hints::BROADCASTS_SHARED_IN_C`].
    fn read_again(&mut self, _elements: &[(&Block, bool)]) {
        let upper = self.prefix.to_ascii_uppercase();
        self.line(&format!("{upper}_{}();", hints::BROADCASTS_SHARED_IN_C.printed));
    }

    /// Keeps the sums of the previous loop in memory: [`hints::KEPT_SUMS_IN_C`]. Declares nothing.
    fn row_sums(&mut self, sums: &RowSums<'_>) -> Support {
        let upper = self.prefix.to_ascii_uppercase();
        let is_kept = u8::from(self.isa.code.stores_sums);
        for sum in std::mem::take(&mut self.function.kept) {
            self.line(&format!("{upper}_{}({is_kept}, {sum});", hints::KEPT_SUMS_IN_C.printed));
        }
        if self.extensions && hints::is_kept_in_memory_in_c(sums.names.len(), sums.next) {
            self.function.kept = sums.names.iter().map(|name| (*name).to_owned()).collect();
        }
        Support::Missing
    }

    fn add_row(&mut self, row: &RowText<'_>) -> Support {
        match self.is_named(row.row.lanes) {
            true => self.joined_row(row),
            false => self.loaded_row(row),
        }
    }

    fn unrolled_by(&mut self, count: usize, factor: usize) {
        let factor = hints::unrolled_in_c(count, factor);
        let upper = self.prefix.to_ascii_uppercase();
        self.line(&format!("{upper}_{}({factor})", hints::TWO_ITERATIONS.printed));
    }

    fn unroll_hints(&self) -> UnrollHints {
        if self.shares { UnrollHints::OnAllSums } else { UnrollHints::OnUnrolled }
    }

    fn row(&mut self, window: &Block) {
        // bodies that share a text need the macro for the same windows
        let least = if self.shares { GENERIC.lanes } else { self.isa.lanes };
        if self.rows && window.len > least {
            let upper = self.prefix.to_ascii_uppercase();
            self.line(&format!("{upper}_ROW({});", window.name));
        }
    }

    fn calls(&self) -> Calls {
        if self.shares { Calls::OneValue } else { self.isa.code.calls }
    }

    fn declare_calls(&mut self, names: &[&str], between: &str, function: &str, args: Vec<Text>) {
        self.calls_each_of(function);
        let (ty, called) = (self.ty(Type::f32(1)), of_each(&self.full(function, 1)));
        self.line(&format!("{ty} {between}[{}] = {{", names.len()));
        for arg in args {
            self.line(&format!("    {},", arg.text));
        }
        self.line("};");
        self.line(&format!("{called}({between}, {});", names.len()));
        for (at, name) in names.iter().enumerate() {
            self.line(&format!("const {ty} {name} = {between}[{at}];"));
        }
    }

    fn assign(&mut self, name: &str, value: Text) {
        let value = self.value(value, self.function.types[name]);
        self.line(&format!("{name} = {};", value.text));
    }

    fn store(&mut self, to: &Block, offset: usize, lanes: usize, value: Text) {
        let value = self.value(value, Type::f32(lanes));
        if to.element != Element::F32 {
            let function = self.name(&format!("whole_{}", to.element), 1);
            self.line(&format!("{}[{offset}] = {function}({});", to.name, value.text));
            return;
        }
        let pointer = plus(&to.name, offset);
        if self.is_named(lanes) {
            let call = self.joined_store(&pointer, lanes, &value);
            return self.line(&call);
        }
        if lanes == 1 {
            self.line(&format!("{}[{offset}] = {};", to.name, value.text));
            return;
        }
        let to = Text::compound(pointer);
        let call = self.template(|v| v.store, "store", lanes, vec![to, value]);
        self.line(&format!("{};", call.text));
    }

    fn length(&mut self, from: &Block, offset: usize, least: i32, most: usize) -> Text {
        if least != 0 {
            let function = self.name(&format!("above_{}", from.element), 1);
            return Text::atom(format!("{function}({}[{offset}], {least}, {most}u)", from.name));
        }
        let function = self.name(&format!("length_{}", from.element), 1);
        Text::atom(format!("{function}({}[{offset}], {most}u)", from.name))
    }

    fn begin_iterations(&mut self, _depth: usize, count: usize) -> String {
        let (i, count) = (counter(self.within.loops), self.unsigned(count));
        self.line(&format!("for (size_t {i} = 0; {i} < {count}; {i}++) {{"));
        self.within.blocks.push(Around::Loop);
        self.within.loops += 1;
        self.within.depth += 1;
        self.within.numbers.1 += 1;
        self.within.numbers.0.push(self.within.numbers.1);
        i
    }

    fn copy(&mut self, copying: Copying<'_>) {
        let Copying { from, mut read, to, mut write, run, repeated, add } = copying;
        let (from, to) = (&from.name, &to.name);
        if run > 1 && !repeated && !add {
            let pointer = |base: &str, at: String| {
                if at == "0" { base.to_owned() } else { format!("{base} + {at}") }
            };
            let (to, from) =
                (pointer(to, self.subscript(&write)), pointer(from, self.subscript(&read)));
            if vectors::copies_by_call(self.extensions, run) {
                self.name("copy_floats", 1);
            }
            let count = run.to_string();
            self.line(&vectors::copied((self.prefix, self.extensions), &to, &from, (&count, run)));
            return;
        }
        if run > 1 {
            let i = self.begin_iterations(0, run);
            write.add(&i, 1);
            read.add(&i, isize::from(!repeated));
        }
        let sign = if add { "+=" } else { "=" };
        let (write, read) = (self.subscript(&write), self.subscript(&read));
        self.line(&format!("{to}[{write}] {sign} {from}[{read}];"));
        if run > 1 {
            self.end_block();
        }
    }

    fn low_bytes(&mut self, to: Operand<'_>, from: Operand<'_>, words: usize) {
        let function = self.name("low_bytes", 1);
        let pointer = |Operand { block, offset }: Operand<'_>| match offset {
            0 => block.name.clone(),
            offset => format!("{} + {offset}", block.name),
        };
        self.line(&format!("{function}({}, {}, {words});", pointer(to), pointer(from)));
    }

    fn tiles(&mut self, operands: &TileOperands<'_>, tiles: &Tiles) {
        if self.isa.has(Dot::Across) {
            return self.across(operands, tiles);
        }
        let TileOperands { elements, weights, sums } = operands;
        let [elements, weights, to] =
            [elements, weights, sums].map(|operand| plus(&operand.block.name, operand.offset));
        let Tiles { rows, words, columns, panels, stride, pitch, .. } = tiles;
        let (prefix, isa) = (self.prefix, self.isa.name);
        let numbers = format!("{rows}, {words}, {columns}, {panels}, {stride}, {pitch}");
        self.line(&format!("{prefix}_tiles_of_{isa}({elements}, {weights}, {to}, {numbers});"));
    }

    fn blocks(&mut self, operands: &BlockOperands<'_>, sums: &BlockSums) {
        self.block_sums(operands, sums);
    }

    fn pack_line(&mut self, line: Line<'_>) {
        let Line {
            from,
            read,
            count,
            stride,
            to,
            write,
            abreast,
            step,
            interleaves_halves,
            row,
            part,
        } = line;
        let target = format!("{}, {write}", to.name);
        let pointer = |block: &Block, at: Subscript| match at.to_string() {
            at if at == "0" => block.name.clone(),
            at => format!("{} + {at}", block.name),
        };
        let (from, to) = (pointer(from, read), pointer(to, write));
        let row = match row {
            LineRow::Bytes => {
                format!("{}({from}, {stride}, {count})", self.name("row_of_bytes", 1))
            }
            LineRow::Pairs(most) => {
                format!("{}({from}, {stride}, {count}, {most}u)", self.name("row_of_pairs", 1))
            }
        };
        let call = match part {
            LinePart::Words(_) | LinePart::Pairs if interleaves_halves => {
                let pairs = matches!(part, LinePart::Pairs);
                let pack =
                    self.name(if pairs { "pack_pairs_apart" } else { "pack_words_apart" }, 1);
                format!("{pack}({target}, {step}, {row}, {from}, {stride}, {count});")
            }
            LinePart::Words(parts) => {
                let pack = self.name("pack_words", 1);
                format!(
                    "{pack}({to}, {step}, {abreast}, {row}, {parts}, {from}, {stride}, {count});"
                )
            }
            LinePart::Pairs => {
                let pack = self.name("pack_pairs", 1);
                format!("{pack}({to}, {step}, {abreast}, {row}, {from}, {stride}, {count});")
            }
            LinePart::Scale => format!("*({to}) = {row}.scale;"),
            LinePart::Start => {
                format!(
                    "*({to}) = {}({row}, {from}, {stride}, {count});",
                    self.name("row_start", 1)
                )
            }
        };
        self.line(&call);
    }

    fn begin_for(
        &mut self,
        count: usize,
        counter: Option<&str>,
        backwards: Option<&str>,
        walks: &[MovingWindow<'_>],
    ) {
        let mut i = self.begin_iterations(0, count);
        let is_of_passes = walks.iter().any(|walk| walk.is_pass);
        if is_of_passes {
            *self.within.blocks.last_mut().expect("emit: the loop has begun") = Around::Passes;
        }
        if let Some(counter) = counter {
            self.line(&format!("const uint32_t {counter} = (uint32_t){i};"));
        }
        if let Some(backwards) = backwards {
            let k = format!("{i}_k");
            let last = self.unsigned(count - 1);
            self.line(&format!("const size_t {k} = {backwards} ? {last} - {i} : {i};"));
            i = k;
        }
        for walk in walks {
            let constant = if walk.written { "" } else { "const " };
            let k = if walk.reverse {
                format!("({} - {i})", self.unsigned(count - 1))
            } else {
                i.clone()
            };
            // in shared text, the stride of a pass is the number of lanes, which is printed even if
            // it is 1
            let is_counted = walk.stride == 1 && !(self.shares && is_of_passes);
            let k = if is_counted { k } else { format!("{k} * {}", self.unsigned(walk.stride)) };
            let from = match walk.offset {
                0 => walk.block.name.clone(),
                offset => format!("{} + {}", walk.block.name, self.unsigned(offset)),
            };
            let ty = spelling(walk.block.element).c;
            self.line(&format!("{constant}{ty} *{} = {from} + {k};", walk.window.name));
        }
    }

    fn begin_pick(
        &mut self,
        at: Text,
        count: usize,
        most: Option<usize>,
        walking: &MovingWindow<'_>,
    ) {
        let (window, i) = (&walking.window, counter(self.within.loops));
        self.line("{");
        self.within.blocks.push(Around::Loop);
        self.within.numbers.0.push(self.within.numbers.0.last().copied().unwrap_or(0));
        self.within.loops += 1;
        self.within.depth += 1;
        self.line(&format!("const uint32_t {i} = {};", at.text));
        let k = match most {
            Some(0) => "0".to_owned(),
            Some(most) => format!("({i} < {count}u ? {i} : {most}u)"),
            None => i.clone(),
        };
        let k = if walking.stride == 1 { k } else { format!("(size_t){k} * {}", walking.stride) };
        let (from, ty) =
            (plus(&walking.block.name, walking.offset), spelling(walking.block.element).c);
        let constant = if walking.written { "" } else { "const " };
        self.line(&format!("{constant}{ty} *{} = {from} + {k};", window.name));
    }

    fn begin_if(&mut self, a: Text, b: Text) {
        self.line(&format!("if ({} < {}) {{", a.operand(), b.operand()));
        self.within.blocks.push(Around::Condition);
        self.within.depth += 1;
    }

    fn begin_else(&mut self) {
        self.within.depth -= 1;
        self.line("} else {");
        self.within.depth += 1;
    }

    fn leave_unless(&mut self, a: Text, b: Text) {
        self.line(&format!("if ({} >= {}) {{", a.operand(), b.operand()));
        self.line("    break;");
        self.line("}");
    }

    fn end_block(&mut self) {
        let block = self.within.blocks.pop().expect("emit: a block ends that has begun");
        let is_loop = block != Around::Condition;
        self.within.loops -= usize::from(is_loop);
        if is_loop {
            self.within.numbers.0.pop();
        }
        self.within.depth -= 1;
        self.line("}");
    }

    fn comment(&mut self, text: &str) {
        let indent = " ".repeat(self.within.depth * 4);
        block_comment(&mut self.out, &indent, &[text.to_string()]);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::{C, Context, Dialect, Text, fill};
    use crate::arch;
    use crate::kernel::{LaneOp, Type};

    #[test]
    fn operands_have_the_parentheses_that_they_need() {
        use LaneOp::{Add, Div, Mul, Sub, ToBits, Xor};
        let used = RefCell::default();
        let mut c = C::new("p", arch::ALL[0], 4, true, &used);
        let name = |name: &str| Text::atom(name);
        let mut op = |operation, lanes, args: [Text; 2]| {
            c.operation(operation, Type::f32(lanes), args.into(), Context::Kernel)
        };
        let product = op(Mul, 1, [name("a"), Text::number("-0.5f")]);
        let sum = op(Sub, 1, [name("d"), product]);
        let product = op(Mul, 1, [sum, name("e")]);
        let quotient = op(Div, 1, [product, name("f")]);
        let sum = op(Add, 1, [quotient, name("g")]);
        let sum = op(Add, 1, [name("h"), sum]);
        let mask = op(Xor, 1, [sum, name("i")]);
        assert_eq!(mask.text, "(h + (((d - a * -0.5f) * e) / f + g)) ^ i");
        // C widens a number to the lanes of the other operand, but not two numbers
        assert_eq!(op(Mul, 4, [Text::number("1.0f"), name("v")]).text, "1.0f * v");
        let widened = op(Add, 4, [Text::number("1.0f"), Text::number("2.0f")]).text;
        assert!(widened.contains("(1.0f") && widened.ends_with(" + 2.0f"), "{widened}");
        assert!(
            c.operation(ToBits, Type::f32(4), vec![name("v")], Context::Kernel)
                .text
                .ends_with(")v")
        );
    }

    #[test]
    fn templates_take_as_many_arguments_as_they_should() {
        assert_eq!(fill("f({1}, {0})", &["a".into(), "b".into()]), "f(b, a)");
        for vector in arch::ALL.iter().flat_map(|isa| isa.c.vectors) {
            let one =
                [vector.load, vector.load_constant, vector.load_f16, vector.load_i8, vector.splat];
            let further = [
                (vector.from_signed, 1),
                (vector.load_i8_pairs, 1),
                (vector.dot_pairs, 3),
                (vector.dot_quads, 3),
            ];
            let further =
                further.into_iter().chain([(vector.mul_add_one, 3), (vector.max_magnitude, 2)]);
            let operators = [vector.add, vector.sub, vector.mul, vector.div];
            let two =
                [&[vector.store, vector.max, vector.min, vector.flush], &operators[..]].concat();
            let templates = one.map(|t| (t, 1)).into_iter().chain(two.into_iter().map(|t| (t, 2)));
            let templates =
                templates.chain([(vector.mul_add, 3), (vector.select_less, 4)]).chain(further);
            for (template, n) in templates.filter(|(text, _)| !text.is_empty()) {
                let args: Vec<_> =
                    ["p", "q", "r", "s"][..n].iter().map(|a| a.to_string()).collect();
                let text = fill(template, &args);
                let used = |arg: &String| {
                    text.split(|c: char| !c.is_alphanumeric()).any(|word| word == arg)
                };
                assert!(args.iter().all(used), "{template}");
            }
        }
    }
}
