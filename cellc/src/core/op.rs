//! The core operations.

use super::{Convolve, CoreCell, Source, WeightSource};
use crate::model::{Activation, ElementType, LedgerEntry};

/// One operation, all sizes known.
#[derive(Clone, Debug, PartialEq)]
pub struct CoreNode {
    /// The layer's name; may be anything.
    pub name: String,
    /// The layer's type in the input, for messages: `GRUCell`.
    pub kind: String,
    /// The operation.
    pub op: CoreOp,
    /// The interpretation of each attribute.
    pub ledger: Vec<LedgerEntry>,
    /// The place of the input's node, translated into this operation.
    pub layer: LayerPlace,
}

/// The place of a node among those of the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayerPlace {
    /// Index of the node, or of the loop or If around the node, in the graph of the model.
    pub outer: usize,
    /// Index of the node in the innermost graph around the node.
    pub inner: usize,
}

/// The operation of a [`CoreNode`].
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)] // cells are what models are made of
pub enum CoreOp {
    /// A recurrent cell, one step or a sequence in one direction.
    Cell(CoreCell),
    /// `y[r, :] = x[r, :] W`, W fixed.
    Dense(Dense),
    /// `y[b] = a[b] b[b]`, both computed.
    MatMul(MatMul),
    /// Windows of stride 1, times fixed weights.
    Convolve(Convolve),
    /// Element by element.
    Pointwise(Pointwise),
    /// Along one axis.
    Softmax(Softmax),
    /// Neighbouring axes become one element.
    Reduce(Reduce),
    /// Elements in another order: a permutation, a selection or a repetition.
    View(View),
    /// Side by side.
    Concat(Concat),
    /// A body, again and again.
    Loop(CoreLoop),
    /// An integer input, converted for kernels.
    Integers(Integers),
    /// Rows of a table, by number.
    Lookup(Lookup),
    /// The largest or smallest elements of every row.
    TopK(TopK),
}

/// Integers are clamped to -2^22..=2^22 - 1: f32 holds integers of this range, and sums of a few,
/// exactly.
pub const LARGEST_INTEGER: i32 = 1 << 22;

impl Integers {
    /// The range of integers of this type in computations.
    pub fn limits(element: ElementType) -> [i32; 2] {
        match element {
            ElementType::Bool => [0, 1],
            ElementType::I4 => [-8, 7],
            ElementType::U4 => [0, 15],
            ElementType::I8 => [i8::MIN.into(), i8::MAX.into()],
            ElementType::U8 => [0, u8::MAX.into()],
            ElementType::I16 => [i16::MIN.into(), i16::MAX.into()],
            ElementType::U16 => [0, u16::MAX.into()],
            ElementType::U32 | ElementType::U64 => [0, LARGEST_INTEGER - 1],
            _ => [-LARGEST_INTEGER, LARGEST_INTEGER - 1],
        }
    }
}

/// An input of integers or booleans as f32.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Integers {
    /// The i-th of `CoreModel::parameters`.
    pub parameter: usize,
    /// Lower clamp: smaller elements are treated as this value.
    pub least: i32,
    /// Upper clamp: larger elements are treated as this value. Less than 2^23 above the lower
    /// clamp.
    pub most: i32,
    /// The value.
    pub out: usize,
}

/// `out[k, :] = table[indices[k], :]`. Negative indices count from the end; indices beyond an end
/// are clamped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// `[size, len]`
    pub table: Source,
    /// Rows of the table.
    pub size: usize,
    /// Elements of a row.
    pub len: usize,
    /// Whole numbers.
    pub indices: Source,
    /// The value.
    pub out: usize,
}

/// The `count` largest or smallest elements of each row, best first. Of equal elements the first
/// wins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopK {
    /// `[rows, size]`
    pub input: Source,
    /// Rows.
    pub rows: usize,
    /// Elements of a row.
    pub size: usize,
    /// Selected elements per row.
    pub count: usize,
    /// True for the largest elements, false for the smallest.
    pub largest: bool,
    /// True if the last of equal elements comes first.
    pub last: bool,
    /// The elements, `[rows, count]`, as a value. `None` if unused.
    pub values: Option<usize>,
    /// Their places in the row, as `values`.
    pub places: Option<usize>,
}

/// A product with a fixed matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    /// Rows of x: the product of all outer dimensions.
    pub rows: usize,
    /// The length of a row of x.
    pub inputs: usize,
    /// The length of a row of y.
    pub outputs: usize,
    /// x
    pub x: Source,
    /// W: `[inputs, outputs]`, or transposed `[outputs, inputs]`.
    pub w: WeightSource,
    /// True if W is transposed.
    pub transposed: bool,
    /// The number of chains of additions per sum, a power of two.
    pub chains: usize,
    /// y as a value.
    pub out: usize,
}

impl Dense {
    /// The number of chains for a layer of these sizes. A layer with one output has several chains,
    /// to hide the latency of additions, each with at least four terms. A convolution always has
    /// one chain.
    pub fn chains(inputs: usize, outputs: usize) -> usize {
        let most = if outputs == 1 { 8 } else { 1 };
        [8, 4, 2].into_iter().find(|&chains| chains <= most && chains * 4 <= inputs).unwrap_or(1)
    }
}

/// Products of two computed matrices, in C order.
#[derive(Clone, Debug, PartialEq)]
pub struct MatMul {
    /// The number of products.
    pub batch: usize,
    /// Rows of a.
    pub rows: usize,
    /// Columns of a, rows of b.
    pub inner: usize,
    /// Columns of b.
    pub columns: usize,
    /// `[batch, rows, inner]`
    pub a: Source,
    /// `[batch, inner, columns]`
    pub b: Source,
    /// `[batch, rows, columns]`, as a value.
    pub out: usize,
}

/// An operation element by element; inputs broadcast to the shape of the output by NumPy's rules.
#[derive(Clone, Debug, PartialEq)]
pub struct Pointwise {
    /// The operation.
    pub function: PointwiseFunction,
    /// The operands.
    pub inputs: Vec<Source>,
    /// The value.
    pub out: usize,
}

/// The operation of a [`Pointwise`], rounded once.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)] // the names say it
pub enum PointwiseFunction {
    Activation(Activation),
    Add,
    Subtract,
    Multiply,
    Divide,
    /// The second operand if one is NaN.
    Maximum,
    /// The second operand if one is NaN.
    Minimum,
    /// v if v > 0, else v times the second input.
    PRelu,
    /// 1 if the first is below the second, else 0.
    Less,
    /// 1 if the first is at most the second, else 0; 0 for NaN.
    LessEqual,
    /// 1 if both are equal, else 0; 0 for NaN.
    Equal,
    /// The second if the first is 1, the third if the first is 0.
    Select,
}

impl PointwiseFunction {
    /// True if the smallest difference of operands may change the result: comparisons.
    pub fn decides(self) -> bool {
        use Activation as A;
        matches!(self, Self::Less | Self::LessEqual | Self::Equal | Self::Select)
            || matches!(self, Self::Activation(A::Floor | A::Round | A::Truncate))
    }

    /// The name in text.
    pub fn name(self) -> &'static str {
        match self {
            Self::Activation(activation) => activation.name(),
            Self::Add => "add",
            Self::Subtract => "subtract",
            Self::Multiply => "multiply",
            Self::Divide => "divide",
            Self::Maximum => "maximum",
            Self::Minimum => "minimum",
            Self::PRelu => "prelu",
            Self::Less => "less",
            Self::LessEqual => "less or equal",
            Self::Equal => "equal",
            Self::Select => "select",
        }
    }
}

/// `exp(v) / sum exp(v)` or its logarithm.
#[derive(Clone, Debug, PartialEq)]
pub struct Softmax {
    /// The axis.
    pub axis: usize,
    /// True for the logarithm.
    pub log: bool,
    /// The input.
    pub input: Source,
    /// The value, of the same shape.
    pub out: usize,
}

/// A reduction of all elements along neighbouring axes by one operation.
///
/// Chain `c` combines the elements c, c + chains, c + 2 chains and so on, in order. Then the first
/// half of the chains is combined with the second half, until one chain is left.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduce {
    /// Add, Multiply, Maximum or Minimum.
    pub function: PointwiseFunction,
    /// The first axis.
    pub first: usize,
    /// The axis after the last one.
    pub end: usize,
    /// The number of chains: a power of two, at most the number of elements.
    pub chains: usize,
    /// The input.
    pub input: Source,
    /// The value; the reduced axes have size 1.
    pub out: usize,
}

impl Reduce {
    /// The number of chains for `count` elements. The elements are neighbours if `inner` is 1.
    pub fn chains(size: usize, inner: usize) -> usize {
        if inner == 1 && size >= 32 { 16 } else { 1 }
    }

    /// Products of the input's sizes before the reduced axes, along the reduced axes, and after.
    pub fn extents(&self, shape: &[usize]) -> [usize; 3] {
        [&shape[..self.first], &shape[self.first..self.end], &shape[self.end..]]
            .map(|sizes| sizes.iter().product())
    }
}

/// `out[i0, i1, ..] = input[offset + sum i_d * strides_d]`, in elements of the input in C order;
/// always in range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The input.
    pub input: Source,
    /// The first element.
    pub offset: usize,
    /// By dimension of the value; 0 repeats.
    pub strides: Vec<isize>,
    /// The value.
    pub out: usize,
}

/// The concatenation of the inputs along one axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Concat {
    /// The axis.
    pub axis: usize,
    /// In order.
    pub inputs: Vec<Source>,
    /// The value.
    pub out: usize,
}

/// A body that runs `trips` times, at least once. The body's values are values of the model; the
/// body may read outer values directly.
#[derive(Clone, Debug, PartialEq)]
pub struct CoreLoop {
    /// The number of iterations.
    pub trips: usize,
    /// The sliced inputs, one piece per iteration.
    pub slices: Vec<LoopSlice>,
    /// The values passed from one iteration to the next.
    pub carried: Vec<LoopCarried>,
    /// The carried value with the loop condition, as index into [`super::CoreModel::values`].
    /// `None`: every iteration computes. If the condition is 0, an iteration passes its values on
    /// unchanged and its pieces are 0, so the remaining iterations need no computation.
    pub running: Option<usize>,
    /// In order.
    pub body: Vec<CoreNode>,
    /// The results.
    pub results: Vec<LoopResult>,
}

/// A sliced input: iteration `k` reads the k-th piece along an axis, in reverse the k-th from the
/// end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopSlice {
    /// The whole tensor; its size along the axis is `trips` times the size of a piece.
    pub of: Source,
    /// The axis.
    pub axis: usize,
    /// True if the first iteration reads the last piece.
    pub reverse: bool,
    /// The piece, as a value.
    pub piece: usize,
}

/// A loop-carried value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopCarried {
    /// The initial value.
    pub initial: Source,
    /// The value in the body.
    pub value: usize,
    /// The value for the next iteration.
    pub next: Source,
}

/// A result of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopResult {
    /// The value of one iteration.
    pub of: Source,
    /// The axis along which pieces are concatenated, and true if the first iteration's piece comes
    /// last. `None`: only the value of the last iteration.
    pub pieces: Option<(usize, bool)>,
    /// The value.
    pub out: usize,
}
