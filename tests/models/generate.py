"""Makes random models of the families that cellc compiles, with inputs, OpenVINO's results and a float64 oracle's.

    python generate.py FOLDER [--families a,b,..] [--count N] [--seed S]

A case is what `../corpus` holds: model.xml, model.bin, case.json and raw files of every run.  See README.md.
"""
import argparse
import json
import logging
import os
import re
import shutil
import sys
import traceback
import warnings

import numpy as np
import openvino as ov
import openvino.opset13 as opset

from oracle import Model

warnings.filterwarnings('ignore')
logging.disable(logging.WARNING)
os.environ.setdefault('KERAS_BACKEND', 'openvino')
CORE = ov.Core()


class op:
    """The operation set, with the defaults that its functions lack."""


for _name in dir(opset):
    if not _name.startswith('_'):
        setattr(op, _name, staticmethod(getattr(opset, _name)))
_rnn_cell = op.rnn_cell
op.rnn_cell = staticmethod(lambda *a, activations=None, clip=0.0: _rnn_cell(*a, activations or ['tanh'], [], [], clip))


def _assign(value, variable):
    # the constructor takes nodes, and of a node with several outputs only the first
    node = opset.assign(op.constant(np.zeros(shape_of(value), np.float32)), variable)
    node.input(0).replace_source_output(value if isinstance(value, ov.Output) else value.output(0))
    return node


op.assign = staticmethod(_assign)
op.matmul = staticmethod(lambda a, b, transpose_a=False, transpose_b=False: opset.matmul(a, b, transpose_a, transpose_b))
NAMES = {np.dtype('float32'): 'f32', np.dtype('int64'): 'i64', np.dtype('int32'): 'i32', np.dtype('float64'): 'f64'}


class Draw:
    """Random choices, and how they become nodes. Weights are numbers of f16, so that saving in f16 changes nothing."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.inputs, self.outputs, self.notes, self.stateful, self.dynamic, self.patch = [], [], [], False, False, None
        self.assigns, self.runs = [], 2

    def int(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def pick(self, *choices):
        return choices[self.int(0, len(choices) - 1)]

    def chance(self, p):
        return self.rng.random() < p

    def note(self, text):
        self.notes.append(text)

    def array(self, shape, scale=None):
        scale = scale if scale is not None else 1 / np.sqrt(max(1, shape[-1] if len(shape) > 1 else 4))
        return (self.rng.standard_normal(shape) * scale).astype(np.float16).astype(np.float32)

    def weight(self, shape, scale=None, convert=False):
        return op.constant(self.array(shape, scale))

    def parameter(self, shape, name, kind=np.float32, make=None, open_axes=()):
        """An input; `make(run)` gives its values, normal numbers otherwise."""
        declared = [-1 if axis in open_axes else size for axis, size in enumerate(shape)]
        node = op.parameter(declared, kind, name)
        node.output(0).set_names({name})
        make = make or (lambda run, shape: self.rng.standard_normal(shape).astype(np.float32))
        self.inputs.append((node, shape, make))
        self.dynamic |= bool(open_axes)
        return node

    def output(self, value, name=None):
        result = op.result(value)
        if name:
            result.output(0).set_names({name})
        self.outputs.append(result)


def shape_of(value):
    return [int(d.get_length()) if d.is_static else -1 for d in value.get_output_partial_shape(0)] if isinstance(value, ov.Node) \
        else [int(d.get_length()) if d.is_static else -1 for d in value.get_partial_shape()]


# Cells -----------------------------------------------------------------------------------------------------------

GATES = {'RNN': 1, 'GRU': 3, 'AUGRU': 3, 'LSTM': 4}
PLAIN = ['sigmoid', 'tanh', 'relu']
OTHERS = ['affine', 'leakyrelu', 'thresholdedrelu', 'scaledtanh', 'hardsigmoid', 'elu', 'softsign', 'softplus']


def cell_options(d, kind, others=False):
    """Attributes that both the cell and the sequence take."""
    o = {}
    count = {'RNN': 1, 'GRU': 2, 'LSTM': 3}[kind]
    if d.chance(0.5):
        o['activations'] = [d.pick(*PLAIN) for _ in range(count)]
        if kind != 'RNN' and o['activations'][-1] == 'relu' and d.chance(.7):
            o['activations'][-1] = 'tanh'
    if d.chance(0.3):
        o['clip'] = d.pick(0.25, 0.4, 0.7, 1.0, 2.5)
    if kind == 'GRU':
        o['linear_before_reset'] = bool(d.chance(0.5))
    d.note(' '.join(f'{k}={v}' for k, v in o.items()))
    return o


def weights_of(d, kind, i, h, ways=None, lbr=False, scale=None):
    lead = [] if ways is None else [ways]
    b = 4 if kind == 'GRU' and lbr else GATES[kind]
    return (d.weight(lead + [GATES[kind] * h, i], scale), d.weight(lead + [GATES[kind] * h, h], scale), d.weight(lead + [b * h], 0.3))


def cell(d):
    """One step of a GRUCell, RNNCell or LSTMCell: weights constant or Parameters, batch open or not."""
    kind = d.pick('RNN', 'GRU', 'LSTM')
    n, i, h = d.pick(1, 1, 2, 5), d.int(1, 17), d.int(1, 17)
    o = cell_options(d, kind)
    open_axes = (0,) if d.chance(.2) else ()
    x = d.parameter([n, i], 'x', open_axes=open_axes)
    s = [d.parameter([n, h], name, open_axes=open_axes) for name in (['h', 'c'] if kind == 'LSTM' else ['h'])]
    w = list(weights_of(d, kind, i, h, lbr=o.get('linear_before_reset'), scale=d.pick(None, 1.0)))
    if d.chance(.15):
        w = [d.parameter(shape_of(v), name) for v, name in zip(w, 'WRB')]
        d.note('run-time weights')
    node = getattr(op, kind.lower() + '_cell')(x, *s, *w, h, **o)
    d.note(f'{kind}Cell N={n} I={i} H={h}')
    for k in range(len(s)):
        if k == 0 or d.chance(.8):
            d.output(node.output(k), ['h_new', 'c_new'][k])


def lengths_of(d, n, t, name='lengths'):
    """Sequence lengths: constant or a Parameter."""
    kind = d.pick(np.int32, np.int64)
    if d.chance(.5):
        full = d.chance(.4)
        values = np.full(n, t) if full else d.rng.integers(0, t + 1, n)
        d.note(f'lengths {values.tolist()}')
        return op.constant(values.astype(kind))
    d.note('lengths at run time')
    return d.parameter([n], name, kind, lambda run, shape: d.rng.integers(0, t + 1, shape).astype(kind))


def sequence_node(d, kind, x, n, t, i, h, direction, scale=None):
    ways = 2 if direction == 'bidirectional' else 1
    o = cell_options(d, kind)
    initial = lambda name: d.parameter([n, ways, h], name) if d.chance(.5) else d.weight([n, ways, h], d.pick(0, .5))
    s = [initial(name) for name in (['h0', 'c0'] if kind == 'LSTM' else ['h0'])]
    lengths = lengths_of(d, n, t)
    w = weights_of(d, kind, i, h, ways, o.get('linear_before_reset'), scale)
    d.note(f'{kind}Sequence {direction} N={n} T={t} I={i} H={h}')
    return getattr(op, kind.lower() + '_sequence')(x, *s, lengths, *w, h, direction, **o)


def sequence(d):
    """GRU/RNN/LSTMSequence in every direction, lengths constant or at run time, 0 among them."""
    kind, direction = d.pick('RNN', 'GRU', 'LSTM'), d.pick('forward', 'reverse', 'bidirectional')
    n, t, i, h = d.pick(1, 2, 3), d.int(1, 7), d.int(1, 11), d.int(1, 11)
    node = sequence_node(d, kind, d.parameter([n, t, i], 'x'), n, t, i, h, direction)
    outputs = [k for k in range(3 if kind == 'LSTM' else 2) if d.chance(.7)] or [0]
    for k in outputs:
        d.output(node.output(k), ['Y', 'Ho', 'Co'][k])


def stack(d):
    """Two sequences, the second on the first's Y (transposed and reshaped), a dense head."""
    n, t, i, h1, h2 = d.pick(1, 2), d.int(1, 5), d.int(1, 8), d.int(1, 8), d.int(1, 8)
    direction = d.pick('forward', 'bidirectional', 'reverse')
    ways = 2 if direction == 'bidirectional' else 1
    x = d.parameter([n, t, i], 'x')
    a = sequence_node(d, d.pick('RNN', 'GRU', 'LSTM'), x, n, t, i, h1, direction)
    y = op.reshape(op.transpose(a.output(0), np.array([0, 2, 1, 3])), np.array([0, 0, -1]), True)
    if d.chance(.3):
        y = op.tanh(y)
    kind = d.pick('RNN', 'GRU', 'LSTM')
    b = sequence_node(d, kind, y, n, t, ways * h1, h2, 'forward')
    y = op.squeeze(b.output(0), np.array([1])) if d.chance(.6) else b.output(1)
    out = d.int(1, 6)
    y = op.matmul(y, d.weight([out, h2]), False, True)
    y = op.add(y, d.weight(d.pick([out], [1, 1, out], [1]), .3))
    y = d.pick(lambda v: v, op.sigmoid, op.tanh, op.relu, lambda v: op.softmax(v, -1), lambda v: op.log_softmax(v, -1), lambda v: op.softmax(v, 1))(y)
    d.output(y, 'y')
    if d.chance(.4):
        d.output(a.output(1), 'h1')


def states(d):
    """Layers whose states are one input and one output, [layers, N, H], as nn.GRU and nn.LSTM have them: taken apart and put together in many ways."""
    kind, layers, n, t, h = d.pick('RNN', 'GRU', 'LSTM'), d.int(1, 3), d.pick(1, 1, 2), d.pick(1, 1, 4), d.int(2, 7)
    i = d.int(1, 6)
    is_open = d.chance(.3)
    x = d.parameter([n, t, i], 'x', open_axes=(1,) if is_open else ())
    names = ['h', 'c'] if kind == 'LSTM' else ['h']
    given = [d.parameter([layers, n, h], name + '0') for name in names]
    turn = lambda v: op.transpose(v, np.array([1, 0, 2]))
    lasts = [[] for _ in names]

    def part(way, state, split, layer):
        """One layer of [layers, N, H], as [N, 1, H]."""
        if way == 'split':
            return turn(split.output(layer))
        if way == 'gather':
            return op.unsqueeze(op.gather(state, np.array(layer), np.array(0)), np.array(1))
        if way == 'slice':
            return turn(op.slice(state, np.array([layer]), np.array([layer + 1]), np.array([1]), np.array([0])))
        row = op.strided_slice(state, np.array([layer, 0]), np.array([layer + 1, 0]), np.array([1, 1]), [0, 1], [0, 1], [0, 0], [1, 0], [0, 0])
        return op.reshape(row, np.array([n, 1, h]), False)

    way, whole = d.pick('split', 'gather', 'slice', 'strided'), d.chance(.5)
    splits = [op.split(state, np.array(0), layers) if way == 'split' else None for state in given]
    lengths = op.constant(np.full(n, t, np.int64))
    if is_open:
        lengths = op.broadcast(op.gather(op.shape_of(x), np.array([1]), np.array(0)), np.array([n]))
    y, size = x, i
    for layer in range(layers):
        o = cell_options(d, kind)
        starts = [part(way, state, split, layer) for state, split in zip(given, splits)]
        w = weights_of(d, kind, size, h, 1, o.get('linear_before_reset'))
        node = getattr(op, kind.lower() + '_sequence')(y, *starts, lengths, *w, h, 'forward', **o)
        y, size = op.squeeze(node.output(0), np.array([1])), h
        for k, last in enumerate(lasts):
            last.append(node.output(1 + k))
    d.output(y, 'y')
    for name, last in zip(names, lasts):
        if whole:
            together = turn(op.concat(last, 1))
        else:
            together = op.concat([op.unsqueeze(op.squeeze(v, np.array([1])), np.array(0)) for v in last], 0)
        d.output(together, name + 'n')
    d.note(f'{kind} {way} whole={whole} layers={layers} N={n} T={t}{" open" if is_open else ""} I={i} H={h}')


def dynamic(d):
    """A sequence whose number of steps, or batch, is open; runs of different shapes."""
    kind, direction = d.pick('RNN', 'GRU', 'LSTM'), d.pick('forward', 'reverse', 'bidirectional')
    i, h = d.int(1, 8), d.int(1, 8)
    ways = 2 if direction == 'bidirectional' else 1
    open_batch, open_steps = d.chance(.5), d.chance(.7)
    sizes = [(d.pick(1, 2, 3) if open_batch or r == 0 else None, d.int(1, 6) if open_steps or r == 0 else None) for r in range(2)]
    sizes = [(n or sizes[0][0], t or sizes[0][1]) for n, t in sizes]
    declared = [-1 if open_batch else sizes[0][0], -1 if open_steps else sizes[0][1], i]
    x = op.parameter(declared, np.float32, 'x')
    x.output(0).set_names({'x'})
    normal = lambda shape: d.rng.standard_normal(shape).astype(np.float32)
    d.inputs.append((x, declared, lambda run, shape: normal([*sizes[run], i])))
    d.dynamic = open_batch or open_steps
    batch = op.gather(op.shape_of(x), np.array([0], np.int64), np.int64(0))
    steps = op.gather(op.shape_of(x), np.array([1], np.int64), np.int64(0))
    zero = op.broadcast(op.constant(np.float32(d.pick(0, .25))), op.concat([batch, op.constant(np.array([ways, h], np.int64))], 0))
    if d.chance(.3):
        lengths = op.parameter([declared[0]], np.int64, 'lengths')
        lengths.output(0).set_names({'lengths'})
        d.inputs.append((lengths, None, lambda run, shape: d.rng.integers(0, sizes[run][1] + 1, [sizes[run][0]])))
    else:
        lengths = op.broadcast(steps, batch)
    o = cell_options(d, kind)
    w = weights_of(d, kind, i, h, ways, o.get('linear_before_reset'))
    states = [zero] * (2 if kind == 'LSTM' else 1)
    node = getattr(op, kind.lower() + '_sequence')(x, *states, lengths, *w, h, direction, **o)
    d.note(f'{kind}Sequence {direction} sizes={sizes} declared={declared}')
    for k in range(len(states) + 1):
        if k == 0 or d.chance(.7):
            d.output(node.output(k))


# Graphs ----------------------------------------------------------------------------------------------------------

def grow(d, pool, steps):
    """Adds random operations on values of the pool; every value has a known shape of 1 to 4 dimensions."""
    for _ in range(steps):
        v = pool[d.int(0, len(pool) - 1)]
        s = shape_of(v)
        r = len(s)
        kinds = ['unary', 'binary', 'binary', 'scalar', 'constant', 'dense', 'transpose', 'reshape', 'concat', 'split', 'variadic', 'slice',
                 'strided', 'gather', 'softmax', 'squeeze', 'unsqueeze', 'broadcast', 'matmul', 'clamp', 'prelu', 'hardsigmoid']
        if '_kinds' in d.__dict__:
            kinds = d._kinds
        k = d.pick(*kinds)
        new = []
        if k == 'unary':
            f = d.pick(op.sigmoid, op.tanh, op.relu, op.abs, op.negative, lambda v: op.elu(v, d.pick(.5, 1.0, 2.0)), op.softplus, op.softsign,
                       lambda v: op.exp(op.clamp(v, -3.0, 2.0)), lambda v: op.log(op.add(op.abs(v), np.float32(.5))))
            new = [f(v)]
        elif k == 'clamp':
            new = [op.clamp(v, d.pick(-1.0, -.25, 0.0), d.pick(.5, 1.0, 6.0))]
        elif k == 'hardsigmoid':
            new = [op.hard_sigmoid(v, op.constant(np.float32(d.pick(.2, .5))), op.constant(np.float32(d.pick(.5, .25))))]
        elif k == 'prelu':
            slope = d.weight(d.pick([1], [s[1]] if r > 1 else [s[0]]), .5)
            new = [op.prelu(v, slope)]
        elif k == 'binary':
            fits = [w for w in pool if broadcast(shape_of(w), s)]
            w = fits[d.int(0, len(fits) - 1)]
            f = d.pick(op.add, op.subtract, op.multiply, op.maximum, op.minimum)
            new = [f(v, w) if d.chance(.5) else f(w, v)]
        elif k == 'scalar':
            f = d.pick(op.add, op.subtract, op.multiply, op.divide, op.maximum)
            c = op.constant(np.float32(d.pick(.5, -1.5, 2.0, 3.0)))
            new = [f(v, c) if d.chance(.7) or f is op.divide else f(c, v)]
        elif k == 'constant':
            shape = [d.pick(size, size, 1) for size in s][d.int(0, r - 1):]
            if d.chance(.2):
                shape = [d.int(1, 3)] + ([1] * (r - len(shape))) + shape if r < 4 else shape
            c = d.weight(shape, 1.0)
            f = d.pick(op.add, op.subtract, op.multiply)
            new = [f(v, c) if d.chance(.5) else f(c, v)]
        elif k == 'dense':
            out = d.int(1, 9)
            w = d.weight([out, s[-1]] if d.chance(.5) else [s[-1], out], 1 / np.sqrt(s[-1]))
            y = op.matmul(v, w, False, shape_of(w)[1] == s[-1] and shape_of(w)[0] == out)
            if d.chance(.6):
                y = op.add(y, d.weight([out], .3))
            if d.chance(.4):
                y = d.pick(op.sigmoid, op.tanh, op.relu)(y)
            new = [y]
        elif k == 'transpose' and r > 1:
            order = d.rng.permutation(r).astype(np.int64) if d.chance(.8) else np.array([], np.int64)
            new = [op.transpose(v, order)]
        elif k == 'reshape':
            total = int(np.prod(s))
            divisors = [q for q in range(1, total + 1) if total % q == 0]
            a = d.pick(*divisors)
            b = d.pick(*[q for q in divisors if (total // a) % q == 0])
            to = d.pick([-1], [a, -1], [-1, a], [a, b, -1], [a, b, total // a // b], [0, -1], [total // a, 1, a])
            new = [op.reshape(v, np.array(to, np.int64), True)]
        elif k == 'concat':
            axis = d.int(0, r - 1)
            fits = [w for w in pool if len(shape_of(w)) == r and all(p == q or i == axis for i, (p, q) in enumerate(zip(shape_of(w), s)))]
            parts = [fits[d.int(0, len(fits) - 1)] for _ in range(d.int(1, 3))]
            if d.chance(.2):
                parts.append(d.weight([d.int(1, 2) if i == axis else p for i, p in enumerate(s)]))
            new = [op.concat(parts, axis - (r if d.chance(.3) else 0))]
        elif k == 'split':
            axis = d.int(0, r - 1)
            parts = d.pick(*[q for q in range(1, 5) if s[axis] % q == 0])
            node = op.split(v, op.constant(np.int64(axis - (r if d.chance(.3) else 0))), parts)
            new = [node.output(i) for i in range(parts)]
        elif k == 'variadic':
            axis = d.int(0, r - 1)
            if s[axis] >= 2:
                a = d.int(1, s[axis] - 1)
                lengths = [a, s[axis] - a]
                if d.chance(.5):
                    lengths[d.int(0, 1)] = -1
                node = op.variadic_split(v, op.constant(np.int64(axis)), op.constant(np.array(lengths, np.int64)))
                new = [node.output(0), node.output(1)]
        elif k == 'slice':
            axes = [i for i in range(r) if d.chance(.6)] or [0]
            b, e, st = [], [], []
            for axis in axes:
                size = s[axis]
                if d.chance(.7):
                    lo = d.int(0, size - 1)
                    hi = d.int(lo + 1, size)
                    b.append(d.pick(lo, lo - size)), e.append(d.pick(hi, hi, 1000) if hi == size else hi), st.append(d.pick(1, 1, 2))
                else:
                    b.append(d.pick(size - 1, -1)), e.append(-1000), st.append(d.pick(-1, -2))
            arrays = [np.array(a, np.int64) for a in (b, e, st, axes)]
            new = [op.slice(v, *arrays)]
        elif k == 'strided':
            b, e, st = [], [], []
            for size in s:
                lo = d.int(0, size - 1)
                b.append(lo), e.append(d.int(lo + 1, size)), st.append(d.pick(1, 1, 1, 2))
            masks = [[int(d.chance(.25)) for _ in s] for _ in range(2)]
            shrink = [int(d.chance(.2)) for _ in s]
            for i in range(r):
                if shrink[i]:
                    masks[0][i] = masks[1][i] = 0
                    e[i], st[i] = b[i] + 1, 1
                elif d.chance(.15):
                    b[i], e[i], st[i] = s[i] - 1, -s[i] - 1, -1
            if sum(shrink) == r:
                shrink[0] = 0
            new_axis = [0] * r
            b, e, st = (np.array(a, np.int64) for a in (b, e, st))
            new = [op.strided_slice(v, b, e, st, masks[0], masks[1], new_axis, shrink, [0] * r)]
        elif k == 'gather':
            axis = d.int(0, r - 1)
            shape = d.pick([], [1], [2], [3], [2, 2]) if r < 4 else d.pick([], [2])
            if not (r == 1 and shape == []):
                indices = d.rng.integers(0, s[axis], shape) if d.chance(.6) else -d.rng.integers(1, s[axis] + 1, shape)
                new = [op.gather(v, op.constant(indices.astype(d.pick(np.int32, np.int64))), op.constant(np.int64(axis - (r if d.chance(.3) else 0))))]
        elif k == 'softmax':
            axis = d.int(0, r - 1) - (r if d.chance(.5) else 0)
            new = [d.pick(op.softmax, op.log_softmax)(v, axis)]
        elif k == 'squeeze' and 1 in s and r > 1:
            new = [op.squeeze(v, np.array([s.index(1) - (r if d.chance(.3) else 0)], np.int64))]
        elif k == 'unsqueeze' and r < 4:
            new = [op.unsqueeze(v, np.array([d.int(0, r)], np.int64) if d.chance(.8) else np.array([-1], np.int64))]
        elif k == 'broadcast' and int(np.prod(s)) < 60:
            to = [size if size > 1 else d.pick(1, 2, 3) for size in s]
            if r < 4 and d.chance(.4):
                to = [d.int(1, 3)] + to
            if r == 1 and d.chance(.4):
                to = [s[0], 3]
                new = [op.broadcast(v, np.array(to, np.int64), np.array([0], np.int64), 'EXPLICIT')]
            else:
                new = [op.broadcast(v, np.array(to, np.int64), broadcast_spec=d.pick('NUMPY', 'BIDIRECTIONAL'))]
        elif k == 'matmul' and r > 1:
            ta = d.chance(.3)
            inner = s[-2] if ta else s[-1]
            fits = [(w, tb) for w in pool for tb in (False, True) if len(shape_of(w)) > 1 and shape_of(w)[-1 if tb else -2] == inner
                    and broadcast(shape_of(w)[:-2], s[:-2])]
            if fits:
                w, tb = fits[d.int(0, len(fits) - 1)]
                new = [op.multiply(op.matmul(v, w, ta, tb), np.float32(.25))]
        for n in new:
            shape = shape_of(n)
            if 1 <= len(shape) <= 4 and 0 < int(np.prod(shape)) <= 400:
                d.note(k)
                pool.append(n)
    return pool


def broadcast(a, b):
    try:
        return int(np.prod(np.broadcast_shapes(tuple(a), tuple(b)))) <= 400 and len(np.broadcast_shapes(tuple(a), tuple(b))) <= 4
    except ValueError:
        return False


def graph(d):
    """Only operations around cells: elementwise, views, dense, softmax, ..."""
    pool = [d.parameter([d.int(1, 5) for _ in range(d.pick(1, 2, 2, 3, 3, 4))], f'x{k}') for k in range(d.int(1, 3))]
    first = len(pool)
    grow(d, pool, d.int(2, 12))
    finish(d, pool, first)


def finish(d, pool, first):
    used = {id(i.get_source_output().get_node()) for v in pool for i in (v if isinstance(v, ov.Node) else v.get_node()).inputs()}
    ends = pool[first:] or pool
    leaves = [v for v in ends if not (v if isinstance(v, ov.Node) else v.get_node()).outputs()[0].get_target_inputs()]
    for v in (leaves or ends[-1:])[-4:]:
        d.output(v)


def mixed(d):
    """Random operations before, between and after cells and sequences."""
    n, t, i = d.pick(1, 2), d.int(1, 4), d.int(1, 6)
    pool = [d.parameter([n, t, i], 'x')]
    if d.chance(.5):
        pool.append(d.parameter(d.pick([n, i], [t, i], [n, t, 1], [i]), 'side'))
    first = len(pool)
    grow(d, pool, d.int(0, 4))
    for k in range(d.int(1, 2)):
        rank3 = [v for v in pool if len(shape_of(v)) == 3]
        rank2 = [v for v in pool if len(shape_of(v)) == 2]
        kind, h = d.pick('RNN', 'GRU', 'LSTM'), d.int(1, 6)
        if rank3 and (d.chance(.6) or not rank2):
            v = d.pick(*rank3)
            a, b, c = shape_of(v)
            direction = d.pick('forward', 'reverse', 'bidirectional')
            ways = 2 if direction == 'bidirectional' else 1
            o = cell_options(d, kind)
            w = weights_of(d, kind, c, h, ways, o.get('linear_before_reset'))
            fits = [p for p in pool if shape_of(p) == [a, ways, h]]
            s = [d.pick(*fits) if fits else d.weight([a, ways, h], .5) for _ in range(2 if kind == 'LSTM' else 1)]
            lengths = op.constant(d.rng.integers(0, b + 1, a).astype(np.int64)) if d.chance(.3) else op.constant(np.full(a, b, np.int64))
            node = getattr(op, kind.lower() + '_sequence')(v, *s, lengths, *w, h, direction, **o)
            d.note(f'{kind}Sequence {direction} {[a, b, c, h]}')
        else:
            v = d.pick(*rank2) if rank2 else op.reshape(pool[0], np.array([n, -1], np.int64), False)
            a, c = shape_of(v)
            o = cell_options(d, kind)
            w = weights_of(d, kind, c, h, None, o.get('linear_before_reset'))
            fits = [p for p in pool if shape_of(p) == [a, h]]
            s = [d.pick(*fits) if fits else d.weight([a, h], .5) for _ in range(2 if kind == 'LSTM' else 1)]
            node = getattr(op, kind.lower() + '_cell')(v, *s, *w, h, **o)
            d.note(f'{kind}Cell {[a, c, h]}')
        pool += [o for o in node.outputs()]
        grow(d, pool, d.int(0, 5))
    finish(d, pool, first)


def stateful(d):
    """ReadValue and Assign round cells and plain arithmetic; successive runs share the state."""
    d.stateful, d.runs = True, 4
    n, i = d.pick(1, 1, 2), d.int(1, 8)
    x = d.parameter([n, i], 'x')
    v = x
    d._keep = []
    for k in range(d.int(1, 3)):
        kind, h = d.pick('RNN', 'GRU', 'LSTM', 'sum', 'late'), d.int(1, 8)
        width = shape_of(v)[1]
        name = d.pick(f'state{k}', f'a b/{k}', f'h"{k}')
        def read(shape, suffix=''):
            info = ov.op.util.VariableInfo()
            info.data_shape, info.data_type, info.variable_id = ov.PartialShape(shape), ov.Type.f32, name + suffix
            variable = ov.op.util.Variable(info)
            initial = d.weight(shape, d.pick(0, .5)) if d.chance(.7) else op.broadcast(op.constant(np.float32(.5)), np.array(shape, np.int64))
            d._keep.append(variable)
            return op.read_value(initial, variable), variable
        if kind in ('sum', 'late'):
            # an average over time, read before or after it changes
            a, variable = read([n, width])
            new = op.add(op.multiply(a, np.float32(.75)), op.multiply(v, np.float32(.25)))
            d.assigns.append(op.assign(new, variable))
            v = op.concat([v, a if kind == 'late' else new], 1)
            if d.chance(.3):
                d.output(a)
        else:
            o = cell_options(d, kind)
            w = weights_of(d, kind, width, h, None, o.get('linear_before_reset'))
            pairs = [read([n, h], s) for s in (['', 'c'] if kind == 'LSTM' else [''])]
            node = getattr(op, kind.lower() + '_cell')(v, *[r for r, _ in pairs], *w, h, **o)
            for out, (_, variable) in zip(node.outputs(), pairs):
                d.assigns.append(op.assign(out, variable))
            if d.chance(.3):
                d.output(node.output(0))
            v = node.output(0)
        d.note(f'{kind} {h}')
    if d.chance(.7):
        out = d.int(1, 5)
        v = op.add(op.matmul(v, d.weight([shape_of(v)[1], out])), d.weight([1, out], .3))
    d.output(d.pick(op.sigmoid, op.tanh, lambda v: v, lambda v: op.softmax(v, 1))(v))


def iterator(d, loop=False):
    """TensorIterator or Loop: slices forward and backward, merged inputs, a body of cells and random operations."""
    n, count, part, i, h = d.pick(1, 2), d.int(1, 5), d.pick(1, 1, 1, 2), d.int(1, 6), d.int(1, 6)
    node = op.loop(op.constant(np.int64(d.pick(count, -1) if not loop else count)), op.constant(np.array(True))) if loop else op.tensor_iterator()
    part = 1 if loop else part  # Loop takes nothing else, and only forward
    axis = d.pick(0, 1, 1, 2)
    whole, piece = [n, i], [n, i]
    whole.insert(min(axis, 2), count * part)
    piece.insert(min(axis, 2), part)
    x = d.parameter(whole, 'x')
    back = not loop and d.chance(.4)
    bx = op.parameter(piece, np.float32)
    body_in = [bx]
    flat = op.reshape(bx, np.array([n, part * i], np.int64), False)
    kind = d.pick('RNN', 'GRU', 'LSTM')
    width = part * i
    side = None
    if d.chance(.4):  # an invariant input
        side = d.parameter([n, 3], 'side')
        bs = op.parameter([n, 3], np.float32)
        body_in.append(bs)
        flat, width = op.concat([flat, bs], 1), width + 3
    second = None
    if d.chance(.4):  # a second sliced input, along another axis, the other way perhaps
        second = d.parameter([count, 2] if n == 1 or d.chance(.5) else [count, n], 'second')
        size = shape_of(second)[1]
        b2 = op.parameter([1, size], np.float32)
        body_in.append(b2)
        flat = op.add(flat, op.matmul(b2, d.weight([size, width])))
    o = cell_options(d, kind)
    w = weights_of(d, kind, width, h, None, o.get('linear_before_reset'))
    bstates = [op.parameter([n, h], np.float32) for _ in range(2 if kind == 'LSTM' else 1)]
    body_in += bstates
    step = getattr(op, kind.lower() + '_cell')(flat, *bstates, *w, h, **o)
    news = [step.output(k) for k in range(len(bstates))]
    y = op.unsqueeze(news[0], np.array([1], np.int64))
    if d.chance(.4):
        y = op.tanh(op.add(y, np.float32(.25)))
    body_out = [op.result(y)] + [op.result(v) for v in news]
    extra = None
    if d.chance(.3):  # a value that is merged and is not a cell's
        extra = op.parameter([n, h], np.float32)
        body_in.append(extra)
        total = op.add(op.multiply(extra, np.float32(.5)), news[0])
        body_out.append(op.result(total))
    condition = None
    if loop:
        condition = op.result(op.constant(np.array(True)))
        body_out.append(condition)
    body = ov.Model(body_out, body_in, 'body')
    node.set_function(body)
    if loop:
        node.set_special_body_ports([-1, len(body_out) - 1])
    bounds = (-1, -part, part, 0) if back else (0, part, part, -1)
    node.set_sliced_input(bx, x.output(0), *bounds, min(axis, 2))
    if second is not None:
        node.set_sliced_input(b2, second.output(0), *((-1, -1, 1, 0) if not loop and d.chance(.4) else (0, 1, 1, -1)), 0)
    if side is not None:
        node.set_invariant_input(bs, side.output(0))
    for k, s in enumerate(bstates):
        initial = d.parameter([n, h], f'h{k}') if d.chance(.5) else d.weight([n, h], .5)
        node.set_merged_input(s, initial.output(0), body_out[1 + k].output(0))
    if extra is not None:
        node.set_merged_input(extra, d.weight([n, h], .5).output(0), body_out[1 + len(bstates)].output(0))
    outs = [node.get_concatenated_slices(body_out[0].output(0), *((-1, -1, 1, 0) if back else (0, 1, 1, -1)), 1)]
    outs += [node.get_iter_value(body_out[1 + k].output(0), -1) for k in range(len(bstates))]
    if extra is not None:
        outs.append(node.get_iter_value(body_out[1 + len(bstates)].output(0), -1))
    d.note(f'{kind} {"Loop" if loop else "TensorIterator"} N={n} count={count} part={part} axis={axis} back={back} side={side is not None} second={second is not None} extra={extra is not None}')
    first = outs[0]
    if d.chance(.4):
        first = op.add(op.matmul(first, d.weight([h, 3])), d.weight([3], .3))
    d.output(first)
    for v in outs[1:]:
        if d.chance(.7):
            d.output(v)


def loop(d):
    iterator(d, True)


def quantized(d):
    """Dense weights of 8 and 4 bits as nncf writes them, after a GRU."""
    n, t, i, h, out = d.pick(1, 2), d.int(1, 4), d.int(1, 8), d.pick(4, 8, 12), d.int(1, 6)
    v = sequence_node(d, 'GRU', d.parameter([n, t, i], 'x'), n, t, i, h, 'forward').output(1)
    v = op.squeeze(v, np.array([1], np.int64))
    for k in range(d.int(1, 2)):
        bits, signed = d.pick(8, 4), d.chance(.5)
        width = shape_of(v)[1]
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        group = d.pick(None, 2, 4) if width % 4 == 0 else None
        shape = [out, width] if group is None else [out, width // group, group]
        q = d.rng.integers(low, high + 1, shape)
        lead = [out, 1] if group is None else [out, width // group, 1]
        name = f'{"i" if signed else "u"}{bits}'
        def integers(values, name):
            values = np.asarray(values)
            if name.endswith('8'):
                return op.constant(values.astype(np.int8 if name == 'i8' else np.uint8))
            flat = (values.reshape(-1) & 15).astype(np.uint8)
            if len(flat) % 2:
                flat = np.append(flat, np.uint8(0))
            packed = flat[0::2] | flat[1::2] << 4
            tensor = ov.Tensor(packed, ov.Shape(list(values.shape)), getattr(ov.Type, name))
            return ov.op.Constant(tensor)
        w = op.convert(integers(q, name), 'f16')
        if not signed or d.chance(.2):
            zero = d.rng.integers(low, high + 1, lead)
            w = op.subtract(w, op.convert(integers(zero, name), 'f16'))
        scale = (d.rng.random(lead) * .02 + .004).astype(np.float16)
        w = op.multiply(w, op.constant(scale))
        if group is not None:
            w = op.reshape(w, np.array([out, width], np.int64), False)
        w = op.convert(w, 'f32')
        v = op.add(op.matmul(v, w, False, True), d.weight([1, out], .3))
        d.note(f'{name} group={group} {out}x{width}')
        v, out = op.relu(v) if d.chance(.5) else op.tanh(v), d.int(1, 6)
    d.output(v)


def rounded(d, v, most, low=None, lead=None):
    """FakeQuantize to 255 or 256 levels up to `most`."""
    levels = d.pick(255, 256) if low is None else 256
    high = np.full(lead or [], most, np.float32) if np.isscalar(most) else most.astype(np.float32)
    low = -high * np.float32(1 if levels == 255 else 128 / 127) if low is None else np.full(high.shape, low, np.float32)
    return op.fake_quantize(v, op.constant(low), op.constant(high), op.constant(low), op.constant(high), levels)


def rounded_weights(d, shape):
    """Weights behind a FakeQuantize with a range for each row."""
    w = d.array(shape)
    return rounded(d, op.constant(w), np.abs(w).max(-1, keepdims=True))


def fake_quantized(d):
    """A cell between FakeQuantize layers, as training with quantization leaves them: x, weights by row, the state, and a head."""
    n, i, h, out = d.pick(1, 2), d.int(2, 9), d.int(2, 9), d.int(1, 5)
    x, state = d.parameter([n, i], 'x'), d.parameter([n, h], 'h')
    w, r, b = rounded_weights(d, [3 * h, i]), rounded_weights(d, [3 * h, h]), d.weight([3 * h], .3)
    v = op.gru_cell(rounded(d, x, 2.5), rounded(d, state, 1.0), w, r, b, h)
    d.output(v, 'h_new')
    v = op.matmul(rounded(d, op.relu(v), .75, 0), rounded_weights(d, [out, h]), False, True)
    d.output(rounded(d, v, 1.5, lead=[1, out]), 'y')
    d.note(f'GRUCell N={n} I={i} H={h}, FakeQuantize around it and a head')


def fake_quantized_loop(d):
    """A TensorIterator whose cell stands between FakeQuantize layers: x before the loop or in it, the state where a step reads it or where it leaves it."""
    n, count, i, h = d.pick(1, 2), d.int(2, 5), d.int(2, 9), d.int(2, 12)
    kind, x_inside, h_before, given = d.pick('RNN', 'GRU', 'LSTM'), d.chance(.5), d.chance(.5), d.chance(.5)
    o = {'linear_before_reset': d.chance(.7)} if kind == 'GRU' else {}
    lbr = o.get('linear_before_reset', False)
    node, x = op.tensor_iterator(), d.parameter([n, count, i], 'x')
    whole = x if x_inside else rounded(d, x, 2.5)
    bx, bh = op.parameter([n, 1, i], np.float32), op.parameter([n, h], np.float32)
    flat = op.reshape(bx, np.array([n, i], np.int64), False)
    flat = rounded(d, flat, 2.5) if x_inside else flat
    states = [rounded(d, bh, 1.0) if h_before else bh]
    body_in = [bx, bh]
    if kind == 'LSTM':
        body_in.append(op.parameter([n, h], np.float32))
        states.append(body_in[-1])
    w, r = rounded_weights(d, [GATES[kind] * h, i]), rounded_weights(d, [GATES[kind] * h, h])
    b = d.weight([(4 if lbr else GATES[kind]) * h], .3)
    step = getattr(op, kind.lower() + '_cell')(flat, *states, w, r, b, h, **o)
    news = [step.output(k) for k in range(len(states))]
    news[0] = news[0] if h_before else rounded(d, news[0], 1.0).output(0)
    body_out = [op.result(op.unsqueeze(news[0], np.array([1], np.int64)))] + [op.result(v) for v in news]
    node.set_function(ov.Model(body_out, body_in, 'body'))
    node.set_sliced_input(bx, whole.output(0), 0, 1, 1, -1, 1)
    for k, state in enumerate(body_in[1:]):
        first = d.parameter([n, h], f'h{k}') if given else op.constant(np.zeros([n, h], np.float32))
        node.set_merged_input(state, first.output(0), body_out[1 + k].output(0))
    d.output(node.get_concatenated_slices(body_out[0].output(0), 0, 1, 1, -1, 1), 'y')
    d.output(node.get_iter_value(body_out[1].output(0), -1), 'h_new')
    d.note(f'{kind}Cell {o} N={n} T={count} I={i} H={h}, FakeQuantize of x {"in" if x_inside else "before"} the TensorIterator, '
           f'of h where a step {"reads" if h_before else "leaves"} it; initial states {"given" if given else "0"}')


def nncf(d):
    """A head compressed by nncf itself."""
    import nncf as library
    n, t, i, h = 1, d.int(1, 4), d.int(1, 8), d.pick(16, 32)
    v = op.squeeze(sequence_node(d, 'GRU', d.parameter([n, t, i], 'x'), n, t, i, h, 'forward').output(1), np.array([1], np.int64))
    v = op.relu(op.add(op.matmul(v, op.constant(d.array([32, h])), False, True), d.weight([1, 32], .3)))
    v = op.add(op.matmul(v, op.constant(d.array([16, 32])), False, True), d.weight([1, 16], .3))
    d.output(v)
    mode = d.pick('INT8_ASYM', 'INT8_SYM', 'INT4_ASYM', 'INT4_SYM')
    options = dict(group_size=d.pick(-1, 8, 16), ratio=1.0, all_layers=True) if 'INT4' in mode else {}
    d.note(f'nncf {mode} {options}')
    d.transform = lambda model: library.compress_weights(model, mode=getattr(library.CompressWeightsMode, mode), **options)


def nncf_ptq(d):
    """A sequence or a cell between dense layers, quantised by nncf with the activations of some inputs."""
    import nncf as library
    n, t, i, h, out = 1, d.int(2, 6), d.int(2, 20), d.int(4, 24), d.int(1, 9)
    kind, one = d.pick('RNN', 'GRU', 'LSTM'), d.chance(.5)
    x = d.parameter([n, i] if one else [n, t, i], 'x')
    v = op.relu(op.add(op.matmul(x, d.weight([i, i]), False, True), d.weight([i], .3)))
    if one:
        o = cell_options(d, kind)
        states = [d.parameter([n, h], f'h{k}') for k in range(2 if kind == 'LSTM' else 1)]
        step = getattr(op, kind.lower() + '_cell')(v, *states, *weights_of(d, kind, i, h, None, o.get('linear_before_reset')), h, **o)
        for k in range(len(states)):
            d.output(step.output(k))
        y = step.output(0)
    else:
        y = op.squeeze(sequence_node(d, kind, v, n, t, i, h, 'forward').output(0), np.array([1], np.int64))
    d.output(op.matmul(y, d.weight([out, h]), False, True), 'y')
    preset = d.pick('mixed', 'performance')
    calls = [{node.get_friendly_name(): np.ascontiguousarray(make(k, shape)) for node, shape, make in d.inputs} for k in range(10)]
    for node, _, _ in d.inputs:
        node.output(0).add_names({node.get_friendly_name()})
    d.note(f'{kind} {"one step" if one else "sequence"} nncf quantize {preset}')
    d.transform = lambda model: library.quantize(model, library.Dataset(calls), preset=library.QuantizationPreset(preset), subset_size=10)


def corners(d):
    """Small models of what a larger random one once got wrong."""
    import openvino.opset1 as opset1
    style, n, t, i, h = d.pick('product', 'squeeze', 'constant', 'slope'), 2, 3, 2, 3
    x = d.parameter([n, t, i], 'x')
    d.note(style)
    if style == 'constant':  # and nothing reads the input
        d.output(d.weight([n, h]), 'y')
        return
    if style == 'slope':  # one number with more axes than what it scales
        last = op.gather(op.gather(op.gather(x, np.int64(-1), np.int64(0)), np.int64(-1), np.int64(0)), np.int64(-1), np.int64(0))
        d.output(op.prelu(last, d.weight([1, 1])), 'y')
        return
    y = op.squeeze(sequence_node(d, 'RNN', x, n, t, i, h, 'forward').output(0), np.array([1], np.int64))
    if style == 'product':  # two chains of pointwise work meet
        d.output(op.add(op.multiply(op.relu(y), op.tanh(op.add(y, np.float32(.5)))), op.sigmoid(y)), 'y')
    else:  # of an axis that is not of size 1: kept
        d.output(op.tanh(opset1.squeeze(y, np.array([0], np.int64))), 'y')


def neighbours(d):
    """Squares of neighbours as divisors, and elements by the indices of each row."""
    n, c, h, w = d.int(1, 2), d.int(3, 6), d.int(2, 4), d.int(3, 5)
    x = d.parameter([n, c, h, w], 'x')
    size, numbers = d.pick(1, 3, 5), (d.pick(1e-4, .5, 2), d.pick(.5, .75, 1), d.pick(1, 2))
    d.note(f'LRN over {size}, Gather with batch_dims')
    d.output(op.lrn(x, np.array([1], np.int64), *numbers, size), 'channels')
    d.output(op.lrn(x, np.array([2, 3], np.int64), *numbers, 3), 'places')
    row = op.reshape(x, np.array([n, c, h * w], np.int64), False)
    k = d.int(1, 4)
    fixed = op.constant(d.rng.integers(0, h * w, [n, k]))
    given = d.parameter([n, c, k], 'i', np.int64, lambda run, shape: d.rng.integers(0, h * w, shape))
    d.output(op.gather(row, fixed, np.int64(2), 1), 'fixed')
    d.output(op.gather(row, given, np.int64(2), d.pick(2, -1)), 'given')


# Frameworks ------------------------------------------------------------------------------------------------------

def torch_rnn(d):
    """nn.GRU, nn.LSTM, nn.RNN: layers, both directions, batch_first, given states; a Linear head."""
    import torch
    kind, layers, bi, batch_first, bias = d.pick('GRU', 'LSTM', 'RNN'), d.int(1, 3), d.chance(.4), d.chance(.6), d.chance(.8)
    n, t, i, h, out = d.pick(1, 2), d.int(1, 5), d.int(1, 8), d.int(1, 8), d.int(1, 5)
    torch.manual_seed(d.int(0, 1 << 30))
    options = {'nonlinearity': d.pick('tanh', 'relu')} if kind == 'RNN' else {}
    proj = d.int(1, h - 1) if kind == 'LSTM' and h > 1 and d.chance(.15) else 0
    given, head, last = d.chance(.4), d.pick('linear', 'softmax', 'sigmoid', 'none'), d.chance(.4)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = getattr(torch.nn, kind)(i, h, layers, batch_first=batch_first, bidirectional=bi, bias=bias,
                                               **(dict(proj_size=proj) if proj else {}), **options)
            self.lin = torch.nn.Linear((proj or h) * (2 if bi else 1), out)

        def forward(self, x, *state):
            y, s = self.rnn(x, *( [state[0]] if len(state) == 1 else [tuple(state)] if state else []))
            if last:
                y = y[:, -1] if batch_first else y[-1]
            if head != 'none':
                y = self.lin(y)
            y = {'softmax': lambda v: torch.softmax(v, -1), 'sigmoid': torch.sigmoid}.get(head, lambda v: v)(y)
            return (y, *(s if isinstance(s, tuple) else (s,))) if given else y

    net = Net().eval()
    for p in net.parameters():
        p.data = p.data.half().float()
    shape = [n, t, i] if batch_first else [t, n, i]
    states = []
    if given:
        ways = 2 if bi else 1
        states = [[layers * ways, n, proj or h]] + ([[layers * ways, n, h]] if kind == 'LSTM' else [])
    convert(d, net, [shape] + states)
    d.note(f'nn.{kind} layers={layers} bi={bi} batch_first={batch_first} bias={bias} {options} proj={proj} given={given} head={head} last={last} {shape} H={h}')


def convert(d, net, shapes, dynamic=None):
    import torch
    examples = [torch.zeros(s) for s in shapes]
    static = d.chance(.5) if dynamic is None else not dynamic
    with torch.no_grad():
        model = ov.convert_model(net, example_input=tuple(examples) if len(examples) > 1 else examples[0],
                                 **({'input': [(ov.PartialShape(s), ov.Type.f32) for s in shapes]} if static else {}))
    d.model = model
    d.dynamic = not static
    d.note('static' if static else 'dynamic')
    for k, s in enumerate(shapes):
        d.inputs.append((None, s, lambda run, shape: d.rng.standard_normal(shape).astype(np.float32)))
    d.torch = net


def torch_cells(d):
    """nn.GRUCell, LSTMCell, RNNCell, once or in a loop over a few steps, with plain torch around them."""
    import torch
    kind, bias = d.pick('GRU', 'LSTM', 'RNN'), d.chance(.8)
    n, t, i, h = d.pick(1, 2, 3), d.int(1, 3), d.int(1, 8), d.int(1, 8)
    torch.manual_seed(d.int(0, 1 << 30))
    style = d.int(0, 3)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = getattr(torch.nn, kind + 'Cell')(i, h, bias=bias)
            self.lin = torch.nn.Linear(h, i)

        def forward(self, x, s, *c):
            state = (s, *c)
            ys = []
            for k in range(t):
                new = self.cell(x[:, k], state if kind == 'LSTM' else state[0])
                state = new if kind == 'LSTM' else (new,)
                ys.append(state[0])
            y = torch.stack(ys, 1) if style != 1 else torch.cat(ys, 1)
            if style == 2:
                y = torch.nn.functional.elu(self.lin(y)) * torch.sigmoid(x) + x
            if style == 3:
                y = y.permute(1, 0, 2).flatten(1).softmax(0)
            return (y, *state)

    net = Net().eval()
    for p in net.parameters():
        p.data = p.data.half().float()
    convert(d, net, [[n, t, i], [n, h]] + ([[n, h]] if kind == 'LSTM' else []), dynamic=d.chance(.2))
    d.note(f'nn.{kind}Cell bias={bias} T={t} I={i} H={h} style={style}')


def torch_gate(d):
    """A recurrent net written by hand in torch: chunk, matmul, einsum-free attention, gather, where possible."""
    import torch
    n, t, i, h = d.pick(1, 2), d.int(2, 5), d.int(1, 6), d.int(1, 6)
    torch.manual_seed(d.int(0, 1 << 30))
    style = d.int(0, 3)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.gru = torch.nn.GRU(i, h, batch_first=True, bidirectional=style == 1)
            w = h * (2 if style == 1 else 1)
            self.q, self.k, self.v = (torch.nn.Linear(w, h, bias=b) for b in (True, False, True))
            self.prelu = torch.nn.PReLU(h if style == 3 else 1)

        def forward(self, x):
            y, s = self.gru(x)
            q, k, v = self.q(y), self.k(y), self.v(y)
            if style in (0, 1):
                a = torch.softmax(q @ k.transpose(1, 2) / (h ** .5), -1)
                return a @ v
            if style == 2:
                a, b = torch.cat([q, k], -1).chunk(2, -1)
                return torch.nn.functional.leaky_relu(a, .1) * torch.tanh(b) + torch.clamp(v, -.5, .5)
            z = self.prelu(q.reshape(-1, h)).reshape(q.shape)
            return torch.log_softmax(z, 1), torch.nn.functional.sigmoid(k)[:, 1:], v[:, ::2].squeeze(0)

    net = Net().eval()
    for p in net.parameters():
        p.data = p.data.half().float()
    convert(d, net, [[n, t, i]])
    d.note(f'attention style={style} {[n, t, i, h]}')


def torch_net(d):
    """Larger nets in torch: encoder and decoder, voice activity, residual stacks, pooling by attention, frames side by side, decoding step by step."""
    import torch
    from torch import nn
    from torch.nn import functional
    n, t, i, h = d.pick(1, 2), d.int(2, 5), d.int(2, 6), d.int(2, 6)
    torch.manual_seed(d.int(0, 1 << 30))
    style, kind = d.pick('decoder', 'voice', 'residual', 'pooling', 'frames', 'step', 'mask', 'highway'), d.pick('GRU', 'LSTM', 'RNN')
    layers, both = d.int(1, 2), d.chance(.4)
    activation = d.pick(torch.tanh, torch.sigmoid, functional.relu, functional.softsign, functional.hardtanh, functional.relu6, functional.elu)
    lstm = kind == 'LSTM'

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            rnn = getattr(nn, kind)
            self.ways = 2 if both and style in ('pooling', 'voice', 'mask') else 1
            w = h * self.ways
            self.first = rnn(2 * i if style == 'frames' else i, h, layers, batch_first=True, bidirectional=self.ways == 2)
            self.second = rnn(h + i if style == 'step' else w, h, batch_first=True)
            self.cell = getattr(nn, kind + 'Cell')(h, h)
            self.a, self.b, self.c, self.up = nn.Linear(w, h), nn.Linear(h, 1), nn.Linear(h, i), nn.Linear(i, h)
            self.scale = nn.Parameter(torch.randn(h) * .5)

        def forward(self, x, *given):
            if style == 'frames':  # each with the one before it
                before = torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1]], 1)
                y, s = self.first(torch.cat([x, before], -1))
                return self.c(y) + x, *(s if lstm else (s,))
            y, s = self.first(x)
            if style == 'decoder':  # the last state of every layer, then a decoder from the top one
                top = tuple(v[-1:] for v in s) if lstm else s[-1:]
                z, last = self.second(activation(self.up(x.flip(1) if d_flip else x)), top)
                return self.c(z), *(last if lstm else (last,))
            if style == 'voice':
                z, _ = self.second(y)
                p = torch.sigmoid(self.b(activation(self.a(y) + z)))
                return p.squeeze(-1), p[:, -1]
            if style == 'residual':
                z, _ = self.second(activation(y))
                return torch.cat([y + z, y * torch.sigmoid(z), (y - z).abs().clamp(max=.75)], -1) * .5 + 1
            if style == 'pooling':
                weight = torch.softmax(self.b(torch.tanh(self.a(y))), 1)
                return (weight.transpose(1, 2) @ y).squeeze(1), weight
            if style == 'step':  # the output of every step is part of the next one's input
                out, state, ys = y[:, 0], None, []
                for k in range(t):
                    v, state = self.second(torch.cat([out.unsqueeze(1), x[:, k:k + 1]], -1), state)
                    out = activation(v[:, 0] * self.scale)
                    ys.append(out)
                return torch.stack(ys, 2), *(state if lstm else (state,))
            if style == 'mask':  # as denoisers do: gains on the input
                gain = torch.sigmoid(self.c(self.a(y)))
                return gain * x, torch.log(gain + 1e-3)
            g = torch.sigmoid(self.a(y))
            state = x.new_zeros(x.shape[0], h)
            state = (state, state) if lstm else state
            for k in range(t):
                state = self.cell(activation(y[:, k] * g[:, k] + (1 - g[:, k]) * self.scale), state)
            return state if lstm else (state, g.reshape(g.shape[0], -1))

    d_flip = d.chance(.5)
    net = Net().eval()
    for p in net.parameters():
        p.data = p.data.half().float()
    d.note(f'{style} {kind} layers={layers} both={both} {activation.__name__} {[n, t, i, h]}')
    if d.chance(.3):
        onnx_of(d, net, [n, t, i])
    else:
        convert(d, net, [[n, t, i]])


def onnx_of(d, net, shape):
    """A net of torch by way of ONNX."""
    import torch
    d.onnx = os.path.join(d.folder, 'model.onnx')
    torch.onnx.export(net, (torch.zeros(shape),), d.onnx, dynamo=False, opset_version=17)
    d.model, d.torch = ov.convert_model(d.onnx), net
    d.inputs.append((None, shape, lambda run, shape: d.rng.standard_normal(shape).astype(np.float32)))
    d.note('by way of ONNX')


def onnx_rnn(d):
    """ONNX GRU, LSTM, RNN: directions, layout, sequence_lens, initial states, clip, activations, linear_before_reset."""
    import onnx
    from onnx import TensorProto, helper
    kind, direction = d.pick('GRU', 'LSTM', 'RNN'), d.pick('forward', 'reverse', 'bidirectional')
    n, t, i, h = d.pick(1, 2, 3), d.int(1, 5), d.int(1, 8), d.int(1, 8)
    ways, g = 2 if direction == 'bidirectional' else 1, GATES[kind]
    feeds, inputs, constants = ['X'], [helper.make_tensor_value_info('X', TensorProto.FLOAT, [t, n, i])], []
    makes = [([t, n, i], None)]
    def constant(name, array):
        constants.append(onnx.numpy_helper.from_array(array, name))
        return name
    names = ['X', constant('W', d.array([ways, g * h, i])), constant('R', d.array([ways, g * h, h]))]
    names.append(constant('B', d.array([ways, 2 * g * h], .3)) if d.chance(.8) else '')
    if d.chance(.5):
        if d.chance(.5):
            names.append(constant('L', d.rng.integers(0 if d.chance(.3) else 1, t + 1, n).astype(np.int32)))
        else:
            names.append('L')
            inputs.append(helper.make_tensor_value_info('L', TensorProto.INT32, [n]))
            makes.append(([n], lambda run, shape: d.rng.integers(1, t + 1, shape).astype(np.int32)))
        d.note('sequence_lens')
    else:
        names.append('')
    for name in ['h0', 'c0'] if kind == 'LSTM' else ['h0']:
        if d.chance(.5):
            names.append(name)
            inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [ways, n, h]))
            makes.append(([ways, n, h], None))
        else:
            names.append('')
    o = {'hidden_size': h, 'direction': direction}
    if kind == 'GRU':
        o['linear_before_reset'] = d.int(0, 1)
    if d.chance(.3):
        o['clip'] = d.pick(.5, 1.0)
    if d.chance(.4):
        o['activations'] = [d.pick('Sigmoid', 'Tanh', 'Relu') for _ in range({'RNN': 1, 'GRU': 2, 'LSTM': 3}[kind])] * ways
    while names and names[-1] == '':
        names.pop()
    outs = ['Y', 'Yh', 'Yc'][:3 if kind == 'LSTM' else 2]
    nodes = [helper.make_node(kind, names, outs, **o)]
    results = []
    if d.chance(.5):
        nodes += [helper.make_node('Transpose', ['Y'], ['Yt'], perm=[2, 0, 1, 3]),
                  helper.make_node('Reshape', ['Yt', constant('shape', np.array([n, t, ways * h], np.int64))], ['Yr']),
                  helper.make_node('MatMul', ['Yr', constant('D', d.array([ways * h, 3]))], ['Ym']),
                  helper.make_node('Add', ['Ym', constant('E', d.array([3], .3))], ['Ya']),
                  helper.make_node(d.pick('Softmax', 'LogSoftmax', 'Sigmoid'), ['Ya'], ['out'])]
        results.append(helper.make_tensor_value_info('out', TensorProto.FLOAT, None))
    for name in outs:
        if d.chance(.6) or not results:
            results.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
    model = helper.make_model(helper.make_graph(nodes, 'g', inputs, results, constants), opset_imports=[helper.make_opsetid('', 17)])
    model.ir_version = 9
    path = os.path.join(d.folder, 'model.onnx')
    onnx.save(model, path)
    d.model = ov.convert_model(path)
    for shape, make in makes:
        d.inputs.append((None, shape, make or (lambda run, shape: d.rng.standard_normal(shape).astype(np.float32))))
    d.onnx = path
    d.note(f'ONNX {kind} {o} inputs={[i.name for i in inputs]} N={n} T={t} I={i}')


# Keras -------------------------------------------------------------------------------------------------------------

KERAS_ACTIVATIONS = ['tanh', 'sigmoid', 'relu', 'elu', 'softsign', 'softplus', 'linear', 'hard_sigmoid', 'relu6', 'leaky_relu', 'hard_tanh', 'mish']


def keras_layer(d, layers, steps, sequences, state=False):
    """A recurrent layer of any kind and its description; Bidirectional in any merge mode."""
    kind, units = d.pick('GRU', 'GRU', 'LSTM', 'SimpleRNN'), d.int(1, 7)
    merge = d.pick('concat', 'sum', 'mul', 'ave') if not state and d.chance(.35) else None
    o = {'use_bias': d.chance(.85), 'go_backwards': merge is None and d.chance(.25), 'unroll': steps is not None and d.chance(.15),
         'dropout': d.pick(0, .3), 'recurrent_dropout': d.pick(0, 0, .2)}
    if kind == 'GRU':
        o['reset_after'] = d.chance(.6)
    if d.chance(.4):
        o['activation'] = d.pick(*KERAS_ACTIVATIONS[:6], 'linear')
    if kind != 'SimpleRNN' and d.chance(.3):
        o['recurrent_activation'] = d.pick('sigmoid', 'hard_sigmoid', 'tanh', 'softsign')
    layer = getattr(layers, kind)(units, return_sequences=sequences, return_state=state, **o)
    d.note(f'{kind}({units}, {o})' + (f' both ways, {merge}' if merge else ''))
    return layers.Bidirectional(layer, merge_mode=merge) if merge else layer


def keras_head(d, layers, y):
    """What stands after or between recurrent layers and keeps the number of dimensions."""
    style = d.pick('dense', 'dense', 'time', 'dropout', 'residual', 'concat', 'gate', 'norm', 'none')
    rank, width = len(y.shape), y.shape[-1]
    d.note(style)
    if style == 'time' and rank == 3:
        return layers.TimeDistributed(layers.Dense(d.int(1, 6), activation=d.pick(*KERAS_ACTIVATIONS)))(y)
    if style in ('dense', 'time'):
        return layers.Dense(d.int(1, 6), use_bias=d.chance(.8), activation=d.pick(*KERAS_ACTIVATIONS, 'softmax', 'log_softmax', None))(y)
    if style == 'dropout':
        return layers.GaussianNoise(.1)(layers.Dropout(.4)(y))
    if style == 'residual':
        return layers.Add()([y, layers.Dense(width, activation='tanh')(y)])
    if style == 'concat':
        return layers.Concatenate()([y, layers.Dense(d.int(1, 4))(y)])
    if style == 'gate':
        return layers.Multiply()([y, layers.Dense(width, activation='sigmoid')(y)])
    if style == 'norm':
        return layers.Rescaling(.5, .25)(layers.LeakyReLU(.2)(y))
    return y


def keras(d):
    """Stacks of Keras layers in every variant, encoder and decoder, attention, cells by hand; exported by Keras itself."""
    import keras as library
    layers = library.layers
    library.utils.set_random_seed(d.int(0, 1 << 30))
    n, t, i = d.pick(1, 2, 3), d.int(1, 5), d.int(1, 6)
    # backends other than TensorFlow trace open sizes as 1
    open_steps, open_batch = (d.chance(.3) and library.backend.backend() == 'tensorflow' for _ in range(2))
    x = library.Input(batch_shape=(None if open_batch else n, None if open_steps else t, i), name='x')
    steps = None if open_steps else t
    style, y, outputs, count = d.pick('stack', 'stack', 'stack', 'states', 'decoder', 'attention', 'cells', 'flat'), x, [], d.int(1, 3)
    d.note(f'{style} [{n}, {t}, {i}]')
    if style in ('stack', 'states'):
        for k in range(count):
            last = k == count - 1
            layer = keras_layer(d, layers, steps, not last or d.chance(.5), style == 'states' and last)
            y = layer(y)
            if isinstance(y, (list, tuple)):
                y, outputs = y[0], list(y[1:])
            y = keras_head(d, layers, y) if d.chance(.6) else y
    elif style == 'decoder':
        kind, units = d.pick('GRU', 'LSTM'), d.int(1, 6)
        _, *states = getattr(layers, kind)(units, return_state=True)(x)
        z = layers.RepeatVector(d.int(1, 4))(states[0]) if d.chance(.5) else keras_layer(d, layers, steps, True)(x)
        y = getattr(layers, kind)(units, return_sequences=d.chance(.7))(z, initial_state=states)
        y = keras_head(d, layers, y)
    elif style == 'attention':
        y = keras_layer(d, layers, steps, True)(x)
        y = layers.Attention(use_scale=d.chance(.3))([y, y]) if d.chance(.6) else layers.Dot((2, 2), normalize=False)([y, y])
        y = keras_head(d, layers, y)
    elif style == 'cells':
        cells = [getattr(layers, d.pick('GRUCell', 'LSTMCell', 'SimpleRNNCell'))(d.int(1, 5)) for _ in range(count)]
        y = keras_head(d, layers, layers.RNN(cells if count > 1 else cells[0], return_sequences=d.chance(.6), go_backwards=d.chance(.2))(x))
        d.note(' '.join(type(c).__name__ for c in cells))
    elif steps is not None:
        y = layers.Flatten()(layers.Permute((2, 1))(keras_layer(d, layers, steps, True)(x)))
        y = layers.Reshape((-1, 1))(layers.Dense(d.int(1, 6))(y)) if d.chance(.5) else y
    else:
        y = layers.Dense(3)(keras_layer(d, layers, steps, True)(x))
    net = library.Model(x, [y, *outputs] if outputs else y)
    net.set_weights([d.array(w.shape, .3 if len(w.shape) == 1 else .5) for w in net.get_weights()])
    d.dynamic = library.backend.backend() != 'openvino'
    if library.backend.backend() == 'tensorflow':
        path = os.path.join(d.folder, 'saved')
        net.export(path, verbose=False)
        d.model = ov.convert_model(path)
    else:
        path = os.path.join(d.folder, 'keras.xml')
        signature = [library.InputSpec(shape=tuple(x.shape), dtype='float32', name='x')]
        net.export(path, format='openvino', verbose=False, input_signature=signature)
        d.model = CORE.read_model(path)
    d.parts = [path, path[:-3] + 'bin']
    sizes = [[n + (r if open_batch else 0), t + (r if open_steps else 0), i] for r in range(2)]
    d.inputs.append((None, [n, t, i], lambda run, shape: d.rng.standard_normal(sizes[run]).astype(np.float32)))
    d.keras = net


# XML that no API of OpenVINO writes --------------------------------------------------------------------------------

def written(d, layers, edges):
    """A model of hand-written layers: (id, name, type, version, attributes, input shapes, output shapes)."""
    text = ['<?xml version="1.0"?>', '<net name="m" version="11">', '<layers>']
    for number, name, kind, version, attributes, inputs, outputs in layers:
        text.append(f'<layer id="{number}" name="{name}" type="{kind}" version="{version}">')
        if attributes:
            text.append('<data ' + ' '.join(f'{k}="{v}"' for k, v in attributes.items()) + '/>')
        port = 0
        for side, shapes in (('input', inputs), ('output', outputs)):
            if shapes:
                text.append(f'<{side}>')
                for shape, precision in shapes:
                    names = f' names="{name}"' if side == 'output' and kind == 'Parameter' else ''
                    dims = ''.join(f'<dim>{s}</dim>' for s in shape)
                    text.append(f'<port id="{port}" precision="{precision}"{names}>{dims}</port>')
                    port += 1
                text.append(f'</{side}>')
        text.append('</layer>')
    text += ['</layers>', '<edges>']
    for a, p, b, q in edges:
        text.append(f'<edge from-layer="{a}" from-port="{p}" to-layer="{b}" to-port="{q}"/>')
    return '\n'.join(text + ['</edges>', '</net>', ''])


def handmade(d, kind, version, attributes, inputs, outputs):
    """One layer; inputs: (name, shape, constant array, None for normal numbers, or a function that makes them)."""
    layers, edges, blob, ports = [], [], b'', []
    for k, (name, shape, value) in enumerate(inputs):
        integer = isinstance(value, np.ndarray) and value.dtype.kind == 'i' or callable(value)
        precision, kind_of = ('I64', 'i64') if integer else ('FP32', 'f32')
        shape_text = ','.join(map(str, shape))
        if isinstance(value, np.ndarray):
            data = value.astype('<i8' if integer else '<f4').tobytes()
            layers.append((k, name, 'Const', 'opset1', {'element_type': kind_of, 'shape': shape_text, 'offset': len(blob), 'size': len(data)}, [], [(shape, precision)]))
            blob += data
        else:
            layers.append((k, name, 'Parameter', 'opset1', {'shape': shape_text, 'element_type': kind_of}, [], [(shape, precision)]))
            d.inputs.append((None, shape, value or (lambda run, shape: d.rng.standard_normal(shape).astype(np.float32))))
        edges.append((k, 0, len(inputs), k))
        ports.append((shape, precision))
    layers.append((len(inputs), 'cell', kind, version, attributes, ports, [(s, 'FP32') for s in outputs]))
    for k, shape in enumerate(outputs):
        layers.append((len(inputs) + 1 + k, f'out{k}', 'Result', 'opset1', {}, [(shape, 'FP32')], []))
        edges.append((len(inputs), len(inputs) + k, len(inputs) + 1 + k, 0))
    d.text, d.blob = written(d, layers, edges), blob
    d.note(f'{kind} {attributes}')


def activations_of(d, count, o):
    """Any of the eleven, with alpha and beta for every place (OpenVINO's lists go by position)."""
    names = [d.pick(*PLAIN, *OTHERS) for _ in range(count)]
    bounded = ['sigmoid', 'tanh', 'hardsigmoid', 'softsign', 'scaledtanh']
    names = [name if name in bounded or k == 0 and count == 3 else d.pick(*bounded, name) for k, name in enumerate(names)]
    o['activations'] = ','.join(d.pick(name, name.capitalize(), name.upper()) for name in names)
    takes_alpha = [n in OTHERS and n not in ('softsign', 'softplus') for n in names]
    alpha = [d.pick(.25, .5, .75) for _ in names]
    beta = [d.pick(.125, .5, .75) for _ in names]
    mode = d.int(0, 2)
    if any(takes_alpha) and mode:
        o['activations_alpha'] = ','.join(map(str, alpha))
        if mode == 2:
            o['activations_beta'] = ','.join(map(str, beta))
        elif any(n in ('affine', 'scaledtanh', 'hardsigmoid') for n in names):
            o['activations_beta'] = ','.join(map(str, beta))
    elif any(n in ('affine', 'scaledtanh') for n in names):
        o['activations_alpha'], o['activations_beta'] = ','.join(map(str, alpha)), ','.join(map(str, beta))


def lstm1(d):
    """LSTMCell of opset1: peepholes, input_forget, weights_format, B left out."""
    n, i, h = d.pick(1, 2), d.int(1, 8), d.int(1, 9)
    o = {'hidden_size': h}
    if d.chance(.7):
        o['weights_format'] = d.pick('fico', 'icof', 'ifco', 'ifoc', 'iofc')
    if d.chance(.4):
        o['input_forget'] = d.pick('true', 'false', '1')
    if d.chance(.3):
        o['clip'] = d.pick(.5, 1.5)
    if d.chance(.4):
        activations_of(d, 3, o)
    inputs = [('x', [n, i], None), ('h', [n, h], None), ('c', [n, h], None), ('W', [4 * h, i], d.array([4 * h, i])), ('R', [4 * h, h], d.array([4 * h, h]))]
    if d.chance(.8):
        inputs.append(('B', [4 * h], d.array([4 * h], .3)))
        if d.chance(.6):
            inputs.append(('P', [3 * h], d.array([3 * h], .5)))
    handmade(d, 'LSTMCell', 'opset1', o, inputs, [[n, h], [n, h]])


def augru(d):
    """AUGRUCell and AUGRUSequence."""
    n, t, i, h, lbr = d.pick(1, 2), d.int(1, 5), d.int(1, 8), d.int(1, 9), False
    o = {'hidden_size': h, 'linear_before_reset': str(lbr).lower()}
    b = (4 if lbr else 3) * h
    if d.chance(.5):
        handmade(d, 'AUGRUCell', 'ie_internal_opset', o, [('x', [n, i], None), ('h', [n, h], None), ('W', [3 * h, i], d.array([3 * h, i])),
                 ('R', [3 * h, h], d.array([3 * h, h])), ('B', [b], d.array([b], .3)), ('A', [n, 1], None)], [[n, h]])
    else:
        lengths = d.rng.integers(0, t + 1, n).astype(np.int64) if d.chance(.5) else lambda run, shape: d.rng.integers(0, t + 1, shape)
        handmade(d, 'AUGRUSequence', 'ie_internal_opset', {**o, 'direction': 'forward'}, [('x', [n, t, i], None), ('h', [n, 1, h], None),
                 ('L', [n], lengths), ('W', [1, 3 * h, i], d.array([1, 3 * h, i])), ('R', [1, 3 * h, h], d.array([1, 3 * h, h])),
                 ('B', [1, b], d.array([1, b], .3)), ('A', [n, t, 1], None)], [[n, 1, t, h], [n, 1, h]])


def activated(d):
    """Cells and sequences with any of the eleven activations, alpha and beta; lengths below 0 and past the end at run time."""
    kind = d.pick('RNN', 'GRU', 'LSTM')
    n, t, i, h = d.pick(1, 2), d.int(1, 5), d.int(1, 8), d.int(1, 9)
    o = {'hidden_size': h}
    activations_of(d, {'RNN': 1, 'GRU': 2, 'LSTM': 3}[kind], o)
    if d.chance(.3):
        o['clip'] = d.pick(.5, 1.5)
    lbr = kind == 'GRU' and d.chance(.5)
    if kind == 'GRU':
        o['linear_before_reset'] = str(lbr).lower()
    g, b = GATES[kind], (4 if lbr else GATES[kind]) * h
    states = ['h', 'c'] if kind == 'LSTM' else ['h']
    if d.chance(.5):
        handmade(d, kind + 'Cell', {'RNN': 'opset1', 'GRU': 'opset3', 'LSTM': 'opset4'}[kind], o, [('x', [n, i], None)] + [(s, [n, h], None) for s in states]
                 + [('W', [g * h, i], d.array([g * h, i])), ('R', [g * h, h], d.array([g * h, h])), ('B', [b], d.array([b], .3))], [[n, h]] * len(states))
        return
    direction = d.pick('forward', 'reverse', 'bidirectional')
    ways = 2 if direction == 'bidirectional' else 1
    lengths = d.rng.integers(0, t + 1, n).astype(np.int64) if d.chance(.4) else lambda run, shape: d.rng.integers(-2, t + 4, shape)
    handmade(d, kind + 'Sequence', 'opset5', {**o, 'direction': direction}, [('x', [n, t, i], None)] + [(s, [n, ways, h], None) for s in states]
             + [('L', [n], lengths), ('W', [ways, g * h, i], d.array([ways, g * h, i])), ('R', [ways, g * h, h], d.array([ways, g * h, h])),
                ('B', [ways, b], d.array([ways, b], .3))], [[n, ways, t, h]] + [[n, ways, h]] * len(states))


def windows(d):
    """Convolutions, pools and pads, one after the other."""
    rank = d.pick(1, 1, 2)
    sizes = [d.int(4, 12) for _ in range(rank)]
    shape = [d.int(1, 2), d.int(1, 6)] + sizes
    value = d.parameter(shape, 'x')
    for _ in range(d.int(1, 3)):
        shape = shape_of(value)
        channels, sizes = shape[1], shape[2:]
        if min(sizes) < 2 or np.prod(shape) > 1500:
            break
        some = lambda low, high: [d.int(low, high) for _ in range(rank)]
        auto = d.pick('explicit', 'explicit', 'same_upper', 'same_lower', 'valid')
        kind = d.pick('convolution', 'convolution', 'group', 'depthwise', 'back', 'back', 'max', 'average', 'pad', 'shaped')
        kernel, strides, dilations = [d.int(1, min(3, n)) for n in sizes], some(1, 2), some(1, 2)
        dilations = [q if (k - 1) * q < n else 1 for k, q, n in zip(kernel, dilations, sizes)]
        # OpenVINO pads a kernel of one element in its own way
        begin, end = ([min(p, 2 * (k - 1)) for p, k in zip(some(0, 2), kernel)] for _ in range(2))
        groups = {'group': d.pick(*[g for g in range(1, channels + 1) if channels % g == 0]), 'depthwise': channels}.get(kind, 1)
        outputs = d.int(1, 5) if kind != 'depthwise' else d.pick(1, 1, 2)
        if kind in ('convolution', 'group', 'depthwise'):
            w = d.array([groups, outputs, channels // groups] + kernel, .5)
            make = op.convolution if groups == 1 else op.group_convolution
            value = make(value, op.constant(w[0] if groups == 1 else w), strides, begin, end, dilations, auto)
            if d.chance(.5):
                value = op.add(value, op.constant(d.array([1, shape_of(value)[1]] + [1] * rank, .3)))
        elif kind in ('back', 'shaped'):
            groups = d.pick(1, channels)
            begin, end = [min(b, k - 1) for b, k in zip(begin, kernel)], [min(e, k - 1) for e, k in zip(end, kernel)]
            w = op.constant((lambda w: w[0] if groups == 1 else w)(d.array([groups, channels // groups, outputs] + kernel, .5)))
            make = op.convolution_backprop_data if groups == 1 else op.group_convolution_backprop_data
            target = None
            if kind == 'shaped':
                target = op.constant(np.array([d.int(1, (n - 1) * s + (k - 1) * q + 1) for n, s, k, q in zip(sizes, strides, kernel, dilations)], np.int64))
                begin = end = [0] * rank
            extra = [d.int(0, s - 1) for s in strides]
            value = make(value, w, strides, target, begin, end, dilations, auto, extra)
        elif kind in ('max', 'average'):
            begin, end = [min(b, k - 1) for b, k in zip(begin, kernel)], [min(e, k - 1) for e, k in zip(end, kernel)]
            # no window holds nothing but pads
            rounding = d.pick('floor', 'ceil') if auto == 'explicit' and all(s < k for s, k in zip(strides, kernel)) else 'floor'
            if kind == 'max':
                value = op.max_pool(value, strides, [1] * rank, begin, end, kernel, rounding, auto, 'i64', 0).output(0)
            else:
                value = op.avg_pool(value, strides, begin, end, kernel, d.chance(.5), rounding, auto)
        else:
            mode = d.pick('constant', 'edge', 'reflect', 'symmetric')
            pads = [[0, 0] + [d.int(-1, min(2, n - 2)) for n in sizes] for _ in range(2)]
            value = op.pad(value, *(op.constant(np.array(p, np.int64)) for p in pads), mode, op.constant(np.float32(.5)))
        d.note(f'{kind} {auto} kernel {kernel} strides {strides}')
        if d.chance(.4):
            value = op.relu(value)
    d.output(value, 'y')


FAMILIES = {f.__name__: f for f in (windows, cell, sequence, stack, states, dynamic, graph, mixed, stateful, iterator, loop, quantized, fake_quantized, fake_quantized_loop, nncf, nncf_ptq, corners, neighbours, torch_rnn,
                                    torch_cells, torch_gate, torch_net, onnx_rnn, keras, lstm1, augru, activated)}
NOT_BY_OPENVINO = {'lstm1', 'augru', 'activated'}


def make(family, seed, folder):
    """Writes one case; its name is the family and the seed."""
    name = f'{family}_{seed}'
    d = Draw([seed, *family.encode()])
    d.folder = os.path.join(folder, name)
    os.makedirs(d.folder, exist_ok=True)
    xml, weights = (os.path.join(d.folder, 'model.' + end) for end in ('xml', 'bin'))
    FAMILIES[family](d)
    if hasattr(d, 'text'):
        with open(xml, 'w') as file:
            file.write(d.text)
        with open(weights, 'wb') as file:
            file.write(d.blob)
    else:
        model = getattr(d, 'model', None) or ov.Model(d.outputs, d.assigns, [node for node, _, _ in d.inputs], 'm')
        model = d.transform(model) if hasattr(d, 'transform') else model
        half = d.half = d.chance(.4)
        d.note('f16' if half else 'f32')
        ov.save_model(model, xml, compress_to_fp16=half)
    runs = [[np.ascontiguousarray(make_(run, shape)) for _, shape, make_ in d.inputs] for run in range(d.runs)]
    oracle = Model(xml, weights).runs(runs, d.stateful)
    try:
        compiled = CORE.compile_model(CORE.read_model(xml), 'CPU', {'INFERENCE_PRECISION_HINT': 'f32'})
        request = compiled.create_infer_request()
        theirs = []
        for inputs in runs:
            if d.stateful is False:
                request = compiled.create_infer_request()
            request.infer(dict(enumerate(inputs)))
            theirs.append([np.array(request.get_output_tensor(k).data) for k in range(len(compiled.outputs))])
        missing = None
    except Exception as error:
        if family not in NOT_BY_OPENVINO:
            raise
        theirs, missing = None, str(error).splitlines()[-1][:200]
    check_framework(d, runs, oracle)
    for part in getattr(d, 'parts', []):
        shutil.rmtree(part) if os.path.isdir(part) else os.path.exists(part) and os.remove(part)
    record(d, name, family, folder, runs, theirs, oracle, missing)


def check_framework(d, runs, oracle):
    """PyTorch's and ONNX Runtime's own results against the oracle: the conversion, and the oracle, are right."""
    if hasattr(d, 'torch'):
        import torch
        net = d.torch.double()
        for inputs, expected in zip(runs, oracle):
            with torch.no_grad():
                out = net(*[torch.from_numpy(v).double() for v in inputs])
            for a, b in zip(out if isinstance(out, tuple) else [out], expected):
                assert np.abs(a.numpy() - b).max() < (1e-2 if d.half else 2e-6), f'oracle and torch differ by {np.abs(a.numpy() - b).max()}'
    if hasattr(d, 'onnx'):
        import onnxruntime
        session = onnxruntime.InferenceSession(d.onnx)
        for inputs, expected in zip(runs, oracle):
            try:
                out = session.run(None, {i.name: v for i, v in zip(session.get_inputs(), inputs)})
            except Exception as error:
                d.note('onnxruntime refuses: ' + str(error)[:80])
                return
            for a, b in zip(out, expected):
                if np.abs(a - b).max() > (1e-2 if d.half else 1e-5):
                    d.note(f'onnxruntime differs by {np.abs(a - b).max():.3g}')
        os.remove(d.onnx)
    if hasattr(d, 'keras'):
        import keras as library
        for inputs, expected in zip(runs, oracle):
            out = d.keras(library.ops.convert_to_tensor(inputs[0]))
            for a, b in zip(out if isinstance(out, (list, tuple)) else [out], expected):
                difference = np.abs(library.ops.convert_to_numpy(a) - b).max(initial=0)
                assert difference < (1e-2 if d.half else 1e-5) * max(1, np.abs(b).max()), f'oracle and Keras differ by {difference}'


def record(d, name, family, folder, runs, theirs, oracle, missing):
    with open(os.path.join(d.folder, 'model.xml'), encoding='utf-8') as file:
        text = file.read()
    put = lambda file, array: (array.tofile(os.path.join(d.folder, file)), {'file': file, 'dtype': NAMES[array.dtype], 'shape': list(array.shape)})[1]
    listed = []
    for k, inputs in enumerate(runs):
        entry = {'inputs': [put(f'r{k}_in{i}.bin', a) for i, a in enumerate(inputs)]}
        if d.dynamic:
            for i, a in enumerate(inputs):
                np.save(os.path.join(d.folder, f'r{k}_in{i}.npy'), a)
        entry['openvino'] = [put(f'r{k}_ov{i}.bin', a.astype(np.float32)) for i, a in enumerate(theirs[k])] if theirs else None
        entry['oracle'] = [put(f'r{k}_ref{i}.bin', np.ascontiguousarray(a)) for i, a in enumerate(oracle[k])]
        listed.append(entry)
    tolerance, deviates = [], []
    for k in range(len(oracle[0])):
        most = max(float(np.abs(run[k]).max(initial=0)) for run in oracle)
        error = max(float(np.abs(a[k] - b[k]).max(initial=0)) for a, b in zip(theirs, oracle)) if theirs else 0
        if error > 1e-4 * max(1, most):  # OpenVINO computes something else; the oracle counts
            deviates.append(k)
            d.note(f'OpenVINO differs by {error:.3g} in output {k}')
            error = 0
        tolerance.append({'abs': max(4 * error, 2e-6 * max(1, most)), 'rule': '|out-oracle| <= abs'})
    if missing:
        d.note('OpenVINO: ' + missing)
    kinds = re.findall(r'<layer [^>]*type="([^"]+)"', text)
    parameters = re.findall(r'<layer [^>]*name="([^"]*)" type="Parameter"', text)
    case = {'name': name, 'family': family, 'about': '; '.join(n for n in d.notes if n), 'origin': 'tests/models/generate.py',
            'openvino': ov.get_version(), 'device': 'CPU, INFERENCE_PRECISION_HINT=f32', 'model': 'model.xml', 'weights': 'model.bin',
            'stateful': d.stateful, 'deviates': deviates,
            'ops': {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)},
            'inputs': [{'index': i, 'parameter': p, 'names': [p], 'dtype': NAMES[a.dtype], 'shape': list(a.shape)} for i, (p, a) in enumerate(zip(parameters, runs[0]))],
            'outputs': [{'index': i, 'dtype': 'f32', 'shape': list(a.shape)} for i, a in enumerate(oracle[0])],
            'runs': listed, 'tolerance': tolerance}
    with open(os.path.join(d.folder, 'case.json'), 'w') as file:
        json.dump(case, file, indent=1)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument('folder')
    arguments.add_argument('--families', default=','.join(FAMILIES))
    arguments.add_argument('--count', type=int, default=5)
    arguments.add_argument('--seed', type=int, default=1)
    a = arguments.parse_args()
    failed = 0
    for family in a.families.split(','):
        for seed in range(a.seed, a.seed + a.count):
            try:
                make(family, seed, a.folder)
            except Exception as error:
                failed += 1
                print(f'{family}_{seed}: not made: {type(error).__name__}: {str(error).strip().splitlines()[-1] if str(error).strip() else ""}'[:300])
                if os.environ.get('TRACE'):
                    traceback.print_exc()
    print(f'{failed} not made')


if __name__ == '__main__':
    sys.exit(main())
