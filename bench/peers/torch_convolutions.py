"""A step of three convolutions in PyTorch, as ../networks.c has them.

    torch_convolutions.py THREADS eager|compiled BATCH
"""

import sys

import torch
import torch.nn.functional as F

from contest import serve_steps

threads, mode, batch = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
torch.set_num_threads(threads)

CHANNELS = (1, 32, 64, 128)
filters = [
    torch.nn.Parameter(torch.randn(outputs, inputs, 3, 3) * 0.05)
    for inputs, outputs in zip(CHANNELS, CHANNELS[1:])
]
last = torch.nn.Parameter(torch.randn(CHANNELS[-1], 10) * 0.05)
images, labels = torch.rand(batch, 1, 28, 28), torch.randint(0, 10, (batch,))
optimizer = torch.optim.SGD([*filters, last], lr=0.001)


def loss_of(x, y):
    for w in filters:
        x = torch.relu(F.conv2d(x, w, padding=1))
    return F.cross_entropy(x.mean((2, 3)) @ last, y)


loss_of = torch.compile(loss_of) if mode == "compiled" else loss_of


def step():
    optimizer.zero_grad(set_to_none=True)
    loss_of(images, labels).backward()
    optimizer.step()


serve_steps(step)
