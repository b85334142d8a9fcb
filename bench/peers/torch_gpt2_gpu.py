"""GPT-2 in PyTorch on a GPU: torch_gpt2_gpu.py train|limit|decode 124M|1558M

train   a compiled step in bf16 with weights and AdamW in f32, random tokens
limit   every matrix product of that step and its attention alone
decode  a token of one sequence, static keys and values, replayed as a CUDA graph"""

import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import contest

VOCABULARY, LENGTH, HEAD = 50304, 1024, 64
SIZES = {"124M": (12, 768, 64), "1558M": (48, 1600, 8)}
LAYERS, WIDTH, BATCH = SIZES[sys.argv[2]]
HEADS = WIDTH // HEAD
GPU = torch.device("cuda")


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before_attention, self.before_units = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.joint, self.back = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x, memory=None, at=None):
        batch, length, _ = x.shape
        joint = self.joint(self.before_attention(x)).view(batch, length, 3, HEADS, HEAD)
        query, key, value = joint.permute(2, 0, 3, 1, 4)
        if memory is None:
            seen = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        else:
            memory[0].index_copy_(2, at, key)
            memory[1].index_copy_(2, at, value)
            mask = (torch.arange(LENGTH, device=GPU) <= at)[None, None, None, :]
            seen = F.scaled_dot_product_attention(query, memory[0], memory[1], attn_mask=mask)
        x = x + self.back(seen.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.down(F.gelu(self.up(self.before_units(x)), approximate="tanh"))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.last = nn.LayerNorm(WIDTH)
        nn.init.normal_(self.tokens.weight, 0, 0.02)
        nn.init.normal_(self.places.weight, 0, 0.02)

    def logits(self, ids, memories=None, at=None):
        x = self.tokens(ids) + self.places(torch.arange(LENGTH, device=GPU) if at is None else at)
        for k, block in enumerate(self.blocks):
            x = block(x) if memories is None else block(x, memories[k], at)
        return self.last(x) @ self.tokens.weight.T

    def forward(self, ids, targets):
        return F.cross_entropy(self.logits(ids).float().view(-1, VOCABULARY), targets.view(-1))


def training():
    model = Model().to(GPU)
    optimizer = torch.optim.AdamW(model.parameters(), 3e-4, (0.9, 0.95), weight_decay=0.1, fused=True)
    compiled = torch.compile(model)
    ids, targets = (torch.randint(0, VOCABULARY, (BATCH, LENGTH), device=GPU) for _ in range(2))

    def step():
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION), torch.autocast("cuda", torch.bfloat16):
            loss = compiled(ids, targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()

    return step


def limit():
    def numbers(*shape):
        return torch.randn(*shape, device=GPU, dtype=torch.bfloat16)

    rows, shapes = BATCH * LENGTH, {}
    for outputs, inputs, times in ((3 * WIDTH, WIDTH, LAYERS), (WIDTH, WIDTH, LAYERS), (4 * WIDTH, WIDTH, LAYERS),
                                   (WIDTH, 4 * WIDTH, LAYERS), (VOCABULARY, WIDTH, 1)):
        shapes[outputs, inputs] = numbers(rows, inputs), numbers(outputs, inputs), numbers(rows, outputs), times
    query, key, value = (numbers(BATCH, HEADS, LENGTH, HEAD).requires_grad_() for _ in range(3))
    given = numbers(BATCH, HEADS, LENGTH, HEAD)

    def step():
        for x, w, y, times in shapes.values():
            for _ in range(times):
                x @ w.T, y @ w, y.T @ x
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            for _ in range(LAYERS):
                F.scaled_dot_product_attention(query, key, value, is_causal=True).backward(given)
        torch.cuda.synchronize()

    return step


def decoding():
    model = Model().to(GPU, torch.bfloat16).eval()
    memories = [tuple(torch.zeros(1, HEADS, LENGTH, HEAD, device=GPU, dtype=torch.bfloat16) for _ in "kv")
                for _ in range(LAYERS)]
    next_token = torch.compile(lambda ids, at: model.logits(ids, memories, at).argmax(-1),
                               mode="reduce-overhead", fullgraph=True)
    state = {"ids": torch.zeros(1, 1, dtype=torch.long, device=GPU), "at": 0}

    def step():
        with torch.no_grad():
            at = torch.tensor([state["at"] % LENGTH], device=GPU)
            state["ids"] = next_token(state["ids"], at).clone()
        state["at"] += 1
        torch.cuda.synchronize()

    return step


torch.manual_seed(0)
torch.set_float32_matmul_precision("high")
contest.peak_bytes = torch.cuda.max_memory_allocated
contest.serve_steps({"train": training, "limit": limit, "decode": decoding}[sys.argv[1]]())
