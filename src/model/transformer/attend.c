/* Queries attend to a memory: which positions see which, and the sum. */
#include "model/transformer/attend.h"

#include "graph/node.h"

static mtf_tensor *both(mtf_tensor *a, mtf_tensor *b)
{
    return a && b ? mtf_logical_and(a, b) : a ? a : b;
}

mtf_tensor *attend_mask(const stack_call *c, const visibility *sees, mtf_dim memory)
{
    mtf_tensor *seen = NULL;
    if (sees->causal || sees->window) {
        mtf_tensor *read = sees->read ? sees->read : mtf_range(c->graph, c->length, MTF_I32);
        mtf_tensor *write = sees->write ? sees->write : mtf_range(c->graph, memory, MTF_I32);
        if (sees->causal) seen = mtf_less_equal(write, read);
        if (sees->window)
            seen = both(
                seen, mtf_less(mtf_sub(read, write),
                               mtf_constant(c->graph, (double)sees->window, MTF_I32, mtf_shape())));
    }
    if (sees->query_segment)
        seen = both(seen, mtf_equal(sees->query_segment, sees->memory_segment));
    return seen ? mtf_scale(mtf_cast(mtf_logical_not(seen), MTF_F32), -1e9) : NULL;
}

/* A learned mix of weights that sum to 1 over the memory, and of weights that were first divided by
 * their sum over the queries. */
static mtf_tensor *mix(const stack_call *c, mtf_tensor *logits, mtf_dim memory)
{
    mtf_tensor *ordinary = mtf_softmax(logits, memory, NULL);
    mtf_tensor *first = mtf_softmax(logits, c->length, NULL);
    mtf_tensor *sum = mtf_reduce_sum(first, mtf_shape(memory));
    mtf_tensor *twice = mtf_divide(first, mtf_add_scalar(sum, 1e-9));
    mtf_tensor *share =
        mtf_clip(call_weight(c, "hybrid_attention_mix", mtf_shape(), "constant(0.5)"), 0, 1);
    share = mtf_cast(share, MTF_F32);
    return mtf_add(mtf_multiply(ordinary, share),
                   mtf_multiply(twice, mtf_add_scalar(mtf_negative(share), 1)));
}

mtf_tensor *attend(const stack_call *c, const attend_opts *o, mtf_tensor *q, mtf_tensor *k,
                   mtf_tensor *v)
{
    if (!graph_of(q) || !k || !v) return NULL;
    mtf_shape   queries = mtf_shape_minus(q->shape, mtf_shape(o->key));
    mtf_tensor *logits = mtf_us_einsum(&c->context, mtf_shape_plus(queries, mtf_shape(o->memory)),
                                       2, (mtf_tensor *[]){q, k});
    logits = mtf_cast(logits, MTF_F32);
    mtf_tensor *mask = attend_mask(c, &o->sees, o->memory);
    if (mask) logits = mtf_add(logits, mask);
    if (o->bias) logits = mtf_add(logits, o->bias);
    mtf_tensor *weights =
        o->hybrid ? mix(c, logits, o->memory) : mtf_softmax(logits, o->memory, o->extra_logit);
    weights = mtf_cast(weights, c->type);
    if (o->dropout > 0 && !c->context.inference && weights)
        weights =
            mtf_dropout(weights, o->dropout, mtf_shape_minus(weights->shape, o->dropout_shared));
    return mtf_einsum(mtf_shape_plus(queries, mtf_shape(o->value)), weights, v);
}
