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

    def double(self):
        """The same at twice the rate: taps twice as far apart."""
        self.dilation, self.past = 2 * self.dilation, 2 * self.past

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

    def double(self):
        for conv in self.convs():
            conv.double()
        if self.condition:
            self.condition.double()

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


def slimmed(network, channels):
    """The network of the first channels of each array."""
    layers = [dict(config, channels=count) for config, count in zip(network.config['layers'], channels)]
    layers[1].update(input_size=channels[0])
    layers[0].update(head_size=channels[1])
    small = WaveNet(layers, network.config['head_scale'])
    convs = lambda net: [conv for into, own, out in net.arrays for conv in
                         [into] + [c for layer in own for c in (layer.conv, layer.mixin, layer.layer1x1)] + [out]]
    for own, full in zip(convs(small), convs(network)):
        own.w = full.w[:own.w.shape[0], :own.w.shape[1]]
        own.b = None if own.b is None else full.b[:len(own.b)]
    return small


def write(name, network, version, model=None, inputs=1, smallest=None, doubled=False):
    """Writes a model, inputs, and what the network gives for these after silence; the same for its smallest size and at 96 kHz."""
    x = random.normal(scale=0.6, size=(inputs, SAMPLES)).astype(np.float32)
    silence = np.zeros((inputs, network.reach()))
    y = network(np.concatenate([silence, x.astype(np.float64)], axis=1))[:, silence.shape[1]:]
    with open(os.path.join(HERE, name), 'w') as file:
        json.dump(model or network.model(version), file)
    with open(os.path.join(HERE, name + '.expected'), 'w') as file:
        json.dump({'x': x.T.astype(np.float64).tolist(), 'y': y.T.tolist()}, file)
    if smallest:
        y = smallest(np.concatenate([silence, x.astype(np.float64)], axis=1))[:, silence.shape[1]:]
        with open(os.path.join(HERE, name + '.smallest.expected'), 'w') as file:
            json.dump({'x': x.T.astype(np.float64).tolist(), 'y': y.T.tolist()}, file)
    if doubled:
        network.double()
        silence = np.zeros((inputs, network.reach()))
        y = network(np.concatenate([silence, x.astype(np.float64)], axis=1))[:, silence.shape[1]:]
        with open(os.path.join(HERE, name + '.96000.expected'), 'w') as file:
            json.dump({'x': x.T.astype(np.float64).tolist(), 'y': y.T.tolist()}, file)


class ConvNet:
    """Convolutions of two taps, each with an optional batch normalisation and a function, and a sum of the channels."""

    def __init__(self, channels, dilations, activation, batchnorm=False, inputs=1, outputs=1, groups=1):
        self.config = {'channels': channels, 'dilations': dilations, 'batchnorm': batchnorm, 'activation': activation}
        if (inputs, outputs, groups) != (1, 1, 1):
            self.config.update(in_channels=inputs, out_channels=outputs, groups=groups)
        self.activation, self.blocks = function(activation), []
        for at, dilation in enumerate(dilations):
            conv = Conv(channels if at else inputs, channels, 2, dilation, groups, bias=not batchnorm)
            norm = None
            if batchnorm:
                drawn = [random.normal(scale=0.5, size=channels), random.uniform(0.3, 2, size=channels),
                         random.normal(loc=1, scale=0.3, size=channels), random.normal(scale=0.3, size=channels)]
                norm = [part.astype(np.float32) for part in drawn] + [np.array([1e-5], np.float32)]
            self.blocks.append((conv, norm))
        self.head = Conv(channels, outputs)

    def double(self):
        for conv, _ in self.blocks:
            conv.double()

    def reach(self):
        return sum(conv.past for conv, _ in self.blocks)

    def __call__(self, x):
        for conv, norm in self.blocks:
            x = conv(x)
            if norm:
                mean, variance, weight, bias = (part.astype(np.float64)[:, None] for part in norm[:4])
                x = (x - mean) / np.sqrt(variance + norm[4].astype(np.float64)) * weight + bias
            x = self.activation(x)
        return self.head(x)

    def model(self, version):
        weights = [w for conv, norm in self.blocks for w in conv.weights() + (norm or [])] + self.head.weights()
        return {'version': version, 'architecture': 'ConvNet', 'config': self.config,
                'weights': np.concatenate(weights).astype(np.float64).tolist(), 'sample_rate': 48000}


class Linear:
    """Impulse responses, the newest sample first."""

    def __init__(self, taps, inputs=1, outputs=1):
        self.config = {'receptive_field': taps, 'bias': True}
        if (inputs, outputs) != (1, 1):
            self.config.update(in_channels=inputs, out_channels=outputs)
        alike = inputs == outputs
        self.inputs, self.outputs = inputs, outputs
        self.responses = random.normal(scale=0.5, size=(1 if alike else max(inputs, outputs), taps)).astype(np.float32)
        self.bias = random.normal(size=1 if alike else outputs).astype(np.float32)

    def double(self):
        self.responses = np.stack([self.responses, 0 * self.responses], axis=2).reshape(len(self.responses), -1)

    def reach(self):
        return self.responses.shape[1] - 1

    def __call__(self, x):
        out = np.zeros((self.outputs, x.shape[1])) + self.bias.astype(np.float64)[:, None]
        for path in range(max(self.inputs, self.outputs)):
            response = self.responses[path % len(self.responses)].astype(np.float64)
            out[path % self.outputs] += np.convolve(x[path % self.inputs], response)[:x.shape[1]]
        return out

    def model(self, version):
        weights = np.concatenate([self.responses.ravel(), self.bias])
        return {'version': version, 'architecture': 'Linear', 'config': self.config,
                'weights': weights.astype(np.float64).tolist(), 'sample_rate': 48000}


class Sequential:
    def __init__(self, *networks):
        self.networks = networks

    def double(self):
        for network in self.networks:
            network.double()

    def reach(self):
        return sum(network.reach() for network in self.networks)

    def __call__(self, x):
        for network in self.networks:
            x = network(x)
        return x

    def model(self, version):
        models = [network.model(version) for network in self.networks]
        return {'version': version, 'architecture': 'Sequential', 'config': {'models': models}, 'weights': [], 'sample_rate': 48000}


def a1(channels, dilations, activation='Tanh', gated=False, kernel=3):
    """Two arrays of layers, as files of versions 0.5 have them."""
    first, second = channels
    array = {'condition_size': 1, 'kernel_size': kernel, 'dilations': dilations, 'activation': activation, 'gated': gated}
    return [{'input_size': 1, **array, 'channels': first, 'head_size': second, 'head_bias': False},
            {'input_size': first, **array, 'channels': second, 'head_size': 1, 'head_bias': True}]


def of_kind(activation, parameters=None):
    return activation if parameters is None else {'type': activation, **parameters}


def a2(channels, condition, head):
    """An array as files of versions 0.7 have it, without anything that is optional."""
    off = {'active': False, 'shift': True, 'groups': 1}
    return {'input_size': 1, 'condition_size': condition, 'head': head, 'channels': channels, 'kernel_sizes': [6, 6, 15],
            'dilations': [1, 3, 1], 'activation': [of_kind('LeakyReLU', {'negative_slope': 0.01})] * 3, 'bottleneck': channels,
            'head1x1': {'active': False, 'out_channels': 1, 'groups': 1}, 'layer1x1': {'active': True, 'groups': 1},
            'groups_input': 1, 'groups_input_mixin': 1, **{name: off for name in FILMS}, 'gating_mode': ['none'] * 3,
            'secondary_activation': [None] * 3, 'slimmable': None}


def every_place():
    """Arrays with a scale by the condition at every place, gates of every kind, and groups."""
    film = lambda shift, groups=1: {'active': True, 'shift': shift, 'groups': groups}
    first = {'input_size': 2, 'condition_size': 2, 'channels': 4, 'bottleneck': 6, 'kernel_size': 2, 'dilations': [1, 2],
             'activation': {'type': 'SiLU'}, 'gating_mode': 'gated', 'secondary_activation': 'Hardswish', 'groups_input': 2,
             'groups_input_mixin': 2, 'head1x1': {'active': True, 'out_channels': 4, 'groups': 2},
             'layer1x1': {'active': True, 'groups': 2}, 'head_size': 4, 'head_bias': False,
             **{name: film(True, 2) for name in FILMS}}
    second = {'input_size': 4, 'condition_size': 2, 'channels': 3, 'bottleneck': 2, 'kernel_size': 3, 'dilations': [1, 3, 5],
              'activation': [of_kind('PReLU', {'negative_slopes': [0.04, 0.05]}), of_kind('PReLU', {'negative_slope': 0.3}), 'Softsign'],
              'gating_mode': ['blended', 'gated', 'none'],
              'secondary_activation': [of_kind('LeakyHardtanh', {'min_val': 0.0, 'max_val': 0.9, 'min_slope': 0.0, 'max_slope': 0.02}), 'ReLU', None],
              'head1x1': {'active': True, 'out_channels': 4, 'groups': 1}, 'head': {'out_channels': 3, 'kernel_size': 4, 'bias': True},
              **{name: film(False) for name in FILMS}}
    return [first, second]


def every_function():
    """An array with every function in a layer of its own."""
    functions = [of_kind(name) for name in FUNCTIONS if name != 'PReLU'] + [
        of_kind('LeakyReLU', {'negative_slope': 0.2}), of_kind('PReLU', {'negative_slopes': [0.25, -0.5]}),
        of_kind('LeakyHardtanh', {'min_val': -0.25, 'max_val': 0.5, 'min_slope': 0.5, 'max_slope': 0.25})]
    return [{'input_size': 1, 'condition_size': 1, 'channels': 2, 'kernel_sizes': [1 + at % 2 for at in range(len(functions))],
             'dilations': [1 + at % 3 for at in range(len(functions))], 'activation': functions,
             'head': {'out_channels': 2, 'kernel_size': 1, 'bias': True}}]


def container(name, networks):
    """Several sizes of a network, of which the last is the whole one."""
    submodels = [{'max_value': (at + 1) / len(networks), 'model': network.model('0.7.0')} for at, network in enumerate(networks)]
    model = {'version': '0.7.0', 'architecture': 'SlimmableContainer', 'config': {'submodels': submodels}, 'weights': [],
             'sample_rate': 48000}
    write(name, networks[-1], '0.7.0', model, smallest=networks[0])


if __name__ == '__main__':
    write('nam_wavenet.nam', WaveNet(a1([4, 2], [1, 2, 4]), 0.02), '0.5.4')
    write('nam_wavenet_gated.nam', WaveNet(a1([3, 2], [1, 3], gated=True), 0.5), '0.5.1')
    write('nam_wavenet_functions.nam', WaveNet(every_function(), 1.5), '0.7.0')
    condition = WaveNet([{**layer, 'head_size': 2} if at else layer for at, layer in enumerate(a1([2, 2], [1]))], 0.75)
    head = {'channels': 3, 'out_channels': 1, 'kernel_sizes': [3, 1, 2], 'activation': 'Tanh'}
    one = {'out_channels': 1, 'kernel_size': 16, 'bias': True}
    write('nam_wavenet_condition.nam', WaveNet([a2(3, 2, one)], 0.01, head, condition_dsp=condition), '0.6.0', doubled=True)
    write('nam_wavenet_film.nam', WaveNet(every_place(), 0.25, in_channels=2), '0.6.1', inputs=2)
    container('nam_container_of_wavenets.nam', [WaveNet([a2(channels, 1, one)], 0.01) for channels in (2, 4)])
    write('nam_conv_net.nam', ConvNet(4, [1, 2, 4], 'ReLU'), '0.5.2', doubled=True)
    write('nam_conv_net_norm.nam', ConvNet(4, [1, 4], 'Tanh', batchnorm=True, inputs=2, outputs=2, groups=2), '0.5.4', inputs=2)
    write('nam_linear_stereo.nam', Linear(7, 1, 2), '0.6.0')
    write('nam_sequential.nam', Sequential(WaveNet(a1([2, 2], [1, 2]), 0.5), Linear(9), ConvNet(3, [1], 'Tanh')), '0.7.0', doubled=True)
    slim = WaveNet([{**layer, 'slimmable': {'method': 'slice_channels_uniform', 'kwargs': {'allowed_channels': allowed}}}
                    for layer, allowed in zip(a1([4, 3], [1, 2], 'ReLU', gated=True), [[1, 2, 4], [1, 3]])], 0.5)
    write('nam_wavenet_slimmable.nam', slim, '0.7.0', smallest=slimmed(slim, [1, 1]))
