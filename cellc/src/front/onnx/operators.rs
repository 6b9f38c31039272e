//! Readers of operators without state and without nested graphs. The rows of `supported` name the
//! reader of each operator.

use super::graph::{Call, GraphReader, Outputs};
use super::tensors::element_type;
use crate::diagnostic::quoted;
use crate::model::limits::MOST_DIMS;
use crate::model::{
    Activation, Binary, BroadcastMode, Comparison, Composed, ElementType, Elementwise,
    MathFunction, NoAxes, Normalization, OneHot, Op, Primitive, Reduce, Reduction, Remainder,
    ReverseSequence, Softmax, Tensor, TopKAttributes, Unary, ValueId, WrongAttribute, legal_axis,
};

/// An elementwise operation on all inputs.
pub(super) fn elementwise(
    reader: &mut GraphReader<'_>,
    call: &mut Call<'_>,
    operation: impl Into<Elementwise>,
) -> Outputs {
    let inputs: Vec<ValueId> = call.inputs.iter().copied().flatten().collect();
    Some(vec![reader.elementwise(operation, &inputs)])
}

/// PRelu. ONNX broadcasts slopes `[C]` along the last axis, [`Primitive::PRelu`] along axis 1. As
/// `[1, C]`, slopes broadcast along the last axis in both.
pub(super) fn prelu(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let (x, mut slope) = (call.x(), call.input(1)?);
    let is_one = reader.known(slope).is_some_and(|tensor| tensor.len() == 1);
    if reader.rank(slope) == Some(1) && reader.rank(x) != Some(1) && !is_one {
        let axes = reader.integers(&[0]);
        slope = reader.op(Op::Unsqueeze, vec![slope, axes]);
    }
    Some(vec![reader.elementwise(Primitive::PRelu, &[x, slope])])
}

/// An activation with the attributes alpha and beta.
pub(super) fn with_parameters(
    reader: &mut GraphReader<'_>,
    call: &mut Call<'_>,
    name: &str,
) -> Outputs {
    let alpha = call.attributes.float("alpha");
    let beta = match Activation::takes(name) {
        Some(2) => call.attributes.float("beta"),
        _ => None,
    };
    match Activation::new(name, alpha, beta) {
        Ok(Activation::ThresholdedRelu { alpha }) => {
            elementwise(reader, call, Composed::ThresholdedRelu { alpha })
        }
        Ok(activation) => elementwise(reader, call, activation),
        Err(error) => {
            reader.error(error.to_string(), "numbers", "correct the attribute");
            None
        }
    }
}

/// Shrink: `x + bias` below `-lambd`, `x - bias` above `lambd`, else 0. NaN becomes 0.
pub(super) fn shrink(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let bias = call.attributes.finite("bias").unwrap_or(0.0);
    let limit = call.attributes.finite("lambd").unwrap_or(0.5);
    let x = call.x();
    let [bias, zero, least, most] = [bias, 0.0, -limit, limit].map(|number| reader.number(number));
    let below = reader.elementwise(Comparison::Less, &[x, least]);
    let above = reader.elementwise(Comparison::Greater, &[x, most]);
    let raised = reader.elementwise(Binary::Add, &[x, bias]);
    let lowered = reader.elementwise(Binary::Subtract, &[x, bias]);
    let element = reader.element(x);
    let rest =
        reader.op_of(Op::elementwise(Primitive::Select), vec![above, lowered, zero], element);
    Some(vec![reader.op_of(Op::elementwise(Primitive::Select), vec![below, raised, rest], element)])
}

/// Division. Quotients of integers are rounded towards zero.
pub(super) fn divide(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let (a, b) = (call.input(0)?, call.input(1)?);
    let function: Elementwise = match reader.element(a).is_float() {
        true => Binary::Divide.into(),
        false => Composed::TruncatedQuotient.into(),
    };
    Some(vec![reader.elementwise(function, &[a, b])])
}

pub(super) fn modulo(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let function = if call.attributes.flag("fmod", false) {
        Remainder::OfDividend
    } else {
        Remainder::OfDivisor
    };
    elementwise(reader, call, function)
}

/// Folds all inputs with a binary function, from the first to the last.
pub(super) fn variadic(
    reader: &mut GraphReader<'_>,
    call: &mut Call<'_>,
    function: Binary,
) -> Outputs {
    let mut inputs = call.inputs.clone().into_iter().flatten();
    let mut value = inputs.next()?;
    for next in inputs {
        value = reader.op(Op::elementwise(function), vec![value, next]);
    }
    Some(vec![value])
}

pub(super) fn mean(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let count = call.inputs.len();
    let sum = variadic(reader, call, Binary::Add)?[0];
    let count = reader.number_like(sum, count as f32);
    Some(vec![reader.elementwise(Binary::Divide, &[sum, count])])
}

pub(super) fn clip(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let x = call.x();
    let (mut least, mut most) = (call.input(1), call.input(2));
    if call.version < 11 {
        least = call.attributes.float("min").map(|min| reader.number_like(x, min));
        most = call.attributes.float("max").map(|max| reader.number_like(x, max));
    }
    Some(vec![clipped(reader, x, [least, most])?])
}

/// A value clamped to bounds, which may be computed. If the lower bound is above the upper one, the
/// result is the upper one. `None` after an error: constant bounds must be numbers.
pub(super) fn clipped(
    reader: &mut GraphReader<'_>,
    mut x: ValueId,
    [least, most]: [Option<ValueId>; 2],
) -> Option<ValueId> {
    let mut number = |bound: Option<ValueId>, open: f32| {
        let constant = bound.and_then(|bound| reader.known(bound));
        constant.filter(|tensor| tensor.len() == 1).map_or(open, |tensor| tensor.get_f32(0))
    };
    let (min, max) = (number(least, f32::NEG_INFINITY), number(most, f32::INFINITY));
    let lower = if max < min { max } else { min };
    if let Some(wrong) = WrongAttribute::wrong_bounds("Clip", [lower, max]) {
        reader.report(wrong.problem);
        return None;
    }
    if let Some(least) = least {
        x = reader.elementwise(Binary::Maximum, &[least, x]);
    }
    if let Some(most) = most {
        x = reader.elementwise(Binary::Minimum, &[most, x]);
    }
    Some(x)
}

pub(super) fn select(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let inputs: Vec<ValueId> = call.inputs.iter().copied().flatten().collect();
    let element = reader.element(inputs[1]);
    Some(vec![reader.op_of(Op::elementwise(Primitive::Select), inputs, element)])
}

pub(super) fn matmul(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let op = Op::MatMul { transpose_a: false, transpose_b: false };
    Some(vec![reader.op(op, vec![call.x(), call.input(1)?])])
}

/// A value multiplied by a constant.
pub(super) fn scaled(reader: &mut GraphReader<'_>, value: ValueId, by: f32) -> ValueId {
    if by == 1.0 {
        return value;
    }
    let by = reader.number_like(value, by);
    reader.elementwise(Binary::Multiply, &[value, by])
}

pub(super) fn gemm(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let alpha = call.attributes.finite("alpha").unwrap_or(1.0);
    let beta = call.attributes.finite("beta").unwrap_or(1.0);
    let [transpose_a, transpose_b] =
        ["transA", "transB"].map(|name| call.attributes.flag(name, false));
    let product =
        reader.op(Op::MatMul { transpose_a, transpose_b }, vec![call.x(), call.input(1)?]);
    let mut y = scaled(reader, product, alpha);
    // with beta 0, C is ignored, even NaN in C
    if let Some(c) = call.input(2).filter(|_| beta != 0.0) {
        let c = scaled(reader, c, beta);
        y = reader.elementwise(Binary::Add, &[y, c]);
    }
    Some(vec![y])
}

/// Softmax.
pub(super) fn softmax(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    along_axis(reader, call, |reader, x, axis| {
        Some(reader.op(Op::Softmax(Softmax { axis, log: false }), vec![x]))
    })
}

/// LogSoftmax.
pub(super) fn log_softmax(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    along_axis(reader, call, |reader, x, axis| {
        Some(reader.op(Op::Softmax(Softmax { axis, log: true }), vec![x]))
    })
}

/// Hardmax: 1 at the first of the largest elements along an axis, 0 elsewhere.
pub(super) fn hardmax(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    along_axis(reader, call, |reader, x, axis| {
        let (one, element) = (reader.integer(1), reader.element(x));
        let best =
            Op::TopK(TopKAttributes { axis, largest: true, last: false, sorted_by_index: false });
        let best_index = *reader
            .ops_of(best, vec![x, one], vec![element, ElementType::I64], Vec::new())
            .get(1)?;
        let axes = reader.integers(&[axis]);
        let best_index =
            reader.op_of(Op::Squeeze { skip: false }, vec![best_index, axes], ElementType::I64);
        let sizes = reader.op_of(Op::ShapeOf, vec![x], ElementType::I64);
        let (at, zero) = (reader.integer(axis), reader.integer(0));
        let size = reader.op(Op::Gather { batch_dims: 0 }, vec![sizes, at, zero]);
        let [on, off] = [1.0, 0.0].map(|number| reader.number_like(x, number));
        Some(reader.op_of(
            Op::OneHot(OneHot { axis, from_end: false }),
            vec![best_index, size, on, off],
            element,
        ))
    })
}

/// Applies `emit` along the attribute's axis. Before operator set 13, `emit` is applied along all
/// dimensions from the axis on, merged into one.
fn along_axis(
    reader: &mut GraphReader<'_>,
    call: &mut Call<'_>,
    emit: impl Fn(&mut GraphReader<'_>, ValueId, i64) -> Option<ValueId>,
) -> Outputs {
    let x = call.x();
    if call.version >= 13 {
        let axis = call.attributes.int("axis").unwrap_or(-1);
        return Some(vec![emit(reader, x, axis)?]);
    }
    let axis = call.attributes.int("axis").unwrap_or(1);
    if axis == -1 {
        return Some(vec![emit(reader, x, axis)?]);
    }
    let rows = flattened_from(reader, x, axis, 0)?;
    let y = emit(reader, rows, -1)?;
    let shape = reader.op_of(Op::ShapeOf, vec![x], ElementType::I64);
    Some(vec![reader.op(Op::Reshape { zero_keeps: false }, vec![y, shape])])
}

/// Merges the dimensions from an axis on; for a negative axis also merges the dimensions before it.
/// `ends`: 1 if the axis may equal the rank. `None` after an error.
fn flattened_from(
    reader: &mut GraphReader<'_>,
    x: ValueId,
    axis: i64,
    ends: usize,
) -> Option<ValueId> {
    let (shape, zero_keeps) = match within_rank(reader, axis, x, ends)? {
        axis @ 0.. => {
            let mut shape = vec![0; axis as usize];
            shape.push(-1);
            (reader.integers(&shape), true)
        }
        axis => {
            let sizes = reader.op_of(Op::ShapeOf, vec![x], ElementType::I64);
            let (places, zero) =
                (reader.integers(&(axis..0).collect::<Vec<_>>()), reader.integer(0));
            let tail = reader.op(Op::Gather { batch_dims: 0 }, vec![sizes, places, zero]);
            let product = Op::Reduce(Reduce {
                reduction: Reduction::Product,
                keep: true,
                no_axes: NoAxes::All,
            });
            let (first, rest) = (reader.integers(&[0]), reader.integers(&[-1]));
            let columns = reader.op(product, vec![tail, first]);
            (reader.op(Op::Concat { axis: 0 }, vec![rest, columns]), false)
        }
    };
    Some(reader.op(Op::Reshape { zero_keeps }, vec![x, shape]))
}

pub(super) fn flatten(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let x = call.x();
    let axis = call.attributes.int("axis").unwrap_or(1);
    let tail = flattened_from(reader, x, axis, 1)?;
    if axis == 1 || axis < 0 {
        return Some(vec![tail]);
    }
    // keeps the last size and merges all dimensions before it
    let sizes = reader.op_of(Op::ShapeOf, vec![tail], ElementType::I64);
    let (last, zero) = (reader.integers(&[-1]), reader.integer(0));
    let last = reader.op(Op::Gather { batch_dims: 0 }, vec![sizes, last, zero]);
    let rest = reader.integers(&[-1]);
    let shape = reader.op(Op::Concat { axis: 0 }, vec![rest, last]);
    Some(vec![reader.op(Op::Reshape { zero_keeps: false }, vec![tail, shape])])
}

pub(super) fn identity(_: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    Some(vec![call.x()])
}

pub(super) fn dropout(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    ["ratio", "seed"].iter().for_each(|name| call.attributes.ignore(name));
    if let Some(training) = call.input(2) {
        let known = reader.known(training).filter(|tensor| tensor.len() == 1);
        if known.is_none_or(|tensor| tensor.get_f64(0) != 0.0) {
            let help = "export the model in evaluation mode";
            return reader.inexpressible(
                "Dropout that may be training",
                "training_mode is false",
                help,
            );
        }
    }
    Some(vec![call.x()])
}

pub(super) fn cast(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    call.attributes.ignore("saturate");
    call.attributes.ignore("round_mode");
    let to = call.attributes.int("to").unwrap_or(0);
    match element_type(i32::try_from(to).unwrap_or(0)) {
        Ok(element) => Some(vec![reader.op_of(Op::Convert, vec![call.x()], element)]),
        Err(problem) => {
            reader.report(problem.of(&format!("to={to}")));
            None
        }
    }
}

pub(super) fn cast_like(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    call.attributes.ignore("saturate");
    call.attributes.ignore("round_mode");
    let element = reader.element(call.input(1)?);
    Some(vec![reader.op_of(Op::Convert, vec![call.x()], element)])
}

pub(super) fn constant(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let attributes = &mut *call.attributes;
    let shape_of = |len: usize| vec![len];
    let tensor = if attributes.has("value") {
        let tensor = attributes.tensor("value")?;
        reader.tensor(&tensor)?
    } else if attributes.has("sparse_value") {
        let sparse = attributes.sparse("sparse_value")?;
        reader.sparse(&sparse)?
    } else if let Some(value) = attributes.float("value_float") {
        Tensor::from_f32(Vec::new(), &[value])?
    } else if let Some(value) = attributes.int("value_int") {
        Tensor::from_i64(Vec::new(), &[value])?
    } else if let Some(values) = attributes.floats("value_floats") {
        Tensor::from_f32(shape_of(values.len()), &values)?
    } else if let Some(values) = attributes.ints("value_ints") {
        Tensor::from_i64(shape_of(values.len()), &values)?
    } else {
        let found = format!("a constant given by {}", attributes.rest().join(", "));
        reader.error(
            found,
            "value, sparse_value, value_float, value_floats, value_int, value_ints",
            "export the model again",
        );
        return None;
    };
    Some(vec![reader.constant(&tensor)])
}

pub(super) fn constant_of_shape(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let value = match call.attributes.tensor("value") {
        Some(tensor) => {
            let tensor = reader.tensor(&tensor)?;
            if tensor.len() != 1 {
                let found = format!("a value of {} elements", tensor.len());
                reader.error(found, "one element", "export the model again");
                return None;
            }
            tensor.part(0, Vec::new())?
        }
        None => Tensor::from_f32(Vec::new(), &[0.0])?,
    };
    let value = reader.constant(&value);
    Some(vec![reader.op(Op::Broadcast(BroadcastMode::Numpy), vec![value, call.x()])])
}

pub(super) fn shape(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let shape = reader.op_of(Op::ShapeOf, vec![call.x()], ElementType::I64);
    let (start, end) = (call.attributes.int("start"), call.attributes.int("end"));
    if start.is_none() && end.is_none() {
        return Some(vec![shape]);
    }
    let inputs =
        [start.unwrap_or(0), end.unwrap_or(i64::MAX), 1, 0].map(|bound| reader.integers(&[bound]));
    Some(vec![reader.op(Op::Slice, [&[shape][..], &inputs].concat())])
}

pub(super) fn size(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let shape = reader.op_of(Op::ShapeOf, vec![call.x()], ElementType::I64);
    let product =
        Op::Reduce(Reduce { reduction: Reduction::Product, keep: false, no_axes: NoAxes::All });
    Some(vec![reader.op(product, vec![shape])])
}

pub(super) fn reshape(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let zero_keeps = !call.attributes.flag("allowzero", false);
    Some(vec![reader.op(Op::Reshape { zero_keeps }, vec![call.x(), call.input(1)?])])
}

/// Axes of an operator: an attribute before operator set `input_from`, an input since. `None` if no
/// axes are given.
pub(super) fn axes(
    reader: &mut GraphReader<'_>,
    call: &mut Call<'_>,
    input_from: i64,
) -> Option<ValueId> {
    if call.version >= input_from {
        return call.input(1);
    }
    call.attributes.ints("axes").map(|axes| reader.integers(&axes))
}

pub(super) fn squeeze(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let axes = axes(reader, call, 13);
    Some(vec![
        reader.op(
            Op::Squeeze { skip: false },
            [Some(call.x()), axes].into_iter().flatten().collect(),
        ),
    ])
}

pub(super) fn unsqueeze(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let Some(axes) = axes(reader, call, 13) else {
        return reader.missing("axes", "the axes to put in");
    };
    Some(vec![reader.op(Op::Unsqueeze, vec![call.x(), axes])])
}

pub(super) fn transpose(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let order = call.attributes.ints("perm").unwrap_or_default();
    let order = reader.integers(&order);
    Some(vec![reader.op(Op::Transpose, vec![call.x(), order])])
}

pub(super) fn concat(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let Some(axis) = call.attributes.int("axis") else {
        return reader.missing("axis", "the attribute axis");
    };
    let inputs = call.inputs.iter().copied().flatten().collect();
    Some(vec![reader.op(Op::Concat { axis }, inputs)])
}

pub(super) fn split(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let x = call.x();
    let axis = call.attributes.int("axis").unwrap_or(0);
    let axis = within_rank(reader, axis, x, 0)?;
    let axis = reader.integer(axis);
    let lengths = if call.version < 13 {
        call.attributes.ints("split").map(|lengths| reader.integers(&lengths))
    } else {
        call.input(1)
    };
    let parts = match call.attributes.int("num_outputs") {
        Some(parts) => usize::try_from(parts).unwrap_or(0),
        None => call.written,
    };
    if parts != call.written || call.written == 0 {
        let found = format!("num_outputs={parts}, and {} outputs", call.written);
        reader.error(found, "one number", "export the model again");
        return None;
    }
    let elements = vec![reader.element(x); call.written];
    let lengths =
        lengths.or_else(|| call.version.ge(&18).then(|| even_lengths(reader, x, axis, parts)));
    Some(match lengths {
        Some(lengths) => {
            reader.ops_of(Op::VariadicSplit, vec![x, axis, lengths], elements, Vec::new())
        }
        None => reader.ops_of(Op::Split { parts }, vec![x, axis], elements, Vec::new()),
    })
}

/// Lengths of `parts` parts along an axis. All are equal except the last, which may be shorter.
fn even_lengths(reader: &mut GraphReader<'_>, x: ValueId, axis: ValueId, parts: usize) -> ValueId {
    let shape = reader.op_of(Op::ShapeOf, vec![x], ElementType::I64);
    let (first, zero) = (reader.integers(&[0]), reader.integer(0));
    let axis = reader.elementwise(Binary::Add, &[first, axis]);
    let size = reader.op(Op::Gather { batch_dims: 0 }, vec![shape, axis, zero]);
    let (more, count) = (reader.integers(&[parts as i64 - 1]), reader.integers(&[parts as i64]));
    let rounded = reader.elementwise(Binary::Add, &[size, more]);
    let length = reader.elementwise(Binary::Divide, &[rounded, count]);
    let rest = reader.integers(&[-1]);
    let mut lengths = vec![length; parts - 1];
    lengths.push(rest);
    reader.op(Op::Concat { axis: 0 }, lengths)
}

pub(super) fn slice(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let x = call.x();
    let (starts, ends, axes, steps) = if call.version < 10 {
        let [starts, ends, axes] =
            ["starts", "ends", "axes"].map(|name| call.attributes.ints(name));
        let (Some(starts), Some(ends)) = (starts, ends) else {
            return reader.missing("starts or no ends", "both");
        };
        let (starts, ends) = (reader.integers(&starts), reader.integers(&ends));
        (starts, ends, axes.map(|axes| reader.integers(&axes)), None)
    } else {
        let (Some(starts), Some(ends)) = (call.input(1), call.input(2)) else {
            return reader.missing("starts or no ends", "both");
        };
        (starts, ends, call.input(3), call.input(4))
    };
    let steps = match steps {
        Some(steps) => steps,
        // a step of 1 for each start
        None => {
            let (one, count) =
                (reader.integer(1), reader.op_of(Op::ShapeOf, vec![starts], ElementType::I64));
            reader.op(Op::Broadcast(BroadcastMode::Numpy), vec![one, count])
        }
    };
    let inputs =
        [Some(x), Some(starts), Some(ends), Some(steps), axes].into_iter().flatten().collect();
    Some(vec![reader.op(Op::Slice, inputs)])
}

pub(super) fn gather(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let axis = call.attributes.int("axis").unwrap_or(0);
    let axis = reader.integer(axis);
    Some(vec![reader.op(Op::Gather { batch_dims: 0 }, vec![call.x(), call.input(1)?, axis])])
}

/// The reduction of scattered elements with the elements of the data; `Some(None)` if scattered
/// elements replace the data. `None` after an error.
fn combined(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Option<Option<Binary>> {
    match call.attributes.text("reduction").as_deref() {
        None | Some("none") => Some(None),
        Some("add") => Some(Some(Binary::Add)),
        Some("mul") => Some(Some(Binary::Multiply)),
        Some("max") => Some(Some(Binary::Maximum)),
        Some("min") => Some(Some(Binary::Minimum)),
        Some(other) => {
            let found = format!("reduction={}", quoted(other));
            reader.error(
                found,
                "none, add, mul, max, min",
                "replace the operator by arithmetic on whole tensors",
            );
            None
        }
    }
}

pub(super) fn scatter_nd(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let combine = combined(reader, call)?;
    Some(vec![reader.op(Op::ScatterNd { combine }, vec![call.x(), call.input(1)?, call.input(2)?])])
}

pub(super) fn scatter_elements(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let combine = combined(reader, call)?;
    let axis = call.attributes.int("axis").unwrap_or(0);
    let axis = reader.integer(axis);
    Some(vec![
        reader.op(
            Op::ScatterElements { combine },
            vec![call.x(), call.input(1)?, call.input(2)?, axis],
        ),
    ])
}

pub(super) fn gather_elements(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let axis = call.attributes.int("axis").unwrap_or(0);
    Some(vec![reader.op(Op::GatherElements { axis }, vec![call.x(), call.input(1)?])])
}

pub(super) fn expand(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    Some(vec![
        reader.op(Op::Broadcast(BroadcastMode::Bidirectional), vec![call.x(), call.input(1)?]),
    ])
}

pub(super) fn tile(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    Some(vec![reader.op(Op::Tile, vec![call.x(), call.input(1)?])])
}

pub(super) fn range(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    call.attributes.ignore("stash_type");
    Some(vec![
        reader.op(Op::Range { run_time: true }, vec![call.x(), call.input(1)?, call.input(2)?]),
    ])
}

pub(super) fn reverse_sequence(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let batch_axis = call.attributes.int("batch_axis").unwrap_or(1);
    let seq_axis = call.attributes.int("time_axis").unwrap_or(0);
    Some(vec![reader.op(
        Op::ReverseSequence(ReverseSequence { batch_axis, seq_axis }),
        vec![call.x(), call.input(1)?],
    )])
}

pub(super) fn reduce(
    reader: &mut GraphReader<'_>,
    call: &mut Call<'_>,
    reduction: Reduction,
) -> Outputs {
    let keep = call.attributes.flag("keepdims", true);
    let no_axes = if call.attributes.flag("noop_with_empty_axes", false) {
        NoAxes::Each
    } else {
        NoAxes::All
    };
    let from = if reduction == Reduction::Sum { 13 } else { 18 };
    let mut axes = axes(reader, call, from);
    if axes.is_none() && no_axes == NoAxes::Each {
        axes = Some(reader.integers(&[]));
    }
    let inputs = [Some(call.x()), axes].into_iter().flatten().collect();
    Some(vec![reader.op(Op::Reduce(Reduce { reduction, keep, no_axes }), inputs)])
}

pub(super) fn power(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let (x, mut exponent) = (call.x(), call.input(1)?);
    if reader.element(x).is_float() && !reader.element(exponent).is_float() {
        let element = reader.element(x);
        exponent = reader.op_of(Op::Convert, vec![exponent], element);
    }
    Some(vec![reader.elementwise(Elementwise::Power, &[x, exponent])])
}

pub(super) fn reciprocal(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let x = call.x();
    let one = reader.number_like(x, 1.0);
    Some(vec![reader.elementwise(Binary::Divide, &[one, x])])
}

/// A normalization with the normalized input as its only output.
fn normalized(
    reader: &mut GraphReader<'_>,
    call: &mut Call<'_>,
    normalization: Normalization,
) -> Outputs {
    let inputs = call.inputs.iter().copied().flatten().collect();
    if call.outputs() > 1 {
        let found = format!("{} outputs", call.outputs());
        return reader.inexpressible(
            found,
            "the normalized tensor alone",
            "export the model in evaluation mode",
        );
    }
    Some(vec![reader.op(Op::Normalize(normalization), inputs)])
}

pub(super) fn batch_norm(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    call.attributes.ignore("momentum");
    let eps = call.attributes.float("epsilon").unwrap_or(1e-5);
    if call.attributes.flag("training_mode", false) || !call.attributes.flag("spatial", true) {
        let help = "export the model in evaluation mode";
        return reader.inexpressible(
            "BatchNormalization in training mode, or not spatial",
            "evaluation mode",
            help,
        );
    }
    // before operator set 14, further outputs mean training mode, read or not
    if call.version < 14 && call.written > 1 {
        let found =
            format!("{} outputs, which mean training mode below operator set 14", call.written);
        return reader.inexpressible(
            found,
            "the normalized tensor alone",
            "export the model in evaluation mode",
        );
    }
    normalized(reader, call, Normalization::Batch { eps })
}

/// Checks an axis against the rank of `x`, or against `MOST_DIMS` if the reader does not know the
/// rank. The reader checks only axes with which it computes; the translation checks all others.
/// `ends`: 1 if the axis may equal the rank. `None` after an error.
pub(super) fn within_rank(
    reader: &mut GraphReader<'_>,
    axis: i64,
    x: ValueId,
    ends: usize,
) -> Option<i64> {
    match legal_axis(axis, reader.rank(x).unwrap_or(MOST_DIMS), ends) {
        Ok(_) => Some(axis),
        Err(problem) => {
            reader.report(problem);
            None
        }
    }
}

/// The rank of a tensor, an integer of shape `[]`.
pub(super) fn rank_of(reader: &mut GraphReader<'_>, x: ValueId) -> ValueId {
    let sizes = reader.op_of(Op::ShapeOf, vec![x], ElementType::I64);
    let count = reader.op_of(Op::ShapeOf, vec![sizes], ElementType::I64);
    let none = reader.integers(&[]);
    reader.op(Op::Reshape { zero_keeps: false }, vec![count, none])
}

pub(super) fn layer_norm(
    reader: &mut GraphReader<'_>,
    call: &mut Call<'_>,
    root_mean_square: bool,
) -> Outputs {
    call.attributes.ignore("stash_type");
    let axis = call.attributes.int("axis").unwrap_or(-1);
    let eps = call.attributes.float("epsilon").unwrap_or(1e-5);
    let normalization = Normalization::Layer { axis, eps, root_mean_square };
    if call.outputs() < 2 || root_mean_square {
        return normalized(reader, call, normalization);
    }
    // outputs 1 and 2: the mean, and the reciprocal of the standard deviation
    let x = call.x();
    let axis = within_rank(reader, axis, x, 0)?;
    let inputs = call.inputs.iter().copied().flatten().collect();
    let y = reader.op(Op::Normalize(normalization), inputs);
    let (first, step) = (reader.integer(axis), reader.integer(1));
    let end = if axis < 0 { reader.integer(0) } else { rank_of(reader, x) };
    let axes = reader.op(Op::Range { run_time: false }, vec![first, end, step]);
    let mean_of = |x| {
        (
            Op::Reduce(Reduce { reduction: Reduction::Mean, keep: true, no_axes: NoAxes::All }),
            vec![x, axes],
        )
    };
    let (mean, inputs) = mean_of(x);
    let mean = reader.op(mean, inputs);
    let difference = reader.elementwise(Binary::Subtract, &[x, mean]);
    let square = reader.elementwise(Binary::Multiply, &[difference, difference]);
    let (variance, inputs) = mean_of(square);
    let variance = reader.op(variance, inputs);
    let [eps, one] = [eps, 1.0].map(|number| reader.number_like(x, number));
    let sum = reader.elementwise(Binary::Add, &[variance, eps]);
    let deviation = reader.elementwise(MathFunction::Sqrt, &[sum]);
    Some(vec![y, mean, reader.elementwise(Binary::Divide, &[one, deviation])])
}

pub(super) fn instance_norm(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let eps = call.attributes.float("epsilon").unwrap_or(1e-5);
    normalized(reader, call, Normalization::Group { groups: None, eps })
}

pub(super) fn group_norm(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    call.attributes.ignore("stash_type");
    let eps = call.attributes.float("epsilon").unwrap_or(1e-5);
    let groups = call.attributes.int("num_groups");
    if groups.is_none() {
        return reader.missing("num_groups", "the number of groups");
    }
    normalized(reader, call, Normalization::Group { groups, eps })
}

pub(super) fn mean_variance(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let axes = call.attributes.ints("axes").unwrap_or_else(|| vec![0, 2, 3]);
    let axes = reader.integers(&axes);
    let normalization = Normalization::Variance {
        first: 0,
        eps: 1e-9,
        eps_in_root: false,
        normalize_variance: true,
    };
    Some(vec![reader.op(Op::Normalize(normalization), vec![call.x(), axes])])
}

pub(super) fn lp_norm(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let axis = call.attributes.int("axis").unwrap_or(-1);
    let reduction = match call.attributes.int("p").unwrap_or(2) {
        1 => Reduction::L1,
        2 => Reduction::L2,
        p => {
            let help = "write it as Abs, Pow, ReduceSum, Pow and Div";
            return reader.inexpressible(format!("p={p}"), "1 or 2", help);
        }
    };
    let axes = reader.integers(&[axis]);
    let x = call.x();
    let length = reader
        .op(Op::Reduce(Reduce { reduction, keep: true, no_axes: NoAxes::All }), vec![x, axes]);
    let quotient = reader.elementwise(Binary::Divide, &[x, length]);
    // a vector of zeros stays zero
    let zero = reader.number_like(x, 0.0);
    let none = reader.elementwise(Comparison::Equal, &[length, zero]);
    let element = reader.element(x);
    Some(vec![reader.op_of(
        Op::elementwise(Primitive::Select),
        vec![none, zero, quotient],
        element,
    )])
}

pub(super) fn selu(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let x = call.x();
    let alpha = call.attributes.float("alpha").unwrap_or(1.673_263_2);
    let gamma = call.attributes.float("gamma").unwrap_or(1.050_701);
    let [alpha, gamma] = [alpha, gamma].map(|number| reader.number_like(x, number));
    Some(vec![reader.elementwise(Composed::Selu, &[x, alpha, gamma])])
}

pub(super) fn celu(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let alpha = call.attributes.float("alpha").unwrap_or(1.0);
    elementwise(reader, call, Composed::Celu { alpha })
}

pub(super) fn swish(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let x = call.x();
    let Some(alpha) = call.attributes.finite("alpha").filter(|&alpha| alpha != 1.0) else {
        return elementwise(reader, call, Composed::Swish { scaled: false });
    };
    let alpha = reader.number_like(x, alpha);
    Some(vec![reader.elementwise(Composed::Swish { scaled: true }, &[x, alpha])])
}

pub(super) fn gelu(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let function = match call.attributes.text("approximate").as_deref() {
        None | Some("none") => Composed::Gelu,
        Some("tanh") => Composed::GeluTanh,
        Some(_) => {
            return reader.inexpressible(
                "Gelu with another approximation",
                "approximate=none or tanh",
                "export the model with one of them",
            );
        }
    };
    elementwise(reader, call, function)
}

pub(super) fn is_nan(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let x = call.x();
    Some(vec![reader.elementwise(Comparison::NotEqual, &[x, x])])
}

pub(super) fn is_inf(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let x = call.x();
    let [negative, positive] =
        ["detect_negative", "detect_positive"].map(|name| call.attributes.flag(name, true));
    let (function, value, limit) = match (negative, positive) {
        (true, true) => {
            let magnitude = reader.elementwise(Unary::Abs, &[x]);
            (Comparison::Equal, magnitude, reader.number(f32::INFINITY))
        }
        (false, true) => (Comparison::Equal, x, reader.number(f32::INFINITY)),
        (true, false) => (Comparison::Equal, x, reader.number(f32::NEG_INFINITY)),
        // false for every number
        (false, false) => (Comparison::Less, x, x),
    };
    Some(vec![reader.op_of(Op::elementwise(function), vec![value, limit], ElementType::Bool)])
}

/// The element whose index ArgMax or ArgMin returns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extremum {
    Largest,
    Smallest,
}

/// ArgMax and ArgMin.
pub(super) fn index_of(
    reader: &mut GraphReader<'_>,
    call: &mut Call<'_>,
    extremum: Extremum,
) -> Outputs {
    let largest = extremum == Extremum::Largest;
    let axis = call.attributes.int("axis").unwrap_or(0);
    let keep = call.attributes.flag("keepdims", true);
    let last = call.attributes.flag("select_last_index", false);
    let x = call.x();
    let count = reader.integer(1);
    let element = reader.element(x);
    let best = Op::TopK(TopKAttributes { axis, largest, last, sorted_by_index: false });
    let outputs = reader.ops_of(best, vec![x, count], vec![element, ElementType::I64], Vec::new());
    let indices = outputs.get(1).copied()?;
    if keep {
        return Some(vec![indices]);
    }
    let axis = reader.integers(&[axis]);
    Some(vec![reader.op_of(Op::Squeeze { skip: false }, vec![indices, axis], ElementType::I64)])
}

/// TopK: the largest or smallest elements along an axis, and their indices.
pub(super) fn top_k(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let axis = call.attributes.int("axis").unwrap_or(-1);
    let largest = call.attributes.flag("largest", true);
    // sorted=0 allows any order, so the elements are sorted in any case
    call.attributes.flag("sorted", true);
    let x = call.x();
    let count = match (call.attributes.int("k"), call.input(1)) {
        (Some(k), _) => reader.integer(k),
        (None, Some(count)) => count,
        (None, None) => {
            return reader.missing("k", "how many elements are wanted");
        }
    };
    let element = reader.element(x);
    let best = Op::TopK(TopKAttributes { axis, largest, last: false, sorted_by_index: false });
    Some(reader.ops_of(best, vec![x, count], vec![element, ElementType::I64], Vec::new()))
}
