"""Compiles recurrent and streaming networks to C or Rust, and runs them.

``compile`` gives a network that runs in this process; ``generate`` gives the source files;
``check`` compares the generated code with a float64 reference; ``inspect`` describes the layers,
their memory and their expected time. ``cellc.torch`` exports, compares and trains networks of
PyTorch; ``cellc.quantised`` is the integer arithmetic of generated code in NumPy.
"""

from ._command import Error, Notice, check, command, generate, inspect
from ._network import Network, State, Tensor, compile

__all__ = [
    "Error",
    "Network",
    "Notice",
    "State",
    "Tensor",
    "check",
    "command",
    "compile",
    "generate",
    "inspect",
]
