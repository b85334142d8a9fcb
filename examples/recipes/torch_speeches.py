"""The language model of share/gin/recipes/speeches.gin in PyTorch, trained with the same recipe.

    torch_speeches.py TRAIN.txt DEV.txt [--seed N] [--steps N] [--device cpu|cuda] [--weights FILE] ...

The same sizes, distributions of initial weights, optimizer, schedule, batches, order and evaluation.  --weights takes
the safetensors file of a checkpoint of mtf: then the losses are those of mtf, up to rounding.
"""

import json
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from torch_recipe import (DEPTH, MODEL, VOCAB, Attention, FeedForward, Norm, Weights, encode, normal, options,
                          token_losses, train)

LAYERS, LENGTH = 4, 256


class LanguageModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = normal(1, VOCAB, MODEL)
        self.attention = nn.ModuleList(Attention() for _ in range(LAYERS))
        self.dense = nn.ModuleList(FeedForward() for _ in range(LAYERS))
        self.norm = Norm()
        half = DEPTH // 2
        angle = torch.arange(LENGTH)[:, None] * 10000 ** (-torch.arange(half) / half)
        self.register_buffer("cosine", angle.cos())
        self.register_buffer("sine", angle.sin())

    def forward(self, tokens):
        """Losses of all tokens, 0 being padding: each is predicted from those before it."""

        def rotate(z):
            a, b = z.chunk(2, -1)
            return torch.cat((a * self.cosine - b * self.sine, b * self.cosine + a * self.sine), -1)

        x = F.embedding(F.pad(tokens, (1, -1)), self.embedding)
        for attention, dense in zip(self.attention, self.dense):
            x = dense(attention(x, rotate=rotate, is_causal=True))
        return token_losses(self.norm(x) * MODEL**-0.5 @ self.embedding.T, tokens, self.training)


def windows(path):
    """Documents between blank lines, each with its end, one after the other, in rows: [rows, LENGTH]."""
    ids = []
    with open(path, "rb") as text:
        for document in text.read().split(b"\n\n"):
            document = document.strip(b"\n")
            if document:
                ids += encode(document)
    ids += [0] * (-len(ids) % LENGTH)
    return torch.tensor(ids).view(-1, LENGTH)


def load(model, path):
    w = Weights(path)
    w.copy(model.embedding, "transformer/embedding")
    w.copy(model.norm.scale, "transformer/rms_norm/scale")
    for k in range(LAYERS):
        w.layer(model.attention[k], f"transformer/block_{k:03}/layer_000/", "SelfAttention")
        w.layer(model.dense[k], f"transformer/block_{k:03}/layer_001/", "DenseReluDense")


@torch.no_grad()
def bits_per_byte(model, path, device):
    """All tokens, ends of documents included, for each byte of the documents' text."""
    rows = windows(path).to(device)
    nats = sum(model(batch).double().sum().item() for batch in rows.split(32))
    return nats / math.log(2) / int((rows > 1).sum())


def main():
    o = options(batch=32, steps=4000, rate=0.003, warm_up=200)
    model = LanguageModel()
    if o.weights:
        load(model, o.weights)
    model.to(o.device)
    train(model, [windows(o.train)], o)
    model.eval()
    print(json.dumps({"bits_per_byte": bits_per_byte(model, o.dev, o.device)}))


main()
