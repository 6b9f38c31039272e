"""Writes the two models of this folder in the format of Neural Amp Modeler, an LSTM and a WaveNet, with weights drawn at random.

    python3 make.py

They distort, and imitate no amplifier. Put your own .nam files in their place.
"""
import json
import os
import random

HERE = os.path.dirname(os.path.abspath(__file__))


def write(name, architecture, config, weights):
    model = {'version': '0.5.4', 'metadata': {'name': name}, 'architecture': architecture, 'config': config,
             'weights': [float(f'{weight:.4f}') for weight in weights], 'sample_rate': 48000}
    with open(os.path.join(HERE, name + '.nam'), 'w') as file:
        json.dump(model, file)
        file.write('\n')


def lstm(name, hidden, layers, gain, seed):
    draw = random.Random(seed)
    weights = []
    for layer in range(layers):
        inputs = 1 if layer == 0 else hidden
        scale = gain / hidden ** 0.5
        weights += [draw.gauss(0, scale) for _ in range(4 * hidden * (inputs + hidden))]
        # biases of the gates input, forget, cell, output: a forget gate that is half open forgets soon
        weights += [bias for bias in (0.5, 0.0, 0.0, 1.0) for _ in range(hidden)]
        weights += [0.0] * (2 * hidden)     # the first states
    weights += [draw.gauss(0, 1 / hidden ** 0.5) for _ in range(hidden)] + [0.0]
    write(name, 'LSTM', {'input_size': 1, 'hidden_size': hidden, 'num_layers': layers}, weights)


def wavenet(name, channels, dilations, taps, gain, seed):
    draw = random.Random(seed)

    def conv(inputs, outputs, kernel=1, bias=True):
        scale = gain / (inputs * kernel) ** 0.5
        return [draw.gauss(0, scale) for _ in range(inputs * outputs * kernel)] + [0.0] * (outputs * bias)

    arrays, weights, before = [], [], 1
    for at, width in enumerate(channels):
        last = at + 1 == len(channels)
        head = 1 if last else channels[at + 1]
        arrays.append({'input_size': before, 'condition_size': 1, 'head_size': head, 'channels': width, 'kernel_size': taps,
                       'dilations': dilations, 'activation': 'Tanh', 'gated': False, 'head_bias': last})
        weights += conv(before, width, bias=False)
        for _ in dilations:     # the taps, the input beside them, and the way to the next layer
            weights += conv(width, width, taps) + conv(1, width, bias=False) + conv(width, width)
        weights += conv(width, head, bias=last)
        before = width
    write(name, 'WaveNet', {'layers': arrays, 'head': None, 'head_scale': 0.05}, weights + [0.05])


lstm('clean', 8, 1, 1.0, 1)
wavenet('lead', [6, 3], [1, 2, 4, 8, 16, 32, 64], 3, 1.0, 2)
