//! Quantised operators: integers with a scale and a zero point, computed in f32, which holds the
//! integers exactly.
//!
//! `q = clamp(round(x / scale) + zero)`, ties rounded to even; `x ~ (q - zero) scale`. A dynamic
//! scale is `(max - min) / 255` over the tensor and 0. It is 1 if max and min are both 0. Sums of
//! products beyond 2^24 are rounded.

use super::bodies::complete;
use super::graph::{Call, GraphReader, Outputs};
use super::operators::{countable_axis, rank_of, within_rank};
use super::recurrent::{activations, clip_of, coupled_gates, direction_of, entry, hidden_size};
use super::tensors::element_type;
use super::windows::convolution;
use crate::model::{
    Activation, Binary, Cell, CellKind, Comparison, Direction, ElementType, Elementwise, Loop,
    LoopInput, LoopOutput, NoAxes, OneHot, Op, Primitive, Reduce, Reduction, Slicing, Unary,
    ValueId, WrongAttribute,
};

const F32: ElementType = ElementType::F32;

/// Adds an elementwise operation on f32.
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

/// The axis of scales and zero points. `Some(None)` if the operator set allows only one scale per
/// tensor. `None` after an error.
fn axis_of(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Option<Option<i64>> {
    match call.version {
        10..13 => Some(None),
        _ => Some(Some(countable_axis(reader, call, 1)?)),
    }
}

/// Scales or zero points reshaped to broadcast along an axis of `x`. `None` after an error.
fn along(
    reader: &mut GraphReader<'_>,
    axis: Option<i64>,
    x: ValueId,
    of: ValueId,
) -> Option<ValueId> {
    let known = reader.known(of);
    let several = known.as_ref().is_none_or(|tensor| tensor.shape().len() > 1 || tensor.len() > 1);
    let Some(axis) = axis else {
        if known.is_some_and(|tensor| tensor.len() > 1) {
            let help = "convert the model to operator set 13, which has scales along an axis";
            reader.error(
                "several scales or zero points",
                "one of a tensor, in operator sets before 13",
                help,
            );
            return None;
        }
        return Some(of);
    };
    // one number for the whole tensor broadcasts without a reshape
    if !several || axis == -1 || reader.rank(of) == Some(0) {
        return Some(of);
    }
    let axis = within_rank(reader, axis, x, 0)?;
    let rank = rank_of(reader, x);
    Some(beside(reader, of, axis, rank))
}

/// A list reshaped to rank `rank` with all dimensions 1 except `axis`. For an axis outside of the
/// rank all dimensions are 1, and the Reshape is refused when shapes are inferred.
fn beside(reader: &mut GraphReader<'_>, of: ValueId, axis: i64, rank: ValueId) -> ValueId {
    let [axis, all, one] = [axis, -1, 1].map(|number| reader.integer(number));
    let shape = reader.op_of(
        Op::OneHot(OneHot { axis: -1, from_end: true }),
        vec![axis, rank, all, one],
        ElementType::I64,
    );
    reader.op(Op::Reshape { zero_keeps: false }, vec![of, shape])
}

fn refuse_blocks(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Option<()> {
    call.attributes.ignore("saturate");
    call.attributes.ignore("precision");
    match call.attributes.int("block_size").unwrap_or(0) {
        0 => Some(()),
        size => {
            reader.error(format!("block_size={size}"), "0", "quantise by tensor or by axis");
            None
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
    let mut integers = compute(reader, Activation::Round, &[quotient]);
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
        Err(wrong) => {
            reader.error(format!("output_dtype={given}: {}", wrong.found), wrong.valid, wrong.help);
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
        reader.error(found, "i4, u4, i8, u8, i16, u16", "quantise to another type");
        return None;
    };
    let axis = axis_of(reader, call)?;
    let scale = along(reader, axis, x, scale)?;
    let zero = match zero {
        Some(zero) => {
            let zero = along(reader, axis, x, zero)?;
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
    let axis = axis_of(reader, call)?;
    let scale = along(reader, axis, x, scale)?;
    let zero = match call.input(2) {
        Some(zero) => Some(along(reader, axis, x, zero)?),
        None => None,
    };
    let integers = centred(reader, x, zero);
    let scale = float(reader, scale);
    Some(vec![reader.op_of(Op::elementwise(Binary::Multiply), vec![integers, scale], element)])
}

/// A tensor quantised to u8 with the scale and zero point of its own range.
struct Dynamic {
    /// Quantised elements from 0 to 255, in f32.
    integers: ValueId,
    scale: ValueId,
    /// The zero point, in f32.
    zero: ValueId,
}

impl Dynamic {
    fn new(reader: &mut GraphReader<'_>, x: ValueId) -> Self {
        let all = |reader: &mut GraphReader<'_>, reduction| {
            reader.op(Op::Reduce(Reduce { reduction, keep: false, no_axes: NoAxes::All }), vec![x])
        };
        let [nothing, one, steps] = [0.0, 1.0, 255.0].map(|number| reader.number_like(x, number));
        let least = all(reader, Reduction::Min);
        let least = compute(reader, Binary::Minimum, &[least, nothing]);
        let most = all(reader, Reduction::Max);
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

    fn centred(&self, reader: &mut GraphReader<'_>) -> ValueId {
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

/// Zero points or scales per row of A, reshaped to broadcast along the rows.
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

/// Numbers per channel of the weights, reshaped to broadcast along the channels. `first`: number of
/// leading dimensions of the weights that the result lacks. One number becomes a scalar.
fn by_channel(reader: &mut GraphReader<'_>, of: ValueId, w: ValueId, first: i64) -> ValueId {
    let count = reader.known(of).map(|tensor| tensor.len());
    if count == Some(1) || reader.rank(of) == Some(0) {
        let flat = reader.integers(&[]);
        return reader.op(Op::Reshape { zero_keeps: false }, vec![of, flat]);
    }
    let rank = rank_of(reader, w);
    let leading = reader.integer(first);
    let rank = reader.op(Op::elementwise(Binary::Subtract), vec![rank, leading]);
    beside(reader, of, 0, rank)
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
        reader.error(found, "i8, u8", "quantise to another type");
        return None;
    };
    let [a_scale, b_scale, scale] = scales.map(|value| float(reader, value));
    let zero = float(reader, zero);
    let scales = compute(reader, Binary::Multiply, &[a_scale, b_scale]);
    let factor = compute(reader, Binary::Divide, &[scales, scale]);
    let scaled = compute(reader, Binary::Multiply, &[sums, factor]);
    let integers = compute(reader, Activation::Round, &[scaled]);
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
            reader.error(
                "scales of the result that are not one number",
                "one y_scale and one y_zero_point",
                help,
            );
            return None;
        }
    }
    let sums = product(reader, a, b);
    requantized(reader, sums, [a_scale, b_scale, scale], zero)
}

/// com.microsoft: A is quantised dynamically, B is quantised in the model. The bias is optional.
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

/// com.microsoft: the product of two quantised tensors, in floating point.
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

/// Activations and clipping of one direction of a quantised LSTM.
struct Gates {
    activations: Vec<Activation>,
    clip: Option<f32>,
    input_forget: bool,
}

/// The slice at an index of the first axis, the axis of directions.
fn part(reader: &mut GraphReader<'_>, value: ValueId, at: usize) -> ValueId {
    let (index, axis) = (reader.integer(at as i64), reader.integer(0));
    reader.op(Op::Gather { batch_dims: 0 }, vec![value, index, axis])
}

/// com.microsoft: an LSTM with quantised W, `[D, I, 4H]`, and R, `[D, H, 4H]`. x is quantised once
/// with one scale for all steps, h at every step.
pub(super) fn dynamic_lstm(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let (direction, given) = direction_of(reader, call);
    let direction = direction?;
    let mut ledger = vec![entry("direction", given, direction.name())];
    let all = activations(reader, call, CellKind::Lstm, direction, &mut ledger)?;
    let clip = clip_of(call, &mut ledger);
    if let Some([found, help]) = clip.and_then(|clip| Cell::clip_without_effect(clip, "clip")) {
        reader.warning_with_help(found, help);
    }
    let clip = clip.and_then(Cell::clip_bound);
    let input_forget = coupled_gates(call, &mut ledger);
    if call.input(4).is_some() {
        let help = "leave sequence_lens out where every row has all steps";
        reader.error("sequence_lens of a quantised LSTM", "sequences of full length", help);
        return None;
    }
    let (x, w, r, b, p) = (call.x(), call.input(1)?, call.input(2)?, call.input(3), call.input(7));
    let hidden_size = hidden_size(reader, call, (r, 1), &mut ledger)?;
    let cell = Cell { activations: all.clone(), ..Cell::new(CellKind::Lstm, hidden_size) };
    // no cell reaches check: the layer is other operations from here on
    let wrong = cell.wrong_attributes(Some(direction), reader.level().graph.spelling());
    if !wrong.is_empty() {
        for WrongAttribute { text: [found, valid, help], .. } in wrong {
            reader.error(found, valid, help);
        }
        return None;
    }
    let hidden_size = hidden_size as i64;
    let [Some(w_scale), Some(w_zero), Some(r_scale), Some(r_zero)] =
        [8, 9, 10, 11].map(|port| call.input(port))
    else {
        reader.error(
            "no scales or zero points",
            "those of W and of R, inputs 8 to 11",
            "export the model again",
        );
        return None;
    };
    let [h, c] = [5, 6].map(|port| call.input(port));
    let quantised = Dynamic::new(reader, x);
    let centred_x = quantised.centred(reader);
    let (mut ys, mut hs, mut cs) = (Vec::new(), Vec::new(), Vec::new());
    for d in 0..direction.count() {
        let reverse = direction == Direction::Reverse || d == 1;
        let weights = |reader: &mut GraphReader<'_>, of: ValueId, zero: ValueId| {
            let (of, zero) = (part(reader, of, d), part(reader, zero, d));
            centred(reader, of, Some(zero))
        };
        let (w_integers, r_integers) = (weights(reader, w, w_zero), weights(reader, r, r_zero));
        let (w_scale, r_scale) = (part(reader, w_scale, d), part(reader, r_scale, d));
        // for all steps at once
        // the header lists the attributes at this operation
        let sums = reader.ops_of(
            Op::MatMul { transpose_a: false, transpose_b: false },
            vec![centred_x, w_integers],
            vec![F32],
            std::mem::take(&mut ledger),
        )[0];
        let scales = compute(reader, Binary::Multiply, &[quantised.scale, w_scale]);
        let mut gates_x = compute(reader, Binary::Multiply, &[sums, scales]);
        if let Some(b) = b {
            let b = part(reader, b, d);
            let (parts, axis) = (reader.integers(&[4 * hidden_size; 2]), reader.integer(0));
            let halves =
                reader.ops_of(Op::VariadicSplit, vec![b, axis, parts], vec![F32; 2], Vec::new());
            for half in halves {
                gates_x = compute(reader, Binary::Add, &[gates_x, half]);
            }
        }
        let state = |reader: &mut GraphReader<'_>, given: Option<ValueId>| match given {
            Some(state) => part(reader, state, d),
            None => no_state(reader, x, hidden_size),
        };
        let (h, c) = (state(reader, h), state(reader, c));
        let p = p.map(|p| part(reader, p, d));
        let gates = Gates { activations: all[3 * d..][..3].to_vec(), clip, input_forget };
        let [y, h, c] = steps(reader, &gates, [gates_x, h, c, r_integers, r_scale], p, reverse)?;
        let axis = |reader: &mut GraphReader<'_>, value: ValueId, axis: i64| {
            let axes = reader.integers(&[axis]);
            reader.op(Op::Unsqueeze, vec![value, axes])
        };
        ys.push(axis(reader, y, 1));
        hs.push(axis(reader, h, 0));
        cs.push(axis(reader, c, 0));
    }
    let mut joined = |all: Vec<ValueId>, axis: i64| match all[..] {
        [one] => one,
        _ => reader.op(Op::Concat { axis }, all),
    };
    Some(vec![joined(ys, 1), joined(hs, 0), joined(cs, 0)])
}

/// An initial state of zeros, `[N, H]`.
fn no_state(reader: &mut GraphReader<'_>, x: ValueId, hidden_size: i64) -> ValueId {
    let sizes = reader.op_of(Op::ShapeOf, vec![x], ElementType::I64);
    let (at, axis) = (reader.integers(&[1]), reader.integer(0));
    let rows = reader.op(Op::Gather { batch_dims: 0 }, vec![sizes, at, axis]);
    let rest = reader.integers(&[hidden_size]);
    let shape = reader.op(Op::Concat { axis: 0 }, vec![rows, rest]);
    let zero = reader.number_like(x, 0.0);
    reader.op(Op::Broadcast(crate::model::BroadcastMode::Numpy), vec![zero, shape])
}

/// The loop over the steps of one direction. Returns y, `[T, N, H]`, and the last h and c.
fn steps(
    reader: &mut GraphReader<'_>,
    gates: &Gates,
    outer: [ValueId; 5],
    p: Option<ValueId>,
    reverse: bool,
) -> Option<[ValueId; 3]> {
    let outer_names = reader.named();
    reader.enter();
    let before = reader.errors();
    let [sums, h, c, r, r_scale] =
        ["gates", "h", "c", "R", "R_scale"].map(|name| reader.parameter(name, F32, None));
    let peepholes = p.map(|_| reader.parameter("P", F32, None));
    let axes = reader.integers(&[0]);
    let sums = reader.op(Op::Squeeze { skip: false }, vec![sums, axes]);
    let quantised = Dynamic::new(reader, h);
    let integers_h = quantised.centred(reader);
    let of_h = product(reader, integers_h, r);
    let scales = compute(reader, Binary::Multiply, &[quantised.scale, r_scale]);
    let of_h = compute(reader, Binary::Multiply, &[of_h, scales]);
    let all = compute(reader, Binary::Add, &[sums, of_h]);
    let axis = reader.integer(-1);
    let own_sums = reader.ops_of(Op::Split { parts: 4 }, vec![all, axis], vec![F32; 4], Vec::new());
    let peeps = peepholes.map(|p| {
        let axis = reader.integer(-1);
        reader.ops_of(Op::Split { parts: 3 }, vec![p, axis], vec![F32; 3], Vec::new())
    });
    let gate = |reader: &mut GraphReader<'_>,
                sum: ValueId,
                function: usize,
                peep: Option<(usize, ValueId)>| {
        let mut sum = sum;
        if let (Some(peeps), Some((which, c))) = (&peeps, peep) {
            let seen = compute(reader, Binary::Multiply, &[peeps[which], c]);
            sum = compute(reader, Binary::Add, &[sum, seen]);
        }
        if let Some(clip) = gates.clip {
            sum = compute(reader, Unary::Clamp { min: -clip, max: clip }, &[sum]);
        }
        compute(reader, gates.activations[function], &[sum])
    };
    let i = gate(reader, own_sums[0], 0, Some((0, c)));
    let f = match gates.input_forget {
        true => {
            let one = reader.number_like(h, 1.0);
            compute(reader, Binary::Subtract, &[one, i])
        }
        false => gate(reader, own_sums[2], 0, Some((2, c))),
    };
    let g = gate(reader, own_sums[3], 1, None);
    let kept = compute(reader, Binary::Multiply, &[f, c]);
    let new = compute(reader, Binary::Multiply, &[i, g]);
    let next_c = compute(reader, Binary::Add, &[kept, new]);
    let o = gate(reader, own_sums[1], 0, Some((1, next_c)));
    let seen = compute(reader, gates.activations[2], &[next_c]);
    let next_h = compute(reader, Binary::Multiply, &[o, seen]);
    let y = reader.op(Op::Unsqueeze, vec![next_h, axes]);
    for value in [next_h, next_c, y] {
        reader.result("", value);
    }
    let level = reader.leave();
    reader.rename(outer_names);
    let level = complete(reader, level, before, 3)?;
    let invariant =
        |at: usize| LoopInput { parameter: at, input: at, slice: None, back_edge: None };
    let mut inputs = vec![
        LoopInput { slice: Some(Slicing::one_by_one(0, reverse)), ..invariant(0) },
        LoopInput { back_edge: Some(0), ..invariant(1) },
        LoopInput { back_edge: Some(1), ..invariant(2) },
    ];
    inputs.extend((3..5 + usize::from(p.is_some())).map(invariant));
    let last = |result: usize| LoopOutput { result, concatenation: None };
    let outputs = vec![
        last(0),
        last(1),
        LoopOutput { result: 2, concatenation: Some(Slicing::one_by_one(0, reverse)) },
    ];
    let op = Op::Loop(Box::new(Loop {
        body: level.graph.model,
        counted: false,
        inputs,
        outputs,
        current_iteration: None,
        condition: None,
    }));
    let outer = outer.into_iter().chain(p).collect();
    let values = reader.ops_of(op, outer, vec![F32; 3], Vec::new());
    Some([values[2], values[0], values[1]])
}
