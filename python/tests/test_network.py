"""Networks of the corpus, compiled and run from Python."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import cellc

TESTS = Path(__file__).resolve().parents[2] / "tests"
CELL = TESTS / "corpus" / "gru_cell_128_fp16" / "model.xml"
CASES = TESTS / "onnx" / "cases"


def compiled(model, **options):
    """A network whose notices are none of the test's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cellc.Notice)
        return cellc.compile(model, **options)


def test_outputs_are_those_of_onnx_runtime():
    case = CASES / "gru_unbatched_dy18"
    net = compiled(case / "model.onnx", no_state=True)
    x = np.fromfile(case / "r0_in0.bin", np.float32)
    expected = np.fromfile(case / "r0_ort0.bin", np.float32)
    y = net.step(x)
    assert y.shape == net.outputs[0].shape
    assert np.abs(y.ravel() - expected).max() < 1e-6


def test_steps_have_the_bits_of_single_steps_and_the_state_comes_back():
    net = compiled(CELL)
    assert [of.name for of in net.inputs] == ["x"] and net.inputs[0].shape == (1, 16)
    x = np.random.default_rng(1).normal(size=(12, 1, 16)).astype(np.float32)
    one_by_one = np.stack([net.step(of_step) for of_step in x])
    net.reset()
    head = net.steps(x[:5])
    saved, other = net.state, net.copy()
    tail = net.steps(x[5:])
    assert np.array_equal(np.concatenate([head, tail]), one_by_one)
    assert np.array_equal(other.steps(x=x[5:]), tail)
    net.state = saved
    assert net.state == saved and bytes(saved) == bytes(net.state)
    assert np.array_equal(net.steps(x[5:]), tail)


def test_integers_are_near_floats():
    exact, rounded = compiled(CELL), compiled(CELL, precision="int8")
    x = np.random.default_rng(2).uniform(-1, 1, (50, 1, 16)).astype(np.float32)
    difference = np.abs(exact.steps(x) - rounded.steps(x)).max()
    assert 0 < difference < 0.05


def test_several_outputs_come_by_name():
    net = compiled(CASES / "lstm_clip" / "model.onnx", no_state=True)
    values = {of.name: np.zeros(of.shape, of.dtype) for of in net.inputs}
    results = net.step(**values)
    if len(net.outputs) == 1:
        results = {net.outputs[0].name: results}
    assert list(results) == [of.name for of in net.outputs]
    for of in net.outputs:
        assert results[of.name].shape == of.shape and results[of.name].dtype == of.dtype


def test_arguments_are_read_without_a_copy_and_are_not_written():
    net = compiled(CELL)
    x = np.full((1, 16), 0.5, np.float32)
    x.flags.writeable = False
    doubles = net.step(x.astype(np.float64))
    net.reset()
    assert np.array_equal(net.step(x), doubles)
    net.reset()
    assert np.array_equal(net.step([0.5] * 16), doubles)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda net: net.step(np.zeros((2, 16), np.float32)), r"^x: the shape is \[2, 16\], but \[1, 16\] is read"),
        (lambda net: net.step(np.zeros((1, 16), np.complex64)), "^x: elements are complex64"),
        (lambda net: net.step(np.zeros((1, 16), "U1")), "^x: elements are <U1"),
        (lambda net: net.step(), "^x: this input is missing"),
        (lambda net: net.step(1, 2), "^2 inputs, but the network has 1: x"),
        (lambda net: net.step(h=1), "^h: no such input; the network has x"),
        (lambda net: net.step(np.zeros(16), x=np.zeros(16)), "^x: given twice"),
        (lambda net: net.steps(np.float32(1)), "^x: a number, but its first axis counts the steps"),
        (lambda net: net.steps(np.zeros((3, 1, 15), np.float32)), r"^x: the shape is \[3, 1, 15\], but \[3, 1, 16\]"),
        (lambda net: setattr(net, "state", b"short"), "^state: 5 bytes, but this network's has"),
    ],
)
def test_wrong_arguments_are_named(call, said):
    with pytest.raises(ValueError, match=said):
        call(compiled(CELL))


def test_states_of_other_networks_are_refused():
    net, other = compiled(CELL), compiled(CELL, accuracy="fast")
    with pytest.raises(ValueError, match="^state: it is of another network"):
        net.state = other.state


def test_integer_inputs_keep_their_type():
    net = compiled(CASES / "emb_bilstm_ts17" / "model.onnx", no_state=True, shape={"tokens": [1, 9]})
    tokens = net.inputs[0]
    assert tokens.dtype in (np.dtype(np.int64), np.dtype(np.int32))
    as_given = net.step(np.ones(tokens.shape, tokens.dtype))
    assert np.array_equal(net.step(np.ones(tokens.shape, np.int16)), as_given)
    with pytest.raises(ValueError, match="elements are float64"):
        net.step(np.ones(tokens.shape))


def test_libraries_are_kept_by_what_they_hold(tmp_path):
    cache = tmp_path / "kept"
    compiled(CELL, cache=cache)
    kept = {file: file.stat().st_mtime_ns for file in cache.iterdir()}
    compiled(CELL, cache=cache)
    assert {file: file.stat().st_mtime_ns for file in cache.iterdir()} == kept and len(kept) == 1
    compiled(CELL, cache=cache, cflags=["-O1"])
    assert len(list(cache.iterdir())) == 2


def test_the_text_of_errors_is_the_commands():
    with pytest.raises(cellc.Error, match="invalid value 'int9' for '--precision"):
        cellc.compile(CELL, precision="int9")
    with pytest.raises(cellc.Error, match="no_such.onnx"):
        cellc.compile("no_such.onnx")
    with pytest.raises(cellc.Error, match="does not run"):
        compiled(CELL, cc="no-such-compiler")
    with pytest.raises(cellc.Error, match="net.c"):
        compiled(CELL, cflags=["-no-such-flag"])
    with pytest.raises(TypeError, match="'name'"):
        cellc.compile(CELL, name="other")


def test_notices_are_warnings():
    with pytest.warns(cellc.Notice, match="begins anew at each call"):
        cellc.compile(CASES / "gru_unbatched_dy18" / "model.onnx")


def test_bytes_of_a_model_are_a_model():
    model = (CASES / "lstm_clip" / "model.onnx").read_bytes()
    assert compiled(model, no_state=True).outputs


def test_open_sizes_are_none():
    from cellc._command import arguments

    given = {"shape": {"x": [1, None, 16]}, "state": {"h": "hn"}, "no_state": True, "isa": ["avx2", "neon"], "batch": 2}
    assert arguments(given) == "--shape x=1,?,16 --state h=hn --no-state --isa avx2,neon --batch 2".split()
    assert arguments({"no_state": False, "weights": None}) == []


def test_dictionaries_of_generate_inspect_and_check():
    files = cellc.generate(CELL, name="vad")
    assert sorted(files) == ["vad.c", "vad.h"] and b"vad_step" in files["vad.h"]
    assert list(cellc.generate(CELL, "rust")) == ["net.rs"]
    with pytest.raises(ValueError, match='"c" or "rust" is valid'):
        cellc.generate(CELL, "pascal")
    assert cellc.inspect(CELL)["totals"]["multiply_adds"] == 55296
    assert cellc.check(CELL, steps=4)["passed"] is True
