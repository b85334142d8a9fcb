/* Attention: weights, dot products, many heads, one step at a time. */
#include "nn/attention.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "base/numbers.h"
#include "nn/masks.h"

/* ---- weights ---- */

/* Standard deviations that keep logits and outputs near 1, in the order q, k, v, o. */
static void deviations(mtf_dim heads, mtf_dim channels, mtf_dim kv, bool unit, double d[4])
{
    double io = (double)channels.size;
    d[0] = d[1] = pow(io, -0.5) * pow((double)kv.size, -0.25);
    d[2] = pow(io, -0.5);
    d[3] = pow(io * (double)heads.size, -0.5);
    for (int i = 0; unit && i < 4; i++) d[i] = 1;
}

static void make_combined(mtf_graph *g, mtf_shape shape, mtf_dtype type,
                          const mtf_attention_opts *o, const double d[4], mtf_tensor *w[4])
{
    mtf_dim qkvo = {"qkvo", 4};
    char    init[160];
    number_format(init, sizeof init, "normal_each(%.17g, %.17g, %.17g, %.17g)", d[0], d[1], d[2],
                  d[3]);
    mtf_unstack(
        layer_weight(g, o->context, "qkvo", type, mtf_shape_plus(mtf_shape(qkvo), shape), init),
        qkvo, w);
}

mtf_attention_weights mtf_multihead_attention_params(mtf_graph *g, mtf_dim heads, mtf_dim channels,
                                                     mtf_dim kv, mtf_dtype type,
                                                     const mtf_attention_opts *opts)
{
    static const char *const names[] = {"q", "k", "v", "o"};
    mtf_attention_opts       o = opts ? *opts : (mtf_attention_opts){0};
    mtf_tensor              *w[4] = {0};
    double                   d[4];
    char                     init[48];
    if (!g || !mtf_ok(g->session)) return (mtf_attention_weights){0};
    mtf_shape shape = mtf_shape_plus(o.ensemble, mtf_shape(heads, channels, kv));
    deviations(heads, channels, kv, o.context && o.context->unit_scaling, d);
    if (o.combine) make_combined(g, shape, type, &o, d, w);
    for (int i = 0; i < 4 && !o.combine; i++) {
        number_format(init, sizeof init, "normal(0, %.17g)", d[i]);
        w[i] = layer_weight(g, o.context, names[i], type, shape, init);
    }
    return (mtf_attention_weights){w[0], w[1], w[2], w[3]};
}

mtf_attention_weights attention_weights(const mtf_tensor *x, mtf_dim heads, mtf_dim channels,
                                        mtf_dim kv, const mtf_attention_opts *o)
{
    return o->weights
               ? *o->weights
               : mtf_multihead_attention_params(graph_of(x), heads, channels, kv, x->type, o);
}

/* ---- projections ---- */

mtf_tensor *attention_project(mtf_tensor *x, mtf_tensor *w, mtf_dim heads, mtf_dim kv, int inner,
                              const mtf_attention_opts *o)
{
    if (!graph_of(x) || !w) return NULL;
    int       last = x->shape.ndims - 1;
    mtf_shape batch = shape_of(last - inner, x->shape.dims);
    mtf_shape rest = shape_of(inner, x->shape.dims + last - inner);
    mtf_shape y = mtf_shape_plus(mtf_shape_plus(o->ensemble, batch), mtf_shape(heads));
    y = mtf_shape_plus(mtf_shape_plus(y, rest), mtf_shape(kv));
    return mtf_us_einsum(o->context, y, 2, (mtf_tensor *[]){x, w});
}

mtf_tensor *attention_output(mtf_tensor *x, mtf_tensor *wo, const mtf_tensor *like,
                             const mtf_attention_opts *o)
{
    if (!graph_of(x) || !wo) return NULL;
    mtf_shape y = mtf_shape_plus(mtf_shape_minus(o->ensemble, like->shape), like->shape);
    return mtf_us_einsum(o->context, y, 2, (mtf_tensor *[]){x, wo});
}

mtf_attention_opts attention_begin(mtf_graph *g, const mtf_attention_opts *opts, const char *layer,
                                   const char **outside)
{
    mtf_attention_opts o = opts ? *opts : (mtf_attention_opts){0};
    *outside = layer_enter(g, o.name, layer);
    return o;
}

/* ---- attention ---- */

typedef struct attention_call {
    mtf_dim memory, key, value;
} attention_call;

static mtf_tensor *composed(mtf_tensor *q, mtf_tensor *k, mtf_tensor *v, mtf_tensor *mask,
                            mtf_dim memory, mtf_dim key, mtf_dim value, const mtf_attention_opts *o)
{
    mtf_shape   queries = mtf_shape_minus(q->shape, mtf_shape(key));
    mtf_tensor *logits = mtf_us_einsum(o->context, mtf_shape_plus(queries, mtf_shape(memory)), 2,
                                       (mtf_tensor *[]){q, k});
    if (mask) logits = mtf_add(logits, mask);
    mtf_tensor *weights = mtf_softmax(logits, memory, o->extra_logit);
    weights = layer_dropout(o->context, weights, o->dropout, o->dropout_broadcast);
    return mtf_einsum(mtf_shape_plus(queries, mtf_shape(value)), weights, v);
}

/* Are all of x's dimensions among `dims`, `a` and `b`? */
static bool within(const mtf_tensor *x, const mtf_shape *dims, const char *a, const char *b)
{
    for (int d = 0; d < x->shape.ndims; d++) {
        const char *name = x->shape.dims[d].name;
        if (shape_find(dims, name) < 0 && strcmp(name, a) != 0 && strcmp(name, b) != 0)
            return false;
    }
    return true;
}

/* Can the primitive operation compute it? */
static bool is_plain(const mtf_tensor *q, const mtf_tensor *k, const mtf_tensor *v,
                     const mtf_tensor *mask, const attention_call *c, const mtf_attention_opts *o)
{
    mtf_shape queries = mtf_shape_minus(q->shape, mtf_shape(c->key));
    if (o->composed || (o->context && o->context->unit_scaling)) return false;
    if (!dtype_is_float(q->type) || k->type != q->type || v->type != q->type) return false;
    if (shape_find(&q->shape, c->memory.name) >= 0 || shape_find(&queries, c->value.name) >= 0)
        return false;
    if (!within(k, &queries, c->memory.name, c->key.name) ||
        !within(v, &queries, c->memory.name, c->value.name))
        return false;
    if (mask && (mask->type != q->type || !within(mask, &queries, c->memory.name, "")))
        return false;
    return !o->extra_logit || shape_within(&o->extra_logit->shape, &queries);
}

mtf_tensor *attention_with_extra(mtf_tensor *y, mtf_tensor *lse, mtf_tensor *extra)
{
    if (!extra || !y || !lse) return y;
    mtf_tensor *share = mtf_sigmoid(mtf_sub(lse, mtf_cast(extra, lse->type)));
    return mtf_cast(mtf_multiply(mtf_cast(y, lse->type), share), y->type);
}

mtf_tensor *mtf_dot_product_attention(mtf_tensor *q, mtf_tensor *k, mtf_tensor *v, mtf_tensor *mask,
                                      const mtf_attention_opts *opts)
{
    mtf_attention_opts o = opts ? *opts : (mtf_attention_opts){0};
    attention_call     c;
    mtf_tensor        *lse;
    if (!graph_of(q) || !k || !v) return NULL;
    if (!layer_last(k, "dot_product_attention", 1, &c.memory) ||
        !layer_last(q, "dot_product_attention", 0, &c.key) ||
        !layer_last(v, "dot_product_attention", 0, &c.value))
        return NULL;
    if (!is_plain(q, k, v, mask, &c, &o))
        return composed(q, k, v, mask, c.memory, c.key, c.value, &o);
    mtf_shape pairs =
        mtf_shape_plus(mtf_shape_minus(q->shape, mtf_shape(c.key)), mtf_shape(c.memory));
    mtf_shape   kept = mtf_shape_minus(pairs, o.dropout_broadcast);
    mtf_tensor *y = mtf_attention(
        q, k, v,
        &(mtf_attention_op_opts){.memory = c.memory.name,
                                 .key = c.key.name,
                                 .value = c.value.name,
                                 .bias = mask,
                                 .dropout = o.context && o.context->inference ? 0 : o.dropout,
                                 .dropout_over = mtf_shape_minus(pairs, kept)},
        &lse);
    return attention_with_extra(y, lse, o.extra_logit);
}

/* Batch dimensions and channels of query and memory must agree. */
static bool check_memory(const mtf_tensor *query, const mtf_tensor *memory, mtf_dim length,
                         mtf_dim memory_length)
{
    mtf_shape a = mtf_shape_minus(query->shape, mtf_shape(length));
    mtf_shape b = mtf_shape_minus(memory->shape, mtf_shape(memory_length));
    char      texts[2][SHAPE_TEXT];
    if (mtf_shape_equal(a, b)) return true;
    return fail(&query->node->graph->session->fault, ERR_SHAPE,
                "multihead_attention: the query \"%s\" is %s, the memory \"%s\" %s; but for their "
                "lengths they must be alike",
                tensor_name(query), shape_text(&query->shape, texts[0]), tensor_name(memory),
                shape_text(&memory->shape, texts[1]));
}

static mtf_tensor *attend(mtf_tensor *query, mtf_tensor *memory, mtf_tensor *mask, mtf_dim kv,
                          mtf_dim heads, const mtf_attention_opts *o)
{
    mtf_dim               channels = query->shape.dims[query->shape.ndims - 1];
    mtf_attention_weights w = attention_weights(query, heads, channels, kv, o);
    mtf_tensor           *q = attention_project(query, w.q, heads, kv, 1, o);
    mtf_tensor           *k = attention_project(memory, w.k, heads, kv, 1, o);
    mtf_tensor           *v = attention_project(memory, w.v, heads, kv, 1, o);
    return attention_output(mtf_dot_product_attention(q, k, v, mask, o), w.o, query, o);
}

mtf_tensor *mtf_multihead_attention(mtf_tensor *query, mtf_tensor *memory, mtf_tensor *mask,
                                    mtf_dim kv, mtf_dim heads, const mtf_attention_opts *opts)
{
    static const char layer[] = "multihead_attention";
    mtf_graph        *g = graph_of(query);
    mtf_dim           length, memory_length;
    const char       *outside;
    if (!g || !layer_last(query, layer, 1, &length)) return NULL;
    if (!memory) memory = mtf_rename_dimension(query, length.name, "memory_length");
    if (!memory || !layer_last(memory, layer, 1, &memory_length) ||
        !check_memory(query, memory, length, memory_length))
        return NULL;
    mtf_attention_opts o = attention_begin(g, opts, layer, &outside);
    if (!outside) return NULL;
    mtf_tensor *y = attend(query, memory, mask, kv, heads, &o);
    layer_leave(g, outside);
    return y;
}

/* ---- one step at a time ---- */

/* The stored keys or values with those of position `step` added, where there were zeros. */
static mtf_tensor *put_step(mtf_tensor *kept, mtf_tensor *now, mtf_tensor *step, mtf_dim length)
{
    if (!now) return NULL;
    mtf_tensor *here = mtf_one_hot_as(step, length, 1, 0, now->type);
    return mtf_add(kept, mtf_einsum(kept->shape, now, here));
}

mtf_tensor *mtf_multihead_self_attention_incremental(mtf_tensor *query, mtf_tensor **k,
                                                     mtf_tensor **v, mtf_tensor *step,
                                                     const mtf_attention_opts *opts)
{
    static const char layer[] = "multihead_attention";
    mtf_graph        *g = graph_of(query);
    mtf_dim           channels, heads, length, kv;
    const char       *outside;
    if (!g || !*k || !*v || !step) return *k = *v = NULL;
    if (!layer_last(query, layer, 0, &channels) || !layer_last(*k, layer, 2, &heads) ||
        !layer_last(*k, layer, 1, &length) || !layer_last(*k, layer, 0, &kv))
        return NULL;
    mtf_attention_opts o = attention_begin(g, opts, layer, &outside);
    if (!outside) return NULL;
    mtf_attention_weights w = attention_weights(query, heads, channels, kv, &o);
    mtf_tensor           *q = attention_project(query, w.q, heads, kv, 0, &o);
    *k = put_step(*k, attention_project(query, w.k, heads, kv, 0, &o), step, length);
    *v = put_step(*v, attention_project(query, w.v, heads, kv, 0, &o), step, length);
    mtf_tensor *later = mtf_greater(mtf_range(g, length, step->type), step);
    mtf_tensor *mask = mask_hide(later, query->type);
    mtf_tensor *y =
        attention_output(mtf_dot_product_attention(q, *k, *v, mask, &o), w.o, query, &o);
    layer_leave(g, outside);
    return y;
}

mtf_tensor *mtf_multihead_encdec_attention_incremental(mtf_tensor *query, mtf_tensor *wq,
                                                       mtf_tensor *wo, mtf_tensor *k, mtf_tensor *v,
                                                       mtf_tensor               *mask,
                                                       const mtf_attention_opts *opts)
{
    static const char  layer[] = "multihead_encdec_attention_incremental";
    mtf_attention_opts o = opts ? *opts : (mtf_attention_opts){0};
    mtf_dim            heads, kv;
    if (!graph_of(query) || !wq || !layer_last(wq, layer, 2, &heads) ||
        !layer_last(wq, layer, 0, &kv))
        return NULL;
    mtf_tensor *q = attention_project(query, wq, heads, kv, 0, &o);
    return attention_output(mtf_dot_product_attention(q, k, v, mask, &o), wo, query, &o);
}
