/* Mixtape: each token's logit is a mixture of four, each made from a context vector of its own, in shares
 * that depend on the position and, for frequent tokens, on the token.
 *
 * Frequent are the first tokens and the last few, such as sentinels.  Tokens are put in the order of their
 * gates: the last few, all others, those that only pad the vocabulary.
 */
#include <math.h>

#include "graph/node.h"
#include "model/transformer/vocab.h"

static const char table_name[] = "embedding_embedding_weights";

enum { TREE_NODES = 3, GATES = 4 };
static const mtf_dim tree_nodes = {"gates", TREE_NODES}, gates = {"gates", GATES};

/* ---- options ---- */

static int64_t frequent_of(const token_vocab *v)
{
    int64_t n = (int64_t)(v->opts->frequent * (double)v->dim.size);
    return n < 1 ? 1 : n;
}

static bool complete(mtf_session *s, const vocab_sizes *z, mtf_vocab_opts *o)
{
    fault *f = &s->fault;
    if (o->frequent == 0) o->frequent = 0.1;
    if (!(o->frequent > 0 && o->frequent <= 1))
        return fail(f, ERR_VALUE,
                    "Mixtape: the share of frequent tokens is %g; it must be above "
                    "0, at most 1",
                    o->frequent);
    if (o->last_frequent < 0 || o->last_frequent > z->tokens)
        return fail(f, ERR_VALUE, "Mixtape: %lld of the last tokens are frequent; there are %lld",
                    (long long)o->last_frequent, (long long)z->tokens);
    if (o->gate_size < 1)
        return fail(f, ERR_VALUE,
                    "Mixtape: the vectors of gates have %lld elements; they must have 1 or more",
                    (long long)o->gate_size);
    if (!(o->dropout >= 0 && o->dropout < 1))
        return fail(f, ERR_VALUE, "Mixtape: the dropout is %g; it must be from 0 to below 1",
                    o->dropout);
    return o->noise >= 0 ||
           fail(f, ERR_VALUE, "Mixtape: the noise is %g; it must be 0 or more", o->noise);
}

/* ---- products ---- */

static mtf_dim d_model_of(const token_vocab *v)
{
    return v->call->model->d_model;
}

static mtf_tensor *table(const token_vocab *v)
{
    return vocab_weight(v, table_name, mtf_shape(v->dim, d_model_of(v)), 1);
}

static mtf_tensor *embed(const token_vocab *v, mtf_tensor *ids)
{
    return mtf_gather(table(v), ids, v->dim);
}

/* [x's dimensions without d_model, to..] */
static mtf_tensor *times(const token_vocab *v, mtf_tensor *x, mtf_tensor *w, mtf_shape to)
{
    if (!x) return NULL;
    mtf_shape rest = mtf_shape_minus(x->shape, mtf_shape(d_model_of(v)));
    return mtf_einsum(mtf_shape_plus(rest, to), x, w);
}

/* The four logits of each token: [.., gates, vocab]. */
static mtf_tensor *component_logits(const token_vocab *v, mtf_tensor *x)
{
    mtf_dim     to = d_model_of(v), from = {"_d_model_copy", to.size};
    mtf_tensor *w = vocab_weight(v, "embedding_context_weights", mtf_shape(gates, from, to), 1);
    mtf_tensor *b = vocab_weight(v, "embedding_context_weights_bias", mtf_shape(gates, to), 0);
    mtf_shape   rest = mtf_shape_minus(x->shape, mtf_shape(to));
    x = mtf_rename_dimension(x, to.name, from.name);
    mtf_tensor *c = mtf_einsum(mtf_shape_plus(rest, mtf_shape(gates, to)), x, w);
    c = mtf_tanh(mtf_add(c, b));
    return call_dropout(v->call, times(v, c, table(v), mtf_shape(v->dim)), v->opts->dropout);
}

/* ---- gates ---- */

/* What frequent tokens add to the gates that all share: [.., vocab of them, gates]. */
static mtf_tensor *own_gates(const token_vocab *v, mtf_tensor *x, mtf_dim some)
{
    mtf_dim     size = {"gate_embedding", v->opts->gate_size}, in = d_model_of(v);
    mtf_tensor *w = vocab_weight(v, "embedding_prior_weights", mtf_shape(tree_nodes, size, in), 1);
    mtf_tensor *b = vocab_weight(v, "embedding_prior_weights_bias", mtf_shape(tree_nodes, size), 0);
    mtf_tensor *of = vocab_weight(v, "embedding_prior_vocab_vector", mtf_shape(some, size), 1);
    mtf_tensor *bias = vocab_weight(v, "embedding_prior_bias", mtf_shape(some, tree_nodes), 1);
    mtf_tensor *t = mtf_tanh(mtf_add(times(v, x, w, mtf_shape(tree_nodes, size)), b));
    mtf_shape   rest = mtf_shape_minus(x->shape, mtf_shape(in));
    t = call_dropout(v->call, t, v->opts->dropout);
    t = mtf_einsum(mtf_shape_plus(rest, mtf_shape(some, tree_nodes)), t, of);
    return mtf_add(t, bias);
}

/* [.., vocab, gates] in the order of gates, from shares before their sigmoids. */
static mtf_tensor *gate_inputs(const token_vocab *v, mtf_tensor *x)
{
    mtf_dim     some = {v->dim.name, frequent_of(v)};
    mtf_dim     rest = {v->dim.name, v->dim.size - some.size};
    mtf_tensor *w =
        vocab_weight(v, "embedding_prior_gates_vector", mtf_shape(tree_nodes, d_model_of(v)), 1);
    mtf_tensor *shared = times(v, x, w, mtf_shape(tree_nodes));
    mtf_tensor *own = mtf_add(own_gates(v, x, some), shared);
    if (!shared || rest.size == 0) return own;
    mtf_shape   positions = mtf_shape_minus(shared->shape, mtf_shape(tree_nodes));
    mtf_shape   all = mtf_shape_plus(positions, mtf_shape(rest, tree_nodes));
    mtf_tensor *parts[] = {own, mtf_broadcast(shared, all)};
    return mtf_concat(v->dim.name, 2, parts);
}

/* From the order of gates to that of tokens. */
static mtf_tensor *in_order(const token_vocab *v, mtf_tensor *x)
{
    int64_t     last = v->opts->last_frequent, first = v->tokens - last;
    mtf_tensor *parts[3];
    int         n = 0;
    if (last == 0) return x;
    if (first > 0) parts[n++] = mtf_slice(x, v->dim.name, last, first, 1);
    parts[n++] = mtf_slice(x, v->dim.name, 0, last, 1);
    if (v->tokens < v->dim.size)
        parts[n++] = mtf_slice(x, v->dim.name, v->tokens, v->dim.size - v->tokens, 1);
    return mtf_concat(v->dim.name, n, parts);
}

/* A tree of three choices between two gives four shares whose sum is 1. */
static mtf_tensor *sigmoid_tree(mtf_tensor *x)
{
    mtf_tensor *yes[TREE_NODES], *no[TREE_NODES];
    mtf_split(mtf_sigmoid(x), tree_nodes, TREE_NODES, NULL, yes);
    for (int k = 0; k < TREE_NODES; k++) no[k] = mtf_add_scalar(mtf_negative(yes[k]), 1);
    mtf_tensor *shares[GATES] = {mtf_multiply(yes[0], yes[1]), mtf_multiply(yes[0], no[1]),
                                 mtf_multiply(no[0], yes[2]), mtf_multiply(no[0], no[2])};
    return mtf_concat(gates.name, GATES, shares);
}

static mtf_tensor *logits(const token_vocab *v, mtf_tensor *x)
{
    const stack_call *c = v->call;
    x = vocab_scaled(v, x);
    if (!x) return NULL;
    mtf_tensor *g = in_order(v, gate_inputs(v, x));
    if (g && v->opts->noise > 0 && !c->context.inference)
        g = mtf_add(g, mtf_random_normal(c->graph, g->type, g->shape, 0, v->opts->noise));
    mtf_shape rest = mtf_shape_minus(x->shape, mtf_shape(d_model_of(v)));
    return mtf_einsum(mtf_shape_plus(rest, mtf_shape(v->dim)), component_logits(v, x),
                      sigmoid_tree(g));
}

const vocab_kind vocab_mixtape = {.name = "Mixtape",
                                  .needs = "its gates are those of its table",
                                  .complete = complete,
                                  .embed = embed,
                                  .logits = logits};
