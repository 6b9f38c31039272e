"""Libraries that are called from Python: peer.py LIBRARY key=value ..., turns over standard input and output as in peer.hpp."""

import sys
import time

import numpy as np


class OpenVino:
    def __init__(self, spec):
        import openvino as ov

        self.version = ov.get_version()
        config = {
            "INFERENCE_NUM_THREADS": 1,
            "NUM_STREAMS": 1,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": "f32",
            "ENABLE_CPU_PINNING": False,
        }
        model = ov.Core().compile_model(spec["ir"], "CPU", config)
        self.request = model.create_infer_request()
        self.inputs = [np.zeros(list(port.shape), np.float32) for port in model.inputs]
        self.outputs = [np.zeros(list(port.shape), np.float32) for port in model.outputs]
        for i, array in enumerate(self.inputs):
            self.request.set_input_tensor(i, ov.Tensor(array, shared_memory=True))
        for i, array in enumerate(self.outputs):
            self.request.set_output_tensor(i, ov.Tensor(array, shared_memory=True))

    def infer(self):
        # infer() would build a dictionary of all results
        self.request.start_async()
        self.request.wait()


class OnnxRuntime:
    def __init__(self, spec):
        import onnxruntime as ort

        self.version = ort.__version__
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        session = ort.InferenceSession(spec["onnx"], options, providers=["CPUExecutionProvider"])
        self.inputs = [np.zeros(port.shape, np.float32) for port in session.get_inputs()]
        self.outputs = [np.zeros(port.shape, np.float32) for port in session.get_outputs()]
        binding = session.io_binding()
        for port, array in zip(session.get_inputs(), self.inputs):
            binding.bind_input(port.name, "cpu", 0, np.float32, array.shape, array.ctypes.data)
        for port, array in zip(session.get_outputs(), self.outputs):
            binding.bind_output(port.name, "cpu", 0, np.float32, array.shape, array.ctypes.data)
        self.infer = lambda: session.run_with_iobinding(binding)


def main():
    spec = dict(word.split("=", 1) for word in sys.argv[2:])
    try:
        peer = {"openvino": OpenVino, "onnxruntime": OnnxRuntime}[sys.argv[1]](spec)
    except Exception as error:  # whatever it is, it is the reason
        print("absent", str(error).strip().split("\n")[0] or type(error).__name__, flush=True)
        return
    x, *states = peer.inputs
    # the last outputs are the states
    pairs = list(zip(states, peer.outputs[len(peer.outputs) - len(states) :]))
    rows = list(np.fromfile(spec["x"], np.float32).reshape([-1, *x.shape]))
    infer = peer.infer

    def call(row):
        np.copyto(x, row)
        infer()
        for state, new in pairs:
            np.copyto(state, new)

    print("ready itself", peer.version, flush=True)
    out = sys.stdout.buffer
    calls = 0
    for line in sys.stdin:
        word, *count = line.split()
        if word == "reset":
            for state in states:
                state.fill(0)
            calls = 0
            out.write(b"ok\n")
        elif word == "call":
            call(rows[calls % len(rows)])
            calls += 1
            out.write(b"%d\n" % peer.outputs[0].size + peer.outputs[0].tobytes())
        elif word == "run":
            count, many = int(count[0]), len(rows)
            start = time.perf_counter_ns()
            for i in range(count):
                call(rows[i % many])
            out.write(b"%d\n" % (time.perf_counter_ns() - start))
        out.flush()


main()
