//! Functions that read the attributes of one type of layer or of a few similar types. They return
//! `None` after an error.

use super::attributes::{Data, Presence};
use super::layers::GraphReader;
use super::operations::{ANY_INTEGER, InputRewrite, OutputTypes, Ports, ReadOperation};
use crate::model::{
    Activation, Binary, Blocks, BroadcastMode, Composed, ElementType, Elementwise, GatherNd, Heads,
    LinearAttention, MathFunction, Normalization, OneHot, Op, PadMode, ReverseSequence, RunningSum,
    SliceMasks, Softmax, TopKAttributes, Unary, UpdateRule,
};

/// An operation without attributes.
pub(super) fn plain(op: Op) -> Option<ReadOperation> {
    Some(ReadOperation::new(op))
}

/// Convert: the element type of the output.
pub(super) fn convert(reader: &mut GraphReader<'_, '_>, data: &mut Data) -> Option<ReadOperation> {
    let element = reader.element_type(data, "destination_type", &ElementType::ALL)?;
    Some(ReadOperation::new(Op::Convert).with_types(OutputTypes::Is(element)))
}

/// Divide. Quotients of integers are rounded down, or towards zero with `m_pythondiv=false`.
pub(super) fn divide(reader: &mut GraphReader<'_, '_>, data: &mut Data) -> Option<ReadOperation> {
    let broadcast = reader.auto_broadcast(data);
    let floors = reader.boolean(data, "m_pythondiv", Some(true));
    broadcast?;
    let function: Elementwise = match floors? {
        true => Binary::Divide.into(),
        false => Composed::TruncatedQuotient.into(),
    };
    Some(ReadOperation::new(Op::elementwise(function)))
}

/// Clamp: the bounds.
pub(super) fn clamp(reader: &mut GraphReader<'_, '_>, data: &mut Data) -> Option<ReadOperation> {
    let (min, max) = (reader.number(data, "min"), reader.number(data, "max"));
    Some(ReadOperation::new(Op::elementwise(Unary::Clamp { min: min?, max: max? })))
}

/// FakeQuantize: the number of levels.
pub(super) fn fake_quantize(
    reader: &mut GraphReader<'_, '_>,
    data: &mut Data,
) -> Option<ReadOperation> {
    let broadcast = reader.auto_broadcast(data);
    // f32 represents all integers up to this number
    let levels = reader.integer(data, "levels", None, 2..=1 << 24);
    broadcast?;
    Some(
        ReadOperation::new(Op::elementwise(Binary::Add))
            .rewrite_inputs(InputRewrite::Quantise(levels?)),
    )
}

/// Elu: the factor of the negative side.
pub(super) fn elu(reader: &mut GraphReader<'_, '_>, data: &mut Data) -> Option<ReadOperation> {
    let alpha = reader.number(data, "alpha")?;
    Some(ReadOperation::new(Op::elementwise(Activation::Elu { alpha })))
}

/// MatMul: the transposition of each operand.
pub(super) fn matmul(reader: &mut GraphReader<'_, '_>, data: &mut Data) -> Option<ReadOperation> {
    let [a, b] = ["transpose_a", "transpose_b"].map(|name| reader.boolean(data, name, Some(false)));
    Some(ReadOperation::new(Op::MatMul { transpose_a: a?, transpose_b: b? }))
}

/// Pad: the mode.
pub(super) fn pad(reader: &mut GraphReader<'_, '_>, data: &mut Data) -> Option<ReadOperation> {
    let modes = [
        ("constant", PadMode::Constant),
        ("edge", PadMode::Edge),
        ("reflect", PadMode::Reflect),
        ("symmetric", PadMode::Symmetric),
    ];
    // the mode has no default
    reader.required(data, "pad_mode", "constant, edge, reflect, symmetric")?;
    Some(ReadOperation::new(Op::Pad(reader.word(data, "pad_mode", "", &modes)?)))
}

/// Softmax.
pub(super) fn softmax(reader: &mut GraphReader<'_, '_>, data: &mut Data) -> Option<ReadOperation> {
    // the definitions before opset8 have no negative axes
    let range = if data.set >= 8 { ANY_INTEGER } else { 0..=i64::MAX };
    let axis = reader.integer(data, "axis", Some(1), range)?;
    Some(ReadOperation::new(Op::Softmax(Softmax { axis, log: false })))
}

/// LogSoftmax.
pub(super) fn log_softmax(
    reader: &mut GraphReader<'_, '_>,
    data: &mut Data,
) -> Option<ReadOperation> {
    let axis = reader.integer(data, "axis", Some(1), ANY_INTEGER)?;
    Some(ReadOperation::new(Op::Softmax(Softmax { axis, log: true })))
}

/// Gelu: exact, or approximated by tanh.
pub(super) fn gelu(reader: &mut GraphReader<'_, '_>, data: &mut Data) -> Option<ReadOperation> {
    let modes = [("erf", false), ("tanh", true)];
    let by_tanh = reader.word(data, "approximation_mode", "erf", &modes)?;
    Some(ReadOperation::new(Op::elementwise(if by_tanh {
        Composed::GeluTanh
    } else {
        Composed::Gelu
    })))
}

/// MVN: epsilon, its place (inside or outside of the root), whether the variance is normalised, and
/// before opset6 the first normalised axis.
pub(super) fn mvn(reader: &mut GraphReader<'_, '_>, data: &mut Data) -> Option<ReadOperation> {
    let eps = reader.number(data, "eps");
    let normalize_variance =
        reader.boolean(data, "normalize_variance", (data.set < 6).then_some(true));
    let (first, eps_in_root) = if data.set < 6 {
        let across = reader.boolean(data, "across_channels", Some(false))?;
        (if across { 1 } else { 2 }, true)
    } else {
        let modes = [("inside_sqrt", true), ("outside_sqrt", false)];
        (0, reader.word(data, "eps_mode", "inside_sqrt", &modes)?)
    };
    let (eps, normalize_variance) = (eps?, normalize_variance?);
    Some(ReadOperation::new(Op::Normalize(Normalization::Variance {
        first,
        eps,
        eps_in_root,
        normalize_variance,
    })))
}

/// NormalizeL2: epsilon, which is added to the sum of squares or is the lower bound of the sum.
pub(super) fn normalize_l2(
    reader: &mut GraphReader<'_, '_>,
    data: &mut Data,
) -> Option<ReadOperation> {
    let eps = reader.number(data, "eps");
    let adds = reader.word(data, "eps_mode", "add", &[("add", true), ("max", false)]);
    Some(ReadOperation::new(Op::Normalize(Normalization::Length { eps: eps?, adds: adds? })))
}

/// GRN: the bias, which is added to the sum of squares over the channels.
pub(super) fn grn(reader: &mut GraphReader<'_, '_>, data: &mut Data) -> Option<ReadOperation> {
    let eps = reader.number(data, "bias")?;
    Some(
        ReadOperation::new(Op::Normalize(Normalization::Length { eps, adds: true }))
            .rewrite_inputs(InputRewrite::OfChannels),
    )
}

/// LRN: the constants, and the number of neighbours.
pub(super) fn local_response(
    reader: &mut GraphReader<'_, '_>,
    data: &mut Data,
) -> Option<ReadOperation> {
    let divide = ReadOperation::new(Op::elementwise(Binary::Divide));
    let (norm, size) = reader.local_norm(data)?;
    Some(divide.rewrite_inputs(InputRewrite::LocalNorm(norm, size)))
}

/// Eye: the element type of the output.
pub(super) fn eye(reader: &mut GraphReader<'_, '_>, data: &mut Data) -> Option<ReadOperation> {
    let element = reader.element_type(data, "output_type", &ElementType::ALL)?;
    Some(ReadOperation::new(Op::Eye).with_types(OutputTypes::Is(element)))
}

/// BatchNormInference: epsilon. Before opset5 the data is the input behind scale and shift.
pub(super) fn batch_norm(
    reader: &mut GraphReader<'_, '_>,
    data: &mut Data,
) -> Option<ReadOperation> {
    let eps = reader.number(data, "epsilon")?;
    let rewrite = if data.set < 5 { InputRewrite::DataFirst } else { InputRewrite::Nothing };
    Some(ReadOperation::new(Op::Normalize(Normalization::Batch { eps })).rewrite_inputs(rewrite))
}

/// GroupNormalization: the number of groups, and epsilon.
pub(super) fn group_norm(
    reader: &mut GraphReader<'_, '_>,
    data: &mut Data,
) -> Option<ReadOperation> {
    let groups = reader.integer(data, "num_groups", None, ANY_INTEGER);
    let eps = reader.number(data, "epsilon")?;
    let groups = Some(groups?);
    Some(ReadOperation::new(Op::Normalize(Normalization::Group { groups, eps })))
}

/// Round: halves are rounded to even; another mode is refused.
pub(super) fn round(reader: &mut GraphReader<'_, '_>, data: &mut Data) -> Option<ReadOperation> {
    let modes = [("half_to_even", true), ("half_away_from_zero", false)];
    if !reader.word(data, "mode", "half_to_even", &modes)? {
        let found = "halves that are rounded away from zero";
        let help = "round to even, or compute this part outside of the model";
        return reader.inexpressible(data.index, found, "half_to_even", help);
    }
    Some(ReadOperation::new(Op::elementwise(MathFunction::Round)))
}

/// GatherElements: the axis.
pub(super) fn gather_elements(
    reader: &mut GraphReader<'_, '_>,
    data: &mut Data,
) -> Option<ReadOperation> {
    Some(ReadOperation::new(Op::GatherElements {
        axis: reader.integer(data, "axis", None, ANY_INTEGER)?,
    }))
}

/// GatherND: the number of batch dimensions. Before opset8 the output merges these into one.
pub(super) fn gather_nd(
    reader: &mut GraphReader<'_, '_>,
    data: &mut Data,
) -> Option<ReadOperation> {
    let batch_dims = reader.integer(data, "batch_dims", Some(0), ANY_INTEGER)?;
    Some(ReadOperation::new(Op::GatherNd(GatherNd { batch_dims, flattens_batch: data.set < 8 })))
}

/// ScaledDotProductAttention: true if a query attends to no later key.
pub(super) fn attention(
    reader: &mut GraphReader<'_, '_>,
    data: &mut Data,
) -> Option<ReadOperation> {
    let causal = reader.boolean(data, "causal", Some(false))?;
    Some(ReadOperation::new(Op::Attention { causal }))
}

/// GatedDeltaNet: linear attention by the gated delta rule.
pub(super) fn gated_delta_net(
    reader: &mut GraphReader<'_, '_>,
    data: &mut Data,
) -> Option<ReadOperation> {
    // the specification says fuse_qk_l2norm, files say use_qk_l2norm
    let [fused, used] =
        ["fuse_qk_l2norm", "use_qk_l2norm"].map(|name| reader.boolean(data, name, Some(false)));
    let [query, key] =
        ["q_l2_norm_eps", "k_l2_norm_eps"].map(|name| match data.peek(reader.document, name) {
            Some(_) => reader.number(data, name),
            None => Some(1e-6),
        });
    let (is_normalized, query, key) = (fused? || used?, query?, key?);
    let attention = LinearAttention {
        rule: UpdateRule::GatedDelta,
        heads: Heads::Axis,
        scale: None,
        has_past: true,
    };
    let operation = ReadOperation::new(Op::LinearAttention(attention)).ports(Ports::Exactly(2));
    Some(operation.rewrite_inputs(if is_normalized {
        InputRewrite::UnitLength([query, key])
    } else {
        InputRewrite::Nothing
    }))
}

/// TopK: the axis, the mode, the order of the output, and the element type of the indices.
pub(super) fn top_k(reader: &mut GraphReader<'_, '_>, data: &mut Data) -> Option<ReadOperation> {
    let axis = reader.integer(data, "axis", None, ANY_INTEGER);
    reader.required(data, "mode", "max, min")?;
    let largest = reader.word(data, "mode", "", &[("max", true), ("min", false)]);
    // sort=none allows any order, so the elements are sorted by value
    let orders = [("value", false), ("none", false), ("index", true)];
    let sorted_by_place = reader.word(data, "sort", "value", &orders);
    let types = [("i32", ElementType::I32), ("i64", ElementType::I64)];
    let indices = reader.word(data, "index_element_type", "i32", &types);
    // equal elements keep their order in any case
    reader.boolean(data, "stable", Some(false))?;
    let (axis, largest, sorted_by_place) = (axis?, largest?, sorted_by_place?);
    Some(
        ReadOperation::new(Op::TopK(TopKAttributes {
            axis,
            largest,
            last: false,
            sorted_by_index: sorted_by_place,
        }))
        .ports(Ports::Exactly(2))
        .rewrite_inputs(InputRewrite::Indices(indices?)),
    )
}

/// CumSum: the direction, and true if a sum excludes the element at its own place.
pub(super) fn running_sum(
    reader: &mut GraphReader<'_, '_>,
    data: &mut Data,
) -> Option<ReadOperation> {
    let [exclusive, reverse] =
        ["exclusive", "reverse"].map(|name| reader.boolean(data, name, Some(false)));
    Some(ReadOperation::new(Op::RunningSum(RunningSum {
        exclusive: exclusive?,
        reverse: reverse?,
    })))
}

/// OneHot: the axis of the inserted dimension.
pub(super) fn one_hot(reader: &mut GraphReader<'_, '_>, data: &mut Data) -> Option<ReadOperation> {
    let axis = reader.integer(data, "axis", None, ANY_INTEGER)?;
    Some(
        ReadOperation::new(Op::OneHot(OneHot { axis, from_end: false }))
            .with_types(OutputTypes::Of(2)),
    )
}

/// Einsum: the equation.
pub(super) fn einsum(reader: &mut GraphReader<'_, '_>, data: &mut Data) -> Option<ReadOperation> {
    let equation = reader.required(data, "equation", "letters for each dimension")?.text.to_owned();
    Some(ReadOperation::new(Op::Einsum { equation }))
}

/// Concat: the axis.
pub(super) fn concat(reader: &mut GraphReader<'_, '_>, data: &mut Data) -> Option<ReadOperation> {
    Some(ReadOperation::new(Op::Concat { axis: reader.integer(data, "axis", None, ANY_INTEGER)? }))
}

/// Split: the number of parts.
pub(super) fn split(reader: &mut GraphReader<'_, '_>, data: &mut Data) -> Option<ReadOperation> {
    let parts = reader.integer(data, "num_splits", None, 1..=i64::MAX)?;
    let parts = usize::try_from(parts).ok()?;
    Some(ReadOperation::new(Op::Split { parts }).ports(Ports::Exactly(parts)))
}

/// Reshape: true if a size of 0 keeps the input's size.
pub(super) fn reshape(reader: &mut GraphReader<'_, '_>, data: &mut Data) -> Option<ReadOperation> {
    Some(ReadOperation::new(Op::Reshape {
        zero_keeps: reader.boolean(data, "special_zero", None)?,
    }))
}

/// Squeeze: true if an axis with a size other than 1 is kept.
pub(super) fn squeeze(reader: &mut GraphReader<'_, '_>, data: &mut Data) -> Option<ReadOperation> {
    // before opset15, OpenVINO keeps an axis with a size other than 1, and models converted from
    // PyTorch rely on this
    let skip = data.set < 15 || reader.boolean(data, "allow_axis_skip", Some(false))?;
    Some(ReadOperation::new(Op::Squeeze { skip }))
}

/// Gather: the number of batch dimensions.
pub(super) fn gather(reader: &mut GraphReader<'_, '_>, data: &mut Data) -> Option<ReadOperation> {
    let batch_dims =
        if data.set >= 7 { reader.integer(data, "batch_dims", Some(0), ANY_INTEGER)? } else { 0 };
    Some(ReadOperation::new(Op::Gather { batch_dims }))
}

/// StridedSlice: the masks.
pub(super) fn strided_slice(
    reader: &mut GraphReader<'_, '_>,
    data: &mut Data,
) -> Option<ReadOperation> {
    let begin = reader.mask(data, "begin_mask", Presence::Required);
    let end = reader.mask(data, "end_mask", Presence::Required);
    let [new_axis, shrink_axis, ellipsis] = ["new_axis_mask", "shrink_axis_mask", "ellipsis_mask"]
        .map(|n| reader.mask(data, n, Presence::Optional));
    Some(ReadOperation::new(Op::StridedSlice(SliceMasks {
        begin: begin?,
        end: end?,
        new_axis: new_axis?,
        shrink_axis: shrink_axis?,
        ellipsis: ellipsis?,
    })))
}

/// ReverseSequence: the axes of the batch and of the steps.
pub(super) fn reverse_sequence(
    reader: &mut GraphReader<'_, '_>,
    data: &mut Data,
) -> Option<ReadOperation> {
    let batch_axis = reader.integer(data, "batch_axis", Some(0), ANY_INTEGER);
    let seq_axis = reader.integer(data, "seq_axis", Some(1), ANY_INTEGER);
    Some(ReadOperation::new(Op::ReverseSequence(ReverseSequence {
        batch_axis: batch_axis?,
        seq_axis: seq_axis?,
    })))
}

/// The operation that combines old and new elements of a scattered update. `Some(None)`: the new
/// element replaces the old one. `None` after an error.
fn combination(reader: &mut GraphReader<'_, '_>, data: &mut Data) -> Option<Option<Binary>> {
    // the definitions before opset12 have no reduction
    if data.set < 12 {
        return Some(None);
    }
    let reductions = [
        ("none", None),
        ("sum", Some(Binary::Add)),
        ("prod", Some(Binary::Multiply)),
        ("max", Some(Binary::Maximum)),
        ("min", Some(Binary::Minimum)),
    ];
    reader.word(data, "reduction", "none", &reductions)
}

/// ScatterNDUpdate: the reduction.
pub(super) fn scatter_nd(
    reader: &mut GraphReader<'_, '_>,
    data: &mut Data,
) -> Option<ReadOperation> {
    let combine = combination(reader, data)?;
    Some(ReadOperation::new(Op::ScatterNd { combine }))
}

/// ScatterElementsUpdate: the reduction. A reduction without the initial values is refused.
pub(super) fn scatter_elements(
    reader: &mut GraphReader<'_, '_>,
    data: &mut Data,
) -> Option<ReadOperation> {
    let combine = combination(reader, data)?;
    if data.set >= 12 && !reader.boolean(data, "use_init_val", Some(true))? && combine.is_some() {
        let found = "a reduction without the initial values";
        let valid = "use_init_val=true";
        return reader.inexpressible(data.index, found, valid, "scatter to a constant");
    }
    Some(ReadOperation::new(Op::ScatterElements { combine }))
}

/// DepthToSpace (`to_space`) and SpaceToDepth: the block size, and the order of the channels.
pub(super) fn blocks(
    reader: &mut GraphReader<'_, '_>,
    data: &mut Data,
    to_space: bool,
) -> Option<ReadOperation> {
    let size = reader.integer(data, "block_size", Some(1), 0..=i64::MAX)?;
    let modes = [("blocks_first", false), ("depth_first", true)];
    reader.required(data, "mode", "blocks_first, depth_first")?;
    let channel_first = reader.word(data, "mode", "", &modes)?;
    let size = usize::try_from(size).ok()?;
    Some(ReadOperation::new(Op::Blocks(Blocks { size, to_space, channel_first })))
}

/// Broadcast: the rule for shapes.
pub(super) fn broadcast(
    reader: &mut GraphReader<'_, '_>,
    data: &mut Data,
) -> Option<ReadOperation> {
    let explicit = ("explicit", BroadcastMode::Explicit);
    let numpy = ("numpy", BroadcastMode::Numpy);
    let mode = match data.set {
        // the definition before opset3 calls the explicit rule none
        ..3 => reader.word(data, "mode", "numpy", &[numpy, explicit, ("none", explicit.1)])?,
        _ => {
            let bidirectional = ("bidirectional", BroadcastMode::Bidirectional);
            reader.word(data, "mode", "numpy", &[numpy, bidirectional, explicit])?
        }
    };
    Some(ReadOperation::new(Op::Broadcast(mode)))
}

/// ShapeOf: the element type of the output.
pub(super) fn shape_of(reader: &mut GraphReader<'_, '_>, data: &mut Data) -> Option<ReadOperation> {
    let types = [("i64", ElementType::I64), ("i32", ElementType::I32)];
    let element = match data.set {
        ..3 => ElementType::I64,
        _ => reader.word(data, "output_type", "i64", &types)?,
    };
    Some(ReadOperation::new(Op::ShapeOf).with_types(OutputTypes::Is(element)))
}

/// Range: the element type of the output.
pub(super) fn range(reader: &mut GraphReader<'_, '_>, data: &mut Data) -> Option<ReadOperation> {
    let element = match data.set {
        ..4 => OutputTypes::Of(0),
        _ => OutputTypes::Is(reader.element_type(
            data,
            "output_type",
            &[ElementType::F32, ElementType::I32, ElementType::I64],
        )?),
    };
    Some(ReadOperation::new(Op::Range { run_time: true }).with_types(element))
}

/// Assign: the name of the variable.
pub(super) fn assign(reader: &mut GraphReader<'_, '_>, data: &mut Data) -> Option<ReadOperation> {
    let variable = reader.variable(data);
    Some(ReadOperation::new(Op::Assign { variable: variable? }))
}
