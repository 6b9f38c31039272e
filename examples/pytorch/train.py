"""Trains the network of this example and saves it as model/net.safetensors.

    pip install torch, and the package in python/
    python train.py

A GRU of 16 units with a dense layer and a sigmoid learns to say whether at least 3 of the last 4 frames were loud, from the energies of
4 bands with noise on them: a voice-activity detector in small. What PyTorch computes for the frames of the example is printed at the end.
"""

import torch

from cellc.torch import export_weights

class Net(torch.nn.Module):
    def __init__(self, units=16):
        super().__init__()
        self.gru = torch.nn.GRU(4, units, batch_first=True)
        self.fc = torch.nn.Linear(units, 1)

    def forward(self, frames):
        return torch.sigmoid(self.fc(self.gru(frames)[0]))


def frames(loud):
    return loud[..., None] * torch.tensor([1.0, 0.75, 0.5, 0.25]) + 0.3 * torch.rand(*loud.shape, 4)


def several_of_the_last(loud):
    padded = torch.nn.functional.pad(loud, (3, 0))
    return (padded.unfold(-1, 4, 1).sum(-1) >= 3).float()


def main():
    torch.manual_seed(1)
    net = Net()
    optimiser = torch.optim.Adam(net.parameters(), 1e-2)
    for step in range(300):
        # runs of loud and quiet frames
        loud = (torch.rand(32, 40).cumsum(1) * 0.6 % 2 < 1).float()
        loss = torch.nn.functional.binary_cross_entropy(net(frames(loud))[..., 0], several_of_the_last(loud))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    print(f"loss {loss.item():.4f}")
    export_weights(net, "model/net.safetensors", "gru", head="fc", head_activation="sigmoid")

    example = torch.tensor([float(k in (2, 3, 4, 5, 6, 7, 12, 18, 19, 20)) for k in range(24)])
    example = example[:, None] * torch.tensor([1.0, 0.75, 0.5, 0.25]) + 0.125
    print([round(p, 5) for p in net(example[None])[0, :, 0].tolist()])


if __name__ == "__main__":
    main()
