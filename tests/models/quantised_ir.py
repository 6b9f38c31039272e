"""The case `int8_layers` of `../corpus`: a GRUCell and two products with scales as nncf leaves them, written by hand, with the oracle's numbers and OpenVINO's.

    pip install numpy openvino
    python quantised_ir.py FOLDER

Weights are i8, converted and multiplied by scales of rows; what they multiply comes from FakeQuantize, with a sign, without one, and from -128 of its
steps to 127.
"""
import json
import os
import sys

import numpy as np
import openvino

from oracle import Model


class Net:
    def __init__(self):
        self.layers, self.edges, self.blob = [], [], b''

    def add(self, kind, inputs, sizes, element='f32', version='opset1', name=None, **data):
        """A layer; what it gives, as the number of its layer."""
        precision = {'f32': 'FP32', 'i8': 'I8'}
        port = lambda k, sizes, element: f'<port id="{k}" precision="{precision[element]}">{"".join(f"<dim>{n}</dim>" for n in sizes)}</port>'
        number = len(self.layers)
        for k, (of, _, _) in enumerate(inputs):
            # after its inputs a layer has its output
            self.edges.append((of, self.layers[of][1], number, k))
        text = f'<layer id="{number}" name="{name or f"{kind}_{number}"}" type="{kind}" version="{version}">'
        text += '<data ' + ' '.join(f'{key}="{value}"' for key, value in data.items()) + '/>' if data else ''
        text += '<input>' + ''.join(port(k, sizes, element) for k, (_, sizes, element) in enumerate(inputs)) + '</input>' if inputs else ''
        text += f'<output>{port(len(inputs), sizes, element)}</output>' if kind != 'Result' else ''
        self.layers.append((text + '</layer>', len(inputs)))
        return number, sizes, element

    def constant(self, values):
        element = {'float32': 'f32', 'int8': 'i8'}[str(values.dtype)]
        at, shape = len(self.blob), list(values.shape)
        self.blob += values.tobytes()
        return self.add('Const', [], shape, element, element_type=element, shape=', '.join(map(str, shape)), offset=at, size=values.nbytes)

    def quantised(self, x, low, high, levels=256):
        ends = [self.constant(np.float32(end)) for end in (low, high, low, high)]
        return self.add('FakeQuantize', [x, *ends], x[1], levels=levels, auto_broadcast='numpy')

    def weights(self, rng, shape):
        q = rng.integers(-127, 128, shape).astype(np.int8)
        whole = self.add('Convert', [self.constant(q)], shape, destination_type='f32')
        # of so few bits that f32 holds the products
        scale = self.constant((np.round((rng.random((shape[0], 1)) * .01 + .002) * 2**20) / 2**20).astype(np.float32))
        return self.add('Multiply', [whole, scale], shape, auto_broadcast='numpy')

    def write(self, folder):
        edges = ''.join(f'<edge from-layer="{a}" from-port="{b}" to-layer="{c}" to-port="{d}"/>' for a, b, c, d in self.edges)
        layers = '\n'.join(text for text, _ in self.layers)
        with open(os.path.join(folder, 'model.xml'), 'w') as file:
            file.write(f'<?xml version="1.0"?>\n<net name="int8_layers" version="11"><layers>\n{layers}\n</layers><edges>{edges}</edges></net>\n')
        with open(os.path.join(folder, 'model.bin'), 'wb') as file:
            file.write(self.blob)


def main():
    folder, rng, net = sys.argv[1], np.random.default_rng(15), Net()
    os.makedirs(folder, exist_ok=True)
    shapes = [[2, 11], [2, 16]]
    x, h = (net.add('Parameter', [], shape, name=name, shape=', '.join(map(str, shape)), element_type='f32') for shape, name in zip(shapes, 'xh'))
    b = net.constant((rng.standard_normal(48) * .3).astype(np.float32))
    step = np.float32(2.5 / 127)
    state = net.add('GRUCell', [net.quantised(x, -128 * step, 127 * step), h, net.weights(rng, [48, 11]), net.weights(rng, [48, 16]), b], [2, 16],
                    version='opset3', name='cell', hidden_size=16, linear_before_reset='false', activations='sigmoid, tanh', clip='0')
    first = net.add('MatMul', [net.quantised(state, -1, 1, 255), net.weights(rng, [23, 16])], [2, 23], name='first', transpose_a='false', transpose_b='true')
    relu = net.add('ReLU', [first], [2, 23])
    second = net.add('MatMul', [net.quantised(relu, 0, 1.9), net.weights(rng, [5, 23])], [2, 5], name='second', transpose_a='false', transpose_b='true')
    outputs = [state, first, second]
    for k, output in enumerate(outputs):
        net.add('Result', [output], [], name=f'out{k}')
    net.write(folder)
    runs = [[(rng.standard_normal(shape) * by).astype(np.float32) for shape in shapes] for by in (1, 2)]
    results = Model(os.path.join(folder, 'model.xml'), os.path.join(folder, 'model.bin')).runs(runs, False)
    compiled = openvino.Core().compile_model(os.path.join(folder, 'model.xml'), 'CPU', {'INFERENCE_PRECISION_HINT': 'f32', 'INFERENCE_NUM_THREADS': 1})
    peers = [[compiled(run)[output] for output in compiled.outputs] for run in runs]

    def save(name, values, dtype):
        np.asarray(values, dtype).tofile(os.path.join(folder, name))
        return {'file': name, 'dtype': {'float32': 'f32', 'float64': 'f64'}[dtype], 'shape': list(np.shape(values))}

    case = {
        'name': 'int8_layers', 'family': 'fake_quantized', 'about': 'a GRUCell and products with scales as nncf leaves them', 'origin': 'tests/models/quantised_ir.py',
        'model': 'model.xml', 'weights': 'model.bin', 'stateful': False,
        'inputs': [{'index': k, 'parameter': name, 'names': [name], 'dtype': 'f32', 'shape': shape} for k, (name, shape) in enumerate(zip('xh', shapes))],
        'outputs': [{'index': k, 'dtype': 'f32', 'shape': output[1]} for k, output in enumerate(outputs)],
        'runs': [{'inputs': [save(f'r{r}_in{k}.bin', value, 'float32') for k, value in enumerate(run)],
                  'openvino': [save(f'r{r}_ov{k}.bin', value, 'float32') for k, value in enumerate(peer)],
                  'oracle': [save(f'r{r}_ref{k}.bin', value, 'float64') for k, value in enumerate(result)]} for r, (run, result, peer) in enumerate(zip(runs, results, peers))],
        'tolerance': [{'abs': 4e-6, 'rule': '|out-oracle| <= abs'}] * len(outputs)}
    with open(os.path.join(folder, 'case.json'), 'w') as file:
        json.dump(case, file, indent=1)


main()
