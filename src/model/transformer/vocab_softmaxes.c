/* A mixture of softmaxes: each makes logits from a context vector of its own, and their probabilities are
 * mixed in shares that depend on the position. */
#include <math.h>

#include "graph/node.h"
#include "model/transformer/vocab.h"

static const char table_name[] = "embedding_embedding_weights";

static mtf_tensor *table(const token_vocab *v)
{
    return vocab_weight(v, table_name, mtf_shape(v->dim, v->call->model->d_model), 1);
}

static bool complete(mtf_session *s, const vocab_sizes *z, mtf_vocab_opts *o)
{
    (void)z;
    return o->softmaxes > 0 ||
           fail(&s->fault, ERR_VALUE, "a mixture of %lld softmaxes; there must be 1 or more",
                (long long)o->softmaxes);
}

static mtf_tensor *embed(const token_vocab *v, mtf_tensor *ids)
{
    return mtf_gather(table(v), ids, v->dim);
}

/* tanh of x times a square matrix for each softmax: [.., softmax_components, d_model] */
static mtf_tensor *contexts(const token_vocab *v, mtf_tensor *x, mtf_dim components)
{
    mtf_dim     d_model = v->call->model->d_model, from = {"_d_model_copy", d_model.size};
    mtf_shape   rest = mtf_shape_minus(x->shape, mtf_shape(d_model));
    mtf_tensor *w =
        vocab_weight(v, "embedding_context_weights", mtf_shape(components, from, d_model), 1);
    x = mtf_rename_dimension(x, d_model.name, from.name);
    return mtf_tanh(mtf_einsum(mtf_shape_plus(rest, mtf_shape(components, d_model)), x, w));
}

static mtf_tensor *logits(const token_vocab *v, mtf_tensor *x)
{
    mtf_dim d_model = v->call->model->d_model;
    mtf_dim components = {"softmax_components", v->opts->softmaxes};
    x = vocab_scaled(v, x);
    if (!x) return NULL;
    mtf_shape   rest = mtf_shape_minus(x->shape, mtf_shape(d_model));
    mtf_tensor *w = vocab_weight(v, "embedding_mixture_weights", mtf_shape(components, d_model), 1);
    mtf_tensor *share = mtf_einsum(mtf_shape_plus(rest, mtf_shape(components)), x, w);
    mtf_tensor *each = mtf_einsum(mtf_shape_plus(rest, mtf_shape(components, v->dim)),
                                  contexts(v, x, components), table(v));
    share = mtf_log_softmax(vocab_exact(share), components, NULL);
    each = mtf_log_softmax(vocab_exact(each), v->dim, NULL);
    return mtf_reduce_logsumexp(mtf_add(each, share), components, NULL);
}

const vocab_kind vocab_softmaxes = {.name = "MixtureOfSoftmaxes",
                                    .needs = "its softmaxes are those of its table",
                                    .complete = complete,
                                    .embed = embed,
                                    .logits = logits};
