//! The loop-level form of a model: no cells any more, only loops over buffers.
//!
//! Memory is seen through windows of fixed length. A loop walks windows through buffers in step, so that
//! every access is a constant offset into a window of constant length, and the generated code is free of
//! bounds checks by construction. A [`Program`] has its memory once, and a [`Body`] for each instruction set.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};
use std::ops::Deref;

#[cfg(any(test, feature = "builder"))]
mod interpret;
#[cfg(any(test, feature = "builder"))]
mod print;
mod rewrite;
#[cfg(test)]
mod tests;
mod verify;

#[cfg(test)]
pub(crate) use interpret::evaluate;
#[cfg(any(test, feature = "builder"))]
pub use interpret::interpret;
pub use verify::verify;

/// Below this magnitude, 2^-100, [`LaneOp::Flush`] gives 0.
pub const FLUSH_BELOW: f32 = f32::from_bits((127 - 100) << 23);

/// Names a buffer: an index into [`Program::buffers`], and beyond them into [`Body::scratch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferId(pub usize);

/// Names a window inside one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WindowId(pub usize);

/// Names a value inside one kernel or function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Var(pub usize);

/// What a buffer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// The i-th Parameter of the model, read only.
    Parameter(usize),
    /// The i-th Result of the model, written in full.
    Result(usize),
    /// Packed weights, read only: baked in, or packed at run time.
    Weights,
    /// The i-th constant of the model, read only, as it stands in the input.
    Constant(usize),
    /// The i-th variable of the model: read, and written at the end of a step.
    Variable(usize),
    /// Integers known when compiling, those of [`Program::tables`].
    Table,
    /// One u32 that is 0 and 1 in turn, step after step: in which order large weights are walked. No result depends on it.
    Backwards,
    /// Between kernels, or inside one; contents undefined at the start of a step.
    Scratch,
    /// Elements of another buffer from the `at`-th on: what one of two kernels that run at the same time writes of it.
    Part {
        /// A result, a variable or scratch between kernels.
        of: BufferId,
        /// The first element.
        at: usize,
    },
}

/// What a buffer's elements are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Element {
    /// IEEE 754 binary32.
    #[default]
    F32,
    /// Parameters, read by [`Expr::Length`] only, and Results, written one by one.
    I32,
    /// As I32.
    I64,
    /// As I32: 0 or 1.
    Bool,
    /// Tables and [`Role::Backwards`] only, read by [`Expr::Length`] only.
    U32,
    /// IEEE 754 binary16, finite: weights only, which [`Expr::Load`] gives as f32.
    F16,
    /// Two's complement: as F16.
    I8,
    /// Two of 8 bits in two's complement: weights only, which [`Expr::Load`] gives as 16 bits each, in the low and the high half of the bits.
    I8Pair,
}

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self.scalar {
            Scalar::F32 => "f32",
            Scalar::U32 => "u32",
        })?;
        if self.lanes == 1 { Ok(()) } else { write!(f, "x{}", self.lanes) }
    }
}

impl Display for Element {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::Bool => "bool",
            Self::U32 => "u32",
            Self::F16 => "f16",
            Self::I8 => "i8",
            Self::I8Pair => "i8x2",
        })
    }
}

impl Element {
    /// How many bytes one takes.
    pub fn size(self) -> usize {
        match self {
            Self::I8 | Self::Bool => 1,
            Self::F16 | Self::I8Pair => 2,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::I64 => 8,
        }
    }

    /// Whether [`Expr::Load`] reads it.
    pub fn is_loaded(self) -> bool {
        matches!(self, Self::F32 | Self::F16 | Self::I8 | Self::I8Pair)
    }
}

impl Buffer {
    /// How many bytes it takes.
    pub fn bytes(&self) -> usize {
        self.len * self.element.size()
    }
}

/// What a [`Copied`] makes of a line, that is of what its innermost loop reads: one unit's row of a matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Encoding {
    /// The elements as they are.
    #[default]
    F32,
    /// Each rounded to binary16, in a buffer of [`Element::F16`].
    F16,
    /// Elements 2k and 2k + 1 in the bits of the k-th f32, which is about the former; its low 16 bits are, as the high
    /// ones of another, about the latter. The last of an odd number stays as it is.
    Bf16Pair,
    /// Each a whole number from -127 to 127, in a buffer of [`Element::I8`]; the line's scale times that is about it.
    Int8,
    /// That scale: one f32.
    Int8Scale,
    /// Whole numbers as for `Int8`, two in each element of a buffer of [`Element::I8Pair`]: of n elements those in front of the middle, and in the
    /// upper half those behind it; an odd number is followed by 0.
    Int8Pair,
    /// The same in 16 bits each of an f32's bits.
    Int8Wide,
    /// Whole numbers as for `Int8`, four in the bits of each f32: a quarter of the line in each of its bytes, followed by 0.
    Int8Quad,
    /// What the sums of such a line begin at where the elements that it multiplies are 128 more than they stand for: the bits of one f32.
    Int8Start,
    /// Whole numbers of 16 bits, two in the bits of each f32, as for `Int8Pair`. The line's scale times each is about the element.
    Int16Pair,
    /// That scale: one f32.
    Int16Scale,
}

impl Encoding {
    /// How many elements are written for a line of so many.
    pub fn len(self, line: usize) -> usize {
        match self {
            Self::F32 | Self::F16 | Self::Int8 => line,
            Self::Bf16Pair | Self::Int8Pair | Self::Int8Wide | Self::Int16Pair => line.div_ceil(2),
            Self::Int8Quad => line.div_ceil(4),
            Self::Int8Start | Self::Int8Scale | Self::Int16Scale => 1,
        }
    }

    /// What is written.
    pub fn element(self) -> Element {
        match self {
            Self::F32 | Self::Bf16Pair | Self::Int8Wide | Self::Int8Quad | Self::Int16Pair => Element::F32,
            Self::Int8Start | Self::Int8Scale | Self::Int16Scale => Element::F32,
            Self::F16 => Element::F16,
            Self::Int8 => Element::I8,
            Self::Int8Pair => Element::I8Pair,
        }
    }
}

/// A block of elements of fixed length.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// What to call it; made unique and legal by the emitter.
    pub name: String,
    /// What it is for.
    pub role: Role,
    /// What its elements are.
    pub element: Element,
    /// Elements.
    pub len: usize,
}

/// Where a window or an access starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The block that is looked into.
    pub base: Base,
    /// First element.
    pub offset: usize,
}

/// Something with a fixed number of elements that can be looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Base {
    /// A whole buffer.
    Buffer(BufferId),
    /// What the loop around looks at in this turn.
    Window(WindowId),
}

/// How one loop moves one window: in turn `k` it covers `len` elements of `of.base` from `of.offset + k * step`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Walk {
    /// The window, bound inside the loop.
    pub window: WindowId,
    /// What to call it.
    pub name: String,
    /// Where turn 0 starts.
    pub of: Place,
    /// Elements a turn.
    pub len: usize,
    /// Elements between the window of one turn and that of the next: `len` but where windows overlap or leave something out.
    pub step: usize,
    /// Whether the body stores into it.
    pub written: bool,
    /// Whether it starts with the last window and moves towards the first.
    pub reverse: bool,
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stmt {
    /// Gives a value a name. `mutable` values may be changed by [`Stmt::Set`].
    Let {
        /// The name.
        var: Var,
        /// Whether it is an accumulator.
        mutable: bool,
        /// The value.
        value: Expr,
    },
    /// Changes an accumulator.
    Set {
        /// The accumulator.
        var: Var,
        /// The new value, of the same type.
        value: Expr,
    },
    /// Writes the lanes of a f32 value to consecutive elements; a whole number to one element of a result of integers.
    Store {
        /// The first element.
        to: Place,
        /// The value.
        value: Expr,
    },
    /// Runs the body `count` times.
    For {
        /// How often.
        count: usize,
        /// The number of the turn, from 0: u32, one lane.
        turn: Option<Var>,
        /// A u32 of one lane: where it is 1, every window starts with the last place and moves towards the first.
        backwards: Option<Var>,
        /// The windows that move; there may be none.
        walks: Vec<Walk>,
        /// What is done.
        body: Vec<Stmt>,
    },
    /// Runs the body once, with one of `count` places in the window.
    Pick {
        /// Which, from 0: u32, one lane. Beyond the last, the last.
        at: Expr,
        /// How many places there are.
        count: usize,
        /// How the window would move through them; it is read only.
        walk: Walk,
        /// What is done.
        body: Vec<Stmt>,
    },
    /// Runs one of two blocks.
    If {
        /// The first is taken where the first value is below the second: u32, one lane.
        less: (Expr, Expr),
        /// Where it is.
        then: Vec<Stmt>,
        /// Where it is not; may be empty.
        otherwise: Vec<Stmt>,
    },
    /// Leaves the loop whose body it ends, unless the first value is below the second: u32, one lane.
    LeaveUnless {
        /// The two values.
        less: (Expr, Expr),
    },
    /// Copies elements of f32 in another order.
    Copy(Copied),
    /// Sums of products of integers, of many rows and columns: where an instruction set has [tiles](crate::arch::Isa::tile_rows), or adds products
    /// [across](crate::arch::Isa::across) lanes.
    Tiles(Tiles),
    /// A line for the reader.
    Comment(String),
}

/// A strided copy, or one that is added to what is there.
///
/// `to[to_offset + sum i_d * to_stride_d] = from[from_offset + sum i_d * from_stride_d]` for all `i_d < extent_d`, offsets being
/// those of the places, or `+=`. Where lines are encoded, the innermost loop writes [`Encoding::len`] elements.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Copied {
    /// The first element that is read.
    pub from: Place,
    /// The first element that is written.
    pub to: Place,
    /// The loops, outermost first.
    pub dims: Vec<CopiedDim>,
    /// Whether it adds to what an earlier one has written there: in packing only.
    pub add: bool,
    /// What becomes of each line: in packing only.
    pub encoding: Encoding,
    /// How many elements of an encoded line are neighbours. The stride of the innermost loop is that between such groups.
    pub abreast: usize,
    /// Whether the halves of every four words side by side are apart: the first ones of all four words, then the second ones. Such words are
    /// those at a multiple of four from the start of the buffer on.
    pub apart: bool,
    /// How many words an encoded line of weights that are known becomes, where each holds two elements, and that are not half as many words as elements: the second
    /// element of a word is so many behind the first, or 0 where there is none.
    pub words: Option<usize>,
}

/// Sums of products of integers, which are what is stored: the bits of a f32 each.
///
/// `to[row * pitch + panel * columns + column]` becomes what [`LaneOp::DotQuads`], or [`LaneOp::DotPairs`], adds of `elements[row * words + k]` and
/// `weights[panel * stride + k / abreast * step + column * abreast + k % abreast]` for all `k`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tiles {
    /// The first row's first word.
    pub elements: Place,
    /// The first panel's first row of words.
    pub weights: Place,
    /// The first sum.
    pub to: Place,
    /// Rows of elements.
    pub rows: usize,
    /// Words of a row of elements, and of a column of weights.
    pub words: usize,
    /// Elements of a word: 4 or 2.
    pub in_word: usize,
    /// How many words of a column of weights are neighbours.
    pub abreast: usize,
    /// Elements between them and the next ones.
    pub step: usize,
    /// Columns of a panel: those of all its sums.
    pub columns: usize,
    /// Panels.
    pub panels: usize,
    /// Elements between panels.
    pub stride: usize,
    /// Sums between rows.
    pub pitch: usize,
}

/// One loop of a [`Copied`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CopiedDim {
    /// How often.
    pub extent: usize,
    /// Elements between reads; backwards where negative, the same element again where 0.
    pub from_stride: isize,
    /// Elements between writes.
    pub to_stride: usize,
}

/// The type of a value: all lanes alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Type {
    /// What a lane holds.
    pub scalar: Scalar,
    /// How many lanes: 1, 2, 4, 8, 16 ...
    pub lanes: usize,
}

/// What a lane holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scalar {
    /// IEEE 754 binary32, round to nearest even.
    F32,
    /// 32 bits, arithmetic wraps.
    U32,
}

/// An operation on lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LaneOp {
    /// f32: a + b
    Add,
    /// f32: a - b
    Sub,
    /// f32: a * b
    Mul,
    /// f32: a / b
    Div,
    /// f32: a * b + c, rounded once
    MulAdd,
    /// f32: if a > b then a else b (b where either is NaN, and for two zeros)
    Max,
    /// f32: if a < b then a else b (b where either is NaN, and for two zeros)
    Min,
    /// f32: |a| or b, whose bits are the greater number, so that NaN is greater than infinity; b has no sign
    MaxMagnitude,
    /// f32, f32, f32, f32: if a < b then c else d
    SelectLess,
    /// f32: +0 if |a| < [`FLUSH_BELOW`] else a (a where it is NaN)
    Flush,
    /// f32 -> u32: the bits
    ToBits,
    /// u32 -> f32: the value of the bits
    FromBits,
    /// u32 -> f32: the number in two's complement, rounded once
    FromSigned,
    /// u32: c + the products of the two halves of a with those of b, 16 bits each in two's complement, wrapping
    DotPairs,
    /// u32: c + the products of the four bytes of a with those of b, in two's complement, wrapping
    DotQuads,
    /// u32: the same, the bytes of b without a sign
    DotUnsignedQuads,
    /// u32: c + the products of two halves of a with those of one lane of b, in two's complement, wrapping. Of n lanes the halves of lane k are the
    /// k-th and the n + k-th of all halves: see [`Copied::apart`]
    DotApart(usize),
    /// u32: what `DotQuads` adds where each lane of b is this one
    DotQuadsOf(usize),
    /// u32: c + the products of the bytes 0 and 2 of a with the halves of b, in two's complement, wrapping
    DotEvenBytes,
    /// u32: the same with the bytes 1 and 3 of a
    DotOddBytes,
    /// u32: a + b, wrapping
    WrappingAdd,
    /// u32: a - b, wrapping
    WrappingSub,
    /// u32: a and b
    And,
    /// u32: a or b
    Or,
    /// u32: a exclusive or b
    Xor,
    /// u32: a shifted left by a constant below 32
    ShiftLeft(u32),
    /// u32: a shifted right by a constant below 32, zeros shifted in
    ShiftRight(u32),
}

impl LaneOp {
    /// What stands between its operands.
    pub fn sign(self) -> Option<&'static str> {
        Some(match self {
            Self::Add | Self::WrappingAdd => "+",
            Self::Sub | Self::WrappingSub => "-",
            Self::Mul => "*",
            Self::Div => "/",
            Self::And => "&",
            Self::Or => "|",
            Self::Xor => "^",
            Self::ShiftLeft(_) => "<<",
            Self::ShiftRight(_) => ">>",
            Self::MulAdd
            | Self::Max
            | Self::Min
            | Self::MaxMagnitude
            | Self::SelectLess
            | Self::Flush
            | Self::ToBits
            | Self::FromBits
            | Self::FromSigned
            | Self::DotPairs
            | Self::DotQuads
            | Self::DotUnsignedQuads
            | Self::DotApart(_)
            | Self::DotQuadsOf(_)
            | Self::DotEvenBytes
            | Self::DotOddBytes => {
                return None;
            }
        })
    }

    /// Whether it adds products of integers to a sum.
    pub fn is_dot(self) -> bool {
        use LaneOp as O;
        matches!(self, O::DotPairs | O::DotQuads | O::DotUnsignedQuads | O::DotEvenBytes | O::DotOddBytes)
            || self.lane().is_some()
    }

    /// The lane of its second operand that multiplies every lane of the first, if one does.
    pub fn lane(self) -> Option<usize> {
        match self {
            Self::DotApart(lane) | Self::DotQuadsOf(lane) => Some(lane),
            _ => None,
        }
    }

    /// What a lane of the result holds.
    pub fn result(self) -> Scalar {
        match self {
            Self::Add | Self::Sub | Self::Mul | Self::Div | Self::MulAdd | Self::Max | Self::Min => Scalar::F32,
            Self::MaxMagnitude | Self::SelectLess | Self::Flush | Self::FromBits | Self::FromSigned => Scalar::F32,
            Self::ToBits | Self::WrappingAdd | Self::WrappingSub | Self::And | Self::Or | Self::Xor => Scalar::U32,
            Self::ShiftLeft(_) | Self::ShiftRight(_) => Scalar::U32,
            Self::DotPairs | Self::DotQuads | Self::DotUnsignedQuads => Scalar::U32,
            Self::DotEvenBytes | Self::DotOddBytes => Scalar::U32,
            Self::DotApart(_) | Self::DotQuadsOf(_) => Scalar::U32,
        }
    }
}

/// An expression without effects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Expr {
    /// Consecutive elements, as f32.
    Load {
        /// The first element.
        from: Place,
        /// How many.
        lanes: usize,
    },
    /// One element in every lane.
    Splat {
        /// The element.
        from: Place,
        /// How many lanes.
        lanes: usize,
    },
    /// A constant in every lane, given by its bits.
    Const {
        /// The bits of a lane.
        bits: u32,
        /// The type.
        ty: Type,
    },
    /// An integer of a buffer that does not hold f32, less `least`, as u32 in one lane: below 0 as 0, above `most` as `most`.
    Length {
        /// The element.
        from: Place,
        /// What is subtracted: 0 for lengths.
        least: i32,
        /// The largest value.
        most: usize,
    },
    /// A named value.
    Var(Var),
    /// An operation on lanes.
    Op(LaneOp, Vec<Expr>),
    /// A function of [`Body::functions`], lane by lane.
    Call(usize, Vec<Expr>),
}

/// A named value of a kernel or function.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Local {
    /// What to call it.
    pub name: String,
    /// Its type.
    pub ty: Type,
}

/// A scalar function from f32 to f32, without memory: an activation, symbolic until a pass spells it out in arithmetic.
///
/// Kernels apply it to every lane; its own locals have one lane.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// What to call it: the activation's name.
    pub name: String,
    /// What it computes and how exactly, for the reader.
    pub doc: Vec<String>,
    /// Its locals; the first [`Self::params`] are its arguments.
    pub locals: Vec<Local>,
    /// How many arguments it takes.
    pub params: usize,
    /// `Let` and `Comment` only; empty while symbolic.
    pub body: Vec<Stmt>,
    /// The result, f32; `None` while symbolic.
    pub result: Option<Expr>,
}

impl Function {
    /// How many operations it takes.
    pub fn operations(&self) -> usize {
        fn of(expr: &Expr) -> usize {
            match expr {
                Expr::Op(_, args) => 1 + args.iter().map(of).sum::<usize>(),
                _ => 0,
            }
        }
        let values =
            self.body.iter().filter_map(|stmt| if let Stmt::Let { value, .. } = stmt { Some(value) } else { None });
        values.chain(&self.result).map(of).sum()
    }
}

/// One piece of the work of a step: the cell of one layer, a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kernel {
    /// What to call it.
    pub name: String,
    /// What it computes, for the reader.
    pub doc: Vec<String>,
    /// The buffers it uses that outlive it, in the order of its arguments; `true` where it writes.
    pub params: Vec<(BufferId, bool)>,
    /// The buffers that it alone uses.
    pub scratch: Vec<BufferId>,
    /// Its values.
    pub locals: Vec<Local>,
    /// Of these the vectors to which loops add some terms of a gate each, where no other gate has sums and all are added up later.
    pub chains: Vec<Var>,
    /// Of its values the vectors to which loops add terms while something else is waited for.
    pub meanwhile: Vec<Var>,
    /// Of the buffers that it alone uses those that are stored as vectors and then read element by element.
    pub elements: Vec<BufferId>,
    /// Windows whose loads LLVM must not merge with overlapping loads from other windows.
    pub unrelated: Vec<WindowId>,
    /// Of its loops, by the window of their first walk, those that a compiler is to unroll by so many turns.
    pub unrolled_by: Vec<(WindowId, usize)>,
    /// Of its loops, by the window of their first walk, those whose turns take some columns of a panel each.
    pub passes: Vec<WindowId>,
    /// What it does.
    pub body: Vec<Stmt>,
    /// Whether its loops are to be written out, turn by turn.
    pub unroll: bool,
    /// Whether it may run at the same time as the kernel before it, on another thread.
    pub concurrent: bool,
    /// Which operations of the model its statements are, by their place among all of them: for reports.
    pub nodes: Vec<usize>,
}

impl Kernel {
    /// What a loop adds rows of weights to, if it does nothing else: each turn reads one row and one element, which multiplies the columns of every sum. The
    /// sums, their lanes, where the columns of the first one stand in a row, and how far the next one's are behind.
    pub fn row_sums(&self, walks: &[Walk], body: &[Stmt]) -> Option<(Vec<Var>, usize, usize, usize)> {
        let [rows, elements] = walks else { return None };
        let [Stmt::Let { var: element, value: Expr::Splat { from, lanes }, .. }, sums @ ..] = body else { return None };
        let is_plain = |walk: &Walk| !walk.reverse && !walk.written && !self.unrelated.contains(&walk.window);
        let one_element = *from == elements.window.into() && (elements.step, elements.len) == (1, 1);
        if sums.is_empty() || !one_element || !is_plain(rows) || !is_plain(elements) {
            return None;
        }
        let sum = |stmt: &Stmt| {
            let Stmt::Set { var, value: Expr::Op(LaneOp::MulAdd, args) } = stmt else { return None };
            let [Expr::Load { from, lanes: n }, Expr::Var(other), Expr::Var(sum)] = &args[..] else { return None };
            let is_row = from.base == Base::Window(rows.window) && n == lanes && other == element && sum == var;
            let is_hinted = self.chains.contains(var) || self.meanwhile.contains(var);
            (is_row && !is_hinted).then_some((*var, from.offset))
        };
        let sums = sums.iter().map(sum).collect::<Option<Vec<_>>>()?;
        let first = sums[0].1;
        let apart = sums.get(1).map_or(0, |(_, second)| second.wrapping_sub(first));
        let is_even = sums.iter().enumerate().all(|(at, (_, offset))| *offset == first.wrapping_add(at * apart));
        is_even.then(|| (sums.into_iter().map(|(var, _)| var).collect(), *lanes, first, apart))
    }
}

/// One step of a model: the memory that it works on, and what it does there on each instruction set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// Bytes: every buffer starts at a multiple of so many.
    pub alignment: usize,
    /// The memory that all bodies share: whatever is neither scratch nor a part of another buffer.
    pub buffers: Vec<Buffer>,
    /// Fills the weights buffers by copies alone; whatever none of them writes is zero.
    pub packing: Kernel,
    /// Parameters whose elements go through [`LaneOp::Flush`] before the first kernel.
    pub flushed_before: Vec<BufferId>,
    /// The contents of the buffers with the role [`Role::Table`].
    pub tables: Vec<(BufferId, Vec<u32>)>,
    /// By instruction set.
    pub bodies: Vec<Body>,
}

/// What a step does on one instruction set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Body {
    /// Its own memory: scratch, and parts of other buffers. The first one has the number after the program's last.
    pub scratch: Vec<Buffer>,
    /// The activations, once expanded.
    pub functions: Vec<Function>,
    /// What a step does, in order.
    pub kernels: Vec<Kernel>,
    /// Where the scratch buffers that more than one kernel uses stand in one block: their first elements, aligned.
    /// Those whose contents are not wanted at the same time may share a place; those of one kernel never do. In the order
    /// of the buffers.
    pub block: Vec<(BufferId, usize)>,
    /// Elements of the block.
    pub block_len: usize,
}

/// A reference to one of a program's bodies, which knows the program's memory too.
#[derive(Clone, Copy, Debug)]
pub struct BodyRef<'p> {
    /// The program.
    pub program: &'p Program,
    /// The body.
    pub body: &'p Body,
}

impl Deref for BodyRef<'_> {
    type Target = Body;

    fn deref(&self) -> &Body {
        self.body
    }
}

impl Role {
    /// What it is for, whichever of the model's tensors it is.
    pub fn kind(self) -> Self {
        match self {
            Self::Parameter(_) => Self::Parameter(0),
            Self::Result(_) => Self::Result(0),
            Self::Constant(_) => Self::Constant(0),
            Self::Variable(_) => Self::Variable(0),
            Self::Part { .. } => Self::Part { of: BufferId(0), at: 0 },
            Self::Weights | Self::Table | Self::Backwards | Self::Scratch => self,
        }
    }
}

impl Program {
    /// The alignment in elements of four bytes.
    pub fn aligned_elements(&self) -> usize {
        (self.alignment / 4).max(1)
    }

    /// The shared buffer of that name.
    pub fn buffer(&self, id: BufferId) -> &Buffer {
        &self.buffers[id.0]
    }

    /// The shared buffer with that role, if there is one; the first of several.
    pub fn find(&self, role: Role) -> Option<BufferId> {
        self.buffers.iter().position(|buffer| buffer.role == role).map(BufferId)
    }

    /// The bodies, in order.
    pub fn bodies(&self) -> impl ExactSizeIterator<Item = BodyRef<'_>> + Clone {
        self.bodies.iter().map(|body| BodyRef { program: self, body })
    }

    /// One of the bodies.
    pub fn body(&self, at: usize) -> BodyRef<'_> {
        BodyRef { program: self, body: &self.bodies[at] }
    }
}

impl Body {
    /// Where a buffer starts in the block, if it is in it.
    pub fn block_place(&self, id: BufferId) -> Option<usize> {
        self.block.binary_search_by_key(&id, |(part, _)| *part).ok().map(|at| self.block[at].1)
    }

    /// The kernels in order, those together that may run at the same time: one, or two.
    pub fn groups(&self) -> impl Iterator<Item = &[Kernel]> {
        self.kernels.chunk_by(|_, next| next.concurrent)
    }

    /// Whether some of the kernels may run at the same time.
    pub fn has_halves(&self) -> bool {
        self.kernels.iter().any(|kernel| kernel.concurrent)
    }
}

impl<'p> BodyRef<'p> {
    /// All memory: what all bodies share, then what is this one's own.
    pub fn buffers(self) -> impl Iterator<Item = &'p Buffer> {
        self.program.buffers.iter().chain(&self.body.scratch)
    }

    /// The buffer of that name, if there is one.
    pub fn get(self, id: BufferId) -> Option<&'p Buffer> {
        let shared = &self.program.buffers;
        shared.get(id.0).or_else(|| self.body.scratch.get(id.0.checked_sub(shared.len())?))
    }

    /// The buffer of that name.
    pub fn buffer(self, id: BufferId) -> &'p Buffer {
        self.get(id).unwrap_or_else(|| panic!("no buffer {}", id.0))
    }

    /// The buffer that a buffer is a part of, and from which element on; itself where it is none.
    pub fn whole(self, id: BufferId) -> (BufferId, usize) {
        match self.buffer(id).role {
            Role::Part { of, at } => (of, at),
            _ => (id, 0),
        }
    }

    /// Whether a kernel reads the buffer of one role when the buffer of the other is being written, or later: then the two cannot be one.
    pub fn reads_when_written(self, read: Role, written: Role) -> bool {
        let uses = |group: &[Kernel], role: Role, write: bool| {
            let mut params = group.iter().flat_map(|kernel| &kernel.params);
            params.any(|(id, writes)| *writes == write && self.buffer(self.whole(*id).0).role == role)
        };
        self.groups().skip_while(|group| !uses(group, written, true)).any(|group| uses(group, read, false))
    }
}

impl Type {
    /// f32 in each of `lanes` lanes.
    pub fn f32(lanes: usize) -> Self {
        Self { scalar: Scalar::F32, lanes }
    }
}

impl Place {
    /// The place `elements` further on.
    pub fn at(self, elements: usize) -> Self {
        Self { offset: self.offset + elements, ..self }
    }
}

impl From<BufferId> for Place {
    fn from(buffer: BufferId) -> Self {
        Self { base: Base::Buffer(buffer), offset: 0 }
    }
}

impl From<WindowId> for Place {
    fn from(window: WindowId) -> Self {
        Self { base: Base::Window(window), offset: 0 }
    }
}

impl Copied {
    /// Elements as they are.
    pub fn new(from: impl Into<Place>, to: impl Into<Place>, dims: Vec<CopiedDim>) -> Self {
        Self {
            from: from.into(),
            to: to.into(),
            dims,
            add: false,
            encoding: Encoding::F32,
            abreast: 1,
            apart: false,
            words: None,
        }
    }

    /// The loops that write.
    pub fn written(&self) -> Vec<CopiedDim> {
        let mut dims = self.dims.clone();
        if let Some(line) = dims.last_mut() {
            let len = self.words.unwrap_or_else(|| self.encoding.len(line.extent));
            line.extent = len.div_ceil(self.abreast);
            dims.push(CopiedDim { extent: self.abreast.min(len), from_stride: 0, to_stride: 1 });
        }
        dims
    }
}

impl Tiles {
    /// The elements that it reaches over: those of x or h, weights, sums.
    pub fn reach(&self) -> Option<[usize; 3]> {
        let beyond =
            |count: usize, step: usize, last: usize| count.checked_sub(1)?.checked_mul(step)?.checked_add(last);
        let panel = beyond(self.words / self.abreast, self.step, self.columns.checked_mul(self.abreast)?)?;
        let row = self.panels.checked_mul(self.columns)?;
        Some([
            self.rows.checked_mul(self.words)?,
            beyond(self.panels, self.stride, panel)?,
            beyond(self.rows, self.pitch, row)?,
        ])
    }

    /// What adds the products of two words.
    pub fn operation(&self) -> LaneOp {
        if self.in_word == 4 { LaneOp::DotQuads } else { LaneOp::DotPairs }
    }

    /// Where `at_once` words that are abreast, of each column, are an iteration of a loop: how many there are, and how many words that are abreast are left.
    pub fn turns(&self, at_once: usize) -> (usize, usize) {
        let all = self.words / self.abreast;
        let turns = if all / at_once > 1 { all / at_once } else { 0 };
        (turns, all - turns * at_once)
    }

    /// Products of words.
    pub fn products(&self) -> usize {
        [self.rows, self.words, self.columns, self.panels].into_iter().fold(1, usize::saturating_mul)
    }
}

impl Walk {
    /// The elements that so many windows reach over.
    pub fn reach(&self, count: usize) -> Option<usize> {
        count.checked_sub(1)?.checked_mul(self.step)?.checked_add(self.len)
    }
}

impl Kernel {
    /// The copies of a kernel of copies, and between which buffers.
    pub fn copies(&self) -> impl Iterator<Item = (&Copied, BufferId, BufferId)> {
        self.body.iter().filter_map(|stmt| match stmt {
            Stmt::Copy(copied) => match (copied.from.base, copied.to.base) {
                (Base::Buffer(from), Base::Buffer(to)) => Some((copied, from, to)),
                _ => None,
            },
            _ => None,
        })
    }

    /// The bases that it loads several lanes at once from: whether they lie across lines of cache makes a difference.
    pub fn loaded_lanes(&self) -> BTreeSet<Base> {
        let mut loaded = BTreeSet::new();
        lanes(&self.body, &mut loaded);
        loaded
    }
}

/// From the inside out: where a window is loaded from, so is what it looks into.
fn lanes(body: &[Stmt], loaded: &mut BTreeSet<Base>) {
    fn load(expr: &Expr, loaded: &mut BTreeSet<Base>) {
        match expr {
            Expr::Load { from, lanes } if *lanes > 1 => {
                loaded.insert(from.base);
            }
            Expr::Op(_, args) | Expr::Call(_, args) => args.iter().for_each(|arg| load(arg, loaded)),
            _ => {}
        }
    }
    for stmt in body {
        match stmt {
            Stmt::Let { value, .. } | Stmt::Set { value, .. } | Stmt::Store { value, .. } => load(value, loaded),
            Stmt::Copy(copied) => {
                loaded.insert(copied.from.base);
            }
            Stmt::Tiles(tiles) => loaded.extend([tiles.elements.base, tiles.weights.base, tiles.to.base]),
            Stmt::For { walks, body, .. } => {
                lanes(body, loaded);
                for walk in walks.iter().filter(|walk| loaded.contains(&Base::Window(walk.window))).collect::<Vec<_>>()
                {
                    loaded.insert(walk.of.base);
                }
            }
            Stmt::Pick { walk, body, .. } => {
                lanes(body, loaded);
                if loaded.contains(&Base::Window(walk.window)) {
                    loaded.insert(walk.of.base);
                }
            }
            Stmt::If { then, otherwise, .. } => {
                lanes(then, loaded);
                lanes(otherwise, loaded);
            }
            Stmt::LeaveUnless { .. } | Stmt::Comment(_) => {}
        }
    }
}

impl Expr {
    /// A f32 constant in every lane.
    pub fn f32(value: f32, lanes: usize) -> Self {
        Self::Const { bits: value.to_bits(), ty: Type { scalar: Scalar::F32, lanes } }
    }

    /// The type of its value, where `locals` are the kernel's or function's own.
    pub fn ty(&self, locals: &[Local]) -> Type {
        match self {
            Self::Load { lanes, .. } | Self::Splat { lanes, .. } => Type::f32(*lanes),
            Self::Const { ty, .. } => *ty,
            Self::Length { .. } => Type { scalar: Scalar::U32, lanes: 1 },
            Self::Var(var) => locals[var.0].ty,
            Self::Op(operation, args) => {
                Type { scalar: operation.result(), lanes: args.first().map_or(1, |a| a.ty(locals).lanes) }
            }
            Self::Call(_, args) => Type::f32(args.first().map_or(1, |a| a.ty(locals).lanes)),
        }
    }

    /// Whether the predicate holds for the expression or for one of its operands.
    pub fn any(&self, is: &mut impl FnMut(&Self) -> bool) -> bool {
        let (Self::Op(_, args) | Self::Call(_, args)) = self else { return is(self) };
        is(self) || args.iter().any(|arg| arg.any(is))
    }

    /// A u32 constant in every lane.
    pub fn u32(bits: u32, lanes: usize) -> Self {
        Self::Const { bits, ty: Type { scalar: Scalar::U32, lanes } }
    }
}

impl Kernel {
    /// The kernel without a name, its buffers numbered as they are declared: kernels of which that is equal do the same with
    /// other memory.
    pub fn anonymous(&self) -> Self {
        let all = self.params.iter().map(|(id, _)| id).chain(&self.scratch);
        let numbers: BTreeMap<BufferId, BufferId> = all.enumerate().map(|(i, id)| (*id, BufferId(i))).collect();
        let mut kernel = Self { name: String::new(), nodes: Vec::new(), concurrent: false, ..self.clone() };
        kernel.params.iter_mut().for_each(|(id, _)| *id = numbers[id]);
        kernel.scratch.iter_mut().for_each(|id| *id = numbers[id]);
        renumber(&mut kernel.body, &numbers);
        kernel
    }

    /// How many times its text calls a function.
    pub fn calls(&self) -> usize {
        calls(&self.body)
    }

    /// Adds a value.
    pub fn local(&mut self, name: impl Into<String>, ty: Type) -> Var {
        self.locals.push(Local { name: name.into(), ty });
        Var(self.locals.len() - 1)
    }
}

/// Gives the buffers that statements name other numbers.
fn renumber(body: &mut [Stmt], numbers: &BTreeMap<BufferId, BufferId>) {
    fn place(place: &mut Place, numbers: &BTreeMap<BufferId, BufferId>) {
        if let Base::Buffer(id) = &mut place.base {
            *id = numbers[id];
        }
    }
    fn expr(e: &mut Expr, numbers: &BTreeMap<BufferId, BufferId>) {
        match e {
            Expr::Load { from, .. } | Expr::Splat { from, .. } | Expr::Length { from, .. } => place(from, numbers),
            Expr::Op(_, args) | Expr::Call(_, args) => args.iter_mut().for_each(|arg| expr(arg, numbers)),
            Expr::Const { .. } | Expr::Var(_) => {}
        }
    }
    for stmt in body {
        match stmt {
            Stmt::Let { value, .. } | Stmt::Set { value, .. } => expr(value, numbers),
            Stmt::Store { to, value } => {
                place(to, numbers);
                expr(value, numbers);
            }
            Stmt::For { walks, body, .. } => {
                walks.iter_mut().for_each(|walk| place(&mut walk.of, numbers));
                renumber(body, numbers);
            }
            Stmt::Pick { at, walk, body, .. } => {
                expr(at, numbers);
                place(&mut walk.of, numbers);
                renumber(body, numbers);
            }
            Stmt::If { less, then, otherwise } => {
                expr(&mut less.0, numbers);
                expr(&mut less.1, numbers);
                renumber(then, numbers);
                renumber(otherwise, numbers);
            }
            Stmt::LeaveUnless { less } => {
                expr(&mut less.0, numbers);
                expr(&mut less.1, numbers);
            }
            Stmt::Copy(copied) => {
                place(&mut copied.from, numbers);
                place(&mut copied.to, numbers);
            }
            Stmt::Tiles(Tiles { elements, weights, to, .. }) => {
                [elements, weights, to].into_iter().for_each(|of| place(of, numbers));
            }
            Stmt::Comment(_) => {}
        }
    }
}

fn calls(body: &[Stmt]) -> usize {
    fn of(expr: &Expr) -> usize {
        match expr {
            Expr::Op(_, args) => args.iter().map(of).sum(),
            Expr::Call(_, args) => 1 + args.iter().map(of).sum::<usize>(),
            _ => 0,
        }
    }
    let stmt = |stmt: &Stmt| match stmt {
        Stmt::Let { value, .. } | Stmt::Set { value, .. } | Stmt::Store { value, .. } => of(value),
        Stmt::For { body, .. } => calls(body),
        Stmt::Pick { at, body, .. } => of(at) + calls(body),
        Stmt::If { then, otherwise, .. } => calls(then) + calls(otherwise),
        Stmt::LeaveUnless { .. } | Stmt::Copy(_) | Stmt::Tiles(_) | Stmt::Comment(_) => 0,
    };
    body.iter().map(stmt).sum()
}
