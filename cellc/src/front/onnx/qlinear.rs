//! Operators of ONNX Runtime's static quantiser in the format QOperator, domain `com.microsoft`.
//! Inputs and outputs are integers with scales and zero points. The output of QGemm may be floating
//! point.

use super::graph::{Call, GraphReader, Outputs};
use super::quantized::{centred, compute, float, limits, product, requantized, rounded};
use super::{operators, windows};
use crate::model::{Activation, Binary, ElementType, Elementwise, Op, ValueId};

/// Dequantises a tensor: `(x - zero) scale`.
fn dequantised(
    reader: &mut GraphReader<'_>,
    x: ValueId,
    scale: ValueId,
    zero: Option<ValueId>,
) -> ValueId {
    let integers = centred(reader, x, zero);
    let scale = float(reader, scale);
    compute(reader, Binary::Multiply, &[integers, scale])
}

/// Dequantises the tensor at input `at`. Input `at + 1` is the scale, input `at + 2` the zero
/// point, which may be absent. `None` if the tensor or the scale is absent.
fn operand(reader: &mut GraphReader<'_>, call: &Call<'_>, at: usize) -> Option<ValueId> {
    Some(dequantised(reader, call.input(at)?, call.input(at + 1)?, call.input(at + 2)))
}

/// Quantises `y` to the type of the zero point, or to the type of `like` if there is no zero point.
fn quantised_like(
    reader: &mut GraphReader<'_>,
    y: ValueId,
    scale: ValueId,
    zero: Option<ValueId>,
    like: ValueId,
) -> Outputs {
    let element = reader.element(zero.unwrap_or(like));
    let Some(range) = limits(element) else {
        let found = format!("a zero point of type {}", element.name());
        return reader.inexpressible(found, "i8, u8, i16, u16", "quantise to another type");
    };
    let zero = zero.map(|zero| float(reader, zero));
    let scale = float(reader, scale);
    let integers = rounded(reader, y, scale, zero, range);
    Some(vec![reader.op_of(Op::Convert, vec![integers], element)])
}

/// A function of one tensor, requantised. Inputs: x, its scale and zero point, scale and zero point
/// of y.
fn of_one(
    reader: &mut GraphReader<'_>,
    call: &mut Call<'_>,
    function: impl FnOnce(&mut GraphReader<'_>, &mut Call<'_>, ValueId) -> Option<ValueId>,
) -> Outputs {
    let x = operand(reader, call, 0)?;
    let (scale, zero, like) = (call.input(3)?, call.input(4), call.x());
    let y = function(reader, call, x)?;
    quantised_like(reader, y, scale, zero, like)
}

/// Applies the reader `lower` of an ONNX operator, in the given version, to a dequantised tensor.
fn inner(
    reader: &mut GraphReader<'_>,
    call: &mut Call<'_>,
    version: i64,
    x: ValueId,
    lower: impl FnOnce(&mut GraphReader<'_>, &mut Call<'_>) -> Outputs,
) -> Option<ValueId> {
    let inputs = vec![Some(x)];
    let mut inner =
        Call { version, inputs, written: 1, read: vec![true], attributes: call.attributes };
    lower(reader, &mut inner)?.first().copied()
}

/// QLinearAdd and QLinearMul.
pub(super) fn of_two(
    reader: &mut GraphReader<'_>,
    call: &mut Call<'_>,
    function: impl Into<Elementwise>,
) -> Outputs {
    let (a, b) = (operand(reader, call, 0)?, operand(reader, call, 3)?);
    let y = compute(reader, function, &[a, b]);
    quantised_like(reader, y, call.input(6)?, call.input(7), call.x())
}

/// QLinearSigmoid.
pub(super) fn sigmoid(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    of_one(reader, call, |reader, _, x| Some(compute(reader, Activation::Sigmoid, &[x])))
}

/// QLinearLeakyRelu.
pub(super) fn leaky_relu(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    of_one(reader, call, |reader, call, x| {
        inner(reader, call, 16, x, |r, c| operators::with_parameters(r, c, "leakyrelu"))
    })
}

/// Softmax, by the operator set in the attribute `opset`.
pub(super) fn softmax(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let Some(version) = call.attributes.int("opset") else {
        reader.error(
            "no attribute opset",
            "the operator set of the Softmax",
            "quantise the model again",
        );
        return None;
    };
    of_one(reader, call, |reader, call, x| inner(reader, call, version, x, operators::softmax))
}

fn refuse_last(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Option<()> {
    if call.attributes.flag("channels_last", false) {
        let help = "quantise the file from before optimisation, whose channels come first";
        return reader.inexpressible("channels_last=1", "0", help);
    }
    Some(())
}

/// QLinearGlobalAveragePool.
pub(super) fn global_average_pool(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    refuse_last(reader, call)?;
    of_one(reader, call, |reader, call, x| inner(reader, call, 22, x, windows::global_average_pool))
}

/// QLinearAveragePool.
pub(super) fn average_pool(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    refuse_last(reader, call)?;
    of_one(reader, call, |reader, call, x| inner(reader, call, 19, x, windows::average_pool))
}

/// Concat. Inputs: scale and zero point of y, then each tensor with its scale and zero point.
pub(super) fn concat(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    if call.inputs.len() % 3 != 2 {
        let found = format!("{} inputs", call.inputs.len());
        let valid = "a scale and a zero point, and three inputs for each tensor";
        reader.error(found, valid, "quantise the model again");
        return None;
    }
    let parts: Option<Vec<Option<ValueId>>> =
        (2..call.inputs.len()).step_by(3).map(|at| operand(reader, call, at).map(Some)).collect();
    let (scale, zero, like) = (call.input(0)?, call.input(1), call.input(2)?);
    let inputs = parts?;
    let mut inner =
        Call { version: 13, inputs, written: 1, read: vec![true], attributes: call.attributes };
    let y = operators::concat(reader, &mut inner)?[0];
    quantised_like(reader, y, scale, zero, like)
}

/// Gemm of two quantised matrices. The integers of C have the scale alpha a_scale b_scale. The
/// result is floating point if y has no scale and no zero point.
pub(super) fn gemm(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let (a, b) =
        (centred(reader, call.x(), call.input(2)), centred(reader, call.input(3)?, call.input(5)));
    let [transpose_a, transpose_b] =
        ["transA", "transB"].map(|name| call.attributes.flag(name, false));
    let mut sums = match (transpose_a, transpose_b) {
        (false, false) => product(reader, a, b),
        _ => reader.op_of(Op::MatMul { transpose_a, transpose_b }, vec![a, b], ElementType::F32),
    };
    if let Some(c) = call.input(6) {
        let c = float(reader, c);
        sums = compute(reader, Binary::Add, &[sums, c]);
    }
    let (mut a_scale, b_scale) = (float(reader, call.input(1)?), call.input(4)?);
    let alpha = call.attributes.finite("alpha").unwrap_or(1.0);
    if alpha != 1.0 {
        let alpha = reader.number_like(a_scale, alpha);
        a_scale = compute(reader, Binary::Multiply, &[alpha, a_scale]);
    }
    match (call.input(7), call.input(8)) {
        (Some(scale), Some(zero)) => requantized(reader, sums, [a_scale, b_scale, scale], zero),
        (None, None) => {
            let b_scale = float(reader, b_scale);
            let scale = compute(reader, Binary::Multiply, &[a_scale, b_scale]);
            Some(vec![compute(reader, Binary::Multiply, &[sums, scale])])
        }
        _ => {
            let found = "one of y_scale and y_zero_point";
            reader.error(found, "both of them, or none", "quantise the model again");
            None
        }
    }
}
