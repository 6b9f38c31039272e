"""Writes the two models of this folder: LSTMs in the format of Neural Amp Modeler, with weights drawn at random.

    python3 make.py

They distort, and imitate no amplifier. Put your own .nam files in their place.
"""
import json
import os
import random

HERE = os.path.dirname(os.path.abspath(__file__))


def write(name, hidden, layers, gain, seed):
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
    model = {'version': '0.5.4', 'metadata': {'name': name}, 'architecture': 'LSTM',
             'config': {'input_size': 1, 'hidden_size': hidden, 'num_layers': layers},
             'weights': [float(f'{weight:.4f}') for weight in weights], 'sample_rate': 48000}
    with open(os.path.join(HERE, name + '.nam'), 'w') as file:
        json.dump(model, file)
        file.write('\n')


write('clean', 8, 1, 1.0, 1)
write('lead', 12, 2, 2.5, 2)
