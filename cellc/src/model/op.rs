//! Operations of a model, and their attributes.

use super::{
    Binary, Cell, Dim, Direction, ElementType, Elementwise, LinearAttention, Model, Tensor, ValueId,
};
use crate::diagnostic::Problem;

/// The operation of a node. Inputs and outputs are in the order listed here: readers reorder
/// inputs, outputs, dimensions and gates of other formats.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// An input of the model, or of the body of a [`Loop`] or of a branch of an [`If`].
    Parameter,
    /// A compile-time tensor.
    Constant(Tensor),
    /// A change of the element type. All floating-point types compute in f32.
    Convert,
    /// One step of a recurrent cell. Inputs: x, h, c (LSTM), W, R, B where present, P (LSTM with
    /// peepholes), a (AUGRU). Outputs: h', c' (LSTM).
    Cell(Cell),
    /// A recurrent cell over time, the batch in front of the steps. Inputs: X `[N, T, I]`, h0
    /// `[N, D, H]`, c0 (LSTM), lengths `[N]`, W, R, B, P (LSTM with peepholes), each with D in
    /// front, A `[N, T, 1]` (AUGRU). Outputs: Y `[N, D, T, H]`, Ho `[N, D, H]`, Co (LSTM).
    Sequence(Cell, Direction),
    /// An output of the model, or of the body of a [`Loop`] or of a branch of an [`If`].
    Result,
    /// An element-wise operation. Shapes broadcast by NumPy's rules.
    Elementwise(Elementwise),
    /// A matrix product. Inputs: a `[.., M, K]`, b `[.., K, N]`, each possibly transposed. A vector
    /// a is one row, a vector b one column.
    MatMul {
        /// a is `[.., K, M]`.
        transpose_a: bool,
        /// b is `[.., N, K]`.
        transpose_b: bool,
    },
    /// `exp(v) / sum exp(v)` along an axis, or the logarithm of this quotient. Input: data.
    Softmax(Softmax),
    /// The reduction of data along some axes. Inputs: data, axes ([`NoAxes`] if absent or empty).
    Reduce(Reduce),
    /// A normalisation: data minus the mean, divided by the standard deviation, and variants.
    Normalize(Normalization),
    /// The concatenation of the inputs.
    Concat {
        /// The axis; negative values count from the end.
        axis: i64,
    },
    /// The concatenation of a state, which is a window of elements, and new elements along the last
    /// of three axes. Inputs: state, new elements. The last elements of the concatenation are the
    /// next state.
    AppendToState,
    /// Data cut into equal parts along an axis. Inputs: data, axis. Outputs: the parts.
    Split {
        /// The number of parts.
        parts: usize,
    },
    /// Data cut into parts of given lengths. Inputs: data, axis, lengths. One length may be -1: the
    /// part has the remaining elements. Outputs: the parts.
    VariadicSplit,
    /// The elements of data in another shape. Inputs: data, shape. One size of the shape may be -1:
    /// the size follows from the number of elements.
    Reshape {
        /// True if a 0 in the shape copies the size of data; otherwise 0 is a size.
        zero_keeps: bool,
    },
    /// Removes axes of size 1. Inputs: data, axes (if absent: all axes of size 1).
    Squeeze {
        /// True to keep a listed axis whose size is not 1, false to refuse such an axis.
        skip: bool,
    },
    /// Inserts axes of size 1. Inputs: data, axes of the output.
    Unsqueeze,
    /// Permutes axes. Inputs: data, order of the axes (empty: reversed).
    Transpose,
    /// Parts of data along an axis, selected by indices. Inputs: data, indices, axis.
    Gather {
        /// The number of batch dimensions; negative values count from the end of the indices'
        /// dimensions.
        batch_dims: i64,
    },
    /// Elements of data at regular distances along some axes. Inputs: data, start, stop, step, axes
    /// (if absent: the first ones).
    Slice,
    /// As [`Op::Slice`] over the first axes, with masks. Inputs: data, begin, end, strides (1 if
    /// absent).
    StridedSlice(SliceMasks),
    /// Data whose first elements along the axis of steps are in reverse order. Inputs: data, the
    /// number of reversed elements for each row of the batch.
    ReverseSequence(ReverseSequence),
    /// Data with replaced parts along an axis. Inputs: data, indices, new parts, axis.
    ScatterUpdate,
    /// Data with replaced parts. Inputs: data, indices `[.., K]`, new parts. Each row of K indices
    /// is the start of a part along the first K axes.
    ScatterNd {
        /// The operation that combines the old and the new element. `None`: the new element.
        combine: Option<Binary>,
    },
    /// Data with replaced elements. Inputs: data, indices along the axis, new elements in the shape
    /// of the indices, axis.
    ScatterElements {
        /// The operation that combines the old and the new element. `None`: the new element.
        combine: Option<Binary>,
    },
    /// DepthToSpace and SpaceToDepth: moves channels into blocks of the spatial axes, or blocks
    /// into channels. Input: data `[N, C, ..]`.
    Blocks(Blocks),
    /// One element of data for each index: along the axis at the index, along the other axes at the
    /// position of the index. Inputs: data, indices.
    GatherElements {
        /// The axis; negative values count from the end.
        axis: i64,
    },
    /// Parts of data selected by rows of indices. Inputs: data, indices `[.., K]`. Each row of K
    /// indices selects along the first K axes after the batch dimensions.
    GatherNd(GatherNd),
    /// A discrete Fourier transform. Inputs: data, axes, and optional lengths along the axes (-1:
    /// the length of data).
    Dft(Dft),
    /// The spectra of a signal's frames. Inputs: signal `[N, T]` or `[N, T, parts]`, distance
    /// between frames, length of a frame, optional window.
    Stft {
        /// True for the frequencies from 0 to half the sampling rate, false for all.
        one_sided: bool,
    },
    /// A window for spectra. Input: the length of the window.
    SpectralWindow(SpectralWindow),
    /// Weights from frequencies of a spectrum to bands of the mel scale. Inputs: bands, length of
    /// the transform, sampling rate, lowest and highest frequency.
    MelWeights,
    /// Scaled dot-product attention. Inputs: query, key, value, mask where present, scale where
    /// present.
    Attention {
        /// True if query `i` attends only to the keys 0 to `i`.
        causal: bool,
    },
    /// Linear attention. Inputs: query and key `[N, T, heads * K]`, value `[N, T, heads * V]`, all
    /// or none with the heads as an axis; then where present past state `[N, heads, K, V]`, decay
    /// `[N, T, heads]` or `[N, T, heads * K]`, and rate `[N, T, heads]` or `[N, T, 1]`. Outputs: as
    /// value, with the larger number of heads, and the last state.
    LinearAttention(LinearAttention),
    /// Data broadcast to a shape. Inputs: data, shape, axes (explicit mode only).
    Broadcast(BroadcastMode),
    /// Data repeated along each axis. Inputs: data, numbers of repetitions.
    Tile,
    /// Cumulative sums along an axis. Inputs: data, axis.
    RunningSum(RunningSum),
    /// A row for each index: `on` at the index, `off` elsewhere. Inputs: indices, length of a row,
    /// on, off.
    OneHot(OneHot),
    /// Matrices with zeros on one side of a diagonal. Inputs: data, optional diagonal (default:
    /// main).
    Triangle {
        /// True for zeros below the diagonal.
        upper: bool,
    },
    /// An operation that the reader does not support, in a branch of an [`If`]: the error of the
    /// reader, reported unless the condition is a constant that rules the branch out.
    Unread(Box<Problem>),
    /// A matrix with ones on a diagonal. Inputs: rows, columns, offset above the main diagonal.
    Eye,
    /// A rotation of elements along axes. Inputs: data, shifts, axes.
    Roll,
    /// A matrix with ones on a diagonal, in the shape of the input.
    EyeLike {
        /// The offset above the main diagonal.
        diagonal: i64,
    },
    /// Sums of products. Inputs: the factors.
    Einsum {
        /// The letters of the dimensions of factors and result, in NumPy's notation.
        equation: String,
    },
    /// Resampling along axes. Inputs: data, factors or sizes, optional axes (default: all).
    Resize(Resize),
    /// The shape, as integers.
    ShapeOf,
    /// The numbers from a start up to, but without, a stop. Inputs: start, stop, step.
    Range {
        /// True to accept a start, stop or step known only at run time.
        run_time: bool,
    },
    /// The variable's value. Optional input: the initial value (default: zero).
    ReadValue {
        /// The variable.
        variable: String,
        /// The declared shape; the initial value must fit.
        shape: Option<Vec<Dim>>,
        /// The declared element type, also of the initial value.
        element: Option<ElementType>,
    },
    /// Sets the variable's next value to the input. The output is the input.
    Assign {
        /// The variable.
        variable: String,
    },
    /// A convolution. Inputs: data `[N, C, ..]`, weights, and optionally a bias per output channel,
    /// or the sizes of the output ([`OutputSizes::Input`]).
    Convolution(Box<Convolution>),
    /// The maximum or the mean of each window. Input: data `[N, C, ..]`. Outputs: the maxima or
    /// means, and the indices of the maxima, which nothing may read.
    Pool(Box<Pool>),
    /// Data with elements added or cropped at the ends of axes. Inputs: data, padding before each
    /// axis and padding after each axis in elements (negative: cropping), optional value (default:
    /// 0), optional axes (default: all).
    Pad(PadMode),
    /// The largest or smallest elements along an axis, and their indices. Inputs: data, count.
    TopK(TopKAttributes),
    /// A loop.
    Loop(Box<Loop>),
    /// One of two bodies, selected by a condition.
    If(Box<If>),
}

/// The attributes of [`Op::Softmax`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Softmax {
    /// The axis; negative values count from the end.
    pub axis: i64,
    /// True for the logarithm.
    pub log: bool,
}

/// The attributes of [`Op::Reduce`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reduce {
    /// The operation.
    pub reduction: Reduction,
    /// True if the reduced axes stay, with size 1.
    pub keep: bool,
    /// The meaning of an empty or missing list of axes.
    pub no_axes: NoAxes,
}

/// The attributes of [`Op::ReverseSequence`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReverseSequence {
    /// The axis of the batch; negative values count from the end.
    pub batch_axis: i64,
    /// The axis of the steps; negative values count from the end.
    pub seq_axis: i64,
}

/// The attributes of [`Op::RunningSum`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunningSum {
    /// True to exclude each element from its own sum.
    pub exclusive: bool,
    /// True to sum from the end.
    pub reverse: bool,
}

/// The attributes of [`Op::OneHot`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneHot {
    /// The axis of the rows in the result; negative values count from the end.
    pub axis: i64,
    /// True if negative indices count from the end. False if the row of a negative index has `off`
    /// everywhere.
    pub from_end: bool,
}

/// The attributes of [`Op::TopK`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopKAttributes {
    /// The axis; negative values count from the end.
    pub axis: i64,
    /// True for the largest elements, false for the smallest.
    pub largest: bool,
    /// True to prefer the last of equal elements, false to prefer the first.
    pub last: bool,
    /// True to sort by index, false to sort best first.
    pub sorted_by_index: bool,
}

impl Op {
    /// An operation element by element, of any group.
    pub fn elementwise(operation: impl Into<Elementwise>) -> Self {
        Self::Elementwise(operation.into())
    }
}

/// The masks of [`Op::StridedSlice`], by entry of begin and end. Missing bits are false.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SliceMasks {
    /// True to ignore begin.
    pub begin: Vec<bool>,
    /// True to ignore end.
    pub end: Vec<bool>,
    /// True to insert a dimension of size 1.
    pub new_axis: Vec<bool>,
    /// True to remove the dimension.
    pub shrink_axis: Vec<bool>,
    /// True for the ellipsis: all unmentioned dimensions.
    pub ellipsis: Vec<bool>,
}

/// The meaning of a reduction along an empty or missing list of axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAxes {
    /// Along all axes.
    All,
    /// Data unchanged.
    Same,
    /// The operation on each element alone.
    Each,
}

/// The operation of [`Op::Reduce`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// v1 + v2 + ..
    Sum,
    /// The mean.
    Mean,
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// v1 v2 ..
    Product,
    /// The sum of magnitudes.
    L1,
    /// The root of the sum of squares.
    L2,
    /// The logarithm of the sum.
    LogSum,
    /// The logarithm of the sum of `exp(v)`.
    LogSumExp,
    /// The sum of squares.
    SumSquare,
    /// True if all are true.
    All,
    /// True if any is true.
    Any,
}

/// The operation of [`Op::Normalize`]. `eps` avoids a division by 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Normalization {
    /// `(x - mean) / sqrt(variance + eps) * scale + shift`. Inputs: x `[N, C, ..]`, scale `[C]`,
    /// shift `[C]`, mean `[C]`, variance `[C]`.
    Batch {
        /// The addend of the variance.
        eps: f32,
    },
    /// Normalisation over all axes from `axis`. Scale and shift have the shape of these axes.
    /// Inputs: x, optional scale, optional shift.
    Layer {
        /// The axis; negative values count from the end.
        axis: i64,
        /// The addend of the variance.
        eps: f32,
        /// True to divide by the root mean square, without subtracting the mean.
        root_mean_square: bool,
    },
    /// Normalisation over groups of channels (axis 1) and all later axes. Inputs: x, scale, shift.
    Group {
        /// The number of groups. `None`: one per channel.
        groups: Option<i64>,
        /// The addend of the variance.
        eps: f32,
    },
    /// Normalisation over given axes, without scale and shift. Inputs: x, optional axes.
    Variance {
        /// The first axis of the normalisation if the node has no input for axes. All later axes
        /// are normalised, too.
        first: usize,
        /// The addend of the variance or of the standard deviation.
        eps: f32,
        /// True to add `eps` to the variance, false to add `eps` to the standard deviation.
        eps_in_root: bool,
        /// True to divide by the standard deviation, false to subtract the mean only.
        normalize_variance: bool,
    },
    /// `x / sqrt(sum of squares)` over given axes. Inputs: x, axes.
    Length {
        /// The addend or the lower limit of the sum of squares.
        eps: f32,
        /// True to add `eps` to the sum, false to replace smaller sums by `eps`.
        adds: bool,
    },
}

impl Normalization {
    /// The name of `eps` in ONNX.
    pub const EPS: &str = Self::NAMES_OF_EPS[0];
    /// The formats' names of `eps`.
    pub const NAMES_OF_EPS: [&str; 3] = ["epsilon", "eps", "bias"];

    /// The addend or the lower limit that avoids a division by 0.
    pub fn eps(self) -> f32 {
        match self {
            Self::Batch { eps }
            | Self::Layer { eps, .. }
            | Self::Group { eps, .. }
            | Self::Variance { eps, .. }
            | Self::Length { eps, .. } => eps,
        }
    }
}

impl Normalization {
    /// The number of inputs.
    pub fn inputs(self) -> std::ops::RangeInclusive<usize> {
        match self {
            Self::Batch { .. } => 5..=5,
            Self::Layer { .. } => 1..=3,
            Self::Group { .. } => 3..=3,
            Self::Variance { .. } => 1..=2,
            Self::Length { .. } => 2..=2,
        }
    }
}

/// The attributes of [`Op::GatherNd`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GatherNd {
    /// The number of leading dimensions that data and indices share.
    pub batch_dims: i64,
    /// True if the result merges the batch dimensions into one.
    pub flattens_batch: bool,
}

/// The attributes of [`Op::Dft`]. The last dimension holds the real and the imaginary part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dft {
    /// True for the inverse transform, divided by the length.
    pub inverse: bool,
    /// True if the signal is real and the spectrum has the frequencies from 0 to half the sampling
    /// rate.
    pub one_sided: bool,
    /// True if tensors of real numbers have a last axis of size 1, false if they have no such axis.
    pub parts_of_real: bool,
}

/// The window of [`Op::SpectralWindow`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpectralWindow {
    /// Coefficients of `cos(2 pi k n / N)` for k = 0, 1, 2.
    pub cosines: [f64; 3],
    /// True if N is the length of the window, false if N is the length minus one.
    pub periodic: bool,
}

/// The alignment of the input's dimensions with the target shape of [`Op::Broadcast`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BroadcastMode {
    /// The last dimensions correspond. Sizes of 1 in the input widen to the target.
    Numpy,
    /// The last dimensions correspond. Sizes of 1 in the input and in the target widen.
    Bidirectional,
    /// The third input maps dimensions of the input to dimensions of the shape.
    Explicit,
}

/// The attributes of [`Op::Loop`]. The number of iterations is a constant, a run-time value, or the
/// number of pieces of an input.
///
/// If `counted`, the node's first two inputs are the number of iterations and the condition.
/// [`LoopInput::input`] gives the index of each further input.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// The body. Ports name its Parameters and Results by index in [`Model::parameters`] and
    /// [`Model::results`].
    pub body: Model,
    /// True if inputs 0 and 1 are the trip count and the condition.
    pub counted: bool,
    /// The sources of the body's Parameters.
    pub inputs: Vec<LoopInput>,
    /// The sources of the node's outputs, in port order.
    pub outputs: Vec<LoopOutput>,
    /// The body's Parameter with the number of the iteration.
    pub current_iteration: Option<usize>,
    /// The body's Result with the loop condition.
    pub condition: Option<usize>,
}

/// Windows that move over the dimensions after `[N, C]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Elements from one window to the next, by dimension. Empty: 1 for every dimension.
    pub strides: Vec<usize>,
    /// Elements from one tap of a window to the next, by dimension. Empty: 1 for every dimension.
    pub dilations: Vec<usize>,
    /// The padding.
    pub padding: Padding,
}

/// The padding of data for windows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Padding {
    /// Explicit padding in elements, by dimension. Empty lists: no padding.
    Explicit {
        /// Elements before the data.
        begin: Vec<i64>,
        /// Elements after the data.
        end: Vec<i64>,
    },
    /// Padding for `ceil(size / stride)` windows. An odd element goes to the end.
    SameUpper,
    /// Padding for `ceil(size / stride)` windows. An odd element goes to the front.
    SameLower,
    /// No padding.
    Valid,
}

/// The number of groups of channels with separate weights. C is the number of input channels, M the
/// number of output channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Groups {
    /// A given number. The weights are `[M, C / groups, ..]`, or transposed `[C, M / groups, ..]`.
    Count(i64),
    /// The first dimension of the weights `[groups, M / groups, C / groups, ..]`.
    InWeights,
}

/// The attributes of [`Op::Convolution`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Convolution {
    /// The movement of the windows.
    pub window: Window,
    /// Groups of channels.
    pub groups: Groups,
    /// The sizes of the kernel, as the input states them. Empty: the sizes follow from the weights.
    pub kernel: Vec<usize>,
    /// True for a transposed convolution: every element of data adds the kernel to the output.
    pub transposed: bool,
    /// Additional elements at the end of a transposed convolution's output, by dimension. Empty: no
    /// elements.
    pub output_padding: Vec<usize>,
    /// The source of the sizes of a transposed convolution's output.
    pub output_sizes: OutputSizes,
}

/// The source of the sizes of a transposed convolution's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputSizes {
    /// Sizes that follow from the sizes of data and kernel and from the padding.
    Follow,
    /// Given sizes. The padding follows from the sizes by the rules of ONNX.
    Given(Vec<usize>),
    /// Sizes from the third input. The padding follows from the sizes by the rules of OpenVINO.
    Input,
}

/// The operation of a pool on a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolKind {
    /// The largest element.
    Max,
    /// The mean.
    Average {
        /// True if the mean includes padding as zeros.
        count_pads: bool,
    },
}

/// The attributes of [`Op::Pool`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// The operation.
    pub kind: PoolKind,
    /// The size of a window by dimension. Empty: one window over all of the data.
    pub kernel: Vec<usize>,
    /// The movement of the window.
    pub window: Window,
    /// The treatment of a last window that reaches beyond the pads.
    pub rounding: Rounding,
}

/// The treatment of a pool's last window that reaches beyond the pads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// The window is dropped.
    Floor,
    /// The window is kept.
    Ceil,
    /// The window is kept if it starts before the padding at the end.
    CeilInside,
}

/// The padding values of [`Op::Pad`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PadMode {
    /// The number in the fourth input.
    Constant,
    /// Copies of the first or last element.
    Edge,
    /// A mirror image of the data, without the first or last element.
    Reflect,
    /// A mirror image of the data.
    Symmetric,
    /// The elements of the opposite end.
    Wrap,
}

/// The attributes of [`Op::Blocks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// The length of a block along each axis.
    pub size: usize,
    /// True to move channels into space, false to move space into channels.
    pub to_space: bool,
    /// True if the axis of channels is split into `[channel, position in the block]`, false for
    /// `[position in the block, channel]`.
    pub channel_first: bool,
}

/// The attributes of [`Op::If`]. Inputs of the node: the condition (one element), then the tensors
/// that the bodies read.
#[derive(Clone, Debug, PartialEq)]
pub struct If {
    /// The branch for a true condition.
    pub then: Branch,
    /// The branch for a false condition.
    pub otherwise: Branch,
}

/// A branch of an [`If`]. The body's Results are the node's outputs, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// The body.
    pub body: Model,
    /// By Parameter of the body: the index of the node's input.
    pub inputs: Vec<usize>,
}

/// The source of a body's Parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopInput {
    /// The body's Parameter: an index into [`Model::parameters`].
    pub parameter: usize,
    /// The index of the node's input.
    pub input: usize,
    /// The axis along which the input is cut into one piece per iteration. `None`: not cut.
    pub slice: Option<Slicing>,
    /// The body's Result that supplies the value from the second iteration on.
    pub back_edge: Option<usize>,
}

/// The source of a node's output.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopOutput {
    /// The body's Result: an index into [`Model::results`].
    pub result: usize,
    /// The concatenation of the pieces of all iterations along an axis. `None`: the value of the
    /// last iteration.
    pub concatenation: Option<Slicing>,
}

/// The cutting or concatenation of pieces along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slicing {
    /// The axis; negative values count from the end.
    pub axis: i64,
    /// The edge at which the first piece begins; with a negative stride, its upper edge. Negative
    /// values count from the end: -1 is the end itself.
    pub start: i64,
    /// The edge at which the last piece ends; with a negative stride, its lower edge. Negative
    /// values count as for `start`.
    pub end: i64,
    /// The distance between pieces; negative: backwards.
    pub stride: i64,
    /// The length of a piece, in elements along the axis.
    pub part_size: i64,
}

impl Slicing {
    /// All of an axis, one element at a time.
    pub fn one_by_one(axis: i64, reverse: bool) -> Self {
        let (start, end, stride) = if reverse { (-1, 0, -1) } else { (0, -1, 1) };
        Self { axis, start, end, stride, part_size: 1 }
    }
}

impl Loop {
    /// A loop without a body, in place of a loop or branch that is nested deeper than the limit.
    /// The check of the structure refuses the loop.
    pub fn too_deep() -> Self {
        Self {
            body: Model::default(),
            counted: false,
            inputs: Vec::new(),
            outputs: Vec::new(),
            current_iteration: None,
            condition: None,
        }
    }

    /// The value of the body's Parameter `index`, an index into [`Model::parameters`].
    pub fn parameter(&self, index: usize) -> Option<ValueId> {
        let node = *self.body.parameters.get(index)?;
        self.body.nodes.get(node)?.outputs.first().copied()
    }
}

/// The attributes of [`Op::Resize`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resize {
    /// The meaning of the second input.
    pub by: ResizeBy,
    /// The map from positions in the result to positions in the data.
    pub scaling: Scaling,
    /// The interpolation.
    pub sampling: Sampling,
}

/// The source of the sizes of a resized tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResizeBy {
    /// A factor for each axis.
    Factors,
    /// A size for each axis.
    Sizes,
    /// One factor for all axes, the largest with which no axis becomes longer than its size.
    NotLarger,
    /// One factor for all axes, the smallest with which no axis becomes shorter than its size.
    NotSmaller,
}

/// The interpolation at a position between elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sampling {
    /// The value of one neighbour.
    Nearest(Nearest),
    /// Linear interpolation.
    Linear,
    /// Cubic interpolation of the four nearest elements.
    Cubic {
        /// The coefficient of the polynomials.
        a: f32,
        /// True to give elements beyond the ends the weight 0, false to repeat the end elements.
        exclude_outside: bool,
    },
}

/// The position in the data for element `i` of the result, where `factor` is the scale factor of
/// the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaling {
    /// `i / factor`
    Asymmetric,
    /// `(i + 0.5) / factor - 0.5`
    HalfPixel,
    /// As [`Self::HalfPixel`]; 0 if the result has one element.
    PytorchHalfPixel,
    /// As [`Self::HalfPixel`], shifted so that the middle of the result is at the middle of the
    /// data.
    HalfPixelSymmetric,
    /// `(i + 0.5) / factor`
    HalfPixelForNearest,
    /// The first and last elements of the result are at the first and last elements of the data.
    AlignCorners,
}

/// The choice of an element for a position between two elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nearest {
    /// The nearest element; halfway, the element before.
    RoundPreferFloor,
    /// The nearest element; halfway, the element after.
    RoundPreferCeil,
    /// The element before the position.
    Floor,
    /// The element after the position.
    Ceil,
    /// The element after the position if the axis becomes shorter, otherwise the element before.
    Simple,
}
