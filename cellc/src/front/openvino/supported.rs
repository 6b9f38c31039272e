//! The table of supported layer types. Readers, messages and the reference page take the types from
//! here.

use super::attributes::Data;
use super::kinds::LayerType;
use super::layers::GraphReader;
use super::operations::{OutputTypes, Ports, ReadOperation, Then};
use super::readers::{self, plain};
use crate::model::{
    Activation, Binary, Comparison, Composed, Dft, Dim, ElementType, Elementwise, Family, Groups,
    LedgerEntry, Logic, NoAxes, Op, Primitive, Reduce, Reduction, Remainder, ResultType, Unary,
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
    pub what: &'static str,
    pub(super) kind: LayerType,
}

const fn activation(of: Activation) -> Elementwise {
    Elementwise::Primitive(Primitive::Activation(of))
}

const fn unary(of: Unary) -> Elementwise {
    Elementwise::Primitive(Primitive::Unary(of))
}

const fn binary(of: Binary) -> Elementwise {
    Elementwise::Primitive(Primitive::Binary(of))
}

const fn comparison(of: Comparison) -> Elementwise {
    Elementwise::Primitive(Primitive::Comparison(of))
}

const fn logic(of: Logic) -> Elementwise {
    Elementwise::Primitive(Primitive::Logic(of))
}

/// The row of the table for a type; case is ignored.
pub(super) fn find(type_name: &str) -> Option<&'static Supported> {
    // OpenVINO writes both names
    let name = if type_name.eq_ignore_ascii_case("Constant") { "Const" } else { type_name };
    SUPPORTED.iter().find(|row| row.name.eq_ignore_ascii_case(name))
}

/// The element type of the result of an operation element by element.
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
                    ..ReadOperation::new(Op::Parameter).of(OutputTypes::Is(element))
                }
            }
            LayerType::Const => {
                let tensor = self.constant(data)?;
                let shape =
                    Some(("shape", tensor.shape().iter().map(|&d| Dim::Fixed(d)).collect()));
                let element = OutputTypes::Is(tensor.element());
                ReadOperation { shape, ..ReadOperation::new(Op::Constant(tensor)).of(element) }
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
                ReadOperation::new(Op::elementwise(elementwise)).of(element_of(elementwise))
            }
            LayerType::Broadcasting(elementwise) => {
                self.auto_broadcast(data)?;
                ReadOperation::new(Op::elementwise(elementwise)).of(element_of(elementwise))
            }
            LayerType::Reduce(reduction) => {
                let keep = self.boolean(data, "keep_dims", Some(false))?;
                ReadOperation::new(Op::Reduce(Reduce { reduction, keep, no_axes: NoAxes::Same }))
            }
            LayerType::Assign => readers::assign(self, data)?,
            LayerType::By(read) => read(self, data)?,
            // their bodies are graphs
            LayerType::TensorIterator | LayerType::Loop | LayerType::If | LayerType::Unknown => {
                return None;
            }
        };
        Some(operation)
    }
}

impl Supported {
    /// The number of the latest operation set, up to the set `text`, that defines the layer; 0 for
    /// a set without number. `None` if no set up to `text` defines the layer.
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

const fn row(
    name: &'static str,
    sets: &'static [&'static str],
    kind: LayerType,
    what: &'static str,
) -> Supported {
    Supported { name, sets, what, kind }
}

/// The transform of complex numbers, without an axis for the parts of real numbers.
const DFT: Dft = Dft { inverse: false, one_sided: false, parts_of_real: false };

/// Every type of layer that is read.
pub const SUPPORTED: &[Supported] = {
    use LayerType as K;
    use Reduction as R;
    const ONE: &[&str] = &["opset1"];
    const FIVE: &[&str] = &["opset5"];
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
        row(
            "ReadValue",
            &["opset3", "opset6"],
            K::By(|reader, data| reader.read_value(data)),
            "a variable; its initial value must be constant",
        ),
        row(
            "Assign",
            &["opset3", "opset6"],
            K::Assign,
            "the value of the variable in the next call",
        ),
        row(
            "MatMul",
            ONE,
            K::By(readers::matmul),
            "any number of dimensions; either side can be transposed",
        ),
        row(
            "Convolution",
            ONE,
            K::By(|reader, data| reader.convolution(data, Groups::Count(1))),
            "1 to 3 dimensions; every auto_pad",
        ),
        row(
            "GroupConvolution",
            ONE,
            K::By(|reader, data| reader.convolution(data, Groups::InWeights)),
            "like Convolution; depthwise too",
        ),
        row(
            "ConvolutionBackpropData",
            ONE,
            K::By(|reader, data| reader.transposed_convolution(data, Groups::Count(1))),
            "like Convolution; output_padding; constant output_shape",
        ),
        row(
            "GroupConvolutionBackpropData",
            ONE,
            K::By(|reader, data| reader.transposed_convolution(data, Groups::InWeights)),
            "like ConvolutionBackpropData",
        ),
        row(
            "MaxPool",
            &["opset1", "opset8", "opset14"],
            K::By(|reader, data| reader.max_pool(data)),
            "every rounding_type and auto_pad; no indices",
        ),
        row(
            "AvgPool",
            &["opset1", "opset14", "opset16"],
            K::By(|reader, data| reader.average_pool(data)),
            "every rounding_type and auto_pad; exclude-pad",
        ),
        row(
            "Pad",
            &["opset1", "opset12"],
            K::By(readers::pad),
            "constant pads and value; constant, edge, reflect, symmetric; negative pads",
        ),
        row("Add", ONE, K::Broadcasting(binary(Binary::Add)), "NumPy broadcasting"),
        row("Subtract", ONE, K::Broadcasting(binary(Binary::Subtract)), "NumPy broadcasting"),
        row("Multiply", ONE, K::Broadcasting(binary(Binary::Multiply)), "NumPy broadcasting"),
        row("Divide", ONE, K::By(readers::divide), "NumPy broadcasting"),
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
        row("Elu", ONE, K::By(readers::elu), "elementwise"),
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
        row("Clamp", ONE, K::By(readers::clamp), "elementwise"),
        row("Exp", ONE, K::Elementwise(activation(Activation::Exp)), "elementwise"),
        row("Log", ONE, K::Elementwise(activation(Activation::Log)), "elementwise"),
        row("Negative", ONE, K::Elementwise(unary(Unary::Negative)), "elementwise"),
        row("Abs", ONE, K::Elementwise(unary(Unary::Abs)), "elementwise"),
        row("SoftMax", &["opset1", "opset8"], K::By(readers::softmax), "along any axis"),
        row("LogSoftmax", FIVE, K::By(readers::log_softmax), "along any axis"),
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
        row(
            "Swish",
            &["opset4"],
            K::By(|_, _| {
                Some(
                    ReadOperation::new(Op::elementwise(Composed::Swish { scaled: false }))
                        .then(Then::Scaled),
                )
            }),
            "beta may be computed",
        ),
        row(
            "Selu",
            ONE,
            K::Elementwise(Elementwise::Composed(Composed::Selu)),
            "constant alpha and lambda",
        ),
        row(
            "Gelu",
            &["opset2", "opset7"],
            K::By(readers::gelu),
            "exact, or approximation_mode tanh",
        ),
        row("Erf", ONE, K::Elementwise(activation(Activation::Erf)), "elementwise"),
        row("Sin", ONE, K::Elementwise(activation(Activation::Sin)), "elementwise; up to 6.5e6"),
        row("Cos", ONE, K::Elementwise(activation(Activation::Cos)), "elementwise; up to 6.5e6"),
        row("Atan", ONE, K::Elementwise(activation(Activation::Atan)), "elementwise"),
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
            K::Elementwise(activation(Activation::Sqrt)),
            "elementwise; correctly rounded",
        ),
        row(
            "Power",
            ONE,
            K::Broadcasting(Elementwise::Power),
            "a constant exponent up to 64 in steps of a half by multiplication and roots; else \
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
        row("MVN", &["opset1", "opset6"], K::By(readers::mvn), "constant axes"),
        row("NormalizeL2", ONE, K::By(readers::normalize_l2), "constant axes"),
        row("GRN", ONE, K::By(readers::grn), "along axis 1"),
        row(
            "LRN",
            ONE,
            K::By(readers::local_response),
            "over the channels of two to four dimensions, or over axes behind them",
        ),
        row(
            "BatchNormInference",
            &["opset1", "opset5"],
            K::By(readers::batch_norm),
            "along axis 1",
        ),
        row("GroupNormalization", &["opset12"], K::By(readers::group_norm), "along axis 1"),
        row(
            "Convert",
            ONE,
            K::By(readers::convert),
            "all floating-point types are computed in f32",
        ),
        row(
            "ConvertLike",
            ONE,
            K::By(|_, _| Some(ReadOperation::new(Op::Convert).then(Then::FirstInputOnly))),
            "like Convert",
        ),
        row("Identity", &["opset16"], K::By(|_, _| plain(Op::Convert)), "the value itself"),
        row(
            "ScaledDotProductAttention",
            &["opset13"],
            K::By(readers::attention),
            "causal; a mask of booleans, or one that is added; any scale",
        ),
        row(
            "DFT",
            &["opset7"],
            K::By(|_, _| plain(Op::Dft(DFT))),
            "constant lengths, as products of matrices",
        ),
        row(
            "IDFT",
            &["opset7"],
            K::By(|_, _| plain(Op::Dft(Dft { inverse: true, ..DFT }))),
            "like DFT",
        ),
        row(
            "RDFT",
            &["opset9"],
            K::By(|_, _| plain(Op::Dft(Dft { one_sided: true, ..DFT }))),
            "like DFT",
        ),
        row(
            "IRDFT",
            &["opset9"],
            K::By(|_, _| plain(Op::Dft(Dft { inverse: true, one_sided: true, ..DFT }))),
            "like DFT",
        ),
        row("Concat", ONE, K::By(readers::concat), "along any axis"),
        row("Split", ONE, K::By(readers::split), "constant axis"),
        row(
            "VariadicSplit",
            ONE,
            K::By(|_, _| Some(ReadOperation::new(Op::VariadicSplit).ports(Ports::OneOrMore))),
            "constant axis and lengths",
        ),
        row("Reshape", ONE, K::By(readers::reshape), "constant shape; special_zero"),
        row("Squeeze", &["opset1", "opset15"], K::By(readers::squeeze), "constant axes"),
        row("Unsqueeze", ONE, K::By(|_, _| plain(Op::Unsqueeze)), "constant axes"),
        row("Transpose", ONE, K::By(|_, _| plain(Op::Transpose)), "constant order"),
        row(
            "Gather",
            &["opset1", "opset7", "opset8"],
            K::By(readers::gather),
            "constant axis; run-time indices are clamped",
        ),
        row(
            "GatherElements",
            &["opset6"],
            K::By(readers::gather_elements),
            "any indices, as Gather",
        ),
        row(
            "GatherND",
            &["opset5", "opset8"],
            K::By(readers::gather_nd),
            "any indices, as Gather; batch_dims",
        ),
        row(
            "Slice",
            &["opset8"],
            K::By(|_, _| plain(Op::Slice)),
            "constant bounds; or from 0 to a computed stop",
        ),
        row("StridedSlice", ONE, K::By(readers::strided_slice), "constant bounds; all masks"),
        row(
            "ReverseSequence",
            ONE,
            K::By(readers::reverse_sequence),
            "any lengths; run-time lengths are clamped",
        ),
        row(
            "ScatterUpdate",
            &["opset3"],
            K::By(|_, _| plain(Op::ScatterUpdate)),
            "constant axis; constant, consecutive indices",
        ),
        row(
            "ScatterNDUpdate",
            &["opset3", "opset15"],
            K::By(readers::scatter_nd),
            "up to 64 run-time indices; every reduction but sub",
        ),
        row(
            "ScatterElementsUpdate",
            &["opset3", "opset12"],
            K::By(readers::scatter_elements),
            "up to 64 run-time indices; every reduction but mean; initial values count",
        ),
        row(
            "DepthToSpace",
            ONE,
            K::By(|reader, data| readers::blocks(reader, data, true)),
            "both modes",
        ),
        row(
            "SpaceToDepth",
            ONE,
            K::By(|reader, data| readers::blocks(reader, data, false)),
            "both modes",
        ),
        row(
            "Broadcast",
            &["opset1", "opset3"],
            K::By(readers::broadcast),
            "constant shape; numpy, bidirectional, explicit",
        ),
        row("Roll", &["opset7"], K::By(|_, _| plain(Op::Roll)), "constant shift and axes"),
        row("Eye", &["opset9"], K::By(readers::eye), "computed when compiling; no batch"),
        row("Tile", ONE, K::By(|_, _| plain(Op::Tile)), "constant repeats"),
        row("ShapeOf", &["opset1", "opset3"], K::By(readers::shape_of), "computed when compiling"),
        row("Range", &["opset1", "opset4"], K::By(readers::range), "computed when compiling"),
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
        row("Floor", ONE, K::Elementwise(activation(Activation::Floor)), "elementwise"),
        row("Round", &["opset5"], K::By(readers::round), "half_to_even"),
        row(
            "FakeQuantize",
            ONE,
            K::By(readers::fake_quantize),
            "constant ranges that are not empty; NumPy broadcasting",
        ),
        row("Sign", ONE, K::Elementwise(unary(Unary::Sign)), "elementwise"),
        row(
            "TopK",
            &["opset1", "opset3", "opset11"],
            K::By(readers::top_k),
            "a constant K of 64 or fewer; sorted by value, or one",
        ),
        row("CumSum", &["opset3"], K::By(readers::cum_sum), "a constant axis"),
        row("OneHot", ONE, K::By(readers::one_hot), "a constant depth"),
        row("Einsum", &["opset7"], K::By(readers::einsum), "any equation; products of two by two"),
        row(
            "Interpolate",
            &["opset4", "opset11"],
            K::By(|reader, data| reader.interpolate(data)),
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
