"""What the recipes in PyTorch share: layers, order of the rows, optimizer, training, weights of mtf."""

import argparse
import json
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

MODEL, HEADS, DEPTH, FF, VOCAB = 256, 8, 32, 1024, 384
DECAY, BETA1, BETA2, EPSILON = 0.01, 0.9, 0.98, 1e-6
Z_LOSS = 1e-4  # times the squared logarithm of the softmax's sum: the default of the configurations
END, FIRST_BYTE = 1, 3


# ---- layers ----


def normal(deviation, *shape):
    return nn.Parameter(torch.randn(shape) * deviation)


def truncated(deviation, *shape):
    return nn.Parameter(nn.init.trunc_normal_(torch.empty(shape), 0, deviation, -2 * deviation, 2 * deviation))


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(MODEL))

    def forward(self, x):
        return F.rms_norm(x, (MODEL,), self.scale, 1e-6)


class Attention(nn.Module):
    """Queries are not divided by the root of the depth: the deviation of q contains it."""

    def __init__(self):
        super().__init__()
        self.norm = Norm()
        self.q = normal((MODEL * DEPTH) ** -0.5, MODEL, HEADS * DEPTH)
        self.k = normal(MODEL**-0.5, MODEL, HEADS * DEPTH)
        self.v = normal(MODEL**-0.5, MODEL, HEADS * DEPTH)
        self.o = normal((HEADS * DEPTH) ** -0.5, HEADS * DEPTH, MODEL)

    def heads(self, x, w):
        return (x @ w).unflatten(-1, (HEADS, DEPTH)).transpose(1, 2)

    def forward(self, x, memory=None, rotate=lambda z: z, **visible):
        y = self.norm(x)
        memory = y if memory is None else memory
        seen = F.scaled_dot_product_attention(rotate(self.heads(y, self.q)), rotate(self.heads(memory, self.k)),
                                              self.heads(memory, self.v), scale=1.0, **visible)
        return x + seen.transpose(1, 2).flatten(2) @ self.o


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = Norm()
        self.wi = truncated(MODEL**-0.5, MODEL, FF)
        self.wo = truncated(FF**-0.5, FF, MODEL)

    def forward(self, x):
        return x + F.relu(self.norm(x) @ self.wi) @ self.wo


def token_losses(logits, targets, training):
    log_z = logits.logsumexp(-1)
    plain = log_z - logits.gather(-1, targets[..., None]).squeeze(-1)
    return (plain + Z_LOSS * log_z**2 if training else plain) * (targets != 0)


def encode(text):
    return [b + FIRST_BYTE for b in text] + [END]


def decode(ids):
    """The text before the first end; other ids than bytes are left out."""
    ids = ids[: ids.index(END)] if END in ids else ids
    return bytes(i - FIRST_BYTE for i in ids if FIRST_BYTE <= i < FIRST_BYTE + 256).decode(errors="replace")


# ---- the order of the rows: that of mtf for the same seed ----


def philox(c, k0, k1):
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ k0, b & 0xFFFFFFFF, a >> 32 ^ c[3] ^ k1, a & 0xFFFFFFFF]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c


def shuffled(seed, epoch, n):
    """A permutation of n rows: rounds of a Feistel network, repeated where the result is n or more."""
    half = 3
    while (n - 1) >> (2 * half):
        half += 1
    keys = [np.uint32(philox([i // 4, 0x73687566, epoch, 0], seed, 0)[i % 4]) for i in range(8)]

    def permute(x):
        low, high = (x & (1 << half) - 1).astype(np.uint32), (x >> half).astype(np.uint32)
        for key in keys:
            y = (low ^ key) * np.uint32(0x9E3779B1)
            y = (y ^ y >> np.uint32(15)) * np.uint32(0x85EBCA77)
            y ^= y >> np.uint32(13)
            low, high = high ^ y >> np.uint32(32 - half), low
        return high.astype(np.int64) << half | low

    order = permute(np.arange(n, dtype=np.int64))
    while (order >= n).any():
        order = np.where(order >= n, permute(order), order)
    return order


def batches(rows, batch, steps, seed, shuffle):
    """The numbers of the rows of each step; a batch may begin in one epoch and end in the next."""
    epochs = -(-steps * batch // rows)
    order = [shuffled(seed, e, rows) if shuffle else np.arange(rows) for e in range(epochs)]
    return torch.from_numpy(np.concatenate(order)[: steps * batch]).view(steps, batch)


# ---- training ----


class Adam:
    """Adam without correction of the moments' bias, as AdamWeightDecayOptimizer has it."""

    def __init__(self, parameters):
        self.all = list(parameters)
        self.m = [torch.zeros_like(p) for p in self.all]
        self.v = [torch.zeros_like(p) for p in self.all]

    @torch.no_grad()
    def step(self, rate):
        gradients = [p.grad for p in self.all]
        torch._foreach_lerp_(self.m, gradients, 1 - BETA1)
        torch._foreach_mul_(self.v, BETA2)
        torch._foreach_addcmul_(self.v, gradients, gradients, 1 - BETA2)
        below = torch._foreach_sqrt(self.v)
        torch._foreach_add_(below, EPSILON)
        torch._foreach_mul_(self.all, 1 - rate * DECAY)
        torch._foreach_addcdiv_(self.all, self.m, below, -rate)
        for p in self.all:
            p.grad = None


def options(batch, steps, rate, warm_up):
    parser = argparse.ArgumentParser()
    parser.add_argument("train")
    parser.add_argument("dev")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=steps)
    parser.add_argument("--batch", type=int, default=batch)
    parser.add_argument("--rate", type=float, default=rate)
    parser.add_argument("--warm-up", type=int, default=warm_up)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--log-every", type=int, default=50, help="print the mean loss of so many steps")
    parser.add_argument("--weights", help="safetensors file of a checkpoint of mtf to begin with")
    parser.add_argument("--no-shuffle", action="store_true")
    parser.add_argument("--answers", help="catalogues: file for the translations of dev")
    o = parser.parse_args()
    torch.manual_seed(o.seed)
    torch.set_num_threads(o.threads)
    torch.set_float32_matmul_precision("high")  # TF32 on GPUs, as mtf --tf32
    return o


def rate_of(step, o):
    """The step counts from 0."""
    return o.rate * min(1, step / o.warm_up) * (1 + math.cos(math.pi * step / o.steps)) / 2


def train(model, fields, o):
    """fields: tensors [rows, ...], of which each step passes a batch to the model."""
    optimizer, since = Adam(model.parameters()), []
    fields = [f.to(o.device) for f in fields]
    order = batches(len(fields[0]), o.batch, o.steps, o.seed, not o.no_shuffle).to(o.device)
    for step in range(o.steps):
        loss = model(*(f[order[step]] for f in fields)).mean()
        loss.backward()
        optimizer.step(rate_of(step, o))
        since.append(loss.detach())
        if len(since) == o.log_every or step + 1 == o.steps:
            print(json.dumps({"step": step + 1, "loss": torch.stack(since).mean().item()}), flush=True)
            since = []


# ---- weights of mtf ----


class Weights:
    def __init__(self, path):
        from safetensors.torch import load_file

        self.all = load_file(path)

    def copy(self, parameter, name):
        parameter.data.copy_(self.all[name].view(parameter.shape))

    def layer(self, layer, scope, kind):
        self.copy(layer.norm.scale, scope + "rms_norm/scale")
        if kind == "DenseReluDense":
            for name in ("wi", "wo"):
                self.copy(getattr(layer, name), f"{scope}{kind}/{name}/kernel")
        else:
            for name in "qkvo":
                self.copy(getattr(layer, name), f"{scope}{kind}/{name}")
