"""The Transformers of transformer.c in PyTorch: a training step, or a decoded token of each sequence.

    torch_transformer.py THREADS eager|compiled lm|gpt2 train|decode BATCH f32|bf16
"""

import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

from contest import serve_steps

threads, mode, name, job, batch, kind = sys.argv[1:7]
torch.set_num_threads(int(threads))
batch = int(batch)

VOCAB, DEPTH = 256, 64
LAYERS, MODEL, HEADS, FF, LENGTH, ACTIVATION = {
    "lm": (6, 512, 8, 2048, 256, F.relu),
    "gpt2": (4, 768, 12, 3072, 1024, lambda x: F.gelu(x, approximate="tanh")),
}[name]


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(MODEL))

    def forward(self, x):
        return F.rms_norm(x, (MODEL,), self.scale, 1e-6)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = Norm(), Norm()
        self.qkv = nn.Linear(MODEL, 3 * HEADS * DEPTH, bias=False)
        self.out = nn.Linear(HEADS * DEPTH, MODEL, bias=False)
        self.wide, self.narrow = nn.Linear(MODEL, FF, bias=False), nn.Linear(FF, MODEL, bias=False)

    def forward(self, x, keys=None, values=None, position=None):
        q, k, v = self.qkv(self.norm1(x)).view(*x.shape[:2], 3, HEADS, DEPTH).permute(2, 0, 3, 1, 4)
        if keys is None:
            seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            keys[:, :, position] = k[:, :, 0]
            values[:, :, position] = v[:, :, 0]
            seen = F.scaled_dot_product_attention(q, keys[:, :, : position + 1], values[:, :, : position + 1])
        x = x + self.out(seen.transpose(1, 2).flatten(2))
        return x + self.narrow(ACTIVATION(self.wide(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, MODEL)
        self.positions = nn.Parameter(torch.randn(LENGTH, MODEL) * 0.02)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm, self.head = Norm(), nn.Linear(MODEL, VOCAB, bias=False)

    def forward(self, tokens):
        x = self.embedding(F.pad(tokens, (1, -1))) + self.positions
        for layer in self.layers:
            x = layer(x)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1).float(), tokens.flatten())

    def next_token(self, tokens, caches, position):
        x = self.embedding(tokens) + self.positions[position]
        for layer, (keys, values) in zip(self.layers, caches):
            x = layer(x, keys, values, position)
        return self.head(self.norm(x)).argmax(-1)


def train(model):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=True)
    tokens = torch.randint(0, VOCAB, (batch, LENGTH))
    loss_of = torch.compile(model) if mode == "compiled" else model

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=kind == "bf16"):
            loss = loss_of(tokens)
        loss.backward()
        optimizer.step()

    serve_steps(step)


def decode(model):
    caches = [torch.zeros(2, batch, HEADS, LENGTH, DEPTH) for _ in range(LAYERS)]
    next_token = torch.compile(model.next_token, dynamic=True) if mode == "compiled" else model.next_token
    now = {"tokens": torch.full((batch, 1), 5), "position": 0}

    def step():
        now["tokens"] = next_token(now["tokens"], caches, now["position"])
        now["position"] = (now["position"] + 1) % LENGTH

    with torch.inference_mode():
        for _ in range(LENGTH if mode == "compiled" else 0):
            step()  # every shape is compiled before anything is timed
        serve_steps(step)


model = Transformer()
train(model) if job == "train" else decode(model)
