"""Weights that DequantizeLinear makes, as f32 and in 8 bits: `python dequantized.py CELLC` prints bytes of weights, how many results of a product differ between the two, and how far
each is from float64.

In 8 bits the scale of a row is multiplied with its sum, as f32 with every weight. The weights are the same numbers but for one rounding each.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto as T, helper as h, numpy_helper


def main():
    cellc, random = sys.argv[1], np.random.default_rng(3)
    print('| size | bytes as f32 | in 8 bits | other results | error as f32 | in 8 bits | largest result |', '|---|---|---|---|---|---|---|', sep='\n')
    for n in (64, 256, 1024):
        q, scale = random.integers(-127, 128, (n, n)).astype(np.int8), (random.random(n) * .002 + .001).astype(np.float32)
        x = random.standard_normal((1, n)).astype(np.float32)
        info = lambda name: h.make_tensor_value_info(name, T.FLOAT, [1, n])
        nodes = [h.make_node('DequantizeLinear', ['q', 's'], ['w'], axis=1), h.make_node('MatMul', ['x', 'w'], ['y'])]
        graph = h.make_graph(nodes, 'product', [info('x')], [info('y')],
                             [numpy_helper.from_array(q, 'q'), numpy_helper.from_array(scale, 's')])
        with tempfile.TemporaryDirectory() as at:
            path = lambda name: os.path.join(at, name)
            onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid('', 17)], ir_version=8), path('net.onnx'))
            np.save(path('x.npy'), x)
            sizes, found = [], []
            for weights in ('f32', 'bytes'):
                chosen = [path('net.onnx')] + (['--precision', 'f32'] if weights == 'f32' else [])
                subprocess.run([cellc, *chosen, '--weights-as', 'file', '-o', path(f'{weights}.c')], check=True, capture_output=True)
                sizes.append(os.path.getsize(path(f'{weights}.c.weights.bin')))
                subprocess.run([cellc, 'run', *chosen, '--input', f'x={path("x.npy")}', '--output', f'y={path("y.npy")}'], check=True, capture_output=True)
                found.append(np.load(path('y.npy')))
        right = x.astype(np.float64) @ (q * scale.astype(np.float64))
        errors = [f'{np.abs(y - right).max():.1e}' for y in found]
        print(f'| {n} | {sizes[0]} | {sizes[1]} | {(found[0] != found[1]).mean():.0%} | {errors[0]} | {errors[1]} | {np.abs(right).max():.1f} |')


main()
