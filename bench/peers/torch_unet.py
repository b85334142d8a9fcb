"""The network of `mtf train unet` in PyTorch, that of examples/recipes/torch_volumes.py, on random volumes.

    torch_unet.py MODE --batch 8 --size 32 --depth 16 --filters 16 --levels 3 ...
"""

import os
import sys

import torch

import torch_training

sys.path.append(os.path.join(os.path.dirname(__file__), "../../examples/recipes"))
import torch_volumes  # noqa: E402

a = torch_training.arguments(batch=8, size=32, depth=16, filters=16, levels=3)
space = (a.size, a.size, a.depth)
net = torch_volumes.UNet(a.filters, a.levels).to(a.device)
volumes = torch.rand(a.batch, 1, *space, device=a.device)
labels = torch.randint(0, 3, (a.batch, *space), device=a.device)
weights = torch.tensor([1.0, 8.0, 16.0], device=a.device)
if a.mode == "channels_last":
    net, volumes = (x.to(memory_format=torch.channels_last_3d) for x in (net, volumes))


def loss_of():
    return torch_volumes.loss_of(net(volumes).float(), labels, weights)


torch_training.serve(a, net, loss_of, torch.optim.Adam(net.parameters(), lr=0.01, fused=True))
