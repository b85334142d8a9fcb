/* Vocabularies: how tokens become vectors, and vectors logits and losses.
 *
 * Each kind is a row of functions.  A kind embeds tokens; it gives logits where the model shares the
 * softmax; and where losses need no logits of all tokens it gives losses as well.
 */
#ifndef MODEL_VOCAB_H
#define MODEL_VOCAB_H

#include "model/transformer/stack_call.h"

/* The vocabulary of a stack that is being applied. */
typedef struct token_vocab {
    const stack_call     *call;
    const mtf_vocab_opts *opts;
    bool                  shared; /* by encoder and decoder: its variables have their own scope */
    mtf_dim               dim;    /* tokens, and those that only pad */
    int64_t               tokens; /* without these */
} token_vocab;

/* Targets of training. */
typedef struct vocab_targets {
    mtf_tensor *ids;    /* i32 [batch.., length], 0 or more */
    mtf_tensor *counts; /* bool, true at those that carry loss */
    double      z_loss;
} vocab_targets;

/* What options are checked against. */
typedef struct vocab_sizes {
    mtf_dim dim, d_model;
    int64_t tokens;
} vocab_sizes;

typedef struct vocab_kind {
    const char *name;  /* the original's class */
    const char *needs; /* shared_softmax, for this reason; NULL: it does not */
    bool (*complete)(mtf_session *s, const vocab_sizes *z, mtf_vocab_opts *o);
    mtf_tensor *(*embed)(const token_vocab *v, mtf_tensor *ids); /* [.., d_model] */
    mtf_tensor *(*logits)(const token_vocab *v, mtf_tensor *x);  /* [.., vocab] */
    /* [batch.., length], in training; NULL: the cross-entropy of logits */
    mtf_tensor *(*losses)(const token_vocab *v, mtf_tensor *x, const vocab_targets *t);
} vocab_kind;

extern const vocab_kind vocab_plain, vocab_factors, vocab_clusters, vocab_adaptive_softmax,
    vocab_softmaxes, vocab_mixtape;

/* NULL where there is no such kind. */
const vocab_kind *vocab_kind_of(mtf_vocab_kind kind);
/* Checks the model's vocabularies, copies what they point to, fills in defaults. */
bool vocabs_complete(mtf_transformer *m);
/* Of the stack that is being applied: the vocabulary of this size. */
token_vocab vocab_of(const stack_call *c, mtf_dim dim);

/* ---- what kinds have in common ---- */

/* call_table, in the scope of the vocabulary. */
mtf_tensor *vocab_weight(const token_vocab *v, const char *name, mtf_shape shape, double deviation);
/* x / sqrt(d_model), for logits of the order of 1. */
mtf_tensor *vocab_scaled(const token_vocab *v, mtf_tensor *x);
/* x in f32, unless it is f64: for logarithms of probabilities. */
mtf_tensor *vocab_exact(mtf_tensor *x);

/* A table [dim, d_model], or the product of NAME1 [dim, inner] and NAME2 [inner, d_model]. */
typedef struct vocab_table {
    char    name[32];
    mtf_dim dim;
    int64_t inner; /* 0: one table */
} vocab_table;
mtf_tensor *vocab_look_up(const token_vocab *v, const vocab_table *t, mtf_tensor *ids);
mtf_tensor *vocab_score(const token_vocab *v, const vocab_table *t, mtf_tensor *x);

/* A cluster of tokens, from `begin` on. */
typedef struct vocab_cluster {
    vocab_table table;
    int64_t     begin, tokens;
    double      length;
} vocab_cluster;

enum { VOCAB_CLUSTERS = 64 }; /* at most */
int vocab_cluster_count(const mtf_vocab_opts *o);
/* The k-th; its table has `more` rows after those of its tokens. */
vocab_cluster vocab_cluster_at(const token_vocab *v, int k, int64_t more);
/* Embeddings of the cluster's tokens; zeros for all others. */
mtf_tensor *vocab_cluster_look_up(const token_vocab *v, const vocab_cluster *k, mtf_tensor *ids);
bool        vocab_clusters_complete(mtf_session *s, const vocab_sizes *z, mtf_vocab_opts *o);

#endif
