"""The network of `mtf train unet` in PyTorch, with the same loss, on volumes that ellipsoids.py wrote.

    python3 examples/recipes/torch_volumes.py FOLDER [--epochs 10] [--seed 1] [--threads N] [--device cpu]
        [--compile]

Prints examples a second of the training and the overlap (Dice) of each class in the evaluation.
"""

import argparse
import math
import time

import numpy as np
import torch
import torch.nn.functional as F


class Step(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = torch.nn.Conv3d(inputs, outputs, 3, padding=1, bias=False)
        self.norm = torch.nn.BatchNorm3d(outputs, eps=1e-6, momentum=0.1)
        torch.nn.init.xavier_uniform_(self.conv.weight)

    def forward(self, x):
        return F.leaky_relu(self.norm(self.conv(x)), 0.1)


def level(inputs, outputs, convs):
    return torch.nn.Sequential(*(Step(inputs if k == 0 else outputs, outputs) for k in range(convs)))


class UNet(torch.nn.Module):
    def __init__(self, filters=16, levels=3, convs=2, classes=3):
        super().__init__()
        sizes = [filters << k for k in range(levels)]
        self.down = torch.nn.ModuleList(level(a, b, convs) for a, b in zip([1] + sizes, sizes))
        self.wide = torch.nn.ModuleList(
            torch.nn.ConvTranspose3d(2 * n, n, 2, 2, bias=False) for n in sizes[:-1])
        self.up = torch.nn.ModuleList(level(2 * n, n, convs) for n in sizes[:-1])
        self.last = torch.nn.Conv3d(filters, classes, 1, bias=False)
        for m in [*self.wide, self.last]:
            torch.nn.init.xavier_uniform_(m.weight)

    def forward(self, x, k=0):
        seen = self.down[k](x)
        if k == len(self.down) - 1:
            return seen
        below = self.forward(F.max_pool3d(seen, 2), k + 1)
        y = self.up[k](torch.cat((self.wide[k](below), seen), 1))
        return self.last(y) if k == 0 else y


def dice(x, y, over, above, below):
    return (2 * (x * y).sum(over) + above) / (x.sum(over) + y.sum(over) + below)


def loss_of(logits, labels, weights):
    truth = F.one_hot(labels, logits.shape[1]).movedim(-1, 1)[:, 1:].float()
    p = logits.softmax(1)[:, 1:]
    overlap = -0.5 * (dice(p, truth, (2, 3, 4), 0, 0.1).mean() + dice(p, truth, (0, 2, 3, 4), 0, 0.1).mean())
    entropy = (F.cross_entropy(logits, labels, reduction="none") * weights[labels]).mean()
    return 0.2 * overlap + 0.8 * entropy


def main():
    a = arguments()
    torch.manual_seed(a.seed)
    if a.threads:
        torch.set_num_threads(a.threads)
    parts = [np.load("%s/%s.npy" % (a.folder, name))
             for name in ("train-volumes", "train-labels", "test-volumes", "test-labels")]
    x, y, tx, ty = (torch.from_numpy(p if p.dtype == np.float32 else p.astype(np.int64)).to(a.device)
                    for p in parts)
    weights = torch.tensor([1.0, 8.0, 16.0], device=a.device)
    net = UNet().to(a.device)
    run = torch.compile(net) if a.compile else net
    adam = torch.optim.Adam(net.parameters(), lr=0.01)
    steps, step, begin = a.epochs * (len(x) // 8), 0, 0
    for _ in range(a.epochs):
        for rows in torch.randperm(len(x)).split(8):
            rate = 0.01 * min(1, (step + 1) / 20) * 0.5 * (1 + math.cos(math.pi * step / steps))
            adam.param_groups[0]["lr"] = rate
            loss = loss_of(run(x[rows, None]), y[rows], weights)
            adam.zero_grad()
            loss.backward()
            adam.step()
            step += 1
            if step == 3:  # what is compiled or chosen once does not count
                loss.item()
                begin = time.time()
    loss.item()
    print("%.1f examples/s" % (8 * (steps - 3) / (time.time() - begin)))
    net.eval()
    with torch.no_grad():
        best = torch.cat([net(v[:, None]).argmax(1) for v in tx.split(8)])
    for k in (1, 2):
        print("dice_%d %.4f" % (k, dice((best == k).float(), (ty == k).float(), (1, 2, 3), 1e-3, 1e-3).mean()))


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder")
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--threads", type=int, default=0)
    p.add_argument("--device", default="cpu")
    p.add_argument("--compile", action="store_true")
    return p.parse_args()


if __name__ == "__main__":
    main()
