"""OpenVINO in Python, taking turns over its standard input and output as process.rs says: turns.py key=value ...

ir, bin        the .xml, and its weights if they do not lie beside it
shapes         of every input, 1,16;1,128, where the model leaves sizes open
states         inputs with the outputs that they become, 1:-1,2:0; all zero at first
x              a file: for every call the inputs that are no states, f32 or i64
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


class OpenVino:
    """Arrays that the library reads and writes, and infer() that makes it do so."""

    def __init__(self, spec):
        import openvino as ov

        self.version = ov.get_version()
        core = ov.Core()
        model = core.read_model(spec["ir"], spec.get("bin") or os.path.splitext(spec["ir"])[0] + ".bin")
        if "shapes" in spec:
            shapes = [[int(n) for n in shape.split(",") if n] for shape in spec["shapes"].split(";")]
            model.reshape({port: shape for port, shape in zip(model.inputs, shapes)})
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


def serve(library):
    spec = dict(word.split("=", 1) for word in sys.argv[1:])
    try:
        peer = library(spec)
    except Exception as error:  # whatever it is, it is the reason
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
    serve(OpenVino)
