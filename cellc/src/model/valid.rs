use std::fmt::{self, Display, Formatter};

use super::{Activation, CellKind, Coupled, ElementType, InputFile, LedgerEntry, Tensor, WeightLayout};

/// Where a tensor of a [`ValidModel`] comes from. All but sequence lengths are f32 to the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// The i-th of [`ValidModel::parameters`].
    Parameter(usize),
    /// The i-th of [`ValidModel::constants`].
    Constant(usize),
    /// The i-th of [`ValidModel::variables`], before the step.
    Variable(usize),
    /// The i-th of [`ValidModel::values`].
    Value(usize),
}

impl Display for Source {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameter(i) => write!(f, "parameter {i}"),
            Self::Constant(i) => write!(f, "constant {i}"),
            Self::Variable(i) => write!(f, "variable {i}"),
            Self::Value(i) => write!(f, "value {i}"),
        }
    }
}

/// Where W, R, B or P come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WeightSource {
    /// The i-th of [`ValidModel::constants`].
    Constant(usize),
    /// The i-th of [`ValidModel::parameters`], which then has [`Parameter::weight`] set.
    Parameter(usize),
    /// All zero: an omitted optional B.
    Zero,
}

/// An input of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its tensor names, then its layer name: what `emit::names` chooses from.
    pub names: Vec<String>,
    /// Its shape, all sizes known.
    pub shape: Vec<usize>,
    /// The element type in the input. Kernels see f32 for floats, and the type itself for integers.
    pub element: ElementType,
    /// True if the input is only W, R, B or P of cells: packed once, not read at every step.
    pub weight: bool,
    /// T, for sequence lengths: values are clamped to 0..=T.
    pub length: Option<usize>,
    /// Rows of the smallest table indexed by this input.
    pub rows: Option<usize>,
}

impl Parameter {
    /// Upper limit for random integer inputs; the lower limit is 0.
    pub fn largest_drawn(&self) -> Option<usize> {
        match (self.length, self.rows, self.element) {
            (Some(most), ..) => Some(most),
            (None, Some(rows), _) => Some(rows - 1),
            (None, None, ElementType::Bool) => Some(1),
            (None, None, element) => (!element.is_float()).then_some(7),
        }
    }
}

/// The names of an input or an output without those that OpenVINO made up.
pub(crate) fn lasting(names: &[String]) -> Vec<String> {
    names.iter().filter(|name| !is_made_up(name)).cloned().collect()
}

/// True if OpenVINO made up the name of an input or an output, `Parameter_270` or `Result_44995`:
/// another export of the model changes it.
pub(crate) fn is_made_up(name: &str) -> bool {
    let digits = ["Parameter_", "Result_"].iter().find_map(|made| name.strip_prefix(made));
    digits.is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
}

/// An output of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultValue {
    /// Its tensor names, then its layer name.
    pub names: Vec<String>,
    /// Its shape, all sizes known.
    pub shape: Vec<usize>,
    /// Its element type in the input.
    pub element: ElementType,
    /// The source of the output.
    pub source: Source,
    /// The result with the run-time length along the first axis, if the length is known only at run
    /// time.
    pub parts: Option<usize>,
}

/// A state pair: the parameter kept between steps, and the result with its next value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatePair {
    /// Index into [`ValidModel::parameters`].
    pub parameter: usize,
    /// Index into [`ValidModel::results`].
    pub result: usize,
}

/// A recurrent layer of one step that starts every call from a constant state; its last state is
/// lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restart {
    /// The layer's name; may be anything.
    pub name: String,
    /// The layer's type, for messages: `GRUSequence`.
    pub kind: String,
}

/// A variable of ReadValue and Assign: a tensor kept between steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its `variable_id`, any text.
    pub name: String,
    /// Its shape, all sizes known.
    pub shape: Vec<usize>,
    /// The value before the first step. `None`: zero.
    pub initial: Option<usize>,
    /// The value's next state. `None` if the value is constant across steps.
    pub next: Option<Source>,
}

/// A tensor that a node computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidValue {
    /// The shape, all sizes known. Elements are in C order.
    pub shape: Vec<usize>,
}

/// One operation, all sizes known.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidNode {
    /// The layer's name; may be anything.
    pub name: String,
    /// The layer's type in the input, for messages: `GRUCell`.
    pub kind: String,
    /// The operation.
    pub op: ValidOp,
    /// The interpretation of each attribute.
    pub ledger: Vec<LedgerEntry>,
    /// The node of the input from which the operation comes.
    pub layer: LayerPlace,
}

/// The place of a node among those of the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayerPlace {
    /// Index of the node, or of the loop or If around it, in the graph of the model.
    pub outer: usize,
    /// Index of the node in the innermost graph that contains it.
    pub inner: usize,
}

/// The operation of a [`ValidNode`].
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant)] // cells are what models are made of
pub enum ValidOp {
    /// A recurrent cell, one step or a sequence in one direction.
    Cell(ValidCell),
    /// `y[r, :] = x[r, :] W`, W fixed.
    Dense(Dense),
    /// `y[b] = a[b] b[b]`, both computed.
    MatMul(MatMul),
    /// Windows that move element by element, times fixed weights.
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
    Loop(ValidLoop),
    /// An integer input, converted for kernels.
    Integers(Integers),
    /// Rows of a table, by number.
    Lookup(Lookup),
    /// The largest or smallest elements of every row.
    TopK(TopK),
}

/// Integers are clamped to -2^22..=2^22 - 1: f32 holds these values, and sums of a few of them,
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
    /// The i-th of [`ValidModel::parameters`].
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

/// A recurrent cell in one direction, one step or a sequence, all sizes known.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidCell {
    /// The layer's name; may be anything.
    pub name: String,
    /// The kind of cell.
    pub kind: CellKind,
    /// N: rows of x and h.
    pub batch: usize,
    /// I: the length of a row of x.
    pub input_size: usize,
    /// H: the length of a row of h.
    pub hidden_size: usize,
    /// The activations; the kind determines their number.
    pub activations: Vec<Activation>,
    /// The bound on every gate's pre-activation sum.
    pub clip: Option<f32>,
    /// The layout of the weights in `w`, `r` and `b`.
    pub layout: WeightLayout,
    /// LSTM: true if the input gate is 1 - f.
    pub coupled: Option<Coupled>,
    /// x, `[N, I]`; of a sequence `[N, T, I]`.
    pub x: Source,
    /// h, `[N, H]`; of a sequence `[N, 1, H]`.
    pub h: Source,
    /// c, as h; LSTM only.
    pub c: Option<Source>,
    /// a, `[N, 1]`, of a sequence `[N, T, 1]`; AUGRU only.
    pub a: Option<Source>,
    /// W, `[D, G*H, I]` or, where D is 1, `[G*H, I]`.
    pub w: WeightSource,
    /// R, `[D, G*H, H]`
    pub r: WeightSource,
    /// The bias tensors, as `layout` describes; for OpenVINO one tensor B, `[D, bias_parts*H]`.
    pub b: Vec<WeightSource>,
    /// P, `[3*H]`, peepholes of f, i and o; LSTM only.
    pub p: Option<WeightSource>,
    /// The index among the D sets of weights.
    pub weight_set: usize,
    /// The sequence. `None` for a cell of one step.
    pub sequence: Option<Sequence>,
    /// The new h as a value: `[N, H]`; of a sequence Ho, `[N, 1, H]`. `None` if unused.
    pub h_out: Option<usize>,
    /// The new c, as `h_out`; LSTM only.
    pub c_out: Option<usize>,
    /// Y of a sequence as a value: `[N, 1, T, H]`. `None` if unused.
    pub y: Option<usize>,
    /// The interpretation of each attribute.
    pub ledger: Vec<LedgerEntry>,
}

impl ValidCell {
    /// T; 1 for a single step.
    pub fn steps(&self) -> usize {
        self.sequence.as_ref().map_or(1, |sequence| sequence.steps)
    }

    /// The first used value.
    pub fn first_value(&self) -> usize {
        let all = [self.y, self.h_out, self.c_out];
        all.into_iter().flatten().next().expect("validate: an operation has a value that is read")
    }

    /// True if the cell computes one step of every row; a sequence may have one step.
    pub fn is_one_step(&self) -> bool {
        self.sequence.as_ref().is_none_or(|sequence| sequence.steps == 1 && sequence.lengths == Lengths::Full)
    }
}

#[cfg(test)]
impl ValidCell {
    /// A cell with the defaults of its kind: one step, without the inputs of LSTM and AUGRU.
    pub(crate) fn new(
        kind: CellKind,
        (batch, input_size, hidden_size): (usize, usize, usize),
        (x, h): (Source, Source),
        [w, r, b]: [WeightSource; 3],
    ) -> Self {
        Self {
            name: "cell".to_owned(),
            kind,
            batch,
            input_size,
            hidden_size,
            activations: kind.default_activations().to_vec(),
            clip: None,
            layout: WeightLayout::new(kind, Default::default()),
            coupled: None,
            x,
            h,
            c: None,
            a: None,
            w,
            r,
            b: vec![b],
            p: None,
            weight_set: 0,
            sequence: None,
            h_out: None,
            c_out: None,
            y: None,
            ledger: Vec::new(),
        }
    }
}

/// The attributes of a sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// T
    pub steps: usize,
    /// True if time runs backwards, from each row's last step to its first.
    pub reverse: bool,
    /// Steps per row.
    pub lengths: Lengths,
}

/// Steps of the rows of a sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// All T.
    Full,
    /// Known when compiling, N of them, none above T.
    Constant(Vec<usize>),
    /// The i-th of [`ValidModel::parameters`], integers `[N]`; clamped to 0..=T.
    Parameter(usize),
    /// Computed integers `[N]`; clamped to 0..=T.
    Computed(Source),
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

/// A convolution with windows that move element by element over channels of `length` elements, in C
/// order: `out[n, g outputs + m, q] = sum over c and t of w[g outputs + m, c, t] * x[n, g inputs +
/// c, start + q + offset of tap t]`, summed in order from zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Convolve {
    /// Batch size of x.
    pub batch: usize,
    /// Groups of channels.
    pub groups: usize,
    /// Channels of x in a group.
    pub inputs: usize,
    /// Channels of the output in a group.
    pub outputs: usize,
    /// Elements of a channel of x, including padding.
    pub length: usize,
    /// Zeros before the lines of x, and after them.
    pub pads: (usize, usize),
    /// Lines per channel of x, and zeros before each line.
    pub lines: (usize, usize),
    /// The first element to read.
    pub start: usize,
    /// Elements of a channel of the output.
    pub positions: usize,
    /// Valid elements of a channel of the output. Windows over several dimensions also produce
    /// elements across line ends.
    pub wanted: usize,
    /// The taps by dimension: their number and their distance.
    pub taps: Vec<(usize, usize)>,
    /// `[batch, groups * inputs, length]`, without padding.
    pub x: Source,
    /// `[groups * outputs, inputs, taps]`, a constant.
    pub w: Source,
    /// True if the model also has run-time weights: `pack` then packs these weights, too, but not
    /// as words of integers.
    pub beside_given: bool,
    /// The output as a value, `[batch, groups * outputs, positions]`.
    pub out: usize,
}

/// The taps of a depthwise convolution in pairs, as in words of integers. A pair has one tap of the
/// first half and one of the second half, along the first dimension with several taps. The last of
/// an odd number is single.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairs {
    /// The pairs by dimension: their number and their distance.
    pub taps: Vec<(usize, usize)>,
    /// The distance between the taps of a pair.
    pub second: usize,
}

impl Pairs {
    /// The pairs of windows with several elements.
    pub fn new(of: &Convolve) -> Self {
        let mut taps = of.taps.clone();
        let halved = taps.iter().position(|(count, _)| *count > 1).expect("plan: a window of several elements");
        taps[halved].0 = taps[halved].0.div_ceil(2);
        let second = taps[halved].0 * taps[halved].1;
        Self { taps, second }
    }

    /// Words per window.
    pub fn count(&self) -> usize {
        self.taps.iter().map(|(count, _)| count).product()
    }
}

/// Upper limit for groups of one channel; a convolution with more such groups is depthwise.
pub const MOST_PRODUCTS: usize = 4;

impl Convolve {
    /// True for a depthwise convolution: separate weights per channel of x and windows of several
    /// elements. Integer arithmetic pays, as each rounded element is multiplied several times.
    pub fn is_depthwise(&self) -> bool {
        let is_apart = self.inputs == 1 && self.groups > MOST_PRODUCTS;
        is_apart && self.taps.iter().any(|(count, _)| *count > 1) && !self.beside_given
    }

    /// The distance of each tap from the first tap, in order.
    pub fn offsets(&self) -> Vec<usize> {
        offsets(&self.taps)
    }

    /// Elements of a channel of x.
    pub fn given(&self) -> usize {
        self.lines.0 * (self.line() - self.lines.1)
    }

    /// Elements of a line, including the zeros before it.
    pub fn line(&self) -> usize {
        (self.length - self.pads.0 - self.pads.1) / self.lines.0
    }

    /// The multiply-adds for valid outputs.
    pub fn multiply_adds(&self) -> usize {
        let taps: usize = self.taps.iter().map(|(count, _)| count).product();
        let channels = self.batch.saturating_mul(self.groups).saturating_mul(self.inputs * self.outputs);
        channels.saturating_mul(taps).saturating_mul(self.wanted)
    }
}

/// The distances of taps from the first tap, in order.
pub fn offsets(taps: &[(usize, usize)]) -> Vec<usize> {
    let mut all = vec![0];
    for &(count, step) in taps {
        all = all.iter().flat_map(|at| (0..count).map(move |tap| at + tap * step)).collect();
    }
    all
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

    /// Sizes of the input before the reduced axes, along them, and after them.
    pub fn extents(&self, shape: &[usize]) -> [usize; 3] {
        [&shape[..self.first], &shape[self.first..self.end], &shape[self.end..]].map(|sizes| sizes.iter().product())
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
pub struct ValidLoop {
    /// The number of iterations.
    pub trips: usize,
    /// The inputs that are cut into pieces, one per iteration.
    pub slices: Vec<LoopSlice>,
    /// The values passed from one iteration to the next.
    pub carried: Vec<LoopCarried>,
    /// The index of the carried value that is the loop condition. If the condition is 0, an
    /// iteration passes its values on unchanged and its pieces are 0, so that the remaining
    /// iterations need no computation.
    pub running: Option<usize>,
    /// In order.
    pub body: Vec<ValidNode>,
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

/// A validated model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValidModel {
    /// The name in the model file, if any.
    pub name: Option<String>,
    /// The files of the model.
    pub files: Vec<InputFile>,
    /// Inputs, in document order.
    pub parameters: Vec<Parameter>,
    /// Compile-time tensors, after constant folding.
    pub constants: Vec<Tensor>,
    /// True if some constants of the model file have 8 bits.
    pub has_bytes: bool,
    /// The variables, in the order of their first use in the input.
    pub variables: Vec<Variable>,
    /// The values of all nodes, including those in bodies of loops.
    pub values: Vec<ValidValue>,
    /// The operations, each after its operands.
    pub nodes: Vec<ValidNode>,
    /// Depthwise convolutions and products with constants that always stay f32: name and reason.
    pub in_f32: Vec<(String, &'static str)>,
    /// Outputs, in document order.
    pub results: Vec<ResultValue>,
    /// The state pairs kept between steps.
    pub states: Vec<StatePair>,
    /// The layers that start anew at every call.
    pub restarts: Vec<Restart>,
    /// The inputs and outputs of each step, for an open number of steps; the model is one step
    /// then.
    pub steps: Option<Steps>,
}

/// The inputs and outputs of each step, if the number of steps is open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// By parameter: true if every step has its own array.
    pub parameters: Vec<bool>,
    /// By result: true if every step has its own array; otherwise the result is that of the last
    /// step.
    pub results: Vec<bool>,
}

impl ValidModel {
    /// [`Self::in_f32`] grouped by reason, for the layers that satisfy the predicate.
    pub fn in_f32_by_reason(&self, asked: impl Fn(&str) -> bool) -> Vec<(&'static str, Vec<&str>)> {
        let mut reasons: Vec<(&'static str, Vec<&str>)> = Vec::new();
        for (layer, why) in self.in_f32.iter().filter(|(layer, _)| asked(layer)) {
            match reasons.iter_mut().find(|(known, _)| known == why) {
                Some((_, layers)) => layers.push(layer),
                None => reasons.push((why, vec![layer])),
            }
        }
        reasons
    }

    /// The shape of `source`.
    pub fn shape(&self, source: Source) -> &[usize] {
        match source {
            Source::Parameter(i) => &self.parameters[i].shape,
            Source::Constant(i) => self.constants[i].shape(),
            Source::Variable(i) => &self.variables[i].shape,
            Source::Value(i) => &self.values[i].shape,
        }
    }

    /// The number of elements.
    pub fn len(&self, source: Source) -> usize {
        self.shape(source).iter().product()
    }

    /// Every operation, each after its operands; a loop comes before the operations of its body.
    pub fn all_nodes(&self) -> Vec<&ValidNode> {
        fn walk<'a>(nodes: &'a [ValidNode], all: &mut Vec<&'a ValidNode>) {
            for node in nodes {
                all.push(node);
                if let ValidOp::Loop(body) = &node.op {
                    walk(&body.body, all);
                }
            }
        }
        let mut all = Vec::new();
        walk(&self.nodes, &mut all);
        all
    }

    /// [`Self::all_nodes`] without the conversions of integer inputs to f32, which cellc adds.
    pub fn operations(&self) -> Vec<&ValidNode> {
        let mut nodes = self.all_nodes();
        nodes.retain(|node| !matches!(node.op, ValidOp::Integers(_)));
        nodes
    }

    /// Every recurrent cell, in the order of [`Self::all_nodes`].
    pub fn cells(&self) -> Vec<&ValidCell> {
        self.all_nodes()
            .into_iter()
            .filter_map(|node| match &node.op {
                ValidOp::Cell(cell) => Some(cell),
                _ => None,
            })
            .collect()
    }

    /// Every activation of the model, without duplicates.
    pub fn activations(&self) -> Vec<Activation> {
        let mut all = Vec::new();
        for node in self.all_nodes() {
            match &node.op {
                ValidOp::Cell(cell) => all.extend_from_slice(&cell.activations),
                ValidOp::Pointwise(Pointwise { function: PointwiseFunction::Activation(a), .. }) => all.push(*a),
                ValidOp::Softmax(softmax) => {
                    all.push(Activation::Exp);
                    all.extend(softmax.log.then_some(Activation::Log));
                }
                _ => {}
            }
        }
        let mut once: Vec<Activation> = Vec::new();
        for activation in all {
            if !once.contains(&activation) {
                once.push(activation);
            }
        }
        once
    }
}

impl ValidOp {
    /// True if the operation multiplies constant matrices by vectors, with sizes in the plan.
    pub fn is_product(&self) -> bool {
        matches!(self, Self::Cell(_) | Self::Dense(_))
    }

    /// True if the operation multiplies fixed matrices whose precision can be chosen: a cell, a
    /// dense layer or a depthwise convolution.
    pub fn has_precision(&self) -> bool {
        self.is_product() || matches!(self, Self::Convolve(convolve) if convolve.is_depthwise())
    }

    /// The first value that the operation computes.
    pub(crate) fn first_value(&self) -> usize {
        self.outputs()[0]
    }

    /// The length of the rows of x in products with constant matrices; for a depthwise convolution
    /// the taps of a window.
    pub fn input_size(&self) -> Option<usize> {
        match self {
            Self::Cell(cell) => Some(cell.input_size),
            Self::Dense(dense) => Some(dense.inputs),
            Self::Convolve(convolve) if convolve.is_depthwise() => Some(convolve.offsets().len()),
            _ => None,
        }
    }

    /// The operands without weights; for a loop also the outer values that its body reads.
    pub fn reads(&self) -> Vec<Source> {
        match self {
            Self::Cell(cell) => {
                let lengths = cell.sequence.as_ref().and_then(|s| match s.lengths {
                    Lengths::Parameter(i) => Some(Source::Parameter(i)),
                    Lengths::Computed(source) => Some(source),
                    Lengths::Full | Lengths::Constant(_) => None,
                });
                [Some(cell.x), Some(cell.h), cell.c, cell.a, lengths].into_iter().flatten().collect()
            }
            Self::Dense(dense) => vec![dense.x],
            Self::MatMul(matmul) => vec![matmul.a, matmul.b],
            Self::Convolve(convolve) => vec![convolve.x, convolve.w],
            Self::Pointwise(pointwise) => pointwise.inputs.clone(),
            Self::Softmax(softmax) => vec![softmax.input],
            Self::Reduce(reduce) => vec![reduce.input],
            Self::View(view) => vec![view.input],
            Self::Concat(concat) => concat.inputs.clone(),
            Self::Integers(integers) => vec![Source::Parameter(integers.parameter)],
            Self::Lookup(lookup) => vec![lookup.table, lookup.indices],
            Self::TopK(top) => vec![top.input],
            Self::Loop(body) => {
                let own = |s: &LoopSlice| s.of;
                let mut all: Vec<Source> = body.slices.iter().map(own).collect();
                all.extend(body.carried.iter().flat_map(|c| [c.initial, c.next]));
                all.extend(body.results.iter().map(|r| r.of));
                all.extend(body.body.iter().flat_map(|node| node.op.reads()));
                all
            }
        }
    }

    /// The values that the operation computes for later nodes.
    pub fn outputs(&self) -> Vec<usize> {
        match self {
            Self::Cell(cell) => [cell.y, cell.h_out, cell.c_out].into_iter().flatten().collect(),
            Self::Dense(dense) => vec![dense.out],
            Self::MatMul(matmul) => vec![matmul.out],
            Self::Convolve(convolve) => vec![convolve.out],
            Self::Pointwise(pointwise) => vec![pointwise.out],
            Self::Softmax(softmax) => vec![softmax.out],
            Self::Reduce(reduce) => vec![reduce.out],
            Self::View(view) => vec![view.out],
            Self::Concat(concat) => vec![concat.out],
            Self::Loop(body) => body.results.iter().map(|r| r.out).collect(),
            Self::Integers(integers) => vec![integers.out],
            Self::Lookup(lookup) => vec![lookup.out],
            Self::TopK(top) => [top.values, top.places].into_iter().flatten().collect(),
        }
    }
}
