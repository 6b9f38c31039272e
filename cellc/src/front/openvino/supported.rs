//! Which types of layers are read: the one table by which layers are told apart, that messages list and that
//! documentation repeats.

use crate::model::{Activation, Dft, Elementwise, Reduction};

/// The latest operation set of OpenVINO that is known; what later ones mean by a type is not.
const LATEST_SET: u64 = 17;

/// A type of layer that is read.
#[derive(Debug)]
pub struct Supported {
    /// What stands in the attribute `type`; letter case does not matter.
    pub name: &'static str,
    /// The operation sets that define it, ascending: each holds until the next.
    pub sets: &'static [&'static str],
    /// What is to be known about it, in one line.
    #[cfg_attr(not(any(test, feature = "internals")), expect(dead_code, reason = "a test writes it into a document"))]
    pub what: &'static str,
    pub(super) kind: LayerType,
}

/// Which recurrent cell, apart from its attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recurrent {
    Rnn,
    Gru,
    Lstm,
    Augru,
}

/// What a layer's type says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum LayerType {
    Parameter,
    Const,
    Result,
    Convert,
    ConvertLike,
    Cell(Recurrent),
    Sequence(Recurrent),
    /// Without attributes.
    Elementwise(Elementwise),
    /// With the attribute `auto_broadcast`.
    Broadcasting(Elementwise),
    Divide,
    Clamp,
    Elu,
    MatMul,
    Convolution {
        grouped: bool,
        transposed: bool,
    },
    MaxPool,
    AvgPool,
    Pad,
    Softmax {
        log: bool,
    },
    Reduce(Reduction),
    Mvn,
    Swish,
    Gelu,
    NormalizeL2,
    BatchNorm,
    GroupNorm,
    Concat,
    Split,
    VariadicSplit,
    Reshape,
    Squeeze,
    Unsqueeze,
    Transpose,
    Gather,
    Slice,
    StridedSlice,
    ReverseSequence,
    ScatterNd,
    ScatterElements,
    Blocks {
        to_space: bool,
    },
    ScatterUpdate,
    Broadcast,
    Tile,
    ShapeOf,
    Range,
    ReadValue,
    Assign,
    Round,
    FakeQuantize,
    TopK,
    GatherElements,
    GatherNd,
    Dft(Dft),
    Attention,
    Identity,
    CumSum,
    OneHot,
    Einsum,
    Interpolate,
    Grn,
    Lrn,
    Roll,
    Eye,
    TensorIterator,
    Loop,
    If,
    /// Not read.
    Unknown,
}

impl LayerType {
    /// The row of the table for a type; case is ignored.
    pub(super) fn find(type_name: &str) -> Option<&'static Supported> {
        // XML has two names for this one
        let name = if type_name.eq_ignore_ascii_case("Constant") { "Const" } else { type_name };
        SUPPORTED.iter().find(|row| row.name.eq_ignore_ascii_case(name))
    }

    /// Whether a body stands inside the layer.
    pub(super) fn has_body(self) -> bool {
        matches!(self, Self::TensorIterator | Self::Loop | Self::If)
    }

    /// Whether every attribute may change what is computed.
    pub(super) fn is_recurrent(self) -> bool {
        matches!(self, Self::Cell(_) | Self::Sequence(_))
    }
}

impl Supported {
    /// The number of the operation set by whose definition a layer of the set `text` is to be read; 0 for a set without number.
    /// `None` where no such set defines it.
    pub(super) fn definition(&self, text: &str) -> Option<u64> {
        if self.sets.contains(&text) {
            return Some(set_number(text).unwrap_or(0));
        }
        let number = set_number(text).filter(|number| (1..=LATEST_SET).contains(number))?;
        let mut defined = self.sets.iter().filter_map(|set| set_number(set)).peekable();
        // what OpenVINO keeps to itself is in no numbered set, and has one definition whichever is named
        if defined.peek().is_none() { Some(0) } else { defined.filter(|&first| first <= number).max() }
    }

    /// The definition that holds where a layer names no operation set.
    pub(super) fn latest(&self) -> u64 {
        self.sets.iter().filter_map(|set| set_number(set)).max().unwrap_or(0)
    }
}

fn set_number(text: &str) -> Option<u64> {
    text.strip_prefix("opset").and_then(super::text::parse_integer)
}

/// The names of all types that are read, for messages.
pub(super) fn names() -> String {
    SUPPORTED.iter().map(|row| row.name).collect::<Vec<_>>().join(", ")
}

const fn row(name: &'static str, sets: &'static [&'static str], kind: LayerType, what: &'static str) -> Supported {
    Supported { name, sets, what, kind }
}

const fn dft(inverse: bool, half: bool) -> Dft {
    Dft { inverse, half, parts_of_real: false }
}

/// Every type of layer that is read.
pub const SUPPORTED: &[Supported] = {
    use Elementwise as E;
    use LayerType as K;
    use Reduction as R;
    const ONE: &[&str] = &["opset1"];
    const FIVE: &[&str] = &["opset5"];
    const INTERNAL: &[&str] = &["ie_internal_opset"];
    &[
        row("Parameter", ONE, K::Parameter, "an input; --batch and --shape fix open sizes"),
        row("Const", ONE, K::Const, "f32, f16, bf16, f64; integers of 4 (packed), 8, 16, 32 and 64 bits; boolean"),
        row("Result", ONE, K::Result, "an output"),
        row("RNNCell", ONE, K::Cell(Recurrent::Rnn), "one step; any activation; clip"),
        row(
            "GRUCell",
            &["opset3"],
            K::Cell(Recurrent::Gru),
            "one step; reset gate before or after the product; B optional",
        ),
        row(
            "LSTMCell",
            &["opset1", "opset4"],
            K::Cell(Recurrent::Lstm),
            "one step; opset1: weights_format, input_forget, peepholes, B optional",
        ),
        row("AUGRUCell", INTERNAL, K::Cell(Recurrent::Augru), "one step; sigmoid and tanh only; no clip"),
        row("RNNSequence", FIVE, K::Sequence(Recurrent::Rnn), "forward, reverse, bidirectional; sequence lengths"),
        row("GRUSequence", FIVE, K::Sequence(Recurrent::Gru), "forward, reverse, bidirectional; sequence lengths"),
        row("LSTMSequence", FIVE, K::Sequence(Recurrent::Lstm), "forward, reverse, bidirectional; sequence lengths"),
        row(
            "AUGRUSequence",
            INTERNAL,
            K::Sequence(Recurrent::Augru),
            "forward; sigmoid and tanh only; no clip; sequence lengths",
        ),
        row(
            "TensorIterator",
            ONE,
            K::TensorIterator,
            "slices in both directions, back edges; all operations in the body",
        ),
        row("Loop", FIVE, K::Loop, "a constant trip count, or a condition that ends at a constant iteration"),
        row("If", &["opset8"], K::If, "a step computes the chosen branch, or both if small"),
        row("ReadValue", &["opset3", "opset6"], K::ReadValue, "a variable; its initial value must be constant"),
        row("Assign", &["opset3", "opset6"], K::Assign, "the value of the variable in the next call"),
        row("MatMul", ONE, K::MatMul, "any number of dimensions; either side can be transposed"),
        row(
            "Convolution",
            ONE,
            K::Convolution { grouped: false, transposed: false },
            "1 to 3 dimensions; every auto_pad",
        ),
        row(
            "GroupConvolution",
            ONE,
            K::Convolution { grouped: true, transposed: false },
            "like Convolution; depthwise too",
        ),
        row(
            "ConvolutionBackpropData",
            ONE,
            K::Convolution { grouped: false, transposed: true },
            "like Convolution; output_padding; constant output_shape",
        ),
        row(
            "GroupConvolutionBackpropData",
            ONE,
            K::Convolution { grouped: true, transposed: true },
            "like ConvolutionBackpropData",
        ),
        row("MaxPool", &["opset1", "opset8", "opset14"], K::MaxPool, "every rounding_type and auto_pad; no indices"),
        row("AvgPool", &["opset1", "opset14", "opset16"], K::AvgPool, "every rounding_type and auto_pad; exclude-pad"),
        row(
            "Pad",
            &["opset1", "opset12"],
            K::Pad,
            "constant pads and value; constant, edge, reflect, symmetric; negative pads",
        ),
        row("Add", ONE, K::Broadcasting(E::Add), "NumPy broadcasting"),
        row("Subtract", ONE, K::Broadcasting(E::Subtract), "NumPy broadcasting"),
        row("Multiply", ONE, K::Broadcasting(E::Multiply), "NumPy broadcasting"),
        row("Divide", ONE, K::Divide, "NumPy broadcasting"),
        row("Maximum", ONE, K::Broadcasting(E::Maximum), "NumPy broadcasting"),
        row("Minimum", ONE, K::Broadcasting(E::Minimum), "NumPy broadcasting"),
        row("SquaredDifference", ONE, K::Broadcasting(E::SquaredDifference), "NumPy broadcasting"),
        row("ReLU", ONE, K::Elementwise(E::Activation(Activation::Relu)), "elementwise"),
        row("Sigmoid", ONE, K::Elementwise(E::Activation(Activation::Sigmoid)), "elementwise"),
        row("Tanh", ONE, K::Elementwise(E::Activation(Activation::Tanh)), "elementwise"),
        row("HardSigmoid", ONE, K::Elementwise(E::HardSigmoid), "constant alpha and beta"),
        row("Elu", ONE, K::Elu, "elementwise"),
        row("SoftPlus", &["opset4"], K::Elementwise(E::Activation(Activation::Softplus)), "elementwise"),
        row("SoftSign", &["opset9"], K::Elementwise(E::Activation(Activation::Softsign)), "elementwise"),
        row("PReLU", ONE, K::Elementwise(E::PRelu), "any slope; NumPy broadcasting"),
        row("Clamp", ONE, K::Clamp, "elementwise"),
        row("Exp", ONE, K::Elementwise(E::Exp), "elementwise"),
        row("Log", ONE, K::Elementwise(E::Log), "elementwise"),
        row("Negative", ONE, K::Elementwise(E::Negative), "elementwise"),
        row("Abs", ONE, K::Elementwise(E::Abs), "elementwise"),
        row("SoftMax", &["opset1", "opset8"], K::Softmax { log: false }, "along any axis"),
        row("LogSoftmax", FIVE, K::Softmax { log: true }, "along any axis"),
        row("HSwish", &["opset4"], K::Elementwise(E::HardSwish), "elementwise"),
        row(
            "HSigmoid",
            FIVE,
            K::Elementwise(E::Activation(Activation::HardSigmoid { alpha: 1.0 / 6.0, beta: 0.5 })),
            "elementwise",
        ),
        row("Mish", &["opset4"], K::Elementwise(E::Mish), "elementwise"),
        row("Swish", &["opset4"], K::Swish, "beta may be computed"),
        row("Selu", ONE, K::Elementwise(E::Selu), "constant alpha and lambda"),
        row("Gelu", &["opset2", "opset7"], K::Gelu, "exact, or approximation_mode tanh"),
        row("Erf", ONE, K::Elementwise(E::Activation(Activation::Erf)), "elementwise"),
        row("Sin", ONE, K::Elementwise(E::Activation(Activation::Sin)), "elementwise; up to 6.5e6"),
        row("Cos", ONE, K::Elementwise(E::Activation(Activation::Cos)), "elementwise; up to 6.5e6"),
        row("Atan", ONE, K::Elementwise(E::Activation(Activation::Atan)), "elementwise"),
        row("Tan", ONE, K::Elementwise(E::Tan), "elementwise; up to 1,000"),
        row("Sinh", ONE, K::Elementwise(E::Sinh), "elementwise"),
        row("Cosh", ONE, K::Elementwise(E::Cosh), "elementwise"),
        row("Asin", ONE, K::Elementwise(E::Asin), "elementwise"),
        row("Acos", ONE, K::Elementwise(E::Acos), "elementwise"),
        row("Asinh", &["opset4"], K::Elementwise(E::Asinh), "elementwise"),
        row("Acosh", &["opset4"], K::Elementwise(E::Acosh), "elementwise"),
        row("Atanh", &["opset4"], K::Elementwise(E::Atanh), "elementwise"),
        row("Sqrt", ONE, K::Elementwise(E::Activation(Activation::Sqrt)), "elementwise; correctly rounded"),
        row(
            "Power",
            ONE,
            K::Broadcasting(E::Power),
            "a constant exponent up to 64 in steps of a half by multiplication and roots; else exp(y log(x))",
        ),
        row("ReduceSum", ONE, K::Reduce(R::Sum), "constant axes"),
        row("ReduceMean", ONE, K::Reduce(R::Mean), "constant axes"),
        row("ReduceMax", ONE, K::Reduce(R::Max), "constant axes"),
        row("ReduceMin", ONE, K::Reduce(R::Min), "constant axes"),
        row("ReduceProd", ONE, K::Reduce(R::Product), "constant axes"),
        row("ReduceL1", &["opset4"], K::Reduce(R::L1), "constant axes"),
        row("ReduceL2", &["opset4"], K::Reduce(R::L2), "constant axes"),
        row("ReduceLogicalAnd", ONE, K::Reduce(R::All), "constant axes"),
        row("ReduceLogicalOr", ONE, K::Reduce(R::Any), "constant axes"),
        row("MVN", &["opset1", "opset6"], K::Mvn, "constant axes"),
        row("NormalizeL2", ONE, K::NormalizeL2, "constant axes"),
        row("GRN", ONE, K::Grn, "along axis 1"),
        row("LRN", ONE, K::Lrn, "over the channels of two to four dimensions, or over axes behind them"),
        row("BatchNormInference", &["opset1", "opset5"], K::BatchNorm, "along axis 1"),
        row("GroupNormalization", &["opset12"], K::GroupNorm, "along axis 1"),
        row("Convert", ONE, K::Convert, "all floating-point types are computed in f32"),
        row("ConvertLike", ONE, K::ConvertLike, "like Convert"),
        row("Identity", &["opset16"], K::Identity, "the value itself"),
        row(
            "ScaledDotProductAttention",
            &["opset13"],
            K::Attention,
            "causal; a mask of booleans, or one that is added; any scale",
        ),
        row("DFT", &["opset7"], K::Dft(dft(false, false)), "constant lengths, as products of matrices"),
        row("IDFT", &["opset7"], K::Dft(dft(true, false)), "like DFT"),
        row("RDFT", &["opset9"], K::Dft(dft(false, true)), "like DFT"),
        row("IRDFT", &["opset9"], K::Dft(dft(true, true)), "like DFT"),
        row("Concat", ONE, K::Concat, "along any axis"),
        row("Split", ONE, K::Split, "constant axis"),
        row("VariadicSplit", ONE, K::VariadicSplit, "constant axis and lengths"),
        row("Reshape", ONE, K::Reshape, "constant shape; special_zero"),
        row("Squeeze", &["opset1", "opset15"], K::Squeeze, "constant axes"),
        row("Unsqueeze", ONE, K::Unsqueeze, "constant axes"),
        row("Transpose", ONE, K::Transpose, "constant order"),
        row("Gather", &["opset1", "opset7", "opset8"], K::Gather, "constant axis; run-time indices are clamped"),
        row("GatherElements", &["opset6"], K::GatherElements, "any indices, as Gather"),
        row("GatherND", &["opset5", "opset8"], K::GatherNd, "any indices, as Gather; batch_dims"),
        row("Slice", &["opset8"], K::Slice, "constant bounds; or from 0 to a computed stop"),
        row("StridedSlice", ONE, K::StridedSlice, "constant bounds; all masks"),
        row("ReverseSequence", ONE, K::ReverseSequence, "any lengths; run-time lengths are clamped"),
        row("ScatterUpdate", &["opset3"], K::ScatterUpdate, "constant axis; constant, consecutive indices"),
        row(
            "ScatterNDUpdate",
            &["opset3", "opset15"],
            K::ScatterNd,
            "up to 64 run-time indices; every reduction but sub",
        ),
        row(
            "ScatterElementsUpdate",
            &["opset3", "opset12"],
            K::ScatterElements,
            "up to 64 run-time indices; every reduction but mean; initial values count",
        ),
        row("DepthToSpace", ONE, K::Blocks { to_space: true }, "both modes"),
        row("SpaceToDepth", ONE, K::Blocks { to_space: false }, "both modes"),
        row("Broadcast", &["opset1", "opset3"], K::Broadcast, "constant shape; numpy, bidirectional, explicit"),
        row("Roll", &["opset7"], K::Roll, "constant shift and axes"),
        row("Eye", &["opset9"], K::Eye, "computed when compiling; no batch"),
        row("Tile", ONE, K::Tile, "constant repeats"),
        row("ShapeOf", &["opset1", "opset3"], K::ShapeOf, "computed when compiling"),
        row("Range", &["opset1", "opset4"], K::Range, "computed when compiling"),
        row("Mod", ONE, K::Broadcasting(E::Mod), "integers; a divisor that is never 0"),
        row("FloorMod", ONE, K::Broadcasting(E::FloorMod), "integers; a divisor that is never 0"),
        row("Floor", ONE, K::Elementwise(E::Floor), "elementwise"),
        row("Round", &["opset5"], K::Round, "half_to_even"),
        row("FakeQuantize", ONE, K::FakeQuantize, "constant ranges that are not empty; NumPy broadcasting"),
        row("Sign", ONE, K::Elementwise(E::Sign), "elementwise"),
        row("TopK", &["opset1", "opset3", "opset11"], K::TopK, "a constant K of 64 or fewer; sorted by value, or one"),
        row("CumSum", &["opset3"], K::CumSum, "a constant axis"),
        row("OneHot", ONE, K::OneHot, "a constant depth"),
        row("Einsum", &["opset7"], K::Einsum, "any equation; products of two by two"),
        row(
            "Interpolate",
            &["opset4", "opset11"],
            K::Interpolate,
            "nearest, linear_onnx, cubic; constant scales or sizes",
        ),
        row("Ceiling", ONE, K::Elementwise(E::Ceiling), "elementwise"),
        row("Equal", ONE, K::Broadcasting(E::Equal), "NumPy broadcasting"),
        row("NotEqual", ONE, K::Broadcasting(E::NotEqual), "NumPy broadcasting"),
        row("Greater", ONE, K::Broadcasting(E::Greater), "NumPy broadcasting"),
        row("GreaterEqual", ONE, K::Broadcasting(E::GreaterEqual), "NumPy broadcasting"),
        row("Less", ONE, K::Broadcasting(E::Less), "NumPy broadcasting"),
        row("LessEqual", ONE, K::Broadcasting(E::LessEqual), "NumPy broadcasting"),
        row("LogicalAnd", ONE, K::Broadcasting(E::LogicalAnd), "NumPy broadcasting"),
        row("LogicalOr", ONE, K::Broadcasting(E::LogicalOr), "NumPy broadcasting"),
        row("LogicalNot", ONE, K::Elementwise(E::LogicalNot), "elementwise"),
        row("Select", ONE, K::Broadcasting(E::Select), "NumPy broadcasting"),
    ]
};
