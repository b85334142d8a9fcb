"""T5 by transformers on a GPU: torch_t5_gpu.py t5_1_1_base|t5_base BATCH DROPOUT

A compiled step in bf16 with weights and AdamW in f32, 512 random inputs and 512 random targets in a row."""

import sys

import torch
from transformers import T5Config, T5ForConditionalGeneration

import contest

NAME, BATCH, DROPOUT = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
LENGTH, VOCABULARY = 512, 32128
SIZES = {"t5_1_1_base": {"d_ff": 2048, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
         "t5_base": {"d_ff": 3072, "feed_forward_proj": "relu", "tie_word_embeddings": True}}


def training():
    config = T5Config(vocab_size=VOCABULARY, d_model=768, d_kv=64, num_layers=12, num_heads=12,
                      dropout_rate=DROPOUT, decoder_start_token_id=0, **SIZES[NAME])
    model = T5ForConditionalGeneration(config).cuda().train()
    compiled = torch.compile(model)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)
    inputs, targets = (torch.randint(2, VOCABULARY, (BATCH, LENGTH), device="cuda") for _ in range(2))

    def step():
        with torch.autocast("cuda", torch.bfloat16):
            loss = compiled(input_ids=inputs, labels=targets, use_cache=False).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()

    return step


torch.manual_seed(0)
torch.set_float32_matmul_precision("high")
contest.peak_bytes = torch.cuda.max_memory_allocated
contest.serve_steps(training())
