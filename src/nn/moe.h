/* Mixture of experts: what routing tells dispatch and combine. */
#ifndef NN_MOE_H
#define NN_MOE_H

#include "nn/layer.h"

/* Dimensions of one application.  Tokens are [leading.., group, model]; the tokens of a group compete for
 * the places of the experts.  What experts read and give is [apart.., experts, capacity, model]: `apart`
 * are the leading dimensions by names that no layout cuts, so that experts may be cut along the same
 * axes. */
typedef struct moe_dims {
    mtf_shape leading, apart;
    int       stay;  /* so many of the first are in `apart` by their own names */
    mtf_shape outer; /* those of `leading` that have routers and experts of their own */
    mtf_dim   group, model;
    mtf_dim   expert; /* the router's; "experts", which a layout cuts, are the weights' */
    mtf_dim   experts;
    mtf_dim   capacity; /* places of an expert in a group; dropless: as many as it has tokens */
} moe_dims;

/* One application: options with all defaults, for training or inference. */
typedef struct moe_call {
    mtf_graph   *graph;
    mtf_moe_opts o;
    moe_dims     dims;
    bool         training;
    const char  *router; /* the scope of the router's variables */
    mtf_dtype    type;   /* of gates: f32, or f64 for f64 */
    double       threshold, jitter;
    int          second_policy, switch_policy; /* positions in the lists below */
    mtf_tensor  *importance; /* [leading.., group] in that type; NULL: all tokens are real */
    mtf_tensor  *real;       /* bool: importance above 0; NULL: all are */
    mtf_tensor  *position;   /* likewise, of tokens in their texts; NULL: not needed */
    /* What the z loss is divided by: inner experts have the choices of outer ones, whether they found a place
     * or not, since how many did is known only after a pass over the whole batch; NULL: real tokens. */
    mtf_tensor *count;
} moe_call;

/* Where tokens go.  By token: slot and weight are [leading.., group, choice].  Where experts choose:
 * token and weight are [leading.., expert, capacity]. */
typedef struct moe_routing {
    mtf_tensor *slot;    /* i32: expert * capacity + place, dropless the row; -1: nowhere */
    mtf_tensor *ends;    /* dropless: where each expert's rows end, i32 [leading.., expert] */
    mtf_tensor *token;   /* i32; NULL: tokens choose */
    mtf_tensor *weight;  /* 0 where not routed */
    mtf_tensor *balance; /* scalars; NULL: none */
    mtf_tensor *z, *entropy;
    mtf_tensor *load, *dropped;
} moe_routing;

/* A way of routing. */
typedef struct moe_gating {
    const char *name, *scope; /* of the router's variables */
    bool (*route)(const moe_call *c, mtf_tensor *x, moe_routing *to);
    bool experts_choose; /* as many tokens as they have capacity */
} moe_gating;

const moe_gating        *moe_gating_find(const char *name); /* NULL: there is none */
const moe_gating        *moe_gating_nth(int n);             /* NULL after the last */
extern const char *const moe_second_policies[], *const moe_switch_policies[]; /* end with NULL */
enum { MOE_SECOND_RANDOM, MOE_SECOND_THRESHOLD, MOE_SECOND_ALL, MOE_SECOND_NONE };
/* Do second choices follow from the tokens' positions? */
bool moe_draws_by_position(const moe_call *c);
enum { MOE_INPUT_JITTER, MOE_INPUT_DROPOUT, MOE_ARGMAX, MOE_SAMPLE };

/* How many groups n tokens form: n / size, raised until it is a multiple of `split` that divides n.  0
 * where split does not divide n. */
int64_t moe_groups(int64_t n, int64_t size, int64_t split);
/* Places for tokens * factor / experts, at least `least`, at most one for each token. */
int64_t moe_capacity(int64_t tokens, int64_t experts, double factor, int64_t least);

/* Other names, which no layout cuts, for the dimensions of a shape from `from` to before `to`. */
bool moe_set_apart(mtf_graph *g, mtf_shape *dims, int from, int to);

/* x [leading.., group, model] at the experts: [apart.., experts, capacity, model]; dropless
 * [apart.., rows, model]. */
mtf_tensor *moe_dispatch(const moe_call *c, const moe_routing *r, mtf_tensor *x);
/* y [apart.., experts, capacity, output] back at the tokens: [leading.., group, output]. */
mtf_tensor *moe_combine(const moe_call *c, const moe_routing *r, mtf_tensor *y);
/* Dropless: the rows of a group, one for each choice, and where each expert's end [apart.., experts]. */
mtf_dim     moe_rows(const moe_call *c, const moe_routing *r);
mtf_tensor *moe_ends(const moe_call *c, const moe_routing *r);

/* ---- two levels: moe_levels.c ---- */

/* x at the outer experts [apart.., experts, capacity, model] as the tokens of the inner mixtures, whose call
 * becomes `in`: [apart.., experts, group, model]. */
mtf_tensor *moe_inner_begin(const moe_call *c, const moe_routing *r, mtf_tensor *x, moe_call *in);
/* What they give, as that of the outer experts. */
mtf_tensor *moe_inner_end(const moe_call *c, mtf_tensor *y);

/* ---- parts of gatings: moe_gates.c ---- */

/* The variable by which choices are balanced, [expert]. */
mtf_tensor *moe_bias(mtf_graph *g, mtf_dim expert, mtf_dtype type);
/* The router's logits [leading.., group, expert] of x. */
mtf_tensor *moe_logits(const moe_call *c, mtf_tensor *x);
/* Softmax of logits along the experts, with entropy and z loss. */
mtf_tensor *moe_softmax(const moe_call *c, mtf_tensor *logits, moe_routing *to);
/* x with the noise that the switch policy asks for. */
mtf_tensor *moe_switch_noise(const moe_call *c, mtf_tensor *x);
/* 1 where the token's expert [leading.., group] is this one: [leading.., group, expert]. */
mtf_tensor *moe_chosen(const moe_call *c, mtf_tensor *expert, mtf_tensor *takes);
/* The mean over groups of experts * sum over experts of mean chosen * mean gates, over tokens that
 * count (NULL: all). */
mtf_tensor *moe_balance(const moe_call *c, mtf_tensor *chosen, mtf_tensor *gates,
                        mtf_tensor *counts);
/* The mean over all real tokens of x [leading.., group]. */
mtf_tensor *moe_token_mean(const moe_call *c, mtf_tensor *x);

/* Lines before the experts: choices join one after the other, each in the order of tokens. */
enum { MOE_MOST_CHOICES = 64 };
typedef struct moe_queue {
    const moe_call *call;
    mtf_tensor *length; /* i32 [leading.., expert], those included that find no place; NULL: 0 */
    mtf_tensor *placed; /* i32: how many found one */
    int         n;
    mtf_tensor *slot[MOE_MOST_CHOICES], *weight[MOE_MOST_CHOICES]; /* [leading.., group] */
} moe_queue;

/* One more choice [leading.., group] of the tokens that take it (bool; NULL: all); returns which found a
 * place. */
mtf_tensor *moe_queue_join(moe_queue *q, mtf_tensor *expert, mtf_tensor *takes, mtf_tensor *weight);
/* Choices of different experts by each token, all at once: an expert's queue is in the order of tokens. */
void moe_queue_join_all(moe_queue *q, int n, mtf_tensor *const *expert, mtf_tensor *takes,
                        mtf_tensor *const *weight);
/* A choice where the places are known. */
void moe_queue_place(moe_queue *q, mtf_tensor *expert, mtf_tensor *place, mtf_tensor *kept,
                     mtf_tensor *weight);
/* All choices together; load and share of what was dropped. */
bool moe_queue_close(moe_queue *q, moe_routing *to);

#endif
