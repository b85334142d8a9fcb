/* Talking heads: heads mixed before and after the softmax.
 *
 * Keys and values have sets of heads of their own, and so has the softmax.  Between two sets, dimensions
 * that only the first has are summed, those that only the second has are made, and what both have is
 * kept apart.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/numbers.h"
#include "graph/node.h"
#include "model/transformer/attend.h"
#include "model/transformer/layer_kind.h"
#include "model/transformer/relative.h"

static mtf_dim key_of(const mtf_talking_heads_layer *o)
{
    return (mtf_dim){"d_k", o->key_size};
}

static mtf_dim value_of(const mtf_talking_heads_layer *o)
{
    return (mtf_dim){"d_v", o->value_size};
}

/* ---- weights ---- */

/* [shared.., reduced.., made..] */
static mtf_tensor *kernel(const stack_call *c, const char *scope, mtf_shape shape, double deviation)
{
    char        init[64];
    const char *outside = c->graph->scope;
    number_format(init, sizeof init, "normal(0, %.17g)", c->context.unit_scaling ? 1.0 : deviation);
    mtf_scope_push(c->graph, scope);
    mtf_tensor *w = call_weight(c, "kernel", mtf_shape_plus(c->model->ensemble, shape), init);
    c->graph->scope = outside; /* mtf_scope_pop would remove only one of two levels */
    return w;
}

static mtf_tensor *product(const stack_call *c, mtf_tensor *x, mtf_tensor *w, mtf_shape reduced,
                           mtf_shape made)
{
    if (!graph_of(x)) return NULL;
    mtf_shape shape = mtf_shape_plus(mtf_shape_minus(x->shape, reduced), made);
    return mtf_us_einsum(&c->context, shape, 2, (mtf_tensor *[]){x, w});
}

/* From the model's dimension to these. */
static mtf_tensor *project(const stack_call *c, mtf_tensor *x, const char *name, mtf_shape made,
                           double scale)
{
    mtf_shape   model = mtf_shape(c->model->d_model);
    double      all = call_deviation(c, 0, false);
    double      own = all > 0 ? all * sqrt(scale) : sqrt(scale / (double)c->model->d_model.size);
    mtf_tensor *w = kernel(c, name, mtf_shape_plus(model, made), own);
    return product(c, x, w, model, made);
}

/* ---- mixing ---- */

/* From one set of heads to another. */
typedef struct mixing {
    const char *name;
    mtf_shape   shared, reduced, made;
    bool        from_query, from_memory; /* what the matrix depends on, besides what is learned */
} mixing;

static mixing mixing_of(const mtf_talking_heads_layer *o, bool weights)
{
    mtf_shape a = weights ? o->softmax_dims : o->key_dims;
    mtf_shape b = weights ? o->value_dims : o->softmax_dims;
    mixing    m = {weights ? "weights" : "logits", mtf_shape_minus(a, mtf_shape_minus(a, b)),
                mtf_shape_minus(a, b),          mtf_shape_minus(b, a),
                weights ? o->x2w : o->x2l,      weights ? o->m2w : o->m2l};
    if (!m.reduced.ndims && !m.made.ndims) m.from_query = m.from_memory = false;
    return m;
}

static mtf_shape matrix_of(const mixing *m)
{
    return mtf_shape_plus(mtf_shape_plus(m->shared, m->reduced), m->made);
}

/* A matrix that follows from x: [.., shared.., reduced.., made..]. */
static mtf_tensor *matrix_from(const stack_call *c, const mtf_talking_heads_layer *o,
                               const mixing *m, bool memory, mtf_tensor *x)
{
    char name[40];
    bool second = memory && m->from_query;
    if (memory ? !m->from_memory : !m->from_query) return NULL;
    snprintf(name, sizeof name, "%s/%s_dynamic_%d", m->name, m->name, second);
    return project(c, x, name, matrix_of(m), o->dynamic_scale / (double)mtf_shape_size(m->reduced));
}

/* x with its heads mixed by a learned matrix and by those that follow from queries and memory. */
static mtf_tensor *mixed(const stack_call *c, const mixing *m, mtf_tensor *x, mtf_tensor *query,
                         mtf_tensor *memory)
{
    if (!m->reduced.ndims && !m->made.ndims) return x;
    mtf_tensor *w = kernel(c, m->name, matrix_of(m), sqrt(1 / (double)mtf_shape_size(m->reduced)));
    mtf_tensor *first = query ? query : memory;
    if (first) w = mtf_add(first, w);
    mtf_tensor *y = product(c, x, w, m->reduced, m->made);
    if (query && memory) y = mtf_add(y, product(c, x, memory, m->reduced, m->made));
    return y;
}

/* ---- what is attended to ---- */

enum { KEYS, VALUES, TO_LOGITS, TO_WEIGHTS, PARTS };
static const char *const own_names[PARTS] = {"cache_k", "cache_v", "cache_m2l", "cache_m2w"};
static const char *const encoded_names[PARTS] = {"encoded_k", "encoded_v", "encoded_m2l",
                                                 "encoded_m2w"};

/* Of an input [.., d_model]: keys, values, and matrices where they follow from the memory, else NULL. */
static void memory_of(const stack_call *c, const mtf_talking_heads_layer *o, mtf_tensor *x,
                      mtf_tensor **part)
{
    mixing logits = mixing_of(o, false), weights = mixing_of(o, true);
    part[KEYS] = project(c, x, "k", mtf_shape_plus(o->key_dims, mtf_shape(key_of(o))), 1);
    part[VALUES] = project(c, x, "v", mtf_shape_plus(o->value_dims, mtf_shape(value_of(o))), 1);
    part[TO_LOGITS] = matrix_from(c, o, &logits, true, x);
    part[TO_WEIGHTS] = matrix_from(c, o, &weights, true, x);
}

/* The same of the sequence itself; in decoding with what was kept of it. */
static mtf_dim own_memory(stack_call *c, const mtf_talking_heads_layer *o, mtf_tensor *x,
                          mtf_tensor **part)
{
    mtf_dim memory = {"memory_length", c->length.size};
    memory_of(c, o, x, part);
    for (int k = 0; k < PARTS; k++)
        if (part[k])
            part[k] = c->mode == CALL_DECODE
                          ? call_keep(c, own_names[k], part[k])
                          : mtf_rename_dimension(part[k], c->length.name, memory.name);
    return c->mode == CALL_DECODE ? c->cache : memory;
}

/* The same of the encoder's output; in decoding as it was kept. */
static mtf_dim encoded_memory(const stack_call *c, const mtf_talking_heads_layer *o,
                              mtf_tensor **part)
{
    mixing    logits = mixing_of(o, false), weights = mixing_of(o, true);
    mtf_shape shapes[PARTS] = {mtf_shape_plus(o->key_dims, mtf_shape(key_of(o))),
                               mtf_shape_plus(o->value_dims, mtf_shape(value_of(o))),
                               matrix_of(&logits), matrix_of(&weights)};
    bool      there[PARTS] = {true, true, logits.from_memory, weights.from_memory};
    if (c->mode != CALL_DECODE) {
        memory_of(c, o, c->encoded, part);
        return c->memory;
    }
    for (int k = 0; k < PARTS; k++)
        part[k] = there[k] ? call_kept(c, encoded_names[k], c->type, shapes[k]) : NULL;
    return c->memory;
}

static void keep_encoded(stack_call *c, const mtf_transformer_layer *l, mtf_tensor *encoded)
{
    mtf_tensor *part[PARTS];
    memory_of(c, &l->talking_heads, encoded, part);
    for (int k = 0; k < PARTS; k++)
        if (part[k]) call_keep_encoded(c, encoded_names[k], part[k]);
}

/* ---- which positions see which ---- */

static mtf_tensor *renamed(const stack_call *c, mtf_tensor *x, mtf_dim memory)
{
    return x ? mtf_rename_dimension(x, c->length.name, memory.name) : NULL;
}

static visibility seen_by(const stack_call *c, bool to_encoder, mtf_dim memory)
{
    visibility v = {0};
    if (to_encoder) {
        v.query_segment = c->segment;
        v.memory_segment = c->encoded_segment;
        return v;
    }
    v.causal = c->stack->causal;
    v.read = c->priority;
    if (c->mode == CALL_DECODE) {
        v.place = c->position;
        return v;
    }
    v.write = renamed(c, c->priority, memory);
    v.query_segment = c->own;
    v.memory_segment = renamed(c, c->own, memory);
    return v;
}

static mtf_tensor *bias_of(stack_call *c, const mtf_talking_heads_layer *o, bool across,
                           mtf_tensor *q, mtf_dim memory)
{
    relative_opts how = {o->relative, o->buckets, o->max_distance, o->softmax_dims, 0, across};
    return relative_bias(c, &how, q, memory);
}

static void shared_bias(stack_call *c, const mtf_talking_heads_layer *o, bool across)
{
    bias_of(c, o, across, NULL, across ? c->memory : (mtf_dim){"memory_length", c->length.size});
}

/* ---- the layer ---- */

static mtf_tensor *attended(stack_call *c, const mtf_talking_heads_layer *o, bool to_encoder,
                            mtf_tensor *x)
{
    mixing      before = mixing_of(o, false), after = mixing_of(o, true);
    mtf_tensor *part[PARTS];
    if (!graph_of(x)) return NULL;
    mtf_shape   heads = mtf_shape_plus(o->value_dims, mtf_shape(value_of(o)));
    mtf_tensor *q = project(c, x, "q", mtf_shape_plus(o->key_dims, mtf_shape(key_of(o))),
                            1 / (double)o->key_size);
    mtf_dim     memory = to_encoder ? encoded_memory(c, o, part) : own_memory(c, o, x, part);
    mtf_shape   pairs = mtf_shape_plus(call_shape(c, mtf_shape(memory)), o->key_dims);
    mtf_tensor *logits = mtf_us_einsum(&c->context, pairs, 2, (mtf_tensor *[]){q, part[KEYS]});
    logits = mixed(c, &before, logits, matrix_from(c, o, &before, false, x), part[TO_LOGITS]);
    logits = mtf_cast(logits, MTF_F32);
    visibility  sees = seen_by(c, to_encoder, memory);
    mtf_tensor *mask = attend_mask(c, &sees, memory);
    if (mask) logits = mtf_add(logits, mask);
    mtf_tensor *bias = relative_spread(c, bias_of(c, o, to_encoder, q, memory), memory);
    if (bias) logits = mtf_add(logits, bias);
    mtf_tensor *weights = mtf_cast(mtf_softmax(logits, memory, NULL), c->type);
    weights = mixed(c, &after, weights, matrix_from(c, o, &after, false, x), part[TO_WEIGHTS]);
    if (o->dropout > 0 && !c->context.inference && weights)
        weights =
            mtf_dropout(weights, o->dropout, mtf_shape_minus(weights->shape, mtf_shape(c->length)));
    mtf_tensor *u = mtf_einsum(call_shape(c, heads), weights, part[VALUES]);
    mtf_shape   model = mtf_shape(c->model->d_model);
    double      deviation = call_deviation(c, sqrt(1 / (double)mtf_shape_size(heads)), true);
    mtf_tensor *w = kernel(c, "y", mtf_shape_plus(heads, model), deviation);
    return product(c, u, w, heads, model);
}

/* ---- the kinds ---- */

/* A set of heads as dimensions, with names of the session's own. */
static bool complete_heads(mtf_session *s, const char *layer, const char *name, int64_t heads,
                           mtf_shape *dims)
{
    if (dims->ndims == 0) *dims = mtf_shape((mtf_dim){name, heads});
    for (int k = 0; k < dims->ndims; k++) {
        if (dims->dims[k].size < 1)
            return fail(&s->fault, ERR_VALUE,
                        "%s: there are %lld heads \"%s\"; there must be 1 or more", layer,
                        (long long)dims->dims[k].size, dims->dims[k].name);
        dims->dims[k].name = arena_text(&s->arena, dims->dims[k].name);
        TRY(dims->dims[k].name != NULL);
    }
    return true;
}

/* Dimensions of one name have one size. */
static bool heads_agree(fault *f, const char *layer, const mtf_shape *a, const mtf_shape *b)
{
    for (int i = 0; i < a->ndims; i++)
        for (int k = 0; k < b->ndims; k++)
            if (strcmp(a->dims[i].name, b->dims[k].name) == 0 && a->dims[i].size != b->dims[k].size)
                return fail(f, ERR_VALUE,
                            "%s: two sets of heads have \"%s\", with %lld and %lld; give what "
                            "differs different names",
                            layer, a->dims[i].name, (long long)a->dims[i].size,
                            (long long)b->dims[k].size);
    return true;
}

static bool complete_talking(mtf_session *s, const char *layer, mtf_talking_heads_layer *o)
{
    fault *f = &s->fault;
    set_default(&o->key_heads, 12);
    set_default(&o->softmax_heads, 12);
    set_default(&o->value_heads, 12);
    set_default(&o->key_size, 64);
    set_default(&o->value_size, 64);
    set_default(&o->buckets, 32);
    set_default(&o->max_distance, 128);
    if (o->dynamic_scale == 0) o->dynamic_scale = 0.01;
    if (o->key_size < 1 || o->value_size < 1 || o->dynamic_scale < 0)
        return fail(
            f, ERR_VALUE,
            "%s: heads of size %lld and %lld, a dynamic scale of %g; they must be 1 or more, "
            "and above 0",
            layer, (long long)o->key_size, (long long)o->value_size, o->dynamic_scale);
    TRY(complete_heads(s, layer, "key_heads", o->key_heads, &o->key_dims) &&
        complete_heads(s, layer, "heads", o->softmax_heads, &o->softmax_dims) &&
        complete_heads(s, layer, "value_heads", o->value_heads, &o->value_dims) &&
        heads_agree(f, layer, &o->key_dims, &o->softmax_dims) &&
        heads_agree(f, layer, &o->key_dims, &o->value_dims) &&
        heads_agree(f, layer, &o->softmax_dims, &o->value_dims));
    return check_share(f, "the dropout of attention", o->dropout) &&
           relative_check(f, layer, o->relative, o->buckets, o->max_distance);
}

static bool talking_complete(mtf_session *s, mtf_transformer_layer *l)
{
    return complete_talking(s, l->name, &l->talking_heads);
}

static mtf_tensor *apply_self(stack_call *c, const mtf_transformer_layer *l, mtf_tensor *x)
{
    return attended(c, &l->talking_heads, false, x);
}

static mtf_tensor *apply_enc_dec(stack_call *c, const mtf_transformer_layer *l, mtf_tensor *x)
{
    return attended(c, &l->talking_heads, true, x);
}

static void share_self(stack_call *c, const mtf_transformer_layer *l)
{
    if (l->talking_heads.relative == MTF_RELATIVE_BIAS_SHARED)
        shared_bias(c, &l->talking_heads, false);
}

static void share_enc_dec(stack_call *c, const mtf_transformer_layer *l)
{
    if (l->talking_heads.relative == MTF_RELATIVE_BIAS_SHARED)
        shared_bias(c, &l->talking_heads, true);
}

static bool talking_is_relative(const mtf_transformer_layer *l)
{
    return l->talking_heads.relative != MTF_RELATIVE_NONE;
}

const layer_kind kind_talking_self = {.name = "TalkingHeadsSelfAttention",
                                      .complete = talking_complete,
                                      .apply = apply_self,
                                      .share = share_self};
const layer_kind kind_talking_enc_dec = {.name = "TalkingHeadsEncDecAttention",
                                         .complete = talking_complete,
                                         .apply = apply_enc_dec,
                                         .share = share_enc_dec,
                                         .keep = keep_encoded,
                                         .asks_places = talking_is_relative};
