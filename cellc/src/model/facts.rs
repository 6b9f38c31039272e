//! The facts about each operation of a model. Readers and checks use facts instead of matching all
//! operations: a new operation fills one row of [`Op::facts`] or [`Elementwise::facts`]. The
//! translation matches all operations, without a default.

use std::ops::RangeInclusive;

use super::{
    Binary, BroadcastMode, Cell, Convolution, Elementwise, LinearAttention, NoAxes, Normalization,
    Op, Pool, Reduce, Reduction, Resize, SliceMasks,
};

/// The facts about one operation.
#[derive(Clone, Debug, PartialEq)]
pub struct OpFacts<'o> {
    /// The operation's name in messages that advise to add a layer.
    pub name: &'static str,
    /// The allowed numbers of inputs.
    pub inputs: RangeInclusive<usize>,
    /// The allowed numbers of outputs.
    pub outputs: RangeInclusive<usize>,
    /// The rank of the first output.
    pub rank: Rank,
    /// The rank of each later output. `None`: there is no later output.
    pub later_rank: Option<Rank>,
    /// The elements of the operands in the outputs.
    pub elements: Elements,
    /// The axes of the operands in the outputs.
    pub axes: Axes<'o>,
    /// The attributes whose numbers may be out of range.
    pub numbers: Numbers<'o>,
}

/// The attributes of an operation whose numbers may be out of range. `legality` judges them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Numbers<'o> {
    /// No real-valued attribute and no size. `Cell::wrong_attributes` checks recurrent cells.
    None,
    /// The parameters of a function of elements.
    Parameters(Elementwise),
    /// The epsilon of a normalisation.
    Epsilon(f32),
    /// The elements along each axis of a block.
    BlockSize(usize),
    /// The coefficient of a cubic interpolation.
    Resize(&'o Resize),
    /// The scale, the capacity and the heads of a linear attention.
    Attention(&'o LinearAttention),
}

/// The rank of an output of an operation, which follows from ranks and constants of the inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// A fixed rank.
    Fixed(usize),
    /// The rank of the first input.
    First,
    /// The largest rank of all inputs.
    Largest,
    /// The larger rank of two tensors of matrices. Unknown if an input is a vector.
    Product,
    /// The rank of the first input, and one more.
    FirstAndOne,
    /// The rank of the first input, plus the number of elements of the second input.
    Inserted,
    /// The rank of the first input, minus the number of elements of the second input, which must be
    /// present.
    Removed,
    /// As `Removed`. 0 if the second input is missing or empty.
    Reduced,
    /// The number of elements of the second input.
    Listed,
    /// As `Listed`, and at least the rank of the first input.
    AtLeastListed,
    /// The ranks of data and indices, less one.
    Indexed,
    /// Unknown without sizes.
    Unknown,
}

/// The elements of the operands in the outputs of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements {
    /// No elements: the operation has no operands, or its outputs depend on the sizes of the
    /// operands alone.
    None,
    /// Elements of the operands, unchanged, perhaps with zeros between them.
    Moved,
    /// Sums of elements of one operand.
    Sums,
    /// For each place, a function of one element of each operand.
    Elementwise {
        /// True for the sum of the operands.
        is_sum: bool,
    },
    /// Other functions of the elements.
    Computed,
}

impl Elements {
    /// True for moves of elements and for sums. An input counts as weights of a cell even if such
    /// operations lie between the input and the cell.
    pub fn keep_gates(self) -> bool {
        matches!(self, Self::Moved | Self::Sums | Self::Elementwise { is_sum: true })
    }
}

/// The axes of the operands in the outputs of an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Axes<'o> {
    /// Each axis of the operand; each element stays at its place.
    Same,
    /// Each axis of the operands, aligned at the last axis as NumPy broadcasts. The slopes of a
    /// PRelu may lie along axis 1.
    Broadcast(Elementwise),
    /// Each axis. The elements along one axis become weights with the sum 1.
    Softmax,
    /// Each axis, with normalised elements.
    Normalized(Normalization),
    /// The broadcast axes of the batch, then the rows of the first and the columns of the second
    /// factor.
    Product {
        /// True if the first factor is transposed.
        transpose_a: bool,
        /// True if the second factor is transposed.
        transpose_b: bool,
    },
    /// The axes in the order of the second input.
    Permuted,
    /// Each axis, and axes of size 1 at the places in the second input.
    Inserted,
    /// The axes, except axes of size 1 at the places in the second input.
    Removed,
    /// Other axes, over the elements in C order.
    Reshaped,
    /// Each axis; reduced axes have size 1 or are removed.
    Reduced,
    /// Each axis, cut by [`Op::Slice`].
    Sliced,
    /// The axes that the masks of [`Op::StridedSlice`] leave.
    Masked(&'o SliceMasks),
    /// Each axis, divided among the outputs along one axis.
    Split,
    /// Each axis; along one axis, the operands follow each other.
    Joined,
    /// The axes of the data, one of which is replaced by the axes of the indices.
    Indexed {
        /// The number of batch dimensions.
        batch_dims: i64,
    },
    /// Each axis, with padding at both ends.
    Padded,
    /// Batch, channels, and the positions of a convolution's windows.
    Convolved(&'o Convolution),
    /// Batch, channels, and the positions of a pool's windows.
    Pooled(&'o Pool),
    /// One new axis over the sizes of the operand.
    Sizes,
    /// Other axes.
    Other,
}

/// Exactly `count` inputs or outputs.
fn n(count: usize) -> RangeInclusive<usize> {
    count..=count
}

/// No limit for the number of inputs or outputs.
const ANY: usize = usize::MAX;

/// The numbers of inputs of a recurrent operation. The roles of its inputs decide the number.
const CELL_INPUTS: RangeInclusive<usize> = 0..=9;

/// A table of facts: for each operation the columns of [`OpFacts`]. A row without `=>` at its end
/// has [`Numbers::None`].
macro_rules! table {
    (
        $op:expr => $name:ident, $inputs:ident, $outputs:ident, $rank:ident, $later_rank:ident,
        $elements:ident, $axes:ident => $numbers:ident;
        $($variant:ident $(($($part:tt)*))? $({ $($field:tt)* })? =>
            $($column:expr),* $(=> $limited:expr)?;)*
    ) => {{
        let row = |$name, $inputs, $outputs, $rank, $later_rank, $elements, $axes, $numbers|
            OpFacts {
            $name, $inputs, $outputs, $rank, $later_rank, $elements, $axes, $numbers,
        };
        match $op {
            $(Self::$variant $(($($part)*))? $({ $($field)* })? =>
                row($($column),*, [$($limited,)? Numbers::None][0]),)*
        }
    }};
}

impl Op {
    /// The facts about the operation: a row of the table states each fact, without defaults but for
    /// [`Numbers::None`].
    #[rustfmt::skip] // rows stay rows
    pub fn facts(&self) -> OpFacts<'_> {
        use {Axes as A, Elements as E, Numbers as N, Rank as R};
        table! {
            self => name, inputs, outputs, rank, later_rank, elements, axes => numbers;
            Parameter => "Parameter", 0..=0, 1..=1, R::Unknown, None, E::None, A::Other;
            Constant(_) => "Const", 0..=0, 1..=1, R::Unknown, None, E::None, A::Other;
            Result => "Result", 1..=1, 0..=1, R::First, None, E::Moved, A::Same;
            Convert => "Convert", 1..=1, 1..=1, R::First, None, E::Moved, A::Same;
            Cell(cell) => cell.kind.op_name(), CELL_INPUTS, states(cell, 0),
                R::Unknown, Some(R::Unknown), E::Computed, A::Other;
            Sequence(cell, _) => cell.kind.sequence_name(), CELL_INPUTS, states(cell, 1),
                R::Fixed(4), Some(R::Fixed(3)), E::Computed, A::Other;
            Elementwise(function) => function.facts().name, n(function.facts().inputs), 1..=1,
                R::Largest, None, E::Elementwise { is_sum: function.is_sum() },
                A::Broadcast(*function) => N::Parameters(*function);
            MatMul { transpose_a, transpose_b } => "MatMul", 2..=2, 1..=1, R::Product, None,
                E::Computed, A::Product { transpose_a: *transpose_a, transpose_b: *transpose_b };
            Softmax(_) => "Softmax", 1..=1, 1..=1, R::First, None, E::Computed, A::Softmax;
            Reduce(reduce) => "Reduce", 1..=2, 1..=1,
                rank_of_reduced(reduce), None, reduced(reduce), A::Reduced;
            Normalize(by) => "Normalize", by.inputs(), 1..=1,
                R::First, None, E::Computed, A::Normalized(*by) => N::Epsilon(by.eps());
            Concat { .. } => "Concat", 1..=ANY, 1..=1, R::First, None, E::Moved, A::Joined;
            AppendToState => "AppendToState", 2..=2, 1..=1, R::First, None, E::Moved, A::Joined;
            Split { parts } => "Split", 2..=2, n(*parts),
                R::First, Some(R::First), E::Moved, A::Split;
            VariadicSplit => "VariadicSplit", 3..=3, 1..=ANY,
                R::First, Some(R::First), E::Moved, A::Split;
            Reshape { .. } => "Reshape", 2..=2, 1..=1, R::Listed, None, E::Moved, A::Reshaped;
            Squeeze { skip: false } => "Squeeze", 1..=2, 1..=1,
                R::Removed, None, E::Moved, A::Removed;
            Squeeze { skip: true } => "Squeeze", 1..=2, 1..=1,
                R::Unknown, None, E::Moved, A::Removed;
            Unsqueeze => "Unsqueeze", 2..=2, 1..=1, R::Inserted, None, E::Moved, A::Inserted;
            Transpose => "Transpose", 2..=2, 1..=1, R::First, None, E::Moved, A::Permuted;
            Gather { batch_dims: 0 } => "Gather", 3..=3, 1..=1,
                R::Indexed, None, E::Moved, A::Indexed { batch_dims: 0 };
            Gather { batch_dims } => "Gather", 3..=3, 1..=1,
                R::Unknown, None, E::Moved, A::Indexed { batch_dims: *batch_dims };
            Slice => "Slice", 4..=5, 1..=1, R::First, None, E::Moved, A::Sliced;
            StridedSlice(masks) => "StridedSlice", 3..=4, 1..=1,
                R::Unknown, None, E::Moved, A::Masked(masks);
            ReverseSequence(_) => "ReverseSequence", 2..=2, 1..=1,
                R::First, None, E::Moved, A::Other;
            ScatterUpdate => "ScatterUpdate", 4..=4, 1..=1, R::First, None, E::Moved, A::Other;
            ScatterNd { combine } => "ScatterND", 3..=3, 1..=1,
                R::First, None, replaced(*combine), A::Other;
            ScatterElements { combine } => "ScatterElements", 4..=4, 1..=1,
                R::First, None, replaced(*combine), A::Other;
            Blocks(blocks) => "Blocks", 1..=1, 1..=1, R::First, None, E::Moved, A::Other =>
                N::BlockSize(blocks.size);
            GatherElements { .. } => "GatherElements", 2..=2, 1..=1,
                R::First, None, E::Moved, A::Other;
            GatherNd(_) => "GatherND", 2..=2, 1..=1, R::Unknown, None, E::Moved, A::Other;
            Dft(_) => "DFT", 2..=3, 1..=1, R::Unknown, None, E::Computed, A::Other;
            Stft { .. } => "STFT", 3..=4, 1..=1, R::Unknown, None, E::Computed, A::Other;
            SpectralWindow(_) => "SpectralWindow", 1..=1, 1..=1,
                R::Fixed(1), None, E::Computed, A::Other;
            MelWeights => "MelWeightMatrix", 5..=5, 1..=1, R::Fixed(2), None, E::Computed, A::Other;
            Attention { .. } => "Attention", 3..=5, 1..=1, R::Unknown, None, E::Computed, A::Other;
            LinearAttention(attention) => "LinearAttention", n(inputs_of(attention)), 1..=2,
                R::First, Some(R::Fixed(4)), E::Computed, A::Other => N::Attention(attention);
            Broadcast(BroadcastMode::Explicit) => "Broadcast", 2..=3, 1..=1,
                R::Unknown, None, E::Moved, A::Other;
            Broadcast(BroadcastMode::Numpy | BroadcastMode::Bidirectional) =>
                "Broadcast", 2..=3, 1..=1, R::AtLeastListed, None, E::Moved, A::Other;
            Tile => "Tile", 2..=2, 1..=1, R::First, None, E::Moved, A::Other;
            RunningSum(_) => "CumSum", 2..=2, 1..=1, R::First, None, E::Computed, A::Other;
            OneHot(_) => "OneHot", 4..=4, 1..=1, R::FirstAndOne, None, E::Computed, A::Other;
            Triangle { .. } => "Trilu", 1..=2, 1..=1, R::First, None, E::Moved, A::Other;
            Unread(_) => "Unread", 0..=0, 0..=ANY,
                R::Unknown, Some(R::Unknown), E::Computed, A::Other;
            Eye => "Eye", 3..=3, 1..=1, R::Fixed(2), None, E::Computed, A::Other;
            Roll => "Roll", 3..=3, 1..=1, R::First, None, E::Moved, A::Other;
            EyeLike { .. } => "EyeLike", 1..=1, 1..=1, R::Fixed(2), None, E::None, A::Other;
            Einsum { equation } => "Einsum", 1..=ANY, 1..=1,
                rank_of_einsum(equation), None, E::Computed, A::Other;
            Resize(resize) => "Resize", 2..=3, 1..=1, R::First, None, E::Computed, A::Other =>
                N::Resize(resize);
            ShapeOf => "ShapeOf", 1..=1, 1..=1, R::Fixed(1), None, E::None, A::Sizes;
            Range { .. } => "Range", 3..=3, 1..=1, R::Fixed(1), None, E::Computed, A::Other;
            ReadValue { .. } => "ReadValue", 0..=1, 1..=1, R::Unknown, None, E::Computed, A::Other;
            Assign { .. } => "Assign", 1..=1, 0..=1, R::Unknown, None, E::Computed, A::Other;
            Convolution(convolution) => "Convolution", 2..=3, 1..=1,
                R::First, None, E::Computed, A::Convolved(convolution);
            Pool(pool) => "Pool", 1..=1, 1..=2,
                R::First, Some(R::First), E::Computed, A::Pooled(pool);
            Pad(_) => "Pad", 3..=5, 1..=1, R::First, None, E::Moved, A::Padded;
            TopK(_) => "TopK", 2..=2, 1..=2, R::First, Some(R::First), E::Computed, A::Other;
            Loop(_) => "Loop", 0..=ANY, 0..=ANY,
                R::Unknown, Some(R::Unknown), E::Computed, A::Other;
            If(_) => "If", 1..=ANY, 0..=ANY, R::Unknown, Some(R::Unknown), E::Computed, A::Other;
        }
    }
}

/// The allowed numbers of outputs of a recurrent operation: from one to `before` outputs, h, and c
/// if the cell has a cell state.
fn states(cell: &Cell, before: usize) -> RangeInclusive<usize> {
    1..=before + 1 + usize::from(cell.kind.has_cell_state())
}

/// The number of inputs of a linear attention.
fn inputs_of(attention: &LinearAttention) -> usize {
    let optional = [attention.rule.has_decay(), attention.rule.has_rate(), attention.has_past];
    3 + optional.map(usize::from).iter().sum::<usize>()
}

fn rank_of_reduced(reduce: &Reduce) -> Rank {
    match (reduce.keep, reduce.no_axes) {
        (true, _) => Rank::First,
        (false, NoAxes::All) => Rank::Reduced,
        (false, NoAxes::Same | NoAxes::Each) => Rank::Unknown,
    }
}

fn reduced(reduce: &Reduce) -> Elements {
    if reduce.reduction == Reduction::Sum { Elements::Sums } else { Elements::Computed }
}

/// The elements of data with replaced parts. `combine`: the operation of the old and new element.
fn replaced(combine: Option<Binary>) -> Elements {
    if combine.is_none() { Elements::Moved } else { Elements::Computed }
}

/// The rank of the result of an Einsum whose equation states the result. Unknown for other
/// equations and for `...`.
fn rank_of_einsum(equation: &str) -> Rank {
    match equation.split_once("->") {
        Some((_, result)) if !result.contains('.') => {
            Rank::Fixed(result.chars().filter(char::is_ascii_alphabetic).count())
        }
        _ => Rank::Unknown,
    }
}
