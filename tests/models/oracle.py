"""What an OpenVINO IR computes, in float64 NumPy, straight from model.xml and model.bin.

Follows the specification of every operation, also where OpenVINO's CPU plugin does not: sequence lengths count with
dynamic dimensions too, peepholes, input_forget and weights_format of LSTMCell-1 are computed, activations take alpha and
beta.  Constants are taken as they are stored; integer arithmetic is done in int64, the rest in float64.
"""
import math
import xml.etree.ElementTree as ElementTree

import numpy as np

TYPES = {'f32': '<f4', 'f64': '<f8', 'f16': '<f2', 'i64': '<i8', 'i32': '<i4', 'i16': '<i2', 'i8': 'i1', 'u64': '<u8',
         'u32': '<u4', 'u16': '<u2', 'u8': 'u1', 'boolean': '?', 'FP32': '<f4', 'FP16': '<f2', 'I64': '<i8', 'I32': '<i4'}


def numbers(text, kind=int):
    return [kind(part) for part in (text or '').replace(' ', '').split(',') if part]


def single(text):
    """A number as an attribute holds it: in f32."""
    return float(np.float32(text))


def truth(text):
    return (text or 'false').strip().lower() in ('true', '1')


# Activations: ONNX's definitions and defaults.
ACTIVATIONS = {
    'sigmoid': (lambda v, a, b: 1 / (1 + np.exp(-v)), None, None),
    'tanh': (lambda v, a, b: np.tanh(v), None, None),
    'relu': (lambda v, a, b: np.maximum(v, 0), None, None),
    'affine': (lambda v, a, b: a * v + b, 1.0, 0.0),
    'leakyrelu': (lambda v, a, b: np.where(v < 0, a * v, v), 0.01, None),
    # x >= alpha, as GRU, LSTM and RNN say; the operator ThresholdedRelu says x > alpha
    'thresholdedrelu': (lambda v, a, b: np.where(v >= a, v, 0), 1.0, None),
    'scaledtanh': (lambda v, a, b: a * np.tanh(b * v), 1.0, 1.0),
    'hardsigmoid': (lambda v, a, b: np.clip(a * v + b, 0, 1), 0.2, 0.5),
    'elu': (lambda v, a, b: np.where(v < 0, a * np.expm1(np.minimum(v, 0)), v), 1.0, None),
    'softsign': (lambda v, a, b: v / (1 + np.abs(v)), None, None),
    'softplus': (lambda v, a, b: np.logaddexp(v, 0), None, None),
}


def erf(v):
    return np.reshape([math.erf(x) for x in np.ravel(v)], np.shape(v)).astype(np.float64)


class Cell:
    """One step of a recurrent cell of hidden size h; weights as the layer has them."""

    def __init__(self, kind, attributes):
        self.kind, self.size = kind, int(attributes['hidden_size'])
        default = {'RNN': 'tanh', 'GRU': 'sigmoid,tanh', 'AUGRU': 'sigmoid,tanh', 'LSTM': 'sigmoid,tanh,tanh'}[kind]
        names = [n.strip().lower() for n in (attributes.get('activations') or default).split(',')]
        alpha, beta = (numbers(attributes.get(k), single) for k in ('activations_alpha', 'activations_beta'))
        self.functions = []
        for i, name in enumerate(names):
            function, a, b = ACTIVATIONS[name]
            a, b = (None if default is None else single(default) for default in (a, b))
            # a bidirectional layer may list them for each direction, as ONNX does
            self.functions.append((function, alpha[i] if i < len(alpha) else a, beta[i] if i < len(beta) else b))
        clip = single(attributes.get('clip') or 0)
        self.clip = clip if clip > 0 and math.isfinite(clip) else None
        self.after = truth(attributes.get('linear_before_reset'))
        self.order = attributes.get('weights_format', 'fico')
        self.forget = truth(attributes.get('input_forget'))

    def act(self, i, v):
        function, a, b = self.functions[i]
        return function(v if self.clip is None else np.clip(v, -self.clip, self.clip), a, b)

    def step(self, x, h, c, w, r, b, p=None, a=None):
        n = self.size
        gate = lambda m, i: m[i * n:(i + 1) * n]
        if b is None:
            b = np.zeros(w.shape[0] + (n if self.kind in ('GRU', 'AUGRU') and self.after else 0))
        if self.kind == 'RNN':
            return self.act(0, x @ w.T + h @ r.T + b), None
        if self.kind == 'LSTM':
            f, i, g, o = (self.order.index(letter) for letter in 'fico')
            total = lambda k: x @ gate(w, k).T + h @ gate(r, k).T + gate(b, k)
            peep = lambda k, s: 0 if p is None else gate(p, k) * s
            forget = self.act(0, total(f) + peep(0, c))
            let = 1 - forget if self.forget else self.act(0, total(i) + peep(1, c))
            c = forget * c + let * self.act(1, total(g))
            out = self.act(0, total(o) + peep(2, c))
            function, alpha, beta = self.functions[2]
            return out * function(c, alpha, beta), c
        z = self.act(0, x @ gate(w, 0).T + h @ gate(r, 0).T + gate(b, 0))
        t = self.act(0, x @ gate(w, 1).T + h @ gate(r, 1).T + gate(b, 1))
        if self.after:
            new = self.act(1, x @ gate(w, 2).T + gate(b, 2) + t * (h @ gate(r, 2).T + gate(b, 3)))
        else:
            new = self.act(1, x @ gate(w, 2).T + (t * h) @ gate(r, 2).T + gate(b, 2))
        if a is not None:
            z = (1 - a) * z
        return (1 - z) * new + z * h, None

    def sequence(self, x, h0, c0, lengths, w, r, b, direction, a=None):
        n, steps, _ = x.shape
        ways = ['forward', 'reverse'] if direction == 'bidirectional' else [direction]
        y, ho = np.zeros((n, len(ways), steps, self.size)), np.zeros((n, len(ways), self.size))
        co = np.zeros_like(ho)
        for d, way in enumerate(ways):
            for k in range(n):
                length = max(0, min(int(lengths[k]), steps))
                h, c = h0[k, d][None], None if c0 is None else c0[k, d][None]
                for t in range(length) if way == 'forward' else reversed(range(length)):
                    attention = None if a is None else a[k, t][None]
                    h, c = self.step(x[k, t][None], h, c, w[d], r[d], None if b is None else b[d], a=attention)
                    y[k, d, t] = h[0]
                if length:
                    ho[k, d] = h[0]
                    co[k, d] = c[0] if c is not None else 0
        return (y, ho, co) if c0 is not None else (y, ho)


class Layer:
    def __init__(self, element):
        self.id, self.kind, self.name = int(element.get('id')), element.get('type'), element.get('name')
        self.version = element.get('version')
        data = element.find('data')
        self.attributes = dict(data.attrib) if data is not None else {}
        ports = lambda side: [int(p.get('id')) for p in (element.find(side) if element.find(side) is not None else [])]
        self.inputs, self.outputs = ports('input'), ports('output')
        self.body, self.port_map, self.back_edges = element.find('body'), element.find('port_map'), element.find('back_edges')
        self.branches = [(element.find(f'{name}_body'), element.find(f'{name}_port_map')) for name in ('then', 'else')]


class Net:
    """<net> or <body>."""

    def __init__(self, element, blob):
        self.blob = blob
        self.layers = {layer.id: layer for layer in map(Layer, element.find('layers'))}
        self.source = {}
        for edge in element.find('edges') if element.find('edges') is not None else []:
            self.source[int(edge.get('to-layer')), int(edge.get('to-port'))] = (int(edge.get('from-layer')), int(edge.get('from-port')))
        self.parameters = [layer for layer in self.layers.values() if layer.kind == 'Parameter']
        self.results = [layer for layer in self.layers.values() if layer.kind == 'Result']
        self.assigns = [layer for layer in self.layers.values() if layer.kind == 'Assign']
        self.bodies = {layer.id: Net(layer.body, blob) for layer in self.layers.values() if layer.body is not None}
        self.branches = {layer.id: [(Net(body, blob), ports) for body, ports in layer.branches]
                         for layer in self.layers.values() if layer.kind == 'If'}
        # by output of a loop that ends by itself: how many parts the latest run put together
        self.parts = {}
        self.constants = {layer.id: self.constant(layer) for layer in self.layers.values() if layer.kind == 'Const'}

    def constant(self, layer):
        a = layer.attributes
        shape, kind, offset, size = numbers(a['shape']), a['element_type'], int(a['offset']), int(a['size'])
        data, count = self.blob[offset:offset + size], int(np.prod(numbers(a['shape'])))
        if kind in ('u4', 'i4'):
            nibbles = np.frombuffer(data, np.uint8)
            nibbles = np.stack([nibbles & 15, nibbles >> 4], 1).reshape(-1)[:count].astype(np.int64)
            value = nibbles if kind == 'u4' else np.where(nibbles > 7, nibbles - 16, nibbles)
        elif kind == 'bf16':
            value = np.frombuffer(data, '<u2', count).astype(np.uint32) << 16
            value = value.view(np.float32)
        else:
            value = np.frombuffer(data, TYPES[kind], count)
        return widen(value.reshape(shape))

    def is_known(self, layer):
        """Whether a layer is a constant, converted or not."""
        layer = self.layers[layer]
        return layer.kind == 'Const' or layer.kind == 'Convert' and self.is_known(self.source[layer.id, layer.inputs[0]][0])

    def run(self, given, variables=None):
        """Results, given the Parameters by layer id; variables are changed in place."""
        known = {}
        after = {}
        state = {} if variables is None else variables

        def value(source):
            if source not in known:
                layer = self.layers[source[0]]
                operands = [value(self.source[layer.id, port]) for port in layer.inputs]
                if layer.kind == 'FakeQuantize' and self.is_known(self.source[layer.id, layer.inputs[0]][0]):
                    operands = [np.asarray(operand, np.float32) for operand in operands]
                if layer.kind == 'Parameter':
                    out = given[layer.id]
                elif layer.kind == 'Const':
                    out = self.constants[layer.id]
                elif layer.kind == 'ReadValue':
                    key = layer.attributes['variable_id']
                    if key not in state:
                        state[key] = operands[0] if operands else np.zeros(numbers(layer.attributes['variable_shape']))
                    out = state[key]
                elif layer.kind == 'Assign':
                    after[layer.attributes['variable_id']] = out = operands[0]
                elif layer.body is not None:
                    begins = layer.kind == 'Loop' and self.is_known(self.source[layer.id, layer.inputs[1]][0])
                    out, parts = iterate(layer, self.bodies[layer.id], operands, begins)
                    self.parts.update({(layer.id, port): n for port, n in parts.items()})
                elif layer.kind == 'If':
                    out = choose(layer, self.branches[layer.id], operands)
                else:
                    out = compute(layer, operands)
                out = out if isinstance(out, (tuple, list)) else [out]
                for port, v in zip(layer.outputs or [None], out):
                    known[layer.id, port] = v
            return known[source]

        read = lambda layer: value(self.source[layer.id, layer.inputs[0]])
        results = [read(layer) for layer in self.results]
        for layer in self.assigns:
            value((layer.id, layer.outputs[0] if layer.outputs else None))
        state.update(after)
        # of what a loop that ends by itself puts together, how many parts there are
        sources = [self.source[layer.id, layer.inputs[0]] for layer in self.results]
        return results + [np.array(self.parts[source]) for source in sources if source in self.parts]

    def by_id(self, results):
        return {layer.id: result for layer, result in zip(self.results, results)}


def choose(layer, branches, operands):
    """If: the results of the branch that the first operand chooses."""
    body, ports = branches[0 if np.ravel(operands[0])[0] else 1]
    by_port = dict(zip(layer.inputs, operands))
    number = lambda entry, name: int(entry.get(name))
    given = {number(e, 'internal_layer_id'): by_port[number(e, 'external_port_id')] for e in ports if e.tag == 'input'}
    results = body.by_id(body.run(given))
    of = {number(e, 'external_port_id'): number(e, 'internal_layer_id') for e in ports if e.tag == 'output'}
    return [results[of[port]] for port in layer.outputs]


def iterate(layer, body, operands, begins):
    """TensorIterator and Loop, and by output that a loop which ends by itself puts together how many parts it has; behind them it is zero."""
    entries = {'input': [], 'output': []}
    for entry in layer.port_map:
        entries[entry.tag].append({k: (v if k == 'purpose' else int(v)) for k, v in entry.attrib.items()})
    by_port = dict(zip(layer.inputs, operands))
    back = [(int(e.get('from-layer')), int(e.get('to-layer'))) for e in (layer.back_edges if layer.back_edges is not None else [])]
    count, condition = None, True
    if layer.kind == 'Loop':
        trips, condition = int(np.ravel(operands[0])[0]), bool(np.ravel(operands[1])[0])
        count = trips if trips >= 0 else None

    def pieces(entry, size):
        start, stride, part = entry.get('start', 0), entry.get('stride', 1), entry.get('part_size', 1)
        end = entry.get('end', -1)
        start = start + size + 1 if start < 0 and stride < 0 else start + size if start < 0 else start
        end = end + size + 1 if end < 0 else end
        if stride > 0:
            return [(s, s + part) for s in range(start, end - part + 1, stride)]
        return [(s - part, s) for s in range(start, end + part - 1, stride)]

    values, cuts = {}, []
    for entry in entries['input']:
        if entry.get('purpose') == 'current_iteration':
            cuts.append((entry['internal_layer_id'], None, None))
            continue
        whole = by_port[entry['external_port_id']]
        if 'axis' in entry:
            windows = pieces(entry, whole.shape[entry['axis']])
            cuts.append((entry['internal_layer_id'], (whole, entry['axis']), windows))
            count = len(windows) if count is None else min(count, len(windows))
        else:
            values[entry['internal_layer_id']] = whole
    collected = {i: [] for i, _ in enumerate(entries['output'])}
    last, turn, initial = None, 0, dict(values)
    ends = any(entry.get('purpose') == 'execution_condition' for entry in entries['output'])
    # a loop of one turn whose first condition is a constant always has this turn
    ends = ends and not (begins and condition and count == 1)
    while condition and (count is None or turn < count):
        for parameter, cut, windows in cuts:
            if cut is None:
                values[parameter] = np.array(turn, np.int64)
            else:
                values[parameter] = np.take(cut[0], range(*windows[turn]), cut[1])
        last = body.by_id(body.run(values))
        for i, entry in enumerate(entries['output']):
            if 'axis' in entry:
                collected[i].append(last[entry['internal_layer_id']])
            if entry.get('purpose') == 'execution_condition':
                condition = bool(np.ravel(last[entry['internal_layer_id']])[0])
        for result, parameter in back:
            values[parameter] = last[result]
        turn += 1
    if last is None:
        # not once: what is handed on stays, all else is zero
        for parameter, cut, windows in cuts:
            values[parameter] = np.array(0, np.int64) if cut is None else np.take(cut[0], range(*windows[0]), cut[1])
        last = {result: np.zeros_like(v) for result, v in body.by_id(body.run(values)).items()}
        last.update({result: initial[parameter] for result, parameter in back})
    by_output, lengths = {}, {}
    for i, entry in enumerate(entries['output']):
        if entry['external_port_id'] < 0:
            continue
        if 'axis' in entry:
            if ends:
                lengths[entry['external_port_id']] = turn
                zero = np.zeros_like(last[entry['internal_layer_id']])
                collected[i] += [zero] * (count - turn)
            parts = collected[i] if entry.get('stride', 1) > 0 else collected[i][::-1]
            by_output[entry['external_port_id']] = np.concatenate(parts, entry['axis'])
        else:
            by_output[entry['external_port_id']] = last[entry['internal_layer_id']]
    return [by_output.get(port) for port in layer.outputs], lengths


def widen(v):
    v = np.asarray(v)
    return v if v.dtype == bool else v.astype(np.int64 if v.dtype.kind in 'iu' else np.float64)


BINARY = {'Add': np.add, 'Subtract': np.subtract, 'Multiply': np.multiply, 'Maximum': np.maximum,
          'Minimum': np.minimum, 'Mod': np.fmod, 'FloorMod': np.mod, 'Equal': np.equal, 'NotEqual': np.not_equal,
          'Greater': np.greater, 'GreaterEqual': np.greater_equal, 'Less': np.less, 'LessEqual': np.less_equal,
          'LogicalAnd': np.logical_and, 'LogicalOr': np.logical_or, 'PRelu': None, 'PReLU': None}
UNARY = {'Sigmoid': 'sigmoid', 'Tanh': 'tanh', 'ReLU': 'relu', 'Relu': 'relu', 'SoftPlus': 'softplus', 'SoftSign': 'softsign',
         'Elu': 'elu'}


REDUCTIONS = {'ReduceSum': lambda x, axes, keep: x.sum(axes, keepdims=keep),
              'ReduceMean': lambda x, axes, keep: x.mean(axes, keepdims=keep),
              'ReduceMax': lambda x, axes, keep: x.max(axes, keepdims=keep),
              'ReduceMin': lambda x, axes, keep: x.min(axes, keepdims=keep),
              'ReduceProd': lambda x, axes, keep: x.prod(axes, keepdims=keep),
              'ReduceL1': lambda x, axes, keep: np.abs(x).sum(axes, keepdims=keep),
              'ReduceL2': lambda x, axes, keep: np.sqrt((x * x).sum(axes, keepdims=keep)),
              'ReduceLogicalAnd': lambda x, axes, keep: x.all(axes, keepdims=keep),
              'ReduceLogicalOr': lambda x, axes, keep: x.any(axes, keepdims=keep)}


# How ScatterNDUpdate and ScatterElementsUpdate put an update to what is there.
COMBINE = {'none': lambda old, new: new, 'sum': np.add, 'prod': np.multiply, 'max': np.maximum, 'min': np.minimum}


def in_f32(v):
    """A constant that cellc's models hold as f32."""
    return np.float64(np.float32(v))


def compute(layer, v):
    kind, a = layer.kind, layer.attributes
    for cell in ('AUGRU', 'GRU', 'RNN', 'LSTM'):
        if kind == cell + 'Cell':
            x, h, rest = v[0], v[1], v[2:]
            c, rest = (rest[0], rest[1:]) if cell == 'LSTM' else (None, rest)
            w, r, b = rest[0], rest[1], rest[2] if len(rest) > 2 else None
            p = rest[3] if cell == 'LSTM' and len(rest) > 3 else None
            attention = rest[3] if cell == 'AUGRU' else None
            h, c = Cell(cell, a).step(x, h, c, w, r, b, p, attention)
            return [h, c] if cell == 'LSTM' else h
        if kind == cell + 'Sequence':
            c0, rest = (v[2], v[3:]) if cell == 'LSTM' else (None, v[2:])
            lengths, w, r, b = rest[:4]
            attention = rest[4] if cell == 'AUGRU' else None
            return Cell(cell, a).sequence(v[0], v[1], c0, lengths, w, r, b, a.get('direction', 'forward').lower(), attention)
    if kind in ('PRelu', 'PReLU'):
        slope = v[1]
        if slope.ndim == 1 and v[0].ndim > 1 and slope.size > 1:
            slope = slope.reshape([1, -1] + [1] * (v[0].ndim - 2))
        return np.where(v[0] < 0, v[0] * slope, v[0])
    if kind == 'Divide' and v[0].dtype.kind == 'i':
        floor = v[0] // v[1]
        # the first of the attribute's values is the default
        return floor if truth(a.get('m_pythondiv', 'true')) else floor + ((v[0] % v[1] != 0) & (floor < 0))
    if kind == 'Divide':
        return v[0] / v[1]
    if kind == 'Power':
        return v[0] ** v[1]
    if kind in BINARY:
        return BINARY[kind](v[0], v[1])
    if kind in UNARY:
        return ACTIVATIONS[UNARY[kind]][0](v[0], float(a.get('alpha', 1)), None)
    if kind == 'HardSigmoid':
        return np.clip(v[1] * v[0] + v[2], 0, 1)
    if kind == 'Clamp':
        return np.clip(v[0], float(a['min']), float(a['max']))
    if kind in ('Exp', 'Log', 'Abs', 'Floor', 'Negative', 'Ceiling', 'LogicalNot'):
        name = {'Negative': 'negative', 'Ceiling': 'ceil', 'LogicalNot': 'logical_not'}.get(kind, kind.lower())
        return getattr(np, name)(v[0])
    if kind == 'Round':
        return np.round(v[0])
    if kind == 'FakeQuantize':
        x, low, high, out_low, out_high = v
        # cellc's models hold steps, their inverses, and what is known when compiling as f32
        steps, f = np.float32(int(a['levels']) - 1), np.float32
        each, out_each = steps / (f(high) - f(low)), (f(out_high) - f(out_low)) / steps
        return np.round((np.clip(x, low, high) - low) * each) * out_each + out_low
    if kind == 'Sign':
        return np.sign(v[0])
    if kind == 'Sqrt':
        return np.sqrt(v[0])
    if kind == 'Mish':
        return v[0] * np.tanh(np.logaddexp(0, v[0]))
    if kind in ('Sin', 'Cos'):
        return getattr(np, kind.lower())(v[0])
    if kind == 'Erf':
        return erf(v[0])
    if kind == 'Gelu' and a.get('approximation_mode', 'erf').lower() == 'tanh':
        # (1 + tanh(t)) / 2 = 1 / (1 + exp(-2 t))
        twice, cubed = in_f32(np.sqrt(8 / np.pi)), in_f32(np.sqrt(8 / np.pi) * 0.044715)
        return v[0] / (1 + np.exp(-v[0] * (twice + cubed * v[0] ** 2)))
    if kind == 'Gelu':
        # cellc's models hold such numbers as f32
        return v[0] / 2 * (1 + erf(v[0] * np.float64(np.float32(np.sqrt(0.5)))))
    if kind == 'Swish':
        return v[0] / (1 + np.exp(-v[0] * (v[1] if len(v) > 1 else 1)))
    if kind == 'Selu':
        return v[2] * np.where(v[0] > 0, v[0], v[1] * np.expm1(np.minimum(v[0], 0)))
    if kind == 'HSigmoid':
        return np.clip(v[0] * in_f32(1 / 6) + 0.5, 0, 1)
    if kind == 'HSwish':
        return v[0] * np.clip(v[0] * np.float64(np.float32(1 / 6)) + 0.5, 0, 1)
    if kind == 'MVN':
        axes = tuple(int(axis) for axis in np.ravel(v[1]))
        centred = v[0] - v[0].mean(axes, keepdims=True)
        if not truth(a.get('normalize_variance')):
            return centred
        variance, eps = (centred ** 2).mean(axes, keepdims=True), single(a['eps'])
        inside = a['eps_mode'].lower() == 'inside_sqrt'
        return centred / (np.sqrt(variance + eps) if inside else np.sqrt(variance) + eps)
    if kind == 'BatchNormInference':
        scale, shift, mean, variance = (part.reshape([-1] + [1] * (v[0].ndim - 2)) for part in v[1:])
        factor = scale / np.sqrt(variance + single(a['epsilon']))
        return v[0] * in_f32(factor) + in_f32(shift - mean * factor)
    if kind == 'GroupNormalization':
        groups = v[0].reshape(v[0].shape[0], int(a['num_groups']), -1)
        centred = groups - groups.mean(-1, keepdims=True)
        normal = centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + single(a['epsilon']))
        scale, shift = (part.reshape([-1] + [1] * (v[0].ndim - 2)) for part in v[1:])
        return normal.reshape(v[0].shape) * scale + shift
    if kind == 'NormalizeL2':
        axes, eps = tuple(int(axis) for axis in np.ravel(v[1])), single(a['eps'])
        total = (v[0] ** 2).sum(axes, keepdims=True)
        return v[0] / np.sqrt(total + eps if a['eps_mode'] == 'add' else np.maximum(total, eps))
    if kind == 'LRN':
        square, size = v[0] ** 2, int(a['size'])
        for axis in (int(axis) for axis in np.ravel(v[1])):
            ends = [(0, 0)] * square.ndim
            ends[axis] = ((size - 1) // 2,) * 2
            padded = np.pad(square, ends)
            square = sum(np.take(padded, range(k, k + v[0].shape[axis]), axis) for k in range((size - 1) // 2 * 2 + 1)) / size
        return v[0] / (single(a['bias']) + single(a['alpha']) * square) ** single(a['beta'])
    if kind == 'Einsum':
        return np.einsum(a['equation'], *v)
    if kind in REDUCTIONS:
        axes = tuple(int(axis) for axis in np.ravel(v[1]))
        return REDUCTIONS[kind](v[0], axes, truth(a.get('keep_dims')))
    if kind == 'Select':
        return np.where(v[0], v[1], v[2])
    if kind == 'Convert':
        to = a['destination_type']
        if to == 'boolean':
            return v[0] != 0
        return v[0].astype(np.int64 if to[0] in 'iu' else np.float64)
    if kind == 'MatMul':
        x, y = v
        if x.ndim > 1 and truth(a.get('transpose_a')):
            x = np.swapaxes(x, -1, -2)
        if y.ndim > 1 and truth(a.get('transpose_b')):
            y = np.swapaxes(y, -1, -2)
        return np.matmul(x, y)
    if kind in ('SoftMax', 'Softmax', 'LogSoftmax'):
        axis = int(a.get('axis', 1))
        shifted = v[0] - v[0].max(axis, keepdims=True)
        total = np.exp(shifted).sum(axis, keepdims=True)
        return shifted - np.log(total) if kind == 'LogSoftmax' else np.exp(shifted) / total
    if kind == 'Concat':
        return np.concatenate(v, int(a['axis']))
    if kind == 'Split':
        return np.split(v[0], int(a['num_splits']), int(v[1]))
    if kind == 'VariadicSplit':
        axis, lengths = int(np.ravel(v[1])[0]), np.ravel(v[2]).copy()
        lengths[lengths < 0] = v[0].shape[axis] - lengths[lengths >= 0].sum()
        return np.split(v[0], np.cumsum(lengths)[:-1], axis)
    if kind == 'Reshape':
        shape = [int(s) for s in np.ravel(v[1])]
        if truth(a.get('special_zero')):
            shape = [v[0].shape[i] if s == 0 else s for i, s in enumerate(shape)]
        return v[0].reshape(shape)
    if kind == 'Squeeze':
        axes = [int(x) for x in np.ravel(v[1])] if len(v) > 1 else [i for i, s in enumerate(v[0].shape) if s == 1]
        return np.squeeze(v[0], tuple(x for x in axes if v[0].shape[x] == 1))
    if kind == 'Unsqueeze':
        return np.expand_dims(v[0], tuple(int(x) for x in np.ravel(v[1])))
    if kind == 'Transpose':
        return np.transpose(v[0], [int(x) for x in v[1]] or None)
    if kind == 'Gather':
        batch, axis = int(a.get('batch_dims', 0)), int(np.ravel(v[2])[0])
        # what lies beyond an end is the end
        if batch == 0:
            return np.take(v[0], np.clip(v[1], -v[0].shape[axis], v[0].shape[axis] - 1), axis)
        axis, batch = axis % v[0].ndim, batch % v[1].ndim
        lead = v[0].shape[:batch]
        parts = [np.take(v[0][i], v[1][i], axis - batch) for i in np.ndindex(*lead)]
        return np.stack(parts).reshape(lead + parts[0].shape)
    if kind == 'GatherElements':
        return np.take_along_axis(v[0], v[1], int(a['axis']))
    if kind == 'TopK':
        axis, largest = int(a['axis']), a['mode'] == 'max'
        key = -v[0] if largest else v[0]
        places = np.take(np.argsort(key, axis, kind='stable'), range(int(v[1])), axis)
        if a.get('sort', 'value') == 'index':
            places = np.sort(places, axis)
        return [np.take_along_axis(v[0], places, axis), places]
    if kind == 'CumSum':
        axis, reverse = int(v[1]), truth(a.get('reverse'))
        x = np.flip(v[0], axis) if reverse else v[0]
        total = np.cumsum(x, axis)
        if truth(a.get('exclusive')):
            total = np.roll(total, 1, axis)
            total[(slice(None),) * (axis % total.ndim) + (0,)] = 0
        return np.flip(total, axis) if reverse else total
    if kind == 'GatedDeltaNet':
        query, key, value, state, gate, beta = v
        if truth(a.get('fuse_qk_l2norm')):
            query, key = [x / np.sqrt((x * x).sum(-1, keepdims=True) + float(np.float32(1e-6))) for x in (query, key)]
        # neighbouring values share a key
        query, key = [np.repeat(x, value.shape[2] // x.shape[2], 2) for x in (query, key)]
        # the scale is a number of f32
        query = query * float(np.float32(1 / np.sqrt(query.shape[-1])))
        steps = []
        for t in range(value.shape[1]):
            state = state * np.exp(gate[:, t])[..., None, None]
            missing = value[:, t] - np.einsum('nhk,nhkv->nhv', key[:, t], state)
            state = state + np.einsum('nhk,nhv->nhkv', key[:, t] * beta[:, t][..., None], missing)
            steps.append(np.einsum('nhk,nhkv->nhv', query[:, t], state))
        return [np.stack(steps, 1), state]
    if kind == 'OneHot':
        axis, depth = int(a['axis']), int(v[1])
        return np.moveaxis(np.where(v[0][..., None] == np.arange(depth), v[2], v[3]), -1, axis)
    if kind == 'ScatterNDUpdate':
        out, combine = np.array(v[0]), COMBINE[a.get('reduction', 'none')]
        for k in np.ndindex(v[1].shape[:-1]):
            at = tuple(v[1][k])
            out[at] = combine(out[at], v[2][k])
        return out
    if kind == 'ScatterElementsUpdate':
        out, combine = np.array(v[0]), COMBINE[a.get('reduction', 'none')]
        axis = int(np.ravel(v[3])[0]) % out.ndim
        for k in np.ndindex(v[1].shape):
            # what lies beyond an end is the end
            place = np.clip(v[1][k], -out.shape[axis], out.shape[axis] - 1)
            at = k[:axis] + (place,) + k[axis + 1:]
            out[at] = combine(out[at], v[2][k])
        return out
    if kind == 'DepthToSpace':
        return blocks(v[0], int(a.get('block_size', 1)), a['mode'] == 'depth_first', True)
    if kind == 'SpaceToDepth':
        return blocks(v[0], int(a.get('block_size', 1)), a['mode'] == 'depth_first', False)
    if kind == 'Interpolate':
        return interpolate(layer, v)
    if kind == 'Slice':
        start, stop, step = (np.ravel(x) for x in v[1:4])
        axes = np.ravel(v[4]) if len(v) > 4 else range(len(start))
        where = [slice(None)] * v[0].ndim
        for axis, b, e, s in zip(axes, start, stop, step):
            size = v[0].shape[int(axis)]
            where[int(axis)] = bounds(int(b), int(e), int(s), size)
        return v[0][tuple(where)]
    if kind == 'StridedSlice':
        return strided_slice(v, a)
    if kind == 'Broadcast':
        shape, mode = [int(x) for x in np.ravel(v[1])], a.get('mode', 'numpy')
        if mode == 'bidirectional':
            return v[0] * np.ones(shape, v[0].dtype) if v[0].dtype != bool else np.logical_and(v[0], np.ones(shape, bool))
        if mode == 'explicit':
            inner = [1] * len(shape)
            for i, axis in enumerate(np.ravel(v[2])):
                inner[int(axis)] = v[0].shape[i]
            return np.broadcast_to(v[0].reshape(inner), shape)
        return np.broadcast_to(v[0], shape)
    if kind == 'ScatterUpdate':
        axis = int(np.ravel(v[3])[0]) % v[0].ndim
        out = np.array(v[0])
        out[(slice(None),) * axis + (v[1],)] = v[2]
        return out
    if kind == 'ReverseSequence':
        out = np.array(v[0])
        batch, steps = int(a.get('batch_axis', 0)), int(a.get('seq_axis', 1))
        for k, length in enumerate(np.clip(np.ravel(v[1]), 0, out.shape[steps])):
            row = np.moveaxis(out, (batch, steps), (0, 1))[k]
            row[:int(length)] = row[:int(length)][::-1].copy()
        return out
    if kind == 'Range':
        return np.arange(*(np.ravel(x)[0] for x in v))
    if kind == 'Tile':
        return np.tile(v[0], [int(x) for x in np.ravel(v[1])])
    if kind == 'ShapeOf':
        return np.array(v[0].shape, np.int64)
    if kind in ('Convolution', 'GroupConvolution'):
        w = v[1] if kind[0] == 'G' else v[1][None]
        return convolution(v[0], w, a)
    if kind in ('ConvolutionBackpropData', 'GroupConvolutionBackpropData'):
        w = v[1] if kind[0] == 'G' else v[1][None]
        return convolution_backwards(v[0], w, a, None if len(v) < 3 else [int(size) for size in np.ravel(v[2])])
    if kind == 'MaxPool':
        y = pool(v[0], a, -np.inf, lambda windows, real, padded: windows.max(-1))
        return [y, np.zeros(y.shape, np.int64)]
    if kind == 'AvgPool':
        exclude = truth(a.get('exclude-pad'))
        return pool(v[0], a, 0, lambda windows, real, padded: windows.sum(-1) / (real if exclude else padded))
    if kind == 'Pad':
        begin, end = ([int(n) for n in np.ravel(part)] for part in v[1:3])
        cut = tuple(slice(max(-b, 0), size - max(-e, 0)) for b, e, size in zip(begin, end, v[0].shape))
        pads = [(max(b, 0), max(e, 0)) for b, e in zip(begin, end)]
        if a['pad_mode'] == 'constant':
            return np.pad(v[0][cut], pads, constant_values=v[3] if len(v) > 3 else 0)
        return np.pad(v[0][cut], pads, a['pad_mode'])
    raise NotImplementedError(kind)


def blocks(x, size, depth_first, to_space):
    """DepthToSpace; SpaceToDepth is its inverse: channels say where in a block an element stands."""
    n, space = x.shape[0], x.shape[2:] if to_space else tuple(s // size for s in x.shape[2:])
    channels = x.shape[1] // size ** len(space) if to_space else x.shape[1]
    narrow = np.zeros((n, channels * size ** len(space), *space))
    wide = np.zeros((n, channels, *(s * size for s in space)))
    for inside in np.ndindex(*[size] * len(space)):
        which = int(np.ravel_multi_index(inside, [size] * len(space)))
        cut = (slice(None), slice(None)) + tuple(slice(at, None, size) for at in inside)
        for c in range(channels):
            deep = c * size ** len(space) + which if depth_first else which * channels + c
            if to_space:
                wide[(slice(None), c) + cut[2:]] = x[:, deep]
            else:
                narrow[:, deep] = x[(slice(None), c) + cut[2:]]
    return wide if to_space else narrow


def interpolate(layer, v):
    """By nearest, linear_onnx or cubic; places and weights in f32, as cellc's models hold them."""
    a, x, f = layer.attributes, v[0], np.float32
    sizes, scales = (v[1], v[2]) if layer.version == 'opset4' else (v[1], v[1])
    by_size = a['shape_calculation_mode'] == 'sizes'
    axes = v[-1] if len(v) > (3 if layer.version == 'opset4' else 2) else range(x.ndim)
    scaling, mode = a.get('coordinate_transformation_mode', 'half_pixel'), a['mode']
    for k, axis in enumerate(int(axis) for axis in axes):
        old = x.shape[axis]
        scale = f(sizes[k]) / f(old) if by_size else f(scales[k])
        new = int(sizes[k]) if by_size else int(np.floor(scale * f(old)))
        out = np.arange(new).astype(f)
        half = (out + f(.5)) / scale - f(.5)
        at = {'half_pixel': half, 'asymmetric': out / scale, 'pytorch_half_pixel': half if new > 1 else 0 * out,
              'tf_half_pixel_for_nn': (out + f(.5)) / scale,
              'align_corners': out * f(old - 1) / f(max(new - 1, 1)) if new > 1 else 0 * out}[scaling]
        inside = lambda places: np.clip(places, 0, old - 1).astype(np.int64)
        if mode == 'nearest':
            rounded = {'round_prefer_floor': np.ceil(at - f(.5)), 'round_prefer_ceil': np.floor(at + f(.5)), 'floor': np.floor(at),
                       'ceil': np.ceil(at), 'simple': np.ceil(at) if scale < 1 else np.floor(at)}[a.get('nearest_mode', 'round_prefer_floor')]
            x = np.take(x, inside(rounded), axis)
            continue
        below, c = np.floor(at), f(a.get('cube_coeff', -.75))
        rest = at - below
        near = lambda d: ((c + 2) * d - (c + 3)) * d * d + 1
        far = lambda d: ((c * d - 5 * c) * d + 8 * c) * d - 4 * c
        taps = [(0, 1 - rest), (1, rest)] if mode == 'linear_onnx' else [
            (-1, far(rest + 1)), (0, near(rest)), (1, near(1 - rest)), (2, far(2 - rest))]
        along = [1] * x.ndim
        along[axis] = -1
        x = sum(np.take(x, inside(below + tap), axis) * weight.astype(np.float64).reshape(along) for tap, weight in taps)
    return x


def moving(a, sizes, kernel):
    """By dimension: stride, dilation, pads in front and behind."""
    strides, dilations = numbers(a['strides']), numbers(a.get('dilations')) or [1] * len(sizes)
    begin, end = numbers(a.get('pads_begin')) or [0] * len(sizes), numbers(a.get('pads_end')) or [0] * len(sizes)
    auto = a.get('auto_pad', 'explicit')
    for i, size in enumerate(sizes):
        if auto == 'valid':
            begin[i] = end[i] = 0
        elif auto != 'explicit':
            total = max(0, (-(-size // strides[i]) - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1 - size)
            begin[i] = total // 2 if auto == 'same_upper' else total - total // 2
            end[i] = total - begin[i]
    return strides, dilations, begin, end


def spread(a, strides):
    """Zeros between the elements."""
    out = np.zeros(a.shape[:2] + tuple((size - 1) * s + 1 for size, s in zip(a.shape[2:], strides)))
    out[(slice(None), slice(None)) + tuple(slice(None, None, s) for s in strides)] = a
    return out


def convolution(x, w, a):
    """x [N, C, ..], w [G, M, C / G, ..]."""
    kernel, groups = w.shape[3:], w.shape[0]
    strides, dilations, begin, end = moving(a, x.shape[2:], kernel)
    x = np.pad(x, [(0, 0), (0, 0)] + list(zip(begin, end)))
    counts = [(size - (k - 1) * d - 1) // s + 1 for size, k, d, s in zip(x.shape[2:], kernel, dilations, strides)]
    each = x.shape[1] // groups
    out = np.zeros((x.shape[0], groups, w.shape[1], *counts))
    for g in range(groups):
        for tap in np.ndindex(*kernel):
            cut = tuple(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in zip(tap, dilations, counts, strides))
            piece = x[(slice(None), slice(g * each, (g + 1) * each)) + cut]
            out[:, g] += np.einsum('nc...,mc->nm...', piece, w[(g, slice(None), slice(None)) + tap])
    return out.reshape(x.shape[0], -1, *counts)


def convolution_backwards(x, w, a, shape):
    """x [N, C, ..], w [G, C / G, M, ..]: every element adds the kernel to the output."""
    kernel, groups = w.shape[3:], w.shape[0]
    strides, dilations = numbers(a['strides']), numbers(a.get('dilations')) or [1] * len(kernel)
    begin, end = numbers(a.get('pads_begin')) or [0] * len(kernel), numbers(a.get('pads_end')) or [0] * len(kernel)
    extra, auto = numbers(a.get('output_padding')) or [0] * len(kernel), a.get('auto_pad', 'explicit')
    each = x.shape[1] // groups
    reach = [(k - 1) * d for k, d in zip(kernel, dilations)]
    x = spread(x, strides)
    full = np.zeros((x.shape[0], groups, w.shape[2]) + tuple(size + r + e + 64 for size, r, e in zip(x.shape[2:], reach, extra)))
    for g in range(groups):
        for tap in np.ndindex(*kernel):
            at = tuple(slice(t * d, t * d + size) for t, d, size in zip(tap, dilations, x.shape[2:]))
            full[(slice(None), g, slice(None)) + at] += np.einsum(
                'nc...,cm->nm...', x[:, g * each:(g + 1) * each], w[(g, slice(None), slice(None)) + tap])
    where = []
    for i, size in enumerate(x.shape[2:]):
        whole = size + reach[i] + extra[i]
        first, last = (begin[i], whole - end[i]) if auto == 'explicit' else (0, whole)
        if shape is not None:
            total = max(0, whole - shape[i])
            first = {'explicit': begin[i], 'same_upper': total - total // 2, 'same_lower': total // 2, 'valid': 0}[auto]
            last = first + shape[i]
        where.append(slice(first, last))
    return full[(slice(None), slice(None), slice(None)) + tuple(where)].reshape(x.shape[0], -1, *(s.stop - s.start for s in where))


def pool(x, a, empty, of):
    """`of` the windows, how many elements of each are data, and how many are data or pads."""
    kernel = numbers(a['kernel'])
    strides, dilations, begin, end = moving(a, x.shape[2:], kernel)
    counts = []
    for size, k, d, s, b, e in zip(x.shape[2:], kernel, dilations, strides, begin, end):
        rest, rounding = size + b + e - (k - 1) * d - 1, a.get('rounding_type', 'floor')
        count = rest // s + 1
        if rest % s and (rounding == 'ceil' or rounding == 'ceil_torch' and count * s < size + b):
            count += 1
        counts.append(count)
    def windows(values, fill, pads):
        out = np.full((*x.shape[:2], *counts, int(np.prod(kernel))), float(fill))
        around = np.pad(values, [(0, 0), (0, 0)] + list(zip(begin, end)), constant_values=pads)
        for place in np.ndindex(*counts):
            for index, tap in enumerate(np.ndindex(*kernel)):
                at = tuple(p * s + t * d for p, s, t, d in zip(place, strides, tap, dilations))
                if all(q < size for q, size in zip(at, around.shape[2:])):
                    out[(slice(None), slice(None)) + place + (index,)] = around[(slice(None), slice(None)) + at]
        return out
    ones = np.ones(x.shape)
    return of(windows(x, empty, empty), windows(ones, 0, 0).sum(-1), windows(ones, 0, 1).sum(-1))


def bounds(b, e, s, size):
    """Slice-8's rules as a Python slice."""
    if s > 0:
        return slice(max(b + size, 0) if b < 0 else b, max(e + size, 0) if e < 0 else e, s)
    b = b + size if b < 0 else min(b, size - 1)
    e = e + size if e < 0 else e
    if b < 0:
        return slice(0, 0)
    return slice(b, None if e < 0 else e, s)


def strided_slice(v, a):
    begin, end = np.ravel(v[1]), np.ravel(v[2])
    strides = np.ravel(v[3]) if len(v) > 3 else np.ones(len(begin), np.int64)
    mask = lambda name, i: i < len(numbers(a.get(name))) and numbers(a.get(name))[i] == 1
    where, rest = [], len(begin) - sum(mask('new_axis_mask', i) or mask('ellipsis_mask', i) for i in range(len(begin)))
    dimension = 0
    for i in range(len(begin)):
        if mask('ellipsis_mask', i):
            where += [slice(None)] * (v[0].ndim - rest)
            dimension += v[0].ndim - rest
        elif mask('new_axis_mask', i):
            where.append(None)
        else:
            size, s = v[0].shape[dimension], int(strides[i])
            b = int(begin[i])
            if mask('shrink_axis_mask', i):
                where.append(b)
            else:
                b = (0 if s > 0 else size - 1) if mask('begin_mask', i) else b
                e = (size if s > 0 else -size - 1) if mask('end_mask', i) else int(end[i])
                where.append(bounds(b, e, s, size))
            dimension += 1
    return v[0][tuple(where)]


class Model:
    def __init__(self, xml, weights):
        try:
            with open(weights, 'rb') as file:
                blob = file.read()
        except FileNotFoundError:
            blob = b''
        self.net = Net(ElementTree.parse(xml).getroot(), blob)

    def runs(self, runs, stateful):
        """The results of every run; each is a list of arrays, Parameters in document order."""
        variables, out = {}, []
        for inputs in runs:
            if not stateful:
                variables = {}
            given = {layer.id: widen(value) for layer, value in zip(self.net.parameters, inputs)}
            out.append([np.asarray(result, np.float64) for result in self.net.run(given, variables)])
        return out
