"""Files of weights that the command reads."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Dict, Union

import numpy as np

_TYPES = {"float16": "F16", "float32": "F32", "float64": "F64"}


def write(
    path: Union[str, "os.PathLike[str]"], tensors: Mapping[str, Any], metadata: Mapping[str, Any]
) -> None:
    """Writes tensors and metadata as ``.safetensors``."""
    arrays = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    header: Dict[str, Any] = {
        "__metadata__": {key: _text(value) for key, value in metadata.items()}
    }
    at = 0
    for name, array in arrays.items():
        if array.dtype.name not in _TYPES:
            raise ValueError(f"{name}: elements are {array.dtype}, but weights are floats")
        header[name] = {
            "dtype": _TYPES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [at, at + array.nbytes],
        }
        at += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    data = [array.astype(array.dtype.newbyteorder("<")).tobytes() for array in arrays.values()]
    Path(path).write_bytes(b"".join([len(text).to_bytes(8, "little"), text, *data]))


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
