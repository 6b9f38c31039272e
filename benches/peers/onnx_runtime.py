"""ONNX Runtime, on the model that the bench wrote."""

import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "cellc/src/timing"))
from turns import serve


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
        for port, value in zip(session.get_inputs(), self.inputs):
            binding.bind_input(port.name, "cpu", 0, np.float32, value.shape, value.ctypes.data)
        for port, value in zip(session.get_outputs(), self.outputs):
            binding.bind_output(port.name, "cpu", 0, np.float32, value.shape, value.ctypes.data)
        self.infer = lambda: session.run_with_iobinding(binding)

    def reset(self):
        pass


serve(OnnxRuntime)
