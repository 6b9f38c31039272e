"""Small recurrent layers computed by PyTorch, Keras and ONNX Runtime themselves; of PyTorch's some as Apple holds them.

    pip install torch keras onnx onnxruntime safetensors numpy
    KERAS_BACKEND=torch python make.py

Each file beside this one holds, under the names that the framework has for them, the weights of a layer; an input `x [N, T, I]`;
the initial states `h0` and `c0` `[N, layers * D, H]`, where they are not zero; and what the framework computed: `y [N, T, D * H]`,
`hn` and `cn`. The weights of PyTorch stand under a prefix, as in the state_dict of a module that holds the layer.
"""

import os
import sys

os.environ.setdefault("KERAS_BACKEND", "torch")
import numpy as np
import torch
from safetensors.torch import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
N, T, I, H = 2, 4, 3, 5


def save(name, tensors):
    tensors = {key: torch.as_tensor(value).contiguous().clone() for key, value in tensors.items()}
    save_file(tensors, os.path.join(HERE, name + ".safetensors"))
    print(name, {key: list(value.shape) for key, value in tensors.items()}, file=sys.stderr)


def batch_first(states):
    return states.transpose(0, 1)


def pytorch(name, kind, dtype=torch.float32, initial=True, head=False, outer_bias=False, **arguments):
    torch.manual_seed(len(name) + sum(map(ord, name)))
    layer = getattr(torch.nn, kind.upper())(I, H, batch_first=True, **arguments)
    for parameter in layer.parameters():
        parameter.data.uniform_(-1.0, 1.0)
    if outer_bias:
        # the recurrent bias of the candidate, the last third
        layer.bias_hh_l0.data[2 * H:] = 0.0
    layer = layer.to(dtype)
    weights = {f"{kind}.{key}": value.clone() for key, value in layer.state_dict().items()}
    # what the stored values give in the precision in which they can be computed
    exact = torch.float64 if dtype == torch.float64 else torch.float32
    layer = layer.to(exact)
    x = torch.randn(N, T, I).to(exact)
    count = layer.num_layers * (2 if layer.bidirectional else 1)
    tensors = {"x": x}
    given = None
    if initial:
        h0 = torch.rand(count, N, H).to(exact) * 2 - 1
        c0 = torch.rand(count, N, H).to(exact) * 2 - 1
        tensors["h0"] = batch_first(h0)
        given = h0
        if kind == "lstm":
            tensors["c0"] = batch_first(c0)
            given = (h0, c0)
    with torch.no_grad():
        y, states = layer(x, given)
        tensors["y"] = y
        hn, cn = states if kind == "lstm" else (states, None)
        tensors["hn"] = batch_first(hn)
        if cn is not None:
            tensors["cn"] = batch_first(cn)
        if head:
            fc = torch.nn.Linear(y.shape[-1], 2)
            weights |= {f"fc.{key}": value for key, value in fc.state_dict().items()}
            tensors["out"] = torch.sigmoid(fc(y))
    save(name, tensors | weights)
    return tensors | weights


def apple(name, layer, after):
    """The same layer as Apple holds it: rows r, n, z; the recurrent biases and those of the input, or the sum of both."""

    def rows(key):
        r, z, n = layer[f"gru.{key}_l0"].chunk(3)
        return torch.cat([r, n, z])

    tensors = {"apple.input_hidden_weight": rows("weight_ih"), "apple.hidden_hidden_weight": rows("weight_hh")}
    if after:
        tensors |= {"apple.bias": rows("bias_hh"), "apple.input_bias": rows("bias_ih")}
    else:
        tensors["apple.bias"] = rows("bias_ih") + rows("bias_hh")
    save(name, tensors | {key: layer[key] for key in ["x", "h0", "y", "hn"]})


def keras_layer(name, kind, bidirectional=False, **arguments):
    import keras

    rng = np.random.default_rng(len(name))
    make = {"rnn": keras.layers.SimpleRNN, "gru": keras.layers.GRU, "lstm": keras.layers.LSTM}[kind]
    layer = make(H, return_sequences=True, return_state=True, **arguments)
    if bidirectional:
        layer = keras.layers.Bidirectional(layer)
    x = rng.standard_normal((N, T, I)).astype(np.float32)
    layer.build(x.shape)
    layer.set_weights([rng.uniform(-1, 1, w.shape).astype(np.float32) for w in layer.get_weights()])
    per_direction = 2 if kind == "lstm" else 1
    count = per_direction * (2 if bidirectional else 1)
    states = [rng.uniform(-1, 1, (N, H)).astype(np.float32) for _ in range(count)]
    y, *last = [keras.ops.convert_to_numpy(v) for v in layer(x, initial_state=states)]

    def stacked(values, which):
        return np.stack(values[which::per_direction], axis=1)

    tensors = {"x": x, "y": y, "h0": stacked(states, 0), "hn": stacked(last, 0)}
    if kind == "lstm":
        tensors |= {"c0": stacked(states, 1), "cn": stacked(last, 1)}
    names = ["kernel", "recurrent_kernel", "bias"]
    weights = layer.get_weights()
    if not arguments.get("use_bias", True):
        names.pop()
    prefixes = ["", "backward_"] if bidirectional else [""]
    names = [prefix + weight for prefix in prefixes for weight in names]
    assert len(names) == len(weights)
    save(name, tensors | dict(zip(names, weights)))


def onnx_layer(name, kind, direction="forward", peepholes=False, **attributes):
    import onnxruntime
    from onnx import TensorProto, helper

    rng = np.random.default_rng(len(name))
    gates = {"rnn": 1, "gru": 3, "lstm": 4}[kind]
    d = 2 if direction == "bidirectional" else 1

    def uniform(*shape):
        return rng.uniform(-1, 1, shape).astype(np.float32)

    weights = {"W": uniform(d, gates * H, I), "R": uniform(d, gates * H, H), "B": uniform(d, 2 * gates * H)}
    x = rng.standard_normal((T, N, I)).astype(np.float32)
    feeds = {"X": x, "h": uniform(d, N, H)}
    inputs = ["X", "W", "R", "B", "", "h"]
    outputs = ["Y", "Y_h"]
    if kind == "lstm":
        feeds["c"] = uniform(d, N, H)
        inputs.append("c")
        outputs.append("Y_c")
    if peepholes:
        weights["P"] = uniform(d, 3 * H)
        inputs.append("P")
    node = helper.make_node(kind.upper(), inputs, outputs, hidden_size=H, direction=direction, **attributes)
    feeds |= weights
    graph = helper.make_graph(
        [node], "layer",
        [helper.make_tensor_value_info(key, TensorProto.FLOAT, value.shape) for key, value in feeds.items()],
        [helper.make_tensor_value_info(key, TensorProto.FLOAT, None) for key in outputs],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    y, *last = session.run(outputs, feeds)
    # [T, D, N, H] -> [N, T, D * H]
    y = y.transpose(2, 0, 1, 3).reshape(N, T, d * H)
    tensors = {"x": x.transpose(1, 0, 2), "y": y, "h0": feeds["h"].transpose(1, 0, 2), "hn": last[0].transpose(1, 0, 2)}
    if kind == "lstm":
        tensors |= {"c0": feeds["c"].transpose(1, 0, 2), "cn": last[1].transpose(1, 0, 2)}
    save(name, {key: np.ascontiguousarray(value) for key, value in (tensors | weights).items()})


pytorch("pytorch_rnn", "rnn")
pytorch("pytorch_rnn_relu", "rnn", nonlinearity="relu")
apple("apple_gru_after", pytorch("pytorch_gru", "gru"), after=True)
pytorch("pytorch_gru_without_bias", "gru", bias=False)
pytorch("pytorch_gru_f16", "gru", dtype=torch.float16)
pytorch("pytorch_gru_bf16", "gru", dtype=torch.bfloat16)
pytorch("pytorch_gru_f64", "gru", dtype=torch.float64)
pytorch("pytorch_gru_two_layers_both_ways", "gru", num_layers=2, bidirectional=True)
pytorch("pytorch_lstm", "lstm")
pytorch("pytorch_lstm_two_layers_both_ways", "lstm", num_layers=2, bidirectional=True)
apple("apple_gru_outer_bias", pytorch("pytorch_gru_outer_bias", "gru", outer_bias=True), after=False)
pytorch("pytorch_gru_with_head", "gru", initial=False, head=True, num_layers=2)
pytorch("pytorch_lstm_both_ways_with_head", "lstm", initial=False, head=True, bidirectional=True)

keras_layer("keras_rnn", "rnn")
keras_layer("keras_gru_reset_after", "gru", reset_after=True)
keras_layer("keras_gru_reset_before", "gru", reset_after=False)
keras_layer("keras_gru_without_bias", "gru", use_bias=False)
keras_layer("keras_gru_both_ways", "gru", bidirectional=True)
keras_layer("keras_lstm", "lstm")

onnx_layer("onnx_rnn", "rnn")
onnx_layer("onnx_gru_reset_after", "gru", linear_before_reset=1)
onnx_layer("onnx_gru_reset_before", "gru", linear_before_reset=0)
onnx_layer("onnx_gru_both_ways", "gru", direction="bidirectional", linear_before_reset=1)
onnx_layer("onnx_lstm", "lstm")
onnx_layer("onnx_lstm_peepholes", "lstm", peepholes=True)
