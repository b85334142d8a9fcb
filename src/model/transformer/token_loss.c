/* The loss of a Transformer: cross-entropy of tokens, weighted. */
#include "model/transformer/token_loss.h"

#include "base/memory.h"
#include "base/whole.h"
#include "graph/node.h"
#include "model/transformer/vocab.h"

mtf_tensor *ensemble_logits(const stack_call *c, mtf_tensor *logits)
{
    const mtf_transformer *m = c->model;
    if (!m->ensemble.ndims || !logits) return logits;
    mtf_dim ensemble = m->ensemble.dims[0];
    switch (m->opts.ensemble_output) {
    case MTF_ENSEMBLE_SELECT:
        logits = mtf_slice(logits, ensemble.name, m->opts.ensemble_member, 1, 1);
        return mtf_reduce_sum(logits, mtf_shape((mtf_dim){ensemble.name, 1}));
    case MTF_ENSEMBLE_MEAN_LOGIT: return mtf_reduce_mean(logits, m->ensemble);
    default: {
        mtf_tensor *p = mtf_reduce_mean(mtf_softmax(logits, m->output_vocab, NULL), m->ensemble);
        mtf_tensor *least = mtf_constant(c->graph, 1e-20, p ? p->type : MTF_F32, mtf_shape());
        return mtf_log(mtf_maximum(p, least));
    }
    }
}

/* ---- losses of positions ---- */

/* True at targets that carry loss. */
static mtf_tensor *counts_of(const stack_call *c, const loss_opts *o)
{
    mtf_tensor *zero = mtf_constant(c->graph, 0, MTF_I32, mtf_shape());
    mtf_tensor *counts = o->real ? mtf_logical_and(o->real, mtf_greater_equal(o->targets, zero))
                                 : mtf_greater(o->targets, zero);
    return o->counts ? mtf_logical_and(counts, o->counts) : counts;
}

/* Each [.., length]: cross-entropy; the same with label smoothing and z-loss, for training; 1 where the
 * most probable token is the target. */
typedef struct token_losses {
    mtf_tensor *plain, *trained, *right;
} token_losses;

/* 1 where the most probable token is the target, else 0. */
static mtf_tensor *right_of(const stack_call *c, mtf_tensor *logits, mtf_tensor *targets)
{
    mtf_tensor *best = mtf_argmax(logits, c->model->output_vocab);
    return mtf_cast(mtf_equal(best, targets), MTF_F32);
}

static token_losses losses_of(const stack_call *c, mtf_tensor *logits, mtf_tensor *targets)
{
    const mtf_transformer *m = c->model;
    mtf_shape              vocab = mtf_shape(m->output_vocab);
    bool                   training = c->mode == CALL_TRAIN;
    double                 smoothing = training ? m->opts.label_smoothing : 0;
    double                 z_loss = training && m->opts.z_loss > 0 ? m->opts.z_loss : 0;
    token_losses           l;
    mtf_tensor            *ids = mtf_maximum(targets, mtf_zeros_like(targets));
    logits = mtf_cast(logits, MTF_F32);
    mtf_tensor *log_z = mtf_reduce_logsumexp(logits, m->output_vocab, NULL);
    mtf_tensor *hit = mtf_one_hot(ids, m->output_vocab);
    mtf_tensor *at_target = mtf_reduce_sum(mtf_multiply(logits, hit), vocab);
    l.plain = l.trained = mtf_sub(log_z, at_target);
    if (smoothing > 0) {
        mtf_tensor *mean = mtf_scale(mtf_reduce_mean(logits, vocab), smoothing);
        l.trained = mtf_sub(log_z, mtf_add(mtf_scale(at_target, 1 - smoothing), mean));
    }
    if (z_loss > 0) l.trained = mtf_add(l.trained, mtf_scale(mtf_square(log_z), z_loss));
    l.right = right_of(c, logits, targets);
    return l;
}

/* Are logits the vocabulary's, and has it losses of its own? */
static bool own_losses(const stack_call *c)
{
    return c->model->opts.shared_softmax && vocab_kind_of(c->stack->vocab.kind)->losses;
}

/* The same by the vocabulary itself, which needs logits only to tell whether it is right. */
static token_losses own_losses_of(const stack_call *c, mtf_tensor *x, mtf_tensor *logits,
                                  const loss_opts *o)
{
    const mtf_transformer *m = c->model;
    token_vocab            v = vocab_of(c, m->output_vocab);
    const vocab_kind      *kind = vocab_kind_of(v.opts->kind);
    vocab_targets          t = {.ids = mtf_maximum(o->targets, mtf_zeros_like(o->targets)),
                                .counts = counts_of(c, o)};
    token_losses           l = {.right = right_of(c, logits, o->targets)};
    l.plain = l.trained = kind->losses(&v, x, &t);
    t.z_loss = m->opts.z_loss;
    if (t.z_loss > 0) l.trained = kind->losses(&v, x, &t);
    return l;
}

/* ---- blocks of positions, whose logits the backward pass recomputes ---- */

static void build_block(mtf_graph *g, void *context, mtf_tensor *const *in, mtf_tensor **out)
{
    stack_call c = *(const stack_call *)context;
    (void)g;
    if (!in[0]) return;
    c.length.size = mtf_shape_dim(in[0]->shape, c.length.name).size;
    token_losses l = losses_of(&c, logits_of(&c, in[0]), in[1]);
    out[0] = l.plain, out[1] = l.trained, out[2] = l.right;
}

/* The same as losses_of all positions, without storing all logits at once. */
static token_losses losses_in_blocks(const stack_call *c, mtf_tensor *x, mtf_tensor *targets)
{
    int64_t      size = c->model->opts.loss_block, n = ceil_div(c->length.size, size);
    token_losses l = {0};
    mtf_tensor **parts[3];
    for (int k = 0; k < 3; k++) {
        parts[k] = arena_array(&c->graph->arena, mtf_tensor *, n);
        if (!parts[k]) return l;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t begin = i * size,
                count = c->length.size - begin < size ? c->length.size - begin : size;
        mtf_tensor *in[2] = {mtf_slice(x, c->length.name, begin, count, 1),
                             mtf_slice(targets, c->length.name, begin, count, 1)};
        mtf_tensor *out[3];
        mtf_recompute(c->graph, 2, in, 3, out, build_block, (void *)c);
        for (int k = 0; k < 3; k++) parts[k][i] = out[k];
    }
    mtf_tensor *whole[3];
    for (int k = 0; k < 3; k++) whole[k] = mtf_concat(c->length.name, (int)n, parts[k]);
    return (token_losses){whole[0], whole[1], whole[2]};
}

/* ---- the whole loss ---- */

static double denominator(const stack_call *c, mtf_shape positions)
{
    double given = c->model->opts.loss_denominator;
    if (given > 0) return given;
    return (double)mtf_shape_size(mtf_shape_minus(positions, c->model->ensemble));
}

mtf_transformer_result token_loss(const stack_call *c, mtf_tensor *x, const loss_opts *o)
{
    const mtf_transformer *m = c->model;
    mtf_transformer_result r = {0};
    token_losses           l;
    bool                   training = c->mode == CALL_TRAIN;
    if (!graph_of(x)) return r;
    if (!o->targets || !training || m->opts.loss_block == 0) {
        mtf_tensor *each = logits_of(c, x);
        r.logits = ensemble_logits(c, each);
        if (!o->targets) return r;
        /* Members of an ensemble are trained independently; their predictions are combined. */
        l = training && own_losses(c) ? own_losses_of(c, x, each, o)
                                      : losses_of(c, training ? each : r.logits, o->targets);
    } else {
        l = losses_in_blocks(c, x, o->targets);
    }
    r.weights = mtf_cast(counts_of(c, o), MTF_F32);
    mtf_tensor *trained = mtf_multiply(l.trained, r.weights);
    if (!trained) return (mtf_transformer_result){0};
    bool apart = training && m->ensemble.ndims;
    r.loss = mtf_scale(mtf_reduce_sum(trained, MTF_ALL), 1 / denominator(c, trained->shape));
    r.token_losses = apart ? mtf_reduce_mean(l.plain, m->ensemble) : l.plain;
    r.right = mtf_multiply(apart ? mtf_reduce_mean(l.right, m->ensemble) : l.right, r.weights);
    return r;
}
