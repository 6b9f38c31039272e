//! The model: a graph of operations on tensors, independent of the target language and of loop
//! nests.
//!
//! Every reader and builder produces a [`Model`]. The stage `translate` translates a [`Model`] to
//! a [`CoreModel`](crate::core::CoreModel) with known sizes, and the stage `check` checks both.

mod activation;
mod cell;
mod curve;
mod elementwise;
mod facts;
pub(crate) mod half;
mod legality;
pub(crate) mod limits;
mod linear_attention;
mod math_function;
mod names;
mod number;
mod op;
mod size;
mod spelling;
mod tensor;

pub use activation::{Activation, ActivationError, PARAMETERS};
pub use cell::{
    BiasPart, Cell, CellKind, Coupled, Direction, Family, LstmGateOrder, ResetGate, WeightLayout,
};
pub(crate) use curve::CurveShape;
pub use elementwise::{
    Binary, Comparison, Composed, Elementwise, ElementwiseFacts, Logic, Primitive, Remainder,
    ResultType, Unary,
};
pub use facts::{Axes, Elements, Numbers, OpFacts, Rank};
pub(crate) use legality::{
    WrongAttribute, legal_axis, legal_groups, too_many_dims, unknown_activations, wrong_count,
    wrong_deviation, wrong_extent, wrong_past, wrong_rank,
};
pub use linear_attention::{Heads, LinearAttention, UpdateRule};
pub use math_function::MathFunction;
pub(crate) use names::{is_made_up, lasting};
pub use number::{NumberError, nearest_f32, parse_f32};
pub use op::{
    Blocks, Branch, BroadcastMode, Convolution, Dft, GatherNd, Groups, If, Loop, LoopInput,
    LoopOutput, Nearest, NoAxes, Normalization, OneHot, Op, OutputSizes, PadMode, Padding, Pool,
    PoolKind, Reduce, Reduction, Resize, ResizeBy, ReverseSequence, Rounding, RunningSum, Sampling,
    Scaling, SliceMasks, Slicing, Softmax, SpectralWindow, TopKAttributes, Window,
};
pub use size::ModelSize;
pub use spelling::{ActivationLists, Spelling};
pub use tensor::{ElementType, Tensor};

use std::fmt;

use crate::diagnostic::Origin;

/// A size that may be unknown until the model is compiled (`--batch`, `--shape`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dim {
    /// A known size.
    Fixed(usize),
    /// Any size from `min` to `max`.
    Dynamic {
        /// The smallest size.
        min: usize,
        /// The largest size. `None`: unbounded.
        max: Option<usize>,
    },
}

/// The index of a tensor in [`Model::values`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValueId(pub usize);

/// One tensor that flows through the graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// The tensor's names (`names="..."` of an output port), in order; often empty.
    pub names: Vec<String>,
    /// The shape in the input. `None` if the input gives no shape.
    pub shape: Option<Vec<Dim>>,
    /// The element type in the input.
    pub element: ElementType,
    /// The place of the declaration in the input.
    pub origin: Origin,
}

/// The attributes in the ledger with the sample rate of an amplifier model, in Hz: Neural Amp
/// Modeler's, and those of other trainers.
pub(crate) const SAMPLE_RATE_KEYS: [&str; 3] = ["sample_rate", "samplerate", "metadata.samplerate"];

/// The meaning of one attribute of the input, for the header of the generated file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    /// The name of the attribute.
    pub attribute: String,
    /// The attribute's text in the input. `None` if the attribute is absent.
    pub text: Option<String>,
    /// The meaning of the text, or the default.
    pub meaning: String,
    /// Place of the attribute in the input, for diagnostics. [`Origin::Unknown`] if the attribute
    /// is absent.
    pub origin: Origin,
}

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The layer's name: any text, possibly empty.
    pub name: String,
    /// The layer's type and id as the input writes them, for diagnostics: `GRUCell, id 8`.
    pub kind: String,
    /// The operation.
    pub op: Op,
    /// The input tensors, in the order that [`Op`] documents.
    pub inputs: Vec<ValueId>,
    /// The output tensors, in the order that [`Op`] documents.
    pub outputs: Vec<ValueId>,
    /// The names of attributes in the input format.
    pub spelling: &'static Spelling,
    /// The meaning of each attribute.
    pub ledger: Vec<LedgerEntry>,
    /// The attributes that the reader read, by name, with their places in the input, for
    /// diagnostics. Empty if the format has no places, or if the ledger has the places.
    pub attribute_places: Vec<(String, Origin)>,
    /// The place of the declaration in the input.
    pub origin: Origin,
}

/// An input file of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFile {
    /// The file name without folders.
    pub name: String,
    /// SHA-256 of the contents, lower-case hexadecimal. Empty in macros.
    pub sha256: String,
}

/// The name of an open size of an input, as in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AxisName {
    /// The name of the input.
    pub input: String,
    /// The axis of the size.
    pub axis: usize,
    /// The name of the size: `batch`.
    pub name: String,
}

/// The origin of the sizes of a model's inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SizesOf {
    /// A file. Another export may have other sizes.
    #[default]
    File,
    /// Recorded calls. Another export would not change the sizes.
    Calls,
    /// One sample of a sound. Generated code has functions for any number of samples, and a batch
    /// is a number of channels.
    Sample,
}

/// A graph as in the input, not yet checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    /// The model's name. `None` if the file has none.
    pub name: Option<String>,
    /// The program that wrote the file. `None` if the file does not say.
    pub producer: Option<String>,
    /// The input files.
    pub files: Vec<InputFile>,
    /// The sample rate of the generated code, in Hz. `None`: the rate of the model, or no rate.
    pub code_rate: Option<u64>,
    /// Distinct names of input sizes in the file.
    pub dimensions: Vec<String>,
    /// The axes of inputs that the user leaves open by name, as the number of time steps.
    pub open_axes: Vec<(ValueId, usize)>,
    /// The origin of the sizes of the inputs.
    pub sizes: SizesOf,
    /// The names of open sizes of inputs, as in the file.
    pub axis_names: Vec<AxisName>,
    /// All tensors.
    pub values: Vec<Value>,
    /// The Parameters, Results and Assigns, and all operations that Results and Assigns depend on,
    /// each after its inputs.
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

/// A shape for messages, cut after 12 sizes: `[?, 16]`.
pub(crate) fn shape_text(sizes: &[impl fmt::Display]) -> String {
    const LONGEST: usize = 12;
    let mut texts: Vec<String> = sizes.iter().take(LONGEST).map(ToString::to_string).collect();
    if sizes.len() > LONGEST {
        texts.push("...".to_owned());
    }
    format!("[{}]", texts.join(", "))
}

impl Node {
    /// The place of an attribute in the input, or the place of the node if the attribute's place is
    /// unknown. For [`Normalization::EPS`], the names of all formats count.
    pub fn attribute_origin(&self, attribute: &str) -> &Origin {
        let stated = self.ledger.iter().map(|entry| (&entry.attribute, &entry.origin));
        let read = self.attribute_places.iter().map(|(name, origin)| (name, origin));
        let is_it = |name: &str| match attribute {
            Normalization::EPS => Normalization::NAMES_OF_EPS.contains(&name),
            _ => name == attribute,
        };
        let mut places = stated.chain(read);
        places
            .find(|(name, origin)| is_it(name) && **origin != Origin::Unknown)
            .map_or(&self.origin, |(_, origin)| origin)
    }

    /// The layer's type as the input writes it, for diagnostics: `GRUCell`.
    pub fn operator(&self) -> &str {
        self.kind.split(',').next().unwrap_or_default()
    }

    /// The layer's label in diagnostics and comments, with the name cut and escaped: `"cell"
    /// (GRUCell, id 8)`.
    pub fn label(&self) -> String {
        let mut name: String = self.name.chars().take(60).flat_map(char::escape_default).collect();
        if self.name.chars().nth(60).is_some() {
            name.push('…');
        }
        format!("\"{name}\" ({})", self.kind)
    }
}
