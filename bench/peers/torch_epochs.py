"""MNIST epochs by README.md's network in PyTorch, from the images' bytes to the loss.

    torch_epochs.py THREADS eager|compiled BATCH FOLDER
"""

import gzip
import sys

import numpy
import torch
import torch.nn.functional as F

from contest import serve_steps

threads, mode, batch, folder = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
torch.set_num_threads(threads)


def read(name, header):
    with gzip.open(f"{folder}/train-{name}-ubyte.gz") as file:
        return torch.from_numpy(numpy.frombuffer(file.read(), numpy.uint8, offset=header).copy())


images, labels = read("images-idx3", 16).view(-1, 28 * 28), read("labels-idx1", 8)
w1 = torch.nn.Parameter(torch.randn(28 * 28, 1024) * 0.03)
w2 = torch.nn.Parameter(torch.randn(1024, 10) * 0.03)
optimizer = torch.optim.Adam([w1, w2], lr=0.001)


def loss_of(x, y):
    return F.cross_entropy(torch.relu(x @ w1) @ w2, y)


loss_of = torch.compile(loss_of) if mode == "compiled" else loss_of


def batches():
    while True:
        order = torch.randperm(len(labels))
        for at in range(0, len(labels) - batch + 1, batch):
            rows = order[at : at + batch]
            yield images[rows].float().div_(255), labels[rows].long()


source = batches()


def step():
    x, y = next(source)
    optimizer.zero_grad(set_to_none=True)
    loss = loss_of(x, y)
    loss.backward()
    optimizer.step()
    return loss.item()


serve_steps(step)
