"""The integers of the NumPy twin beside those of generated code."""

import ctypes
import platform
import re
import warnings

import numpy as np
import pytest

import cellc
from cellc import _network, _safetensors, quantised

STEPS = 1000
NETWORKS = {
    # cell, inputs, units, layers, outputs of the dense layer
    "gru": ("gru", 16, 32, 1, 5),
    "gru_of_3": ("gru", 3, 24, 1, 0),
    "lstm_of_2_layers": ("lstm", 10, 20, 2, 7),
    "amplifier": ("lstm", 1, 24, 1, 1),
    "relu": ("rnn", 20, 33, 1, 2),
}
GATES = {"rnn": 1, "gru": 3, "lstm": 4}


class Twin:
    """A network of the table in NumPy; the file has the same weights."""

    def __init__(self, name, path, seed=1):
        self.cell, inputs, units, self.layers, outputs = NETWORKS[name]
        random = np.random.default_rng(seed)
        rows = GATES[self.cell] * units
        shapes = {}
        for layer in range(self.layers):
            columns = units if layer else inputs
            shapes[f"rec.weight_ih_l{layer}"] = (rows, columns)
            shapes[f"rec.weight_hh_l{layer}"] = (rows, units)
            shapes[f"rec.bias_ih_l{layer}"] = shapes[f"rec.bias_hh_l{layer}"] = (rows,)
        metadata = {"cellc.cell": self.cell, "cellc.prefix": "rec"}
        if outputs:
            shapes["fc.weight"], shapes["fc.bias"] = (outputs, units), (outputs,)
            metadata["cellc.head"] = "fc"
        if name == "relu":
            metadata["cellc.activations"] = "relu"
        limit = units**-0.5
        self.tensors = {
            key: random.uniform(-limit, limit, shape).astype(np.float32)
            for key, shape in shapes.items()
        }
        # rows of integers times a scale keep the scale
        first = self.tensors["rec.weight_hh_l0"]
        first[0] = np.round(first[0] * 64) / 256
        first[1] = np.round(first[1] * 200)
        first[2] = 0
        first[3] = np.round(first[3] / limit * 90) * np.float32(0.0123)
        _safetensors.write(path, self.tensors, metadata)
        self.nonlinearity = "relu" if name == "relu" else "tanh"
        self.inputs, self.units = inputs, units

    def start(self, precision, fused):
        make = {"rnn": quantised.RNN, "gru": quantised.GRU, "lstm": quantised.LSTM}[self.cell]
        options = {"nonlinearity": self.nonlinearity} if self.cell == "rnn" else {}
        kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        self.cells = [
            make(
                *(self.tensors[f"rec.{kind}_l{layer}"] for kind in kinds),
                precision=precision,
                fused=fused,
                **options,
            )
            for layer in range(self.layers)
        ]
        has_head = "fc.weight" in self.tensors
        weights = [self.tensors[f"fc.{kind}"] for kind in ("weight", "bias")] if has_head else []
        self.head = quantised.Linear(*weights, precision) if has_head else None
        count = 2 if self.cell == "lstm" else 1
        self.states = [[np.zeros((1, self.units), np.float32)] * count for _ in self.cells]
        self.precision = precision

    def step(self, x):
        """The output, the integers of all vectors, and all sums of products."""
        rounded, sums = [], []

        def multiplied(vector, *matrices):
            integers = quantised.vectors(vector, self.precision).values
            rounded.append(integers.ravel())
            sums.extend(
                (integers.astype(np.int64) @ of.values.astype(np.int64).T).ravel()
                for of in matrices
            )

        for cell, state in zip(self.cells, self.states):
            multiplied(x, cell.weight_ih)
            multiplied(state[0], cell.weight_hh)
            following = cell(x, *state)
            state[:] = following if isinstance(following, tuple) else (following,)
            x = state[0]
        if self.head is not None:
            multiplied(x, self.head.weight)
            x = self.head(x)
        return x, np.concatenate(rounded), np.concatenate(sums)


def samples(twin, steps=STEPS):
    x = np.random.default_rng(7).normal(size=(steps, 1, twin.inputs)).astype(np.float32)
    # steps of zeros, of tiny numbers and of one large number
    x[10], x[11], x[12, 0, 0] = 0, x[11] * np.float32(1e-32), 50
    return x


class Watched:
    """Generated code that reports the integers of vectors and the sums of their products."""

    def __init__(self, model, folder, precision):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cellc.Notice)
            files = cellc.generate(
                model, target="portable", precision=precision, interface="cellc.h"
            )
        source = files["net.c"].decode()
        source, vectors = re.subn(
            r"((?:word|rounded\w*)\[\d+\]) = net_from_bits\(", r"\1 = net_vector(", source
        )
        source, sums = re.subn(r"net_from_signed1\((?!uint32_t)", "net_sum(", source)
        assert vectors and sums
        functions = """
uint32_t watched_words[4096], watched_sums[4096];
size_t watched_word_count, watched_sum_count;
static float net_vector(uint32_t a) {
    watched_words[watched_word_count++] = a;
    return net_from_bits(a);
}
static float net_sum(uint32_t a) {
    watched_sums[watched_sum_count++] = a;
    return net_from_signed1(a);
}
"""
        at = source.index("/* a, or 0 if its magnitude is below")
        files["net.c"] = (source[:at] + functions + source[at:]).encode()
        library = folder / f"{precision}.so"
        _network._build(
            files, _network._compiler(None), ["-shared", "-fPIC", "-std=gnu11", "-O1"], library
        )
        loaded = ctypes.CDLL(str(library))
        found = _network._Model.in_dll(loaded, "net_model")
        shapes = cellc.inspect(model, quiet=True)
        tensors = [
            _network._tensors(of, count, shapes[kind])
            for of, count, kind in (
                (found.inputs, found.input_count, "inputs"),
                (found.outputs, found.output_count, "outputs"),
            )
        ]
        self.network, self.precision = cellc.Network(loaded, precision, *tensors), precision
        self.arrays = [
            ((ctypes.c_uint32 * 4096).in_dll(loaded, name), ctypes.c_size_t.in_dll(loaded, count))
            for name, count in (
                ("watched_words", "watched_word_count"),
                ("watched_sums", "watched_sum_count"),
            )
        ]

    def step(self, x, lengths):
        for _, count in self.arrays:
            count.value = 0
        y = self.network.step(x)
        words, sums = (np.array(of[: count.value], np.uint32) for of, count in self.arrays)
        vectors, at = [], 0
        for length in lengths:
            # word k has the elements k and count + k
            count = -(-length // 2) if self.precision == "int16" else -(-length // 4) * 2
            part = words[at : at + min(count, length)].view(np.int16)
            vectors.append(np.concatenate([part[::2], part[1::2]])[:length])
            at += min(count, length)
        assert at == len(words)
        return y, np.concatenate(vectors), sums.view(np.int32)


@pytest.mark.parametrize(
    ("name", "precision"),
    [
        ("gru", "int8"),
        ("gru", "int8x16"),
        ("gru", "int16"),
        ("gru_of_3", "int8"),
        ("lstm_of_2_layers", "int8"),
        ("amplifier", "int16"),
        ("relu", "int8x16"),
    ],
)
def test_every_integer_is_that_of_generated_code(name, precision, tmp_path):
    model = tmp_path / "net.safetensors"
    twin = Twin(name, model)
    twin.start(precision, fused=False)
    watched = Watched(model, tmp_path, precision)
    equal, count, largest = 0, 0, 0.0
    lengths = []
    for layer in range(twin.layers):
        lengths += [twin.units if layer else twin.inputs, twin.units]
    lengths += [twin.units] if twin.head else []
    for x in samples(twin):
        y, rounded, sums = twin.step(x)
        got, of_code, sums_of_code = watched.step(x, lengths)
        equal += np.sum(rounded == of_code) + np.sum(np.sort(sums) == np.sort(sums_of_code))
        count += len(rounded) + len(sums)
        largest = max(largest, np.abs(got.ravel() - y.ravel()).max())
    assert equal >= 0.9999 * count
    assert largest <= 1e-6


@pytest.mark.parametrize(("name", "precision"), [("gru", "int8"), ("lstm_of_2_layers", "int16")])
def test_results_have_the_bits_of_generated_code(name, precision, tmp_path):
    model = tmp_path / "net.safetensors"
    twin = Twin(name, model, seed=2)
    # one instruction set with a fused multiply-add compiles in less time than all
    isa = "avx2" if platform.machine() in ("x86_64", "AMD64") else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cellc.Notice)
        network = cellc.compile(model, precision=precision, isa=isa, cflags=["-O1"])
    twin.start(precision, fused=network.isa not in ("generic", "plain", "sse2"))
    x = samples(twin, 200)
    expected = np.stack([twin.step(of)[0] for of in x])
    assert np.array_equal(network.steps(x), expected)


def test_activations_have_their_accuracy():
    x = np.concatenate(
        [np.linspace(-12, 12, 100_001), [-200, 200, 0, 1e-30, np.inf, -np.inf]]
    ).astype(np.float32)
    exact = np.tanh(x.astype(np.float64))
    with np.errstate(over="ignore"):
        other = 1 / (1 + np.exp(-x.astype(np.float64)))
    for fused in (False, True):
        for got, of in ((quantised.tanh(x, fused), exact), (quantised.sigmoid(x, fused), other)):
            assert np.all(
                np.abs(got - of)
                <= 2.5 * np.spacing(np.abs(of).astype(np.float32)).astype(np.float64)
            )
    assert np.isnan(quantised.tanh([np.nan])).all() and np.isnan(quantised.relu([np.nan])).all()


def test_integers_of_rows_and_vectors():
    rows = quantised.rows(
        [[3, -90, 0, 17], [0.5, -0.25, 0, 0.125], [0, 0, 0, 0], [np.nan, 1, 2, 3]], "int8"
    )
    assert rows.scales[:3].tolist() == [1, 0.125, 0] and np.isnan(rows.scales[3])
    assert rows.values.tolist() == [[3, -90, 0, 17], [4, -2, 0, 1], [0] * 4, [0] * 4]
    vector = quantised.vectors([[127, -63.5, 62.5, 0.4, -0.0], [1, np.inf, 0, 0, 0]], "int8")
    assert vector.values[0].tolist() == [127, -64, 62, 0, 0] and vector.scales[0] == 1
    assert np.isnan(vector.scales[1])
    # sums of 16-bit integers fit 32 bits
    for length in (1, 3, 128, 1000):
        weights = np.random.default_rng(3).uniform(0.5, 1, (5, length))
        sums = np.abs(quantised.rows(weights, "int16").values.astype(np.int64)).sum(-1)
        assert np.all(sums * quantised.largest("int16", length) < 2**31)
    assert [quantised.largest(of, 4) for of in quantised.PRECISIONS] == [32767, 32767, 32767]
    assert [quantised.largest(of, 5) for of in quantised.PRECISIONS] == [127, 32767, 29308]


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="^precision is 'int9': int8, int8x16, int16 are valid"):
        quantised.vectors([1.0], "int9")
    with pytest.raises(ValueError, match=r"^weights: the shape is \[2\], but a matrix"):
        quantised.rows([1.0, 2.0], "int8")
    with pytest.raises(ValueError, match=r"^weight_hh: the shape is \[4, 2\], but .* 3 gates"):
        quantised.GRU(np.zeros((4, 2)), np.zeros((4, 2)))
