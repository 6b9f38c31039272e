//! The facts about each operation of a model. Readers and checks ask for facts instead of matching
//! all operations: a new operation fills one row of [`Op::facts`] or [`Elementwise::facts`]. The
//! translation matches all operations, without a default.

use std::ops::RangeInclusive;

use super::{
    BroadcastMode, Convolution, Elementwise, ElementwiseFacts, NoAxes, Normalization, Op, Pool,
    Reduce, Reduction, SliceMasks,
};

/// The facts about one operation.
#[derive(Clone, Debug, PartialEq)]
pub struct OpFacts<'o> {
    /// The operation in messages about layers that a reader adds.
    pub name: &'static str,
    /// The allowed numbers of inputs.
    pub inputs: RangeInclusive<usize>,
    /// The allowed numbers of outputs.
    pub outputs: RangeInclusive<usize>,
    /// The rank of the first output.
    pub rank: Rank,
    /// The elements of the operands that the outputs hold.
    pub elements: Elements,
    /// The axes of an operand in the outputs.
    pub axes: Axes<'o>,
}

/// The rank of an operation's first output, from ranks and constants of the inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// A number.
    Fixed(usize),
    /// The rank of the first input.
    First,
    /// The largest rank of all inputs.
    Largest,
    /// The larger rank of two matrices; unknown for vectors.
    Product,
    /// The rank of the first input, and one more.
    FirstAndOne,
    /// The rank of the first input, and one more for each number of the second.
    Inserted,
    /// The rank of the first input, and one fewer for each number of the second, which must be
    /// present.
    Removed,
    /// As `Removed`. Without numbers, 0.
    Reduced,
    /// As many as the second input has numbers.
    Listed,
    /// As `Listed`, and at least the rank of the first input.
    AtLeastListed,
    /// The ranks of data and indices, less one.
    Indexed,
    /// Unknown without sizes.
    Unknown,
}

/// The elements of the operands that the outputs of an operation hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements {
    /// None: the outputs depend on sizes of the operands alone.
    None,
    /// Elements of the operands, unchanged.
    Moved,
    /// Sums of elements of one operand.
    Sums,
    /// For each place, a function of one element of each operand.
    Elementwise {
        /// True for the sum of the operands.
        is_sum: bool,
    },
    /// Anything else.
    Computed,
}

impl Elements {
    /// True for elements of the operands and sums of elements. Weights of a cell keep their gates:
    /// packing reads the weights before the operation.
    pub fn keep_gates(self) -> bool {
        matches!(self, Self::Moved | Self::Sums | Self::Elementwise { is_sum: true })
    }
}

/// The axes of an operand in the outputs of an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Axes<'o> {
    /// Each axis of the operand; each element stands at its place.
    Same,
    /// Each axis of the operands, aligned at the last one as NumPy broadcasts. The slopes of a
    /// PRelu may stand along axis 1.
    Broadcast(Elementwise),
    /// Each axis; elements along one axis are weights of a sum of 1.
    Softmax,
    /// Each axis; elements are normalised.
    Normalized(Normalization),
    /// Rows and columns of two factors, behind broadcast axes of matrices.
    Product {
        /// True if the first factor is transposed.
        transpose_a: bool,
        /// True if the second factor is transposed.
        transpose_b: bool,
    },
    /// The axes in the order that the second input gives.
    Permuted,
    /// Each axis, and the axes of size 1 that the second input gives.
    Inserted,
    /// The axes without those of size 1 that the second input gives.
    Removed,
    /// Other axes over the elements in C order.
    Reshaped,
    /// Each axis, reduced or removed.
    Reduced,
    /// Each axis, cut by [`Op::Slice`].
    Sliced,
    /// The axes that the masks of [`Op::StridedSlice`] leave.
    Masked(&'o SliceMasks),
    /// Each axis, divided among the outputs along one axis.
    Split,
    /// Each axis; the operands stand one after the other along one axis.
    Joined,
    /// The axes of the indices in place of one axis of the data.
    Indexed {
        /// The number of batch dimensions.
        batch_dims: i64,
    },
    /// Each axis, with pads at both ends.
    Padded,
    /// Batch, channels, and the positions of a convolution's windows.
    Convolved(&'o Convolution),
    /// Batch, channels, and the positions of a pool's windows.
    Pooled(&'o Pool),
    /// None: sizes of the operand along one new axis.
    Sizes,
    /// Anything else.
    Other,
}

/// Exactly `count` inputs or outputs.
fn exactly(count: usize) -> RangeInclusive<usize> {
    count..=count
}

/// Any number of inputs or outputs from `least` on.
fn any_from(least: usize) -> RangeInclusive<usize> {
    least..=usize::MAX
}

/// The largest number of inputs of a recurrent operation. The roles of its inputs decide the
/// number.
const MOST_CELL_INPUTS: usize = 9;

impl<'o> OpFacts<'o> {
    /// An operation with one output of unknown rank, computed from all elements.
    fn new(name: &'static str, inputs: RangeInclusive<usize>) -> Self {
        let (rank, elements, axes) = (Rank::Unknown, Elements::Computed, Axes::Other);
        Self { name, inputs, outputs: exactly(1), rank, elements, axes }
    }

    fn outputs(self, outputs: RangeInclusive<usize>) -> Self {
        Self { outputs, ..self }
    }

    fn rank(self, rank: Rank) -> Self {
        Self { rank, ..self }
    }

    fn elements(self, elements: Elements) -> Self {
        Self { elements, ..self }
    }

    /// An operation that moves elements.
    fn moves(self, rank: Rank, axes: Axes<'o>) -> Self {
        Self { rank, elements: Elements::Moved, axes, ..self }
    }

    fn axes(self, axes: Axes<'o>) -> Self {
        Self { axes, ..self }
    }
}

impl Op {
    /// The facts about the operation.
    pub fn facts(&self) -> OpFacts<'_> {
        use Axes as A;
        use Elements as E;
        use Rank as R;
        let row = OpFacts::new;
        match self {
            Self::Parameter => row("Parameter", exactly(0)).elements(E::None),
            Self::Constant(_) => row("Const", exactly(0)).elements(E::None),
            Self::Convert => row("Convert", exactly(1)).moves(R::First, A::Same),
            Self::Cell(cell) => row(cell.kind.op_name(), 0..=MOST_CELL_INPUTS)
                .outputs(1..=1 + usize::from(cell.kind.has_cell_state())),
            Self::Sequence(cell, _) => row(cell.kind.sequence_name(), 0..=MOST_CELL_INPUTS)
                .outputs(1..=2 + usize::from(cell.kind.has_cell_state()))
                .rank(R::Fixed(4)),
            Self::Result => row("Result", exactly(1)).outputs(0..=1).moves(R::First, A::Same),
            Self::Elementwise(function) => {
                let ElementwiseFacts { name, inputs, .. } = function.facts();
                let is_sum = function.is_sum();
                row(name, exactly(inputs))
                    .rank(R::Largest)
                    .elements(E::Elementwise { is_sum })
                    .axes(A::Broadcast(*function))
            }
            &Self::MatMul { transpose_a, transpose_b } => row("MatMul", exactly(2))
                .rank(R::Product)
                .axes(A::Product { transpose_a, transpose_b }),
            Self::Softmax(_) => row("Softmax", exactly(1)).rank(R::First).axes(A::Softmax),
            Self::Reduce(Reduce { reduction, keep, no_axes }) => {
                let rank = match (keep, no_axes) {
                    (true, _) => R::First,
                    (false, NoAxes::All) => R::Reduced,
                    (false, NoAxes::Same | NoAxes::Each) => R::Unknown,
                };
                let sums = *reduction == Reduction::Sum;
                let elements = if sums { E::Sums } else { E::Computed };
                row("Reduce", 1..=2).rank(rank).elements(elements).axes(A::Reduced)
            }
            Self::Normalize(of) => {
                row("Normalize", of.inputs()).rank(R::First).axes(A::Normalized(*of))
            }
            Self::Concat { .. } => row("Concat", any_from(1)).moves(R::First, A::Joined),
            Self::Split { parts } => {
                row("Split", exactly(2)).outputs(exactly(*parts)).moves(R::First, A::Split)
            }
            Self::VariadicSplit => {
                row("VariadicSplit", exactly(3)).outputs(any_from(1)).moves(R::First, A::Split)
            }
            Self::Reshape { .. } => row("Reshape", exactly(2)).moves(R::Listed, A::Reshaped),
            Self::Squeeze { skip } => {
                let rank = if *skip { R::Unknown } else { R::Removed };
                row("Squeeze", 1..=2).moves(rank, A::Removed)
            }
            Self::Unsqueeze => row("Unsqueeze", exactly(2)).moves(R::Inserted, A::Inserted),
            Self::Transpose => row("Transpose", exactly(2)).moves(R::First, A::Permuted),
            &Self::Gather { batch_dims } => {
                let rank = if batch_dims == 0 { R::Indexed } else { R::Unknown };
                row("Gather", exactly(3)).moves(rank, A::Indexed { batch_dims })
            }
            Self::Slice => row("Slice", 4..=5).moves(R::First, A::Sliced),
            Self::StridedSlice(masks) => {
                row("StridedSlice", 3..=4).moves(R::Unknown, A::Masked(masks))
            }
            Self::ReverseSequence(_) => row("ReverseSequence", exactly(2)).rank(R::First),
            Self::ScatterUpdate => row("ScatterUpdate", exactly(4)).rank(R::First),
            Self::ScatterNd { .. } => row("ScatterND", exactly(3)).rank(R::First),
            Self::ScatterElements { .. } => row("ScatterElements", exactly(4)).rank(R::First),
            Self::Blocks(_) => row("Blocks", exactly(1)).rank(R::First),
            Self::GatherElements { .. } => row("GatherElements", exactly(2)).rank(R::First),
            Self::GatherNd(_) => row("GatherND", exactly(2)),
            Self::Dft(_) => row("DFT", 2..=3),
            Self::Stft { .. } => row("STFT", 3..=4),
            Self::SpectralWindow(_) => row("SpectralWindow", exactly(1)).rank(R::Fixed(1)),
            Self::MelWeights => row("MelWeightMatrix", exactly(5)).rank(R::Fixed(2)),
            Self::Attention { .. } => row("Attention", 3..=5),
            Self::LinearAttention(of) => {
                let inputs = 3 + [of.rule.has_decay(), of.rule.has_rate(), of.has_past]
                    .map(usize::from)
                    .iter()
                    .sum::<usize>();
                row("LinearAttention", exactly(inputs)).outputs(1..=2).rank(R::First)
            }
            Self::Broadcast(mode) => {
                let rank = match mode {
                    BroadcastMode::Numpy | BroadcastMode::Bidirectional => R::AtLeastListed,
                    BroadcastMode::Explicit => R::Unknown,
                };
                row("Broadcast", 2..=3).moves(rank, A::Other)
            }
            Self::Tile => row("Tile", exactly(2)).rank(R::First),
            Self::RunningSum(_) => row("CumSum", exactly(2)).rank(R::First),
            Self::OneHot(_) => row("OneHot", exactly(4)).rank(R::FirstAndOne),
            Self::Triangle { .. } => row("Trilu", 1..=2).rank(R::First),
            Self::Unread(_) => row("Unread", exactly(0)).outputs(any_from(0)),
            Self::Eye => row("Eye", exactly(3)).rank(R::Fixed(2)),
            Self::Roll => row("Roll", exactly(3)).rank(R::First),
            Self::EyeLike { .. } => row("EyeLike", exactly(1)).rank(R::Fixed(2)).elements(E::None),
            Self::Einsum { equation } => row("Einsum", any_from(1)).rank(rank_of_einsum(equation)),
            Self::Resize(_) => row("Resize", 2..=3).rank(R::First),
            Self::ShapeOf => {
                row("ShapeOf", exactly(1)).rank(R::Fixed(1)).elements(E::None).axes(A::Sizes)
            }
            Self::Range { .. } => row("Range", exactly(3)).rank(R::Fixed(1)),
            Self::ReadValue { .. } => row("ReadValue", 0..=1),
            Self::Assign { .. } => row("Assign", exactly(1)).outputs(0..=1),
            Self::Convolution(of) => {
                row("Convolution", 2..=3).rank(R::First).axes(A::Convolved(of))
            }
            Self::Pool(of) => {
                row("Pool", exactly(1)).outputs(1..=2).rank(R::First).axes(A::Pooled(of))
            }
            Self::Pad(_) => row("Pad", 3..=5).rank(R::First).axes(A::Padded),
            Self::TopK(_) => row("TopK", exactly(2)).outputs(1..=2).rank(R::First),
            Self::Loop(_) => row("Loop", any_from(0)).outputs(any_from(0)),
            Self::If(_) => row("If", any_from(1)).outputs(any_from(0)),
        }
    }
}

/// The rank of the result of an equation that writes the result's letters.
fn rank_of_einsum(equation: &str) -> Rank {
    match equation.split_once("->") {
        Some((_, result)) if !result.contains('.') => {
            Rank::Fixed(result.chars().filter(char::is_ascii_alphabetic).count())
        }
        _ => Rank::Unknown,
    }
}
