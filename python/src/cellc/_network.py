"""Networks that run in this process, from C that the system's compiler compiles."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

from ._command import Error, Model, arguments, generate, inspect

# the number in the header file of the common interface
_INTERFACE = 1
_ELEMENTS: "Dict[int, np.dtype[Any]]" = {
    1: np.dtype(np.float32),
    2: np.dtype(np.int32),
    3: np.dtype(np.int64),
    4: np.dtype(np.bool_),
}


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("size", ctypes.c_size_t),
        ("element", ctypes.c_uint),
        ("each_step", ctypes.c_int),
    ]


_Pointers = ctypes.POINTER(ctypes.c_void_p)


class _Model(ctypes.Structure):
    _fields_ = [
        ("interface_number", ctypes.c_uint),
        ("name", ctypes.c_char_p),
        ("sample_rate", ctypes.c_double),
        ("instance_size", ctypes.c_size_t),
        ("instance_alignment", ctypes.c_size_t),
        ("input_count", ctypes.c_size_t),
        ("inputs", ctypes.POINTER(_Tensor)),
        ("output_count", ctypes.c_size_t),
        ("outputs", ctypes.POINTER(_Tensor)),
        ("in_place_output", ctypes.c_int),
        ("init", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("reset", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("step", ctypes.CFUNCTYPE(None, ctypes.c_void_p, _Pointers, _Pointers)),
        ("steps", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, _Pointers, _Pointers)),
        ("isa_name", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)),
    ]


@dataclass(frozen=True)
class Tensor:
    """An input or an output of a step."""

    name: str
    """The name in generated code."""
    shape: Tuple[int, ...]
    """The sizes of the array that one step reads or writes."""
    dtype: np.dtype
    """float32, int32, int64 or bool."""
    each_step: bool
    """True if ``Network.steps`` takes an array for each step; false if all steps share one."""

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))


class State:
    """The state of a network at one moment, for the network that gave it and its copies in this
    process: ``net.state = saved`` goes back to it. ``bytes(state)`` has its contents."""

    def __init__(self, contents: bytes, of: str) -> None:
        self._contents, self._of = contents, of

    def __bytes__(self) -> bytes:
        return self._contents

    def __eq__(self, other: object) -> bool:
        return isinstance(other, State) and (self._of, self._contents) == (other._of, other._contents)

    def __hash__(self) -> int:
        return hash((self._of, self._contents))

    def __repr__(self) -> str:
        return f"<State of {len(self._contents)} bytes>"


Arrays = Union[np.ndarray, Dict[str, np.ndarray]]


class Network:
    """A compiled network with its state. ``compile`` makes one.

    A network may be used by one thread at a time; ``copy`` gives another one with a state of its
    own that shares the weights.
    """

    inputs: List[Tensor]
    """The inputs of a step. States are neither inputs nor outputs."""
    outputs: List[Tensor]
    """The outputs of a step."""

    def __init__(self, library: ctypes.CDLL, key: str, inputs: List[Tensor], outputs: List[Tensor]) -> None:
        self._library, self._key = library, key
        self._model = _Model.in_dll(library, "net_model")
        self.inputs, self.outputs = inputs, outputs
        size, alignment = self._model.instance_size, self._model.instance_alignment
        self._memory = ctypes.create_string_buffer(size + alignment)
        begin = ctypes.addressof(self._memory)
        self._instance = begin + -begin % alignment
        self._model.init(self._instance)

    @property
    def isa(self) -> str:
        """The instruction set that the network runs on."""
        return self._model.isa_name(self._instance).decode()

    @property
    def sample_rate(self) -> float:
        """The sample rate in Hz, if the model file gives one and a step is a sample; else 0."""
        return float(self._model.sample_rate)

    def reset(self) -> None:
        """Sets the state to its initial value."""
        self._model.reset(self._instance)

    @property
    def state(self) -> State:
        """A copy of the state. Assign one to go back to it; ``bytes`` of one are accepted, too.

        Raises ValueError if the state is that of another network.
        """
        return State(ctypes.string_at(self._instance, self._model.instance_size), self._key)

    @state.setter
    def state(self, state: Union[State, bytes]) -> None:
        if isinstance(state, State) and state._of != self._key:
            raise ValueError("state: it is of another network")
        contents = bytes(state)
        if len(contents) != self._model.instance_size:
            size = self._model.instance_size
            raise ValueError(f"state: {len(contents)} bytes, but this network's has {size}")
        ctypes.memmove(self._instance, contents, len(contents))

    def copy(self) -> "Network":
        """A network with the same weights and a copy of the state."""
        other = Network(self._library, self._key, self.inputs, self.outputs)
        other.state = self.state
        return other

    def step(self, *values: Any, **named: Any) -> Arrays:
        """One step. Inputs are given in order or by name, with their shapes or as flat arrays of as
        many elements; a contiguous array of the right type is read without a copy. Returns the
        output, or with several outputs each by its name.

        Raises ValueError with the input's name if a shape or a type is wrong.
        """
        given = self._given(values, named)
        arrays = [_array(of, given[of.name], of.shape) for of in self.inputs]
        results = [np.empty(of.shape, of.dtype) for of in self.outputs]
        self._model.step(self._instance, _pointers(arrays), _pointers(results))
        return self._results(results)

    def steps(self, *values: Any, **named: Any) -> Arrays:
        """Many steps, in order: the first axis of an input counts the steps, before the axes of a
        step. Outputs have the same first axis. The state continues from call to call.

        Raises ValueError with the input's name if a shape or a type is wrong, or if inputs have
        different numbers of steps.
        """
        given = self._given(values, named)
        count: Optional[int] = None
        arrays = []
        for of in self.inputs:
            if not of.each_step:
                arrays.append(_array(of, given[of.name], of.shape))
                continue
            value = np.asarray(given[of.name])
            if value.ndim == 0:
                raise ValueError(f"{of.name}: a number, but its first axis counts the steps")
            if count is not None and value.shape[0] != count:
                raise ValueError(f"{of.name}: {value.shape[0]} steps, but other inputs have {count}")
            count = value.shape[0]
            arrays.append(_array(of, value, (count, *of.shape)))
        if count is None:
            raise ValueError("no input has an array for each step")
        results = [np.empty((count, *of.shape) if of.each_step else of.shape, of.dtype) for of in self.outputs]
        self._model.steps(self._instance, count, _pointers(arrays), _pointers(results))
        return self._results(results)

    def _given(self, values: Sequence[Any], named: Dict[str, Any]) -> Dict[str, Any]:
        names = [of.name for of in self.inputs]
        if len(values) > len(names):
            raise ValueError(f"{len(values)} inputs, but the network has {len(names)}: {', '.join(names)}")
        given = dict(zip(names, values))
        for name, value in named.items():
            if name not in names:
                raise ValueError(f"{name}: no such input; the network has {', '.join(names)}")
            if name in given:
                raise ValueError(f"{name}: given twice")
            given[name] = value
        missing = [name for name in names if name not in given]
        if missing:
            raise ValueError(f"{missing[0]}: this input is missing")
        return given

    def _results(self, results: List[np.ndarray]) -> Arrays:
        if len(results) == 1:
            return results[0]
        return {of.name: result for of, result in zip(self.outputs, results)}

    def __repr__(self) -> str:
        def texts(tensors: List[Tensor]) -> str:
            return ", ".join(f"{of.name}: {of.dtype}{list(of.shape)}" for of in tensors)

        return f"<Network ({texts(self.inputs)}) -> ({texts(self.outputs)}) on {self.isa}>"


def _array(of: Tensor, value: Any, shape: Tuple[int, ...]) -> np.ndarray:
    array = np.asarray(value)
    # numbers of Python and arrays of another float type are converted; a float is no index
    if array.dtype != of.dtype:
        kinds = {"f": "fiub", "i": "iub", "b": "b"}[of.dtype.kind]
        if array.dtype.kind not in kinds or (of.dtype.kind == "i" and not np.can_cast(array.dtype, of.dtype)
                                             and array.size and not _fits(array, of.dtype)):
            raise ValueError(f"{of.name}: elements are {array.dtype}, but {of.dtype} is read")
        array = array.astype(of.dtype)
    if array.shape != shape:
        flat = int(np.prod(shape, dtype=np.int64))
        if array.ndim != 1 or array.size != flat:
            raise ValueError(f"{of.name}: the shape is {list(array.shape)}, but {list(shape)} is read")
    return np.ascontiguousarray(array)


def _fits(array: np.ndarray, dtype: np.dtype) -> bool:
    limits = np.iinfo(dtype)
    return bool(array.min() >= limits.min and array.max() <= limits.max)


def _pointers(arrays: List[np.ndarray]) -> Any:
    return (ctypes.c_void_p * max(len(arrays), 1))(*(array.ctypes.data for array in arrays))


def compile(
    model: Model,
    *,
    cc: Optional[str] = None,
    cflags: Sequence[str] = ("-O2",),
    cache: Union[str, "os.PathLike[str]", None] = None,
    **options: Any,
) -> Network:
    """Generates C for a model, compiles it with the system's C compiler, and loads it.

    ``options`` are those of the command: ``precision="int8"``, ``shape={"x": [1, None, 16]}``,
    ``state={"h": "hn"}``, ``no_state=True``. ``cc`` is the C compiler, by default that of the
    environment variable ``CC``, else ``cc``, ``gcc`` or ``clang``. Libraries are kept in ``cache``,
    by default a folder ``cellc`` of the user's cache, by a hash of the generated code, the compiler
    and its flags.

    Raises ``Error`` if cellc refuses the model or an option, or if the C compiler fails.
    """
    for of_generate in ("name", "interface", "language", "emit", "output"):
        if of_generate in options:
            raise TypeError(f"compile() has no option {of_generate!r}; generate() has")
    shapes = inspect(model, **options)
    files = generate(model, "c", interface="cellc.h", quiet=True, **options)
    compiler = _compiler(cc)
    flags = ["-shared", "-fPIC", "-std=gnu11", *cflags]
    if options.get("threads") == 2:
        flags.append("-pthread")
    key = _key(files, compiler, flags)
    library = _folder(cache) / f"{key}{'.dll' if sys.platform == 'win32' else '.so'}"
    if not library.is_file():
        _build(files, compiler, flags, library)
    loaded = ctypes.CDLL(str(library))
    found = _Model.in_dll(loaded, "net_model")
    if found.interface_number != _INTERFACE:
        raise Error(f"the interface of this cellc is {found.interface_number}, but {_INTERFACE} is read")
    inputs = _tensors(found.inputs, found.input_count, shapes["inputs"])
    outputs = _tensors(found.outputs, found.output_count, shapes["outputs"])
    return Network(loaded, key, inputs, outputs)


def _tensors(found: Any, count: int, described: List[Dict[str, Any]]) -> List[Tensor]:
    # states are described, but belong to the instance
    arguments_only = [of for of in described if of.get("role", "data") == "data" or "role" not in of]
    shapes = [tuple(of["shape"]) for of in arguments_only]
    out = []
    for i in range(count):
        of = found[i]
        size = of.size
        shape = shapes[i] if i < len(shapes) and int(np.prod(shapes[i], dtype=np.int64)) == size else (size,)
        out.append(Tensor(of.name.decode(), shape, _ELEMENTS[of.element], bool(of.each_step)))
    return out


def _compiler(given: Optional[str]) -> List[str]:
    wanted = given or os.environ.get("CC")
    if wanted:
        return shlex.split(wanted)
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return [name]
    raise Error("no C compiler was found: install gcc or clang, or name one with cc=")


def _key(files: Dict[str, bytes], compiler: List[str], flags: List[str]) -> str:
    digest = hashlib.sha256()
    try:
        version = subprocess.run([*compiler, "--version"], capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise Error(f"the C compiler {compiler[0]} does not run: {error}") from None
    parts = [version, "\0".join([*compiler, *flags]).encode()]
    for name, contents in sorted(files.items()):
        parts += [name.encode(), contents]
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()[:32]


def _folder(given: Union[str, "os.PathLike[str]", None]) -> Path:
    if given is not None:
        folder = Path(given)
    elif os.environ.get("CELLC_CACHE"):
        folder = Path(os.environ["CELLC_CACHE"])
    elif sys.platform == "win32":
        folder = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "cellc"
    elif sys.platform == "darwin":
        folder = Path.home() / "Library" / "Caches" / "cellc"
    else:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cellc"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _build(files: Dict[str, bytes], compiler: List[str], flags: List[str], library: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, contents in files.items():
            (Path(folder) / name).write_bytes(contents)
        out = Path(folder) / ("built" + library.suffix)
        call = [*compiler, *flags, "net.c", "-o", str(out), *([] if sys.platform == "win32" else ["-lm"])]
        done = subprocess.run(call, cwd=folder, capture_output=True, check=False)
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip()
            raise Error(f"{shlex.join(call)}\n{said}")
        # another process may build the same library: the last rename wins, and both are equal
        with tempfile.NamedTemporaryFile(dir=library.parent, delete=False) as part:
            part.write(out.read_bytes())
        os.chmod(part.name, 0o755)
        os.replace(part.name, library)


__all__ = ["Network", "State", "Tensor", "arguments", "compile"]
