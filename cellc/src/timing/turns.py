"""Runs a model in a Python library, with the line protocol of process.rs: turns.py key=value ...

library        openvino (the default), onnxruntime, or torch (the module that onnx2torch makes of the model)
ir, bin        the .xml or .onnx file, and the weights of an .xml (default: the .bin file next to the .xml)
shapes         the shape of every input: 1,16;1,128; optional for openvino
states         input:output pairs of states: 1:-1,2:0; states start at zero
x              a file with the inputs of all calls, states excepted, as f32 or i64
"""

import os
import sys
import time


def absent(error):
    lines = str(error).strip().split("\n")
    print("absent", f"{type(error).__name__}: {lines[-1].strip()}", flush=True)


try:
    import numpy as np
except ImportError as error:
    absent(error)
    sys.exit()


def shapes_of(spec, inputs):
    """The shape of every input."""
    shapes = [[int(n) for n in shape.split(",") if n] for shape in spec["shapes"].split(";")]
    if len(shapes) != len(inputs):
        raise ValueError(f"the model has {len(inputs)} inputs here, and {len(shapes)} as compiled")
    return shapes


class OpenVino:
    """OpenVINO: arrays of inputs and outputs, and infer(), which computes the outputs."""

    def __init__(self, spec):
        import openvino as ov

        self.version = ov.get_version()
        core = ov.Core()
        stem, ending = os.path.splitext(spec["ir"])
        files = [spec["ir"]] if ending == ".onnx" else [spec["ir"], spec.get("bin") or stem + ".bin"]
        model = core.read_model(*files)
        if "shapes" in spec:
            model.reshape({port: shape for port, shape in zip(model.inputs, shapes_of(spec, model.inputs))})
        config = {
            "INFERENCE_NUM_THREADS": 1,
            "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32",
            "ENABLE_CPU_PINNING": False,
        }
        self.request = core.compile_model(model, "CPU", config).create_infer_request()
        array = lambda port: np.zeros(list(port.shape), port.element_type.to_dtype())
        self.inputs = [array(port) for port in model.inputs]
        self.outputs = [array(port) for port in model.outputs]
        for i, value in enumerate(self.inputs):
            self.request.set_input_tensor(i, ov.Tensor(value, shared_memory=True))
        for i, value in enumerate(self.outputs):
            self.request.set_output_tensor(i, ov.Tensor(value, shared_memory=True))

    def infer(self):
        # request.infer() would build a dictionary of all results
        self.request.start_async()
        self.request.wait()

    def reset(self):
        self.request.reset_state()


class OnnxRuntime:
    """ONNX Runtime: its session reads and writes the arrays in place."""

    def __init__(self, spec):
        import onnxruntime as ort

        self.version = ort.__version__
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        session = ort.InferenceSession(spec["ir"], options, providers=["CPUExecutionProvider"])
        names = {"float": "float32", "double": "float64"}
        element = lambda port: port.type[len("tensor(") : -1]
        kind = lambda port: np.dtype(names.get(element(port), element(port)))
        ports = session.get_inputs()
        self.inputs = [np.zeros(shape, kind(port)) for port, shape in zip(ports, shapes_of(spec, ports))]
        fed = {port.name: value for port, value in zip(ports, self.inputs)}
        self.outputs = [np.ascontiguousarray(value) for value in session.run(None, fed)]
        binding = session.io_binding()
        for port, value in zip(ports, self.inputs):
            binding.bind_input(port.name, "cpu", 0, value.dtype, value.shape, value.ctypes.data)
        for port, value in zip(session.get_outputs(), self.outputs):
            binding.bind_output(port.name, "cpu", 0, value.dtype, value.shape, value.ctypes.data)
        self.infer = lambda: session.run_with_iobinding(binding)

    def reset(self):
        pass


class Torch:
    """PyTorch: runs the module that onnx2torch makes of an ONNX file."""

    def __init__(self, spec):
        import onnx
        import onnx2torch
        import torch

        torch.set_num_threads(1)
        self.version = torch.__version__
        model = onnx.load(spec["ir"])
        ports = [port for port in model.graph.input if port.name not in {w.name for w in model.graph.initializer}]
        kind = lambda port: onnx.helper.tensor_dtype_to_np_dtype(port.type.tensor_type.elem_type)
        self.inputs = [np.zeros(shape, kind(port)) for port, shape in zip(ports, shapes_of(spec, ports))]
        module = onnx2torch.convert(model).eval()
        tensors = [torch.from_numpy(value) for value in self.inputs]

        def results():
            with torch.inference_mode():
                found = module(*tensors)
            return [value.numpy() for value in (found if isinstance(found, (list, tuple)) else [found])]

        self.outputs = [value.copy() for value in results()]

        def infer():
            for value, found in zip(self.outputs, results()):
                np.copyto(value, found)

        self.infer = infer

    def reset(self):
        pass


def calls(path, inputs):
    """The inputs of every call."""
    with open(path, "rb") as file:
        data = memoryview(file.read())
    at, every = 0, []
    while True:
        call = []
        for value in inputs:
            kind = np.dtype(np.int64 if value.dtype.kind in "iu" else np.float32)
            call.append(np.frombuffer(data, kind, value.size, at).reshape(value.shape).astype(value.dtype))
            at += kind.itemsize * value.size
        every.append(call)
        if at >= len(data):
            return every


def serve(libraries):
    spec = dict(word.split("=", 1) for word in sys.argv[1:])
    try:
        library = libraries[spec.get("library", "openvino")]
        peer = library(spec)
    except Exception as error:  # any error is the reason why the library is absent
        absent(error)
        return
    pairs = [pair.split(":") for pair in spec["states"].split(",") if pair]
    pairs = [(peer.inputs[int(i)], peer.outputs[int(o)]) for i, o in pairs]
    data = [value for value in peer.inputs if not any(value is state for state, _ in pairs)]
    every = calls(spec["x"], data)
    infer = peer.infer

    def call(given):
        for value, new in zip(data, given):
            np.copyto(value, new)
        infer()
        for state, new in pairs:
            np.copyto(state, new)

    print("ready itself", peer.version, flush=True)
    out = sys.stdout.buffer
    done = 0
    for line in sys.stdin:
        word, *count = line.split()
        if word == "reset":
            for state, _ in pairs:
                state.fill(0)
            peer.reset()
            done = 0
            out.write(b"ok\n")
        elif word == "call":
            call(every[done % len(every)])
            done += 1
            first = peer.outputs[0].astype(np.float32)
            out.write(b"%d\n" % first.size + first.tobytes())
        elif word == "run":
            count, many = int(count[0]), len(every)
            start = time.perf_counter_ns()
            for i in range(count):
                call(every[i % many])
            out.write(b"%d\n" % (time.perf_counter_ns() - start))
        out.flush()


if __name__ == "__main__":
    serve({"openvino": OpenVino, "onnxruntime": OnnxRuntime, "torch": Torch})
