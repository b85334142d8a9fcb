"""A mixture of experts in PyTorch, forward and gradients, as ../experts.c and ../cuda_experts.c have it; no token is dropped.

    torch_experts.py loop|grouped|compiled --device cpu --threads 2 --dtype f32 --experts 8 --choices 2 --tokens 2048
        --width 512 --hidden 1024

loop: a product for each expert; grouped: one call for all (torch._grouped_mm); compiled: that, compiled.
"""

import torch

import torch_training

a = torch_training.arguments(modes=("loop", "grouped", "compiled"), experts=8, choices=2, tokens=2048, width=512,
                             hidden=1024)
dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[a.dtype]


def variable(*shape):
    return (torch.randn(shape, device=a.device) / shape[-2] ** 0.5).to(dtype).requires_grad_()


x, dy = variable(a.tokens, a.width), variable(a.tokens, a.width).detach()
router, wide = variable(a.width, a.experts), variable(a.experts, a.width, a.hidden)
narrow = variable(a.experts, a.hidden, a.width)
counted = torch.arange(a.experts, device=a.device)


def by_loop(rows, counts):
    parts = rows.split(counts.tolist())
    return torch.cat([torch.relu(part @ w) @ v for part, w, v in zip(parts, wide, narrow)])


def grouped(rows, counts):
    ends = counts.cumsum(0).to(torch.int32)
    return torch._grouped_mm(torch.relu(torch._grouped_mm(rows, wide, offs=ends)), narrow, offs=ends)


def layer():
    gates, chosen = (x @ router).float().softmax(1).topk(a.choices)
    gates = (gates / gates.sum(1, keepdim=True)).to(dtype).flatten()
    chosen, order = chosen.flatten().sort()
    counts = (chosen == counted[:, None]).sum(1)
    y = (by_loop if a.mode == "loop" else grouped)(x[order // a.choices], counts) * gates[order, None]
    return torch.zeros_like(x).index_add(0, order // a.choices, y)


run = torch.compile(layer) if a.mode == "compiled" else layer


def step():
    run().backward(dy)
    for w in (x, router, wide, narrow):
        w.grad = None


torch_training.serve_steps(a, step)
