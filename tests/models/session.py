"""A network in ONNX Runtime, frame by frame, for an interpreter that has numpy and onnxruntime only: `session.py MODEL GIVEN.npz OUT.npz THREADS`.

GIVEN holds for every input that is no state `frame/NAME`, one array for all frames, for every state `state/NAME`, the first, and `next/NAME`, the name of the output that is the
next one; `every/frames` says after how many frames states are the first again. OUT gets an array for every output, all frames of it.
"""
import sys

import numpy as np
import onnxruntime


def main():
    path, given, out, threads = sys.argv[1:]
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = int(threads)
    session = onnxruntime.InferenceSession(path, settings, providers=['CPUExecutionProvider'])
    given = np.load(given)
    of = lambda kind: {key[len(kind) + 1:]: given[key] for key in given.files if key.startswith(kind + '/')}
    frames, first, after, every = of('frame'), of('state'), {key: str(name) for key, name in of('next').items()}, int(given['every/frames'])
    outputs = [output.name for output in session.get_outputs()]
    results = {name: [] for name in outputs}
    for t in range(len(next(iter(frames.values())))):
        state = first if t % every == 0 else state
        found = dict(zip(outputs, session.run(None, {**{key: value[t] for key, value in frames.items()}, **state})))
        state = {key: found[name] for key, name in after.items()}
        for name, value in found.items():
            results[name].append(value)
    np.savez(out, **{name: np.stack(values) for name, values in results.items()})
    print(onnxruntime.__version__, threads)


main()
