/* Attention layers: projections, positions, cached keys and values. */
#include <math.h>
#include <stdio.h>

#include "base/numbers.h"
#include "graph/node.h"
#include "model/transformer/attend.h"
#include "model/transformer/fixup.h"
#include "model/transformer/layer_parts.h"
#include "model/transformer/relative.h"
#include "model/transformer/rotary.h"
#include "model/transformer/transparent.h"
#include "nn/layer.h"

/* Dimensions of a layer's heads: those of queries, and those that keys and values have as well. */
typedef struct heads {
    mtf_shape query, memory;
    mtf_dim   kv;
} heads;

static heads heads_of(const mtf_attention_layer *o)
{
    mtf_dim all = {"heads", o->heads};
    heads   h = {.kv = {"d_kv", o->kv}};
    if (o->memory_heads > 1 && o->memory_heads < o->heads) {
        h.memory = mtf_shape((mtf_dim){"heads", o->memory_heads});
        h.query = mtf_shape((mtf_dim){"heads", o->memory_heads},
                            (mtf_dim){"query_heads", o->heads / o->memory_heads});
    } else if (o->heads > 1) {
        h.query = mtf_shape(all);
        if (o->memory_heads != 1) h.memory = mtf_shape(all);
    }
    return h;
}

mtf_shape attention_heads(const mtf_attention_layer *o)
{
    return heads_of(o).query;
}

/* ---- projections ---- */

/* One dimension for heads and head size, with the name of the heads, so that it is cut like them. */
static mtf_dim combined(mtf_shape dims)
{
    return mtf_combined_dimension(dims, NULL);
}

typedef struct projection {
    const char *name;
    mtf_shape   heads; /* heads, then the size of a head */
    double      deviation;
} projection;

/* q_fixup, ...: the last projection starts as 0. */
static mtf_tensor *fixup_weight(const stack_call *c, const mtf_attention_layer *o,
                                const projection *p, bool outwards, mtf_shape shape)
{
    char   name[24], init[FIXUP_INIT];
    double scale = pow((double)o->fixup.layers, -1.0 / 3);
    snprintf(name, sizeof name, "%s_fixup", p->name);
    if (c->context.unit_scaling)
        fail(&c->model->session->fault, ERR_VALUE,
             "fixup gives weights their deviations, and so does unit scaling; leave one out");
    if (outwards) return call_weight(c, name, shape, "zeros");
    fixup_init(&o->fixup, scale, c->model->d_model.size, mtf_shape_size(p->heads), init);
    return call_weight(c, name, shape, init);
}

static mtf_tensor *weight(const stack_call *c, const mtf_attention_layer *o, const projection *p,
                          bool outwards)
{
    mtf_shape all = o->separate_heads ? p->heads : mtf_shape(combined(p->heads));
    mtf_shape channels = mtf_shape(c->model->d_model);
    mtf_shape shape = outwards ? mtf_shape_plus(all, channels) : mtf_shape_plus(channels, all);
    char      init[48];
    shape = mtf_shape_plus(c->model->ensemble, shape);
    if (o->fixup.layers > 0) return fixup_weight(c, o, p, outwards, shape);
    number_format(init, sizeof init, "normal(0, %.17g)",
                  c->context.unit_scaling ? 1.0 : p->deviation);
    return call_weight(c, p->name, shape, init);
}

static mtf_tensor *bias(const stack_call *c, const mtf_attention_layer *o, const projection *p,
                        mtf_shape dims)
{
    char name[24];
    (void)o;
    snprintf(name, sizeof name, "%s_bias", p->name);
    return call_weight(c, name, mtf_shape_plus(c->model->ensemble, dims), "zeros");
}

/* x [.., d_model] to [.., heads, d_kv] by a mixture of experts; `real`: 0 at padding of x. */
static mtf_tensor *project_by_experts(stack_call *c, const mtf_attention_layer *o,
                                      const projection *p, mtf_tensor *x, mtf_tensor *real)
{
    bool               folded = p->name[0] == 'q' && !o->scale_queries && !c->context.unit_scaling;
    experts_projection by = {.opts = o->experts,
                             .name = p->name,
                             .output = combined(p->heads),
                             .scale = folded ? 1 / (double)o->kv : 1,
                             .deviation = p->deviation,
                             .real = real};
    return mtf_replace_dimensions(experts_project(c, &by, x), mtf_shape(by.output), p->heads);
}

/* The same, by whatever the layer has. */
static mtf_tensor *project(stack_call *c, const mtf_attention_layer *o, const projection *p,
                           mtf_tensor *x, mtf_tensor *real)
{
    if (!x) return NULL;
    if (o->experts) return project_by_experts(c, o, p, x, real);
    mtf_shape   rest = mtf_shape_minus(x->shape, mtf_shape(c->model->d_model));
    mtf_shape   all = o->separate_heads ? p->heads : mtf_shape(combined(p->heads));
    mtf_tensor *w = weight(c, o, p, false);
    mtf_tensor *y = layer_product(&c->context, o->f8, mtf_shape_plus(rest, all), x, w);
    if (o->bias) y = mtf_add(y, bias(c, o, p, all));
    return o->separate_heads ? y : mtf_replace_dimensions(y, all, p->heads);
}

/* y [.., heads, d_kv] back to the model's dimension */
static mtf_tensor *output(const stack_call *c, const mtf_attention_layer *o, const projection *p,
                          mtf_tensor *y)
{
    if (!y) return NULL;
    mtf_shape   rest = mtf_shape_minus(y->shape, p->heads);
    mtf_shape   channels = mtf_shape(c->model->d_model);
    mtf_tensor *w = weight(c, o, p, true);
    if (!o->separate_heads) {
        y = mtf_transpose(y, mtf_shape_plus(rest, p->heads));
        y = mtf_replace_dimensions(y, p->heads, mtf_shape(combined(p->heads)));
    }
    y = layer_product(&c->context, o->f8, mtf_shape_plus(rest, channels), y, w);
    return o->bias ? mtf_add(y, bias(c, o, p, channels)) : y;
}

static projection projection_of(const stack_call *c, const mtf_attention_layer *o, const heads *h,
                                char which)
{
    double    kv = (double)o->kv;
    double    in = call_deviation(c, pow((double)c->model->d_model.size, -0.5), false);
    mtf_shape one = mtf_shape(h->kv), query = mtf_shape_plus(h->query, one);
    mtf_shape memory = mtf_shape_plus(h->memory, one);
    switch (which) {
    case 'q': return (projection){"q", query, o->scale_queries ? in : in * pow(kv, -0.5)};
    case 'k': return (projection){o->shared_kv ? "kv" : "k", memory, in};
    case 'v': return (projection){"v", memory, in};
    default:
        return (projection){"o", query, call_deviation(c, pow((double)o->heads * kv, -0.5), true)};
    }
}

static double query_scale(const mtf_attention_layer *o)
{
    return pow((double)o->kv, -0.5);
}

/* Can the products be scaled instead of the queries?  In short floats only where the scale is a power
 * of two, which changes no rounding; a contextual bias is computed from scaled queries. */
static bool scales_products(const mtf_attention_layer *o, mtf_dtype type)
{
    int  power;
    bool exact = frexp(query_scale(o), &power) == 0.5 || type == MTF_F32;
    return o->scale_queries && exact && o->relative != MTF_RELATIVE_CONTEXTUAL;
}

static mtf_tensor *queries(stack_call *c, const mtf_attention_layer *o, const heads *h,
                           mtf_tensor *x)
{
    projection  p = projection_of(c, o, h, 'q');
    mtf_tensor *q = project(c, o, &p, x, experts_real(c));
    return q && o->scale_queries && !scales_products(o, q->type) ? mtf_scale(q, query_scale(o)) : q;
}

static void keys_and_values(stack_call *c, const mtf_attention_layer *o, const heads *h,
                            mtf_tensor *x, mtf_tensor *real, mtf_tensor **k, mtf_tensor **v)
{
    projection pk = projection_of(c, o, h, 'k'), pv = projection_of(c, o, h, 'v');
    *k = project(c, o, &pk, x, real);
    *v = o->shared_kv ? *k : project(c, o, &pv, x, real);
}

static mtf_tensor *extra_logit(const stack_call *c, const mtf_attention_layer *o, const heads *h)
{
    if (o->fixed_extra_logit)
        return mtf_constant(c->graph, o->extra_logit_value, MTF_F32, mtf_shape());
    if (!o->extra_logit) return NULL;
    mtf_shape shape = mtf_shape_plus(c->model->ensemble, h->query);
    return mtf_cast(call_weight(c, "extra_logit", shape, "zeros"), MTF_F32);
}

/* Shares of heads that are not negative and whose sum is 1, from learned numbers. */
static mtf_tensor *head_shares(const stack_call *c, const heads *h, const char *name)
{
    mtf_shape   shape = mtf_shape_plus(c->model->ensemble, h->query);
    mtf_tensor *z = mtf_relu(call_weight(c, name, shape, "uniform(0, 1)"));
    mtf_tensor *sum = mtf_add_scalar(z, 1e-4);
    return mtf_divide(z, h->query.ndims ? mtf_reduce_sum(sum, h->query) : sum);
}

/* Each head's y goes through the feed-forward layer, in shares before and after it.  Its hidden dimension is
 * not "d_ff", since layouts cut that along the same axis as heads. */
static mtf_tensor *branched(stack_call *c, const mtf_attention_layer *o, const heads *h,
                            mtf_tensor *y)
{
    projection p = projection_of(c, o, h, 'o');
    mtf_shape  one = mtf_shape(h->kv), channels = mtf_shape(c->model->d_model);
    if (!y) return NULL;
    mtf_shape rest = mtf_shape_minus(y->shape, one);
    y = layer_product(&c->context, o->f8, mtf_shape_plus(rest, channels), y,
                      weight(c, o, &p, true));
    y = mtf_multiply(y, head_shares(c, h, "kappa"));
    y = feed_forward(c, o->branches, "branch_d_ff", y);
    y = mtf_multiply(y, head_shares(c, h, "alpha"));
    return h->query.ndims ? mtf_reduce_sum(y, h->query) : y;
}

static mtf_tensor *finish_heads(stack_call *c, const mtf_attention_layer *o, const heads *h,
                                const attend_opts *how, mtf_tensor *q, mtf_tensor *k, mtf_tensor *v)
{
    projection  p = projection_of(c, o, h, 'o');
    mtf_tensor *y = attend(c, how, q, k, v);
    return o->branches ? branched(c, o, h, y) : output(c, o, &p, y);
}

static attend_opts opts_of(const stack_call *c, const mtf_attention_layer *o, const heads *h,
                           const mtf_tensor *q, mtf_dim memory)
{
    attend_opts how = {.memory = memory,
                       .key = h->kv,
                       .value = h->kv,
                       .scale = q && scales_products(o, q->type) ? query_scale(o) : 0,
                       .dropout = o->dropout,
                       .hybrid = o->hybrid,
                       .composed = o->composed,
                       .extra_logit = extra_logit(c, o, h)};
    if (!o->dropout_each) how.dropout_shared = mtf_shape(c->length);
    return how;
}

/* ---- a sequence attends to itself ---- */

/* What queries attend to: the sequence itself, or in decoding its cache, including these positions. */
static mtf_tensor *as_memory(const stack_call *c, const char *name, mtf_tensor *x)
{
    if (!x) return NULL;
    return c->mode == CALL_DECODE ? call_keep(c, name, x) : x;
}

static mtf_dim own_memory(const stack_call *c)
{
    return c->mode == CALL_DECODE ? c->cache : (mtf_dim){"memory_length", c->length.size};
}

static mtf_tensor *bias_of(stack_call *c, const mtf_attention_layer *o, const heads *h, bool across,
                           mtf_tensor *q)
{
    relative_opts how = {o->relative, o->buckets, o->max_distance, h->query, o->window, across};
    return relative_bias(c, &how, q, across ? c->memory : own_memory(c));
}

void attention_share(stack_call *c, const mtf_attention_layer *o, bool across)
{
    heads h = heads_of(o);
    bias_of(c, o, &h, across, NULL);
}

mtf_tensor *attention_to_itself(stack_call *c, const mtf_attention_layer *o,
                                const attention_logits *made, mtf_tensor *x)
{
    heads       h = heads_of(o);
    mtf_tensor *q = made && made->without_queries ? x : queries(c, o, &h, x), *k, *v;
    keys_and_values(c, o, &h, x, experts_real(c), &k, &v);
    bool one = v == k && o->rotary == 0; /* one cache holds keys and values */
    if (o->rotary > 0) {
        q = rotate(c, q, h.kv, o->rotary, o->rotary_size);
        k = rotate(c, k, h.kv, o->rotary, o->rotary_size);
    }
    attend_opts how = opts_of(c, o, &h, q, own_memory(c));
    how.self = c->mode != CALL_DECODE;
    how.sees = attend_to_own(c, o->window);
    how.bias = bias_of(c, o, &h, false, q);
    attend_made logits = {0};
    if (made) {
        logits = (attend_made){made->logits, made->context, call_shape(c, h.query)};
        how.made = &logits;
    }
    k = as_memory(c, "cache_k", k);
    v = one ? k : as_memory(c, "cache_v", v);
    return finish_heads(c, o, &h, &how, q, k, v);
}

/* ---- a decoder attends to the encoder's output ---- */

/* Keys and values of the encoder's output: computed, or in decoding read from the cache. */
static void encoded_keys(stack_call *c, const mtf_attention_layer *o, const heads *h,
                         mtf_tensor **k, mtf_tensor **v)
{
    mtf_shape rest = mtf_shape_plus(h->memory, mtf_shape(h->kv));
    if (c->mode != CALL_DECODE) {
        mtf_tensor *from = o->transparent ? transparent_memory(c, o->transparent) : c->encoded;
        keys_and_values(c, o, h, from, c->encoded_segment, k, v);
        return;
    }
    *k = call_kept(c, "encoded_k", c->type, rest);
    *v = o->shared_kv ? *k : call_kept(c, "encoded_v", c->type, rest);
}

void attention_keep(stack_call *c, const mtf_attention_layer *o, mtf_tensor *encoded)
{
    heads       h = heads_of(o);
    mtf_tensor *k, *v;
    if (o->transparent) encoded = transparent_memory(c, o->transparent);
    keys_and_values(c, o, &h, encoded, c->encoded_segment, &k, &v);
    call_keep_encoded(c, "encoded_k", k);
    if (!o->shared_kv) call_keep_encoded(c, "encoded_v", v);
}

mtf_tensor *attention_to_encoder(stack_call *c, const mtf_attention_layer *o, mtf_tensor *x)
{
    heads       h = heads_of(o);
    mtf_tensor *q = queries(c, o, &h, x), *k, *v;
    encoded_keys(c, o, &h, &k, &v);
    attend_opts how = opts_of(c, o, &h, q, c->memory);
    if (c->segment && c->encoded_segment)
        how.sees = (visibility){.query_segment = c->segment, .memory_segment = c->encoded_segment};
    how.bias = bias_of(c, o, &h, true, q);
    return finish_heads(c, o, &h, &how, q, k, v);
}
