"""Cases of loops that end by a condition, of branches, comparisons, rounding, look-up and integers, of sums and elements by a pattern, and of quantised
layers, with ONNX Runtime's numbers.

    pip install onnx onnxruntime numpy openvino
    python decisions.py FOLDER           # writes the cases
    python decisions.py FOLDER CORPUS    # and the branches as OpenVINO's own file too

An output of a loop that ends by itself is as long as the loop may be: what lies beyond its end is zero. How many parts there are is one more output.
"""
import json
import os
import shutil
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T, helper as h, numpy_helper

DTYPES = {'float32': 'f32', 'int64': 'i64', 'int32': 'i32', 'bool': 'boolean'}


def info(name, kind, shape):
    return h.make_tensor_value_info(name, kind, shape)


def constants(**values):
    return [numpy_helper.from_array(np.asarray(value), name) for name, value in values.items()]


def draw(rng, *shape, by=1.0):
    return (rng.standard_normal(shape) * by).astype(np.float32)


def scan_until(rng):
    """A state that fades, until its largest element is small."""
    body = h.make_graph(
        [h.make_node('MatMul', ['state', 'W'], ['sum']), h.make_node('Tanh', ['sum'], ['next']),
         h.make_node('ReduceMax', ['next'], ['most'], keepdims=0), h.make_node('Less', ['least', 'most'], ['goes_on']),
         h.make_node('Identity', ['next'], ['part'])],
        'body', [info('k', T.INT64, []), info('go', T.BOOL, []), info('state', T.FLOAT, [1, 6])],
        [info('goes_on', T.BOOL, []), info('next', T.FLOAT, [1, 6]), info('part', T.FLOAT, [1, 6])])
    graph = h.make_graph(
        [h.make_node('Loop', ['most_steps', 'yes', 'x'], ['last', 'parts'], body=body)], 'scan_until',
        [info('x', T.FLOAT, [1, 6])], [info('last', T.FLOAT, [1, 6]), info('parts', T.FLOAT, ['n', 1, 6])],
        constants(W=draw(rng, 6, 6, by=0.3), least=np.float32(0.05), most_steps=np.int64(20), yes=np.bool_(True)))
    return graph, [[draw(rng, 1, 6, by=2)] for _ in range(3)], [None, 20]


def decode_until(rng):
    """A greedy decoder: the token with the largest score is the next input, until it is token 0."""
    body = h.make_graph(
        [h.make_node('Gather', ['table', 'token'], ['row']), h.make_node('Concat', ['row', 'state'], ['both'], axis=1),
         h.make_node('Gemm', ['both', 'W', 'b'], ['sum']), h.make_node('Tanh', ['sum'], ['next_state']),
         h.make_node('MatMul', ['next_state', 'head'], ['scores']),
         h.make_node('ArgMax', ['scores'], ['next_token'], axis=1, keepdims=0), h.make_node('Equal', ['next_token', 'end'], ['ends']),
         h.make_node('Not', ['ends'], ['not_yet']), h.make_node('Squeeze', ['not_yet', 'first'], ['goes_on']),
         h.make_node('Identity', ['next_token'], ['part'])],
        'body', [info('k', T.INT64, []), info('go', T.BOOL, []), info('token', T.INT64, [1]), info('state', T.FLOAT, [1, 8])],
        [info('goes_on', T.BOOL, []), info('next_token', T.INT64, [1]), info('next_state', T.FLOAT, [1, 8]), info('part', T.INT64, [1])])
    graph = h.make_graph(
        [h.make_node('Loop', ['most_steps', 'yes', 'start', 'state0'], ['last', 'left', 'tokens'], body=body)], 'decode_until',
        [info('state0', T.FLOAT, [1, 8]), info('start', T.INT64, [1])],
        [info('tokens', T.INT64, ['n', 1]), info('left', T.FLOAT, [1, 8])],
        constants(table=draw(rng, 7, 5), W=draw(rng, 13, 8, by=0.8), b=draw(rng, 8), head=draw(rng, 8, 7), end=np.array([0]),
                  first=np.array([0]), most_steps=np.int64(12), yes=np.bool_(True)))
    return graph, [[draw(rng, 1, 8), np.array([k])] for k in (3, 1, 6, 2)], [12, None]


def counting_loop(rng):
    """More iterations than are written out, each with its number and a counter that is handed on."""
    body = h.make_graph(
        [h.make_node('Add', ['counter', 'two'], ['more']), h.make_node('Mod', ['more', 'seven'], ['next']),
         h.make_node('Gather', ['table', 'next'], ['row']), h.make_node('Mul', ['sum', 'half'], ['less']),
         h.make_node('Add', ['less', 'row'], ['next_sum']), h.make_node('Identity', ['go'], ['goes_on']),
         h.make_node('Cast', ['k'], ['number'], to=T.FLOAT), h.make_node('Add', ['row', 'number'], ['part'])],
        'body', [info('k', T.INT64, []), info('go', T.BOOL, []), info('counter', T.INT64, []), info('sum', T.FLOAT, [3])],
        [info('goes_on', T.BOOL, []), info('next', T.INT64, []), info('next_sum', T.FLOAT, [3]), info('part', T.FLOAT, [3])])
    graph = h.make_graph(
        [h.make_node('Loop', ['steps', 'yes', 'one', 'x'], ['counter_left', 'y', 'parts'], body=body)], 'counting_loop',
        [info('x', T.FLOAT, [3])], [info('counter_left', T.INT64, []), info('y', T.FLOAT, [3]), info('parts', T.FLOAT, [70, 3])],
        constants(two=np.int64(2), seven=np.int64(7), table=draw(rng, 7, 3), half=np.float32(0.5), steps=np.int64(70), yes=np.bool_(True), one=np.int64(1)))
    return graph, [[draw(rng, 3)]], [None, None, None]


def if_at_run_time(rng):
    """Two branches, of which the sign of a sum chooses one."""
    branch = lambda node, out: h.make_graph([h.make_node(node, ['x'], [out])], out, [], [info(out, T.FLOAT, [4])])
    graph = h.make_graph(
        [h.make_node('ReduceSum', ['x'], ['sum'], keepdims=0), h.make_node('Greater', ['sum', 'zero'], ['is_above']),
         h.make_node('If', ['is_above'], ['y'], then_branch=branch('Tanh', 'high'), else_branch=branch('Neg', 'low'))],
        'if_at_run_time', [info('x', T.FLOAT, [4])], [info('y', T.FLOAT, [4])], constants(zero=np.float32(0)))
    return graph, [[np.array(x, np.float32)] for x in ([1, 2, 3, -1], [1, -2, -3, -1])], [None]


def gru_in_a_branch(rng):
    """A GRU that takes a step only where a flag says so; else its state stays, or fades, by another branch inside."""
    def graph(name, nodes, *results):
        return h.make_graph(nodes, name, [], [info(result, T.FLOAT, [1, size]) for result, size in results])

    step = graph('step', [
        h.make_node('Unsqueeze', ['x', 'first'], ['x1']), h.make_node('Unsqueeze', ['h', 'first'], ['h1']),
        h.make_node('GRU', ['x1', 'W', 'R', 'B', '', 'h1'], ['', 'h2'], hidden_size=24), h.make_node('Squeeze', ['h2', 'first'], ['h3']),
        h.make_node('Gemm', ['h3', 'head', 'b'], ['y3'])], ('y3', 5), ('h3', 24))
    keep = graph('keep', [h.make_node('MatMul', ['x', 'V'], ['sums']), h.make_node('Tanh', ['sums'], ['y4']),
                          h.make_node('Identity', ['h'], ['h4'])], ('y4', 5), ('h4', 24))
    fade = graph('fade', [h.make_node('Mul', ['h', 'half'], ['h5']), h.make_node('Identity', ['zeros'], ['y5'])], ('y5', 5), ('h5', 24))
    wait = graph('wait', [h.make_node('ReduceMax', ['x'], ['most'], keepdims=0), h.make_node('Greater', ['most', 'loud'], ['is_loud']),
                          h.make_node('If', ['is_loud'], ['y6', 'h6'], then_branch=keep, else_branch=fade)], ('y6', 5), ('h6', 24))
    whole = h.make_graph(
        [h.make_node('If', ['goes'], ['y', 'hn'], then_branch=step, else_branch=wait)], 'gru_in_a_branch',
        [info('goes', T.BOOL, []), info('x', T.FLOAT, [1, 12]), info('h', T.FLOAT, [1, 24])],
        [info('y', T.FLOAT, [1, 5]), info('hn', T.FLOAT, [1, 24])],
        constants(W=draw(rng, 1, 72, 12, by=0.3), R=draw(rng, 1, 72, 24, by=0.2), B=draw(rng, 1, 144, by=0.1), head=draw(rng, 24, 5), b=draw(rng, 5),
                  V=draw(rng, 12, 5), first=np.array([0]), half=np.float32(0.5), zeros=np.zeros((1, 5), np.float32), loud=np.float32(1.0)))
    runs = [[np.array(goes), draw(rng, 1, 12) * np.float32(by), draw(rng, 1, 24, by=0.5)] for goes, by in [(True, 1), (False, 3), (False, 0.1), (True, 0.1)]]
    return whole, runs, [None, None]


def ends_early(rng):
    """A loop of 1000 iterations at most that an input ends after a few."""
    body = h.make_graph(
        [h.make_node('MatMul', ['state', 'W'], ['sum']), h.make_node('Tanh', ['sum'], ['next']), h.make_node('MatMul', ['next', 'V'], ['part']),
         h.make_node('Add', ['n', 'one'], ['n1']), h.make_node('Less', ['n1', 'limit'], ['goes_on'])],
        'body', [info('k', T.INT64, []), info('go', T.BOOL, []), info('state', T.FLOAT, [1, 16]), info('n', T.FLOAT, [])],
        [info('goes_on', T.BOOL, []), info('next', T.FLOAT, [1, 16]), info('n1', T.FLOAT, []), info('part', T.FLOAT, [1, 2])])
    graph = h.make_graph(
        [h.make_node('Loop', ['most_steps', 'yes', 'x', 'zero'], ['last', 'count', 'parts'], body=body)], 'ends_early',
        [info('x', T.FLOAT, [1, 16]), info('limit', T.FLOAT, [])], [info('last', T.FLOAT, [1, 16]), info('parts', T.FLOAT, ['n', 1, 2])],
        constants(W=draw(rng, 16, 16, by=0.2), V=draw(rng, 16, 2), one=np.float32(1), zero=np.float32(0), most_steps=np.int64(1000), yes=np.bool_(True)))
    return graph, [[draw(rng, 1, 16), np.array(limit, np.float32)] for limit in (10, 0.5)], [None, 1000]


def decisions(rng):
    """Comparisons, logic, rounding, the best of a row, look-up by what is computed, integer arithmetic, outputs of all types."""
    nodes = [
        h.make_node('Less', ['x', 'y'], ['less']), h.make_node('Greater', ['x', 'half'], ['large']), h.make_node('And', ['less', 'large'], ['both']),
        h.make_node('Or', ['less', 'large'], ['any']), h.make_node('Xor', ['less', 'large'], ['one']), h.make_node('Where', ['any', 'x', 'y'], ['chosen']),
        h.make_node('Mul', ['x', 'three'], ['wide']), h.make_node('Floor', ['wide'], ['floor']), h.make_node('Ceil', ['wide'], ['ceil']),
        h.make_node('Round', ['wide'], ['round']), h.make_node('Sign', ['y'], ['sign']), h.make_node('Add', ['floor', 'ceil'], ['f1']),
        h.make_node('Sub', ['f1', 'round'], ['f2']), h.make_node('Add', ['f2', 'sign'], ['rounded']),
        h.make_node('TopK', ['x', 'k'], ['best', 'places'], axis=1), h.make_node('ArgMin', ['y'], ['least'], axis=0, keepdims=0),
        h.make_node('GatherElements', ['y', 'places'], ['others'], axis=1), h.make_node('Cast', ['round'], ['whole'], to=T.INT64),
        h.make_node('Clip', ['whole', 'minus', 'plus'], ['small']), h.make_node('Mod', ['small', 'five'], ['rest']),
        h.make_node('Div', ['small', 'two'], ['halved']), h.make_node('Mul', ['halved', 'rest'], ['product']),
        h.make_node('Gather', ['table', 'rest'], ['rows'], axis=0), h.make_node('ReduceSum', ['rest', 'last_axis'], ['total'], keepdims=0),
        h.make_node('Gather', ['table', 'tokens'], ['found'], axis=1), h.make_node('Equal', ['tokens', 'two'], ['twos']),
        h.make_node('Where', ['mask', 'best', 'others'], ['masked']),
    ]
    outputs = [('both', T.BOOL, [3, 6]), ('one', T.BOOL, [3, 6]), ('chosen', T.FLOAT, [3, 6]), ('rounded', T.FLOAT, [3, 6]), ('best', T.FLOAT, [3, 2]),
               ('places', T.INT64, [3, 2]), ('least', T.INT64, [6]), ('others', T.FLOAT, [3, 2]), ('product', T.INT64, [3, 6]), ('rows', T.FLOAT, [3, 6, 4]),
               ('total', T.INT64, [3]), ('found', T.FLOAT, [5, 4]), ('twos', T.BOOL, [4]), ('masked', T.FLOAT, [3, 2])]
    graph = h.make_graph(
        nodes, 'decisions', [info('x', T.FLOAT, [3, 6]), info('y', T.FLOAT, [3, 6]), info('tokens', T.INT64, [4]), info('mask', T.BOOL, [3, 2])],
        [info(*output) for output in outputs],
        constants(half=np.float32(0.5), three=np.float32(3), k=np.array([2]), minus=np.int64(-20), plus=np.int64(20), five=np.int64(5), two=np.int64(2),
                  table=draw(rng, 5, 4), last_axis=np.array([1])))
    runs = [[draw(rng, 3, 6), draw(rng, 3, 6), rng.integers(-4, 4, 4), rng.random((3, 2)) < 0.5] for _ in range(3)]
    return graph, runs, [None] * len(outputs)


def arrangements(rng):
    """Running sums, rows with a single one, triangles, nearest elements, equations of letters, a longer transposed convolution, lengths of rows of zeros."""
    nodes, outputs, given = [], [], {}

    def add(op, inputs, name, kind, shape, **attributes):
        nodes.append(h.make_node(op, inputs, [name], **attributes))
        outputs.append((name, kind, shape))

    for name, axis, attributes in [('sum', 1, {}), ('sum_before', -1, {'exclusive': 1}), ('sum_after', 2, {'reverse': 1}),
                                   ('sum_behind', 0, {'exclusive': 1, 'reverse': 1})]:
        given[name + '_axis'] = np.int64(axis)
        add('CumSum', ['x', name + '_axis'], name, T.FLOAT, [2, 5, 7], **attributes)
    given.update(one_axis=np.int64(0), depth=np.int64(6), off_on=np.array([-1, 2], np.float32), off_on_whole=np.array([3, 5]))
    add('CumSum', ['tokens', 'one_axis'], 'token_sums', T.INT64, [4])
    add('OneHot', ['tokens', 'depth', 'off_on'], 'rows', T.FLOAT, [4, 6])
    add('OneHot', ['tokens', 'depth', 'off_on_whole'], 'columns', T.INT64, [6, 4], axis=0)
    given.update(above=np.int64(1), below=np.int64(-2), one_each=np.ones((5, 7), np.float32))
    add('Trilu', ['x'], 'upper', T.FLOAT, [2, 5, 7])
    add('Trilu', ['x', 'above'], 'lower', T.FLOAT, [2, 5, 7], upper=0)
    add('Trilu', ['x', 'below'], 'upper_below', T.FLOAT, [2, 5, 7], upper=1)
    nodes.append(h.make_node('EyeLike', ['one_each'], ['eye'], k=2, dtype=T.FLOAT))
    add('Mul', ['x', 'eye'], 'diagonal', T.FLOAT, [2, 5, 7])
    sizes = {'twice': ([1, 2, 3], {'coordinate_transformation_mode': 'asymmetric', 'nearest_mode': 'floor'}), 'larger': ([1, 1.5, 1.6], {}),
             'smaller': ([1, 0.6, 0.5], {'nearest_mode': 'ceil'}), 'corners': ([1, 2, 1.3], {'coordinate_transformation_mode': 'align_corners'}),
             'as_pytorch': ([1, 0.2, 0.8], {'coordinate_transformation_mode': 'pytorch_half_pixel', 'nearest_mode': 'round_prefer_ceil'})}
    for name, (scales, attributes) in sizes.items():
        given[name + '_scales'] = np.array(scales, np.float32)
        shape = [int(np.floor(np.float32(s) * np.float32(n))) for s, n in zip(scales, [2, 5, 7])]
        add('Resize', ['x', '', name + '_scales'], name, T.FLOAT, shape, mode='nearest', **attributes)
    given['wanted'] = np.array([2, 8, 3])
    add('Resize', ['x', '', '', 'wanted'], 'by_size', T.FLOAT, [2, 8, 3], mode='nearest')
    given.update(W=draw(rng, 7, 3), V=draw(rng, 3, 5))
    for name, equation, inputs, shape in [
            ('product', 'btk,kn->btn', ['x', 'W'], [2, 5, 3]), ('attention', 'b i k, b j k -> b i j', ['x', 'x'], [2, 5, 5]),
            ('chain', 'btk,kn,nt->bk', ['x', 'W', 'V'], [2, 7]), ('turned', 'abc->ca', ['x'], [7, 2]), ('scaled', '...c,cn->...cn', ['x', 'W'], [2, 5, 7, 3]),
            ('implied', 'btk,kn', ['x', 'W'], [2, 3, 5]), ('inner', 'btk,btk->', ['x', 'x'], [])]:
        if name == 'implied':
            shape = [2, 3, 5]
        add('Einsum', inputs, name, T.FLOAT, shape, equation=equation)
    given['C'] = draw(rng, 5, 2, 3)
    add('ConvTranspose', ['x', 'C'], 'longer', T.FLOAT, [2, 2, 16], strides=[2], output_shape=[16])
    add('ConvTranspose', ['x', 'C'], 'shorter', T.FLOAT, [2, 2, 14], strides=[2], output_shape=[14])
    given.update(keeps=np.array([[0], [1], [0], [1], [1]], np.float32))
    nodes.append(h.make_node('Mul', ['x', 'keeps'], ['some_zero']))
    add('LpNormalization', ['some_zero'], 'unit_rows', T.FLOAT, [2, 5, 7])
    add('LpNormalization', ['some_zero'], 'unit_sums', T.FLOAT, [2, 5, 7], axis=2, p=1)
    graph = h.make_graph(nodes, 'arrangements', [info('x', T.FLOAT, [2, 5, 7]), info('tokens', T.INT64, [4])],
                         [info(*output) for output in outputs], constants(**given))
    runs = [[draw(rng, 2, 5, 7), rng.integers(-6, 6, 4)] for _ in range(2)]
    return graph, runs, [None] * len(outputs)


def normalizations(rng):
    """Layer normalization with the mean and one over the deviation that it divides by, over the last axis and over several."""
    nodes, outputs, given = [], [], {}
    for name, shape, kept, attributes in [('last', [7], [2, 5, 1], {}), ('several', [5, 7], [2, 1, 1], {'axis': 1, 'epsilon': 0.125}),
                                          ('from_behind', [5, 7], [2, 1, 1], {'axis': -2})]:
        given.update({name + '_scale': draw(rng, *shape), name + '_bias': draw(rng, *shape)})
        results = [name, name + '_mean', name + '_deviation']
        nodes.append(h.make_node('LayerNormalization', ['x', name + '_scale', name + '_bias'], results, **attributes))
        outputs += [(result, T.FLOAT, size) for result, size in zip(results, [[2, 5, 7], kept, kept])]
    graph = h.make_graph(nodes, 'normalizations', [info('x', T.FLOAT, [2, 5, 7])], [info(*output) for output in outputs], constants(**given))
    return graph, [[draw(rng, 2, 5, 7)] for _ in range(2)], [None] * len(outputs)


def moves(rng):
    """Elements that are put elsewhere or combined there, what is between elements, windows with weights of run time, powers."""
    nodes, outputs = [], []

    def add(op, inputs, shape, kind=T.FLOAT, **attributes):
        nodes.append(h.make_node(op, inputs, [f'y{len(outputs)}'], **attributes))
        outputs.append(info(f'y{len(outputs)}', kind, shape))
    for reduction in ('add', 'mul', 'max', 'min'):
        add('ScatterElements', ['x', 'places', 'new'], [2, 4, 6], axis=1, reduction=reduction)
        add('ScatterND', ['x', 'rows', 'new_rows'], [2, 4, 6], reduction=reduction)
    add('ScatterElements', ['x', 'tokens', 'new'], [2, 4, 6], axis=1, reduction='add')
    for mode in ('linear', 'cubic'):
        for way in ('half_pixel', 'asymmetric', 'align_corners', 'pytorch_half_pixel', 'half_pixel_symmetric'):
            add('Resize', ['plane', '', 'wider'], [1, 2, 6, 15], mode=mode, coordinate_transformation_mode=way)
        add('Resize', ['plane', '', '', 'sizes'], [1, 2, 3, 11], mode=mode)
    add('Resize', ['plane', '', 'wider'], [1, 2, 6, 15], mode='cubic', exclude_outside=1)
    add('ReverseSequence', ['x', 'lengths'], [2, 4, 6], batch_axis=0, time_axis=1)
    add('ReverseSequence', ['x', 'fixed_lengths'], [2, 4, 6], batch_axis=1, time_axis=0)
    add('DepthToSpace', ['image'], [1, 1, 4, 6], blocksize=2)
    add('DepthToSpace', ['image'], [1, 1, 4, 6], blocksize=2, mode='CRD')
    nodes.append(h.make_node('DepthToSpace', ['image'], ['large'], blocksize=2))
    add('SpaceToDepth', ['large'], [1, 4, 2, 3], blocksize=2)
    add('Pad', ['x', 'pads'], [2, 4, 11], mode='wrap')
    add('MaxPool', ['x'], [2, 4, 4], kernel_shape=[3], dilations=[2], pads=[1, 1])
    add('Conv', ['x', 'kernels'], [2, 3, 5])
    add('Conv', ['x', 'kernels_of_channels'], [2, 4, 6], group=4, pads=[1, 0])
    add('ConvTranspose', ['x', 'kernels_back'], [2, 3, 12], strides=[2])
    add('Pow', ['size', 'exponents'], [2, 4, 6])
    add('Pow', ['x', 'whole'], [2, 4, 6])
    nodes.append(h.make_node('QuantizeLinear', ['x', 'x_scale', 'x_zero'], ['q']))
    add('ConvInteger', ['q', 'q_kernels', 'x_zero', 'w_zero'], [2, 3, 4], T.INT32)
    nodes.append(h.make_node('QLinearConv', ['q', 'x_scale', 'x_zero', 'q_kernels', 'w_scales', 'zeros', 'y_scale', 'y_zero', 'q_bias'], ['qy']))
    add('DequantizeLinear', ['qy', 'y_scale', 'y_zero'], [2, 3, 4])
    nodes[:0] = [h.make_node('Unsqueeze', ['x', 'first'], ['plane']), h.make_node('Abs', ['x'], ['size']), h.make_node('Abs', ['new'], ['exponents_of_some']),
                 h.make_node('ReduceMean', ['exponents_of_some', 'last'], ['some']), h.make_node('Slice', ['some', 'at', 'to', 'axis'], ['exponents'])]
    inputs = [info('x', T.FLOAT, [2, 4, 6]), info('new', T.FLOAT, [2, 2, 6]), info('tokens', T.INT64, [2, 2, 6]), info('lengths', T.INT64, [2]),
              info('kernels', T.FLOAT, [3, 4, 2]), info('image', T.FLOAT, [1, 4, 2, 3])]
    nodes[:0] = [h.make_node('Transpose', ['kernels'], ['kernels_back'], perm=[1, 0, 2]),
                 h.make_node('Slice', ['kernels_back', 'at', 'to', 'axis'], ['kernels_of_channels'])]
    graph = h.make_graph(nodes, 'moves', inputs, outputs, constants(
        places=np.array([0, 2, 2, 1, 3, 0, 0, 2, 1, 1, 3, 3] * 2).reshape(2, 2, 6), rows=np.array([[0, 1], [1, 3], [0, 1]]), new_rows=draw(rng, 3, 6),
        wider=np.array([1, 1, 1.5, 2.5], np.float32), sizes=np.array([1, 2, 3, 11]), first=np.array([0]), fixed_lengths=np.array([2, 1, 2, 0]), pads=np.array([0, 0, 3, 0, 0, 2]),
        whole=np.array([2, 3, -1, -2, 0, 5], np.float32), at=np.array([0]), to=np.array([1]), axis=np.array([1]), last=np.array([2]),
        x_scale=np.float32(0.02), x_zero=np.uint8(120), q_kernels=rng.integers(-127, 128, (3, 4, 3)).astype(np.int8), zeros=np.zeros(3, np.int8),
        w_scales=np.array([0.01, 0.02, 0.005], np.float32), y_scale=np.float32(0.05), y_zero=np.uint8(128), w_zero=np.int8(3), q_bias=np.array([5, -70, 300], np.int32)))
    feeds = []
    for _ in range(2):
        feeds.append([draw(rng, 2, 4, 6), draw(rng, 2, 2, 6), rng.integers(-4, 4, (2, 2, 6)), rng.integers(0, 5, 2), draw(rng, 3, 4, 2), draw(rng, 1, 4, 2, 3)])
    return graph, feeds, [None] * len(outputs)


def table_of_one_row(rng):
    """Look-up in a table of a single row, which is constant or computed: every number is that of this row."""
    nodes = [h.make_node('Gather', ['table', 'words'], ['rows']), h.make_node('Mul', ['rows', 'scale'], ['scaled']),
             h.make_node('Tanh', ['x'], ['computed']), h.make_node('Gather', ['computed', 'words'], ['again'], axis=1)]
    graph = h.make_graph(nodes, 'table_of_one_row', [info('words', T.INT64, [5]), info('scale', T.FLOAT, [5, 1]), info('x', T.FLOAT, [3, 1, 2])],
                         [info('scaled', T.FLOAT, [5, 9]), info('again', T.FLOAT, [3, 5, 2])], constants(table=draw(rng, 1, 9)))
    return graph, [[rng.integers(-1, 1, 5), draw(rng, 5, 1), draw(rng, 3, 1, 2)]], [None, None]


def eighths(rng, *shape):
    """Weights of 8 bits that take both ends."""
    w = rng.integers(-127, 128, shape).astype(np.int8)
    w.flat[:2] = 127, -127
    return w


def qdq_layers(rng):
    """Products between QuantizeLinear and DequantizeLinear, as static quantisation leaves them: x in i8, u8 from 0, u8 with a zero point; scales of
    weights by tensor and by column; elements that are clipped."""
    nodes, values = [], {}

    def quantized(x, scale, zero):
        values.update({f'{x}_scale': np.float32(scale), f'{x}_zero': zero})
        nodes.append(h.make_node('QuantizeLinear', [x, f'{x}_scale', f'{x}_zero'], [f'{x}_q']))
        nodes.append(h.make_node('DequantizeLinear', [f'{x}_q', f'{x}_scale', f'{x}_zero'], [f'{x}_dq']))
        return f'{x}_dq'

    def weights(name, q, scale, axis):
        values.update({f'{name}_q': q, f'{name}_scale': scale, f'{name}_zero': np.zeros(np.shape(scale), np.int8)})
        nodes.append(h.make_node('DequantizeLinear', [f'{name}_q', f'{name}_scale', f'{name}_zero'], [name], axis=axis))
        return name

    first = weights('W1', eighths(rng, 21, 40), (rng.random(40) * .01 + .002).astype(np.float32), 1)
    second = weights('W2', eighths(rng, 17, 40), np.float32(.0123), 0)
    third = weights('W3', eighths(rng, 17, 3), (rng.random(3) * .01 + .002).astype(np.float32), 1)
    nodes.append(h.make_node('MatMul', [quantized('x', .0271, np.int8(0)), first], ['sum1']))
    nodes.append(h.make_node('Add', ['sum1', 'b1'], ['biased1']))
    nodes.append(h.make_node('Relu', ['biased1'], ['y1']))
    nodes.append(h.make_node('Gemm', [quantized('y1', .0513, np.uint8(0)), second, 'b2'], ['y2'], transB=1))
    nodes.append(h.make_node('MatMul', [quantized('y2', .172, np.uint8(117)), third], ['y']))
    values.update(b1=draw(rng, 40), b2=draw(rng, 17))
    graph = h.make_graph(nodes, 'qdq_layers', [info('x', T.FLOAT, [3, 21])],
                         [info('y1', T.FLOAT, [3, 40]), info('y2', T.FLOAT, [3, 17]), info('y', T.FLOAT, [3, 3])], constants(**values))
    return graph, [[draw(rng, 3, 21, by=by)] for by in (1, 3, .01)], [None] * 3


def qdq_gru(rng):
    """A GRU whose x and W have scales, and its head, of the last state."""
    values = {
        'x_scale': np.float32(.02), 'x_zero': np.int8(0), 'h_scale': np.float32(1 / 127), 'h_zero': np.int8(0), 'W_q': eighths(rng, 1, 60, 9),
        'W_scale': np.float32(.004), 'R': draw(rng, 1, 60, 20, by=.3), 'B': draw(rng, 1, 120, by=.3), 'head_q': eighths(rng, 20, 15), 'head_scale': np.float32(.01)}
    nodes = [h.make_node('QuantizeLinear', ['x', 'x_scale', 'x_zero'], ['x_q']), h.make_node('DequantizeLinear', ['x_q', 'x_scale', 'x_zero'], ['x_dq']),
             h.make_node('DequantizeLinear', ['W_q', 'W_scale'], ['W']),
             h.make_node('GRU', ['x_dq', 'W', 'R', 'B'], ['all', 'last'], hidden_size=20, linear_before_reset=1),
             h.make_node('QuantizeLinear', ['last', 'h_scale', 'h_zero'], ['h_q']), h.make_node('DequantizeLinear', ['h_q', 'h_scale', 'h_zero'], ['h_dq']),
             h.make_node('DequantizeLinear', ['head_q', 'head_scale'], ['head']), h.make_node('MatMul', ['h_dq', 'head'], ['y'])]
    graph = h.make_graph(nodes, 'qdq_gru', [info('x', T.FLOAT, [4, 2, 9])], [info('all', T.FLOAT, [4, 1, 2, 20]), info('y', T.FLOAT, [1, 2, 15])],
                         constants(**values))
    return graph, [[draw(rng, 4, 2, 9, by=by)] for by in (1, 2)], [None] * 2


def qdq_axis_0(rng):
    """Scales and zero points along axis 0, also counted from the last: weights of a product and of a Conv, and an x that is quantised so."""
    values = {
        'W_q': eighths(rng, 5, 5), 'W_scale': (rng.random(5) * .01 + .002).astype(np.float32), 'W_zero': np.array([3, -7, 0, 11, -2], np.int8),
        'K_q': eighths(rng, 6, 4, 3), 'K_scale': (rng.random(6) * .01 + .002).astype(np.float32), 'K_zero': np.array([1, 0, -5, 9, 2, -3], np.int8),
        'x_scale': np.float32([.02, .03, .01, .04]), 'x_zero': np.array([100, 128, 140, 7], np.uint8)}
    nodes = [h.make_node('DequantizeLinear', ['W_q', 'W_scale', 'W_zero'], ['W'], axis=0), h.make_node('MatMul', ['x', 'W'], ['y']),
             h.make_node('DequantizeLinear', ['K_q', 'K_scale', 'K_zero'], ['K'], axis=-3), h.make_node('Conv', ['c', 'K'], ['convolved']),
             h.make_node('QuantizeLinear', ['x', 'x_scale', 'x_zero'], ['x_q'], axis=0), h.make_node('Cast', ['x_q'], ['rounded'], to=T.INT32)]
    graph = h.make_graph(nodes, 'qdq_axis_0', [info('x', T.FLOAT, [4, 5]), info('c', T.FLOAT, [1, 4, 8])],
                         [info('y', T.FLOAT, [4, 5]), info('convolved', T.FLOAT, [1, 6, 6]), info('rounded', T.INT32, [4, 5])], constants(**values))
    return graph, [[draw(rng, 4, 5), draw(rng, 1, 4, 8)]], [None] * 3


def q_operators(rng):
    """What ONNX Runtime's static quantiser writes in its format QOperator, and its quantisation to 16 bits; infinities, and elements by the older name."""
    values = {
        'x_scale': np.float32(.03), 'x_zero': np.uint8(120), 'y_scale': np.float32(.05), 's_scale': np.float32(1 / 256),
        's_zero': np.uint8(0), 'wide': np.float32(1e-4), 'middle': np.uint16(32000), 'W': rng.integers(-127, 127, (5, 8)).astype(np.int8),
        'W_scale': np.float32(.011), 'W_zero': np.int8(0), 'C': rng.integers(-999, 999, 5).astype(np.int32)}
    x, one, two = ['x_q', 'x_scale', 'x_zero'], ['y_scale', 'x_zero'], ['s_scale', 's_zero']
    nodes = [h.make_node('QuantizeLinear', ['x', 'x_scale', 'x_zero'], ['x_q'])]
    results = {'added': ('QLinearAdd', x + x + one, {}), 'multiplied': ('QLinearMul', x + x + one, {}), 'leaky': ('QLinearLeakyRelu', x + one, {'alpha': .2}),
               'sigmoid': ('QLinearSigmoid', x + two, {}), 'softmax': ('QLinearSoftmax', x + two, {'axis': -1, 'opset': 17}),
               'joined': ('QLinearConcat', one + x + x, {'axis': 0}),
               'dense': ('QGemm', x + ['W', 'W_scale', 'W_zero', 'C'] + one, {'transB': 1, 'alpha': .5})}
    for name, (kind, inputs, attributes) in results.items():
        nodes += [h.make_node(kind, inputs, [name + '_q'], domain='com.microsoft', **attributes),
                  h.make_node('DequantizeLinear', [name + '_q'] + inputs[-2:] if kind != 'QLinearConcat' else [name + '_q'] + one, [name])]
    nodes += [h.make_node('QGemm', x + ['W', 'W_scale', 'W_zero', 'C'], ['float'], domain='com.microsoft', transB=1),
              h.make_node('QuantizeLinear', ['x', 'wide', 'middle'], ['x_16'], domain='com.microsoft'),
              h.make_node('DequantizeLinear', ['x_16', 'wide', 'middle'], ['of_16'], domain='com.microsoft'),
              h.make_node('Div', ['x', 'some'], ['ends']), h.make_node('IsInf', ['ends'], ['infinite']),
              h.make_node('IsInf', ['ends'], ['below'], detect_positive=0)]
    shapes = {'joined': [6, 8], 'dense': [3, 5], 'float': [3, 5]}
    outputs = [info(name, T.FLOAT, shapes.get(name, [3, 8])) for name in [*results, 'float', 'of_16']]
    outputs += [info(name, T.BOOL, [3, 8]) for name in ('infinite', 'below')]
    values['some'] = np.float32([0, 1, 0, 1, 0, 1, 0, 1])
    graph = h.make_graph(nodes, 'q_operators', [info('x', T.FLOAT, [3, 8])], outputs, constants(**values))
    return graph, [[draw(rng, 3, 8)]], [None] * len(outputs)


def qdq_pairs_by_axis(rng):
    """Values that are quantised and taken back by an axis of theirs, whose shapes nothing writes: an input, and the result of a product."""
    values = {
        'W': draw(rng, 5, 6), 'row_scale': np.float32([.02, .03, .01, .04]), 'row_zero': np.array([100, 128, 140, 7], np.uint8),
        'column_scale': np.float32([.02, .05, .03, .04, .06, .01]), 'column_zero': np.array([3, -7, 0, 11, -2, 1], np.int8)}
    nodes = [h.make_node('QuantizeLinear', ['x', 'row_scale', 'row_zero'], ['x_q'], axis=0),
             h.make_node('DequantizeLinear', ['x_q', 'row_scale', 'row_zero'], ['x_dq'], axis=-2),
             h.make_node('MatMul', ['x_dq', 'W'], ['sum']),
             h.make_node('QuantizeLinear', ['sum', 'column_scale', 'column_zero'], ['sum_q'], axis=1),
             h.make_node('DequantizeLinear', ['sum_q', 'column_scale', 'column_zero'], ['y'], axis=1)]
    graph = h.make_graph(nodes, 'qdq_pairs_by_axis', [info('x', T.FLOAT, [4, 5])], [info('y', T.FLOAT, [4, 6])], constants(**values))
    return graph, [[draw(rng, 4, 5)]], [None]


def steps_first(rng):
    """A GRU whose open number of steps is the first axis, as ONNX has it, and what is computed of each step around it."""
    values = {'A': draw(rng, 6, 7), 'W': draw(rng, 1, 33, 7, by=.4), 'R': draw(rng, 1, 33, 11, by=.4), 'B': draw(rng, 1, 66, by=.3), 'axis': np.array([1]),
              'head': draw(rng, 11, 3)}
    nodes = [h.make_node('MatMul', ['x', 'A'], ['a']), h.make_node('Tanh', ['a'], ['t']),
             h.make_node('GRU', ['t', 'W', 'R', 'B', '', 'h'], ['all', 'hn'], name='gru', hidden_size=11, linear_before_reset=1),
             h.make_node('Squeeze', ['all', 'axis'], ['rows']), h.make_node('MatMul', ['rows', 'head'], ['y'])]
    graph = h.make_graph(nodes, 'steps_first', [info('x', T.FLOAT, ['steps', 1, 6]), info('h', T.FLOAT, [1, 1, 11])],
                         [info('y', T.FLOAT, ['steps', 1, 3]), info('hn', T.FLOAT, [1, 1, 11])], constants(**values))
    return graph, [[draw(rng, 9, 1, 6), draw(rng, 1, 1, 11, by=.5)]], [None] * 2


def cumulative_norm(rng):
    """A cumulative layer norm, as causal Conv-TasNets have it: CumSum over an open number of steps. A second output has the sums before each step."""
    values = {'axis': np.array(1), 'channels': np.array([2]), 'zero': np.float32([0]), 'count': np.float32([5]), 'epsilon': np.float32([1e-5]), 'gain': draw(rng, 5)}
    nodes = [h.make_node('ReduceSum', ['x', 'channels'], ['sum'], keepdims=1), h.make_node('CumSum', ['sum', 'axis'], ['sums'], name='sums'),
             h.make_node('Mul', ['sum', 'zero'], ['none']), h.make_node('Add', ['none', 'count'], ['each']), h.make_node('CumSum', ['each', 'axis'], ['counts'], name='counts'),
             h.make_node('Mul', ['x', 'x'], ['squares']), h.make_node('ReduceSum', ['squares', 'channels'], ['power'], keepdims=1),
             h.make_node('CumSum', ['power', 'axis'], ['powers'], name='powers'),
             h.make_node('Div', ['sums', 'counts'], ['mean']), h.make_node('Div', ['powers', 'counts'], ['moment']), h.make_node('Mul', ['mean', 'mean'], ['mean2']),
             h.make_node('Sub', ['moment', 'mean2'], ['variance']), h.make_node('Add', ['variance', 'epsilon'], ['v']), h.make_node('Sqrt', ['v'], ['deviation']),
             h.make_node('Sub', ['x', 'mean'], ['centred']), h.make_node('Div', ['centred', 'deviation'], ['normed']), h.make_node('Mul', ['normed', 'gain'], ['y']),
             h.make_node('CumSum', ['x', 'axis'], ['before'], name='before', exclusive=1)]
    graph = h.make_graph(nodes, 'cumulative_norm', [info('x', T.FLOAT, [1, 'steps', 5])],
                         [info('y', T.FLOAT, [1, 'steps', 5]), info('before', T.FLOAT, [1, 'steps', 5])], constants(**values))
    return graph, [[draw(rng, 1, 9, 5)]], [None] * 2


def scan_from_the_end(rng):
    """A Scan whose axes count from the last one, between nodes with outputs that have a name and no reader."""
    body = h.make_graph(
        [h.make_node('Add', ['state', 'row'], ['next']), h.make_node('Mul', ['next', 'column'], ['product']),
         h.make_node('Sub', ['row', 'column'], ['difference'])],
        'body', [info(name, T.FLOAT, [3]) for name in ('state', 'row', 'column')],
        [info(name, T.FLOAT, [3]) for name in ('next', 'product', 'difference')])
    graph = h.make_graph(
        [h.make_node('Dropout', ['x'], ['kept', 'mask']),
         h.make_node('MaxPool', ['signal'], ['z', 'places'], kernel_shape=[2]),
         h.make_node('Squeeze', ['z', 'first'], ['rows']),
         h.make_node('Scan', ['state0', 'kept', 'rows'], ['last', 'products', 'differences'], body=body, num_scan_inputs=2,
                     scan_input_axes=[-1, -2], scan_input_directions=[1, 0], scan_output_axes=[-2, -1], scan_output_directions=[0, 1])],
        'scan_from_the_end', [info('state0', T.FLOAT, [3]), info('x', T.FLOAT, [3, 5]), info('signal', T.FLOAT, [1, 5, 4])],
        [info('last', T.FLOAT, [3]), info('products', T.FLOAT, [5, 3]), info('differences', T.FLOAT, [3, 5])],
        constants(first=np.array([0])))
    return graph, [[draw(rng, 3), draw(rng, 3, 5), draw(rng, 1, 5, 4)] for _ in range(2)], [None, None, None]


def narrow_integers(rng):
    """Arithmetic of bytes, which wraps around, conversions to bytes, and means of integers."""
    nodes = [h.make_node('Cast', [name + '_i32'], [name], to=T.INT8 if name == 'c' else T.UINT8) for name in 'abc']
    nodes += [h.make_node('Add', ['a', 'b'], ['sum']), h.make_node('Sub', ['a', 'b'], ['difference']), h.make_node('Neg', ['c'], ['minus']),
             h.make_node('Mul', ['c', 'c'], ['square']), h.make_node('Cast', ['x'], ['whole'], to=T.INT32), h.make_node('Cast', ['whole'], ['byte'], to=T.UINT8)]
    nodes += [h.make_node('Cast', [name], [name + '_i'], to=T.INT32) for name in ('sum', 'difference', 'minus', 'square', 'byte')]
    nodes.append(h.make_node('ReduceMean', ['minus_i'], ['mean'], axes=[1]))
    graph = h.make_graph(nodes, 'narrow_integers', [info(name + '_i32', T.INT32, [2, 5]) for name in 'abc'] + [info('x', T.FLOAT, [2, 5])],
                         [info(name + '_i', T.INT32, [2, 5]) for name in ('sum', 'difference', 'minus', 'square', 'byte')] + [info('mean', T.INT32, [2, 1])])
    feed = [rng.integers(-300, 600, (2, 5)).astype(np.int32), rng.integers(0, 256, (2, 5)).astype(np.int32),
            np.array([[-128, 127, -1, 11, 12], [16, -16, 0, 100, 300]], np.int32), draw(rng, 2, 5, by=400)]
    return graph, [feed], [None] * 6


def large_remainders(rng):
    """Remainders of integers near the largest that f32 holds, by divisors of either sign: a multiple of the divisor may be larger."""
    nodes = [h.make_node('Mul', ['a', 'four'], ['wide']), h.make_node('Mul', ['b', 'two'], ['even']), h.make_node('Sub', ['even', 'one'], ['odd']),
             h.make_node('Mod', ['wide', 'odd'], ['rest']), h.make_node('Mod', ['wide', 'c'], ['rest_by_constant'])]
    graph = h.make_graph(nodes, 'large_remainders', [info(name, T.INT32, [2, 6]) for name in 'ab'],
                         [info(name, T.INT32, [2, 6]) for name in ('rest', 'rest_by_constant')],
                         constants(one=np.int32(1), two=np.int32(2), four=np.int32(4), c=np.int32([8388605, -8388605, 3, -3, 5592403, -16777213])))
    most = (1 << 22) - 1
    a = np.int32([[-most, most, -most, most, 7, -7], [2 - most, most - 2, -most, -1, 1, 0]])
    b = np.int32([[most, -most, 3, -3, -5, 5], [most, 1 - most, 2796202, most - 1, 1 - most, 9]])
    return graph, [[a, b], [rng.integers(-most, most, (2, 6)).astype(np.int32), rng.integers(1, most, (2, 6)).astype(np.int32)]], [None] * 2


def no_axes(rng):
    """Reductions along no axes, which compute what they do of each element."""
    kinds = ('L1', 'L2', 'SumSquare', 'LogSum', 'LogSumExp', 'Sum', 'Mean', 'Max')
    nodes = [h.make_node('Abs', ['x'], ['positive'])]
    nodes += [h.make_node('Reduce' + kind, ['positive' if kind == 'LogSum' else 'x'], [kind], noop_with_empty_axes=1) for kind in kinds]
    graph = h.make_graph(nodes, 'no_axes', [info('x', T.FLOAT, [3, 4])], [info(kind, T.FLOAT, [3, 4]) for kind in kinds])
    return graph, [[draw(rng, 3, 4)]], [None] * len(kinds)


def masked_half(rng):
    """Reductions in float16 of rows with a mask: the maximum of a row that is masked as a whole is -inf, and is replaced by 0."""
    nodes = [h.make_node('Cast', ['x'], ['short'], to=T.FLOAT16), h.make_node('Less', ['x', 'limit'], ['masked']),
             h.make_node('Where', ['masked', 'nothing', 'short'], ['scores'])]
    for kind in ('Max', 'Min'):
        nodes += [h.make_node('Reduce' + kind, ['scores', 'last'], [kind]), h.make_node('Equal', [kind, 'nothing'], [f'none_{kind}']),
                  h.make_node('Where', [f'none_{kind}', 'zero', kind], [f'some_{kind}']), h.make_node('Cast', [f'some_{kind}'], [f'y_{kind}'], to=T.FLOAT)]
    nodes += [h.make_node('ReduceSum', ['short', 'last'], ['sum']), h.make_node('Cast', ['sum'], ['y_Sum'], to=T.FLOAT)]
    graph = h.make_graph(nodes, 'masked_half', [info('x', T.FLOAT, [2, 3, 6])], [info(f'y_{kind}', T.FLOAT, [2, 3, 1]) for kind in ('Max', 'Min', 'Sum')],
                         constants(limit=np.float32(-.25), nothing=np.float16(-np.inf), zero=np.float16(0), last=np.array([-1])))
    x = np.float32(rng.integers(-8, 9, (2, 3, 6))) / 8
    x[0, 1], x[1, 2] = -1, np.abs(x[1, 2])
    return graph, [[x]], [None] * 3


def log_sum_exp(rng):
    """ReduceLogSumExp of rows with infinities, NaN and the largest numbers: along rows, columns and no axes, and of a constant."""
    inf, most = np.inf, np.finfo(np.float32).max
    x = np.concatenate([draw(rng, 2, 5, by=3), np.float32([[1, inf, -2, inf, 0], [-inf] * 5, [-inf, 3, -inf, -inf, 2], [-inf, inf, 1, 0, 2], [1, np.nan, 2, 0, 1],
                                                           [inf, 1, np.nan, -inf, 0], [90, 100, -100, 89, 95]])])
    largest = np.concatenate([draw(rng, 7, 5, by=3), np.float32([[most, -most, most, 0, 1], [-most, -inf, -most, -most, -most]])])
    nodes = [h.make_node('ReduceLogSumExp', ['x', 'last'], ['rows'], keepdims=0), h.make_node('Transpose', ['x'], ['across'], perm=[1, 0]),
             h.make_node('ReduceLogSumExp', ['across', 'first'], ['columns']), h.make_node('ReduceLogSumExp', ['x'], ['each'], noop_with_empty_axes=1),
             h.make_node('ReduceLogSumExp', ['k', 'last'], ['of_constant'])]
    rows = len(x)
    graph = h.make_graph(nodes, 'log_sum_exp', [info('x', T.FLOAT, [rows, 5])],
                         [info('rows', T.FLOAT, [rows]), info('columns', T.FLOAT, [1, rows]), info('each', T.FLOAT, [rows, 5]), info('of_constant', T.FLOAT, [rows, 1])],
                         constants(first=np.array([0]), last=np.array([-1]), k=x))
    return graph, [[x], [largest]], [None] * 4


def rarely(rng):
    """What few files have: a branch that is never taken with an operator that nothing reads, sparse tensors, a loop of no iterations, pads of a value that
    is computed, indices of run time that reach a part of the data, remainders of floats, a range of floats."""
    never = h.make_graph([h.make_node('Det', ['square'], ['d']), h.make_node('Expand', ['d', 'one'], ['e'])], 'never', [], [info('e', T.FLOAT, [1])])
    always = h.make_graph([h.make_node('ReduceMax', ['x'], ['m'], keepdims=0), h.make_node('Reshape', ['m', 'one'], ['n'])], 'always', [], [info('n', T.FLOAT, [1])])
    body = h.make_graph([h.make_node('Tanh', ['state'], ['next']), h.make_node('Identity', ['go'], ['on'])], 'body',
                        [info('k', T.INT64, []), info('go', T.BOOL, []), info('state', T.FLOAT, [3, 4])],
                        [info('on', T.BOOL, []), info('next', T.FLOAT, [3, 4])])
    sparse = lambda name, values, indices, dims: h.make_sparse_tensor(
        numpy_helper.from_array(np.float32(values), name), numpy_helper.from_array(np.int64(indices), name + '_at'), dims)
    nodes = [
        h.make_node('If', ['no'], ['most'], then_branch=never, else_branch=always),
        h.make_node('Constant', [], ['scale'], sparse_value=sparse('scale', [2, -1.5, .25], [0, 5, 11], [3, 4])),
        h.make_node('Mul', ['x', 'scale'], ['scaled']), h.make_node('MatMul', ['x', 'W'], ['product']),
        h.make_node('Loop', ['none', 'yes', 'x'], ['same'], body=body), h.make_node('Add', ['same', 'x'], ['twice']),
        h.make_node('ReduceMean', ['x'], ['mean'], keepdims=0), h.make_node('Pad', ['x', 'pads', 'mean'], ['padded']),
        h.make_node('ScatterElements', ['x', 'at', 'new'], ['scattered'], axis=1), h.make_node('ScatterElements', ['x', 'at', 'new'], ['added'], axis=0, reduction='add'),
        h.make_node('Mod', ['x', 'half'], ['rest'], fmod=1), h.make_node('Range', ['low', 'high', 'half'], ['places']), h.make_node('Mul', ['x', 'places'], ['placed'])]
    outputs = [info('most', T.FLOAT, [1]), info('scaled', T.FLOAT, [3, 4]), info('product', T.FLOAT, [3, 5]), info('twice', T.FLOAT, [3, 4]),
               info('padded', T.FLOAT, [4, 7]), info('scattered', T.FLOAT, [3, 4]), info('added', T.FLOAT, [3, 4]), info('rest', T.FLOAT, [3, 4]), info('placed', T.FLOAT, [3, 4])]
    graph = h.make_graph(nodes, 'rarely', [info('x', T.FLOAT, [3, 4]), info('at', T.INT64, [2, 2]), info('new', T.FLOAT, [2, 2])], outputs,
                         constants(no=np.bool_(False), yes=np.bool_(True), none=np.int64(0), one=np.array([1]), pads=np.array([1, 2, 0, 1]), square=np.eye(2, dtype=np.float32),
                                   low=np.float32(-1), high=np.float32(.75), half=np.float32(.5)),
                         sparse_initializer=[sparse('W', [.5, -3, 2, 1], [[0, 1], [1, 0], [2, 4], [3, 3]], [4, 5])])
    return graph, [[draw(rng, 3, 4), np.array([[0, 2], [-1, 1]]), draw(rng, 2, 2)] for _ in range(2)], [None] * len(outputs)


def row_scales(rng):
    """A quantised product whose first factor has a scale and a zero point for each row. ONNX Runtime refuses it: the results are NumPy's, by the definition."""
    values = {
        'a_scale': np.float32([.02, .03, .01, .04]), 'a_zero': np.array([100, 128, 140, 7], np.uint8), 'b_q': rng.integers(0, 256, (6, 5)).astype(np.uint8),
        'b_scale': np.float32([.011, .02, .007, .013, .005]), 'b_zero': np.array([3, 117, 128, 250, 0], np.uint8), 'y_scale': np.float32(.3), 'y_zero': np.uint8(90)}
    nodes = [h.make_node('Cast', ['x'], ['a'], to=T.UINT8),
             h.make_node('QLinearMatMul', ['a', 'a_scale', 'a_zero', 'b_q', 'b_scale', 'b_zero', 'y_scale', 'y_zero'], ['q']),
             h.make_node('Cast', ['q'], ['y'], to=T.INT32)]
    graph = h.make_graph(nodes, 'row_scales', [info('x', T.INT32, [4, 6])], [info('y', T.INT32, [4, 5])], constants(**values))

    def product(x):
        factors = values['a_scale'][:, None].astype(float) * values['b_scale'] / values['y_scale']
        sums = (x - values['a_zero'].astype(int)[:, None]) @ (values['b_q'].astype(int) - values['b_zero'])
        exact = sums * factors
        assert (np.abs(exact % 1 - .5) > 1e-4).all(), 'a number too close to the middle between two'
        return [np.clip(np.rint(exact) + values['y_zero'], 0, 255).astype(np.int32)]

    return graph, [[rng.integers(0, 256, (4, 6)).astype(np.int32)] for _ in range(2)], [None], product


def scales_of_run_time(rng):
    """Quantised by a scale that is computed: of all elements, whose number of dimensions no node says, and by DynamicQuantizeLinear."""
    nodes = [h.make_node('DynamicQuantizeLinear', ['x'], ['q', 'scale', 'zero']),
             h.make_node('Transpose', ['q'], ['across'], perm=[1, 0]),
             h.make_node('DequantizeLinear', ['across', 'scale', 'zero'], ['t']),
             h.make_node('MatMul', ['t', 'w'], ['product']),
             h.make_node('DequantizeLinear', ['q', 'scale', 'zero'], ['back']),
             h.make_node('MatMul', ['back', 'product'], ['y0']),
             h.make_node('Abs', ['x'], ['size']),
             h.make_node('ReduceMax', ['size'], ['most'], keepdims=0),
             h.make_node('Div', ['most', 'steps'], ['s']),
             h.make_node('QuantizeLinear', ['x', 's', 'none'], ['whole']),
             h.make_node('DequantizeLinear', ['whole', 's', 'none'], ['y1'])]
    graph = h.make_graph(nodes, 'scales_of_run_time', [info('x', T.FLOAT, [4, 6])], [info('y0', T.FLOAT, [4, 3]), info('y1', T.FLOAT, [4, 6])],
                         constants(w=draw(rng, 4, 3), steps=np.float32(127), none=np.int8(0)),
                         value_info=[info('q', T.UINT8, [4, 6])])
    return graph, [[draw(rng, 4, 6)] for _ in range(2)], [None]


def lists(rng):
    """Sequences that loops append to, at the end and in front, in loops inside loops, and what is made of them."""
    sequence = h.make_tensor_sequence_value_info('list', T.FLOAT, None)
    named = lambda name: h.make_tensor_sequence_value_info(name, T.FLOAT, None)
    inner = h.make_graph(
        [h.make_node('Identity', ['go2'], ['on2']), h.make_node('Add', ['next', 'next'], ['twice']),
         h.make_node('SequenceInsert', ['list2', 'twice'], ['longer2'])],
        'inner', [info('k2', T.INT64, []), info('go2', T.BOOL, []), named('list2')], [info('on2', T.BOOL, []), named('longer2')])
    body = h.make_graph(
        [h.make_node('Identity', ['go'], ['on']), h.make_node('Gather', ['x', 'k'], ['row']), h.make_node('SequenceAt', ['given', 'k'], ['other']),
         h.make_node('Add', ['row', 'state'], ['sum']), h.make_node('Add', ['sum', 'other'], ['sums']), h.make_node('Tanh', ['sums'], ['next']),
         h.make_node('SequenceInsert', ['list', 'next'], ['once']), h.make_node('SequenceInsert', ['once', 'row'], ['longer']),
         h.make_node('SequenceInsert', ['turned', 'next', 'first'], ['more']),
         h.make_node('SequenceAt', ['chain', 'end'], ['before']), h.make_node('Mul', ['before', 'row'], ['link']), h.make_node('SequenceInsert', ['chain', 'link'], ['linked']),
         h.make_node('Loop', ['two', 'go', 'wide'], ['wider'], body=inner)],
        'body', [info('k', T.INT64, []), info('go', T.BOOL, []), info('state', T.FLOAT, [2, 3]), sequence, named('turned'), named('wide'), named('chain')],
        [info('on', T.BOOL, []), info('next', T.FLOAT, [2, 3]), named('longer'), named('more'), named('wider'), named('linked')])
    nodes = [h.make_node('SequenceEmpty', [], ['none']), h.make_node('SequenceConstruct', ['h', 'h'], ['pair']),
             h.make_node('SplitToSequence', ['x'], ['given'], axis=0, keepdims=0),
             h.make_node('Loop', ['four', 'yes', 'h', 'none', 'pair', 'none', 'pair'], ['last', 'all', 'back', 'inner', 'links'], body=body),
             h.make_node('SplitToSequence', ['x', 'two'], ['halves'], axis=0), h.make_node('SequenceAt', ['halves', 'end'], ['y7']),
             h.make_node('ConcatFromSequence', ['links'], ['y8'], axis=0, new_axis=1),
             h.make_node('ConcatFromSequence', ['all'], ['y0'], axis=0, new_axis=1), h.make_node('ConcatFromSequence', ['all'], ['y1'], axis=-1, new_axis=0),
             h.make_node('ConcatFromSequence', ['back'], ['y2'], axis=1, new_axis=1), h.make_node('ConcatFromSequence', ['inner'], ['y3'], axis=1, new_axis=0),
             h.make_node('SequenceAt', ['back', 'end'], ['y4']), h.make_node('SequenceAt', ['all', 'at'], ['y5']), h.make_node('SequenceLength', ['back'], ['y6']),
             # lengths that follow from the shape, as torch.chunk of a script has them
             h.make_node('Shape', ['x'], ['sizes']), h.make_node('Slice', ['sizes', 'none_before', 'ones'], ['long']),
             h.make_node('Sub', ['long', 'ones'], ['shorter']), h.make_node('Concat', ['shorter', 'ones'], ['lengths'], axis=0),
             h.make_node('SplitToSequence', ['x', 'lengths'], ['cut'], axis=-3), h.make_node('SequenceAt', ['cut', 'first'], ['y9']),
             h.make_node('SequenceAt', ['cut', 'second'], ['y10']), h.make_node('ConcatFromSequence', ['cut'], ['y11'], axis=-3),
             h.make_node('Gather', ['sizes', 'second'], ['length']), h.make_node('SplitToSequence', ['x', 'length'], ['equal'], axis=0),
             h.make_node('SequenceAt', ['equal', 'second'], ['y12'])]
    graph = h.make_graph(nodes, 'lists', [info('x', T.FLOAT, [4, 2, 3]), info('h', T.FLOAT, [2, 3]), info('at', T.INT64, [])],
                         [info('y0', T.FLOAT, [8, 2, 3]), info('y1', T.FLOAT, [2, 24]), info('y2', T.FLOAT, [2, 6, 3]), info('y3', T.FLOAT, [2, 24]),
                          info('y4', T.FLOAT, [2, 3]), info('y5', T.FLOAT, [2, 3]), info('y6', T.INT64, []), info('y7', T.FLOAT, [2, 2, 3]),
                          info('y8', T.FLOAT, [6, 2, 3]), info('y9', T.FLOAT, [3, 2, 3]), info('y10', T.FLOAT, [1, 2, 3]), info('y11', T.FLOAT, [4, 2, 3]),
                          info('y12', T.FLOAT, [2, 2, 3])],
                         constants(second=np.int64(1), none_before=np.array([0]), ones=np.array([1]), four=np.int64(4), two=np.int64(2), yes=np.bool_(True), first=np.int64(0), end=np.int64(-1)))
    return graph, [[draw(rng, 4, 2, 3), draw(rng, 2, 3), np.array(at)] for at in (5, 0)], [None] * 13


def places(rng):
    """Parts that rows of indices name, replaced or taken, the arc tangent, spectra with a window of run time."""
    nodes, outputs = [], []

    def add(op, inputs, shape, kind=T.FLOAT, **attributes):
        nodes.append(h.make_node(op, inputs, [f'y{len(outputs)}'], **attributes))
        outputs.append(info(f'y{len(outputs)}', kind, shape))
    add('GatherND', ['x', 'rows'], [3, 5])
    add('GatherND', ['x', 'in_rows'], [2, 3], batch_dims=1)
    add('GatherND', ['x', 'fixed'], [2, 3, 5], batch_dims=1)
    for reduction in ('none', 'add', 'mul', 'max', 'min'):
        add('ScatterND', ['x', 'rows', 'new'], [2, 4, 5], reduction=reduction)
    add('ScatterND', ['counts', 'at', 'more'], [3], T.INT64)
    for function in ('Atan', 'Tan', 'Sinh', 'Cosh', 'Asin', 'Acos', 'Asinh', 'Atanh'):
        add(function, ['x'], [2, 4, 5])
    add('Acosh', [f'y{len(outputs) - 6}'], [2, 4, 5])
    add('Hardmax', ['x'], [2, 4, 5], axis=1)
    add('LRN', ['image'], [1, 4, 2, 1], size=3, alpha=0.5, beta=0.75, bias=2.0)
    add('LpPool', ['x'], [2, 4, 3], kernel_shape=[3], strides=[2], pads=[1, 1])
    add('LpPool', ['x'], [2, 4, 4], kernel_shape=[2], p=1)
    add('STFT', ['signal', 'step', 'window'], [1, 5, 5, 2])
    add('STFT', ['signal', 'step', '', 'eight'], [1, 5, 8, 2], onesided=0)
    add('DFT', ['image'], [1, 4, 2, 2], axis=1)
    add('DFT', ['image', 'eight'], [1, 5, 2, 2], axis=-3, onesided=1)
    add('DFT', ['pairs', 'eight'], [1, 8, 2], inverse=1, axis=1)
    inputs = [info('x', T.FLOAT, [2, 4, 5]), info('rows', T.INT64, [3, 2]), info('in_rows', T.INT64, [2, 3, 2]), info('new', T.FLOAT, [3, 5]), info('at', T.INT64, [2, 1]),
              info('more', T.INT64, [2]), info('signal', T.FLOAT, [1, 20]), info('window', T.FLOAT, [8]), info('image', T.FLOAT, [1, 4, 2, 1]), info('pairs', T.FLOAT, [1, 4, 2])]
    graph = h.make_graph(nodes, 'places', inputs, outputs, constants(
        fixed=np.array([[[1], [-1], [0]], [[2], [0], [3]]]), counts=np.array([5, 6, 7]), step=np.int64(3), eight=np.int64(8)))
    feeds = []
    for _ in range(2):
        rows = np.stack([rng.integers(-2, 2, 3), [0, -1, 2]], axis=1)
        feeds.append([draw(rng, 2, 4, 5, by=3), rows, np.stack([rng.integers(-4, 4, (2, 3)), rng.integers(-5, 5, (2, 3))], axis=-1), draw(rng, 3, 5), np.array([[2], [-3]]),
                      rng.integers(0, 9, 2), draw(rng, 1, 20), draw(rng, 8), draw(rng, 1, 4, 2, 1), draw(rng, 1, 4, 2)])
    return graph, feeds, [None] * len(outputs)


def attention_heads(rng):
    """Attention with a head of keys for two of queries, masks that leave a query no key, a bound of scores, and a cache."""
    nodes, outputs = [], []

    def add(inputs, shapes, **attributes):
        names = [f'y{len(outputs) + k}' for k in range(len(shapes))]
        nodes.append(h.make_node('Attention', inputs, names, **attributes))
        outputs.extend(info(name, T.FLOAT, shape) for name, shape in zip(names, shapes))
    add(['q', 'k', 'v'], [[1, 4, 3, 2]], scale=0.5)
    add(['q', 'k', 'v', 'seen'], [[1, 4, 3, 2]], softcap=2.0)
    add(['q', 'k', 'v', 'added', 'old_k', 'old_v'], [[1, 4, 3, 2], [1, 2, 5, 8], [1, 2, 5, 2]], is_causal=1)
    add(['rows', 'rows', 'rows'], [[2, 3, 12]], q_num_heads=2, kv_num_heads=2, is_causal=1)
    inputs = [info('q', T.FLOAT, [1, 4, 3, 8]), info('k', T.FLOAT, [1, 2, 3, 8]), info('v', T.FLOAT, [1, 2, 3, 2]), info('seen', T.BOOL, [3, 3]),
              info('added', T.FLOAT, [1, 4, 3, 5]), info('old_k', T.FLOAT, [1, 2, 2, 8]), info('old_v', T.FLOAT, [1, 2, 2, 2]), info('rows', T.FLOAT, [2, 3, 12])]
    graph = h.make_graph(nodes, 'attention_heads', inputs, outputs)
    seen = np.array([[True, False, True], [False, False, False], [True, True, True]])
    feed = [draw(rng, 1, 4, 3, 8), draw(rng, 1, 2, 3, 8), draw(rng, 1, 2, 3, 2), seen, draw(rng, 1, 4, 3, 5), draw(rng, 1, 2, 2, 8), draw(rng, 1, 2, 2, 2), draw(rng, 2, 3, 12)]
    return graph, [feed], [None] * len(outputs)


def first_steps(rng):
    """The first steps of a sequence, as many as an input says, weighed by a softmax, added up, and turned."""
    nodes = [h.make_node('Slice', ['x', 'zero', 'n', 'zero', 'one'], ['steps']), h.make_node('Identity', ['steps'], ['y0']),
             h.make_node('MatMul', ['steps', 'w'], ['column']), h.make_node('Squeeze', ['column', 'last'], ['row']),
             h.make_node('Softmax', ['row'], ['shares'], axis=0), h.make_node('Unsqueeze', ['shares', 'zero'], ['weights']),
             h.make_node('MatMul', ['weights', 'steps'], ['y1']), h.make_node('ReduceMax', ['steps'], ['y2'], axes=[0], keepdims=0),
             h.make_node('Transpose', ['steps'], ['turned'], perm=[1, 0]), h.make_node('MatMul', ['turned', 'steps'], ['y3']),
             h.make_node('MatMul', ['v', 'turned'], ['products']), h.make_node('ReduceSum', ['products', 'last'], ['y4'], keepdims=0)]
    graph = h.make_graph(nodes, 'first_steps', [info('x', T.FLOAT, [6, 4]), info('n', T.INT64, [1])],
                         [info('y0', T.FLOAT, ['n', 4]), info('y1', T.FLOAT, [1, 4]), info('y2', T.FLOAT, [4]), info('y3', T.FLOAT, [4, 4]), info('y4', T.FLOAT, [2])],
                         constants(zero=np.array([0]), one=np.array([1]), last=np.array([-1]), w=draw(rng, 4, 1), v=draw(rng, 2, 4)))
    return graph, [[draw(rng, 6, 4), np.array([n])] for n in (4, 1, -2, 100)], [6, None, None, None, None]


def windows_and_states(rng):
    """A convolution over an open number of steps in front of an LSTM whose states are inputs and outputs."""
    nodes = [h.make_node('Transpose', ['x'], ['channels'], name='turned', perm=[0, 2, 1]),
             h.make_node('Conv', ['channels', 'K'], ['sums'], name='conv', pads=[2, 0], kernel_shape=[3]), h.make_node('Tanh', ['sums'], ['bent'], name='bent'),
             h.make_node('Transpose', ['bent'], ['steps'], name='steps first', perm=[2, 0, 1]),
             h.make_node('LSTM', ['steps', 'W', 'R', 'B', '', 'h', 'c'], ['all', 'hn', 'cn'], name='lstm', hidden_size=5),
             h.make_node('Squeeze', ['all', 'axis'], ['rows'], name='rows'), h.make_node('Transpose', ['rows'], ['y'], name='rows first', perm=[1, 0, 2])]
    values = {'K': draw(rng, 4, 3, 3, by=.5), 'W': draw(rng, 1, 20, 4, by=.6), 'R': draw(rng, 1, 20, 5, by=.4), 'B': draw(rng, 1, 40, by=.3), 'axis': np.array([1])}
    graph = h.make_graph(nodes, 'windows_and_states', [info('x', T.FLOAT, [1, 'steps', 3]), info('h', T.FLOAT, [1, 1, 5]), info('c', T.FLOAT, [1, 1, 5])],
                         [info('y', T.FLOAT, [1, 'steps', 5]), info('hn', T.FLOAT, [1, 1, 5]), info('cn', T.FLOAT, [1, 1, 5])], constants(**values))
    return graph, [[draw(rng, 1, 7, 3), np.zeros((1, 1, 5), np.float32), np.zeros((1, 1, 5), np.float32)],
                   [draw(rng, 1, 2, 3), draw(rng, 1, 1, 5, by=.5), draw(rng, 1, 1, 5, by=.5)]], [None] * 3


def computed_weights(rng):
    """Weights of recurrent operators that the model computes from an input: of a GRU in both directions with lengths, an LSTM with peepholes, a reversed RNN."""
    values, nodes = {}, []

    def scaled(name, *shape):
        values[name + '0'] = draw(rng, *shape, by=.5)
        nodes.append(h.make_node('Mul', [name + '0', 'k'], [name], name=name))

    scaled('W', 2, 12, 3), scaled('R', 2, 12, 4), scaled('B', 2, 24)
    nodes.append(h.make_node('GRU', ['x', 'W', 'R', 'B', 'lengths'], ['y', ''], name='gru', hidden_size=4, direction='bidirectional', linear_before_reset=1))
    nodes.append(h.make_node('Concat', ['y', 'y'], ['two'], name='two', axis=1)), nodes.append(h.make_node('ReduceSum', ['two', 'axis'], ['x2'], name='sum', keepdims=0))
    values['axis'], values['W2'], values['R2'] = np.array([1]), draw(rng, 1, 20, 4, by=.4), draw(rng, 1, 20, 5, by=.4)
    scaled('B2', 1, 40), scaled('P2', 1, 15)
    nodes.append(h.make_node('LSTM', ['x2', 'W2', 'R2', 'B2', '', 'h', 'c', 'P2'], ['y2', 'hn', 'cn'], name='lstm', hidden_size=5))
    scaled('R3', 1, 2, 2)
    values['W3'] = draw(rng, 1, 2, 4, by=.5)
    nodes.append(h.make_node('RNN', ['x2', 'W3', 'R3'], ['', 'last'], name='rnn', hidden_size=2, direction='reverse', clip=.4))
    graph = h.make_graph(nodes, 'computed_weights',
                         [info('x', T.FLOAT, [5, 2, 3]), info('k', T.FLOAT, [1]), info('lengths', T.INT32, [2]), info('h', T.FLOAT, [1, 2, 5]), info('c', T.FLOAT, [1, 2, 5])],
                         [info('y', T.FLOAT, [5, 2, 2, 4]), info('y2', T.FLOAT, [5, 1, 2, 5]), info('hn', T.FLOAT, [1, 2, 5]), info('cn', T.FLOAT, [1, 2, 5]), info('last', T.FLOAT, [1, 2, 2])],
                         constants(**values))
    return graph, [[draw(rng, 5, 2, 3), np.array([k], np.float32), np.array(lengths, np.int32), draw(rng, 1, 2, 5, by=.5), draw(rng, 1, 2, 5, by=.5)]
                   for k, lengths in ((.7, [3, 5]), (-1.3, [0, 1]))], [None] * 5


def matrices_of_state(rng):
    """LinearAttention by its four rules, with grouped heads, decays and rates of every shape, a past state and none, in one step and in several; CausalConvWithState before it."""
    nodes, inputs, outputs, feed, values = [], [], [], [], {}

    def given(name, *shape, by=1., below=False):
        inputs.append(info(name, T.FLOAT, shape))
        feed.append(-np.abs(draw(rng, *shape, by=by)) if below else draw(rng, *shape, by=by))
        return name

    def add(name, rule, sizes, decay=0, rate=0, past=False, scale=None):
        rows, steps, queries, heads, key, value = sizes
        q, k, v = given(f'{name}_q', rows, steps, queries * key), given(f'{name}_k', rows, steps, heads * key, by=.4), given(f'{name}_v', rows, steps, heads * value)
        state = given(f'{name}_past', rows, heads, key, value) if past else ''
        gates = [given(f'{name}_g', rows, steps, decay, below=True) if decay else '', given(f'{name}_b', rows, steps, rate, by=.7) if rate else '']
        more = {} if scale is None else {'scale': scale}
        nodes.append(h.make_node('LinearAttention', [q, k, v, state] + gates, [f'{name}_y', f'{name}_present'], name=name, update_rule=rule, q_num_heads=queries, kv_num_heads=heads, **more))
        outputs.append(info(f'{name}_y', T.FLOAT, [rows, steps, queries * value])), outputs.append(info(f'{name}_present', T.FLOAT, [rows, heads, key, value]))

    add('linear', 'linear', (1, 4, 2, 2, 5, 3), past=True)
    add('gated', 'gated', (2, 3, 6, 2, 4, 9), decay=2)
    add('gated_keys', 'gated', (1, 1, 3, 3, 8, 20), decay=24, past=True, scale=.5)
    add('delta', 'delta', (1, 5, 2, 2, 6, 17), rate=1)
    add('gated_delta', 'gated_delta', (1, 1, 4, 2, 8, 8), decay=2, rate=2, past=True)
    add('gated_delta_keys', 'gated_delta', (2, 3, 18, 1, 3, 34), decay=3, rate=1, past=True, scale=-2.)
    for name, activation, length, past, bias in (('conv', 'silu', 2, True, True), ('conv_alone', 'none', 5, False, False)):
        values[f'{name}_w'], x = draw(rng, 6, 1, 4), given(f'{name}_x', 1, 6, length)
        if bias:
            values[f'{name}_b'] = draw(rng, 6)
        nodes.append(h.make_node('CausalConvWithState', [x, f'{name}_w', f'{name}_b' if bias else '', given(f'{name}_past', 1, 6, 3) if past else ''], [f'{name}_y', f'{name}_present'],
                                 name=name, activation=activation))
        outputs.append(info(f'{name}_y', T.FLOAT, [1, 6, length])), outputs.append(info(f'{name}_present', T.FLOAT, [1, 6, 3]))
    graph = h.make_graph(nodes, 'matrices_of_state', inputs, outputs, constants(**values))
    return graph, [feed], [None] * len(outputs), reference_of(graph)


def windows_of_state(rng):
    """Two CausalConvWithState, one after the other, of any number of steps: their windows are states."""
    values = {'w1': draw(rng, 6, 1, 4), 'b1': draw(rng, 6), 'w2': draw(rng, 6, 1, 3)}
    nodes = [h.make_node('CausalConvWithState', ['x', 'w1', 'b1', 'past1'], ['hidden', 'present1'], name='first', activation='silu'),
             h.make_node('CausalConvWithState', ['hidden', 'w2', '', 'past2'], ['y', 'present2'], name='second', activation='none')]
    inputs = [info('x', T.FLOAT, [1, 6, 'T']), info('past1', T.FLOAT, [1, 6, 3]), info('past2', T.FLOAT, [1, 6, 2])]
    outputs = [info('y', T.FLOAT, [1, 6, 'T']), info('present1', T.FLOAT, [1, 6, 3]), info('present2', T.FLOAT, [1, 6, 2])]
    graph = h.make_graph(nodes, 'windows_of_state', inputs, outputs, constants(**values))
    return graph, [[draw(rng, 1, 6, 2), draw(rng, 1, 6, 3), draw(rng, 1, 6, 2)]], [None] * 3, reference_of(graph)


def reference_of(graph):
    def reference(*feed):
        from onnx.reference import ReferenceEvaluator
        model = h.make_model(graph, opset_imports=[h.make_opsetid('', 27)], ir_version=13)
        return ReferenceEvaluator(model).run(None, {given.name: value for given, value in zip(graph.input, feed)})
    return reference


def write(folder, make, seed):
    # what ONNX Runtime refuses brings a function of its own
    graph, runs, lengths, *own = make(np.random.default_rng(seed))
    opset, ir_version = {'moves': (19, 9), 'no_axes': (18, 8), 'masked_half': (18, 8), 'log_sum_exp': (18, 8), 'places': (18, 8), 'attention_heads': (23, 11), 'matrices_of_state': (27, 13), 'windows_of_state': (27, 13)}.get(graph.name, (17, 8))
    if graph.name.startswith('qdq'):
        # a layer's name says what it multiplies
        for k, node in enumerate(graph.node):
            node.name = f'{node.op_type}_{k}'
    model = h.make_model(graph, opset_imports=[h.make_opsetid(domain, number) for domain, number in [('', opset)] + [('com.microsoft', 1)] * (graph.name == 'q_operators')], ir_version=ir_version)
    onnx.checker.check_model(model)
    folder = os.path.join(folder, graph.name)
    os.makedirs(folder, exist_ok=True)
    onnx.save(model, os.path.join(folder, 'model.onnx'))
    options = onnxruntime.SessionOptions()
    if graph.name.startswith('q'):
        # as it is defined, in f32
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = None if own else onnxruntime.InferenceSession(model.SerializeToString(), options)
    case = {'name': graph.name, 'family': 'decisions', 'about': make.__doc__, 'origin': 'tests/models/decisions.py', 'model': 'model.onnx',
            'stateful': False, 'golden': ('onnx.reference' if graph.name.endswith('of_state') else 'numpy') if own else 'onnxruntime', 'inputs': [], 'outputs': [], 'runs': [], 'tolerance': []}

    def save(name, values):
        values.tofile(os.path.join(folder, name))
        return {'file': name, 'dtype': DTYPES.get(str(values.dtype), 'f64'), 'shape': list(values.shape)}

    for r, feed in enumerate(runs):
        results = own[0](*feed) if own else session.run(None, {given.name: value for given, value in zip(graph.input, feed)})
        counts = []
        for k, length in enumerate(lengths):
            if length is not None:
                counts.append(np.array(len(results[k])))
                padded = np.zeros((length,) + results[k].shape[1:], results[k].dtype)
                padded[:len(results[k])] = results[k]
                results[k] = padded
        results += counts
        names = [output.name for output in graph.output] + [graph.output[k].name + '_len' for k, n in enumerate(lengths) if n is not None]
        inputs = [save(f'r{r}_in{i}.bin', np.asarray(value)) for i, value in enumerate(feed)]
        oracle = [save(f'r{r}_ref{i}.bin', np.asarray(value).astype(np.float64)) for i, value in enumerate(results)]
        case['runs'].append({'inputs': inputs, 'openvino': oracle, 'oracle': oracle})
        if r == 0:
            case['inputs'] = [{'index': i, 'parameter': given.name, 'names': [given.name], 'dtype': inputs[i]['dtype'], 'shape': inputs[i]['shape'],
                               'dims': inputs[i]['shape']} for i, given in enumerate(graph.input)]
            case['outputs'] = [{'index': i, 'result': name, 'names': [name], 'dtype': DTYPES[str(np.asarray(results[i]).dtype)],
                                'shape': oracle[i]['shape']} for i, name in enumerate(names)]
            case['tolerance'] = [{'abs': 2e-6 * max(1.0, float(np.abs(results[i], where=np.isfinite(results[i]), out=np.zeros_like(results[i])).max())) if results[i].dtype == np.float32 else 0.0, 'rule': '|out-oracle| <= abs'} for i in range(len(results))]
    json.dump(case, open(os.path.join(folder, 'case.json'), 'w'), indent=1)


def write_ir(folder, name, corpus):
    """The same case as OpenVINO's own file, with the same values, and its results in float64."""
    import openvino
    source, target = os.path.join(folder, name), os.path.join(corpus, name)
    shutil.copytree(source, target, dirs_exist_ok=True)
    os.remove(os.path.join(target, 'model.onnx'))
    openvino.save_model(openvino.convert_model(os.path.join(source, 'model.onnx')), os.path.join(target, 'model.xml'), compress_to_fp16=False)
    path = os.path.join(target, 'case.json')
    case = json.load(open(path))
    case.update(model='model.xml', weights='model.bin', openvino=openvino.get_version())
    json.dump(case, open(path, 'w'), indent=1)
    for r in range(len(case['runs'])):
        x = np.fromfile(os.path.join(target, f'r{r}_in0.bin'), np.float32).astype(np.float64)
        (np.tanh(x) if x.sum() > 0 else -x).tofile(os.path.join(target, f'r{r}_ref0.bin'))


for seed, make in enumerate([scan_until, decode_until, counting_loop, if_at_run_time, decisions, arrangements, normalizations, moves, table_of_one_row, gru_in_a_branch, ends_early,
                             qdq_layers, qdq_gru, qdq_axis_0, qdq_pairs_by_axis, steps_first, scan_from_the_end, narrow_integers, no_axes, rarely, row_scales,
                             scales_of_run_time, masked_half, log_sum_exp, lists, places, q_operators, attention_heads, first_steps, windows_and_states, computed_weights, cumulative_norm,
                             matrices_of_state, windows_of_state, large_remainders], 1):
    write(sys.argv[1], make, seed)
if len(sys.argv) > 2:
    write_ir(sys.argv[1], 'if_at_run_time', sys.argv[2])
