"""Runs the lines that cellc prints for files of PyTorch and Keras, and compares what comes of them with the frameworks.

    python tests/frameworks/lines.py path/to/cellc

Needs torch, onnxscript, safetensors, keras and openvino; a framework that is not installed is left out, which is said.
"""

import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np

CELLC = os.path.abspath(sys.argv[1])


def cellc(*arguments, succeeds=True):
    """What the command says on standard error."""
    done = subprocess.run([CELLC, *arguments], capture_output=True, text=True)
    assert (done.returncode == 0) == succeeds, f"cellc {' '.join(arguments)}: {done.stderr}"
    return done.stderr


def lines(said):
    """The lines to copy: all behind the first empty one."""
    return said.split("\n\n", 1)[1].strip("\n") + "\n"


def in_shell(said):
    """Runs printed lines without the installation, and the compilation with this cellc."""
    text = "".join(line for line in lines(said).splitlines(True) if not line.startswith("pip install"))
    text = text.replace("python3 -", f"'{sys.executable}' -").replace("\ncellc ", f"\n'{CELLC}' ")
    done = subprocess.run(["sh", "-e"], input=text, capture_output=True, text=True)
    assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"


def results(model, inputs, *options):
    """What generated code computes, by `cellc run`."""
    for name, value in inputs.items():
        np.save(f"{name}.npy", value)
    given = [word for name in inputs for word in ("--input", f"{name}={name}.npy")]
    cellc("run", model, *given, "--outputs", "out", "--emit", "c", *options)
    return np.load("out/r0_out0.npy")


def same(what, found, expected):
    error = float(np.abs(found - expected).max())
    assert found.shape == expected.shape and error < 1e-5, f"{what}: {found.shape} {expected.shape} {error}"
    print(f"{what}: largest error {error:.1e}")


NET = """
import torch

class Net(torch.nn.Module):
    def __init__(self, layer=torch.nn.GRU):
        super().__init__()
        self.rec = layer(20, 8, batch_first=True)
        self.lin = torch.nn.Linear(8, 2)

    def forward(self, x, h=None):
        y, h_out = self.rec(x, h)
        return self.lin(y) if h is None else (self.lin(y), h_out)

torch.manual_seed(1)
net = Net().eval()
"""


def in_torch(code):
    """Runs lines behind the definition of the network, each time in a process of its own, as a user's program does:
    PyTorch 2.15 can lose an open size where a process has exported the module before."""
    done = subprocess.run([sys.executable, "-c", NET + code], capture_output=True, text=True)
    assert done.returncode == 0, f"{code}\n{done.stderr}"


def torch_lines():
    made = {}
    exec(NET, made)
    torch, net, Net = made["torch"], made["net"], made["Net"]
    steps = torch.randn(1, 9, 20)
    expected = net(steps).detach().numpy()

    # a model of one step that starts every call anew
    in_torch('torch.onnx.export(net, (torch.zeros(1, 1, 20),), "fixed.onnx")')
    in_torch(lines(cellc("fixed.onnx", "-o", "fixed.c")))
    assert "warning" not in cellc("net.onnx", "-o", "net.c")
    cellc("net.onnx", "--dim", "steps=?", "-o", "named.c")
    same("PyTorch, open steps", results("net.onnx", {"x": steps.numpy()}), expected)
    # the same from the refusal of an open size
    os.remove("net.onnx")
    in_torch(lines(cellc("fixed.onnx", "--shape", "x=1,?,20", "-o", "a.c", succeeds=False)))
    assert os.path.exists("net.onnx")

    # the state as an input and an output
    in_torch('torch.onnx.export(net, (torch.zeros(1, 1, 20), torch.zeros(1, 1, 8)), "state.onnx")')
    assert "warning" not in cellc("state.onnx", "-o", "state.c")

    # checkpoints, with their dictionary of tensors under several names
    for layer, cell in [(torch.nn.GRU, "gru"), (torch.nn.LSTM, "lstm"), (torch.nn.RNN, "rnn")]:
        net = Net(layer).eval()
        for key in ["", "model_state", "model_state_dict", "net"]:
            state = net.state_dict()
            torch.save({"epoch": 3, key: state} if key else state, "net.pt")
            said = cellc("net.pt", succeeds=False)
            assert f"--cell {cell} --prefix rec --head lin " in said, said
            in_shell(said)
            options = ["--cell", cell, "--prefix", "rec", "--head", "lin", "--sequence", "9"]
            found = results("net.safetensors", {"x": steps.numpy()}, *options)
            expected = net(steps).detach().numpy()
            same(f"PyTorch, checkpoint {key or 'itself'}, {cell}", found.reshape(expected.shape), expected)

    # objects beside the tensors
    objects = {"args": argparse.Namespace(lr=1e-3), "epoch": np.int64(3)}
    torch.save({**objects, "state_dict": net.state_dict()}, "net.pt")
    said = cellc("net.pt", succeeds=False)
    assert "weights_only=False" in said, said
    in_shell(said)

    # weights in two parts have a remedy
    net = Net()
    torch.nn.utils.parametrizations.weight_norm(net.rec, "weight_hh_l0")
    torch.save(net.state_dict(), "normed.pt")
    said = cellc("normed.pt", succeeds=False)
    call = said.split("before saving, ")[1].split(", and so for")[0]
    eval(call, {"torch": torch, "net": net})
    assert "rec.weight_hh_l0" in net.state_dict(), call
    print("PyTorch, weight_norm: the remedy works")


def script_lines():
    """Models that torch.jit.script and torch.jit.trace saved, with one input and with the state as another."""
    made = {}
    exec(NET, made)
    torch, net = made["torch"], made["net"]

    class Whole(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.rec, self.lin = net.rec, net.lin

        def forward(self, x):
            return self.lin(self.rec(x)[0])

    class Continued(Whole):
        def forward(self, x, h):
            y, h = self.rec(x, h)
            return self.lin(y), h

    x, h = torch.randn(1, 9, 20), torch.zeros(1, 1, 8)
    for module, inputs in [(Whole(), (x,)), (Continued(), (x, h))]:
        expected = net(x).detach().numpy()
        shapes = str([tuple(i.shape) for i in inputs])
        for saved in [torch.jit.script(module.eval()), torch.jit.trace(module.eval(), inputs)]:
            saved.save("script.pt")
            said = cellc("script.pt", succeeds=False)
            in_shell(said.replace("[(1, 16, 1)]", shapes))
            found = results("script.onnx", {f"in{i}": value.numpy() for i, value in enumerate(inputs)})
            same(f"TorchScript, {len(inputs)} inputs", found, expected)
            names = 'dynamo=False, input_names=["x", "h"], dynamic_axes={"x": {1: "steps"}})'
            in_shell(said.replace("[(1, 16, 1)]", shapes).replace("dynamo=False)", names))
            cellc("script.onnx", "--dim", "steps=?", "-o", "open.c")

    # a conversion that fails compiles nothing, and one shape for two inputs says what is missing
    os.remove("script.rs")
    text = lines(said).replace("python3 -", f"'{sys.executable}' -").replace("\ncellc ", f"\n'{CELLC}' ")
    text = "".join(line for line in text.splitlines(True) if not line.startswith("pip install"))
    for text, why in [(text.replace("torch.jit.load", "torch.jit.no"), "no"), (text, "each of ['x', 'h']")]:
        done = subprocess.run(["sh"], input=text, capture_output=True, text=True)
        assert done.returncode != 0 and not os.path.exists("script.rs") and why in done.stderr, done.stderr


def keras_lines():
    os.environ["KERAS_BACKEND"] = "openvino"
    import keras

    layers = keras.layers
    cases = {
        "SimpleRNN": layers.SimpleRNN(6),
        "GRU": layers.GRU(6, return_sequences=True),
        "GRU, reset before": layers.GRU(6, reset_after=False),
        "LSTM": layers.LSTM(6),
    }
    for name, layer in cases.items():
        model = keras.Sequential([keras.Input((None, 4)), layer, layers.Dense(2)])
        model.save("net.keras")
        in_shell(cellc("net.keras", succeeds=False))
        x = np.random.default_rng(1).uniform(-1, 1, (1, 100, 4)).astype(np.float32)
        # OpenVINO computes in bfloat16 where the processor has it, PyTorch does not
        expected = np.asarray(subprocess_keras(x))
        same(f"Keras, {name}", results("net.xml", {"in0": x}), expected)


    # a stateful model fixes its batch
    model = keras.Sequential([keras.Input(batch_shape=(3, 7, 4)), layers.GRU(6, stateful=True), layers.Dense(2)])
    model.save("net.keras")
    in_shell(cellc("net.keras", succeeds=False))
    x = np.random.default_rng(2).uniform(-1, 1, (3, 7, 4)).astype(np.float32)
    same("Keras, stateful", results("net.xml", {"in0": x}), np.asarray(subprocess_keras(x)))

    # the state as an input and an output, and weights without the model
    x, h = keras.Input((None, 4), name="x"), keras.Input((6,), name="h")
    y, h_out = layers.GRU(6, return_sequences=True, return_state=True)(x, initial_state=h)
    model = keras.Model([x, h], [layers.Dense(2)(y), h_out])
    model.save("two.keras")
    in_shell(cellc("two.keras", succeeds=False))
    assert "State: h" in open("two.rs").read(), "no state is found"
    model.save_weights("two.weights.h5")
    exec(lines(cellc("two.weights.h5", succeeds=False)), {"model": model, "keras": keras})
    assert os.path.exists("two.weights.xml")


def subprocess_keras(x):
    """What Keras computes with the backend torch."""
    np.save("x.npy", x)
    script = (
        "import os; os.environ['KERAS_BACKEND'] = 'torch'\n"
        "import keras, numpy as np\n"
        "model = keras.saving.load_model('net.keras', compile=False)\n"
        "np.save('y.npy', keras.ops.convert_to_numpy(model(np.load('x.npy'))))\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    return np.load("y.npy")


if __name__ == "__main__":
    for run, modules in [(torch_lines, ["torch", "onnxscript", "safetensors"]), (script_lines, ["torch", "onnx"]), (keras_lines, ["keras", "openvino", "torch"])]:
        is_absent = lambda name: subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True).returncode
        absent = [name for name in modules if is_absent(name)]
        if absent:
            print(f"left out, no {', '.join(absent)}: {run.__name__}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            run()
            os.chdir("/")
