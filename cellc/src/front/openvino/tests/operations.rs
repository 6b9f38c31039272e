//! Every supported type of layer, with the attributes of the type.

use super::*;
use crate::front::read_model::ReadModel;
use crate::model::{
    Activation, Binary, Blocks, BroadcastMode, Cell, Comparison, Composed, Convolution, Coupled,
    Dft, Dim, Direction, Elementwise, GatherNd, Groups, Heads, LinearAttention, Logic,
    LstmGateOrder, MathFunction, Nearest, NoAxes, Normalization, OneHot, OutputSizes, PadMode,
    Padding, Pool, PoolKind, Primitive, Reduce, Reduction, Remainder, Resize, ResizeBy,
    ReverseSequence, Rounding, RunningSum, Sampling, Scaling, SliceMasks, Softmax, TopKAttributes,
    Unary, UpdateRule, WeightLayout, Window,
};

const CONST: (&str, &str) = ("Const", "opset1");

/// A model of one layer. The inputs are Parameters of f32 `[2, 3]`, and all outputs are Results.
fn alone(kind: (&str, &str), data: &str, inputs: usize, outputs: usize) -> String {
    let mut graph = Graph::default();
    let inputs: Vec<(usize, usize)> =
        (0..inputs).map(|_| (graph.parameter("2,3", "f32"), 0)).collect();
    let layer = graph.layer(kind, data, &inputs, outputs, "");
    for port in inputs.len()..inputs.len() + outputs {
        graph.result(layer, port);
    }
    graph.text()
}

/// The operation of the layer after the Parameters, and the element types of the outputs. Panics on
/// a warning.
fn operation(
    kind: (&str, &str),
    data: &str,
    inputs: usize,
    outputs: usize,
) -> (Op, Vec<ElementType>) {
    let ReadModel { model, problems: said } = lowered(&alone(kind, data, inputs, outputs));
    assert_eq!(said, Diagnostics::default(), "{kind:?} {data}: {said}");
    let node = &model.nodes[inputs];
    assert_eq!(node.inputs, (0..inputs).map(ValueId).collect::<Vec<_>>(), "{kind:?}");
    assert_eq!(node.kind, format!("{}, id {inputs}", kind.0));
    assert_eq!(
        (model.parameters.len(), model.results.len(), node.outputs.len()),
        (inputs, outputs, outputs)
    );
    let elements = node.outputs.iter().map(|value| model.values[value.0].element).collect();
    (node.op.clone(), elements)
}

/// Type of a layer, operation set, attributes, numbers of inputs and outputs, and the operation.
type Case = (&'static str, &'static str, &'static str, (usize, usize), Op);

fn cases() -> Vec<Case> {
    let cell = |kind| Cell::new(kind, 3);
    let with_bias = |kind| Op::Cell(Cell { bias_required: true, ..cell(kind) });
    let gru = CellKind::Gru(ResetGate::BeforeMatMul);
    let after = CellKind::Gru(ResetGate::AfterMatMul);
    let augru = CellKind::Augru(ResetGate::BeforeMatMul);
    let hidden = "hidden_size=\"3\"";
    let lstm = |gate_order, input_forget: bool, peepholes| {
        let layout = WeightLayout::new(CellKind::Lstm, gate_order);
        let coupled = input_forget.then_some(Coupled::Input);
        Op::Cell(Cell { layout, coupled, peepholes, ..cell(CellKind::Lstm) })
    };
    let mut cases = vec![
        ("RNNCell", "opset1", hidden, (5, 1), with_bias(CellKind::Rnn)),
        ("RNNCell", "opset3", hidden, (5, 1), with_bias(CellKind::Rnn)),
        ("GRUCell", "opset3", hidden, (5, 1), Op::Cell(cell(gru))),
        ("LSTMCell", "opset4", hidden, (6, 2), with_bias(CellKind::Lstm)),
        ("LSTMCell", "opset1", hidden, (5, 2), lstm(LstmGateOrder::Fico, false, false)),
        (
            "LSTMCell",
            "opset1",
            "hidden_size=\"3\" weights_format=\"iofc\" input_forget=\"true\"",
            (6, 2),
            lstm(LstmGateOrder::Iofc, true, false),
        ),
        (
            "LSTMCell",
            "opset3",
            "hidden_size=\"3\" weights_format=\"ICOF\" input_forget=\"0\"",
            (7, 2),
            lstm(LstmGateOrder::Icof, false, true),
        ),
        ("AUGRUCell", "ie_internal_opset", hidden, (6, 1), Op::Cell(cell(augru))),
        (
            "AUGRUCell",
            "ie_internal_opset",
            "hidden_size=\"3\" linear_before_reset=\"false\" activations=\"Sigmoid,tanh\" \
             clip=\"0\"",
            (6, 1),
            Op::Cell(Cell { clip: Some(0.0), ..cell(augru) }),
        ),
        (
            "RNNSequence",
            "opset5",
            hidden,
            (6, 2),
            Op::Sequence(cell(CellKind::Rnn), Direction::Forward),
        ),
        (
            "GRUSequence",
            "opset5",
            "hidden_size=\"3\" direction=\"bidirectional\" linear_before_reset=\"1\"",
            (6, 2),
            Op::Sequence(cell(after), Direction::Bidirectional),
        ),
        (
            "RNNSequence",
            "opset5",
            // models converted from ONNX list the activations of each direction
            "hidden_size=\"3\" direction=\"bidirectional\" activations=\"elu, Elu\" \
             activations_alpha=\"0.5,0.5\"",
            (6, 2),
            Op::Sequence(
                Cell { activations: vec![Activation::Elu { alpha: 0.5 }], ..cell(CellKind::Rnn) },
                Direction::Bidirectional,
            ),
        ),
        (
            "LSTMSequence",
            "opset5",
            "hidden_size=\"3\" direction=\"REVERSE\" clip=\"0.5\"",
            (7, 3),
            Op::Sequence(Cell { clip: Some(0.5), ..cell(CellKind::Lstm) }, Direction::Reverse),
        ),
        (
            "AUGRUSequence",
            "ie_internal_opset",
            "hidden_size=\"3\" direction=\"forward\"",
            (7, 2),
            Op::Sequence(cell(augru), Direction::Forward),
        ),
        ("MatMul", "opset1", "", (2, 1), Op::MatMul { transpose_a: false, transpose_b: false }),
        (
            "MatMul",
            "opset1",
            "transpose_a=\"true\" transpose_b=\"0\"",
            (2, 1),
            Op::MatMul { transpose_a: true, transpose_b: false },
        ),
        (
            "Divide",
            "opset1",
            "m_pythondiv=\"false\"",
            (2, 1),
            Op::elementwise(Composed::TruncatedQuotient),
        ),
        ("Divide", "opset1", "auto_broadcast=\"none\"", (2, 1), Op::elementwise(Binary::Divide)),
        (
            "Clamp",
            "opset1",
            "min=\"-inf\" max=\"2.5\"",
            (1, 1),
            Op::elementwise(Unary::Clamp { min: f32::NEG_INFINITY, max: 2.5 }),
        ),
        (
            "Elu",
            "opset1",
            "alpha=\"0.25\"",
            (1, 1),
            Op::elementwise(Activation::Elu { alpha: 0.25 }),
        ),
        ("SoftPlus", "opset4", "", (1, 1), Op::elementwise(Activation::Softplus)),
        ("SoftSign", "opset9", "", (1, 1), Op::elementwise(Activation::Softsign)),
        ("SoftMax", "opset1", "axis=\"1\"", (1, 1), Op::Softmax(Softmax { axis: 1, log: false })),
        ("Softmax", "opset8", "axis=\"-2\"", (1, 1), Op::Softmax(Softmax { axis: -2, log: false })),
        (
            "LogSoftmax",
            "opset5",
            "axis=\"-1\"",
            (1, 1),
            Op::Softmax(Softmax { axis: -1, log: true }),
        ),
        ("SoftMax", "opset1", "", (1, 1), Op::Softmax(Softmax { axis: 1, log: false })),
        ("SoftMax", "opset8", "", (1, 1), Op::Softmax(Softmax { axis: 1, log: false })),
        ("LogSoftmax", "opset5", "", (1, 1), Op::Softmax(Softmax { axis: 1, log: true })),
        ("ConvertLike", "opset1", "", (2, 1), Op::Convert),
        (
            "ReduceMean",
            "opset1",
            "keep_dims=\"true\"",
            (2, 1),
            Op::Reduce(Reduce { reduction: Reduction::Mean, keep: true, no_axes: NoAxes::Same }),
        ),
        (
            "MVN",
            "opset1",
            "eps=\"0.5\" across_channels=\"true\"",
            (1, 1),
            Op::Normalize(Normalization::Variance {
                first: 1,
                eps: 0.5,
                eps_in_root: true,
                normalize_variance: true,
            }),
        ),
        (
            "MVN",
            "opset6",
            "eps=\"0.5\" normalize_variance=\"false\" eps_mode=\"outside_sqrt\"",
            (2, 1),
            Op::Normalize(Normalization::Variance {
                first: 0,
                eps: 0.5,
                eps_in_root: false,
                normalize_variance: false,
            }),
        ),
        (
            "NormalizeL2",
            "opset1",
            "eps=\"0.5\" eps_mode=\"max\"",
            (2, 1),
            Op::Normalize(Normalization::Length { eps: 0.5, adds: false }),
        ),
        (
            "BatchNormInference",
            "opset5",
            "epsilon=\"0.5\"",
            (5, 1),
            Op::Normalize(Normalization::Batch { eps: 0.5 }),
        ),
        (
            "GroupNormalization",
            "opset12",
            "num_groups=\"3\" epsilon=\"0.5\"",
            (3, 1),
            Op::Normalize(Normalization::Group { groups: Some(3), eps: 0.5 }),
        ),
        ("Swish", "opset4", "", (1, 1), Op::elementwise(Composed::Swish { scaled: false })),
        ("Swish", "opset4", "", (2, 1), Op::elementwise(Composed::Swish { scaled: true })),
        (
            "Gelu",
            "opset7",
            "approximation_mode=\"TANH\"",
            (1, 1),
            Op::elementwise(Composed::GeluTanh),
        ),
        ("Gelu", "opset7", "approximation_mode=\"ERF\"", (1, 1), Op::elementwise(Composed::Gelu)),
        ("Gelu", "opset2", "", (1, 1), Op::elementwise(Composed::Gelu)),
        ("HSwish", "opset4", "", (1, 1), Op::elementwise(Composed::HardSwish)),
        ("Mish", "opset4", "", (1, 1), Op::elementwise(Composed::Mish)),
        (
            "HSigmoid",
            "opset5",
            "",
            (1, 1),
            Op::elementwise(Activation::HardSigmoid { alpha: 1.0 / 6.0, beta: 0.5 }),
        ),
        ("Concat", "opset1", "axis=\"-1\"", (3, 1), Op::Concat { axis: -1 }),
        ("Split", "opset1", "num_splits=\"3\"", (2, 3), Op::Split { parts: 3 }),
        ("VariadicSplit", "opset1", "", (3, 4), Op::VariadicSplit),
        ("Reshape", "opset1", "special_zero=\"true\"", (2, 1), Op::Reshape { zero_keeps: true }),
        ("Squeeze", "opset1", "", (1, 1), Op::Squeeze { skip: true }),
        ("Squeeze", "opset15", "allow_axis_skip=\"false\"", (2, 1), Op::Squeeze { skip: false }),
        ("Squeeze", "opset15", "allow_axis_skip=\"true\"", (2, 1), Op::Squeeze { skip: true }),
        ("Unsqueeze", "opset1", "", (2, 1), Op::Unsqueeze),
        ("Transpose", "opset1", "", (2, 1), Op::Transpose),
        ("Gather", "opset1", "", (3, 1), Op::Gather { batch_dims: 0 }),
        ("Gather", "opset7", "batch_dims=\"1\"", (3, 1), Op::Gather { batch_dims: 1 }),
        ("Gather", "opset8", "batch_dims=\"-1\"", (3, 1), Op::Gather { batch_dims: -1 }),
        (
            "CumSum",
            "opset3",
            "exclusive=\"true\"",
            (2, 1),
            Op::RunningSum(RunningSum { exclusive: true, reverse: false }),
        ),
        (
            "OneHot",
            "opset1",
            "axis=\"-1\"",
            (4, 1),
            Op::OneHot(OneHot { axis: -1, from_end: false }),
        ),
        (
            "Einsum",
            "opset7",
            "equation=\"ij,jk->ik\"",
            (2, 1),
            Op::Einsum { equation: "ij,jk->ik".to_owned() },
        ),
        (
            "Interpolate",
            "opset11",
            "mode=\"nearest\" shape_calculation_mode=\"scales\" nearest_mode=\"floor\" \
             pads_begin=\"0\" antialias=\"false\" cube_coeff=\"-0.75\"",
            (3, 1),
            Op::Resize(Resize {
                by: ResizeBy::Factors,
                scaling: Scaling::HalfPixel,
                sampling: Sampling::Nearest(Nearest::Floor),
            }),
        ),
        (
            "GatedDeltaNet",
            "ie_internal_opset",
            "fuse_qk_l2norm=\"false\" q_l2_norm_eps=\"1e-6\" k_l2_norm_eps=\"1e-6\"",
            (6, 2),
            Op::LinearAttention(LinearAttention {
                rule: UpdateRule::GatedDelta,
                heads: Heads::Axis,
                scale: None,
                has_past: true,
            }),
        ),
        ("GatherElements", "opset6", "axis=\"-1\"", (2, 1), Op::GatherElements { axis: -1 }),
        (
            "GatherND",
            "opset5",
            "batch_dims=\"1\"",
            (2, 1),
            Op::GatherNd(GatherNd { batch_dims: 1, flattens_batch: true }),
        ),
        (
            "GatherND",
            "opset8",
            "",
            (2, 1),
            Op::GatherNd(GatherNd { batch_dims: 0, flattens_batch: false }),
        ),
        (
            "DFT",
            "opset7",
            "",
            (2, 1),
            Op::Dft(Dft { inverse: false, one_sided: false, parts_of_real: false }),
        ),
        (
            "IRDFT",
            "opset9",
            "",
            (3, 1),
            Op::Dft(Dft { inverse: true, one_sided: true, parts_of_real: false }),
        ),
        (
            "IDFT",
            "opset7",
            "",
            (2, 1),
            Op::Dft(Dft { inverse: true, one_sided: false, parts_of_real: false }),
        ),
        (
            "RDFT",
            "opset9",
            "",
            (2, 1),
            Op::Dft(Dft { inverse: false, one_sided: true, parts_of_real: false }),
        ),
        (
            "ScaledDotProductAttention",
            "opset13",
            "causal=\"true\"",
            (3, 1),
            Op::Attention { causal: true },
        ),
        ("Identity", "opset16", "", (1, 1), Op::Convert),
        (
            "TopK",
            "opset3",
            "axis=\"1\" mode=\"max\" sort=\"index\" index_element_type=\"i32\"",
            (2, 2),
            Op::TopK(TopKAttributes { axis: 1, largest: true, last: false, sorted_by_index: true }),
        ),
        (
            "TopK",
            "opset11",
            "axis=\"-1\" mode=\"min\" sort=\"value\" stable=\"true\" index_element_type=\"i64\"",
            (2, 2),
            Op::TopK(TopKAttributes {
                axis: -1,
                largest: false,
                last: false,
                sorted_by_index: false,
            }),
        ),
        ("Round", "opset5", "mode=\"half_to_even\"", (1, 1), Op::elementwise(MathFunction::Round)),
        ("Slice", "opset8", "", (5, 1), Op::Slice),
        (
            "StridedSlice",
            "opset1",
            "begin_mask=\"0, 1\" end_mask=\"\" new_axis_mask=\"1\" ellipsis_mask=\"0,0,1\"",
            (4, 1),
            Op::StridedSlice(SliceMasks {
                begin: vec![false, true],
                new_axis: vec![true],
                ellipsis: vec![false, false, true],
                ..SliceMasks::default()
            }),
        ),
        ("Broadcast", "opset3", "", (2, 1), Op::Broadcast(BroadcastMode::Numpy)),
        (
            "Broadcast",
            "opset3",
            "mode=\"bidirectional\"",
            (2, 1),
            Op::Broadcast(BroadcastMode::Bidirectional),
        ),
        (
            "Broadcast",
            "opset3",
            "mode=\"explicit\"",
            (3, 1),
            Op::Broadcast(BroadcastMode::Explicit),
        ),
        ("Broadcast", "opset1", "mode=\"none\"", (3, 1), Op::Broadcast(BroadcastMode::Explicit)),
        (
            "ReverseSequence",
            "opset1",
            "batch_axis=\"1\" seq_axis=\"-2\"",
            (2, 1),
            Op::ReverseSequence(ReverseSequence { batch_axis: 1, seq_axis: -2 }),
        ),
        ("ScatterUpdate", "opset3", "", (4, 1), Op::ScatterUpdate),
        ("ScatterNDUpdate", "opset3", "", (3, 1), Op::ScatterNd { combine: None }),
        (
            "ScatterNDUpdate",
            "opset15",
            "reduction=\"sum\"",
            (3, 1),
            Op::ScatterNd { combine: Some(Binary::Add) },
        ),
        (
            "ScatterElementsUpdate",
            "opset12",
            "reduction=\"prod\" use_init_val=\"true\"",
            (4, 1),
            Op::ScatterElements { combine: Some(Binary::Multiply) },
        ),
        (
            "DepthToSpace",
            "opset1",
            "mode=\"depth_first\" block_size=\"2\"",
            (1, 1),
            Op::Blocks(Blocks { size: 2, to_space: true, channel_first: true }),
        ),
        (
            "SpaceToDepth",
            "opset1",
            "mode=\"blocks_first\" block_size=\"3\"",
            (1, 1),
            Op::Blocks(Blocks { size: 3, to_space: false, channel_first: false }),
        ),
        ("Tile", "opset1", "", (2, 1), Op::Tile),
        ("Asinh", "opset4", "", (1, 1), Op::elementwise(Composed::Asinh)),
        ("Acosh", "opset4", "", (1, 1), Op::elementwise(Composed::Acosh)),
        ("Atanh", "opset4", "", (1, 1), Op::elementwise(Composed::Atanh)),
        (
            "GRN",
            "opset1",
            "bias=\"0.5\"",
            (1, 1),
            Op::Normalize(Normalization::Length { eps: 0.5, adds: true }),
        ),
        ("Roll", "opset7", "", (3, 1), Op::Roll),
        ("Eye", "opset9", "output_type=\"f32\"", (3, 1), Op::Eye),
        ("Range", "opset1", "", (3, 1), Op::Range { run_time: true }),
        (
            "ReadValue",
            "opset3",
            "variable_id=\"a\"",
            (1, 1),
            Op::ReadValue { variable: "a".to_owned(), shape: None, element: None },
        ),
        (
            "ReadValue",
            "opset6",
            "variable_id=\" *\" variable_type=\"f32\" variable_shape=\"2,3\"",
            (0, 1),
            Op::ReadValue {
                variable: " *".to_owned(),
                shape: Some(vec![Dim::Fixed(2), Dim::Fixed(3)]),
                element: Some(ElementType::F32),
            },
        ),
        (
            "ReadValue",
            "opset6",
            "variable_id=\"\" variable_type=\"dynamic\" variable_shape=\"...\"",
            (1, 1),
            Op::ReadValue { variable: String::new(), shape: None, element: None },
        ),
        ("Assign", "opset6", "variable_id=\"a\"", (1, 1), Op::Assign { variable: "a".to_owned() }),
    ];
    cases.extend(windows());
    let plain = [
        ("ReLU", Op::elementwise(Activation::Relu), 1),
        ("Sigmoid", Op::elementwise(Activation::Sigmoid), 1),
        ("Tanh", Op::elementwise(Activation::Tanh), 1),
        ("HardSigmoid", Op::elementwise(Composed::HardSigmoid), 3),
        ("PReLU", Op::elementwise(Primitive::PRelu), 2),
        ("Exp", Op::elementwise(MathFunction::Exp), 1),
        ("Log", Op::elementwise(MathFunction::Log), 1),
        ("Negative", Op::elementwise(Unary::Negative), 1),
        ("Abs", Op::elementwise(Unary::Abs), 1),
        ("Floor", Op::elementwise(MathFunction::Floor), 1),
        ("Ceiling", Op::elementwise(Unary::Ceiling), 1),
        ("Sign", Op::elementwise(Unary::Sign), 1),
        ("Sqrt", Op::elementwise(MathFunction::Sqrt), 1),
        ("Erf", Op::elementwise(MathFunction::Erf), 1),
        ("Sin", Op::elementwise(MathFunction::Sin), 1),
        ("Cos", Op::elementwise(MathFunction::Cos), 1),
        ("Atan", Op::elementwise(MathFunction::Atan), 1),
        ("Tan", Op::elementwise(Composed::Tan), 1),
        ("Sinh", Op::elementwise(Composed::Sinh), 1),
        ("Cosh", Op::elementwise(Composed::Cosh), 1),
        ("Asin", Op::elementwise(Composed::Asin), 1),
        ("Acos", Op::elementwise(Composed::Acos), 1),
        ("SquaredDifference", Op::elementwise(Composed::SquaredDifference), 2),
        ("Selu", Op::elementwise(Composed::Selu), 3),
    ];
    cases.extend(plain.map(|(name, op, inputs)| (name, "opset1", "", (inputs, 1), op)));
    let reductions = [
        ("ReduceSum", "opset1", Reduction::Sum),
        ("ReduceMax", "opset1", Reduction::Max),
        ("ReduceMin", "opset1", Reduction::Min),
        ("ReduceProd", "opset1", Reduction::Product),
        ("ReduceL1", "opset4", Reduction::L1),
        ("ReduceL2", "opset4", Reduction::L2),
        ("ReduceLogicalAnd", "opset1", Reduction::All),
        ("ReduceLogicalOr", "opset1", Reduction::Any),
    ];
    cases.extend(reductions.map(|(name, set, reduction)| {
        (
            name,
            set,
            "",
            (2, 1),
            Op::Reduce(Reduce { reduction, keep: false, no_axes: NoAxes::Same }),
        )
    }));
    let broadcasting = [
        ("Power", Op::elementwise(Elementwise::Power)),
        ("Add", Op::elementwise(Binary::Add)),
        ("Subtract", Op::elementwise(Binary::Subtract)),
        ("Multiply", Op::elementwise(Binary::Multiply)),
        ("Divide", Op::elementwise(Binary::Divide)),
        ("Maximum", Op::elementwise(Binary::Maximum)),
        ("Minimum", Op::elementwise(Binary::Minimum)),
        ("Mod", Op::elementwise(Remainder::OfDividend)),
        ("FloorMod", Op::elementwise(Remainder::OfDivisor)),
    ];
    let attribute = "auto_broadcast=\"numpy\"";
    cases.extend(broadcasting.map(|(name, op)| (name, "opset1", attribute, (2, 1), op)));
    cases
}

/// Convolutions, pools and pads.
fn windows() -> Vec<Case> {
    let explicit =
        |begin: &[i64], end: &[i64]| Padding::Explicit { begin: begin.to_vec(), end: end.to_vec() };
    let window = |strides: &[usize], dilations: &[usize], padding| Window {
        strides: strides.to_vec(),
        dilations: dilations.to_vec(),
        padding,
    };
    let convolution = |groups, transposed, window, output_padding: &[usize], output_sizes| {
        let output_padding = output_padding.to_vec();
        Op::Convolution(Box::new(Convolution {
            kernel: Vec::new(),
            window,
            groups,
            transposed,
            output_padding,
            output_sizes,
        }))
    };
    let pool = |kind, kernel: &[usize], window, rounding| {
        Op::Pool(Box::new(Pool { kind, kernel: kernel.to_vec(), window, rounding }))
    };
    let follow = OutputSizes::Follow;
    let average = |count_pads| PoolKind::Average { count_pads };
    let moves = "strides=\"2,1\" dilations=\"1, 3\" pads_begin=\"0,1\" pads_end=\"-1,2\"";
    let moved = window(&[2, 1], &[1, 3], explicit(&[0, 1], &[-1, 2]));
    let same = "strides=\"2\" dilations=\"1\" auto_pad=\"same_upper\"";
    let (same_upper, valid) =
        (window(&[2], &[1], Padding::SameUpper), window(&[2], &[1], Padding::Valid));
    vec![
        (
            "Convolution",
            "opset1",
            moves,
            (2, 1),
            convolution(Groups::Count(1), false, moved.clone(), &[], follow.clone()),
        ),
        (
            "GroupConvolution",
            "opset1",
            same,
            (2, 1),
            convolution(Groups::InWeights, false, same_upper.clone(), &[], follow.clone()),
        ),
        // without the shape of the output, auto_pad gives no pads
        (
            "ConvolutionBackpropData",
            "opset1",
            same,
            (2, 1),
            convolution(Groups::Count(1), true, valid, &[], follow),
        ),
        (
            "GroupConvolutionBackpropData",
            "opset1",
            "strides=\"2\" dilations=\"1\" auto_pad=\"same_upper\" output_padding=\"1\"",
            (3, 1),
            convolution(Groups::InWeights, true, same_upper, &[1], OutputSizes::Input),
        ),
        (
            "MaxPool",
            "opset1",
            "kernel=\"3\" strides=\"2\" rounding_type=\"ceil\" auto_pad=\"same_lower\"",
            (1, 1),
            pool(PoolKind::Max, &[3], window(&[2], &[], Padding::SameLower), Rounding::Ceil),
        ),
        (
            "AvgPool",
            "opset14",
            "kernel=\"3\" strides=\"2\" pads_begin=\"1\" pads_end=\"0\" \
             rounding_type=\"ceil_torch\" exclude-pad=\"true\"",
            (1, 1),
            pool(
                average(false),
                &[3],
                window(&[2], &[], explicit(&[1], &[0])),
                Rounding::CeilInside,
            ),
        ),
        (
            "AvgPool",
            "opset1",
            "kernel=\"3,3\" strides=\"1,1\" auto_pad=\"valid\"",
            (1, 1),
            pool(average(true), &[3, 3], window(&[1, 1], &[], Padding::Valid), Rounding::Floor),
        ),
        ("Pad", "opset1", "pad_mode=\"reflect\"", (3, 1), Op::Pad(PadMode::Reflect)),
        ("Pad", "opset12", "pad_mode=\"constant\"", (4, 1), Op::Pad(PadMode::Constant)),
    ]
}

/// The second output of MaxPool, the indices, has the element type of the attribute.
#[test]
fn a_maximum_pool_has_indices() {
    let data = "kernel=\"1\" strides=\"1\" dilations=\"1\" index_element_type=\"i32\" axis=\"0\"";
    let mut graph = Graph::default();
    let x = graph.parameter("1,1,4", "f32");
    let pool = graph.layer(("MaxPool", "opset8"), data, &[(x, 0)], 2, "");
    graph.result(pool, 1);
    let ReadModel { model, problems: said } = lowered(&graph.text());
    assert_eq!(said, Diagnostics::default());
    let elements: Vec<_> =
        model.nodes[pool].outputs.iter().map(|value| model.values[value.0].element).collect();
    assert_eq!(elements, [ElementType::F32, ElementType::I32]);
}

/// A notice names pads that have no effect.
#[test]
fn pads_beside_automatic_ones_are_noticed() {
    let said = |pads: &str| {
        let data = format!("kernel=\"1\" strides=\"1\" auto_pad=\"same_upper\" {pads}");
        let mut graph = Graph::default();
        let x = graph.parameter("1,1,4", "f32");
        let pool = graph.layer(("MaxPool", "opset1"), &data, &[(x, 0)], 1, "");
        graph.result(pool, 1);
        lowered(&graph.text()).problems.to_string()
    };
    let words = "notice: pads [0] and [1] have no effect beside auto_pad";
    let given = said("pads_begin=\"0\" pads_end=\"1\"");
    assert!(given.contains(words), "{given}");
    assert_eq!(said("pads_begin=\"0\" pads_end=\"0\""), "");
}

/// Layers with an output whose element type is not the first input's.
fn typed_cases() -> Vec<(Case, ElementType)> {
    let boolean = [
        ("Equal", Op::elementwise(Comparison::Equal), 2),
        ("NotEqual", Op::elementwise(Comparison::NotEqual), 2),
        ("Greater", Op::elementwise(Comparison::Greater), 2),
        ("GreaterEqual", Op::elementwise(Comparison::GreaterEqual), 2),
        ("Less", Op::elementwise(Comparison::Less), 2),
        ("LessEqual", Op::elementwise(Comparison::LessEqual), 2),
        ("LogicalAnd", Op::elementwise(Logic::And), 2),
        ("LogicalOr", Op::elementwise(Logic::Or), 2),
        ("LogicalNot", Op::elementwise(Logic::Not), 1),
    ];
    let mut cases: Vec<(Case, ElementType)> = boolean
        .into_iter()
        .map(|(name, op, inputs)| ((name, "opset1", "", (inputs, 1), op), ElementType::Bool))
        .collect();
    cases.extend([
        (("ShapeOf", "opset1", "", (1, 1), Op::ShapeOf), ElementType::I64),
        (("ShapeOf", "opset3", "", (1, 1), Op::ShapeOf), ElementType::I64),
        (("ShapeOf", "opset3", "output_type=\"i32\"", (1, 1), Op::ShapeOf), ElementType::I32),
        (
            ("Range", "opset4", "output_type=\"i32\"", (3, 1), Op::Range { run_time: true }),
            ElementType::I32,
        ),
        (("Convert", "opset1", "destination_type=\"i32\"", (1, 1), Op::Convert), ElementType::I32),
        (
            ("Convert", "opset1", "destination_type=\"boolean\"", (1, 1), Op::Convert),
            ElementType::Bool,
        ),
        (("Select", "opset1", "", (3, 1), Op::elementwise(Primitive::Select)), ElementType::F32),
    ]);
    cases
}

#[test]
fn every_type_of_layer_that_is_read() {
    // Parameter, Const and Result are in every model, `bodies` tests layers with bodies, and cases
    // of the corpus have FakeQuantize and LRN, which need constants
    let mut tried =
        vec!["Parameter", "Const", "Result", "TensorIterator", "Loop", "If", "FakeQuantize", "LRN"];
    let typed = cases().into_iter().map(|case| (case, ElementType::F32)).chain(typed_cases());
    for ((name, set, data, (inputs, outputs), op), element) in typed {
        if name == "ConvertLike" {
            // the operation has the first of the two inputs only
            let ReadModel { model, problems: said } =
                lowered(&alone((name, set), data, inputs, outputs));
            assert_eq!(said, Diagnostics::default());
            assert_eq!((&model.nodes[2].op, model.nodes[2].inputs.len()), (&op, 1));
        } else if name == "GRN" {
            // the axis is a second input, a constant
            let ReadModel { model, problems: said } =
                lowered(&alone((name, set), data, inputs, outputs));
            assert_eq!(said, Diagnostics::default());
            assert!(
                model.nodes.iter().any(|node| node.op == op && node.inputs.len() == 2),
                "{model:?}"
            );
        } else {
            let (found, elements) = operation((name, set), data, inputs, outputs);
            assert_eq!(found, op, "{name} {data}");
            let mut expected = vec![element; outputs];
            if name == "TopK" {
                expected[1] =
                    if data.contains("i64") { ElementType::I64 } else { ElementType::I32 };
            }
            assert_eq!(elements, expected, "{name} {data}");
        }
        tried.push(name);
    }
    for row in SUPPORTED {
        assert!(
            tried.iter().any(|name| name.eq_ignore_ascii_case(row.name)),
            "{} is not tried",
            row.name
        );
        assert!(!row.limits.is_empty() && !row.sets.is_empty(), "{}", row.name);
        assert_eq!(
            SUPPORTED.iter().filter(|other| other.name.eq_ignore_ascii_case(row.name)).count(),
            1,
            "{}",
            row.name
        );
    }
}

#[test]
fn types_and_shapes_are_those_of_the_definition() {
    // Select and ConvertLike have the element type of their second input
    let mut graph = Graph::default();
    let (condition, a, b) = (
        graph.parameter("2,3", "boolean"),
        graph.parameter("2,3", "f16"),
        graph.parameter("2,3", "i64"),
    );
    let select = graph.layer(("Select", "opset1"), "", &[(condition, 0), (a, 0), (a, 0)], 1, "");
    let like = graph.layer(("ConvertLike", "opset1"), "", &[(a, 0), (b, 0)], 1, "");
    graph.result(select, 3);
    graph.result(like, 2);
    let ReadModel { model, problems: said } = lowered(&graph.text());
    assert_eq!(said, Diagnostics::default());
    let element = |node: usize| model.values[model.nodes[node].outputs[0].0].element;
    assert_eq!((element(select), element(like)), (ElementType::F16, ElementType::I64));
    assert_eq!(model.nodes[like].inputs, model.nodes[a].outputs);

    // the attributes of ReadValue state shape and type
    let data = "variable_id=\"v\" variable_type=\"f16\" variable_shape=\"1,?\"";
    let ReadModel { model, problems: said } = lowered(&alone(("ReadValue", "opset6"), data, 0, 1));
    assert_eq!(said, Diagnostics::default());
    let value = &model.values[model.nodes[0].outputs[0].0];
    let shape = vec![Dim::Fixed(1), Dim::Dynamic { min: 0, max: None }];
    assert_eq!((value.element, &value.shape), (ElementType::F16, &Some(shape)));
}

/// Quotients of integers are rounded down, or towards zero with `m_pythondiv=false`.
#[test]
fn quotients_of_integers_are_rounded_as_the_layer_says() {
    let (floor, truncated) = (Binary::Divide.into(), Composed::TruncatedQuotient.into());
    let cases: [(&str, Elementwise); 3] =
        [("m_pythondiv=\"true\"", floor), ("", floor), ("m_pythondiv=\"false\"", truncated)];
    for (data, function) in cases {
        let mut graph = Graph::default();
        let (a, b) = (graph.parameter("2", "i64"), graph.parameter("2", "i64"));
        let quotient = graph.layer(("Divide", "opset1"), data, &[(a, 0), (b, 0)], 1, "");
        graph.result(quotient, 2);
        let ReadModel { model, problems: said } = lowered(&graph.text());
        assert_eq!(said, Diagnostics::default());
        assert_eq!(model.nodes[2].op, Op::elementwise(function), "{data}");
    }
}

#[test]
fn axes_may_be_skipped_where_the_layer_says_so() {
    let model = |set: &str, skip: &str, dims: &str| {
        let mut graph = Graph::default();
        let x = graph.parameter(dims, "f32");
        // the first bytes of the weights are zeros
        let axes = graph.layer(
            CONST,
            "element_type=\"i32\" shape=\"1\" offset=\"0\" size=\"4\"",
            &[],
            1,
            "",
        );
        let squeeze = graph.layer(("Squeeze", set), skip, &[(x, 0), (axes, 0)], 1, "");
        graph.result(squeeze, 2);
        graph.text()
    };
    let skip = "allow_axis_skip=\"true\"";
    for (set, skip) in [("opset15", skip), ("opset1", "")] {
        assert_eq!(accepted(&model(set, skip, "1,3")).results[0].shape, [3]);
        assert_eq!(accepted(&model(set, skip, "2,3")).results[0].shape, [2, 3]);
    }
    let refusal = refused(&model("opset15", "", "2,3"));
    assert!(refusal.contains("axis 0 of a tensor of shape [2, 3] squeezed"), "{refusal}");
}

#[test]
fn attributes_of_every_type_of_layer_that_are_refused_or_warned_about() {
    let hidden = |more: &str| format!("hidden_size=\"3\" {more}");
    let slice = |masks: &str| ("StridedSlice", "opset1", masks.to_owned(), (3, 1));
    let cases = [
        ("LSTMCell", "opset4", hidden("weights_format=\"fico\" input_forget=\"false\""), (6, 2)),
        ("LSTMCell", "opset1", hidden("weights_format=\"ofic\""), (6, 2)),
        ("LSTMCell", "opset1", hidden("input_forget=\"maybe\""), (6, 2)),
        ("LSTMCell", "opset4", hidden(""), (6, 1)),
        ("GRUCell", "opset3", hidden("direction=\"forward\""), (5, 1)),
        ("GRUSequence", "opset5", hidden("direction=\"backward\""), (6, 2)),
        ("GRUSequence", "opset5", hidden("axis=\"1\""), (6, 2)),
        ("RNNSequence", "opset5", hidden("linear_before_reset=\"true\""), (6, 2)),
        ("LSTMSequence", "opset1", hidden("direction=\"forward\""), (7, 3)),
        ("AUGRUCell", "extension", hidden(""), (6, 1)),
        (
            "Add",
            "opset1",
            "auto_broadcast=\"pdpd\" auto_broadcast.auto_broadcast_axis=\"0\"".to_owned(),
            (2, 1),
        ),
        ("Add", "opset0", String::new(), (2, 1)),
        ("Add", "opset99", String::new(), (2, 1)),
        ("Add", "opset1", String::new(), (2, 2)),
        ("Divide", "opset1", "m_pythondiv=\"no\"".to_owned(), (2, 1)),
        ("MatMul", "opset1", "transpose_a=\"\"".to_owned(), (2, 1)),
        ("MatMul", "opset1", "transposed=\"true\"".to_owned(), (2, 1)),
        ("Clamp", "opset1", "min=\"nan\" max=\"0,5\"".to_owned(), (1, 1)),
        ("Clamp", "opset1", String::new(), (1, 1)),
        ("FakeQuantize", "opset1", "levels=\"1\"".to_owned(), (5, 1)),
        ("FakeQuantize", "opset1", "levels=\"256\"".to_owned(), (5, 1)),
        ("FakeQuantize", "opset1", "levels=\"256\"".to_owned(), (4, 1)),
        ("Elu", "opset1", "alpha=\"inf\"".to_owned(), (1, 1)),
        ("SoftSign", "opset4", String::new(), (1, 1)),
        ("SoftMax", "opset1", "axis=\"-1\"".to_owned(), (1, 1)),
        ("SoftMax", "opset8", "axis=\"\"".to_owned(), (1, 1)),
        ("LogSoftmax", "opset4", "axis=\"1\"".to_owned(), (1, 1)),
        ("OneHot", "opset1", String::new(), (4, 1)),
        ("Einsum", "opset7", String::new(), (2, 1)),
        (
            "Interpolate",
            "opset11",
            "mode=\"linear\" shape_calculation_mode=\"sizes\"".to_owned(),
            (2, 1),
        ),
        (
            "Interpolate",
            "opset11",
            "mode=\"trilinear\" shape_calculation_mode=\"sizes\" nearest_mode=\"floor\"".to_owned(),
            (2, 1),
        ),
        (
            "Interpolate",
            "opset11",
            "mode=\"nearest\" shape_calculation_mode=\"sizes\" cube=\"1\"".to_owned(),
            (2, 1),
        ),
        (
            "Interpolate",
            "opset11",
            "mode=\"nearest\" shape_calculation_mode=\"sizes\" pads_end=\"0, 1\"".to_owned(),
            (2, 1),
        ),
        ("Round", "opset5", "mode=\"half_away_from_zero\"".to_owned(), (1, 1)),
        ("TopK", "opset3", "axis=\"1\" mode=\"middle\" sort=\"value\"".to_owned(), (2, 2)),
        ("TopK", "opset3", "axis=\"1\" sort=\"value\"".to_owned(), (2, 2)),
        ("GatherElements", "opset6", String::new(), (2, 1)),
        ("Concat", "opset1", "axis=\"one\"".to_owned(), (2, 1)),
        ("Concat", "opset1", "axis=\"9223372036854775808\"".to_owned(), (2, 1)),
        ("Split", "opset1", "num_splits=\"0\"".to_owned(), (2, 1)),
        ("Split", "opset1", "num_splits=\"3\"".to_owned(), (2, 2)),
        ("Reshape", "opset1", String::new(), (2, 1)),
        ("Squeeze", "opset1", "allow_axis_skip=\"true\"".to_owned(), (2, 1)),
        ("Gather", "opset1", "batch_dims=\"1\"".to_owned(), (3, 1)),
        ("Slice", "opset1", String::new(), (4, 1)),
        slice("begin_mask=\"0\""),
        slice("begin_mask=\"0,2\" end_mask=\"0,,1\""),
        slice("begin_mask=\"\" end_mask=\"0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0\""),
        ("Broadcast", "opset1", "mode=\"bidirectional\"".to_owned(), (2, 1)),
        ("Broadcast", "opset3", "mode=\"pdpd\" mode.mode.axis=\"0\"".to_owned(), (2, 1)),
        ("ShapeOf", "opset3", "output_type=\"f32\"".to_owned(), (1, 1)),
        ("Range", "opset4", "output_type=\"bf16\"".to_owned(), (3, 1)),
        ("Convert", "opset1", "destination_type=\"nf4\"".to_owned(), (1, 1)),
        ("ConvertLike", "opset1", String::new(), (1, 1)),
        ("ReadValue", "opset6", "variable_type=\"f32\"".to_owned(), (1, 1)),
        (
            "ReadValue",
            "opset6",
            "variable_id=\"v\" variable_type=\"i4\" variable_shape=\"2\"".to_owned(),
            (1, 1),
        ),
        ("ReadValue", "opset6", "variable_id=\"v\" variable_shape=\"2,x\"".to_owned(), (1, 1)),
        ("Assign", "opset3", String::new(), (1, 1)),
    ];
    for (part, cases) in cases.chunks(10).enumerate() {
        let cases = cases.iter().map(|(kind, set, data, (inputs, outputs))| {
            (format!("{kind} of {set}: {data}"), alone((kind, set), data, *inputs, *outputs))
        });
        let cases: Vec<(String, String)> = cases.collect();
        let said =
            said_by_the_reader(cases.iter().map(|(name, text)| (name.as_str(), text.clone())));
        insta::assert_snapshot!(format!("attributes_of_every_type_of_layer_{part}"), said);
    }
}

#[test]
fn cells_that_their_operation_does_not_have_are_refused_at_their_attributes() {
    let cases = [
        // B may be absent in LSTMCell of opset1, but not in LSTMCell of opset4
        ("LSTMCell", "opset4", "", "3", &["1,2", "1,3", "1,3", "12,2", "12,3"][..]),
        ("RNNCell", "opset1", "", "3", &["1,2", "1,3", "3,2", "3,3"]),
        (
            "AUGRUCell",
            "ie_internal_opset",
            "linear_before_reset=\"true\" clip=\"2\"",
            "3",
            &["1,2", "1,3", "9,2", "9,3", "12", "1,1"],
        ),
        (
            "AUGRUCell",
            "ie_internal_opset",
            "activations=\"tanh,tanh\"",
            "3",
            &["1,2", "1,3", "9,2", "9,3", "9", "1,1"],
        ),
    ];
    let mut out = String::new();
    for (kind, set, data, hidden, shapes) in cases {
        let mut graph = Graph::default();
        let inputs: Vec<_> =
            shapes.iter().map(|shape| (graph.parameter(shape, "f32"), 0)).collect();
        let data = format!("hidden_size=\"{hidden}\" {data}");
        let outputs = if kind == "LSTMCell" { 2 } else { 1 };
        let cell = graph.layer((kind, set), &data, &inputs, outputs, "");
        graph.result(cell, inputs.len());
        let refused = compile(&graph.text()).expect_err("it is refused");
        writeln!(out, "==== {kind} of {set}: {data}\n{refused}").unwrap();
    }
    insta::assert_snapshot!(out);
}

/// A model of one layer. The inputs are Parameters of f32 with the given shapes.
fn of_shapes(kind: (&str, &str), data: &str, shapes: &[&str]) -> String {
    let mut graph = Graph::default();
    let inputs: Vec<(usize, usize)> =
        shapes.iter().map(|shape| (graph.parameter(shape, "f32"), 0)).collect();
    let layer = graph.layer(kind, data, &inputs, 1, "");
    graph.result(layer, inputs.len());
    graph.text()
}

#[test]
fn numbers_of_groups_have_one_rule() {
    let window = "strides=\"1\" pads_begin=\"0\" pads_end=\"0\" dilations=\"1\"";
    let convolution = |groups: usize| {
        let weights = format!("{groups},1,2,1");
        of_shapes(("GroupConvolution", "opset1"), window, &["1,4,5", &weights])
    };
    let normalization = |groups: i64| {
        let data = format!("num_groups=\"{groups}\" epsilon=\"0.5\"");
        of_shapes(("GroupNormalization", "opset12"), &data, &["1,4,5", "4", "4"])
    };
    let problems = compile(&convolution(3)).expect_err("groups of a GroupConvolution");
    let found = "3 groups for 4 input channels and 3 output channels";
    assert!(problems.contains(found), "{problems}");
    for groups in [-1, 0, 3, i64::MIN, i64::MAX] {
        let problems = compile(&normalization(groups)).expect_err("num_groups");
        assert!(problems.contains(&format!("{groups} groups for 4 channels")), "{problems}");
    }
    for text in [convolution(2), normalization(2)] {
        compile(&text).unwrap_or_else(|problems| panic!("{problems}"));
    }
}

/// NaN and infinity are refused in attributes of operations and in attributes that become
/// constants. The refusal points at the attribute.
#[test]
fn real_valued_attributes_are_finite() {
    let normalized = "a normalization with an epsilon of";
    let numbers = "alpha=\"1\" beta=\"1\" bias=\"1\"";
    let group = "num_groups=\"2\" epsilon=\"1\"";
    let variance = "eps=\"1\" normalize_variance=\"true\" eps_mode=\"inside_sqrt\"";
    let four = &["1,4,5", "4", "4", "4", "4"][..];
    for (kind, data, shapes, name, found) in [
        (("Elu", "opset1"), "alpha=\"1\"", &four[..1], "alpha", "alpha of the activation elu is"),
        (
            ("LRN", "opset1"),
            &format!("{numbers} size=\"3\""),
            &four[..2],
            "alpha",
            "alpha of LRN is",
        ),
        (("LRN", "opset1"), &format!("{numbers} size=\"3\""), &four[..2], "beta", "beta of LRN is"),
        (("LRN", "opset1"), &format!("{numbers} size=\"3\""), &four[..2], "bias", "bias of LRN is"),
        (("BatchNormInference", "opset5"), "epsilon=\"1\"", four, "epsilon", normalized),
        (("GroupNormalization", "opset12"), group, &four[..3], "epsilon", normalized),
        (("MVN", "opset6"), variance, &four[..2], "eps", normalized),
        (("GRN", "opset1"), "bias=\"1\"", &four[..1], "bias", normalized),
    ] {
        for value in crate::rules::cell::NOT_FINITE {
            let data = data.replace(&format!("{name}=\"1\""), &format!("{name}=\"{value}\""));
            let text = of_shapes(kind, &data, shapes);
            let said = compile(&text).expect_err("it is refused");
            assert!(said.contains(&format!("{found} {value}")), "{kind:?} {name}: {said}");
            let at = text.find(&format!("{name}=\"{value}\"")).expect("the attribute");
            let line = text[..at].matches('\n').count() + 1;
            let column = at - text[..at].rfind('\n').map_or(0, |end| end + 1) + 1;
            assert!(said.contains(&format!(":{line}:{column}\n")), "{kind:?} {name}: {said}");
        }
    }
}

#[test]
fn ends_of_ranges_are_compared_as_they_broadcast() {
    use crate::front::openvino::operations::broadcast_pairs;
    use crate::model::Tensor;

    let tensor = |shape: &[usize]| {
        let count: usize = shape.iter().product();
        let numbers: Vec<f32> = (0..count).map(|i| i as f32).collect();
        Tensor::from_f32(shape.to_vec(), &numbers).expect("as many numbers as elements")
    };
    let pairs = broadcast_pairs(&tensor(&[2, 1]), &tensor(&[1, 3])).expect("six pairs");
    assert_eq!(pairs, [(0.0, 0.0), (0.0, 1.0), (0.0, 2.0), (1.0, 0.0), (1.0, 1.0), (1.0, 2.0)]);
    assert_eq!(broadcast_pairs(&tensor(&[]), &tensor(&[2])), Some(vec![(0.0, 0.0), (0.0, 1.0)]));
    let most = 1 << 13;
    for [a, b] in [[&[2][..], &[3]], [&[0], &[1]], [&[0], &[0]], [&[most, 1], &[1, most]]] {
        assert_eq!(broadcast_pairs(&tensor(a), &tensor(b)), None, "{a:?} {b:?}");
    }
}

/// An LRN with the same axis twice is refused.
#[test]
fn axes_of_neighbours_stand_once() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/corpus/neighbours_and_rows");
    let text = std::fs::read_to_string(folder.join("model.xml")).unwrap();
    let bin = std::fs::read(folder.join("model.bin")).unwrap();
    let at_axes = |axes: [i64; 2]| {
        let mut bin = bin.clone();
        bin[48..64].copy_from_slice(&axes.map(i64::to_le_bytes).concat());
        bin
    };
    let of = |axes| compile_bytes(text.as_bytes(), at_axes(axes), &Options::default());
    assert!(of([2, 3]).is_ok());
    let said = of([2, 2]).expect_err("an axis twice");
    assert!(said.contains("each once"), "{said}");
}

#[test]
fn an_assign_is_computed_though_no_result_asks_for_it() {
    let mut graph = Graph::default();
    let x = graph.parameter("1,3", "f32");
    let data = "variable_id=\"v\" variable_type=\"f32\" variable_shape=\"1,3\"";
    let before = graph.layer(("ReadValue", "opset6"), data, &[], 1, "");
    let sum = graph.layer(("Add", "opset1"), "", &[(x, 0), (before, 0)], 1, "");
    graph.layer(("Assign", "opset6"), "variable_id=\"v\"", &[(sum, 2)], 1, "");
    // an Assign may lack the output port that OpenVINO writes
    graph.layer(("Assign", "opset6"), "variable_id=\"w\"", &[(sum, 2)], 0, "");
    // no output depends on this layer
    graph.layer(("Bucketize", "opset1"), "", &[(sum, 2)], 1, "");
    graph.result(x, 0);
    let ReadModel { model, problems: said } = lowered(&graph.text());
    assert_eq!(said, Diagnostics::default());
    let ops: Vec<&Op> = model.nodes.iter().map(|node| &node.op).collect();
    assert!(matches!(
        ops[..],
        [
            Op::Parameter,
            Op::ReadValue { .. },
            Op::Elementwise(_),
            Op::Assign { .. },
            Op::Assign { .. },
            Op::Result
        ]
    ));
    assert_eq!(model.nodes[4].outputs.len(), 1);
}

#[test]
fn edges_start_at_any_output() {
    let mut graph = Graph::default();
    let (x, axis) = (graph.parameter("2,3", "f32"), graph.parameter("", "i64"));
    let split = graph.layer(("Split", "opset1"), "num_splits=\"3\"", &[(x, 0), (axis, 0)], 3, "");
    for port in [4, 2, 3, 4] {
        graph.result(split, port);
    }
    let ReadModel { model, problems: said } = lowered(&graph.text());
    assert_eq!(said, Diagnostics::default());
    let outputs = &model.nodes[split].outputs;
    let read: Vec<ValueId> =
        model.results.iter().map(|&node| model.nodes[node].inputs[0]).collect();
    assert_eq!(read, [outputs[2], outputs[0], outputs[1], outputs[2]]);
    graph.result(split, 5);
    graph.result(split, 1);
    insta::assert_snapshot!(lowered(&graph.text()).problems);
}
