#!/usr/bin/env python3
"""Time of ONNX Runtime over that of cellc's C and Rust, for whole networks with random weights.

usage: networks.py CELLC [NAME...] [--rounds 200] [--compiler gcc] [--keep FOLDER] [-- OPTION...]

Needs onnx, onnxruntime and numpy; openvino takes part if it is installed. Each network becomes an
ONNX file, and with `cellc OPTION...` a C file (-O2) and a Rust file (-O, one codegen unit), each a
shared library. Outputs are compared with ONNX Runtime, at most 1e-4 apart, before timing. In each
round every contender computes for about 5 ms, in turn, one thread each, one after the other in one
process; the table has medians. The time that Python takes to call ONNX Runtime, as measured with a
network of one operation, is subtracted.
"""

import argparse
import ctypes
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

RUST = """
#[allow(warnings)]
#[path = "net.rs"]
mod net;

#[no_mangle]
pub extern "C" fn rust_new() -> *mut net::Net {
    Box::into_raw(Box::new(net::Net::new()))
}

#[no_mangle]
pub unsafe extern "C" fn rust_run(net: *mut net::Net, x: *const f32, y: *mut f32, times: usize) {
    for _ in 0..times {
        (*net).step(&*x.cast(), &mut *y.cast());
    }
}
"""

C = """
#include "net.h"
#include <stdlib.h>

void *c_new(void) {
    size_t alignment = net_alignment();
    net *self = aligned_alloc(alignment, (net_size() + alignment - 1) / alignment * alignment);
    if (self) net_init(self);
    return self;
}

void c_run(void *self, const float *x, float *y, size_t times) {
    for (size_t i = 0; i < times; i++) net_step(self, x, y);
}
"""


class Net:
    """A network under construction: nodes, and weights of fitting magnitude."""

    def __init__(self, *shape):
        self.random = np.random.default_rng(1)
        self.nodes, self.weights, self.shape = [], [], shape

    def constant(self, array):
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def numbers(self, *shape, scale=None):
        scale = scale or 1.0 / np.sqrt(max(1, np.prod(shape[1:])))
        return self.constant((self.random.standard_normal(shape) * scale).astype(np.float32))

    def op(self, kind, *inputs, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def conv(self, x, inputs, outputs, kernel, **attributes):
        groups = attributes.get("group", 1)
        w, b = self.numbers(outputs, inputs // groups, *kernel), self.numbers(outputs)
        return self.op("Conv", x, w, b, kernel_shape=list(kernel), **attributes)

    def transposed(self, x, inputs, outputs, kernel, **attributes):
        w, b = self.numbers(inputs, outputs, *kernel), self.numbers(outputs)
        return self.op("ConvTranspose", x, w, b, kernel_shape=list(kernel), **attributes)

    def dense(self, x, inputs, outputs):
        w = self.numbers(inputs, outputs, scale=1.0 / np.sqrt(inputs))
        return self.op("Add", self.op("MatMul", x, w), self.numbers(outputs))

    def gru(self, x, inputs, units):
        """x `[T, 1, inputs]`; returns `[T, 1, units]`."""
        w, r = self.numbers(1, 3 * units, inputs), self.numbers(1, 3 * units, units)
        b = self.numbers(1, 6 * units)
        names = [f"v{len(self.nodes)}_{i}" for i in range(2)]
        self.nodes.append(
            helper.make_node("GRU", [x, w, r, b], names, hidden_size=units, linear_before_reset=1)
        )
        return self.squeezed(names[0], 1)

    def lstm(self, x, inputs, units):
        w, r, b = self.numbers(1, 4 * units, inputs), self.numbers(1, 4 * units, units), self.numbers(1, 8 * units)
        names = [f"v{len(self.nodes)}_{i}" for i in range(3)]
        self.nodes.append(helper.make_node("LSTM", [x, w, r, b], names, hidden_size=units))
        return self.squeezed(names[0], 1)

    def squeezed(self, x, axis):
        return self.op("Squeeze", x, self.constant(np.array([axis], np.int64)))

    def reshaped(self, x, *shape):
        return self.op("Reshape", x, self.constant(np.array(shape, np.int64)))

    def norm(self, x, size):
        return self.op("LayerNormalization", x, self.numbers(size), self.numbers(size), axis=-1)

    def whole_norm(self, x, channels, length):
        """GroupNorm of one group, as PyTorch exports it."""
        one, none = (self.constant(np.array([v], np.float32)) for v in (1.0, 0.0))
        y = self.op("InstanceNormalization", self.reshaped(x, 1, 1, -1), one, none)
        y = self.reshaped(y, 1, channels, length)
        scale, shift = self.numbers(channels, 1, scale=1.0), self.numbers(channels, 1, scale=1.0)
        return self.op("Add", self.op("Mul", y, scale), shift)

    def swish(self, x):
        return self.op("Mul", x, self.op("Sigmoid", x))

    def attention(self, x, steps, size, heads):
        """x `[1, steps, size]`."""
        each = size // heads

        def head(order):
            y = self.reshaped(self.dense(x, size, size), 1, steps, heads, each)
            return self.op("Transpose", y, perm=order)

        q, k, v = head([0, 2, 1, 3]), head([0, 2, 3, 1]), head([0, 2, 1, 3])
        scores = self.op("Mul", self.op("MatMul", q, k), self.constant(np.float32(each**-0.5)))
        y = self.op("MatMul", self.op("Softmax", scores, axis=-1), v)
        y = self.reshaped(self.op("Transpose", y, perm=[0, 2, 1, 3]), 1, steps, size)
        return self.dense(y, size, size)

    def model(self, y):
        self.nodes.append(helper.make_node("Identity", [y], ["y"]))
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "net", [x], [y], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        return onnx.shape_inference.infer_shapes(model)


def crnn():
    """A keyword spotter: convolutions with strides, depthwise ones among them, and a GRU."""
    net = Net(1, 1, 40, 100)
    x = net.op("Relu", net.conv("x", 1, 32, (5, 5), strides=[2, 2], pads=[2, 2, 2, 2]))
    for _ in range(2):
        x = net.op("Relu", net.conv(x, 32, 32, (3, 3), group=32, strides=[2, 1], pads=[1, 1, 1, 1]))
        x = net.op("Relu", net.conv(x, 32, 32, (1, 1)))
    x = net.reshaped(net.op("Transpose", x, perm=[3, 0, 1, 2]), 50, 1, 160)
    x = net.op("Gather", net.gru(x, 160, 64), net.constant(np.int64(-1)), axis=0)
    return net.model(net.dense(x, 64, 12))


def tasnet():
    """Conv-TasNet: an encoder, eight dilated blocks with GroupNorm and PReLU, a decoder."""
    net = Net(1, 1, 4000)
    mixture = net.op("Relu", net.conv("x", 1, 128, (16,), strides=[8]))
    x = net.conv(mixture, 128, 64, (1,))
    for layer in range(8):
        y = net.conv(x, 64, 128, (1,))
        for dilation in (None, 2**layer):
            if dilation:
                y = net.conv(
                    y, 128, 128, (3,), group=128, dilations=[dilation], pads=[dilation, dilation]
                )
            y = net.op("PRelu", y, net.constant(np.full((1, 1), 0.25, np.float32)))
            y = net.whole_norm(y, 128, 499)
        x = net.op("Add", x, net.conv(y, 128, 64, (1,)))
    mask = net.op("Sigmoid", net.conv(x, 64, 128, (1,)))
    return net.model(net.transposed(net.op("Mul", mixture, mask), 128, 1, (16,), strides=[8]))


def conv2():
    """Four 3 x 3 convolutions, 32 x 32 to 8 x 8 positions."""
    net = Net(1, 3, 32, 32)
    x = "x"
    for inputs, outputs, stride in [(3, 16, 1), (16, 32, 2), (32, 64, 2), (64, 64, 1)]:
        x = net.conv(x, inputs, outputs, (3, 3), strides=[stride] * 2, pads=[1, 1, 1, 1])
        x = net.op("Relu", x)
    return net.model(x)


def unet():
    """Convolutions with strides along frequency, a GRU over time, and the way back."""
    net = Net(1, 1, 10, 128)
    x, skips = "x", []
    for inputs, outputs in [(1, 16), (16, 32), (32, 64)]:
        x = net.conv(x, inputs, outputs, (3, 3), strides=[1, 2], pads=[1, 1, 1, 1])
        x = net.op("Relu", x)
        skips.append(x)
    y = net.reshaped(net.op("Transpose", x, perm=[2, 0, 1, 3]), 10, 1, 1024)
    y = net.dense(net.gru(y, 1024, 128), 128, 1024)
    x = net.op("Transpose", net.reshaped(y, 10, 1, 64, 16), perm=[1, 2, 0, 3])
    for inputs, outputs in [(64, 32), (32, 16), (16, 1)]:
        x = net.op("Add", x, skips.pop())
        x = net.transposed(x, inputs, outputs, (3, 4), strides=[1, 2], pads=[1, 1, 1, 1])
        x = net.op("Relu", x) if outputs > 1 else net.op("Sigmoid", x)
    return net.model(x)


def dscnn():
    """A keyword spotter of depthwise separable convolutions."""
    net = Net(1, 1, 49, 10)
    x = net.op("Relu", net.conv("x", 1, 64, (10, 4), strides=[2, 2], pads=[4, 1, 5, 1]))
    for _ in range(4):
        x = net.op("Relu", net.conv(x, 64, 64, (3, 3), group=64, pads=[1, 1, 1, 1]))
        x = net.op("Relu", net.conv(x, 64, 64, (1, 1)))
    x = net.op("Flatten", net.op("GlobalAveragePool", x))
    return net.model(net.dense(x, 64, 12))


def encoder():
    """Two layers of a transformer encoder."""
    steps, size = 50, 128
    net = Net(1, steps, size)
    x = "x"
    for _ in range(2):
        x = net.norm(net.op("Add", x, net.attention(x, steps, size, 4)), size)
        y = net.dense(net.op("Relu", net.dense(x, size, 4 * size)), 4 * size, size)
        x = net.norm(net.op("Add", x, y), size)
    return net.model(x)


def conformer():
    """A conformer block."""
    steps, size = 50, 144
    net = Net(1, steps, size)

    def feed_forward(x):
        y = net.dense(net.swish(net.dense(net.norm(x, size), size, 4 * size)), 4 * size, size)
        return net.op("Add", x, net.op("Mul", y, net.constant(np.float32(0.5))))

    x = feed_forward("x")
    x = net.op("Add", x, net.attention(net.norm(x, size), steps, size, 4))
    y = net.op("Transpose", net.norm(x, size), perm=[0, 2, 1])
    y = net.conv(y, size, 2 * size, (1,))
    parts = net.op("Split", y, outputs=2, axis=1, num_outputs=2)
    y = net.op("Mul", parts[0], net.op("Sigmoid", parts[1]))
    y = net.swish(net.conv(y, size, size, (15,), group=size, pads=[7, 7]))
    y = net.op("Transpose", net.conv(y, size, size, (1,)), perm=[0, 2, 1])
    x = feed_forward(net.op("Add", x, y))
    return net.model(net.norm(x, size))


def tcn():
    """Six dilated causal convolutions with residuals."""
    net = Net(1, 64, 100)
    x = "x"
    for layer in range(6):
        dilation = 2**layer
        y = net.conv(x, 64, 64, (3,), dilations=[dilation], pads=[2 * dilation, 0])
        x = net.op("Add", x, net.op("Relu", y))
    return net.model(x)


def seanet():
    """A codec: convolutions with strides 2, 4 and 5, an LSTM, and the way back."""
    net = Net(1, 1, 960)
    x = net.conv("x", 1, 16, (7,), pads=[6, 0])
    size = 16
    for stride in (2, 4, 5):
        y = net.conv(net.op("Elu", x), size, size // 2, (3,), pads=[2, 0])
        x = net.op("Add", x, net.conv(net.op("Elu", y), size // 2, size, (1,)))
        x = net.conv(net.op("Elu", x), size, 2 * size, (2 * stride,), strides=[stride], pads=[stride, 0])
        size *= 2
    y = net.op("Transpose", x, perm=[2, 0, 1])
    x = net.op("Add", x, net.op("Transpose", net.lstm(y, size, size), perm=[1, 2, 0]))
    for stride in (5, 4, 2):
        x = net.transposed(net.op("Elu", x), size, size // 2, (2 * stride,), strides=[stride], pads=[0, stride])
        size //= 2
        y = net.conv(net.op("Elu", x), size, size // 2, (3,), pads=[2, 0])
        x = net.op("Add", x, net.conv(net.op("Elu", y), size // 2, size, (1,)))
    return net.model(net.conv(net.op("Elu", x), size, 1, (7,), pads=[6, 0]))


NETWORKS = {
    of.__name__: of for of in [crnn, tasnet, conv2, unet, dscnn, conformer, encoder, tcn, seanet]
}


def address(array):
    return ctypes.c_void_p(array.ctypes.data)


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def with_onnx_runtime(model, x):
    """A function that computes a number of times, and the output."""
    session = session_of(model)
    y = session.run(None, {"x": x})[0]
    binding = session.io_binding()
    for bind, name, array in [(binding.bind_input, "x", x), (binding.bind_output, "y", y)]:
        bind(name, "cpu", 0, np.float32, array.shape, array.ctypes.data)

    def run(times):
        for _ in range(times):
            session.run_with_iobinding(binding)

    return run, y


def with_openvino(path, x):
    """As with_onnx_runtime; None without openvino."""
    try:
        import openvino
    except ImportError:
        return None
    settings = {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": 1}
    request = openvino.Core().compile_model(str(path), "CPU", settings).create_infer_request()
    request.set_input_tensor(openvino.Tensor(x, shared_memory=True))
    request.infer()
    y = request.get_output_tensor().data

    def run(times):
        for _ in range(times):
            request.infer()

    return run, y


def with_cellc(cellc, path, options, compiler, x, shape):
    """As with_onnx_runtime, by language."""
    folder = path.parent
    for language in ("c", "rs"):
        out = folder / f"net.{language}"
        subprocess.run([cellc, path, "-o", out, *options], check=True, stderr=subprocess.DEVNULL)
    (folder / "call.c").write_text(C)
    (folder / "lib.rs").write_text(RUST)
    shared = [folder / "net_c.so", folder / "net_rust.so"]
    sources = [folder / "net.c", folder / "call.c"]
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", *sources, "-o", shared[0], "-lm"], check=True, cwd=folder)
    rust = ["rustc", "--edition=2021", "-O", "-C", "codegen-units=1", "-C", "panic=abort"]
    rust += ["--crate-type", "cdylib", folder / "lib.rs", "-o", shared[1]]
    subprocess.run(rust, check=True, cwd=folder)
    for name, library in zip(["c", "rust"], map(ctypes.CDLL, map(str, shared))):
        new, run = library[f"{name}_new"], library[f"{name}_run"]
        new.restype = ctypes.c_void_p
        y, model = np.zeros(shape, np.float32), ctypes.c_void_p(new())
        arguments = model, address(x), address(y)

        def call(times, run=run, arguments=arguments):
            run(*arguments, ctypes.c_size_t(times))

        yield name, (call, y)


def seconds(run, times):
    start = time.perf_counter()
    run(times)
    return (time.perf_counter() - start) / times


def medians(contenders, rounds):
    """Seconds of one computation, by contender, in turns."""
    times = {name: max(1, int(0.005 / seconds(run, 3))) for name, (run, _) in contenders.items()}
    found = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, (run, _) in contenders.items():
            found[name].append(seconds(run, times[name]))
    return {name: statistics.median(all) for name, all in found.items()}


def timed(name, model, arguments, folder, call):
    """A row of the table."""
    path = folder / "net.onnx"
    onnx.save(model, path)
    shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    x = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
    contenders = {"ort": with_onnx_runtime(model, x)}
    right = contenders["ort"][1].copy()
    other = with_openvino(path, x)
    contenders |= {"openvino": other} if other else {}
    contenders |= dict(with_cellc(arguments.cellc, path, arguments.options, arguments.compiler, x, right.shape))
    for contender, (run, y) in contenders.items():
        run(1)
        error = np.abs(y - right).max() / max(1.0, np.abs(right).max())
        assert error < 1e-4, f"{name}: {contender} is off by {error:.1e}"
    found = medians(contenders, arguments.rounds)
    ours = min(found["c"], found["rust"])
    peers = [(found[peer] - call) / ours if peer in found else None for peer in ("ort", "openvino")]
    times = " | ".join(f"{found[language] * 1e6:.1f}" for language in ("c", "rust"))
    return f"| {name} | {times} | " + " | ".join("-" if of is None else f"{of:.2f}" for of in peers) + " |"


def main():
    own = sys.argv[1:]
    options = own[own.index("--") + 1 :] if "--" in own else []
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cellc")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NETWORKS))
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--compiler", default="gcc")
    parser.add_argument("--keep", type=pathlib.Path, help="leaves the generated files here")
    arguments = parser.parse_args(own[: own.index("--")] if "--" in own else own)
    arguments.options = options
    empty = Net(1, 1)
    empty = with_onnx_runtime(empty.model(empty.op("Relu", "x")), np.zeros((1, 1), np.float32))
    call = medians({"call": empty}, 20)["call"]
    print(f"ONNX Runtime {onnxruntime.__version__}; a call {call * 1e6:.1f} us")
    print("| network | C, us | Rust, us | ONNX Runtime | OpenVINO |\n|---|---|---|---|---|")
    for name in arguments.names or NETWORKS:
        with tempfile.TemporaryDirectory() as at:
            folder = arguments.keep / name if arguments.keep else pathlib.Path(at)
            folder.mkdir(parents=True, exist_ok=True)
            print(timed(name, NETWORKS[name](), arguments, folder, call), flush=True)


if __name__ == "__main__":
    main()
