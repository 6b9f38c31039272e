//! The table of supported operators, for the reader, for messages and for the reference page.

use std::ops::RangeInclusive;

use super::graph::{Call, GraphReader};
use super::operators::Extremum;
use super::{
    arrange, attention, bodies, features, fused, operators, qlinear, quantized, quantized_lstm,
    recurrent, sequences, signal, stateful, windows,
};
use crate::model::{
    Activation, Binary, Comparison, Composed, Logic, MathFunction, Reduction, Unary, ValueId,
};

/// The oldest supported operator set.
pub(super) const OLDEST: i64 = 7;

/// The newest supported operator set.
pub(super) const LATEST: i64 = 28;

/// Lowers a node to operations and returns its outputs in order. `None` after an error.
pub(super) type Lower = fn(&mut GraphReader<'_>, &mut Call<'_>) -> Option<Vec<ValueId>>;

/// A supported operator.
#[derive(Debug)]
pub struct Supported {
    /// Name of the operator.
    pub name: &'static str,
    /// Domain of the operator. Empty for the default domain.
    pub domain: &'static str,
    /// Operator sets with a new definition of the operator, ascending.
    pub versions: &'static [i64],
    /// Supported variants and limits, in one line.
    pub limits: &'static str,
    /// Valid numbers of inputs. The inputs below the minimum are required, and all inputs of an
    /// operator with any number of inputs, except [`Self::optional`].
    pub(super) inputs: RangeInclusive<usize>,
    /// The number of first inputs that an operator with any number of inputs may lack.
    optional: usize,
    /// Valid numbers of outputs. Trailing outputs without a name count for the minimum, not for the
    /// maximum.
    pub(super) outputs: RangeInclusive<usize>,
    pub(super) lower: Lower,
}

impl Supported {
    /// The row with another range of outputs.
    const fn giving(self, outputs: RangeInclusive<usize>) -> Self {
        Self { outputs, ..self }
    }

    /// The row of an operator with any number of inputs, of which the first `optional` ones may be
    /// left out.
    const fn lacking(self, optional: usize) -> Self {
        Self { optional, ..self }
    }

    /// True if input `at` may be left out.
    pub(super) fn may_lack(&self, at: usize) -> bool {
        let any_number = *self.inputs.end() == ANY;
        at >= *self.inputs.start() && (!any_number || at < self.optional)
    }

    /// The version of the definition in force in an operator set. `None` if the operator set is
    /// older than the first definition.
    pub(super) fn definition(&self, set: i64) -> Option<i64> {
        self.versions.iter().copied().filter(|&version| version <= set).max()
    }
}

/// The row of an operator. `None` if the operator is not supported.
pub(super) fn find(domain: &str, name: &str) -> Option<&'static Supported> {
    SUPPORTED.iter().find(|row| row.name == name && row.domain == domain)
}

const fn row(
    name: &'static str,
    versions: &'static [i64],
    inputs: RangeInclusive<usize>,
    lower: Lower,
    limits: &'static str,
) -> Supported {
    Supported { name, domain: "", versions, limits, inputs, optional: 0, outputs: 1..=1, lower }
}

/// A row of ONNX Runtime's own operators.
const fn microsoft(
    name: &'static str,
    inputs: RangeInclusive<usize>,
    lower: Lower,
    limits: &'static str,
) -> Supported {
    Supported { domain: "com.microsoft", ..row(name, &[1], inputs, lower, limits) }
}

/// A row of the operators for features of the domain `ai.onnx.ml`.
const fn ml(
    name: &'static str,
    inputs: RangeInclusive<usize>,
    lower: Lower,
    limits: &'static str,
) -> Supported {
    Supported { domain: "ai.onnx.ml", ..row(name, &[1], inputs, lower, limits) }
}

const ANY: usize = usize::MAX;

/// All supported operators.
pub static SUPPORTED: &[Supported] = &[
    row(
        "GRU",
        &[7, 14, 22],
        3..=6,
        recurrent::gru,
        "both layouts, all directions; activations of each direction; clip; lengths",
    )
    .giving(0..=2),
    row(
        "LSTM",
        &[7, 14, 22],
        3..=8,
        recurrent::lstm,
        "as GRU; peepholes of one step; \
        input_forget",
    )
    .giving(0..=3),
    row("RNN", &[7, 14, 22], 3..=6, recurrent::rnn, "as GRU").giving(0..=2),
    row("MatMul", &[1, 9, 13], 2..=2, operators::matmul, "any number of dimensions"),
    row("Gemm", &[7, 9, 11, 13], 2..=3, operators::gemm, "alpha, beta, both transpositions"),
    row(
        "Add",
        &[7, 13, 14],
        2..=2,
        |r, c| operators::elementwise(r, c, Binary::Add),
        "NumPy broadcasting; integers up to 2^24; larger sums that become floats are rounded and \
         do not wrap around",
    ),
    row(
        "Sub",
        &[7, 13, 14],
        2..=2,
        |r, c| operators::elementwise(r, c, Binary::Subtract),
        "NumPy broadcasting; \
        integers as Add",
    ),
    row(
        "Mul",
        &[7, 13, 14],
        2..=2,
        |r, c| operators::elementwise(r, c, Binary::Multiply),
        "NumPy broadcasting",
    ),
    row("Div", &[7, 13, 14], 2..=2, operators::divide, "NumPy broadcasting"),
    row(
        "Max",
        &[6, 8, 12, 13],
        1..=ANY,
        |r, c| operators::variadic(r, c, Binary::Maximum),
        "any number of \
        inputs",
    ),
    row(
        "Min",
        &[6, 8, 12, 13],
        1..=ANY,
        |r, c| operators::variadic(r, c, Binary::Minimum),
        "any number of \
        inputs",
    ),
    row(
        "Sum",
        &[6, 8, 13],
        1..=ANY,
        |r, c| operators::variadic(r, c, Binary::Add),
        "any number of inputs",
    ),
    row("Mean", &[6, 8, 13], 1..=ANY, operators::mean, "any number of inputs"),
    row(
        "Relu",
        &[6, 13, 14],
        1..=1,
        |r, c| operators::elementwise(r, c, Activation::Relu),
        "elementwise",
    ),
    row(
        "Sigmoid",
        &[6, 13],
        1..=1,
        |r, c| operators::elementwise(r, c, Activation::Sigmoid),
        "elementwise",
    ),
    row(
        "Tanh",
        &[6, 13],
        1..=1,
        |r, c| operators::elementwise(r, c, Activation::Tanh),
        "elementwise",
    ),
    row(
        "Softplus",
        &[1, 22],
        1..=1,
        |r, c| operators::elementwise(r, c, Activation::Softplus),
        "elementwise",
    ),
    row("Shrink", &[9], 1..=1, operators::shrink, "floating point"),
    row(
        "Softsign",
        &[1, 22],
        1..=1,
        |r, c| operators::elementwise(r, c, Activation::Softsign),
        "elementwise",
    ),
    row("Elu", &[6, 22], 1..=1, |r, c| operators::with_parameters(r, c, "elu"), "elementwise"),
    row(
        "LeakyRelu",
        &[6, 16],
        1..=1,
        |r, c| operators::with_parameters(r, c, "leakyrelu"),
        "elementwise",
    ),
    row(
        "ThresholdedRelu",
        &[10, 22],
        1..=1,
        |r, c| operators::with_parameters(r, c, "thresholdedrelu"),
        "elementwise",
    ),
    row(
        "HardSigmoid",
        &[6, 22],
        1..=1,
        |r, c| operators::with_parameters(r, c, "hardsigmoid"),
        "elementwise",
    ),
    row("PRelu", &[7, 9, 16], 2..=2, operators::prelu, "any slope; NumPy broadcasting"),
    row("Clip", &[6, 11, 12, 13], 1..=3, operators::clip, "bounds may be computed"),
    row(
        "Exp",
        &[6, 13],
        1..=1,
        |r, c| operators::elementwise(r, c, MathFunction::Exp),
        "elementwise",
    ),
    row(
        "Log",
        &[6, 13],
        1..=1,
        |r, c| operators::elementwise(r, c, MathFunction::Log),
        "elementwise",
    ),
    row(
        "Neg",
        &[6, 13],
        1..=1,
        |r, c| operators::elementwise(r, c, Unary::Negative),
        "elementwise",
    ),
    row("Abs", &[6, 13], 1..=1, |r, c| operators::elementwise(r, c, Unary::Abs), "elementwise"),
    row(
        "Floor",
        &[6, 13],
        1..=1,
        |r, c| operators::elementwise(r, c, MathFunction::Floor),
        "elementwise",
    ),
    row(
        "Ceil",
        &[6, 13],
        1..=1,
        |r, c| operators::elementwise(r, c, Unary::Ceiling),
        "elementwise",
    ),
    row(
        "Mod",
        &[10, 13, 28],
        2..=2,
        operators::modulo,
        "integers, divisor never 0; floats of a constant power of two",
    ),
    row(
        "Round",
        &[11, 22],
        1..=1,
        |r, c| operators::elementwise(r, c, MathFunction::Round),
        "elementwise; to the even one \
        of two",
    ),
    row("Sign", &[9, 13], 1..=1, |r, c| operators::elementwise(r, c, Unary::Sign), "elementwise"),
    row("IsNaN", &[9, 13, 20], 1..=1, operators::is_nan, "elementwise"),
    row("IsInf", &[10, 20], 1..=1, operators::is_inf, "elementwise"),
    row(
        "ReduceSum",
        &[1, 11, 13],
        1..=2,
        |r, c| operators::reduce(r, c, Reduction::Sum),
        "constant axes",
    ),
    row(
        "ReduceMean",
        &[1, 11, 13, 18],
        1..=2,
        |r, c| operators::reduce(r, c, Reduction::Mean),
        "constant axes",
    ),
    row(
        "ReduceMax",
        &[1, 11, 12, 13, 18, 20],
        1..=2,
        |r, c| operators::reduce(r, c, Reduction::Max),
        "constant \
        axes",
    ),
    row(
        "ReduceMin",
        &[1, 11, 12, 13, 18, 20],
        1..=2,
        |r, c| operators::reduce(r, c, Reduction::Min),
        "constant \
        axes",
    ),
    row(
        "ReduceProd",
        &[1, 11, 13, 18],
        1..=2,
        |r, c| operators::reduce(r, c, Reduction::Product),
        "constant axes",
    ),
    row(
        "ReduceL1",
        &[1, 11, 13, 18],
        1..=2,
        |r, c| operators::reduce(r, c, Reduction::L1),
        "constant axes",
    ),
    row(
        "ReduceL2",
        &[1, 11, 13, 18],
        1..=2,
        |r, c| operators::reduce(r, c, Reduction::L2),
        "constant axes",
    ),
    row(
        "ReduceLogSum",
        &[1, 11, 13, 18, 28],
        1..=2,
        |r, c| operators::reduce(r, c, Reduction::LogSum),
        "constant \
        axes",
    ),
    row(
        "ReduceLogSumExp",
        &[1, 11, 13, 18, 28],
        1..=2,
        |r, c| operators::reduce(r, c, Reduction::LogSumExp),
        "constant axes",
    ),
    row(
        "ReduceSumSquare",
        &[1, 11, 13, 18],
        1..=2,
        |r, c| operators::reduce(r, c, Reduction::SumSquare),
        "constant axes",
    ),
    row(
        "BatchNormalization",
        &[7, 9, 14, 15],
        5..=5,
        operators::batch_norm,
        "in evaluation \
        mode",
    )
    .giving(1..=5),
    row(
        "LayerNormalization",
        &[1, 17],
        2..=3,
        |r, c| operators::layer_norm(r, c, false),
        "all outputs; before operator set 17, ONNX Runtime's",
    )
    .giving(1..=3),
    row(
        "RMSNormalization",
        &[23],
        2..=2,
        |r, c| operators::layer_norm(r, c, true),
        "over the last axes",
    ),
    row(
        "InstanceNormalization",
        &[6, 22],
        3..=3,
        operators::instance_norm,
        "over all axes after the \
        second",
    ),
    row("GroupNormalization", &[18, 21], 3..=3, operators::group_norm, "any number of groups"),
    row("MeanVarianceNormalization", &[9, 13], 1..=1, operators::mean_variance, "any axes"),
    row("LRN", &[1, 13], 1..=1, windows::channel_norm, "two to four dimensions"),
    row("LpNormalization", &[1, 22], 1..=1, operators::lp_norm, "p of 1 or 2"),
    row(
        "HardSwish",
        &[14, 22],
        1..=1,
        |r, c| operators::elementwise(r, c, Composed::HardSwish),
        "elementwise",
    ),
    row(
        "Mish",
        &[18, 22],
        1..=1,
        |r, c| operators::elementwise(r, c, Composed::Mish),
        "elementwise",
    ),
    row("Swish", &[24], 1..=1, operators::swish, "elementwise"),
    row("Selu", &[6, 22], 1..=1, operators::selu, "elementwise"),
    row("Celu", &[12, 28], 1..=1, operators::celu, "elementwise"),
    row("Gelu", &[20], 1..=1, operators::gelu, "elementwise; exact, or approximate=tanh"),
    row(
        "Erf",
        &[9, 13],
        1..=1,
        |r, c| operators::elementwise(r, c, MathFunction::Erf),
        "elementwise",
    ),
    row(
        "Sin",
        &[7, 22],
        1..=1,
        |r, c| operators::elementwise(r, c, MathFunction::Sin),
        "elementwise; up to \
        6.5e6",
    ),
    row(
        "Cos",
        &[7, 22],
        1..=1,
        |r, c| operators::elementwise(r, c, MathFunction::Cos),
        "elementwise; up to \
        6.5e6",
    ),
    row(
        "Atan",
        &[7, 22],
        1..=1,
        |r, c| operators::elementwise(r, c, MathFunction::Atan),
        "elementwise",
    ),
    row(
        "Tan",
        &[7, 22],
        1..=1,
        |r, c| operators::elementwise(r, c, Composed::Tan),
        "elementwise; up to 1,000",
    ),
    row(
        "Sinh",
        &[9, 22],
        1..=1,
        |r, c| operators::elementwise(r, c, Composed::Sinh),
        "elementwise",
    ),
    row(
        "Cosh",
        &[9, 22],
        1..=1,
        |r, c| operators::elementwise(r, c, Composed::Cosh),
        "elementwise",
    ),
    row(
        "Asin",
        &[7, 22],
        1..=1,
        |r, c| operators::elementwise(r, c, Composed::Asin),
        "elementwise",
    ),
    row(
        "Acos",
        &[7, 22],
        1..=1,
        |r, c| operators::elementwise(r, c, Composed::Acos),
        "elementwise",
    ),
    row(
        "Asinh",
        &[9, 22],
        1..=1,
        |r, c| operators::elementwise(r, c, Composed::Asinh),
        "elementwise",
    ),
    row(
        "Acosh",
        &[9, 22],
        1..=1,
        |r, c| operators::elementwise(r, c, Composed::Acosh),
        "elementwise",
    ),
    row(
        "Atanh",
        &[9, 22],
        1..=1,
        |r, c| operators::elementwise(r, c, Composed::Atanh),
        "elementwise",
    ),
    row(
        "Sqrt",
        &[6, 13],
        1..=1,
        |r, c| operators::elementwise(r, c, MathFunction::Sqrt),
        "elementwise; \
        correctly rounded",
    ),
    row("Reciprocal", &[6, 13], 1..=1, operators::reciprocal, "elementwise"),
    row(
        "Pow",
        &[7, 12, 13, 15],
        2..=2,
        operators::power,
        "a constant exponent up to 128 in steps of a half by multiplication and roots; else exp(y \
         log(x))",
    ),
    row(
        "Softmax",
        &[1, 11, 13],
        1..=1,
        operators::softmax,
        "along one axis; below operator set 13 from an axis on",
    ),
    row("Hardmax", &[1, 11, 13], 1..=1, operators::hardmax, "as Softmax"),
    row("LogSoftmax", &[1, 11, 13], 1..=1, operators::log_softmax, "as Softmax"),
    row(
        "Identity",
        &[1, 13, 14, 16, 19, 21, 23, 24, 25],
        1..=1,
        operators::identity,
        "the value itself",
    ),
    row(
        "Dropout",
        &[7, 10, 12, 13, 22],
        1..=3,
        operators::dropout,
        "the value itself; no \
        mask",
    )
    .giving(1..=2),
    row(
        "Cast",
        &[6, 9, 13, 19, 21, 23, 24, 25, 28],
        1..=1,
        operators::cast,
        "all floating-point types are \
        computed in f32",
    ),
    row("CastLike", &[15, 19, 21, 23, 24, 25], 2..=2, operators::cast_like, "like Cast"),
    row(
        "Constant",
        &[1, 9, 11, 12, 13, 19, 21, 23, 24, 25],
        0..=0,
        operators::constant,
        "tensors and \
        numbers",
    ),
    row(
        "ConstantOfShape",
        &[9, 20, 21, 23, 24, 25],
        1..=1,
        operators::constant_of_shape,
        "a constant \
        shape",
    ),
    row("Size", &[1, 13, 19, 21, 23, 24, 25], 1..=1, operators::size, "computed when compiling"),
    row(
        "Shape",
        &[1, 13, 15, 19, 21, 23, 24, 25],
        1..=1,
        operators::shape,
        "computed when compiling",
    ),
    row(
        "Reshape",
        &[5, 13, 14, 19, 21, 23, 24, 25],
        2..=2,
        operators::reshape,
        "a constant shape; \
        allowzero",
    ),
    row("Flatten", &[1, 9, 11, 13, 21, 23, 24, 25], 1..=1, operators::flatten, "any axis"),
    row("Squeeze", &[1, 11, 13, 21, 23, 24, 25], 1..=2, operators::squeeze, "constant axes"),
    row("Unsqueeze", &[1, 11, 13, 21, 23, 24, 25], 1..=2, operators::unsqueeze, "constant axes"),
    row("Transpose", &[1, 13, 21, 23, 24, 25], 1..=1, operators::transpose, "any order"),
    row("Concat", &[4, 11, 13], 1..=ANY, operators::concat, "along any axis"),
    row("Split", &[2, 11, 13, 18], 1..=2, operators::split, "constant lengths").giving(1..=ANY),
    row(
        "Slice",
        &[1, 10, 11, 13],
        1..=5,
        operators::slice,
        "constant bounds; or from 0 to a computed \
        stop: <name>_len counts",
    ),
    row(
        "Gather",
        &[1, 11, 13],
        2..=2,
        operators::gather,
        "any indices; run-time indices are clamped",
    ),
    row("GatherND", &[11, 12, 13], 2..=2, arrange::gather_nd, "any indices, as Gather; batch_dims"),
    row(
        "ScatterND",
        &[11, 13, 16, 18],
        3..=3,
        operators::scatter_nd,
        "any indices, up to 64 of run time; \
        every reduction",
    ),
    row(
        "ScatterElements",
        &[11, 13, 16, 18],
        3..=3,
        operators::scatter_elements,
        "any indices, up to 64 of run time; every reduction",
    ),
    row(
        "Scatter",
        &[9],
        3..=3,
        operators::scatter_elements,
        "as ScatterElements, whose older name it is",
    ),
    row("GatherElements", &[11, 13], 2..=2, operators::gather_elements, "any indices, as Gather"),
    row("Expand", &[8, 13], 2..=2, operators::expand, "a constant shape"),
    row("Tile", &[6, 13], 2..=2, operators::tile, "constant repeats"),
    row(
        "Range",
        &[11, 27],
        3..=3,
        operators::range,
        "computed when compiling, or up to a limit of run time that Clip or Min bounds: <name>_len \
         counts the numbers",
    ),
    row(
        "ReverseSequence",
        &[10, 28],
        2..=2,
        operators::reverse_sequence,
        "any lengths; run-time lengths are clamped",
    ),
    row("CumSum", &[11, 14], 2..=2, arrange::running_sum, "a constant axis"),
    row("OneHot", &[9, 11, 28], 3..=3, arrange::one_hot, "a constant depth"),
    row("Trilu", &[14], 1..=2, arrange::triangle, "a constant diagonal"),
    row("EyeLike", &[9, 22], 1..=1, arrange::eye_like, "computed when compiling"),
    row(
        "Attention",
        &[23, 24, 25],
        3..=6,
        attention::attention,
        "grouped heads; masks, causal, softcap; a cache of fixed size",
    )
    .giving(1..=3),
    row(
        "LinearAttention",
        &[27],
        3..=6,
        stateful::linear_attention,
        "all rules; grouped heads; a past state",
    )
    .giving(1..=2),
    row(
        "CausalConvWithState",
        &[27],
        2..=4,
        stateful::causal_conv,
        "constant weights; a past state",
    )
    .giving(1..=2),
    row("Einsum", &[12, 28], 1..=ANY, arrange::einsum, "any equation; products of two by two"),
    row(
        "Resize",
        &[10, 11, 13, 18, 19],
        1..=4,
        arrange::resize,
        "nearest, linear, cubic; constant scales or sizes; no antialias, no roi",
    ),
    row("Upsample", &[7, 9], 1..=2, arrange::resize, "nearest, linear; constant scales"),
    row("DepthToSpace", &[1, 11, 13, 28], 1..=1, arrange::depth_to_space, "both modes"),
    row("SpaceToDepth", &[1, 13, 28], 1..=1, arrange::space_to_depth, "both modes"),
    row("Where", &[9, 16], 3..=3, operators::select, "NumPy broadcasting"),
    row(
        "ArgMax",
        &[1, 11, 12, 13],
        1..=1,
        |r, c| operators::index_of(r, c, Extremum::Largest),
        "any axis",
    ),
    row(
        "ArgMin",
        &[1, 11, 12, 13],
        1..=1,
        |r, c| operators::index_of(r, c, Extremum::Smallest),
        "any axis",
    ),
    row("TopK", &[1, 10, 11, 24], 1..=2, operators::top_k, "a constant K of 64 or fewer")
        .giving(2..=2),
    row(
        "Equal",
        &[7, 11, 13, 19],
        2..=2,
        |r, c| operators::elementwise(r, c, Comparison::Equal),
        "NumPy broadcasting",
    ),
    row(
        "Greater",
        &[7, 9, 13],
        2..=2,
        |r, c| operators::elementwise(r, c, Comparison::Greater),
        "NumPy broadcasting",
    ),
    row(
        "GreaterOrEqual",
        &[12, 16],
        2..=2,
        |r, c| operators::elementwise(r, c, Comparison::GreaterEqual),
        "NumPy \
        broadcasting",
    ),
    row(
        "Less",
        &[7, 9, 13],
        2..=2,
        |r, c| operators::elementwise(r, c, Comparison::Less),
        "NumPy broadcasting",
    ),
    row(
        "LessOrEqual",
        &[12, 16],
        2..=2,
        |r, c| operators::elementwise(r, c, Comparison::LessEqual),
        "NumPy \
        broadcasting",
    ),
    row("And", &[7], 2..=2, |r, c| operators::elementwise(r, c, Logic::And), "NumPy broadcasting"),
    row("Or", &[7], 2..=2, |r, c| operators::elementwise(r, c, Logic::Or), "NumPy broadcasting"),
    row(
        "Xor",
        &[7],
        2..=2,
        |r, c| operators::elementwise(r, c, Comparison::NotEqual),
        "NumPy broadcasting",
    ),
    row("Not", &[1], 1..=1, |r, c| operators::elementwise(r, c, Logic::Not), "NumPy broadcasting"),
    row(
        "Conv",
        &[1, 11, 22],
        2..=3,
        windows::conv,
        "one to three dimensions; groups, dilations, strides, pads, auto_pad",
    ),
    row(
        "ConvTranspose",
        &[1, 11, 22],
        2..=3,
        windows::conv_transpose,
        "as Conv; output_padding, \
        output_shape",
    ),
    row(
        "MaxPool",
        &[1, 8, 10, 11, 12, 22],
        1..=1,
        windows::max_pool,
        "one to three dimensions; no \
        indices",
    )
    .giving(1..=2),
    row(
        "AveragePool",
        &[7, 10, 11, 19, 22],
        1..=1,
        windows::average_pool,
        "one to three \
        dimensions",
    ),
    row("LpPool", &[2, 11, 18, 22], 1..=1, windows::lp_pool, "p of 1 or 2; no ceil_mode"),
    row("GlobalMaxPool", &[1, 22], 1..=1, windows::global_max_pool, "one to three dimensions"),
    row(
        "GlobalAveragePool",
        &[1, 22],
        1..=1,
        windows::global_average_pool,
        "one to three \
        dimensions",
    ),
    row(
        "Pad",
        &[2, 11, 13, 18, 19, 21, 23, 24, 25],
        1..=4,
        windows::pad,
        "constant, reflect, edge, wrap; constant pads",
    ),
    row(
        "DFT",
        &[17, 20],
        1..=3,
        signal::dft,
        "a constant length, as a product of matrices; both \
        directions, onesided",
    ),
    row(
        "STFT",
        &[17],
        2..=4,
        signal::stft,
        "constant lengths, as a product of matrices; any window",
    ),
    row(
        "HannWindow",
        &[17],
        1..=1,
        |r, c| signal::window(r, c, [0.5, -0.5, 0.0]),
        "computed when \
        compiling",
    ),
    row(
        "HammingWindow",
        &[17],
        1..=1,
        |r, c| signal::window(r, c, [25.0 / 46.0, -21.0 / 46.0, 0.0]),
        "computed when compiling",
    ),
    row(
        "BlackmanWindow",
        &[17],
        1..=1,
        |r, c| signal::window(r, c, [0.42, -0.5, 0.08]),
        "computed when \
        compiling",
    ),
    row("MelWeightMatrix", &[17], 5..=5, signal::mel_weights, "computed when compiling"),
    row(
        "QuantizeLinear",
        &[10, 13, 19, 21, 23, 24, 25, 28],
        2..=3,
        quantized::quantize,
        "by tensor or by \
        axis; no blocks",
    ),
    row(
        "DequantizeLinear",
        &[10, 13, 19, 21, 23, 24, 25, 28],
        2..=3,
        quantized::dequantize,
        "by tensor or \
        by axis; no blocks",
    ),
    row(
        "DynamicQuantizeLinear",
        &[11],
        1..=1,
        quantized::dynamic_quantize,
        "as it is \
        defined",
    )
    .giving(3..=3),
    row("MatMulInteger", &[10], 2..=4, quantized::matmul_integer, "sums beyond 2^24 are rounded"),
    row(
        "QLinearMatMul",
        &[10, 21],
        8..=8,
        quantized::qlinear_matmul,
        "sums beyond 2^24 are rounded",
    ),
    row(
        "ConvInteger",
        &[10],
        2..=4,
        quantized::conv_integer,
        "as Conv; sums beyond 2^24 are rounded",
    ),
    row(
        "QLinearConv",
        &[10],
        8..=9,
        quantized::qlinear_conv,
        "as Conv; sums beyond 2^24 are rounded",
    ),
    microsoft(
        "DynamicQuantizeLSTM",
        3..=12,
        quantized_lstm::dynamic_lstm,
        "all directions; no \
        sequence_lens",
    )
    .giving(0..=3),
    microsoft(
        "DynamicQuantizeMatMul",
        3..=5,
        quantized::dynamic_matmul,
        "sums beyond 2^24 are rounded",
    ),
    microsoft(
        "MatMulIntegerToFloat",
        4..=7,
        quantized::matmul_integer_to_float,
        "sums beyond 2^24 are \
        rounded",
    ),
    microsoft("QuantizeLinear", 2..=3, quantized::quantize, "as QuantizeLinear"),
    microsoft("DequantizeLinear", 2..=3, quantized::dequantize, "as DequantizeLinear"),
    microsoft(
        "QLinearAdd",
        7..=8,
        |r, c| qlinear::of_two(r, c, Binary::Add),
        "one scale of each \
        tensor",
    ),
    microsoft(
        "QLinearMul",
        7..=8,
        |r, c| qlinear::of_two(r, c, Binary::Multiply),
        "one scale of each \
        tensor",
    ),
    microsoft("QLinearSigmoid", 4..=5, qlinear::sigmoid, "one scale of each tensor"),
    microsoft("QLinearLeakyRelu", 4..=5, qlinear::leaky_relu, "one scale of each tensor"),
    microsoft("QLinearSoftmax", 5..=5, qlinear::softmax, "one scale of each tensor"),
    microsoft("QLinearConcat", 5..=ANY, qlinear::concat, "one scale of each tensor"),
    microsoft("QLinearAveragePool", 4..=5, qlinear::average_pool, "channels first"),
    microsoft("QLinearGlobalAveragePool", 5..=5, qlinear::global_average_pool, "channels first"),
    microsoft(
        "QGemm",
        6..=9,
        qlinear::gemm,
        "sums beyond 2^24 are rounded; scales of B along its \
        columns",
    ),
    microsoft(
        "LinearAttention",
        3..=6,
        stateful::linear_attention_of_runtime,
        "as LinearAttention; state_window=0",
    )
    .giving(1..=2),
    microsoft(
        "CausalConvWithState",
        2..=4,
        stateful::causal_conv_of_runtime,
        "as CausalConvWithState; ndim=1",
    )
    .giving(1..=2),
    microsoft("FusedConv", 2..=4, fused::conv, "as Conv; its activations; Z"),
    microsoft("FusedGemm", 2..=3, fused::gemm, "as Gemm; its activations"),
    microsoft("FusedMatMul", 2..=2, fused::matmul, "alpha, all transpositions"),
    microsoft("TransposeMatMul", 2..=2, fused::matmul, "as FusedMatMul, whose older name it is"),
    microsoft("Gelu", 1..=1, |r, c| fused::gelu(r, c, Composed::Gelu), "elementwise; exact"),
    microsoft("BiasGelu", 2..=2, |r, c| fused::gelu(r, c, Composed::Gelu), "elementwise; exact"),
    microsoft(
        "FastGelu",
        1..=2,
        |r, c| fused::gelu(r, c, Composed::GeluTanh),
        "elementwise; by tanh; a \
        bias",
    ),
    microsoft("QuickGelu", 1..=1, fused::quick_gelu, "elementwise; any alpha"),
    microsoft(
        "SkipLayerNormalization",
        3..=5,
        |r, c| fused::skip_norm(r, c, false),
        "the outputs \
        0 and 3",
    )
    .giving(1..=4),
    microsoft(
        "SkipSimplifiedLayerNormalization",
        3..=4,
        |r, c| fused::skip_norm(r, c, true),
        "the \
        outputs 0 and 3",
    )
    .giving(1..=4),
    row(
        "SimplifiedLayerNormalization",
        &[1],
        2..=2,
        |r, c| operators::layer_norm(r, c, true),
        "ONNX \
        Runtime's: as RMSNormalization",
    )
    .giving(1..=2),
    ml("Scaler", 1..=1, features::scaler, "one number, or one for each feature"),
    ml(
        "Normalizer",
        1..=1,
        features::normalizer,
        "MAX (of elements, not magnitudes), L1, L2; one \
        or two dimensions",
    ),
    ml("ArrayFeatureExtractor", 2..=2, features::extract, "any places"),
    ml("Binarizer", 1..=1, features::binarizer, "elementwise"),
    ml("Imputer", 1..=1, features::imputer, "one number, or one for each feature"),
    row(
        "If",
        &[1, 11, 13, 16, 19, 21, 23, 24, 25],
        1..=1,
        bodies::choice,
        "a step computes the chosen branch, or both if small",
    )
    .giving(1..=ANY),
    row(
        "Loop",
        &[1, 11, 13, 16, 19, 21, 23, 24, 25],
        0..=ANY,
        bodies::iterate,
        "a constant trip count below 2^24, or --max-steps; after an earlier end NAME_len and \
         NAME_truncated report the count",
    )
    .lacking(2)
    .giving(1..=ANY),
    row(
        "SequenceEmpty",
        &[11],
        0..=0,
        sequences::empty,
        "sequences are known while the file is \
        read",
    ),
    row(
        "SequenceConstruct",
        &[11],
        1..=ANY,
        sequences::construct,
        "sequences are known while the \
        file is read",
    ),
    row(
        "SequenceInsert",
        &[11],
        2..=3,
        sequences::insert,
        "at the end or a constant place; in a \
        Loop, too",
    ),
    row("SequenceErase", &[11], 1..=2, sequences::erase, "at a constant place"),
    row("SequenceAt", &[11], 2..=2, sequences::at, "a constant place, or elements of one shape"),
    row("SequenceLength", &[11], 1..=1, sequences::length, "computed when compiling"),
    row("ConcatFromSequence", &[11], 1..=1, sequences::concat, "along any axis, also a new one"),
    row(
        "SplitToSequence",
        &[11, 24],
        1..=2,
        sequences::split,
        "constant lengths or none; parts of \
        length 1 lose their axis with keepdims=0",
    ),
    row(
        "Scan",
        &[9, 11, 16, 19, 21, 23, 24, 25],
        1..=ANY,
        bodies::scan,
        "both directions, any \
        axis",
    )
    .giving(1..=ANY),
];
