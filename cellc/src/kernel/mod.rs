//! The loop-level form of a model: no cells any more, only loops over buffers.
//!
//! Memory is seen through windows of fixed length. A loop walks windows through buffers in step, so
//! that every access is a constant offset into a window of constant length, and the generated code
//! is free of bounds checks by construction. A [`Program`] holds the memory that all bodies share,
//! and a [`Body`] for each instruction set.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::ops::Deref;

mod block_sums;
mod delay_line;
mod hints;
mod interpret;
mod lanes;
mod params;
mod print;
mod rewrite;
#[cfg(test)]
mod tests;
mod verify;

pub use block_sums::{BLOCK_INPUTS, BlockPlaces, BlockProduct, BlockSums};
pub use delay_line::{DelayLine, FrameOrder};
pub use hints::Hints;
#[cfg(test)]
pub(crate) use interpret::evaluate;
pub use interpret::{interpret, interpret_step_block};
pub(crate) use params::params;
pub use verify::verify;

/// The flush limit, 2^-100: [`LaneOp::Flush`] turns smaller magnitudes into 0.
pub const FLUSH_BELOW: f32 = f32::from_bits((127 - 100) << 23);

/// The number of a buffer: an index into [`Program::buffers`], continued by [`Body::scratch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferId(pub usize);

/// The number of a window in one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WindowId(pub usize);

/// The number of a value in one kernel or function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Var(pub usize);

/// The role of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// The i-th Parameter of the model, read only.
    Parameter(usize),
    /// The i-th Result of the model, written in full.
    Result(usize),
    /// Packed weights, read only: baked in, packed at run time, or loaded from a file.
    Weights,
    /// The i-th constant of the model, read only, with its elements in the order of the model.
    Constant(usize),
    /// The i-th variable of the model: read, and written at the end of a step or by the operation
    /// that updates the variable in place.
    Variable(usize),
    /// Compile-time integers, from [`Program::tables`].
    Table,
    /// One u32, 0 and 1 in alternating steps: the direction in which cells of one step read panels
    /// in alternating order. Results do not depend on the direction.
    Backwards,
    /// One u32: the number of steps so far, modulo this number. Selects places in [delay
    /// lines](DelayLine).
    Phase(usize),
    /// Scratch memory between kernels or inside one kernel. Contents are undefined at the start of
    /// a step.
    Scratch,
    /// Elements of another buffer from `at`: the part written by one of two concurrent kernels.
    Part {
        /// The other buffer: a result, a variable or scratch memory between kernels.
        whole: BufferId,
        /// The first element.
        at: usize,
    },
}

/// The element type of a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Element {
    /// IEEE 754 binary32.
    #[default]
    F32,
    /// Integers of 32 bits. Parameters and Results only: [`Expr::Length`] reads one element,
    /// [`Stmt::Store`] writes one.
    I32,
    /// Integers of 64 bits, with the uses of `I32`.
    I64,
    /// Booleans, 0 or 1, with the uses of `I32`.
    Bool,
    /// Tables, [`Role::Backwards`] and [`Role::Phase`] only, read by [`Expr::Length`] and
    /// [`Stmt::Blocks`] only.
    U32,
    /// Unsigned integers of 8 bits: tables of [`Stmt::Blocks`] only.
    U8,
    /// Unsigned integers of 16 bits: tables of [`Stmt::Blocks`] only.
    U16,
    /// IEEE 754 binary16, finite. Weights only; [`Expr::Load`] converts to f32.
    F16,
    /// Signed integers of 8 bits. Weights only; [`Expr::Load`] converts to f32.
    I8,
    /// Pairs of signed 8-bit integers. Weights only; [`Expr::Load`] widens each integer to 16 bits,
    /// in the low and the high half of the bits of an f32.
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
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::F16 => "f16",
            Self::I8 => "i8",
            Self::I8Pair => "i8x2",
        })
    }
}

impl Element {
    /// Bytes per element.
    pub fn size(self) -> usize {
        match self {
            Self::I8 | Self::Bool | Self::U8 => 1,
            Self::F16 | Self::I8Pair | Self::U16 => 2,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::I64 => 8,
        }
    }

    /// True if [`Expr::Load`] reads this element type.
    pub fn is_loaded(self) -> bool {
        matches!(self, Self::F32 | Self::F16 | Self::I8 | Self::I8Pair)
    }
}

impl Buffer {
    /// Bytes of the buffer.
    pub fn bytes(&self) -> usize {
        self.len * self.element.size()
    }
}

/// The encoding of the lines of a [`Copied`]. A line is the elements that the innermost loop reads,
/// for example one unit's row of a matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Encoding {
    /// Unchanged elements.
    #[default]
    F32,
    /// Elements rounded to binary16, in a buffer of [`Element::F16`].
    F16,
    /// Elements 2k and 2k + 1 in the bits of the k-th f32. The f32 approximates element 2k; its low
    /// 16 bits, as the high bits of an f32, approximate element 2k + 1. The last of an odd number
    /// of elements is unchanged.
    Bf16Pair,
    /// Integers from -127 to 127, in a buffer of [`Element::I8`]. The line's scale times the
    /// integer approximates the element.
    Int8,
    /// The scale of a line: one f32.
    Int8Scale,
    /// Integers as for `Int8`, two per element of a buffer of [`Element::I8Pair`]: the first half
    /// of the line in the lower halves, the second half in the upper halves. 0 follows an odd
    /// number of elements.
    Int8Pair,
    /// Pairs as for `Int8Pair`, 16 bits each, in the bits of an f32.
    Int8Wide,
    /// Integers as for `Int8`, four in the bits of each f32: one quarter of the line per byte,
    /// padded with 0.
    Int8Quad,
    /// As `Int8Quad`, with four neighbours of the line per f32. Compile-time weights only.
    Int8Neighbours,
    /// The zero-point correction of a line's sums, for activations stored with an offset of 128: an
    /// integer in the bits of one f32.
    Int8Start,
    /// 16-bit integers, two in the bits of each f32, as for `Int8Pair`. The line's scale times the
    /// integer approximates the element.
    Int16Pair,
    /// As `Int16Pair`, with two neighbours of the line per f32, padded to four neighbours.
    /// Compile-time weights only.
    Int16Neighbours,
    /// The scale of a line: one f32.
    Int16Scale,
    /// The low bytes of four neighbours, the first lowest, in the bits of each f32. In kernels
    /// only, for lines of a multiple of four elements.
    LowBytes,
}

impl Encoding {
    /// Elements written for a line of `line` elements.
    pub fn len(self, line: usize) -> usize {
        match self {
            Self::F32 | Self::F16 | Self::Int8 => line,
            Self::Bf16Pair | Self::Int8Pair | Self::Int8Wide | Self::Int16Pair => line.div_ceil(2),
            Self::Int8Quad | Self::Int8Neighbours | Self::LowBytes => line.div_ceil(4),
            Self::Int16Neighbours => 2 * line.div_ceil(BLOCK_INPUTS),
            Self::Int8Start | Self::Int8Scale | Self::Int16Scale => 1,
        }
    }

    /// The element type of the encoded line.
    pub fn element(self) -> Element {
        match self {
            Self::F32 | Self::Bf16Pair | Self::Int8Wide | Self::Int16Pair => Element::F32,
            Self::Int8Quad | Self::Int8Neighbours | Self::LowBytes => Element::F32,
            Self::Int16Neighbours => Element::F32,
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
    /// The proposed name; the emitter makes it unique and legal.
    pub name: String,
    /// The role.
    pub role: Role,
    /// The element type.
    pub element: Element,
    /// Elements.
    pub len: usize,
    /// The layout of packed weights, for documentation. Empty for other buffers, if words hold
    /// several weights, if rows hold several words of a column, and if blocks have an index.
    pub layout: Vec<PanelGroup>,
}

/// Equal panels of packed weights, side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PanelGroup {
    /// The number of panels.
    pub count: usize,
    /// Columns of a panel.
    pub columns: usize,
    /// Units of a panel: as many as columns, or fewer if the last columns are padding.
    pub units: usize,
    /// The parts of a panel, in order.
    pub parts: Vec<PanelPart>,
}

/// A part of a panel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PanelPart {
    /// The content, in words: biases, peepholes, or the weights of an operand.
    pub content: &'static str,
    /// The sums to which the part adds.
    pub sums: Vec<&'static str>,
    /// The index of the part's first element in the panel.
    pub at: usize,
    /// The sizes of the array: rows (of weights only), sums, columns.
    pub shape: Vec<usize>,
}

impl PanelPart {
    /// The index of the first element behind the part.
    pub fn end(&self) -> usize {
        self.at + self.shape.iter().product::<usize>()
    }
}

/// A place: the memory operand where a window or an access starts. The identifier `place` stands
/// for a value of this type; elements of tensors have an index, nodes a path, texts a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The buffer or window.
    pub base: Base,
    /// First element.
    pub offset: usize,
}

/// The private arrays of a kernel that generated code aligns like the file's weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlignedArrays {
    /// All arrays: C.
    All,
    /// Arrays from which kernels load vectors: Rust.
    OfVectors,
}

/// A buffer or a window: memory with a fixed number of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Base {
    /// A whole buffer.
    Buffer(BufferId),
    /// A window of an enclosing loop.
    Window(WindowId),
}

/// The movement of a window in a loop. In iteration `k` the window covers `len` elements of
/// `start.base` from `start.offset + k * stride`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Walk {
    /// The window, bound inside the loop.
    pub window: WindowId,
    /// The proposed name.
    pub name: String,
    /// The start of the first window in memory.
    pub start: Place,
    /// Elements of the window.
    pub len: usize,
    /// Elements between the windows of successive iterations. Differs from `len` if windows overlap
    /// or have gaps.
    pub stride: usize,
    /// True if the body stores into the window.
    pub written: bool,
    /// True if the loop runs from the last window to the first.
    pub reverse: bool,
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stmt {
    /// Binds a name to a value. [`Stmt::Set`] may change `mutable` values.
    Let {
        /// The name.
        var: Var,
        /// True for an accumulator.
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
    /// Writes the lanes of an f32 value to consecutive elements, or an integer to one element of an
    /// integer result.
    Store {
        /// The first element.
        to: Place,
        /// The value.
        value: Expr,
    },
    /// Runs the body `count` times, or until [`Stmt::LeaveUnless`] leaves the loop.
    For {
        /// The number of iterations.
        count: usize,
        /// The variable that holds the number of the iteration, from 0: u32, one lane.
        counter: Option<Var>,
        /// A u32 of one lane. 1: every window moves opposite to the direction of its
        /// [`Walk::reverse`].
        backwards: Option<Var>,
        /// The moving windows; may be empty.
        walks: Vec<Walk>,
        /// The body.
        body: Vec<Stmt>,
    },
    /// Runs the body once, with the window at one of `count` places.
    Pick {
        /// The place, from 0: u32, one lane. Larger values select the last place.
        at: Expr,
        /// The number of places.
        count: usize,
        /// The movement of the window over the places.
        walk: Walk,
        /// The body.
        body: Vec<Stmt>,
    },
    /// Runs one of two blocks.
    If {
        /// Condition: the first value is below the second (u32, one lane).
        less: (Expr, Expr),
        /// The block if the condition holds.
        then: Vec<Stmt>,
        /// The block if the condition does not hold; may be empty.
        otherwise: Vec<Stmt>,
    },
    /// Last statement of a loop's body. Leaves the loop unless the first value is below the second
    /// (u32, one lane).
    LeaveUnless {
        /// The two values.
        less: (Expr, Expr),
    },
    /// Copies f32 elements in another order, or encodes lines of f32 elements.
    Copy(Copied),
    /// Sums of integer products over many rows and columns, for instruction sets with
    /// [tiles](crate::arch::Dot::Tiles) or with sums [across](crate::arch::Dot::Across) lanes.
    Tiles(Tiles),
    /// Sums of products over the blocks of weights that are not zero.
    Blocks(BlockSums),
    /// A comment line.
    Comment(String),
}

/// A strided copy, or a strided addition to the destination.
///
/// `to[to_offset + sum i_d * to_stride_d] = from[from_offset + sum i_d * from_stride_d]` for all
/// `i_d < extent_d`, or `+=`, with the offsets of the places. With an encoding, the innermost loop
/// writes [`Encoding::len`] elements.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Copied {
    /// The first element to read.
    pub from: Place,
    /// The first element to write.
    pub to: Place,
    /// The loops, outermost first.
    pub dims: Vec<CopiedDim>,
    /// True to add to the destination. Packing only.
    pub add: bool,
    /// The encoding of each line. Kernels use [`Encoding::F32`] and [`Encoding::LowBytes`]; packing
    /// uses all encodings but `LowBytes`.
    pub encoding: Encoding,
    /// Interleave factor: elements of an encoded line that are neighbours in the destination. The
    /// stride of the innermost loop is the distance between groups of neighbours.
    pub abreast: usize,
    /// True if the halves of four neighbouring words are interleaved: first the low halves of all
    /// four words, then the high halves. Groups of four words start at multiples of four of the
    /// buffer.
    pub interleaves_halves: bool,
    /// Words of an encoded line of compile-time weights with two elements per word: the second
    /// element of a word is `words` elements after the first, or 0 beyond the line. `None`: half
    /// the number of elements, rounded up.
    pub words: Option<usize>,
    /// The places of encoded words whose blocks are not zero; other words are left out. Strides of
    /// the destination are unused. Packing of compile-time weights only.
    pub blocks: Option<BlockPlaces>,
}

/// Sums of products of integers. The words of operands and sums are the bits of f32 elements.
///
/// `to[row * pitch + panel * columns + column]` becomes the sum over `k` of [`LaneOp::DotQuads`] or
/// [`LaneOp::DotPairs`] of `elements[row * words + k]` and `weights[panel * stride + k / abreast *
/// step + column * abreast + k % abreast]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tiles {
    /// The first word of the first row of elements.
    pub elements: Place,
    /// The first word of the first panel.
    pub weights: Place,
    /// The first sum.
    pub to: Place,
    /// Rows of elements.
    pub rows: usize,
    /// Words per row of elements and per column of weights.
    pub words: usize,
    /// Elements per word: 4 or 2.
    pub in_word: usize,
    /// Interleave factor: neighbouring words of a column of weights.
    pub abreast: usize,
    /// Elements between groups of neighbouring words.
    pub step: usize,
    /// Columns of a panel, over all its sums.
    pub columns: usize,
    /// Panels.
    pub panels: usize,
    /// Elements between panels.
    pub stride: usize,
    /// Elements between the sums of successive rows.
    pub pitch: usize,
}

/// One loop of a [`Copied`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CopiedDim {
    /// The number of iterations.
    pub extent: usize,
    /// Elements between reads. Negative: backwards; 0: one element repeatedly.
    pub from_stride: isize,
    /// Elements between writes.
    pub to_stride: usize,
}

/// The type of a value. All lanes have one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Type {
    /// The type of a lane.
    pub scalar: Scalar,
    /// The number of lanes: 1, 2, 4, 8, 16, ...
    pub lanes: usize,
}

/// The type of a lane.
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
    /// f32: if a > b then a else b (b for a NaN operand, and for two zeros)
    Max,
    /// f32: if a < b then a else b (b for a NaN operand, and for two zeros)
    Min,
    /// f32: the larger of |a| and b, compared by their bits, with NaN above infinity; b has no sign
    MaxMagnitude,
    /// f32, f32, f32, f32: if a < b then c else d
    SelectLess,
    /// f32: +0 if |a| < [`FLUSH_BELOW`] else a (a NaN stays)
    Flush,
    /// f32 -> u32: the bits
    ToBits,
    /// u32 -> f32: the number with these bits
    FromBits,
    /// u32 -> f32: the number in two's complement, rounded once
    FromSigned,
    /// u32: c + the products of the two signed 16-bit halves of a and b, wrapping
    DotPairs,
    /// u32: c + the products of the four signed bytes of a and b, wrapping
    DotQuads,
    /// u32: `DotQuads` with unsigned bytes of b
    DotUnsignedQuads,
    /// u32: c + the products of two signed halves of a with the halves of one lane of b, wrapping.
    /// The halves are interleaved ([`Copied::interleaves_halves`]): of n lanes, lane k has the k-th
    /// and the (n + k)-th half
    DotPairsByLane(usize),
    /// u32: `DotQuads` with one lane of b for all lanes
    DotQuadsByLane(usize),
    /// u32: c + the products of the signed bytes 0 and 2 of a with the signed halves of b, wrapping
    WidenAndMultiplyEven,
    /// u32: c + the products of the signed bytes 1 and 3 of a with the signed halves of b, wrapping
    WidenAndMultiplyOdd,
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
    /// The infix operator, if the operation is written with one.
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
            | Self::DotPairsByLane(_)
            | Self::DotQuadsByLane(_)
            | Self::WidenAndMultiplyEven
            | Self::WidenAndMultiplyOdd => {
                return None;
            }
        })
    }

    /// True if the operation adds products of integers to a sum.
    pub fn is_dot(self) -> bool {
        use LaneOp as O;
        matches!(
            self,
            O::DotPairs
                | O::DotQuads
                | O::DotUnsignedQuads
                | O::WidenAndMultiplyEven
                | O::WidenAndMultiplyOdd
        ) || self.lane().is_some()
    }

    /// The lane of the second operand that multiplies every lane of the first. `None`: each lane is
    /// combined with the same lane of all operands.
    pub fn lane(self) -> Option<usize> {
        match self {
            Self::DotPairsByLane(lane) | Self::DotQuadsByLane(lane) => Some(lane),
            _ => None,
        }
    }

    /// The type of a lane of the result.
    pub fn result(self) -> Scalar {
        match self {
            Self::Add
            | Self::Sub
            | Self::Mul
            | Self::Div
            | Self::MulAdd
            | Self::Max
            | Self::Min => Scalar::F32,
            Self::MaxMagnitude
            | Self::SelectLess
            | Self::Flush
            | Self::FromBits
            | Self::FromSigned => Scalar::F32,
            Self::ToBits
            | Self::WrappingAdd
            | Self::WrappingSub
            | Self::And
            | Self::Or
            | Self::Xor => Scalar::U32,
            Self::ShiftLeft(_) | Self::ShiftRight(_) => Scalar::U32,
            Self::DotPairs | Self::DotQuads | Self::DotUnsignedQuads => Scalar::U32,
            Self::WidenAndMultiplyEven | Self::WidenAndMultiplyOdd => Scalar::U32,
            Self::DotPairsByLane(_) | Self::DotQuadsByLane(_) => Scalar::U32,
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
        /// The number of elements.
        lanes: usize,
    },
    /// One element in every lane.
    Splat {
        /// The element.
        from: Place,
        /// The number of lanes.
        lanes: usize,
    },
    /// A constant in every lane, given by its bits.
    Const {
        /// The bits of a lane.
        bits: u32,
        /// The type.
        ty: Type,
    },
    /// An element of an integer buffer minus `least`, clamped to 0..=`most`, as u32 in one lane.
    Length {
        /// The element.
        from: Place,
        /// The subtrahend; 0 for lengths.
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
    /// The proposed name.
    pub name: String,
    /// The type.
    pub ty: Type,
}

/// A scalar function from f32 to f32, without memory: an activation. Symbolic until a pass expands
/// it to arithmetic.
///
/// Kernels apply the function to every lane; its locals have one lane.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalarFunction {
    /// The activation's name.
    pub name: String,
    /// Formula and accuracy, for the comment in generated code.
    pub doc: Vec<String>,
    /// The locals; the first [`Self::params`] are the arguments.
    pub locals: Vec<Local>,
    /// The number of arguments.
    pub params: usize,
    /// `Let` and `Comment` only; empty while symbolic.
    pub body: Vec<Stmt>,
    /// The result, f32; `None` while symbolic.
    pub result: Option<Expr>,
}

impl ScalarFunction {
    /// The number of operations.
    pub fn operations(&self) -> usize {
        fn operations_in(expr: &Expr) -> usize {
            match expr {
                Expr::Op(_, args) => 1 + args.iter().map(operations_in).sum::<usize>(),
                _ => 0,
            }
        }
        let values = self
            .body
            .iter()
            .filter_map(|stmt| if let Stmt::Let { value, .. } = stmt { Some(value) } else { None });
        values.chain(&self.result).map(operations_in).sum()
    }
}

/// The loops of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Loops {
    /// Loops stay loops.
    #[default]
    Kept,
    /// A pass unrolls all loops completely.
    Unrolled,
    /// Products have no loops, and a pass removes products of zero weights.
    WithoutZeros,
}

/// One piece of the work of a step, such as a cell or a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kernel {
    /// The proposed name.
    pub name: String,
    /// The purpose, for the comment in generated code.
    pub doc: Vec<String>,
    /// The kernel's buffer arguments in order; `true` for written buffers.
    pub params: Vec<(BufferId, bool)>,
    /// The kernel's private scratch buffers.
    pub scratch: Vec<BufferId>,
    /// The kernel's values.
    pub locals: Vec<Local>,
    /// Hints for compilers.
    pub hints: Hints,
    /// The statements.
    pub body: Vec<Stmt>,
    /// The loops of the kernel.
    pub loops: Loops,
    /// True if the kernel may run concurrently with the kernel before it.
    pub concurrent: bool,
    /// The operations of the model that the statements compute, by index; for reports.
    pub nodes: Vec<usize>,
}

impl Kernel {
    /// The sums of a loop that only adds rows of weights: each iteration reads one row and one
    /// element, and the element multiplies the columns of every sum. Returns the sums, their lanes,
    /// the offset of the first sum's columns in a row, and the distance to the next sum's columns.
    /// `None` for any other loop, and if hints name one of the sums or windows.
    pub fn row_sums(
        &self,
        walks: &[Walk],
        body: &[Stmt],
    ) -> Option<(Vec<Var>, usize, usize, usize)> {
        let [rows, elements] = walks else { return None };
        let [Stmt::Let { var: element, value: Expr::Splat { from, lanes }, .. }, sums @ ..] = body
        else {
            return None;
        };
        let is_plain = |walk: &Walk| {
            !walk.reverse && !walk.written && !self.hints.unrelated.contains(&walk.window)
        };
        let one_element =
            *from == elements.window.into() && (elements.stride, elements.len) == (1, 1);
        if sums.is_empty() || !one_element || !is_plain(rows) || !is_plain(elements) {
            return None;
        }
        let sum = |stmt: &Stmt| {
            let Stmt::Set { var, value: Expr::Op(LaneOp::MulAdd, args) } = stmt else {
                return None;
            };
            let [Expr::Load { from, lanes: n }, Expr::Var(other), Expr::Var(sum)] = &args[..]
            else {
                return None;
            };
            let is_row = from.base == Base::Window(rows.window)
                && n == lanes
                && other == element
                && sum == var;
            let is_hinted = self.hints.chains.contains(var) || self.hints.meanwhile.contains(var);
            (is_row && !is_hinted).then_some((*var, from.offset))
        };
        let sums = sums.iter().map(sum).collect::<Option<Vec<_>>>()?;
        let first = sums[0].1;
        let sum_stride = sums.get(1).map_or(0, |(_, second)| second.wrapping_sub(first));
        let is_even = sums
            .iter()
            .enumerate()
            .all(|(at, (_, offset))| *offset == first.wrapping_add(at * sum_stride));
        is_even.then(|| (sums.into_iter().map(|(var, _)| var).collect(), *lanes, first, sum_stride))
    }
}

/// One step of a model: the memory, and one body per instruction set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// Alignment of every buffer, in bytes.
    pub alignment: usize,
    /// The memory shared by all bodies: all buffers except scratch memory and parts of other
    /// buffers.
    pub buffers: Vec<Buffer>,
    /// Fills the weight buffers by copies. Elements without a copy are zero.
    pub packing: Kernel,
    /// Parameters that [`LaneOp::Flush`] processes before the first kernel.
    pub flushed_before: Vec<BufferId>,
    /// By variable of the model: the layout of a variable that is a delay line. The buffers of
    /// all other variables are in the order of the model.
    pub delay_lines: BTreeMap<usize, DelayLine>,
    /// The most steps that [`Body::step_block`] computes. 0 or 1: no body has such kernels.
    pub steps_at_once: usize,
    /// The contents of the buffers with the role [`Role::Table`].
    pub tables: Vec<(BufferId, Vec<u32>)>,
    /// The bodies, one per instruction set.
    pub bodies: Vec<Body>,
}

/// A step on one instruction set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Body {
    /// The body's private memory: scratch, and parts of other buffers. Numbers continue those of
    /// the program's buffers.
    pub scratch: Vec<Buffer>,
    /// The activations that kernels call.
    pub functions: Vec<ScalarFunction>,
    /// The kernels of a step in order, then those of [`Self::step_block`].
    pub kernels: Vec<Kernel>,
    /// The block: one memory area for the scratch buffers that are parameters of kernels. Each
    /// buffer has an aligned offset in elements, in the order of the buffers. Buffers with disjoint
    /// lifetimes may share memory; buffers of one kernel never do.
    pub block: Vec<(BufferId, usize)>,
    /// Elements of the block.
    pub block_len: usize,
    /// The kernels that compute several steps together.
    pub step_block: Option<StepBlock>,
}

/// Kernels that compute up to [`Program::steps_at_once`] steps together: the last kernels of a
/// body, in order. If a call has fewer steps, the kernels compute surplus steps, whose results are
/// overwritten before a kernel reads them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepBlock {
    /// The number of kernels.
    pub kernels: usize,
    /// The scratch buffer with the input, read by the first kernel: step by step, each as the
    /// Parameter.
    pub input: BufferId,
    /// The scratch buffer with the output, written by the last kernel: step by step, each as the
    /// Result.
    pub output: BufferId,
}

/// A reference to a body of a program, with access to the program's memory.
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
    /// The role without the index of the tensor.
    pub fn kind(self) -> Self {
        match self {
            Self::Parameter(_) => Self::Parameter(0),
            Self::Result(_) => Self::Result(0),
            Self::Constant(_) => Self::Constant(0),
            Self::Variable(_) => Self::Variable(0),
            Self::Phase(_) => Self::Phase(2),
            Self::Part { .. } => Self::Part { whole: BufferId(0), at: 0 },
            Self::Weights | Self::Table | Self::Backwards | Self::Scratch => self,
        }
    }
}

impl Program {
    /// The alignment in elements of four bytes.
    pub fn aligned_elements(&self) -> usize {
        (self.alignment / 4).max(1)
    }

    /// The shared buffer with this number.
    pub fn buffer(&self, id: BufferId) -> &Buffer {
        &self.buffers[id.0]
    }

    /// The first shared buffer with this role, if any.
    pub fn find(&self, role: Role) -> Option<BufferId> {
        self.buffers.iter().position(|buffer| buffer.role == role).map(BufferId)
    }

    /// The contents of a variable's buffer before step `step`, from the variable's values in the
    /// order of the model.
    pub fn variable_memory(&self, variable: usize, values: &[f32], step: usize) -> Vec<f32> {
        match self.delay_lines.get(&variable) {
            Some(line) => line.in_rows(values, step % line.period()),
            None => values.to_vec(),
        }
    }

    /// The inverse of [`Self::variable_memory`].
    pub fn variable_values(&self, variable: usize, memory: &[f32], step: usize) -> Vec<f32> {
        match self.delay_lines.get(&variable) {
            Some(line) => line.in_order_of_time(memory, step % line.period()),
            None => memory.to_vec(),
        }
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
    /// The offset of a buffer in the block. `None` if the buffer is outside the block.
    pub fn block_place(&self, id: BufferId) -> Option<usize> {
        self.block.binary_search_by_key(&id, |(part, _)| *part).ok().map(|at| self.block[at].1)
    }

    /// The kernels of a step in order.
    pub fn of_step(&self) -> &[Kernel] {
        &self.kernels[..self.kernels.len() - self.of_steps().len()]
    }

    /// The kernels that compute several steps together, in order.
    pub fn of_steps(&self) -> &[Kernel] {
        let count = self.step_block.as_ref().map_or(0, |step_block| step_block.kernels);
        &self.kernels[self.kernels.len() - count..]
    }

    /// The kernels of a step in order, in groups of one or two concurrent kernels.
    pub fn groups(&self) -> impl Iterator<Item = &[Kernel]> {
        self.of_step().chunk_by(|_, next| next.concurrent)
    }

    /// True if some kernels may run concurrently.
    pub fn has_halves(&self) -> bool {
        self.kernels.iter().any(|kernel| kernel.concurrent)
    }
}

impl<'p> BodyRef<'p> {
    /// All memory: the shared buffers, then the body's private buffers.
    pub fn buffers(self) -> impl Iterator<Item = &'p Buffer> {
        self.program.buffers.iter().chain(&self.body.scratch)
    }

    /// The bytes of the largest private memory of a kernel, its alignment included. Generated code
    /// keeps this memory on the stack, beside spilled registers.
    pub fn array_bytes(self, aligned: AlignedArrays) -> usize {
        let of_kernel = |kernel: &Kernel| {
            let loaded = kernel.loaded_lanes();
            let bytes = |id: &BufferId| {
                let buffer = self.buffer(*id);
                let bytes = buffer.len * buffer.element.size();
                match aligned == AlignedArrays::All || loaded.contains(&Base::Buffer(*id)) {
                    true => bytes.next_multiple_of(self.program.alignment),
                    false => bytes,
                }
            };
            kernel.scratch.iter().map(bytes).sum()
        };
        self.body.kernels.iter().map(of_kernel).max().unwrap_or(0)
    }

    /// The buffer with this number, if any.
    pub fn get(self, id: BufferId) -> Option<&'p Buffer> {
        let shared = &self.program.buffers;
        shared.get(id.0).or_else(|| self.body.scratch.get(id.0.checked_sub(shared.len())?))
    }

    /// The buffer with this number.
    pub fn buffer(self, id: BufferId) -> &'p Buffer {
        self.get(id).unwrap_or_else(|| panic!("no buffer {}", id.0))
    }

    /// The buffer that contains a part, and the index of the part's first element. For a buffer
    /// that is no part, the buffer itself and 0.
    pub fn whole(self, id: BufferId) -> (BufferId, usize) {
        match self.buffer(id).role {
            Role::Part { whole: buffer, at } => (buffer, at),
            _ => (id, 0),
        }
    }

    /// True if a kernel reads the buffer of role `read` while or after a kernel writes the buffer
    /// of role `written`, so that the two buffers cannot share memory.
    pub fn reads_when_written(self, read: Role, written: Role) -> bool {
        let uses = |group: &[Kernel], role: Role, write: bool| {
            let mut params = group.iter().flat_map(|kernel| &kernel.params);
            params
                .any(|(id, writes)| *writes == write && self.buffer(self.whole(*id).0).role == role)
        };
        self.groups()
            .skip_while(|group| !uses(group, written, true))
            .any(|group| uses(group, read, false))
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
    /// A copy without encoding.
    pub fn new(from: impl Into<Place>, to: impl Into<Place>, dims: Vec<CopiedDim>) -> Self {
        Self {
            from: from.into(),
            to: to.into(),
            dims,
            add: false,
            encoding: Encoding::F32,
            abreast: 1,
            interleaves_halves: false,
            words: None,
            blocks: None,
        }
    }

    /// The loops over the destination. With an encoding, they count encoded elements.
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
    /// The extents, in elements, of x or h, weights and sums. `None` without rows, words or panels,
    /// and on overflow.
    pub fn reach(&self) -> Option<[usize; 3]> {
        let beyond = |count: usize, step: usize, last: usize| {
            count.checked_sub(1)?.checked_mul(step)?.checked_add(last)
        };
        let panel =
            beyond(self.words / self.abreast, self.step, self.columns.checked_mul(self.abreast)?)?;
        let row = self.panels.checked_mul(self.columns)?;
        Some([
            self.rows.checked_mul(self.words)?,
            beyond(self.panels, self.stride, panel)?,
            beyond(self.rows, self.pitch, row)?,
        ])
    }

    /// The operation that adds the products of two words.
    pub fn operation(&self) -> LaneOp {
        if self.in_word == 4 { LaneOp::DotQuads } else { LaneOp::DotPairs }
    }

    /// Iterations of a loop that takes `at_once` groups of neighbouring words per column, and the
    /// groups left over. A single iteration needs no loop: all its groups are left over.
    pub fn iterations(&self, at_once: usize) -> (usize, usize) {
        let groups = self.words / self.abreast;
        let iterations = if groups / at_once > 1 { groups / at_once } else { 0 };
        (iterations, groups - iterations * at_once)
    }

    /// The number of products of words.
    pub fn products(&self) -> usize {
        [self.rows, self.words, self.columns, self.panels]
            .into_iter()
            .fold(1, usize::saturating_mul)
    }
}

impl Walk {
    /// The extent, in elements, of `count` windows. `None` for no windows, or on overflow.
    pub fn reach(&self, count: usize) -> Option<usize> {
        count.checked_sub(1)?.checked_mul(self.stride)?.checked_add(self.len)
    }
}

impl Kernel {
    /// The copies between buffers, each with its source and its destination.
    pub fn copies(&self) -> impl Iterator<Item = (&Copied, BufferId, BufferId)> {
        self.body.iter().filter_map(|stmt| match stmt {
            Stmt::Copy(copied) => match (copied.from.base, copied.to.base) {
                (Base::Buffer(from), Base::Buffer(to)) => Some((copied, from, to)),
                _ => None,
            },
            _ => None,
        })
    }

    /// The most accumulators of type `scalar` that one block declares: they are live together.
    pub fn most_accumulators(&self, scalar: Scalar) -> usize {
        self.most_accumulators_in(&self.body, scalar)
    }

    fn most_accumulators_in(&self, block: &[Stmt], scalar: Scalar) -> usize {
        let is_one = |stmt: &&Stmt| match stmt {
            Stmt::Let { var, mutable: true, .. } => self.locals[var.0].ty.scalar == scalar,
            _ => false,
        };
        let accumulators = block.iter().filter(is_one).count();
        let inner = block.iter().map(|stmt| match stmt {
            Stmt::For { body, .. } | Stmt::Pick { body, .. } => {
                self.most_accumulators_in(body, scalar)
            }
            Stmt::If { then, otherwise, .. } => [then, otherwise]
                .map(|part| self.most_accumulators_in(part, scalar))
                .into_iter()
                .max()
                .unwrap_or(0),
            _ => 0,
        });
        inner.chain([accumulators]).max().unwrap_or(0)
    }
}

impl Stmt {
    /// A loop of `count` iterations whose body does not read the number of the iteration.
    pub(crate) fn repeat(count: usize, walks: Vec<Walk>, body: Vec<Stmt>) -> Self {
        Self::For { count, counter: None, backwards: None, walks, body }
    }
}

impl Expr {
    /// An f32 constant in every lane.
    pub fn f32(value: f32, lanes: usize) -> Self {
        Self::Const { bits: value.to_bits(), ty: Type { scalar: Scalar::F32, lanes } }
    }

    /// The type of the value. `locals` are those of the kernel or function.
    pub fn ty(&self, locals: &[Local]) -> Type {
        match self {
            Self::Load { lanes, .. } | Self::Splat { lanes, .. } => Type::f32(*lanes),
            Self::Const { ty, .. } => *ty,
            Self::Length { .. } => Type { scalar: Scalar::U32, lanes: 1 },
            Self::Var(var) => locals[var.0].ty,
            Self::Op(operation, args) => Type {
                scalar: operation.result(),
                lanes: args.first().map_or(1, |a| a.ty(locals).lanes),
            },
            Self::Call(_, args) => Type::f32(args.first().map_or(1, |a| a.ty(locals).lanes)),
        }
    }

    /// True if the expression or any nested operand satisfies the predicate.
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
    /// The kernel without a name, operations of the model and concurrency, and with buffers
    /// numbered by declaration. Kernels that are equal in this form share their text.
    pub fn anonymous(&self) -> Self {
        let buffers = self.params.iter().map(|(id, _)| id).chain(&self.scratch);
        let numbers: BTreeMap<BufferId, BufferId> =
            buffers.enumerate().map(|(i, id)| (*id, BufferId(i))).collect();
        let mut kernel =
            Self { name: String::new(), nodes: Vec::new(), concurrent: false, ..self.clone() };
        kernel.params.iter_mut().for_each(|(id, _)| *id = numbers[id]);
        kernel.scratch.iter_mut().for_each(|id| *id = numbers[id]);
        renumber(&mut kernel.body, &numbers);
        kernel
    }

    /// The number of function calls in the kernel's text.
    pub fn calls(&self) -> usize {
        calls(&self.body)
    }

    /// Declares a value.
    pub fn local(&mut self, name: impl Into<String>, ty: Type) -> Var {
        self.locals.push(Local { name: name.into(), ty });
        Var(self.locals.len() - 1)
    }
}

/// Renumbers the buffers of statements.
fn renumber(body: &mut [Stmt], numbers: &BTreeMap<BufferId, BufferId>) {
    fn renumbered(place: &mut Place, numbers: &BTreeMap<BufferId, BufferId>) {
        if let Base::Buffer(id) = &mut place.base {
            *id = numbers[id];
        }
    }
    fn expr(e: &mut Expr, numbers: &BTreeMap<BufferId, BufferId>) {
        match e {
            Expr::Load { from, .. } | Expr::Splat { from, .. } | Expr::Length { from, .. } => {
                renumbered(from, numbers)
            }
            Expr::Op(_, args) | Expr::Call(_, args) => {
                args.iter_mut().for_each(|arg| expr(arg, numbers))
            }
            Expr::Const { .. } | Expr::Var(_) => {}
        }
    }
    for stmt in body {
        match stmt {
            Stmt::Let { value, .. } | Stmt::Set { value, .. } => expr(value, numbers),
            Stmt::Store { to, value } => {
                renumbered(to, numbers);
                expr(value, numbers);
            }
            Stmt::For { walks, body, .. } => {
                walks.iter_mut().for_each(|walk| renumbered(&mut walk.start, numbers));
                renumber(body, numbers);
            }
            Stmt::Pick { at, walk, body, .. } => {
                expr(at, numbers);
                renumbered(&mut walk.start, numbers);
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
                renumbered(&mut copied.from, numbers);
                renumbered(&mut copied.to, numbers);
            }
            Stmt::Tiles(Tiles { elements, weights, to, .. }) => {
                [elements, weights, to].into_iter().for_each(|other| renumbered(other, numbers));
            }
            Stmt::Blocks(sums) => {
                *sums = sums.at(|mut of| {
                    renumbered(&mut of, numbers);
                    of
                });
            }
            Stmt::Comment(_) => {}
        }
    }
}

fn calls(body: &[Stmt]) -> usize {
    fn calls_in(expr: &Expr) -> usize {
        match expr {
            Expr::Op(_, args) => args.iter().map(calls_in).sum(),
            Expr::Call(_, args) => 1 + args.iter().map(calls_in).sum::<usize>(),
            _ => 0,
        }
    }
    let stmt = |stmt: &Stmt| match stmt {
        Stmt::Let { value, .. } | Stmt::Set { value, .. } | Stmt::Store { value, .. } => {
            calls_in(value)
        }
        Stmt::For { body, .. } => calls(body),
        Stmt::Pick { at, body, .. } => calls_in(at) + calls(body),
        Stmt::If { then, otherwise, .. } => calls(then) + calls(otherwise),
        Stmt::LeaveUnless { .. }
        | Stmt::Copy(_)
        | Stmt::Tiles(_)
        | Stmt::Blocks(_)
        | Stmt::Comment(_) => 0,
    };
    body.iter().map(stmt).sum()
}
