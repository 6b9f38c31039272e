//! Operations of a model, and their attributes.

use super::{Binary, Cell, Dim, Direction, ElementType, Elementwise, Model, Tensor, ValueId};
use crate::diagnostic::Message;

/// The operation of a node. Inputs and outputs are in the order listed here. Readers of other
/// formats reorder inputs, outputs, dimensions and gates.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// An input of the model, or of a [`Loop`]'s body.
    Parameter,
    /// A compile-time tensor.
    Constant(Tensor),
    /// A change of the element type. Floating point types all compute in f32.
    Convert,
    /// One step of a recurrent cell. Inputs: x, h, c (LSTM), W, R, B where present, P (LSTM with
    /// peepholes), a (AUGRU). Outputs: h', c' (LSTM).
    Cell(Cell),
    /// A recurrent cell over time, the batch in front of the steps. Inputs: X `[N, T, I]`, h0
    /// `[N, D, H]`, c0 (LSTM), lengths `[N]`, W, R, B, P (LSTM with peepholes), each with D in
    /// front, A `[N, T, 1]` (AUGRU). Outputs: Y `[N, D, T, H]`, Ho `[N, D, H]`, Co (LSTM).
    Sequence(Cell, Direction),
    /// An output of the model, or of a [`Loop`]'s body.
    Result,
    /// Element by element, shapes broadcast by NumPy's rules.
    Elementwise(Elementwise),
    /// A matrix product. Inputs: a `[.., M, K]`, b `[.., K, N]`, each possibly transposed. A vector
    /// is a row on the left, a column on the right.
    MatMul {
        /// a is `[.., K, M]`.
        transpose_a: bool,
        /// b is `[.., N, K]`.
        transpose_b: bool,
    },
    /// `exp(v) / sum exp(v)` along an axis, or its logarithm.
    Softmax {
        /// The axis; negative values count from the end.
        axis: i64,
        /// True for the logarithm.
        log: bool,
    },
    /// Along some axes. Inputs: data, axes (all if absent).
    Reduce {
        /// The operation.
        reduction: Reduction,
        /// True if the reduced axes stay, with size 1.
        keep: bool,
        /// The meaning of an empty list of axes.
        no_axes: NoAxes,
    },
    /// A normalisation: data minus its mean, divided by its deviation, and variants.
    Normalize(Normalization),
    /// The concatenation of the inputs.
    Concat {
        /// The axis; negative values count from the end.
        axis: i64,
    },
    /// Equal parts. Inputs: data, axis. As many outputs as parts.
    Split {
        /// The number of parts.
        parts: usize,
    },
    /// Parts of given lengths; one length may be -1. Inputs: data, axis, lengths.
    VariadicSplit,
    /// Inputs: data, shape; one size may be -1.
    Reshape {
        /// True if a 0 in the shape copies the size of data; otherwise 0 is a size.
        zero_keeps: bool,
    },
    /// Inputs: data, axes (all of size 1 if absent).
    Squeeze {
        /// True if an axis with a size other than 1 stays; otherwise the axis is an error. Readers
        /// do not know the sizes.
        skip: bool,
    },
    /// Inputs: data, axes.
    Unsqueeze,
    /// Inputs: data, order (reversed if empty).
    Transpose,
    /// Inputs: data, indices, axis.
    Gather {
        /// The number of batch dimensions; negative values count from the end of the indices'
        /// dimensions.
        batch_dims: i64,
    },
    /// Inputs: data, start, stop, step, axes (the first ones if absent).
    Slice,
    /// Inputs: data, begin, end, strides (1 if absent).
    StridedSlice(SliceMasks),
    /// The first elements along the axis of steps, reversed. Inputs: data, the number of reversed
    /// elements for each row of the batch.
    ReverseSequence {
        /// The axis of the batch; negative values count from the end.
        batch_axis: i64,
        /// The axis of the steps; negative values count from the end.
        seq_axis: i64,
    },
    /// Data with replaced parts along an axis. Inputs: data, indices, new parts, axis.
    ScatterUpdate,
    /// Data with replaced parts. Inputs: data, indices, new parts. The last dimension of the
    /// indices is the start of a part.
    ScatterNd {
        /// The operation that combines the old and the new element. `None`: the new element.
        combine: Option<Binary>,
    },
    /// Data with elements replaced. Inputs: data, indices along the axis, the new elements, the
    /// axis.
    ScatterElements {
        /// The operation that combines the old and the new element. `None`: the new element.
        combine: Option<Binary>,
    },
    /// Channels as blocks of elements in space, or the other way round.
    Blocks(Blocks),
    /// Inputs: data, indices along the axis.
    GatherElements {
        /// The axis; negative values count from the end.
        axis: i64,
    },
    /// Parts of data selected by rows of indices. Inputs: data, indices. The last dimension of the
    /// indices has one place per axis after the batch.
    GatherNd(GatherNd),
    /// A discrete Fourier transform. Inputs: data, axes, and optional lengths along the axes (-1:
    /// the length of data).
    Dft(Dft),
    /// The spectra of a signal's frames. Inputs: signal `[N, T]` or `[N, T, parts]`, distance
    /// between frames, length of a frame, optional window.
    Stft {
        /// True to omit the frequencies above half the sampling rate.
        one_sided: bool,
    },
    /// A window for spectra. Input: its length.
    SpectralWindow(SpectralWindow),
    /// Weights from frequencies of a spectrum to bands of the mel scale. Inputs: bands, length of
    /// the transform, sampling rate, lowest and highest frequency.
    MelWeights,
    /// Scaled dot-product attention. Inputs: query, key, value, mask where present, scale where
    /// present.
    Attention {
        /// True if a query attends only to keys up to its own place.
        causal: bool,
    },
    /// Inputs: data, shape, axes (explicit mode only).
    Broadcast(BroadcastMode),
    /// Inputs: data, repetitions along each axis.
    Tile,
    /// Cumulative sums along an axis. Inputs: data, axis.
    RunningSum {
        /// True to exclude each element from its own sum.
        exclusive: bool,
        /// True to sum from the end.
        reverse: bool,
    },
    /// A row for each index: `on` at the index, `off` elsewhere. Inputs: indices, length of a row,
    /// on, off.
    OneHot {
        /// The axis of the rows in the result; negative values count from the end.
        axis: i64,
        /// True if negative indices count from the end; otherwise their rows are all `off`.
        from_end: bool,
    },
    /// Matrices with zeros on one side of a diagonal. Inputs: data, optional diagonal (default:
    /// main).
    Triangle {
        /// True for zeros below the diagonal.
        upper: bool,
    },
    /// An operation that the reader does not support, in a branch that may not be chosen.
    Unread(Box<Unread>),
    /// Ones on a diagonal. Inputs: rows, columns, offset above the main diagonal.
    Eye,
    /// A rotation of elements along axes. Inputs: data, shifts, axes.
    Roll,
    /// Ones on a diagonal, in the shape of the input.
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
        /// True if the limits may be known only at run time.
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
    /// Sets the variable's next value; the output is this value.
    Assign {
        /// The variable.
        variable: String,
    },
    /// Inputs: data `[N, C, ..]`, weights, optional bias per output channel.
    Convolution(Box<Convolution>),
    /// Input: data `[N, C, ..]`.
    Pool(Box<Pool>),
    /// Inputs: data, padding before and after each axis (negative: cropping), value, optional axes
    /// (default: all).
    Pad(PadMode),
    /// The best elements along an axis and their places. Inputs: data, count.
    TopK {
        /// The axis; negative values count from the end.
        axis: i64,
        /// True for the largest elements, false for the smallest.
        largest: bool,
        /// True if the last of equal elements wins.
        last: bool,
        /// True to sort by place, false to sort best first.
        sorted_by_place: bool,
    },
    /// A loop.
    Loop(Box<Loop>),
    /// One of two bodies.
    If(Box<If>),
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

/// The meaning of a reduction along an empty list of axes.
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

/// The operation of [`Op::Normalize`]; `eps` avoids a division by 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Normalization {
    /// `(x - mean) / sqrt(variance + eps) * scale + shift`, with one number of each per place along
    /// axis 1.
    ///
    /// Inputs: x, scale, shift, mean, variance.
    Batch {
        /// The addend of the variance.
        eps: f32,
    },
    /// Normalisation over all axes from `axis`, with one number of scale and shift per place of
    /// these axes. Inputs: x, optional scale, optional shift.
    Layer {
        /// The axis; negative values count from the end.
        axis: i64,
        /// The addend of the variance.
        eps: f32,
        /// True if the mean counts as 0 and the variance is the mean of the squares.
        root_mean_square: bool,
    },
    /// Normalisation over groups of places along axis 1 and all later axes. Inputs: x, scale,
    /// shift.
    Group {
        /// The number of groups; 0: one per place.
        groups: usize,
        /// The addend of the variance.
        eps: f32,
    },
    /// Normalisation over given axes, without scale and shift. Inputs: x, optional axes.
    Variance {
        /// The first axis if the inputs have no axes; all later axes follow.
        first: usize,
        /// The constant added to the variance or to the deviation.
        eps: f32,
        /// True to add `eps` to the variance, false to add it to the deviation.
        eps_in_root: bool,
        /// True to divide by the deviation.
        normalize_variance: bool,
    },
    /// `x / sqrt(sum of squares)` over given axes. Inputs: x, axes.
    Length {
        /// The addend or the lower limit of the sum.
        eps: f32,
        /// True to add, false for a lower limit.
        adds: bool,
    },
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

/// [`Op::GatherNd`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GatherNd {
    /// Leading dimensions shared by data and indices.
    pub batch_dims: i64,
    /// True if the result merges the batch dimensions into one.
    pub flattens_batch: bool,
}

/// [`Op::Dft`]. The two parts of complex numbers are the last dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dft {
    /// True for the inverse transform, divided by the length.
    pub inverse: bool,
    /// True if the signal is real and the spectrum ends at half the sampling rate.
    pub one_sided: bool,
    /// True if tensors of real numbers have a last axis of size 1.
    pub parts_of_real: bool,
}

/// The window of [`Op::SpectralWindow`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpectralWindow {
    /// Coefficients of `cos(2 pi k n / N)` for k = 0, 1, 2.
    pub cosines: [f64; 3],
    /// True if N is the length of the window, false for the length minus one.
    pub periodic: bool,
}

/// The alignment of the input with the shape in Broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BroadcastMode {
    /// At the end; sizes of 1 widen.
    Numpy,
    /// At the end; both widen.
    Bidirectional,
    /// The third input maps dimensions of the input to dimensions of the shape.
    Explicit,
}

/// The most loops and branches inside each other. Readers do not read deeper bodies, see
/// [`Loop::too_deep`].
pub const MOST_NESTED: usize = 8;

/// A loop with a trip count from a constant or from the pieces of an input.
///
/// Inputs of the node: trip count and condition, if present; then the inputs of [`LoopInput`] by
/// index.
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
    /// From one window to the next, by dimension; 1 if empty.
    pub strides: Vec<usize>,
    /// From one element of a window to the next, by dimension; 1 if empty.
    pub dilations: Vec<usize>,
    /// The padding.
    pub padding: Padding,
}

/// The padding of data for windows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Padding {
    /// Numbers of elements before and after, by dimension; empty: none.
    Explicit {
        /// In front.
        begin: Vec<i64>,
        /// Behind.
        end: Vec<i64>,
    },
    /// As many as needed for a window at every stride-th element; an odd element goes to the end.
    SameUpper,
    /// As many as needed for a window at every stride-th element; an odd element goes to the front.
    SameLower,
    /// None.
    Valid,
}

/// Groups of channels with separate weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Groups {
    /// A given number; the weights are `[M, C / groups, ..]`, transposed `[C, M / groups, ..]`.
    Count(usize),
    /// The first dimension of the weights: `[groups, M / groups, C / groups, ..]`.
    InWeights,
}

/// [`Op::Convolution`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Convolution {
    /// The movement of the windows.
    pub window: Window,
    /// Groups of channels.
    pub groups: Groups,
    /// True for a transposed convolution: every element of data adds the kernel to the output.
    pub transposed: bool,
    /// Transposed: additional elements at the end of the output, by dimension; empty: none.
    pub output_padding: Vec<usize>,
    /// Transposed: the source of the output's sizes.
    pub output_sizes: OutputSizes,
}

/// The source of the sizes of a transposed convolution's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputSizes {
    /// Data, kernel and pads.
    Follow,
    /// Given sizes; pads follow by the rules of ONNX.
    Given(Vec<usize>),
    /// The third input; pads follow by the rules of OpenVINO.
    Input,
}

/// The operation of a pool on a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolKind {
    /// The largest element.
    Max,
    /// The mean.
    Average {
        /// True if pads count as elements of the window.
        count_pads: bool,
    },
}

/// [`Op::Pool`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// The operation.
    pub kind: PoolKind,
    /// The size of a window; empty: all of the data.
    pub kernel: Vec<usize>,
    /// The movement of the window.
    pub window: Window,
    /// The treatment of a last window that reaches beyond the pads.
    pub rounding: Rounding,
}

/// The treatment of a pool's last window that reaches beyond the pads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Dropped.
    Floor,
    /// Kept.
    Ceil,
    /// Kept if the window starts before the pads at the end.
    CeilInside,
}

/// The padding values of [`Op::Pad`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PadMode {
    /// A number.
    Constant,
    /// The element at the side.
    Edge,
    /// The elements backwards, without the one at the side.
    Reflect,
    /// The elements backwards.
    Symmetric,
    /// The elements of the other side.
    Wrap,
}

/// The attributes of [`Op::Blocks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// The length of a block along each axis.
    pub size: usize,
    /// True to move channels into space, false to move space into channels.
    pub to_space: bool,
    /// True if the channel comes before the place in a block.
    pub channel_first: bool,
}

/// One of two bodies. Inputs of the node: the condition, one element, then what the bodies read.
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

/// The problem of an unreadable part of a branch.
#[derive(Clone, Debug, PartialEq)]
pub struct Unread {
    /// The finding.
    pub found: Message,
    /// The valid values.
    pub valid: Message,
    /// The remedy.
    pub help: Message,
}

/// The source of a body's Parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopInput {
    /// The body's Parameter.
    pub parameter: usize,
    /// The node's input: an index into its inputs.
    pub input: usize,
    /// The axis along which the input is cut into one piece per iteration. `None`: not cut.
    pub slice: Option<Slicing>,
    /// The body's Result that supplies the value from the second iteration on.
    pub back_edge: Option<usize>,
}

/// The source of a node's output.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopOutput {
    /// The body's Result.
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
    /// The start of the first piece; negative values count from the end.
    pub start: i64,
    /// The end of the last piece; negative values count from the end, -1 is the end itself.
    pub end: i64,
    /// The distance between pieces; negative: backwards.
    pub stride: i64,
    /// The length of a piece.
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
    /// A loop without a body in place of a loop or branch that is nested deeper than
    /// [`MOST_NESTED`]: the check of the structure refuses its node.
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

    /// The body's Parameter as a value of the body, as named by back edges and slices.
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
    /// The place of an element of the result.
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
    /// One factor for all axes; no axis becomes longer than its size.
    NotLarger,
    /// One factor for all axes; no axis becomes shorter than its size.
    NotSmaller,
}

/// The interpolation between two elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sampling {
    /// One of the elements.
    Nearest(Nearest),
    /// Linear interpolation.
    Linear,
    /// The four around the place.
    Cubic {
        /// The coefficient of the polynomials.
        a: f32,
        /// True if elements beyond the ends have weight 0; otherwise the ends are repeated.
        exclude_outside: bool,
    },
}

/// The coordinates of a resized axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaling {
    /// From the middle of the first element.
    Asymmetric,
    /// From the edge of the first element.
    HalfPixel,
    /// As [`Self::HalfPixel`]; a single element stands at 0.
    PytorchHalfPixel,
    /// As [`Self::HalfPixel`], with the middle of the data in the middle of the result.
    HalfPixelSymmetric,
    /// From the edge of the first element to the middle of the others.
    HalfPixelForNearest,
    /// The first and last elements keep their places.
    AlignCorners,
}

/// The rounding of a place between two elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nearest {
    /// The nearest; of two, the first.
    RoundPreferFloor,
    /// The nearest; of two, the second.
    RoundPreferCeil,
    /// The one before.
    Floor,
    /// The one after.
    Ceil,
    /// The one before; if the axis becomes shorter, the one after.
    Simple,
}
