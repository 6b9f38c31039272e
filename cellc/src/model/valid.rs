use super::{Activation, CellKind, ElementType, InputFile, LedgerEntry, Tensor};

/// Where a tensor of a [`ValidModel`] comes from. All are f32 to the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// The i-th of [`ValidModel::parameters`].
    Parameter(usize),
    /// The i-th of [`ValidModel::constants`].
    Constant(usize),
    /// The hidden state that the i-th of [`ValidModel::cells`] produces.
    Cell(usize),
}

/// Where W, R or B come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// Its element type in the input; f32 to the kernels where it is a float.
    pub element: ElementType,
    /// It is W, R or B of cells and nothing else: packed once, not read at every step.
    pub weight: bool,
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
}

/// A parameter that a struct around the function holds between steps, and the result that it becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatePair {
    /// Index into [`ValidModel::parameters`].
    pub parameter: usize,
    /// Index into [`ValidModel::results`].
    pub result: usize,
}

/// One step of a cell, all sizes known.
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
    /// x, `[N, I]`
    pub x: Source,
    /// h, `[N, H]`
    pub h: Source,
    /// W, `[G*H, I]`, gates in OpenVINO's order
    pub w: WeightSource,
    /// R, `[G*H, H]`
    pub r: WeightSource,
    /// B, `[bias_parts*H]`
    pub b: WeightSource,
    /// What each attribute was taken to mean.
    pub ledger: Vec<LedgerEntry>,
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
    /// Tensors known when compiling (Converts folded).
    pub constants: Vec<Tensor>,
    /// The cells, each after the ones it reads.
    pub cells: Vec<ValidCell>,
    /// Outputs, in document order.
    pub results: Vec<ResultValue>,
    /// What the struct holds between steps.
    pub states: Vec<StatePair>,
}

impl ValidModel {
    /// The shape of what `source` names.
    pub fn shape(&self, source: Source) -> Vec<usize> {
        match source {
            Source::Parameter(i) => self.parameters[i].shape.clone(),
            Source::Constant(i) => self.constants[i].shape().to_vec(),
            Source::Cell(i) => vec![self.cells[i].batch, self.cells[i].hidden_size],
        }
    }
}
