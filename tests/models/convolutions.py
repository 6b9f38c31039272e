"""Writes the cases of convolutions into tests/onnx/cases: `tcn`, residual blocks of causal convolutions with dilation, a convolution of each channel and
two pools; `tcn_cut`, such blocks as PyTorch has them, padded at both sides and cut; `conv_planes`, convolutions of planes, in groups and with uneven pads;
`causal_planes`, an encoder and a decoder of planes over time and frequency; `pads_in_front`, pads in front of the first step that other operations
follow before the convolution, as Keras has them. The goldens are computed here, in float64.

python3 tests/models/convolutions.py
"""

import itertools
import json
import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FOLDER = pathlib.Path(__file__).parent.parent / "onnx" / "cases"


class Graph:
    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.weights, self.nodes = [], []

    def draw(self, name, shape, size):
        values = (self.random.uniform(-1, 1, shape) * size).astype(np.float32)
        self.weights.append((name, values))
        return name

    def conv(self, x, y, shape, **attributes):
        size = 1.5 / np.sqrt(np.prod(shape[1:]))
        inputs = [x, self.draw(y + "_w", shape, size), self.draw(y + "_b", shape[:1], 0.3)]
        self.nodes.append(helper.make_node("Conv", inputs, [y], name=y, **attributes))
        return y

    def node(self, kind, inputs, y, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [y], name=y, **attributes))
        return y

    def integers(self, name, *values):
        self.weights.append((name, np.array(values, np.int64)))
        return name

    def model(self, name, x, y):
        of = TensorProto.FLOAT
        graph = helper.make_graph(
            self.nodes,
            name,
            [helper.make_tensor_value_info("x", of, x)],
            [helper.make_tensor_value_info("y", of, y)],
            [numpy_helper.from_array(w, n) for n, w in self.weights],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        onnx.checker.check_model(model)
        return model


def windows(x, kernel, pads, dilations, value):
    """Of `[N, C, ...]`: for each tap of the kernel, in order, the elements that it meets at every position."""
    rank = len(kernel)
    x = np.pad(x, [(0, 0), (0, 0)] + list(zip(pads[:rank], pads[rank:])), constant_values=value)
    sizes = [n - (k - 1) * d for n, k, d in zip(x.shape[2:], kernel, dilations)]
    for tap in itertools.product(*map(range, kernel)):
        at = (slice(t * d, t * d + n) for t, d, n in zip(tap, dilations, sizes))
        yield tap, x[(slice(None), slice(None), *at)]


def apart(x, w, stride, pads):
    """What a transposed convolution of stride 1 along the first axis reads, its weights and pads as those of a convolution."""
    wide = np.zeros([*x.shape[:3], (x.shape[3] - 1) * stride + 1])
    wide[..., ::stride] = x
    reach = [k - 1 for k in w.shape[2:]]
    return wide, np.flip(w.swapaxes(0, 1), (2, 3)), [r - p for r, p in zip(reach * 2, pads)]


def evaluate(graph, x):
    """In float64, as ONNX says; every stride is 1 but those along frequency."""
    wide = lambda w: w.astype(np.float64) if w.dtype == np.float32 else w
    known = {"x": x.astype(np.float64), **{name: wide(w) for name, w in graph.weights}}
    for node in graph.nodes:
        given = [known[name] for name in node.input]
        said = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        plain = {
            "Relu": lambda a: np.maximum(a, 0),
            "Tanh": np.tanh,
            "Sigmoid": lambda a: 1 / (1 + np.exp(-a)),
            "Transpose": lambda a: a.transpose(said["perm"]),
            "Unsqueeze": lambda a, axes: np.expand_dims(a, tuple(axes)),
            "Squeeze": lambda a, axes: np.squeeze(a, tuple(axes)),
            "Add": np.add,
            "Shape": lambda a: np.array(a.shape),
            "Gather": lambda a, i: a[i],
            "Concat": lambda *all: np.concatenate(all, said["axis"]),
            "Slice": lambda a, start, stop, axis: a[(*[slice(None)] * axis[0], slice(start[0], stop[0]))],
        }
        if node.op_type in plain:
            y = plain[node.op_type](*given)
        elif node.op_type == "Pad":
            rank = given[0].ndim
            y = np.pad(given[0], list(zip(given[1][:rank], given[1][rank:])))
        else:
            if node.op_type == "ConvTranspose":
                stride, pads = said.pop("strides")[1], said["pads"]
                given[0], given[1], said["pads"] = apart(given[0], given[1], stride, pads)
            kernel = said.get("kernel_shape") or given[1].shape[2:]
            rank = len(kernel)
            value = -np.inf if node.op_type == "MaxPool" else 0
            taps = windows(
                given[0], kernel, said.get("pads", [0] * 2 * rank), said.get("dilations", [1] * rank), value
            )
            if node.op_type == "MaxPool":
                y = np.max([part for _, part in taps], axis=0)
            elif node.op_type == "AveragePool":
                assert said["count_include_pad"] == 1
                y = np.mean([part for _, part in taps], axis=0)
            else:
                _, w, b = given
                strides = said.get("strides", [1] * rank)
                taps = ((tap, part[(..., *[slice(None, None, n) for n in strides])]) for tap, part in taps)
                groups = said.get("group", 1)
                each = w.shape[0] // groups
                y = b.reshape([1, -1] + [1] * rank)
                for tap, part in taps:
                    parts = np.split(part, groups, axis=1)
                    own = [w[(slice(g * each, (g + 1) * each), slice(None), *tap)] for g in range(groups)]
                    y = y + np.concatenate([np.einsum("nc...,mc->nm...", p, w) for p, w in zip(parts, own)], axis=1)
        known[node.output[0]] = y
    return known["y"]


def tcn():
    graph = Graph(1)
    x, channels = "x", 3
    for i, dilation in enumerate((1, 2, 4)):
        at = {"pads": [2 * dilation, 0], "dilations": [dilation]}
        a = graph.node("Relu", [graph.conv(x, f"first{i}", (6, channels, 3), **at)], f"first_relu{i}")
        b = graph.node("Relu", [graph.conv(a, f"second{i}", (6, 6, 3), **at)], f"second_relu{i}")
        rest = graph.conv(x, f"rest{i}", (6, channels, 1)) if channels != 6 else x
        x, channels = graph.node("Relu", [graph.node("Add", [b, rest], f"sum{i}")], f"block{i}"), 6
    x = graph.conv(x, "each", (6, 1, 5), pads=[4, 0], group=6)
    x = graph.node("MaxPool", [x], "most", kernel_shape=[3], pads=[2, 0])
    x = graph.node("AveragePool", [x], "mean", kernel_shape=[2], pads=[1, 0], count_include_pad=1)
    graph.conv(x, "y", (2, 6, 1))
    return graph, [1, 3, "time"], [1, 2, "time"], [[1, 3, 37], [1, 3, 5]]


def tcn_cut():
    graph = Graph(3)
    start, axis = graph.integers("start", 0), graph.integers("axis", 2)
    x, channels = "x", 3
    for i, dilation in enumerate((1, 2)):
        pads = 2 * dilation
        at = {"pads": [pads, pads], "dilations": [dilation]}
        y = graph.conv(x, f"first{i}", (6, channels, 3), **at)
        y = graph.node("Slice", [y, start, graph.integers(f"stop{i}", -pads), axis], f"first_cut{i}")
        y = graph.conv(graph.node("Relu", [y], f"first_relu{i}"), f"second{i}", (6, 6, 3), **at)
        # as many as the input has; what does not mix steps may come before
        y = graph.node("Relu", [y], f"second_relu{i}")
        steps = graph.node("Gather", [graph.node("Shape", [x], f"shape{i}"), axis], f"steps{i}")
        y = graph.node("Slice", [y, start, steps, axis], f"second_cut{i}")
        rest = graph.conv(x, f"rest{i}", (6, channels, 1)) if channels != 6 else x
        x, channels = graph.node("Relu", [graph.node("Add", [y, rest], f"sum{i}")], f"block{i}"), 6
    graph.conv(x, "y", (2, 6, 1))
    return graph, [1, 3, "time"], [1, 2, "time"], [[1, 3, 37], [1, 3, 3]]


def cut_residual():
    graph = Graph(5)
    a = graph.conv("x", "wide", (3, 3, 3), pads=[2, 2])
    b = graph.node("Pad", ["x", graph.integers("around", 0, 0, 1, 0, 0, 1)], "padded")
    sum_ = graph.node("Add", [a, b], "sum")
    ends = [graph.integers("start", 0), graph.integers("stop", -2), graph.integers("axis", 2)]
    y, rest = graph.node("Slice", [sum_, *ends], "cut"), graph.node("Slice", [b, *ends], "rest")
    graph.node("Add", [y, rest], "y")
    return graph, [1, 3, 20], [1, 3, 20], [[1, 3, 20]]


def causal_planes():
    graph = Graph(4)
    in_front = graph.integers("in_front", 0, 0, 2, 0, 0, 0, 0, 0)
    # time padded by the convolution, then by a Pad of its own; frequency at both sides
    x = graph.conv("x", "down1", (4, 2, 2, 3), strides=[1, 2], pads=[1, 1, 0, 1])
    first = graph.node("Tanh", [x], "bent1")
    x = graph.node("Pad", [first, in_front], "padded")
    x = graph.conv(x, "each", (4, 1, 3, 3), pads=[0, 1, 0, 1], group=4)
    x = graph.node("Tanh", [x], "bent2")
    x = graph.node("Concat", [x, first], "skip", axis=1)
    # of two steps, the last of which has what is not there
    inputs = [x, graph.draw("up_w", (8, 2, 2, 3), 0.4), graph.draw("up_b", (2,), 0.3)]
    x = graph.node("ConvTranspose", inputs, "up", strides=[1, 2], pads=[0, 1, 0, 1])
    graph.node("Slice", [x, graph.integers("start", 0), graph.integers("stop", -1), graph.integers("axis", 2)], "y")
    return graph, [1, 2, "time", 9], [1, 2, "time", 9], [[1, 2, 23, 9], [1, 2, 2, 9]]


def pads_in_front():
    graph = Graph(6)
    channels_first = {"perm": [0, 2, 1]}
    # a function that makes another number of 0
    x = graph.node("Pad", ["x", graph.integers("two", 0, 2, 0, 0, 0, 0)], "first_pad")
    x = graph.node("Sigmoid", [x], "bent1")
    x = graph.node("Transpose", [x], "turned1", **channels_first)
    x = graph.node("Relu", [graph.conv(x, "valid", (6, 3, 3))], "bent2")
    # two pads, then a plane of one row
    x = graph.node("Transpose", [x], "back", **channels_first)
    for count in (1, 3):
        x = graph.node("Pad", [x, graph.integers(f"pads{count}", 0, count, 0, 0, 0, 0)], f"padded{count}")
    x = graph.node("Unsqueeze", [x, graph.integers("row", 1)], "plane")
    x = graph.node("Transpose", [x], "turned2", perm=[0, 3, 1, 2])
    x = graph.conv(x, "each", (6, 1, 1, 3), dilations=[1, 2], group=6)
    x = graph.node("Squeeze", [x, graph.integers("rows", 2)], "line")
    # elements for two convolutions
    x = graph.node("Concat", [graph.draw("start", (1, 6, 4), 0.5), x], "behind", axis=2)
    x = graph.node("Tanh", [graph.conv(x, "inner", (4, 6, 3))], "bent3")
    graph.node("Transpose", [graph.conv(x, "outer", (2, 4, 3))], "y", **channels_first)
    return graph, [1, "time", 3], [1, "time", 2], [[1, 29, 3], [1, 1, 3]]


def planes():
    graph = Graph(2)
    x = graph.conv("x", "wide", (7, 2, 3, 3), pads=[1, 1, 1, 1])
    x = graph.node("Tanh", [x], "bent")
    x = graph.conv(x, "uneven", (12, 7, 2, 3), pads=[0, 2, 1, 0], dilations=[1, 2])
    x = graph.conv(x, "groups", (6, 4, 3, 2), pads=[2, 0, 0, 1], group=3)
    graph.conv(x, "y", (12, 1, 3, 3), pads=[1, 1, 1, 1], group=6)
    return graph, [1, 2, 9, 21], [1, 12, 9, 19], [[1, 2, 9, 21]]


def write(name, about, made):
    graph, x, y, shapes = made
    folder = FOLDER / name
    folder.mkdir(exist_ok=True)
    model = graph.model(name, x, y)
    onnx.save(model, folder / "model.onnx")
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    runs, most = [], 0.0
    for k, shape in enumerate(shapes):
        given = np.random.default_rng(10 + k).uniform(-1, 1, shape).astype(np.float32)
        oracle = evaluate(graph, given)
        [ort] = session.run(None, {"x": given})
        assert np.abs(ort - oracle).max() < 1e-5
        most = max(most, float(np.abs(oracle).max()))
        given.tofile(folder / f"r{k}_in0.bin")
        ort.tofile(folder / f"r{k}_ort0.bin")
        oracle.tofile(folder / f"r{k}_ref0.bin")
        tensor = lambda file, dtype, shape: [{"file": file, "dtype": dtype, "shape": list(shape)}]
        other = tensor(f"r{k}_ort0.bin", "f32", ort.shape)
        runs.append(
            {
                "inputs": tensor(f"r{k}_in0.bin", "f32", shape),
                "openvino": other,
                "onnxruntime": other,
                "oracle": tensor(f"r{k}_ref0.bin", "f64", oracle.shape),
            }
        )
    case = {
        "name": name,
        "family": "convolutions",
        "about": about,
        "origin": "tests/models/convolutions.py",
        "onnx": onnx.__version__,
        "onnxruntime": onnxruntime.__version__,
        "model": "model.onnx",
        "golden": "numpy in float64, by this script",
        "runs": runs,
        "tolerance": [{"abs": 2e-6 * max(1.0, most), "rule": "|out-oracle| <= abs"}],
    }
    (folder / "case.json").write_text(json.dumps(case, indent=1) + "\n")


write("tcn", "causal convolutions with dilation in residual blocks, pools over time", tcn())
write("tcn_cut", "causal convolutions that are padded at both sides and cut, as PyTorch has them", tcn_cut())
write("cut_residual", "a slice cuts off the end of a sum, of which one part is read again", cut_residual())
write("causal_planes", "convolutions over time and frequency, causal over time, and a transposed one over frequency", causal_planes())
write("conv_planes", "convolutions of planes, in groups and with uneven pads", planes())
write("pads_in_front", "pads over time in front of operations that move or bend elements, then convolutions", pads_in_front())
