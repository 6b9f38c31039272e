"""Networks of PyTorch, exported, compared and trained for integers."""

import json
import platform
import re

import numpy as np
import pytest

import cellc

torch = pytest.importorskip("torch")
import cellc.torch  # noqa: E402
from torch import nn  # noqa: E402


class Net(nn.Module):
    """Recurrent layers between dense ones; ``forward(x, h)``, of an LSTM ``forward(x, h, c)``."""

    def __init__(self, kind="GRU", inputs=6, units=12, layers=1, front=0, **options):
        super().__init__()
        self.front = nn.Sequential(nn.Linear(inputs, front), nn.Tanh()) if front else nn.Identity()
        self.rec = getattr(nn, kind)(front or inputs, units, layers, batch_first=True, **options)
        self.head = nn.Sequential(nn.Linear(units, 3), nn.Sigmoid())

    def forward(self, x, *state):
        y, last = self.rec(self.front(x), state[0] if len(state) == 1 else state)
        return (self.head(y), *(last if isinstance(last, tuple) else (last,)))

    def start(self):
        of = self.rec
        count = 2 if isinstance(of, nn.LSTM) else 1
        return tuple(torch.zeros(of.num_layers, 1, of.hidden_size) for _ in range(count))


def exported(net, path, inputs=6):
    names = ["h", "c"][: len(net.start())]
    state = {name: name + "n" for name in names}
    example = (torch.zeros(1, 1, inputs), *net.start())
    return cellc.torch.export(net, example, path, steps={"x": 1}, state=state, inputs=["x", *names])


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(1)


def test_open_steps_and_states_are_found(tmp_path):
    net = Net("GRU", front=5).train()
    described = exported(net, tmp_path / "net.onnx")
    assert net.training and net.rec.training
    assert [(of["name"], of["role"]) for of in described["inputs"]] == [
        ("x", "data"),
        ("h", "state"),
    ]
    assert [(of["name"], of["state"]) for of in described["outputs"]] == [("y", None), ("hn", 1)]
    report = cellc.torch.check(net, tmp_path / "net.onnx", (torch.randn(1, 50, 6), *net.start()))
    assert list(report) == ["y", "hn"] and net.training
    assert all(of["largest"] < 1e-6 and of["snr"] > 100 for of in report.values())


def test_whole_sequences_and_tuples_of_states(tmp_path):
    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(4, 7)

        def forward(self, x, hc):
            y, hc = self.lstm(x, hc)
            return y, hc

    net, hc = Pair(), (torch.zeros(1, 1, 7), torch.zeros(1, 1, 7))
    state = {"hc0": "h_out", "hc1": "c_out"}
    cellc.torch.export(
        net, (torch.zeros(5, 1, 4), hc), tmp_path / "open.onnx", steps={"x": 0}, state=state
    )
    cellc.torch.export(net, (torch.zeros(5, 1, 4), hc), tmp_path / "fixed.onnx", state=state)
    x = torch.randn(5, 1, 4)
    for name in ("open.onnx", "fixed.onnx"):
        report = cellc.torch.check(net, tmp_path / name, (x, hc), quiet=True)
        assert list(report) == ["y", "h_out", "c_out"]
        assert max(of["largest"] for of in report.values()) < 1e-6


def test_states_that_need_the_option(tmp_path):
    class Frame(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.cell, self.head = nn.Conv1d(4, 6, 3), nn.GRUCell(6, 8), nn.Linear(8, 2)

        def forward(self, x, past, h):
            samples = torch.cat([past, x], 2)
            h = self.cell(torch.relu(self.conv(samples)[:, :, 0]), h)
            return self.head(h), samples[:, :, 1:], h

    net, state = Frame(), {"past": "later", "h": "hn"}
    example = (torch.randn(1, 4, 1), torch.zeros(1, 4, 2), torch.zeros(1, 8))
    with pytest.warns(cellc.Notice, match="with --state past=later --state h=hn$"):
        described = cellc.torch.export(net, example, tmp_path / "net.onnx", state=state)
    assert [of["state"] for of in described["outputs"]] == [None, 1, 2]
    x = (torch.randn(1, 4, 1), *example[1:])
    report = cellc.torch.check(net, tmp_path / "net.onnx", x, quiet=True, state=state)
    assert (
        list(report) == ["y", "later", "hn"] and max(of["largest"] for of in report.values()) < 1e-6
    )


def test_the_report_is_printed(tmp_path, capsys):
    net = Net()
    exported(net, tmp_path / "net.onnx")
    cellc.torch.check(
        net, tmp_path / "net.onnx", (torch.randn(1, 9, 6), *net.start()), precision="int16"
    )
    assert re.match(
        r"y: largest error \S+e-\d\d, rms \S+e-\d\d, SNR \d+\.\d dB\nhn: ", capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"steps": {"z": 1}}, "^z: no such input; the network has x, h"),
        ({"steps": {"x": 3}}, r"^x: no axis 3 in the shape \[1, 4, 6\]"),
        (
            {"state": {"h": "y"}, "outputs": ["y", "hn"]},
            r"^h: the shape is \[1, 1, 12\], but y has \[1, 4, 3\]",
        ),
        (
            {"state": {"h": "q"}, "outputs": ["y", "hn"]},
            "^q: no such output; the network has y, hn",
        ),
        ({"outputs": ["y"]}, "^outputs: 1 names of 2 tensors"),
        ({"inputs": ["x"]}, "^inputs: 1 names of 2 tensors"),
    ],
)
def test_wrong_names_and_axes_are_named(tmp_path, change, said):
    net = Net()
    options = {"inputs": ["x", "h"], **change}
    with pytest.raises(ValueError, match=said):
        cellc.torch.export(
            net, (torch.zeros(1, 4, 6), *net.start()), tmp_path / "net.onnx", **options
        )


def test_check_refuses_a_state_that_is_not_zero(tmp_path):
    net = Net()
    exported(net, tmp_path / "net.onnx")
    with pytest.raises(ValueError, match="a state is not 0"):
        cellc.torch.check(net, tmp_path / "net.onnx", (torch.zeros(1, 4, 6), torch.ones(1, 1, 12)))


def test_weights_alone(tmp_path):
    class Amp(nn.Module):
        def __init__(self):
            super().__init__()
            self.rec, self.lin = nn.LSTM(1, 8, batch_first=True), nn.Linear(8, 1)

        def forward(self, x):
            return self.lin(self.rec(x)[0]) + x

    net, path = Amp(), tmp_path / "amp.safetensors"
    cellc.torch.export_weights(net, path, "rec", head="lin", skip=True)
    contents = path.read_bytes()
    header = json.loads(contents[8 : 8 + int.from_bytes(contents[:8], "little")])
    assert header["__metadata__"] == {
        "cellc.cell": "lstm",
        "cellc.prefix": "rec",
        "cellc.head": "lin",
        "cellc.skip": "true",
    }
    x = torch.randn(1, 30, 1)
    y = cellc.compile(path).steps(x[0].numpy().reshape(30, 1, 1))
    assert np.abs(y.ravel() - net(x).detach().numpy().ravel()).max() < 1e-6
    with pytest.raises(ValueError, match="^lin: a Linear, but an RNN, GRU or LSTM is read"):
        cellc.torch.export_weights(net, path, "lin")


@pytest.mark.parametrize(
    ("precision", "options"),
    [
        ("int8", {"kind": "GRU", "inputs": 6, "layers": 2, "front": 8}),
        ("int16", {"kind": "LSTM", "inputs": 3}),
        ("int8x16", {"kind": "RNN", "nonlinearity": "relu"}),
    ],
)
def test_evaluation_is_generated_code(tmp_path, precision, options):
    net = Net(**options)
    inputs = options.get("inputs", 6)
    integers = cellc.torch.quantised(net, precision)
    # the file has the f32 weights of the network of integers
    exported(integers, tmp_path / "net.onnx", inputs)
    arguments = (torch.randn(1, 300, inputs), *net.start())
    isa = "avx2" if platform.machine() in ("x86_64", "AMD64") else None
    report = cellc.torch.check(
        integers.eval(), tmp_path / "net.onnx", arguments, quiet=True, isa=isa
    )
    assert all(of["largest"] == 0 for of in report.values())
    # training has the same rounding, but other activation functions
    with torch.no_grad():
        trained, evaluated, exact = (
            integers.train()(*arguments)[0],
            integers.eval()(*arguments)[0],
            net(*arguments)[0],
        )
    off, between = ((of - evaluated).abs().mean() for of in (exact, trained))
    assert 0 < between < 0.1 * off < 1e-3


def test_layers_have_the_forms_of_pytorch():
    x = torch.randn(5, 2, 4)
    for make in (nn.GRU, nn.LSTM, nn.RNN):
        for options in (
            {},
            {"bidirectional": True, "num_layers": 2},
            {"bias": False},
            {"batch_first": True},
        ):
            net = make(4, 6, **options)
            for training in (False, True):
                integers = cellc.torch.quantised(net, "int16").train(training)
                for given in (x, x[:, 0]):
                    with torch.no_grad():
                        results, expected = integers(given), net(given)
                    flat = [cellc.torch._flat(of) for of in (results, expected)]
                    assert len(flat[0]) == len(flat[1])
                    for a, b in zip(*flat):
                        assert a.shape == b.shape and (a - b).abs().max() < 1e-3
    for make in (nn.GRUCell, nn.LSTMCell, nn.RNNCell):
        net = make(4, 6)
        for integers in (
            cellc.torch.quantised(net, "int16").eval(),
            cellc.torch.quantised(net, "int16"),
        ):
            with torch.no_grad():
                pairs = zip(cellc.torch._flat(integers(x[0])), cellc.torch._flat(net(x[0])))
            assert all((a - b).abs().max() < 1e-3 for a, b in pairs)


def test_modules_keep_their_parameters_and_precisions():
    net = Net(front=5)
    integers = cellc.torch.quantised(
        net, "int8", precision_of={"head.0": "f32", "front.0": "int16"}
    )
    assert type(net.rec) is nn.GRU and isinstance(integers.rec, nn.GRU)
    assert list(integers.state_dict()) == list(net.state_dict())
    assert type(integers.head[0]) is nn.Linear and integers.front[0].precision == "int16"
    assert "precision=int8" in repr(integers.rec)
    # changed weights are rounded anew
    x = (torch.randn(1, 4, 6), *net.start())
    before = integers.eval()(*x)[0]
    with torch.no_grad():
        integers.rec.weight_hh_l0.mul_(2)
    assert not torch.equal(integers(*x)[0], before)
    with pytest.raises(ValueError, match="^precision is 'int4'"):
        cellc.torch.quantised(net, "int4")
    with pytest.raises(ValueError, match="^precision_of: no module 'tail'"):
        cellc.torch.quantised(net, "int8", precision_of={"tail": "f32"})
    with pytest.raises(ValueError, match="^: proj_size is not supported"):
        cellc.torch.quantised(nn.LSTM(4, 6, proj_size=2), "int8")


def test_training_for_integers_beats_rounding_afterwards():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.gru, self.head = nn.GRU(5, 24, batch_first=True), nn.Linear(24, 1)

        def forward(self, x):
            return self.head(self.gru(x)[0])

    def batch(net, count):
        x = torch.rand(count, 8, 5) * 2 - 1
        x[..., 0] = (torch.rand(count, 8) < 0.1).float()
        with torch.no_grad():
            return x, net(x)

    def error(net, x, y):
        with torch.no_grad():
            return float(((net.eval()(x) - y) ** 2).mean().sqrt())

    def errors(seed):
        """The error at int8 before and after training, to the results of the network in f32."""
        torch.manual_seed(seed)
        net, steps = Net(), 300
        with torch.no_grad():
            # a rare switch with large weights leaves few integers to the weights beside it
            net.gru.weight_ih_l0[:, 0] *= 50
        integers = cellc.torch.quantised(net, "int8")
        held_out = batch(net, 128)
        afterwards = error(integers, *held_out)
        optimiser = torch.optim.Adam(integers.parameters(), 1e-3)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1 - step / steps)
        integers.train()
        for _ in range(steps):
            x, y = batch(net, 64)
            loss = ((integers(x) - y) ** 2).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
        return afterwards, error(integers, *held_out)

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    afterwards, trained = np.mean([errors(seed) for seed in range(3)], axis=0)
    torch.set_num_threads(threads)
    assert trained < 0.8 * afterwards, (afterwards, trained)
