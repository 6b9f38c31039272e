"""Writes what PyTorch trained as a file that cellc takes as it is."""

from safetensors.torch import save_file


def save_for_cellc(path, module, recurrent, head=None, **options):
    """Saves the RNN, GRU or LSTM `recurrent` of a module, the Linear `head` behind it, and what cellc has to know of them.

    Options are those that `cellc --help` has for PyTorch's weights, with underscores: head_activation="sigmoid", skip=True, sequence=100.
    """
    layers = module.get_submodule(recurrent)
    said = {"cell": type(layers).__name__.removesuffix("Cell").lower(), "prefix": recurrent}
    if head is not None:
        said["head"] = head
    if getattr(layers, "bidirectional", False):
        said["direction"] = "bidirectional"
    if getattr(layers, "nonlinearity", "tanh") == "relu":
        said["activations"] = "relu"
    said.update(options)
    said = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in said.items()}
    taken = tuple(f"{name}." for name in (recurrent, head) if name is not None)
    tensors = {name: tensor.contiguous() for name, tensor in module.state_dict().items() if name.startswith(taken)}
    save_file(tensors, path, {f"cellc.{key}": value for key, value in said.items()})
