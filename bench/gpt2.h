/* GPT-2: its published sizes, in bf16 with weights in f32. */
#ifndef BENCH_GPT2_H
#define BENCH_GPT2_H

#include "mtf_transformer.h"

typedef struct gpt2_size {
    const char *name; /* 124M */
    int64_t     layers, model, heads, batch, length, vocab;
} gpt2_size;

/* The size of this name, or NULL.  If MTF_BENCH_TINY is set, its layers, widths and batch are tiny, so
 * that an emulated GPU can run everything. */
const gpt2_size *gpt2_find(const char *name, gpt2_size *room);
bool             gpt2_is_tiny(void);

/* `stored_short`: weights are stored in bf16, too, as decoding reads them. */
mtf_transformer *gpt2_new(mtf_session *s, const gpt2_size *size, bool stored_short);
/* A training step with AdamW, as in peers/torch_gpt2_gpu.py; returns the loss.  Its input is called
 * "targets". */
mtf_tensor *gpt2_train(mtf_session *s, mtf_graph *g, const gpt2_size *size);

#endif
