//! What is computed: a graph of operations on tensors, without a target and without loops.
//!
//! Every way in produces a [`Model`]; [`crate::validate`] turns it into a [`ValidModel`], in which
//! every size is known and nothing can be wrong.

mod activation;
mod cell;
mod denormals;
mod equations;
pub(crate) mod half;
mod op;
#[cfg(feature = "builder")]
mod print;
mod spelling;
mod tensor;
mod valid;
mod whole;

pub use activation::{Activation, ActivationError, PARAMETERS};
pub use cell::{BiasPart, Cell, CellKind, Coupled, Direction, Family, LstmGateOrder, ResetGate, WeightLayout};
pub use denormals::{Denormals, Small};
#[cfg(feature = "internals")]
pub use equations::general_equations;
pub use op::{
    Blocks, Branch, BroadcastMode, Convolution, Dft, Elementwise, GatherNd, Groups, If, Loop, LoopInput, LoopOutput,
    Nearest, NoAxes, Normalization, Op, OutputSizes, PadMode, Padding, Pool, PoolKind, Reduction, Resize, ResizeBy,
    Rounding, Sampling, Scaling, Slicing, SpectralWindow, Unread, Window,
};
pub use spelling::Spelling;
pub use tensor::{ElementType, Tensor};
pub use valid::{
    Concat, Convolve, Dense, Integers, LARGEST_INTEGER, LayerPlace, Lengths, Lookup, LoopCarried, LoopResult,
    LoopSlice, MOST_PRODUCTS, MatMul, Pairs, Parameter, Pointwise, PointwiseFunction, Reduce, Restart, ResultValue,
    Sequence, Softmax, Source, StatePair, Steps, TopK, ValidCell, ValidLoop, ValidModel, ValidNode, ValidOp,
    ValidValue, Variable, View, WeightSource, offsets,
};
pub(crate) use valid::{is_made_up, lasting};
pub(crate) use whole::{SCALES, WholeNumbers};

use std::fmt;

use crate::diagnostic::Origin;

/// A size that may be unknown until the model is compiled (`--batch`, `--shape`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dim {
    /// A known size.
    Fixed(usize),
    /// Any size from `min` to `max` (none: unbounded).
    Dynamic {
        /// The smallest size.
        min: usize,
        /// The largest size.
        max: Option<usize>,
    },
}

/// Names one tensor-valued result of a node: an index into [`Model::values`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValueId(pub usize);

/// One tensor that flows through the graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// The tensor's names (`names="..."` of an output port), in order; often empty.
    pub names: Vec<String>,
    /// Its shape as the input states it; `None` where it states none.
    pub shape: Option<Vec<Dim>>,
    /// Its element type as the input states it.
    pub element: ElementType,
    /// Where it was declared.
    pub origin: Origin,
}

/// What an attribute of the input became: for the ledger in the header of the generated file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    /// The attribute's name.
    pub attribute: String,
    /// Its text in the input; `None` where it was absent.
    pub given: Option<String>,
    /// What it was taken to mean.
    pub taken: String,
    /// Place of the attribute in the input, for diagnostics. [`Origin::Unknown`] if the attribute
    /// is absent.
    pub origin: Origin,
}

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The layer's name; may be anything at all, also empty.
    pub name: String,
    /// The layer's type and id as the input writes them, for diagnostics: `GRUCell, id 8`.
    pub kind: String,
    /// What it does.
    pub op: Op,
    /// The tensors it reads, in the order in which [`Op`] lists them.
    pub inputs: Vec<ValueId>,
    /// The tensors it produces, in the order in which [`Op`] lists them.
    pub outputs: Vec<ValueId>,
    /// What its format calls its attributes.
    pub spelling: &'static Spelling,
    /// What each attribute was taken to mean.
    pub ledger: Vec<LedgerEntry>,
    /// Where it was declared.
    pub origin: Origin,
}

/// A file that the model was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFile {
    /// Its name without folders.
    pub name: String,
    /// SHA-256 of its bytes, lower-case hexadecimal.
    #[cfg(feature = "builder")]
    pub sha256: String,
}

/// The name that a file gives to a size of an input that it leaves open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AxisName {
    /// The name of the input.
    pub input: String,
    /// The axis of the size.
    pub axis: usize,
    /// The name of the size: `batch`.
    pub name: String,
}

/// A graph as an input states it; validation decides whether it is right.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    /// The model's own name, where it has one.
    pub name: Option<String>,
    /// The program that wrote it, where the file says so.
    pub producer: Option<String>,
    /// The files it came from.
    pub files: Vec<InputFile>,
    /// Names that the file gives to sizes of its inputs, each once.
    pub dimensions: Vec<String>,
    /// Axes of inputs that the user leaves open by their names: the number of steps.
    pub open_axes: Vec<(ValueId, usize)>,
    /// True if the sizes of the inputs are those of recorded calls: no export would change them.
    pub sizes_of_call: bool,
    /// The names of sizes of inputs that are open in the file.
    pub axis_names: Vec<AxisName>,
    /// All tensors.
    pub values: Vec<Value>,
    /// All operations that a result depends on, each after the ones it reads.
    pub nodes: Vec<Node>,
    /// Indices into `nodes` of the Parameters, in document order.
    pub parameters: Vec<usize>,
    /// Indices into `nodes` of the Results, in document order.
    pub results: Vec<usize>,
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Fixed(n) => write!(f, "{n}"),
            Self::Dynamic { min: 0, max: None } => f.write_str("?"),
            Self::Dynamic { min, max: None } => write!(f, "{min}.."),
            Self::Dynamic { min, max: Some(max) } => write!(f, "{min}..{max}"),
        }
    }
}

/// A number of things: "1 row", "2 rows".
pub fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A shape for messages: `[?, 16]`. It may have any number of sizes, so it is cut when long.
pub(crate) fn shape_text(sizes: &[impl fmt::Display]) -> String {
    const LONGEST: usize = 12;
    let mut texts: Vec<String> = sizes.iter().take(LONGEST).map(ToString::to_string).collect();
    if sizes.len() > LONGEST {
        texts.push("...".to_owned());
    }
    format!("[{}]", texts.join(", "))
}

impl Node {
    /// Where an attribute was said; where the node was, if the attribute was left out.
    pub fn attribute_origin(&self, attribute: &str) -> &Origin {
        let said = self.ledger.iter().find(|entry| entry.attribute == attribute && entry.origin != Origin::Unknown);
        said.map_or(&self.origin, |entry| &entry.origin)
    }

    /// How diagnostics and comments call the layer: `"cell" (GRUCell, id 8)`, the name cut and
    /// escaped.
    pub fn label(&self) -> String {
        let mut name: String = self.name.chars().take(60).flat_map(char::escape_default).collect();
        if self.name.chars().nth(60).is_some() {
            name.push('…');
        }
        format!("\"{name}\" ({})", self.kind)
    }
}
