"""The translation model of share/gin/recipes/catalogues.gin in PyTorch, trained with the same recipe.

    torch_catalogues.py TRAIN.tsv DEV.tsv [--answers FILE] [--seed N] [--steps N] [--device cpu|cuda] ...

The same sizes, distributions of initial weights, optimizer, schedule, packed rows and order.  --weights takes the
safetensors file of a checkpoint of mtf: then the losses are those of mtf, up to rounding.  --answers is a file for the
greedy translations of the first column of DEV.
"""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from torch_recipe import (END, MODEL, VOCAB, Attention, FeedForward, Norm, Weights, decode, encode, normal, options,
                          token_losses, train)

LAYERS, LENGTH = 3, 256


class Stack(nn.Module):
    def __init__(self, decoder):
        super().__init__()
        self.positions = normal(1, LENGTH, MODEL)
        self.own = nn.ModuleList(Attention() for _ in range(LAYERS))
        self.across = nn.ModuleList(Attention() for _ in range(LAYERS if decoder else 0))
        self.dense = nn.ModuleList(FeedForward() for _ in range(LAYERS))
        self.norm = Norm()

    def forward(self, x, position, sees, memory=None, sees_memory=None):
        x = x + F.embedding(position, self.positions)
        for k in range(LAYERS):
            x = self.own[k](x, attn_mask=sees)
            if memory is not None:
                x = self.across[k](x, memory, attn_mask=sees_memory)
            x = self.dense[k](x)
        return self.norm(x)


def same(a, b):
    """[batch, 1, length of a, length of b]: whether positions are of the same pair."""
    return a[:, None, :, None] == b[:, None, None, :]


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = normal(1, VOCAB, MODEL)
        self.encoder, self.decoder = Stack(False), Stack(True)

    def encode(self, inputs, segment, position):
        return self.encoder(F.embedding(inputs, self.embedding), position, same(segment, segment))

    def logits(self, before, segment, position, encoded, encoded_segment):
        causal = torch.ones(before.shape[1], before.shape[1], dtype=torch.bool, device=before.device).tril()
        x = self.decoder(F.embedding(before, self.embedding), position, same(segment, segment) & causal, encoded,
                         same(segment, encoded_segment))
        return x * MODEL**-0.5 @ self.embedding.T

    def forward(self, inputs, targets):
        """Losses of the targets' tokens.  Each argument is [batch, (id, segment, position), length]."""
        encoded = self.encode(*inputs.unbind(1))
        ids, segment, position = targets.unbind(1)
        before = torch.where(position > 0, ids.roll(1, -1), 0)
        # Padding counts as part of pair 1: its losses are not used, but it must see something.
        logits = self.logits(before, segment.clamp(min=1), position, encoded, inputs[:, 1])
        return token_losses(logits, ids, self.training)

    @torch.no_grad()
    def translate(self, inputs):
        """Greedy: [batch, length] of ids, padded with 0, to lists of ids."""
        real, position = (inputs > 0).long(), torch.arange(LENGTH, device=inputs.device)
        encoded = self.encode(inputs, real, position[: inputs.shape[1]].expand_as(inputs))
        before = torch.zeros(len(inputs), 1, dtype=torch.long, device=inputs.device)
        ended = torch.zeros(len(inputs), dtype=torch.bool, device=inputs.device)
        while before.shape[1] < LENGTH and not ended.all():
            n = before.shape[1]
            logits = self.logits(before, torch.ones_like(before), position[:n].expand_as(before), encoded, real)
            best = logits[:, -1].argmax(-1)
            ended |= best == END
            before = torch.cat((before, best[:, None]), -1)
        return before[:, 1:].tolist()


def pairs(path):
    with open(path, "rb") as lines:
        return [[encode(cell)[:LENGTH] for cell in line.rstrip(b"\n").split(b"\t")[:2]] for line in lines]


def packed(path):
    """Rows of pairs, in order, as many as fit on both sides: inputs and targets, [rows, 3, LENGTH] each."""
    rows, used = [], [LENGTH, LENGTH]
    for pair in pairs(path):
        if any(used[k] + len(pair[k]) > LENGTH for k in (0, 1)):
            rows.append(np.zeros((2, 3, LENGTH), dtype=np.int16))
            used, number = [0, 0], 0
        number += 1
        for k in (0, 1):
            at = slice(used[k], used[k] + len(pair[k]))
            rows[-1][k, :, at] = pair[k], [number] * len(pair[k]), range(len(pair[k]))
            used[k] += len(pair[k])
    both = torch.from_numpy(np.stack(rows)).long()
    return both[:, 0], both[:, 1]


def load(model, path):
    w = Weights(path)
    w.copy(model.embedding, "shared/embedding")
    for name, stack, kinds in (("encoder", model.encoder, ("SelfAttention", "DenseReluDense")),
                               ("decoder", model.decoder, ("SelfAttention", "EncDecAttention", "DenseReluDense"))):
        w.copy(stack.positions, name + "/positional_embedding")
        w.copy(stack.norm.scale, name + "/rms_norm/scale")
        layers = {"SelfAttention": stack.own, "EncDecAttention": stack.across, "DenseReluDense": stack.dense}
        for k in range(LAYERS):
            for i, kind in enumerate(kinds):
                w.layer(layers[kind][k], f"{name}/block_{k:03}/layer_{i:03}/", kind)


def answer(model, path, device):
    """Translations in the order of the file; those of similar length are computed together."""
    inputs = [pair[0] for pair in pairs(path)]
    order = sorted(range(len(inputs)), key=lambda i: len(inputs[i]))
    texts = [""] * len(inputs)
    for at in range(0, len(order), 125):
        group = order[at : at + 125]
        rows = nn.utils.rnn.pad_sequence([torch.tensor(inputs[i]) for i in group], batch_first=True)
        for i, ids in zip(group, model.translate(rows.to(device))):
            texts[i] = decode(ids)
    return texts


def main():
    o = options(batch=32, steps=4000, rate=0.002, warm_up=400)
    model = Translator()
    if o.weights:
        load(model, o.weights)
    model.to(o.device)
    train(model, packed(o.train), o)
    model.eval()
    if o.answers:
        with open(o.answers, "w", encoding="utf-8") as file:
            for text in answer(model, o.dev, o.device):
                file.write(" ".join(text.split("\n")) + "\n")


main()
