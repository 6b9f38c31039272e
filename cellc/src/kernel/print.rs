//! A program as text, for `--emit kernel` and for snapshots.
//!
//! `w[3; 16]` is 16 consecutive elements of `w` from element 3, `splat x[3]` one element in every
//! lane, `fma(a, b, c)` a multiply-add with one rounding.

use std::collections::HashMap;
use std::fmt::{self, Display, Formatter, Write as _};

use super::{
    Base, BlockProduct, BlockSums, Body, BodyRef, Buffer, BufferId, Copied, Encoding, Expr, Kernel,
    LaneOp, Local, Place, Program, Role, Scalar, ScalarFunction, Stmt, Tiles, Var, Walk,
};

impl Display for Encoding {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "",
            Self::F16 => ", lines as f16",
            Self::Bf16Pair => ", lines as pairs of bf16",
            Self::Int8 => ", lines as i8",
            Self::Int8Scale => ", the scales of lines as i8",
            Self::Int8Pair => ", lines as pairs of i8",
            Self::Int8Wide => ", lines as pairs of i8 in 16 bits",
            Self::Int8Quad => ", lines as quads of i8",
            Self::Int8Neighbours => ", lines as quads of neighbouring i8",
            Self::Int16Neighbours => ", lines as pairs of neighbouring i16",
            Self::Int8Start => ", starts of sums of lines",
            Self::Int16Pair => ", lines as pairs of i16",
            Self::Int16Scale => ", the scales of lines as pairs of i16",
            Self::LowBytes => ", low bytes of four neighbours",
        })
    }
}

/// The shared part of a program. Each body prints separately.
impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let empty = Body::default();
        let body = BodyRef { program: self, body: &empty };
        let buffers = buffer_names(body);
        for (buffer, name) in self.buffers.iter().zip(&buffers) {
            print_buffer(buffer, name, &buffers, f)?;
        }
        for (id, values) in &self.tables {
            writeln!(f, "table {} = {values:?}", name(&buffers, "buffer", id.0))?;
        }
        if !self.packing.body.is_empty() {
            writeln!(f)?;
            print_kernel(body, &buffers, &self.packing, f)?;
        }
        Ok(())
    }
}

impl Display for BodyRef<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let buffers = buffer_names(*self);
        for (buffer, own) in self.scratch.iter().zip(&buffers[self.program.buffers.len()..]) {
            print_buffer(buffer, own, &buffers, f)?;
        }
        if !self.block.is_empty() {
            let part = |(id, at): &(BufferId, usize)| {
                format!("{} at {at}", name(&buffers, "buffer", id.0))
            };
            let parts: Vec<String> = self.block.iter().map(part).collect();
            writeln!(f, "block of {} f32: {}", self.block_len, parts.join(", "))?;
        }
        if let Some(step_block) = &self.step_block {
            let (steps, kernels) = (self.program.steps_at_once, step_block.kernels);
            writeln!(f, "the last {kernels} kernels: {steps} steps at once")?;
        }
        for function in &self.functions {
            writeln!(f)?;
            print_function(*self, &buffers, function, f)?;
        }
        for kernel in &self.kernels {
            writeln!(f)?;
            print_kernel(*self, &buffers, kernel, f)?;
        }
        Ok(())
    }
}

/// The names of all buffers. Shared buffers have one name in all bodies.
fn buffer_names(body: BodyRef<'_>) -> Vec<String> {
    let mut names = unique(body.program.buffers.iter().map(|b| &*b.name));
    names.extend(unique(body.buffers().map(|b| &*b.name)).drain(names.len()..));
    names
}

fn print_buffer(
    buffer: &Buffer,
    own: &str,
    buffers: &[String],
    f: &mut Formatter<'_>,
) -> fmt::Result {
    let role = match buffer.role {
        Role::Parameter(i) => format!("parameter {i}"),
        Role::Result(i) => format!("result {i}"),
        Role::Weights => "weights".to_owned(),
        Role::Constant(i) => format!("constant {i}"),
        Role::Variable(i) => format!("variable {i}"),
        Role::Table => "table".to_owned(),
        Role::Backwards => "order".to_string(),
        Role::Phase(steps) => format!("steps modulo {steps}"),
        Role::Scratch => "scratch".to_owned(),
        Role::Part { whole, at } => {
            format!("part of {} from {at}", name(buffers, "buffer", whole.0))
        }
    };
    writeln!(f, "buffer {own}: {role}, {} {}", buffer.len, buffer.element)
}

/// `i, j, k, ..` for the loops of a copy.
fn letters() -> impl Iterator<Item = String> {
    ('i'..='z').map(String::from).chain((0..).map(|n| format!("i{n}")))
}

/// A name on one line, cut after 60 characters, as names may come from the input.
fn word(name: &str) -> String {
    name.chars().take(60).flat_map(char::escape_default).collect()
}

fn line(text: &str) -> String {
    text.chars()
        .flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] })
        .collect()
}

/// Unique names for printing. Duplicates get an index.
fn unique<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let names: Vec<String> = names.map(word).collect();
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for name in &names {
        *uses.entry(name).or_default() += 1;
    }
    let unique = |(i, name): (usize, &String)| {
        if uses[&**name] > 1 { format!("{name}#{i}") } else { name.clone() }
    };
    names.iter().enumerate().map(unique).collect()
}

/// The name with an index, or a placeholder for an invalid index.
fn name(names: &[String], what: &str, i: usize) -> String {
    names.get(i).cloned().unwrap_or_else(|| format!("{what}#{i}"))
}

fn print_function(
    body: BodyRef<'_>,
    buffers: &[String],
    function: &ScalarFunction,
    f: &mut Formatter<'_>,
) -> fmt::Result {
    for doc in &function.doc {
        writeln!(f, "// {}", line(doc))?;
    }
    let printer = Printer::new(body, buffers, &function.locals, Vec::new());
    let params: Vec<String> = (0..function.params).map(|i| printer.var(Var(i))).collect();
    write!(f, "function {}({})", word(&function.name), params.join(", "))?;
    let Some(result) = &function.result else { return writeln!(f, ": symbolic") };
    writeln!(f, " {{")?;
    printer.block(&function.body, 1, f)?;
    writeln!(f, "    {}", printer.expr(result))?;
    writeln!(f, "}}")
}

fn print_kernel(
    body: BodyRef<'_>,
    buffers: &[String],
    kernel: &Kernel,
    f: &mut Formatter<'_>,
) -> fmt::Result {
    for doc in &kernel.doc {
        writeln!(f, "// {}", line(doc))?;
    }
    let mut windows = Vec::new();
    collect_windows(&kernel.body, &mut windows);
    let printer = Printer::new(body, buffers, &kernel.locals, windows);
    let mut params = Vec::new();
    for (buffer, written) in &kernel.params {
        params.push(format!(
            "{}{}",
            if *written { "mut " } else { "" },
            name(buffers, "buffer", buffer.0)
        ));
    }
    let concurrent = if kernel.concurrent { "concurrent with the one before: " } else { "" };
    writeln!(f, "{concurrent}kernel {}({}) {{", word(&kernel.name), params.join(", "))?;
    for buffer in &kernel.scratch {
        writeln!(f, "    scratch {}", name(buffers, "buffer", buffer.0))?;
    }
    printer.block(&kernel.body, 1, f)?;
    writeln!(f, "}}")
}

/// The name of every window, by its id.
fn collect_windows<'a>(body: &'a [Stmt], names: &mut Vec<&'a str>) {
    for stmt in body {
        match stmt {
            Stmt::For { walks, body, .. } => {
                for walk in walks {
                    if names.len() <= walk.window.0 {
                        names.resize(walk.window.0 + 1, "");
                    }
                    names[walk.window.0] = &walk.name;
                }
                collect_windows(body, names);
            }
            Stmt::Pick { walk, body, .. } => {
                if names.len() <= walk.window.0 {
                    names.resize(walk.window.0 + 1, "");
                }
                names[walk.window.0] = &walk.name;
                collect_windows(body, names);
            }
            Stmt::If { then, otherwise, .. } => {
                collect_windows(then, names);
                collect_windows(otherwise, names);
            }
            Stmt::Let { .. } | Stmt::Set { .. } | Stmt::Store { .. } => {}
            Stmt::LeaveUnless { .. }
            | Stmt::Copy(_)
            | Stmt::Tiles(_)
            | Stmt::Blocks(_)
            | Stmt::Comment(_) => {}
        }
    }
}

struct Printer<'a> {
    body: BodyRef<'a>,
    locals: &'a [Local],
    buffers: &'a [String],
    vars: Vec<String>,
    windows: Vec<String>,
}

impl<'a> Printer<'a> {
    fn new(
        body: BodyRef<'a>,
        buffers: &'a [String],
        locals: &'a [Local],
        windows: Vec<&str>,
    ) -> Self {
        let vars = unique(locals.iter().map(|l| &*l.name));
        Self { body, locals, buffers, vars, windows: unique(windows.into_iter()) }
    }

    fn block(&self, body: &[Stmt], depth: usize, f: &mut Formatter<'_>) -> fmt::Result {
        for stmt in body {
            write!(f, "{:1$}", "", 4 * depth)?;
            match stmt {
                Stmt::Let { var, mutable, value } => {
                    let ty =
                        self.locals.get(var.0).map_or(String::new(), |l| format!(": {}", l.ty));
                    let keyword = if *mutable { "let mut" } else { "let" };
                    writeln!(f, "{keyword} {}{ty} = {}", self.var(*var), self.expr(value))?;
                }
                Stmt::Set { var, value } => {
                    writeln!(f, "{} = {}", self.var(*var), self.expr(value))?
                }
                Stmt::Store { to, value } => {
                    writeln!(f, "{} = {}", self.place(*to, ""), self.expr(value))?
                }
                Stmt::For { count, counter, backwards, walks, body } => {
                    write!(f, "for {count} iterations")?;
                    if let Some(counter) = counter {
                        write!(f, " as {}", self.var(*counter))?;
                    }
                    if let Some(backwards) = backwards {
                        write!(f, " backwards if {}", self.var(*backwards))?;
                    }
                    for (i, walk) in walks.iter().enumerate() {
                        write!(f, "{} {}", if i == 0 { " of" } else { "," }, self.walk(walk))?;
                    }
                    writeln!(f, " {{")?;
                    self.block(body, depth + 1, f)?;
                    writeln!(f, "{:1$}}}", "", 4 * depth)?;
                }
                Stmt::Pick { at, count, walk, body } => {
                    writeln!(f, "pick {} of {count}, {} {{", self.expr(at), self.walk(walk))?;
                    self.block(body, depth + 1, f)?;
                    writeln!(f, "{:1$}}}", "", 4 * depth)?;
                }
                Stmt::If { less: (a, b), then, otherwise } => {
                    writeln!(f, "if {} < {} {{", self.expr(a), self.expr(b))?;
                    self.block(then, depth + 1, f)?;
                    if !otherwise.is_empty() {
                        writeln!(f, "{:1$}}} else {{", "", 4 * depth)?;
                        self.block(otherwise, depth + 1, f)?;
                    }
                    writeln!(f, "{:1$}}}", "", 4 * depth)?;
                }
                Stmt::LeaveUnless { less: (a, b) } => {
                    writeln!(f, "leave unless {} < {}", self.expr(a), self.expr(b))?
                }
                Stmt::Copy(copied) => self.copied(copied, f)?,
                Stmt::Tiles(tiles) => self.tiles(tiles, f)?,
                Stmt::Blocks(sums) => self.block_sums(sums, f)?,
                Stmt::Comment(text) => writeln!(f, "// {}", line(text))?,
            }
        }
        Ok(())
    }

    fn var(&self, var: Var) -> String {
        name(&self.vars, "var", var.0)
    }

    fn base(&self, base: Base) -> String {
        match base {
            Base::Buffer(id) => name(self.buffers, "buffer", id.0),
            Base::Window(id) => name(&self.windows, "window", id.0),
        }
    }

    fn walk(&self, walk: &Walk) -> String {
        let (window, start) = (self.base(Base::Window(walk.window)), self.base(walk.start.base));
        let (mutable, reverse) = (
            if walk.written { "mut " } else { "" },
            if walk.reverse { " from the last" } else { "" },
        );
        let stride =
            if walk.stride == walk.len { String::new() } else { format!(" by {}", walk.stride) };
        format!(
            "{mutable}{window} = {start}[{}; {}]..{stride}{reverse}",
            walk.start.offset, walk.len
        )
    }

    fn copied(&self, copied: &Copied, f: &mut Formatter<'_>) -> fmt::Result {
        let Copied { from, to, dims, add, encoding, abreast, interleaves_halves, words, blocks } =
            copied;
        let index = |offset: usize, strides: &mut dyn Iterator<Item = isize>| {
            let mut text = offset.to_string();
            for (stride, letter) in strides.zip(letters()) {
                let sign = if stride < 0 { '-' } else { '+' };
                let _ = write!(text, " {sign} {}{letter}", stride.unsigned_abs());
            }
            text
        };
        let written = index(to.offset, &mut dims.iter().map(|d| d.to_stride.cast_signed()));
        let read = index(from.offset, &mut dims.iter().map(|d| d.from_stride));
        let sign = if *add { "+=" } else { "=" };
        write!(
            f,
            "copy {}[{written}] {sign} {}[{read}]",
            self.base(to.base),
            self.base(from.base)
        )?;
        for (i, (dim, letter)) in dims.iter().zip(letters()).enumerate() {
            write!(f, "{} {letter} < {}", if i == 0 { " for" } else { "," }, dim.extent)?;
        }
        let abreast = if *abreast > 1 { format!(", {abreast} abreast") } else { String::new() };
        let halves = if *interleaves_halves { ", halves apart" } else { "" };
        let words = words.map_or(String::new(), |words| format!(" in {words} words"));
        let blocks = blocks.as_ref().map_or("", |_| ", blocks that are not zero");
        writeln!(f, "{encoding}{words}{abreast}{halves}{blocks}")
    }

    fn tiles(&self, tiles: &Tiles, f: &mut Formatter<'_>) -> fmt::Result {
        let Tiles { rows, words, columns, panels, stride, pitch, abreast, step, .. } = tiles;
        let dot = if tiles.in_word == 4 { "dot_quads" } else { "dot_pairs" };
        let index = |place: Place, strides: &str| {
            format!("{}[{}{strides}]", self.base(place.base), place.offset)
        };
        let to = index(tiles.to, &format!(" + {pitch}i + {columns}j + l"));
        let within = match abreast {
            1 => format!("{step}k + l"),
            _ => format!("{step}(k / {abreast}) + {abreast}l + k % {abreast}"),
        };
        let weights = index(tiles.weights, &format!(" + {stride}j + {within}"));
        let elements = index(tiles.elements, &format!(" + {words}i + k"));
        write!(f, "tiles {to} = sum of {dot}({weights}, {elements})")?;
        writeln!(f, " for i < {rows}, j < {panels}, l < {columns}, k < {words}")
    }

    fn block_sums(&self, sums: &BlockSums, f: &mut Formatter<'_>) -> fmt::Result {
        let [elements, weights, counts, inputs, to] =
            [sums.elements, sums.weights, sums.counts, sums.inputs, sums.to]
                .map(|place| self.place(place, ""));
        let (rows, width) = (sums.rows, sums.product.inputs());
        let factors = match sums.product {
            BlockProduct::Floats | BlockProduct::FloatQuads => "f32",
            BlockProduct::Quads => "quads",
            BlockProduct::WidenedQuads => "widened quads",
            BlockProduct::Pairs => "pairs",
        };
        write!(f, "blocks {to} = sums of {} of {} blocks", sums.present, sums.all())?;
        write!(f, " {rows} x {width} of {factors} {weights}, {elements}")?;
        writeln!(f, " for {} rows of blocks, counts {counts}, inputs {inputs}", sums.block_rows)
    }

    fn place(&self, place: Place, length: &str) -> String {
        format!("{}[{}{length}]", self.base(place.base), place.offset)
    }

    fn expr(&self, expr: &Expr) -> String {
        match expr {
            Expr::Load { from, lanes: 1 } => self.place(*from, ""),
            Expr::Load { from, lanes } => self.place(*from, &format!("; {lanes}")),
            Expr::Splat { from, lanes: 1 } => self.place(*from, ""),
            Expr::Splat { from, .. } => format!("splat {}", self.place(*from, "")),
            Expr::Const { bits, ty } => match ty.scalar {
                Scalar::F32 if !f32::from_bits(*bits).is_nan() => {
                    format!("{:?}", f32::from_bits(*bits))
                }
                _ => format!("{bits:#x}"),
            },
            Expr::Length { from, least: 0, most } => {
                format!("length({}, {most})", self.place(*from, ""))
            }
            Expr::Length { from, least, most } => {
                format!("above({}, {least}, {most})", self.place(*from, ""))
            }
            Expr::Var(var) => self.var(*var),
            Expr::Op(operation, args) => self.operation(*operation, args),
            Expr::Call(function, args) => {
                let name =
                    self.body.functions.get(*function).map_or_else(String::new, |f| word(&f.name));
                format!("{name}({})", self.list(args))
            }
        }
    }

    fn list(&self, args: &[Expr]) -> String {
        args.iter().map(|a| self.expr(a)).collect::<Vec<_>>().join(", ")
    }

    fn operation(&self, operation: LaneOp, args: &[Expr]) -> String {
        // only infix operations need parentheses
        let operand = |i: usize| match args.get(i) {
            Some(e @ Expr::Op(o, _)) if o.sign().is_some() => format!("({})", self.expr(e)),
            Some(e) => self.expr(e),
            None => "?".to_owned(),
        };
        if let Some(sign) = operation.sign() {
            return match operation {
                LaneOp::ShiftLeft(by) | LaneOp::ShiftRight(by) => {
                    format!("{} {sign} {by}", operand(0))
                }
                _ => format!("{} {sign} {}", operand(0), operand(1)),
            };
        }
        match operation {
            LaneOp::SelectLess => {
                format!("select({} < {}, {}, {})", operand(0), operand(1), operand(2), operand(3))
            }
            LaneOp::MulAdd => format!("fma({})", self.list(args)),
            LaneOp::Max => format!("max({})", self.list(args)),
            LaneOp::Min => format!("min({})", self.list(args)),
            LaneOp::MaxMagnitude => format!("max_magnitude({})", self.list(args)),
            LaneOp::Flush => format!("flush({})", self.list(args)),
            LaneOp::ToBits => format!("bits({})", self.list(args)),
            LaneOp::FromSigned => format!("signed({})", self.list(args)),
            LaneOp::DotPairs => format!("dot_pairs({})", self.list(args)),
            LaneOp::DotQuads => format!("dot_quads({})", self.list(args)),
            LaneOp::DotPairsByLane(lane) => {
                format!("dot_pairs_by_lane_{lane}({})", self.list(args))
            }
            LaneOp::DotQuadsByLane(lane) => {
                format!("dot_quads_by_lane_{lane}({})", self.list(args))
            }
            LaneOp::DotUnsignedQuads => format!("dot_unsigned_quads({})", self.list(args)),
            LaneOp::WidenAndMultiplyEven => format!("widen_and_multiply_even({})", self.list(args)),
            LaneOp::WidenAndMultiplyOdd => format!("widen_and_multiply_odd({})", self.list(args)),
            _ => format!("float({})", self.list(args)),
        }
    }
}
