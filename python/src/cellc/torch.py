"""PyTorch networks: export to files that cellc compiles, comparison with generated code, and
training for its integer arithmetic. Needs PyTorch 1.13 or later."""

from __future__ import annotations

import contextlib
import copy
import inspect as python_inspect
import os
import warnings
from collections.abc import Mapping
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import numpy as np
import torch
from torch import Tensor, nn

from . import _safetensors
from ._command import Error, Notice, inspect
from ._network import Network, compile
from .quantised import GRU, LSTM, PRECISIONS, RNN, Linear, largest, rows, sigmoid, tanh

Path = Union[str, "os.PathLike[str]"]

__all__ = ["check", "export", "export_weights", "quantised"]


# --- files


def export(
    net: nn.Module,
    example: Any,
    path: Path,
    *,
    steps: Optional[Mapping[str, int]] = None,
    state: Optional[Mapping[str, str]] = None,
    inputs: Optional[Sequence[str]] = None,
    outputs: Optional[Sequence[str]] = None,
) -> Dict[str, Any]:
    """Writes a network as ONNX, and returns its description by ``cellc.inspect``.

    ``example`` is a tensor or a tuple of tensors, the arguments of ``net``. ``steps={"x": 1}``
    names the axis of time steps of each input that has one; the file then takes any number of
    steps. ``state={"h": "hn"}`` names each state input and the output with its next value.

    ``inputs`` and ``outputs`` are the names of all tensors. By default inputs have the names of the
    arguments, and outputs are y, or y0, y1 and so on, then the states in the order of ``state``. A
    network of ``quantised`` is written with its f32 weights.

    Warns if cellc needs ``state`` as an option to find the states. Raises ValueError for a wrong
    name, axis or shape, and ``Error`` if cellc refuses the file or finds no open steps.
    """
    steps, state = dict(steps or {}), dict(state or {})
    arguments = example if isinstance(example, tuple) else (example,)
    with _plain(net), torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = list(inputs or _names(net, arguments))
        tensors = _flat(arguments)
        if len(names) != len(tensors):
            raise ValueError(f"inputs: {len(names)} names of {len(tensors)} tensors")
        for name in [*steps, *state]:
            if name not in names:
                raise ValueError(f"{name}: no such input; the network has {', '.join(names)}")
        # an axis of one element may be taken for a constant
        arguments = _with_steps(arguments, names, steps, lambda size: max(size, 2))
        longer = _with_steps(arguments, names, steps, lambda size: size + 1)
        results, others = _flat(net(*arguments)), _flat(net(*longer))
        wanted = list(outputs or _output_names(len(results), state))
        if len(wanted) != len(results):
            raise ValueError(f"outputs: {len(wanted)} names of {len(results)} tensors")
        _are_states(dict(zip(names, tensors)), dict(zip(wanted, results)), state)
        open_axes = {name: {axis: "steps"} for name, axis in steps.items()}
        for name, one, other in zip(wanted, results, others):
            axes = [k for k, sizes in enumerate(zip(one.shape, other.shape)) if len(set(sizes)) > 1]
            if axes:
                open_axes[name] = {axis: "steps" for axis in axes}
        _write(net, arguments, path, names, wanted, open_axes)
    return _found(path, steps, state)


def _write(
    net: nn.Module,
    arguments: Tuple[Any, ...],
    path: Path,
    names: List[str],
    outputs: List[str],
    open_axes: Dict[str, Dict[int, str]],
) -> None:
    options: Dict[str, Any] = {"input_names": names, "output_names": outputs}
    if "dynamo" not in python_inspect.signature(torch.onnx.export).parameters:
        torch.onnx.export(net, arguments, os.fspath(path), dynamic_axes=open_axes, **options)
        return
    try:
        # this exporter needs no other package
        torch.onnx.export(
            net, arguments, os.fspath(path), dynamic_axes=open_axes, dynamo=False, **options
        )
    except Exception as first:  # whatever an operator without a translation raises
        axes = iter([open_axes.get(name) for name in names])
        steps = torch.export.Dim("steps")
        shapes = _like(arguments, lambda _: {axis: steps for axis in next(axes) or {}} or None)
        try:
            torch.onnx.export(
                net, arguments, os.fspath(path), dynamic_shapes=shapes, dynamo=True, **options
            )
        except ImportError:
            raise first from None


def _found(path: Path, steps: Dict[str, int], state: Dict[str, str]) -> Dict[str, Any]:
    """The description of a file whose open steps and states are found."""
    described = inspect(os.fspath(path), quiet=True)
    if not _has(described, state):
        described = inspect(os.fspath(path), state=state, quiet=True)
        pairs = " ".join(f"--state {given}={following}" for given, following in state.items())
        warnings.warn(f"cellc finds the states of {path} with {pairs}", Notice, stacklevel=3)
    for name, axis in steps.items():
        of = [each for each in described["inputs"] if each["name"] == name]
        if of and of[0]["shape"][axis] != 1:
            raise Error(f"{name}: cellc found no open steps, but the shape {of[0]['shape']}")
    return described


def _has(described: Dict[str, Any], state: Dict[str, str]) -> bool:
    """Whether outputs are the next values of states."""
    places = {each["name"]: k for k, each in enumerate(described["inputs"])}
    nexts = {each["name"]: each["state"] for each in described["outputs"]}
    return all(nexts.get(b) == places[a] for a, b in state.items() if a in places)


def _flat(value: Any) -> List[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [tensor for each in value for tensor in _flat(each)]
    raise ValueError(f"a {type(value).__name__} among the tensors of the network")


def _like(value: Any, of: Callable[[Tensor], Any]) -> Any:
    """The same nest of tuples, with another value for each tensor."""
    if isinstance(value, (tuple, list)):
        return type(value)(_like(each, of) for each in value)
    return of(value)


def _names(net: nn.Module, arguments: Tuple[Any, ...]) -> List[str]:
    """The names of the arguments; those of a tuple are numbered."""
    names = []
    for name, value in zip(python_inspect.signature(net.forward).parameters, arguments):
        if isinstance(value, Tensor):
            names.append(name)
        else:
            names += [f"{name}{k}" for k in range(len(_flat(value)))]
    return names


def _output_names(count: int, state: Dict[str, str]) -> List[str]:
    others = count - len(state)
    if others < 0:
        raise ValueError(f"state: {len(state)} states, but the network has {count} outputs")
    return (["y"] if others == 1 else [f"y{k}" for k in range(others)]) + list(state.values())


def _are_states(
    given: Dict[str, Tensor], results: Dict[str, Tensor], state: Dict[str, str]
) -> None:
    for name, following in state.items():
        if following not in results:
            raise ValueError(f"{following}: no such output; the network has {', '.join(results)}")
        shapes = [list(tensor.shape) for tensor in (given[name], results[following])]
        if shapes[0] != shapes[1]:
            raise ValueError(f"{name}: the shape is {shapes[0]}, but {following} has {shapes[1]}")


def _with_steps(
    arguments: Any, names: List[str], steps: Dict[str, int], count: Callable[[int], int]
) -> Any:
    """The arguments with other numbers of steps."""
    left = iter(names)

    def of(tensor: Tensor) -> Tensor:
        name = next(left)
        if name not in steps:
            return tensor
        axis = steps[name]
        if not 0 <= axis < tensor.dim():
            raise ValueError(f"{name}: no axis {axis} in the shape {list(tensor.shape)}")
        wanted = count(tensor.shape[axis])
        times = -(-wanted // max(tensor.shape[axis], 1))
        return torch.cat([tensor] * times, axis).narrow(axis, 0, wanted).contiguous()

    return _like(arguments, of)


def export_weights(
    net: nn.Module, path: Path, recurrent: str, head: Optional[str] = None, **options: Any
) -> None:
    """Writes the weights of the RNN, GRU or LSTM ``recurrent`` of a network and of the Linear
    ``head`` behind it as ``.safetensors``, with the metadata that cellc needs.

    Options are those of the command for PyTorch's weights: ``head_activation="sigmoid"``,
    ``skip=True``, ``sequence=100``.
    """
    layers = net.get_submodule(recurrent)
    kinds = {
        "rnn": (nn.RNN, nn.RNNCell),
        "gru": (nn.GRU, nn.GRUCell),
        "lstm": (nn.LSTM, nn.LSTMCell),
    }
    cell = [name for name, of in kinds.items() if isinstance(layers, of)]
    if not cell:
        raise ValueError(f"{recurrent}: a {type(layers).__name__}, but an RNN, GRU or LSTM is read")
    said: Dict[str, Any] = {"cell": cell[0], "prefix": recurrent}
    if head is not None:
        said["head"] = head
    if getattr(layers, "bidirectional", False):
        said["direction"] = "bidirectional"
    if getattr(layers, "nonlinearity", "tanh") == "relu":
        said["activations"] = "relu"
    said.update(options)
    taken = tuple(f"{name}." for name in (recurrent, head) if name is not None)
    tensors = {
        name: _array(tensor) for name, tensor in net.state_dict().items() if name.startswith(taken)
    }
    _safetensors.write(path, tensors, {f"cellc.{key}": value for key, value in said.items()})


def _array(tensor: Tensor) -> np.ndarray:
    tensor = tensor.detach().cpu()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()


# --- comparison


def check(
    net: nn.Module, model: Union[Path, bytes], inputs: Any, *, quiet: bool = False, **options: Any
) -> Dict[str, Dict[str, float]]:
    """Compares PyTorch with generated code, and prints for each output the largest error, the root
    mean square error and the signal-to-noise ratio in dB. Returns them by the name of the output.

    ``inputs`` is a tensor or a tuple of tensors, the arguments of ``net``. Where a step reads fewer
    elements of an axis, the axis counts steps. States begin at 0. ``options`` are those of
    ``cellc.compile``; a network of ``quantised`` is compared in its precision.

    Raises ValueError if shapes do not fit.
    """
    arguments = inputs if isinstance(inputs, tuple) else (inputs,)
    precisions = {of.precision for of in net.modules() if isinstance(of, _Quantised)}
    if len(precisions) == 1 and "precision_of" not in options:
        options.setdefault("precision", precisions.pop())
    was_training = net.training
    with torch.no_grad():
        expected = [_array(of) for of in _flat(net.eval()(*arguments))]
    net.train(was_training)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Notice)
        network = compile(os.fspath(model) if not isinstance(model, bytes) else model, **options)
    got = _run(network, [_array(of) for of in _flat(arguments)], expected)
    report = {}
    for (name, value), of in zip(got.items(), expected):
        error = value.astype(np.float64) - of
        rms = float(np.sqrt(np.mean(error**2)))
        signal = float(np.sqrt(np.mean(of.astype(np.float64) ** 2)))
        snr = float("inf") if rms == 0 else 20 * float(np.log10(max(signal, 1e-300) / rms))
        report[name] = {"largest": float(np.max(np.abs(error))), "rms": rms, "snr": snr}
        if not quiet:
            largest_error = report[name]["largest"]
            print(f"{name}: largest error {largest_error:.2e}, rms {rms:.2e}, SNR {snr:.1f} dB")
    return report


def _run(
    network: Network, given: List[np.ndarray], expected: List[np.ndarray]
) -> Dict[str, np.ndarray]:
    """Runs all steps; outputs have the shapes of PyTorch's."""
    if len(network.outputs) != len(expected):
        raise ValueError(
            f"{len(expected)} outputs of the network, but the code has {len(network.outputs)}"
        )
    # states of the code are arguments of PyTorch's network
    if len(given) < len(network.inputs):
        raise ValueError(f"{len(given)} inputs, but the code reads {len(network.inputs)}")
    for state in given[len(network.inputs) :]:
        if np.any(state):
            raise ValueError("inputs: a state is not 0, but generated code begins at 0")
    arrays, count = [], 1
    for of, array in zip(network.inputs, given):
        axis = _axis(of.name, array.shape, of.shape)
        if axis is not None:
            count = array.shape[axis] // of.shape[axis]
            array = np.stack(np.split(array, count, axis))
        arrays.append((axis, array))
    in_steps = any(axis is not None for axis, _ in arrays)
    network.reset()
    if in_steps:
        values = [
            array if axis is not None or not of.each_step else np.stack([array] * count)
            for of, (axis, array) in zip(network.inputs, arrays)
        ]
        results: Any = network.steps(*values)
    else:
        results = network.step(*(array for _, array in arrays))
    if not isinstance(results, dict):
        results = {network.outputs[0].name: results}
    got = {}
    for of, wanted in zip(network.outputs, expected):
        value = results[of.name]
        if in_steps and of.each_step:
            axis = _axis(of.name, wanted.shape, of.shape)
            value = value[-1] if axis is None else np.concatenate(list(value), axis)
        if value.shape != wanted.shape:
            raise ValueError(
                f"{of.name}: the shape is {list(value.shape)}, but PyTorch's {list(wanted.shape)}"
            )
        got[of.name] = value
    return got


def _axis(name: str, shape: Tuple[int, ...], of_step: Tuple[int, ...]) -> Optional[int]:
    """The axis of steps; None if a step has the whole tensor."""
    if len(shape) != len(of_step):
        raise ValueError(f"{name}: the shape is {list(shape)}, but a step has {list(of_step)}")
    axes = [k for k, sizes in enumerate(zip(shape, of_step)) if sizes[0] != sizes[1]]
    if len(axes) > 1 or any(shape[k] % max(of_step[k], 1) for k in axes):
        raise ValueError(f"{name}: the shape is {list(shape)}, but a step has {list(of_step)}")
    return axes[0] if axes else None


# --- training


def quantised(
    net: nn.Module, precision: str, *, precision_of: Optional[Mapping[str, str]] = None
) -> nn.Module:
    """A copy of a network that computes in the integers of generated code: GRU, LSTM, RNN, their
    cells and Linear multiply integers of ``"int8"``, ``"int16"`` or ``"int8x16"``.

    ``precision_of={"fc": "f32"}`` gives single modules another precision. Train the copy to fit its
    weights to the arithmetic, then ``export`` it; ``cellc.compile(..., precision="int8")`` has the
    same integers. Other layers stay f32: with convolutions, compile with ``precision_of`` for them.

    In training weights, x and h are rounded, and gradients pass through the rounding. In
    evaluation the layers compute with the bits of generated code for a processor with fused
    multiply-add, in NumPy, without gradients.
    """
    others = dict(precision_of or {})
    for each in [precision, *others.values()]:
        if each not in PRECISIONS and each != "f32":
            raise ValueError(f"precision is {each!r}: {', '.join(PRECISIONS)} are valid")
    net = copy.deepcopy(net)
    for name, module in net.named_modules():
        of = others.pop(name, precision)
        # subclasses may compute something else
        if type(module) in _OF and of != "f32":
            if getattr(module, "proj_size", 0):
                raise ValueError(f"{name}: proj_size is not supported")
            module.__class__ = _OF[type(module)]
            module.precision = of
    if others:
        raise ValueError(f"precision_of: no module {next(iter(others))!r}")
    return net


class _Quantised:
    """A module whose products are those of integers."""

    precision: str
    _kept: Any = None

    def _twin(self, name: str, make: Callable[..., Any], *tensors: Optional[Tensor]) -> Any:
        """The NumPy twin of some weights, made again if they change."""
        arrays = [None if tensor is None else _array(tensor) for tensor in tensors]
        kept = self.__dict__.setdefault("_twins", {})
        if name in kept:
            before, of_precision, twin = kept[name]
            if of_precision == self.precision and all(map(_equal, before, arrays)):
                return twin
        twin = make(*arrays, precision=self.precision)
        copies = [None if array is None else array.copy() for array in arrays]
        kept[name] = (copies, self.precision, twin)
        return twin

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, precision={self.precision}"  # type: ignore[misc]


def _equal(a: Optional[np.ndarray], b: Optional[np.ndarray]) -> bool:
    return (a is None and b is None) or (a is not None and b is not None and np.array_equal(a, b))


@contextlib.contextmanager
def _plain(net: nn.Module) -> Iterator[None]:
    """The network in evaluation, without integers."""
    classes: Dict[nn.Module, type] = {
        module: type(module) for module in net.modules() if isinstance(module, _Quantised)
    }
    modes = {module: module.training for module in net.modules()}
    for module, of in classes.items():
        module.__class__ = next(plain for plain, integers in _OF.items() if integers is of)
    net.eval()
    try:
        yield
    finally:
        for module, of in classes.items():
            module.__class__ = of
        for module, training in modes.items():
            module.training = training


class _Straight(torch.autograd.Function):
    """Rounded numbers, with the gradient of the numbers."""

    @staticmethod
    def forward(_: Any, values: Tensor, rounded: Tensor) -> Tensor:
        return rounded.view_as(rounded)

    @staticmethod
    def backward(_: Any, gradient: Tensor) -> Tuple[Tensor, None]:
        return gradient, None


def _vectors(values: Tensor, precision: str) -> Tensor:
    """Vectors as integers times one scale each."""
    with torch.no_grad():
        most = float(largest(precision, values.shape[-1]))
        magnitude = values.abs().amax(-1, keepdim=True).clamp(min=2.0**-100)
        rounded = torch.round(values * (most / magnitude)) * (magnitude / most)
    return _Straight.apply(values, rounded)


def _rows(weight: Tensor, precision: str) -> Tensor:
    """A matrix as integers times one scale for each row."""
    rounded = torch.from_numpy(rows(_array(weight), precision).numbers())
    return _Straight.apply(weight, rounded.to(weight.device, weight.dtype))


def _in_numpy(function: Callable[..., Any], *tensors: Tensor) -> Tuple[Tensor, ...]:
    """Calls a function of NumPy arrays on tensors."""
    results = function(*(_array(tensor.float()) for tensor in tensors))
    results = results if isinstance(results, tuple) else (results,)
    like = tensors[0]
    return tuple(
        torch.from_numpy(np.ascontiguousarray(of)).to(like.device, like.dtype) for of in results
    )


class QuantisedLinear(_Quantised, nn.Linear):
    """A dense layer whose weights and inputs are rounded to integers."""

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            twin = self._twin("", Linear, self.weight, self.bias)
            return _in_numpy(twin, x)[0]
        weight = _rows(self.weight, self.precision)
        return nn.functional.linear(_vectors(x, self.precision), weight, self.bias)


class QuantisedTanh(_Quantised, nn.Tanh):
    """tanh with the bits of generated code."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(x) if self.training else _in_numpy(tanh, x)[0]


class QuantisedSigmoid(_Quantised, nn.Sigmoid):
    """sigmoid with the bits of generated code."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.sigmoid(x) if self.training else _in_numpy(sigmoid, x)[0]


_Step = Callable[..., Tuple[Tensor, ...]]
"""The next state, from prepared x and the state."""
_Prepare = Callable[[Tensor], Tensor]
"""The work on x that does not depend on the state, for any number of steps."""


class _Recurrent(_Quantised):
    """The step of a cell."""

    hidden_size: int
    training: bool

    def _make(self) -> Callable[..., Any]:
        raise NotImplementedError

    def _pointwise(self, of_x: Tensor, of_h: Tensor, *state: Tensor) -> Tuple[Tensor, ...]:
        """The next state, from the products with their biases."""
        raise NotImplementedError

    def _step(self, suffix: str) -> Tuple[_Prepare, _Step]:
        """One step with the weights whose names have the suffix."""
        names = [f"{name}{suffix}" for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
        weights = [getattr(self, name, None) for name in names]
        if not self.training:
            twin = self._twin(suffix, self._make(), *weights)
            return (lambda x: x), (lambda x, *state: _in_numpy(twin, x, *state))
        of_x, of_h = (_rows(getattr(self, name), self.precision) for name in names[:2])
        bias_x, bias_h = weights[2:]
        linear = nn.functional.linear

        def prepare(x: Tensor) -> Tensor:
            return linear(_vectors(x, self.precision), of_x, bias_x)

        def step(x: Tensor, *state: Tensor) -> Tuple[Tensor, ...]:
            h = linear(_vectors(state[0], self.precision), of_h, bias_h)
            return self._pointwise(x, h, *state)

        return prepare, step


class _Layers(_Recurrent):
    """Recurrent layers over a sequence."""

    batch_first: bool
    bidirectional: bool
    dropout: float
    num_layers: int

    def forward(self, x: Any, hx: Any = None) -> Any:
        if not isinstance(x, Tensor):
            raise ValueError("a packed sequence: give each sequence alone")
        is_batched, has_two = x.dim() == 3, isinstance(self, nn.LSTM)
        if not is_batched:
            x = x.unsqueeze(1)
        elif self.batch_first:
            x = x.transpose(0, 1)
        directions = 2 if self.bidirectional else 1
        if hx is None:
            zeros = x.new_zeros(self.num_layers * directions, x.shape[1], self.hidden_size)
            state = (zeros,) * (2 if has_two else 1)
        else:
            state = tuple(hx) if has_two else (hx,)
            state = state if is_batched else tuple(of.unsqueeze(1) for of in state)
        last = []
        for layer in range(self.num_layers):
            if layer and self.training and self.dropout:
                x = nn.functional.dropout(x, self.dropout)
            results = []
            for direction in range(directions):
                prepare, step = self._step(f"_l{layer}" + ("_reverse" if direction else ""))
                now = tuple(of[layer * directions + direction] for of in state)
                result, now = _over_time(step, prepare(x), now, direction == 1)
                results.append(result)
                last.append(now)
            x = torch.cat(results, -1)
        state = tuple(torch.stack(of) for of in zip(*last))
        if not is_batched:
            x, state = x.squeeze(1), tuple(of.squeeze(1) for of in state)
        elif self.batch_first:
            x = x.transpose(0, 1)
        return x, (state if has_two else state[0])


def _over_time(
    step: _Step, x: Tensor, state: Tuple[Tensor, ...], is_reverse: bool
) -> Tuple[Tensor, Tuple[Tensor, ...]]:
    results = []
    for of_step in reversed(x.unbind(0)) if is_reverse else x.unbind(0):
        state = step(of_step, *state)
        results.append(state[0])
    return torch.stack(results[::-1] if is_reverse else results), state


class _OneStep(_Recurrent):
    """A cell."""

    def forward(self, x: Tensor, hx: Any = None) -> Any:
        has_two = isinstance(self, nn.LSTMCell)
        if hx is None:
            zeros = x.new_zeros(*x.shape[:-1], self.hidden_size)
            state: Tuple[Tensor, ...] = (zeros,) * (2 if has_two else 1)
        else:
            state = tuple(hx) if has_two else (hx,)
        prepare, step = self._step("")
        state = step(prepare(x), *state)
        return state if has_two else state[0]


class _Gru(_Recurrent):
    def _make(self) -> Callable[..., Any]:
        return GRU

    def _pointwise(self, of_x: Tensor, of_h: Tensor, *state: Tensor) -> Tuple[Tensor, ...]:
        (xr, xz, xn), (hr, hz, hn) = of_x.chunk(3, -1), of_h.chunk(3, -1)
        z, r = torch.sigmoid(xz + hz), torch.sigmoid(xr + hr)
        return ((1 - z) * torch.tanh(xn + r * hn) + z * state[0],)


class _Lstm(_Recurrent):
    def _make(self) -> Callable[..., Any]:
        return LSTM

    def _pointwise(self, of_x: Tensor, of_h: Tensor, *state: Tensor) -> Tuple[Tensor, ...]:
        i, f, g, o = (of_x + of_h).chunk(4, -1)
        c = torch.sigmoid(f) * state[1] + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c


class _Rnn(_Recurrent):
    nonlinearity: str

    def _make(self) -> Callable[..., Any]:
        return lambda *weights, **options: RNN(*weights, nonlinearity=self.nonlinearity, **options)

    def _pointwise(self, of_x: Tensor, of_h: Tensor, *state: Tensor) -> Tuple[Tensor, ...]:
        function = torch.relu if self.nonlinearity == "relu" else torch.tanh
        return (function(of_x + of_h),)


class QuantisedGRU(_Gru, _Layers, nn.GRU):
    """A GRU whose weights, x and h are rounded to integers."""


class QuantisedLSTM(_Lstm, _Layers, nn.LSTM):
    """An LSTM whose weights, x and h are rounded to integers."""


class QuantisedRNN(_Rnn, _Layers, nn.RNN):
    """An RNN whose weights, x and h are rounded to integers."""


class QuantisedGRUCell(_Gru, _OneStep, nn.GRUCell):
    """A GRU cell whose weights, x and h are rounded to integers."""


class QuantisedLSTMCell(_Lstm, _OneStep, nn.LSTMCell):
    """An LSTM cell whose weights, x and h are rounded to integers."""


class QuantisedRNNCell(_Rnn, _OneStep, nn.RNNCell):
    """An RNN cell whose weights, x and h are rounded to integers."""


_OF: Dict[type, type] = {
    nn.Linear: QuantisedLinear,
    nn.Tanh: QuantisedTanh,
    nn.Sigmoid: QuantisedSigmoid,
    nn.GRU: QuantisedGRU,
    nn.LSTM: QuantisedLSTM,
    nn.RNN: QuantisedRNN,
    nn.GRUCell: QuantisedGRUCell,
    nn.LSTMCell: QuantisedLSTMCell,
    nn.RNNCell: QuantisedRNNCell,
}
