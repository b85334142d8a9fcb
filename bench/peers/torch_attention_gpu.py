"""Causal attention in bf16 by PyTorch on a GPU:
torch_attention_gpu.py flash|cudnn forward|backward BATCH HEADS LENGTH SIZE TIMES

backward  forward and the gradients of query, key and value
A step is so many TIMES of it."""

import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import contest

WAY = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}[sys.argv[1]]
BACKWARD = sys.argv[2] == "backward"
*SHAPE, TIMES = (int(number) for number in sys.argv[3:8])


def numbers():
    return torch.randn(*SHAPE, device="cuda", dtype=torch.bfloat16)


def step():
    with sdpa_kernel(WAY):
        for _ in range(TIMES):
            y = F.scaled_dot_product_attention(query, key, value, is_causal=True)
            if BACKWARD:
                torch.autograd.grad(y, (query, key, value), given)
    torch.cuda.synchronize()


torch.manual_seed(0)
query, key, value = (numbers().requires_grad_(BACKWARD) for _ in range(3))
given = numbers()
contest.peak_bytes = torch.cuda.max_memory_allocated
contest.serve_steps(step)
