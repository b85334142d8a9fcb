/* The loss of a Transformer: cross-entropy of tokens, weighed and summed. */
#include "model/transformer/token_loss.h"

#include "graph/node.h"

mtf_tensor *ensemble_logits(const stack_call *c, mtf_tensor *logits)
{
    const mtf_transformer *m = c->model;
    if (!m->ensemble.ndims || !logits) return logits;
    mtf_dim ensemble = m->ensemble.dims[0];
    switch (m->opts.ensemble_output) {
    case MTF_ENSEMBLE_SELECT:
        logits = mtf_slice(logits, ensemble.name, m->opts.ensemble_member, 1, 1);
        return mtf_reduce_sum(logits, mtf_shape(ensemble));
    case MTF_ENSEMBLE_MEAN_LOGIT: return mtf_reduce_mean(logits, m->ensemble);
    default: {
        mtf_tensor *p = mtf_reduce_mean(mtf_softmax(logits, m->output_vocab, NULL), m->ensemble);
        mtf_tensor *least = mtf_constant(c->graph, 1e-20, p ? p->type : MTF_F32, mtf_shape());
        return mtf_log(mtf_maximum(p, least));
    }
    }
}

/* Cross-entropy, and what training adds to it: smoothed targets, a penalty of large logits. */
typedef struct token_losses {
    mtf_tensor *plain, *trained;
} token_losses;

static token_losses losses_of(const stack_call *c, mtf_tensor *logits, mtf_tensor *targets)
{
    const mtf_transformer *m = c->model;
    bool                   training = c->mode == CALL_TRAIN;
    double                 smoothing = training ? m->opts.label_smoothing : 0;
    double                 z_loss = training && m->opts.z_loss > 0 ? m->opts.z_loss : 0;
    token_losses           l;
    mtf_tensor            *ids = mtf_maximum(targets, mtf_zeros_like(targets));
    logits = mtf_cast(logits, MTF_F32);
    mtf_tensor *log_z = mtf_reduce_logsumexp(logits, m->output_vocab, NULL);
    mtf_tensor *hit = mtf_one_hot(ids, m->output_vocab);
    mtf_tensor *at_target = mtf_reduce_sum(mtf_multiply(logits, hit), mtf_shape(m->output_vocab));
    l.plain = l.trained = mtf_sub(log_z, at_target);
    if (smoothing > 0) {
        mtf_tensor *mean = mtf_reduce_mean(logits, mtf_shape(m->output_vocab));
        mtf_tensor *smooth =
            mtf_add(mtf_scale(at_target, 1 - smoothing), mtf_scale(mean, smoothing));
        l.trained = mtf_sub(log_z, smooth);
    }
    if (z_loss > 0) l.trained = mtf_add(l.trained, mtf_scale(mtf_square(log_z), z_loss));
    return l;
}

static double denominator(const stack_call *c, const loss_opts *o, mtf_shape positions)
{
    double given = c->model->opts.loss_denominator;
    if (given > 0) return given;
    double count = (double)mtf_shape_size(mtf_shape_minus(positions, c->model->ensemble));
    return count * (double)(o->microbatches > 1 ? o->microbatches : 1);
}

mtf_transformer_result token_loss(const stack_call *c, mtf_tensor *x, const loss_opts *o)
{
    const mtf_transformer *m = c->model;
    mtf_transformer_result r = {0};
    mtf_tensor            *targets = o->targets;
    if (!graph_of(x)) return r;
    mtf_tensor *each = logits_of(c, x);
    r.logits = ensemble_logits(c, each);
    if (!targets || !each) return r;
    mtf_tensor *zero = mtf_constant(c->graph, 0, MTF_I32, mtf_shape());
    mtf_tensor *counts = mtf_greater(targets, zero);
    if (o->counts) counts = mtf_logical_and(counts, o->counts);
    r.weights = mtf_cast(counts, MTF_F32);
    /* Members of an ensemble are trained each as if alone: their losses add up. */
    bool         apart = c->mode == CALL_TRAIN && m->ensemble.ndims;
    token_losses l = losses_of(c, apart ? each : r.logits, targets);
    mtf_tensor  *trained = mtf_multiply(l.trained, r.weights);
    mtf_shape    all = trained ? trained->shape : mtf_shape();
    r.token_losses = apart ? mtf_reduce_mean(l.plain, m->ensemble) : l.plain;
    r.loss = mtf_scale(mtf_reduce_sum(trained, MTF_ALL), 1 / denominator(c, o, all));
    mtf_tensor *best = mtf_argmax(r.logits, m->output_vocab);
    r.right = mtf_multiply(mtf_cast(mtf_equal(best, targets), MTF_F32), r.weights);
    return r;
}
