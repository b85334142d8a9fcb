"""The language model of share/gin/recipes/speeches.gin in PyTorch, trained with the same recipe.

    torch_speeches.py TRAIN.txt DEV.txt [--seed N] [--steps N] [--threads N] [--weights FILE] [--no-shuffle]

The same sizes, distributions of initial weights, optimizer, schedule, batches and evaluation.  --weights takes
model.safetensors of a checkpoint of mtf, --no-shuffle the windows in the order of the text: then the losses are
those of mtf, up to rounding.
"""

import argparse
import json
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

LAYERS, MODEL, HEADS, DEPTH, FF, VOCAB, LENGTH, BATCH = 4, 256, 8, 32, 1024, 384, 256, 8
RATE, WARM_UP, DECAY, BETA1, BETA2, EPSILON = 0.003, 60, 0.01, 0.9, 0.98, 1e-6
Z_LOSS = 1e-4  # times the squared logarithm of the softmax's sum: the default of the configurations
END, FIRST_BYTE = 1, 3


def normal(deviation, *shape):
    return nn.Parameter(torch.randn(shape) * deviation)


def truncated(deviation, *shape):
    return nn.Parameter(nn.init.trunc_normal_(torch.empty(shape), 0, deviation, -2 * deviation, 2 * deviation))


def rms_norm(x, scale):
    return F.rms_norm(x, (MODEL,), scale, 1e-6)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.Parameter(torch.ones(MODEL)), nn.Parameter(torch.ones(MODEL))
        self.q = normal((MODEL * DEPTH) ** -0.5, MODEL, HEADS * DEPTH)
        self.k = normal(MODEL**-0.5, MODEL, HEADS * DEPTH)
        self.v = normal(MODEL**-0.5, MODEL, HEADS * DEPTH)
        self.o = normal((HEADS * DEPTH) ** -0.5, HEADS * DEPTH, MODEL)
        self.wi = truncated(MODEL**-0.5, MODEL, FF)
        self.wo = truncated(FF**-0.5, FF, MODEL)

    def forward(self, x, cosine, sine):
        def heads(w):
            return (y @ w).unflatten(-1, (HEADS, DEPTH)).transpose(1, 2)

        def turn(z):
            a, b = z.chunk(2, -1)
            return torch.cat((a * cosine - b * sine, b * cosine + a * sine), -1)

        y = rms_norm(x, self.norm1)
        seen = F.scaled_dot_product_attention(turn(heads(self.q)), turn(heads(self.k)), heads(self.v),
                                              is_causal=True, scale=1.0)
        x = x + seen.transpose(1, 2).flatten(2) @ self.o
        return x + F.relu(rms_norm(x, self.norm2) @ self.wi) @ self.wo


class LanguageModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = normal(1, VOCAB, MODEL)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.Parameter(torch.ones(MODEL))
        half = DEPTH // 2
        angle = torch.arange(LENGTH)[:, None] * 10000 ** (-torch.arange(half) / half)
        self.cosine, self.sine = angle.cos(), angle.sin()

    def forward(self, tokens):
        """Losses of all tokens, 0 being padding: each is predicted from those before it."""
        x = self.embedding[F.pad(tokens, (1, -1))]
        for layer in self.layers:
            x = layer(x, self.cosine, self.sine)
        logits = rms_norm(x, self.norm) * MODEL**-0.5 @ self.embedding.T
        log_z = logits.logsumexp(-1)
        plain = log_z - logits.gather(-1, tokens[..., None]).squeeze(-1)
        return (plain + Z_LOSS * log_z**2 if self.training else plain) * (tokens != 0)


def windows(path):
    """Documents between blank lines, each with its end, one after the other, in rows: [rows, LENGTH]."""
    ids = []
    with open(path, "rb") as text:
        for document in text.read().split(b"\n\n"):
            document = document.strip(b"\n")
            if document:
                ids += [b + FIRST_BYTE for b in document] + [END]
    ids += [0] * (-len(ids) % LENGTH)
    return torch.tensor(ids).view(-1, LENGTH)


def load(model, path):
    from safetensors.torch import load_file

    theirs = load_file(path)

    def copy(parameter, name):
        parameter.data.copy_(theirs["transformer/" + name].view(parameter.shape))

    copy(model.embedding, "embedding")
    copy(model.norm, "rms_norm/scale")
    for k, layer in enumerate(model.layers):
        attention, dense = f"block_{k:03}/layer_000/", f"block_{k:03}/layer_001/"
        copy(layer.norm1, attention + "rms_norm/scale")
        copy(layer.norm2, dense + "rms_norm/scale")
        for name in "qkvo":
            copy(getattr(layer, name), attention + "SelfAttention/" + name)
        for name in ("wi", "wo"):
            copy(getattr(layer, name), dense + f"DenseReluDense/{name}/kernel")


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


def rate_of(step, steps):
    """The step counts from 0."""
    return RATE * min(1, step / WARM_UP) * (1 + math.cos(math.pi * step / steps)) / 2


@torch.no_grad()
def bits_per_byte(model, rows, size):
    nats = sum(model(batch).double().sum().item() for batch in rows.split(BATCH))
    return nats / math.log(2) / size


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("train")
    parser.add_argument("dev")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--weights")
    parser.add_argument("--no-shuffle", action="store_true")
    o = parser.parse_args()
    torch.manual_seed(o.seed)
    torch.set_num_threads(o.threads)
    model, rows, dev = LanguageModel(), windows(o.train), windows(o.dev)
    if o.weights:
        load(model, o.weights)
    order = torch.arange(len(rows)) if o.no_shuffle else torch.randperm(len(rows))
    optimizer = Adam(model.parameters())
    for step in range(o.steps):
        at = torch.arange(step * BATCH, (step + 1) * BATCH) % len(rows)
        loss = model(rows[order[at]]).mean()
        loss.backward()
        optimizer.step(rate_of(step, o.steps))
        print(json.dumps({"step": step + 1, "loss": loss.item()}), flush=True)
    model.eval()
    tokens = int((dev != 0).sum())
    print(json.dumps({"bits_per_byte": bits_per_byte(model, dev, len(open(o.dev, "rb").read())), "tokens": tokens}))


main()
