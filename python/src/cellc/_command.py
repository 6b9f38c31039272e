"""Calls of the command ``cellc``."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Dict, List, Union

Model = Union[str, "os.PathLike[str]", bytes]
"""The path of a model file, or the bytes of one."""


class Error(Exception):
    """cellc refused a model or an option, or the C compiler failed. The text is the command's."""


class Notice(UserWarning):
    """A warning or a notice of the command."""


def command() -> str:
    """The path of the command: that of the environment variable ``CELLC``, else that of this
    package, else the first one in ``PATH``.

    Raises ``Error`` if there is none.
    """
    given = os.environ.get("CELLC")
    if given:
        return given
    name = "cellc" + (sysconfig.get_config_var("EXE") or "")
    folders = [sysconfig.get_path("scripts"), str(Path(sys.prefix) / "bin")]
    if sys.version_info >= (3, 10):
        folders.append(sysconfig.get_path("scripts", scheme=sysconfig.get_preferred_scheme("user")))
    for folder in folders:
        path = Path(folder) / name
        if path.is_file():
            return str(path)
    found = shutil.which("cellc")
    if found is None:
        raise Error("the command cellc is neither in this package nor in PATH")
    return found


def arguments(options: Mapping[str, Any]) -> List[str]:
    """The options of the command for keyword arguments.

    ``True`` is an option without a value; ``None`` and ``False`` leave an option out. A mapping is
    one option for each entry, ``NAME=VALUE``. In a list of sizes ``None`` is an open size.
    """
    out: List[str] = []
    for key, value in options.items():
        option = "--" + key.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            out.append(option)
        elif isinstance(value, Mapping):
            for name, each in value.items():
                out += [option, f"{name}={_text(each)}"]
        else:
            out += [option, _text(value)]
    return out


def _text(value: Any) -> str:
    if value is None:
        return "?"
    if isinstance(value, (list, tuple)):
        return ",".join(_text(each) for each in value)
    return str(value)


def run(arguments: List[str], model: Model, *, accept: "tuple[int, ...]" = (0,)) -> str:
    """Runs the command on a model. Returns its standard output. Its notices become warnings.

    Raises ``Error`` with the command's text if its exit code is not in ``accept``.
    """
    given = model if isinstance(model, bytes) else None
    path = "-" if isinstance(model, bytes) else os.fspath(model)
    done = subprocess.run(
        [command(), *arguments, path],
        input=given,
        stdin=subprocess.DEVNULL if given is None else None,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        check=False,
    )
    said = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode not in accept:
        raise Error(said or f"cellc ended with code {done.returncode}")
    if said:
        warnings.warn(said, Notice, stacklevel=4)
    return done.stdout.decode("utf-8")


def generate(model: Model, language: str = "c", **options: Any) -> Dict[str, bytes]:
    """Generates the source of a model in ``"c"`` or ``"rust"``.

    ``options`` are those of the command: ``precision="int8"``, ``shape={"x": [1, None, 16]}``,
    ``state={"h": "hn"}``, ``target="cortex-m4f"``, ``no_state=True``. Returns the contents of each
    file by its name. ``name`` gives names to the files, their type and their functions.

    Raises ``Error`` if cellc refuses the model or an option.
    """
    ends = {"c": ".c", "rust": ".rs"}
    if language not in ends:
        raise ValueError(f'language is {language!r}: "c" or "rust" is valid')
    name = options.pop("name", None) or "net"
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / (name + ends[language]))
        interface = options.pop("interface", None)
        if interface:
            options["interface"] = str(Path(folder) / interface)
        run(["--name", name, "-o", out, *arguments(options)], model)
        return {file.name: file.read_bytes() for file in sorted(Path(folder).iterdir())}


def inspect(model: Model, **options: Any) -> Dict[str, Any]:
    """Describes a compiled model: inputs, outputs, variables, layers, kernels, memory and expected
    time, as ``cellc inspect --json`` prints them.

    Raises ``Error`` if cellc refuses the model or an option.
    """
    return json.loads(run(["inspect", "--json", *arguments(options)], model))


def check(model: Model, **options: Any) -> Dict[str, Any]:
    """Compares the generated code with a float64 reference and with its error bound, as
    ``cellc check --json`` prints it.

    Raises ``Error`` if cellc refuses the model or an option, or if an error exceeds its bound.
    """
    return json.loads(run(["check", "--json", *arguments(options)], model))
