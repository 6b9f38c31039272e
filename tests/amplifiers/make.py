"""Writes the amplifier models of this folder, each with inputs and with what NumPy computes in float64, sample by sample.

    python make.py

Needs numpy. The formulas are those of Neural Amp Modeler, RTNeural and AIDA-X, written anew; the weights are drawn.
"""
import json
import os

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLES = 24
random = np.random.default_rng(11)


def draw(*shape, scale=0.6):
    """Numbers that f32 holds."""
    return random.normal(scale=scale, size=shape).astype(np.float32)


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


ACTIVATIONS = {
    '': lambda v: v,
    'tanh': np.tanh,
    'sigmoid': sigmoid,
    'relu': lambda v: np.maximum(v, 0),
    'elu': lambda v: np.where(v < 0, np.expm1(v), v),
    'softmax': lambda v: np.exp(v) / np.exp(v).sum(),
}


def lstm(w, b, order):
    """A step of an LSTM: rows of w by gate, its columns for x and then for h; order names the gates."""
    w, b = w.astype(np.float64), b.astype(np.float64)

    def step(x, state):
        h, c = state
        gate = dict(zip(order, np.split(w @ np.concatenate([x, h]) + b, 4)))
        c = sigmoid(gate['f']) * c + sigmoid(gate['i']) * np.tanh(gate['g'])
        h = sigmoid(gate['o']) * np.tanh(c)
        return h, (h, c)

    return step


def gru(kernel, recurrent, bias):
    """A step of a GRU as Keras has it with reset_after."""
    kernel, recurrent, bias = (v.astype(np.float64) for v in (kernel, recurrent, bias))

    def step(x, h):
        xz, xr, xn = np.split(x @ kernel + bias[0], 3)
        hz, hr, hn = np.split(h @ recurrent + bias[1], 3)
        z, r = sigmoid(xz + hz), sigmoid(xr + hr)
        n = np.tanh(xn + r * hn)
        h = z * h + (1 - z) * n
        return h, h

    return step


def dense(kernel, bias, activation):
    kernel, bias = kernel.astype(np.float64), bias.astype(np.float64)
    return lambda x, state: (ACTIVATIONS[activation](x @ kernel + bias), state)


def conv1d(kernel, bias, dilation, groups, activation):
    """A step of a causal convolution as Keras has it: kernel [taps, inputs / groups, outputs], the tap of the newest sample last."""
    kernel, bias = kernel.astype(np.float64), bias.astype(np.float64)
    taps, _, outputs = kernel.shape

    def step(x, past):
        past = past + [x]
        out = bias.copy()
        for tap in range(taps):
            read = past[len(past) - 1 - (taps - 1 - tap) * dilation]
            for group, part in enumerate(np.split(read, groups)):
                columns = slice(group * outputs // groups, (group + 1) * outputs // groups)
                out[columns] += part @ kernel[tap][:, columns]
        return ACTIVATIONS[activation](out), past[1:]

    return step


def conv2d(kernel, bias, features, dilation, stride, padding, activation):
    """A step of a convolution as Keras has it, causal in time: kernel [taps, taps of features, inputs, outputs], x [features, inputs]."""
    kernel, bias = kernel.astype(np.float64), bias.astype(np.float64)
    taps, wide, inputs, outputs = kernel.shape
    count = -(-(features - wide + 1) // stride) if padding == 'valid' else -(-features // stride)
    before = 0 if padding == 'valid' else max((count - 1) * stride + wide - features, 0) // 2

    def step(x, past):
        past = past + [x]
        out = np.tile(bias, (count, 1))
        for tap in range(taps):
            read = past[len(past) - 1 - (taps - 1 - tap) * dilation].reshape(features, inputs)
            for at in range(count):
                for near in range(wide):
                    feature = at * stride - before + near
                    if 0 <= feature < features:
                        out[at] += read[feature] @ kernel[tap, near]
        return ACTIVATIONS[activation](out.ravel()), past[1:]

    return step, count


def run(steps, states, xs, skip=False, gains=(1, 1)):
    ys = []
    for x in xs:
        x = scaled(x, gains[0])
        y = x
        for i, step in enumerate(steps):
            y, states[i] = step(y, states[i])
        ys.append((y + x[:1] if skip else y) * gains[1])
    return ys


def scaled(x, gain):
    """Inputs after the first one are controls, which no gain changes."""
    x = x.astype(np.float64)
    return np.concatenate([x[:1] * gain, x[1:]])


def run_at(rate, of_model, steps, states, xs, skip=False, gains=(1, 1)):
    """The steps at another rate: a state follows from the state of one sample of the model ago, between two stored ones."""
    whole, rest = divmod(rate / of_model, 1)
    pasts = [[state] * (int(whole) + 1) for state in states]
    mix = lambda new, old: new + rest * (old - new)
    ys = []
    for x in xs:
        x = scaled(x, gains[0])
        y = x
        for step, past in zip(steps, pasts):
            new, old = past[int(whole) - 1], past[int(whole)]
            if isinstance(new, tuple):
                state = tuple(mix(n, o) for n, o in zip(new, old))
            elif isinstance(new, np.ndarray):
                state = mix(new, old)
            else:
                state = past[0]     # the samples of a convolution, or none
            y, state = step(y, state)
            past.insert(0, state)
        ys.append((y + x[:1] if skip else y) * gains[1])
    return ys


def write_at(name, rate, xs, ys):
    with open(os.path.join(HERE, f'{name}.{rate}.expected'), 'w') as file:
        json.dump({'x': [x.tolist() for x in xs], 'y': [y.tolist() for y in ys]}, file)


def write(name, model, xs, ys, indent=None):
    with open(os.path.join(HERE, name), 'w') as file:
        json.dump(model, file, indent=indent)
    with open(os.path.join(HERE, name + '.expected'), 'w') as file:
        json.dump({'x': [x.tolist() for x in xs], 'y': [y.tolist() for y in ys]}, file)


def numbers(tensor):
    return tensor.astype(np.float64).tolist()


def nam_lstm(inputs, hidden, layers):
    """An LSTM as NAM writes it, its steps and their states."""
    weights, steps, states = [], [], []
    for layer in range(layers):
        w = draw(4 * hidden, (inputs if layer == 0 else hidden) + hidden)
        b, h, c = draw(4 * hidden), draw(hidden, scale=0.3), draw(hidden)
        weights += [w.ravel(), b, h, c]
        steps.append(lstm(w, b, 'ifgo'))
        states.append((h.astype(np.float64), c.astype(np.float64)))
    head, bias = draw(hidden), draw(1)
    weights += [head, bias]
    steps.append(dense(head[:, None], bias, ''))
    config = {'input_size': inputs, 'hidden_size': hidden, 'num_layers': layers}
    model = {'architecture': 'LSTM', 'config': config, 'weights': numbers(np.concatenate(weights))}
    return model, steps, states + [None]


def nam(name, inputs, hidden, layers, rates=()):
    model, steps, states = nam_lstm(inputs, hidden, layers)
    xs = draw(SAMPLES, inputs)
    for rate in rates:
        write_at(name, rate, xs, run_at(rate, 48000, steps, states, xs))
    metadata = {'date': {'year': 2024, 'month': 10}, 'loudness': -21.5, 'name': 'drawn', 'gear_type': 'amp', 'input_level_dbu': None}
    model = {'version': '0.5.4', 'metadata': metadata, **model, 'sample_rate': 48000}
    write(name, model, xs, run(steps, states, xs))


def nam_linear(name, taps):
    """An impulse response: weight k multiplies the sample k steps ago."""
    weights, bias, xs = draw(taps), draw(1), draw(SAMPLES, 1)
    response = np.convolve(xs[:, 0].astype(np.float64), weights.astype(np.float64))[:SAMPLES]
    model = {'version': '0.5.4', 'architecture': 'Linear', 'config': {'receptive_field': taps, 'bias': True},
             'weights': numbers(np.concatenate([weights, bias])), 'sample_rate': 48000}
    write(name, model, xs, [np.array([y + float(bias[0])]) for y in response])


def nam_container(name, hidden):
    """Several LSTMs, of which the last is the whole network."""
    parts = [nam_lstm(1, size, 1) for size in hidden]
    limits = [(k + 1) / len(parts) for k in range(len(parts))]
    submodels = [{'max_value': limit, 'model': {'version': '0.5.4', **model, 'sample_rate': 48000}}
                 for limit, (model, _, _) in zip(limits, parts)]
    model = {'version': '0.7.0', 'architecture': 'SlimmableContainer', 'config': {'submodels': submodels},
             'weights': [], 'sample_rate': 48000}
    _, steps, states = parts[-1]
    xs = draw(SAMPLES, 1)
    write(name, model, xs, run(steps, states, xs))


class Stack:
    """Layers as RTNeural writes them."""

    def __init__(self, *inputs):
        """The inputs of a sample, or its features and their filters."""
        self.inputs = self.size = int(np.prod(inputs))
        self.shape = [None, None, *inputs]
        self.layers, self.steps, self.states = [], [], []
        self.doubled = {}   # by layer: the step and the state of a convolution with its taps twice as far apart

    def add(self, kind, units, weights, step, state, activation, more={}, features=None):
        shape = [None, None, units] if features is None else [None, None, features, units // features]
        self.layers.append({'type': kind, 'activation': activation, 'shape': shape, **more, 'weights': [numbers(w) for w in weights]})
        self.steps.append(step)
        self.states.append(state)
        self.size = units
        return self

    def lstm(self, units, activation='tanh'):
        kernel, recurrent, bias = draw(self.size, 4 * units), draw(units, 4 * units), draw(4 * units)
        step = lstm(np.concatenate([kernel, recurrent]).T, bias, 'ifgo')
        return self.add('lstm', units, [kernel, recurrent, bias], step, (np.zeros(units), np.zeros(units)), activation)

    def gru(self, units):
        weights = draw(self.size, 3 * units), draw(units, 3 * units), draw(2, 3 * units)
        return self.add('gru', units, weights, gru(*weights), np.zeros(units), 'tanh')

    def dense(self, units, activation='', kind='dense'):
        weights = draw(self.size, units), draw(units)
        return self.add(kind, units, weights, dense(*weights, activation), None, activation)

    def conv1d(self, units, kernel_size, dilation, activation='', more={}):
        groups = more.get('groups', 1)
        weights = draw(kernel_size, self.size // groups, units), draw(units)
        step = conv1d(*weights, dilation, groups, activation)
        past = [np.zeros(self.size)] * ((kernel_size - 1) * dilation)
        self.doubled[len(self.layers)] = conv1d(*weights, 2 * dilation, groups, activation), 2 * past
        return self.add('conv1d', units, weights, step, past, activation, {'kernel_size': [kernel_size], 'dilation': [dilation], **more})

    def batchnorm(self, affine):
        gamma, beta, mean = draw(self.size), draw(self.size), draw(self.size)
        variance = random.uniform(0.3, 2, size=self.size).astype(np.float32)
        parts = [v.astype(np.float64) for v in (gamma, beta, mean, variance)]
        factor = (parts[0] if affine else 1) / np.sqrt(parts[3] + np.float64(np.float32(0.001)))
        step = lambda x, state: ((x - parts[2]) * factor + (parts[1] if affine else 0), state)
        weights = [gamma, beta, mean, variance] if affine else [mean, variance]
        return self.add('batchnorm', self.size, weights, step, None, '', {'epsilon': 0.001})

    def conv2d(self, filters, kernel, features, dilation, stride, padding, activation=''):
        """features: those of the input."""
        inputs = self.size // features
        weights = draw(*kernel, inputs, filters), draw(filters)
        step, count = conv2d(*weights, features, dilation, stride, padding, activation)
        past = [np.zeros(self.size)] * ((kernel[0] - 1) * dilation)
        doubled, _ = conv2d(*weights, features, 2 * dilation, stride, padding, activation)
        self.doubled[len(self.layers)] = doubled, 2 * past
        more = {'kernel_size_time': kernel[0], 'kernel_size_feature': kernel[1], 'dilation': dilation, 'strides': stride,
                'num_filters_in': inputs, 'num_features_in': features, 'num_filters_out': filters, 'padding': padding}
        return self.add('conv2d', count * filters, weights, step, past, activation, more, count)

    def batchnorm2d(self, features, affine):
        filters = self.size // features
        gamma, beta, mean = draw(filters), draw(filters), draw(filters)
        variance = random.uniform(0.3, 2, size=filters).astype(np.float32)
        parts = [np.tile(v.astype(np.float64), features) for v in (gamma, beta, mean, variance)]
        factor = (parts[0] if affine else 1) / np.sqrt(parts[3] + np.float64(np.float32(0.001)))
        step = lambda x, state: ((x - parts[2]) * factor + (parts[1] if affine else 0), state)
        weights = [gamma, beta, mean, variance] if affine else [mean, variance]
        more = {'epsilon': 0.001, 'num_filters_in': filters, 'num_features_in': features}
        return self.add('batchnorm2d', self.size, weights, step, None, '', more, features)

    def prelu(self, shared=False):
        alpha = draw(1, 1 if shared else self.size)
        step = lambda x, state: (np.where(x < 0, alpha[0].astype(np.float64) * x, x), state)
        return self.add('prelu', self.size, [alpha], step, None, '')

    def activation(self, name):
        return self.add('activation', self.size, [], lambda x, state: (ACTIVATIONS[name](x), state), None, name)

    def write(self, name, more, skip=False, gains=(1, 1), indent=None, rates=()):
        xs = draw(SAMPLES, self.inputs)
        for rate in rates:
            layers = [self.doubled.get(at, layer) for at, layer in enumerate(zip(self.steps, self.states))]
            write_at(name, rate, xs, run_at(rate, 48000, *zip(*layers), xs, skip, gains))
        ys = run(self.steps, self.states, xs, skip, gains)
        write(name, {'in_shape': self.shape, **more, 'layers': self.layers}, xs, ys, indent)


nam('nam_lstm.nam', 1, 3, 1)
nam('nam_lstm_two_layers.nam', 1, 4, 2, [72000, 55125])
nam('nam_lstm_two_inputs.nam', 2, 5, 1, [96000])
Stack(1).lstm(4).dense(1).write('rtneural_lstm.json', {}, indent=1)
Stack(1).gru(4).dense(3, 'tanh').dense(1, 'sigmoid').write('rtneural_gru.json', {})
(Stack(2).dense(3, 'relu').gru(3).lstm(2).activation('elu').dense(2, kind='time-distributed-dense')
    .write('rtneural_deep.json', {}))
about = {'samplerate': '48000', 'author': 'nobody', 'esr': 0.02, 'metadata': {'samplerate': 48000}, 'input_batch': [0.0], 'output_batch': [0.5]}
# decibels whose factors are those that f32 holds next to 10^(dB / 20)
gains = [float(np.float32(10 ** (db / 20))) for db in (-6.5, 3.25)]
(Stack(1).lstm(5, '').dense(1)
    .write('aida_lstm_skip_gains.json', {'in_skip': 1, 'in_gain': -6.5, 'out_gain': 3.25, **about}, True, gains))
Stack(1).gru(3).dense(1).write('aida_gru_skip.json', {'in_skip': 1, 'in_gain': 0, **about}, True, rates=[110250])
nam_linear('nam_linear.nam', 5)
nam_container('nam_container_of_lstms.nam', [2, 3])
Stack(1).lstm(3).dense(4, 'softmax').dense(1).write('rtneural_lstm_softmax.json', {})
(Stack(1).conv1d(4, 3, 1).prelu().conv1d(4, 2, 5, 'tanh', {'groups': 2, 'strides': [1]}).batchnorm(True).conv1d(2, 1, 1, 'relu')
    .batchnorm(False).prelu(True).dense(1).write('rtneural_conv1d.json', {}))
Stack(2).conv1d(3, 4, 2, 'elu').lstm(3).dense(1).write('rtneural_conv1d_lstm.json', {})
(Stack(1).conv1d(3, 3, 2, 'tanh').lstm(3).dense(1)
    .write('aida_conv1d_lstm.json', {'metadata': {'samplerate': 48000}}, rates=[96000]))
(Stack(7, 1).conv2d(3, (3, 3), 7, 2, 1, 'same', 'relu').batchnorm2d(7, True).conv2d(2, (2, 4), 7, 1, 2, 'valid', 'tanh')
    .batchnorm2d(2, False).dense(2).write('rtneural_conv2d.json', {}))
(Stack(5, 2).conv2d(2, (1, 2), 5, 1, 3, 'same').conv2d(3, (2, 2), 2, 3, 1, 'valid', 'elu').gru(3).dense(1)
    .write('rtneural_conv2d_gru.json', {'samplerate': 48000}, rates=[96000]))
(Stack(3).lstm(4).dense(1)
    .write('aida_lstm_controls.json', {'in_skip': 1, 'in_gain': -6.5, 'out_gain': 3.25}, True, gains))
