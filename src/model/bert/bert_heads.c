/* BERT's heads: masked words, next sentences, classes, spans. */
#include "model/bert/bert.h"
#include "nn/layer.h"

static const double z_loss = 1e-4, least_weight = 1e-5, classifier_dropout = 0.1;

/* Losses of f32 logits [.., classes], and which are right. */
static mtf_bert_result judged(mtf_tensor *logits, mtf_tensor *labels, mtf_dim classes, double z)
{
    mtf_bert_result r = {.logits = logits};
    if (!logits || !labels) return r;
    r.losses = mtf_softmax_cross_entropy_with_logits(logits, labels, classes, z);
    r.right = mtf_cast(mtf_equal(mtf_argmax(logits, classes), labels), MTF_F32);
    return r;
}

static bool begins(const mtf_bert_output *o)
{
    return o->model && mtf_ok(o->model->session) && o->sequence;
}

/* ---- masked words ---- */

/* -1e9 for the rows that only fill the table, else 0: [vocab]. */
static mtf_tensor *fill_bias(mtf_graph *g, const mtf_bert *m)
{
    enum { NEVER = -1000000000 };
    mtf_tensor *count = mtf_constant(g, (double)m->opts.vocab_size, MTF_I32, mtf_shape());
    mtf_tensor *fills = mtf_greater_equal(mtf_range(g, m->vocab, MTF_I32), count);
    return mtf_scale(mtf_cast(fills, MTF_F32), NEVER);
}

/* Logits of vectors x [.., predictions, hidden]. */
static mtf_tensor *word_logits(const mtf_bert_output *o, mtf_tensor *x, mtf_shape positions)
{
    const mtf_bert   *m = o->model;
    mtf_layer_context c = bert_context(&o->how);
    mtf_graph        *g = graph_of(x);
    mtf_shape         hidden = mtf_shape(m->hidden);
    if (!g) return NULL;
    const char *outside = g->scope;
    mtf_scope_push(g, "cls/predictions");
    x = bert_dense(m, &c, x, hidden, hidden, "transform", m->opts.activation);
    mtf_scope_push(g, "transform");
    x = bert_norm(m, &c, x);
    mtf_scope_pop(g);
    mtf_tensor *bias = layer_weight(g, &c, "output_bias", MTF_F32, mtf_shape(m->vocab), "zeros");
    mtf_tensor *y = mtf_einsum(mtf_shape_plus(positions, mtf_shape(m->vocab)), x, o->table);
    y = mtf_add(mtf_cast(y, MTF_F32), bias);
    g->scope = outside;
    return m->vocab.size > m->opts.vocab_size ? mtf_add(y, fill_bias(g, m)) : y;
}

mtf_bert_result mtf_bert_masked_words(const mtf_bert_output *o, mtf_tensor *positions,
                                      mtf_tensor *labels, mtf_tensor *weights)
{
    mtf_bert_result none = {0};
    if (!begins(o) || !positions) return none;
    const mtf_bert *m = o->model;
    mtf_shape       all = o->sequence->shape;
    mtf_tensor     *x = mtf_gather(o->sequence, positions, all.dims[all.ndims - 2]);
    x = mtf_transpose(x, mtf_shape_plus(positions->shape, mtf_shape(m->hidden)));
    mtf_bert_result r =
        judged(word_logits(o, x, positions->shape), labels, m->vocab, o->how.training ? z_loss : 0);
    if (!r.losses || !weights) return r;
    weights = mtf_cast(weights, MTF_F32);
    mtf_tensor *sum = mtf_reduce_sum(mtf_multiply(r.losses, weights), MTF_ALL);
    r.loss = mtf_divide(sum, mtf_add_scalar(mtf_reduce_sum(weights, MTF_ALL), least_weight));
    return r;
}

/* ---- classes ---- */

static mtf_bert_result classified(const mtf_bert_output *o, mtf_tensor *x, mtf_dim classes,
                                  const char *name, mtf_tensor *labels)
{
    mtf_layer_context c = bert_context(&o->how);
    mtf_tensor       *y =
        bert_dense(o->model, &c, x, mtf_shape(o->model->hidden), mtf_shape(classes), name, NULL);
    mtf_bert_result r = judged(mtf_cast(y, MTF_F32), labels, classes, 0);
    if (r.losses) r.loss = mtf_reduce_mean(r.losses, MTF_ALL);
    return r;
}

mtf_bert_result mtf_bert_next_sentence(const mtf_bert_output *o, mtf_tensor *labels)
{
    mtf_bert_result none = {0};
    if (!begins(o)) return none;
    return classified(o, o->pooled, (mtf_dim){"classes", 2}, "cls/seq_relationship", labels);
}

mtf_bert_result mtf_bert_classify(const mtf_bert_output *o, mtf_dim classes, double dropout,
                                  mtf_tensor *labels)
{
    mtf_bert_result none = {0};
    if (!begins(o)) return none;
    mtf_layer_context c = bert_context(&o->how);
    if (dropout == 0) dropout = classifier_dropout;
    mtf_tensor *x = layer_dropout(&c, o->pooled, dropout < 0 ? 0 : dropout, mtf_shape());
    return classified(o, x, classes, "classifier", labels);
}

/* ---- spans ---- */

mtf_bert_result mtf_bert_span(const mtf_bert_output *o, mtf_tensor *first, mtf_tensor *last)
{
    mtf_bert_result none = {0};
    if (!begins(o)) return none;
    mtf_dim           ends = {"ends", 2};
    mtf_layer_context c = bert_context(&o->how);
    mtf_dim           length = o->sequence->shape.dims[o->sequence->shape.ndims - 2];
    mtf_tensor       *both = bert_dense(o->model, &c, o->sequence, mtf_shape(o->model->hidden),
                                        mtf_shape(ends), "span", NULL);
    both = mtf_cast(both, MTF_F32);
    mtf_bert_result a = judged(bert_element(both, ends, 0), first, length, 0);
    mtf_bert_result b = judged(bert_element(both, ends, 1), last, length, 0);
    a.last_logits = b.logits;
    if (!a.losses || !b.losses) return a;
    a.losses = mtf_scale(mtf_add(a.losses, b.losses), 0.5);
    a.right = mtf_multiply(a.right, b.right);
    a.loss = mtf_reduce_mean(a.losses, MTF_ALL);
    return a;
}
