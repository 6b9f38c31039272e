"""The tests of ONNX's operators that the Python package onnx makes, through `cellc run`, for every operator that cellc reads.

    pip install onnx numpy
    python operators.py CELLC [--only PART] [--verbose]

Inputs that a model must know when compiling (axes, shapes, indices) are run-time inputs in these tests. A test that is refused as it is, is tried again with its integer and
boolean inputs as initializers, and then with all inputs but the first as initializers. An output counts as right within the test's own tolerance, for float16 and bfloat16 within
a step of that type. cellc computes these two in f32, but what a test wants of several operators has been rounded to them at each, and some tests want float32 that is itself
rounded: such an output is right too where it is nearer to float64 than what is wanted, or within the
tolerance of float64, and is counted apart. Prints what is wrong, and of what is refused how often and why. The exit status is 1 if something is wrong.
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

import real

HERE = os.path.dirname(os.path.abspath(__file__))


def operators():
    """The operators in onnx_operators.json."""
    return set(json.load(open(os.path.join(HERE, 'onnx_operators.json')))['operators'])


def with_initializers(model, values, which):
    """The model with some inputs as initializers, and the inputs that are left."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    inputs = list(model.graph.input)
    left = []
    del model.graph.input[:]
    for info, value in zip(inputs, values):
        if which(len(left), value):
            model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), info.name))
        else:
            model.graph.input.append(info)
            left.append(value)
    if inputs and not left:
        # `cellc run` needs an input
        model.graph.input.append(onnx.helper.make_tensor_value_info('spare', onnx.TensorProto.FLOAT, [1]))
        model.graph.output.append(onnx.helper.make_tensor_value_info('spare_out', onnx.TensorProto.FLOAT, [1]))
        model.graph.node.append(onnx.helper.make_node('Neg', ['spare'], ['spare_out']))
        left.append(np.zeros(1, np.float32))
    return model, left


def run(cellc, model, inputs, outputs, folder):
    """What cellc computes, or why it refuses."""
    path = os.path.join(folder, 'model.onnx')
    onnx.save(model, path)
    for name in os.listdir(folder):
        if name != 'model.onnx':
            os.remove(os.path.join(folder, name))
    given = []
    for k, value in enumerate(inputs):
        file = os.path.join(folder, f'in{k}.npy')
        np.save(file, as_read(value))
        given += ['--input', f'in{k}={file}']
    files = [os.path.join(folder, f'out{k}.npy') for k in range(outputs)]
    taken = [part for k, file in enumerate(files) for part in ('--output', f'out{k}={file}')]
    done = subprocess.run([cellc, 'run', path, *given, *taken, '--emit', 'c'], capture_output=True, text=True, timeout=120)
    if done.returncode:
        return None, done.stderr
    return [np.load(file) for file in files], ''


def as_read(value):
    """A value in a type that .npy has."""
    value = np.asarray(value)
    return value.astype(np.float32) if value.dtype.kind not in 'fiub' or str(value.dtype) == 'bfloat16' else value


def by_float64(model, inputs, outputs):
    """What the model's nodes and its functions compute in float64."""
    names = [value.name for value in model.graph.input]
    wide = [np.asarray(value).astype(np.float64) if is_float(value) else value for value in inputs]
    try:
        found = ReferenceEvaluator(real.doubled(model)).run(None, dict(zip(names, wide)))
    except Exception:  # what the evaluator does not compute, it says in any exception
        return None
    return found if len(found) == outputs else None


def is_float(value):
    return str(np.asarray(value).dtype) in ('float16', 'bfloat16', 'float32')


def right(found, wanted, case):
    wanted = np.asarray(wanted)
    step = {'float16': 2.0**-10, 'bfloat16': 2.0**-7}.get(str(wanted.dtype), 0)
    wanted = wanted.astype(np.float64)
    if found.shape != wanted.shape:
        return f'shape {found.shape}, not {wanted.shape}'
    distance = case.atol + (case.rtol + step) * np.abs(wanted)
    with np.errstate(invalid='ignore'):
        wrong = ~((np.abs(found - wanted) <= distance) | (found == wanted) | (np.isnan(found) & np.isnan(wanted)))
    return f'{wrong.sum()} of {wrong.size} values' if wrong.any() else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('cellc')
    parser.add_argument('--only', default='')
    parser.add_argument('--verbose', action='store_true')
    arguments = parser.parse_args()
    warnings.filterwarnings('ignore')
    from onnx.backend.test.case.node import collect_testcases
    known = operators()
    counts, refused, wrong = collections.Counter(), collections.defaultdict(list), []
    with tempfile.TemporaryDirectory() as folder:
        for case in collect_testcases(None):
            names = {f'{node.domain}.{node.op_type}' if node.domain else node.op_type for node in case.model.graph.node}
            if not names <= known or arguments.only not in case.name:
                continue
            for inputs, outputs in case.data_sets:
                tensors = all(hasattr(value, 'dtype') for value in [*inputs, *outputs])
                if not tensors or any(np.asarray(value).dtype.kind in 'OSUc' for value in [*inputs, *outputs]):
                    counts['not tried: no tensors of numbers'] += 1
                    continue
                ways = [
                    ('as it is', lambda at, value: False),
                    ('integers as initializers', lambda at, value: np.asarray(value).dtype.kind in 'iub'),
                    ('all but the first as initializers', lambda at, value: at > 0),
                    ('all as initializers', lambda at, value: True),
                ]
                why = ''
                for way, which in ways:
                    model, left = with_initializers(case.model, inputs, which)
                    names = [info.name for info in model.graph.input]
                    if way != 'as it is' and names == [info.name for info in case.model.graph.input]:
                        continue
                    found, said = run(arguments.cellc, model, left, len(outputs), folder)
                    why = why or said
                    if found is None:
                        continue
                    problems = [right(a, b, case) for a, b in zip(found, outputs)]
                    problems = [problem for problem in problems if problem]
                    if problems and all(map(is_float, outputs)):
                        wide = by_float64(model, left, len(outputs))
                        off = lambda values: max(np.abs(np.asarray(a).astype(np.float64) - b).max() for a, b in zip(values, wide))
                        near = lambda: not any(right(a, b, case) for a, b in zip(found, wide))
                        if wide is not None and (off(found) < off(outputs) or near()):
                            counts['right by float64, ' + way] += 1
                            break
                    counts['wrong' if problems else 'right, ' + way] += 1
                    if problems:
                        wrong.append((case.name, way, problems))
                    break
                else:
                    counts['refused'] += 1
                    first = re.sub(r'"[^"]*"|-?\d[\d., ]*', '..', why.strip().splitlines()[0] if why.strip() else 'no message')
                    refused[first].append(case.name)
                    if not why.startswith(('error', 'warning')) or 'panicked' in why or arguments.verbose:
                        print(case.name, why)
    for name, way, problems in wrong:
        print(f'WRONG {name} ({way}): {"; ".join(problems)}')
    for reason, names in sorted(refused.items(), key=lambda item: -len(item[1])):
        print(f'{len(names):4} {reason}: {", ".join(names[:12])}{", ..." if len(names) > 12 else ""}')
    for what, count in counts.most_common():
        print(f'{count:5} {what}')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
