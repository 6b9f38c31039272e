use std::fmt::{self, Display, Formatter};

use super::{Activation, CellKind, Coupled, ElementType, InputFile, LedgerEntry, Tensor, WeightLayout};

/// Where a tensor of a [`ValidModel`] comes from. All but sequence lengths are f32 to the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// The i-th of [`ValidModel::parameters`].
    Parameter(usize),
    /// The i-th of [`ValidModel::constants`].
    Constant(usize),
    /// What the i-th of [`ValidModel::variables`] was before the step.
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
    /// All zero: a B that was left out where that is allowed.
    Zero,
}

/// An input of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its tensor names, then its layer name: what `emit::names` chooses from.
    pub names: Vec<String>,
    /// Its shape, all sizes known.
    pub shape: Vec<usize>,
    /// Its element type in the input; f32 to the kernels where it is a float, its own where it is an integer.
    pub element: ElementType,
    /// It is W, R, B or P of cells and nothing else: packed once, not read at every step.
    pub weight: bool,
    /// The largest value that makes a difference, for sequence lengths: T. Smaller than 0 counts as 0, larger as this.
    pub length: Option<usize>,
    /// How many rows the smallest table has in which its integers are looked up.
    pub rows: Option<usize>,
}

impl Parameter {
    /// Of integers, the largest that is drawn where inputs are drawn; the least is 0.
    pub fn largest_drawn(&self) -> Option<usize> {
        match (self.length, self.rows, self.element) {
            (Some(most), ..) => Some(most),
            (None, Some(rows), _) => Some(rows - 1),
            (None, None, ElementType::Bool) => Some(1),
            (None, None, element) => (!element.is_float()).then_some(7),
        }
    }
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
    /// What it is.
    pub source: Source,
    /// The result that says how many of its parts along the first axis there are, where only a call knows.
    pub parts: Option<usize>,
}

/// A parameter that a struct around the function holds between steps, and the result that it becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatePair {
    /// Index into [`ValidModel::parameters`].
    pub parameter: usize,
    /// Index into [`ValidModel::results`].
    pub result: usize,
}

/// A recurrent layer of one step that every call starts from a constant state: nothing keeps what it leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restart {
    /// The layer's name; may be anything.
    pub name: String,
    /// Its type: `GRUSequence`, for the reader.
    pub kind: String,
}

/// What ReadValue and Assign name: a tensor that is kept between steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its `variable_id`, any text.
    pub name: String,
    /// Its shape, all sizes known.
    pub shape: Vec<usize>,
    /// What it is before the first step; `None`: zero.
    pub initial: Option<usize>,
    /// What it becomes after every step; `None`: it stays what it is.
    pub next: Option<Source>,
}

/// A tensor that a node computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidValue {
    /// Its shape, all sizes known. In C order to whoever reads it.
    pub shape: Vec<usize>,
}

/// One operation, all sizes known.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidNode {
    /// The layer's name; may be anything.
    pub name: String,
    /// The layer's type in the input: `GRUCell`, for the reader.
    pub kind: String,
    /// What it does.
    pub op: ValidOp,
    /// What each attribute was taken to mean.
    pub ledger: Vec<LedgerEntry>,
    /// The node of the input that the operation belongs to.
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

/// What a [`ValidNode`] does.
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
    /// The same elements in another order, perhaps some of them, perhaps repeated.
    View(View),
    /// Side by side.
    Concat(Concat),
    /// A body, again and again.
    Loop(ValidLoop),
    /// An input of integers as the whole numbers that kernels compute with.
    Integers(Integers),
    /// Rows of a table, by number.
    Lookup(Lookup),
    /// The largest or smallest elements of every row.
    TopK(TopK),
}

/// Integers below minus this, -2^22, are taken as that, and those above 2^22 - 1 as that: f32 holds them, and sums of a few, exactly.
pub const LARGEST_INTEGER: i32 = 1 << 22;

impl Integers {
    /// Between which numbers integers of that type are computed with.
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
    /// What its elements count as where they are below it.
    pub least: i32,
    /// What its elements count as where they are above it; less than 2^23 above the least.
    pub most: i32,
    /// The value.
    pub out: usize,
}

/// `out[k, :] = table[indices[k], :]`; numbers below 0 count from the end, and those beyond an end are those of the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// `[size, len]`
    pub table: Source,
    /// How many rows it has.
    pub size: usize,
    /// Elements of a row.
    pub len: usize,
    /// Whole numbers.
    pub indices: Source,
    /// The value.
    pub out: usize,
}

/// The `count` largest or smallest elements of each row, the best one first; of equal ones the one that stands first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopK {
    /// `[rows, size]`
    pub input: Source,
    /// Rows.
    pub rows: usize,
    /// Elements of a row.
    pub size: usize,
    /// How many are wanted of each row.
    pub count: usize,
    /// Whether the largest are.
    pub largest: bool,
    /// Whether of equal ones the last one comes first.
    pub last: bool,
    /// They, `[rows, count]`, as a value; `None` where nothing reads it.
    pub values: Option<usize>,
    /// Their places in the row, as `values`.
    pub places: Option<usize>,
}

/// A recurrent cell in one direction, one step or a sequence, all sizes known.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidCell {
    /// The layer's name; may be anything.
    pub name: String,
    /// Which cell.
    pub kind: CellKind,
    /// N: rows of x and h.
    pub batch: usize,
    /// I: the length of a row of x.
    pub input_size: usize,
    /// H: the length of a row of h.
    pub hidden_size: usize,
    /// As many as the kind takes.
    pub activations: Vec<Activation>,
    /// The bound on every gate's pre-activation sum.
    pub clip: Option<f32>,
    /// How `w`, `r` and `b` hold its weights.
    pub layout: WeightLayout,
    /// LSTM: whether one of its gates follows from another.
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
    /// The tensors of biases that `layout` tells apart; OpenVINO's one is B, `[D, bias_parts*H]`.
    pub b: Vec<WeightSource>,
    /// P, `[3*H]`, peepholes of f, i and o; LSTM only.
    pub p: Option<WeightSource>,
    /// Which of the D sets of weights is meant.
    pub weight_set: usize,
    /// Where it is a sequence.
    pub sequence: Option<Sequence>,
    /// The new h as a value: `[N, H]`; of a sequence Ho, `[N, 1, H]`. `None` where nothing reads it.
    pub h_out: Option<usize>,
    /// The new c, as `h_out`; LSTM only.
    pub c_out: Option<usize>,
    /// Of a sequence, Y as a value: `[N, 1, T, H]`. `None` where nothing reads it.
    pub y: Option<usize>,
    /// What each attribute was taken to mean.
    pub ledger: Vec<LedgerEntry>,
}

impl ValidCell {
    /// T; 1 where it is no sequence.
    pub fn steps(&self) -> usize {
        self.sequence.as_ref().map_or(1, |sequence| sequence.steps)
    }

    /// The first of its values that are read.
    pub fn first_value(&self) -> usize {
        let all = [self.y, self.h_out, self.c_out];
        all.into_iter().flatten().next().expect("validate: an operation has a value that is read")
    }

    /// Whether it computes one step of every row, be it a sequence or not.
    pub fn is_one_step(&self) -> bool {
        self.sequence.as_ref().is_none_or(|sequence| sequence.steps == 1 && sequence.lengths == Lengths::Full)
    }
}

#[cfg(test)]
impl ValidCell {
    /// A cell as its kind computes it unless said otherwise: one step, without what only an LSTM or an AUGRU takes.
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

/// What makes a cell a sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// T
    pub steps: usize,
    /// Whether time runs backwards: from each row's last step to its first.
    pub reverse: bool,
    /// How many steps each row has.
    pub lengths: Lengths,
}

/// How many steps the rows of a sequence have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// All T.
    Full,
    /// Known when compiling, N of them, none above T.
    Constant(Vec<usize>),
    /// The i-th of [`ValidModel::parameters`], integers `[N]`; clamped to 0..=T.
    Parameter(usize),
    /// Whole numbers `[N]` that are computed; clamped to 0..=T.
    Computed(Source),
}

/// A product with a fixed matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    /// How many rows x has, all outer dimensions together.
    pub rows: usize,
    /// The length of a row of x.
    pub inputs: usize,
    /// The length of a row of y.
    pub outputs: usize,
    /// x
    pub x: Source,
    /// W: `[inputs, outputs]`, or `[outputs, inputs]` where transposed.
    pub w: WeightSource,
    /// How W stands.
    pub transposed: bool,
    /// To how many chains of additions the terms of a sum are dealt out, a power of two.
    pub chains: usize,
    /// y as a value.
    pub out: usize,
}

impl Dense {
    /// How many chains there are of a layer of these sizes: several where it has one output, as additions of one chain wait for each other, and at least
    /// four terms for each. A convolution has one, however it is computed.
    pub fn chains(inputs: usize, outputs: usize) -> usize {
        let most = if outputs == 1 { 8 } else { 1 };
        [8, 4, 2].into_iter().find(|&chains| chains <= most && chains * 4 <= inputs).unwrap_or(1)
    }
}

/// Products of matrices that are both computed, in C order.
#[derive(Clone, Debug, PartialEq)]
pub struct MatMul {
    /// How many products.
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

/// A convolution whose windows move element by element over channels of `length` elements, in C order:
/// `out[n, g outputs + m, q] = sum over c and t of w[g outputs + m, c, t] * x[n, g inputs + c, start + q + offset of tap t]`, the terms one after the
/// other from zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Convolve {
    /// How many rows of channels x has.
    pub batch: usize,
    /// How many groups of channels there are.
    pub groups: usize,
    /// Channels of x in a group.
    pub inputs: usize,
    /// Channels of the output in a group.
    pub outputs: usize,
    /// Elements of a channel of x, with its pads.
    pub length: usize,
    /// How many of those are zeros in front of the lines of x, and behind them.
    pub pads: (usize, usize),
    /// How many lines a channel of x has, and how many zeros are in front of each.
    pub lines: (usize, usize),
    /// The first element that is read.
    pub start: usize,
    /// Elements of a channel of the output.
    pub positions: usize,
    /// How many of those are wanted: where windows move along several dimensions, some lie across the end of a line.
    pub wanted: usize,
    /// The taps by dimension: how many there are, and how far one is from the next.
    pub taps: Vec<(usize, usize)>,
    /// `[batch, groups * inputs, length]`, without pads.
    pub x: Source,
    /// `[groups * outputs, inputs, taps]`, a constant.
    pub w: Source,
    /// Whether other weights of the model are given at run time: what packs them packs these too, but in no words.
    pub beside_given: bool,
    /// The output as a value, `[batch, groups * outputs, positions]`.
    pub out: usize,
}

/// The taps of a depthwise convolution two at a time, as words of integers hold them: the first half of the taps of the first dimension that has several, and the
/// second half. Of an odd number the last one is alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairs {
    /// By dimension: how many pairs there are, and how far one is from the next.
    pub taps: Vec<(usize, usize)>,
    /// How far the second tap of a pair is from the first.
    pub second: usize,
}

impl Pairs {
    /// Of windows of several elements.
    pub fn new(of: &Convolve) -> Self {
        let mut taps = of.taps.clone();
        let halved = taps.iter().position(|(count, _)| *count > 1).expect("plan: a window of several elements");
        taps[halved].0 = taps[halved].0.div_ceil(2);
        let second = taps[halved].0 * taps[halved].1;
        Self { taps, second }
    }

    /// How many words a window has.
    pub fn count(&self) -> usize {
        self.taps.iter().map(|(count, _)| count).product()
    }
}

/// Above this many groups of one channel each, a convolution is depthwise.
pub const MOST_PRODUCTS: usize = 4;

impl Convolve {
    /// Whether each channel of x has weights of its own, in windows of several elements, and is no product of patches with a matrix: what integer arithmetic is for, as
    /// an element that is rounded once is multiplied several times.
    pub fn is_depthwise(&self) -> bool {
        let is_apart = self.inputs == 1 && self.groups > MOST_PRODUCTS;
        is_apart && self.taps.iter().any(|(count, _)| *count > 1) && !self.beside_given
    }

    /// How far each tap is from the first, in order.
    pub fn offsets(&self) -> Vec<usize> {
        offsets(&self.taps)
    }

    /// Elements of a channel of x.
    pub fn given(&self) -> usize {
        self.lines.0 * (self.line() - self.lines.1)
    }

    /// Elements of a line, with the zeros in front of it.
    pub fn line(&self) -> usize {
        (self.length - self.pads.0 - self.pads.1) / self.lines.0
    }

    /// The multiply-adds that are wanted.
    pub fn multiply_adds(&self) -> usize {
        let taps: usize = self.taps.iter().map(|(count, _)| count).product();
        let channels = self.batch.saturating_mul(self.groups).saturating_mul(self.inputs * self.outputs);
        channels.saturating_mul(taps).saturating_mul(self.wanted)
    }
}

/// How far the taps of some dimensions are from the first, in order.
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
    /// Which.
    pub function: PointwiseFunction,
    /// As many as it takes.
    pub inputs: Vec<Source>,
    /// The value.
    pub out: usize,
}

/// What [`Pointwise`] computes, each operation rounded once.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)] // the names say it
pub enum PointwiseFunction {
    Activation(Activation),
    Add,
    Subtract,
    Multiply,
    Divide,
    /// The second where either is NaN.
    Maximum,
    /// The second where either is NaN.
    Minimum,
    /// v where v > 0, else v times the second input.
    PRelu,
    /// 1 where the first is below the second, else 0.
    Less,
    /// 1 where the first is not above the second, else 0; 0 where either is NaN.
    LessEqual,
    /// 1 where both are the same, else 0; 0 where either is NaN.
    Equal,
    /// The second where the first, 0 or 1, is 1, else the third.
    Select,
}

impl PointwiseFunction {
    /// Whether the least difference of its operands may decide what it gives.
    pub fn decides(self) -> bool {
        use Activation as A;
        matches!(self, Self::Less | Self::LessEqual | Self::Equal | Self::Select)
            || matches!(self, Self::Activation(A::Floor | A::Round | A::Truncate))
    }

    /// What text calls it.
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
    /// Along which axis.
    pub axis: usize,
    /// Whether the logarithm is meant.
    pub log: bool,
    /// What is read.
    pub input: Source,
    /// The value, of the same shape.
    pub out: usize,
}

/// All elements along neighbouring axes, combined two by two by one operation.
///
/// With `chains` chains, chain `c` combines the elements c, c + chains, c + 2 chains and so on, in order. Then the first half
/// of the chains is combined with the second half, until one is left.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduce {
    /// Add, Multiply, Maximum or Minimum.
    pub function: PointwiseFunction,
    /// The first axis.
    pub first: usize,
    /// The axis after the last one.
    pub end: usize,
    /// How many chains, a power of two; no more than there are elements.
    pub chains: usize,
    /// What is read.
    pub input: Source,
    /// The value, in which these axes have a size of 1.
    pub out: usize,
}

impl Reduce {
    /// How many chains there are for so many elements that lie next to each other (`inner` is 1) or apart.
    pub fn chains(size: usize, inner: usize) -> usize {
        if inner == 1 && size >= 32 { 16 } else { 1 }
    }

    /// Of the shape of its input: how many elements there are before the axes, along them, and after them.
    pub fn extents(&self, shape: &[usize]) -> [usize; 3] {
        [&shape[..self.first], &shape[self.first..self.end], &shape[self.end..]].map(|sizes| sizes.iter().product())
    }
}

/// `out[i0, i1, ..] = input[offset + sum i_d * strides_d]`, in elements of the input in C order; every one is inside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// What is read.
    pub input: Source,
    /// The first element.
    pub offset: usize,
    /// By dimension of the value; 0 repeats.
    pub strides: Vec<isize>,
    /// The value.
    pub out: usize,
}

/// Its inputs side by side along one axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Concat {
    /// Along which axis.
    pub axis: usize,
    /// In order.
    pub inputs: Vec<Source>,
    /// The value.
    pub out: usize,
}

/// A body that is computed `trips` times, 1 or more. Its values are among the model's; what it reads of the values around it, it reads as they are.
#[derive(Clone, Debug, PartialEq)]
pub struct ValidLoop {
    /// How often.
    pub trips: usize,
    /// What is cut into pieces, one a trip.
    pub slices: Vec<LoopSlice>,
    /// What a trip hands to the next.
    pub carried: Vec<LoopCarried>,
    /// Which of the carried values says whether the loop goes on. Where it is 0, a trip changes nothing: what it hands on is what it was given, and
    /// its pieces are 0. So nothing has to be computed from there on.
    pub running: Option<usize>,
    /// In order.
    pub body: Vec<ValidNode>,
    /// What remains.
    pub results: Vec<LoopResult>,
}

/// A tensor of which trip `k` sees the k-th piece along an axis, or, in reverse, the k-th from the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopSlice {
    /// The whole; its size along the axis is `trips` times that of the piece.
    pub of: Source,
    /// Along which axis.
    pub axis: usize,
    /// Whether the first trip sees the last piece.
    pub reverse: bool,
    /// The piece, as a value.
    pub piece: usize,
}

/// A value that a trip sees as the one before left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopCarried {
    /// What the first trip sees.
    pub initial: Source,
    /// What the body reads, as a value.
    pub value: usize,
    /// What the next trip sees.
    pub next: Source,
}

/// What becomes of a value of the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopResult {
    /// What a trip gives.
    pub of: Source,
    /// Along which axis the pieces are put together, and whether the first trip's is the last; `None`: the last trip's alone.
    pub pieces: Option<(usize, bool)>,
    /// The value.
    pub out: usize,
}

/// A model in which nothing can be wrong any more.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValidModel {
    /// The model's own name, where it has one.
    pub name: Option<String>,
    /// The files it came from.
    pub files: Vec<InputFile>,
    /// Inputs, in document order.
    pub parameters: Vec<Parameter>,
    /// Tensors known when compiling (Converts and all else that is known folded).
    pub constants: Vec<Tensor>,
    /// Whether some of what they are made of was stored in 8 bits.
    pub has_bytes: bool,
    /// What is kept between steps, in the order in which the input first names them.
    pub variables: Vec<Variable>,
    /// What nodes compute, those of loops' bodies too.
    pub values: Vec<ValidValue>,
    /// The operations, each after the ones it reads.
    pub nodes: Vec<ValidNode>,
    /// Depthwise convolutions and products with constants that no arithmetic multiplies in integers, by name, and why.
    pub in_f32: Vec<(String, &'static str)>,
    /// Outputs, in document order.
    pub results: Vec<ResultValue>,
    /// What the struct holds between steps.
    pub states: Vec<StatePair>,
    /// What starts anew at every call.
    pub restarts: Vec<Restart>,
    /// Where a call takes as many steps as it is given: the model is then one of those steps.
    pub steps: Option<Steps>,
}

/// What is given and taken for every step, where their number is known at run time only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// By parameter: whether every step has its own.
    pub parameters: Vec<bool>,
    /// By result: whether every step gives one; else the last step's counts.
    pub results: Vec<bool>,
}

impl ValidModel {
    /// [`Self::in_f32`] by reason, of those that are asked for.
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

    /// The shape of what `source` names.
    pub fn shape(&self, source: Source) -> &[usize] {
        match source {
            Source::Parameter(i) => &self.parameters[i].shape,
            Source::Constant(i) => self.constants[i].shape(),
            Source::Variable(i) => &self.variables[i].shape,
            Source::Value(i) => &self.values[i].shape,
        }
    }

    /// How many elements it has.
    pub fn len(&self, source: Source) -> usize {
        self.shape(source).iter().product()
    }

    /// Every operation, each after the ones it reads, a loop before those of its body.
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

    /// [`Self::all_nodes`] without the conversions of integer inputs to f32, which the model's file does not have.
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

    /// Every activation that is computed, each once.
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
    /// Whether it multiplies fixed matrices by vectors, so that the plan has sizes for it.
    pub fn is_product(&self) -> bool {
        matches!(self, Self::Cell(_) | Self::Dense(_))
    }

    /// True if the operation multiplies fixed matrices whose precision can be chosen: a cell, a dense layer or a depthwise
    /// convolution.
    pub fn has_precision(&self) -> bool {
        self.is_product() || matches!(self, Self::Convolve(convolve) if convolve.is_depthwise())
    }

    /// The length of the rows of x that multiply fixed matrices; of a depthwise convolution the taps of a window.
    pub fn input_size(&self) -> Option<usize> {
        match self {
            Self::Cell(cell) => Some(cell.input_size),
            Self::Dense(dense) => Some(dense.inputs),
            Self::Convolve(convolve) if convolve.is_depthwise() => Some(convolve.offsets().len()),
            _ => None,
        }
    }

    /// What it reads, weights apart, a loop's body included where it reads what is around it.
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

    /// The values that it computes and that nodes after it may read.
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
