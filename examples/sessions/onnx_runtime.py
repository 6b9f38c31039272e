"""The calls of the example in ONNX Runtime: eight sessions each, as many threads at once."""

import pathlib
import sys
import threading
import time

try:
    import numpy as np
    import onnxruntime
except ImportError:
    sys.exit(1)

SECONDS, THREADS = float(sys.argv[1]), int(sys.argv[2])
MODEL = pathlib.Path(__file__).parent.parent / "vad/model/silero_vad.onnx"


def run(times):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(MODEL), options, providers=["CPUExecutionProvider"])
    rate = np.array(16000, np.int64)
    frame = (0.3 * np.sin(np.arange(8 * 576) * 0.05)).astype(np.float32).reshape(8, 576)
    states = [np.zeros((2, 8, 128), np.float32) for _ in range(1000 // THREADS // 8)]
    until = time.perf_counter() + SECONDS
    while time.perf_counter() < until:
        for i, state in enumerate(states):
            start = time.perf_counter()
            _, states[i] = session.run(None, {"input": frame, "state": state, "sr": rate})
            times.append(time.perf_counter() - start)


all_times = [[] for _ in range(THREADS)]
threads = [threading.Thread(target=run, args=(times,)) for times in all_times]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
p50, p99 = np.percentile(sum(all_times, []), [50, 99]) * 1e6
print(f"ONNX Runtime  p50 {p50:6.0f} us  p99 {p99:6.0f} us a call")
