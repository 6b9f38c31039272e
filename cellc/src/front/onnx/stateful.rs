//! Readers of operators with a state among their inputs and outputs: linear attention, and
//! convolutions that keep their last inputs.

use super::graph::{Call, GraphReader, Outputs};
use super::recurrent::entry;
use super::windows::size_attribute;
use crate::diagnostic::quoted;
use crate::model::{
    Binary, BroadcastMode, Composed, Convolution, ElementType, Groups, Heads, LinearAttention, Op,
    OutputSizes, Padding, UpdateRule, ValueId, Window,
};

/// The advice for an attribute or an input that is missing or not supported.
const EXPORT_AGAIN: &str = "export the model again with a valid value";

/// LinearAttention of ONNX: every head of keys has one head of queries or more.
pub(super) fn linear_attention(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    attention(reader, call, false)
}

/// LinearAttention of ONNX Runtime: also with fewer heads of queries than of keys.
pub(super) fn linear_attention_of_runtime(
    reader: &mut GraphReader<'_>,
    call: &mut Call<'_>,
) -> Outputs {
    let window = call.attributes.int("state_window");
    refuse_other(reader, "state_window", window, 0)?;
    attention(reader, call, true)
}

/// Refuses an attribute with a number other than `valid`. `None` after an error.
fn refuse_other(
    reader: &mut GraphReader<'_>,
    name: &str,
    given: Option<i64>,
    valid: i64,
) -> Option<()> {
    match given {
        Some(given) if given != valid => {
            reader.inexpressible(format!("{name}={given}"), valid.to_string(), EXPORT_AGAIN)
        }
        _ => Some(()),
    }
}

fn attention(reader: &mut GraphReader<'_>, call: &mut Call<'_>, shares_queries: bool) -> Outputs {
    // chunk_size divides the computation of a sequence and does not change the result
    call.attributes.ignore("chunk_size");
    let rule = update_rule(reader, call)?;
    let [queries, keys] = ["q_num_heads", "kv_num_heads"].map(|name| {
        let heads = call.attributes.int(name);
        if heads.is_none() {
            reader.error(format!("no {name}"), format!("the attribute {name}"), EXPORT_AGAIN);
        }
        heads
    });
    let scale = call.attributes.float("scale").filter(|scale| *scale != 0.0);
    let (queries, keys) = (queries?, keys?);
    let past = call.input(3);
    let inputs = inputs_of_attention(reader, call, rule)?;
    let ledger = vec![
        entry("update_rule", Some(rule.name().to_owned()), rule.formula()),
        entry("q_num_heads", Some(queries.to_string()), "heads of the queries"),
        entry("kv_num_heads", Some(keys.to_string()), "heads of keys and values"),
        match scale {
            Some(scale) => entry("scale", Some(scale.to_string()), "the factor of the output"),
            None => entry("scale", None, "one by the root of a key's length"),
        },
    ];
    let heads = Heads::Joined { queries, keys, shares_queries };
    let attention = LinearAttention { rule, heads, scale, has_past: past.is_some() };
    let elements = [inputs[0], past.unwrap_or(inputs[0])].map(|value| reader.element(value));
    Some(reader.ops_of(Op::LinearAttention(attention), inputs, elements.to_vec(), ledger))
}

/// The inputs query, key and value, then past state, decay and beta if the node has them. Refuses
/// a node without a gate that the rule reads, or with a gate that the rule does not read.
fn inputs_of_attention(
    reader: &mut GraphReader<'_>,
    call: &Call<'_>,
    rule: UpdateRule,
) -> Option<Vec<ValueId>> {
    let mut inputs = vec![call.x(), call.input(1)?, call.input(2)?];
    inputs.extend(call.input(3));
    for (name, at, is_read) in [("decay", 4, rule.has_decay()), ("beta", 5, rule.has_rate())] {
        let gate = call.input(at);
        if gate.is_some() != is_read {
            let [found, valid] = if is_read { ["without", "the"] } else { ["with", "no"] };
            let found = format!("update_rule={} {found} the input {name}", rule.name());
            reader.error(found, format!("{valid} input {name}"), EXPORT_AGAIN);
            return None;
        }
        inputs.extend(gate);
    }
    Some(inputs)
}

fn update_rule(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Option<UpdateRule> {
    let given = call.attributes.text("update_rule").unwrap_or_else(|| "gated_delta".to_owned());
    let found = UpdateRule::ALL.into_iter().find(|rule| rule.name() == given);
    if found.is_none() {
        let valid = UpdateRule::ALL.map(UpdateRule::name).join(", ");
        reader.error(format!("update_rule={}", quoted(&given)), valid, EXPORT_AGAIN);
    }
    found
}

/// CausalConvWithState of ONNX.
pub(super) fn causal_conv(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    convolution_with_state(reader, call, Form { dilation: 1, channels_last: false })
}

/// CausalConvWithState of ONNX Runtime: also with a dilation and with the channels last.
pub(super) fn causal_conv_of_runtime(reader: &mut GraphReader<'_>, call: &mut Call<'_>) -> Outputs {
    let only = [
        ("ndim", 1),
        ("state_window", 0),
        ("state_update_capacity", 0),
        ("state_channels_last", -1),
        ("state_length", 0),
        ("input_channel_offset", 0),
        ("input_channels", 0),
    ];
    for (name, valid) in only {
        let given = call.attributes.int(name);
        refuse_other(reader, name, given, valid)?;
    }
    let dilation = call.attributes.int("dilation").unwrap_or(1);
    let dilation = size_attribute(reader, "dilation", dilation)?;
    let channels_last = call.attributes.flag("channels_last", false);
    if channels_last && reader.rank(call.x()).is_some_and(|rank| rank != 3) {
        let found = "channels_last=1 with several axes of channels";
        return reader.inexpressible(
            found,
            "an input of three dimensions",
            "join the axes by a Reshape",
        );
    }
    convolution_with_state(reader, call, Form { dilation, channels_last })
}

/// The form of a convolution with a state.
struct Form {
    /// Steps between the elements of a window.
    dilation: usize,
    /// True for `[N, T, C]`, false for `[N, C, T]`.
    channels_last: bool,
}

/// A depthwise convolution over the concatenation of state and input. The last elements of the
/// concatenation are the next state.
fn convolution_with_state(
    reader: &mut GraphReader<'_>,
    call: &mut Call<'_>,
    form: Form,
) -> Outputs {
    let activation = call.attributes.text("activation").unwrap_or_else(|| "none".to_owned());
    if !["none", "silu", "swish"].contains(&&activation[..]) {
        let found = format!("activation={}", quoted(&activation));
        reader.error(found, "none, silu, swish", EXPORT_AGAIN);
        return None;
    }
    let turned = |reader: &mut GraphReader<'_>, value: ValueId| match form.channels_last {
        true => {
            let order = reader.integers(&[0, 2, 1]);
            reader.op(Op::Transpose, vec![value, order])
        }
        false => value,
    };
    let (w, x) = (call.input(1)?, turned(reader, call.x()));
    let [one, two, zero] = [1, 2, 0].map(|number| reader.integers(&[number]));
    let size = |reader: &mut GraphReader<'_>, tensor: ValueId, at: ValueId| {
        let (sizes, axis) =
            (reader.op_of(Op::ShapeOf, vec![tensor], ElementType::I64), reader.integer(0));
        reader.op(Op::Gather { batch_dims: 0 }, vec![sizes, at, axis])
    };
    // a window reaches (k - 1) * dilation elements back
    let taps = size(reader, w, two);
    let dilation = reader.integers(&[form.dilation as i64]);
    let before = reader.elementwise(Binary::Subtract, &[taps, one]);
    let before = reader.elementwise(Binary::Multiply, &[before, dilation]);
    let past = match call.input(3) {
        Some(past) => turned(reader, past),
        None => {
            let sizes = [zero, one].map(|at| size(reader, x, at));
            let shape = reader.op(Op::Concat { axis: 0 }, vec![sizes[0], sizes[1], before]);
            let value = reader.number_like(x, 0.0);
            reader.op(Op::Broadcast(BroadcastMode::Numpy), vec![value, shape])
        }
    };
    let joined = reader.op(Op::AppendToState, vec![past, x]);
    // weights [C, 1, k] become [C, 1, 1, k]: one group for each channel
    let w = reader.op(Op::Unsqueeze, vec![w, one]);
    let window =
        Window { strides: Vec::new(), dilations: vec![form.dilation], padding: Padding::Valid };
    let convolution = Convolution {
        kernel: Vec::new(),
        window,
        groups: Groups::InWeights,
        transposed: false,
        output_padding: Vec::new(),
        output_sizes: OutputSizes::Follow,
    };
    let mut y = reader.op(Op::Convolution(Box::new(convolution)), vec![joined, w]);
    if let Some(bias) = call.input(2) {
        let bias = reader.op(Op::Unsqueeze, vec![bias, one]);
        y = reader.elementwise(Binary::Add, &[y, bias]);
    }
    if activation != "none" {
        y = reader.elementwise(Composed::Swish { scaled: false }, &[y]);
    }
    let length = size(reader, x, two);
    let end = reader.elementwise(Binary::Add, &[length, before]);
    let last = reader.op(Op::Slice, vec![joined, length, end, one, two]);
    Some(vec![turned(reader, y), turned(reader, last)])
}
