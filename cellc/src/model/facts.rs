//! The facts about each operation of a model. Readers and checks use facts instead of matching all
//! operations: a new operation fills one row of [`Op::facts`] or [`Elementwise::facts`]. The
//! translation matches all operations, without a default.

use std::ops::RangeInclusive;

use super::{
    Binary, BroadcastMode, Cell, Convolution, Elementwise, ElementwiseFacts, NoAxes, Normalization,
    Op, Pool, Reduce, Reduction, SliceMasks,
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
    /// The elements of the operands in the outputs.
    pub elements: Elements,
    /// The axes of the operands in the outputs.
    pub axes: Axes<'o>,
}

/// The rank of an operation's first output, which follows from ranks and constants of the inputs.
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
    /// True for moves of elements and for sums. Weights of a cell may pass such operations, as
    /// packing reads the tensors in front of the operations.
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

/// The range for exactly `count` inputs or outputs.
fn exactly(count: usize) -> RangeInclusive<usize> {
    count..=count
}

/// The range for any number of inputs or outputs from `least` on.
fn any(least: usize) -> RangeInclusive<usize> {
    least..=usize::MAX
}

/// The largest number of inputs of a recurrent operation. The roles of the inputs decide which
/// numbers are valid.
const MOST_CELL_INPUTS: usize = 9;

impl Op {
    /// The facts about the operation: a row of the table states each fact, without defaults.
    pub fn facts(&self) -> OpFacts<'_> {
        use Axes as A;
        use Elements as E;
        use Rank as R;
        let n = exactly;
        let row = |name, inputs, outputs, rank, elements, axes| OpFacts {
            name,
            inputs,
            outputs,
            rank,
            elements,
            axes,
        };
        match self {
            Self::Parameter => row("Parameter", n(0), n(1), R::Unknown, E::None, A::Other),
            Self::Constant(_) => row("Const", n(0), n(1), R::Unknown, E::None, A::Other),
            Self::Convert => row("Convert", n(1), n(1), R::First, E::Moved, A::Same),
            Self::Cell(Cell { kind, .. }) => {
                let outputs = 1..=1 + usize::from(kind.has_cell_state());
                let inputs = 0..=MOST_CELL_INPUTS;
                row(kind.op_name(), inputs, outputs, R::Unknown, E::Computed, A::Other)
            }
            Self::Sequence(Cell { kind, .. }, _) => {
                let outputs = 1..=2 + usize::from(kind.has_cell_state());
                let inputs = 0..=MOST_CELL_INPUTS;
                row(kind.sequence_name(), inputs, outputs, R::Fixed(4), E::Computed, A::Other)
            }
            Self::Result => row("Result", n(1), 0..=1, R::First, E::Moved, A::Same),
            &Self::Elementwise(function) => {
                let ElementwiseFacts { name, inputs, .. } = function.facts();
                let elements = E::Elementwise { is_sum: function.is_sum() };
                row(name, n(inputs), n(1), R::Largest, elements, A::Broadcast(function))
            }
            &Self::MatMul { transpose_a, transpose_b } => {
                let axes = A::Product { transpose_a, transpose_b };
                row("MatMul", n(2), n(1), R::Product, E::Computed, axes)
            }
            Self::Softmax(_) => row("Softmax", n(1), n(1), R::First, E::Computed, A::Softmax),
            Self::Reduce(Reduce { reduction, keep, no_axes }) => {
                let rank = match (keep, no_axes) {
                    (true, _) => R::First,
                    (false, NoAxes::All) => R::Reduced,
                    (false, NoAxes::Same | NoAxes::Each) => R::Unknown,
                };
                let sums = *reduction == Reduction::Sum;
                let elements = if sums { E::Sums } else { E::Computed };
                row("Reduce", 1..=2, n(1), rank, elements, A::Reduced)
            }
            Self::Normalize(normalization) => row(
                "Normalize",
                normalization.inputs(),
                n(1),
                R::First,
                E::Computed,
                A::Normalized(*normalization),
            ),
            Self::Concat { .. } => row("Concat", any(1), n(1), R::First, E::Moved, A::Joined),
            Self::Split { parts } => row("Split", n(2), n(*parts), R::First, E::Moved, A::Split),
            Self::VariadicSplit => row("VariadicSplit", n(3), any(1), R::First, E::Moved, A::Split),
            Self::Reshape { .. } => row("Reshape", n(2), n(1), R::Listed, E::Moved, A::Reshaped),
            Self::Squeeze { skip } => {
                let rank = if *skip { R::Unknown } else { R::Removed };
                row("Squeeze", 1..=2, n(1), rank, E::Moved, A::Removed)
            }
            Self::Unsqueeze => row("Unsqueeze", n(2), n(1), R::Inserted, E::Moved, A::Inserted),
            Self::Transpose => row("Transpose", n(2), n(1), R::First, E::Moved, A::Permuted),
            &Self::Gather { batch_dims } => {
                let rank = if batch_dims == 0 { R::Indexed } else { R::Unknown };
                row("Gather", n(3), n(1), rank, E::Moved, A::Indexed { batch_dims })
            }
            Self::Slice => row("Slice", 4..=5, n(1), R::First, E::Moved, A::Sliced),
            Self::StridedSlice(masks) => {
                row("StridedSlice", 3..=4, n(1), R::Unknown, E::Moved, A::Masked(masks))
            }
            Self::ReverseSequence(_) => {
                row("ReverseSequence", n(2), n(1), R::First, E::Moved, A::Other)
            }
            Self::ScatterUpdate => row("ScatterUpdate", n(4), n(1), R::First, E::Moved, A::Other),
            Self::ScatterNd { combine } => {
                row("ScatterND", n(3), n(1), R::First, replaced(*combine), A::Other)
            }
            Self::ScatterElements { combine } => {
                row("ScatterElements", n(4), n(1), R::First, replaced(*combine), A::Other)
            }
            Self::Blocks(_) => row("Blocks", n(1), n(1), R::First, E::Moved, A::Other),
            Self::GatherElements { .. } => {
                row("GatherElements", n(2), n(1), R::First, E::Moved, A::Other)
            }
            Self::GatherNd(_) => row("GatherND", n(2), n(1), R::Unknown, E::Moved, A::Other),
            Self::Dft(_) => row("DFT", 2..=3, n(1), R::Unknown, E::Computed, A::Other),
            Self::Stft { .. } => row("STFT", 3..=4, n(1), R::Unknown, E::Computed, A::Other),
            Self::SpectralWindow(_) => {
                row("SpectralWindow", n(1), n(1), R::Fixed(1), E::Computed, A::Other)
            }
            Self::MelWeights => {
                row("MelWeightMatrix", n(5), n(1), R::Fixed(2), E::Computed, A::Other)
            }
            Self::Attention { .. } => {
                row("Attention", 3..=5, n(1), R::Unknown, E::Computed, A::Other)
            }
            Self::LinearAttention(attention) => {
                let optional =
                    [attention.rule.has_decay(), attention.rule.has_rate(), attention.has_past];
                let inputs = 3 + optional.map(usize::from).iter().sum::<usize>();
                row("LinearAttention", n(inputs), 1..=2, R::First, E::Computed, A::Other)
            }
            Self::Broadcast(mode) => {
                let rank = match mode {
                    BroadcastMode::Numpy | BroadcastMode::Bidirectional => R::AtLeastListed,
                    BroadcastMode::Explicit => R::Unknown,
                };
                row("Broadcast", 2..=3, n(1), rank, E::Moved, A::Other)
            }
            Self::Tile => row("Tile", n(2), n(1), R::First, E::Moved, A::Other),
            Self::RunningSum(_) => row("CumSum", n(2), n(1), R::First, E::Computed, A::Other),
            Self::OneHot(_) => row("OneHot", n(4), n(1), R::FirstAndOne, E::Computed, A::Other),
            Self::Triangle { .. } => row("Trilu", 1..=2, n(1), R::First, E::Moved, A::Other),
            Self::Unread(_) => row("Unread", n(0), any(0), R::Unknown, E::Computed, A::Other),
            Self::Eye => row("Eye", n(3), n(1), R::Fixed(2), E::Computed, A::Other),
            Self::Roll => row("Roll", n(3), n(1), R::First, E::Moved, A::Other),
            Self::EyeLike { .. } => row("EyeLike", n(1), n(1), R::Fixed(2), E::None, A::Other),
            Self::Einsum { equation } => {
                row("Einsum", any(1), n(1), rank_of_einsum(equation), E::Computed, A::Other)
            }
            Self::Resize(_) => row("Resize", 2..=3, n(1), R::First, E::Computed, A::Other),
            Self::ShapeOf => row("ShapeOf", n(1), n(1), R::Fixed(1), E::None, A::Sizes),
            Self::Range { .. } => row("Range", n(3), n(1), R::Fixed(1), E::Computed, A::Other),
            Self::ReadValue { .. } => {
                row("ReadValue", 0..=1, n(1), R::Unknown, E::Computed, A::Other)
            }
            Self::Assign { .. } => row("Assign", n(1), 0..=1, R::Unknown, E::Computed, A::Other),
            Self::Convolution(convolution) => {
                row("Convolution", 2..=3, n(1), R::First, E::Computed, A::Convolved(convolution))
            }
            Self::Pool(pool) => row("Pool", n(1), 1..=2, R::First, E::Computed, A::Pooled(pool)),
            Self::Pad(_) => row("Pad", 3..=5, n(1), R::First, E::Moved, A::Padded),
            Self::TopK(_) => row("TopK", n(2), 1..=2, R::First, E::Computed, A::Other),
            Self::Loop(_) => row("Loop", any(0), any(0), R::Unknown, E::Computed, A::Other),
            Self::If(_) => row("If", any(1), any(0), R::Unknown, E::Computed, A::Other),
        }
    }
}

/// The elements of an operation that replaces parts of data. `combine`: the operation on the old
/// and the new element, if any.
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
