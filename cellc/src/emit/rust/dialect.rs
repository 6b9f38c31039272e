//! How Rust spells what the walk says.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::types::block_type;
use super::vectors::Used;
use crate::arch::ByLane;
use crate::emit::traversal::{
    Block, Context, Copying, Dialect, Line, LinePart, LineRow, Text, Walking, decimal, function_name,
};
use crate::kernel::{Element, LaneOp, Scalar, Tiles, Type};

/// The dialect: text of the current body, and which helpers it needs.
pub(super) struct Rust {
    pub(super) out: String,
    /// Of every function.
    pub(super) attribute: String,
    pub(super) used: BTreeSet<&'static str>,
    pub(super) fused: bool,
    /// Types and operations of vectors that the module uses.
    pub(super) vectors: Used,
    /// What multiplies by one lane.
    pub(super) by_lane: &'static [ByLane],
    /// Functions that are too long to stand wherever they are called.
    pub(super) long: BTreeSet<String>,
}

/// Operations of a function up to which LLVM takes its body to where it is called. That cannot be asked for together with
/// features of an instruction set, so lanes are handed to a closure, which may be; a call would spill every register.
pub(super) const INLINED: usize = 45;

/// Calls of functions in a module beyond which none is handed to a closure: rustc compiles every closure for itself.
pub(super) const MOST_CLOSURES: usize = 512;

impl Rust {
    /// A loop whose direction is known at run time.
    fn begin_either_way(&mut self, count: usize, turn: Option<&str>, backwards: &str, walks: &[Walking<'_>]) {
        let turn = turn.unwrap_or("turn");
        let (mut names, mut gets) = (Vec::new(), Vec::new());
        for walk in walks {
            let mutable = if walk.written { "_mut" } else { "" };
            let at = if walk.reverse { format!("{} - at", count - 1) } else { "at".to_string() };
            names.push(format!("Some({})", walk.window.name));
            gets.push(match walk.is_apart() {
                true => window_at(walk, &at),
                false => format!("{}.get{mutable}({at})", windows(count, walk)),
            });
        }
        let last = count - 1;
        let _ = writeln!(
            self.out,
            "for {turn} in 0..{count}u32 {{
                let at = if {backwards} == 0 {{ {turn} }} else {{ {last} - {turn} }} as usize;
                let ({}) = ({}) else {{ continue; }};",
            names.join(", "),
            gets.join(", "),
        );
    }

    fn doc(&mut self, lines: &[String]) {
        for line in lines {
            let _ = writeln!(self.out, "/// {line}");
        }
    }

    /// The type of a value. Functions are generic over the type of vectors, `V`.
    fn ty(&mut self, ty: Type, context: Context) -> String {
        match (ty.scalar, context) {
            (Scalar::F32, Context::Function) => "V".to_owned(),
            (Scalar::U32, Context::Function) => "V::Bits".to_owned(),
            (Scalar::U32, Context::Kernel) if ty.lanes == 1 => "u32".to_owned(),
            (scalar, Context::Kernel) => {
                self.vectors.lanes(ty.lanes);
                let letter = if scalar == Scalar::F32 { 'F' } else { 'U' };
                format!("{letter}32x{}", ty.lanes)
            }
        }
    }

    /// A method of the first operand.
    fn method(&mut self, name: &'static str, args: Vec<Text>) -> Text {
        self.vectors.operation(name);
        method(name, args)
    }

    /// A function of the type of `lanes` numbers.
    fn made(&mut self, name: &'static str, ty: &str, arg: &str) -> Text {
        self.vectors.operation(name);
        let name = if name == "all_bits" { "all" } else { name };
        Text::atom(format!("{ty}::{name}({arg})"))
    }

    /// A function of the type of `lanes` numbers that reads them from an element on.
    fn read(&mut self, name: &'static str, lanes: usize, (from, offset): (&Block, usize)) -> Text {
        self.vectors.operation(name);
        let ty = self.ty(Type::f32(lanes), Context::Kernel);
        Text::atom(format!("{ty}::{name}::<{offset}, {}>({})", from.len, from.name))
    }

    fn helper(&mut self, name: &'static str, args: &str) -> Text {
        self.used.insert(name);
        Text::atom(format!("{name}({args})"))
    }
}

/// True if a value is a number, not a vector: the bits of one lane in a kernel.
fn is_number(ty: Type, context: Context) -> bool {
    context == Context::Kernel && ty == Type { scalar: Scalar::U32, lanes: 1 }
}

fn join(args: Vec<Text>) -> String {
    args.into_iter().map(|a| a.text).collect::<Vec<_>>().join(", ")
}

impl Rust {
    /// An operation on numbers: the bits of one lane.
    fn of_numbers(&mut self, operation: LaneOp, args: Vec<Text>) -> Text {
        use LaneOp as O;
        match operation {
            O::DotPairs => Text::atom(format!("super::dot_pairs_lane({})", join(args))),
            O::DotQuads => Text::atom(format!("super::dot_quads_lane({})", join(args))),
            O::DotUnsignedQuads => Text::atom(format!("super::dot_unsigned_quads_lane({})", join(args))),
            O::DotEvenBytes => Text::atom(format!("super::dot_even_bytes_lane({})", join(args))),
            O::DotOddBytes => Text::atom(format!("super::dot_odd_bytes_lane({})", join(args))),
            O::WrappingAdd => method("wrapping_add", args),
            O::WrappingSub => method("wrapping_sub", args),
            O::ShiftLeft(n) => Text::compound(format!("{} << {n}", first(args))),
            O::ShiftRight(n) => Text::compound(format!("{} >> {n}", first(args))),
            O::And | O::Or | O::Xor => {
                let sign = operation.sign().unwrap_or_default();
                let parts: Vec<_> = args.into_iter().map(Text::operand).collect();
                Text::compound(parts.join(&format!(" {sign} ")))
            }
            other => unreachable!("emit: {other:?} gives no number"),
        }
    }
}

impl Dialect for Rust {
    fn begin_kernel(&mut self, doc: &[String], name: &str, params: &[(&Block, bool)]) {
        self.doc(doc);
        let _ = write!(self.out, "{} fn {name}(", self.attribute);
        for (block, written) in params {
            let mutable = if *written { "mut " } else { "" };
            let _ = write!(self.out, "{}: &{mutable}{},", block.name, block_type(block));
        }
        self.out.push_str(") {\n");
    }

    fn scratch(&mut self, block: &Block, vectors: bool) {
        let Block { name, len, .. } = block;
        if !vectors {
            let _ = writeln!(self.out, "let {name} = &mut [0.0f32; {len}];");
            return;
        }
        let _ = writeln!(self.out, "let mut {name} = Aligned([0.0f32; {len}]);");
        let _ = writeln!(self.out, "let {name} = &mut {name}.0;");
        self.used.insert("Aligned");
    }

    fn end_kernel(&mut self) {
        self.out.push_str("}\n");
    }

    fn wanted(&self, functions: &[String]) -> Vec<(usize, usize)> {
        (0..functions.len()).map(|at| (at, 1)).collect()
    }

    fn begin_function(&mut self, doc: &[String], name: &str, _lanes: usize, params: &[String]) {
        self.doc(doc);
        let params: Vec<_> = params.iter().map(|p| format!("{p}: V")).collect();
        let attribute = match self.long.contains(name) {
            true => format!("#[inline] {}", self.attribute),
            false => "#[inline(always)]".to_owned(),
        };
        let _ =
            writeln!(self.out, "{attribute} fn {name}<V: Vector<L>, const L: usize>({}) -> V {{", params.join(", "));
    }

    fn end_function(&mut self, _name: &str, _lanes: usize, result: Text) {
        let _ = writeln!(self.out, "{} }}", result.text);
    }

    fn load(&mut self, from: &Block, offset: usize, lanes: usize) -> Text {
        let name = match from.element {
            Element::F16 => "halves",
            Element::I8 => "bytes",
            Element::I8Pair => "pairs_of_bytes",
            _ if from.bytes => "weights",
            _ => "load",
        };
        self.read(name, lanes, (from, offset))
    }

    fn splat(&mut self, from: &Block, offset: usize, lanes: usize) -> Text {
        self.read(if from.bytes { "splat_weight" } else { "splat" }, lanes, (from, offset))
    }

    fn constant(&mut self, bits: u32, ty: Type, context: Context) -> Text {
        let value = f32::from_bits(bits);
        let text = match ty.scalar {
            // a count rather than a mask
            Scalar::U32 if context == Context::Kernel && bits < 1 << 16 => format!("{bits}"),
            Scalar::U32 => format!("{bits:#x}"),
            Scalar::F32 if value.is_finite() => decimal(value),
            Scalar::F32 => format!("f32::from_bits({bits:#x})"),
        };
        if is_number(ty, context) {
            return Text::number(format!("{text}u32"));
        }
        let name = if ty.scalar == Scalar::F32 { "all" } else { "all_bits" };
        let ty = self.ty(ty, context);
        self.made(name, &ty, &text)
    }

    fn operation(&mut self, operation: LaneOp, ty: Type, args: Vec<Text>, context: Context) -> Text {
        use LaneOp as O;
        assert!(operation != O::MulAdd || self.fused, "emit: a fused operation on an instruction set without one");
        if is_number(ty, context) && operation != O::ToBits {
            return self.of_numbers(operation, args);
        }
        if let Some(own) = ByLane::of(self.by_lane, operation) {
            self.used.insert(own.rust);
            let lane = match operation {
                O::DotApart(lane) => format!("{}, {}", 2 * lane, 2 * lane + 1),
                _ => operation.lane().unwrap_or_default().to_string(),
            };
            return Text::atom(format!("{}::<{lane}>({})", own.rust, join(args)));
        }
        let name = match operation {
            O::WrappingSub => "wrapping_sub",
            O::ShiftRight(_) => "shift_right",
            other => function_name(other),
        };
        match operation {
            O::FromBits | O::FromSigned => {
                let ty = self.ty(ty, context);
                self.made(name, &ty, &join(args))
            }
            O::ShiftLeft(by) | O::ShiftRight(by) => {
                let args = args.into_iter().chain([Text::number(by.to_string())]).collect();
                self.method(name, args)
            }
            O::DotPairs | O::DotQuads | O::DotUnsignedQuads => {
                self.vectors.dot(name, ty.lanes);
                method(name, args)
            }
            _ => self.method(name, args),
        }
    }

    fn call(&mut self, function: &str, _lanes: usize, args: Vec<Text>) -> Text {
        Text::atom(format!("{function}({})", join(args)))
    }

    fn declare(&mut self, name: &str, ty: Type, mutable: bool, value: Text, context: Context) {
        let mutable = if mutable { "mut " } else { "" };
        let ty = self.ty(ty, context);
        let _ = writeln!(self.out, "let {mutable}{name}: {ty} = {};", value.text);
    }

    fn assign(&mut self, name: &str, value: Text) {
        let _ = writeln!(self.out, "{name} = {};", value.text);
    }

    fn store(&mut self, to: &Block, offset: usize, lanes: usize, value: Text) {
        let helper = match to.element {
            Element::I32 => "store_i32",
            Element::I64 => "store_i64",
            Element::Bool => "store_bool",
            _ => "store",
        };
        if helper != "store" {
            self.used.insert(helper);
            let _ = writeln!(self.out, "{helper}({}, {offset}, {});", to.name, value.text);
            return;
        }
        self.vectors.operation("store");
        self.vectors.lanes(lanes);
        let _ = writeln!(self.out, "{}.store::<{offset}, {}>({});", value.text, to.len, to.name);
    }

    fn length(&mut self, from: &Block, offset: usize, least: i32, most: usize) -> Text {
        let helper = match (from.element, least) {
            (Element::I32, 0) => "length_i32",
            (Element::I64, 0) => "length_i64",
            (Element::U32, _) => "length_u32",
            (Element::Bool, _) => "length_bool",
            (Element::I32, _) => return self.helper("above_i32", &format!("{}, {offset}, {least}, {most}", from.name)),
            (Element::I64, _) => return self.helper("above_i64", &format!("{}, {offset}, {least}, {most}", from.name)),
            (Element::F32 | Element::F16 | Element::I8 | Element::I8Pair, _) => {
                unreachable!("emit: lengths are integers")
            }
        };
        self.helper(helper, &format!("{}, {offset}, {most}", from.name))
    }

    fn begin_turns(&mut self, depth: usize, count: usize) -> String {
        let i = counter(depth);
        let _ = writeln!(self.out, "for {i} in 0..{count}usize {{");
        i
    }

    fn copy(&mut self, copying: Copying<'_>) {
        let Copying { from, read, to, write, run, repeated, add } = copying;
        let helper = match (from.bytes, repeated) {
            (false, _) if add => "add_elements",
            (true, _) if add => "add_weights",
            (false, false) => "copy",
            (false, true) => "copy_one",
            (true, false) => "copy_weights",
            (true, true) => "copy_weight",
        };
        self.used.insert(helper);
        let (lens, to, from) = (format!("{run}, {}, {}", to.len, from.len), &to.name, &from.name);
        let _ = writeln!(self.out, "{helper}::<{lens}>({to}, {write}, {from}, {read});");
    }

    fn tiles(&mut self, places: [(&Block, usize); 3], tiles: &Tiles) {
        self.used.insert("tiles");
        let [(elements, from), (weights, first), (to, at)] = places;
        let Tiles { rows, words, columns, panels, stride, pitch, .. } = tiles;
        let _ = writeln!(
            self.out,
            "tiles({}, {}, {}, [{from}, {first}, {at}], [{rows}, {words}, {columns}, {panels}, {stride}, {pitch}]);",
            elements.name, weights.name, to.name
        );
    }

    fn pack_line(&mut self, line: Line<'_>) {
        let Line { from, read, count, stride, to, write, abreast, step, apart, row, part } = line;
        let strided = if from.bytes { "strided_weights" } else { "strided" };
        let weight = format!("&{strided}({}, {read}, {stride})", from.name);
        let (row_of, most) = match row {
            LineRow::Bytes => ("row_of_bytes", String::new()),
            LineRow::Pairs(most) => ("row_of_pairs", format!(", {most}")),
        };
        let (put, rest) = match part {
            LinePart::Words(_) if apart => ("pack_words_apart", format!("({}, {write}, {step}", to.name)),
            LinePart::Pairs if apart => ("pack_pairs_apart", format!("({}, {write}, {step}", to.name)),
            LinePart::Words(parts) => {
                ("pack_words", format!("::<{parts}, {abreast}, _, _>({}, {write}, {step}", to.name))
            }
            LinePart::Pairs => ("pack_pairs", format!("::<{abreast}, _, _>({}, {write}, {step}", to.name)),
            LinePart::Scale => ("pack_scale", format!("({}, {write}", to.name)),
            LinePart::Start => ("pack_start", format!("({}, {write}", to.name)),
        };
        self.used.extend([strided, "Row", row_of, put]);
        match part {
            LinePart::Words(_) | LinePart::Pairs => self.used.insert("row_word"),
            LinePart::Start => self.used.insert("row_start"),
            LinePart::Scale => false,
        };
        let row = format!("{row_of}({count}, {weight}{most})");
        let _ = match part {
            LinePart::Scale => writeln!(self.out, "{put}{rest}, {row});"),
            _ => writeln!(self.out, "{put}{rest}, {row}, {count}, {weight});"),
        };
    }

    fn begin_for(&mut self, count: usize, turn: Option<&str>, backwards: Option<&str>, walks: &[Walking<'_>]) {
        if let Some(backwards) = backwards {
            return self.begin_either_way(count, turn, backwards, walks);
        }
        let mut pattern = turn.unwrap_or("_").to_string();
        let (apart, walks): (Vec<_>, Vec<_>) = walks.iter().partition(|walk| walk.is_apart());
        let mut source = match (turn, walks.is_empty()) {
            (None, true) => format!("0..{count}"),
            (Some(_), true) => format!("0..{count}u32"),
            (Some(_), false) => format!("(0..{count}u32)"),
            (None, false) => String::new(),
        };
        for walk in walks {
            let mutable = if walk.written { "_mut" } else { "" };
            let reverse = if walk.reverse { ".rev()" } else { "" };
            let windows = format!("{}.iter{mutable}(){reverse}", windows(count, walk));
            if source.is_empty() {
                pattern.clone_from(&walk.window.name);
                source = windows;
            } else {
                pattern = format!("({pattern}, {})", walk.window.name);
                let _ = write!(source, ".zip({windows})");
            }
        }
        if apart.is_empty() {
            let _ = writeln!(self.out, "for {pattern} in {source} {{");
            return;
        }
        // windows that overlap are no chunks of what they look into
        let _ = match turn.is_none() && pattern == "_" {
            true => writeln!(self.out, "for at in 0..{count}usize {{"),
            false => writeln!(self.out, "for (at, {pattern}) in (0..{count}usize).zip({source}) {{"),
        };
        for walk in apart {
            assert!(!walk.hides_place, "emit: windows that lie side by side hide where they lie");
            let _ = writeln!(
                self.out,
                "let Some({}) = {} else {{ continue; }};",
                walk.window.name,
                window_at(walk, &if walk.reverse { format!("{} - at", count - 1) } else { "at".to_owned() })
            );
        }
    }

    fn only_vectors(&mut self) {
        self.used.insert("turn_by_turn");
        self.out.push_str("turn_by_turn();\n");
    }

    /// LLVM may take these vectors apart in every turn, and put them together again, where much is computed with them later (an RNN of 48 units on AVX2: 4 times
    /// as long).
    fn after_sums(&mut self, chain: &str) {
        let _ = writeln!(self.out, "{chain} = core::hint::black_box({chain});");
    }

    /// LLVM would keep the vectors that are loaded instead, and load their weights across lines of the cache in every turn of a loop of sums (an LSTM of 40 units:
    /// 1.25 times as long); or take each element out of a vector, by two shuffles for each of its uses.
    fn read_otherwise(&mut self, of: &Block) {
        let _ = writeln!(self.out, "core::hint::black_box(&mut *{});", of.name);
    }

    /// LLVM would drop the lanes that are stored again, and take the vectors of the sums apart in every turn of their loop (a convolution to 2 channels: twice
    /// as many instructions).
    fn stored_again(&mut self, to: &Block) {
        self.read_otherwise(to);
    }

    /// LLVM puts off what was computed until the vectors that follow are too, and spills registers meanwhile (a GRU of 24 units:
    /// 3 % more instructions).
    fn after_flush(&mut self) {
        self.only_vectors();
    }

    fn begin_pick(&mut self, at: Text, count: usize, walking: &Walking<'_>) {
        let window = &walking.window.name;
        let at = format!("{}.min({}) as usize", at.operand(), count - 1);
        let place = match walking.is_apart() {
            true => window_at(walking, &at),
            false => format!("{}.get({at})", windows(count, walking)),
        };
        let _ = writeln!(self.out, "if let Some({window}) = {place} {{");
    }

    fn begin_if(&mut self, a: Text, b: Text) {
        let _ = writeln!(self.out, "if {} < {} {{", a.operand(), b.operand());
    }

    fn begin_else(&mut self) {
        self.out.push_str("} else {\n");
    }

    fn leave_unless(&mut self, a: Text, b: Text) {
        let _ = writeln!(self.out, "if {} >= {} {{ break; }}", a.operand(), b.operand());
    }

    fn end_block(&mut self) {
        self.out.push_str("}\n");
    }

    fn comment(&mut self, text: &str) {
        for line in text.lines() {
            let _ = writeln!(self.out, "// {line}");
        }
    }
}

/// The window of a turn, of windows that overlap or leave something out.
fn window_at(walk: &Walking<'_>, at: &str) -> String {
    let (of, len, mutable) = (&walk.of.name, walk.window.len, if walk.written { "_mut" } else { "" });
    let start = if walk.offset == 0 { String::new() } else { format!("{} + ", walk.offset) };
    let step = if walk.step == 1 { String::new() } else { format!(" * {}", walk.step) };
    let at = if at == "at" || step.is_empty() { at.to_owned() } else { format!("({at})") };
    format!("{of}.get{mutable}({start}{at}{step}..).and_then(|rest| rest.first_chunk{mutable}::<{len}>())")
}

/// The windows of a walk as a slice of arrays.
fn windows(count: usize, walk: &Walking<'_>) -> String {
    let (of, len) = (walk.of, walk.window.len);
    let mutable = if walk.written { "_mut" } else { "" };
    // LLVM would merge overlapping vectors of two windows by shuffles, and spill sums
    let name = if walk.hides_place { format!("core::hint::black_box(&*{})", of.name) } else { of.name.clone() };
    let part = if walk.offset == 0 && count * len == of.len && !walk.hides_count {
        name
    } else {
        let end = walk.offset + count * len;
        // LLVM would unroll the loop, and spread it over what follows (a GRU of 24 units: 1.14 times as long)
        let end = if walk.hides_count { format!("core::hint::black_box({end})") } else { end.to_string() };
        format!("{name}.get{mutable}({}..{end}).unwrap_or_default()", walk.offset)
    };
    format!("{part}.as_chunks{mutable}::<{len}>().0")
}

/// The counter of a loop that copies: nothing else is declared within.
pub(super) fn counter(depth: usize) -> String {
    match ["i", "j", "k", "l"].get(depth) {
        Some(name) => name.to_string(),
        None => format!("i{depth}"),
    }
}

fn first(args: Vec<Text>) -> String {
    args.into_iter().next().map(Text::operand).unwrap_or_default()
}

fn method(name: &str, args: Vec<Text>) -> Text {
    let mut args = args.into_iter();
    let receiver = args.next().map(Text::operand).unwrap_or_default();
    let rest: Vec<_> = args.map(|a| a.text).collect();
    Text::atom(format!("{receiver}.{name}({})", rest.join(", ")))
}
