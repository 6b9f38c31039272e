//! Quantised operators: integers with a scale and a zero point, computed in f32. f32 holds integers
//! of up to 24 bits exactly and rounds larger ones: int32, and sums of products beyond 2^24.
//!
//! `q = clamp(round(x / scale) + zero)`, ties rounded to even; `x ~ (q - zero) scale`. A dynamic
//! scale is `(max - min) / 255` over the tensor and 0, or 1 if max and min are both 0.

use super::graph::{Call, GraphReader, Outputs};
use super::operators::{rank_of, within_rank};
use super::tensors::element_type;
use super::windows::convolution;
use crate::model::{
    Binary, Comparison, ElementType, Elementwise, MathFunction, NoAxes, OneHot, Op, Primitive,
    Reduce, Reduction, Unary, ValueId,
};

const F32: ElementType = ElementType::F32;

/// Adds an elementwise operation with a result of type f32.
pub(super) fn compute(
    reader: &mut GraphReader<'_>,
    function: impl Into<Elementwise>,
    inputs: &[ValueId],
) -> ValueId {
    reader.op_of(Op::elementwise(function), inputs.to_vec(), F32)
}

/// Converts to f32.
pub(super) fn float(reader: &mut GraphReader<'_>, value: ValueId) -> ValueId {
    reader.op_of(Op::Convert, vec![value], F32)
}

/// Minimum and maximum of a quantised type. `None` for other types.
pub(super) fn limits(element: ElementType) -> Option<(f32, f32)> {
    Some(match element {
        ElementType::I4 => (-8.0, 7.0),
        ElementType::U4 => (0.0, 15.0),
        ElementType::I8 => (-128.0, 127.0),
        ElementType::U8 => (0.0, 255.0),
        ElementType::I16 => (-32768.0, 32767.0),
        ElementType::U16 => (0.0, 65535.0),
        _ => return None,
    })
}

/// The axis of scales and zero points. `None` if the operator set allows only one scale per
/// tensor.
fn axis_of(call: &mut Call<'_>) -> Option<i64> {
    match call.version {
        10..13 => None,
        _ => Some(call.attributes.int("axis").unwrap_or(1)),
    }
}

/// Scales or zero points reshaped to broadcast along an axis of `x`. `None` after an error.
fn broadcast_along(
    reader: &mut GraphReader<'_>,
    axis: Option<i64>,
    x: ValueId,
    value: ValueId,
) -> Option<ValueId> {
    let known = reader.known(value);
    let several = known.as_ref().is_none_or(|tensor| tensor.shape().len() > 1 || tensor.len() > 1);
    let Some(axis) = axis else {
        if known.is_some_and(|tensor| tensor.len() > 1) {
            let help = "convert the model to operator set 13, which has scales along an axis";
            return reader.inexpressible(
                "several scales or zero points",
                "one of a tensor, in operator sets before 13",
                help,
            );
        }
        return Some(value);
    };
    // a single number, and a list along the last axis, broadcast without a reshape
    if !several || axis == -1 || reader.rank(value) == Some(0) {
        return Some(value);
    }
    let axis = within_rank(reader, axis, x, 0)?;
    let rank = rank_of(reader, x);
    Some(reshape_along(reader, value, axis, rank))
}

/// A list reshaped to rank `rank` with all dimensions 1 except `axis`. For an axis outside of the
/// rank all dimensions are 1, and the Reshape is refused when shapes are inferred.
fn reshape_along(
    reader: &mut GraphReader<'_>,
    value: ValueId,
    axis: i64,
    rank: ValueId,
) -> ValueId {
    let [axis, all, one] = [axis, -1, 1].map(|number| reader.integer(number));
    let shape = reader.op_of(
        Op::OneHot(OneHot { axis: -1, from_end: true }),
        vec![axis, rank, all, one],
        ElementType::I64,
    );
    reader.op(Op::Reshape { zero_keeps: false }, vec![value, shape])
}

fn refuse_blocks(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Option<()> {
    call.attributes.ignore("saturate");
    call.attributes.ignore("precision");
    match call.attributes.int("block_size").unwrap_or(0) {
        0 => Some(()),
        size => {
            reader.inexpressible(format!("block_size={size}"), "0", "quantise by tensor or by axis")
        }
    }
}

/// `clamp(round(x / scale) + zero)` in f32.
pub(super) fn rounded(
    reader: &mut GraphReader<'_>,
    x: ValueId,
    scale: ValueId,
    zero: Option<ValueId>,
    (min, max): (f32, f32),
) -> ValueId {
    let quotient = compute(reader, Binary::Divide, &[x, scale]);
    let mut integers = compute(reader, MathFunction::Round, &[quotient]);
    if let Some(zero) = zero {
        integers = compute(reader, Binary::Add, &[integers, zero]);
    }
    compute(reader, Unary::Clamp { min, max }, &[integers])
}

/// The type in the attribute `output_dtype`; `Some(None)` if it is absent or 0. `None` after an
/// error.
fn output_type(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Option<Option<ElementType>> {
    let Some(given) = call.attributes.int("output_dtype").filter(|&given| given != 0) else {
        return Some(None);
    };
    match element_type(i32::try_from(given).unwrap_or(0)) {
        Ok(element) => Some(Some(element)),
        Err(problem) => {
            reader.report(problem.of(&format!("output_dtype={given}")));
            None
        }
    }
}

/// QuantizeLinear.
pub(super) fn quantize(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    refuse_blocks(reader, call)?;
    let given = output_type(reader, call)?;
    let (x, scale, zero) = (call.x(), call.input(1)?, call.input(2));
    let of_zero = zero.map(|zero| reader.element(zero));
    if let (Some(given), Some(of_zero)) = (given, of_zero)
        && given != of_zero
    {
        let found =
            format!("output_dtype is {}, and the zero point {}", given.name(), of_zero.name());
        reader.error(found, "one type", "correct the attribute, or leave it out");
        return None;
    }
    let element = of_zero.or(given).unwrap_or(ElementType::U8);
    let Some(range) = limits(element) else {
        let found = format!("a zero point of type {}", element.name());
        return reader.inexpressible(found, "i4, u4, i8, u8, i16, u16", "quantise to another type");
    };
    let axis = axis_of(call);
    let scale = broadcast_along(reader, axis, x, scale)?;
    let zero = match zero {
        Some(zero) => {
            let zero = broadcast_along(reader, axis, x, zero)?;
            Some(float(reader, zero))
        }
        None => None,
    };
    let [x, scale] = [x, scale].map(|value| float(reader, value));
    let integers = rounded(reader, x, scale, zero, range);
    Some(vec![reader.op_of(Op::Convert, vec![integers], element)])
}

/// `q - zero` in f32.
pub(super) fn centred(
    reader: &mut GraphReader<'_>,
    value: ValueId,
    zero: Option<ValueId>,
) -> ValueId {
    let value = float(reader, value);
    match zero {
        None => value,
        Some(zero) => {
            let zero = float(reader, zero);
            compute(reader, Binary::Subtract, &[value, zero])
        }
    }
}

/// DequantizeLinear.
pub(super) fn dequantize(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    refuse_blocks(reader, call)?;
    let given = output_type(reader, call)?;
    let (x, scale) = (call.x(), call.input(1)?);
    let element = given.unwrap_or_else(|| reader.element(scale));
    let axis = axis_of(call);
    let scale = broadcast_along(reader, axis, x, scale)?;
    let zero = match call.input(2) {
        Some(zero) => Some(broadcast_along(reader, axis, x, zero)?),
        None => None,
    };
    let integers = centred(reader, x, zero);
    let scale = float(reader, scale);
    Some(vec![reader.op_of(Op::elementwise(Binary::Multiply), vec![integers, scale], element)])
}

/// A tensor quantised to u8 with the scale and zero point of its own range.
pub(super) struct Dynamic {
    /// Quantised elements from 0 to 255, in f32.
    integers: ValueId,
    pub(super) scale: ValueId,
    /// The zero point, in f32.
    zero: ValueId,
}

impl Dynamic {
    /// Quantises `x`.
    pub(super) fn new(reader: &mut GraphReader<'_>, x: ValueId) -> Self {
        let reduced = |reader: &mut GraphReader<'_>, reduction| {
            reader.op(Op::Reduce(Reduce { reduction, keep: false, no_axes: NoAxes::All }), vec![x])
        };
        let [nothing, one, steps] = [0.0, 1.0, 255.0].map(|number| reader.number_like(x, number));
        let least = reduced(reader, Reduction::Min);
        let least = compute(reader, Binary::Minimum, &[least, nothing]);
        let most = reduced(reader, Reduction::Max);
        let most = compute(reader, Binary::Maximum, &[most, nothing]);
        let range = compute(reader, Binary::Subtract, &[most, least]);
        let scale = compute(reader, Binary::Divide, &[range, steps]);
        let flat = reader.op_of(
            Op::elementwise(Comparison::Equal),
            vec![range, nothing],
            ElementType::Bool,
        );
        let scale = compute(reader, Primitive::Select, &[flat, one, scale]);
        let below = compute(reader, Binary::Subtract, &[nothing, least]);
        let zero = rounded(reader, below, scale, None, (0.0, 255.0));
        let integers = rounded(reader, x, scale, Some(zero), (0.0, 255.0));
        Self { integers, scale, zero }
    }

    /// The quantised elements minus the zero point.
    pub(super) fn centred(&self, reader: &mut GraphReader<'_>) -> ValueId {
        compute(reader, Binary::Subtract, &[self.integers, self.zero])
    }
}

/// DynamicQuantizeLinear.
pub(super) fn dynamic_quantize(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let x = call.x();
    let Dynamic { integers, scale, zero } = Dynamic::new(reader, x);
    let [integers, zero] =
        [integers, zero].map(|value| reader.op_of(Op::Convert, vec![value], ElementType::U8));
    Some(vec![integers, scale, zero])
}

/// The matrix product of two f32 tensors.
pub(super) fn product(reader: &mut GraphReader<'_>, a: ValueId, b: ValueId) -> ValueId {
    reader.op_of(Op::MatMul { transpose_a: false, transpose_b: false }, vec![a, b], F32)
}

/// Zero points or scales for the rows of A, reshaped from `[M]` to `[M, 1]`. A single number, or a
/// tensor that is no list, is unchanged. `None` if there are none.
fn by_row(reader: &mut GraphReader<'_>, zero: Option<ValueId>) -> Option<ValueId> {
    let zero = zero?;
    if reader.rank(zero) == Some(1) && reader.known(zero).is_none_or(|tensor| tensor.len() > 1) {
        let axes = reader.integers(&[1]);
        return Some(reader.op(Op::Unsqueeze, vec![zero, axes]));
    }
    Some(zero)
}

/// MatMulInteger.
pub(super) fn matmul_integer(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let (a, b, a_zero, b_zero) = (call.x(), call.input(1)?, call.input(2), call.input(3));
    let a_zero = by_row(reader, a_zero);
    let a = centred(reader, a, a_zero);
    let b = centred(reader, b, b_zero);
    let sums = product(reader, a, b);
    Some(vec![reader.op_of(Op::Convert, vec![sums], ElementType::I32)])
}

/// The convolution of two tensors of integers, in f32.
fn convolved(
    reader: &mut GraphReader<'_>,
    call: &mut Call<'_>,
    x: ValueId,
    w: ValueId,
) -> Option<ValueId> {
    let mut inner = Call {
        version: call.version,
        inputs: vec![Some(x), Some(w)],
        written: 1,
        read: vec![true],
        attributes: call.attributes,
    };
    convolution(reader, &mut inner, false)?.first().copied()
}

/// Numbers per output channel, reshaped to `[C, 1, ...]`. `first`: 0 for the rank of the weights, 1
/// for one dimension less, to broadcast over convolved data. A single number becomes a scalar.
fn by_channel(reader: &mut GraphReader<'_>, value: ValueId, w: ValueId, first: i64) -> ValueId {
    let count = reader.known(value).map(|tensor| tensor.len());
    if count == Some(1) || reader.rank(value) == Some(0) {
        let flat = reader.integers(&[]);
        return reader.op(Op::Reshape { zero_keeps: false }, vec![value, flat]);
    }
    let rank = rank_of(reader, w);
    let leading = reader.integer(first);
    let rank = reader.op(Op::elementwise(Binary::Subtract), vec![rank, leading]);
    reshape_along(reader, value, 0, rank)
}

/// ConvInteger.
pub(super) fn conv_integer(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let (x, w, x_zero, w_zero) = (call.x(), call.input(1)?, call.input(2), call.input(3));
    let w_zero = w_zero.map(|zero| by_channel(reader, zero, w, 0));
    let x = centred(reader, x, x_zero);
    let w = centred(reader, w, w_zero);
    let sums = convolved(reader, call, x, w)?;
    Some(vec![reader.op_of(Op::Convert, vec![sums], ElementType::I32)])
}

/// QLinearConv.
pub(super) fn qlinear_conv(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let inputs: Vec<ValueId> = call.inputs.iter().take(8).copied().collect::<Option<_>>()?;
    let &[x, x_scale, x_zero, w, w_scale, w_zero, scale, zero] = &inputs[..] else { return None };
    let bias = call.input(8);
    let w_zero = by_channel(reader, w_zero, w, 0);
    let x = centred(reader, x, Some(x_zero));
    let integers = centred(reader, w, Some(w_zero));
    let mut sums = convolved(reader, call, x, integers)?;
    if let Some(bias) = bias {
        let bias = by_channel(reader, bias, w, 1);
        let bias = float(reader, bias);
        sums = compute(reader, Binary::Add, &[sums, bias]);
    }
    let w_scale = by_channel(reader, w_scale, w, 1);
    requantized(reader, sums, [x_scale, w_scale, scale], zero)
}

/// Rescales sums of products to the scale and zero point of the result. `scales`: of A, of B, of
/// the result.
pub(super) fn requantized(
    reader: &mut GraphReader<'_>,
    sums: ValueId,
    scales: [ValueId; 3],
    zero: ValueId,
) -> Outputs {
    let element = reader.element(zero);
    let Some(range) = limits(element) else {
        let found = format!("a zero point of type {}", element.name());
        return reader.inexpressible(found, "i8, u8", "quantise to another type");
    };
    let [a_scale, b_scale, scale] = scales.map(|value| float(reader, value));
    let zero = float(reader, zero);
    let scales = compute(reader, Binary::Multiply, &[a_scale, b_scale]);
    let factor = compute(reader, Binary::Divide, &[scales, scale]);
    let scaled = compute(reader, Binary::Multiply, &[sums, factor]);
    let integers = compute(reader, MathFunction::Round, &[scaled]);
    let integers = compute(reader, Binary::Add, &[integers, zero]);
    let integers = compute(reader, Unary::Clamp { min: range.0, max: range.1 }, &[integers]);
    Some(vec![reader.op_of(Op::Convert, vec![integers], element)])
}

/// QLinearMatMul.
pub(super) fn qlinear_matmul(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let inputs: Vec<ValueId> = call.inputs.iter().copied().collect::<Option<_>>()?;
    let &[a, a_scale, a_zero, b, b_scale, b_zero, scale, zero] = &inputs[..] else { return None };
    let (a_scale, a_zero) = (by_row(reader, Some(a_scale))?, by_row(reader, Some(a_zero)));
    let a = centred(reader, a, a_zero);
    let b = centred(reader, b, Some(b_zero));
    for of_y in [scale, zero] {
        if reader.rank(of_y) != Some(0) && reader.known(of_y).is_none_or(|tensor| tensor.len() > 1)
        {
            let help = "quantise the result by tensor";
            return reader.inexpressible(
                "scales of the result that are not one number",
                "one y_scale and one y_zero_point",
                help,
            );
        }
    }
    let sums = product(reader, a, b);
    requantized(reader, sums, [a_scale, b_scale, scale], zero)
}

/// DynamicQuantizeMatMul: A is quantised at run time, B is quantised in the model.
pub(super) fn dynamic_matmul(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let (a, b, b_scale) = (call.x(), call.input(1)?, call.input(2)?);
    let (b_zero, bias) = (call.input(3), call.input(4));
    let a = Dynamic::new(reader, a);
    let integers = a.centred(reader);
    let b = centred(reader, b, b_zero);
    let sums = product(reader, integers, b);
    let scales = compute(reader, Binary::Multiply, &[a.scale, b_scale]);
    let scaled = compute(reader, Binary::Multiply, &[sums, scales]);
    Some(vec![match bias {
        Some(bias) => compute(reader, Binary::Add, &[scaled, bias]),
        None => scaled,
    }])
}

/// MatMulIntegerToFloat: the product of two quantised tensors, in floating point.
pub(super) fn matmul_integer_to_float(
    reader: &mut GraphReader<'_>,
    call: &mut Call<'_>,
) -> Outputs {
    let (a, b, a_scale, b_scale) = (call.x(), call.input(1)?, call.input(2)?, call.input(3)?);
    let (a_zero, b_zero, bias) = (call.input(4), call.input(5), call.input(6));
    let a = centred(reader, a, a_zero);
    let b = centred(reader, b, b_zero);
    let sums = product(reader, a, b);
    let scales = compute(reader, Binary::Multiply, &[a_scale, b_scale]);
    let element = reader.element(a_scale);
    let scaled = reader.op_of(Op::elementwise(Binary::Multiply), vec![sums, scales], element);
    Some(vec![match bias {
        Some(bias) => reader.op(Op::elementwise(Binary::Add), vec![scaled, bias]),
        None => scaled,
    }])
}
