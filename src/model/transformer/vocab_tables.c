/* Vocabularies of one table, or of two whose product is one. */
#include <math.h>
#include <stdio.h>

#include "graph/node.h"
#include "model/transformer/vocab.h"

enum { NAME_ROOM = 40 };

static mtf_tensor *plain_table(const token_vocab *v, const vocab_table *t)
{
    const mtf_transformer *m = v->call->model;
    double deviation = m->opts.scaled_embedding ? pow((double)m->d_model.size, -0.5) : 1;
    return vocab_weight(v, t->name, mtf_shape(t->dim, m->d_model), deviation);
}

/* Element variances of the factors multiply to 1 over the inner dimension. */
static mtf_tensor *factor(const token_vocab *v, const vocab_table *t, int which)
{
    mtf_dim inner = {"inner_vocab", t->inner}, d_model = v->call->model->d_model;
    char    name[NAME_ROOM];
    snprintf(name, sizeof name, "%s%d", t->name, which);
    return vocab_weight(v, name, which == 1 ? mtf_shape(t->dim, inner) : mtf_shape(inner, d_model),
                        pow((double)t->inner, -0.25));
}

/* [x's dimensions without `from`, to] */
static mtf_tensor *product(mtf_tensor *x, mtf_tensor *w, mtf_dim from, mtf_dim to)
{
    if (!x) return NULL;
    mtf_shape rest = mtf_shape_minus(x->shape, mtf_shape(from));
    return mtf_einsum(mtf_shape_plus(rest, mtf_shape(to)), x, w);
}

mtf_tensor *vocab_look_up(const token_vocab *v, const vocab_table *t, mtf_tensor *ids)
{
    const mtf_transformer *m = v->call->model;
    if (t->inner > 0) {
        mtf_dim inner = {"inner_vocab", t->inner};
        return product(mtf_gather(factor(v, t, 1), ids, t->dim), factor(v, t, 2), inner,
                       m->d_model);
    }
    mtf_tensor *x = mtf_gather(plain_table(v, t), ids, t->dim);
    return m->opts.scaled_embedding ? mtf_scale(x, sqrt((double)m->d_model.size)) : x;
}

mtf_tensor *vocab_score(const token_vocab *v, const vocab_table *t, mtf_tensor *x)
{
    const stack_call      *c = v->call;
    const mtf_transformer *m = c->model;
    mtf_dim                inner = {"inner_vocab", t->inner};
    if (!x) return NULL;
    if (t->inner > 0) {
        x = product(vocab_scaled(v, x), factor(v, t, 2), m->d_model, inner);
        return product(x, factor(v, t, 1), inner, t->dim);
    }
    mtf_shape rest = mtf_shape_minus(x->shape, mtf_shape(m->d_model));
    if (!m->opts.scaled_embedding && !c->context.unit_scaling) x = vocab_scaled(v, x);
    return mtf_us_einsum(&c->context, mtf_shape_plus(rest, mtf_shape(t->dim)), 2,
                         (mtf_tensor *[]){x, plain_table(v, t)});
}

/* ---- one table ---- */

static vocab_table whole(const token_vocab *v)
{
    return (vocab_table){"embedding", v->dim, v->opts->inner};
}

static bool complete_plain(mtf_session *s, const vocab_sizes *z, mtf_vocab_opts *o)
{
    (void)s, (void)z;
    o->inner = 0;
    return true;
}

static mtf_tensor *embed(const token_vocab *v, mtf_tensor *ids)
{
    vocab_table t = whole(v);
    return vocab_look_up(v, &t, ids);
}

static mtf_tensor *logits(const token_vocab *v, mtf_tensor *x)
{
    vocab_table t = whole(v);
    return vocab_score(v, &t, x);
}

const vocab_kind vocab_plain = {
    .name = "VocabEmbedding", .complete = complete_plain, .embed = embed, .logits = logits};

/* ---- two factors ---- */

static bool complete_factors(mtf_session *s, const vocab_sizes *z, mtf_vocab_opts *o)
{
    (void)z;
    return o->inner > 0 ||
           fail(&s->fault, ERR_VALUE,
                "a factorized vocabulary needs the size of its inner dimension, 1 or more, not "
                "%lld",
                (long long)o->inner);
}

const vocab_kind vocab_factors = {.name = "FactorizedVocabEmbedding",
                                  .complete = complete_factors,
                                  .embed = embed,
                                  .logits = logits};
