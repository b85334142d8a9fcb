/* Attention of queries to a memory, with masks. */
#include "model/transformer/attend.h"

#include <string.h>

#include "graph/node.h"
#include "model/transformer/relative.h"
#include "nn/attention.h"

static mtf_tensor *both(mtf_tensor *a, mtf_tensor *b)
{
    return a && b ? mtf_logical_and(a, b) : a ? a : b;
}

static mtf_tensor *number(const stack_call *c, int64_t x)
{
    return mtf_constant(c->graph, (double)x, MTF_I32, mtf_shape());
}

visibility attend_to_own(const stack_call *c, int64_t window)
{
    visibility v = {.causal = c->stack->causal, .window = window};
    if (c->mode == CALL_DECODE) {
        v.place = c->position;
        v.read = c->priority;
        return v;
    }
    if (c->priority) v.read = v.write = c->priority;
    if (c->own) v.query_segment = v.memory_segment = c->own;
    return v;
}

mtf_tensor *attend_mask(const stack_call *c, const visibility *sees, mtf_dim memory)
{
    mtf_tensor *seen = NULL;
    if (sees->causal || sees->window) {
        mtf_tensor *place = sees->place ? sees->place : mtf_range(c->graph, c->length, MTF_I32);
        mtf_tensor *index = mtf_range(c->graph, memory, MTF_I32);
        if (sees->causal)
            seen =
                mtf_less_equal(sees->write ? sees->write : index, sees->read ? sees->read : place);
        if (sees->window) {
            mtf_tensor *ahead = mtf_sub(index, place);
            seen = both(seen, mtf_greater(ahead, number(c, -sees->window)));
            seen = both(seen, mtf_less_equal(ahead, number(c, sees->window)));
        }
    }
    if (sees->query_segment)
        seen = both(seen, mtf_equal(sees->query_segment, sees->memory_segment));
    return seen ? mtf_scale(mtf_cast(mtf_logical_not(seen), MTF_F32), -1e9) : NULL;
}

/* A learned mix of two kinds of weights: normalised over the memory, and normalised first over the
 * queries, then over the memory. */
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

/* ---- composed of einsums and a softmax ---- */

static mtf_tensor *as_memory(const stack_call *c, const attend_opts *o, mtf_tensor *x)
{
    return x && o->self ? mtf_rename_dimension(x, c->length.name, o->memory.name) : x;
}

static mtf_tensor *composed(const stack_call *c, const attend_opts *o, mtf_tensor *q, mtf_tensor *k,
                            mtf_tensor *v)
{
    mtf_shape   queries = o->made ? o->made->rows : mtf_shape_minus(q->shape, mtf_shape(o->key));
    visibility  sees = o->sees;
    bool        one = v == k;
    mtf_tensor *keys = as_memory(c, o, k), *values = one ? keys : as_memory(c, o, v);
    sees.write = as_memory(c, o, sees.write);
    sees.memory_segment = as_memory(c, o, sees.memory_segment);
    mtf_shape   pairs = mtf_shape_plus(queries, mtf_shape(o->memory));
    mtf_tensor *logits = o->made ? o->made->logits(c, o->made->context, q, keys, o->memory)
                                 : mtf_us_einsum(&c->context, pairs, 2, (mtf_tensor *[]){q, keys});
    logits = mtf_cast(logits, MTF_F32);
    mtf_tensor *mask = attend_mask(c, &sees, o->memory);
    if (mask) logits = mtf_add(logits, mask);
    if (o->bias) logits = mtf_add(logits, relative_spread(c, o->bias, o->memory));
    mtf_tensor *weights =
        o->hybrid ? mix(c, logits, o->memory) : mtf_softmax(logits, o->memory, o->extra_logit);
    weights = mtf_cast(weights, c->type);
    if (o->dropout > 0 && !c->context.inference && weights)
        weights =
            mtf_dropout(weights, o->dropout, mtf_shape_minus(weights->shape, o->dropout_shared));
    return mtf_einsum(mtf_shape_plus(queries, mtf_shape(o->value)), weights, values);
}

/* ---- one fused operation ---- */

/* Whether all dimensions of x are among `dims`, `a` and `b`; true for NULL. */
static bool within(const mtf_tensor *x, const mtf_shape *dims, const char *a, const char *b)
{
    for (int d = 0; x && d < x->shape.ndims; d++) {
        const char *name = x->shape.dims[d].name;
        if (shape_find(dims, name) < 0 && strcmp(name, a) != 0 && strcmp(name, b) != 0)
            return false;
    }
    return true;
}

static bool is_plain(const stack_call *c, const attend_opts *o, const mtf_tensor *q,
                     const mtf_tensor *k, const mtf_tensor *v)
{
    mtf_shape   rows = mtf_shape_minus(q->shape, mtf_shape(o->key));
    mtf_shape   along = mtf_shape_minus(k->shape, mtf_shape(o->key));
    const char *memory = o->self ? c->length.name : o->memory.name;
    if (o->composed || o->made || o->hybrid || c->context.unit_scaling || q->type == MTF_F64)
        return false;
    if (o->sees.window && o->sees.read) return false; /* it knows one place of each position */
    return k->type == q->type && v->type == q->type && within(k, &rows, memory, o->key.name) &&
           within(v, &rows, memory, o->value.name) &&
           within(o->bias, &rows, o->memory.name, RELATIVE_DISTANCE) &&
           within(o->extra_logit, &rows, "", "") && within(o->sees.read, &rows, "", "") &&
           within(o->sees.place, &rows, "", "") && within(o->sees.query_segment, &rows, "", "") &&
           within(o->sees.write, &along, "", "") && within(o->sees.memory_segment, &along, "", "");
}

mtf_tensor *attend(const stack_call *c, const attend_opts *o, mtf_tensor *q, mtf_tensor *k,
                   mtf_tensor *v)
{
    if (!graph_of(q) || !k || !v) return NULL;
    if (!is_plain(c, o, q, k, v))
        return composed(c, o, o->scale != 0 ? mtf_scale(q, o->scale) : q, k, v);
    const visibility *sees = &o->sees;
    const int64_t     before = 1 - sees->window, after = sees->causal ? 0 : sees->window;
    bool              counts = shape_find(&q->shape, c->length.name) >= 0,
         limited = sees->causal || sees->window;
    bool        own = o->bias && shape_find(&o->bias->shape, o->memory.name) >= 0;
    mtf_shape   pairs = mtf_shape_minus(q->shape, mtf_shape(o->key));
    mtf_shape   drops = mtf_shape_minus(pairs, mtf_shape_minus(pairs, o->dropout_shared));
    mtf_tensor *lse;
    mtf_tensor *y = mtf_attention(
        q, k, v,
        &(mtf_attention_op_opts){.query = counts ? c->length.name : NULL,
                                 .memory = o->self ? c->length.name : o->memory.name,
                                 .key = o->key.name,
                                 .value = o->value.name,
                                 .scale = o->scale,
                                 .min_relative = sees->window ? &before : NULL,
                                 .max_relative = limited ? &after : NULL,
                                 .bias = o->bias,
                                 .bias_memory = own ? o->memory.name : NULL,
                                 .bias_relative =
                                     relative_is_by_distance(o->bias) ? RELATIVE_DISTANCE : NULL,
                                 .read = !limited     ? NULL
                                         : sees->read ? sees->read
                                                      : sees->place,
                                 .write = limited ? sees->write : NULL,
                                 .query_segment = sees->query_segment,
                                 .memory_segment = sees->memory_segment,
                                 .dropout = c->context.inference ? 0 : o->dropout,
                                 .dropout_over = drops},
        &lse);
    return attention_with_extra(y, lse, o->extra_logit);
}
