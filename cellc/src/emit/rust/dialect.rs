//! The Rust dialect of the traversal.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::numbers::{self, Values};
use super::types::block_type;
use super::vectors::{self, Used, lane_function};
use crate::arch::{ByLane, Dot};
use crate::emit::hints;
use crate::emit::traversal::{
    Block, BlockOperands, ColumnGroup, Context, Copying, Dialect, Line, LinePart, LineRow,
    MovingWindow, Operand, PassForm, PrivateMemory, RowSums, Support, Text, TileOperands, decimal,
    function_name,
};
use crate::kernel::{BlockProduct, BlockSums, Element, Kernel, LaneOp, Scalar, Tiles, Type};

/// A kernel as text.
pub(super) struct KernelText {
    pub(super) name: String,
    pub(super) doc: String,
    /// Names and types.
    pub(super) params: Vec<(String, String)>,
    /// The text between the braces.
    pub(super) body: String,
    /// True if the kernel depends on its module: calls functions of the module, or has dot
    /// products.
    pub(super) is_bound: bool,
    /// The needs of the kernel.
    pub(super) used: Used,
    /// True if the kernel has a loop whose end is decided at run time.
    pub(super) has_open_loop: bool,
}

/// A function with a generic vector type, as text.
pub(super) struct FunctionText {
    pub(super) name: String,
    pub(super) text: String,
    /// True if the function computes with vectors, false with numbers.
    pub(super) has_vectors: bool,
}

/// Rust text of one module, with the names of the helper functions to print.
pub(super) struct Rust {
    /// The kernels of the module.
    pub(super) kernels: Vec<KernelText>,
    pub(super) out: String,
    /// The text of the module during a function.
    pub(super) around: String,
    /// Functions with a generic vector type.
    pub(super) functions: Vec<FunctionText>,
    /// The attribute of all functions.
    pub(super) attribute: String,
    /// The needs of the kernel that is being printed, or of functions.
    pub(super) vectors: Used,
    /// The needs of functions during a kernel.
    pub(super) used_around: Used,
    /// The representation of values of one lane.
    pub(super) values: Values,
    /// Dot products of the instruction set.
    pub(super) dots: &'static [Dot],
    /// Lanes of the widest vector register.
    pub(super) widest: usize,
    /// Names of functions called instead of inlined: long functions, or all functions of a module
    /// with many calls.
    pub(super) long: BTreeSet<String>,
}

/// The most calls of activations in a module that inlines them. A module with more calls inlines
/// none, which bounds compile time.
pub(super) const MOST_CLOSURES: usize = 512;

impl Rust {
    /// A loop whose direction is known at run time.
    fn begin_either_way(
        &mut self,
        count: usize,
        counter: Option<&str>,
        backwards: &str,
        walks: &[MovingWindow<'_>],
    ) {
        let i = counter.unwrap_or("turn");
        let last = count - 1;
        let _ = writeln!(
            self.out,
            "for {i} in 0..{count}u32 {{
                let at = if {backwards} == 0 {{ {i} }} else {{ {last} - {i} }} as usize;",
        );
        for walk in walks {
            let at = if walk.reverse { format!("{last} - at") } else { "at".to_string() };
            let window = self.window_at(count, walk, &at);
            let _ = writeln!(self.out, "let {} = {window};", walk.window.name);
        }
    }

    fn doc(&mut self, lines: &[String]) {
        for line in lines {
            let _ = writeln!(self.out, "/// {line}");
        }
    }

    /// The type of a value. Functions are generic over the type of vectors, `V`.
    fn ty(&mut self, ty: Type, context: Context) -> String {
        match (ty.scalar, context) {
            (Scalar::F32, _) if self.has_numbers() => "f32".to_owned(),
            (Scalar::U32, _) if self.has_numbers() => "u32".to_owned(),
            // a function keeps the bits of floats in a value of type `V`
            (_, Context::Function) => "V".to_owned(),
            (Scalar::U32, Context::Kernel) if ty.lanes == 1 => "u32".to_owned(),
            (scalar, Context::Kernel) => {
                self.vectors.lanes(ty.lanes);
                let letter = if scalar == Scalar::F32 { 'F' } else { 'U' };
                format!("{letter}32x{}", ty.lanes)
            }
        }
    }

    /// True if values are numbers of Rust.
    fn has_numbers(&self) -> bool {
        self.values != Values::Vectors
    }

    /// A method of the first operand.
    fn method(&mut self, name: &'static str, args: Vec<Text>) -> Text {
        self.vectors.operation(name);
        method(name, args)
    }

    /// A value of type `ty`, made by the function `name` of the type.
    fn constructed(&mut self, name: &'static str, ty: &str, arg: &str) -> Text {
        self.vectors.operation(name);
        let name = if name == "all_bits" { "all" } else { name };
        Text::atom(format!("{ty}::{name}({arg})"))
    }

    /// A vector of `lanes` numbers, loaded from element `offset` on by the function `name` of its
    /// type.
    fn read(&mut self, name: &'static str, lanes: usize, from: Operand<'_>) -> Text {
        let Operand { block: from, offset } = from;
        let ty = self.ty(Type::f32(lanes), Context::Kernel);
        if let Some((_, group)) =
            from.group.as_ref().filter(|(_, group)| group.width == lanes && name != "splat")
        {
            self.vectors.weights(from.element);
            self.vectors.columns("load");
            return Text::atom(format!("{}.load::<{offset}, _, _>({})", group.name, from.name));
        }
        self.vectors.operation(name);
        Text::atom(format!("{ty}::{name}::<{offset}, {}>({})", from.len, from.name))
    }

    /// The window of an iteration with a run-time number.
    fn window_at(&mut self, count: usize, walk: &MovingWindow<'_>, at: &str) -> String {
        let MovingWindow { block, offset, stride, window, .. } = walk;
        let name = self.shared(if walk.written { "part_from_mut" } else { "part_from" });
        let start = if *offset == 0 { String::new() } else { format!("{offset} + ") };
        let at = match *stride {
            1 => at.to_owned(),
            stride if walk.reverse => format!("({at}) * {stride}"),
            stride => format!("{at} * {stride}"),
        };
        let last = offset + (count - 1) * stride;
        format!("{name}::<{last}, {}, _, _>({}, {start}{at})", window.len, block.name)
    }

    /// The windows of a walk: an iterator over arrays.
    fn windows(&mut self, count: usize, walk: &MovingWindow<'_>) -> String {
        let MovingWindow { block, offset, stride, window, .. } = walk;
        let len = window.len;
        let data = if walk.hides_place {
            format!("{}({})", self.shared(hints::MERGED_LOADS.printed), block.name)
        } else {
            block.name.clone()
        };
        let name = match (walk.written, walk.is_apart()) {
            (true, true) => "windows_mut",
            (true, false) => "chunks_mut",
            (false, true) => "windows",
            (false, false) if walk.count.is_some() => hints::UNROLLED.printed,
            (false, false) => "chunks",
        };
        let name = self.shared(name);
        match walk.is_apart() {
            true => format!("{name}::<{offset}, {stride}, {len}, {count}, _, _>({data})"),
            false => {
                let hidden = walk.count.map_or(String::new(), |count| format!(", {count}"));
                format!("{name}::<{offset}, {len}, {count}, _, _>({data}{hidden})")
            }
        }
    }

    /// The part of `len` elements of a block from element `at` on: the block itself if the part is
    /// the whole block.
    fn part(&mut self, block: &Block, at: usize, len: usize, function: &'static str) -> String {
        if (at, len) == (0, block.len) {
            return block.name.clone();
        }
        format!("{}::<{at}, {len}, _, _>({})", self.shared(function), block.name)
    }

    /// Records a function of the file, shared by all modules.
    fn shared(&mut self, name: &'static str) -> &'static str {
        self.vectors.shared(name);
        name
    }
}

impl Rust {
    /// An element of an array, as a plain number. rustc rejects an index beyond the end of the
    /// array.
    fn element(&mut self, from: &Block, offset: usize, lanes: usize) -> Text {
        match (from.element, lanes) {
            (Element::F32, 1) => Text::atom(format!("{}[{offset}]", from.name)),
            _ => self.beyond_numbers(),
        }
    }

    /// Records an operation without a form for plain numbers: the module is spelled again, with
    /// vectors.
    fn beyond_numbers(&mut self) -> Text {
        self.values = Values::BeyondNumbers;
        Text::atom("0.0")
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
    /// An operation on the bits of one lane, which are a plain `u32`.
    fn of_numbers(&mut self, operation: LaneOp, args: Vec<Text>) -> Text {
        use LaneOp as O;
        match operation {
            O::DotPairs
            | O::DotQuads
            | O::DotUnsignedQuads
            | O::WidenAndMultiplyEven
            | O::WidenAndMultiplyOdd => {
                let name = lane_function(function_name(operation));
                self.vectors.by_path(name);
                Text::atom(format!("super::vectors::{name}({})", join(args)))
            }
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

impl Rust {
    /// An operation on the bits of floats, in a function.
    fn of_bits(&mut self, operation: LaneOp, mut args: Vec<Text>) -> Text {
        use LaneOp as O;
        let name = match operation {
            O::ToBits | O::FromBits => return args.remove(0),
            O::And => "bits_and",
            O::Or => "bits_or",
            O::Xor => "bits_xor",
            O::ShiftLeft(23) => return self.method("bits_to_exponent", args),
            O::ShiftLeft(_) => "bits_shift_left",
            O::ShiftRight(_) => "bits_shift_right",
            O::WrappingAdd => "bits_wrapping_add",
            O::WrappingSub => "bits_wrapping_sub",
            other => unreachable!("emit: {other:?} gives no bits"),
        };
        if let O::ShiftLeft(by) | O::ShiftRight(by) = operation {
            args.push(Text::number(by.to_string()));
        }
        self.method(name, args)
    }
}

impl Dialect for Rust {
    fn begin_kernel(&mut self, kernel: &Kernel, name: &str, params: &[(&Block, bool)]) {
        self.around = std::mem::take(&mut self.out);
        self.doc(&kernel.doc);
        let doc = std::mem::take(&mut self.out);
        self.used_around = std::mem::take(&mut self.vectors);
        let param = |(block, written): &(&Block, bool)| {
            let mutable = if *written { "mut " } else { "" };
            (block.name.clone(), format!("&{mutable}{}", block_type(block)))
        };
        let params = params.iter().map(param).collect();
        self.kernels.push(KernelText {
            name: name.to_owned(),
            doc,
            params,
            body: String::new(),
            is_bound: false,
            used: Used::default(),
            has_open_loop: false,
        });
    }

    fn private_memory(&self) -> PrivateMemory {
        PrivateMemory::Zero
    }

    fn scratch(&mut self, block: &Block, vectors: bool) {
        let Block { name, len, .. } = block;
        if !vectors {
            let _ = writeln!(self.out, "let {name} = &mut [0.0f32; {len}];");
            return;
        }
        let _ = writeln!(self.out, "let Aligned({name}) = &mut Aligned([0.0f32; {len}]);");
        self.shared("Aligned");
    }

    fn end_kernel(&mut self) {
        let body = std::mem::replace(&mut self.out, std::mem::take(&mut self.around));
        let body = without_names_used_once(&body);
        let used = std::mem::replace(&mut self.vectors, std::mem::take(&mut self.used_around));
        let kernel = self.kernels.last_mut().expect("emit: a kernel has begun");
        kernel.is_bound = !used.own_functions().is_empty()
            || used.has_dots()
            || self.long.iter().any(|name| used.calls(name));
        (kernel.body, kernel.used) = (body, used);
    }

    fn wanted(&self, functions: &[String]) -> Vec<(usize, usize)> {
        (0..functions.len()).map(|at| (at, 1)).collect()
    }

    fn begin_function(&mut self, doc: &[String], name: &str, _lanes: usize, params: &[String]) {
        self.around = std::mem::take(&mut self.out);
        self.doc(doc);
        if self.has_numbers() {
            let params: Vec<_> = params.iter().map(|p| format!("{p}: f32")).collect();
            let _ = writeln!(self.out, "fn {name}({}) -> f32 {{", params.join(", "));
            return;
        }
        let params: Vec<_> = params.iter().map(|p| format!("{p}: V")).collect();
        let attribute = match self.long.contains(name) {
            true => format!("#[inline] {}", self.attribute),
            false => "#[inline(always)]".to_owned(),
        };
        let _ = writeln!(
            self.out,
            "{attribute} fn {name}<V: Vector<L>, const L: usize>({}) -> V {{",
            params.join(", ")
        );
    }

    fn end_function(&mut self, name: &str, _lanes: usize, result: Text) {
        let _ = writeln!(self.out, "{} }}", result.text);
        let text = std::mem::replace(&mut self.out, std::mem::take(&mut self.around));
        match self.long.contains(name) && !self.has_numbers() {
            // a long function stays in its module and has the module's features
            true => self.out.push_str(&text),
            false => {
                let (name, has_vectors) = (name.to_owned(), !self.has_numbers());
                self.functions.push(FunctionText { name, text, has_vectors });
            }
        }
    }

    fn load(&mut self, from: &Block, offset: usize, lanes: usize) -> Text {
        if self.has_numbers() {
            return self.element(from, offset, lanes);
        }
        let name = match from.element {
            Element::F16 => "halves",
            Element::I8 => "bytes",
            Element::I8Pair => "pairs_of_bytes",
            _ => "load",
        };
        self.read(name, lanes, Operand { block: from, offset })
    }

    fn splat(&mut self, from: &Block, offset: usize, lanes: usize) -> Text {
        if self.has_numbers() {
            return self.element(from, offset, lanes);
        }
        self.read("splat", lanes, Operand { block: from, offset })
    }

    fn constant(&mut self, bits: u32, ty: Type, context: Context) -> Text {
        let value = f32::from_bits(bits);
        let text = match ty.scalar {
            Scalar::U32 if context == Context::Function && !self.has_numbers() => {
                return self.constructed("all", "V", &format!("f32::from_bits({bits:#x})"));
            }
            // in decimal: a count rather than a mask
            Scalar::U32 if context == Context::Kernel && bits < 1 << 16 => format!("{bits}"),
            Scalar::U32 => format!("{bits:#x}"),
            Scalar::F32 if value.is_finite() => decimal(value),
            Scalar::F32 => format!("f32::from_bits({bits:#x})"),
        };
        if is_number(ty, context) {
            return Text::number(format!("{text}u32"));
        }
        if self.has_numbers() {
            return Text::number(text);
        }
        let name = if ty.scalar == Scalar::F32 { "all" } else { "all_bits" };
        let ty = self.ty(ty, context);
        self.constructed(name, &ty, &text)
    }

    fn operation(
        &mut self,
        operation: LaneOp,
        ty: Type,
        args: Vec<Text>,
        context: Context,
    ) -> Text {
        use LaneOp as O;
        if self.has_numbers() {
            return numbers::operation(operation, args, &mut self.vectors)
                .unwrap_or_else(|| self.beyond_numbers());
        }
        if is_number(ty, context) && operation != O::ToBits {
            return self.of_numbers(operation, args);
        }
        let gives_bits = ty.scalar == Scalar::U32 || operation == O::FromBits;
        if context == Context::Function && gives_bits {
            return self.of_bits(operation, args);
        }
        if let Some(own) = ByLane::find(self.dots, operation) {
            self.vectors.own_function(own.rust);
            let lane = match operation {
                O::DotPairsByLane(lane) => format!("{}, {}", 2 * lane, 2 * lane + 1),
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
                self.constructed(name, &ty, &join(args))
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
        self.vectors.activation(function);
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
        if self.has_numbers() {
            let number = match to.element {
                Element::I32 => format!("{} as i32", value.operand()),
                Element::I64 => format!("{} as i64", value.operand()),
                Element::Bool => format!("{} != 0.0", value.operand()),
                _ => value.text,
            };
            let _ = writeln!(self.out, "{}[{offset}] = {number};", to.name);
            return;
        }
        let helper = match to.element {
            Element::I32 => "store_i32",
            Element::I64 => "store_i64",
            Element::Bool => "store_bool",
            _ => {
                self.vectors.lanes(lanes);
                if let Some((_, group)) = &to.group {
                    self.vectors.operation("to_lanes");
                    self.vectors.columns("store");
                    let _ = writeln!(
                        self.out,
                        "{}.store::<{offset}, _>({}, {});",
                        group.name, value.text, to.name
                    );
                    return;
                }
                self.vectors.operation("store");
                let _ = writeln!(
                    self.out,
                    "{}.store::<{offset}, {}>({});",
                    value.text, to.len, to.name
                );
                return;
            }
        };
        self.vectors.own_function(helper);
        self.shared("part_of_mut");
        let _ = writeln!(self.out, "{helper}::<{offset}, _>({}, {});", to.name, value.text);
    }

    fn length(&mut self, from: &Block, offset: usize, least: i32, most: usize) -> Text {
        let helper = match (from.element, least) {
            (Element::I32, 0) => "length_i32",
            (Element::I64, 0) => "length_i64",
            (Element::U32, _) => "length_u32",
            (Element::Bool, _) => "length_bool",
            (Element::I32, _) => "above_i32",
            (Element::I64, _) => "above_i64",
            (Element::F32 | Element::F16 | Element::I8 | Element::I8Pair, _)
            | (Element::U8 | Element::U16, _) => {
                unreachable!("emit: lengths are integers of 32 bits and more")
            }
        };
        self.shared(helper);
        let least = if helper.starts_with("above") { format!("{least}, ") } else { String::new() };
        Text::atom(format!("{helper}::<{offset}, _>({}, {least}{most})", from.name))
    }

    fn begin_iterations(&mut self, depth: usize, count: usize) -> String {
        let i = counter(depth);
        let _ = writeln!(self.out, "for {i} in 0..{count}usize {{");
        i
    }

    fn copy(&mut self, copying: Copying<'_>) {
        let Copying { from, read, to, write, run, repeated, add } = copying;
        if let (Some(at), Some(start), false, false) =
            (write.constant(), read.constant(), repeated, add)
        {
            let to = self.part(to, at, run, "part_of_mut");
            let from = self.part(from, start, run, "part_of");
            let _ = writeln!(self.out, "*{to} = *{from};");
            return;
        }
        let helper = match repeated {
            _ if add => "add_elements",
            false => "copy",
            true => "copy_one",
        };
        self.shared(helper);
        let lasts = format!("{run}, {}, {}, _, _", write.last(), read.last());
        let _ =
            writeln!(self.out, "{helper}::<{lasts}>({}, {write}, {}, {read});", to.name, from.name);
    }

    fn low_bytes(&mut self, to: Operand<'_>, from: Operand<'_>, words: usize) {
        let function = self.shared("low_bytes");
        let to = self.part(to.block, to.offset, words, "part_of_mut");
        let from = self.part(from.block, from.offset, 4 * words, "part_of");
        let _ = writeln!(self.out, "{function}({to}, {from});");
    }

    fn tiles(&mut self, operands: &TileOperands<'_>, tiles: &Tiles) {
        self.vectors.own_function("tiles");
        let TileOperands { elements, weights, sums } = operands;
        let Tiles { rows, words, columns, panels, stride, pitch, .. } = tiles;
        let _ = writeln!(
            self.out,
            "tiles({}, {}, {}, [{}, {}, {}], [{rows}, {words}, {columns}, {panels}, {stride}, \
             {pitch}]);",
            elements.block.name,
            weights.block.name,
            sums.block.name,
            elements.offset,
            weights.offset,
            sums.offset
        );
    }

    fn blocks(&mut self, operands: &BlockOperands<'_>, sums: &BlockSums) {
        let BlockOperands { elements, weights, counts, inputs, sums: to } = operands;
        let function = match sums.product {
            BlockProduct::Quads => "blocks_quads",
            BlockProduct::WidenedQuads => "blocks_widened_quads",
            BlockProduct::Pairs => "blocks_pairs",
            BlockProduct::Floats | BlockProduct::FloatQuads => {
                unreachable!("plan: Rust has no blocks of floats")
            }
        };
        for name in ["groups", "chunks", "chunks_mut", "part_of"] {
            self.shared(name);
        }
        let function = self.shared(function);
        let (words, rows) = (sums.product.element_words(), sums.rows);
        let (block, present, block_rows) = (sums.block_words(), sums.present, sums.block_rows);
        let groups = sums.words / words;
        let _ = writeln!(
            self.out,
            "{function}(chunks_mut::<{}, {rows}, {block_rows}, _, _>({}), \
             chunks::<{}, {block}, {present}, _, _>({}), \
             groups::<{}, {words}, {groups}, _, _>({}), \
             (part_of::<{}, {block_rows}, _, _>({}), \
             part_of::<{}, {present}, _, _>({})));",
            to.offset,
            to.block.name,
            weights.offset,
            weights.block.name,
            elements.offset,
            elements.block.name,
            counts.offset,
            counts.block.name,
            inputs.offset,
            inputs.block.name
        );
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
        let last_read = read.last() + (count - 1) * stride;
        let weight = format!("&strided::<{last_read}, _>({}, {read}, {stride})", from.name);
        let (row_of, most) = match row {
            LineRow::Bytes => ("row_of_bytes", String::new()),
            LineRow::Pairs(most) => ("row_of_pairs", format!(", {most}")),
        };
        // `group`: the offset of the last of `words` packed words, in groups of neighbours; `four`:
        // the last element if halves of four words are interleaved
        let group =
            |words: usize, abreast: usize| (words - 1) / abreast * step + (words - 1) % abreast;
        let last = write.last();
        let four = last / 4 * 4 + group(count.div_ceil(2), 1);
        let (put, lasts) = match part {
            LinePart::Words(_) if interleaves_halves => {
                ("pack_words_apart", format!("{four}, _, _"))
            }
            LinePart::Pairs if interleaves_halves => ("pack_pairs_apart", format!("{four}, _, _")),
            LinePart::Words(parts) => {
                let last = last + group(count.div_ceil(parts), abreast);
                ("pack_words", format!("{parts}, {abreast}, {last}, _, _"))
            }
            LinePart::Pairs => {
                let last = last + group(count.div_ceil(2), abreast);
                ("pack_pairs", format!("{abreast}, {last}, _, _"))
            }
            LinePart::Scale => ("pack_scale", format!("{last}, _")),
            LinePart::Start => ("pack_start", format!("{last}, _, _")),
        };
        self.shared("part_from");
        self.shared("part_from_mut");
        for name in ["strided", "Row", row_of, put] {
            self.vectors.own_function(name);
        }
        let (step, uses) = match part {
            LinePart::Words(_) | LinePart::Pairs => (format!(", {step}"), Some("row_word")),
            LinePart::Start => (String::new(), Some("row_start")),
            LinePart::Scale => (String::new(), None),
        };
        uses.into_iter().for_each(|name| self.vectors.own_function(name));
        let row = format!("{row_of}({count}, {weight}{most})");
        let rest = if uses.is_some() { format!(", {count}, {weight}") } else { String::new() };
        let _ = writeln!(self.out, "{put}::<{lasts}>({}, {write}{step}, {row}{rest});", to.name);
    }

    fn begin_for(
        &mut self,
        count: usize,
        counter: Option<&str>,
        backwards: Option<&str>,
        walks: &[MovingWindow<'_>],
    ) {
        if let Some(backwards) = backwards {
            return self.begin_either_way(count, counter, backwards, walks);
        }
        // no iterator yields overlapping written windows: each iteration borrows its own window
        let is_lent = |walk: &&MovingWindow<'_>| {
            walk.written && walk.is_apart() && walk.stride < walk.window.len
        };
        let lent: Vec<_> = walks.iter().filter(is_lent).collect();
        let mut sources: Vec<(&str, String)> = Vec::new();
        sources.extend(counter.map(|counter| (counter, format!("0..{count}u32"))));
        sources.extend((!lent.is_empty()).then(|| ("at", format!("0..{count}usize"))));
        for walk in walks.iter().filter(|walk| !is_lent(walk)) {
            let reverse = if walk.reverse { ".rev()" } else { "" };
            sources.push((&walk.window.name, self.windows(count, walk) + reverse));
        }
        if sources.is_empty() {
            sources.push(("_", format!("0..{count}")));
        }
        let zipped = sources.into_iter().map(|(name, source)| (name.to_owned(), source)).reduce(
            |all, (name, source)| {
                let first = if all.1.starts_with("0..") { format!("({})", all.1) } else { all.1 };
                (format!("({}, {name})", all.0), format!("{first}.zip({source})"))
            },
        );
        let (pattern, source) = zipped.expect("emit: a loop has a source");
        let _ = writeln!(self.out, "for {pattern} in {source} {{");
        for walk in lent {
            let at = if walk.reverse { format!("{} - at", count - 1) } else { "at".to_owned() };
            let elements = self.window_at(count, walk, &at);
            let _ = writeln!(self.out, "let {} = {elements};", walk.window.name);
        }
    }

    fn passes(&self) -> PassForm {
        PassForm::Named
    }

    fn begin_passes(&mut self, group: &ColumnGroup) {
        let ColumnGroup { name, width, columns } = group;
        self.vectors.columns("all");
        let ty = self.ty(Type::f32(*width), Context::Kernel);
        let _ = writeln!(self.out, "for {name} in Columns::<{ty}, {width}, {columns}>::all() {{");
    }

    fn row_sums(&mut self, sums: &RowSums<'_>) -> Support {
        let RowSums {
            names,
            lanes,
            weights: Operand { block: weights, offset: first },
            row_stride,
            sum_stride,
            elements,
            rows,
            at_once,
            next,
        } = sums;
        // plain numbers have no function for sums of rows: a loop adds the rows
        if self.ty(Type::f32(*lanes), Context::Kernel) == "f32" {
            return Support::Missing;
        }
        let columns = match &weights.group {
            Some((_, group)) if group.width == *lanes => group.name.clone(),
            Some(_) => return Support::Missing,
            None => {
                self.vectors.columns("first");
                format!(
                    "Columns::<{}, {lanes}, {lanes}>::first()",
                    self.ty(Type::f32(*lanes), Context::Kernel)
                )
            }
        };
        let Operand { block: elements, offset: from } = elements;
        let elements = match (*from, elements.len == *rows) {
            (0, true) => elements.name.clone(),
            _ => format!("{}::<{from}, {rows}, _, _>({})", self.shared("part_of"), elements.name),
        };
        self.vectors.sums(names.len(), *at_once);
        self.vectors.operation("mul_add");
        self.vectors.operation("all");
        let (name, sums) = (&weights.name, names.join(", "));
        let rows =
            format!("Rows::<{}, {first}, {row_stride}, {sum_stride}, {at_once}>", names.len());
        let value = format!("{rows}::sums({columns}, {name}, {elements})");
        let value = match hints::is_kept_in_memory(names.len(), *next) {
            true => format!("{}({value})", self.shared(hints::KEPT_SUMS.printed)),
            false => value,
        };
        let _ = writeln!(self.out, "let [{sums}] = {value};");
        self.vectors.weights(weights.element);
        Support::Written
    }

    fn unrolled_by(&mut self, _count: usize, _factor: usize) {}

    /// One variable serves all loops of a kernel with this count.
    fn hidden_count(&mut self, name: &str, count: usize) {
        self.vectors.hidden_count();
        let _ = writeln!(self.out, "let {name} = Hidden::<{count}>::new();");
    }

    fn only_vectors(&mut self) {
        let name = self.shared(hints::VECTORISED_TWICE.printed);
        let _ = writeln!(self.out, "{name}();");
    }

    /// Hides the accumulators from LLVM after a loop: [`hints::TAKEN_APART`].
    fn after_sums(&mut self, chain: &str) {
        let opaque = self.shared(hints::TAKEN_APART.printed);
        let _ = writeln!(self.out, "{chain} = {opaque}({chain});");
    }

    /// Prevents LLVM from reusing stored vectors: [`hints::REUSED`].
    fn read_otherwise(&mut self, block: &Block) {
        let written = self.shared(hints::REUSED.printed);
        let _ = writeln!(self.out, "{written}({});", block.name);
    }

    /// Prevents LLVM from keeping broadcast elements: [`hints::BROADCASTS_SHARED`].
    fn read_again(&mut self, elements: &[(&Block, bool)]) {
        for (block, is_private) in elements {
            let name = &block.name;
            if *is_private {
                let written = self.shared(hints::BROADCASTS_SHARED.printed);
                let _ = writeln!(self.out, "{written}({name});");
            } else {
                let elsewhere = self.shared(hints::MERGED_LOADS.printed);
                let _ = writeln!(self.out, "let {name} = {elsewhere}({name});");
            }
        }
    }

    /// Prevents LLVM from taking parts of stored vectors: [`hints::LOADED_IN_PARTS`].
    fn loaded_in_parts(&mut self, block: &Block) {
        let written = self.shared(hints::LOADED_IN_PARTS.printed);
        let _ = writeln!(self.out, "{written}({});", block.name);
    }

    /// Prevents LLVM from dropping lanes with a second store: [`hints::STORED_TWICE`].
    fn stored_again(&mut self, to: &Block) {
        let written = self.shared(hints::STORED_TWICE.printed);
        let _ = writeln!(self.out, "{written}({});", to.name);
    }

    /// Prevents LLVM from postponing a computed vector: [`hints::POSTPONED`].
    fn after_flush(&mut self) {
        let name = self.shared(hints::POSTPONED.printed);
        let _ = writeln!(self.out, "{name}();");
    }

    fn registers(&self, lanes: usize) -> Vec<(usize, usize)> {
        match vectors::parts_of(lanes, self.widest) {
            None => vec![(0, lanes)],
            Some((first, second)) => {
                let behind =
                    self.registers(second).into_iter().map(|(at, lanes)| (first + at, lanes));
                self.registers(first).into_iter().chain(behind).collect()
            }
        }
    }

    fn begin_pick(
        &mut self,
        at: Text,
        count: usize,
        most: Option<usize>,
        walking: &MovingWindow<'_>,
    ) {
        let window = &walking.window.name;
        let at = match most {
            Some(most) => format!("{}.min({most}) as usize", at.operand()),
            None => format!("{} as usize", at.operand()),
        };
        let elements = self.window_at(count, walking, &at);
        let _ = writeln!(self.out, "{{ let {window} = {elements};");
    }

    fn begin_if(&mut self, a: Text, b: Text) {
        let _ = writeln!(self.out, "if {} < {} {{", a.operand(), b.operand());
    }

    fn begin_else(&mut self) {
        self.out.push_str("} else {\n");
    }

    fn leave_unless(&mut self, a: Text, b: Text) {
        let _ = writeln!(self.out, "if {} >= {} {{ break; }}", a.operand(), b.operand());
        let kernel = self.kernels.last_mut().expect("emit: a kernel has begun");
        kernel.has_open_loop = true;
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

/// A body in which vectors have no name if only the next statement reads them.
fn without_names_used_once(body: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = |text: &'_ str, name: &str| -> Vec<usize> {
        let is_word = |at: &usize| {
            !text[..*at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part)
        };
        text.match_indices(name).map(|(at, _)| at).filter(is_word).collect()
    };
    let lines: Vec<&str> = body.lines().collect();
    let mut out = String::with_capacity(body.len());
    let mut at = 0;
    while at < lines.len() {
        let declared = lines[at].strip_prefix("let ").and_then(|rest| {
            let (name, value) = rest.split_once(": F32x")?;
            let (_, value) = value.split_once(" = ")?;
            let value = value.strip_suffix(';')?;
            (name.chars().all(is_part) && value.ends_with(')')).then_some((name, value))
        });
        let next = lines.get(at + 1).copied().unwrap_or_default();
        match declared {
            Some((name, value))
                if !next.ends_with('{')
                    && words(next, name).len() == 1
                    && words(body, name).len() == 2 =>
            {
                let start = words(next, name)[0];
                let (before, after) = (&next[..start], &next[start + name.len()..]);
                let _ = writeln!(out, "{before}{value}{after}");
                at += 2;
            }
            _ => {
                let _ = writeln!(out, "{}", lines[at]);
                at += 1;
            }
        }
    }
    out
}

/// The counter of a copy loop. Copy loops declare no other names.
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
