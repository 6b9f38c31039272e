//! ONNX's Attention as matrix products, masks and a softmax.

use super::graph::{Call, GraphReader, Outputs};
use crate::model::{
    Activation, Binary, BroadcastMode, Comparison, ElementType, Elementwise, NoAxes, Op, Primitive,
    Reduce, Reduction, Softmax, ValueId,
};

/// Queries, keys and values, each of shape `[N, heads, steps, size]`.
struct Operands {
    query: ValueId,
    key: ValueId,
    value: ValueId,
    /// The number of keys in the cache, an integer of shape `[]`.
    cached: ValueId,
}

/// Options for the attention scores before the softmax.
struct Scores {
    scale: Option<f32>,
    /// Bound of the scores, applied by tanh. 0: no bound.
    softcap: f32,
    causal: bool,
}

/// One size of a tensor, as a list of one integer.
fn size(reader: &mut GraphReader<'_>, value: ValueId, axis: i64) -> ValueId {
    let sizes = reader.op_of(Op::ShapeOf, vec![value], ElementType::I64);
    let (at, zero) = (reader.integers(&[axis]), reader.integer(0));
    reader.op(Op::Gather { batch_dims: 0 }, vec![sizes, at, zero])
}

fn transposed(reader: &mut GraphReader<'_>, value: ValueId) -> ValueId {
    let order = reader.integers(&[0, 2, 1, 3]);
    reader.op(Op::Transpose, vec![value, order])
}

/// `[N, steps, heads * size]` as `[N, heads, steps, size]`.
fn by_heads(reader: &mut GraphReader<'_>, value: ValueId, heads: i64) -> ValueId {
    let shape = reader.integers(&[0, 0, heads, -1]);
    let split = reader.op(Op::Reshape { zero_keeps: true }, vec![value, shape]);
    transposed(reader, split)
}

/// Repeats each head of keys or values for all heads of queries that share the head.
fn repeated(reader: &mut GraphReader<'_>, value: ValueId, query: ValueId) -> ValueId {
    let [rows, heads, steps, width] = [0, 1, 2, 3].map(|axis| size(reader, value, axis));
    let wanted = size(reader, query, 1);
    let times = reader.elementwise(Binary::Divide, &[wanted, heads]);
    let axis = reader.integers(&[2]);
    let apart = reader.op(Op::Unsqueeze, vec![value, axis]);
    let shape = reader.op(Op::Concat { axis: 0 }, vec![rows, heads, times, steps, width]);
    let wide = reader.op(Op::Broadcast(BroadcastMode::Bidirectional), vec![apart, shape]);
    let shape = reader.op(Op::Concat { axis: 0 }, vec![rows, wanted, steps, width]);
    reader.op(Op::Reshape { zero_keeps: false }, vec![wide, shape])
}

/// Causal mask of shape `[queries, keys]`: a query attends to all cached keys and to the keys up to
/// its own position.
fn causal(reader: &mut GraphReader<'_>, operands: &Operands) -> ValueId {
    let places = |reader: &mut GraphReader<'_>, value: ValueId, axis: i64| {
        let none = reader.integers(&[]);
        let count = size(reader, value, 2);
        let count = reader.op(Op::Reshape { zero_keeps: false }, vec![count, none]);
        let [zero, one] = [0, 1].map(|number| reader.integer(number));
        let places = reader.op(Op::Range { run_time: false }, vec![zero, count, one]);
        let axis = reader.integers(&[axis]);
        reader.op(Op::Unsqueeze, vec![places, axis])
    };
    let (queries, keys) = (places(reader, operands.query, 1), places(reader, operands.key, 0));
    let last = reader.elementwise(Binary::Add, &[queries, operands.cached]);
    reader.elementwise(Comparison::LessEqual, &[keys, last])
}

/// Applies a mask: scores become minus infinity at false; a mask of numbers is added.
fn masked(reader: &mut GraphReader<'_>, scores: ValueId, mask: ValueId) -> ValueId {
    if reader.element(mask) != ElementType::Bool {
        return reader.elementwise(Binary::Add, &[scores, mask]);
    }
    let (none, element) = (reader.number_like(scores, f32::NEG_INFINITY), reader.element(scores));
    reader.op_of(Op::elementwise(Primitive::Select), vec![mask, scores, none], element)
}

/// Attention weights of all keys for each query. The weights are 0 for a query that attends to no
/// key.
fn weights(
    reader: &mut GraphReader<'_>,
    operands: &Operands,
    scores: &Scores,
    mask: Option<ValueId>,
) -> ValueId {
    let product = Op::MatMul { transpose_a: false, transpose_b: true };
    let mut y = reader.op(product, vec![operands.query, operands.key]);
    let scale = match scores.scale {
        Some(scale) => reader.number_like(y, scale),
        None => {
            let element = reader.element(y);
            let width = size(reader, operands.query, 3);
            let width = reader.op_of(Op::Convert, vec![width], element);
            let power = reader.number_like(y, -0.5);
            reader.elementwise(Elementwise::Power, &[width, power])
        }
    };
    y = reader.elementwise(Binary::Multiply, &[y, scale]);
    if scores.softcap > 0.0 {
        let cap = reader.number_like(y, scores.softcap);
        let part = reader.elementwise(Binary::Divide, &[y, cap]);
        let bounded = reader.elementwise(Activation::Tanh, &[part]);
        y = reader.elementwise(Binary::Multiply, &[bounded, cap]);
    }
    if scores.causal {
        let seen = causal(reader, operands);
        y = masked(reader, y, seen);
    }
    let softmax = Op::Softmax(Softmax { axis: -1, log: false });
    let Some(mask) = mask else { return reader.op(softmax, vec![y]) };
    y = masked(reader, y, mask);
    let axis = reader.integers(&[-1]);
    let largest =
        Op::Reduce(Reduce { reduction: Reduction::Max, keep: true, no_axes: NoAxes::All });
    let largest = reader.op(largest, vec![y, axis]);
    let [none, zero] = [f32::NEG_INFINITY, 0.0].map(|number| reader.number_like(y, number));
    let is_alone = reader.elementwise(Comparison::Equal, &[largest, none]);
    let element = reader.element(y);
    let y = reader.op(softmax, vec![y]);
    reader.op_of(Op::elementwise(Primitive::Select), vec![is_alone, zero, y], element)
}

/// Queries, keys and values, with the cache in front of keys and values. True if the heads were
/// joined in tensors of three dimensions. `None` after an error.
fn operands(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Option<(Operands, bool)> {
    let heads = ["q_num_heads", "kv_num_heads"].map(|name| call.attributes.int(name));
    let inputs = [call.x(), call.input(1)?, call.input(2)?];
    let joined = match (reader.rank(inputs[0]), heads) {
        (Some(3) | None, [Some(of_queries), Some(of_keys)]) => Some([of_queries, of_keys, of_keys]),
        (Some(4), _) | (None, [None, None]) => None,
        _ => {
            let valid = "queries, keys and values of four dimensions, or of three with q_num_heads \
                and kv_num_heads";
            reader.error("an Attention of other dimensions", valid, "export the model again");
            return None;
        }
    };
    let [query, mut key, mut value] = match joined {
        Some(heads) => [0, 1, 2].map(|at| by_heads(reader, inputs[at], heads[at])),
        None => inputs,
    };
    let mut cached = reader.integer(0);
    let pair = ["past_key", "past_value"];
    if let [Some((given, _)), None] | [None, Some((given, _))] =
        [(0, 4), (1, 5)].map(|(at, port)| call.input(port).map(|value| (at, value)))
    {
        let found = format!("{} without {}", pair[given], pair[1 - given]);
        reader.error(found, "both or none", "export the model again");
        return None;
    }
    if let (Some(of_keys), Some(of_values)) = (call.input(4), call.input(5)) {
        let (none, count) = (reader.integers(&[]), size(reader, of_keys, 2));
        cached = reader.op(Op::Reshape { zero_keeps: false }, vec![count, none]);
        key = reader.op(Op::Concat { axis: 2 }, vec![of_keys, key]);
        value = reader.op(Op::Concat { axis: 2 }, vec![of_values, value]);
    }
    Some((Operands { query, key, value, cached }, joined.is_some()))
}

/// Attention.
pub(super) fn attention(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    // qk_matmul_output_mode is about the fourth output, which is not supported; softmax_precision
    // has no effect on a softmax in f32
    ["qk_matmul_output_mode", "softmax_precision"]
        .iter()
        .for_each(|name| call.attributes.ignore(name));
    let scores = Scores {
        scale: call.attributes.finite("scale"),
        softcap: call.attributes.finite("softcap").unwrap_or(0.0),
        causal: call.attributes.flag("is_causal", false),
    };
    let mask = call.input(3);
    let (own, joined) = operands(reader, call)?;
    let (present_key, present_value) = (own.key, own.value);
    let [key, value] = [own.key, own.value].map(|value| repeated(reader, value, own.query));
    let operands = Operands { key, ..own };
    let weights = weights(reader, &operands, &scores, mask);
    let mut y =
        reader.op(Op::MatMul { transpose_a: false, transpose_b: false }, vec![weights, value]);
    if joined {
        y = transposed(reader, y);
        let shape = reader.integers(&[0, 0, -1]);
        y = reader.op(Op::Reshape { zero_keeps: true }, vec![y, shape]);
    }
    Some(vec![y, present_key, present_value])
}
