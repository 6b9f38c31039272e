use super::{Activation, Cell, Dim, Direction, ElementType, Model, Tensor, ValueId};

/// What a node does. Inputs and outputs are in the order in which they are listed here; a way in whose format has another brings them into this one,
/// as it does with the order of dimensions and of gates.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// An input of the model, or of a [`Loop`]'s body.
    Parameter,
    /// A tensor that is known when compiling.
    Constant(Tensor),
    /// A change of the element type. Floating point types all compute in f32.
    Convert,
    /// One step of a recurrent cell. Inputs: x, h, c (LSTM), W, R, B where present, P (LSTM with peepholes), a (AUGRU).
    /// Outputs: h', c' (LSTM).
    Cell(Cell),
    /// A recurrent cell over time, the batch in front of the steps. Inputs: X `[N, T, I]`, h0 `[N, D, H]`, c0 (LSTM), lengths `[N]`, W, R, B, P (LSTM with peepholes), each
    /// with D in front, A `[N, T, 1]` (AUGRU). Outputs: Y `[N, D, T, H]`, Ho `[N, D, H]`, Co (LSTM).
    Sequence(Cell, Direction),
    /// An output of the model, or of a [`Loop`]'s body.
    Result,
    /// Element by element, shapes broadcast by NumPy's rules.
    Elementwise(Elementwise),
    /// Inputs: a `[.., M, K]`, b `[.., K, N]`, either transposed where said; a vector is a row on the left, a column on the right.
    MatMul {
        /// a is `[.., K, M]`.
        transpose_a: bool,
        /// b is `[.., N, K]`.
        transpose_b: bool,
    },
    /// `exp(v) / sum exp(v)` along an axis, or its logarithm.
    Softmax {
        /// From the end where negative.
        axis: i64,
        /// Whether the logarithm is meant.
        log: bool,
    },
    /// Along some axes. Inputs: data, axes (all if absent).
    Reduce {
        /// What is computed.
        reduction: Reduction,
        /// Whether the axes stay, with a size of 1.
        keep: bool,
        /// What no axes mean, given as an empty list.
        no_axes: NoAxes,
    },
    /// Data less its mean, divided by its deviation, or what is like that.
    Normalize(Normalization),
    /// The inputs side by side.
    Concat {
        /// From the end where negative.
        axis: i64,
    },
    /// Equal parts. Inputs: data, axis. As many outputs as parts.
    Split {
        /// How many.
        parts: usize,
    },
    /// Parts of given lengths, of which one may be -1. Inputs: data, axis, lengths.
    VariadicSplit,
    /// Inputs: data, shape, of which one may be -1.
    Reshape {
        /// Whether a 0 in the shape keeps the size that data has there; else it is a size of 0.
        zero_keeps: bool,
    },
    /// Inputs: data, axes (all of size 1 if absent).
    Squeeze {
        /// Whether an axis of another size than 1 stays; else it is an error. A way in does not know the sizes.
        skip: bool,
    },
    /// Inputs: data, axes.
    Unsqueeze,
    /// Inputs: data, order (reversed if empty).
    Transpose,
    /// Inputs: data, indices, axis.
    Gather {
        /// From the end of the indices' dimensions where negative.
        batch_dims: i64,
    },
    /// Inputs: data, start, stop, step, axes (the first ones if absent).
    Slice,
    /// Inputs: data, begin, end, strides (1 if absent). Masks by dimension; what is missing is false.
    StridedSlice {
        /// Where begin does not count.
        begin_mask: Vec<bool>,
        /// Where end does not count.
        end_mask: Vec<bool>,
        /// Where a dimension of 1 is put in.
        new_axis_mask: Vec<bool>,
        /// Where the dimension goes.
        shrink_axis_mask: Vec<bool>,
        /// Where all dimensions that nothing is said of stand.
        ellipsis_mask: Vec<bool>,
    },
    /// The first elements along an axis in reverse. Inputs: data, how many for each place along the other axis.
    ReverseSequence {
        /// From the end where negative.
        batch_axis: i64,
        /// From the end where negative.
        seq_axis: i64,
    },
    /// Data with some of its parts along an axis replaced. Inputs: data, indices, the new parts, axis.
    ScatterUpdate,
    /// Data with parts replaced. Inputs: data, indices, whose last dimension says where a part begins, the new parts.
    ScatterNd {
        /// What an element becomes together with the new one; none: the new one.
        combine: Option<Elementwise>,
    },
    /// Data with elements replaced. Inputs: data, indices along the axis, the new elements, the axis.
    ScatterElements {
        /// As for parts.
        combine: Option<Elementwise>,
    },
    /// Channels as blocks of elements in space, or the other way round.
    Blocks(Blocks),
    /// Inputs: data, indices along the axis.
    GatherElements {
        /// From the end where negative.
        axis: i64,
    },
    /// Parts of data at places that rows of indices name. Inputs: data, indices, whose last dimension is a place along each
    /// of the axes behind the batch.
    GatherNd(GatherNd),
    /// A discrete Fourier transform. Inputs: data, axes, and the length along each axis where it is not the data's (-1: the
    /// data's).
    Dft(Dft),
    /// The spectra of a signal's frames. Inputs: signal `[N, T]` or `[N, T, parts]`, elements from one frame to the next, the
    /// length of a frame, window where present.
    Stft {
        /// Whether the frequencies above half the sampling rate are left out.
        half: bool,
    },
    /// A window for spectra. Input: its length.
    SpectralWindow(SpectralWindow),
    /// Weights that sum the frequencies of a spectrum to bands of the mel scale. Inputs: bands, length of the transform,
    /// sampling rate, lowest and highest frequency.
    MelWeights,
    /// Scaled dot-product attention. Inputs: query, key, value, mask where present, scale where present.
    Attention {
        /// Whether a query attends only to the keys up to its own place.
        causal: bool,
    },
    /// Inputs: data, shape, axes (explicit mode only).
    Broadcast(BroadcastMode),
    /// Inputs: data, how often it stands along each axis.
    Tile,
    /// The sum of all elements up to each along an axis. Inputs: data, axis.
    RunningSum {
        /// Whether each is left out of its own sum.
        exclusive: bool,
        /// Whether sums begin at the end.
        reverse: bool,
    },
    /// A row for each index: `on` there, `off` elsewhere. Inputs: indices, how long a row is, on, off.
    OneHot {
        /// Where the rows stand in the result, from the end where negative.
        axis: i64,
        /// Whether negative indices count from the end; else they are nowhere.
        from_end: bool,
    },
    /// Matrices with zeros on one side of a diagonal. Inputs: data, and the diagonal where it is not the main one.
    Triangle {
        /// Whether zeros stand below.
        upper: bool,
    },
    /// What the reader does not know, in a branch that may not be chosen.
    Unread(Box<Unread>),
    /// Ones on a diagonal. Inputs: the numbers of rows and of columns, and how far it is above the main one.
    Eye,
    /// Elements moved along axes, those beyond an end to the other one. Inputs: data, by how many places, axes.
    Roll,
    /// Ones on a diagonal, in the shape of the input.
    EyeLike {
        /// How far it is above the main one.
        diagonal: i64,
    },
    /// Sums of products. Inputs: the factors.
    Einsum {
        /// The letters of their dimensions and of the result's, as NumPy writes them.
        equation: String,
    },
    /// Elements at other places along axes. Inputs: data, factors or sizes, and the axes where those are not all.
    Resize(Resize),
    /// The shape, as integers.
    ShapeOf,
    /// Integers from the first input to before the second, the third apart.
    Range,
    /// The variable's value; its one input, where there is one, is the initial value (zero else).
    ReadValue {
        /// Which.
        variable: String,
        /// The shape it is declared with: that of its initial value has to fit.
        shape: Option<Vec<Dim>>,
        /// The element type it is declared with: its initial value has to be of that.
        element: Option<ElementType>,
    },
    /// Gives the variable its value after the step, and passes it on.
    Assign {
        /// Which.
        variable: String,
    },
    /// Inputs: data `[N, C, ..]`, weights, and a number for each output channel where that is added.
    Convolution(Box<Convolution>),
    /// Input: data `[N, C, ..]`.
    Pool(Box<Pool>),
    /// Inputs: data, how many elements are put in front along each axis and how many behind (taken away where negative), the value, and the axes that are
    /// meant (all of them if absent).
    Pad(PadMode),
    /// The best elements along an axis and their places. Inputs: data, how many.
    TopK {
        /// From the end where negative.
        axis: i64,
        /// Whether the largest are the best.
        largest: bool,
        /// Whether of equal ones the last is better.
        last: bool,
        /// Whether they stand in the order of their places, not the best one first.
        sorted_by_place: bool,
    },
    /// A body that is computed again and again.
    Loop(Box<Loop>),
    /// One of two bodies.
    If(Box<If>),
}

/// What a reduction along an empty list of axes is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAxes {
    /// Along all axes.
    All,
    /// Data as they are.
    Same,
    /// What is computed of each element, of which nothing is then combined.
    Each,
}

/// What [`Op::Reduce`] computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// v1 + v2 + ..
    Sum,
    /// The sum, divided by how many there are.
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
    /// Whether all are true.
    All,
    /// Whether any is true.
    Any,
}

/// What [`Op::Normalize`] computes; `eps` is added so that nothing is divided by 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Normalization {
    /// `(x - mean) / sqrt(variance + eps) * scale + shift`, a number of each for each place along axis 1.
    ///
    /// Inputs: x, scale, shift, mean, variance.
    Batch {
        /// What is added to the variance.
        eps: f32,
    },
    /// The same over all axes from one on, of which scale and shift have one number for each place. Inputs: x, scale where present, shift where present.
    Layer {
        /// From the end where negative.
        axis: i64,
        /// What is added to the variance.
        eps: f32,
        /// Whether the mean is taken as 0, and the variance is that of the squares.
        root_mean_square: bool,
    },
    /// The same over each of some groups of places along axis 1 and all axes after it. Inputs: x, scale, shift.
    Group {
        /// How many groups; 0: as many as places.
        groups: usize,
        /// What is added to the variance.
        eps: f32,
    },
    /// The same over the axes that are given, without scale and shift. Inputs: x, axes where present.
    Variance {
        /// The first of the axes where none are given: all from it on.
        first: usize,
        /// What is added.
        eps: f32,
        /// Whether to the variance; else to its root.
        inside: bool,
        /// Whether it is divided by the deviation.
        divides: bool,
    },
    /// `x / sqrt(sum of squares)` over the axes that are given. Inputs: x, axes.
    Length {
        /// What is added to the sum, or the least that it counts as.
        eps: f32,
        /// Whether it is added.
        adds: bool,
    },
}

impl Normalization {
    /// How many inputs it takes.
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
    /// Leading dimensions that data and indices share.
    pub batch_dims: i64,
    /// Whether the result has one dimension in place of those of the batch.
    pub flattens_batch: bool,
}

/// [`Op::Dft`]. The two parts of complex numbers are the last dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dft {
    /// From a spectrum to a signal, divided by the length.
    pub inverse: bool,
    /// Whether the signal is real and its spectrum has the frequencies up to half the sampling rate only.
    pub half: bool,
    /// Whether real numbers have a last dimension of 1, which axes count, instead of none.
    pub parts_of_real: bool,
}

/// What [`Op::SpectralWindow`] gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpectralWindow {
    /// Coefficients of `cos(2 pi k n / N)` for k = 0, 1, 2.
    pub cosines: [f64; 3],
    /// Whether N is the length of the window, rather than the length less one.
    pub periodic: bool,
}

/// How Broadcast aligns its input with the shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BroadcastMode {
    /// At the end; sizes of 1 widen.
    Numpy,
    /// At the end; both widen.
    Bidirectional,
    /// The third input says which dimension of the shape each of the input's is.
    Explicit,
}

/// What [`Op::Elementwise`] computes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)] // the names say it
pub enum Elementwise {
    Activation(Activation),
    /// Inputs: v, alpha, beta, both constants of one element.
    HardSigmoid,
    /// Inputs: v, slope for v < 0.
    PRelu,
    Clamp {
        min: f32,
        max: f32,
    },
    /// v times the sigmoid of v, or of v times the second input.
    Swish {
        scaled: bool,
    },
    /// v tanh(log(1 + exp(v)))
    Mish,
    /// v times hard sigmoid, alpha 1/6 and beta 1/2.
    HardSwish,
    /// Inputs: v, alpha, gamma, both constants of one element: gamma times elu.
    Selu,
    /// alpha elu(v / alpha), the elu of 1.
    Celu {
        alpha: f32,
    },
    /// v / 2 (1 + tanh(sqrt(2 / pi) (v + 0.044715 v^3)))
    GeluTanh,
    /// v / 2 (1 + erf(v / sqrt(2)))
    Gelu,
    Tan,
    Sinh,
    Cosh,
    Asin,
    Acos,
    Asinh,
    Acosh,
    Atanh,
    /// The square of the difference of the two inputs.
    SquaredDifference,
    Exp,
    Log,
    Negative,
    Abs,
    Add,
    Subtract,
    Multiply,
    Divide,
    Maximum,
    Minimum,
    /// The first to the power of the second, which at run time is one constant.
    Power,
    /// Of integers. The sign of the dividend.
    Mod,
    /// Of integers. The sign of the divisor.
    FloorMod,
    Floor,
    Ceiling,
    /// The nearest whole number, the even one of two.
    Round,
    /// Without the fraction.
    Truncate,
    /// -1, 0 or 1.
    Sign,
    Equal,
    NotEqual,
    Greater,
    GreaterEqual,
    Less,
    LessEqual,
    LogicalAnd,
    LogicalOr,
    LogicalNot,
    /// Inputs: condition, then, else.
    Select,
}

impl Elementwise {
    /// Whether it is made of others.
    pub fn is_composed(self) -> bool {
        use Elementwise as E;
        let gates = matches!(self, E::Swish { .. } | E::Mish | E::HardSwish | E::GeluTanh | E::Gelu);
        gates || self.is_hyperbolic() || matches!(self, E::Selu | E::Celu { .. } | E::SquaredDifference)
    }

    /// Whether it is a function of circles or hyperbolas that is made of others.
    pub fn is_hyperbolic(self) -> bool {
        use Elementwise as E;
        matches!(self, E::Tan | E::Sinh | E::Cosh | E::Asin | E::Acos | E::Asinh | E::Acosh | E::Atanh)
    }

    /// How many inputs it takes.
    pub fn inputs(self) -> usize {
        use Elementwise as E;
        match self {
            E::Activation(_) | E::Clamp { .. } | E::Exp | E::Log | E::Negative | E::Abs => 1,
            E::Floor | E::Ceiling | E::Round | E::Truncate | E::Sign | E::LogicalNot => 1,
            E::Mish | E::HardSwish | E::Celu { .. } | E::GeluTanh | E::Gelu => 1,
            E::Tan | E::Sinh | E::Cosh | E::Asin | E::Acos | E::Asinh | E::Acosh | E::Atanh => 1,
            E::SquaredDifference => 2,
            E::Swish { scaled } => 1 + usize::from(scaled),
            E::HardSigmoid | E::Select | E::Selu => 3,
            E::PRelu | E::Add | E::Subtract | E::Multiply | E::Divide | E::Maximum | E::Minimum | E::Power => 2,
            E::Mod | E::FloorMod | E::Equal | E::NotEqual | E::Greater | E::GreaterEqual => 2,
            E::Less | E::LessEqual | E::LogicalAnd | E::LogicalOr => 2,
        }
    }
}

/// A body that is computed again and again, as often as a constant or the pieces of an input say.
///
/// Inputs of the node: the trip count and the condition where it has them, then what [`LoopInput`] names by place.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// Its Parameters and Results are named by the ports by their place in [`Model::parameters`] and [`Model::results`].
    pub body: Model,
    /// Whether inputs 0 and 1 are the trip count and the condition.
    pub counted: bool,
    /// What the body's Parameters are.
    pub inputs: Vec<LoopInput>,
    /// What the node's outputs are, in port order.
    pub outputs: Vec<LoopOutput>,
    /// The body's Parameter that is the number of the iteration.
    pub current_iteration: Option<usize>,
    /// The body's Result that says whether to go on.
    pub condition: Option<usize>,
}

/// Windows that move over the dimensions behind `[N, C]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// From one window to the next, by dimension; 1 if empty.
    pub strides: Vec<usize>,
    /// From one element of a window to the next, by dimension; 1 if empty.
    pub dilations: Vec<usize>,
    /// What is put around the data.
    pub padding: Padding,
}

/// What is put around data before windows move over it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Padding {
    /// So many elements in front and behind, by dimension; none if empty.
    Explicit {
        /// In front.
        begin: Vec<i64>,
        /// Behind.
        end: Vec<i64>,
    },
    /// As many as there have to be for a window at every stride-th element; the odd one behind.
    SameUpper,
    /// The same; the odd one in front.
    SameLower,
    /// None.
    Valid,
}

/// How many groups of channels have weights of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Groups {
    /// So many; the weights are `[M, C / groups, ..]`, transposed `[C, M / groups, ..]`.
    Count(usize),
    /// As many as the first dimension of the weights says: `[groups, M / groups, C / groups, ..]`.
    InWeights,
}

/// [`Op::Convolution`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Convolution {
    /// How its windows move.
    pub window: Window,
    /// Groups of channels.
    pub groups: Groups,
    /// Whether every element of the data adds the kernel to the output, rather than every window gives one.
    pub transposed: bool,
    /// Transposed: how many elements the output has behind the last, by dimension; none if empty.
    pub output_padding: Vec<usize>,
    /// Transposed: what says the sizes of the output.
    pub output_sizes: OutputSizes,
}

/// What says the sizes of a transposed convolution's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputSizes {
    /// Data, kernel and pads.
    Follow,
    /// These, which decide the pads as ONNX says it.
    Given(Vec<usize>),
    /// The third input, which decides the pads as OpenVINO does.
    Input,
}

/// What a pool makes of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolKind {
    /// The largest element.
    Max,
    /// The mean.
    Average {
        /// Whether pads are elements of the window.
        count_pads: bool,
    },
}

/// [`Op::Pool`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// What it computes.
    pub kind: PoolKind,
    /// The size of a window; empty: all of the data.
    pub kernel: Vec<usize>,
    /// How it moves.
    pub window: Window,
    /// How many windows there are where the last one would reach beyond the pads.
    pub rounding: Rounding,
}

/// Whether a pool has a last window that reaches beyond the pads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// No.
    Floor,
    /// Yes.
    Ceil,
    /// Yes, if it starts before the pads behind the data.
    CeilInside,
}

/// What [`Op::Pad`] puts around data.
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

/// What [`Op::Blocks`] takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// How long a block is along each axis.
    pub size: usize,
    /// From channels to space.
    pub to_space: bool,
    /// Whether the channel counts in front of the place in a block.
    pub channel_first: bool,
}

/// One of two bodies. Inputs of the node: the condition, one element, then what the bodies read.
#[derive(Clone, Debug, PartialEq)]
pub struct If {
    /// What is computed where the condition holds.
    pub then: Branch,
    /// What is computed where it does not.
    pub otherwise: Branch,
}

/// A body that an [`If`] may choose. Its Results are the node's outputs, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// What is computed.
    pub body: Model,
    /// By Parameter of the body: which input of the node it is.
    pub inputs: Vec<usize>,
}

/// Why a part of a branch could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// What was found.
    pub found: String,
    /// What would be valid.
    pub valid: String,
    /// What to do.
    pub help: String,
}

/// Where a body's Parameter comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopInput {
    /// The body's Parameter.
    pub parameter: usize,
    /// The node's input: an index into its inputs.
    pub input: usize,
    /// Whether it is cut along an axis, a piece for each iteration.
    pub slice: Option<Slicing>,
    /// The body's Result that it is from the second iteration on.
    pub back_edge: Option<usize>,
}

/// What a node's output is.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopOutput {
    /// The body's Result.
    pub result: usize,
    /// Whether the pieces of all iterations are put together along an axis; else it is the last iteration's.
    pub concatenation: Option<Slicing>,
}

/// How pieces are cut along an axis, or put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slicing {
    /// From the end where negative.
    pub axis: i64,
    /// Where the first piece starts; from the end where negative.
    pub start: i64,
    /// Where the last piece ends; from the end where negative, -1 being the end itself.
    pub end: i64,
    /// From one piece to the next; backwards where negative.
    pub stride: i64,
    /// How long a piece is.
    pub part_size: i64,
}

#[cfg(any(feature = "read-onnx", test))]
impl Slicing {
    /// All of an axis, one element at a time.
    pub fn one_by_one(axis: i64, reverse: bool) -> Self {
        let (start, end, stride) = if reverse { (-1, 0, -1) } else { (0, -1, 1) };
        Self { axis, start, end, stride, part_size: 1 }
    }
}

impl Loop {
    /// What the value of the back edge and slices name: the body's Parameter as a value of the body.
    pub fn parameter(&self, index: usize) -> Option<ValueId> {
        let node = *self.body.parameters.get(index)?;
        self.body.nodes.get(node)?.outputs.first().copied()
    }
}

/// What [`Op::Resize`] takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resize {
    /// What the second input is.
    pub by: ResizeBy,
    /// Where an element of the result stands.
    pub scaling: Scaling,
    /// What is taken there.
    pub sampling: Sampling,
}

/// What says the sizes of a resized tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResizeBy {
    /// A factor for each axis.
    Factors,
    /// A size for each axis.
    Sizes,
    /// One factor for all axes, with which no axis becomes longer than its size.
    NotLarger,
    /// One factor for all axes, with which no axis becomes shorter than its size.
    NotSmaller,
}

/// What is taken between two elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sampling {
    /// One of the elements.
    Nearest(Nearest),
    /// Both, by how near they are.
    Linear,
    /// The four around the place.
    Cubic {
        /// The coefficient of the polynomials.
        a: f32,
        /// Whether elements beyond the ends count nothing; else they are those at the ends.
        exclude_outside: bool,
    },
}

/// How places of a resized axis are counted.
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
    /// So that the first and last elements stay in their places.
    AlignCorners,
}

/// Which element is nearest to a place between two.
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
    /// The one before; where the axis becomes shorter, the one after.
    Simple,
}
