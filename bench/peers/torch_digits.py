"""A step of README.md's network in PyTorch.

    torch_digits.py THREADS eager|compiled BATCH
"""

import sys

import torch
import torch.nn.functional as F

from contest import serve_steps

threads, mode, batch = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
torch.set_num_threads(threads)

w1 = torch.nn.Parameter(torch.randn(28 * 28, 1024) * 0.03)
w2 = torch.nn.Parameter(torch.randn(1024, 10) * 0.03)
images, labels = torch.rand(batch, 28 * 28), torch.randint(0, 10, (batch,))
optimizer = torch.optim.SGD([w1, w2], lr=0.001)


def loss_of(x, y):
    return F.cross_entropy(torch.relu(x @ w1) @ w2, y)


loss_of = torch.compile(loss_of) if mode == "compiled" else loss_of


def step():
    optimizer.zero_grad(set_to_none=True)
    loss_of(images, labels).backward()
    optimizer.step()


serve_steps(step)
