"""Gradual magnitude pruning by blocks: what cellc leaves out of flash and time.

    python prune.py [FILE]

Trains the voice-activity detector of train.py with 32 units, and makes two thirds of the blocks of 4 outputs x 4 inputs zero meanwhile: those
with the smallest squares. The number of zero blocks grows with the third power of the time left, so that the other weights can adapt. Masks
are fixed in the last third of the training. Saves the network to FILE, then compile it:

    cellc FILE --precision int8 --target cortex-m4f -o net.c
"""

import sys

import torch

GATES = {torch.nn.GRU: 3, torch.nn.LSTM: 4}


class BlockPruning:
    """Keeps blocks of zeros in the matrices of a module, more of them from step to step.

    density: the share of blocks that stays in the end. first, last: the steps between which blocks become zero. block: rows and columns.
    Call `after(step)` after each step of the optimiser."""

    def __init__(self, module, density, first, last, block=(4, 4)):
        self.density, self.first, self.last, self.block = density, first, last, block
        # blocks lie within a gate
        self.matrices = [
            (weight, GATES.get(type(part), 1))
            for part in module.modules()
            for name, weight in part.named_parameters(recurse=False)
            if name.startswith("weight") and weight.dim() == 2 and min(weight.shape) >= max(block)
        ]
        self.masks = [torch.ones_like(weight) for weight, _ in self.matrices]

    def share(self, step):
        """The share of blocks that stays at a step."""
        left = 1 - min(max((step - self.first) / (self.last - self.first), 0), 1)
        return self.density + (1 - self.density) * left**3

    def mask(self, weight, gates, share):
        """1 for the largest blocks, else 0."""
        rows, columns = self.block
        height, width = weight.shape[0] // gates, weight.shape[1]
        padded = torch.nn.functional.pad(
            weight.detach().reshape(gates, height, width), (0, -width % columns, 0, -height % rows)
        )
        squares = padded.square().unfold(1, rows, rows).unfold(2, columns, columns).sum((3, 4))
        count = max(1, round(squares.numel() * share))
        kept = torch.zeros(squares.numel(), dtype=weight.dtype)
        kept[squares.flatten().topk(count).indices] = 1
        kept = kept.reshape(squares.shape).repeat_interleave(rows, 1).repeat_interleave(columns, 2)
        return kept[:, :height, :width].reshape(weight.shape)

    @torch.no_grad()
    def after(self, step):
        for at, (weight, gates) in enumerate(self.matrices):
            if self.first <= step <= self.last:
                self.masks[at] = self.mask(weight, gates, self.share(step))
            weight.mul_(self.masks[at])


def main(file):
    from cellc.torch import export_weights
    from train import Net, frames, several_of_the_last

    torch.manual_seed(1)
    net = Net(32)
    optimiser = torch.optim.Adam(net.parameters(), 1e-2)
    pruning = BlockPruning(net, density=1 / 3, first=50, last=200)
    for step in range(300):
        loud = (torch.rand(32, 40).cumsum(1) * 0.6 % 2 < 1).float()
        loss = torch.nn.functional.binary_cross_entropy(net(frames(loud))[..., 0], several_of_the_last(loud))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        pruning.after(step)
    kept = [f"{mask.mean():.2f}" for mask in pruning.masks]
    print(f"loss {loss.item():.4f}, density of the matrices {' '.join(kept)}")
    export_weights(net, file, "gru", head="fc", head_activation="sigmoid")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "pruned.safetensors")
