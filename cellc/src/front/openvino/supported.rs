//! The table of supported layer types. Readers, messages and the reference page take the types from
//! here.

use super::attributes::Data;
use super::kinds::LayerType;
use super::layers::GraphReader;
use super::operations::{InputRewrite, OutputTypes, Ports, ReadOperation};
use super::readers::{self, plain};
use crate::model::{
    Activation, Binary, Comparison, Composed, Dft, Dim, ElementType, Elementwise, Family, Groups,
    LedgerEntry, Logic, MathFunction, NoAxes, Op, Primitive, Reduce, Reduction, Remainder,
    ResultType, Unary,
};

/// The latest known operation set of OpenVINO. Later sets may change the meaning of a type.
const LATEST_SET: u64 = 17;

/// A supported type of layer.
#[derive(Debug)]
pub struct Supported {
    /// The value of the attribute `type`. Letter case does not matter.
    pub name: &'static str,
    /// The operation sets that define the type, ascending. A definition holds until the next one.
    pub sets: &'static [&'static str],
    /// The limits of the support, in one line.
    pub limits: &'static str,
    pub(super) kind: LayerType,
    /// Reads layers of [`LayerType::Other`]. `None` for all other kinds.
    reader: Option<Reader>,
    /// Attributes outside the definition that converters write, each with its neutral number. A
    /// list of neutral numbers has no effect.
    neutral: &'static [(&'static str, &'static str)],
}

/// Reads the attributes of a layer.
type Reader = fn(&mut GraphReader<'_, '_>, &mut Data) -> Option<ReadOperation>;

const fn activation(activation: Activation) -> Elementwise {
    math(MathFunction::Activation(activation))
}

const fn math(function: MathFunction) -> Elementwise {
    Elementwise::Primitive(Primitive::Math(function))
}

const fn unary(function: Unary) -> Elementwise {
    Elementwise::Primitive(Primitive::Unary(function))
}

const fn binary(function: Binary) -> Elementwise {
    Elementwise::Primitive(Primitive::Binary(function))
}

const fn comparison(function: Comparison) -> Elementwise {
    Elementwise::Primitive(Primitive::Comparison(function))
}

const fn logic(function: Logic) -> Elementwise {
    Elementwise::Primitive(Primitive::Logic(function))
}

/// The row of the table for a type; case is ignored.
pub(super) fn find(type_name: &str) -> Option<&'static Supported> {
    // OpenVINO writes Const and Constant
    let name = if type_name.eq_ignore_ascii_case("Constant") { "Const" } else { type_name };
    SUPPORTED.iter().find(|row| row.name.eq_ignore_ascii_case(name))
}

/// The element type of an elementwise operation's result.
fn element_of(elementwise: Elementwise) -> OutputTypes {
    match elementwise.facts().result {
        ResultType::Truth => OutputTypes::Is(ElementType::Bool),
        ResultType::OfInput(at) => OutputTypes::Of(at),
    }
}

/// A recurrent operation, whose layer has a port for every output.
fn with_all_outputs(op: Op, ledger: Vec<LedgerEntry>) -> ReadOperation {
    let outputs = *op.facts().outputs.end();
    ReadOperation { ledger, ..ReadOperation::new(op).ports(Ports::Exactly(outputs)) }
}

impl GraphReader<'_, '_> {
    /// The operation of a layer, as its operation set defines the type. `None` after an error.
    pub(super) fn operation(&mut self, data: &mut Data) -> Option<ReadOperation> {
        let operation = match self.layers[data.index].kind {
            LayerType::Parameter => {
                let (element, shape) = self.parameter(data)?;
                let shape = Some(("shape", shape));
                ReadOperation {
                    shape,
                    ..ReadOperation::new(Op::Parameter).with_types(OutputTypes::Is(element))
                }
            }
            LayerType::Const => {
                let tensor = self.constant(data)?;
                let shape =
                    Some(("shape", tensor.shape().iter().map(|&d| Dim::Fixed(d)).collect()));
                let element = OutputTypes::Is(tensor.element());
                ReadOperation {
                    shape,
                    ..ReadOperation::new(Op::Constant(tensor)).with_types(element)
                }
            }
            LayerType::Result => ReadOperation::new(Op::Result),
            LayerType::Cell(_) => {
                let (cell, _, ledger) = self.cell(data)?;
                with_all_outputs(Op::Cell(cell), ledger)
            }
            LayerType::Sequence(_) => {
                let (cell, direction, ledger) = self.cell(data)?;
                with_all_outputs(Op::Sequence(cell, direction), ledger)
            }
            LayerType::Elementwise(elementwise) => {
                ReadOperation::new(Op::elementwise(elementwise)).with_types(element_of(elementwise))
            }
            LayerType::Broadcasting(elementwise) => {
                self.auto_broadcast(data)?;
                ReadOperation::new(Op::elementwise(elementwise)).with_types(element_of(elementwise))
            }
            LayerType::Reduce(reduction) => {
                let keep = self.boolean(data, "keep_dims", Some(false))?;
                ReadOperation::new(Op::Reduce(Reduce { reduction, keep, no_axes: NoAxes::Same }))
            }
            LayerType::Assign => readers::assign(self, data)?,
            LayerType::Other => {
                let read = find(self.layers[data.index].type_name)?.reader?;
                read(self, data)?
            }
            // `body_operation` reads layers with bodies
            LayerType::TensorIterator | LayerType::Loop | LayerType::If | LayerType::Unknown => {
                return None;
            }
        };
        Some(operation)
    }
}

impl Supported {
    /// The row of a type whose layers may have these attributes without effect.
    const fn neutral(self, neutral: &'static [(&'static str, &'static str)]) -> Self {
        Self { neutral, ..self }
    }

    /// True for an attribute outside the definition that has no effect with this text.
    pub(super) fn has_no_effect(&self, name: &str, text: &str) -> bool {
        let is_list_of = |number| text.split(',').all(|part| part.trim() == number);
        self.neutral.iter().any(|&(own, number)| own == name && is_list_of(number))
    }

    /// The number of the latest operation set, up to the set `text`, that defines the layer; 0 for
    /// a layer outside of numbered sets. `None` if `text` is no known set, or if no set up to
    /// `text` defines the layer.
    pub(super) fn definition(&self, text: &str) -> Option<u64> {
        if self.sets.contains(&text) {
            return Some(set_number(text).unwrap_or(0));
        }
        let number = set_number(text).filter(|number| (1..=LATEST_SET).contains(number))?;
        let mut defined = self.sets.iter().filter_map(|set| set_number(set)).peekable();
        // layers outside of numbered sets, OpenVINO's internal layers, have one definition
        if defined.peek().is_none() {
            Some(0)
        } else {
            defined.filter(|&first| first <= number).max()
        }
    }

    /// The number of the latest definition, for a layer without an operation set.
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

const fn row(
    name: &'static str,
    sets: &'static [&'static str],
    kind: LayerType,
    limits: &'static str,
) -> Supported {
    Supported { name, sets, limits, kind, reader: None, neutral: &[] }
}

/// A row for a type whose attributes `reader` reads.
const fn read_by(
    name: &'static str,
    sets: &'static [&'static str],
    reader: Reader,
    limits: &'static str,
) -> Supported {
    Supported { name, sets, limits, kind: LayerType::Other, reader: Some(reader), neutral: &[] }
}

/// The transform of complex numbers. Tensors of real numbers have no axis of size 1 for the real
/// part.
const DFT: Dft = Dft { inverse: false, one_sided: false, parts_of_real: false };

/// Every type of layer that is read.
pub const SUPPORTED: &[Supported] = {
    use LayerType as K;
    use Reduction as R;
    const ONE: &[&str] = &["opset1"];
    const FIVE: &[&str] = &["opset5"];
    // Model Optimizer of 2020 writes the padding of transposed convolutions for all convolutions
    const OF_TRANSPOSED: &[(&str, &str)] = &[("output_padding", "0")];
    const INTERNAL: &[&str] = &["ie_internal_opset"];
    &[
        row("Parameter", ONE, K::Parameter, "an input; --batch and --shape fix open sizes"),
        row(
            "Const",
            ONE,
            K::Const,
            "f32, f16, bf16, f64; integers of 4 (packed), 8, 16, 32 and 64 bits; boolean",
        ),
        row("Result", ONE, K::Result, "an output"),
        row("RNNCell", ONE, K::Cell(Family::Rnn), "one step; any activation; clip"),
        row(
            "GRUCell",
            &["opset3"],
            K::Cell(Family::Gru),
            "one step; reset gate before or after the product; B optional",
        ),
        row(
            "LSTMCell",
            &["opset1", "opset4"],
            K::Cell(Family::Lstm),
            "one step; opset1: weights_format, input_forget, peepholes, B optional",
        ),
        row(
            "AUGRUCell",
            INTERNAL,
            K::Cell(Family::Augru),
            "one step; sigmoid and tanh only; no clip",
        ),
        row(
            "RNNSequence",
            FIVE,
            K::Sequence(Family::Rnn),
            "forward, reverse, bidirectional; sequence lengths",
        ),
        row(
            "GRUSequence",
            FIVE,
            K::Sequence(Family::Gru),
            "forward, reverse, bidirectional; sequence lengths",
        ),
        row(
            "LSTMSequence",
            FIVE,
            K::Sequence(Family::Lstm),
            "forward, reverse, bidirectional; sequence lengths",
        ),
        row(
            "AUGRUSequence",
            INTERNAL,
            K::Sequence(Family::Augru),
            "forward; sigmoid and tanh only; no clip; sequence lengths",
        ),
        row(
            "TensorIterator",
            ONE,
            K::TensorIterator,
            "slices in both directions, back edges; all operations in the body",
        ),
        row(
            "Loop",
            FIVE,
            K::Loop,
            "a constant trip count, or a condition that ends at a constant iteration",
        ),
        row("If", &["opset8"], K::If, "a step computes the chosen branch, or both if small"),
        read_by(
            "ReadValue",
            &["opset3", "opset6"],
            |reader, data| reader.read_value(data),
            "a variable; its initial value must be constant",
        ),
        row(
            "Assign",
            &["opset3", "opset6"],
            K::Assign,
            "the value of the variable in the next call",
        ),
        read_by(
            "MatMul",
            ONE,
            readers::matmul,
            "any number of dimensions; either side can be transposed",
        ),
        read_by(
            "Convolution",
            ONE,
            |reader, data| reader.convolution(data, Groups::Count(1)),
            "1 to 3 dimensions; every auto_pad",
        )
        .neutral(OF_TRANSPOSED),
        read_by(
            "GroupConvolution",
            ONE,
            |reader, data| reader.convolution(data, Groups::InWeights),
            "like Convolution; depthwise too",
        )
        .neutral(OF_TRANSPOSED),
        read_by(
            "ConvolutionBackpropData",
            ONE,
            |reader, data| reader.transposed_convolution(data, Groups::Count(1)),
            "like Convolution; output_padding; constant output_shape",
        ),
        read_by(
            "GroupConvolutionBackpropData",
            ONE,
            |reader, data| reader.transposed_convolution(data, Groups::InWeights),
            "like ConvolutionBackpropData",
        ),
        read_by(
            "MaxPool",
            &["opset1", "opset8", "opset14"],
            |reader, data| reader.max_pool(data),
            "every rounding_type and auto_pad; no indices",
        ),
        read_by(
            "AvgPool",
            &["opset1", "opset14", "opset16"],
            |reader, data| reader.average_pool(data),
            "every rounding_type and auto_pad; exclude-pad",
        ),
        read_by(
            "Pad",
            &["opset1", "opset12"],
            readers::pad,
            "constant pads and value; constant, edge, reflect, symmetric; negative pads",
        ),
        row("Add", ONE, K::Broadcasting(binary(Binary::Add)), "NumPy broadcasting"),
        row("Subtract", ONE, K::Broadcasting(binary(Binary::Subtract)), "NumPy broadcasting"),
        row("Multiply", ONE, K::Broadcasting(binary(Binary::Multiply)), "NumPy broadcasting"),
        read_by("Divide", ONE, readers::divide, "NumPy broadcasting"),
        row("Maximum", ONE, K::Broadcasting(binary(Binary::Maximum)), "NumPy broadcasting"),
        row("Minimum", ONE, K::Broadcasting(binary(Binary::Minimum)), "NumPy broadcasting"),
        row(
            "SquaredDifference",
            ONE,
            K::Broadcasting(Elementwise::Composed(Composed::SquaredDifference)),
            "NumPy broadcasting",
        ),
        row("ReLU", ONE, K::Elementwise(activation(Activation::Relu)), "elementwise"),
        row("Sigmoid", ONE, K::Elementwise(activation(Activation::Sigmoid)), "elementwise"),
        row("Tanh", ONE, K::Elementwise(activation(Activation::Tanh)), "elementwise"),
        row(
            "HardSigmoid",
            ONE,
            K::Elementwise(Elementwise::Composed(Composed::HardSigmoid)),
            "constant alpha and beta",
        ),
        read_by("Elu", ONE, readers::elu, "elementwise"),
        row(
            "SoftPlus",
            &["opset4"],
            K::Elementwise(activation(Activation::Softplus)),
            "elementwise",
        ),
        row(
            "SoftSign",
            &["opset9"],
            K::Elementwise(activation(Activation::Softsign)),
            "elementwise",
        ),
        row(
            "PReLU",
            ONE,
            K::Elementwise(Elementwise::Primitive(Primitive::PRelu)),
            "any slope; NumPy broadcasting",
        ),
        read_by("Clamp", ONE, readers::clamp, "elementwise"),
        row("Exp", ONE, K::Elementwise(math(MathFunction::Exp)), "elementwise"),
        row("Log", ONE, K::Elementwise(math(MathFunction::Log)), "elementwise"),
        row("Negative", ONE, K::Elementwise(unary(Unary::Negative)), "elementwise"),
        row("Abs", ONE, K::Elementwise(unary(Unary::Abs)), "elementwise"),
        read_by("SoftMax", &["opset1", "opset8"], readers::softmax, "along any axis"),
        read_by("LogSoftmax", FIVE, readers::log_softmax, "along any axis"),
        row(
            "HSwish",
            &["opset4"],
            K::Elementwise(Elementwise::Composed(Composed::HardSwish)),
            "elementwise",
        ),
        row(
            "HSigmoid",
            FIVE,
            K::Elementwise(activation(Activation::HardSigmoid { alpha: 1.0 / 6.0, beta: 0.5 })),
            "elementwise",
        ),
        row(
            "Mish",
            &["opset4"],
            K::Elementwise(Elementwise::Composed(Composed::Mish)),
            "elementwise",
        ),
        read_by(
            "Swish",
            &["opset4"],
            |_, _| {
                Some(
                    ReadOperation::new(Op::elementwise(Composed::Swish { scaled: false }))
                        .rewrite_inputs(InputRewrite::Scaled),
                )
            },
            "beta may be computed",
        ),
        row(
            "Selu",
            ONE,
            K::Elementwise(Elementwise::Composed(Composed::Selu)),
            "constant alpha and lambda",
        ),
        read_by("Gelu", &["opset2", "opset7"], readers::gelu, "exact, or approximation_mode tanh"),
        row("Erf", ONE, K::Elementwise(math(MathFunction::Erf)), "elementwise"),
        row("Sin", ONE, K::Elementwise(math(MathFunction::Sin)), "elementwise; up to 6.5e6"),
        row("Cos", ONE, K::Elementwise(math(MathFunction::Cos)), "elementwise; up to 6.5e6"),
        row("Atan", ONE, K::Elementwise(math(MathFunction::Atan)), "elementwise"),
        row(
            "Tan",
            ONE,
            K::Elementwise(Elementwise::Composed(Composed::Tan)),
            "elementwise; up to 1,000",
        ),
        row("Sinh", ONE, K::Elementwise(Elementwise::Composed(Composed::Sinh)), "elementwise"),
        row("Cosh", ONE, K::Elementwise(Elementwise::Composed(Composed::Cosh)), "elementwise"),
        row("Asin", ONE, K::Elementwise(Elementwise::Composed(Composed::Asin)), "elementwise"),
        row("Acos", ONE, K::Elementwise(Elementwise::Composed(Composed::Acos)), "elementwise"),
        row(
            "Asinh",
            &["opset4"],
            K::Elementwise(Elementwise::Composed(Composed::Asinh)),
            "elementwise",
        ),
        row(
            "Acosh",
            &["opset4"],
            K::Elementwise(Elementwise::Composed(Composed::Acosh)),
            "elementwise",
        ),
        row(
            "Atanh",
            &["opset4"],
            K::Elementwise(Elementwise::Composed(Composed::Atanh)),
            "elementwise",
        ),
        row(
            "Sqrt",
            ONE,
            K::Elementwise(math(MathFunction::Sqrt)),
            "elementwise; correctly rounded",
        ),
        row(
            "Power",
            ONE,
            K::Broadcasting(Elementwise::Power),
            "a constant exponent up to 128 in steps of a half by multiplication and roots; else \
             exp(y log(x))",
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
        read_by("MVN", &["opset1", "opset6"], readers::mvn, "constant axes"),
        read_by("NormalizeL2", ONE, readers::normalize_l2, "constant axes"),
        read_by("GRN", ONE, readers::grn, "along axis 1"),
        read_by(
            "LRN",
            ONE,
            readers::local_response,
            "over the channels of two to four dimensions, or over axes behind them",
        ),
        read_by("BatchNormInference", &["opset1", "opset5"], readers::batch_norm, "along axis 1"),
        read_by("GroupNormalization", &["opset12"], readers::group_norm, "along axis 1"),
        read_by("Convert", ONE, readers::convert, "all floating-point types are computed in f32"),
        read_by(
            "ConvertLike",
            ONE,
            |_, _| {
                Some(ReadOperation::new(Op::Convert).rewrite_inputs(InputRewrite::FirstInputOnly))
            },
            "like Convert",
        ),
        read_by("Identity", &["opset16"], |_, _| plain(Op::Convert), "the value itself"),
        read_by(
            "ScaledDotProductAttention",
            &["opset13"],
            readers::attention,
            "causal; a mask of booleans, or one that is added; any scale",
        ),
        read_by("GatedDeltaNet", INTERNAL, readers::gated_delta_net, "shared heads; unit lengths"),
        read_by(
            "DFT",
            &["opset7"],
            |_, _| plain(Op::Dft(DFT)),
            "constant lengths, as products of matrices",
        ),
        read_by(
            "IDFT",
            &["opset7"],
            |_, _| plain(Op::Dft(Dft { inverse: true, ..DFT })),
            "like DFT",
        ),
        read_by(
            "RDFT",
            &["opset9"],
            |_, _| plain(Op::Dft(Dft { one_sided: true, ..DFT })),
            "like DFT",
        ),
        read_by(
            "IRDFT",
            &["opset9"],
            |_, _| plain(Op::Dft(Dft { inverse: true, one_sided: true, ..DFT })),
            "like DFT",
        ),
        read_by("Concat", ONE, readers::concat, "along any axis"),
        read_by("Split", ONE, readers::split, "constant axis"),
        read_by(
            "VariadicSplit",
            ONE,
            |_, _| Some(ReadOperation::new(Op::VariadicSplit).ports(Ports::OneOrMore)),
            "constant axis and lengths",
        ),
        read_by("Reshape", ONE, readers::reshape, "constant shape; special_zero"),
        read_by("Squeeze", &["opset1", "opset15"], readers::squeeze, "constant axes"),
        read_by("Unsqueeze", ONE, |_, _| plain(Op::Unsqueeze), "constant axes"),
        read_by("Transpose", ONE, |_, _| plain(Op::Transpose), "constant order"),
        read_by(
            "Gather",
            &["opset1", "opset7", "opset8"],
            readers::gather,
            "constant axis; run-time indices are clamped",
        ),
        read_by("GatherElements", &["opset6"], readers::gather_elements, "any indices, as Gather"),
        read_by(
            "GatherND",
            &["opset5", "opset8"],
            readers::gather_nd,
            "any indices, as Gather; batch_dims",
        ),
        read_by(
            "Slice",
            &["opset8"],
            |_, _| plain(Op::Slice),
            "constant bounds; or from 0 to a computed stop",
        ),
        read_by("StridedSlice", ONE, readers::strided_slice, "constant bounds; all masks"),
        read_by(
            "ReverseSequence",
            ONE,
            readers::reverse_sequence,
            "any lengths; run-time lengths are clamped",
        ),
        read_by(
            "ScatterUpdate",
            &["opset3"],
            |_, _| plain(Op::ScatterUpdate),
            "constant axis; constant, consecutive indices",
        ),
        read_by(
            "ScatterNDUpdate",
            &["opset3", "opset15"],
            readers::scatter_nd,
            "up to 64 run-time indices; every reduction but sub",
        ),
        read_by(
            "ScatterElementsUpdate",
            &["opset3", "opset12"],
            readers::scatter_elements,
            "up to 64 run-time indices; every reduction but mean; initial values count",
        ),
        read_by(
            "DepthToSpace",
            ONE,
            |reader, data| readers::blocks(reader, data, true),
            "both modes",
        ),
        read_by(
            "SpaceToDepth",
            ONE,
            |reader, data| readers::blocks(reader, data, false),
            "both modes",
        ),
        read_by(
            "Broadcast",
            &["opset1", "opset3"],
            readers::broadcast,
            "constant shape; numpy, bidirectional, explicit",
        ),
        read_by("Roll", &["opset7"], |_, _| plain(Op::Roll), "constant shift and axes"),
        read_by("Eye", &["opset9"], readers::eye, "computed when compiling; no batch"),
        read_by("Tile", ONE, |_, _| plain(Op::Tile), "constant repeats"),
        read_by("ShapeOf", &["opset1", "opset3"], readers::shape_of, "computed when compiling"),
        read_by("Range", &["opset1", "opset4"], readers::range, "computed when compiling"),
        row(
            "Mod",
            ONE,
            K::Broadcasting(Elementwise::Remainder(Remainder::OfDividend)),
            "integers; a divisor that is never 0",
        ),
        row(
            "FloorMod",
            ONE,
            K::Broadcasting(Elementwise::Remainder(Remainder::OfDivisor)),
            "integers; a divisor that is never 0",
        ),
        row("Floor", ONE, K::Elementwise(math(MathFunction::Floor)), "elementwise"),
        read_by("Round", &["opset5"], readers::round, "half_to_even"),
        read_by(
            "FakeQuantize",
            ONE,
            readers::fake_quantize,
            "constant ranges that are not empty; NumPy broadcasting",
        ),
        row("Sign", ONE, K::Elementwise(unary(Unary::Sign)), "elementwise"),
        read_by(
            "TopK",
            &["opset1", "opset3", "opset11"],
            readers::top_k,
            "a constant K of 64 or fewer; sorted by value, or one",
        ),
        read_by("CumSum", &["opset3"], readers::running_sum, "a constant axis"),
        read_by("OneHot", ONE, readers::one_hot, "a constant depth"),
        read_by("Einsum", &["opset7"], readers::einsum, "any equation; products of two by two"),
        read_by(
            "Interpolate",
            &["opset4", "opset11"],
            |reader, data| reader.interpolate(data),
            "nearest, linear_onnx, cubic; constant scales or sizes",
        ),
        row("Ceiling", ONE, K::Elementwise(unary(Unary::Ceiling)), "elementwise"),
        row("Equal", ONE, K::Broadcasting(comparison(Comparison::Equal)), "NumPy broadcasting"),
        row(
            "NotEqual",
            ONE,
            K::Broadcasting(comparison(Comparison::NotEqual)),
            "NumPy broadcasting",
        ),
        row("Greater", ONE, K::Broadcasting(comparison(Comparison::Greater)), "NumPy broadcasting"),
        row(
            "GreaterEqual",
            ONE,
            K::Broadcasting(comparison(Comparison::GreaterEqual)),
            "NumPy broadcasting",
        ),
        row("Less", ONE, K::Broadcasting(comparison(Comparison::Less)), "NumPy broadcasting"),
        row(
            "LessEqual",
            ONE,
            K::Broadcasting(comparison(Comparison::LessEqual)),
            "NumPy broadcasting",
        ),
        row("LogicalAnd", ONE, K::Broadcasting(logic(Logic::And)), "NumPy broadcasting"),
        row("LogicalOr", ONE, K::Broadcasting(logic(Logic::Or)), "NumPy broadcasting"),
        row("LogicalNot", ONE, K::Elementwise(logic(Logic::Not)), "elementwise"),
        row(
            "Select",
            ONE,
            K::Broadcasting(Elementwise::Primitive(Primitive::Select)),
            "NumPy broadcasting",
        ),
    ]
};
