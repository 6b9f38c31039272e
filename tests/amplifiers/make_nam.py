"""Writes the networks of convolutions of this folder, as Neural Amp Modeler writes them, each with inputs and with what NumPy
computes in float64: whole signals, after as much silence as the network reaches back.

    python make_nam.py

Needs numpy. The formulas are those of Neural Amp Modeler, written anew; the weights are drawn.
"""
import json
import os

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLES = 24
random = np.random.default_rng(23)


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


def fast_tanh(v):
    size, square = abs(v), v * v
    return (v * (2.45550750702956 + 2.45550750702956 * size + (0.893229853513558 + 0.821226666969744 * size) * square)
            / (2.44506634652299 + (2.44506634652299 + square) * abs(v + 0.814642734961073 * v * size)))


def leaky_hardtanh(v, min_val=-1.0, max_val=1.0, min_slope=0.01, max_slope=0.01):
    return np.where(v < min_val, (v - min_val) * min_slope + min_val, np.where(v > max_val, (v - max_val) * max_slope + max_val, v))


def leaky_relu(v, negative_slope=0.01):
    return np.where(v > 0, v, negative_slope * v)


def prelu(v, negative_slopes=None, negative_slope=0.01):
    slopes = np.array([negative_slope] if negative_slopes is None else negative_slopes)[:, None]
    return np.where(v > 0, v, slopes * v)


FUNCTIONS = {
    'Tanh': np.tanh,
    'Hardtanh': lambda v: np.clip(v, -1, 1),
    'Fasttanh': fast_tanh,
    'ReLU': lambda v: np.maximum(v, 0),
    'LeakyReLU': leaky_relu,
    'PReLU': prelu,
    'Sigmoid': sigmoid,
    'SiLU': lambda v: v * sigmoid(v),
    'Hardswish': lambda v: v * np.clip(v + 3, 0, 6) / 6,
    'LeakyHardtanh': leaky_hardtanh,
    'Softsign': lambda v: v / (1 + abs(v)),
    'Softsigmoid': lambda v: (1 + v / (1 + abs(v))) / 2,
}


def function(config):
    """The function of an activation: a name, or an object with its type and parameters."""
    if isinstance(config, str):
        return FUNCTIONS[config]
    arguments = {key: value for key, value in config.items() if key != 'type'}
    return lambda v: FUNCTIONS[config['type']](v, **arguments)


class Conv:
    """A causal convolution over signals [channels, samples]; before the signal there are zeros."""

    def __init__(self, inputs, outputs, kernel=1, dilation=1, groups=1, bias=True, scale=None):
        self.dilation, self.groups, self.past = dilation, groups, (kernel - 1) * dilation
        scale = (inputs // groups * kernel) ** -0.5 if scale is None else scale
        self.w = random.normal(scale=scale, size=(outputs, inputs // groups, kernel)).astype(np.float32)
        self.b = random.normal(scale=0.3, size=outputs).astype(np.float32) if bias else None

    def weights(self):
        return [self.w.ravel()] + ([] if self.b is None else [self.b])

    def __call__(self, x):
        kernel = self.w.shape[2]
        padded = np.concatenate([np.zeros((len(x), self.past)), x], axis=1)
        out = np.zeros((len(self.w), x.shape[1]))
        groups = zip(np.split(self.w.astype(np.float64), self.groups), np.split(padded, self.groups))
        for group, (w, part) in enumerate(groups):
            rows = slice(group * len(w), (group + 1) * len(w))
            for tap in range(kernel):
                out[rows] += w[:, :, tap] @ part[:, tap * self.dilation:tap * self.dilation + x.shape[1]]
        return out if self.b is None else out + self.b.astype(np.float64)[:, None]


class Film:
    """A scale and possibly a shift of each channel, projected from the condition."""

    def __init__(self, condition, channels, shift=True, groups=1):
        self.shift = shift
        self.conv = Conv(condition, (2 if shift else 1) * channels, groups=groups)

    def weights(self):
        return self.conv.weights()

    def __call__(self, x, condition):
        parts = self.conv(condition)
        if not self.shift:
            return x * parts
        scale, shift = np.split(parts, 2)
        return x * scale + shift


FILMS = ['conv_pre_film', 'conv_post_film', 'input_mixin_pre_film', 'input_mixin_post_film', 'activation_pre_film',
         'activation_post_film', 'layer1x1_post_film', 'head1x1_post_film']


def each(value, count):
    return value if isinstance(value, list) else [value] * count


class Layer:
    def __init__(self, config, at):
        channels, condition = config['channels'], config['condition_size']
        bottleneck = config.get('bottleneck', channels)
        count = len(config['dilations'])
        mode = 'gated' if config.get('gated') else each(config.get('gating_mode', 'none'), count)[at]
        outputs = bottleneck if mode == 'none' else 2 * bottleneck
        kernel = config['kernel_sizes'][at] if 'kernel_sizes' in config else config['kernel_size']
        self.mode = mode
        self.conv = Conv(channels, outputs, kernel, config['dilations'][at], config.get('groups_input', 1))
        self.mixin = Conv(condition, outputs, groups=config.get('groups_input_mixin', 1), bias=False)
        self.layer1x1 = Conv(bottleneck, channels, groups=config.get('layer1x1', {}).get('groups', 1))
        head = config.get('head1x1', {})
        self.head1x1 = Conv(bottleneck, head['out_channels'], groups=head['groups']) if head.get('active') else None
        summed = head['out_channels'] if head.get('active') else bottleneck
        sizes = [channels, outputs, condition, outputs, outputs, bottleneck, channels, summed]
        self.films = {}
        for name, size in zip(FILMS, sizes):
            film = config.get(name)
            if film and film.get('active', True):
                self.films[name] = Film(condition, size, film.get('shift', True), film.get('groups', 1))
        self.activation = function(each(config['activation'], count)[at])
        self.secondary = function(each(config.get('secondary_activation'), count)[at] or 'Sigmoid')

    def weights(self):
        parts = [self.conv, self.mixin, self.layer1x1] + ([self.head1x1] if self.head1x1 else [])
        return [w for part in parts + list(self.films.values()) for w in part.weights()]

    def __call__(self, x, condition):
        film = lambda name, v: self.films[name](v, condition) if name in self.films else v
        z = film('conv_post_film', self.conv(film('conv_pre_film', x)))
        z = z + film('input_mixin_post_film', self.mixin(film('input_mixin_pre_film', condition)))
        z = film('activation_pre_film', z)
        if self.mode == 'none':
            a = self.activation(z)
        else:
            first, second = np.split(z, 2)
            gate = self.secondary(second)
            a = gate * self.activation(first) + (0 if self.mode == 'gated' else (1 - gate) * first)
        a = film('activation_post_film', a)
        head = film('head1x1_post_film', self.head1x1(a)) if self.head1x1 else a
        return x + film('layer1x1_post_film', self.layer1x1(a)), head


class WaveNet:
    def __init__(self, layers, head_scale, head=None, in_channels=1, condition_dsp=None):
        self.config = {'layers': layers, 'head': head, 'head_scale': head_scale}
        if in_channels != 1:
            self.config['in_channels'] = in_channels
        self.condition = condition_dsp
        if condition_dsp:
            self.config['condition_dsp'] = condition_dsp.model('0.6.0')
        self.scale = np.float32(head_scale)
        self.arrays = []
        for config in layers:
            out = config.get('head') or {'out_channels': config['head_size'], 'kernel_size': 1, 'bias': config['head_bias']}
            one = config.get('head1x1', {})
            summed = one['out_channels'] if one.get('active') else config.get('bottleneck', config['channels'])
            into = Conv(config['input_size'], config['channels'], bias=False)
            own = [Layer(config, at) for at in range(len(config['dilations']))]
            self.arrays.append((into, own, Conv(summed, out['out_channels'], out['kernel_size'], bias=out['bias'])))
        self.head, before = [], self.arrays[-1][2].w.shape[0]
        for at, kernel in enumerate(head['kernel_sizes'] if head else []):
            out = head['out_channels'] if at + 1 == len(head['kernel_sizes']) else head['channels']
            self.head.append((function(head['activation']), Conv(before, out, kernel)))
            before = out

    def convs(self):
        for into, layers, out in self.arrays:
            yield from [into] + [layer.conv for layer in layers] + [out]
        yield from [conv for _, conv in self.head]

    def reach(self):
        return sum(conv.past for conv in self.convs()) + (self.condition.reach() if self.condition else 0)

    def weights(self):
        parts = []
        for into, layers, out in self.arrays:
            parts += into.weights() + [w for layer in layers for w in layer.weights()] + out.weights()
        for _, conv in self.head:
            parts += conv.weights()
        return np.concatenate(parts + [np.array([self.scale])])

    def __call__(self, x):
        condition = self.condition(x) if self.condition else x
        y, head = x, 0
        for into, layers, out in self.arrays:
            y = into(y)
            for layer in layers:
                y, more = layer(y, condition)
                head = head + more
            head = out(head)
        head = head * np.float64(self.scale)
        for activation, conv in self.head:
            head = conv(activation(head))
        return head

    def model(self, version='0.5.4'):
        return {'version': version, 'metadata': {'loudness': -20.5, 'gain': 0.25, 'name': 'drawn'}, 'architecture': 'WaveNet',
                'config': self.config, 'weights': self.weights().astype(np.float64).tolist(), 'sample_rate': 48000}


def write(name, network, version, model=None, inputs=1):
    """Writes a model, inputs, and what the network gives for these after silence."""
    x = random.normal(scale=0.6, size=(inputs, SAMPLES)).astype(np.float32)
    silence = np.zeros((inputs, network.reach()))
    y = network(np.concatenate([silence, x.astype(np.float64)], axis=1))[:, silence.shape[1]:]
    with open(os.path.join(HERE, name), 'w') as file:
        json.dump(model or network.model(version), file)
    with open(os.path.join(HERE, name + '.expected'), 'w') as file:
        json.dump({'x': x.T.astype(np.float64).tolist(), 'y': y.T.tolist()}, file)


def a1(channels, dilations, activation='Tanh', gated=False, kernel=3):
    """Two arrays of layers, as files of versions 0.5 have them."""
    first, second = channels
    array = {'condition_size': 1, 'kernel_size': kernel, 'dilations': dilations, 'activation': activation, 'gated': gated}
    return [{'input_size': 1, **array, 'channels': first, 'head_size': second, 'head_bias': False},
            {'input_size': first, **array, 'channels': second, 'head_size': 1, 'head_bias': True}]


if __name__ == '__main__':
    write('nam_wavenet.nam', WaveNet(a1([4, 2], [1, 2, 4]), 0.02), '0.5.4')
    write('nam_wavenet_gated.nam', WaveNet(a1([3, 2], [1, 3], gated=True), 0.5), '0.5.1')
