/* Places of a decoder's tokens in the encoder's inputs, by sentinels. */
#include "model/transformer/span_places.h"

#include "graph/node.h"
#include "model/transformer/layer_kind.h"

bool span_places_needed(const mtf_transformer *m)
{
    for (int k = 0; k < m->decoder.nlayers; k++)
        if (layer_asks_places(&m->decoder.layers[k])) return true;
    return false;
}

/* 1 where a token is a sentinel, else 0. */
static mtf_tensor *sentinels(const stack_call *c, mtf_tensor *ids)
{
    double first = (double)(c->model->opts.input_vocab - c->model->opts.sentinels);
    return mtf_cast(mtf_greater_equal(ids, mtf_constant(c->graph, first, MTF_I32, mtf_shape())),
                    MTF_I32);
}

static mtf_tensor *count(mtf_tensor *seen, mtf_dim dim)
{
    return mtf_reduce_sum(mtf_cast(seen, MTF_I32), mtf_shape(dim));
}

mtf_tensor *span_places_count(const stack_call *c, mtf_tensor *ids)
{
    mtf_dim before = c->mode == CALL_DECODE ? c->cache : (mtf_dim){"memory_length", c->length.size};
    mtf_tensor *index = mtf_range(c->graph, before, MTF_I32), *read, *seen;
    if (c->mode == CALL_DECODE) {
        read = call_keep(c, "read", mtf_broadcast(ids, call_shape(c, mtf_shape())));
        seen = mtf_less_equal(index, c->position);
    } else {
        read = mtf_rename_dimension(ids, c->length.name, before.name);
        seen = mtf_less_equal(index, mtf_range(c->graph, c->length, MTF_I32));
        if (c->own)
            seen = mtf_logical_and(
                seen, mtf_equal(c->own, mtf_rename_dimension(c->own, c->length.name, before.name)));
    }
    if (!graph_of(read) || !seen) return NULL;
    return mtf_reduce_sum(mtf_multiply(mtf_cast(seen, MTF_I32), sentinels(c, read)),
                          mtf_shape(before));
}

/* Examples that share a row follow one another; padding, of segment 0, has no place. */
mtf_tensor *span_places_relative(const stack_call *c)
{
    mtf_tensor *theirs = c->encoded_segment, *own = c->segment;
    mtf_tensor *earlier =
        mtf_logical_and(mtf_less(theirs, own), mtf_not_equal(theirs, mtf_zeros_like(theirs)));
    mtf_tensor *same =
        mtf_logical_and(mtf_equal(theirs, own), mtf_less(c->encoded_spans, c->spans));
    return mtf_sub(count(mtf_logical_or(earlier, same), c->memory),
                   mtf_range(c->graph, c->memory, MTF_I32));
}
