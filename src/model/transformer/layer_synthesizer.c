/* Synthesizers: attention whose logits come from learned tables of positions, or from a dense layer, alone
 * or together with products of queries and keys. */
#include "graph/node.h"
#include "model/transformer/layer_kind.h"
#include "model/transformer/layer_parts.h"

static bool has_products(mtf_synthesis mode)
{
    return mode == MTF_SYNTHESIS_RANDOM_PLUS || mode == MTF_SYNTHESIS_RANDOM_PLUS_ALPHA ||
           mode == MTF_SYNTHESIS_DENSE_PLUS || mode == MTF_SYNTHESIS_DENSE_PLUS_ALPHA;
}

static bool has_share(mtf_synthesis mode)
{
    return mode == MTF_SYNTHESIS_RANDOM_PLUS_ALPHA || mode == MTF_SYNTHESIS_DENSE_PLUS_ALPHA;
}

static bool is_dense(mtf_synthesis mode)
{
    return mode == MTF_SYNTHESIS_DENSE_MINUS || mode == MTF_SYNTHESIS_DENSE_PLUS ||
           mode == MTF_SYNTHESIS_DENSE_PLUS_ALPHA;
}

/* ---- places in tables ---- */

static mtf_dim table_places(const mtf_synthesizer_layer *o, const char *name)
{
    return (mtf_dim){name, o->length};
}

/* Rows of a table, which has them along "table_length", for the queries: [.., length, ..]. */
static mtf_tensor *for_queries(const stack_call *c, const mtf_synthesizer_layer *o, mtf_tensor *x)
{
    if (c->position) return mtf_gather(x, c->position, table_places(o, "table_length"));
    x = mtf_slice(x, "table_length", 0, c->length.size, 1);
    return mtf_rename_dimension(x, "table_length", c->length.name);
}

/* The same along "table_memory" for the memory: a cache has places in order, examples that share a row have
 * places of their own. */
static mtf_tensor *for_memory(const stack_call *c, const mtf_synthesizer_layer *o, mtf_dim memory,
                              mtf_tensor *x)
{
    if (c->position && c->mode != CALL_DECODE) {
        mtf_tensor *at = mtf_rename_dimension(c->position, c->length.name, memory.name);
        return mtf_gather(x, at, table_places(o, "table_memory"));
    }
    x = mtf_slice(x, "table_memory", 0, memory.size, 1);
    return mtf_rename_dimension(x, "table_memory", memory.name);
}

/* ---- learned logits ---- */

/* A variable with the original's names of dimensions, which are those of sequences; ours tell them apart. */
static mtf_tensor *table(const stack_call *c, const char *name, mtf_shape shape)
{
    mtf_tensor *w = call_weight(c, name, shape, "glorot_uniform");
    if (mtf_shape_find(shape, "length") >= 0) w = mtf_rename_dimension(w, "length", "table_length");
    if (mtf_shape_find(shape, "memory_length") >= 0)
        w = mtf_rename_dimension(w, "memory_length", "table_memory");
    return w;
}

static mtf_tensor *table_logits(const stack_call *c, const mtf_synthesizer_layer *o, mtf_dim memory)
{
    mtf_shape rows = mtf_shape(table_places(o, "length")), heads = attention_heads(&o->attention);
    mtf_shape columns = mtf_shape(table_places(o, "memory_length"));
    if (o->mode != MTF_SYNTHESIS_FACTORIZED) {
        mtf_shape   shape = mtf_shape_plus(mtf_shape_plus(rows, heads), columns);
        mtf_tensor *r = table(c, "R", mtf_shape_plus(c->model->ensemble, shape));
        return for_memory(c, o, memory, for_queries(c, o, r));
    }
    mtf_dim     factors = {"tmp", o->factors};
    mtf_shape   own = mtf_shape_plus(mtf_shape(factors), heads);
    mtf_tensor *r1 = table(c, "R1", mtf_shape_plus(c->model->ensemble, mtf_shape_plus(own, rows)));
    mtf_tensor *r2 =
        table(c, "R2", mtf_shape_plus(c->model->ensemble, mtf_shape_plus(own, columns)));
    r1 = for_queries(c, o, r1), r2 = for_memory(c, o, memory, r2);
    if (!r1 || !r2) return NULL;
    mtf_shape all = mtf_shape_plus(r1->shape, r2->shape);
    return mtf_einsum(mtf_shape_minus(all, mtf_shape(factors)), r1, r2);
}

/* A dense layer gives each query a logit for each place; heads share it. */
static mtf_tensor *dense_logits(const stack_call *c, const mtf_synthesizer_layer *o, mtf_tensor *q,
                                mtf_dim memory)
{
    mtf_dim        places = table_places(o, "table_memory"), kv = {"d_kv", o->attention.kv};
    char           init[KERNEL_INIT];
    mtf_dense_opts d = {.name = "pi",
                        .reduced = mtf_shape(kv),
                        .experts = c->model->ensemble,
                        .no_bias = true,
                        .kernel_init = call_kernel_init(c, false, init),
                        .context = &c->context};
    return for_memory(c, o, memory, mtf_dense(mtf_relu(q), mtf_shape(places), &d));
}

static mtf_tensor *logits(const stack_call *c, const void *context, mtf_tensor *q, mtf_tensor *k,
                          mtf_dim memory)
{
    const mtf_synthesizer_layer *o = context;
    mtf_shape heads = mtf_shape_plus(attention_heads(&o->attention), mtf_shape(memory));
    if (c->length.size > o->length || memory.size > o->length)
        fail(&c->model->session->fault, ERR_SHAPE,
             "a synthesizer has tables of %lld positions; there are sequences of %lld",
             (long long)o->length,
             (long long)(c->length.size > memory.size ? c->length.size : memory.size));
    mtf_tensor *own =
        is_dense(o->mode) ? dense_logits(c, o, q, memory) : table_logits(c, o, memory);
    if (!has_products(o->mode)) return own ? mtf_broadcast(own, call_shape(c, heads)) : NULL;
    mtf_tensor *x = mtf_us_einsum(&c->context, call_shape(c, heads), 2, (mtf_tensor *[]){q, k});
    if (!has_share(o->mode)) return mtf_add(x, own);
    mtf_shape   one = mtf_shape((mtf_dim){"alpha", 1});
    mtf_tensor *alpha = call_weight(c, "alpha", mtf_shape_plus(c->model->ensemble, one), "zeros");
    alpha = mtf_sigmoid(mtf_reduce_sum(alpha, one));
    return mtf_add(x, mtf_multiply(mtf_sub(own, x), alpha));
}

/* ---- the kind ---- */

static mtf_tensor *apply(stack_call *c, const mtf_transformer_layer *l, mtf_tensor *x)
{
    const mtf_synthesizer_layer *o = &l->synthesizer;
    bool                         table_only = !has_products(o->mode) && !is_dense(o->mode);
    attention_logits             made = {logits, o, table_only};
    return attention_to_itself(c, &o->attention, &made, x);
}

static bool check_attention(fault *f, const char *layer, const mtf_synthesizer_layer *o)
{
    const mtf_attention_layer *a = &o->attention;
    const char                *what = a->memory_heads ? "as many heads of keys as of queries"
                                      : a->hybrid     ? "an ordinary softmax"
                                      : a->rotary > 0 ? "no rotary positions"
                                      : a->window > 0 ? "no window"
                                      : a->experts || a->branches ? "neither experts nor branches"
                                      : a->transparent            ? "no encoder"
                                      : a->relative == MTF_RELATIVE_CONTEXTUAL && !has_products(o->mode)
                                          ? "products of queries for contextual positions"
                                          : NULL;
    return !what || fail(f, ERR_VALUE, "%s: a synthesizer has %s", layer, what);
}

static bool complete(mtf_session *s, mtf_transformer_layer *l)
{
    mtf_synthesizer_layer *o = &l->synthesizer;
    set_default(&o->length, 512);
    set_default(&o->factors, 16);
    if ((int)o->mode < 0 || o->mode > MTF_SYNTHESIS_DENSE_MINUS)
        return fail(&s->fault, ERR_VALUE, "%s: there is no mode %d of synthesizers", l->name,
                    (int)o->mode);
    if (o->length < 1 || o->factors < 1)
        return fail(&s->fault, ERR_VALUE,
                    "%s: tables of %lld positions and %lld factors; both must be 1 or more",
                    l->name, (long long)o->length, (long long)o->factors);
    o->attention.shared_kv = !has_products(o->mode);
    return check_attention(&s->fault, l->name, o) &&
           attention_layer_check(s, l->name, &o->attention);
}

static void share(stack_call *c, const mtf_transformer_layer *l)
{
    const mtf_attention_layer *o = &l->synthesizer.attention;
    if (o->relative == MTF_RELATIVE_BIAS_SHARED) attention_share(c, o, false);
}

const layer_kind kind_synthesizer = {
    .name = "Synthesizer", .complete = complete, .apply = apply, .share = share};
