"""A training step of the Transformer language model in PyTorch, as ../language_model.c has it.

    torch_language_model.py THREADS eager|compiled BATCH [bf16]
"""

import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

from contest import serve_steps

threads, mode, batch = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
torch.set_num_threads(threads)

LAYERS, LENGTH, MODEL, HEADS, DEPTH, FF, VOCAB = 6, 256, 512, 8, 64, 2048, 256


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(MODEL))

    def forward(self, x):
        return F.rms_norm(x, (MODEL,), self.scale, 1e-6)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(MODEL, 3 * HEADS * DEPTH, bias=False)
        self.out = nn.Linear(HEADS * DEPTH, MODEL, bias=False)

    def forward(self, x):
        parts = self.qkv(x).view(*x.shape[:2], 3, HEADS, DEPTH).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(*parts, is_causal=True)
        return self.out(seen.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2, self.attention = Norm(), Norm(), Attention()
        self.wide = nn.Linear(MODEL, FF, bias=False)
        self.narrow = nn.Linear(FF, MODEL, bias=False)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.narrow(F.relu(self.wide(self.norm2(x))))


class LanguageModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, MODEL)
        self.positions = nn.Parameter(torch.randn(LENGTH, MODEL) * 0.02)
        self.layers = nn.Sequential(*(Layer() for _ in range(LAYERS)))
        self.norm, self.head = Norm(), nn.Linear(MODEL, VOCAB, bias=False)

    def forward(self, tokens, targets):
        x = self.layers(self.embedding(tokens) + self.positions)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1).float(), targets.flatten())


model = LanguageModel()
if sys.argv[4:] == ["bf16"]:
    model = model.to(torch.bfloat16)
loss_of = torch.compile(model) if mode == "compiled" else model
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=True)
tokens, targets = (torch.randint(0, VOCAB, (batch, LENGTH)) for _ in range(2))


def step():
    optimizer.zero_grad(set_to_none=True)
    loss_of(tokens, targets).backward()
    optimizer.step()


serve_steps(step)
