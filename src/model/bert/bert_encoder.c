/* BERT in a graph: embeddings, blocks of layers, the pooler. */
#include <stdio.h>

#include "base/textbuf.h"
#include "model/bert/bert.h"
#include "nn/layer.h"

/* ---- what layers share ---- */

mtf_layer_context bert_context(const mtf_bert_call *how)
{
    return (mtf_layer_context){.inference = !how->training, .frozen = how->frozen};
}

mtf_tensor *bert_dense(const mtf_bert *m, const mtf_layer_context *c, mtf_tensor *x,
                       mtf_shape reduced, mtf_shape new_dims, const char *name,
                       const char *activation)
{
    return mtf_dense(x, new_dims,
                     &(mtf_dense_opts){.name = name,
                                       .reduced = reduced,
                                       .no_bias = m->opts.no_bias,
                                       .activation = activation,
                                       .kernel_init = m->kernel_init,
                                       .context = c});
}

mtf_tensor *bert_norm(const mtf_bert *m, const mtf_layer_context *c, mtf_tensor *x)
{
    mtf_norm_opts o = {.epsilon = m->opts.epsilon, .context = c};
    return m->opts.no_bias ? mtf_rms_norm(x, m->hidden, &o) : mtf_layer_norm(x, m->hidden, &o);
}

mtf_tensor *bert_element(mtf_tensor *x, mtf_dim dim, int64_t i)
{
    dim.size = 1;
    return mtf_reduce_sum(mtf_slice(x, dim.name, i, 1, 1), mtf_shape(dim));
}

static mtf_tensor *dropped(const bert_run *r, mtf_tensor *x)
{
    return layer_dropout(&r->context, x, r->m->opts.output_dropout, mtf_shape());
}

/* ---- embeddings ---- */

static mtf_tensor *table_of(const bert_run *r, const char *name, mtf_dim rows)
{
    return layer_weight(r->graph, &r->context, name, MTF_F32, mtf_shape(rows, r->m->hidden),
                        r->m->table_init);
}

/* The vectors of ids [batch.., length]. */
static mtf_tensor *look_up(const bert_run *r, mtf_tensor *table, mtf_tensor *ids, mtf_dim rows)
{
    mtf_shape shape = mtf_shape_plus(r->batch, mtf_shape(r->length, r->m->hidden));
    return mtf_transpose(mtf_gather(table, ids, rows), shape);
}

static mtf_tensor *positions_of(const bert_run *r)
{
    mtf_dim     rows = r->m->positions;
    mtf_tensor *table = table_of(r, "position_embeddings", rows);
    mtf_tensor *used = mtf_slice(table, rows.name, 0, r->length.size, 1);
    return mtf_rename_dimension(used, rows.name, r->length.name);
}

static void embed(bert_run *r, const mtf_bert_batch *b, mtf_bert_output *o)
{
    const mtf_bert *m = r->m;
    mtf_scope_push(r->graph, "embeddings");
    mtf_tensor *types = table_of(r, "token_type_embeddings", m->types);
    o->table = table_of(r, "word_embeddings", m->vocab);
    o->words = look_up(r, o->table, b->input_ids, m->vocab);
    mtf_tensor *type = b->segment_ids ? look_up(r, types, b->segment_ids, m->types)
                                      : bert_element(types, m->types, 0);
    mtf_tensor *x = mtf_add(o->words, type);
    if (m->opts.positions == MTF_BERT_POSITIONS_EMBEDDING) x = mtf_add(x, positions_of(r));
    o->embedded = dropped(r, bert_norm(m, &r->context, x));
    mtf_scope_pop(r->graph);
}

/* ---- layers ---- */

static mtf_tensor *feed_forward(bert_run *r, mtf_tensor *x)
{
    const mtf_bert *m = r->m;
    mtf_shape       hidden = mtf_shape(m->hidden), inner = mtf_shape(m->intermediate);
    mtf_tensor     *h = bert_dense(m, &r->context, x, hidden, inner, "dense_1", m->opts.activation);
    h = layer_dropout(&r->context, h, m->opts.intermediate_dropout, mtf_shape());
    return bert_dense(m, &r->context, h, inner, hidden, "dense_2", NULL);
}

static mtf_tensor *experts(bert_run *r, mtf_tensor *x)
{
    const mtf_bert *m = r->m;
    mtf_moe_opts    o = m->opts.moe;
    mtf_moe_told    told;
    o.name = "";
    o.experts = m->opts.moe_num_experts;
    o.hidden = m->opts.moe_intermediate_size;
    if (!o.activation[0]) o.activation[0] = m->opts.activation;
    o.output = (mtf_dim){0};
    o.kernel_init = o.output_init = m->kernel_init;
    o.importance = r->mask && x ? mtf_cast(r->mask, x->type) : NULL;
    o.context = &r->context;
    mtf_tensor *y = mtf_moe(x, &o, &told);
    if (told.loss && !r->context.inference)
        r->auxiliary = r->auxiliary ? mtf_add(r->auxiliary, told.loss) : told.loss;
    return y;
}

static mtf_tensor *call_layer(bert_run *r, bert_layer l, mtf_tensor *x)
{
    switch (l) {
    case BERT_ATTENTION: return bert_attend(r, x);
    case BERT_FEEDFORWARD: return feed_forward(r, x);
    default: return experts(r, x);
    }
}

static mtf_tensor *residual_layer(bert_run *r, bert_layer l, mtf_tensor *x)
{
    const mtf_bert *m = r->m;
    bool            direct = m->opts.residual == MTF_BERT_RESIDUAL_DIRECT;
    mtf_tensor     *in = direct ? bert_norm(m, &r->context, x) : x;
    mtf_tensor     *y = mtf_add(x, dropped(r, call_layer(r, l, in)));
    return direct ? y : bert_norm(m, &r->context, y);
}

/* "block_003/attention"; further layers of a kind are attention_1, attention_2, ... */
static const char *layer_scope(const bert_run *r, int64_t number, int layer)
{
    textbuf t = {.arena = &r->graph->arena};
    int     before = 0;
    for (int i = 0; i < layer; i++) before += r->m->layers[i] == r->m->layers[layer];
    text_add(&t, "block_%03d/%s", (int)number, bert_layer_name(r->m->layers[layer]));
    if (before) text_add(&t, "_%d", before);
    return text_done(&t);
}

static bool encode(bert_run *r, mtf_bert_output *o)
{
    const mtf_bert *m = r->m;
    mtf_tensor     *x = o->embedded;
    mtf_tensor    **all =
        arena_array(&r->graph->arena, mtf_tensor *, (size_t)(m->opts.num_blocks * m->nlayers));
    TRY(all != NULL);
    o->layers = all;
    mtf_scope_push(r->graph, "encoder");
    if (m->opts.positions == MTF_BERT_POSITIONS_RELATIVE) r->bias = bert_distance_bias(r);
    for (int64_t b = 0; b < m->opts.num_blocks; b++)
        for (int i = 0; i < m->nlayers && x; i++) {
            const char *scope = layer_scope(r, b, i), *outside = r->graph->scope;
            TRY(scope != NULL);
            mtf_scope_push(r->graph, scope);
            all[o->nlayers++] = x = residual_layer(r, m->layers[i], x);
            r->graph->scope = outside;
        }
    bool direct = m->opts.residual == MTF_BERT_RESIDUAL_DIRECT;
    o->sequence = direct ? bert_norm(m, &r->context, x) : x;
    mtf_scope_pop(r->graph);
    return o->sequence != NULL;
}

/* ---- the whole ---- */

static void pool(bert_run *r, mtf_bert_output *o)
{
    mtf_shape   hidden = mtf_shape(r->m->hidden);
    mtf_tensor *first = bert_element(o->sequence, r->length, 0);
    o->pooled = bert_dense(r->m, &r->context, first, hidden, hidden, "pooler", "tanh");
}

static bool alike(const mtf_tensor *ids, const mtf_tensor *x, const char *what)
{
    fault *f = &ids->node->graph->session->fault;
    char   a[SHAPE_TEXT], b[SHAPE_TEXT];
    if (!x || (x->type == MTF_I32 && mtf_shape_equal(x->shape, ids->shape))) return true;
    return fail(f, ERR_SHAPE, "bert: %s \"%s\" is %s %s; it must be i32 %s, as the words are", what,
                tensor_name(x), mtf_dtype_name(x->type), shape_text(&x->shape, a),
                shape_text(&ids->shape, b));
}

static bool check_batch(const mtf_bert *m, const mtf_bert_batch *b)
{
    const mtf_tensor *ids = b->input_ids;
    fault            *f = &m->session->fault;
    char              text[SHAPE_TEXT];
    if (!ids) return fail(f, ERR_VALUE, "bert: there are no input_ids");
    int last = ids->shape.ndims - 1;
    if (last < 0 || ids->type != MTF_I32)
        return fail(f, ERR_SHAPE, "bert: words are i32 [batch.., length]; \"%s\" is %s %s",
                    tensor_name(ids), mtf_dtype_name(ids->type), shape_text(&ids->shape, text));
    if (m->opts.positions == MTF_BERT_POSITIONS_EMBEDDING &&
        ids->shape.dims[last].size > m->opts.max_positions)
        return fail(f, ERR_SHAPE,
                    "bert: \"%s\" has %lld positions, but the model learns %lld (max_positions)",
                    tensor_name(ids), (long long)ids->shape.dims[last].size,
                    (long long)m->opts.max_positions);
    return alike(ids, b->input_mask, "the mask") && alike(ids, b->segment_ids, "the segment");
}

static bert_run begin_run(const mtf_bert *m, const mtf_bert_batch *b, const mtf_bert_call *how)
{
    const mtf_shape *shape = &b->input_ids->shape;
    bert_run         r = {.m = m, .graph = graph_of(b->input_ids), .context = bert_context(how)};
    r.length = shape->dims[shape->ndims - 1];
    r.memory = (mtf_dim){"memory_seq", r.length.size};
    r.batch = mtf_shape_minus(*shape, mtf_shape(r.length));
    r.mask = b->input_mask;
    return r;
}

mtf_bert_output mtf_bert_apply(const mtf_bert *m, const mtf_bert_batch *batch,
                               const mtf_bert_call *how)
{
    mtf_bert_output o = {.model = m}, none = {0};
    if (!m || !mtf_ok(m->session) || !check_batch(m, batch)) return none;
    if (how) o.how = *how;
    bert_run    r = begin_run(m, batch, &o.how);
    const char *outside = r.graph->scope;
    mtf_scope_push(r.graph, "bert");
    embed(&r, batch, &o);
    bool ok = encode(&r, &o);
    if (ok) pool(&r, &o);
    r.graph->scope = outside;
    o.auxiliary = r.auxiliary;
    return ok && mtf_ok(m->session) ? o : none;
}
