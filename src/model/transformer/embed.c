/* Tokens to vectors and back: embeddings, positions, logits. */
#include <math.h>

#include "base/memory.h"
#include "graph/node.h"
#include "model/transformer/vocab.h"

static bool shares_tokens(const mtf_transformer *m)
{
    return transformer_has_encoder(m) && !m->opts.separate_embedding;
}

/* As in the original: where both stacks have positions, as many. */
static bool shares_positions(const mtf_transformer *m)
{
    const mtf_stack_opts *e = &m->encoder.opts, *d = &m->decoder.opts;
    return shares_tokens(m) && !m->opts.separate_positions && e->positions != MTF_POSITIONS_NONE &&
           d->positions != MTF_POSITIONS_NONE && e->max_length == d->max_length;
}

/* First half sines, second half cosines, of wavelengths of 2 pi times the timescales. */
mtf_tensor *call_sinusoids(const stack_call *c, mtf_tensor *position)
{
    mtf_dim half = c->model->d_model;
    half.size /= 2;
    float *f = arena_array(&c->graph->arena, float, (size_t)half.size);
    if (!f) return NULL;
    double first = c->stack->opts.min_timescale, last = c->stack->opts.max_timescale;
    double step = log(last / first) / (double)(half.size > 1 ? half.size - 1 : 1);
    for (int64_t i = 0; i < half.size; i++) f[i] = (float)(exp(-(double)i * step) / first);
    mtf_tensor *angle = mtf_multiply(mtf_cast(position, MTF_F32),
                                     mtf_constant_data(c->graph, f, MTF_F32, mtf_shape(half)));
    mtf_tensor *parts[] = {mtf_sin(angle), mtf_cos(angle)};
    return mtf_cast(mtf_concat(half.name, 2, parts), c->type);
}

static mtf_tensor *learned_positions(const stack_call *c)
{
    mtf_dim     rows = {"max_length", c->stack->opts.max_length};
    mtf_shape   shape = mtf_shape(rows, c->model->d_model);
    mtf_tensor *table = call_table(c, shares_positions(c->model), "positional_embedding", shape, 1);
    if (c->position) return mtf_gather(table, c->position, rows);
    table = mtf_slice(table, rows.name, 0, c->length.size, 1);
    return table ? mtf_rename_dimension(table, rows.name, c->length.name) : NULL;
}

static mtf_tensor *positions(const stack_call *c)
{
    switch (c->stack->opts.positions) {
    case MTF_POSITIONS_LEARNED: return learned_positions(c);
    case MTF_POSITIONS_SINUSOID:
        return call_sinusoids(c,
                              c->position ? c->position : mtf_range(c->graph, c->length, MTF_I32));
    default: return NULL;
    }
}

/* Token dropout: in training some ids are replaced by padding. */
static mtf_tensor *drop_tokens(const stack_call *c, mtf_tensor *ids)
{
    double rate = c->stack->opts.token_dropout;
    if (rate == 0 || c->mode != CALL_TRAIN || !ids) return ids;
    mtf_tensor *u = mtf_random_uniform(c->graph, MTF_F32, ids->shape, 0, 1);
    mtf_tensor *stays = mtf_greater_equal(u, mtf_constant(c->graph, rate, MTF_F32, mtf_shape()));
    return mtf_where(stays, ids, mtf_zeros_like(ids));
}

mtf_tensor *embed_tokens(const stack_call *c, mtf_dim dim, mtf_tensor *ids)
{
    token_vocab v = vocab_of(c, dim);
    mtf_tensor *x = vocab_kind_of(v.opts->kind)->embed(&v, drop_tokens(c, ids));
    x = x ? mtf_transpose(x, call_shape(c, mtf_shape(c->model->d_model))) : NULL;
    mtf_tensor *more = positions(c);
    return more ? mtf_add(x, more) : x;
}

mtf_tensor *logits_of(const stack_call *c, mtf_tensor *x)
{
    const mtf_transformer *m = c->model;
    token_vocab            v = vocab_of(c, m->output_vocab);
    char                   init[KERNEL_INIT];
    if (m->opts.shared_softmax) return vocab_kind_of(v.opts->kind)->logits(&v, x);
    return mtf_dense(x, mtf_shape(m->output_vocab),
                     &(mtf_dense_opts){.name = "logits",
                                       .kernel_init = call_kernel_init(c, false, init),
                                       .reduced = mtf_shape(m->d_model),
                                       .experts = m->ensemble,
                                       .no_bias = true,
                                       .context = &c->context});
}
